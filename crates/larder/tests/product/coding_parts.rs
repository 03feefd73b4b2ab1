//! Parts and conditions where clients hold different codings: what they get continues what they hold, or is whole (RFC
//! 9110 sections 13.1.1, 13.1.5 and 14).

use super::{
    coding::{coding, decoded, get, page, plain, text},
    coding_origin::gzipped,
};
use crate::common::{Said, start};
use testkit::{Larder, Reply, Request, Response};

const MODIFIED: &str = "Sat, 01 Aug 2026 00:00:00 GMT";
const LENGTH: usize = 20_000;

fn ask(larder: &Larder, method: &str, fields: &[(&str, &str)]) -> Response {
    let ask = larder.ask(method, "/");
    let ask = fields
        .iter()
        .fold(ask, |ask, (name, value)| ask.header(name, value));
    let answer = ask.send();
    assert!(answer.complete, "{fields:?}");
    answer
}

/// A page without entity tag, by an origin that knows ranges, on condition of its date too.
fn dated(request: &Request, fields: &[(&str, &str)], content: &[u8]) -> Reply {
    let with = |reply: Reply| {
        let reply = reply.header("Last-Modified", MODIFIED);
        let says_type = fields.iter().any(|(name, _)| *name == "Content-Type");
        let reply = if says_type {
            reply
        } else {
            reply.header("Content-Type", "text/html")
        };
        fields
            .iter()
            .fold(reply, |reply, (name, value)| reply.header(name, value))
    };
    let holds = request
        .header("if-range")
        .is_none_or(|date| date == MODIFIED);
    let range = request
        .header("range")
        .and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
    let Some((first, last)) = range.filter(|_| holds) else {
        return with(Reply::ok()).body(content);
    };
    let end = content.len() - 1;
    let first: usize = first.parse().expect("a number");
    let last = last.parse().unwrap_or(end).min(end);
    with(Reply::status(206))
        .header(
            "Content-Range",
            format!("bytes {first}-{last}/{}", content.len()),
        )
        .body(&content[first..=last])
}

#[test]
fn a_stored_part_never_stands_for_the_whole() {
    let body = text("part", LENGTH);
    let code = gzipped(&body);
    for (own, content, rows) in [
        (
            &[][..],
            body.as_bytes(),
            &[
                &[("If-Range", MODIFIED), ("Accept-Encoding", "gzip")][..],
                &[("Accept-Encoding", "gzip, identity;q=0")],
                &[("If-Range", MODIFIED)],
                &[],
            ][..],
        ),
        (
            &[("Content-Encoding", "gzip")],
            &code,
            &[
                &[("If-Range", MODIFIED), ("Accept-Encoding", "gzip")],
                &[("If-Range", MODIFIED), ("Accept-Encoding", "br")],
                &[("If-Range", MODIFIED)],
                &[("Accept-Encoding", "gzip")],
                &[],
            ],
        ),
    ] {
        for row in rows {
            let (origin, larder) = start();
            let fields = [own, &[("Cache-Control", "max-age=60")]].concat();
            let all = content.to_vec();
            origin.on("/", move |request| dated(request, &fields, &all));
            let fill = [("Accept-Encoding", "gzip"), ("Range", "bytes=0-999")];
            ask(&larder, "GET", &fill);
            for _ in 0..2 {
                let fields = [&[("Range", "bytes=0-99")][..], row].concat();
                let answer = ask(&larder, "GET", &fields);
                match answer.status {
                    206 => assert_eq!(answer.body, content[..100], "{own:?} {row:?}"),
                    _ => assert_eq!(decoded(&answer), body, "{own:?} {row:?}"),
                }
                // Whose body is coded by date alone, or who cannot read it, gets no part of it.
                let may_differ = row.iter().any(|(name, _)| *name == "If-Range")
                    && row.iter().any(|(name, _)| *name == "Accept-Encoding");
                let refuses = !own.is_empty() && row.is_empty();
                if may_differ || refuses {
                    assert_eq!(answer.status, 200, "{own:?} {row:?}");
                }
            }
        }
    }
}

/// All forms have one `Last-Modified`: by a date nobody knows of which one the client holds the rest.
#[test]
fn a_date_says_nothing_of_codings_wherever_the_answer_comes_from() {
    for cache in ["max-age=60", "no-store"] {
        let (origin, larder) = start();
        let body = text("dated", LENGTH);
        let all = body.clone();
        origin.on("/", move |request| {
            dated(request, &[("Cache-Control", cache)], all.as_bytes())
        });
        let part = |accepts: &str| {
            let range = [("Range", "bytes=100-199"), ("If-Range", MODIFIED)];
            ask(
                &larder,
                "GET",
                &[&range[..], &[("Accept-Encoding", accepts)]].concat(),
            )
        };
        for round in ["first", "stored, or not", "purged"] {
            if round == "purged" {
                assert_eq!(larder.ask("PURGE", "/").send().status, 200);
            }
            let answer = part("gzip");
            assert_eq!(answer.status, 200, "{cache}, {round}");
            assert_eq!(decoded(&answer), body, "{cache}, {round}");
        }
        // Who accepts no coding holds nothing else than the content.
        let answer = part("identity");
        assert_eq!((answer.status, answer.text()), (206, body[100..200].into()));
    }
    // What is never coded here can be continued.
    let (origin, larder) = start();
    origin.on("/", |request| {
        let fields = [
            ("Content-Type", "image/png"),
            ("Cache-Control", "max-age=60"),
        ];
        dated(request, &fields, &vec![7; LENGTH])
    });
    for _ in 0..2 {
        let range = [("Range", "bytes=100-199"), ("If-Range", MODIFIED)];
        let fields = [&range[..], &[("Accept-Encoding", "gzip")]].concat();
        assert_eq!(ask(&larder, "GET", &fields).status, 206);
    }
    assert_eq!(origin.requests("/"), 1);
}

/// A cache below must not take a part for one of another coding.
#[test]
fn a_part_says_that_it_depends_on_what_the_client_accepts() {
    for cache in ["max-age=60", "no-store", "no-cache"] {
        let (origin, larder) = start();
        let body = text("vary", LENGTH);
        origin.on("/", move |request| {
            let fields = [("Cache-Control", cache), ("ETag", "\"v1\"")];
            dated(request, &fields, body.as_bytes())
        });
        for accepts in ["gzip", "identity"] {
            let fields = [("Range", "bytes=100-199"), ("Accept-Encoding", accepts)];
            let answer = ask(&larder, "GET", &fields);
            assert_eq!(answer.status, 206, "{cache} {accepts}");
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"), "{cache}");
        }
        let held = [
            ("Accept-Encoding", "gzip"),
            ("If-None-Match", "W/\"v1-larder-gzip\""),
        ];
        let answer = ask(&larder, "GET", &held);
        assert_eq!(answer.status, 304, "{cache}");
        assert_eq!(answer.header("vary"), Some("Accept-Encoding"), "{cache}");
    }
}

/// The condition goes to the origin in its own words, and its answer comes back in the client's.
#[test]
fn a_form_is_confirmed_by_the_origin_where_nothing_is_stored() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let reply = match request.header("if-none-match") {
            Some("W/\"v1\"") => Reply::status(304),
            _ => Reply::ok()
                .header("Content-Type", "text/html")
                .body(text("held", LENGTH)),
        };
        reply.cache("no-store").header("ETag", "\"v1\"")
    });
    larder.get("/").send();
    let held = [
        ("Accept-Encoding", "gzip"),
        ("If-None-Match", "W/\"v1-larder-gzip\""),
    ];
    let answer = ask(&larder, "GET", &held);
    assert_eq!(
        (answer.status, answer.header("etag")),
        (304, Some("W/\"v1-larder-gzip\""))
    );
    assert_eq!(answer.header("vary"), Some("Accept-Encoding"));
    assert_eq!(
        origin.last("/").header("if-none-match"),
        Some("W/\"v1\""),
        "the origin's own word"
    );
}

/// RFC 9110 section 13.1.1: what follows is about the form that is named.
#[test]
fn a_part_on_condition_that_a_form_is_current_is_none_of_another() {
    let (origin, larder) = start();
    let body = text("match", LENGTH);
    let all = body.clone();
    origin.on("/", move |request| {
        let named = request
            .header("if-match")
            .is_none_or(|tags| tags == "\"v1\"");
        if !named {
            return Reply::status(412);
        }
        let cache = ("Cache-Control", "max-age=60");
        dated(request, &[("ETag", "\"v1\""), cache], all.as_bytes())
    });
    larder.get("/").send();
    get(&larder, "/", "br");
    let whole = get(&larder, "/", "br");
    let tag = whole.header("etag").expect("a tag").to_owned();
    let fields = [
        ("Range", "bytes=100-199"),
        ("If-Match", &*tag),
        ("Accept-Encoding", "br"),
    ];
    for round in ["stored", "purged"] {
        let answer = ask(&larder, "GET", &fields);
        match answer.status {
            206 => assert_eq!(answer.body, whole.body[100..200], "{round}"),
            status => assert_eq!((status, decoded(&answer)), (200, body.clone()), "{round}"),
        }
        larder.ask("PURGE", "/").send();
    }
}

#[test]
fn who_refuses_the_origins_coding_gets_no_part_of_it() {
    let (origin, larder) = start();
    let body = text("refused", LENGTH);
    let code = gzipped(&body);
    let all = code.clone();
    origin.on("/", move |request| {
        let fields = [
            ("Content-Encoding", "gzip"),
            ("ETag", "\"v1\""),
            ("Cache-Control", "max-age=60"),
        ];
        dated(request, &fields, &all)
    });
    for round in ["not stored", "stored"] {
        for accepts in ["identity", "gzip;q=0", "br"] {
            let fields = [("Accept-Encoding", accepts), ("Range", "bytes=50-")];
            for condition in [
                &[][..],
                &[("If-Range", "\"v0\"")],
                &[("If-Range", MODIFIED)],
            ] {
                let answer = ask(&larder, "GET", &[&fields[..], condition].concat());
                assert_eq!(answer.status, 200, "{round} {accepts}");
                assert_eq!(coding(&answer), "identity", "{round} {accepts}");
                assert_eq!(answer.text(), body, "{round} {accepts}");
            }
        }
        let fields = [("Accept-Encoding", "gzip"), ("Range", "bytes=50-99")];
        let answer = ask(&larder, "GET", &fields);
        assert_eq!((answer.status, &*answer.body), (206, &code[50..100]));
        larder.get("/").send();
    }
}

#[test]
fn an_empty_body_in_a_coding_is_empty() {
    let (origin, larder) = start();
    for status in [200, 404] {
        let path = format!("/{status}");
        let reply = Reply::status(status)
            .cache("max-age=60")
            .header("Content-Type", "text/html")
            .header("Content-Encoding", "gzip");
        origin.reply(&path, reply.body(""));
        for _ in 0..2 {
            for accepts in ["identity", "gzip"] {
                let answer = get(&larder, &path, accepts);
                assert_eq!((answer.status, answer.text()), (status, String::new()));
            }
        }
    }
}

/// RFC 9110 section 13.1.2: of other methods than GET and HEAD a met condition is no 304.
#[test]
fn only_reading_can_be_answered_with_not_modified() {
    let (origin, larder) = start();
    let body = text("query", LENGTH);
    origin.reply("/", page(&body));
    let query = |fields: &[(&str, &str)]| {
        let ask = larder
            .ask("QUERY", "/")
            .header("Content-Type", "application/sql");
        let ask = fields
            .iter()
            .fold(ask, |ask, (name, value)| ask.header(name, value));
        ask.body("select 1").send()
    };
    for _ in 0..2 {
        for accepts in ["gzip", "identity"] {
            let fields = [("Accept-Encoding", accepts), ("If-None-Match", "\"v1\"")];
            assert_ne!(query(&fields).status, 304, "{accepts}");
        }
    }
}

/// RFC 9110 section 13.2.2: `If-Match` comes first, and whether it holds is the origin's to say.
#[test]
fn a_condition_that_is_met_does_not_hide_one_that_fails() {
    let (origin, larder) = start();
    let body = text("order", LENGTH);
    origin.on("/", move |request| match request.header("if-match") {
        Some("\"v0\"") => Reply::status(412),
        _ => page(&body),
    });
    let fields = [
        ("Accept-Encoding", "gzip"),
        ("If-Match", "\"v0\""),
        ("If-None-Match", "\"v1-larder-gzip-0000000000000000\""),
    ];
    // The origin judges it (RFC 9111 section 4.3.2), on a miss and where something is stored.
    for _ in 0..2 {
        assert_eq!(ask(&larder, "GET", &fields).status, 412);
        get(&larder, "/", "gzip");
    }
}

/// RFC 9111 section 4.3.5: what a HEAD tells of another coding says nothing of the stored one.
#[test]
fn a_head_in_another_coding_throws_nothing_out() {
    let (origin, larder) = start();
    let body = text("head", LENGTH);
    let code = gzipped(&body);
    origin.on("/", move |request| {
        let asks = request.header("accept-encoding").unwrap_or_default();
        if asks.contains("gzip") {
            let reply = Reply::ok()
                .cache("max-age=60")
                .header("Content-Type", "text/html")
                .header("ETag", "W/\"v1\"");
            return reply.header("Content-Encoding", "gzip").body(&code);
        }
        page(&body)
    });
    larder.get("/").send();
    get(&larder, "/", "gzip");
    let tag = get(&larder, "/", "gzip")
        .header("etag")
        .expect("a tag")
        .to_owned();
    let fields = [("Accept-Encoding", "gzip"), ("If-Match", &*tag)];
    ask(&larder, "HEAD", &fields);
    assert!(larder.get("/").send().hit());
}

/// Two lines are one list (RFC 9110 section 5.3): both codings would have to be taken off.
#[test]
fn codings_over_one_another_are_not_taken_off() {
    let (origin, larder) = start();
    let twice = gzipped("not what it was");
    let reply = page("")
        .header("Content-Encoding", "gzip")
        .header("Content-Encoding", "br");
    origin.reply("/", reply.body(&twice));
    let answer = get(&larder, "/", "identity");
    assert_eq!(answer.body, twice);
    assert_eq!(answer.joined("content-encoding"), "gzip, br");
}

#[test]
fn identity_is_no_coding() {
    let (origin, larder) = start();
    let body = text("identity", LENGTH);
    origin.reply("/", page(&body).header("Content-Encoding", "identity"));
    larder.get("/").send();
    let answer = get(&larder, "/", "gzip");
    assert_eq!(
        (coding(&answer), plain(&answer)),
        ("gzip", body.into_bytes())
    );
}

/// What must not be transformed has one form, by the answer's word or the request's, in whatever order fields stand: a
/// part on condition of a date is a part, asked for the first time, from the store, and beside what is missing. It was
/// taken for the whole, and broke off.
#[test]
fn a_dated_part_of_what_is_not_transformed_is_a_part() {
    for (number, asks, says) in [
        (0, "", "max-age=600, no-transform"),
        (1, "no-transform", "max-age=600"),
        (2, "", "no-transform, max-age=600"),
        (3, "no-transform", "max-age=600, no-transform"),
    ] {
        for length in [200, LENGTH] {
            let content = gzipped(&text("dated", length));
            let (origin, larder) = start();
            let sent = content.clone();
            origin.on("/", move |request| {
                let mut fields = [("Content-Encoding", "gzip"), ("Cache-Control", says)];
                if number == 2 {
                    fields.reverse();
                }
                dated(request, &fields, &sent)
            });
            let part = |range: &str, is_dated: bool| {
                let mut fields = vec![("Range", range)];
                if is_dated {
                    fields.push(("If-Range", MODIFIED));
                }
                if !asks.is_empty() {
                    fields.push(("Cache-Control", asks));
                }
                let answer = ask(&larder, "GET", &fields);
                assert_eq!(answer.status, 206, "{number} {range}: {}", answer.said());
                answer.body
            };
            assert_eq!(part("bytes=0-9", true), content[..10], "{number}");
            assert_eq!(part("bytes=10-19", false), content[10..20], "{number}");
            assert_eq!(part("bytes=10-19", true), content[10..20], "{number}");
            assert_eq!(part("bytes=15-29", true), content[15..30], "{number}");
        }
    }
}
