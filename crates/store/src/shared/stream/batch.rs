//! How many entries of the stream are asked for at once: no more than come in time, however slow the line is.

use crate::shared::remote::{Error, Kind};
use std::time::Duration;

/// The most.
const MOST: usize = 1000;

/// How many entries are asked for at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch(usize);

impl Default for Batch {
    fn default() -> Self {
        Self(MOST)
    }
}

impl Batch {
    /// At least one.
    pub const fn entries(self) -> usize {
        self.0
    }

    /// Notes what became of the last question, which took so long of the time that it had: the next asks for half as
    /// many if that ran out, and for twice as many if these may come in time too.
    pub fn learn<T>(&mut self, answer: &Result<T, Error>, took: Duration, limit: Duration) {
        self.0 = match answer {
            Ok(_) if took <= limit / 2 => (self.0 * 2).min(MOST),
            Err(error) if error.kind == Kind::Timeout => (self.0 / 2).max(1),
            _ => self.0,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_halved_until_it_comes_in_time_and_doubled_while_there_is_time_for_twice_as_many() {
        let (limit, fast, slow) = (5, 2, 3);
        let (late, refused) = (Err(Kind::Timeout), Err(Kind::Refused));
        let mut batch = Batch::default();
        for (answer, took, entries) in [
            (Ok(()), fast, 1000),
            (late, limit, 500),
            (late, limit, 250),
            (Ok(()), slow, 250),
            (refused, fast, 250),
            (Ok(()), fast, 500),
            (Ok(()), fast, 1000),
        ] {
            let answer = answer.map_err(|kind| Error::new(kind, "so"));
            let seconds = Duration::from_secs;
            batch.learn(&answer, seconds(took), seconds(limit));
            assert_eq!(batch.entries(), entries);
        }
        for _ in 0..20 {
            let late = Err::<(), _>(Error::new(Kind::Timeout, "late"));
            batch.learn(&late, Duration::ZERO, Duration::ZERO);
        }
        assert_eq!(batch.entries(), 1);
    }
}
