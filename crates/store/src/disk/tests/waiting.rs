//! What waits to be written hides older responses, also those that come into the index only while it waits (RFC 9111
//! section 4: "a cache MUST use the most recent one").

use super::{
    evicted::{SIZE, accepting, numbers},
    *,
};
use crate::Variant;
use http::HeaderName;
use rules::vary;
use std::sync::mpsc::Receiver;

/// Holds the keeper up between what was queued before and after, until this is dropped.
struct Held {
    reached: Receiver<()>,
    _end: Receiver<()>,
}

impl Held {
    fn new(disk: &Disk) -> Self {
        let [reached, end] = [(); 2].map(|()| {
            // Without room for the answer, the keeper waits until somebody takes it.
            let (answer, told) = sync_channel(0);
            disk.shared.device.queue.push(Task::Flush(answer));
            told
        });
        Self { reached, _end: end }
    }

    /// Waits until all that was queued before is done.
    fn wait(&self) {
        self.reached.recv().expect("the keeper works");
    }
}

/// What is found under the first key once `older` is written while `new` still waits, and once both are written.
fn in_turn(disk: &Disk, older: &Arc<Stored>, new: &[Arc<Stored>]) -> (Vec<u64>, Vec<u64>) {
    let before = Held::new(disk);
    before.wait();
    assert!(disk.offer(&key(0), older));
    let between = Held::new(disk);
    for new in new {
        assert!(disk.offer(&key(0), new));
    }
    drop(before);
    between.wait();
    let waiting = numbers(disk);
    assert_eq!(disk.statistics().records, 1);
    drop(between);
    disk.flush();
    (waiting, numbers(disk))
}

#[test]
fn an_older_version_that_has_waited_too_is_hidden_when_it_is_written() {
    let dir = Dir::new();
    let disk = dir.open_with(SIZE);
    let found = in_turn(&disk, &response(1, 1000), &[response(2, 1000)]);
    assert_eq!(found, (vec![], vec![2]));
    drop(disk);
    assert_eq!(numbers(&dir.open_with(SIZE)), [2], "after a restart");
}

#[test]
fn an_older_version_that_has_waited_too_goes_with_what_cannot_be_written() {
    let dir = Dir::new();
    let disk = dir.open_with(SIZE);
    let long = vec![b'a'; SIZE as usize / 3];
    let long = HeaderValue::from_bytes(&long).expect("a value");
    let fields = HeaderMap::from_iter([(HeaderName::from_static("x-long"), long)]);
    let mut unfit = Stored::clone(&response(2, 1000));
    unfit.fields = Fields::pack(&fields);
    let before = disk.shared.log.head();
    let found = in_turn(&disk, &response(1, 1000), &[Arc::new(unfit)]);
    assert_eq!(found, (vec![], vec![]));
    assert_eq!(disk.shared.log.head(), before + 1, "it is purged");
}

/// With the nominated fields of a request, or without any.
fn nominating(names: &[HeaderName], number: u64, is_fresh: bool) -> Arc<Stored> {
    let mut stored = Stored::clone(&response(number, 1000));
    let mut key = Vec::new();
    vary::variant_key(names, &sample::request("a"), &mut key);
    let variant = Variant {
        nominated: names.into(),
        key: key.into(),
    };
    stored.variant = (!names.is_empty()).then(|| Box::new(variant));
    stored.facts.lifetime_ms = if is_fresh { 1 << 60 } else { 0 };
    Arc::new(stored)
}

/// A row: what an older and a newer response nominate, whether the older is fresh, and whether it is found while the
/// newer waits. RFC 9111 section 4.1: where a response without `Vary` matches too, "the cache SHOULD choose the most
/// recent stored response with a valid Vary field value".
#[test]
fn what_another_variant_would_be_sent_instead_of_is_hidden() {
    let (accept, both) = ([header::ACCEPT], [header::ACCEPT, header::TE]);
    for (older, newer, is_fresh, is_found) in [
        (&[][..], &accept[..], true, false),
        (&[], &accept, false, false),
        (&accept, &[], true, true),
        (&accept, &[], false, false),
        (&accept, &both, true, false),
        (&both, &accept, true, false),
    ] {
        let dir = Dir::new();
        let disk = dir.open_with(SIZE);
        let older_one = nominating(older, 1, is_fresh);
        let found = in_turn(&disk, &older_one, &[nominating(newer, 2, true)]);
        let waiting = if is_found { vec![1] } else { vec![] };
        let row = (older, newer, is_fresh);
        assert_eq!(found, (waiting, vec![1, 2]), "{row:?}");
    }
}

#[test]
fn other_variants_are_found_unless_more_wait_than_are_compared() {
    for (many, expected) in [(32, vec![0]), (33, vec![])] {
        let dir = Dir::new();
        let disk = dir.open_with(SIZE);
        let new = (1..=many).map(|number| accepting(&format!("{number}"), number, 10));
        let new: Vec<_> = new.collect();
        let (waiting, _) = in_turn(&disk, &accepting("a", 0, 10), &new);
        assert_eq!(waiting, expected, "{many}");
        assert!(!disk.is_coming(&key(0)), "nothing waits any more");
    }
}

/// What is forgotten, as one who purges or replaces it would have it.
#[derive(Clone, Copy, Debug)]
enum Forgets {
    Nothing,
    Versions,
    All,
}

impl Forgets {
    fn forget(self, disk: &Disk, stored: &Stored) {
        match self {
            Self::Nothing => {}
            Self::Versions => disk.forget_versions(&key(0), stored),
            Self::All => disk.forget(&key(0)),
        }
    }
}

/// A row: what is forgotten while it waits, whether something is offered after that, and what is found once what waited
/// has been dealt with, and in the end. It is of a variant of which an older version is on disk; one of another variant
/// waits beside it.
#[test]
fn what_is_forgotten_while_it_waits_is_never_found() {
    for (forgets, is_offered, (waiting, written)) in [
        (Forgets::Nothing, false, (vec![2, 3], vec![2, 3])),
        (Forgets::Versions, false, (vec![3], vec![3])),
        (Forgets::Versions, true, (vec![3], vec![3, 4])),
        (Forgets::All, false, (vec![], vec![])),
        (Forgets::All, true, (vec![], vec![4])),
    ] {
        let row = (forgets, is_offered);
        let dir = Dir::new();
        let disk = dir.open_with(SIZE);
        assert!(disk.offer(&key(0), &accepting("a", 1, 1000)));
        let before = Held::new(&disk);
        before.wait();
        let offered = [accepting("a", 2, 1000), accepting("b", 3, 1000)];
        for stored in &offered {
            assert!(disk.offer(&key(0), stored));
        }
        let between = Held::new(&disk);
        forgets.forget(&disk, &offered[0]);
        if is_offered {
            assert!(disk.offer(&key(0), &accepting("a", 4, 1000)));
        }
        drop(before);
        between.wait();
        assert_eq!(numbers(&disk), waiting, "{row:?}");
        drop(between);
        disk.flush();
        assert_eq!(numbers(&disk), written, "{row:?}");
        assert_eq!(disk.statistics().records as usize, written.len(), "{row:?}");
        assert_eq!(disk.shared.log.head(), 0, "nothing is purged for it");
        drop(disk);
        let again = numbers(&dir.open_with(SIZE));
        assert_eq!(again, written, "{row:?}, after a restart");
    }
}

#[test]
fn what_is_forgotten_while_it_is_written_is_never_found() {
    for forgets in [Forgets::Versions, Forgets::All] {
        let dir = Dir::new();
        let disk = dir.open_with(SIZE);
        // The keeper has made a file, and cannot write to it yet.
        let segments = disk.shared.segments();
        let offered = response(1, 1000);
        assert!(disk.offer(&key(0), &offered));
        testkit::wait_until("it is being written", || dir.files("segment-").len() == 1);
        let held = Held::new(&disk);
        forgets.forget(&disk, &offered);
        drop(segments);
        held.wait();
        assert!(numbers(&disk).is_empty(), "{forgets:?}");
        drop(held);
        drop(disk);
        let again = numbers(&dir.open_with(SIZE));
        assert!(again.is_empty(), "{forgets:?}, after a restart");
    }
}

/// Otherwise what it would have replaced would be found again after a restart.
#[test]
fn what_is_forgotten_while_it_waits_is_purged_if_that_cannot_be_written() {
    let dir = Dir::new();
    put(&dir.open(), 0, 100);
    let disk = dir.open();
    let before = Held::new(&disk);
    before.wait();
    assert!(disk.offer(&key(0), &response(1, 100)));
    disk.forget(&key(0));
    fs::remove_dir_all(&dir.0).expect("removed");
    fs::write(&dir.0, "no directory").expect("written");
    drop(before);
    disk.flush();
    assert!(disk.shared.log.refuses(&key(0), None, 0));
    drop(disk);
    fs::remove_file(&dir.0).expect("removed");
}

/// A tier with one response that was asked for, and others that were not, which are evicted when it is moved.
fn to_be_moved(dir: &Dir) -> Arc<Disk> {
    let disk = dir.open_with(SIZE);
    put(&disk, 0, 1000);
    (1..=OTHERS).for_each(|number| put(&disk, number, 10_000));
    assert_eq!(numbers(&disk), [0]);
    disk
}

const OTHERS: u64 = 3;

/// Has the keeper make room, so that it moves what is worth it. Answers when that is done.
fn make_room(disk: &Disk) -> Receiver<bool> {
    let (answer, told) = sync_channel(1);
    let task = Task::Room(7, SIZE - 20_000, answer);
    disk.shared.device.queue.push(task);
    told
}

/// What happens while a record is moved.
#[derive(Clone, Copy, Debug)]
enum Meanwhile {
    Nothing,
    Offer,
    Forget,
}

#[test]
fn what_is_replaced_or_forgotten_while_it_is_moved_does_not_come_back() {
    for (meanwhile, expected) in [
        (Meanwhile::Nothing, (true, vec![0], vec![0])),
        (Meanwhile::Offer, (true, vec![], vec![5])),
        (Meanwhile::Forget, (true, vec![], vec![])),
    ] {
        let dir = Dir::new();
        let disk = to_be_moved(&dir);
        // The keeper can add no segment to write to, and remove none.
        let segments = disk.shared.segments();
        let room = make_room(&disk);
        let evicted = &disk.shared.device.counts.evicted;
        testkit::wait_until("the others are evicted", || evicted.load(Relaxed) == OTHERS);
        let is_known = disk.knows(&key(0));
        let held = Held::new(&disk);
        match meanwhile {
            Meanwhile::Nothing => {}
            Meanwhile::Offer => assert!(disk.offer(&key(0), &response(5, 1000))),
            Meanwhile::Forget => disk.forget(&key(0)),
        }
        drop(segments);
        assert_eq!(room.recv(), Ok(true));
        held.wait();
        let waiting = numbers(&disk);
        drop(held);
        disk.flush();
        let found = (is_known, waiting, numbers(&disk));
        assert_eq!(found, expected, "{meanwhile:?}");
        assert_eq!(disk.statistics().forwarded, 1, "{meanwhile:?}");
    }
}

#[test]
fn what_is_moved_before_it_is_read_is_found_in_its_new_place() {
    let dir = Dir::new();
    let disk = to_be_moved(&dir);
    let device = &disk.shared.device;
    let (held, gates): (Vec<_>, Vec<_>) = (0..READERS).map(|_| sync_channel::<()>(0)).unzip();
    for gate in gates {
        let wait = move || {
            let _ = gate.recv();
        };
        assert!(device.readers.run_soon(wait));
    }
    device.always_waits.store(true, Relaxed);
    let DiskLookup::Wait(mut finding) = disk.find(&key(0), Bodies::Read) else {
        panic!("it waits")
    };
    assert_eq!(make_room(&disk).recv(), Ok(true));
    drop(held);
    let found = wait(|context| Pin::new(&mut finding).poll(context));
    assert_eq!(found.len(), 1);
    assert_eq!(disk.statistics().forwarded, 1);
}
