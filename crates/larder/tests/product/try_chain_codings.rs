//! A folder before an application: which clients share a stored page when origins are asked with the client's own
//! `Accept-Encoding`. What we add to `Vary` for clients is no word of the application (RFC 9111 section 4.1).

use super::{
    coding::{coding, decoded, get, text},
    static_root::{fetched, folder, serve, settled, write},
    try_chain::start,
};
use crate::common::Said;
use testkit::{Larder, Origin, Reply, Request, Response, wait_until};

/// What clients say, each of which selects another variant.
const CLIENTS: [&str; 5] = ["gzip", "br", "zstd, gzip", "gzip;q=0.9, br", "deflate"];

fn starts() -> (Origin, Larder) {
    start(&folder(&[("file.txt", b"file")]), "")
}

fn html() -> Reply {
    Reply::ok().header("Content-Type", "text/html")
}

/// A page with a tag that is confirmed with what `vary` says of the first answer and of later ones.
fn tagged(request: &Request, vary: [Option<&str>; 2], body: &str) -> Reply {
    let is_known = request.header("if-none-match").is_some();
    let reply = if is_known {
        Reply::status(304)
    } else {
        html().body(body)
    };
    let reply = reply.cache("max-age=600").header("ETag", "\"v1\"");
    match vary[usize::from(request.nth > 1)] {
        Some(vary) => reply.header("Vary", vary),
        None => reply,
    }
}

/// Asks the origin, whatever is stored.
fn confirmed(larder: &Larder, codings: &str) -> Response {
    let ask = larder.get("/page").header("Accept-Encoding", codings);
    let answer = ask.header("Cache-Control", "no-cache").send();
    let status = answer.parameter("fwd-status");
    assert_eq!(status.as_deref(), Some("304"), "{}", answer.said());
    answer
}

#[test]
fn a_page_that_is_confirmed_goes_on_to_serve_clients_of_all_codings() {
    for later in [None, Some("Accept-Language")] {
        let (origin, larder) = starts();
        let body = text("page", 5000);
        let page = body.clone();
        origin.on("/page", move |request| {
            tagged(request, [None, later], &page)
        });
        larder.get("/page").send();
        for confirming in ["gzip", "br"] {
            for codings in CLIENTS {
                let answer = get(&larder, "/page", codings);
                assert!(
                    answer.hit(),
                    "{later:?} before {confirming}, {codings}: {}",
                    answer.said()
                );
                assert_eq!(decoded(&answer), body);
                let told = answer.headers("vary").join(", ").to_ascii_lowercase();
                assert!(told.contains("accept-encoding"), "{codings}: {told}");
            }
            confirmed(&larder, confirming);
        }
        assert_eq!(origin.requests("/page"), 3, "{later:?}");
    }
}

/// Nobody here reads the coding, so each client gets what the application sends to all of them.
#[test]
fn a_page_in_an_unknown_coding_that_is_confirmed_goes_on_to_serve_all_clients() {
    let (origin, larder) = starts();
    origin.on("/page", |request| {
        tagged(request, [None, None], "coded").header("Content-Encoding", "deflate")
    });
    larder.get("/page").send();
    for confirming in ["gzip", "br"] {
        for codings in CLIENTS {
            let answer = get(&larder, "/page", codings);
            assert!(answer.hit(), "{confirming}, {codings}: {}", answer.said());
            assert_eq!(
                (coding(&answer), &answer.body[..]),
                ("deflate", &b"coded"[..])
            );
        }
        confirmed(&larder, confirming);
    }
    assert_eq!(origin.requests("/page"), 3);
}

/// The same for what the application says of parts (RFC 9110 section 15.3.7.3).
#[test]
fn a_page_that_parts_complete_goes_on_to_serve_clients_of_all_codings() {
    let (origin, larder) = starts();
    let body = text("page", 5000);
    let page = body.clone();
    origin.on("/page", move |request| {
        let reply = match request.header("range") {
            Some("bytes=0-99") => Reply::status(206)
                .header("Content-Type", "text/html")
                .header("Content-Range", "bytes 0-99/5000")
                .body(&page[..100]),
            Some(_) => Reply::status(206)
                .header("Content-Type", "text/html")
                .header("Content-Range", "bytes 100-4999/5000")
                .body(&page[100..]),
            None => html().body(&page),
        };
        reply.cache("max-age=600").header("ETag", "\"v1\"")
    });
    let part = |range: &str, codings: &str| {
        let ask = larder.get("/page").header("Range", range);
        ask.header("Accept-Encoding", codings).send()
    };
    assert_eq!(part("bytes=0-99", "identity").status, 206);
    assert_eq!(part("bytes=100-", "identity").status, 206);
    for codings in CLIENTS {
        let answer = get(&larder, "/page", codings);
        assert!(answer.hit(), "{codings}: {}", answer.said());
        assert_eq!(decoded(&answer), body);
    }
    assert_eq!(origin.requests("/page"), 2);
}

/// RFC 9111 section 4.3.5.
#[test]
fn a_page_of_which_a_head_request_speaks_goes_on_to_do_so_too() {
    let (origin, larder) = starts();
    let body = text("page", 5000);
    let page = body.clone();
    origin.on("/page", move |_| html().cache("max-age=600").body(&page));
    larder.get("/page").send();
    let ask = larder.ask("HEAD", "/page");
    ask.header("If-Match", "\"x\"").send();
    assert_eq!(origin.last("/page").method, "HEAD", "the origin judges it");
    for codings in CLIENTS {
        let answer = get(&larder, "/page", codings);
        assert!(answer.hit(), "{codings}: {}", answer.said());
        assert_eq!(decoded(&answer), body);
    }
    assert_eq!(origin.requests("/page"), 2);
}

/// Whether the first answer says so, or only the 304, and whether the 304 repeats it.
#[test]
fn what_the_application_varies_by_codings_is_for_those_whom_it_was_made_for() {
    let own = Some("Accept-Encoding");
    for vary in [[own, None], [own, own], [None, own]] {
        let (origin, larder) = starts();
        origin.on("/page", move |request| {
            let codings = request.header("accept-encoding").unwrap_or_default();
            match request.header("if-none-match") {
                // Another client has another page.
                Some(_) if codings != "gzip" => html()
                    .cache("max-age=600")
                    .header("Vary", "Accept-Encoding")
                    .header("ETag", "\"other\"")
                    .body(codings),
                _ => tagged(request, vary, codings),
            }
        });
        assert_eq!(get(&larder, "/page", "gzip").text(), "gzip");
        confirmed(&larder, "gzip");
        confirmed(&larder, "gzip");
        for codings in ["br", "deflate", "gzip"] {
            let answer = get(&larder, "/page", codings);
            assert_eq!(answer.text(), codings, "{vary:?}: {}", answer.said());
            assert_eq!(answer.hit(), codings == "gzip", "{vary:?} {codings}");
        }
    }
}

#[test]
fn a_page_of_one_user_is_never_given_to_another_who_reads_the_same_codings() {
    let user = Some("Cookie");
    let both = Some("Accept-Encoding, Cookie");
    for vary in [
        [user, None],
        [user, user],
        [None, user],
        [user, both],
        [both, None],
    ] {
        let (origin, larder) = starts();
        origin.on("/page", move |request| {
            let cookie = request.header("cookie").unwrap_or_default();
            let tag = format!("\"{cookie}\"");
            let is_own = request.header("if-none-match") == Some(tag.as_str());
            let reply = if is_own {
                Reply::status(304)
            } else {
                html().body(text(cookie, 2000))
            };
            let reply = reply.cache("max-age=600").header("ETag", &tag);
            let vary = match (is_own, request.nth) {
                (true, _) => vary[1],
                (false, 1) => vary[0],
                (false, _) => vary[0].or(vary[1]),
            };
            match vary {
                Some(vary) => reply.header("Vary", vary),
                None => reply,
            }
        });
        let asked = |name: &str, codings: &str, fields: &[(&str, &str)]| {
            let ask = larder.get("/page").header("Accept-Encoding", codings);
            let ask = ask.header("Cookie", format!("user={name}"));
            let all = fields.iter();
            all.fold(ask, |ask, (name, value)| ask.header(name, value))
                .send()
        };
        asked("alice", "gzip", &[]);
        let again = asked("alice", "gzip", &[("Cache-Control", "no-cache")]);
        assert_eq!(again.parameter("fwd-status").as_deref(), Some("304"));
        for name in ["bob", "alice", "carol"] {
            for codings in ["gzip", "br", "gzip"] {
                let page = text(&format!("user={name}"), 2000);
                let answer = asked(name, codings, &[]);
                assert!(decoded(&answer) == page, "{vary:?}: {}", answer.said());
            }
        }
    }
}

#[test]
fn a_file_that_is_confirmed_goes_on_to_serve_clients_of_all_codings() {
    let body = text("file", 5000);
    let root = folder(&[("a.txt", body.as_bytes())]);
    let larder = serve(&root);
    settled(&larder, "/a.txt");
    let again = fetched(&larder, "/a.txt");
    assert_eq!(again.parameter("fwd-status").as_deref(), Some("304"));
    for codings in CLIENTS {
        let answer = get(&larder, "/a.txt", codings);
        // It may have to be checked once a second.
        let missed = answer
            .parameter("fwd")
            .is_some_and(|why| why == "vary-miss");
        assert!(!missed, "{codings}: {}", answer.said());
        assert_eq!(decoded(&answer), body);
    }
    // The neighbour that comes later is for those who read it.
    write(&root, "a.txt.gz", b"neighbour");
    wait_until("the neighbour was sent", || {
        let ask = larder.get("/a.txt").header("Accept-Encoding", "gzip");
        let answer = ask.header("Cache-Control", "no-cache").send();
        (coding(&answer), &answer.body[..]) == ("gzip", b"neighbour")
    });
    let other = get(&larder, "/a.txt", "br");
    assert_eq!(decoded(&other), body, "{}", other.said());
}
