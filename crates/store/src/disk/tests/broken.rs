//! Bytes that are not what was written, and devices that fail.

use super::{
    queue::{Next, Task},
    *,
};
use proptest::prelude::*;
use std::time::Duration;

/// A directory with one sealed segment of a few records. Returns their numbers and lengths.
fn small(dir: &Dir) -> Vec<(u64, usize)> {
    let all = vec![(1, 0), (2, 40), (3, 100), (4, 17)];
    let disk = dir.open();
    for (number, length) in &all {
        put(&disk, *number, *length);
    }
    all
}

/// Opens the directory as it was left, and looks for everything. Returns how much of it is there.
fn survivors(dir: &Dir, all: &[(u64, usize)]) -> usize {
    let disk = dir.open();
    let found = all
        .iter()
        .filter(|(number, length)| holds(&disk, *number, *length));
    found.count()
}

/// Changes each byte of a segment in turn, and cuts the segment at each length.
#[test]
fn no_flip_and_no_cut_gives_a_wrong_byte() {
    let dir = Dir::new();
    let all = small(&dir);
    let path = dir.files("segment-").remove(0);
    let whole = fs::read(&path).expect("read");
    // What follows is made again if it is damaged.
    let index = index_of(&whole);
    for at in 0..whole.len() {
        // Loading may mend or remove the segment, so each round begins anew.
        let _ = dir.files("segment-").iter().map(fs::remove_file).count();
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).expect("written");
        let found = survivors(&dir, &all);
        // Zeros may be the padding of a record's last unit.
        let counts = at < index && whole[at] != 0;
        assert!(found < all.len() || !counts, "flip at {at}");
        fs::write(&path, &whole[..at]).expect("written");
        survivors(&dir, &all);
    }
    fs::write(&path, &whole).expect("written");
    assert_eq!(survivors(&dir, &all), all.len());
}

/// Where the index of a sealed segment begins. The trailer has it first.
fn index_of(segment: &[u8]) -> usize {
    let trailer = &segment[segment.len() - format::TRAILER..];
    u64::from_le_bytes(trailer[8..16].try_into().expect("eight")) as usize
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Changes bytes while the tier is open: nothing is read again at the start.
    #[test]
    fn a_change_under_an_open_tier_is_found_out(at in any::<prop::sample::Index>(), run in prop::collection::vec(any::<u8>(), 1..30)) {
        use std::os::unix::fs::FileExt;
        let dir = Dir::new();
        let all = small(&dir);
        let disk = dir.open();
        let path = dir.files("segment-").remove(0);
        let length = fs::metadata(&path).expect("there").len() as usize;
        let file = File::options().write(true).open(&path).expect("opens");
        file.write_all_at(&run, at.index(length) as u64).expect("written");
        for (number, length) in all {
            holds(&disk, number, length);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// After a power loss, the pages of a file that was not synced are there or are zeros, in no particular order.
    #[test]
    fn pages_that_were_never_written_give_no_wrong_byte(lost in prop::collection::vec(any::<bool>(), 64), sealed: bool) {
        const PAGE: usize = 4096;
        let (dir, copy) = (Dir::new(), Dir::new());
        let disk = dir.open();
        for number in 0..40 {
            put(&disk, number, 3000);
        }
        let disk = (!sealed).then_some(disk);
        fs::create_dir(&copy.0).expect("made");
        for path in [dir.files("segment-"), dir.files("about")].concat() {
            fs::copy(&path, copy.0.join(path.file_name().expect("a name"))).expect("copied");
        }
        drop(disk);
        let path = copy.files("segment-").remove(0);
        let mut bytes = fs::read(&path).expect("read");
        for (page, lost) in bytes.chunks_mut(PAGE).zip(lost) {
            if lost {
                page.fill(0);
            }
        }
        fs::write(&path, &bytes).expect("written");
        let crashed = copy.open();
        for number in 0..40 {
            holds(&crashed, number, 3000);
        }
    }
}

/// What was given up would be found again after a restart, if nothing took its place.
#[test]
fn what_was_given_up_is_purged_if_that_cannot_be_written() {
    let dir = Dir::new();
    let given_up = Arc::new(response(1, 100).given_up(0));
    put(&dir.open(), 1, 100);
    let disk = dir.open();
    fs::remove_dir_all(&dir.0).expect("removed");
    fs::write(&dir.0, "no directory").expect("written");
    disk.forget_versions(&key(1), &given_up);
    assert!(disk.offer(&key(1), &given_up));
    disk.flush();
    assert!(disk.shared.log.refuses(&key(1), None, 0));
    drop(disk);
    fs::remove_file(&dir.0).expect("removed");
}

/// A copy of the directory at any moment is what a crash leaves.
#[test]
fn a_copy_taken_while_it_is_written_holds_no_wrong_byte() {
    let (dir, copy) = (Dir::new(), Dir::new());
    let disk = Disk::open(dir.config(1 << 20), Arc::default()).expect("opens");
    let writer = {
        let disk = disk.clone();
        thread::spawn(move || {
            for number in 0..3000 {
                disk.offer(&key(number % 500), &response(number % 500, 3000));
                if number % 50 == 0 {
                    disk.flush();
                }
            }
        })
    };
    let mut copies = 0;
    while !writer.is_finished() || copies == 0 {
        let _ = fs::remove_dir_all(&copy.0);
        fs::create_dir(&copy.0).expect("made");
        for entry in fs::read_dir(&dir.0).expect("read") {
            let path = entry.expect("an entry").path();
            // It may be gone by now.
            let _ = fs::copy(&path, copy.0.join(path.file_name().expect("a name")));
        }
        let crashed = copy.open_with(1 << 20);
        for number in 0..500 {
            holds(&crashed, number, 3000);
        }
        copies += 1;
    }
    writer.join().expect("written");
}

#[test]
fn a_torn_end_is_cut_and_the_rest_is_found() {
    let (dir, copy) = (Dir::new(), Dir::new());
    let disk = dir.open();
    for number in 0..10 {
        put(&disk, number, 500);
    }
    fs::create_dir(&copy.0).expect("made");
    for path in [dir.files("segment-"), dir.files("about")].concat() {
        let name = path.file_name().expect("a name");
        fs::copy(&path, copy.0.join(name)).expect("copied");
    }
    let path = copy.files("segment-").remove(0);
    let length = fs::metadata(&path).expect("there").len();
    let file = File::options().write(true).open(&path).expect("opens");
    file.set_len(length - 300).expect("cut");
    let crashed = copy.open();
    let found = (0..10).filter(|number| holds(&crashed, *number, 500));
    assert_eq!(found.collect::<Vec<_>>(), (0..9).collect::<Vec<_>>());
    put(&crashed, 9, 500);
    drop(crashed);
    let again = copy.open();
    assert!((0..10).all(|number| holds(&again, number, 500)));
    assert_eq!(again.statistics().damaged, 0, "it was mended");
}

#[test]
fn a_record_in_the_place_of_another_is_not_taken_for_it() {
    let dir = Dir::new();
    let disk = dir.open();
    put(&disk, 1, 500);
    put(&disk, 2, 500);
    drop(disk);
    let path = dir.files("segment-").remove(0);
    let mut bytes = fs::read(&path).expect("read");
    let size = (index_of(&bytes) - format::FILE_HEAD) / 2;
    let (from, to) = (64, 64 + size);
    let first = bytes[from..to].to_vec();
    bytes[to..to + size].copy_from_slice(&first);
    fs::write(&path, &bytes).expect("written");
    let disk = dir.open();
    assert!(holds(&disk, 1, 500));
    assert!(!holds(&disk, 2, 500));
    assert_eq!(disk.statistics().damaged, 1);
    assert!(
        matches!(&disk.events()[..], [Event::Loaded { .. }, Event::Damaged { offset, .. }] if *offset == to as u64)
    );
    assert!(!disk.knows(&key(2)), "it is forgotten");
}

#[test]
fn a_segment_of_another_directory_is_not_taken() {
    let (dir, other) = (Dir::new(), Dir::new());
    let disk = dir.open();
    put(&disk, 1, 500);
    drop(disk);
    drop(other.open());
    let path = dir.files("segment-").remove(0);
    let name = path.file_name().expect("a name");
    fs::copy(&path, other.0.join(name)).expect("copied");
    assert!(!holds(&other.open(), 1, 500));
}

/// A small file system of its own. No other full device behaves like one. Without the right to mount, the test fails
/// and says so.
fn tiny(dir: &Dir) -> Mounted {
    fs::create_dir(&dir.0).expect("made");
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"])
        .arg(&dir.0)
        .output()
        .expect("mount, of the package of that name");
    assert!(
        mounted.status.success(),
        "this test fills a small file system, and may not mount one; run it as root, or under `unshare --map-root-user --mount`: {}",
        String::from_utf8_lossy(&mounted.stderr).trim()
    );
    Mounted(dir.0.clone())
}

struct Mounted(PathBuf);

impl Mounted {
    fn remount(&self, how: &str) {
        let done = std::process::Command::new("mount")
            .args(["-o", &format!("remount,{how}")])
            .arg(&self.0)
            .status();
        assert!(done.expect("mount runs").success());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let done = std::process::Command::new("umount").arg(&self.0).status();
        let _ = done;
    }
}

#[test]
fn a_full_device_puts_writing_out_of_order_and_nothing_else() {
    let dir = Dir::new();
    let _mounted = tiny(&dir);
    let disk = dir.open();
    let mut taken = Vec::new();
    for number in 0..100 {
        if disk.offer(&key(number), &response(number, 20_000)) {
            taken.push(number);
        }
        disk.flush();
    }
    assert!((10..100).contains(&taken.len()), "{}", taken.len());
    let statistics = disk.statistics();
    assert!(statistics.is_failing && statistics.errors == 1);
    let events = disk.events();
    let failed = |event: &&Event| {
        matches!(
            event,
            Event::Failed {
                doing: Doing::Writing,
                ..
            }
        )
    };
    assert_eq!(events.iter().filter(failed).count(), 1, "{events:?}");
    assert!(!disk.offer(&key(1000), &response(1000, 10)));
    for number in taken {
        holds(&disk, number, 20_000);
    }
}

#[test]
fn where_a_quota_is_used_up_the_oldest_goes() {
    let dir = Dir::new();
    let disk = dir.open_with(4 << 20);
    let mut count = 0;
    while disk.statistics().segments < 4 {
        put(&disk, count, 20_000);
        count += 1;
    }
    let device = &disk.shared.device;
    for _ in 0..2 {
        let error = std::io::ErrorKind::QuotaExceeded.into();
        device.failed(Doing::Writing, &dir.0, &error);
    }
    disk.flush();
    assert_eq!(disk.statistics().segments, 2);
    assert!(!holds(&disk, 0, 20_000));
    assert!(holds(&disk, count - 1, 20_000));
}

#[test]
fn an_index_that_cannot_be_made_again_is_not_needed() {
    const MANY: u64 = 400;
    let (dir, copy) = (Dir::new(), Dir::new());
    let _mounted = tiny(&copy);
    put(&dir.open(), MANY, 60_000);
    let disk = dir.open();
    for number in 0..MANY {
        put(&disk, number, 10);
    }
    // The last segment is not sealed yet.
    for path in [dir.files("segment-"), dir.files("about")].concat() {
        fs::copy(&path, copy.0.join(path.file_name().expect("a name"))).expect("copied");
    }
    drop(disk);
    // The lock takes no room.
    let room = File::create(copy.0.join("room")).expect("made");
    while std::io::Write::write(&mut &room, &[1; 4096]).is_ok() {}
    let disk = copy.open();
    assert!((0..MANY).all(|number| holds(&disk, number, 10)));
    assert!(disk.statistics().errors > 0, "there was no room");
}

#[test]
fn a_device_that_cannot_be_written_is_an_error_at_the_start() {
    let dir = Dir::new();
    let mounted = tiny(&dir);
    let disk = dir.open_with(300 << 10);
    put(&disk, 1, 1000);
    drop(disk);
    mounted.remount("ro");
    let opened = Disk::open(dir.config(300 << 10), Arc::default());
    let Err(OpenError::Io(path, error)) = opened else {
        panic!("an error")
    };
    assert_eq!(path, dir.0.join("lock"));
    assert_eq!(error.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    mounted.remount("rw");
    assert!(holds(&dir.open_with(300 << 10), 1, 1000));
}

#[test]
fn a_directory_that_went_comes_back() {
    let dir = Dir::new();
    let disk = dir.open_with(1 << 20);
    put(&disk, 1, 1000);
    fs::remove_dir_all(&dir.0).expect("removed");
    assert!(holds(&disk, 1, 1000), "what is open can be read");
    for number in 0..100 {
        put(&disk, number, 3000);
    }
    assert!(!dir.files("segment-").is_empty());
}

/// A body that is read as it is sent: its holder learns that it is of no use, whole or in part.
#[test]
fn who_holds_a_damaged_body_may_know() {
    let dir = Dir::new();
    let disk = dir.open();
    put(&disk, 1, 400_000);
    let path = dir.files("segment-").remove(0);
    let mut bytes = fs::read(&path).expect("read");
    bytes[300_000] ^= 1;
    fs::write(&path, &bytes).expect("written");
    let [found] = &find(&disk, &key(1))[..] else {
        panic!("one")
    };
    let Body::Disk(body) = &found.body else {
        panic!("on disk")
    };
    let parts = Parts::new(500_000, 0, body.clone());
    let span = Span { first: 1, last: 9 };
    assert!(found.body.is_complete() && parts.spans().contains(span));
    assert_eq!(read(body), Err(Failed));
    assert!(!found.body.is_complete() && !parts.spans().contains(span));
    let newer = Parts::new(500_000, 400_000, Bytes::from(vec![0; 100_000]));
    assert_eq!(
        parts.combined(&newer, u64::MAX).pieces().len(),
        1,
        "it is left out"
    );
    disk.flush();
    assert!(!disk.knows(&key(1)), "it is forgotten");
}

/// Each has found it whole in the index before any came so far.
#[test]
fn damage_that_many_come_upon_is_told_of_once() {
    for (length, at, kind) in [(400_000, 300_000, "segment-"), (3 << 20, 2 << 20, "large-")] {
        for is_cut in [false, true] {
            let dir = Dir::new();
            put(&dir.open(), 1, length);
            let disk = dir.open();
            let all = (0..4).map(|_| find(&disk, &key(1)).remove(0));
            let all: Vec<_> = all.collect();
            let path = dir.files(kind).remove(0);
            let mut bytes = fs::read(&path).expect("read");
            bytes[at] ^= 1;
            if is_cut {
                bytes.truncate(at);
            }
            fs::write(&path, &bytes).expect("written");
            for found in &all {
                assert_eq!(content(found), Err(Failed), "{kind}: {is_cut}");
            }
            let events = disk.events();
            let is_told =
                |event: &&Event| matches!(event, Event::Damaged { file, .. } if *file == path);
            assert_eq!(events.iter().filter(is_told).count(), 1, "{events:?}");
            assert_eq!(disk.statistics().damaged, 1, "{kind}: {is_cut}");
            disk.flush();
            assert!(!disk.knows(&key(1)), "{kind}: {is_cut}: it is forgotten");
        }
    }
}

#[test]
fn what_breaks_while_it_waits_to_be_written_takes_no_room_any_more_when_it_is_out() {
    let dir = Dir::new();
    let disk = dir.open();
    put(&disk, 1, 400_000);
    let [found] = &find(&disk, &key(1))[..] else {
        panic!("one")
    };
    let Body::Disk(body) = &found.body else {
        panic!("on disk")
    };
    let parts = Arc::new(Parts::new(500_000, 0, body.clone()));
    let queue = Queue::default();
    let stored = Arc::new(sample::with_body(Body::Parts(parts.clone())));
    assert!(queue.offer(&key(1), 1, &stored, false) && queue.bytes() > 400_000);
    let path = dir.files("segment-").remove(0);
    File::create(path).expect("cut off");
    assert_eq!(read(body), Err(Failed));
    assert_eq!(parts.spans().iter().count(), 0);
    let next = queue.next(Duration::ZERO);
    assert!(matches!(next, Next::Task(Task::Store(_))));
    assert_eq!(queue.bytes(), 0);
}
