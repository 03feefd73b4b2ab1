//! The client's own conditions, answered from the store (RFC 9110 section 13, RFC 9111 section 4.3.2).

use crate::common::{Said, counted, start, start_with};
use testkit::{Larder, Origin, Reply, Response, date};

/// `/` is stored, with a tag and a date of modification 1000 seconds ago.
fn stored() -> (Origin, Larder) {
    let (origin, larder) = start();
    origin.reply(
        "/",
        Reply::ok()
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .header("Last-Modified", date(-1000))
            .header("Content-Type", "text/plain")
            .header("Content-Location", "/here")
            .header("Expires", date(60))
            .header("Vary", "Accept")
            .body("content"),
    );
    larder.get("/").send();
    (origin, larder)
}

fn ask(larder: &Larder, fields: &[(&str, &str)]) -> Response {
    fields
        .iter()
        .fold(larder.get("/"), |ask, (name, value)| {
            ask.header(name, crate::common::dated(value))
        })
        .send()
}

#[test]
fn conditions_are_judged_against_the_stored_response() {
    let (origin, larder) = stored();
    for (sentence, fields, status) in [
        (
            "9110 13.1.2: a tag that matches",
            &[("If-None-Match", "\"a\"")][..],
            304,
        ),
        (
            "9110 13.1.2: weak comparison",
            &[("If-None-Match", "W/\"a\"")],
            304,
        ),
        (
            "9110 13.1.2: any of a list",
            &[("If-None-Match", "\"b\", W/\"c\" , \"a\"")],
            304,
        ),
        (
            "9110 13.1.2: over several lines",
            &[("If-None-Match", "\"b\""), ("If-None-Match", "\"a\"")],
            304,
        ),
        (
            "9110 13.1.2: a star matches what exists",
            &[("If-None-Match", "*")],
            304,
        ),
        (
            "9110 13.1.2: none that matches",
            &[("If-None-Match", "\"b\"")],
            200,
        ),
        (
            "9110 13.1.2: tags are opaque and case-sensitive",
            &[("If-None-Match", "\"A\"")],
            200,
        ),
        (
            "9110 13.1.2: a comma may be part of a tag",
            &[("If-None-Match", "\"x,\\\"a\\\"\"")],
            200,
        ),
        (
            "9110 13.1.3: not modified since",
            &[("If-Modified-Since", "{-1000}")],
            304,
        ),
        (
            "9110 13.1.3: not modified since",
            &[("If-Modified-Since", "{-10}")],
            304,
        ),
        (
            "9110 13.1.3: modified since",
            &[("If-Modified-Since", "{-2000}")],
            200,
        ),
        (
            "9110 13.1.3: an invalid date is ignored",
            &[("If-Modified-Since", "yesterday")],
            200,
        ),
        (
            "9110 13.1.3: MUST ignore it beside If-None-Match",
            &[("If-None-Match", "\"b\""), ("If-Modified-Since", "{-10}")],
            200,
        ),
        (
            "9110 13.1.3: MUST ignore it beside If-None-Match",
            &[("If-None-Match", "\"a\""), ("If-Modified-Since", "{-2000}")],
            304,
        ),
        (
            "9110 13.1.1: If-Match that holds",
            &[("If-Match", "\"a\"")],
            200,
        ),
        (
            "9110 13.1.1: If-Match with a star",
            &[("If-Match", "*")],
            200,
        ),
        (
            "9110 13.1.4: If-Unmodified-Since that holds",
            &[("If-Unmodified-Since", "{-10}")],
            200,
        ),
        (
            "9110 13.2.2: If-Match first, then If-None-Match",
            &[("If-Match", "\"a\""), ("If-None-Match", "\"a\"")],
            304,
        ),
    ] {
        let answer = ask(&larder, fields);
        assert_eq!(
            answer.status, status,
            "{sentence}: {fields:?}: {:?}",
            answer.head
        );
        assert!(answer.hit(), "{sentence}: {fields:?}: {}", answer.said());
        assert_eq!(
            answer.text(),
            if status == 200 { "content" } else { "" },
            "{sentence}"
        );
    }
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn a_304_carries_what_the_200_would_have_said() {
    let (_origin, larder) = stored();
    let full = larder.get("/").send();
    let answer = ask(&larder, &[("If-None-Match", "\"a\"")]);
    for name in [
        "cache-control",
        "content-location",
        "date",
        "etag",
        "expires",
        "vary",
    ] {
        assert_eq!(
            answer.headers(name),
            full.headers(name),
            "9110 section 15.4.5: MUST generate {name}"
        );
    }
    assert!(
        answer.header("age").is_some(),
        "9111 section 4: Age on every answer from the store"
    );
    assert_eq!(
        answer.header("content-type"),
        None,
        "9110 section 15.4.5: SHOULD NOT send other metadata"
    );
}

#[test]
fn a_condition_for_the_origin_that_fails_is_left_to_it() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.header("if-match") {
        Some("\"a\"") | None => Reply::ok()
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .body("content"),
        Some(_) => Reply::status(412),
    });
    larder.get("/").send();
    assert_eq!(ask(&larder, &[("If-Match", "\"b\"")]).status, 412);
    assert_eq!(
        ask(&larder, &[("If-Match", "W/\"a\"")]).status,
        412,
        "9110 section 13.1.1: strong comparison"
    );
    assert!(
        larder.get("/").send().hit(),
        "the stored response is still there"
    );
}

/// The application judges a tag by the form in which it is asked: the client's own, and not ours.
#[test]
fn a_condition_for_the_origin_goes_there_with_its_clients_codings() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let (tag, body) = match request.header("accept-encoding") {
            Some(codings) if codings.contains("gzip") => ("\"a-gzip\"", "coded"),
            _ => ("\"a\"", "plain"),
        };
        match request.header("if-match") {
            Some(wanted) if wanted != tag => Reply::status(412),
            _ => Reply::ok()
                .cache("max-age=60")
                .header("ETag", tag)
                .body(body),
        }
    });
    let fields = [("Accept-Encoding", "gzip"), ("If-Match", "\"a-gzip\"")];
    let answer = ask(&larder, &fields);
    assert_eq!((answer.status, &*answer.text()), (200, "coded"));
}

#[test]
fn conditions_are_ignored_where_the_answer_is_no_2xx() {
    let (origin, larder) = start();
    origin.reply(
        "/",
        Reply::status(404)
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .body("none"),
    );
    larder.get("/").send();
    let answer = ask(&larder, &[("If-None-Match", "\"a\"")]);
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (404, "none"),
        "9110 section 13.2.1"
    );
    assert!(answer.hit());
}

#[test]
fn without_last_modified_the_date_is_compared() {
    let (origin, larder) = start();
    origin.reply(
        "/",
        Reply::ok()
            .cache("max-age=600")
            .undated()
            .header("Date", date(-100))
            .body("content"),
    );
    larder.get("/").send();
    assert_eq!(
        ask(&larder, &[("If-Modified-Since", "{-50}")]).status,
        304,
        "9111 section 4.3.2"
    );
    assert_eq!(
        ask(&larder, &[("If-Modified-Since", "{-200}")]).status,
        200,
        "9111 section 4.3.2"
    );
}

#[test]
fn a_miss_asks_for_all_of_it_and_then_judges() {
    let (origin, larder) = start();
    let tagged = || {
        Reply::ok()
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .body("content")
    };
    origin.on("/", move |request| {
        if request.header("if-none-match").is_some() {
            Reply::status(304)
        } else {
            tagged()
        }
    });
    let first = ask(&larder, &[("If-None-Match", "\"a\"")]);
    assert_eq!((first.status, first.body.len()), (304, 0));
    assert_eq!(origin.last("/").header("if-none-match"), None);
    let second = larder.get("/").send();
    assert!(
        second.hit(),
        "the full answer was stored: {}",
        second.said()
    );
    assert_eq!(second.text(), "content");
}

#[test]
fn a_head_request_has_conditions_too() {
    let (origin, larder) = stored();
    let answer = larder
        .ask("HEAD", "/")
        .header("If-None-Match", "\"a\"")
        .header("Accept", "")
        .send();
    let same_variant = larder
        .ask("HEAD", "/")
        .header("If-None-Match", "\"a\"")
        .send();
    assert_eq!(same_variant.status, 304);
    assert!(answer.status == 304 && origin.requests("/") <= 2);
}

#[test]
fn a_304_leaves_the_connection_usable() {
    let (_origin, larder) = stored();
    let mut client = larder.client();
    for _ in 0..3 {
        assert_eq!(
            client
                .get("/")
                .header("If-None-Match", "\"a\"")
                .send()
                .status,
            304
        );
        assert_eq!(client.get("/").send().text(), "content");
    }
}

#[test]
fn conditions_that_only_apply_to_an_origin_are_not_evaluated_here() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => Reply::ok()
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .header("Last-Modified", date(-1000))
            .body("old"),
        _ => Reply::ok()
            .cache("max-age=60")
            .header("ETag", "\"b\"")
            .header("Last-Modified", date(-10))
            .body("new"),
    });
    larder.get("/").send();
    for condition in [("If-Match", "\"b\""), ("If-Unmodified-Since", "{-2000}")] {
        let answer = ask(&larder, &[condition]);
        assert_eq!(
            answer.status, 200,
            "9111 section 4.3.2: MUST NOT evaluate it against a stored response: {condition:?}"
        );
    }
}

/// An application that says `private` to each of its users, by their credentials, spares itself what they hold.
#[test]
fn what_is_private_to_credentials_is_confirmed_by_the_application() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let reply = match request.header("if-none-match") {
            Some("\"a\"") => Reply::status(304),
            _ => Reply::ok().body("mine"),
        };
        let reply = reply.header("Cache-Control", "private, must-revalidate");
        reply.header("ETag", "\"a\"")
    });
    let user = ("Authorization", "Bearer a");
    assert_eq!(ask(&larder, &[user]).text(), "mine");
    for _ in 0..2 {
        let held = ask(&larder, &[user, ("If-None-Match", "\"a\"")]);
        assert_eq!(held.status, 304);
    }
    let asked = origin.recorded("/");
    let conditions = asked
        .iter()
        .filter(|one| one.header("if-none-match").is_some());
    assert_eq!((asked.len(), conditions.count()), (3, 2));
}

/// RFC 5861 section 4: a page that meets the condition answers it while the origin fails. One that does not is another
/// version than the client wants, and nothing for it.
#[test]
fn a_stale_page_stands_in_for_those_whose_condition_it_meets() {
    for failing in [Reply::close, || Reply::status(503)] {
        let (origin, larder) = start_with(
            "[[origin]]\nservers = \"{origin}\"\n[defaults]\nbypass = { misses_with = \"session\" }",
        );
        origin.on("/", move |request| match request.nth {
            1 => Reply::ok()
                .cache("max-age=60, stale-if-error=600")
                .header("Age", "100")
                .header("ETag", "\"a\"")
                .header("Last-Modified", date(-1000))
                .body("content"),
            _ => failing(),
        });
        larder.get("/").send();
        let whole = (200, "content".to_owned());
        let part = (206, "con".to_owned());
        for fields in [&[][..], &[("Cookie", "session=1")]] {
            for condition in [
                ("If-Match", "\"a\""),
                ("If-Match", "*"),
                ("If-Unmodified-Since", "{-10}"),
            ] {
                let fields = [fields, &[condition]].concat();
                let answer = ask(&larder, &fields);
                assert_eq!((answer.status, answer.text()), whole, "{fields:?}");
                let answer = ask(&larder, &[&fields[..], &[("Range", "bytes=0-2")]].concat());
                assert_eq!((answer.status, answer.text()), part, "{fields:?}");
            }
            for condition in [("If-Match", "\"b\""), ("If-Unmodified-Since", "{-2000}")] {
                let fields = [fields, &[condition]].concat();
                for range in [&[][..], &[("Range", "bytes=0-2")]] {
                    let answer = ask(&larder, &[&fields, range].concat());
                    assert!(answer.status >= 500, "{fields:?}: {}", answer.said());
                }
            }
        }
    }
}

#[test]
fn what_is_not_stored_is_judged_by_its_status_too() {
    let (origin, larder) = start();
    origin.on("/missing", |_| {
        Reply::status(404)
            .cache("no-store")
            .header("ETag", "\"a\"")
            .body("none")
    });
    origin.on("/broken", |_| {
        Reply::status(500).header("ETag", "\"a\"").body("broken")
    });
    origin.on("/page", |_| {
        Reply::ok()
            .cache("no-store")
            .header("ETag", "\"a\"")
            .body("page")
    });
    for (path, status) in [("/missing", 404), ("/broken", 500)] {
        for _ in 0..2 {
            assert_eq!(
                ask_at(&larder, path, "\"a\"").status,
                status,
                "9110 section 13.2.1: {path}"
            );
        }
    }
    for (tag, status, content) in [
        ("\"a\"", 304, ""),
        ("\"b\"", 200, "page"),
        // The condition goes along from here on. This origin does not heed it; what comes is the current representation
        // all the same.
        ("\"a\"", 304, ""),
    ] {
        let answer = ask_at(&larder, "/page", tag);
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (status, content),
            "{tag}"
        );
    }
}

/// Answers a condition as an origin does that says `directives` with each page.
fn conditional(directives: &'static str) -> impl Fn(&testkit::Request) -> Reply {
    move |request| {
        let user = request.header("x-user").unwrap_or("nobody").to_owned();
        let tag = format!("\"{user}\"");
        let reply = if request.header("if-none-match") == Some(&tag) {
            Reply::status(304)
        } else {
            Reply::ok().header("Last-Modified", date(-1000)).body(user)
        };
        reply.cache(directives).header("ETag", tag)
    }
}

#[test]
fn conditions_go_along_where_nothing_will_be_stored() {
    for (name, value) in [
        ("If-None-Match", "\"nobody\"".to_owned()),
        ("If-Modified-Since", date(-10)),
    ] {
        let (origin, larder) = start();
        origin.on("/", conditional("private, max-age=60"));
        origin.on("/once", conditional("max-age=60"));
        larder.get("/").send();
        let known = larder.get("/").header(name, &value).send();
        assert_eq!(
            origin.last("/").header(name),
            Some(value.as_str()),
            "9110 section 13.2.1: {}",
            known.said()
        );
        assert_eq!((known.status, known.body.len()), (304, 0));
        assert_eq!(known.parameter("fwd").as_deref(), Some("uri-miss"));
        let plain = larder.get("/").send();
        assert_eq!((plain.status, plain.text().as_str()), (200, "nobody"));
        let unstored = larder.get("/once").header(name, &value);
        unstored.header("Cache-Control", "no-store").send();
        assert_eq!(
            origin.last("/once").header(name),
            Some(value.as_str()),
            "9111 section 5.2.1.5: nothing of it will be stored"
        );
    }
}

#[test]
fn what_becomes_storable_is_stored_whoever_has_it_already() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let directives = if request.nth < 3 {
            "private"
        } else {
            "max-age=60"
        };
        conditional(directives)(request)
    });
    larder.get("/").send();
    assert_eq!(ask(&larder, &[("If-None-Match", "\"nobody\"")]).status, 304);
    let other = ask(&larder, &[("If-None-Match", "\"else\"")]);
    assert_eq!((other.status, other.text().as_str()), (200, "nobody"));
    let next = larder.get("/").send();
    assert!(next.hit(), "{}", next.said());
}

#[test]
fn every_line_of_a_condition_goes_along() {
    let (origin, larder) = start();
    origin.on("/", conditional("no-store"));
    larder.get("/").send();
    let tags = [("If-None-Match", "\"a\""), ("If-None-Match", "\"nobody\"")];
    assert_eq!(ask(&larder, &tags).status, 304);
    let asked = origin.last("/").headers("if-none-match").join(", ");
    assert_eq!(asked, "\"a\", \"nobody\"", "9110 section 5.3");
}

#[test]
fn a_304_for_one_user_is_not_anothers() {
    let (origin, larder) = start();
    origin.on("/", conditional("private, max-age=60"));
    larder.get("/").header("X-User", "ann").send();
    for (user, tag, status, content) in [
        ("ann", "\"ann\"", 304, ""),
        ("bob", "\"ann\"", 200, "bob"),
        ("bob", "\"bob\"", 304, ""),
        ("ann", "\"bob\"", 200, "ann"),
    ] {
        let answer = larder.get("/").header("X-User", user);
        let answer = answer.header("If-None-Match", tag).send();
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (status, content),
            "{user} {tag}"
        );
    }
}

#[test]
fn an_error_does_not_keep_conditional_requests_from_filling_the_store() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => Reply::status(503).body("sorry"),
        _ => conditional("max-age=60")(request),
    });
    assert_eq!(larder.get("/").send().status, 503);
    assert_eq!(ask_at(&larder, "/", "\"nobody\"").status, 304);
    let next = larder.get("/").send();
    assert!(next.hit(), "{}", next.said());
    assert_eq!(next.text(), "nobody");
}

#[test]
fn conditions_hold_for_any_2xx() {
    let (origin, larder) = start();
    origin.on("/", |_| {
        Reply::status(203)
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .body("content")
    });
    larder.get("/").send();
    let known = ask(&larder, &[("If-None-Match", "\"a\"")]);
    assert_eq!(known.status, 304, "9110 section 13.2.1");
    assert!(known.hit(), "{}", known.said());
    let other = ask(&larder, &[("If-None-Match", "\"b\"")]);
    assert_eq!((other.status, other.text().as_str()), (203, "content"));
    let ranged = ask(&larder, &[("Range", "bytes=0-1")]);
    assert_eq!(
        (ranged.status, ranged.text().as_str()),
        (203, "content"),
        "9110 section 14.2: in place of a 200 alone"
    );
}

fn ask_at(larder: &Larder, path: &str, tag: &str) -> Response {
    larder.get(path).header("If-None-Match", tag).send()
}

#[test]
fn a_condition_for_the_origin_goes_there_where_nothing_stored_answers() {
    let (origin, larder) = start();
    let judges = |request: &testkit::Request| {
        let holds = request.header("if-match").is_none_or(|tag| tag == "\"a\"")
            && request.header("if-unmodified-since").is_none();
        match (holds, request.nth) {
            (false, _) => Reply::status(412),
            (true, 1) => Reply::ok()
                .cache("max-age=60")
                .header("Age", "70")
                .header("ETag", "\"a\"")
                .body("content"),
            (true, _) => Reply::ok().cache("max-age=60").body("new"),
        }
    };
    origin.on("/missing", judges);
    origin.on("/stale", judges);
    larder.get("/stale").send();
    for (path, why) in [("/missing", "uri-miss"), ("/stale", "stale")] {
        for (name, value) in [
            ("If-Match", "\"b\""),
            ("If-Unmodified-Since", "Sat, 29 Oct 1994 19:43:31 GMT"),
        ] {
            let answer = larder.get(path).header(name, value).send();
            assert_eq!(answer.status, 412, "the origin's own word: {path} {name}");
            assert_eq!(
                origin.last(path).header(name),
                Some(value),
                "9111 section 4.3.2: MUST NOT evaluate: {path}"
            );
            assert_eq!(
                answer.parameter("fwd").as_deref(),
                Some(why),
                "9211 section 2.2: {path}"
            );
        }
    }
}

#[test]
fn a_date_is_not_compared_where_there_is_none() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().cache("no-store").body("content"));
    for seconds in [-1000, 0, 1000] {
        let answer = ask(&larder, &[("If-Modified-Since", &format!("{{{seconds}}}"))]);
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (200, "content"),
            "9110 section 13.1.3: MUST ignore without a modification date: {seconds}"
        );
    }
}

/// RFC 9111 section 4.3.2: `Date` stands in for `Last-Modified` where something is stored, and not where it has just come.
#[test]
fn what_has_just_come_is_not_unmodified_by_its_own_date() {
    let (origin, larder) = start();
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    let ask = || larder.get("/").header("If-Modified-Since", date(5));
    assert_eq!(ask().send().status, 200);
    assert_eq!(ask().send().status, 304, "of what is stored");
}

/// RFC 9110 section 15.4.5: the tag that a 200 would have.
#[test]
fn a_304_has_the_tag_of_the_page() {
    let (origin, larder) = start();
    for (path, tag, other) in [
        ("/weak", "W/\"v\"", "\"v\""),
        ("/strong", "\"v\"", "W/\"v\""),
    ] {
        let page = Reply::ok().cache("max-age=60").header("ETag", tag);
        origin.reply(
            path,
            page.header("Content-Type", "text/html")
                .body("x".repeat(2000)),
        );
        larder.get(path).send();
        for accepted in ["gzip", "identity"] {
            let ask = larder.get(path).header("Accept-Encoding", accepted);
            let answer = ask.header("If-None-Match", other).send();
            assert_eq!(answer.status, 304, "{path} {accepted}");
            assert_eq!(answer.header("etag"), Some(tag), "{path} {accepted}");
        }
    }
}

/// RFC 9110 section 13.1.3: beside a tag a date is ignored. What has a date alone is confirmed by it, whatever tags
/// other variants have.
#[test]
fn what_has_a_date_alone_is_confirmed_beside_variants_with_tags() {
    // What a 304 brings, which need not have any validator (RFC 9110 section 15.4.5).
    for brings in ["", "Last-Modified", "ETag"] {
        confirmed_by_its_date(brings);
    }
}

fn confirmed_by_its_date(brings: &'static str) {
    let (origin, larder) = start();
    let modified = date(-1000);
    origin.on("/", move |request| {
        let base = |reply: Reply| reply.cache("max-age=0").header("Vary", "X-V");
        if request.header("x-v") == Some("tagged") {
            return base(Reply::ok().header("ETag", "\"t\"").body("tagged"));
        }
        let is_confirmed = request.header("if-none-match").is_none()
            && request.header("if-modified-since") == Some(&modified);
        let reply = match (is_confirmed, brings) {
            (true, "ETag") => Reply::status(304).header("ETag", "\"new\""),
            (true, "") => return base(Reply::status(304)),
            (true, _) => Reply::status(304),
            (false, _) => Reply::ok().body("dated"),
        };
        base(reply.header("Last-Modified", &modified))
    });
    let ask = |variant: &str| larder.get("/").header("X-V", variant).send();
    for variant in ["dated", "tagged"] {
        assert_eq!(ask(variant).text(), variant);
    }
    let answer = ask("dated");
    assert_eq!(answer.text(), "dated");
    assert!(answer.says("fwd-status=304"), "{brings}: {}", answer.said());
    assert_eq!(origin.requests("/"), 3, "{brings}");
}

/// RFC 9110 section 13.2.1: a 404 or 410 to a condition is about the resource, and not about the condition.
#[test]
fn a_page_that_is_gone_is_gone_whatever_the_condition_of_who_is_told() {
    for method in ["GET", "HEAD"] {
        for (status, fields, ends) in [
            (404, &[][..], true),
            (410, &[], true),
            (301, &[("Location", "/new")], true),
            (308, &[("Location", "/new")], true),
            (303, &[("Location", "/new")], false),
            (403, &[], false),
            (412, &[], false),
        ] {
            for (cache, age) in [
                ("max-age=600", "0"),
                ("max-age=60, stale-if-error=900", "100"),
            ] {
                let (origin, larder) = start();
                origin.on("/", move |request| match request.nth {
                    1 => counted(request)
                        .cache(cache)
                        .header("Age", age)
                        .header("ETag", "\"a\""),
                    2 => fields
                        .iter()
                        .fold(Reply::status(status), |reply, (name, value)| {
                            reply.header(name, *value)
                        }),
                    _ => Reply::status(503),
                });
                larder.get("/").send();
                let told = larder.ask(method, "/").header("If-Match", "\"b\"").send();
                assert_eq!(told.status, status);
                let next = larder.get("/").send();
                assert_eq!(
                    next.status == 503,
                    ends,
                    "{method} {status} {cache}: {}",
                    next.said()
                );
            }
        }
    }
}

/// What it says to a client with credentials may be about these.
#[test]
fn a_page_that_is_gone_for_a_client_with_credentials_is_there_for_others() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => counted(request)
            .cache("max-age=600")
            .header("ETag", "\"a\""),
        _ => Reply::status(404),
    });
    larder.get("/").send();
    let own = larder.get("/").header("Authorization", "Basic YTpi");
    assert_eq!(own.header("If-Match", "\"b\"").send().status, 404);
    assert!(larder.get("/").send().hit());
}
