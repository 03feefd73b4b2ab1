//! Answers that come in another order than their requests: the later request is right.

use crate::{
    common::Said,
    overtaken::{all_read, start},
    purge::purge,
};
use serde_json::json;
use testkit::{Client, Gate, Larder, Origin, Reply, Request, date};

/// A stale page that two requests are fetching, each of which the origin holds: the earlier one, and the later one.
struct Two {
    origin: Origin,
    larder: Larder,
    earlier: (Client, Gate),
    later: (Client, Gate),
}

impl Two {
    /// The page has the tag `t` and the validator `"a"`. `second` and `third` answer the two. `between` happens between
    /// them.
    fn ask(
        second: impl Fn(&Request) -> Reply + Send + Sync + 'static,
        third: impl Fn(&Request) -> Reply + Send + Sync + 'static,
        between: impl FnOnce(&Larder),
    ) -> Self {
        let (origin, larder) = start();
        let gates = (Gate::new(), Gate::new());
        let held = gates.clone();
        origin.on("/page", move |request| match request.nth {
            1 => confirmed(request, "max-age=60").header("Age", "100"),
            2 => second(request).hold_head(&held.0),
            3 => third(request).hold_head(&held.1),
            _ => confirmed(request, "max-age=60"),
        });
        larder.get("/page").send();
        let earlier = larder.get("/page").begin();
        gates.0.wait_reached();
        between(&larder);
        let reload = larder.get("/page").header("Cache-Control", "no-cache");
        let later = reload.begin();
        gates.1.wait_reached();
        Self {
            origin,
            larder,
            earlier: (earlier, gates.0),
            later: (later, gates.1),
        }
    }

    /// The later request is answered before the earlier one.
    fn later_first(&mut self) {
        for (client, gate) in [&mut self.later, &mut self.earlier] {
            gate.open();
            client.read();
        }
    }

    fn earlier_first(&mut self) {
        for (client, gate) in [&mut self.earlier, &mut self.later] {
            gate.open();
            client.read();
        }
    }
}

/// The page as it always was, or that it still is that.
fn confirmed(request: &Request, lifetime: &str) -> Reply {
    let reply = match request.header("if-none-match") {
        Some(_) => Reply::status(304),
        None => Reply::ok().body("page"),
    };
    reply
        .cache(lifetime)
        .header("ETag", "\"a\"")
        .header("xkey", "t")
}

#[test]
fn of_two_that_confirm_a_page_the_later_one_is_heard() {
    let by_url = json!({ "url": "http://example.test/page", "soft": true });
    let by_tag = json!({ "tag": "t", "soft": true });
    // What the later one says of the lifetime, a purge between the two, and how many fetches there have been after the
    // next request.
    for (lifetime, purged, fetches) in [
        ("max-age=600", None, 3),
        ("no-cache", None, 4),
        ("max-age=0, must-revalidate", None, 4),
        ("max-age=600", Some(&by_url), 3),
        ("max-age=600", Some(&by_tag), 3),
    ] {
        for is_earlier_first in [true, false] {
            let mut two = Two::ask(
                |request| confirmed(request, "max-age=60"),
                move |request| confirmed(request, lifetime),
                |larder| {
                    if let Some(what) = purged {
                        purge(larder, what);
                    }
                },
            );
            if is_earlier_first {
                two.earlier_first();
            } else {
                two.later_first();
            }
            let next = two.larder.get("/page").send();
            assert_eq!(
                two.origin.requests("/page"),
                fetches,
                "{lifetime}, {purged:?}, {is_earlier_first}: {}",
                next.said()
            );
            if fetches == 3 {
                assert_eq!(next.header("cache-control"), Some(lifetime));
            }
        }
    }
}

#[test]
fn what_a_later_request_was_told_is_gone_an_earlier_one_does_not_bring_back() {
    let whole = |_: &Request| Reply::ok().cache("max-age=60").body("before");
    let still = |request: &Request| confirmed(request, "max-age=60");
    let earlier: [fn(&Request) -> Reply; 2] = [whole, still];
    for (status, lifetime) in [
        (404, "no-store"),
        (410, "no-store"),
        (403, "no-store"),
        (302, "no-store"),
        (200, "no-store"),
        (200, "private"),
        (404, "max-age=60"),
    ] {
        for answer in earlier {
            let gone = move |_: &Request| {
                Reply::status(status)
                    .cache(lifetime)
                    .header("Location", "/elsewhere")
                    .body("gone")
            };
            let mut two = Two::ask(answer, gone, |_| {});
            two.origin.on("/page", gone);
            two.later_first();
            let next = two.larder.get("/page").send();
            assert_eq!(next.text(), "gone", "{status} {lifetime}: {}", next.said());
        }
    }
}

#[test]
fn nor_does_it_once_the_page_was_purged_softly() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/page", move |request| {
        let windows = "max-age=60, stale-if-error=600";
        match request.nth {
            1 => confirmed(request, windows).header("Age", "100"),
            2 => confirmed(request, windows).hold_head(&held),
            3 => Reply::status(404).cache("no-store"),
            _ => Reply::status(503),
        }
    });
    larder.get("/page").send();
    let mut earlier = larder.get("/page").begin();
    gate.wait_reached();
    purge(
        &larder,
        &json!({ "url": "http://example.test/page", "soft": true }),
    );
    assert_eq!(larder.get("/page").send().status, 404);
    gate.open();
    earlier.read();
    let next = larder.get("/page").send();
    assert_eq!(next.status, 503, "{}", next.said());
}

/// A variant that the later request could not have been given is none of its business.
#[test]
fn an_earlier_answer_for_others_is_stored() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/page", move |request| {
        let page = Reply::ok().header("Vary", "X-Who");
        match (request.header("x-who"), request.nth) {
            (Some(_), 1) => page.cache("max-age=60").header("Age", "100").body("mine"),
            (Some(_), _) => page.cache("private").body("mine"),
            (None, _) => page.cache("max-age=60").hold_head(&held).body("page"),
        }
    });
    let own = || larder.get("/page").header("X-Who", "me").send();
    own();
    let mut earlier = larder.get("/page").begin();
    gate.wait_reached();
    assert_eq!(own().text(), "mine");
    gate.open();
    assert_eq!(earlier.read().text(), "page");
    let next = larder.get("/page").send();
    assert!(next.hit(), "{}", next.said());
}

#[test]
fn a_part_that_was_purged_softly_makes_nothing_stale_that_was_asked_for_since() {
    const PART: (&str, &str) = ("Range", "bytes=0-3");
    for what in [
        json!({ "tag": "t", "soft": true }),
        json!({ "url": "http://example.test/page", "soft": true }),
    ] {
        let (origin, larder) = start();
        let gate = Gate::new();
        let held = gate.clone();
        origin.on("/page", move |request| {
            let part = Reply::status(206)
                .cache("max-age=60")
                .header("ETag", "\"a\"")
                .header("xkey", "t")
                .header("Content-Range", "bytes 0-3/10")
                .length(4);
            match request.nth {
                1 => part.body("01").hold(&held).body("23"),
                _ => part.body("0123"),
            }
        });
        let ask = || larder.get("/page").header(PART.0, PART.1);
        let mut late = ask().begin();
        late.read_head();
        purge(&larder, &what);
        assert_eq!(ask().send().text(), "0123");
        gate.open();
        all_read(&larder);
        let hit = ask().send();
        assert!(hit.hit(), "{what}: {}", hit.said());
        assert_eq!(origin.requests("/page"), 2);
    }
}

/// What the purge covers is known of what is validated: its answer would help nobody.
#[test]
fn nobody_waits_for_the_validation_of_what_was_purged_meanwhile() {
    for what in [
        json!({ "tag": "t" }),
        json!({ "tag": "t", "soft": true }),
        json!({ "url": "http://example.test/page" }),
    ] {
        let (origin, larder) = start();
        let gate = Gate::new();
        let held = gate.clone();
        origin.on("/page", move |request| match request.nth {
            1 => confirmed(request, "max-age=60").header("Age", "100"),
            2 => confirmed(request, "max-age=60").hold_head(&held),
            _ => confirmed(request, "max-age=60"),
        });
        larder.get("/page").send();
        let mut waits = larder.get("/page").begin();
        gate.wait_reached();
        purge(&larder, &what);
        for _ in 0..3 {
            assert_eq!(larder.get("/page").send().text(), "page", "{what}");
        }
        assert_eq!(origin.requests("/page"), 3, "{what}");
        gate.open();
        waits.read();
    }
}

/// The whole of an earlier version is on its way, or has come with the same date.
#[test]
fn of_a_part_that_is_not_kept_nobody_is_told_that_it_is() {
    for is_on_its_way in [true, false] {
        let (origin, larder) = start();
        let gates = [Gate::new(), Gate::new(), Gate::new()];
        let [whole, part, rest] = gates.clone();
        let now = date(0);
        origin.on("/page", move |request| {
            let reply = |status| {
                let reply = Reply::status(status).undated().header("Date", &now);
                reply.cache("max-age=60")
            };
            match request.header("range") {
                Some(_) => reply(206)
                    .header("ETag", "\"b\"")
                    .header("Content-Range", "bytes 0-3/10")
                    .hold_head(&part)
                    .body("0123"),
                None => reply(200)
                    .header("ETag", "\"a\"")
                    .length(10)
                    .hold_head(&whole)
                    .body("abcde")
                    .hold(&rest)
                    .body("fghij"),
            }
        });
        let [whole, part, rest] = gates;
        let mut earlier = larder.get("/page").begin();
        whole.wait_reached();
        let reload = larder.get("/page").header("Cache-Control", "no-cache");
        let mut later = reload.header("Range", "bytes=0-3").begin();
        part.wait_reached();
        if !is_on_its_way {
            rest.open();
        }
        whole.open();
        let mut head = earlier.read_head();
        if !is_on_its_way {
            earlier.read_content(&mut head);
            all_read(&larder);
        }
        part.open();
        let answer = later.read();
        let told = answer.parameter("detail");
        assert_eq!(
            (answer.text().as_str(), told.as_deref()),
            ("0123", Some("beside"))
        );
        rest.open();
        assert_eq!(larder.get("/page").send().text(), "abcdefghij");
    }
}

/// What it brings is the newer word on the page, on each of its parts too.
#[test]
fn a_part_that_comes_late_changes_nothing_of_what_a_later_request_was_given() {
    const TEXT: &str = "0123456789";
    for later in [None, Some("bytes=4-9")] {
        let (origin, larder) = start();
        let part = Gate::new();
        let held = part.clone();
        origin.on("/page", move |request| {
            let reply = |status, lifetime| {
                let reply = Reply::status(status).header("ETag", "\"a\"");
                reply.cache(lifetime)
            };
            let ranged = |reply: Reply, range: &str, body: &str| {
                let range = range.replace('=', " ");
                reply
                    .header("Content-Range", format!("{range}/10"))
                    .body(body)
            };
            match request.header("range") {
                Some("bytes=0-3") => ranged(reply(206, "max-age=60"), "bytes=0-3", "")
                    .length(4)
                    .body("01")
                    .hold(&held)
                    .body("23"),
                Some(range) => ranged(reply(206, "max-age=600"), range, &TEXT[4..]),
                None => reply(200, "max-age=600").body(TEXT),
            }
        });
        let ask = |range: Option<&str>| {
            let ask = larder.get("/page");
            match range {
                Some(range) => ask.header("Range", range),
                None => ask,
            }
        };
        let mut late = ask(Some("bytes=0-3")).begin();
        part.wait_reached();
        ask(later).send();
        part.open();
        assert_eq!(late.read().text(), "0123");
        let again = ask(Some("bytes=3-5")).send();
        assert!(again.hit(), "{later:?}: {}", again.said());
        assert_eq!(again.text(), "345");
        assert_eq!(
            again.header("cache-control"),
            Some("max-age=600"),
            "{later:?}"
        );
    }
}

#[test]
fn what_a_later_request_was_given_stays_when_an_earlier_one_is_answered() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/page", move |request| {
        let page = Reply::ok().cache("public, max-age=60");
        let page = page.body(request.nth.to_string());
        match request.nth {
            // It may have read what there was long before it answers.
            1 => page.undated().header("Date", date(-1)).hold_head(&held),
            _ => page,
        }
    });
    // `Authorization` keeps the two apart.
    let ask = larder.get("/page").header("Authorization", "Basic eA==");
    let mut early = ask.begin();
    gate.wait_reached();
    assert_eq!(larder.get("/page").send().text(), "2");
    gate.open();
    let late = early.read();
    assert_eq!(
        (late.text().as_str(), late.parameter("detail").as_deref()),
        ("1", Some("superseded"))
    );
    let hit = larder.get("/page").send();
    assert_eq!(
        (hit.hit(), hit.text().as_str()),
        (true, "2"),
        "9111 section 4: MUST use the most recent one"
    );
}

#[test]
fn a_reload_replaces_what_is_stored_though_its_date_is_older() {
    let (origin, larder) = start();
    origin.on("/page", |request| {
        let page = Reply::ok().cache("max-age=60");
        let page = page.body(request.nth.to_string());
        match request.nth {
            // Of another cache behind this one.
            2 => page.undated().header("Date", date(-20)).header("Age", "20"),
            _ => page,
        }
    });
    larder.get("/page").send();
    let reload = larder.get("/page").header("Cache-Control", "no-cache");
    assert_eq!(reload.send().text(), "2");
    let hit = larder.get("/page").send();
    assert_eq!((hit.hit(), hit.text().as_str()), (true, "2"));
}

#[test]
fn the_answer_to_a_post_does_not_replace_what_was_fetched_while_it_came() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/page", move |request| {
        let page = Reply::ok().cache("max-age=60");
        match request.method.as_str() {
            "POST" => page
                .header("Content-Location", "/page")
                .length(10)
                .body("first")
                .hold(&held)
                .body("first"),
            _ => page.body("second"),
        }
    });
    let mut post = larder.ask("POST", "/page").begin();
    let mut answer = post.read_head();
    assert_eq!(larder.get("/page").send().text(), "second");
    gate.open();
    post.read_content(&mut answer);
    assert_eq!(answer.text(), "firstfirst");
    all_read(&larder);
    let hit = larder.get("/page").send();
    assert_eq!((hit.hit(), hit.text().as_str()), (true, "second"));
}
