//! The layout of a large file: where its chunks and their checksums lie.
//!
//! The first page has the file's header. Groups follow: a page of checksums, then the [`GROUP`] chunks that they cover,
//! one after the other. So a body lies in long runs, which the kernel sends from the file without a stop, and a chunk
//! can be verified alone.

use super::format::{CHUNK, SUM};

/// Chunks of a group: as many as there are checksums in a page.
const GROUP: u64 = PAGE / SUM as u64;
const PAGE: u64 = 4096;
/// Bytes of a group's chunks.
const RUN: u64 = GROUP * CHUNK as u64;

/// The offset of the checksum of chunk `number`.
pub(super) fn sum_offset(number: u64) -> u64 {
    group(number / GROUP).saturating_add(number % GROUP * SUM as u64)
}

/// The offset of chunk `number`.
pub(super) fn offset(number: u64) -> u64 {
    let before = number % GROUP * CHUNK as u64;
    group(number / GROUP).saturating_add(PAGE + before)
}

/// How many bytes of the body lie together from its byte `at` on.
pub(super) fn run(at: u64) -> u64 {
    RUN - at % RUN
}

/// Bytes of the file that holds a body of `length` bytes.
pub(super) fn file_length(length: u64) -> u64 {
    match length.checked_sub(1) {
        None => PAGE,
        Some(last) => {
            let number = last / CHUNK as u64;
            offset(number).saturating_add(last % CHUNK as u64 + 1)
        }
    }
}

fn group(number: u64) -> u64 {
    number.saturating_mul(PAGE + RUN).saturating_add(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_overlaps_and_what_lies_together_follows(number in 0u64..2_000_000) {
            let (this, next) = (offset(number), offset(number + 1));
            prop_assert_eq!(this % PAGE, 0);
            let end = this + CHUNK as u64;
            prop_assert!(next == end || (next == end + PAGE && sum_offset(number + 1) == end));
            let at = number * CHUNK as u64;
            prop_assert_eq!(run(at) > CHUNK as u64, next == end);
            prop_assert!(sum_offset(number) + SUM as u64 <= this);
            prop_assert!(sum_offset(number) >= PAGE);
            prop_assert_eq!(file_length(at + 1), this + 1);
            prop_assert_eq!(file_length(at + CHUNK as u64), end);
        }
    }
}
