use super::*;
use crate::{clock, collapse::Errand, outcome::Detail, sample};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, StatusCode, header};
use rules::{freshness, reuse::ValidateReason, status::ForwardReason, time::Time, vary};
use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};
use store::{Body, Fields, Stored, Variant};

fn ask(foo: &str) -> Rc<Ask> {
    let site = sample::site(sample::policy(sample::key_spec()));
    let ask = sample::ask(site, None, sample::fields(&[("foo", foo)]));
    Rc::new(ask)
}

/// Lands another request's flight: a page that is fresh for an hour and varies by `Foo`.
fn land(worker: &Worker, ask: &Ask) {
    land_at(worker, ask, clock::now());
}

/// Like [`land`], at `now`.
fn land_at(worker: &Worker, ask: &Ask, now: Time) {
    let fields = HeaderMap::new();
    let (said, site) = Default::default();
    let facts = freshness::facts(StatusCode::OK, &fields, &said, &site, now, now);
    let facts = freshness::Facts {
        lifetime_ms: 3_600_000,
        ..facts
    };
    let nominated: Box<[_]> = [HeaderName::from_static("foo")].into();
    let mut key = Vec::new();
    vary::variant_key(&nominated, &ask.fields, &mut key);
    let variant = Variant {
        nominated,
        key: key.into(),
    };
    let body = Bytes::copy_from_slice(ask.fields.get("foo").map_or(b"", |foo| foo.as_bytes()));
    let stored = Stored::new(
        0,
        StatusCode::OK,
        Fields::pack(&fields),
        facts,
        Some(variant.into()),
        None,
        Body::Whole(body),
    );
    let memory = &worker.cache.memory;
    let kept = memory.insert(ask.key.as_bytes(), memory.begin(), Arc::new(stored), 8);
    kept.expect("nothing was purged");
}

fn need(why: ForwardReason) -> Need {
    Need {
        why,
        detail: None,
        selected: None,
        others: Vec::new(),
    }
}

#[test]
fn what_landed_since_lookup_is_seen_before_anybody_fetches() {
    let (worker, ask) = (sample::worker(&sample::memory()), ask("1"));
    let look = |why| meanwhile(&worker, &ask, &need(why));
    assert!(matches!(look(ForwardReason::UriMiss), Meanwhile::Nothing));

    land(&worker, &self::ask("0"));
    let Meanwhile::Variants(now) = look(ForwardReason::UriMiss) else {
        panic!("another's page is none of this one's");
    };
    assert_eq!((now.why, now.others.len()), (ForwardReason::VaryMiss, 1));
    assert!(matches!(look(ForwardReason::VaryMiss), Meanwhile::Nothing));

    land(&worker, &ask);
    for why in [ForwardReason::UriMiss, ForwardReason::VaryMiss] {
        let Meanwhile::Answer(hit) = look(why) else {
            panic!("it is there");
        };
        assert!(matches!(&hit.stored.body, Body::Whole(body) if body == "1"));
    }
    // A request that wants the origin's own answer gets it, whatever is there.
    for why in [ForwardReason::Request, ForwardReason::Stale] {
        let need = Need {
            detail: Some(Detail::Validated(ValidateReason::RequestNoCache)),
            ..need(why)
        };
        let looked = meanwhile(&worker, &ask, &need);
        assert!(matches!(looked, Meanwhile::Nothing), "{why:?}");
    }
}

#[test]
fn whose_variant_is_known_by_now_goes_with_those_who_fetch_it() {
    let (worker, ask) = (sample::worker(&sample::memory()), ask("1"));
    land(&worker, &self::ask("0"));
    let mut first = pin!(together(
        &worker,
        &ask,
        need(ForwardReason::UriMiss),
        History::new()
    ));
    let first = first.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    let Poll::Ready(Err(FollowerFallback::Together(need))) = first else {
        panic!("it took off on its own");
    };
    let (flights, errand) = (&worker.cache.flights, Errand::of(&worker, &ask, &need));
    assert!(
        !flights.flying(ask.key.as_bytes(), &errand),
        "nobody waits for it"
    );
    assert_ne!(&*need.collapse_key(&ask), ask.key.as_bytes());
}

/// Its age counts up to the answer: the request came long before.
#[tokio::test]
async fn what_is_found_after_a_wait_says_its_age_then() {
    let (worker, ask) = (sample::worker(&sample::memory()), ask("1"));
    let need = need(ForwardReason::UriMiss);
    let (flights, errand) = (&worker.cache.flights, Errand::of(&worker, &ask, &need));
    let (fill, _writer) = begin_fill(&worker);
    let Seat::Lead(flight) = flights.join(ask.key.as_bytes(), &errand, fill) else {
        panic!("nobody leads yet");
    };
    let follower = flights.follow(ask.key.as_bytes(), &errand);
    let follower = follower.expect("it is under way");
    let before = clock::now().as_secs() - 100;
    land_at(&worker, &ask, Time::from_secs(before));
    flight.land(FlightStatus::FoundHere);
    let answer = follow(&worker, &ask, need.clone(), follower, History::new()).await;
    let Ok(answer) = answer else {
        panic!("it is there");
    };
    let age = answer.headers().get(header::AGE).expect("a hit");
    let age: u64 = age.to_str().expect("text").parse().expect("seconds");
    assert!(age >= 100, "{age}");
}
