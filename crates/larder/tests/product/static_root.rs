//! A folder as an origin.

use crate::{
    common::{Said, command_of_anybody},
    static_published::page,
};
use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
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

pub(crate) fn serve(root: &Path) -> Larder {
    serve_with(root, "")
}

pub(crate) fn serve_with(root: &Path, more: &str) -> Larder {
    let config = format!("{more}\n[[origin]]\nstatic = \"{}\"\n", root.display());
    testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&config)
        .start()
}

/// The file as it is now, asked for past what is stored.
pub(crate) fn fetched(larder: &Larder, path: &str) -> Response {
    larder.get(path).header("Cache-Control", "no-cache").send()
}

/// Waits until the file is old enough to have validators.
pub(crate) fn settled(larder: &Larder, path: &str) -> Response {
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
    let refused = larder.get("/other").send();
    assert_eq!(refused.status, 500);
    let path = all.to_string_lossy().into_owned();
    assert!(!refused.text().contains(&path), "{}", refused.text());
    larder.wait_output("a file cannot be served");
    larder.wait_output(&path);
}

/// What is there is not known. So nothing is taken to be missing, and another origin is asked where there is one.
#[test]
fn what_may_not_be_read_is_not_missing() {
    let root = folder(&[
        ("a.css", b"kept"),
        ("b.css", b"kept"),
        ("b.css.gz", b"packed"),
        ("c/index.html", b"kept"),
        ("d/index.html", b"kept"),
        (".larder-publish.json", page("").as_bytes()),
    ]);
    let server = testkit::Origin::start();
    server.otherwise(|_| testkit::Reply::ok().body("the application's"));
    let config = format!(
        "[[origin]]\nname = \"static\"\nstatic = {:?}\n[[origin]]\nname = \"app\"\nservers = {:?}\n\
         [defaults]\norigin = \"static\"\nttl = \"1m\"\n\
         [[route]]\nhost = \"chain.test\"\ntry = [\"static\", \"app\"]\n",
        root.display().to_string(),
        server.url()
    );
    let larder = command_of_anybody()
        .args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
        .config(&config)
        .start();
    assert_eq!(fetched(&larder, "/a.css").text(), "kept");
    let mode = |path: &str, mode| {
        fs::set_permissions(root.join(path), Permissions::from_mode(mode)).expect("a mode");
    };
    let is_unreadable = |path: &str| {
        let alone = fetched(&larder, path);
        let detail = alone.parameter("detail");
        assert_eq!(detail.as_deref(), Some("unreadable"), "{path}");
        let in_turn = larder.get(path).header("Host", "chain.test").send();
        assert_eq!(in_turn.text(), "the application's", "{path}");
        (alone.status, alone.text())
    };
    for path in ["a.css", "b.css.gz", "c", "d/index.html"] {
        mode(path, 0o000);
    }
    assert_eq!(is_unreadable("/a.css"), (200, "kept".to_owned()));
    for path in ["/c/", "/c", "/c/none.css", "/d/", "/d"] {
        assert_eq!(is_unreadable(path).0, 500, "{path}");
    }
    larder.wait_output("no permission to read");
    // The file that was asked for may be read.
    let packed = larder
        .get("/b.css")
        .header("Accept-Encoding", "gzip")
        .send();
    assert_eq!(packed.text(), "kept");
    assert_eq!(fetched(&larder, "/none.css").status, 404);
    for path in [".larder-publish.json", ""] {
        mode(path, 0o000);
        assert_eq!(is_unreadable("/none/").0, 500, "{path}");
        mode(path, 0o755);
    }
    assert_eq!(fetched(&larder, "/none.css").status, 404);
    mode("c", 0o755);
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
