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

mod form;
mod make;
mod part;
pub mod passed;
mod tags;

pub use part::{is_of_another, may_be_parted};
pub use passed::{
    ask_origin, matching_tag_of, passed, settles, suits_everybody, tag_on_its_way, vary,
    vary_passed,
};
pub use tags::{for_origin, is_on_form};

use crate::{
    ask::Ask, body::Content, cache::Worker, compress::Recoded, error::Failure, policy::Compress,
};
use form::of_identity;
use http::{HeaderMap, HeaderValue};
use make::encode;
use part::is_partial;
use rules::coding::{self, Accepted, Coding, FormProvenance};
use std::sync::Arc;
use store::{Stored, fill::Reader};
use tags::{held, matching_tag};

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

/// Whether the client can read the content of `stored`, as it is or with its coding removed.
pub fn is_readable(ask: &Ask, stored: &Stored) -> bool {
    if !stored.is_coded {
        return true;
    }
    let accepted = Accepted::read(&ask.fields);
    let is_decoded = |compress: &Compress| {
        coding::to_decode(stored.lines(), &compress.types, accepted).is_some()
    };
    let compress = ask.policy().compress.as_ref();
    coding::is_readable(stored.lines(), accepted)
        || (!ask.directives.no_transform && compress.is_some_and(is_decoded))
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

/// Whether the client does not accept the coding in which `stored` came, so that it would be decoded.
pub fn is_unreadable(ask: &Ask, stored: &Stored) -> bool {
    let Some(compress) = ask.policy().compress.as_ref().filter(|_| stored.is_coded) else {
        return false;
    };
    let accepted = Accepted::read(&ask.fields);
    coding::to_decode(stored.lines(), &compress.types, accepted).is_some()
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
