//! Carries out purges: on this node or all nodes, durably, with counts.

mod log;
#[cfg(test)]
mod tests;

use crate::{
    Memory, Purged,
    disk::Disk,
    purge::Purge,
    sweep::{Busiest, Sweeper},
};
use rules::time::Time;
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::time::timeout;

pub use log::{Boxed, Durable, NotDurable, PurgeError, SharedLog, Unreachable};

/// How long an application's answer waits until what it invalidates is on disk.
const SETTLING: Duration = Duration::from_secs(2);

/// Who asks for a purge of this node alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// A client that can be refused, and may try again.
    Client,
    /// Another node, where the purge has taken effect. If refused, it would be sent again without end, and nothing
    /// after it would ever arrive.
    Node,
}

/// The result of a purge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeAnswer {
    /// The number of its last entry in this node's log.
    pub sequence: u64,
    /// Stored responses that it touched in this node's memory: those that were still there when they were counted, once
    /// it had taken effect here. At least as many were touched.
    pub touched: u64,
    /// Stored responses that it touched on this node's disk, including those that memory holds too. At least so many;
    /// `None` without a disk.
    pub on_disk: Option<u64>,
    /// The nodes that had not applied it when the wait was over; `None` if nobody waited.
    pub behind: Option<Vec<String>>,
}

/// Takes purges. Shared by the admin API and all workers.
#[derive(Debug)]
pub struct Purger {
    memory: Arc<Memory>,
    sweeper: Sweeper,
    disk: OnceLock<Arc<Disk>>,
    durable: OnceLock<Arc<dyn Durable>>,
    shared: OnceLock<Arc<dyn SharedLog>>,
}

impl Purger {
    /// Makes a purger of what `memory` and the tiers below it hold.
    pub fn new(memory: Arc<Memory>, sweeper: Sweeper) -> Self {
        Self {
            memory,
            sweeper,
            disk: OnceLock::new(),
            durable: OnceLock::new(),
            shared: OnceLock::new(),
        }
    }

    /// Also counts what is on `disk`. Only the first call has an effect.
    pub fn count_on(&self, disk: Arc<Disk>) {
        let _ = self.disk.set(disk);
    }

    /// Acknowledges purges when `durable` says so. Only the first call has an effect.
    pub fn last_by(&self, durable: Arc<dyn Durable>) {
        let _ = self.durable.set(durable);
    }

    /// Sends purges to all nodes. Only the first call has an effect.
    pub fn share_by(&self, shared: Arc<dyn SharedLog>) {
        let _ = self.shared.set(shared);
    }

    /// Applies all purges, or none on an error. No lookup on this node that begins after this is ready finds what they
    /// cover. With `wait`, this also waits for the other nodes, at most that long. `busiest` is told later what soft
    /// purges touched.
    ///
    /// # Errors
    /// See [`PurgeError`].
    pub async fn purge(
        &self,
        purges: Vec<Purge>,
        at: Time,
        wait: Option<Duration>,
        busiest: Option<Busiest>,
    ) -> Result<PurgeAnswer, PurgeError> {
        let (done, position) = match self.shared.get() {
            Some(shared) => {
                let (done, position) = shared.publish(purges.clone()).await?;
                (done, Some(position))
            }
            None => (self.memory.purge(&purges, at)?, None),
        };
        let held = async {
            let sequence = self.lasting(&done).await?;
            let behind = match (wait, self.shared.get(), position) {
                (Some(wait), Some(shared), Some(position)) => {
                    Some(shared.everywhere(position, wait).await)
                }
                (Some(_), ..) => Some(Vec::new()),
                (None, ..) => None,
            };
            Ok::<_, PurgeError>((sequence, behind))
        };
        // Counted at once: responses that requests find gone meanwhile are not counted.
        let counted = self.sweeper.touched(&purges, &done, busiest);
        let (touched, on_disk, held) = tokio::join!(counted, self.on_disk(&purges, &done), held);
        self.memory.log().count_touched(touched);
        let (sequence, behind) = held?;
        Ok(PurgeAnswer {
            sequence,
            touched,
            on_disk,
            behind,
        })
    }

    /// Like [`purge`](Self::purge), on this node alone. If there is no room for the expressions of another node,
    /// everything is purged instead, as with expressions that come by the shared log. For a node it is also enough that a
    /// purge holds, durable or not.
    ///
    /// # Errors
    /// [`PurgeError::TooMany`] and [`PurgeError::NotDurable`], neither for nodes.
    pub async fn purge_here(
        &self,
        purges: Vec<Purge>,
        at: Time,
        asker: Asker,
        busiest: Option<Busiest>,
    ) -> Result<PurgeAnswer, PurgeError> {
        let done = match asker {
            Asker::Client => self.memory.purge(&purges, at)?,
            Asker::Node => self.apply(&purges, at),
        };
        let counted = self.sweeper.touched(&purges, &done, busiest);
        let on_disk = self.on_disk(&purges, &done);
        let (touched, on_disk, sequence) = tokio::join!(counted, on_disk, self.lasting(&done));
        self.memory.log().count_touched(touched);
        let sequence = match (sequence, asker) {
            // It holds. This node's operator hears of the log, not the other node.
            (Err(_), Asker::Node) => last(&done),
            (sequence, _) => sequence?,
        };
        Ok(PurgeAnswer {
            sequence,
            touched,
            on_disk,
            behind: None,
        })
    }

    /// Purges what an application's answer invalidates (RFC 9111 section 4.4): at once here, soon on other nodes, and
    /// over a restart when [`settled`](Self::settled) is ready.
    pub fn invalidate(&self, purge: Purge, at: Time) {
        match self.shared.get() {
            Some(shared) => shared.tell(purge, at),
            None => self.invalidate_here(purge, at),
        }
    }

    /// Like [`invalidate`](Self::invalidate), on this node alone: other nodes may hold anew what is out of date here.
    pub fn invalidate_here(&self, purge: Purge, at: Time) {
        self.memory.apply(purge, at, None);
    }

    /// Waits until what was invalidated before lasts, for two seconds at most. If the log cannot be written, the client
    /// is neither told nor held up: what was invalidated comes back at a restart, and the operator hears of it
    /// ([`Durable::is_failing`]).
    pub async fn settled(&self) {
        if let Some(durable) = self.durable.get() {
            let _ = timeout(SETTLING, durable.durable(u64::MAX)).await;
        }
    }

    /// Says to the other nodes that this one answers no request any more, if that can be said.
    pub async fn leave(&self) {
        if let Some(shared) = self.shared.get() {
            shared.leave().await;
        }
    }

    /// Whether what is purged now would be forgotten at a restart, although it was to be kept.
    pub fn is_failing(&self) -> bool {
        let durable = self.durable.get();
        durable.is_some_and(|durable| durable.is_failing())
    }

    /// Applies all purges, whether there is room for them or not.
    fn apply(&self, purges: &[Purge], at: Time) -> Vec<Purged> {
        let all = purges.iter();
        all.map(|purge| self.memory.apply(purge.clone(), at, None))
            .collect()
    }

    /// How many stored responses on disk `purges` touched, whose results are `done`.
    async fn on_disk(&self, purges: &[Purge], done: &[Purged]) -> Option<u64> {
        let disk = self.disk.get()?;
        let tagged: u64 = done.iter().map(|purged| purged.below).sum();
        Some(tagged + disk.touched(purges).await)
    }

    /// Waits until what was done is durable, and returns the number of the last of it.
    async fn lasting(&self, done: &[Purged]) -> Result<u64, NotDurable> {
        let sequence = last(done);
        if let Some(durable) = self.durable.get() {
            durable.durable(sequence).await?;
        }
        Ok(sequence)
    }
}

/// The number of the last entry that these left in the log.
fn last(done: &[Purged]) -> u64 {
    let numbers = done.iter().map(|purged| purged.sequence);
    numbers.max().unwrap_or_default()
}
