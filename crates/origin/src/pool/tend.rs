//! Removes connections that nobody takes, and the lanes of servers that are gone. One small task per worker does this.

use super::POOLS;
use std::{cell::Cell, rc::Rc, time::Duration};
use tokio::{
    sync::Notify,
    task::spawn_local,
    time::{Instant, timeout},
};

thread_local! {
    static TENDED: Cell<bool> = const { Cell::new(false) };
    /// Tells the tending task that there is something to check again.
    pub(super) static KEPT: Rc<Notify> = Rc::default();
}

/// How often a worker checks for connections that have been idle too long.
const ROUND: Duration = Duration::from_secs(1);

static RELEASE: Notify = Notify::const_new();
static GONE: Notify = Notify::const_new();

/// Starts this worker's tending task unless it runs. Called before a connection is made, which is inside a `LocalSet`.
pub(crate) fn tend() {
    if TENDED.replace(true) {
        return;
    }
    let running = Tending;
    let kept = KEPT.with(Rc::clone);
    spawn_local(async move {
        let _running = running;
        loop {
            // What goes during the sweep is not missed.
            let gone = GONE.notified();
            match sweep(Instant::now()) {
                // In either case it checks again.
                SweepOutcome::Connections => drop(timeout(ROUND, RELEASE.notified()).await),
                // A worker that keeps no connections is not woken by a timer, nor to release any.
                SweepOutcome::Pools => tokio::select! {
                    () = kept.notified() => {}
                    () = gone => {}
                },
                SweepOutcome::Nothing => break,
            }
        }
    });
}

/// Has all workers check at once for connections that may not lie idle any more. A worker that is checking at this
/// moment does so again within `ROUND`.
pub(crate) fn release() {
    RELEASE.notify_waiters();
}

/// Has all workers check at once for servers or origins that are gone, also those that keep no connections.
pub(crate) fn forget_gone() {
    GONE.notify_waiters();
    release();
}

/// Marks the tending task as alive. Tells it apart from one that ended with its runtime.
struct Tending;

impl Drop for Tending {
    fn drop(&mut self) {
        TENDED.set(false);
    }
}

/// What is left after a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SweepOutcome {
    /// Connections, which grow old, or are being made or waited for.
    Connections,
    /// Origins without idle or shared connections.
    Pools,
    Nothing,
}

/// Drops connections that are closed, idle too long or beyond their number, or belong to an origin or a server that is
/// gone and for which nobody waits.
fn sweep(now: Instant) -> SweepOutcome {
    POOLS.with_borrow_mut(|pools| {
        pools.retain(|_, pool| match pool.origin.upgrade() {
            Some(origin) => {
                let peers = origin.roster.peers();
                let is_there = |number| peers.iter().any(|peer| peer.number == number);
                pool.weights.retain(|number, _| is_there(*number));
                // Who waits is told by the lane's own connections. Another lane would know none of them.
                pool.lanes
                    .retain(|number, lane| is_there(*number) || lane.is_awaited());
                for lane in pool.lanes.values_mut() {
                    lane.sweep(now, &origin);
                }
                true
            }
            None => false,
        });
        let mut lanes = pools.values().flat_map(|pool| pool.lanes.values());
        if lanes.any(|lane| lane.has_connections() || lane.is_awaited()) {
            SweepOutcome::Connections
        } else if pools.is_empty() {
            SweepOutcome::Nothing
        } else {
            SweepOutcome::Pools
        }
    })
}

#[cfg(test)]
mod tests;
