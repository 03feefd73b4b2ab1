//! `Cache-Control`, `Pragma` and targeted fields as values (RFC 9111 section 5.2, RFC 9213, RFC 5861, RFC 8246).
//!
//! Malformed input is read cautiously: it never makes a response live longer or more public than the same field without
//! the fault. `list` reads `Cache-Control`, `targeted` reads the fields of RFC 9213, and `surrogate_control` reads
//! their predecessor.

pub(crate) mod list;
mod surrogate_control;
mod targeted;

use crate::surrogate::CONTROL;
use http::{
    HeaderMap, HeaderName,
    header::{CACHE_CONTROL, PRAGMA},
};
use list::Directive;

/// The largest number of seconds in a directive: 2^31, which stands for infinity (RFC 9111 section 1.2.2).
pub const MOST_SECONDS: u32 = 1 << 31;

/// A directive that may carry field names: `no-cache` and `private` (RFC 9111 section 5.2.2). Both forms can occur
/// beside each other; then both hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Qualified {
    /// The directive is absent.
    #[default]
    Absent,
    /// It covers these fields only.
    Fields(Vec<HeaderName>),
    /// It covers the whole response: an occurrence has no argument, or one that could not be read. The fields are those
    /// that others name.
    Whole(Vec<HeaderName>),
}

impl Qualified {
    /// Whether the directive covers the whole response.
    pub const fn is_whole(&self) -> bool {
        matches!(self, Self::Whole(_))
    }

    /// The fields that the directive names, whether or not it covers the whole response too.
    pub fn names(&self) -> &[HeaderName] {
        match self {
            Self::Absent => &[],
            Self::Fields(names) | Self::Whole(names) => names,
        }
    }

    /// Adds another occurrence. Lists are joined; an occurrence without a readable list covers everything.
    fn join(&mut self, list: Option<&[u8]>) {
        let more = list.and_then(list::field_names);
        let is_whole = self.is_whole() || more.is_none();
        let mut names = match std::mem::take(self) {
            Self::Absent => Vec::new(),
            Self::Fields(names) | Self::Whole(names) => names,
        };
        names.extend(more.into_iter().flatten());
        *self = if is_whole {
            Self::Whole(names)
        } else {
            Self::Fields(names)
        };
    }
}

/// What a response says about its own caching. Durations are in seconds, capped at [`MOST_SECONDS`].
///
/// In a list such as `Cache-Control`, the smallest of repeated durations counts. A malformed `max-age` or `s-maxage` is
/// zero there, which means stale (RFC 9111 section 4.2.1); a malformed `stale-*` is ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a directive of its own; any combination can be sent"
)]
pub struct ResponseDirectives {
    /// Nothing of the exchange may be stored (RFC 9111 section 5.2.2.5).
    pub no_store: bool,
    /// The response, or the fields named, must not be reused without validation (section 5.2.2.4).
    pub no_cache: Qualified,
    /// The response, or the fields named, must not be stored by a shared cache (section 5.2.2.7).
    pub private: Qualified,
    /// The response may be stored even if it otherwise might not (section 5.2.2.9).
    pub public: bool,
    /// The response must never be sent stale (section 5.2.2.2).
    pub must_revalidate: bool,
    /// The response must never be sent stale by a shared cache (section 5.2.2.8).
    pub proxy_revalidate: bool,
    /// Only a cache that understands the status may store the response, and such a cache ignores `no-store` (section
    /// 5.2.2.3).
    pub must_understand: bool,
    /// The response does not change while it is fresh (RFC 8246).
    pub immutable: bool,
    /// The content must not be transformed (section 5.2.2.6).
    pub no_transform: bool,
    /// The lifetime for any cache (section 5.2.2.1).
    pub max_age: Option<u32>,
    /// The lifetime for shared caches (section 5.2.2.10).
    pub s_maxage: Option<u32>,
    /// How long past its lifetime the response may be sent while it is validated (RFC 5861 section 3).
    pub stale_while_revalidate: Option<u32>,
    /// How long past its lifetime the response may be sent when the origin fails (RFC 5861 section 4).
    pub stale_if_error: Option<u32>,
}

/// What a request says about caching (RFC 9111 section 5.2.1). Durations are in seconds, capped at [`MOST_SECONDS`].
///
/// If a limit is repeated or malformed, the reading that asks for the younger response counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a directive of its own; any combination can be sent"
)]
pub struct RequestDirectives {
    /// The client accepts only a validated response (section 5.2.1.4).
    pub no_cache: bool,
    /// Nothing of the exchange may be stored (section 5.2.1.5).
    pub no_store: bool,
    /// The content must not be transformed (section 5.2.1.6).
    pub no_transform: bool,
    /// The client accepts only a stored response, otherwise 504 (section 5.2.1.7).
    pub only_if_cached: bool,
    /// The greatest age that the client accepts (section 5.2.1.1).
    pub max_age: Option<u32>,
    /// The least lifetime that must remain (section 5.2.1.3).
    pub min_fresh: Option<u32>,
    /// The greatest staleness that the client accepts (section 5.2.1.2). `Some(u32::MAX)` stands for a bare
    /// `max-stale`: any staleness.
    pub max_stale: Option<u32>,
    /// The greatest staleness that the client accepts when the origin fails (RFC 5861 section 4).
    pub stale_if_error: Option<u32>,
}

/// Which field a set of response directives was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DirectiveSource {
    /// `Cache-Control`, or no field at all.
    #[default]
    CacheControl,
    /// This targeted field. `Cache-Control` and `Expires` do not count then (RFC 9213 section 2.2).
    Targeted(HeaderName),
}

impl DirectiveSource {
    /// Whether it is a targeted field.
    pub const fn is_targeted(&self) -> bool {
        matches!(self, Self::Targeted(_))
    }
}

/// Returns the directives that hold for this cache, and where they come from: the first valid, non-empty targeted field
/// of `targets`, in that order (RFC 9213 section 2.2), otherwise `Cache-Control`.
pub fn response(
    fields: &HeaderMap,
    targets: &[HeaderName],
) -> (ResponseDirectives, DirectiveSource) {
    for name in targets {
        let read = match name {
            name if *name == CONTROL => surrogate_control::read(fields),
            name => targeted::read(fields, name),
        };
        if let Some(directives) = read {
            return (directives, DirectiveSource::Targeted(name.clone()));
        }
    }
    let mut directives = ResponseDirectives::default();
    for line in fields.get_all(CACHE_CONTROL) {
        for directive in list::directives(line.as_bytes()) {
            directives.add(&directive);
        }
    }
    (directives, DirectiveSource::CacheControl)
}

/// Returns the request's directives. `Pragma: no-cache` counts only without `Cache-Control` (RFC 9111 section 5.4).
/// Cheap if both fields are absent: the path of a hit calls it.
pub fn request(fields: &HeaderMap) -> RequestDirectives {
    let mut directives = RequestDirectives::default();
    let mut lines = fields.get_all(CACHE_CONTROL).iter().peekable();
    if lines.peek().is_some() {
        for directive in lines.flat_map(|line| list::directives(line.as_bytes())) {
            directives.add(&directive);
        }
    } else {
        directives.no_cache = fields
            .get_all(PRAGMA)
            .iter()
            .flat_map(|line| list::directives(line.as_bytes()))
            .any(|directive| directive.name.eq_ignore_ascii_case(b"no-cache"));
    }
    directives
}

/// Whether this line forbids to transform the content: `no-transform` (RFC 9111 section 5.2.2.6) in `Cache-Control`, in
/// any targeted field (RFC 9213 section 2), or in `Surrogate-Control`. `name` is in lower case.
///
/// It does not matter which cache the line addresses: a coding made here would reach that cache. For the same reason an
/// argument, or malformed members beside the directive, change nothing.
pub fn forbids_transform(name: &[u8], value: &[u8]) -> bool {
    // Most names end otherwise.
    let is_of_kind = name.ends_with(b"-control")
        && (name == b"cache-control"
            || name.ends_with(b"-cache-control")
            || name == CONTROL.as_str().as_bytes());
    is_of_kind
        && list::directives(value)
            .any(|directive| directive.name.eq_ignore_ascii_case(b"no-transform"))
}

impl ResponseDirectives {
    /// Whether `no-cache` or `private` names fields. Those fields are not stored (sections 5.2.2.4 and 5.2.2.7).
    pub fn names_fields(&self) -> bool {
        !self.no_cache.names().is_empty() || !self.private.names().is_empty()
    }

    /// Adds one directive of `Cache-Control`. A directive that forbids something holds even with an argument that it
    /// should not have; a directive that allows something does not.
    fn add(&mut self, directive: &Directive<'_>) {
        let argument = &directive.argument;
        match &*directive.lower_name() {
            b"no-store" => self.no_store = true,
            b"no-cache" => self.no_cache.join(argument.text()),
            b"private" => self.private.join(argument.text()),
            b"public" => self.public |= argument.is_absent(),
            b"must-revalidate" => self.must_revalidate = true,
            b"proxy-revalidate" => self.proxy_revalidate = true,
            b"must-understand" => self.must_understand |= argument.is_absent(),
            // The RFC gives arguments no meaning (RFC 8246 section 2).
            b"immutable" => self.immutable = true,
            b"no-transform" => self.no_transform = true,
            b"max-age" => least(&mut self.max_age, argument.seconds().or(Some(0))),
            b"s-maxage" => least(&mut self.s_maxage, argument.seconds().or(Some(0))),
            b"stale-while-revalidate" => {
                least(&mut self.stale_while_revalidate, argument.seconds());
            }
            b"stale-if-error" => least(&mut self.stale_if_error, argument.seconds()),
            _ => {}
        }
    }
}

impl RequestDirectives {
    fn add(&mut self, directive: &Directive<'_>) {
        let argument = &directive.argument;
        match &*directive.lower_name() {
            b"no-cache" => self.no_cache = true,
            b"no-store" => self.no_store = true,
            b"no-transform" => self.no_transform = true,
            b"only-if-cached" => self.only_if_cached = true,
            b"max-age" => least(&mut self.max_age, argument.seconds().or(Some(0))),
            b"min-fresh" => {
                let wanted = argument.seconds().unwrap_or(MOST_SECONDS);
                self.min_fresh = self.min_fresh.max(Some(wanted));
            }
            b"max-stale" if argument.is_absent() => least(&mut self.max_stale, Some(u32::MAX)),
            b"max-stale" => least(&mut self.max_stale, argument.seconds()),
            b"stale-if-error" => least(&mut self.stale_if_error, argument.seconds()),
            _ => {}
        }
    }
}

/// Lowers `kept` to `found`. `None`, for a value that could not be read, changes nothing.
fn least(kept: &mut Option<u32>, found: Option<u32>) {
    if let Some(found) = found {
        *kept = Some(kept.map_or(found, |kept| kept.min(found)));
    }
}

#[cfg(test)]
mod tests;
