//! Page: whether an answer is a page of fragments, and in which coding it is written. [`esi`](super::esi) composes it.

use crate::{ask::Ask, policy::Esi};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rules::{coding::Coding, surrogate};
use store::Stored;

/// Whether a stored response may be a page. This is on the path of a hit and costs two comparisons.
#[inline]
pub fn may_be_page(ask: &Ask, stored: &Stored) -> bool {
    stored.is_esi() || ask.policy().esi == Esi::On
}

/// Whether a stored response is a page. Reads its fields, which no hit in memory does.
pub fn is_stored_page(ask: &Ask, stored: &Stored) -> bool {
    may_be_page(ask, stored) && {
        let says_so = stored.is_esi();
        is_page(ask, stored.status, &stored.fields.unpack(0), says_so)
    }
}

/// Whether an answer that is not stored is a page. To be called before its fields are prepared for the client.
pub fn is_raw_page(ask: &Ask, status: StatusCode, fields: &HeaderMap) -> bool {
    is_page(ask, status, fields, surrogate::wants_esi(fields))
}

/// Whether a 206 with these fields is a part of a page, of which only the whole can be composed. On a route of pages it
/// may be one even if its fields do not say so: several parts have a type of their own, and one may have none (RFC 9110
/// section 15.3.7).
pub fn is_part_of_page(ask: &Ask, fields: &HeaderMap) -> bool {
    let kind = fields.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let tells = kind.is_some_and(|kind| {
        let multipart = b"multipart/";
        let start = kind.get(..multipart.len()).unwrap_or_default();
        !start.eq_ignore_ascii_case(multipart)
    });
    (ask.policy().esi == Esi::On && !tells)
        || is_page(ask, StatusCode::OK, fields, surrogate::wants_esi(fields))
}

/// Whether a 304 or a 416 with these fields is about a page. Such an answer holds for the page's source alone. On a
/// route of pages it may always be about one.
pub fn is_about_page(ask: &Ask, fields: &HeaderMap) -> bool {
    match ask.policy().esi {
        Esi::Off => false,
        Esi::Told => surrogate::wants_esi(fields),
        Esi::On => true,
    }
}

/// Returns the coding in which a page is written; `None` if it is not coded, or coded in a way that cannot be read.
pub fn coding_of(fields: &HeaderMap) -> Option<Coding> {
    let mut codings = fields.get_all(header::CONTENT_ENCODING).iter();
    let only = codings.next().filter(|_| codings.next().is_none())?;
    Coding::parse(only.as_bytes())
}

/// Whether an answer is written in ESI. Formats in which text stands unescaped (JSON, plain text) count only if the
/// origin says so: text from users must not be executed.
pub fn is_page(ask: &Ask, status: StatusCode, fields: &HeaderMap, says_so: bool) -> bool {
    let wanted = match ask.policy().esi {
        Esi::Off => false,
        Esi::Told => says_so,
        Esi::On => says_so || is_markup(fields),
    };
    let whole = !status.is_informational()
        && ![
            StatusCode::NO_CONTENT,
            StatusCode::PARTIAL_CONTENT,
            StatusCode::NOT_MODIFIED,
        ]
        .contains(&status);
    wanted && whole && (is_identity(fields) || coding_of(fields).is_some())
}

/// Whether it is HTML or XML, except images, which visitors may upload.
fn is_markup(fields: &HeaderMap) -> bool {
    let kind = fields.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    matches!(kind.as_str(), "text/html" | "text/xml" | "application/xml")
        || (kind.ends_with("+xml") && !kind.starts_with("image/"))
}

/// Whether the content is not coded.
pub fn is_identity(fields: &HeaderMap) -> bool {
    let mut codings = fields.get_all(header::CONTENT_ENCODING).iter();
    codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}
