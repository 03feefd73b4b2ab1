//! Times as access logs write them.

use rules::time::Time;

const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// Parses a time in any of the forms that [`super::meaning`] knows: `21/Nov/2025:02:36:00 +0000`, RFC 3339 (also with a
/// space in place of the `T`, and without a zone, which means UTC), or a number since the epoch.
pub(super) fn read(text: &[u8]) -> Option<Time> {
    let text = text.trim_ascii();
    match text {
        [b'[', inner @ .., b']'] => common(inner),
        [_, _, b'/', ..] => common(text),
        [_, _, _, _, b'-', ..] => iso(text),
        _ => epoch(std::str::from_utf8(text).ok()?.parse().ok()?),
    }
}

/// Parses `21/Nov/2025:02:36:00 +0000`.
fn common(text: &[u8]) -> Option<Time> {
    let (day, rest) = (number(text.get(..2)?)?, text.get(2..)?);
    let month = rest.get(1..4)?;
    let month = MONTHS.iter().position(|name| name[..] == *month)? as u64 + 1;
    let year = number(rest.get(5..9)?)?;
    let marks = (rest.first(), rest.get(4), rest.get(9));
    if marks != (Some(&b'/'), Some(&b'/'), Some(&b':')) {
        return None;
    }
    let (seconds, millis, zone) = clock(rest.get(10..)?)?;
    moment(days(year, month, day)?, seconds, millis, zone)
}

/// Parses RFC 3339.
fn iso(text: &[u8]) -> Option<Time> {
    let day = date(text.get(..10)?)?;
    let (seconds, millis, zone) = match text.get(10) {
        None => (0, 0, 0),
        Some(b'T' | b't' | b' ') => clock(text.get(11..)?)?,
        Some(_) => return None,
    };
    moment(day, seconds, millis, zone)
}

/// Returns the days since the epoch of `2025-11-21`.
fn date(text: &[u8]) -> Option<i64> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text else {
        return None;
    };
    days(
        number(&[y1, y2, y3, y4])?,
        number(&[m1, m2])?,
        number(&[d1, d2])?,
    )
}

/// Parses a date and a time of day in two parts, both UTC.
pub(super) fn two_parts(day: &[u8], time: &[u8]) -> Option<Time> {
    let (seconds, millis, zone) = clock(time)?;
    moment(date(day)?, seconds, millis, zone)
}

/// Parses seconds, milliseconds or finer units since the epoch. Their size tells them apart.
pub(super) fn epoch(number: f64) -> Option<Time> {
    let millis = match number {
        _ if !(0.0..1e20).contains(&number) => return None,
        // 1e11 seconds are the year 5138; as milliseconds they are 1973.
        seconds if seconds < 1e11 => seconds * 1e3,
        millis if millis < 1e14 => millis,
        micros if micros < 1e17 => micros / 1e3,
        nanos => nanos / 1e6,
    };
    #[expect(clippy::cast_sign_loss, reason = "it is not negative")]
    before_the_end(millis.round() as u64)
}

/// Parses `02:36:00`, a fraction and a zone: returns the second of the day, milliseconds, and the seconds that the zone
/// is ahead.
fn clock(text: &[u8]) -> Option<(i64, i64, i64)> {
    let [h1, h2, b':', m1, m2, b':', s1, s2, rest @ ..] = text else {
        return None;
    };
    let (hour, minute, second) = (
        number(&[*h1, *h2])?,
        number(&[*m1, *m2])?,
        number(&[*s1, *s2])?,
    );
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (millis, rest) = match rest {
        [b'.' | b',', rest @ ..] => fraction(rest),
        _ => (0, rest),
    };
    // A leap second counts as the one before it.
    let seconds = (hour * 3600 + minute * 60 + second.min(59)).cast_signed();
    Some((seconds, millis, zone(rest.trim_ascii())?))
}

/// Returns the first three digits of a fraction, and the text after its last one.
fn fraction(text: &[u8]) -> (i64, &[u8]) {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (written, rest) = text.split_at(digits);
    let millis = (0..3).fold(0, |sum, index| {
        let digit = written
            .get(index)
            .map_or(0, |digit| i64::from(digit - b'0'));
        sum * 10 + digit
    });
    (millis, rest)
}

/// Parses `+0100`, `+01:00`, `Z` or nothing.
fn zone(text: &[u8]) -> Option<i64> {
    let (sign, hour, minute) = match *text {
        [] | [b'Z' | b'z'] => return Some(0),
        [sign, h1, h2, m1, m2] | [sign, h1, h2, b':', m1, m2] => {
            (sign, number(&[h1, h2])?, number(&[m1, m2])?)
        }
        _ => return None,
    };
    if hour > 23 || minute > 59 {
        return None;
    }
    let ahead = (hour * 3600 + minute * 60).cast_signed();
    match sign {
        b'+' => Some(ahead),
        b'-' => Some(-ahead),
        _ => None,
    }
}

fn moment(days: i64, seconds: i64, millis: i64, zone: i64) -> Option<Time> {
    let millis = (days * 86_400 + seconds - zone) * 1000 + millis;
    u64::try_from(millis).ok().and_then(before_the_end)
}

/// Accepts times whose year has four digits: a later one is not the time of a request, and cannot be written.
fn before_the_end(millis: u64) -> Option<Time> {
    const END: u64 = 253_402_300_800_000;
    (millis < END).then(|| Time::from_millis(millis))
}

/// Returns the days since the epoch in the Gregorian calendar. Years begin in March here, so that the leap day is the
/// last of one.
fn days(year: u64, month: u64, day: u64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year.checked_sub(1)?, month + 9)
    };
    let of_year = (153 * month + 2) / 5 + day - 1;
    let all = year * 365 + year / 4 - year / 100 + year / 400 + of_year;
    // The days from the first of March of the year 0 to the first of January 1970.
    Some(all.cast_signed() - 719_468)
}

fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |sum: u64, byte| {
        byte.is_ascii_digit()
            .then(|| sum * 10 + u64::from(byte - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn each_form() {
        let at = 1_763_692_560_000;
        for (text, millis) in [
            ("21/Nov/2025:02:36:00 +0000", at),
            ("[21/Nov/2025:03:36:00 +0100]", at),
            ("20/Nov/2025:21:06:00 -0530", at),
            ("2025-11-21T02:36:00Z", at),
            ("2025-11-21T03:36:00.1204+01:00", at + 120),
            ("2025-11-21 02:36:00,5", at + 500),
            ("2025-11-21T02:36:00+0000", at),
            ("1763692560", at),
            ("1763692560.250", at + 250),
            ("1763692560250", at + 250),
            ("1763692560250000", at + 250),
            ("1763692560250000000", at + 250),
            ("1970-01-01", 0),
            ("29/Feb/2000:23:59:59 +0000", 951_868_799_000),
            ("31/Dec/2016:23:59:60 +0000", 1_483_228_799_000),
            ("31/Dec/9999:23:59:60 +0000", 253_402_300_799_000),
        ] {
            assert_eq!(
                read(text.as_bytes()),
                Some(Time::from_millis(millis)),
                "{text}"
            );
        }
        for bad in [
            "",
            "-",
            "[]",
            "21/Nov/2025",
            "32/Nov/2025:02:36:00 +0000",
            "21/Nov/2025:25:00:00 +0000",
            "2025-13-01",
            "2025-11-21X02:36:00",
            "-1",
            "NaN",
            "inf",
            "21/Nov/2025:02:36:00 *0000",
            "1960-01-01T00:00:00Z",
            "31/Dec/9999:23:59:59 -0001",
            "21/Nov/2025:02:36:00 +2400",
            "21/Nov/2025:02:36:00 +0060",
            "99999999999999999999",
        ] {
            assert_eq!(read(bad.as_bytes()), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_time_written_by_another_hand_is_read(seconds in 0_u64..253_402_300_799) {
            let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            let text = humantime::format_rfc3339_seconds(moment).to_string();
            prop_assert_eq!(read(text.as_bytes()), Some(Time::from_secs(seconds)));
        }

        #[test]
        fn anything_is_read_or_not(text in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = read(&text);
        }
    }
}
