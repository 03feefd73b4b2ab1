//! The last purges, for programs that follow them: each knows up to where it has read, and whether it missed any.

use super::Purge;
use std::{
    collections::VecDeque,
    fmt,
    hash::{BuildHasher, RandomState},
    str::FromStr,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// The most purges that are remembered.
const MOST: usize = 16 << 10;

/// The most bytes of their texts.
const MOST_BYTES: usize = 4 << 20;

/// The point up to which a program has read. The cursor of another log shows that everything may have been missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Which log: 0 for one that a journal keeps over restarts, a random number for one that ends with the process.
    life: u64,
    /// The number of the last purge that was read.
    sequence: u64,
}

/// What happened since a [`Cursor`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since {
    /// The point up to which this goes.
    pub cursor: Cursor,
    /// Purges were missed: anything may have been purged.
    pub missed: bool,
    /// The purges, oldest first.
    pub purges: Vec<Purge>,
}

/// The error for a text that is not a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor: it is given by an earlier answer")]
pub struct NotACursor;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}.{:x}", self.life, self.sequence)
    }
}

impl FromStr for Cursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        // `from_str_radix` accepts a sign.
        let number = |digits: &str| {
            let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            plain
                .then(|| u64::from_str_radix(digits, 16).ok())
                .flatten()
        };
        let (life, sequence) = text.split_once('.').ok_or(NotACursor)?;
        let (life, sequence) = number(life).zip(number(sequence)).ok_or(NotACursor)?;
        Ok(Self { life, sequence })
    }
}

/// The purges that are remembered. Their number is limited: a program that has not read the oldest misses them.
#[derive(Debug)]
pub(super) struct Recent {
    list: Mutex<List>,
    changed: Notify,
}

#[derive(Debug)]
struct List {
    life: u64,
    /// All purges after this number are in `purges`.
    from: u64,
    /// The number of the last purge.
    head: u64,
    purges: VecDeque<(u64, Purge)>,
    bytes: usize,
}

impl Default for Recent {
    fn default() -> Self {
        let list = List {
            life: RandomState::new().hash_one(0).max(1),
            from: 0,
            head: 0,
            purges: VecDeque::new(),
            bytes: 0,
        };
        Self {
            list: Mutex::new(list),
            changed: Notify::new(),
        }
    }
}

impl Recent {
    /// Notes that a journal keeps the log. It remembers everything after `from`, and the last number given out is
    /// `head`.
    pub fn kept(&self, from: u64, head: u64) {
        let mut list = self.list();
        list.life = 0;
        list.from = from;
        list.head = head;
    }

    /// Adds a purge that took effect.
    pub fn add(&self, sequence: u64, purge: &Purge) {
        let mut list = self.list();
        list.bytes += purge.weight();
        list.head = list.head.max(sequence);
        list.purges.push_back((sequence, purge.clone()));
        while list.purges.len() > MOST || list.bytes > MOST_BYTES {
            let Some((sequence, oldest)) = list.purges.pop_front() else {
                break;
            };
            list.bytes -= oldest.weight();
            list.from = sequence;
        }
        drop(list);
        self.changed.notify_waiters();
    }

    /// Notes that everything counts as purged with `sequence`.
    pub fn missed(&self, sequence: u64) {
        let mut list = self.list();
        list.purges.clear();
        list.bytes = 0;
        list.from = sequence;
        list.head = sequence;
        drop(list);
        self.changed.notify_waiters();
    }

    /// Returns at most `most` purges after `after`. If that is `None`, only the log's current cursor.
    pub fn since(&self, after: Option<Cursor>, most: usize) -> Since {
        let list = self.list();
        let (life, head) = (list.life, list.head);
        let now = Cursor {
            life,
            sequence: head,
        };
        let Some(after) = after else {
            return Since {
                cursor: now,
                missed: false,
                purges: Vec::new(),
            };
        };
        if after.life != life || after.sequence < list.from || after.sequence > head {
            return Since {
                cursor: now,
                missed: true,
                purges: Vec::new(),
            };
        }
        let first = list
            .purges
            .partition_point(|(sequence, _)| *sequence <= after.sequence);
        let purges = list.purges.iter().skip(first);
        let taken: Vec<_> = purges.take(most).collect();
        let is_all = first + taken.len() == list.purges.len();
        let end = taken
            .last()
            .map_or(after.sequence, |(sequence, _)| *sequence);
        let sequence = if is_all { head } else { end };
        Since {
            cursor: Cursor { life, sequence },
            missed: false,
            purges: taken.into_iter().map(|(_, purge)| purge.clone()).collect(),
        }
    }

    /// Like [`since`](Self::since), but waits until there is something to report.
    pub async fn wait(&self, after: Cursor, most: usize) -> Since {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
            changed.as_mut().enable();
            let since = self.since(Some(after), most);
            if since.missed || !since.purges.is_empty() {
                return since;
            }
            changed.await;
        }
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::purge::What;
    use proptest::prelude::*;

    fn purge(number: u64) -> Purge {
        Purge::hard(What::Url(vec![format!("//h/{number}")]))
    }

    fn filled(count: u64) -> Recent {
        let recent = Recent::default();
        (1..=count).for_each(|number| recent.add(number, &purge(number)));
        recent
    }

    #[test]
    fn all_that_happened_since_is_told() {
        let recent = Recent::default();
        let start = recent.since(None, 9);
        assert_eq!((start.missed, start.purges.len()), (false, 0));
        (1..=3).for_each(|number| recent.add(number, &purge(number)));
        let two = recent.since(Some(start.cursor), 2);
        assert_eq!(two.purges, [purge(1), purge(2)]);
        let rest = recent.since(Some(two.cursor), 2);
        assert_eq!(rest.purges, [purge(3)]);
        assert_eq!(recent.since(Some(rest.cursor), 2).purges, []);
    }

    #[test]
    fn who_may_have_missed_something_is_told() {
        let recent = filled(3);
        let Cursor { life, .. } = recent.since(None, 9).cursor;
        let missed = |life, sequence| recent.since(Some(Cursor { life, sequence }), 9).missed;
        assert!(!missed(life, 0) && !missed(life, 3));
        assert!(missed(life ^ 1, 3), "another process");
        assert!(missed(life, 4), "what was never given out");
        recent.missed(5);
        assert!(
            [0, 3, 4]
                .into_iter()
                .all(|sequence| recent.since(Some(Cursor { life, sequence }), 9).missed)
        );
        assert!(!recent.since(Some(Cursor { life, sequence: 5 }), 9).missed);
    }

    #[test]
    fn memory_is_bounded() {
        let recent = filled(MOST as u64 + 10);
        let Cursor { life, .. } = recent.since(None, 9).cursor;
        assert!(recent.since(Some(Cursor { life, sequence: 9 }), 9).missed);
        assert!(!recent.since(Some(Cursor { life, sequence: 10 }), 9).missed);
        let long = Purge::hard(What::Tags(vec!["x".repeat(MOST_BYTES)]));
        recent.add(u64::MAX - 1, &long);
        assert_eq!(recent.list().purges.len(), 0);
        assert_eq!(recent.list().bytes, 0);
    }

    #[test]
    fn a_journal_goes_on() {
        let recent = Recent::default();
        recent.kept(7, 9);
        let missed = |sequence| recent.since(Some(Cursor { life: 0, sequence }), 9).missed;
        assert!(missed(6) && !missed(7) && !missed(9));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(life: u64, sequence: u64) {
            let cursor = Cursor { life, sequence };
            prop_assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }

        #[test]
        fn any_text_is_read(text in "[0-9a-fx.+-]{0,20}") {
            let _ = text.parse::<Cursor>();
        }
    }
}
