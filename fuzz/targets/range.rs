//! `Range`, `Content-Range`, and the spans they come to. The first line is the length, the second one a field value.
#![no_main]

use http::HeaderValue;
use libfuzzer_sys::fuzz_target;
use rules::{
    partial::Spans,
    range::{self, ResolvedRange, span_of},
};

fuzz_target!(|data: &[u8]| {
    let (length, value) = data.split_at(data.iter().position(|&byte| byte == b'\n').unwrap_or(0));
    let length: u64 = std::str::from_utf8(length)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(100);
    let Ok(value) = HeaderValue::from_bytes(value.trim_ascii()) else {
        return;
    };
    let asked: Vec<_> = range::parse(&value).unwrap_or_default();
    let spans: Vec<_> = asked
        .into_iter()
        .filter_map(|one| span_of(one, length))
        .collect();
    let parts = match range::resolve(&value, length) {
        ResolvedRange::Whole | ResolvedRange::Unsatisfiable => vec![],
        ResolvedRange::One(part) => vec![part],
        ResolvedRange::Many(parts) => parts,
    };
    let mut held = Spans::default();
    for part in &parts {
        assert!(
            part.first <= part.last && part.last < length,
            "within the length"
        );
        assert_eq!(held.missing(*part), Some(*part), "parts lie apart");
        held.insert(*part);
        let written = range::content_range(*part, length);
        let read = range::parse_content_range(&written).unwrap();
        assert_eq!((read.span, read.length), (*part, Some(length)));
    }
    assert_eq!(held.iter().count(), parts.len(), "parts that touch are one");
    if !parts.is_empty() {
        assert!(
            spans.iter().all(|span| held.contains(*span)),
            "all that was asked for"
        );
    }
    if let Some(read) = range::parse_content_range(&value) {
        assert!(read.span.first <= read.span.last);
        assert!(read.length.is_none_or(|length| read.span.last < length));
    }
});
