//! One line of a log, as far as it describes a request and its answer.

use super::{meaning::Meaning, stamp, value};
use http::{HeaderMap, HeaderName, HeaderValue};
use rules::time::Time;
use std::{borrow::Cow, collections::HashSet, fmt, net::IpAddr, time::Duration};

/// One line, as far as it describes a request and its answer.
#[derive(Debug, Default)]
pub struct Line<'a> {
    /// The time of the line: the begin of the request or its end, depending on the server.
    pub time: Option<Time>,
    /// The client's address.
    pub client: Option<IpAddr>,
    /// Whether the request came by HTTPS.
    pub tls: Option<bool>,
    /// The method.
    pub method: Option<Cow<'a, [u8]>>,
    /// The host as the client wrote it.
    pub host: Option<Cow<'a, [u8]>>,
    /// Path and query, or the whole URI.
    pub target: Option<Cow<'a, [u8]>>,
    /// The query, if it is separate.
    pub query: Option<Cow<'a, [u8]>>,
    /// The status; 0 if the client left before there was one.
    pub status: Option<u16>,
    /// The bytes of the body that were sent.
    pub bytes: Option<u64>,
    /// All bytes that were sent, head and body.
    pub all_bytes: Option<u64>,
    /// How long the answer took.
    pub took: Option<Duration>,
    /// How long the origin took.
    pub origin_time: Option<Duration>,
    /// How a cache in front says that it answered.
    pub answered: Option<Answered>,
    /// Why, in Larder's words.
    pub reason: Option<Cow<'a, [u8]>>,
    /// Request fields.
    pub request: HeaderMap,
    /// Response fields.
    pub response: HeaderMap,
    path: Option<Cow<'a, [u8]>>,
    server_name: Option<Cow<'a, [u8]>>,
    date: Option<Cow<'a, [u8]>>,
    clock: Option<Cow<'a, [u8]>>,
}

/// How the cache that wrote the log answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// From its store.
    FromStore,
    /// From its origin.
    FromOrigin,
    /// By itself.
    Itself,
}

/// Why a line is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// It does not look like the format.
    Form,
    /// The time is invalid or missing.
    Time,
    /// The method or the target is missing.
    Request,
    /// The status is invalid or missing.
    Status,
    /// The line is not JSON, or not an object.
    Json,
    /// The line is longer than allowed.
    TooLong,
    /// The line contains bytes that no log has: the file may be something else.
    Binary,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "does not look like the format",
            Self::Time => "no time that could be read",
            Self::Request => "no request that could be read",
            Self::Status => "no status that could be read",
            Self::Json => "not a JSON object",
            Self::TooLong => "too long for a line of a log",
            Self::Binary => "binary data",
        })
    }
}

/// The request and response fields that are worth reading.
#[derive(Clone, Debug)]
pub enum Heed {
    /// All fields.
    All,
    /// These fields.
    These(HashSet<HeaderName>),
}

impl Heed {
    pub(super) fn heeds(&self, name: &HeaderName) -> bool {
        match self {
            Self::All => true,
            Self::These(names) => names.contains(name),
        }
    }
}

impl<'a> Line<'a> {
    /// Stores the content of a part with this `meaning`. `-` and an empty text mean that it is not known.
    pub(super) fn put(
        &mut self,
        meaning: &Meaning,
        text: Cow<'a, [u8]>,
        heed: &Heed,
    ) -> Result<(), Bad> {
        if matches!(&*text, b"" | b"-") {
            return Ok(());
        }
        match meaning {
            // `02:36:00`, with the date in another part.
            Meaning::Time if text.get(2) == Some(&b':') => self.clock = Some(text),
            Meaning::Time => self.put_time(stamp::read(&text).ok_or(Bad::Time)?),
            Meaning::Date => self.date = Some(text),
            Meaning::Client => self.client = value::client(&text),
            // Only a client that sent credentials has a name.
            Meaning::User => put_field(&mut self.request, &http::header::AUTHORIZATION, b"Basic"),
            Meaning::Tls => self.tls = value::tls(&text),
            Meaning::Method => self.method = Some(text),
            Meaning::Host => self.host = Some(text),
            // The name of a server that serves any host.
            Meaning::ServerName if *text == *b"_" => {}
            Meaning::ServerName => self.server_name = Some(text),
            Meaning::Target => self.target = Some(text),
            Meaning::Path => self.path = Some(text),
            Meaning::Query => self.query = Some(text),
            Meaning::Request => self.put_request(text)?,
            Meaning::Status => self.status = Some(value::status(&text).ok_or(Bad::Status)?),
            Meaning::Bytes => self.bytes = value::whole(&text),
            Meaning::AllBytes => self.all_bytes = value::whole(&text),
            Meaning::Took(unit) => self.took = value::duration(&text, *unit),
            Meaning::OriginTime(unit) => self.origin_time = value::duration(&text, *unit),
            Meaning::Answered => self.answered = value::answered(&text),
            Meaning::Reason => self.reason = Some(text),
            Meaning::RequestField(name) if heed.heeds(name) => {
                put_field(&mut self.request, name, &text);
            }
            Meaning::ResponseField(name) if heed.heeds(name) => {
                put_field(&mut self.response, name, &text);
            }
            Meaning::RequestField(_) | Meaning::ResponseField(_) | Meaning::Skip => {}
        }
        Ok(())
    }

    /// Stores a time. Of several, the more exact one stays.
    fn put_time(&mut self, time: Time) {
        let is_exact = |time: Time| !time.as_millis().is_multiple_of(1000);
        if self
            .time
            .is_none_or(|before| is_exact(time) || !is_exact(before))
        {
            self.time = Some(time);
        }
    }

    /// Parses `GET /path HTTP/1.1`. Without a version it is HTTP/0.9, which scanners send.
    fn put_request(&mut self, text: Cow<'a, [u8]>) -> Result<(), Bad> {
        let blank = memchr::memchr(b' ', &text).ok_or(Bad::Request)?;
        let version = memchr::memrchr(b' ', &text).filter(|last| {
            *last > blank
                && text
                    .get(last + 1..)
                    .is_some_and(|word| word.starts_with(b"HTTP/"))
        });
        let end = version.unwrap_or(text.len());
        let (method, target) = match text {
            Cow::Borrowed(text) => (
                Cow::Borrowed(text.get(..blank).unwrap_or_default()),
                Cow::Borrowed(text.get(blank + 1..end).unwrap_or_default()),
            ),
            Cow::Owned(text) => (
                Cow::Owned(text.get(..blank).unwrap_or_default().to_vec()),
                Cow::Owned(text.get(blank + 1..end).unwrap_or_default().to_vec()),
            ),
        };
        (self.method, self.target) = (Some(method), Some(target));
        Ok(())
    }

    /// Combines parts, and checks that all required parts exist.
    pub(super) fn finish(mut self) -> Result<Self, Bad> {
        if let (Some(date), Some(clock)) = (&self.date, &self.clock) {
            self.time = Some(stamp::two_parts(date, clock).ok_or(Bad::Time)?);
        }
        if self.time.is_none() {
            return Err(Bad::Time);
        }
        if self.target.is_none() {
            self.target = self.path.take();
        } else {
            // The query may be that of a rewritten path, and the target has its own.
            self.query = None;
        }
        self.host = self.host.or(self.server_name.take());
        if self.method.as_deref().is_none_or(<[u8]>::is_empty)
            || self.target.as_deref().is_none_or(<[u8]>::is_empty)
        {
            return Err(Bad::Request);
        }
        if self.status.is_none() {
            return Err(Bad::Status);
        }
        Ok(self)
    }
}

fn put_field(fields: &mut HeaderMap, name: &HeaderName, value: &[u8]) {
    // Text that is not a valid field value did not come in a field.
    if let Ok(value) = HeaderValue::from_bytes(value) {
        let _ = fields.try_append(name, value);
    }
}
