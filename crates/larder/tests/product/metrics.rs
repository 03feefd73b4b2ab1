//! What operators set alarms on counts what its name says: each figure has a number of its own here, so that none
//! stands for another.

use crate::{
    common::{Said, sample, start_with},
    disk_purge::purge,
    tls::{certificate, curl, secure_with},
    user_context,
};
use serde_json::json;
use std::fs;
use testkit::{Client, Gate, Larder, Reply, scratch_dir, wait_until};

#[test]
fn connections_are_counted_by_what_became_of_them() {
    let (origin, larder) =
        start_with("[limits]\nheader_time = \"1s\"\n[[origin]]\nservers = \"{origin}\"\n");
    origin.reply("/", Reply::ok().cache("no-store").body("content"));
    let count = |name: &str| sample(&larder, &format!("larder_{name}"));
    let accepted = count("connections_accepted_total");
    // Four are turned away as what they are, of which none has a whole request.
    for _ in 0..4 {
        let mut client = larder.client();
        client.send("no request at all\r\n\r\n");
        client.read_to_end();
    }
    // Three are too slow.
    let slow: Vec<Client> = (0..3)
        .map(|_| {
            let mut client = larder.client();
            client.send("GET / HTTP/1.1\r\nHost: a\r\nX: ");
            client
        })
        .collect();
    for mut client in slow {
        assert_eq!(client.read_head().status, 408);
        client.read_to_end();
    }
    // Two are there still.
    let mut open: Vec<Client> = (0..2).map(|_| larder.client()).collect();
    for client in &mut open {
        assert_eq!(client.get("/").send().status, 200);
    }
    assert_eq!(count("protocol_errors_total"), 4);
    assert_eq!(count("connection_timeouts_total"), 3);
    assert_eq!(count("connections_active"), 2);
    assert_eq!(count("connections_refused_total"), 0);
    assert_eq!(count("connections_accepted_total"), accepted + 9);
    assert_eq!(
        count("handshakes_total") + count("handshakes_failed_total"),
        0
    );
}

#[test]
fn those_that_a_limit_turns_away_are_counted_as_such() {
    let (origin, larder) =
        start_with("[limits]\nconnections = 2\n[[origin]]\nservers = \"{origin}\"\n");
    origin.reply("/", Reply::ok().cache("no-store").body("content"));
    let mut open: Vec<Client> = (0..2).map(|_| larder.client()).collect();
    for client in &mut open {
        assert_eq!(client.get("/").send().status, 200);
    }
    for _ in 0..5 {
        assert_eq!(larder.get("/").send().status, 503);
    }
    assert_eq!(sample(&larder, "larder_connections_refused_total"), 5);
    assert_eq!(sample(&larder, "larder_connections_active"), 2);
}

#[test]
fn bytes_and_what_is_stored_are_counted() {
    let (origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
    for number in 0..3 {
        origin.reply(
            &format!("/{number}"),
            Reply::ok().cache("max-age=60").body("kept"),
        );
    }
    origin.reply("/x", Reply::ok().cache("no-store").body("x".repeat(50_000)));
    let mut client = larder.client();
    let mut asked = 0;
    for path in ["/0", "/1", "/2", "/x", "/x"] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
        asked += request.len() as u64;
        client.send(request);
        client.read();
    }
    assert_eq!(sample(&larder, "larder_stored_total"), 3);
    assert_eq!(sample(&larder, "larder_received_bytes_total"), asked);
    let sent = sample(&larder, "larder_sent_bytes_total");
    assert!((100_000..110_000).contains(&sent), "{sent}");
}

/// Whoever asked for it: a client, or a refresh for which none waits.
#[test]
fn what_is_stored_or_confirmed_in_the_background_is_counted_too() {
    let (origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
    let stale = || {
        let reply = Reply::ok().cache("max-age=0, stale-while-revalidate=600");
        reply.header("ETag", "\"1\"")
    };
    origin.on("/new", move |_| stale().body("x"));
    origin.on("/same", move |request| match request.nth {
        1 => stale().body("x"),
        _ => Reply::status(304).header("ETag", "\"1\""),
    });
    let counts = || {
        ["stored", "validated", "refreshes"]
            .map(|name| sample(&larder, &format!("larder_{name}_total")))
    };
    for path in ["/new", "/same"] {
        larder.get(path).send();
    }
    assert_eq!(counts(), [2, 0, 0]);
    larder.get("/new").send();
    wait_until("what the refresh has brought is counted", || {
        counts() == [3, 0, 1]
    });
    larder.get("/same").send();
    wait_until("what the refresh has confirmed is counted", || {
        counts() == [3, 1, 2]
    });
}

#[test]
fn servers_are_counted_by_what_they_do() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\nretry.attempts = 0\npassive.failures = 0\n",
    );
    let gate = Gate::new();
    origin.reply("/held", Reply::ok().cache("no-store").hold_head(&gate));
    origin.reply("/bad", Reply::raw("garbage\r\n\r\n"));
    let name = origin.url().replace("http://", "");
    let server = |figure: &str| {
        let name = format!("larder_server_{figure}{{origin=\"origin\",server=\"{name}\"}}");
        sample(&larder, &name)
    };
    for _ in 0..3 {
        assert_eq!(larder.get("/bad").send().status, 502);
    }
    let mut held: Vec<Client> = (0..2)
        .map(|_| larder.ask("POST", "/held").begin())
        .collect();
    origin.wait_requests("/held", 2);
    assert_eq!(
        (
            server("failures_total"),
            server("active"),
            server("healthy")
        ),
        (3, 2, 1)
    );
    gate.open();
    for client in &mut held {
        assert_eq!(client.read().status, 200);
    }
    wait_until("nobody is served", || server("active") == 0);
}

/// A histogram with samples of no time would say that the application is fast while it is down.
#[test]
fn requests_for_which_no_server_was_asked_took_no_origin_any_time() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\nhealth = { path = \"/health\", every = \"1h\", unhealthy_after = 1 }\n",
    );
    let latency = "larder_origin_latency_seconds_count{origin=\"origin\"}";
    origin.reply("/health", Reply::status(503));
    larder.wait_output("server is down");
    let answer = larder.get("/").send();
    assert_eq!(
        (answer.status, answer.parameter("detail").as_deref()),
        (503, Some("no-healthy-server"))
    );
    assert_eq!(sample(&larder, latency), 0);
}

/// All that clients asked for, and nothing else.
fn asked_by_clients(larder: &Larder) -> u64 {
    let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"];
    let name = |class| format!("larder_responses_total{{class=\"{class}\"}}");
    classes
        .iter()
        .map(|class| sample(larder, &name(class)))
        .sum()
}

/// A site with many logged-in users would seem to have twice the requests, and another rate of hits than its clients see.
#[test]
fn the_question_for_a_group_is_no_clients_request() {
    let (_origin, larder) = user_context::site();
    for number in 1..=3 {
        user_context::get(&larder, "/page", "ann");
        assert_eq!(asked_by_clients(&larder), number);
    }
    let count = |name: &str| sample(&larder, &format!("larder_{name}"));
    assert_eq!(count("forwarded_total{reason=\"uri-miss\"}"), 1);
    assert_eq!(count("hits_total{kind=\"fresh\"}"), 2);
    // The page, and what was told of the group.
    assert_eq!(count("stored_total"), 2);
}

#[test]
fn what_is_fetched_again_after_a_soft_purge_is_a_refresh_and_no_clients_request() {
    let log = scratch_dir().join("access.log");
    let (origin, larder) = start_with(&format!(
        "[log]\naccess = {log:?}\n[[origin]]\nservers = \"{{origin}}\"\n\
         [purge]\nrefresh = {{ most = 2, rate = 100 }}\n"
    ));
    origin.reply("/", Reply::ok().cache("max-age=60").body("page"));
    for _ in 0..3 {
        larder.get("/").send();
    }
    purge(&larder, &json!({ "everything": true, "soft": true }));
    wait_until("it is fetched again", || {
        sample(&larder, "larder_refreshes_total") == 1
    });
    assert!(larder.get("/").send().hit());
    assert_eq!(asked_by_clients(&larder), 4);
    assert_eq!(
        sample(&larder, "larder_forwarded_total{reason=\"uri-miss\"}"),
        1
    );
    assert_eq!(
        sample(&larder, "larder_forwarded_total{reason=\"stale\"}"),
        0
    );
    assert_eq!(origin.requests("/"), 2);
    larder.stop();
    let logged = fs::read_to_string(log).expect("a log");
    assert_eq!(logged.lines().count(), 4, "{logged}");
}

/// RFC 9211 section 2.2: why requests are forwarded, each reason a number of its own.
#[test]
fn forwarded_requests_are_counted_by_their_reason() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults.bypass]\ncookies = [\"login\"]\n",
    );
    origin.on("/vary", |_| {
        Reply::ok().cache("max-age=60").header("Vary", "X-Kind")
    });
    origin.on("/part", |request| {
        let reply = |status| {
            Reply::status(status)
                .cache("max-age=60")
                .header("ETag", "\"a\"")
        };
        match request.header("range") {
            Some("bytes=0-4") => reply(206)
                .header("Content-Range", "bytes 0-4/10")
                .body("01234"),
            Some(_) => reply(206)
                .header("Content-Range", "bytes 5-9/10")
                .body("56789"),
            None => reply(200).body("0123456789"),
        }
    });
    origin.otherwise(|_| Reply::ok().cache("max-age=60"));
    for _ in 0..2 {
        larder.get("/").header("Cookie", "login=a").send();
    }
    for kind in 0..5 {
        let ask = larder.get("/vary").header("X-Kind", kind.to_string());
        ask.send();
    }
    larder.get("/part").header("Range", "bytes=0-4").send();
    assert_eq!(larder.get("/part").send().text(), "0123456789");
    for (reason, count) in [
        ("bypass", 2),
        ("vary-miss", 4),
        ("partial", 1),
        ("uri-miss", 2),
        ("method", 0),
        ("request", 0),
        ("stale", 0),
        ("miss", 0),
    ] {
        let name = format!("larder_forwarded_total{{reason=\"{reason}\"}}");
        assert_eq!(sample(&larder, &name), count, "{reason}");
    }
}

#[test]
fn handshakes_are_counted_by_their_end() {
    let pair = certificate("shop.test");
    let (_origin, larder) = secure_with(&[&pair], "");
    for _ in 0..2 {
        curl(&larder, "https", "shop.test", &["--insecure"]).expect("an answer");
    }
    for _ in 0..3 {
        let mut client = larder.client();
        client.send("GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n");
        client.read_to_end();
    }
    wait_until("all have ended", || {
        sample(&larder, "larder_handshakes_failed_total") == 3
    });
    assert_eq!(sample(&larder, "larder_handshakes_total"), 2);
}

#[test]
fn the_version_is_told() {
    let (_origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("larder_build_info{{version=\"{version}\"}}");
    assert_eq!(sample(&larder, &name), 1);
}

/// What the disk tier says of itself is what lies in its directory, and its limit is the one that was written.
#[test]
fn the_disk_tier_is_measured() {
    const LIMIT: u64 = 64 << 20;
    let path = scratch_dir().join("disk");
    let (origin, larder) = start_with(&format!(
        "[memory]\nsize = \"2MiB\"\n[disk]\npath = \"{}\"\nsize = \"64MiB\"\n[[origin]]\nservers = \"{{origin}}\"\n",
        path.display()
    ));
    let body = "x".repeat(100_000);
    origin.otherwise(move |_| Reply::ok().cache("max-age=600").body(&body));
    let disk = |name: &str| sample(&larder, &format!("larder_disk_{name}"));
    assert_eq!((disk("limit_bytes"), disk("evicted_total")), (LIMIT, 0));
    let misses = disk("misses_total");
    let mut client = larder.client();
    let mut ask = |number: u32| {
        for _ in 0..2 {
            client.get(&format!("/{number}")).send();
        }
    };
    ask(0);
    assert!(disk("misses_total") > misses, "it was looked for there");
    for number in 1..1000 {
        ask(number);
    }
    wait_until("others went for those", || disk("evicted_total") > 50);
    assert!(disk("writes_total") > disk("evicted_total"));
    assert!(disk("written_bytes_total") > LIMIT);
    assert!(disk("rewritten_total") <= disk("evicted_total"));
    assert!(disk("bytes") <= LIMIT && disk("bytes") > LIMIT / 2);
    assert!(disk("index_bytes") > 0 && disk("index_bytes") < 1 << 20);
    wait_until("each segment is a file", || {
        let files = std::fs::read_dir(&path).expect("a directory").flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        let segments = names.filter(|name| name.contains("segment")).count();
        segments as u64 == disk("segments") && segments > 0
    });
}
