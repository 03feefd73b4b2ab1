//! Puts the content of a preset under what the user writes, key by key.

use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue},
};

/// Tables whose keys are combined one by one. Any other value replaces the preset's as a whole.
pub(super) const TABLES: [&str; 5] = [
    "bypass",
    "key",
    "stale",
    "request_headers",
    "response_headers",
];

/// Copies every key of `base` that `table` lacks, and combines the tables that both have.
pub(super) fn under_all(table: &mut DeTable<'_>, base: &DeTable<'static>) {
    for (name, preset) in base {
        let text = name.get_ref().as_ref();
        match table.get_mut(text) {
            None => {
                table.insert(name.clone(), preset.clone());
            }
            Some(own) if TABLES.contains(&text) => under(text, own.get_mut(), preset.get_ref()),
            Some(_) => {}
        }
    }
}

/// Combines the keys of `own` and `preset`, both tables called `name`.
pub(super) fn under(name: &str, own: &mut DeValue<'_>, preset: &DeValue<'static>) {
    let (DeValue::Table(own), DeValue::Table(preset)) = (own, preset) else {
        return;
    };
    for (key, value) in preset {
        match own.get_mut(key.get_ref().as_ref()) {
            None => {
                own.insert(key.clone(), value.clone());
            }
            Some(list) if name == "bypass" => join(list, value.get_ref()),
            Some(_) => {}
        }
    }
}

/// Adds the members of the preset's list that the user's list lacks. A single member may be without brackets.
fn join(own: &mut Spanned<DeValue<'_>>, preset: &DeValue<'static>) {
    if own.get_ref().is_str() {
        let single = own.clone();
        *own.get_mut() = DeValue::Array(DeArray::from_iter([single]));
    }
    let (DeValue::Array(own), DeValue::Array(preset)) = (own.get_mut(), preset) else {
        return;
    };
    for member in preset {
        let known = own
            .iter()
            .any(|one| one.get_ref().as_str() == member.get_ref().as_str());
        if !known {
            own.push(member.clone());
        }
    }
}
