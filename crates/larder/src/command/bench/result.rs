//! Turns measurements into the result: figures, verdicts, and the reasons for a refusal.

use super::{Bench, Prepared, Run, plan};
use load::{
    Ended,
    compare::compare,
    figures::{About, FORMAT, Figures, Machine, Round, Target},
    shape::Shape,
    warning::warnings,
};

/// Takes the place of secrets in the result.
const MASK: &str = "…";

/// Builds the figures of the result.
pub(super) fn figures(bench: &Bench, prepared: &Prepared, run: Run, began: String) -> Figures {
    let rounds = run.measured.into_iter().zip(run.warm_up);
    let targets = prepared.targets.iter().zip(rounds).enumerate();
    let targets: Vec<_> = targets
        .map(|(index, (target, (rounds, warm_up)))| {
            // A round that was cut off cannot be compared with a whole one.
            let whole = rounds.iter().filter(|one| one.ended != Ended::Stopped);
            let each = whole.map(Round::of).collect();
            let sum = rounds.iter().cloned().reduce(|mut sum, round| {
                sum.add(&round);
                sum
            });
            let about = About {
                warm_up_requests: warm_up,
                ..about(bench, prepared, target, index)
            };
            Target::new(about, &sum.unwrap_or_default(), each)
        })
        .collect();
    let asserted = &bench.result.assertions;
    let judge = |target| asserted.iter().map(move |one| one.judge(target));
    let relied = relied(bench);
    let shape = prepared.bounds.shape;
    Figures {
        format: FORMAT,
        program: concat!("larder ", env!("CARGO_PKG_VERSION")).to_owned(),
        began,
        command: command(bench),
        machine: Machine::this(),
        shape,
        workers: prepared.bounds.workers.get().min(shape.most()),
        ended: run.ended,
        comparison: compare(&targets),
        // In a comparison, assertions apply to the last target: the one that is expected to be better.
        assertions: targets.last().into_iter().flat_map(judge).collect(),
        warnings: targets
            .iter()
            .flat_map(|one| warnings(one, &relied))
            .collect(),
        targets,
    }
}

fn about(
    bench: &Bench,
    prepared: &Prepared,
    target: &super::target::Target,
    index: usize,
) -> About {
    let bounds = &prepared.bounds;
    // In an open loop, the user sets the rate, below the limit.
    let held = !matches!(bounds.shape, Shape::Open { .. });
    About {
        name: target.name.clone(),
        url: target.url.clone(),
        urls: target.site.requests.len(),
        http: if bench.wire.http2 { "2" } else { "1.1" },
        keep_alive: !bench.wire.no_keep_alive,
        most_rate: bounds.most_rate.filter(|_| held),
        warm_up_requests: 0,
        watched: plan::watched(bench, index).map(|watched| watched.asked.clone()),
    }
}

/// The command as it was called. A result is meant to be passed on, so credentials are left out of it, and so is the
/// content.
fn command(bench: &Bench) -> Vec<String> {
    let words = std::env::args_os();
    // A file name may not be valid text.
    let words = words.map(|word| word.to_string_lossy().into_owned());
    words.map(|word| masked(bench, word)).collect()
}

/// Returns the word without its secrets. A field is found by its name and the colon after it, as `flags::field` accepts
/// it.
fn masked(bench: &Bench, word: String) -> String {
    for (name, value) in &bench.request.fields {
        let named = word
            .to_ascii_lowercase()
            .contains(&format!("{}:", name.as_str()));
        if named
            && is_secret(name.as_str())
            && let Some(begin) = word.trim_end().strip_suffix(value.as_str())
        {
            return format!("{begin}{MASK}");
        }
    }
    match &bench.request.body {
        Some(body) if !body.starts_with('@') && !body.is_empty() => {
            if word == *body {
                return MASK.to_owned();
            }
            if word.strip_prefix("--body=") == Some(body) {
                return format!("--body={MASK}");
            }
            word
        }
        _ => word,
    }
}

/// Whether a field of this name may hold credentials. The name is in lower case.
fn is_secret(name: &str) -> bool {
    [
        "auth", "cookie", "key", "token", "secret", "session", "pass",
    ]
    .iter()
    .any(|part| name.contains(part))
}

/// The percentiles that somebody relies on: those in assertions, or else the 99th, which everybody looks at.
fn relied(bench: &Bench) -> Vec<f64> {
    let asserted: Vec<_> = bench
        .result
        .assertions
        .iter()
        .filter_map(load::assertion::Assertion::percentile)
        .collect();
    if asserted.is_empty() {
        vec![99.0]
    } else {
        asserted
    }
}

/// The hosts of a target that have no address, if any. In that case nothing was sent, not even to the other hosts.
fn unknown(target: &super::Target) -> Option<String> {
    let origins = target.site.origins.iter();
    let unknown = origins.filter(|origin| origin.addresses.is_empty());
    let hosts: Vec<_> = unknown.map(|origin| origin.url.host.as_str()).collect();
    (!hosts.is_empty()).then(|| hosts.join(", "))
}

/// The reasons to refuse the result.
pub(super) fn failures(figures: &Figures, targets: &[super::Target]) -> Vec<String> {
    // A target that was not asked before the run was stopped has not failed.
    let asked = |target: &Target| figures.ended != Ended::Stopped || target.seconds > 0.0;
    let silent = figures.targets.iter().zip(targets);
    let silent = silent.filter(|(target, _)| target.good == 0 && asked(target));
    let silent = silent.map(|(target, sent)| {
        if let Some(hosts) = unknown(sent) {
            return format!(
                "nothing was sent for {}: no address for {hosts}",
                target.name
            );
        }
        let kinds = target
            .faults
            .iter()
            .map(|(kind, count)| format!("{kind} {count}"));
        let codes = target
            .statuses
            .codes
            .iter()
            .map(|(code, count)| format!("status {code} {count}"));
        let seen: Vec<_> = kinds.chain(codes).collect();
        format!(
            "no good answer from {}: {}",
            target.name,
            if seen.is_empty() {
                "none came".to_owned()
            } else {
                seen.join(", ")
            }
        )
    });
    let broken = figures.assertions.iter().filter(|verdict| !verdict.holds);
    silent.chain(broken.map(ToString::to_string)).collect()
}
