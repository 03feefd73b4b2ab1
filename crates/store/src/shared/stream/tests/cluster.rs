//! A cluster whose servers have clocks of their own.

use super::*;
use testkit::Redis;

/// Which of these servers has been asked for this command.
fn asked(servers: &[Redis], command: &str) -> Vec<bool> {
    let prefix = format!("cmdstat_{command}:");
    let stats = servers
        .iter()
        .map(|server| server.ask(&["INFO", "commandstats"]));
    stats
        .map(|stats| stats.lines().any(|line| line.starts_with(&prefix)))
        .collect()
}

/// The positions of purges are its times.
#[tokio::test]
async fn the_clock_is_that_of_the_server_that_has_the_stream() {
    let servers = Redis::cluster();
    let url = format!("redis-cluster://{}", servers[0].address());
    let config = Config {
        prefix: "shop".to_owned(),
        ..config(&url, "a", TRUST)
    };
    let mut node = Node::of(&config, Recorder::default());
    node.following().await;
    assert_ne!(
        asked(&servers, "xadd"),
        asked(&servers, "hset"),
        "two servers"
    );
    assert_eq!(asked(&servers, "eval"), asked(&servers, "xadd"));
}
