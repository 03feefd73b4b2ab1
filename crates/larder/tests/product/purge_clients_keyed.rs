//! Purges by clients of what a site keys in a way of its own, and of tags as applications write them.

use crate::common::{Said, counted, start_with};
use testkit::{Larder, Origin};

const SITE: &str = "
[[origin]]
servers = \"{origin}\"
[purge]
get_prefix = \"/purge\"
[[route]]
host = \"blog.example\"
path = \"/tracked*\"
key = { drop_tracking = true }
[[route]]
host = \"blog.example\"
key = { sort = true, query = [\"id\", \"page\"] }
[[route]]
";

/// A larder that has these targets of the blog, each tagged with what is behind the blank.
fn warm(stored: &[&str]) -> (Origin, Larder) {
    let (origin, larder) = start_with(SITE);
    origin.otherwise(|request| {
        let tags = request.header("x-tags").unwrap_or_default();
        counted(request)
            .cache("max-age=60")
            .header("Cache-Tags", tags)
    });
    for stored in stored {
        let (target, tags) = stored.split_once(' ').unwrap_or((stored, ""));
        let ask = larder.get(target).header("Host", "blog.example");
        ask.header("X-Tags", tags).send();
    }
    (origin, larder)
}

fn is_held(larder: &Larder, target: &str) -> bool {
    let ask = larder.get(target).header("Host", "blog.example");
    ask.header("Cache-Control", "only-if-cached").send().hit()
}

/// Whatever order and parameters the client writes, and by whichever name it calls the cache.
#[test]
fn queries_are_found_as_the_site_keys_them() {
    let asked = "/q?page=2&id=1&zz=1";
    for (method, target, host) in [
        ("PURGE", asked, "blog.example"),
        ("PURGE", asked, "127.0.0.1"),
        ("PURGE", asked, "localhost"),
        ("BAN", asked, "blog.example"),
        ("BAN", asked, "127.0.0.1"),
        ("PURGE", "/q?page=2*", "blog.example"),
        ("PURGE", "/q?page=2&id=1*", "127.0.0.1"),
    ] {
        let (_origin, larder) = warm(&[asked, "/other?page=2"]);
        assert!(is_held(&larder, asked));
        let purge = larder.ask(method, target).header("Host", host).send();
        assert_eq!(purge.status, 200, "{method} {target} {host}");
        assert!(!is_held(&larder, asked), "{method} {target} {host}");
        assert!(
            is_held(&larder, "/other?page=2"),
            "{method} {target} {host}"
        );
    }
}

/// What begins with the path is another page, and is purged with it only where no site is named.
#[test]
fn a_prefix_whose_query_is_not_keyed_is_its_path_alone_on_a_named_host() {
    for (target, page, other) in [
        ("/q?zz=1*", "/q", "/quiz"),
        ("/tracked?utm*", "/tracked", "/tracked2"),
    ] {
        for (host, named) in [("blog.example", true), ("127.0.0.1", false)] {
            for method in ["PURGE", "BAN"] {
                let (_origin, larder) = warm(&[page, other]);
                let purge = larder.ask(method, target).header("Host", host).send();
                assert_eq!(purge.status, 200, "{method} {target} {host}");
                assert!(!is_held(&larder, page), "{method} {target} {host}");
                assert_eq!(is_held(&larder, other), named, "{method} {target} {host}");
            }
        }
    }
}

/// Every path begins with that of the start page.
#[test]
fn a_prefix_whose_query_is_not_keyed_is_the_start_page_alone() {
    for host in ["blog.example", "127.0.0.1"] {
        let (_origin, larder) = warm(&["/", "/other"]);
        let purge = larder.ask("PURGE", "/?utm*").header("Host", host).send();
        assert_eq!(purge.status, 200, "{host}");
        assert!(!is_held(&larder, "/"), "{host}");
        assert!(is_held(&larder, "/other"), "{host}");
    }
}

/// They are no expressions, of which only so many may wait.
#[test]
fn prefixes_on_every_host_are_not_too_many() {
    let (_origin, larder) = warm(&[]);
    for number in 0..1100 {
        let purge = larder.ask("PURGE", &format!("/p{number}?utm*"));
        assert_eq!(purge.header("Host", "127.0.0.1").send().status, 200);
    }
}

/// Drupal's purger: bars, blanks or commas between tags in which no letter has a meaning.
#[test]
fn lists_of_tags_name_each_and_no_other() {
    for (list, gone) in [
        ("x+y|zz", &["x+y"][..]),
        ("node:1 | node:5", &["node:1", "node:5"]),
        ("node:5 node:1|x", &["node:1", "node:5"]),
        ("node:1|config:a.b", &["node:1", "config:a.b"]),
        ("node:1,node:5|x", &["node:1", "node:5"]),
    ] {
        let tags = [
            "x+y",
            "node:1",
            "node:5",
            "node:12",
            "config:a.b",
            "config:axb",
        ];
        let pages = tags.map(|tag| format!("/page?id={tag} {tag}"));
        let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
        let (_origin, larder) = warm(&pages);
        let ban = larder.ask("BAN", "/").header("Host", "blog.example");
        assert_eq!(ban.header("Cache-Tags", list).send().status, 200, "{list}");
        for tag in tags {
            let is_gone = !is_held(&larder, &format!("/page?id={tag}"));
            assert_eq!(is_gone, gone.contains(&tag), "{list}: {tag}");
        }
    }
}

/// The application loses these paths, however they are spelled.
#[test]
fn a_path_that_purges_does_so_in_every_spelling() {
    let (origin, larder) = warm(&["/a"]);
    assert!(is_held(&larder, "/a"));
    let purge = larder.get("/%70urge/a").header("Host", "blog.example");
    assert_eq!(purge.send().status, 200);
    assert!(!is_held(&larder, "/a"));
    assert_eq!(origin.requests("/purge/a"), 0);
}

/// Cloudflare's prefixes have no scheme; those that have one mean the same.
#[test]
fn prefixes_with_a_scheme_purge_too() {
    let (_origin, larder) = warm(&["/a"]);
    let body = r#"{"prefixes":["https://blog.example/a"]}"#;
    let ask = larder
        .ask("POST", "/client/v4/zones/z/purge_cache")
        .header("X-Auth-Key", "t")
        .header("Content-Type", "application/json");
    let answer = ask.body(body).send();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(!is_held(&larder, "/a"));
}
