//! Encoders and decoders, each over all codings.

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
use std::{fmt, io};
use store::Level;

/// Bytes of output that are made at once: neither a decoder nor a stubborn input makes more in one step.
const STEP: usize = 16 << 10;

/// Windows as powers of two: what is looked back on, and so what encoder and decoder hold. RFC 9659 section 3 lets zstd have 23.
const LEAST_WINDOW: u32 = 16;
const LARGEST_WINDOW: u32 = 22;
const WINDOW_OF_UNKNOWN: u32 = 19;
/// Where each client has an encoder of its own.
const WINDOW_FOR_ONE: u32 = 18;
/// The largest that a decoder of zstd accepts: what RFC 9659 section 3 has a sender keep to.
const WINDOW_OF_OTHERS: u32 = 23;

/// Up to this length the highest levels are worth their time, which grows faster than the length.
const THOROUGH: u64 = 512 << 10;

/// Encodes one body.
pub struct Encoder(Box<dyn EncodeV2 + Send>);

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Encoder")
    }
}

impl Encoder {
    /// An encoder for a body of `length` bytes, where that is known.
    pub fn new(coding: Coding, level: Level, length: Option<u64>) -> Self {
        Self::within(LARGEST_WINDOW, coding, level, length)
    }

    /// As [`new`](Self::new), at the fast level, for one client: there may be as many as there are clients.
    pub fn for_one(coding: Coding, length: Option<u64>) -> Self {
        Self::within(WINDOW_FOR_ONE, coding, Level::Fast, length)
    }

    /// About the bytes of memory that an encoder [for one client](Self::for_one) takes: its window, what it holds of input and
    /// output, and its tables.
    pub fn weight_for_one(length: Option<u64>) -> u64 {
        /// Tables at the fast levels.
        const TABLES: u64 = 256 << 10;
        3 * (1 << window(length).min(WINDOW_FOR_ONE)) + TABLES
    }

    fn within(largest: u32, coding: Coding, level: Level, length: Option<u64>) -> Self {
        let window = window(length).min(largest);
        let thorough = length.is_some_and(|length| length <= THOROUGH);
        let quality = quality(coding, level, thorough);
        Self(match coding {
            Coding::Brotli => {
                let params = EncoderParams::default()
                    .quality(Quality::Precise(quality))
                    .window_size(window.cast_signed());
                let hint = length.and_then(|length| usize::try_from(length).ok());
                let params = params.size_hint(hint.unwrap_or_default());
                Box::new(BrotliEncoder::new(params))
            }
            Coding::Zstd => {
                let window = CParameter::window_log(window);
                Box::new(ZstdEncoder::new_with_params(quality, &[window]))
            }
            Coding::Gzip => {
                let level = flate2::Compression::new(quality.unsigned_abs());
                Box::new(GzipEncoder::new(level.into()))
            }
        })
    }

    /// Takes `input`; what is ready is appended to `out`.
    ///
    /// # Errors
    /// The encoder has failed, for want of memory.
    pub fn push(&mut self, input: &[u8], out: &mut BytesMut) -> io::Result<()> {
        let mut input = PartialBuffer::new(input);
        while !input.unwritten().is_empty() {
            step(out, |out| self.0.encode(&mut input, out))?;
        }
        Ok(())
    }

    /// Appends everything that was taken so far, so that the client can read up to here.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn flush(&mut self, out: &mut BytesMut) -> io::Result<()> {
        while !step(out, |out| self.0.flush(out))? {}
        Ok(())
    }

    /// Appends the rest and the end.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn finish(&mut self, out: &mut BytesMut) -> io::Result<()> {
        while !step(out, |out| self.0.finish(out))? {}
        Ok(())
    }
}

fn window(length: Option<u64>) -> u32 {
    length.map_or(WINDOW_OF_UNKNOWN, |length| {
        let bits = u64::BITS - length.leading_zeros();
        bits.max(LEAST_WINDOW)
    })
}

/// The codings' own words for our levels: the fast ones cost about as much as gzip's first, the high ones what is bearable once.
const fn quality(coding: Coding, level: Level, thorough: bool) -> i32 {
    match (coding, level, thorough) {
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

/// Decodes one body.
pub struct Decoder {
    codec: Box<dyn DecodeV2 + Send>,
    coding: Coding,
    at: At,
    /// Whether the last step ended for want of room: there may be more without further input.
    full: bool,
}

/// Where in its input a decoder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Before the first byte.
    Start,
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
    /// A decoder of `coding`.
    pub fn new(coding: Coding) -> Self {
        Self {
            codec: match coding {
                Coding::Brotli => Box::new(BrotliDecoder::new()),
                Coding::Zstd => {
                    let window = DParameter::window_log_max(WINDOW_OF_OTHERS);
                    Box::new(ZstdDecoder::new_with_params(&[window]))
                }
                Coding::Gzip => Box::new(GzipDecoder::new()),
            },
            coding,
            at: At::Start,
            full: false,
        }
    }

    /// Decodes some of `input`, which is shortened by what was taken, into a bounded piece; empty: more input is needed.
    ///
    /// # Errors
    /// The bytes are not of this coding, or ask for a larger window than a sender may use.
    pub fn step(&mut self, input: &mut Bytes) -> io::Result<Bytes> {
        let mut out = BytesMut::new();
        while out.is_empty() && (self.full || !input.is_empty()) {
            if let Some(first) = input.first() {
                self.begin(*first)?;
            }
            if self.at == At::Padding {
                input.clear();
                break;
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

    /// What `first` begins, where a stream may begin.
    fn begin(&mut self, first: u8) -> io::Result<()> {
        match self.at {
            At::Within | At::Padding => return Ok(()),
            At::End if !follows(self.coding, first) => {
                self.at = At::Padding;
                return Ok(());
            }
            At::End => self.codec.reinit()?,
            At::Start => {}
        }
        // Seven bits that RFC 7932 section 9.1 forbids, and with which a window of up to a gigabyte begins.
        if self.coding == Coding::Brotli && first & 0x7f == 0x11 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.at = At::Within;
        Ok(())
    }

    /// Whether the body may end here. An empty one may: it is none of any coding, and holds nothing.
    pub fn is_whole(&self) -> bool {
        self.at != At::Within
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
