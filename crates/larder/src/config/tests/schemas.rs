//! The JSON schema refuses what an editor can report, and nothing that is valid.

use crate::config::{
    schema,
    value::{Size, Word},
    written::Mode,
};
use proptest::prelude::*;
use regex::Regex;
use serde_json::{Value, json};
use std::time::Duration;

fn of(path: &str) -> Value {
    let schema = schema();
    let found = schema.pointer(path);
    found.unwrap_or_else(|| panic!("no {path}")).clone()
}

#[test]
fn keys_that_a_table_cannot_be_without_are_required() {
    for (table, keys) in [
        ("Disk", json!(["path"])),
        ("Shared", json!(["url"])),
        ("Secret", json!(["header", "value"])),
        ("Listen", json!(["address"])),
        ("Certificate", json!(["certificate", "key"])),
        ("Server", json!(["url"])),
        ("Operation", json!(["name"])),
    ] {
        assert_eq!(of(&format!("/$defs/{table}/required")), keys, "{table}");
    }
}

#[test]
fn values_are_bounded_where_that_shows_in_one_place() {
    let keys = "/$defs/Purge/properties/miss_status/enum";
    assert_eq!(of(keys), json!([200, 404, 412]));
    let least = "/$defs/Limits/properties/header_count/minimum";
    assert_eq!(of(least), json!(16));
    assert_eq!(of("/$defs/Listen/properties/tls/minItems"), json!(1));
    let query = of("/$defs/Key/properties/query/anyOf");
    assert_eq!(query[0], json!({ "enum": ["all", "none"] }));
    for (key, bad, good) in [
        ("Stale/properties/if_error", "60", "1h30m"),
        ("Memory/properties/size", "512", "512MiB"),
        ("Listen/properties/mode", "rw", "0660"),
    ] {
        let pattern = of(&format!("/$defs/{key}/pattern"));
        let pattern = Regex::new(pattern.as_str().unwrap()).unwrap();
        assert!(!pattern.is_match(bad) && pattern.is_match(good), "{key}");
    }
}

#[test]
fn examples_are_of_the_key_and_not_of_its_type() {
    let examples = |path: &str| of(&format!("{path}/examples"));
    assert_eq!(
        examples("/$defs/Operation/properties/tags"),
        json!([["products"]])
    );
    assert_eq!(
        examples("/properties/targeted_fields"),
        json!([["CDN-Cache-Control"]])
    );
    assert_eq!(
        examples("/$defs/Defaults/properties/pass_fields"),
        json!(["X-Forwarded-Host"])
    );
    let secret = of("/$defs/Secret/properties/value");
    assert_eq!(secret.get("examples"), None, "one that people would copy");
}

proptest! {
    #[test]
    fn nothing_good_is_refused(text in "[ \\t]?[0-9]{0,3}[.]?[0-9 ]{0,2}[a-zA-Zµ]{0,5}[ ]?[0-9]{0,2}[a-z]{0,3}|[0-7]{0,5}|\\PC{0,8}") {
        fn agrees<T: Word>(text: &str) {
            let pattern = Regex::new(T::PATTERN).unwrap();
            assert!(T::parse(text).is_err() || pattern.is_match(text), "{text:?}");
        }
        agrees::<Duration>(&text);
        agrees::<Size>(&text);
        agrees::<Mode>(&text);
    }
}
