//! What happens to a record while it is moved, or while something of its key waits to be written.

use super::{
    evicted::{SIZE, numbers},
    *,
};
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
