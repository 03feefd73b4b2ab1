//! What is kept, how, and for how long.

use crate::support::{KEY, Node, bytes, config, in_language, page};
use bytes::Bytes;
use http::{HeaderMap, header};
use std::{sync::Arc, time::Duration};
use store::{
    Body, Parts,
    shared::{Config, IfNothing},
};
use testkit::Redis;

#[tokio::test]
async fn what_one_node_keeps_another_finds() {
    let server = Redis::start();
    let (one, other) = (Node::new(&server.url()), Node::new(&server.url()));
    let text = "<li>an item of a list</li>";
    let noise: Vec<u8> = (0..700_000u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    for (body, records) in [
        (Vec::new(), 1),
        (b"hello".to_vec(), 1),
        (text.repeat(2000).into_bytes(), 1),
        (text.repeat(100_000).into_bytes(), 11),
        (noise, 4),
    ] {
        server.ask(&["FLUSHALL"]);
        let length = body.len();
        one.keep(
            KEY,
            page(&one, body.clone()).with(header::ETAG, "\"1\"").done(),
        )
        .await;
        assert_eq!(server.keys().len(), records, "{length}");
        let found = other.find(KEY).await;
        assert!(other.bodies(KEY).await == [body], "{length}");
        let etag = found
            .first()
            .and_then(|stored| stored.fields.get(&header::ETAG));
        assert_eq!(
            etag.as_ref().map(http::HeaderValue::as_bytes),
            Some(&b"\"1\""[..])
        );
    }
    assert_eq!(other.count().malformed, 0);
}

#[tokio::test]
async fn a_hit_is_one_question() {
    let server = Redis::start();
    let node = Node::new(&server.url());
    node.keep(KEY, page(&node, "hello").done()).await;
    server.ask(&["CONFIG", "RESETSTAT"]);
    assert_eq!(node.bodies(KEY).await, [b"hello"]);
    let asked = server.ask(&["INFO", "commandstats"]);
    let asked: Vec<_> = asked
        .lines()
        .filter_map(|line| line.strip_prefix("cmdstat_"))
        .collect();
    let once = |line: &&str| line.starts_with("getrange:calls=1,");
    assert!(asked.iter().any(once), "{asked:?}");
}

#[tokio::test]
async fn names_are_read_by_people_and_their_keys_compared() {
    let server = Redis::start();
    let node = Node::new(&server.url());
    node.keep(KEY, page(&node, "hello").done()).await;
    let name = "larder:https://shop.example/shoes?page=2";
    assert_eq!(server.keys(), [name]);
    let long = [KEY, "&x=y".repeat(1000).as_bytes()].concat();
    node.keep(&long, page(&node, "long").done()).await;
    assert_eq!(node.bodies(&long).await, [b"long"]);

    server.ask(&["RENAME", name, "larder:https://shop.example/other"]);
    assert!(
        node.bodies(b"https://shop.example/other").await.is_empty(),
        "a page of another URL"
    );
    assert!(node.bodies(KEY).await.is_empty());
}

#[tokio::test]
async fn variants_lie_beside_each_other() {
    let server = Redis::start();
    let (one, other) = (Node::new(&server.url()), Node::new(&server.url()));
    let large: Vec<u8> = b"gross ".repeat(100_000);
    one.keep(KEY, page(&one, "hello").for_language("en").done())
        .await;
    other
        .keep(KEY, page(&other, large.clone()).for_language("de").done())
        .await;
    one.keep(KEY, page(&one, "bonjour").for_language("fr").done())
        .await;
    one.keep(KEY, page(&one, "hi").for_language("en").done())
        .await;
    let bodies = async |language| {
        let found = other.find_for(KEY, &in_language(language)).await;
        assert!(found.iter().all(|stored| stored.variant.is_some()));
        let mut bodies: Vec<_> = found.iter().map(|stored| bytes(&stored.body)).collect();
        bodies.sort();
        bodies
    };
    let small = [b"bonjour".to_vec(), b"hi".to_vec()];
    assert!(bodies("en").await == small, "what lies in the record");
    let all = [b"bonjour".to_vec(), large, b"hi".to_vec()];
    assert!(bodies("de").await == all, "and what is asked for");

    one.keep(KEY, page(&one, "for all").done()).await;
    assert_eq!(
        other.bodies(KEY).await,
        [b"for all"],
        "it answers any request"
    );
}

/// Whose body took longer than a newer response's comes too late, on whichever node.
#[tokio::test]
async fn what_comes_late_does_not_replace_what_is_newer() {
    let server = Redis::start();
    let (one, other) = (Node::new(&server.url()), Node::new(&server.url()));
    let ago = Duration::from_secs(5);
    let late = |node: &Node, body: &'static str| page(node, body).ago(ago);
    let large = || Bytes::from(b"old".repeat(1_000_000));

    one.keep(KEY, late(&one, "old").done()).await;
    other.keep(KEY, page(&other, "new").done()).await;
    for node in [&one, &other] {
        node.passes_over(KEY, late(node, "old").done()).await;
        let old = page(node, large()).ago(ago);
        node.passes_over(KEY, old.done()).await;
        let variant = late(node, "alt").for_language("de");
        node.passes_over(KEY, variant.done()).await;
    }
    assert_eq!(one.bodies(KEY).await, [b"new"]);

    // Of variants each has its own time, and what answers all is not put in the place of a newer one.
    server.ask(&["FLUSHALL"]);
    let german = page(&one, "neu").for_language("de");
    one.keep(KEY, german.done()).await;
    other
        .keep(KEY, late(&other, "hello").for_language("en").done())
        .await;
    let old = late(&other, "alt").for_language("de");
    other.passes_over(KEY, old.done()).await;
    other.passes_over(KEY, late(&other, "all").done()).await;
    let request = in_language("de");
    let found = other.find_for(KEY, &request).await;
    let mut bodies: Vec<_> = found.iter().map(|stored| bytes(&stored.body)).collect();
    bodies.sort();
    assert_eq!(bodies, [b"hello".to_vec(), b"neu".to_vec()]);
}

/// What is newer and not kept itself, being too large, leaves nothing that it supersedes, and others where they are.
#[tokio::test]
async fn what_is_not_kept_displaces_what_it_supersedes() {
    let server = Redis::start();
    let (one, other) = (Node::new(&server.url()), Node::new(&server.url()));
    let ago = Duration::from_secs(5);
    let large = || Bytes::from(b"x".repeat(9 << 20));
    // The clock of the node that kept the second was ahead.
    for old in [page(&one, "old").ago(ago), page(&one, "old").ahead(ago)] {
        one.keep(KEY, old.done()).await;
        other.passes_over(KEY, page(&other, large()).done()).await;
        let goes = async {
            while !one.bodies(KEY).await.is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(testkit::BOUND, goes)
            .await
            .expect("it goes");
    }

    for language in ["de", "en"] {
        let old = page(&one, language).for_language(language).ago(ago);
        one.keep(KEY, old.done()).await;
    }
    let german = page(&other, large()).for_language("de");
    other.passes_over(KEY, german.done()).await;
    other.until("one is left", |now| now.passed_over == 3).await;
    let left = async || {
        let found = one.find_for(KEY, &in_language("en")).await;
        found
            .iter()
            .map(|stored| bytes(&stored.body))
            .collect::<Vec<_>>()
    };
    let waited = async {
        while left().await.len() > 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(testkit::BOUND, waited)
        .await
        .expect("it goes");
    assert_eq!(left().await, [b"en"]);
}

/// A page of errors leaves out the `Vary` of what it stands for, and takes nothing from it, be that large and apart or
/// small and beside.
#[tokio::test]
async fn a_failure_for_all_stands_beside_variants() {
    let server = Redis::start();
    let (one, other) = (Node::new(&server.url()), Node::new(&server.url()));
    let large: Vec<u8> = b"gross ".repeat(100_000);
    let german = page(&one, large.clone()).for_language("de");
    one.keep(KEY, german.done()).await;
    let french = page(&one, "bonjour").for_language("fr");
    one.keep(KEY, french.done()).await;
    other
        .keep(KEY, page(&other, "error").failing().done())
        .await;
    for (language, body) in [("de", large.clone()), ("fr", b"bonjour".to_vec())] {
        let found = one.find_for(KEY, &in_language(language)).await;
        assert!(
            found.iter().any(|stored| bytes(&stored.body) == body),
            "{language}"
        );
    }
    let found = one.find_for(KEY, &in_language("it")).await;
    assert!(found.iter().any(|stored| bytes(&stored.body) == b"error"));
    // What is not a failure is for all of them.
    other.keep(KEY, page(&other, "for all").done()).await;
    assert_eq!(one.bodies(KEY).await, [b"for all"]);
}

#[tokio::test]
async fn of_large_variants_only_the_one_that_answers_is_read() {
    let server = Redis::start();
    let (one, other) = (Node::new(&server.url()), Node::new(&server.url()));
    let languages = ["de", "en", "fr", "it"];
    for language in languages {
        let stored = page(&one, language.repeat(500_000)).for_language(language);
        one.keep(KEY, stored.done()).await;
    }
    for language in languages {
        server.ask(&["CONFIG", "RESETSTAT"]);
        let found = other.find_for(KEY, &in_language(language)).await;
        let bodies: Vec<_> = found.iter().map(|stored| bytes(&stored.body)).collect();
        assert!(bodies == [language.repeat(500_000).into_bytes()]);
        let asked = server.ask(&["INFO", "commandstats"]);
        let asked: Vec<_> = asked.lines().collect();
        // The record, and the pieces of one body.
        let all = |line: &&str| line.starts_with("cmdstat_getrange:calls=5,");
        assert!(asked.iter().any(all), "{asked:?}");
    }
    let found = other.find_for(KEY, &in_language("pl")).await;
    assert!(found.is_empty(), "nobody's language");
}

#[tokio::test]
async fn parts_come_back_as_parts() {
    let server = Redis::start();
    let node = Node::new(&server.url());
    let part = |first, text: &'static str| {
        Parts::new(1_000_000, first, Bytes::from_static(text.as_bytes()))
    };
    let parts = part(10, "ten").combined(&part(500, "five hundred"), u64::MAX);
    let mut sent = page(&node, "");
    sent.body = Body::Parts(Arc::new(parts));
    node.keep(KEY, sent.done()).await;
    let found = node.find(KEY).await;
    let Body::Parts(parts) = &found.first().expect("found").body else {
        panic!("{found:?}");
    };
    assert_eq!(parts.length, 1_000_000);
    let spans: Vec<_> = parts
        .spans()
        .iter()
        .map(|span| (span.first, span.last))
        .collect();
    assert_eq!(spans, [(10, 12), (500, 511)]);
}

#[tokio::test]
async fn the_server_forgets_what_is_worth_nothing_any_more() {
    let server = Redis::start();
    let node = Node::with(Config {
        max_ttl: Duration::from_mins(100),
        ..config(&server.url())
    });
    for (directives, etag, least, most) in [
        ("max-age=60", None, 50, 60),
        ("max-age=60, stale-while-revalidate=100", None, 150, 160),
        (
            "max-age=60, stale-while-revalidate=10, stale-if-error=300",
            None,
            350,
            360,
        ),
        ("max-age=60", Some("\"1\""), 3650, 3660),
        ("no-cache", Some("\"1\""), 3590, 3600),
        ("max-age=100000", None, 5990, 6000),
    ] {
        let mut page = page(&node, "hello").with(header::CACHE_CONTROL, directives);
        if let Some(etag) = etag {
            page = page.with(header::ETAG, etag);
        }
        node.keep(KEY, page.done()).await;
        let name = server.keys().pop().expect("a key");
        let left: i64 = server.ask(&["TTL", &name]).parse().expect("a number");
        assert!((least..=most).contains(&left), "{directives}: {left}");
    }
}

#[tokio::test]
async fn what_is_not_worth_the_way_is_not_written() {
    let server = Redis::start();
    let node = Node::with(Config {
        largest_body: 1000,
        ..config(&server.url())
    });
    let control = header::CACHE_CONTROL;
    node.passes_over(
        KEY,
        page(&node, "hello")
            .with(control.clone(), "max-age=0")
            .done(),
    )
    .await;
    node.passes_over(KEY, page(&node, "hello").with(header::AGE, "60").done())
        .await;
    node.passes_over(KEY, page(&node, vec![0; 1001]).done())
        .await;
    let fetched_before = page(&node, "old").done();
    node.purged(2);
    node.passes_over(KEY, fetched_before).await;
    let unread = Node::with(config(&server.url()));
    let mut before = page(&unread, "hello");
    before.began = 0;
    unread.passes_over(KEY, before.done()).await;
    assert!(server.keys().is_empty());
}

#[tokio::test]
async fn purges_hold_wherever_it_was_kept() {
    let server = Redis::start();
    let (one, other) = (Node::new(&server.url()), Node::new(&server.url()));
    other.log.apply(
        store::purge::Purge::hard(store::purge::What::Tags(vec!["x".to_owned()])),
        crate::support::now(),
        None,
    );
    one.keep(KEY, page(&one, "old").done()).await;
    assert_eq!(
        other.bodies(KEY).await,
        [b"old"],
        "numbers are each node's own"
    );
    other.purged(5);
    assert!(other.bodies(KEY).await.is_empty());
    assert_eq!(
        one.bodies(KEY).await,
        [b"old"],
        "it has not heard of it yet"
    );
    one.purged(5);
    assert!(one.bodies(KEY).await.is_empty());

    one.keep(KEY, page(&one, "new").done()).await;
    let found = other.find(KEY).await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].checked(), other.log.head());
    let late = Node::with(config(&server.url()));
    late.log.begin_at(store::purge::Position(1, 0));
    assert_eq!(
        late.bodies(KEY).await,
        [b"new"],
        "it has read nothing that would cover it"
    );
}

#[tokio::test]
async fn a_node_whose_log_begins_later_does_not_use_what_it_cannot_judge() {
    let server = Redis::start();
    let one = Node::new(&server.url());
    one.keep(KEY, page(&one, "old").done()).await;
    let log = Arc::new(store::purge::Log::default());
    let memory = Arc::new(store::Memory::new(64 << 20, Arc::clone(&log)));
    let shared = store::shared::SharedTier::new(config(&server.url()), memory).expect("an address");
    let request = HeaderMap::new();
    let finds_nothing = async || {
        let mut question = shared.question(KEY, &request);
        let found = shared.find(&mut question, IfNothing::Leave).await;
        matches!(found, store::shared::SharedTierLookup::Nothing)
    };
    assert!(finds_nothing().await, "no log at all");
    log.begin_at(store::purge::Position(9, 0));
    assert!(finds_nothing().await, "a log from later on");
}
