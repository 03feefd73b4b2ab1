//! Parts on their way: whoever wants them gets them as they come (RFC 9111 sections 3.3 and 3.4).

use super::{
    collapse::reading,
    ranges::{CONTENT, range, ranged},
};
use crate::common::{Said, sample, start, start_with};
use testkit::{Client, Gate, Larder, Origin, Reply, Request, Response, date, wait_until};

/// An origin that knows ranges, and stops at the gate after the first two bytes of all that begins behind the tenth.
fn held_back() -> (Origin, Larder, Gate) {
    let (origin, larder) = start();
    let gate = Gate::new();
    let at = gate.clone();
    origin.on("/", move |request| slowly(request, &at));
    (origin, larder, gate)
}

fn slowly(request: &Request, gate: &Gate) -> Reply {
    let asked = request.header("range").unwrap_or_default();
    let asked = asked.trim_start_matches("bytes=");
    let Some((first, last)) = asked.split_once('-') else {
        return ranged(request, CONTENT, "\"a\"");
    };
    let first: usize = first.parse().expect("a number");
    if first < 10 && !last.is_empty() {
        return ranged(request, CONTENT, "\"a\"");
    }
    let last = last.parse().unwrap_or(CONTENT.len() - 1);
    let part = Reply::status(206)
        .cache("max-age=60")
        .header("ETag", "\"a\"");
    part.header("Content-Range", format!("bytes {first}-{last}/20"))
        .body(&CONTENT[first..first + 2])
        .hold(gate)
        .body(&CONTENT[first + 2..=last])
}

/// A client that asks for a range, and has read the head and this first part of the content.
fn reading_range(larder: &Larder, asked: &str, part: &str) -> (Client, Response) {
    let mut client = larder.get("/").header("Range", asked).begin();
    let mut response = client.read_head();
    client.read_body_exactly(&mut response, part.len());
    assert_eq!((response.status, response.text().as_str()), (206, part));
    (client, response)
}

fn read_on((mut client, mut response): (Client, Response), all: &str) {
    client.read_content(&mut response);
    assert!(
        response.complete && response.text() == all,
        "{}",
        response.text()
    );
}

#[test]
fn a_completion_reaches_its_readers_as_it_comes() {
    let (origin, larder, gate) = held_back();
    range(&larder, "bytes=0-9");
    let first = reading(&larder, "/", &CONTENT[..12]);
    gate.wait_reached();
    let others: Vec<_> = (0..3)
        .map(|_| reading(&larder, "/", &CONTENT[..12]))
        .collect();
    let part = reading_range(&larder, "bytes=8-", "89ab");
    let head = larder.ask("HEAD", "/").send();
    assert_eq!(head.header("content-length"), Some("20"));
    let knows = larder.get("/").header("If-None-Match", "\"a\"").send();
    assert_eq!(knows.status, 304);
    gate.open();
    read_on(part, &CONTENT[8..]);
    for reader in others.into_iter().chain([first]) {
        read_on(reader, CONTENT);
    }
    assert_eq!(
        origin.requests("/"),
        2,
        "one for the part, one for the rest"
    );
    assert_eq!(origin.last("/").header("range"), Some("bytes=10-19"));
    assert!(larder.get("/").send().hit());
}

#[test]
fn a_wider_part_reaches_all_who_ask_for_it_as_it_comes() {
    let (origin, larder, gate) = held_back();
    range(&larder, "bytes=5-9");
    let wanted = "bytes=7-17";
    let first = reading_range(&larder, wanted, "789ab");
    gate.wait_reached();
    let others: Vec<_> = (0..3)
        .map(|_| reading_range(&larder, wanted, "789ab"))
        .collect();
    assert!(
        others
            .iter()
            .all(|(_, response)| response.says("collapsed")),
        "{}",
        others[0].1.said()
    );
    gate.open();
    for reader in others.into_iter().chain([first]) {
        read_on(reader, &CONTENT[7..=17]);
    }
    assert_eq!(origin.requests("/"), 2);
    assert_eq!(origin.last("/").header("range"), Some("bytes=10-17"));
    for held in ["bytes=5-17", "bytes=5-6, 16-17"] {
        assert!(range(&larder, held).hit(), "{held}");
    }
    assert_eq!(origin.requests("/"), 2);
}

#[test]
fn a_part_that_comes_is_not_for_who_is_served_another_variant_or_asks_on() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let at = gate.clone();
    origin.on("/", move |request| {
        let user = request.header("x-user").unwrap_or_default().to_owned();
        let part = Reply::status(206)
            .cache("max-age=60")
            .header("Vary", "X-User")
            .header("ETag", format!("\"{user}\""))
            .header("Content-Range", "bytes 0-9/20");
        if user == "ann" {
            part.body("ann's").hold(&at).body(" page")
        } else {
            part.body("bob's page")
        }
    });
    let ask = |user: &str| {
        let ask = larder.get("/").header("Range", "bytes=0-9");
        ask.header("X-User", user)
    };
    let mut first = ask("ann").begin();
    let mut response = first.read_head();
    first.read_body_exactly(&mut response, 5);
    let other = ask("bob").send();
    assert_eq!(other.text(), "bob's page");
    let forced = ask("ann").header("Cache-Control", "no-cache").begin();
    origin.wait_requests("/", 3);
    gate.open();
    read_on((first, response), "ann's page");
    assert_eq!({ forced }.read().text(), "ann's page");
}

#[test]
fn a_part_that_comes_is_not_for_who_asks_after_a_purge() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let at = gate.clone();
    origin.on("/", move |request| {
        let part = Reply::status(206)
            .cache("max-age=60")
            .header("ETag", format!("\"{}\"", request.nth))
            .header("Surrogate-Key", "page")
            .header("Content-Range", "bytes 0-9/20");
        match request.nth {
            1 => part.body("first").hold(&at).body(" page"),
            _ => part.body("other page"),
        }
    });
    let first = reading_range(&larder, "bytes=0-9", "first");
    let mut client = larder.client();
    client.send("PURGE / HTTP/1.1\r\nHost: c\r\nSurrogate-Key: page\r\n\r\n");
    assert_eq!(client.read().status, 200);
    assert_eq!(range(&larder, "bytes=0-9").text(), "other page");
    gate.open();
    read_on(first, "first page");
    let later = range(&larder, "bytes=0-9");
    assert!(
        later.text() == "other page" && later.hit(),
        "{}",
        later.said()
    );
}

#[test]
fn a_range_that_is_all_of_it_is_fetched_once_for_all_who_ask() {
    for asked in ["bytes=0-", "bytes=0-19", "bytes=-20"] {
        let (origin, larder) = start();
        let gate = Gate::new();
        let at = gate.clone();
        origin.on("/", move |_| {
            let part = Reply::status(206)
                .cache("max-age=60")
                .header("ETag", "\"a\"");
            let part = part.header("Content-Range", "bytes 0-19/20");
            part.body(&CONTENT[..5]).hold(&at).body(&CONTENT[5..])
        });
        let first = reading_range(&larder, asked, "01234");
        gate.wait_reached();
        let others: Vec<_> = (0..3)
            .map(|_| reading_range(&larder, asked, "01234"))
            .collect();
        let whole = reading(&larder, "/", "01234");
        assert_eq!(whole.1.status, 200);
        let middle = reading_range(&larder, "bytes=3-8", "34");
        gate.open();
        read_on(middle, "345678");
        for reader in others.into_iter().chain([first, whole]) {
            read_on(reader, CONTENT);
        }
        assert_eq!(origin.requests("/"), 1, "{asked}");
        assert!(larder.get("/").send().hit());
    }
}

#[test]
fn a_part_that_brings_other_bytes_than_it_says_is_broken() {
    let says = |reply: Reply| {
        let reply = reply.cache("max-age=60").header("ETag", "\"a\"");
        reply.header("Content-Range", "bytes 0-9/20")
    };
    for length in [5, 15] {
        let (origin, larder) = start();
        let text = &CONTENT[..length];
        origin.reply("/", says(Reply::status(206)).body(text));
        let answer = range(&larder, "bytes=0-9");
        assert_eq!(answer.status, 502, "{length}");
        let why = answer.parameter("detail");
        assert_eq!(why.as_deref(), Some("bad-part"), "{}", answer.said());

        let gate = Gate::new();
        let later = says(Reply::status(206)).until_close();
        origin.reply("/", later.body("0").hold(&gate).body(&text[1..]));
        let mut client = larder.get("/").header("Range", "bytes=0-9").begin();
        let mut head = client.read_head();
        assert_eq!(head.header("content-length"), Some("10"), "{length}");
        gate.open();
        client.read_content(&mut head);
        assert!(length > 10 || !head.complete, "{length}");
        range(&larder, "bytes=0-4");
        assert_eq!(origin.requests("/"), 3, "{length}: nothing was stored");
    }
}

#[test]
fn a_date_that_is_a_strong_validator_completes_parts() {
    let (origin, larder) = start();
    let modified = date(-1000);
    let tells = modified.clone();
    origin.on("/", move |request| {
        let asked = request.header("range").unwrap_or("bytes=0-19");
        let asked = asked.trim_start_matches("bytes=").split_once('-');
        let (first, last) = asked.expect("a range");
        let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
        Reply::status(206)
            .cache("max-age=60")
            .header("Last-Modified", &tells)
            .header("Content-Range", format!("bytes {first}-{last}/20"))
            .body(&CONTENT[first..=last])
    });
    range(&larder, "bytes=0-9");
    let whole = larder.get("/").send();
    assert_eq!(whole.text(), CONTENT, "9110 sections 8.8.2.2 and 13.1.5");
    assert_eq!(origin.last("/").header("if-range"), Some(&*modified));
    assert!(larder.get("/").send().hit());
}

#[test]
fn what_is_not_there_is_asked_for_without_the_rest() {
    let (origin, larder) = start();
    origin.on("/", |request| ranged(request, CONTENT, "\"a\""));
    range(&larder, "bytes=0-9");
    let beyond = range(&larder, "bytes=100-");
    assert_eq!(beyond.status, 416);
    assert_eq!(origin.last("/").header("range"), Some("bytes=100-"));
    assert!(
        range(&larder, "bytes=0-0,3-3").hit(),
        "9111 section 3.3: all of it is held"
    );
    assert_eq!(origin.requests("/"), 2);
}

#[test]
fn parts_take_no_more_than_a_body_may() {
    let (origin, larder) =
        start_with("[[origin]]\nservers = \"{origin}\"\n[defaults]\nlargest_body = \"10B\"\n");
    origin.on("/", |request| ranged(request, CONTENT, "\"a\""));
    for asked in ["bytes=0-5", "bytes=6-11", "bytes=12-17"] {
        assert_eq!(range(&larder, asked).status, 206);
    }
    assert!(range(&larder, "bytes=12-17").hit(), "the newest stays");
    assert!(!range(&larder, "bytes=0-5").hit());
}

/// What was held of it goes with the parts, and the whole goes when it leaves.
#[test]
fn a_large_whole_made_of_parts_is_let_go_when_it_leaves() {
    let (origin, larder) =
        start_with("memory.size = \"64MiB\"\n[[origin]]\nservers = \"{origin}\"\n");
    let content = "0123456789".repeat(300_000);
    let all = content.clone();
    origin.otherwise(move |request| match request.method.as_str() {
        "GET" => ranged(request, &all, "\"a\""),
        _ => Reply::ok(),
    });
    let nothing_is_in_flight = |how| {
        wait_until(how, || sample(&larder, "larder_in_flight_bytes") == 0);
    };
    // Of 500 KB, and so in memory that the kernel sends; and of 1.5 MB, in pieces.
    for held in [
        ["0-499999", "1000000-1499999"],
        ["0-1499999", "1600000-2899999"],
    ] {
        for asked in held {
            assert_eq!(range(&larder, &format!("bytes={asked}")).status, 206);
        }
        assert_eq!(larder.get("/").send().text(), content);
        nothing_is_in_flight("the whole is stored");
        assert!(larder.get("/").send().hit());
        assert_eq!(larder.ask("POST", "/").body("x").send().status, 200);
        nothing_is_in_flight("the whole is let go");
    }
}
