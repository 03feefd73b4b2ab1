//! Heads of requests that end where their head ends.

mod encoded;
mod fields;
mod line;

use super::{
    super::{config::Limits, request_head::RequestHead, version::lowered},
    PendingRequest,
    section::{self, Section, Sections},
    write::ReplyContext,
};
use bytes::Bytes;
use http::HeaderMap;
use httparse::Status;
use line::Start;
use origin::spares;
use std::{cell::RefCell, mem::MaybeUninit, rc::Rc};

pub(in crate::listen) use encoded::encoded;
pub use encoded::read_target;
pub(super) use fields::FieldSummary;
pub(in crate::listen) use line::request_line;

/// The most field lines; a head with more is for `hyper` to judge.
const MOST: usize = 64;

/// A request that is only a head.
pub(super) struct Head {
    pub(super) request: RequestHead,
    pub(super) open: PendingRequest,
    /// How many bytes came.
    pub(super) length: usize,
}

/// What bytes begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    /// A head.
    Whole,
    /// A part of a head.
    Partial,
    /// Anything else, or a malformed head.
    Others,
}

/// Reads the head that `bytes` begin with to `into`, where it stays, since it is large to move. Its fields may come
/// from `before`.
pub(super) fn parse(
    bytes: &[u8],
    limits: &Limits,
    before: &RefCell<Sections>,
    into: &mut Option<Head>,
) -> Parsed {
    if let Some((line, rest)) = section::split(bytes) {
        let mut before = before.borrow_mut();
        if let Some((length, kept)) = before.take(rest) {
            *into = again(line, line.len() + length, limits, kept);
            return whole_or_others(into.is_some());
        }
    }
    anew(bytes, limits, into)
}

fn whole_or_others(is_whole: bool) -> Parsed {
    if is_whole {
        Parsed::Whole
    } else {
        Parsed::Others
    }
}

/// Reads a head of `length` bytes whose header section has come before. The section's fields are lost if the request is
/// not one that is answered here.
#[inline]
fn again(
    line: &[u8],
    length: usize,
    limits: &Limits,
    (section, fields): (Rc<Section>, HeaderMap),
) -> Option<Head> {
    let start = line::read(line).or_else(|| parsed(line))?;
    let fits = start.fits(length, section.lines, limits);
    fits.then(|| Head::new(start, length, section, fields))
}

/// Reads a line with the parser.
fn parsed(line: &[u8]) -> Option<Start> {
    let mut request = httparse::Request::new(&mut []);
    // The line alone is never a whole head, but what it says is read.
    match request.parse(line) {
        Ok(Status::Partial) => Start::of(&request),
        Err(httparse::Error::Version) => parsed(&lowered(line)?),
        _ => None,
    }
}

/// Reads a head without the help of earlier ones.
fn anew(bytes: &[u8], limits: &Limits, into: &mut Option<Head>) -> Parsed {
    let mut lines = [const { MaybeUninit::uninit() }; MOST];
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(bytes, &mut lines) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Parsed::Partial,
        Err(httparse::Error::Version) => {
            let lowered = lowered(bytes);
            return lowered.map_or(Parsed::Others, |bytes| anew(&bytes, limits, into));
        }
        Err(_) => return Parsed::Others,
    };
    let came = bytes.get(..length).unwrap_or_default();
    *into = read(&request, came, limits);
    whole_or_others(into.is_some())
}

/// Makes a head of what the parser read.
fn read(request: &httparse::Request<'_, '_>, came: &[u8], limits: &Limits) -> Option<Head> {
    let start = Start::of(request)?;
    let length = came.len();
    if !start.fits(length, request.headers.len(), limits) {
        return None;
    }
    let copy = Copied::of(came);
    let mut read = spares::take();
    let told = fields::read(&copy, request.headers, &mut read)?;
    let first = request.headers.first();
    let at = first.map_or(length, |first| copy.at(first.name.as_bytes()));
    let section = Section::new(copy.bytes, at, request.headers.len(), told);
    Some(Head::new(start, length, section.into(), read))
}

impl Head {
    /// The head, of `length` bytes, with the fields of its section.
    fn new(start: Start, length: usize, section: Rc<Section>, fields: HeaderMap) -> Self {
        let asked = ReplyContext {
            verb: start.verb,
            version: start.version,
            closes: section.told.closes(start.version),
        };
        Self {
            request: RequestHead {
                method: start.method,
                version: start.version,
                target: start.target.clone(),
                fields,
                said: section.told.said,
            },
            open: PendingRequest {
                asked,
                target: start.target,
                section: Some(section),
            },
            length,
        }
    }
}

/// Returns the request that `bytes` begin with and the length of its head, if it may be answered without `hyper`. For
/// tests.
pub fn request(bytes: &[u8], limits: &Limits) -> Option<(RequestHead, usize)> {
    let mut head = None;
    anew(bytes, limits, &mut head);
    head.map(|head| (head.request, head.length))
}

/// A head in memory of its own.
struct Copied<'a> {
    from: &'a [u8],
    bytes: Bytes,
}

impl<'a> Copied<'a> {
    fn of(from: &'a [u8]) -> Self {
        Self {
            from,
            bytes: Bytes::copy_from_slice(from),
        }
    }

    /// Where `part` begins in what was copied.
    fn at(&self, part: &[u8]) -> usize {
        let (from, part) = (self.from.as_ptr().addr(), part.as_ptr().addr());
        part.saturating_sub(from)
    }

    /// The same bytes as `part`; `None` if it is not part of what was copied.
    fn part(&self, part: &[u8]) -> Option<Bytes> {
        let at = self.at(part);
        let end = at.checked_add(part.len())?;
        (end <= self.bytes.len()).then(|| self.bytes.slice(at..end))
    }
}

#[cfg(test)]
mod tests;
