//! Responses that a 304 confirmed: their bodies may be there already, in chunks.

use super::{EXPIRED_AT_ONCE, Keep, LONGER, Passed, unnamed::names};
use crate::{
    Body,
    clock::now,
    shared::{
        Inner, chunk,
        guard::Failed,
        record::{BodyLocation, ChunkSet, Entry},
    },
};
use bytes::Bytes;
use rules::time::Time;

impl Inner {
    /// Writes the head alone, over chunks that are there: the body was confirmed by a 304. `None` if they are not
    /// there, or if no record names them, so that they may go at any moment.
    ///
    /// `unnamed` gets the names of chunks that were prolonged, and that no record names any more.
    pub(super) async fn write_head(
        &self,
        keep: &Keep,
        head: &Bytes,
        unnamed: &mut Vec<String>,
    ) -> Result<Option<Vec<String>>, Passed> {
        let Some(known) = keep.stored.chunks() else {
            return Ok(None);
        };
        // To prolong many chunks takes long. Others may write under the name meanwhile, so this is before the turn.
        let before = self.before(&keep.key, &keep.name).await?;
        let count = count(&keep.stored.body);
        let is_body = |set: &ChunkSet| set.id == known && Some(u64::from(set.count)) == count;
        let Some(set) = before.sets.iter().copied().find(is_body) else {
            return Ok(None);
        };
        let (now, place) = (now(), BodyLocation::Apart(set));
        let entries = self.entries(keep, head.clone(), place, before.there, now)?;
        if !self.prolong(keep, set, &entries, now).await? {
            return Ok(None);
        }
        self.write_over(keep, head, set, unnamed).await
    }

    /// Writes the record with this head over chunks that have just been prolonged, if a record still names them.
    async fn write_over(
        &self,
        keep: &Keep,
        head: &Bytes,
        set: ChunkSet,
        unnamed: &mut Vec<String>,
    ) -> Result<Option<Vec<String>>, Passed> {
        // From here until the record is written, no other task on this node gives the chunks up.
        let _turn = self.writing.of(&keep.name).lock().await;
        let before = self.before(&keep.key, &keep.name).await?;
        let is_named = before.sets.contains(&set);
        if !is_named {
            // They may have been given up before they were prolonged.
            unnamed.extend(names(&keep.name, set));
        }
        let (now, place) = (now(), BodyLocation::Apart(set));
        // Also if they are not named: where a newer one is there, the whole need not be written either.
        let entries = self.entries(keep, head.clone(), place, before.there, now)?;
        if !is_named {
            return Ok(None);
        }
        self.put(keep, &entries, before.sets, now).await.map(Some)
    }

    /// Makes the server keep these chunks of the body as long as any of `entries` names them. Returns whether all of
    /// them are there.
    async fn prolong(
        &self,
        keep: &Keep,
        set: ChunkSet,
        entries: &[Entry],
        now: Time,
    ) -> Result<bool, Failed> {
        let naming = entries
            .iter()
            .filter(|entry| entry.place.chunks() == Some(set));
        let until = naming.map(|entry| entry.until.since(now)).max();
        let expiry = until.unwrap_or(keep.worth) + LONGER;
        let names: Vec<_> = names(&keep.name, set).collect();
        for names in names.chunks(EXPIRED_AT_ONCE) {
            if !self.guard.expire(names, expiry).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The number of chunks that a whole body takes.
fn count(body: &Body) -> Option<u64> {
    let length = body.length()?;
    Some(length.div_ceil(chunk::LONGEST as u64).max(1))
}
