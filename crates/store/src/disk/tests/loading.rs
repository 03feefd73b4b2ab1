//! What has been found is used, while the rest of what an earlier run left is being found.

use super::{counting::tagged, found::FoundSegment, *};
use crate::{clock, purge::What};
use std::sync::atomic::Ordering::Release;

/// The tier over the files in the directory, with nothing loaded yet. The test has its keeper, and the segments, the
/// oldest first.
pub(super) fn not_loaded(dir: &Dir, size: u64) -> (Disk, Keeper, Vec<FoundSegment>) {
    let lock = directory::lock(&dir.0).expect("nobody else has it");
    let (seed, _) = directory::seed(&dir.0, None).expect("a seed");
    let listing = directory::list(&dir.0).expect("a directory");
    let ids = listing.segments.clone();
    let segments = found::open_all(&dir.0, ids, size).expect("descriptors");
    let device = Device {
        path: dir.0.clone(),
        seed,
        readers: Pool::start("test-read", READERS).expect("threads"),
        writers: Pool::start("test-large", 1).expect("a thread"),
        queue: Queue::default(),
        health: Health::new(),
        bucket: Bucket::new(None, Instant::now()),
        demotions: Bucket::new(None, Instant::now()),
        counts: Counts::default(),
        always_waits: AtomicBool::new(false),
        began: Instant::now(),
    };
    let shared = Arc::new(DiskState::new(size, device, Arc::default(), &listing));
    let mut keeper = Keeper::new(shared.clone());
    for (id, bytes) in listing.large {
        keeper.found_large(id, bytes);
    }
    let disk = Disk {
        shared,
        keeper: Mutex::new(None),
        _lock: lock,
    };
    (disk, keeper, segments)
}

#[test]
fn what_is_loaded_is_found_and_all_else_may_be_there() {
    const SIZE: u64 = 4 << 20;
    const LENGTH: usize = 20_000;
    const MANY: u64 = 24;
    let dir = Dir::new();
    let disk = dir.open_with(SIZE);
    (0..MANY).for_each(|number| put(&disk, number, LENGTH));
    drop(disk);

    let (disk, mut keeper, mut older) = not_loaded(&dir, SIZE);
    let last = older.pop().expect("a segment");
    assert!(older.len() >= 2, "{older:?}");
    // The keeper begins with the latest, and is not done.
    keeper.load(vec![last]);
    disk.shared.is_whole.store(false, Release);
    let is_found: Vec<_> = (0..MANY)
        .map(|number| !find(&disk, &key(number)).is_empty())
        .collect();
    let may_be_there = (0..MANY + 100).all(|number| disk.knows(&key(number)));
    let (oldest, is_whole) = (disk.oldest_checked(), disk.statistics().is_whole);
    // Loads the rest, and the tier goes on. Failures are reported after that, because the tier cannot end without its
    // keeper.
    let thread = thread::spawn(move || keeper.run(older));
    *disk.keeper.lock().expect("not poisoned") = Some(thread);
    let loaded = is_found.iter().filter(|found| **found).count();
    assert!((1..MANY as usize).contains(&loaded), "{is_found:?}");
    assert!(is_found.is_sorted(), "the latest: {is_found:?}");
    assert!(may_be_there, "nobody knows what else is there");
    assert_eq!(oldest, Some(0), "the log of purges forgets nothing");
    assert!(!is_whole);

    disk.flush();
    assert!(disk.statistics().is_whole);
    for number in 0..MANY {
        assert!(holds(&disk, number, LENGTH), "{number}");
    }
    assert!(!disk.knows(&key(MANY)), "nobody has put it there");
    put(&disk, MANY, LENGTH);
    assert!(holds(&disk, MANY, LENGTH));
}

/// What came meanwhile and was not taken is newer than what is found under its key. The older is given up for good; all
/// else stays as it was.
#[test]
fn what_is_withheld_while_it_is_loaded_is_not_found() {
    const SIZE: u64 = 4 << 20;
    let dir = Dir::new();
    let disk = dir.open_with(SIZE);
    (0..4).for_each(|number| put(&disk, number, 1000));
    drop(disk);

    let (disk, keeper, segments) = not_loaded(&dir, SIZE);
    let before = disk.shared.log.head();
    assert!(disk.withhold(&key(2)) && disk.withhold(&key(100)));
    let thread = thread::spawn(move || keeper.run(segments));
    *disk.keeper.lock().expect("not poisoned") = Some(thread);
    disk.flush();
    assert!(find(&disk, &key(2)).is_empty());
    assert_eq!(
        disk.shared.log.head(),
        before + 1,
        "what was found is purged"
    );
    for number in [0, 1, 3] {
        assert!(holds(&disk, number, 1000), "{number}");
    }
    assert!(!disk.withhold(&key(100)), "it is all there by now");
}

/// How the latest version leaves the index.
#[derive(Clone, Copy, Debug)]
enum Leaves {
    Purged,
    Damaged,
    Forgotten,
}

#[test]
fn what_goes_while_the_rest_is_loaded_lets_nothing_older_in() {
    const SIZE: u64 = 64 << 20;
    for leaves in [Leaves::Purged, Leaves::Damaged, Leaves::Forgotten] {
        let dir = Dir::new();
        // Each run writes a segment.
        for (number, tag) in [(1, "old"), (2, "new")] {
            let disk = dir.open();
            assert!(disk.offer(&key(0), &tagged(&disk.shared.log, number, &[tag])));
        }
        if let (Leaves::Damaged, Some(last)) = (leaves, dir.files("segment-").last()) {
            let mut bytes = fs::read(last).expect("a segment");
            bytes[format::FILE_HEAD + format::RECORD_HEAD] ^= 1;
            fs::write(last, bytes).expect("room");
        }
        let (disk, mut keeper, mut segments) = not_loaded(&dir, SIZE);
        keeper.load_segments(segments.split_off(1));
        match leaves {
            Leaves::Purged => {
                let new = What::Tags(vec!["new".to_owned()]);
                disk.shared.log.apply(Purge::hard(new), clock::now(), None);
            }
            Leaves::Damaged => {}
            Leaves::Forgotten => disk.forget(&key(0)),
        }
        let gone = find(&disk, &key(0)).is_empty();
        let thread = thread::spawn(move || keeper.run(segments));
        *disk.keeper.lock().expect("not poisoned") = Some(thread);
        disk.flush();
        let found: Vec<_> = find(&disk, &key(0)).iter().map(|one| number(one)).collect();
        assert_eq!((gone, found), (true, vec![]), "{leaves:?}");
    }
}

/// Files with numbers that no directory reaches must not keep the tier from its own files.
#[test]
fn a_file_of_the_last_number_is_left_alone() {
    let dir = Dir::new();
    drop(dir.open());
    let names = [
        "segment-ffffffff",
        "segment-fffffffe",
        "large-ffffffffffffffff",
        "large-fffffffffffffffe",
    ];
    for name in names {
        fs::write(dir.0.join(name), "anything").expect("room");
    }
    for number in 0..2 {
        let disk = dir.open();
        put(&disk, number, 1000);
        put(&disk, number + 10, 3 << 20);
        assert!(holds(&disk, number, 1000));
        assert!(holds(&disk, number + 10, 3 << 20));
    }
    let disk = dir.open();
    for number in 0..2 {
        assert!(holds(&disk, number, 1000), "{number}");
        assert!(holds(&disk, number + 10, 3 << 20), "{number}");
    }
    for name in names {
        let bytes = fs::read(dir.0.join(name)).expect("it is nobody's here");
        assert_eq!(bytes, b"anything", "{name}");
    }
}

#[test]
fn what_is_forgotten_while_it_waits_is_not_found() {
    let dir = Dir::new();
    drop(dir.open());
    let (disk, keeper, segments) = not_loaded(&dir, 64 << 20);
    for number in 0..3 {
        assert!(disk.offer(&key(number), &response(number, 1000)));
    }
    disk.forget(&key(1));
    disk.forget(&key(2));
    // What comes after that is a different response.
    assert!(disk.offer(&key(2), &response(2, 1000)));
    let thread = thread::spawn(move || keeper.run(segments));
    *disk.keeper.lock().expect("not poisoned") = Some(thread);
    disk.flush();
    assert!(holds(&disk, 0, 1000));
    assert!(find(&disk, &key(1)).is_empty(), "it was forgotten");
    assert!(holds(&disk, 2, 1000));
}

/// What takes the place of a segment that cannot be read.
#[derive(Clone, Copy, Debug)]
enum InPlace {
    /// Something that can be removed.
    Link,
    /// Something that cannot.
    Folder,
    /// The segment itself, with a bit of its header flipped.
    Flipped,
    /// The segment itself, with zeros for its header.
    Zeroed,
}

#[test]
fn nothing_older_than_an_unreadable_segment_is_found() {
    let all = [
        InPlace::Link,
        InPlace::Folder,
        InPlace::Flipped,
        InPlace::Zeroed,
    ];
    for in_place in all {
        let dir = Dir::new();
        // Each run writes a segment. The second has a newer version of what the first has.
        for stored in [response(1, 1000), response(2, 1000)] {
            assert!(dir.open().offer(&key(0), &stored));
        }
        put(&dir.open(), 3, 1000);
        let second = dir.files("segment-").remove(1);
        let mut bytes = fs::read(&second).expect("a segment");
        fs::remove_file(&second).expect("removed");
        match in_place {
            InPlace::Link => std::os::unix::fs::symlink("nowhere", &second).expect("made"),
            InPlace::Folder => fs::create_dir(&second).expect("made"),
            InPlace::Flipped => {
                bytes[17] ^= 1;
                fs::write(&second, bytes).expect("made");
            }
            InPlace::Zeroed => {
                bytes[..format::FILE_HEAD].fill(0);
                fs::write(&second, bytes).expect("made");
            }
        }
        let disk = dir.open();
        assert!(!disk.knows(&key(0)), "{in_place:?}: it was replaced");
        let events = disk.events();
        let is_told = |event: &Event| matches!(event, Event::Unreadable { file, older: 1, .. } if *file == second);
        assert!(events.iter().any(is_told), "{in_place:?}: {events:?}");
        let log = &disk.shared.log;
        let purged = [0, 3].map(|number| log.refuses(&key(number), None, 0));
        let (is_purged, left) = match in_place {
            InPlace::Link | InPlace::Flipped | InPlace::Zeroed => (false, 1),
            InPlace::Folder => (true, 2),
        };
        let is_damaged = matches!(in_place, InPlace::Flipped | InPlace::Zeroed);
        let counts = disk.statistics();
        let counted = (counts.damaged, counts.errors);
        let wanted = if is_damaged { (1, 0) } else { (0, 1) };
        assert_eq!(counted, wanted, "{in_place:?}");
        assert_eq!(purged, [is_purged; 2], "{in_place:?}");
        assert_eq!(dir.files("segment-").len(), left, "{in_place:?}");
        if is_purged {
            continue;
        }
        drop(disk);
        let disk = dir.open();
        assert!(find(&disk, &key(0)).is_empty() && holds(&disk, 3, 1000));
    }
}

#[test]
fn what_is_no_segment_of_ours_takes_no_other_along() {
    let dir = Dir::new();
    put(&dir.open(), 1, 1000);
    let sound = fs::read(&dir.files("segment-")[0]).expect("a segment");
    for (left, faults, what) in [
        (vec![], 0, "a crash came before the header"),
        (vec![1; format::FILE_HEAD - 1], 0, "in the midst of it"),
        (vec![0; format::FILE_HEAD], 0, "before it was on the device"),
        (vec![0; 5000], 0, "before anything was"),
        (sound, 1, "a copy with another number"),
    ] {
        let path = dir.0.join("segment-00000009");
        fs::write(&path, left).expect("room");
        let verified = verify(&dir.0, &mut |_| {}).expect("a tier");
        assert_eq!(verified.faults, faults, "{what}");
        let disk = dir.open();
        assert!(!path.exists(), "{what}: it takes no room");
        assert!(holds(&disk, 1, 1000), "{what}");
        let is_told = |event: &Event| !matches!(event, Event::Loaded { .. });
        assert!(!disk.events().iter().any(is_told), "{what}");
        assert_eq!(disk.statistics().damaged, 0, "{what}");
    }
}
