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
