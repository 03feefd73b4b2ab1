//! An answer, read from pieces as they come (RFC 9112 section 6): where it ends, and what is reported of it.

use super::chunked::Chunked;
use crate::cached::{Cached, Said};
use httparse::{Header, ParserConfig, Status};
use std::mem::MaybeUninit;

/// The most fields a head may have.
const MOST_FIELDS: usize = 100;

/// The longest head, in bytes.
const LONGEST_HEAD: usize = 64 * 1024;

/// The most interim answers (RFC 9110 section 15.2) before the one that counts.
const MOST_INTERIM: u8 = 16;

/// What is not HTTP/1.1, or more of it than this tool takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

/// What is reported of an answer.
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

/// Where a piece of input led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// More is to come.
    More,
    /// The answer is whole.
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

/// Reads one answer after another. It holds no more than a head that came in parts.
#[derive(Debug)]
pub struct Reader {
    state: State,
    /// Begin of a head whose end has not come.
    partial: Vec<u8>,
    interim: u8,
    /// Whether the request was `HEAD`: the answer has no content.
    to_head: bool,
    with_cookies: bool,
    answer: Answer,
}

impl Reader {
    /// A reader; `with_cookies` says whether anybody wants `Set-Cookie`.
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

    /// Makes ready for the answer to the next request, which is a `HEAD` or not.
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

    /// What was read so far; the whole answer after [`Step::Done`].
    pub fn take(&mut self) -> Answer {
        std::mem::take(&mut self.answer)
    }

    /// Reads the next piece.
    ///
    /// # Errors
    /// This is not HTTP/1.1, or too much of it.
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
        // What is left of the head was copied by `heads`; the larger allocation is kept.
        if self.partial.is_empty() {
            partial.clear();
            self.partial = partial;
        }
        step
    }

    /// The connection has ended: whether that makes the answer whole.
    pub fn end(&self) -> bool {
        matches!(self.state, State::UntilClose)
    }

    /// Reads heads from `bytes`, the first `old` of which came before this piece.
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

    /// Reads a head and says how long it is; `None` where it has not ended. An interim one leaves the state as it is.
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
            // Nobody asked to switch protocols.
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
            // Few names are looked at, and their lengths differ from most others'.
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
                    // Another coding than `chunked` at the end would end with the connection; none is asked for.
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

    /// Reads content; `before` bytes of the piece were used up by heads.
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

/// How the end of the content is told.
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

/// Whether the list has this member, in lower case.
fn has(list: &[u8], member: &[u8]) -> bool {
    let mut members = list.split(|byte| *byte == b',');
    members.any(|one| one.trim_ascii().eq_ignore_ascii_case(member))
}
