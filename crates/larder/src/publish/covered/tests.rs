use super::*;
use std::{cell::RefCell, collections::BTreeMap};

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
fn each_choice_of_parameters_is_tried() {
    let tried = |target: &str| {
        let all = RefCell::new(Vec::new());
        let found = is_keyed(target, |form| {
            all.borrow_mut().push(form.to_owned());
            false
        });
        let mut all = all.into_inner();
        all.sort();
        all.dedup();
        (found, all.join(" "))
    };
    for (target, found, forms) in [
        ("/a", false, "/a"),
        ("/a?x=1", false, "/a /a?x=1"),
        (
            "/a?y=1&x&y=0",
            false,
            "/a /a?x /a?x&y=1&y=0 /a?y=1&x&y=0 /a?y=1&y=0",
        ),
        ("/a?a&b&c&d&e&f&g", true, ""),
    ] {
        assert_eq!(tried(target), (found, forms.to_owned()));
    }
    let (found, forms) = tried("/a?a&b&c&d&e&f");
    assert_eq!((found, forms.split(' ').count()), (false, 64));
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
        (
            pattern(On::Target, r"^/a\?x=1$"),
            "/a?y=2&x=1",
            "/a?y=2&x=1",
        ),
        (
            pattern(On::Target, r"^/a\?y=2$"),
            "/a?y=2&x=1",
            "/a?y=2&x=1",
        ),
        (pattern(On::Target, r"^/a\?z"), "", ""),
        (pattern(On::ContentType, "css"), "/b.css", "/b.css"),
        (pattern(On::Tags, "(^|,)p-"), "/a", "/a"),
        (What::Everything, "everything", "everything"),
    ] {
        assert_eq!(told(what.clone(), true), sure, "{what:?}");
        assert_eq!(told(what.clone(), false), unsure, "{what:?}, any host");
    }
}
