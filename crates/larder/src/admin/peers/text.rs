//! Purges as nodes send them to each other: in parts that a node takes.

use crate::admin::purge;
use store::purge::{Purge, What};

/// The bytes of purges in one request, unless a single name is larger.
pub(super) const BATCH: usize = purge::LARGEST / 2;

/// The purge as text; of many names, in parts that each fit in a request. A client's request that the node would take
/// may name less than the purges that it means: a cache group is two names, and a URL one on each route.
pub(super) fn texts(purge: &Purge) -> Vec<String> {
    let text = purge.to_text();
    if text.len() <= BATCH {
        return vec![text];
    }
    let soft = purge.soft;
    let part = |what| texts(&Purge { what, soft });
    halves(&purge.what).map_or_else(
        || vec![text],
        |halves| halves.into_iter().flat_map(part).collect(),
    )
}

/// Two purges that are one together; `None` if `what` is a single thing.
fn halves(what: &What) -> Option<[What; 2]> {
    let (names, make): (_, fn(Vec<String>) -> What) = match what {
        What::Tags(names) => (names, What::Tags),
        What::Url(names) => (names, What::Url),
        What::Prefix { .. } | What::Host(_) | What::Pattern(_) | What::Everything => return None,
    };
    let (first, second) = names.split_at(names.len() / 2);
    (!first.is_empty()).then(|| [first, second].map(|half| make(half.to_vec())))
}
