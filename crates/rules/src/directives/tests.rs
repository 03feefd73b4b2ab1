use super::*;
use http::HeaderValue;
use proptest::prelude::*;

const CDN: HeaderName = HeaderName::from_static("cdn-cache-control");
const LARDER: HeaderName = HeaderName::from_static("larder-cache-control");

fn fields(lines: &[(HeaderName, &str)]) -> HeaderMap {
    lines
        .iter()
        .map(|(name, line)| (name.clone(), HeaderValue::from_str(line).unwrap()))
        .collect()
}

fn of(line: &str) -> ResponseDirectives {
    of_lines(&[line])
}

fn of_lines(lines: &[&str]) -> ResponseDirectives {
    let lines: Vec<_> = lines.iter().map(|line| (CACHE_CONTROL, *line)).collect();
    let (directives, source) = response(&fields(&lines), &[CDN]);
    assert_eq!(source, Source::CacheControl);
    directives
}

fn asked(line: &str) -> RequestDirectives {
    request(&fields(&[(CACHE_CONTROL, line)]))
}

fn max_age(seconds: u32) -> ResponseDirectives {
    ResponseDirectives {
        max_age: Some(seconds),
        ..Default::default()
    }
}

fn names(list: &[&'static str]) -> Qualified {
    Qualified::Fields(
        list.iter()
            .map(|name| HeaderName::from_static(name))
            .collect(),
    )
}

#[test]
fn every_response_directive() {
    let all = of(
        "no-store, no-cache, private, public, must-revalidate, proxy-revalidate, must-understand, immutable, \
                  no-transform, max-age=1, s-maxage=2, stale-while-revalidate=3, stale-if-error=4",
    );
    let expected = ResponseDirectives {
        no_store: true,
        no_cache: Qualified::Whole,
        private: Qualified::Whole,
        public: true,
        must_revalidate: true,
        proxy_revalidate: true,
        must_understand: true,
        immutable: true,
        no_transform: true,
        max_age: Some(1),
        s_maxage: Some(2),
        stale_while_revalidate: Some(3),
        stale_if_error: Some(4),
    };
    assert_eq!(all, expected);
}

#[test]
fn spelling_spacing_and_lines() {
    let sixty = max_age(60);
    for line in [
        "max-age=60",
        // RFC 9111 section 5.2: names are compared case-insensitively.
        "MAX-AGE=60",
        "Max-Age=60",
        // Section 5.2: recipients ought to accept both forms of an argument.
        "max-age=\"60\"",
        "  max-age=60\t",
        "max-age = 60",
        "max-age=060",
        // RFC 9110 section 5.6.1.2: empty elements do not count.
        ",, max-age=60 , ,",
        // Section 5.2.3: a cache MUST ignore unrecognized directives.
        "foo, max-age=60, bar=baz, qux=\"x\"",
        "foo=\"max-age=1, no-store\", max-age=60",
        "foo=\"a\\\", no-store\", max-age=60",
        "=5, max-age=60",
        "max-agee=1, max-age=60, xmax-age=2",
        "a-directive-whose-name-is-longer-than-any-we-know=1, max-age=60",
    ] {
        assert_eq!(of(line), sixty, "{line}");
    }
    let lines = of_lines(&["max-age=60", "", "no-store", "private"]);
    assert_eq!(lines.max_age, Some(60));
    assert!(lines.no_store && lines.private.is_whole());
}

#[test]
fn lifetimes_that_are_malformed_mean_stale() {
    for line in [
        "max-age",
        "max-age=",
        "max-age=\"\"",
        "max-age=-1",
        "max-age=+1",
        "max-age=1.5",
        "max-age=1e3",
        "max-age=0x10",
        "max-age=abc",
        "max-age=60s",
        "max-age='60'",
        "max-age=\"60",
        "max-age=\"60\"x",
        "max-age=60;foo",
        "max-age=\"6\\0\"",
        "max-age=\" 60\"",
    ] {
        assert_eq!(of(line), max_age(0), "{line}");
        let shared = of(&format!("s-{}", line.replacen("max-age", "maxage", 1)));
        assert_eq!(shared.s_maxage, Some(0), "{line}");
        let stale = of(&line.replacen("max-age", "stale-if-error", 1));
        assert_eq!(stale, ResponseDirectives::default(), "{line}");
    }
}

#[test]
fn seconds_are_capped_as_in_rfc_9111_section_1_2_2() {
    for (text, seconds) in [
        ("0", 0),
        ("2147483647", 2_147_483_647),
        ("2147483648", MOST_SECONDS),
        ("2147483649", MOST_SECONDS),
        ("4294967296", MOST_SECONDS),
        ("99999999999999999999999999", MOST_SECONDS),
    ] {
        assert_eq!(of(&format!("max-age={text}")), max_age(seconds), "{text}");
    }
}

#[test]
fn of_repeated_durations_the_smallest_counts() {
    assert_eq!(of("max-age=60, max-age=10").max_age, Some(10));
    assert_eq!(of("max-age=10, max-age=60").max_age, Some(10));
    assert_eq!(of_lines(&["max-age=60", "max-age=x"]).max_age, Some(0));
    assert_eq!(of("s-maxage=5, s-maxage=7").s_maxage, Some(5));
    let stale = of("stale-while-revalidate=5, stale-while-revalidate=x");
    assert_eq!(stale.stale_while_revalidate, Some(5));
}

#[test]
fn a_fault_hides_no_prohibition_behind_it() {
    for line in [
        "max-age=60 private",
        "private max-age=60",
        "max-age=60; private",
        "max-age=\"60, private",
        "foo=\"bar, private",
        "foo=bar\"baz, private",
        "max-age=, private",
        "max-age=\"60\" private",
        "private=\"\"",
        "private=",
        "private=1, private=\"a\", private",
        "private=\"not a name\"",
        "private=\"a\\b\"",
    ] {
        assert_eq!(of(line).private, Qualified::Whole, "{line}");
    }
    let odd = of("no-store=1, must-revalidate=\"x\", proxy-revalidate=, no-transform=0");
    assert!(odd.no_store && odd.must_revalidate && odd.proxy_revalidate && odd.no_transform);
    // What allows does not hold with an argument it must not have (RFC 9111 section 5.2).
    let odd = of("public=1, must-understand=x");
    assert_eq!(odd, ResponseDirectives::default());
    for line in ["immutable=\"\"", "immutable=1", "immutable=\"x, y\""] {
        assert!(
            of(line).immutable,
            "8246 section 2: arguments MUST be ignored: {line}"
        );
    }
}

#[test]
fn directives_with_field_names() {
    for (line, expected) in [
        ("private=\"set-cookie\"", names(&["set-cookie"])),
        (
            "private=\"Set-Cookie, X-User\"",
            names(&["set-cookie", "x-user"]),
        ),
        ("private=\" ,set-cookie,, \"", names(&["set-cookie"])),
        // RFC 9111 section 5.2.2.7: a sender should not generate the token form; it is plain all the same.
        ("private=set-cookie", names(&["set-cookie"])),
        ("private=\"a\", private=\"b\"", names(&["a", "b"])),
        ("private=\"a\", private", Qualified::Whole),
        ("private, private=\"a\"", Qualified::Whole),
        ("public", Qualified::Absent),
    ] {
        assert_eq!(of(line).private, expected, "{line}");
        let other = of(&line.replace("private", "no-cache"));
        assert_eq!(other.no_cache, expected, "{line}");
    }
}

#[test]
fn request_directives() {
    let all = asked(
        "no-cache, no-store, no-transform, only-if-cached, max-age=1, min-fresh=2, max-stale=3, stale-if-error=4",
    );
    let expected = RequestDirectives {
        no_cache: true,
        no_store: true,
        no_transform: true,
        only_if_cached: true,
        max_age: Some(1),
        min_fresh: Some(2),
        max_stale: Some(3),
        stale_if_error: Some(4),
    };
    assert_eq!(all, expected);
    assert_eq!(asked("max-stale").max_stale, Some(u32::MAX));
    assert_eq!(asked("max-stale, max-stale=5").max_stale, Some(5));
    assert_eq!(asked("max-stale=x").max_stale, None);
    assert_eq!(asked("max-stale=").max_stale, None);
    assert_eq!(asked("max-age=x").max_age, Some(0));
    assert_eq!(asked("max-age=9, max-age=3").max_age, Some(3));
    assert_eq!(asked("min-fresh").min_fresh, Some(MOST_SECONDS));
    assert_eq!(asked("min-fresh=9, min-fresh=3").min_fresh, Some(9));
    assert_eq!(asked("stale-if-error=-1").stale_if_error, None);
}

#[test]
fn pragma_counts_only_without_cache_control() {
    let no_cache = |lines: &[(HeaderName, &str)]| request(&fields(lines)).no_cache;
    assert!(no_cache(&[(PRAGMA, "no-cache")]));
    assert!(no_cache(&[(PRAGMA, "foo, No-Cache")]));
    assert!(no_cache(&[(PRAGMA, "foo"), (PRAGMA, "no-cache")]));
    assert!(!no_cache(&[(PRAGMA, "no-cached")]));
    assert!(!no_cache(&[(PRAGMA, "foo=\"no-cache\"")]));
    assert!(!no_cache(&[
        (PRAGMA, "no-cache"),
        (CACHE_CONTROL, "max-age=5")
    ]));
    assert!(!no_cache(&[(PRAGMA, "no-cache"), (CACHE_CONTROL, "")]));
    assert!(!no_cache(&[]));
    // Section 5.4: in responses its meaning was never specified.
    let (directives, _) = response(&fields(&[(PRAGMA, "no-cache")]), &[]);
    assert_eq!(directives, ResponseDirectives::default());
}

/// Reads a response with `CDN-Cache-Control: cdn` and `Cache-Control: no-store, max-age=1, must-revalidate`.
fn targeted(cdn: &str) -> Option<ResponseDirectives> {
    let fields = fields(&[
        (CDN, cdn),
        (CACHE_CONTROL, "no-store, max-age=1, must-revalidate"),
    ]);
    match response(&fields, &[CDN]) {
        (directives, Source::Targeted(name)) => {
            assert_eq!(name, CDN);
            Some(directives)
        }
        (directives, Source::CacheControl) => {
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
        // Section 2.1: a value of another type is not consumed.
        ("max-age=\"60\"", ResponseDirectives::default()),
        ("max-age=60.0", ResponseDirectives::default()),
        ("max-age", ResponseDirectives::default()),
        ("max-age=(60)", ResponseDirectives::default()),
        (
            "no-store=1, private=1, public=x, no-cache=?0",
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
        (max_age(1), Source::CacheControl)
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
        (Some(1), Source::Targeted(CDN))
    );
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(line in proptest::collection::vec(any::<u8>(), 0..60)) {
        let count = list::directives(&line).count();
        prop_assert!(count <= line.len());
    }

    #[test]
    fn any_targeted_line_is_read(line in proptest::collection::vec(0x20_u8..=0xff, 0..60)) {
        if let Ok(value) = HeaderValue::from_bytes(&line) {
            let mut fields = fields(&[(http::header::CACHE_CONTROL, "max-age=7")]);
            fields.insert(CDN, value);
            let (directives, source) = response(&fields, &[CDN]);
            if source == Source::CacheControl {
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
        prop_assert_eq!(source, Source::Targeted(CDN));
        prop_assert_eq!((directives.max_age, directives.no_store), (Some(max_age), forbids), "{}", line);
    }

    #[test]
    fn a_prohibition_is_found_in_any_list(
        before in "[a-z=,\" 0-9]{0,20}",
        after in "(,[a-z=,\" 0-9]{0,20})?",
    ) {
        // Unless a quoted string that is closed swallows it, which the grammar demands.
        prop_assume!(!before.contains('"') || !after.contains('"'));
        prop_assume!(before.matches('"').count() < 2 && !before.contains("=\""));
        prop_assume!(!before.trim_end().ends_with('='));
        let line = format!("{before},no-store{after}");
        prop_assert!(of(&line).no_store, "{}", line);
    }

    #[test]
    fn what_is_well_formed_is_read(
        max_age in any::<u32>(),
        shared in proptest::option::of(any::<u32>()),
        quoted in any::<bool>(),
        upper in any::<bool>(),
        public in any::<bool>(),
    ) {
        let quote = if quoted { "\"" } else { "" };
        let mut line = format!("max-age={quote}{max_age}{quote}");
        if let Some(shared) = shared {
            line = format!("{line} ,s-maxage={quote}{shared}{quote}");
        }
        if public {
            line = format!("public,{line}");
        }
        if upper {
            line.make_ascii_uppercase();
        }
        let expected = ResponseDirectives {
            public,
            max_age: Some(max_age.min(MOST_SECONDS)),
            s_maxage: shared.map(|shared| shared.min(MOST_SECONDS)),
            ..Default::default()
        };
        prop_assert_eq!(of(&line), expected);
    }

    #[test]
    fn lines_and_commas_mean_the_same(elements in proptest::collection::vec("[a-z-]{1,12}(=[0-9]{1,4})?", 0..6)) {
        let elements: Vec<_> = elements.iter().map(String::as_str).collect();
        prop_assert_eq!(of_lines(&elements), of(&elements.join(",")));
    }
}
