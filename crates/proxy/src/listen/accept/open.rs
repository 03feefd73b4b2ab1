//! The connections of one loop, from beginning to end.

use crate::listen::watch::{Order, Stage, Watch};
use std::{cell::RefCell, collections::BTreeMap, rc::Rc, sync::Arc};
use tokio::{sync::Notify, task::yield_now};

/// The connections that have a task.
#[derive(Clone, Default)]
pub(super) struct OpenConnections {
    pub(super) watches: Rc<RefCell<BTreeMap<u64, Arc<Watch>>>>,
    next: Rc<std::cell::Cell<u64>>,
    pub(super) gone: Rc<Notify>,
}

/// Removes a connection from `OpenConnections` on drop.
pub(super) struct OpenGuard {
    open: OpenConnections,
    number: u64,
}

impl OpenConnections {
    pub(super) fn enter(&self, watch: &Arc<Watch>) -> OpenGuard {
        let number = self.next.get();
        self.next.set(number + 1);
        self.watches.borrow_mut().insert(number, Arc::clone(watch));
        OpenGuard {
            open: self.clone(),
            number,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.watches.borrow().is_empty()
    }

    pub(super) fn tell(&self, order: Order) {
        for watch in self.watches.borrow().values() {
            watch.tell(order);
        }
    }

    /// Closes the connections on which nothing was said yet, after a few turns of the runtime. By then a first request
    /// that the kernel already holds is known, and is served. Each turn polls some sixty tasks.
    pub(super) async fn close_silent(&self) {
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

    /// Tells all connections to close and waits for their tasks, which close when next polled.
    pub(super) async fn close_all(&self) {
        self.tell(Order::Close);
        while !self.is_empty() {
            self.gone.notified().await;
        }
    }
}

impl Drop for OpenGuard {
    fn drop(&mut self) {
        self.open.watches.borrow_mut().remove(&self.number);
        self.open.gone.notify_one();
    }
}
