//! The figures of one target.

use super::{
    Bytes, Cache, Connections, Latency, MachineCpu, Point, Process, Round, Statuses, Tool,
    Unanswered,
    counts::faults,
    latency::curve,
    number::{float, millis, per, percent},
};
use crate::{run::Measured, tally::Tally};
use serde::Serialize;
use std::collections::BTreeMap;

/// Share of the limit on the rate from which the limit is what is measured.
const NEAR_BOUND: f64 = 0.95;

/// The figures of one target.
#[derive(Clone, Debug, Serialize)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// Its URL. If there are several: the first.
    pub url: String,
    /// How many different requests there were.
    pub urls: usize,
    /// `1.1` or `2`.
    pub http: &'static str,
    /// TLS protocol and cipher suite, if TLS was used.
    pub tls: Option<String>,
    /// Why the first TLS handshake that failed did, in words.
    #[serde(skip)]
    pub refused: Option<String>,
    /// Whether connections were used again.
    pub keep_alive: bool,
    /// The most requests a second that the tool would send. This is its own limit, not the server's.
    pub most_rate: Option<f64>,
    /// How long it was measured, in seconds.
    pub seconds: f64,
    /// Requests that were over: good ones and errors.
    pub requests: u64,
    /// Complete answers below 400.
    pub good: u64,
    /// Requests without a complete answer, and answers from 400 on.
    pub errors: u64,
    /// Requests of the warm-up. They are counted nowhere else.
    pub warm_up_requests: u64,
    /// Errors among requests, in percent.
    pub errors_percent: f64,
    /// Good answers a second.
    pub rate: f64,
    /// Latencies of good answers.
    pub latency_ms: Option<Latency>,
    /// The least that latencies would be if the requests without an answer at the end are included, each with the time
    /// that it had waited by then. `None`: there were none.
    #[serde(skip)]
    pub latency_at_least_ms: Option<Latency>,
    /// Whether requests [hung](Measured::hung) until the end.
    #[serde(skip)]
    pub hung: bool,
    /// Latencies of answers from 400 on.
    pub error_latency_ms: Option<Latency>,
    /// How long connections took to open, TLS handshake included.
    pub connect_ms: Option<Latency>,
    /// Bytes.
    pub bytes: Bytes,
    /// Answers by status.
    pub statuses: Statuses,
    /// Requests without a complete answer, by kind. Kinds that did not occur are left out.
    pub faults: BTreeMap<&'static str, u64>,
    /// Connections and users.
    pub connections: Connections,
    /// The requests that had no answer at the end.
    pub unanswered: Unanswered,
    /// What caches said.
    pub cache: Cache,
    /// What the watched processes used. `None`: there was no such process.
    pub process: Option<Process>,
    /// The processes that should have been watched, and did not exist.
    #[serde(skip)]
    pub missing: Option<String>,
    /// What the tool itself used, and how late its own clock was.
    pub tool: Tool,
    /// The machine's cores.
    pub machine_cpu: Option<MachineCpu>,
    /// The course of the run.
    pub points: Vec<Point>,
    /// The percentile curve: percent, milliseconds.
    pub curve: Vec<(f64, f64)>,
    /// Each round, if several targets were compared.
    pub rounds: Vec<Round>,
}

/// What is known about a target without measuring it.
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
    /// The most requests a second that were allowed, if that could hold the run back.
    pub most_rate: Option<f64>,
    /// Requests that were over before the measurement.
    pub warm_up_requests: u64,
    /// Which processes were watched.
    pub watched: Option<String>,
}

impl Target {
    /// Makes the figures of a result, over all rounds.
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
            refused: measured.refused.clone(),
            keep_alive: about.keep_alive,
            most_rate: about.most_rate,
            seconds,
            requests,
            good: tally.good.count(),
            errors: tally.errors(),
            warm_up_requests: about.warm_up_requests,
            errors_percent: percent(tally.errors(), requests).unwrap_or(0.0),
            rate: per(float(tally.good.count()), seconds),
            latency_ms: Latency::of(&tally.good),
            latency_at_least_ms: at_least(tally),
            hung: measured.hung(),
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

    /// Returns the tool's own limit on the rate, if the rate shows only this.
    pub fn held_back(&self) -> Option<f64> {
        let rate = per(float(self.requests), self.seconds);
        self.most_rate.filter(|most| rate >= most * NEAR_BOUND)
    }

    /// Returns a percentile of the latency by its name, in milliseconds.
    pub fn percentile(&self, name: &str) -> Option<f64> {
        let latency = self.latency_ms.as_ref()?;
        latency.percentiles.get(name).copied()
    }
}

fn at_least(tally: &Tally) -> Option<Latency> {
    (tally.left.count() > 0).then(|| {
        let mut all = tally.good.clone();
        all.add(&tally.left);
        Latency::of(&all)
    })?
}
