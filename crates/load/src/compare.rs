//! Compares targets by ratios within a round, because what disturbs a machine disturbs all targets of a round alike.

use crate::figures::{Round, Target};
use serde::Serialize;

/// How targets compare with the first one.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The name of the first target.
    pub base: String,
    /// How many rounds there were.
    pub rounds: usize,
    /// The other targets compared to it.
    pub ratios: Vec<Ratios>,
    /// The same in words.
    pub sentences: Vec<String>,
}

/// A target's figures, divided by those of the first target.
#[derive(Clone, Debug, Serialize)]
pub struct Ratios {
    /// The target's name.
    pub target: String,
    /// Good answers a second. `None` if the tool's own limit held back one of the two.
    pub rate: Option<Ratio>,
    /// Median latency.
    pub p50: Option<Ratio>,
    /// 99th percentile of the latency.
    pub p99: Option<Ratio>,
    /// CPU time of the watched processes per request.
    pub cpu_per_request: Option<Ratio>,
}

/// A ratio over the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The median of the rounds' ratios.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Comparison {
    /// Describes a ratio, for this number of rounds.
    pub(crate) fn spread(&self) -> String {
        match self.rounds {
            0 => "no round is whole".to_owned(),
            1 => "1 round".to_owned(),
            rounds => {
                format!("the median of {rounds} rounds, and from the smallest to the largest")
            }
        }
    }
}

impl Ratio {
    fn of(ratios: impl Iterator<Item = Option<f64>>) -> Option<Self> {
        let mut ratios: Vec<f64> = ratios.flatten().filter(|one| one.is_finite()).collect();
        ratios.sort_by(f64::total_cmp);
        let middle = |at: usize| ratios.get(at).copied();
        let half = ratios.len() / 2;
        let median = if ratios.len().is_multiple_of(2) {
            f64::midpoint(middle(half.checked_sub(1)?)?, middle(half)?)
        } else {
            middle(half)?
        };
        Some(Self {
            median,
            min: middle(0)?,
            max: middle(ratios.len() - 1)?,
        })
    }
}

/// Compares targets with the first. `None`: there is no other.
pub fn compare(targets: &[Target]) -> Option<Comparison> {
    let (base, others) = targets
        .split_first()
        .filter(|(_, others)| !others.is_empty())?;
    let ratios: Vec<_> = others.iter().map(|other| against(base, other)).collect();
    Some(Comparison {
        base: base.name.clone(),
        // If a comparison was stopped, the last round may lack some targets.
        rounds: targets
            .iter()
            .map(|one| one.rounds.len())
            .min()
            .unwrap_or(0),
        sentences: ratios.iter().map(|one| sentence(&base.name, one)).collect(),
        ratios,
    })
}

fn against(base: &Target, other: &Target) -> Ratios {
    let ratio = |figure: fn(&Round) -> Option<f64>| {
        let rounds = base.rounds.iter().zip(&other.rounds);
        Ratio::of(rounds.map(|(ours, theirs)| {
            let ours = figure(ours).filter(|ours| *ours > 0.0)?;
            Some(figure(theirs)? / ours)
        }))
    };
    // Two targets that were held back say nothing about each other. If only one was, the other says no more than that
    // it can do as much.
    let is_bound = base.held_back().is_some() || other.held_back().is_some();
    Ratios {
        target: other.name.clone(),
        rate: ratio(|round| Some(round.rate)).filter(|_| !is_bound),
        p50: ratio(|round| round.p50_ms),
        p99: ratio(|round| round.p99_ms),
        cpu_per_request: ratio(|round| round.cpu_us_per_request),
    }
}

/// Returns a sentence like "new against old: half the requests a second, a fifth of the median latency".
fn sentence(base: &str, ratios: &Ratios) -> String {
    let parts = [
        (ratios.rate, "requests a second"),
        (ratios.p50, "median latency"),
        (ratios.p99, "99th percentile"),
        (ratios.cpu_per_request, "CPU time a request"),
    ];
    let parts: Vec<_> = parts
        .into_iter()
        .filter_map(|(ratio, what)| Some(format!("{} {what}", times(ratio?.median))))
        .collect();
    let target = &ratios.target;
    if parts.is_empty() {
        return format!("{target} against {base}: nothing to compare");
    }
    format!("{target} against {base}: {}", parts.join(", "))
}

/// Describes a ratio: "14 times the", "a fifth of the", "about the same".
fn times(ratio: f64) -> String {
    const PARTS: [(f64, &str); 6] = [
        (2.0, "half the"),
        (3.0, "a third of the"),
        (4.0, "a quarter of the"),
        (5.0, "a fifth of the"),
        (10.0, "a tenth of the"),
        (100.0, "a hundredth of the"),
    ];
    let near = |one: f64, other: f64| (one / other - 1.0).abs() < 0.06;
    if near(ratio, 1.0) {
        return "about the same".to_owned();
    }
    if let Some((_, words)) = PARTS.iter().find(|(part, _)| near(ratio, 1.0 / part)) {
        return (*words).to_owned();
    }
    if ratio >= 9.5 {
        format!("{ratio:.0} times the")
    } else if ratio >= 0.1 {
        format!("{ratio:.2} times the")
    } else if ratio > 0.0 {
        format!("1/{:.0} of the", 1.0 / ratio)
    } else {
        "none of the".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_in_words() {
        for (ratio, words) in [
            (14.2, "14 times the"),
            (0.2, "a fifth of the"),
            (0.205, "a fifth of the"),
            (1.02, "about the same"),
            (1.5, "1.50 times the"),
            (0.7, "0.70 times the"),
            (0.02, "1/50 of the"),
            (0.0, "none of the"),
        ] {
            assert_eq!(times(ratio), words, "{ratio}");
        }
    }

    #[test]
    fn the_median_is_of_the_rounds() {
        let of = |ratios: &[f64]| Ratio::of(ratios.iter().copied().map(Some));
        let wanted = |median, min, max| Some(Ratio { median, min, max });
        assert_eq!(of(&[3.0, 1.0, 2.0]), wanted(2.0, 1.0, 3.0));
        assert_eq!(of(&[4.0, 2.0]), wanted(3.0, 2.0, 4.0));
        assert_eq!(of(&[7.0]), wanted(7.0, 7.0, 7.0));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[f64::INFINITY]), None);
    }
}
