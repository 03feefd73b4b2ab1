use super::*;
use crate::{
    config::{Address, Server},
    pool::{self, Identity, Key},
    pool::{Sharing, StreamWish},
    roster::Roster,
};
use std::{net::SocketAddr, sync::Arc};
use tokio::task::{LocalSet, yield_now};

/// Asks for a connection to each address now known, as a fetch does.
fn ask_all(origin: &Arc<Identity>) {
    for peer in origin.roster.peers().iter() {
        let peer = peer.number;
        assert!(pool::take(Key { origin, peer }, Instant::now(), Duration::MAX).is_none());
        pool::with_weights(origin, |weights| weights.insert(peer, 0));
    }
}

/// Returns for each of this worker's pools the numbers of its lanes and of its weights.
fn known() -> Vec<(Vec<u64>, Vec<u64>)> {
    let numbers = |pool: &pool::Pool| {
        let lanes = pool.lanes.keys().copied().collect();
        (lanes, pool.weights.keys().copied().collect())
    };
    POOLS.with_borrow(|pools| pools.values().map(numbers).collect())
}

/// Runs a test as a worker does, with an origin of one server that has no address yet.
fn work(test: impl AsyncFnOnce(Arc<Identity>, Arc<Roster>)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, async {
        let host = "name.invalid".to_owned();
        let server = Server::new(Address::Tcp { host, port: 80 });
        let roster = Arc::new(Roster::new(&[server], None).unwrap());
        let origin = Arc::new(Identity {
            number: 0,
            roster: Arc::clone(&roster),
            idle_connections: 0,
            idle_time: Duration::ZERO,
        });
        test(origin, roster).await;
    });
}

/// Has the name resolved to another address; the number of its lane.
fn resolve(roster: &Roster, last: u8) -> u64 {
    let found = SocketAddr::from(([10, 0, 0, last], 80));
    roster.learn(&roster.servers()[0], vec![found]);
    roster.peers()[0].number
}

#[test]
fn what_is_gone_is_forgotten_where_no_connections_are_kept() {
    work(async |origin, roster| {
        for last in 1..4 {
            let number = resolve(&roster, last);
            ask_all(&origin);
            tend();
            yield_now().await;
            assert_eq!(known(), [(vec![number], vec![number])]);
        }
        drop(origin);
        yield_now().await;
        assert_eq!(known(), []);
    });
}

/// Who waits for a stream or a connection at a server that is gone is told by what is there, and finds it.
#[test]
fn a_lane_in_which_somebody_waits_stays_until_nobody_does() {
    work(async |origin, roster| {
        let lanes = || known().remove(0).0;
        let gone = resolve(&roster, 1);
        let key = Key {
            origin: &origin,
            peer: gone,
        };
        let queue = pool::queue(key);
        let waits = queue.first().await;
        let now = resolve(&roster, 2);
        ask_all(&origin);
        assert_eq!(sweep(Instant::now()), SweepOutcome::Connections);
        assert_eq!(lanes(), [gone, now]);
        assert!(Arc::ptr_eq(&pool::queue(key), &queue));
        drop(waits);

        let wish = StreamWish {
            is_first: false,
            refused_by: None,
        };
        let making = pool::shared(key, Instant::now(), wish);
        assert!(matches!(making, Some(Sharing::Make(_))));
        assert_eq!(sweep(Instant::now()), SweepOutcome::Connections);
        assert_eq!(lanes(), [gone, now]);
        drop(making);
        assert_eq!(sweep(Instant::now()), SweepOutcome::Pools);
        assert_eq!(lanes(), [now]);
    });
}
