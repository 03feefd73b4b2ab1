//! Durations: `90s`, `10m`, `1h30m`, `500ms`.

use super::{Word, Wrong, switch};
use std::time::Duration;

/// Beyond this, a moment in the future does not fit every clock.
const LONGEST: Duration = Duration::from_hours(100 * 365 * 24);

impl Word for Duration {
    const WHAT: &'static str = "a duration";
    const EXAMPLES: &'static [&'static str] = &["60s", "500ms", "1h30m", "1d"];
    const PATTERN: &'static str = r"^\s*(0|([0-9]+(\.[0-9]+)?\s*[a-zA-Zµ]+\s*)+)\s*$";

    fn parse(text: &str) -> Result<Self, Wrong> {
        let text = text.trim();
        // The library reads it as a month.
        if text.contains('M') {
            return Err(
                Wrong::new(format!("`{text}` is not a duration: minutes are `m`"))
                    .instead(text.replace('M', "m")),
            );
        }
        if let Some(number) = cut_number(text) {
            let what = format!("`{text}` is not a duration: `{number}` has no unit");
            return Err(Wrong::new(what));
        }
        match humantime::parse_duration(text) {
            Ok(duration) if duration > LONGEST => {
                Err(Wrong::new("the duration is longer than a hundred years").instead("365d"))
            }
            Ok(duration) => Ok(duration),
            Err(_) if switch(text) == Some(false) => Err(Wrong::new(format!(
                "`{text}` is not a duration: no time is `0s`"
            ))),
            Err(humantime::DurationError::UnknownUnit { unit, .. }) if unit.is_empty() => {
                Err(without_unit(text))
            }
            Err(humantime::DurationError::NumberExpected(_) | humantime::DurationError::Empty) => {
                Err(Wrong::new(format!(
                    "`{text}` is not a duration: write a number with its unit"
                ))
                .as_in(Self::EXAMPLES))
            }
            Err(error) => {
                Err(Wrong::new(format!("`{text}` is not a duration: {error}"))
                    .as_in(Self::EXAMPLES))
            }
        }
    }

    fn number(number: i64) -> Wrong {
        if number < 0 {
            return Wrong::new(format!("{number} is not a duration")).as_in(Self::EXAMPLES);
        }
        without_unit(&number.to_string())
    }
}

/// A time that is longer than none. How long it is at least depends on the setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimit(pub Duration);

/// What is true of every [`TimeLimit`].
const LIMITS: &str = "and this time cannot be none";

impl Word for TimeLimit {
    const WHAT: &'static str = Duration::WHAT;
    const EXAMPLES: &'static [&'static str] = &["10s", "500ms"];
    const PATTERN: &'static str = Duration::PATTERN;

    fn parse(text: &str) -> Result<Self, Wrong> {
        if switch(text) == Some(false) {
            return Err(Wrong::new(format!("`{text}` is not a duration, {LIMITS}")));
        }
        Duration::parse(text).map(Self)
    }

    fn number(number: i64) -> Wrong {
        if number == 0 {
            let wrong = Wrong::new(format!("the duration has no unit, {LIMITS}"));
            return wrong.as_in(Self::EXAMPLES);
        }
        Duration::number(number).proposing::<Self>()
    }
}

/// Returns a number with white space and another number behind it, which the library reads as one number.
fn cut_number(text: &str) -> Option<&str> {
    let is_of_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let words = text.split_whitespace();
    let mut pairs = words.clone().zip(words.skip(1));
    let (word, _) = pairs
        .find(|(word, next)| word.ends_with(is_of_number) && next.starts_with(is_of_number))?;
    word.get(word.trim_end_matches(is_of_number).len()..)
}

fn without_unit(number: &str) -> Wrong {
    Wrong::new("the duration has no unit")
        .instead(format!("{number}s"))
        .proposing::<Duration>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, millis) in [
            ("500ms", 500),
            ("90s", 90_000),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("1d", 86_400_000),
            ("0s", 0),
            (" 1s ", 1000),
            ("1h 30m", 5_400_000),
            ("1 h 30 m", 5_400_000),
            ("1.5 h", 5_400_000),
        ] {
            assert_eq!(
                Duration::parse(text),
                Ok(Duration::from_millis(millis)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_duration() {
        for (text, instead) in [
            ("60", "\"60s\""),
            ("soon", "\"60s\""),
            ("", "\"60s\""),
            ("-1s", "\"60s\""),
            ("1fortnight", "\"60s\""),
            ("99999999999999999999s", "\"60s\""),
            ("1000y", "\"365d\""),
        ] {
            let wrong = Duration::parse(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), Some(instead), "{text}: {wrong}");
        }
        assert_eq!(Duration::number(-5).instead.as_deref(), Some("\"60s\""));
        assert_eq!(Duration::number(60).instead.as_deref(), Some("\"60s\""));
        assert_eq!(Duration::number(0).instead.as_deref(), Some("\"0s\""));
        for (number, instead) in [(0, "\"10s\""), (60, "\"60s\""), (-5, "\"10s\"")] {
            let wrong = TimeLimit::number(number);
            assert_eq!(wrong.instead.as_deref(), Some(instead), "{number}: {wrong}");
        }
    }

    #[test]
    fn white_space_ends_a_number() {
        for (text, number) in [
            ("200 10m", "`200`"),
            ("200 302 10m", "`200`"),
            ("1 000ms", "`1`"),
            ("1h5 0m", "`5`"),
            ("1h 5\t0m", "`5`"),
            ("1. 5s", "`1.`"),
            ("1 .5s", "`1`"),
            ("1.5 5s", "`1.5`"),
        ] {
            let wrong = Duration::parse(text).expect_err(text);
            let told = format!("{number} has no unit");
            assert!(wrong.what.ends_with(&told), "{text}: {wrong}");
        }
    }

    #[test]
    fn months_are_not_meant() {
        let wrong = Duration::parse("10M").expect_err("ten months");
        assert!(wrong.to_string().contains("minutes are `m`"), "{wrong}");
    }
}
