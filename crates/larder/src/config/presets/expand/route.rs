//! A preset on one route: the route becomes several, which match what it matches.

use super::{said, special::filled_up, under::under_all};
use crate::config::{
    Fault,
    presets::{key, word},
    value::normal,
    written::Preset,
};
use std::ops::Range;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// How every path of a preset's routes begins, whether at any depth or at the root of the application. A folder is
/// inserted after it.
const BEGIN: &str = "~ (?i)";

/// Applies presets that single routes name. Each such route becomes several, which match what it matches.
pub(super) fn on_routes<'i>(
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
            let own = table.clone();
            under_all(table, &base);
            match folders(table) {
                Some(folders) => all.extend(
                    below
                        .into_iter()
                        .map(|special| filled_up(special, &own, &base))
                        .filter_map(|special| within(table, special, &folders, &span)),
                ),
                None => faults.push(
                    Fault::at(
                        &span,
                        "a route with a preset must match everything of an application",
                    )
                    .instead("match its folder: `path = \"/blog/*\"`"),
                ),
            }
        }
        all.push(route);
    }
    all
}

/// Copies from `[defaults]` the keys that the preset would hide.
fn inherit<'i>(route: &mut DeTable<'i>, defaults: Option<&DeTable<'i>>, base: &DeTable<'_>) {
    for (name, value) in defaults.into_iter().flatten() {
        let name_text = name.get_ref().as_ref();
        if base.contains_key(name_text) && !route.contains_key(name_text) {
            route.insert(name.clone(), value.clone());
        }
    }
}

/// Returns `route` with the keys of `special`, a route of the preset. It matches what both match.
fn within<'i>(
    route: &DeTable<'i>,
    special: DeTable<'i>,
    folders: &[String],
    span: &Range<usize>,
) -> Option<Spanned<DeValue<'i>>> {
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
            let path = path.strip_prefix(BEGIN).unwrap_or(path);
            folders.iter().map(move |folder| match folder.as_str() {
                "" => word(format!("{BEGIN}{path}"), span),
                folder => {
                    let folder = regex::escape(&normal(folder));
                    word(format!("{BEGIN}(?-i:{folder}){path}"), span)
                }
            })
        });
        *paths = Spanned::new(span.clone(), DeValue::Array(moved.collect()));
    }
    Some(Spanned::new(span.clone(), DeValue::Table(made)))
}

/// The folders that a route's paths cover, without the slash at the end. `None` if the route matches single paths or
/// patterns.
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

/// The members of a list of texts, or a single text without brackets.
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
