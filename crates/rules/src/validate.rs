//! Validation: the conditional request, and the effect of its answer (RFC 9111 section 4.3).

mod freshen;
mod head;
mod selected;

pub use freshen::{for_caches, freshen, freshen_for_one};
pub use head::{HeadSays, head_says, is_same_content};
pub use selected::selected;

use crate::{etag::EntityTag, fields, time::Time};
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{
        ETAG, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE,
        LAST_MODIFIED, RANGE,
    },
};

/// The validators of one stored response.
#[derive(Clone, Copy, Debug)]
pub struct Validators<'a> {
    /// The value of `ETag`.
    pub etag: Option<&'a HeaderValue>,
    /// The value of `Last-Modified`.
    pub last_modified: Option<&'a HeaderValue>,
    /// `Date`, or the time of receipt. It decides the century of a date with a two-digit year, and is never sent as a
    /// validator.
    pub date: Time,
    /// Whether the response could be chosen for the request: its nominated fields match. If not, only a strong tag
    /// names it, since representations with different content may share a weak tag, or a date (RFC 9110 section 8.8.1).
    pub matches: bool,
}

impl<'a> Validators<'a> {
    /// Returns the validators of a stored response that could be chosen for the request, received at `date`.
    pub fn of(fields: &'a HeaderMap, date: Time) -> Self {
        Self {
            etag: fields.get(ETAG),
            last_modified: fields.get(LAST_MODIFIED),
            date,
            matches: true,
        }
    }

    /// The tag by which a request may name the response.
    fn tag(&self) -> Option<EntityTag<'a>> {
        let tag = EntityTag::parse(self.etag?.as_bytes())?;
        (self.matches || tag.is_strong()).then_some(tag)
    }

    /// The date by which a request may name the response.
    fn modified(&self) -> Option<&'a HeaderValue> {
        self.last_modified.filter(|_| self.matches)
    }

    /// Whether a request can name the response.
    pub fn has_any(&self) -> bool {
        self.tag().is_some() || self.modified().is_some()
    }
}

/// Removes the fields of a client that must not reach the origin in our own fetch: the conditionals and `Range`.
pub fn remove_conditions(request: &mut HeaderMap) {
    fields::remove_where(request, is_condition);
}

fn is_condition(name: &HeaderName) -> bool {
    matches!(
        *name,
        IF_MATCH | IF_NONE_MATCH | IF_MODIFIED_SINCE | IF_UNMODIFIED_SINCE | IF_RANGE | RANGE
    )
}

/// The length in bytes up to which the list of tags may grow, so that the origin does not refuse the request: common
/// limits on a field are 4 and 8 KiB. The tag of the chosen response is always sent.
const LONGEST_LIST: usize = 3 * 1024;

/// Makes `request` conditional (RFC 9111 section 4.3.1): writes `If-None-Match`, with every tag of `candidates`, and
/// `If-Modified-Since`, with the date of the chosen response, which is `candidates[0]`. They replace those that the
/// request has; without a validator to use it has none.
///
/// The chosen response's tag comes first. Candidates that do not match the request are named by strong tags only. Only
/// candidates that can be asked about [at once](askable) are named.
pub fn condition(request: &mut HeaderMap, candidates: &[Validators<'_>]) {
    let candidates = askable(candidates);
    let modified = candidates.first().and_then(dated);
    replace(request, IF_NONE_MATCH, tags_of(candidates));
    replace(request, IF_MODIFIED_SINCE, modified.cloned());
}

/// Returns those of `candidates` that one request can ask about. If the chosen response has a date and no tag, it is
/// the only one: beside a tag its date would be ignored (RFC 9110 section 13.1.3), and it could never be confirmed.
pub fn askable<'c, 'a>(candidates: &'c [Validators<'a>]) -> &'c [Validators<'a>] {
    match candidates {
        [chosen, ..] if chosen.tag().is_none() && dated(chosen).is_some() => {
            std::slice::from_ref(chosen)
        }
        all => all,
    }
}

/// The date by which a request may name the response, unchanged since origins may compare bytes; `None` if it is not a
/// date.
fn dated<'a>(one: &Validators<'a>) -> Option<&'a HeaderValue> {
    let value = one.modified()?;
    Time::parse(value.as_bytes(), one.date).map(|_| value)
}

/// Lists the tags of all candidates, as far as they fit.
fn tags_of(candidates: &[Validators<'_>]) -> Option<HeaderValue> {
    let mut list = Vec::new();
    let mut listed: Vec<EntityTag<'_>> = Vec::new();
    for candidate in candidates {
        let (Some(tag), Some(value)) = (candidate.tag(), candidate.etag) else {
            continue;
        };
        let value = value.as_bytes().trim_ascii();
        let fits = list.is_empty() || list.len() + value.len() <= LONGEST_LIST;
        if !fits || listed.contains(&tag) {
            continue;
        }
        if !list.is_empty() {
            list.extend_from_slice(b", ");
        }
        list.extend_from_slice(value);
        listed.push(tag);
    }
    let tags = HeaderValue::from_bytes(&list).ok();
    tags.filter(|tags| !tags.is_empty())
}

fn replace(request: &mut HeaderMap, name: HeaderName, value: Option<HeaderValue>) {
    match value {
        Some(value) => {
            request.insert(name, value);
        }
        None => fields::remove_where(request, |one| *one == name),
    }
}

/// Whether two dates are the same bytes or the same time in different formats.
fn same_date(one: &HeaderValue, two: &HeaderValue, now: Time) -> bool {
    if one == two {
        return true;
    }
    let parse = |value: &HeaderValue| Time::parse(value.as_bytes(), now);
    matches!((parse(one), parse(two)), (Some(one), Some(two)) if one == two)
}

#[cfg(test)]
mod tests;
