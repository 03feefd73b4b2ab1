//! A folder that `larder publish` has written, as an origin.

use crate::{
    common::Said,
    static_root::{fetched, folder, serve, serve_with, write},
};
use std::fs;
use testkit::wait_until;

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
    larder.wait_output("is served as plain files");
}

/// The name of a page's file may also be the target of another page, which only the application has.
#[test]
fn a_pages_own_file_answers_for_no_other_page() {
    let sandbox = r#""fields": { "content-security-policy": "sandbox" }"#;
    let manifest = format!(
        r#"{{ "format": 1, "site": "http://app", "pages": {{
            "/": {{ "status": 200, "file": "index.html", "type": "text/html", {sandbox} }},
            "/report": {{ "status": 200, "file": "report.html", "type": "text/html", {sandbox} }},
            "/news/index": {{ "status": 200, "file": "news/index.html", "type": "text/html" }},
            "/docs/": {{ "status": 200, "file": "docs/index.html", "type": "text/html" }},
            "/style.css": {{ "status": 200, "file": "style.css", "type": "text/css", {sandbox} }},
            "/app.js": {{ "status": 200, "file": "app.js", "type": "text/javascript" }},
            "/app.js.gz": {{ "status": 200, "file": "app.js.gz", "type": "application/gzip" }} }} }}"#
    );
    let root = folder(&[
        ("index.html", b"home"),
        ("report.html", b"report"),
        ("news/index.html", b"news"),
        ("docs/index.html", b"docs"),
        ("style.css", b"style"),
        ("app.js", b"script"),
        ("app.js.gz", b"another"),
        ("beside.css", b"beside"),
        ("beside.css.gz", b"compressed"),
        (".larder-publish.json", manifest.as_bytes()),
    ]);
    let application = testkit::Origin::start();
    application.otherwise(|_| testkit::Reply::ok().body("application"));
    let chain = format!(
        "[[origin]]\nname = \"app\"\nservers = \"{}\"\n[defaults]\ntry = [\"files\", \"app\"]\n\
         [[origin]]\nname = \"files\"\nstatic = \"{}\"\n",
        application.url(),
        root.display()
    );
    let before = testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&chain)
        .start();
    let alone = serve(&root);
    let none = "Not Found\n";
    for (target, expected, of_folder) in [
        ("/report", "report", "report"),
        ("/report.html", "application", none),
        ("/report%2Ehtml", "application", none),
        ("/report.html?a=b", "application", none),
        ("/index.html", "application", none),
        ("/?utm_source=x", "application", "home"),
        ("/news/index", "news", "news"),
        ("/news/", "application", none),
        ("/news", "application", none),
        ("/docs/", "docs", "docs"),
        ("/docs", "", ""),
        ("/style.css?v=3", "style", "style"),
        ("/app.js", "script", "script"),
        ("/app.js.gz", "another", "another"),
        ("/beside.css", "compressed", "compressed"),
    ] {
        let get = |larder: &testkit::Larder| {
            let answer = larder.get(target).header("Accept-Encoding", "gzip").send();
            let is_coded = answer.header("content-encoding").is_some();
            assert_eq!(is_coded, target == "/beside.css", "{target}");
            let policy = answer.header("content-security-policy");
            let has_policy = ["home", "report", "style"].contains(&answer.text().as_str());
            assert_eq!(policy, has_policy.then_some("sandbox"), "{target}");
            answer.text()
        };
        assert_eq!(get(&before), expected, "{target}");
        assert_eq!(get(&alone), of_folder, "{target}, alone");
    }
    let moved = before.get("/docs").send();
    assert_eq!(moved.header("location"), Some("/docs/"));
}

/// The manifest of one page with these fields.
pub(crate) fn page(fields: &str) -> String {
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
