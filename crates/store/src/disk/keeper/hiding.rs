//! Hides records that are out of date from the next start.

use super::{Keeper, Refused, content::Content};
use crate::disk::{Doing, index::Spot, record::Bodies};

impl Keeper {
    /// Writes a [marker](crate::Stored::given_up) behind the record at `spot`, which was forgotten, unless something
    /// that hides it was written already. If that fails, the record is found again at the next start.
    pub(super) fn hide(&mut self, spot: Spot) {
        let versions = self.shared.index.versions(spot.key, spot.variant);
        if !versions.is_empty() || !self.shared.device.health.may(Doing::Writing) {
            return;
        }
        // A record whose file is gone hides what came before it by itself, and so does a marker.
        let Ok((key, old)) = self.shared.reread(spot, Bodies::Left) else {
            return;
        };
        if old.is_given_up() {
            return;
        }
        let marker = old.given_up(self.shared.log.head());
        let content = Content::Inline(Vec::new());
        if let Err(Refused::Failed(error)) = self.append(&key, &marker, &content, false) {
            self.failed(&error);
        }
    }
}
