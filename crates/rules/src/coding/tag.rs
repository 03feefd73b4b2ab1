//! Entity tags of forms: in brotli, `"abc"` becomes `"abc-larder-br-0123456789abcdef"`, where the last part is a hash
//! of the bytes. A streamed form has `W/"abc-larder-br"`.

use super::{Accepted, Coding, FormProvenance};
use crate::{
    etag::{EntityTag, Listed},
    method::is_safe,
    time::Time,
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{IF_MATCH, IF_NONE_MATCH, IF_RANGE, RANGE},
};

/// Separates the origin's tag from what we add.
const MARK: &[u8] = b"-larder-";
const DECODED: &str = "identity";
const HASH_DIGITS: usize = 16;

/// Returns the tag of a form of the response whose tag is `origin`; `None` if that is not a tag.
pub fn form_tag(
    origin: &HeaderValue,
    coding: Option<Coding>,
    made: FormProvenance,
) -> Option<HeaderValue> {
    let tag = EntityTag::parse(origin.as_bytes())?;
    let inner = tag.opaque().strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let name = coding.map_or(DECODED, Coding::token);
    let mut text = Vec::with_capacity(inner.len() + 48);
    let hash = match made {
        FormProvenance::Whole { hash, .. } if tag.is_strong() => Some(hash),
        FormProvenance::Whole { .. } | FormProvenance::Streamed => None,
    };
    text.extend_from_slice(if hash.is_some() { b"\"" } else { b"W/\"" });
    text.extend_from_slice(inner);
    text.extend_from_slice(MARK);
    text.extend_from_slice(name.as_bytes());
    if let Some(hash) = hash {
        text.extend_from_slice(format!("-{hash:016x}").as_bytes());
    }
    text.push(b'"');
    HeaderValue::from_bytes(&text).ok()
}

/// The parts of a form's tag.
struct Form<'a> {
    /// The origin's tag without its quotes.
    origin: &'a [u8],
    coding: Option<Coding>,
    is_strong: bool,
}

impl<'a> Form<'a> {
    fn read(tag: EntityTag<'a>) -> Option<Self> {
        let inner = tag.opaque().strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let at = last_place(inner, MARK)?;
        let (origin, ours) = inner.split_at_checked(at)?;
        let ours = ours.strip_prefix(MARK)?;
        let mut parts = ours.splitn(2, |byte| *byte == b'-');
        let name = parts.next()?;
        let hash = parts.next();
        let is_hash = |hash: &[u8]| {
            let digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            hash.len() == HASH_DIGITS && hash.iter().all(digit)
        };
        if hash.is_some_and(|hash| !is_hash(hash)) {
            return None;
        }
        let coding = match Coding::parse(name) {
            None if name == DECODED.as_bytes() => None,
            None => return None,
            known => known,
        };
        let is_strong = hash.is_some() && tag.is_strong();
        Some(Self {
            origin,
            coding,
            is_strong,
        })
    }

    fn origin_tag(&self) -> Vec<u8> {
        let weak: &[u8] = if self.is_strong { b"" } else { b"W/" };
        [weak, b"\"", self.origin, b"\""].concat()
    }
}

fn last_place(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).rposition(|window| window == part)
}

/// Returns the tag that `If-None-Match` names and the client accepts; `None` if there is none.
///
/// It is the tag of a form as written there, whether or not the same bytes would come out today, or else `origin`, the
/// origin's own tag (RFC 9110 section 15.4.5: the tag that a 200 would have). `takes_own` says whether the client
/// accepts the origin's own content.
pub fn understood(
    request: &HeaderMap,
    origin: &[u8],
    takes_own: bool,
    accepted: Accepted,
) -> Option<HeaderValue> {
    let lines = request.get_all(IF_NONE_MATCH);
    lines.iter().next()?;
    let own = HeaderValue::from_bytes(origin.trim_ascii());
    let origin = EntityTag::parse(origin)?;
    let inner = origin.opaque().strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let found = std::cell::Cell::new(None);
    let is_ours = |tag: EntityTag<'_>| {
        let is_form =
            Form::read(tag).is_some_and(|form| form.origin == inner && accepted.takes(form.coding));
        let is_own = takes_own && tag.weak_eq(origin);
        if is_form {
            found.set(HeaderValue::from_bytes(&written(tag)).ok());
        } else if is_own {
            found.set(own.as_ref().ok().cloned());
        }
        is_form || is_own
    };
    // `*` names none.
    let names_it = Listed::read(lines).contains(is_ours);
    found.take().filter(|_| names_it)
}

fn written(tag: EntityTag<'_>) -> Vec<u8> {
    let weak: &[u8] = if tag.is_strong() { b"" } else { b"W/" };
    [weak, tag.opaque()].concat()
}

/// The coding of the form that the client's `If-Range` names; `None` if it names no form, `Some(None)` if a decoded
/// one.
pub fn range_form(request: &HeaderMap) -> Option<Option<Coding>> {
    let tag = EntityTag::parse(request.get(IF_RANGE)?.as_bytes())?;
    Form::read(tag).map(|form| form.coding)
}

/// Whether the client's `If-Range` is a date. All forms share `Last-Modified`, so a date does not say of which form the
/// client holds a part.
pub fn is_dated_range(request: &HeaderMap, now: Time) -> bool {
    let value = request.get(IF_RANGE);
    value.is_some_and(|value| Time::parse(value.as_bytes(), now).is_some())
}

/// Translates conditions that name forms into the origin's own tags, for a request that is forwarded otherwise as it came:
/// the origin does not know our tags.
///
/// A condition is about what the client, which has `accepted`, would get now (RFC 9110 sections 13.1.1 and 13.1.2). A
/// tag of another form stays as it is, and does not match the origin's own. But a request that changes something is
/// about the resource, in whatever coding it was read: all its tags are translated. A range on condition of a form, by
/// `If-Range` or `If-Match`, is removed: the origin has none of the form's bytes.
pub fn for_origin(request: &mut HeaderMap, method: &Method, accepted: impl Fn() -> Accepted) {
    let is_of_form = matches_form(request)
        || (request.get(IF_RANGE).is_some_and(mentions) && range_form(request).is_some());
    for name in [IF_NONE_MATCH, IF_MATCH] {
        if request.get_all(&name).iter().any(mentions) {
            translate(request, &name, |form| {
                !is_safe(method) || accepted().takes(form.coding)
            });
        }
    }
    if is_of_form {
        request.remove(IF_RANGE);
        request.remove(RANGE);
    }
}

/// Whether the client's `If-Match` names a form.
pub fn matches_form(request: &HeaderMap) -> bool {
    let lines = || request.get_all(IF_MATCH);
    lines().iter().any(mentions) && Listed::read(lines()).contains(|tag| Form::read(tag).is_some())
}

fn mentions(value: &HeaderValue) -> bool {
    last_place(value.as_bytes(), MARK).is_some()
}

fn translate(request: &mut HeaderMap, name: &HeaderName, is_meant: impl Fn(&Form<'_>) -> bool) {
    let tags = std::cell::RefCell::new(Vec::new());
    Listed::read(request.get_all(name)).contains(|tag| {
        let form = Form::read(tag).filter(&is_meant);
        let text = form.map_or_else(|| written(tag), |form| form.origin_tag());
        let mut tags = tags.borrow_mut();
        if !tags.contains(&text) {
            tags.push(text);
        }
        false
    });
    let joined = tags.into_inner().join(&b", "[..]);
    if let Ok(value) = HeaderValue::from_bytes(&joined) {
        request.insert(name, value);
    }
}
