//! Nodes that are cut off, and servers that lose what they had.

use super::*;

/// Short, so that these tests do not wait for long.
const SHORT: Duration = Duration::from_millis(400);

const OTHER: &[u8] = b"http://a.example/other";

/// A node behind a proxy that can be cut, and one that is not cut off.
async fn two(redis: &Redis) -> (Node, Proxy, Node) {
    let proxy = Proxy::to(redis.socket());
    let mut far = Node::start(&proxy.url(), "far", SHORT);
    let mut near = Node::start(&redis.url(), "near", SHORT);
    far.following().await;
    near.following().await;
    (far, proxy, near)
}

#[tokio::test]
async fn a_node_that_is_cut_off_catches_up_before_it_uses_what_it_keeps() {
    let redis = Redis::start().await;
    let (mut far, proxy, near) = two(&redis).await;
    let (page, other) = (far.keep(KEY), far.keep(OTHER));
    proxy.cut();
    let (_, position) = near.publish(vec![of("page")]).await.expect("reachable");
    let behind = near.stream.everywhere(position, Duration::ZERO).await;
    assert!(behind.is_empty() || behind == ["far"], "{behind:?}");
    let behind = near.stream.everywhere(position, SHORT).await;
    assert_eq!(behind, ["far"]);
    far.until(|event| *event == Event::Distrusted).await;
    let meanwhile = far.keep(b"http://a.example/new");
    assert_eq!(far.standing(KEY, &page), Standing::Unsure);
    assert_eq!(far.standing(OTHER, &other), Standing::Unsure);
    assert_eq!(
        far.standing(b"http://a.example/new", &meanwhile),
        Standing::Unsure
    );
    assert!(far.publish(vec![of("x")]).await.is_err());
    proxy.mend();
    let before = far.following().await;
    assert!(
        !before.iter().any(|event| matches!(event, Event::Forgot(_))),
        "{before:?}"
    );
    assert_eq!(far.standing(KEY, &page), Standing::Gone);
    assert_eq!(far.standing(OTHER, &other), Standing::Good);
    assert_eq!(
        far.standing(b"http://a.example/new", &meanwhile),
        Standing::Good
    );
    assert!(near.stream.everywhere(position, BROKEN).await.is_empty());
}

/// As after a stopped process or a suspended machine: the wall clock has advanced more than the process's own clock.
#[tokio::test]
async fn a_node_that_slept_trusts_nothing_until_it_has_read_on() {
    let redis = Redis::start().await;
    let mut node = Node::start(&redis.url(), "node", TRUST);
    node.following().await;
    let log = node.memory.log();
    let awakes = async {
        while !log.is_unsure() {
            log.wake(Time::from_millis(u64::MAX - 1));
        }
        while log.is_unsure() {
            tokio::task::yield_now().await;
        }
    };
    timeout(BROKEN, awakes).await.expect("it reads on");
}

#[tokio::test]
async fn what_was_trimmed_before_it_was_read_may_have_purged_anything() {
    let redis = Redis::start().await;
    let (mut far, proxy, near) = two(&redis).await;
    let page = far.keep(KEY);
    proxy.cut();
    for name in ["page", "two", "three"] {
        near.publish(vec![of(name)]).await.expect("reachable");
    }
    redis.ask(&["XTRIM", "test:purges", "MAXLEN", "1"]).await;
    proxy.mend();
    assert_eq!(far.forgot().await, Missed::Trimmed);
    far.following().await;
    assert_eq!(far.standing(KEY, &page), Standing::Gone);
    let next = far.keep(KEY);
    assert_eq!(far.standing(KEY, &next), Standing::Good);
}

#[tokio::test]
async fn a_server_that_is_flushed_is_noticed() {
    let redis = Redis::start().await;
    let (mut far, _proxy, mut near) = two(&redis).await;
    let page = far.keep(KEY);
    redis.ask(&["FLUSHALL"]).await;
    for node in [&mut far, &mut near] {
        node.forgot_as_deleted().await;
        node.following().await;
    }
    assert_eq!(far.standing(KEY, &page), Standing::Gone);
    let (_, position) = near.publish(vec![of("page")]).await.expect("reachable");
    assert!(near.stream.everywhere(position, BROKEN).await.is_empty());
}

#[tokio::test]
async fn a_server_that_restarts_empty_is_noticed() {
    let mut redis = Redis::start().await;
    let (mut far, _proxy, mut near) = two(&redis).await;
    let page = near.keep(KEY);
    redis.fall().await;
    near.until(|event| matches!(event, Event::Lost(_))).await;
    assert!(near.publish(vec![of("page")]).await.is_err());
    near.until(|event| *event == Event::Distrusted).await;
    assert_eq!(near.standing(KEY, &page), Standing::Unsure);
    redis.rise().await;
    for node in [&mut far, &mut near] {
        node.forgot_as_deleted().await;
        node.following().await;
    }
    assert_eq!(near.standing(KEY, &page), Standing::Gone);
}

#[tokio::test]
async fn a_server_that_restarts_with_everything_is_followed_on() {
    let mut redis = Redis::with(&[
        "--save",
        "",
        "--appendonly",
        "yes",
        "--appendfsync",
        "always",
    ])
    .await;
    let (far, _proxy, mut near) = two(&redis).await;
    let (page, other) = (near.keep(KEY), near.keep(OTHER));
    near.publish(vec![of("page")]).await.expect("reachable");
    redis.fall().await;
    near.until(|event| matches!(event, Event::Lost(_))).await;
    near.stream.tell(of("told"), Time::from_secs(1));
    let told = far.keep(b"http://a.example/told");
    redis.rise().await;
    let before = near.following().await;
    assert!(
        !before.iter().any(|event| matches!(event, Event::Forgot(_))),
        "{before:?}"
    );
    assert_eq!(near.standing(KEY, &page), Standing::Gone);
    assert_eq!(near.standing(OTHER, &other), Standing::Good);
    let delivered = async {
        while far.standing(b"http://a.example/told", &told) != Standing::Gone {
            // Each publication waits for the stream to be read.
            let _ = far.publish(vec![of("x")]).await;
        }
    };
    timeout(BROKEN, delivered)
        .await
        .expect("what was told while it was down is delivered");
}

#[tokio::test]
async fn a_server_that_went_back_in_time_purges_everything_everywhere() {
    let mut redis = Redis::start().await;
    let (mut far, proxy, mut near) = two(&redis).await;
    let page = far.keep(KEY);
    redis.ask(&["SAVE"]).await;
    proxy.cut();
    let (_, lost) = near.publish(vec![of("page")]).await.expect("reachable");
    redis.fall().await;
    redis.rise().await;
    assert_eq!(near.forgot().await, Missed::WentBack);
    near.following().await;
    proxy.mend();
    // It never saw the purge, and lost nothing that it knew: the purge of everything reaches it.
    far.following().await;
    assert!(near.memory.log().position() > Some(lost));
    assert_eq!(far.standing(KEY, &page), Standing::Gone);
}

/// It goes on as before until it notices, or trusts nothing any more.
#[tokio::test]
async fn a_node_is_waited_for_whose_last_word_the_server_has_lost() {
    let redis = Redis::start().await;
    let (_far, proxy, near) = two(&redis).await;
    let old = ["HSET", "test:nodes", "far", "5-1 77 400"];
    for forget in [&["DEL", "test:nodes"][..], &old] {
        proxy.mend();
        let (_, position) = near.publish(vec![of("page")]).await.expect("reachable");
        assert!(near.stream.everywhere(position, BROKEN).await.is_empty());
        proxy.cut();
        redis.ask(forget).await;
        let (_, position) = near.publish(vec![of("page")]).await.expect("reachable");
        let behind = near.stream.everywhere(position, SHORT).await;
        assert_eq!(behind, ["far"], "{forget:?}");
    }
}

#[tokio::test]
async fn a_connection_that_is_killed_is_made_anew() {
    let redis = Redis::start().await;
    let (mut far, _proxy, near) = two(&redis).await;
    let page = far.keep(KEY);
    redis.ask(&["CLIENT", "KILL", "TYPE", "normal"]).await;
    far.until(|event| matches!(event, Event::Lost(_))).await;
    far.following().await;
    let published = async {
        loop {
            if let Ok((_, position)) = near.publish(vec![of("page")]).await {
                return position;
            }
        }
    };
    let position = timeout(BROKEN, published).await.expect("a new connection");
    assert!(near.stream.everywhere(position, BROKEN).await.is_empty());
    assert_eq!(far.standing(KEY, &page), Standing::Gone);
}

/// Nobody would notice for half of `trust`.
#[tokio::test]
async fn a_connection_that_is_lost_in_silence_is_waited_over_once() {
    let redis = Redis::start().await;
    let proxy = Proxy::to(redis.socket());
    let mut near = Node::start(&redis.url(), "near", TRUST);
    near.following().await;
    let mut far = Node::start(&proxy.url(), "far", Duration::from_hours(1));
    far.following().await;
    let (_, position) = far.publish(vec![of("page")]).await.expect("reachable");
    assert!(far.stream.everywhere(position, BROKEN).await.is_empty());
    proxy.lose();
    assert_eq!(far.stream.everywhere(position, SHORT).await, ["near"]);
    assert!(far.stream.everywhere(position, BROKEN).await.is_empty());
}

/// The purges are sent twice then. What was read back of the first attempt says nothing about the second.
#[tokio::test]
async fn a_connection_that_ends_before_its_answer_refuses_no_purge() {
    let redis = Redis::start().await;
    let proxy = Proxy::to(redis.socket());
    let mut near = Node::start(&redis.url(), "near", TRUST);
    near.following().await;
    let mut far = Node::start(&proxy.url(), "far", TRUST);
    far.following().await;
    let (_, before) = far.publish(vec![of("page")]).await.expect("reachable");
    proxy.end_newest();
    let purges = vec![of("page"), of("two")];
    let (done, position) = far.publish(purges.clone()).await.expect("reachable");
    assert_eq!(done.len(), 2);
    let shared = far.journal.shared();
    let (positions, sent): (Vec<_>, Vec<_>) = shared
        .into_iter()
        .filter(|(position, _)| *position > before)
        .unzip();
    assert_eq!(sent, [purges.clone(), purges].concat());
    assert_eq!(positions.last(), Some(&position), "the second time's");
    assert!(far.stream.everywhere(position, BROKEN).await.is_empty());
}

#[tokio::test]
async fn without_a_server_nothing_is_trusted_and_nothing_purged() {
    let mut redis = Redis::start().await;
    let url = redis.url();
    redis.fall().await;
    let mut node = Node::start(&url, "a", SHORT);
    node.until(|event| matches!(event, Event::Lost(_))).await;
    assert!(node.memory.log().is_unsure());
    assert_eq!(
        node.publish(vec![of("page")]).await.err(),
        Some(Unreachable::Refused)
    );
    assert!(
        node.stream
            .everywhere(Position(1, 1), SHORT)
            .await
            .is_empty()
    );
}

/// The whole stream is never there in time, nor is half of it.
#[tokio::test]
async fn a_node_behind_a_slow_line_follows_a_long_stream() {
    let redis = Redis::start().await;
    let mut a = Node::start(&redis.url(), "a", TRUST);
    a.following().await;
    let mut last = Position::default();
    for number in 0..40 {
        let tag = format!("{number:04}").repeat(25_000);
        let tags = Purge::hard(What::Tags(vec![tag]));
        (_, last) = a.publish(vec![tags]).await.expect("reachable");
    }
    let proxy = Proxy::to(redis.socket());
    proxy.shorten(1 << 20);
    let mut b = Node::start(&proxy.url(), "b", SHORT);
    b.following().await;
    assert_eq!(b.memory.log().position(), Some(last));
}

/// Others wait for a node until it no longer trusts what it keeps, so what it says must not seem to be older than it is.
#[tokio::test]
async fn what_a_node_says_has_no_earlier_time_because_the_time_came_late() {
    let redis = testkit::Redis::start();
    let time = || {
        let said = redis.ask(&["TIME"]);
        let said = said.lines().map(str::parse::<u64>);
        let parts: Vec<_> = said.map(|part| part.expect("a number")).collect();
        parts[0] * 1000 + parts[1] / 1000
    };
    let link = testkit::Link::to(&redis.address());
    let url = format!("redis://{}", link.address());
    let mut node = Node::start(&url, "late", TRUST);
    node.following().await;
    link.hold_answers_from("TIME");
    testkit::wait_until("the node asked what time it is", || link.holds_answers());
    let asked = time();
    testkit::wait_until("it is later", || time() > asked + 500);
    let said = || redis.ask(&["HGET", "test:nodes", "late"]);
    let (before, mended) = (said(), time());
    link.mend();
    testkit::wait_until("the node said how far it is", || said() != before);
    let said = heartbeat::Heartbeat::parse(said().trim()).expect("as a node says it");
    assert!(said.at >= mended, "{} is before {mended}", said.at);
}
