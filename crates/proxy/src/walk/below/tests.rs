use super::*;
use crate::sample;
use http::{HeaderMap, StatusCode};
use std::{future::ready, time::Duration};

/// The request came long ago. A row: for how long the page is fresh, and whether it still answers.
#[tokio::test]
async fn what_the_disk_brings_is_judged_by_the_time_after_the_wait() {
    let day = Duration::from_hours(24);
    for (lifetime, answers) in [(day, false), (day * 36_500, true)] {
        let worker = sample::worker(&sample::memory());
        let site = sample::site(sample::policy(sample::key_spec()));
        let ask = sample::ask(site, None, HeaderMap::new());
        let mut page = Stored::clone(&sample::stored(StatusCode::OK, &HeaderMap::new()));
        page.facts.lifetime_ms = lifetime.as_millis() as u64;
        let found = read(&worker, &ask, ready(vec![Arc::new(page)])).await;
        let waited = match found {
            Decision::Hit(hit) => Some(hit.outcome.waited),
            _ => None,
        };
        assert_eq!(waited, answers.then_some(true), "{lifetime:?}");
    }
}
