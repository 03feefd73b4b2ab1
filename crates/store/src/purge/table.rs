//! What was purged, arranged so that testing a stored response takes a few lookups, whatever the number of purges.

use super::{
    Address, Pattern, Purge, What,
    last::LastPurges,
    name::{EVERY_HOST, Kind, name, names},
    subject::{Subject, Texts},
};
use rules::time::Time;
use std::collections::{BTreeMap, HashMap};

/// The most names that are remembered. Beyond it the log forgets the older half of them, and what has not been checked
/// since counts as purged: forgetting errs on the side of fetching again.
const MOST_NAMES: usize = 1 << 20;

/// The most different regular expressions that wait for the sweep: each is matched against every stored response.
const MOST_PATTERNS: usize = 1024;

/// Too many regular expressions are waiting for the sweep, and for fetches that began before them. Worth retrying
/// [a minute](TooMany::AGAIN) later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many purges by regular expression are still being worked off: try again in a minute")]
pub struct TooMany;

impl TooMany {
    /// Seconds after which it is worth retrying.
    pub const AGAIN: u32 = 60;
}

/// What the purges since a number say about a stored response.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Verdict {
    pub gone: bool,
    pub stale_since: Option<Time>,
    /// Whether an expression made it stale.
    pub stale_by_pattern: bool,
}

impl Verdict {
    fn add(&mut self, last: &LastPurges, since: u64) {
        self.gone |= last.hard() > since;
        let moments = [self.stale_since, last.stale_since(since)];
        self.stale_since = moments.into_iter().flatten().min();
    }
}

/// All that is remembered.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// What was checked up to less than this is gone: earlier purges are forgotten.
    pub floor: u64,
    names: HashMap<u64, LastPurges>,
    /// The last purge of a host. Mostly there was none since, and then `names` need not be searched for it.
    hosts: u64,
    /// The lengths of the prefixes among `names`, and the last purge of each length.
    lengths: BTreeMap<usize, u64>,
    patterns: Vec<(LastPurges, Pattern)>,
    everything: LastPurges,
    /// See [`release`](Table::release).
    pub released: u64,
    /// The numbers and names of expressions that were released, and that a restart would have to know.
    only_kept: Vec<(u64, u64)>,
}

/// Expressions that were forgotten. To be dropped outside locks, because that takes a while.
#[derive(Debug)]
pub(super) struct Released {
    /// The number up to which a restart must forget everything, if it could not take back all that it would have to
    /// know.
    pub over: Option<u64>,
    _patterns: Vec<(LastPurges, Pattern)>,
}

impl Table {
    /// Of what was checked up to less than this, it is not known whether purges covered it.
    pub fn complete_from(&self) -> u64 {
        self.floor.max(self.released)
    }

    /// Notes a purge.
    pub fn add(&mut self, purge: &Purge, sequence: u64, at: Time) {
        if self.names.len() >= MOST_NAMES {
            self.forget_older_half();
        }
        if let What::Prefix { path, .. } = &purge.what {
            let last = self.lengths.entry(path.len()).or_default();
            *last = (*last).max(sequence);
        }
        match &purge.what {
            What::Pattern(pattern) => {
                let name = pattern.name();
                self.only_kept.retain(|(_, kept)| *kept != name);
                let known = self
                    .patterns
                    .iter_mut()
                    .find(|(_, known)| known == &**pattern);
                if let Some((last, _)) = known {
                    last.add(purge, sequence, at);
                    return;
                }
                if self.patterns.len() >= MOST_PATTERNS {
                    self.forget(sequence);
                }
                let mut last = LastPurges::default();
                last.add(purge, sequence, at);
                self.patterns.push((last, (**pattern).clone()));
            }
            What::Everything => self.everything.add(purge, sequence, at),
            what => {
                if matches!(what, What::Host(_)) {
                    self.hosts = self.hosts.max(sequence);
                }
                for name in names(what) {
                    let last = self.names.entry(name).or_default();
                    last.add(purge, sequence, at);
                }
            }
        }
    }

    /// Whether expressions take more than half of their room.
    pub fn is_crowded(&self) -> bool {
        self.patterns.len() > MOST_PATTERNS / 2
    }

    /// Forgets expressions that everything kept on this node was compared with, hard ones up to `hard` and soft ones up
    /// to `soft`: the older ones, so that `keep` of all remain.
    ///
    /// Unlike with what is [retired](Self::retire), what was checked before them does not count as purged if it was
    /// compared with them; [`released`](Self::released) tells the rest.
    pub fn release(&mut self, hard: u64, soft: u64, keep: usize) -> Released {
        let mut most = self.patterns.len().saturating_sub(keep);
        self.patterns.sort_by_key(|(last, _)| last.number());
        let goes = |(last, _): &mut (LastPurges, Pattern)| {
            let goes = most > 0 && last.hard() <= hard && last.soft() <= soft;
            most -= usize::from(goes);
            goes
        };
        let gone: Vec<_> = self.patterns.extract_if(.., goes).collect();
        for (last, pattern) in &gone {
            let last = last.number();
            self.released = self.released.max(last);
            self.only_kept.push((last, pattern.name()));
        }
        self.only_kept.sort_unstable();
        let room = MOST_PATTERNS - self.patterns.len().min(MOST_PATTERNS);
        let over = self.only_kept.len().saturating_sub(room);
        Released {
            over: self
                .only_kept
                .drain(..over)
                .next_back()
                .map(|(last, _)| last),
            _patterns: gone,
        }
    }

    /// Checks that there is room for all expressions among `purges`. Known ones need none.
    pub fn room_for(&self, purges: &[Purge]) -> Result<(), TooMany> {
        if self.patterns.len() + purges.len() <= MOST_PATTERNS {
            return Ok(());
        }
        let mut new: Vec<&Pattern> = Vec::new();
        for purge in purges {
            let What::Pattern(pattern) = &purge.what else {
                continue;
            };
            if self.is_known(pattern) || new.contains(&&**pattern) {
                continue;
            }
            new.push(pattern);
            if self.patterns.len() + new.len() > MOST_PATTERNS {
                return Err(TooMany);
            }
        }
        Ok(())
    }

    /// Whether an expression among `purges` is not known yet.
    pub fn needs_room(&self, purges: &[Purge]) -> bool {
        let is_new = |purge: &Purge| matches!(&purge.what, What::Pattern(pattern) if !self.is_known(pattern));
        purges.iter().any(is_new)
    }

    /// Whether an expression waits for the sweep already.
    fn is_known(&self, pattern: &Pattern) -> bool {
        self.patterns.iter().any(|(_, known)| known == pattern)
    }

    /// Returns what the purges since `since` say about `subject`.
    pub fn test(&self, subject: &Subject<'_>, since: u64) -> Verdict {
        let mut verdict = Verdict::default();
        verdict.add(&self.everything, since);
        let Address { host, target, .. } = subject.address;
        let mut look = |name| {
            if let Some(last) = self.names.get(&name) {
                verdict.add(last, since);
            }
        };
        look(name(Kind::Url, &["//", host, target]));
        if self.hosts > since {
            look(name(Kind::Host, &[host]));
        }
        for tag in subject.tags.names() {
            look(tag);
        }
        for (length, last) in &self.lengths {
            if *last <= since {
                continue;
            }
            let Some(path) = target.get(..*length) else {
                // The prefix is longer than the target, or ends within a character of it, where no given text can end.
                continue;
            };
            look(name(Kind::Prefix, &[host, "\n", path]));
            look(name(Kind::Prefix, &[EVERY_HOST, "\n", path]));
        }
        let texts = Texts::of(subject);
        for (last, pattern) in &self.patterns {
            if last.number() > since && pattern.matches(|on| texts.get(on)) {
                verdict.add(last, since);
                verdict.stale_by_pattern |= last.soft() > since;
            }
        }
        verdict
    }

    /// How many expressions are remembered: such purges are the costly ones.
    pub fn patterns(&self) -> usize {
        self.patterns.len()
    }

    /// How many names are remembered.
    pub fn names(&self) -> usize {
        self.names.len()
    }

    /// Forgets purges up to `sequence`: everything that is still kept has been checked beyond it.
    pub fn retire(&mut self, sequence: u64) {
        self.floor = self.floor.max(sequence);
        self.everything.retire(sequence);
        self.names.retain(|_, last| last.retire(sequence));
        self.patterns.retain_mut(|(last, _)| last.retire(sequence));
        self.only_kept.retain(|(last, _)| *last > sequence);
        self.lengths.retain(|_, last| *last > sequence);
        if self.names.capacity() > 4 * self.names.len() + 1024 {
            self.names.shrink_to_fit();
        }
    }

    fn forget_older_half(&mut self) {
        let mut last: Vec<u64> = self.names.values().map(LastPurges::number).collect();
        let middle = last.len() / 2;
        let (_, median, _) = last.select_nth_unstable(middle);
        self.retire(*median);
    }

    /// Forgets everything: what was checked up to less than `sequence` counts as purged.
    pub fn forget(&mut self, sequence: u64) {
        self.floor = sequence;
        self.names.clear();
        self.lengths.clear();
        self.patterns.clear();
        self.only_kept.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each length is one more lookup for every response that has not been checked since.
    #[test]
    fn lengths_go_with_the_last_prefix_of_that_length() {
        let mut table = Table::default();
        let prefix = |path: &str| {
            Purge::hard(What::Prefix {
                host: None,
                path: path.to_owned(),
            })
        };
        let paths = ["/news/", "/shop/", "/n", "/shop/"];
        for (sequence, path) in (1..).zip(paths) {
            table.add(&prefix(path), sequence, Time::from_secs(1));
        }
        table.add(
            &Purge::hard(What::Host("a.example".to_owned())),
            5,
            Time::from_secs(1),
        );
        let lengths = |table: &Table| table.lengths.keys().copied().collect::<Vec<_>>();
        assert_eq!(lengths(&table), [2, 6]);
        table.retire(3);
        assert_eq!(lengths(&table), [6]);
        table.retire(4);
        assert!(lengths(&table).is_empty());
        assert_eq!(table.names(), 2, "the host's own are still there");
    }
}
