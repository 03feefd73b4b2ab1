//! A server's answers in the text protocol.

use crate::{Error, Kind};
use bytes::{Bytes, BytesMut};
use std::fmt;

/// Most bytes in a line: a key of 250 bytes and three numbers, or a server's error.
const LONGEST_LINE: usize = 2048;

/// Largest value accepted from a server, in bytes. Nobody stores larger ones.
const LARGEST: usize = 8 << 20;

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The values that were found.
    Values(Vec<Value>),
    /// Done.
    Stored,
    /// Done, to an existing value.
    Touched,
    /// Not done: the key is there already, or is not.
    NotStored,
    /// Not done: the value has changed.
    Exists,
    /// Not done: the key is not there.
    NotFound,
}

/// Writes an answer in the server's words, without the values themselves.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Values(_) => "VALUE",
            Self::Stored => "STORED",
            Self::Touched => "TOUCHED",
            Self::NotStored => "NOT_STORED",
            Self::Exists => "EXISTS",
            Self::NotFound => "NOT_FOUND",
        })
    }
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The key.
    pub key: Box<[u8]>,
    /// The value.
    pub data: Bytes,
    /// The number of its last change, if it was asked for.
    pub unique: Option<u64>,
}

/// One piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// One of the values; more may follow.
    Value(Value),
    /// The end of the values.
    End,
    /// A complete answer.
    Whole(Answer),
    /// The server's error. The server continues with the next question.
    Failed(Error),
}

/// Writes a piece in the server's words, without the value itself.
impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(_) => f.write_str("VALUE"),
            Self::End => f.write_str("END"),
            Self::Whole(answer) => fmt::Display::fmt(answer, f),
            Self::Failed(error) => fmt::Display::fmt(error, f),
        }
    }
}

/// What came is not from a memcached, or larger than accepted: the connection cannot be used any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(pub Error);

/// Takes one piece from the front of `buffer`, if all of it is there.
///
/// # Errors
/// The front of `buffer` is not a piece.
pub fn take(buffer: &mut BytesMut) -> Result<Option<Piece>, Broken> {
    let front = buffer.get(..LONGEST_LINE).unwrap_or(buffer);
    let Some(end) = front.windows(2).position(|pair| pair == b"\r\n") else {
        if buffer.len() >= LONGEST_LINE {
            return Err(broken("a line without end"));
        }
        return Ok(None);
    };
    let line = front.get(..end).unwrap_or_default();
    if let Some(rest) = line.strip_prefix(b"VALUE ") {
        let (key, length, unique) = header(rest).ok_or_else(|| broken("a value without a size"))?;
        if length > LARGEST {
            // The value is not waited for: further questions use another connection.
            let detail = format!("a value of {length} bytes");
            return Err(Broken(Error::new(Kind::TooLarge, detail)));
        }
        let key = key.into();
        return value(buffer, key, end + 2, length, unique);
    }
    let piece = word(line)?;
    let _ = buffer.split_to(end + 2);
    Ok(Some(piece))
}

fn word(line: &[u8]) -> Result<Piece, Broken> {
    Ok(match line {
        b"END" => Piece::End,
        b"STORED" => Piece::Whole(Answer::Stored),
        b"TOUCHED" => Piece::Whole(Answer::Touched),
        b"NOT_STORED" => Piece::Whole(Answer::NotStored),
        b"EXISTS" => Piece::Whole(Answer::Exists),
        b"NOT_FOUND" => Piece::Whole(Answer::NotFound),
        other => {
            let text = String::from_utf8_lossy(other);
            let Some(complaint) = text.strip_prefix("SERVER_ERROR") else {
                // After `ERROR` and `CLIENT_ERROR` it is unknown which part of the question is taken for the next one.
                return Err(broken(&text));
            };
            let kind = if complaint.contains("too large") {
                Kind::TooLarge
            } else {
                Kind::Full
            };
            Piece::Failed(Error::new(kind, complaint.trim()))
        }
    })
}

/// Reads key, size, and number of the last change.
fn header(line: &[u8]) -> Option<(&[u8], usize, Option<u64>)> {
    let mut words = line.split(|byte| *byte == b' ');
    let number = |words: &mut dyn Iterator<Item = &[u8]>| {
        words
            .next()
            .map(|word| std::str::from_utf8(word).ok()?.parse::<u64>().ok())
    };
    let key = words.next()?;
    let _flags = number(&mut words)??;
    let length = usize::try_from(number(&mut words)??).ok()?;
    let unique = match number(&mut words) {
        Some(unique) => Some(unique?),
        None => None,
    };
    words.next().is_none().then_some((key, length, unique))
}

fn value(
    buffer: &mut BytesMut,
    key: Box<[u8]>,
    begins: usize,
    length: usize,
    unique: Option<u64>,
) -> Result<Option<Piece>, Broken> {
    let ends = begins + length;
    let Some(after) = buffer.get(ends..ends + 2) else {
        buffer.reserve(ends + 2 - buffer.len());
        return Ok(None);
    };
    if after != b"\r\n" {
        return Err(broken("a value longer than its size"));
    }
    // Copied to its own memory because it may be kept for long.
    let data = Bytes::copy_from_slice(buffer.get(begins..ends).unwrap_or_default());
    let _ = buffer.split_to(ends + 2);
    Ok(Some(Piece::Value(Value { key, data, unique })))
}

/// Makes an error of this protocol, with at most 100 characters of the server's own words.
pub fn broken(what: &str) -> Broken {
    let shown: String = what.chars().take(100).collect();
    Broken(Error::new(Kind::Protocol, shown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &[u8]) -> Result<Vec<Piece>, Broken> {
        let mut buffer = BytesMut::from(text);
        let mut pieces = Vec::new();
        while let Some(piece) = take(&mut buffer)? {
            pieces.push(piece);
        }
        Ok(pieces)
    }

    const WORDS: &[&str] = &[
        "VALUE ",
        "k 0 3",
        "\r\n",
        "abc",
        "END",
        " ",
        "99999999999999999999",
        "é",
        "SERVER_ERROR",
    ];

    proptest! {
        #[test]
        fn any_answer_is_read(words in prop::collection::vec(prop::sample::select(WORDS), 0..12)) {
            let text = words.concat();
            let text = text.as_bytes();
            let _ = all(text);
        }

        #[test]
        fn pieces_do_not_depend_on_how_they_arrive(data in prop::collection::vec(any::<u8>(), 0..40), at in 0_usize..80) {
            let mut text = format!("VALUE k 0 {} 7\r\n", data.len()).into_bytes();
            text.extend_from_slice(&data);
            text.extend_from_slice(b"\r\nEND\r\n");
            let value = Value { key: (*b"k").into(), data: data.into(), unique: Some(7) };
            let expected = vec![Piece::Value(value), Piece::End];
            prop_assert_eq!(all(&text), Ok(expected.clone()));
            let (first, second) = text.split_at(at.min(text.len()));
            let mut buffer = BytesMut::from(first);
            let mut pieces = Vec::new();
            while let Some(piece) = take(&mut buffer).expect("a piece") {
                pieces.push(piece);
            }
            buffer.extend_from_slice(second);
            while let Some(piece) = take(&mut buffer).expect("a piece") {
                pieces.push(piece);
            }
            prop_assert_eq!(pieces, expected);
        }
    }

    #[test]
    fn words_are_read() {
        let failed = |kind, text| Ok(vec![Piece::Failed(Error::new(kind, text))]);
        for (text, expected) in [
            (
                "STORED\r\nNOT_STORED\r\n",
                Ok(vec![
                    Piece::Whole(Answer::Stored),
                    Piece::Whole(Answer::NotStored),
                ]),
            ),
            (
                "EXISTS\r\nNOT_FOUND\r\nEN",
                Ok(vec![
                    Piece::Whole(Answer::Exists),
                    Piece::Whole(Answer::NotFound),
                ]),
            ),
            (
                "SERVER_ERROR out of memory storing object\r\n",
                failed(Kind::Full, "out of memory storing object"),
            ),
            (
                "SERVER_ERROR object too large for cache\r\n",
                failed(Kind::TooLarge, "object too large for cache"),
            ),
            ("ERROR\r\n", Err(broken("ERROR"))),
            (
                "CLIENT_ERROR bad data chunk\r\n",
                Err(broken("CLIENT_ERROR bad data chunk")),
            ),
            ("VALUE k 0\r\n", Err(broken("a value without a size"))),
            (
                "VALUE k 0 99999999999\r\n",
                Err(Broken(Error::new(
                    Kind::TooLarge,
                    "a value of 99999999999 bytes",
                ))),
            ),
            ("VALUE k 0 1 2 3\r\n", Err(broken("a value without a size"))),
            (
                "VALUE k 0 1\r\nabc\r\n",
                Err(broken("a value longer than its size")),
            ),
        ] {
            assert_eq!(all(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(
            all(&[b'x'; LONGEST_LINE]),
            Err(broken("a line without end"))
        );
    }
}
