//! Verified bytes are sent directly from their file, and no others are.

use super::*;
use rustix::io::Errno;
use std::{
    io::{self, Read as _},
    os::unix::net::UnixStream,
    path::Path,
    thread,
};

/// The body kept under the key of `number`, left on disk.
fn left(disk: &Disk, number: u64) -> OnDisk {
    let key = key(number);
    let found = match disk.find(&key, Bodies::Left) {
        DiskLookup::Here(found) => found,
        DiskLookup::Nothing => panic!("kept"),
        // The record is not in the page cache. What a thread reads comes with its body.
        DiskLookup::Wait(_) => return left_after_reading(disk, number),
    };
    let [found] = &found[..] else { panic!("one") };
    let Body::Disk(bytes) = &found.body else {
        panic!("left on disk")
    };
    bytes.clone()
}

fn left_after_reading(disk: &Disk, number: u64) -> OnDisk {
    find(disk, &key(number));
    left(disk, number)
}

/// Sends everything to a socket, directly from the file where possible. Returns what arrives.
fn sent(bytes: &OnDisk) -> Vec<u8> {
    let (to, mut from) = UnixStream::pair().expect("a pair");
    let reads = thread::spawn(move || {
        let mut all = Vec::new();
        from.read_to_end(&mut all).expect("read");
        all
    });
    let mut reader = bytes.reader();
    while let Some(part) = wait(|context| reader.poll_part(context)) {
        match part.expect("good") {
            Part::Bytes(bytes) => io::Write::write_all(&mut &to, &bytes).expect("written"),
            Part::File(mut span) => {
                while !span.is_empty() {
                    span.send_to(&to).expect("sent");
                }
            }
        }
    }
    drop(to);
    reads.join().expect("read to the end")
}

#[test]
fn what_was_read_once_is_sent_from_its_file_until_the_next_start() {
    let dir = Dir::new();
    let sizes = [21_000, 64 << 10, 100_000, 200_001, 1_500_000];
    for round in 0..2 {
        let disk = dir.open();
        disk.flush();
        for (number, size) in (1..).zip(sizes) {
            let all = noise(number, size);
            if round == 0 {
                put(&disk, number, size);
            }
            let (_, in_file) = parts(&left(&disk, number));
            assert_eq!(
                in_file, 0,
                "{size}: nobody has verified it in round {round}"
            );
            disk.flush();
            let bytes = left(&disk, number);
            assert_eq!(parts(&bytes), (0, size as u64), "{size}");
            assert!(sent(&bytes) == all, "{size}");
            let last = size as u64 - 2;
            let part = bytes.slice(Span { first: 3, last }).expect("within");
            assert!(sent(&part) == all[3..=last as usize], "{size}");
        }
    }
}

#[test]
fn small_bodies_come_with_their_heads() {
    let dir = Dir::new();
    let disk = dir.open();
    put(&disk, 1, 16 << 10);
    let found = match disk.find(&key(1), Bodies::Left) {
        DiskLookup::Here(found) => found,
        _ => find(&disk, &key(1)),
    };
    assert!(matches!(&found[0].body, Body::Whole(bytes) if bytes.len() == 16 << 10));
}

#[test]
fn a_damaged_chunk_is_never_handed_on_and_the_good_ones_before_it_are() {
    let dir = Dir::new();
    let disk = dir.open();
    put(&disk, 1, 200_000);
    let segment = dir.files("segment").pop().expect("a segment");
    let mut bytes = std::fs::read(&segment).expect("read");
    let body = noise(1, 200_000);
    let at = bytes
        .windows(64)
        .position(|piece| piece == &body[150_000..150_064]);
    bytes[at.expect("there")] ^= 1;
    std::fs::write(&segment, bytes).expect("written");
    let mut reader = left(&disk, 1).reader();
    let mut good = Vec::new();
    let end = loop {
        match wait(|context| reader.poll_part(context)) {
            Some(Ok(Part::Bytes(bytes))) => good.extend_from_slice(&bytes),
            Some(Ok(Part::File(_))) => panic!("not verified"),
            end => break end,
        }
    };
    assert!(matches!(end, Some(Err(Failed))));
    assert!(good == body[..128 << 10]);
}

#[test]
fn a_file_that_ends_early_is_an_error_and_not_the_end() {
    let dir = Dir::new();
    let disk = dir.open();
    put(&disk, 1, 200_000);
    read(&left(&disk, 1)).expect("good");
    disk.flush();
    let bytes = left(&disk, 1);
    let mut reader = bytes.reader();
    let part = wait(|context| reader.poll_part(context));
    let Some(Ok(Part::File(mut span))) = part else {
        panic!("verified")
    };
    for path in dir.files("segment") {
        let file = std::fs::OpenOptions::new().write(true).open(path);
        file.expect("opened").set_len(70_000).expect("cut");
    }
    let (to, _from) = UnixStream::pair().expect("a pair");
    to.set_nonblocking(true).expect("set");
    let end = loop {
        match span.send_to(&to) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    assert!(bytes.is_broken());
}

/// While the device is left alone after failures, nothing is read, which says nothing of what was to be read.
#[test]
fn what_was_not_read_while_the_device_rested_is_read_after_that() {
    const LENGTHS: [usize; 2] = [200_000, 3 << 20];
    let dir = Dir::new();
    let disk = dir.open();
    let bodies: Vec<_> = LENGTHS
        .into_iter()
        .zip(0..)
        .map(|(length, number)| {
            put(&disk, number, length);
            left(&disk, number)
        })
        .collect();
    let health = &disk.shared.device.health;
    while health.may(Doing::Reading) {
        health.failed(Doing::Reading, &dir.0, &Errno::IO.into());
    }
    for bytes in &bodies {
        assert!(bytes.is_broken() && read(bytes).is_err());
    }
    health.worked(Doing::Reading);
    for ((bytes, length), number) in bodies.iter().zip(LENGTHS).zip(0..) {
        assert!(!bytes.is_broken(), "{length}");
        assert!(read(bytes).expect("read") == noise(number, length));
    }
}

/// A response that memory holds without its body does not keep an evicted segment.
#[test]
fn what_makes_room_is_read_to_its_end_by_who_began_and_by_nobody_else() {
    const LENGTH: usize = 40_000;
    let dir = Dir::new();
    let disk = dir.open_with(8 << 20);
    put(&disk, 0, LENGTH);
    let bytes = left(&disk, 0);
    let mut begun = bytes.reader();
    assert!(!bytes.is_gone() && !bytes.is_broken());
    let mut next = 1;
    while !bytes.is_gone() {
        put(&disk, next, LENGTH);
        next += 1;
    }
    assert!(bytes.is_broken() && Body::Disk(bytes).is_gone());
    let mut all = Vec::new();
    while let Some(piece) = wait(|context| begun.poll_next(context)) {
        all.extend_from_slice(&piece.expect("its file is open"));
    }
    assert!(all == noise(0, LENGTH));
    // It was asked for, and so it was written again.
    assert!(!left(&disk, 0).is_gone());
}

/// The span of a body in its file. It was verified before.
fn in_file(bytes: &OnDisk) -> FileSpan {
    let mut reader = bytes.reader();
    match wait(|context| reader.poll_part(context)) {
        Some(Ok(Part::File(span))) => span,
        other => panic!("verified: {other:?}"),
    }
}

/// Drops a file from the page cache, as when memory is short or a client takes long.
fn leave_the_page_cache(path: &Path) {
    let file = std::fs::File::open(path).expect("opened");
    file.sync_all().expect("written");
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("left");
}

#[test]
fn what_left_the_page_cache_is_read_aside_before_it_is_sent() {
    let dir = Dir::new();
    let disk = dir.open();
    put(&disk, 1, 200_000);
    read(&left(&disk, 1)).expect("good");
    disk.flush();
    let segment = dir.files("segment").pop().expect("a segment");
    for (damages, is_good) in [(false, true), (true, false)] {
        let mut span = in_file(&left(&disk, 1));
        if damages {
            let mut bytes = std::fs::read(&segment).expect("read");
            let body = noise(1, 200_000);
            let at = bytes
                .windows(64)
                .position(|piece| piece == &body[50_000..50_064]);
            bytes[at.expect("there")] ^= 1;
            std::fs::write(&segment, bytes).expect("written");
        }
        leave_the_page_cache(&segment);
        let mut context = Context::from_waker(Waker::noop());
        let now = span.poll_at_hand(&mut context);
        assert!(matches!(now, Poll::Ready(Ok(()))), "it was seen just now");
        span.seen = u32::MAX;
        // A thread of the tier reads it, and may be done before it is asked.
        let read = wait(|context| span.poll_at_hand(context));
        assert_eq!(read.is_ok(), is_good, "{read:?}");
        if is_good {
            span.seen = u32::MAX;
            let again = span.poll_at_hand(&mut context);
            assert!(matches!(again, Poll::Ready(Ok(()))), "it is there");
        }
    }
}

/// A reader that read only the end of a body, or part of it into our memory, has not seen all of it in the page cache.
#[test]
fn a_part_that_was_seen_does_not_vouch_for_the_rest() {
    const LENGTH: usize = 3_000_000;
    let dir = Dir::new();
    let disk = dir.open();
    put(&disk, 1, LENGTH);
    let bytes = left(&disk, 1);
    read(&bytes).expect("good, and verified");
    disk.flush();
    let last = LENGTH as u64 - 1;
    let half = bytes
        .slice(Span {
            first: 1_500_000,
            last,
        })
        .expect("a half");
    assert!(sent(&half) == noise(1, LENGTH)[1_500_000..]);
    dir.files("large")
        .iter()
        .for_each(|path| leave_the_page_cache(path));
    let mut reader = bytes.reader();
    let part = wait(|context| reader.poll_part(context));
    assert!(
        matches!(part, Some(Ok(Part::Bytes(_)))),
        "read aside: {part:?}"
    );
}
