//! The parts of a document that presets are about: the names of presets, and the routes.

use crate::config::{presets::key, written::Preset};
use std::{mem, ops::Range};
use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue},
};

/// Returns the content of a preset: its defaults and its routes, all with the place `span`.
pub(super) fn said(
    preset: Preset,
    span: &Range<usize>,
) -> (DeTable<'static>, Vec<DeTable<'static>>) {
    let mut document = moved(preset.document(), span);
    let routes = take_routes(&mut document).into_iter();
    let routes = routes.filter_map(|route| match route.into_inner() {
        DeValue::Table(route) => Some(route),
        _ => None,
    });
    let base = match document.remove("defaults").map(Spanned::into_inner) {
        Some(DeValue::Table(base)) => base,
        _ => DeTable::default(),
    };
    (base, routes.collect())
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

/// Returns the preset that a table names, if it is a known one.
pub(super) fn preset_of(table: &DeValue<'_>) -> Option<(Preset, Range<usize>)> {
    let value = table.as_table()?.get("preset")?;
    let preset = Preset::named(value.get_ref().as_str()?)?;
    Some((preset, value.span()))
}

pub(super) fn take_routes<'i>(document: &mut DeTable<'i>) -> Vec<Spanned<DeValue<'i>>> {
    match document.get_mut("route").map(Spanned::get_mut) {
        Some(DeValue::Array(list)) => mem::replace(list, DeArray::<'i>::new())
            .into_iter()
            .collect(),
        _ => Vec::new(),
    }
}

pub(super) fn put_routes<'i>(document: &mut DeTable<'i>, routes: Vec<Spanned<DeValue<'i>>>) {
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
