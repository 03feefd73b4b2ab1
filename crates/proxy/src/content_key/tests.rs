use super::{
    Unkeyed,
    errors::ErrorSearch,
    json::canonical,
    operation::{Selected, decode, of_document, of_json, of_query},
};
use proptest::prelude::*;
use serde_json::Value;

mod canonical;

proptest! {
    #[test]
    fn any_text_is_read(text in "\\PC{0,80}") {
        let form = canonical(&text);
        prop_assert!(form.is_none() || serde_json::from_str::<Value>(&text).is_ok());
        let _ = (of_json(&text), of_query(&text), of_document(&text, None), decode(&text), ErrorSearch::Text.finds(text.as_bytes()), ErrorSearch::Json.finds(text.as_bytes()));
    }

    #[test]
    fn nothing_with_a_mutation_in_it_passes_for_a_query(before in "\\PC{0,20}", after in "\\PC{0,20}") {
        // A document with a mutation anywhere among its operations must not be stored.
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
    for (answer, in_json, in_text) in [
        (&br#"{"data":{"errors":[]}}"#[..], false, false),
        (br#"{"data":null,"errors":null}"#, false, false),
        (br#"{"data":{},"errors":[{"message":"m"}]}"#, true, true),
        (br#"{"errors":[]}"#, true, true),
        (b"[]", true, false),
        (b"{", true, false),
        (b"", true, false),
        (b"User-agent: *", true, false),
    ] {
        let found = [ErrorSearch::Nothing, ErrorSearch::Text, ErrorSearch::Json]
            .map(|search| search.finds(answer));
        let text = String::from_utf8_lossy(answer);
        assert_eq!(found, [false, in_text, in_json], "{text}");
    }
}
