//! The trailers of an origin's answer, as far as its client gets them.

use crate::{
    ask::Ask,
    cache::WorkerSite,
    policy::{Edit, Policy, Report},
    user_group::HASH,
};
use http::{HeaderMap, HeaderName, HeaderValue, Version, header, response::Parts};
use rules::fields::{remove_where, trailing_names};
use std::sync::Arc;

/// What holds for the trailers of one answer, whose client takes them.
#[derive(Debug)]
pub struct Trailing {
    site: WorkerSite,
    policy: Arc<Policy>,
}

impl Trailing {
    /// For the answer to `ask`. `None`: its client has not said that it takes trailers, or they end here (RFC 9110
    /// section 6.5.1).
    pub fn of(ask: &Ask) -> Option<Self> {
        let takes = ask.version == Version::HTTP_2 && ask.fields.contains_key(header::TE);
        (takes && ask.within.is_none()).then(|| Self {
            site: ask.site.clone(),
            policy: ask.policy().clone(),
        })
    }

    /// Returns those of the origin's trailers that the client gets.
    pub(super) fn passed(&self, mut trailers: HeaderMap) -> HeaderMap {
        remove_where(&mut trailers, |name| !self.passes(name));
        trailers
    }

    /// Whether the client gets this field: only if it would get it in the head, as it came. It may take trailers for
    /// fields of the head.
    fn passes(&self, name: &HeaderName) -> bool {
        let Report { x_cache, node, .. } = &self.site.report;
        let node = node.as_ref().map(|(name, _)| name);
        let is_ours = x_cache.iter().chain(node).any(|ours| ours == name);
        let is_of_groups = self.policy.user_context.is_some() && *name == HASH;
        let mut edited = self.policy.to_client.edits.iter().map(Edit::name);
        !(self.site.ends_here(name) || is_of_groups || is_ours || edited.any(|edit| edit == name))
    }
}

/// Returns `Trailer` for the client of `ask` (RFC 9110 section 6.6.2): what an origin's answer with this head says that
/// will trail, of what the client gets. Over HTTP/1, nothing comes.
pub fn announced(ask: &Ask, head: &Parts) -> Option<HeaderValue> {
    let trailing = Trailing::of(ask).filter(|_| head.version == Version::HTTP_2)?;
    trailing_names(&head.headers, |name| trailing.passes(name))
}
