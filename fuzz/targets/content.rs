//! A request's content as part of the key: JSON in canonical form, and what a GraphQL request asks for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proxy::content_key::{
    json::canonical,
    errors::ErrorSearch,
    operation::{decode, of_document, of_json, of_query},
};
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    ErrorSearch::Text.finds(data);
    ErrorSearch::Json.finds(data);
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Some(form) = canonical(text) {
        assert_eq!(
            canonical(&form).as_deref(),
            Some(form.as_str()),
            "its own form"
        );
        let (one, other) = (serde_json::from_str(text), serde_json::from_str(&form));
        // A number beyond what a double holds is no number to the independent reader.
        if let (Ok(one), Ok(other)) = (one, other) {
            let (one, other): (Value, Value) = (one, other);
            assert_eq!(one, other, "the same meaning");
            if of_json(text).is_ok() {
                assert!(one.get("query").is_some_and(Value::is_string), "a document");
                assert_eq!(of_json(text), of_json(&form));
            }
        }
    }
    if of_document(text, None).is_ok() {
        let with_effect = format!("{text}\nmutation {{ a }}");
        assert!(
            of_document(&with_effect, None).is_err(),
            "a mutation beside the query"
        );
    }
    let _ = (of_query(text), decode(text));
});
