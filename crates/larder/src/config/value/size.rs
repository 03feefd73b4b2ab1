//! Sizes in bytes: `512MiB`, `8KiB`, `1GB`.

use super::{Word, Wrong};
use bytesize::ByteSize;

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl Word for Size {
    const WHAT: &'static str = "a size";
    const EXAMPLES: &'static [&'static str] = &["512MiB", "8KiB", "1GB"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        let text = text.trim();
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(without_unit(text));
        }
        match text.parse::<ByteSize>() {
            Ok(size) => Ok(Self(size.as_u64())),
            Err(_) => Err(Wrong::new(format!("`{text}` is not a size")).as_in(Self::EXAMPLES)),
        }
    }

    fn number(number: i64) -> Wrong {
        without_unit(&number.max(0).to_string())
    }
}

impl std::str::FromStr for Size {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<Self, Wrong> {
        Self::parse(text)
    }
}

/// A large number was meant in bytes, a small one hardly.
fn without_unit(number: &str) -> Wrong {
    let unit = if number.len() > 4 { "B" } else { "MiB" };
    Wrong::new("the size has no unit").instead(format!("{number}{unit}"))
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
            ("", "\"512MiB\""),
            ("-1MiB", "\"512MiB\""),
            ("12 parrots", "\"512MiB\""),
            ("1é", "\"512MiB\""),
        ] {
            let wrong = Size::parse(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), Some(instead), "{text}: {wrong}");
        }
    }
}
