//! Tests of the bounds that hold without flags, and of those that flags set.

use super::{Bounds, Refusal, bounds};
use crate::command::bench::{Bench, target::Target};
use clap::Parser;
use load::{
    site::{Origin, Site, choice::Choice},
    url::Url,
};
use std::{sync::Arc, time::Duration};

#[derive(Parser)]
struct Told {
    #[command(flatten)]
    bench: Bench,
}

/// The bounds of a run at this host, with these flags.
fn found(host: &str, flags: &[&str]) -> Result<Bounds, Refusal> {
    let told = Told::try_parse_from([&["bench", "http://it/"], flags].concat());
    let url = Url::parse(host).expect("a URL");
    let target = Target {
        name: host.to_owned(),
        url: host.to_owned(),
        site: Arc::new(Site {
            origins: vec![Origin::resolve(url.base)],
            requests: Vec::new(),
            choice: Choice::InTurn,
        }),
    };
    bounds(&told.expect("flags").bench, &[target])
}

/// An address reserved for documentation (RFC 5737).
const REMOTE: &str = "192.0.2.7";

#[test]
fn what_holds_where_nothing_is_said() {
    let here = found("127.0.0.1", &[]).expect("bounds");
    assert_eq!(here.end.after, Duration::from_secs(10));
    assert_eq!(here.end.requests, Some(100_000_000));
    assert_eq!(here.most_rate, None);
    assert_eq!(here.shape.most(), 50);
    let remote = found(REMOTE, &[]).expect("an allowed host");
    assert_eq!(remote.most_rate, Some(1000.0));
    let counted = found("127.0.0.1", &["-n", "5"]).expect("bounds");
    assert_eq!(counted.end.after, Duration::from_mins(10));
    let ramp = ["--users", "9", "--ramp", "40s"];
    let ramp = found("127.0.0.1", &ramp).expect("bounds");
    assert_eq!(ramp.end.after, Duration::from_secs(40));
    let free = found(REMOTE, &["--unbounded", "-d", "9h"]).expect("bounds");
    assert_eq!(free.end.requests, None);
    assert_eq!(free.most_rate, Some(1000.0), "towards others all the same");
}

#[test]
fn bounds_on_the_rate() {
    for (host, flags, most) in [
        ("127.0.0.1", &["--max-rate", "5"][..], Some(5.0)),
        (REMOTE, &["--max-rate", "5000"], Some(5000.0)),
        (REMOTE, &["--rate", "1000"], Some(1000.0)),
        (REMOTE, &["--rate", "0..50", "--max-rate", "50"], Some(50.0)),
        ("127.0.0.1", &["--rate", "100000"], None),
    ] {
        let found = found(host, flags).expect("bounds");
        assert_eq!(found.most_rate, most, "{host} {flags:?}");
    }
    for (host, flags) in [
        (REMOTE, &["--rate", "1001"][..]),
        (REMOTE, &["--rate", "50000", "--max-rate", "100"]),
        (REMOTE, &["--rate", "1001", "--unbounded"]),
        ("127.0.0.1", &["--rate", "200..10", "--max-rate", "100"]),
        ("127.0.0.1", &["--rate", "100001"]),
    ] {
        assert!(found(host, flags).is_err(), "{host} {flags:?}");
    }
}

#[test]
fn all_of_a_run_is_bounded() {
    for (flags, allowed) in [
        (&["-d", "1h"][..], true),
        (&["-d", "1h", "--warm-up", "1s"], false),
        (&["-n", "9", "--warm-up", "1h"], true),
        (&["-n", "9", "--warm-up", "61m"], false),
        (&["--compare", "-n", "9", "--rounds", "100"], true),
        (&["--compare", "-n", "9", "--rounds", "101"], false),
        (&["--compare", "-d", "12m", "--rounds", "5"], true),
        (&["--compare", "-d", "13m", "--rounds", "5"], false),
        // However long that is.
        (
            &["--compare", "-d", "100000h", "--rounds", "1000000000000"],
            false,
        ),
    ] {
        let found = found("127.0.0.1", flags);
        assert_eq!(found.is_ok(), allowed, "{flags:?}");
    }
}
