//! How forms are made: once, while the content streams, on the pool, at the high level; and what becomes of them.

use super::coding::{BROWSER, decoded, get, made, page, plain, text};
use crate::common::{Said, sample, serve, start, start_with};
use crate::disk::Site;
use std::thread;
use testkit::{Gate, Origin, Reply, wait_until};

#[test]
fn a_miss_is_coded_while_it_streams_and_kept() {
    let (origin, larder) = start();
    let (first, second) = (text("first", 3000), text("second", 100_000));
    let gate = Gate::new();
    let reply = page(&first).chunked().hold(&gate).body(&second);
    origin.reply("/", reply);
    let ask = larder.get("/").header("Accept-Encoding", BROWSER);
    let mut client = ask.begin();
    let mut answer = client.read_head();
    assert_eq!(answer.header("content-encoding"), Some("br"));
    assert_eq!(answer.header("content-length"), None);
    // What the origin has written before it pauses can be read before it goes on.
    let mut reader = brotli::DecompressorWriter::new(Vec::new(), 4096);
    while reader.get_ref().len() < first.len() {
        let before = answer.body.len();
        client.read_body_exactly(&mut answer, before + 1);
        std::io::Write::write_all(&mut reader, &answer.body[before..]).expect("brotli");
        std::io::Write::flush(&mut reader).expect("brotli");
    }
    assert_eq!(reader.get_ref()[..], *first.as_bytes());
    gate.open();
    client.read_content(&mut answer);
    assert_eq!(decoded(&answer), format!("{first}{second}"));
    let again = get(&larder, "/", BROWSER);
    assert!(again.hit());
    assert!(
        again
            .header("etag")
            .is_some_and(|tag| tag.starts_with("\"v1-larder-br-"))
    );
    assert_eq!(decoded(&again), decoded(&answer));
    assert_eq!(
        made(&larder, "br", "fast"),
        1,
        "what was streamed is what is kept"
    );
}

#[test]
fn all_who_wait_share_one_making() {
    let (origin, larder) = start();
    let body = text("shared", 200_000);
    let gate = Gate::new();
    origin.reply(
        "/",
        page(&body[..1000])
            .chunked()
            .hold(&gate)
            .body(&body[1000..]),
    );
    let ask = || {
        let ask = larder.get("/").header("Accept-Encoding", "gzip");
        ask.begin()
    };
    let mut clients: Vec<_> = (0..6).map(|_| ask()).collect();
    let heads: Vec<_> = clients.iter_mut().map(testkit::Client::read_head).collect();
    gate.open();
    for (mut client, mut answer) in clients.into_iter().zip(heads) {
        client.read_content(&mut answer);
        assert_eq!(decoded(&answer), body);
    }
    assert_eq!(origin.requests("/"), 1);
    assert_eq!(made(&larder, "gzip", "fast"), 1);
    assert_eq!(
        sample(&larder, "larder_codings_passed_total{coding=\"gzip\"}"),
        0
    );
}

#[test]
fn a_large_body_is_made_once_by_the_pool() {
    let (origin, larder) = start();
    let body = text("large", 3 << 20);
    origin.reply("/", page(&body));
    assert_eq!(larder.get("/").send().text(), body);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let answer = get(&larder, "/", "zstd");
                assert_eq!(decoded(&answer), body);
            });
        }
    });
    wait_until("it is kept", || {
        get(&larder, "/", "zstd")
            .header("etag")
            .is_some_and(|tag| tag.starts_with('"'))
    });
    assert_eq!(made(&larder, "zstd", "fast"), 1);
    let answer = get(&larder, "/", "zstd");
    assert_eq!(decoded(&answer), body);
    assert!(answer.hit());
}

#[test]
fn what_is_asked_for_often_is_made_better() {
    let (origin, larder) = start();
    let body = text("often", 60_000);
    origin.reply("/", page(&body));
    larder.get("/").send();
    for coding in ["br", "zstd", "gzip"] {
        let fast = get(&larder, "/", coding);
        let mut length = fast.body.len();
        wait_until("the high level is there", || {
            length = length.min(get(&larder, "/", coding).body.len());
            made(&larder, coding, "high") == 1
        });
        wait_until("it is sent", || {
            let answer = get(&larder, "/", coding);
            assert_eq!(decoded(&answer), body);
            answer.header("etag") != fast.header("etag") && answer.body.len() < fast.body.len()
        });
        // Who holds the fast one holds the same content.
        let tag = fast.header("etag").unwrap_or_default();
        let ask = larder.get("/").header("Accept-Encoding", coding);
        let answer = ask.header("If-None-Match", tag).send();
        assert_eq!((answer.status, answer.header("etag")), (304, Some(tag)));
        // But not the same bytes.
        let ask = larder.get("/").header("Accept-Encoding", coding);
        let answer = ask
            .header("If-Range", tag)
            .header("Range", "bytes=5-9")
            .send();
        assert_eq!(answer.status, 200, "{coding}");
        for _ in 0..40 {
            get(&larder, "/", coding);
        }
        assert_eq!(made(&larder, coding, "high"), 1, "{coding}: once");
    }
}

/// Each 304 makes a new head over the same content: what was made of that stays, and so does the count of who wants it.
#[test]
fn a_page_that_is_validated_each_time_is_made_better_too() {
    let (origin, larder) = start();
    for (path, length) in [("/small", 20_000), ("/large", 60_000)] {
        let body = text(path, length);
        let content = body.clone();
        origin.on(path, move |request| {
            match request.header("if-none-match") {
                Some(_) => Reply::status(304).header("ETag", "\"v1\""),
                None => page(&content),
            }
            .cache("no-cache")
        });
        let before = made(&larder, "br", "high");
        wait_until("the high level is there", || {
            assert_eq!(decoded(&get(&larder, path, "br")), body);
            made(&larder, "br", "high") > before
        });
        let asked = origin.requests(path);
        for _ in 0..40 {
            assert_eq!(decoded(&get(&larder, path, "br")), body);
        }
        assert_eq!(origin.requests(path), asked + 40, "each is validated");
        assert_eq!(made(&larder, "br", "high"), before + 1, "{path}: once");
    }
    assert_eq!(made(&larder, "br", "fast"), 2);
}

#[test]
fn the_high_level_is_no_workers_business() {
    let (origin, larder) = start();
    origin.reply("/", page(&text("aside", 60_000)));
    larder.get("/").send();
    // Whoever follows the making of the fast one does not count among those who ask for it.
    wait_until("the fast one is kept", || is_kept(&get(&larder, "/", "br")));
    for _ in 0..20 {
        get(&larder, "/", "br");
    }
    // Who asks for the count meanwhile gives the workers something to do, and the more the slower the machine is.
    wait_until("the thread that makes it rests again", || {
        let threads = threads(larder.id());
        let high = threads.iter().find(|thread| thread.name == HIGH);
        high.is_some_and(|thread| thread.ticks > 0 && thread.state == "S")
    });
    let threads = threads(larder.id());
    wait_until("what it made is there", || made(&larder, "br", "high") == 1);
    let high = threads.iter().find(|thread| thread.name == HIGH);
    let high = high.unwrap_or_else(|| panic!("{threads:?}"));
    let is_worker = |name: &str| name.trim_start_matches("larder-").parse::<u8>().is_ok();
    let workers = threads.iter().filter(|thread| is_worker(&thread.name));
    let (ticks, nice): (Vec<u64>, Vec<_>) = workers.map(|one| (one.ticks, one.nice)).unzip();
    let nice = nice.first().unwrap_or_else(|| panic!("{threads:?}"));
    // 19 is the last there is, where the tests themselves stand back.
    assert_eq!(high.nice, (nice + 15).min(19), "workers go first");
    assert!(high.ticks > ticks.iter().sum(), "{threads:?}");
}

/// Whether this is a form that is kept: the validator says of which bytes it is.
fn is_kept(answer: &testkit::Response) -> bool {
    !answer.header("etag").is_some_and(is_weak)
}

/// The thread that makes forms at the high level: the kernel keeps 15 bytes of a name.
const HIGH: &str = "larder-code-hig";

#[derive(Debug)]
struct Thread {
    name: String,
    /// `S` while it waits.
    state: String,
    /// Time on a core.
    ticks: u64,
    nice: i32,
}

/// The threads of a process, as proc(5) tells of them.
fn threads(process: u32) -> Vec<Thread> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("a process");
    let read = |task: std::io::Result<std::fs::DirEntry>| {
        let stat = std::fs::read_to_string(task.ok()?.path().join("stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let ticks = |at: usize| fields[at].parse::<u64>().expect("a number");
        Some(Thread {
            name: name.to_owned(),
            state: fields[0].to_owned(),
            ticks: ticks(11) + ticks(12),
            nice: fields[16].parse().expect("a number"),
        })
    };
    tasks.filter_map(read).collect()
}

#[test]
fn one_that_is_stored_answers_until_the_better_one_is_made() {
    let (origin, larder) = start();
    let body = text("instead", 20_000);
    origin.reply("/", page(&body));
    larder.get("/").send();
    get(&larder, "/", "gzip");
    let answer = get(&larder, "/", BROWSER);
    assert_eq!(
        answer.header("content-encoding"),
        Some("gzip"),
        "it is there"
    );
    wait_until("brotli is made for those who like it as well", || {
        get(&larder, "/", BROWSER).header("content-encoding") == Some("br")
    });
    assert_eq!(decoded(&get(&larder, "/", BROWSER)), body);
    assert_eq!(made(&larder, "br", "fast"), 0, "nobody waited for it");
}

#[test]
fn freshening_keeps_forms() {
    let (origin, larder) = start();
    let body = text("fresh", 20_000);
    let page_body = body.clone();
    origin.on("/", move |request| {
        if request.header("if-none-match") == Some("\"v1\"") {
            let reply = Reply::status(304).header("ETag", "\"v1\"");
            return reply
                .header("X-Seen", request.nth.to_string())
                .cache("no-cache");
        }
        page(&page_body).cache("no-cache")
    });
    larder.get("/").send();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let answer = get(&larder, "/", "gzip");
        assert_eq!(decoded(&answer), body);
        seen.push(answer.header("x-seen").map(str::to_owned));
    }
    assert_eq!(seen.len(), 3);
    assert!(
        seen[1] != seen[2] && seen[2].is_some(),
        "the 304's fields: {seen:?}"
    );
    assert_eq!(made(&larder, "gzip", "fast"), 1, "the content is the same");
}

#[test]
fn forms_count_against_the_budget() {
    let origin = Origin::start();
    let larder = serve(&origin).args(["--memory", "4MiB"]).start();
    origin.otherwise(|request| page(&text(&request.target, 60_000)));
    let stored = || sample(&larder, "larder_stored_bytes");
    larder.get("/0").send();
    for coding in ["br", "gzip", "zstd"] {
        let before = stored();
        wait_until("the form is kept", || {
            get(&larder, "/0", coding)
                .header("content-length")
                .is_some()
        });
        let length = get(&larder, "/0", coding).body.len() as u64;
        let more = stored() - before;
        // As the allocator rounds it, with its fields.
        let most = length / 2 * 3 + 2048;
        assert!((length..most).contains(&more), "{coding}: {length} {more}");
    }
    for number in 0..150 {
        let path = format!("/{number}");
        larder.get(&path).send();
        for coding in ["br", "gzip", "zstd"] {
            let answer = get(&larder, &path, coding);
            assert_eq!(decoded(&answer), text(&path, 60_000));
        }
    }
    assert!(stored() <= 4 << 20, "{}", stored());
}

#[test]
fn disk_keeps_the_content_and_forms_are_made_again() {
    let site = Site::new("");
    let origin = &site.origin;
    let body = text("disk", 20_000);
    origin.reply("/", page(&body));
    let larder = site.start();
    wait_until("it is on disk", || {
        get(&larder, "/", "gzip");
        sample(&larder, "larder_disk_writes_total") > 0
    });
    let larder = site.restart(larder);
    for _ in 0..20 {
        let answer = get(&larder, "/", "gzip");
        assert_eq!(answer.header("content-encoding"), Some("gzip"));
        assert_eq!(decoded(&answer), body);
        assert!(answer.hit());
    }
    assert_eq!(larder.get("/").send().text(), body);
    assert_eq!(origin.requests("/"), 1);
    assert_eq!(
        made(&larder, "gzip", "fast"),
        1,
        "once it is in memory again"
    );
}

/// What lies on disk as a file of its own stays there. Its forms are made while it is read, in what costs least, once.
#[test]
fn what_stays_on_disk_is_coded_once_in_what_costs_least() {
    let (origin, body) = (Origin::start(), text("cheap", 3_000_000));
    let larder = with_a_file(&origin, &body, "64MiB");
    for (accepts, expected) in [
        (BROWSER, "zstd"),
        ("gzip, br", "gzip"),
        ("gzip;q=0.5, br", "br"),
    ] {
        for round in 0..3 {
            let answer = get(&larder, "/", accepts);
            assert_eq!(answer.header("content-encoding"), Some(expected));
            assert!(decoded(&answer) == body, "{expected} {round}");
            assert!(answer.hit());
        }
        assert_eq!(made(&larder, expected, "fast"), 1);
        let passed = format!("larder_codings_passed_total{{coding=\"{expected}\"}}");
        assert_eq!(sample(&larder, &passed), 0);
    }
    assert_eq!(origin.requests("/"), 1);
    // A form goes with what it was made of.
    let new = text("new", 3_000_000);
    origin.reply("/", page(&new));
    larder.ask("PURGE", "/").send();
    for accepts in [BROWSER, "gzip", "br"] {
        assert!(decoded(&get(&larder, "/", accepts)) == new, "{accepts}");
    }
}

/// One whose form is more than memory keeps is not coded for each client: the first gets what is made, all others the
/// content.
#[test]
fn what_is_too_large_in_any_form_is_sent_as_it_is() {
    let (origin, body) = (Origin::start(), text("huge", 12_000_000));
    let larder = with_a_file(&origin, &body, "4MiB");
    let first = get(&larder, "/", "gzip");
    assert_eq!(first.header("content-encoding"), Some("gzip"));
    assert!(first.body.len() > 1 << 20 && decoded(&first) == body);
    for _ in 0..3 {
        let answer = get(&larder, "/", "gzip");
        assert_eq!(answer.header("content-encoding"), None);
        let length = body.len().to_string();
        assert_eq!(answer.header("content-length"), Some(length.as_str()));
        assert!(answer.hit() && answer.text() == body);
    }
    assert_eq!(made(&larder, "gzip", "fast"), 0);
    let passed = "larder_codings_passed_total{coding=\"gzip\"}";
    assert_eq!(sample(&larder, passed), 1);
    assert!(sample(&larder, "larder_stored_bytes") <= 4 << 20);
    assert_eq!(sample(&larder, "larder_in_flight_bytes"), 0);
}

/// A larder that has found this body on disk at its start, and nothing in memory.
fn with_a_file(origin: &Origin, body: &str, memory: &str) -> testkit::Larder {
    let folder = testkit::scratch_dir();
    let config = format!(
        "[[origin]]\nservers = \"{}\"\n[memory]\nsize = \"{memory}\"\n[disk]\npath = \"{}\"\nsize = \"64MiB\"\n",
        origin.url(),
        folder.display()
    );
    origin.reply("/", page(body));
    let start = || testkit::Command::serve(env!("CARGO_BIN_EXE_larder")).config(&config);
    let before = start().start();
    wait_until("it is on disk", || {
        before.get("/").send();
        sample(&before, "larder_disk_large_files") > 0
    });
    before.stop();
    let larder = start().start();
    larder.wait_output("disk tier loaded");
    larder
}

fn is_weak(tag: &str) -> bool {
    tag.starts_with("W/")
}

/// The shared tier has the content alone: each node makes what its clients ask for, and all come out the same.
#[test]
fn nodes_share_the_content_and_make_their_own_forms() {
    let (origin, redis) = (Origin::start(), testkit::Redis::start());
    let body = text("nodes", 20_000);
    origin.reply("/", page(&body));
    let node = |name: &str| {
        let config = format!(
            "[[origin]]\nservers = \"{}\"\n[shared]\nurl = \"{}\"\nnode = \"{name}\"\ntimeout = \"20s\"\n",
            origin.url(),
            redis.url()
        );
        testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
            .config(&config)
            .start()
    };
    let (one, two) = (node("one"), node("two"));
    one.get("/").send();
    // What is asked for while the page is still being taken in is streamed, with a weak tag.
    wait_until("its form is kept", || is_kept(&get(&one, "/", "gzip")));
    let first = get(&one, "/", "gzip");
    wait_until("it is shared", || {
        let answer = get(&two, "/", "gzip");
        assert_eq!(decoded(&answer), body);
        sample(&two, "larder_shared_hits_total") > 0 || origin.requests("/") > 1
    });
    let second = get(&two, "/", "gzip");
    assert_eq!(
        first.header("etag"),
        second.header("etag"),
        "the same bytes"
    );
    assert_eq!(first.body, second.body);
    assert_eq!(
        (made(&one, "gzip", "fast"), made(&two, "gzip", "fast")),
        (1, 1)
    );
}

#[test]
fn a_body_that_is_not_kept_is_coded_on_its_way() {
    let (origin, larder) =
        start_with("[[origin]]\nservers = \"{origin}\"\n[defaults]\nlargest_body = \"10KiB\"\n");
    let body = text("unkept", 300_000);
    for (path, reply) in [("/known", page(&body)), ("/unknown", page(&body).chunked())] {
        origin.reply(path, reply);
        for round in 1..3 {
            let answer = get(&larder, path, "gzip");
            assert_eq!(answer.header("content-encoding"), Some("gzip"), "{path}");
            assert_eq!(plain(&answer), body.as_bytes(), "{path}");
            assert_eq!(origin.requests(path), round, "{path}");
        }
    }
}

#[test]
fn a_body_that_breaks_off_is_no_form() {
    let (origin, larder) = start();
    let body = text("broken", 50_000);
    origin.reply("/", page(&body[..30_000]).length(50_000).cut());
    let answer = larder.get("/").header("Accept-Encoding", "gzip").send();
    assert!(!answer.complete);
    origin.reply("/", page(&body));
    let answer = get(&larder, "/", "gzip");
    assert_eq!(decoded(&answer), body);
    assert!(!answer.hit());
}
