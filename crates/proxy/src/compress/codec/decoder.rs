//! Decoding one body.

use super::{STEP, step};
use crate::compress::room::{self, Window};
use bytes::{Bytes, BytesMut};
use compression_codecs::{
    BrotliDecoder, DecodeV2, GzipDecoder, ZstdDecoder, core::util::PartialBuffer,
    zstd::params::DParameter,
};
use rules::coding::Coding;
use std::{fmt, io, sync::Arc};
use store::{Memory, Reservation};

/// Decodes one body. The memory that it takes is counted as in flight as long as it lives.
pub struct Decoder {
    codec: Box<dyn DecodeV2 + Send>,
    coding: Coding,
    at: At,
    /// The beginning of a stream, if it does not show its window yet.
    start: Bytes,
    memory: Arc<Memory>,
    room: Reservation,
    /// Whether the last step ended for lack of room: there may be more output without further input.
    full: bool,
}

/// How much of a turn the end of a stream counts for, in bytes. A stream may be empty, and to begin another takes as
/// long as to decode this many bytes.
const STREAM: usize = 1 << 10;

/// The position of a decoder in its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Before the first byte.
    Start,
    /// Within the first bytes of a stream, which do not show its window yet.
    Beginning,
    Within,
    /// A whole stream has been read; another may follow.
    End,
    /// What follows the last stream is not another one: padding, which is skipped as browsers do.
    Padding,
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decoder")
    }
}

impl Decoder {
    /// A decoder of `coding`, for content that begins with `start` as far as that is known; `None` if `memory` has no
    /// room for it.
    pub fn new(coding: Coding, start: &[u8], memory: &Arc<Memory>) -> Option<Self> {
        let mut decoder = Self {
            codec: match coding {
                Coding::Brotli => Box::new(BrotliDecoder::new()),
                Coding::Zstd => {
                    let window = DParameter::window_log_max(room::LARGEST_OF_ZSTD.ilog2());
                    Box::new(ZstdDecoder::new_with_params(&[window]))
                }
                Coding::Gzip => Box::new(GzipDecoder::new()),
            },
            coding,
            at: At::Start,
            start: Bytes::new(),
            room: memory.budget().reservation(),
            memory: memory.clone(),
            full: false,
        };
        let window = match room::window(coding, start) {
            Window::Of(window) => window,
            Window::Open | Window::Bad => 0,
        };
        decoder.has_room(window).then_some(decoder)
    }

    /// Takes room for a window of this many bytes, unless it has as much. Returns `false` if there is no room.
    fn has_room(&mut self, window: u64) -> bool {
        let more = room::of_decoder(self.coding, window).saturating_sub(self.room.bytes());
        let has_room = self.room.grow(more);
        self.memory.make_room();
        has_room
    }

    /// Decodes some of `input`, from which what was taken is removed, into a bounded piece. `turn` limits the work, in
    /// bytes of input, and is lowered by what was done. An empty piece means that more input is needed, or the turn is
    /// over.
    ///
    /// # Errors
    /// The bytes are not of this coding, or need a larger window than a sender may use or memory has room for.
    pub fn step(&mut self, input: &mut Bytes, turn: &mut usize) -> io::Result<Bytes> {
        let mut out = BytesMut::new();
        while out.is_empty() && *turn > 0 && (self.full || !input.is_empty()) {
            if !input.is_empty() {
                self.begin(input)?;
            }
            match self.at {
                At::Padding => {
                    input.clear();
                    break;
                }
                At::Beginning => break,
                At::Start | At::Within | At::End => {}
            }
            let mut part = PartialBuffer::new(input.get(..*turn).unwrap_or(input));
            let done = step(&mut out, |out| self.codec.decode(&mut part, out));
            let taken = part.written_len();
            let is_drained = input.is_empty();
            bytes::Buf::advance(input, taken);
            *turn = turn.saturating_sub(taken);
            match done {
                Ok(true) => {
                    self.at = At::End;
                    *turn = turn.saturating_sub(STREAM);
                }
                Ok(false) => {}
                // Some decoders return an error when they have nothing more to give. A real error comes again with more
                // input, or the body never ends.
                Err(_) if is_drained => {}
                Err(error) => return Err(error),
            }
            let is_ended = self.at == At::End;
            self.full = out.len() == STEP && !is_ended;
            if taken == 0 && out.is_empty() && !is_drained && !is_ended {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        Ok(out.freeze())
    }

    /// Begins a stream with `input` if one may begin. The input is kept back until it shows the window.
    fn begin(&mut self, input: &mut Bytes) -> io::Result<()> {
        match self.at {
            At::Within | At::Padding => return Ok(()),
            At::End
                if !input
                    .first()
                    .is_some_and(|first| follows(self.coding, *first)) =>
            {
                self.at = At::Padding;
                return Ok(());
            }
            At::End => self.codec.reinit()?,
            At::Start => {}
            At::Beginning => {
                let start = std::mem::take(&mut self.start);
                *input = [&*start, &**input].concat().into();
            }
        }
        match room::window(self.coding, input) {
            Window::Of(window) if self.has_room(window) => self.at = At::Within,
            Window::Of(_) => return Err(io::ErrorKind::OutOfMemory.into()),
            Window::Open => {
                self.start = std::mem::take(input);
                self.at = At::Beginning;
            }
            Window::Bad => return Err(io::ErrorKind::InvalidData.into()),
        }
        Ok(())
    }

    /// Whether the body may end here. An empty body may: it is of no coding, and has no content.
    pub fn is_whole(&self) -> bool {
        !matches!(self.at, At::Within | At::Beginning)
    }
}

/// Whether a byte after a whole stream begins another (RFC 1952 section 2.2, RFC 8878 section 3).
const fn follows(coding: Coding, first: u8) -> bool {
    match coding {
        Coding::Brotli => false,
        // A frame, or a skippable frame.
        Coding::Zstd => matches!(first, 0x28 | 0x50..=0x5f),
        Coding::Gzip => first == 0x1f,
    }
}
