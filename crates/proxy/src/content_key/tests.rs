use super::{
    Unkeyed,
    json::{DEEPEST, canonical},
    operation::{Selected, decode, has_errors, of_document, of_json, of_query},
};
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

    #[test]
    fn any_text_is_read(text in "\\PC{0,80}") {
        let form = canonical(&text);
        prop_assert!(form.is_none() || serde_json::from_str::<Value>(&text).is_ok());
        let _ = (of_json(&text), of_query(&text), of_document(&text, None), decode(&text), has_errors(text.as_bytes()));
    }

    #[test]
    fn nothing_with_a_mutation_in_it_passes_for_a_query(before in "\\PC{0,20}", after in "\\PC{0,20}") {
        // Wherever a mutation stands as an operation, the whole document is none to store.
        let document = format!("{before}\nmutation {{ a }}\n{after}");
        if !before.contains(['"', '{', '#']) {
            prop_assert!(of_document(&document, None).is_err(), "{}", document);
        }
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table is as long as it has rows")]
fn operations_are_told_by_a_parse() {
    let named = |name: &str| {
        Ok(Selected {
            name: Some(name.to_owned()),
        })
    };
    let unnamed = || Ok(Selected { name: None });
    for (document, name, expected) in [
        ("{ a }", None, unnamed()),
        ("query { mutation }", None, unnamed()),
        ("query mutation { a }", None, named("mutation")),
        (
            "# mutation { a }\nquery Q { a(text: \"mutation { b }\") }",
            None,
            named("Q"),
        ),
        (
            "query Q { a(text: \"\"\"\nmutation { b }\n\"\"\") }",
            Some("Q"),
            named("Q"),
        ),
        (
            "query Q($a: Int = 1) @live { ...F } fragment F on T { a }",
            None,
            named("Q"),
        ),
        ("query A { a } query B { b }", Some("B"), named("B")),
        ("query A { a } query B { b }", None, Err(Unkeyed::Malformed)),
        ("query A { a }", Some("B"), Err(Unkeyed::Malformed)),
        ("{ a }", Some("B"), Err(Unkeyed::Malformed)),
        ("mutation { a }", None, Err(Unkeyed::Effect)),
        ("mutation M { a }", Some("M"), Err(Unkeyed::Effect)),
        ("#\nmutation{a}", None, Err(Unkeyed::Effect)),
        ("\u{feff},,mutation{a}", None, Err(Unkeyed::Effect)),
        ("subscription { a }", None, Err(Unkeyed::Effect)),
        (
            "query A { a } mutation B { b }",
            Some("A"),
            Err(Unkeyed::Effect),
        ),
        (
            "fragment F on T { a } mutation { a }",
            None,
            Err(Unkeyed::Effect),
        ),
        ("type T { a: Int }", None, Err(Unkeyed::Malformed)),
        ("query { a", None, Err(Unkeyed::Malformed)),
        ("query { a } }", None, Err(Unkeyed::Malformed)),
        ("\"mutation\" { a }", None, Err(Unkeyed::Malformed)),
        ("Mutation { a }", None, Err(Unkeyed::Malformed)),
        ("", None, Err(Unkeyed::Malformed)),
        (
            &format!("{}a{}", "{a".repeat(200), "}".repeat(200)),
            None,
            Err(Unkeyed::Malformed),
        ),
        (
            &format!("{{ {} }}", "a ".repeat(20_000)),
            None,
            Err(Unkeyed::Malformed),
        ),
    ] {
        assert_eq!(
            of_document(document, name),
            expected,
            "{}",
            document.get(..80).unwrap_or(document)
        );
    }
}

#[test]
fn requests_in_json_and_in_the_query_string() {
    for (text, expected) in [
        (
            r#"{"query":"query Q { a }","operationName":"Q"}"#,
            Ok(Some("Q")),
        ),
        (
            r#"{"query":"{ a }","operationName":null,"variables":{}}"#,
            Ok(None),
        ),
        (r#"{"\u0071uery":"mutation { a }"}"#, Err(Unkeyed::Effect)),
        (
            r#"{"query":"{ a }","query":"mutation { a }"}"#,
            Err(Unkeyed::Malformed),
        ),
        (r#"[{"query":"{ a }"}]"#, Err(Unkeyed::Batch)),
        (" \n[]", Err(Unkeyed::Batch)),
        (
            r#"{"extensions":{"persistedQuery":{"sha256Hash":"00"}}}"#,
            Err(Unkeyed::NoDocument),
        ),
        (r#"{"query":1}"#, Err(Unkeyed::Malformed)),
        (
            r#"{"query":"{ a }","operationName":[]}"#,
            Err(Unkeyed::Malformed),
        ),
        ("\"{ a }\"", Err(Unkeyed::Malformed)),
        ("", Err(Unkeyed::Malformed)),
    ] {
        let found = of_json(text).map(|selected| selected.name);
        assert_eq!(
            found,
            expected.map(|name| name.map(str::to_owned)),
            "{text}"
        );
    }
    for (query, expected) in [
        ("page=2", Ok(None)),
        ("query=%7B+a+%7D", Ok(Some(None))),
        (
            "query=query%20Q%7Ba%7D&operationName=Q",
            Ok(Some(Some("Q"))),
        ),
        ("extensions=%7B%7D&operationName=Q", Ok(Some(Some("Q")))),
        ("query=mutation%7Ba%7D", Err(Unkeyed::Effect)),
        ("qu%65ry=mutation{a}", Err(Unkeyed::Effect)),
        ("query={a}&query=mutation{a}", Err(Unkeyed::Malformed)),
        ("query=%ff", Err(Unkeyed::Malformed)),
        ("query=%7", Err(Unkeyed::Malformed)),
    ] {
        let found = of_query(query).map(|selected| selected.map(|selected| selected.name));
        let expected = expected.map(|selected| selected.map(|name| name.map(str::to_owned)));
        assert_eq!(found, expected, "{query}");
    }
}

#[test]
fn errors_are_found() {
    for (answer, expected) in [
        (&br#"{"data":{"errors":[]}}"#[..], false),
        (br#"{"data":null,"errors":null}"#, false),
        (br#"{"data":{},"errors":[{"message":"m"}]}"#, true),
        (br#"{"errors":[]}"#, true),
        (b"[]", true),
        (b"{", true),
        (b"", true),
    ] {
        assert_eq!(
            has_errors(answer),
            expected,
            "{}",
            String::from_utf8_lossy(answer)
        );
    }
}
