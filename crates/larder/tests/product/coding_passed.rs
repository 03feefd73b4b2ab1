//! Answers that are not stored: coded on their way where that tells nobody anything (BREACH).

use super::coding::{BROWSER, decoded, get, page, text};
use crate::common::{start, start_with};
use testkit::{Gate, Reply};

#[test]
fn what_is_not_stored_is_coded_on_its_way() {
    let (origin, larder) = start();
    let body = text("passed", 20_000);
    origin.reply("/", page(&body).cache("no-store"));
    for _ in 0..3 {
        for (accepts, expected) in [
            (BROWSER, "zstd"),
            ("br, gzip", "gzip"),
            ("br, gzip;q=0.9", "br"),
        ] {
            let answer = get(&larder, "/", accepts);
            assert_eq!(answer.header("content-encoding"), Some(expected));
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"));
            assert_eq!(answer.header("content-length"), None);
            assert_eq!(decoded(&answer), body);
            let tag = format!("W/\"v1-larder-{expected}\"");
            assert_eq!(answer.header("etag"), Some(&*tag));
            let ask = larder.get("/").header("Accept-Encoding", accepts);
            let again = ask.header("If-None-Match", &tag).send();
            assert_eq!((again.status, again.header("etag")), (304, Some(&*tag)));
        }
        assert_eq!(larder.get("/").send().text(), body);
    }
}

#[test]
fn a_post_is_coded_too() {
    let (origin, larder) = start();
    let body = text("post", 20_000);
    origin.reply("/", page(&body).cache("no-store"));
    let ask = larder.ask("POST", "/").header("Accept-Encoding", "gzip");
    let answer = ask.body("question").send();
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    assert_eq!(decoded(&answer), body);
}

/// The default: nothing of what is made for one user is coded here, unless the origin does it itself.
#[test]
fn what_is_one_users_is_left_alone() {
    let config = "[[origin]]\nservers = \"{origin}\"\n[defaults]\nbypass = { cookies = \"session\" }\n\
                  [[route]]\npath = \"/open/*\"\ncompress_personal = true\n";
    let (origin, larder) = start_with(config);
    let body = text("personal", 20_000);
    let reply = || page(&body).cache("private");
    for path in ["/mine", "/open/mine"] {
        origin.reply(path, reply());
        let set = format!("{path}/set");
        origin.reply(&set, reply().header("Set-Cookie", "session=2"));
        let public = format!("{path}/public");
        origin.reply(&public, page(&body));
        let coded = path.starts_with("/open").then_some("gzip");
        for (target, name, value, expected) in [
            (path, "Cookie", "session=1", coded),
            (path, "Cookie", "other=1", coded),
            (path, "Authorization", "Basic YTpi", coded),
            (&*set, "X-Nothing", "1", coded),
            (path, "X-Nothing", "1", Some("gzip")),
            // What is stored is everybody's: who asks tells nothing of it.
            (&*public, "Cookie", "other=1", Some("gzip")),
        ] {
            for _ in 0..2 {
                let ask = larder.get(target).header("Accept-Encoding", "gzip");
                let answer = ask.header(name, value).send();
                assert_eq!(
                    answer.header("content-encoding"),
                    expected,
                    "{target} {name}"
                );
                assert_eq!(decoded(&answer), body);
            }
        }
    }
    // What bypasses the store goes with the client's own wish, so that the origin may code it.
    let ask = larder.get("/mine").header("Accept-Encoding", BROWSER);
    ask.header("Cookie", "session=1").send();
    assert_eq!(
        origin.last("/mine").header("accept-encoding"),
        Some(BROWSER)
    );
}

#[test]
fn the_origins_coding_passes() {
    let (origin, larder) = start();
    let reply = page("").cache("no-store").header("Content-Encoding", "br");
    origin.reply(
        "/",
        reply.body("not really brotli, and long enough to be coded".repeat(30)),
    );
    for accepts in [BROWSER, "gzip"] {
        let answer = get(&larder, "/", accepts);
        assert_eq!(answer.header("content-encoding"), Some("br"));
        assert!(answer.text().starts_with("not really"));
        assert_eq!(answer.header("etag"), Some("\"v1\""));
    }
}

/// RFC 9110 section 15.4.5: a 304 has the `Vary` that a 200 would have had.
#[test]
fn a_304_has_the_vary_of_the_200() {
    let (origin, larder) =
        start_with("[[origin]]\nservers = \"{origin}\"\n[[route]]\ncompress_personal = false\n");
    let body = text("vary", 20_000);
    let cookie = ("Set-Cookie", "a=1");
    let coded = ("Content-Encoding", "gzip");
    for (name, value, vary) in [
        ("X-Any", "", Some("Accept-Encoding")),
        (coded.0, coded.1, None),
        (cookie.0, cookie.1, None),
        ("Content-Type", "image/png", None),
        ("CDN-Cache-Control", "no-transform", None),
    ] {
        let mut reply = Reply::ok().cache("no-store").header("ETag", "\"v1\"");
        if name != "Content-Type" {
            reply = reply.header("Content-Type", "text/html");
        }
        origin.reply("/", reply.header(name, value).body(&body));
        let get = || {
            larder
                .get("/")
                .header("Accept-Encoding", "identity, gzip;q=0.5")
        };
        let whole = get().send();
        assert_eq!((whole.status, whole.header("vary")), (200, vary), "{name}");
        let tag = whole.header("etag").expect("a tag");
        let again = get().header("If-None-Match", tag).send();
        assert_eq!((again.status, again.header("vary")), (304, vary), "{name}");
    }
}

#[test]
fn a_page_that_is_written_bit_by_bit_arrives_bit_by_bit() {
    let (origin, larder) = start();
    let (one, two) = (text("one", 700), text("two", 700));
    let gate = Gate::new();
    let reply = page(&one)
        .cache("no-store")
        .chunked()
        .hold(&gate)
        .body(&two);
    origin.reply("/", reply);
    let ask = larder.get("/").header("Accept-Encoding", "gzip");
    let mut client = ask.begin();
    let mut answer = client.read_head();
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    let mut reader = flate2::write::GzDecoder::new(Vec::new());
    while reader.get_ref().len() < one.len() {
        let before = answer.body.len();
        client.read_body_exactly(&mut answer, before + 1);
        std::io::Write::write_all(&mut reader, &answer.body[before..]).expect("gzip");
        std::io::Write::flush(&mut reader).expect("gzip");
    }
    gate.open();
    client.read_content(&mut answer);
    assert_eq!(decoded(&answer), format!("{one}{two}"));
}

#[test]
fn events_are_left_alone() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let event = format!("data: {}\n\n", text("event", 2000).replace('\n', " "));
    let reply = Reply::ok()
        .header("Content-Type", "text/event-stream")
        .chunked()
        .body(&event)
        .hold(&gate)
        .body(&event);
    origin.reply("/", reply);
    let mut client = larder.get("/").header("Accept-Encoding", BROWSER).begin();
    let mut answer = client.read_head();
    assert_eq!(answer.header("content-encoding"), None);
    client.read_body_exactly(&mut answer, event.len());
    assert_eq!(answer.text(), event);
    gate.open();
    client.read_content(&mut answer);
    assert_eq!(answer.text(), event.repeat(2));
}

/// A condition that the origin is to judge comes back under the tag that the client knows.
#[test]
fn a_304_of_the_origin_names_what_the_client_holds() {
    let (origin, larder) =
        start_with("[[origin]]\nservers = \"{origin}\"\n[defaults]\ncache = false\n");
    let body = text("passed", 20_000);
    origin.on("/", move |request| {
        if request.header("if-none-match") == Some("W/\"v1\"") {
            return Reply::status(304).header("ETag", "\"v1\"");
        }
        page(&body)
    });
    let answer = get(&larder, "/", "gzip");
    let tag = answer.header("etag").expect("a tag").to_owned();
    assert_eq!(tag, "W/\"v1-larder-gzip\"");
    let ask = larder.get("/").header("Accept-Encoding", "gzip");
    let again = ask.header("If-None-Match", &tag).send();
    assert_eq!((again.status, again.header("etag")), (304, Some(&*tag)));
    // Who would not get that form holds nothing of what would be sent (RFC 9110 section 13.1.2).
    for accepted in ["identity", "br"] {
        let ask = larder.get("/").header("Accept-Encoding", accepted);
        let whole = ask.header("If-None-Match", &tag).send();
        assert_eq!(whole.status, 200, "{accepted}");
    }
    let ask = larder.get("/").header("If-None-Match", &tag);
    assert_eq!(ask.send().status, 200);
}
