//! Partial responses in the store: kept, combined, completed (RFC 9111 sections 3.3 and 3.4).

use super::ranges::{CONTENT, partial, range, ranged};
use crate::common::{Said, sample, start, start_with};
use testkit::{Gate, Reply, date};

#[test]
fn a_partial_response_is_stored_and_answers_what_it_holds() {
    let (origin, larder) = partial();
    let first = range(&larder, "bytes=5-14");
    assert_eq!((first.status, first.text().as_str()), (206, "56789abcde"));
    assert_eq!(first.header("content-range"), Some("bytes 5-14/20"));
    assert_eq!(origin.last("/").header("range"), Some("bytes=5-14"));
    for (asked, content) in [
        ("bytes=5-14", "56789abcde"),
        ("bytes=7-9", "789"),
        ("bytes=14-14", "e"),
    ] {
        let answer = range(&larder, asked);
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (206, content),
            "9111 section 3.3: {asked}"
        );
        assert!(answer.hit(), "9111 section 3.3: {asked}: {}", answer.said());
    }
    assert_eq!(origin.requests("/"), 1);
}

/// Whoever asks first, and for how much, makes no difference to how long a page lasts.
#[test]
fn the_sites_lifetime_of_the_whole_is_that_of_its_parts() {
    for (route, said, least) in [
        ("ttl = \"1h\"\nttl_mode = \"override\"", "max-age=60", 60),
        ("ttl = \"1h\"\nttl_mode = \"override\"", "no-store", 60),
        ("ttl = \"1h\"\nttl_mode = \"static\"", "max-age=60", 60),
        ("ttl = \"1h\"", "", 60),
        ("ttl = { \"200\" = \"1h\", \"2xx\" = \"1m\" }", "", 60),
        ("ttl = { \"200\" = \"1h\", any = \"0s\" }", "", 60),
        ("ttl = { \"200\" = \"1h\", \"206\" = \"2h\" }", "", 3600),
    ] {
        let (origin, larder) = start_with(&format!(
            "[[origin]]\nservers = \"{{origin}}\"\n[[route]]\n{route}\n"
        ));
        origin.otherwise(move |request| {
            let reply = match request.header("range") {
                Some("bytes=5-9") => Reply::status(206)
                    .header("Content-Range", "bytes 5-9/20")
                    .body(&CONTENT[5..10]),
                Some("bytes=0-") => Reply::status(206)
                    .header("Content-Range", "bytes 0-19/20")
                    .body(CONTENT),
                _ => Reply::status(503),
            };
            reply
                .header("Content-Type", "video/mp4")
                .header("Cache-Control", said)
        });
        for (target, asked) in [("/part.mp4", "bytes=5-9"), ("/all.mp4", "bytes=0-")] {
            for is_hit in [false, true] {
                let answer = larder.get(target).header("Range", asked).send();
                let told = answer.parameter("ttl").and_then(|ttl| ttl.parse().ok());
                assert!(
                    answer.hit() == is_hit && told.is_some_and(|ttl: i64| ttl > least),
                    "{route}, {said}, {asked}: {}",
                    answer.said()
                );
            }
        }
        assert!(larder.get("/all.mp4").send().hit(), "{route}, {said}");
    }
}

#[test]
fn a_partial_response_is_never_sent_as_the_whole() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => ranged(request, CONTENT, "\"a\""),
        _ => Reply::status(503).body("sorry"),
    });
    range(&larder, "bytes=5-14");
    let whole = larder.get("/").send();
    assert_ne!(
        whole.status, 206,
        "9111 section 3.3: MUST NOT answer a request without Range with a partial response"
    );
    assert_ne!(whole.text(), "56789abcde");
}

/// It is the part's own, and nobody knows that of the whole.
#[test]
fn what_is_made_of_parts_has_no_digest_of_one() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        ranged(request, CONTENT, "\"a\"")
            .header("Content-Digest", "sha-256=:AAAA:")
            .header("Content-MD5", "AAAA")
    });
    let whole = |how: &str| {
        let answer = larder.get("/").send();
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (200, CONTENT),
            "{how}"
        );
        for name in ["content-digest", "content-md5"] {
            assert_eq!(answer.header(name), None, "{how}");
        }
    };
    range(&larder, "bytes=0-9");
    whole("completed");
    whole("from the store");
}

#[test]
fn parts_are_combined() {
    let (origin, larder) = partial();
    range(&larder, "bytes=0-9");
    range(&larder, "bytes=10-14");
    let both = range(&larder, "bytes=5-12");
    assert_eq!(
        (both.status, both.text().as_str()),
        (206, "56789abc"),
        "9111 section 3.4"
    );
    assert!(both.hit(), "9111 section 3.4: {}", both.said());
    assert_eq!(origin.requests("/"), 2);
}

#[test]
fn combined_parts_are_purged_by_the_tags_of_either() {
    for (tag, in_order) in [
        ("first", true),
        ("second", true),
        ("first", false),
        ("second", false),
    ] {
        let (origin, larder) = start();
        let gate = Gate::new();
        let held = gate.clone();
        origin.on("/", move |request| {
            let is_first = request.nth == 1;
            let tag = if is_first { "first" } else { "second" };
            let reply = ranged(request, CONTENT, "\"a\"").header("Surrogate-Key", tag);
            if is_first && !in_order {
                reply.hold_head(&held)
            } else {
                reply
            }
        });
        let first = larder.get("/").header("Range", "bytes=0-9");
        let mut first = first.begin();
        if in_order {
            first.read();
            range(&larder, "bytes=10-14");
        } else {
            gate.wait_reached();
            range(&larder, "bytes=10-14");
            gate.open();
            first.read();
        }
        assert!(range(&larder, "bytes=5-12").hit());
        let mut client = larder.client();
        client.send(format!(
            "PURGE / HTTP/1.1\r\nHost: c\r\nSurrogate-Key: {tag}\r\n\r\n"
        ));
        assert_eq!(client.read().status, 200);
        assert!(!range(&larder, "bytes=0-3").hit(), "{tag}, {in_order}");
    }
}

#[test]
fn a_partial_response_is_completed_with_a_range_of_our_own() {
    let (origin, larder) = partial();
    range(&larder, "bytes=0-9");
    let whole = larder.get("/").send();
    assert_eq!((whole.status, whole.text().as_str()), (200, CONTENT));
    assert_eq!(
        whole.parameter("fwd").as_deref(),
        Some("partial"),
        "9211 section 2.2: {}",
        whole.said()
    );
    let asked = origin.last("/");
    assert_eq!(
        asked.header("range"),
        Some("bytes=10-19"),
        "9111 section 3.3: only what is missing"
    );
    assert_eq!(
        asked.header("if-range"),
        Some("\"a\""),
        "9110 section 13.1.5: only of the same representation"
    );
    let hit = larder.get("/").send();
    assert!(
        hit.hit() && hit.text() == CONTENT,
        "it is whole now: {}",
        hit.said()
    );
}

/// RFC 9110 section 15.3.7: an origin may send less than it was asked for.
#[test]
fn less_than_what_is_missing_is_passed_and_kept_and_the_whole_is_not_fetched_for_it() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let asked = request.header("range").expect("a part alone is asked for");
        let first = asked
            .strip_prefix("bytes=")
            .and_then(|asked| asked.split_once('-'))
            .and_then(|(first, _)| first.parse::<usize>().ok())
            .expect("a range");
        Reply::status(206)
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .header("Content-Range", format!("bytes {first}-{}/20", first + 4))
            .body(&CONTENT[first..first + 5])
    });
    for asked in ["bytes=0-4", "bytes=8-15"] {
        let part = range(&larder, asked);
        assert_eq!((part.status, part.body.len()), (206, 5), "{}", part.said());
        assert!(
            part.says("stored") && part.parameter("ttl").is_some(),
            "{}",
            part.said()
        );
    }
    for held in ["bytes=0-4", "bytes=8-12"] {
        let part = range(&larder, held);
        assert!(part.hit(), "{held}: {}", part.said());
    }
    // Both at once, with what is held of it.
    let more = range(&larder, "bytes=10-14");
    assert_eq!((more.status, more.text().as_str()), (206, &CONTENT[10..15]));
}

#[test]
fn a_completion_of_something_that_has_changed_yields_the_new_whole() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => ranged(request, CONTENT, "\"a\""),
        _ => ranged(request, "NEW CONTENT", "\"b\""),
    });
    range(&larder, "bytes=0-9");
    for _ in 0..2 {
        let whole = larder.get("/").send();
        assert_eq!((whole.status, whole.text().as_str()), (200, "NEW CONTENT"));
    }
}

#[test]
fn parts_of_different_representations_are_never_combined() {
    for (one, other) in [("\"a\"", "\"b\""), ("W/\"a\"", "W/\"a\""), ("", "")] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            // The range is honoured whatever `If-Range` says, as a bad origin does.
            let (content, tag) = if request.nth == 1 {
                (CONTENT, one)
            } else {
                ("ABCDEFGHIJKLMNOPQRST", other)
            };
            let Some(range) = request.header("range") else {
                return Reply::ok().cache("max-age=60").body(content);
            };
            let (first, last) = range
                .trim_start_matches("bytes=")
                .split_once('-')
                .expect("a range");
            let (first, last): (usize, usize) =
                (first.parse().unwrap(), last.parse().unwrap_or(19));
            let reply = Reply::status(206)
                .cache("max-age=60")
                .header("Content-Range", format!("bytes {first}-{last}/20"));
            let reply = if tag.is_empty() {
                reply
            } else {
                reply.header("ETag", tag)
            };
            reply.body(&content[first..=last])
        });
        range(&larder, "bytes=0-9");
        range(&larder, "bytes=10-19");
        for answer in [range(&larder, "bytes=5-14"), larder.get("/").send()] {
            let text = answer.text();
            let mixed = text.chars().any(|c| c.is_ascii_uppercase())
                && text.chars().any(|c| !c.is_ascii_uppercase());
            assert!(
                !mixed,
                "9111 section 3.4: MUST share a strong validator ({one} and {other}): {text}"
            );
        }
    }
}

/// The answer to the later request is the newer one, and what the origin's clock said at the first does not keep it out.
#[test]
fn a_part_replaces_what_came_while_the_clock_of_the_origin_was_ahead() {
    for first in [Some("bytes=0-4"), None] {
        let (origin, larder) = start();
        origin.on("/", |request| match request.nth {
            1 => ranged(request, CONTENT, "W/\"a\"").header("Date", date(3600)),
            _ => ranged(request, "ABCDEFGHIJKLMNOPQRST", "W/\"a\""),
        });
        let get = |range: Option<&str>| match range {
            Some(range) => larder.get("/").header("Range", range),
            None => larder.get("/"),
        };
        get(first).send();
        let reload = get(Some("bytes=5-9")).header("Cache-Control", "no-cache");
        assert_eq!(reload.send().text(), "FGHIJ", "{first:?}");
        let again = get(Some("bytes=5-9")).send();
        assert_eq!(again.text(), "FGHIJ", "{first:?}");
        assert!(again.hit(), "{first:?}: {}", again.said());
    }
}

#[test]
fn what_a_part_covers_is_answered_however_it_is_asked_for() {
    let (origin, larder) = partial();
    range(&larder, "bytes=10-19");
    for (asked, content) in [
        ("bytes=-3", "hij"),
        ("bytes=15-", "fghij"),
        ("bytes=12-100", "cdefghij"),
    ] {
        let answer = range(&larder, asked);
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (206, content),
            "{asked}"
        );
        assert!(answer.hit(), "9111 section 3.3: {asked}: {}", answer.said());
    }
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn what_a_part_covers_only_in_part_is_answered_exactly() {
    for asked in [
        "bytes=0-14",
        "bytes=10-19",
        "bytes=0-19",
        "bytes=-12",
        "bytes=3-",
    ] {
        let (_origin, larder) = partial();
        range(&larder, "bytes=5-14");
        let answer = range(&larder, asked);
        let (first, last) = match asked {
            "bytes=0-14" => (0, 14),
            "bytes=10-19" => (10, 19),
            "bytes=0-19" => (0, 19),
            "bytes=-12" => (8, 19),
            _ => (3, 19),
        };
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (206, &CONTENT[first..=last]),
            "{asked}"
        );
        assert_eq!(
            answer.header("content-range"),
            Some(format!("bytes {first}-{last}/20").as_str()),
            "{asked}"
        );
    }
}

#[test]
fn conditions_and_head_see_the_whole_behind_a_part() {
    let (_origin, larder) = partial();
    range(&larder, "bytes=0-4");
    let knows = larder
        .get("/")
        .header("Range", "bytes=0-4")
        .header("If-None-Match", "\"a\"")
        .send();
    assert_eq!(knows.status, 304);
    let other = larder
        .get("/")
        .header("Range", "bytes=0-4")
        .header("If-Range", "\"b\"")
        .send();
    assert_eq!(
        (other.status, other.text().as_str()),
        (200, CONTENT),
        "9110 section 13.1.5"
    );
    let head = larder.ask("HEAD", "/").send();
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("20"))
    );
    assert_eq!(head.header("content-range"), None);
}

#[test]
fn a_head_is_not_answered_from_a_part() {
    let (origin, larder) = partial();
    range(&larder, "bytes=0-4");
    let head = larder.ask("HEAD", "/").header("Range", "bytes=0-4").send();
    assert!(
        !head.hit(),
        "9111 section 3.3: MUST NOT use an incomplete response unless the request is for a range of it: {}",
        head.said()
    );
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("20"))
    );
    let asked = origin.last("/");
    assert_eq!(
        (asked.method.as_str(), asked.header("range")),
        ("GET", Some("bytes=5-19")),
        "one fetch completes it"
    );
    let whole = larder.get("/").send();
    assert!(
        whole.hit() && whole.text() == CONTENT,
        "it answers both from now on: {}",
        whole.said()
    );
}

#[test]
fn a_completion_of_unknown_length_completes_what_is_known() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.header("range") {
        Some("bytes=10-19") => Reply::status(206)
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .header("Content-Range", "bytes 10-19/*")
            .body(&CONTENT[10..]),
        _ => ranged(request, CONTENT, "\"a\""),
    });
    range(&larder, "bytes=0-9");
    let whole = larder.get("/").send();
    assert_eq!((whole.status, whole.text().as_str()), (200, CONTENT));
    assert_eq!(
        origin.requests("/"),
        2,
        "9111 section 3.4: one strong validator, one representation, one length"
    );
    assert!(larder.get("/").send().hit());
}

#[test]
fn a_first_part_of_unknown_length_passes_and_is_not_stored() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.header("range") {
        Some(_) => Reply::status(206)
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .header("Content-Range", "bytes 0-4/*")
            .body(&CONTENT[..5]),
        None => ranged(request, CONTENT, "\"a\""),
    });
    for _ in 0..2 {
        let part = range(&larder, "bytes=0-4");
        assert_eq!((part.status, part.text().as_str()), (206, "01234"));
        assert_eq!(part.header("content-range"), Some("bytes 0-4/*"));
        assert!(!part.hit(), "{}", part.said());
    }
    assert_eq!(larder.get("/").send().text(), CONTENT);
}

#[test]
fn a_stale_part_is_validated_before_it_answers() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        match (request.nth, request.header("if-none-match")) {
            (1, _) => ranged(request, CONTENT, "\"a\"").header("Age", "100"),
            (_, Some("\"a\"")) => Reply::status(304)
                .cache("max-age=60")
                .header("ETag", "\"a\""),
            _ => ranged(request, CONTENT, "\"a\""),
        }
    });
    range(&larder, "bytes=0-4");
    let second = range(&larder, "bytes=0-4");
    assert_eq!(
        (second.status, second.text().as_str()),
        (206, "01234"),
        "{:?}",
        second.head
    );
    assert_eq!(origin.requests("/"), 2);
    let third = range(&larder, "bytes=1-2");
    assert!(
        third.hit(),
        "9111 section 4.3.4: {} after {}, asked with {:?}",
        third.said(),
        second.said(),
        origin.recorded("/")[1].head
    );
}

#[test]
fn a_completion_that_cannot_be_combined_is_never_sent_for_the_whole() {
    for (told, directives, tag) in [
        ("bytes 10-19/20", "no-store", "\"a\""),
        ("bytes 10-19/20", "private", "\"a\""),
        ("bytes 10-19/*", "max-age=60", "\"b\""),
        ("bytes 11-19/*", "max-age=60", "\"a\""),
        ("bytes 10-19/30", "max-age=60", "\"a\""),
        ("bytes 10-19/20", "max-age=60", "\"b\""),
        ("bytes 10-19/20", "max-age=60", ""),
        ("nonsense", "max-age=60", "\"a\""),
    ] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            match (request.nth, request.header("range")) {
                (1, _) | (_, None) => ranged(request, CONTENT, "\"a\""),
                (_, Some(_)) => {
                    let reply = Reply::status(206)
                        .cache(directives)
                        .header("Content-Range", told);
                    let reply = if tag.is_empty() {
                        reply
                    } else {
                        reply.header("ETag", tag)
                    };
                    reply.body(&CONTENT[10..])
                }
            }
        });
        range(&larder, "bytes=0-9");
        let whole = larder.get("/").send();
        assert_eq!(
            (whole.status, whole.text().as_str()),
            (200, CONTENT),
            "9110 section 15.3.7: {told} {directives} {tag}"
        );
        assert_eq!(larder.get("/").send().text(), CONTENT);
    }
}

#[test]
fn a_completion_that_breaks_off_is_not_kept() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        2 => {
            let part = Reply::status(206)
                .cache("max-age=60")
                .header("ETag", "\"a\"");
            part.header("Content-Range", "bytes 10-19/20")
                .length(10)
                .body("abc")
                .cut()
        }
        _ => ranged(request, CONTENT, "\"a\""),
    });
    range(&larder, "bytes=0-9");
    let broken = larder.get("/").send();
    assert!(
        broken.status == 502 || !broken.complete || broken.text() == CONTENT,
        "{:?} {:?}",
        broken.head,
        broken.text()
    );
    let whole = larder.get("/").send();
    assert_eq!(
        (whole.status, whole.text().as_str(), whole.complete),
        (200, CONTENT, true)
    );
}

#[test]
fn a_part_for_somebody_who_has_the_rest_is_kept_only_with_its_fields() {
    for (sent, kept) in [(None, false), (Some("text/css"), true)] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            let reply = ranged(request, CONTENT, "\"a\"");
            // 9110 section 15.3.7: an answer to `If-Range` leaves out what its client has.
            match sent.or(request.header("if-range").is_none().then_some("text/css")) {
                Some(media) => reply.header("Content-Type", media),
                None => reply,
            }
        });
        let first = larder
            .get("/")
            .header("Range", "bytes=0-9")
            .header("If-Range", "\"a\"");
        assert_eq!(first.send().status, 206);
        for _ in 0..2 {
            let whole = larder.get("/").send();
            assert_eq!((whole.status, whole.text().as_str()), (200, CONTENT));
            assert_eq!(whole.header("content-type"), Some("text/css"));
        }
        assert_eq!(origin.all()[1].header("range").is_some(), kept, "{sent:?}");
    }
}

#[test]
fn combined_parts_keep_the_fields_that_only_the_older_has() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => ranged(request, CONTENT, "\"a\"")
            .header("Content-Type", "text/css")
            .header("Last-Modified", date(-1000))
            .header("Vary", "X-Kind")
            .header("X-Version", "1"),
        // 9110 section 15.3.7: an answer to `If-Range` leaves out what its client has.
        _ => ranged(request, CONTENT, "\"a\"").header("X-Version", "2"),
    });
    range(&larder, "bytes=0-9");
    for made in ["completed", "stored"] {
        let whole = larder.get("/").send();
        assert_eq!((whole.status, whole.text().as_str()), (200, CONTENT));
        assert_eq!(whole.header("content-type"), Some("text/css"), "{made}");
        assert!(
            whole.header("last-modified").is_some(),
            "9111 section 3.4: {made}"
        );
        assert_eq!(
            whole.header("x-version"),
            Some("2"),
            "9111 section 3.2: {made}"
        );
        assert_eq!(whole.hit(), made == "stored", "{}", whole.said());
    }
    let other = larder.get("/").header("X-Kind", "other").send();
    assert!(!other.hit(), "9111 section 4.1: {}", other.said());
}

#[test]
fn a_stale_part_answers_for_what_it_holds_when_the_origin_fails() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => ranged(request, CONTENT, "\"a\"")
            .header("Cache-Control", "stale-if-error=600")
            .header("Age", "100"),
        _ => Reply::status(503).body("sorry"),
    });
    range(&larder, "bytes=0-4");
    let within = range(&larder, "bytes=1-3");
    assert_eq!(
        (within.status, within.text().as_str()),
        (206, "123"),
        "RFC 5861 section 4: {}",
        within.said()
    );
    assert_eq!(within.header("content-range"), Some("bytes 1-3/20"));
    let beyond = range(&larder, "bytes=3-7");
    assert_eq!((beyond.status, beyond.text().as_str()), (503, "sorry"));
    let whole = larder.get("/").send();
    assert_eq!((whole.status, whole.text().as_str()), (503, "sorry"));
}

#[test]
fn it_does_so_too_where_the_part_that_comes_is_another_than_it_says() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => Reply::status(206)
            .cache("max-age=60, stale-if-error=600")
            .header("Age", "100")
            .header("Content-Range", "bytes 0-4/20")
            .body("01234"),
        _ => Reply::status(206)
            .cache("max-age=60")
            .header("Content-Range", "bytes 0-4/20")
            .body("012"),
    });
    range(&larder, "bytes=0-4");
    let stale = range(&larder, "bytes=0-4");
    assert_eq!((stale.status, stale.text().as_str()), (206, "01234"));
    assert_eq!(stale.parameter("detail").as_deref(), Some("bad-part"));
    assert_eq!(sample(&larder, "larder_origin_errors_total"), 1);
}

#[test]
fn the_tag_of_a_part_is_not_offered_for_more_than_it_holds() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => ranged(request, CONTENT, "\"a\"").header("Age", "100"),
        _ => ranged(request, CONTENT, "\"a\""),
    });
    range(&larder, "bytes=0-4");
    let whole = larder.get("/").send();
    assert_eq!((whole.status, whole.text().as_str()), (200, CONTENT));
    for asked in &origin.recorded("/")[1..] {
        assert_eq!(
            asked.header("if-none-match"),
            None,
            "9111 section 4.3.2: MUST NOT include its entity tag"
        );
    }
}

/// Parts are combined in the store: what may not go there completes nothing, and is not asked for alone.
#[test]
fn what_may_not_be_stored_is_asked_for_as_the_client_asks() {
    let authorized = ("Authorization", "Basic YTpi");
    let no_store = ("Cache-Control", "no-store");
    for (cache, field, wanted, asked) in [
        (
            "max-age=60",
            authorized,
            Some("bytes=0-9"),
            Some("bytes=0-9"),
        ),
        ("max-age=60", authorized, None, None),
        ("max-age=60", no_store, Some("bytes=0-9"), Some("bytes=0-9")),
        ("max-age=60", no_store, None, None),
        // RFC 9111 section 3.5.
        (
            "public, max-age=60",
            authorized,
            Some("bytes=0-9"),
            Some("bytes=0-4"),
        ),
        ("public, max-age=60", authorized, None, Some("bytes=0-19")),
    ] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            ranged(request, CONTENT, "\"a\"").cache(cache)
        });
        range(&larder, "bytes=5-14");
        let ask = larder.get("/").header(field.0, field.1);
        let ask = wanted
            .into_iter()
            .fold(ask, |ask, range| ask.header("Range", range));
        let answer = ask.send();
        let content = if wanted.is_some() {
            &CONTENT[..10]
        } else {
            CONTENT
        };
        assert_eq!(answer.text(), content, "{cache} {field:?} {wanted:?}");
        assert_eq!(origin.requests("/"), 2, "{cache} {field:?} {wanted:?}");
        assert_eq!(
            origin.last("/").header("range"),
            asked,
            "{cache} {field:?} {wanted:?}"
        );
    }
}
