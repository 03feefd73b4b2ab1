//! The results as figures, and as text, JSON and a page.
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "figures for people: three digits of them are read, and none is negative"
)]

mod assumed;
mod figures;
pub mod html;
mod nothing;
mod svg;
pub mod text;
mod words;

use super::{
    log::Bad,
    plan::{Eviction, Plan},
    reader::{Assumptions, Reader},
    run,
    tally::{Setting, Simulation},
};
use figures::{Maker, bypassed, costly, reasons, tally_of};
pub use nothing::Nothing;
use serde::Serialize;

/// The results of all simulations. Shares are between 0 and 1, times are in seconds, sizes in bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The logs.
    pub log: Seen,
    /// The time of the first request, in seconds since the epoch.
    pub from: f64,
    /// The time that the logs cover.
    pub seconds: f64,
    /// Requests that a server would have taken.
    pub requests: u64,
    /// Bytes that clients got.
    pub bytes: u64,
    /// What the origin would do without a cache.
    pub without: Load,
    /// The simulation that others are compared with.
    pub base: Outcome,
    /// The result without any eviction: more memory cannot improve it.
    pub unlimited: Outcome,
    /// Results by memory and rule of eviction.
    pub memory: Vec<Outcome>,
    /// Results by lifetime.
    pub lifetimes: Vec<Outcome>,
    /// Requests that the server refuses.
    pub refused: Vec<Reason>,
    /// Requests that bypass the store.
    pub bypassed: Vec<Reason>,
    /// Answers that are not stored.
    pub unstored: Vec<Reason>,
    /// The URLs that cost the origin most, even with the cache.
    pub urls: Vec<Costly>,
    /// What was estimated from a part.
    pub sample: Sample,
    /// What was assumed.
    pub assumed: Vec<String>,
}

/// The logs as they were read.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Seen {
    /// The files, in the order in which they were read.
    pub files: Vec<File>,
    /// Lines that were understood.
    pub lines: u64,
    /// Lines that were not understood.
    pub bad: u64,
    /// The first lines that were not understood.
    pub shown: Vec<BadLine>,
    /// Logs that could not be read to their end.
    pub broken: Vec<String>,
    /// Lines more than a minute older than one before them.
    pub out_of_order: u64,
    /// Answers that a cache gave itself, and redirects to HTTPS that Larder would give; they are left out.
    pub own: u64,
}

/// A log.
#[derive(Clone, Debug, Default, Serialize)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Its format.
    pub format: &'static str,
}

/// A line that was not understood.
#[derive(Clone, Debug, Serialize)]
pub struct BadLine {
    /// The log.
    pub file: String,
    /// Its number; the first is 1.
    pub line: u64,
    /// What is wrong with it.
    pub why: String,
    /// Its beginning.
    pub text: String,
}

impl BadLine {
    pub(super) fn new(file: String, line: u64, why: Bad, text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text.get(..text.len().min(120)).unwrap_or_default());
        Self {
            file,
            line,
            why: why.to_string(),
            text: text.escape_debug().to_string(),
        }
    }
}

/// The load of an origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Load {
    /// Requests that it answers.
    pub requests: u64,
    /// Requests in a second.
    pub rate: f64,
    /// Bytes of the bodies that it sends.
    pub bytes: u64,
    /// Bytes in a second.
    pub bandwidth: f64,
    /// Seconds that it works, if the log tells how long answers took.
    pub busy: Option<f64>,
}

/// The result of one simulation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Bytes of memory; `None` means no limit.
    pub memory: Option<u64>,
    /// The lifetime.
    pub lifetime: String,
    /// The rule of eviction.
    pub eviction: Eviction,
    /// Requests answered from the store, as a share of all.
    pub hit_ratio: f64,
    /// The same share in bytes.
    pub byte_hit_ratio: f64,
    /// Requests answered from the store, including stale hits.
    pub hits: u64,
    /// Stale hits.
    pub stale: u64,
    /// Requests that waited for another's fetch.
    pub collapsed: u64,
    /// The load that remains for the origin.
    pub origin: Load,
    /// The number of evicted entries.
    pub evictions: u64,
    /// The most bytes that the entries took.
    pub peak: u64,
    /// Answers that were not stored because of their size.
    pub too_large: u64,
}

/// Requests with a reason in common.
#[derive(Clone, Debug, Serialize)]
pub struct Reason {
    /// The reason, in the words of `Cache-Status`.
    pub reason: &'static str,
    /// The number of requests.
    pub requests: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// Seconds that the origin works for them.
    pub busy: f64,
    /// One of them.
    pub example: String,
}

/// A URL, and what it costs.
#[derive(Clone, Debug, Serialize)]
pub struct Costly {
    /// The URL.
    pub url: String,
    /// Requests for it.
    pub requests: u64,
    /// Fetches that remain with the cache.
    pub fetches: u64,
    /// Bytes that these fetches bring.
    pub bytes: u64,
    /// Seconds that the origin works for them.
    pub busy: f64,
    /// The last reason why its answers were not stored, if they were not.
    pub reason: Option<&'static str>,
}

/// How much was estimated from a part.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sample {
    /// One URL, or variant, in this many was followed; 1 means all of them.
    pub one_in: u64,
    /// URLs that were followed.
    pub urls: u64,
}

/// Builds the report.
pub(super) fn build(
    plan: &Plan,
    assumptions: &Assumptions,
    seen: Seen,
    reader: &Reader,
    mut simulations: Vec<Simulation>,
) -> Report {
    let totals = &reader.totals;
    let (from, to) = (
        totals.first.unwrap_or_default(),
        totals.last.unwrap_or_default(),
    );
    let tells_time = totals.notes.with_origin_time > 0;
    let maker = Maker {
        plan,
        reader,
        // A single moment has no length: rates are over at least a second.
        seconds: to.since(from).as_secs_f64().max(1.0),
        tells_time,
    };
    let by_url = simulations
        .iter_mut()
        .find_map(|simulation| simulation.by_url.take());
    let base = run::base(plan);
    let one = |wanted: Setting| maker.outcome(&simulations, wanted);
    let sizes = plan.evictions.iter().flat_map(|eviction| {
        let setting = |size: &u64| Setting {
            memory: Some(*size),
            eviction: *eviction,
            ..base
        };
        plan.sizes.iter().map(setting)
    });
    Report {
        from: from.as_millis() as f64 / 1e3,
        seconds: maker.seconds,
        requests: totals.requests,
        bytes: totals.sent,
        without: maker.load(totals.origin),
        base: one(base),
        unlimited: one(Setting {
            memory: None,
            ..base
        }),
        memory: sizes.map(one).collect(),
        lifetimes: (0..plan.lifetimes.len())
            .map(|lifetime| one(Setting { lifetime, ..base }))
            .collect(),
        refused: reasons(&totals.refused),
        bypassed: bypassed(totals, &tally_of(&simulations, base)),
        unstored: reasons(&totals.unstored),
        urls: costly(&reader.urls, &by_url.unwrap_or_default(), tells_time),
        sample: Sample {
            one_in: reader.urls.sampled().one_in(),
            urls: reader.urls.all.len() as u64,
        },
        assumed: assumed::list(plan, assumptions, reader),
        log: Seen {
            out_of_order: totals.out_of_order,
            own: totals.own,
            ..seen
        },
    }
}
