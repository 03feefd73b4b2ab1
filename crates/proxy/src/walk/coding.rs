//! Coding: which form of a response goes out, and who makes it where it is not there yet.
//!
//! | what is stored | the client | what goes out |
//! |---|---|---|
//! | identity | names no coding of ours, or asks for a part of it | identity |
//! | identity, with the form | accepts it | the form, a stored response like any other |
//! | identity, small | accepts a coding | the form, made here and now |
//! | identity, large or on its way | accepts a coding | the form while it is made, by the pool or as it comes |
//! | a coding of the origin's own | accepts it, or asks for a part of it | that |
//! | a coding of the origin's own | does not | decoded on its way |

use crate::{
    ask::Ask,
    body::Content,
    cache::Worker,
    compress::{self, Begun, Job, Recoded},
    policy::{Compress, Edit},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use rules::coding::{self, Accepted, Choice, Coding, Made, Untouched};
use std::sync::Arc;
use store::{Body, Level, Stored, fill::Reader};

/// Bodies up to this length, in bytes, are coded on the worker's own time, which at the fast level is less than a millisecond.
const AT_ONCE: u64 = 32 << 10;

/// A form that was sent so often is worth the high level; asked again at each doubling until it is made.
const OFTEN: u64 = 16;

/// For content that is coded for one client: at the fast level all three come out about as small, and brotli takes several times as long.
const CHEAPEST: [Coding; 3] = [Coding::Zstd, Coding::Gzip, Coding::Brotli];

/// What answers, and what is still to be done to it.
pub struct Chosen {
    pub stored: Arc<Stored>,
    pub reader: Option<Reader>,
    pub then: Then,
}

/// What is done to the content when it has been shaped.
#[derive(Debug)]
pub enum Then {
    Nothing,
    /// The client holds what it asks for: the tag in its `If-None-Match` names a form of it.
    Held(HeaderValue),
    Encode(Coding),
    Decode(Coding),
}

/// Chooses the form that answers. On the path of a hit: a request that accepts no coding costs one look at its fields, and one
/// that finds its form there reads `Accept-Encoding` besides.
#[inline]
pub fn choose(worker: &Worker, ask: &Ask, stored: Arc<Stored>, reader: Option<Reader>) -> Chosen {
    let as_it_is = match &ask.policy().compress {
        None => true,
        Some(_) => !stored.is_coded && !ask.fields.contains_key(header::ACCEPT_ENCODING),
    };
    if as_it_is || ask.directives.no_transform {
        return Chosen::as_it_is(stored, reader);
    }
    negotiate(worker, ask, stored, reader)
}

impl Chosen {
    fn as_it_is(stored: Arc<Stored>, reader: Option<Reader>) -> Self {
        Self {
            stored,
            reader,
            then: Then::Nothing,
        }
    }
}

fn negotiate(worker: &Worker, ask: &Ask, stored: Arc<Stored>, reader: Option<Reader>) -> Chosen {
    let Some(compress) = &ask.policy().compress else {
        return Chosen::as_it_is(stored, reader);
    };
    let accepted = Accepted::read(&ask.fields);
    if stored.status == StatusCode::OK
        && ask.fields.contains_key(header::IF_NONE_MATCH)
        && let Some(tag) = held(ask, stored.fields.get_bytes(&header::ETAG), accepted)
    {
        return Chosen {
            stored,
            reader,
            then: Then::Held(tag),
        };
    }
    if stored.is_coded {
        let then = decode(ask, compress, accepted, &stored);
        return Chosen {
            stored,
            reader,
            then,
        };
    }
    // `If-Match` was held against the origin's own tag already.
    let is_about_origin = ask.fields.contains_key(header::IF_MATCH);
    if !accepted.takes_any() || is_about_origin || wants_part(ask, accepted) {
        return Chosen::as_it_is(stored, reader);
    }
    let named = coding::range_form(&ask.fields).flatten();
    if ask.range().is_some()
        && let Some(form) = named.and_then(|coding| stored.forms.get(coding)?.stored.clone())
    {
        // It resumes a form: `If-Range` says of which bytes.
        return Chosen::as_it_is(form, None);
    }
    let is_made = |coding| stored.forms.get(coding).is_some();
    match coding::choose(accepted, &compress.codings, is_made) {
        Choice::Identity => Chosen::as_it_is(stored, reader),
        Choice::Coding(coding) if is_made(coding) => {
            form(worker, ask, stored, reader, coding, coding)
        }
        Choice::Instead {
            stored: made,
            better,
        } => form(worker, ask, stored, reader, made, better),
        Choice::Coding(coding) => missing(worker, ask, compress, stored, reader, coding),
    }
}

/// The tag in `If-None-Match` that names what has the tag `origin`, or a form of it that the client accepts.
fn held(ask: &Ask, origin: Option<&[u8]>, accepted: Accepted) -> Option<HeaderValue> {
    coding::understood(&ask.fields, origin?, accepted)
}

/// Whether the client wants a part of the content without coding. A part on condition of a date is none: all forms have the same
/// `Last-Modified`, and nobody knows of which one the client holds the rest.
fn wants_part(ask: &Ask, accepted: Accepted) -> bool {
    ask.method == Method::GET
        && ask.range().is_some()
        && accepted.takes(None)
        && !coding::is_dated_range(&ask.fields, ask.now)
        && coding::range_form(&ask.fields).is_none()
}

/// Whether ranges of `stored`, as chosen, may be sent; see [`wants_part`].
pub fn may_be_parted(ask: &Ask, then: &Then, stored: &Stored) -> bool {
    match then {
        Then::Encode(_) | Then::Decode(_) => false,
        Then::Nothing | Then::Held(_) => {
            let is_form = ask.policy().compress.is_some() && stored.is_coded;
            !is_form || !coding::is_dated_range(&ask.fields, ask.now)
        }
    }
}

/// The form in `coding`, which is there. What is sent often is made better: this one, or `better` where that is another.
fn form(
    worker: &Worker,
    ask: &Ask,
    stored: Arc<Stored>,
    reader: Option<Reader>,
    coding: Coding,
    better: Coding,
) -> Chosen {
    let Some(form) = stored.forms.get(coding) else {
        return Chosen::as_it_is(stored, reader);
    };
    let Some(made) = &form.stored else {
        // Tried, and of no use.
        return Chosen::as_it_is(stored, reader);
    };
    if form.level == Level::Fast || coding != better {
        let uses = made.used() + 1;
        if uses >= OFTEN && uses.is_power_of_two() {
            let key = ask.key.as_bytes().into();
            let id = stored.id();
            let better = compress::Better {
                key,
                id,
                coding: better,
            };
            worker.cache.compressor.pool.make_better(better);
        }
    }
    Chosen::as_it_is(made.clone(), None)
}

/// The form in `coding` is not there.
fn missing(
    worker: &Worker,
    ask: &Ask,
    compress: &Compress,
    stored: Arc<Stored>,
    reader: Option<Reader>,
    coding: Coding,
) -> Chosen {
    let length = stored.body.length();
    let why = coding::judge(
        stored.status,
        stored.fields.iter(),
        length,
        &compress.types,
        compress.least,
    );
    if why.is_some() {
        return Chosen::as_it_is(stored, reader);
    }
    if ask.method == Method::GET
        && let Body::Whole(content) = &stored.body
        && content.len() as u64 <= AT_ONCE
        && let Some(form) = made_at_once(worker, ask, &stored, content, coding)
    {
        return Chosen::as_it_is(form, None);
    }
    Chosen {
        stored,
        reader,
        then: Then::Encode(coding),
    }
}

/// What goes out of a small body, its form being made here and now: the form, or the content where it is of no use. `None` where another
/// makes it, or it cannot be kept.
fn made_at_once(
    worker: &Worker,
    ask: &Ask,
    stored: &Arc<Stored>,
    content: &bytes::Bytes,
    coding: Coding,
) -> Option<Arc<Stored>> {
    let (memory, compressor) = (&worker.cache.memory, &worker.cache.compressor);
    let key = ask.key.as_bytes();
    let form = match compressor.making.begin(memory, key, stored.id(), coding) {
        Begun::Made(form) => form.stored,
        Begun::Mine(claim, writer, _) => {
            let counts = &compressor.counts;
            let with = compress::at_once(memory, counts, key, content, (claim, writer))?;
            with.forms.get(coding)?.stored.clone()
        }
        Begun::Theirs(_) | Begun::Unkept => return None,
    };
    Some(form.unwrap_or_else(|| stored.clone()))
}

/// What becomes of the origin's own coding.
fn decode(ask: &Ask, compress: &Compress, accepted: Accepted, stored: &Stored) -> Then {
    let field = stored.fields.get_bytes(&header::CONTENT_ENCODING);
    let Some(coding) = field.and_then(Coding::parse) else {
        return Then::Nothing;
    };
    let kind = stored.fields.get_bytes(&header::CONTENT_TYPE);
    let is_meant = coding::is_meant(kind.unwrap_or_default(), &compress.types)
        && !coding::forbids_transform(stored.fields.iter());
    let is_fit = stored.status != StatusCode::PARTIAL_CONTENT && ask.range().is_none();
    if accepted.takes(Some(coding)) || !accepted.takes(None) || !is_meant || !is_fit {
        return Then::Nothing;
    }
    Then::Decode(coding)
}

/// Does what was chosen to the content of a whole answer, and to its fields.
pub fn apply(
    worker: &Worker,
    ask: &Ask,
    stored: &Arc<Stored>,
    then: &Then,
    fields: &mut HeaderMap,
    content: Content,
) -> Content {
    let counts = &worker.cache.compressor.counts;
    match *then {
        Then::Nothing | Then::Held(_) => content,
        Then::Decode(coding) => {
            coding::describe(fields, None, Made::Streamed);
            match content {
                Content::Empty => content,
                content => Content::Recoded(Box::new(Recoded::decoded(content, coding, counts))),
            }
        }
        Then::Encode(coding) => match encode(worker, ask, stored, coding, content) {
            Ok(content) => {
                coding::describe(fields, Some(coding), Made::Streamed);
                content
            }
            Err(content) => content,
        },
    }
}

/// `content` in `coding`: as it is being made by another, or made from here on. An error where the pool has no room, and it
/// goes out as it is.
fn encode(
    worker: &Worker,
    ask: &Ask,
    stored: &Arc<Stored>,
    coding: Coding,
    content: Content,
) -> Result<Content, Content> {
    if ask.method == Method::HEAD {
        return Ok(content);
    }
    let (memory, compressor) = (&worker.cache.memory, &worker.cache.compressor);
    let begin = || {
        let key = ask.key.as_bytes();
        let begun = compressor.making.begin(memory, key, stored.id(), coding);
        (Box::<[u8]>::from(key), begun)
    };
    let alone = |content| {
        let recoded = Recoded::encoded(content, coding, &compressor.counts);
        Ok(Content::Recoded(Box::new(recoded)))
    };
    if let Content::Following(_) = &content {
        return match begin() {
            (key, Begun::Mine(claim, writer, reader)) => {
                let source = compress::Source {
                    content,
                    key,
                    memory: memory.clone(),
                    counts: compressor.counts.clone(),
                };
                tokio::task::spawn_local(compress::follow(source, claim, writer));
                Ok(Content::following(reader, None))
            }
            (_, Begun::Theirs(reader)) => Ok(Content::following(reader, None)),
            (_, Begun::Made(_) | Begun::Unkept) => alone(content),
        };
    }
    let Some(pieces) = compress::pieces(&stored.body) else {
        return alone(content);
    };
    let Some(place) = compressor.pool.place() else {
        return Err(content);
    };
    match begin() {
        (key, Begun::Mine(claim, writer, reader)) => {
            let job = Job {
                pieces,
                key,
                claim,
                writer,
                place,
            };
            compressor.pool.make(job);
            Ok(Content::following(reader, None))
        }
        (_, Begun::Theirs(reader)) => Ok(Content::following(reader, None)),
        (_, Begun::Made(_) | Begun::Unkept) => alone(content),
    }
}

/// Codes an answer that is not stored on its way to its one client, unless it may be that client's own; see
/// [`Compress::personal`].
pub fn passed(
    worker: &Worker,
    ask: &Ask,
    status: StatusCode,
    fields: &mut HeaderMap,
    content: Content,
) -> Content {
    let compress = ask.policy().compress.as_ref();
    if is_personal(ask, fields) && !compress.is_some_and(|compress| compress.personal) {
        return content;
    }
    on_its_way(worker, ask, status, fields, content)
}

/// Codes content on its way to one client, where that accepts it, and describes it in `fields`: for whatever is made anew for each
/// request. What has come before the content pauses is sent then.
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
    if ask.directives.no_transform {
        return content;
    }
    let length = content.length().filter(|length| *length > 0);
    let length = length.or_else(|| announced(fields));
    if untouched(status, fields, length, compress).is_some() {
        return content;
    }
    coding::vary_by_coding(fields);
    let accepted = Accepted::read(&ask.fields);
    let mut offered = CHEAPEST;
    offered.sort_by_key(|coding| !compress.codings.contains(coding));
    let offered = offered.get(..compress.codings.len()).unwrap_or_default();
    let Choice::Coding(coding) = coding::choose(accepted, offered, |_| false) else {
        return content;
    };
    coding::describe(fields, Some(coding), Made::Streamed);
    if ask.method == Method::HEAD || matches!(content, Content::Empty) {
        return content;
    }
    let counts = &worker.cache.compressor.counts;
    Content::Recoded(Box::new(Recoded::encoded(content, coding, counts)))
}

/// The length that `Content-Length` tells.
fn announced(fields: &HeaderMap) -> Option<u64> {
    let value = fields.get(header::CONTENT_LENGTH)?;
    value.to_str().ok()?.parse().ok()
}

/// Whether an answer that is not stored is one user's.
fn is_personal(ask: &Ask, fields: &HeaderMap) -> bool {
    ask.fields.contains_key(header::COOKIE)
        || ask.fields.contains_key(header::AUTHORIZATION)
        || fields.contains_key(header::SET_COOKIE)
}

fn untouched(
    status: StatusCode,
    fields: &HeaderMap,
    length: Option<u64>,
    compress: &Compress,
) -> Option<Untouched> {
    let lines = fields
        .iter()
        .map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
    coding::judge(status, lines, length, &compress.types, compress.least)
}

/// Says in `Vary` that the answer depends on `Accept-Encoding`, where it does: in every form, identity too.
pub fn vary(ask: &Ask, status: StatusCode, fields: &mut HeaderMap) {
    let Some(compress) = &ask.policy().compress else {
        return;
    };
    let length = announced(fields);
    let depends = match untouched(status, fields, length, compress) {
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

/// The tag in the client's `If-None-Match` that names a form of what has these fields.
pub fn held_of(ask: &Ask, fields: &HeaderMap) -> Option<HeaderValue> {
    if !ask.fields.contains_key(header::IF_NONE_MATCH) {
        return None;
    }
    let origin = fields.get(header::ETAG)?;
    held(ask, Some(origin.as_bytes()), Accepted::read(&ask.fields))
}

/// `Accept-Encoding` towards the origin, for what may be stored: identity, so that one copy serves all and codings are made
/// here. Where the answer is most likely for one client alone, that client's own wish goes on instead: then the origin codes
/// what is not coded here. So it does where the origin has codings ready, which are variants then.
pub fn ask_origin(worker: &Worker, ask: &Ask, fields: &mut HeaderMap) {
    let policy = ask.policy();
    let name = header::ACCEPT_ENCODING;
    let is_edited = policy.request_edits.iter().any(|edit| match edit {
        Edit::Set(edited, _) | Edit::Add(edited, _) | Edit::Remove(edited) => *edited == name,
    });
    let is_hopeless = ask.fields.contains_key(header::AUTHORIZATION)
        || worker.cache.hit_for_miss.knows(ask.key.as_bytes(), ask.now);
    if settles(ask, &name) && !is_edited && !is_hopeless {
        fields.insert(name, HeaderValue::from_static("identity"));
    }
}

/// Whether requests for one key may differ in `name` without a difference to the origin: codings are settled here, unless the origin
/// has them ready.
pub fn settles(ask: &Ask, name: &HeaderName) -> bool {
    let policy = ask.policy();
    *name == header::ACCEPT_ENCODING && policy.compress.is_some() && !policy.origin.keeps_codings()
}
