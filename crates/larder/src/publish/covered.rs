//! Finds the published pages that a purge covers. In cases of doubt it finds more: a page too many costs one request.

use super::manifest::Page;
use crate::crawl::site::Site;
use proxy::marks;
use rules::key::{self, QueryChoice};
use store::purge::{Address, On, Purge, What};

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
            by(&|target, page| {
                let tags = page.tags.join(",");
                let kind = page.kind.as_deref().unwrap_or_default();
                let is = |scheme: &str, target: &str| {
                    let host = named.site.host();
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
                let forms = keyed(target);
                forms
                    .iter()
                    .any(|target| is("http", target) || is("https", target))
            })
        }
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

/// The forms in which `target` may be keyed, to match expressions: as it is, with sorted parameters, without those that
/// track readers, and without any.
fn keyed(target: &str) -> Vec<String> {
    let (path, query) = split(target);
    let mut forms = vec![target.to_owned()];
    if !query.is_empty() {
        let untracked = QueryChoice::Except(key::tracking());
        for (choice, sort) in [
            (&QueryChoice::All, true),
            (&untracked, false),
            (&untracked, true),
        ] {
            let query = key::choose_query(Some(query), choice, sort);
            forms.extend(query.map(|query| format!("{path}?{query}")));
        }
        forms.push(path.to_owned());
    }
    forms
}

fn split(target: &str) -> (&str, &str) {
    target.split_once('?').unwrap_or((target, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use store::purge::Pattern;

    fn pages() -> BTreeMap<String, Page> {
        let page = |target: &str, tags: &[&str], kind: &str| {
            let page = Page {
                kind: Some(kind.to_owned()),
                tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
                groups: tags.iter().map(|&tag| format!("of {tag}")).collect(),
                ..Page::default()
            };
            (target.to_owned(), page)
        };
        BTreeMap::from([
            page("/", &["home"], "text/html"),
            page("/a", &["p-1", "home"], "text/html"),
            page("/a?y=2&x=1", &[], "text/html"),
            page("/b.css", &[], "text/css"),
        ])
    }

    fn told(what: What, is_sure: bool) -> String {
        let site = Site::new("127.0.0.1:1", Some("h.example")).expect("hosts");
        let named = Named {
            site: &site,
            is_sure,
        };
        match covered(&Purge::hard(what), named, pages().iter()) {
            Covered::Everything => "everything".to_owned(),
            Covered::Pages(pages) => pages.join(" "),
        }
    }

    #[test]
    fn purges_cover_pages() {
        let url = |url: &str| What::Url(vec![url.to_owned()]);
        let tags = |tags: &[&str]| What::Tags(tags.iter().map(|&tag| tag.to_owned()).collect());
        let host = |host: &str| What::Host(host.to_owned());
        let prefix = |host: Option<&str>, path: &str| What::Prefix {
            host: host.map(str::to_owned),
            path: path.to_owned(),
        };
        let pattern =
            |on, text| What::Pattern(Box::new(Pattern::default().with(on, text).expect("one")));
        for (what, sure, unsure) in [
            (url("//h.example/b.css"), "/b.css", "/b.css"),
            (url("//other/b.css"), "", "/b.css"),
            (url("///b.css"), "/b.css", "/b.css"),
            (url("//h.example/new"), "", ""),
            // Parameters may be sorted or left out in keys.
            (url("//h.example/a?x=1&y=2"), "/a?y=2&x=1", "/a?y=2&x=1"),
            (url("//h.example/a"), "/a /a?y=2&x=1", "/a /a?y=2&x=1"),
            (url("//h.example/a?z=3"), "", ""),
            (url("//h.example/a?x=1&x=1"), "", ""),
            (tags(&["home"]), "/ /a", "/ /a"),
            (tags(&["p-1", "none"]), "/a", "/a"),
            (tags(&["hom"]), "", ""),
            (tags(&["group https://h.example of p-1"]), "/a", "/a"),
            (tags(&["group http://other of p-1"]), "", "/a"),
            (tags(&["group http://h.example p-1"]), "", ""),
            (host("h.example"), "everything", "everything"),
            (host("other"), "", "everything"),
            (host(""), "everything", "everything"),
            (prefix(None, "/a"), "/a /a?y=2&x=1", "/a /a?y=2&x=1"),
            (prefix(Some("other"), "/a"), "", "/a /a?y=2&x=1"),
            (prefix(None, "/a?x"), "/a /a?y=2&x=1", "/a /a?y=2&x=1"),
            (
                pattern(On::Url, "^https://h.example/b"),
                "/b.css",
                "everything",
            ),
            (pattern(On::Target, r"\.css$"), "/b.css", "/b.css"),
            (
                pattern(On::Target, "^/a$"),
                "/a /a?y=2&x=1",
                "/a /a?y=2&x=1",
            ),
            (pattern(On::Target, "x=1&y=2"), "/a?y=2&x=1", "/a?y=2&x=1"),
            (pattern(On::ContentType, "css"), "/b.css", "/b.css"),
            (pattern(On::Tags, "(^|,)p-"), "/a", "/a"),
            (What::Everything, "everything", "everything"),
        ] {
            assert_eq!(told(what.clone(), true), sure, "{what:?}");
            assert_eq!(told(what.clone(), false), unsure, "{what:?}, any host");
        }
    }
}
