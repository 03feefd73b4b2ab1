//! Several nodes: of two answers the one with the later `Date` is right, whichever comes last.

use crate::{
    common::{Said, sample},
    nodes::{Site, get, purge},
    nodes_apart::wait_shared,
};
use testkit::{Gate, Larder, Reply, date, wait_until};

/// Waits until this node has shared so many answers, or found that they are not to be shared.
fn wait_decided(node: &Larder, count: u64) {
    let outcomes = [
        "larder_shared_stored_total",
        "larder_shared_passed_over_total",
    ];
    wait_until("it was shared or not", || {
        outcomes.map(|name| sample(node, name)).iter().sum::<u64>() >= count
    });
}

/// The first answer, of this many seconds ago, waits at the gate; later ones are of ten seconds ago.
fn held_site(ago: i64, gate: &Gate) -> Site {
    let (site, gate) = (Site::start(), gate.clone());
    site.origin.on("/page", move |request| {
        let reply = Reply::ok().cache("max-age=600");
        match request.nth {
            1 => reply
                .header("Date", date(-ago))
                .body("first")
                .hold_head(&gate),
            _ => reply.header("Date", date(-10)).body("later"),
        }
    });
    site
}

/// A row: how many seconds ago the application made the answer that comes last, and what the third node then has.
#[test]
fn an_answer_that_comes_last_replaces_what_another_node_has_fetched_unless_its_date_is_earlier() {
    for (ago, expected) in [(100, "later"), (1, "first")] {
        let gate = Gate::new();
        let site = held_site(ago, &gate);
        let page = site.nodes[0].get("/page").header("Host", "site.example");
        let mut held = page.begin();
        gate.wait_reached();
        // Else the other would wait for that.
        let lease = "larder:http://site.example/page#lease";
        assert_eq!(site.redis.ask(&["DEL", lease]), "1");
        assert_eq!(get(&site.nodes[1], "/page").text(), "later");
        wait_shared(&site.nodes[1], 1);
        gate.open();
        assert_eq!(held.read().text(), "first");
        wait_decided(&site.nodes[0], 1);
        let found = get(&site.nodes[2], "/page");
        assert!(found.hit(), "{}", found.said());
        assert_eq!(found.text(), expected, "{ago} seconds ago");
    }
}

/// Another cache in front of the application, which knows nothing of the purge, gives an earlier answer of its own.
#[test]
fn what_was_purged_makes_room_for_an_answer_with_an_earlier_date() {
    let site = Site::start();
    site.origin.otherwise(|request| {
        let ago = if request.nth == 1 { 10 } else { 100 };
        let reply = Reply::ok().cache("max-age=600").header("Cache-Tag", "p-1");
        let reply = reply.header("Date", date(-ago));
        reply.body(request.nth.to_string())
    });
    let all: [&[&str]; 4] = [
        &["http://site.example/0"],
        &["--soft", "http://site.example/1"],
        &["--tag=p-1"],
        &["--soft", "--tag=p-1"],
    ];
    for (number, what) in all.into_iter().enumerate() {
        let (page, count) = (format!("/{number}"), number as u64 + 1);
        assert_eq!(get(&site.nodes[0], &page).text(), "1");
        wait_shared(&site.nodes[0], count);
        let purged = purge(&site.nodes[0], &[&["--wait"], what].concat());
        assert_eq!(purged.code, Some(0), "{purged:?}");
        assert_eq!(get(&site.nodes[1], &page).text(), "2", "{what:?}");
        wait_decided(&site.nodes[1], count);
        let found = get(&site.nodes[2], &page);
        assert!(found.hit(), "{what:?}: {}", found.said());
        assert_eq!(found.text(), "2", "{what:?}");
    }
}
