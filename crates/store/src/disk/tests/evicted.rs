//! What memory evicts while something under its key is on disk, or may be. Of each variant, the most recent answers
//! (RFC 9111 section 4).

use super::{found::FoundSegment, loading::not_loaded, *};
use crate::Memory;
use std::{mem, sync::atomic::Ordering::Release};

/// Size of the tier. Bodies of more than half of it are not taken.
pub(super) const SIZE: u64 = 256 << 10;
const TOO_LARGE: usize = 150_000;

/// A response to requests with `accept`, with its number in a field.
pub(super) fn accepting(accept: &str, number: u64, length: usize) -> Arc<Stored> {
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
fn found(disk: &Disk, keeper: Keeper, segments: Vec<FoundSegment>) -> Vec<u64> {
    let thread = thread::spawn(move || keeper.run(segments));
    *disk.keeper.lock().expect("not poisoned") = Some(thread);
    disk.flush();
    numbers(disk)
}

/// What is found under the first key.
pub(super) fn numbers(disk: &Disk) -> Vec<u64> {
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

/// When an earlier run's versions are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// All is loaded before anything comes.
    Done,
    /// They are loaded, and not all else.
    Begun,
    /// They are loaded later than what comes.
    Later,
}

/// The keeper writes nothing before all is loaded, and nothing while the device stands still.
#[test]
fn nothing_older_is_found_while_what_comes_waits() {
    let loads = [Load::Done, Load::Begun, Load::Later];
    for (is_evicted, load) in [true, false]
        .into_iter()
        .flat_map(|is| loads.map(|load| (is, load)))
    {
        let dir = Dir::new();
        left(&dir, &[accepting("a", 1, 1000), accepting("b", 2, 1000)]);
        let (disk, mut keeper, mut segments) = not_loaded(&dir, SIZE);
        let disk = Arc::new(disk);
        if load != Load::Later {
            keeper.load(mem::take(&mut segments));
            disk.shared.is_whole.store(load == Load::Done, Release);
        }
        if is_evicted {
            evict(&disk, accepting("a", 3, 1000));
        } else {
            assert!(disk.offer(&key(0), &accepting("a", 3, 1000)));
        }
        if load == Load::Later {
            keeper.load(segments);
        }
        let waiting = numbers(&disk);
        let written = found(&disk, keeper, Vec::new());
        drop(disk);
        let again = numbers(&dir.open_with(SIZE));
        let row = (is_evicted, load);
        let all = (waiting, written, again);
        assert_eq!(all, (vec![2], vec![2, 3], vec![2, 3]), "{row:?}");
    }
}

/// A read that waits for the device while something newer comes brings nothing older.
#[test]
fn what_is_forgotten_while_it_is_read_is_not_found() {
    let dir = Dir::new();
    left(&dir, &[accepting("a", 1, 1000), accepting("b", 2, 1000)]);
    let (disk, mut keeper, segments) = not_loaded(&dir, SIZE);
    keeper.load(segments);
    disk.shared.device.always_waits.store(true, Relaxed);
    let DiskLookup::Wait(mut finding) = disk.find(&key(0), Bodies::Read) else {
        panic!("it waits")
    };
    assert!(disk.offer(&key(0), &accepting("a", 3, 1000)));
    let brought = wait(|context| Pin::new(&mut finding).poll(context));
    let brought: Vec<_> = brought.iter().map(|stored| number(stored)).collect();
    let counts = disk.statistics();
    assert_eq!(found(&disk, keeper, Vec::new()), [2, 3]);
    assert_eq!((brought, counts.hits, counts.misses), (vec![2], 1, 0));
}

/// An older version whose large file has the body of the newer one too, as after a 304, does not take the file along.
#[test]
fn what_is_hidden_leaves_its_file_to_what_hides_it() {
    const LONG: usize = 3 << 20;
    let dir = Dir::new();
    drop(dir.open());
    let disk = dir.open();
    put(&disk, 0, LONG);
    drop(disk);
    let (disk, mut keeper, segments) = not_loaded(&dir, 64 << 20);
    keeper.load(segments);
    let mut newer = Stored::clone(&find(&disk, &key(0))[0]);
    let mut fields = HeaderMap::new();
    fields.insert("x-number", HeaderValue::from(7));
    newer.fields = Fields::pack(&fields);
    let is_taken = disk.offer(&key(0), &Arc::new(newer));
    let waiting = numbers(&disk);
    let written = found(&disk, keeper, Vec::new());
    assert_eq!((is_taken, waiting, written), (true, vec![], vec![7]));
    let kept = content(&find(&disk, &key(0))[0]).expect("its file is there");
    assert!(kept == noise(0, LONG));
}

/// What was written before is found again at the next start, unless something later is written or it is purged.
#[test]
fn what_hides_an_older_version_and_cannot_be_written_is_purged() {
    for is_loaded in [true, false] {
        let dir = Dir::new();
        left(&dir, &[accepting("a", 1, 1000)]);
        let (disk, mut keeper, mut segments) = not_loaded(&dir, SIZE);
        if is_loaded {
            keeper.load(mem::take(&mut segments));
        }
        let mut fields = HeaderMap::new();
        let long = vec![b'a'; SIZE as usize / 3];
        fields.insert("x-long", HeaderValue::from_bytes(&long).expect("a value"));
        let mut unfit = Stored::clone(&accepting("a", 2, 1000));
        unfit.fields = Fields::pack(&fields);
        let before = disk.shared.log.head();
        let is_taken = disk.offer(&key(0), &Arc::new(unfit));
        let waiting = numbers(&disk);
        let found = found(&disk, keeper, segments);
        let all = (is_taken, waiting, found, disk.shared.log.head());
        assert_eq!(all, (true, vec![], vec![], before + 1), "{is_loaded}");
    }
}

/// An offer that is refused hides nothing: whoever made it decides what becomes of older versions.
#[test]
fn what_is_not_taken_hides_nothing() {
    let dir = Dir::new();
    left(&dir, &[accepting("a", 1, 1000)]);
    let disk = dir.open_with(SIZE);
    assert!(!disk.offer(&key(0), &accepting("a", 2, TOO_LARGE)));
    assert_eq!(numbers(&disk), [1]);
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
        let (disk, mut keeper, mut segments) = not_loaded(&dir, SIZE);
        if is_loaded {
            keeper.load(mem::take(&mut segments));
        }
        let disk = Arc::new(disk);
        let offered = [accepting("a", 2, 1000), accepting("b", 3, 1000)];
        let offered = offered.map(|stored| disk.offer(&key(0), &stored));
        evict(&disk, accepting("a", 4, TOO_LARGE));
        let later = disk.offer(&key(0), &accepting("c", 5, 1000));
        assert_eq!(found(&disk, keeper, segments), [3, 5], "{is_loaded}");
        assert_eq!((offered, later), ([true; 2], true), "{is_loaded}");
    }
}
