use super::Remedy;
use crate::{
    admin::From,
    command::explain::tests::answer,
    config::{Flags, parse, schema},
};
use serde_json::{Value, json};
use std::{fs, path::Path};

const ALL: [Remedy; 18] = [
    Remedy::StripCookie,
    Remedy::SettleCookies,
    Remedy::GiveLifetime,
    Remedy::ForceLifetime,
    Remedy::GiveOrForceLifetime,
    Remedy::NameStatus,
    Remedy::KeepErrors,
    Remedy::SayPublic,
    Remedy::NameVarying,
    Remedy::StoreLarger,
    Remedy::SendStale,
    Remedy::IgnoreClients,
    Remedy::Store,
    Remedy::PassCookies,
    Remedy::PassHeaders,
    Remedy::PassPaths,
    Remedy::PassQuery,
    Remedy::PassMethods,
];

/// A new one must be added to the list.
#[test]
fn no_remedy_is_left_out() {
    for (place, remedy) in ALL.into_iter().enumerate() {
        assert_eq!(remedy as usize, place, "{remedy:?}");
    }
    assert_eq!(Remedy::PassMethods as usize + 1, ALL.len(), "the last one");
}

/// The words between backticks.
fn codes(sentence: &str) -> Vec<&str> {
    sentence.split('`').skip(1).step_by(2).collect()
}

/// Whether the schema has this key below `table`.
fn has(schema: &Value, table: &Value, key: &str) -> bool {
    let name = table["$ref"]
        .as_str()
        .and_then(|name| name.strip_prefix('#'));
    let table = name.map_or(Some(table), |name| schema.pointer(name));
    let (first, rest) = key.split_once('.').unwrap_or((key, ""));
    let found = table.and_then(|table| table["properties"].get(first));
    found.is_some_and(|found| rest.is_empty() || has(schema, found, rest))
}

#[test]
fn each_setting_is_one() {
    let schema = schema();
    let is_key = |key: &str| {
        let route = json!({ "$ref": "#/$defs/Route" });
        has(&schema, &route, key) || has(&schema, &schema, key)
    };
    for remedy in ALL {
        let sentence = remedy.sentence();
        let mut seen = sentence.contains("no setting does");
        for code in codes(&sentence) {
            let table = code
                .strip_prefix('[')
                .and_then(|code| code.strip_suffix(']'));
            let setting = code.split_once(" = ").map(|(key, _)| key);
            if let Some(key) = setting.or(table) {
                assert!(is_key(key), "{sentence}");
                seen = true;
            } else if code.contains(['.', '_']) {
                assert!(is_key(code), "{code}: {sentence}");
                seen = true;
            }
            if setting.is_some() {
                // Some have an effect only beside others.
                let accepted = ["", "ttl = \"1m\"\n"].iter().any(|before| {
                    let text = format!(
                        "memory.size = \"8GiB\"\n[[origin]]\nservers = \":1\"\n[defaults]\n{before}{code}\n"
                    );
                    parse(&text, "test", &Flags::default()).is_ok()
                });
                assert!(accepted, "{code}: {sentence}");
            }
        }
        assert!(seen, "{sentence}");
    }
}

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_matches(['#', ' ']).to_lowercase();
    let letters = kept.chars();
    let letters = letters.filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-'));
    letters.collect::<String>().replace(' ', "-")
}

#[test]
fn each_page_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for remedy in ALL {
        let sentence = remedy.sentence();
        let place = sentence.strip_suffix(").").unwrap();
        let (_, place) = place.rsplit_once('(').unwrap();
        let (page, heading) = place.split_once('#').unwrap();
        let text = fs::read_to_string(root.join(page)).unwrap();
        let mut headings = text.lines().filter(|line| line.starts_with('#'));
        assert!(headings.any(|line| anchor(line) == heading), "{sentence}");
    }
}

/// Each token that is read here is one that reasons have.
#[test]
fn each_reason_is_told_by_its_own_token() {
    use proxy::{hit_for_miss::Unshared, outcome::BypassReason};
    use rules::storable::NotStorable;
    for (why, remedy) in [
        (NotStorable::SetCookie, Remedy::StripCookie),
        (NotStorable::Cookies, Remedy::SettleCookies),
        (NotStorable::NoFreshness, Remedy::GiveOrForceLifetime),
        (NotStorable::NoStore, Remedy::ForceLifetime),
        (NotStorable::Private, Remedy::ForceLifetime),
        (NotStorable::Status, Remedy::NameStatus),
        (NotStorable::Authorization, Remedy::SayPublic),
        (NotStorable::VaryStar, Remedy::NameVarying),
    ] {
        assert_eq!(Remedy::last(why.token()), Some(remedy));
    }
    for (why, remedy) in [
        (Unshared::TooLarge, Remedy::StoreLarger),
        (Unshared::Failed, Remedy::KeepErrors),
        (Unshared::OfRequest, Remedy::NameStatus),
    ] {
        assert_eq!(Remedy::last(why.token().unwrap()), Some(remedy));
    }
    for (why, remedy) in [
        (BypassReason::Route, Remedy::Store),
        (BypassReason::Cookie, Remedy::PassCookies),
        (BypassReason::Header, Remedy::PassHeaders),
        (BypassReason::Path, Remedy::PassPaths),
        (BypassReason::Query, Remedy::PassQuery),
        (BypassReason::Method, Remedy::PassMethods),
    ] {
        let answer = answer(From::Origin, "bypass", Some(why.token()), Vec::new());
        assert_eq!(Remedy::now(&answer), Some(remedy));
    }
}
