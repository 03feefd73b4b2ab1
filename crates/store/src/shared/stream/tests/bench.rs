//! Measures how long a purge takes to hold on all nodes. To be run by name.

use super::*;
use std::time::Instant;

#[tokio::test]
#[ignore = "a measurement"]
async fn purge_on_one_read_on_all() {
    const ROUNDS: usize = 2000;
    let redis = Redis::start().await;
    let nodes = three(&redis.url()).await;
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        let began = Instant::now();
        let node = &nodes[round % 3];
        let (_, position) = node.publish(vec![of("page")]).await.expect("reachable");
        assert!(node.stream.everywhere(position, BROKEN).await.is_empty());
        times.push(began.elapsed());
    }
    times.sort_unstable();
    println!(
        "median {:?}, p99 {:?}, longest {:?}",
        times[ROUNDS / 2],
        times[ROUNDS * 99 / 100],
        times[ROUNDS - 1]
    );
}
