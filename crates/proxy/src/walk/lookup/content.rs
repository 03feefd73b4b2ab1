//! Whether what is held of a body is what the request wants of it.

use crate::{
    ask::Ask,
    walk::{coding, shape},
};
use http::Method;
use rules::{precondition, range};
use store::{Body, Stored, fill::Reader};

/// What is held of a body, against what the request wants of it.
pub enum Held {
    Enough(Option<Reader>),
    TooLittle,
}

pub fn body_for(ask: &Ask, stored: &Stored) -> Held {
    let enough = match &stored.body {
        Body::Whole(_) | Body::Mapped(_) | Body::Chunks(_) => true,
        // What turned out to be damaged is fetched anew.
        Body::Disk(bytes) if !bytes.is_broken() => true,
        // Parts answer requests for what they hold and no other, not even those for the head (RFC 9111 section 3.3).
        Body::Parts(parts) => {
            parts.is_complete()
                || wanted_part(ask, stored, parts.length)
                    .is_some_and(|span| parts.spans().contains(span))
        }
        _ if ask.method == Method::HEAD => true,
        Body::Disk(_) => false,
        Body::Filling(fill) => {
            return fill
                .reader()
                .map_or(Held::TooLittle, |reader| Held::Enough(Some(reader)));
        }
    };
    if enough {
        Held::Enough(None)
    } else {
        Held::TooLittle
    }
}

/// Whether a stored response holds all of the content that the request wants, now and for good.
pub fn answers(ask: &Ask, stored: &Stored) -> bool {
    !matches!(stored.body, Body::Filling(_)) && matches!(body_for(ask, stored), Held::Enough(None))
}

/// The one span a request wants of `stored`, a representation of `length` bytes, if it wants just one and may have it without the
/// rest.
pub fn wanted_part(ask: &Ask, stored: &Stored, length: u64) -> Option<range::Span> {
    let field = ask.range()?;
    if coding::is_of_another(ask, &stored.fields.unpack(0), Some(length))
        || !precondition::if_range_holds(&ask.fields, &shape::representation(stored), ask.now)
    {
        return None;
    }
    match range::resolve(field, length) {
        range::Asked::One(span) => Some(span),
        _ => None,
    }
}
