//! The answers that a listener gives by itself, and how the service learns of them.

use super::{Connection, Serve, counters::add, fault::Fault, redirect, watch::Watch};
use bytes::Bytes;
use http::{Method, Response, StatusCode, Version, request::Parts};

/// An answer that a listener gives without asking its service.
#[derive(Debug)]
pub struct OwnAnswer<'a> {
    /// The request's head and its connection; `None` if no head could be read, or if it is no longer at hand.
    pub request: Option<(&'a Parts, &'a Connection)>,
    /// The status sent.
    pub status: StatusCode,
    /// The reason, as `detail` of `Cache-Status` spells it (RFC 9211 section 2.8). `None` for a redirect to HTTPS, and
    /// for what `hyper` answered.
    pub detail: Option<&'static str>,
    /// Bytes of the answer's content.
    pub bytes: u64,
}

/// Why a request does not reach the service.
#[derive(Clone, Copy, Debug)]
pub(super) enum Refusal {
    Fault(Fault),
    /// It is redirected to HTTPS on this port.
    Redirect(u16),
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Returns the answer to a request with this head.
pub(super) fn refuse<S: Serve>(
    service: &S,
    watch: &Watch,
    refusal: Refusal,
    (head, connection): (&Parts, &Connection),
) -> Box<Response<Bytes>> {
    let request = Some((head, connection));
    let fault = match refusal {
        Refusal::Fault(fault) => fault,
        Refusal::Redirect(port) => match redirect::to_https(head, port) {
            Ok(response) => {
                service.answered(&OwnAnswer {
                    request,
                    status: response.status(),
                    detail: None,
                    bytes: 0,
                });
                return Box::new(response);
            }
            Err(fault) => fault,
        },
    };
    add(&watch.worker.counters.protocol_errors, 1);
    let answer = OwnAnswer {
        bytes: if head.method == Method::HEAD {
            0
        } else {
            fault.text().len() as u64
        },
        ..fault.answer(request)
    };
    let told = service.answered(&answer);
    Box::new(fault.response(head.version, told))
}

/// Returns the answer to a request in which the service panicked.
pub(super) fn panicked<S: Serve>(service: &S, watch: &Watch) -> Box<Response<Bytes>> {
    add(&watch.worker.counters.panics, 1);
    tracing::error!("a request ended in a panic; it was answered with 500");
    let fault = Fault::Panicked;
    let told = service.answered(&fault.answer(None));
    // It does not close the connection, so the version does not matter.
    Box::new(fault.response(Version::default(), told))
}

/// The [last word](last_word) to a request whose content does not come in time, for its log.
pub fn to_late_content() -> OwnAnswer<'static> {
    of_last_word(Fault::TimedOut)
}

/// What is told of the [last word](last_word) about `fault`: it goes out with its text.
fn of_last_word(fault: Fault) -> OwnAnswer<'static> {
    OwnAnswer {
        bytes: fault.text().len() as u64,
        ..fault.answer(None)
    }
}

/// Returns the answer as bytes, for when `hyper` is out of the way. It always ends the connection.
pub(super) fn last_word<S: Serve>(service: &S, fault: Fault) -> Vec<u8> {
    let told = service.answered(&of_last_word(fault));
    fault.wire(&told)
}

/// Reports that `hyper` has answered what it could not read: a head that is too large (`is_too_large`), or no HTTP.
pub(super) fn by_hyper<S: Serve>(service: &S, is_too_large: bool) {
    let status = if is_too_large {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
    } else {
        StatusCode::BAD_REQUEST
    };
    service.answered(&OwnAnswer {
        request: None,
        status,
        detail: None,
        bytes: 0,
    });
}
