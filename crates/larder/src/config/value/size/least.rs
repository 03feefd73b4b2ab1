//! Sizes that must not be smaller than some least size.

use super::{Size, Word, Wrong, is_zero};

/// The size of a store, in bytes: at least `LEAST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreSize<const LEAST: u64>(pub u64);

/// The size of the store in memory.
pub type MemorySize = StoreSize<{ 1 << 20 }>;

/// The size of the store on disk.
pub type DiskSize = StoreSize<{ 64 << 20 }>;

impl<const LEAST: u64> StoreSize<LEAST> {
    fn small() -> Wrong {
        let what = format!("the store needs at least {}", Size(LEAST));
        Wrong::new(what).as_in(Self::EXAMPLES)
    }
}

impl<const LEAST: u64> Word for StoreSize<LEAST> {
    const WHAT: &'static str = Size::WHAT;
    const EXAMPLES: &'static [&'static str] = &["512MiB", "10GiB"];
    const PATTERN: &'static str = Size::PATTERN;

    fn parse(text: &str) -> Result<Self, Wrong> {
        at_least(LEAST, text, Self::small).map(Self)
    }

    fn number(number: i64) -> Wrong {
        number_at_least::<Self>(number, Self::small)
    }
}

impl<const LEAST: u64> std::str::FromStr for StoreSize<LEAST> {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<Self, Wrong> {
        Self::parse(text)
    }
}

/// The length of the longest path and query, in bytes: at least what an ordinary search form needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetLength(pub u64);

impl TargetLength {
    fn small() -> Wrong {
        Wrong::new("too short for almost any path: at least 64 B").instead("16KiB")
    }
}

impl Word for TargetLength {
    const WHAT: &'static str = Size::WHAT;
    const EXAMPLES: &'static [&'static str] = &["16KiB", "8KiB"];
    const PATTERN: &'static str = Size::PATTERN;

    fn parse(text: &str) -> Result<Self, Wrong> {
        at_least(64, text, Self::small).map(Self)
    }

    fn number(number: i64) -> Wrong {
        number_at_least::<Self>(number, Self::small)
    }
}

/// Bytes that are written each second at most: more than none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteRate(pub u64);

impl WriteRate {
    fn none() -> Wrong {
        Wrong::new("at a rate of 0, nothing is ever written: leave it out for no limit")
    }
}

impl Word for WriteRate {
    const WHAT: &'static str = Size::WHAT;
    const EXAMPLES: &'static [&'static str] = &["50MiB"];
    const PATTERN: &'static str = Size::PATTERN;

    fn parse(text: &str) -> Result<Self, Wrong> {
        at_least(1, text, Self::none).map(Self)
    }

    fn number(number: i64) -> Wrong {
        number_at_least::<Self>(number, Self::none)
    }
}

/// Reads a size. One below `least` is `small`, also a zero without its unit.
fn at_least(least: u64, text: &str, small: fn() -> Wrong) -> Result<u64, Wrong> {
    if is_zero(text) {
        return Err(small());
    }
    match Size::parse(text)? {
        Size(bytes) if bytes >= least => Ok(bytes),
        _ => Err(small()),
    }
}

/// Returns the fault of a number without its unit, where zero is `small`.
fn number_at_least<T: Word>(number: i64, small: fn() -> Wrong) -> Wrong {
    if number == 0 {
        return small();
    }
    Size::number(number).proposing::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_have_a_least_size() {
        for (number, memory, disk) in [
            (1, "1MiB", "512MiB"),
            (64, "64MiB", "64MiB"),
            (10_000, "512MiB", "512MiB"),
            (70_000_000, "70000000B", "70000000B"),
            (-1, "512MiB", "512MiB"),
        ] {
            let told = [MemorySize::number(number), DiskSize::number(number)];
            let meant = [memory, disk].map(|size| Some(format!("{size:?}")));
            assert_eq!(told.map(|wrong| wrong.instead), meant, "{number}");
        }
        assert_eq!(DiskSize::parse("64MiB"), Ok(StoreSize(64 << 20)));
        for small in ["63MiB", "0B", "0"] {
            let wrong = DiskSize::parse(small).unwrap_err();
            assert!(wrong.what.contains("at least 64MiB"), "{wrong}");
        }
    }

    #[test]
    fn a_zero_is_not_told_to_be_written_where_it_is_refused() {
        for zero in ["0", " 0 ", "00", "0.0", "0B", "0MiB"] {
            let wrong = TargetLength::read(zero).unwrap_err();
            assert_eq!(wrong, TargetLength::small(), "{zero}");
            assert_eq!(WriteRate::read(zero), Err(WriteRate::none()), "{zero}");
        }
        assert_eq!(TargetLength::number(0), TargetLength::small());
        assert_eq!(WriteRate::number(0), WriteRate::none());
        assert_eq!(TargetLength::read("64B"), Ok(TargetLength(64)));
        assert_eq!(WriteRate::read("1B"), Ok(WriteRate(1)));
    }
}
