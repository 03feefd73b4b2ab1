//! The names of routes: no two have the same, so that logs and messages say which one they mean.

use super::Sink;
use crate::config::{
    Fault,
    value::At,
    written::{self, Route},
};
use std::ops::Range;

/// The route that is always there, behind all others.
pub(super) const LAST: &str = "default";

/// A name, and where somebody wrote it.
struct Named<'a> {
    name: String,
    written: Option<&'a Range<usize>>,
}

/// The name of each route, in order. One that two routes would have is a fault; `has_last` says that [`LAST`] is among them.
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
    for (index, second) in all.iter().enumerate() {
        let first = all.iter().take(index).find(|one| one.name == second.name);
        if let Some(first) = first {
            let what = match second.written {
                Some(_) => format!("a second route is called `{}`", second.name),
                None => format!(
                    "`{}` is what a route is called that has no name of its own",
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

fn named<'a>((table, number): (&&'a At<Route>, usize)) -> Named<'a> {
    match &table.value.name {
        // A name that a preset made stands where the route does.
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

/// A name like this one that is free.
pub(super) fn free(name: &str, is_free: impl Fn(&str) -> bool) -> String {
    let like = |number: u32| format!("{name}-{number}");
    let mut all = (2..).map(like);
    all.find(|like| is_free(like)).unwrap_or_else(|| like(2))
}
