//! Which readers the writer of a fill waits for, and which are cut off because others wait for them too.

use super::{End, FillState, Keeping};
use crate::fill::Broken;
use std::{task::Waker, time::Duration};

/// How long other readers wait in all for one reader of a fill that is not kept, before it is cut off.
const MOST_WAITED: Duration = Duration::from_secs(10);

impl FillState {
    /// Notes that `reader` has taken `bytes` more. Returns the writer if it may wait for that.
    ///
    /// # Errors
    /// The reader is cut off.
    pub fn pass(&mut self, reader: u64, bytes: u64) -> Result<Option<Waker>, Broken> {
        if !self.readers.pass(reader, bytes) {
            return Err(Broken::Late);
        }
        self.trim();
        let may_wait = self.is_spilled();
        Ok(may_wait.then(|| self.writer.take()).flatten())
    }

    /// How many bytes a reader of a spilled fill must have taken so that the writer does not wait for it.
    fn nearest(&self) -> Option<u64> {
        match self.keeping {
            Keeping::Memory | Keeping::Backed(_) => None,
            Keeping::Left(_) => Some(self.held.first()),
            Keeping::Nowhere => Some(self.held.received().saturating_sub(self.window())),
        }
    }

    /// Cuts off readers that are too far behind for the writer of a spilled fill to go on, if other readers wait for
    /// more. Readers that keep nobody waiting are left to their connections to judge.
    pub fn cut_off_slow(&mut self) {
        let Some(nearest) = self.nearest() else {
            return;
        };
        if self.readers.fastest().is_none_or(|at| at < nearest) {
            return;
        }
        self.readers.cut_off_before(nearest);
        self.readers.wake();
        self.trim();
    }

    /// Fails the fill, whoever reads it.
    pub fn give_up(&mut self) {
        self.given_up = true;
        self.end.get_or_insert(End::Failed(Broken::Left));
        self.readers.cut_off_before(u64::MAX);
        self.readers.wake();
        self.trim();
    }

    /// Notes that the writer begins to wait for readers, if it has to.
    pub fn begin_wait(&mut self) {
        self.readers.await_before(self.nearest().unwrap_or(0));
    }

    /// Notes that it has waited for `time`; see [`Followers::waited`](crate::fill::followers::Followers::waited).
    pub fn waited(&mut self, time: Duration) {
        self.readers.waited(time, self.held.received(), MOST_WAITED);
        self.readers.wake();
        self.trim();
    }
}
