//! Requests that repeat what others said before them: each is read as if it were the first.

use crate::common::{Said, start_with};
use testkit::{Client, Reply, Request};

/// What clients say behind the request line: some of it the same, one of them less and more than another.
const CLIENTS: [&str; 5] = [
    "Host: a.example\r\nCookie: session=ann; theme=dark\r\nX-User: ann\r\n",
    "Host: a.example\r\nCookie: session=bob; theme=dark\r\nX-User: bob\r\n",
    "Host: a.example\r\nCookie: theme=dark\r\nCookie: session=ann\r\nX-User: ann\r\n",
    "Host: b.example\r\nX-User: ann\r\nX-User: bob\r\n",
    "Host: a.example\r\n",
];

/// Settings that take a part of what was said away, or look at it.
const SETTINGS: [&str; 7] = [
    "",
    "[route.key]\ndrop_cookies = true",
    "[route.key]\ncookies = [\"theme\"]\ndrop_cookies = true",
    "[route.key]\ncookies = [\"session\"]\nheaders = [\"X-User\"]",
    "[route.bypass]\nmisses_with = [\"session\"]",
    "[route.bypass]\ncookies = [\"session\"]",
    "[route.bypass]\nheaders = [\"X-User: bob\"]\n[route.key]\ndrop_cookies = true",
];

/// Says what the origin was told, but for what Larder adds of the connection.
fn told(request: &Request) -> Reply {
    let mut lines: Vec<_> = ["host", "cookie", "x-user"]
        .iter()
        .flat_map(|name| {
            request
                .headers(name)
                .into_iter()
                .map(move |value| (name, value))
        })
        .map(|(name, value)| format!("{name}: {value}\n"))
        .collect();
    lines.sort();
    Reply::ok().cache("no-store").body(lines.concat())
}

/// Asks for `path` as one of the clients.
fn ask(client: &mut Client, path: &str, said: &str) -> (bool, String) {
    client.send(format!("GET {path} HTTP/1.1\r\n{said}\r\n"));
    let answer = client.read_one(false);
    assert_eq!(answer.status, 200, "{}", answer.said());
    (answer.hit(), answer.text())
}

#[test]
fn a_request_is_read_as_if_no_other_had_come_before() {
    for settings in SETTINGS {
        let config =
            format!("workers = 1\n[[origin]]\nservers = \"{{origin}}\"\n[[route]]\n{settings}\n");
        let (origin, larder) = start_with(&config);
        origin.on("/told", told);
        origin.on("/page", |request| {
            let who = request.header("x-user").unwrap_or("nobody").to_owned();
            Reply::ok()
                .cache("max-age=600")
                .header("Vary", "X-User")
                .body(who)
        });
        let first = CLIENTS.map(|said| ask(&mut larder.client(), "/told", said).1);
        for said in CLIENTS {
            // Some settings let no request with cookies fill the store.
            let lines = said
                .split_inclusive("\r\n")
                .filter(|line| !line.starts_with("Cookie"));
            ask(&mut larder.client(), "/page", &lines.collect::<String>());
        }
        let pages = CLIENTS.map(|said| ask(&mut larder.client(), "/page", said).1);
        let mut connections = [larder.client(), larder.client()];
        let (mut hits, mut number) = (0, 1_u32);
        for round in 0..400 {
            // Every client follows every other, over the same connection and over another.
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let draw = |shift: u32, below: usize| (number >> shift) as usize % below;
            let (at, client) = (draw(16, CLIENTS.len()), &mut connections[draw(9, 2)]);
            let (path, expected) = match draw(25, 4) {
                0 => ("/told", &first[at]),
                _ => ("/page", &pages[at]),
            };
            let (hit, text) = ask(client, path, CLIENTS[at]);
            hits += usize::from(hit);
            assert_eq!(&text, expected, "{settings}: {round}");
        }
        assert!(hits > 100, "{settings}: {hits} hits");
    }
}

/// What one of them was read as is nobody else's: not another host's, nor the same one's by another scheme.
#[test]
fn hosts_that_take_turns_on_a_connection_have_their_own_pages() {
    let (origin, larder) =
        start_with("workers = 1\ntrusted = [\"127.0.0.1\"]\n[[origin]]\nservers = \"{origin}\"\n");
    origin.otherwise(|request| {
        let said = ["x-forwarded-proto", "host"].map(|name| request.header(name).unwrap_or(""));
        Reply::ok().cache("max-age=600").body(said.join(" "))
    });
    let mut client = larder.client();
    for (host, scheme, expected, is_hit) in [
        ("a.example", "http", "http a.example", false),
        ("b.example", "http", "http b.example", false),
        ("A.Example:80", "http", "http a.example", true),
        ("a.example", "https", "https a.example", false),
        ("a.example:80", "https", "https a.example:80", false),
        ("a.example:80", "http", "http a.example", true),
        ("a.example:443", "https", "https a.example", true),
        ("a.example:443", "http", "http a.example:443", false),
        ("a.example", "https", "https a.example", true),
        ("b.example.", "http", "http b.example", true),
        ("a.example", "http", "http a.example", true),
    ] {
        let said = format!("Host: {host}\r\nX-Forwarded-Proto: {scheme}\r\n");
        let found = ask(&mut client, "/", &said);
        assert_eq!(found, (is_hit, expected.to_owned()), "{said}");
    }
}
