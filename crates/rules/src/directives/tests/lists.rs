//! Lists like `Cache-Control`: spelling, faults, repetition.

use super::*;
use proptest::prelude::*;

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
        "; max-age=60",
        // An empty string ends at its second mark, and a mark behind an escaped backslash ends one.
        "foo=\"\", max-age=60, bar=\"x\"",
        "foo=\"\\\\\", max-age=60, bar=\"x\"",
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
        "max-age=1 0 0",
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
        "private;",
        "private; max-age=60",
        "private;max-age=60",
        "max-age=60;private",
        "max-age=60, private;",
        "private:",
        "private/",
        "(private)",
        "\"private\"",
        "\"max-age=60, private\"",
        "[max-age=60,private]",
        "private\u{a0}",
        "max-age=60\u{a0}private",
        "max-age=\"60\"private",
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
        assert!(of(line).private.is_whole(), "{line}");
    }
}

/// A directive that forbids holds with an argument that it should not have; one that allows does not.
#[test]
fn a_fault_makes_nothing_more_public() {
    let odd = of("no-store=1, must-revalidate=\"x\", proxy-revalidate=, no-transform=0");
    assert!(odd.no_store && odd.must_revalidate && odd.proxy_revalidate && odd.no_transform);
    for line in [
        "public;",
        "(public)",
        "\"public\"",
        "public: x",
        ";public",
        "public/must-understand",
    ] {
        assert!(!of(line).public, "{line}");
    }
    for line in ["max-age=60, public", ";, public", "foo;, public, bar"] {
        assert!(of(line).public, "{line}");
    }
    let asked = [
        asked("no-store;"),
        asked("no-cache;"),
        asked("max-age=0;"),
        asked("(only-if-cached)"),
    ];
    assert!(
        asked[0].no_store
            && asked[1].no_cache
            && asked[2].max_age == Some(0)
            && asked[3].only_if_cached
    );
    // A directive that allows does not hold with an argument that it must not have (RFC 9111 section 5.2).
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
        // RFC 9111 section 5.2.2.7: a sender should not generate the token form, but it is unambiguous.
        ("private=set-cookie", names(&["set-cookie"])),
        ("private=\"a\", private=\"b\"", names(&["a", "b"])),
        // Sections 5.2.2.4 and 5.2.2.7: each form forbids something of its own.
        ("private=\"a\", private", whole_and(&["a"])),
        ("private, private=\"a\"", whole_and(&["a"])),
        (
            "private=\"a\", private, private=\"b\"",
            whole_and(&["a", "b"]),
        ),
        ("private=\"a\", private=\"not a name\"", whole_and(&["a"])),
        ("private", whole_and(&[])),
        ("public", Qualified::Absent),
    ] {
        assert_eq!(of(line).private, expected, "{line}");
        let other = of(&line.replace("private", "no-cache"));
        assert_eq!(other.no_cache, expected, "{line}");
        let names_fields = !expected.names().is_empty();
        assert_eq!(of(line).names_fields(), names_fields, "{line}");
        assert_eq!(other.names_fields(), names_fields, "{line}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(line in proptest::collection::vec(any::<u8>(), 0..60)) {
        let count = list::directives(&line).count();
        prop_assert!(count <= line.len());
    }

    #[test]
    fn a_prohibition_is_found_in_any_list(
        before in "[a-z=,\" 0-9]{0,20}",
        after in "(,[a-z=,\" 0-9]{0,20})?",
    ) {
        // Unless a closed quoted string contains it, as the grammar demands.
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
