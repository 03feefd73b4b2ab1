//! One thread that generates load, with its own runtime, share of the users, and counts. Workers share only the number
//! of requests that are left, if that is limited, and the position in a list.

mod pace;
mod present;
mod queue;
mod slice;
mod user;

use crate::{plan::Plan, shape::Shape, stream::Traffic, tally::Tally, timer::Timer};
use fastrand::Rng;
use pace::Pace;
use queue::Queue;
use slice::Hand;
use std::{
    cell::{Cell, RefCell},
    io,
    rc::Rc,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::Sender,
    },
    time::{Duration, Instant},
};
use tokio::{runtime::Runtime, task::LocalSet};

pub(crate) use present::Present;
pub(crate) use slice::Slice;

/// How often a worker checks the clock, and measures how late it does so.
const PULSE: Duration = Duration::from_millis(10);

/// Pulses between two hand-overs of its counts.
const PULSES: u32 = 25;

/// The time between two hand-overs.
pub(crate) const SPAN: Duration = Duration::from_millis(250);

/// Bytes read at once.
const SCRATCH: usize = 64 * 1024;

/// What all workers of a run share.
#[derive(Debug)]
pub(crate) struct Common {
    pub plan: Arc<Plan>,
    pub begin: Instant,
    /// Number of requests that were begun.
    pub begun: AtomicU64,
    /// Number of requests that were chosen from a list of several.
    pub chosen: AtomicU64,
    /// What the first TLS handshake agreed on.
    pub agreed: OnceLock<String>,
    /// Why the first TLS handshake that failed did, in words.
    pub refused: OnceLock<String>,
    /// Users that are there.
    pub present: Present,
    /// Set to end the run early.
    pub stop: Arc<AtomicBool>,
}

/// A worker.
#[derive(Debug)]
pub(crate) struct Worker {
    common: Arc<Common>,
    index: usize,
    tally: RefCell<Tally>,
    traffic: Rc<Traffic>,
    scratch: RefCell<Box<[u8]>>,
    /// For each asker, when the request that it waits for began.
    flights: Vec<Cell<Option<Instant>>>,
    /// Number of askers that are not done.
    askers: Cell<usize>,
    /// Number of users that have come and not gone; in an open loop, of requests under way.
    users: Cell<usize>,
    random: RefCell<Rng>,
    pace: Option<Pace>,
    queue: Queue,
}

/// What a worker runs on. All of it is made before the first connection is opened, so that connections cannot take the
/// last descriptors from it.
#[derive(Debug)]
pub(crate) struct Engine {
    runtime: Runtime,
    pulse: Timer,
    /// In an open loop: rings when requests are due.
    due: Option<Timer>,
}

impl Engine {
    /// Makes what a worker of this shape runs on.
    ///
    /// # Errors
    /// The machine has no room for a runtime.
    pub(crate) fn new(shape: Shape) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (pulse, due) = {
            let _inside = runtime.enter();
            let is_open = matches!(shape, Shape::Open { .. });
            let due = is_open.then(Timer::new).transpose()?;
            (Timer::new()?, due)
        };
        Ok(Self {
            runtime,
            pulse,
            due,
        })
    }
}

/// Runs a worker to its end. Sends its counts to `to`.
///
/// # Errors
/// The machine's timers fail.
pub(crate) fn run(
    common: Arc<Common>,
    index: usize,
    engine: Engine,
    to: &Sender<Slice>,
) -> io::Result<()> {
    let Engine {
        runtime,
        pulse,
        due,
    } = engine;
    let local = LocalSet::new();
    let workers = common.plan.threads();
    let askers = (index..common.plan.askers()).step_by(workers).count();
    // The askers of a connection share it, so they belong to the same worker.
    let askers = match common.plan.per_lane() {
        1 => askers,
        per_lane => {
            let lanes = common.plan.shape.most();
            (index..lanes).step_by(workers).count() * per_lane
        }
    };
    #[allow(clippy::cast_precision_loss, reason = "workers are as few as cores")]
    let (share, turn) = (1.0 / workers as f64, index as f64 / workers as f64);
    let rate = common.plan.most_rate.map(|rate| rate * share);
    let worker = Rc::new(Worker {
        index,
        tally: RefCell::default(),
        traffic: Rc::default(),
        scratch: RefCell::new(vec![0; SCRATCH].into()),
        flights: (0..askers).map(|_| Cell::new(None)).collect(),
        askers: Cell::new(askers),
        users: Cell::new(0),
        random: RefCell::new(Rng::with_seed(common.plan.seed ^ (index as u64) << 32)),
        // Workers take turns, so that together they keep to the limit from the first request on.
        pace: rate.and_then(|rate| Pace::new(rate, common.begin, turn)),
        queue: Queue::default(),
        common,
    });
    local.block_on(&runtime, worker.pulse(pulse, due, to))
}

impl Worker {
    /// Starts the askers, and watches the clock until the end.
    async fn pulse(
        self: Rc<Self>,
        mut timer: Timer,
        due: Option<Timer>,
        to: &Sender<Slice>,
    ) -> io::Result<()> {
        user::start_all(&self);
        if let Some(due) = due {
            tokio::task::spawn_local(queue::dispatch(Rc::clone(&self), due));
        }
        let mut hand = Hand::new(self.common.begin);
        for pulse in 1_u32.. {
            let due = self.common.begin + PULSE * pulse;
            timer.until(due).await?;
            let now = Instant::now();
            self.tally.borrow_mut().lag.record(now - due);
            let over = self.is_over(now);
            if over || pulse % PULSES == 0 {
                let slice = self.slice(&mut hand, now, over);
                // If nobody listens any more, the run is over.
                if to.send(slice).is_err() || over {
                    break;
                }
            }
        }
        Ok(())
    }

    fn is_over(&self, now: Instant) -> bool {
        let Common {
            plan, begin, stop, ..
        } = &*self.common;
        self.askers.get() == 0 || now >= *begin + plan.end.after || stop.load(Ordering::Relaxed)
    }

    /// Takes the right to one more request. Returns false if all have been begun.
    fn permit(&self) -> bool {
        let Some(most) = self.common.plan.end.requests else {
            return true;
        };
        self.common.begun.fetch_add(1, Ordering::Relaxed) < most
    }

    /// Returns the index of the next request in the list. Workers share the position, so that all of the list is
    /// requested evenly, however fast each worker is.
    fn pick(&self) -> usize {
        let site = &self.common.plan.site;
        if site.requests.len() < 2 {
            return 0;
        }
        let turn = self.common.chosen.fetch_add(1, Ordering::Relaxed);
        let mut random = self.random.borrow_mut();
        site.choice.pick(turn, site.requests.len(), &mut random)
    }
}
