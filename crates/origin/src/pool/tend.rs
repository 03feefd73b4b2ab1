//! What becomes of connections that nobody takes: one small task per worker looks for them.

use super::POOLS;
use std::{cell::Cell, rc::Rc, time::Duration};
use tokio::{
    sync::Notify,
    task::spawn_local,
    time::{Instant, timeout},
};

thread_local! {
    static TENDED: Cell<bool> = const { Cell::new(false) };
    /// Tells the tending task that there is something to look at again.
    pub(super) static KEPT: Rc<Notify> = Rc::default();
}

/// How often a worker looks for what has been idle too long.
const ROUND: Duration = Duration::from_secs(1);

static RELEASE: Notify = Notify::const_new();

/// Starts this worker's tending task unless it runs. Called where connections are made, that is inside a `LocalSet`.
pub(crate) fn tend() {
    if TENDED.replace(true) {
        return;
    }
    let running = Tending;
    let kept = KEPT.with(Rc::clone);
    spawn_local(async move {
        let _running = running;
        loop {
            match sweep(Instant::now()) {
                // Either way it looks again.
                SweepOutcome::Connections => drop(timeout(ROUND, RELEASE.notified()).await),
                // No timer wakes a worker that keeps none.
                SweepOutcome::Pools => kept.notified().await,
                SweepOutcome::Nothing => break,
            }
        }
    });
}

/// Has all workers look at once for connections that may not lie idle any more. A worker that is looking right now does
/// so again within `ROUND`.
pub(crate) fn release() {
    RELEASE.notify_waiters();
}

/// The tending task is alive; told apart from a runtime that ended with the task in it.
struct Tending;

impl Drop for Tending {
    fn drop(&mut self) {
        TENDED.set(false);
    }
}

/// What there still is after a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SweepOutcome {
    /// Connections that grow old.
    Connections,
    /// Origins, without a connection that lies here.
    Pools,
    Nothing,
}

/// Drops what is closed, idle too long, or belongs to an origin or a server that is gone.
fn sweep(now: Instant) -> SweepOutcome {
    POOLS.with_borrow_mut(|pools| {
        pools.retain(|_, pool| match pool.origin.upgrade() {
            Some(origin) => {
                let peers = origin.roster.peers();
                let is_there = |number| peers.iter().any(|peer| peer.number == number);
                pool.weights.retain(|number, _| is_there(*number));
                pool.lanes.retain(|number, _| is_there(*number));
                for lane in pool.lanes.values_mut() {
                    lane.sweep(now, origin.idle_time);
                }
                true
            }
            None => false,
        });
        let mut lanes = pools.values().flat_map(|pool| pool.lanes.values());
        if lanes.any(|lane| !lane.idle.is_empty() || !lane.http2.is_empty()) {
            SweepOutcome::Connections
        } else if pools.is_empty() {
            SweepOutcome::Nothing
        } else {
            SweepOutcome::Pools
        }
    })
}
