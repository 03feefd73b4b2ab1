//! A stored response as a tier below memory knows it without reading the record.

use super::{
    Address, Log, Purge,
    subject::{Subject, Tagged, covers},
};

/// What purges are compared with for a stored response that is not in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label<'a> {
    /// The whole cache key.
    pub key: &'a [u8],
    /// The number of this node's log up to which no purge covered it.
    pub checked: u64,
    /// Its `Content-Type`; empty without one.
    pub content_type: &'a [u8],
    /// The tags by which it may be purged.
    pub tags: Vec<&'a str>,
}

impl Label<'_> {
    /// Whether `purge` covers it.
    pub fn is_covered_by(&self, purge: &Purge) -> bool {
        covers(purge, &self.subject(&|| self.content_type()))
    }

    fn content_type(&self) -> String {
        String::from_utf8_lossy(self.content_type).into_owned()
    }

    fn subject<'a>(&'a self, content_type: &'a dyn Fn() -> String) -> Subject<'a> {
        Subject {
            address: Address::of(self.key),
            tags: Tagged::Texts(&self.tags),
            content_type,
        }
    }
}

impl Log {
    /// Whether the response of `label` was purged. With `softly`, also if an expression softly purged it.
    pub fn has_purged(&self, label: &Label<'_>, softly: bool) -> bool {
        if label.checked >= self.head() {
            return false;
        }
        let content_type = || label.content_type();
        let subject = label.subject(&content_type);
        let table = self.read();
        if label.checked < table.floor {
            return true;
        }
        let verdict = table.test(&subject, label.checked);
        verdict.gone || softly && verdict.stale_by_pattern
    }

    /// Whether any purge since `label.checked`, hard or soft, covers the response of `label`. If it is not known, then
    /// yes.
    pub fn has_touched(&self, label: &Label<'_>) -> bool {
        if label.checked >= self.head() {
            return false;
        }
        let content_type = || label.content_type();
        let subject = label.subject(&content_type);
        let table = self.read();
        if label.checked < table.complete_from() {
            return true;
        }
        let verdict = table.test(&subject, label.checked);
        verdict.gone || verdict.stale_since.is_some()
    }
}
