//! What a cache on the way says of an answer: `Cache-Status` (RFC 9211), or one of the fields that were there before it.

use serde::Serialize;

/// Where an answer came from, as far as a cache says so.
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

/// Takes a field of the answer into account. `Cache-Status` outweighs the others, and of the others a hit a miss: where
/// several caches say something, one of them had it.
pub(crate) fn see(cached: &mut Cached, name: &str, value: &[u8]) {
    let begins = |prefix: &str| {
        name.get(..prefix.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(prefix))
    };
    if name.eq_ignore_ascii_case("cache-status") {
        *cached = standard(value);
    } else if begins("x-cache") || begins("x-proxy-cache") || begins("cf-cache-status") {
        let said = older(value);
        if *cached == Cached::Unsaid || (*cached == Cached::Miss && said != Cached::Unsaid) {
            *cached = said;
        }
    }
}

/// The last member is the cache that is nearest to us. It has either `hit` or `fwd`; a negative `ttl` is stale.
fn standard(value: &[u8]) -> Cached {
    let nearest = value
        .rsplit(|byte| *byte == b',')
        .next()
        .unwrap_or_default();
    let mut cached = Cached::Miss;
    let parameters = nearest.split(|byte| *byte == b';').skip(1);
    for parameter in parameters.map(<[u8]>::trim_ascii) {
        if parameter == b"hit" && cached != Cached::Stale {
            cached = Cached::Hit;
        } else if parameter.starts_with(b"fwd") {
            return Cached::Miss;
        } else if parameter.starts_with(b"ttl=-") {
            cached = Cached::Stale;
        }
    }
    cached
}

/// The words that nginx, Varnish configurations and delivery networks use; a number (`X-Cache-Hits`, a key) says nothing.
fn older(value: &[u8]) -> Cached {
    let says = |word: &[u8]| {
        value
            .windows(word.len())
            .any(|window| window.eq_ignore_ascii_case(word))
    };
    if says(b"stale") || says(b"updating") {
        Cached::Stale
    } else if says(b"hit") || says(b"revalidated") {
        Cached::Hit
    } else if [&b"miss"[..], b"bypass", b"expired", b"pass", b"dynamic"]
        .iter()
        .any(|word| says(word))
    {
        Cached::Miss
    } else {
        Cached::Unsaid
    }
}
