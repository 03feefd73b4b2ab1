//! Values that are not TOML, and what was probably meant by them.

use super::{
    schema::View,
    value::{quoted, switch},
};

/// What other languages write at the end of a value.
const ENDS: [char; 2] = [';', ','];

/// Quotes as word processors write them.
const CURLY: [char; 8] = ['“', '”', '„', '‟', '‘', '’', '«', '»'];

/// Returns `value`, without quotes or with something behind it, as `key` takes it in TOML. `None` if it is not clear
/// what belongs together.
pub(super) fn meant(key: &str, value: &str, schema: View<'_>) -> Option<String> {
    let whole = value;
    let value = value.trim_end_matches(ENDS).trim_end();
    if is_toml(value) {
        // If nothing is behind it, the fault is elsewhere.
        return (whole != value).then(|| value.to_owned());
    }
    let key = key.rsplit('.').next().unwrap_or(key).trim();
    let inner = value
        .strip_prefix('[')
        .and_then(|list| list.strip_suffix(']'));
    let text = inner.unwrap_or(value);
    let list = format!("[{text}]");
    if inner.is_none() && schema.is_list(key) && is_toml(&list) {
        return Some(list);
    }
    if text.contains(['"', '\'', '[', ']', '{', '}']) {
        return None;
    }
    let is_list = inner.is_some() || text.contains(',') && schema.is_list(key);
    if !is_list {
        return Some(one(key, text, schema));
    }
    let members = text
        .split(',')
        .map(str::trim)
        .filter(|text| !text.is_empty());
    let members: Vec<String> = members.map(|text| one(key, text, schema)).collect();
    Some(format!("[{}]", members.join(", ")))
}

/// Returns one value of `key`, or of the list there.
fn one(key: &str, text: &str, schema: View<'_>) -> String {
    let inner = text.trim_matches(CURLY);
    let on = switch(inner).filter(|_| schema.is_switch(key));
    match on {
        Some(on) => on.to_string(),
        None if inner == text && is_toml(text) => text.to_owned(),
        None => quoted(inner),
    }
}

fn is_toml(value: &str) -> bool {
    toml::from_str::<toml::Table>(&format!("value = {value}")).is_ok()
}
