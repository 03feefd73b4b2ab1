//! Validation: the conditional request, and what its answer does (RFC 9111 section 4.3).

use crate::{
    directives,
    etag::{EntityTag, is_strong_date},
    fields,
    time::Time,
};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{
        AGE, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, DATE, ETAG, IF_MATCH,
        IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, LAST_MODIFIED, RANGE, VIA,
    },
};

/// The validators of one stored response.
#[derive(Clone, Copy, Debug)]
pub struct Validators<'a> {
    /// The value of `ETag`.
    pub etag: Option<&'a HeaderValue>,
    /// The value of `Last-Modified`.
    pub last_modified: Option<&'a HeaderValue>,
    /// `Date`, or time of receipt, as dates in two digits are read. Never made into a validator.
    pub date: Time,
    /// Whether it could be chosen for the request: its nominated fields match. What does not is named by a strong tag alone, since
    /// representations with different content may share a weak one, or a date (RFC 9110 section 8.8.1).
    pub matches: bool,
}

impl<'a> Validators<'a> {
    /// The validators of a stored response that could be chosen for the request, and its `date`.
    pub fn of(fields: &'a HeaderMap, date: Time) -> Self {
        Self {
            etag: fields.get(ETAG),
            last_modified: fields.get(LAST_MODIFIED),
            date,
            matches: true,
        }
    }

    /// The tag by which it may be named.
    fn tag(&self) -> Option<EntityTag<'a>> {
        let tag = EntityTag::parse(self.etag?.as_bytes())?;
        (self.matches || tag.is_strong()).then_some(tag)
    }

    /// The date by which it may be named.
    fn modified(&self) -> Option<&'a HeaderValue> {
        self.last_modified.filter(|_| self.matches)
    }

    /// Whether a request can name it.
    pub fn has_any(&self) -> bool {
        self.tag().is_some() || self.modified().is_some()
    }
}

/// Removes fields that a client may have sent and that must not reach the origin in our own fetch: the conditionals and
/// `Range`.
pub fn remove_conditions(request: &mut HeaderMap) {
    fields::remove_where(request, is_condition);
}

fn is_condition(name: &HeaderName) -> bool {
    matches!(
        *name,
        IF_MATCH | IF_NONE_MATCH | IF_MODIFIED_SINCE | IF_UNMODIFIED_SINCE | IF_RANGE | RANGE
    )
}

/// The list of tags grows no longer than this many bytes, lest the origin refuse the request: common limits on a field are
/// 4 and 8 KiB. The chosen response's tag is always sent.
const LONGEST_LIST: usize = 3 * 1024;

/// Writes `If-None-Match` (every tag of `candidates`, the chosen one first) and `If-Modified-Since` (of the chosen one,
/// which is `candidates[0]`) into `request`, in place of those it has: none where there is no validator to use
/// (RFC 9111 section 4.3.1).
///
/// Of candidates that do not match the request only strong tags are sent. They are those that can be asked about [at once](askable).
pub fn condition(request: &mut HeaderMap, candidates: &[Validators<'_>]) {
    let candidates = askable(candidates);
    let modified = candidates.first().and_then(dated);
    replace(request, IF_NONE_MATCH, tags_of(candidates));
    replace(request, IF_MODIFIED_SINCE, modified.cloned());
}

/// Those of `candidates` that one request can ask about: where the chosen one has a date and no tag, that alone. Beside a tag its date would
/// be ignored (RFC 9110 section 13.1.3), and it could never be confirmed.
pub fn askable<'c, 'a>(candidates: &'c [Validators<'a>]) -> &'c [Validators<'a>] {
    match candidates {
        [chosen, ..] if chosen.tag().is_none() && dated(chosen).is_some() => {
            std::slice::from_ref(chosen)
        }
        all => all,
    }
}

/// The date by which it may be named: as it came (origins may compare bytes), but only if it is a date at all.
fn dated<'a>(one: &Validators<'a>) -> Option<&'a HeaderValue> {
    let value = one.modified()?;
    Time::parse(value.as_bytes(), one.date).map(|_| value)
}

/// The tags of all, as far as they fit.
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

/// Which candidates a 304 selects (RFC 9111 sections 4.3.3 and 4.3.4): by strong tag all with the same tag that match the request, or what
/// has no tag by its date; by weak tag or `Last-Modified` the first that does; without validators that one, where nothing else was asked about. Indices into
/// `candidates`; empty: the 304 matches nothing.
///
/// Those that match the request are freshened. Where a strong tag is that of others alone, the first of these is selected: its content is
/// what the request would get, and the 304 "MUST NOT" update the response itself, which could not have been chosen for the request.
///
/// `candidates` are those whose validators were sent: first the one chosen for the request, then the most recent before the others.
/// Another that matches may be more recent than the chosen one and share its weak tag; the chosen one has the right to it, since it was
/// what the request would have been answered with. `Last-Modified` counts as weak: variants made by one deployment share it.
pub fn selected(not_modified: &HeaderMap, candidates: &[Validators<'_>]) -> Vec<usize> {
    let tag = EntityTag::of(not_modified);
    if let Some(tag) = tag.filter(|tag| tag.is_strong()) {
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
        // The tag is new: what has none can still be meant by its date, where that is strong (RFC 9111 section 4.3.4: "one of those").
        // Where tags were asked about the date was not.
        let modified = not_modified.get(LAST_MODIFIED);
        let asked = candidates.iter().all(|one| one.tag().is_none());
        let is_of_date = |one: &Validators<'_>| {
            let own = one.modified().filter(|own| {
                let modified = Time::parse(own.as_bytes(), one.date);
                asked && modified.is_some_and(|modified| is_strong_date(modified, one.date))
            });
            matches!((modified, own), (Some(new), Some(own)) if same_date(new, own, one.date))
        };
        return indices(candidates, is_of_date).take(1).collect();
    }
    let modified = not_modified.get(LAST_MODIFIED);
    if !not_modified.contains_key(ETAG) && modified.is_none() {
        // It can mean no other.
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

/// Whether two dates are the same bytes or the same time in different formats.
fn same_date(one: &HeaderValue, two: &HeaderValue, now: Time) -> bool {
    if one == two {
        return true;
    }
    let parse = |value: &HeaderValue| Time::parse(value.as_bytes(), now);
    matches!((parse(one), parse(two)), (Some(one), Some(two)) if one == two)
}

/// What the stored bytes depend upon, so that an update must not touch it (RFC 9111 section 3.2): their length, their
/// coding and which part they are. `Content-Type` is not among them: bytes are stored, not what was made of them.
fn is_depended_upon(name: &HeaderName) -> bool {
    matches!(*name, CONTENT_LENGTH | CONTENT_ENCODING | CONTENT_RANGE)
}

/// What tells of one message's journey and not of the representation.
const OF_ONE_MESSAGE: [HeaderName; 3] = [AGE, DATE, VIA];

/// Freshens stored fields with those of a 304, of a HEAD's 200 or of another part (RFC 9111 section 3.2): every field the
/// update carries replaces all stored lines of its name, except `Content-Length`, `Content-Encoding`, `Content-Range`,
/// hop-by-hop fields, and what cannot be stored (section 3.1). What decides about storing is among them: it is taken out with what the
/// response was first stored without, once that is judged anew.
///
/// The stored `Age`, `Date` and `Via` go even if the update has none: they tell of the journey of an earlier message. Age is
/// counted from the validation on (section 4.2.3), and a `Date` that the origin left out is the time of receipt (RFC 9110
/// section 6.6.1), which is the caller's to add.
///
/// `targets` are the targeted fields that are obeyed: where one governs, the update's or the stored one, `Cache-Control` names no fields
/// (RFC 9213 section 2.2).
pub fn freshen(stored: &mut HeaderMap, update: &HeaderMap, targets: &[HeaderName]) {
    let mut update = update.clone();
    let directives = if targets.iter().any(|name| stored.contains_key(name)) {
        let mut all = stored.clone();
        freshen_for_one(&mut all, update.clone());
        directives::response(&all, targets).0
    } else {
        directives::response(&update, targets).0
    };
    // What decides is judged before it is taken out.
    fields::remove_where(&mut update, |name| {
        fields::is_unstorable(name, &directives) && !fields::decides(name)
    });
    freshen_for_one(stored, update);
}

/// As [`freshen`], for the client whose request brought the update: what cannot be stored is among its fields.
pub fn freshen_for_one(stored: &mut HeaderMap, mut update: HeaderMap) {
    fields::remove_hop_by_hop(&mut update);
    fields::remove_where(&mut update, is_depended_upon);
    for name in OF_ONE_MESSAGE.iter().chain(update.keys()) {
        stored.remove(name);
    }
    for (name, value) in &update {
        stored.append(name, value.clone());
    }
}

/// What a HEAD's answer says of a stored GET (RFC 9111 section 4.3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadSays {
    /// It describes the same representation: [`freshen`] the stored response.
    Freshen,
    /// It describes another one: the stored response is stale from now on.
    Disqualify,
    /// It is no 200, is of another coding, or carries nothing to compare: the stored response stays as it is. Freshening it on
    /// no evidence would keep a page that may have changed for as long as somebody sends HEAD requests.
    Nothing,
}

/// Judges the answer to a HEAD request against a stored GET response that could have been chosen for it. `stored_length` is
/// the length of its content where that is known. `now` decides the century of a year in two digits.
pub fn head_says(
    status: StatusCode,
    head: &HeaderMap,
    stored: &HeaderMap,
    stored_length: Option<u64>,
    now: Time,
) -> HeadSays {
    if status != StatusCode::OK || !fields::same_lines(head, stored, &CONTENT_ENCODING) {
        return HeadSays::Nothing;
    }
    let tag = head.contains_key(ETAG).then(|| {
        let own = EntityTag::of(stored);
        own.is_some() && own == EntityTag::of(head)
    });
    let modified = head.get(LAST_MODIFIED).map(|value| {
        let own = stored.get(LAST_MODIFIED);
        own.is_some_and(|own| same_date(value, own, now))
    });
    let length = head.get(CONTENT_LENGTH).zip(stored_length);
    let length = length.map(|(value, own)| value.as_bytes() == own.to_string().as_bytes());
    let compared = [tag, modified, length];
    if compared.contains(&Some(false)) {
        HeadSays::Disqualify
    } else if compared.contains(&Some(true)) {
        HeadSays::Freshen
    } else {
        HeadSays::Nothing
    }
}

/// Whether the answer to a HEAD request shows that its content would be the very bytes that are stored: by a strong entity tag
/// (RFC 9110 section 8.8.3.2). What else they have in common ([`head_says`]) two users' pages may have too.
pub fn is_same_content(head: &HeaderMap, stored: &HeaderMap) -> bool {
    let tags = EntityTag::of(head).zip(EntityTag::of(stored));
    tags.is_some_and(|(one, other)| one.strong_eq(other))
}

#[cfg(test)]
mod tests;
