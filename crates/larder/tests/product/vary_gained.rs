//! An application that learns to say `Vary`: what it sent before without it would go to everybody, and gives way to
//! what its own request brings, whether that replaces it, completes it or is a part of something else.

use super::{nodes, ranges::ranged};
use crate::{
    common::{Said, sample, start},
    disk::Site,
};
use testkit::{Gate, Larder, Reply, Request, Response, wait_until};

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

/// In the shared store it would answer for the application on every node.
#[test]
fn it_does_so_on_other_nodes_too() {
    for confirmed in [false, true] {
        let site = nodes::Site::start();
        site.origin.on("/", move |request| {
            let later = if confirmed && request.nth == 2 {
                Reply::status(304)
                    .cache("max-age=60")
                    .header("ETag", "\"a\"")
            } else {
                page(request, None)
            };
            mended(request, page(request, Some("\"a\"")), later)
        });
        let [one, other, ..] = &site.nodes[..] else {
            panic!("three nodes");
        };
        let are_shared = |count| sample(one, "larder_shared_stored_total") == count;
        asked(one, "alice", &[]);
        wait_until("the page is shared", || are_shared(1));
        asked(one, "bob", &[("Cache-Control", "no-cache")]);
        wait_until("the mended page is shared", || are_shared(2));
        for node in [one, other] {
            let answer = asked(node, "carol", &[]);
            assert_eq!(answer.text(), "user=carol", "{}", answer.said());
        }
        assert!(asked(other, "bob", &[]).hit());
    }
}

#[test]
fn a_304_that_gains_vary_does_so_on_disk_too() {
    let site = Site::with(|request| {
        let confirmed = Reply::status(304)
            .cache("max-age=60")
            .header("ETag", "\"a\"");
        match request.nth {
            2 => confirmed.header("Vary", "Cookie"),
            _ => mended(request, page(request, Some("\"a\"")), page(request, None)),
        }
    });
    let larder = site.start();
    for _ in 0..2 {
        asked(&larder, "alice", &[]);
    }
    let larder = site.restart(larder);
    let bob = asked(&larder, "bob", &[("Cache-Control", "no-cache")]);
    assert_eq!(bob.parameter("fwd-status").as_deref(), Some("304"));
    assert_eq!(asked(&larder, "carol", &[]).text(), "user=carol");
    let larder = site.restart(larder);
    assert_eq!(asked(&larder, "dan", &[]).text(), "user=dan");
}

#[test]
fn what_is_still_on_its_way_gives_way_too() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| {
        let first = Reply::ok().cache("max-age=60").body("user=");
        mended(
            request,
            first.hold(&held).body("alice"),
            page(request, None),
        )
    });
    let mut alice = larder.get("/").header("Cookie", "user=alice").begin();
    let mut alices = alice.read_head();
    let bob = asked(&larder, "bob", &[("Cache-Control", "no-cache")]);
    assert_eq!(bob.text(), "user=bob", "{}", bob.said());
    gate.open();
    alice.read_content(&mut alices);
    assert_eq!(alices.text(), "user=alice");
    let carol = asked(&larder, "carol", &[]);
    assert_eq!(carol.text(), "user=carol", "{}", carol.said());
}

/// An application that breaks off leaves what is on disk as it was.
#[test]
fn what_breaks_off_takes_the_place_of_nothing() {
    let site = Site::with(|request| {
        let page = page(request, None);
        match request.nth {
            2 => page
                .header("Vary", "Cookie")
                .length(400_000)
                .body("x".repeat(200_000))
                .cut(),
            _ => page,
        }
    });
    let larder = site.start();
    for _ in 0..2 {
        asked(&larder, "alice", &[]);
    }
    let larder = site.restart(larder);
    let mut bob = larder.get("/").header("Cookie", "user=bob");
    bob = bob.header("Cache-Control", "no-cache");
    let mut bob = bob.begin();
    if let Some(mut answer) = bob.try_read_head() {
        bob.read_content(&mut answer);
        assert!(!answer.complete);
    }
    let larder = site.restart(larder);
    assert!(asked(&larder, "carol", &[]).hit());
}

#[test]
fn an_answer_from_before_that_comes_later_is_its_own_clients_alone() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let first = gate.clone();
    origin.on("/", move |request| {
        let old = page(request, None).hold_head(&first);
        mended(request, old, page(request, None))
    });
    let mut alice = larder.client();
    alice.get("/").header("Cookie", "user=alice").begin();
    gate.wait_reached();
    let mut bob = larder.get("/").header("Cookie", "user=bob");
    bob = bob.header("Cache-Control", "no-cache");
    assert_eq!(bob.send().text(), "user=bob");
    gate.open();
    assert_eq!(alice.read().text(), "user=alice");
    let other = asked(&larder, "carol", &[]);
    assert_eq!(other.text(), "user=carol", "{}", other.said());
    assert!(asked(&larder, "bob", &[]).hit());
}

/// A server in front of an application adds its own to a 304 (Apache's `mod_deflate` does), for which the application has
/// not said what it would say with a page.
#[test]
fn what_confirms_a_page_takes_nothing_from_its_vary() {
    for method in ["GET", "HEAD"] {
        let (origin, larder) = start();
        origin.on("/", |request| {
            let tag = format!("\"{}\"", request.header("cookie").unwrap_or_default());
            let is_held = request.header("if-none-match") == Some(&tag);
            let reply = match request.method.as_str() {
                "HEAD" => Reply::ok().header("Content-Length", "10"),
                _ if is_held => Reply::status(304),
                _ => page(request, None).header("Vary", "Cookie"),
            };
            let reply = reply.header("Vary", "Accept-Encoding");
            reply.header("ETag", tag).cache("max-age=60")
        });
        asked(&larder, "alice", &[]);
        let again = larder.ask(method, "/").header("Cookie", "user=alice");
        // Only a `HEAD` with a condition goes out as one.
        let again = match method {
            "HEAD" => again.header("If-Match", "\"b\""),
            _ => again.header("Cache-Control", "no-cache"),
        };
        let again = again.send();
        assert_eq!(again.status, 200, "{method}");
        let vary = again.joined("vary").to_lowercase();
        assert!(
            vary.contains("cookie") || method == "HEAD",
            "{method}: {vary}"
        );
        let other = asked(&larder, "bob", &[]);
        assert_eq!(other.text(), "user=bob", "{method}: {}", other.said());
        let first = asked(&larder, "alice", &[]);
        assert!(
            first.hit() && first.text() == "user=alice",
            "{method}: {}",
            first.said()
        );
    }
}
