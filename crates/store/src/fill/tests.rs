use super::*;
use crate::{Body, BodyPiece, Budget, arena, disk::Failed};
use bytes::Bytes;
use proptest::prelude::*;
use std::{
    sync::{
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc,
    },
    task::{Wake, Waker},
    thread,
    time::Duration,
};

mod mapped;

fn begin(limit: u64) -> (Arc<Fill>, Writer) {
    Fill::begin(Budget::new(limit).reservation())
}

fn next(reader: &mut Reader) -> Poll<Option<Result<Bytes, Broken>>> {
    reader.poll_next(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn readers_follow_while_it_is_written_each_from_the_first_byte() {
    let (fill, mut writer) = begin(1 << 20);
    let mut early = fill.reader().expect("fresh");
    assert!(next(&mut early).is_pending());
    assert_eq!(writer.push(b"one"), Pushed::Kept);
    assert_eq!(next(&mut early), Poll::Ready(Some(Ok(Bytes::from("one")))));
    writer.push(b"two");
    let mut late = fill.reader().expect("kept");
    assert_eq!(next(&mut late), Poll::Ready(Some(Ok(Bytes::from("one")))));
    let Some(Body::Whole(body)) = writer.finish() else {
        panic!("kept")
    };
    assert_eq!(body, "onetwo");
    assert_eq!(next(&mut early), Poll::Ready(Some(Ok(Bytes::from("two")))));
    assert_eq!(next(&mut early), Poll::Ready(None));
}

/// A reader that has stopped reading learns that the writer begins to wait.
#[test]
fn a_reader_that_reads_nothing_is_told_of_the_spill() {
    let (fill, mut writer) = begin(1 << 20);
    let reader = fill.reader().expect("fresh");
    let woken = Arc::new(WakeFlag::default());
    let waker = Waker::from(woken.clone());
    let may_hold_up = || reader.may_hold_up(&Context::from_waker(&waker));
    writer.push(b"one");
    assert!(!may_hold_up());
    writer.overflow();
    assert!(woken.0.load(Relaxed) && may_hold_up());
    writer.finish();
    assert!(!may_hold_up(), "nothing is to come");
}

#[test]
fn a_dropped_writer_breaks_every_reader() {
    let (fill, mut writer) = begin(1 << 20);
    let mut reader = fill.reader().expect("fresh");
    writer.push(b"half");
    drop(writer);
    assert!(next(&mut reader).is_ready());
    assert_eq!(next(&mut reader), Poll::Ready(Some(Err(Broken::Left))));
    assert!(fill.reader().is_none());
}

#[test]
fn a_spilled_fill_holds_no_more_than_the_window_and_cuts_the_slow_off() {
    let (fill, mut writer) = begin(WINDOW);
    let mut quick = fill.reader().expect("fresh");
    let mut slow = fill.reader().expect("fresh");
    let piece = vec![0u8; WINDOW as usize];
    assert_eq!(writer.push(&piece), Pushed::Kept);
    assert_eq!(writer.push(&piece), Pushed::Spilled);
    assert!(fill.reader().is_none(), "nobody joins a spilled fill");
    let mut context = Context::from_waker(Waker::noop());
    assert!(writer.poll_room(&mut context).is_pending());
    while next(&mut quick).is_ready() {}
    assert!(
        writer.poll_room(&mut context).is_pending(),
        "the slow one still holds it back"
    );
    writer.cut_off_slow();
    assert!(writer.poll_room(&mut context).is_ready());
    assert_eq!(next(&mut slow), Poll::Ready(Some(Err(Broken::Late))));
    assert_eq!(fill.lock().held.bytes(), 0);
    assert!(
        writer.finish().is_none(),
        "a spilled body is not for the store"
    );
}

/// Nobody would have a use for the rest.
#[test]
fn what_is_spilled_is_not_kept_by_who_has_its_answer() {
    let (fill, mut writer) = begin(1 << 20);
    let (one, two) = (fill.interest(), fill.reader().expect("fresh"));
    writer.spill();
    one.keep();
    two.keep();
    let mut context = Context::from_waker(Waker::noop());
    assert!(fill.poll_abandoned(&mut context).is_pending());
    drop(two);
    assert!(fill.poll_abandoned(&mut context).is_ready());
}

/// It goes on for those who read it, and for those who ask for that later.
#[test]
fn what_is_let_go_is_abandoned_when_nobody_reads_it() {
    let (fill, mut writer) = begin(1 << 20);
    let interested = || fill.poll_interested(&mut Context::from_waker(Waker::noop()));
    fill.interest().keep();
    assert_eq!(interested(), Interested::Later);
    writer.announce(Some(3));
    assert_eq!(interested(), Interested::Somebody, "it ends");
    writer.announce(None);
    let reader = fill.reader().expect("fresh");
    assert_eq!(interested(), Interested::Somebody, "it is read");
    writer.let_go();
    assert_eq!(interested(), Interested::Somebody, "it is still read");
    reader.keep();
    drop(reader);
    assert_eq!(interested(), Interested::Later, "it is kept again");
    writer.let_go();
    assert_eq!(interested(), Interested::Nobody);
    assert!(fill.reader().is_none(), "its writer goes");
}

#[test]
fn what_a_slow_reader_has_still_to_read_of_a_spilled_fill_stays_in_the_budget() {
    let budget = Budget::new(100);
    let (fill, mut writer) = Fill::begin_within(budget.reservation(), 4);
    let mut reader = fill.reader().expect("fresh");
    for _ in 0..8 {
        assert_eq!(writer.push(&[0; 10]), Pushed::Kept);
    }
    writer.spill();
    assert_eq!(budget.reserved(), 80);
    assert!(!room(&mut writer));
    for read in 1..8 {
        assert!(next(&mut reader).is_ready());
        assert!(!room(&mut writer));
        assert_eq!(budget.reserved(), 80 - read * 10);
    }
    assert!(next(&mut reader).is_ready() && room(&mut writer));
    assert_eq!(budget.reserved(), 0);
    assert_eq!(writer.push(&[0; 10]), Pushed::Spilled);
    assert_eq!(budget.reserved(), 10);
    drop(writer);
    assert_eq!(
        budget.reserved(),
        10,
        "it broke off, and a reader has not come so far"
    );
    drop(reader);
    drop(fill);
    assert_eq!(budget.reserved(), 0);
}

#[test]
fn it_is_abandoned_when_the_last_interest_goes() {
    let (fill, _writer) = begin(1 << 20);
    let waiting = fill.interest();
    let reader = fill.reader().expect("fresh");
    let mut context = Context::from_waker(Waker::noop());
    drop(waiting);
    assert!(fill.poll_abandoned(&mut context).is_pending());
    drop(reader);
    assert!(fill.reader().is_some(), "just in time");
    assert!(fill.poll_abandoned(&mut context).is_ready());
    assert!(fill.reader().is_none(), "its writer goes");
}

#[test]
fn what_has_come_as_announced_is_not_abandoned() {
    let (fill, mut writer) = begin(1 << 20);
    writer.announce(Some(4));
    let mut context = Context::from_waker(Waker::noop());
    writer.push(b"abc");
    assert!(fill.poll_abandoned(&mut context).is_ready());
    writer.push(b"d");
    assert!(fill.poll_abandoned(&mut context).is_pending());
}

/// A device that takes as much as the test lets it, and fails when the test says so.
#[derive(Debug, Default)]
struct Device {
    refuses: bool,
    /// Pieces that it takes before it must be waited for.
    takes: usize,
    failed: bool,
    /// How often it was offered a piece while memory was short.
    offered_while_short: usize,
    /// Whether it has taken all, and has not written it yet.
    holds_the_end: bool,
    /// While the body is not finished, whole chunks of this many bytes can be read back.
    chunk: usize,
    bytes: Vec<u8>,
    waiting: Option<Waker>,
}

type Shared = Arc<Mutex<Device>>;

fn device(takes: usize, chunk: usize) -> Shared {
    Arc::new(Mutex::new(Device {
        takes,
        chunk,
        ..Device::default()
    }))
}

#[derive(Debug)]
struct OnDevice(Shared);

impl Overflow for OnDevice {
    fn begin(&self, _: Option<u64>) -> Option<Box<dyn Backing>> {
        let refuses = self.0.lock().expect("whole").refuses;
        (!refuses).then(|| Box::new(Self(self.0.clone())) as Box<dyn Backing>)
    }
}

impl Backing for OnDevice {
    fn poll_push(
        &mut self,
        piece: &Bytes,
        is_short: bool,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failed>> {
        let mut device = self.0.lock().expect("whole");
        device.offered_while_short += usize::from(is_short);
        if device.failed {
            return Poll::Ready(Err(Failed));
        }
        let Some(takes) = device.takes.checked_sub(1) else {
            device.waiting = Some(context.waker().clone());
            return Poll::Pending;
        };
        device.takes = takes;
        device.bytes.extend_from_slice(piece);
        Poll::Ready(Ok(()))
    }

    fn written(&self) -> BodyPiece {
        let device = self.0.lock().expect("whole");
        let whole = device.bytes.len() / device.chunk * device.chunk;
        Bytes::copy_from_slice(&device.bytes[..whole]).into()
    }

    fn poll_finish(&mut self, context: &mut Context<'_>) -> Poll<Result<BodyPiece, Failed>> {
        let mut device = self.0.lock().expect("whole");
        if device.failed {
            return Poll::Ready(Err(Failed));
        }
        if device.holds_the_end {
            device.waiting = Some(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Ok(Bytes::copy_from_slice(&device.bytes).into()))
    }
}

fn backed(device: &Shared, budget: &Arc<Budget>, window: u64) -> (Arc<Fill>, Writer) {
    let (fill, mut writer) = Fill::begin_within(budget.reservation(), window);
    writer.overflow_to(Arc::new(OnDevice(device.clone())));
    (fill, writer)
}

fn room(writer: &mut Writer) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    writer.poll_room(&mut context).is_ready()
}

fn end(writer: &mut Writer) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    writer.poll_end(&mut context).is_ready()
}

/// Everything that a reader can get now.
fn read(reader: &mut Reader) -> Vec<u8> {
    let mut all = Vec::new();
    while let Poll::Ready(Some(Ok(bytes))) = next(reader) {
        all.extend_from_slice(&bytes);
    }
    all
}

#[test]
fn a_backed_fill_is_read_from_the_first_byte_and_stored() {
    let device = device(usize::MAX, 1);
    let budget = Budget::new(8);
    let (fill, mut writer) = backed(&device, &budget, 4);
    let mut early = fill.reader().expect("fresh");
    for piece in [b"abcd", b"efgh", b"ijkl", b"mnop"] {
        assert_eq!(writer.push(piece), Pushed::Kept);
        assert!(room(&mut writer), "it never waits for readers");
    }
    assert_eq!(fill.lock().held.bytes(), 4);
    assert_eq!(budget.reserved(), 4);
    assert_eq!(read(&mut early), b"abcdefghijklmnop");
    assert_eq!(fill.lock().held.bytes(), 0, "everybody has passed it");
    let mut late = fill.reader().expect("on disk");
    assert!(end(&mut writer));
    let Some(Body::Whole(body)) = writer.finish() else {
        panic!("kept")
    };
    assert_eq!(body, "abcdefghijklmnop");
    assert_eq!(read(&mut late), b"abcdefghijklmnop");
    assert_eq!(next(&mut late), Poll::Ready(None));
    let mut last = fill.reader().expect("whole");
    last.skip(10);
    assert_eq!(read(&mut last), b"klmnop");
}

/// The store weighs only the body's place on the device.
#[test]
fn what_a_slow_reader_has_still_to_read_of_a_stored_backed_fill_stays_in_the_budget() {
    let device = device(usize::MAX, 1);
    let budget = Budget::new(100);
    let (fill, mut writer) = backed(&device, &budget, 40);
    writer.overflow();
    let mut reader = fill.reader().expect("fresh");
    for _ in 0..8 {
        assert_eq!(writer.push(&[0; 10]), Pushed::Kept);
        assert!(room(&mut writer));
    }
    assert!(end(&mut writer) && writer.finish().is_some());
    assert_eq!((fill.lock().held.bytes(), budget.reserved()), (40, 40));
    fill.spill();
    assert_eq!(budget.reserved(), 40, "it is there once");
    assert_eq!(read(&mut reader).len(), 80);
    assert_eq!(budget.reserved(), 0);
}

/// All of it can be read from the device.
#[test]
fn a_backed_fill_holds_little_where_memory_is_short() {
    const WIDE: u64 = 16 << 10;
    let device = device(usize::MAX, 1);
    let budget = Budget::new(4 * WIDE);
    let mut others = budget.reservation();
    let (fill, mut writer) = backed(&device, &budget, WIDE);
    writer.overflow();
    let mut reader = fill.reader().expect("fresh");
    let mut push = || {
        for _ in 0..20 {
            assert_eq!(writer.push(&[0; 1 << 10]), Pushed::Kept);
            assert!(room(&mut writer));
        }
        fill.lock().held.bytes()
    };
    assert_eq!(push(), WIDE);
    others.hold(3 * WIDE);
    assert!(push() <= 4 << 10);
    others.release();
    assert_eq!(push(), WIDE);
    assert!(end(&mut writer));
    assert_eq!(read(&mut reader).len(), 60 << 10);
}

/// However slow the device is, others have room.
#[test]
fn a_fill_takes_room_for_what_will_wait_for_the_device() {
    const WIDE: u64 = 40;
    let device = device(1, 1);
    let budget = Budget::new(64);
    let (fills, mut writers): (Vec<_>, Vec<_>) =
        (0..8).map(|_| backed(&device, &budget, WIDE)).unzip();
    let taken: Vec<_> = writers.iter_mut().map(Writer::overflow).collect();
    assert_eq!(taken, [[Pushed::Kept; 4], [Pushed::Short; 4]].concat());
    assert_eq!(budget.reserved(), 40, "a quarter is left to others");
    let [one, two, ..] = &mut writers[..] else {
        panic!("eight")
    };
    for _ in 0..2 {
        assert_eq!(one.push(&[0; 5]), Pushed::Kept);
    }
    assert_eq!(budget.reserved(), 40, "it was taken ahead");
    assert!(!room(one) && device.lock().expect("whole").offered_while_short == 0);
    assert_eq!(two.push(&[0; 19]), Pushed::Kept);
    assert_eq!(budget.reserved(), 49);
    assert!(!room(two) && device.lock().expect("whole").offered_while_short == 1);
    device.lock().expect("whole").refuses = true;
    let refused = backed(&device, &budget, WIDE).1.overflow();
    assert_eq!(
        refused,
        Pushed::Spilled,
        "it would not be taken with room either"
    );
    let (_, kept) = backed(&device, &budget, WIDE);
    assert!(two.is_short() && !kept.is_short(), "as much as is needed");
    assert_eq!(two.push(&[0; 15]), Pushed::Kept);
    assert_eq!(two.push(&[0; 1]), Pushed::Spilled, "there is no more room");
    device.lock().expect("whole").takes = usize::MAX;
    assert!(end(one) && budget.reserved() == 20, "{budget:?}");
    drop(writers);
    assert_eq!(budget.reserved(), 0, "{fills:?}");
}

#[test]
fn a_device_that_fails_takes_nothing_from_those_who_read() {
    let device = device(usize::MAX, 1);
    let (fill, mut writer) = backed(&device, &Budget::new(100), 4);
    let (mut near, mut far) = (fill.reader().expect("a"), fill.reader().expect("b"));
    assert_eq!(writer.overflow(), Pushed::Kept, "from the first byte");
    writer.push(b"abcdef");
    writer.push(b"gh");
    assert!(room(&mut writer));
    assert_eq!(read(&mut near), b"abcdefgh");
    device.lock().expect("whole").failed = true;
    assert_eq!(writer.push(b"ij"), Pushed::Kept);
    assert!(
        !room(&mut writer),
        "one has to read what lies on disk alone"
    );
    assert!(writer.is_spilled() && fill.reader().is_none());
    assert_eq!(read(&mut near), b"ij");
    assert_eq!(read(&mut far), b"abcdefghij");
    assert!(room(&mut writer));
    assert_eq!(fill.lock().held.bytes(), 0, "as of any that is spilled");
    assert_eq!(writer.push(b"kl"), Pushed::Spilled);
    assert!(writer.finish().is_none());
    for mut reader in [near, far] {
        assert_eq!(read(&mut reader), b"kl");
        assert_eq!(next(&mut reader), Poll::Ready(None));
    }
}

#[test]
fn who_does_not_read_what_a_failed_device_has_is_cut_off() {
    let device = device(usize::MAX, 1);
    let (fill, mut writer) = backed(&device, &Budget::new(100), 4);
    let (mut near, mut far) = (fill.reader().expect("a"), fill.reader().expect("b"));
    assert_eq!(writer.overflow(), Pushed::Kept);
    writer.push(b"abcdef");
    assert!(room(&mut writer));
    assert_eq!(read(&mut near), b"abcdef");
    device.lock().expect("whole").failed = true;
    writer.push(b"gh");
    assert!(!room(&mut writer));
    writer.cut_off_slow();
    assert!(room(&mut writer));
    assert_eq!(next(&mut far), Poll::Ready(Some(Err(Broken::Late))));
    assert_eq!(read(&mut near), b"gh");
}

#[test]
fn who_keeps_nobody_waiting_is_not_cut_off() {
    let (fill, mut writer) = begin(2 * WINDOW);
    let mut slow = fill.reader().expect("fresh");
    let piece = vec![0u8; WINDOW as usize];
    assert_eq!(writer.push(&piece), Pushed::Kept);
    writer.spill();
    writer.push(&piece);
    assert!(!room(&mut writer));
    writer.cut_off_slow();
    assert!(!room(&mut writer), "it is waited for");
    assert_eq!(read(&mut slow).len(), 2 * WINDOW as usize);
    assert!(room(&mut writer));
}

/// The writer waits for `seconds`.
fn wait(writer: &mut Writer, seconds: u64) {
    assert!(!room(writer));
    writer.begin_wait();
    writer.waited(Duration::from_secs(seconds));
}

#[test]
fn who_owes_others_ten_seconds_is_cut_off() {
    let (fill, mut writer) = begin(8 * WINDOW);
    let [mut quick, mut near, mut slow] = [(); 3].map(|()| fill.reader().expect("fresh"));
    let piece = vec![0u8; WINDOW as usize];
    writer.push(&piece);
    writer.spill();
    writer.push(&piece);
    wait(&mut writer, 60);
    assert!(next(&mut near).is_ready(), "nobody had read on");
    wait(&mut writer, 60);
    assert_eq!(read(&mut quick).len(), 2 * WINDOW as usize);
    wait(&mut writer, 9);
    wait(&mut writer, 1);
    assert!(room(&mut writer));
    assert_eq!(next(&mut slow), Poll::Ready(Some(Err(Broken::Late))));
    assert_eq!(read(&mut near).len(), WINDOW as usize, "it was near enough");
}

/// It wants a part that has not come yet.
#[test]
fn who_is_ahead_of_what_has_come_waits_too() {
    let (fill, mut writer) = begin(8 * WINDOW);
    let [mut ahead, mut slow] = [(); 2].map(|()| fill.reader().expect("fresh"));
    ahead.skip(5 * WINDOW);
    writer.push(&vec![0u8; 2 * WINDOW as usize]);
    writer.spill();
    wait(&mut writer, 9);
    wait(&mut writer, 1);
    assert!(room(&mut writer));
    assert_eq!(next(&mut slow), Poll::Ready(Some(Err(Broken::Late))));
}

#[test]
fn who_has_waited_as_long_for_others_owes_nothing() {
    let (fill, mut writer) = begin(8 * WINDOW);
    let mut readers = [(); 2].map(|()| fill.reader().expect("fresh"));
    let piece = vec![0u8; WINDOW as usize + 1];
    writer.spill();
    for turn in 0..10 {
        writer.push(&piece);
        let (first, second) = (turn % 2, 1 - turn % 2);
        read(&mut readers[first]);
        assert!(!room(&mut writer));
        writer.begin_wait();
        writer.waited(Duration::from_secs(9));
        assert_eq!(read(&mut readers[second]).len(), piece.len());
        assert!(room(&mut writer));
    }
}

#[test]
fn a_device_that_fails_at_the_end_takes_nothing_from_those_who_read() {
    let device = device(usize::MAX, 1);
    let (fill, mut writer) = backed(&device, &Budget::new(100), 4);
    let reader = fill.reader().expect("fresh");
    assert_eq!(writer.overflow(), Pushed::Kept);
    for piece in [b"abcdef", b"ghijkl"] {
        writer.push(piece);
        assert!(room(&mut writer));
    }
    assert!(fill.lock().held.first() > 0, "some lies on disk alone");
    device.lock().expect("whole").holds_the_end = true;
    assert!(!end(&mut writer), "it is not to be stored yet");
    let mut late = fill.reader().expect("all of it is here");
    assert_eq!(read(&mut late), b"abcdefghijkl");
    assert_eq!(
        next(&mut late),
        Poll::Ready(None),
        "nobody waits for the device"
    );
    let late = fill.reader().expect("all of it is here");
    device.lock().expect("whole").failed = true;
    assert!(end(&mut writer));
    assert!(fill.reader().is_none() && writer.finish().is_none());
    for mut reader in [reader, late] {
        assert_eq!(read(&mut reader), b"abcdefghijkl");
        assert_eq!(next(&mut reader), Poll::Ready(None));
    }
}

#[test]
fn a_device_that_hangs_is_given_up() {
    let device = device(1, 1);
    let (fill, mut writer) = backed(&device, &Budget::new(100), 4);
    writer.overflow();
    let mut reader = fill.reader().expect("fresh");
    writer.push(b"ab");
    assert!(room(&mut writer));
    writer.push(b"cd");
    assert!(!room(&mut writer));
    writer.cut_off_slow();
    assert!(room(&mut writer));
    assert_eq!(read(&mut reader), b"abcd", "it was near enough");
    assert!(writer.finish().is_none());
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Push(usize),
    Overflow,
    Take(usize),
    Fail,
    Refuse,
    CutOff,
    Join(u64),
    Read(usize, usize),
    Leave(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1usize..20).prop_map(Step::Push),
        1 => Just(Step::Overflow),
        4 => (1usize..4).prop_map(Step::Take),
        1 => Just(Step::Fail),
        1 => Just(Step::Refuse),
        1 => Just(Step::CutOff),
        4 => prop_oneof![Just(0), 0u64..100].prop_map(Step::Join),
        8 => (any::<usize>(), 1usize..6).prop_map(|(reader, times)| Step::Read(reader, times)),
        1 => any::<usize>().prop_map(Step::Leave),
    ]
}

/// Whether a task that waits was woken.
#[derive(Debug, Default)]
struct WakeFlag(AtomicBool);

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

/// A reader, what it should get and what it got.
struct Client {
    reader: Reader,
    skip: usize,
    got: Vec<u8>,
    end: Option<Result<(), Broken>>,
    woken: Arc<WakeFlag>,
    waits: bool,
}

impl Client {
    fn join(fill: &Arc<Fill>, skip: u64) -> Option<Self> {
        let mut reader = fill.reader()?;
        reader.skip(skip);
        Some(Self {
            reader,
            skip: skip as usize,
            got: Vec::new(),
            end: None,
            woken: Arc::default(),
            waits: false,
        })
    }

    fn read(&mut self, times: usize) {
        let waker = Waker::from(self.woken.clone());
        for _ in 0..times {
            if self.end.is_some() {
                return;
            }
            let woken = self.woken.0.swap(false, Relaxed);
            let polled = self.reader.poll_next(&mut Context::from_waker(&waker));
            assert!(
                polled.is_pending() || !self.waits || woken,
                "a wake-up was lost"
            );
            self.waits = polled.is_pending();
            match polled {
                Poll::Ready(Some(Ok(bytes))) => self.got.extend_from_slice(&bytes),
                Poll::Ready(Some(Err(broken))) => self.end = Some(Err(broken)),
                Poll::Ready(None) => self.end = Some(Ok(())),
                Poll::Pending => return,
            }
        }
    }
}

/// One fill, its writer and its readers.
struct Scene {
    fill: Arc<Fill>,
    writer: Writer,
    device: Shared,
    window: u64,
    all: Vec<u8>,
    clients: Vec<Client>,
    /// The writer as a task that may be asleep.
    woken: Arc<WakeFlag>,
    waits: bool,
    /// Whether it has cut off any reader.
    cuts: bool,
}

impl Scene {
    fn drive(&mut self) -> bool {
        let waker = Waker::from(self.woken.clone());
        let woken = self.woken.0.swap(false, Relaxed);
        let ready = self
            .writer
            .poll_room(&mut Context::from_waker(&waker))
            .is_ready();
        assert!(
            !ready || !self.waits || woken,
            "the writer's wake-up was lost"
        );
        self.waits = !ready;
        ready
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Push(length) => {
                if self.drive() {
                    let from = self.all.len();
                    let bytes: Vec<u8> = (from..from + length)
                        .map(|at| (at * 7 % 251) as u8)
                        .collect();
                    self.all.extend_from_slice(&bytes);
                    self.writer.push(&bytes);
                    self.drive();
                }
            }
            Step::Overflow => {
                self.writer.overflow();
            }
            Step::Take(pieces) => {
                let mut device = self.device.lock().expect("whole");
                device.takes += pieces;
                let waiting = device.waiting.take();
                drop(device);
                waiting.into_iter().for_each(Waker::wake);
            }
            Step::Fail => {
                let mut device = self.device.lock().expect("whole");
                device.failed = true;
                let waiting = device.waiting.take();
                drop(device);
                waiting.into_iter().for_each(Waker::wake);
            }
            Step::Refuse => self.device.lock().expect("whole").refuses = true,
            Step::CutOff => {
                if self.waits {
                    self.writer.cut_off_slow();
                    (self.waits, self.cuts) = (false, true);
                }
            }
            Step::Join(skip) => self.clients.extend(Client::join(&self.fill, skip)),
            Step::Read(client, times) => {
                let count = self.clients.len().max(1);
                if let Some(client) = self.clients.get_mut(client % count) {
                    client.read(times);
                }
            }
            Step::Leave(client) => {
                if client < self.clients.len() {
                    self.clients.swap_remove(client);
                }
            }
        }
    }

    fn check(&self) {
        for client in &self.clients {
            let wanted = self.all.get(client.skip..).unwrap_or_default();
            assert!(wanted.starts_with(&client.got), "a wrong byte");
        }
        let state = self.fill.lock();
        assert!(state.held.bytes() <= state.reservation.bytes(), "{state:?}");
        if let Keeping::Backed(written) = &state.keeping {
            let unwritten = state.held.received().saturating_sub(written.len());
            // At most a piece that is partly written, and one that was pushed after it.
            assert!(
                state.held.bytes() <= self.window.max(unwritten) + 40,
                "{state:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn each_reader_gets_exactly_the_bytes_or_an_error(
        steps in prop::collection::vec(any_step(), 1..60),
        limit in 0u64..200,
        chunk in 1usize..30,
        finishes: bool,
    ) {
        let device = device(0, chunk);
        let window = 30;
        let budget = Budget::new(limit);
        let (fill, writer) = backed(&device, &budget, window);
        let mut scene = Scene { fill, writer, device, window, all: Vec::new(), clients: Vec::new(), woken: Arc::default(), waits: false, cuts: false };
        for step in steps {
            scene.step(step);
            scene.check();
        }
        scene.step(Step::Take(usize::MAX >> 1));
        scene.drive();
        let Scene { fill, mut writer, all, clients, device, cuts, .. } = scene;
        let kept = match fill.lock().keeping {
            Keeping::Memory => true,
            Keeping::Backed(_) => !device.lock().expect("whole").failed,
            Keeping::Left(_) | Keeping::Nowhere => false,
        };
        let body = if finishes { end(&mut writer); writer.finish() } else { drop(writer); None };
        prop_assert_eq!(body.is_some(), finishes && kept);
        if let Some(body) = &body {
            prop_assert_eq!(body.length(), Some(all.len() as u64));
        }
        for mut client in clients {
            client.read(usize::MAX);
            let wanted = all.get(client.skip..).unwrap_or_default();
            prop_assert!(wanted.starts_with(&client.got));
            match client.end {
                Some(Ok(())) => prop_assert!(finishes && client.got == wanted),
                // This holds whatever the device does.
                Some(Err(_)) => prop_assert!(!finishes || cuts),
                None => prop_assert!(false, "it waits for ever"),
            }
        }
        drop(fill);
        prop_assert_eq!(budget.reserved(), 0);
    }
}

#[test]
fn many_small_pieces_take_hardly_more_than_their_bytes() {
    let (fill, mut writer) = begin(1 << 20);
    let mut reader = fill.reader().expect("fresh");
    let all: Vec<u8> = (0..100_000_u32).map(|number| number as u8).collect();
    let mut read = Vec::new();
    for (number, byte) in all.iter().enumerate() {
        assert_eq!(writer.push(&[*byte]), Pushed::Kept);
        if number % 1000 == 7
            && let Poll::Ready(Some(Ok(some))) = next(&mut reader)
        {
            read.extend_from_slice(&some);
        }
    }
    let pieces = fill.lock().held.pieces().count();
    assert!(pieces < 200, "{pieces} pieces");
    let body = writer.finish().and_then(|body| body.in_one());
    while let Poll::Ready(Some(Ok(some))) = next(&mut reader) {
        read.extend_from_slice(&some);
    }
    assert!(body.expect("kept") == all && read == all);
}

#[test]
fn nobody_who_reads_waits_for_the_copy_that_is_kept() {
    arena::open(64 << 20).expect("a file in memory");
    let (fill, mut writer) = begin(1 << 20);
    let mut reader = fill.reader().expect("fresh");
    writer.push(&vec![1; 60_000]);
    writer.push(&vec![2; 60_000]);
    let held = arena::hold();
    let finishing = thread::spawn(move || writer.finish());
    let (told, done) = mpsc::channel();
    thread::spawn(move || {
        while next(&mut reader) != Poll::Ready(None) {
            thread::yield_now();
        }
        for _ in 0..100_000 {
            assert_eq!(fill.received(), 120_000);
        }
        told.send(())
    });
    let done = done.recv_timeout(Duration::from_secs(20));
    drop(held);
    assert_eq!(done, Ok(()), "they wait");
    let body = finishing.join().expect("it has finished");
    assert!(matches!(body, Some(Body::Mapped(_))), "{body:?}");
}

#[test]
fn what_is_complete_and_not_stored_stays_in_the_budget_until_it_is_read() {
    let budget = Budget::new(1 << 20);
    let (fill, mut writer) = Fill::begin(budget.reservation());
    let mut reader = fill.reader().expect("fresh");
    writer.push(&[0; 1000]);
    drop(writer.finish());
    assert_eq!(
        budget.reserved(),
        0,
        "it would be weighed where it is stored"
    );
    fill.spill();
    assert_eq!(budget.reserved(), 1000);
    assert!(fill.reader().is_none());
    assert!(matches!(next(&mut reader), Poll::Ready(Some(Ok(_)))));
    assert_eq!(next(&mut reader), Poll::Ready(None));
    assert_eq!(budget.reserved(), 0);
}
