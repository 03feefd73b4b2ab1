//! Finds the published pages that a purge covers. In cases of doubt it finds more: a page too many costs one request.

use super::manifest::Page;
use crate::crawl::site::Site;
use proxy::marks;
use rules::key::{self, ParamPattern, QueryChoice};
use store::purge::{Address, On, Pattern, Purge, What};

/// The most names of parameters of which every choice is tried. Each more doubles the work.
const TRIED: usize = 6;

/// The pages that a purge covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Covered {
    /// These pages, which may be none.
    Pages(Vec<String>),
    /// All pages, and whatever else the site has.
    Everything,
}

/// What is known of the site's name, to compare with purges.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The site.
    pub site: &'a Site,
    /// Whether the site's name was given. If not, purges of any host cover the site.
    pub is_sure: bool,
}

impl Named<'_> {
    /// Whether a purge that names `host` is for this site. Keys without a host belong to every site.
    fn is(&self, host: &str) -> bool {
        !self.is_sure || host.is_empty() || host == self.site.host()
    }
}

/// Returns the pages that `purge` covers.
pub fn covered<'a>(
    purge: &Purge,
    named: Named<'_>,
    pages: impl Iterator<Item = (&'a String, &'a Page)>,
) -> Covered {
    let by = |is: &dyn Fn(&str, &Page) -> bool| {
        let all = pages.filter(|(target, page)| is(target, page));
        Covered::Pages(all.map(|(target, _)| target.clone()).collect())
    };
    match &purge.what {
        What::Everything => Covered::Everything,
        What::Host(host) if named.is(host) => Covered::Everything,
        What::Host(_) => Covered::Pages(Vec::new()),
        What::Url(urls) => {
            let addresses: Vec<_> = urls.iter().map(|url| Address::of(url.as_bytes())).collect();
            by(&|target, _| {
                let mut ours = addresses.iter().filter(|address| named.is(address.host));
                ours.any(|address| is_one(address.target, target))
            })
        }
        What::Prefix { host, path } => {
            if host.as_deref().is_some_and(|host| !named.is(host)) {
                return Covered::Pages(Vec::new());
            }
            // Keys may leave parameters out, or sort them.
            let path = path.split_once('?').map_or(path.as_str(), |(path, _)| path);
            by(&|target, _| target.starts_with(path))
        }
        What::Tags(tags) => by(&|_, page| tags.iter().any(|tag| has(page, named, tag))),
        What::Pattern(pattern) => {
            let needs_host = |(on, _)| matches!(on, On::Url | On::Host | On::Souin);
            if !named.is_sure && pattern.expressions().any(needs_host) {
                return Covered::Everything;
            }
            by(&|target, page| by_pattern(pattern, named.site.host(), target, page))
        }
    }
}

/// Whether `pattern` matches a page of `host`.
fn by_pattern(pattern: &Pattern, host: &str, target: &str, page: &Page) -> bool {
    let tags = page.tags.join(",");
    let kind = page.kind.as_deref().unwrap_or_default();
    let is = |scheme: &str, target: &str| {
        let url = format!("{scheme}://{host}{target}");
        let souin = Address {
            scheme,
            host,
            target,
        };
        let souin = souin.souin();
        pattern.matches(|on| match on {
            On::Url => &url,
            On::Host => host,
            On::Target => target,
            On::ContentType => kind,
            On::Tags => &tags,
            On::Souin => &souin,
            // Published files come from no pool of servers.
            On::Pool => "",
        })
    };
    let any = |target: &str| is("http", target) || is("https", target);
    if needs_target(pattern) {
        is_keyed(target, any)
    } else {
        any(target)
    }
}

/// Whether a page has the tag `name`, or is in the cache group that it stands for.
fn has(page: &Page, site: Named<'_>, name: &str) -> bool {
    match marks::group(name) {
        Some((host, group)) => site.is(host) && page.groups.iter().any(|of| of == group),
        None => page.tags.iter().any(|tag| tag == name),
    }
}

/// Whether `keyed`, the target in a key, may be the key of `target`: keys leave parameters out and sort them.
fn is_one(keyed: &str, target: &str) -> bool {
    let (keyed_path, keyed) = split(keyed);
    let (path, query) = split(target);
    let mut query: Vec<&str> = query.split('&').collect();
    let mut all = keyed.split('&').filter(|parameter| !parameter.is_empty());
    keyed_path == path
        && all.all(|parameter| {
            let at = query.iter().position(|of| *of == parameter);
            at.map(|at| query.swap_remove(at)).is_some()
        })
}

/// Whether it matters in which form a target is keyed.
fn needs_target(pattern: &Pattern) -> bool {
    let needs = |(on, _)| matches!(on, On::Url | On::Target | On::Souin);
    pattern.expressions().any(needs)
}

/// Whether `is` holds for a form in which `target` may be keyed, to match expressions: with all of its parameters or some
/// of them, as they are or sorted. With too many parameters to try all, it may.
fn is_keyed(target: &str, is: impl Fn(&str) -> bool) -> bool {
    let (path, query) = split(target);
    if query.is_empty() {
        return is(target);
    }
    let parameters = query.split('&');
    let mut names: Vec<&str> = parameters
        .map(|one| one.split_once('=').map_or(one, |(name, _)| name))
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.len() > TRIED {
        return true;
    }
    // Each bit stands for a name.
    (0..1_u32 << names.len()).any(|bits| {
        let names = names.iter().enumerate();
        let kept = names.filter(|(at, _)| bits >> at & 1 == 1);
        let kept =
            kept.map(|(_, name)| ParamPattern::Name(key::decoded(name.as_bytes()).collect()));
        let choice = QueryChoice::Only(kept.collect());
        [false, true]
            .into_iter()
            .any(|sort| match key::choose_query(Some(query), &choice, sort) {
                Some(query) => is(&format!("{path}?{query}")),
                None => is(path),
            })
    })
}

fn split(target: &str) -> (&str, &str) {
    target.split_once('?').unwrap_or((target, ""))
}

#[cfg(test)]
mod tests;
