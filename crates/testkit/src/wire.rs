//! HTTP/1.1 messages as bytes: just enough to read what a cache sends, without judging it.

use crate::{BOUND, stream::Stream};
use std::{
    io::{self, Read},
    time::Duration,
};

/// A message's start line and fields, in the order and case in which they came. Bytes outside ASCII are one char each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The request line or status line.
    pub start: String,
    /// Names and values; white space around values is removed.
    pub fields: Vec<(String, String)>,
}

impl Head {
    /// The first value of this field, whatever its case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers(name).first().copied()
    }

    /// Every value of this field, in order.
    pub fn headers(&self, name: &str) -> Vec<&str> {
        let same = |field: &&(String, String)| field.0.eq_ignore_ascii_case(name);
        self.fields
            .iter()
            .filter(same)
            .map(|field| field.1.as_str())
            .collect()
    }

    /// The word of the start line with this index.
    pub(crate) fn word(&self, index: usize) -> &str {
        self.start.split(' ').nth(index).unwrap_or_default()
    }

    pub(crate) fn length(&self) -> Option<usize> {
        self.header("content-length")?.parse().ok()
    }

    pub(crate) fn chunked(&self) -> bool {
        self.headers("transfer-encoding")
            .iter()
            .any(|value| value.to_ascii_lowercase().ends_with("chunked"))
    }
}

/// A request as the origin received it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method as sent.
    pub method: String,
    /// The request target as sent.
    pub target: String,
    /// The request line and fields.
    pub head: Head,
    /// The content, without transfer coding.
    pub body: Vec<u8>,
    /// Trailer fields of a chunked body.
    pub trailers: Vec<(String, String)>,
    /// Which request to this path it is, counted from 1.
    pub nth: usize,
    /// Which connection it came on, counted from 1.
    pub connection: usize,
}

impl Request {
    /// The first value of this field.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    /// Every value of this field, in order.
    pub fn headers(&self, name: &str) -> Vec<&str> {
        self.head.headers(name)
    }

    /// The path: the target up to `?`.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// What of a body could be read, and whether that was all.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    pub(crate) trailers: Vec<(String, String)>,
    pub(crate) complete: bool,
}

/// A buffered reader of messages.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) stream: Stream,
    buffer: Vec<u8>,
}

impl Wire {
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
        }
    }

    /// What has been received and not been read.
    pub(crate) fn pending(&self) -> &[u8] {
        &self.buffer
    }

    /// Receives more. `false` at the end; a reset counts as an end.
    pub(crate) fn fill(&mut self) -> io::Result<bool> {
        let mut piece = [0; 16 * 1024];
        match self.stream.read(&mut piece) {
            // A machine that was paused meanwhile.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.fill(),
            Ok(count) => {
                self.buffer.extend_from_slice(&piece[..count]);
                Ok(count > 0)
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether something comes, or the end, within a few milliseconds.
    pub(crate) fn poll(&mut self) -> bool {
        self.stream.set_read_bound(Duration::from_millis(5));
        let filled = self.fill();
        self.stream.set_read_bound(BOUND);
        filled.is_ok()
    }

    /// Takes what is there, at most `most` bytes; receives if there is nothing. Empty at the end.
    pub(crate) fn some(&mut self, most: usize) -> io::Result<Vec<u8>> {
        if self.buffer.is_empty() && !self.fill()? {
            return Ok(Vec::new());
        }
        Ok(self.buffer.drain(..most.min(self.buffer.len())).collect())
    }

    /// A line without its end; `None` if the stream ends before it.
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut searched = 0;
        let end = loop {
            if let Some(at) = self.buffer[searched..]
                .iter()
                .position(|&byte| byte == b'\n')
            {
                break searched + at;
            }
            searched = self.buffer.len();
            if !self.fill()? {
                return Ok(None);
            }
        };
        let line: Vec<u8> = self.buffer.drain(..=end).collect();
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Ok(Some(line.iter().map(|&byte| char::from(byte)).collect()))
    }

    fn fields(&mut self) -> io::Result<Option<Vec<(String, String)>>> {
        let mut fields = Vec::new();
        loop {
            match self.line()? {
                None => return Ok(None),
                Some(line) if line.is_empty() => return Ok(Some(fields)),
                Some(line) => {
                    let (name, value) = line.split_once(':').unwrap_or((&line, ""));
                    fields.push((name.to_owned(), value.trim_matches([' ', '\t']).to_owned()));
                }
            }
        }
    }

    /// A message's head; `None` if the stream ends before its end.
    pub(crate) fn head(&mut self) -> io::Result<Option<Head>> {
        let Some(start) = self.line()? else {
            return Ok(None);
        };
        Ok(self.fields()?.map(|fields| Head { start, fields }))
    }

    /// So many bytes, fewer if the stream ends. `seen` is told of each piece.
    pub(crate) fn exactly(
        &mut self,
        count: usize,
        mut seen: impl FnMut(&[u8]),
    ) -> io::Result<Body> {
        let mut body = Body::default();
        while body.bytes.len() < count {
            let piece = self.some(count - body.bytes.len())?;
            if piece.is_empty() {
                return Ok(body);
            }
            seen(&piece);
            body.bytes.extend_from_slice(&piece);
        }
        body.complete = true;
        Ok(body)
    }

    /// Everything until the stream ends.
    pub(crate) fn rest(&mut self) -> io::Result<Body> {
        let mut body = self.exactly(usize::MAX, |_| ())?;
        body.complete = true;
        Ok(body)
    }

    /// One chunk (RFC 9112 section 7.1), empty for the last; `None` if the stream ends before its end.
    pub(crate) fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(line) = self.line()? else {
            return Ok(None);
        };
        let size = line.split(';').next().unwrap_or_default().trim();
        let Ok(size) = usize::from_str_radix(size, 16) else {
            return Err(io::Error::other(format!("not a chunk size: {line:?}")));
        };
        let chunk = self.exactly(size, |_| ())?;
        if !chunk.complete || (size > 0 && self.line()?.is_none()) {
            return Ok(None);
        }
        Ok(Some(chunk.bytes))
    }

    /// A chunked body with its trailers.
    pub(crate) fn chunks(&mut self, mut seen: impl FnMut(&[u8])) -> io::Result<Body> {
        let mut body = Body::default();
        loop {
            match self.chunk()? {
                None => return Ok(body),
                Some(chunk) if chunk.is_empty() => break,
                Some(chunk) => {
                    seen(&chunk);
                    body.bytes.extend_from_slice(&chunk);
                }
            }
        }
        if let Some(trailers) = self.fields()? {
            body.trailers = trailers;
            body.complete = true;
        }
        Ok(body)
    }
}
