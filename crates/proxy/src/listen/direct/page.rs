//! Heads of answers, written in memory that is reused.

use http::{HeaderName, HeaderValue, Method, Response, StatusCode, Version, header};
use http_body::Body;
use std::fmt::{self, Write as _};

/// Methods of requests that are answered here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    Head,
    Purge,
    Ban,
    Refresh,
}

impl Verb {
    /// The verbs for the cache itself.
    const OWN: [Self; 3] = [Self::Purge, Self::Ban, Self::Refresh];

    /// The verb of `method`.
    pub(super) fn of(method: &Method) -> Option<Self> {
        match *method {
            Method::GET => Some(Self::Get),
            Method::HEAD => Some(Self::Head),
            _ => Self::OWN
                .into_iter()
                .find(|own| own.text() == method.as_str()),
        }
    }

    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Purge => "PURGE",
            Self::Ban => "BAN",
            Self::Refresh => "REFRESH",
        }
    }
}

/// What the request says that decides how its answer is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplyContext {
    pub(super) verb: Verb,
    pub(super) version: Version,
    /// Whether this is the last answer.
    pub(super) closes: bool,
}

impl ReplyContext {
    /// The beginning of the status line.
    pub(super) fn version_text(self) -> &'static [u8] {
        match self.version {
            Version::HTTP_10 => b"HTTP/1.0 ",
            _ => b"HTTP/1.1 ",
        }
    }
}

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

/// A head being written, in memory that is reused.
pub(super) struct Page {
    pub(super) bytes: Box<[u8]>,
    length: usize,
}

impl Page {
    pub(super) fn on(bytes: Box<[u8]>) -> Self {
        Self { bytes, length: 0 }
    }

    /// Adds `text`; `None` if it does not fit.
    #[inline]
    pub(super) fn put(&mut self, text: &[u8]) -> Option<()> {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end)?.copy_from_slice(text);
        self.length = end;
        Some(())
    }

    /// Adds a field line; `None` if it does not fit.
    #[inline]
    pub(super) fn put_field(&mut self, name: &HeaderName, value: &HeaderValue) -> Option<()> {
        self.put_line(name.as_str().as_bytes(), value.as_bytes())
    }

    /// As [`put_field`](Self::put_field), for bytes that are known to be a name and a value.
    #[inline]
    pub(super) fn put_line(&mut self, name: &[u8], value: &[u8]) -> Option<()> {
        self.put(name)?;
        self.put(b": ")?;
        self.put(value)?;
        self.put(b"\r\n")
    }

    /// Empties the page.
    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    pub(super) fn written(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// How many bytes still fit.
    pub(super) fn room(&self) -> usize {
        self.bytes.len() - self.length
    }
}

impl fmt::Write for Page {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text.as_bytes()).ok_or(fmt::Error)
    }
}

/// Writes a whole head; `None` if a field is about the connection or the framing, if one must be made up, or if the
/// head is too long.
pub(super) fn write_head<B>(
    page: &mut Page,
    response: &Response<B>,
    framing: Framing,
    asked: ReplyContext,
) -> Option<()> {
    page.put(asked.version_text())?;
    let told = write_fields(page, response.status(), response.headers(), framing)?;
    write_framing(page, framing, told)?;
    write_end(page, asked)
}

/// Writes the rest of the status line. A status without a known reason gets none (RFC 9112 section 4).
pub(super) fn write_status(page: &mut Page, status: StatusCode) -> Option<()> {
    page.put(status.as_str().as_bytes())?;
    page.put(b" ")?;
    page.put(status.canonical_reason().unwrap_or_default().as_bytes())?;
    page.put(b"\r\n")
}

/// Writes a head from the status on, without what [`write_framing`] and [`write_end`] write. Returns whether it has the
/// length; `None` as for [`write_head`].
pub(super) fn write_fields<'a>(
    page: &mut Page,
    status: StatusCode,
    fields: impl IntoIterator<Item = (&'a HeaderName, &'a HeaderValue)>,
    framing: Framing,
) -> Option<bool> {
    write_status(page, status)?;
    let (mut dated, mut told) = (false, false);
    for (name, value) in fields {
        match *name {
            header::CONNECTION | header::TRANSFER_ENCODING | header::TRAILER | header::UPGRADE => {
                return None;
            }
            header::DATE => dated = true,
            header::CONTENT_LENGTH if told || !agrees(framing, value.as_bytes()) => return None,
            header::CONTENT_LENGTH => told = true,
            _ => {}
        }
        page.put_field(name, value)?;
    }
    dated.then_some(told)
}

/// Writes how the content is framed, if that is needed and no field has said it.
pub(super) fn write_framing(page: &mut Page, framing: Framing, told: bool) -> Option<()> {
    match framing {
        Framing::Length(length) if !told => write!(page, "content-length: {length}\r\n").ok(),
        Framing::Chunks => page.put(b"transfer-encoding: chunked\r\n"),
        Framing::None | Framing::Length(_) | Framing::UntilClose => Some(()),
    }
}

/// Writes whether the connection stays open, and ends the head.
pub(super) fn write_end(page: &mut Page, asked: ReplyContext) -> Option<()> {
    page.put(match (asked.version, asked.closes) {
        (Version::HTTP_10, false) => b"connection: keep-alive\r\n\r\n",
        (Version::HTTP_10, true) | (_, false) => b"\r\n",
        (_, true) => b"connection: close\r\n\r\n",
    })
}

/// Whether `Content-Length` agrees with what is sent.
pub(super) fn agrees(framing: Framing, told: &[u8]) -> bool {
    match framing {
        Framing::None => true,
        Framing::Length(length) => {
            std::str::from_utf8(told).is_ok_and(|told| told.parse() == Ok(length))
        }
        Framing::Chunks | Framing::UntilClose => false,
    }
}
