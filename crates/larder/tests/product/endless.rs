//! Answers that need not end: who gets them, and for how long the origin is held for them.

use super::collapse::reading;
use crate::common::{Said, start_with};
use testkit::{Larder, Origin, Reply, wait_until};

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
