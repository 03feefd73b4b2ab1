//! Whether what is held of a body is what the request wants of it.

use crate::{
    ask::Ask,
    walk::{coding, shape},
};
use http::Method;
use rules::{
    precondition,
    range::{self, ResolvedRange},
};
use store::{Body, Parts, Stored, fill::Reader};

/// What is held of a body, against what the request wants of it.
pub enum Availability {
    /// All that is wanted; with a reader where it is still on its way.
    Sufficient(Option<Reader>),
    /// Not all of it, or it can no longer be followed.
    Insufficient,
}

/// What is held of `stored` for `ask`. A body on its way is joined at once, since it may close to readers at any
/// moment.
pub fn body_for(ask: &Ask, stored: &Stored) -> Availability {
    let enough = match &stored.body {
        Body::Whole(_) | Body::Mapped(_) | Body::Chunks(_) => true,
        // What turned out to be damaged is fetched anew.
        Body::Disk(bytes) if !bytes.is_broken() => true,
        Body::Parts(parts) if parts.is_complete() => true,
        // Parts answer requests for what they hold and no other, not even those for the head (RFC 9111 section 3.3).
        Body::Parts(parts) => match wanted(ask, stored, parts.length) {
            ResolvedRange::One(span) if parts.is_coming() => {
                return parts
                    .reader(span)
                    .map_or(Availability::Insufficient, |reader| {
                        Availability::Sufficient(Some(reader))
                    });
            }
            asked => holds(parts, &asked),
        },
        _ if ask.method == Method::HEAD => true,
        Body::Disk(_) => false,
        Body::Filling(fill) => {
            return fill.reader().map_or(Availability::Insufficient, |reader| {
                Availability::Sufficient(Some(reader))
            });
        }
    };
    if enough {
        Availability::Sufficient(None)
    } else {
        Availability::Insufficient
    }
}

/// Whether parts have all of what is asked for.
pub fn holds(parts: &Parts, asked: &ResolvedRange) -> bool {
    let spans = parts.spans();
    match asked {
        ResolvedRange::One(span) => spans.contains(*span),
        ResolvedRange::Many(all) => all.iter().all(|span| spans.contains(*span)),
        ResolvedRange::Whole | ResolvedRange::Unsatisfiable => false,
    }
}

/// Whether a stored response holds all of the content that the request wants, now and for good.
pub fn answers(ask: &Ask, stored: &Stored) -> bool {
    !matches!(stored.body, Body::Filling(_))
        && matches!(body_for(ask, stored), Availability::Sufficient(None))
}

/// What a request wants of `stored`, a representation of `length` bytes: the whole, where it may not have a part without the rest.
pub fn wanted(ask: &Ask, stored: &Stored, length: u64) -> ResolvedRange {
    let Some(field) = ask.range() else {
        return ResolvedRange::Whole;
    };
    if coding::is_of_another(ask, &stored.all_fields(0), Some(length))
        || !precondition::if_range_holds(&ask.fields, &shape::representation(stored), ask.now)
    {
        return ResolvedRange::Whole;
    }
    range::resolve(field, length)
}
