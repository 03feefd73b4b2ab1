//! The last purges of one name.

use super::Purge;
use rules::time::Time;

/// How many soft purges of a name are kept besides the last. The first of these stands for all earlier ones too.
pub(super) const EARLIER: usize = 4;

/// The last purges of one name. Those before a hard one do not matter any more. There may be a million such names: each
/// takes 32 bytes here, and 64 more from the second soft purge on.
#[derive(Debug, Default)]
pub(super) struct LastPurges {
    hard: u64,
    last: Soft,
    /// The soft purges before the last, the latest at the end, with empty ones in front.
    earlier: Option<Box<[Soft; EARLIER]>>,
}

/// A soft purge. Of several that are not told apart, the last number and the first time.
#[derive(Clone, Copy, Debug, Default)]
struct Soft {
    /// 0 means none.
    sequence: u64,
    at: Time,
}

impl Soft {
    /// Joins two purges. What the first made stale did not become stale again.
    fn and(self, later: Self) -> Self {
        match self.sequence {
            0 => later,
            _ => Self {
                at: self.at,
                ..later
            },
        }
    }
}

impl LastPurges {
    /// Notes `purge`, which is of this name.
    pub fn add(&mut self, purge: &Purge, sequence: u64, at: Time) {
        if !purge.soft {
            *self = Self {
                hard: sequence,
                ..Self::default()
            };
            return;
        }
        // One purge may name it twice.
        if (1..sequence).contains(&self.last.sequence) {
            let earlier = self.earlier.get_or_insert_default();
            let [first, second, third, fourth] = **earlier;
            **earlier = [first.and(second), third, fourth, self.last];
        }
        self.last = Soft { sequence, at };
    }

    /// Forgets those up to `sequence`. Returns whether there are later ones.
    pub fn retire(&mut self, sequence: u64) -> bool {
        self.earlier.take_if(|earlier| {
            let gone = earlier.iter_mut().filter(|soft| soft.sequence <= sequence);
            gone.for_each(|soft| *soft = Soft::default());
            earlier.iter().all(|soft| soft.sequence == 0)
        });
        self.number() > sequence
    }

    /// The number of the last purge.
    pub fn number(&self) -> u64 {
        self.hard.max(self.last.sequence)
    }

    /// The number of the last hard purge.
    pub fn hard(&self) -> u64 {
        self.hard
    }

    /// The number of the last soft purge.
    pub fn soft(&self) -> u64 {
        self.last.sequence
    }

    /// When a response that was checked up to `since` became stale: at the first later soft purge, or earlier if that
    /// is not told apart.
    pub fn stale_since(&self, since: u64) -> Option<Time> {
        let earlier = self.earlier.as_deref().into_iter().flatten();
        let mut all = earlier.chain([&self.last]);
        all.find(|soft| soft.sequence > since).map(|soft| soft.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_purges_of_a_name_take_little_memory() {
        assert_eq!(size_of::<LastPurges>(), 32);
        assert_eq!(size_of::<[Soft; EARLIER]>(), 64);
    }
}
