//! Chunks of bodies: compressed if that is worthwhile, and sealed if they have a name of their own.

use crate::{Fields, codec::Malformed};
use bytes::{Buf, BufMut, Bytes};
use http::header;
use lz4_flex::block;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The longest chunk, in bytes of the body, so that it holds up neither a server nor a worker.
pub(super) const LONGEST: usize = 256 << 10;

/// Shorter chunks are not compressed: to decompress them would cost more than the bytes that are saved.
const COMPRESS_FROM: usize = 16 << 10;

/// The bytes of a chunk beside its content.
pub(super) const OVERHEAD: usize = 9;

/// The coding of a chunk's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Plain = 0,
    Lz4 = 1,
}

/// A chunk of a body as the server has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    coding: Coding,
    /// Its length in the body.
    length: u32,
    bytes: Bytes,
}

impl Chunk {
    /// Makes a chunk of at most [`LONGEST`] bytes; `None` if it is longer. With `compress`, it is compressed if that
    /// saves at least a quarter.
    pub(super) fn new(bytes: Bytes, compress: bool) -> Option<Self> {
        if bytes.len() > LONGEST {
            return None;
        }
        let length = u32::try_from(bytes.len()).ok()?;
        if compress && bytes.len() >= COMPRESS_FROM {
            let packed = block::compress(&bytes);
            if packed.len() <= bytes.len() / 4 * 3 {
                let (coding, bytes) = (Coding::Lz4, packed.into());
                return Some(Self {
                    coding,
                    length,
                    bytes,
                });
            }
        }
        let coding = Coding::Plain;
        Some(Self {
            coding,
            length,
            bytes,
        })
    }

    /// Returns the bytes of the body. Uncompressed bytes are not copied.
    pub(super) fn open(self) -> Result<Bytes, Malformed> {
        let length = self.length as usize;
        let opened = match self.coding {
            Coding::Plain => self.bytes,
            Coding::Lz4 => block::decompress(&self.bytes, length)
                .map_err(|_| Malformed)?
                .into(),
        };
        (opened.len() == length).then_some(opened).ok_or(Malformed)
    }

    /// The number of bytes that [`write`](Self::write) writes.
    pub(super) fn size(&self) -> usize {
        OVERHEAD + self.bytes.len()
    }

    /// Appends it to `out`.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.put_u8(self.coding as u8);
        out.put_u32_le(self.length);
        // Chunks are short.
        out.put_u32_le(self.bytes.len() as u32);
        out.put_slice(&self.bytes);
    }

    /// Reads what [`write`](Self::write) wrote. The bytes are a slice of `input`.
    pub(super) fn read(input: &mut Bytes) -> Result<Self, Malformed> {
        let coding = match input.try_get_u8() {
            Ok(0) => Coding::Plain,
            Ok(1) => Coding::Lz4,
            _ => return Err(Malformed),
        };
        let length = input.try_get_u32_le().map_err(|_| Malformed)?;
        let bytes = run(input)?;
        if length as usize > LONGEST {
            return Err(Malformed);
        }
        Ok(Self {
            coding,
            length,
            bytes,
        })
    }

    /// The value of a chunk with a name of its own, the `index`th of `set`.
    pub(super) fn seal(&self, set: u64, index: u32) -> Vec<u8> {
        let mut out = Vec::with_capacity(8 + self.size());
        out.put_u64_le(0);
        self.write(&mut out);
        close(&mut out, seed(set, index));
        out
    }

    /// Reads what [`seal`](Self::seal) wrote for the same set and index.
    pub(super) fn unseal(value: Bytes, set: u64, index: u32) -> Result<Self, Malformed> {
        let mut input = verified(value, seed(set, index))?;
        let chunk = Self::read(&mut input)?;
        input.is_empty().then_some(chunk).ok_or(Malformed)
    }
}

/// Reads bytes with their length (`u32`) before them, as a slice of `input`.
pub(super) fn run(input: &mut Bytes) -> Result<Bytes, Malformed> {
    let length = input.try_get_u32_le().map_err(|_| Malformed)? as usize;
    (length <= input.len())
        .then(|| input.split_to(length))
        .ok_or(Malformed)
}

/// Writes the checksum of the rest into the first eight bytes.
pub(super) fn close(value: &mut [u8], seed: u64) {
    if let Some((sum, rest)) = value.split_first_chunk_mut::<8>() {
        *sum = xxh3_64_with_seed(rest, seed).to_le_bytes();
    }
}

/// Returns what follows the checksum, if that is right.
pub(super) fn verified(mut value: Bytes, seed: u64) -> Result<Bytes, Malformed> {
    let sum = value.try_get_u64_le().map_err(|_| Malformed)?;
    (xxh3_64_with_seed(&value, seed) == sum)
        .then_some(value)
        .ok_or(Malformed)
}

/// The seed of a chunk's checksum: in another set or at another place, the same chunk has another checksum.
fn seed(set: u64, index: u32) -> u64 {
    set ^ u64::from(index).rotate_left(32)
}

/// Whether a body with these fields is worth compressing: text that has no content coding yet.
pub(super) fn is_text(fields: &Fields) -> bool {
    const TEXTS: [&str; 7] = ["json", "javascript", "xml", "html", "svg", "csv", "wasm"];
    let coding = fields.get_bytes(&header::CONTENT_ENCODING);
    let coded = coding.is_some_and(|coding| !coding.eq_ignore_ascii_case(b"identity"));
    let kind = fields.get_bytes(&header::CONTENT_TYPE).unwrap_or_default();
    let kind = String::from_utf8_lossy(kind).to_ascii_lowercase();
    !coded && (kind.starts_with("text/") || TEXTS.iter().any(|text| kind.contains(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, HeaderValue};
    use proptest::prelude::*;

    #[test]
    fn texts_are_compressed_and_what_is_not_worth_it_is_not() {
        let text = Bytes::from("<li>an item of the list</li>".repeat(1000));
        let chunk = Chunk::new(text.clone(), true).expect("short enough");
        assert!(chunk.size() < text.len() / 4);
        assert_eq!(chunk.open(), Ok(text.clone()));
        let plain = Chunk::new(text.clone(), false).expect("short enough");
        assert_eq!(plain.size(), text.len() + OVERHEAD);
        let noise: Bytes = (0..40_000u64)
            .map(|at| xxh3_64_with_seed(&[], at) as u8)
            .collect();
        let chunk = Chunk::new(noise.clone(), true).expect("short enough");
        assert_eq!(chunk.size(), noise.len() + OVERHEAD);
        assert_eq!(Chunk::new(vec![0; LONGEST + 1].into(), true), None);
    }

    #[test]
    fn only_texts_without_a_coding_are_texts() {
        for (kind, coding, expected) in [
            (Some("text/html; charset=utf-8"), None, true),
            (Some("Application/JSON"), None, true),
            (Some("image/svg+xml"), Some("identity"), true),
            (Some("text/css"), Some("br"), false),
            (Some("image/png"), None, false),
            (None, None, false),
        ] {
            let mut fields = HeaderMap::new();
            for (name, value) in [
                (header::CONTENT_TYPE, kind),
                (header::CONTENT_ENCODING, coding),
            ] {
                fields.extend(value.map(|value| (name, HeaderValue::from_static(value))));
            }
            assert_eq!(
                is_text(&Fields::pack(&fields)),
                expected,
                "{kind:?} {coding:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_piece_comes_back_and_only_where_it_belongs(
            part in prop::collection::vec(any::<u8>(), 1..50), times in 1usize..2000, compress: bool, set: u64, index: u32,
        ) {
            let bytes = Bytes::from(part.repeat(times));
            let value: Bytes = Chunk::new(bytes.clone(), compress).expect("short enough").seal(set, index).into();
            let chunk = Chunk::unseal(value.clone(), set, index);
            prop_assert_eq!(chunk.and_then(Chunk::open), Ok(bytes));
            prop_assert_eq!(Chunk::unseal(value.clone(), set, index ^ 1), Err(Malformed));
            prop_assert_eq!(Chunk::unseal(value.slice(..value.len() - 1), set, index), Err(Malformed));
        }

        #[test]
        fn a_flipped_bit_is_found(bytes in prop::collection::vec(any::<u8>(), 1..200), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut value = Chunk::new(bytes.into(), false).expect("short enough").seal(7, 1);
            let at = at.index(value.len());
            value[at] ^= 1 << bit;
            prop_assert_eq!(Chunk::unseal(value.into(), 7, 1), Err(Malformed));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(chunk) = Chunk::read(&mut bytes.into()) {
                let _ = chunk.open();
            }
        }
    }
}
