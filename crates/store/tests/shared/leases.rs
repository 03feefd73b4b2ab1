//! One of many nodes fetches.

use crate::support::{KEY, Node, bytes, config, page};
use std::{sync::Arc, time::Duration};
use store::shared::{Config, Lease, SharedTierLookup};
use testkit::{Memcached, Redis};

async fn lead(node: &Node) -> Lease {
    match node.lead().await {
        SharedTierLookup::Lead(lease) => lease,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn one_leads_and_the_others_get_what_it_brings() {
    let server = Redis::start();
    let (one, other, third) = (
        Node::new(&server.url()),
        Node::new(&server.url()),
        Node::new(&server.url()),
    );
    let lease = lead(&one).await;
    assert_eq!(
        server.keys(),
        ["larder:https://shop.example/shoes?page=2#lease"]
    );
    let bring = async {
        other.until("it waited", |now| now.waits == 1).await;
        third.until("it waited", |now| now.waits == 1).await;
        one.shared
            .keep(KEY, &Arc::new(page(&one, "hello").done()), Some(lease));
    };
    let (found, found_too, ()) = tokio::join!(other.lead(), third.lead(), bring);
    for found in [found, found_too] {
        let SharedTierLookup::Here(found) = found else {
            panic!("{found:?}")
        };
        assert_eq!(bytes(&found[0].body), b"hello");
    }
    // Answered after what giving back has sent on the same connection.
    assert_eq!(one.bodies(KEY).await, [b"hello"]);
    assert_eq!(server.keys(), ["larder:https://shop.example/shoes?page=2"]);
}

#[tokio::test]
async fn a_lease_that_is_dropped_frees_those_who_wait() {
    let server = Redis::start();
    let (one, other) = (Node::new(&server.url()), Node::new(&server.url()));
    let lease = lead(&one).await;
    let give_back = async {
        other.until("it waited", |now| now.waits == 1).await;
        drop(lease);
    };
    let (found, ()) = tokio::join!(other.lead(), give_back);
    assert!(matches!(found, SharedTierLookup::Nothing), "{found:?}");
    assert_eq!(other.count().waits_in_vain, 1);
    drop(lead(&other).await);
}

#[tokio::test]
async fn a_lease_of_a_node_that_died_expires() {
    let server = Redis::start();
    let short = Config {
        lease: Duration::from_secs(2),
        ..config(&server.url())
    };
    let (one, other) = (Node::with(short.clone()), Node::with(short));
    std::mem::forget(lead(&one).await);
    let found = other.lead().await;
    assert!(matches!(found, SharedTierLookup::Nothing), "{found:?}");
    lead(&other).await;
}

#[tokio::test]
async fn a_lease_that_another_has_taken_over_is_not_taken_from_it() {
    let server = Redis::start();
    let one = Node::new(&server.url());
    let lease = lead(&one).await;
    let name = "larder:https://shop.example/shoes?page=2#lease";
    server.ask(&["SET", name, "another's"]);
    drop(lease);
    // Answered after what the drop has sent on the same connection.
    assert!(one.bodies(b"anything").await.is_empty());
    assert!(one.bodies(b"anything").await.is_empty());
    assert_eq!(server.ask(&["GET", name]), "another's");
}

#[tokio::test]
async fn what_is_not_kept_gives_the_lease_back() {
    let server = Redis::start();
    let one = Node::new(&server.url());
    let lease = lead(&one).await;
    let worthless = page(&one, "hello").with(http::header::CACHE_CONTROL, "max-age=0");
    one.shared
        .keep(KEY, &Arc::new(worthless.done()), Some(lease));
    one.bodies(b"anything").await;
    one.bodies(b"anything").await;
    assert!(server.keys().is_empty());
}

/// A node that stops waits until then.
#[tokio::test]
async fn it_is_known_when_all_is_kept_and_given_back() {
    let (redis, memcached) = (Redis::start(), Memcached::start());
    for url in [redis.url(), memcached.url()] {
        let (one, other) = (Node::new(&url), Node::new(&url));
        one.shared.settled().await;
        drop(lead(&one).await);
        one.shared.settled().await;
        drop(lead(&other).await);
        other.shared.settled().await;
        assert_eq!(other.count().waits, 0, "{url}");
    }
    let (one, other) = (Node::new(&redis.url()), Node::new(&redis.url()));
    let lease = lead(&one).await;
    let large = vec![b'x'; 1 << 20];
    let page = Arc::new(page(&one, large.clone()).done());
    one.shared.keep(KEY, &page, Some(lease));
    one.shared.settled().await;
    assert!(other.bodies(KEY).await == [large]);
    let names = redis.keys();
    assert!(!names.iter().any(|name| name.ends_with("#lease")));
}

/// So nobody need wait for the rest.
#[tokio::test]
async fn the_head_tells_of_what_is_not_kept() {
    let server = Redis::start();
    let one = Node::with(Config {
        largest_body: 10,
        ..config(&server.url())
    });
    for (length, lifetime, is_kept) in [
        (10, "max-age=60", true),
        (11, "max-age=60", false),
        (10, "max-age=0", false),
    ] {
        let page = page(&one, "x".repeat(length)).with(http::header::CACHE_CONTROL, lifetime);
        let may = one.shared.may_keep(&page.done());
        assert_eq!(may, is_kept, "{length} bytes, {lifetime}");
    }
}

#[tokio::test]
async fn after_a_purge_one_leads_too() {
    let server = Redis::start();
    let one = Node::new(&server.url());
    one.keep(KEY, page(&one, "old").done()).await;
    one.purged(2);
    let lease = lead(&one).await;
    one.shared
        .keep(KEY, &Arc::new(page(&one, "new").done()), Some(lease));
    one.until("it was kept", |now| now.stored == 2).await;
    assert_eq!(one.bodies(KEY).await, [b"new"]);
}

#[tokio::test]
async fn one_validates_what_is_stale_and_the_others_get_what_it_brings() {
    let server = Redis::start();
    let (one, other) = (Node::new(&server.url()), Node::new(&server.url()));
    one.keep(KEY, page(&one, "old").done()).await;
    let old = other.find(KEY).await[0].facts.response_time;
    let SharedTierLookup::Lead(lease) = one.renew(old).await else {
        panic!("nobody else is at it");
    };
    let bring = async {
        other.until("it waited", |now| now.waits == 1).await;
        let mut new = page(&one, "new").done();
        new.facts.response_time = old.plus(Duration::from_secs(1));
        one.shared.keep(KEY, &Arc::new(new), Some(lease));
    };
    let (found, ()) = tokio::join!(other.renew(old), bring);
    let SharedTierLookup::Here(found) = found else {
        panic!("{found:?}")
    };
    assert_eq!(bytes(&found[0].body), b"new");
    let found = other.renew(old).await;
    assert!(
        matches!(found, SharedTierLookup::Here(_)),
        "it is there already"
    );
}
