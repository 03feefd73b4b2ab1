//! What is known about each URL, and which URLs are followed.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// The most URLs that are followed, and the most variants of them. Beyond that, one in two is followed, and so on.
pub const MOST: usize = 1 << 18;

/// A map whose keys are hashes already.
pub(super) type ByHash<V> = HashMap<u64, V, Hashed>;

/// The hasher for keys that are hashes already.
pub(super) type Hashed = BuildHasherDefault<Identity>;

/// Returns a hash as it is.
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
    /// The last known length of its body.
    pub body: Option<u64>,
    /// The last known time that the origin took, in microseconds.
    pub took: Option<u64>,
    /// Answers that were kept before the event of this number are invalid.
    pub invalid_before: u64,
    pub requests: u64,
    /// The cost of requests that bypass the store.
    pub passed: Cost,
    /// The last reason why its answers are not stored.
    pub unstored: Option<&'static str>,
}

/// What an origin does for one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fetch {
    /// Bytes of the body.
    pub body: u64,
    /// How long it takes, in microseconds.
    pub took: u64,
}

/// The work of an origin.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    pub fetches: u64,
    pub bytes: u64,
    pub micros: u64,
}

impl Cost {
    /// Adds this many such fetches.
    pub(super) fn add(&mut self, fetch: Fetch, times: u64) {
        self.fetches += times;
        self.bytes = self.bytes.saturating_add(fetch.body.saturating_mul(times));
        self.micros = self.micros.saturating_add(fetch.took.saturating_mul(times));
    }

    /// Adds both.
    pub(super) fn and(self, other: &Self) -> Self {
        Self {
            fetches: self.fetches.saturating_add(other.fetches),
            bytes: self.bytes.saturating_add(other.bytes),
            micros: self.micros.saturating_add(other.micros),
        }
    }
}

/// The characters of a URL that are kept for display.
const TEXT: usize = 512;

/// How often each is halved at most: no log is that long.
const HALVINGS: u32 = 20;

/// Which part of all is followed: how often the number of URLs was halved, and that of their variants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sampled {
    urls: u32,
    keys: u32,
}

impl Sampled {
    /// One in this many is followed.
    pub(super) fn one_in(self) -> u64 {
        1 << (self.urls + self.keys)
    }

    /// Of the variants of a followed URL, one in this many is followed.
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

/// Whether a hash remains after this many halvings. The upper bits decide, since tables use the lower ones.
fn is_among(hash: u64, halvings: u32) -> bool {
    halvings == 0 || hash >> (64 - halvings.min(63)) == 0
}

/// All URLs that are followed.
#[derive(Debug)]
pub(super) struct Urls {
    pub all: ByHash<Url>,
    /// Their variants, with the URL of each.
    keys: ByHash<u64>,
    sampled: Sampled,
    most: usize,
}

impl Urls {
    /// Follows at most `most` URLs, and as many variants.
    pub(super) fn new(most: usize) -> Self {
        Self {
            all: ByHash::default(),
            keys: ByHash::default(),
            sampled: Sampled::default(),
            most,
        }
    }

    /// Returns what is known about a URL, if it is followed; `text` is its form for display.
    pub(super) fn of(&mut self, url: u64, text: impl FnOnce() -> String) -> Option<&mut Url> {
        let known = || Url {
            text: text().chars().take(TEXT).collect(),
            ..Url::default()
        };
        self.sampled
            .follows_url(url)
            .then(|| self.all.entry(url).or_insert_with(known))
    }

    /// Whether a variant is followed. From now on it counts as seen.
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

    /// Whether there are too many to follow.
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
