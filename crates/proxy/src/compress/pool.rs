//! Threads for codings that would keep a worker too long: one for what clients wait for, one for the high level.

use super::{Claim, Counts, Encoder, high, whole};
use bytes::{Bytes, BytesMut};
use rules::coding::Coding;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Instant,
};
use store::{Level, Memory, Reservation, fill::Writer};

/// The most bodies that clients wait for and that wait themselves. Beyond it, content is sent as it is.
const BACKLOG: usize = 16;

/// The most bytes that may wait before a body, since its client has the head already. About a fifth of a second's work.
const BEFORE: u64 = 16 << 20;

/// The most forms that wait to be made better. Beyond it, a form stays as it is, until it is requested twice as often.
const BETTER: usize = 256;

/// The niceness by which the thread for the high level gives way to workers.
const NICE: i32 = 15;

/// The threads. Each is started when it first has something to do, and ends with the pool.
#[derive(Debug)]
pub struct Pool {
    memory: Arc<Memory>,
    counts: Arc<Counts>,
    fast: OnceLock<Option<SyncSender<Job>>>,
    backlog: Arc<EncodeBacklog>,
    high: OnceLock<Option<SyncSender<Better>>>,
}

/// A form that a client waits for.
pub struct Job {
    /// The content.
    pub pieces: Vec<Bytes>,
    /// The key of its response.
    pub key: Box<[u8]>,
    /// The right to make it.
    pub claim: Claim,
    /// Where clients follow it.
    pub writer: Writer,
    /// Given back when the form is made.
    pub place: EncodeSlot,
}

/// What waits, or is being made.
#[derive(Debug)]
struct EncodeBacklog(Mutex<BacklogState>);

#[derive(Debug)]
struct BacklogState {
    bodies: usize,
    bytes: u64,
    /// Held as long as anything waits. One encoder works at a time, and the smallest one must have room when its turn
    /// comes.
    encoder: Reservation,
}

impl EncodeBacklog {
    fn lock(&self) -> MutexGuard<'_, BacklogState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the bodies that clients wait for, with room for the form.
#[derive(Debug)]
pub struct EncodeSlot {
    backlog: Arc<EncodeBacklog>,
    bytes: u64,
    room: Reservation,
}

impl Drop for EncodeSlot {
    fn drop(&mut self) {
        let mut backlog = self.backlog.lock();
        backlog.bodies -= 1;
        backlog.bytes -= self.bytes;
        if backlog.bodies == 0 {
            backlog.encoder.release();
        }
    }
}

/// A form worth making at the high level. Nothing is held while it waits: it is not made if the content has gone by
/// then.
#[derive(Debug)]
pub struct Better {
    /// The key of its response.
    pub key: Box<[u8]>,
    /// The identity of the content.
    pub content: u64,
    /// The coding.
    pub coding: Coding,
}

impl Pool {
    /// A pool without threads yet.
    pub fn new(memory: Arc<Memory>, counts: Arc<Counts>) -> Self {
        Self {
            counts,
            fast: OnceLock::new(),
            backlog: Arc::new(EncodeBacklog(Mutex::new(BacklogState {
                bodies: 0,
                bytes: 0,
                encoder: memory.budget().reservation(),
            }))),
            high: OnceLock::new(),
            memory,
        }
    }

    /// Takes a place for a body of this many bytes that clients will wait for. `None` if too much waits already, or the
    /// budget has no room for its encoder or its form: a form that outgrew the budget would be held for its slowest
    /// reader.
    pub fn place(&self, bytes: u64, coding: Coding) -> Option<EncodeSlot> {
        self.fast()?;
        let mut backlog = self.backlog.lock();
        if backlog.bodies >= BACKLOG || backlog.bytes > BEFORE {
            return None;
        }
        let mut room = self.memory.budget().reservation();
        let held = backlog.encoder.bytes();
        let more = Encoder::least(coding).saturating_sub(held);
        if !room.grow(bytes) || !backlog.encoder.grow(more) {
            return None;
        }
        backlog.bodies += 1;
        backlog.bytes += bytes;
        Some(EncodeSlot {
            backlog: self.backlog.clone(),
            bytes,
            room,
        })
    }

    /// Makes a form while clients follow it. Returns `false` if there is no thread to make it. There is room for as
    /// many forms as there are places.
    #[must_use]
    pub fn make(&self, job: Job) -> bool {
        self.fast()
            .is_some_and(|sender| sender.try_send(job).is_ok())
    }

    fn fast(&self) -> Option<&SyncSender<Job>> {
        let (memory, counts) = (self.memory.clone(), self.counts.clone());
        let sender = self.fast.get_or_init(|| {
            let run = move |jobs: &Receiver<Job>| {
                work_off(jobs, |job| make(&memory, &counts, job));
            };
            start("larder-code", BACKLOG, run)
        });
        sender.as_ref()
    }

    /// Makes a form at the high level at some later time.
    pub fn make_better(&self, better: Better) {
        let (memory, counts) = (self.memory.clone(), self.counts.clone());
        let sender = self.high.get_or_init(|| {
            let run = move |jobs: &Receiver<Better>| {
                // No client waits for these. On Linux the niceness is the thread's own. If it is refused, the thread
                // works like the others.
                let _ = rustix::process::nice(NICE);
                work_off(jobs, |better| high::make(&memory, &counts, &better));
            };
            start("larder-code-high", BETTER, run)
        });
        // If there is no room, the form stays as it is; it will be requested again.
        let _ = sender.as_ref().map(|sender| sender.try_send(better));
    }
}

fn start<T: Send + 'static>(
    name: &str,
    waiting: usize,
    run: impl FnOnce(&Receiver<T>) + Send + 'static,
) -> Option<SyncSender<T>> {
    let (sender, jobs) = sync_channel(waiting);
    let thread = thread::Builder::new().name(name.to_owned());
    let started = thread.spawn(move || run(&jobs));
    started.ok().map(|_| sender)
}

/// Works until no more jobs can come. A panic in an encoder costs only the body that was being coded, which breaks off,
/// and none that come later.
fn work_off<T>(jobs: &Receiver<T>, work: impl Fn(T)) {
    while let Ok(job) = jobs.recv() {
        let _ = catch_unwind(AssertUnwindSafe(|| work(job)));
    }
}

fn make(memory: &Memory, counts: &Counts, job: Job) {
    let Job {
        pieces,
        key,
        claim,
        mut writer,
        mut place,
    } = job;
    let began = Instant::now();
    let length = pieces.iter().map(|piece| piece.len() as u64).sum();
    let (budget, coding) = (memory.budget(), claim.coding());
    let held = Encoder::least(coding);
    let encoder = Encoder::beside(budget, coding, Level::Fast, Some(length), held);
    let Some(encoder) = encoder else {
        return;
    };
    memory.make_room();
    let mut left: u64 = length;
    let give = |out: BytesMut| {
        // What was reserved becomes the writer's.
        left = left.saturating_sub(out.len() as u64);
        place.room.shrink_to(left);
        writer.push(&out);
        memory.make_room();
    };
    if whole::encode(&pieces, encoder, give).is_err() {
        return;
    }
    if let Some(body) = writer.finish() {
        whole::keep(memory, counts, &key, &claim, length, body, began.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Its client has the head already: what would come late is sent as it is, at once.
    #[test]
    fn nothing_waits_behind_too_much() {
        let counts = Arc::<Counts>::default();
        let pool = |memory| {
            Pool::new(
                Arc::new(Memory::new(memory, Arc::default())),
                counts.clone(),
            )
        };
        let place = |pool: &Pool, bytes| pool.place(bytes, Coding::Gzip);
        let roomy = pool(1 << 30);
        let large = place(&roomy, BEFORE + 1).expect("nothing waits");
        assert!(place(&roomy, 1).is_none(), "too many bytes before it");
        drop(large);
        let all: Vec<_> = (0..BACKLOG).map_while(|_| place(&roomy, 1)).collect();
        assert_eq!(all.len(), BACKLOG);
        assert!(place(&roomy, 1).is_none(), "too many bodies before it");
        drop(all);
        assert!(place(&roomy, 1).is_some());
        let small = pool(2 << 20);
        assert!(place(&small, 2 << 20).is_none(), "no room for the form");
        assert!(place(&small, 1 << 19).is_some());
    }

    /// One encoder works at a time: bodies that wait take no room for one of their own.
    #[test]
    fn what_waits_shares_one_encoder() {
        let memory = Arc::new(Memory::new(4 << 20, Arc::default()));
        let pool = Pool::new(memory.clone(), Arc::default());
        let reserved = || memory.budget().reserved();
        let least = Encoder::least;
        let first = pool.place(1000, Coding::Gzip).expect("there is room");
        assert_eq!(reserved(), 1000 + least(Coding::Gzip));
        let all: Vec<_> = (0..10)
            .map_while(|_| pool.place(1000, Coding::Brotli))
            .collect();
        assert_eq!(all.len(), 10);
        assert_eq!(reserved(), 11_000 + least(Coding::Brotli));
        drop(first);
        assert_eq!(reserved(), 10_000 + least(Coding::Brotli));
        drop(all);
        assert_eq!(reserved(), 0);
    }

    #[test]
    fn a_panic_costs_one_body() {
        let (sender, jobs) = sync_channel(3);
        for number in 0..3 {
            sender.send(number).unwrap();
        }
        drop(sender);
        let done = Mutex::new(Vec::new());
        work_off(&jobs, |number| {
            assert_ne!(number, 1, "an encoder breaks");
            done.lock().unwrap().push(number);
        });
        assert_eq!(done.into_inner().unwrap(), [0, 2]);
    }
}
