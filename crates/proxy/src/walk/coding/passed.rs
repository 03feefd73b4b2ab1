//! Coding without a stored form: answers that pass, what fields say about codings, and which codings origins are asked
//! for.

use super::matching_tag;
use crate::{
    ask::Ask,
    body::Content,
    cache::Worker,
    compress::Recoded,
    policy::{Compress, Edit},
    user_group,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use rules::{
    coding::{self, Accepted, Choice, Coding, FormProvenance, Untouched},
    fields::{self, has},
};

/// The order for content that is coded for one client: at the fast level all three are about as small, and brotli takes
/// several times as long.
const CHEAPEST: [Coding; 3] = [Coding::Zstd, Coding::Gzip, Coding::Brotli];

/// Codes an answer that is not stored on its way to its one client, unless it may be for that client alone; see
/// [`Compress::personal`].
pub fn passed(
    worker: &Worker,
    ask: &Ask,
    status: StatusCode,
    fields: &mut HeaderMap,
    content: Content,
) -> Content {
    if status == StatusCode::PARTIAL_CONTENT {
        vary(ask, status, fields);
    }
    let compress = ask.policy().compress.as_ref();
    if compress.is_some_and(|compress| is_left_to_its_client(ask, fields, compress)) {
        return content;
    }
    on_its_way(worker, ask, status, fields, content)
}

/// Adds to `Vary` what [`passed`] adds, for an answer that goes out without its content.
pub fn vary_passed(ask: &Ask, status: StatusCode, fields: &mut HeaderMap) {
    if status == StatusCode::PARTIAL_CONTENT {
        vary(ask, status, fields);
    }
    let depends = ask.policy().compress.as_ref().is_some_and(|compress| {
        !is_left_to_its_client(ask, fields, compress)
            && !is_untouched(ask, status, fields, announced(fields), compress)
    });
    if depends {
        coding::vary_by_coding(fields);
    }
}

/// Codes content on its way to one client, if that accepts it, and describes it in `fields`. This is for content that
/// is made anew for each request. Whenever the content pauses, what has come so far is sent.
pub fn on_its_way(
    worker: &Worker,
    ask: &Ask,
    status: StatusCode,
    fields: &mut HeaderMap,
    content: Content,
) -> Content {
    let Some(compress) = &ask.policy().compress else {
        return content;
    };
    let length = content.length().filter(|length| *length > 0);
    let length = length.or_else(|| announced(fields));
    if is_untouched(ask, status, fields, length, compress) {
        return content;
    }
    coding::vary_by_coding(fields);
    let Some(coding) = wanted(ask, compress) else {
        return content;
    };
    let is_empty = ask.method == Method::HEAD || matches!(content, Content::Empty);
    let (counts, memory) = (&worker.cache.compressor.counts, &worker.cache.memory);
    let coded = if is_empty {
        Ok(content)
    } else {
        Recoded::encoded(content, coding, counts, memory)
    };
    match coded {
        Ok(content) => {
            coding::describe(fields, Some(coding), FormProvenance::Streamed);
            content
        }
        Err(content) => content,
    }
}

/// Returns the coding for content that is coded for this client alone.
fn wanted(ask: &Ask, compress: &Compress) -> Option<Coding> {
    if !ask.said.codings {
        return None;
    }
    let accepted = Accepted::read(&ask.fields);
    if !accepted.takes_any() {
        return None;
    }
    match coding::choose(accepted, &cheapest(compress), |_| false) {
        Choice::Coding(coding) => Some(coding),
        Choice::Identity | Choice::Instead { .. } => None,
    }
}

/// Returns the tag with which an answer with these fields goes out if it is coded on its way ([`passed`]).
pub fn tag_on_its_way(ask: &Ask, status: StatusCode, fields: &HeaderMap) -> Option<HeaderValue> {
    let own = fields.get(header::ETAG)?;
    let compress = ask.policy().compress.as_ref()?;
    if is_left_to_its_client(ask, fields, compress)
        || is_untouched(ask, status, fields, announced(fields), compress)
    {
        return None;
    }
    coding::form_tag(own, Some(wanted(ask, compress)?), FormProvenance::Streamed)
}

/// Returns the route's codings for content that is coded for one client, in order of preference.
pub fn cheapest(compress: &Compress) -> Vec<Coding> {
    let all = CHEAPEST.into_iter();
    all.filter(|coding| compress.codings.contains(coding))
        .collect()
}

/// Returns the length in `Content-Length`.
fn announced(fields: &HeaderMap) -> Option<u64> {
    let value = fields.get(header::CONTENT_LENGTH)?;
    value.to_str().ok()?.parse().ok()
}

/// Whether an answer that is not stored is for one user. The fragments of a page get cookies that were kept from the
/// page.
fn is_of_somebody(ask: &Ask, fields: &HeaderMap) -> bool {
    user_group::is_somebody(&ask.fields)
        || (ask.composed.get() && !ask.set_aside.cookies.is_empty())
        || has(fields, &header::SET_COOKIE)
}

/// Whether an answer that is not stored goes out as it is because it may be for its client alone.
fn is_left_to_its_client(ask: &Ask, fields: &HeaderMap, compress: &Compress) -> bool {
    !compress.personal && is_of_somebody(ask, fields)
}

/// Whether content of this many bytes goes out as it is, because the request or the answer says so.
fn is_untouched(
    ask: &Ask,
    status: StatusCode,
    fields: &HeaderMap,
    length: Option<u64>,
    compress: &Compress,
) -> bool {
    let lines = fields::lines(fields);
    let (types, least) = (&compress.types, compress.least);
    ask.directives.no_transform || coding::judge(status, lines, length, types, least).is_some()
}

/// Adds `Accept-Encoding` to `Vary` if the answer depends on it. That holds for every form, also for identity, and for
/// a part of one.
pub fn vary(ask: &Ask, status: StatusCode, fields: &mut HeaderMap) {
    let Some(compress) = &ask.policy().compress else {
        return;
    };
    let (status, length) = match status {
        StatusCode::PARTIAL_CONTENT => (StatusCode::OK, None),
        // However short its coding makes it: a client that cannot read the coding gets the content decoded.
        status if has(fields, &header::CONTENT_ENCODING) => (status, None),
        status => (status, announced(fields)),
    };
    let lines = fields::lines_of_whole(fields);
    let depends = match coding::judge(status, lines, length, &compress.types, compress.least) {
        None => true,
        Some(Untouched::Coded) => {
            let kind = fields.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
            coding::is_meant(kind.unwrap_or_default(), &compress.types)
        }
        Some(_) => false,
    };
    if depends {
        coding::vary_by_coding(fields);
    }
}

/// Returns the tag in the client's `If-None-Match` that names a form of the content with these fields.
pub fn matching_tag_of(ask: &Ask, fields: &HeaderMap) -> Option<HeaderValue> {
    if !ask.said.conditions || !ask.fields.contains_key(header::IF_NONE_MATCH) {
        return None;
    }
    let origin = fields.get(header::ETAG)?;
    let accepted = Accepted::read(&ask.fields);
    // Content that came in a coding goes out in it.
    let takes_own = has(fields, &header::CONTENT_ENCODING) || accepted.takes(None);
    matching_tag(ask, Some(origin.as_bytes()), takes_own, accepted)
}

/// Sets `Accept-Encoding` for the origin. An answer that may be stored is asked for in identity, so that one copy
/// serves all clients and codings are made here. If the answer is most likely for one client alone, that client's own
/// field is passed on: then the origin codes what is not coded here. It is also passed on if the origin has codings
/// ready, which then are variants.
pub fn ask_origin(ask: &Ask, fields: &mut HeaderMap, is_unshared: impl FnOnce() -> bool) {
    let policy = ask.policy();
    let name = header::ACCEPT_ENCODING;
    let is_edited = policy.to_origin.edits.iter().any(|edit| match edit {
        Edit::Set(edited, _) | Edit::Add(edited, _) | Edit::Remove(edited) => *edited == name,
    });
    let is_hopeless = || ask.fields.contains_key(header::AUTHORIZATION) || is_unshared();
    if settles(ask, &name) && !is_edited && !is_hopeless() {
        fields.insert(name, HeaderValue::from_static("identity"));
    }
}

/// Whether an answer with these fields can be given to every client: it is not coded, or can be decoded here.
pub fn suits_everybody(ask: &Ask, fields: &HeaderMap) -> bool {
    if !has(fields, &header::CONTENT_ENCODING) {
        return true;
    }
    let lines = || fields::lines(fields);
    let types = ask.policy().compress.as_ref();
    let types = types.map_or(&[][..], |compress| &compress.types);
    !coding::is_coded(lines()) || coding::decodable(lines(), types).is_some()
}

/// Whether requests for one key may differ in `name` without making a difference to the origin. Codings are settled
/// here, unless the origin has them ready.
pub fn settles(ask: &Ask, name: &HeaderName) -> bool {
    let policy = ask.policy();
    *name == header::ACCEPT_ENCODING && policy.compress.is_some() && !policy.origin.keeps_codings()
}
