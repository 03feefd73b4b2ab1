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
    zstd::params::CParameter,
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
        let window = length.map_or(WINDOW_OF_UNKNOWN, |length| {
            let bits = u64::BITS - length.leading_zeros();
            bits.clamp(LEAST_WINDOW, LARGEST_WINDOW)
        });
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
    /// Whether a whole stream has been read; another may follow (RFC 1952 section 2.2, RFC 8878 section 3).
    ended: bool,
    /// Whether the last step ended for want of room: there may be more without further input.
    full: bool,
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
                Coding::Zstd => Box::new(ZstdDecoder::new()),
                Coding::Gzip => Box::new(GzipDecoder::new()),
            },
            ended: false,
            full: false,
        }
    }

    /// Decodes some of `input`, which is shortened by what was taken, into a bounded piece; empty: more input is needed.
    ///
    /// # Errors
    /// The bytes are not of this coding.
    pub fn step(&mut self, input: &mut Bytes) -> io::Result<Bytes> {
        let mut out = BytesMut::new();
        while out.is_empty() && (self.full || !input.is_empty()) {
            if self.ended {
                self.codec.reinit()?;
                self.ended = false;
            }
            let mut part = PartialBuffer::new(&**input);
            let done = step(&mut out, |out| self.codec.decode(&mut part, out));
            let taken = part.written_len();
            let is_drained = input.is_empty();
            bytes::Buf::advance(input, taken);
            match done {
                Ok(ended) => self.ended = ended,
                // To have nothing more to give is an error to some. Where it is a real one, it comes again with more input, or
                // the body never ends.
                Err(_) if is_drained => {}
                Err(error) => return Err(error),
            }
            self.full = out.len() == STEP && !self.ended;
            if taken == 0 && out.is_empty() && !is_drained && !self.ended {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        Ok(out.freeze())
    }

    /// Whether the body may end here.
    pub fn is_whole(&self) -> bool {
        self.ended
    }
}

#[cfg(test)]
mod tests;
