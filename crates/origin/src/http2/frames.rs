//! What `h2` does not tell of the frames that come over HTTP/2: how far a head has come, which it keeps until it is
//! complete, and how many small frames of content there were. The only thing looked at in frames is where they end.

use std::mem;

/// Length of the connection preface (RFC 9113 section 3.4).
const PREFACE: usize = 24;

/// Length of the head of a frame (RFC 9113 section 4.1).
const FRAME_HEAD: usize = 9;

/// Types and flags of frames (RFC 9113 sections 6.1, 6.2 and 6.10).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// A frame of less content than this is small, in bytes: `h2` needs more to keep it.
pub(super) const SMALL: usize = 256;

/// The frames of one side, read in pieces of any size.
#[derive(Debug)]
pub struct Frames {
    /// Bytes of the preface still to come.
    preface: usize,
    /// The head of the present frame, and how many bytes of it have come.
    head: [u8; FRAME_HEAD],
    known: usize,
    /// Bytes of the frame after its head that are still to come.
    left: usize,
    /// Whether the frame carries a request's head or its continuation.
    is_head: bool,
    /// Whether a request's head has begun in earlier frames and continues.
    is_open: bool,
    /// Whether the last bytes completed a head.
    has_ended: bool,
    /// The most bytes that a head may take once decoded.
    most: usize,
    /// Small frames of content that were not [taken](Self::take_small) yet.
    small: usize,
}

impl Frames {
    /// Frames of the client of a new connection, whose heads may take `most` bytes.
    pub fn new(most: usize) -> Self {
        Self {
            preface: PREFACE,
            ..Self::of_server(most)
        }
    }

    /// The same of the server, who has no preface.
    pub fn of_server(most: usize) -> Self {
        Self {
            preface: 0,
            head: [0; FRAME_HEAD],
            known: 0,
            left: 0,
            is_head: false,
            is_open: false,
            has_ended: false,
            most,
            small: 0,
        }
    }

    /// Returns how many small frames of content have begun since it was last asked.
    pub fn take_small(&mut self) -> usize {
        mem::take(&mut self.small)
    }

    /// Reads the next bytes. Returns how many bytes are kept of a head that has come only in part; 0 if there is none.
    pub fn go_on(&mut self, bytes: &[u8]) -> usize {
        self.has_ended = false;
        let (_, mut rest) = split(bytes, &mut self.preface);
        while !rest.is_empty() {
            if self.known < FRAME_HEAD {
                rest = self.go_on_with_head(rest);
            } else {
                (_, rest) = split(rest, &mut self.left);
            }
            if self.known == FRAME_HEAD && self.left == 0 {
                self.known = 0;
                if self.is_head {
                    let [.., flags, _, _, _, _] = self.head;
                    self.is_open = flags & END_HEADERS == 0;
                    self.has_ended |= !self.is_open;
                }
            }
        }
        self.kept()
    }

    /// Whether the last bytes completed a head: what is kept belongs to another.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Continues with a frame's head, and returns what follows it.
    fn go_on_with_head<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let mut missing = FRAME_HEAD - self.known;
        let (came, rest) = split(bytes, &mut missing);
        let place = self.head.get_mut(self.known..self.known + came.len());
        if let Some(place) = place {
            place.copy_from_slice(came);
        }
        self.known += came.len();
        if self.known == FRAME_HEAD {
            let [.., kind, flags, _, _, _, _] = self.head;
            let is_small = self.length() < SMALL || flags & PADDED != 0;
            self.small += usize::from(kind == DATA && is_small);
            self.is_head = matches!(kind, HEADERS | CONTINUATION);
            self.left = self.length();
        }
        rest
    }

    fn kept(&self) -> usize {
        if self.is_open {
            // What came of it was decoded, and takes more than its coded bytes (RFC 7541).
            return self.most;
        }
        if self.known < FRAME_HEAD || !self.is_head {
            return 0;
        }
        FRAME_HEAD + self.length() - self.left
    }

    /// Bytes of the present frame after its head.
    fn length(&self) -> usize {
        let [a, b, c, ..] = self.head;
        u32::from_be_bytes([0, a, b, c]) as usize
    }
}

/// Splits off the first `missing` bytes, or as many as there are, and subtracts their number from `missing`.
fn split<'a>(bytes: &'a [u8], missing: &mut usize) -> (&'a [u8], &'a [u8]) {
    let (came, rest) = bytes.split_at(bytes.len().min(*missing));
    *missing -= came.len();
    (came, rest)
}

#[cfg(test)]
mod tests;
