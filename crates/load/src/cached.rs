//! What a cache on the way says about an answer: `Cache-Status` (RFC 9211), or one of the older fields.

use serde::Serialize;

/// Where an answer came from, if a cache says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cached {
    /// No cache said anything.
    #[default]
    Unsaid,
    /// From a cache, fresh.
    Hit,
    /// From a cache, stale.
    Stale,
    /// Not from a cache.
    Miss,
}

/// What the fields of one answer say, in whatever order they come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Said {
    cached: Cached,
    /// Whether `Cache-Status` has said it. Older fields then do not count.
    by_standard: bool,
}

/// Other fields that say how an answer was made, as used by servers, delivery networks and guides to them.
/// `X-Cache-Hits` and keys do not say that. Squid's `X-Cache-Lookup` says what was found, not what was sent.
const OLDER: [&str; 14] = [
    "x-cache",
    "x-cached",
    "x-cache-status",
    "x-cache-result",
    "x-cache-info",
    "x-proxy-cache",
    "x-fastcgi-cache",
    "x-nginx-cache",
    "x-nginx-cache-status",
    "x-varnish-cache",
    "x-litespeed-cache",
    "x-drupal-cache",
    "x-vercel-cache",
    "cf-cache-status",
];

impl Said {
    /// Takes a field of the answer into account. `Cache-Status` outweighs the others. Among the others, a hit outweighs
    /// a miss: if several caches say something, one of them had it.
    pub(crate) fn see(&mut self, name: &str, value: &[u8]) {
        if name.eq_ignore_ascii_case("cache-status") {
            // With several lines, the last one has the nearest cache.
            self.cached = standard(value);
            self.by_standard = true;
        } else if !self.by_standard && OLDER.iter().any(|one| name.eq_ignore_ascii_case(one)) {
            let said = older(value);
            if self.cached == Cached::Unsaid
                || (self.cached == Cached::Miss && said != Cached::Unsaid)
            {
                self.cached = said;
            }
        }
    }

    pub(crate) fn cached(self) -> Cached {
        self.cached
    }
}

/// Reads `Cache-Status`. The last member is the nearest cache. It has `hit` or `fwd` (RFC 9211 section 2), or says
/// nothing about this. A negative `ttl` means stale. Some delivery networks say `hit` instead of their name.
fn standard(value: &[u8]) -> Cached {
    let nearest = unquoted(value, b',').last().unwrap_or_default();
    let (mut hit, mut stale) = (false, false);
    for parameter in unquoted(nearest, b';').skip(1).map(<[u8]>::trim_ascii) {
        match parameter {
            b"hit" | b"hit=?1" => hit = true,
            b"hit=?0" | b"fwd" => return Cached::Miss,
            other if other.starts_with(b"fwd=") => return Cached::Miss,
            other if other.starts_with(b"ttl=-") => stale = true,
            _ => (),
        }
    }
    match (hit, stale) {
        (true, true) => Cached::Stale,
        (true, false) => Cached::Hit,
        (false, _) if nearest.contains(&b';') => Cached::Unsaid,
        (false, _) => older(nearest),
    }
}

/// Splits at separators, except those in quoted strings (RFC 9651 section 3.3.3).
fn unquoted(value: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    value.split(move |byte| {
        let literal = std::mem::take(&mut escaped);
        match *byte {
            b'\\' if quoted && !literal => escaped = true,
            b'"' if !literal => quoted = !quoted,
            _ => (),
        }
        *byte == separator && !quoted
    })
}

/// Reads the words that nginx, Varnish configurations, Squid and delivery networks use. The first word of each member
/// counts (`MISS from white.example`), with each of its parts (`TCP_MEM_HIT`).
fn older(value: &[u8]) -> Cached {
    let mut said = Cached::Unsaid;
    for member in value.split(|byte| *byte == b',') {
        let word = member.trim_ascii();
        let word = word.split(u8::is_ascii_whitespace).next();
        let parts = word.unwrap_or_default();
        for part in parts.split(|byte| !byte.is_ascii_alphanumeric()) {
            let is_one_of = |words: &[&str]| {
                let mut words = words.iter();
                words.any(|word| part.eq_ignore_ascii_case(word.as_bytes()))
            };
            if is_one_of(&["stale", "updating"]) {
                return Cached::Stale;
            }
            if is_one_of(&["hit", "revalidated", "refreshhit"]) {
                said = Cached::Hit;
            } else if said == Cached::Unsaid
                && is_one_of(&[
                    "miss",
                    "bypass",
                    "expired",
                    "pass",
                    "dynamic",
                    "uncacheable",
                ])
            {
                said = Cached::Miss;
            }
        }
    }
    said
}
