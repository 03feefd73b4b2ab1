//! What is known of each URL, and which of them are followed.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// URLs followed at most. Beyond it one in two is, and so on.
pub const MOST: usize = 1 << 18;

/// A map whose keys are hashes already.
pub(super) type ByHash<V> = HashMap<u64, V, Hashed>;

/// For keys that are hashes already.
pub(super) type Hashed = BuildHasherDefault<Identity>;

/// Passes a hash on as it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes
            .iter()
            .fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A URL that is followed.
#[derive(Debug, Default)]
pub(super) struct Url {
    pub text: Box<str>,
    /// The length of its body when it was last told.
    pub body: Option<u64>,
    /// How long the origin took when it was last told, in microseconds.
    pub took: Option<u64>,
    /// What was kept before the event of this number is invalid.
    pub invalid_before: u64,
    pub requests: u64,
    /// What requests that bypass the store cost.
    pub passed: Cost,
    /// Why its answers are not stored: the last reason.
    pub unstored: Option<&'static str>,
}

/// What an origin did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    pub fetches: u64,
    pub bytes: u64,
    pub micros: u64,
}

impl Cost {
    pub(super) fn add(&mut self, bytes: u64, micros: u64, times: u64) {
        self.fetches += times;
        self.bytes = self.bytes.saturating_add(bytes.saturating_mul(times));
        self.micros = self.micros.saturating_add(micros.saturating_mul(times));
    }
}

/// All URLs that are followed.
#[derive(Debug, Default)]
pub(super) struct Urls {
    pub all: ByHash<Url>,
    /// How often the number of those followed was halved.
    halvings: u32,
}

impl Urls {
    /// Whether a URL is among those followed.
    pub(super) fn follows(&self, url: u64) -> bool {
        is_followed(url, self.halvings)
    }

    /// One URL in so many is followed.
    pub(super) fn one_in(&self) -> u64 {
        1 << self.halvings
    }

    /// Follows fewer, if there are too many. Says so.
    pub(super) fn thin(&mut self, most: usize) -> Option<u32> {
        if self.all.len() <= most || self.halvings >= 40 {
            return None;
        }
        self.halvings += 1;
        let halvings = self.halvings;
        self.all.retain(|url, _| is_followed(*url, halvings));
        Some(halvings)
    }
}

/// Whether a URL is followed after so many halvings. The upper bits decide, tables use the lower.
pub(super) fn is_followed(url: u64, halvings: u32) -> bool {
    halvings == 0 || url >> (64 - halvings.min(63)) == 0
}
