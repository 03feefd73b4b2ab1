//! Puts the content of presets in place of their names.
//!
//! What the user writes takes precedence key by key, also within `stale`, `key` and similar tables. The lists in
//! `bypass` are joined, so that an addition does not remove a protection. The preset's routes come after the user's,
//! but before a route that matches everything.

mod document;
mod route;
mod special;
mod under;

use super::{key, word};
use crate::config::{
    Fault, meant,
    written::{self, Preset},
};
use document::{preset_of, put_routes, said, take_routes};
use route::on_routes;
use serde::Deserialize;
use special::filled_up;
use std::ops::Range;
use toml::{
    Spanned,
    de::{DeTable, DeValue, Deserializer},
};
use under::{TABLES, under, under_all};

/// Puts the content of presets into `document` and returns whether there was one. The names of the presets stay, and
/// their content takes the place of the name. An unknown name is left for later stages to report.
pub(in crate::config) fn expand(document: &mut DeTable<'_>, faults: &mut Vec<Fault>) -> bool {
    let default = document
        .get("defaults")
        .and_then(|defaults| preset_of(defaults.get_ref()));
    let mut routes = take_routes(document);
    let own: Vec<_> = routes
        .iter()
        .map(|route| preset_of(route.get_ref()))
        .collect();
    if default.is_none() && own.iter().all(Option::is_none) {
        put_routes(document, routes);
        return false;
    }
    name_all(&mut routes);
    if let Some((preset, span)) = default {
        for (_, span) in own.iter().flatten() {
            faults.push(
                Fault::at(
                    span,
                    "the preset in `[defaults]` already applies to every route",
                )
                .instead("leave it out here, or write it on each route instead of in `[defaults]`"),
            );
        }
        everywhere(document, &mut routes, preset, &span);
    } else {
        routes = on_routes(document, routes, own, faults);
    }
    put_routes(document, routes);
    true
}

/// Puts the preset on which a preset's own `document` builds under that document.
pub(super) fn stack(document: &mut DeTable<'static>) {
    let Some(DeValue::Table(defaults)) = document.get_mut("defaults").map(Spanned::get_mut) else {
        return;
    };
    let table = DeValue::Table(defaults.clone());
    let Some((preset, span)) = preset_of(&table) else {
        return;
    };
    let (base, below) = said(preset, &span);
    under_all(defaults, &base);
    let mut routes = take_routes(document);
    routes.extend(below.into_iter().map(|route| whole(route, &span)));
    put_routes(document, routes);
}

/// Applies a preset to every route.
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
    let mut own = DeTable::default();
    if let Some(DeValue::Table(defaults)) = document.get_mut("defaults").map(Spanned::get_mut) {
        own = defaults.clone();
        under_all(defaults, &base);
    }
    let below = below.into_iter();
    let below = below.map(|special| whole(filled_up(special, &own, &base), span));
    let at = routes
        .iter()
        .position(matches_everything)
        .unwrap_or(routes.len());
    routes.splice(at..at, below);
}

fn whole<'i>(route: DeTable<'i>, span: &Range<usize>) -> Spanned<DeValue<'i>> {
    Spanned::new(span.clone(), DeValue::Table(route))
}

/// Names unnamed routes by their position, before other routes are inserted.
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
