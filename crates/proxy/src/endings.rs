//! Bodies that have come whole and are not stored yet: the disk may take the end of a body after its client has it.

use std::{cell::Cell, rc::Rc};
use tokio::sync::Notify;

/// The number of such bodies of one worker.
#[derive(Debug, Default)]
pub(crate) struct Endings(Rc<OpenEndings>);

#[derive(Debug, Default)]
struct OpenEndings {
    count: Cell<usize>,
    none: Notify,
}

/// One such body, until it is stored or given up.
#[derive(Debug)]
pub(crate) struct Ending(Rc<OpenEndings>);

impl Endings {
    /// Counts a body that has come whole.
    pub fn begin(&self) -> Ending {
        self.0.count.set(self.0.count.get() + 1);
        Ending(self.0.clone())
    }

    /// Waits until none is left.
    pub async fn over(&self) {
        while self.0.count.get() > 0 {
            self.0.none.notified().await;
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let left = self.0.count.get().saturating_sub(1);
        self.0.count.set(left);
        if left == 0 {
            self.0.none.notify_one();
        }
    }
}
