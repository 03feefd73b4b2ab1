//! What belongs to one user is never written, and never reaches another.

#![allow(
    clippy::similar_names,
    reason = "a site and the size of what it answers"
)]

use crate::{
    common::Said,
    disk::{LARGE, Site, content, keep},
};
use testkit::{Gate, Reply};

/// Whether the text is in the directory, under however many names.
fn written(site: &Site, text: &str) -> bool {
    site.holds(text)
}

#[test]
fn what_may_not_be_stored_is_not_written() {
    const SECRET: &str = "secret-of-ann";
    type Fields = &'static [(&'static str, &'static str)];
    let answers: [Fields; 7] = [
        &[("Cache-Control", "private, max-age=600")],
        &[("Cache-Control", "no-store, max-age=600")],
        &[
            ("Cache-Control", "max-age=600"),
            ("Set-Cookie", "session=secret-of-ann"),
        ],
        &[("Cache-Control", "max-age=600"), ("Vary", "*")],
        &[
            ("Surrogate-Control", "no-store"),
            ("Cache-Control", "max-age=600"),
        ],
        &[
            ("CDN-Cache-Control", "private"),
            ("Cache-Control", "max-age=600"),
        ],
        &[("Cache-Control", "max-age=0, private")],
    ];
    for size in [1000, LARGE] {
        let site = Site::with(move |request| {
            let row: usize = request.path()[1..].parse().expect("a number");
            let reply = Reply::ok()
                .header("ETag", "\"a\"")
                .body(content(SECRET, size));
            answers[row]
                .iter()
                .fold(reply, |reply, (name, value)| reply.header(name, value))
        });
        let mut larder = site.start();
        for round in 0..2 {
            for (row, fields) in answers.iter().enumerate() {
                for _ in 0..4 {
                    let answer = larder.get(&format!("/{row}")).send();
                    assert!(!answer.hit(), "{fields:?}, {size}: {}", answer.said());
                }
                assert_eq!(site.origin.requests(&format!("/{row}")), 4 * (round + 1));
            }
            larder = site.restart(larder);
            assert!(!written(&site, SECRET), "{size}");
        }
    }
}

#[test]
fn answers_to_those_who_log_in_are_not_written_unless_they_say_so() {
    for size in [1000, LARGE] {
        let site = Site::with(move |request| {
            let who = request.header("authorization").unwrap_or("nobody");
            let cache = if request.path() == "/public" {
                "public, max-age=600"
            } else {
                "max-age=600"
            };
            Reply::ok().cache(cache).body(content(who, size))
        });
        let mut larder = site.start();
        for _ in 0..4 {
            larder
                .get("/own")
                .header("Authorization", "Basic secret-of-ann")
                .send();
        }
        larder = site.restart(larder);
        assert!(!written(&site, "secret-of-ann"), "9111 section 3.5");
        for _ in 0..2 {
            let bob = larder
                .get("/own")
                .header("Authorization", "Basic bob")
                .send();
            assert!(bob.body.starts_with(b"Basic bob") && !bob.hit());
            larder = site.restart(larder);
        }
        for _ in 0..3 {
            larder
                .get("/public")
                .header("Authorization", "Basic everybody")
                .send();
        }
        larder = site.restart(larder);
        let answer = larder.get("/public").send();
        assert!(
            answer.hit() && answer.body.starts_with(b"Basic everybody"),
            "{}",
            answer.said()
        );
    }
}

#[test]
fn what_requests_carry_is_not_written() {
    let site = Site::with(|_| Reply::ok().cache("max-age=600").body("for everybody"));
    let larder = site.start();
    for _ in 0..3 {
        larder
            .get("/page")
            .header("Cookie", "session=secret-cookie")
            .header("X-Token", "secret-token")
            .header("User-Agent", "secret-agent")
            .send();
    }
    let _larder = site.restart(larder);
    assert!(written(&site, "for everybody"));
    for secret in ["secret-cookie", "secret-token", "secret-agent"] {
        assert!(!written(&site, secret), "{secret}");
    }
}

#[test]
fn fields_that_are_one_users_are_not_written() {
    for cache in [
        "max-age=600, no-cache=\"X-Secret, Set-Cookie\"",
        "max-age=600, private=\"X-Secret, Set-Cookie\"",
    ] {
        let site = Site::with(move |_| {
            Reply::ok()
                .cache(cache)
                .header("X-Secret", "secret-of-ann")
                .header("X-Public", "of-everybody")
                .body("page")
        });
        let mut larder = site.start();
        keep(&larder, &["/"]);
        for _ in 0..2 {
            larder = site.restart(larder);
            assert!(
                !written(&site, "secret-of-ann"),
                "9111 section 3.2: {cache}"
            );
            let answer = larder.get("/").send();
            if answer.hit() {
                assert_eq!(answer.header("x-secret"), None, "{cache}");
            }
        }
    }
}

#[test]
fn a_stripped_cookie_is_not_written() {
    let site = Site::new("[defaults]\nset_cookie = \"strip\"\n");
    site.origin.otherwise(|request| {
        let size = if request.path() == "/large" {
            LARGE
        } else {
            100
        };
        Reply::ok()
            .cache("max-age=600")
            .header("Set-Cookie", "session=secret-of-ann")
            .body(content(request.path(), size))
    });
    let mut larder = site.start();
    keep(&larder, &["/small", "/large"]);
    larder = site.restart(larder);
    assert!(!written(&site, "secret-of-ann"));
    for path in ["/small", "/large"] {
        let answer = larder.get(path).send();
        assert!(answer.hit(), "{path}: {}", answer.said());
        assert_eq!(answer.header("set-cookie"), None);
    }
}

#[test]
fn a_page_that_may_no_longer_be_stored_is_not_written_and_the_public_one_is_gone() {
    let site = Site::with(|request| match request.nth {
        1 => Reply::ok()
            .cache("max-age=600, stale-if-error=1000")
            .header("ETag", "\"a\"")
            .body("public"),
        2 => Reply::status(304)
            .cache("no-store")
            .header("ETag", "\"a\"")
            .header("X-Secret", "secret-of-ann"),
        _ => Reply::ok().cache("private").body("secret-of-ann"),
    });
    let larder = site.start();
    keep(&larder, &["/"]);
    site.wait_holds("public");
    larder.get("/").header("Cache-Control", "no-cache").send();
    let larder = site.restart(larder);
    assert!(!written(&site, "secret-of-ann"));
    let answer = larder.get("/").send();
    assert!(
        !answer.hit(),
        "what was withdrawn is gone: {}",
        answer.said()
    );
    let _larder = site.restart(larder);
    assert!(!written(&site, "secret-of-ann"));
}

fn tells(answer: &testkit::Response) -> bool {
    format!("{:?}", answer.head).contains("secret-of-ann")
}

/// What a 304 made of a page for its own client alone is nobody else's: not under another variant, and not after a
/// restart.
#[test]
fn what_a_304_made_for_one_client_is_not_written() {
    type Fields = &'static [(&'static str, &'static str)];
    let confirmations: [Fields; 3] = [
        &[
            ("Cache-Control", "max-age=1000"),
            ("Set-Cookie", "session=secret-of-ann"),
        ],
        &[("Cache-Control", "private"), ("X-User", "secret-of-ann")],
        &[("Cache-Control", "no-store"), ("X-User", "secret-of-ann")],
    ];
    for fields in confirmations {
        let site = Site::with(move |request| {
            if request.header("If-None-Match").is_some() && request.header("X-Ann").is_some() {
                let reply = Reply::status(304).header("ETag", "\"a\"");
                return fields
                    .iter()
                    .fold(reply, |reply, (name, value)| reply.header(name, value));
            }
            Reply::ok()
                .cache("max-age=1000")
                .header("ETag", "\"a\"")
                .header("Vary", "Accept-Language")
                .body("page")
        });
        let mut larder = site.start();
        larder.get("/").send();
        let ann = larder.get("/").header("X-Ann", "1");
        let ann = ann.header("Cache-Control", "no-cache").send();
        assert!(tells(&ann), "{:?}", ann.head);
        for round in 0..2 {
            for language in ["", "fr", "de"] {
                let bob = larder.get("/").header("Accept-Language", language).send();
                assert!(
                    !tells(&bob),
                    "{fields:?}, {language}, {round}: {:?}",
                    bob.head
                );
            }
            larder = site.restart(larder);
            assert!(!written(&site, "secret-of-ann"), "{fields:?}");
        }
    }
}

/// An answer that comes late goes to who asked for it, and a newer one to all others, after a restart too.
#[test]
fn what_was_overtaken_is_not_written() {
    let gate = Gate::new();
    let held = gate.clone();
    let site = Site::with(move |request| match request.nth {
        // They do not wait for each other then.
        1 => Reply::ok().cache("private").body("nobody's"),
        2 => Reply::ok()
            .cache("max-age=1000")
            .hold_head(&held)
            .body("old"),
        _ => Reply::ok().cache("max-age=1000").body("new"),
    });
    let larder = site.start();
    larder.get("/").send();
    let mut late = larder.get("/").begin();
    gate.wait_reached();
    for _ in 0..3 {
        assert_eq!(larder.get("/").send().text(), "new");
    }
    site.wait_holds("new");
    gate.open();
    assert_eq!(late.read().text(), "old");
    let larder = site.restart(larder);
    let answer = larder.get("/").send();
    assert!(answer.hit(), "{}", answer.said());
    assert_eq!(answer.text(), "new");
}

/// Of what has outdone it, the disk may have nothing.
#[test]
fn nor_is_what_a_later_answer_with_a_vary_has_outdone_while_it_came() {
    let gates = [Gate::new(), Gate::new(), Gate::new()];
    let [first, second, rest] = gates.clone();
    let site = Site::with(move |request| match request.nth {
        1 => Reply::ok()
            .cache("max-age=1000")
            .length(6)
            .hold_head(&first)
            .body("old")
            .hold(&rest)
            .body("old"),
        _ => Reply::ok()
            .cache("max-age=1000")
            .header("Vary", "X-V")
            .hold_head(&second)
            .body("new"),
    });
    let [first, second, rest] = gates;
    let larder = site.start();
    let mut early = larder.get("/").begin();
    first.wait_reached();
    let reload = larder.get("/").header("Cache-Control", "no-cache");
    let mut later = reload.begin();
    second.wait_reached();
    first.open();
    let mut answer = early.read_head();
    second.open();
    assert_eq!(later.read().text(), "new");
    rest.open();
    early.read_content(&mut answer);
    assert_eq!(answer.text(), "oldold");
    let larder = site.restart(larder);
    assert_eq!(larder.get("/").send().text(), "new");
}
