//! FastCGI servers that break the protocol: 502 or what is stale, and nothing half stored.

use crate::common::Said;
use std::{fs, path::PathBuf};
use testkit::{
    Command, FastCgi, Larder, Response,
    fastcgi::{Next, end, kind, output, record},
    scratch_dir,
};

/// A folder with a script, which nobody reads.
pub(crate) fn root() -> PathBuf {
    let root = scratch_dir();
    fs::write(root.join("index.php"), "").unwrap();
    root
}

pub(crate) fn serve(server: &FastCgi, more: &str) -> Larder {
    let config = format!(
        "[[origin]]\nfastcgi = {:?}\nroot = {:?}\n{more}\n",
        server.url(),
        root().display().to_string()
    );
    Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&config)
        .start()
}

const HEAD: &str = "Content-Type: text/html\r\nCache-Control: max-age=60, stale-if-error=600\r\n";

/// Output that may be stored.
pub(crate) fn page(body: &str) -> Vec<u8> {
    record(kind::OUT, format!("{HEAD}\r\n{body}"))
}

/// These records one after the other.
pub(crate) fn all(records: &[Vec<u8>]) -> Vec<u8> {
    records.concat()
}

/// `record` with another byte at this place.
fn with(mut record: Vec<u8>, at: usize, byte: u8) -> Vec<u8> {
    record[at] = byte;
    record
}

/// What a server writes before it closes, and the `detail` of the failure. None of it brings a whole head.
fn without_a_head() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    vec![
        ("nothing", vec![], "truncated"),
        ("half a header", page("x")[..5].to_vec(), "truncated"),
        ("half a record", page("x")[..20].to_vec(), "truncated"),
        ("another version", with(page("x"), 0, 2), "protocol"),
        (
            "another protocol",
            b"HTTP/1.1 200 OK\r\n\r\nhello".to_vec(),
            "protocol",
        ),
        ("another request", with(page("x"), 3, 2), "protocol"),
        ("an unknown type", with(page("x"), 1, 99), "protocol"),
        ("a type of ours", with(page("x"), 1, 5), "protocol"),
        ("a short end", all(&[record(kind::END, [0; 7])]), "protocol"),
        ("a long end", all(&[record(kind::END, [0; 9])]), "protocol"),
        ("an end at once", end(), "malformed"),
        (
            "overloaded",
            record(kind::END, [0, 0, 0, 0, 2, 0, 0, 0]),
            "protocol",
        ),
        ("no end of the header", output(HEAD), "malformed"),
        ("no header", output("\r\nbody"), "malformed"),
        (
            "a line that is no field",
            output("Content-Type\r\n\r\nbody"),
            "malformed",
        ),
        (
            "a name with a space",
            output("A b: c\r\n\r\nbody"),
            "malformed",
        ),
        ("an odd value", output("A: \x01\r\n\r\nbody"), "malformed"),
        (
            "a status that is none",
            output("Status: soon\r\n\r\nbody"),
            "malformed",
        ),
        (
            "an interim status",
            output("Status: 101 Switching\r\n\r\nbody"),
            "malformed",
        ),
        (
            "two lengths",
            output("Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody"),
            "malformed",
        ),
        (
            "a large header",
            output(format!("A: {}\r\n\r\n", "a".repeat(9000))),
            "head-too-large",
        ),
        (
            "many fields",
            output("A: b\r\n".repeat(400) + "\r\n"),
            "malformed",
        ),
        (
            "an endless header",
            record(kind::OUT, format!("A: {}", "a".repeat(60_000))),
            "head-too-large",
        ),
        (
            "only complaints",
            all(&[record(kind::ERR, "oh"), end()]),
            "malformed",
        ),
    ]
}

#[test]
fn without_a_head_there_is_no_answer() {
    let server = FastCgi::with_output("");
    let larder = serve(
        &server,
        "header_size = \"8KiB\"\nretry.attempts = 0\npassive.failures = 0",
    );
    for (name, bytes, detail) in without_a_head() {
        server.answer(move |_, line| {
            line.send(&bytes);
            Next::Close
        });
        let target = format!("/{}", name.replace(' ', "-"));
        for _ in 0..2 {
            let answer = larder.get(&target).send();
            assert_eq!(answer.status, 502, "{name}: {:?}", answer.head);
            assert_eq!(
                answer.parameter("detail").as_deref(),
                Some(detail),
                "{name}"
            );
            assert!(!answer.hit(), "{name}");
        }
        // Nothing was left behind that would stand in the way of a good answer.
        server.answer(|_, line| {
            line.send(all(&[page("good"), end()]));
            Next::Close
        });
        assert_eq!(larder.get(&target).send().text(), "good", "{name}");
        assert!(larder.get(&target).send().hit(), "{name}");
    }
}

fn sized(length: usize, body: &str) -> Vec<u8> {
    let head = format!("{HEAD}Content-Length: {length}\r\n\r\n");
    record(kind::OUT, head + body)
}

/// What a server writes before it closes: a head, and something wrong behind it.
fn with_a_head() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("no end", page("half")),
        (
            "half a record",
            all(&[page("half"), record(kind::OUT, "more")[..10].to_vec()]),
        ),
        ("half an end", all(&[page("half"), end()[..12].to_vec()])),
        ("another version", all(&[page("half"), with(end(), 0, 9)])),
        (
            "another request",
            all(&[
                page("half"),
                with(record(kind::OUT, "of another"), 3, 7),
                end(),
            ]),
        ),
        (
            "output after the end of the request",
            all(&[
                page("half"),
                record(kind::OUT, ""),
                record(kind::OUT, "x"),
                end(),
            ]),
        ),
        ("less than its length", all(&[sized(10, "half"), end()])),
        (
            "a status of failure",
            all(&[page("half"), record(kind::END, [0, 0, 0, 1, 0, 0, 0, 0])]),
        ),
        (
            "a fatal error",
            all(&[
                page("half"),
                record(kind::ERR, "PHP message: PHP Fatal error:  x"),
                end(),
            ]),
        ),
    ]
}

/// The answer; `None` where the connection is closed before it began, which nobody takes for a page.
pub(crate) fn try_get(larder: &Larder, target: &str) -> Option<Response> {
    let mut client = larder.get(target).begin();
    let mut answer = client.try_read_head()?;
    client.read_content(&mut answer);
    Some(answer)
}

#[test]
fn what_breaks_off_is_never_stored_nor_ended_as_if_it_were_whole() {
    let server = FastCgi::with_output("");
    let larder = serve(&server, "retry.attempts = 0\npassive.failures = 0");
    for apart in [false, true] {
        for (name, bytes) in with_a_head() {
            let target = format!("/{}-{apart}", name.replace(' ', "-"));
            let written = bytes.clone();
            let split = if apart { 8 + HEAD.len() + 4 } else { 0 };
            server.answer(move |_, line| {
                let (head, rest) = written.split_at(split.min(written.len()));
                line.send(head);
                if apart {
                    // What follows comes in a packet of its own, if anything on a loaded machine does.
                    std::thread::yield_now();
                }
                line.send(rest);
                Next::Close
            });
            for _ in 0..2 {
                let Some(answer) = try_get(&larder, &target) else {
                    continue;
                };
                assert!(!answer.hit(), "{name}: {}", answer.said());
                let refused = answer.status == 502;
                assert!(
                    refused || !answer.complete,
                    "{name}: {:?} {}",
                    answer.head,
                    answer.text()
                );
            }
            server.answer(|_, line| {
                line.send(all(&[page("good"), end()]));
                Next::Close
            });
            assert_eq!(larder.get(&target).send().text(), "good", "{name}");
            assert!(larder.get(&target).send().hit(), "{name}");
        }
    }
}

/// A blank line behind `?>`, or a length in characters: nginx sends and stores what was announced.
#[test]
fn what_a_script_writes_beyond_its_length_is_left_out() {
    let server = FastCgi::with_output("");
    let larder = serve(&server, "retry.attempts = 0\npassive.failures = 1");
    let surplus = || record(kind::OUT, "\n\n");
    for (at, bytes) in [
        all(&[sized(4, "pagesurplus"), end()]),
        all(&[sized(4, "page"), surplus(), end()]),
        all(&[sized(4, "pa"), record(kind::OUT, "ge\n"), surplus(), end()]),
        all(&[sized(4, "page"), surplus()]),
        all(&[sized(0, "\n"), end()]),
    ]
    .into_iter()
    .enumerate()
    {
        server.answer(move |_, line| {
            line.send(bytes.clone());
            Next::Close
        });
        let (target, text) = (format!("/{at}"), if at == 4 { "" } else { "page" });
        let answer = larder.get(&target).send();
        let told = (answer.status, answer.complete, answer.text());
        assert_eq!(
            told,
            (200, true, text.to_owned()),
            "{at}: {}",
            answer.said()
        );
        let again = larder.get(&target).send();
        assert!(
            again.hit() && again.text() == text,
            "{at}: {}",
            again.said()
        );
    }
}

#[test]
fn records_may_come_in_any_pieces_and_any_order_that_makes_sense() {
    let padded = |kind, content: &str| {
        let mut bytes = record(kind, content);
        bytes[6] = 3;
        bytes.extend([0xff; 3]);
        bytes
    };
    let whole = all(&[
        padded(kind::ERR, "mind "),
        padded(kind::OUT, "Content-Type: text/plain\nX-A: 1\nCache-Con"),
        padded(kind::ERR, "the gap"),
        padded(kind::OUT, "trol: max-age=60\n"),
        padded(kind::OUT, "\nab"),
        padded(kind::ERR, ""),
        padded(kind::OUT, "cd"),
        padded(kind::OUT, ""),
        end(),
    ]);
    for piece in [1, 2, 3, 7, 8, 9, 1000] {
        let whole = whole.clone();
        let server = FastCgi::start(move |_, line| {
            for piece in whole.chunks(piece) {
                line.send(piece);
            }
            Next::Keep
        });
        let larder = serve(&server, "");
        let answer = larder.get("/").send();
        assert!(
            answer.complete && answer.text() == "abcd",
            "{piece}: {answer:?}"
        );
        assert_eq!(answer.header("x-a"), Some("1"));
        assert!(larder.get("/").send().hit());
        larder.wait_output("mind the gap");
    }
}

#[test]
fn what_is_stale_is_sent_while_the_server_fails() {
    let server = FastCgi::start(|_, line| {
        let old = "Cache-Control: max-age=1, stale-if-error=600\r\nAge: 10\r\n\r\nold";
        line.send(output(old));
        Next::Close
    });
    let larder = serve(
        &server,
        "header_size = \"8KiB\"\nretry.attempts = 0\npassive.failures = 0",
    );
    assert_eq!(larder.get("/").send().text(), "old");
    for (name, bytes, detail) in without_a_head() {
        server.answer(move |_, line| {
            line.send(&bytes);
            Next::Close
        });
        let answer = larder.get("/").send();
        assert_eq!(answer.text(), "old", "{name}: {:?}", answer.head);
        assert_eq!(
            answer.parameter("detail").as_deref(),
            Some(detail),
            "{name}"
        );
    }
}

/// PHP's own words, where `display_errors` is on: nginx sends them too. They say nothing of what is stored, and are never
/// stored themselves, whatever the script said of its page before.
#[test]
fn what_php_shows_of_a_script_that_broke_off_is_sent_and_never_stored() {
    const LIFETIMES: [(&str, &str); 4] = [
        ("Example-Cache-Control", "max-age=3600"),
        ("Expires", "Sat, 01 Jan 2050 00:00:00 GMT"),
        ("X-Accel-Expires", "3600"),
        ("Edge-Control", "max-age=3600"),
    ];
    let server = FastCgi::with_output("");
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&format!(
            "targeted_fields = [\"Example-Cache-Control\"]\n[defaults]\nttl = \"1h\"\n\
             [[origin]]\nfastcgi = {:?}\nroot = {:?}\nretry.attempts = 0\n",
            server.url(),
            root().display().to_string()
        ))
        .start();
    let answer = |head: &'static str, body: &'static str, error: Option<&'static str>| {
        server.answer(move |_, line| {
            let said =
                error.map(|error| record(kind::ERR, format!("PHP message: PHP {error}:  x")));
            let page = record(
                kind::OUT,
                format!("{head}Content-Type: text/html\r\n\r\n{body}"),
            );
            line.send(all(&[said.unwrap_or_default(), page, end()]));
            Next::Close
        });
    };
    for status in ["", "Status: 500\r\n", "Status: 404\r\n"] {
        for error in ["Fatal error", "Parse error", "Recoverable fatal error"] {
            let lifetimes = LIFETIMES.map(|(name, value)| format!("{name}: {value}\r\n"));
            let head = format!("{status}{}", lifetimes.concat());
            answer(head.leak(), "in line 5", Some(error));
            for _ in 0..2 {
                let shown = larder.get("/a").send();
                assert!(!shown.hit() && shown.complete, "{status}{error}");
                assert_eq!(shown.text(), "in line 5", "{status}{error}");
                assert_eq!(shown.header("cache-control"), Some("no-store"));
                for (name, _) in LIFETIMES {
                    assert_eq!(shown.header(name), None, "{status}{error}");
                }
            }
        }
    }
    // Nor does it confirm a page.
    answer(
        "Cache-Control: max-age=1\r\nAge: 10\r\nETag: \"1\"\r\n",
        "old",
        None,
    );
    assert_eq!(larder.get("/c").send().text(), "old");
    answer(
        "Status: 304\r\nETag: \"1\"\r\nExample-Cache-Control: max-age=60\r\n",
        "",
        Some("Fatal error"),
    );
    for _ in 0..2 {
        let stale = larder.get("/c").send();
        assert_eq!(stale.text(), "old");
        assert_eq!(stale.parameter("detail").as_deref(), Some("script"));
    }
    // Nor does it take the place of a page.
    answer("Cache-Control: max-age=1\r\nAge: 10\r\n", "old", None);
    assert_eq!(larder.get("/b").send().text(), "old");
    answer("", "in line 5", Some("Fatal error"));
    for _ in 0..2 {
        let stale = larder.get("/b").send();
        assert_eq!(stale.text(), "old");
        assert_eq!(stale.parameter("detail").as_deref(), Some("script"));
    }
    // Without its error it does.
    answer("Cache-Control: max-age=60\r\n", "new", None);
    assert_eq!(larder.get("/b").send().text(), "new");
    assert!(larder.get("/b").send().hit());
}
