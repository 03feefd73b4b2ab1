//! Variants lie side by side on disk: what an origin says of one leaves the others where they are.

use crate::{
    common::{Said, sample},
    disk::{Site, wait_written},
};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};
use testkit::{Larder, Reply, Request, Response};

/// Each shows that what is stale is out of date, and is not kept.
const WITHDRAWING: [(u16, &str); 6] = [
    (200, "private"),
    (200, "no-store"),
    (304, "no-store"),
    (304, "private"),
    (302, "no-store"),
    (404, "no-store"),
];

fn ask(larder: &Larder, path: &str, language: &str) -> Response {
    let ask = larder.get(path).header("Accept-Language", language);
    ask.send()
}

/// What the origin says of English pages: at first that they are good, then that they are stale, and at last what withdraws them.
/// The page's number is the place of that in [`WITHDRAWING`].
fn page(request: &Request, phase: usize) -> Reply {
    let language = request.header("accept-language").unwrap_or("none");
    let number: usize = request.path()[1..].parse().expect("a number");
    let (status, directives) = WITHDRAWING[number];
    let lasting = "max-age=600, stale-if-error=6000";
    let reply = match (phase, language) {
        (1, "en") => Reply::status(304).header("Age", "700").cache(lasting),
        // Of what it is not asked about it says nothing.
        (2, "en") if status == 304 && request.header("If-None-Match") != Some("\"en\"") => {
            Reply::ok().cache(directives)
        }
        (2, "en") => Reply::status(status).cache(directives),
        _ => Reply::ok().cache(lasting).body(language),
    };
    reply
        .header("Vary", "Accept-Language")
        .header("ETag", format!("\"{language}\""))
}

/// Pages in two languages are on disk; the English ones are stale, and are withdrawn when they are asked for.
fn stale_english() -> (Site, Larder, Vec<String>) {
    let phase = Arc::new(AtomicUsize::new(0));
    let told = phase.clone();
    let site = Site::with(move |request| page(request, told.load(SeqCst)));
    let larder = site.start();
    let pages: Vec<_> = (0..WITHDRAWING.len())
        .map(|number| format!("/{number}"))
        .collect();
    for page in &pages {
        for language in ["en", "de", "en", "de"] {
            ask(&larder, page, language);
        }
    }
    wait_written(&larder, 2 * pages.len() as u64);
    phase.store(1, SeqCst);
    for page in &pages {
        let forced = larder.get(page).header("Accept-Language", "en");
        forced.header("Cache-Control", "no-cache").send();
    }
    phase.store(2, SeqCst);
    (site, larder, pages)
}

/// RFC 9111 section 4.3.3 and 4.3.4: an answer is about what its request could have been answered with.
#[test]
fn a_variant_that_is_withdrawn_takes_no_other_along() {
    for from_disk in [false, true] {
        let (site, mut larder, pages) = stale_english();
        if from_disk {
            larder = site.restart(larder);
        }
        for page in &pages {
            let answer = ask(&larder, page, "en");
            assert!(!answer.hit(), "{page}: {}", answer.said());
        }
        let asked =
            |site: &Site| -> usize { pages.iter().map(|page| site.origin.requests(page)).sum() };
        let before = asked(&site);
        for crash in [false, true] {
            for page in &pages {
                let answer = ask(&larder, page, "de");
                assert!(answer.hit(), "{page}, {crash}: {}", answer.said());
                assert_eq!(answer.text(), "de");
            }
            larder = if crash {
                site.restart(larder)
            } else {
                site.crash(larder)
            };
        }
        assert_eq!(asked(&site), before);
    }
}

/// Nor does a crash bring it back once its client has been answered.
#[test]
fn a_variant_that_is_withdrawn_does_not_come_back() {
    let (site, mut larder, pages) = stale_english();
    for page in &pages {
        ask(&larder, page, "en");
        larder = site.crash(larder);
    }
    site.origin.stop();
    for restarts in 0..2 {
        for page in &pages {
            let answer = ask(&larder, page, "en");
            assert!(
                answer.status >= 500,
                "{page}, {restarts}: {}",
                answer.said()
            );
            let other = ask(&larder, page, "de");
            assert!(other.hit(), "{page}, {restarts}: {}", other.said());
        }
        larder = site.restart(larder);
    }
}

/// What is private stays so, and each of its users asks: that costs no more than if nothing had been on disk before.
#[test]
fn what_was_withdrawn_is_not_withdrawn_again_with_each_request() {
    let (site, larder, pages) = stale_english();
    for page in &pages {
        ask(&larder, page, "en");
    }
    let larder = site.restart(larder);
    for page in &pages {
        for _ in 0..3 {
            let answer = ask(&larder, page, "en");
            assert!(!answer.hit(), "{page}: {}", answer.said());
            assert!(
                site.origin
                    .last(page)
                    .header("if-none-match")
                    .is_none_or(|tags| !tags.contains("en"))
            );
        }
    }
    assert_eq!(sample(&larder, "larder_disk_writes_total"), 0);
}

/// One variant is on disk, and another, which was asked for once, in memory alone: the origin may confirm either (RFC 9111 section
/// 4.3.1).
#[test]
fn what_memory_alone_has_may_be_confirmed_beside_what_is_on_disk() {
    let site = Site::with(|request| {
        let tag = match request.header("x-version") {
            Some("on disk") => "\"disk\"",
            _ => "\"memory\"",
        };
        let tags = request.header("if-none-match").unwrap_or_default();
        let reply = if tags.contains(tag) {
            Reply::status(304)
        } else {
            Reply::ok().body(tag)
        };
        let reply = reply.cache("max-age=600").header("ETag", tag);
        reply.header("Vary", "X-Version")
    });
    let larder = site.start();
    // One reading of the disk in eight is taken into memory.
    let pages: Vec<_> = (0..16).map(|number| format!("/{number}")).collect();
    let ask = |larder: &Larder, page: &str, version: &str| {
        larder.get(page).header("X-Version", version).send()
    };
    for page in &pages {
        for version in ["in memory", "on disk", "on disk"] {
            ask(&larder, page, version);
        }
    }
    wait_written(&larder, pages.len() as u64);
    for page in &pages {
        let answer = ask(&larder, page, "of the same content");
        assert_eq!(answer.text(), "\"memory\"");
        assert!(answer.says("fwd-status=304"), "{page}: {}", answer.said());
        assert_eq!(answer.parameter("fwd").as_deref(), Some("vary-miss"));
    }
}
