//! The chunked coding (RFC 9112 section 7.1), decoded byte by byte. The decoder holds nothing but its state.

/// Most bytes of the size, extension and trailer lines.
const LONGEST_LINE: u32 = 16 * 1024;

/// The decoder's state.
#[derive(Clone, Copy, Debug)]
enum At {
    /// In a chunk's size, of which this many digits have been read.
    Size { digits: u8 },
    /// After the size, in an extension or white space.
    Extension,
    /// After the size line's CR.
    SizeEnd,
    /// In the chunk's data. `left` is its remaining length.
    Data,
    /// After the data: CR must follow.
    DataCr,
    /// After the data's CR: LF must follow.
    DataLf,
    /// At the beginning of a trailer line or of the end.
    LineBegin,
    /// In a trailer line.
    Trailer,
    /// After the CR of the empty line.
    LastLf,
}

/// A decoder that counts data and finds the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunked {
    at: At,
    left: u64,
    line: u32,
}

/// The result of decoding a piece of input.
pub(super) struct Eaten {
    /// Bytes of the piece that belong to the body's coding.
    pub used: usize,
    /// Bytes of data among them.
    pub data: u64,
    /// Whether the body has ended.
    pub done: bool,
}

impl Chunked {
    pub(super) fn new() -> Self {
        Self {
            at: At::Size { digits: 0 },
            left: 0,
            line: 0,
        }
    }

    /// Reads a piece. `None`: it is not in the chunked coding.
    pub(super) fn eat(&mut self, bytes: &[u8]) -> Option<Eaten> {
        let (mut used, mut data) = (0, 0);
        while let Some(&byte) = bytes.get(used) {
            if let At::Data = self.at {
                let here = usize::try_from(self.left).unwrap_or(usize::MAX);
                let here = here.min(bytes.len() - used);
                (used, data) = (used + here, data + here as u64);
                self.left -= here as u64;
                if self.left == 0 {
                    self.at = At::DataCr;
                }
                continue;
            }
            used += 1;
            if self.step(byte)? {
                let done = true;
                return Some(Eaten { used, data, done });
            }
        }
        let done = false;
        Some(Eaten { used, data, done })
    }

    /// Takes a byte that is not data. Returns whether it was the last one.
    fn step(&mut self, byte: u8) -> Option<bool> {
        self.at = match (self.at, byte) {
            (At::Size { digits }, byte) if byte.is_ascii_hexdigit() => {
                // No more than sixteen digits fit.
                if digits == 16 {
                    return None;
                }
                let digit = char::from(byte).to_digit(16)?;
                self.left = self.left << 4 | u64::from(digit);
                At::Size { digits: digits + 1 }
            }
            (At::Size { digits: 0 }, _) => return None,
            (At::Size { .. } | At::Extension, b'\r') => At::SizeEnd,
            (At::Size { .. }, b';' | b' ' | b'\t') => At::Extension,
            (At::Extension, byte) if byte != b'\n' => self.long(At::Extension)?,
            (At::SizeEnd, b'\n') if self.left == 0 => At::LineBegin,
            (At::SizeEnd, b'\n') => At::Data,
            (At::DataCr, b'\r') => At::DataLf,
            (At::DataLf, b'\n') => At::Size { digits: 0 },
            (At::LineBegin, b'\r') => At::LastLf,
            (At::Trailer, b'\n') => At::LineBegin,
            (At::LineBegin | At::Trailer, byte) if byte != b'\n' => self.long(At::Trailer)?,
            (At::LastLf, b'\n') => return Some(true),
            _ => return None,
        };
        if matches!(self.at, At::Data | At::DataLf) {
            self.line = 0;
        }
        Some(false)
    }

    /// Counts a byte of a line that has no meaning here.
    fn long(&mut self, at: At) -> Option<At> {
        self.line += 1;
        (self.line <= LONGEST_LINE).then_some(at)
    }
}
