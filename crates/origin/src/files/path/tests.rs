use super::*;
use proptest::prelude::*;
use std::path::Component;

#[test]
fn paths_name_what_they_say() {
    for (path, inside, folder) in [
        ("/", "", true),
        ("/a", "a", false),
        ("/a/", "a", true),
        ("/a/b.html", "a/b.html", false),
        ("/%61%20b", "a b", false),
        ("/a..b/c...", "a..b/c...", false),
        ("/.well-known/acme", ".well-known/acme", false),
        ("/caf%C3%A9/", "café", true),
        ("/a:b*c", "a:b*c", false),
    ] {
        let expected = Wanted {
            path: inside.into(),
            folder,
        };
        assert_eq!(Wanted::read(path), Ok(expected), "{path}");
    }
}

#[test]
fn paths_that_name_nothing_are_refused() {
    for (path, why) in [
        ("", Refused::Malformed),
        ("a", Refused::Malformed),
        ("/%", Refused::Malformed),
        ("/%4", Refused::Malformed),
        ("/%4g", Refused::Malformed),
        ("//", Refused::Dots),
        ("//a", Refused::Dots),
        ("/a//b", Refused::Dots),
        ("/..", Refused::Dots),
        ("/%2e%2E/a", Refused::Dots),
        ("/a/./b", Refused::Dots),
        ("/a%2fb", Refused::Separator),
        ("/a%5cb", Refused::Separator),
        ("/a\\b", Refused::Separator),
        ("/a%00", Refused::Separator),
        ("/.git", Refused::Hidden),
        ("/%2egit/a", Refused::Hidden),
        ("/a/.well-known/b", Refused::Hidden),
    ] {
        assert_eq!(Wanted::read(path), Err(why), "{path}");
    }
    let long = format!("/{}", "a".repeat(LONGEST));
    assert_eq!(Wanted::read(&long), Err(Refused::TooLong));
}

#[test]
fn scripts_are_known_by_their_endings() {
    for (name, expected) in [
        ("index.php", true),
        ("a.PHP7", true),
        ("a.phtml", true),
        ("a.phar", true),
        ("a.php.bak", true),
        ("a.php~", true),
        ("a.phps", true),
        ("php", false),
        ("php.txt", false),
        ("a.phpx", false),
        ("a.html", false),
    ] {
        assert_eq!(is_script(OsStr::new(name)), expected, "{name}");
    }
}

proptest! {
    #[test]
    fn nothing_outside_is_ever_named(path in "(/|%2[eEfF]|%5c|\\.|\\\\|a|%00|%|\u{e9}){0,12}") {
        if let Ok(Wanted { path, .. }) = Wanted::read(&path) {
            prop_assert!(path.components().all(|part| matches!(part, Component::Normal(_))));
            prop_assert!(path.as_os_str().is_empty() || is_inside(&path));
        }
    }
}
