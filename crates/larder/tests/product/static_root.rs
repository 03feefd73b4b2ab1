//! A folder as an origin.

use crate::common::Said;
use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};
use testkit::{Larder, Response, scratch_dir, wait_until};

/// A folder with these files.
pub(crate) fn folder(files: &[(&str, &[u8])]) -> PathBuf {
    let root = scratch_dir();
    for (name, content) in files {
        write(&root, name, content);
    }
    root
}

pub(crate) fn write(root: &Path, name: &str, content: &[u8]) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, content).expect("a file");
}

fn serve(root: &Path) -> Larder {
    serve_with(root, "")
}

fn serve_with(root: &Path, more: &str) -> Larder {
    let config = format!("{more}\n[[origin]]\nstatic = \"{}\"\n", root.display());
    testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&config)
        .start()
}

/// The file as it is now, asked for past what is stored.
fn fetched(larder: &Larder, path: &str) -> Response {
    larder.get(path).header("Cache-Control", "no-cache").send()
}

/// Waits until the file is old enough to have validators.
fn settled(larder: &Larder, path: &str) -> Response {
    let mut answer = fetched(larder, path);
    wait_until("the file had an ETag", || {
        answer = fetched(larder, path);
        answer.header("etag").is_some()
    });
    answer
}

#[test]
fn pages_are_answered_and_stored() {
    let root = folder(&[
        ("index.html", b"home"),
        ("docs/index.html", b"docs"),
        ("empty/x.txt", b"x"),
    ]);
    let larder = serve(&root);
    let home = larder.get("/").send();
    assert_eq!((home.status, home.text().as_str()), (200, "home"));
    assert_eq!(
        home.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert!(larder.get("/").send().hit());
    for (method, target, status, body) in [
        ("GET", "/index.html", 200, "home"),
        ("GET", "/?utm_source=x", 200, "home"),
        ("GET", "/docs/", 200, "docs"),
        ("HEAD", "/docs/", 200, ""),
        ("GET", "/empty/x.txt?v=3", 200, "x"),
        ("GET", "/empty/", 404, "Not Found\n"),
        ("GET", "/empty", 404, "Not Found\n"),
        ("GET", "/docs/index.html/", 404, "Not Found\n"),
        ("GET", "/nothing", 404, "Not Found\n"),
        ("POST", "/", 405, "Method Not Allowed\n"),
        ("OPTIONS", "/", 405, "Method Not Allowed\n"),
    ] {
        let answer = larder.ask(method, target).send();
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (status, body),
            "{method} {target}"
        );
    }
    let moved = larder.get("/docs?a=b").send();
    assert_eq!(
        (moved.status, moved.header("location")),
        (301, Some("/docs/?a=b"))
    );
}

#[test]
fn nothing_outside_or_hidden_is_answered() {
    let outside = folder(&[("secret", b"outside")]);
    let root = folder(&[
        (".env", b"hidden"),
        (".git/config", b"hidden"),
        ("a/.b/c", b"hidden"),
        (".well-known/security.txt", b"shown"),
        ("index.php", b"<?php hidden"),
        ("lib/a.PHP5", b"<?php hidden"),
        ("wp-config.php.bak", b"<?php hidden"),
        ("php.txt", b"shown"),
        ("with space.txt", b"shown"),
        ("real/page.txt", b"shown"),
    ]);
    symlink(outside.join("secret"), root.join("absolute")).expect("a link");
    symlink("../../../../../../../../etc/passwd", root.join("up")).expect("a link");
    symlink(&outside, root.join("folder")).expect("a link");
    symlink("/proc/self/environ", root.join("magic")).expect("a link");
    symlink("loop", root.join("loop")).expect("a link");
    symlink("real", root.join("inside")).expect("a link");
    let made = Command::new("mkfifo").arg(root.join("pipe")).status();
    assert!(made.is_ok_and(|made| made.success()), "a pipe");
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).expect("a socket");
    let larder = serve(&root);
    for path in [
        "/.env",
        "/%2eenv",
        "/.git/config",
        "/a/.b/c",
        "/a/.well-known/x",
        "/index.php",
        "/lib/a.PHP5",
        "/wp-config.php.bak",
        "/absolute",
        "/up",
        "/folder/secret",
        "/magic",
        "/loop",
        "/pipe",
        "/socket",
        "/../secret",
        "/%2e%2e/secret",
        "/a/%2e%2e/%2e%2e/secret",
        "/..%2fsecret",
        "/real%2fpage.txt",
        "/real%5cpage.txt",
        "/real\\page.txt",
        "/real/page.txt%00",
        "//real/page.txt",
        "/real//page.txt",
        "/real/./page.txt/",
        "/%",
        "/%zz",
        "/real/../php.txt",
        "/.well-known/../.env",
    ] {
        let answer = larder.get(path).send();
        assert!(
            matches!(answer.status, 400 | 404),
            "{path}: {}",
            answer.status
        );
        assert!(!answer.text().contains("hidden"), "{path}");
    }
    for path in [
        "/.well-known/security.txt",
        "/php.txt",
        "/with%20space.txt",
        "/inside/page.txt",
    ] {
        let answer = larder.get(path).send();
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (200, "shown"),
            "{path}"
        );
    }
    larder.wait_output("a link leads out of the folder");
}

#[test]
fn the_neighbour_that_the_client_takes_is_sent() {
    let root = folder(&[
        ("a.css", b"plain"),
        ("a.css.br", b"brotli"),
        ("a.css.zst", b"zstd"),
        ("a.css.gz", b"gzip"),
        ("b.css", b"plain"),
        ("b.css.gz", b"of yesterday"),
        ("c.css", b"plain"),
    ]);
    let hour_ago = SystemTime::now() - Duration::from_hours(1);
    let old = File::options()
        .write(true)
        .open(root.join("b.css.gz"))
        .expect("a file");
    old.set_modified(hour_ago).expect("a time");
    let larder = serve(&root);
    let mut tags = Vec::new();
    for (accept, coding, body) in [
        (None, None, "plain"),
        (Some("gzip, deflate, br, zstd"), Some("br"), "brotli"),
        (Some("gzip, zstd"), Some("zstd"), "zstd"),
        (Some("gzip"), Some("gzip"), "gzip"),
        (Some("br;q=0.5, gzip;q=0.8"), Some("gzip"), "gzip"),
        (Some("br;q=0.5, identity"), None, "plain"),
        (Some("br;q=0"), None, "plain"),
        (Some("*"), Some("br"), "brotli"),
    ] {
        for round in 0..2 {
            let ask = larder.get("/a.css");
            let answer = match accept {
                Some(accept) => ask.header("Accept-Encoding", accept).send(),
                None => ask.send(),
            };
            assert_eq!(answer.text(), body, "{accept:?} {round}");
            assert_eq!(answer.header("content-encoding"), coding, "{accept:?}");
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"), "{accept:?}");
            assert_eq!(
                answer.header("content-type"),
                Some("text/css; charset=utf-8")
            );
        }
        let ask = || larder.get("/a.css").header("Cache-Control", "no-cache");
        let mut tag = None;
        wait_until("the file had an ETag", || {
            let answer = ask()
                .header("Accept-Encoding", accept.unwrap_or("identity"))
                .send();
            tag = answer.header("etag").map(str::to_owned);
            tag.is_some()
        });
        tags.push((body, tag));
    }
    for (body, tag) in &tags {
        let same = tags.iter().filter(|(_, other)| other == tag);
        assert!(
            same.clone().all(|(other, _)| other == body),
            "a tag for each coding: {tags:?}"
        );
    }
    for path in ["/b.css", "/c.css"] {
        let answer = larder
            .get(path)
            .header("Accept-Encoding", "gzip, br")
            .send();
        assert_eq!(
            (answer.text().as_str(), answer.header("vary")),
            ("plain", None),
            "{path}"
        );
    }
}

#[test]
fn a_changed_file_is_seen_although_its_time_and_length_are_the_same() {
    let root = folder(&[("page.html", b"one")]);
    let larder = serve(&root);
    let time = SystemTime::now() - Duration::from_hours(1);
    let put = |text: &[u8]| {
        write(&root, "page.html", text);
        let file = File::options()
            .write(true)
            .open(root.join("page.html"))
            .expect("a file");
        file.set_modified(time).expect("a time");
    };
    put(b"two");
    assert_eq!(fetched(&larder, "/page.html").text(), "two");
    // Twice within a step of the file system's clock: the first may not be confirmed by the second.
    put(b"six");
    assert_eq!(fetched(&larder, "/page.html").text(), "six");
    let old = settled(&larder, "/page.html");
    put(b"ten");
    let new = fetched(&larder, "/page.html");
    assert_eq!(new.text(), "ten");
    assert_ne!(new.header("etag"), old.header("etag"));
    // Without being asked past the store, within a second.
    wait_until("the change was seen", || {
        put(b"end");
        larder.get("/page.html").send().text() == "end"
    });
}

#[test]
fn a_file_that_is_as_it_was_is_confirmed() {
    let root = folder(&[("a.txt", b"content")]);
    let larder = serve(&root);
    let first = settled(&larder, "/a.txt");
    assert!(first.header("last-modified").is_some());
    assert!(
        !first
            .header("etag")
            .is_some_and(|tag| tag.starts_with("W/"))
    );
    let again = fetched(&larder, "/a.txt");
    assert_eq!(
        again.parameter("fwd-status").as_deref(),
        Some("304"),
        "{}",
        again.said()
    );
    assert_eq!((again.status, again.text().as_str()), (200, "content"));
    let tag = first.header("etag").expect("a tag");
    let answer = larder.get("/a.txt").header("If-None-Match", tag).send();
    assert_eq!(answer.status, 304);
}

/// The folder's own answers, since nothing is stored.
#[test]
fn conditions_and_ranges_are_answered_without_a_store() {
    let root = folder(&[("a.txt", b"0123456789")]);
    let larder = serve_with(&root, "[defaults]\ncache = false");
    let first = settled(&larder, "/a.txt");
    let (tag, date) = (
        first.header("etag").unwrap(),
        first.header("last-modified").unwrap(),
    );
    let never = "Thu, 01 Jan 1970 00:00:00 GMT";
    let future = "Fri, 01 Jan 2100 00:00:00 GMT";
    let range = ("Range", "bytes=2-4");
    for (fields, status, body) in [
        (vec![("If-None-Match", tag)], 304, ""),
        (vec![("If-None-Match", "\"other\"")], 200, "0123456789"),
        (
            vec![("If-None-Match", "\"other\""), ("If-Modified-Since", date)],
            200,
            "0123456789",
        ),
        (vec![("If-Modified-Since", date)], 304, ""),
        (vec![("If-Modified-Since", never)], 200, "0123456789"),
        // A file that was put back is older than that, and another.
        (vec![("If-Modified-Since", future)], 200, "0123456789"),
        (vec![("If-Match", tag)], 200, "0123456789"),
        (vec![("If-Match", "\"other\"")], 412, ""),
        (vec![("If-Unmodified-Since", never)], 412, ""),
        (vec![range], 206, "234"),
        (vec![("Range", "bytes=8-")], 206, "89"),
        (vec![("Range", "bytes=-2")], 206, "89"),
        (vec![("Range", "bytes=10-")], 416, ""),
        (vec![("Range", "bytes=0-1,8-9")], 200, "0123456789"),
        (vec![("Range", "pages=1")], 200, "0123456789"),
        (vec![range, ("If-Range", tag)], 206, "234"),
        (vec![range, ("If-Range", date)], 206, "234"),
        (vec![range, ("If-Range", "\"other\"")], 200, "0123456789"),
        (vec![range, ("If-None-Match", tag)], 304, ""),
    ] {
        let ask = fields
            .iter()
            .fold(larder.get("/a.txt"), |ask, (name, value)| {
                ask.header(name, value)
            });
        let answer = ask.send();
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (status, body),
            "{fields:?}"
        );
        let part = answer.header("content-range");
        assert_eq!(part.is_some(), matches!(status, 206 | 416), "{fields:?}");
    }
}

#[test]
fn ranges_of_large_files_are_read_alone() {
    let root = folder(&[]);
    let content: Vec<u8> = (0..1_000_000_u32)
        .flat_map(|number| (number as u16).to_le_bytes())
        .collect();
    write(&root, "film.mp4", &content);
    let larder = serve(&root);
    settled(&larder, "/film.mp4");
    let larder = serve(&root);
    let part = larder
        .get("/film.mp4")
        .header("Range", "bytes=1000000-1000099")
        .send();
    assert_eq!(
        (part.status, part.body.as_slice()),
        (206, &content[1_000_000..1_000_100])
    );
    let whole = larder.get("/film.mp4").send();
    assert_eq!((whole.status, whole.body.len()), (200, content.len()));
    assert!(whole.body == content);
    let parts = larder
        .get("/film.mp4")
        .header("Range", "bytes=0-1,4-5")
        .send();
    assert_eq!(parts.status, 206);
}

#[test]
fn a_file_that_shrinks_while_it_is_sent_never_ends_as_if_it_were_whole() {
    let root = folder(&[]);
    let length = 256 << 20;
    let file = File::create(root.join("large.bin")).expect("a file");
    file.set_len(length).expect("room");
    for more in [
        "[defaults]\ncache = false",
        "[defaults]\nlargest_body = \"1MiB\"",
        "",
    ] {
        file.set_len(length).expect("room");
        let larder = serve_with(&root, more);
        let mut client = larder.get("/large.bin").begin();
        let mut answer = client.read_head();
        assert_eq!(
            answer.header("content-length"),
            Some(length.to_string().as_str())
        );
        client.read_body_exactly(&mut answer, 1 << 20);
        file.set_len(1 << 20).expect("less room");
        let rest = client.read_to_end();
        assert!(
            (rest.len() as u64) < length - (1 << 20),
            "{more}: {} bytes more",
            rest.len()
        );
        assert_eq!(
            larder.get("/large.bin").send().body.len(),
            1 << 20,
            "{more}: nothing half is stored"
        );
    }
}

#[test]
fn the_folder_may_be_a_link_that_is_set_to_the_next_release() {
    let all = folder(&[("one/index.html", b"one"), ("two/index.html", b"two")]);
    let current = all.join("current");
    symlink("one", &current).expect("a link");
    let larder = serve(&current);
    assert_eq!(fetched(&larder, "/").text(), "one");
    symlink("two", all.join("next")).expect("a link");
    fs::rename(all.join("next"), &current).expect("the next release");
    assert_eq!(fetched(&larder, "/").text(), "two");
    // What is stored outlives the folder, for as long as an unreachable origin's may.
    fs::remove_file(&current).expect("no release");
    let stale = fetched(&larder, "/");
    assert_eq!((stale.status, stale.text().as_str()), (200, "two"));
    assert_eq!(
        stale.parameter("detail").as_deref(),
        Some("unreadable"),
        "{}",
        stale.said()
    );
    assert_eq!(larder.get("/other").send().status, 500);
}

#[test]
fn a_folder_that_is_none_is_a_fault() {
    let root = folder(&[("file", b"")]);
    for (path, why) in [
        (root.join("file"), "Not a directory"),
        (root.join("none"), "No such file"),
    ] {
        let config = format!("[[origin]]\nstatic = \"{}\"\n", path.display());
        let file = root.join("larder.toml");
        fs::write(&file, config).expect("a file");
        let told = crate::common::command()
            .args(["check".into(), file.into_os_string()])
            .run();
        assert_eq!(told.code, Some(1));
        assert!((told.stdout + &told.stderr).contains(why), "{why}");
    }
}

/// The manifest that `larder publish` writes beside its files.
#[test]
fn what_is_published_is_answered_as_it_was() {
    let manifest = |pages: &str| {
        format!("{{ \"format\": 1, \"site\": \"http://app\", \"pages\": {{ {pages} }} }}")
    };
    let pages = manifest(
        r#""/": { "status": 200, "file": "index.html", "type": "text/html; charset=iso-8859-1",
                 "fields": { "cache-control": "max-age=60", "content-language": "en" }, "tags": ["home"] },
           "/feed": { "status": 200, "file": "feed.xml", "type": "application/rss+xml" },
           "/list": { "status": 200, "file": "list.html" },
           "/list?page=2": { "status": 200, "file": ".larder-publish/pages/2", "type": "text/html" },
           "/old": { "status": 302, "location": "/new" },
           "/lost": { "status": 200, "file": "lost.html" },
           "/outside": { "status": 200, "file": "../outside" }"#,
    );
    let root = folder(&[
        ("index.html", b"home"),
        ("feed.xml", b"feed"),
        ("list.html", b"first"),
        (".larder-publish/pages/2", b"second"),
        (".larder-publish.json", pages.as_bytes()),
        ("robots.txt", b"beside"),
    ]);
    let larder = serve(&root);
    let home = larder.get("/").send();
    assert_eq!(
        home.header("content-type"),
        Some("text/html; charset=iso-8859-1")
    );
    assert_eq!(home.header("cache-control"), Some("max-age=60"));
    assert_eq!(home.header("content-language"), Some("en"));
    assert_eq!(home.header("cache-tag"), None, "tags are for us");
    assert_eq!(
        larder.get("/feed").send().header("content-type"),
        Some("application/rss+xml")
    );
    assert_eq!(larder.get("/old").send().header("location"), Some("/new"));
    for (target, status, body) in [
        ("/list", 200, "first"),
        ("/list?page=2", 200, "second"),
        ("/%6Cist?page=2", 200, "second"),
        ("/list?page=3", 404, "Not Found\n"),
        ("/?utm_source=x", 200, "home"),
        ("/lost", 404, "Not Found\n"),
        ("/outside", 404, "Not Found\n"),
        ("/robots.txt", 200, "beside"),
        ("/.larder-publish.json", 404, "Not Found\n"),
        ("/.larder-publish/pages/2", 404, "Not Found\n"),
    ] {
        let answer = larder.get(target).send();
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (status, body),
            "{target}"
        );
    }
    let testkit::Address::Tcp(admin) = larder.admin() else {
        panic!("a TCP address")
    };
    let admin = admin.to_string();
    let purged = crate::common::command()
        .args(["purge", "--tag", "home", "--admin", &admin])
        .run();
    assert_eq!(purged.code, Some(0), "{}", purged.stderr);
    assert!(!larder.get("/").send().hit(), "it was purged by its tag");
    // Another one: it is read again. And one that is none: plain files.
    write(
        &root,
        ".larder-publish.json",
        manifest(r#""/new": { "status": 301, "location": "/" }"#).as_bytes(),
    );
    assert_eq!(fetched(&larder, "/new").status, 301);
    for bad in [
        &b"{ \"format\": 1"[..],
        b"{ \"format\": 7, \"pages\": {} }",
        b"\xff\0",
        b"",
    ] {
        write(&root, ".larder-publish.json", bad);
        assert_eq!(fetched(&larder, "/new").status, 404);
        assert_eq!(fetched(&larder, "/").text(), "home");
    }
    larder.wait_output("is not understood");
}

/// The manifest of one page with these fields.
fn page(fields: &str) -> String {
    format!(
        r#"{{ "format": 1, "site": "http://app", "pages": {{
            "/a": {{ "status": 200, "file": "a.html", "type": "text/html", "fields": {{ {fields} }} }} }} }}"#
    )
}

/// Whoever publishes what is purged needs a moment, in which the old page may be asked for.
#[test]
fn what_is_published_replaces_what_was_stored_again_after_a_purge() {
    let hour = r#""cache-control": "max-age=3600, stale-while-revalidate=3600""#;
    for (fields, more) in [
        (hour, ""),
        (r#""cache-control": "s-maxage=3600""#, ""),
        ("", "ttl = \"1h\""),
        (hour, "ttl = \"1h\"\nttl_mode = \"override\""),
        ("", "ttl = \"1h\"\nstale.while_revalidate = \"1h\""),
    ] {
        let manifest = page(fields);
        let root = folder(&[
            ("a.html", b"old"),
            (".larder-publish.json", manifest.as_bytes()),
        ]);
        let larder = serve_with(&root, &format!("[defaults]\n{more}\n"));
        larder.get("/a").send();
        let testkit::Address::Tcp(admin) = larder.admin() else {
            panic!("a TCP address")
        };
        let purged = crate::common::command()
            .args(["purge", "--all", "--admin", &admin.to_string()])
            .run();
        assert_eq!(purged.code, Some(0), "{}", purged.stderr);
        let again = larder.get("/a").send();
        assert_eq!(again.text(), "old", "{more}");
        if fields == hour && more.is_empty() {
            let told = again.header("cache-control");
            assert_eq!(told, Some("max-age=3600, stale-while-revalidate=3600"));
        }
        write(&root, "next", b"new");
        fs::rename(root.join("next"), root.join("a.html")).expect("replaced");
        wait_until(&format!("the new page came ({fields} {more})"), || {
            larder.get("/a").send().text() == "new"
        });
    }
}

#[test]
fn a_lifetime_of_the_sites_own_is_given_to_its_own_files() {
    let root = folder(&[("a.html", b"page"), ("b.html", b"page")]);
    let manifest = page("");
    write(&root, ".larder-publish.json", manifest.as_bytes());
    let larder = serve_with(&root, "[defaults]\nttl = \"1h\"\n");
    larder.get("/b.html").send();
    let hit = larder.get("/b.html").send();
    assert!(hit.hit(), "{}", hit.said());
    let left = hit
        .parameter("ttl")
        .and_then(|left| left.parse::<u32>().ok());
    assert!(left.is_some_and(|left| left > 60), "{}", hit.said());
}
