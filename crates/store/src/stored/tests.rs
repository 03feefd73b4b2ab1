use super::*;
use crate::sample;
use http::{HeaderName, header};
use rules::{freshness::LifetimeSource, time::Time};

#[derive(Debug)]
struct TestDerived(u64);

impl Derived for TestDerived {
    fn weight(&self) -> u64 {
        self.0
    }
}

#[test]
fn what_was_made_of_a_body_is_weighed_and_goes_with_it() {
    let stored = sample::any_request(10);
    let with = stored.with_derived(Arc::new(TestDerived(1000)));
    assert!(with.weight() >= stored.weight() + 1000);
    assert_eq!(with.derived::<TestDerived>().map(|made| made.0), Some(1000));
    let stale = with.stale_since(Time::from_secs(1), 1);
    assert!(
        stale.derived::<TestDerived>().is_some(),
        "the body is the same"
    );
    let whole = with.clone().with_body(Body::Whole("the same".into()));
    assert!(
        whole.derived::<TestDerived>().is_some(),
        "so is the content"
    );
    let fresh = sample::any_request(10).with_made_of(&with);
    assert!(fresh.derived::<TestDerived>().is_some(), "it was confirmed");
}

/// The clock was set back between receipt and purge: what was never fresh is sent to nobody, but this was fresh.
#[test]
fn what_was_purged_softly_has_been_fresh_when_the_clock_was_set_back() {
    for (lifetime_ms, left) in [(60_000, 1), (0, 0)] {
        let mut stored = sample::any_request(1000);
        stored.facts.lifetime_ms = lifetime_ms;
        let stale = stored.stale_since(Time::from_secs(990), 1);
        assert_eq!(stale.facts.remaining(Time::from_secs(990)), None);
        assert_eq!(stale.facts.lifetime_ms, left);
    }
}

/// The clock was ahead when the purge came, and is right afterwards.
#[test]
fn what_was_purged_softly_stays_stale_when_the_clock_is_set_back() {
    let mut stored = sample::any_request(1000);
    stored.facts.lifetime_ms = 60_000;
    let now = Time::from_secs(1001);
    assert!(stored.facts.remaining(now).is_some());
    // While it was fresh, and later.
    for ahead in [50, 3600] {
        let stale = stored.stale_since(Time::from_secs(1000 + ahead), 1);
        assert_eq!(stale.facts.remaining(now), None, "{ahead}");
        assert_eq!(stale.facts.source, LifetimeSource::SoftPurge, "{ahead}");
        assert_eq!(stale.facts.lifetime_ms, 1000 * ahead.min(60), "{ahead}");
        assert_eq!(restarted(&stale), stale.facts, "{ahead}");
    }
}

/// The clock was ahead at receipt. It was set right before a purge, or before the response was looked at.
#[test]
fn what_is_of_unknown_age_stays_stale_when_the_clock_comes_to_its_receipt() {
    let mut stored = sample::any_request(10_000);
    stored.facts.lifetime_ms = 60_000;
    let now = Time::from_secs(6_400);
    let noted = stored.with_age_unknown(now).expect("it is ahead");
    for stale in [stored.stale_since(now, 1), noted] {
        assert_eq!(stale.facts.remaining(Time::from_secs(10_001)), None);
        assert_eq!(stale.facts.source, LifetimeSource::ClockSetBack);
        assert_eq!(restarted(&stale), stale.facts);
    }
}

/// Returns the facts of `stored` as the disk has them after a restart.
fn restarted(stored: &Stored) -> Facts {
    let bytes = crate::codec::encode(b"http://a/", stored).expect("its body is here");
    let head = crate::codec::Head::decode(&bytes).expect("it was written so");
    let again = head.stored(stored.body.clone(), None, &crate::purge::Tags::default());
    again.facts
}

#[test]
fn names_that_select_a_response_are_weighed_with_their_bytes() {
    let weight = |names: Vec<HeaderName>| {
        let mut stored = sample::any_request(10);
        stored.variant = Some(Box::new(Variant {
            nominated: names.into(),
            key: Box::default(),
        }));
        stored.weight()
    };
    let named = |number| HeaderName::try_from(format!("x-{number:0>30}")).expect("a name");
    let none = weight(Vec::new());
    let usual = weight(vec![header::COOKIE; 1000]) - none;
    assert!((32_000..40_000).contains(&usual), "{usual}");
    let spelled = weight((0..1000).map(named).collect()) - none;
    assert!(spelled >= usual + 32_000, "{spelled}");
}
