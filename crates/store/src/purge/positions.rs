//! Maps entries of the log that nodes share to this node's own numbers.

use super::Position;
use std::collections::VecDeque;

/// The most positions of shared entries that are remembered. What was stored before the oldest is not known to be good.
const MOST: usize = 1 << 18;

/// The entries of the shared log, and their numbers on this node.
#[derive(Debug, Default)]
pub(super) struct Positions {
    /// All entries after this position are known, and the position itself was known when this node's log stood at this
    /// number. `None` if nothing has been read yet.
    base: Option<(Position, u64)>,
    /// Ascending in both.
    list: VecDeque<(Position, u64)>,
    /// Entries that took effect here before they are in the shared log.
    ahead: Option<Ahead>,
}

/// Entries of this node whose copies have not come back from the shared log.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    /// The copies of all entries up to this number have come back.
    before: u64,
    /// The number of the last one.
    newest: u64,
}

impl Positions {
    /// Notes that all entries after `position` are known, and that `position` itself was known when the log stood at
    /// `number`. Only the first call has an effect.
    pub fn begin(&mut self, position: Position, number: u64) {
        self.base.get_or_insert((position, number));
    }

    /// Whether it is known from which position on the shared log has been read.
    pub fn have_begun(&self) -> bool {
        self.base.is_some()
    }

    /// Notes that the entry at `position` took effect as `number`.
    pub fn note(&mut self, position: Position, number: u64) {
        self.begin(position, number);
        if self.list.len() >= MOST
            && let Some(oldest) = self.list.pop_front()
        {
            self.base = Some(oldest);
        }
        self.list.push_back((position, number));
    }

    /// The last entry that is known, or the position where reading begins.
    pub fn last(&self) -> Option<(Position, u64)> {
        self.list.back().copied().or(self.base)
    }

    /// The last position that was known here when the log stood at `number`.
    pub fn at(&self, number: u64) -> Option<Position> {
        let last = self.before(|(_, known)| *known <= number)?;
        (last.1 <= number).then_some(last.0)
    }

    /// Returns a number on this node: any node that knew the shared log up to `position` knew every purge up to it.
    pub fn number(&self, position: Position) -> Option<u64> {
        if self.base.is_none_or(|(base, _)| position < base) {
            return None;
        }
        // Not up to the next known entry: there may be entries of this node alone between, of which others do not know.
        let (_, number) = self.before(|(known, _)| *known <= position)?;
        let ahead = self.ahead;
        Some(ahead.map_or(number, |ahead| number.min(ahead.before)))
    }

    /// The last of those for which `holds` is true. These come first.
    fn before(&self, holds: impl FnMut(&(Position, u64)) -> bool) -> Option<(Position, u64)> {
        let after = self.list.partition_point(holds);
        let last = after.checked_sub(1).and_then(|last| self.list.get(last));
        last.copied().or(self.base)
    }

    /// Notes that `number` took effect before it is in the shared log.
    pub fn go_ahead(&mut self, number: u64) {
        let ahead = self.ahead;
        let before = ahead.map_or(number.saturating_sub(1), |ahead| ahead.before);
        self.ahead = Some(Ahead {
            before,
            newest: number,
        });
    }

    /// Notes that the copies of all that went ahead up to `number` have come back.
    pub fn come_back(&mut self, number: u64) {
        let left = self.ahead.filter(|ahead| ahead.newest > number);
        self.ahead = left.map(|ahead| Ahead {
            before: ahead.before.max(number),
            ..ahead
        });
    }

    /// Whether the copy of what went ahead as `number`, read as the next entry, says nothing new: no entry of the
    /// shared log has taken effect since. So what was checked up to `number` was compared with everything before the
    /// copy, and what comes from other nodes and was not compared has a smaller number.
    pub fn is_next(&self, number: u64) -> bool {
        let is_ahead = |ahead: Ahead| ahead.before < number && number <= ahead.newest;
        let is_later = |(_, last): (Position, u64)| last < number;
        self.ahead.is_some_and(is_ahead) && self.last().is_some_and(is_later)
    }

    /// Returns up to which number entries may be forgotten if `number` is asked for. The last entry stays, so that a
    /// restart knows where to read on. What went ahead also stays: it is compared with what comes from other nodes.
    pub fn spare(&self, number: u64) -> u64 {
        let last = self.list.back();
        let last = last.map_or(number, |(_, last)| last.saturating_sub(1));
        let ahead = self.ahead.map_or(number, |ahead| ahead.before);
        number.min(last).min(ahead)
    }
}

#[cfg(test)]
mod tests;
