//! What is left alone, and what can be decoded.

use super::*;
use http::StatusCode;

fn default_types() -> Vec<TypePattern> {
    let all = DEFAULT_TYPES.iter();
    all.map(|text| TypePattern::parse(text).unwrap()).collect()
}

fn untouched(status: u16, fields: &[(&str, &str)], length: Option<u64>) -> Option<Untouched> {
    let types = default_types();
    let fields = fields
        .iter()
        .map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    judge(
        StatusCode::from_u16(status).unwrap(),
        fields,
        length,
        &types,
        512,
    )
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table is as long as it has rows")]
fn what_is_left_alone() {
    let html = ("content-type", "text/html; charset=utf-8");
    for (status, fields, length, expected) in [
        (200, &[html][..], Some(1000), None),
        (200, &[html], None, None),
        (404, &[html], Some(1000), None),
        (500, &[html], Some(1000), None),
        (200, &[html], Some(511), Some(Untouched::Small)),
        (200, &[html], Some(512), None),
        (204, &[html], None, Some(Untouched::Status)),
        (206, &[html], Some(1000), Some(Untouched::Status)),
        (304, &[html], None, Some(Untouched::Status)),
        (301, &[html], Some(1000), Some(Untouched::Status)),
        (200, &[], Some(1000), Some(Untouched::Type)),
        (
            200,
            &[("content-type", "image/png")],
            Some(1000),
            Some(Untouched::Type),
        ),
        (200, &[("content-type", "image/svg+xml")], Some(1000), None),
        (
            200,
            &[("content-type", "application/ld+json")],
            Some(1000),
            None,
        ),
        (200, &[("content-type", "TEXT/CSS")], Some(1000), None),
        (
            200,
            &[("content-type", "application/octet-stream")],
            Some(1000),
            Some(Untouched::Type),
        ),
        (
            200,
            &[("content-type", "text/event-stream")],
            None,
            Some(Untouched::Type),
        ),
        (
            200,
            &[("content-type", "Text/Event-Stream;x=y")],
            None,
            Some(Untouched::Type),
        ),
        (
            200,
            &[("content-type", "Application/gRPC+json; charset=utf-8")],
            None,
            Some(Untouched::Type),
        ),
        (
            200,
            &[html, ("content-encoding", "gzip")],
            Some(1000),
            Some(Untouched::Coded),
        ),
        (
            200,
            &[html, ("content-encoding", "identity")],
            Some(1000),
            None,
        ),
        (
            200,
            &[html, ("content-encoding", "x-odd")],
            Some(1000),
            Some(Untouched::Coded),
        ),
        (
            200,
            &[html, ("content-range", "bytes 0-1/2")],
            Some(1000),
            Some(Untouched::Part),
        ),
        (
            200,
            &[html, ("cache-control", "max-age=5, No-Transform")],
            Some(1000),
            Some(Untouched::NoTransform),
        ),
        (
            200,
            &[
                ("content-encoding", "gzip"),
                ("cache-control", "no-transform"),
            ],
            Some(1000),
            Some(Untouched::NoTransform),
        ),
        (
            200,
            &[html, ("cdn-cache-control", "no-transform")],
            Some(1000),
            Some(Untouched::NoTransform),
        ),
        (
            200,
            &[html, ("surrogate-control", "max-age=5,no-transform")],
            Some(1000),
            Some(Untouched::NoTransform),
        ),
        (
            200,
            &[html, ("cache-control", "max-age=60 0 no-transform=?0")],
            Some(1000),
            Some(Untouched::NoTransform),
        ),
        (
            200,
            &[
                html,
                ("cache-control", "x=\"no-transform\""),
                ("x-control", "no-transform"),
            ],
            Some(1000),
            None,
        ),
        (
            200,
            &[
                ("cache-control", "max-age=5"),
                html,
                ("cache-control", "no-transform"),
            ],
            Some(1000),
            Some(Untouched::NoTransform),
        ),
    ] {
        assert_eq!(
            untouched(status, fields, length),
            expected,
            "{status} {fields:?}"
        );
    }
}

#[test]
fn patterns_of_types() {
    for (pattern, kind, matches) in [
        ("text/*", "text/html", true),
        ("text/*", "text/", true),
        ("text/*", "textual/html", false),
        ("application/*+json", "application/ld+json", true),
        ("application/*+json", "application/json", false),
        ("application/*+json", "application/+jso", false),
        ("Application/JSON", "application/json", true),
        ("application/json", "application/json5", false),
    ] {
        let read = TypePattern::parse(pattern).unwrap();
        assert_eq!(read.matches(kind.as_bytes()), matches, "{pattern} {kind}");
    }
    for wrong in [
        "", "text", "/", "text/", "*/*", "text/*/*", "a b/c", "text/**", "*/html",
    ] {
        assert_eq!(TypePattern::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn what_can_be_decoded() {
    let gzip = ("content-encoding", "gzip");
    let html = ("content-type", "text/html; charset=utf-8");
    for (fields, expected) in [
        (&[gzip, html][..], Some(Coding::Gzip)),
        (&[html, gzip], Some(Coding::Gzip)),
        (
            &[html, gzip, ("content-encoding", "identity")],
            Some(Coding::Gzip),
        ),
        (&[html, gzip, ("content-encoding", "br")], None),
        (&[html, ("content-encoding", "gzip, br")], None),
        (&[html, ("content-encoding", "deflate")], None),
        (&[html, gzip, ("cache-control", "no-transform")], None),
        (
            &[html, gzip, ("cache-control", "max-age=5")],
            Some(Coding::Gzip),
        ),
        (&[gzip, ("content-type", "application/pdf")], None),
        (&[gzip], None),
        (&[html], None),
    ] {
        let lines = || {
            let lines = fields.iter();
            lines.map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        };
        let types = default_types();
        assert_eq!(decodable(lines(), &types), expected, "{fields:?}");
        for (accepts, decodes) in [
            ("gzip", false),
            ("gzip, identity;q=0", false),
            ("gzip, *;q=0", false),
            ("identity;q=0, *", false),
            ("br", true),
            // RFC 9110 section 12.5.3: nothing that there is can be accepted.
            ("br, identity;q=0", true),
            ("br, *;q=0", true),
            ("br, gzip;q=0, identity;q=0", true),
            ("*;q=0", true),
        ] {
            let accepted = Accepted::read(&request(&[accepts]));
            let expected = expected.filter(|_| decodes);
            let found = to_decode(lines(), &types, accepted);
            assert_eq!(found, expected, "{fields:?} {accepts}");
        }
    }
}

#[test]
fn what_forbids_a_coding() {
    for (fields, is_coded, forbids_any) in [
        (&[][..], false, false),
        (&[("content-encoding", "Identity")], false, false),
        (&[("content-encoding", "gzip")], true, true),
        (
            &[("content-encoding", "identity"), ("content-encoding", "br")],
            true,
            true,
        ),
        (&[("cache-control", "no-transform")], false, true),
        (
            &[("x-coding", "gzip"), ("cache-control", "max-age=5")],
            false,
            false,
        ),
    ] {
        let lines = || {
            let lines = fields.iter();
            lines.map(|(name, value)| (name.as_bytes(), value.as_bytes()))
        };
        assert_eq!(super::super::is_coded(lines()), is_coded, "{fields:?}");
        assert_eq!(forbids(lines()), forbids_any, "{fields:?}");
    }
}

/// Whatever the site lists: what comes event by event, and what needs its trailers.
#[test]
fn what_is_never_meant() {
    let types: Vec<_> = ["text/*", "application/*", "application/grpc+json"]
        .iter()
        .map(|text| TypePattern::parse(text).unwrap())
        .collect();
    for (kind, meant) in [
        ("application/json", true),
        ("application/grp", true),
        ("application/x-grpc", true),
        ("text/event-stream", false),
        ("application/grpc", false),
        ("application/grpc+json", false),
        ("Application/GRPC+Proto; a=b", false),
        ("application/grpc-web-text+proto", false),
    ] {
        assert_eq!(is_meant(kind.as_bytes(), &types), meant, "{kind}");
    }
}
