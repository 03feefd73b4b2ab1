//! Paths that match less than their author may think: in nginx they are prefixes.

use super::{Sink, refuses};
use crate::config::{
    Fault,
    value::{Many, Text},
    written::{Defaults, Route},
};
use proxy::policy::PathPattern;

/// A page that stands for all pages in a folder, and below it.
const SOME: &str = "some/page";

/// Paths as they are written under one key.
pub(super) type Paths = Many<Text<PathPattern>>;

/// What the paths of one list are for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Requests for them are refused.
    Refused,
    /// Requests for them are kept from the store or from the other origin, or may come by HTTPS only: what lies below
    /// them would not be.
    Apart,
    /// Other settings, which a single page may have as well as a folder.
    Other,
}

impl Use {
    /// Returns what the route's paths are for. What the defaults say holds elsewhere too.
    fn of(route: &Route) -> Self {
        let own = route.policy(&Defaults::default());
        let is_apart = own.cache == Some(false)
            || own
                .redirect_https
                .as_ref()
                .is_some_and(|redirect| redirect.value)
            || own.origin.is_some()
            || own.r#try.is_some();
        if refuses(&own) && !is_choosy(route) {
            Self::Refused
        } else if is_apart && own.graphql.is_none() && !is_choosy(route) {
            Self::Apart
        } else {
            Self::Other
        }
    }
}

/// Whether the route is for some requests of its paths only. Then it is about these pages, and guards no folder.
fn is_choosy(route: &Route) -> bool {
    route.method.is_some()
        || route.header.is_some()
        || route.cookie.is_some()
        || route.query.is_some()
}

/// Warns of paths that hardly match all that is meant, in routes and in what `bypassed` lists.
pub(super) fn find<'a>(
    routes: &[&'a Route],
    bypassed: impl Iterator<Item = &'a Paths>,
    sink: &mut Sink<'_>,
) {
    let matched = routes.iter().filter_map(|route| {
        let paths = route.path.as_ref()?;
        Some((Use::of(route), paths))
    });
    let bypassed = bypassed.map(|paths| (Use::Apart, paths));
    let lists: Vec<_> = matched.chain(bypassed).collect();
    let all: Vec<_> = lists.iter().flat_map(|(_, paths)| &paths.list).collect();
    for one in &all {
        dotted(one, sink);
    }
    for (what_for, paths) in &lists {
        for one in suspects(*what_for, &paths.list) {
            single_path(one, &all, sink);
        }
    }
}

/// Returns the paths of a list that may be meant as prefixes. A list that names several of them beside a pattern was
/// written by somebody who knows the difference. But whoever refuses several folders means what they hold.
fn suspects(what_for: Use, list: &[Text<PathPattern>]) -> Vec<&Text<PathPattern>> {
    let folders = list.iter().filter(|one| names_folder(&one.value));
    let names = list.iter().filter(|one| names_no_file(&one.value, list));
    let [folders, names]: [Vec<_>; 2] = [folders.collect(), names.collect()];
    let is_pattern = |one: &Text<PathPattern>| !matches!(one.value, PathPattern::Exact(_));
    let has_pattern = list.iter().any(is_pattern);
    let unless_known = |paths: Vec<_>| {
        let is_known = has_pattern && paths.len() > 1;
        if is_known { Vec::new() } else { paths }
    };
    match what_for {
        Use::Refused => [folders, names].concat(),
        Use::Apart => [unless_known(folders), unless_known(names)].concat(),
        Use::Other => unless_known(folders),
    }
}

/// Warns of a path such as `/admin/.*`, which in an expression is everything in the folder.
fn dotted(Text { value, span }: &Text<PathPattern>, sink: &mut Sink<'_>) {
    let PathPattern::Prefix(prefix) = value else {
        return;
    };
    let Some(folder) = prefix.strip_suffix("/.").filter(|name| !name.is_empty()) else {
        return;
    };
    let what = format!("`{prefix}*` matches only what begins with a dot in `{folder}/`");
    let instead = format!(
        "write `{folder}/*` for all that is in it, or `~ {folder}/[.].*` if only such names are meant"
    );
    sink.warn(Fault::at(span, what).instead(instead));
}

fn names_folder(pattern: &PathPattern) -> bool {
    matches!(pattern, PathPattern::Exact(path) if path.ends_with('/'))
}

/// Whether it is a path such as `/admin`, with no extension as a file has. `/admin/` is not in the same list, which says
/// it already.
fn names_no_file(pattern: &PathPattern, list: &[Text<PathPattern>]) -> bool {
    let PathPattern::Exact(path) = pattern else {
        return false;
    };
    let Some((_, name)) = path.rsplit_once('/') else {
        return false;
    };
    let is_twin = |other: &PathPattern| matches!(other, PathPattern::Exact(other) if other.strip_suffix('/') == Some(path));
    !name.is_empty() && !has_extension(name) && !list.iter().any(|other| is_twin(&other.value))
}

/// Whether the name ends as a file's does: `feed.xml`, but not `v1.2`, and not `.git`.
fn has_extension(name: &str) -> bool {
    let ending = name.rsplit_once('.');
    ending.is_some_and(|(name, ending)| {
        !name.is_empty() && ending.starts_with(|first: char| first.is_ascii_alphabetic())
    })
}

/// Warns of a path such as `/admin` or `/admin/`, which in nginx is a prefix. Where another pattern is about what lies
/// below it, the author knows the difference.
fn single_path(
    Text { value, span }: &Text<PathPattern>,
    all: &[&Text<PathPattern>],
    sink: &mut Sink<'_>,
) {
    let PathPattern::Exact(path) = value else {
        return;
    };
    let name = path.strip_suffix('/').unwrap_or(path);
    let Some((folder, _)) = name.rsplit_once('/') else {
        return;
    };
    let (below, beside) = (format!("{name}/{SOME}"), format!("{folder}/{SOME}"));
    let is_below = |one: &PathPattern| one.matches(&below) && !one.matches(&beside);
    let mut others = all.iter().map(|other| &other.value);
    if others.any(|other| is_below(other) || speaks_of(other, &format!("{name}/"))) {
        return;
    }
    let what = format!("`{path}` matches this path alone, and nothing below it");
    let alone = if is_plain(path) {
        format!(", or write `~ {path}` if it alone is meant")
    } else {
        String::new()
    };
    let instead = if name == path {
        format!("add `{path}/*` for what lies below it{alone}")
    } else {
        format!("write `{path}*` for all that begins with it{alone}")
    };
    sink.warn(Fault::at(span, what).instead(instead));
}

/// Whether it is a pattern in which this folder is written.
fn speaks_of(pattern: &PathPattern, folder: &str) -> bool {
    match pattern {
        PathPattern::Exact(_) => false,
        PathPattern::Prefix(prefix) => prefix.len() > folder.len() && prefix.starts_with(folder),
        PathPattern::Wildcard(pattern) | PathPattern::Regex(pattern) => {
            pattern.as_str().contains(folder)
        }
    }
}

/// Whether it means the same as a regular expression.
fn is_plain(path: &str) -> bool {
    let mut bytes = path.bytes();
    bytes.all(|byte| byte.is_ascii_alphanumeric() || b"/-_%".contains(&byte))
}

/// Whether the route matches more than some folders of a site.
fn reaches_beyond_home(route: &Route) -> bool {
    let paths = route.path.iter().flat_map(|paths| &paths.list);
    let some = format!("/{SOME}");
    route.path.is_none() || paths.into_iter().any(|path| path.value.matches(&some))
}

/// Warns of `/`, which in nginx is every path, where no route matches other pages.
pub(super) fn home_alone(routes: &[&Route], sink: &mut Sink<'_>) {
    if routes.iter().any(|route| reaches_beyond_home(route)) {
        return;
    }
    let matched = routes.iter().filter_map(|route| route.path.as_ref());
    for Text { value, span } in matched.flat_map(|paths| &paths.list) {
        if matches!(value, PathPattern::Exact(path) if path == "/") {
            let what = "`/` matches the home page alone";
            let instead = "write `/*` for every path, or `~ /` if the home page alone is meant";
            sink.warn(Fault::at(span, what).instead(instead));
        }
    }
}
