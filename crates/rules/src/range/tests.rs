use super::*;
use crate::partial::Spans;
use proptest::prelude::*;

fn field(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap()
}

fn span(first: u64, last: u64) -> Span {
    Span { first, last }
}

/// RFC 9110 section 14.1.2, with a representation of 10000 bytes.
#[test]
fn examples_of_section_14_1_2() {
    for (range, expected) in [
        ("bytes=0-499", ResolvedRange::One(span(0, 499))),
        ("bytes=500-999", ResolvedRange::One(span(500, 999))),
        ("bytes=-500", ResolvedRange::One(span(9500, 9999))),
        ("bytes=9500-", ResolvedRange::One(span(9500, 9999))),
        (
            "bytes=0-0,-1",
            ResolvedRange::Many(vec![span(0, 0), span(9999, 9999)]),
        ),
        (
            "bytes= 0-999, 4500-5499, -1000",
            ResolvedRange::Many(vec![span(0, 999), span(4500, 5499), span(9000, 9999)]),
        ),
        ("bytes=500-600,601-999", ResolvedRange::One(span(500, 999))),
        ("bytes=500-700,601-999", ResolvedRange::One(span(500, 999))),
    ] {
        assert_eq!(resolve(&field(range), 10_000), expected, "{range}");
    }
}

#[test]
fn what_a_range_of_a_hundred_bytes_means() {
    use ResolvedRange::{Many, One, Unsatisfiable, Whole};
    for (range, expected) in [
        // "A client can limit the number of bytes requested without knowing the size": last beyond the end.
        ("bytes=90-1000", One(span(90, 99))),
        ("bytes=0-", One(span(0, 99))),
        ("bytes=99-", One(span(99, 99))),
        ("bytes=100-", Unsatisfiable),
        ("bytes=100-200, 300-", Unsatisfiable),
        ("bytes=100-, 5-6", One(span(5, 6))),
        // "If the selected representation is shorter than the specified suffix-length, the entire representation is used."
        ("bytes=-1000", One(span(0, 99))),
        ("bytes=-0", Unsatisfiable),
        // "All range unit names are case-insensitive".
        ("BYTES=0-1", One(span(0, 1))),
        // "recipients MUST anticipate potentially large decimal numerals".
        ("bytes=0-99999999999999999999999999", One(span(0, 99))),
        ("bytes=99999999999999999999999999-", Unsatisfiable),
        ("bytes=-99999999999999999999999999", One(span(0, 99))),
        // The order asked is kept.
        ("bytes=50-59, 0-9", Many(vec![span(50, 59), span(0, 9)])),
        (
            "bytes=50-59, 0-9, 60-69",
            Many(vec![span(50, 69), span(0, 9)]),
        ),
        ("bytes=50-59, 0-9, 10-49", One(span(0, 59))),
        ("bytes=0-9,,5-14, ,", One(span(0, 14))),
        ("bytes=0-1, 3-4", Many(vec![span(0, 1), span(3, 4)])),
        ("bytes=3-4, 0-1", Many(vec![span(3, 4), span(0, 1)])),
        // "a ranges-specifier with more than two overlapping ranges".
        ("bytes=0-9, 5-14, 7-20", Whole),
        ("bytes=0-, 0-, 0-", Whole),
        // They overlap by one byte.
        ("bytes=0-9, 9-14, 14-20", Whole),
        ("bytes=14-20, 9-14, 0-9", Whole),
        // "An origin server MUST ignore a Range header field that contains a range unit it does not understand."
        ("lines=0-1", Whole),
        ("bytes 0-1", Whole),
        ("bytes", Whole),
        ("bytes=", Whole),
        ("bytes=,", Whole),
        ("bytes=-", Whole),
        ("bytes=a-b", Whole),
        ("bytes=5-4", Whole),
        ("bytes=0-1, 5-4", Whole),
        ("bytes=0-1, x", Whole),
        ("bytes=+1-2", Whole),
        ("bytes=1 -2", Whole),
        ("bytes=1-2-3", Whole),
        ("bytes=--1", Whole),
        ("bytes = 0-1", Whole),
        ("", Whole),
    ] {
        assert_eq!(resolve(&field(range), 100), expected, "{range}");
    }
}

#[test]
fn a_span_counts_both_its_ends() {
    for (one, length) in [
        (span(0, 0), 1),
        (span(5, 9), 5),
        (span(0, u64::MAX), u64::MAX),
    ] {
        assert_eq!(one.length(), length, "{one:?}");
    }
}

#[test]
fn an_empty_representation_is_sent_whole() {
    for range in ["bytes=0-", "bytes=-1", "bytes=0-0"] {
        assert_eq!(resolve(&field(range), 0), ResolvedRange::Whole, "{range}");
    }
}

#[test]
fn too_many_ranges_mean_the_whole() {
    let set = |count: usize| {
        let specs: Vec<String> = (0..count)
            .map(|n| format!("{}-{}", n * 10, n * 10))
            .collect();
        field(&format!("bytes={}", specs.join(",")))
    };
    assert!(
        matches!(resolve(&set(MOST_RANGES), 10_000), ResolvedRange::Many(parts) if parts.len() == MOST_RANGES)
    );
    assert_eq!(resolve(&set(MOST_RANGES + 1), 10_000), ResolvedRange::Whole);
    assert_eq!(parse(&set(MOST_RANGES + 1)), None);
}

#[test]
fn our_own_range_is_read_back() {
    let value = range_value(span(5, 9));
    assert_eq!(value, "bytes=5-9");
    assert_eq!(resolve(&value, 10), ResolvedRange::One(span(5, 9)));
}

/// RFC 9110 section 14.4.
#[test]
fn content_ranges() {
    for (text, expected) in [
        ("bytes 42-1233/1234", Some((42, 1233, Some(1234)))),
        ("bytes 42-1233/*", Some((42, 1233, None))),
        ("Bytes 0-0/1", Some((0, 0, Some(1)))),
        ("bytes  0-0/1 ", Some((0, 0, Some(1)))),
        // "invalid if ... a last-pos value less than its first-pos value, or a complete-length value less than or equal to
        // its last-pos value".
        ("bytes 5-4/10", None),
        ("bytes 0-10/10", None),
        ("bytes */1234", None),
        ("bytes 0-1", None),
        ("bytes=0-1/2", None),
        ("bytes 0-1/", None),
        ("bytes 0-/5", None),
        ("bytes -1/5", None),
        ("bytes 0-1/2/3", None),
        ("lines 0-1/2", None),
        ("bytes 0-99999999999999999999/*", None),
        ("", None),
    ] {
        let read = parse_content_range(&field(text));
        let read = read.map(|range| (range.span.first, range.span.last, range.length));
        assert_eq!(read, expected, "{text}");
    }
    assert_eq!(unsatisfied(1234), "bytes */1234");
}

/// RFC 9110 section 15.3.7.2, its example.
#[test]
fn parts_are_delimited() {
    let kind = field("application/pdf");
    let head = part_head("SEP", Some(&kind), span(500, 999), 8000);
    let expected =
        "\r\n--SEP\r\nContent-Type: application/pdf\r\nContent-Range: bytes 500-999/8000\r\n\r\n";
    assert_eq!(String::from_utf8(head).unwrap(), expected);
    let bare = part_head("SEP", None, span(0, 0), 1);
    assert_eq!(bare, b"\r\n--SEP\r\nContent-Range: bytes 0-0/1\r\n\r\n");
    assert_eq!(part_end("SEP"), b"\r\n--SEP--\r\n");
}

fn written() -> impl Strategy<Value = Written> {
    prop_oneof![
        (0..300_u64, prop::option::of(0..300_u64)).prop_map(|(first, more)| Written::From {
            first,
            last: more.map(|more| first + more),
        }),
        (0..300_u64).prop_map(Written::Suffix),
    ]
}

fn spell(ranges: &[Written]) -> HeaderValue {
    let specs: Vec<String> = ranges
        .iter()
        .map(|range| match range {
            Written::From { first, last: None } => format!("{first}-"),
            Written::From {
                first,
                last: Some(last),
            } => format!("{first}-{last}"),
            Written::Suffix(suffix) => format!("-{suffix}"),
        })
        .collect();
    field(&format!("bytes={}", specs.join(", ")))
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(0x20..0x7f_u8, 0..40), length: u64) {
        let value = HeaderValue::from_bytes(&bytes).unwrap();
        let _ = parse_content_range(&value);
        match resolve(&value, length) {
            ResolvedRange::One(part) => prop_assert!(part.first <= part.last && part.last < length),
            ResolvedRange::Many(parts) => prop_assert!((2..=MOST_RANGES).contains(&parts.len())),
            ResolvedRange::Whole | ResolvedRange::Unsatisfiable => {}
        }
    }

    #[test]
    fn what_is_written_is_read(ranges in prop::collection::vec(written(), 1..6)) {
        prop_assert_eq!(parse(&spell(&ranges)), Some(ranges));
    }

    #[test]
    fn a_span_lies_within_the_length(first: u64, last: Option<u64>, suffix: u64, length: u64) {
        for written in [Written::From { first, last }, Written::Suffix(suffix)] {
            if let Some(found) = span_of(written, length) {
                prop_assert!(found.first <= found.last && found.last < length);
            }
        }
    }

    #[test]
    fn parts_are_the_bytes_asked_for_and_lie_apart(
        ranges in prop::collection::vec(written(), 1..6),
        length in 1..400_u64,
    ) {
        let parts = match resolve(&spell(&ranges), length) {
            ResolvedRange::Whole => return Ok(()),
            ResolvedRange::Unsatisfiable => vec![],
            ResolvedRange::One(part) => vec![part],
            ResolvedRange::Many(parts) => parts,
        };
        let asked: Vec<Span> = ranges.iter().filter_map(|one| span_of(*one, length)).collect();
        let holds = |spans: &[Span], byte: u64| {
            spans.iter().filter(|one| (one.first..=one.last).contains(&byte)).count()
        };
        for byte in 0..length {
            prop_assert!(holds(&parts, byte) <= 1);
            prop_assert_eq!(holds(&parts, byte) == 1, holds(&asked, byte) > 0);
        }
        for (index, part) in parts.iter().enumerate() {
            prop_assert!(parts.iter().skip(index + 1).all(|other| !part.touches(*other)));
        }
    }

    #[test]
    fn parts_that_touch_are_one(order in Just([0_u64, 1, 2, 3, 4, 5, 6, 7]).prop_shuffle(), count in 1..8_usize) {
        let tens: Vec<u64> = order.into_iter().take(count).collect();
        let ranges: Vec<Written> = tens
            .iter()
            .map(|ten| Written::From { first: ten * 10, last: Some(ten * 10 + 9) })
            .collect();
        let mut runs = Spans::default();
        for ten in &tens {
            runs.insert(span(ten * 10, ten * 10 + 9));
        }
        let mut parts = match resolve(&spell(&ranges), 80) {
            ResolvedRange::One(part) => vec![part],
            ResolvedRange::Many(parts) => parts,
            other => return Err(TestCaseError::fail(format!("{other:?}"))),
        };
        parts.sort_unstable();
        prop_assert_eq!(parts, runs.iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_content_range_is_read_back(first: u64, more in 0..1_000_u64, rest in 1..1_000_u64) {
        let first = first / 2;
        let span = span(first, first + more);
        let length = first + more + rest;
        let read = parse_content_range(&content_range(span, length));
        prop_assert_eq!(read, Some(ContentRange { span, length: Some(length) }));
    }
}
