//! What the items of a file amount to.

use super::{
    format::{Base, Contents, Item, Purged, Tail, first_line, frame},
    needed::Needed,
    queue::Weight,
};
use crate::purge::{Entry, Position, Purge};
use rules::time::Time;
use std::collections::HashMap;

/// A frame of a rewritten file is closed once it has this many bytes.
const FRAME: usize = 1 << 20;

/// A purge of everything, as it is written.
const EVERYTHING: &[u8] = br#"{"everything":true}"#;

/// More purges than a crash can lose.
const LOST: u64 = 1 << 20;

/// What a log's file remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    /// The purges, oldest first.
    pub entries: Vec<Entry>,
    /// What was checked up to a smaller number counts as purged.
    pub floor: u64,
    /// No number above this one was ever given out, not even for what a crash has lost: the next number is greater.
    pub head: u64,
    /// The position of the last entry of the shared log that is no longer in `entries`.
    pub position: Option<Position>,
}

impl Remembered {
    /// Returns what took effect on this node and may not have reached the nodes that share its log, with its numbers:
    /// no entry of the shared log that was read later purges the same. A node that has never read the shared log has
    /// reached no other.
    pub fn unsent(&self) -> Vec<(u64, Purge)> {
        let mut unsent: HashMap<String, &Entry> = HashMap::new();
        for entry in &self.entries {
            if entry.position.is_none() {
                unsent.insert(entry.purge.to_text(), entry);
            } else if !unsent.is_empty() {
                unsent.remove(&entry.purge.to_text());
            }
        }
        let mut unsent: Vec<_> = unsent
            .into_values()
            .map(|entry| (entry.sequence, entry.purge.clone()))
            .collect();
        unsent.sort_unstable_by_key(|(sequence, _)| *sequence);
        unsent
    }
}

/// The items of a file, without those that are retired.
#[derive(Debug, Default)]
pub(super) struct Sum<'a> {
    pub base: Base,
    purges: Vec<Purged<'a>>,
    /// Whether some may be missing, or cannot be understood.
    damaged: bool,
}

impl<'a> Sum<'a> {
    /// Returns what a file with these contents remembers, without what was retired.
    pub fn of(contents: &Contents<'a>) -> Self {
        // Each file is put in place together with its first item, so no crash takes that away.
        let begins = matches!(contents.items.first(), Some(Item::Began(_)));
        let mut sum = Sum {
            damaged: contents.tail == Tail::Damaged || !begins,
            ..Self::default()
        };
        for item in &contents.items {
            match item {
                Item::Purged(purged) => {
                    let before = sum.purges.last().map_or(0, |last| last.sequence);
                    sum.damaged |= purged.sequence <= before;
                    sum.base.head = sum.base.head.max(purged.sequence);
                    sum.purges.push(*purged);
                }
                Item::Retired(sequence) => {
                    sum.base.head = sum.base.head.max(*sequence);
                    sum.base.floor = sum.base.floor.max(*sequence);
                }
                Item::Began(base) => {
                    sum.base.head = sum.base.head.max(base.head);
                    sum.base.floor = sum.base.floor.max(base.floor);
                    sum.base.position = sum.base.position.max(base.position);
                }
            }
        }
        sum.forget();
        sum
    }

    /// Forgets what is retired, except for its last position.
    fn forget(&mut self) {
        let floor = self.base.floor;
        let live = self
            .purges
            .partition_point(|purged| purged.sequence <= floor);
        let retired = self.purges.drain(..live);
        let last = retired.filter_map(|purged| purged.position).max();
        self.base.position = self.base.position.max(last);
    }

    /// Forgets the older purges, so that the rest takes no more than `most` bytes. One purge of everything takes their
    /// place if some of them may not have reached the nodes that share the log.
    pub fn shorten(&mut self, most: u64) {
        let weights: Vec<_> = self.weights().map(|weight| weight.bytes).collect();
        let mut bytes = 0;
        let kept = weights.iter().rev().take_while(|weight| {
            bytes += **weight;
            bytes <= most
        });
        let over = self.purges.len() - kept.count();
        let dropped = self.purges.get_mut(..over).unwrap_or_default();
        let are_sent = dropped.iter().all(|purged| purged.position.is_some());
        let Some(last) = dropped.last_mut() else {
            return;
        };
        let mut floor = last.sequence;
        if !are_sent {
            floor = floor.saturating_sub(1);
            self.base.position = self.base.position.max(last.position);
            last.position = None;
            last.text = EVERYTHING;
        }
        self.base.floor = self.base.floor.max(floor);
        self.forget();
    }

    /// Lets the log go on after a start, with numbers that were never given out, not even to purges that a crash has
    /// lost. If it is not known what is missing, what was stored before counts as purged. Returns what is remembered,
    /// and whether the log was damaged.
    pub fn go_on(&mut self, at: Time) -> (Remembered, bool) {
        let entries: Option<Vec<_>> = self.purges.iter().map(entry).collect();
        let past = self.base.head.saturating_add(LOST);
        // Purges come more slowly than one a microsecond, so this is greater even if the file itself was lost.
        self.base.head = past.max(at.as_millis().saturating_mul(1000));
        let damaged = self.damaged || entries.is_none();
        if damaged {
            self.base.floor = self.base.head;
            self.forget();
        }
        let remembered = Remembered {
            entries: entries.filter(|_| !damaged).unwrap_or_default(),
            floor: self.base.floor,
            head: self.base.head,
            position: self.base.position,
        };
        (remembered, damaged)
    }

    /// A log of which only the last number is known: what was stored before counts as purged.
    pub fn unknown(last: u64) -> Self {
        let base = Base {
            head: last,
            floor: last,
            position: None,
        };
        Self {
            base,
            damaged: true,
            ..Self::default()
        }
    }

    /// The weights of the purges in the file.
    pub fn weights(&self) -> impl Iterator<Item = Weight> {
        let mut item = Vec::new();
        self.purges.iter().map(move |purged| {
            item.clear();
            Item::Purged(*purged).write(&mut item);
            Weight::of(purged, item.len())
        })
    }

    /// The bytes of a file that amounts to the same, without what is not needed for that.
    pub fn rewritten(&self) -> Vec<u8> {
        let mut needed = Needed::default();
        for purged in &self.purges {
            let (what, soft) = Purge::split(purged.text);
            needed.put(what, soft, *purged);
        }
        let mut purges: Vec<_> = needed.iter().copied().collect();
        purges.sort_unstable_by_key(|purged| purged.sequence);
        let mut bytes = first_line().into_bytes();
        let mut content = Vec::new();
        Item::Began(self.base).write(&mut content);
        for purged in purges {
            Item::Purged(purged).write(&mut content);
            if content.len() >= FRAME {
                bytes.extend(frame(&content));
                content.clear();
            }
        }
        if !content.is_empty() {
            bytes.extend(frame(&content));
        }
        bytes
    }
}

fn entry(purged: &Purged<'_>) -> Option<Entry> {
    Some(Entry {
        sequence: purged.sequence,
        at: purged.at,
        position: purged.position,
        purge: Purge::from_text(purged.text).ok()?,
    })
}
