//! What is allowed, but hardly meant.

use super::{Sink, matches_everything, routes::refuses};
use crate::config::{
    Fault,
    value::{Many, Text},
    written::{self, Defaults, TtlMode},
};
use http::header::AUTHORIZATION;
use proxy::{policy::PathPattern, purge_clients::is_ours};

/// A page that stands for all pages in a folder, and below it.
const SOME: &str = "some/page";

/// Warns of what is hardly meant in a configuration without faults.
pub(super) fn find(written: &written::Config, sink: &mut Sink<'_>) {
    let none = Defaults::default();
    let defaults = written.defaults.as_ref().unwrap_or(&none);
    let routes = || written.route.iter().flatten().map(|table| &table.value);
    let matched: Vec<_> = routes().filter_map(|route| route.path.as_ref()).collect();
    let policies = routes().map(|route| route.policy(defaults));
    let last = (!routes().any(matches_everything)).then(|| defaults.clone());
    let policies: Vec<_> = policies.chain(last).collect();
    let bypassed = policies.iter().filter_map(bypassed_paths);
    single_paths(matched.iter().copied().chain(bypassed), sink);
    if written.defaults.is_none() && !routes().any(reaches_beyond_home) {
        home_alone(&matched, sink);
    }
    for policy in &policies {
        keyed_credentials(policy, sink);
    }
    for route in routes() {
        refused_purges(route, defaults, sink);
    }
}

/// Warns of a route that is to refuse requests for Larder itself. Of several methods, the first is named.
fn refused_purges(route: &written::Route, defaults: &Defaults, sink: &mut Sink<'_>) {
    if route.policy(defaults).refuse.is_none() {
        return;
    }
    let mut methods = route.method.iter().flat_map(|methods| &methods.list);
    if let Some(Text { value, span }) = methods.find(|method| is_ours(&method.value)) {
        let what = format!(
            "`refuse` has no effect on `{value}`: it is for Larder itself, whatever the routes say"
        );
        let instead = "write under `[purge]` who may purge: with `allow = []` and without `secret`, nobody may";
        sink.warn(Fault::at(span, what).instead(instead));
    }
}

fn bypassed_paths(policy: &Defaults) -> Option<&Paths> {
    policy.bypass.as_ref()?.value.paths.as_ref()
}

type Paths = Many<Text<PathPattern>>;

/// Warns of a path such as `/admin/`, which in nginx is a prefix. Where another pattern is about what lies below it, or
/// a list names several, as for a site whose pages end so, the author knows the difference.
fn single_paths<'a>(lists: impl Iterator<Item = &'a Paths>, sink: &mut Sink<'_>) {
    let lists: Vec<_> = lists.map(|paths| &paths.list).collect();
    let all = || lists.iter().copied().flatten();
    let is_alone = |list: &&Vec<Text<PathPattern>>| {
        let folders = list.iter().filter(|one| names_folder(&one.value));
        folders.count() == 1
    };
    for Text { value, span } in lists.iter().copied().filter(is_alone).flatten() {
        let PathPattern::Exact(path) = value else {
            continue;
        };
        let Some((folder, _)) = path
            .strip_suffix('/')
            .and_then(|path| path.rsplit_once('/'))
        else {
            continue;
        };
        let (below, beside) = (format!("{path}{SOME}"), format!("{folder}/{SOME}"));
        let is_below = |one: &PathPattern| one.matches(&below) && !one.matches(&beside);
        if all().any(|other| is_below(&other.value) || speaks_of(&other.value, path)) {
            continue;
        }
        let what = format!("`{path}` matches this path alone, and nothing below it");
        let alone = if is_plain(path) {
            format!(", or `~ {path}` if it alone is meant")
        } else {
            String::new()
        };
        let instead = format!("write `{path}*` for all that begins with it{alone}");
        sink.warn(Fault::at(span, what).instead(instead));
    }
}

fn names_folder(pattern: &PathPattern) -> bool {
    matches!(pattern, PathPattern::Exact(path) if path.ends_with('/'))
}

/// Whether it is a pattern in which this path is written.
fn speaks_of(pattern: &PathPattern, path: &str) -> bool {
    match pattern {
        PathPattern::Exact(_) => false,
        PathPattern::Prefix(prefix) => prefix.len() > path.len() && prefix.starts_with(path),
        PathPattern::Wildcard(pattern) | PathPattern::Regex(pattern) => {
            pattern.as_str().contains(path)
        }
    }
}

/// Whether it means the same as a regular expression.
fn is_plain(path: &str) -> bool {
    let mut bytes = path.bytes();
    bytes.all(|byte| byte.is_ascii_alphanumeric() || b"/-_%".contains(&byte))
}

/// Whether the route matches more than some folders of a site.
fn reaches_beyond_home(route: &written::Route) -> bool {
    let paths = route.path.iter().flat_map(|paths| &paths.list);
    let some = format!("/{SOME}");
    route.path.is_none() || paths.into_iter().any(|path| path.value.matches(&some))
}

/// Warns of `/`, which in nginx is every path.
fn home_alone(matched: &[&Paths], sink: &mut Sink<'_>) {
    for Text { value, span } in matched.iter().flat_map(|paths| &paths.list) {
        if matches!(value, PathPattern::Exact(path) if path == "/") {
            let what = "`/` matches the home page alone";
            let instead = "write `/*` for every path, or `~ /` if the home page alone is meant";
            sink.warn(Fault::at(span, what).instead(instead));
        }
    }
}

/// Warns of `Authorization` in the key where lifetimes are forced: neither makes storable what is for its client alone
/// (RFC 9111 section 3.5).
fn keyed_credentials(policy: &Defaults, sink: &mut Sink<'_>) {
    let mode = policy.ttl_mode.as_ref().map(|mode| mode.value);
    let is_forced = policy.ttl.is_some() && matches!(mode, Some(TtlMode::Override));
    let stores = policy.cache.unwrap_or(true) && !refuses(policy);
    if !is_forced || !stores || bypasses_credentials(policy) {
        return;
    }
    let keyed = policy.key.iter().filter_map(|key| key.headers.as_ref());
    let mut names = keyed.flat_map(|names| &names.list);
    if let Some(name) = names.find(|name| name.value.0 == AUTHORIZATION) {
        let what = "an answer to a request with `Authorization` is stored only if it says `public`: \
                    neither the key nor `ttl_mode = \"override\"` changes that";
        let instead = "write `bypass.headers = [\"Authorization\"]` instead; or have the application say `public`, \
                       with `Vary: Authorization` for other caches";
        sink.warn(Fault::at(&name.span, what).instead(instead));
    }
}

/// Whether every request with `Authorization` bypasses the store.
fn bypasses_credentials(policy: &Defaults) -> bool {
    let bypass = policy
        .bypass
        .iter()
        .flat_map(|bypass| &bypass.value.headers);
    let mut headers = bypass.flat_map(|headers| &headers.list);
    headers.any(|header| header.value.name == AUTHORIZATION && header.value.value.is_none())
}
