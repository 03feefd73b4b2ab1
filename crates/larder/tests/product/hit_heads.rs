//! The head of a hit is the same however often it was asked for, and by whom: the worker keeps those it sends often.

use crate::common::{Said, start, start_with};
use testkit::{Client, Larder, Origin, Reply, Request, Response, date};

/// Requests that fare differently, each by its lines behind the request line.
const KINDS: [(&str, &str); 9] = [
    ("GET 1.1", ""),
    ("GET 1.0", "Connection: keep-alive\r\n"),
    ("GET 1.1", "Accept-Encoding: gzip\r\n"),
    ("GET 1.1", "Range: bytes=1-3\r\n"),
    ("GET 1.1", "If-None-Match: \"tag\"\r\n"),
    ("GET 1.1", "If-None-Match: \"other\"\r\n"),
    ("GET 1.1", "If-Range: \"other\"\r\nRange: bytes=1-3\r\n"),
    ("GET 1.1", "Cache-Control: max-stale\r\n"),
    ("HEAD 1.1", ""),
];

/// Settings that say what a head consists of.
const SETTINGS: [&str; 9] = [
    "",
    "[defaults]\nbrowser_ttl = \"5s\"",
    "[defaults]\nesi = true",
    "[defaults]\ncompress = false",
    "[defaults.response_headers]\nset = \"X-Frame-Options: DENY\"\nremove = \"X-Own\"",
    "[report]\nx_cache = \"X-Cache\"",
    "[report]\ncache_status = false",
    "[report]\nkey = true",
    "[report]\nnode = \"edge\"",
];

/// One page under any path, as one of several kinds of applications sends it.
fn page(request: &Request) -> Reply {
    // So long that a worker keeps a copy of it behind room for a head, too.
    let body = "content, ".repeat(500);
    let reply = Reply::ok()
        .cache("max-age=600")
        .header("Content-Type", "text/plain")
        .header("ETag", "\"tag\"")
        .header("Last-Modified", date(-1000))
        .header("X-Own", "a")
        .header("x-own", "b");
    let reply = match request.path().rsplit('/').next() {
        Some("surrogate") => reply.header("Surrogate-Control", "max-age=700"),
        Some("debugged") => reply.header("X-Cache-Debug", "1"),
        Some("behind") => reply
            .header("Cache-Status", "other; hit")
            .header("Age", "7"),
        _ => reply,
    };
    match request.path().rsplit('/').next() {
        Some("empty") => reply,
        _ => reply.body(body),
    }
}

/// The answer to a request of this kind, without what moves on with the time.
fn answer(client: &mut Client, path: &str, (kind, lines): (&str, &str)) -> (String, Vec<u8>) {
    let (method, version) = kind.split_once(' ').expect("two words");
    client.send(format!(
        "{method} {path} HTTP/{version}\r\nHost: example.test\r\n{lines}\r\n"
    ));
    let answer = client.read_one(method == "HEAD");
    (still(&answer, path), answer.body)
}

fn still(answer: &Response, path: &str) -> String {
    // The order of different fields means nothing (RFC 9110 section 5.3).
    let mut fields: Vec<_> = answer.head.fields.iter().collect();
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    let age = answer.header("age").map_or(0, |age| age.parse().unwrap());
    let of_browsers = format!("max-age={}", 5_u64 + age);
    let lines = fields.into_iter().map(|(name, value)| {
        let value = match name.as_str() {
            "age" | "date" | "last-modified" | "expires" => "a time",
            "cache-control" if *value == of_browsers => "max-age=5 beyond its age",
            _ => value.as_str(),
        };
        format!("{name}: {value}\n")
    });
    let ttl = answer.parameter("ttl").unwrap_or_default();
    let text = format!("{}\n{}", answer.head.start, lines.collect::<String>());
    text.replace(&format!("ttl={ttl}"), "ttl").replace(path, "")
}

/// One worker, which keeps its own heads, and a page under every path.
fn before(settings: &str) -> (Origin, Larder) {
    let config = format!("workers = 1\n[[origin]]\nservers = \"{{origin}}\"\n{settings}\n");
    let (origin, larder) = start_with(&config);
    origin.otherwise(page);
    (origin, larder)
}

#[test]
fn a_hit_has_the_same_head_however_often_it_is_sent() {
    for settings in SETTINGS {
        let (_origin, larder) = before(settings);
        let mut client = larder.client();
        for name in ["plain", "surrogate", "debugged", "behind", "empty"] {
            answer(&mut client, &format!("/hot/{name}"), KINDS[0]);
            for (number, kind) in KINDS.into_iter().enumerate() {
                sent_again(&mut client, name, number, kind);
            }
        }
    }
}

/// Asks for a page that others ask for too, and holds the answers against that of a page whose head nobody keeps yet.
fn sent_again(client: &mut Client, name: &str, number: usize, kind: (&str, &str)) {
    let own = format!("/{number}/{name}");
    answer(client, &own, KINDS[0]);
    let expected = answer(client, &own, kind);
    for time in 1..=4 {
        let hit = answer(client, &format!("/hot/{name}"), kind);
        assert_eq!(hit, expected, "{name}, {kind:?}, time {time}");
    }
}

#[test]
fn users_that_ask_in_turn_get_their_own() {
    let (origin, larder) = before("");
    origin.on("/", |request| {
        let user = request.header("x-user").expect("a user").to_owned();
        Reply::ok()
            .cache("max-age=600")
            .header("Vary", "X-User")
            .header("X-For", &user)
            .body(user.repeat(5000))
    });
    let mut client = larder.client();
    for time in 0..5 {
        // One after another, and each several times in a row.
        for user in ["a", "b", "c", "c", "a", "a", "b", "b"] {
            let answer = client.get("/").header("X-User", user).send();
            assert!(answer.hit() || time == 0, "{}", answer.said());
            assert_eq!(answer.joined("x-for"), user);
            assert_eq!(answer.text(), user.repeat(5000));
        }
    }
}

#[test]
fn what_was_changed_is_sent_with_its_own_head() {
    let (origin, larder) = before("");
    origin.on("/", |request| {
        let number = request.nth.to_string();
        Reply::ok()
            .cache("max-age=600")
            .header("X-Number", &number)
            .body(number.repeat(4000))
    });
    let mut client = larder.client();
    for number in 1..9 {
        let number = number.to_string();
        for _ in 0..5 {
            let answer = client.get("/").send();
            assert_eq!(
                (answer.joined("x-number"), answer.text()),
                (number.clone(), number.repeat(4000))
            );
        }
        assert_eq!(client.ask("PURGE", "/").send().status, 200);
    }
}

/// Each answer, whatever others with other heads get meanwhile of the same content.
#[test]
fn what_a_client_takes_slowly_is_whole() {
    let (origin, larder) = before("");
    let body = "content, ".repeat(1_200);
    origin.reply("/", Reply::ok().cache("max-age=600").body(&body));
    let (mut slow, mut other) = (larder.client(), larder.client());
    for _ in 0..3 {
        other.get("/").send();
    }
    // More than the kernel holds for a connection.
    slow.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2_000));
    for number in 0..2_000 {
        if number % 100 == 0 {
            other.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\nHost: a\r\n\r\n");
            assert_eq!(other.read().text(), body);
        }
        let answer = slow.read();
        assert_eq!(answer.head.start, "HTTP/1.1 200 OK");
        assert_eq!(answer.text(), body, "answer {number}");
    }
}

/// RFC 9112 section 4: a reason may be missing, and nobody knows one for these.
#[test]
fn a_status_that_nobody_knows_has_no_reason() {
    let (origin, larder) = start();
    for status in [299, 419, 520] {
        let reply = Reply::status(status).cache("max-age=60").body("told");
        origin.reply(&format!("/{status}"), reply);
        let target = format!("/{status}");
        for method in ["POST", "GET", "GET", "HEAD"] {
            let answer = larder.ask(method, &target).body("").send();
            let line = format!("HTTP/1.1 {status} ");
            assert_eq!(answer.head.start, line, "{method}");
        }
    }
}

/// A length that two bytes cannot say is no reason to leave a field out.
#[test]
fn fields_of_any_length_are_stored() {
    let config = "[[origin]]\nservers = \"{origin}\"\nheader_size = \"256KiB\"\n";
    let (origin, larder) = start_with(config);
    let long = "x".repeat(100_000);
    let reply = Reply::ok().cache("max-age=600").header("X-Long", &long);
    origin.reply("/", reply.header("X-Own", "a").body("page"));
    let mut client = larder.client();
    for want in ["fwd=uri-miss", "hit"] {
        let response = client.get("/").send();
        assert!(response.said().contains(want), "{}", response.said());
        assert_eq!(response.head.header("X-Long"), Some(&long[..]));
        assert_eq!(response.head.header("X-Own"), Some("a"));
    }
}
