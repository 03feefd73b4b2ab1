//! Origins that code by themselves, what they are asked for, what routes say of compression, and what is counted.

use super::coding::{BROWSER, coding, decoded, get, made, page, text};
use crate::common::{Said, sample, start, start_with};
use std::io::Read;
use testkit::{Reply, wait_until};

pub(crate) fn gzipped(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    flate2::read::GzEncoder::new(text.as_bytes(), flate2::Compression::best())
        .read_to_end(&mut out)
        .expect("memory");
    out
}

/// As nginx's `gunzip` and Varnish do it.
#[test]
fn the_origins_own_coding_is_kept_and_decoded_for_who_cannot_read_it() {
    let (origin, larder) = start();
    let body = text("own", 20_000);
    let code = gzipped(&body);
    let reply = page("").header("Content-Encoding", "gzip").body(&code);
    origin.reply("/", reply);
    for round in 0..2 {
        for accepts in [
            BROWSER,
            "gzip",
            "gzip;q=0.1, br",
            "gzip, *;q=0",
            "gzip, identity;q=0",
        ] {
            let answer = get(&larder, "/", accepts);
            assert_eq!(coding(&answer), "gzip", "{accepts}");
            assert_eq!(answer.body, code, "not redone: {accepts}");
            assert_eq!(answer.header("etag"), Some("\"v1\""));
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"), "{round}");
        }
        for accepts in [
            "br",
            "identity",
            "gzip;q=0",
            "",
            // RFC 9110 section 12.5.3: who accepts neither gets what everybody can read.
            "br, *;q=0",
            "identity;q=0, br",
            "br, gzip;q=0, identity;q=0",
            "*;q=0",
        ] {
            let answer = get(&larder, "/", accepts);
            assert_eq!(coding(&answer), "identity", "{accepts}");
            assert_eq!(answer.text(), body, "{accepts}");
            assert_eq!(answer.header("etag"), Some("W/\"v1-larder-identity\""));
        }
    }
    let answer = larder.get("/").send();
    assert_eq!((coding(&answer), answer.text()), ("identity", body.clone()));
    let ask = larder
        .get("/")
        .header("If-None-Match", "W/\"v1-larder-identity\"");
    assert_eq!(ask.send().status, 304);
    assert_eq!(origin.requests("/"), 1);
    // A file that is gzip is not taken apart.
    let file = Reply::ok()
        .cache("max-age=60")
        .header("Content-Type", "application/gzip")
        .header("Content-Encoding", "gzip");
    origin.reply("/file", file.body(&code));
    for _ in 0..2 {
        assert_eq!(larder.get("/file").send().body, code);
    }
}

/// Also the client whose request brings the answer.
#[test]
fn who_refuses_the_origins_coding_gets_it_removed_on_a_miss() {
    let (origin, larder) = start();
    let body = text("miss", 5000);
    let code = gzipped(&body);
    origin.otherwise(move |_| page("").header("Content-Encoding", "gzip").body(&code));
    for (path, accepts) in [
        ("/1", "br, *;q=0"),
        ("/2", "identity;q=0, br"),
        ("/3", "*;q=0"),
    ] {
        let answer = get(&larder, path, accepts);
        assert_eq!((coding(&answer), answer.text()), ("identity", body.clone()));
        assert!(!answer.hit(), "{accepts}");
    }
}

/// RFC 9110 section 12.5.5: however short it is in its coding, a cache behind us is told that others get something else.
#[test]
fn a_short_answer_in_the_origins_coding_varies_for_everybody() {
    let (origin, larder) = start();
    let body = "short ".repeat(40);
    let reply = page("").header("Content-Encoding", "gzip");
    origin.reply("/", reply.body(gzipped(&body)));
    for _ in 0..2 {
        for (accepts, expected) in [("gzip", "gzip"), ("identity", "identity")] {
            let answer = get(&larder, "/", accepts);
            assert_eq!(coding(&answer), expected);
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"), "{accepts}");
        }
    }
}

#[test]
fn a_damaged_coding_of_the_origin_is_not_passed_off_as_whole() {
    let (origin, larder) = start();
    let mut code = gzipped(&text("damaged", 20_000));
    code.truncate(code.len() / 2);
    origin.reply("/", page("").header("Content-Encoding", "gzip").body(&code));
    let answer = get(&larder, "/", "gzip");
    assert_eq!(answer.body, code, "as it came");
    let mut client = larder
        .get("/")
        .header("Accept-Encoding", "identity")
        .begin();
    if let Some(mut answer) = client.try_read_head() {
        client.read_content(&mut answer);
        assert!(!answer.complete, "it breaks off where it cannot be read");
    }
}

#[test]
fn a_route_says_what_is_compressed() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n\
         [defaults]\ncompress = [\"gzip\", \"br\"]\ncompress_min_size = \"100B\"\n\
         [[route]]\npath = \"/raw/*\"\ncompress = false\n\
         [[route]]\npath = \"/feed/*\"\ncompress = \"zstd\"\ncompress_types = \"application/x-feed\"\n",
    );
    let body = text("route", 5000);
    origin.otherwise(move |request| {
        let kind = if request.target.contains("feed/x") {
            "application/x-feed"
        } else {
            "text/html"
        };
        let length = if request.target.contains("small") {
            150
        } else {
            5000
        };
        let reply = Reply::ok().cache("max-age=60").header("Content-Type", kind);
        reply.body(&body[..length])
    });
    for (path, expected) in [
        ("/page", "gzip"),
        ("/small", "gzip"),
        ("/raw/page", "identity"),
        ("/feed/x", "zstd"),
        ("/feed/page", "identity"),
    ] {
        larder.get(path).send();
        let answer = get(&larder, path, BROWSER);
        assert_eq!(coding(&answer), expected, "{path}");
    }
    assert_eq!(
        get(&larder, "/page", "zstd").header("content-encoding"),
        None
    );
    get(&larder, "/raw/other", BROWSER);
    assert_eq!(
        origin.last("/raw/other").header("accept-encoding"),
        Some(BROWSER)
    );
}

#[test]
fn metrics_tell_what_was_made() {
    let (origin, larder) = start();
    let body = text("metrics", 20_000);
    origin.reply("/", page(&body));
    larder.get("/").send();
    for _ in 0..3 {
        get(&larder, "/", "gzip");
    }
    assert_eq!(made(&larder, "gzip", "fast"), 1);
    assert_eq!(made(&larder, "br", "fast"), 0);
    let taken = sample(&larder, "larder_codings_in_bytes_total{coding=\"gzip\"}");
    let given = sample(&larder, "larder_codings_out_bytes_total{coding=\"gzip\"}");
    assert_eq!(taken, 20_000);
    assert!(given > 0 && given < taken);
    wait_until("time was counted", || {
        larder
            .admin_get("/metrics")
            .send()
            .text()
            .contains("larder_codings_seconds_total{coding=\"gzip\"} 0.")
    });
}

/// An origin that varies by itself and is never asked for a coding is asked once.
#[test]
fn an_origin_that_codes_when_asked_is_not_asked() {
    let (origin, larder) = start();
    let body = text("asked", 5000);
    let page_body = body.clone();
    origin.on("/", move |request| {
        let reply = page(&page_body).header("Vary", "Accept-Encoding");
        assert_eq!(request.header("accept-encoding"), Some("identity"));
        reply
    });
    for accepts in [BROWSER, "gzip", "identity", "br;q=0.3", "gzip, br"] {
        assert_eq!(decoded(&get(&larder, "/", accepts)), body);
    }
    assert_eq!(origin.requests("/"), 1);
}

/// An origin is asked in the client's own words where its answer is hardly kept; what is kept all the same, and cannot
/// be decoded here, is a variant.
#[test]
fn a_coding_that_cannot_be_taken_off_is_for_who_accepts_it() {
    for (kind, coded, control) in [
        ("application/pdf", "br", "public, max-age=60"),
        ("text/html", "br", "public, max-age=60, no-transform"),
        ("text/html", "deflate", "public, max-age=60"),
    ] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            let asks = request.header("accept-encoding").unwrap_or_default();
            let reply = Reply::ok()
                .cache(control)
                .header("Content-Type", kind)
                .header("Vary", "Accept-Encoding");
            if asks.contains(coded) {
                let reply = reply.header("Content-Encoding", coded);
                return reply.body("bytes in a coding");
            }
            reply.body("as it is")
        });
        let ask = larder.get("/").header("Authorization", "Basic YTpi");
        let first = ask.header("Accept-Encoding", coded).send();
        assert_eq!(coding(&first), coded, "{kind} {control}");
        for accepts in ["identity", "gzip"] {
            let answer = get(&larder, "/", accepts);
            assert_eq!(coding(&answer), "identity", "{kind} {coded} {accepts}");
            assert_eq!(answer.text(), "as it is", "{kind} {coded} {accepts}");
        }
    }
}

/// RFC 9111 section 4.1: spellings of `Accept-Encoding` that mean the same select the same. Of a type that is not coded
/// here, nothing is taken off.
#[test]
fn what_is_coded_unasked_and_stays_so_is_kept_once_for_what_means_the_same() {
    for (accepts, same) in [
        (
            "gzip, br",
            &["br,gzip", "GZip;q=1.0, br", "x-gzip, br, gzip"][..],
        ),
        (
            "gzip, *;q=0",
            &["gzip, identity;q=0", "*;q=0, identity;q=0, gzip"],
        ),
        (
            "gzip, identity;q=0.5",
            &["gzip;q=1.0, identity; q=0.5, *;q=0"],
        ),
    ] {
        let (origin, larder) = start();
        let reply = Reply::ok()
            .cache("max-age=60")
            .header("Content-Type", "image/png")
            .header("Content-Encoding", "gzip")
            .header("Vary", "Accept-Encoding");
        origin.reply("/", reply.body(gzipped(&text("image", 5000))));
        get(&larder, "/", accepts);
        for accepts in same {
            assert!(get(&larder, "/", accepts).hit(), "{accepts}");
        }
        assert_eq!(origin.requests("/"), 1);
    }
}

/// `WhiteNoise` gives a file and its gzip one strong tag. A 304 then confirms bytes that the client may not be able to
/// read.
#[test]
fn one_tag_for_all_codings_brings_nobody_a_coding_that_it_cannot_read() {
    let config = "[[origin]]\nservers = \"{origin}\"\n[defaults]\ncompress = false\n";
    let (origin, larder) = start_with(config);
    let body = text("own", 2_000);
    let code = gzipped(&body);
    let (plain, coded) = (body.clone(), code.clone());
    origin.on("/", move |request| {
        let accepted = request.header("accept-encoding").unwrap_or_default();
        let reply = match () {
            () if request.header("if-none-match").is_some() => Reply::status(304),
            () if accepted == "gzip" => Reply::ok().header("Content-Encoding", "gzip").body(&coded),
            () => Reply::ok().body(&plain),
        };
        let reply = reply.cache("max-age=60").header("ETag", "\"a\"");
        reply.header("Vary", "Accept-Encoding")
    });
    assert!(get(&larder, "/", "gzip").body == code);
    for accepts in ["identity", "br", "gzip;q=0"] {
        for _ in 0..2 {
            let answer = get(&larder, "/", accepts);
            let told = (coding(&answer), answer.text());
            assert_eq!(told, ("identity", body.clone()), "{accepts}");
        }
    }
    // Who can read it has it without another transfer.
    let answer = get(&larder, "/", "br, gzip");
    assert_eq!(answer.parameter("fwd-status").as_deref(), Some("304"));
    assert!(answer.body == code || answer.text() == body);
}
