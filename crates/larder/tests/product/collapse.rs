//! Many clients, one fetch.

use crate::{
    common::{Said, counted, next, sample, start, start_with},
    disk_purge::purge,
};
use serde_json::json;
use std::fs;
use testkit::{Ask, Client, Gate, Larder, Origin, Reply, Response, scratch_dir, wait_until};

/// So many clients that have asked for the path and not read anything.
fn ask(larder: &Larder, path: &str, count: usize) -> Vec<Client> {
    (0..count).map(|_| larder.get(path).begin()).collect()
}

/// A larder of one worker.
fn of_one_worker() -> (Origin, Larder) {
    start_with("workers = 1\n[[origin]]\nservers = \"{origin}\"\n")
}

/// So many clients whose requests the one worker has begun with: it has answered another that came later.
fn followers(larder: &Larder, count: usize) -> Vec<Client> {
    let clients = ask(larder, "/", count);
    larder.get("/other").send();
    clients
}

/// A client that has read the head and this first part of the content.
pub(crate) fn reading(larder: &Larder, path: &str, part: &str) -> (Client, Response) {
    let mut client = larder.get(path).begin();
    let mut response = client.read_head();
    client.read_body_exactly(&mut response, part.len());
    assert_eq!(response.text(), part);
    (client, response)
}

/// An origin whose answer to `/` stops at the gate between its two parts.
fn in_parts(reply: Reply) -> (Origin, Larder, Gate) {
    let (origin, larder) = start();
    let gate = Gate::new();
    origin.reply("/", reply.body("first ").hold(&gate).body("second"));
    (origin, larder, gate)
}

#[test]
fn followers_stream_from_the_fill_while_it_is_written() {
    for reply in [
        Reply::ok().cache("max-age=60"),
        Reply::ok().cache("max-age=60").chunked(),
        Reply::ok().cache("max-age=60").until_close(),
    ] {
        let (origin, larder, gate) = in_parts(reply);
        let leader = reading(&larder, "/", "first ");
        gate.wait_reached();
        let followers: Vec<_> = (0..5).map(|_| reading(&larder, "/", "first ")).collect();
        assert_eq!(origin.requests("/"), 1);
        gate.open();
        for (mut client, mut response) in followers.into_iter().chain([leader]) {
            client.read_content(&mut response);
            assert!(response.complete && response.text() == "first second");
        }
        assert_eq!(origin.requests("/"), 1);
        assert!(larder.get("/").send().hit());
    }
}

/// Their answers are most likely for nobody else, so that the others would wait in vain.
#[test]
fn who_asks_for_itself_alone_waits_for_nobody() {
    for (name, value) in [
        ("Authorization", "Basic YTpi"),
        ("Cache-Control", "no-store"),
    ] {
        let (origin, larder) =
            start_with("[[origin]]\nservers = \"{origin}\"\n[defaults]\ncollapse_wait = \"10m\"\n");
        let gate = Gate::new();
        let reply = Reply::ok().cache("max-age=60");
        origin.reply("/", reply.hold_head(&gate).body("page"));
        let ask = || larder.get("/").header(name, value).begin();
        let clients = [ask(), ask()];
        wait_until("both have reached the origin", || origin.requests("/") == 2);
        gate.open();
        for mut client in clients {
            assert_eq!(client.read().text(), "page", "{name}");
        }
    }
}

#[test]
fn who_comes_while_the_body_is_written_is_a_hit() {
    let (_origin, larder, gate) = in_parts(Reply::ok().cache("max-age=60"));
    let (_leader, lead) = reading(&larder, "/", "first ");
    let (_follower, follow) = reading(&larder, "/", "first ");
    gate.open();
    assert!(
        lead.says("fwd") && !lead.says("collapsed"),
        "{}",
        lead.said()
    );
    assert!(
        follow.says("hit") && !follow.says("fwd"),
        "9211 section 2.1: it came when the head was stored already: {}",
        follow.said()
    );
}

#[test]
fn requests_that_wait_for_the_head_share_one_fetch() {
    let (origin, larder) = start();
    let gate = Gate::new();
    origin.reply(
        "/",
        Reply::ok()
            .cache("max-age=60")
            .hold_head(&gate)
            .body("content"),
    );
    let leader = ask(&larder, "/", 1);
    gate.wait_reached();
    let followers = ask(&larder, "/", 10);
    gate.open();
    let (mut collapsed, mut hits) = (0, 0);
    for (number, mut client) in leader.into_iter().chain(followers).enumerate() {
        let answer = client.read();
        assert_eq!(answer.text(), "content");
        let (is_follower, is_hit) = (answer.says("collapsed"), answer.hit());
        assert_eq!(
            is_follower || is_hit,
            number > 0,
            "9211 section 2.6: {}",
            answer.said()
        );
        collapsed += u64::from(is_follower);
        hits += u64::from(is_hit);
    }
    assert_eq!(collapsed + hits, 10);
    assert_eq!(sample(&larder, "larder_collapsed_total"), collapsed);
    assert_eq!(origin.requests("/"), 1);
}

/// It would have to ask again when that has landed.
#[test]
fn who_wants_the_origins_own_word_does_not_wait_for_what_is_under_way() {
    let (origin, larder) =
        start_with("[[origin]]\nservers = \"{origin}\"\n[defaults]\ncollapse_wait = \"10m\"\n");
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| {
        let reply = Reply::ok().cache("max-age=60");
        match request.nth {
            1 => reply.hold_head(&held).body("first"),
            nth => reply.body(nth.to_string()),
        }
    });
    let mut leader = larder.get("/").begin();
    gate.wait_reached();
    for (said, text) in [("no-cache", "2"), ("max-age=0", "3")] {
        let forced = larder.get("/").header("Cache-Control", said).send();
        assert_eq!(forced.text(), text, "{said}");
    }
    gate.open();
    assert_eq!(leader.read().text(), "first");
    let answer = larder.get("/").send();
    assert!(
        answer.hit() && answer.text() == "3",
        "the later one is right"
    );
}

/// Whoever stands before us may be called as we are: that is another tier, and not the same request once more.
#[test]
fn requests_of_another_tier_of_our_name_share_one_fetch() {
    let (origin, larder) = start_with("workers = 1\n[[origin]]\nservers = \"{origin}\"\n");
    let gate = Gate::new();
    origin.reply("/", Reply::ok().cache("max-age=60").hold_head(&gate));
    let via = ["1.1 larder", "1.1 larder (0000002a), 1.1 larder"];
    let clients: Vec<_> = (0..6)
        .map(|number| larder.get("/").header("Via", via[number % 2]).begin())
        .collect();
    gate.wait_reached();
    larder.get("/other").send();
    gate.open();
    for mut client in clients {
        assert_eq!(client.read().status, 200);
    }
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn what_turns_out_not_storable_releases_all_followers_at_once() {
    let (origin, larder) = start();
    let (first, rest) = (Gate::new(), Gate::new());
    let gates = (first.clone(), rest.clone());
    origin.on("/", move |request| {
        counted(request)
            .cache("no-store")
            .hold_head(if request.nth == 1 { &gates.0 } else { &gates.1 })
    });
    let leader = ask(&larder, "/", 1);
    first.wait_reached();
    let followers = ask(&larder, "/", 5);
    first.open();
    rest.wait_reached_by(5);
    rest.open();
    let mut answers: Vec<String> = leader
        .into_iter()
        .chain(followers)
        .map(|mut client| client.read().text())
        .collect();
    answers.sort();
    assert_eq!(
        answers,
        ["1", "2", "3", "4", "5", "6"],
        "each has an answer of its own"
    );
}

#[test]
fn it_is_remembered_that_a_key_is_not_storable() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| {
        let reply = counted(request).cache("no-store");
        if request.nth == 1 {
            reply
        } else {
            reply.hold_head(&held)
        }
    });
    larder.get("/").send();
    let clients = ask(&larder, "/", 4);
    gate.wait_reached_by(4);
    gate.open();
    for mut client in clients {
        assert_eq!(client.read().status, 200);
    }
}

#[test]
fn a_failure_says_nothing_of_whether_a_key_is_storable() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| {
        if request.nth == 1 {
            Reply::status(500)
        } else {
            counted(request).cache("max-age=60").hold_head(&held)
        }
    });
    assert_eq!(larder.get("/").send().status, 500);
    let leader = ask(&larder, "/", 1);
    gate.wait_reached();
    let followers = ask(&larder, "/", 4);
    gate.open();
    for mut client in leader.into_iter().chain(followers) {
        assert_eq!(client.read().text(), "2");
    }
    assert_eq!(origin.requests("/"), 2);
}

/// An answer that takes longer to make than it lasts is stale when it comes.
#[test]
fn who_waited_for_what_is_stale_when_it_comes_is_the_last_to_do_so() {
    for (window, waits) in [("", false), (", stale-while-revalidate=600", true)] {
        let (origin, larder) = start_with(
            "workers = 1\n[[origin]]\nservers = \"{origin}\"\n[defaults]\ncollapse_wait = \"1h\"\n",
        );
        let gates = [Gate::new(), Gate::new()];
        let held = gates.clone();
        let said = format!("max-age=60{window}");
        origin.on("/", move |request| {
            let reply = counted(request).cache(&said).header("Age", "100");
            reply.hold_head(&held[usize::from(request.nth > 1)])
        });
        let mut leader = larder.get("/").begin();
        gates[0].wait_reached();
        let mut follower = followers(&larder, 1).remove(0);
        gates[0].open();
        leader.read();
        if waits {
            let answer = follower.read();
            assert!(answer.said().contains("collapsed"), "{}", answer.said());
            continue;
        }
        gates[1].wait_reached();
        let others = ask(&larder, "/", 3);
        gates[1].wait_reached_by(4);
        gates[1].open();
        for mut client in others.into_iter().chain([follower]) {
            assert_eq!(client.read().status, 200);
        }
        // It comes fresh again.
        let gate = Gate::new();
        let held = gate.clone();
        origin.on("/", move |request| {
            let reply = counted(request).cache("max-age=60");
            if request.nth == 6 {
                reply
            } else {
                reply.hold_head(&held)
            }
        });
        larder.get("/").send();
        purge(&larder, &json!({ "url": "http://example.test/" }));
        let leader = ask(&larder, "/", 1);
        gate.wait_reached();
        let followers = ask(&larder, "/", 3);
        gate.open();
        for mut client in leader.into_iter().chain(followers) {
            assert_eq!(client.read().text(), "7");
        }
    }
}

#[test]
fn what_becomes_storable_is_stored() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        counted(request).cache(if request.nth == 1 {
            "no-store"
        } else {
            "max-age=60"
        })
    });
    larder.get("/").send();
    larder.get("/").send();
    let third = larder.get("/").send();
    assert!(
        third.hit() && third.text() == "2",
        "hit-for-miss does not keep it out: {}",
        third.said()
    );
}

#[test]
fn a_leader_whose_fetch_fails_strands_nobody() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| {
        if held.reached() == 0 || request.nth == 1 {
            Reply::close().hold_head(&held)
        } else {
            counted(request).cache("max-age=60")
        }
    });
    let mut leader = ask(&larder, "/", 1);
    gate.wait_reached();
    let followers = ask(&larder, "/", 5);
    gate.open();
    for mut client in followers {
        assert!(
            matches!(client.read().status, 200 | 502),
            "an answer of its own, or an honest error"
        );
    }
    assert!(matches!(leader[0].read().status, 200 | 502));
    assert_eq!(larder.get("/").send().status, 200);
}

/// They asked nobody themselves, and the log's times are the application's.
#[test]
fn who_follows_a_fetch_that_fails_is_told_and_counted_as_a_follower() {
    for is_stale in [true, false] {
        let log = scratch_dir().join("access.log");
        let (origin, larder) = start_with(&format!(
            "workers = 1\n[log]\naccess = {log:?}\nformat = \"json\"\n[[origin]]\nservers = \"{{origin}}\"\n"
        ));
        let gate = Gate::new();
        let held = gate.clone();
        origin.on("/", move |request| match request.nth {
            1 if is_stale => Reply::ok()
                .cache("max-age=60, stale-if-error=600")
                .header("Age", "100"),
            _ if is_stale => Reply::status(503).hold_head(&held),
            _ => Reply::close().hold_head(&held),
        });
        if is_stale {
            larder.get("/").send();
        }
        let leader = ask(&larder, "/", 1);
        gate.wait_reached();
        let followers = followers(&larder, 8);
        gate.open();
        let mut collapsed = 0;
        for mut client in leader.into_iter().chain(followers) {
            let answer = client.read();
            let (status, failed) = if is_stale {
                (200, Some("503"))
            } else {
                (502, None)
            };
            assert_eq!(answer.status, status);
            assert_eq!(
                answer.parameter("fwd-status").as_deref(),
                failed,
                "9211 section 2.3: {}",
                answer.said()
            );
            collapsed += u64::from(answer.says("collapsed"));
        }
        assert!(collapsed >= 4, "{collapsed}");
        assert_eq!(sample(&larder, "larder_collapsed_total"), collapsed);
        larder.stop();
        let logged = fs::read_to_string(log).expect("a log");
        let untimed = logged.matches("\"origin_ms\":null").count();
        assert_eq!(untimed as u64, collapsed, "{logged}");
    }
}

/// The server hangs up on what the leader alone says.
#[test]
fn what_a_leader_alone_is_refused_for_is_no_followers() {
    let (origin, larder) = of_one_worker();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| match request.header("x-large") {
        Some(_) => Reply::close().hold_head(&held),
        None => counted(request).cache("max-age=60"),
    });
    let leader = larder.get("/").header("X-Large", "x".repeat(9000));
    let mut leader = leader.begin();
    gate.wait_reached();
    let followers = followers(&larder, 3);
    gate.open();
    for mut client in followers {
        let answer = client.read();
        assert_eq!(answer.status, 200, "{}", answer.said());
    }
    assert_eq!(leader.read().status, 502);
    let asked = origin.all().into_iter();
    let plain =
        asked.filter(|request| request.target == "/" && request.header("x-large").is_none());
    assert_eq!(plain.count(), 1, "they fetch together");
}

#[test]
fn a_failure_is_everybodys_once_two_have_met_it() {
    let (origin, larder) = of_one_worker();
    let gate = Gate::new();
    origin.reply("/", Reply::close().hold_head(&gate));
    let leader = ask(&larder, "/", 1);
    gate.wait_reached();
    let followers = followers(&larder, 8);
    gate.open();
    for mut client in leader.into_iter().chain(followers) {
        assert_eq!(client.read().status, 502);
    }
    // Two flights, and one of who came in between, for each of which the server may be tried again.
    let asked = origin.requests("/");
    assert!(asked <= 6, "{asked} requests to an origin that fails");
}

/// Its head has landed, and is gone again before those who wait look for it.
#[test]
fn a_body_that_breaks_off_at_once_is_everybodys_failure_once_two_have_met_it() {
    let half = "y".repeat(30_000);
    let whole = Reply::ok().cache("max-age=60").length(60_000);
    let part = Reply::status(206)
        .cache("max-age=60")
        .header("ETag", "\"a\"")
        .header("Content-Range", "bytes 0-59999/100000")
        .length(60_000);
    for (reply, range) in [(whole, None), (part, Some("bytes=0-59999"))] {
        let (origin, larder) = of_one_worker();
        let gate = Gate::new();
        origin.reply("/", reply.hold_head(&gate).body(&half).cut());
        let begin = || {
            let ask = larder.get("/");
            match range {
                Some(range) => ask.header("Range", range).begin(),
                None => ask.begin(),
            }
        };
        let leader = begin();
        gate.wait_reached();
        let followers: Vec<_> = (0..8).map(|_| begin()).collect();
        larder.get("/other").send();
        gate.open();
        for mut client in followers.into_iter().chain([leader]) {
            let answer = client.read();
            let is_failure =
                answer.status == 502 && answer.parameter("detail").as_deref() == Some("truncated");
            assert!(is_failure || !answer.complete, "{}", answer.said());
        }
        // Two flights, and one of who came in between.
        let asked = origin.requests("/");
        assert!(
            asked <= 3,
            "{asked} requests to an origin that breaks off: {range:?}"
        );
    }
}

/// A larder of one worker and 1 MiB, half of which may be in flight.
fn of_little_memory() -> (Origin, Larder) {
    start_with(
        "workers = 1\nmemory.size = \"1MiB\"\n[[origin]]\nservers = \"{origin}\"\n\
         [defaults]\ncollapse_wait = \"1h\"\n",
    )
}

/// While memory is short nothing large is kept: those who have waited for one answer do not wait for the next.
///
/// That there is no room shows only as the body comes. So what is left is enough for its head, not for its first bytes,
/// and these come with the head, in one write: otherwise the followers might look in between, and read along.
#[test]
fn who_has_waited_for_what_there_is_no_room_for_waits_no_more() {
    const HALF: usize = 252 << 10;
    let (origin, larder) = of_little_memory();
    let body = "y".repeat(240_000);
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 240000\r\n\r\n";
    let (at_once, filler) = (format!("{head}{body}"), "x".repeat(HALF));
    let (rest, first, next) = (Gate::new(), Gate::new(), Gate::new());
    let (at, all) = ([&rest, &first, &next].map(Gate::clone), body.clone());
    let filling = filler.clone();
    origin.otherwise(move |request| {
        let (early, late) = filling.split_at(HALF - 1);
        match (request.target.as_str(), request.nth) {
            ("/", 1) => Reply::raw(&at_once).hold_head(&at[1]),
            ("/", _) => Reply::ok().hold_head(&at[2]).body(&all),
            ("/other", _) => Reply::ok(),
            _ => Reply::ok().body(early).hold(&at[0]).body(late),
        }
        .cache("max-age=60")
    });
    // What a client has read of them is in memory.
    let coming = ["/a", "/b"].map(|path| reading(&larder, path, &filler[1..]));
    let leader = ask(&larder, "/", 1);
    first.wait_reached();
    let followers = followers(&larder, 8);
    first.open();
    wait_until("each has asked", || origin.requests("/") == 9);
    next.open();
    for mut client in leader.into_iter().chain(followers) {
        let answer = client.read();
        assert!(
            answer.complete && answer.text() == body,
            "{}",
            answer.said()
        );
    }
    rest.open();
    for (mut client, mut response) in coming {
        client.read_content(&mut response);
    }
}

/// It is for those who read it by then.
#[test]
fn what_there_is_no_more_room_for_goes_to_all_who_have_joined() {
    let (origin, larder) = of_little_memory();
    let body = "y".repeat(240_000);
    let (rest, first, next) = (Gate::new(), Gate::new(), Gate::new());
    let (at, all) = ([&rest, &first, &next].map(Gate::clone), body.clone());
    origin.otherwise(move |request| {
        let (early, late) = all.split_at(230_000);
        let (little, more) = all.split_at(20_000);
        match request.target.as_str() {
            "/" => Reply::ok()
                .hold_head(&at[1])
                .body(little)
                .hold(&at[2])
                .body(more),
            "/other" => Reply::ok(),
            _ => Reply::ok().body(early).hold(&at[0]).body(late),
        }
        .cache("max-age=60")
    });
    let coming = ["/a", "/b"].map(|path| reading(&larder, path, &body[..230_000]));
    let leader = ask(&larder, "/", 1);
    first.wait_reached();
    let followers = followers(&larder, 8);
    first.open();
    let clients = leader.into_iter().chain(followers);
    let joined: Vec<_> = clients
        .map(|mut client| {
            let mut response = client.read_head();
            client.read_body_exactly(&mut response, 20_000);
            (client, response)
        })
        .collect();
    next.open();
    for (mut client, mut response) in joined {
        client.read_content(&mut response);
        assert!(response.complete && response.text() == body);
    }
    assert_eq!(origin.requests("/"), 1);
    assert!(!larder.get("/").send().hit(), "nobody else gets it");
    rest.open();
    for (mut client, mut response) in coming {
        client.read_content(&mut response);
    }
}

/// RFC 9110 section 15.3.7: a part of what was asked for whole is no answer.
#[test]
fn an_answer_to_what_was_not_asked_is_a_failure_of_all_who_wait() {
    let (origin, larder) = of_one_worker();
    let gate = Gate::new();
    let part = Reply::status(206).header("Content-Range", "bytes 0-3/10");
    origin.reply("/", part.body("0123").hold_head(&gate));
    let leader = ask(&larder, "/", 1);
    gate.wait_reached();
    let followers = followers(&larder, 8);
    gate.open();
    for mut client in leader.into_iter().chain(followers) {
        let answer = client.read();
        assert_eq!(answer.status, 502);
        assert_eq!(answer.parameter("detail").as_deref(), Some("unasked"));
    }
    // As above, each of which asks twice.
    let asked = origin.requests("/");
    assert!(asked <= 6, "{asked} requests to an origin that fails");
}

#[test]
fn a_fill_that_breaks_off_is_complete_for_nobody() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| match request.nth {
        1 => Reply::ok()
            .cache("max-age=60")
            .length(12)
            .body("first ")
            .hold(&held)
            .cut(),
        _ => Reply::ok().cache("max-age=60").body("whole"),
    });
    let leader = reading(&larder, "/", "first ");
    let follower = reading(&larder, "/", "first ");
    gate.open();
    for (mut client, mut response) in [leader, follower] {
        client.read_content(&mut response);
        assert!(
            !response.complete && response.text() == "first ",
            "9111 section 3.3: not passed off as complete"
        );
    }
    let after = larder.get("/").send();
    assert!(
        !after.hit() && after.text() == "whole",
        "nothing half was stored: {}",
        after.said()
    );
}

#[test]
fn a_leader_that_leaves_does_not_cancel_what_others_read() {
    let (origin, larder, gate) = in_parts(Reply::ok().cache("max-age=60"));
    let (leader, _) = reading(&larder, "/", "first ");
    let (mut follower, mut response) = reading(&larder, "/", "first ");
    drop(leader);
    gate.wait_reached();
    gate.open();
    follower.read_content(&mut response);
    assert!(response.complete && response.text() == "first second");
    assert_eq!((origin.requests("/"), origin.abandoned("/")), (1, 0));
}

#[test]
fn a_leader_that_leaves_before_the_head_does_not_strand_its_followers() {
    let (origin, larder) = start();
    let gate = Gate::new();
    origin.reply(
        "/",
        Reply::ok()
            .cache("max-age=60")
            .hold_head(&gate)
            .body("content"),
    );
    let leader = ask(&larder, "/", 1);
    gate.wait_reached();
    let followers = ask(&larder, "/", 3);
    drop(leader);
    gate.open();
    for mut client in followers {
        assert_eq!(client.read().text(), "content");
    }
    assert!(origin.requests("/") <= 2);
}

#[test]
fn a_fill_that_nobody_reads_is_cancelled() {
    let (origin, larder) = start();
    origin.reply(
        "/",
        Reply::ok()
            .cache("max-age=60")
            .length(1000)
            .body("first ")
            .until_client_leaves(),
    );
    let leader = reading(&larder, "/", "first ");
    let follower = reading(&larder, "/", "first ");
    drop(follower);
    assert_eq!(origin.abandoned("/"), 0);
    drop(leader);
    wait_until("the fetch was cancelled", || origin.abandoned("/") == 1);
    origin.reply("/", Reply::ok().cache("max-age=60").body("whole"));
    assert_eq!(larder.get("/").send().text(), "whole");
}

#[test]
fn one_validation_serves_all_who_wait_for_it() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| match request.nth {
        1 => Reply::ok()
            .cache("max-age=60")
            .header("Age", "100")
            .header("ETag", "\"a\"")
            .body("content"),
        _ => Reply::status(304)
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .hold_head(&held),
    });
    larder.get("/").send();
    let mut clients = ask(&larder, "/", 1);
    gate.wait_reached();
    clients.extend(ask(&larder, "/", 5));
    gate.open();
    for mut client in clients {
        let answer = client.read();
        assert_eq!((answer.status, answer.text().as_str()), (200, "content"));
    }
    assert_eq!(origin.requests("/"), 2);
}

#[test]
fn each_stale_variant_is_fetched_once_for_all_who_want_it() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| {
        let language = request
            .header("accept-language")
            .unwrap_or_default()
            .to_owned();
        let reply = Reply::ok()
            .header("Vary", "Accept-Language")
            .cache("max-age=60")
            .body(language);
        match request.nth {
            1 | 2 => reply.header("Age", "100"),
            _ => reply.hold_head(&held),
        }
    });
    let ask = |language: &str| larder.get("/").header("Accept-Language", language);
    for language in ["en", "de"] {
        ask(language).send();
    }
    let mut clients = vec![("en", ask("en").begin())];
    gate.wait_reached();
    clients.extend((0..6).map(|number| {
        let language = if number % 2 == 0 { "de" } else { "en" };
        (language, ask(language).begin())
    }));
    gate.wait_reached_by(2);
    gate.open();
    for (language, mut client) in clients {
        assert_eq!(client.read().text(), language);
    }
    assert_eq!(origin.requests("/"), 4, "one fetch for each variant");
}

#[test]
fn a_range_beyond_the_end_says_nothing_of_the_page() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| match request.header("range") {
        Some(_) => Reply::status(416).header("Content-Range", "bytes */4"),
        None => Reply::ok()
            .cache("max-age=60")
            .body("page")
            .hold_head(&held),
    });
    let beyond = larder.get("/").header("Range", "bytes=99999999-").send();
    assert_eq!(beyond.status, 416);
    let mut clients = ask(&larder, "/", 1);
    gate.wait_reached();
    clients.extend(ask(&larder, "/", 4));
    gate.open();
    for mut client in clients {
        assert_eq!(client.read().text(), "page");
    }
    assert_eq!(origin.requests("/"), 2);
}

#[test]
fn followers_of_a_failing_validation_share_what_is_stale() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| match request.nth {
        1 => Reply::ok()
            .cache("max-age=60, stale-if-error=600")
            .header("Age", "100")
            .header("ETag", "\"a\"")
            .body("content"),
        _ => Reply::status(503).hold_head(&held),
    });
    larder.get("/").send();
    let mut clients = ask(&larder, "/", 1);
    gate.wait_reached();
    clients.extend(ask(&larder, "/", 8));
    gate.open();
    for mut client in clients {
        let answer = client.read();
        assert_eq!((answer.status, answer.text().as_str()), (200, "content"));
    }
    // One that comes just after the failure asks once more; all eight of them would be a herd.
    let asked = origin.requests("/");
    assert!(asked < 6, "{asked} requests to an origin that fails");
}

#[test]
fn a_fill_that_nobody_reads_ends_where_it_is_not_stored() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let endless = Reply::ok().cache("max-age=60").chunked();
    let large = "x".repeat(1 << 20);
    let endless = (0..80).fold(endless, |reply, _| reply.body(&large));
    origin.reply("/", endless.hold(&gate).body("end"));
    assert_eq!(larder.ask("HEAD", "/").send().status, 200);
    // The fill outgrows the largest body, and the client has its answer: the origin's connection is given up.
    wait_until("the fill is given up", || {
        sample(&larder, "larder_fills_failed_total") >= 1
    });
    gate.open();
}

#[test]
fn followers_have_conditions_and_ranges_of_their_own() {
    let (origin, larder) = start();
    let gate = Gate::new();
    origin.reply(
        "/",
        Reply::ok()
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .hold_head(&gate)
            .body("0123456789"),
    );
    let mut leader = larder.get("/").begin();
    gate.wait_reached();
    let mut knows = larder.get("/").header("If-None-Match", "\"a\"").begin();
    let mut head = larder.ask("HEAD", "/").begin();
    gate.open();
    assert_eq!(leader.read().text(), "0123456789");
    let knows = knows.read();
    assert_eq!((knows.status, knows.body.len()), (304, 0));
    let head = head.read();
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("10"))
    );
    let part = larder.get("/").header("Range", "bytes=2-4").send();
    assert_eq!((part.status, part.text().as_str()), (206, "234"));
}

#[test]
fn upgrades_are_not_shared() {
    let (origin, larder) = start();
    origin.reply("/", Reply::upgrade("websocket"));
    let mut clients: Vec<Client> = (0..3)
        .map(|_| {
            Ask::new(larder.client(), "GET", "/")
                .header("Connection", "Upgrade")
                .header("Upgrade", "websocket")
                .begin()
        })
        .collect();
    for client in &mut clients {
        assert_eq!(client.read_head().status, 101);
    }
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(number.to_string());
        assert_eq!(client.read_bytes(1), number.to_string().as_bytes());
    }
    assert_eq!(origin.requests("/"), 3);
}

/// One of many ways in which an origin answers; all that is complete says `whole`, however long.
fn whim(number: u32) -> Reply {
    let cached = Reply::ok().cache("max-age=60");
    let stale = Reply::ok()
        .cache("max-age=60")
        .header("Age", "100")
        .header("ETag", "\"a\"");
    let long = "whole".repeat(20_000);
    match number % 12 {
        0 => Reply::close(),
        1 => cached.length(100_000).body(&long[..30_000]).cut(),
        2 => cached.chunked().body(&long[..30_000]).cut(),
        3 => Reply::status(503).body("sorry"),
        4 => Reply::ok().cache("no-store").body(&long),
        5 => Reply::raw("garbage\r\n\r\n"),
        6 => cached.chunked().body(&long[..5]).body(&long[5..]),
        7 | 8 => stale.chunked().body(&long),
        9 => cached.header("Vary", "Foo").until_close().body(&long),
        _ => stale.body(&long),
    }
}

#[test]
fn whatever_happens_nobody_is_stranded_and_nothing_is_left_behind() {
    let (origin, larder) = start();
    origin.otherwise(|request| {
        let mut number = u32::try_from(request.nth)
            .expect("a small number")
            .wrapping_mul(7919)
            + request.target.len() as u32;
        whim(next(&mut number))
    });
    let larder = &larder;
    let crowd = |seed: u32| {
        let mut number = seed;
        for _ in 0..80 {
            let path = format!("/{}", "x".repeat((next(&mut number) % 4) as usize));
            let mut client = larder
                .get(&path)
                .header("Foo", (next(&mut number) % 2).to_string())
                .begin();
            // A connection that is closed at once is honest too; `bad_origin` asks for better.
            let Some(mut response) = client.try_read_head() else {
                continue;
            };
            if !next(&mut number).is_multiple_of(4) {
                client.read_content(&mut response);
                let whole =
                    response.body.len() == 100_000 && response.text() == "whole".repeat(20_000);
                let honest = !response.complete || response.status >= 500;
                assert!(
                    whole || honest,
                    "{:?}: {} bytes",
                    response.head,
                    response.body.len()
                );
            }
        }
    };
    std::thread::scope(|scope| {
        for seed in 1..9 {
            scope.spawn(move || crowd(seed));
        }
    });
    for name in [
        "larder_connections_active",
        "larder_in_flight_bytes",
        "larder_origin_active{origin=\"origin\"}",
    ] {
        wait_until(&format!("{name} was 0"), || sample(larder, name) == 0);
    }
    assert_eq!(sample(larder, "larder_panics_total"), 0);
}

#[test]
fn followers_who_want_another_variant_share_a_second_fetch() {
    let (origin, larder) = start();
    let (first, second) = (Gate::new(), Gate::new());
    let gates = (first.clone(), second.clone());
    origin.on("/", move |request| {
        let kind = request.header("foo").unwrap_or_default().to_owned();
        let gate = if kind == "0" { &gates.0 } else { &gates.1 };
        let reply = Reply::ok().cache("max-age=60").header("Vary", "Foo");
        reply.hold_head(gate).body(kind)
    });
    let crowd = |kind: &str, count: usize| -> Vec<Client> {
        let ask = |_| larder.get("/").header("Foo", kind).begin();
        (0..count).map(ask).collect()
    };
    let leader = crowd("0", 1);
    first.wait_reached();
    let others = [crowd("1", 8), crowd("2", 8)];
    first.open();
    origin.wait_requests("/", 3);
    let late = crowd("1", 4);
    second.open();
    for (kind, clients) in ["0", "1", "2", "1"]
        .iter()
        .zip([leader].into_iter().chain(others).chain([late]))
    {
        for mut client in clients {
            assert_eq!(client.read().text(), *kind);
        }
    }
    assert_eq!(origin.requests("/"), 3, "one fetch for each variant");
}
