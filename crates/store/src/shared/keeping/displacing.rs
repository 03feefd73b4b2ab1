//! A response that is not kept takes out what it supersedes.

use super::{
    LEAST, Passed,
    before::Before,
    rival::{Rival, There, is_older},
    turns::WritePermit,
    unnamed::unnamed,
};
use crate::{
    Stored,
    clock::now,
    shared::{Inner, record},
};
use std::sync::Arc;

impl Inner {
    /// Removes what `stored` supersedes from the tier, in the background. `stored` itself is not kept there.
    pub(super) fn displace(self: &Arc<Self>, key: &[u8], stored: &Arc<Stored>) {
        let (Ok(runtime), Some(permit)) = (
            tokio::runtime::Handle::try_current(),
            WritePermit::take(self),
        ) else {
            return;
        };
        let (key, stored): (Box<[u8]>, _) = (key.into(), Arc::clone(stored));
        runtime.spawn(async move {
            let tier = permit.tier();
            // If that fails, what is there goes when it expires.
            if let Ok(unnamed) = tier.without_older(&key, &stored).await {
                tier.give_up(&unnamed).await;
            }
        });
    }

    /// Writes the record again without what is older than `stored` and answers the same requests. Returns the names of
    /// chunks that nothing uses any more.
    async fn without_older(&self, key: &[u8], stored: &Stored) -> Result<Vec<String>, Passed> {
        let name = self.name(key);
        let _turn = self.writing.of(&name).lock().await;
        let Before { there, sets } = self.before(key, &name).await?;
        let now = now();
        let rival = Rival::of(stored);
        let is_older = |old: &There| rival.is(old) && is_older(old, stored, now);
        if !there.iter().any(is_older) {
            return Ok(Vec::new());
        }
        let left = there.into_iter().filter(|old| !is_older(old));
        let left: Vec<_> = left.map(|old| old.entry).collect();
        let until = left.iter().map(|entry| entry.until).max();
        let expiry = until.map_or(LEAST, |until| until.since(now)).max(LEAST);
        let value = record::write(&left).ok_or(Passed::Over)?;
        self.guard.set(&name, &value, expiry).await?;
        Ok(unnamed(&name, sets, &left, self.config.largest_body))
    }
}
