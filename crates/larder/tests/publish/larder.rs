//! The folder served by Larder gives what the application gave.

use crate::{
    common::{BINARY, Site, html, tcp},
    nginx::PAGES,
};
use std::collections::BTreeMap;
use testkit::{Command, Larder, Reply};

fn typed(kind: &str, text: &str) -> Reply {
    Reply::ok().header("Content-Type", kind).body(text)
}

/// What an answer is.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    status: u16,
    body: String,
    kind: Option<String>,
    location: Option<String>,
}

fn seen(answer: &testkit::Response) -> Seen {
    let field = |name| answer.header(name).map(str::to_owned);
    let redirects = (300..400).contains(&answer.status);
    Seen {
        status: answer.status,
        // What a redirect says beside its target is the server's own.
        body: if redirects {
            String::new()
        } else {
            answer.text()
        },
        kind: field("content-type").filter(|_| !redirects),
        location: field("location"),
    }
}

fn serve(site: &Site) -> Larder {
    let config = format!("[[origin]]\nstatic = \"{}\"\n", site.folder.display());
    Command::serve(BINARY).config(&config).start()
}

/// What the application says of a page beside its content.
const SAID: [(&str, &str); 22] = [
    ("Cache-Control", "max-age=60"),
    ("Content-Disposition", "inline"),
    ("Content-Language", "en"),
    ("Link", "</style.css>; rel=preload; as=style"),
    ("X-Robots-Tag", "noindex"),
    ("Content-Security-Policy", "default-src 'self'"),
    ("Content-Security-Policy-Report-Only", "default-src 'none'"),
    ("Referrer-Policy", "no-referrer"),
    ("Strict-Transport-Security", "max-age=31536000"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Permissions-Policy", "camera=()"),
    ("Service-Worker-Allowed", "/"),
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", "X-Own"),
    ("Cross-Origin-Embedder-Policy", "require-corp"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-site"),
    ("Origin-Agent-Cluster", "?1"),
    ("Timing-Allow-Origin", "*"),
    ("X-Permitted-Cross-Domain-Policies", "none"),
    ("Cache-Groups", "\"front\", \"a \\\"b\\\"\""),
];

/// Targets of [`site_of_all_kinds`] beside [`PAGES`].
const MORE: [&str; 8] = [
    "/",
    "/feed/",
    "/data.css",
    "/old",
    "/away",
    "/tagged",
    "/said",
    "/a%2Fb",
];

/// A site with pages of all kinds, a redirect within it and one to elsewhere.
fn site_of_all_kinds() -> Site {
    let site = Site::new(&[("/", &PAGES)]);
    site.origin
        .otherwise(|request| html(&format!("page {}", request.target)));
    site.origin.reply("/?page=2", html("page /?page=2"));
    site.origin.reply(
        "/feed/",
        typed("application/rss+xml; charset=utf-8", "<rss/>"),
    );
    site.origin
        .reply("/data.css", typed("application/json", "{}"));
    site.origin
        .reply("/old", Reply::status(301).header("Location", "/news"));
    site.origin.reply(
        "/away",
        Reply::status(302).header("Location", "https://other.example/x"),
    );
    let tagged = html("tagged").header("Surrogate-Key", "p-1 home");
    site.origin.reply("/tagged", tagged);
    let said = html("said").header("Expires", "Thu, 01 Jan 2099 00:00:00 GMT");
    let said = SAID
        .iter()
        .fold(said, |reply, (name, value)| reply.header(name, value));
    site.origin.reply("/said", said);
    site
}

#[test]
fn larder_serves_what_the_application_answered() {
    let site = site_of_all_kinds();
    site.published(&MORE);
    let targets: Vec<_> = site.manifest().into_keys().collect();
    assert_eq!(targets.len(), PAGES.len() + MORE.len(), "{targets:?}");
    // The application's own words, and then Larder's from the folder.
    let mut application = testkit::Client::connect(site.origin.address());
    let asked: BTreeMap<_, _> = targets
        .iter()
        .map(|target| (target, seen(&application.get(target).send())))
        .collect();
    let larder = serve(&site);
    for (target, expected) in &asked {
        assert_eq!(seen(&larder.get(target).send()), *expected, "{target}");
    }
    for hidden in ["/.larder-publish.json", "/.larder-publish/lock", "/none"] {
        assert_eq!(larder.get(hidden).send().status, 404, "{hidden}");
    }
    // Its tags and groups are there too.
    let purge = |tag: &str| {
        let admin = tcp(&larder.admin());
        let done = Command::new(BINARY)
            .args(["purge", "--admin", &admin, "--tag", tag])
            .run();
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        done.stdout
    };
    assert!(purge("nobody's").contains("purged: 0 stored responses"));
    assert!(
        purge("p-1").contains("purged: 1 stored response "),
        "the page with that tag"
    );
    assert_eq!(larder.get("/tagged").send().text(), "tagged");
    let fields = |target: &str| {
        let answer = larder.get(target).send();
        SAID.map(|(name, _)| answer.header(name).map(str::to_owned))
    };
    assert_eq!(
        fields("/said"),
        SAID.map(|(_, value)| Some(value.to_owned()))
    );
    assert_eq!(larder.get("/said").send().header("expires"), None);
}

/// Clients would otherwise guess for how long such a page is fresh.
#[test]
fn what_has_expired_when_it_comes_is_never_fresh() {
    const PAST: &str = "Thu, 01 Jan 1970 00:00:00 GMT";
    let site = Site::new(&[("/", &["/past", "/zero", "/public", "/age", "/later"])]);
    for (path, expires, control) in [
        ("/past", PAST, ""),
        ("/zero", "0", ""),
        ("/public", PAST, "public"),
        ("/age", PAST, "max-age=60"),
        ("/later", "Thu, 01 Jan 2099 00:00:00 GMT", ""),
    ] {
        let reply = html(path).header("Expires", expires);
        let reply = match control {
            "" => reply,
            control => reply.cache(control),
        };
        site.origin.reply(path, reply);
    }
    site.published(&[]);
    let larder = serve(&site);
    for (path, control) in [
        ("/past", Some("max-age=0")),
        ("/zero", Some("max-age=0")),
        ("/public", Some("public, max-age=0")),
        ("/age", Some("max-age=60")),
        ("/later", None),
    ] {
        let answer = larder.get(path).send();
        assert_eq!(answer.header("cache-control"), control, "{path}");
        assert_eq!(answer.header("expires"), None, "{path}");
    }
}
