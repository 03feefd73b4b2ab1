//! Reads an answer from pieces as they come (RFC 9112 section 6): where it ends, and what is reported about it.

use super::chunked::Chunked;
use crate::cached::{Cached, Said};
use httparse::{Header, ParserConfig, Status};
use std::mem::MaybeUninit;

/// The most fields of a head.
const MOST_FIELDS: usize = 100;

/// The longest head, in bytes.
const LONGEST_HEAD: usize = 64 * 1024;

/// The most interim answers (RFC 9110 section 15.2) before the one that counts.
const MOST_INTERIM: u8 = 16;

/// The answer is not HTTP/1.1, or larger than this tool accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

/// What is reported about an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Its status code.
    pub status: u16,
    /// Bytes of content.
    pub body: u64,
    /// Where a cache says it came from.
    pub cached: Cached,
    /// Whether the connection ends with it.
    pub closes: bool,
    /// The `Set-Cookie` lines, if they were asked for.
    pub cookies: Vec<Vec<u8>>,
}

/// The result of reading a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// More is to come.
    More,
    /// The answer is complete.
    Done {
        /// How many bytes of the piece belong to it.
        used: usize,
    },
}

#[derive(Clone, Copy, Debug)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilClose,
}

/// Reads one answer after another. Holds at most a head that came in pieces.
#[derive(Debug)]
pub struct Reader {
    state: State,
    /// Beginning of a head whose end has not come.
    partial: Vec<u8>,
    interim: u8,
    /// Whether the request was `HEAD`. The answer then has no content.
    to_head: bool,
    with_cookies: bool,
    answer: Answer,
}

impl Reader {
    /// Makes a reader. `with_cookies` says whether `Set-Cookie` is wanted.
    pub fn new(with_cookies: bool) -> Self {
        Self {
            state: State::Head,
            partial: Vec::new(),
            interim: 0,
            to_head: false,
            with_cookies,
            answer: Answer::default(),
        }
    }

    /// Prepares for the answer to the next request, which is a `HEAD` or not.
    pub fn begin(&mut self, to_head: bool) {
        self.state = State::Head;
        self.partial.clear();
        self.interim = 0;
        self.to_head = to_head;
        self.answer = Answer::default();
    }

    /// Whether the head has come.
    pub fn has_head(&self) -> bool {
        !matches!(self.state, State::Head)
    }

    /// Takes what has been read so far. After [`Step::Done`] that is the complete answer.
    pub fn take(&mut self) -> Answer {
        std::mem::take(&mut self.answer)
    }

    /// Reads the next piece.
    ///
    /// # Errors
    /// It is not HTTP/1.1, or too large.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Step, Broken> {
        if !matches!(self.state, State::Head) {
            return self.content(bytes, 0);
        }
        if self.partial.is_empty() {
            return self.heads(bytes, 0);
        }
        let before = self.partial.len();
        let mut partial = std::mem::take(&mut self.partial);
        partial.extend_from_slice(bytes);
        let step = self.heads(&partial, before);
        // `heads` copied the rest of the head. The larger allocation is kept.
        if self.partial.is_empty() {
            partial.clear();
            self.partial = partial;
        }
        step
    }

    /// Whether the end of the connection makes the answer complete.
    pub fn end(&self) -> bool {
        matches!(self.state, State::UntilClose)
    }

    /// Reads heads from `bytes`, of which the first `old` came before this piece.
    fn heads(&mut self, bytes: &[u8], old: usize) -> Result<Step, Broken> {
        let mut at = 0;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(length) = self.head(rest)? else {
                if rest.len() > LONGEST_HEAD {
                    return Err(Broken);
                }
                self.partial.extend_from_slice(rest);
                return Ok(Step::More);
            };
            at += length;
            if !matches!(self.state, State::Head) {
                let new = bytes.get(at..).unwrap_or_default();
                return self.content(new, at.saturating_sub(old));
            }
            self.interim += 1;
            if self.interim > MOST_INTERIM {
                return Err(Broken);
            }
        }
    }

    /// Reads a head and returns its length. `None`: it has not ended. An interim head leaves the state unchanged.
    fn head(&mut self, bytes: &[u8]) -> Result<Option<usize>, Broken> {
        let mut fields = [const { MaybeUninit::<Header<'_>>::uninit() }; MOST_FIELDS];
        let mut head = httparse::Response::new(&mut []);
        let parsed = ParserConfig::default().parse_response_with_uninit_headers(
            &mut head,
            bytes,
            &mut fields,
        );
        let Status::Complete(length) = parsed.map_err(|_| Broken)? else {
            return Ok(None);
        };
        let status = head.code.ok_or(Broken)?;
        match status {
            // No request asks to switch protocols.
            ..100 | 101 => return Err(Broken),
            102..200 | 100 => return Ok(Some(length)),
            _ => (),
        }
        self.answer.status = status;
        let framing = self.fields(head.headers, head.version == Some(1))?;
        let empty = self.to_head || status == 204 || status == 304;
        self.state = match framing {
            _ if empty => State::Length(0),
            Framing::Chunked => State::Chunked(Chunked::new()),
            Framing::Length(length) => State::Length(length),
            Framing::None => {
                self.answer.closes = true;
                State::UntilClose
            }
        };
        Ok(Some(length))
    }

    fn fields(&mut self, fields: &[Header<'_>], keeps: bool) -> Result<Framing, Broken> {
        let mut framing = Framing::None;
        let mut said = Said::default();
        self.answer.closes = !keeps;
        for Header { name, value } in fields {
            // Only a few names matter, and their lengths differ from those of most others.
            match name.len() {
                10 if name.eq_ignore_ascii_case("connection") => {
                    if has(value, b"close") {
                        self.answer.closes = true;
                    } else if !keeps && has(value, b"keep-alive") {
                        self.answer.closes = false;
                    }
                }
                10 if self.with_cookies && name.eq_ignore_ascii_case("set-cookie") => {
                    self.answer.cookies.push(value.to_vec());
                }
                14 if name.eq_ignore_ascii_case("content-length") => {
                    let length = decimal(value).ok_or(Broken)?;
                    framing = framing.with_length(length)?;
                }
                17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                    // With a coding other than a final `chunked`, the content would end with the connection. None is
                    // asked for.
                    if !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                        return Err(Broken);
                    }
                    framing = Framing::Chunked;
                }
                _ => said.see(name, value),
            }
        }
        self.answer.cached = said.cached();
        Ok(framing)
    }

    /// Reads content. Heads took the first `before` bytes of the piece.
    fn content(&mut self, bytes: &[u8], before: usize) -> Result<Step, Broken> {
        match &mut self.state {
            State::Head => Ok(Step::More),
            State::UntilClose => {
                self.answer.body += bytes.len() as u64;
                Ok(Step::More)
            }
            State::Length(left) => {
                let here = (bytes.len() as u64).min(*left);
                *left -= here;
                self.answer.body += here;
                if *left > 0 {
                    return Ok(Step::More);
                }
                let used = before + here as usize;
                Ok(Step::Done { used })
            }
            State::Chunked(chunked) => {
                let eaten = chunked.eat(bytes).ok_or(Broken)?;
                self.answer.body += eaten.data;
                if !eaten.done {
                    return Ok(Step::More);
                }
                let used = before + eaten.used;
                Ok(Step::Done { used })
            }
        }
    }
}

/// How the end of the content is marked.
enum Framing {
    None,
    Length(u64),
    Chunked,
}

impl Framing {
    /// `Transfer-Encoding` overrides a length, and lengths must agree (RFC 9112 section 6.3).
    fn with_length(self, length: u64) -> Result<Self, Broken> {
        match self {
            Self::None => Ok(Self::Length(length)),
            Self::Length(before) if before != length => Err(Broken),
            same => Ok(same),
        }
    }
}

fn decimal(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value.trim_ascii()).ok()?;
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

/// Whether the list has this member, whatever its case.
fn has(list: &[u8], member: &[u8]) -> bool {
    let mut members = list.split(|byte| *byte == b',');
    members.any(|one| one.trim_ascii().eq_ignore_ascii_case(member))
}
