//! HTTP dates as text (RFC 9110 section 5.6.7). The number and form of the parts between spaces tell the formats apart.

use super::Time;
use std::time::Duration;

/// See [`Time::parse`].
pub(super) fn parse(date: &[u8], now: Time) -> Option<Time> {
    let mut found: [&[u8]; MOST_PARTS] = [&[]; MOST_PARTS];
    let mut count = 0;
    for part in date.trim_ascii().split(|byte| *byte == b' ') {
        *found.get_mut(count)? = part;
        count += 1;
    }
    match *found.get(..count)? {
        // Sun, 06 Nov 1994 08:49:37 GMT
        [name, day, month, year, clock, zone] if zone.eq_ignore_ascii_case(b"GMT") => {
            short_day_name(name.strip_suffix(b",")?)?;
            moment(digits(year, 4)?, month, digits(day, 2)?, clock)
        }
        // Sunday, 06-Nov-94 08:49:37 GMT
        [name, date, clock, zone] if zone.eq_ignore_ascii_case(b"GMT") => {
            day_name(name.strip_suffix(b",")?)?;
            let mut date = date.split(|byte| *byte == b'-');
            let day = digits(date.next()?, 2)?;
            let month = date.next()?;
            let year = digits(date.next()?, 2)?;
            match date.next() {
                None => with_century(year, month, day, clock, now),
                Some(_) => None,
            }
        }
        // Sun Nov  6 08:49:37 1994
        [name, month, b"", day, clock, year] => {
            short_day_name(name)?;
            moment(digits(year, 4)?, month, digits(day, 1)?, clock)
        }
        [name, month, day, clock, year] => {
            short_day_name(name)?;
            moment(digits(year, 4)?, month, digits(day, 2)?, clock)
        }
        _ => None,
    }
}

/// The greatest number of parts: an asctime date with a one-digit day has two spaces, with an empty part between them.
const MOST_PARTS: usize = 6;
/// How far ahead a two-digit year may lie (RFC 9110 section 5.6.7), by the mean length of a year.
const FIFTY_YEARS: Duration = Duration::from_secs(50 * YEAR);
const YEAR: u64 = 31_556_952;

const DAYS: [&[u8]; 7] = [
    b"Monday",
    b"Tuesday",
    b"Wednesday",
    b"Thursday",
    b"Friday",
    b"Saturday",
    b"Sunday",
];
const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

fn day_name(name: &[u8]) -> Option<()> {
    let known = DAYS.iter().any(|day| day.eq_ignore_ascii_case(name));
    known.then_some(())
}

fn short_day_name(name: &[u8]) -> Option<()> {
    let known = DAYS
        .iter()
        .filter_map(|day| day.first_chunk::<3>())
        .any(|day| day.eq_ignore_ascii_case(name));
    known.then_some(())
}

/// Parses exactly `count` digits.
fn digits(text: &[u8], count: usize) -> Option<u64> {
    if text.len() != count {
        return None;
    }
    text.iter().try_fold(0, |sum, byte| {
        byte.is_ascii_digit()
            .then(|| sum * 10 + u64::from(byte - b'0'))
    })
}

/// Returns the latest moment with these last two digits of the year that is at most 50 years ahead of `now`.
fn with_century(year: u64, month: &[u8], day: u64, clock: &[u8], now: Time) -> Option<Time> {
    let latest = now.plus(FIFTY_YEARS);
    // At or above the year of `latest`, however the mean length of a year rounds.
    let above = latest.as_secs() / YEAR + 1971;
    let year = above - (above % 100 + 100 - year) % 100;
    let moment_in = |year| moment(year, month, day, clock);
    match moment_in(year) {
        // 29 February may exist in one century and not in the other. Then the other century was not meant.
        Some(time) if time > latest => moment_in(year - 100),
        found => found,
    }
}

/// Returns the moment of a day and a `hh:mm:ss`; `None` if one of them does not exist.
fn moment(year: u64, month: &[u8], day: u64, clock: &[u8]) -> Option<Time> {
    let month = MONTHS
        .iter()
        .position(|name| name.eq_ignore_ascii_case(month))? as u64;
    let &[h1, h2, b':', m1, m2, b':', s1, s2] = clock else {
        return None;
    };
    let (hour, minute) = (digits(&[h1, h2], 2)?, digits(&[m1, m2], 2)?);
    let second = digits(&[s1, s2], 2)?;
    // A second of 60 is a leap second (RFC 9110 section 5.6.7).
    if hour > 23 || minute > 59 || second > 60 || day == 0 || day > days_in(month, year) {
        return None;
    }
    if year < 1970 {
        return Some(Time(0));
    }
    let days = days_before_year(year) - days_before_year(1970)
        + (0..month).map(|month| days_in(month, year)).sum::<u64>()
        + (day - 1);
    Some(Time::from_secs(
        ((days * 24 + hour) * 60 + minute) * 60 + second,
    ))
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// Days in a month; `month` counts from zero.
const fn days_in(month: u64, year: u64) -> u64 {
    match month {
        1 if is_leap(year) => 29,
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

/// Days from the start of the year 1 to the start of `year`, which is at least 1.
const fn days_before_year(year: u64) -> u64 {
    let past = year - 1;
    past * 365 + past / 4 - past / 100 + past / 400
}
