//! What is sent as it came.

use super::{Accepted, Coding};
use crate::{
    directives::forbids_transform,
    fields::{is_event_stream, is_grpc, media_type},
};
use http::StatusCode;

/// Why a response is not coded here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untouched {
    /// The status has no content of its own, or only a part: 1xx, 204, 205, 206, 3xx.
    Status,
    /// `no-transform`, whichever cache it addresses ([`forbids_transform`]).
    NoTransform,
    /// It has a coding already.
    Coded,
    /// It is a part (`Content-Range`).
    Part,
    /// Its type is not on the site's list, or it is one that is never coded ([`is_meant`]).
    Type,
    /// It is too small for a coding to be worthwhile.
    Small,
}

/// The types that are coded by default: text and formats written like it, and fonts and images that are uncompressed.
pub const DEFAULT_TYPES: [&str; 20] = [
    "text/*",
    "application/*+json",
    "application/*+xml",
    "application/json",
    "application/javascript",
    "application/x-javascript",
    "application/ecmascript",
    "application/xml",
    "application/wasm",
    "application/rtf",
    "application/yaml",
    "application/toml",
    "application/graphql",
    "application/x-ndjson",
    "application/vnd.ms-fontobject",
    "font/ttf",
    "font/otf",
    "image/svg+xml",
    "image/bmp",
    "image/x-icon",
];

/// A pattern of media types: `text/html`, `text/*`, `application/*+json`. Case-insensitive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypePattern {
    before: Box<str>,
    /// What follows the `*`, if there is one.
    after: Option<Box<str>>,
}

impl TypePattern {
    /// Parses a pattern; `None` if it is not a type with a subtype, or has more than one `*`.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, subtype) = text.split_once('/')?;
        let is_fit = |part: &str| {
            let token = |byte: u8| byte.is_ascii_alphanumeric() || b"+-._*!#$&^".contains(&byte);
            !part.is_empty() && part.bytes().all(token)
        };
        if !is_fit(kind) || !is_fit(subtype) || kind.contains('*') {
            return None;
        }
        let text = text.to_ascii_lowercase();
        let (before, after) = match text.split_once('*') {
            Some((_, after)) if after.contains('*') => return None,
            Some((before, after)) => (before, Some(after.into())),
            None => (text.as_str(), None),
        };
        Some(Self {
            before: before.into(),
            after,
        })
    }

    /// Whether the pattern matches `kind`, a media type without parameters.
    pub fn matches(&self, kind: &[u8]) -> bool {
        let before = self.before.as_bytes();
        let Some(after) = &self.after else {
            return kind.eq_ignore_ascii_case(before);
        };
        let Some((start, rest)) = kind.split_at_checked(before.len()) else {
            return false;
        };
        let end = rest.len().checked_sub(after.len());
        let end = end.and_then(|at| rest.get(at..));
        start.eq_ignore_ascii_case(before)
            && end.is_some_and(|end| end.eq_ignore_ascii_case(after.as_bytes()))
    }
}

/// Whether a value of `Content-Encoding` names no coding.
const fn is_identity(value: &[u8]) -> bool {
    value.eq_ignore_ascii_case(b"identity")
}

/// Why a response may not be coded; `None` if it may.
///
/// `fields` are names in lower case, with their values. `length` is that of the content, if known. `NoTransform` goes
/// before `Coded` and `Type`, in whatever order the fields stand.
pub fn judge<'a>(
    status: StatusCode,
    fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    length: Option<u64>,
    types: &[TypePattern],
    least: u64,
) -> Option<Untouched> {
    if length.is_some_and(|length| length < least) {
        return Some(Untouched::Small);
    }
    let without_content = [
        StatusCode::NO_CONTENT,
        StatusCode::RESET_CONTENT,
        StatusCode::PARTIAL_CONTENT,
    ];
    let is_fit = status.is_success() || status.is_client_error() || status.is_server_error();
    if !is_fit || without_content.contains(&status) {
        return Some(Untouched::Status);
    }
    let (mut kind, mut is_coded): (Option<&[u8]>, bool) = (None, false);
    for (name, value) in fields {
        match name {
            b"content-encoding" => is_coded |= !is_identity(value),
            b"content-range" => return Some(Untouched::Part),
            b"content-type" => kind = Some(value),
            name if forbids_transform(name, value) => return Some(Untouched::NoTransform),
            _ => {}
        }
    }
    if is_coded {
        return Some(Untouched::Coded);
    }
    (!is_meant(kind.unwrap_or_default(), types)).then_some(Untouched::Type)
}

/// Whether content of the type `kind`, a value of `Content-Type`, is worth coding. An event stream never is: each event
/// must arrive when it happens. Nor is gRPC: it compresses its messages itself, and how a call ended is in the trailers,
/// which content that is coded here does not have.
pub fn is_meant(kind: &[u8], types: &[TypePattern]) -> bool {
    let bare = media_type(kind);
    !is_event_stream(bare) && !is_grpc(bare) && types.iter().any(|pattern| pattern.matches(bare))
}

/// Whether these fields, names in lower case with values, forbid any coding: by `no-transform`, or by a coding that
/// they name.
pub fn forbids<'a>(fields: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> bool {
    let mut fields = fields;
    fields.any(|(name, value)| match name {
        b"content-encoding" => !is_identity(value),
        name => forbids_transform(name, value),
    })
}

/// Returns the coding to remove from content with these fields, names in lower case with values, for a client that
/// does not accept it; `None` if the content goes out as it is.
///
/// It is the only coding of the content, is known here, its type is on the list, and nothing forbids to transform it.
/// The coding is removed even if the client does not accept identity either: then the choice is ours (RFC 9110 section
/// 12.5.3), and everybody can read identity.
pub fn to_decode<'a>(
    fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    types: &[TypePattern],
    accepted: Accepted,
) -> Option<Coding> {
    decodable(fields, types).filter(|coding| !accepted.takes(Some(*coding)))
}

/// The coding that can be removed from content with these fields for any client. See [`to_decode`].
pub fn decodable<'a>(
    fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    types: &[TypePattern],
) -> Option<Coding> {
    let (mut only, mut kind) = (None, None);
    for (name, value) in fields {
        match name {
            b"content-encoding" if is_identity(value) => {}
            // There are two codings, one over the other.
            b"content-encoding" if only.is_some() => return None,
            b"content-encoding" => only = Some(Coding::parse(value)?),
            b"content-type" => kind = Some(value),
            name if forbids_transform(name, value) => return None,
            _ => {}
        }
    }
    only.filter(|_| is_meant(kind.unwrap_or_default(), types))
}

/// Whether a client that accepts `accepted` can read content with these fields, names in lower case with values, as it
/// is. Codings that are not known here count as unreadable.
pub fn is_readable<'a>(
    fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    accepted: Accepted,
) -> bool {
    let mut codings = fields.filter(|(name, _)| *name == b"content-encoding");
    codings.all(|(_, value)| {
        let takes = |coding| accepted.takes(Some(coding));
        is_identity(value) || Coding::parse(value).is_some_and(takes)
    })
}

/// Whether these fields, names in lower case with values, name a coding other than `identity`.
pub fn is_coded<'a>(fields: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> bool {
    let mut fields = fields;
    fields.any(|(name, value)| name == b"content-encoding" && !is_identity(value))
}
