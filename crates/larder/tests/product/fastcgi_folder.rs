//! A site's folder that cannot be read, or has lost its front, is not taken for one without pages, and the log tells of
//! it.

use crate::common::{Said, command_of_anybody};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use testkit::{
    FastCgi, Larder, Response,
    fastcgi::{Next, output},
    scratch_dir,
};

/// A folder with these files.
fn root(files: &[&str]) -> PathBuf {
    let root = scratch_dir();
    for path in files {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "the file itself").unwrap();
    }
    root
}

fn origin(server: &FastCgi, root: &Path, more: &str) -> String {
    let root = root.display().to_string();
    let url = server.url();
    format!("[[origin]]\nfastcgi = {url:?}\nroot = {root:?}\n{more}\n")
}

/// Before scripts. What it gets holds for a while, also a 404. Modes mean something to it.
fn serve(root: &Path, more: &str) -> (FastCgi, Larder) {
    let server = FastCgi::with_output("Cache-Control: max-age=60\r\n\r\na page");
    let larder = command_of_anybody()
        .args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
        .config(&format!(
            "{}[defaults]\nttl = {{ \"200\" = \"1m\", \"404\" = \"1m\" }}\n",
            origin(&server, root, more)
        ))
        .start();
    (server, larder)
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// The origin's own answer, or what stands in for it.
fn fetched(larder: &Larder, path: &str) -> Response {
    larder.get(path).header("Cache-Control", "no-cache").send()
}

/// The answer has this status and text, and `Cache-Status` gives this reason, besides the client's own.
#[track_caller]
fn is(answer: &Response, status: u16, text: &str, detail: Option<&str>) {
    assert_eq!(answer.status, status, "{}", answer.said());
    assert!(answer.text().contains(text), "{}", answer.text());
    let told = answer.parameter("detail");
    let told = told.filter(|told| told != "request-no-cache");
    assert_eq!(told.as_deref(), detail, "{}", answer.said());
}

#[test]
fn a_folder_that_may_not_be_read_is_no_site_without_pages() {
    let root = root(&["index.php", "style.css"]);
    let (server, larder) = serve(&root, "");
    is(&larder.get("/post/").send(), 200, "a page", None);
    is(&larder.get("/style.css").send(), 200, "the file", None);
    mode(&root, 0o000);
    let unreadable = Some("unreadable");
    is(&fetched(&larder, "/post/"), 200, "a page", unreadable);
    is(&fetched(&larder, "/style.css"), 200, "the file", unreadable);
    for path in ["/other/", "/index.php", "/other.css", "//"] {
        let answer = fetched(&larder, path);
        is(&answer, 500, "cannot be read", unreadable);
        let named = root.display().to_string();
        assert!(!answer.text().contains(&named), "{}", answer.text());
    }
    let real = root.canonicalize().unwrap();
    larder.wait_output("a file cannot be served");
    larder.wait_output(&format!("{}/post/: Permission denied", real.display()));
    // Names that nobody looks up, and names that no file can have.
    is(&fetched(&larder, "/.git/config"), 404, "Not Found", None);
    mode(&root, 0o755);
    for path in ["/post/", "/other/"] {
        is(&fetched(&larder, path), 200, "a page", None);
        is(&larder.get(path).send(), 200, "a page", None);
    }
    assert_eq!(server.requests(), 3);
}

#[test]
fn a_file_that_may_not_be_read_is_not_the_scripts() {
    let root = root(&["index.php", "wp-content/a.css", "own.css", "b/index.html"]);
    let (server, larder) = serve(&root, "");
    mode(&root.join("wp-content"), 0o000);
    mode(&root.join("own.css"), 0o000);
    mode(&root.join("b"), 0o000);
    for path in [
        "/wp-content/a.css",
        "/wp-content/none.css",
        "/wp-content/a.php/x",
        "/own.css",
        "/b/",
        "/b",
    ] {
        is(
            &fetched(&larder, path),
            500,
            "cannot be read",
            Some("unreadable"),
        );
    }
    larder.wait_output("wp-content/a.css: Permission denied");
    assert_eq!(server.requests(), 0);
    // What is not there is still the front's, also under a name that no file can have.
    let long = "a".repeat(300);
    for path in [
        "/none",
        "/own.css/x",
        &format!("/{long}"),
        &format!("/{long}/x.php"),
    ] {
        is(&larder.get(path).send(), 200, "a page", None);
    }
    assert_eq!(server.requests(), 4);
    mode(&root.join("wp-content"), 0o755);
    mode(&root.join("b"), 0o755);
}

/// As in a deployment that removes the files before it writes the new ones.
#[test]
fn a_front_that_is_missing_for_a_moment_is_no_404() {
    let root = root(&["index.php", "a.php", "b/x.css"]);
    let (server, larder) = serve(&root, "");
    is(&larder.get("/post/").send(), 200, "a page", None);
    fs::remove_file(root.join("index.php")).unwrap();
    let failed = Some("configuration");
    is(&fetched(&larder, "/post/"), 200, "a page", failed);
    for path in ["/other/", "/", "/b/", "/none.css", "//"] {
        let answer = larder.get(path).send();
        is(&answer, 500, "cannot work", failed);
        assert!(!answer.text().contains("index.php"), "{}", answer.text());
    }
    larder.wait_output("/index.php is not there any more");
    is(&larder.get("/a.php").send(), 200, "a page", None);
    is(&larder.get("/b/x.css").send(), 200, "the file", None);
    is(&larder.get("/.git/config").send(), 404, "Not Found", None);
    fs::write(root.join("index.php"), "").unwrap();
    for path in ["/other/", "/"] {
        is(&larder.get(path).send(), 200, "a page", None);
    }
    assert_eq!(server.requests(), 4);
}

/// A script may have changed its page before it redirected to what cannot be had.
#[test]
fn a_failure_after_a_script_has_run_leaves_no_fresh_page() {
    let root = root(&["index.php", "a.php"]);
    let (server, larder) = serve(&root, "");
    server.answer(|call, line| {
        line.send(output(match call.params["REQUEST_METHOD"].as_str() {
            "POST" => "Location: /none\r\n\r\n",
            _ => "Cache-Control: max-age=60\r\n\r\na page",
        }));
        Next::Close
    });
    for path in ["/", "/a.php"] {
        is(&larder.get(path).send(), 200, "a page", None);
    }
    fs::remove_file(root.join("index.php")).unwrap();
    assert!(larder.get("/a.php").send().hit());
    let posted = larder.ask("POST", "/a.php").body("x").send();
    is(&posted, 500, "cannot work", Some("configuration"));
    assert!(!larder.get("/a.php").send().hit());
    assert_eq!(server.requests(), 4);
}

/// Whether it says so, or never had one.
#[test]
fn a_site_without_a_front_says_that_a_page_is_none() {
    for written in ["front = \"off\"", ""] {
        let root = root(&["a.php"]);
        let (server, larder) = serve(&root, written);
        for path in ["/other/", "/"] {
            is(&larder.get(path).send(), 404, "Not Found", None);
            assert!(larder.get(path).send().hit(), "{path}");
        }
        assert_eq!(server.requests(), 0);
    }
}

/// Files and pages are compressed in the same way. Where that is not done here, a compressed file beside a file is sent.
#[test]
fn a_compressed_file_beside_a_file_is_sent_where_nothing_is_compressed_here() {
    let root = root(&["index.php", "own.css"]);
    fs::write(root.join("style.css"), "a rule".repeat(200)).unwrap();
    fs::write(root.join("style.css.gz"), "made in advance").unwrap();
    for (policy, is_beside) in [
        ("", false),
        ("compress = false", true),
        ("cache = false", true),
    ] {
        let server = FastCgi::with_output("Cache-Control: max-age=60\r\n\r\na page");
        let larder = command_of_anybody()
            .args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .config(&format!(
                "{}[defaults]\n{policy}\n",
                origin(&server, &root, "")
            ))
            .start();
        let ask = larder.get("/style.css").header("Accept-Encoding", "gzip");
        let answer = ask.send();
        assert_eq!(answer.header("content-encoding"), Some("gzip"), "{policy}");
        let sent = String::from_utf8_lossy(&answer.body);
        assert_eq!(sent == "made in advance", is_beside, "{policy}");
    }
}
