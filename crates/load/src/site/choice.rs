//! The choice of the next request: in turn, by weight, or by Zipf's law.

use fastrand::Rng;

/// How requests are chosen from a list.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// One after another, from the first to the last, and again.
    InTurn,
    /// At random, each with the probability of its share. The shares are cumulative and end with 1.
    Shares(Vec<f64>),
}

impl Choice {
    /// Makes a random choice by weights. `None` unless they are finite, none is negative, and one is more than zero.
    pub fn weights(weights: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sum = 0.0;
        let mut sums = Vec::new();
        for weight in weights {
            if !weight.is_finite() || weight < 0.0 {
                return None;
            }
            sum += weight;
            sums.push(sum);
        }
        if sum <= 0.0 || !f64::is_finite(sum) {
            return None;
        }
        for one in &mut sums {
            *one /= sum;
        }
        Some(Self::Shares(sums))
    }

    /// Makes a choice by Zipf's law over `count` requests: rank r has a probability proportional to `1 / r` to the
    /// power of `exponent`.
    pub fn zipf(count: usize, exponent: f64) -> Option<Self> {
        #[allow(
            clippy::cast_precision_loss,
            reason = "a list has no more lines than a float counts exactly"
        )]
        Self::weights((1..=count).map(|rank| (rank as f64).powf(-exponent)))
    }

    /// Returns the index of the request for `turn` in a list of `count`.
    pub(crate) fn pick(&self, turn: u64, count: usize, random: &mut Rng) -> usize {
        match self {
            Self::InTurn => (turn % count.max(1) as u64) as usize,
            Self::Shares(sums) => {
                let at = random.f64();
                let index = sums.partition_point(|sum| *sum <= at);
                index.min(count.saturating_sub(1))
            }
        }
    }
}
