//! Connections of HTTP/2 are kept while fetches are under way on them, and some of them afterwards.

use crate::support::*;
use h2::server::{Builder, SendResponse};
use http::Response;
use origin::{Origin, config::Protocol};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::{JoinHandle, spawn_local},
};

/// A server that answers with the number of the connection when the gate is opened.
struct Site {
    listener: TcpListener,
    /// How many streams it allows on a connection.
    streams: u32,
    gate: Notify,
    arrived: Cell<usize>,
    connections: Cell<usize>,
    /// The connections that the other side has closed.
    closed: RefCell<Vec<usize>>,
}

impl Site {
    /// The site and an origin for it that keeps `kept` idle connections for so long.
    async fn start(streams: u32, (kept, time): (usize, Duration)) -> (Rc<Self>, Arc<Origin>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut config = config([tcp(listener.local_addr().unwrap())]);
        config.protocol = Protocol::Http2;
        config.timeouts.first_byte = LONG;
        config.idle_connections = kept;
        config.idle_time = time;
        let site = Rc::new(Self {
            listener,
            streams,
            gate: Notify::new(),
            arrived: Cell::default(),
            connections: Cell::default(),
            closed: RefCell::default(),
        });
        let serving = Rc::clone(&site);
        spawn_local(async move {
            while let Ok((stream, _)) = serving.listener.accept().await {
                let number = serving.connections.get() + 1;
                serving.connections.set(number);
                spawn_local(Rc::clone(&serving).serve(stream, number));
            }
        });
        (site, Origin::new(config).unwrap())
    }

    async fn serve(self: Rc<Self>, stream: TcpStream, number: usize) {
        let mut server = Builder::new();
        server.max_concurrent_streams(self.streams);
        let mut connection = server.handshake(stream).await.unwrap();
        while let Some(Ok((_request, mut respond))) = connection.accept().await {
            let site = Rc::clone(&self);
            spawn_local(async move {
                let opened = site.gate.notified();
                site.arrived.set(site.arrived.get() + 1);
                opened.await;
                answer(&mut respond, number);
            });
        }
        self.closed.borrow_mut().push(number);
    }

    /// Fetches so many at a time; which connections they came on.
    async fn fetch(&self, origin: &Arc<Origin>, many: usize) -> Vec<usize> {
        let before = self.arrived.get();
        let fetches: Vec<JoinHandle<_>> = (0..many)
            .map(|_| {
                let origin = Arc::clone(origin);
                spawn_local(async move { get(&origin, "/").await })
            })
            .collect();
        until(|| self.arrived.get() == before + many).await;
        self.gate.notify_waiters();
        let mut numbers = Vec::new();
        for fetch in fetches {
            numbers.push(fetch.await.unwrap().unwrap().text().parse().unwrap());
        }
        numbers.sort_unstable();
        numbers
    }
}

fn answer(respond: &mut SendResponse<bytes::Bytes>, number: usize) {
    let mut out = respond.send_response(Response::new(()), false).unwrap();
    out.send_data(number.to_string().into(), true).unwrap();
}

#[test]
fn no_more_are_kept_than_allowed() {
    for (kept, second) in [(0, [4, 5, 6]), (1, [3, 4, 5]), (3, [1, 2, 3])] {
        work(async {
            let (site, origin) = Site::start(1, (kept, LONG)).await;
            assert_eq!(site.fetch(&origin, 3).await, [1, 2, 3]);
            assert_eq!(site.fetch(&origin, 3).await, second, "{kept} kept");
        });
    }
}

#[test]
fn those_that_rest_beyond_the_number_are_closed_the_oldest_first() {
    work(async {
        let (site, origin) = Site::start(1, (1, LONG)).await;
        site.fetch(&origin, 3).await;
        until(|| site.closed.borrow().len() == 2).await;
        site.closed.borrow_mut().sort_unstable();
        assert_eq!(*site.closed.borrow(), [1, 2]);
        assert_eq!(site.fetch(&origin, 1).await, [3]);
    });
}

/// Where none may be idle, one is there as long as something is under way on it, and whoever comes shares it.
#[test]
fn one_in_use_is_kept_however_few_may_be_idle() {
    for idle in [(0, LONG), (1, Duration::ZERO), (0, Duration::ZERO)] {
        work(async {
            let (site, origin) = Site::start(100, idle).await;
            let first = spawn_local({
                let origin = Arc::clone(&origin);
                async move { get(&origin, "/").await }
            });
            until(|| site.arrived.get() == 1).await;
            assert_eq!(site.fetch(&origin, 3).await, [1, 1, 1], "{idle:?}");
            first.await.unwrap().unwrap();
            assert_eq!(site.fetch(&origin, 2).await, [2, 2], "{idle:?}");
        });
    }
}

/// Judged when one is taken, too: the sweep may come later.
#[test]
fn idle_connections_grow_old() {
    work(async {
        let (site, origin) = Site::start(100, (1, Duration::from_millis(10))).await;
        assert_eq!(site.fetch(&origin, 1).await, [1]);
        tokio::time::pause();
        tokio::time::advance(Duration::from_millis(10)).await;
        tokio::time::resume();
        assert_eq!(site.fetch(&origin, 1).await, [2]);
    });
}
