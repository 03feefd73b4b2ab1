//! The loop of one worker on one listener: accepts connections, keeps the coarse clock, drains. The socket is in
//! `listener`, its connections are in `open`.

mod listener;
mod open;

pub(super) use listener::{Accepted, canonical};

use super::{
    Serve,
    bind::Bound,
    config::{Limits, ListenConfig},
    direct::Desk,
    drain::Drain,
    fault::Fault,
    limiter::{ConnectionLimiter, ConnectionSlot},
    own,
    socket::Socket,
    task,
    watch::{Order, Patience, Verdict, Watch, Worker},
};
use crate::listen::counters::add;
use listener::{Listener, accept, must_rest};
use open::OpenConnections;
use std::{io, net::SocketAddr, rc::Rc, sync::Arc, time::Duration};
use tokio::{
    task::spawn_local,
    time::{Instant, Interval, MissedTickBehavior, interval},
};

/// Accepts connections and serves them until drained. Then it stops accepting, lets requests in flight finish, and ends
/// the rest at the deadline. Returns when no connection is left. Must run inside a `LocalRuntime` or a `LocalSet`.
///
/// An error means that the runtime cannot take the socket. Errors of single connections are counted, never returned.
pub async fn accept_loop<S: Serve>(
    bound: Bound,
    service: Rc<S>,
    limiter: Arc<ConnectionLimiter>,
    mut drain: Drain,
) -> io::Result<()> {
    let mut listener = Some(Listener::new(bound.socket, bound.local)?);
    let mut clock = clock(limiter.limits().tick);
    let worker = Worker::new(limiter.enlist(), service.memory());
    let place = Rc::new(WorkerListener {
        config: bound.config,
        service,
        limiter,
        worker,
        desk: Rc::default(),
        open: OpenConnections::default(),
    });
    let mut deadline = drain.now();
    // Accepting pauses, e.g. because descriptors have run out, until the next step of the clock.
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
        // Without connections nothing can be late, so no timer wakes the worker. Tunnels that a drain waits for have
        // left `open`.
        let needed = resting || deadline.is_some() || !place.open.is_empty();
        if needed && !ticks {
            clock.reset();
        }
        ticks = needed;
        tokio::select! {
            accepted = accept(listener.as_mut()), if !resting => match accepted {
                Ok(accepted) => place.welcome(accepted),
                Err(error) => resting = must_rest(&error, &place.limiter.cannot_accept),
            },
            _ = clock.tick(), if ticks => {
                place.step(clock.period());
                resting = false;
                // Never coarser: what has lasted some of the finer steps would seem to have lasted longer.
                let tick = place.limiter.limits().tick;
                if tick < clock.period() {
                    clock = self::clock(tick);
                }
            }
            at = drain.changed() => deadline = Some(at),
            () = place.open.gone.notified(), if deadline.is_some() => {}
        }
    }
    place.open.close_all().await;
    Ok(())
}

fn clock(tick: Duration) -> Interval {
    let mut clock = interval(tick.max(Duration::from_millis(1)));
    clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
    clock
}

/// One worker on one listener.
pub(super) struct WorkerListener<S> {
    pub(super) config: Arc<ListenConfig>,
    pub(super) service: Rc<S>,
    pub(super) limiter: Arc<ConnectionLimiter>,
    pub(super) worker: Arc<Worker>,
    pub(super) desk: Rc<Desk>,
    open: OpenConnections,
}

impl<S: Serve> WorkerListener<S> {
    /// Starts a connection's task, or turns the connection away.
    fn welcome(self: &Rc<Self>, accepted: Accepted) {
        let limits = self.limiter.limits();
        let counters = &self.worker.counters;
        let most = if accepted.socket.is_granted() {
            limits.connections
        } else {
            0
        };
        let Some(mut slot) = self.limiter.claim(most, counters) else {
            return self.turn_away(&accepted.socket);
        };
        // Behind a balancer, the client's address is known only later.
        let behind_balancer = task::expects_proxy(&self.config, accepted.peer);
        if !behind_balancer && !claim_address(&mut slot, accepted.peer, &limits) {
            return self.turn_away(&accepted.socket);
        }
        let watch = Watch::new(Arc::clone(&self.worker));
        let leave = self.open.enter(&watch);
        let place = Rc::clone(self);
        // Boxed because the runtime moves the future several times.
        spawn_local(Box::pin(async move {
            // Dropped last, so that a task that waits for it finds the connection closed.
            let _leave = leave;
            task::run(place, accepted, slot, watch, limits).await;
        }));
    }

    /// Answers with 503 if that is possible without waiting. Unread bytes may make the kernel reset the connection
    /// before the client reads the answer. Over a limit, we spend no more on a client than this.
    pub(super) fn turn_away(&self, socket: &Socket) {
        if self.config.tls.is_none() {
            socket.say_at_once(&own::last_word(&*self.service, Fault::Full));
        }
    }

    /// Does one step of the clock, which was `tick` long: judges every connection.
    fn step(&self, tick: Duration) {
        let now = self.worker.step();
        let patience = Patience::new(&self.limiter.limits(), tick);
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

/// Returns `false` if the address has as many connections as it may.
pub(super) fn claim_address(
    slot: &mut ConnectionSlot,
    peer: Option<SocketAddr>,
    limits: &Limits,
) -> bool {
    match (peer, limits.connections_per_address) {
        (Some(peer), Some(most)) => slot.claim_address(peer.ip(), most),
        _ => true,
    }
}
