//! Servers that fail rest, and checks take them out and bring them back.

use crate::support::*;
use http::Method;
use origin::{
    Context, Kind, Origin,
    config::{ActiveHealth, PassiveHealth},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};
use testkit::Reply;

#[test]
fn a_server_that_fails_in_a_row_rests() {
    let (bad, good) = (testkit::Origin::start(), testkit::Origin::start());
    bad.reply("/", Reply::raw("no\r\n\r\n"));
    good.reply("/", Reply::ok());
    let mut config = config([tcp(bad.address()), tcp(good.address())]);
    config.passive = PassiveHealth {
        failures: 2,
        rest: Duration::from_hours(1),
    };
    let origin = Origin::new(config).unwrap();
    work(async {
        for _ in 0..20 {
            get(&origin, "/").await.unwrap();
        }
    });
    assert_eq!(bad.requests("/"), 2);
    let healthy = origin
        .report()
        .servers
        .into_iter()
        .map(|server| server.healthy);
    assert_eq!(healthy.collect::<Vec<_>>(), [false, true]);
}

/// That a head came says nothing of the body.
#[test]
fn a_server_whose_answers_all_break_rests() {
    const BROKEN: usize = 6;
    let (bad, good) = (testkit::Origin::start(), testkit::Origin::start());
    bad.on("/", |request| match request.nth {
        ..=BROKEN => Reply::ok().length(9).body("half").cut(),
        _ => Reply::ok(),
    });
    good.reply("/", Reply::ok());
    let mut config = config([tcp(bad.address()), tcp(good.address())]);
    config.passive = PassiveHealth {
        failures: 3,
        rest: LONG,
    };
    let origin = Origin::new(config).unwrap();
    work(at_once(async {
        let asked = async || {
            for _ in 0..20 {
                let _ = get(&origin, "/").await;
            }
            bad.requests("/")
        };
        assert_eq!(asked().await, 3);
        for failed in 4..=BROKEN {
            tokio::time::advance(LONG).await;
            assert_eq!(asked().await, failed, "it is tried, and rests again");
        }
        tokio::time::advance(LONG).await;
        assert!(asked().await > BROKEN + 5, "it is back");
    }));
}

/// What comes in part is enough for whoever leaves then, and a stream has no end: both say that the server answers.
#[test]
fn answers_that_nobody_reads_to_their_end_are_no_failures() {
    let server = testkit::Origin::start();
    server.on("/", |_| Reply::raw("no\r\n\r\n"));
    let unended = Reply::ok().length(9).body("part").until_client_leaves();
    server.on("/left", move |_| unended.clone());
    server.on("/events", |_| {
        let stream = Reply::ok().header("content-type", "text/event-stream");
        stream.endless("data: 1\n\n")
    });
    let mut config = config([tcp(server.address())]);
    config.passive.rest = Duration::from_hours(1);
    config.retry.attempts = 0;
    let origin = Origin::new(config).unwrap();
    work(async {
        let mut streams = Vec::new();
        for target in ["/left", "/events"] {
            for _ in 0..5 {
                get(&origin, "/").await.unwrap_err();
                let request = request(Method::GET, target, empty());
                let answer = origin.fetch(request, repeatable()).await.unwrap();
                streams.extend((target == "/events").then_some(answer));
            }
        }
        assert!(origin.report().servers[0].healthy);
    });
}

/// Something that cuts connections after a time ends each stream sooner or later; that says nothing of the server.
#[test]
fn a_stream_that_breaks_off_at_once_is_a_failure_and_one_that_lasted_is_none() {
    let server = testkit::Origin::start();
    let stream = Reply::ok().header("content-type", "text/event-stream");
    let stream = stream.chunked().body("data: 1\n\n");
    let cut = testkit::Gate::new();
    server.reply("/lasts", stream.clone().hold(&cut).cut());
    server.reply("/breaks", stream.cut());
    let mut config = config([tcp(server.address())]);
    config.passive.rest = Duration::from_hours(1);
    let origin = Origin::new(config).unwrap();
    let healthy = || origin.report().servers[0].healthy;
    work(at_once(async {
        let mut streams = Vec::new();
        for _ in 0..5 {
            let request = request(Method::GET, "/lasts", empty());
            streams.push(origin.fetch(request, repeatable()).await.unwrap());
        }
        tokio::time::advance(LONG).await;
        cut.open();
        for stream in streams {
            assert_eq!(kind(read(stream).await), Kind::Truncated);
        }
        assert!(healthy(), "they lasted");
        for _ in 0..3 {
            assert!(healthy());
            assert_eq!(kind(get(&origin, "/breaks").await), Kind::Truncated);
        }
        assert!(!healthy(), "three broke off at once");
    }));
}

/// How long the head took says nothing of what follows it.
#[test]
fn a_stream_whose_head_is_late_has_not_lasted_when_it_breaks_off() {
    let server = testkit::Origin::start();
    let stream = Reply::ok().header("content-type", "text/event-stream");
    let late = testkit::Gate::new();
    server.reply("/", stream.chunked().hold_head(&late).cut());
    let mut config = config([tcp(server.address())]);
    config.passive.rest = Duration::from_hours(1);
    let origin = Origin::new(config).unwrap();
    let breaks = async || assert_eq!(kind(get(&origin, "/").await), Kind::Truncated);
    work(at_once(async {
        let head = async {
            until(|| server.requests("/") == 3).await;
            tokio::time::advance(LONG).await;
            late.open();
        };
        tokio::join!(breaks(), breaks(), breaks(), head);
    }));
    assert!(!origin.report().servers[0].healthy);
}

#[test]
fn a_server_that_has_rested_is_tried_by_one_request() {
    const REST: Duration = Duration::from_secs(20);
    let (bad, good) = (testkit::Origin::start(), testkit::Origin::start());
    bad.on("/", |request| match request.nth {
        1 => Reply::raw("no\r\n\r\n"),
        2 => Reply::ok().hang(),
        _ => Reply::ok().body("back"),
    });
    good.reply("/", Reply::ok());
    let mut config = config([tcp(bad.address()), tcp(good.address())]);
    config.passive = PassiveHealth {
        failures: 1,
        rest: REST,
    };
    config.timeouts.first_byte = 4 * REST;
    let origin = Origin::new(config).unwrap();
    work(at_once(async {
        let all_well = async || {
            for _ in 0..9 {
                assert_eq!(get(&origin, "/").await.unwrap().text(), "");
            }
        };
        all_well().await;
        assert_eq!(bad.requests("/"), 1, "it rests");
        tokio::time::advance(REST).await;
        let trial = {
            let origin = Arc::clone(&origin);
            tokio::task::spawn_local(async move {
                while get(&origin, "/").await.unwrap().text().is_empty() {}
            })
        };
        until(|| bad.requests("/") == 2).await;
        all_well().await;
        assert_eq!(bad.requests("/"), 2, "one tries, the others wait for none");
        assert!(!origin.report().servers[0].healthy);
        trial.abort();
        tokio::time::advance(REST).await;
        // The client of the first trial has left, and nobody knows what came of it.
        while get(&origin, "/").await.unwrap().text() != "back" {}
        assert!(origin.report().servers[0].healthy);
        let texts = async || get(&origin, "/").await.unwrap().text().to_owned();
        assert_eq!(texts().await + &texts().await, "back", "its whole share");
    }));
}

/// A tunnel may last for days, and the server has answered.
#[test]
fn a_trial_by_an_upgrade_ends_when_the_protocol_is_switched() {
    const REST: Duration = Duration::from_secs(20);
    let (bad, good) = (testkit::Origin::start(), testkit::Origin::start());
    bad.reply("/", Reply::raw("no\r\n\r\n"));
    good.reply("/", Reply::ok());
    for server in [&bad, &good] {
        server.reply("/chat", Reply::upgrade("websocket"));
    }
    let mut config = config([tcp(bad.address()), tcp(good.address())]);
    config.passive = PassiveHealth {
        failures: 1,
        rest: REST,
    };
    let origin = Origin::new(config).unwrap();
    let healthy = || origin.report().servers[0].healthy;
    work(at_once(async {
        while healthy() {
            get(&origin, "/").await.unwrap();
        }
        tokio::time::advance(REST).await;
        let mut tunnels = Vec::new();
        while bad.requests("/chat") == 0 {
            let mut asked = request(Method::GET, "/chat", empty());
            for (name, value) in [("connection", "upgrade"), ("upgrade", "websocket")] {
                asked.headers_mut().insert(name, value.parse().unwrap());
            }
            let answer = origin.fetch(asked, Context::default()).await.unwrap();
            assert_eq!(answer.status(), 101);
            tunnels.push(answer);
        }
        assert!(healthy(), "while the tunnel is open");
    }));
}

#[test]
fn when_all_rest_they_are_asked_all_the_same() {
    let server = testkit::Origin::start();
    server.on("/", |request| match request.nth {
        1..=3 => Reply::raw("no\r\n\r\n"),
        _ => Reply::ok(),
    });
    let mut config = config([tcp(server.address())]);
    config.passive.rest = Duration::from_hours(1);
    let origin = Origin::new(config).unwrap();
    work(async {
        for _ in 0..3 {
            once(&origin, Method::GET, "/").await.unwrap_err();
        }
        assert!(!origin.report().servers[0].healthy);
        once(&origin, Method::GET, "/").await.unwrap();
    });
}

#[test]
fn checks_take_out_and_bring_back() {
    let server = testkit::Origin::start();
    let well = Arc::new(AtomicBool::new(true));
    let state = Arc::clone(&well);
    server.on("/health", move |_| {
        Reply::status(if state.load(SeqCst) { 200 } else { 503 })
    });
    server.reply("/", Reply::ok());
    let mut config = config([tcp(server.address())]);
    config.active = Some(ActiveHealth {
        path: "/health?deep=1".to_owned(),
        host: Some("check.example".to_owned()),
        every: Duration::from_millis(5),
        timeout: Duration::from_secs(5),
        healthy_after: 2,
        unhealthy_after: 2,
        status: 200..=299,
    });
    let origin = Origin::new(config).unwrap();
    work(async {
        let watch = tokio::task::spawn_local(Arc::clone(&origin).keep_watch());
        let healthy = async |healthy: bool| {
            until(|| origin.report().servers[0].healthy == healthy).await;
        };
        get(&origin, "/").await.unwrap();
        well.store(false, SeqCst);
        healthy(false).await;
        let error = get(&origin, "/").await.unwrap_err();
        assert_eq!(error.kind(), Kind::NoHealthyServer);
        assert!(error.is_unreachable());
        well.store(true, SeqCst);
        healthy(true).await;
        get(&origin, "/").await.unwrap();
        server.stop();
        healthy(false).await;
        server.start_again();
        healthy(true).await;
        watch.abort();
    });
    let seen = server.last("/health");
    assert_eq!(seen.header("host"), Some("check.example"));
    assert_eq!(seen.target, "/health?deep=1");
}

#[test]
fn watching_resolves_names_before_the_first_fetch() {
    let server = testkit::Origin::start();
    server.reply("/", Reply::ok());
    let mut named = tcp(server.address());
    named.address = origin::config::Address::Tcp {
        host: "localhost".to_owned(),
        port: server.address().port(),
    };
    let mut config = config([named]);
    config.resolve_every = Duration::from_millis(1);
    let origin = Origin::new(config).unwrap();
    work(async {
        let watch = tokio::task::spawn_local(Arc::clone(&origin).keep_watch());
        for _ in 0..20 {
            get(&origin, "/").await.unwrap();
            tokio::task::yield_now().await;
        }
        watch.abort();
    });
    assert_eq!(
        server.connections(),
        1,
        "the same answer again changes nothing"
    );
}
