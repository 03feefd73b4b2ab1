//! Which of several variants a 304 confirms (RFC 9111 section 4.3.4): a weak tag, or a date, may be shared by
//! representations with different content (RFC 9110 section 8.8.1).

use crate::{
    common::{Said, sample, start, start_with},
    disk::Site,
};
use testkit::{Larder, Origin, Reply, Request, Response, date, wait_until};

const WEAK: &str = "W/\"a\"";

fn ask(larder: &Larder, kind: &str) -> Response {
    larder.get("/").header("Foo", kind).send()
}

/// Has the origin asked, whatever is stored.
fn validated(larder: &Larder, kind: &str) -> Response {
    let ask = larder.get("/").header("Foo", kind);
    ask.header("Cache-Control", "no-cache").send()
}

fn is_conditional(request: &Request) -> bool {
    request.header("if-none-match").is_some() || request.header("if-modified-since").is_some()
}

/// An application that deploys its variants together: all have one weak tag and one date of modification. What was made
/// for `Foo: 2` is the more recent.
fn deployed(request: &Request, validator: (&str, &str)) -> Reply {
    let reply = if is_conditional(request) {
        Reply::status(304)
    } else {
        let kind = request.header("foo").unwrap_or_default();
        let age = if kind == "2" { -10 } else { -20 };
        let reply = Reply::ok().undated().header("Date", date(age));
        reply.body(format!("content-{kind}"))
    };
    let reply = reply.cache("max-age=600").header("Vary", "Foo");
    reply.header(validator.0, validator.1)
}

#[test]
fn a_304_with_a_shared_validator_confirms_the_variant_that_the_request_selects() {
    let modified = date(-1000);
    for validator in [("ETag", WEAK), ("Last-Modified", modified.as_str())] {
        let (origin, larder) = start();
        let own = (validator.0, validator.1.to_owned());
        origin.on("/", move |request| deployed(request, (own.0, &own.1)));
        for kind in ["1", "2"] {
            assert_eq!(ask(&larder, kind).text(), format!("content-{kind}"));
        }
        for kind in ["1", "2", "1"] {
            let confirmed = validated(&larder, kind);
            assert_eq!(
                confirmed.parameter("fwd-status").as_deref(),
                Some("304"),
                "{validator:?}"
            );
            assert_eq!(
                confirmed.text(),
                format!("content-{kind}"),
                "9111 section 4.3.4: those that could have been chosen: {validator:?}"
            );
        }
        for kind in ["1", "2"] {
            let hit = ask(&larder, kind);
            assert_eq!(
                (hit.hit(), hit.text()),
                (true, format!("content-{kind}")),
                "{validator:?}"
            );
        }
    }
}

#[test]
fn the_same_holds_of_what_comes_from_disk() {
    let site = Site::with(|request| deployed(request, ("ETag", WEAK)));
    let larder = site.start();
    for kind in ["1", "2"] {
        for _ in 0..2 {
            ask(&larder, kind);
        }
    }
    let larder = site.restart(larder);
    for kind in ["1", "2", "1"] {
        let confirmed = validated(&larder, kind);
        assert_eq!(confirmed.parameter("fwd-status").as_deref(), Some("304"));
        assert_eq!(confirmed.text(), format!("content-{kind}"));
    }
    let other = ask(&larder, "3");
    assert_eq!((other.hit(), other.text().as_str()), (false, "content-3"));
}

/// As Rails' `fresh_when` does, whose tags are weak and tell of the record alone.
#[test]
fn a_weak_tag_of_another_variant_is_not_offered() {
    for (field, one, other) in [
        ("Cookie", "user=alice", "user=bob"),
        ("Accept", "text/html", "application/json"),
        ("Accept-Encoding", "gzip", "identity"),
        ("Foo", "1", "2"),
    ] {
        let config = "[[origin]]\nservers = \"{origin}\"\n[defaults]\ncompress = false\n";
        let (origin, larder) = start_with(config);
        origin.on("/", move |request| {
            let reply = match request.header("if-none-match") {
                Some(tags) if tags.contains("W/\"rec-1\"") => Reply::status(304),
                _ => Reply::ok().body(request.header(field).unwrap_or_default()),
            };
            reply
                .cache("no-cache")
                .header("ETag", "W/\"rec-1\"")
                .header("Vary", field)
        });
        for value in [one, other, one, other] {
            let answer = larder.get("/").header(field, value).send();
            assert_eq!(
                answer.text(),
                value,
                "9110 section 8.8.1: a weak tag may be shared: {field}"
            );
        }
        let first = &origin.recorded("/")[1];
        assert_eq!(first.header("if-none-match"), None, "{field}");
        assert_eq!(
            origin.last("/").header("if-none-match"),
            Some("W/\"rec-1\""),
            "{field}: its own is"
        );
    }
}

#[test]
fn a_304_that_names_nothing_confirms_what_alone_was_asked_about() {
    let (origin, larder) = start();
    let modified = date(-1000);
    origin.on("/", move |request| {
        if is_conditional(request) {
            return Reply::status(304).cache("max-age=600");
        }
        deployed(request, ("Last-Modified", &modified))
    });
    for kind in ["1", "2"] {
        ask(&larder, kind);
    }
    for kind in ["1", "2", "1"] {
        let confirmed = validated(&larder, kind);
        assert_eq!(confirmed.text(), format!("content-{kind}"));
        assert_eq!(confirmed.parameter("fwd-status").as_deref(), Some("304"));
    }
    assert_eq!(origin.requests("/"), 5, "each was asked once");
}

#[test]
fn a_part_is_not_completed_by_another_variant() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let part = request.header("range").is_some() && !is_conditional(request);
        let reply = deployed(request, ("ETag", WEAK));
        if part {
            let reply = Reply::status(206).cache("max-age=600").header("ETag", WEAK);
            let reply = reply.header("Vary", "Foo").body("con");
            return reply.header("Content-Range", "bytes 0-2/9");
        }
        reply
    });
    let part = larder.get("/").header("Foo", "1");
    assert_eq!(part.header("Range", "bytes=0-2").send().text(), "con");
    assert_eq!(ask(&larder, "2").text(), "content-2");
    assert_eq!(
        ask(&larder, "1").text(),
        "content-1",
        "9111 section 4.3.4: the whole of another variant"
    );
}

/// One content for all, of which the 304 tells no more than the tag and `X-Version: 2`.
fn same_for_all(request: &Request) -> Reply {
    let reply = if is_conditional(request) {
        Reply::status(304).header("X-Version", "2")
    } else {
        Reply::ok().header("Vary", "Foo").body("same")
    };
    reply.cache("public, max-age=600").header("ETag", "\"a\"")
}

#[test]
fn a_304_freshens_no_variant_that_its_request_does_not_match() {
    let (origin, larder) = start();
    origin.on("/", same_for_all);
    assert_eq!(ask(&larder, "1").text(), "same");
    let second = ask(&larder, "2");
    assert_eq!(
        (second.text().as_str(), second.header("x-version")),
        ("same", Some("2")),
        "9111 section 4.3.2: by the strong tag it is the content of another variant"
    );
    assert!(ask(&larder, "2").hit());
    let first = ask(&larder, "1");
    assert_eq!(
        (first.hit(), first.header("x-version")),
        (true, None),
        "9111 section 4.3.4: it could not have been chosen for that request"
    );
    validated(&larder, "2");
    assert_eq!(ask(&larder, "1").header("x-version"), None);
}

#[test]
fn a_304_freshens_all_with_its_strong_tag_that_its_request_matches() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        2 => Reply::ok()
            .cache("max-age=600")
            .header("ETag", "\"a\"")
            .header("Vary", "Bar")
            .body("same"),
        _ => same_for_all(request),
    });
    let ask = |foo, bar| larder.get("/").header("Foo", foo).header("Bar", bar);
    ask("1", "2").send();
    ask("2", "1").send();
    let both = ask("1", "1").header("Cache-Control", "no-cache").send();
    assert_eq!(both.parameter("fwd-status").as_deref(), Some("304"));
    for (foo, bar) in [("1", "2"), ("2", "1")] {
        let hit = ask(foo, bar).send();
        assert_eq!(
            (hit.hit(), hit.header("x-version")),
            (true, Some("2")),
            "9111 section 4.3.4: all of the initial set: {}",
            hit.said()
        );
    }
}

/// Pages that are told apart by language, and from some moment on by user too.
#[test]
fn a_304_with_a_wider_vary_makes_no_page_one_of_all_users() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let user = request.header("cookie").unwrap_or_default();
        match request.nth {
            1 => Reply::ok().header("Vary", "Accept-Language").body(user),
            2 => Reply::status(304).header("Vary", "Accept-Language, Cookie"),
            _ => Reply::ok()
                .header("Vary", "Accept-Language, Cookie")
                .body(user),
        }
        .cache("max-age=1, stale-while-revalidate=0")
        .header("Age", if request.nth == 1 { "100" } else { "0" })
        .header("ETag", if request.nth < 3 { "\"a\"" } else { "\"b\"" })
    });
    let ask = |language, user| {
        let ask = larder.get("/").header("Accept-Language", language);
        ask.header("Cookie", user).send().text()
    };
    assert_eq!(ask("de", "user=1"), "user=1");
    assert_eq!(ask("en", "user=1"), "user=1");
    assert_eq!(
        ask("de", "user=2"),
        "user=2",
        "9111 section 4.3.4: what the 304 was not for is stale as before"
    );
}

#[test]
fn a_304_that_withdraws_takes_no_variant_that_its_request_does_not_match() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let reply = if request.header("foo") == Some("2") {
            Reply::status(304).cache("no-store")
        } else {
            Reply::ok().cache("max-age=600").body("content-1")
        };
        reply.header("ETag", "\"a\"").header("Vary", "Foo")
    });
    ask(&larder, "1");
    assert_eq!(ask(&larder, "2").text(), "content-1");
    assert!(
        ask(&larder, "1").hit(),
        "9111 section 4.3.4: that 304 is not about it"
    );
    assert_eq!(ask(&larder, "2").header("cache-control"), Some("no-store"));
    assert_eq!(origin.requests("/"), 3, "nothing was kept of it");
}

/// The answers to `/`, in turn.
fn in_turn(origin: &Origin, answers: &'static [fn(Reply) -> Reply]) {
    origin.on("/", move |request| {
        let answer = answers[request.nth - 1];
        answer(
            Reply::ok()
                .cache("max-age=600")
                .body(request.nth.to_string()),
        )
    });
}

#[test]
fn a_full_answer_shows_what_the_condition_named_to_be_unsuitable() {
    let of_any: &[fn(Reply) -> Reply] = &[
        |reply| reply.header("ETag", "\"1\"").header("Vary", "Foo"),
        |reply| reply.header("ETag", "\"2\""),
    ];
    // By `Date` it is the older of the two.
    let of_another: &[fn(Reply) -> Reply] = &[
        |reply| reply.header("ETag", "\"1\"").header("Vary", "Foo"),
        |reply| {
            let reply = reply.undated().header("Date", date(-3));
            reply.header("ETag", "\"2\"").header("Vary", "Bar")
        },
    ];
    for answers in [of_any, of_another] {
        let (origin, larder) = start();
        in_turn(&origin, answers);
        ask(&larder, "1");
        assert_eq!(validated(&larder, "1").text(), "2");
        let hit = ask(&larder, "1");
        assert_eq!(
            (hit.hit(), hit.text().as_str()),
            (true, "2"),
            "9111 section 4.3.3: {}",
            hit.said()
        );
    }
}

#[test]
fn a_full_answer_that_is_not_stored_leaves_none_that_its_request_matches() {
    let (origin, larder) = start();
    in_turn(
        &origin,
        &[
            |reply| reply,
            |reply| reply.header("ETag", "\"1\"").header("Vary", "Foo"),
            |reply| reply.header("Vary", "Foo"),
            |_| Reply::status(404).cache("no-store"),
            |reply| reply.header("Vary", "Foo"),
        ],
    );
    ask(&larder, "1");
    for (kind, count) in [("1", "2"), ("2", "3")] {
        assert_eq!(validated(&larder, kind).text(), count);
    }
    assert_eq!(validated(&larder, "1").status, 404);
    assert_eq!(
        ask(&larder, "1").text(),
        "5",
        "9111 section 4.3.3: neither of those that it could have been answered with"
    );
    assert_eq!(ask(&larder, "2").text(), "3", "another's");
}

#[test]
fn where_the_full_answer_breaks_off_what_it_took_the_place_of_stands_in_again() {
    let (origin, larder) = start();
    in_turn(
        &origin,
        &[
            |reply| {
                let reply = reply.cache("stale-if-error=600").header("ETag", "\"1\"");
                reply.header("Vary", "Foo").header("Age", "700")
            },
            |reply| reply.length(100_000).cut(),
            |_| Reply::status(503),
        ],
    );
    ask(&larder, "1");
    let mut client = larder.get("/").header("Foo", "1").begin();
    client.read_to_end();
    wait_until("it has broken off", || {
        sample(&larder, "larder_fills_failed_total") >= 1
    });
    let stood_in = ask(&larder, "1");
    assert_eq!((stood_in.status, stood_in.text().as_str()), (200, "1"));
}
