//! Who waits for another's fetch, and what may come between: purges, refusals that are another's alone, parts.

use crate::{
    common::{Said, sample, start_with},
    purge::purge,
};
use serde_json::json;
use testkit::{Client, Gate, Larder, Origin, Reply, Request, Response, wait_until};

/// One worker: what was sent before is read before. Nobody gives up waiting, however long the machine takes.
pub fn start() -> (Origin, Larder) {
    start_with(
        "workers = 1\n[[origin]]\nservers = \"{origin}\"\n[defaults]\ncollapse_wait = \"1h\"\n",
    )
}

/// So many clients that have asked, and are waited for by now.
fn waiting(larder: &Larder, path: &str, count: usize) -> Vec<Client> {
    let clients = (0..count).map(|_| larder.get(path).begin()).collect();
    all_read(larder);
    clients
}

/// Returns when the worker has read all that was sent before.
pub fn all_read(larder: &Larder) {
    let behind = larder
        .get("/behind")
        .header("Cache-Control", "only-if-cached");
    assert_eq!(behind.send().status, 504);
}

fn purge_page(larder: &Larder, soft: bool) {
    purge(
        larder,
        &json!({ "url": "http://example.test/page", "soft": soft }),
    );
}

fn read(clients: Vec<Client>) -> Vec<Response> {
    clients.into_iter().map(|mut one| one.read()).collect()
}

#[test]
fn who_waited_for_another_does_not_bring_back_what_was_purged_meanwhile() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/page", move |request| {
        let page = |status| Reply::status(status).cache("max-age=60");
        match (request.nth, request.header("if-none-match")) {
            (1, _) => page(200)
                .header("Age", "100")
                .header("ETag", "\"a\"")
                .body("before"),
            // Nothing that those who wait could share.
            (2, _) => Reply::status(304)
                .cache("private")
                .header("ETag", "\"a\"")
                .hold_head(&held),
            (_, Some(_)) => page(304).header("ETag", "\"a\""),
            (_, None) => page(200).header("ETag", "\"b\"").body("after"),
        }
    });
    larder.get("/page").send();
    let leader = waiting(&larder, "/page", 1);
    gate.wait_reached();
    let follower = waiting(&larder, "/page", 1);
    purge_page(&larder, false);
    gate.open();
    read(leader);
    read(follower);
    for _ in 0..2 {
        assert_eq!(larder.get("/page").send().text(), "after");
    }
}

#[test]
fn what_was_purged_while_its_origin_failed_is_not_sent_stale() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/page", move |request| match request.nth {
        1 => Reply::ok()
            .cache("max-age=60, stale-if-error=600")
            .header("Age", "100")
            .body("before"),
        _ => Reply::status(503).hold_head(&held),
    });
    larder.get("/page").send();
    let clients = waiting(&larder, "/page", 3);
    gate.wait_reached();
    purge_page(&larder, false);
    gate.open();
    for answer in read(clients) {
        assert_eq!(answer.status, 503, "{}", answer.said());
    }
}

#[test]
fn those_who_waited_for_what_was_purged_fetch_it_together() {
    let (origin, larder) = start();
    let (first, second) = (Gate::new(), Gate::new());
    let gates = [first.clone(), second.clone()];
    origin.on("/page", move |request| {
        let gate = &gates[usize::from(request.nth > 1)];
        Reply::ok()
            .cache("max-age=60")
            .hold_head(gate)
            .body(request.nth.to_string())
    });
    let leader = waiting(&larder, "/page", 1);
    first.wait_reached();
    let followers = waiting(&larder, "/page", 10);
    purge_page(&larder, false);
    first.open();
    assert_eq!(read(leader)[0].text(), "1", "it asked before the purge");
    second.wait_reached();
    all_read(&larder);
    second.open();
    for answer in read(followers) {
        assert_eq!(answer.text(), "2");
    }
    assert_eq!(origin.requests("/page"), 2);
}

/// Of what a purge covers nothing is in the store, or not for long: a 304 confirms what the sweep will take, and a part
/// has not come yet.
#[test]
fn so_do_those_who_waited_for_a_304_or_a_part_of_it() {
    type Answer = fn(&Request) -> Reply;
    const PART: [(&str, &str); 1] = [("Range", "bytes=0-3")];
    let confirmed = |request: &Request| match request.header("if-none-match") {
        Some(_) => Reply::status(304),
        None => Reply::ok().body("page"),
    };
    let part = |request: &Request| match request.header("if-none-match") {
        Some(_) => Reply::status(304),
        None => Reply::status(206)
            .header("Content-Range", "bytes 0-3/100")
            .body("part"),
    };
    let tagged = |soft| json!({ "tag": "t", "soft": soft });
    let by_url = |soft| json!({ "url": "http://example.test/page", "soft": soft });
    let rows: [(Answer, &[_], _); 5] = [
        (confirmed, &[], tagged(false)),
        (part, &PART, tagged(false)),
        (part, &PART, by_url(false)),
        (part, &PART, tagged(true)),
        (part, &PART, by_url(true)),
    ];
    for (answer, fields, what) in rows {
        let (origin, larder) = start();
        let gate = Gate::new();
        let held = gate.clone();
        origin.on("/page", move |request| {
            let reply = answer(request)
                .cache("max-age=60")
                .header("ETag", "\"a\"")
                .header("xkey", "t");
            match request.nth {
                1 if request.header("range").is_none() => reply.header("Age", "100"),
                1 | 2 => reply.hold_head(&held),
                _ => reply,
            }
        });
        let ask = || {
            let ask = larder.get("/page");
            fields
                .iter()
                .fold(ask, |ask, (name, value)| ask.header(name, value))
        };
        if fields.is_empty() {
            ask().send();
        }
        let asked = origin.requests("/page");
        let mut clients = vec![ask().begin()];
        gate.wait_reached();
        clients.extend((0..8).map(|_| ask().begin()));
        all_read(&larder);
        purge(&larder, &what);
        gate.open();
        for answer in read(clients) {
            assert!(answer.status < 300, "{what}: {}", answer.said());
        }
        assert_eq!(origin.requests("/page") - asked, 2, "{what} {fields:?}");
    }
}

#[test]
fn a_part_is_fetched_once_for_all_who_ask_for_it() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/page", move |_: &Request| {
        Reply::status(206)
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .header("Content-Range", "bytes 2-5/10")
            .length(4)
            .hold_head(&held)
            .body("2345")
    });
    let ask = || larder.get("/page").header("Range", "bytes=2-5").begin();
    let mut clients = vec![ask()];
    gate.wait_reached();
    clients.extend((0..10).map(|_| ask()));
    all_read(&larder);
    gate.open();
    for answer in read(clients) {
        assert_eq!((answer.status, answer.text().as_str()), (206, "2345"));
    }
    assert_eq!(origin.requests("/page"), 1);
}

#[test]
fn a_part_does_not_take_the_place_of_the_whole() {
    for etag in ["\"a\"", "W/\"a\""] {
        let (origin, larder) = start();
        let (part, rest) = (Gate::new(), Gate::new());
        let gates = (part.clone(), rest.clone());
        origin.on("/page", move |request| {
            let reply = |status| {
                Reply::status(status)
                    .cache("max-age=60")
                    .header("ETag", etag)
            };
            match request.header("range") {
                Some(_) => reply(206)
                    .header("Content-Range", "bytes 0-3/10")
                    .length(4)
                    .body("01")
                    .hold(&gates.0)
                    .body("23"),
                None => reply(200)
                    .length(10)
                    .body("01234")
                    .hold(&gates.1)
                    .body("56789"),
            }
        });
        let range = || larder.get("/page").header("Range", "bytes=0-3");
        let mut ranged = range().begin();
        part.wait_reached();
        let mut whole = larder.get("/page").begin();
        rest.wait_reached();
        part.open();
        assert_eq!(ranged.read().text(), "0123");
        all_read(&larder);
        rest.open();
        assert_eq!(whole.read().text(), "0123456789");
        let again = larder.get("/page").send();
        assert!(again.hit(), "{etag}: {}", again.said());
        assert_eq!(again.text(), "0123456789");
    }
}

/// Nine clients ask for the page, whose stored answer is stale, while it is fetched; how many requests the origin gets
/// for that.
fn fetches_for_nine(origin: &Origin, larder: &Larder, gate: &Gate, path: &str) -> usize {
    let before = origin.requests(path);
    let leader = waiting(larder, path, 1);
    gate.wait_reached();
    let followers = waiting(larder, path, 8);
    gate.open();
    for answer in read(leader).into_iter().chain(read(followers)) {
        assert_eq!(answer.text(), "page");
    }
    origin.requests(path) - before
}

#[test]
fn a_request_at_fault_does_not_keep_others_apart() {
    for status in [400, 406, 429, 431] {
        let (origin, larder) = start();
        let gate = Gate::new();
        let held = gate.clone();
        origin.on("/page", move |request| {
            let page = Reply::ok().cache("max-age=60").body("page");
            match (request.header("x-fault"), request.nth) {
                (Some(_), _) => Reply::status(status).body("your fault"),
                (None, 1) => page.header("Age", "100"),
                (None, _) => page.hold_head(&held),
            }
        });
        larder.get("/page").send();
        let fault = larder.get("/page").header("X-Fault", "1").send();
        assert_eq!(fault.status, status);
        let fetches = fetches_for_nine(&origin, &larder, &gate, "/page");
        assert_eq!(fetches, 1, "{status}");
    }
}

#[test]
fn what_is_private_to_some_does_not_keep_others_apart() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/page", move |request| {
        let page = Reply::ok().header("Vary", "X-Who");
        match (request.header("x-who"), request.nth) {
            (Some(_), _) => page.cache("private").body("mine"),
            (None, 1) => page.cache("max-age=60").header("Age", "100").body("page"),
            (None, _) => page.cache("max-age=60").hold_head(&held).body("page"),
        }
    });
    larder.get("/page").send();
    let mine = larder.get("/page").header("X-Who", "me").send();
    assert_eq!(mine.text(), "mine");
    assert_eq!(fetches_for_nine(&origin, &larder, &gate, "/page"), 1);
}

#[test]
fn a_stale_page_that_is_gone_is_not_sent_any_more() {
    for status in [301, 401, 403, 404, 410, 451] {
        let (origin, larder) = start();
        origin.on("/page", move |request| match request.nth {
            1 => Reply::ok()
                .cache("max-age=60, stale-while-revalidate=6000, stale-if-error=6000")
                .header("Age", "100")
                .body("page"),
            _ => Reply::status(status)
                .cache("no-store")
                .header("Location", "/elsewhere"),
        });
        larder.get("/page").send();
        assert_eq!(larder.get("/page").send().text(), "page");
        wait_until("the refresh has come", || {
            larder.get("/page").send().status == status
        });
        origin.reply("/page", Reply::status(503));
        assert_eq!(larder.get("/page").send().status, 503, "{status}");
    }
}

#[test]
fn credentials_that_are_refused_say_nothing_of_those_who_have_none() {
    for status in [401, 403] {
        let (origin, larder) = start();
        origin.on("/page", move |request| {
            match request.header("authorization") {
                Some(_) => Reply::status(status).cache("no-store"),
                None => Reply::ok().cache("max-age=60").body("page"),
            }
        });
        larder.get("/page").send();
        let guess = larder.get("/page").header("Authorization", "Basic eDp5");
        let refused = guess.header("Cache-Control", "no-cache").send();
        assert_eq!(refused.status, status);
        assert!(larder.get("/page").send().hit(), "{status}");
    }
}

#[test]
fn a_soft_purge_leaves_what_a_broken_refresh_took_the_place_of() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/page", move |request| match request.nth {
        1 => Reply::ok()
            .cache("max-age=60, stale-while-revalidate=600, stale-if-error=600")
            .header("Age", "100")
            .body("page"),
        2 => Reply::ok()
            .cache("max-age=60, stale-if-error=600")
            .length(100_000)
            .body("half")
            .hold(&held)
            .cut(),
        _ => Reply::status(503),
    });
    larder.get("/page").send();
    assert_eq!(larder.get("/page").send().text(), "page");
    gate.wait_reached();
    purge_page(&larder, true);
    // It finds what is purged on its way.
    let _on_its_way = waiting(&larder, "/page", 1);
    gate.open();
    wait_until("it has broken off", || {
        sample(&larder, "larder_fills_failed_total") >= 1
    });
    assert_eq!(larder.get("/page").send().text(), "page");
}
