//! Bodies of which all has come and that are not stored yet: the disk may take the end of one after its client has it.

use std::{cell::Cell, rc::Rc};
use tokio::sync::Notify;

/// How many there are of one worker.
#[derive(Debug, Default)]
pub(crate) struct Endings(Rc<OpenEndings>);

#[derive(Debug, Default)]
struct OpenEndings {
    count: Cell<usize>,
    none: Notify,
}

/// One of them, until it is stored or given up.
#[derive(Debug)]
pub(crate) struct Ending(Rc<OpenEndings>);

impl Endings {
    /// All of a body has come.
    pub fn begin(&self) -> Ending {
        self.0.count.set(self.0.count.get() + 1);
        Ending(self.0.clone())
    }

    /// Waits until there is none.
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
