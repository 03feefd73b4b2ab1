//! Bodies that are written into the arena as they come.

use super::*;

fn of(byte: u8, length: usize) -> Vec<u8> {
    vec![byte; length]
}

/// A body of known length comes to lie where it stays, and its first readers read it there.
#[test]
fn a_body_of_known_length_is_written_once() {
    arena::open(64 << 20).expect("a file in memory");
    let budget = Budget::new(1 << 20);
    let (fill, mut writer) = Fill::begin(budget.reservation());
    let mut reader = fill.reader().expect("fresh");
    writer.announce(Some(100_000));
    assert_eq!(writer.push(&of(1, 60_000)), Pushed::Kept);
    let Poll::Ready(Some(Ok(first))) = next(&mut reader) else {
        panic!("it has come");
    };
    assert!(first == of(1, 60_000) && arena::place_of(&first).is_some());
    assert_eq!(budget.reserved(), 15 * 4096, "its pages");
    assert_eq!(writer.push(&of(2, 40_000)), Pushed::Kept);
    let body = writer.finish();
    let Some(Body::Mapped(extent)) = body else {
        panic!("{body:?}");
    };
    let place = |bytes: &Bytes| arena::place_of(bytes).map(|(_, place)| place);
    assert_eq!(place(&first), place(&extent.bytes()));
    assert_eq!(budget.reserved(), 0, "it is weighed where it is stored");
    let Poll::Ready(Some(Ok(rest))) = next(&mut reader) else {
        panic!("it has come");
    };
    assert!(rest == of(2, 40_000) && next(&mut reader) == Poll::Ready(None));
    assert!(extent.bytes() == [&first[..], &rest[..]].concat());
}

/// A slow client of a body that is not kept has its memory, and the budget counts that.
#[test]
fn what_was_begun_in_the_arena_and_is_not_kept_is_counted_until_the_last_has_let_go() {
    arena::open(64 << 20).expect("a file in memory");
    let budget = Budget::new(80_000);
    let (fill, mut writer) = Fill::begin(budget.reservation());
    let mut reader = fill.reader().expect("fresh");
    writer.announce(Some(100_000));
    assert_eq!(writer.push(&of(1, 50_000)), Pushed::Kept);
    assert_eq!(writer.push(&of(2, 40_000)), Pushed::Spilled, "no room");
    assert_eq!(writer.push(&of(3, 10_000)), Pushed::Spilled);
    assert_eq!(budget.reserved(), 22 * 4096 + 10_000);
    let mut read = Vec::new();
    while let Poll::Ready(Some(Ok(some))) = next(&mut reader) {
        read.push(some);
    }
    assert!(writer.finish().is_none());
    assert!(read.concat() == [of(1, 50_000), of(2, 40_000), of(3, 10_000)].concat());
    assert_eq!(budget.reserved(), 22 * 4096, "on its way to the client");
    drop(read);
    assert_eq!(budget.reserved(), 0);
}

/// What others may refer to is not stored as if nobody did.
#[test]
fn a_body_that_ends_before_its_announced_length_is_copied() {
    arena::open(64 << 20).expect("a file in memory");
    let (fill, mut writer) = begin(1 << 20);
    writer.announce(Some(100_000));
    writer.push(&of(1, 10_000));
    let body = writer.finish();
    drop(fill);
    let Some(Body::Whole(bytes)) = body else {
        panic!("{body:?}");
    };
    assert!(bytes == of(1, 10_000) && arena::place_of(&bytes).is_none() && bytes.is_unique());
}

/// Its first bytes wait for the device, and have room already.
#[test]
fn a_body_that_outgrows_the_budget_goes_on_to_the_device() {
    arena::open(64 << 20).expect("a file in memory");
    let device = device(usize::MAX, 1);
    let budget = Budget::new(1 << 20);
    let mut others = budget.reservation();
    others.hold(600 << 10);
    let (fill, mut writer) = backed(&device, &budget, WINDOW);
    let mut reader = fill.reader().expect("fresh");
    writer.announce(Some(900_000));
    for byte in 0..9 {
        let piece = of(byte, 100_000);
        assert_eq!(writer.push(&piece), Pushed::Kept, "{byte}");
        assert!(room(&mut writer), "{byte}");
    }
    let after = budget.reserved() - others.bytes();
    assert!(after <= WINDOW / 4 + 100_000, "{after}");
    assert!(end(&mut writer) && writer.finish().is_some());
    let whole: Vec<u8> = (0..9).flat_map(|byte| of(byte, 100_000)).collect();
    assert!(read(&mut reader) == whole);
    drop((reader, fill, others));
    assert_eq!(budget.reserved(), 0);
}

/// What it has got counts as read.
#[test]
fn a_reader_gets_no_more_at_once_than_from_a_connection() {
    arena::open(64 << 20).expect("a file in memory");
    let (fill, mut writer) = begin(2 << 20);
    writer.announce(Some(900_000));
    writer.push(&of(1, 800_000));
    let mut reader = fill.reader().expect("fresh");
    let Poll::Ready(Some(Ok(first))) = next(&mut reader) else {
        panic!("it has come");
    };
    assert_eq!((first.len(), fill.slowest()), (128 << 10, 128 << 10));
}
