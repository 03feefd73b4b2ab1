//! A site becomes files, and stays as it is where nothing changed.

use crate::common::{Site, html, page, tagged};
use flate2::{Compression, read::GzEncoder};
use std::{
    fs,
    io::{Read, Write},
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
};
use testkit::Reply;

#[test]
fn links_are_followed_within_the_site() {
    let site = Site::new(&[
        (
            "/",
            &[
                "/a",
                "b/",
                "http://other.example/x",
                "//other.example/y",
                "mailto:x@y",
                "/style.css",
            ],
        ),
        ("/a", &["../../../a", "/", "?page=2"]),
        ("/b/", &["c"]),
        ("/b/c", &[]),
    ]);
    site.origin.reply("/a?page=2", html("second"));
    let css = Reply::ok()
        .header("Content-Type", "text/css")
        .body("a{background:url(img/x.png)}");
    site.origin.reply("/style.css", css);
    site.origin.reply(
        "/img/x.png",
        Reply::ok().header("Content-Type", "image/png").body("PNG"),
    );
    let told = site.published(&[]);
    assert_eq!(told, "7 new, 0 changed, 0 unchanged\n");
    let files = [
        "a.html",
        "a?page=2.html",
        "b/c.html",
        "b/index.html",
        "img/x.png",
        "index.html",
        "style.css",
    ];
    assert_eq!(site.files(), files);
    assert_eq!(site.text("a?page=2.html"), "second");
    assert_eq!(site.text("img/x.png"), "PNG");
    // Nobody else was asked for anything, and nothing twice.
    assert!(
        site.origin
            .all()
            .iter()
            .all(|request| request.nth == 1 || request.path() == "/a")
    );
    let asked = site.origin.last("/a");
    assert_eq!(asked.header("accept-encoding"), Some("identity"));
    assert!(asked.header("cookie").is_none());
}

#[test]
fn what_did_not_change_is_not_touched() {
    let site = Site::new(&[("/", &["/a", "/tagged"]), ("/a", &[])]);
    site.origin.on("/tagged", |request| {
        if request.header("if-none-match") == Some("\"1\"") {
            Reply::status(304).header("ETag", "\"1\"")
        } else {
            html("<a href=/deep>").header("ETag", "\"1\"")
        }
    });
    site.origin.reply("/deep", page(&[]));
    site.published(&[]);
    let files = [
        "index.html",
        "a.html",
        "tagged.html",
        "deep.html",
        ".larder-publish.json",
    ];
    let before = files.map(|file| site.stamp(file));
    site.origin.reply("/a", html("changed"));
    let told = site.published(&[]);
    assert_eq!(told, "0 new, 1 changed, 3 unchanged\n");
    assert_eq!(site.text("a.html"), "changed");
    for (file, before) in files.into_iter().zip(before) {
        let is_touched = site.stamp(file) != before;
        assert_eq!(
            is_touched,
            matches!(file, "a.html" | ".larder-publish.json"),
            "{file}"
        );
    }
    // What links from a page that did not change is followed all the same.
    assert_eq!(site.origin.requests("/deep"), 2);
    // A file that somebody damaged is written again, whatever its validator says.
    fs::write(site.folder.join("tagged.html"), "damaged").expect("a file");
    assert_eq!(site.published(&[]), "0 new, 1 changed, 3 unchanged\n");
    assert_eq!(site.text("tagged.html"), "<a href=/deep>");
}

/// A 304 says what has become of the page.
#[test]
fn what_a_confirmation_calls_private_is_published_no_longer() {
    for (name, value, why) in [
        ("Cache-Control", "private", "private"),
        ("CDN-Cache-Control", "private", "private"),
        ("CDN-Cache-Control", "no-store", "no-store"),
        ("Surrogate-Control", "no-store", "no-store"),
        ("Vary", "*", "vary-star"),
    ] {
        let site = Site::new(&[("/", &["/a"])]);
        site.origin.on("/a", move |request| {
            let reply = tagged(request, "everybody's");
            if request.header("if-none-match").is_some() {
                reply.header(name, value)
            } else {
                reply.cache("max-age=60")
            }
        });
        site.published(&[]);
        assert_eq!(site.text("a.html"), "everybody's");
        let done = site.publish(&["--prune"]);
        let why = format!("/a (linked on /) is not published: no shared cache may keep it ({why})");
        assert!(done.stderr.contains(&why), "{name}: {}", done.stderr);
        assert_eq!(site.files(), ["index.html"], "{name}");
    }
}

#[test]
fn what_a_confirmation_says_is_said_of_the_page_from_then_on() {
    let site = Site::new(&[("/", &["/a", "/kept"])]);
    site.origin.on("/a", |request| {
        let reply = tagged(request, "a page").header("Content-Language", "en");
        if request.header("if-none-match").is_some() {
            reply
                .cache("max-age=5")
                .header("Content-Security-Policy", "default-src 'self'")
                .header("Cache-Tag", "second")
        } else {
            reply.cache("max-age=60").header("Cache-Tag", "first")
        }
    });
    site.origin.on("/kept", |request| {
        let reply = tagged(request, "kept");
        if request.header("if-none-match").is_some() {
            reply
        } else {
            reply.cache("max-age=60").header("Cache-Tag", "first")
        }
    });
    site.published(&[]);
    let before = site.stamp("a.html");
    assert_eq!(site.published(&[]), "0 new, 0 changed, 3 unchanged\n");
    assert_eq!(site.stamp("a.html"), before);
    let said = site.said("/a");
    let fields = serde_json::json!({
        "cache-control": "max-age=5",
        "content-language": "en",
        "content-security-policy": "default-src 'self'",
    });
    assert_eq!(
        (&said["fields"], &said["tags"][0]),
        (&fields, &"second".into())
    );
    let said = site.said("/kept");
    assert_eq!(said["fields"]["cache-control"], "max-age=60");
    assert_eq!(said["tags"][0], "first");
}

/// It says nothing about the page that is here.
#[test]
fn a_confirmation_of_something_else_is_none() {
    for (name, value) in [
        ("ETag", "\"2\""),
        ("Content-Type", "application/json"),
        ("Content-Disposition", "attachment"),
    ] {
        let site = Site::new(&[]);
        site.origin.on("/", move |request| {
            if request.header("if-none-match").is_some() {
                Reply::status(304).header(name, value)
            } else {
                let nth = request.nth.to_string();
                html(&nth).header("ETag", "\"1\"")
            }
        });
        site.published(&[]);
        assert_eq!(site.text("index.html"), "1", "{name}");
        site.published(&[]);
        assert_eq!(site.text("index.html"), "3", "{name}");
    }
}

/// What the application said to one question confirms nothing that it was not asked.
#[test]
fn an_answer_to_another_question_is_fetched_as_a_whole() {
    let site = Site::new(&[]);
    site.origin.on("/", |request| {
        let field = |name| request.header(name).unwrap_or_default().to_owned();
        let body = format!("{} for {}", field("accept-language"), field("host"));
        tagged(request, &body)
            .header("Vary", "Accept-Language")
            .cache("public")
    });
    let at = site.origin.address().to_string();
    for (more, body) in [
        (&[][..], format!(" for {at}")),
        (&["-H", "Accept-Language: de"], format!("de for {at}")),
        (&["-H", "Accept-Language: en"], format!("en for {at}")),
        (
            &["--host", "www.example.com"],
            " for www.example.com".to_owned(),
        ),
        (
            &["-H", "Authorization: Bearer hunter2"],
            format!(" for {at}"),
        ),
        (&["-H", "X-Key: hunter2"], format!(" for {at}")),
    ] {
        site.published(more);
        assert_eq!(site.text("index.html"), body, "{more:?}");
        assert!(site.origin.last("/").header("if-none-match").is_none());
        site.published(more);
        assert!(site.origin.last("/").header("if-none-match").is_some());
        for own in [".larder-publish.json", ".larder-publish/journal"] {
            assert!(!site.text(own).contains("hunter2"), "{own}");
        }
    }
    // A manifest that does not say what was asked confirms nothing either.
    let name = ".larder-publish.json";
    let mut manifest: serde_json::Value = serde_json::from_str(&site.text(name)).expect("JSON");
    manifest.as_object_mut().expect("members").remove("asked");
    fs::write(site.folder.join(name), manifest.to_string()).expect("a file");
    site.published(&["-H", "X-Key: hunter2"]);
    assert!(site.origin.last("/").header("if-none-match").is_none());
}

#[test]
fn what_is_not_there_any_more_is_removed_when_asked_for() {
    let site = Site::new(&[("/", &["/a/b", "/c"]), ("/a/b", &[]), ("/c", &[])]);
    site.published(&[]);
    fs::write(site.folder.join("own.html"), "mine").expect("a file");
    site.origin.reply("/", page(&["/c"]));
    let told = site.published(&[]);
    assert_eq!(
        told,
        "0 new, 1 changed, 1 unchanged, 1 kept though not found any more\n"
    );
    assert_eq!(
        site.files(),
        ["a/b.html", "c.html", "index.html", "own.html"]
    );
    let told = site.published(&["--prune"]);
    assert_eq!(told, "0 new, 0 changed, 2 unchanged, 1 removed\n");
    assert_eq!(site.files(), ["c.html", "index.html", "own.html"]);
    assert!(!site.folder.join("a").exists(), "an empty folder goes too");
    assert!(!site.manifest().contains_key("/a/b"));
}

#[test]
fn nothing_is_removed_while_something_fails() {
    let site = Site::new(&[
        ("/", &["/a", "/b"]),
        ("/a", &["/c"]),
        ("/b", &[]),
        ("/c", &[]),
    ]);
    site.published(&[]);
    site.origin.reply("/a", Reply::status(503));
    let done = site.publish(&["--prune"]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr.contains("/a (linked on /) failed: status 503"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.contains("nothing else is removed"),
        "{}",
        done.stderr
    );
    assert_eq!(site.files(), ["a.html", "b.html", "c.html", "index.html"]);
}

#[test]
fn redirects_and_types_are_kept_in_the_manifest() {
    let site = Site::new(&[("/", &["/old", "/away", "/loop", "/feed/"]), ("/new", &[])]);
    site.origin
        .reply("/old", Reply::status(301).header("Location", "new#part"));
    site.origin.reply(
        "/away",
        Reply::status(302).header("Location", "https://other.example/x"),
    );
    site.origin
        .reply("/loop", Reply::status(302).header("Location", "/loop"));
    let feed = Reply::ok()
        .header("Content-Type", "application/rss+xml; charset=utf-8")
        .header("ETag", "\"e\"")
        .header("Content-Language", "en")
        .cache("max-age=60")
        .header("Surrogate-Key", "p-1 home")
        .body("<rss/>");
    site.origin.reply("/feed/", feed);
    let done = site.publish(&[]);
    assert_eq!(done.code, Some(0));
    assert!(
        done.stderr
            .contains("/loop (linked on /) is not published: it redirects to itself"),
        "{}",
        done.stderr
    );
    assert_eq!(site.files(), ["feed/index.xml", "index.html", "new.html"]);
    assert_eq!(
        site.said("/old"),
        serde_json::json!({"status": 301, "location": "/new#part"})
    );
    assert_eq!(
        site.said("/away"),
        serde_json::json!({"status": 302, "location": "https://other.example/x"})
    );
    let mut feed = site.said("/feed/");
    assert_eq!(feed["hash"].take().as_str().map(str::len), Some(32));
    let expected = serde_json::json!({
        "status": 200, "file": "feed/index.xml", "type": "application/rss+xml; charset=utf-8", "length": 6, "hash": null,
        "etag": "\"e\"", "fields": {"cache-control": "max-age=60", "content-language": "en"}, "tags": ["p-1", "home"],
    });
    assert_eq!(feed, expected);
    // A page that becomes a redirect has no file any more.
    site.origin
        .reply("/new", Reply::status(301).header("Location", "/"));
    assert!(site.published(&[]).contains("1 redirected"));
    assert_eq!(site.files(), ["feed/index.xml", "index.html"]);
}

#[test]
fn what_is_not_for_everybody_is_not_published() {
    let site = Site::new(&[(
        "/",
        &[
            "/private",
            "/never",
            "/cookie",
            "/shared",
            "/coded",
            "/events",
            "/star",
            "/forbidden",
            "/targeted",
        ],
    )]);
    site.origin.reply("/private", page(&[]).cache("private"));
    site.origin.reply("/never", page(&[]).cache("no-store"));
    site.origin
        .reply("/cookie", page(&[]).header("Set-Cookie", "session=1"));
    site.origin.reply(
        "/shared",
        page(&[])
            .header("Set-Cookie", "seen=1")
            .cache("public, max-age=9"),
    );
    site.origin
        .reply("/coded", page(&[]).header("Content-Encoding", "gzip"));
    site.origin.reply(
        "/events",
        Reply::ok()
            .header("Content-Type", "text/event-stream")
            .endless("data: x\n\n"),
    );
    site.origin.reply("/star", page(&[]).header("Vary", "*"));
    let targeted = page(&[])
        .cache("max-age=9")
        .header("CDN-Cache-Control", "no-store");
    site.origin.reply("/targeted", targeted);
    site.origin.reply("/forbidden", Reply::status(403));
    let done = site.publish(&[]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(
        done.stdout,
        "2 new, 0 changed, 0 unchanged, 8 not published\n"
    );
    assert_eq!(site.files(), ["index.html", "shared.html"]);
    for (target, why) in [
        ("/private", "no shared cache may keep it (private)"),
        ("/cookie", "it sets a cookie"),
        ("/coded", "it comes in the coding gzip"),
        ("/events", "it is a stream of events"),
        ("/targeted", "no shared cache may keep it (no-store)"),
        ("/forbidden", "status 403"),
    ] {
        let line = format!("larder: {target} (linked on /) is not published: {why}");
        assert!(done.stderr.contains(&line), "{line}: {}", done.stderr);
    }
}

#[test]
fn a_site_has_a_name_of_its_own() {
    let site = Site::new(&[
        (
            "/",
            &[
                "https://www.example.com/a",
                "http://WWW.example.com:80/b",
                "http://other.example/c",
            ],
        ),
        ("/a", &[]),
        ("/b", &[]),
    ]);
    site.published(&[
        "--host",
        "www.example.com",
        "-H",
        "X-Forwarded-Proto: https",
    ]);
    assert_eq!(site.files(), ["a.html", "b.html", "index.html"]);
    let asked = site.origin.last("/a");
    assert_eq!(asked.header("host"), Some("www.example.com"));
    assert_eq!(asked.header("x-forwarded-proto"), Some("https"));
}

#[test]
fn starting_points_come_from_the_command_line_sitemaps_and_standard_input() {
    let site = Site::new(&[
        ("/a", &["/linked"]),
        ("/b", &[]),
        ("/c", &[]),
        ("/linked", &[]),
        ("/d", &[]),
    ]);
    let url = site.origin.url();
    let index = format!("<sitemapindex><sitemap><loc>{url}/one.xml</loc></sitemap></sitemapindex>");
    site.origin.reply("/sitemap.xml", Reply::ok().body(index));
    let one = format!("<urlset><url><loc>{url}/b</loc></url><url><loc>/c</loc></url></urlset>");
    site.origin.reply("/one.xml", Reply::ok().body(one));
    let told = site.published(&["/a", "--sitemap", "/sitemap.xml", "--no-follow"]);
    assert_eq!(told, "3 new, 0 changed, 0 unchanged\n");
    assert_eq!(site.files(), ["a.html", "b.html", "c.html"]);

    let mut child = std::process::Command::new(crate::common::BINARY)
        .args([
            "publish",
            "--quiet",
            "--from",
            &url,
            "--to",
            &site.folder.display().to_string(),
            "-",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary");
    let list = format!("# a list\n\n/d\n{url}/a\n");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(list.as_bytes())
        .expect("a reader");
    let done = child.wait_with_output().expect("its end");
    assert!(done.status.success() && done.stdout.is_empty(), "{done:?}");
    assert_eq!(
        site.files(),
        ["a.html", "b.html", "c.html", "d.html", "linked.html"]
    );
}

#[test]
fn sitemaps_may_be_in_gzip() {
    let packed = |plain: &[u8]| {
        let mut packed = Vec::new();
        GzEncoder::new(plain, Compression::fast())
            .read_to_end(&mut packed)
            .expect("memory");
        packed
    };
    let gzip = |bytes: Vec<u8>| {
        Reply::ok()
            .header("Content-Type", "application/gzip")
            .body(bytes)
    };
    let site = Site::new(&[("/a", &[]), ("/b", &[])]);
    let index = b"<sitemapindex><sitemap><loc>/one.xml.gz</loc></sitemap><sitemap><loc>/bomb.xml.gz</loc></sitemap></sitemapindex>";
    site.origin.reply("/sitemap.xml.gz", gzip(packed(index)));
    let one = b"<urlset><url><loc>/a</loc></url><url><loc>/b</loc></url></urlset>";
    site.origin.reply("/one.xml.gz", gzip(packed(one)));
    let bomb = packed(&vec![b' '; 1 << 20]).repeat(51);
    assert!(bomb.len() < 1 << 20);
    site.origin.reply("/bomb.xml.gz", gzip(bomb));
    let done = site.publish(&["--sitemap", "/sitemap.xml.gz"]);
    assert_eq!(site.files(), ["a.html", "b.html"], "{}", done.stderr);
    let refused = "the sitemap /bomb.xml.gz: unpacked, it is larger than 52428800 bytes";
    assert!(done.stderr.contains(refused), "{}", done.stderr);
    assert_eq!(done.code, Some(1));
}

#[test]
fn a_reader_sees_the_old_page_or_the_new_one() {
    let site = Site::new(&[]);
    let [old, new] = ["a", "b"].map(|letter| letter.repeat(8 << 20));
    site.origin.reply("/", html(&old));
    site.published(&[]);
    let (done, file) = (AtomicBool::new(false), site.folder.join("index.html"));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut last = Vec::new();
            while !done.load(SeqCst) {
                last = fs::read(&file).expect("the page");
                let is_whole = last == old.as_bytes() || last == new.as_bytes();
                assert!(is_whole, "{} bytes of something else", last.len());
            }
            last
        });
        for text in [&new, &old, &new] {
            site.origin.reply("/", html(text));
            assert_eq!(site.published(&[]), "0 new, 1 changed, 0 unchanged\n");
        }
        done.store(true, SeqCst);
        reader.join().expect("whole pages");
    });
    assert!(site.text("index.html") == new);
}

#[test]
fn what_is_excluded_is_not_asked_for() {
    let site = Site::new(&[("/", &["/a", "/admin/x", "/a?print=1"]), ("/a", &[])]);
    site.published(&["--exclude", "/admin/*"]);
    assert_eq!(site.origin.requests("/admin/x"), 0);
    assert_eq!(site.files(), ["a.html", "a?print=1.html", "index.html"]);
}

#[test]
fn what_is_asked_for_with_authorization_must_say_that_it_is_for_everybody() {
    let site = Site::new(&[]);
    site.origin
        .otherwise(|request| html(request.header("authorization").unwrap_or("nobody")));
    let public = html("all").header("Cache-Control", "public");
    site.origin.reply("/public", public);
    let moved = Reply::status(301).header("Location", "/alice");
    site.origin.reply("/moved", moved);
    let alice = "Authorization: Basic YWxpY2U6";
    let asked = ["--no-follow", "-H", alice, "/", "/public", "/moved"];
    let done = site.publish(&asked);
    assert_eq!(
        done.stdout,
        "1 new, 0 changed, 0 unchanged, 2 not published\n"
    );
    let why = "is not published: it was asked for with Authorization and does not say public";
    assert_eq!(done.stderr.matches(why).count(), 2, "{}", done.stderr);
    assert_eq!(site.files(), ["public.html"]);
    let sent = site.origin.last("/public");
    assert_eq!(sent.header("authorization"), Some("Basic YWxpY2U6"));
    site.published(&["/"]);
    assert_eq!(site.text("index.html"), "nobody");
}
