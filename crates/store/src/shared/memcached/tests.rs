use super::*;
use crate::{
    Memory,
    purge::{Purge, Standing, What},
    sample::any_request,
    shared::contract,
};
use std::sync::Arc;
use testkit::Memcached as Server;

fn remote(url: &str) -> Memcached {
    Memcached::new(url, testkit::BOUND).unwrap_or_else(|error| panic!("{url}: {error}"))
}

fn several(servers: &[Server]) -> String {
    let all: Vec<_> = servers.iter().map(Server::address).collect();
    format!("memcached://{}", all.join(","))
}

#[tokio::test]
async fn one_server_keeps_the_contract() {
    let server = Server::start();
    contract::holds(&remote(&server.url())).await;
}

#[tokio::test]
async fn a_server_on_a_socket_keeps_the_contract() {
    let server = Server::on_socket();
    contract::holds(&remote(&server.url())).await;
}

#[tokio::test]
async fn several_servers_keep_the_contract_together() {
    let servers = [Server::start(), Server::start(), Server::on_socket()];
    contract::holds(&remote(&several(&servers))).await;
}

/// The position of a response that was received at `at`, in seconds, as another node wrote it.
fn position(remote: &Memcached, log: &Log, at: u64) -> Position {
    remote.position(log, &any_request(at)).expect("known")
}

#[test]
fn responses_stand_where_the_clock_says() {
    const KEY: &[u8] = b"http://a.example/page";
    let remote = remote("memcached://a");
    let memory = Memory::new(1 << 20, Arc::default());
    let log = memory.log();
    let standing = |at: u64| {
        let checked = log.sequence_at(position(&remote, log, at))?;
        let stored = any_request(at);
        stored.check(0, checked);
        Some(log.standing(KEY, &stored))
    };
    assert_eq!(standing(1000), None, "nothing is known of purges");
    log.place_by_clock(Time::from_secs(1000));
    assert_eq!(
        standing(1000),
        None,
        "it may have been purged before this process began"
    );
    assert_eq!(standing(1002), Some(Standing::Good));
    let purge = Purge::hard(What::Host("a.example".to_owned()));
    memory.apply(purge.clone(), Time::from_secs(2000), None);
    assert_eq!(standing(1999), Some(Standing::Gone));
    assert_eq!(standing(2000), Some(Standing::Gone), "clocks may differ");
    assert_eq!(standing(2002), Some(Standing::Good));
    // A clock that goes back purges too much, not too little.
    memory.apply(purge, Time::from_secs(500), None);
    for at in [1999, 2002] {
        assert_eq!(standing(at), Some(Standing::Gone), "{at}");
    }
    assert_eq!(log.position(), Some(Position(2_001_000, 1)));
    assert_eq!(standing(2003), Some(Standing::Good));
}

/// A row: how far another node's clock is ahead when it places a response, in ms, and whether it is used here at once.
#[test]
fn a_purge_comes_after_what_was_found() {
    let remote = remote("memcached://a");
    for (ahead, is_used) in [(0, true), (900, true), (600_000, false)] {
        let memory = Memory::new(1 << 20, Arc::default());
        let log = memory.log();
        let now = now();
        log.place_by_clock(Time::from_millis(now.as_millis() - 60_000));
        let place = Position(now.as_millis() + ahead, 0);
        let checked = remote.sequence(log, place);
        assert_eq!(checked.is_some(), is_used, "{ahead}");
        memory.apply(Purge::hard(What::Everything), now, None);
        let purged = log.position().expect("by the clock");
        assert_eq!(purged > place, is_used, "{ahead}: {purged}");
    }
}
