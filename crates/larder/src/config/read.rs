//! From text to [`written::Config`], with every fault on the way.
//!
//! serde stops at the first fault. So the value that it failed at is removed from the document, and the rest is read
//! again until there are no faults. Every key may be left out, so what remains is always a configuration.

mod place;

use super::{
    Fault, keys, presets,
    schema::{View, schema},
    syntax,
    torn::Torn,
    written,
};
use place::{Place, named, place};
use serde::Deserialize;
use serde_json::Value;
use std::ops::Range;
use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue, Deserializer},
};

/// Reads `text`. If `faults` grew, the result lacks the faulty values, and [`Torn`] says what they were.
pub(super) fn read(text: &str, faults: &mut Vec<Fault>) -> (written::Config, Torn) {
    let schema = schema();
    let top = View::root(&schema);
    let (_, errors) = DeTable::parse_recoverable(text);
    faults.extend(syntax::faults(text, &errors, top));
    let Some(text) = syntax::readable(text, &errors) else {
        return (written::Config::default(), Torn::whole());
    };
    let config = read_as(&text, &schema, faults);
    let torn = Torn::of(&text, faults, top);
    (config, torn)
}

fn read_as(text: &str, schema: &Value, faults: &mut Vec<Fault>) -> written::Config {
    let (mut document, _) = DeTable::parse_recoverable(text);
    keys::take_unknown(document.get_mut(), schema, faults);
    presets::expand(document.get_mut(), faults);
    loop {
        match written::Config::deserialize(Deserializer::from(document.clone())) {
            Ok(config) => return config,
            Err(error) => {
                let place = error.span().and_then(|span| {
                    take(document.get_mut(), View::root(schema), &span).map(|key| (span, key))
                });
                let Some((span, place)) = place else {
                    faults.push(Fault::anywhere(error.message()));
                    return written::Config::default();
                };
                faults.push(place.fault(&span, error.message(), text));
            }
        }
    }
}

/// Removes the innermost value that `span` is in, or is.
fn take(table: &mut DeTable<'_>, schema: View<'_>, span: &Range<usize>) -> Option<Place> {
    let (known, schema) = match schema.table() {
        Some((known, schema)) => (Some(known), schema),
        None => (None, schema),
    };
    let mut found = None;
    for (key, value) in table.iter_mut() {
        let inner = known
            .and_then(|known| known.get(key.get_ref().as_ref()))
            .map_or(schema, |inner| schema.to(inner));
        let own = || key.get_ref().to_string();
        let inside = take_inside(value, key.get_ref(), inner, span);
        if let Some(place) = inside {
            // An empty list was not written, and would be another fault.
            let is_empty = matches!(value.get_ref(), DeValue::Array(list) if list.is_empty());
            found = Some((place, is_empty.then(own)));
            break;
        }
        if covers(&key.span(), span) || covers(&value.span(), span) {
            let in_key = covers(&key.span(), span);
            let mut place = place(key.get_ref(), in_key, inner, inner);
            place.name = value
                .get_ref()
                .as_table()
                .and_then(|table| named(table, inner));
            found = Some((place, Some(own())));
            break;
        }
    }
    let (place, emptied) = found?;
    if let Some(key) = emptied {
        table.remove(key.as_str());
    }
    Some(place)
}

fn take_inside<'i>(
    value: &mut Spanned<DeValue<'i>>,
    key: &str,
    schema: View<'_>,
    span: &Range<usize>,
) -> Option<Place> {
    match value.get_mut() {
        // In place of a list of tables or of a word, the table itself is wrong.
        DeValue::Table(_)
            if schema.table().is_none() && (schema.members().is_some() || schema.is_word()) =>
        {
            None
        }
        DeValue::Table(table) => take(table, schema, span),
        DeValue::Array(list) => {
            let members = schema.members().unwrap_or(schema);
            for index in 0..list.len() {
                let member = list.get_mut(index)?;
                let inside = take_inside(member, key, members, span);
                if inside.is_some() {
                    return inside;
                }
                if covers(&member.span(), span) {
                    let all = std::mem::replace(list, DeArray::<'i>::new())
                        .into_iter()
                        .enumerate();
                    *list = all
                        .filter(|(other, _)| *other != index)
                        .map(|(_, member)| member)
                        .collect();
                    return Some(place(key, true, members, schema));
                }
            }
            None
        }
        _ => None,
    }
}

/// Whether `inner` lies in `outer`.
pub(super) const fn covers(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
