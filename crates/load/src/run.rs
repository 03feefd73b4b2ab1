//! A run: starts the workers, gathers what they count, and watches the machine meanwhile.

use crate::{
    fault::Fault,
    plan::Plan,
    process::{self, Use, Watch},
    shape::Shape,
    tally::Tally,
    timeline::{Point, Timeline},
    worker::{self, Common, Engine, Slice},
};
use serde::Serialize;
use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, channel},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

/// From which share of its core on a worker has no time left.
pub(crate) const FULL: f64 = 0.95;

/// Ends a run early, from another thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends the run that is going on, and every later one at once.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether that was asked for.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Its time was over.
    #[default]
    Time,
    /// All requests were done.
    Requests,
    /// It was stopped.
    Stopped,
    /// There was nowhere to send a request.
    NoAddress,
}

/// How a run is going, four times a second.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    /// Since the begin of the run.
    pub elapsed: Duration,
    /// What happened since the last time.
    pub point: &'a Point,
    /// Requests so far, with errors.
    pub requests: u64,
    /// Errors so far.
    pub errors: u64,
}

/// What the watched processes used in a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    /// CPU time.
    pub cpu: Duration,
    /// The most memory they had, in bytes.
    pub memory: u64,
    /// The most processes there were.
    pub processes: usize,
}

/// What a run, or several of one target, came to.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Counts.
    pub tally: Tally,
    /// How long it took: to its end, or to its last request where their number was bounded.
    pub took: Duration,
    /// Why it ended.
    pub ended: Ended,
    /// How it went over time.
    pub timeline: Timeline,
    /// Requests that had no answer at the end.
    pub unanswered: u64,
    /// In an open loop: those of them that were due and not even sent.
    pub unsent: u64,
    /// How long the oldest of them had waited.
    pub oldest: Duration,
    /// The most users that were there at once.
    pub peak: usize,
    /// What the watched processes used.
    pub used: Option<Used>,
    /// CPU time of this tool.
    pub tool_cpu: Duration,
    /// Which share of its core the busiest worker used.
    pub busiest: f64,
    /// Which share of the time it could have gone on as well, and had no core.
    pub busiest_waited: f64,
    /// Which share of the time a worker used all of its core.
    pub full: f64,
    /// Which share of this machine's cores was in use.
    pub machine: Option<f64>,
    /// TLS protocol and cipher suite.
    pub agreed: Option<String>,
}

impl Measured {
    /// Counts a later run of the same target too.
    pub fn add(&mut self, later: &Self) {
        let share = |ours: f64, theirs: f64| {
            let (one, other) = (self.took.as_secs_f64(), later.took.as_secs_f64());
            (ours * one + theirs * other) / (one + other).max(f64::MIN_POSITIVE)
        };
        self.machine = match (self.machine, later.machine) {
            (Some(ours), Some(theirs)) => Some(share(ours, theirs)),
            (ours, theirs) => ours.or(theirs),
        };
        self.full = share(self.full, later.full);
        if self.busiest + self.busiest_waited < later.busiest + later.busiest_waited {
            (self.busiest, self.busiest_waited) = (later.busiest, later.busiest_waited);
        }
        self.tally.add(&later.tally);
        self.took += later.took;
        self.ended = later.ended;
        self.timeline.append(&later.timeline);
        self.unanswered += later.unanswered;
        self.unsent += later.unsent;
        self.oldest = self.oldest.max(later.oldest);
        self.peak = self.peak.max(later.peak);
        self.tool_cpu += later.tool_cpu;
        self.agreed = self.agreed.take().or_else(|| later.agreed.clone());
        self.used = match (self.used, later.used) {
            (Some(ours), Some(theirs)) => Some(Used {
                cpu: ours.cpu + theirs.cpu,
                memory: ours.memory.max(theirs.memory),
                processes: ours.processes.max(theirs.processes),
            }),
            (ours, theirs) => ours.or(theirs),
        };
    }
}

/// Runs a plan to its end, or until `stop`; `live` hears how it goes.
///
/// # Errors
/// The machine has no room for the workers.
pub fn run(plan: &Arc<Plan>, stop: &Stop, live: &mut dyn FnMut(Live<'_>)) -> io::Result<Measured> {
    if plan.site.origins.iter().any(|one| one.addresses.is_empty()) {
        return Ok(nowhere());
    }
    let engines = (0..plan.threads()).map(|_| Engine::new(plan.shape));
    let engines = engines.collect::<io::Result<Vec<_>>>()?;
    let common = Arc::new(Common {
        plan: Arc::clone(plan),
        begin: Instant::now(),
        begun: AtomicU64::new(0),
        chosen: AtomicU64::new(0),
        agreed: OnceLock::new(),
        stop: Arc::clone(&stop.0),
    });
    let (sender, slices) = channel();
    let mut gatherer = Gatherer::new(&common);
    let workers = engines.into_iter().enumerate().map(|(index, engine)| {
        let (common, sender) = (Arc::clone(&common), sender.clone());
        let name = format!("load-{index}");
        let body = move || worker::run(common, index, engine, &sender);
        thread::Builder::new().name(name).spawn(body)
    });
    let workers: Vec<_> = workers.collect();
    drop(sender);
    gatherer.gather(&slices, live);
    for worker in workers {
        match worker?.join() {
            Ok(result) => result?,
            Err(_) => return Err(io::Error::other("a worker broke off")),
        }
    }
    Ok(gatherer.end(stop))
}

/// One request that could not be made, so that nobody takes silence for success.
fn nowhere() -> Measured {
    let mut measured = Measured {
        ended: Ended::NoAddress,
        ..Measured::default()
    };
    measured.tally.fault(Fault::UnknownHost);
    measured
}

/// How busy a worker was, from its slices: what it does after the last of them is no load.
#[derive(Clone, Copy, Debug, Default)]
struct Busy {
    cpu: Duration,
    waited: Duration,
    end: Duration,
    /// How long it used all of its core.
    full: Duration,
}

impl Busy {
    /// Counts a span that ended at `end`, since the begin of the run.
    fn count(&mut self, cpu: Duration, waited: Duration, end: Duration) {
        let length = end.saturating_sub(self.end);
        if cpu >= length.mul_f64(FULL) {
            self.full += length;
        }
        self.cpu += cpu;
        self.waited += waited;
        self.end = end;
    }

    /// Its share of so much of its time.
    fn share(self, of: Duration) -> f64 {
        of.as_secs_f64() / self.end.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

struct Gatherer {
    common: Arc<Common>,
    measured: Measured,
    /// The span that slices come for, and how many have come.
    span: Option<u32>,
    come: usize,
    point: Point,
    users: Vec<usize>,
    watch: Option<Watch>,
    /// What processes had used at the last point, and at most.
    used: Use,
    own_cpu: Duration,
    own_begin: Duration,
    machine: Option<(u64, u64)>,
    workers: Vec<Busy>,
}

impl Gatherer {
    fn new(common: &Arc<Common>) -> Self {
        let workers = common.plan.threads();
        let own = process::own_cpu();
        Self {
            common: Arc::clone(common),
            measured: Measured::default(),
            span: None,
            come: 0,
            point: Point::default(),
            users: vec![0; workers],
            watch: common.plan.watched.as_ref().map(Watch::begin),
            used: Use::default(),
            own_cpu: own,
            own_begin: own,
            machine: process::machine_cpu(),
            workers: vec![Busy::default(); workers],
        }
    }

    fn gather(&mut self, slices: &Receiver<Slice>, live: &mut dyn FnMut(Live<'_>)) {
        for slice in slices {
            // A slice of a new span ends the one before; one that comes late is counted with what is there.
            if self.come > 0 && self.span.is_some_and(|span| slice.span > span) {
                self.finish_point(live);
            }
            self.span = self.span.max(Some(slice.span));
            self.take(&slice);
            self.come += 1;
            if self.come == self.users.len() {
                self.finish_point(live);
            }
        }
        if self.come > 0 {
            self.finish_point(live);
        }
    }

    fn take(&mut self, slice: &Slice) {
        self.point.count(&slice.tally);
        self.point.to = self.point.to.max(slice.end);
        self.measured.tally.add(&slice.tally);
        if let Some(users) = self.users.get_mut(slice.worker) {
            *users = slice.users;
        }
        if let Some(worker) = self.workers.get_mut(slice.worker) {
            worker.count(slice.cpu, slice.waited, slice.end);
        }
        if let Some(left) = slice.left {
            self.measured.unanswered += left.requests;
            self.measured.unsent += left.unsent;
            self.measured.oldest = self.measured.oldest.max(left.oldest);
        }
    }

    fn finish_point(&mut self, live: &mut dyn FnMut(Live<'_>)) {
        self.come = 0;
        let mut point = std::mem::take(&mut self.point);
        point.from = self
            .measured
            .timeline
            .points()
            .last()
            .map_or(Duration::ZERO, |one| one.to);
        point.to = point.to.max(point.from);
        point.users = self.users.iter().sum();
        let own = process::own_cpu();
        point.tool_cpu = own.saturating_sub(self.own_cpu);
        self.own_cpu = own;
        if let Some(watch) = &mut self.watch {
            let used = watch.look();
            if used.processes > 0 {
                point.used(used, self.used.cpu);
            }
            self.used = Use {
                cpu: used.cpu,
                memory: self.used.memory.max(used.memory),
                processes: self.used.processes.max(used.processes),
            };
        }
        self.measured.peak = self.measured.peak.max(point.users);
        live(Live {
            elapsed: point.to,
            point: &point,
            requests: self.measured.tally.requests(),
            errors: self.measured.tally.errors(),
        });
        self.measured.timeline.push(point);
    }

    fn end(mut self, stop: &Stop) -> Measured {
        let plan = &self.common.plan;
        let took = self.common.begin.elapsed();
        let mut measured = std::mem::take(&mut self.measured);
        let done = plan.end.requests;
        measured.ended = if stop.asked() {
            Ended::Stopped
        } else if done.is_some_and(|most| measured.tally.requests() >= most) {
            Ended::Requests
        } else {
            Ended::Time
        };
        // A worker notices the end up to a pulse late.
        measured.took = match (measured.ended, plan.shape) {
            (Ended::Requests, _) => measured.tally.last,
            // After the last request that was due there was nothing to do, which is part of the schedule.
            (Ended::Time, Shape::Open { .. }) => plan.end.after.max(measured.tally.last),
            _ => took.min(plan.end.after).max(measured.tally.last),
        };
        measured.tool_cpu = process::own_cpu().saturating_sub(self.own_begin);
        let workers = self.workers.iter();
        let busiest = workers.max_by_key(|worker| worker.cpu + worker.waited);
        let busiest = busiest.copied().unwrap_or_default();
        measured.busiest = busiest.share(busiest.cpu);
        measured.busiest_waited = busiest.share(busiest.waited);
        let full = self.workers.iter().map(|worker| worker.share(worker.full));
        measured.full = full.fold(0.0, f64::max);
        measured.machine = busy(self.machine, process::machine_cpu());
        measured.agreed = self.common.agreed.get().cloned();
        measured.used = self.watch.is_some().then_some(Used {
            cpu: self.used.cpu,
            memory: self.used.memory,
            processes: self.used.processes,
        });
        measured
    }
}

fn busy(before: Option<(u64, u64)>, after: Option<(u64, u64)>) -> Option<f64> {
    let ((busy, all), (busy_after, all_after)) = (before?, after?);
    let all = all_after.checked_sub(all).filter(|all| *all > 0)?;
    // Ticks of a run are few.
    #[allow(clippy::cast_precision_loss)]
    Some(busy_after.saturating_sub(busy) as f64 / all as f64)
}

/// The moment at which something began, for a report.
pub fn date() -> String {
    httpdate::fmt_http_date(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_in_which_a_worker_has_nothing_left() {
        let mut worker = Busy::default();
        let ms = Duration::from_millis;
        // CPU and waiting, and when it ended; one span is longer than the others.
        for (cpu, waited, end) in [
            (100, 0, 250),
            (240, 0, 500),
            (100, 150, 750),
            (500, 0, 1250),
        ] {
            worker.count(ms(cpu), ms(waited), ms(end));
        }
        assert_eq!((worker.full, worker.end), (ms(750), ms(1250)));
        assert!((worker.share(worker.full) - 0.6).abs() < 1e-9);
        assert_eq!((worker.cpu, worker.waited), (ms(940), ms(150)));
    }
}
