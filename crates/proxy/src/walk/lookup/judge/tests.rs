use super::*;
use crate::{sample, walk::lookup};
use http::{HeaderMap, StatusCode};
use rules::freshness::LifetimeSource;
use std::{rc::Rc, time::Duration};

/// A page that was received when the clock was an hour ahead of `now`, fresh for a minute.
fn ahead() -> (Stored, Time) {
    let mut page = Stored::clone(&sample::stored(StatusCode::OK, &HeaderMap::new()));
    page.facts.lifetime_ms = 60_000;
    let now = Time::from_millis(page.facts.response_time.as_millis() - 3_600_000);
    (page, now)
}

fn ask() -> Ask {
    let site = sample::site(sample::policy(sample::key_spec()));
    sample::ask(site, None, HeaderMap::new())
}

/// Finds `page`, which memory has, at `now`. Returns the worker.
fn found_ahead(ask: &Ask, page: &Stored, now: Time) -> Rc<Worker> {
    let worker = sample::worker(&sample::memory());
    let (memory, key) = (&worker.cache.memory, ask.key.as_bytes());
    let stored = memory.insert(key, memory.begin(), Arc::new(page.clone()), 8);
    assert!(stored.is_ok());
    match lookup::find(&worker, ask, now) {
        lookup::Looked::Decided(Decision::Forward(need)) => {
            let selected = need.selected.expect("to be validated");
            assert_eq!(selected.facts.source, LifetimeSource::ClockSetBack);
        }
        _ => panic!("it is of unknown age"),
    }
    worker
}

#[test]
fn what_was_found_to_be_of_unknown_age_is_not_fresh_later() {
    let (ask, (page, now)) = (ask(), ahead());
    let worker = found_ahead(&ask, &page, now);
    assert_eq!(worker.cache.memory.log().head(), 0, "no tier below has it");
    let received = page.facts.response_time;
    for now in [now, received, received.plus(Duration::from_secs(59))] {
        let found = lookup::find(&worker, &ask, now);
        let lookup::Looked::Decided(Decision::Forward(need)) = found else {
            panic!("it is stale: {now:?}");
        };
        assert!(need.selected.is_some(), "it may be confirmed");
    }
}

#[test]
fn nor_does_a_tier_below_bring_it_back() {
    let (ask, (page, now)) = (ask(), ahead());
    page.set_below();
    let worker = found_ahead(&ask, &page, now);
    let later = page.facts.response_time.plus(Duration::from_secs(1));
    let reading = || vec![Arc::new(page.clone())];
    for _ in 0..2 {
        worker.cache.memory.forget(ask.key.as_bytes());
        let found = lookup::adopted(&worker, &ask, later, reading());
        assert!(matches!(found, Decision::Forward(_)));
    }
}
