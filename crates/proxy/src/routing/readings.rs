//! Which routes origins may take a request for that read its path otherwise.

use super::{Cookies, Matcher, Subject};
use crate::policy::Route;
use http::Method;
use rules::key;
use std::iter;

/// A path as some origin may read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    path: String,
    /// The index of the route that it leads to.
    route: usize,
}

/// The other readings of the subject's path. None where one route is for all of them.
pub fn readings(routes: &[Route], subject: &Subject<'_>) -> Vec<Reading> {
    if let [only] = routes
        && only.policy.bypass.paths.is_empty()
    {
        // However it is read.
        return Vec::new();
    }
    let paths = key::readings(subject.path);
    let of_path = |path| Subject { path, ..*subject };
    let subjects: Vec<_> = paths.iter().map(|path| of_path(path)).collect();
    let chosen = choose_each(routes, &subjects, judge(subject));
    let all = paths.into_iter().zip(chosen);
    all.map(|(path, route)| Reading { path, route }).collect()
}

/// Whether an origin that has one of these `readings` would have the path on another route than `route`, or among the paths that bypass
/// the store.
pub fn is_ambiguous(routes: &[Route], readings: &[Reading], route: usize) -> bool {
    let chosen = routes.get(route);
    readings.iter().any(|reading| {
        let passes_by = |route: &Route| route.policy.bypass.paths.matches(&reading.path);
        reading.route != route || chosen.is_some_and(passes_by)
    })
}

/// The route that refuses requests to which the path leads in one of these `readings`.
pub fn refusing<'a>(routes: &'a [Route], readings: &[Reading]) -> Option<(usize, &'a Route)> {
    readings.iter().find_map(|reading| {
        let route = routes.get(reading.route)?;
        route
            .policy
            .refuses
            .is_some()
            .then_some((reading.route, route))
    })
}

/// The methods that applications know best, of those that are passed on, which are all but `CONNECT`. `TRACE` is not offered.
const METHODS: [Method; 7] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

/// The best known methods that no route refuses for the subject, whatever its own, in any reading that an origin may have of its path.
pub fn unrefused(routes: &[Route], subject: &Subject<'_>) -> Vec<Method> {
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
    let refuses = |index: &usize| {
        let route = routes.get(*index);
        route.is_some_and(|route| route.policy.refuses.is_some())
    };
    let methods = METHODS.into_iter().zip(chosen.chunks(paths.len()));
    let unrefused = methods.filter(|(_, chosen)| !chosen.iter().any(refuses));
    unrefused.map(|(method, _)| method).collect()
}

/// Whether all that a route asks of the subject beside host, path and method holds.
fn judge(subject: &Subject<'_>) -> impl Fn(&Matcher) -> bool {
    let cookies = Cookies::of(subject.fields);
    move |matcher| matcher.matches_but_target(subject, &cookies)
}

/// As [`choose`](super::choose) for each of `subjects`, which differ in path and method alone. Beside these each route is judged once at
/// most, by `suits`: what it asks may take long to find.
fn choose_each(
    routes: &[Route],
    subjects: &[Subject<'_>],
    suits: impl Fn(&Matcher) -> bool,
) -> Vec<usize> {
    let mut chosen = vec![None; subjects.len()];
    for (index, Route { matcher, .. }) in routes.iter().enumerate() {
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
