//! The figures of one target.

use super::{MachineCpu, PERCENTILES, Point, Process, Round, Tool};
use crate::{cached::Cached, fault::Fault, run::Measured, tally::Tally, times::Times};
use serde::Serialize;
use std::{collections::BTreeMap, time::Duration};

/// From which share of the bound on the rate on it is the bound that is measured.
const NEAR_BOUND: f64 = 0.95;

/// How many answers must lie beyond a percentile for it to mean something.
pub(crate) const BEYOND: f64 = 10.0;

/// What one target did.
#[derive(Clone, Debug, Serialize)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// Its URL; the first, where there are several.
    pub url: String,
    /// How many different requests there were.
    pub urls: usize,
    /// `1.1` or `2`.
    pub http: &'static str,
    /// TLS protocol and cipher suite, where TLS was spoken.
    pub tls: Option<String>,
    /// Whether connections were used again.
    pub keep_alive: bool,
    /// The most requests a second that the tool would send: its own bound, not the server's.
    pub most_rate: Option<f64>,
    /// How long it was measured.
    pub seconds: f64,
    /// Requests that were over: good ones and errors.
    pub requests: u64,
    /// Whole answers below 400.
    pub good: u64,
    /// Requests without a whole answer, and answers from 400 on.
    pub errors: u64,
    /// Errors among requests, in percent.
    pub errors_percent: f64,
    /// Good answers a second.
    pub rate: f64,
    /// Latencies of good answers.
    pub latency_ms: Option<Latency>,
    /// Latencies of answers from 400 on.
    pub error_latency_ms: Option<Latency>,
    /// How long connections took to open, with the TLS handshake.
    pub connect_ms: Option<Latency>,
    /// Bytes.
    pub bytes: Bytes,
    /// Answers by status.
    pub statuses: Statuses,
    /// Requests without a whole answer, by kind; kinds that did not happen are left out.
    pub faults: BTreeMap<&'static str, u64>,
    /// Connections and users.
    pub connections: Connections,
    /// What had no answer at the end.
    pub unanswered: Unanswered,
    /// What caches said.
    pub cache: Cache,
    /// What the watched processes used; none where there was no such process.
    pub process: Option<Process>,
    /// The processes that were to be watched, and were not there.
    #[serde(skip)]
    pub missing: Option<String>,
    /// What the tool itself used, and how far its own clock was off.
    pub tool: Tool,
    /// The machine's cores.
    pub machine_cpu: Option<MachineCpu>,
    /// How it went over time.
    pub points: Vec<Point>,
    /// The percentile curve: percent, milliseconds.
    pub curve: Vec<(f64, f64)>,
    /// Each round, where several targets were compared.
    pub rounds: Vec<Round>,
}

/// Latencies, in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    /// How many.
    pub count: u64,
    /// The shortest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub stddev: f64,
    /// The percentiles of [`PERCENTILES`], by name.
    #[serde(flatten)]
    pub percentiles: BTreeMap<&'static str, f64>,
    /// The longest.
    pub max: f64,
    /// The names of percentiles beyond which lie fewer than ten of these: chance rather than a measure.
    pub doubtful: Vec<&'static str>,
}

/// Bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bytes {
    /// From the wire.
    pub received: u64,
    /// To the wire.
    pub sent: u64,
    /// Of content.
    pub content: u64,
}

/// Answers by status.
#[derive(Clone, Debug, Serialize)]
pub struct Statuses {
    /// By class: `2xx` and so on.
    pub classes: BTreeMap<String, u64>,
    /// By code.
    pub codes: BTreeMap<u16, u64>,
}

/// Connections and users.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Connections {
    /// How many were opened.
    pub opened: u64,
    /// The most users, or requests under way in an open loop, at once.
    pub peak: usize,
}

/// What had no answer at the end.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Unanswered {
    /// How many requests.
    pub requests: u64,
    /// Those of them that were due in an open loop, and not even sent.
    pub unsent: u64,
    /// How long the oldest had waited, in milliseconds.
    pub oldest_ms: f64,
}

/// What caches said of answers.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cache {
    /// Fresh, from a cache.
    pub hit: u64,
    /// Stale, from a cache.
    pub stale: u64,
    /// Not from a cache.
    pub miss: u64,
    /// Nothing was said.
    pub unsaid: u64,
    /// Hits and stale ones among those of which something was said, in percent.
    pub hits_percent: Option<f64>,
    /// Stale ones among them, in percent.
    pub stale_percent: Option<f64>,
}

/// What of a target is not measured, but known.
#[derive(Clone, Debug)]
pub struct About {
    /// Its name.
    pub name: String,
    /// Its URL.
    pub url: String,
    /// How many different requests there are.
    pub urls: usize,
    /// `1.1` or `2`.
    pub http: &'static str,
    /// Whether connections are used again.
    pub keep_alive: bool,
    /// The most requests a second that were allowed, where that could hold the run back.
    pub most_rate: Option<f64>,
    /// Which processes were watched.
    pub watched: Option<String>,
}

impl Target {
    /// The figures of what was measured, over all rounds.
    pub fn new(about: About, measured: &Measured, rounds: Vec<Round>) -> Self {
        let tally = &measured.tally;
        let seconds = measured.took.as_secs_f64();
        let requests = tally.requests();
        let seen = measured.used.filter(|used| used.processes > 0);
        let missing = match (measured.used, seen) {
            (Some(_), None) => about.watched.clone(),
            _ => None,
        };
        let name = about.watched.unwrap_or_default();
        let process = seen.map(|used| Process::of(name, used, seconds, requests));
        Self {
            name: about.name,
            url: about.url,
            urls: about.urls,
            http: about.http,
            tls: measured.agreed.clone(),
            keep_alive: about.keep_alive,
            most_rate: about.most_rate,
            seconds,
            requests,
            good: tally.good.count(),
            errors: tally.errors(),
            errors_percent: percent(tally.errors(), requests).unwrap_or(0.0),
            rate: per(float(tally.good.count()), seconds),
            latency_ms: Latency::of(&tally.good),
            error_latency_ms: Latency::of(&tally.bad),
            connect_ms: Latency::of(&tally.connecting),
            bytes: Bytes {
                received: tally.received,
                sent: tally.sent,
                content: tally.body,
            },
            statuses: Statuses::of(tally),
            faults: faults(tally),
            connections: Connections {
                opened: tally.opened,
                peak: measured.peak,
            },
            unanswered: Unanswered {
                requests: measured.unanswered,
                unsent: measured.unsent,
                oldest_ms: millis(measured.oldest),
            },
            cache: Cache::of(tally),
            process,
            missing,
            tool: Tool::of(measured),
            machine_cpu: MachineCpu::of(measured),
            points: measured.timeline.points().iter().map(Point::of).collect(),
            curve: curve(&tally.good),
            rounds,
        }
    }

    /// The tool's own bound on the rate, where it is what the rate shows.
    pub fn held_back(&self) -> Option<f64> {
        let rate = per(float(self.requests), self.seconds);
        self.most_rate.filter(|most| rate >= most * NEAR_BOUND)
    }

    /// A percentile of the latency by its name, in milliseconds.
    pub fn percentile(&self, name: &str) -> Option<f64> {
        let latency = self.latency_ms.as_ref()?;
        latency.percentiles.get(name).copied()
    }
}

impl Latency {
    pub(super) fn of(times: &Times) -> Option<Self> {
        let (mean, stddev) = times.mean()?;
        let named = PERCENTILES.iter();
        let named =
            named.filter_map(|(name, percent)| Some((*name, millis(times.percentile(*percent)?))));
        let doubted = PERCENTILES.iter();
        let doubted = doubted.filter(|(_, percent)| beyond(times.count(), *percent) < BEYOND);
        Some(Self {
            count: times.count(),
            min: millis(times.min()?),
            mean: millis(mean),
            stddev: millis(stddev),
            percentiles: named.collect(),
            max: millis(times.max()?),
            doubtful: doubted.map(|(name, _)| *name).collect(),
        })
    }
}

/// How many of so many lie beyond a percentile.
pub(crate) fn beyond(count: u64, percent: f64) -> f64 {
    float(count) * (100.0 - percent) / 100.0
}

impl Statuses {
    fn of(tally: &Tally) -> Self {
        let mut classes = BTreeMap::new();
        for (status, count) in &tally.statuses {
            *classes.entry(format!("{}xx", status / 100)).or_insert(0) += count;
        }
        let codes = tally.statuses.iter().copied().collect();
        Self { classes, codes }
    }
}

impl Cache {
    fn of(tally: &Tally) -> Self {
        let [hit, stale, miss] =
            [Cached::Hit, Cached::Stale, Cached::Miss].map(|said| tally.cached(said));
        let said = hit + stale + miss;
        Self {
            hit,
            stale,
            miss,
            unsaid: tally.cached(Cached::Unsaid),
            hits_percent: percent(hit + stale, said),
            stale_percent: percent(stale, said),
        }
    }
}

fn faults(tally: &Tally) -> BTreeMap<&'static str, u64> {
    let named = Fault::ALL.iter().zip(tally.faults);
    let happened = named.filter(|(_, count)| *count > 0);
    happened
        .map(|(fault, count)| (fault.name(), count))
        .collect()
}

/// The latency at percentiles that come closer and closer to 100, as far as there are requests to tell them apart.
fn curve(times: &Times) -> Vec<(f64, f64)> {
    let mut curve = Vec::new();
    let (mut percent, mut step) = (0.0, 5.0);
    let enough = |percent: f64| float(times.count()) * (100.0 - percent) / 100.0 >= 1.0;
    while percent < 99.9999 && enough(percent) {
        if let Some(time) = times.percentile(percent) {
            curve.push((percent, millis(time)));
        }
        // Ten steps from one nine to the next.
        if 100.0 - percent <= step * 2.0 + 1e-9 {
            step /= 10.0;
        }
        percent = ((percent + step) * 1e6).round() / 1e6;
    }
    curve
}

pub(super) fn millis(time: Duration) -> f64 {
    // Hundred nanoseconds are the finest that is told apart.
    (time.as_secs_f64() * 1e7).round() / 1e4
}

pub(super) fn each(cpu: Duration, requests: u64) -> Option<f64> {
    (requests > 0).then(|| cpu.as_secs_f64() * 1e6 / float(requests))
}

pub(super) fn per(what: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { what / seconds } else { 0.0 }
}

fn percent(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| float(part) * 100.0 / float(of))
}

/// Counts of a run are far below what a float holds exactly.
#[allow(clippy::cast_precision_loss)]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}
