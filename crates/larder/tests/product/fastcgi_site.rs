//! A small site that behaves like WordPress, on php-fpm behind `examples/php.toml`: what is shared, what is not, and that
//! nobody ever sees a byte of another's.

use crate::{common::Said, fastcgi::Site};
use std::{collections::BTreeMap, fs, path::Path};
use testkit::{Command, Larder, Response};

/// The site as written in `examples/{name}.toml`, which has this for an origin.
fn example(site: &Site, name: &str, origin: &str) -> Larder {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let text = fs::read_to_string(folder.join(name).with_extension("toml")).unwrap();
    assert!(text.contains(origin), "{text}");
    let text = text
        .replace("127.0.0.1:8080", "127.0.0.1:0")
        .replace(origin, &site.origin(""));
    let larder = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["serve", "--admin", "127.0.0.1:0"])
        .config(&text)
        .start();
    site.knows(&larder);
    larder
}

/// With a preset.
fn start(site: &Site) -> Larder {
    let origin = "[[origin]]\nfastcgi = \"unix:/run/php/php-fpm.sock\"\nroot = \"/srv/site\"\n";
    example(site, "php", origin)
}

/// The same said by hand.
fn plain(site: &Site) -> Larder {
    example(
        site,
        "blog",
        "[[origin]]\nservers = [\"http://127.0.0.1:8000\"]\n",
    )
}

/// A visitor with a browser that keeps cookies.
struct Visitor<'a> {
    larder: &'a Larder,
    cookies: BTreeMap<String, String>,
}

impl<'a> Visitor<'a> {
    fn new(larder: &'a Larder) -> Self {
        Self {
            larder,
            cookies: BTreeMap::new(),
        }
    }

    fn get(&mut self, target: &str) -> Response {
        let cookies = self.cookies();
        let ask = self.larder.get(target);
        let answer = match cookies.as_str() {
            "" => ask.send(),
            cookies => ask.header("Cookie", cookies).send(),
        };
        self.keep(&answer);
        answer
    }

    fn post(&mut self, target: &str, form: &str) -> Response {
        let answer = self
            .larder
            .ask("POST", target)
            .header("Cookie", self.cookies())
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(form)
            .send();
        self.keep(&answer);
        answer
    }

    fn cookies(&self) -> String {
        let all = self.cookies.iter();
        let all: Vec<_> = all.map(|(name, value)| format!("{name}={value}")).collect();
        all.join("; ")
    }

    fn keep(&mut self, answer: &Response) {
        for line in answer.headers("set-cookie") {
            let pair = line.split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
    }
}

#[test]
fn readers_share_pages_and_scripts_run_once() {
    let site = Site::new();
    let larder = start(&site);
    for target in ["/", "/hello-world/", "/shop/", "/feed/", "/secret/"] {
        let first = Visitor::new(&larder).get(target);
        assert!(!first.hit(), "{target}");
        let mut other = Visitor::new(&larder);
        other.cookies.insert("_ga".to_owned(), "GA1.2".to_owned());
        for target in [target.to_owned(), format!("{target}?utm_source=x")] {
            let second = other.get(&target);
            assert!(
                second.hit() && second.body == first.body,
                "{target}: {}",
                second.said()
            );
        }
    }
    let missing = Visitor::new(&larder).get("/nothing/");
    let again = Visitor::new(&larder).get("/nothing/");
    assert!(missing.status == 404 && again.hit(), "{}", again.said());
}

#[test]
fn what_is_nobodys_to_share() {
    let site = Site::new();
    let larder = start(&site);
    let mut author = Visitor::new(&larder);
    assert_eq!(author.post("/wp-login.php", "log=ann").status, 302);
    for target in [
        "/?s=tea",
        "/wp-login.php",
        "/wp-admin/",
        "/wp-admin/admin-ajax.php?action=heartbeat",
        "/cart/",
        "/checkout/",
        "/my-account/",
        "/?p=draft&preview=true",
    ] {
        for visitor in [&mut Visitor::new(&larder), &mut author] {
            for _ in 0..2 {
                let answer = visitor.get(target);
                assert!(!answer.hit(), "{target}: {}", answer.said());
            }
        }
    }
    let preview = author.get("/?p=draft&preview=true");
    assert!(preview.text().contains("Nobody has seen this. By ann"));
    let stranger = Visitor::new(&larder).get("/?p=draft&preview=true");
    assert_eq!(stranger.status, 404);
}

#[test]
fn a_post_that_is_saved_is_new_for_all() {
    let site = Site::new();
    let larder = start(&site);
    let targets = ["/", "/hello-world/", "/feed/"];
    for target in targets {
        Visitor::new(&larder).get(target);
        assert!(Visitor::new(&larder).get(target).hit(), "{target}");
    }
    Visitor::new(&larder).get("/shop/");
    let mut author = Visitor::new(&larder);
    author.post("/wp-login.php", "log=ann");
    let saved = author.post(
        "/wp-admin/post.php",
        "post=hello-world&title=Changed&text=Anew.",
    );
    assert_eq!(
        (saved.status, saved.header("location")),
        (302, Some("/hello-world/"))
    );
    for target in targets {
        let page = Visitor::new(&larder).get(target);
        assert!(
            !page.hit() && page.text().contains("Changed"),
            "{target}: {}",
            page.text()
        );
        assert!(Visitor::new(&larder).get(target).hit(), "{target}");
    }
    assert!(
        Visitor::new(&larder).get("/shop/").hit(),
        "nobody changed the shop"
    );
}

#[test]
fn a_comment_shows_and_its_author_is_remembered_alone() {
    let site = Site::new();
    let larder = start(&site);
    assert!(
        !Visitor::new(&larder)
            .get("/hello-world/")
            .text()
            .contains("Nice")
    );
    let mut author = Visitor::new(&larder);
    let posted = author.post(
        "/wp-comments-post.php",
        "post=hello-world&author=zoe&comment=Nice",
    );
    assert_eq!(posted.status, 302);
    let own = author.get("/hello-world/");
    assert!(own.text().contains("value='zoe'") && !own.hit());
    let others = Visitor::new(&larder).get("/hello-world/");
    assert!(others.text().contains("<li>Nice") && !others.text().contains("zoe"));
    assert!(Visitor::new(&larder).get("/hello-world/").hit());
    assert!(author.get("/hello-world/").text().contains("value='zoe'"));
}

/// Everything that this site has to show.
const EVERYWHERE: &[&str] = &[
    "/",
    "/hello-world/",
    "/secret/",
    "/draft/",
    "/shop/",
    "/cart/",
    "/checkout/",
    "/my-account/",
    "/feed/",
    "/?s=tea",
    "/?p=draft&preview=true",
    "/wp-login.php",
    "/wp-admin/",
    "/wp-admin/admin-ajax.php?action=basket",
    "/nothing/",
];

#[test]
fn nobody_sees_a_byte_of_another() {
    let site = Site::new();
    walk_by_turns(&start(&site));
}

#[test]
fn nobody_sees_a_byte_of_another_without_a_preset() {
    let site = Site::new();
    walk_by_turns(&plain(&site));
}

/// Two users do everything that a page could remember them by, and walk through the whole site by turns.
fn walk_by_turns(larder: &Larder) {
    // Names that are nowhere else.
    let users = ["anne-xq", "bert-zv"];
    let goods = ["tea-xq", "rum-zv"];
    let mut visitors = [Visitor::new(larder), Visitor::new(larder)];
    let mut stranger = Visitor::new(larder);
    for round in 0..3 {
        for (who, visitor) in visitors.iter_mut().enumerate() {
            match round {
                0 => {
                    visitor.get(&format!("/cart/?add-to-cart={}", goods[who]));
                }
                1 => {
                    visitor.post(
                        "/wp-comments-post.php",
                        &format!("post=secret&author={}&comment=x", users[who]),
                    );
                    visitor.post("/wp-login.php?action=postpass", "post_password=open");
                }
                _ => {
                    visitor.post("/wp-login.php", &format!("log={}", users[who]));
                }
            }
        }
        for target in EVERYWHERE {
            for _ in 0..2 {
                for (who, visitor) in visitors.iter_mut().enumerate() {
                    let foreign = [users[1 - who], goods[1 - who]];
                    shows_nothing_of(&foreign, target, &visitor.get(target));
                }
                let foreign = [users, goods, ["hidden text", "Nobody has seen"]].concat();
                shows_nothing_of(&foreign, target, &stranger.get(target));
            }
        }
    }
    // And it was not for want of anything to see.
    for (who, visitor) in visitors.iter_mut().enumerate() {
        assert!(visitor.get("/").text().contains(users[who]));
        assert!(visitor.get("/cart/").text().contains(goods[who]));
        assert!(visitor.get("/secret/").text().contains("hidden text"));
    }
    assert!(stranger.get("/hello-world/").hit());
}

/// Neither in its head nor in its body.
fn shows_nothing_of(foreign: &[&str], target: &str, answer: &Response) {
    let shown = format!("{:?} {}", answer.head, answer.text());
    for foreign in foreign {
        assert!(!shown.contains(foreign), "{target}: {shown}");
    }
}
