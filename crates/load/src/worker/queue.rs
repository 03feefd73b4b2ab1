//! The open loop: requests become due by the clock, and wait here until a connection is free. Their latency counts from
//! when they were due, so a server that stalls cannot hide this by keeping askers from asking.

use super::Worker;
use crate::{
    shape::{Shape, due},
    timer::Timer,
};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
    time::Instant,
};
use tokio::sync::Notify;

/// The most requests that wait on one worker. Further ones that become due are counted as unanswered, and never sent.
const LONGEST: usize = 1_000_000;

/// Requests that are due and have not been sent.
#[derive(Debug, Default)]
pub(super) struct Queue {
    due: RefCell<VecDeque<Instant>>,
    free: Cell<usize>,
    more: Notify,
    /// The number of the next request that becomes due, if there is one.
    number: Cell<u64>,
    /// Number of requests that found no place.
    turned_away: Cell<u64>,
    /// Whether no more requests will become due.
    ended: Cell<bool>,
}

impl Queue {
    /// Returns the next request that is due. `None`: there will be no more.
    pub(super) async fn next(&self) -> Option<Instant> {
        loop {
            if let Some(due) = self.due.borrow_mut().pop_front() {
                return Some(due);
            }
            if self.ended.get() {
                return None;
            }
            self.free.set(self.free.get() + 1);
            // The last asker to wait is woken first, so that no more connections are opened than necessary.
            self.more.notified().await;
            self.free.set(self.free.get() - 1);
        }
    }

    fn push(&self, due: Instant) {
        let mut waiting = self.due.borrow_mut();
        if waiting.len() >= LONGEST {
            self.turned_away.set(self.turned_away.get() + 1);
            return;
        }
        waiting.push_back(due);
        self.more.notify_last();
    }

    fn end(&self) {
        self.ended.set(true);
        self.more.notify_waiters();
    }

    /// Returns how many requests found no place.
    pub(super) fn turned_away(&self) -> u64 {
        self.turned_away.get()
    }

    /// Calls `look` for all requests that are due and have not been sent, except those that found no place.
    pub(super) fn each(&self, look: impl FnMut(Instant)) {
        self.due.borrow().iter().copied().for_each(look);
    }
}

/// Puts requests into the queue when they are due, until the end. Each worker has every n-th one.
pub(super) async fn dispatch(worker: Rc<Worker>, mut timer: Timer) {
    let common = &worker.common;
    let Shape::Open { from, to, .. } = common.plan.shape else {
        return;
    };
    let (workers, over) = (common.plan.threads() as u64, common.plan.end.after);
    let mut number = worker.index as u64;
    let mut given = 0_u64;
    worker.queue.number.set(number);
    while let Some(after) = due(number, from, to, over)
        && after < over
    {
        let due = common.begin + after;
        if due > Instant::now() && timer.until(due).await.is_err() {
            break;
        }
        let free = worker.queue.free.get() > worker.queue.due.borrow().len();
        if !worker.permit() {
            break;
        }
        if free {
            let late = due.elapsed();
            worker.tally.borrow_mut().late.record(late);
        } else {
            worker.tally.borrow_mut().queued += 1;
        }
        worker.queue.push(due);
        number += workers;
        given += 1;
        worker.queue.number.set(number);
        // A backlog of due requests must not keep the connections from being served.
        if given.is_multiple_of(64) {
            tokio::task::yield_now().await;
        }
    }
    worker.queue.end();
}

/// Calls `look` for all requests that were due at `now` and that the dispatcher, itself late, has not put into the
/// queue.
pub(super) fn missed(worker: &Worker, now: Instant, mut look: impl FnMut(Instant)) {
    let common = &worker.common;
    let Shape::Open { from, to, .. } = common.plan.shape else {
        return;
    };
    let (workers, over) = (common.plan.threads() as u64, common.plan.end.after);
    let mut number = worker.queue.number.get();
    while !worker.queue.ended.get()
        && let Some(after) = due(number, from, to, over)
        && after < over
        && common.begin + after <= now
        && worker.permit()
    {
        look(common.begin + after);
        number += workers;
    }
}
