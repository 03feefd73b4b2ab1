//! Soft purges: what is stale from then on, and still of use.

use crate::{
    common::{Said, start},
    purge::purge,
    purge_races::covering,
};
use serde_json::json;
use testkit::{Gate, Larder, Origin, Reply, wait_until};

/// `/page` with these directives: once `before`, then what `then` says.
fn page_then(cache: &'static str, then: fn() -> Reply) -> (Origin, Larder) {
    let (origin, larder) = start();
    origin.on("/page", move |request| match request.nth {
        1 => Reply::ok().cache(cache).header("xkey", "t").body("before"),
        _ => then(),
    });
    larder.get("/page").send();
    (origin, larder)
}

#[test]
fn what_was_purged_softly_is_stale_and_what_was_purged_hard_is_gone() {
    let after = || Reply::ok().cache("max-age=60").body("after");
    let error = || Reply::status(503).body("error");
    for what in covering() {
        for (cache, then, soft, first, second) in [
            (
                "max-age=60, stale-while-revalidate=600",
                after as fn() -> Reply,
                true,
                "before",
                "after",
            ),
            (
                "max-age=60, stale-while-revalidate=600",
                after,
                false,
                "after",
                "after",
            ),
            ("max-age=60", after, true, "after", "after"),
            (
                "max-age=60, stale-if-error=600",
                error,
                true,
                "before",
                "before",
            ),
            (
                "max-age=60, stale-if-error=600",
                error,
                false,
                "error",
                "error",
            ),
            ("max-age=60", error, true, "error", "error"),
            (
                "max-age=60, must-revalidate, stale-while-revalidate=600",
                after,
                true,
                "after",
                "after",
            ),
        ] {
            let (origin, larder) = page_then(cache, then);
            let mut what = what.clone();
            what["soft"] = soft.into();
            purge(&larder, &what);
            let get = || larder.get("/page").send();
            assert_eq!(get().text(), first, "{what} {cache}");
            origin.wait_requests("/page", 2);
            if first == second {
                assert_eq!(get().text(), second, "{what} {cache}");
            } else {
                wait_until("it is refreshed", || get().text() == second);
            }
        }
    }
}

#[test]
fn an_origin_that_is_down_brings_nothing_back() {
    for (soft, status) in [(false, 502), (true, 200)] {
        let (origin, larder) = page_then("max-age=60", Reply::close);
        origin.stop();
        purge(&larder, &json!({ "tag": "t", "soft": soft }));
        let answer = larder.get("/page").send();
        assert_eq!(answer.status, status, "soft: {soft}: {}", answer.said());
    }
}

#[test]
fn a_soft_purge_keeps_validators() {
    let (origin, larder) = start();
    origin.on("/page", |request| match request.header("if-none-match") {
        Some("\"a\"") => Reply::status(304)
            .cache("max-age=60")
            .header("ETag", "\"a\""),
        _ => Reply::ok()
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .body("page"),
    });
    larder.get("/page").send();
    purge(&larder, &json!({ "everything": true, "soft": true }));
    let answer = larder.get("/page").send();
    assert_eq!((answer.text().as_str(), answer.hit()), ("page", false));
    assert_eq!(origin.last("/page").header("if-none-match"), Some("\"a\""));
    assert!(
        larder.get("/page").send().hit(),
        "it was confirmed after the purge"
    );
    purge(&larder, &json!({ "everything": true }));
    larder.get("/page").send();
    assert_eq!(
        origin.last("/page").header("if-none-match"),
        None,
        "what is gone is not asked about"
    );
}

/// The head is stale before the body is whole; both are kept.
#[test]
fn what_was_purged_softly_while_it_came_in_is_stale_when_it_is_whole() {
    for what in covering() {
        let (origin, larder) = start();
        let gate = Gate::new();
        let held = gate.clone();
        origin.on("/page", move |request| {
            let reply = Reply::ok()
                .cache("max-age=60, stale-while-revalidate=600")
                .header("xkey", "t");
            match request.nth {
                1 => reply.length(6).body("bef").hold(&held).body("ore"),
                _ => reply.body("after"),
            }
        });
        let mut first = larder.get("/page").begin();
        gate.wait_reached();
        let mut what = what.clone();
        what["soft"] = true.into();
        purge(&larder, &what);
        gate.open();
        assert_eq!(first.read().text(), "before", "{what}");
        let answer = larder.get("/page").send();
        assert_eq!(answer.text(), "before", "{what}: {}", answer.said());
        let detail = answer.parameter("detail");
        assert_eq!(detail.as_deref(), Some("stale-while-revalidate"), "{what}");
        wait_until("it is refreshed", || {
            larder.get("/page").send().text() == "after"
        });
    }
}

#[test]
fn a_head_that_was_asked_before_does_not_freshen_what_was_purged_softly() {
    for what in covering() {
        let (origin, larder) = start();
        let gate = Gate::new();
        let closed = gate.clone();
        origin.on("/page", move |request| {
            let page = |text: &str| {
                Reply::ok()
                    .cache("max-age=60, stale-if-error=600")
                    .header("xkey", "t")
                    .header("ETag", format!("\"{text}\""))
                    .body(text)
            };
            match (request.method.as_str(), request.nth) {
                ("HEAD", _) => page("before").hold_head(&closed),
                (_, 1) => page("before"),
                (_, 3) => Reply::status(503),
                _ => page("after"),
            }
        });
        larder.get("/page").send();
        let conditional = larder.ask("HEAD", "/page").header("If-Match", "\"x\"");
        let mut head = conditional.begin();
        gate.wait_reached();
        let mut what = what.clone();
        what["soft"] = true.into();
        purge(&larder, &what);
        let stale = larder.get("/page").send();
        assert!(
            stale.text() == "before" && stale.says("detail"),
            "{}",
            stale.said()
        );
        gate.open();
        assert_eq!(head.read().status, 200, "{what}");
        let answer = larder.get("/page").send();
        assert_eq!(answer.text(), "after", "{what}: {}", answer.said());
    }
}
