use super::*;
use crate::fastcgi::config::Paths;
use proptest::prelude::*;
use std::{os::unix::fs::symlink, sync::LazyLock};

fn site(front: Option<&str>) -> FastCgi {
    let root = testkit::scratch_dir();
    for (path, text) in [
        ("index.php", "front"),
        ("a.php", "script"),
        ("style.css", "file"),
        ("b/index.html", "file"),
        (
            "b/c.php/d.php",
            "script in a folder that is called like one",
        ),
        ("uploads/evil.php", "evil"),
        (".hidden.php", "hidden"),
        (".well-known/x.txt", "file"),
        ("old.php.bak", "source"),
        ("guarded/book.pdf", "sold"),
    ] {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    for path in [
        b"caf\xe9.txt".as_slice(),
        b"caf\xe9.php",
        b"b\xe9/index.html",
        b"uploads/\xe9\n.php",
        b"guarded/\xe9\n.pdf",
        b"old.php.\xe9",
    ] {
        let file = root.join(OsStr::from_bytes(path));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
    }
    put_links(&root);
    FastCgi {
        root,
        index: vec!["index.php".to_owned(), "index.html".to_owned()],
        front: front.map(str::to_owned),
        scripts: Paths::new("", |path| path.strip_suffix(".php").is_some()),
        no_scripts: Paths::new("", |path| path.starts_with("/uploads/")),
        no_files: Paths::new("", |path| path.starts_with("/guarded/")),
        params: Vec::new(),
    }
}

/// Links that stay inside, and some that do not.
fn put_links(root: &Path) {
    let sold = OsStr::from_bytes(b"guarded/\xe9\n.pdf");
    symlink(sold, root.join("sold.pdf")).unwrap();
    symlink(OsStr::from_bytes(b"caf\xe9.txt"), root.join("cafe.txt")).unwrap();
    for (name, to) in [
        ("open.pdf", "guarded/book.pdf"),
        ("source.txt", "a.php"),
        ("out.txt", "/etc/hostname"),
        ("out.php", "/etc/hostname"),
        ("round.css", "round.css"),
        ("in.css", "style.css"),
    ] {
        symlink(to, root.join(name)).unwrap();
    }
    for (name, to) in [
        ("absolute.css", "style.css"),
        ("folder", "b"),
        ("absolute.pdf", "guarded/book.pdf"),
        ("absolute.php", "uploads/evil.php"),
    ] {
        symlink(root.join(to), root.join(name)).unwrap();
    }
}

/// Where a path leads, in words.
fn lead(site: &FastCgi, path: &str) -> String {
    match find(site, path) {
        Ok(ResolvedPath::Script(Script { name, info, .. })) => match info {
            Some(info) => format!("run {} + {}", encoded(&name), encoded(&info)),
            None => format!("run {}", encoded(&name)),
        },
        Ok(ResolvedPath::File(NamedFile { name, real })) => {
            let real = [b"/", real.as_os_str().as_bytes()].concat();
            match encoded(&name) {
                text if name == real => format!("file {text}"),
                text => format!("file {text} at {}", encoded(&real)),
            }
        }
        Ok(ResolvedPath::Folder(path)) => format!("folder {path}"),
        Ok(ResolvedPath::Refused) => "refused".to_owned(),
        Ok(ResolvedPath::Nothing | ResolvedPath::NoFront(_)) => "nothing".to_owned(),
        Err(error) => error.kind().token().to_owned(),
    }
}

#[test]
fn where_paths_lead() {
    let site = site(None);
    for (path, wanted) in [
        ("/", "run /index.php"),
        ("/a.php", "run /a.php"),
        ("/%61.php", "run /a.php"),
        ("/a.php/", "run /a.php + /"),
        ("/a.php/b/c.php", "run /a.php + /b/c.php"),
        ("/b/c.php/d.php", "run /b/c.php/d.php"),
        ("/b/c.php/d.php/e", "run /b/c.php/d.php + /e"),
        ("/b/c.php", "nothing"),
        ("/b/", "file /b/index.html"),
        ("/b", "folder /b/"),
        ("/style.css", "file /style.css"),
        ("/style.css/", "nothing"),
        ("/style.css/x.php", "nothing"),
        ("/A.php", "nothing"),
        ("/uploads/evil.php", "refused"),
        ("/uploads/evil.php/x", "refused"),
        ("/uploads/", "nothing"),
        ("/old.php.bak", "refused"),
        ("/guarded/book.pdf", "refused"),
        ("/guarded/book%2Epdf", "refused"),
        ("/guarded/none.pdf", "nothing"),
        ("/.hidden.php", "nothing"),
        ("/.well-known/x.txt", "file /.well-known/x.txt"),
        ("/./a.php", "nothing"),
        ("/b/../a.php", "nothing"),
        ("/b/%2e%2e/a.php", "nothing"),
        ("//a.php", "nothing"),
        ("/b//index.html", "nothing"),
        ("//", "nothing"),
        ("/b%2Findex.html", "nothing"),
        ("/a.php%00", "nothing"),
        ("/a.php%0a", "nothing"),
        ("/a.php%", "nothing"),
        ("/a.php%4", "nothing"),
        ("/a.php%ff", "nothing"),
        ("*", "nothing"),
        ("", "nothing"),
    ] {
        assert_eq!(lead(&site, path), wanted, "{path}");
    }
}

#[test]
fn where_links_lead() {
    let site = site(None);
    for (path, wanted) in [
        ("/open.pdf", "refused"),
        ("/source.txt", "refused"),
        ("/out.txt", "outside"),
        ("/out.php", "outside"),
        ("/out.php/x", "outside"),
        ("/in.css", "file /in.css at /style.css"),
        ("/absolute.css", "file /absolute.css at /style.css"),
        ("/folder/", "file /folder/index.html at /b/index.html"),
        ("/folder", "folder /folder/"),
        ("/absolute.pdf", "refused"),
        ("/absolute.php", "refused"),
        ("/round.css", "nothing"),
    ] {
        assert_eq!(lead(&site, path), wanted, "{path}");
    }
}

#[test]
fn where_paths_lead_that_are_no_text() {
    let site = site(None);
    for (path, wanted) in [
        ("/caf%E9.txt", "file /caf%E9.txt"),
        ("/caf%C3%A9.txt", "nothing"),
        ("/cafe.txt", "file /cafe.txt at /caf%E9.txt"),
        ("/caf%E9.php", "run /caf%E9.php"),
        ("/caf%e9.php/%E9", "run /caf%E9.php + /%E9"),
        ("/b%E9", "folder /b%E9/"),
        ("/b%E9/", "file /b%E9/index.html"),
        ("/a.php/caf%E9", "run /a.php + /caf%E9"),
        ("/a.php/caf%C3%A9", "run /a.php + /caf%C3%A9"),
        ("/a.php/a%09b%0A", "run /a.php + /a%09b%0A"),
        ("/a.php/%FF/", "run /a.php + /%FF/"),
        ("/uploads/%E9%0A.php", "refused"),
        ("/uploads/%E9%0A.php/x", "refused"),
        ("/guarded/%E9%0A.pdf", "refused"),
        ("/sold.pdf", "refused"),
        ("/old.php.%E9", "refused"),
        ("/%E9/.hidden", "nothing"),
        ("/%E9/../a.php", "nothing"),
        ("/a.php/%E9%2Fb", "nothing"),
        ("/a.php/%E9%00", "nothing"),
        ("/a.php/%E9//b", "nothing"),
    ] {
        assert_eq!(lead(&site, path), wanted, "{path}");
    }
}

#[test]
fn what_is_not_there_is_the_fronts() {
    let site = site(Some("index.php"));
    for path in [
        "/nothing",
        "/b%2Findex.html",
        "//",
        "/uploads/",
        "/nothing.php",
    ] {
        let found = find(&site, path).unwrap();
        assert!(
            matches!(&found, ResolvedPath::Script(script) if script.name == b"/index.php" && script.info.is_none()),
            "{path}: {found:?}"
        );
    }
    for (path, wanted) in [
        ("/.git/config", ResolvedPath::Nothing),
        ("/uploads/evil.php", ResolvedPath::Refused),
    ] {
        assert_eq!(find(&site, path).unwrap(), wanted, "{path}");
    }
}

#[test]
fn without_the_front_nobody_knows_what_is_not_there() {
    let site = site(Some("b"));
    let front = site.root.canonicalize().unwrap().join("b");
    for path in ["/nothing", "//", "/uploads/", "/nothing.php"] {
        let found = find(&site, path).unwrap();
        assert_eq!(found, ResolvedPath::NoFront(front.clone()), "{path}");
    }
    assert_eq!(find(&site, "/.git/config").unwrap(), ResolvedPath::Nothing);
    assert!(matches!(
        find(&site, "/a.php").unwrap(),
        ResolvedPath::Script(_)
    ));
}

/// The log has a line for each message, and a client chooses what is looked up.
#[test]
fn a_path_in_a_message_is_one_line() {
    for (path, wanted) in [
        (b"/srv/a b/\xc3\xa9.php".as_slice(), "/srv/a b/é.php"),
        (b"/srv/\n\x1b[2J", "/srv/\\n\\u{1b}[2J"),
        (b"/srv/\xe9", "/srv/\u{fffd}"),
    ] {
        assert_eq!(told(Path::new(OsStr::from_bytes(path))), wanted);
    }
}

#[test]
fn only_an_absence_is_nothing() {
    for (errno, is_nothing) in [
        (Errno::NOENT, true),
        (Errno::NOTDIR, true),
        (Errno::NAMETOOLONG, true),
        (Errno::INVAL, true),
        (Errno::LOOP, true),
        (Errno::ACCESS, false),
        (Errno::PERM, false),
        (Errno::IO, false),
        (Errno::STALE, false),
        (Errno::NOMEM, false),
        (Errno::TIMEDOUT, false),
    ] {
        assert_eq!(is_absence(&errno.into()), is_nothing, "{errno}");
    }
    let zero_byte = fs::metadata("a\0b").unwrap_err();
    assert!(is_absence(&zero_byte), "{zero_byte}");
}

#[test]
fn a_location_stays_on_the_site() {
    for (path, wanted) in [
        ("/a b", "/a%20b"),
        ("/ä", "/%C3%A4"),
        ("/a\\b", "/a%5Cb"),
        ("/a?b", "/a%3Fb"),
    ] {
        assert_eq!(encoded(path.as_bytes()), wanted);
    }
}

proptest! {
    #[test]
    fn nothing_outside_the_root_is_found(path in "(/|\\.|%2e|%2f|%5c|\\.php|a|b|index|uploads|evil|%00|%0a|%e9){0,12}") {
        static SITE: LazyLock<FastCgi> = LazyLock::new(|| site(Some("index.php")));
        let site = &*SITE;
        let real = site.root.canonicalize().unwrap();
        match find(site, &format!("/{path}")).unwrap() {
            ResolvedPath::Script(script) => {
                let file = script.file.canonicalize().unwrap();
                prop_assert!(file.starts_with(&real) && !file.starts_with(real.join("uploads")));
            }
            ResolvedPath::File(file) => {
                let named = below(&real, &file.name).canonicalize().unwrap();
                prop_assert!(named.starts_with(&real));
                prop_assert_eq!(real.join(file.real), named);
            }
            ResolvedPath::Folder(path) => prop_assert!(path.starts_with('/') && !path.starts_with("//")),
            ResolvedPath::Refused | ResolvedPath::Nothing | ResolvedPath::NoFront(_) => {}
        }
    }
}
