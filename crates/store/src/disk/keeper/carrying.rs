//! Counts the tags that kept responses carry, so that a purge can say how much it touched.

use super::{Keeper, Leaving};
use crate::{
    Stored,
    codec::{View, label},
    disk::{
        device::{Missed, ReadMode},
        format::RECORD_HEAD,
        index::{RecordPosition, Spot},
        record::Bodies,
        segment::Segment,
    },
    purge::{Label, Standing},
};
use std::sync::Arc;

impl Keeper {
    /// Counts the tags of `stored`, which was just written to `spot` and checked up to `checked`.
    pub(super) fn count_written(&mut self, key: &[u8], stored: &Stored, checked: u64, spot: Spot) {
        let Some(marks) = &stored.marks else { return };
        if !self.shared.index.mark_counted(spot.key, spot.place) {
            return;
        }
        self.shared.log.carried().add(marks.texts(), checked);
        // A purge that took effect since the last check found nothing to take off.
        if self.shared.log.standing(key, stored) == Standing::Gone {
            let forgotten = self.shared.index.remove(spot.key, spot.place);
            self.settle(forgotten);
        }
    }

    /// Counts the tags of `spot`, unless they are counted already.
    pub(super) fn count_found(&self, spot: &Spot, label: &Label<'_>) {
        if !label.tags.is_empty() && self.shared.index.mark_counted(spot.key, spot.place) {
            let carried = self.shared.log.carried();
            carried.add(label.tags.iter().copied(), label.checked);
        }
    }

    /// Takes off the tags of `spot`, which is no longer kept. Damaged bytes do not say which tags they carried; those
    /// stay counted.
    pub(super) fn uncount(&self, spot: &Spot) {
        if spot.is_counted()
            && let Some(segment) = self.segment(spot.place.segment())
        {
            let _ = self.take_off(&segment, *spot);
        }
    }

    fn take_off(&self, segment: &Arc<Segment>, spot: Spot) -> Result<(), Missed> {
        let record = self
            .shared
            .record(segment.clone(), spot, ReadMode::Blocking, Bodies::Left)?;
        let head = record.bytes.get(RECORD_HEAD..record.head.sums());
        let view = View::parse(head.unwrap_or_default()).map_err(|_| Missed::Damaged)?;
        let checked = self.shared.checked(segment, view.checked);
        self.shared.log.carried().remove(view.tags, checked);
        Ok(())
    }

    /// Takes off the tags of everything in `segment`, which is about to go.
    pub(super) fn uncount_all(&self, segment: &Segment) {
        let Ok(Some(labels)) = segment.labels() else {
            return;
        };
        let mut rest = labels.as_slice();
        while let Ok((unit, label, more)) = label::read(rest) {
            rest = more;
            let key = self.shared.hash(label.key);
            let place = RecordPosition::new(segment.id, unit);
            if !label.tags.is_empty() && self.shared.index.unmark_counted(key, place) {
                let checked = self.shared.checked(segment, label.checked);
                self.shared.log.carried().remove(label.tags, checked);
            }
        }
    }

    /// Returns a segment, including one that was removed lately.
    fn segment(&self, id: u32) -> Option<Arc<Segment>> {
        let is_it = |left: &(_, Leaving)| match &left.1 {
            Leaving::Segment(segment) if segment.id == id => Some(segment.clone()),
            _ => None,
        };
        self.shared
            .segment(id)
            .or_else(|| self.leaving.iter().find_map(is_it))
    }
}
