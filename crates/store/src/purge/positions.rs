//! Which entries of the log that nodes share correspond to which of this node's own.

use super::Position;
use std::collections::VecDeque;

/// At most this many positions of shared entries are remembered; what was stored before the oldest is not known to be good.
const MOST: usize = 1 << 18;

/// Entries of the shared log, and the numbers they have here.
#[derive(Debug, Default)]
pub(super) struct Positions {
    /// All entries after this position are known, and it was known here when the log stood at this number; `None`: nothing
    /// was read yet.
    base: Option<(Position, u64)>,
    /// Ascending in both.
    list: VecDeque<(Position, u64)>,
    /// What took effect here before it stands in the shared log.
    ahead: Option<Ahead>,
}

/// Entries of this node whose copies have not come back from the shared log.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    /// The copies of all up to this number have.
    before: u64,
    /// The number of the last.
    newest: u64,
}

impl Positions {
    /// All entries after `position` are known, and it when the log stood at `number`. The first one given stays.
    pub fn begin(&mut self, position: Position, number: u64) {
        self.base.get_or_insert((position, number));
    }

    /// Whether it is known from where on the shared log is.
    pub fn have_begun(&self) -> bool {
        self.base.is_some()
    }

    /// The entry at `position` took effect as `number`.
    pub fn note(&mut self, position: Position, number: u64) {
        self.begin(position, number);
        if self.list.len() >= MOST
            && let Some(oldest) = self.list.pop_front()
        {
            self.base = Some(oldest);
        }
        self.list.push_back((position, number));
    }

    /// The last entry that is known, or where reading begins.
    pub fn last(&self) -> Option<(Position, u64)> {
        self.list.back().copied().or(self.base)
    }

    /// The last position that was known here when the log stood at `number`.
    pub fn at(&self, number: u64) -> Option<Position> {
        let last = self.before(|(_, known)| *known <= number)?;
        (last.1 <= number).then_some(last.0)
    }

    /// Whoever knew the shared log up to `position` knew every purge up to this number.
    pub fn number(&self, position: Position) -> Option<u64> {
        if self.base.is_none_or(|(base, _)| position < base) {
            return None;
        }
        // Not up to the next one: entries of this node alone may lie between, of which others do not know.
        let (_, number) = self.before(|(known, _)| *known <= position)?;
        let ahead = self.ahead;
        Some(ahead.map_or(number, |ahead| number.min(ahead.before)))
    }

    /// The last of those for which `holds`, which come first.
    fn before(&self, holds: impl FnMut(&(Position, u64)) -> bool) -> Option<(Position, u64)> {
        let after = self.list.partition_point(holds);
        let last = after.checked_sub(1).and_then(|last| self.list.get(last));
        last.copied().or(self.base)
    }

    /// `number` took effect before it stands in the shared log.
    pub fn go_ahead(&mut self, number: u64) {
        let ahead = self.ahead;
        let before = ahead.map_or(number.saturating_sub(1), |ahead| ahead.before);
        self.ahead = Some(Ahead {
            before,
            newest: number,
        });
    }

    /// The copies of all that went ahead up to `number` have come back.
    pub fn come_back(&mut self, number: u64) {
        let left = self.ahead.filter(|ahead| ahead.newest > number);
        self.ahead = left.map(|ahead| Ahead {
            before: ahead.before.max(number),
            ..ahead
        });
    }

    /// Whether the copy of what went ahead as `number`, read as the next entry, says nothing new: no entry of the shared log has
    /// taken effect since. So what was checked up to `number` has been held against all that stands before the copy, and
    /// what comes from elsewhere and was not, has a smaller number.
    pub fn is_next(&self, number: u64) -> bool {
        let is_ahead = |ahead: Ahead| ahead.before < number && number <= ahead.newest;
        let is_later = |(_, last): (Position, u64)| last < number;
        self.ahead.is_some_and(is_ahead) && self.last().is_some_and(is_later)
    }

    /// What may be forgotten where everything up to `number` may: the last entry stays, so that a restart knows where to read on,
    /// and so does what went ahead, which is held against what comes from elsewhere.
    pub fn spare(&self, number: u64) -> u64 {
        let last = self.list.back();
        let last = last.map_or(number, |(_, last)| last.saturating_sub(1));
        let ahead = self.ahead.map_or(number, |ahead| ahead.before);
        number.min(last).min(ahead)
    }
}

#[cfg(test)]
mod tests;
