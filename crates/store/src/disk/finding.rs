//! Finds what is kept under a key.

use super::{
    Disk, DiskState,
    device::{Missed, ReadMode},
    index::Spot,
    record::Bodies,
    statistics::count,
};
use crate::{Stored, purge::Standing};
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::sync::oneshot;

/// The result of a lookup in the tier.
pub enum DiskLookup {
    /// Nothing.
    Nothing,
    /// These stored responses, which were read without waiting.
    Here(Vec<Arc<Stored>>),
    /// The device must be waited for.
    Wait(Finding),
}

/// What was read, and where.
type Read = (Spot, Arc<Stored>);

/// A read that waits for the device, on a thread of the tier.
pub struct Finding {
    read: oneshot::Receiver<Vec<Read>>,
    shared: Arc<DiskState>,
    counting: Counting,
}

/// Whether a look counts as a hit or a miss.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counting {
    Counted,
    /// Its caller answers nothing with what it finds.
    Uncounted,
}

impl Future for Finding {
    /// Empty if nothing is there after all.
    type Output = Vec<Arc<Stored>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let read = ready!(Pin::new(&mut self.read).poll(context)).unwrap_or_default();
        let found = self.shared.still_there(read);
        if self.counting == Counting::Counted {
            self.shared.count(!found.is_empty());
        }
        Poll::Ready(found)
    }
}

impl Disk {
    /// Returns what is kept under `key`, without ever waiting. Small bodies come with it, large ones as
    /// [`OnDisk`](super::OnDisk). Bodies of middle size come as `bodies` says, if the device need not be waited for.
    /// What a purge covers is no longer found.
    pub fn find(&self, key: &[u8], bodies: Bodies) -> DiskLookup {
        let spots = self.shared.index.find(self.shared.hash(key));
        let mut here = Vec::new();
        for (number, spot) in spots.iter().enumerate() {
            match self
                .shared
                .standing(key, *spot, ReadMode::NonBlocking, bodies)
            {
                Ok(found) => here.extend(found.map(|stored| (*spot, stored))),
                Err(Missed::Waits) => {
                    let rest = spots.get(number..).unwrap_or_default().to_vec();
                    return match self.read_soon(key, rest, here, Counting::Counted) {
                        Some(finding) => DiskLookup::Wait(finding),
                        None => DiskLookup::Nothing,
                    };
                }
                Err(Missed::Damaged | Missed::Failed | Missed::Rests) => {}
            }
        }
        let here = self.shared.still_there(here);
        self.shared.count(!here.is_empty());
        if here.is_empty() {
            DiskLookup::Nothing
        } else {
            DiskLookup::Here(here)
        }
    }

    /// Like [`find`](Self::find), but waits for the device if necessary, and counts neither a hit nor a miss. For
    /// callers that want to know what is there and answer nothing with it.
    pub async fn peek(&self, key: &[u8]) -> Vec<Arc<Stored>> {
        let spots = self.shared.index.find(self.shared.hash(key));
        match self.read_soon(key, spots, Vec::new(), Counting::Uncounted) {
            Some(finding) => finding.await,
            None => Vec::new(),
        }
    }

    /// Has a thread of the tier read `rest`; `None` if too many reads wait already.
    fn read_soon(
        &self,
        key: &[u8],
        rest: Vec<Spot>,
        mut here: Vec<Read>,
        counting: Counting,
    ) -> Option<Finding> {
        let (answer, read) = oneshot::channel();
        let (shared, key) = (self.shared.clone(), Box::<[u8]>::from(key));
        let wait = move || {
            for spot in rest {
                here.extend(shared.latest(&key, spot));
            }
            // The caller may have gone.
            let _ = answer.send(here);
        };
        let is_taken = self.shared.device.readers.run_soon(wait);
        if counting == Counting::Counted && !is_taken {
            self.shared.count(false);
        }
        is_taken.then(|| Finding {
            read,
            shared: self.shared.clone(),
            counting,
        })
    }
}

impl DiskState {
    /// Reads the stored response at `spot`, unless a purge covers it, or it was given up.
    pub(super) fn standing(
        &self,
        key: &[u8],
        spot: Spot,
        mode: ReadMode,
        bodies: Bodies,
    ) -> Result<Option<Arc<Stored>>, Missed> {
        let Some(stored) = self.read(key, spot, mode, bodies)? else {
            return Ok(None);
        };
        if stored.is_given_up() {
            return Ok(None);
        }
        let checked = stored.checked();
        let standing = self.log.standing_on_disk(key, &stored);
        if standing == Standing::Gone {
            self.forget(spot);
            return Ok(None);
        }
        if self.log.has_released(checked) && self.index.at(spot.key, spot.place).is_none() {
            // The sweep that gave it up may have compared it with an expression that is forgotten by now.
            return Ok(None);
        }
        Ok(Some(Arc::new(match standing {
            Standing::Stale { since, checked } => stored.stale_since(since, checked),
            Standing::Good | Standing::Unsure | Standing::Gone => stored,
        })))
    }

    /// Reads the record at `spot`, or what has taken its place in the index meanwhile: it may have been moved.
    fn latest(&self, key: &[u8], spot: Spot) -> Option<Read> {
        let read = |spot: Spot| {
            let found = self.standing(key, spot, ReadMode::Blocking, Bodies::Read);
            let stored = found.ok().flatten()?;
            self.index.at(spot.key, spot.place).map(|_| (spot, stored))
        };
        read(spot).or_else(|| {
            let latest = self.index.versions(spot.key, spot.variant);
            let mut moved = latest
                .into_iter()
                .filter(|latest| latest.place != spot.place);
            moved.find_map(read)
        })
    }

    /// Those of `read` that were not forgotten meanwhile, and that nothing newer hides: it may have come, been queued for
    /// the disk, and left memory while the device was waited for.
    fn still_there(&self, read: Vec<Read>) -> Vec<Arc<Stored>> {
        let is_there = |(spot, stored): &Read| {
            // In this order: what waits no longer has changed the index.
            !self.device.queue.hides(spot.key, stored)
                && self.index.at(spot.key, spot.place).is_some()
        };
        let read = read.into_iter().filter(is_there);
        read.map(|(_, stored)| stored).collect()
    }

    fn count(&self, is_hit: bool) {
        let counts = &self.device.counts;
        count(if is_hit { &counts.hits } else { &counts.misses });
    }
}
