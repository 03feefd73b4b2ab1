//! What is wrong with a request before anybody is asked for an answer, and the answer to it.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};

/// Why a request is turned away. All are the client's fault; none is worth repeating unchanged, but `TimedOut` and `Full` are
/// worth repeating later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// RFC 9112 section 3.2: an HTTP/1.1 request without `Host`; RFC 9113 section 8.3.1: neither `:authority` nor `Host`.
    HostMissing,
    /// RFC 9112 section 3.2: more than one `Host` line.
    HostRepeated,
    /// RFC 9112 section 3.2: a `Host` that is no authority.
    HostInvalid,
    /// RFC 9113 section 8.3.1: `Host` and `:authority` name different hosts.
    HostDiffers,
    /// RFC 9112 section 3.2: a target in a form that its method does not have.
    TargetForm,
    /// RFC 9112 section 3: a target longer than the limit.
    TargetTooLong,
    /// RFC 6585 section 5: more field lines than the limit.
    TooManyFields,
    /// RFC 9112 section 6.3: both `Content-Length` and `Transfer-Encoding`.
    TwoLengths,
    /// RFC 9112 section 6.1: a transfer coding other than one `chunked`.
    TransferCoding,
    /// The request did not come in time.
    TimedOut,
    /// Too many connections.
    Full,
    /// Ours: the service panicked.
    Panicked,
}

impl Fault {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::HostMissing
            | Self::HostRepeated
            | Self::HostInvalid
            | Self::HostDiffers
            | Self::TargetForm
            | Self::TwoLengths => StatusCode::BAD_REQUEST,
            Self::TargetTooLong => StatusCode::URI_TOO_LONG,
            Self::TooManyFields => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::TransferCoding => StatusCode::NOT_IMPLEMENTED,
            Self::TimedOut => StatusCode::REQUEST_TIMEOUT,
            Self::Full => StatusCode::SERVICE_UNAVAILABLE,
            Self::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// For `Cache-Status`'s `detail` (RFC 9211 section 2.8): a token.
    fn detail(self) -> &'static str {
        match self {
            Self::HostMissing => "host-missing",
            Self::HostRepeated => "host-repeated",
            Self::HostInvalid => "host-invalid",
            Self::HostDiffers => "host-differs",
            Self::TargetForm => "target-form",
            Self::TargetTooLong => "target-too-long",
            Self::TooManyFields => "too-many-fields",
            Self::TwoLengths => "two-lengths",
            Self::TransferCoding => "transfer-coding",
            Self::TimedOut => "request-timeout",
            Self::Full => "too-many-connections",
            Self::Panicked => "internal-error",
        }
    }

    /// Whether the rest of the connection cannot be trusted either.
    fn closes(self) -> bool {
        !matches!(self, Self::Panicked | Self::HostMissing | Self::HostInvalid)
    }

    fn cache_status(self) -> String {
        format!("larder; detail={}", self.detail())
    }

    /// The answer, for `hyper` to write. `http1`: whether `Connection` means anything.
    pub(super) fn response(self, http1: bool) -> Response<Bytes> {
        let reason = self.status().canonical_reason().unwrap_or_default();
        let mut response = Response::new(Bytes::from(format!("{reason}\n")));
        *response.status_mut() = self.status();
        let fields = response.headers_mut();
        fields.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        if let Ok(value) = HeaderValue::try_from(self.cache_status()) {
            fields.insert("cache-status", value);
        }
        if http1 && self.closes() {
            fields.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// The answer as bytes, where `hyper` is out of the way. Always ends the connection.
    pub(super) fn wire(self) -> String {
        let status = self.status();
        let reason = status.canonical_reason().unwrap_or_default();
        format!(
            "HTTP/1.1 {} {reason}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\ncache-status: {}\r\ndate: {}\r\nconnection: close\r\n\r\n{reason}\n",
            status.as_u16(),
            reason.len() + 1,
            self.cache_status(),
            httpdate::fmt_http_date(std::time::SystemTime::now()),
        )
    }
}
