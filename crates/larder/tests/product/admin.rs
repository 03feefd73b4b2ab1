//! The admin address: health, metrics, `larder explain`.

use crate::{
    common::{Said, command, counted, sample, start, start_with},
    disk_purge::ask_purge,
};
use serde_json::json;
use std::{
    io::Write as _,
    net::{TcpListener, TcpStream},
};
use testkit::{Address, Client, Larder, Reply, Response, free_port, wait_until};

/// How many connections the admin address has at the same time.
const MOST: usize = 96;

/// How many requests may wait there for others.
const MOST_WAITING: usize = 64;

/// What `larder explain` says of a URL.
pub(crate) fn explain(larder: &Larder, url: &str) -> String {
    let Address::Tcp(admin) = larder.admin() else {
        panic!("a TCP address")
    };
    let finished = command()
        .args(["explain", url, "--admin", &admin.to_string()])
        .run();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    finished.stdout
}

#[test]
fn health_and_readiness_are_told() {
    let (_origin, larder) = start();
    assert_eq!(larder.admin_get("/healthz").send().status, 200);
    assert_eq!(larder.admin_get("/readyz").send().status, 200);
    assert_eq!(larder.admin_get("/nonsense").send().status, 404);
}

/// Monitors keep connections open, and forget some.
#[test]
fn health_is_told_however_many_connections_rest() {
    let (_origin, larder) = start();
    let ask = |client: &mut Client| client.get("/healthz").send().status;
    let rest = |number: usize| {
        let mut client = Client::connect(larder.admin());
        match number % 3 {
            0 => assert_eq!(ask(&mut client), 200),
            1 => client.send("GET /healthz HTTP/1.1\r\nHost: "),
            _ => {}
        }
        client
    };
    let mut resting: Vec<_> = (0..MOST).map(rest).collect();
    let mut newer = Vec::new();
    for gone in &mut resting[..6] {
        assert_eq!(larder.admin_get("/healthz").send().status, 200);
        newer.push(rest(0));
        // Of those that rest, the one that has rested for the longest time.
        assert_eq!(gone.read_to_end(), b"");
    }
    assert!(newer.iter_mut().all(|client| ask(client) == 200));
    assert_eq!(
        ask(&mut resting[MOST - 1]),
        200,
        "it has not rested as long"
    );
}

/// A Larder whose purges wait: the other node takes them and confirms none.
fn start_with_silent_node() -> (TcpListener, Larder) {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let peer = silent.local_addr().expect("an address");
    let (_origin, larder) = start_with(&format!(
        "[[origin]]\nservers = \"{{origin}}\"\n[purge]\npeers = \"http://{peer}\"\n"
    ));
    (silent, larder)
}

/// A connection on which a purge is at work that has yet to come whole.
fn begin(larder: &Larder, purge: &str) -> Client {
    let mut client = Client::connect(larder.admin());
    client.send(format!(
        "POST /purge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        purge.len()
    ));
    // The content is asked for where the request is at work.
    client.read_interim();
    client
}

/// So many connections with purges that wait for the other node.
fn wait(larder: &Larder, count: usize) -> Vec<Client> {
    let wait = |_| {
        let mut client = begin(larder, WAITS);
        client.send(WAITS);
        client
    };
    (0..count).map(wait).collect()
}

const WAITS: &str = "{\"tag\": \"a\", \"wait\": \"1m\"}";

/// So many connections that wait for an answer: as many as may, for the other node.
fn busy(larder: &Larder, count: usize) -> Vec<Client> {
    let mut busy = wait(larder, count.min(MOST_WAITING));
    busy.extend((busy.len()..count).map(|_| begin(larder, WAITS)));
    busy
}

/// Requests at once whose answers are more than the buffers of a connection hold.
const MANY: usize = 1500;
const MANY_ASKED: &str = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[test]
fn where_every_connection_waits_for_an_answer_a_further_one_is_told_so() {
    let (_silent, larder) = start_with_silent_node();
    let mut waiting = busy(&larder, MOST);
    larder.pause();
    let mut refused = ask_health(&larder);
    larder.resume();
    let told = refused.read();
    assert_is_full(&told);
    assert_eq!(refused.read_to_end(), b"", "it is not reset");
    assert!(!waiting.iter_mut().any(Client::has_answer), "none gave way");
    drop(waiting.pop());
    wait_until("there is a connection to be had", || {
        larder.admin_get("/healthz").send().status == 200
    });
}

fn assert_is_full(answer: &Response) {
    assert_eq!(answer.status, 503);
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert!(answer.text().starts_with("{\"error\":\""), "{answer:?}");
}

#[test]
fn purges_that_wait_keep_out_neither_monitors_nor_other_nodes() {
    let (_silent, larder) = start_with_silent_node();
    let mut waiting = wait(&larder, MOST_WAITING + 1);
    // They are not read in the order in which they were sent.
    wait_until("one is refused", || {
        waiting.iter_mut().any(Client::has_answer)
    });
    for _ in 0..MOST {
        for path in ["/metrics", "/healthz", "/readyz"] {
            assert_eq!(larder.admin_get(path).send().status, 200, "{path}");
        }
    }
    let of_a_node = json!({ "relay": false, "purges": [{ "tags": ["a"] }] });
    assert_eq!(ask_purge(&larder, &of_a_node).status, 200);
    assert_is_full(&ask_purge(&larder, &json!({ "tag": "a" })));
    let cursor = larder.admin_get("/purges").send();
    let cursor: serde_json::Value = serde_json::from_slice(&cursor.body).expect("JSON");
    let after = cursor["cursor"].as_str().expect("a cursor");
    for (wait, status) in [("0s", 200), ("1m", 503)] {
        let path = format!("/purges?after={after}&wait={wait}");
        assert_eq!(larder.admin_get(&path).send().status, status, "{wait}");
    }
    waiting.retain_mut(|client| !client.has_answer());
    assert_eq!(waiting.len(), MOST_WAITING, "the others wait");
    drop(waiting.pop());
    wait_until("another may wait", || {
        ask_purge(&larder, &json!({ "tag": "a" })).status == 200
    });
}

#[test]
fn a_client_that_reads_no_answers_gives_way_to_one_that_comes() {
    let (_silent, larder) = start_with_silent_node();
    let Address::Tcp(admin) = larder.admin() else {
        panic!("a TCP address")
    };
    let mut deaf = TcpStream::connect(admin).expect("a connection");
    deaf.write_all(MANY_ASKED.repeat(MANY).as_bytes())
        .expect("all is sent");
    let _waiting = busy(&larder, MOST - 1);
    wait_until("there is a connection to be had", || {
        larder.admin_get("/healthz").send().status == 200
    });
    // It is reset, as there are requests that were not read.
    wait_until("the one that reads nothing has ended", || {
        deaf.take_error().expect("its state").is_some()
    });
}

#[test]
fn an_answer_on_its_way_does_not_give_way_to_connections_that_rest() {
    let (_origin, larder) = start();
    let mut slow = Client::connect(larder.admin());
    slow.send(MANY_ASKED.repeat(MANY));
    let ask = |_| {
        let mut client = Client::connect(larder.admin());
        assert_eq!(client.get("/healthz").send().status, 200);
        client
    };
    let _resting: Vec<_> = (0..MOST + 6).map(ask).collect();
    for number in 0..MANY {
        assert!(slow.read_one(false).complete, "answer {number}");
    }
}

#[test]
fn a_request_that_has_come_is_read_before_its_connection_could_give_way() {
    let (_silent, larder) = start_with_silent_node();
    let _waiting = busy(&larder, MOST - 1);
    larder.pause();
    let burst = [(); 3].map(|()| ask_health(&larder));
    larder.resume();
    assert_eq!(burst.map(|mut client| client.read().status), [200; 3]);
}

/// A connection on which a request was sent.
fn ask_health(larder: &Larder) -> Client {
    let mut client = Client::connect(larder.admin());
    client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client
}

#[test]
fn the_admin_api_describes_itself() {
    let (_origin, larder) = start();
    let answer = larder.admin_get("/openapi.json").send();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let document: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
    assert!(document["paths"]["/purge"]["post"].is_object());
}

#[test]
fn it_is_not_ready_while_it_stops() {
    let (origin, larder) = start();
    let gate = testkit::Gate::new();
    origin.reply("/", Reply::ok().hold_head(&gate));
    let mut client = larder.get("/").begin();
    gate.wait_reached();
    larder.terminate();
    wait_until("it is not ready", || {
        larder.admin_get("/readyz").send().status == 503
    });
    gate.open();
    assert_eq!(client.read().status, 200);
}

#[test]
fn metrics_are_in_the_text_format() {
    let (origin, larder) = start();
    origin.on("/", |request| counted(request).cache("max-age=60"));
    larder.get("/").send();
    let answer = larder.admin_get("/metrics").send();
    let kind = answer.header("content-type").expect("a type");
    assert!(
        kind.starts_with("text/plain") || kind.starts_with("application/openmetrics-text"),
        "{kind}"
    );
    for line in answer.text().lines() {
        let sample = line.starts_with("larder_")
            && line
                .rsplit(' ')
                .next()
                .is_some_and(|value| value.parse::<f64>().is_ok());
        assert!(
            sample || line.starts_with('#') || line.starts_with("process_"),
            "{line}"
        );
    }
}

#[test]
fn every_request_is_counted_once_by_what_became_of_it() {
    let (origin, larder) = start();
    origin.on("/", |request| counted(request).cache("max-age=60"));
    origin.reply(
        "/stale",
        Reply::ok()
            .cache("max-age=60, stale-while-revalidate=600")
            .header("Age", "70")
            .body("x"),
    );
    for _ in 0..4 {
        larder.get("/").send();
    }
    for _ in 0..2 {
        larder.get("/stale").send();
        larder.ask("POST", "/post").send();
    }
    larder.get("/").header("Cache-Control", "no-cache").send();
    origin.on("/tagged", |request| match request.header("if-none-match") {
        Some(_) => Reply::status(304).header("ETag", "\"a\""),
        None => Reply::ok()
            .cache("no-cache")
            .header("ETag", "\"a\"")
            .body("x"),
    });
    for _ in 0..2 {
        larder.get("/tagged").send();
    }
    larder.ask("POST", "/tagged").send();
    larder
        .get("/none")
        .header("Cache-Control", "only-if-cached")
        .send();
    for (name, expected) in [
        ("larder_hits_total{kind=\"fresh\"}", 3),
        ("larder_hits_total{kind=\"stale\"}", 1),
        ("larder_forwarded_total{reason=\"uri-miss\"}", 3),
        ("larder_forwarded_total{reason=\"method\"}", 3),
        ("larder_forwarded_total{reason=\"stale\"}", 1),
        ("larder_validated_total", 1),
        ("larder_collapsed_total", 0),
        ("larder_invalidations_total", 1),
        ("larder_forwarded_total{reason=\"request\"}", 1),
        ("larder_own_answers_total", 1),
        ("larder_origin_latency_seconds_count{origin=\"origin\"}", 9),
        ("larder_fills_total", 5),
        ("larder_budget_bytes", 512 << 20),
        ("larder_responses_total{class=\"2xx\"}", 10),
        ("larder_responses_total{class=\"4xx\"}", 2),
        ("larder_responses_total{class=\"5xx\"}", 1),
        ("larder_panics_total", 0),
        ("larder_evictions_total", 0),
    ] {
        wait_until(&format!("{name} was {expected}"), || {
            sample(&larder, name) == expected
        });
    }
}

#[test]
fn a_connection_is_counted_while_it_is_open() {
    let (_origin, larder) = start();
    let client = larder.client();
    wait_until("it is counted", || {
        sample(&larder, "larder_connections_active") == 1
    });
    drop(client);
    wait_until("it is no longer counted", || {
        sample(&larder, "larder_connections_active") == 0
    });
    assert_eq!(sample(&larder, "larder_connections_accepted_total"), 1);
}

#[test]
fn explain_says_what_is_sent_where_the_origin_fails() {
    let (origin, larder) = start();
    let none = "";
    let rows = [
        (
            "max-age=60",
            "If the origin cannot be reached, the stored",
            (503, 200),
        ),
        (
            "max-age=60, stale-if-error=600",
            "If the origin fails, the stored",
            (200, 200),
        ),
        ("max-age=60, must-revalidate", none, (503, 502)),
        ("max-age=600, no-cache", none, (503, 502)),
    ];
    let path = |row: usize| format!("/{row}");
    for (row, (directives, said, (on_error, _))) in rows.into_iter().enumerate() {
        origin.on(&path(row), move |request| match request.nth {
            1 => Reply::ok().cache(directives).header("Age", "70").body("x"),
            _ => Reply::status(503),
        });
        larder.get(&path(row)).send();
        let told = explain(&larder, &format!("http://example.test/{row}"));
        assert!(told.contains(said), "{directives}: {told}");
        assert_eq!(
            told.contains("is sent instead"),
            said != none,
            "{directives}: {told}"
        );
        assert_eq!(
            larder.get(&path(row)).send().status,
            on_error,
            "{directives}"
        );
    }
    origin.stop();
    for (row, (directives, _, (_, disconnected))) in rows.into_iter().enumerate() {
        assert_eq!(
            larder.get(&path(row)).send().status,
            disconnected,
            "{directives}"
        );
    }
    let windows = explain(&larder, "http://example.test/0");
    let unreachable = "for 1day if the origin cannot be reached";
    assert!(windows.contains(unreachable), "{windows}");
    let windows = explain(&larder, "http://example.test/1");
    assert!(windows.contains("for 10m if the origin"), "{windows}");
    assert!(!windows.contains("1day"), "{windows}");
}

#[test]
fn explain_tells_a_hit_a_miss_and_a_refusal_apart() {
    let (origin, larder) = start();
    origin.reply("/stored", Reply::ok().cache("max-age=60").body("x"));
    origin.reply("/refused", Reply::ok().cache("no-store").body("x"));
    larder.get("/stored").send();
    larder.get("/refused").send();
    let stored = explain(&larder, "http://example.test/stored");
    let refused = explain(&larder, "http://example.test/refused");
    let unknown = explain(&larder, "http://example.test/unknown");
    assert!(stored.to_lowercase().contains("fresh"), "{stored}");
    assert!(
        refused.contains("not stored") || refused.contains("not be stored"),
        "{refused}"
    );
    assert!(unknown != stored && unknown != refused, "{unknown}");
    let said = |path: &str| explain(&larder, &format!("http://example.test{path}"));
    let reply = Reply::ok().cache("max-age=60");
    origin.reply("/stale", reply.header("Age", "70").body("x"));
    let reply = Reply::ok().cache("max-age=60").header("Vary", "Foo");
    origin.reply("/varied", reply.body("x"));
    larder.get("/stale").send();
    larder.get("/varied").header("Foo", "1").send();
    let before = origin.all().len();
    assert!(
        said("/stale").contains("past its lifetime"),
        "{}",
        said("/stale")
    );
    let varied = said("/varied");
    assert!(
        varied.contains("no stored response fits this request"),
        "{varied}"
    );
    assert_eq!(
        origin.all().len(),
        before,
        "to explain is not to ask the origin"
    );
}

#[test]
fn explain_says_why_the_last_answer_was_not_stored() {
    let (origin, larder) = start();
    for (path, authorization, directives, cookie, words) in [
        ("/a", "", "no-store", "", "it says no-store"),
        (
            "/b",
            "",
            "no-transform",
            "",
            "it has no lifetime (or says `no-cache`), and no validator",
        ),
        ("/c", "", "max-age=60", "a=b", "it sets a cookie"),
        (
            "/d",
            "Basic x",
            "max-age=60",
            "",
            "its request has Authorization",
        ),
    ] {
        origin.on(path, move |request| {
            let reply = Reply::ok().body("x");
            match (request.nth, cookie) {
                (2, _) => reply.cache("max-age=60"),
                (_, "") => reply.cache(directives),
                (_, cookie) => reply.cache(directives).header("Set-Cookie", cookie),
            }
        });
        let url = format!("http://example.test{path}");
        let before = explain(&larder, &url);
        assert!(!before.contains("was not stored"), "{before}");
        let first = larder.get(path);
        match authorization {
            "" => first.send(),
            value => first.header("Authorization", value).send(),
        };
        let said = explain(&larder, &url);
        assert!(
            said.contains(&format!("The last answer for it was not stored: {words}")),
            "{path}: {said}"
        );
        larder.get(path).send();
        let after = explain(&larder, &url);
        assert!(!after.contains("was not stored"), "{path}: {after}");
    }
}

#[test]
fn explain_says_that_the_shared_tier_was_not_asked() {
    let config =
        "[shared]\nurl = \"memcached://127.0.0.1:1\"\n[[origin]]\nservers = \"{origin}\"\n";
    let (origin, larder) = start_with(config);
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    let unknown = explain(&larder, "http://example.test/");
    assert!(unknown.contains("which was not asked"), "{unknown}");
    larder.get("/").send();
    let stored = explain(&larder, "http://example.test/");
    assert!(stored.contains("answered from memory"), "{stored}");
    assert!(!stored.contains("not asked"), "{stored}");
}

#[test]
fn explain_of_what_is_no_question_is_wrong_use() {
    let (_origin, larder) = start();
    let Address::Tcp(admin) = larder.admin() else {
        panic!("a TCP address")
    };
    let admin = admin.to_string();
    for (arguments, told) in [
        (&["not a url"][..], "write it whole"),
        (&["http://a.test/", "-H", "nonsense"], "Name: value"),
    ] {
        let finished = command()
            .args(["explain"])
            .args(arguments.iter().copied())
            .args(["--admin", &admin])
            .run();
        assert_eq!(finished.code, Some(2), "{finished:?}");
        assert!(finished.stderr.contains(told), "{finished:?}");
    }
}

#[test]
fn explain_without_a_larder_is_refused() {
    let nobody = format!("127.0.0.1:{}", free_port());
    let finished = command()
        .args(["explain", "http://example.test/", "--admin", &nobody])
        .run();
    assert_eq!(finished.code, Some(1));
    assert!(
        finished.stderr.contains(&nobody) && !finished.stderr.contains("panicked"),
        "{}",
        finished.stderr
    );
}

#[test]
fn the_admin_api_is_not_on_the_listeners() {
    let (origin, larder) = start();
    origin.otherwise(|request| counted(request).cache("no-store"));
    for path in ["/metrics", "/healthz", "/readyz"] {
        assert_eq!(
            larder.get(path).send().parameter("fwd").as_deref(),
            Some("uri-miss"),
            "{path} is the application's"
        );
    }
}

#[test]
fn the_access_log_tells_every_request() {
    let path = testkit::scratch_dir().join("access.log");
    for (format, expected) in [
        ("combined", "\"GET /page?a=b HTTP/1.1\" 200"),
        ("json", "\"/page?a=b\""),
    ] {
        let file = path.with_extension(format);
        let (origin, larder) = start_with(&format!(
            "[log]\naccess = {:?}\nformat = \"{format}\"\n[[origin]]\nservers = \"{{origin}}\"\n",
            file.display().to_string()
        ));
        origin.otherwise(|request| counted(request).cache("max-age=60"));
        larder
            .get("/page?a=b")
            .header("User-Agent", "evil\\\"\u{e9}")
            .send();
        larder.get("/page?a=b").send();
        wait_until("both are logged", || {
            std::fs::read_to_string(&file).is_ok_and(|text| text.lines().count() == 2)
        });
        let text = std::fs::read_to_string(&file).expect("a log");
        for line in text.lines() {
            assert!(line.contains(expected), "{line}");
            if format == "json" {
                let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
                let is_hit = line["cache"] == "HIT";
                assert_eq!(line["bytes"], 1, "{line}");
                assert_eq!(line["client"], "127.0.0.1", "{line}");
                assert_eq!(line["origin_ms"].is_null(), is_hit, "{line}");
                assert!(line["took_ms"].is_number(), "{line}");
            }
        }
        // Each is written when all is done for its request, which its client does not wait for: in either order.
        let hits = text
            .lines()
            .filter(|line| line.to_lowercase().contains("hit"));
        assert_eq!(hits.count(), 1, "{text}");
    }
}

#[test]
fn explain_takes_the_route_that_a_request_takes() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[[route]]\npath = \"/private/*\"\ncache = false\n",
    );
    origin.otherwise(|_| Reply::ok().cache("max-age=60").body("x"));
    for path in ["/private/a", "/%70rivate/a"] {
        larder.get(path).send();
        assert!(!larder.get(path).send().hit());
        let said = explain(&larder, &format!("http://example.test{path}"));
        assert!(said.contains("the route does not cache"), "{path}: {said}");
    }
}

/// Monitors know services by name. Whatever else a web page could reach by a name of its own answers to none.
#[test]
fn figures_and_health_are_for_whoever_asks() {
    let (_origin, larder) = start();
    for (path, status) in [
        ("/metrics", 200),
        ("/healthz", 200),
        ("/readyz", 200),
        ("/", 403),
        ("/purges", 403),
        ("/explain?url=http://a/", 403),
        ("/openapi.json", 403),
    ] {
        let answer = larder
            .admin_get(path)
            .header("Host", "larder.internal:9180")
            .send();
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
    }
}
