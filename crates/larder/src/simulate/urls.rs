//! What is known of each URL, and which of them are followed.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// URLs followed at most, and so many variants of them. Beyond it one in two is, and so on.
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

    /// This and that.
    pub(super) fn and(self, other: &Self) -> Self {
        Self {
            fetches: self.fetches.saturating_add(other.fetches),
            bytes: self.bytes.saturating_add(other.bytes),
            micros: self.micros.saturating_add(other.micros),
        }
    }
}

/// Bytes of a URL that are remembered, to be shown.
const TEXT: usize = 512;

/// How often each is halved at most: no log is that long.
const HALVINGS: u32 = 20;

/// Which part of all is followed: how often the number of URLs, and that of the variants of these, was halved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sampled {
    urls: u32,
    keys: u32,
}

impl Sampled {
    /// One in so many is followed.
    pub(super) fn one_in(self) -> u64 {
        1 << (self.urls + self.keys)
    }

    /// One variant of a URL that is followed in so many.
    pub(super) fn variants(self) -> u64 {
        1 << self.keys
    }

    pub(super) fn follows_url(self, url: u64) -> bool {
        is_among(url, self.urls)
    }

    /// Whether the variant of this key and URL is followed.
    pub(super) fn follows(self, url: u64, key: u64) -> bool {
        self.follows_url(url) && is_among(key, self.keys)
    }
}

/// Whether a hash is among those left after so many halvings. The upper bits decide, tables use the lower.
fn is_among(hash: u64, halvings: u32) -> bool {
    halvings == 0 || hash >> (64 - halvings.min(63)) == 0
}

/// All URLs that are followed.
#[derive(Debug)]
pub(super) struct Urls {
    pub all: ByHash<Url>,
    /// Their variants, with their URLs.
    keys: ByHash<u64>,
    sampled: Sampled,
    most: usize,
}

impl Urls {
    /// Follows `most` URLs at most, and as many variants.
    pub(super) fn new(most: usize) -> Self {
        Self {
            all: ByHash::default(),
            keys: ByHash::default(),
            sampled: Sampled::default(),
            most,
        }
    }

    /// What is known of a URL, if it is followed; `text` is how it is shown.
    pub(super) fn of(&mut self, url: u64, text: impl FnOnce() -> String) -> Option<&mut Url> {
        let known = || Url {
            text: text().chars().take(TEXT).collect(),
            ..Url::default()
        };
        self.sampled
            .follows_url(url)
            .then(|| self.all.entry(url).or_insert_with(known))
    }

    /// Whether a variant is followed. From now on it counts as one that was seen.
    pub(super) fn follows(&mut self, url: u64, key: u64) -> bool {
        let follows = self.sampled.follows(url, key);
        if follows {
            self.keys.insert(key, url);
        }
        follows
    }

    pub(super) fn sampled(&self) -> Sampled {
        self.sampled
    }

    /// Whether fewer have to be followed.
    pub(super) fn are_too_many(&self) -> bool {
        let Sampled { urls, keys } = self.sampled;
        (self.all.len() > self.most && urls < HALVINGS)
            || (self.keys.len() > self.most && keys < HALVINGS)
    }

    /// Follows fewer.
    pub(super) fn thin(&mut self) {
        if self.all.len() > self.most {
            self.sampled.urls += 1;
        } else {
            self.sampled.keys += 1;
        }
        let sampled = self.sampled;
        self.all.retain(|url, _| sampled.follows_url(*url));
        self.keys.retain(|key, url| sampled.follows(*url, *key));
    }
}
