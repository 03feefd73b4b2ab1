//! What a response's head must satisfy before it is believed.

use super::RequestFraming;
use crate::{Error, Kind, connect::Speaks, direct::head};
use http::{
    HeaderMap, Response, StatusCode,
    header::{CONTENT_LENGTH, TRANSFER_ENCODING},
};
use rules::fields;

/// A head that may be believed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    pub(crate) announced: Announced,
    pub(crate) afterwards: Afterwards,
}

/// What a response's framing fields say about its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    Nothing,
    Length(u64),
    Chunks,
}

/// Whether the connection may be used again after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Afterwards {
    Reuse,
    /// The framing was odd, so that what follows on the connection cannot be trusted; or the connection is one user's.
    Close,
}

/// Judges a response's head (RFC 9112 section 6) and removes framing fields that mean nothing on it.
pub(crate) fn judge<B>(
    response: &mut Response<B>,
    asked: RequestFraming,
    speaks: Speaks,
) -> Result<Judged, Error> {
    let malformed = |why: &'static str| Err(Error::new(Kind::Malformed).because(why));
    let status = response.status();
    if status == StatusCode::SWITCHING_PROTOCOLS
        && (asked.upgrade.is_none() || speaks != Speaks::Http1)
    {
        return Err(Error::new(Kind::UnaskedSwitch));
    }
    if speaks == Speaks::Http2
        && let Err(why) = check_values(response.headers())
    {
        return malformed(why);
    }
    let headers = response.headers_mut();
    if headers.len() > head::MOST {
        return Err(Error::new(Kind::HeadTooLarge));
    }
    let length = match length(headers) {
        Ok(length) => length,
        Err(why) => return malformed(why),
    };
    let coded = match coding(headers) {
        Ok(coded) => coded,
        Err(why) => return malformed(why),
    };
    let announced = match (coded, length) {
        (true, Some(_)) => return malformed("both Transfer-Encoding and Content-Length"),
        (true, None) => Announced::Chunks,
        (false, Some(length)) => Announced::Length(length),
        (false, None) => Announced::Nothing,
    };
    let mut afterwards = if asked.signs_in {
        Afterwards::Close
    } else {
        Afterwards::Reuse
    };
    // A 204 has neither (RFC 9110 section 8.6, RFC 9112 section 6.1). A server that sends one of them may send a body
    // too.
    if status == StatusCode::NO_CONTENT && announced != Announced::Nothing {
        headers.remove(CONTENT_LENGTH);
        headers.remove(TRANSFER_ENCODING);
        if announced != Announced::Length(0) {
            afterwards = Afterwards::Close;
        }
    }
    Ok(Judged {
        announced,
        afterwards,
    })
}

/// Whether a server says with this answer that it ended a connection on which it had waited in vain, and a request came
/// too late (RFC 9110 section 15.5.9). Anything else is an answer: on a new connection, on one that stays open
/// (`keeps`).
pub(crate) fn came_too_late<B>(response: &Response<B>, reused: bool, keeps: bool) -> bool {
    reused && !keeps && response.status() == StatusCode::REQUEST_TIMEOUT
}

/// Checks what RFC 9113 section 8.2.1 requires of the fields of a message over HTTP/2 and `h2` does not check.
pub(crate) fn check_values(headers: &HeaderMap) -> Result<(), &'static str> {
    if fields::has_padded_value(headers) {
        return Err("white space around a field value");
    }
    Ok(())
}

/// Returns the one `Content-Length`. `Err`: repeated, or not only digits (RFC 9110 section 8.6 allows rejecting
/// repetition).
pub(super) fn length(headers: &HeaderMap) -> Result<Option<u64>, &'static str> {
    let mut lines = headers.get_all(CONTENT_LENGTH).iter();
    let Some(value) = lines.next() else {
        return Ok(None);
    };
    if lines.next().is_some() {
        return Err("several Content-Length fields");
    }
    let digits = value.as_bytes();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err("Content-Length is not a number");
    }
    let length = digits.iter().try_fold(0_u64, |length, digit| {
        let digit = u64::from(digit - b'0');
        length.checked_mul(10)?.checked_add(digit)
    });
    length.map(Some).ok_or("Content-Length is too large")
}

/// Whether the content is chunked. `Err`: any other coding, because we never ask for one with `TE` (RFC 9112 section
/// 7).
fn coding(headers: &HeaderMap) -> Result<bool, &'static str> {
    let mut lines = headers.get_all(TRANSFER_ENCODING).iter();
    let Some(value) = lines.next() else {
        return Ok(false);
    };
    if lines.next().is_some() || !value.as_bytes().eq_ignore_ascii_case(b"chunked") {
        return Err("a transfer coding other than chunked");
    }
    Ok(true)
}
