use super::*;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use proptest::prelude::*;

fn request(lines: &[&str]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for line in lines {
        let value = HeaderValue::from_bytes(line.as_bytes()).unwrap();
        fields.append(header::ACCEPT_ENCODING, value);
    }
    fields
}

fn chosen(line: &str, stored: &[Coding]) -> Choice {
    let accepted = Accepted::read(&request(&[line]));
    choose(accepted, &Coding::ALL, |coding| stored.contains(&coding))
}

/// RFC 9110 section 12.5.3.
#[test]
fn the_weight_decides_then_our_order() {
    use Choice::Identity;
    let coded = Choice::Coding;
    let (br, zstd, gzip) = (Coding::Brotli, Coding::Zstd, Coding::Gzip);
    for (line, expected) in [
        ("gzip, deflate, br, zstd", coded(br)),
        ("gzip, zstd", coded(zstd)),
        ("gzip", coded(gzip)),
        ("X-GZIP", coded(gzip)),
        ("GZip", coded(gzip)),
        ("gzip;q=1, br;q=0.9", coded(gzip)),
        ("gzip;q=0.001", coded(gzip)),
        ("br;q=0, gzip;q=0.5", coded(gzip)),
        ("deflate", Identity),
        ("identity", Identity),
        ("", Identity),
        // "If the representation has no content coding, then it is acceptable by default unless specifically excluded"
        ("gzip;q=0.5, identity", Identity),
        ("gzip;q=0.5, identity;q=0.5", coded(gzip)),
        ("identity;q=0.5, gzip;q=0.4", Identity),
        ("gzip;q=0", Identity),
        // "The asterisk "*" symbol in an Accept-Encoding field matches any available content coding not explicitly listed"
        ("*", coded(br)),
        ("*;q=0", Identity),
        ("gzip, *;q=0", coded(gzip)),
        ("br;q=0, *", coded(zstd)),
        ("gzip, *;q=0.5", coded(gzip)),
        // Nothing we have: without a coding rather than an error.
        ("identity;q=0, deflate", Identity),
        // Malformed: nothing is known but that identity is understood by all.
        ("gzip;q=2", Identity),
        ("gzip;q=", Identity),
        ("gzip br", Identity),
        ("gzip, \"br", Identity),
        // The first of two counts.
        ("gzip;q=0, gzip", Identity),
    ] {
        assert_eq!(chosen(line, &[]), expected, "{line}");
    }
    assert_eq!(Accepted::read(&HeaderMap::new()), Accepted::NONE);
    let lines = Accepted::read(&request(&["gzip;q=0.5", "br"]));
    assert_eq!(
        lines,
        Accepted::read(&request(&["gzip;q=0.5, br"])),
        "several lines are one list"
    );
}

#[test]
fn among_equals_what_is_stored_answers_and_the_better_one_is_named() {
    let all = "gzip, deflate, br, zstd";
    assert_eq!(
        chosen(all, &[Coding::Gzip]),
        Choice::Instead {
            stored: Coding::Gzip,
            better: Coding::Brotli
        }
    );
    assert_eq!(
        chosen(all, &[Coding::Gzip, Coding::Brotli]),
        Choice::Coding(Coding::Brotli)
    );
    assert_eq!(
        chosen("br, gzip;q=0.9", &[Coding::Gzip]),
        Choice::Coding(Coding::Brotli),
        "weight goes before what is stored"
    );
}

#[test]
fn identity_is_unacceptable_only_where_it_is_said() {
    for (line, takes) in [
        ("gzip", true),
        ("identity;q=0", false),
        ("*;q=0", false),
        ("*;q=0, identity", true),
        ("gzip, identity;q=0.1", true),
    ] {
        let accepted = Accepted::read(&request(&[line]));
        assert_eq!(accepted.takes(None), takes, "{line}");
    }
}

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
        "", "text", "/", "text/", "*/*", "text/*/*", "a b/c", "text/**",
    ] {
        assert_eq!(TypePattern::parse(wrong), None, "{wrong}");
    }
}

fn described(etag: &str, coding: Option<Coding>, made: Made) -> HeaderMap {
    let mut fields = HeaderMap::new();
    fields.insert(header::ETAG, HeaderValue::from_str(etag).unwrap());
    fields.insert(header::CONTENT_LENGTH, HeaderValue::from_static("1000"));
    fields.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    fields.insert("repr-digest", HeaderValue::from_static("sha-256=:AA==:"));
    describe(&mut fields, coding, made);
    fields
}

const WHOLE: Made = Made::Whole {
    length: 300,
    hash: 0xabc,
};

/// RFC 9110 section 8.8.3.3: "entity tags for the content-coded representations ... need to be distinct".
#[test]
fn a_form_has_a_tag_and_fields_of_its_own() {
    let br = described("\"v1\"", Some(Coding::Brotli), WHOLE);
    assert_eq!(br[header::ETAG], "\"v1-larder-br-0000000000000abc\"");
    assert_eq!(br[header::CONTENT_LENGTH], "300");
    assert_eq!(br[header::CONTENT_ENCODING], "br");
    assert_eq!(br[header::VARY], "Accept-Encoding");
    assert_eq!(br[header::ACCEPT_RANGES], "bytes");
    assert!(!br.contains_key("repr-digest"));
    let streamed = described("\"v1\"", Some(Coding::Gzip), Made::Streamed);
    assert_eq!(streamed[header::ETAG], "W/\"v1-larder-gzip\"");
    assert!(!streamed.contains_key(header::CONTENT_LENGTH));
    assert!(!streamed.contains_key(header::ACCEPT_RANGES));
    let weak = described("W/\"v1\"", Some(Coding::Zstd), WHOLE);
    assert_eq!(weak[header::ETAG], "W/\"v1-larder-zstd\"");
    let odd = described("v1", Some(Coding::Zstd), WHOLE);
    assert_eq!(odd[header::ETAG], "v1", "what is no tag stays");
    let decoded = described("\"v1\"", None, Made::Streamed);
    assert_eq!(decoded[header::ETAG], "W/\"v1-larder-identity\"");
}

#[test]
fn vary_is_added_once() {
    for (before, after) in [
        (&[][..], "Accept-Encoding"),
        (&["accept-encoding"], "accept-encoding"),
        (&["*"], "*"),
        (&["Cookie , ACCEPT-ENCODING"], "Cookie , ACCEPT-ENCODING"),
        (
            &["Accept-Encoding-Not"],
            "Accept-Encoding-Not|Accept-Encoding",
        ),
        (&["Cookie", "Foo"], "Cookie|Foo|Accept-Encoding"),
    ] {
        let mut fields = HeaderMap::new();
        for line in before {
            fields.append(header::VARY, HeaderValue::from_static(line));
        }
        vary_by_coding(&mut fields);
        let lines: Vec<_> = fields
            .get_all(header::VARY)
            .iter()
            .map(|line| line.to_str().unwrap())
            .collect();
        assert_eq!(lines.join("|"), after);
    }
}

fn with(name: header::HeaderName, value: &str) -> HeaderMap {
    let mut fields = HeaderMap::new();
    fields.insert(name, HeaderValue::from_str(value).unwrap());
    fields
}

#[test]
fn the_tag_of_a_form_is_understood_again() {
    let all = Accepted::read(&request(&["gzip, br"]));
    let hash = "0123456789abcdef";
    for (listed, accepted, expected) in [
        (
            "\"v1-larder-br-0123456789abcdef\"",
            all,
            Some("\"v1-larder-br-0123456789abcdef\""),
        ),
        ("W/\"v1-larder-br\"", all, Some("W/\"v1-larder-br\"")),
        (
            "\"v0-larder-br\", W/\"v1-larder-gzip\"",
            all,
            Some("W/\"v1-larder-gzip\""),
        ),
        (
            "W/\"v1-larder-identity\"",
            all,
            Some("W/\"v1-larder-identity\""),
        ),
        ("W/\"v1-larder-zstd\"", all, None),
        ("W/\"v1-larder-br\"", Accepted::NONE, None),
        ("\"v2-larder-br\"", all, None),
        ("\"v1-larder-br-xyz\"", all, None),
        ("\"v1\"", all, Some("\"v1\"")),
        ("\"v0\"", all, None),
        ("*", all, None),
        ("\"v1-larder-\"", all, None),
    ] {
        let request = with(header::IF_NONE_MATCH, listed);
        let found = understood(&request, b"\"v1\"", accepted);
        assert_eq!(
            found.as_ref().map(|value| value.to_str().unwrap()),
            expected,
            "{listed} {hash}"
        );
    }
}

#[test]
fn the_origin_gets_its_own_tags_back() {
    for (listed, expected) in [
        ("\"v1-larder-br-0123456789abcdef\"", "\"v1\""),
        (
            "W/\"v1-larder-br\", \"v1-larder-gzip-0123456789abcdef\", \"v2\"",
            "W/\"v1\", \"v1\", \"v2\"",
        ),
        ("\"v1-larder-odd\"", "\"v1-larder-odd\""),
        ("\"v1\"", "\"v1\""),
        ("*", "*"),
    ] {
        for name in [header::IF_NONE_MATCH, header::IF_MATCH] {
            let mut fields = with(name.clone(), listed);
            for_origin(&mut fields);
            assert_eq!(fields[name], expected, "{listed}");
        }
    }
    let mut fields = with(header::IF_RANGE, "\"v1-larder-br-0123456789abcdef\"");
    fields.insert(header::RANGE, HeaderValue::from_static("bytes=0-5"));
    assert_eq!(range_form(&fields), Some(Some(Coding::Brotli)));
    for_origin(&mut fields);
    assert!(fields.is_empty(), "an origin has no bytes of a form");
    for (listed, is_form) in [
        ("\"v1-larder-br-0123456789abcdef\"", true),
        ("\"v0\", \"v1-larder-br-0123456789abcdef\"", true),
        ("\"v1\"", false),
        ("\"v1-larder-\"", false),
    ] {
        let mut fields = with(header::IF_MATCH, listed);
        fields.insert(header::RANGE, HeaderValue::from_static("bytes=0-5"));
        assert_eq!(matches_form(&fields), is_form, "{listed}");
        for_origin(&mut fields);
        assert_eq!(fields.contains_key(header::RANGE), !is_form, "{listed}");
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
        for (accepts, decodes) in [("gzip", false), ("br", true), ("br, identity;q=0", false)] {
            let accepted = Accepted::read(&request(&[accepts]));
            let expected = expected.filter(|_| decodes);
            let found = to_decode(lines(), &types, accepted);
            assert_eq!(found, expected, "{fields:?} {accepts}");
        }
    }
}

proptest! {
    /// Whatever is sent: nothing unacceptable is chosen, and how the list is cut into lines does not matter.
    #[test]
    fn what_is_chosen_is_acceptable(line in "[ -~]{0,60}", weights in prop::collection::vec((0usize..6, 0u16..=1000), 0..6)) {
        let names = ["br", "zstd", "gzip", "identity", "*", "deflate"];
        let members: Vec<_> = weights
            .iter()
            .map(|(name, weight)| format!("{};q={}.{:03}", names[*name], weight / 1000, weight % 1000))
            .collect();
        let whole = Accepted::read(&request(&[&members.join(", ")]));
        if !members.is_empty() {
            let lines: Vec<_> = members.iter().map(String::as_str).collect();
            prop_assert_eq!(whole, Accepted::read(&request(&lines)));
        }
        for accepted in [whole, Accepted::read(&request(&[&line]))] {
            match choose(accepted, &Coding::ALL, |_| false) {
                Choice::Coding(coding) => prop_assert!(accepted.takes(Some(coding))),
                Choice::Identity => {}
                Choice::Instead { .. } => prop_assert!(false, "nothing is stored"),
            }
        }
    }

    /// A tag goes out in a form and comes back as it was.
    #[test]
    fn tags_come_back(inner in "[!#-~]{0,12}", coding in prop::sample::select(&Coding::ALL[..]), hash: u64, weak: bool) {
        let tag = format!("{}\"{inner}\"", if weak { "W/" } else { "" });
        let made = Made::Whole { length: 1, hash };
        let form = described(&tag, Some(coding), made)[header::ETAG].clone();
        let mut back = HeaderMap::new();
        back.insert(header::IF_MATCH, form.clone());
        for_origin(&mut back);
        prop_assert_eq!(&back[header::IF_MATCH], &tag);
        back.insert(header::IF_NONE_MATCH, form.clone());
        let accepted = Accepted::read(&request(&[coding.token()]));
        prop_assert_eq!(understood(&back, tag.as_bytes(), accepted), Some(form));
    }
}
