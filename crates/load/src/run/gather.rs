//! Gathers the counts of the workers, and watches the machine meanwhile.

use super::{Ended, Measured, Stop, busy::Busy};
use crate::{
    process::{self, MachineTime, Used, Watch},
    shape::Shape,
    timeline::Point,
    worker::{Common, Slice},
};
use std::{
    sync::{Arc, mpsc::Receiver},
    time::Duration,
};

/// The progress of a run, reported four times a second.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    /// Time since the beginning of the run.
    pub elapsed: Duration,
    /// What happened since the last report.
    pub point: &'a Point,
    /// Requests so far, errors included.
    pub requests: u64,
    /// Errors so far.
    pub errors: u64,
}

pub(super) struct Gatherer {
    common: Arc<Common>,
    measured: Measured,
    /// The span whose slices are arriving, and how many have arrived.
    span: Option<u32>,
    come: usize,
    point: Point,
    users: Vec<usize>,
    watch: Option<Watch>,
    /// What the processes had used at the last point, and their maxima.
    used: Used,
    own_cpu: Duration,
    own_begin: Duration,
    /// The time of all cores when the run began.
    machine: Option<MachineTime>,
    workers: Vec<Busy>,
}

impl Gatherer {
    /// Makes a gatherer for the workers of one run. Use of the machine and of its processes counts from now on.
    pub fn new(common: &Arc<Common>) -> Self {
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
            used: Used::default(),
            own_cpu: own,
            own_begin: own,
            machine: MachineTime::now(),
            workers: vec![Busy::default(); workers],
        }
    }

    /// Takes slices until the last worker has hung up. Calls `live` whenever all workers have sent their slice of a
    /// span.
    pub fn gather(&mut self, slices: &Receiver<Slice>, live: &mut dyn FnMut(Live<'_>)) {
        for slice in slices {
            // A slice of a new span ends the span before. A late slice is counted with the current one.
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
            self.used = Used {
                cpu: used.cpu,
                in_ticks: used.in_ticks,
                memory: self.used.memory.max(used.memory),
                processes: self.used.processes.max(used.processes),
            };
        }
        live(Live {
            elapsed: point.to,
            point: &point,
            requests: self.measured.tally.requests(),
            errors: self.measured.tally.errors(),
        });
        self.measured.timeline.push(point);
    }

    /// Returns the result of the run, once all slices have been taken. `stop` tells whether it was stopped by hand.
    pub fn end(mut self, stop: &Stop) -> Measured {
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
        // A worker notices the end up to one pulse late.
        measured.took = match (measured.ended, plan.shape) {
            (Ended::Requests, _) => measured.tally.last,
            // After the last request that was due there was nothing to do. That time is part of the schedule.
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
        measured.machine = self
            .machine
            .and_then(|before| MachineTime::now()?.busy_since(before));
        measured.peak = self.common.present.most();
        measured.agreed = self.common.agreed.get().cloned();
        measured.refused = self.common.refused.get().cloned();
        measured.used = self.watch.is_some().then_some(self.used);
        measured
    }
}
