//! Origins in trouble: retries and their budget, a server that hangs, one that comes back.

use crate::{
    common::{sample, start, start_with},
    origins::two_servers,
};
use std::time::Instant;
use testkit::{Command, Gate, Larder, Origin, Reply, wait_until};

/// How often the servers were asked for targets that begin so.
fn asked(servers: &[Origin], prefix: &str) -> usize {
    let all = servers.iter().flat_map(Origin::all);
    all.filter(|request| request.target.starts_with(prefix))
        .count()
}

#[test]
fn only_what_may_be_asked_twice_is_tried_again() {
    let (servers, larder) = two_servers("passive = { failures = 0 }");
    for server in &servers {
        server.otherwise(|_| Reply::close());
    }
    for (method, content, attempts) in [
        ("GET", "", 2),
        ("HEAD", "", 2),
        ("OPTIONS", "", 2),
        ("DELETE", "", 2),
        ("PUT", "x", 1),
        ("POST", "", 1),
        ("POST", "x", 1),
        ("PATCH", "x", 1),
        ("FOO", "", 1),
    ] {
        let target = format!("/{method}/{content}.");
        let ask = larder.ask(method, &target);
        let ask = match content {
            "" => ask,
            content => ask.body(content),
        };
        assert_eq!(ask.send().status, 502, "{target}");
        let seen = asked(&servers, &target);
        assert_eq!(seen, attempts, "9110 section 9.2.2: {method} {content}");
    }
}

/// One that closes what it gets, on idle connections and on new ones, costs nobody an answer that the other has.
#[test]
fn a_server_that_closes_all_it_gets_is_made_up_for_by_the_other() {
    let (servers, larder) = two_servers("passive = { failures = 0 }");
    let [closing, _] = &servers;
    for number in 0..4 {
        assert_eq!(larder.get(&format!("/{number}")).send().status, 200);
    }
    assert!(
        closing.requests("/0") + closing.requests("/1") > 0,
        "it has an idle connection"
    );
    closing.otherwise(|_| Reply::close());
    for number in 4..10 {
        let answer = larder.get(&format!("/{number}")).send();
        assert_eq!((answer.status, answer.text().as_str()), (200, "1"));
    }
}

/// What was sent on an idle connection may have been carried out. What changes nothing is sent on a new one besides.
#[test]
fn an_idle_connection_that_closes_counts_for_what_may_have_been_done() {
    for (attempts, method, sent) in [
        (0, "GET", 2),
        (0, "DELETE", 1),
        (0, "PUT", 1),
        (1, "GET", 3),
        (1, "DELETE", 2),
        (1, "PUT", 2),
    ] {
        let settings = format!("passive.failures = 0\nretry.attempts = {attempts}");
        let (servers, larder) = two_servers(&settings);
        for _ in 0..4 {
            assert_eq!(larder.get("/").send().status, 200);
        }
        for server in &servers {
            server.otherwise(|_| Reply::close());
        }
        assert_eq!(larder.ask(method, "/closes").send().status, 502);
        assert_eq!(asked(&servers, "/closes"), sent, "{attempts} {method}");
    }
}

#[test]
fn retries_end_with_their_budget() {
    const REQUESTS: usize = 200;
    let (servers, larder) = two_servers("passive = { failures = 0 }\nretry = { percent = 20 }");
    for server in &servers {
        server.otherwise(|_| Reply::close());
    }
    for number in 0..REQUESTS {
        assert_eq!(larder.get(&format!("/{number}")).send().status, 502);
    }
    let retries = asked(&servers, "/") - REQUESTS;
    assert!(retries >= 10, "ten in any case: {retries}");
    // A fifth and ten, once in ten seconds: nobody is so slow that half of them would be allowed.
    assert!(retries < REQUESTS / 2, "a fifth and ten: {retries}");
}

/// What is refused asks nobody, so whoever comes next may try the server.
#[test]
fn a_retry_beyond_the_budget_leaves_the_trial_to_others() {
    let [failing, rested, clock, other] = [(); 4].map(|()| Origin::start());
    let origin = |name: &str, servers: [&Origin; 2]| {
        format!(
            "[[origin]]\nname = \"{name}\"\nservers = {:?}\nretry.percent = 0\n\
             passive = {{ failures = 2, rest = \"1s\" }}\n",
            servers.map(Origin::url)
        )
    };
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder")).config(&format!(
        "workers = 1\n{}{}[defaults]\norigin = \"app\"\ncache = false\n\
         [[route]]\npath = \"/clock\"\norigin = \"clock\"\n",
        origin("app", [&failing, &rested]),
        origin("clock", [&clock, &other]),
    ));
    let larder = larder.start();
    // On a slow machine the second server's rest may end before the first is asked, and it fails once more.
    let good = || wait_until("it answers", || larder.get("/good").send().status == 200);
    failing.reply("/bad", Reply::close());
    for server in [&failing, &other] {
        server.otherwise(|_| Reply::ok().body("good"));
    }
    for server in [&rested, &clock] {
        server.otherwise(|_| Reply::close());
    }
    // Answers between keep the first server from its rest. The second gets each retry, until the budget is used up.
    wait_until("a retry is refused", || {
        let before = rested.all().len();
        assert_eq!(larder.get("/bad").send().status, 502);
        good();
        rested.all().len() == before
    });
    rested.otherwise(|_| Reply::ok().body("good"));
    // This server began its rest later, and is tried: the rest of the other is over too.
    while clock.all().len() < 2 {
        assert_eq!(larder.get("/clock").send().status, 200);
    }
    wait_until("the clock's rest is over", || {
        assert_eq!(larder.get("/clock").send().status, 200);
        clock.all().len() > 2
    });
    let before = rested.all().len();
    larder.get("/bad").send();
    (0..6).for_each(|_| good());
    assert!(rested.all().len() > before, "it is tried");
}

/// From now on the checks take the server out.
fn fail_checks(origin: &Origin, larder: &Larder) {
    origin.reply("/health", Reply::status(503));
    let healthy = format!(
        "larder_server_healthy{{origin=\"app\",server=\"{}\"}}",
        origin.address()
    );
    wait_until("it is down", || sample(larder, &healthy) == 0);
}

#[test]
fn a_server_whose_checks_have_failed_meanwhile_is_not_asked_again() {
    let (origin, gate) = (Origin::start(), Gate::new());
    origin.reply("/health", Reply::ok());
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder")).config(&format!(
        "[[origin]]\nname = \"app\"\nservers = {:?}\n\
         health = {{ path = \"/health\", every = \"100ms\", timeout = \"1m\", unhealthy_after = 1 }}\n",
        origin.url()
    ));
    let larder = larder.start();
    let held = gate.clone();
    origin.on("/", move |_| Reply::close().hold_head(&held));
    let mut client = larder.get("/").begin();
    gate.wait_reached();
    fail_checks(&origin, &larder);
    gate.open();
    assert_eq!(client.read().status, 502);
    assert_eq!(origin.requests("/"), 1);
}

/// A kept connection that closes is otherwise nobody's fault, and its server gets another.
#[test]
fn a_server_whose_checks_have_failed_meanwhile_is_not_asked_again_on_another_connection() {
    let ([origin, other], gate) = ([(); 2].map(|()| Origin::start()), Gate::new());
    origin.reply("/health", Reply::ok());
    other.otherwise(|_| Reply::ok().body("other"));
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder")).config(&format!(
        "workers = 1\n[[origin]]\nname = \"app\"\n\
         servers = [{:?}, {{ url = {:?}, backup = true }}]\n\
         health = {{ path = \"/health\", every = \"100ms\", timeout = \"1m\", unhealthy_after = 1 }}\n",
        origin.url(),
        other.url()
    ));
    let larder = larder.start();
    origin.reply("/kept", Reply::ok());
    assert_eq!(larder.get("/kept").send().status, 200);
    let held = gate.clone();
    origin.on("/", move |_| Reply::close().hold_head(&held));
    let mut client = larder.get("/").begin();
    gate.wait_reached();
    fail_checks(&origin, &larder);
    gate.open();
    assert_eq!(client.read().text(), "other");
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn a_server_that_hangs_is_tried_by_one_request_after_each_rest() {
    let (servers, larder) = two_servers("passive = { failures = 1, rest = \"1s\" }");
    servers[0].reply("/fails", Reply::close());
    servers[0].reply("/", Reply::ok().hang());
    let began = Instant::now();
    // The answer comes from the other server, after the failure has been noted.
    while servers[0].requests("/fails") == 0 {
        assert_eq!(larder.get("/fails").send().status, 200);
    }
    let mut waiting = Vec::new();
    let mut ask = || {
        let target = format!("/?{}", waiting.len());
        let mut asked = larder.client();
        asked.send(format!("GET {target} HTTP/1.1\r\nHost: example.test\r\n\r\n").as_bytes());
        waiting.push(asked);
        waiting.len()
    };
    wait_until("it is tried", || {
        ask();
        servers[0].requests("/") >= 1
    });
    let all = (0..40).map(|_| ask()).last().unwrap_or_default();
    wait_until("all are asked", || asked(&servers, "/?") == all);
    let tried = servers[0].requests("/");
    let rests = began.elapsed().as_secs();
    assert!(tried as u64 <= rests, "{tried} of {all} in {rests} rests");
}

/// A head says that the server answers, but with a stream that has no end it is all that ever comes whole.
#[test]
fn a_server_whose_event_streams_break_off_at_once_rests() {
    let (servers, larder) = two_servers("passive = { rest = \"1h\" }");
    let stream = Reply::ok().header("Content-Type", "text/event-stream");
    let stream = stream.chunked().body("data: hello\n\n");
    servers[0].reply("/events", stream.clone().cut());
    servers[1].reply("/events", stream);
    let mut whole = 0;
    for number in 0..20 {
        let mut asked = larder.client();
        let target = format!("/events?{number}");
        asked.send(format!(
            "GET {target} HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n"
        ));
        whole += usize::from(asked.read_to_end().ends_with(b"\r\n0\r\n\r\n"));
    }
    assert_eq!((servers[0].requests("/events"), whole), (3, 17));
}

/// Larder's own limit ends these streams: they did not break off.
#[test]
fn a_server_whose_event_streams_are_silent_does_not_rest() {
    let (servers, larder) =
        two_servers("passive = { rest = \"1h\" }\n[origin.timeouts]\nbetween_bytes = \"50ms\"");
    // In one write: nothing of it may come too late.
    let stream = Reply::raw(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
         Transfer-Encoding: chunked\r\n\r\nd\r\ndata: hello\n\n\r\n",
    );
    for server in &servers {
        server.reply("/events", stream.clone().until_client_leaves());
    }
    for number in 0..7 {
        let mut asked = larder.client();
        let target = format!("/events?{number}");
        asked.send(format!(
            "GET {target} HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n"
        ));
        assert!(asked.read_to_end().ends_with(b"data: hello\n\n\r\n"));
    }
    for server in &servers {
        let healthy = format!(
            "larder_server_healthy{{origin=\"origin\",server=\"{}\"}}",
            server.address()
        );
        assert_eq!(sample(&larder, &healthy), 1);
    }
}

#[test]
fn a_server_that_came_back_begins_with_few_requests() {
    for (lines, most) in [("slow_start = \"1h\"", 4), ("", 11)] {
        let check = "health = { path = \"/health\", every = \"100ms\", timeout = \"1m\", healthy_after = 1, unhealthy_after = 1 }";
        let (servers, larder) = two_servers(&format!("{check}\n{lines}"));
        let named = format!(
            "larder_server_healthy{{origin=\"origin\",server=\"{}\"}}",
            servers[0].url().trim_start_matches("http://")
        );
        servers[0].reply("/health", Reply::status(503));
        wait_until("it is left out", || sample(&larder, &named) == 0);
        larder.wait_output("error=\"status 503\"");
        servers[0].reply("/health", Reply::ok());
        wait_until("it is back", || sample(&larder, &named) == 1);
        let all: Vec<_> = (0..22).map(|_| larder.get("/").send().text()).collect();
        let came = all.iter().filter(|text| *text == "0").count();
        assert!(came > 0, "it is asked: {lines}");
        assert!(came <= most, "{came} of 22: {lines}");
        assert!(most == 4 || came >= 10, "without it as others: {came}");
    }
}

#[test]
fn the_log_says_once_that_the_application_is_down_and_once_that_it_is_back() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().cache("no-store"));
    assert_eq!(larder.get("/").send().status, 200);
    origin.stop();
    for _ in 0..5 {
        assert_eq!(larder.get("/").send().status, 502);
    }
    origin.start_again();
    for _ in 0..5 {
        assert_eq!(larder.get("/").send().status, 200);
    }
    let log = larder.stop().stderr;
    let lines = |text: &str| -> Vec<_> { log.lines().filter(|line| line.contains(text)).collect() };
    let (down, back) = (lines("server fails"), lines("server answers again"));
    assert_eq!((down.len(), back.len()), (1, 1), "{log}");
    let server = origin.url().replace("http://", "");
    assert!(down[0].contains(" WARN ") && back[0].contains(" INFO "));
    assert!(down[0].contains(&server) && back[0].contains(&server));
    assert!(down[0].contains("the server cannot be connected to"));
}

#[test]
fn the_log_says_that_the_application_does_not_answer_in_time() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\ntimeouts = { first_byte = \"50ms\" }\nretry = { attempts = 0 }",
    );
    origin.reply("/", Reply::ok().hang());
    for _ in 0..3 {
        assert_eq!(larder.get("/").send().status, 504);
    }
    let log = larder.stop().stderr;
    assert_eq!(log.matches("no response in time").count(), 1, "{log}");
}

#[test]
fn clients_read_what_failed_and_not_where() {
    let (origin, larder) = start();
    origin.on("/close", |_| Reply::close());
    origin.on("/garbage", |_| Reply::raw("garbage\r\n\r\n"));
    let not_read = "POST /up HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n";
    let get = |path| format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let place = origin.url().replace("http://", "");
    let page = |message: &str| {
        let mut client = larder.client();
        client.send(message.as_bytes());
        let answer = client.read();
        let all = format!("{:?} {}", answer.head, answer.text());
        for part in place.split(':') {
            assert!(!all.contains(part), "{part} in {all}");
        }
        answer.text()
    };
    assert_eq!(
        page(&get("/close")),
        "502 Bad Gateway\nthe response was cut short\n"
    );
    assert_eq!(
        page(&get("/garbage")),
        "502 Bad Gateway\nthe response is malformed\n"
    );
    assert_eq!(
        page(not_read),
        "400 Bad Request\nthe request's body could not be read\n"
    );
    origin.stop();
    assert_eq!(
        page(&get("/")),
        "502 Bad Gateway\nthe server cannot be connected to\n"
    );
}

#[test]
fn a_heavy_server_is_asked_more_and_a_backup_when_nobody_else_is_left() {
    let servers: [Origin; 3] = std::array::from_fn(|number| {
        let server = Origin::start();
        server.otherwise(move |_| Reply::ok().cache("no-store").body(number.to_string()));
        server
    });
    let [heavy, light, backup] = &servers;
    let config = format!(
        "workers = 1\n[[origin]]\nservers = [{{ url = {:?}, weight = 3 }}, {:?}, {{ url = {:?}, backup = true }}]\n",
        heavy.url(),
        light.url(),
        backup.url()
    );
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&config)
        .start();
    let ask = || larder.get("/").send().text();
    let mut all: Vec<_> = (0..8).map(|_| ask()).collect();
    all.sort();
    assert_eq!(all.concat(), "00000011");
    heavy.stop();
    assert_eq!(ask(), "1");
    light.stop();
    assert_eq!(ask(), "2");
}
