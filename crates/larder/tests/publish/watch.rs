//! `larder publish --watch-purges`: what is purged at a running Larder is published again.

use crate::common::{BINARY, Process, Site, html, page, tcp};
use std::fs;
use testkit::{Command, Larder, Reply, free_port, scratch_dir, wait_until};

/// A site with a cache before it, whose log of purges is on disk.
fn cached(pages: &[(&str, &[&str])]) -> (Site, Larder) {
    cached_with(pages, "")
}

/// The same, with more configuration.
fn cached_with(pages: &[(&str, &[&str])], more: &str) -> (Site, Larder) {
    let site = Site::new(pages);
    let config = format!(
        "[[origin]]\nservers = \"{}\"\n[purge]\nlog = \"{}\"\n{more}",
        site.origin.url(),
        scratch_dir().display()
    );
    let larder = Command::serve(BINARY).config(&config).start();
    (site, larder)
}

fn watch(site: &Site, larder: &Larder, more: &[&str]) -> Process {
    let admin = tcp(&larder.admin());
    let args = ["--host", "www.example.com", "--watch-purges", &admin];
    site.start(&[&args, more].concat())
}

fn purge(larder: &Larder, what: &[&str]) {
    let admin = tcp(&larder.admin());
    let done = Command::new(BINARY)
        .args(["purge", "--admin", &admin])
        .args(what.iter().copied())
        .run();
    assert_eq!(done.code, Some(0), "{}", done.stderr);
}

fn wait_text(site: &Site, file: &str, text: &str) {
    wait_until(&format!("{file} says {text:?}"), || {
        fs::read_to_string(site.folder.join(file)).is_ok_and(|found| found == text)
    });
}

/// Waits until everything is published and all purges have been read.
fn wait_idle(site: &Site) {
    wait_until("nothing is pending", || {
        let text = fs::read_to_string(site.folder.join(".larder-publish/watch.json"));
        text.is_ok_and(|text| text.contains("\"pending\":[],\"everything\":false"))
    });
}

fn css(text: &str) -> Reply {
    Reply::ok().header("Content-Type", "text/css").body(text)
}

#[test]
fn what_is_purged_is_published_again() {
    let (site, larder) = cached(&[("/", &["/a", "/b", "/news/1", "/c.css"]), ("/b", &[])]);
    let tagged = |text: &str| html(text).header("Surrogate-Key", "p-1 p-2");
    site.origin.reply("/a", tagged("a"));
    site.origin.reply("/news/1", html("news"));
    site.origin.reply("/c.css", css("c"));
    let watching = watch(&site, &larder, &[]);
    wait_idle(&site);
    wait_text(&site, "c.css", "c");
    let others = site.stamp("b.html");

    site.origin.reply("/a", tagged("by tag"));
    purge(&larder, &["--tag", "p-2"]);
    wait_text(&site, "a.html", "by tag");
    let page = html("by prefix <a href=/new>");
    site.origin.reply("/news/1", page);
    site.origin.reply("/new", html("new"));
    purge(
        &larder,
        &["--prefix", "http://www.example.com/news/", "--soft"],
    );
    wait_text(&site, "news/1.html", "by prefix <a href=/new>");
    wait_text(&site, "new.html", "new");
    site.origin.reply("/c.css", css("by URL"));
    purge(&larder, &["https://www.example.com/c.css"]);
    wait_text(&site, "c.css", "by URL");
    site.origin.reply("/new", html("by expression"));
    purge(&larder, &["--regex", "/new$"]);
    wait_text(&site, "new.html", "by expression");
    assert_eq!(site.stamp("b.html"), others, "nothing else was touched");
    assert_eq!(site.origin.requests("/b"), 1, "nor asked for");
    wait_idle(&site);
    watching.signal("TERM");
    assert_eq!(watching.end(), Some(0));
}

#[test]
fn purges_of_much_and_of_others_are_heard_too() {
    let (site, larder) = cached(&[("/", &["/a", "/b"]), ("/a", &[]), ("/b", &[])]);
    let watching = watch(&site, &larder, &[]);
    wait_idle(&site);
    // An application that invalidates by its own answers.
    site.origin
        .on("/a", |request| match request.method.as_str() {
            "POST" => Reply::status(204),
            _ => html("by the application"),
        });
    let posted = larder
        .ask("POST", "/a")
        .header("Host", "www.example.com")
        .send();
    assert_eq!(posted.status, 204);
    wait_text(&site, "a.html", "by the application");
    purge(&larder, &["--host", "other.example"]);
    purge(&larder, &["https://www.example.com/unknown"]);
    assert_eq!(site.origin.requests("/b"), 1);
    site.origin.reply("/b", html("by host"));
    purge(&larder, &["--host", "www.example.com"]);
    wait_text(&site, "b.html", "by host");
    site.origin.reply("/b", html("by all"));
    purge(&larder, &["--all"]);
    wait_text(&site, "b.html", "by all");
    let unknown = site.origin.requests("/unknown");
    assert_eq!(
        unknown, 0,
        "what was never published is not made so by a purge"
    );
    drop(watching);
}

#[test]
fn what_was_purged_meanwhile_is_published_after_a_restart() {
    let (site, larder) = cached(&[("/", &["/a", "/b"])]);
    site.origin.reply("/a", html("a").header("Cache-Tag", "a"));
    site.origin.reply("/b", html("b"));
    let watching = watch(&site, &larder, &[]);
    wait_idle(&site);
    watching.kill();
    site.origin
        .reply("/a", html("new").header("Cache-Tag", "a"));
    purge(&larder, &["--tag", "a"]);
    let before = site.origin.requests("/b");
    let watching = watch(&site, &larder, &[]);
    wait_text(&site, "a.html", "new");
    wait_idle(&site);
    watching.signal("INT");
    assert_eq!(watching.end(), Some(0));
    assert_eq!(
        site.origin.requests("/b"),
        before + 1,
        "the whole is gone through at the start, once"
    );
}

#[test]
fn after_a_gap_everything_is_published_again() {
    let site = Site::new(&[("/", &["/a"])]);
    site.origin.on("/a", |request| {
        html(&format!("{}", request.nth)).header("ETag", "\"same\"")
    });
    let start = |listen: &str| {
        Command::new(BINARY)
            .args(["serve", "--listen", "127.0.0.1:0", "--admin", listen])
            .args([site.origin.url()])
            .start()
    };
    let larder = start("127.0.0.1:0");
    let admin = tcp(&larder.admin());
    let watching = watch(&site, &larder, &[]);
    wait_idle(&site);
    let seen = site.text("a.html");
    // This one keeps no log over its end: whatever was purged meanwhile is not known.
    larder.stop();
    let larder = start(&admin);
    wait_until("it was fetched anew", || site.text("a.html") != seen);
    watching.signal("TERM");
    assert_eq!(watching.end(), Some(0));
    drop(larder);
}

#[test]
fn what_fails_stays_pending() {
    let (site, larder) = cached(&[("/", &["/a", "/b"])]);
    // The second answer is what a purge asks for first.
    site.origin.on("/a", |request| match request.nth {
        1 => html("old").header("Cache-Tag", "a"),
        2 => Reply::status(503),
        _ => html("new").header("Cache-Tag", "a"),
    });
    let watching = watch(&site, &larder, &[]);
    wait_idle(&site);
    purge(&larder, &["--tag", "a"]);
    site.origin.wait_requests("/a", 2);
    wait_text(&site, "a.html", "new");
    assert_eq!(site.origin.requests("/a"), 3);
    drop(watching);
}

/// It may name pages that nothing else leads to. One that is not there is not waited for.
#[test]
fn everything_stays_pending_while_a_sitemap_cannot_be_fetched() {
    let (site, larder) = cached(&[("/", &[]), ("/a", &[])]);
    let listed = "<urlset><url><loc>/a</loc></url></urlset>";
    site.origin
        .on("/sitemap.xml", move |request| match request.nth {
            1 => Reply::status(503),
            _ => Reply::ok().body(listed),
        });
    let sitemaps = ["--sitemap", "/sitemap.xml", "--sitemap", "/none.xml", "/"];
    let watching = watch(&site, &larder, &sitemaps);
    wait_text(&site, "a.html", "");
    wait_idle(&site);
    assert_eq!(site.origin.requests("/none.xml"), 2);
    drop(watching);
}

#[test]
fn a_page_that_is_gone_goes_when_asked_for() {
    let (site, larder) = cached(&[("/", &["/a", "/b"]), ("/a", &[]), ("/b", &[])]);
    let watching = watch(&site, &larder, &["--prune"]);
    wait_idle(&site);
    site.origin.reply("/a", Reply::status(410));
    purge(&larder, &["http://www.example.com/a"]);
    wait_until("it is removed", || !site.folder.join("a.html").exists());
    assert_eq!(site.files(), ["b.html", "index.html"]);
    drop(watching);
}

#[test]
fn a_purged_page_that_is_not_for_everybody_any_more_goes_unasked() {
    let pages: [(&str, &[&str]); 5] = [
        ("/", &["/a", "/b", "/c", "/d"]),
        ("/a", &[]),
        ("/b", &[]),
        ("/c", &[]),
        ("/d", &[]),
    ];
    let (site, larder) = cached(&pages);
    let watching = watch(&site, &larder, &[]);
    wait_idle(&site);
    let private = || html("secret").header("Cache-Control", "private");
    let without = |files: &[&str]| {
        wait_until("it is removed", || site.files() == files);
        wait_idle(&site);
    };
    site.origin.reply("/a", private());
    purge(&larder, &["http://www.example.com/a"]);
    without(&["b.html", "c.html", "d.html", "index.html"]);
    assert!(!site.manifest().contains_key("/a"));
    // What was purged while nobody watched; the other one that is gone was not purged, and stays.
    watching.kill();
    site.origin.reply("/b", Reply::status(404));
    site.origin.reply("/d", Reply::status(404));
    purge(&larder, &["http://www.example.com/b"]);
    let watching = watch(&site, &larder, &[]);
    without(&["c.html", "d.html", "index.html"]);
    // All of it, although not everything can be seen.
    site.origin.reply("/", html("nothing"));
    site.origin.reply("/c", Reply::status(503));
    purge(&larder, &["--all"]);
    wait_until("it is removed", || site.files() == ["c.html", "index.html"]);
    drop(watching);
}

#[test]
fn what_is_purged_is_published_again_whatever_the_bound() {
    let pages: [(&str, &[&str]); 3] = [("/", &["/a", "/b"]), ("/a", &[]), ("/b", &[])];
    let (site, larder) = cached(&pages);
    site.published(&[]);
    let watching = watch(&site, &larder, &["--pages", "2"]);
    wait_idle(&site);
    for path in ["/a", "/b"] {
        site.origin.reply(path, html("again <a href=/more>"));
    }
    purge(&larder, &["--all"]);
    wait_text(&site, "a.html", "again <a href=/more>");
    wait_text(&site, "b.html", "again <a href=/more>");
    wait_idle(&site);
    assert_eq!(site.origin.requests("/more"), 0, "it is one too many");
    drop(watching);
}

#[test]
fn a_purged_page_that_is_left_out_by_now_goes() {
    let (site, larder) = cached(&[("/", &["/a", "/b"]), ("/a", &[]), ("/b", &[])]);
    let watching = watch(&site, &larder, &[]);
    wait_idle(&site);
    watching.signal("TERM");
    assert_eq!(watching.end(), Some(0));
    let before = site.origin.requests("/a");
    let watching = watch(&site, &larder, &["--exclude", "/a"]);
    // The second time in the first run, the third because it is purged.
    site.origin.wait_requests("/b", 2);
    site.origin.reply("/b", html("new"));
    purge(&larder, &["http://www.example.com/b"]);
    wait_text(&site, "b.html", "new");
    assert!(
        site.folder.join("a.html").exists(),
        "this one was not purged"
    );
    purge(&larder, &["http://www.example.com/a"]);
    wait_until("it is removed", || !site.folder.join("a.html").exists());
    assert_eq!(site.origin.requests("/a"), before);
    drop(watching);
}

#[test]
fn an_expression_matches_keys_with_some_of_the_parameters() {
    let pages: [(&str, &[&str]); 1] = [("/", &["/list?page=2&ref=a"])];
    let (site, larder) = cached_with(&pages, "[defaults]\nkey.query = [\"page\"]\n");
    let target = "/list?page=2&ref=a";
    site.origin.reply(target, html("old"));
    let watching = watch(&site, &larder, &[]);
    wait_idle(&site);
    site.origin.reply(target, html("new"));
    purge(&larder, &["--regex", "/list\\?page=2$"]);
    wait_text(&site, "list?page=2&ref=a.html", "new");
    drop(watching);
}

#[test]
fn it_waits_for_a_larder_that_is_not_there_yet() {
    let site = Site::new(&[("/", &[])]);
    let admin = format!("127.0.0.1:{}", free_port());
    // As with the other commands, it may be a URL.
    let watching = site.start(&["--watch-purges", &format!("http://{admin}")]);
    let larder = Command::new(BINARY)
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--admin",
            &admin,
            &site.origin.url(),
        ])
        .start();
    wait_until("it is published", || {
        site.folder.join(".larder-publish.json").exists()
    });
    // Without the site's name, a purge of whatever host is for it.
    site.origin.reply("/", page(&["x"]));
    purge(&larder, &["http://whatever.example/"]);
    wait_text(&site, "index.html", "<a href=\"x\">x</a>");
    drop(watching);
}
