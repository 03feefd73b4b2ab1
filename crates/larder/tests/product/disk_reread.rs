//! A page that lies on disk is read anew with each look, and now and then taken into memory: what an origin says of one
//! reading holds for the others.

use crate::{
    common::Said,
    disk::{Site, keep, wait_written},
};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};
use testkit::{Larder, Reply, Request, Response, wait_until};

/// So many that memory takes one of them, at the least, between the look that finds it stale and the fetch: one reading
/// in eight, and two for each page.
const PAGES: usize = 16;

/// Stored pages that are stale lie on disk, and not in memory. From now on the origin answers as `then` says.
fn stale(
    cache: &'static str,
    vary: &'static str,
    then: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> (Site, Larder, Vec<String>) {
    let phase = Arc::new(AtomicUsize::new(0));
    let told = phase.clone();
    let site = Site::with(move |request| {
        let reply = match told.load(SeqCst) {
            0 => Reply::ok().body("old"),
            1 => Reply::status(304).header("Age", "70"),
            _ => return then(request),
        };
        reply
            .cache(cache)
            .header("Vary", vary)
            .header("ETag", "\"old\"")
    });
    let larder = site.start();
    let pages: Vec<_> = (0..PAGES).map(|number| format!("/{number}")).collect();
    for page in &pages {
        keep(&larder, &[page]);
    }
    wait_written(&larder, PAGES as u64);
    phase.store(1, SeqCst);
    for page in &pages {
        let confirmed = larder.get(page).header("Cache-Control", "no-cache").send();
        assert_eq!(confirmed.status, 200, "{}", confirmed.said());
    }
    phase.store(2, SeqCst);
    let larder = site.restart(larder);
    (site, larder, pages)
}

/// Asks for each page over one connection, and so of one worker.
fn ask(larder: &Larder, pages: &[String], fields: &[(&str, &str)]) -> Vec<Response> {
    let mut client = larder.client();
    let one = |page: &String| {
        let ask = client.get(page);
        let ask = fields
            .iter()
            .fold(ask, |ask, (name, value)| ask.header(name, value));
        ask.send()
    };
    pages.iter().map(one).collect()
}

/// RFC 9111 section 4.3.4.
#[test]
fn what_a_304_confirms_is_fresh_whichever_reading_was_named() {
    let (site, larder, pages) = stale("max-age=60", "X-One", |_| {
        Reply::status(304)
            .cache("max-age=600")
            .header("ETag", "\"old\"")
    });
    let asked =
        |site: &Site| -> usize { pages.iter().map(|page| site.origin.requests(page)).sum() };
    let before = asked(&site);
    for answer in ask(&larder, &pages, &[]) {
        assert!(answer.says("stored"), "{}", answer.said());
    }
    for answer in ask(&larder, &pages, &[]) {
        assert!(answer.hit(), "{}", answer.said());
    }
    assert_eq!(asked(&site) - before, PAGES, "one each");
}

/// The same where a stale answer has gone out, and nobody waits for the 304.
#[test]
fn what_a_refresh_confirms_is_fresh_whichever_reading_was_named() {
    let directives = "max-age=60, stale-while-revalidate=600";
    let (site, larder, pages) = stale(directives, "X-One", |_| {
        Reply::status(304)
            .cache("max-age=600")
            .header("ETag", "\"old\"")
    });
    for answer in ask(&larder, &pages, &[]) {
        assert!(answer.hit(), "{}", answer.said());
    }
    for page in &pages {
        wait_until("the page was asked about", || {
            site.origin.requests(page) == 3
        });
    }
    wait_until("all are fresh", || {
        let answers = ask(&larder, &pages, &[]);
        let ttl = |answer: &Response| answer.parameter("ttl").unwrap_or_default();
        answers
            .iter()
            .all(|answer| answer.hit() && !ttl(answer).starts_with('-'))
    });
    for page in &pages {
        assert_eq!(site.origin.requests(page), 3, "{page}");
    }
}

/// RFC 9111 section 4.3.3: a full answer says that what the condition named is not suitable.
#[test]
fn what_a_full_answer_has_put_out_of_date_is_gone_whichever_reading_was_named() {
    let directives = "max-age=60, stale-if-error=600";
    let (site, larder, pages) = stale(directives, "X-One", |_| {
        Reply::ok()
            .cache("max-age=600, stale-if-error=600")
            .header("Vary", "X-Other")
            .header("ETag", "\"new\"")
            .body("new")
    });
    for answer in ask(&larder, &pages, &[]) {
        assert_eq!(answer.text(), "new", "{}", answer.said());
    }
    site.origin.stop();
    for answer in ask(&larder, &pages, &[("X-Other", "1")]) {
        assert!(answer.status >= 500, "{} {}", answer.text(), answer.said());
    }
}
