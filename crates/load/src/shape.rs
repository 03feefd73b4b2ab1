//! Shapes of load: how many ask, and when.

use serde::Serialize;
use std::time::Duration;

/// How many ask, and when.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Shape {
    /// This many connections, each of which asks again as soon as it has been answered.
    Closed {
        /// Their number.
        connections: usize,
    },
    /// This many users, each on its own connection, who rest between two requests.
    Users {
        /// Their number at the end.
        users: usize,
        /// They come one after another within this time. Zero: all at once.
        #[serde(rename = "ramp_seconds", serialize_with = "seconds")]
        ramp: Duration,
        /// They rest at random, up to this long.
        #[serde(rename = "pause_seconds", serialize_with = "seconds")]
        pause: Duration,
    },
    /// Requests at times fixed in advance, whatever the answers do.
    Open {
        /// Requests a second at the beginning.
        from: f64,
        /// Requests a second at the end.
        to: f64,
        /// Most connections at the same time.
        connections: usize,
    },
}

fn seconds<S: serde::Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(duration.as_secs_f64())
}

impl Shape {
    /// Returns the largest number of users or connections.
    pub fn most(&self) -> usize {
        match *self {
            Self::Closed { connections } | Self::Open { connections, .. } => connections,
            Self::Users { users, .. } => users,
        }
    }

    /// Describes the shape in words.
    pub fn words(&self) -> String {
        let many = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            count => format!("{count} {what}s"),
        };
        let seconds = |duration: Duration| format!("{} s", duration.as_secs_f64());
        match *self {
            Self::Closed { connections } => many(connections, "connection"),
            Self::Users { users, ramp, pause } => {
                let mut words = many(users, "user");
                if !ramp.is_zero() {
                    words = format!("1 to {words} within {}", seconds(ramp));
                }
                if !pause.is_zero() {
                    words = format!("{words}, resting up to {}", seconds(pause));
                }
                words
            }
            Self::Open { from, to, .. } if (from - to).abs() < f64::EPSILON => {
                format!("{from} requests/s, due at fixed times")
            }
            Self::Open { from, to, .. } => {
                format!("{from} to {to} requests/s, due at fixed times")
            }
        }
    }
}

/// When a run ends: at the first of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// After this time.
    pub after: Duration,
    /// After this many requests.
    pub requests: Option<u64>,
}

/// Returns when the request with this number, counted from 0, is due. `None`: never.
///
/// This is for an open loop whose rate changes evenly from `from` to `to` within `over`, and stays there. There are
/// `from·t + (to − from)·t² / (2·over)` requests until t; this is solved for t.
pub fn due(number: u64, from: f64, to: f64, over: Duration) -> Option<Duration> {
    #[allow(
        clippy::cast_precision_loss,
        reason = "a run has far fewer requests than a float counts exactly"
    )]
    let number = number as f64;
    let over = over.as_secs_f64();
    let slope = if over > 0.0 { (to - from) / over } else { 0.0 };
    let risen = f64::midpoint(from, to) * over;
    let seconds = if number >= risen && over > 0.0 {
        over + (number - risen) / to
    } else {
        // This form of the root stays exact for a small slope.
        2.0 * number / (from + (from * from + 2.0 * slope * number).max(0.0).sqrt())
    };
    if number <= 0.0 {
        return Some(Duration::ZERO);
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn due_times_at_a_constant_and_a_rising_rate() {
        let over = Duration::from_secs(10);
        let at = |number, from, to| due(number, from, to, over).unwrap().as_secs_f64();
        for (number, from, to, wanted) in [
            (0, 100.0, 100.0, 0.0),
            (1, 100.0, 100.0, 0.01),
            (1000, 100.0, 100.0, 10.0),
            // 0 to 100 within 10 s: 5 t².
            (125, 0.0, 100.0, 5.0),
            (500, 0.0, 100.0, 10.0),
            (600, 0.0, 100.0, 11.0),
            // 100 to 0: 100 t − 5 t².
            (375, 100.0, 0.0001, 5.0),
        ] {
            let found = at(number, from, to);
            assert!(
                (found - wanted).abs() < 1e-3,
                "{number} {from} {to}: {found}"
            );
        }
    }

    proptest! {
        #[test]
        fn requests_are_due_in_order(from in 0.0..1e5_f64, to in 0.001..1e5_f64, number in 0..1_000_000_u64, seconds in 1..3600_u64) {
            let over = Duration::from_secs(seconds);
            if let (Some(one), Some(next)) = (due(number, from, to, over), due(number + 1, from, to, over)) {
                prop_assert!(one <= next);
            }
        }
    }
}
