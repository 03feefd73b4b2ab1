//! What a client and an origin may cost: times, sizes, counts.

use super::{
    collapse::reading,
    frames::{PREFACE, frame, literal, read_frame, request},
};
use crate::common::{Said, reload_as, sample, start_with};
use std::{io::Write as _, net::TcpStream};
use testkit::{
    Address, Client, Command, Gate, Larder, Origin, Reply, date, scratch_dir, wait_until,
};

fn limited(limits: &str) -> (Origin, Larder) {
    let (origin, larder) = start_with(&format!("[[origin]]\nservers = \"{{origin}}\"\n{limits}\n"));
    origin.otherwise(|request| Reply::ok().cache("no-store").body(request.target.clone()));
    (origin, larder)
}

#[test]
fn a_header_that_does_not_come_in_time_gets_408() {
    let (origin, larder) = limited("[limits]\nheader_time = \"100ms\"\n");
    let mut client = larder.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ");
    let answer = client.read_head();
    assert_eq!(answer.status, 408, "9110 section 15.5.9");
    client.read_to_end();
    assert!(origin.all().is_empty());
}

#[test]
fn half_a_header_behind_a_request_that_is_waited_for_gets_408_when_that_has_its_answer() {
    let (origin, larder) = limited("[limits]\nheader_time = \"100ms\"\n");
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/first", move |_| {
        Reply::ok().hold_head(&held).body("first")
    });
    let mut client = larder.client();
    client
        .send("GET /first HTTP/1.1\r\nHost: a\r\n\r\nGET /second HTTP/1.1\r\nHost: a\r\nX-Slow: ");
    gate.wait_reached();
    gate.open();
    assert_eq!(client.read().text(), "first");
    assert_eq!(client.read_head().status, 408, "9110 section 15.5.9");
    client.read_to_end();
    assert_eq!(origin.requests("/second"), 0);
}

/// Who is not told sends its next request on a connection that is not there any more.
#[test]
fn where_no_connection_rests_each_answer_says_that_it_is_the_last() {
    let (origin, larder) = limited("[limits]\nidle_time = \"0s\"\n");
    origin.reply("/hit", Reply::ok().cache("max-age=60").body("stored"));
    for (request, status, text) in [
        ("GET /hit HTTP/1.1\r\nHost: a\r\n\r\n", 200, "stored"),
        ("GET /hit HTTP/1.1\r\nHost: a\r\n\r\n", 200, "stored"),
        (
            "GET /hit HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            200,
            "stored",
        ),
        ("GET /miss HTTP/1.1\r\nHost: a\r\n\r\n", 200, "/miss"),
        (
            "POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
            200,
            "/post",
        ),
        (
            "POST /old HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc",
            200,
            "/old",
        ),
        ("PURGE /hit HTTP/1.1\r\nHost: a\r\n\r\n", 200, ""),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 200, "*"),
        ("GET /bad HTTP/1.1\r\nHost: a b\r\n\r\n", 400, ""),
    ] {
        let mut client = larder.client();
        client.send(format!("{request}GET /next HTTP/1.1\r\nHost: a\r\n\r\n"));
        let answer = client.read();
        assert_eq!(answer.status, status, "{request}");
        assert!(answer.text().contains(text), "{request}: {}", answer.text());
        // To HTTP/1.0 that goes without saying, and may be said.
        let told = (!request.starts_with("GET /hit HTTP/1.0")).then_some("close");
        assert_eq!(answer.header("connection"), told, "{request}");
        assert_eq!(client.read_to_end(), b"", "{request}");
    }
    assert_eq!(origin.requests("/next"), 0);
}

#[test]
fn a_body_that_does_not_come_in_time_gets_408() {
    let (origin, larder) = limited("[limits]\nbody_time = \"100ms\"\n");
    let mut client = larder.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
    assert_eq!(client.read_head().status, 408, "9110 section 15.5.9");
    client.read_to_end();
    assert_eq!(origin.requests("/"), 0);
    assert_eq!(larder.get("/alive").send().status, 200);
}

/// Over HTTP/2 the connection is other requests' too: only the late one ends.
#[test]
fn over_http_2_a_body_that_does_not_come_in_time_gets_408() {
    let log = scratch_dir().join("access.log");
    let (_origin, larder) = limited(&format!(
        "[limits]\nbody_time = \"100ms\"\n[purge]\nallow = \"127.0.0.0/8\"\n[log]\naccess = {:?}\n",
        log.display().to_string()
    ));
    let mut client = larder.client();
    client.send(PREFACE);
    client.send(frame(4, 0, &[]));
    let query = ("content-type", "application/json");
    let purge = ("fastly-key", "any");
    let asked = [
        ("POST", "/post", ("x", "y")),
        ("QUERY", "/query", query),
        ("POST", "/service/any/purge", purge),
    ];
    for (stream, (method, path, field)) in (1..).step_by(2).zip(asked) {
        let scheme = (":scheme", "http");
        let fields = [
            (":method", method),
            scheme,
            (":authority", "a"),
            (":path", path),
            field,
        ];
        let block = fields.map(literal).concat();
        client.send(frame(1, stream, &block));
        client.send(frame(0, stream, b"{"));
    }
    for (method, path, _) in asked {
        let line = format!("\"{method} {path} HTTP/2.0\" 408 ");
        wait_until(&line, || {
            std::fs::read_to_string(&log).is_ok_and(|text| text.contains(&line))
        });
    }
    let figures = larder.admin_get("/metrics").send().text();
    let errors = figures
        .lines()
        .find(|line| line.starts_with("larder_origin_errors_total"));
    assert_eq!(errors, Some("larder_origin_errors_total 0"));
}

/// As over HTTP/1, whatever else the client sends: what it does not take holds nothing for ever.
#[test]
fn over_http_2_an_answer_that_its_client_does_not_take_is_ended() {
    let (origin, larder) = limited(
        "most_concurrent = 1\nqueue = { length = 1, time = \"1h\" }\n[limits]\nwrite_time = \"1s\"\n",
    );
    origin.on("/endless", |_| {
        Reply::ok().cache("no-store").endless("more")
    });
    let mut client = larder.client();
    client.send(PREFACE);
    // No window for content (RFC 9113 section 6.5.2).
    client.send(frame(4, 0, &[0, 4, 0, 0, 0, 0]));
    client.send(request(1, "/endless"));
    origin.wait_requests("/endless", 1);
    let mut waiting = larder.get("/other").begin();
    wait_until("the stream is reset", || {
        client.send(frame(6, 0, &[0; 8]));
        matches!(read_frame(&mut client), (3, 1, _))
    });
    assert_eq!(waiting.read().text(), "/other", "it has the turn");
    // The connection goes on, and so does what is taken.
    client.send(frame(4, 0, &[0, 4, 0, 0, 255, 255]));
    client.send(request(3, "/again"));
    let content = loop {
        if let (0, 3, content) = read_frame(&mut client) {
            break content;
        }
    };
    assert_eq!(content, b"/again");
}

#[test]
fn an_idle_connection_is_closed() {
    let (_origin, larder) = limited("[limits]\nidle_time = \"1s\"\n");
    let mut client = larder.client();
    assert_eq!(client.get("/").send().status, 200);
    assert_eq!(client.read_to_end(), b"");
}

#[test]
fn sizes_and_counts_of_a_header_are_limited() {
    let (_origin, larder) =
        limited("[limits]\nheader_size = \"8KiB\"\nheader_count = 16\ntarget_length = \"1KiB\"\n");
    assert_eq!(
        larder.get("/").header("X", "y".repeat(9000)).send().status,
        431
    );
    let many = (0..16).fold(larder.get("/"), |ask, number| {
        ask.header(&format!("X-{number}"), "y")
    });
    assert_eq!(many.send().status, 431);
    assert_eq!(
        larder.get(&format!("/{}", "x".repeat(1100))).send().status,
        414
    );
    assert_eq!(
        larder.get(&format!("/{}", "x".repeat(900))).send().status,
        200
    );
    let host = "h".repeat(200);
    let absolute = format!("http://{host}/{}", "x".repeat(1023));
    let ask = larder.get(&absolute).header("Host", &host);
    assert_eq!(ask.send().status, 200, "path and query are what is limited");
}

#[test]
fn the_content_of_a_request_is_limited() {
    let (origin, larder) = limited("[limits]\nrequest_body = \"1KiB\"\n");
    assert_eq!(
        larder.ask("POST", "/").body([b'x'; 1024]).send().status,
        200
    );
    assert_eq!(
        larder.ask("POST", "/").body([b'x'; 1025]).send().status,
        413,
        "known beforehand"
    );
    let mut client = larder.client();
    client.send(format!("POST /chunked HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n{}\r\n0\r\n\r\n", "x".repeat(0x800)));
    let answer = client.try_read_head();
    assert!(
        answer.is_none_or(|answer| answer.status == 413),
        "found out while reading"
    );
    assert_eq!(origin.requests("/chunked"), 0);
    let (origin, larder) = limited("[limits]\nrequest_body = \"0B\"\n");
    for framing in [
        "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0",
        "Content-Length: 1\r\n\r\nx",
    ] {
        let mut client = larder.client();
        client.send(format!(
            "POST /none HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n"
        ));
        assert_eq!(client.read_head().status, 413, "{framing}");
    }
    assert_eq!(origin.requests("/none"), 0);
    assert_eq!(larder.ask("POST", "/").send().status, 200, "it has none");
    let mut client = larder.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    assert_eq!(client.read().status, 200, "nor has it");
}

#[test]
fn connections_in_all_are_limited() {
    let (origin, larder) = limited("[limits]\nconnections = 2\n");
    let (mut first, mut second) = (larder.client(), larder.client());
    assert_eq!(
        (first.get("/").send().status, second.get("/").send().status),
        (200, 200)
    );
    let mut third = larder.client();
    third.get("/third").begin();
    let answer = third.read_head();
    assert_eq!(answer.status, 503);
    assert_eq!(
        answer.parameter("detail").as_deref(),
        Some("too-many-connections")
    );
    assert_eq!(origin.requests("/third"), 0);
    drop(first);
    wait_until("there is room again", || {
        larder.get("/").send().status == 200
    });
    assert_eq!(second.get("/").send().status, 200);
}

#[test]
fn connections_of_one_address_are_limited() {
    let (_origin, larder) = limited("[limits]\nconnections_per_address = 2\n");
    let mut first = larder.client();
    let mut second = larder.client();
    assert_eq!(
        (first.get("/").send().status, second.get("/").send().status),
        (200, 200)
    );
    let mut third = larder.client();
    third.get("/").begin();
    assert!(
        third
            .try_read_head()
            .is_some_and(|answer| answer.status == 503),
        "one too many"
    );
    drop(first);
    wait_until("there is room again", || {
        let mut fourth = larder.client();
        fourth.get("/").begin();
        fourth
            .try_read_head()
            .is_some_and(|answer| answer.status == 200)
    });
    assert_eq!(second.get("/").send().status, 200);
}

#[test]
fn an_origin_that_hangs_is_504() {
    let (origin, larder) = limited("[origin.timeouts]\nfirst_byte = \"100ms\"\n");
    origin.reply("/", Reply::ok().hang());
    let answer = larder.get("/").send();
    assert_eq!(answer.status, 504, "9110 section 15.6.5");
    assert!(answer.says("detail"), "{}", answer.said());
    wait_until("the origin is let go", || origin.abandoned("/") > 0);
}

#[test]
fn an_origin_that_hangs_in_the_middle_ends_unfinished() {
    let (origin, larder) = limited("[origin.timeouts]\nbetween_bytes = \"100ms\"\n");
    // In one write: nothing of it may come too late.
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n";
    let half = format!("{head}Content-Length: 10\r\n\r\nhalf");
    origin.reply("/", Reply::raw(half).until_client_leaves());
    let answer = larder.get("/").send();
    assert!(!answer.complete && answer.text() == "half");
    origin.reply(
        "/",
        Reply::raw(format!("{head}Content-Length: 5\r\n\r\nwhole")),
    );
    let after = larder.get("/").send();
    assert!(
        !after.hit() && after.text() == "whole",
        "nothing half is stored"
    );
}

#[test]
fn an_origin_that_hangs_is_covered_by_what_is_stale() {
    let (origin, larder) = limited("");
    origin.on("/old", |request| match request.nth {
        1 => Reply::ok()
            .cache("max-age=60, stale-if-error=600")
            .header("Age", "100")
            .body("old"),
        _ => Reply::ok().hang(),
    });
    // What is to be stored has all the time it needs.
    larder.get("/old").send();
    let servers = format!("[[origin]]\nservers = {:?}\n", origin.url());
    let hasty = format!("{servers}timeouts.first_byte = \"100ms\"\n");
    reload_as(&larder, &hasty, "2");
    let answer = larder.get("/old").send();
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (200, "old"),
        "5861 section 4"
    );
}

#[test]
fn fetches_beyond_the_limit_wait_and_those_beyond_the_queue_fail() {
    let (origin, larder) = limited("most_concurrent = 1\nqueue = { length = 1, time = \"1h\" }\n");
    let gate = Gate::new();
    origin.reply(
        "/held",
        Reply::ok().cache("no-store").hold_head(&gate).body("held"),
    );
    let mut first = larder.get("/held").begin();
    gate.wait_reached();
    let mut others: Vec<Client> = (0..2)
        .map(|number| larder.get(&format!("/{number}")).begin())
        .collect();
    let failed = loop {
        // One of the two waits; whichever came last is turned away while the first is still held.
        if let Some(at) = others.iter_mut().position(Client::has_answer) {
            break others.remove(at).read();
        }
    };
    assert_eq!(failed.status, 503);
    assert!(failed.says("detail"), "{}", failed.said());
    let latency = "larder_origin_latency_seconds_count{origin=\"origin\"}";
    assert_eq!(sample(&larder, latency), 0, "nobody was asked for it");
    gate.open();
    assert_eq!(first.read().text(), "held");
    assert_eq!(others.remove(0).read().status, 200);
    assert_eq!(sample(&larder, latency), 2);
}

#[test]
fn slow_uploads_leave_turns_to_others() {
    let (origin, larder) = limited("most_concurrent = 4\nqueue = { length = 9, time = \"1h\" }\n");
    let mut slow: Vec<Client> = (0..5)
        .map(|_| {
            let mut client = larder.client();
            client.send("POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf");
            client
        })
        .collect();
    wait_until("two wait", || {
        sample(&larder, "larder_origin_queued{origin=\"origin\"}") == 2
    });
    assert_eq!(larder.get("/page").send().text(), "/page");
    // What comes with its head is nobody who could be slow.
    for chunks in [false, true] {
        let mut client = larder.client();
        client.send(if chunks {
            "POST /login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nname\r\n0\r\n\r\n"
        } else {
            "POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nname"
        });
        assert_eq!(client.read().text(), "/login");
        assert_eq!(origin.last("/login").body, b"name");
    }
    for client in &mut slow {
        client.send("rest");
    }
    for client in &mut slow {
        assert_eq!(client.read().text(), "/up");
    }
    assert_eq!(origin.requests("/up"), 5);
}

/// Nobody asks it for more before it has its turn, so nothing of it is late.
#[test]
fn an_upload_may_wait_for_its_turn_longer_than_for_a_piece() {
    let (origin, other, gate) = (Origin::start(), Origin::start(), Gate::new());
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"));
    let larder = larder.config(&format!(
        "workers = 1\nlimits = {{ body_time = \"100ms\" }}\n[defaults]\norigin = \"origin\"\n\
         [[origin]]\nname = \"origin\"\nservers = \"{}\"\nmost_concurrent = 1\n\
         queue = {{ length = 9, time = \"1h\" }}\n[[origin]]\nname = \"other\"\nservers = \"{}\"\n\
         [[route]]\npath = \"/other\"\norigin = \"other\"\n",
        origin.url(),
        other.url()
    ));
    let larder = larder.start();
    origin.reply("/held", Reply::ok().cache("no-store").hold_head(&gate));
    origin.reply("/up", Reply::ok().body("up"));
    let mut held = larder.get("/held").begin();
    gate.wait_reached();
    let begin = |path: &str| {
        let mut client = larder.client();
        client.send(format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nhalf"
        ));
        client
    };
    // The first has the turn among uploads. Of the second, what has come was looked at.
    let mut waiting = Vec::new();
    for count in 1..=2 {
        waiting.push(begin("/up"));
        wait_until("it waits", || {
            sample(&larder, "larder_origin_queued{origin=\"origin\"}") == count
        });
    }
    for client in &mut waiting {
        client.send("rest");
    }
    // This one began after them, and is late already.
    let late = begin("/other").read_head();
    assert_eq!(late.status, 408, "9110 section 15.5.9");
    gate.open();
    assert_eq!(held.read().status, 200);
    for client in &mut waiting {
        assert_eq!(client.read().text(), "up");
    }
    for asked in origin.recorded("/up") {
        assert_eq!(asked.body, b"halfrest");
    }
}

/// What does not end would keep its turn from all that does.
#[test]
fn event_streams_hold_no_turn() {
    let (origin, larder) = limited("most_concurrent = 1\nqueue = { length = 1, time = \"1s\" }\n");
    let events = Reply::ok()
        .header("Content-Type", "text/event-stream; charset=utf-8")
        .chunked();
    let events = events.body("data: 1\n\n").until_client_leaves();
    origin.reply("/events", events);
    let readers = [(); 3].map(|()| reading(&larder, "/events", "data: 1\n\n"));
    assert_eq!(larder.get("/page").send().text(), "/page");
    drop(readers);
}

/// A part where only the whole is right: it is not read, and must not keep the turn that the whole needs.
#[test]
fn an_answer_that_is_asked_for_anew_gives_its_turn_back_first() {
    let turns = "most_concurrent = 1\nqueue = { length = 1, time = \"5s\" }\n";
    for (route, range) in [("cache = true", false), ("esi = true\ncache = false", true)] {
        let (origin, larder) = limited(&format!("{turns}[[route]]\n{route}\n"));
        origin.on("/", |request| match request.nth {
            1 => Reply::status(206)
                .header("Content-Range", "bytes 0-9/20")
                .length(10)
                .body("01234")
                .until_client_leaves(),
            _ => Reply::ok().body("whole"),
        });
        let ask = larder.get("/");
        let answer = if range {
            ask.header("Range", "bytes=0-9").send()
        } else {
            ask.send()
        };
        let got = (answer.status, answer.text());
        assert_eq!(got, (200, "whole".to_owned()), "{route}");
    }
}

/// The limit is for the others: whoever asks again is not sent to the origin again.
#[test]
fn a_new_variant_stays_however_old_its_date() {
    let (origin, larder) =
        start_with("[[origin]]\nservers = \"{origin}\"\n[limits]\nvariants = 2\n");
    origin.on("/", |request| {
        let kind = request.header("foo").unwrap_or_default();
        let age = if kind == "c" { -600 } else { 0 };
        let reply = Reply::ok().undated().header("Date", date(age));
        let reply = reply.cache("max-age=6000").header("Vary", "Foo");
        reply.body(kind)
    });
    let ask = |kind: &str| larder.get("/").header("Foo", kind).send();
    for kind in ["a", "b", "c"] {
        assert!(ask(kind).says("stored"));
    }
    let again = ask("c");
    assert_eq!((again.hit(), again.text().as_str()), (true, "c"));
    let left = ["a", "b"].map(|kind| ask(kind).hit());
    assert_ne!(left, [true, true], "another had to go");
}

/// Lets the program open so many files from now on.
fn allow_files(larder: &Larder, files: usize) {
    let pid = larder.id().to_string();
    let limit = format!("--nofile={files}:");
    let done = std::process::Command::new("prlimit")
        .args(["--pid", &pid, &limit])
        .status();
    assert!(done.expect("prlimit").success());
}

/// Where connections took all of the descriptors, nobody could be answered any more, nor look.
#[test]
fn connections_leave_descriptors_for_what_else_there_is() {
    let (_origin, larder) = limited("[limits]\nconnections = 1000\n");
    allow_files(&larder, 200);
    larder.reload();
    larder.wait_output("136 connections at most");
    let mut clients: Vec<Client> = (0..136).map(|_| larder.client()).collect();
    for client in &mut clients {
        assert_eq!(client.get("/").send().status, 200);
    }
    assert_eq!(larder.get("/").send().status, 503, "one too many");
    assert_eq!(larder.admin_get("/healthz").send().status, 200);
}

/// However many requests a few connections bring: what they wait for takes no more than leaves others some.
#[test]
fn fetches_leave_descriptors_to_clients_and_to_who_looks() {
    let (origin, larder) = limited("[limits]\nconnections = 1000\n");
    origin.reply("/page", Reply::ok().cache("max-age=60").body("page"));
    larder.get("/page").send();
    allow_files(&larder, 200);
    let gate = Gate::new();
    origin.reply("/slow", Reply::ok().cache("no-store").hold_head(&gate));
    // Those that find none left are told so.
    let busy = [1, 2].map(|number| {
        let mut client = larder.client();
        client.send(PREFACE);
        client.send(frame(4, 0, &[]));
        // Nobody waits for another's.
        let streams = (0..100_u8).map(|number| 1 + 2 * number);
        let asked: Vec<_> = streams
            .map(|stream| request(stream, &format!("/slow?{number},{stream}")))
            .collect();
        client.send(asked.concat());
        client
    });
    larder.wait_output("this machine has no socket left");
    for _ in 0..20 {
        assert!(larder.get("/page").send().hit());
    }
    assert_eq!(larder.admin_get("/healthz").send().status, 200);
    drop(busy);
    gate.open();
}

/// However many clients come, each of which makes a fetch wait.
#[test]
fn clients_that_wait_for_fetches_leave_descriptors_to_who_looks() {
    let (origin, larder) = limited("[limits]\nconnections = 1000\n");
    allow_files(&larder, 400);
    let gate = Gate::new();
    origin.reply("/slow", Reply::ok().cache("no-store").hold_head(&gate));
    let Address::Tcp(at) = larder.address() else {
        panic!("a port");
    };
    let clients: Vec<_> = (0..300)
        .map(|number| {
            let mut client = TcpStream::connect(at).expect("connected");
            let request = format!("GET /slow?{number} HTTP/1.1\r\nHost: site\r\n\r\n");
            // It may have been turned away.
            let _ = client.write_all(request.as_bytes());
            client
        })
        .collect();
    wait_until("some are turned away", || {
        sample(&larder, "larder_connections_refused_total") > 0
    });
    assert_eq!(larder.admin_get("/healthz").send().status, 200);
    drop(clients);
    gate.open();
}

/// The numbers of the descriptors that the program has.
fn descriptors(larder: &Larder) -> Vec<usize> {
    let open = std::fs::read_dir(format!("/proc/{}/fd", larder.id())).expect("descriptors");
    open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

#[test]
fn that_this_machine_has_no_socket_left_is_no_servers_fault() {
    let (origin, larder) = limited("");
    let answer = || Reply::ok().header("Connection", "close");
    let old = answer().cache("max-age=1").header("Age", "5").body("old");
    origin.reply("/old", old);
    origin.reply("/miss", answer().cache("no-store").body("new"));
    larder.get("/old").send();
    let most = descriptors(&larder).into_iter().max().expect("some") + 20;
    allow_files(&larder, most);
    let mut clients: Vec<Client> = Vec::new();
    let is_free = |number: usize| !descriptors(&larder).contains(&number);
    // Until clients have all that they may.
    while (0..most - most / 8).any(is_free) {
        let mut client = larder.client();
        let answer = client.ask("OPTIONS", "*").header("Max-Forwards", "0");
        assert_eq!(answer.send().status, 204);
        clients.push(client);
    }
    let client = clients.last_mut().expect("one");
    let missed = client.get("/miss").send();
    assert_eq!(missed.status, 503, "{}", missed.said());
    assert_eq!(missed.parameter("detail").as_deref(), Some("no-socket"));
    let stale = client.get("/old").send();
    assert_eq!((stale.status, stale.text().as_str()), (200, "old"));
    allow_files(&larder, 1000);
    assert_eq!(client.get("/miss").send().text(), "new");
    assert!(
        !larder.output().contains("server fails"),
        "{}",
        larder.output()
    );
    let metrics = larder.admin_get("/metrics").send().text();
    let mut failures = metrics
        .lines()
        .filter(|line| line.starts_with("larder_server_failures_total"));
    assert!(failures.all(|line| line.ends_with(" 0")), "{metrics}");
}

/// A user whom a limit on threads holds, as it does not hold root.
const SOMEBODY: [&str; 5] = [
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--",
    "env",
];

/// Files are looked up and a stop is waited for on threads of their own. Where the system has none left, those that are
/// there do it.
#[test]
fn where_no_thread_can_be_made_files_are_sent_and_a_stop_is_a_stop() {
    let user = std::process::Command::new("id").arg("-u").output();
    let user = String::from_utf8(user.expect("a user").stdout).expect("a number");
    let somebody: &[&str] = match user.trim() {
        "0" => &[
            "setpriv",
            SOMEBODY[0],
            SOMEBODY[1],
            SOMEBODY[2],
            SOMEBODY[3],
            SOMEBODY[4],
        ],
        _ => &["env"],
    };
    let folder = scratch_dir();
    let site = folder.join("site");
    std::fs::create_dir(&site).expect("a folder");
    std::fs::write(site.join("a.txt"), "a file").expect("a file");
    // Where the program lies nobody else may look.
    let program = folder.join("larder");
    std::fs::copy(env!("CARGO_BIN_EXE_larder"), &program).expect("the program");
    let config = format!(
        "workers = 1\n[[origin]]\nstatic = \"{}\"\n[[route]]\ncache = false\n",
        site.display()
    );
    let mut larder = testkit::Command::new(somebody[0])
        .args(&somebody[1..])
        .args([program.as_os_str()])
        .args(["serve", "--listen", "127.0.0.1:0", "--admin", "off"])
        .config(&config)
        .start();
    let limited = std::process::Command::new(somebody[0])
        .args(&somebody[1..])
        .args(["prlimit", "--pid", &larder.id().to_string(), "--nproc=1:1"])
        .status();
    assert!(limited.expect("prlimit").success());
    let clients: Vec<Client> = (0..5).map(|_| larder.get("/a.txt").begin()).collect();
    for mut client in clients {
        assert_eq!(client.read().text(), "a file");
    }
    larder.terminate();
    assert_eq!(larder.wait().code, Some(0), "{}", larder.output());
}
