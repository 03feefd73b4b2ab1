//! What the server holds while a lease is taken, as a text that a person can read:
//! `0a37….5f1c… 1790000000000-3`.

use crate::purge::Position;
use std::fmt;

/// A lease that somebody holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::shared) struct Held {
    /// The process that fetches.
    pub(in crate::shared) process: u64,
    /// Tells it from all other leases.
    pub(in crate::shared) number: u64,
    /// The position in the shared log at which the fetch begins, or an earlier one. `None` if none tells what its node
    /// knows of purges.
    pub(in crate::shared) began: Option<Position>,
}

impl Held {
    /// Reads what the server holds. `None` if it is something else.
    pub(in crate::shared) fn read(value: &[u8]) -> Option<Self> {
        let text = str::from_utf8(value).ok()?;
        let (who, began) = match text.split_once(' ') {
            Some((who, began)) => (who, Some(began.parse().ok()?)),
            None => (text, None),
        };
        let (process, number) = who.split_once('.')?;
        let read = |digits| u64::from_str_radix(digits, 16).ok();
        Some(Self {
            process: read(process)?,
            number: read(number)?,
            began,
        })
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}.{:016x}", self.process, self.number)?;
        match self.began {
            Some(began) => write!(f, " {began}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            process: u64, number: u64, began in prop::option::of((any::<u64>(), any::<u64>())),
        ) {
            let began = began.map(|(millis, count)| Position(millis, count));
            let held = Held { process, number, began };
            prop_assert_eq!(Held::read(held.to_string().as_bytes()), Some(held));
        }

        #[test]
        fn anything_may_be_there(value in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Held::read(&value);
        }
    }

    #[test]
    fn anything_else_is_no_lease() {
        for bad in [
            "",
            "another's",
            "1",
            ".1",
            "1.",
            "1.2 ",
            "1.2 3",
            "1.2 3-4 5",
            "1.12345678123456781",
            "1.2.3",
        ] {
            assert_eq!(Held::read(bad.as_bytes()), None, "{bad}");
        }
    }
}
