use super::{growing::Places, *};
use crate::Budget;
use proptest::prelude::*;
use rustix::fs::sendfile;
use std::io::{Read, pipe};

const BUDGET: u64 = 64 << 20;

fn kept(byte: u8, length: usize) -> Arc<Extent> {
    open(BUDGET).expect("a file in memory");
    keep(&[vec![byte; length].into()], length).expect("room")
}

proptest! {
    #[test]
    fn what_is_kept_is_read_and_lies_where_it_is_said_to(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..9000), 2..6)) {
        open(BUDGET).expect("a file in memory");
        let all = pieces.concat();
        let pieces: Vec<Bytes> = pieces.into_iter().map(Bytes::from).collect();
        let extent = keep(&pieces, all.len());
        prop_assert_eq!(extent.is_some(), all.len() >= LEAST);
        if let Some(extent) = extent {
            let bytes = extent.bytes();
            prop_assert_eq!(&bytes, &all);
            let part = bytes.slice(100..);
            let (file, offset) = place_of(&part).expect("mapped");
            let mut found = vec![0; part.len()];
            let read = rustix::io::pread(file, &mut found, offset).expect("read");
            prop_assert_eq!(&found[..read], &all[100..]);
        }
    }

    #[test]
    fn an_extent_has_room_for_its_bytes_and_there_are_few_sizes(length in LEAST..MOST) {
        let pages = size(length);
        prop_assert!(pages * PAGE >= length);
        prop_assert!(pages * PAGE < length + length / 4 + PAGE);
        prop_assert!(pages.trailing_zeros() + 3 >= usize::BITS - pages.leading_zeros());
    }
}

proptest! {
    #[test]
    fn what_grows_is_read_as_it_comes_and_counted_until_it_is_whole_or_gone(pieces in prop::collection::vec(1..20_000_usize, 3..12), missing in 0..2_usize) {
        open(BUDGET).expect("a file in memory");
        let budget = Budget::new(BUDGET);
        let length = pieces.iter().sum::<usize>() + missing;
        prop_assume!(takes(length));
        let mut growing = Growing::begin(length, budget.reservation()).expect("a place");
        let (mut all, mut lent) = (Vec::new(), Vec::new());
        for (number, length) in pieces.into_iter().enumerate() {
            let piece = vec![number as u8; length];
            prop_assert_eq!(growing.append(&piece), Some(true));
            let begin = all.len();
            all.extend(piece);
            lent.push((begin, growing.grown().bytes(begin..usize::MAX)));
            let pages = all.len().div_ceil(PAGE) * PAGE;
            prop_assert_eq!(budget.reserved(), pages as u64);
        }
        prop_assert_eq!(growing.append(&vec![0; missing + 1]), None, "more than was announced");
        let whole = growing.finish();
        prop_assert_eq!(whole.is_some(), missing == 0);
        prop_assert_eq!(budget.reserved() == 0, missing == 0, "they still have it");
        if let Some(whole) = whole {
            prop_assert_eq!(&whole.bytes(), &all);
        }
        for (begin, bytes) in &lent {
            prop_assert_eq!(&bytes[..], &all[*begin..begin + bytes.len()]);
        }
        drop(lent);
        prop_assert_eq!(budget.reserved(), 0);
    }
}

/// Addresses are not given back for other sizes, and what grows takes them before it takes memory.
#[test]
fn what_grows_has_no_more_places_than_the_budget() {
    open(BUDGET).expect("a file in memory");
    let places = Places::new(3 * LEAST as u64);
    let take = |bytes| places.take(bytes as u64);
    assert!(take(2 * LEAST) && !take(2 * LEAST) && take(LEAST) && !take(1));
    places.give_back(LEAST as u64);
    assert!(take(LEAST));
    assert!(Growing::begin(LEAST - 1, Budget::new(BUDGET).reservation()).is_none());
}

#[test]
fn what_lies_elsewhere_has_no_place() {
    open(BUDGET).expect("a file in memory");
    assert!(place_of(&[0; 64]).is_none());
    assert!(place_of(&[]).is_none());
    let short = Bytes::from(vec![1; LEAST - 1]);
    assert!(keep(&[short], LEAST - 1).is_none());
    let long = Bytes::from(vec![1; MOST]);
    assert!(keep(&[long], MOST).is_none());
    // It would reach into another extent's place.
    let more = Bytes::from(vec![1; LEAST + PAGE]);
    assert!(keep(&[more], LEAST).is_none());
}

/// What the kernel was told to send is not overwritten by what comes to lie in the same place.
#[test]
fn bytes_on_their_way_stay_what_they_are() {
    const LENGTH: usize = 56_000;
    let first = kept(b'a', LENGTH);
    let bytes = first.bytes();
    let (file, place) = place_of(&bytes).expect("mapped");
    let (mut reader, writer) = pipe().expect("a pipe");
    let sent = sendfile(&writer, file, Some(&mut { place }), LENGTH).expect("sent");
    assert_eq!(sent, LENGTH);
    drop((first, bytes, writer));
    let others: Vec<_> = (0..100).map(|_| kept(b'b', LENGTH)).collect();
    let places = others
        .iter()
        .map(|other| place_of(&other.bytes()).map(|(_, place)| place));
    assert!(
        places.clone().any(|other| other == Some(place)),
        "it is used again"
    );
    let mut arrived = Vec::new();
    reader.read_to_end(&mut arrived).expect("read");
    assert!(arrived == vec![b'a'; LENGTH]);
}

/// No page is large, however the system is set: it says so of each mapping (`nh`).
#[test]
fn no_page_is_a_large_one() {
    let _extent = kept(b'a', 900_000);
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("Linux");
    let (_, ours) = maps.split_once("/memfd:larder").expect("mapped");
    let flags = ours.lines().find(|line| line.starts_with("VmFlags:"));
    assert!(flags.is_some_and(|flags| flags.split(' ').any(|flag| flag == "nh")));
}

#[test]
fn its_length_stays() {
    let _extent = kept(b'a', LEAST);
    let arena = ARENA.get().expect("a file in memory");
    for length in [0, u64::MAX >> 1] {
        let refused = arena.file.set_len(length).expect_err("it is sealed");
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    }
}

#[test]
fn who_reads_on_has_it_and_then_its_memory_is_given_back() {
    const LENGTH: usize = 900_000;
    let extent = kept(b'x', LENGTH);
    let (bytes, weak) = (extent.bytes(), Arc::downgrade(&extent));
    drop(extent);
    assert!(bytes.iter().all(|byte| *byte == b'x') && weak.strong_count() == 1);
    drop(bytes.slice(10..20));
    drop(bytes);
    assert_eq!(weak.strong_count(), 0);
}
