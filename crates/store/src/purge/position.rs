//! Positions in the log that nodes share. Their text is that of ids in a Redis stream: `milliseconds-number`.

use std::{fmt, str::FromStr};

/// The position of an entry in the log that nodes share. Totally ordered, and the same on every node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub u64, pub u64);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.0, self.1)
    }
}

/// The error for a text that is not a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a position: two numbers with a hyphen between them")]
pub struct NotAPosition;

impl FromStr for Position {
    type Err = NotAPosition;

    fn from_str(text: &str) -> Result<Self, NotAPosition> {
        // `u64::from_str` accepts a sign.
        let number = |digits: &str| {
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| digits.parse().ok()).flatten()
        };
        let (millis, count) = text.split_once('-').ok_or(NotAPosition)?;
        number(millis)
            .zip(number(count))
            .map(|(millis, count)| Self(millis, count))
            .ok_or(NotAPosition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(millis: u64, count: u64) {
            let position = Position(millis, count);
            prop_assert_eq!(position.to_string().parse(), Ok(position));
        }
    }

    #[test]
    fn anything_else_is_no_position() {
        for bad in [
            "",
            "-",
            "1",
            "1-",
            "-1",
            "1-2-3",
            "+1-2",
            "1--2",
            " 1-2",
            "18446744073709551616-0",
        ] {
            assert_eq!(bad.parse::<Position>(), Err(NotAPosition), "{bad}");
        }
    }
}
