//! The course of a run: points of a quarter of a second, or of more if the run is long.

use crate::{process::Used, tally::Tally, times::Times};
use std::time::Duration;

/// The most points that are kept. One more, and every two neighbours are joined into one.
const MOST: usize = 240;

/// Shorter spans are joined to the one before.
const SHORT: Duration = Duration::from_millis(100);

/// What happened in a span of the run.
#[derive(Clone, Debug, Default)]
pub struct Point {
    /// Its beginning, since the beginning of the run.
    pub from: Duration,
    /// Its end.
    pub to: Duration,
    /// Latencies of answers below 400.
    pub times: Option<Times>,
    /// Requests that were over, errors included.
    pub requests: u64,
    /// Errors among them.
    pub errors: u64,
    /// Users that were there at its end.
    pub users: usize,
    /// CPU time of the watched processes.
    pub process_cpu: Option<Duration>,
    /// CPU time of this tool.
    pub tool_cpu: Duration,
    /// Memory of the watched processes at its end, in bytes.
    pub memory: Option<u64>,
}

impl Point {
    /// Returns its length in seconds.
    pub fn seconds(&self) -> f64 {
        (self.to.saturating_sub(self.from)).as_secs_f64()
    }

    /// Returns the number of answers below 400.
    pub fn good(&self) -> u64 {
        self.requests.saturating_sub(self.errors)
    }

    pub(crate) fn count(&mut self, tally: &Tally) {
        self.times
            .get_or_insert_with(Times::coarse)
            .add(&tally.good);
        self.requests += tally.requests();
        self.errors += tally.errors();
    }

    pub(crate) fn used(&mut self, used: Used, since: Duration) {
        self.process_cpu = Some(used.cpu.saturating_sub(since));
        self.memory = Some(used.memory);
    }

    /// Joins the following point to this one.
    fn join(&mut self, next: &Self) {
        self.to = next.to;
        if let Some(times) = &next.times {
            self.times.get_or_insert_with(Times::coarse).add(times);
        }
        self.requests += next.requests;
        self.errors += next.errors;
        self.users = next.users;
        self.tool_cpu += next.tool_cpu;
        self.process_cpu = match (self.process_cpu, next.process_cpu) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        self.memory = next.memory.or(self.memory);
    }
}

/// The points of a run, in order.
#[derive(Clone, Debug)]
pub struct Timeline {
    points: Vec<Point>,
    /// How many spans a point holds, and how many the last one has.
    step: u32,
    filled: u32,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            step: 1,
            filled: 1,
        }
    }
}

impl Timeline {
    /// Returns the points.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Adds the next span.
    pub(crate) fn push(&mut self, point: Point) {
        // The rate of such a short span would be chance: it is the rest of a run that ends between two pulses.
        let short = point.to.saturating_sub(point.from) < SHORT;
        if (short || self.filled < self.step)
            && let Some(last) = self.points.last_mut()
        {
            last.join(&point);
            self.filled += u32::from(!short);
            return;
        }
        if self.points.len() >= MOST {
            self.halve();
        }
        self.points.push(point);
        self.filled = 1;
    }

    fn halve(&mut self) {
        let mut halved: Vec<Point> = Vec::with_capacity(MOST);
        for (index, point) in self.points.drain(..).enumerate() {
            match halved.last_mut() {
                Some(last) if index % 2 == 1 => last.join(&point),
                _ => halved.push(point),
            }
        }
        self.points = halved;
        self.step *= 2;
    }

    /// Appends a later run, as if it had followed at once.
    pub(crate) fn append(&mut self, later: &Self) {
        let end = self.points.last().map_or(Duration::ZERO, |last| last.to);
        for point in &later.points {
            let mut point = point.clone();
            point.from += end;
            point.to += end;
            if self.points.len() >= MOST {
                self.halve();
            }
            self.points.push(point);
        }
        // What comes next begins a new point.
        self.filled = self.step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_keeps_few_points_and_loses_nothing() {
        let mut line = Timeline::default();
        for number in 0..10_000_u64 {
            line.push(Point {
                from: Duration::from_secs(number),
                to: Duration::from_secs(number + 1),
                requests: 2,
                errors: 1,
                ..Point::default()
            });
        }
        let points = line.points();
        assert!((MOST / 2..=MOST).contains(&points.len()));
        assert_eq!(points.iter().map(|one| one.requests).sum::<u64>(), 20_000);
        assert!(points.windows(2).all(|pair| pair[0].to == pair[1].from));
        let mut twice = line.clone();
        twice.append(&line);
        let points = twice.points();
        assert!(points.len() <= MOST);
        assert_eq!(points.iter().map(|one| one.errors).sum::<u64>(), 20_000);
        assert_eq!(points.last().unwrap().to, Duration::from_secs(20_000));
    }
}
