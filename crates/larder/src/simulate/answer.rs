//! Turns what a line says about an answer into the form that the walk needs.

use super::{
    counts::Notes,
    event::Judged,
    log::{Answered, Line},
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use proxy::{hit_for_miss::Unshared, outcome::Detail};
use rules::storable::NotStorable;
use std::time::Duration;

/// The bytes of fields that a stored response is assumed to have, beyond those that the log records.
pub(super) const FIELDS: usize = 400;

/// An answer, as far as its line describes it.
pub(super) struct Answer {
    pub status: StatusCode,
    pub fields: HeaderMap,
    pub sent: u64,
    /// The length of the body, if the line has it.
    pub body: Option<u64>,
    /// How long the origin took, if the line has it.
    pub took: Option<Duration>,
    pub is_get: bool,
}

impl Answer {
    /// Reads the answer as far as the line describes it.
    pub(super) fn of(line: &mut Line<'_>, notes: &mut Notes) -> Self {
        let mut fields = std::mem::take(&mut line.response);
        notes.with_directives += u64::from(
            fields.contains_key(header::CACHE_CONTROL) || fields.contains_key(header::EXPIRES),
        );
        if let Some(reason) = &line.reason {
            notes.with_reasons += u64::from(explain(reason, &mut fields, &mut line.request));
        }
        let told = line.status.unwrap_or_default();
        let sent = line
            .bytes
            .or_else(|| Some(line.all_bytes?.saturating_sub(FIELDS as u64)));
        let (is_get, is_head) = match line.method.as_deref() {
            Some(method) => (method == b"GET", method == b"HEAD"),
            None => (false, false),
        };
        let (status, body) = match told {
            // The condition was the client's: the origin would have been asked for the whole.
            304 => {
                notes.not_modified += 1;
                (200, None)
            }
            206 => {
                notes.parts += 1;
                // The log does not say which part it was.
                fields.remove(header::CONTENT_RANGE);
                (206, sent)
            }
            // The client left; what the answer would have been is not known.
            0 | 499 => {
                notes.unfinished += 1;
                (499, None)
            }
            status => (status, sent.filter(|_| !is_head)),
        };
        let from_origin = line.answered != Some(Answered::FromStore);
        // The time that a hit took is not the origin's, whatever it is called.
        let took = line.origin_time.or(line.took).filter(|_| from_origin);
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::OK),
            fields,
            sent: sent.unwrap_or_default(),
            body,
            took,
            is_get,
        }
    }

    /// Gives an answer without a type the usual one of what it was asked for. An error is mostly a page.
    pub(super) fn assume_type(&mut self, usual: Option<&'static str>, notes: &mut Notes) {
        let Some(usual) = usual.filter(|_| self.status.is_success()) else {
            return;
        };
        self.fields.entry(header::CONTENT_TYPE).or_insert_with(|| {
            notes.without_type += 1;
            HeaderValue::from_static(usual)
        });
    }
}

/// The judgement of an answer of `status` that is not stored.
pub(super) fn not_stored(
    status: StatusCode,
    why: NotStorable,
    behind: Option<Box<Judged>>,
) -> Judged {
    let why = Unshared::of(status, &Detail::NotStored(why));
    Judged::Not { why, behind }
}

pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Adds the fields that Larder's own log sums up in one word for why an answer was not stored. Returns whether the word
/// stands for something that can be added.
fn explain(reason: &[u8], response: &mut HeaderMap, request: &mut HeaderMap) -> bool {
    let is = |why: NotStorable| why.token().as_bytes() == reason;
    let set = |fields: &mut HeaderMap, name: HeaderName, value| {
        fields
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    };
    if is(NotStorable::NoStore) {
        set(response, header::CACHE_CONTROL, "no-store");
    } else if is(NotStorable::Private) {
        set(response, header::CACHE_CONTROL, "private");
    } else if is(NotStorable::SetCookie) {
        set(response, header::SET_COOKIE, "told=1");
    } else if is(NotStorable::VaryStar) {
        set(response, header::VARY, "*");
    } else if is(NotStorable::Authorization) {
        set(request, header::AUTHORIZATION, "Basic");
    } else if is(NotStorable::NoStoreRequest) {
        set(request, header::CACHE_CONTROL, "no-store");
    } else {
        return false;
    }
    true
}
