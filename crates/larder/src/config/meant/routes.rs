//! The routes, each with its policy, and a last one that matches everything.

use super::{Sink, matchers, names, origins::Origins, policy};
use crate::config::{
    Fault,
    keys::{join, nearest},
    value::At,
    written::{self, Defaults},
};
use origin::Origin;
use proxy::{
    policy::{Matcher, Policy, Route},
    routing,
};
use std::{collections::BTreeSet, ops::Range, sync::Arc};

/// Builds the routes. A body larger than `largest_body` is a fault; one larger than `in_force` is not stored as long as
/// this program runs.
pub(super) fn build(
    written: &written::Config,
    origins: &Origins,
    (largest_body, in_force): (u64, u64),
    sink: &mut Sink<'_>,
) -> Vec<Route> {
    let none = Defaults::default();
    let defaults = written.defaults.as_ref().unwrap_or(&none);
    let tables = || written.route.iter().flatten();
    let mut routes: Vec<Route> = Vec::new();
    policy::contradictions(defaults, largest_body, sink);
    let has_lifetime =
        defaults.ttl.is_some() || tables().any(|table| table.value.policy(&none).ttl.is_some());
    if !sink.may_say_under(&["route"], &["ttl"]) {
        policy::without_effect(defaults, has_lifetime, sink);
    }
    let stores = |cache: Option<bool>| cache.or(defaults.cache).unwrap_or(true);
    if !stores(None) && !tables().any(|table| stores(table.value.cache)) {
        policy::stores_nothing(defaults, None, sink);
    }
    let mut everything: Option<String> = None;
    // What earlier routes certainly match.
    let mut whole: Vec<(String, Matcher)> = Vec::new();
    let has_last = !tables().any(|table| matchers::everything(&matchers::build(&table.value)));
    let names = names::of_all(written, has_last, sink);
    for (table, name) in tables().zip(names) {
        matchers::empty_lists(&table.value, sink);
        let mut matcher = matchers::build(&table.value);
        match &everything {
            Some(earlier) => sink.push(behind(&table.span, earlier)),
            None => covered(table, &matcher, &whole, sink),
        }
        // A matcher that could not be read would restrict the route.
        let is_whole = !sink.may_say(&table.span, &matchers::KEYS);
        if is_whole && matchers::everything(&matcher) {
            everything.get_or_insert_with(|| name.clone());
            matcher = Matcher::default();
        } else if is_whole {
            whole.push((name.clone(), matcher.clone()));
        }
        let own = table.value.policy(&none);
        policy::contradictions(&own, largest_body, sink);
        if !stores(own.cache) {
            policy::stores_nothing(&own, Some(&table.span), sink);
        }
        let merged = table.value.policy(defaults);
        together(&own, &merged, defaults, &table.span, sink);
        let called = table.value.name.as_ref().map(|name| name.value.as_str());
        let (names, span) = ((name, called), Some(&table.span));
        routes.extend(route(
            names, matcher, &merged, span, origins, in_force, sink,
        ));
    }
    if everything.is_none() {
        policy::hosts_together(defaults, sink);
        policy::codings_together(defaults, sink);
        policy::scheme_told(defaults, None, sink);
        policy::groups_keyed(defaults, sink);
        let names = (names::LAST.to_owned(), None);
        let all = Matcher::default();
        routes.extend(route(names, all, defaults, None, origins, in_force, sink));
    }
    routes
}

/// Reports what a route's `own` keys mean beside those of the `defaults`, `merged`.
fn together(
    own: &Defaults,
    merged: &Defaults,
    defaults: &Defaults,
    route: &Range<usize>,
    sink: &mut Sink<'_>,
) {
    let may_say = |sink: &Sink<'_>, key| {
        sink.may_say(route, &[key]) || sink.may_say_under(&["defaults"], &[key])
    };
    if !may_say(sink, "ttl") {
        policy::without_effect(own, merged.ttl.is_some(), sink);
    }
    if !may_say(sink, "origin_host") {
        policy::hosts_together(merged, sink);
    }
    if !may_say(sink, "compress") {
        policy::codings_together(merged, sink);
    }
    if !may_say(sink, "key") {
        let replaced = policy::replaces_scheme(own, defaults).then_some(route);
        policy::scheme_told(merged, replaced, sink);
        policy::groups_keyed(merged, sink);
    }
}

/// Returns the fault of a route behind one that matches everything.
fn behind(route: &Range<usize>, earlier: &str) -> Fault {
    let what = format!("never reached: the earlier route `{earlier}` matches every request");
    Fault::at(route, what).instead(format!("move `{earlier}` to the end"))
}

/// Reports a route that is never reached, because an earlier one matches everything that it does.
fn covered(
    table: &At<written::Route>,
    matcher: &Matcher,
    earlier: &[(String, Matcher)],
    sink: &mut Sink<'_>,
) {
    // A route of a preset has the place of the preset. A similar route may be before it, which is how a user overrides
    // it.
    let is_written = |span: &Range<usize>| *span != table.span;
    let path = table.value.path.as_ref();
    if path.is_some_and(|path| !is_written(&path.span)) {
        return;
    }
    let mut earlier = earlier.iter();
    if let Some((name, own)) = earlier.find(|(_, one)| matchers::covers(one, matcher)) {
        let what = format!("never reached: the earlier route `{name}` matches all its requests");
        let instead = if matchers::covers(matcher, own) {
            "leave out one of them".to_owned()
        } else {
            format!("move it before `{name}`")
        };
        sink.missing(
            &matchers::KEYS,
            Fault::at(&table.span, what).instead(instead),
        );
    }
}

/// The name of a route, and the one that the configuration gives it.
type Names<'a> = (String, Option<&'a str>);

fn route(
    (name, called): Names<'_>,
    matcher: Matcher,
    policy: &Defaults,
    span: Option<&Range<usize>>,
    origins: &Origins,
    largest_body: u64,
    sink: &mut Sink<'_>,
) -> Option<Route> {
    let origin = match &policy.r#try {
        Some(list) => in_turn(list, policy.origin.as_ref(), origins, sink)?,
        // No origin is asked.
        None if policy.origin.is_none() && refuses(policy) => any_of(origins)?,
        None => origin(policy.origin.as_ref(), span, origins, sink)?,
    };
    let digest = routing::digest(&matcher, &who_answers(policy, origins));
    let called = called.map(|name| format!(" {name}")).unwrap_or_default();
    let policy: Arc<Policy> = Arc::new(policy::build(policy, origin, largest_body));
    Some(Route {
        name,
        keyed: format!("{digest:016x}{called}"),
        matcher,
        policy,
    })
}

/// Whether requests are refused, so that no origin is asked.
pub(super) fn refuses(policy: &Defaults) -> bool {
    policy
        .refuse
        .as_ref()
        .is_some_and(|refusal| refusal.value.0.is_some())
}

/// Returns the names of the origins that answer, in turn.
fn who_answers<'a>(policy: &'a Defaults, origins: &'a Origins) -> Vec<&'a str> {
    match (&policy.r#try, &policy.origin) {
        (Some(list), _) => list.value.iter().map(|name| name.value.as_str()).collect(),
        (None, Some(name)) => vec![&name.value],
        (None, None) => origins
            .by_name
            .iter()
            .map(|(name, _)| name.as_str())
            .collect(),
    }
}

/// Returns the named origins as one.
fn in_turn(
    written: &At<Vec<At<String>>>,
    other: Option<&At<String>>,
    origins: &Origins,
    sink: &mut Sink<'_>,
) -> Option<Arc<Origin>> {
    let At { value: list, span } = written;
    if let Some(other) = other {
        sink.once(
            Fault::at(&other.span, "`origin` and `try` contradict each other")
                .instead("leave out one of them"),
        );
    }
    if let [] | [_] = list.as_slice() {
        let instead = match list.as_slice() {
            [only] => format!("write `origin = \"{}\"`", only.value),
            _ => "write `try = [\"static\", \"app\"]`".to_owned(),
        };
        sink.once(Fault::at(span, "`try` is for several origins").instead(instead));
        return None;
    }
    let mut all = Vec::with_capacity(list.len());
    for (index, name) in list.iter().enumerate() {
        if list
            .iter()
            .take(index)
            .any(|earlier| earlier.value == name.value)
        {
            let what = format!("`{}` is tried twice", name.value);
            sink.once(Fault::at(&name.span, what).instead("name it once"));
        }
        let origin = origin(Some(name), None, origins, sink);
        let is_last = index + 1 == list.len();
        if !is_last && origin.as_ref().is_some_and(|origin| origin.is_final()) {
            let what = format!(
                "origins after `{}` are never asked: it has servers, and their answer is final",
                name.value
            );
            sink.once(Fault::at(&name.span, what).instead("put folders and page stores before it"));
        }
        all.push(origin);
    }
    let all: Vec<_> = all.into_iter().flatten().collect();
    (all.len() == list.len()).then(|| Origin::first_of(all))
}

/// Returns the first origin.
fn any_of(origins: &Origins) -> Option<Arc<Origin>> {
    let (_, first) = origins.by_name.first()?;
    first.clone()
}

/// Returns the named origin, or the only one.
fn origin(
    written: Option<&At<String>>,
    route: Option<&Range<usize>>,
    origins: &Origins,
    sink: &mut Sink<'_>,
) -> Option<Arc<Origin>> {
    let known = || {
        let set: BTreeSet<_> = origins
            .by_name
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        set.into_iter()
    };
    match (written, origins.by_name.as_slice()) {
        (_, []) => None,
        (None, [(_, only)]) => only.clone(),
        (None, _) => {
            let fault = match route {
                Some(span) => Fault::at(span, "which origin answers here?")
                    .instead(format!("add `origin = …`: one of {}", join(known()))),
                // There are several tables, and none is chosen.
                None => Fault {
                    span: origins.last_table.clone(),
                    ..Fault::anywhere("which origin answers requests that no route matches?")
                }
                .instead(format!(
                    "write `origin = …` under `[defaults]` or in a last `[[route]]`: one of {}",
                    join(known())
                )),
            };
            // `[defaults]` or a last route could name it.
            let keys: &[&str] = route.map_or(&["defaults", "route"], |_| &["defaults"]);
            sink.missing_under(keys, &["origin", "try"], fault);
            None
        }
        (Some(At { value, span }), list) => {
            if let Some((_, origin)) = list.iter().find(|(name, _)| name == value) {
                return origin.clone();
            }
            let instead = match nearest(value, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("one of {}", join(known())),
            };
            // An origin whose name could not be read may have this name.
            if !sink.may_say_under(&["origin"], &["name"]) {
                let what = format!("no origin is called `{value}`");
                sink.once(Fault::at(span, what).instead(instead));
            }
            None
        }
    }
}
