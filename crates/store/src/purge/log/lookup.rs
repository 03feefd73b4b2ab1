//! What the log says about one stored response.

use super::Log;
use crate::{
    Stored,
    purge::{
        Address, Marks, Purge, Standing,
        subject::{Subject, Tagged, covers},
        table::Table,
    },
};
use http::header;
use std::sync::atomic::Ordering::Acquire;

/// What purges did to a response.
enum Touch {
    Gone,
    Stale,
}

impl Log {
    /// Returns what purges say about `stored`, kept under `key`. One comparison if nothing was purged since the last
    /// look.
    pub fn standing(&self, key: &[u8], stored: &Stored) -> Standing {
        // When an expression was forgotten, the sweep had moved on the numbers of everything in memory.
        self.judge(key, stored, Table::complete_from)
    }

    /// Like [`standing`](Self::standing), for what is found on disk, where numbers stay as they were written.
    /// Everything there was compared with the expressions that are [forgotten](Self::release_patterns), and what the
    /// disk no longer finds may not be used.
    pub fn standing_on_disk(&self, key: &[u8], stored: &Stored) -> Standing {
        self.judge(key, stored, |table| table.floor)
    }

    fn judge(&self, key: &[u8], stored: &Stored, floor: impl FnOnce(&Table) -> u64) -> Standing {
        let checked = stored.checked();
        if checked >= self.bar.load(Acquire) {
            return Standing::Good;
        }
        let content_type = || content_type(stored);
        let subject = subject(key, stored, &content_type);
        let table = self.read();
        let head = self.head();
        if checked < floor(&table) {
            return Standing::Gone;
        }
        let verdict = table.test(&subject, checked);
        drop(table);
        if verdict.gone {
            return Standing::Gone;
        }
        if self.unsure.load(Acquire) {
            return Standing::Unsure;
        }
        if let Some(at) = verdict.stale_since {
            return Standing::Stale {
                since: at,
                checked: head,
            };
        }
        stored.check(checked, head);
        Standing::Good
    }

    /// Whether what a fetch brings for `key` was purged since it began, when the log stood at `log_at`. Then it need
    /// not be stored.
    pub fn refuses(&self, key: &[u8], marks: Option<&Marks>, log_at: u64) -> bool {
        if log_at >= self.head() {
            return false;
        }
        let subject = Subject {
            address: Address::of(key),
            tags: Tagged::Marks(marks),
            // The lookup finds purges by content type.
            content_type: &String::new,
        };
        let table = self.read();
        log_at < table.complete_from() || table.test(&subject, log_at).gone
    }

    /// Whether `fresh`, which takes the place of `stored` with the same content, hides a purge since the log stood at
    /// `log_at`: a hard one of `stored`, kept under `key`, or a soft one that does not cover `fresh` too. It may lack the
    /// tags that tell. If it is not known, then yes.
    pub fn is_hidden_by(&self, key: &[u8], stored: &Stored, fresh: &Stored, log_at: u64) -> bool {
        let touched = |one| self.touched_since(log_at, key, one);
        match touched(stored) {
            None => false,
            Some(Touch::Gone) => true,
            Some(Touch::Stale) => touched(fresh).is_none(),
        }
    }

    /// What purges since the log stood at `log_at` did to `stored`. If it is not known, the most.
    fn touched_since(&self, log_at: u64, key: &[u8], stored: &Stored) -> Option<Touch> {
        if log_at >= self.head() {
            return None;
        }
        let content_type = || content_type(stored);
        let subject = subject(key, stored, &content_type);
        let table = self.read();
        if log_at < table.complete_from() {
            return Some(Touch::Gone);
        }
        let verdict = table.test(&subject, log_at);
        if verdict.gone {
            return Some(Touch::Gone);
        }
        verdict.stale_since.map(|_| Touch::Stale)
    }

    /// Whether `purge` covers `stored`, kept under `key`.
    pub fn covers(purge: &Purge, key: &[u8], stored: &Stored) -> bool {
        covers(purge, &subject(key, stored, &|| content_type(stored)))
    }
}

fn subject<'a>(
    key: &'a [u8],
    stored: &'a Stored,
    content_type: &'a dyn Fn() -> String,
) -> Subject<'a> {
    Subject {
        address: Address::of(key),
        tags: Tagged::Marks(stored.marks.as_deref()),
        content_type,
    }
}

fn content_type(stored: &Stored) -> String {
    let value = stored.fields.get_bytes(&header::CONTENT_TYPE);
    String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
}
