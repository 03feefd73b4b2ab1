//! For how long a response may be sent past its lifetime (RFC 9111 section 4.2.4, RFC 5861).

use super::LifetimeSource;
use crate::directives::ResponseDirectives;

/// What the origin demands of whoever reuses its response; nothing where the site forces a lifetime.
pub(super) struct Restraint {
    /// `no-cache` without names.
    pub(super) no_cache: bool,
    /// `must-revalidate` or `proxy-revalidate`.
    forbids_stale: bool,
    /// One of these, or `s-maxage`, which implies as much.
    pub(super) must_revalidate: bool,
}

impl Restraint {
    /// Of a response with these directives, whose lifetime is from `source`.
    pub(super) fn of(directives: &ResponseDirectives, source: LifetimeSource) -> Self {
        let heeded = source != LifetimeSource::Override;
        let forbids_stale = heeded && (directives.must_revalidate || directives.proxy_revalidate);
        Self {
            no_cache: heeded && directives.no_cache.is_whole(),
            forbids_stale,
            must_revalidate: forbids_stale || (heeded && directives.s_maxage.is_some()),
        }
    }

    /// The window that is open, in seconds: the origin's own (`explicit`), or else the site's.
    ///
    /// Where stale answers are forbidden none is, the origin's own included (RFC 9111 section 4.2.4). What `s-maxage` implies (section
    /// 5.2.2.10) an explicit window goes before, for itself alone: the other one, and the site's, stay shut.
    pub(super) fn window(&self, explicit: Option<u32>, site: Option<u32>) -> Option<u32> {
        let site = site.filter(|_| !self.must_revalidate);
        let window = explicit.or(site);
        window.filter(|_| !self.no_cache && !self.forbids_stale)
    }
}
