//! Faults of a request that are found before the service is asked, and the answers to them.

use super::{Connection, own::OwnAnswer};
use crate::error::BadHost;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, Version, header, request::Parts};

/// Why a request is turned away.
///
/// All but `Full`, `NoRoom` and `Panicked` are the client's fault, and no such request is worth repeating unchanged.
/// `TimedOut`, `Full` and `NoRoom` are worth repeating later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It does not name its host as it must.
    Host(BadHost),
    /// RFC 9113 section 8.3.1: `Host` and `:authority` name different hosts.
    HostDiffers,
    /// RFC 9112 section 3.2: a form of target that the method does not allow.
    TargetForm,
    /// RFC 9112 section 3: a target longer than the limit.
    TargetTooLong,
    /// RFC 9110 section 15.6.6: a major version that the connection does not use.
    ForeignVersion,
    /// RFC 6585 section 5: a head longer than the limit.
    HeadTooLarge,
    /// RFC 6585 section 5: more field lines than the limit.
    TooManyFields,
    /// RFC 9113 section 8.2.1: white space around a value.
    FieldInvalid,
    /// RFC 9112 section 6.3: both `Content-Length` and `Transfer-Encoding`.
    TwoLengths,
    /// RFC 9112 section 6.1: a transfer coding other than one `chunked`.
    TransferCoding,
    /// The request did not come in time.
    TimedOut,
    /// Too many connections.
    Full,
    /// There is no memory for a head.
    NoRoom,
    /// Our fault: the service panicked.
    Panicked,
}

impl Fault {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Host(_)
            | Self::HostDiffers
            | Self::TargetForm
            | Self::FieldInvalid
            | Self::TwoLengths => StatusCode::BAD_REQUEST,
            Self::TargetTooLong => StatusCode::URI_TOO_LONG,
            Self::HeadTooLarge | Self::TooManyFields => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::TransferCoding => StatusCode::NOT_IMPLEMENTED,
            Self::ForeignVersion => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            Self::TimedOut => StatusCode::REQUEST_TIMEOUT,
            Self::Full | Self::NoRoom => StatusCode::SERVICE_UNAVAILABLE,
            Self::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// A token for `detail` in `Cache-Status` (RFC 9211 section 2.8).
    pub(super) fn token(self) -> &'static str {
        match self {
            Self::Host(why) => why.token(),
            Self::HostDiffers => "host-differs",
            Self::TargetForm => "target-form",
            Self::TargetTooLong => "target-too-long",
            Self::ForeignVersion => "foreign-version",
            Self::HeadTooLarge => "head-too-large",
            Self::TooManyFields => "too-many-fields",
            Self::FieldInvalid => "field-invalid",
            Self::TwoLengths => "two-lengths",
            Self::TransferCoding => "transfer-coding",
            Self::TimedOut => "request-timeout",
            Self::Full => "too-many-connections",
            Self::NoRoom => "no-room",
            Self::Panicked => "internal-error",
        }
    }

    /// Whether the head itself is what is wrong, not when or where it came.
    pub(super) fn is_of_head(self) -> bool {
        !matches!(
            self,
            Self::TimedOut | Self::Full | Self::NoRoom | Self::Panicked
        )
    }

    /// Whether the rest of the connection cannot be trusted either.
    fn closes(self) -> bool {
        !matches!(
            self,
            Self::Panicked | Self::Host(BadHost::Missing | BadHost::Invalid)
        )
    }

    /// The content of the answer.
    pub(super) fn text(self) -> String {
        let reason = self.status().canonical_reason().unwrap_or_default();
        format!("{reason}\n")
    }

    /// Describes the answer to the service. `bytes` is 0: a caller that sends content sets it.
    pub(super) fn answer<'a>(self, request: Option<(&'a Parts, &'a Connection)>) -> OwnAnswer<'a> {
        OwnAnswer {
            request,
            status: self.status(),
            detail: Some(self.token()),
            bytes: 0,
        }
    }

    /// Returns the answer with the fields in `told`, for a client that speaks `version`: HTTP/2 does not have
    /// `Connection`.
    pub(super) fn response(self, version: Version, told: HeaderMap) -> Response<Bytes> {
        let mut response = Response::new(Bytes::from(self.text()));
        *response.status_mut() = self.status();
        let fields = response.headers_mut();
        *fields = told;
        fields.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        if version != Version::HTTP_2 && self.closes() {
            fields.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// Returns the answer as bytes, with the fields in `told`. It always ends the connection.
    pub(super) fn wire(self, told: &HeaderMap) -> Vec<u8> {
        let (status, text) = (self.status(), self.text());
        let mut wire = format!(
            "HTTP/1.1 {} {}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\ndate: {}\r\nconnection: close\r\n",
            status.as_u16(),
            text.trim_end(),
            text.len(),
            httpdate::fmt_http_date(std::time::SystemTime::now()),
        )
        .into_bytes();
        for (name, value) in told {
            let line = [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"];
            wire.extend_from_slice(&line.concat());
        }
        wire.extend_from_slice(b"\r\n");
        wire.extend_from_slice(text.as_bytes());
        wire
    }
}
