//! Origins that send what they should not, or nothing.

use crate::common::{Said, command, damaged, next, sample, start, start_with};
use testkit::{Client, Command, Gate, Larder, Origin, Reply, Response, wait_until};

/// An honest answer after a dishonest one: the next request finds nothing stored and gets this.
fn dishonest_first(reply: Reply) -> (Origin, Larder) {
    let (origin, larder) = start();
    let honest = || Reply::ok().cache("max-age=60").body("honest");
    let trap = std::sync::atomic::AtomicBool::new(true);
    origin.on("/", move |request| {
        // Until the test asks for `?honest`, every attempt meets the same trap, repeated ones too.
        if request.target == "/" && trap.load(std::sync::atomic::Ordering::Relaxed) {
            return reply.clone();
        }
        trap.store(false, std::sync::atomic::Ordering::Relaxed);
        honest()
    });
    (origin, larder)
}

#[test]
fn answers_that_are_none_become_502_with_a_reason() {
    for (sentence, reply) in [
        ("closes at once", Reply::close()),
        ("garbage", Reply::raw("this is not HTTP\r\n\r\n")),
        (
            "binary garbage",
            Reply::raw([0, 159, 146, 150, 255, 10, 13, 10, 13, 10]),
        ),
        (
            "9112 4: no status",
            Reply::raw("HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n"),
        ),
        (
            "9112 4: a status of two digits",
            Reply::raw("HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"),
        ),
        (
            "9112 2.3: not a version",
            Reply::raw("HTTQ/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        ),
        (
            "9112 8: ends within its head",
            Reply::raw("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nX: "),
        ),
        (
            "9112 8: ends after its status line",
            Reply::raw("HTTP/1.1 200 OK\r\n"),
        ),
        (
            "9110 5.5: NUL in a value",
            Reply::raw("HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n"),
        ),
        (
            "9112 5: no colon",
            Reply::raw("HTTP/1.1 200 OK\r\nnonsense\r\nContent-Length: 0\r\n\r\n"),
        ),
        (
            "9112 6.3: different lengths",
            Reply::raw(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
            ),
        ),
        (
            "9112 6.3: different lengths",
            Reply::raw(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 5, 6\r\n\r\nabcdef",
            ),
        ),
        (
            "9110 8.6: not a length",
            Reply::raw(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: -5\r\n\r\nabcde",
            ),
        ),
        (
            "9110 8.6: not a length",
            Reply::raw(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: five\r\n\r\nabcde",
            ),
        ),
        (
            "9110 15.2: 101 that nobody asked for",
            Reply::raw(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nabc",
            ),
        ),
        (
            "an endless header section",
            Reply::raw("HTTP/1.1 200 OK\r\n").endless("X-Y: zzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\r\n"),
        ),
        (
            "an endless field",
            Reply::raw("HTTP/1.1 200 OK\r\nX: ").endless("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"),
        ),
        (
            "an endless status line",
            Reply::raw("HTTP/1.1 200 ").endless("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"),
        ),
    ] {
        let (_origin, larder) = dishonest_first(reply);
        let answer = larder.get("/").send();
        assert_eq!(answer.status, 502, "{sentence}: {:?}", answer.head);
        assert!(answer.says("detail"), "{sentence}: {}", answer.said());
        assert!(!answer.says("stored"), "{sentence}: {}", answer.said());
        larder.get("/?honest").send();
        assert_eq!(larder.get("/").send().text(), "honest", "{sentence}");
    }
}

/// The client knows that it has not got all of it: by the status, or by an end too early.
pub(crate) fn is_told(answer: &Response, sentence: &str) {
    assert!(
        answer.status == 502 || !answer.complete,
        "{sentence}: {:?} {:?}",
        answer.head,
        answer.text()
    );
}

#[test]
fn half_an_answer_is_never_whole_and_never_stored() {
    for (sentence, reply) in [
        (
            "9112 8: shorter than its length",
            Reply::ok()
                .cache("max-age=60")
                .length(10)
                .body("half")
                .cut(),
        ),
        (
            "9112 8: no last chunk",
            Reply::ok().cache("max-age=60").chunked().body("half").cut(),
        ),
        (
            "9112 7.1: a bad chunk size",
            Reply::raw(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\nmore\r\n0\r\n\r\n",
            ),
        ),
        (
            "9112 7.1: a chunk without its end",
            Reply::raw(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalfXX4\r\nmore\r\n0\r\n\r\n",
            ),
        ),
        (
            "9112 7.1: a chunk size that overflows",
            Reply::raw(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nfffffffffffffffff\r\nmore",
            ),
        ),
        (
            "9112 7.1.1: an endless chunk extension",
            Reply::raw(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n4;",
            )
            .endless("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"),
        ),
        (
            "9112 7.1.2: an endless trailer section",
            Reply::raw(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n",
            )
            .endless("X-Y: zzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\r\n"),
        ),
        (
            "a part that lacks its own end",
            Reply::status(206)
                .cache("max-age=60")
                .header("Content-Range", "bytes 0-9/10")
                .length(10)
                .body("half")
                .cut(),
        ),
    ] {
        let (_origin, larder) = dishonest_first(reply);
        let answer = larder.get("/").send();
        is_told(&answer, sentence);
        larder.get("/?honest").send();
        let after = larder.get("/").send();
        assert_eq!(
            (after.text().as_str(), after.hit()),
            ("honest", false),
            "{sentence}"
        );
    }
}

#[test]
fn an_answer_seen_to_be_broken_before_any_of_it_is_sent_is_none() {
    const BROKEN: &str = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\nmore\r\n0\r\n\r\n";
    let (origin, larder) = start();
    origin.reply("/", Reply::raw(BROKEN));
    let answer = larder.get("/").send();
    assert_eq!(answer.status, 502, "{:?}", answer.head);
    let why = answer.parameter("detail");
    assert_eq!(why.as_deref(), Some("malformed"), "{}", answer.said());

    origin.on("/page", |request| match request.nth {
        1 => Reply::ok()
            .cache("max-age=60, stale-if-error=600")
            .header("Age", "100")
            .body("good"),
        _ => Reply::raw(BROKEN),
    });
    assert_eq!(larder.get("/page").send().text(), "good");
    let stale = larder.get("/page").send();
    assert_eq!(stale.text(), "good", "RFC 5861 section 4: {}", stale.said());
    assert_eq!(sample(&larder, "larder_origin_errors_total"), 2);
}

#[test]
fn whoever_follows_a_dishonest_answer_is_told_or_fetches_for_itself() {
    const OK: &str = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n";
    let raw = |rest: &str| Reply::raw(format!("{OK}{rest}"));
    for (what, reply, headless) in [
        ("nothing", Reply::close(), true),
        ("garbage", Reply::raw("this is not HTTP\r\n\r\n"), true),
        ("half a head", raw("X: "), true),
        (
            "an endless head",
            raw("").endless("X-Y: zzzzzzzzzzzzzzzzzzzz\r\n"),
            true,
        ),
        (
            "two lengths",
            raw("Content-Length: 4\r\nContent-Length: 8\r\n\r\nhalfhalf"),
            true,
        ),
        (
            "a length that is none",
            raw("Content-Length: 4x\r\n\r\nhalf"),
            true,
        ),
        (
            "less than its length",
            raw("Content-Length: 8\r\n\r\nhalf"),
            false,
        ),
        (
            "no last chunk",
            raw("Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"),
            false,
        ),
        (
            "a bad chunk",
            raw("Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\nhalf\r\n0\r\n\r\n"),
            false,
        ),
    ] {
        let (origin, larder) = start_with(
            "[[origin]]\nservers = \"{origin}\"\nretry.attempts = 0\npassive.failures = 0\n",
        );
        let gate = Gate::new();
        let reply = reply.hold_head(&gate);
        origin.on("/", move |request| match request.nth {
            1 => reply.clone(),
            _ => Reply::ok().cache("max-age=60").body("honest"),
        });
        let leader = larder.get("/").begin();
        gate.wait_reached();
        let followers: Vec<Client> = (0..4).map(|_| larder.get("/").begin()).collect();
        gate.open();
        for (number, mut client) in [leader].into_iter().chain(followers).enumerate() {
            // A connection that is closed in place of an answer is honest too.
            let Some(mut answer) = client.try_read_head() else {
                assert!(!headless, "{what}: no answer");
                continue;
            };
            client.read_content(&mut answer);
            let told = answer.status == 502 && answer.says("detail");
            let own = number > 0 && answer.complete && answer.text() == "honest";
            let cut = !headless && !answer.complete;
            assert!(
                told || own || cut,
                "{what}: {number}: {:?} {:?}",
                answer.head,
                answer.text()
            );
        }
        let after = larder.get("/").send();
        assert_eq!(after.text(), "honest", "{what}: {}", after.said());
    }
}

#[test]
fn more_than_was_announced_does_not_become_the_next_answer() {
    let (origin, larder) = start();
    let extra = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\n\r\npoison";
    origin.on("/long", move |_| {
        Reply::ok()
            .cache("no-store")
            .length(4)
            .body("good")
            .body(extra)
    });
    origin.reply("/next", Reply::ok().cache("max-age=60").body("right"));
    assert_eq!(larder.get("/long").send().text(), "good");
    for _ in 0..3 {
        let next = larder.get("/next").send();
        assert_ne!(next.text(), "poison", "9112 section 9.2");
    }
}

#[test]
fn both_lengths_at_once_give_nothing_to_the_next_request() {
    let (origin, larder) = start();
    let both = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n\
                4\r\ngood\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\n\r\npoison";
    origin.reply("/both", Reply::raw(both));
    origin.reply("/next", Reply::ok().cache("max-age=60").body("right"));
    let answer = larder.get("/both").send();
    assert!(
        answer.status == 502 || answer.text() == "good",
        "9112 section 6.3: {:?}",
        answer.text()
    );
    assert!(
        answer.headers("content-length").len() + answer.headers("transfer-encoding").len() <= 1
    );
    for _ in 0..2 {
        assert_eq!(larder.get("/next").send().text(), "right");
    }
}

#[test]
fn a_304_that_nobody_asked_for_is_not_an_answer() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => Reply::status(304)
            .cache("max-age=60")
            .header("ETag", "\"a\""),
        _ => Reply::ok().cache("max-age=60").body("content"),
    });
    for _ in 0..2 {
        assert_eq!(
            larder.get("/").send().text(),
            "content",
            "9111 section 3: it is not stored"
        );
    }
}

/// Whether it is stored, passes by itself, or is a part of a page.
#[test]
fn an_answer_that_breaks_off_is_counted_once() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\nretry.attempts = 0\npassive.failures = 0\n\
         [[route]]\npath = \"/uncached\"\ncache = false\n",
    );
    let half = |cache| Reply::ok().cache(cache).length(10).body("half").cut();
    origin.reply("/stored", half("max-age=60"));
    origin.reply("/uncached", half("max-age=60"));
    origin.reply("/passes", half("no-store"));
    let page = Reply::ok().body("<esi:include src=\"/passes\" onerror=\"continue\"/>");
    let page = page.cache("max-age=60").header("Content-Type", "text/html");
    origin.reply(
        "/page",
        page.header("Surrogate-Control", "content=\"ESI/1.0\""),
    );
    for (count, method, path) in [
        (1, "GET", "/stored"),
        (2, "GET", "/uncached"),
        (3, "GET", "/passes"),
        (4, "POST", "/passes"),
        (5, "GET", "/page"),
    ] {
        larder.ask(method, path).send();
        wait_until("it is counted", || {
            sample(&larder, "larder_origin_errors_total") == count
        });
    }
    assert_eq!(origin.requests("/passes"), 3);
}

/// Whatever it was asked: nobody gets half an answer, or none, for a whole one.
#[test]
fn an_origin_that_answers_what_it_was_not_asked_has_failed() {
    let (origin, larder) = start();
    origin.on("/304", |_| Reply::status(304).header("ETag", "\"b\""));
    origin.on("/206", |_| {
        Reply::status(206)
            .header("Content-Range", "bytes 0-3/10")
            .body("0123")
    });
    origin.on("/stale", |request| match request.nth {
        1 => Reply::ok()
            .cache("max-age=0, stale-if-error=60")
            .header("ETag", "\"a\"")
            .body("stale"),
        _ => Reply::status(304).header("ETag", "\"b\""),
    });
    for path in ["/304", "/206"] {
        for method in ["GET", "HEAD"] {
            let answer = larder.ask(method, path).send();
            assert_eq!(answer.status, 502, "{method} {path}");
            assert_eq!(answer.parameter("detail").as_deref(), Some("unasked"));
        }
    }
    larder.get("/stale").send();
    let stale = larder.get("/stale").send();
    assert_eq!((stale.status, stale.text().as_str()), (200, "stale"));
    assert_eq!(stale.parameter("detail").as_deref(), Some("unasked"));
    assert_eq!(sample(&larder, "larder_origin_errors_total"), 5);
}

#[test]
fn a_partial_answer_to_a_whole_question_is_not_stored_as_whole() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => Reply::status(206)
            .cache("max-age=60")
            .header("Content-Range", "bytes 0-3/10")
            .header("ETag", "\"a\"")
            .body("0123"),
        _ => Reply::ok()
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .body("0123456789"),
    });
    larder.get("/").send();
    let second = larder.get("/").send();
    assert_eq!(
        (second.status, second.text().as_str()),
        (200, "0123456789"),
        "9111 section 3.3"
    );
}

#[test]
fn a_part_with_a_false_range_is_not_kept() {
    for told in [
        "bytes 5-9/10",
        "bytes 0-3/2",
        "bytes 3-0/10",
        "lines 0-3/10",
        "nonsense",
        "bytes 0-99/100",
    ] {
        let (origin, larder) = start();
        origin.on("/", move |request| match request.nth {
            1 => Reply::status(206)
                .cache("max-age=60")
                .header("Content-Range", told)
                .header("ETag", "\"a\"")
                .body("0123"),
            _ => Reply::ok()
                .cache("max-age=60")
                .header("ETag", "\"a\"")
                .body("abcdefghij"),
        });
        larder.get("/").header("Range", "bytes=0-3").send();
        let whole = larder.get("/").send();
        assert_eq!(
            (whole.status, whole.text().as_str()),
            (200, "abcdefghij"),
            "9110 section 14.4: {told}"
        );
    }
}

/// RFC 9110 section 15.5.9: the origin had waited long enough for a request on this connection, and closes it.
#[test]
fn a_408_for_an_idle_connection_is_no_answer() {
    let (origin, larder) = start();
    let farewell = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    origin.on("/", move |request| match request.nth {
        2 => Reply::raw(farewell),
        nth => Reply::ok().cache("no-store").body(nth.to_string()),
    });
    // One worker.
    let mut client = larder.client();
    for answer in ["1", "3"] {
        assert_eq!(client.get("/").send().text(), answer);
    }
    assert_eq!(origin.connections(), 2);
}

#[test]
fn interim_responses_without_end_are_no_answer() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\ntimeouts.first_byte = \"1s\"\nretry.attempts = 0\n",
    );
    let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n";
    origin.reply("/", Reply::raw(hint).endless(hint));
    let answer = larder.get("/").send();
    assert_eq!(answer.status, 504, "{:?}", answer.head);
    assert!(answer.says("detail"), "{}", answer.said());
    assert!(answer.interim.len() <= 100, "{}", answer.interim.len());
    wait_until("the origin is let go", || origin.abandoned("/") > 0);
    origin.reply("/", Reply::ok().cache("max-age=60").body("honest"));
    assert_eq!(larder.get("/").send().text(), "honest");
}

#[test]
fn a_refused_connection_is_502() {
    let (origin, larder) = start();
    origin.stop();
    let answer = larder.get("/").send();
    assert_eq!(answer.status, 502, "9110 section 15.6.3");
    assert!(answer.says("detail"), "{}", answer.said());
    origin.reply("/", Reply::ok().cache("max-age=60").body("back"));
    origin.start_again();
    wait_until("the origin is asked again", || {
        larder.get("/").send().text() == "back"
    });
}

#[test]
fn a_name_that_does_not_resolve_is_502() {
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .args(["http://origin.invalid:81"])
        .start();
    let answer = larder.get("/").send();
    assert_eq!(answer.status, 502, "9110 section 15.6.3: {:?}", answer.head);
    assert!(answer.says("detail"), "{}", answer.said());
    assert_eq!(
        larder.admin_get("/healthz").send().status,
        200,
        "larder itself is well"
    );
}

#[test]
fn an_origin_that_is_no_url_is_told_at_once() {
    let finished = command().args(["serve", "not a url"]).run();
    assert_ne!(finished.code, Some(0));
    assert!(
        !finished.stderr.is_empty() && !finished.stderr.contains("panicked"),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_connection_that_died_while_idle_is_replaced() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        Reply::ok().cache("no-store").body(request.nth.to_string())
    });
    for round in 1..6 {
        let answer = larder.get("/").send();
        assert_eq!(
            (answer.status, answer.text()),
            (200, round.to_string()),
            "9112 section 9.3.1: retried on a new connection"
        );
        origin.drop_connections();
    }
}

/// RFC 9110 section 9.2.2: a client SHOULD NOT automatically retry a failed automatic retry, be the first connection an
/// idle one or not.
#[test]
fn a_retry_that_fails_is_not_tried_again() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => Reply::ok().cache("no-store").body("kept alive"),
        _ => Reply::close(),
    });
    let mut asked = 0;
    for (connection, sent) in [("new", 1), ("idle", 2), ("new", 2)] {
        let answer = larder.get("/").send();
        let is_first = asked == 0;
        assert_eq!(answer.status, if is_first { 200 } else { 502 });
        asked += sent;
        assert_eq!(origin.requests("/"), asked, "{connection}");
    }
}

#[test]
fn a_post_is_never_sent_twice() {
    let (origin, larder) = start();
    origin.reply("/", Reply::close());
    let answer = larder.ask("POST", "/").body("pay").send();
    assert_eq!(answer.status, 502);
    assert_eq!(
        origin.requests("/"),
        1,
        "9110 section 9.2.2: MUST NOT repeat what is not idempotent"
    );
}

#[test]
fn an_answer_before_the_request_is_read_is_passed_on() {
    let (origin, larder) = start();
    origin.reply(
        "/",
        Reply::status(413)
            .header("Connection", "close")
            .body("too much"),
    );
    let answer = larder.ask("POST", "/").body(vec![b'x'; 1 << 20]).send();
    assert_eq!((answer.status, answer.text().as_str()), (413, "too much"));
}

#[test]
fn an_origin_that_speaks_http_1_0_is_understood() {
    let (origin, larder) = start();
    let old =
        "HTTP/1.0 200 OK\r\nCache-Control: max-age=60\r\nContent-Type: text/plain\r\n\r\nold style";
    origin.reply("/", Reply::raw(old));
    for hit in [false, true] {
        let answer = larder.get("/").send();
        assert_eq!(
            (answer.text().as_str(), answer.hit(), answer.complete),
            ("old style", hit, true)
        );
        assert!(
            answer.start.starts_with("HTTP/1.1 "),
            "9110 section 2.5: MUST send its own version"
        );
    }
}

#[test]
fn damaged_answers_harm_nobody() {
    let (origin, larder) = start();
    let messages: [&[u8]; 4] = [
        b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60, stale-while-revalidate=5\r\nETag: \"a\"\r\nVary: Foo\r\nContent-Length: 5\r\n\r\nabcde",
        b"HTTP/1.1 206 Partial Content\r\nCache-Control: max-age=60\r\nContent-Range: bytes 0-4/10\r\nETag: \"a\"\r\nContent-Length: 5\r\n\r\nabcde",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nExpires: Sat, 06 Nov 2060 08:49:37 GMT\r\n\r\n5\r\nabcde\r\n0\r\nX: y\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\nCDN-Cache-Control: max-age=60\r\nCache-Groups: \"a\"\r\nLast-Modified: Sunday, 06-Nov-94 08:49:37 GMT\r\n\r\n",
    ];
    origin.otherwise(move |request| {
        let mut number = u32::try_from(request.nth)
            .expect("a small number")
            .wrapping_mul(2_654_435_761)
            + u32::try_from(request.target.len()).expect("short");
        let message = messages[next(&mut number) as usize % messages.len()];
        Reply::raw(damaged(message, &mut number))
    });
    let mut number = 1;
    for _ in 0..400 {
        let path = format!("/{}", "x".repeat((next(&mut number) % 5) as usize));
        let ask = larder
            .get(&path)
            .header("Foo", (next(&mut number) % 2).to_string());
        let ask = if next(&mut number).is_multiple_of(4) {
            ask.header("Range", "bytes=0-4")
        } else {
            ask
        };
        let mut client = ask.begin();
        let mut answer = client.read_head();
        client.read_content(&mut answer);
    }
    assert_eq!(sample(&larder, "larder_panics_total"), 0);
    wait_until("nothing is left behind", || {
        sample(&larder, "larder_in_flight_bytes") == 0
    });
}

#[test]
fn an_answer_that_breaks_off_before_its_first_byte_is_told_every_time() {
    for directives in ["max-age=60", "no-store"] {
        for reply in [Reply::ok().length(1000), Reply::ok().chunked()] {
            let (origin, larder) = start();
            origin.reply("/", reply.cache(directives).cut());
            for round in 0..100 {
                let mut client = larder.get("/").begin();
                let head = client.try_read_head();
                let mut answer = head
                    .unwrap_or_else(|| panic!("{directives}: no answer at all, in round {round}"));
                client.read_content(&mut answer);
                assert!(
                    answer.status == 502 || !answer.complete,
                    "{:?}",
                    answer.head
                );
            }
        }
    }
}

/// Over HTTP/2, where a stream that is reset loses what waits to be sent, and over HTTP/1 by either way.
#[test]
fn the_head_of_an_answer_that_breaks_off_at_once_is_sent() {
    let (origin, larder) = start();
    let half = |body: &str| Reply::ok().cache("no-store").length(9).body(body).cut();
    origin.reply("/nothing", half(""));
    origin.reply("/half", half("half"));
    let url = &larder.listeners()[0];
    for (method, path) in [
        ("GET", "/nothing"),
        ("GET", "/half"),
        ("DELETE", "/nothing"),
        ("DELETE", "/half"),
    ] {
        // It tells of each frame; `curl` forgets a head that comes together with the reset.
        let frames = std::process::Command::new("nghttp")
            .args(["-v", "-n", "-H", &format!(":method: {method}")])
            .arg(format!("{url}{path}"))
            .output()
            .expect("nghttp");
        let told = String::from_utf8_lossy(&frames.stdout);
        assert!(told.contains(":status: 200"), "{method} {path}: {told}");
        assert!(told.contains("recv RST_STREAM"), "{method} {path}: {told}");
        let one = larder.ask(method, path).send();
        assert_eq!((one.status, one.complete), (200, false), "{method} {path}");
    }
}
