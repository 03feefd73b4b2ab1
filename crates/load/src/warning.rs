//! Reports what makes figures doubtful, rather than hiding it.

mod answers;
mod tool;

use crate::figures::Target;
use answers::{backlog, fast_errors, only_errors, too_short, unanswered};
use serde::Serialize;
use tool::{
    coarse_cpu, lag, late_sends, local, machine_at_limit, no_process, rate_bound, tool_at_limit,
};

#[cfg(test)]
mod tests;

/// What makes figures doubtful.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Warning {
    /// Its name, which does not change.
    pub kind: Kind,
    /// The target that it concerns.
    pub target: String,
    /// Its text, with the figures.
    pub text: String,
}

/// The kind of a doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A worker had no CPU time left: the tool was the slower side, or others used its core.
    ToolAtLimit,
    /// The machine had no CPU time left, and the tool took a share of it.
    MachineAtLimit,
    /// The tool was late by its own clock.
    Lag,
    /// Requests were sent later than due although a connection was free.
    LateSends,
    /// Requests were due while every connection was busy.
    Backlog,
    /// Errors came faster than answers.
    FastErrors,
    /// All requests that were over were errors.
    OnlyErrors,
    /// Too few requests for a percentile.
    TooShort,
    /// Requests had no answer at the end and had waited longer than the percentiles show.
    Unanswered,
    /// This machine ran out of descriptors or ports.
    Local,
    /// The processes to watch did not exist.
    NoProcess,
    /// The tool's own limit on the rate held it back.
    RateBound,
    /// CPU time was counted in ticks, and there were few of them.
    CoarseCpu,
}

/// A doubt, and the function that finds it.
type Check = (Kind, fn(&Target) -> Option<String>);

/// Returns the warnings about a target. `asked` are the percentiles that somebody relies on, in percent.
pub fn warnings(target: &Target, asked: &[f64]) -> Vec<Warning> {
    let checks: [Check; 9] = [
        (Kind::RateBound, rate_bound),
        (Kind::ToolAtLimit, tool_at_limit),
        (Kind::MachineAtLimit, machine_at_limit),
        (Kind::Backlog, backlog),
        (Kind::FastErrors, fast_errors),
        (Kind::OnlyErrors, only_errors),
        (Kind::Unanswered, unanswered),
        (Kind::Local, local),
        (Kind::CoarseCpu, coarse_cpu),
    ];
    let mut found: Vec<_> = checks
        .into_iter()
        .filter_map(|(kind, check)| Some((kind, check(target)?)))
        .collect();
    found.extend(lag(target, asked).map(|text| (Kind::Lag, text)));
    found.extend(late_sends(target, asked).map(|text| (Kind::LateSends, text)));
    found.extend(too_short(target, asked).map(|text| (Kind::TooShort, text)));
    found.extend(no_process(target).map(|text| (Kind::NoProcess, text)));
    let warning = |(kind, text)| Warning {
        kind,
        target: target.name.clone(),
        text,
    };
    found.into_iter().map(warning).collect()
}
