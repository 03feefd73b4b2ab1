//! The dates of cookies (RFC 6265 section 5.1.1), which may be written in more ways than those of other fields. The crate
//! `cookie` reads the four most usual ones only, and would take a cookie that ends in another way for one that stays.

/// Year, month, day, and hour, minute, second: in this order they compare as the times do.
type CookieDate = (u16, usize, u16, [u16; 3]);

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Reads a date. Each of its parts is the first word that looks like it; other words are ignored.
pub(super) fn parse(written: &str) -> Option<CookieDate> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for word in written.split(is_delimiter) {
        if time.is_none() && clock(word).is_some() {
            time = clock(word);
        } else if day.is_none() && number(word, 1, 2).is_some() {
            day = number(word, 1, 2);
        } else if month.is_none() && month_of(word).is_some() {
            month = month_of(word);
        } else if year.is_none() {
            year = number(word, 2, 4);
        }
    }
    let (time, day, month, year) = (time?, day?, month?, year?);
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => year,
    };
    let [hour, minute, second] = time;
    let is_valid =
        (1..=31).contains(&day) && year >= 1601 && hour <= 23 && minute <= 59 && second <= 59;
    is_valid.then_some((year, month, day, time))
}

fn is_delimiter(letter: char) -> bool {
    matches!(letter, '\t' | ' '..='/' | ';'..='@' | '['..='`' | '{'..='~')
}

/// The number that a word begins with, if it has so many digits.
fn number(word: &str, least: usize, most: usize) -> Option<u16> {
    let rest = word.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let digits = word.strip_suffix(rest)?;
    let fits = (least..=most).contains(&digits.len());
    fits.then(|| digits.parse().ok())?
}

/// Hour, minute and second of a word like `22:00:00`.
fn clock(word: &str) -> Option<[u16; 3]> {
    let mut parts = word.splitn(3, ':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let whole = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !whole(hour) || !whole(minute) {
        return None;
    }
    Some([
        number(hour, 1, 2)?,
        number(minute, 1, 2)?,
        number(second, 1, 2)?,
    ])
}

fn month_of(word: &str) -> Option<usize> {
    let name = word.get(..3)?;
    MONTHS
        .iter()
        .position(|month| name.eq_ignore_ascii_case(month))
}

#[cfg(test)]
mod tests {
    use super::parse;
    use proptest::prelude::*;

    #[test]
    fn dates_are_read_as_browsers_read_them() {
        let date = Some((1999, 9, 11, [22, 0, 7]));
        for (written, read) in [
            ("Mon, 11 Oct 1999 22:00:07 GMT", date),
            ("Mon, 11-Oct-1999 22:00:07 GMT", date),
            ("Monday, 11-Oct-99 22:00:07 GMT", date),
            ("Mon Oct 11 22:00:07 1999", date),
            ("1999 october 11th 22:0:7", date),
            ("11th october 1999AD 22:0:7z", date),
            ("1 Jan 69 0:0:0", Some((2069, 0, 1, [0, 0, 0]))),
            ("1 Jan 70 0:0:0", Some((1970, 0, 1, [0, 0, 0]))),
            ("1 Jan 1600 0:0:0", None),
            ("32 Jan 1999 0:0:0", None),
            ("1 Jan 1999 24:0:0", None),
            ("1 Jan 1999 0:60:0", None),
            ("1 Jan 1999 0:0", None),
            ("1 Jan 19999 0:0:0", None),
            ("1 Nov", None),
            ("", None),
        ] {
            assert_eq!(parse(written), read, "{written:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text(written: String) {
            let _ = parse(&written);
        }
    }
}
