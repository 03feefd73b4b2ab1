//! Whether what is held of a body is what the request wants.

use crate::{
    ask::Ask,
    walk::{coding, page, shape},
};
use http::{Method, header};
use rules::range::{self, ResolvedRange, Span};
use store::{
    Body, Parts, Stored,
    fill::{Fill, Reader},
};

/// A part of a body on its way is waited for if it begins at most this many bytes behind what has come.
const WAITED_FOR: u64 = 1 << 20;

/// What is held of a body, compared with what the request wants.
pub enum Coverage {
    /// All that is wanted. With a reader if it is still on its way.
    Enough(Option<Reader>),
    /// Not all of it, or it can no longer be followed.
    Lacking,
}

impl From<Option<Reader>> for Coverage {
    /// Of a body on its way: a reader is all that is wanted of it.
    fn from(reader: Option<Reader>) -> Self {
        reader.map_or(Self::Lacking, |reader| Self::Enough(Some(reader)))
    }
}

/// Returns what is held of `stored` for `ask`. A body on its way gets a reader at once, since it may close to readers
/// at any moment.
pub fn body_for(ask: &Ask, stored: &Stored) -> Coverage {
    let enough = match &stored.body {
        Body::Whole(_) | Body::Mapped(_) | Body::Chunks(_) => true,
        // A damaged body is fetched anew.
        Body::Disk(bytes) if !bytes.is_broken() => true,
        Body::Parts(parts) if parts.is_complete() => true,
        // Parts answer only requests for what they hold, and not even other requests for the head (RFC 9111 section
        // 3.3).
        Body::Parts(parts) => match wanted(ask, stored, parts.length) {
            ResolvedRange::One(span) if parts.is_coming() => {
                return parts.reader(span).into();
            }
            asked => holds(parts, &asked),
        },
        _ if ask.method == Method::HEAD => true,
        Body::Disk(_) => false,
        Body::Filling(fill) if is_far_ahead(ask, stored, fill) => false,
        Body::Filling(fill) => return fill.reader().into(),
    };
    if enough {
        Coverage::Enough(None)
    } else {
        Coverage::Lacking
    }
}

/// Whether a request wants a part that lies far behind what has come of a body on its way, in `fill`, and that the
/// origin sends without the rest. A fetch of its own brings it sooner.
pub fn is_far_ahead(ask: &Ask, stored: &Stored, fill: &Fill) -> bool {
    if ask.range().is_none() || !fill.has_ranges() || takes_what_is_here(ask) {
        return false;
    }
    let Some(length) = fill.length() else {
        return false;
    };
    let begins_far = |span: Span| span.first > fill.received().saturating_add(WAITED_FOR);
    matches!(wanted(ask, stored, length), ResolvedRange::One(span) if begins_far(span))
        && !page::is_stored_page(ask, stored)
}

/// Whether a body on its way will do for a request however far it has come: the request wants nothing from the origin,
/// or has a condition besides `If-Range`, to which the answer may have no content.
fn takes_what_is_here(ask: &Ask) -> bool {
    let mut names = ask.fields.keys();
    let is_conditional = names.any(|name| {
        matches!(
            *name,
            header::IF_NONE_MATCH
                | header::IF_MODIFIED_SINCE
                | header::IF_MATCH
                | header::IF_UNMODIFIED_SINCE
        )
    });
    is_conditional || ask.directives.only_if_cached
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
        && matches!(body_for(ask, stored), Coverage::Enough(None))
}

/// Returns what a request wants of `stored`, a representation of `length` bytes: the whole if it may not have a part
/// without the rest.
pub fn wanted(ask: &Ask, stored: &Stored, length: u64) -> ResolvedRange {
    let Some(field) = ask.range() else {
        return ResolvedRange::Whole;
    };
    if coding::is_of_another(ask, &stored.all_fields(0), Some(length))
        || !shape::if_range_holds(ask, stored)
    {
        return ResolvedRange::Whole;
    }
    range::resolve(field, length)
}
