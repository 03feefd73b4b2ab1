use super::*;
use proptest::prelude::*;

#[test]
fn what_origins_read_in_several_ways() {
    for (written, read) in [
        ("//admin/y", "/admin/y"),
        ("/x/../admin/y", "/admin/y"),
        ("/x/..;/admin/y", "/admin/y"),
        ("/;a=b/admin;c/y;d", "/admin/y"),
        ("/x/..%2Fadmin/y", "/admin/y"),
        ("/x%5C..\\admin/y", "/admin/y"),
        ("/x\\..\\admin/y", "/admin/y"),
        ("/x/..%5Cadmin/y", "/admin/y"),
        ("/./admin/.", "/admin/"),
        ("/admin/x/..", "/admin/"),
        ("/../..", "/"),
        ("//", "/"),
        ("/admin%2Fy", "/admin/y"),
        ("/%40admin/y", "/@admin/y"),
        ("/wiki/Special%3Ay", "/wiki/Special:y"),
        ("/%28a%29%5Bb%5D%2C%2B", "/(a)[b],+"),
        ("/x/..%3Ba/%40admin%2Fy", "/@admin/y"),
        ("/100%25/y", "/100%/y"),
        ("/%2540admin/y", "/%40admin/y"),
        ("/%252Fadmin", "/%2Fadmin"),
        ("/%%341", "/%41"),
        ("/%u0061dmin/y", "/admin/y"),
        ("/admi%U006E/y", "/admin/y"),
        ("/%u002e/admin/y", "/admin/y"),
        ("/x/%u002e%u002e/admin/y", "/admin/y"),
        ("/admin%u002Fy", "/admin/y"),
        ("/%u0040admin%u003ba/y", "/@admin/y"),
        ("/caf%u00e9", "/caf%C3%A9"),
    ] {
        assert_eq!(
            readings(written).first().map(String::as_str),
            Some(read),
            "{written}"
        );
    }
}

/// Flask, Django, Bottle and Starlette decode a slash, and leave the dots behind it to their routes.
#[test]
fn some_origins_leave_dots() {
    for (written, read) in [
        ("/admin%2F..%2Fx.css", "/admin/../x.css"),
        ("/admin%2F.%2Fx.css", "/admin/./x.css"),
        ("/admin%2F..", "/admin/.."),
        ("/admin%5C..%5Cx", "/admin\\..\\x"),
        ("/admin%5C..%5Cx", "/admin/../x"),
        ("/%2Fadmin%2F..;a/x", "//admin/../x"),
    ] {
        let all = readings(written);
        assert!(all.iter().any(|one| one == read), "{written}: {all:?}");
    }
}

/// As the routes of Python's frameworks do at the end, and as Bottle does anywhere.
#[test]
fn some_origins_overlook_bytes() {
    for (written, read) in [
        ("/admin%0A", &["/admin"][..]),
        ("/admin%0A/", &[]),
        ("/admin%2F%0A", &["/admin/%0A", "/admin/", "/admin%2F"]),
        ("/admin%FF", &["/admin"]),
        ("/%FFadmin/%C3%A9", &["/admin/%C3%A9"]),
        ("/ad%C3min%E2%82", &["/admin"]),
        ("/%C3%A9%A9", &["/%C3%A9"]),
        ("/caf%C3%A9/%E2%82%AC", &[]),
        ("/a%", &[]),
        (
            "/%FF%2Fadmin",
            &["/%FF/admin", "//admin", "/admin", "/%2Fadmin", "/"],
        ),
    ] {
        let mut all = readings(written);
        let mut expected = read.to_vec();
        all.sort();
        expected.sort_unstable();
        assert_eq!(all, expected, "{written}");
    }
}

/// Each reading is told once, and no slash is added to one that ends a path.
#[test]
fn all_that_origins_read() {
    assert_eq!(readings("/a//"), ["/a/"]);
    assert_eq!(readings("//a"), ["/a", "/"]);
}

/// What an origin leaves undone decides which segment a `..` removes.
#[test]
fn what_some_origins_read() {
    for (written, read) in [
        ("/static/..%2Fme%2F..;%2Fpic.css", "/me/..;/pic.css"),
        ("/y%2F..%2Fme%2F..%5C", "/me/..\\"),
        ("/y%2F..%2Fme%2F%2F..", "/me/"),
        ("/a%2Fb/../admin/x", "/admin/x"),
        ("/y/../admin//../x", "/admin/x"),
        ("/a/../admin/..;/z", "/admin/..;/z"),
        ("/%40admin%2Fy", "/@admin%2Fy"),
        ("/%40admin%2Fy", "/%40admin/y"),
        ("/a%3Bb", "/a;b"),
        ("/a%3Bb", "/a"),
        ("//x/admin/y", "/x/admin/y"),
        ("//x/admin/y", "/admin/y"),
        ("///x/admin/y", "/admin/y"),
        ("//x;z/admin/", "/admin/"),
        ("/\\x/admin/y", "/admin/y"),
        ("/%5Cx\\admin%2Fy", "/admin/y"),
        ("//x/y/../admin//z", "/admin//z"),
        ("//x//admin", "/admin"),
        ("//x", "/"),
        ("/admin%u002Fy", "/admin%2Fy"),
        ("/a%u003Bb", "/a;b"),
        ("/%u0061%2Fb", "/%u0061/b"),
        ("/%u002Fx/admin/y", "/admin/y"),
    ] {
        let all = readings(written);
        assert!(all.iter().any(|one| one == read), "{written}: {all:?}");
    }
}

#[test]
fn what_all_read_alike() {
    for path in [
        "/",
        "/a",
        "/a/",
        "/a.css",
        "/a/b.c/..d/e..",
        "/.well-known/x",
        "/index.php",
        "/a/php/x",
        "/a.phps/x",
        "/caf%C3%A9",
        "/a%20b",
        "/%22%3C%3E%60",
        "/a%0A%00%7F",
        "/a%",
        "/a%4",
        "/a%4g",
        "/a%u",
        "/a%u006",
        "/a%u00g1",
        "/...",
    ] {
        assert!(readings(path).is_empty(), "{path}");
    }
}

#[test]
fn paths_that_name_one_thing() {
    for (path, plain) in [
        ("/a.css", true),
        ("/a/b,c(d)=e/f.css", true),
        ("/caf%C3%A9%20a.css", true),
        ("/%22a%22.css", true),
        ("/%40a%3Ab%2Cc%28d%29.css", true),
        ("/%40a;b.css", false),
        ("/%40a/../b.css", false),
        ("/a;b.css", false),
        ("/a;b/c.css", false),
        ("/a%3Bb.css", false),
        ("/a%2Fb.css", false),
        ("/a%5Cb.css", false),
        ("/a%3Fb.css", false),
        ("/a%23b.css", false),
        ("/a%0Ab.css", false),
        ("/a%00.css", false),
        ("/a%7F.css", false),
        ("/a%253Bb.css", false),
        ("/a%.css", false),
        ("/a%u0062.css", false),
        ("//a.css", false),
        ("/a/../b.css", false),
    ] {
        assert_eq!(is_plain(path), plain, "{path}");
    }
}

proptest! {
    /// A reading has no other reading.
    #[test]
    fn there_is_nothing_left_to_read(path in "/([a.;/\\\\]|%2F|%40|%3B|%41|%u002[fe]|%u0061){0,12}") {
        if let Some(read) = readings(&path).first() {
            prop_assert_eq!(readings(read), Vec::<String>::new(), "{}", read);
        }
    }

    #[test]
    fn any_path(path in "\\PC*") {
        for read in readings(&path) {
            prop_assert!(read.starts_with('/'));
        }
    }
}
