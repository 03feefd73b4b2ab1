//! Decides when the next round begins.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// A round begins up to this fraction of the interval earlier or later, so that several machines do not send requests
/// at the same moment.
const PART: u32 = 10;

/// Where in its range a round begins: 0 is the earliest point, 1 the latest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jitter(pub f64);

impl Jitter {
    /// Returns another value each time.
    pub fn random() -> Self {
        let number = (RandomState::new().hash_one(0) >> 32) as u32;
        Self(f64::from(number) / f64::from(u32::MAX))
    }
}

/// Returns how long after its beginning a round is followed by the next, if that is `every` on average. A round that
/// `took` longer is followed at once, and never overtaken.
pub fn next_round(every: Duration, took: Duration, jitter: Jitter) -> Duration {
    let spread = every / PART;
    let begin = every.saturating_sub(spread) + (spread * 2).mul_f64(jitter.0.clamp(0.0, 1.0));
    begin.max(took)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_begin_around_their_time_and_never_overlap() {
        let minutes = Duration::from_mins;
        for (took, jitter, begins) in [
            (minutes(1), 0.0, minutes(9)),
            (minutes(1), 0.5, minutes(10)),
            (minutes(1), 1.0, minutes(11)),
            (minutes(30), 0.5, minutes(30)),
        ] {
            assert_eq!(next_round(minutes(10), took, Jitter(jitter)), begins);
        }
        let Jitter(jitter) = Jitter::random();
        assert!((0.0..=1.0).contains(&jitter));
    }
}
