//! Large bodies: written as they arrive, read meanwhile, and read in spans.

use super::*;
use std::{
    sync::{Barrier, mpsc},
    time::Duration,
};

fn push(writer: &mut Writer, bytes: &Bytes) -> Result<(), Failed> {
    wait(|context| writer.poll_push(bytes, false, context))
}

fn finish(writer: &mut Writer) -> OnDisk {
    wait(|context| writer.poll_finish(context)).expect("finished")
}

/// Writes `bytes` in pieces of odd lengths.
fn write(disk: &Disk, bytes: &[u8]) -> OnDisk {
    let mut writer = disk.begin(Some(bytes.len() as u64)).expect("taken");
    for piece in bytes.chunks(10_007) {
        push(&mut writer, &Bytes::copy_from_slice(piece)).expect("pushed");
    }
    finish(&mut writer)
}

/// Writes `bytes`, and the head that names them.
fn store(disk: &Disk, bytes: &[u8]) {
    assert!(disk.offer(&key(7), &head(write(disk, bytes))));
    disk.flush();
}

fn head(body: OnDisk) -> Arc<Stored> {
    let stored = Stored::clone(&response(7, 0));
    Arc::new(stored.with_body(Body::Disk(body)))
}

fn body(disk: &Disk) -> OnDisk {
    let found = find(disk, &key(7));
    let [found] = &found[..] else { panic!("one") };
    let Body::Disk(bytes) = &found.body else {
        panic!("on disk")
    };
    bytes.clone()
}

fn span(first: u64, last: u64) -> Span {
    Span { first, last }
}

#[test]
fn a_large_body_is_followed_and_named_and_found_again() {
    let dir = Dir::new();
    let disk = dir.open();
    let all = noise(7, 5_000_000);
    let mut writer = disk.begin(None).expect("taken");
    let (first, rest) = all.split_at(3_000_000);
    for piece in first.chunks(100_000) {
        push(&mut writer, &Bytes::copy_from_slice(piece)).expect("pushed");
    }
    let written = writer.written();
    let length = written.len() as usize;
    assert!(length <= first.len() && length.is_multiple_of(64 << 10));
    assert!(read(&written).expect("read") == all[..length]);
    push(&mut writer, &Bytes::copy_from_slice(rest)).expect("pushed");
    let whole = finish(&mut writer);
    assert!(read(&whole).expect("read") == all);
    assert!(disk.offer(&key(7), &head(whole)));
    disk.flush();
    assert!(read(&body(&disk)).expect("read") == all);
    drop(disk);
    let disk = dir.open();
    assert!(read(&body(&disk)).expect("read") == all, "after a restart");
    assert_eq!(disk.statistics().large_files, 1);
    assert_eq!(disk.statistics().bytes, dir.bytes());
}

#[test]
fn the_head_waits_until_the_body_is_written() {
    let dir = Dir::new();
    let disk = dir.open();
    let all = noise(7, 3_000_000);
    // Offered at once, while the end is still queued.
    assert!(disk.offer(&key(7), &head(write(&disk, &all))));
    drop(disk);
    assert!(read(&body(&dir.open())).expect("read") == all);
}

#[test]
fn freshening_writes_no_more_than_a_head() {
    let dir = Dir::new();
    let disk = dir.open();
    let all = noise(7, 3_000_000);
    store(&disk, &all);
    let before = disk.statistics();
    assert!(disk.offer(&key(7), &head(body(&disk))));
    disk.flush();
    let after = disk.statistics();
    assert_eq!((after.records, after.large_files), (1, 1));
    assert!(after.bytes_written - before.bytes_written < 1000);
    assert!(read(&body(&disk)).expect("read") == all);
}

#[test]
fn a_span_reads_and_verifies_its_own_chunks_only() {
    let dir = Dir::new();
    let disk = dir.open();
    let all = noise(7, 1_000_000);
    store(&disk, &all);
    drop(disk);
    // The third chunk.
    let path = dir.files("large-").remove(0);
    let mut bytes = fs::read(&path).expect("read");
    bytes[2 * 4096 + 2 * 65_536 + 100] ^= 4;
    fs::write(&path, &bytes).expect("written");
    let disk = dir.open();
    let body = body(&disk);
    assert!(!body.is_broken());
    for (span, good) in [
        (span(0, 0), true),
        (span(0, 131_071), true),
        (span(65_500, 65_600), true),
        (span(196_608, 999_999), true),
        (span(131_072, 131_072), false),
        (span(131_000, 140_000), false),
        (span(196_607, 196_608), false),
    ] {
        let got = read(&body.slice(span).expect("within"));
        let expected = &all[span.first as usize..=span.last as usize];
        assert_eq!(got.is_ok(), good, "{span:?}");
        assert!(got.map_or(true, |got| got == expected), "{span:?}");
    }
    assert!(body.slice(span(0, 1_000_000)).is_none());
    assert!(body.is_broken(), "who holds it may know");
    disk.flush();
    assert!(!disk.knows(&key(7)), "it is forgotten");
    assert!(dir.files("large-").is_empty());
}

#[test]
fn a_file_that_no_head_names_goes() {
    let dir = Dir::new();
    let disk = dir.open();
    let all = noise(7, 3_000_000);
    let whole = write(&disk, &all);
    read(&whole).expect("written");
    assert_eq!(dir.files("large-").len(), 1);
    drop(whole);
    disk.flush();
    assert!(dir.files("large-").is_empty(), "nobody holds it");
    let mut writer = disk.begin(None).expect("taken");
    push(&mut writer, &Bytes::from(noise(8, 200_000))).expect("pushed");
    drop(writer);
    while disk.statistics().bytes > 0 || !dir.files("large-").is_empty() {
        disk.flush();
    }
    let kept = write(&disk, &all);
    read(&kept).expect("written");
    drop(disk);
    assert_eq!(dir.files("large-").len(), 1, "a crash leaves it");
    let disk = dir.open();
    assert!(dir.files("large-").is_empty(), "the next start does not");
    assert_eq!(disk.statistics().bytes, 0);
    drop(kept);
}

#[test]
fn what_supersedes_takes_the_file_with_it() {
    let dir = Dir::new();
    let disk = dir.open();
    put(&disk, 7, 3_000_000);
    put(&disk, 7, 4_000_000);
    assert_eq!(dir.files("large-").len(), 1);
    assert!(holds(&disk, 7, 4_000_000));
    put(&disk, 7, 10);
    assert!(dir.files("large-").is_empty());
    assert_eq!(disk.statistics().bytes, disk_bytes(&dir, &disk));
}

/// The bytes of the files, including what sealing the open segment will add.
fn disk_bytes(dir: &Dir, disk: &Disk) -> u64 {
    let counted = disk.statistics().bytes;
    let there = dir.bytes();
    assert!(there <= counted && counted - there < 4096);
    counted
}

#[test]
fn a_body_beyond_the_limit_is_refused() {
    let dir = Dir::new();
    let disk = dir.open_with(1 << 20);
    assert!(disk.begin(Some(600_000)).is_none());
    assert!(!disk.offer(&key(1), &response(1, 600_000)));
    let mut writer = disk.begin(None).expect("taken");
    let piece = Bytes::from(noise(1, 100_000));
    let pushed = (0..10).take_while(|_| push(&mut writer, &piece).is_ok());
    assert_eq!(pushed.count(), 5);
    drop(writer);
}

#[test]
fn readers_of_a_body_that_fails_are_told() {
    let dir = Dir::new();
    let disk = dir.open();
    let mut writer = disk.begin(None).expect("taken");
    push(&mut writer, &Bytes::from(noise(1, 300_000))).expect("pushed");
    let whole = finish(&mut writer);
    drop(disk);
    // The tier was closed before the end was written, or just after.
    let _ = read(&whole).map(|bytes| assert!(bytes == noise(1, 300_000)));
}

#[test]
fn a_body_under_way_is_never_refused() {
    let dir = Dir::new();
    let disk = dir.open();
    let all = noise(7, 2_000_000);
    store(&disk, &all);
    let body = body(&disk);
    let device = &disk.shared.device;
    // All threads are held up, and as many jobs wait as may.
    let barrier = Arc::new(Barrier::new(READERS + 1));
    for _ in 0..READERS {
        let barrier = barrier.clone();
        assert!(device.readers.run_soon(move || _ = barrier.wait()));
    }
    while device.readers.run_soon(|| ()) {}
    device.always_waits.store(true, Relaxed);
    let mut reader = body.reader();
    let mut context = Context::from_waker(Waker::noop());
    assert!(reader.poll_next(&mut context).is_pending());
    barrier.wait();
    let mut got = Vec::new();
    while let Some(piece) = wait(|context| reader.poll_next(context)) {
        got.extend_from_slice(&piece.expect("read"));
    }
    assert!(got == all);
}

/// Whether a task was woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

/// Holds up the one thread that writes bodies, until what this returns is dropped.
fn held_up(disk: &Disk) -> mpsc::Sender<()> {
    let (held, dropped) = mpsc::channel();
    let writers = &disk.shared.device.writers;
    assert!(writers.run_always(move || _ = dropped.recv()));
    held
}

#[test]
fn no_more_than_a_chunk_waits_for_the_device_while_memory_is_short() {
    const PIECE: usize = 4096;
    let dir = Dir::new();
    let disk = dir.open();
    let device = held_up(&disk);
    let piece = Bytes::from(noise(1, PIECE));
    let mut context = Context::from_waker(Waker::noop());
    let waiting = [true, false].map(|is_short| {
        let mut writer = disk.begin(None).expect("taken");
        let mut pushed = 0;
        while writer.poll_push(&piece, is_short, &mut context).is_ready() {
            pushed += PIECE;
        }
        pushed
    });
    drop(device);
    assert_eq!(waiting, [64 << 10, 1 << 20]);
}

/// A body that comes fast does not keep the others from the device.
#[test]
fn bodies_take_turns_at_the_device() {
    let dir = Dir::new();
    let disk = dir.open();
    let device = held_up(&disk);
    let mut writers = [(); 2].map(|()| disk.begin(None).expect("taken"));
    for writer in &mut writers {
        push(writer, &Bytes::from(noise(1, 200_000))).expect("pushed");
    }
    let (told, looked) = mpsc::channel();
    // After the first turn of each.
    let look = move || told.send(writers.map(|writer| writer.written().len()));
    let is_queued = disk.shared.device.writers.run_always(|| _ = look());
    drop(device);
    assert!(is_queued);
    assert_eq!(looked.recv(), Ok([64 << 10; 2]));
}

/// Whoever began before waits for it. It is asked again as soon as it has taken anything.
#[test]
fn a_device_that_stands_still_is_not_waited_for_by_bodies_that_come_later() {
    const LONG: Duration = Duration::from_mins(1);
    let dir = Dir::new();
    let disk = dir.open();
    let writers = &disk.shared.device.writers;
    let (first, second) = (held_up(&disk), held_up(&disk));
    testkit::wait_until("the device is asked", || {
        writers.has_stood_still(Duration::ZERO)
    });
    assert!(disk.begin(None).is_some(), "it may be slow");
    writers.stand_still_for(LONG);
    assert!(disk.begin(None).is_none(), "it stands still");
    assert!(disk.offer(&key(1), &response(1, 100)), "all else goes on");
    testkit::wait_until("it takes that", || disk.begin(None).is_some());
    writers.stand_still_for(LONG);
    assert!(disk.begin(None).is_none(), "it stands still again");
    drop(first);
    testkit::wait_until("it goes on", || disk.begin(None).is_some());
    drop(second);
    writers.finish();
    writers.stand_still_for(LONG);
    assert!(disk.begin(None).is_some(), "nobody waits for it");
}

/// To be woken for each chunk is work that only a lack of memory is worth.
#[test]
fn who_waits_for_the_device_is_woken_once_much_is_written_or_memory_is_short() {
    let dir = Dir::new();
    let disk = dir.open();
    let writers = &disk.shared.device.writers;
    let piece = Bytes::from(noise(1, 64 << 10));
    for is_short in [true, false] {
        let device = held_up(&disk);
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let mut context = Context::from_waker(&waker);
        let mut writer = disk.begin(None).expect("taken");
        while writer.poll_push(&piece, false, &mut context).is_ready() {}
        assert!(
            writer
                .poll_push(&piece, is_short, &mut context)
                .is_pending()
        );
        let (told, looked) = mpsc::channel();
        let seen = woken.clone();
        let after_one = move || _ = told.send(seen.0.load(Relaxed));
        assert!(writers.run_always(after_one));
        drop(device);
        assert_eq!(looked.recv(), Ok(is_short));
        writers.finish();
        assert!(woken.0.load(Relaxed), "{is_short}");
    }
}

#[test]
fn no_head_is_waited_for_either() {
    let dir = Dir::new();
    let disk = dir.open();
    let sizes = [(1, 100), (2, 60_000), (3, 2_000_000)];
    for (number, length) in sizes {
        put(&disk, number, length);
    }
    drop(disk);
    let disk = dir.open();
    let device = &disk.shared.device;
    let barrier = Arc::new(Barrier::new(READERS + 1));
    for _ in 0..READERS {
        let barrier = barrier.clone();
        assert!(device.readers.run_soon(move || _ = barrier.wait()));
    }
    device.always_waits.store(true, Relaxed);
    let mut context = Context::from_waker(Waker::noop());
    let findings = sizes.map(|(number, _)| match disk.find(&key(number), Bodies::Left) {
        DiskLookup::Wait(mut finding) => {
            assert!(Pin::new(&mut finding).poll(&mut context).is_pending());
            finding
        }
        DiskLookup::Here(_) => panic!("{number}: it was read"),
        DiskLookup::Nothing => panic!("{number}: it is there"),
    });
    barrier.wait();
    for ((wanted, length), mut finding) in sizes.into_iter().zip(findings) {
        let found = wait(|context| Pin::new(&mut finding).poll(context));
        assert_eq!(
            found
                .iter()
                .map(|stored| number(stored))
                .collect::<Vec<_>>(),
            [wanted]
        );
        assert!(content(&found[0]).expect("read") == noise(wanted, length));
    }
}

#[test]
fn no_more_room_is_taken_than_the_file_needs() {
    let dir = Dir::new();
    let disk = dir.open();
    let all = noise(7, 3_000_000);
    for announced in [None, Some(3_000_000), Some(10), Some(9_000_000)] {
        let mut writer = disk.begin(announced).expect("taken");
        for piece in all.chunks(100_000) {
            push(&mut writer, &Bytes::copy_from_slice(piece)).expect("pushed");
        }
        let whole = finish(&mut writer);
        assert!(disk.offer(&key(7), &head(whole)));
        disk.flush();
        disk_bytes(&dir, &disk);
    }
}

/// A record that survived may name a file that did not, and whose number was given out again.
#[test]
fn a_file_of_the_same_number_is_not_taken_for_another() {
    let dir = Dir::new();
    let disk = dir.open();
    store(&disk, &noise(7, 1_000_000));
    drop(disk);
    let old = dir.files("large-").remove(0);
    let mut bytes = fs::read(&old).expect("read");
    let (head, _) = bytes.split_first_chunk_mut().expect("a header");
    let mut other = format::FileHead::read(head).expect("sound");
    other.nonce ^= 2;
    *head = other.write();
    fs::write(&old, &bytes).expect("written");
    let verified = verify(&dir.0, &mut |_| {}).expect("a tier");
    assert_eq!((verified.faults, verified.given_up), (0, 1));
    let disk = dir.open();
    assert!(find(&disk, &key(7)).is_empty());
    assert!(!disk.knows(&key(7)), "the record is forgotten");
    assert_eq!(disk.statistics().damaged, 0, "nothing is wrong with it");
}

#[test]
fn a_damaged_header_is_told_of_as_such() {
    for at in [0, 8, 16, 24, 32, 60] {
        let dir = Dir::new();
        store(&dir.open(), &noise(7, 1_000_000));
        let path = dir.files("large-").remove(0);
        let mut bytes = fs::read(&path).expect("read");
        bytes[at] ^= 1;
        fs::write(&path, &bytes).expect("written");
        let mut faults = Vec::new();
        verify(&dir.0, &mut |fault| faults.push(fault.clone())).expect("a tier");
        let place = faults.iter().map(|fault| (fault.offset, fault.what));
        let place: Vec<_> = place.collect();
        assert_eq!(place, [(0, check::What::FileHead)], "byte {at}");
        let disk = dir.open();
        assert!(find(&disk, &key(7)).is_empty(), "byte {at}");
        assert!(find(&disk, &key(7)).is_empty(), "byte {at}");
        let events = disk.events();
        let is_told =
            |event: &&Event| matches!(event, Event::Damaged { file, offset: 0 } if *file == path);
        assert_eq!(
            events.iter().filter(is_told).count(),
            1,
            "byte {at}: {events:?}"
        );
        assert_eq!(disk.statistics().damaged, 1, "byte {at}");
        disk.flush();
        assert!(!path.exists(), "byte {at}: it takes no room");
    }
}

/// The file as a power loss may leave it: with its name, but without its end or the content of some pages.
#[test]
fn a_large_file_that_is_not_whole_gives_no_wrong_byte_and_is_nobodys_fault() {
    let all = noise(7, 1_000_000);
    let cuts = [0, 10, 63, 64, 5000, 70_000, 999_999].map(|length| (length, false));
    let lost = [0, 64, 5000, 70_000].map(|length| (length, true));
    for (length, is_filled) in cuts.into_iter().chain(lost) {
        let dir = Dir::new();
        let disk = dir.open();
        store(&disk, &all);
        drop(disk);
        let path = dir.files("large-").remove(0);
        let file = File::options().write(true).open(&path).expect("opens");
        let whole = file.metadata().expect("there").len();
        file.set_len(length).expect("cut");
        if is_filled {
            // Zeros, where the device never got what was written.
            file.set_len(whole).expect("grown");
        }
        let disk = dir.open();
        for found in find(&disk, &key(7)) {
            assert!(content(&found).is_err(), "{length}: it is not all there");
        }
        disk.flush();
        assert!(find(&disk, &key(7)).is_empty(), "{length}: it is forgotten");
        let statistics = disk.statistics();
        assert_eq!(statistics.errors, 0, "{length}: the device did not fail");
        assert!(statistics.damaged > 0, "{length}: it is counted");
        put(&disk, 1, 500);
        assert!(holds(&disk, 1, 500), "{length}: the tier goes on");
    }
}

/// The record of the older response is still there, in a segment that has other records too.
#[test]
fn what_was_superseded_stays_so_when_its_successor_has_made_room() {
    let dir = Dir::new();
    let disk = dir.open();
    put(&disk, 1, 500);
    put(&disk, 7, 500);
    put(&disk, 7, 3_000_000);
    drop(disk);
    // As the tier itself does when others need the room.
    fs::remove_file(dir.files("large-").remove(0)).expect("removed");
    let disk = dir.open();
    assert!(find(&disk, &key(7)).is_empty());
    assert!(holds(&disk, 1, 500));
    put(&disk, 7, 600);
    assert!(holds(&disk, 7, 600), "what comes later is found");
    drop(disk);
    let disk = dir.open();
    assert!(holds(&disk, 7, 600));
}

/// A file cannot be made. The response in it was newer than the one that the tier has, which is no longer answered
/// with.
#[test]
fn what_cannot_be_written_is_not_answered_by_what_came_before_it() {
    let dir = Dir::new();
    let log = Arc::new(Log::default());
    let open = || Disk::open(dir.config(64 << 20), log.clone()).expect("opens");
    let disk = open();
    put(&disk, 1, 500);
    put(&disk, 7, 500);
    for id in 0..8 {
        let _ = fs::create_dir(dir.0.join(format!("large-{id:016x}")));
    }
    assert!(disk.offer(&key(7), &response(7, 3_000_000)));
    disk.flush();
    assert_eq!(disk.statistics().refused_writes, 1);
    assert!(find(&disk, &key(7)).is_empty());
    assert!(holds(&disk, 1, 500));
    drop(disk);
    let disk = open();
    assert!(find(&disk, &key(7)).is_empty(), "after a restart");
}
