//! Which request is next: in turn, by weight, or by Zipf's law.

use fastrand::Rng;

/// How requests are chosen from a list.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// One after another, from the first to the last and again.
    InTurn,
    /// At random, each as likely as its share; the shares added up, ending with 1.
    Shares(Vec<f64>),
}

impl Choice {
    /// At random by weights; `None` unless they are finite, none is negative, and one is more than nothing.
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

    /// Zipf's law over `count` requests: the one at rank r is as likely as `1 / r` to the power of `exponent`.
    pub fn zipf(count: usize, exponent: f64) -> Option<Self> {
        #[allow(
            clippy::cast_precision_loss,
            reason = "a list has no more lines than a float counts exactly"
        )]
        Self::weights((1..=count).map(|rank| (rank as f64).powf(-exponent)))
    }

    /// The request that comes at `turn` in a list of `count`.
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
