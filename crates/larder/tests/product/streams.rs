//! Answers that are too long to keep, that never end, or that nobody reads.

use super::{collapse::reading, esi::html};
use crate::common::{Said, next, serve, start};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use testkit::{Gate, Larder, Origin, Reply, wait_until};

/// Only what is small is kept.
const SMALL: &str = "[[origin]]\nservers = \"{origin}\"\n[defaults]\nlargest_body = \"100KiB\"\n";

#[test]
fn one_that_outgrows_the_memory_passes_through_without_being_held() {
    for (reply, known) in [
        (Reply::ok().length(64 << 20), true),
        (Reply::ok().chunked(), false),
    ] {
        let origin = Origin::start();
        let larder = serve(&origin).args(["--memory", "4MiB"]).start();
        let before = peak_memory(&larder);
        let piece = vec![b'x'; 1 << 20];
        let reply = reply.cache("max-age=60");
        origin.reply("/", (0..64).fold(reply, |reply, _| reply.body(&piece)));
        for round in 1..3 {
            let answer = larder.get("/").send();
            assert!(
                answer.complete && answer.body.len() == 64 << 20,
                "length known: {known}"
            );
            assert!(!answer.hit());
            assert_eq!(origin.requests("/"), round);
        }
        let grown = peak_memory(&larder) - before;
        assert!(
            grown < 32,
            "{grown} MiB more in use than before, length known: {known}"
        );
    }
}

/// The most memory that the process ever had, in MiB. The pages of the program itself count too, and there are more
/// of them with each build: what a test holds to a limit is how far this has grown.
pub(crate) fn peak_memory(larder: &Larder) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", larder.id())).expect("a process");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("a line");
    line.trim()
        .trim_end_matches(" kB")
        .trim()
        .parse::<u64>()
        .expect("a number")
        / 1024
}

#[test]
fn events_pass_one_by_one_and_streams_are_not_shared() {
    let (origin, larder) = start();
    let (first, second) = (Gate::new(), Gate::new());
    let reply = Reply::ok()
        .header("Content-Type", "text/event-stream")
        .chunked();
    origin.reply(
        "/",
        reply
            .body("data: 1\n\n")
            .hold(&first)
            .body("data: 2\n\n")
            .hold(&second)
            .body("data: 3\n\n"),
    );
    let (mut client, mut response) = reading(&larder, "/", "data: 1\n\n");
    let (_other, _) = reading(&larder, "/", "data: 1\n\n");
    assert_eq!(
        origin.requests("/"),
        2,
        "each reader has a stream of its own"
    );
    first.open();
    client.read_body_exactly(&mut response, 9);
    assert_eq!(response.text(), "data: 1\n\ndata: 2\n\n");
    second.open();
    client.read_content(&mut response);
    assert!(response.complete);
}

#[test]
fn a_stream_that_never_ends_ends_with_its_client() {
    let (origin, larder) = start();
    let reply = Reply::ok()
        .header("Content-Type", "text/event-stream")
        .chunked();
    origin.reply("/", reply.body("data: 1\n\n").until_client_leaves());
    let reader = reading(&larder, "/", "data: 1\n\n");
    drop(reader);
    wait_until("the origin is let go", || origin.abandoned("/") == 1);
}

#[test]
fn a_slow_follower_does_not_slow_the_others() {
    let (origin, larder) = start();
    let body = vec![b'x'; 8 << 20];
    origin.reply("/", Reply::ok().cache("max-age=60").chunked().body(&body));
    let slow = larder.get("/").begin();
    origin.wait_requests("/", 1);
    let fast = larder.get("/").send();
    assert!(fast.complete && fast.body.len() == body.len());
    drop(slow);
}

#[test]
fn one_that_outgrows_the_limit_while_others_follow_reaches_all_of_them() {
    let (origin, larder) = crate::common::start_with(SMALL);
    let gate = Gate::new();
    let (start, rest) = (vec![b'a'; 50_000], vec![b'b'; 200_000]);
    origin.reply(
        "/",
        Reply::ok()
            .cache("max-age=60")
            .chunked()
            .body(&start)
            .hold(&gate)
            .body(&rest),
    );
    let mut readers: Vec<_> = (0..3)
        .map(|_| {
            let mut client = larder.get("/").begin();
            let response = client.read_head();
            (client, response)
        })
        .collect();
    gate.wait_reached();
    gate.open();
    for (client, response) in &mut readers {
        client.read_content(response);
        assert!(
            response.complete && response.body.len() == 250_000,
            "{} bytes",
            response.body.len()
        );
        assert!(response.body[..50_000] == start && response.body[50_000..] == rest);
    }
    assert!(!larder.get("/").send().hit());
}

#[test]
fn one_that_was_too_large_is_said_to_be_before_it_has_come() {
    let config = "[[origin]]\nservers = \"{origin}\"\n[defaults]\nlargest_body = \"100KiB\"\n";
    let (origin, larder) = crate::common::start_with(config);
    let large = Reply::ok().cache("max-age=60").chunked();
    origin.reply("/", large.body(vec![b'a'; 200_000]));
    let first = larder.get("/").send();
    assert_eq!((first.status, first.body.len()), (200, 200_000));
    let second = larder.get("/").send();
    assert_eq!(second.body.len(), 200_000);
    let why = second.parameter("detail");
    assert_eq!(why.as_deref(), Some("too-large"), "{}", second.said());
    assert!(!second.says("stored"), "{}", second.said());
}

/// Nobody reads what a refresh brings: what cannot be kept of it is not fetched on.
#[test]
fn a_refresh_that_outgrows_the_limit_lets_the_origin_go() {
    let config = "[[origin]]\nservers = \"{origin}\"\n[defaults]\nlargest_body = \"100KiB\"\n";
    let (origin, larder) = crate::common::start_with(config);
    origin.on("/", |request| match request.nth {
        1 => Reply::ok()
            .cache("max-age=0, stale-while-revalidate=60")
            .body("stale"),
        _ => Reply::ok()
            .cache("max-age=60")
            .chunked()
            .endless(vec![b'x'; 1 << 20]),
    });
    for _ in 0..2 {
        assert_eq!(larder.get("/").send().text(), "stale");
    }
    wait_until("the origin is let go", || origin.abandoned("/") == 1);
}

/// What is not kept goes at the pace of the slowest who reads it, until the others have waited ten seconds for that one
/// in all.
#[test]
fn who_does_not_read_what_is_not_kept_is_cut_off_for_the_others() {
    let (origin, larder) = crate::common::start_with(SMALL);
    let gate = Gate::new();
    let piece = vec![b'x'; 1 << 20];
    let reply = Reply::ok().cache("max-age=60").chunked();
    let reply = reply.body("begun").hold(&gate);
    origin.reply("/", (0..64).fold(reply, |reply, _| reply.body(&piece)));
    let length = one_is_cut_off(&larder, "identity", &gate);
    assert_eq!(length, 5 + (64 << 20));
    assert_eq!(origin.requests("/"), 1);
}

/// What is made of it here goes at the pace of those who follow that.
#[test]
fn who_does_not_read_a_coding_that_is_made_here_is_cut_off_for_the_others() {
    let (origin, larder) = crate::common::start_with(SMALL);
    let gate = Gate::new();
    let mut number = 1;
    let letters = (0..1 << 20).map(|_| b'0' + next(&mut number) as u8 % 64);
    let piece: Vec<u8> = letters.collect();
    let reply = Reply::ok().cache("max-age=60").chunked();
    let reply = reply.header("Content-Type", "text/plain");
    let reply = reply.body("begun").hold(&gate);
    origin.reply("/", (0..32).fold(reply, |reply, _| reply.body(&piece)));
    let length = one_is_cut_off(&larder, "gzip", &gate);
    assert!(length > 16 << 20, "{length} bytes");
    assert_eq!(origin.requests("/"), 1);
}

/// A page of fragments is decoded once for all who get it.
#[test]
fn who_does_not_read_a_page_that_came_coded_is_cut_off_for_the_others() {
    let (origin, larder) = crate::common::start_with(&format!("{SMALL}esi = true\n"));
    let gate = Gate::new();
    let mut code = GzEncoder::new(Vec::new(), Compression::fast());
    code.write_all(b"begun")
        .and_then(|()| code.flush())
        .expect("memory");
    let begun = code.get_ref().clone();
    code.write_all(&vec![b'x'; 64 << 20]).expect("memory");
    let code = code.finish().expect("memory");
    let reply = html("max-age=60", "")
        .chunked()
        .header("Content-Encoding", "gzip");
    let (begun, rest) = code.split_at(begun.len());
    origin.reply("/", reply.body(begun).hold(&gate).body(rest));
    let length = one_is_cut_off(&larder, "identity", &gate);
    assert_eq!(length, 5 + (64 << 20));
    assert_eq!(origin.requests("/"), 1);
}

/// Two ask for what stops at the gate, and one of them reads. It gets everything, of which this is the length, and the
/// other does not.
fn one_is_cut_off(larder: &Larder, accepts: &str, gate: &Gate) -> usize {
    let begin = || {
        let ask = larder.get("/").header("Accept-Encoding", accepts);
        let mut client = ask.begin();
        let answer = client.read_head();
        (client, answer)
    };
    let (mut slow, mut slowly) = begin();
    let (mut fast, mut answer) = begin();
    gate.open();
    fast.read_content(&mut answer);
    assert!(answer.complete);
    slow.read_content(&mut slowly);
    let (got, all) = (slowly.body.len(), answer.body.len());
    assert!(!slowly.complete && got < all, "{got} of {all}");
    all
}

#[test]
fn a_client_that_leaves_before_the_head_lets_the_origin_go() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().hang());
    origin.reply("/post", Reply::ok().hang());
    let clients = [
        larder.get("/").begin(),
        larder.ask("POST", "/post").body("x").begin(),
    ];
    origin.wait_requests("/", 1);
    origin.wait_requests("/post", 1);
    drop(clients);
    wait_until("both fetches were cancelled", || {
        origin.abandoned("/") == 1 && origin.abandoned("/post") == 1
    });
}

#[test]
fn a_client_that_does_not_read_holds_the_origin_back() {
    for reply in [
        Reply::ok().cache("no-store"),
        Reply::ok().cache("max-age=60"),
    ] {
        let origin = Origin::start();
        let larder = serve(&origin).args(["--memory", "4MiB"]).start();
        origin.reply("/endless", reply.chunked().endless(vec![b'x'; 1 << 20]));
        origin.reply("/", Reply::ok().cache("no-store").body(vec![b'y'; 1 << 20]));
        let before = peak_memory(&larder);
        let mut idle = larder.get("/endless").begin();
        idle.read_head();
        for _ in 0..50 {
            assert_eq!(larder.get("/").send().body.len(), 1 << 20);
        }
        let grown = peak_memory(&larder) - before;
        assert!(grown < 32, "{grown} MiB more in use than before");
    }
}

#[test]
fn a_stream_of_events_that_may_be_stored_still_passes_one_by_one() {
    for cache in ["no-cache", "max-age=60"] {
        let (origin, larder) = start();
        let gate = Gate::new();
        let reply = Reply::ok()
            .cache(cache)
            .header("Content-Type", "text/event-stream")
            .chunked();
        origin.reply(
            "/",
            reply.body("data: 1\n\n").hold(&gate).body("data: 2\n\n"),
        );
        let (mut client, mut response) = reading(&larder, "/", "data: 1\n\n");
        gate.wait_reached();
        gate.open();
        client.read_content(&mut response);
        assert_eq!(response.text(), "data: 1\n\ndata: 2\n\n");
    }
}
