use super::*;
use crate::{policy::Site, sample};
use http::{HeaderMap, HeaderValue, StatusCode};
use origin::{
    Origin, OriginConfig,
    config::{Address, Server},
};
use rules::time::Time;
use std::{future::poll_fn, task::Poll};
use store::{
    Budget,
    fill::Fill,
    purge::{Purge, What},
};

fn join(flights: &Arc<Flights>) -> Seat {
    let (fill, _) = Fill::begin(Budget::new(1).reservation());
    flights.join(b"k", &sample::errand(&Log::default()), fill)
}

#[tokio::test]
async fn a_leader_that_vanishes_releases_its_followers() {
    let flights = Arc::new(Flights::default());
    let Seat::Lead(flight) = join(&flights) else {
        panic!("first leads")
    };
    let Seat::Follow(mut follower) = join(&flights) else {
        panic!("second follows")
    };
    drop(flight);
    assert!(matches!(
        follower.next_status().await,
        FlightStatus::Released
    ));
    assert!(matches!(join(&flights), Seat::Lead(_)));
}

/// The response that has landed is told until its body breaks off; after that, the failure is.
#[tokio::test]
async fn a_flight_whose_body_breaks_off_has_failed_whenever_it_lands() {
    for is_landed in [true, false] {
        let flights = Arc::new(Flights::default());
        let Seat::Lead(flight) = join(&flights) else {
            panic!("first leads")
        };
        let Seat::Follow(mut follower) = join(&flights) else {
            panic!("second follows")
        };
        let last_word = flight.last_word();
        if is_landed {
            flight.land(FlightStatus::OtherVariant);
            assert!(follower.failure().is_none());
            last_word.failed(&Failure::BadPart);
        } else {
            last_word.failed(&Failure::BadPart);
            flight.land(FlightStatus::OtherVariant);
        }
        assert!(matches!(follower.failure(), Some(Failure::BadPart)));
        assert!(matches!(
            follower.next_status().await,
            FlightStatus::Failed(Failure::BadPart)
        ));
    }
}

/// Any purge of the page or of everything, even a soft one, outdates a flight that began before it, with its variants
/// and ranges.
#[tokio::test]
async fn an_outdated_flight_keeps_its_followers_and_leaves_its_successor_alone() {
    let keys = ["", "\nvariant:de", "\nrange:bytes=0-9"];
    for (soft, key) in [true, false]
        .into_iter()
        .flat_map(|soft| keys.map(|key| (soft, key)))
    {
        let (flights, log) = (Arc::new(Flights::default()), Log::default());
        let key = ["http://h/k", key].concat();
        let join = || {
            let (fill, _) = Fill::begin(Budget::new(1).reservation());
            flights.join(key.as_bytes(), &sample::errand(&log), fill)
        };
        let Seat::Lead(old) = join() else {
            panic!("first leads")
        };
        let Seat::Follow(mut follower) = join() else {
            panic!("second follows")
        };
        let what = What::Url(vec!["//h/k".to_owned()]);
        log.apply(Purge { what, soft }, Time::from_secs(1), None);
        assert_eq!(
            flights.flying(key.as_bytes(), &sample::errand(&log)),
            soft,
            "{key}"
        );
        assert!(
            flights
                .follow(key.as_bytes(), &sample::errand(&log))
                .is_none()
        );
        let Seat::Lead(new) = join() else {
            panic!("leads anew")
        };
        assert!(!new.has_left_overruled());
        old.land(FlightStatus::OtherVariant);
        assert!(matches!(
            follower.next_status().await,
            FlightStatus::OtherVariant
        ));
        assert!(flights.flying(key.as_bytes(), &sample::errand(&log)));
    }
}

/// Only what it validates, or brings, tells the tags that its answer will have.
#[test]
fn a_flight_that_validates_what_was_purged_is_outdated() {
    for soft in [false, true] {
        let (flights, memory) = (Arc::new(Flights::default()), sample::memory());
        let log = memory.log();
        let mut stored = Stored::clone(&sample::stored(StatusCode::OK, &HeaderMap::new()));
        stored.marks = log.tags().marks(vec!["t"], log.head());
        let stored = Arc::new(stored);
        let join = |key: &[u8]| {
            let (fill, _) = Fill::begin(Budget::new(1).reservation());
            flights.join(key, &sample::errand(log).validating(&stored), fill)
        };
        let Seat::Lead(_flight) = join(b"k") else {
            panic!("first leads")
        };
        assert!(flights.follow(b"k", &sample::errand(log)).is_some());
        let what = What::Tags(vec!["t".to_owned()]);
        log.apply(Purge { what, soft }, Time::from_secs(1), None);
        assert!(flights.follow(b"k", &sample::errand(log)).is_none());
    }
}

/// The leader's client may have left: then only the follower needs the fetch, until it has found what has landed.
#[tokio::test]
async fn a_fetch_goes_on_until_its_followers_have_looked() {
    let flights = Arc::new(Flights::default());
    let (fill, _writer) = Fill::begin(Budget::new(1).reservation());
    let Seat::Lead(flight) = flights.join(b"k", &sample::errand(&Log::default()), fill.clone())
    else {
        panic!("first leads")
    };
    let Seat::Follow(mut follower) = join(&flights) else {
        panic!("second follows")
    };
    flight.land(FlightStatus::OtherVariant);
    assert!(matches!(
        follower.next_status().await,
        FlightStatus::OtherVariant
    ));
    let is_abandoned = || poll_fn(|context| Poll::Ready(fill.poll_abandoned(context).is_ready()));
    assert!(!is_abandoned().await);
    drop(follower);
    assert!(is_abandoned().await);
}

/// Once it is known what selects variants, each follower looks for its own; one flight goes on for the leader's.
#[tokio::test]
async fn a_flight_that_is_narrowed_lets_its_followers_look_again() {
    let log = Log::default();
    for (is_taken, rest) in [(false, ""), (true, ""), (false, "\nrange:bytes=0-9")] {
        let flights = Arc::new(Flights::default());
        let join = |key: &str| {
            let (fill, _) = Fill::begin(Budget::new(1).reservation());
            flights.join([key, rest].concat().as_bytes(), &sample::errand(&log), fill)
        };
        let flying =
            |key: &str| flights.flying([key, rest].concat().as_bytes(), &sample::errand(&log));
        let Seat::Lead(mut flight) = join("k") else {
            panic!("first leads")
        };
        flight.narrow(b"k", b"k", &sample::errand(&log));
        let Seat::Follow(mut follower) = join("k") else {
            panic!("second follows")
        };
        let other = is_taken.then(|| join("k\nvariant:de"));
        flight.narrow(b"k", b"k\nvariant:de", &sample::errand(&log));
        assert!(matches!(
            follower.next_status().await,
            FlightStatus::OtherVariant
        ));
        assert!(!flying("k") && flying("k\nvariant:de"));
        flight.land(FlightStatus::FoundHere);
        assert_eq!(flying("k\nvariant:de"), is_taken);
        drop(other);
    }
}

/// Another has begun after a purge: it is not disturbed, and nobody joins the one that is outdated.
#[tokio::test]
async fn a_flight_that_is_outdated_when_it_is_narrowed_lets_its_followers_look_again() {
    let (flights, log) = (Arc::new(Flights::default()), Log::default());
    let join = || {
        let (fill, _) = Fill::begin(Budget::new(1).reservation());
        flights.join(b"k", &sample::errand(&log), fill)
    };
    let Seat::Lead(mut flight) = join() else {
        panic!("first leads")
    };
    let Seat::Follow(mut follower) = join() else {
        panic!("second follows")
    };
    log.apply(Purge::hard(What::Everything), Time::from_secs(1), None);
    let Seat::Lead(_new) = join() else {
        panic!("leads anew")
    };
    flight.narrow(b"k", b"k\nvariant:de", &sample::errand(&log));
    assert!(matches!(
        follower.next_status().await,
        FlightStatus::OtherVariant
    ));
    assert!(
        flights.flying(b"k", &sample::errand(&log))
            && !flights.flying(b"k\nvariant:de", &sample::errand(&log))
    );
}

/// What a reload overrules is not waited for, neither by clients nor by refreshes. What it leaves as it is, it leaves
/// under way, and a request from before it takes what comes.
#[test]
fn a_flight_that_a_reload_overrules_is_left() {
    let log = Log::default();
    let origin = |path: &str| {
        let server = Server::new(Address::Unix(path.into()));
        let config = OriginConfig {
            servers: vec![server],
            ..OriginConfig::default()
        };
        Origin::new(config).expect("has a server")
    };
    let site = |origin, host: Option<&'static str>| {
        let mut policy = sample::policy(sample::key_spec());
        policy.origin = origin;
        policy.to_origin.host = host.map(HeaderValue::from_static);
        Arc::new(sample::site(policy))
    };
    let (one, two) = (origin("/one"), origin("/two"));
    let storing = |lifetime| {
        let mut policy = sample::policy(sample::key_spec());
        policy.origin = one.clone();
        policy.lifetime.heuristic = lifetime;
        Arc::new(sample::site(policy))
    };
    let of = |site: &Arc<Site>| Errand::under(&log, site.clone());
    let in_turn = |last| Origin::first_of(vec![origin("/first"), origin(last)]);
    let before = site(one.clone(), None);
    for (then, now, is_left) in [
        (before.clone(), before.clone(), false),
        (before.clone(), site(one.clone(), None), false),
        // Made anew of the same configuration.
        (before.clone(), site(origin("/one"), None), false),
        (before.clone(), site(two.clone(), None), true),
        // Two applications may share a server.
        (before.clone(), site(one.clone(), Some("b.example")), true),
        (
            site(in_turn("/one"), None),
            site(in_turn("/one"), None),
            false,
        ),
        (
            site(in_turn("/one"), None),
            site(in_turn("/two"), None),
            true,
        ),
        (site(in_turn("/one"), None), site(one.clone(), None), true),
        (storing(true), storing(true), false),
        (storing(true), storing(false), true),
    ] {
        let flights = Arc::new(Flights::default());
        let fill = || Fill::begin(Budget::new(1).reservation()).0;
        let Seat::Lead(_then) = flights.join(b"k", &of(&then), fill()) else {
            panic!("first leads")
        };
        assert_eq!(flights.flying(b"k", &of(&now)), !is_left);
        assert_eq!(flights.follow(b"k", &of(&now)).is_none(), is_left);
        let seat = flights.join(b"k", &of(&now), fill());
        let leads = matches!(&seat, Seat::Lead(flight) if flight.has_left_overruled());
        assert_eq!(leads, is_left);
        let late = of(&then).overtaken();
        assert!(matches!(flights.join(b"k", &late, fill()), Seat::Follow(_)));
    }
}
