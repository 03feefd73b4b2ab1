//! The head of a composed page, and which answers are composed: lifetimes, validators, parts, methods, statuses.

use crate::{
    common::{Said, start_with},
    esi::{ON, counted_fragment, html, page, text},
};
use testkit::{Larder, Origin, Reply};

#[test]
fn a_composed_answer_is_neither_kept_nor_validated_nor_cut_into_parts() {
    let (origin, larder) = start_with(ON);
    let reply = page("a<esi:include src=\"/f\"/>b")
        .header("ETag", "\"1\"")
        .header("Last-Modified", "Sat, 01 Jan 2022 00:00:00 GMT")
        .header("Expires", "Sat, 01 Jan 2050 00:00:00 GMT")
        .header("CDN-Cache-Control", "max-age=86400")
        .header("X-Accel-Expires", "3600")
        .header("Edge-Control", "max-age=3600")
        .header("Accept-Ranges", "bytes");
    origin.reply("/", reply);
    origin.on("/f", counted_fragment("no-store"));
    for round in 1..4 {
        let answer = larder
            .get("/")
            .header("If-None-Match", "\"1\", *")
            .header("If-Modified-Since", "Sat, 01 Jan 2049 00:00:00 GMT")
            .header("Range", "bytes=0-1")
            .header("If-Range", "\"1\"")
            .send();
        assert_eq!((answer.status, answer.text()), (200, format!("a{round}b")));
        for field in [
            "etag",
            "last-modified",
            "expires",
            "accept-ranges",
            "cdn-cache-control",
            "x-accel-expires",
            "edge-control",
            "content-range",
        ] {
            assert_eq!(answer.head.header(field), None, "{field}");
        }
        assert_eq!(
            answer.head.header("cache-control"),
            Some("private, no-cache")
        );
        let seen = origin.last("/f");
        for field in ["if-none-match", "if-modified-since", "range", "if-range"] {
            assert_eq!(seen.header(field), None, "{field} is the page's");
        }
    }
    let head = larder.ask("HEAD", "/").send();
    assert_eq!(
        (head.status, head.head.header("content-length")),
        (200, None)
    );
    assert_eq!(head.head.header("etag"), None);
    assert_eq!(origin.requests("/f"), 3, "a HEAD needs no fragments");
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn what_a_page_forbids_beyond_that_stays_forbidden() {
    let (origin, larder) = start_with(ON);
    for (number, (said, told)) in [
        ("max-age=60", "private, no-cache"),
        ("no-store", "private, no-store"),
        ("private, No-Store", "private, no-store"),
        (
            "max-age=60, no-transform",
            "private, no-cache, no-transform",
        ),
        ("no-store,no-transform", "private, no-store, no-transform"),
    ]
    .into_iter()
    .enumerate()
    {
        for (kind, body) in [("with", "a<esi:include src=\"/f\"/>"), ("without", "ab")] {
            let target = format!("/{number}{kind}");
            origin.reply(&target, html(said, body.repeat(2000)));
            origin.reply("/f", Reply::ok().cache("max-age=60").body("b"));
            for _ in 0..2 {
                let answer = larder.get(&target).header("Accept-Encoding", "gzip").send();
                let cache = answer.joined("cache-control");
                // What came whole with its head is known to have none before it is sent.
                let plain = kind == "without";
                assert!(cache == told || (plain && cache == said), "{said}: {cache}");
                let coded = answer.header("content-encoding").is_some();
                assert_eq!(coded, !told.contains("no-transform"), "{said}");
            }
        }
    }
}

#[test]
fn a_lifetime_for_browsers_is_not_told_of_a_composed_answer() {
    let (origin, larder) =
        start_with(&ON.replace("esi = true", "esi = true\nbrowser_ttl = \"10m\""));
    origin.reply("/", page("a<esi:include src=\"/f\"/>"));
    origin.reply("/plain", page("plain"));
    for target in ["/", "/", "/plain", "/plain"] {
        let cache = larder.get(target).send().joined("cache-control");
        let first = origin.requests(target) == 1;
        assert!(
            cache == "private, no-cache" || (target == "/plain" && cache == "max-age=600"),
            "{target} {cache} {first}"
        );
    }
    assert_eq!(
        larder.get("/plain").send().joined("cache-control"),
        "max-age=600"
    );
}

#[test]
fn a_stored_page_without_a_tag_is_a_page_like_any_other() {
    let (origin, larder) = start_with(ON);
    origin.reply("/", page("<p>plain</p>").header("ETag", "\"1\""));
    larder.get("/").send();
    let again = larder.get("/").send();
    assert_eq!(
        (again.text().as_str(), again.head.header("etag")),
        ("<p>plain</p>", Some("\"1\""))
    );
    assert_eq!(
        larder
            .get("/")
            .header("If-None-Match", "\"1\"")
            .send()
            .status,
        304
    );
    assert_eq!(
        larder.get("/").header("Range", "bytes=0-2").send().text(),
        "<p>"
    );
    assert_eq!(again.joined("cache-control"), "max-age=86400");
    let head = larder.ask("HEAD", "/").send();
    assert_eq!(head.joined("etag"), "\"1\"");
}

#[test]
fn a_page_of_another_method_or_status_is_composed_too() {
    let (origin, larder) = start_with(ON);
    origin.reply("/f", Reply::ok().cache("max-age=60").body("F"));
    let body = "<esi:include src=\"/f\"/>!";
    origin.on("/form", move |request| {
        html("no-store", body).header("X-Method", &request.method)
    });
    let reply = Reply::status(404)
        .cache("max-age=60")
        .header("Content-Type", "text/html");
    origin.reply("/gone", reply.body(body));
    let posted = larder.ask("POST", "/form").body("x=1").send();
    assert_eq!(
        (posted.text().as_str(), posted.head.header("x-method")),
        ("F!", Some("POST"))
    );
    assert_eq!(origin.last("/f").method, "GET");
    assert_eq!(origin.last("/f").header("content-length"), None);
    for _ in 0..2 {
        let answer = larder.get("/gone").send();
        assert_eq!((answer.status, answer.text().as_str()), (404, "F!"));
    }
}

#[test]
fn a_page_stays_one_when_it_is_freshened_and_when_it_comes_from_disk() {
    let site = crate::disk::Site::new("");
    site.origin.on("/", |request| {
        let reply = if request.header("if-none-match").is_some() {
            // It says nothing of the content any more.
            Reply::status(304)
        } else {
            Reply::ok()
                .header("Surrogate-Control", "content=\"ESI/1.0\"")
                .body("a<esi:include src=\"/f\"/>b")
        };
        reply.cache("max-age=60").header("ETag", "\"1\"")
    });
    site.origin.on("/f", |request| {
        Reply::ok().cache("no-store").body(request.nth.to_string())
    });
    let larder = site.start();
    let ask = |larder: &Larder, cache: &str| {
        let answer = larder.get("/").header("Cache-Control", cache).send();
        assert_eq!(answer.head.header("surrogate-control"), None);
        (answer.text(), answer.hit())
    };
    assert_eq!(ask(&larder, ""), ("a1b".into(), false));
    assert_eq!(ask(&larder, "no-cache"), ("a2b".into(), false));
    assert_eq!(site.origin.last("/").header("if-none-match"), Some("\"1\""));
    assert_eq!(ask(&larder, ""), ("a3b".into(), true));
    let larder = site.restart(larder);
    for number in 4..14 {
        assert_eq!(ask(&larder, ""), (format!("a{number}b"), true));
    }
    assert_eq!(site.origin.requests("/"), 2);
}

/// The answer to a HEAD that went to the origin freshens the page, and says nothing of the language it is written in.
#[test]
fn a_page_stays_one_when_a_head_freshens_it() {
    let (origin, larder) = start_with(&ON.replace("esi = true", "cache = true"));
    origin.on("/", |request| {
        let reply = page("").header("ETag", "\"a\"");
        match request.method.as_str() {
            "HEAD" => reply
                .header("Surrogate-Control", "max-age=60")
                .header("Content-Length", "27"),
            _ => reply
                .header("Surrogate-Control", "content=\"ESI/1.0\"")
                .body("<esi:remove>a</esi:remove>b"),
        }
    });
    assert_eq!(text(&larder, "/"), "b");
    let head = larder.ask("HEAD", "/").header("If-Match", "\"x\"").send();
    assert_eq!(origin.last("/").method, "HEAD", "{:?}", head.head);
    let again = larder.get("/").send();
    assert!(again.hit() && again.text() == "b", "{}", again.text());
}

#[test]
fn a_part_of_a_page_is_asked_for_as_a_whole() {
    let whole = "a<esi:include src=\"/f\"/>b";
    for (route, control) in [
        ("esi = true", ""),
        ("esi = true\ncache = false", ""),
        ("cache = true", "content=\"ESI/1.0\""),
        ("cache = false", "content=\"ESI/1.0\""),
    ] {
        let (origin, larder) = start_with(&ON.replace("esi = true", route));
        origin.on("/", move |request| {
            let reply = if request.header("range").is_some() {
                Reply::status(206)
                    .header("Content-Range", "bytes 0-3/26")
                    .body(&whole[..4])
            } else {
                Reply::ok().body(whole)
            };
            reply
                .cache("max-age=60")
                .header("Content-Type", "text/html")
                .header("Surrogate-Control", control)
        });
        origin.reply("/f", Reply::ok().cache("max-age=60").body("F"));
        for _ in 0..2 {
            let answer = larder.get("/").header("Range", "bytes=0-3").send();
            assert_eq!(
                (answer.status, answer.text().as_str()),
                (200, "aFb"),
                "{route}"
            );
        }
    }
}

/// Several parts have a type of their own, and a part that a client says it continues may have none.
#[test]
fn parts_that_do_not_tell_their_type_are_no_way_to_a_pages_source() {
    for kind in ["multipart/byteranges; boundary=x", ""] {
        for route in ["esi = true\ncache = false", "esi = true"] {
            let (origin, larder) = start_with(&ON.replace("esi = true", route));
            origin.on("/", move |request| {
                if request.header("range").is_none() {
                    return page("a<esi:include src=\"/f\"/>b");
                }
                let reply = Reply::status(206).header("Content-Range", "bytes 0-3/26");
                let reply = match kind {
                    "" => reply,
                    kind => reply.header("Content-Type", kind),
                };
                reply.cache("no-store").body("a<esi:remove>b")
            });
            origin.reply("/f", Reply::ok().cache("max-age=60").body("F"));
            for range in ["bytes=0-3", "bytes=0-0,2-3"] {
                let ask = larder.get("/").header("Range", range);
                let answer = ask.header("If-Range", "\"1\"").send();
                let got = (answer.status, answer.text());
                assert_eq!(got, (200, "aFb".to_owned()), "{route} {kind}");
            }
        }
    }
}

/// Routes of pages, and pages that say so themselves; stored, and not.
const PAGES: [(&str, &str); 4] = [
    ("esi = true", ""),
    ("esi = true\ncache = false", ""),
    ("cache = true", "content=\"ESI/1.0\""),
    ("cache = false", "content=\"ESI/1.0\""),
];

/// A page that is never stored, which its application answers with `instead` to who sends a field of this name.
fn unstored_page(
    route: &str,
    control: &'static str,
    name: &'static str,
    instead: u16,
) -> (Origin, Larder) {
    let (origin, larder) = start_with(&ON.replace("esi = true", route));
    origin.on("/", move |request| {
        let reply = match request.header(name) {
            Some(_) => Reply::status(instead).header("Content-Range", "bytes */26"),
            None => Reply::ok().body("a<esi:include src=\"/f\"/>b"),
        };
        reply
            .cache("no-store")
            .header("ETag", "\"1\"")
            .header("Content-Type", "text/html")
            .header("Surrogate-Control", control)
    });
    origin.reply("/f", Reply::ok().cache("no-store").body("F"));
    // That it is not stored is known then.
    for _ in 0..2 {
        assert_eq!(text(&larder, "/"), "aFb");
    }
    (origin, larder)
}

/// What the application says of the page's source says nothing of the page with its fragments.
#[test]
fn conditions_and_ranges_of_a_page_that_is_not_stored_are_not_heeded() {
    for (route, control) in PAGES {
        for (name, value, instead) in [
            ("If-None-Match", "\"1\"", 304),
            ("Range", "bytes=5000-", 416),
        ] {
            let (_origin, larder) = unstored_page(route, control, name, instead);
            for _ in 0..2 {
                let answer = larder.get("/").header(name, value).send();
                let got = (answer.status, answer.text());
                assert_eq!(got, (200, "aFb".to_owned()), "{route} {name}");
            }
        }
    }
}

#[test]
fn nor_are_those_of_a_head_of_it() {
    for (route, control) in PAGES {
        for (name, value, instead) in [
            ("If-None-Match", "\"1\"", 304),
            ("Range", "bytes=0-3", 206),
            ("Range", "bytes=5000-", 416),
        ] {
            let (_origin, larder) = unstored_page(route, control, name, instead);
            for _ in 0..2 {
                let head = larder.ask("HEAD", "/").header(name, value).send();
                let told = (head.status, head.header("cache-control"));
                let wanted = (200, Some("private, no-store"));
                assert_eq!(told, wanted, "{route} {name}");
                assert_eq!(head.header("etag"), None, "{route} {name}");
            }
        }
    }
}

/// Content is sent once: what could have it answered with less goes at once.
#[test]
fn a_get_with_content_is_sent_once_without_its_range_and_conditions() {
    for (route, control) in PAGES {
        for (name, value, instead) in [("If-None-Match", "\"1\"", 304), ("Range", "bytes=0-3", 206)]
        {
            let (origin, larder) = unstored_page(route, control, name, instead);
            let before = origin.requests("/");
            let ask = larder.get("/").header(name, value).body("x");
            let answer = ask.send();
            let got = (answer.status, answer.text());
            assert_eq!(got, (200, "aFb".to_owned()), "{route} {name}");
            assert_eq!(origin.requests("/"), before + 1, "{route} {name}");
        }
    }
}

/// A range means nothing with `POST` (RFC 9110 section 14.2). Where the application takes it for one all the same,
/// nothing is done twice, and no source of a page gets out.
#[test]
fn a_post_with_a_range_is_sent_once_and_without_it() {
    for route in ["esi = true", "cache = true"] {
        let (origin, larder) = start_with(&ON.replace("esi = true", route));
        origin.on("/buy", |request| match request.header("range") {
            Some(_) => Reply::status(206)
                .header("Content-Range", "bytes 0-3/26")
                .header("Surrogate-Control", "content=\"ESI/1.0\"")
                .body("a<esi:remove>b"),
            None => page("a<esi:include src=\"/f\"/>b")
                .header("Surrogate-Control", "content=\"ESI/1.0\""),
        });
        origin.reply("/f", Reply::ok().cache("max-age=60").body("F"));
        let ask = larder.ask("POST", "/buy").header("Range", "bytes=0-3");
        let answer = ask.send();
        let got = (answer.status, answer.text());
        assert_eq!(got, (200, "aFb".to_owned()), "{route}");
        assert_eq!(origin.requests("/buy"), 1, "{route}");
    }
}

/// An attempt in an attempt fails the outer one if its own exception fails too.
#[test]
fn an_attempt_needs_what_is_sent_of_the_attempts_in_it() {
    let (origin, larder) = start_with(ON);
    for good in ["/1", "/2", "/3"] {
        origin.reply(good, html("no-store", format!("[{good}]")));
    }
    let attempt = |attempt: &str, except: &str| {
        format!(
            "<esi:try><esi:attempt>{attempt}</esi:attempt><esi:except>{except}</esi:except></esi:try>"
        )
    };
    let include = |at: &str| format!("<esi:include src=\"{at}\"/>");
    let (one, bad) = (include("/1"), include("/bad"));
    let may_fail = "<esi:include src=\"/bad\" onerror=\"continue\"/>";
    for (at, (inner, expected)) in [
        (attempt(&bad, &format!("X{bad}")), "E"),
        (attempt(&bad, &format!("X{one}")), "AX[/1]Z"),
        (attempt(&one, &bad), "A[/1]Z"),
        (attempt(&bad, ""), "AZ"),
        (attempt(&bad, &format!("X{may_fail}")), "AXZ"),
        (attempt(&bad, &attempt(&bad, &bad)), "E"),
        (attempt(&bad, &attempt(&bad, &one)), "A[/1]Z"),
        (attempt(&attempt(&bad, &bad), "X"), "AXZ"),
    ]
    .into_iter()
    .enumerate()
    {
        let whole = attempt(&format!("A{inner}Z"), "E");
        for before in [String::new(), include("/2"), attempt(&include("/3"), "")] {
            let target = format!("/page/{at}/{}", before.len());
            origin.reply(&target, page(format!("{before}{whole}")));
            let sent = text(&larder, &target);
            let sent = sent.trim_start_matches("[/2]").trim_start_matches("[/3]");
            assert_eq!(sent, expected, "{inner}");
        }
    }
}
