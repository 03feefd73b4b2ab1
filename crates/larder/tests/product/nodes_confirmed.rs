//! Several nodes: large pages that the application confirms, and what is written of them to what the nodes share.

use crate::{
    common::Said,
    disk::content,
    nodes::{Site, get, purge},
    nodes_apart::wait_shared,
};
use testkit::{Gate, Redis, Reply, Response, wait_until};

/// What of a page lies in Redis apart from its head, in order: not who fetches it.
pub(crate) fn chunks(site: &Site, page: &str) -> Vec<String> {
    let of_page = format!("larder:http://site.example{page}#");
    let is_chunk = |key: &String| key.starts_with(&of_page) && !key.ends_with("#lease");
    let mut all: Vec<_> = site.redis.keys().into_iter().filter(is_chunk).collect();
    all.sort();
    all
}

/// For how many milliseconds Redis keeps a key.
pub(crate) fn left(site: &Site, key: &str) -> i64 {
    let left = site.redis.ask(&["PTTL", key]);
    left.parse().expect("a number")
}

/// A large page that the application confirms, for ten minutes at first and for an hour then.
fn confirmed_site(body: &[u8]) -> Site {
    let site = Site::start();
    let body = body.to_vec();
    site.origin.on("/page", move |request| {
        let reply = match request.header("If-None-Match") {
            Some(_) => Reply::status(304).cache("max-age=3600"),
            None => Reply::ok().cache("max-age=600").body(&body),
        };
        reply.header("ETag", "\"a\"")
    });
    site
}

/// The page is stale from now on.
fn soften(site: &Site, node: usize) {
    let args = ["--wait", "--soft", "http://site.example/page"];
    let purged = purge(&site.nodes[node], &args);
    assert_eq!(purged.code, Some(0), "{purged:?}");
}

/// Has the application confirm the page that this node has.
fn confirm(site: &Site, node: usize) -> Response {
    soften(site, node);
    get(&site.nodes[node], "/page")
}

/// Whichever node it is that asks, the one that fetched it or one that has found it. Its body stays where it is, for as
/// long as its head.
#[test]
fn of_a_large_page_that_is_confirmed_the_head_alone_is_written() {
    let body = content("page", 1_500_000);
    let site = confirmed_site(&body);
    assert_eq!(get(&site.nodes[0], "/page").body, body);
    wait_shared(&site.nodes[0], 1);
    let fetched = chunks(&site, "/page");
    assert_eq!(fetched.len(), 6, "{fetched:?}");
    assert!(get(&site.nodes[1], "/page").hit());
    for (node, stored) in [(0, 2), (1, 1)] {
        site.redis.ask(&["CONFIG", "RESETSTAT"]);
        assert_eq!(confirm(&site, node).body, body);
        wait_shared(&site.nodes[node], stored);
        assert_eq!(chunks(&site, "/page"), fetched, "by node {node}");
        let network = site.redis.ask(&["INFO", "stats"]);
        let came = network
            .lines()
            .find_map(|line| line.strip_prefix("total_net_input_bytes:"));
        let came: usize = came.and_then(|came| came.parse().ok()).expect("a number");
        assert!(came < body.len(), "{came} bytes");
    }
    let record = "larder:http://site.example/page";
    let hour = 3_600_000;
    let head = left(&site, record);
    assert!(head > hour, "{head} ms");
    for chunk in &fetched {
        assert!(left(&site, chunk) > head, "{chunk}");
    }
    assert_eq!(site.origin.requests("/page"), 3);
    let found = get(&site.nodes[2], "/page");
    assert!(found.hit() && found.body == body, "{}", found.said());
}

/// A server whose memory is short lets any of them go.
#[test]
fn a_confirmed_page_is_written_whole_where_a_piece_of_it_is_gone() {
    let body = content("page", 1_500_000);
    let site = confirmed_site(&body);
    assert_eq!(get(&site.nodes[0], "/page").body, body);
    wait_shared(&site.nodes[0], 1);
    let mut stored = 1;
    for lost in ["a piece", "the head"] {
        let fetched = chunks(&site, "/page");
        let key = match lost {
            "a piece" => &fetched[3],
            _ => "larder:http://site.example/page",
        };
        assert_eq!(site.redis.ask(&["DEL", key]), "1");
        stored += 1;
        assert_eq!(confirm(&site, 0).body, body);
        wait_shared(&site.nodes[0], stored);
        let mut written = chunks(&site, "/page");
        written.retain(|key| !fetched.contains(key));
        assert_eq!(written.len(), 6, "{lost}: {written:?}");
    }
    let found = get(&site.nodes[1], "/page");
    assert!(found.hit() && found.body == body, "{}", found.said());
    assert_eq!(site.origin.requests("/page"), 3);
}

/// While one node's page is confirmed, another brings a new one: each head stands over its own body.
#[test]
fn what_is_confirmed_stands_over_its_own_body_whatever_another_node_brought_meanwhile() {
    let site = Site::start();
    let bodies = [content("one", 1_500_000), content("two", 1_500_000)];
    let gate = Gate::new();
    let (sent, held) = (bodies.clone(), gate.clone());
    site.origin.on("/page", move |request| {
        let reply = match request.nth {
            1 => Reply::ok().header("ETag", "\"one\"").body(&sent[0]),
            2 => Reply::status(304)
                .header("ETag", "\"one\"")
                .hold_head(&held),
            _ => Reply::ok().header("ETag", "\"two\"").body(&sent[1]),
        };
        reply.cache("max-age=600")
    });
    assert_eq!(get(&site.nodes[0], "/page").body, bodies[0]);
    wait_shared(&site.nodes[0], 1);
    let fetched = chunks(&site, "/page");
    soften(&site, 0);
    let page = site.nodes[0].get("/page").header("Host", "site.example");
    let mut confirmed = page.begin();
    gate.wait_reached();
    // Else the other would wait for that.
    let lease = "larder:http://site.example/page#lease";
    assert_eq!(site.redis.ask(&["DEL", lease]), "1");
    assert_eq!(get(&site.nodes[1], "/page").body, bodies[1]);
    wait_shared(&site.nodes[1], 1);
    wait_until("the first body was given up", || {
        fetched.iter().all(|key| left(&site, key) <= 10_000)
    });
    gate.open();
    assert_eq!(confirmed.read().body, bodies[0]);
    wait_shared(&site.nodes[0], 2);
    let mut written = chunks(&site, "/page");
    written.retain(|key| left(&site, key) > 10_000);
    assert_eq!(written.len(), 6, "{written:?}");
    assert!(written.iter().all(|key| !fetched.contains(key)));
    let found = get(&site.nodes[2], "/page");
    assert!(found.hit(), "{}", found.said());
    assert_eq!(found.header("ETag"), Some("\"one\""));
    assert_eq!(found.body, bodies[0]);
}

/// Redis has lost the latest write, as after a failover, and the node has lost the page to others before the 304 comes.
/// The earlier version, which it has found meanwhile, does not stay.
#[test]
fn what_is_confirmed_takes_the_place_of_an_earlier_version_that_was_found_meanwhile() {
    let redis = Redis::start();
    let url = redis.url();
    let site = Site::at(redis, &url, "[memory]\nsize = \"4MiB\"\n");
    let gate = Gate::new();
    let held = gate.clone();
    site.origin.on("/page", move |request| {
        let reply = match request.nth {
            1 => Reply::ok().body("one").header("ETag", "\"one\""),
            2 => {
                let stale = Reply::ok().body("two").header("Age", "601");
                stale.header("ETag", "\"two\"")
            }
            _ => {
                let confirmed = Reply::status(304).header("ETag", "\"two\"");
                confirmed.hold_head(&held)
            }
        };
        reply.cache("max-age=600")
    });
    let body = "x".repeat(20_000);
    site.origin
        .otherwise(move |_| Reply::ok().cache("max-age=600").body(&body));
    let (record, before) = ("larder:http://site.example/page", "before");
    let page = || site.nodes[0].get("/page").header("Host", "site.example");
    assert_eq!(get(&site.nodes[1], "/page").text(), "one");
    wait_shared(&site.nodes[1], 1);
    assert_eq!(site.redis.ask(&["COPY", record, before]), "1");
    let reloaded = page().header("Cache-Control", "no-cache").send();
    assert_eq!(reloaded.text(), "two");
    wait_shared(&site.nodes[0], 1);
    assert_eq!(site.redis.ask(&["COPY", before, record, "REPLACE"]), "1");
    let mut confirmed = page().begin();
    gate.wait_reached();
    let mut others = (0..).map(|number| format!("/other/{number}"));
    wait_until("the page was evicted", || {
        for other in others.by_ref().take(200) {
            get(&site.nodes[0], &other);
            get(&site.nodes[0], &other);
        }
        let found = page().header("Cache-Control", "only-if-cached").send();
        found.status == 200 && found.text() == "one"
    });
    gate.open();
    assert_eq!(confirmed.read().text(), "two");
    let found = get(&site.nodes[0], "/page");
    assert!(found.hit() && found.text() == "two", "{}", found.said());
    assert_eq!(site.origin.requests("/page"), 3);
}
