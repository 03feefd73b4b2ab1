//! What memory evicts while something under its key is on disk, or may be. Of each variant, the most recent answers
//! (RFC 9111 section 4).

use super::{loading::not_loaded, *};
use crate::Memory;
use std::sync::atomic::Ordering::Release;

/// Size of the tier. Bodies of more than half of it are not taken.
const SIZE: u64 = 256 << 10;
const TOO_LARGE: usize = 150_000;

/// A response to requests with `accept`, with its number in a field.
fn accepting(accept: &str, number: u64, length: usize) -> Arc<Stored> {
    let mut stored = Stored::clone(&response(number, length));
    stored.variant = sample::accepting(accept, 0).variant;
    Arc::new(stored)
}

/// Puts `stored` under the first key into a memory full of smaller responses, and has it evicted for more of them.
fn evict(disk: &Arc<Disk>, stored: Arc<Stored>) {
    let memory = Memory::new(1 << 20, disk.shared.log.clone());
    memory.demote_to(disk.clone());
    let put = |number, stored| {
        let taken = memory.insert(&key(number), memory.begin(), stored, 8);
        taken.expect("there is room");
    };
    let other = response(1, 500);
    other.set_below();
    let mut others = (1..).map(|number| put(number, other.clone()));
    while memory.statistics().evictions == 0 {
        others.next();
    }
    put(0, stored);
    while memory.peek(&key(0)).is_some() {
        others.next();
    }
}

/// What is found under the first key once all is loaded and written.
fn found(disk: &Disk, keeper: Keeper, segments: Vec<u32>) -> Vec<u64> {
    let thread = thread::spawn(move || keeper.run(segments));
    *disk.keeper.lock().expect("not poisoned") = Some(thread);
    disk.flush();
    numbers(disk)
}

fn numbers(disk: &Disk) -> Vec<u64> {
    let mut numbers: Vec<_> = find(disk, &key(0))
        .iter()
        .map(|found| number(found))
        .collect();
    numbers.sort_unstable();
    numbers
}

/// Has an earlier run leave these under the first key.
fn left(dir: &Dir, all: &[Arc<Stored>]) {
    let disk = dir.open_with(SIZE);
    for stored in all {
        assert!(disk.offer(&key(0), stored));
    }
}

#[test]
fn what_is_evicted_while_it_is_loaded_takes_the_place_of_what_is_found() {
    let dir = Dir::new();
    left(&dir, &[accepting("a", 1, 1000), accepting("b", 2, 1000)]);
    let (disk, keeper, segments) = not_loaded(&dir, SIZE);
    let disk = Arc::new(disk);
    evict(&disk, accepting("a", 3, 1000));
    assert_eq!(found(&disk, keeper, segments), [2, 3]);
    drop(disk);
    assert_eq!(numbers(&dir.open_with(SIZE)), [2, 3], "after a restart");
}

/// The keeper writes nothing before all is loaded.
#[test]
fn nothing_older_is_found_while_what_comes_meanwhile_waits() {
    let rows = [(true, true), (true, false), (false, true), (false, false)];
    for (is_evicted, is_found_before) in rows {
        let dir = Dir::new();
        left(&dir, &[accepting("a", 1, 1000), accepting("b", 2, 1000)]);
        let (disk, mut keeper, segments) = not_loaded(&dir, SIZE);
        let disk = Arc::new(disk);
        if is_found_before {
            keeper.load(segments.clone());
            disk.shared.is_whole.store(false, Release);
        }
        if is_evicted {
            evict(&disk, accepting("a", 3, 1000));
        } else {
            assert!(disk.offer(&key(0), &accepting("a", 3, 1000)));
        }
        if !is_found_before {
            keeper.load(segments);
        }
        let waiting = numbers(&disk);
        let written = found(&disk, keeper, Vec::new());
        let row = (is_evicted, is_found_before);
        assert_eq!((waiting, written), (vec![2], vec![2, 3]), "{row:?}");
    }
}

/// What an earlier run wrote is found again at the next start, unless something later is written or it is purged.
#[test]
fn what_hides_an_older_version_and_cannot_be_written_is_purged() {
    let dir = Dir::new();
    left(&dir, &[accepting("a", 1, 1000)]);
    let (disk, keeper, segments) = not_loaded(&dir, SIZE);
    let mut fields = HeaderMap::new();
    let long = vec![b'a'; SIZE as usize / 3];
    fields.insert("x-long", HeaderValue::from_bytes(&long).expect("a value"));
    let mut unfit = Stored::clone(&accepting("a", 2, 1000));
    unfit.fields = Fields::pack(&fields);
    let before = disk.shared.log.head();
    assert!(disk.offer(&key(0), &Arc::new(unfit)));
    assert_eq!(found(&disk, keeper, segments), [0; 0]);
    assert_eq!(disk.shared.log.head(), before + 1);
}

#[test]
fn nothing_older_is_found_than_what_is_evicted_while_it_is_loaded_and_not_taken() {
    let dir = Dir::new();
    let older = accepting("a", 2, SIZE as usize / 3);
    left(
        &dir,
        &[accepting("a", 1, 1000), older, accepting("b", 3, 1000)],
    );
    let (disk, keeper, segments) = not_loaded(&dir, SIZE);
    let disk = Arc::new(disk);
    evict(&disk, accepting("a", 4, TOO_LARGE));
    assert_eq!(found(&disk, keeper, segments), [3]);
    assert_eq!(disk.statistics().large_files, 0);
}

/// A purge is written to the log, and memory waits for it with the table locked.
#[test]
fn nothing_is_purged_however_much_is_evicted_while_it_is_loaded() {
    const MANY: u64 = 70_000;
    let dir = Dir::new();
    left(&dir, &[accepting("a", 1, 1000)]);
    let (disk, keeper, segments) = not_loaded(&dir, SIZE);
    let newer = accepting("a", 2, 1000);
    let before = disk.shared.log.head();
    for number in (0..MANY).rev() {
        disk.forget_versions(&key(number), &newer);
    }
    let found = found(&disk, keeper, segments);
    assert_eq!(disk.shared.log.head(), before);
    assert_eq!(found, [0; 0]);
}

/// Of what is about to be written, only its own variant is forgotten, and nothing that comes later.
#[test]
fn what_is_evicted_and_not_taken_leaves_the_other_variants_alone() {
    for is_loaded in [true, false] {
        let dir = Dir::new();
        left(&dir, &[accepting("a", 1, 1000)]);
        let (disk, mut keeper, segments) = not_loaded(&dir, SIZE);
        if is_loaded {
            keeper.load(segments.clone());
        }
        let disk = Arc::new(disk);
        let offered = [accepting("a", 2, 1000), accepting("b", 3, 1000)];
        let offered = offered.map(|stored| disk.offer(&key(0), &stored));
        evict(&disk, accepting("a", 4, TOO_LARGE));
        let later = disk.offer(&key(0), &accepting("c", 5, 1000));
        let left = if is_loaded { Vec::new() } else { segments };
        assert_eq!(found(&disk, keeper, left), [3, 5], "{is_loaded}");
        assert_eq!((offered, later), ([true; 2], true), "{is_loaded}");
    }
}
