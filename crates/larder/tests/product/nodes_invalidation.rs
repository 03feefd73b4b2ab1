//! Several nodes: what an application's answer says of what this node does not keep itself, and another has shared.

use crate::{
    common::Said,
    nodes::{Site, get},
    nodes_apart::wait_shared,
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
