//! Names that are none: nothing is written outside of the folder, no page over another, and nobody else's file is touched.

use crate::common::{Site, html};
use std::{collections::HashSet, fs, os::unix::fs::symlink};

#[test]
fn no_name_leaves_the_folder() {
    let long = format!("/{}", "x".repeat(400));
    let targets = [
        "/a/%2e%2e/%2E%2e/%2e%2e/escaped",
        "/a%2F..%2F..%2Fescaped",
        "/..%5C..%5Cescaped",
        "//etc//passwd",
        "/%00nul",
        "/line%0Abreak",
        "/%FFbytes",
        "/.htaccess",
        "/.larder-publish.json",
        "/.larder-publish/lock",
        "/caf%C3%A9",
        "/?next=/../../escaped",
        "/list?a=%2F..%2Fescaped",
        &long,
        "/run.php",
        "/Page",
        "/page",
    ];
    let site = Site::new(&[]);
    let links: Vec<_> = targets
        .iter()
        .map(|target| format!("<a href=\"http://{}{target}\">", site.origin.address()))
        .collect();
    site.origin.reply("/", html(&links.concat()));
    site.origin
        .otherwise(|request| html(&format!("page {}", request.target)));
    let page = html(&format!("page {}", targets[11]));
    site.origin.reply(targets[11], page);
    let told = site.published(&[]);
    assert_eq!(
        told,
        format!("{} new, 0 changed, 0 unchanged\n", targets.len() + 1)
    );
    let beside: Vec<_> = fs::read_dir(site.folder.parent().expect("a folder"))
        .expect("a folder")
        .collect();
    assert_eq!(beside.len(), 1, "{beside:?}");
    // Every page has a file of its own, with its own body.
    let pages = site.manifest();
    let files: HashSet<_> = pages
        .values()
        .map(|page| page["file"].as_str().expect("a file"))
        .collect();
    assert_eq!(files.len(), targets.len() + 1);
    for (target, page) in pages.iter().filter(|(target, _)| *target != "/") {
        let text = site.text(page["file"].as_str().expect("a file"));
        assert_eq!(text, format!("page {target}"));
    }
    let plain = [
        "Page.html",
        "café.html",
        "escaped.html",
        "index.html",
        "list?a=%2F..%2Fescaped.html",
        "page.html",
        "run.php.html",
    ];
    assert_eq!(site.files(), plain);
}

#[test]
fn a_file_and_a_folder_of_one_name() {
    let site = Site::new(&[("/", &["/a", "/a/", "/a/b", "/v1.2", "/v1.2/x", "/a.html"])]);
    site.origin.otherwise(|request| html(&request.target));
    let data = testkit::Reply::ok()
        .header("Content-Type", "application/x-own")
        .body("data");
    site.origin.reply("/v1.2", data);
    assert_eq!(
        site.published(&["--concurrency", "1"]),
        "7 new, 0 changed, 0 unchanged\n"
    );
    assert_eq!(
        site.files(),
        ["a.html", "a/b.html", "a/index.html", "index.html", "v1.2"]
    );
    for target in ["/a", "/a/", "/a/b", "/v1.2/x", "/a.html"] {
        assert_eq!(
            site.text(site.said(target)["file"].as_str().expect("a file")),
            target
        );
    }
    // Who has a name keeps it.
    let before = site.manifest();
    assert_eq!(site.published(&[]), "0 new, 0 changed, 7 unchanged\n");
    assert_eq!(site.manifest(), before);
}

#[test]
fn what_others_put_there_is_left_alone() {
    let site = Site::new(&[
        ("/", &["/own", "/dir/x", "/link/y", "/ok"]),
        ("/own", &[]),
        ("/dir/x", &[]),
        ("/link/y", &[]),
        ("/ok", &[]),
    ]);
    let outside = site.folder.parent().expect("a folder").join("outside");
    fs::create_dir_all(&outside).expect("a folder");
    fs::create_dir_all(&site.folder).expect("a folder");
    fs::write(site.folder.join("own.html"), "mine").expect("a file");
    fs::write(site.folder.join("dir"), "no folder").expect("a file");
    symlink(&outside, site.folder.join("link")).expect("a link");
    let done = site.publish(&["--prune"]);
    assert_eq!(done.code, Some(1));
    assert_eq!(
        done.stdout,
        "2 new, 0 changed, 0 unchanged, 3 in the way of other files\n"
    );
    assert!(
        done.stderr
            .contains("own.html is there and was not written by larder publish: it is left alone"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr
            .contains("dir is there and is no folder: it is left alone"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr
            .contains("link is there and is no folder: it is left alone"),
        "{}",
        done.stderr
    );
    assert_eq!(site.text("own.html"), "mine");
    assert_eq!(fs::read_dir(outside).expect("a folder").count(), 0);
    assert_eq!(site.text("ok.html"), "");
}

/// A visitor may have uploaded it, and a plain web server goes by the name.
#[test]
fn a_download_does_not_become_a_page() {
    let (octets, attachment) = ("application/octet-stream", Some("attachment; filename=x"));
    let pages = [
        ("/up/a.html", octets, None, None),
        ("/up/b.html", "text/html", attachment, None),
        ("/up/c.svg", "text/plain", None, Some("up/c.svg.txt")),
        ("/up/d.HTML", "application/x-download", None, None),
        ("/up/e.xhtml", octets, attachment, None),
        ("/up/f.html?v=1", octets, None, None),
        ("/up/g.html.x1", octets, None, None),
        ("/up/h", "text/html", attachment, None),
        ("/up/i.svg", "image/svg+xml", attachment, None),
        ("/up/j.svg", "image/svg+xml", None, Some("up/j.svg")),
        ("/up/k.html", "text/html", Some("inline"), Some("up/k.html")),
        ("/up/l.pdf", "application/pdf", attachment, Some("up/l.pdf")),
    ];
    let site = Site::new(&[]);
    for (target, kind, disposition, _) in pages {
        let mut reply = testkit::Reply::ok().header("Content-Type", kind);
        if let Some(disposition) = disposition {
            reply = reply.header("Content-Disposition", disposition);
        }
        site.origin.reply(target, reply.body("<script>"));
    }
    let targets = pages.map(|(target, ..)| target);
    let told = site.published(&targets);
    assert_eq!(told, "12 new, 0 changed, 0 unchanged\n");
    for (target, kind, _, file) in pages {
        let page = site.said(target);
        let own = page["file"].as_str().expect("a file");
        match file {
            Some(file) => assert_eq!(own, file, "{target}"),
            None => assert!(
                own.starts_with(".larder-publish/pages/") && own.rsplit('.').next() == Some("bin"),
                "{target}: {own}"
            ),
        }
        assert_eq!(page["type"], kind, "{target}");
    }
    let plain: Vec<_> = pages.iter().filter_map(|(.., file)| *file).collect();
    assert_eq!(site.files(), plain);
}
