//! The loop of one worker on one listener: accepts, keeps the coarse clock, drains.

use super::{
    Serve,
    bind::{Bound, Listening},
    config::{Limits, ListenConfig},
    direct::Desk,
    drain::Drain,
    fault::Fault,
    own,
    shared::{Shared, Slot},
    stream::Socket,
    task,
    watch::{Order, Patience, Stage, Verdict, Watch, Worker},
};
use crate::listen::counters::add;
use std::{
    cell::RefCell,
    collections::BTreeMap,
    future::poll_fn,
    io::{self, Write},
    net::SocketAddr,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::{
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::Notify,
    task::{spawn_local, yield_now},
    time::{Instant, Interval, MissedTickBehavior, interval},
};

/// Accepts connections and serves them until drained: then it stops accepting, lets requests in flight finish, and ends the
/// rest at the deadline. Returns when no connection is left. Must run inside a
/// `LocalRuntime` or a `LocalSet`.
///
/// An error means that the runtime cannot take the socket; errors of single connections are counted, never returned.
pub async fn accept_loop<S: Serve>(
    bound: Bound,
    service: Rc<S>,
    shared: Arc<Shared>,
    mut drain: Drain,
) -> io::Result<()> {
    let mut listener = Some(Listener::new(bound.socket, bound.local)?);
    let mut clock = clock(&shared.limits());
    let worker = Worker::new(shared.enlist());
    let place = Rc::new(Place {
        config: bound.config,
        service,
        shared,
        worker,
        desk: Rc::default(),
        open: Open::default(),
    });
    let mut deadline = drain.now();
    // Out of descriptors, say: the next step of the clock tries again.
    let mut resting = false;
    let mut ticks = false;
    loop {
        if deadline.is_some() {
            if let Some(listener) = listener.take() {
                for accepted in listener.into_rest()? {
                    place.welcome(accepted);
                }
                place.open.tell(Order::Drain);
                place.open.close_silent().await;
            }
            if place.is_done(deadline) {
                break;
            }
        }
        // Nobody is late where nobody is: then no timer wakes the worker. Tunnels that a drain waits for have left `open`.
        let needed = resting || deadline.is_some() || !place.open.is_empty();
        if needed && !ticks {
            clock.reset();
        }
        ticks = needed;
        tokio::select! {
            accepted = accept(listener.as_mut()), if !resting => match accepted {
                Ok(accepted) => place.welcome(accepted),
                Err(error) => resting = must_rest(&error),
            },
            _ = clock.tick(), if ticks => {
                place.step();
                resting = false;
            }
            at = drain.changed() => deadline = Some(at),
            () = place.open.gone.notified(), if deadline.is_some() => {}
        }
    }
    place.open.close_all().await;
    Ok(())
}

fn clock(limits: &Limits) -> Interval {
    let mut clock = interval(limits.tick.max(std::time::Duration::from_millis(1)));
    clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
    clock
}

/// Whether accepting must pause. What a single client did (it left before we took it) is no reason.
fn must_rest(error: &io::Error) -> bool {
    let the_clients = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    );
    if !the_clients {
        tracing::warn!(%error, "cannot accept connections for a moment");
    }
    !the_clients
}

enum Listener {
    Tcp(TcpListener, Option<SocketAddr>),
    Unix(UnixListener),
}

/// A connection just accepted.
pub(super) struct Accepted {
    pub(super) socket: Socket,
    pub(super) peer: Option<SocketAddr>,
    pub(super) local: Option<SocketAddr>,
}

impl Listener {
    fn new(socket: Listening, bound: Option<SocketAddr>) -> io::Result<Self> {
        Ok(match socket {
            Listening::Tcp(listener) => Self::Tcp(TcpListener::from_std(listener)?, bound),
            Listening::Unix(listener) => Self::Unix(UnixListener::from_std(listener)?),
        })
    }

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Accepted>> {
        match self {
            Self::Tcp(listener, bound) => listener
                .poll_accept(cx)
                .map_ok(|(stream, peer)| Accepted::tcp(stream, peer, *bound)),
            Self::Unix(listener) => listener
                .poll_accept(cx)
                .map_ok(|(stream, _)| Accepted::unix(stream)),
        }
    }

    /// What the kernel holds at the end. Not through the runtime, which may not have learnt of it yet.
    fn into_rest(self) -> io::Result<Vec<Accepted>> {
        let mut rest = Vec::new();
        match self {
            Self::Tcp(listener, bound) => {
                let listener = listener.into_std()?;
                while let Ok((stream, peer)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    rest.push(Accepted::tcp(TcpStream::from_std(stream)?, peer, bound));
                }
            }
            Self::Unix(listener) => {
                let listener = listener.into_std()?;
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    rest.push(Accepted::unix(UnixStream::from_std(stream)?));
                }
            }
        }
        Ok(rest)
    }
}

impl Accepted {
    /// `bound` is where the listener listens: the socket's own address, unless that stands for all of the machine's.
    fn tcp(stream: TcpStream, peer: SocketAddr, bound: Option<SocketAddr>) -> Self {
        let known = bound.filter(|bound| !bound.ip().is_unspecified());
        Self {
            local: known.or_else(|| stream.local_addr().ok()),
            socket: Socket::Tcp(stream),
            peer: Some(canonical(peer)),
        }
    }

    fn unix(stream: UnixStream) -> Self {
        Self {
            socket: Socket::Unix(stream),
            peer: None,
            local: None,
        }
    }
}

/// An IPv4 client of an IPv6 socket is an IPv4 client.
fn canonical(peer: SocketAddr) -> SocketAddr {
    SocketAddr::new(peer.ip().to_canonical(), peer.port())
}

async fn accept(listener: Option<&mut Listener>) -> io::Result<Accepted> {
    match listener {
        Some(listener) => poll_fn(|cx| listener.poll_accept(cx)).await,
        None => std::future::pending().await,
    }
}

/// One worker on one listener.
pub(super) struct Place<S> {
    pub(super) config: Arc<ListenConfig>,
    pub(super) service: Rc<S>,
    pub(super) shared: Arc<Shared>,
    pub(super) worker: Arc<Worker>,
    pub(super) desk: Rc<Desk>,
    open: Open,
}

impl<S: Serve> Place<S> {
    /// Starts a connection's task, or turns it away.
    fn welcome(self: &Rc<Self>, accepted: Accepted) {
        let limits = self.shared.limits();
        let counters = &self.worker.counters;
        let Some(mut slot) = self.shared.claim(limits.connections, counters) else {
            return self.turn_away(accepted.socket);
        };
        // Behind a balancer the address is known only later.
        let behind_balancer = task::expects_proxy(&self.config, accepted.peer);
        if !behind_balancer && !claim_address(&mut slot, accepted.peer, &limits) {
            return self.turn_away(accepted.socket);
        }
        let watch = Watch::new(Arc::clone(&self.worker));
        let leave = self.open.enter(&watch);
        let place = Rc::clone(self);
        // Boxed: the runtime moves what it is given several times.
        spawn_local(Box::pin(async move {
            // Dropped last: whoever waits for it finds the connection closed.
            let _leave = leave;
            task::run(place, accepted, slot, watch, limits).await;
        }));
    }

    /// Says 503 where that is possible without waiting. Unread bytes may make the kernel reset the connection before the client
    /// reads it: over a limit we spend no more on a client than this.
    fn turn_away(&self, socket: Socket) {
        if self.config.tls.is_some() {
            return;
        }
        if let Socket::Tcp(stream) = socket {
            let _ = say(stream, &own::last_word(&*self.service, Fault::Full));
        }
    }

    /// One step of the clock: every connection is judged.
    fn step(&self) {
        let now = self.worker.step();
        let patience = Patience::new(&self.shared.limits());
        let counters = &self.worker.counters;
        for watch in self.open.watches.borrow().values() {
            match watch.judge(now, &patience) {
                Verdict::Fine => {}
                Verdict::Left => watch.wake(),
                Verdict::Idle(order) => watch.tell(order),
                Verdict::Slow(order) => {
                    if watch.order() < order {
                        add(&counters.timeouts, 1);
                    }
                    watch.tell(order);
                }
            }
        }
    }

    fn is_done(&self, deadline: Option<Instant>) -> bool {
        let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        late || self.worker.counters.snapshot().active == 0
    }
}

fn say(stream: TcpStream, text: &[u8]) -> io::Result<()> {
    // Not through the runtime: it has not yet learnt that the socket is writable.
    let mut stream = stream.into_std()?;
    stream.write_all(text)
}

/// `false` when the address has as many connections as it may.
pub(super) fn claim_address(slot: &mut Slot, peer: Option<SocketAddr>, limits: &Limits) -> bool {
    match (peer, limits.connections_per_address) {
        (Some(peer), Some(most)) => slot.claim_address(peer.ip(), most),
        _ => true,
    }
}

/// The connections that have a task.
#[derive(Clone, Default)]
struct Open {
    watches: Rc<RefCell<BTreeMap<u64, Arc<Watch>>>>,
    next: Rc<std::cell::Cell<u64>>,
    gone: Rc<Notify>,
}

/// Takes a connection out of `Open` on drop.
struct Leave {
    open: Open,
    number: u64,
}

impl Open {
    fn enter(&self, watch: &Arc<Watch>) -> Leave {
        let number = self.next.get();
        self.next.set(number + 1);
        self.watches.borrow_mut().insert(number, Arc::clone(watch));
        Leave {
            open: self.clone(),
            number,
        }
    }

    fn is_empty(&self) -> bool {
        self.watches.borrow().is_empty()
    }

    fn tell(&self, order: Order) {
        for watch in self.watches.borrow().values() {
            watch.tell(order);
        }
    }

    /// Closes the connections on which nothing was said yet, after a few turns of the runtime: a first request that the
    /// kernel holds already is then known, and served. Each turn polls some sixty tasks.
    async fn close_silent(&self) {
        let turns = 4 + self.watches.borrow().len() / 16;
        for _ in 0..turns {
            yield_now().await;
        }
        for watch in self.watches.borrow().values() {
            if watch.stage() == Stage::Silent {
                watch.tell(Order::Close);
            }
        }
    }

    /// Tells all to close and waits for their tasks, which do so when next polled.
    async fn close_all(&self) {
        self.tell(Order::Close);
        while !self.is_empty() {
            self.gone.notified().await;
        }
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.open.watches.borrow_mut().remove(&self.number);
        self.open.gone.notify_one();
    }
}
