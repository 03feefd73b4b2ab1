use super::{super::piece::joined, *};
use proptest::prelude::*;
use std::sync::Arc;

proptest! {
    #[test]
    fn combined_parts_never_hold_a_wrong_byte(parts in prop::collection::vec((0u64..90, 1u64..40), 1..10), first in 0u64..100, len in 1u64..50) {
        let all: Vec<u8> = (0..130u8).collect();
        let mut held: Option<Parts> = None;
        for (at, len) in parts {
            let bytes = Bytes::copy_from_slice(&all[at as usize..(at + len) as usize]);
            let new = Parts::new(130, at, bytes);
            held = Some(held.map_or(new.clone(), |old| old.combined(&new, u64::MAX)));
        }
        let held = held.expect("at least one");
        prop_assert!(Parts::from_pieces(130, held.pieces().to_vec()).is_some());
        let span = Span { first, last: (first + len - 1).min(129) };
        if let Some(slices) = Body::Parts(Arc::new(held.clone())).slice(span) {
            prop_assert_eq!(joined(&slices), &all[first as usize..=span.last as usize]);
        } else {
            prop_assert!(!held.spans().contains(span));
        }
    }
}

/// The byte at each offset, for either of two parts.
const BYTES: [fn(usize) -> u8; 2] = [|at| at as u8, |at| 128 + at as u8];

fn several(of: usize, lengths: &[(usize, usize)]) -> Parts {
    let mut at = 0;
    let pieces = lengths.iter().map(|(gap, length)| {
        let first = at + gap;
        at = first + length;
        let bytes: Vec<u8> = (first..at).map(BYTES[of]).collect();
        (first as u64, Bytes::from(bytes).into())
    });
    Parts::from_pieces(120, pieces.collect()).expect("sorted and apart")
}

fn byte(parts: &Parts, at: usize) -> Option<u8> {
    let (first, last) = (at as u64, at as u64);
    let slices = parts.slice(Span { first, last })?;
    joined(&slices).first().copied()
}

proptest! {
    #[test]
    fn each_byte_is_of_the_newer_that_has_it_and_else_of_the_older(
        older in prop::collection::vec((0_usize..6, 0_usize..6), 1..12),
        newer in prop::collection::vec((0_usize..6, 0_usize..6), 1..12),
    ) {
        let (older, newer) = (several(0, &older), several(1, &newer));
        let combined = older.combined(&newer, u64::MAX);
        prop_assert!(Parts::from_pieces(120, combined.pieces().to_vec()).is_some());
        for at in 0..120 {
            prop_assert_eq!(byte(&combined, at), byte(&newer, at).or_else(|| byte(&older, at)));
        }
    }
}

#[test]
fn parts_are_sorted_apart_and_within_the_length() {
    let piece = |first: u64, length: usize| (first, BodyPiece::from(Bytes::from(vec![0; length])));
    for (parts, good) in [
        (vec![piece(0, 4), piece(4, 4), piece(9, 1)], true),
        (vec![], true),
        (vec![piece(0, 4), piece(3, 2)], false),
        (vec![piece(4, 2), piece(0, 2)], false),
        (vec![piece(8, 3)], false),
        (vec![piece(u64::MAX, 1)], false),
    ] {
        assert_eq!(
            Parts::from_pieces(10, parts.clone()).is_some(),
            good,
            "{parts:?}"
        );
    }
}

/// Small pieces, and some that lie in the arena.
#[test]
fn who_reads_in_order_leaves_few_pieces() {
    crate::arena::open(64 << 20).expect("a file in memory");
    for (length, step) in [(1_000_000, 1000), (20_000_000, 50_000)] {
        let all: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        let piece = |first: usize| {
            let bytes = Bytes::copy_from_slice(&all[first..first + step]);
            let kept = Body::kept(vec![bytes], step).into_piece();
            Parts::new(length as u64, first as u64, kept.expect("one piece"))
        };
        let mut held = piece(0);
        for first in (step..length).step_by(step) {
            held = held.combined(&piece(first), u64::MAX);
            let pieces = held.pieces().len();
            assert!(pieces < 50, "{first}: {pieces}");
        }
        let span = Span {
            first: 0,
            last: length as u64 - 1,
        };
        let slices = held.slice(span).expect("nothing is missing");
        assert_eq!(joined(&slices), all);
        assert!(held.whole().is_some());
    }
}

#[test]
fn what_is_too_much_goes_where_it_is_farthest_from_the_newest() {
    let part = |first: u64| Parts::new(10_000, first, Bytes::from(vec![0; 100]));
    let firsts = |parts: &Parts| -> Vec<u64> {
        let all = parts.pieces().iter();
        all.map(|(first, _)| *first).collect()
    };
    let mut held = part(200);
    for first in [600, 1000, 1400] {
        held = held.combined(&part(first), 300);
    }
    assert_eq!(firsts(&held), [600, 1000, 1400]);
    assert_eq!(firsts(&held.combined(&part(0), 300)), [0, 600, 1000]);
    assert_eq!(firsts(&held.combined(&part(950), 300)), [600, 950, 1050]);
    let mut held = Parts::new(1_000_000, 0, Bytes::from(vec![0; 100]));
    for at in 1..=MOST_PIECES as u64 {
        held = held.combined(
            &Parts::new(1_000_000, at * 200, Bytes::from(vec![0; 100])),
            u64::MAX,
        );
    }
    assert_eq!(held.pieces().len(), MOST_PIECES);
    assert!(!firsts(&held).contains(&0));
}

#[test]
fn parts_without_a_gap_are_a_whole() {
    let one = Parts::new(6, 0, Bytes::from("abc"));
    assert!(one.whole().is_none() && !one.is_complete());
    let both = one.combined(&Parts::new(6, 3, Bytes::from("def")), 6);
    assert!(both.is_complete());
    let Some(Body::Whole(bytes)) = both.whole() else {
        panic!("whole")
    };
    assert_eq!(bytes, "abcdef");
}
