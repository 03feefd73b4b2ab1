//! The open loop: requests become due by the clock, and wait here until a connection is free. Their latency counts from when they
//! were due, so a server that stalls does not hide its stall by keeping those who ask from asking.

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

/// The most requests that wait, on one worker. Beyond, the server is so far behind that the run ends.
const LONGEST: usize = 1_000_000;

/// Requests that are due and not sent.
#[derive(Debug, Default)]
pub(super) struct Queue {
    due: RefCell<VecDeque<Instant>>,
    free: Cell<usize>,
    more: Notify,
    /// No more will become due.
    ended: Cell<bool>,
}

impl Queue {
    /// The next request that is due, and whether a connection was free for it; none when there will be no more.
    pub(super) async fn next(&self) -> Option<(Instant, bool)> {
        let mut waited = false;
        loop {
            if let Some(due) = self.due.borrow_mut().pop_front() {
                return Some((due, waited));
            }
            if self.ended.get() {
                return None;
            }
            waited = true;
            self.free.set(self.free.get() + 1);
            // Whoever came last is woken first: no more connections are opened than are needed.
            self.more.notified().await;
            self.free.set(self.free.get() - 1);
        }
    }

    fn push(&self, due: Instant) {
        self.due.borrow_mut().push_back(due);
        self.more.notify_last();
    }

    fn end(&self) {
        self.ended.set(true);
        self.more.notify_waiters();
    }

    /// Looks at all that are due and not sent.
    pub(super) fn each(&self, look: impl FnMut(Instant)) {
        self.due.borrow().iter().copied().for_each(look);
    }
}

/// Puts requests into the queue when they are due, until the end. Each worker has every n-th.
pub(super) async fn dispatch(worker: Rc<Worker>, mut timer: Timer) {
    let common = &worker.common;
    let Shape::Open { from, to, .. } = common.plan.shape else {
        return;
    };
    let (workers, over) = (common.plan.threads() as u64, common.plan.end.after);
    let mut number = worker.index as u64;
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
        if worker.queue.due.borrow().len() >= LONGEST {
            break;
        }
        worker.queue.push(due);
        number += workers;
        // A backlog of the clock's must not keep the connections from being served.
        if number.is_multiple_of(64) {
            tokio::task::yield_now().await;
        }
    }
    worker.queue.end();
}
