//! What comes from disk is a stored response like any other: variants, conditions, ranges, validation, staleness.

#![allow(
    clippy::similar_names,
    reason = "a site and the size of what it answers"
)]

use crate::common::{Said, counted, sample};
use crate::disk::{LARGE, MIDDLE, Site, content, keep, same, wait_written};
use crate::disk_purge::purge;
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use testkit::{Command, Larder, Reply, Request, Response, date, wait_until};

const SIZES: [usize; 3] = [1000, MIDDLE, LARGE];

fn ask(larder: &Larder, path: &str, fields: &[(&str, &str)]) -> Response {
    let ask = fields.iter().fold(larder.get(path), |ask, (name, value)| {
        ask.header(name, value)
    });
    ask.send()
}

#[test]
fn variants_come_back_side_by_side() {
    let site = Site::with(|request| {
        let language = request.header("accept-language").unwrap_or("none");
        Reply::ok()
            .cache("max-age=600")
            .header("Vary", "Accept-Language")
            .header("ETag", format!("\"{language}\""))
            .body(language)
    });
    let mut larder = site.start();
    for language in ["en", "de", "fr"] {
        for _ in 0..2 {
            ask(&larder, "/", &[("Accept-Language", language)]);
        }
    }
    assert_eq!(site.origin.requests("/"), 3);
    for _ in 0..2 {
        larder = site.restart(larder);
        for language in ["fr", "en", "de"] {
            let answer = ask(&larder, "/", &[("Accept-Language", language)]);
            assert!(answer.hit(), "{language}: {}", answer.said());
            assert_eq!(answer.text(), language);
        }
    }
    let larder = site.restart(larder);
    let other = ask(&larder, "/", &[("Accept-Language", "it")]);
    assert_eq!((other.hit(), other.text().as_str()), (false, "it"));
    assert_eq!(other.parameter("fwd").as_deref(), Some("vary-miss"));
    let asked = site
        .origin
        .last("/")
        .header("if-none-match")
        .unwrap_or_default()
        .to_owned();
    for tag in ["\"en\"", "\"de\"", "\"fr\""] {
        assert!(
            asked.contains(tag),
            "9111 section 4.3.1: what is on disk may be confirmed too: {asked:?}"
        );
    }
}

/// RFC 9111 section 4: "a cache MUST use the most recent one (as determined by the Date header field)", whichever was
/// written last.
#[test]
fn of_several_that_match_the_newest_comes_back() {
    let site = Site::with(|request| match request.header("foo") {
        Some("1") => Reply::ok()
            .cache("max-age=600")
            .header("Vary", "Foo")
            .body("newer"),
        _ => Reply::ok()
            .cache("max-age=600")
            .undated()
            .header("Date", date(-20))
            .header("Vary", "Bar")
            .body("older"),
    });
    let larder = site.start();
    for foo in ["1", "1", "2", "2"] {
        ask(&larder, "/", &[("Foo", foo)]);
    }
    let larder = site.restart(larder);
    for _ in 0..3 {
        let both = ask(&larder, "/", &[("Foo", "1")]);
        assert_eq!((both.hit(), both.text().as_str()), (true, "newer"));
    }
    let other = ask(&larder, "/", &[("Foo", "2")]);
    assert_eq!((other.hit(), other.text().as_str()), (true, "older"));
}

#[test]
fn what_varies_on_everything_is_not_kept_and_no_client_gets_anothers_variant() {
    let site = Site::with(|request| {
        let who = request.header("x-who").unwrap_or("nobody").to_owned();
        let vary = if request.path() == "/all" {
            "*"
        } else {
            "X-Who"
        };
        Reply::ok()
            .cache("max-age=600")
            .header("Vary", vary)
            .body(format!("page of {who}"))
    });
    let mut larder = site.start();
    for round in 0..3 {
        for path in ["/all", "/who"] {
            for who in ["ann", "bob", "ann", "bob"] {
                let answer = ask(&larder, path, &[("X-Who", who)]);
                assert_eq!(answer.text(), format!("page of {who}"), "{path} {round}");
                assert!(path != "/all" || !answer.hit());
            }
        }
        larder = site.restart(larder);
    }
    assert_eq!(site.origin.requests("/who"), 2);
}

#[test]
fn conditions_are_judged_by_what_is_on_disk() {
    let modified = date(-1000);
    for size in SIZES {
        let at = modified.clone();
        let site = Site::with(move |_| {
            Reply::ok()
                .cache("max-age=600")
                .header("ETag", "\"a\"")
                .header("Last-Modified", &at)
                .body(content("page", size))
        });
        let mut larder = site.start();
        keep(&larder, &["/"]);
        let (asked, old) = (site.origin.requests("/"), date(-2000));
        for (name, value, status) in [
            ("If-None-Match", "\"a\"", 304),
            ("If-None-Match", "W/\"a\"", 304),
            ("If-None-Match", "*", 304),
            ("If-None-Match", "\"b\"", 200),
            ("If-Modified-Since", modified.as_str(), 304),
            ("If-Modified-Since", old.as_str(), 200),
            ("If-Match", "\"a\"", 200),
        ] {
            larder = site.restart(larder);
            let answer = ask(&larder, "/", &[(name, value)]);
            assert_eq!(answer.status, status, "{size} {name}: {value}");
            assert!(answer.hit(), "{size} {name}: {value}: {}", answer.said());
            assert_eq!(answer.header("etag"), Some("\"a\""));
            if status == 200 {
                same(&answer.body, &content("page", size), name);
            }
        }
        assert_eq!(site.origin.requests("/"), asked);
    }
}

#[test]
fn head_and_ranges_are_answered_from_disk() {
    for size in SIZES {
        let site = Site::with(move |_| {
            Reply::ok()
                .cache("max-age=600")
                .header("ETag", "\"a\"")
                .body(content("page", size))
        });
        let mut larder = site.start();
        keep(&larder, &["/"]);
        let asked = site.origin.requests("/");
        let whole = content("page", size);
        larder = site.restart(larder);
        let head = larder.ask("HEAD", "/").send();
        assert!(head.hit() && head.status == 200 && head.body.is_empty());
        assert_eq!(head.header("content-length"), Some(&*size.to_string()));
        let last = size - 1;
        let mut spans = vec![(0, 0), (0, 99), (last, last), (size / 2, size / 2 + 200)];
        // About where one chunk ends and the next begins.
        spans.extend([65_535, 65_536, 131_071].map(|at| (at, at + 1)));
        spans.extend([(65_536, 131_071), (1, last), (0, last)]);
        for (first, end) in spans.into_iter().filter(|span| span.1 <= last) {
            // From disk, and once more from wherever it is then.
            larder = site.restart(larder);
            for _ in 0..2 {
                let range = format!("bytes={first}-{end}");
                let answer = ask(&larder, "/", &[("Range", &range)]);
                assert_eq!(answer.status, 206, "{size} {range}");
                assert!(answer.hit(), "{size} {range}: {}", answer.said());
                let told = format!("bytes {first}-{end}/{size}");
                assert_eq!(answer.header("content-range"), Some(&*told));
                same(&answer.body, &whole[first..=end], &range);
            }
        }
        larder = site.restart(larder);
        let suffix = ask(&larder, "/", &[("Range", "bytes=-500")]);
        assert!(suffix.hit() && suffix.status == 206);
        same(&suffix.body, &whole[size - 500..], "a suffix");
        larder = site.restart(larder);
        let several = ask(&larder, "/", &[("Range", "bytes=0-9,500-519,-7")]);
        assert!(several.hit() && several.status == 206, "{:?}", several.head);
        let text = String::from_utf8_lossy(&several.body);
        for span in [0..=9, 500..=519, size - 7..=last] {
            let part = String::from_utf8_lossy(&whole[span.clone()]).into_owned();
            let told = format!("bytes {}-{}/{size}", span.start(), span.end());
            assert!(text.contains(&told) && text.contains(&part), "{told}");
        }
        larder = site.restart(larder);
        let beyond = ask(&larder, "/", &[("Range", &format!("bytes={size}-"))]);
        assert_eq!(beyond.status, 416, "{}", beyond.said());
        let (holds, fails) = (("If-Range", "\"a\""), ("If-Range", "\"b\""));
        let part = ask(&larder, "/", &[("Range", "bytes=5-14"), holds]);
        assert!(part.hit() && part.status == 206);
        same(&part.body, &whole[5..15], "If-Range holds");
        let all = ask(&larder, "/", &[("Range", "bytes=5-14"), fails]);
        assert!(all.hit() && all.status == 200);
        same(&all.body, &whole, "If-Range does not hold");
        assert_eq!(site.origin.requests("/"), asked, "{size}");
    }
}

/// A site with `/` on disk, stale: it was confirmed by the origin with an age beyond its lifetime. From now on the origin
/// answers as `then` says.
fn stale(
    size: usize,
    directives: &'static str,
    then: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> (Site, Larder) {
    let phase = Arc::new(AtomicUsize::new(0));
    let told = phase.clone();
    let site = Site::with(move |request| {
        let reply = match told.load(Ordering::SeqCst) {
            0 => Reply::ok().body(content("old", size)),
            1 => Reply::status(304).header("Age", "70"),
            _ => return then(request),
        };
        reply
            .cache(directives)
            .header("ETag", "\"a\"")
            .header("X-Head", "old")
    });
    let larder = site.start();
    keep(&larder, &["/"]);
    assert!(larder.get("/").send().hit(), "{size}");
    // What is still on its way is not validated, since it may break off: it is fetched anew.
    wait_written(&larder, 1);
    phase.store(1, Ordering::SeqCst);
    let confirmed = larder.get("/").header("Cache-Control", "no-cache").send();
    assert_eq!(confirmed.status, 200, "{}", confirmed.said());
    phase.store(2, Ordering::SeqCst);
    let larder = site.restart(larder);
    (site, larder)
}

/// 304 that makes it fresh again.
fn confirmed(_: &Request) -> Reply {
    Reply::status(304)
        .cache("max-age=600")
        .header("ETag", "\"a\"")
        .header("X-Head", "new")
}

#[test]
fn what_is_stale_on_disk_is_validated_and_gets_a_new_head_over_the_same_body() {
    for size in SIZES {
        let (site, mut larder) = stale(size, "max-age=60", confirmed);
        let asked = site.origin.requests("/");
        let answer = larder.get("/").send();
        assert_eq!(
            site.origin.last("/").header("if-none-match"),
            Some("\"a\""),
            "9111 section 4.3.1: {size}: {}",
            answer.said()
        );
        assert_eq!(answer.header("x-head"), Some("new"), "{size}");
        same(&answer.body, &content("old", size), "the same body");
        for round in 0..4 {
            larder = if round == 2 {
                site.crash(larder)
            } else {
                site.restart(larder)
            };
            let answer = larder.get("/").send();
            assert!(answer.hit(), "{size} {round}: {}", answer.said());
            assert_eq!(answer.header("x-head"), Some("new"), "{size} {round}");
            same(&answer.body, &content("old", size), "the same body");
        }
        assert_eq!(site.origin.requests("/"), asked + 1, "{size}");
    }
}

#[test]
fn what_replaces_something_on_disk_is_written_at_once_and_the_old_is_gone() {
    let sizes = [
        (500, 700),
        (500, LARGE),
        (LARGE, 500),
        (LARGE, LARGE + 1000),
    ];
    for (before, after) in sizes {
        let (site, mut larder) = stale(before, "max-age=60", move |_| {
            Reply::ok()
                .cache("max-age=600")
                .header("ETag", "\"b\"")
                .body(content("new", after))
        });
        let answer = larder.get("/").send();
        same(&answer.body, &content("new", after), "the origin's answer");
        for crash in [false, true] {
            if crash {
                larder = site.crash(larder);
            } else {
                larder = site.restart(larder);
            }
            let answer = larder.get("/").send();
            same(&answer.body, &content("new", after), "never the old one");
            assert!(answer.hit(), "{before} {after}: {}", answer.said());
        }
    }
}

#[test]
fn what_is_replaced_by_something_that_may_not_be_kept_is_gone() {
    for size in SIZES {
        let then = |_: &Request| Reply::ok().cache("no-store").body("private");
        let (site, mut larder) = stale(size, "max-age=60", then);
        assert_eq!(larder.get("/").send().text(), "private", "{size}");
        site.origin.stop();
        for crash in [true, false] {
            let answer = larder.get("/").send();
            assert!(
                answer.status >= 500,
                "the old one was withdrawn: {size} {}",
                answer.said()
            );
            larder = if crash {
                site.crash(larder)
            } else {
                site.restart(larder)
            };
        }
        let answer = larder.get("/").send();
        assert!(answer.status >= 500, "{size} {}", answer.said());
    }
}

#[test]
fn stale_answers_come_from_disk_while_the_origin_is_stopped() {
    for size in SIZES {
        for (directives, may) in [
            ("max-age=60, stale-while-revalidate=1000", true),
            ("max-age=60, stale-if-error=1000", true),
            ("max-age=60", true),
            ("max-age=60, must-revalidate", false),
            ("max-age=60, proxy-revalidate", false),
            ("s-maxage=60", false),
        ] {
            let (site, mut larder) = stale(size, directives, |_| Reply::close());
            site.origin.stop();
            for _ in 0..2 {
                let answer = larder.get("/").send();
                assert_eq!(
                    answer.status == 200,
                    may,
                    "9111 section 4.2.4: {size} {directives}: {}",
                    answer.said()
                );
                if may {
                    same(&answer.body, &content("old", size), directives);
                    let ttl = answer.parameter("ttl");
                    let is_past = ttl.is_none_or(|ttl| ttl.starts_with('-'));
                    assert!(is_past, "9211 section 2.4: {}", answer.said());
                }
                larder = site.restart(larder);
            }
        }
    }
}

#[test]
fn stale_while_revalidate_from_disk_fetches_once_and_the_fresh_one_is_written() {
    for size in SIZES {
        let directives = "max-age=60, stale-while-revalidate=1000";
        let (site, mut larder) = stale(size, directives, move |_| {
            Reply::ok()
                .cache("max-age=600")
                .header("ETag", "\"b\"")
                .body(content("new", size))
        });
        let before = site.origin.requests("/");
        let answer = larder.get("/").send();
        same(&answer.body, &content("old", size), "5861 section 3");
        assert!(answer.hit(), "{size}: {}", answer.said());
        wait_until("the fresh one is there", || {
            larder.get("/").send().body == content("new", size)
        });
        larder.get("/").send();
        larder = site.restart(larder);
        let answer = larder.get("/").send();
        same(&answer.body, &content("new", size), "the fresh one");
        assert!(answer.hit(), "{}", answer.said());
        assert_eq!(site.origin.requests("/"), before + 1, "{size}");
    }
}

#[test]
fn an_origin_that_errs_is_hidden_by_what_is_on_disk() {
    for size in SIZES {
        let directives = "max-age=60, stale-if-error=1000";
        let then = |_: &Request| Reply::status(503).body("sorry");
        let (site, mut larder) = stale(size, directives, then);
        for _ in 0..2 {
            larder = site.restart(larder);
            let answer = larder.get("/").send();
            assert_eq!(answer.status, 200, "{size} {}", answer.said());
            assert_eq!(
                answer.parameter("detail").as_deref(),
                Some("stale-if-error")
            );
            same(&answer.body, &content("old", size), "5861 section 4");
        }
    }
}

#[test]
fn keys_of_headers_and_cookies_keep_clients_apart() {
    let site = Site::new("[defaults.key]\nheaders = [\"X-Region\"]\ncookies = [\"currency\"]\n");
    site.origin.otherwise(|request| {
        let value = |name| request.header(name).unwrap_or("none").to_owned();
        counted(request)
            .cache("max-age=600")
            .header("X-Seen", value("x-region"))
    });
    let mut larder = site.start();
    let clients = [
        ("north", "eur"),
        ("north", "usd"),
        ("south", "eur"),
        ("", ""),
    ];
    let get = |larder: &Larder, region: &str, currency: &str| {
        let cookie = format!("currency={currency}; session=of-one-user");
        let mut fields = vec![("X-Region", region), ("Cookie", &cookie)];
        fields.retain(|_| !region.is_empty());
        ask(larder, "/", &fields)
    };
    let bodies = clients.map(|(region, currency)| {
        get(&larder, region, currency);
        get(&larder, region, currency).text()
    });
    for _ in 0..2 {
        larder = site.restart(larder);
        for ((region, currency), body) in clients.iter().zip(&bodies) {
            let answer = get(&larder, region, currency);
            assert!(answer.hit(), "{region} {currency}: {}", answer.said());
            assert_eq!(answer.text(), *body, "{region} {currency}");
        }
        assert!(!get(&larder, "south", "usd").text().is_empty());
    }
    assert!(!site.holds("of-one-user"), "nobody's session is written");
}

/// Answers the first two requests with the old body, then with a new one.
fn changing(request: &Request, old: usize, new: usize) -> Reply {
    let path = request.path();
    let (seed, size) = if request.header("x-new").is_some() {
        ("new", new)
    } else {
        ("old", old)
    };
    Reply::ok()
        .cache("max-age=600")
        .body(content(&format!("{path} {seed}"), size))
}

/// Has the origin's new answer take the place of the old one.
fn renew(larder: &Larder, path: &str) {
    let fields = [("Cache-Control", "no-cache"), ("X-New", "1")];
    let answer = ask(larder, path, &fields);
    assert!(answer.body.starts_with(format!("{path} new").as_bytes()));
}

#[track_caller]
fn never_old(larder: &Larder, path: &str) {
    let answer = ask(larder, path, &[("X-New", "1")]);
    let text = String::from_utf8_lossy(&answer.body[..20]).into_owned();
    assert!(
        text.starts_with(&format!("{path} new")),
        "9111 section 4: the most recent one: {text:?} {}",
        answer.said()
    );
}

#[test]
fn what_changes_while_it_is_written_stays_changed() {
    for (old, new) in [(500, 600), (500, MIDDLE), (LARGE, 600), (LARGE, LARGE + 1)] {
        let site = Site::with(move |request| changing(request, old, new));
        let larder = site.start();
        let paths: Vec<_> = (0..12).map(|number| format!("/{number}")).collect();
        for path in &paths {
            keep(&larder, &[path]);
            renew(&larder, path);
        }
        let mut larder = larder;
        for _ in 0..2 {
            larder = site.restart(larder);
            for path in &paths {
                never_old(&larder, path);
            }
        }
    }
}

#[test]
fn what_the_disk_does_not_take_leaves_no_older_one_there() {
    let site = Site::new("");
    let slow = site
        .config()
        .replace("[disk]", "[disk]\nwrite_rate = \"1KiB\"");
    site.origin.otherwise(|request| match request.path() {
        "/page" => changing(request, 500, 600),
        path => Reply::ok()
            .cache("max-age=600")
            .body(content(path, 400_000)),
    });
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&slow)
        .start();
    keep(&larder, &["/page"]);
    site.wait_holds("/page old");
    // This takes all that may be written in the next minutes.
    keep(&larder, &["/much"]);
    renew(&larder, "/page");
    never_old(&larder, "/page");
    // Memory has no room for it any more.
    for number in 0..30 {
        larder.get(&format!("/more/{number}")).send();
    }
    never_old(&larder, "/page");
    let larder = site.restart(larder);
    never_old(&larder, "/page");
}

#[test]
fn what_does_not_last_takes_the_place_of_what_does() {
    for vary in [None, Some("X-Other")] {
        let site = Site::with(move |request| {
            let (what, seconds) = match request.header("x-new") {
                Some(_) => ("new", 10),
                None => ("old", 600),
            };
            let reply = Reply::ok()
                .cache(&format!("max-age={seconds}"))
                .body(content(&format!("{} {what}", request.path()), 500));
            match vary {
                Some(name) => reply.header("Vary", name),
                None => reply,
            }
        });
        let larder = site.start();
        keep(&larder, &["/page"]);
        for _ in 0..2 {
            renew(&larder, "/page");
        }
        let larder = site.restart(larder);
        never_old(&larder, "/page");
    }
}

/// A page in the version that is asked for, with a tag of that version. Only the first lasts.
fn versions(request: &Request) -> Reply {
    let version = request.header("x-version").unwrap_or("1");
    let seconds = if version == "1" { 600 } else { 20 };
    Reply::ok()
        .cache(&format!("max-age={seconds}"))
        .header("Surrogate-Key", format!("v{version}"))
        .body(format!("{} version {version}", request.path()))
}

/// What is sent, where the origin would send version 9.
fn version_now(larder: &Larder) -> String {
    ask(larder, "/page", &[("X-Version", "9")]).text()
}

/// A site whose first version is on disk and was replaced by two that do not last.
fn with_two_that_do_not_last() -> (Site, Larder) {
    let site = Site::with(versions);
    let larder = site.start();
    keep(&larder, &["/page"]);
    wait_written(&larder, 1);
    for version in ["2", "3"] {
        let fields = [("Cache-Control", "no-cache"), ("X-Version", version)];
        let answer = ask(&larder, "/page", &fields);
        assert_eq!(answer.text(), format!("/page version {version}"));
        wait_written(&larder, 2);
    }
    assert_eq!(version_now(&larder), "/page version 3");
    (site, larder)
}

#[test]
fn of_several_that_do_not_last_none_comes_back_after_a_restart() {
    let (site, larder) = with_two_that_do_not_last();
    let larder = site.restart(larder);
    assert_eq!(version_now(&larder), "/page version 9");
}

#[test]
fn of_several_that_do_not_last_none_comes_back_when_the_latest_is_purged() {
    let (_site, larder) = with_two_that_do_not_last();
    purge(&larder, &json!({ "tags": ["v3"] }));
    assert_eq!(version_now(&larder), "/page version 9");
}

/// Else a page whose lifetime was shortened would be written every few seconds.
#[test]
fn what_does_not_last_is_not_written_again_and_again() {
    let (site, larder) = with_two_that_do_not_last();
    for version in ["4", "5"] {
        let fields = [("Cache-Control", "no-cache"), ("X-Version", version)];
        ask(&larder, "/page", &fields);
    }
    // This is written after whatever came before.
    keep(&larder, &["/other"]);
    site.wait_holds("/other version 1");
    wait_written(&larder, 3);
    assert_eq!(sample(&larder, "larder_disk_writes_total"), 3);
}

/// RFC 9111 section 4.3.3: a full answer says of what the condition named, and the request could have been answered
/// with, that it is not suitable: an application that has forgotten a `Vary`, and sends it now. After a restart that is
/// given up still.
#[test]
fn what_was_given_up_stays_so_after_a_restart() {
    let site = Site::with(|request| {
        let version = if request.nth == 1 { "old" } else { "new" };
        let language = request.header("accept-language").unwrap_or("none");
        let reply = Reply::ok()
            .cache("max-age=3600")
            .header("ETag", format!("\"{version}\""))
            .body(format!("{version} {language}"));
        match version {
            "old" => reply,
            _ => reply.header("Vary", "Accept-Language"),
        }
    });
    let mut larder = site.start();
    let ask = |larder: &Larder, language: &str| larder.get("/").header("Accept-Language", language);
    for _ in 0..3 {
        assert_eq!(ask(&larder, "de").send().text(), "old de");
    }
    wait_written(&larder, 1);
    let forced = ask(&larder, "de").header("Cache-Control", "no-cache");
    assert_eq!(forced.send().text(), "new de");
    assert_eq!(ask(&larder, "fr").send().text(), "new fr");
    larder = site.restart(larder);
    for language in ["it", "de", "fr"] {
        let answer = ask(&larder, language).send();
        assert_eq!(
            answer.text(),
            format!("new {language}"),
            "{}",
            answer.said()
        );
    }
}

/// A reload brings a short-lived one in the place of one that lasts; another variant was short-lived before.
#[test]
fn what_does_not_last_takes_the_place_of_what_does_beside_another_variant() {
    let site = Site::with(|request| {
        let language = request.header("accept-language").unwrap_or("none");
        let (what, seconds) = match (language, request.header("x-new")) {
            ("de", None) => ("old", 600),
            (_, Some(_)) => ("new", 10),
            _ => ("old", 10),
        };
        Reply::ok()
            .cache(&format!("max-age={seconds}"))
            .header("Vary", "Accept-Language")
            .body(content(&format!("{what} {language}"), 500))
    });
    let larder = site.start();
    let get = |larder: &Larder, language: &str, more: &[(&str, &str)]| {
        let mut fields = vec![("Accept-Language", language)];
        fields.extend_from_slice(more);
        ask(larder, "/page", &fields)
    };
    for _ in 0..2 {
        get(&larder, "de", &[]);
    }
    wait_written(&larder, 1);
    get(&larder, "fr", &[]);
    wait_written(&larder, 2);
    let anew = [("Cache-Control", "no-cache"), ("X-New", "1")];
    let answer = get(&larder, "de", &anew);
    assert!(answer.body.starts_with(b"new de"), "{}", answer.said());
    let larder = site.restart(larder);
    let answer = get(&larder, "de", &[("X-New", "1")]);
    assert!(
        answer.body.starts_with(b"new de"),
        "9111 section 4: the most recent one: {}",
        answer.said()
    );
}

/// RFC 9111 section 4.3.5: what a HEAD has said of what is stored holds after a restart too.
#[test]
fn what_a_forwarded_head_freshened_stays_so() {
    let site = Site::with(|request| {
        let (version, seconds) = match request.method.as_str() {
            "HEAD" => ("2", 60),
            _ => ("1", 600),
        };
        let size = content("page", 500).len();
        let reply = Reply::ok()
            .cache(&format!("max-age={seconds}"))
            .header("ETag", "\"a\"")
            .header("X-Version", version);
        match request.method.as_str() {
            "HEAD" => reply.header("Content-Length", size.to_string()),
            _ => reply.body(content("page", 500)),
        }
    });
    let larder = site.start();
    keep(&larder, &["/"]);
    wait_written(&larder, 1);
    // The condition is the origin's to judge.
    let head = larder.ask("HEAD", "/").header("If-Match", "\"x\"").send();
    assert_eq!(head.header("x-version"), Some("2"), "{}", head.said());
    let larder = site.restart(larder);
    let answer = larder.get("/").send();
    assert!(answer.hit(), "{}", answer.said());
    assert_eq!(answer.header("x-version"), Some("2"), "{}", answer.said());
    same(&answer.body, &content("page", 500), "the same body");
}

/// RFC 9111 section 4.3.5: what memory has lost is out of date too.
#[test]
fn a_head_that_shows_another_version_says_so_of_what_is_on_disk_alone() {
    let version = Arc::new(AtomicUsize::new(1));
    let now = version.clone();
    let site = Site::with(move |request| {
        let version = now.load(Ordering::SeqCst);
        let reply = Reply::ok()
            .cache("max-age=600")
            .header("ETag", format!("\"{version}\""));
        match (request.method.as_str(), request.path()) {
            ("HEAD", path) => reply.header("Content-Length", size_of_page(path).to_string()),
            (_, path) => reply.body(content(&version.to_string(), size_of_page(path))),
        }
    });
    let pages = ["/0", "/1", "/2"];
    let larder = site.start();
    keep(&larder, &pages);
    wait_written(&larder, 3);
    let larder = site.restart(larder);
    version.store(2, Ordering::SeqCst);
    for page in pages {
        let head = larder.ask("HEAD", page).header("If-Match", "\"2\"");
        let head = head.send();
        assert_eq!(head.header("etag"), Some("\"2\""), "{}", head.said());
        let answer = larder.get(page).send();
        let expected = content("2", size_of_page(page));
        assert!(answer.body == expected, "{page}: {}", answer.said());
    }
}

/// One of [`SIZES`], by the page's number.
fn size_of_page(path: &str) -> usize {
    let number: usize = path.trim_start_matches('/').parse().expect("a number");
    SIZES[number]
}
