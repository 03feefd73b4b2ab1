//! A page that is one user's is nobody else's, however its address looks.

use crate::common::{Said, start_with};
use testkit::Reply;

/// What each path is answered as, and whether `ttl_mode = "static"` keeps it although the application says that it is
/// private.
const ROWS: &[(&str, &str, bool)] = &[
    ("/a.css", "text/css", true),
    ("/a.css", "text/css; charset=utf-8", true),
    ("/A.CSS?v=1", "Text/CSS", true),
    ("/a.js", "application/javascript", true),
    ("/a.mjs", "text/javascript", true),
    ("/a.png", "image/png", true),
    ("/a.png", "image/webp", true),
    ("/a.svg", "image/svg+xml", true),
    ("/a.ico", "image/x-icon", true),
    ("/a.woff2", "font/woff2", true),
    ("/a.woff2", "application/font-woff2", true),
    ("/a.ttf", "application/octet-stream", true),
    ("/a.eot", "application/vnd.ms-fontobject", true),
    ("/a.mp4", "video/mp4", true),
    ("/a.ogg", "application/ogg", true),
    ("/a.wasm", "application/wasm", true),
    ("/caf%C3%A9%20a.css", "text/css", true),
    ("/a,b(c)/d.css", "text/css", true),
    // Documents are for some clients, if the application says so.
    ("/a.pdf", "application/pdf", false),
    ("/a.zip", "application/zip", false),
    ("/a.zip", "application/x-zip-compressed", false),
    // What a user's page is sent as.
    ("/account/x.css", "text/html", false),
    ("/account/x.js", "application/json", false),
    ("/account/x.png", "text/html; charset=utf-8", false),
    ("/account/x.woff2", "application/xhtml+xml", false),
    ("/account/x.pdf", "text/html", false),
    ("/account/x.css", "application/octet-stream", false),
    ("/account/x.css", "text/plain", false),
    ("/account/x.map", "application/json", false),
    ("/account/x.css", "", false),
    ("/account", "text/css", false),
    // What applications read in another way.
    ("/account;a.css", "text/css", false),
    ("/account;x/a.css", "text/css", false),
    ("/account%3Ba.css", "text/css", false),
    ("/account%2Fa.css", "text/css", false),
    ("/account%3Fa.css", "text/css", false),
    ("/account%23a.css", "text/css", false),
    ("/account%0Aa.css", "text/css", false),
    ("/account%00a.css", "text/css", false),
    ("/account%253Ba.css", "text/css", false),
    ("/account\\a.css", "text/css", false),
    ("//account/a.css", "text/css", false),
    ("/x/../a.css", "text/css", false),
    // What a script makes, whose path the client goes on with.
    ("/qr.php/x.png", "image/png", false),
    ("/QR.PHP/x.png", "image/png", false),
    ("/qr%2Ephp5/x.png", "image/png", false),
    ("/site/qr.cgi/a/x.png", "image/png", false),
    ("/qr.aspx/x.css", "text/css", false),
    ("/qr.php.en/x.png", "image/png", false),
    ("/v1.2/chart.js/x.png", "image/png", true),
    ("/php/x.png", "image/png", true),
];

#[test]
fn an_ending_alone_keeps_nothing() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nttl = \"1h\"\nttl_mode = \"static\"\n",
    );
    origin.otherwise(|request| {
        let kind = request.header("x-kind").unwrap_or_default().to_owned();
        let reply = Reply::ok()
            .cache("private, no-store")
            .body(request.header("cookie").unwrap_or("nobody"));
        if kind.is_empty() {
            reply
        } else {
            reply.header("Content-Type", kind)
        }
    });
    let mut wrong = Vec::new();
    for (number, (path, kind, kept)) in ROWS.iter().enumerate() {
        let host = format!("site-{number}.test");
        let get = || {
            larder
                .get(path)
                .header("Host", &host)
                .header("X-Kind", kind)
        };
        get().header("Cookie", "alice").send();
        let eve = get().send();
        if eve.hit() != *kept || (eve.text() == "alice") != *kept {
            wrong.push(format!("{path} {kind}: {}", eve.said()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A 304 brings no type: what is stored has one.
#[test]
fn what_is_confirmed_keeps_its_lifetime() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nttl = \"1h\"\nttl_mode = \"static\"\n",
    );
    origin.on("/a.css", |request| {
        let reply = match request.header("if-none-match") {
            Some(_) => Reply::status(304),
            None => Reply::ok().header("Content-Type", "text/css").body("x"),
        };
        reply.cache("no-cache").header("ETag", "\"a\"")
    });
    larder.get("/a.css").send();
    larder
        .get("/a.css")
        .header("Cache-Control", "no-cache")
        .send();
    assert_eq!(origin.requests("/a.css"), 2);
    assert!(larder.get("/a.css").send().hit());
}

/// What an application sends where it has no such file is its page, with the session that it begins: the site spoke of
/// files.
#[test]
fn a_page_under_the_path_of_a_file_is_kept_as_the_application_says() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nset_cookie = \"strip\"\nttl = { 200 = \"1h\", 404 = \"1m\" }\nttl_mode = \"static\"\n",
    );
    origin.otherwise(|request| {
        let reply = match request.header("x-status") {
            Some("404") => Reply::status(404),
            _ => Reply::ok(),
        };
        let kind = request.header("x-kind").unwrap_or_default();
        let cookie = request.header("x-cookie").unwrap_or_default();
        let reply = reply.header("Content-Type", kind).body("page");
        if cookie.is_empty() {
            reply
        } else {
            reply.header("Set-Cookie", cookie)
        }
    });
    let rows = [
        ("/none.css", "text/html; charset=utf-8", "200", "s=1", false),
        ("/none.css", "text/html", "200", "", false),
        ("/none.xml", "text/html", "200", "", false),
        ("/none.css", "text/html", "404", "", true),
        ("/none.css", "text/html", "404", "s=1", false),
        ("/some.css", "text/css", "200", "s=1", true),
        ("/some.xml", "text/xml", "200", "", true),
        ("/some.pdf", "application/pdf", "200", "", true),
        ("/none.pdf", "text/html", "200", "", false),
        ("/page", "text/html", "200", "", true),
    ];
    for (number, (path, kind, status, cookie, kept)) in rows.into_iter().enumerate() {
        let host = format!("site-{number}.test");
        let get = || {
            let ask = larder
                .get(path)
                .header("Host", &host)
                .header("X-Kind", kind);
            ask.header("X-Status", status)
                .header("X-Cookie", cookie)
                .send()
        };
        get();
        let again = get();
        assert_eq!(
            again.hit(),
            kept,
            "{path} {kind} {status} {cookie}: {}",
            again.said()
        );
    }
}
