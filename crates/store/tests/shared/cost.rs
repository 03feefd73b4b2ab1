//! What a hit costs us, apart from what it costs the server. Run with `--release -- --ignored --nocapture`.

use crate::support::{KEY, Node, page};
use http::HeaderMap;
use std::{fs, sync::Arc};
use store::shared::IfNothing;
use testkit::Redis;
use tokio::task::JoinSet;

const HITS: u32 = 100_000;

#[tokio::test]
#[ignore = "measures"]
async fn a_hit() {
    let server = Redis::start();
    let node = Node::new(&server.url());
    for (what, body) in [
        ("10 KB", vec![b'x'; 10_000]),
        (
            "20 KB, compressed",
            b"<li>an item of a list</li>".repeat(800),
        ),
        (
            "100 KB, compressed",
            b"<li>an item of a list</li>".repeat(4000),
        ),
    ] {
        node.keep(KEY, page(&node, body).done()).await;
        for at_once in [1, 10] {
            let before = cpu_micros();
            for _ in 0..HITS / at_once {
                find(&node, at_once).await;
            }
            let nanos = (cpu_micros() - before) * 1000 / u64::from(HITS);
            println!("{what}, {at_once} at once: {nanos} ns of CPU a hit");
        }
    }
}

async fn find(node: &Node, at_once: u32) {
    let mut finds = JoinSet::new();
    for _ in 0..at_once {
        let shared = Arc::clone(&node.shared);
        finds.spawn(async move {
            let request = HeaderMap::new();
            let mut question = shared.question(KEY, &request);
            drop(shared.find(&mut question, IfNothing::Leave).await);
        });
    }
    finds.join_all().await;
}

/// User and system time of this process so far.
fn cpu_micros() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<_> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    let ticks = |at: usize| fields[at].parse::<u64>().unwrap();
    // A tick is a hundredth of a second.
    (ticks(11) + ticks(12)) * 10_000
}
