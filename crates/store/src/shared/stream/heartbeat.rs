//! What a node says about itself, so that others know whether to wait for it.

use crate::purge::Position;
use std::{fmt, time::Duration};

/// A node that has said nothing for this long, and for longer than it trusts what it keeps, is gone or does not use
/// what it keeps: nobody waits for it.
pub const HEARD_WITHIN: Duration = Duration::from_secs(10);

/// Allows for differences between clocks, and for the time that a message takes.
const MARGIN: Duration = Duration::from_secs(1);

/// A node that has said nothing for this long is removed from the hash.
pub const STRUCK_OFF_AFTER: Duration = Duration::from_hours(1);

/// What a node says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The last entry it applied.
    pub position: Position,
    /// When it said so, by the server's clock.
    pub at: u64,
    /// How long it trusts what it keeps without hearing anything, in milliseconds.
    pub trust: u64,
}

impl Heartbeat {
    /// Reads a text as `Display` writes it; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (position, rest) = text.split_once(' ')?;
        let (at, trust) = rest.split_once(' ')?;
        Some(Self {
            position: position.parse().ok()?,
            at: at.parse().ok()?,
            trust: trust.parse().ok()?,
        })
    }

    /// How long the node is waited for in silence.
    pub fn within(&self) -> Duration {
        let trust = Duration::from_millis(self.trust).saturating_add(MARGIN);
        trust.clamp(HEARD_WITHIN, STRUCK_OFF_AFTER)
    }
}

impl fmt::Display for Heartbeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            position,
            at,
            trust,
        } = self;
        write!(f, "{position} {at} {trust}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_a_node_says_is_read(text in "[0-9 -]{0,20}") {
            let _ = Heartbeat::parse(&text);
        }
    }

    #[test]
    fn a_node_says_where_it_is_and_when() {
        let said = Heartbeat {
            position: Position(5, 1),
            at: 77,
            trust: 8,
        };
        assert_eq!(said.to_string(), "5-1 77 8");
        assert_eq!(Heartbeat::parse("5-1 77 8"), Some(said));
        for bad in [
            "",
            "5-1",
            "5-1 ",
            "5-1 77",
            "x 77 8",
            "5-1 77 ",
            "5-1 77 8 9",
        ] {
            assert_eq!(Heartbeat::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn who_trusts_for_longer_is_waited_for_longer() {
        for (trust, within) in [(0, 10_000), (10_000, 11_000), (60_000, 61_000)] {
            let said = Heartbeat {
                position: Position(5, 1),
                at: 77,
                trust,
            };
            assert_eq!(said.within(), Duration::from_millis(within));
        }
    }
}
