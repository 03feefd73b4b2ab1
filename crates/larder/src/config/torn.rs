//! Which tables of a file lack something that could not be read. What seems missing there may be written.

use super::{Fault, keys, read::covers};
use serde_json::{Map, Value};
use std::{collections::BTreeSet, ops::Range};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// The tables from which something was taken out while the file was read.
#[derive(Debug, Default)]
pub(super) struct Torn {
    /// Any table may be one of them.
    all: bool,
    /// Their keys at the top of the file.
    keys: BTreeSet<String>,
    /// Where they, and all that is in them, stand.
    places: Vec<Range<usize>>,
}

impl Torn {
    /// Finds the tables of `text` in which the reading met `faults`; `known` are the keys at the top of a file.
    pub(super) fn of(text: &str, faults: &[Fault], known: &Map<String, Value>) -> Self {
        if faults.is_empty() {
            return Self::default();
        }
        let (document, errors) = DeTable::parse_recoverable(text);
        let mut torn = Self {
            all: !errors.is_empty(),
            ..Self::default()
        };
        let sections: Vec<Section<'_>> = document.get_ref().iter().flat_map(sections).collect();
        for fault in faults {
            let around = |section: &&Section<'_>| {
                let mut places = section.places.iter();
                fault
                    .span
                    .as_ref()
                    .is_some_and(|span| places.any(|place| covers(place, span)))
            };
            let Some(section) = sections.iter().find(around) else {
                torn.all = true;
                continue;
            };
            torn.places.extend(section.places.iter().cloned());
            match keys::nearest_key(section.key, known) {
                _ if known.contains_key(section.key) => {
                    torn.keys.insert(section.key.to_owned());
                }
                Some(meant) => {
                    torn.keys.insert(meant.to_owned());
                }
                None => torn.all |= section.is_table,
            }
        }
        torn
    }

    /// Whether something was taken out anywhere.
    pub(super) fn any(&self) -> bool {
        self.all || !self.keys.is_empty()
    }

    /// Whether something was taken out of the table that `place` is in.
    pub(super) fn at(&self, place: &Range<usize>) -> bool {
        self.all || self.places.iter().any(|torn| covers(torn, place))
    }

    /// Whether something was taken out of the table under `key`, or of one of those in a list there.
    pub(super) fn under(&self, key: &str) -> bool {
        self.all || self.keys.contains(key)
    }
}

/// A value at the top of the file, or one table of a list there.
struct Section<'a> {
    key: &'a str,
    is_table: bool,
    places: Vec<Range<usize>>,
}

fn sections<'a, K: AsRef<str>>(
    (key, value): (&'a Spanned<K>, &Spanned<DeValue<'_>>),
) -> Vec<Section<'a>> {
    let is_table = |member: &Spanned<DeValue<'_>>| matches!(member.get_ref(), DeValue::Table(_));
    let section = |value: &Spanned<DeValue<'_>>, mut places: Vec<Range<usize>>| {
        inside(value, &mut places);
        Section {
            key: key.get_ref().as_ref(),
            is_table: is_table(value),
            places,
        }
    };
    match value.get_ref() {
        DeValue::Array(list) if list.iter().any(is_table) => list
            .iter()
            .map(|member| section(member, Vec::new()))
            .collect(),
        _ => vec![section(value, vec![key.span()])],
    }
}

/// Where `value` and all that is in it stand.
fn inside(value: &Spanned<DeValue<'_>>, places: &mut Vec<Range<usize>>) {
    places.push(value.span());
    match value.get_ref() {
        DeValue::Table(table) => {
            for (key, value) in table {
                places.push(key.span());
                inside(value, places);
            }
        }
        DeValue::Array(list) => list.iter().for_each(|member| inside(member, places)),
        _ => {}
    }
}
