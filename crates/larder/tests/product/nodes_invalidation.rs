//! Several nodes: what an application's answer says of what this node does not keep itself, and another has shared.

use crate::{
    common::Said,
    nodes::{Site, get},
    nodes_apart::wait_shared,
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::SeqCst},
};
use testkit::{Larder, Reply, Response, wait_until};

fn ask(node: &Larder, method: &str, target: &str) -> Response {
    let ask = node.ask(method, target).header("Host", "site.example");
    ask.send()
}

/// RFC 9875 section 2.2.1: whichever node hears of the change, one that keeps nothing of it in memory too.
#[test]
fn what_another_node_has_shared_takes_its_cache_groups_with_it() {
    for size in [1, 300_000] {
        let site = Site::start();
        site.origin
            .otherwise(move |request| match request.method.as_str() {
                "GET" => Reply::ok()
                    .body(request.nth.to_string().repeat(size))
                    .cache("max-age=600")
                    .header("Cache-Groups", "\"front\""),
                _ => Reply::status(204),
            });
        for page in ["/item", "/list"] {
            get(&site.nodes[1], page);
        }
        wait_shared(&site.nodes[1], 2);
        assert_eq!(ask(&site.nodes[0], "POST", "/item").status, 204);
        let list = get(&site.nodes[0], "/list");
        assert!(list.text().starts_with('2'), "{size}: {}", list.said());
        wait_until("the other node heard of it", || {
            !get(&site.nodes[1], "/list").text().starts_with('1')
        });
    }
}

/// RFC 9111 section 4.3.5.
#[test]
fn a_head_that_shows_another_version_says_so_of_what_another_node_has_shared() {
    let (site, version) = (Site::start(), Arc::new(AtomicU64::new(1)));
    let now = version.clone();
    site.origin.otherwise(move |request| {
        let version = now.load(SeqCst).to_string();
        let reply = Reply::ok()
            .cache("max-age=600")
            .header("ETag", format!("\"{version}\""));
        match request.method.as_str() {
            "HEAD" => reply.header("Content-Length", "1"),
            _ => reply.body(version),
        }
    });
    get(&site.nodes[1], "/page");
    wait_shared(&site.nodes[1], 1);
    version.store(2, SeqCst);
    let head = site.nodes[0].ask("HEAD", "/page");
    // The condition is the origin's to judge.
    let head = head
        .header("Host", "site.example")
        .header("If-Match", "\"2\"");
    assert_eq!(head.send().header("etag"), Some("\"2\""));
    let page = get(&site.nodes[0], "/page");
    assert_eq!(page.text(), "2", "{}", page.said());
    wait_until("the other node heard of it", || {
        get(&site.nodes[1], "/page").text() == "2"
    });
}
