//! Room: how much of a body is kept, and where.

use crate::{
    ask::Ask,
    cache::{Cache, Worker},
    outcome::Unkept,
    walk::tiers,
};
use std::sync::Arc;
use store::fill::{Backing, Fill, Overflow, Pushed, Writer};

/// Begins a fill within the budget. Nothing waits for it yet.
pub fn begin_fill(worker: &Worker) -> (Arc<Fill>, Writer) {
    Fill::begin(worker.cache.memory.budget().reservation())
}

/// How much of a body is kept, and where.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Larger bodies are not kept in memory.
    pub in_memory: u64,
    /// Larger bodies are not kept at all.
    pub largest: u64,
}

impl Room {
    /// Returns the room for what `ask` fetches.
    pub fn of(worker: &Worker, ask: &Ask) -> Self {
        let largest = ask.policy().largest_body;
        let in_memory = largest.min(worker.cache.memory.largest_body());
        let largest = match worker.cache.disk {
            Some(_) => largest,
            None => in_memory,
        };
        Self { in_memory, largest }
    }

    /// Announces a body to its fill, with its `length` in bytes if that is known. An error says why it may not be kept.
    pub fn admits(
        &self,
        worker: &Worker,
        ask: &Ask,
        length: Option<u64>,
        writer: &mut Writer,
    ) -> Result<(), Unkept> {
        writer.announce(length);
        if worker.cache.disk.is_some() {
            writer.overflow_to(Arc::new(ToDisk {
                cache: worker.cache.clone(),
                key: ask.key.as_bytes().into(),
            }));
        }
        match length {
            Some(length) if length > self.largest => Err(Unkept::TooLarge),
            Some(length) if length > self.in_memory => match writer.overflow() {
                Pushed::Kept => Ok(()),
                Pushed::Short => Err(Unkept::NoRoom),
                Pushed::Spilled => Err(Unkept::TooLarge),
            },
            _ => Ok(()),
        }
    }
}

/// The disk, for a body that becomes too large for memory. It takes the body if that was asked for before, so that a
/// scan does not wear out the device, or if the body replaces one that is there.
#[derive(Debug)]
struct ToDisk {
    cache: Arc<Cache>,
    key: Box<[u8]>,
}

impl Overflow for ToDisk {
    fn begin(&self, length: Option<u64>) -> Option<Box<dyn Backing>> {
        let disk = self.cache.disk.as_ref()?;
        if !tiers::is_fetched_again(&self.cache, &self.key) && !disk.knows(&self.key) {
            return None;
        }
        Overflow::begin(&**disk, length)
    }
}
