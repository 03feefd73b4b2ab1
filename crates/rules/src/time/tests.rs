use super::*;
use proptest::prelude::*;

/// 6 November 1994, 08:49:37: the moment in the examples of RFC 9110 section 5.6.7.
const EXAMPLE: Time = Time::from_secs(784_111_777);
/// 1 January 2026.
const NOW: Time = Time::from_secs(1_767_225_600);

fn parse(text: &str) -> Option<Time> {
    Time::parse(text.as_bytes(), NOW)
}

#[test]
fn all_formats_of_rfc_9110_section_5_6_7() {
    for text in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun Nov 06 08:49:37 1994",
        "  Sun, 06 Nov 1994 08:49:37 GMT\t",
        // RFC 9111 section 4.2: a cache SHOULD match case-insensitively.
        "sun, 06 nOV 1994 08:49:37 gmt",
        "SUNDAY, 06-NOV-94 08:49:37 GMT",
        // A day's name that does not agree leaves the moment unambiguous.
        "Mon, 06 Nov 1994 08:49:37 GMT",
    ] {
        assert_eq!(parse(text), Some(EXAMPLE), "{text}");
    }
}

#[test]
fn what_is_not_a_date() {
    for text in [
        "",
        " ",
        "0",
        "-1",
        "tomorrow",
        "784111777",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 08:49:37 GMT+1",
        "Sun 06 Nov 1994 08:49:37 GMT",
        "Sun,  06 Nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06-Nov-1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 08.49.37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 29 Feb 2023 08:49:37 GMT",
        "Sun, 06 Nox 1994 08:49:37 GMT",
        "Son, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 UTC",
        "Sunday, 06-Nov-94 08:49:37 +01",
        "Sunday, 06-Nov-94 08:49:37",
        "Sun Nov  6 08:49:37 1994 GMT",
        "Sunday Nov  6 08:49:37 1994",
        "Sunday, 06-Nov-94-2 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
    ] {
        assert_eq!(parse(text), None, "{text}");
    }
}

#[test]
fn leap_days_leap_seconds_and_far_years() {
    for (text, secs) in [
        ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800),
        ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        ("Fri, 01 Mar 2002 00:00:00 GMT", 1_014_940_800),
        ("Sun, 01 Mar 2401 00:00:00 GMT", 13_606_185_600),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Wed, 01 Jan 1969 00:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LAST_SECOND),
    ] {
        assert_eq!(parse(text), Some(Time::from_secs(secs)), "{text}");
    }
    assert_eq!(parse("Mon, 29 Feb 1900 00:00:00 GMT"), None);
}

#[test]
fn a_two_digit_year_lies_at_most_fifty_years_ahead() {
    let year = |text: &str, now: Time| {
        let time = Time::parse(text.as_bytes(), now)?;
        time.to_http().get(12..16)?.parse::<u32>().ok()
    };
    assert_eq!(year("Friday, 01-Jan-70 00:00:00 GMT", NOW), Some(2070));
    assert_eq!(year("Friday, 01-Jun-75 00:00:00 GMT", NOW), Some(2075));
    assert_eq!(year("Friday, 01-Jun-76 00:00:00 GMT", NOW), Some(1976));
    assert_eq!(year("Friday, 01-Jan-77 00:00:00 GMT", NOW), Some(1977));
    assert_eq!(year("Friday, 01-Jan-99 00:00:00 GMT", NOW), Some(1999));
    assert_eq!(year("Friday, 01-Jan-26 00:00:00 GMT", NOW), Some(2026));
    let in_2095 = Time::from_secs(3_944_678_400);
    assert_eq!(year("Friday, 01-Jan-05 00:00:00 GMT", in_2095), Some(2105));
    assert_eq!(year("Friday, 01-Jan-94 00:00:00 GMT", in_2095), Some(2094));
}

#[test]
fn moments_neither_overflow_nor_go_below_zero() {
    let end = Time::from_millis(u64::MAX);
    assert_eq!(end.plus(Duration::from_secs(1)), end);
    assert_eq!(EXAMPLE.plus(Duration::MAX), end);
    let second = Duration::from_secs(1);
    assert_eq!(EXAMPLE.plus(second).minus(second), EXAMPLE);
    assert_eq!(EXAMPLE.minus(Duration::MAX), Time::default());
    assert_eq!(EXAMPLE.since(NOW), Duration::ZERO);
    assert_eq!(end.to_http(), "Fri, 31 Dec 9999 23:59:59 GMT");
}

proptest! {
    #[test]
    fn what_we_write_reads_back(secs in 0..=LAST_SECOND) {
        let time = Time::from_secs(secs);
        prop_assert_eq!(parse(&time.to_http()), Some(time));
    }

    #[test]
    fn agrees_with_httpdate_on_what_it_reads(secs in 0..=LAST_SECOND, now in any::<u64>()) {
        let text = Time::from_secs(secs).to_http();
        let theirs = httpdate::parse_http_date(&text).unwrap();
        let ours = Time::parse(text.as_bytes(), Time::from_millis(now)).unwrap();
        prop_assert_eq!(SystemTime::UNIX_EPOCH + Duration::from_secs(ours.as_secs()), theirs);
    }

    #[test]
    fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..40), now in any::<u64>()) {
        let _ = Time::parse(&bytes, Time::from_millis(now));
    }

    #[test]
    fn never_panics_near_a_date(text in "[A-Za-z]{3,9},? ?[0-9]{1,2}[ -][A-Z][a-z]{2}[ -][0-9]{2,5} [0-9:]{5,8} ?[A-Z]{0,3}", now in any::<u64>()) {
        let _ = Time::parse(text.as_bytes(), Time::from_millis(now));
    }
}
