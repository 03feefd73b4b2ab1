//! Keys that the configuration does not know, and what was probably meant by them.

mod words;

use super::{Fault, schema::View};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, ops::Range};
use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue},
};
use words::{first, other_words, otherwise, plain, translated};

/// Removes the unknown keys from `table` and reports them. Also removes and reports values that serde would misread:
/// lists in place of tables, which it would fill by the order of the list, and dates.
pub(super) fn take_unknown(table: &mut DeTable<'_>, root: &Value, faults: &mut Vec<Fault>) {
    let mut places = Places::default();
    places.collect("", View::root(root));
    Walk { places, faults }.table(table, View::root(root));
}

struct Walk<'a> {
    places: Places,
    faults: &'a mut Vec<Fault>,
}

impl Walk<'_> {
    fn table(&mut self, table: &mut DeTable<'_>, schema: View<'_>) {
        let Some((known, schema)) = schema.table() else {
            return;
        };
        let (mut unknown, mut wrong_kinds) = (Vec::new(), Vec::new());
        for (key, value) in table.iter_mut() {
            match known.get(key.get_ref().as_ref()) {
                Some(inner) => {
                    let inner = schema.to(inner);
                    let key = key.get_ref().to_string();
                    let wrong =
                        list_for_table(&key, value, inner).or_else(|| date(&key, value, inner));
                    self.value(&key, value, inner);
                    wrong_kinds.extend(wrong.map(|fault| (key, fault)));
                }
                None => unknown.push((key.get_ref().to_string(), key.span())),
            }
        }
        for (key, span) in unknown {
            self.faults.push(self.unknown(&key, &span, known));
            table.remove(key.as_str());
        }
        for (key, fault) in wrong_kinds {
            self.faults.push(fault);
            table.remove(key.as_str());
        }
    }

    fn value(&mut self, key: &str, value: &mut Spanned<DeValue<'_>>, schema: View<'_>) {
        match value.get_mut() {
            DeValue::Table(table) => self.table(table, schema),
            DeValue::Array(list) => {
                let Some(members) = schema.members() else {
                    return;
                };
                let mut kept = DeArray::new();
                for mut member in std::mem::replace(list, DeArray::new()) {
                    if let Some(fault) = list_for_table(key, &member, members) {
                        self.faults.push(fault);
                    } else {
                        self.value(key, &mut member, members);
                        kept.push(member);
                    }
                }
                *list = kept;
            }
            _ => {}
        }
    }

    fn unknown(&self, key: &str, span: &Range<usize>, known: &Map<String, Value>) -> Fault {
        let fault = Fault::at(span, format!("unknown key `{key}`"));
        if let Some(said) = otherwise(key, known) {
            return fault.instead(said);
        }
        let meant = translated(key, known).map(|(_, ours)| ours);
        if let Some(meant) = meant.or_else(|| nearest_key(key, known)) {
            return fault.instead(format!("did you mean `{meant}`?"));
        }
        if let Some(places) = self.places.of(key) {
            return fault.instead(format!("`{key}` belongs in {places}"));
        }
        let ours = other_words(key).next();
        let ours = ours.and_then(|ours| Some((ours, self.places.of(first(ours))?)));
        fault.instead(match ours {
            Some((ours, places)) => {
                format!("it is called `{ours}` here and belongs in {places}")
            }
            None => format!("known here: {}", join(known.keys())),
        })
    }
}

/// Returns the fault of a list under `key` where a table is allowed and a list is not.
fn list_for_table(key: &str, value: &Spanned<DeValue<'_>>, schema: View<'_>) -> Option<Fault> {
    let is_list = matches!(value.get_ref(), DeValue::Array(_));
    let (keys, _) = schema
        .table()
        .filter(|_| is_list && schema.members().is_none() && !schema.is_text())?;
    let fault = Fault::at(&value.span(), "expected a table, found a list");
    Some(fault.instead(format!("keys of `{key}`: {}", join(keys.keys()))))
}

/// Returns the fault of a date under `key`, or in a list there. No key takes a date, and serde reads one as a table.
fn date(key: &str, value: &Spanned<DeValue<'_>>, schema: View<'_>) -> Option<Fault> {
    let place = match value.get_ref() {
        DeValue::Datetime(_) => value,
        DeValue::Array(list) => list
            .iter()
            .find(|member| matches!(member.get_ref(), DeValue::Datetime(_)))?,
        _ => return None,
    };
    let fault = Fault::at(&place.span(), "no key has a date or a time of day");
    let examples = schema.get("examples").and_then(|list| list.get(0));
    let example = examples.or_else(|| schema.get("default"));
    Some(match example.filter(|example| !example.is_object()) {
        Some(example) => fault.instead(format!("for example `{key} = {example}`")),
        None => fault,
    })
}

/// Returns the known key that was probably meant by the unknown `key`.
pub(super) fn nearest_key<'a>(key: &str, known: &'a Map<String, Value>) -> Option<&'a str> {
    let translated = translated(key, known).map(|(own, _)| own);
    translated.or_else(|| nearest(&plain(key), known.keys().map(String::as_str)))
}

/// Returns the candidate nearest to `word`, if it is near enough to be meant and no other one is as near. Case does not
/// count, and something of the word must be left.
pub(super) fn nearest<'a>(
    word: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = word.to_lowercase();
    let length = word.chars().count();
    let most = (length / 3).max(1).min(length.saturating_sub(1));
    let mut near: Vec<(usize, &str)> = candidates
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&word, &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(distance, _)| *distance <= most)
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    match near.as_slice() {
        [(one, _), (other, _), ..] if one == other => None,
        [(_, nearest), ..] => Some(nearest),
        [] => None,
    }
}

/// Joins the names, each in backticks, with commas.
pub(super) fn join<T: AsRef<str>>(names: impl Iterator<Item = T>) -> String {
    let quoted: Vec<String> = names.map(|name| format!("`{}`", name.as_ref())).collect();
    quoted.join(", ")
}

/// Maps each key to the tables that know it.
#[derive(Default)]
struct Places(BTreeMap<String, Vec<String>>);

impl Places {
    fn collect(&mut self, path: &str, schema: View<'_>) {
        let Some((known, schema)) = schema.table() else {
            return;
        };
        for (key, inner) in known {
            let here = if path.is_empty() {
                "the top of the file".to_owned()
            } else {
                format!("`{path}`")
            };
            self.0.entry(key.clone()).or_default().push(here);
            let inner = schema.to(inner);
            let below = |open: &str, close: &str| match path.trim_matches(['[', ']']) {
                "" => format!("{open}{key}{close}"),
                path => format!("{open}{path}.{key}{close}"),
            };
            match inner.members() {
                Some(members) => self.collect(&below("[[", "]]"), members),
                None => self.collect(&below("[", "]"), inner),
            }
        }
    }

    /// Returns the tables that know `key`; if there are many, only the outermost. `None` if these are too many to be
    /// helpful.
    fn of(&self, key: &str) -> Option<String> {
        const MOST: usize = 3;
        let mut places: Vec<&str> = self.0.get(key)?.iter().map(String::as_str).collect();
        let depth = |place: &str| place.matches('.').count();
        if places.len() > MOST {
            let least = places.iter().map(|place| depth(place)).min()?;
            places.retain(|place| depth(place) == least);
        }
        (places.len() <= MOST).then(|| places.join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::schema;

    #[test]
    fn what_other_words_are_called_here_is_known() {
        let schema = schema();
        let mut places = Places::default();
        places.collect("", View::root(&schema));
        for ours in words::all() {
            let last = ours.rsplit('.').next().unwrap_or(ours);
            let is_known = places.0.contains_key(first(ours)) && places.0.contains_key(last);
            assert!(is_known, "{ours}");
        }
    }
}
