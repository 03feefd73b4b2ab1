//! Nodes that share Redis, each with a store on disk of its own: what was purged elsewhere is not answered from there
//! either.

use crate::{
    common::{Said, sample},
    nodes::{get, hasty_node_at, is_unsure, node_at, purge, wait_follows},
};
use std::{
    path::Path,
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
};
use testkit::{Larder, Link, Origin, Redis, Reply, scratch_dir, wait_until};

/// An application whose pages tell its version.
fn application() -> (Origin, Arc<AtomicU64>) {
    let (origin, version) = (Origin::start(), Arc::new(AtomicU64::new(1)));
    let now = version.clone();
    origin.otherwise(move |_| {
        let version = now.load(SeqCst).to_string();
        Reply::ok().cache("max-age=3600").body(version)
    });
    (origin, version)
}

/// A node with a store on disk in `path`, that believes what it heard of purges for so long.
fn with_disk(origin: &Origin, redis: &str, path: &Path, trust: &str) -> Larder {
    let path = path.display();
    let disk = format!("[disk]\npath = \"{path}\"\nsize = \"64MiB\"");
    let node = hasty_node_at(origin, redis, 1, &disk, &format!("trust = {trust:?}"));
    node.wait_output("disk tier loaded");
    node
}

/// Has a page on this node's disk.
fn kept(node: &Larder, page: &str) {
    let before = sample(node, "larder_disk_writes_total");
    for _ in 0..3 {
        assert_eq!(get(node, page).text(), "1");
    }
    wait_until("it was on disk", || {
        sample(node, "larder_disk_writes_total") > before
    });
}

#[test]
fn what_was_purged_while_a_node_was_down_does_not_come_back_from_its_disk() {
    let (redis, (origin, version)) = (Redis::start(), application());
    let path = scratch_dir().join("disk");
    let other = node_at(&origin, &redis.url(), 0, "", "");
    let node = with_disk(&origin, &redis.url(), &path, "5s");
    for node in [&other, &node] {
        wait_follows(node);
    }
    for page in ["/purged", "/left"] {
        kept(&node, page);
    }
    assert_eq!(node.stop().code, Some(0));
    version.store(2, SeqCst);
    let purged = purge(&other, &["http://site.example/purged"]);
    assert_eq!(purged.code, Some(0), "{purged:?}");
    let node = with_disk(&origin, &redis.url(), &path, "5s");
    assert_ne!(get(&node, "/purged").text(), "1");
    wait_follows(&node);
    assert_ne!(get(&node, "/purged").text(), "1");
    let left = get(&node, "/left");
    assert!(left.hit() && left.text() == "1", "{:?}", left.head);
}

#[test]
fn a_node_that_is_cut_off_answers_from_its_disk_what_the_application_confirms() {
    let (redis, origin) = (Redis::start(), Origin::start());
    origin.otherwise(|request| {
        let reply = match request.header("If-None-Match") {
            Some("\"a\"") => Reply::status(304),
            _ => Reply::ok().body("1"),
        };
        reply.cache("max-age=3600").header("ETag", "\"a\"")
    });
    let (path, link) = (scratch_dir().join("disk"), Link::to(&redis.address()));
    let url = format!("redis://{}", link.address());
    let node = with_disk(&origin, &url, &path, "5s");
    wait_follows(&node);
    kept(&node, "/page");
    assert_eq!(node.stop().code, Some(0));
    link.cut();
    let node = with_disk(&origin, &url, &path, "5s");
    wait_until("it knew that it was cut off", || is_unsure(&node));
    let asked = origin.requests("/page");
    let answer = get(&node, "/page");
    assert_eq!((answer.status, answer.text().as_str()), (200, "1"));
    assert_eq!(origin.requests("/page"), asked + 1, "it was confirmed");
    assert_eq!(origin.last("/page").header("If-None-Match"), Some("\"a\""));
    link.mend();
    wait_follows(&node);
    assert!(get(&node, "/page").hit());
}
