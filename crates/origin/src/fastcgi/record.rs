//! Records: the framing of everything in FastCGI (FastCGI Specification 1.0, section 3.3).
//!
//! A connection carries one request at a time, always with the same number: no FastCGI server of note takes several at
//! once, least of all php-fpm.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use thiserror::Error;

/// Most bytes of content in one record: its length has 16 bits.
pub const LARGEST: usize = 65_535;

const VERSION: u8 = 1;
/// The number of our request.
const NUMBER: u16 = 1;
const HEADER: usize = 8;
/// Length of the content of `FCGI_END_REQUEST`.
const END: usize = 8;

/// Types of records (section 8).
mod kind {
    pub(super) const BEGIN_REQUEST: u8 = 1;
    pub(super) const ABORT_REQUEST: u8 = 2;
    pub(super) const END_REQUEST: u8 = 3;
    pub(super) const PARAMS: u8 = 4;
    pub(super) const STDIN: u8 = 5;
    pub(super) const STDOUT: u8 = 6;
    pub(super) const STDERR: u8 = 7;
}

/// Asks the server to give up the request (section 5.4).
pub const ABORT: [u8; HEADER] = [VERSION, kind::ABORT_REQUEST, 0, 1, 0, 0, 0, 0];

/// Writes the begin of a request to a responder. `keep`: the connection stays open afterwards.
pub fn begin(out: &mut BytesMut, keep: bool) {
    const RESPONDER: u16 = 1;
    header(out, kind::BEGIN_REQUEST, END);
    out.put_u16(RESPONDER);
    out.put_u8(u8::from(keep));
    out.put_bytes(0, 5);
}

/// Writes all parameters, these in each record, and the record that ends them (section 5.2).
pub fn params<'a>(out: &mut BytesMut, records: impl Iterator<Item = &'a [u8]>) {
    for pairs in records {
        stream(out, kind::PARAMS, pairs);
    }
    header(out, kind::PARAMS, 0);
}

/// Writes a piece of the request's body (section 5.3). An empty piece writes nothing.
pub fn stdin(out: &mut BytesMut, piece: &[u8]) {
    stream(out, kind::STDIN, piece);
}

/// Writes the end of the request's body.
pub fn end_of_stdin(out: &mut BytesMut) {
    header(out, kind::STDIN, 0);
}

fn stream(out: &mut BytesMut, kind: u8, bytes: &[u8]) {
    out.reserve(bytes.len() + (bytes.len() / LARGEST + 1) * HEADER);
    for piece in bytes.chunks(LARGEST) {
        header(out, kind, piece.len());
        out.put_slice(piece);
    }
}

fn header(out: &mut BytesMut, kind: u8, length: usize) {
    out.put_u8(VERSION);
    out.put_u8(kind);
    out.put_u16(NUMBER);
    out.put_u16(u16::try_from(length).unwrap_or(u16::MAX));
    out.put_bytes(0, 2);
}

/// What a server sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A piece of the script's output. Never empty.
    Output(Bytes),
    /// A piece of what the script wrote to standard error. Never empty.
    Complaint(Bytes),
    /// The request is over.
    End(Ended),
}

/// How a request ended (section 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The exit status of the script's process.
    pub application: u32,
    /// 0: done. Anything else: refused.
    pub protocol: u8,
}

/// What a server must not send. This is always its fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Wrong {
    /// Another version of the protocol, or another protocol.
    #[error("a FastCGI record of version {0}")]
    Version(u8),
    /// A record of a request that we did not make.
    #[error("a FastCGI record of request {0}, which was not made")]
    Stranger(u16),
    /// A type that only we may send, or that does not exist.
    #[error("a FastCGI record of type {0}")]
    Kind(u8),
    /// An `FCGI_END_REQUEST` of the wrong size.
    #[error("the end of a FastCGI request in {0} bytes instead of 8")]
    EndLength(u16),
    /// Output after the record that ended the output.
    #[error("output after the end of the request")]
    AfterEnd,
}

/// Decodes records as they come. Content is handed on as it arrives: only headers and ends are gathered here.
#[derive(Clone, Copy, Debug, Default)]
pub struct Decoder {
    state: State,
    output_ended: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// A header is next.
    #[default]
    Between,
    /// This much content is left, then this much padding.
    Within {
        to: Stream,
        left: usize,
        padding: usize,
    },
    /// Padding is left.
    Padding(usize),
    /// The request is over: nothing more is read.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Output,
    Complaint,
}

impl Decoder {
    /// Returns the next event in `input`, and removes what was read. `None`: more input is needed, or the request is
    /// over.
    pub fn next(&mut self, input: &mut BytesMut) -> Result<Option<Event>, Wrong> {
        loop {
            match self.state {
                State::Over => return Ok(None),
                State::Between => {
                    let Some(header) = Header::peek(input)? else {
                        return Ok(None);
                    };
                    if header.kind == kind::END_REQUEST {
                        return Ok(self.end(&header, input));
                    }
                    input.advance(HEADER);
                    self.state = self.within(&header)?;
                }
                State::Padding(left) => {
                    let there = left.min(input.len());
                    input.advance(there);
                    if there < left {
                        self.state = State::Padding(left - there);
                        return Ok(None);
                    }
                    self.state = State::Between;
                }
                State::Within {
                    left: 0, padding, ..
                } => self.state = State::Padding(padding),
                State::Within { to, left, padding } => {
                    let there = left.min(input.len());
                    if there == 0 {
                        return Ok(None);
                    }
                    let piece = input.split_to(there).freeze();
                    let left = left - there;
                    self.state = State::Within { to, left, padding };
                    return Ok(Some(match to {
                        Stream::Output => Event::Output(piece),
                        Stream::Complaint => Event::Complaint(piece),
                    }));
                }
            }
        }
    }

    /// Returns the end, once all of its record is here.
    fn end(&mut self, header: &Header, input: &mut BytesMut) -> Option<Event> {
        let whole = HEADER + END + header.padding;
        if input.len() < whole {
            return None;
        }
        let mut record = input.split_to(whole);
        record.advance(HEADER);
        self.state = State::Over;
        Some(Event::End(Ended {
            application: record.get_u32(),
            protocol: record.get_u8(),
        }))
    }

    fn within(&mut self, header: &Header) -> Result<State, Wrong> {
        let to = match header.kind {
            kind::STDERR => Stream::Complaint,
            kind::STDOUT => Stream::Output,
            other => return Err(Wrong::Kind(other)),
        };
        if to == Stream::Output {
            if self.output_ended && header.length > 0 {
                return Err(Wrong::AfterEnd);
            }
            self.output_ended = header.length == 0;
        }
        Ok(State::Within {
            to,
            left: usize::from(header.length),
            padding: header.padding,
        })
    }
}

struct Header {
    kind: u8,
    length: u16,
    padding: usize,
}

impl Header {
    /// Reads a header without removing it. `None`: not all of it is here.
    fn peek(input: &BytesMut) -> Result<Option<Self>, Wrong> {
        let Some(&[version, kind, high, low, long, short, padding, _]) = input.first_chunk() else {
            // A server that speaks another protocol is detected by its first byte.
            return match input.first() {
                Some(&version) if version != VERSION => Err(Wrong::Version(version)),
                _ => Ok(None),
            };
        };
        let number = u16::from_be_bytes([high, low]);
        let length = u16::from_be_bytes([long, short]);
        if version != VERSION {
            return Err(Wrong::Version(version));
        }
        if !matches!(kind, kind::STDOUT | kind::STDERR | kind::END_REQUEST) {
            return Err(Wrong::Kind(kind));
        }
        if number != NUMBER {
            return Err(Wrong::Stranger(number));
        }
        if kind == kind::END_REQUEST && usize::from(length) != END {
            return Err(Wrong::EndLength(length));
        }
        Ok(Some(Self {
            kind,
            length,
            padding: usize::from(padding),
        }))
    }
}

#[cfg(test)]
mod tests;
