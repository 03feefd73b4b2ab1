//! Whatever happens to the server, the request goes on, and what is answered is right.

use crate::support::{KEY, Node, Stall, page};
use std::{sync::Arc, time::Duration};
use store::shared::{Event, SharedTierLookup, remote::Kind};
use testkit::{Memcached, Redis};

const NAME: &str = "larder:https://shop.example/shoes?page=2";

/// Asks until the breaker has opened; nothing is found meanwhile.
async fn asked_until_down(node: &Node) {
    while node.count().openings == 0 {
        let found = node.lead().await;
        assert!(matches!(found, SharedTierLookup::Nothing), "{found:?}");
    }
}

/// Asks until something is found, and says what.
async fn asked_until_there(node: &Node, key: &[u8]) -> Vec<Vec<u8>> {
    let found = async {
        loop {
            let bodies = node.bodies(key).await;
            if !bodies.is_empty() {
                return bodies;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let found = tokio::time::timeout(testkit::BOUND, found).await;
    found.unwrap_or_else(|_| panic!("{:?}", node.count()))
}

async fn asked_until_found(node: &Node) {
    assert_eq!(asked_until_there(node, KEY).await, [b"hello"]);
}

fn errors(node: &Node, kind: Kind) -> u64 {
    let errors = node.count().errors;
    errors
        .iter()
        .filter(|(known, _)| *known == kind)
        .map(|(_, count)| count)
        .sum()
}

#[tokio::test]
async fn a_server_that_hangs_is_left_alone_and_found_again() {
    let server = Redis::start();
    let (patient, node) = (Node::new(&server.url()), Node::hasty(&server.url()));
    patient.keep(KEY, page(&patient, "hello").done()).await;
    asked_until_found(&node).await;
    server.pause();
    asked_until_down(&node).await;
    assert_eq!(errors(&node, Kind::Timeout), 3);
    let before = node.count();
    for _ in 0..1000 {
        node.lead().await;
    }
    let after = node.count();
    assert!(after.not_asked - before.not_asked >= 990, "{after:?}");
    server.resume();
    asked_until_found(&node).await;
    assert!(
        matches!(&node.events()[..], [Event::Down(error), Event::Up] if error.kind == Kind::Timeout),
        "{:?}",
        node.events()
    );
    assert!(!node.count().open);
}

/// Half an answer, then nothing: the rest must never be taken for another answer, on the same connection or a new one.
#[tokio::test]
async fn a_server_that_hangs_in_the_middle_of_an_answer_confuses_nobody() {
    let server = Redis::start();
    let direct = Node::new(&server.url());
    let keys: Vec<_> = (0..20)
        .map(|number| format!("http://a.example/{number}"))
        .collect();
    for key in &keys {
        direct
            .keep(key.as_bytes(), page(&direct, key.repeat(100)).done())
            .await;
    }
    // One time-out keeps the connection, three in a row make a new one.
    for time_outs in [1, 3] {
        let stall = Stall::before(server.address());
        let node = Node::hasty(&stall.url);
        asked_until_there(&node, keys[0].as_bytes()).await;
        stall.arm();
        for key in &keys[..time_outs] {
            assert!(node.bodies(key.as_bytes()).await.is_empty());
        }
        stall.gate.wait_reached();
        stall.gate.open();
        for key in &keys {
            assert_eq!(
                asked_until_there(&node, key.as_bytes()).await,
                [key.repeat(100).as_bytes()]
            );
        }
        assert_eq!(node.count().malformed, 0);
    }
}

#[tokio::test]
async fn a_server_that_is_paused_by_its_operator_is_found_again() {
    let server = Redis::start();
    let (patient, node) = (Node::new(&server.url()), Node::hasty(&server.url()));
    patient.keep(KEY, page(&patient, "hello").done()).await;
    asked_until_found(&node).await;
    server.ask(&["CLIENT", "PAUSE", "6000", "ALL"]);
    asked_until_down(&node).await;
    asked_until_found(&node).await;
}

#[tokio::test]
async fn a_server_that_dies_is_left_alone_and_found_again_when_it_is_back() {
    let mut server = Redis::start();
    let node = Node::new(&server.url());
    node.keep(KEY, page(&node, "hello").done()).await;
    server.kill();
    asked_until_down(&node).await;
    // The first one learns that the connection is gone.
    assert!(errors(&node, Kind::Closed) + errors(&node, Kind::Unreachable) >= 3);
    server.restart();
    node.until("it was asked again", |_| {
        node.events().contains(&Event::Up) || {
            node.shared
                .keep(KEY, &Arc::new(page(&node, "hello").done()), None);
            false
        }
    })
    .await;
    asked_until_found(&node).await;
}

#[tokio::test]
async fn a_server_that_was_never_there_costs_nothing() {
    let mut server = Redis::start();
    server.kill();
    let node = Node::new(&server.url());
    asked_until_down(&node).await;
    node.shared
        .keep(KEY, &Arc::new(page(&node, "hello").done()), None);
    assert!(matches!(&node.events()[..], [Event::Down(error)] if error.kind == Kind::Unreachable));
}

#[tokio::test]
async fn a_wrong_password_is_told_without_the_password() {
    let server = Redis::with(&["--requirepass", "secret"]);
    let node = Node::new(&format!("redis://:wrong@{}", server.address()));
    asked_until_down(&node).await;
    let events = node.events();
    let [Event::Down(error)] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(error.kind, Kind::Refused);
    assert!(error.to_string().contains("authentication"), "{error}");
    assert!(!error.to_string().contains("wrong@"), "{error}");
}

#[tokio::test]
async fn something_else_under_our_key_is_nothing_and_is_replaced() {
    let server = Redis::start();
    let node = Node::new(&server.url());
    for command in [["LPUSH", NAME, "x"], ["SET", NAME, "x"]] {
        server.ask(&["DEL", NAME]);
        server.ask(&command);
        for _ in 0..5 {
            assert!(node.bodies(KEY).await.is_empty());
        }
        node.keep(KEY, page(&node, "hello").done()).await;
        assert_eq!(node.bodies(KEY).await, [b"hello"]);
    }
    assert_eq!(
        (errors(&node, Kind::WrongType), node.count().malformed),
        // Whoever writes looks too.
        (6, 5)
    );
    assert!(
        matches!(&node.events()[..], [Event::HoldsSomethingElse(_)]),
        "told of once"
    );
}

#[tokio::test]
async fn a_full_server_still_answers() {
    let server = Redis::start();
    let node = Node::new(&server.url());
    node.keep(KEY, page(&node, "hello").done()).await;
    server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    for count in 1..5 {
        node.shared
            .keep(b"other", &Arc::new(page(&node, "other").done()), None);
        node.until("it was refused", |_| errors(&node, Kind::Full) == count)
            .await;
        assert_eq!(node.bodies(KEY).await, [b"hello"]);
    }
    assert!(
        matches!(&node.events()[..], [Event::TakesNoWrites(_)]),
        "{:?}",
        node.events()
    );
    server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    node.keep(b"other", page(&node, "other").done()).await;
    assert!(matches!(&node.events()[..], [_, Event::TakesWrites]));
}

#[tokio::test]
async fn a_body_whose_chunks_are_not_all_there_is_nothing() {
    let server = Redis::start();
    let node = Node::new(&server.url());
    let body: Vec<u8> = (0..600_000u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 7) as u8)
        .collect();
    let keep = async || node.keep(KEY, page(&node, body.clone()).done()).await;
    keep().await;
    let chunks: Vec<_> = server
        .keys()
        .into_iter()
        .filter(|key| key != NAME)
        .collect();
    assert_eq!(chunks.len(), 3, "{chunks:?}");
    assert!(node.bodies(KEY).await == [&body[..]]);
    for spoil in [
        vec!["DEL", &chunks[1]],
        vec!["APPEND", &chunks[1], "x"],
        vec!["SETRANGE", &chunks[1], "1000", "x"],
        vec!["COPY", &chunks[0], &chunks[1], "REPLACE"],
        vec!["FLUSHALL"],
    ] {
        server.ask(&["COPY", &chunks[1], "kept", "REPLACE"]);
        server.ask(&spoil);
        assert!(node.bodies(KEY).await.is_empty(), "{spoil:?}");
        server.ask(&["COPY", "kept", &chunks[1], "REPLACE"]);
    }
}

#[tokio::test]
async fn a_flipped_bit_or_a_cut_is_never_answered() {
    let server = Redis::start();
    let node = Node::new(&server.url());
    node.keep(KEY, page(&node, "hello").done()).await;
    let length: usize = server.ask(&["STRLEN", NAME]).parse().expect("a number");
    server.ask(&["RENAME", NAME, "good"]);
    for at in 0..length {
        server.ask(&["COPY", "good", NAME, "REPLACE"]);
        let (bit, at) = ((at * 8 + at % 8).to_string(), at);
        let was = server.ask(&["GETBIT", NAME, &bit]);
        server.ask(&["SETBIT", NAME, &bit, if was == "1" { "0" } else { "1" }]);
        assert!(node.bodies(KEY).await.is_empty(), "flipped at {at}");
    }
    server.ask(&["COPY", "good", NAME, "REPLACE"]);
    assert_eq!(node.bodies(KEY).await, [b"hello"]);
}

/// All at once, and more than open a breaker: the others are asked on.
#[tokio::test]
async fn of_several_servers_one_that_dies_is_told_of_once_and_the_others_are_asked_on() {
    let mut servers = [Memcached::start(), Memcached::start(), Memcached::start()];
    let addresses: Vec<_> = servers.iter().map(Memcached::address).collect();
    let node = Arc::new(Node::new(&format!("memcached://{}", addresses.join(","))));
    let keys: Vec<_> = (0..24).map(|n| format!("http://a.example/{n}")).collect();
    for key in &keys {
        // What was fetched within a second of a start is not used.
        while node.bodies(key.as_bytes()).await.is_empty() {
            node.keep(key.as_bytes(), page(&node, key.clone()).done())
                .await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    servers[1].kill();
    let mut asked = tokio::task::JoinSet::new();
    for (number, key) in keys.iter().cycle().take(4 * keys.len()).enumerate() {
        let (node, key) = (Arc::clone(&node), key.clone());
        asked.spawn(async move { (number % 24, node.bodies(key.as_bytes()).await.len()) });
    }
    let mut found = [0; 24];
    while let Some(answer) = asked.join_next().await {
        let (key, count) = answer.expect("no panic");
        found[key] += count;
    }
    assert!(
        found.iter().all(|count| [0, 4].contains(count)),
        "{found:?}"
    );
    assert!(found.contains(&0), "one of three had none of two dozen");
    assert!(found.contains(&4), "the others were not asked");
    assert_eq!(node.count().openings, 0);
    assert!(
        matches!(&node.events()[..], [Event::OneDown(_)]),
        "{:?}",
        node.events()
    );
    servers[1].restart();
    node.until("all were up", |_| {
        for key in &keys {
            let page = Arc::new(page(&node, key.clone()).done());
            node.shared.keep(key.as_bytes(), &page, None);
        }
        matches!(&node.events()[..], [Event::OneDown(_), Event::AllUp])
    })
    .await;
}
