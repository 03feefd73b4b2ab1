//! A memcached without room: pages are what the application says, whole, wherever their pieces went.

use crate::{
    common::sample,
    disk::{content, same},
    disk_trouble::told,
    nodes::get,
    shared_trouble::errors,
};
use testkit::{Command, Larder, Memcached, Origin, Reply, wait_until};

/// More pages than a server of this test has room for, each in four pieces.
const PAGES: usize = 40;
const SIZE: usize = 900_000;

/// Two nodes that share this memcached, with the origin of their pages. Memory takes none of these for long.
fn nodes(memcached: &Memcached) -> (Origin, [Larder; 2]) {
    let origin = Origin::start();
    origin.otherwise(|request| {
        let size = if request.path().starts_with("/page") {
            SIZE
        } else {
            100
        };
        let body = content(&format!("{} {}", request.path(), request.nth), size);
        Reply::ok().cache("max-age=3600").body(body)
    });
    let nodes = [0, 1].map(|number| {
        let config = format!(
            "[memory]\nsize = \"16MiB\"\n[[origin]]\nservers = {:?}\n[shared]\nurl = {:?}\nnode = \"node-{number}\"\ntimeout = \"20s\"\n",
            origin.url(),
            memcached.url()
        );
        let larder = Command::serve(env!("CARGO_BIN_EXE_larder"));
        larder.config(&config).start()
    });
    // What was fetched within a second of a start is not shared: clocks may differ by as much.
    let mut number = 0;
    wait_until("what one fetched was found by the other", || {
        number += 1;
        let page = format!("/shares/{number}");
        for node in &nodes {
            get(node, &page);
        }
        origin.requests(&page) == 1
    });
    (origin, nodes)
}

/// What befell what one node has fetched on its way to the server.
fn settled(node: &Larder) -> u64 {
    ["stored", "passed_over"]
        .map(|what| sample(node, &format!("larder_shared_{what}_total")))
        .iter()
        .sum::<u64>()
        + errors(node, "full")
}

/// One version of the page, and all of it.
#[track_caller]
fn is_whole(origin: &Origin, page: &str, body: &[u8]) {
    let versions = 1..=origin.requests(page);
    let is_one = |nth| body == content(&format!("{page} {nth}"), SIZE);
    if !versions.clone().any(is_one) {
        let last = versions.last().unwrap_or_default();
        same(body, &content(&format!("{page} {last}"), SIZE), page);
    }
}

/// Asks one node for each page, then the other, and again the other way round: all of what comes is whole.
fn ask_for_all(origin: &Origin, nodes: &[Larder; 2]) {
    for round in 0..2 {
        let [first, second] = if round == 0 { [0, 1] } else { [1, 0] };
        for number in 0..PAGES {
            let page = format!("/page/{number}");
            let before = settled(&nodes[first]);
            let asked = origin.requests(&page);
            is_whole(origin, &page, &get(&nodes[first], &page).body);
            if origin.requests(&page) > asked {
                wait_until("it was offered to the server", || {
                    settled(&nodes[first]) > before
                });
            }
        }
        for number in 0..PAGES {
            let page = format!("/page/{number}");
            is_whole(origin, &page, &get(&nodes[second], &page).body);
        }
    }
}

#[test]
fn pages_of_which_memcached_dropped_pieces_are_fetched_again() {
    let memcached = Memcached::with(&["-m", "8"]);
    let (origin, nodes) = nodes(&memcached);
    ask_for_all(&origin, &nodes);
    assert_ne!(memcached.stat("evictions"), 0, "it had too little room");
    for node in &nodes {
        assert!(sample(node, "larder_shared_misses_total") > 0);
        assert_eq!(errors(node, "full"), 0, "it takes whatever comes");
        assert_eq!(sample(node, "larder_shared_malformed_total"), 0);
        assert_eq!(sample(node, "larder_shared_breaker_openings_total"), 0);
        assert_eq!(told(node), Vec::<String>::new());
    }
    let again = (0..PAGES).filter(|number| origin.requests(&format!("/page/{number}")) > 1);
    assert!(again.count() > 0, "some were not there any more");
}

#[test]
fn a_memcached_that_refuses_writes_is_read_and_told_of_once() {
    let memcached = Memcached::with(&["-m", "8", "-M"]);
    let (origin, nodes) = nodes(&memcached);
    ask_for_all(&origin, &nodes);
    for node in &nodes {
        assert!(errors(node, "full") > 0);
        assert_eq!(sample(node, "larder_shared_breaker_openings_total"), 0);
        let lines = told(node);
        let full = |line: &&String| line.contains("the shared tier accepts no writes");
        assert!(lines.iter().all(|line| full(&line)), "{lines:#?}");
    }
    let hits = |node| sample(node, "larder_shared_hits_total");
    let before = hits(&nodes[1]);
    assert!(before > 0, "what came before it was full is found");
    // Whatever was there before has been asked for; room is made, and it is used again.
    assert_eq!(memcached.ask("flush_all"), "OK");
    let stored = sample(&nodes[0], "larder_shared_stored_total");
    let mut number = 0;
    wait_until("pages were shared again", || {
        number += 1;
        get(&nodes[0], &format!("/after/{number}"));
        sample(&nodes[0], "larder_shared_stored_total") > stored
    });
}
