//! How the content of an answer is delimited.

use super::{verb::Verb, write::ReplyContext};
use http::{Response, StatusCode, Version};
use http_body::Body;

/// How the end of an answer's content is found (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is never any content.
    None,
    /// Content of this many bytes.
    Length(u64),
    /// Chunks, each with its length.
    Chunks,
    /// All that comes until the connection is closed: the client does not know chunks.
    UntilClose,
}

impl Framing {
    /// Whether the value of a `Content-Length` field agrees with it.
    pub(super) fn agrees_with(self, length: &[u8]) -> bool {
        match self {
            Self::None => true,
            Self::Length(sent) => {
                std::str::from_utf8(length).is_ok_and(|length| length.parse() == Ok(sent))
            }
            Self::Chunks | Self::UntilClose => false,
        }
    }
}

/// Whether answers with this status never have content (RFC 9110 section 6.4.1).
pub(super) fn has_no_content(status: StatusCode) -> bool {
    status.is_informational() || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

/// The framing of an answer; `None` if it is not decided here.
pub(super) fn framing<B: Body>(response: &Response<B>, asked: ReplyContext) -> Option<Framing> {
    let (status, body) = (response.status(), response.body());
    let never = asked.verb == Verb::Head || has_no_content(status);
    match (body.is_end_stream(), never) {
        _ if status.is_informational() => return None,
        (true, true) => return Some(Framing::None),
        (false, true) => return None,
        (true, false) => return Some(Framing::Length(0)),
        (false, false) => {}
    }
    Some(match (body.size_hint().exact(), asked.version) {
        (Some(length), _) => Framing::Length(length),
        (None, Version::HTTP_10) => Framing::UntilClose,
        (None, _) => Framing::Chunks,
    })
}
