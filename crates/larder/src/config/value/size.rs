//! Sizes in bytes: `512MiB`, `8KiB`, `1GB`.

mod least;

pub use least::{DiskSize, MemorySize, TargetLength, WriteRate};

use super::{Word, Wrong};
use bytesize::ByteSize;
use std::fmt;

/// The largest offset of the kernel: offsets in files are signed.
const LARGEST: u64 = i64::MAX as u64;

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl Word for Size {
    const WHAT: &'static str = "a size";
    const EXAMPLES: &'static [&'static str] = &["512MiB", "8KiB", "1GB"];
    const PATTERN: &'static str = r"^\s*[0-9.]+\s*([kKmMgGtTpPeE][iI]?[bB]?|[bB])\s*$";

    fn parse(text: &str) -> Result<Self, Wrong> {
        let text = text.trim();
        let has_unit = text
            .bytes()
            .any(|byte| !byte.is_ascii_digit() && byte != b'.');
        if !has_unit && text.bytes().any(|byte| byte.is_ascii_digit()) {
            return Err(without_unit(text));
        }
        match text.parse::<ByteSize>() {
            // The library reads a size that is too large for the number as the largest one.
            Ok(size) if size.as_u64() > LARGEST => {
                Err(Wrong::new(format!("`{text}` is too large")).as_in(Self::EXAMPLES))
            }
            Ok(size) => Ok(Self(size.as_u64())),
            Err(_) => Err(Wrong::new(format!("`{text}` is not a size")).as_in(Self::EXAMPLES)),
        }
    }

    fn number(number: i64) -> Wrong {
        if number < 0 {
            return Wrong::new(format!("{number} is not a size")).as_in(Self::EXAMPLES);
        }
        without_unit(&number.to_string())
    }
}

/// Writes the size in the largest unit that needs no fraction.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
        let whole = |(_, bits): &(&str, u32)| self.0 > 0 && self.0.trailing_zeros() >= *bits;
        let (unit, bits) = units.into_iter().find(whole).unwrap_or(("B", 0));
        write!(f, "{}{unit}", self.0 >> bits)
    }
}

impl std::str::FromStr for Size {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<Self, Wrong> {
        Self::parse(text)
    }
}

/// The size of the largest header, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderSize(pub u64);

impl HeaderSize {
    /// An upload counts with four times the size of the largest header, and there must be room for several.
    const MOST: Size = Size(1 << 20);
}

impl Word for HeaderSize {
    const WHAT: &'static str = "a size";
    const EXAMPLES: &'static [&'static str] = &["32KiB", "64KiB"];
    const PATTERN: &'static str = Size::PATTERN;

    fn parse(text: &str) -> Result<Self, Wrong> {
        if is_zero(text) {
            return Err(Self::number(0));
        }
        match Size::parse(text)? {
            Size(bytes) if bytes <= Self::MOST.0 => Ok(Self(bytes)),
            _ => {
                let what = format!("the size of a header is at most {}", Self::MOST);
                Err(Wrong::new(what).instead(Self::MOST))
            }
        }
    }

    fn number(number: i64) -> Wrong {
        if number == 0 {
            let wrong = Wrong::new("the size has no unit, and no header is that small");
            return wrong.instead(Size(64 << 10));
        }
        Size::number(number).proposing::<Self>()
    }
}

/// Returns the fault of a number without a unit. A large number was probably meant in bytes, a small one in MiB.
fn without_unit(number: &str) -> Wrong {
    let wrong = Wrong::new("the size has no unit");
    if is_zero(number) {
        return wrong.instead(Size(0));
    }
    let unit = if number.len() > 4 { "B" } else { "MiB" };
    wrong.instead(format!("{number}{unit}"))
}

/// Whether `text` is a zero without a unit.
fn is_zero(text: &str) -> bool {
    let text = text.trim();
    text.contains('0') && text.bytes().all(|byte| b"0.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("512MiB", 512 << 20),
            ("8KiB", 8192),
            ("1GB", 1_000_000_000),
            ("1.5 MiB", 3 << 19),
            ("100B", 100),
        ] {
            assert_eq!(Size::parse(text), Ok(Size(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_size() {
        for (text, instead) in [
            ("512", "\"512MiB\""),
            ("16384", "\"16384B\""),
            ("1.5", "\"1.5MiB\""),
            ("0", "\"0B\""),
            ("0.0", "\"0B\""),
            (".", "\"512MiB\""),
            ("", "\"512MiB\""),
            ("-1MiB", "\"512MiB\""),
            ("12 parrots", "\"512MiB\""),
            ("1é", "\"512MiB\""),
            ("8EiB", "\"512MiB\""),
            ("999999EiB", "\"512MiB\""),
        ] {
            let wrong = Size::parse(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), Some(instead), "{text}: {wrong}");
        }
    }

    #[test]
    fn headers() {
        assert_eq!(HeaderSize::parse("1MiB"), Ok(HeaderSize(1 << 20)));
        for (text, instead) in [
            ("1025KiB", "\"1MiB\""),
            ("7EiB", "\"1MiB\""),
            ("16384", "\"16384B\""),
            ("32", "\"32KiB\""),
            ("large", "\"32KiB\""),
        ] {
            let wrong = HeaderSize::read(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), Some(instead), "{text}: {wrong}");
        }
    }

    #[test]
    fn sizes_are_told_as_they_may_be_written() {
        for (bytes, text) in [
            (0, "0B"),
            (1023, "1023B"),
            (8192, "8KiB"),
            (3 << 19, "1536KiB"),
            (512 << 20, "512MiB"),
            (10 << 30, "10GiB"),
        ] {
            assert_eq!(Size(bytes).to_string(), text);
            assert_eq!(Size::parse(text), Ok(Size(bytes)));
        }
    }
}
