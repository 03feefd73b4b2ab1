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

/// A file is rewritten when it is larger than this, in bytes, and mostly of no use any more.
const LARGE: u64 = 1 << 20;

/// Writes batches, one after another.
pub(super) struct Writing {
    pub queue: Arc<JournalQueue>,
    pub medium: Box<dyn Medium>,
    pub lasting: Lasting,
    pub health: Health,
    /// Where the last good frame ends.
    pub end: u64,
    pub live: Live,
    /// The last number written.
    pub last: u64,
    /// It is not rewritten before it has come to this size.
    pub rewrite_at: u64,
}

/// What is known of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// It ends where it should.
    Good,
    /// A piece of a frame may follow the last good one.
    Uncut,
    /// It cannot be told what of it has reached the device.
    Unsynced,
}

impl Writing {
    /// Runs until the log is dropped.
    pub fn run(mut self) {
        while let Some(batch) = self.queue.next_batch() {
            self.step(batch);
        }
    }

    /// Writes one batch and tells those who wait for it. Where most of the file counts no more, it is written anew.
    pub fn step(&mut self, batch: Batch) {
        let written = self.write(&batch);
        if written.is_ok() {
            self.live.add(&batch);
            self.last = batch.last;
        }
        self.queue.written(batch, &written);
        if self.is_wasteful() {
            // The next write tells of what is wrong.
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

    /// Writes a new file of what still counts, in the place of the old one.
    fn rewrite(&mut self) -> io::Result<()> {
        self.rewrite_at = self.end.saturating_mul(2);
        let all = self.medium.read()?;
        let good = usize::try_from(self.end)
            .ok()
            .and_then(|end| all.get(..end));
        let contents = good.and_then(|good| Contents::read(good).ok().flatten());
        let whole = contents.filter(|contents| contents.tail == Tail::Clean);
        // Where the device does not give back what it took, nothing is known.
        let unknown = || Sum::unknown(self.last);
        let sum = whole.map_or_else(unknown, |contents| Sum::of(&contents));
        let bytes = sum.rewritten();
        self.medium.replace(&bytes)?;
        self.end = bytes.len() as u64;
        // Also where less of it was of no use than it seemed.
        self.rewrite_at = self.end.saturating_mul(2);
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
    /// Those that `sum` remembers.
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
        if batch.retired > self.retired {
            self.retired = batch.retired;
            self.purges.retain(|weight| weight.sequence > batch.retired);
            self.bytes = self.purges.iter().map(|weight| weight.bytes).sum();
        }
    }

    fn put(&mut self, weight: Weight) {
        self.bytes += weight.bytes;
        let gone = self.purges.put(weight.hash, weight.soft, weight);
        self.bytes -= gone.iter().map(|weight| weight.bytes).sum::<u64>();
    }
}
