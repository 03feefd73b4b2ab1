//! Ranges from the store and through it (RFC 9110 section 14).

use crate::common::{Said, start};
use testkit::{Gate, Larder, Origin, Reply, Request, Response, date};

pub(crate) const CONTENT: &str = "0123456789abcdefghij";

/// Answers as an origin that knows single ranges and `If-Range`.
pub(crate) fn ranged(request: &Request, content: &str, tag: &str) -> Reply {
    let reply = Reply::ok()
        .cache("max-age=60")
        .header("ETag", tag)
        .header("Accept-Ranges", "bytes");
    let holds = request.header("if-range").is_none_or(|value| value == tag);
    let Some(range) = request
        .header("range")
        .and_then(|range| range.strip_prefix("bytes="))
        .filter(|_| holds)
    else {
        return reply.body(content);
    };
    let (first, last) = range.split_once('-').expect("a range");
    let end = content.len() - 1;
    let (first, last) = match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), last) => (first, last.unwrap_or(end).min(end)),
        (Err(_), Ok(suffix)) => (content.len() - suffix.min(content.len()), end),
        (Err(_), Err(_)) => panic!("not a single range: {range}"),
    };
    if first > end {
        return Reply::status(416).header("Content-Range", format!("bytes */{}", content.len()));
    }
    let part = Reply::status(206).cache("max-age=60").header("ETag", tag);
    part.header(
        "Content-Range",
        format!("bytes {first}-{last}/{}", content.len()),
    )
    .body(&content[first..=last])
}

pub(crate) fn range(larder: &Larder, range: &str) -> Response {
    larder.get("/").header("Range", range).send()
}

/// `/` is stored whole.
fn stored() -> (Origin, Larder) {
    let (origin, larder) = start();
    let modified = date(-1000);
    origin.on("/", move |_| {
        Reply::ok()
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .header("Last-Modified", &modified)
            .body(CONTENT)
    });
    larder.get("/").send();
    (origin, larder)
}

/// `/` has never been asked for; its origin knows ranges.
pub(crate) fn partial() -> (Origin, Larder) {
    let (origin, larder) = start();
    origin.on("/", |request| ranged(request, CONTENT, "\"a\""));
    (origin, larder)
}

#[test]
fn single_ranges_are_cut_from_a_stored_response() {
    let (origin, larder) = stored();
    for (asked, told, content) in [
        ("bytes=0-4", "bytes 0-4/20", "01234"),
        ("bytes=5-5", "bytes 5-5/20", "5"),
        ("bytes=15-", "bytes 15-19/20", "fghij"),
        ("bytes=-3", "bytes 17-19/20", "hij"),
        ("bytes=-100", "bytes 0-19/20", CONTENT),
        ("bytes=0-", "bytes 0-19/20", CONTENT),
        ("bytes=10-1000", "bytes 10-19/20", "abcdefghij"),
        ("Bytes=0-1", "bytes 0-1/20", "01"),
    ] {
        let answer = range(&larder, asked);
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (206, content),
            "9110 section 14.1.2: {asked}"
        );
        assert_eq!(answer.header("content-range"), Some(told), "{asked}");
        assert_eq!(
            answer.header("content-length"),
            Some(content.len().to_string().as_str()),
            "{asked}"
        );
        assert_eq!(
            answer.header("etag"),
            Some("\"a\""),
            "9110 section 15.3.7: MUST generate ETag"
        );
        assert!(
            answer.hit() && answer.header("age").is_some() && answer.header("date").is_some(),
            "{asked}"
        );
    }
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn ranges_that_cannot_be_satisfied_and_those_that_are_none() {
    let (origin, larder) = stored();
    for asked in ["bytes=20-", "bytes=100-200", "bytes=-0"] {
        let answer = range(&larder, asked);
        assert_eq!(answer.status, 416, "9110 section 14.1.2: {asked}");
        assert_eq!(
            answer.header("content-range"),
            Some("bytes */20"),
            "9110 section 15.5.17: {asked}"
        );
    }
    for asked in [
        "bytes=5-2",
        "bytes=a-b",
        "bytes=",
        "bytes",
        "lines=0-1",
        "bytes=1",
        "bytes=1-2-3",
        "bytes 0-1",
    ] {
        let answer = range(&larder, asked);
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (200, CONTENT),
            "9110 section 14.2: ignored: {asked}"
        );
    }
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn several_ranges_come_in_parts() {
    let (_origin, larder) = stored();
    let answer = range(&larder, "bytes=0-1, 10-12");
    assert_eq!(answer.status, 206);
    let kind = answer.header("content-type").expect("a type");
    let boundary = kind
        .strip_prefix("multipart/byteranges; boundary=")
        .unwrap_or_else(|| panic!("9110 section 14.6: {kind}"));
    assert_eq!(
        answer.header("content-range"),
        None,
        "9110 section 15.3.7.2: MUST NOT, besides the parts'"
    );
    let text = answer.text();
    let parts: Vec<&str> = text
        .split(&format!("--{}", boundary.trim_matches('"')))
        .collect();
    assert_eq!(parts.len(), 4, "{text}");
    for (part, told, content) in [
        (parts[1], "bytes 0-1/20", "01"),
        (parts[2], "bytes 10-12/20", "abc"),
    ] {
        let (fields, body) = part.split_once("\r\n\r\n").expect("fields and content");
        assert!(
            fields
                .to_ascii_lowercase()
                .contains(&format!("content-range: {told}")),
            "{part}"
        );
        assert_eq!(body.strip_suffix("\r\n"), Some(content));
    }
    assert_eq!(parts[3].trim_end(), "--");
    assert_eq!(
        answer.header("content-length"),
        Some(text.len().to_string().as_str())
    );
}

#[test]
fn of_several_ranges_those_that_can_be_satisfied_are_sent() {
    let (_origin, larder) = stored();
    let one = range(&larder, "bytes=0-1, 50-60");
    assert_eq!(
        one.status, 206,
        "9110 section 14.1.2: satisfiable if at least one range is"
    );
    assert!(one.text().contains("01") && !one.text().contains("0123"));
    assert_eq!(range(&larder, "bytes=30-40, 50-60").status, 416);
}

#[test]
fn many_small_or_overlapping_ranges_cost_no_more_than_the_whole() {
    let (_origin, larder) = stored();
    let many: Vec<String> = (0..500).map(|_| "0-".to_owned()).collect();
    let answer = range(&larder, &format!("bytes={}", many.join(",")));
    assert!(
        matches!(answer.status, 200 | 206 | 416),
        "{}",
        answer.status
    );
    assert!(
        answer.body.len() <= 1000,
        "9110 section 17.15: {} bytes for {} stored",
        answer.body.len(),
        CONTENT.len()
    );
}

#[test]
fn if_range_decides_whether_the_range_counts() {
    let (_origin, larder) = stored();
    let modified = larder
        .get("/")
        .send()
        .header("last-modified")
        .expect("a date")
        .to_owned();
    for (sentence, condition, status) in [
        ("the same strong tag", "\"a\"", 206),
        ("another tag", "\"b\"", 200),
        ("MUST NOT be a weak tag", "W/\"a\"", 200),
        ("the exact date", modified.as_str(), 206),
        ("a later date is not exact", &date(-500), 200),
        ("garbage", "garbage", 200),
    ] {
        let answer = larder
            .get("/")
            .header("Range", "bytes=0-1")
            .header("If-Range", condition)
            .send();
        assert_eq!(answer.status, status, "9110 section 13.1.5: {sentence}");
        assert!(answer.hit());
    }
}

#[test]
fn a_condition_goes_before_the_range() {
    let (_origin, larder) = stored();
    let answer = larder
        .get("/")
        .header("Range", "bytes=0-1")
        .header("If-None-Match", "\"a\"")
        .send();
    assert_eq!(answer.status, 304, "9110 section 13.2.2");
}

#[test]
fn range_means_nothing_to_head_and_to_other_statuses() {
    let (origin, larder) = stored();
    let head = larder.ask("HEAD", "/").header("Range", "bytes=0-1").send();
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("20")),
        "9110 section 14.2: MUST ignore"
    );
    origin.reply(
        "/missing",
        Reply::status(404).cache("max-age=60").body("nothing here"),
    );
    larder.get("/missing").send();
    let missing = larder.get("/missing").header("Range", "bytes=0-1").send();
    assert_eq!(
        (missing.status, missing.text().as_str()),
        (404, "nothing here"),
        "9110 section 14.2"
    );
}

#[test]
fn an_origin_that_ignores_ranges_gives_the_whole_to_the_store() {
    let (origin, larder) = start();
    origin.reply(
        "/",
        Reply::ok()
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .body(CONTENT),
    );
    let first = range(&larder, "bytes=0-4");
    assert!(
        (first.status == 206 && first.text() == "01234")
            || (first.status == 200 && first.text() == CONTENT),
        "{:?}",
        first.head
    );
    let whole = larder.get("/").send();
    assert!(whole.hit() && whole.text() == CONTENT);
    assert_eq!(range(&larder, "bytes=0-4").text(), "01234");
}

#[test]
fn a_416_of_the_origin_is_passed_on() {
    let (_origin, larder) = partial();
    let answer = range(&larder, "bytes=50-60");
    assert_eq!(
        (answer.status, answer.header("content-range")),
        (416, Some("bytes */20"))
    );
    let whole = larder.get("/").send();
    assert_eq!(
        (whole.status, whole.text().as_str()),
        (200, CONTENT),
        "it does not stand in for the whole"
    );
}

#[test]
fn a_range_within_a_large_stored_response_is_exact() {
    let (origin, larder) = start();
    let body: Vec<u8> = (0..500_000_u32).map(|n| (n % 253) as u8).collect();
    origin.reply("/", Reply::ok().cache("max-age=60").chunked().body(&body));
    larder.get("/").send();
    for (first, last) in [
        (0, 0),
        (65_535, 65_536),
        (100_000, 299_999),
        (499_999, 499_999),
    ] {
        let answer = range(&larder, &format!("bytes={first}-{last}"));
        assert!(
            answer.status == 206 && answer.hit() && answer.body == body[first..=last],
            "{first}-{last}"
        );
    }
}

/// RFC 9110 section 14.4: a part names its last byte and should name the complete length. Until that is known, the
/// whole is sent (section 14.2), as it comes.
#[test]
fn a_range_of_a_body_of_unknown_length_is_a_part_once_the_body_has_come() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let reply = Reply::ok().cache("max-age=60").chunked();
    let (here, rest) = CONTENT.split_at(15);
    origin.reply("/", reply.body(here).hold(&gate).body(rest));
    let mut first = larder.get("/").begin();
    let mut begun = first.read_head();
    let ranges = [
        ("bytes=0-9", &CONTENT[..10]),
        ("bytes=5-", &CONTENT[5..]),
        ("bytes=-5", rest),
    ];
    let mut following = ranges.map(|(asked, _)| {
        let mut client = larder.get("/").header("Range", asked).begin();
        let mut answer = client.read_head();
        assert_eq!((answer.status, answer.hit()), (200, true), "{asked}");
        assert_eq!(answer.header("content-range"), None, "{asked}");
        client.read_body_exactly(&mut answer, here.len());
        (client, answer)
    });
    gate.open();
    for (client, answer) in &mut following {
        client.read_content(answer);
        assert_eq!(answer.text(), CONTENT);
    }
    first.read_content(&mut begun);
    for (asked, part) in ranges {
        let answer = range(&larder, asked);
        assert_eq!((answer.status, answer.text().as_str()), (206, part));
    }
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn several_ranges_on_a_miss_are_answered_all_the_same() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.header("range") {
        Some(range) if range.contains(',') => {
            let reply = Reply::status(206).cache("max-age=60").header("Content-Type", "multipart/byteranges; boundary=x");
            reply.body("--x\r\nContent-Range: bytes 0-0/20\r\n\r\n0\r\n--x\r\nContent-Range: bytes 2-2/20\r\n\r\n2\r\n--x--\r\n")
        }
        _ => ranged(request, CONTENT, "\"a\""),
    });
    let answer = range(&larder, "bytes=0-0,2-2");
    assert!(
        answer.status == 206 || answer.text() == CONTENT,
        "{:?}",
        answer.head
    );
    let whole = larder.get("/").send();
    assert_eq!(
        (whole.status, whole.text().as_str()),
        (200, CONTENT),
        "several parts at once do not stand in for the whole"
    );
}

/// Interfaces to lists have units of their own. What was stored for all would not need the application's answer.
#[test]
fn ranges_of_all_kinds_reach_an_application_whose_answers_are_not_stored() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.header("range") {
        Some(range) => Reply::status(206)
            .cache("no-store")
            .header("Content-Range", "items 0-1/9")
            .body(range),
        None => Reply::ok().cache("no-store").body("all of it"),
    });
    origin.reply("/stored", Reply::ok().cache("max-age=60").body("whole"));
    assert_eq!(larder.get("/").send().text(), "all of it");
    for asked in ["items=0-1", "0-1", "bytes=0-1,4-5", "bytes=0-1"] {
        for _ in 0..2 {
            let answer = larder.get("/").header("Range", asked).send();
            assert_eq!((answer.status, answer.text().as_str()), (206, asked));
        }
    }
    let head = larder.ask("HEAD", "/").header("Range", "items=0-1").send();
    assert_eq!(head.status, 200, "it means nothing to HEAD");
    assert_eq!(
        larder.get("/").send().text(),
        "all of it",
        "it is another's"
    );
    for _ in 0..2 {
        let answer = larder.get("/stored").header("Range", "items=0-1").send();
        assert_eq!((answer.status, answer.text().as_str()), (200, "whole"));
    }
    assert_eq!(origin.requests("/stored"), 1);
}

#[test]
fn a_range_of_something_not_storable_passes_through() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.header("range") {
        Some("bytes=2-3") => Reply::status(206)
            .cache("no-store")
            .header("Content-Range", "bytes 2-3/10")
            .body("cd"),
        _ => Reply::ok().cache("no-store").body("abcdefghij"),
    });
    for _ in 0..3 {
        let part = range(&larder, "bytes=2-3");
        assert_eq!(
            (
                part.status,
                part.text().as_str(),
                part.header("content-range")
            ),
            (206, "cd", Some("bytes 2-3/10"))
        );
        assert_eq!(larder.get("/").send().text(), "abcdefghij");
    }
}

#[test]
fn a_range_that_follows_a_fill_is_exact() {
    let (origin, larder) = start();
    let gate = testkit::Gate::new();
    let reply = Reply::ok()
        .cache("max-age=60")
        .header("ETag", "\"a\"")
        .length(20);
    origin.reply(
        "/",
        reply.body(&CONTENT[..10]).hold(&gate).body(&CONTENT[10..]),
    );
    let mut leader = larder.get("/").begin();
    gate.wait_reached();
    let mut early = larder.get("/").header("Range", "bytes=2-4").begin();
    let mut late = larder.get("/").header("Range", "bytes=8-12").begin();
    assert_eq!(
        early.read().text(),
        "234",
        "what is there already is sent at once"
    );
    gate.open();
    assert_eq!(late.read().text(), "89abc");
    assert_eq!(leader.read().text(), CONTENT);
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn if_range_is_heeded_on_a_miss_too() {
    for (condition, status, content) in [
        ("\"a\"", 206, "56789"),
        ("\"old\"", 200, CONTENT),
        ("W/\"a\"", 200, CONTENT),
    ] {
        for directives in ["max-age=60", "no-store"] {
            let (origin, larder) = start();
            origin.on("/", move |request| {
                let reply = ranged(request, CONTENT, "\"a\"");
                if directives == "no-store" {
                    reply.cache("no-store")
                } else {
                    reply
                }
            });
            for _ in 0..2 {
                let answer = larder
                    .get("/")
                    .header("Range", "bytes=5-9")
                    .header("If-Range", condition)
                    .send();
                assert_eq!(
                    (answer.status, answer.text().as_str()),
                    (status, content),
                    "9110 section 13.1.5: {condition} {directives}"
                );
            }
        }
    }
}

#[test]
fn a_range_of_something_stale_comes_from_what_is_valid() {
    for (changed, content) in [(false, "56789"), (true, "FGHIJ")] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            match (request.header("if-none-match"), changed) {
                (None, _) => Reply::ok()
                    .cache("max-age=60")
                    .header("Age", "100")
                    .header("ETag", "\"a\"")
                    .body(CONTENT),
                (Some(_), false) => Reply::status(304)
                    .cache("max-age=60")
                    .header("ETag", "\"a\""),
                (Some(_), true) => Reply::ok()
                    .cache("max-age=60")
                    .header("ETag", "\"b\"")
                    .body("ABCDEFGHIJKLMNOPQRST"),
            }
        });
        larder.get("/").send();
        for _ in 0..2 {
            let answer = range(&larder, "bytes=5-9");
            assert_eq!((answer.status, answer.text().as_str()), (206, content));
            assert_eq!(answer.header("content-range"), Some("bytes 5-9/20"));
        }
        assert_eq!(origin.requests("/"), 2);
    }
}

/// RFC 9111 section 3: who stores it finds neither a lifetime nor validators there, which are the page's. RFC 9530
/// section 2: a digest is of what is sent.
#[test]
fn a_part_and_its_refusal_say_nothing_that_holds_for_the_whole_alone() {
    let (origin, larder) = start();
    let page = Reply::ok().cache("max-age=60, public").body(CONTENT);
    let said = [
        ("ETag", "\"a\""),
        ("Expires", "Thu, 01 Jan 2037 00:00:00 GMT"),
        ("Link", "</a.css>; rel=preload"),
        ("CDN-Cache-Control", "max-age=60"),
        ("X-Accel-Expires", "60"),
        ("Netlify-CDN-Cache-Control", "max-age=60"),
    ];
    let page = said
        .iter()
        .fold(page, |page, (name, value)| page.header(name, value));
    let digests = [
        ("Content-Digest", "sha-256=:AAAA:"),
        ("Content-MD5", "AAAA"),
    ];
    // RFC 9530 section 3: they are of the page, whatever part of it is sent.
    let of_whole = [("Repr-Digest", "sha-256=:AAAA:"), ("Digest", "md5=AAAA")];
    let page = digests
        .iter()
        .chain(&of_whole)
        .fold(page, |page, (name, value)| page.header(name, value));
    origin.reply("/", page.header("Last-Modified", date(-100)));
    larder.get("/").send();
    for asked in ["bytes=0-1", "bytes=0-1, 4-5", "bytes=90-"] {
        let answer = range(&larder, asked);
        assert!(answer.hit(), "{asked}: {}", answer.said());
        for (name, _) in digests {
            assert_eq!(answer.header(name), None, "{asked} {name}");
        }
        let is_part = answer.status == 206;
        for (name, value) in of_whole {
            let expected = is_part.then_some(value);
            assert_eq!(answer.header(name), expected, "{asked} {name}");
        }
        assert_eq!(is_part, asked != "bytes=90-", "{}", answer.status);
        for (name, _) in said
            .iter()
            .chain(&[("Cache-Control", ""), ("Last-Modified", "")])
        {
            let is_there = answer.header(name).is_some();
            assert!(is_part || !is_there, "{asked} {name}");
        }
    }
    // RFC 9110 section 15.4.5.
    let answer = larder.get("/").header("If-None-Match", "\"a\"").send();
    assert_eq!(answer.status, 304);
    for (name, _) in digests.iter().chain(&of_whole) {
        assert_eq!(answer.header(name), None, "304 {name}");
    }
}

/// Of two versions with one date, a 304 confirms both: its own date and tag say nothing of the content that is held.
#[test]
fn what_came_too_soon_after_its_change_is_not_known_better_once_it_is_confirmed() {
    for (ago, tag, status) in [
        (-610, None, 200),
        (-610, Some("\"a\""), 200),
        (-1000, None, 206),
        (-1000, Some("\"a\""), 206),
    ] {
        let (origin, larder) = start();
        let modified = date(ago);
        let told = modified.clone();
        origin.on("/", move |request| {
            let reply = match request.nth {
                1 => Reply::ok().header("Date", date(-600)).body("0123456789"),
                _ => Reply::status(304),
            };
            let reply = reply.cache("max-age=60").header("Last-Modified", &told);
            match tag.filter(|_| request.nth > 1) {
                Some(tag) => reply.header("ETag", tag),
                None => reply,
            }
        });
        for _ in 0..2 {
            assert_eq!(larder.get("/").send().text(), "0123456789");
        }
        let asked = || larder.get("/").header("Range", "bytes=0-1");
        let part = asked().send();
        assert!(part.hit() && part.status == 206, "{}", part.said());
        let part = asked().header("If-Range", tag.unwrap_or(&modified)).send();
        assert!(part.hit(), "{}", part.said());
        assert_eq!(part.status, status, "{ago} {tag:?}");
        assert_eq!(origin.requests("/"), 2);
    }
}

/// A file that is written twice within a second has one date for both versions, and the clock of whoever dates it may be
/// another than that of whoever sends it.
#[test]
fn parts_of_two_versions_with_one_date_are_not_put_together() {
    for (ago, is_dated, is_mixed) in [(-5, false, false), (-5, true, false), (-100, true, true)] {
        let (origin, larder) = start();
        let modified = date(ago);
        origin.on("/", move |request| {
            let content = request.nth.min(2).to_string().repeat(20);
            let reply = match request.header("range") {
                Some("bytes=0-9") => Reply::status(206).header("Content-Range", "bytes 0-9/20"),
                Some(_) => Reply::status(206).header("Content-Range", "bytes 10-19/20"),
                None => Reply::ok().body(&content[..10]),
            };
            let reply = reply.cache("max-age=60").header("Last-Modified", &modified);
            let reply = reply.body(&content[..10]);
            if is_dated { reply } else { reply.undated() }
        });
        for range in ["bytes=0-9", "bytes=10-19"] {
            larder.get("/").header("Range", range).send();
        }
        let whole = larder.get("/").send().text();
        // What has not changed for long has not changed twice.
        let mixed = whole == "11111111112222222222";
        assert_eq!(mixed, is_mixed, "{ago} {is_dated}: {whole}");
        assert_eq!(whole.len(), 20);
    }
}
