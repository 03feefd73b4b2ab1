//! Scripts by FastCGI, run by the real php-fpm: what they are told, which of them are run, and how bodies go both ways.

use crate::common::Said;
use serde_json::Value;
use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};
use testkit::{Command, Larder, PhpFpm, Response, scratch_dir, wait_until};

/// The small site in `tests/data/php`, with a php-fpm and a folder for what it remembers.
pub(crate) struct Site {
    pub(crate) php: PhpFpm,
    pub(crate) state: PathBuf,
    pub(crate) root: PathBuf,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self::before(PhpFpm::start(4))
    }

    pub(crate) fn before(php: PhpFpm) -> Self {
        Self {
            php,
            state: scratch_dir(),
            root: Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/php"),
        }
    }

    /// The site as an origin, with these lines more.
    pub(crate) fn origin(&self, more: &str) -> String {
        format!(
            "[[origin]]\nfastcgi = {:?}\nroot = {:?}\nparams = [\"SITE_STATE={}\"]\n{more}\n",
            self.php.url(),
            self.root.display().to_string(),
            self.state.display(),
        )
    }

    /// A larder before it, with these lines before and after those of the origin.
    pub(crate) fn serve(&self, before: &str, after: &str) -> Larder {
        let config = format!("{before}\n{}", self.origin(after));
        let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
            .config(&config)
            .start();
        self.knows(&larder);
        larder
    }

    /// Tells the site where its purges go.
    pub(crate) fn knows(&self, larder: &Larder) {
        let testkit::Address::Tcp(address) = larder.address() else {
            panic!("an address with a port");
        };
        let address = serde_json::to_string(&address.to_string()).unwrap();
        fs::write(self.state.join("larder.json"), address).unwrap();
    }

    pub(crate) fn start(&self) -> Larder {
        self.serve("", "")
    }

    /// Waits until a script has left this file.
    pub(crate) fn wait_for(&self, file: &str) {
        wait_until(&format!("a script had left {file}"), || {
            self.state.join(file).exists()
        });
    }

    /// Lets `probe/wait.php` answer.
    pub(crate) fn let_go(&self, name: &str) {
        fs::write(self.state.join(format!("{name}.go")), "").unwrap();
    }
}

/// A copy of the site's folder that a test may change.
pub(crate) fn own_root(site: &mut Site) {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap().flatten() {
            let to = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                copy(&entry.path(), &to);
            } else {
                fs::copy(entry.path(), to).unwrap();
            }
        }
    }
    let own = scratch_dir().join("site");
    copy(&site.root, &own);
    site.root = own;
}

/// What `probe/env.php` was told.
fn told(answer: &Response) -> Value {
    assert_eq!(answer.status, 200, "{:?} {}", answer.head, answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

#[test]
fn what_a_script_is_told() {
    let site = Site::new();
    let larder = site.serve("", "");
    let mut client = larder.client();
    let answer = client
        .ask("POST", "/probe/env.php/more/of%20it?a=1&b=%41")
        .header("Host", "shop.example:8443")
        .header("Content-Type", "text/plain")
        .header("Cookie", "a=1")
        .header("Authorization", "Basic YTpi")
        .header("X-Real", "yes")
        .header("X_Real", "forged")
        .header("Proxy", "http://evil.example")
        .header("Accept", "text/html")
        .header("Accept", "text/plain")
        .body("the body")
        .send();
    let told = told(&answer);
    let root = site.root.canonicalize().unwrap();
    let root = root.to_str().unwrap();
    for (name, value) in [
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("SERVER_SOFTWARE", "larder"),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("SERVER_NAME", "shop.example"),
        ("SERVER_PORT", "8443"),
        ("SERVER_ADDR", "127.0.0.1"),
        ("REQUEST_METHOD", "POST"),
        ("REQUEST_SCHEME", "http"),
        ("REQUEST_URI", "/probe/env.php/more/of%20it?a=1&b=%41"),
        ("QUERY_STRING", "a=1&b=%41"),
        ("CONTENT_TYPE", "text/plain"),
        ("CONTENT_LENGTH", "8"),
        ("DOCUMENT_ROOT", root),
        ("DOCUMENT_URI", "/probe/env.php/more/of it"),
        ("SCRIPT_FILENAME", &format!("{root}/probe/env.php")),
        ("SCRIPT_NAME", "/probe/env.php"),
        ("PATH_INFO", "/more/of it"),
        ("PATH_TRANSLATED", &format!("{root}/more/of it")),
        ("REMOTE_ADDR", "127.0.0.1"),
        ("REDIRECT_STATUS", "200"),
        ("HTTP_HOST", "shop.example:8443"),
        ("HTTP_COOKIE", "a=1"),
        ("HTTP_AUTHORIZATION", "Basic YTpi"),
        ("HTTP_X_REAL", "yes"),
        ("HTTP_ACCEPT", "text/html, text/plain"),
        ("body", "the body"),
    ] {
        assert_eq!(told[name], value, "{name} in {told:#}");
    }
    for absent in [
        "HTTP_PROXY",
        "HTTPS",
        "HTTP_CONTENT_LENGTH",
        "HTTP_CONTENT_TYPE",
    ] {
        assert!(told.get(absent).is_none(), "{absent} in {told:#}");
    }
    assert!(
        told["REMOTE_PORT"]
            .as_str()
            .is_some_and(|port| port.parse::<u16>().is_ok())
    );
}

#[test]
fn who_asks_is_whom_trusted_proxies_speak_for() {
    let site = Site::new();
    let ask = |larder: &Larder, chain: &str| {
        let answer = larder
            .get("/probe/env.php")
            .header("X-Forwarded-For", chain)
            .header("X-Forwarded-Proto", "https")
            .send();
        told(&answer)
    };
    let strange = site.start();
    let told = ask(&strange, "192.0.2.1");
    assert_eq!(
        told["REMOTE_ADDR"], "127.0.0.1",
        "a stranger says what it likes"
    );
    assert!(told.get("HTTPS").is_none());
    let trusting = site.serve("trusted = [\"127.0.0.0/8\", \"10.0.0.0/8\"]", "");
    for (chain, client) in [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1, 10.0.0.9", "192.0.2.1"),
        ("203.0.113.7, 192.0.2.1, 10.0.0.9", "192.0.2.1"),
        ("unknown, 10.0.0.9", ""),
        ("2001:db8::1", "2001:db8::1"),
        ("", "127.0.0.1"),
    ] {
        let told = ask(&trusting, chain);
        assert_eq!(told["REMOTE_ADDR"], client, "{chain}");
        assert_eq!(
            (&told["HTTPS"], &told["SERVER_PORT"]),
            (&"on".into(), &"443".into())
        );
        assert_eq!(
            told.get("REMOTE_PORT").is_some(),
            client == "127.0.0.1",
            "{chain}"
        );
    }
}

/// What is no part of the key is told to no script: the page is everybody's.
#[test]
fn a_script_is_told_of_no_host_or_scheme_that_is_not_keyed() {
    let site = Site::new();
    let larder = site.serve(
        "trusted = \"127.0.0.0/8\"\n[defaults]\norigin_host = \"shop.test\"\nkey = { host = false, scheme = false }",
        "",
    );
    let answer = larder
        .get("/probe/env.php")
        .header("Host", "evil.test:8443")
        .header("X-Forwarded-Host", "evil.test")
        .header("X-Forwarded-Proto", "https")
        .send();
    let told = told(&answer);
    assert_eq!(
        (&told["SERVER_NAME"], &told["HTTP_HOST"]),
        (&"shop.test".into(), &"shop.test".into())
    );
    assert_eq!(
        (told.get("HTTPS"), &told["SERVER_PORT"]),
        (None, &"80".into())
    );
    assert!(!answer.text().contains("evil"), "{}", answer.text());
}

#[test]
fn which_script_answers() {
    let site = Site::new();
    let larder = site.start();
    for (path, status, part) in [
        ("/", 200, "<h1>Home</h1>"),
        ("/index.php", 200, ""),
        ("/hello-world/", 200, "The first post."),
        ("/nothing/here", 404, "<h1>Not found</h1>"),
        ("/nothing.php", 404, "<h1>Not found</h1>"),
        ("/nothing.php/hello-world", 404, "<h1>Not found</h1>"),
        ("/wp-login.php", 200, "<h1>Log in</h1>"),
        ("/wp-login.php/style.css", 200, "<h1>Log in</h1>"),
        ("/wp-admin/", 302, ""),
        ("/wp-admin//index.php", 404, "<h1>Not found</h1>"),
        (
            "/wp-content/themes/style.css/x.php",
            404,
            "<h1>Not found</h1>",
        ),
        ("/plain/", 404, "<h1>Not found</h1>"),
        ("/plain", 404, "<h1>Not found</h1>"),
        // Never run, and never shown.
        ("/wp-content/uploads/evil.php", 403, "Forbidden"),
        ("/wp-content/uploads/evil%2Ephp", 403, "Forbidden"),
        ("/wp-content/uploads/evil.php/x", 403, "Forbidden"),
        ("/wp-content/uploads%2Fevil.php", 404, "<h1>Not found</h1>"),
        ("/wp-content//uploads/evil.php", 404, "<h1>Not found</h1>"),
        ("/wp-config.php.bak", 403, "Forbidden"),
        // Nobody's.
        ("/.git/config", 404, "Not Found"),
        ("/wp-admin/.htaccess", 404, "Not Found"),
        ("/../../../../etc/passwd", 404, "Not Found"),
        ("/%2e%2e/%2e%2e/etc/passwd", 404, "Not Found"),
        ("/probe/../wp-login.php", 404, "Not Found"),
        ("/..%2f..%2fetc/passwd", 404, "<h1>Not found</h1>"),
        ("/index.php%00.jpg", 404, "<h1>Not found</h1>"),
        ("/%ff.php", 404, "<h1>Not found</h1>"),
    ] {
        let answer = larder.get(path).send();
        let text = answer.text();
        assert_eq!(answer.status, status, "{path}: {text}");
        assert!(text.contains(part), "{path}: {text}");
        assert!(
            !text.contains("hunter2") && !text.contains("<?php"),
            "{path}: {text}"
        );
    }
}

/// Names on disk are bytes, and so is what a script is told: here in Latin-1, and with control characters.
#[test]
fn a_path_need_not_be_text() {
    let mut site = Site::new();
    own_root(&mut site);
    let script = "<?php header('Content-Type: text/plain');
        echo rawurlencode($_SERVER['SCRIPT_NAME']), ' ', rawurlencode($_SERVER['PATH_INFO'] ?? '-');";
    let named = |name: &[u8]| site.root.join(OsStr::from_bytes(name));
    fs::write(named(b"wiki.php"), script).unwrap();
    fs::write(named(b"caf\xe9.php"), script).unwrap();
    fs::write(named(b"caf\xe9.txt"), "a file").unwrap();
    fs::create_dir(named(b"d\xe9")).unwrap();
    fs::write(named(b"d\xe9/index.php"), script).unwrap();
    let larder = site.start();
    for (path, answer) in [
        ("/wiki.php/caf%C3%A9", "%2Fwiki.php %2Fcaf%C3%A9"),
        ("/wiki.php/caf%E9", "%2Fwiki.php %2Fcaf%E9"),
        ("/wiki.php/a%09b%0A", "%2Fwiki.php %2Fa%09b%0A"),
        ("/caf%E9.php", "%2Fcaf%E9.php -"),
        ("/caf%E9.php/%FF/", "%2Fcaf%E9.php %2F%FF%2F"),
        ("/caf%E9.txt", "a file"),
        ("/d%E9/", "%2Fd%E9%2Findex.php -"),
    ] {
        let got = larder.get(path).send();
        assert_eq!((got.status, got.text().as_str()), (200, answer), "{path}");
    }
    let folder = larder.get("/d%E9?a=1").send();
    assert_eq!(
        (folder.status, folder.header("location")),
        (301, Some("/d%E9/?a=1"))
    );
    // These have no name on disk, nor do they run the script before them.
    for path in ["/wiki.php/%E9%00", "/wiki.php/%E9%2Fa", "/wiki.php//%E9"] {
        let got = larder.get(path).send();
        assert!(got.text().contains("<h1>Not found</h1>"), "{path}");
    }
}

#[test]
fn files_beside_the_scripts() {
    let site = Site::new();
    let larder = site.start();
    let style = "/wp-content/themes/style.css?ver=6.1";
    let first = larder.get(style).send();
    assert_eq!(first.text(), "body { color: black }\n");
    assert_eq!(
        first.header("content-type"),
        Some("text/css; charset=utf-8")
    );
    let tag = first.header("etag").expect("a tag");
    let same = larder.get(style).header("If-None-Match", tag).send();
    assert_eq!(same.status, 304);
    let part = larder.get(style).header("Range", "bytes=0-3").send();
    assert_eq!((part.status, part.text().as_str()), (206, "body"));
    let image = larder.ask("HEAD", "/wp-content/uploads/cat.jpg").send();
    assert_eq!(image.header("content-type"), Some("image/jpeg"));
    assert_eq!(larder.ask("POST", style).body("x").send().status, 405);
    // No script had anything to do with it.
    assert!(!site.state.join("runs").exists());
}

/// What the site says of lifetimes is meant for pages: nobody purges a file that was changed.
#[test]
fn files_beside_the_scripts_hold_for_a_second() {
    let site = Site::new();
    let routes = "[defaults]\nttl = \"7d\"\nttl_mode = \"override\"\n";
    for routes in [routes, "[defaults]\npreset = \"wordpress\"\n"] {
        let larder = site.serve("", routes);
        for style in [
            "/wp-content/themes/style.css",
            "/wp-content/uploads/cat.jpg",
        ] {
            let answer = larder.get(style).send();
            assert_eq!(
                answer.parameter("ttl").as_deref(),
                Some("1"),
                "{}",
                answer.said()
            );
        }
    }
}

#[test]
fn a_folder_gets_its_slash() {
    let site = Site::new();
    let larder = site.start();
    let answer = larder.get("/wp-admin?a=1").send();
    assert_eq!(answer.status, 301);
    assert_eq!(answer.header("location"), Some("/wp-admin/?a=1"));
    assert_eq!(larder.ask("POST", "/wp-admin").body("x").send().status, 405);
}

#[test]
fn what_lies_outside_the_root_is_not_run() {
    let mut site = Site::new();
    own_root(&mut site);
    let outside = site.root.parent().unwrap().join("outside.php");
    fs::write(&outside, "<?php echo 'outside';").unwrap();
    let link =
        |from: &str, to: &Path| std::os::unix::fs::symlink(to, site.root.join(from)).unwrap();
    link("out.php", &outside);
    link("in.php", Path::new("probe/env.php"));
    link("image.php", Path::new("wp-content/uploads/evil.php"));
    link("gone.php", Path::new("nowhere.php"));
    // What was deployed is a link itself, as with tools that switch releases.
    let current = site.root.parent().unwrap().join("current");
    std::os::unix::fs::symlink(&site.root, &current).unwrap();
    let real = site.root.canonicalize().unwrap();
    site.root = current;
    let larder = site.start();
    for (path, status) in [("/out.php", 403), ("/image.php", 403), ("/gone.php", 404)] {
        let answer = larder.get(path).send();
        assert_eq!(answer.status, status, "{path}");
        assert!(!answer.text().contains("outside"), "{path}");
    }
    let told = told(&larder.get("/in.php").send());
    assert_eq!(
        told["SCRIPT_FILENAME"],
        real.join("in.php").to_str().unwrap()
    );
    assert_eq!(told["DOCUMENT_ROOT"], real.to_str().unwrap());
}

#[test]
fn what_is_a_script_is_the_sites_word() {
    let site = Site::new();
    let larder = site.serve(
        "",
        "front = \"off\"\nindex = \"env.php\"\nscript = \"/probe/*.php\"\nno_script = \"/probe/upload.php\"",
    );
    assert_eq!(
        told(&larder.get("/probe/").send())["SCRIPT_NAME"],
        "/probe/env.php"
    );
    for (path, status) in [
        ("/probe/upload.php", 403),
        ("/wp-login.php", 403),
        ("/nothing", 404),
        ("/", 404),
    ] {
        let answer = larder.get(path).send();
        assert_eq!(answer.status, status, "{path}");
        assert!(!answer.text().contains("<?php"), "{path}");
    }
}

#[test]
fn bodies_go_both_ways_while_they_come() {
    let site = Site::before(PhpFpm::on_tcp(4));
    let larder = site.start();
    let large = vec![b'x'; 3_000_000];
    let wanted = "3000000 8cd1a0cc2e4d1fa8a2a7b1a6d2b2dc0f"
        .split(' ')
        .next()
        .unwrap();
    let answer = larder.ask("POST", "/probe/upload.php").body(&large).send();
    assert!(answer.text().starts_with(wanted), "{}", answer.text());
    let answer = larder.get("/probe/big.php?mb=8").send();
    assert!(answer.complete);
    assert_eq!(answer.body.len(), 8 << 20);
    let again = larder.get("/probe/big.php?mb=8").send();
    assert!(again.hit() && again.body == answer.body, "{}", again.said());
}

#[test]
fn head_and_conditions_and_ranges_as_before_any_origin() {
    let site = Site::new();
    let larder = site.start();
    let head = larder.ask("HEAD", "/feed/").send();
    assert_eq!((head.status, head.body.len()), (200, 0));
    let page = larder.get("/probe/cached.php").send();
    assert!(!page.hit());
    let hit = larder.get("/probe/cached.php").send();
    assert!(hit.hit() && hit.body == page.body, "{}", hit.said());
    let part = larder
        .get("/probe/cached.php")
        .header("Range", "bytes=0-2")
        .send();
    assert_eq!((part.status, part.text().as_str()), (206, "run"));
    let tag = larder.get("/feed/").send();
    let tag = tag.header("etag").expect("a tag").to_owned();
    let same = larder.get("/feed/").header("If-None-Match", tag).send();
    assert_eq!(same.status, 304);
}

#[test]
fn connections_are_kept_and_given_up_when_somebody_waits() {
    // One process, and more workers than that: whoever kept a connection would keep the process.
    let site = Site::before(PhpFpm::start(1));
    let larder = site.serve("workers = 4", "idle_connections = 4\nidle_time = \"1m\"");
    for round in 0..20 {
        let answer = larder.get(&format!("/probe/env.php?{round}")).send();
        assert_eq!(answer.status, 200);
    }
}

#[test]
fn a_small_pool_has_room_for_others_who_ask_it() {
    let impatient = "passive.failures = 0\nretry.attempts = 0\ntimeouts.first_byte = \"30s\"";
    let site = Site::before(PhpFpm::start(1));
    // Nobody knows of the other: each must let the one process go by itself.
    let nodes = [site.serve("", impatient), site.serve("", impatient)];
    for round in 0..3 {
        for node in &nodes {
            let answer = node.get(&format!("/probe/env.php?{round}")).send();
            assert_eq!(answer.status, 200, "{round}: {:?}", answer.head);
        }
    }
}

#[test]
fn what_is_idle_for_long_is_let_go() {
    let site = Site::before(PhpFpm::start(1));
    let keeps = site.serve("", "idle_connections = 4\nidle_time = \"50ms\"");
    assert_eq!(keeps.get("/probe/env.php").send().status, 200);
    assert_eq!(site.start().get("/probe/env.php").send().status, 200);
}

#[test]
fn a_script_whose_reader_left_is_given_up() {
    let site = Site::new();
    let larder = site.start();
    let client = larder.get("/probe/wait.php?name=left&talks").begin();
    site.wait_for("left.begun");
    drop(client);
    site.wait_for("left.aborted");
    // The process is free again, and the next one is not.
    assert_eq!(larder.get("/wp-login.php").send().status, 200);
}

#[test]
fn what_scripts_complain_of_is_logged_with_its_url() {
    let site = Site::new();
    let larder = site.start();
    let target = "/probe/complain.php?text=it%20rains%0Afrom%20above%1B%5B31m";
    assert_eq!(larder.get(target).send().text(), "said");
    larder.wait_output("it rains");
    larder.wait_output("from above");
    let log = larder.output();
    let line = log.lines().find(|line| line.contains("it rains")).unwrap();
    assert!(
        line.contains(&format!("http://example.test{target}")),
        "{line}"
    );
    assert!(!log.contains('\u{1b}'), "{log:?}");
}

#[test]
fn a_server_is_asked_whether_it_is_well() {
    let mut site = Site::before(PhpFpm::with_settings(2, "ping.path = /ping"));
    let larder = site.serve(
        "",
        "health = { path = \"/ping\", every = \"100ms\", timeout = \"1m\", healthy_after = 1, unhealthy_after = 1 }",
    );
    assert_eq!(larder.get("/wp-login.php").send().status, 200);
    site.php.stop();
    larder.wait_output("server is down");
    assert_eq!(larder.get("/wp-login.php").send().status, 503);
    site.php.restart();
    wait_until("the server was back", || {
        larder.get("/wp-login.php").send().status == 200
    });
    // Nobody else gets at it.
    assert_eq!(larder.get("/ping").send().status, 404);
}
