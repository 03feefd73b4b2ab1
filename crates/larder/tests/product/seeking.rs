//! Parts that lie far behind what has come of a body on its way: nobody waits for all that lies before them.

use super::{
    collapse::reading,
    explain::explained,
    nodes::{node, wait_follows},
    ranges::range,
};
use crate::common::{Said, sample, start, start_with};
use std::sync::{Arc, Mutex};
use testkit::{Client, Gate, Larder, Origin, Redis, Reply, Request, Response, wait_until};

/// How much of the whole comes before the gate.
const BEFORE: usize = 1000;
const FAR: &str = "bytes=2500000-2500099";

/// 3 MB of which no two parts are alike.
fn film() -> String {
    let lines = (0..300_000).map(|number| format!("{number:09}\n"));
    lines.collect::<Vec<_>>().concat()
}

fn far() -> String {
    film()[2_500_000..2_500_100].to_owned()
}

/// An origin that knows ranges. What is long stops at the first gate, and what lies far behind at the second.
fn films(origin: &Origin) -> (Gate, Gate) {
    let gates = (Gate::new(), Gate::new());
    let (whole, part) = gates.clone();
    let film = film();
    origin.on("/", move |request| {
        scene(request, &film, "\"a\"", [&whole, &part])
    });
    gates
}

fn scene(request: &Request, film: &str, tag: &str, [whole, part]: [&Gate; 2]) -> Reply {
    let says = |reply: Reply| reply.cache("max-age=60").header("ETag", tag);
    let asked = request.header("range").unwrap_or_default();
    let Some((first, last)) = asked.trim_start_matches("bytes=").split_once('-') else {
        let all = says(Reply::ok()).header("Accept-Ranges", "bytes");
        return all.body(&film[..BEFORE]).hold(whole).body(&film[BEFORE..]);
    };
    let first: usize = first.parse().expect("a number");
    let last = last.parse().unwrap_or(film.len() - 1);
    let told = format!("bytes {first}-{last}/{}", film.len());
    let reply = says(Reply::status(206)).header("Content-Range", told);
    let content = &film[first..=last];
    let (come, gate) = match content.len() {
        _ if first > film.len() / 2 => (10, part),
        BEFORE.. => (BEFORE, whole),
        _ => return reply.body(content),
    };
    reply
        .body(&content[..come])
        .hold(gate)
        .body(&content[come..])
}

/// A client that asks for a range, and has read the head and so much of the content.
fn reading_range(larder: &Larder, asked: &str, count: usize) -> (Client, Response) {
    let mut client = larder.get("/").header("Range", asked).begin();
    let mut response = client.read_head();
    client.read_body_exactly(&mut response, count);
    (client, response)
}

fn read_on((mut client, mut response): (Client, Response), all: &str) {
    client.read_content(&mut response);
    assert!(response.complete && response.text() == all);
}

#[test]
fn a_part_far_behind_what_has_come_does_not_wait_for_the_rest() {
    for (held, whole) in [
        (None, None),
        (None, Some("bytes=0-")),
        (Some("bytes=0-99"), Some("bytes=0-")),
        (Some("bytes=0-99"), None),
    ] {
        let (origin, larder) = start();
        let (gate, part) = films(&origin);
        part.open();
        if let Some(held) = held {
            assert_eq!(range(&larder, held).status, 206);
        }
        let first = match whole {
            None => reading(&larder, "/", &film()[..BEFORE]),
            Some(whole) => reading_range(&larder, whole, BEFORE),
        };
        gate.wait_reached();
        let before = origin.requests("/");

        let ahead = larder.get("/").header("Range", FAR);
        let ahead = ahead.header("If-Range", "\"a\"").send();
        assert_eq!(
            (ahead.status, ahead.text()),
            (206, far()),
            "{held:?} {whole:?}"
        );
        let told = ahead.header("content-range");
        assert_eq!(told, Some("bytes 2500000-2500099/3000000"));
        assert_eq!(ahead.parameter("fwd").as_deref(), Some("partial"));
        assert_eq!(origin.last("/").header("range"), Some(FAR));
        assert_eq!(origin.last("/").header("if-range"), Some("\"a\""));
        assert_eq!(origin.requests("/"), before + 1);
        let joined = reading(&larder, "/", &film()[..BEFORE]);

        gate.open();
        read_on(first, &film());
        read_on(joined, &film());
        let later = larder.get("/").send();
        assert!(later.hit() && later.text() == film(), "{}", later.said());
        let later = range(&larder, FAR);
        assert!(later.hit() && later.text() == far(), "{}", later.said());
        assert_eq!(origin.requests("/"), before + 1);
    }
}

#[test]
fn what_is_near_or_no_part_alone_is_waited_for() {
    let (origin, larder) = start();
    let (gate, _) = films(&origin);
    let first = reading(&larder, "/", &film()[..BEFORE]);
    gate.wait_reached();
    let ask = |method: &str, fields: &[(&str, &str)]| {
        let all = fields.iter();
        let ask = all.fold(larder.ask(method, "/"), |ask, (name, value)| {
            ask.header(name, value)
        });
        let mut client = ask.begin();
        let response = client.read_head();
        (client, response)
    };
    let head = ask("HEAD", &[("Range", FAR)]);
    let known = ask("GET", &[("Range", FAR), ("If-None-Match", "\"a\"")]);
    let near = ask("GET", &[("Range", "bytes=1000000-1000009")]);
    let stays = ask(
        "GET",
        &[("Range", FAR), ("Cache-Control", "only-if-cached")],
    );
    let several = ask("GET", &[("Range", "bytes=0-0, 2500000-2500099")]);
    let other = ask("GET", &[("Range", FAR), ("If-Range", "\"b\"")]);
    let beyond = ask("GET", &[("Range", "bytes=3000000-")]);
    let statuses =
        [&head, &known, &near, &stays, &several, &other, &beyond].map(|(_, response)| {
            assert!(response.hit(), "{}", response.said());
            response.status
        });
    assert_eq!(statuses, [200, 304, 206, 206, 200, 200, 416]);
    gate.open();
    read_on(near, &film()[1_000_000..1_000_010]);
    read_on(stays, &far());
    read_on(other, &film());
    read_on(several, &film());
    read_on(first, &film());
    assert_eq!(origin.requests("/"), 1);
}

/// It would send the whole once more.
#[test]
fn who_does_not_send_parts_is_not_asked_for_one() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let (at, all) = (gate.clone(), film());
    origin.on("/", move |_| {
        let reply = Reply::ok().cache("max-age=60").header("ETag", "\"a\"");
        reply.body(&all[..BEFORE]).hold(&at).body(&all[BEFORE..])
    });
    let first = reading(&larder, "/", &film()[..BEFORE]);
    let ahead = reading_range(&larder, FAR, 0);
    assert!(ahead.1.hit() && ahead.1.status == 206);
    gate.open();
    read_on(ahead, &far());
    read_on(first, &film());
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn those_who_seek_to_the_same_part_share_its_fetch() {
    let (origin, larder) = start();
    let (gate, part) = films(&origin);
    let first = reading(&larder, "/", &film()[..BEFORE]);
    let readers: Vec<_> = (0..4).map(|_| reading_range(&larder, FAR, 10)).collect();
    assert_eq!(origin.requests("/"), 2);
    // The whole is what stays.
    let said = &readers[0].1;
    assert_eq!(said.parameter("detail").as_deref(), Some("beside"));
    assert!(!said.says("stored") && said.parameter("ttl").is_some());
    gate.open();
    read_on(first, &film());
    let whole = larder.get("/").send();
    assert!(whole.hit() && whole.text() == film(), "{}", whole.said());
    part.open();
    for reader in readers {
        read_on(reader, &far());
    }
    let whole = larder.get("/").send();
    assert!(whole.hit() && whole.text() == film(), "{}", whole.said());
    assert_eq!(origin.requests("/"), 2);
}

#[test]
fn who_has_waited_for_the_head_of_the_whole_gets_a_part_together() {
    let (origin, larder) = start();
    let (head, gate, part) = (Gate::new(), Gate::new(), Gate::new());
    let (at, all) = ([&head, &gate, &part].map(Gate::clone), film());
    origin.on("/", move |request| {
        let reply = scene(request, &all, "\"a\"", [&at[1], &at[2]]);
        match request.header("range") {
            None => reply.hold_head(&at[0]),
            Some(_) => reply,
        }
    });
    let mut first = larder.get("/").begin();
    head.wait_reached();
    let waiting: Vec<_> = (0..4)
        .map(|_| larder.get("/").header("Range", FAR).begin())
        .collect();
    head.open();
    let readers: Vec<_> = waiting
        .into_iter()
        .map(|mut client| {
            let mut response = client.read_head();
            client.read_body_exactly(&mut response, 10);
            (client, response)
        })
        .collect();
    assert_eq!(origin.requests("/"), 2);
    part.open();
    for reader in readers {
        read_on(reader, &far());
    }
    gate.open();
    let response = first.read_head();
    read_on((first, response), &film());
    assert!(larder.get("/").send().hit());
}

#[test]
fn a_part_of_another_version_goes_to_who_asked_for_it() {
    let (origin, larder) = start();
    let gates = [Gate::new(), Gate::new()];
    let tag = Arc::new(Mutex::new("\"a\""));
    let (at, now, all) = (gates.clone(), tag.clone(), film());
    origin.on("/", move |request| {
        let tag = *now.lock().unwrap();
        scene(request, &all, tag, [&at[0], &at[1]])
    });
    gates[1].open();
    let first = reading(&larder, "/", &film()[..BEFORE]);
    *tag.lock().unwrap() = "\"b\"";
    let ahead = range(&larder, FAR);
    assert_eq!((ahead.header("etag"), ahead.text()), (Some("\"b\""), far()));
    gates[0].open();
    read_on(first, &film());
    let whole = larder.get("/").send();
    assert_eq!(whole.header("etag"), Some("\"a\""));
    assert!(whole.hit() && whole.text() == film(), "{}", whole.said());
}

#[test]
fn a_purge_holds_for_a_part_and_for_the_whole() {
    let (origin, larder) =
        start_with("[purge]\nallow = \"127.0.0.1\"\n[[origin]]\nservers = \"{origin}\"\n");
    let (gate, part) = films(&origin);
    let first = reading(&larder, "/", &film()[..BEFORE]);
    let ahead = reading_range(&larder, FAR, 10);
    assert_eq!(larder.ask("PURGE", "/").send().status, 200);
    let after = reading_range(&larder, FAR, 10);
    assert!(!after.1.says("collapsed"), "{}", after.1.said());
    assert_eq!(origin.requests("/"), 3);
    part.open();
    gate.open();
    read_on(ahead, &far());
    read_on(first, &film());
    read_on(after, &far());
    assert!(!larder.get("/").send().hit());
}

/// The application answers with an error, or not at all, even when it is asked again.
#[test]
fn where_the_fetch_of_a_part_fails_the_whole_brings_it() {
    for (failing, expected) in [(Reply::status(503), 2), (Reply::close(), 3)] {
        let (origin, larder) = start_with("workers = 1\n[[origin]]\nservers = \"{origin}\"\n");
        let (gate, held) = (Gate::new(), Gate::new());
        let (at, all) = ([&gate, &held].map(Gate::clone), film());
        origin.on("/", move |request| match request.header("range") {
            None => scene(request, &all, "\"a\"", [&at[0], &at[1]]),
            Some(_) => failing.clone().hold_head(&at[1]),
        });
        let first = reading(&larder, "/", &film()[..BEFORE]);
        gate.wait_reached();
        let seek = || larder.get("/").header("Range", FAR).begin();
        let leader = seek();
        held.wait_reached();
        let followers = [(); 3].map(|()| seek());
        larder.get("/other").send();
        held.open();
        let readers = [leader].into_iter().chain(followers).map(|mut client| {
            let response = client.read_head();
            assert_eq!(response.status, 206, "{}", response.said());
            let told = response.header("content-range");
            assert_eq!(told, Some("bytes 2500000-2500099/3000000"));
            assert!(!response.says("stored"), "{}", response.said());
            assert!(!response.says("hit"), "{}", response.said());
            (client, response)
        });
        let readers: Vec<_> = readers.collect();
        let asked = origin.requests("/");
        gate.open();
        for reader in readers {
            read_on(reader, &far());
        }
        read_on(first, &film());
        assert!(larder.get("/").send().hit());
        assert_eq!(asked, expected, "requests to an origin that fails");
    }
}

/// What the whole has taken the place of is there again.
#[test]
fn where_both_fail_what_is_stale_stands_in() {
    let (origin, larder) = start();
    let (gate, held) = (Gate::new(), Gate::new());
    let (at, all) = ([&gate, &held].map(Gate::clone), film());
    origin.on("/", move |request| {
        match (request.nth, request.header("range")) {
            (1, _) => Reply::ok()
                .cache("max-age=60, stale-if-error=600")
                .header("Age", "100")
                .body(&all),
            (_, None) => scene(request, &all, "\"a\"", [&at[0], &at[1]]),
            (_, Some(_)) => Reply::status(503).hold_head(&at[1]),
        }
    });
    larder.get("/").send();
    let first = reading(&larder, "/", &film()[..BEFORE]);
    gate.wait_reached();
    let mut ahead = larder.get("/").header("Range", FAR).begin();
    held.wait_reached();
    drop(first);
    wait_until("the whole is given up", || {
        sample(&larder, "larder_fills_failed_total") == 1
    });
    held.open();
    let ahead = ahead.read();
    assert_eq!(
        (ahead.status, ahead.text()),
        (206, far()),
        "{}",
        ahead.said()
    );
    let told = ahead.parameter("detail");
    assert_eq!(told.as_deref(), Some("stale-if-error"));
}

/// Its client has left before it was complete.
#[test]
fn a_part_without_its_fields_is_not_kept_when_the_whole_breaks_off() {
    let (origin, larder) = start();
    let (gate, part) = films(&origin);
    let first = reading(&larder, "/", &film()[..BEFORE]);
    gate.wait_reached();
    let ask = larder.get("/").header("Range", FAR);
    let mut client = ask.header("If-Range", "\"a\"").begin();
    let mut response = client.read_head();
    client.read_body_exactly(&mut response, 10);
    drop(first);
    wait_until("the whole is given up", || {
        sample(&larder, "larder_fills_failed_total") == 1
    });
    part.open();
    read_on((client, response), &far());
    let later = range(&larder, FAR);
    assert!(!later.hit() && later.text() == far(), "{}", later.said());
}

/// Whoever fetches the whole for all nodes has the lease until it has come.
#[test]
fn a_part_does_not_wait_for_the_lease_of_the_whole() {
    let (origin, redis) = (Origin::start(), Redis::start());
    let larder = node(&origin, &redis, 0, "");
    wait_follows(&larder);
    let (gate, part) = films(&origin);
    part.open();
    let first = reading(&larder, "/", &film()[..BEFORE]);
    gate.wait_reached();
    assert_eq!(range(&larder, FAR).text(), far());
    gate.open();
    read_on(first, &film());
}

/// A seek is often followed by another: what nobody waits for any more is not fetched to the end of the film.
#[test]
fn the_rest_of_a_film_is_given_up_when_its_client_seeks_on() {
    let (origin, larder) = start();
    let (gate, _) = films(&origin);
    let first = reading(&larder, "/", &film()[..BEFORE]);
    let ahead = reading_range(&larder, "bytes=2500000-", 10);
    drop(ahead);
    wait_until("the rest is given up", || {
        sample(&larder, "larder_fills_failed_total") == 1
    });
    gate.open();
    read_on(first, &film());
    assert_eq!(origin.requests("/"), 2);
}

#[test]
fn it_is_told_where_a_part_comes_from() {
    let (origin, larder) = start();
    let (gate, _) = films(&origin);
    let first = reading(&larder, "/", &film()[..BEFORE]);
    let said = explained(&larder, "http://example.test/", &[("Range", FAR)]);
    assert!(said.contains("the rest has to be fetched"), "{said}");
    let said = explained(
        &larder,
        "http://example.test/",
        &[("Range", "bytes=2000-2009")],
    );
    assert!(!said.contains("the rest has to be fetched"), "{said}");
    gate.open();
    read_on(first, &film());
}
