//! `X-Reverse-Proxy-TTL` and `X-Accel-Expires`, with any value.

use super::*;
use crate::freshness::lifetime::{ACCEL_EXPIRES, REVERSE_PROXY_TTL};

/// The lifetime that lines of `name` give, in seconds.
fn lifetime(name: &HeaderName, lines: &[Vec<u8>]) -> Option<u64> {
    let mut fields = HeaderMap::new();
    for line in lines {
        fields.append(name, HeaderValue::from_bytes(line).ok()?);
    }
    Some(judge_as(200, &fields, &Site::default(), NOW).lifetime_ms / 1000)
}

/// A line, and the seconds that it gives; a malformed one gives zero.
fn line(moments: bool) -> impl Strategy<Value = (Vec<u8>, u64)> {
    let number = (0..u64::from(u32::MAX), 0..3_usize)
        .prop_map(|(n, zeros)| (format!("{}{n}", "0".repeat(zeros)), n.min(1 << 31)));
    let moment =
        (0..2_000_000_000_u64).prop_map(|at| (format!("@{at}"), at.saturating_sub(NOW.as_secs())));
    let broken = proptest::sample::select(vec![
        "",
        "-1",
        "+5",
        "@+900000000",
        "@",
        "@@5",
        "5 5",
        "soon",
        "1.5",
        "@-5",
    ])
    .prop_map(|text| (text.to_owned(), 0));
    let space = proptest::sample::select(vec!["", " ", "\t"]);
    let moment = moment.prop_filter("where moments are known", move |_| moments);
    let text = if moments {
        prop_oneof![number, moment, broken].boxed()
    } else {
        prop_oneof![number, broken].boxed()
    };
    (text, space).prop_map(|((text, seconds), space)| {
        (format!("{space}{text}{space}").into_bytes(), seconds)
    })
}

proptest! {
    #[test]
    fn the_least_of_its_lines_is_the_lifetime(
        ttl in prop::collection::vec(line(false), 1..4),
        accel in prop::collection::vec(line(true), 1..4),
    ) {
        for (name, lines) in [(&REVERSE_PROXY_TTL, ttl), (&ACCEL_EXPIRES, accel)] {
            let least = lines.iter().map(|(_, seconds)| *seconds).min();
            let lines: Vec<_> = lines.into_iter().map(|(line, _)| line).collect();
            prop_assert_eq!(lifetime(name, &lines), least, "{}: {:?}", name, lines);
        }
    }

    #[test]
    fn any_bytes_may_come(line in prop::collection::vec(any::<u8>(), 0..30)) {
        let _ = lifetime(&REVERSE_PROXY_TTL, std::slice::from_ref(&line));
        let _ = lifetime(&ACCEL_EXPIRES, &[line]);
    }
}
