//! Scripts that wait for what a client has yet to send, and limits of time that run meanwhile.

use crate::support::*;
use http::Method;
use origin::{
    Context, Kind, Origin,
    config::{Address, FastCgi, Paths, Protocol, Server},
};
use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use testkit::{
    Gate,
    fastcgi::{Line, Next, kind, output, record},
};
use tokio::{
    task::{spawn_local, yield_now},
    time::{Instant, advance, pause},
};

/// An origin whose one script runs on `server`, and has this long for its head and between two bytes.
pub(crate) fn origin_of(server: &testkit::FastCgi) -> Arc<Origin> {
    let root = testkit::scratch_dir();
    fs::write(root.join("index.php"), "").unwrap();
    let path = server.url();
    let (host, port) = path.trim_start_matches("tcp://").split_once(':').unwrap();
    let address = Address::Tcp {
        host: host.to_owned(),
        port: port.parse().unwrap(),
    };
    let mut config = config([Server::new(address)]);
    config.protocol = Protocol::FastCgi(Arc::new(FastCgi {
        root,
        index: Vec::new(),
        front: None,
        scripts: Paths::new("all", |_| true),
        no_scripts: Paths::new("none", |_| false),
        no_files: Paths::new("none", |_| false),
        params: Vec::new(),
    }));
    config.retry.attempts = 0;
    config.timeouts.first_byte = LONG;
    config.timeouts.between_bytes = LONG;
    Origin::new(config).unwrap()
}

/// Reads what the request brings, and counts it; whether that has ended.
fn read_on(line: &mut Line, taken: &AtomicUsize) -> bool {
    match line.read() {
        Some((kind::IN, piece)) => {
            taken.fetch_add(piece.len(), SeqCst);
            piece.is_empty()
        }
        _ => true,
    }
}

/// Lets this time pass, in which everybody does what there is to do.
async fn pass(time: Duration) {
    advance(time).await;
    for _ in 0..100 {
        yield_now().await;
    }
}

/// A limit of time has run out when this has passed.
fn over() -> Duration {
    LONG + Duration::from_millis(1)
}

#[test]
fn a_client_that_pauses_in_its_upload_does_not_break_the_answer() {
    let taken = Arc::new(AtomicUsize::new(0));
    let came = Arc::clone(&taken);
    let server = testkit::FastCgi::start_early(move |_, line| {
        line.send(record(kind::OUT, "X-A: b\r\n\r\nearly"));
        while !read_on(line, &came) {}
        line.send(output(" and late"));
        Next::Keep
    });
    let origin = origin_of(&server);
    work(async {
        let (sender, body) = pieces_of(2);
        let asked = request(Method::POST, "/index.php", body);
        let response = origin.fetch(asked, Context::default()).await.unwrap();
        let reading = spawn_local(read(response));
        sender.send("a").await.unwrap();
        until(|| taken.load(SeqCst) == 1).await;
        pause();
        pass(over()).await;
        pass(over()).await;
        sender.send("b").await.unwrap();
        drop(sender);
        until(|| reading.is_finished()).await;
        assert_eq!(reading.await.unwrap().unwrap().text(), "early and late");
        assert_eq!(origin.report().servers[0].failures, 0);
    });
}

#[test]
fn a_script_that_has_all_of_an_upload_has_its_time_once() {
    let (taken, gate) = (Arc::new(AtomicUsize::new(0)), Gate::new());
    let (came, held) = (Arc::clone(&taken), gate.clone());
    let server = testkit::FastCgi::start_early(move |_, line| {
        while !read_on(line, &came) {}
        held.pass();
        Next::Close
    });
    let origin = origin_of(&server);
    work(async {
        let (sender, body) = pieces_of(2);
        let asked = request(Method::POST, "/index.php", body);
        let asking = spawn_local({
            let origin = Arc::clone(&origin);
            async move { origin.fetch(asked, Context::default()).await.map(drop) }
        });
        sender.send("a").await.unwrap();
        until(|| taken.load(SeqCst) == 1).await;
        pause();
        pass(LONG / 4).await;
        sender.send("b").await.unwrap();
        drop(sender);
        until(|| taken.load(SeqCst) == 2).await;
        let began = Instant::now();
        while !asking.is_finished() {
            pass(LONG / 20).await;
        }
        assert_eq!(kind(asking.await.unwrap()), Kind::FirstByteTimeout);
        let took = began.elapsed();
        assert!((LONG..LONG + LONG / 10).contains(&took), "{took:?}");
    });
    gate.open();
}
