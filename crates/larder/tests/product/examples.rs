//! The configurations in `examples/` do what their first lines say.

use crate::common::{Said, browsers_keep, command, counted};
use testkit::{Client, Larder, Origin, Reply, wait_until};

/// Starts an example, its addresses and its servers replaced by these.
fn example(name: &str, replaced: &[(&str, &str)]) -> Larder {
    let path = format!("{}/../../examples/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut text = text
        .replace("127.0.0.1:8080", "127.0.0.1:0")
        .replace("127.0.0.1:8443", "127.0.0.1:0");
    for (old, new) in replaced {
        assert!(text.contains(old), "{name} has no {old}");
        text = text.replace(old, new);
    }
    let mut args = vec!["serve", "--admin", "127.0.0.1:0"];
    if !text.contains("127.0.0.1:0") {
        // It is on the usual port, which others have too.
        args.extend(["--listen", "127.0.0.1:0"]);
    }
    command().args(args).config(&text).start()
}

/// An application that says nothing of caching.
fn application() -> Origin {
    let origin = Origin::start();
    origin.otherwise(counted);
    origin
}

/// Whether a second request is answered from the store.
fn hit(larder: &Larder, target: &str, cookie: &str) -> bool {
    larder.get(target).header("Cookie", cookie).send();
    larder.get(target).header("Cookie", cookie).send().hit()
}

#[test]
fn one_api() {
    let origin = application();
    let larder = example("api", &[("http://127.0.0.1:5001", &origin.url())]);
    assert!(hit(&larder, "/items?b=2&a=1", ""));
    assert!(larder.get("/items?a=1&b=2&utm_source=x").send().hit());
    for personal in [
        "/me",
        "/me/orders",
        "/login",
        "/ME",
        "/Me/Orders",
        "/%6de",
        "/login/",
        "/login?next=/",
        "/me.json",
        "/login%2f",
        "/me;v=1",
        "/me%20",
        "//me",
        "/items/../me",
    ] {
        assert!(!hit(&larder, personal, ""), "{personal}");
    }
    for shared in ["/menu", "/me-too", "/login_help"] {
        assert!(hit(&larder, shared, ""), "{shared}");
    }
}

/// What strangers are told, a 404 for instance, is not told to the owner.
#[test]
fn who_has_a_token_gets_answers_of_their_own() {
    for (name, port) in [("api", 5001), ("microcaching", 5001), ("blog", 8000)] {
        let origin = Origin::start();
        origin.otherwise(|request| match request.header("authorization") {
            Some(_) => Reply::ok().body("the owner's"),
            None => Reply::status(404).body("nothing here"),
        });
        let application = format!("http://127.0.0.1:{port}");
        let larder = example(name, &[(&application, &origin.url())]);
        assert_eq!(larder.get("/private").send().status, 404, "{name}");
        let owner = larder.get("/private").header("Authorization", "Bearer x");
        assert_eq!(owner.send().text(), "the owner's", "{name}");
        assert_eq!(larder.get("/private").send().status, 404, "{name}");
    }
}

#[test]
fn two_apis_by_prefix() {
    let (shop, search) = (Origin::start(), Origin::start());
    shop.otherwise(|_| Reply::ok().body("shop"));
    search.otherwise(|_| Reply::ok().body("search"));
    let larder = example(
        "two-apis",
        &[
            (
                "\"http://127.0.0.1:5001\", \"http://127.0.0.1:5002\"",
                &format!("{:?}", shop.url()),
            ),
            ("http://127.0.0.1:6001", &search.url()),
        ],
    );
    for (target, from) in [
        ("/search/?q=x", "search"),
        ("/shop/1", "shop"),
        ("/else", "shop"),
    ] {
        assert_eq!(larder.get(target).send().text(), from, "{target}");
    }
    assert!(
        larder.get("/search/?page=&q=x").send().text() == "search"
            && larder.get("/search/?q=x&other=1").send().hit()
    );
    let shop = larder.get("/shop/1").send();
    assert!(shop.hit(), "{}", shop.said());
    let other = larder.get("/else").send();
    assert!(!other.hit(), "{}", other.said());
}

#[test]
fn microcaching() {
    let origin = application();
    let larder = example("microcaching", &[("http://127.0.0.1:5001", &origin.url())]);
    assert_eq!(
        larder.get("/").send().header("x-cache-status"),
        Some("MISS")
    );
    // Where a second passes between two requests, what they bring anew is a hit for the next.
    wait_until("it is answered from the store", || {
        larder.get("/").send().header("x-cache-status") == Some("HIT")
    });
    origin.stop();
    wait_until("it is past its second and still answered", || {
        let answer = larder.get("/").send();
        assert_eq!(answer.status, 200);
        answer.header("x-cache-status") != Some("HIT")
    });
    let stale = larder.get("/").send();
    assert!(
        matches!(stale.header("x-cache-status"), Some("STALE" | "UPDATING")),
        "{:?}",
        stale.head
    );
}

#[test]
fn a_blog_behind_cookies() {
    let origin = application();
    let larder = example("blog", &[("http://127.0.0.1:8000", &origin.url())]);
    assert!(hit(&larder, "/post", "theme=dark"));
    assert_eq!(origin.last("/post").header("cookie"), None);
    for cookie in [
        "wordpress_logged_in_abc=1",
        "comment_author_x=me",
        "a=b; woocommerce_items_in_cart=1",
    ] {
        assert!(!hit(&larder, "/post", cookie), "{cookie}");
    }
    for target in [
        "/wp-admin/post.php",
        "/wp-admin",
        "/WP-Admin/",
        "/blog/wp-admin/",
        "/wp-login.php",
        "/wp-login.php/",
        "/wp-login%2ephp%2f",
        "/XMLRPC.php",
        "/post?preview=true",
    ] {
        assert!(!hit(&larder, target, ""), "{target}");
    }
    origin.reply(
        "/wp-content/a.css",
        Reply::ok()
            .cache("no-cache")
            .header("Content-Type", "text/css")
            .header("Set-Cookie", "x=1")
            .body("x"),
    );
    assert!(hit(&larder, "/wp-content/a.css", ""));
    assert_eq!(
        larder.get("/wp-content/a.css").send().header("set-cookie"),
        None
    );
    let post = larder.get("/post").send();
    assert!(browsers_keep(&post, 0), "{:?}", post.head);
}

/// What lies beside files, but is none, is a page like any other: readers who are known get their own.
#[test]
fn a_page_in_a_folder_of_files_is_no_file() {
    let origin = Origin::start();
    origin.otherwise(|request| Reply::ok().body(request.header("cookie").unwrap_or("nobody")));
    let larder = example("blog", &[("http://127.0.0.1:8000", &origin.url())]);
    let author = "wordpress_logged_in_1=alice";
    for target in [
        "/wp-content/plugins/poll/results.php?id=1",
        "/wp-includes/made/by/the/application",
        "/wp-content/style.css/x",
    ] {
        let stored = larder.get(target).send();
        assert_eq!(stored.parameter("ttl").as_deref(), Some("600"), "{target}");
        let own = larder.get(target).header("Cookie", author).send();
        assert_eq!(own.text(), author, "{target}: {}", own.said());
    }
}

#[test]
fn https() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let directory = testkit::scratch_dir();
    let (certificate, key) = (directory.join("site.pem"), directory.join("site.key"));
    std::fs::write(&certificate, made.cert.pem()).expect("a file");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("a file");
    let origin = application();
    let certificate = certificate.display().to_string();
    let larder = example(
        "https",
        &[
            ("\"site.pem\"", &format!("{certificate:?}")),
            ("\"site.key\"", &format!("{:?}", key.display().to_string())),
            ("http://127.0.0.1:5001", &origin.url()),
        ],
    );
    let port = |scheme: &str| {
        let url = larder
            .listeners()
            .iter()
            .find(|url| url.starts_with(scheme))
            .expect("a listener");
        url.rsplit(':')
            .next()
            .expect("a port")
            .parse::<u16>()
            .expect("a port")
    };
    let plain = std::net::SocketAddr::from(([127, 0, 0, 1], port("http://")));
    let redirect = Client::connect(plain)
        .get("/page")
        .header("Host", "shop.test:80")
        .send();
    assert!(matches!(redirect.status, 301 | 308));
    assert_eq!(
        redirect.header("location"),
        Some("https://shop.test:8443/page")
    );
    let secure = port("https://");
    let output = std::process::Command::new("curl")
        .args([
            "-sSi",
            "--max-time",
            "10",
            "--noproxy",
            "*",
            "--cacert",
            &certificate,
        ])
        .args([
            "--resolve",
            &format!("localhost:{secure}:127.0.0.1"),
            &format!("https://localhost:{secure}/"),
        ])
        .output()
        .expect("curl");
    let text = String::from_utf8_lossy(&output.stdout).to_lowercase();
    assert!(
        text.contains("strict-transport-security: max-age=86400"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_folder_before_an_application() {
    let origin = application();
    let root = crate::static_root::folder(&[("index.html", b"file"), ("assets/a.css", b"file")]);
    let larder = example(
        "static",
        &[
            ("\"/srv\"", &format!("{root:?}")),
            ("http://127.0.0.1:5001", &origin.url()),
        ],
    );
    assert_eq!(larder.get("/").send().text(), "file");
    let own = larder.get("/").header("Cookie", "sessionid=1").send();
    assert_eq!(own.text(), "1", "the application's");
    let style = larder.get("/assets/a.css").send();
    assert_eq!(style.header("cache-control"), Some("max-age=31536000"));
    assert_eq!(larder.get("/assets/none.css").send().status, 404);
}

#[test]
fn pages_in_redis_before_an_application() {
    let (origin, redis) = (application(), testkit::Redis::start());
    let replaced = [
        ("redis://127.0.0.1:6379", redis.url()),
        ("http://127.0.0.1:5001", origin.url()),
    ];
    let replaced: Vec<_> = replaced
        .iter()
        .map(|(old, new)| (*old, new.as_str()))
        .collect();
    let larder = example("page-store", &replaced);
    assert_eq!(larder.get("/").send().text(), "1", "the application's");
    let page = ["SET", "flask_cache_view//kept", "!\u{5}", "EX", "60"];
    redis.ask(&page);
    assert_eq!(larder.get("/kept").send().text(), "1", "no page");
}
