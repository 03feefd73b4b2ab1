//! Parts: whether a part of a stored response, or of an origin's answer, continues what the client holds.

use crate::{ask::Ask, walk::coding::Then};
use http::{HeaderMap, Method, StatusCode};
use rules::{
    coding::{self, Accepted},
    directives::forbids_transform,
    fields,
};
use store::{Body, Stored};

/// Whether the client wants a part of the content in identity. A range that depends on a date does not count: all forms
/// have the same `Last-Modified`, and it is unknown of which one the client holds the rest.
pub fn wants_part(ask: &Ask, accepted: Accepted) -> bool {
    ask.range().is_some()
        && accepted.takes(None)
        && !coding::is_dated_range(&ask.fields, ask.now)
        && coding::range_form(&ask.fields).is_none()
}

/// Whether ranges of `stored`, as chosen, may be sent; see [`wants_part`].
pub fn may_be_parted(ask: &Ask, then: &Then, stored: &Stored) -> bool {
    match then {
        Then::Encode(_) | Then::Decode(_) => false,
        Then::Nothing | Then::NotModified(_) => {
            !coding::is_dated_range(&ask.fields, ask.now)
                || !is_of_another(ask, &stored.all_fields(0), stored.body.length())
        }
    }
}

/// Whether only parts of `stored` are there and the client wants them. No form is made of parts.
pub fn is_partial(ask: &Ask, stored: &Stored) -> bool {
    let parts = match &stored.body {
        Body::Parts(parts) if ask.method == Method::GET => parts,
        _ => return false,
    };
    !parts.is_complete()
}

/// Whether a part of the content with these `fields`, and `length` bytes in all, may fail to continue what the client
/// holds. With a date as the condition it may hold any form; content that it cannot read it holds decoded. Then only
/// the whole is right.
pub fn is_of_another(ask: &Ask, fields: &HeaderMap, length: Option<u64>) -> bool {
    let Some(compress) = &ask.policy().compress else {
        return false;
    };
    if ask.range().is_none() || ask.directives.no_transform {
        return false;
    }
    let lines = || fields::lines_of_whole(fields);
    if lines().any(|(name, value)| forbids_transform(name, value)) {
        // It has only one form.
        return false;
    }
    let accepted = Accepted::read(&ask.fields);
    let is_dated = coding::is_dated_range(&ask.fields, ask.now);
    let (types, least) = (&compress.types, compress.least);
    if coding::is_coded(lines()) {
        return is_dated || coding::to_decode(lines(), types, accepted).is_some();
    }
    let may_be_coded = coding::judge(StatusCode::OK, lines(), length, types, least).is_none();
    may_be_coded && is_dated && accepted.takes_any()
}
