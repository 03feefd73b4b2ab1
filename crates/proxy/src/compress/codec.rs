//! Encoders and decoders, each over all codings.

use super::room::{self, LEAST_WINDOW, Window};
use bytes::{Bytes, BytesMut};
use compression_codecs::{
    BrotliDecoder, BrotliEncoder, DecodeV2, EncodeV2, GzipDecoder, GzipEncoder, ZstdDecoder,
    ZstdEncoder,
    brotli::params::EncoderParams,
    core::{
        Level as Quality,
        util::{PartialBuffer, WriteBuffer},
    },
    zstd::params::{CParameter, DParameter},
};
use rules::coding::Coding;
use std::{fmt, io, sync::Arc};
use store::{Budget, Level, Memory, Reservation};

/// Bytes of output that are made at once: neither a decoder nor a stubborn input makes more in one step.
const STEP: usize = 16 << 10;

/// The largest windows, as powers of two, where one encoder serves all and where each client has its own.
const LARGEST_WINDOW: u32 = 22;
const WINDOW_FOR_ONE: u32 = 18;
const WINDOW_OF_UNKNOWN: u32 = 19;

/// Up to this length the highest levels are worth their time, which grows faster than the length.
const THOROUGH: u64 = 512 << 10;

/// What an encoder is to do.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub coding: Coding,
    pub level: Level,
    /// Whether the body is so short that the highest of the high level is bearable.
    pub thorough: bool,
}

/// Encodes one body. What it takes of memory is counted as in flight as long as it lives.
pub struct Encoder {
    codec: Box<dyn EncodeV2 + Send>,
    _room: Reservation,
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Encoder")
    }
}

impl Encoder {
    /// An encoder for a body of `length` bytes, where that is known, for all who want it so. `None` where `budget` has no room for any.
    /// [`make_room`](store::Memory::make_room) is to be called after it.
    pub fn shared(
        budget: &Arc<Budget>,
        coding: Coding,
        level: Level,
        length: Option<u64>,
    ) -> Option<Self> {
        Self::beside(budget, coding, level, length, 0)
    }

    /// As [`shared`](Self::shared), where `held` bytes were taken for it before; with as many as [`least`](Self::least) says there is
    /// always one.
    pub fn beside(
        budget: &Arc<Budget>,
        coding: Coding,
        level: Level,
        length: Option<u64>,
        held: u64,
    ) -> Option<Self> {
        let best = wanted(length).min(LARGEST_WINDOW);
        Self::within(
            budget,
            best,
            Effort::new(coding, level, length),
            length,
            held,
        )
    }

    /// As [`shared`](Self::shared), at the fast level, for one client: there may be as many as there are clients.
    pub fn for_one(budget: &Arc<Budget>, coding: Coding, length: Option<u64>) -> Option<Self> {
        let best = wanted(length).min(WINDOW_FOR_ONE);
        Self::within(
            budget,
            best,
            Effort::new(coding, Level::Fast, length),
            length,
            0,
        )
    }

    /// Bytes of memory that the smallest encoder at the fast level takes.
    pub fn least(coding: Coding) -> u64 {
        room::of_encoder(Effort::new(coding, Level::Fast, None), LEAST_WINDOW)
    }

    fn within(
        budget: &Arc<Budget>,
        best: u32,
        effort: Effort,
        length: Option<u64>,
        held: u64,
    ) -> Option<Self> {
        let (window, room) = room::take(budget, effort, best, held)?;
        Some(Self {
            codec: encoder(effort, window, length),
            _room: room,
        })
    }

    /// Takes `input`; what is ready is appended to `out`.
    ///
    /// # Errors
    /// The encoder has failed, for want of memory.
    pub fn push(&mut self, input: &[u8], out: &mut BytesMut) -> io::Result<()> {
        let mut input = PartialBuffer::new(input);
        while !input.unwritten().is_empty() {
            step(out, |out| self.codec.encode(&mut input, out))?;
        }
        Ok(())
    }

    /// Appends everything that was taken so far, so that the client can read up to here.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn flush(&mut self, out: &mut BytesMut) -> io::Result<()> {
        while !step(out, |out| self.codec.flush(out))? {}
        Ok(())
    }

    /// Appends the rest and the end.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn finish(&mut self, out: &mut BytesMut) -> io::Result<()> {
        while !step(out, |out| self.codec.finish(out))? {}
        Ok(())
    }
}

impl Effort {
    fn new(coding: Coding, level: Level, length: Option<u64>) -> Self {
        Self {
            coding,
            level,
            thorough: length.is_some_and(|length| length <= THOROUGH),
        }
    }
}

fn encoder(effort: Effort, window: u32, length: Option<u64>) -> Box<dyn EncodeV2 + Send> {
    let quality = quality(effort);
    match effort.coding {
        Coding::Brotli => {
            let params = EncoderParams::default()
                .quality(Quality::Precise(quality))
                .window_size(window.cast_signed());
            let hint = length.and_then(|length| usize::try_from(length).ok());
            let params = params.size_hint(hint.unwrap_or_default());
            Box::new(BrotliEncoder::new(params))
        }
        Coding::Zstd if effort.level == Level::High => {
            // It is not told the length, and would have tables as for the largest body.
            let tables = (window + 1).min(LARGEST_WINDOW);
            let params = [
                CParameter::window_log(window),
                CParameter::hash_log(tables),
                CParameter::chain_log(tables),
            ];
            Box::new(ZstdEncoder::new_with_params(quality, &params))
        }
        Coding::Zstd => {
            let window = CParameter::window_log(window);
            Box::new(ZstdEncoder::new_with_params(quality, &[window]))
        }
        Coding::Gzip => {
            let level = flate2::Compression::new(quality.unsigned_abs());
            Box::new(GzipEncoder::new(level.into()))
        }
    }
}

/// The window, as a power of two, in which all of a body has its place.
fn wanted(length: Option<u64>) -> u32 {
    length.map_or(WINDOW_OF_UNKNOWN, |length| {
        let bits = u64::BITS - length.leading_zeros();
        bits.max(LEAST_WINDOW)
    })
}

/// The codings' own words for our levels: the fast ones cost about as much as gzip's first, the high ones what is bearable once.
const fn quality(effort: Effort) -> i32 {
    match (effort.coding, effort.level, effort.thorough) {
        (Coding::Brotli | Coding::Zstd, Level::Fast, _) => 2,
        (Coding::Gzip, Level::Fast, _) => 3,
        (Coding::Brotli, Level::High, true) => 11,
        (Coding::Brotli, Level::High, false) | (Coding::Gzip, Level::High, _) => 9,
        (Coding::Zstd, Level::High, true) => 19,
        (Coding::Zstd, Level::High, false) => 12,
    }
}

fn step<T>(
    out: &mut BytesMut,
    work: impl FnOnce(&mut WriteBuffer<'_>) -> io::Result<T>,
) -> io::Result<T> {
    let before = out.len();
    out.resize(before + STEP, 0);
    let mut room = WriteBuffer::new_initialized(out.get_mut(before..).unwrap_or_default());
    let done = work(&mut room);
    let written = room.written_len();
    out.truncate(before + written);
    done
}

/// Decodes one body. What it takes of memory is counted as in flight as long as it lives.
pub struct Decoder {
    codec: Box<dyn DecodeV2 + Send>,
    coding: Coding,
    at: At,
    /// The beginning of a stream, where it does not yet tell its window.
    start: Bytes,
    memory: Arc<Memory>,
    room: Reservation,
    /// Whether the last step ended for want of room: there may be more without further input.
    full: bool,
}

/// Where in its input a decoder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Before the first byte.
    Start,
    /// Within the first bytes of a stream, which do not yet tell its window.
    Beginning,
    Within,
    /// A whole stream has been read; another may follow.
    End,
    /// What follows the last stream is no other one: padding, which is passed over as browsers do.
    Padding,
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decoder")
    }
}

impl Decoder {
    /// A decoder of `coding`, of content that begins with `start` as far as that is known. `None` where `memory` has no room for it.
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

    /// Takes room for a window of so many bytes, where it has less. False where there is none.
    fn has_room(&mut self, window: u64) -> bool {
        let more = room::of_decoder(self.coding, window).saturating_sub(self.room.bytes());
        let has_room = self.room.grow(more);
        self.memory.make_room();
        has_room
    }

    /// Decodes some of `input`, which is shortened by what was taken, into a bounded piece; empty: more input is needed.
    ///
    /// # Errors
    /// The bytes are not of this coding, ask for a larger window than a sender may use, or for one that memory has no room for.
    pub fn step(&mut self, input: &mut Bytes) -> io::Result<Bytes> {
        let mut out = BytesMut::new();
        while out.is_empty() && (self.full || !input.is_empty()) {
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
            let mut part = PartialBuffer::new(&**input);
            let done = step(&mut out, |out| self.codec.decode(&mut part, out));
            let taken = part.written_len();
            let is_drained = input.is_empty();
            bytes::Buf::advance(input, taken);
            match done {
                Ok(true) => self.at = At::End,
                Ok(false) => {}
                // To have nothing more to give is an error to some. Where it is a real one, it comes again with more input, or
                // the body never ends.
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

    /// What `input` begins, where a stream may begin. It is kept back until it tells its window.
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

    /// Whether the body may end here. An empty one may: it is none of any coding, and holds nothing.
    pub fn is_whole(&self) -> bool {
        !matches!(self.at, At::Within | At::Beginning)
    }
}

/// Whether a byte after a whole stream begins another (RFC 1952 section 2.2, RFC 8878 section 3).
const fn follows(coding: Coding, first: u8) -> bool {
    match coding {
        Coding::Brotli => false,
        // A frame, or one to be skipped.
        Coding::Zstd => matches!(first, 0x28 | 0x50..=0x5f),
        Coding::Gzip => first == 0x1f,
    }
}

#[cfg(test)]
mod tests;
