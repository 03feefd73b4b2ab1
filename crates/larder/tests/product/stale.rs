//! Stale answers: while revalidating, on errors, when the origin cannot be reached (RFC 5861, RFC 9111 section 4.2.4).

use crate::{
    common::{Said, sample, start, start_with},
    explain::explained,
};
use testkit::{Gate, Larder, Origin, Reply, Request, wait_until};

/// The first answer has these directives beside `max-age=60`, and an age of 70; what comes after, `then` says.
fn stale_with(
    directives: &'static str,
    then: impl Fn() -> Reply + Send + Sync + 'static,
) -> (Origin, Larder) {
    let (origin, larder) = start();
    origin.on("/", move |request| match request.nth {
        1 => Reply::ok()
            .cache(directives)
            .header("Age", "70")
            .body("old"),
        _ => then(),
    });
    assert_eq!(larder.get("/").send().text(), "old");
    (origin, larder)
}

fn new() -> Reply {
    Reply::ok().cache("max-age=60").body("new")
}

#[test]
fn within_the_window_the_stale_answer_comes_at_once_and_one_fetch_refreshes() {
    let gate = Gate::new();
    let held = gate.clone();
    let (origin, larder) = stale_with("max-age=60, stale-while-revalidate=100", move || {
        new().hold_head(&held)
    });
    for _ in 0..5 {
        let answer = larder.get("/").send();
        assert_eq!(
            answer.text(),
            "old",
            "5861 section 3: served while it is refreshed"
        );
        assert!(answer.hit(), "{}", answer.said());
        let ttl: i64 = answer
            .parameter("ttl")
            .expect("a ttl")
            .parse()
            .expect("a number");
        assert!(ttl < 0, "9211 section 2.3: negative when stale: {ttl}");
        assert!(
            answer
                .header("age")
                .expect("an age")
                .parse::<u64>()
                .expect("a number")
                >= 70
        );
    }
    gate.wait_reached();
    assert_eq!(origin.requests("/"), 2, "one refresh for all");
    gate.open();
    wait_until("the new answer is served", || {
        larder.get("/").send().text() == "new"
    });
    let after = larder.get("/").send();
    assert!(after.hit());
    assert_eq!(origin.requests("/"), 2);
}

#[test]
fn past_the_window_the_origin_is_asked() {
    let (_origin, larder) = stale_with("max-age=60, stale-while-revalidate=5", new);
    let answer = larder.get("/").send();
    assert_eq!(
        (answer.text().as_str(), answer.parameter("fwd").as_deref()),
        ("new", Some("stale"))
    );
}

#[test]
fn a_refresh_that_finds_no_change_freshens() {
    let then = || {
        Reply::status(304)
            .cache("max-age=60")
            .header("ETag", "\"a\"")
    };
    let (origin, larder) = start();
    origin.on("/", move |request| match request.nth {
        1 => {
            let reply = Reply::ok().cache("max-age=60, stale-while-revalidate=100");
            reply
                .header("Age", "70")
                .header("ETag", "\"a\"")
                .body("old")
        }
        _ => then(),
    });
    larder.get("/").send();
    assert_eq!(larder.get("/").send().text(), "old");
    wait_until("it is fresh again", || {
        larder
            .get("/")
            .send()
            .parameter("ttl")
            .is_some_and(|ttl| !ttl.starts_with('-'))
    });
    assert_eq!(origin.last("/").header("if-none-match"), Some("\"a\""));
}

#[test]
fn a_refresh_that_fails_leaves_the_stale_answer_in_place() {
    let (origin, larder) = stale_with("max-age=60, stale-while-revalidate=100", || {
        Reply::status(500).body("broken")
    });
    wait_until("the origin was asked again and again", || {
        assert_eq!(larder.get("/").send().text(), "old");
        origin.requests("/") > 3
    });
}

#[test]
fn an_answer_that_breaks_off_leaves_the_stale_one_in_place() {
    let (origin, larder) = stale_with(
        "max-age=60, stale-while-revalidate=100, stale-if-error=100",
        || {
            Reply::ok()
                .cache("max-age=60")
                .length(100_000)
                .body("new, but")
                .cut()
        },
    );
    assert_eq!(larder.get("/").send().text(), "old");
    wait_until("the refresh has broken off", || {
        sample(&larder, "larder_fills_failed_total") == 1
    });
    origin.reply("/", Reply::status(500).body("broken"));
    for _ in 0..2 {
        assert_eq!(larder.get("/").send().text(), "old", "9111 section 4.2.4");
    }
}

/// An application that is down or busy is not asked with each hit.
#[test]
fn a_refresh_that_failed_is_not_made_anew_with_each_hit() {
    for failing in [Reply::close, || Reply::status(503)] {
        let (origin, larder) = stale_with("max-age=60, stale-while-revalidate=1000", failing);
        let began = std::time::Instant::now();
        for _ in 0..100 {
            assert_eq!(larder.get("/").send().text(), "old");
        }
        // One for each second that has begun; where a connection is closed, each may be tried twice.
        let most = 2 * (began.elapsed().as_secs() as usize + 2);
        let refreshes = origin.requests("/") - 1;
        assert!((1..=most).contains(&refreshes), "{refreshes} of {most}");
    }
}

#[test]
fn an_answer_that_breaks_off_does_not_bring_back_what_was_purged_meanwhile() {
    let gate = Gate::new();
    let held = gate.clone();
    let (origin, larder) = stale_with("max-age=60, stale-while-revalidate=100", move || {
        Reply::ok()
            .cache("max-age=60")
            .length(100_000)
            .body("new, but")
            .hold(&held)
            .cut()
    });
    assert_eq!(larder.get("/").send().text(), "old");
    gate.wait_reached();
    // Its own answer is held as well.
    let mut delete = larder.ask("DELETE", "/").begin();
    delete.read_head();
    gate.open();
    wait_until("the refresh has broken off", || {
        sample(&larder, "larder_fills_failed_total") == 1
    });
    origin.reply("/", Reply::status(500).body("broken"));
    assert_eq!(larder.get("/").send().status, 500);
}

#[test]
fn on_an_error_the_stale_answer_is_sent() {
    for status in [500, 502, 503, 504] {
        let (_origin, larder) = stale_with("max-age=60, stale-if-error=100", move || {
            Reply::status(status).body("broken")
        });
        let answer = larder.get("/").send();
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (200, "old"),
            "5861 section 4: {status}"
        );
    }
}

#[test]
fn other_statuses_are_no_errors() {
    for status in [400, 403, 404, 410, 501] {
        let (_origin, larder) = stale_with("max-age=60, stale-if-error=100", move || {
            Reply::status(status).body("no")
        });
        let answer = larder.get("/").send();
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (status, "no"),
            "5861 section 4"
        );
    }
}

#[test]
fn past_the_window_the_error_is_passed_on() {
    let (_origin, larder) = stale_with("max-age=60, stale-if-error=5", || {
        Reply::status(503).body("broken")
    });
    assert_eq!(larder.get("/").send().status, 503);
    // RFC 5861 section 4: "any situation" that would result in such a status.
    for directives in [
        "max-age=60, stale-if-error=0",
        "max-age=60, stale-if-error=5",
    ] {
        let (_origin, larder) = stale_with(directives, Reply::close);
        assert_eq!(larder.get("/").send().status, 502, "{directives}");
    }
}

#[test]
fn without_leave_an_error_is_passed_on() {
    let (_origin, larder) = stale_with("max-age=60", || Reply::status(503).body("broken"));
    assert_eq!(larder.get("/").send().status, 503);
}

#[test]
fn the_request_may_give_leave() {
    let (_origin, larder) = stale_with("max-age=60", || Reply::status(503).body("broken"));
    let answer = larder
        .get("/")
        .header("Cache-Control", "stale-if-error=100")
        .send();
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (200, "old"),
        "5861 section 4: request directive"
    );
}

#[test]
fn a_connection_that_breaks_or_is_refused_is_an_error_too() {
    for directives in ["max-age=60, stale-if-error=100", "max-age=60"] {
        let (origin, larder) = stale_with(directives, Reply::close);
        let broken = larder.get("/").send();
        assert_eq!(
            (broken.status, broken.text().as_str()),
            (200, "old"),
            "9111 section 4.2.4: disconnected: {directives}"
        );
        origin.stop();
        let refused = larder.get("/").send();
        assert_eq!(
            (refused.status, refused.text().as_str()),
            (200, "old"),
            "9111 section 4.2.4: disconnected: {directives}"
        );
        origin.start_again();
        origin.reply("/", new());
        wait_until("the origin is asked again", || {
            larder.get("/").send().text() == "new"
        });
    }
}

#[test]
fn a_fresh_answer_survives_its_origin() {
    let (origin, larder) = start();
    origin.reply("/", new());
    larder.get("/").send();
    origin.stop();
    let answer = larder.get("/").send();
    assert!(answer.hit() && answer.text() == "new");
}

#[test]
fn never_where_the_origin_forbids_it() {
    for directives in [
        "max-age=60, must-revalidate",
        "max-age=60, proxy-revalidate",
        "no-cache, max-age=60",
        "s-maxage=60",
        "s-maxage=60, stale-while-revalidate=5",
        "s-maxage=60, stale-if-error=5",
        "max-age=60, must-revalidate, stale-if-error=100",
        "max-age=60, must-revalidate, stale-while-revalidate=100",
        "max-age=60, proxy-revalidate, stale-while-revalidate=100",
        "max-age=60, no-cache, stale-if-error=100, stale-while-revalidate=100",
    ] {
        let (origin, larder) = stale_with(directives, || Reply::status(503).body("broken"));
        for answer in [
            larder.get("/").send(),
            larder
                .get("/")
                .header("Cache-Control", "max-stale, stale-if-error=100")
                .send(),
        ] {
            assert_eq!(
                (answer.status, answer.text().as_str()),
                (503, "broken"),
                "9111 section 4.2.4: MUST NOT: {directives}"
            );
        }
        origin.stop();
        let unreachable = larder.get("/").send();
        assert_ne!(
            unreachable.text(),
            "old",
            "9111 section 4.2.4: MUST NOT: {directives}"
        );
        assert!(
            matches!(unreachable.status, 502 | 504),
            "9111 section 5.2.2.2: MUST be an error: {directives}"
        );
    }
}

#[test]
fn an_explicit_window_beside_s_maxage_wins() {
    let (_origin, larder) = stale_with("s-maxage=60, stale-while-revalidate=100", new);
    assert!(larder.get("/").send().hit());
    let (_origin, larder) = stale_with("s-maxage=60, stale-if-error=100", || Reply::status(503));
    assert_eq!(larder.get("/").send().text(), "old");
}

#[test]
fn beside_s_maxage_an_explicit_window_opens_itself_alone() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults.stale]\nwhile_revalidate = \"1h\"\nif_error = \"1h\"\n",
    );
    let first = |directives: &'static str| {
        move |request: &Request| match request.nth {
            1 => Reply::ok()
                .cache(directives)
                .header("Age", "70")
                .body("old"),
            _ => Reply::status(503).body("broken"),
        }
    };
    origin.on("/error", first("s-maxage=60, stale-if-error=100"));
    larder.get("/error").send();
    let hidden = larder.get("/error").send();
    assert_eq!(
        hidden.parameter("detail").as_deref(),
        Some("stale-if-error")
    );
    origin.on("/refresh", first("s-maxage=60, stale-while-revalidate=5"));
    larder.get("/refresh").send();
    assert_eq!(larder.get("/refresh").send().text(), "broken");
}

/// What is fresh, sent because the origin was asked in vain.
#[test]
fn what_is_fresh_is_not_said_to_be_stale_where_the_origin_fails() {
    for (dies, detail) in [(false, "fresh-if-error"), (true, "refused")] {
        let (origin, larder) = start();
        origin.on("/", |request| match request.nth {
            1 => Reply::ok().cache("max-age=60").body("good"),
            _ => Reply::status(503),
        });
        larder.get("/").send();
        if dies {
            origin.stop();
        }
        let answer = larder.get("/").header("Cache-Control", "no-cache").send();
        assert_eq!(answer.text(), "good", "9111 section 5.2.1.4: a preference");
        let said = answer.said();
        assert!(said.contains("fwd=request"), "{said}");
        let ttl = answer.parameter("ttl").expect("a ttl");
        let ttl: i64 = ttl.parse().expect("a number");
        assert!((1..=60).contains(&ttl), "9211 section 2.4: {said}");
        assert_eq!(
            answer.parameter("detail").as_deref(),
            Some(detail),
            "{said}"
        );
        assert!(answer.header("age").is_some(), "9111 section 4");
    }
}

#[test]
fn of_a_targeted_field_the_windows_count() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.nth {
        1 => {
            let reply = Reply::ok()
                .header(
                    "CDN-Cache-Control",
                    "max-age=60, stale-while-revalidate=100",
                )
                .cache("max-age=0");
            reply.header("Age", "70").body("old")
        }
        _ => new(),
    });
    larder.get("/").send();
    assert_eq!(larder.get("/").send().text(), "old");
}

#[test]
fn many_clients_of_a_dead_origin_all_get_the_stale_answer() {
    let (origin, larder) = stale_with("max-age=60, stale-if-error=100", new);
    origin.stop();
    let mut clients: Vec<_> = (0..20).map(|_| larder.get("/").begin()).collect();
    for client in &mut clients {
        assert_eq!(client.read().text(), "old");
    }
}

#[test]
fn a_stale_answer_that_covers_a_failure_tells_its_age_and_is_counted_as_such() {
    let (origin, larder) =
        start_with("[report]\nx_cache = \"X-Cache-Status\"\n[[origin]]\nservers = \"{origin}\"\n");
    origin.on("/", |request| match request.nth {
        1 => Reply::ok()
            .cache("max-age=0, stale-if-error=60")
            .body("old"),
        _ => Reply::status(503).body("broken"),
    });
    larder.get("/").send();
    let answer = larder.get("/").send();
    assert_eq!((answer.status, answer.text().as_str()), (200, "old"));
    assert!(
        answer.header("age").is_some(),
        "9111 section 4: MUST generate an Age field where it was not validated: {:?}",
        answer.head
    );
    assert_eq!(answer.header("x-cache-status"), Some("STALE"));
    assert_eq!(
        sample(&larder, "larder_hits_total{kind=\"stale-on-failure\"}"),
        1
    );
    assert_eq!(
        sample(&larder, "larder_forwarded_total{reason=\"stale\"}"),
        0
    );
}

/// Each answer is an error with these directives, whose body counts them; stale from the start.
fn failing(config: &str, directives: &'static str) -> (Origin, Larder) {
    let (origin, larder) = start_with(&format!(
        "[[origin]]\nservers = \"{{origin}}\"\npassive.failures = 0\nretry.attempts = 0\n{config}"
    ));
    origin.on("/", move |request| {
        let error = Reply::status(503).cache(directives).header("Age", "100");
        error.body(request.nth.to_string())
    });
    (origin, larder)
}

#[test]
fn a_stored_error_stands_in_for_no_other() {
    const SITE: &str = "[defaults]\nstale = { if_error = \"1h\", while_revalidate = \"1h\" }\n";
    for (config, directives) in [
        (SITE, "max-age=60"),
        ("", "max-age=60, stale-if-error=6000"),
    ] {
        let (origin, larder) = failing(config, directives);
        for count in ["1", "2", "3"] {
            let error = larder.get("/").send();
            assert_eq!(
                (error.status, error.text().as_str()),
                (503, count),
                "5861 section 4: {directives}: {}",
                error.said()
            );
            assert!(error.says("stored"), "{}", error.said());
        }
        origin.stop();
        assert_eq!(larder.get("/").send().status, 502);
    }
}

#[test]
fn an_error_that_is_no_use_to_anybody_leaves_the_page_that_stands_in_for_it() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\npassive.failures = 0\nretry.attempts = 0\n",
    );
    origin.on("/", |request| match request.nth {
        1 => Reply::ok()
            .cache("max-age=60")
            .header("Age", "100")
            .body("good"),
        2 => Reply::status(500)
            .cache("max-age=0")
            .header("ETag", "\"error\"")
            .body("oops"),
        _ => Reply::close(),
    });
    assert_eq!(larder.get("/").send().text(), "good");
    let error = larder.get("/").send();
    assert_eq!(
        (error.status, error.parameter("detail").as_deref()),
        (500, Some("no-freshness"))
    );
    let stood_in = larder.get("/").send();
    assert_eq!(
        (stood_in.status, stood_in.text().as_str()),
        (200, "good"),
        "9111 section 4.2.4: {}",
        stood_in.said()
    );
}

/// The refresh is ours: what the client says of caching is about the answer that it has had.
#[test]
fn a_refresh_goes_without_its_clients_directives() {
    for directives in ["no-store", "only-if-cached", "max-stale=1000"] {
        let (origin, larder) = stale_with("max-age=60, stale-while-revalidate=100", new);
        let answer = larder.get("/").header("Cache-Control", directives).send();
        assert_eq!(answer.text(), "old", "{directives}: {}", answer.said());
        wait_until("the new answer is served", || {
            larder.get("/").send().text() == "new"
        });
        assert_eq!(origin.requests("/"), 2, "{directives}: one refresh");
        let asked = origin.all().pop().expect("a request");
        assert_eq!(asked.header("cache-control"), None, "{directives}");
    }
}

/// What is stored is for everybody, whoever's request makes it fresh.
#[test]
fn who_must_not_fill_the_store_has_it_refreshed_without_his_cookie() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[[route]]\nbypass.misses_with = [\"form\"]\n",
    );
    origin.on("/", |request| {
        let whose = request.header("cookie").unwrap_or("everybody's").to_owned();
        let reply = Reply::ok().body(whose);
        if request.nth == 1 {
            return reply
                .cache("max-age=60, stale-while-revalidate=600")
                .header("Age", "70");
        }
        reply.cache("max-age=60")
    });
    larder.get("/").send();
    let stale = larder.get("/").header("Cookie", "form=1").send();
    assert!(
        stale.hit() && stale.text() == "everybody's",
        "{}",
        stale.said()
    );
    wait_until("it is refreshed", || origin.requests("/") == 2);
    assert_eq!(origin.last("/").header("cookie"), None);
    wait_until("what came is sent", || {
        larder
            .get("/")
            .send()
            .parameter("ttl")
            .is_some_and(|ttl| !ttl.starts_with('-'))
    });
    assert_eq!(larder.get("/").send().text(), "everybody's");
}

/// With `misses_with` a visitor's answer fills no store; what is stored stands in for it all the same, as for everybody.
#[test]
fn who_must_not_fill_the_store_gets_what_is_stale_as_others_do() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[[route]]\nbypass = { misses_with = [\"form\"], cookies = [\"login\"] }\n",
    );
    let past = |said: &str| Reply::ok().cache(said).header("Age", "70");
    let first = past("max-age=60, stale-if-error=600").body("everybody's");
    origin.on("/", move |request| match request.nth {
        1 => first.clone(),
        2 => Reply::ok().body("the visitor's own"),
        3 => Reply::status(503).body("overloaded"),
        _ => Reply::status(404).body("gone"),
    });
    origin.reply(
        "/guarded",
        past("max-age=60, must-revalidate").body("guarded"),
    );
    let ask = |target: &str| larder.get(target).header("Cookie", "form=1").send();
    assert_eq!(larder.get("/").send().text(), "everybody's");
    larder.get("/guarded").send();
    let told = |target: &str, cookie| {
        explained(
            &larder,
            &format!("http://example.test{target}"),
            &[("Cookie", cookie)],
        )
    };
    for (target, cookie, is_told) in [
        ("/", "form=1", true),
        ("/guarded", "form=1", false),
        ("/", "login=1", false),
    ] {
        let told = told(target, cookie);
        assert_eq!(
            told.contains("the stored response is sent instead"),
            is_told,
            "{told}"
        );
    }
    assert_eq!(ask("/").text(), "the visitor's own");
    let stale = ask("/");
    assert_eq!(
        (stale.status, stale.text().as_str()),
        (200, "everybody's"),
        "{}",
        stale.said()
    );
    assert_eq!(stale.parameter("fwd").as_deref(), Some("bypass"));
    assert_eq!(stale.parameter("fwd-status").as_deref(), Some("503"));
    assert_eq!(stale.parameter("detail").as_deref(), Some("stale-if-error"));
    assert_eq!(ask("/").status, 404, "no failure of the origin");
    origin.stop();
    let stale = ask("/");
    assert_eq!((stale.status, stale.text().as_str()), (200, "everybody's"));
    assert_eq!(stale.parameter("detail").as_deref(), Some("refused"));
    assert_eq!(ask("/guarded").status, 502);
}

/// The statuses that count as failing are the site's to name, as with nginx's `proxy_cache_use_stale`.
#[test]
fn the_statuses_of_a_failing_origin_are_the_sites_to_name() {
    for (statuses, failing, passed) in [
        (r#"["429", "404"]"#, &[429, 404][..], &[500, 503, 410][..]),
        (r#"["5xx"]"#, &[500, 501, 599], &[429]),
        ("\"503\"", &[503], &[500, 504]),
        ("[]", &[], &[500, 503]),
    ] {
        let (origin, larder) = start_with(&format!(
            "[[origin]]\nservers = \"{{origin}}\"\nretry.attempts = 0\n\
             [[route]]\nstale.if_error = \"1h\"\nstale.statuses = {statuses}\n"
        ));
        for status in failing.iter().chain(passed).copied() {
            let path = format!("/{status}");
            origin.on(&path, move |request| match request.nth {
                1 => Reply::ok()
                    .cache("max-age=60")
                    .header("Age", "70")
                    .body("old"),
                _ => Reply::status(status).cache("no-store"),
            });
            larder.get(&path).send();
            let answer = larder.get(&path).send();
            let hides = failing.contains(&status);
            let wanted = if hides { 200 } else { status };
            assert_eq!(answer.status, wanted, "{statuses}: {}", answer.said());
            let detail = answer.parameter("detail");
            assert_eq!(detail.as_deref() == Some("stale-if-error"), hides);
        }
    }
}

/// Who overrides what the application says of lifetimes also overrides how long it lets stale answers be sent.
#[test]
fn under_a_forced_lifetime_the_sites_window_replaces_the_applications() {
    for (stale, hides) in [("stale.if_error = \"1h\"\n", true), ("", false)] {
        let (origin, larder) = start_with(&format!(
            "[[origin]]\nservers = \"{{origin}}\"\nretry.attempts = 0\n\
             [[route]]\nttl.200 = \"1s\"\nttl_mode = \"override\"\n{stale}"
        ));
        origin.on("/", |request| match request.nth {
            1 => Reply::ok().cache("max-age=1, stale-if-error=0").body("old"),
            _ => Reply::status(503).cache("no-store"),
        });
        let mut answer = larder.get("/").send();
        wait_until("the page is stale", || {
            answer = larder.get("/").send();
            origin.requests("/") > 1
        });
        let wanted = if hides { 200 } else { 503 };
        assert_eq!(answer.status, wanted, "{stale}: {}", answer.said());
    }
}

/// One failure hides no other: what is stored of such a status is no page that could stand in.
#[test]
fn a_stored_answer_that_counts_as_failing_hides_no_other() {
    for status in [404, 403, 429, 501] {
        let (origin, larder) = start_with(
            "[[origin]]\nservers = \"{origin}\"\nretry.attempts = 0\n[[route]]\nttl.404 = \"1s\"\n\
             [route.stale]\nif_error = \"1h\"\nstatuses = [\"4xx\", \"5xx\"]\n",
        );
        origin.on("/", move |request| {
            let reply = Reply::status(status).body(request.nth.to_string());
            reply.cache("max-age=60").header("Age", "70")
        });
        assert_eq!(larder.get("/").send().text(), "1");
        let told = explained(&larder, "http://example.test/", &[]);
        // A 429 is never stored (RFC 6585 section 4).
        let is_there = told.contains(&format!("1. status {status}"));
        assert_eq!(is_there, status != 429, "{told}");
        assert!(
            !told.contains("is sent instead") && !told.contains("past its lifetime it is sent"),
            "{told}"
        );
        assert_eq!(larder.get("/").send().text(), "2", "{status}");
    }
}

/// RFC 9111 section 4.3.1: the fields by which the stale response was chosen go along, also where they say something of
/// caching.
#[test]
fn a_variant_by_what_clients_say_of_caching_is_refreshed_once() {
    for (name, value) in [("Cache-Control", "max-stale=50"), ("Pragma", "x")] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            let age = if request.nth == 1 { "70" } else { "0" };
            Reply::ok()
                .cache("max-age=60, stale-while-revalidate=100")
                .header("Vary", name)
                .header("Age", age)
                .body(request.nth.to_string())
        });
        let ask = || larder.get("/").header(name, value).send();
        assert_eq!(ask().text(), "1");
        assert_eq!(ask().text(), "1", "{name}: stale");
        origin.wait_requests("/", 2);
        assert_eq!(origin.last("/").header(name), Some(value));
        wait_until("it is refreshed", || ask().text() == "2");
        assert_eq!(origin.requests("/"), 2, "{name}");
    }
}
