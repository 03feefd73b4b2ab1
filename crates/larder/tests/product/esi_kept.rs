//! What a stored page of fragments was read to be is kept with it: a hit reads nothing again, wherever the page is stored.

use crate::{
    coding::{BROWSER, coding, decoded, get, text},
    coding_origin::gzipped,
    coding_room::Full,
    common::{Said, sample, start_with},
    disk::{LARGE, MIDDLE, Site, keep},
    esi::{ON, page},
};
use testkit::{Client, Gate, Larder, Origin, Reply, wait_until};

const READ: &str = "larder_pages_read_total";
const DECODED: &str = "larder_codings_decoded_total";

/// A page with its visitor's name at both ends and in the middle, and something that is left out.
fn written(length: usize, version: &str) -> String {
    let include = "<esi:include src=\"/who\"/>";
    let half = text(version, length / 2);
    format!("{include}{half}<esi:remove>{half}</esi:remove>{include}{half}{include}")
}

fn composed(length: usize, version: &str, who: &str) -> String {
    let half = text(version, length / 2);
    format!("{who}{half}{who}{half}{who}")
}

/// A larder that composes pages, with 4 MiB of memory, before a fresh origin.
fn small() -> (Origin, Larder) {
    start_with(&format!("{ON}[memory]\nsize = \"4MiB\"\n"))
}

fn who_asks(origin: &Origin) {
    origin.on("/who", |request| {
        let who = request.header("cookie").unwrap_or("nobody");
        let reply = Reply::ok().header("Content-Type", "text/plain");
        reply.cache("no-store").body(format!("({who})"))
    });
}

fn coded(reply: Reply, body: &str) -> Reply {
    reply.header("Content-Encoding", "gzip").body(gzipped(body))
}

/// Two users in turn, in a coding and without: each gets the page with their own name.
fn ask(larder: &Larder, target: &str, length: usize, version: &str, times: usize) {
    for number in 0..times {
        for who in ["ann", "bob"] {
            let ask = larder.get(target).header("Cookie", who);
            let accepts = if number % 2 == 0 { "identity" } else { BROWSER };
            let answer = ask.header("Accept-Encoding", accepts).send();
            assert!(answer.complete, "{target} {number}");
            let expected = composed(length, version, &format!("({who})"));
            assert!(decoded(&answer) == expected, "{target} {number} {who}");
        }
    }
}

#[test]
fn a_page_is_read_once_whatever_its_size_and_coding() {
    let (origin, larder) = start_with(ON);
    who_asks(&origin);
    for length in [100, 20_000, 1_500_000] {
        for (path, in_gzip) in [("/plain", false), ("/gzip", true)] {
            let target = format!("{path}-{length}");
            let body = written(length, "1");
            let reply = page("").header("ETag", "\"1\"");
            let reply = if in_gzip {
                coded(reply, &body)
            } else {
                reply.body(body)
            };
            origin.reply(&target, reply);
            let before = sample(&larder, READ);
            ask(&larder, &target, length, "1", 4);
            assert_eq!(sample(&larder, READ) - before, 1, "{target}");
            assert_eq!(origin.requests(&target), 1, "{target}");
        }
    }
}

/// The decoded form is kept too, so that the page is put together at once and its length is known.
#[test]
fn a_page_that_came_coded_is_decoded_once() {
    let (origin, larder) = start_with(ON);
    origin.reply("/", coded(page(""), &written(20_000, "1")));
    origin.reply("/who", Reply::ok().cache("max-age=60").body("(all)"));
    larder.get("/").send();
    let before = sample(&larder, DECODED);
    for _ in 0..5 {
        let answer = larder.get("/").send();
        assert!(answer.text() == composed(20_000, "1", "(all)"));
        let length = answer.body.len().to_string();
        assert_eq!(answer.header("content-length"), Some(length.as_str()));
    }
    assert_eq!(sample(&larder, DECODED), before);
}

/// Asks for a page as these users, who all have begun to get it when `then` is called, and of whom none has all of it.
fn together(origin: &Origin, larder: &Larder, target: &str, then: impl FnOnce(Vec<Client>)) {
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/who", move |request| {
        let who = request.header("cookie").unwrap_or("nobody");
        let reply = Reply::ok().header("Content-Type", "text/plain");
        reply.cache("no-store").hold(&held).body(format!("({who})"))
    });
    let before = origin.requests("/who");
    let begin = |who: &&str| larder.get(target).header("Cookie", *who).begin();
    let clients: Vec<_> = USERS.iter().map(begin).collect();
    wait_until("all had begun", || {
        origin.requests("/who") - before == USERS.len()
    });
    then(clients);
    gate.open();
}

const USERS: [&str; 5] = ["ann", "bob", "cyd", "dan", "eve"];

/// The page is longer than what is read ahead, so that nobody has all of it before the fragment comes.
#[test]
fn all_who_get_a_page_at_once_share_one_reading() {
    let (origin, larder) = start_with(ON);
    let length = 1_500_000;
    for (target, in_gzip) in [("/plain", false), ("/gzip", true)] {
        let body = written(length, target);
        let reply = if in_gzip {
            coded(page(""), &body)
        } else {
            page(&body)
        };
        origin.reply(target, reply);
        // It is stored, and nobody has read it.
        assert_eq!(larder.ask("HEAD", target).send().status, 200);
        let (before, decoded) = (sample(&larder, READ), sample(&larder, DECODED));
        let mut answers = Vec::new();
        together(&origin, &larder, target, |mut clients| {
            assert_eq!(sample(&larder, READ) - before, 1, "{target}");
            let decodings = sample(&larder, DECODED) - decoded;
            assert_eq!(decodings, u64::from(in_gzip), "{target}");
            // Whoever began leaves.
            drop(clients.remove(0));
            answers = clients;
        });
        for (client, who) in answers.iter_mut().zip(&USERS[1..]) {
            let answer = client.read();
            let expected = composed(length, target, &format!("({who})"));
            assert!(answer.text() == expected, "{target} {who}");
        }
        ask(&larder, target, length, target, 1);
        assert_eq!(sample(&larder, READ) - before, 1, "{target}");
        assert_eq!(origin.requests(target), 1, "{target}");
    }
}

/// It is decoded once for all, wherever they are in it: who comes later, while it is still coming in, from the beginning.
#[test]
fn a_page_that_is_coming_in_coded_is_decoded_once_for_all() {
    let (origin, larder) = start_with(ON);
    who_asks(&origin);
    let (length, gate) = (300_000, Gate::new());
    let code = gzipped(&written(length, "1"));
    let (one, two) = code.split_at(code.len() / 2);
    let reply = page("").chunked().header("Content-Encoding", "gzip");
    origin.reply("/", reply.body(one).hold(&gate).body(two));
    let mut clients = Vec::new();
    for who in USERS {
        let mut client = larder.get("/").header("Cookie", who).begin();
        let mut answer = client.read_head();
        // What could be decoded so far, which is more than half.
        client.read_body_exactly(&mut answer, length / 2);
        clients.push((client, answer, who));
    }
    assert_eq!(sample(&larder, DECODED), 1);
    // Who began leaves, and one who came later.
    clients.remove(3);
    clients.remove(0);
    gate.open();
    for (mut client, mut answer, who) in clients {
        client.read_content(&mut answer);
        assert!(
            answer.text() == composed(length, "1", &format!("({who})")),
            "{who}"
        );
    }
    ask(&larder, "/", length, "1", 1);
    assert_eq!((sample(&larder, READ), sample(&larder, DECODED)), (1, 1));
    wait_until("all is given back", || {
        sample(&larder, "larder_in_flight_bytes") == 0
    });
    assert_eq!(origin.requests("/"), 1);
}

/// Who got the old page before the purge goes on with it, and nobody else gets anything of it.
#[test]
fn a_purge_divides_those_who_read() {
    let (origin, larder) = start_with(ON);
    let (long, short) = (1_500_000, 1_400_000);
    for in_gzip in [false, true] {
        let reply = |length, version: &str| match (in_gzip, written(length, version)) {
            (true, body) => coded(page(""), &body),
            (false, body) => page(&body),
        };
        origin.reply("/", reply(long, "old"));
        larder.ask("PURGE", "/").send();
        assert_eq!(larder.ask("HEAD", "/").send().status, 200);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        together(&origin, &larder, "/", |clients| {
            before = clients;
            origin.reply("/", reply(short, "new"));
            larder.ask("PURGE", "/").send();
            let begin = |who| larder.get("/").header("Cookie", who).begin();
            after = ["fay", "gus"].map(begin).into();
        });
        for (client, who) in before.iter_mut().zip(USERS) {
            let expected = composed(long, "old", &format!("({who})"));
            assert!(client.read().text() == expected, "{who}");
        }
        for (client, who) in after.iter_mut().zip(["fay", "gus"]) {
            let expected = composed(short, "new", &format!("({who})"));
            assert!(client.read().text() == expected, "{who}");
        }
        ask(&larder, "/", short, "new", 1);
    }
}

/// There is so much in it that it is not kept: each reads on alone from where they were.
#[test]
fn a_reading_that_is_given_up_is_carried_on_by_each() {
    let (origin, larder) = start_with(ON);
    let cookie = "<esi:vars name=\"$(HTTP_COOKIE)\"/>,";
    let rest = text("rest", 300_000);
    let body = ["<esi:include src=\"/who\"/>", &rest, &cookie.repeat(50_000)].concat();
    for (target, in_gzip) in [("/plain", false), ("/gzip", true)] {
        origin.reply(
            target,
            if in_gzip {
                coded(page(""), &body)
            } else {
                page(&body)
            },
        );
        let mut answers = Vec::new();
        together(&origin, &larder, target, |clients| answers = clients);
        for (client, who) in answers.iter_mut().zip(USERS) {
            let expected = format!("({who}){rest}{}", format!("{who},").repeat(50_000));
            assert!(client.read().text() == expected, "{target} {who}");
        }
        assert_eq!(origin.requests(target), 1, "{target}");
    }
}

#[test]
fn a_page_that_was_confirmed_is_not_read_again() {
    let (origin, larder) = start_with(ON);
    who_asks(&origin);
    for (target, in_gzip) in [("/plain", false), ("/gzip", true)] {
        origin.on(target, move |request| {
            let reply = page("").cache("no-cache").header("ETag", "\"1\"");
            match (request.header("if-none-match"), in_gzip) {
                (Some(_), _) => Reply::status(304).header("ETag", "\"1\""),
                (None, true) => coded(reply, &written(5000, "1")),
                (None, false) => reply.body(written(5000, "1")),
            }
        });
        let before = sample(&larder, READ);
        ask(&larder, target, 5000, "1", 3);
        assert_eq!(origin.requests(target), 6, "each is confirmed");
        assert_eq!(sample(&larder, READ) - before, 1, "{target}");
    }
}

#[test]
fn a_page_from_disk_is_read_once_since_the_start() {
    let site = Site::new("[[route]]\nesi = true\n");
    who_asks(&site.origin);
    let pages = [
        ("/middle", MIDDLE, false),
        ("/large", LARGE, false),
        ("/gzip", MIDDLE, true),
    ];
    for (target, length, in_gzip) in pages {
        let reply = page("").header("ETag", "\"1\"");
        let body = format!("{}<!--end of {target}-->", written(length, target));
        site.origin.reply(
            target,
            if in_gzip {
                coded(reply, &body)
            } else {
                reply.body(body)
            },
        );
    }
    let larder = site.start();
    let targets = pages.map(|(target, ..)| target);
    keep(&larder, &targets);
    let larder = site.restart(larder);
    for (target, length, _) in pages {
        let before = sample(&larder, READ);
        for number in 0..10 {
            let who = ["ann", "bob"][number % 2];
            let answer = larder.get(target).header("Cookie", who).send();
            assert!(answer.hit(), "{target} {number}: {:?}", answer.head);
            let expected = composed(length, target, &format!("({who})"));
            let expected = format!("{expected}<!--end of {target}-->");
            assert!(answer.text() == expected, "{target} {number}");
        }
        assert_eq!(sample(&larder, READ) - before, 1, "{target}");
    }
}

/// A page in which there is nothing to do is one like any other, as soon as that is known.
#[test]
fn a_page_without_a_tag_is_sent_as_it_is_once_that_is_known() {
    let (origin, larder) = start_with(ON);
    let body = text("plain", 1_500_000);
    origin.reply("/large", page(&body).header("ETag", "\"1\""));
    origin.reply("/gzip", coded(page("").header("ETag", "\"2\""), &body));
    for target in ["/large", "/gzip"] {
        assert!(decoded(&get(&larder, target, "gzip")) == body);
        let decodings = sample(&larder, DECODED);
        let answer = get(&larder, target, "gzip");
        assert!(answer.hit() && decoded(&answer) == body);
        assert_eq!(coding(&answer), "gzip");
        assert!(answer.header("etag").is_some(), "{target}");
        let tag = answer.header("etag").unwrap_or_default().to_owned();
        let again = larder.get(target).header("Accept-Encoding", "gzip");
        assert_eq!(again.header("If-None-Match", &tag).send().status, 304);
        assert_eq!(sample(&larder, DECODED), decodings);
        assert!(larder.get(target).send().text() == body, "{target}");
    }
    let part = larder.get("/large").header("Range", "bytes=3-12").send();
    assert_eq!((part.status, part.text().as_str()), (206, &body[3..13]));
}

/// What is kept goes with the page it was made of: after a purge, for another variant, under another key.
#[test]
fn what_was_read_of_one_page_is_never_used_for_another() {
    let (origin, larder) = start_with(ON);
    who_asks(&origin);
    for in_gzip in [false, true] {
        let reply = move |version: &str| {
            let reply = page("").header("Vary", "X-Version");
            let body = written(3000 + version.len() * 500, version);
            if in_gzip {
                coded(reply, &body)
            } else {
                reply.body(body)
            }
        };
        origin.on("/", move |request| {
            let version = request.header("x-version").unwrap_or("none");
            reply(&[version, &request.nth.to_string()].join("-"))
        });
        let first = origin.requests("/");
        for round in 0..2 {
            for _ in 0..3 {
                for (number, version) in ["a", "bbb", "cccccc"].into_iter().enumerate() {
                    let nth = first + 3 * round + number + 1;
                    let version = (version, [version, &nth.to_string()].join("-"));
                    let ask = larder.get("/").header("X-Version", version.0);
                    let answer = ask.header("Cookie", "ann").send();
                    let length = 3000 + version.1.len() * 500;
                    assert!(
                        answer.text() == composed(length, &version.1, "(ann)"),
                        "{nth}"
                    );
                }
            }
            larder.ask("PURGE", "/").send();
        }
    }
}

#[test]
fn what_was_read_counts_against_the_budget() {
    let (origin, larder) = small();
    origin.otherwise(|request| coded(page(""), &written(60_000, &request.target)));
    who_asks(&origin);
    let one = "/0";
    ask(&larder, one, 60_000, one, 1);
    assert!(
        sample(&larder, "larder_stored_bytes") > 90_000,
        "decoded, it is larger"
    );
    for number in 0..80 {
        let target = format!("/{number}");
        ask(&larder, &target, 60_000, &target, 1);
    }
    let stored = sample(&larder, "larder_stored_bytes");
    assert!(stored <= 4 << 20, "{stored}");
}

/// A page may be read to be much more than it is.
#[test]
fn a_page_in_which_too_much_was_found_is_composed_and_not_kept() {
    let (origin, larder) = start_with(ON);
    let one = "<esi:vars>$(HTTP_COOKIE{a}) </esi:vars>";
    let times = 900_000 / one.len();
    origin.reply("/", page(one.repeat(times)));
    larder.get("/").send();
    let (before, stored) = (
        sample(&larder, READ),
        sample(&larder, "larder_stored_bytes"),
    );
    for (number, who) in ["ann", "bob"].into_iter().enumerate() {
        let answer = larder.get("/").header("Cookie", format!("a={who}")).send();
        assert!(answer.hit() && answer.complete, "{}", answer.said());
        assert!(answer.text() == format!("{who} ").repeat(times), "{who}");
        assert_eq!(sample(&larder, READ) - before, number as u64 + 1);
    }
    assert_eq!(sample(&larder, "larder_stored_bytes"), stored);
    assert!(stored < 1_000_000, "{stored}: the page alone");
    assert_eq!(sample(&larder, "larder_in_flight_bytes"), 0);
}

#[test]
fn a_page_is_composed_where_there_is_no_room_to_keep_what_was_read() {
    let (origin, larder) = small();
    let (vars, text) = ("<esi:vars>$(HTTP_COOKIE{a})</esi:vars>, ", "text, ");
    let body = [vars, text].concat().repeat(500);
    origin.reply("/", page(&body).header("ETag", "\"1\""));
    // Stored, and not read: it is too long to come with its head, and nothing is composed for a `HEAD`.
    larder.ask("HEAD", "/").send();
    let full = Full::begin(&origin, &larder);
    let read = |who: &str| {
        let before = sample(&larder, READ);
        let answer = larder.get("/").header("Cookie", format!("a={who}")).send();
        assert!(answer.hit(), "{}", answer.said());
        let expected = format!("{who}, {text}").repeat(500);
        assert!(answer.complete && answer.text() == expected, "{who}");
        sample(&larder, READ) - before
    };
    for who in ["ann", "bob", "cat"] {
        assert_eq!(read(who), 1, "{who}");
    }
    full.end(&larder);
    read("ann");
    assert_eq!((read("ann"), read("bob")), (0, 0), "now it is kept");
}
