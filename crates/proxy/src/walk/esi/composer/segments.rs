//! The part of the composer that turns what was read into segments, in order.

use super::Composer;
use crate::walk::esi::{
    fragment::{Fate, Fragment},
    segment::{self, Buffered, Segment, Segments, Side, Try},
    texts::Text,
};
use esi::Step;

impl Composer {
    pub(super) fn take(&mut self, step: Step) {
        match step {
            Step::Text(span) => self.push_text(Text {
                bytes: self.source.bytes(span),
                is_made: false,
            }),
            Step::Value(value) => self.push_text(Text {
                bytes: value.into(),
                is_made: true,
            }),
            Step::Include(address) => {
                let fragment = Fragment::from(address);
                self.includes += fragment.weight();
                self.push(Segment::Include(Box::new(fragment)));
            }
            Step::Try => self.open.push(Try::default()),
            Step::Attempt => self.turn(Side::Attempt),
            Step::Except => self.turn(Side::Except),
            Step::End => self.end(),
        }
    }

    fn push_text(&mut self, text: Text) {
        let buffered = self.buffered.with(text.buffered());
        if let Some(segments) = self.reading() {
            segment::push_text(segments, text);
            self.buffered = buffered;
        }
    }

    fn push(&mut self, segment: Segment) {
        let buffered = self.buffered.with(Buffered::one(&segment));
        if let Some(segments) = self.reading() {
            segments.push_back(segment);
            self.buffered = buffered;
        }
    }

    /// Returns where the segments now being read belong; `None` between the sides of an attempt.
    fn reading(&mut self) -> Option<&mut Segments> {
        match self.open.last_mut() {
            None => Some(&mut self.queue),
            Some(both) => both.reading(),
        }
    }

    fn turn(&mut self, side: Side) {
        if let Some(both) = self.open.last_mut() {
            both.side = Some(side);
        }
    }

    /// Ends a side, or an attempt after both sides.
    fn end(&mut self) {
        let Some(mut both) = self.open.pop() else {
            return;
        };
        if both.side.take().is_some() {
            self.open.push(both);
        } else {
            self.push(Segment::Try(Box::new(both)));
        }
    }

    /// Replaces the attempt that comes next by one of its sides, now that it has succeeded or failed.
    pub(super) fn settle(&mut self, fate: Fate) {
        if let Some(Segment::Try(both)) = self.queue.pop_front() {
            let Try {
                attempt, except, ..
            } = *both;
            let mut taken = if fate == Fate::Good { attempt } else { except };
            taken.append(&mut self.queue);
            self.queue = taken;
            self.buffered = self
                .open
                .iter()
                .fold(Buffered::of(&self.queue), |buffered, both| {
                    buffered
                        .with(Buffered::of(&both.attempt))
                        .with(Buffered::of(&both.except))
                });
        }
    }
}
