//! Readers beside a purge, on several workers: who asks after the acknowledgement never gets what is older than that.

use crate::{
    common::{Said, start_with},
    purge::post,
};
use serde_json::json;
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
};
use testkit::{Client, Gate, Larder, Origin, Reply, Request, wait_until};

/// Pages of the site; every one carries a tag of its own and one of all.
const PAGES: usize = 4;
/// Of each kind.
const READERS: usize = 3;
/// Ways to purge: the first name one page, the others all.
const WAYS: usize = 12;
const OF_ONE: usize = 6;
/// Each way for each page, three times.
const ROUNDS: usize = 3 * WAYS * PAGES;

/// A number for each page.
type Numbers = [AtomicU64; PAGES];

/// What the application knows, and its answers that are held back until the round is over.
#[derive(Default)]
struct Application {
    versions: Numbers,
    round: Mutex<(usize, Gate)>,
}

/// The site as its writer and its readers see it.
#[derive(Default)]
struct Site {
    application: Arc<Application>,
    /// What every answer must have at least; of pages as they are linked, and of those with a query.
    plain: Numbers,
    with_query: Numbers,
    /// Answers from the store with the version that is acknowledged.
    hits: Numbers,
    over: AtomicBool,
}

/// The page that a round is about.
fn page_of(round: usize) -> usize {
    round / WAYS % PAGES
}

impl Application {
    fn round(&self) -> (usize, Gate) {
        let round = self.round.lock();
        round.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was held back is answered, and from now on what belongs to the next round is held back.
    fn next_round(&self) {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, gate) = round.clone();
        *round = (number + 1, Gate::new());
        gate.open();
    }

    /// The page as it was when it was asked for. With the number of the round as query it comes when that is over, so
    /// that it is on its way while it is purged.
    fn answer(&self, request: &Request) -> Reply {
        let page: usize = request.path()[1..].parse().expect("a page");
        let version = self.versions[page].load(SeqCst);
        if let Some((_, query)) = request.target.split_once('?') {
            let (round, gate) = self.round();
            if query == round.to_string() {
                gate.pass();
            }
        }
        Reply::ok()
            .cache("max-age=600")
            .header("xkey", format!("page-{page} all"))
            .body(version.to_string())
    }
}

impl Site {
    /// Loops over the pages, now and then on a new connection and so perhaps on another worker.
    fn read(&self, larder: &Larder, seed: usize) {
        let mut client = larder.client();
        for round in seed.. {
            if self.over.load(SeqCst) {
                return;
            }
            if round.is_multiple_of(16) {
                client = larder.client();
            }
            let page = round % PAGES;
            let (version, hit) = ask(&mut client, &format!("/{page}"), &self.plain[page]);
            if hit && version == self.application.versions[page].load(SeqCst) {
                self.hits[page].fetch_add(1, SeqCst);
            }
        }
    }

    /// Asks for what is held back in the round, and for what was in the one before.
    fn read_held(&self, larder: &Larder) {
        while !self.over.load(SeqCst) {
            let mut client = larder.client();
            let (round, _) = self.application.round();
            for round in [round.saturating_sub(1), round] {
                let page = page_of(round);
                ask(
                    &mut client,
                    &format!("/{page}?{round}"),
                    &self.with_query[page],
                );
            }
        }
    }

    /// Changes pages and purges them, each time in another way.
    fn write(&self, larder: &Larder) {
        for round in 0..ROUNDS {
            let (way, page) = (round % WAYS, page_of(round));
            let all: Vec<usize> = (0..PAGES).collect();
            let changed = if way < OF_ONE { &[page][..] } else { &all };
            let (_, gate) = self.application.round();
            wait_until("a fetch of what is to be purged was under way", || {
                gate.reached() > 0 || self.over.load(SeqCst)
            });
            for page in changed {
                self.application.versions[*page].fetch_add(1, SeqCst);
            }
            let covers_queries = purge(larder, way, page);
            for page in changed {
                let version = self.application.versions[*page].load(SeqCst);
                self.plain[*page].store(version, SeqCst);
                if covers_queries {
                    self.with_query[*page].store(version, SeqCst);
                }
            }
            let seen = |page: &usize| self.hits[*page].load(SeqCst);
            let before: Vec<u64> = changed.iter().map(seen).collect();
            self.application.next_round();
            // Whatever is purged next is in use.
            wait_until("readers got what is new from the store", || {
                let mut pairs = changed.iter().zip(&before);
                pairs.all(|(page, before)| seen(page) > before + 4) || self.over.load(SeqCst)
            });
        }
    }
}

/// Asks for this, which must be at least of the version that has been acknowledged: which it is of, and whether it was
/// stored.
fn ask(client: &mut Client, target: &str, least: &AtomicU64) -> (u64, bool) {
    let least = least.load(SeqCst);
    let answer = client.get(target).send();
    let version: u64 = answer.text().parse().expect("a version");
    assert!(
        version >= least,
        "{target}: {version} after {least} was acknowledged: {}",
        answer.said()
    );
    (version, answer.hit())
}

/// Purges the page, or all of them, on the listener or by the admin API. Whether that covers the page with a query too.
fn purge(larder: &Larder, way: usize, page: usize) -> bool {
    let listener = |method: &str, target: &str, name: &str, value: &str| {
        larder.ask(method, target).header(name, value).send()
    };
    let admin = |what: serde_json::Value| post(larder, what.to_string());
    let answer = match way {
        0 => listener("PURGE", &format!("/{page}"), "X-Nothing", ""),
        1 => listener("PURGE", "/", "xkey", &format!("page-{page}")),
        2 => listener("BAN", "/", "X-Url", &format!("^/{page}([?]|$)")),
        3 => admin(json!({ "url": format!("http://example.test/{page}") })),
        4 => admin(json!({ "tag": format!("page-{page}") })),
        5 => admin(json!({ "prefix": format!("/{page}") })),
        6 => listener("PURGE", "/", "xkey", "all"),
        7 => listener("BAN", "/", "X-Nothing", ""),
        8 => listener("PURGE", "/*", "X-Nothing", ""),
        9 => admin(json!({ "host": "example.test" })),
        10 => admin(json!({ "regex": "/[0-9]" })),
        _ => admin(json!({ "everything": true })),
    };
    assert_eq!(answer.status, 200, "way {way}: {}", answer.text());
    !matches!(way, 0 | 3)
}

/// Whoever ends, with a failure too, lets the others end.
struct Over<'a>(&'a Site);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, SeqCst);
        self.0.application.next_round();
    }
}

#[test]
fn who_asks_after_the_acknowledgement_never_gets_what_is_older() {
    for workers in [2, 4] {
        let site = &Site::default();
        let (origin, larder): (Origin, Larder) = start_with(&format!(
            "workers = {workers}\n[[origin]]\nservers = \"{{origin}}\"\n"
        ));
        let (application, larder) = (site.application.clone(), &larder);
        origin.otherwise(move |request| application.answer(request));
        thread::scope(|scope| {
            for reader in 0..READERS {
                scope.spawn(move || {
                    let _over = Over(site);
                    site.read(larder, reader);
                });
                scope.spawn(move || {
                    let _over = Over(site);
                    site.read_held(larder);
                });
            }
            let _over = Over(site);
            site.write(larder);
        });
    }
}
