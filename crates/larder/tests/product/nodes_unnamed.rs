//! Several nodes: what stays in Redis of a large page that was not shared after all.

use crate::{
    common::{Said, sample},
    disk::content,
    nodes::{Site, get},
    nodes_apart::wait_shared,
    nodes_confirmed::{chunks, left},
};
use testkit::{Gate, Reply, wait_until};

/// Waits until of these none stays for longer than ten seconds.
fn wait_given_up(site: &Site, chunks: &[String]) {
    wait_until("they were given up", || {
        chunks.iter().all(|key| left(site, key) <= 10_000)
    });
}

/// Another node has brought a newer one while its body was under way.
#[test]
fn of_a_page_that_came_too_late_nothing_stays() {
    let site = Site::start();
    let bodies = [content("one", 1_500_000), content("two", 1_500_000)];
    let gate = Gate::new();
    let (sent, held) = (bodies.clone(), gate.clone());
    site.origin.on("/page", move |request| {
        let reply = Reply::ok().cache("max-age=600");
        match request.nth {
            1 => {
                let (begin, end) = sent[0].split_at(1_000_000);
                let reply = reply.length(sent[0].len()).body(begin);
                reply.hold(&held).body(end)
            }
            _ => reply.body(&sent[1]),
        }
    });
    let page = site.nodes[0].get("/page").header("Host", "site.example");
    let mut late = page.begin();
    // It has the head once it passes it on: before the other's begins.
    let mut answer = late.read_head();
    gate.wait_reached();
    // Else the other would wait for that.
    let lease = "larder:http://site.example/page#lease";
    assert_eq!(site.redis.ask(&["DEL", lease]), "1");
    assert_eq!(get(&site.nodes[1], "/page").body, bodies[1]);
    wait_shared(&site.nodes[1], 1);
    let newer = chunks(&site, "/page");
    assert_eq!(newer.len(), 6, "{newer:?}");
    gate.open();
    late.read_content(&mut answer);
    assert_eq!(answer.body, bodies[0]);
    wait_until("it was too late", || {
        sample(&site.nodes[0], "larder_shared_passed_over_total") == 1
    });
    let mut others = chunks(&site, "/page");
    others.retain(|key| !newer.contains(key));
    wait_given_up(&site, &others);
    assert!(newer.iter().all(|key| left(&site, key) > 10_000));
    let found = get(&site.nodes[2], "/page");
    assert!(found.hit() && found.body == bodies[1], "{}", found.said());
}

/// What there was room for would keep it from what is smaller.
#[test]
fn of_a_page_that_redis_has_no_room_for_nothing_stays() {
    let site = Site::start();
    let body = content("page", 6_000_000);
    let sent = body.clone();
    site.origin.on("/page", move |_| {
        Reply::ok().cache("max-age=600").body(&sent)
    });
    let memory = site.redis.ask(&["INFO", "memory"]);
    let used = memory
        .lines()
        .find_map(|line| line.strip_prefix("used_memory:"));
    let used: u64 = used.and_then(|used| used.parse().ok()).expect("a number");
    let room = (used + 3_000_000).to_string();
    site.redis.ask(&["CONFIG", "SET", "maxmemory", &room]);
    assert_eq!(get(&site.nodes[0], "/page").body, body);
    wait_until("it was refused", || {
        sample(&site.nodes[0], "larder_shared_errors_total{kind=\"full\"}") > 0
    });
    let written = chunks(&site, "/page");
    assert!((1..23).contains(&written.len()), "{written:?}");
    wait_given_up(&site, &written);
}
