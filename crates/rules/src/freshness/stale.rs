//! How long a response may be sent past its lifetime (RFC 9111 section 4.2.4, RFC 5861).

use super::LifetimeSource;
use crate::directives::ResponseDirectives;

/// What the origin demands of caches that reuse its response; nothing if the site forces a lifetime.
pub(super) struct Restraint {
    /// `no-cache` without field names.
    pub(super) no_cache: bool,
    /// `must-revalidate` or `proxy-revalidate`.
    forbids_stale: bool,
    /// `must-revalidate`, `proxy-revalidate`, or `s-maxage`, which implies as much.
    pub(super) must_revalidate: bool,
    /// If it is the site, by force, its windows go before the origin's.
    source: LifetimeSource,
}

impl Restraint {
    /// Reads the demands of a response with these directives and a lifetime from `source`.
    pub(super) fn of(
        directives: &ResponseDirectives,
        source: LifetimeSource,
        is_event_stream: bool,
    ) -> Self {
        let heeded = source != LifetimeSource::Override;
        let forbids_stale = heeded && (directives.must_revalidate || directives.proxy_revalidate);
        Self {
            no_cache: heeded && directives.no_cache.is_whole(),
            forbids_stale,
            must_revalidate: forbids_stale
                || (heeded && directives.s_maxage.is_some())
                || is_event_stream,
            source,
        }
    }

    /// Returns the origin's own window (`explicit`), if it counts: a site that forces the lifetime replaces it by its own.
    pub(super) fn heeded(&self, explicit: Option<u32>, site: Option<u32>) -> Option<u32> {
        let is_forced = self.source == LifetimeSource::Override;
        explicit.filter(|_| !is_forced || self.of_site(site).is_none())
    }

    fn of_site(&self, site: Option<u32>) -> Option<u32> {
        site.filter(|_| !self.must_revalidate)
    }

    /// Returns the window that is open, in seconds: the origin's own if it is [heeded](Self::heeded), otherwise the
    /// site's.
    ///
    /// If stale answers are forbidden, there is no window, not even the origin's own (RFC 9111 section 4.2.4). An
    /// explicit window has precedence over what `s-maxage` implies (section 5.2.2.10), but only for itself: the other
    /// window, and the site's, stay shut.
    pub(super) fn window(&self, explicit: Option<u32>, site: Option<u32>) -> Option<u32> {
        let window = self.heeded(explicit, site).or(self.of_site(site));
        window.filter(|_| !self.no_cache && !self.forbids_stale)
    }
}
