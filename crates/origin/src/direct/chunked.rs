//! Removes the chunked coding (RFC 9112 section 7.1) from a body. The decoder holds nothing but its state.

use bytes::BytesMut;

/// Most bytes of one chunk's size, with the white space after it.
const LONGEST_SIZE: u8 = 64;

/// Most bytes of extensions and trailers together in one body.
const MOST_SURPLUS: u16 = 16 * 1024;

/// The decoder's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Before the first digit of a chunk's size.
    Begin,
    Size,
    /// In white space after the size.
    Blank,
    Extension,
    /// After the size line's CR.
    SizeLf,
    Data,
    /// After the data.
    DataCr,
    DataLf,
    /// After the last chunk or a trailer: another trailer begins, or the empty line.
    Line,
    TrailerName,
    TrailerValue,
    TrailerLf,
    /// After the empty line's CR.
    LastLf,
    Done,
}

/// Decodes chunks. Extensions and trailers are checked for form and dropped (RFC 9110 section 6.5.1 allows this).
#[derive(Debug)]
pub struct Decoder {
    at: At,
    /// The chunk's size as far as it has been read, then what is left of it.
    left: u64,
    /// Bytes of this size line so far.
    line: u8,
    surplus: u16,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            at: At::Begin,
            left: 0,
            line: 0,
            surplus: 0,
        }
    }
}

impl Decoder {
    /// Whether the body has ended. Nothing more is read then.
    pub fn is_done(&self) -> bool {
        self.at == At::Done
    }

    /// Adds the content in `coded` to `data`, and returns how many bytes were read: all, or those up to the body's end.
    /// `Err` says what is not of this coding. The content before that is in `data`.
    pub fn decode(&mut self, coded: &[u8], data: &mut BytesMut) -> Result<usize, &'static str> {
        let mut rest = coded;
        while self.at != At::Done {
            if self.at == At::Data {
                let here =
                    usize::try_from(self.left).map_or(rest.len(), |left| left.min(rest.len()));
                let Some((content, later)) = rest.split_at_checked(here) else {
                    break;
                };
                data.extend_from_slice(content);
                self.left -= here as u64;
                rest = later;
                if self.left > 0 {
                    break;
                }
                self.at = At::DataCr;
            }
            let Some((&byte, later)) = rest.split_first() else {
                break;
            };
            self.at = self.step(byte)?;
            rest = later;
        }
        Ok(coded.len() - rest.len())
    }

    /// Returns the state after a byte that is not content.
    fn step(&mut self, byte: u8) -> Result<At, &'static str> {
        match (self.at, byte) {
            (At::Begin | At::Size, byte) if byte.is_ascii_hexdigit() => self.digit(byte),
            (At::Begin, _) => Err("a chunk without a size"),
            (At::Size | At::Blank, b' ' | b'\t') => self.long(At::Blank),
            (At::Size | At::Blank, b';') => Ok(At::Extension),
            (At::Size | At::Blank | At::Extension, b'\r') => Ok(At::SizeLf),
            (At::Extension, byte) if is_text(byte) => self.more(At::Extension),
            (At::Size | At::Blank | At::Extension, _) => Err("a chunk's size is malformed"),
            (At::SizeLf, b'\n') => {
                self.line = 0;
                Ok(if self.left == 0 { At::Line } else { At::Data })
            }
            (At::DataCr, b'\r') => Ok(At::DataLf),
            (At::DataLf, b'\n') => Ok(At::Begin),
            (At::DataCr | At::DataLf, _) => Err("a chunk is longer than its size"),
            (At::Line, b'\r') => Ok(At::LastLf),
            (At::Line | At::TrailerName, byte) if is_token(byte) => self.more(At::TrailerName),
            (At::TrailerName, b':') => Ok(At::TrailerValue),
            (At::TrailerValue, b'\r') => Ok(At::TrailerLf),
            (At::TrailerValue, byte) if is_text(byte) => self.more(At::TrailerValue),
            (At::TrailerLf, b'\n') => Ok(At::Line),
            (At::Line | At::TrailerName | At::TrailerValue, _) => Err("a trailer is malformed"),
            (At::LastLf, b'\n') => Ok(At::Done),
            (At::SizeLf | At::TrailerLf | At::LastLf, _) => Err("a line ends without LF"),
            (at @ (At::Data | At::Done), _) => Ok(at),
        }
    }

    fn digit(&mut self, byte: u8) -> Result<At, &'static str> {
        let digit = char::from(byte).to_digit(16).unwrap_or_default();
        let shifted = self.left.checked_mul(16);
        self.left = shifted.ok_or("a chunk's size is too large")? | u64::from(digit);
        self.long(At::Size)
    }

    /// Counts a byte of a chunk's size.
    fn long(&mut self, at: At) -> Result<At, &'static str> {
        self.line += 1;
        match self.line {
            LONGEST_SIZE.. => Err("a chunk's size is too long"),
            _ => Ok(at),
        }
    }

    /// Counts a byte that is dropped.
    fn more(&mut self, at: At) -> Result<At, &'static str> {
        self.surplus += 1;
        match self.surplus {
            MOST_SURPLUS.. => Err("too long chunk extensions or trailers"),
            _ => Ok(at),
        }
    }
}

/// Whether `byte` may be part of a field's value or an extension (RFC 9110 section 5.5).
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// Whether `byte` may be part of a field's name (RFC 9110 section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests;
