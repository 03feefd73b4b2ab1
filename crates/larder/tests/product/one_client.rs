//! What an origin says to one client, for how that one asks, is nobody else's.

use super::frames::{is_bad_request, is_ok};
use crate::common::{Said, start, start_with};
use testkit::{Client, Gate, Reply};

/// A client that forces a fetch, and is refused or gets what is its own, takes from nobody what the origin has promised
/// to all.
#[test]
fn a_forced_fetch_that_is_refused_leaves_what_is_stored_for_others() {
    for refusal in [
        || Reply::status(403).cache("no-store"),
        || Reply::status(401),
        || Reply::status(451).cache("private"),
        || Reply::ok().cache("private"),
    ] {
        let (origin, larder) = start();
        origin.on("/", move |request| match request.header("user-agent") {
            Some("forbidden") => refusal().body("mine"),
            _ => Reply::ok().cache("max-age=60").body("page"),
        });
        larder.get("/").send();
        let ask = larder.get("/").header("User-Agent", "forbidden");
        let refused = ask.header("Cache-Control", "no-cache").send();
        assert_eq!(refused.text(), "mine", "{}", refused.said());
        let other = larder.get("/").send();
        assert_eq!(other.text(), "page");
        assert!(other.hit(), "{}", other.said());
        assert_eq!(origin.requests("/"), 2);
    }
}

/// What is there no more is nobody's, whoever finds it out; and what is stale anyway is out of date once it is guarded
/// (RFC 9111 section 4.3.3).
#[test]
fn a_page_that_is_gone_or_guarded_by_now_is_not_kept_behind_its_time() {
    for (age, asked, then) in [("0", "no-cache", 404), ("70", "max-stale=0", 403)] {
        let (origin, larder) = start();
        let stored = Reply::ok().cache("max-age=60, stale-if-error=600");
        origin.on("/", move |request| match request.nth {
            1 => stored.clone().header("Age", age).body("page"),
            2 => Reply::status(then).cache("no-store"),
            _ => Reply::status(503),
        });
        larder.get("/").send();
        let second = larder.get("/").header("Cache-Control", asked).send();
        assert_eq!(second.status, then, "{}", second.said());
        assert_eq!(larder.get("/").send().status, 503, "{then}");
    }
}

#[test]
fn what_one_gets_for_his_cookies_does_not_set_those_apart_who_have_none() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| match request.header("cookie") {
        Some(_) => Reply::ok().cache("private").body("mine"),
        None => Reply::ok()
            .cache("max-age=60")
            .hold_head(&held)
            .body("page"),
    });
    let own = larder.get("/").header("Cookie", "session=1").send();
    assert_eq!((own.text().as_str(), own.hit()), ("mine", false));
    let clients: Vec<Client> = (0..5).map(|_| larder.get("/").begin()).collect();
    gate.wait_reached();
    larder.get("/other").send();
    gate.open();
    for mut client in clients {
        assert_eq!(client.read().text(), "page");
    }
    assert_eq!(origin.requests("/"), 2, "one fetch for all");
}

/// Whatever comes of a request with credentials, a 304 too, is about these unless it says that it is for all.
#[test]
fn what_one_gets_for_his_credentials_is_about_nobody_who_has_none() {
    for own in [
        Reply::ok().cache("private"),
        Reply::ok().cache("private, must-revalidate"),
        Reply::ok().cache("no-store"),
        Reply::status(304).cache("private").header("ETag", "\"a\""),
        Reply::status(401).cache("no-cache, private"),
        Reply::status(404).cache("no-store"),
    ] {
        let (origin, larder) = start_with("workers = 1\n[[origin]]\nservers = \"{origin}\"\n");
        let gate = Gate::new();
        let (held, reply) = (gate.clone(), own.clone());
        origin.on("/", move |request| {
            let page = Reply::ok()
                .cache("max-age=60, stale-if-error=600")
                .header("ETag", "\"a\"");
            match (request.nth, request.header("authorization")) {
                (_, Some(_)) => reply.clone().body("mine"),
                (1, None) => page.header("Age", "100").body("page"),
                _ => page.hold_head(&held).body("page"),
            }
        });
        larder.get("/").send();
        larder.get("/").header("Authorization", "Basic eDp5").send();
        let stale = larder
            .get("/")
            .header("Cache-Control", "only-if-cached, max-stale")
            .send();
        assert_eq!(stale.text(), "page", "{own:?}");
        let clients: Vec<Client> = (0..5).map(|_| larder.get("/").begin()).collect();
        gate.wait_reached();
        larder.get("/other").send();
        gate.open();
        for mut client in clients {
            assert_eq!(client.read().text(), "page", "{own:?}");
        }
        assert_eq!(origin.requests("/"), 3, "one fetch for all: {own:?}");
    }
}

/// Nor is he queued behind others who have cookies: the next answer to one of these is most likely its own too.
#[test]
fn those_with_cookies_do_not_wait_for_each_other_once_one_got_his_own() {
    let (origin, larder) = start_with("workers = 1\n[[origin]]\nservers = \"{origin}\"\n");
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| {
        let own = request.header("cookie").unwrap_or_default().to_owned();
        let reply = Reply::ok().cache("private").body(own);
        if request.nth == 1 {
            reply
        } else {
            reply.hold_head(&held)
        }
    });
    larder.get("/").header("Cookie", "session=1").send();
    let clients: Vec<Client> = (2..5)
        .map(|number| {
            let ask = larder.get("/");
            ask.header("Cookie", format!("session={number}")).begin()
        })
        .collect();
    origin.wait_requests("/", 4);
    gate.open();
    for (number, mut client) in (2..5).zip(clients) {
        assert_eq!(client.read().text(), format!("session={number}"));
    }
}

#[test]
fn an_error_to_a_range_is_not_the_pages() {
    for (status, kept) in [(400, false), (403, false), (500, false), (404, true)] {
        let (origin, larder) =
            start_with("[[origin]]\nservers = \"{origin}\"\n[[route]]\nttl.any = \"60s\"\n");
        origin.on("/", move |request| match request.header("range") {
            Some(_) => Reply::status(status).cache("max-age=60").body("error"),
            None => Reply::ok().cache("max-age=60").body("page"),
        });
        let part = larder.get("/").header("Range", "bytes=5-9").send();
        assert_eq!(part.status, status);
        if !kept {
            assert_eq!(part.parameter("detail").as_deref(), Some("range-error"));
        }
        let whole = larder.get("/").send();
        assert_eq!(whole.hit(), kept, "{status}: {}", whole.said());
        assert_eq!(whole.text(), if kept { "error" } else { "page" });
    }
}

#[test]
fn fields_of_content_that_is_not_there_do_not_reach_the_origin() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().cache("max-age=60").body("page"));
    let ask = larder.get("/").header("Content-Encoding", "evil");
    let ask = ask.header("Content-Language", "evil");
    let ask = ask.header("Content-Type", "evil/evil");
    let ask = ask.header("Content-Digest", "sha-256=:AAAA:");
    let ask = ask.header("Content-MD5", "evil");
    ask.header("Max-Forwards", "0").send();
    let reached = origin.last("/");
    for name in [
        "content-encoding",
        "content-language",
        "content-type",
        "content-digest",
        "content-md5",
        "max-forwards",
    ] {
        assert_eq!(reached.header(name), None, "{name}");
    }
}

/// What the site keeps of every status is no refusal of one client's.
#[test]
fn a_refusal_is_not_kept_by_a_class_of_statuses() {
    for (ttl, kept) in [("any", false), ("4xx", false), ("403", true)] {
        let (origin, larder) = start_with(&format!(
            "[[origin]]\nservers = \"{{origin}}\"\n[[route]]\nttl.{ttl} = \"60s\"\n"
        ));
        origin.on("/", |request| match request.header("user-agent") {
            Some("forbidden") => Reply::status(403).body("mine"),
            _ => Reply::ok().cache("max-age=60").body("page"),
        });
        larder.get("/").header("User-Agent", "forbidden").send();
        let other = larder.get("/").send();
        assert_eq!(other.hit(), kept, "{ttl}: {}", other.said());
    }
}

/// RFC 9110 section 7.4: what is for `https` is not served in the clear, nor is what is written so keyed as something
/// else.
#[test]
fn a_target_of_the_other_scheme_is_misdirected() {
    let (origin, larder) =
        start_with("trusted = \"127.0.0.1\"\n[[origin]]\nservers = \"{origin}\"\n");
    origin.reply("/x", Reply::ok().cache("max-age=60").body("page"));
    for (target, proto, status) in [
        ("http://a/x", "http", 200),
        ("https://a/x", "http", 421),
        ("https://a/x", "https", 200),
        ("http://a/x", "https", 421),
    ] {
        let ask = larder.get(target).header("Host", "a");
        let answer = ask.header("X-Forwarded-Proto", proto).send();
        assert_eq!(answer.status, status, "{target} {proto}: {}", answer.said());
    }
    assert_eq!(origin.requests("/x"), 2);
}

/// RFC 9113 section 8.3.1: over HTTP/2 each request names a scheme, and a proxy that ends TLS may leave it as it was. The
/// connection tells, or a trusted proxy.
#[test]
fn over_http2_the_scheme_that_a_request_names_tells_nothing() {
    let (origin, larder) = start();
    origin.reply("/x", Reply::ok().cache("max-age=60").body("page"));
    for scheme in ["https", "http"] {
        let all = [
            (":method", "GET"),
            (":scheme", scheme),
            (":authority", "a"),
            (":path", "/x"),
        ];
        assert!(is_ok(&larder, &all), "{scheme}");
    }
    assert_eq!(origin.requests("/x"), 1);
    assert_eq!(origin.last("/x").header("x-forwarded-proto"), Some("http"));
}

/// RFC 9113 section 8.3.1: `:path` must not be empty, and there is nothing to serve of another scheme (RFC 9110 section
/// 4.2).
#[test]
fn a_target_of_another_kind_is_refused() {
    let (origin, larder) = start();
    for (scheme, path) in [("http", "?x"), ("ftp", "/x")] {
        let all = [
            (":method", "GET"),
            (":scheme", scheme),
            (":authority", "a"),
            (":path", path),
        ];
        assert!(is_bad_request(&larder, &all), "{scheme} {path}");
    }
    let mut client = larder.client();
    client.send("GET ftp://a/x HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.read().status, 400);
    assert!(origin.all().is_empty());
}
