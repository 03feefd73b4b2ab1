//! Encoders and decoders for all codings.

mod decoder;
mod encoder;

pub use decoder::Decoder;
pub use encoder::{Effort, Encoder};

use bytes::BytesMut;
use compression_codecs::core::util::WriteBuffer;
use std::io;

/// The most bytes of output of one step, whatever the decoder or the input.
const STEP: usize = 16 << 10;

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

#[cfg(test)]
mod tests;
