//! Which stored responses a 304 is about (RFC 9111 sections 4.3.3 and 4.3.4).

use super::{Validators, same_date};
use crate::{
    etag::{EntityTag, is_strong_date},
    time::Time,
};
use http::{
    HeaderMap,
    header::{ETAG, LAST_MODIFIED},
};

/// Returns the indices of the `candidates` that a 304 selects (RFC 9111 sections 4.3.3 and 4.3.4); empty if it selects
/// none.
///
/// - With a strong tag: all candidates with this tag that match the request; otherwise a candidate without a tag, by
///   its date.
/// - With a weak tag or `Last-Modified`: the first that matches the request and has it. `Last-Modified` counts as weak,
///   because variants that one deployment made share it.
/// - Without validators: the only candidate, if nothing else was asked about and it matches the request.
///
/// Those that match the request are freshened. If only candidates that do not match have the strong tag, the first of
/// them is selected: its content is what the request would get. The 304 "MUST NOT" update that response, because it
/// could not have been chosen for the request.
///
/// `candidates` are those whose validators were sent: first the one chosen for the request, then the others, the most
/// recent first. Another that matches may be more recent than the chosen one and share its weak tag. The chosen one
/// goes first, because the request would have been answered with it.
pub fn selected(not_modified: &HeaderMap, candidates: &[Validators<'_>]) -> Vec<usize> {
    let tag = EntityTag::of(not_modified);
    match tag.filter(|tag| tag.is_strong()) {
        Some(tag) => by_strong_tag(not_modified, tag, candidates),
        None => by_weak_validator(not_modified, tag, candidates),
    }
}

/// Selects for a 304 with a strong tag.
fn by_strong_tag(
    not_modified: &HeaderMap,
    tag: EntityTag<'_>,
    candidates: &[Validators<'_>],
) -> Vec<usize> {
    let has_tag = |one: &Validators<'_>| one.tag().is_some_and(|own| own.strong_eq(tag));
    let is_meant = |one: &Validators<'_>| one.matches && has_tag(one);
    let meant: Vec<_> = indices(candidates, is_meant).collect();
    if !meant.is_empty() {
        return meant;
    }
    let others: Vec<_> = indices(candidates, has_tag).take(1).collect();
    if !others.is_empty() {
        return others;
    }
    // The tag is new. A candidate without a tag can still be meant by its date, if the date is strong (RFC 9111 section
    // 4.3.4: "one of those"). If tags were asked about, the date was not.
    let modified = not_modified.get(LAST_MODIFIED);
    let asked = candidates.iter().all(|one| one.tag().is_none());
    let is_of_date = |one: &Validators<'_>| {
        let own = one.modified().filter(|own| {
            let modified = Time::parse(own.as_bytes(), one.date);
            asked && modified.is_some_and(|modified| is_strong_date(modified, one.date))
        });
        matches!((modified, own), (Some(new), Some(own)) if same_date(new, own, one.date))
    };
    indices(candidates, is_of_date).take(1).collect()
}

/// Selects for a 304 with weak validators, or with none.
fn by_weak_validator(
    not_modified: &HeaderMap,
    tag: Option<EntityTag<'_>>,
    candidates: &[Validators<'_>],
) -> Vec<usize> {
    let modified = not_modified.get(LAST_MODIFIED);
    if !not_modified.contains_key(ETAG) && modified.is_none() {
        // The 304 can mean no other.
        return match candidates {
            [only] if only.matches => vec![0],
            _ => vec![],
        };
    }
    let corresponds = |one: &Validators<'_>| match (tag, one.tag()) {
        (Some(tag), Some(own)) => own.weak_eq(tag),
        _ => match (modified, one.modified()) {
            (Some(modified), Some(own)) => same_date(modified, own, one.date),
            _ => false,
        },
    };
    let is_meant = |one: &Validators<'_>| one.matches && corresponds(one);
    indices(candidates, is_meant).take(1).collect()
}

fn indices<'a>(
    candidates: &'a [Validators<'a>],
    is_meant: impl Fn(&Validators<'a>) -> bool + 'a,
) -> impl Iterator<Item = usize> + 'a {
    let all = candidates.iter().enumerate();
    all.filter(move |(_, one)| is_meant(one))
        .map(|(index, _)| index)
}
