//! Targeted fields (RFC 9213).

use super::*;
use proptest::prelude::*;

const LARDER: HeaderName = HeaderName::from_static("larder-cache-control");

/// Reads a response with `CDN-Cache-Control: cdn` and `Cache-Control: no-store, max-age=1, must-revalidate`.
fn targeted(cdn: &str) -> Option<ResponseDirectives> {
    let fields = fields(&[
        (CDN, cdn),
        (CACHE_CONTROL, "no-store, max-age=1, must-revalidate"),
    ]);
    match response(&fields, &[CDN]) {
        (directives, DirectiveSource::Targeted(name)) => {
            assert_eq!(name, CDN);
            Some(directives)
        }
        (directives, DirectiveSource::CacheControl) => {
            assert!(directives.no_store && directives.must_revalidate);
            None
        }
    }
}

#[test]
fn targeted_fields_replace_cache_control_rfc_9213_section_2_2() {
    for (line, expected) in [
        ("max-age=60", max_age(60)),
        ("max-age=60;ext=?1, foo=(a b);c", max_age(60)),
        ("max-age=1, max-age=60", max_age(60)),
        ("max-age=999999999999999", max_age(MOST_SECONDS)),
        ("max-age=-5", max_age(0)),
        // Section 3.1: not a directive, but not empty either.
        ("none", ResponseDirectives::default()),
        // Section 2.1: a value of another type is not consumed, and the lifetime is invalid (RFC 9111 section 4.2.1).
        ("max-age=\"60\"", max_age(0)),
        ("max-age=60.5", max_age(0)),
        ("max-age", max_age(0)),
        ("max-age=(60)", max_age(0)),
        ("s-maxage=x, max-age=60", of("s-maxage=x, max-age=60")),
        // What forbids is said with any value, and what allows is not.
        ("no-store=1", of("no-store")),
        ("private=1", of("private")),
        ("no-cache=(a)", of("no-cache")),
        ("must-revalidate=x", of("must-revalidate")),
        ("proxy-revalidate=\"\"", of("proxy-revalidate")),
        ("no-transform=1", of("no-transform")),
        (
            "public=1, must-understand=1, stale-if-error=60.5, stale-while-revalidate=x",
            ResponseDirectives::default(),
        ),
        // A member that does not hold.
        (
            "no-store=?0, private=?0, no-cache=?0, must-revalidate=?0, public=?0",
            ResponseDirectives::default(),
        ),
    ] {
        assert_eq!(targeted(line), Some(expected), "{line}");
    }
    let all = targeted(
        "no-store, no-cache=\"a\", private, public, must-revalidate, proxy-revalidate, must-understand, immutable, \
         no-transform, max-age=1, s-maxage=2, stale-while-revalidate=3, stale-if-error=4",
    );
    let mut expected = of(
        "no-store, private, public, must-revalidate, proxy-revalidate, must-understand, immutable, \
                           no-transform, max-age=1, s-maxage=2, stale-while-revalidate=3, stale-if-error=4",
    );
    expected.no_cache = names(&["a"]);
    assert_eq!(all, Some(expected));
}

#[test]
fn a_targeted_field_that_is_empty_or_invalid_is_not_there() {
    for line in [
        "",
        "   ",
        "max-age=",
        "max-age=60,",
        "MAX-AGE=60",
        "max-age = 60",
        "\"x\"",
        "max-age=60 no-store",
    ] {
        assert_eq!(targeted(line), None, "{line}");
    }
    let split = fields(&[(CDN, "max-age=60"), (CDN, "private")]);
    let (directives, _) = response(&split, &[CDN]);
    assert_eq!(directives.max_age, Some(60));
    assert!(directives.private.is_whole());
    let broken = fields(&[
        (CDN, "max-age=60"),
        (CDN, "!"),
        (CACHE_CONTROL, "max-age=1"),
    ]);
    assert_eq!(
        response(&broken, &[CDN]),
        (max_age(1), DirectiveSource::CacheControl)
    );
}

#[test]
fn the_order_of_the_target_list_decides() {
    let both = fields(&[
        (CDN, "max-age=1"),
        (LARDER, "max-age=2"),
        (CACHE_CONTROL, "max-age=3"),
    ]);
    let max_age = |targets: &[HeaderName]| response(&both, targets).0.max_age;
    assert_eq!(max_age(&[LARDER, CDN]), Some(2));
    assert_eq!(max_age(&[CDN, LARDER]), Some(1));
    assert_eq!(max_age(&[]), Some(3));
    let invalid_first = fields(&[(CDN, "max-age=1"), (LARDER, "=")]);
    let (directives, source) = response(&invalid_first, &[LARDER, CDN]);
    assert_eq!(
        (directives.max_age, source),
        (Some(1), DirectiveSource::Targeted(CDN))
    );
}

proptest! {
    #[test]
    fn any_targeted_line_is_read(line in proptest::collection::vec(0x20_u8..=0xff, 0..60)) {
        if let Ok(value) = HeaderValue::from_bytes(&line) {
            let mut fields = fields(&[(http::header::CACHE_CONTROL, "max-age=7")]);
            fields.insert(CDN, value);
            let (directives, source) = response(&fields, &[CDN]);
            if source == DirectiveSource::CacheControl {
                prop_assert_eq!(directives, of("max-age=7"), "as if it were not there");
            }
        }
    }

    #[test]
    fn a_well_formed_targeted_lifetime_is_read(
        max_age in 0_u32..MOST_SECONDS,
        other in "[a-z][a-z0-9-]{0,8}",
        forbids in any::<bool>(),
    ) {
        prop_assume!(of(&other) == ResponseDirectives::default() && other != "max-age");
        let forbidding = if forbids { ", no-store" } else { "" };
        let line = format!("{other}, max-age={max_age}{forbidding}");
        let (directives, source) = response(&fields(&[(CDN, line.as_str())]), &[CDN]);
        prop_assert_eq!(source, DirectiveSource::Targeted(CDN));
        prop_assert_eq!((directives.max_age, directives.no_store), (Some(max_age), forbids), "{}", line);
    }
}
