//! Coding: which form of a response goes out, and who makes it if it is not there yet.
//!
//! | what is stored | the client | what goes out |
//! |---|---|---|
//! | identity | names no coding of ours, or asks for a part in identity | identity |
//! | identity, with the form | accepts it | the form, a stored response like any other |
//! | identity, small | accepts a coding | the form, made here and now |
//! | identity, large or on its way | accepts a coding | the form while it is made, by the pool or as it comes |
//! | a coding of the origin's own | accepts it | as stored |
//! | a coding of the origin's own | does not accept it | decoded on its way, all of it |
//! | a form is to be made, or a coding removed, and memory has no room for that | | identity; 503 if a coding is to be removed |
//! | parts | wants what they hold | the parts |

mod make;
mod part;
pub mod passed;
mod tags;

pub use part::{is_of_another, may_be_parted};
pub use passed::{ask_origin, is_settled, matching_tag_of, passed, settles, tag_on_its_way, vary};
pub use tags::{for_origin, is_on_form};

use crate::{
    ask::Ask,
    body::Content,
    cache::Worker,
    compress::{self, Recoded},
    error::Failure,
    policy::Compress,
};
use http::{HeaderMap, HeaderValue, Method, header};
use make::{encode, made_at_once};
use part::{is_partial, wants_part};
use rules::coding::{self, Accepted, Choice, Coding, FormProvenance};
use std::sync::Arc;
use store::{Body, Level, Stored, fill::Reader};
use tags::{held, matching_tag};

/// Bodies up to this length, in bytes, are coded on the worker's own time. At the fast level that takes less than a
/// millisecond.
const AT_ONCE: u64 = 32 << 10;

/// A form that was sent this often is worth the high level. The pool is asked again at each doubling until it is made.
const OFTEN: u64 = 16;

/// The response that answers, and what is still to be done to it.
pub struct Chosen {
    /// The response as it is stored, or a form of it.
    pub stored: Arc<Stored>,
    /// Follows the response's body if that is still on its way.
    pub reader: Option<Reader>,
    /// What is to be done to the content before it goes out.
    pub then: Then,
}

/// What is done to the content once it has been shaped.
#[derive(Debug)]
pub enum Then {
    /// It goes out as it is.
    Nothing,
    /// The client holds what it asks for: this tag in its `If-None-Match` names a form of it.
    NotModified(HeaderValue),
    /// It is coded in this coding.
    Encode(Coding),
    /// It is in this coding and is decoded for the client.
    Decode(Coding),
}

/// Chooses the form that answers. This is on the path of a hit: a request that accepts no coding costs one look at its
/// fields; one whose form is there reads `Accept-Encoding` besides.
#[inline]
pub fn choose(worker: &Worker, ask: &Ask, stored: Arc<Stored>, reader: Option<Reader>) -> Chosen {
    let as_it_is = match &ask.policy().compress {
        None => true,
        Some(_) => !stored.is_coded && !ask.said.codings,
    };
    if as_it_is || ask.directives.no_transform || is_partial(ask, &stored) {
        return Chosen::as_it_is(stored, reader);
    }
    negotiate(worker, ask, stored, reader)
}

impl Then {
    /// Returns the tag of what goes out, if that differs from its content's own tag `own`.
    pub fn tag(&self, own: Option<&[u8]>) -> Option<HeaderValue> {
        let coding = match *self {
            Self::Nothing => return None,
            Self::NotModified(ref tag) => return Some(tag.clone()),
            Self::Encode(coding) => Some(coding),
            Self::Decode(_) => None,
        };
        let own = HeaderValue::from_bytes(own?).ok()?;
        coding::form_tag(&own, coding, FormProvenance::Streamed)
    }
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

/// Chooses the answer to a request that names codings, or whose response came in one.
fn negotiate(worker: &Worker, ask: &Ask, stored: Arc<Stored>, reader: Option<Reader>) -> Chosen {
    let Some(compress) = &ask.policy().compress else {
        return Chosen::as_it_is(stored, reader);
    };
    let accepted = Accepted::read(&ask.fields);
    let to_decode = || coding::to_decode(stored.lines(), &compress.types, accepted);
    let takes_own = || {
        if stored.is_coded {
            to_decode().is_none()
        } else {
            accepted.takes(None)
        }
    };
    let then = if let Some(tag) = held(ask, &stored, takes_own, accepted) {
        Then::NotModified(tag)
    } else if stored.is_coded {
        to_decode().map_or(Then::Nothing, Then::Decode)
    } else {
        return of_identity(worker, ask, compress, accepted, stored, reader);
    };
    Chosen {
        stored,
        reader,
        then,
    }
}

/// Chooses the answer from a response in identity: the response itself, a form of it, or one to be made.
fn of_identity(
    worker: &Worker,
    ask: &Ask,
    compress: &Compress,
    accepted: Accepted,
    stored: Arc<Stored>,
    reader: Option<Reader>,
) -> Chosen {
    // `If-Match` was already compared with the origin's own tag.
    let is_about_origin = ask.said.conditions && ask.fields.contains_key(header::IF_MATCH);
    if !accepted.takes_any() || is_about_origin || wants_part(ask, accepted) {
        return Chosen::as_it_is(stored, reader);
    }
    if let Some(form) = resumed(ask, &stored, accepted) {
        return Chosen::as_it_is(form, None);
    }
    let is_made = |coding| stored.forms.get(coding).is_some();
    let cheapest;
    let offered = if is_coded_as_read(&stored) {
        cheapest = passed::cheapest(compress);
        &cheapest
    } else {
        &compress.codings
    };
    match coding::choose(accepted, offered, is_made) {
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

/// Returns the form that the request resumes: `If-Range` names the content of which it wants a part.
fn resumed(ask: &Ask, stored: &Stored, accepted: Accepted) -> Option<Arc<Stored>> {
    ask.range()?;
    let coding = coding::range_form(&ask.fields).flatten();
    let coding = coding.filter(|coding| accepted.takes(Some(*coding)))?;
    stored.forms.get(coding)?.stored.clone()
}

/// Whether the client does not accept the coding in which `stored` came, so that it would be decoded.
pub fn is_unreadable(ask: &Ask, stored: &Stored) -> bool {
    let Some(compress) = ask.policy().compress.as_ref().filter(|_| stored.is_coded) else {
        return false;
    };
    let accepted = Accepted::read(&ask.fields);
    coding::to_decode(stored.lines(), &compress.types, accepted).is_some()
}

/// Whether it is coded on the worker's own time because its content is not in memory. It is coded while it is read.
fn is_coded_as_read(stored: &Stored) -> bool {
    matches!(stored.body, Body::Disk(_) | Body::Parts(_))
}

/// Chooses the form in `coding`, which is there. If it is sent often, a better one is made: of this coding, or of
/// `better` if that differs.
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
        // Making it was tried and was of no use.
        return Chosen::as_it_is(stored, reader);
    };
    if form.level == Level::Fast || coding != better {
        let uses = made.used() + 1;
        if uses >= OFTEN && uses.is_power_of_two() {
            let key = ask.key.as_bytes().into();
            let better = compress::Better {
                key,
                content: stored.content(),
                coding: better,
            };
            worker.cache.compressor.pool.make_better(better);
        }
    }
    Chosen::as_it_is(made.clone(), None)
}

/// Handles a form in `coding` that is not there.
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
        stored.lines(),
        length,
        &compress.types,
        compress.least,
    );
    if why.is_some() {
        return Chosen::as_it_is(stored, reader);
    }
    if ask.method == Method::GET
        && length.is_some_and(|length| length <= AT_ONCE)
        && let Some(content) = stored.body.in_one()
        && let Some(form) = made_at_once(worker, ask, &stored, &content, coding)
    {
        return Chosen::as_it_is(form, None);
    }
    Chosen {
        stored,
        reader,
        then: Then::Encode(coding),
    }
}

/// Whether the client gets `stored`, which is in identity, in a coding if a form can be made of it.
pub fn is_wanted(ask: &Ask, stored: &Stored) -> bool {
    let Some(compress) = &ask.policy().compress else {
        return false;
    };
    let length = stored.body.length();
    let (types, least) = (&compress.types, compress.least);
    ask.said.codings
        && Accepted::read(&ask.fields).takes_any()
        && coding::judge(stored.status, stored.lines(), length, types, least).is_none()
}

/// Does what was chosen to the content of a whole answer, and to its fields.
///
/// # Errors
/// If memory has no room for the decoder that this client needs.
pub fn apply(
    worker: &Worker,
    ask: &Ask,
    stored: &Arc<Stored>,
    then: &Then,
    fields: &mut HeaderMap,
    content: Content,
) -> Result<Content, Failure> {
    let (counts, memory) = (&worker.cache.compressor.counts, &worker.cache.memory);
    Ok(match *then {
        Then::Nothing | Then::NotModified(_) => content,
        Then::Decode(coding) => {
            coding::describe(fields, None, FormProvenance::Streamed);
            Recoded::decoded(content, coding, counts, memory).ok_or(Failure::NoRoom)?
        }
        Then::Encode(coding) => match encode(worker, ask, stored, coding, content) {
            Ok(content) => {
                coding::describe(fields, Some(coding), FormProvenance::Streamed);
                content
            }
            Err(content) => content,
        },
    })
}
