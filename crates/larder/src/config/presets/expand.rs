//! Putting what a preset says in its place.
//!
//! What the user writes goes over it, key by key, in `stale`, `key` and their kin too; the lists in `bypass` are joined, so that
//! no addition takes a protection away. The preset's routes stand behind the user's, but before one that matches everything.

use super::{key, word};
use crate::config::{
    Fault, meant,
    written::{self, Preset},
};
use serde::Deserialize;
use std::{mem, ops::Range};
use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue, Deserializer},
};

/// Tables in which keys are combined one by one. Any other value replaces the preset's whole.
const TABLES: [&str; 5] = [
    "bypass",
    "key",
    "stale",
    "request_headers",
    "response_headers",
];

/// How every path of a preset's routes begins: it holds at any depth.
const ANY_DEPTH: &str = "~ (?i)/(.*/)?";

/// Replaces the presets in `document`; whether there was one. A name that is none is left for others to complain of.
pub(in crate::config) fn expand(document: &mut DeTable<'_>, faults: &mut Vec<Fault>) -> bool {
    let default = document
        .get_mut("defaults")
        .and_then(|defaults| take_preset(defaults.get_mut()));
    let mut routes = take_routes(document);
    let own: Vec<_> = routes
        .iter_mut()
        .map(|route| take_preset(route.get_mut()))
        .collect();
    if default.is_none() && own.iter().all(Option::is_none) {
        put_routes(document, routes);
        return false;
    }
    name_all(&mut routes);
    if let Some((preset, span)) = default {
        for (_, span) in own.iter().flatten() {
            faults.push(
                Fault::at(span, "the preset in `[defaults]` holds on every route")
                    .instead("leave it out here, or write it on each route instead of there"),
            );
        }
        everywhere(document, &mut routes, preset, &span);
    } else {
        routes = on_routes(document, routes, own, faults);
    }
    put_routes(document, routes);
    true
}

/// A preset that holds on every route.
fn everywhere<'i>(
    document: &mut DeTable<'i>,
    routes: &mut Vec<Spanned<DeValue<'i>>>,
    preset: Preset,
    span: &Range<usize>,
) {
    let (base, below) = said(preset, span);
    for route in routes.iter_mut() {
        let DeValue::Table(route) = route.get_mut() else {
            continue;
        };
        for name in TABLES {
            if let (Some(own), Some(preset)) = (route.get_mut(name), base.get(name)) {
                under(name, own.get_mut(), preset.get_ref());
            }
        }
    }
    if let Some(DeValue::Table(defaults)) = document.get_mut("defaults").map(Spanned::get_mut) {
        under_all(defaults, &base);
    }
    let at = routes
        .iter()
        .position(matches_everything)
        .unwrap_or(routes.len());
    routes.splice(at..at, below);
}

/// Presets that hold on one route each: such a route becomes several, which match what it matches.
fn on_routes<'i>(
    document: &DeTable<'i>,
    routes: Vec<Spanned<DeValue<'i>>>,
    presets: Vec<Option<(Preset, Range<usize>)>>,
    faults: &mut Vec<Fault>,
) -> Vec<Spanned<DeValue<'i>>> {
    let defaults = document
        .get("defaults")
        .and_then(|table| table.get_ref().as_table());
    let mut all = Vec::new();
    for (mut route, preset) in routes.into_iter().zip(presets) {
        if let (DeValue::Table(table), Some((preset, span))) = (route.get_mut(), preset) {
            let (base, below) = said(preset, &span);
            inherit(table, defaults, &base);
            under_all(table, &base);
            match folders(table) {
                Some(folders) => all.extend(
                    below
                        .into_iter()
                        .filter_map(|special| within(table, special, &folders, &span)),
                ),
                None => faults.push(
                    Fault::at(&span, "a preset is for all that an application answers")
                        .instead("match its folder: `path = \"/blog/*\"`"),
                ),
            }
        }
        all.push(route);
    }
    all
}

/// Takes up from `[defaults]` what the preset would hide.
fn inherit<'i>(route: &mut DeTable<'i>, defaults: Option<&DeTable<'i>>, base: &DeTable<'_>) {
    for (name, value) in defaults.into_iter().flatten() {
        let name_text = name.get_ref().as_ref();
        if base.contains_key(name_text) && !route.contains_key(name_text) {
            route.insert(name.clone(), value.clone());
        }
    }
}

/// A route of the preset, for what `route` matches: as `route`, with what it says itself over that.
fn within<'i>(
    route: &DeTable<'i>,
    special: Spanned<DeValue<'i>>,
    folders: &[String],
    span: &Range<usize>,
) -> Option<Spanned<DeValue<'i>>> {
    let DeValue::Table(special) = special.into_inner() else {
        return None;
    };
    let mut made = route.clone();
    let of = |table: &DeTable<'_>| Some(table.get("name")?.get_ref().as_str()?.to_owned());
    let name = format!("{}-{}", of(route)?, of(&special)?);
    for (key, value) in special {
        made.insert(key, value);
    }
    made.insert(key("name", span), word(name, span));
    if let Some(paths) = made.get_mut("path") {
        let written = texts(paths.get_ref());
        let moved = written.iter().flat_map(|path| {
            let rest = path.strip_prefix(ANY_DEPTH).unwrap_or_default();
            folders.iter().map(move |folder| match folder.as_str() {
                "" => word(format!("{ANY_DEPTH}{rest}"), span),
                folder => {
                    let folder = regex::escape(folder);
                    word(format!("~ (?i)(?-i:{folder})/(.*/)?{rest}"), span)
                }
            })
        });
        *paths = Spanned::new(span.clone(), DeValue::Array(moved.collect()));
    }
    Some(Spanned::new(span.clone(), DeValue::Table(made)))
}

/// The folders that a route's paths cover, without the slash at the end. `None` where it matches single paths or patterns.
fn folders(route: &DeTable<'_>) -> Option<Vec<String>> {
    let Some(paths) = route.get("path") else {
        return Some(vec![String::new()]);
    };
    let paths = texts(paths.get_ref());
    paths
        .iter()
        .map(|path| {
            let folder = path.strip_suffix("/*")?;
            (!folder.contains(['*', '~'])).then(|| folder.to_owned())
        })
        .collect()
}

/// Puts every key of `base` into `table` that it does not have, and combines the tables of both.
fn under_all(table: &mut DeTable<'_>, base: &DeTable<'static>) {
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

/// Combines what both say in the table called `name`.
fn under(name: &str, own: &mut DeValue<'_>, preset: &DeValue<'static>) {
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

/// Adds to the user's list what the preset's has beside it. A single member may stand without brackets.
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

/// What a preset says: its defaults and its routes, as if all of it stood at `span`.
fn said(preset: Preset, span: &Range<usize>) -> (DeTable<'static>, Vec<Spanned<DeValue<'static>>>) {
    let mut document = moved(preset.document(), span);
    let routes = take_routes(&mut document);
    let base = match document.remove("defaults").map(Spanned::into_inner) {
        Some(DeValue::Table(base)) => base,
        _ => DeTable::default(),
    };
    (base, routes)
}

fn moved<'i>(table: DeTable<'i>, span: &Range<usize>) -> DeTable<'i> {
    let pairs = table.into_iter();
    pairs
        .map(|(key, value)| {
            let value = Spanned::new(span.clone(), moved_value(value.into_inner(), span));
            (Spanned::new(span.clone(), key.into_inner()), value)
        })
        .collect()
}

fn moved_value<'i>(value: DeValue<'i>, span: &Range<usize>) -> DeValue<'i> {
    match value {
        DeValue::Table(table) => DeValue::Table(moved(table, span)),
        DeValue::Array(list) => {
            let members = list.into_iter();
            let members = members
                .map(|member| Spanned::new(span.clone(), moved_value(member.into_inner(), span)));
            DeValue::Array(members.collect())
        }
        other => other,
    }
}

/// Takes the preset out of a table, where it is one.
fn take_preset(table: &mut DeValue<'_>) -> Option<(Preset, Range<usize>)> {
    let DeValue::Table(table) = table else {
        return None;
    };
    let value = table.get("preset")?;
    let preset = Preset::named(value.get_ref().as_str()?)?;
    let span = value.span();
    table.remove("preset");
    Some((preset, span))
}

fn take_routes<'i>(document: &mut DeTable<'i>) -> Vec<Spanned<DeValue<'i>>> {
    match document.get_mut("route").map(Spanned::get_mut) {
        Some(DeValue::Array(list)) => mem::replace(list, DeArray::<'i>::new())
            .into_iter()
            .collect(),
        _ => Vec::new(),
    }
}

fn put_routes<'i>(document: &mut DeTable<'i>, routes: Vec<Spanned<DeValue<'i>>>) {
    match document.get_mut("route").map(Spanned::get_mut) {
        Some(DeValue::Array(list)) => *list = routes.into_iter().collect(),
        Some(_) => {}
        None if routes.is_empty() => {}
        None => {
            let span = routes.first().map(Spanned::span).unwrap_or_default();
            let list = DeValue::Array(routes.into_iter().collect());
            document.insert(key("route", &span), Spanned::new(span.clone(), list));
        }
    }
}

/// Names the routes that have none by the place at which they stand, before others come between them.
fn name_all(routes: &mut [Spanned<DeValue<'_>>]) {
    for (index, route) in routes.iter_mut().enumerate() {
        let span = route.span();
        if let DeValue::Table(table) = route.get_mut()
            && !table.contains_key("name")
        {
            table.insert(
                key("name", &span),
                word(format!("route-{}", index + 1), &span),
            );
        }
    }
}

fn matches_everything(route: &Spanned<DeValue<'_>>) -> bool {
    let DeValue::Table(table) = route.get_ref() else {
        return false;
    };
    let table = Spanned::new(route.span(), table.clone());
    written::Route::deserialize(Deserializer::from(table))
        .is_ok_and(|route| meant::matches_everything(&route))
}

/// The members of a list of texts, or the one that stands without brackets.
fn texts(value: &DeValue<'_>) -> Vec<String> {
    match value {
        DeValue::String(text) => vec![text.to_string()],
        DeValue::Array(list) => list
            .iter()
            .filter_map(|member| member.get_ref().as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    }
}
