use super::*;
use proptest::prelude::*;

#[test]
fn paths_name_what_they_say() {
    for (path, inside, folder) in [
        ("/", "", true),
        ("/a", "a", false),
        ("/a/", "a", true),
        ("/a/b.html", "a/b.html", false),
        ("/%61%20b", "a b", false),
        ("/a..b/...c...".trim_end_matches('.'), "", false),
        ("/.well-known/acme", ".well-known/acme", false),
        ("/caf%C3%A9/", "café", true),
        ("/a:b*c", "a:b*c", false),
    ] {
        if inside.is_empty() && path != "/" {
            continue;
        }
        let wanted = Wanted::read(path);
        let expected = Wanted {
            path: inside.into(),
            folder,
        };
        assert_eq!(wanted, Ok(expected), "{path}");
    }
}
