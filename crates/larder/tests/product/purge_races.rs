//! What was purged does not come back: from what was under way, in parts, by other methods, or from disk.

use crate::{
    common::{Said, command, counted, sample, start, start_with},
    purge::purge,
};
use serde_json::{Value, json};
use testkit::{Command, Gate, Larder, Origin, Reply};

/// What covers `/page` of `example.test` with the tag `t`.
pub(crate) fn covering() -> Vec<Value> {
    vec![
        json!({ "url": "http://example.test/page" }),
        json!({ "tag": "t" }),
        json!({ "prefix": "/pa" }),
        json!({ "host": "example.test" }),
        json!({ "regex": "page$" }),
        json!({ "everything": true }),
    ]
}

#[test]
fn a_fill_in_flight_is_not_used_after_the_purge() {
    for what in covering() {
        for soft in [false, true] {
            let (head, body) = (Gate::new(), Gate::new());
            let old = || Reply::ok().cache("max-age=60").header("xkey", "t");
            for (gate, reply) in [
                (&head, old().hold_head(&head).body("before")),
                (&body, old().length(6).body("bef").hold(&body).body("ore")),
            ] {
                let (origin, larder) = start_with(
                    "[defaults]\ncollapse_wait = \"50ms\"\n[[origin]]\nservers = \"{origin}\"\n",
                );
                origin.on("/page", move |request| match request.header("x-second") {
                    None => reply.clone(),
                    Some(_) => Reply::ok()
                        .cache("max-age=60")
                        .header("xkey", "t")
                        .body("after"),
                });
                let mut slow = larder.get("/page").begin();
                gate.wait_reached();
                let mut what = what.clone();
                what["soft"] = soft.into();
                purge(&larder, &what);
                let second = || larder.get("/page").header("X-Second", "1").send();
                let answer = second();
                assert_eq!(answer.text(), "after", "{what}: {}", answer.said());
                gate.open();
                assert_eq!(
                    slow.read().text(),
                    "before",
                    "{what}: who asked before may get it"
                );
                for _ in 0..3 {
                    assert_eq!(second().text(), "after", "{what}");
                }
            }
        }
    }
}

#[test]
fn who_waits_for_a_fetch_that_is_then_purged_gets_a_whole_answer() {
    for what in covering() {
        let (origin, larder) = start();
        let gate = Gate::new();
        let held = gate.clone();
        origin.on("/page", move |request| {
            let reply = Reply::ok().cache("max-age=60").header("xkey", "t");
            match request.nth {
                1 => reply.hold_head(&held).body("before"),
                _ => reply.body("after"),
            }
        });
        let mut leader = larder.get("/page").begin();
        gate.wait_reached();
        let mut followers: Vec<_> = (0..3).map(|_| larder.get("/page").begin()).collect();
        purge(&larder, &what);
        gate.open();
        assert_eq!(leader.read().text(), "before", "{what}");
        for follower in &mut followers {
            let answer = follower.read();
            assert!(
                matches!(answer.text().as_str(), "before" | "after"),
                "{what}"
            );
        }
        assert_eq!(larder.get("/page").send().text(), "after", "{what}");
    }
}

/// Nor if the 304 no longer names the tag: it was judged before the change.
#[test]
fn a_validation_under_way_does_not_bring_back_what_was_purged() {
    for (mut what, soft, tag) in covering().into_iter().flat_map(|what| {
        let ways = [(false, "t"), (false, "u"), (true, "t"), (true, "u")];
        ways.map(|(soft, tag)| (what.clone(), soft, tag))
    }) {
        what["soft"] = soft.into();
        let (origin, larder) = start();
        let gate = Gate::new();
        let held = gate.clone();
        origin.on("/page", move |request| {
            let reply = |status, tag| {
                Reply::status(status)
                    .cache("max-age=60")
                    .header("xkey", tag)
            };
            match (request.nth, request.header("if-none-match")) {
                (1, _) => reply(200, "t")
                    .header("Age", "100")
                    .header("ETag", "\"a\"")
                    .body("before"),
                (2, Some(_)) => reply(304, tag).header("ETag", "\"a\"").hold_head(&held),
                _ => reply(200, "t").header("ETag", "\"b\"").body("after"),
            }
        });
        larder.get("/page").send();
        let mut validating = larder.get("/page").begin();
        gate.wait_reached();
        purge(&larder, &what);
        gate.open();
        assert_eq!(validating.read().status, 200, "{what}");
        for _ in 0..2 {
            let answer = larder.get("/page").send();
            assert_eq!(answer.text(), "after", "{what}, {tag}: {}", answer.said());
        }
    }
}

#[test]
fn what_the_origin_says_of_a_purged_page_does_not_bring_it_back() {
    for what in covering() {
        for tag in ["t", "u"] {
            let (origin, larder) = start();
            origin.on("/page", move |request| {
                let reply = Reply::ok().cache("max-age=60").header("ETag", "\"a\"");
                match (request.method.as_str(), request.nth) {
                    ("HEAD", _) => reply.header("xkey", tag).length(6),
                    (_, 1) => reply.header("xkey", "t").body("before"),
                    _ => reply.body("after"),
                }
            });
            larder.get("/page").send();
            purge(&larder, &what);
            // Only the origin may judge this condition.
            let head = larder.ask("HEAD", "/page").header("If-Match", "\"b\"");
            assert_eq!(head.send().status, 200);
            let answer = larder.get("/page").send();
            assert_eq!(answer.text(), "after", "{what}, {tag}: {}", answer.said());
        }
    }
}

#[test]
fn no_method_and_no_part_is_answered_from_what_was_purged() {
    let (origin, larder) = start();
    let page = |request: &testkit::Request| {
        Reply::ok()
            .cache("max-age=60")
            .header("ETag", format!("\"{}\"", request.nth))
            .body(format!("page {}", request.nth))
    };
    origin.on("/page", page);
    larder.get("/page").send();
    for (method, field, value) in [
        ("HEAD", "X-Nothing", ""),
        ("GET", "Range", "bytes=0-3"),
        ("GET", "If-None-Match", "\"1\""),
        ("GET", "If-Range", "\"1\""),
    ] {
        let ask = || larder.ask(method, "/page").header(field, value).send();
        assert!(ask().hit(), "{method} {field}");
        purge(&larder, &json!({ "url": "http://example.test/page" }));
        let answer = ask();
        assert!(!answer.hit(), "{method} {field}: {}", answer.said());
        assert_ne!(answer.header("etag"), Some("\"1\""), "{method} {field}");
    }
}

#[test]
fn parts_go_too() {
    let (origin, larder) = start();
    origin.on("/page", |request| {
        let (from, to) = match request.header("range") {
            Some("bytes=0-3") => (0, 4),
            Some("bytes=4-7") => (4, 8),
            other => panic!("{other:?}"),
        };
        let whole = if request.nth < 3 {
            "beforeXX"
        } else {
            "afterXXX"
        };
        Reply::status(206)
            .cache("max-age=60")
            .header("ETag", if request.nth < 3 { "\"b\"" } else { "\"a\"" })
            .header("Content-Range", format!("bytes {from}-{}/8", to - 1))
            .body(&whole[from..to])
    });
    let part = |range: &str| larder.get("/page").header("Range", range).send();
    part("bytes=0-3");
    assert!(part("bytes=0-3").hit());
    part("bytes=4-7");
    purge(&larder, &json!({ "prefix": "/page" }));
    assert_eq!(part("bytes=0-3").text(), "afte");
    assert_eq!(part("bytes=4-7").text(), "rXXX");
    assert!(
        part("bytes=0-7").hit(),
        "what came after the purge is put together"
    );
}

#[test]
fn what_was_purged_does_not_come_back_from_disk() {
    for (what, first) in [
        (json!({ "url": "http://example.test/page" }), "2"),
        (json!({ "tag": "t" }), "2"),
        (json!({ "regex": "page" }), "2"),
        (json!({ "everything": true }), "2"),
        (json!({ "url": "http://example.test/other" }), "1"),
    ] {
        let directory = testkit::scratch_dir().join("cache");
        let origin = Origin::start();
        origin.otherwise(|request| counted(request).cache("max-age=600").header("xkey", "t"));
        let config = format!(
            "disk = {{ path = {:?}, size = \"64MiB\" }}\n[[origin]]\nservers = {:?}\n",
            directory.display().to_string(),
            origin.url()
        );
        let serve = || {
            Command::serve(env!("CARGO_BIN_EXE_larder"))
                .config(&config)
                .start()
        };
        let larder = serve();
        for _ in 0..3 {
            assert_eq!(larder.get("/page").send().text(), "1");
        }
        testkit::wait_until("it is on disk", || {
            sample(&larder, "larder_disk_writes_total") > 0
        });
        purge(&larder, &what);
        drop(larder);
        let larder = serve();
        testkit::wait_until("what is on disk is known", || {
            sample(&larder, "larder_disk_index_whole") == 1
        });
        assert_eq!(larder.get("/page").send().text(), first, "{what}");
        let path = directory.display().to_string();
        let stat = command().args(["disk", "stat", &path]).run();
        assert_eq!(stat.code, Some(0), "{}", stat.stderr);
        assert!(stat.stdout.contains(": in use"), "{}", stat.stdout);
        larder.stop();
        let verified = command().args(["disk", "verify", &path]).run();
        assert_eq!(
            verified.code,
            Some(0),
            "{}{}",
            verified.stdout,
            verified.stderr
        );
        assert!(
            verified.stdout.contains("nothing is damaged"),
            "{}",
            verified.stdout
        );
    }
}

/// One way to purge.
type Way = Box<dyn Fn(&Larder)>;

/// Purges what carries `t`, is grouped as `g` and says that it is `text/x-old`, in each way that does not name its URL.
fn by_what_it_says() -> Vec<Way> {
    let mut ways: Vec<Way> = Vec::new();
    for soft in [false, true] {
        for what in covering() {
            let mut what = what.clone();
            what["soft"] = soft.into();
            ways.push(Box::new(move |larder| drop(purge(larder, &what))));
        }
    }
    let group = json!({ "groups": ["g"], "host": "example.test" });
    ways.push(Box::new(move |larder| drop(purge(larder, &group))));
    for (method, fields) in [
        ("PURGE", &[("xkey", "t")][..]),
        (
            "BAN",
            &[
                ("X-Host", ".*"),
                ("X-Url", ".*"),
                ("X-Content-Type", "x-old"),
            ],
        ),
        ("BAN", &[("X-Cache-Tags", "^t.*$")]),
    ] {
        ways.push(Box::new(move |larder| {
            let ask = larder.ask(method, "/");
            let ask = fields
                .iter()
                .fold(ask, |ask, (name, value)| ask.header(name, *value));
            assert_eq!(ask.send().status, 200, "{method} {fields:?}");
        }));
    }
    ways
}

#[test]
fn the_answer_to_a_post_is_not_stored_over_a_purge_that_came_before_it() {
    let page = |text: &str| {
        Reply::ok()
            .cache("max-age=60")
            .header("Content-Location", "/page")
            .header("xkey", "t")
            .header("Cache-Groups", "\"g\"")
            .header("Content-Type", "text/x-old")
            .body(text)
    };
    for (nth, purge) in by_what_it_says().into_iter().enumerate() {
        let (origin, larder) = start();
        let gate = Gate::new();
        let held = gate.clone();
        origin.on("/page", move |request| match request.method.as_str() {
            "POST" => page("before").hold_head(&held),
            _ => page("after"),
        });
        let mut post = larder.ask("POST", "/page").body("a").begin();
        gate.wait_reached();
        purge(&larder);
        gate.open();
        assert_eq!(
            post.read().text(),
            "before",
            "{nth}: who asked before may get it"
        );
        let get = larder.get("/page").send();
        assert_eq!(get.text(), "after", "{nth}: {}", get.said());
    }
}

#[test]
fn the_answer_to_a_post_is_stored_over_a_purge_of_something_else() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/page", move |request| match request.method.as_str() {
        "POST" => Reply::ok()
            .cache("max-age=60")
            .header("Content-Location", "/page")
            .header("Location", "/other")
            .hold_head(&held)
            .body("what was made"),
        _ => Reply::ok().body("asked again"),
    });
    let mut post = larder.ask("POST", "/page").body("a").begin();
    gate.wait_reached();
    purge(&larder, &json!({ "tag": "another" }));
    gate.open();
    assert_eq!(post.read().text(), "what was made");
    let get = larder.get("/page").send();
    assert!(get.hit() && get.text() == "what was made", "{}", get.said());
}
