//! A form goes to whom its content goes, and to nobody else; what was purged does not come back in another coding.

use super::coding::{BROWSER, decoded, get, made, page, text};
use crate::common::{Said, start, start_with};
use std::thread;
use testkit::{Gate, Larder, Reply, wait_until};

fn purge(larder: &Larder, body: &str) {
    let ask = testkit::Client::connect(larder.admin());
    let mut ask = ask;
    ask.send(format!(
        "POST /purge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    ));
    let answer = ask.read();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn users_variants_have_forms_of_their_own() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let user = request.header("cookie").unwrap_or("nobody").to_owned();
        let reply = page(&text(&user, 8000)).cache("public, max-age=60");
        reply.header("Vary", "Cookie")
    });
    thread::scope(|scope| {
        for user in ["id=anna", "id=bert", "id=carl", "id=dora"] {
            let larder = &larder;
            scope.spawn(move || {
                for turn in 0..30 {
                    let coding = ["br", "gzip", "zstd", BROWSER, "identity"][turn % 5];
                    let ask = larder.get("/").header("Cookie", user);
                    let answer = ask.header("Accept-Encoding", coding).send();
                    assert_eq!(decoded(&answer), text(user, 8000), "{user} {coding}");
                }
            });
        }
    });
    assert_eq!(origin.requests("/"), 4);
}

#[test]
fn keys_have_forms_of_their_own() {
    let (origin, larder) = start();
    origin.otherwise(|request| {
        let which = format!(
            "{} {}",
            request.header("host").unwrap_or_default(),
            request.target
        );
        page(&text(&which, 8000))
    });
    for _ in 0..3 {
        for host in ["a.example", "b.example"] {
            for path in ["/", "/?a=1", "/?a=2", "/x"] {
                for coding in ["br", "gzip"] {
                    let ask = larder.get(path).header("Host", host);
                    let answer = ask.header("Accept-Encoding", coding).send();
                    assert_eq!(decoded(&answer), text(&format!("{host} {path}"), 8000));
                }
            }
        }
    }
    assert_eq!(origin.requests("/") + origin.requests("/x"), 8);
}

/// By its URL, by a tag, by everything: hard and soft.
#[test]
fn a_purged_form_never_comes_back() {
    for what in [
        "{\"url\": \"http://a/page\"}",
        "{\"tags\": [\"news\"]}",
        "{\"prefix\": \"http://a/\"}",
        "{\"everything\": true}",
        "{\"everything\": true, \"soft\": true}",
    ] {
        let (origin, larder) = start();
        origin.on("/page", |request| {
            page(&text(&format!("turn {}", request.nth), 8000)).header("Cache-Tag", "news")
        });
        let ask = |coding: &str| {
            let ask = larder.get("/page").header("Host", "a");
            ask.header("Accept-Encoding", coding).send()
        };
        for turn in 1..4 {
            let body = text(&format!("turn {turn}"), 8000);
            for coding in ["gzip", "br", "identity", "zstd", BROWSER, "gzip"] {
                assert_eq!(decoded(&ask(coding)), body, "{what} {coding}");
            }
            purge(&larder, what);
        }
        assert_eq!(origin.requests("/page"), 3, "{what}");
    }
}

/// The form is under way when the purge comes: who reads it reads on, nobody else gets it.
#[test]
fn a_form_under_way_is_dropped_by_a_purge() {
    for what in ["{\"url\": \"http://a/\"}", "{\"everything\": true}"] {
        let (origin, larder) = start();
        let (old, new) = (text("old", 80_000), text("new", 80_000));
        let gate = Gate::new();
        origin.reply(
            "/",
            page(&old[..2000]).chunked().hold(&gate).body(&old[2000..]),
        );
        let ask = larder.get("/").header("Host", "a");
        let mut client = ask.header("Accept-Encoding", "gzip").begin();
        let mut answer = client.read_head();
        gate.wait_reached();
        purge(&larder, what);
        origin.reply("/", page(&new));
        let fresh = || {
            let ask = larder.get("/").header("Host", "a");
            ask.header("Accept-Encoding", "gzip").send()
        };
        assert_eq!(decoded(&fresh()), new, "{what}");
        gate.open();
        client.read_content(&mut answer);
        assert_eq!(decoded(&answer), old, "{what}: it was asked for before");
        for _ in 0..3 {
            assert_eq!(decoded(&fresh()), new, "{what}");
        }
    }
}

/// The form is under way when the application has something else: it never joins that.
#[test]
fn a_form_under_way_is_dropped_by_a_newer_page() {
    let (origin, larder) = start();
    let (old, new) = (text("old", 80_000), text("new", 80_000));
    let gate = Gate::new();
    let held = page(&old[..2000]).chunked().hold(&gate).body(&old[2000..]);
    origin.reply("/", held.cache("no-cache"));
    let ask = larder.get("/").header("Accept-Encoding", "gzip");
    let mut client = ask.begin();
    let mut answer = client.read_head();
    gate.wait_reached();
    origin.on("/", {
        let new = new.clone();
        move |_| page(&new).cache("no-cache").header("ETag", "\"v2\"")
    });
    assert_eq!(decoded(&get(&larder, "/", "gzip")), new);
    gate.open();
    client.read_content(&mut answer);
    assert_eq!(decoded(&answer), old, "it was asked for before");
    for _ in 0..3 {
        assert_eq!(decoded(&get(&larder, "/", "gzip")), new);
    }
}

/// One content, confirmed by a 304 for each of its users: they share what was made of it, and nothing of each other's
/// fields.
#[test]
fn users_of_one_content_share_no_fields() {
    let (origin, larder) = start();
    let body = text("shared", 9000);
    let content = body.clone();
    origin.on("/", move |request| {
        let user = request.header("cookie").unwrap_or("nobody").to_owned();
        let reply = match request.header("if-none-match") {
            Some(_) => Reply::status(304).header("ETag", "\"v1\""),
            None => page(&content),
        };
        let reply = reply.cache("public, no-cache").header("Vary", "Cookie");
        reply.header("X-User", &user)
    });
    for turn in 0..40 {
        let user = ["id=anna", "id=bert", "id=carl"][turn % 3];
        let coding = ["gzip", "br", "identity"][turn % 2];
        let ask = larder.get("/").header("Cookie", user);
        let answer = ask.header("Accept-Encoding", coding).send();
        assert_eq!(decoded(&answer), body, "{turn}");
        assert_eq!(answer.header("x-user"), Some(user), "{turn} {coding}");
    }
    assert_eq!(origin.requests("/"), 40);
    for coding in ["gzip", "br"] {
        assert_eq!(made(&larder, coding, "fast"), 1, "{coding}");
    }
}

/// A response that may go to one client only is not kept in any coding.
#[test]
fn what_is_not_stored_has_no_form() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let who = request.header("x-who").unwrap_or_default().to_owned();
        page(&text(&who, 8000)).cache("private")
    });
    for who in ["anna", "bert", "anna"] {
        let ask = larder.get("/").header("X-Who", who);
        let answer = ask.header("Accept-Encoding", "gzip").send();
        assert_eq!(decoded(&answer), text(who, 8000));
        assert!(!answer.hit());
    }
    assert_eq!(origin.requests("/"), 3);
    assert_eq!(made(&larder, "gzip", "fast"), 0);
}

/// While pages change, are purged and are made better, nobody ever sees bytes of another page.
#[test]
fn no_page_in_another_ones_coding_under_load() {
    let (origin, larder) =
        start_with("[[origin]]\nservers = \"{origin}\"\n[memory]\nsize = \"4MiB\"\n");
    origin.otherwise(|request| page(&text(&request.target, 9000)));
    let walk = &|client: usize| {
        for turn in 0..200usize {
            let path = format!("/{}", (turn * 7 + client) % 40);
            let coding = ["br", "gzip", "zstd", BROWSER][turn % 4];
            let answer = get(&larder, &path, coding);
            assert_eq!(decoded(&answer), text(&path, 9000), "{path} {coding}");
            if turn % 50 == 49 {
                purge(&larder, "{\"everything\": true}");
            }
        }
    };
    thread::scope(|scope| {
        for client in 0..3 {
            scope.spawn(move || walk(client));
        }
    });
    wait_until("the making ended", || sample_in_flight(&larder) == 0);
}

fn sample_in_flight(larder: &Larder) -> u64 {
    crate::common::sample(larder, "larder_in_flight_bytes")
}

/// A client that leaves in the middle spoils the form for nobody.
#[test]
fn a_client_that_leaves_spoils_nothing() {
    let (origin, larder) = start();
    let body = text("leaves", 400_000);
    let gate = Gate::new();
    origin.reply(
        "/",
        page(&body[..5000])
            .chunked()
            .hold(&gate)
            .body(&body[5000..]),
    );
    let begin = || larder.get("/").header("Accept-Encoding", "br").begin();
    let (mut first, mut second) = (begin(), begin());
    first.read_head();
    let mut answer = second.read_head();
    drop(first);
    gate.open();
    second.read_content(&mut answer);
    assert_eq!(decoded(&answer), body);
    assert_eq!(decoded(&get(&larder, "/", "br")), body);
    assert_eq!(origin.requests("/"), 1);
}

/// Fields that only the request's own client may have go with the form that it gets (RFC 9111 sections 5.2.2.4 and
/// 5.2.2.7).
#[test]
fn fields_for_one_client_go_with_its_form() {
    for directive in ["private", "no-cache"] {
        let (origin, larder) = start();
        let body = text("own", 8000);
        origin.on("/", {
            let (body, cache) = (body.clone(), format!("max-age=60, {directive}=\"X-User\""));
            move |request| {
                let reply = if request.header("if-none-match").is_none() {
                    page(&body).header("Content-MD5", "of identity")
                } else {
                    Reply::status(304).header("ETag", "\"v1\"")
                };
                let user = format!("user {}", request.nth);
                reply.cache(&cache).header("X-User", user)
            }
        });
        let ask = |cache: &str| {
            let ask = larder.get("/").header("Cache-Control", cache);
            ask.header("Accept-Encoding", "gzip").send()
        };
        let (first, hit, validated) = (ask("max-age=60"), ask("max-age=60"), ask("no-cache"));
        for (answer, user) in [
            (&first, Some("user 1")),
            (&hit, None),
            (&validated, Some("user 2")),
        ] {
            assert!(answer.complete, "{directive} {user:?}");
            assert_eq!(answer.header("content-encoding"), Some("gzip"), "{user:?}");
            assert_eq!(decoded(answer), body, "{directive} {user:?}");
            assert_eq!(answer.header("x-user"), user, "{directive}");
            let etag = answer.header("etag").expect("an ETag");
            assert!(etag.contains("\"v1-larder-gzip"), "{directive}: {etag}");
            assert_eq!(answer.header("content-md5"), None, "{directive}");
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"));
        }
    }
}

/// RFC 9111 section 4.1: where the origin was told what a client accepts, what it coded for that is not for who accepts
/// something else and wants nothing transformed. For all others it is decoded.
#[test]
fn what_was_coded_for_one_client_is_not_for_who_wants_no_transformation() {
    let (origin, larder) = start();
    origin.otherwise(|request| {
        let reply = page("").header("Vary", "Accept-Encoding");
        let reply = reply.cache("public, max-age=3600");
        match request.header("accept-encoding") {
            Some("gzip") => reply
                .header("Content-Encoding", "gzip")
                .body(super::coding_origin::gzipped(&text("own", 9000))),
            _ => reply.header("ETag", "\"i\"").body(text("own", 9000)),
        }
    });
    let ask = |accepts: &str| {
        let ask = larder.get("/").header("Accept-Encoding", accepts);
        ask.header("Authorization", "x")
    };
    let first = ask("gzip").send();
    assert_eq!(first.header("content-encoding"), Some("gzip"));
    assert!(first.says("stored"), "{}", first.said());
    for accepts in ["gzip", "br", "identity"] {
        let answer = ask(accepts).send();
        assert!(answer.hit(), "{accepts}: {}", answer.said());
        assert_eq!(decoded(&answer), text("own", 9000), "{accepts}");
    }
    for range in [None, Some("bytes=0-3")] {
        let mut ask = ask("identity").header("Cache-Control", "no-transform");
        if let Some(range) = range {
            ask = ask.header("Range", range);
        }
        let answer = ask.send();
        assert_eq!(answer.header("content-encoding"), None, "{range:?}");
        assert!(text("own", 9000).starts_with(&answer.text()), "{range:?}");
    }
}
