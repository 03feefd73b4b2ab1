//! An application that learns to say `Vary`: what it sent before without it would go to everybody, and gives way to what its own
//! request brings, whether that replaces it, completes it or is a part of something else.

use super::ranges::ranged;
use crate::{
    common::{Said, start},
    disk::Site,
};
use testkit::{Larder, Reply, Request, Response};

const TEXT: &str = "0123456789abcdefghij";

fn asked(larder: &Larder, user: &str, fields: &[(&str, &str)]) -> Response {
    let mut ask = larder.get("/").header("Cookie", format!("user={user}"));
    for (name, value) in fields {
        ask = ask.header(name, value);
    }
    ask.send()
}

/// The application without `Vary` at first, with it from the second request on.
fn mended(request: &Request, first: Reply, later: Reply) -> Reply {
    match request.nth {
        1 => first,
        _ => later.header("Vary", "Cookie"),
    }
}

fn page(request: &Request, validator: Option<&str>) -> Reply {
    let text = request.header("cookie").unwrap_or_default();
    let reply = Reply::ok().cache("max-age=60").body(text);
    match validator {
        Some(tag) => reply.header("ETag", tag),
        None => reply,
    }
}

#[test]
fn a_reloaded_page_that_gains_vary_takes_the_place_of_the_one_without() {
    for validator in [None, Some("\"a\"")] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            let later = validator.map(|_| "\"b\"");
            mended(request, page(request, validator), page(request, later))
        });
        asked(&larder, "alice", &[]);
        asked(&larder, "bob", &[("Cache-Control", "no-cache")]);
        let other = asked(&larder, "carol", &[]);
        assert_eq!(other.text(), "user=carol", "{validator:?}");
        assert_eq!(asked(&larder, "bob", &[]).text(), "user=bob");
    }
}

#[test]
fn it_does_so_on_disk_too() {
    let site = Site::with(|request| mended(request, page(request, None), page(request, None)));
    let larder = site.start();
    for _ in 0..2 {
        asked(&larder, "alice", &[]);
    }
    let larder = site.restart(larder);
    asked(&larder, "bob", &[("Cache-Control", "no-cache")]);
    let larder = site.restart(larder);
    assert_eq!(asked(&larder, "carol", &[]).text(), "user=carol");
}

#[test]
fn a_part_that_gains_vary_takes_the_place_of_those_that_it_is_combined_with() {
    for (what, more, tag) in [
        ("combined", Some("bytes=0-14"), "\"a\""),
        ("beside", Some("bytes=10-14"), "\"a\""),
        ("another", Some("bytes=10-14"), "\"b\""),
        ("completed", None, "\"a\""),
    ] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            let reply = |text, tag| ranged(request, text, tag);
            match request.nth {
                1 => reply(TEXT, "\"a\""),
                2 => reply(TEXT, tag).header("Vary", "Cookie"),
                _ => reply("another page of 20 b", "\"c\"").header("Vary", "Cookie"),
            }
        });
        let first = [("Range", "bytes=0-9")];
        assert_eq!(asked(&larder, "alice", &first).text(), "0123456789");
        let more = more.map(|more| ("Range", more));
        let got = asked(&larder, "bob", more.as_slice());
        assert!(TEXT.contains(&got.text()), "{what}: {}", got.said());
        let other = asked(&larder, "carol", &first);
        assert_eq!(other.text(), "another pa", "{what}: {}", other.said());
    }
}
