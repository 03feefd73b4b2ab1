use super::*;
use crate::fastcgi::config::Paths;
use proptest::prelude::*;
use std::sync::LazyLock;

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
    for (name, to) in [
        ("open.pdf", "guarded/book.pdf"),
        ("source.txt", "a.php"),
        ("out.txt", "/etc/hostname"),
        ("out.php", "/etc/hostname"),
        ("round.css", "round.css"),
        ("in.css", "style.css"),
    ] {
        std::os::unix::fs::symlink(to, root.join(name)).unwrap();
    }
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
        ("/open.pdf", "refused"),
        ("/source.txt", "refused"),
        ("/out.txt", "outside"),
        ("/out.php", "outside"),
        ("/out.php/x", "outside"),
        ("/in.css", "file /in.css"),
        ("/round.css", "nothing"),
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
        let found = match find(&site, path) {
            Ok(ResolvedPath::Script(Script { name, info, .. })) => match info {
                Some(info) => format!("run {name} + {info}"),
                None => format!("run {name}"),
            },
            Ok(ResolvedPath::File(path)) => format!("file {path}"),
            Ok(ResolvedPath::Folder(path)) => format!("folder {path}"),
            Ok(ResolvedPath::Refused) => "refused".to_owned(),
            Ok(ResolvedPath::Nothing | ResolvedPath::NoFront(_)) => "nothing".to_owned(),
            Err(error) => error.kind().detail().to_owned(),
        };
        assert_eq!(found, wanted, "{path}");
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
            matches!(&found, ResolvedPath::Script(script) if script.name == "/index.php" && script.info.is_none()),
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
        assert_eq!(encoded(path), wanted);
    }
}

proptest! {
    #[test]
    fn nothing_outside_the_root_is_found(path in "(/|\\.|%2e|%2f|%5c|\\.php|a|b|index|uploads|evil|%00){0,12}") {
        static SITE: LazyLock<FastCgi> = LazyLock::new(|| site(Some("index.php")));
        let site = &*SITE;
        let real = site.root.canonicalize().unwrap();
        match find(site, &format!("/{path}")).unwrap() {
            ResolvedPath::Script(script) => {
                let file = script.file.canonicalize().unwrap();
                prop_assert!(file.starts_with(&real) && !file.starts_with(real.join("uploads")));
            }
            ResolvedPath::File(path) => {
                let file = real.join(path.trim_start_matches('/')).canonicalize().unwrap();
                prop_assert!(file.starts_with(&real));
            }
            ResolvedPath::Folder(path) => prop_assert!(path.starts_with('/') && !path.starts_with("//")),
            ResolvedPath::Refused | ResolvedPath::Nothing | ResolvedPath::NoFront(_) => {}
        }
    }
}
