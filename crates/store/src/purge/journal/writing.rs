//! The thread that writes the log.

use super::{
    JournalQueue, Lasting,
    format::{Contents, Tail, frame},
    medium::Medium,
    needed::Needed,
    queue::{Batch, Weight},
    remembered::Sum,
};
use std::{io, sync::Arc};

/// A file is rewritten if it is larger than this, in bytes, and mostly of no use any more.
const LARGE: u64 = 1 << 20;

/// The most bytes of purges that still count. Beyond it the file forgets the older ones, and after a restart what has
/// not been checked since counts as purged. Every client can have its unsafe requests written here, and each start reads
/// all of it.
const MOST: u64 = 32 << 20;

/// Writes batches, one after another.
pub(super) struct Writing {
    pub queue: Arc<JournalQueue>,
    pub medium: Box<dyn Medium>,
    pub lasting: Lasting,
    pub health: Health,
    /// The end of the last good frame.
    pub end: u64,
    pub live: Live,
    /// The last number written.
    pub last: u64,
    /// The file is not rewritten before it has this size.
    pub rewrite_at: u64,
}

/// What is known about the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// It ends where it should.
    Good,
    /// A piece of a frame may follow the last good one.
    Uncut,
    /// It is not known how much of it has reached the device.
    Unsynced,
}

impl Writing {
    /// Runs until the log is dropped.
    pub fn run(mut self) {
        while let Some(batch) = self.queue.next_batch() {
            self.step(batch);
        }
    }

    /// Writes one batch and answers the tasks that wait for it. Rewrites the file if most of it does not count any
    /// more.
    pub fn step(&mut self, batch: Batch) {
        let written = self.write(&batch);
        if written.is_ok() {
            self.live.add(&batch);
            self.last = batch.last;
        }
        self.queue.written(batch, &written);
        if self.is_wasteful() || self.is_too_large() {
            // If this fails, the next write reports it.
            let _ = self.rewrite();
        }
    }

    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        match self.health {
            Health::Good => {}
            Health::Uncut => self.medium.cut(self.end)?,
            Health::Unsynced => self.rewrite()?,
        }
        let frame = frame(&batch.content);
        self.health = Health::Uncut;
        self.medium.append(&frame)?;
        if self.lasting == Lasting::Synced {
            self.health = Health::Unsynced;
            self.medium.sync()?;
        }
        self.health = Health::Good;
        self.end += frame.len() as u64;
        Ok(())
    }

    fn is_wasteful(&self) -> bool {
        self.end > LARGE.max(self.rewrite_at) && self.end / 2 > self.live.bytes
    }

    fn is_too_large(&self) -> bool {
        self.end > self.rewrite_at && self.live.bytes > MOST
    }

    /// Writes what still counts to a new file, which replaces the old one.
    fn rewrite(&mut self) -> io::Result<()> {
        self.rewrite_at = self.end.saturating_mul(2);
        let all = self.medium.read()?;
        let good = usize::try_from(self.end)
            .ok()
            .and_then(|end| all.get(..end));
        let contents = good.and_then(|good| Contents::read(good).ok().flatten());
        let whole = contents.filter(|contents| contents.tail == Tail::Clean);
        // If the device does not return what it took, nothing is known.
        let unknown = || Sum::unknown(self.last);
        let mut sum = whole.map_or_else(unknown, |contents| Sum::of(&contents));
        if self.live.bytes > MOST {
            sum.shorten(MOST / 2);
        }
        let bytes = sum.rewritten();
        self.medium.replace(&bytes)?;
        self.end = bytes.len() as u64;
        self.live.retire(sum.base.floor);
        // Also if less of it was of no use than it seemed.
        let most = self.end.saturating_mul(2).min(MOST);
        self.rewrite_at = most.max(self.end.saturating_add(LARGE));
        self.health = Health::Unsynced;
        self.medium.settle()?;
        self.health = Health::Good;
        Ok(())
    }
}

/// The purges in the file that still count, by the hash of what they name.
#[derive(Debug, Default)]
pub(super) struct Live {
    purges: Needed<u64, Weight>,
    pub bytes: u64,
    retired: u64,
}

impl Live {
    /// The purges that `sum` remembers.
    pub fn of(sum: &Sum<'_>) -> Self {
        let mut live = Self::default();
        for weight in sum.weights() {
            live.put(weight);
        }
        live
    }

    fn add(&mut self, batch: &Batch) {
        for weight in &batch.purges {
            self.put(*weight);
        }
        self.retire(batch.retired);
    }

    /// Forgets the purges up to this number.
    fn retire(&mut self, sequence: u64) {
        if sequence > self.retired {
            self.retired = sequence;
            self.purges.retain(|weight| weight.sequence > sequence);
            self.bytes = self.purges.iter().map(|weight| weight.bytes).sum();
        }
    }

    fn put(&mut self, weight: Weight) {
        self.bytes += weight.bytes;
        let gone = self.purges.put(weight.hash, weight.soft, weight);
        self.bytes -= gone.iter().map(|weight| weight.bytes).sum::<u64>();
    }
}
