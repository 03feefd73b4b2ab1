//! The routes that a request would take if an origin reads its path, its query or the names of its cookies differently,
//! or takes its method from the query.

use super::{Cookies, Matcher, Subject, any_cookie_is, choose, has_special_name, scripts};
use crate::policy::{Route, Routes};
use http::Method;
use rules::key;
use std::iter;

/// A path as some origin may read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    path: String,
    /// The index of the route that it leads to.
    pub(super) route: usize,
}

/// Returns the index of the route that a request takes, and whether an origin may take it for one of another route: the
/// first that matches, or one that refuses the request as some origin may read its path and query, or the script that
/// the path runs. What a route is chosen by that only some origins read so is not kept on it.
#[inline]
pub fn take(routes: &Routes, subject: &Subject<'_>) -> (usize, bool) {
    let route = choose(routes, subject);
    let readings = readings(routes, subject);
    let is_ambiguous = is_ambiguous(routes, &readings, route, subject.path);
    let refusing = is_ambiguous.then(|| refusing(routes, &readings)).flatten();
    let refusing = refusing.or_else(|| scripts::refusing(routes, subject, route));
    let is_ambiguous = is_ambiguous || is_by_reading(routes.get(route), subject);
    (refusing.unwrap_or(route), is_ambiguous)
}

/// Whether no cookie of the request has led to the `route` but one that only some applications read so. Nothing is kept
/// on some routes anyway.
fn is_by_reading(route: Option<&Route>, subject: &Subject<'_>) -> bool {
    route.is_some_and(|route| {
        let cookies = &route.matcher.cookies;
        route.policy.cache && !cookies.is_empty() && !any_cookie_is(cookies, subject.fields)
    })
}

/// Returns the other readings of the subject: of its path, of its query, and of its method as the query names it. Empty
/// if one route is for all of them.
fn readings(routes: &Routes, subject: &Subject<'_>) -> Vec<Reading> {
    if let [only] = &**routes
        && only.policy.bypass.paths.is_empty()
    {
        // The only route is taken, however the path is read.
        return Vec::new();
    }
    let mut paths = key::readings(subject.path);
    let (otherwise, methods) = (is_read_otherwise(routes, subject), named(routes, subject));
    let mut all = Vec::new();
    if !paths.is_empty() {
        all.extend(lead_to(routes, subject, &paths, judge(subject)));
    }
    if otherwise || !methods.is_empty() {
        paths.push(subject.path.to_owned());
    }
    if otherwise {
        all.extend(lead_to(routes, subject, &paths, judge_otherwise(subject)));
    }
    for method in &methods {
        let subject = Subject { method, ..*subject };
        all.extend(lead_to(routes, &subject, &paths, judge(&subject)));
    }
    all
}

/// Returns where each of these `paths` in place of the subject's leads. `suits` is as for [`choose_each`].
pub(super) fn lead_to(
    routes: &Routes,
    subject: &Subject<'_>,
    paths: &[String],
    suits: impl Fn(&Matcher) -> bool,
) -> Vec<Reading> {
    let of_path = |path| Subject { path, ..*subject };
    let subjects: Vec<_> = paths.iter().map(|path| of_path(path)).collect();
    let chosen = choose_each(routes, &subjects, suits);
    let all = paths.iter().cloned().zip(chosen);
    all.map(|(path, route)| Reading { path, route }).collect()
}

/// Returns the other methods for which the subject may be taken: each that is well known, or a route's, once.
fn named(routes: &[Route], subject: &Subject<'_>) -> Vec<Method> {
    let is_of_route = |method: &Method| {
        let mut methods = routes.iter().flat_map(|route| &route.matcher.methods);
        methods.any(|known| known == method)
    };
    let query = subject.query.map(key::spell_units);
    let mut named = Vec::new();
    for method in methods_named(query.as_deref()) {
        let is_known = METHODS.contains(&method) || is_of_route(&method);
        if is_known && method != subject.method && !named.contains(&method) {
            named.push(method);
        }
    }
    named
}

/// Returns the methods that a query names in `_method`, where Rails, Laravel, Symfony, Express and WordPress may look for
/// one. PHP reads the name in other spellings too.
fn methods_named(query: Option<&str>) -> impl Iterator<Item = Method> {
    let query = query.filter(|query| query.contains("method"));
    let parameters = query.into_iter().flat_map(|query| query.split(['&', ';']));
    parameters.filter_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        // PHP ends the name at a zero byte.
        let name = key::decoded(name.as_bytes()).take_while(|byte| *byte != 0);
        let name: Vec<u8> = name.collect();
        if !matches!(name.trim_ascii(), [b'_' | b'.' | b'[', rest @ ..] if rest == b"method") {
            return None;
        }
        let value: Vec<u8> = key::decoded(value.as_bytes()).collect();
        Method::from_bytes(&value.trim_ascii().to_ascii_uppercase()).ok()
    })
}

/// Whether an origin may read the subject's query in a way that makes a difference to a route.
fn is_read_otherwise(routes: &[Route], subject: &Subject<'_>) -> bool {
    let looks = |route: &Route| !route.matcher.query.is_empty();
    has_special_name(subject.query) && routes.iter().any(looks)
}

/// Whether an origin with one of these `readings` would take the `path` for one of another route than `route`, or for one
/// of the paths that bypass the store. Not if it bypasses the store as it is, which is the plainer reason.
fn is_ambiguous(routes: &[Route], readings: &[Reading], route: usize, path: &str) -> bool {
    let chosen = routes.get(route);
    readings.iter().any(|reading| {
        let passes_by = |route: &Route| {
            let paths = &route.policy.bypass.paths;
            paths.matches(&reading.path) && !paths.matches(path)
        };
        reading.route != route || chosen.is_some_and(passes_by)
    })
}

/// Returns the route that refuses the request in one of these `readings` of its path, if any.
fn refusing(routes: &[Route], readings: &[Reading]) -> Option<usize> {
    let mut led_to = readings.iter().map(|reading| reading.route);
    led_to.find(|index| refuses(routes, *index))
}

pub(super) fn refuses(routes: &[Route], index: usize) -> bool {
    let route = routes.get(index);
    route.is_some_and(|route| route.policy.refuses.is_some())
}

/// The methods that applications know best. All methods are forwarded except `CONNECT`; `TRACE` is not offered.
const METHODS: [Method; 7] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

/// Returns the best-known methods that no route refuses for the subject, whatever its own method, in any reading that
/// an origin may have of its path and query.
pub fn unrefused(routes: &Routes, subject: &Subject<'_>) -> Vec<Method> {
    let others = key::readings(subject.path);
    let paths: Vec<&str> = iter::once(subject.path)
        .chain(others.iter().map(String::as_str))
        .collect();
    let with_method = |method| {
        let paths = paths.iter();
        paths.map(move |path| Subject {
            path,
            method,
            ..*subject
        })
    };
    let subjects: Vec<_> = METHODS.iter().flat_map(with_method).collect();
    let chosen = choose_each(routes, &subjects, judge(subject));
    let otherwise = if is_read_otherwise(routes, subject) {
        choose_each(routes, &subjects, judge_otherwise(subject))
    } else {
        chosen.clone()
    };
    let refuses = |index: &usize| refuses(routes, *index);
    let of_methods = chosen
        .chunks(paths.len())
        .zip(otherwise.chunks(paths.len()));
    let methods = METHODS.into_iter().zip(of_methods);
    let unrefused = methods.filter(|(_, (chosen, otherwise))| {
        let mut all = chosen.iter().chain(otherwise.iter());
        !all.any(refuses)
    });
    unrefused.map(|(method, _)| method).collect()
}

/// Returns whether a route's conditions hold for the subject, except those on host, path and method.
pub(super) fn judge(subject: &Subject<'_>) -> impl Fn(&Matcher) -> bool {
    let cookies = Cookies::of(subject.fields);
    move |matcher| matcher.matches_but_target(subject, &cookies)
}

/// As [`judge`], where the application gives parameters the other names that it may.
fn judge_otherwise(subject: &Subject<'_>) -> impl Fn(&Matcher) -> bool {
    let cookies = Cookies::of(subject.fields);
    move |matcher| matcher.may_match_but_target(subject, &cookies)
}

/// As [`choose`] for each of `subjects`, which differ only in path and method. The other conditions of
/// each route are judged at most once, by `suits`, since that may take long.
fn choose_each(
    routes: &Routes,
    subjects: &[Subject<'_>],
    suits: impl Fn(&Matcher) -> bool,
) -> Vec<usize> {
    let mut chosen = vec![None; subjects.len()];
    let host = subjects.first().map_or("", |subject| subject.host);
    for (index, Route { matcher, .. }) in routes.candidates(host) {
        if chosen.iter().all(Option::is_some) {
            break;
        }
        let mut is_suited = None;
        for (subject, chosen) in subjects.iter().zip(&mut chosen) {
            if chosen.is_none()
                && matcher.matches_target(subject)
                && *is_suited.get_or_insert_with(|| suits(matcher))
            {
                *chosen = Some(index);
            }
        }
    }
    let last = routes.len().saturating_sub(1);
    let chosen = chosen.into_iter();
    chosen.map(|index| index.unwrap_or(last)).collect()
}

#[cfg(test)]
mod tests;
