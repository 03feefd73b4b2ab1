//! Content codings as clients get them: which one, what is left alone, validators, ranges (RFC 9110 sections 8.4, 8.8.3.3,
//! 12.5.3 and 14).

use crate::common::{Said, sample, start, start_with};
use std::io::Read;
use testkit::{Larder, Reply, Response};

/// What browsers send.
pub(crate) const BROWSER: &str = "gzip, deflate, br, zstd";

/// Text that compresses, and differs by `seed`.
pub(crate) fn text(seed: &str, length: usize) -> String {
    let mut all = String::with_capacity(length + 64);
    let mut number = 0u32;
    while all.len() < length {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (one, two) = (number >> 20, number % 97);
        all.push_str("<p>");
        all.push_str(&[seed, &one.to_string(), "and", &two.to_string()].join(" "));
        all.push_str("</p>\n");
    }
    all.truncate(length);
    all
}

/// A page that may be kept for an hour: threads that stand back make forms of it, which takes minutes on a machine that
/// is busy.
pub(crate) fn page(body: &str) -> Reply {
    Reply::ok()
        .cache("max-age=3600")
        .header("Content-Type", "text/html; charset=utf-8")
        .header("ETag", "\"v1\"")
        .body(body)
}

/// The content of an answer without its coding, as the coding's own library reads it.
pub(crate) fn decoded(answer: &Response) -> String {
    String::from_utf8(plain(answer)).expect("text")
}

pub(crate) fn plain(answer: &Response) -> Vec<u8> {
    let mut out = Vec::new();
    let body = &answer.body[..];
    match answer.header("content-encoding") {
        None => return body.to_vec(),
        Some("gzip") => flate2::read::GzDecoder::new(body).read_to_end(&mut out),
        Some("br") => brotli::Decompressor::new(body, 4096).read_to_end(&mut out),
        Some("zstd") => zstd::stream::copy_decode(body, &mut out).map(|()| 0),
        Some(other) => panic!("{other}"),
    }
    .expect("a whole body of this coding");
    out
}

/// Asks as a client that accepts `codings`.
pub(crate) fn get(larder: &Larder, path: &str, codings: &str) -> Response {
    let ask = larder.get(path).header("Accept-Encoding", codings);
    let answer = ask.send();
    assert!(answer.complete, "{path} {codings}");
    answer
}

/// How many forms in `coding` were made at `level`.
pub(crate) fn made(larder: &Larder, coding: &str, level: &str) -> u64 {
    sample(
        larder,
        &format!("larder_codings_made_total{{coding=\"{coding}\",level=\"{level}\"}}"),
    )
}

pub(crate) fn coding(answer: &Response) -> &str {
    answer.header("content-encoding").unwrap_or("identity")
}

/// A site that sets `Vary` for its own reasons knows nothing of what is coded here.
#[test]
fn who_sets_vary_takes_nothing_from_ours() {
    for (edit, vary) in [
        ("set = \"Vary: Origin\"", "Origin, Accept-Encoding"),
        ("remove = \"Vary\"", "Accept-Encoding"),
        ("add = \"Vary: Origin\"", "Accept-Encoding, Origin"),
    ] {
        let (origin, larder) = start_with(&format!(
            "[[origin]]\nservers = \"{{origin}}\"\n[defaults]\nresponse_headers.{edit}\n"
        ));
        origin.reply("/", page(&text("vary", 20_000)));
        for accepted in ["gzip", "identity", "gzip"] {
            let answer = larder.get("/").header("Accept-Encoding", accepted).send();
            assert_eq!(answer.joined("vary"), vary, "{edit} {accepted}");
        }
    }
}

#[test]
fn the_client_gets_what_it_likes_best_of_one_stored_copy() {
    let (origin, larder) = start();
    let body = text("best", 20_000);
    origin.reply("/", page(&body));
    for (accepts, expected) in [
        (BROWSER, "br"),
        ("gzip, zstd", "zstd"),
        ("gzip", "gzip"),
        ("x-gzip", "gzip"),
        ("br;q=0.5, gzip", "gzip"),
        ("br;q=0, zstd;q=0.1", "zstd"),
        ("deflate", "identity"),
        ("identity", "identity"),
        ("gzip;q=0.5, identity", "identity"),
        ("*", "br"),
        ("*;q=0", "identity"),
        ("gzip;q=nonsense", "identity"),
        ("", "identity"),
    ] {
        for round in ["first", "second"] {
            let answer = get(&larder, "/", accepts);
            assert_eq!(coding(&answer), expected, "{accepts}, {round}");
            assert_eq!(decoded(&answer), body, "{accepts}, {round}");
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"), "{accepts}");
        }
    }
    assert_eq!(larder.get("/").send().text(), body, "without the field");
    assert_eq!(origin.requests("/"), 1, "one copy answers all");
    let asked = origin.last("/");
    assert_eq!(asked.header("accept-encoding"), Some("identity"));
}

#[test]
fn a_form_is_smaller_and_a_hit_like_any_other() {
    let (origin, larder) = start();
    let body = text("hit", 20_000);
    origin.reply("/", page(&body));
    larder.get("/").send();
    for coding in ["br", "zstd", "gzip"] {
        get(&larder, "/", coding);
        let answer = get(&larder, "/", coding);
        assert!(answer.hit(), "{}", answer.said());
        assert!(answer.body.len() < body.len() / 4, "{}", answer.body.len());
        let length = answer.body.len().to_string();
        assert_eq!(answer.header("content-length"), Some(&*length));
        let head = larder.ask("HEAD", "/").header("Accept-Encoding", coding);
        let head = head.send();
        assert_eq!(head.header("content-length"), Some(&*length));
        assert_eq!(head.header("etag"), answer.header("etag"));
        assert_eq!(head.header("content-encoding"), Some(coding));
    }
}

#[test]
fn what_is_left_alone() {
    let (origin, larder) = start();
    let body = text("alone", 5000);
    let html = ("Content-Type", "text/html");
    for (number, (status, fields, body)) in [
        (200, &[("Content-Type", "image/png")][..], &*body),
        (200, &[("Content-Type", "application/octet-stream")], &body),
        (200, &[("Content-Type", "font/woff2")], &body),
        (200, &[("Content-Type", "text/event-stream")], &body),
        (200, &[], &body),
        (200, &[html, ("Cache-Control", "no-transform")], &body),
        // Whichever cache is told, and whatever stands beside it.
        (
            200,
            &[html, ("CDN-Cache-Control", "max-age=60, no-transform")],
            &body,
        ),
        (
            200,
            &[html, ("Surrogate-Control", "max-age=60, no-transform")],
            &body,
        ),
        (200, &[html, ("Cache-Control", "x=1 2 no-transform")], &body),
        (
            200,
            &[html, ("Cache-Control", "x=\"y, no-transform")],
            &body,
        ),
        (200, &[html], "tiny"),
        (200, &[html, ("Content-Encoding", "deflate")], &body),
        (301, &[html, ("Location", "/x")], &body),
    ]
    .into_iter()
    .enumerate()
    {
        let path = format!("/{number}");
        let reply = fields.iter().fold(
            Reply::status(status).cache("max-age=60"),
            |reply, (name, value)| reply.header(name, value),
        );
        origin.reply(&path, reply.header("ETag", "\"v1\"").body(body));
        for round in 0..2 {
            let answer = get(&larder, &path, BROWSER);
            assert_eq!(answer.text(), body, "{fields:?}");
            assert_eq!(answer.header("etag"), Some("\"v1\""), "{fields:?}");
            assert_eq!(answer.hit(), round == 1, "{fields:?}");
        }
    }
    let answer = larder
        .get("/0")
        .header("Accept-Encoding", "gzip")
        .header("Cache-Control", "no-transform");
    assert_eq!(coding(&answer.send()), "identity");
    origin.reply("/page", page(&body));
    let answer = || {
        let ask = larder.get("/page").header("Accept-Encoding", "gzip");
        ask.header("Cache-Control", "no-transform").send()
    };
    for _ in 0..2 {
        assert_eq!(coding(&answer()), "identity", "9111 section 5.2.1.6");
    }
}

#[test]
fn errors_and_json_are_coded_and_unsaving_ones_are_not() {
    let (origin, larder) = start();
    let body = text("json", 5000);
    let json = Reply::status(404).cache("max-age=60");
    origin.reply(
        "/json",
        json.header("Content-Type", "application/json").body(&body),
    );
    get(&larder, "/json", "gzip");
    let answer = get(&larder, "/json", "gzip");
    assert_eq!((answer.status, coding(&answer)), (404, "gzip"));
    // What looks random saves nothing: it is tried once.
    let mut number = 7;
    let noise: Vec<u8> = (0..5000)
        .map(|_| crate::common::next(&mut number) as u8)
        .collect();
    origin.reply(
        "/noise",
        Reply::ok()
            .cache("max-age=60")
            .header("Content-Type", "text/plain")
            .body(&noise),
    );
    larder.get("/noise").send();
    for _ in 0..3 {
        let answer = get(&larder, "/noise", "gzip");
        assert_eq!(coding(&answer), "identity");
        assert_eq!(answer.body, noise);
    }
}

/// RFC 9110 section 8.8.3.3.
#[test]
fn strong_validators_are_distinct_and_understood_again() {
    let (origin, larder) = start();
    let body = text("tags", 20_000);
    origin.reply("/", page(&body));
    let mut tags = vec![
        larder
            .get("/")
            .send()
            .header("etag")
            .expect("a tag")
            .to_owned(),
    ];
    assert_eq!(tags, ["\"v1\""]);
    for coding in ["br", "zstd", "gzip"] {
        get(&larder, "/", coding);
        let answer = get(&larder, "/", coding);
        let tag = answer.header("etag").expect("a tag").to_owned();
        assert!(
            tag.starts_with("\"v1-larder-"),
            "strong, and its own: {tag}"
        );
        assert!(!tags.contains(&tag), "{tag}");
        let ask = larder.get("/").header("Accept-Encoding", coding);
        let again = ask.header("If-None-Match", &tag).send();
        assert_eq!((again.status, again.header("etag")), (304, Some(&*tag)));
        assert_eq!(again.header("vary"), Some("Accept-Encoding"));
        // A form that this client does not accept is none of its own.
        let other = larder.get("/").header("Accept-Encoding", "identity");
        assert_eq!(other.header("If-None-Match", &tag).send().status, 200);
        tags.push(tag);
    }
    // A cache below asks with all the tags it has, for a client that accepts one of them.
    let ask = larder.get("/").header("Accept-Encoding", "zstd");
    let answer = ask.header("If-None-Match", tags[1..].join(", ")).send();
    assert_eq!(
        (answer.status, answer.header("etag")),
        (304, Some(&*tags[2]))
    );
    // Bytes of another making are the same content.
    let ask = larder.get("/").header("Accept-Encoding", "br");
    let older = "\"v1-larder-br-0000000000000000\"";
    assert_eq!(ask.header("If-None-Match", older).send().status, 304);
    let ask = larder.get("/").header("Accept-Encoding", "br");
    let gone = "\"v0-larder-br-0000000000000000\"";
    assert_eq!(ask.header("If-None-Match", gone).send().status, 200);
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn a_weak_validator_stays_weak() {
    let (origin, larder) = start();
    let body = text("weak", 20_000);
    origin.reply("/", page(&body).header("X-Which", "weak"));
    let reply = Reply::ok()
        .cache("max-age=60")
        .header("Content-Type", "text/css")
        .header("ETag", "W/\"v1\"");
    origin.reply("/weak", reply.body(&body));
    larder.get("/weak").send();
    let tag = get(&larder, "/weak", "br");
    assert_eq!(tag.header("etag"), Some("W/\"v1-larder-br\""));
    // What is streamed on a miss could not be streamed again in the same bytes.
    let streamed = get(&larder, "/", "br");
    assert_eq!(streamed.header("etag"), Some("W/\"v1-larder-br\""));
    assert_eq!(streamed.header("accept-ranges"), None);
    let ask = larder.get("/").header("Accept-Encoding", "br");
    let again = ask.header("If-None-Match", "W/\"v1-larder-br\"").send();
    assert_eq!(again.status, 304);
}

/// Whoever changes a page says which one it means: the origin hears its own tag.
#[test]
fn conditions_reach_the_origin_in_its_own_words() {
    let (origin, larder) = start();
    let body = text("put", 20_000);
    origin.reply("/", page(&body));
    larder.get("/").send();
    let tag = get(&larder, "/", "br")
        .header("etag")
        .expect("a tag")
        .to_owned();
    origin.reply("/", Reply::status(204));
    let put = larder.ask("PUT", "/").header("If-Match", &tag).body("new");
    assert_eq!(put.send().status, 204);
    assert_eq!(origin.last("/").header("if-match"), Some("\"v1\""));
}

#[test]
fn ranges_are_of_what_the_client_holds() {
    let (origin, larder) = start();
    let body = text("ranges", 20_000);
    origin.reply(
        "/",
        page(&body).header("Last-Modified", "Sat, 01 Aug 2026 00:00:00 GMT"),
    );
    larder.get("/").send();
    let whole = get(&larder, "/", "br");
    let tag = whole.header("etag").expect("a tag").to_owned();
    let part = |fields: &[(&str, &str)]| {
        let ask = larder.get("/").header("Accept-Encoding", "br");
        let ask = fields
            .iter()
            .fold(ask, |ask, (name, value)| ask.header(name, value));
        ask.header("Range", "bytes=100-199").send()
    };
    // Without a word on what it holds: the content itself.
    let answer = part(&[]);
    assert_eq!((answer.status, coding(&answer)), (206, "identity"));
    assert_eq!(answer.text(), body[100..200]);
    assert_eq!(answer.header("etag"), Some("\"v1\""));
    assert_eq!(answer.header("vary"), Some("Accept-Encoding"));
    // A form that it holds a part of.
    let answer = part(&[("If-Range", &tag)]);
    assert_eq!((answer.status, coding(&answer)), (206, "br"));
    assert_eq!(answer.body, whole.body[100..200]);
    let range = format!("bytes 100-199/{}", whole.body.len());
    assert_eq!(answer.header("content-range"), Some(&*range));
    assert_eq!(answer.header("etag"), Some(&*tag));
    // The content itself.
    let answer = part(&[("If-Range", "\"v1\"")]);
    assert_eq!(
        (answer.status, answer.text()),
        (206, body[100..200].to_owned())
    );
    // A form in other bytes, a streamed one, and a date, which all forms share: the whole.
    for holds in [
        "\"v1-larder-br-0000000000000000\"",
        "W/\"v1-larder-br\"",
        "\"v2\"",
        "Sat, 01 Aug 2026 00:00:00 GMT",
    ] {
        let answer = part(&[("If-Range", holds)]);
        assert_eq!(answer.status, 200, "{holds}");
        assert_eq!(decoded(&answer), body, "{holds}");
    }
    // A client that accepts no coding holds nothing else than the content.
    let ask = larder.get("/").header("Range", "bytes=0-9");
    let dated = ask
        .header("If-Range", "Sat, 01 Aug 2026 00:00:00 GMT")
        .send();
    assert_eq!((dated.status, dated.text()), (206, body[..10].to_owned()));
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn vary_of_the_origin_stays_and_other_variants_have_forms_of_their_own() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let language = request
            .header("accept-language")
            .unwrap_or("none")
            .to_owned();
        let reply = page(&text(&language, 5000));
        reply.header("Vary", "Accept-Language, accept-encoding")
    });
    for _ in 0..3 {
        for language in ["en", "de"] {
            for coding in ["br", "gzip", "identity"] {
                let ask = larder.get("/").header("Accept-Language", language);
                let answer = ask.header("Accept-Encoding", coding).send();
                assert_eq!(decoded(&answer), text(language, 5000));
                assert_eq!(
                    answer.header("vary"),
                    Some("Accept-Language, accept-encoding")
                );
            }
        }
    }
    assert_eq!(origin.requests("/"), 2, "one for each language");
}
