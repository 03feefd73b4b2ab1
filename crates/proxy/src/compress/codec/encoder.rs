//! Encoding one body.

use super::step;
use crate::compress::room::{self, LEAST_WINDOW};
use bytes::BytesMut;
use compression_codecs::{
    BrotliEncoder, EncodeV2, GzipEncoder, ZstdEncoder,
    brotli::params::EncoderParams,
    core::{Level as Quality, util::PartialBuffer},
    zstd::params::CParameter,
};
use rules::coding::Coding;
use std::{fmt, io, sync::Arc};
use store::{Budget, Level, Reservation};

/// The largest windows, as powers of two: of an encoder for all clients, of an encoder for one client, and for a body
/// of unknown length.
const LARGEST_WINDOW: u32 = 22;
const WINDOW_FOR_ONE: u32 = 18;
const WINDOW_OF_UNKNOWN: u32 = 19;

/// Up to this length the highest levels are worth their time, which grows faster than the length.
const THOROUGH: u64 = 512 << 10;

/// How an encoder is to work.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The coding to be made.
    pub coding: Coding,
    /// How much time it may take.
    pub level: Level,
    /// Whether the body is so short that the highest of the high level is affordable.
    pub thorough: bool,
}

/// Encodes one body. The memory that it takes is counted as in flight as long as it lives.
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
    /// An encoder for a body of `length` bytes, if that is known, for all clients that want it so; `None` if `budget`
    /// has no room for any. The caller must call [`make_room`](store::Memory::make_room) afterwards.
    pub fn shared(
        budget: &Arc<Budget>,
        coding: Coding,
        level: Level,
        length: Option<u64>,
    ) -> Option<Self> {
        Self::beside(budget, coding, level, length, 0)
    }

    /// As [`shared`](Self::shared), if `held` bytes were taken for it before. With as many as [`least`](Self::least)
    /// returns, it never fails at the fast level.
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
        Some(Self::with(encoder(effort, window, length), room))
    }

    /// An encoder that uses `codec`, and holds `room`.
    pub(super) fn with(codec: Box<dyn EncodeV2 + Send>, room: Reservation) -> Self {
        Self { codec, _room: room }
    }

    /// Takes `input`, and appends what is ready to `out`.
    ///
    /// # Errors
    /// The encoder has failed, for lack of memory.
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

/// The window, as a power of two, into which the whole body fits.
fn wanted(length: Option<u64>) -> u32 {
    length.map_or(WINDOW_OF_UNKNOWN, |length| {
        let bits = u64::BITS - length.leading_zeros();
        bits.max(LEAST_WINDOW)
    })
}

/// The codings' own numbers for our levels. The fast ones cost about as much as gzip's first, the high ones what is
/// affordable once.
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
