//! What is under a name: the variants of one cache key, newest first. Each has its body beside it or, if that is large,
//! in chunks under names of their own.
//!
//! Numbers are little-endian:
//!
//! ```text
//! u64 checksum of all that follows | u8 version | u8 count | for each:
//!     u64 variant | u64, u64 position | u64 worth until (ms) | u32 length, head | u8 place, and
//!         0: u8 coding, u32 length in the body, u32 length, bytes
//!         1: u64 set, u32 chunks
//! ```

use super::chunk::{self, Chunk};
use crate::{Stored, codec::Malformed, purge::Position};
use bytes::{Buf, BufMut, Bytes};
use rules::time::Time;

/// A record of another version is dropped.
const VERSION: u8 = 1;

/// The most variants of a record. The oldest are dropped.
const MOST_VARIANTS: usize = 16;

/// The longest body beside its head, in bytes, if the record must have room for other variants.
pub(super) const BESIDE_OTHERS: usize = 32 << 10;

/// The longest record, in bytes, which any server takes. If variants take more, the oldest are dropped.
pub(super) const LONGEST: usize = 900 << 10;

/// The most bytes that a variant takes beside its head and body.
const OVERHEAD: usize = 64;

/// One variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Which requests it answers: a hash of the nominated fields and their values; zero if it answers any.
    pub(super) variant: u64,
    /// The position in the shared log up to which no purge covers it.
    pub(super) position: Position,
    /// When it is worth nothing any more.
    pub(super) until: Time,
    /// The head as `codec` writes it.
    pub(super) head: Bytes,
    pub(super) place: BodyLocation,
}

/// Where a body is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BodyLocation {
    /// In the record.
    Beside(Chunk),
    /// In chunks under names of their own.
    Apart(ChunkSet),
}

/// The chunks of one body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkSet {
    /// What their names have in common, and no other set's.
    pub(super) id: u64,
    /// How many there are.
    pub(super) count: u32,
}

impl BodyLocation {
    /// The chunks, if the body is apart.
    pub(super) fn chunks(&self) -> Option<ChunkSet> {
        match *self {
            Self::Beside(_) => None,
            Self::Apart(set) => Some(set),
        }
    }
}

impl Entry {
    /// Whether it answers any request that an entry of `variant` answers too.
    pub(super) fn answers_for(&self, variant: u64) -> bool {
        self.variant == variant || self.variant == 0 || variant == 0
    }

    fn size(&self) -> usize {
        let beside = match &self.place {
            BodyLocation::Beside(chunk) => chunk.size(),
            BodyLocation::Apart(_) => 0,
        };
        OVERHEAD + self.head.len() + beside
    }

    fn read(input: &mut Bytes) -> Result<Self, Malformed> {
        let mut number = || input.try_get_u64_le().map_err(|_| Malformed);
        let variant = number()?;
        let position = Position(number()?, number()?);
        let until = Time::from_millis(number()?);
        let head = chunk::run(input)?;
        let place = match input.try_get_u8() {
            Ok(0) => BodyLocation::Beside(Chunk::read(input)?),
            Ok(1) => BodyLocation::Apart(ChunkSet {
                id: input.try_get_u64_le().map_err(|_| Malformed)?,
                count: input.try_get_u32_le().map_err(|_| Malformed)?,
            }),
            _ => return Err(Malformed),
        };
        Ok(Self {
            variant,
            position,
            until,
            head,
            place,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.put_u64_le(self.variant);
        out.put_u64_le(self.position.0);
        out.put_u64_le(self.position.1);
        out.put_u64_le(self.until.as_millis());
        // The length of a record fits easily.
        out.put_u32_le(self.head.len() as u32);
        out.put_slice(&self.head);
        match &self.place {
            BodyLocation::Beside(chunk) => {
                out.put_u8(0);
                chunk.write(out);
            }
            BodyLocation::Apart(set) => {
                out.put_u8(1);
                out.put_u64_le(set.id);
                out.put_u32_le(set.count);
            }
        }
    }
}

/// The hash that tells the variants of a key apart.
pub(super) fn variant(stored: &Stored) -> u64 {
    let variant = stored.variant.as_ref();
    variant.map_or(0, |variant| variant.digest().max(1))
}

/// Returns `new`, and then those of `old` that it does not replace and that are still worth something at `now`, as far
/// as there is room.
pub(super) fn joined(new: Entry, old: Vec<Entry>, now: Time) -> Vec<Entry> {
    let mut size = new.size();
    let stays: Vec<_> = old
        .into_iter()
        .filter(|old| old.variant != new.variant && old.until > now)
        .take_while(|old| {
            size += old.size();
            size <= LONGEST
        })
        .take(MOST_VARIANTS - 1)
        .collect();
    std::iter::once(new).chain(stays).collect()
}

/// Writes a record; `None` if a server might not take it.
pub(super) fn write(entries: &[Entry]) -> Option<Vec<u8>> {
    let size = 10 + entries.iter().map(Entry::size).sum::<usize>();
    if size > LONGEST {
        return None;
    }
    let mut out = Vec::with_capacity(size);
    out.put_u64_le(0);
    out.put_u8(VERSION);
    out.put_u8(u8::try_from(entries.len()).ok()?);
    for entry in entries {
        entry.write(&mut out);
    }
    chunk::close(&mut out, 0);
    Some(out)
}

/// Reads a record. Heads and bodies are slices of it.
///
/// # Errors
/// The value is not what [`write()`] wrote.
pub(super) fn read(value: Bytes) -> Result<Vec<Entry>, Malformed> {
    let mut input = chunk::verified(value, 0)?;
    if input.try_get_u8() != Ok(VERSION) {
        return Err(Malformed);
    }
    let count = input.try_get_u8().map_err(|_| Malformed)?;
    let entries = (0..count).map(|_| Entry::read(&mut input));
    let entries = entries.collect::<Result<Vec<_>, _>>()?;
    input.is_empty().then_some(entries).ok_or(Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(variant: u64, until: u64, head: &[u8], body: Option<&[u8]>) -> Entry {
        let beside = body.and_then(|body| Chunk::new(Bytes::copy_from_slice(body), true));
        Entry {
            variant,
            position: Position(variant, until),
            until: Time::from_millis(until),
            head: Bytes::copy_from_slice(head),
            place: beside.map_or(
                BodyLocation::Apart(ChunkSet {
                    id: until,
                    count: 3,
                }),
                BodyLocation::Beside,
            ),
        }
    }

    #[test]
    fn the_newest_comes_first_and_takes_the_place_of_its_like() {
        let now = Time::from_millis(10);
        let old = vec![
            entry(1, 20, b"a", None),
            entry(2, 20, b"b", None),
            entry(3, 5, b"late", None),
        ];
        let new = joined(entry(2, 30, b"c", None), old, now);
        let heads: Vec<_> = new.iter().map(|entry| &entry.head[..]).collect();
        assert_eq!(heads, [b"c", b"a"]);
    }

    #[test]
    fn a_record_has_a_bound() {
        let (head, body) = (vec![0; 40 << 10], vec![7; BESIDE_OTHERS]);
        let mut all = Vec::new();
        for variant in 1..100 {
            all = joined(
                entry(variant, 20, &head, Some(&body)),
                all,
                Time::from_millis(0),
            );
            assert!(write(&all).is_some());
        }
        assert!(all.len() > 8 && all[0].variant == 99);
        all = (1..100).fold(Vec::new(), |all, variant| {
            joined(entry(variant, 20, b"", None), all, Time::from_millis(0))
        });
        assert_eq!(all.len(), MOST_VARIANTS);
    }

    fn any_entry() -> impl Strategy<Value = Entry> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..60);
        let all = (
            any::<u64>(),
            any::<u64>(),
            bytes(),
            prop::option::of(bytes()),
        );
        all.prop_map(|(variant, until, head, body)| entry(variant, until, &head, body.as_deref()))
    }

    proptest! {
        #[test]
        fn records_come_back(entries in prop::collection::vec(any_entry(), 0..8)) {
            let value = write(&entries).expect("short enough");
            prop_assert_eq!(read(value.into()), Ok(entries));
        }

        #[test]
        fn what_was_cut_or_flipped_is_no_record(entries in prop::collection::vec(any_entry(), 1..4), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut value = write(&entries).expect("short enough");
            let at = at.index(value.len());
            prop_assert!(read(Bytes::copy_from_slice(&value[..at])).is_err());
            value[at] ^= 1 << bit;
            prop_assert!(read(value.into()).is_err());
        }

        /// Behind a valid checksum, as if somebody had forged the record.
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut value = [&[0; 8][..], &[VERSION], &bytes].concat();
            chunk::close(&mut value, 0);
            let _ = read(value.into());
        }
    }

    /// Of another version they would lead the fuzz target nowhere.
    #[test]
    fn the_seeds_of_the_fuzz_target_are_records() {
        for seed in [
            &include_bytes!("../../../../fuzz/seeds/record/apart")[..],
            include_bytes!("../../../../fuzz/seeds/record/beside"),
            include_bytes!("../../../../fuzz/seeds/record/parts"),
        ] {
            // A chunk's content follows an empty line.
            let end = seed.windows(2).position(|pair| pair == b"\n\n");
            let record = &seed[..end.unwrap_or(seed.len())];
            let sum = xxhash_rust::xxh3::xxh3_64_with_seed(record, 0);
            let value = [&sum.to_le_bytes()[..], record].concat();
            for entry in read(value.into()).expect("a record") {
                assert!(crate::codec::Head::decode(&entry.head).is_ok());
            }
        }
    }
}
