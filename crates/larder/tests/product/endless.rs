//! Answers that need not end: who gets them, and for how long the origin is held for them.

use super::collapse::reading;
use crate::{
    common::{Said, start_with},
    purge::purge,
};
use serde_json::json;
use testkit::{Gate, Larder, Origin, Reply, wait_until};

/// A site that gives everything a lifetime, and windows.
fn site(mode: &str) -> (Origin, Larder) {
    start_with(&format!(
        "[[origin]]\nservers = \"{{origin}}\"\n[defaults]\nttl = \"1m\"\nttl_mode = \"{mode}\"\n\
         stale = {{ while_revalidate = \"10s\", if_error = \"1h\" }}\n"
    ))
}

/// An event stream that stays open.
fn events(cache: &[&str]) -> Reply {
    let reply = Reply::ok().header("Content-Type", "text/event-stream; charset=utf-8");
    let reply = cache.iter().fold(reply, |reply, cache| reply.cache(cache));
    let reply = reply.header("Last-Modified", testkit::date(-1_000_000));
    reply.chunked().body("data: 1\n\n").until_client_leaves()
}

/// Some applications send the head of a stream with its first event. Who waited for another's would miss it.
#[test]
fn who_wants_events_waits_for_nobody_else() {
    let (origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
    let gate = Gate::new();
    origin.reply("/", events(&[]).hold_head(&gate));
    let mut clients: Vec<_> = (0..3).map(|_| larder.client()).collect();
    for client in &mut clients {
        client
            .get("/")
            .header("Accept", "text/event-stream")
            .begin();
    }
    gate.wait_reached_by(3);
    gate.open();
}

#[test]
fn the_sites_lifetimes_are_for_no_event_stream() {
    for (mode, cache) in [
        ("default", &[][..]),
        ("static", &[]),
        ("override", &[]),
        ("override", &["no-cache"]),
    ] {
        let (origin, larder) = site(mode);
        origin.reply("/", events(cache));
        let first = reading(&larder, "/", "data: 1\n\n");
        let second = reading(&larder, "/", "data: 1\n\n");
        assert_eq!(origin.requests("/"), 2, "{mode}: a stream of its own");
        let why = second.1.parameter("detail");
        assert!(!second.1.says("stored"), "{mode}: {}", second.1.said());
        assert_eq!(why.as_deref(), Some("event-stream"), "{mode}");
        let condition = larder.get("/").header("If-None-Match", "*");
        for ask in [larder.ask("HEAD", "/"), condition] {
            ask.send();
        }
        wait_until("what nobody reads is let go", || origin.abandoned("/") == 2);
        drop((first, second));
        wait_until("so is what nobody reads any more", || {
            origin.abandoned("/") == 4
        });
    }
}

/// Not even while the application cannot be reached, which opens a window for any other answer.
#[test]
fn an_event_stream_past_its_lifetime_is_not_replayed() {
    for (kind, is_replayed) in [("text/event-stream", false), ("text/plain", true)] {
        let (origin, larder) = site("default");
        let reply = Reply::ok().header("Content-Type", kind);
        let reply = reply.cache("max-age=60").header("Age", "60");
        origin.reply("/", reply.body("data: 1\n\n"));
        larder.get("/").send();
        origin.stop();
        for directive in ["max-stale", "x"] {
            let answer = larder.get("/").header("Cache-Control", directive).send();
            assert_eq!(answer.status == 200, is_replayed, "{kind} {directive}");
        }
    }
}

/// The application knows what it says of its streams: a second reader gets this one from the beginning.
#[test]
fn an_event_stream_with_a_lifetime_of_its_own_is_stored() {
    let (origin, larder) = site("default");
    origin.reply("/", events(&["max-age=60"]));
    let _first = reading(&larder, "/", "data: 1\n\n");
    let (_client, second) = reading(&larder, "/", "data: 1\n\n");
    assert!(second.hit(), "{}", second.said());
    assert_eq!(origin.requests("/"), 1);
}

/// Lines that need not end, of an application that says who may get them.
fn lines(cache: &str) -> Reply {
    let reply = Reply::ok().header("Content-Type", "application/x-ndjson");
    let reply = reply.cache(cache).chunked();
    reply.body("{}\n").until_client_leaves()
}

/// What brings nothing for long is not taken for broken.
fn patient() -> (Origin, Larder) {
    start_with("[[origin]]\nservers = \"{origin}\"\ntimeouts = { between_bytes = \"1h\" }\n")
}

/// Nobody reads what these ask for: it goes on for those who may come.
#[test]
fn what_nobody_reads_is_let_go_once_it_is_purged() {
    for (method, name, value) in [
        ("HEAD", "X", "y"),
        ("GET", "If-None-Match", "*"),
        ("HEAD", "If-None-Match", "*"),
    ] {
        let (origin, larder) = patient();
        origin.reply("/", lines("max-age=60"));
        larder.ask(method, "/").header(name, value).send();
        let (client, read) = reading(&larder, "/", "{}\n");
        assert!(read.hit(), "{method} {name}: {}", read.said());
        purge(&larder, &json!({"prefix": "/"}));
        drop(client);
        wait_until("the origin is let go", || origin.abandoned("/") == 1);
        assert_eq!(larder.ask("HEAD", "/").send().status, 200);
        assert_eq!(origin.requests("/"), 2, "{method} {name}");
    }
}

/// Nor does what it has replaced come back, of which the purge says nothing.
#[test]
fn what_is_purged_while_nobody_reads_it_brings_nothing_back() {
    let (origin, larder) = patient();
    origin.on("/", |request| match request.nth {
        2 => lines("max-age=600").header("Cache-Tag", "x"),
        nth => Reply::ok().cache("max-age=600").body(nth.to_string()),
    });
    assert_eq!(larder.get("/").send().text(), "1");
    let head = larder.ask("HEAD", "/").header("Cache-Control", "no-cache");
    head.send();
    purge(&larder, &json!({"tag": "x"}));
    wait_until("the origin is let go", || origin.abandoned("/") == 1);
    assert_eq!(larder.get("/").send().text(), "3");
}

/// Each refresh replaces what the one before it has begun to bring.
#[test]
fn what_nobody_reads_is_let_go_once_it_is_replaced() {
    let (origin, larder) = patient();
    origin.on("/", |request| {
        let cache = "max-age=60, stale-while-revalidate=600";
        let reply = lines(cache).header("Age", "60");
        reply.header("X-Nth", request.nth.to_string())
    });
    let nth = || {
        let answer = larder.ask("HEAD", "/").send();
        let nth = answer.header("x-nth").expect("a number");
        nth.parse::<usize>().expect("a number")
    };
    wait_until("it was refreshed a few times", || nth() > 5);
    wait_until("what was replaced is let go", || {
        origin.requests("/") - origin.abandoned("/") <= 2
    });
}
