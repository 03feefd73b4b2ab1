//! Answers that are waited for: framed in every way, and told from each other; clients that ask more, or leave, meanwhile.

use crate::{
    frames::{Script, Step},
    site::{LARGE, SOON, Site, quick},
};
use proptest::prelude::*;
use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};
use testkit::{BOUND, Client, Response};

pub fn ask(method: &str, target: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nHost: a\r\n\r\n")
}

fn old(target: &str, connection: &str) -> String {
    format!("GET {target} HTTP/1.0\r\nConnection: {connection}\r\n\r\n")
}

/// Pieces that are copied, pieces that are not, empty ones, and pauses.
pub fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..40usize).prop_map(Step::Bytes),
        2 => (2_000..2_100usize).prop_map(Step::Bytes),
        1 => (0..70_000usize).prop_map(Step::Bytes),
        2 => Just(Step::Pause),
    ]
}

pub fn script(tag: usize) -> impl Strategy<Value = Script> {
    let steps = proptest::collection::vec(step(), 0..12);
    let all = (any::<bool>(), steps, any::<bool>());
    all.prop_map(move |(is_known, mut steps, has_trailers)| {
        steps.extend(has_trailers.then_some(Step::Trailers));
        Script::new(tag, is_known, steps)
    })
}

/// Whether this is all of what was asked for.
fn is_answer(response: &Response, script: &Script) -> bool {
    response.complete && response.status == script.status && response.body == script.content()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn content_arrives_as_it_is(script in script(1)) {
        let site = Site::plain();
        let target = script.target();
        let mut client = site.client();
        for _ in 0..2 {
            client.send(ask("GET", &target));
            let response = client.read();
            prop_assert!(is_answer(&response, &script));
            let frames = (response.header("content-length"), response.header("transfer-encoding"));
            let length = script.length().to_string();
            let expected = if script.is_known {
                (Some(length.as_str()), None)
            } else {
                (None, Some("chunked"))
            };
            prop_assert_eq!(frames, expected);
            prop_assert!(response.trailers.is_empty());
        }
        client.send(old(&target, "keep-alive"));
        let response = client.read();
        prop_assert!(is_answer(&response, &script));
        let stays = script.is_known.then_some("keep-alive");
        prop_assert_eq!(response.header("connection"), stays);
        prop_assert_eq!(response.header("transfer-encoding"), None);
        if script.is_known {
            client.send(old(&target, "close"));
            prop_assert!(is_answer(&client.read(), &script));
        }
        prop_assert_eq!(client.read_to_end(), b"");
    }

    #[test]
    fn content_that_breaks_off_is_seen_to(
        mut steps in proptest::collection::vec(step(), 0..6),
        is_known in any::<bool>(),
    ) {
        let site = Site::plain();
        steps.push(Step::Break);
        let script = Script::new(1, is_known, steps);
        let mut client = site.client();
        client.send(ask("GET", &script.target()) + &ask("GET", "/next"));
        let response = client.read();
        prop_assert!(!response.complete);
        prop_assert_eq!(&response.body, &script.content());
        prop_assert_eq!(client.read_to_end(), b"");
    }
}

#[test]
fn content_that_ends_with_the_connection_and_breaks_off_is_reset() {
    let site = Site::plain();
    let script = Script::new(1, false, [Step::Bytes(9), Step::Break]);
    for request in old_requests(&script) {
        let mut client = TcpStream::connect(site.address()).unwrap();
        client.set_read_timeout(Some(BOUND)).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        assert_reset(&mut client, &request);
    }
}

/// The same, where it is we who break it off.
#[test]
fn content_that_ends_with_the_connection_is_reset_at_the_end_of_a_drain() {
    let script = Script::new(1, false, [Step::Bytes(9), Step::Wait]);
    for request in old_requests(&script) {
        let mut site = Site::plain();
        let mut client = TcpStream::connect(site.address()).unwrap();
        client.set_read_timeout(Some(BOUND)).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        client.read_exact(&mut [0; 9]).unwrap();
        site.switch.start(Duration::from_millis(20));
        site.join();
        assert_reset(&mut client, &request);
    }
}

/// What ends whole is not reset, whoever reads it and however it is framed.
#[test]
fn content_that_ends_with_the_connection_ends_with_it() {
    let site = Site::plain();
    let script = Script::new(1, false, [Step::Bytes(9), Step::Pause, Step::Bytes(9)]);
    for request in old_requests(&script) {
        let mut client = site.client();
        client.send(&request);
        let answer = client.read_to_end();
        let content = answer.len()
            - answer
                .windows(4)
                .position(|end| end == b"\r\n\r\n")
                .unwrap();
        assert_eq!(content, 4 + 18, "{request}");
    }
}

/// One that is answered directly, and one that is not.
fn old_requests(script: &Script) -> [String; 2] {
    let target = script.target();
    let brings = format!("POST {target} HTTP/1.0\r\nContent-Length: 1\r\n\r\nx");
    [old(&target, "close"), brings]
}

fn assert_reset(client: &mut TcpStream, request: &str) {
    let read = client.read_to_end(&mut Vec::new());
    assert_eq!(
        read.map_err(|error| error.kind()),
        Err(ErrorKind::ConnectionReset),
        "{request}"
    );
}

#[test]
fn what_has_no_content_is_followed_by_the_next_answer() {
    let site = Site::plain();
    let mut client = site.client();
    let mut scripts: Vec<Script> = Vec::new();
    for (status, is_known) in [(200, true), (200, false), (204, false), (304, true)] {
        let mut script = Script::new(1, is_known, [Step::Bytes(9)]);
        script.status = status;
        scripts.push(script);
    }
    for script in scripts {
        for method in ["HEAD", "GET"] {
            client.send(ask(method, &script.target()) + &ask("GET", "/next"));
            let response = client.read_one(method == "HEAD");
            let is_empty = method == "HEAD" || script.status != 200;
            assert_eq!(response.status, script.status);
            assert_eq!(response.body.is_empty(), is_empty);
            let is_framed = response.header("transfer-encoding").is_some();
            assert_eq!(is_framed, !is_empty && !script.is_known, "{script:?}");
            assert_eq!(client.read_one(false).text(), "GET /next");
        }
    }
}

#[test]
fn what_is_asked_meanwhile_is_answered_in_turn() {
    let site = Site::plain();
    let mut client = site.client();
    let waits = Script::new(1, false, [Step::Bytes(5), Step::Wait, Step::Bytes(5)]);
    client.send(ask("GET", "/wait"));
    site.stage.wait_entered(1);
    // More than is read at once.
    let more = 2_000;
    let pad = format!(
        "GET /later HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
        "x".repeat(99)
    );
    client.send(ask("GET", &waits.target()) + &pad.repeat(more));
    site.stage.let_go(1);
    assert_eq!(client.read().text(), "waited");
    let mut begun = client.read_head();
    client.read_body_exactly(&mut begun, 5);
    site.stage.wait_entered(2);
    site.stage.let_go(1);
    client.read_content(&mut begun);
    assert!(is_answer(&begun, &waits));
    for _ in 0..more {
        assert_eq!(client.read().text(), "GET /later");
    }
}

/// A client whose answer is waited for: its head (`/wait`), or the rest of its content.
fn waiting(site: &Site, target: &str) -> Client {
    let mut client = site.client();
    client.send(ask("GET", target));
    site.stage.wait_entered(1);
    client
}

fn targets() -> [String; 3] {
    let waits = |is_known| Script::new(1, is_known, [Step::Bytes(5), Step::Wait, Step::Bytes(5)]);
    [
        "/wait".to_owned(),
        waits(true).target(),
        waits(false).target(),
    ]
}

#[test]
fn a_client_that_leaves_is_not_waited_for() {
    for target in targets() {
        let site = Site::plain();
        let client = waiting(&site, &target);
        drop(client);
        site.stage.wait_left(1);
        site.wait_counted("the close", |counters| counters.active == 0);
    }
}

#[test]
fn a_client_that_asks_more_or_ends_its_side_is_waited_for_in_peace() {
    for (target, more) in targets().iter().zip([true, false].repeat(2)) {
        // A step of the clock is long: it is not yet taken for one that left.
        let site = Site::with(quick(|limits| limits.tick = Duration::from_mins(1)));
        let mut client = waiting(&site, target);
        if more {
            client.send(ask("GET", "/next"));
        }
        client.end();
        let before = site.stage.polled();
        for _ in 0..100 {
            assert_eq!(site.client().get("/later").send().status, 200);
        }
        let polled = site.stage.polled() - before;
        assert!(polled < 10, "{target} was looked at {polled} times");
        site.stage.let_go(1);
        assert!(client.read().complete, "{target}");
        if more {
            assert_eq!(client.read().text(), "GET /next", "{target}");
        }
        assert_eq!(client.read_to_end(), b"", "{target}");
    }
}

#[test]
fn a_client_that_takes_nothing_of_what_was_waited_for_is_cut() {
    for is_known in [true, false] {
        let site = Site::with(quick(|limits| limits.write_time = SOON));
        let mut client = site.client();
        let script = Script::new(1, is_known, vec![Step::Bytes(1_000_000); 32]);
        client.send(ask("GET", &script.target()));
        site.wait_counted("the cut", |counters| {
            counters.timeouts == 1 && counters.active == 0
        });
        drop(client);
    }
}

#[test]
fn a_panic_in_content_ends_one_answer_alone() {
    let site = Site::plain();
    let waits = Script::new(1, false, [Step::Bytes(5), Step::Wait, Step::Bytes(5)]);
    let mut client = waiting(&site, &waits.target());
    let panics = Script::new(2, false, [Step::Bytes(5), Step::Panic]);
    let mut other = site.client();
    other.send(ask("GET", &panics.target()));
    assert_eq!(other.read_to_end(), b"");
    site.stage.let_go(1);
    assert!(is_answer(&client.read(), &waits));
    assert_eq!(client.get("/after").send().text(), "GET /after");
}

#[test]
fn content_that_goes_on_while_the_client_takes_nothing_is_not_forgotten() {
    for is_known in [true, false] {
        let site = Site::plain();
        let steps = [Step::Bytes(LARGE), Step::Wait, Step::Bytes(5)];
        let script = Script::new(1, is_known, steps);
        let mut client = waiting(&site, &script.target());
        // The rest is there while the socket is full.
        site.stage.let_go(1);
        for _ in 0..10 {
            // Each turns the worker's wheel.
            assert_eq!(site.client().get("/later").send().status, 200);
        }
        assert!(is_answer(&client.read(), &script));
    }
}

#[test]
fn a_stop_lets_what_is_waited_for_come_and_says_so() {
    let mut site = Site::plain();
    let mut clients: Vec<_> = targets()
        .into_iter()
        .map(|target| waiting(&site, &target))
        .collect();
    site.stage.wait_entered(3);
    site.switch.start(Duration::from_mins(1));
    // The listener is closed: the stop has begun.
    testkit::wait_until("the stop", || {
        std::net::TcpStream::connect(site.address()).is_err()
    });
    site.stage.let_go(3);
    for (number, client) in clients.iter_mut().enumerate() {
        let response = client.read();
        assert!(response.complete);
        // The head of the others was out before.
        let told = (number == 0).then_some("close");
        assert_eq!(response.header("connection"), told);
        assert_eq!(client.read_to_end(), b"");
    }
    site.join();
}
