//! Methods: HEAD, POST and unknown ones, their content and their limits (RFC 9111 sections 2 and 4).

use crate::common::{Said, counted, start, start_with, with};
use testkit::{Larder, Reply, wait_until};

#[test]
fn head_is_answered_from_a_stored_get() {
    let (origin, larder) = start();
    origin.reply(
        "/",
        Reply::ok()
            .cache("max-age=60")
            .header("X-Field", "yes")
            .body("content"),
    );
    let get = larder.get("/").send();
    let head = larder.ask("HEAD", "/").send();
    assert!(head.hit(), "9111 section 4: {}", head.said());
    assert_eq!(
        (head.status, head.body.len(), head.header("content-length")),
        (200, 0, Some("7"))
    );
    assert_eq!(
        (head.header("x-field"), head.header("date")),
        (Some("yes"), get.header("date"))
    );
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn head_that_misses_fetches_what_answers_both() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().cache("max-age=60").body("content"));
    let head = larder.ask("HEAD", "/").send();
    assert_eq!(
        (head.status, head.body.len(), head.header("content-length")),
        (200, 0, Some("7"))
    );
    assert_eq!(origin.last("/").method, "GET");
    let get = larder.get("/").send();
    assert!(get.hit() && get.text() == "content", "{}", get.said());
}

#[test]
fn head_of_something_never_stored_works() {
    let (origin, larder) = start();
    origin.on("/", |request| counted(request).cache("no-store"));
    let mut client = larder.client();
    for _ in 0..3 {
        let head = client.ask("HEAD", "/").send();
        assert_eq!((head.status, head.body.len()), (200, 0));
        assert_eq!(
            client.get("/").send().status,
            200,
            "the connection is in step"
        );
    }
    assert_eq!(origin.requests("/"), 6);
}

#[test]
fn answers_to_other_methods_are_not_reused() {
    for method in [
        "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "FOO",
    ] {
        let (origin, larder) = start();
        origin.on("/", |request| counted(request).cache("max-age=60"));
        let first = larder.ask(method, "/").body("x").send();
        let second = larder.ask(method, "/").body("x").send();
        assert_eq!(
            (first.text().as_str(), second.text().as_str()),
            ("1", "2"),
            "{method}"
        );
        assert_eq!(
            first.parameter("fwd").as_deref(),
            Some("method"),
            "9211 section 2.2: {method}: {}",
            first.said()
        );
        let get = larder.get("/").send();
        assert_eq!(
            get.text(),
            "3",
            "9111 section 4: {method} does not answer GET"
        );
    }
}

/// What a `POST` brings may come to its client before it is whole.
fn wait_until_stored(larder: &Larder, path: &str) {
    wait_until("it is stored", || {
        let ask = larder.get(path);
        let ask = ask.header("Cache-Control", "only-if-cached");
        ask.send().hit()
    });
}

#[test]
fn a_post_that_says_what_it_is_answers_get() {
    for (fields, kept_for_get) in [
        (
            &[
                ("Cache-Control", "max-age=60"),
                ("Content-Location", "/form"),
            ][..],
            true,
        ),
        (&[("Cache-Control", "max-age=60")], false),
        (
            &[
                ("Cache-Control", "max-age=60"),
                ("Content-Location", "/other"),
            ],
            false,
        ),
        (&[("Content-Location", "/form")], false),
        (
            &[("Cache-Control", "no-store"), ("Content-Location", "/form")],
            false,
        ),
    ] {
        let (origin, larder) = start();
        let fields = fields.to_vec();
        origin.on("/form", move |request| {
            crate::common::with(counted(request), &fields)
        });
        larder.ask("POST", "/form").body("a=b").send();
        if kept_for_get {
            wait_until_stored(&larder, "/form");
        }
        let get = larder.get("/form").send();
        assert_eq!(
            get.hit(),
            kept_for_get,
            "9110 section 9.3.3: {:?}",
            origin.last("/form").head
        );
        let post = larder.ask("POST", "/form").body("a=c").send();
        assert!(
            !post.hit(),
            "9111 section 4: a POST MUST be written through"
        );
    }
}

#[test]
fn a_post_without_content_never_answers_get() {
    for status in [204, 205] {
        let (origin, larder) = start();
        origin.on("/form", move |request| match request.method.as_str() {
            "POST" => Reply::status(status)
                .cache("max-age=60")
                .header("Content-Location", "/form"),
            _ => Reply::ok().cache("max-age=60").body("the page"),
        });
        larder.ask("POST", "/form").body("a=b").send();
        let get = larder.get("/form").send();
        assert_eq!(
            (get.status, get.text().as_str(), get.hit()),
            (200, "the page", false),
            "9110 section 9.3.3: {status} is no representation of the target"
        );
    }
}

#[test]
fn unknown_methods_are_forwarded_with_their_content() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().body("done"));
    let answer = larder.ask("FROBNICATE", "/").body("content").send();
    assert_eq!((answer.status, answer.text().as_str()), (200, "done"));
    let asked = origin.last("/");
    assert_eq!(
        (asked.method.as_str(), asked.body.as_slice()),
        ("FROBNICATE", &b"content"[..])
    );
}

/// RFC 9110 section 9.1: "The method token is case-sensitive". Many applications take `delete` for `DELETE` all the same.
#[test]
fn a_known_method_in_other_letters_does_nothing() {
    let refusing =
        "[[route]]\nmethod = [\"POST\", \"DELETE\", \"MKCOL\"]\nrefuse = \"405\"\n[[route]]\n";
    let (origin, larder) = start_with(&format!("[[origin]]\nservers = \"{{origin}}\"\n{refusing}"));
    origin.otherwise(|_| Reply::ok().cache("max-age=60").body("done"));
    larder.get("/home").send();
    for method in ["get", "Head", "post", "delete", "Delete", "mkcol", "purge"] {
        let answer = larder.ask(method, "/home").send();
        let detail = answer.parameter("detail");
        assert_eq!(answer.status, 400, "{method}: {}", answer.said());
        assert_eq!(detail.as_deref(), Some("method-letters"), "{method}");
    }
    assert!(larder.get("/home").send().hit(), "nothing has removed it");
    assert_eq!(larder.ask("DELETE", "/home").send().status, 405);
    assert_eq!(origin.all().len(), 1);
    // What nobody knows is the application's to judge.
    for method in ["BREW", "Brew", "mkcalendar"] {
        assert_eq!(larder.ask(method, "/pot").send().status, 200, "{method}");
        assert_eq!(origin.last("/pot").method, method);
    }
}

#[test]
fn request_content_streams() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().body("done"));
    let mut client = larder.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01234");
    testkit::wait_until("the first half is with the origin", || {
        origin.received("/") == 5
    });
    client.send("56789");
    assert_eq!(client.read().text(), "done");
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n");
    testkit::wait_until("the first chunk is with the origin", || {
        origin.received("/") == 15
    });
    client.send("0\r\n\r\n");
    assert_eq!(client.read().text(), "done");
    assert_eq!(origin.last("/").body, b"01234");
}

#[test]
fn a_client_that_expects_100_gets_it() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().body("done"));
    let mut client = larder.client();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(
        client.read_interim().start.split(' ').nth(1),
        Some("100"),
        "9110 section 10.1.1"
    );
    client.send("body");
    assert_eq!(client.read().text(), "done");
    assert_eq!(origin.last("/").body, b"body");
}

#[test]
fn a_head_of_an_answer_without_content_tells_no_length() {
    let (origin, larder) = start();
    origin.reply("/", Reply::status(204).cache("max-age=60"));
    for time in ["miss", "hit"] {
        let head = larder.ask("HEAD", "/").send();
        assert_eq!(
            (head.status, head.header("content-length")),
            (204, None),
            "9110 section 8.6: {time}"
        );
    }
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn max_forwards_ends_here_when_it_is_zero() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok());
    let answer = larder
        .ask("OPTIONS", "/")
        .header("Max-Forwards", "0")
        .send();
    assert_eq!(
        origin.requests("/"),
        0,
        "9110 section 7.6.2: MUST NOT forward"
    );
    assert_eq!(
        answer.status, 204,
        "9110 section 7.6.2: MUST respond as the final recipient"
    );
    let allowed = answer.header("allow").expect("9110 section 9.3.7");
    assert!(allowed.split(", ").any(|method| method == "OPTIONS"));
    let traced = larder.ask("TRACE", "/").header("Max-Forwards", "0").send();
    assert_eq!(traced.status, 405);
    assert_eq!(origin.requests("/"), 0);
    larder
        .ask("OPTIONS", "/")
        .header("Max-Forwards", "5")
        .send();
    assert_eq!(
        origin.last("/").header("max-forwards"),
        Some("4"),
        "9110 section 7.6.2: MUST be decremented"
    );
}

#[test]
fn conditions_of_other_methods_are_the_origins_to_judge() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.method.as_str() {
        "GET" => Reply::ok()
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .body("content"),
        _ => Reply::status(412),
    });
    larder.get("/").send();
    let answer = larder
        .ask("PUT", "/")
        .header("If-Match", "\"a\"")
        .header("If-None-Match", "*")
        .body("x")
        .send();
    assert_eq!(answer.status, 412);
    let asked = origin.last("/");
    assert_eq!(
        (asked.header("if-match"), asked.header("if-none-match")),
        (Some("\"a\""), Some("*"))
    );
    assert!(
        larder.get("/").send().hit(),
        "9111 section 4.4: an error invalidates nothing"
    );
}

#[test]
fn a_forwarded_head_refreshes_or_disqualifies_the_stored_get() {
    for (tag, length, kept) in [
        ("\"a\"", "7", true),
        ("\"b\"", "7", false),
        ("\"a\"", "8", false),
    ] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            let reply = Reply::ok().cache("max-age=60");
            if request.method == "HEAD" {
                return reply
                    .header("ETag", tag)
                    .header("Content-Length", length)
                    .header("X-Version", "2");
            }
            reply
                .header("ETag", "\"a\"")
                .header("X-Version", "1")
                .body("content")
        });
        larder.get("/").send();
        // What is stored does not meet the condition: the origin judges it.
        larder.ask("HEAD", "/").header("If-Match", "\"x\"").send();
        assert_eq!(origin.last("/").method, "HEAD");
        let get = larder.get("/").send();
        assert_eq!(
            get.hit(),
            kept,
            "9111 section 4.3.5: {tag} {length}: {}",
            get.said()
        );
        if kept {
            assert_eq!(
                get.header("x-version"),
                Some("2"),
                "9111 section 4.3.5: SHOULD update"
            );
        }
    }
}

/// Two stored responses that vary by different fields: a request may match both, and the older answers some that the
/// newer does not.
fn varying_apart(head: fn(Reply) -> Reply) -> (testkit::Origin, testkit::Larder) {
    let (origin, larder) = start();
    origin.on("/", move |request| {
        if request.method == "HEAD" {
            return head(Reply::ok().cache("max-age=60").header("X-Version", "2"));
        }
        let (vary, date) = match request.header("x-other") {
            None => ("X-Kind", testkit::date(-10)),
            Some(_) => ("X-Other", testkit::date(0)),
        };
        Reply::ok()
            .cache("max-age=60")
            .undated()
            .header("Date", date)
            .header("ETag", "\"a\"")
            .header("Vary", vary)
            .header("X-Version", "1")
            .body("content")
    });
    larder.get("/").header("X-Kind", "1").send();
    larder.get("/").header("X-Kind", "2").send();
    let newer = larder.get("/").header("X-Kind", "3").header("X-Other", "1");
    assert!(!newer.send().hit());
    let both = larder.ask("HEAD", "/").header("X-Kind", "1");
    let both = both.header("X-Other", "1").header("If-Match", "\"x\"");
    both.send();
    assert_eq!(origin.last("/").method, "HEAD");
    (origin, larder)
}

#[test]
fn a_forwarded_head_speaks_of_all_that_could_have_been_chosen() {
    let (_origin, larder) = varying_apart(|reply| reply.header("ETag", "\"a\""));
    for (kind, other, version) in [("3", "1", "2"), ("1", "2", "2"), ("2", "2", "1")] {
        let get = larder.get("/").header("X-Kind", kind);
        let get = get.header("X-Other", other).send();
        assert!(get.hit(), "{kind} {other}: {}", get.said());
        assert_eq!(
            get.header("x-version"),
            Some(version),
            "9111 section 4.3.5: each that could have been chosen, and no other: {kind} {other}"
        );
    }
    let (_origin, larder) = varying_apart(|reply| reply.header("ETag", "\"b\""));
    for (kind, other, kept) in [("2", "2", true), ("3", "1", false), ("1", "2", false)] {
        let get = larder.get("/").header("X-Kind", kind);
        let get = get.header("X-Other", other).send();
        assert_eq!(
            get.hit(),
            kept,
            "9111 section 4.3.5: {kind} {other}: {}",
            get.said()
        );
    }
}

#[test]
fn a_forwarded_head_that_forbids_storing_is_obeyed() {
    let (_origin, larder) = varying_apart(|reply| {
        reply
            .header("ETag", "\"a\"")
            .header("Cache-Control", "no-store")
    });
    let get = larder.get("/").header("X-Kind", "3");
    let get = get.header("X-Other", "1").send();
    assert!(!get.hit(), "9111 section 5.2.2.5: {}", get.said());
}

const LONG_AGO: &str = "Tue, 01 Nov 1994 08:00:00 GMT";

/// A page of which the first answer did not say that it is one user's, and the HEAD of another user does.
#[test]
fn a_forwarded_head_that_varies_gives_nobody_anothers_page() {
    for (same, kept) in [
        // Nothing but its length, or its date, is the same: nobody knows whether this is the page that is stored.
        (&[("Content-Length", "4")][..], false),
        (&[("Last-Modified", LONG_AGO)], false),
        (&[("ETag", "W/\"a\"")], false),
        // These are the same bytes.
        (&[("ETag", "\"a\"")], true),
    ] {
        for vary in ["Cookie", "*"] {
            let (origin, larder) = start();
            origin.on("/", move |request| {
                let user = request.header("cookie").unwrap_or("none");
                let user = user.trim_start_matches("user=").to_owned();
                let reply = Reply::ok().cache("max-age=60");
                let reply = with(reply, if request.method == "HEAD" { same } else { &[] });
                match request.method.as_str() {
                    "HEAD" => reply.header("Vary", vary),
                    _ if request.nth == 1 => {
                        let fields: Vec<_> = same
                            .iter()
                            .filter(|(name, _)| *name != "Content-Length")
                            .copied()
                            .collect();
                        with(reply, &fields).body(user)
                    }
                    _ => reply.header("Vary", vary).body(user),
                }
            });
            let ask = |method: &str, user: &str| {
                larder
                    .ask(method, "/")
                    .header("Cookie", format!("user={user}"))
            };
            assert_eq!(ask("GET", "anna").send().text(), "anna");
            ask("HEAD", "bert").header("If-Match", "\"x\"").send();
            assert_eq!(origin.last("/").method, "HEAD");
            let bert = ask("GET", "bert").send();
            let kept = kept && vary != "*";
            assert_eq!(bert.hit(), kept, "9111 section 4.1: {same:?} {vary}");
            let own = if kept { "anna" } else { "bert" };
            assert_eq!(bert.text(), own, "9111 section 4.1: {same:?} {vary}");
            assert_ne!(ask("GET", "emil").send().text(), "anna", "{same:?} {vary}");
        }
    }
}

#[test]
fn a_forwarded_head_that_varies_as_before_refreshes_by_the_date_alone() {
    let (origin, larder) = start();
    origin.otherwise(|request| {
        let version = if request.method == "HEAD" { "2" } else { "1" };
        let reply = Reply::ok().cache("max-age=60").header("Vary", "X-Kind");
        reply
            .header("Last-Modified", LONG_AGO)
            .header("X-Version", version)
    });
    let ask = |method: &str| larder.ask(method, "/").header("X-Kind", "1");
    ask("GET").send();
    ask("HEAD").header("If-Match", "\"x\"").send();
    let get = ask("GET").send();
    assert!(get.hit(), "{}", get.said());
    assert_eq!(get.header("x-version"), Some("2"));
}

#[test]
fn the_answer_to_a_post_is_not_stored_where_the_site_passes_the_store_by() {
    let rules = [
        "[route.bypass]\ncookies = [\"login*\"]",
        "[route.bypass]\nmisses_with = [\"login*\"]",
        "[route.bypass]\npaths = [\"/form\"]",
        "[route.bypass]\nheaders = [\"X-Token\"]",
        "[route.key]\ndrop_cookies = true",
        "cache = false",
        "",
    ];
    for rule in rules {
        let config = format!("[[origin]]\nservers = \"{{origin}}\"\n[[route]]\n{rule}\n");
        let (origin, larder) = crate::common::start_with(&config);
        origin.on("/form", |request| {
            let who = request.header("cookie").unwrap_or("nobody").to_owned();
            Reply::ok()
                .cache("max-age=60")
                .header("Content-Location", "/form")
                .body(who)
        });
        let post = larder.ask("POST", "/form").header("X-Token", "a");
        let post = post.header("Cookie", "login=ann").body("a=b").send();
        assert_eq!(post.text(), "login=ann");
        if rule.is_empty() {
            wait_until_stored(&larder, "/form");
        }
        let other = larder.get("/form").send();
        assert_eq!(
            (other.hit(), other.text() == "nobody"),
            (rule.is_empty(), !rule.is_empty()),
            "{rule}: {}",
            other.said()
        );
    }
}
