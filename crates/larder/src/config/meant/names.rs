//! The names of routes. Each is different, so that logs and messages are unambiguous.

use super::Sink;
use crate::config::{
    Fault,
    value::{At, quoted},
    written::{self, Route},
};
use std::ops::Range;

/// The last route, which always exists.
pub(super) const LAST: &str = "default";

/// A name, and its place if it was written.
struct Named<'a> {
    name: String,
    written: Option<&'a Range<usize>>,
}

/// Returns the name of each route, in order. A name used twice is a fault. `has_last`: [`LAST`] is among them.
pub(super) fn of_all(
    written: &written::Config,
    has_last: bool,
    sink: &mut Sink<'_>,
) -> Vec<String> {
    let tables: Vec<&At<Route>> = written.route.iter().flatten().collect();
    let mut all: Vec<Named<'_>> = tables.iter().zip(1..).map(named).collect();
    if has_last {
        all.push(Named {
            name: LAST.to_owned(),
            written: None,
        });
    }
    for Named { name, written } in &all {
        if let Some(span) = written {
            readable(name, span, "pages", sink);
        }
    }
    for (index, second) in all.iter().enumerate() {
        let first = all.iter().take(index).find(|one| one.name == second.name);
        if let Some(first) = first {
            let what = match second.written {
                Some(_) => format!("two routes have the name `{}`", second.name),
                None => format!(
                    "`{}` is the name that Larder gives to a route without one",
                    second.name
                ),
            };
            let is_free = |name: &str| all.iter().all(|named| named.name != name);
            let instead = format!("write `name = {:?}`", free(&second.name, is_free));
            match second.written.or(first.written) {
                Some(span) => sink.push(Fault::at(span, what).instead(instead)),
                None => sink.missing(&["name"], Fault::anywhere(what).instead(instead)),
            }
        }
    }
    all.into_iter().map(|named| named.name).collect()
}

/// Reports a name that a line of a log could not show. `example` is one that could stand for it.
pub(super) fn readable(name: &str, span: &Range<usize>, example: &str, sink: &mut Sink<'_>) {
    let parts = name.split(char::is_control).filter(|part| !part.is_empty());
    let clean = parts.collect::<Vec<_>>().join("-");
    if clean == name && !name.is_empty() {
        return;
    }
    let what = if name.is_empty() {
        "the name is empty"
    } else {
        "a name has no line breaks or other control characters"
    };
    let meant = if clean.is_empty() { example } else { &clean };
    sink.push(Fault::at(span, what).instead(format!("write `name = {}`", quoted(meant))));
}

fn named<'a>((table, number): (&&'a At<Route>, usize)) -> Named<'a> {
    match &table.value.name {
        // A name made by a preset has the place of the route.
        Some(At { value, span }) => Named {
            name: value.clone(),
            written: (*span != table.span).then_some(span),
        },
        None => Named {
            name: format!("route-{number}"),
            written: None,
        },
    }
}

/// Returns a name like this one that is free.
pub(super) fn free(name: &str, is_free: impl Fn(&str) -> bool) -> String {
    let like = |number: u32| format!("{name}-{number}");
    let mut all = (2..).map(like);
    all.find(|like| is_free(like)).unwrap_or_else(|| like(2))
}
