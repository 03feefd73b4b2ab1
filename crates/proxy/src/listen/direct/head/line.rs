//! Request lines. Those that nearly all clients write are read without a parser; the parser reads the others.

use super::{super::verb::Verb, encoded};
use crate::{listen::config::Limits, target::Target};
use http::{Method, Version};

/// The end of a request line after the target, without the last digit of the version.
const PROTOCOL: &[u8] = b" HTTP/1.";

/// What a request's line says.
pub(super) struct Start {
    pub(super) method: Method,
    pub(super) verb: Verb,
    pub(super) version: Version,
    pub(super) target: Target,
    /// Bytes of the target as it came.
    length: usize,
}

impl Start {
    /// The start of a request that is answered here; `None` for any other.
    pub(super) fn of(request: &httparse::Request<'_, '_>) -> Option<Self> {
        let method = Method::from_bytes(request.method?.as_bytes()).ok()?;
        let verb = Verb::of(&method)?;
        let version = match request.version? {
            0 => Version::HTTP_10,
            _ => Version::HTTP_11,
        };
        let written = request.path?;
        let target = match Target::usual(written.as_bytes()) {
            Some(target) => target,
            None => encoded::uri(written)?.into(),
        };
        Some(Self {
            method,
            verb,
            version,
            target,
            length: written.len(),
        })
    }

    /// Whether a head with this length in bytes and this many field lines is within the limits.
    pub(super) fn fits(&self, length: usize, lines: usize, limits: &Limits) -> bool {
        length <= limits.header_size && self.length <= limits.target && lines <= limits.headers
    }
}

/// Returns the request line at the beginning of `input`, up to its line feed, and where it begins: empty lines may come
/// before it (RFC 9112 section 2.2).
pub(in crate::listen) fn request_line(input: &[u8]) -> Option<(usize, &[u8])> {
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let begin = input.iter().position(|byte| !is_end(byte))?;
    let line = input.get(begin..)?.split(|byte| *byte == b'\n').next()?;
    Some((begin, line))
}

/// Reads a whole line (RFC 9112 section 3) whose target has [the usual form](Target::usual).
#[inline]
pub(super) fn read(line: &[u8]) -> Option<Start> {
    let (method, verb, rest) = match line {
        [b'G', b'E', b'T', b' ', rest @ ..] => (Method::GET, Verb::Get, rest),
        [b'H', b'E', b'A', b'D', b' ', rest @ ..] => (Method::HEAD, Verb::Head, rest),
        _ => return None,
    };
    let (rest, version) = match rest {
        [rest @ .., b'1', b'\r', b'\n'] => (rest, Version::HTTP_11),
        [rest @ .., b'0', b'\r', b'\n'] => (rest, Version::HTTP_10),
        _ => return None,
    };
    let target = rest.strip_suffix(PROTOCOL)?;
    Some(Start {
        method,
        verb,
        version,
        length: target.len(),
        target: Target::usual(target)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use httparse::{Request, Status};
    use proptest::prelude::*;

    #[test]
    fn the_usual_is_read_and_the_rest_left() {
        let read = |line: &str| {
            let start = read(line.as_bytes())?;
            Some((start.method, start.version, start.target.to_string()))
        };
        assert_eq!(
            read("GET /a?b=%20 HTTP/1.1\r\n"),
            Some((Method::GET, Version::HTTP_11, "/a?b=%20".to_owned()))
        );
        assert_eq!(
            read("HEAD / HTTP/1.0\r\n"),
            Some((Method::HEAD, Version::HTTP_10, "/".to_owned()))
        );
        for line in [
            "GET / HTTP/1.1\n",
            "GET / HTTP/1.2\r\n",
            "GET  / HTTP/1.1\r\n",
            "GET /  HTTP/1.1\r\n",
            "GET / http/1.1\r\n",
            "get / HTTP/1.1\r\n",
            "POST / HTTP/1.1\r\n",
            "\r\nGET / HTTP/1.1\r\n",
            "GET http://a/ HTTP/1.1\r\n",
            "GET * HTTP/1.1\r\n",
            "GET /a b HTTP/1.1\r\n",
            "GET /\u{e9} HTTP/1.1\r\n",
            "GET /\" HTTP/1.1\r\n",
            "GET /# HTTP/1.1\r\n",
            "GET HTTP/1.1\r\n",
            "",
        ] {
            assert_eq!(read(line), None, "{line:?}");
        }
    }

    proptest! {
        /// What is read is what the parser reads, and the target is a URI.
        #[test]
        fn a_line_is_read_as_the_parser_reads_it(
            line in "(GET|HEAD|get|GE) {0,2}[/a-c?%\"#é*:@{|\\\\]{0,6} {0,2}HTTP/1\\.[0-2]\r?\n",
        ) {
            if let Some(start) = read(line.as_bytes()) {
                let mut parsed = Request::new(&mut []);
                prop_assert!(matches!(parsed.parse(line.as_bytes()), Ok(Status::Partial)));
                prop_assert_eq!(Some(start.method.as_str()), parsed.method);
                prop_assert_eq!(start.version == Version::HTTP_11, parsed.version == Some(1));
                prop_assert_eq!(Some(&*start.target.to_string()), parsed.path);
                prop_assert_eq!(Some(start.length), parsed.path.map(str::len));
            }
        }

        /// Any bytes are read or left, without a panic.
        #[test]
        fn any_bytes(line: Vec<u8>) {
            let _ = read(&line);
        }
    }
}
