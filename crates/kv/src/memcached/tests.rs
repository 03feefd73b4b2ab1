use super::*;
use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    sync::Arc,
};
use testkit::Memcached as Server;

const LONG: Duration = Duration::from_mins(1);

fn remote(url: &str) -> Memcached {
    patient(url, Duration::from_secs(5))
}

fn patient(url: &str, timeout: Duration) -> Memcached {
    Memcached::new(url, timeout).unwrap_or_else(|error| panic!("{url}: {error}"))
}

fn several(servers: &[Server]) -> String {
    let all: Vec<_> = servers.iter().map(Server::address).collect();
    format!("memcached://{}", all.join(","))
}

fn names() -> Vec<String> {
    (0..60).map(|number| format!("name-{number}")).collect()
}

async fn set_all(remote: &Memcached, names: &[String]) {
    for name in names {
        let set = remote.set(name, name.as_bytes(), LONG).await;
        set.expect("set");
    }
}

#[tokio::test]
async fn keys_that_would_be_something_else_on_the_wire_are_not_sent() {
    let server = Server::start();
    let remote = remote(&server.url());
    let long = "k".repeat(251);
    for key in ["", "a b", "a\r\nflush_all", "a\0", "a\u{7f}", "é\té", &long] {
        let error = remote.get(key).await.expect_err(key);
        assert_eq!(error.kind, Kind::Rejected, "{key:?}");
        let set = remote.set(key, b"1", LONG).await.expect_err(key);
        assert_eq!(set.kind, Kind::Rejected, "{key:?}");
    }
}

#[tokio::test]
async fn letters_beyond_ascii_are_part_of_a_key() {
    let server = Server::start();
    let remote = remote(&server.url());
    // The last has bytes that are spaces and control characters in other encodings.
    for key in ["é", "/日本", "\u{85}\u{a0}"] {
        remote.set(key, key.as_bytes(), LONG).await.expect(key);
        let found = remote.get(key).await.expect(key);
        assert_eq!(found.as_deref(), Some(key.as_bytes()), "{key:?}");
    }
}

#[tokio::test]
async fn the_largest_value_is_taken_and_a_larger_one_is_not() {
    let server = Server::with(&["-m", "64"]);
    let remote = remote(&server.url());
    let largest = vec![7; LARGEST_VALUE];
    remote.set("a", &largest, LONG).await.expect("set");
    let found = remote.get("a").await.expect("an answer");
    assert!(found.as_deref() == Some(&largest[..]));
    let larger = vec![7; LARGEST_VALUE + 1];
    let error = remote.set("a", &larger, LONG).await.expect_err("too large");
    assert_eq!(error.kind, Kind::TooLarge);
    // A server may take less than usual.
    let server = Server::with(&["-I", "512k"]);
    let small = super::tests::remote(&server.url());
    let error = small.set("a", &largest, LONG).await.expect_err("too large");
    assert_eq!(error.kind, Kind::TooLarge);
    small.set("a", b"1", LONG).await.expect("goes on");
}

#[tokio::test]
async fn a_server_without_room_says_so() {
    let server = Server::with(&["-m", "8", "-M"]);
    let remote = remote(&server.url());
    let value = vec![7; 100_000];
    let mut full = None;
    for number in 0..1000 {
        if let Err(error) = remote.set(&format!("k{number}"), &value, LONG).await {
            full = Some(error.kind);
            break;
        }
    }
    assert_eq!(full, Some(Kind::Full));
    assert!(remote.get("k0").await.expect("goes on").is_some());
}

#[tokio::test]
async fn long_expiries_are_not_taken_for_dates() {
    let server = Server::start();
    let remote = remote(&server.url());
    remote.set("a", b"1", Duration::MAX).await.expect("set");
    let found = remote.get("a").await.expect("an answer");
    assert!(found.is_some());
}

#[tokio::test]
async fn a_server_that_is_flushed_or_restarted_is_empty_and_goes_on() {
    let mut server = Server::start();
    let remote = remote(&server.url());
    remote.set("a", b"1", LONG).await.expect("set");
    assert_eq!(server.ask("flush_all"), "OK");
    assert_eq!(remote.get("a").await, Ok(None));
    server.kill();
    let error = remote.get("a").await.expect_err("dead");
    // Over the existing connection, unless its end had already been seen.
    assert!(
        matches!(error.kind, Kind::Closed | Kind::Unreachable),
        "{error}"
    );
    server.restart();
    assert_eq!(remote.get("a").await, Ok(None));
    remote.set("a", b"2", LONG).await.expect("set");
}

#[tokio::test]
async fn one_of_several_that_is_gone_takes_only_its_own_keys_with_it() {
    let mut servers = [Server::start(), Server::start(), Server::start()];
    let remote = remote(&several(&servers));
    let names = names();
    set_all(&remote, &names).await;
    servers[1].kill();
    let of_dead = |name: &String| remote.ring.server(name.as_bytes()) == 1;
    let first = names.iter().find(|name| of_dead(name)).expect("one");
    for _ in 0..server::FAILURES {
        assert!(remote.get(first).await.is_err());
    }
    // From now on it is left alone, and its values count as absent.
    assert_eq!(remote.down(), Some(1));
    for name in &names {
        let found = remote.get(name).await.expect("an answer");
        assert_eq!(found.is_none(), of_dead(name), "{name}");
    }
    let found = remote.get_many(&names).await.expect("an answer");
    for (name, found) in names.iter().zip(found) {
        assert_eq!(found.is_none(), of_dead(name), "{name}");
    }
    assert_eq!(remote.add(first, b"1", LONG).await, Ok(true));
    servers[1].restart();
    let back = async {
        while remote.get(first).await.ok().flatten().is_none() {
            // Values are accepted and dropped until the rest is over.
            let _ = remote.set(first, b"1", LONG).await;
            tokio::task::yield_now().await;
        }
    };
    timeout(testkit::BOUND, back)
        .await
        .expect("it is asked again");
    assert_eq!(remote.down(), Some(0));
}

#[tokio::test]
async fn one_of_several_that_hangs_is_told_from_the_others() {
    let servers = [Server::start(), Server::start()];
    let remote = patient(&several(&servers), Duration::from_secs(2));
    let names = names();
    set_all(&remote, &names).await;
    servers[0].pause();
    let of_hung = |name: &&String| remote.ring.server(name.as_bytes()) == 0;
    let first = names.iter().find(of_hung).expect("one");
    // The signal may take a moment to arrive.
    let error = loop {
        if let Err(error) = remote.get(first).await {
            break error;
        }
    };
    assert_eq!(error.kind, Kind::Timeout);
    let second = names.iter().find(|name| !of_hung(name)).expect("one");
    let found = remote.get(second).await.expect("an answer");
    assert!(found.is_some());
    servers[0].resume();
}

#[tokio::test]
async fn questions_may_overlap_on_one_connection() {
    let server = Server::start();
    let remote = Arc::new(remote(&server.url()));
    let names = names();
    set_all(&remote, &names).await;
    let mut asked = tokio::task::JoinSet::new();
    for _ in 0..20 {
        for name in names.clone() {
            let remote = Arc::clone(&remote);
            asked.spawn(async move {
                let found = remote.get(&name).await;
                (name, found)
            });
        }
    }
    while let Some(answer) = asked.join_next().await {
        let (name, found) = answer.expect("no panic");
        assert_eq!(found.expect("an answer").as_deref(), Some(name.as_bytes()));
    }
}

/// A server that answers the questions on its first connection with `first`, and on the next one with what was asked
/// for.
fn answers_wrongly(first: &'static [&'static str]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let mut wrong = Some(first);
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut wrong = wrong.take().map(|answers| answers.iter());
            let mut lines = BufReader::new(stream.try_clone().expect("a handle")).lines();
            while let Some(Ok(line)) = lines.next() {
                let key = line.split(' ').nth(1).unwrap_or_default().to_owned();
                let answer = match &mut wrong {
                    Some(answers) => answers.next().map(|&answer| answer.to_owned()),
                    None => Some(format!("VALUE {key} 0 1\r\n1\r\nEND\r\n")),
                };
                if answer.is_some_and(|answer| stream.write_all(answer.as_bytes()).is_err()) {
                    break;
                }
            }
        }
    });
    format!("memcached://{address}")
}

#[tokio::test]
async fn a_connection_that_answers_something_else_is_not_used_again() {
    for answers in [
        &["VALUE x 0 1\r\nx\r\nEND\r\n", "VALUE b 0 1\r\n2\r\nEND\r\n"][..],
        &["VALUE a 0 1\r\n2\r\nVALUE a 0 1\r\n3\r\nEND\r\n", "END\r\n"],
        &["STORED\r\n", "VALUE b 0 1\r\n2\r\nEND\r\n"],
        &["ERROR\r\n", "VALUE b 0 1\r\n2\r\nEND\r\n"],
    ] {
        let remote = remote(&answers_wrongly(answers));
        let error = remote.get("a").await.expect_err("another's");
        assert_eq!(error.kind, Kind::Protocol, "{answers:?}");
        let found = remote.get("b").await.expect("an answer");
        assert_eq!(found.as_deref(), Some(&b"1"[..]), "{answers:?}");
    }
    let remote = remote(&answers_wrongly(&["END\r\n"]));
    let error = remote.set("a", b"1", LONG).await.expect_err("no outcome");
    assert_eq!(error.kind, Kind::Protocol);
    let found = remote.get("b").await.expect("an answer");
    assert_eq!(found.as_deref(), Some(&b"1"[..]));
}

#[tokio::test]
async fn who_waits_behind_something_else_gets_nothing() {
    // Both questions are written before the first answer comes. The second answer would fit the second question.
    let remote = remote(&answers_wrongly(&[
        "",
        "VALUE x 0 1\r\nx\r\nEND\r\nVALUE a 0 1\r\n2\r\nEND\r\n",
    ]));
    let (one, other) = tokio::join!(remote.get("a"), remote.get("a"));
    let kinds = [one, other].map(|answer| answer.expect_err("nobody's").kind);
    assert!(kinds.contains(&Kind::Protocol), "{kinds:?}");
    assert!(kinds.contains(&Kind::Closed), "{kinds:?}");
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_not_used_again_while_other_workers_get_answers() {
    let remote = patient(&answers_wrongly(&[]), Duration::from_millis(50));
    let found = async {
        loop {
            match remote.get("b").await {
                Ok(found) => return found,
                Err(error) => assert_eq!(error.kind, Kind::Timeout),
            }
            // As other workers say.
            remote.servers[0].answered();
        }
    };
    let found = timeout(testkit::BOUND, found).await;
    assert_eq!(found.expect("an answer").as_deref(), Some(&b"1"[..]));
}
