use super::*;
use crate::{
    config::{Address, Server},
    pool::{self, Identity, Key},
    roster::Roster,
};
use std::{net::SocketAddr, sync::Arc};
use tokio::task::{LocalSet, yield_now};

/// Asks for a connection to each address now known, as a fetch does.
fn ask_all(origin: &Arc<Identity>) {
    for peer in origin.roster.peers().iter() {
        let peer = peer.number;
        assert!(pool::take(Key { origin, peer }, Instant::now()).is_none());
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

#[test]
fn what_is_gone_is_forgotten_where_no_connections_are_kept() {
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
        for last in 1..4 {
            let found = SocketAddr::from(([10, 0, 0, last], 80));
            roster.learn(&roster.servers()[0], vec![found]);
            ask_all(&origin);
            tend();
            yield_now().await;
            let now = vec![roster.peers()[0].number];
            assert_eq!(known(), [(now.clone(), now)]);
        }
        drop(origin);
        yield_now().await;
        assert_eq!(known(), []);
    });
}
