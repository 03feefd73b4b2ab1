//! JSON in canonical form.

use crate::content_key::json::{DEEPEST, canonical};
use proptest::prelude::*;
use serde_json::Value;

#[test]
fn one_form_for_what_is_the_same() {
    for (same, form) in [
        (
            &[
                r#"{"a":1,"b":[true,null]}"#,
                "{ \"b\" : [ true ,\n null ] , \"a\" :\t1 }\r\n",
            ][..],
            r#"{"a":1,"b":[true,null]}"#,
        ),
        (&[r#""A/é""#, r#""\u0041\/\u00e9""#], r#""A/é""#),
        (
            &[r#"{"\u0061":{"y":0,"x":-0}}"#, r#"{"a":{"x":-0,"y":0}}"#],
            r#"{"a":{"x":-0,"y":0}}"#,
        ),
        (&[r#""\uD83D\uDE00""#, "\"😀\""], "\"😀\""),
    ] {
        for text in same {
            assert_eq!(canonical(text).as_deref(), Some(form), "{text}");
        }
    }
}

#[test]
fn what_only_looks_the_same_differs() {
    let texts = [
        "1",
        "1.0",
        "1e0",
        "10e-1",
        "\"1\"",
        "-1",
        "100",
        "1e2",
        "0",
        "-0",
        "0.0",
        "true",
        "\"true\"",
        "null",
        "\"null\"",
        "[]",
        "{}",
        "[1,2]",
        "[2,1]",
        "[[1],2]",
        "\"\"",
        "\" \"",
        "\"a\"",
        "\"A\"",
        "\"é\"",
        "\"e\u{301}\"",
        r#"{"a":null}"#,
        r#"{"a":"","b":""}"#,
        r#"{"a,b":""}"#,
        r#"{"a":{"b":1}}"#,
        r#"{"a":"{\"b\":1}"}"#,
        "9007199254740993",
        "9007199254740992",
    ];
    let forms: Vec<_> = texts
        .iter()
        .map(|text| canonical(text).expect(text))
        .collect();
    for (index, form) in forms.iter().enumerate() {
        assert!(!forms[..index].contains(form), "{form}");
    }
}

#[test]
fn what_is_read_in_two_ways_has_no_form() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for text in [
        "",
        " ",
        "{",
        "{}x",
        "{} {}",
        "{a:1}",
        "{'a':1}",
        "[1,]",
        "{\"a\":1,}",
        "01",
        "+1",
        "1.",
        ".5",
        "NaN",
        "Infinity",
        "\u{feff}{}",
        "\"\t\"",
        r#""\x""#,
        r#""\ud800""#,
        r#"{"a":1,"a":2}"#,
        r#"{"a":1,"\u0061":1}"#,
        r#"{"x":{"a":1,"a":1}}"#,
        "// a\n{}",
        &deep(DEEPEST + 1),
    ] {
        assert_eq!(canonical(text), None, "{text}");
    }
    assert!(canonical(&deep(DEEPEST)).is_some());
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn the_form_means_what_was_written_and_is_its_own_form(value in value()) {
        let compact = canonical(&value.to_string()).expect("JSON");
        prop_assert_eq!(serde_json::from_str::<Value>(&compact).expect("JSON"), value.clone());
        prop_assert_eq!(canonical(&compact), Some(compact.clone()));
        let spread = serde_json::to_string_pretty(&value).expect("JSON");
        prop_assert_eq!(canonical(&spread), Some(compact));
    }

    #[test]
    fn two_values_have_two_forms(one in value(), other in value()) {
        let same = canonical(&one.to_string()) == canonical(&other.to_string());
        prop_assert_eq!(same, one == other);
    }
}
