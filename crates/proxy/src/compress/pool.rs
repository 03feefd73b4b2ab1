//! Threads for codings that would keep a worker too long: one for what clients wait for, one for the high level.

use super::{Claim, Counts, high, whole};
use bytes::{Bytes, BytesMut};
use rules::coding::Coding;
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Instant,
};
use store::{Level, Memory, fill::Writer};

/// Bodies that clients wait for and that wait themselves; beyond it the content goes out as it is.
const WAITING: usize = 16;

/// Forms that wait to be made better; beyond it they stay as they are, until they are asked for twice as often.
const BETTER: usize = 256;

/// How far the thread for the high level stands back behind workers.
const NICE: i32 = 15;

/// The threads, started when there is something to do for the first time; they end with the pool.
#[derive(Debug)]
pub struct Pool {
    memory: Arc<Memory>,
    counts: Arc<Counts>,
    fast: OnceLock<Option<SyncSender<Job>>>,
    waiting: Arc<AtomicUsize>,
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
    /// Given back when it is done.
    pub place: Place,
}

/// One of the places for bodies that clients wait for.
#[derive(Debug)]
pub struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// A form worth making at the high level. Nothing is held while it waits: what has gone by then is not made.
#[derive(Debug)]
pub struct Better {
    /// The key of its response.
    pub key: Box<[u8]>,
    /// The identity of its response.
    pub id: u64,
    /// The coding.
    pub coding: Coding,
}

impl Pool {
    /// No thread yet.
    pub fn new(memory: Arc<Memory>, counts: Arc<Counts>) -> Self {
        Self {
            memory,
            counts,
            fast: OnceLock::new(),
            waiting: Arc::default(),
            high: OnceLock::new(),
        }
    }

    /// A place for a body that clients will wait for; `None` where too many wait already.
    pub fn place(&self) -> Option<Place> {
        let waiting = self.waiting.fetch_add(1, Relaxed);
        let place = Place(self.waiting.clone());
        if waiting < WAITING && self.fast().is_some() {
            return Some(place);
        }
        self.counts.refused.fetch_add(1, Relaxed);
        None
    }

    /// Makes a form while clients follow it.
    pub fn make(&self, job: Job) {
        // There is room for as many as there are places.
        if let Some(sender) = self.fast() {
            let _ = sender.try_send(job);
        }
    }

    fn fast(&self) -> Option<&SyncSender<Job>> {
        let (memory, counts) = (self.memory.clone(), self.counts.clone());
        let sender = self.fast.get_or_init(|| {
            let run = move |jobs: &Receiver<Job>| {
                while let Ok(job) = jobs.recv() {
                    make(&memory, &counts, job);
                }
            };
            start("larder-code", WAITING, run)
        });
        sender.as_ref()
    }

    /// Makes a form at the high level, some time.
    pub fn make_better(&self, better: Better) {
        let (memory, counts) = (self.memory.clone(), self.counts.clone());
        let sender = self.high.get_or_init(|| {
            let run = move |jobs: &Receiver<Better>| {
                // Nobody waits for these. On Linux this is the thread's own; where it is refused, it works as the others do.
                let _ = rustix::process::nice(NICE);
                while let Ok(better) = jobs.recv() {
                    high::make(&memory, &counts, &better);
                }
            };
            start("larder-code-high", BETTER, run)
        });
        // Where there is no room it stays as it is; it will be asked for again.
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

fn make(memory: &Memory, counts: &Counts, job: Job) {
    let Job {
        pieces,
        key,
        claim,
        mut writer,
        place,
    } = job;
    let began = Instant::now();
    let length = pieces.iter().map(|piece| piece.len() as u64).sum();
    let give = |out: BytesMut| {
        writer.push(&out);
        memory.make_room();
    };
    if whole::encode(&pieces, length, claim.coding(), Level::Fast, give).is_err() {
        return;
    }
    if let Some(body) = writer.finish() {
        whole::keep(memory, counts, &key, &claim, length, body, began.elapsed());
    }
    drop(place);
}
