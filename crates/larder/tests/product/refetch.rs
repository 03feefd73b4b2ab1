//! After a soft purge the busiest of what it touched is fetched again before anybody asks.

use crate::common::{Said, start_with};
use std::time::{Duration, Instant};
use testkit::{Client, Larder, Reply, wait_until};

fn soft_purge(larder: &Larder, what: &str) {
    let answer = Client::connect(larder.admin())
        .ask("POST", "/purge")
        .header("Host", "localhost")
        .header("Content-Type", "application/json")
        .body(format!("{{{what}, \"soft\": true}}"))
        .send();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// Not by the admin API, but in `FOSHttpCache`'s words.
const FROM_A_CLIENT: &str = "xkey";

#[test]
fn the_busiest_are_fetched_again_and_no_more_than_asked_for() {
    for what in [
        "\"tag\": \"all\"",
        "\"everything\": true",
        "\"prefix\": \"/\"",
        FROM_A_CLIENT,
    ] {
        let (origin, larder) = start_with(
            "[[origin]]\nservers = \"{origin}\"\n[purge]\nrefresh = { most = 2, rate = 100 }\n",
        );
        origin.otherwise(|request| {
            Reply::ok()
                .cache("max-age=60")
                .header("Surrogate-Key", "all")
                .body(format!("{} {}", request.path(), request.nth))
        });
        for (path, times) in [("/busy", 9), ("/some", 5), ("/seldom", 2), ("/once", 1)] {
            for _ in 0..times {
                larder.get(path).send();
            }
        }
        if what == FROM_A_CLIENT {
            let ask = larder.ask("PURGEKEYS", "/");
            assert_eq!(ask.header("xkey-softpurge", "all").send().status, 200);
        } else {
            soft_purge(&larder, what);
        }
        wait_until("the busy ones are fetched again", || {
            origin.requests("/busy") == 2 && origin.requests("/some") == 2
        });
        wait_until("they are fresh", || larder.get("/busy").send().hit());
        assert_eq!(larder.get("/busy").send().text(), "/busy 2");
        let left = ["/seldom", "/once"].map(|path| origin.requests(path));
        assert_eq!(left, [1, 1], "{what}");
    }
}

/// What has become a stream without an end does not hold up the rest.
#[test]
fn what_never_ends_holds_up_nobody() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[purge]\nrefresh = { most = 2, rate = 100 }\n",
    );
    origin.otherwise(move |request| {
        let reply = Reply::ok().header("Surrogate-Key", "all");
        if request.path() == "/busy" && request.nth > 1 {
            let stream = reply.cache("no-store").chunked().body("first");
            return stream.until_client_leaves();
        }
        reply.cache("max-age=60").body("page")
    });
    for (path, times) in [("/busy", 9), ("/some", 5)] {
        for _ in 0..times {
            larder.get(path).send();
        }
    }
    soft_purge(&larder, "\"tag\": \"all\"");
    wait_until("the second is fetched again", || {
        origin.requests("/busy") > 1 && origin.requests("/some") == 2
    });
}

/// Each variant is asked for as its clients ask for it, and nobody's cookie is used again.
#[test]
fn variants_are_fetched_as_their_clients_ask_and_personal_ones_are_not() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[purge]\nrefresh = { most = 10, rate = 100 }\n[defaults]\ncompress = false\n",
    );
    origin.on("/coded", |request| {
        Reply::ok()
            .cache("max-age=60")
            .header("Vary", "Accept-Encoding")
            .body(request.header("accept-encoding").unwrap_or("none"))
    });
    origin.on("/mine", |_| {
        Reply::ok()
            .cache("public, max-age=60")
            .header("Vary", "Cookie")
            .body("mine")
    });
    for _ in 0..3 {
        larder.get("/mine").header("Cookie", "id=secret").send();
        larder
            .get("/coded")
            .header("Accept-Encoding", "gzip")
            .send();
    }
    soft_purge(&larder, "\"everything\": true");
    wait_until("the variant is fetched again", || {
        origin.requests("/coded") == 2
    });
    assert_eq!(
        origin.last("/coded").header("accept-encoding"),
        Some("gzip")
    );
    assert_eq!(origin.requests("/mine"), 1, "nobody's cookie is sent again");
}

/// What is kept for both schemes and is sent to HTTPS in plain is asked for as clients do that get an answer.
#[test]
fn what_is_redirected_to_https_is_fetched_again_all_the_same() {
    let (origin, larder) = start_with(
        "trusted = \"127.0.0.1\"\n[[origin]]\nservers = \"{origin}\"\n[purge]\nrefresh = { most = 2, rate = 100 }\n\
         [defaults]\nredirect_https = true\nkey = { scheme = false }\n",
    );
    origin.on("/page", |request| {
        Reply::ok()
            .cache("max-age=60")
            .body(request.nth.to_string())
    });
    let get = || {
        larder
            .get("/page")
            .header("X-Forwarded-Proto", "https")
            .send()
    };
    for _ in 0..3 {
        assert_eq!(get().text(), "1");
    }
    soft_purge(&larder, "\"everything\": true");
    wait_until("it is fetched again", || origin.requests("/page") == 2);
    let asked = origin.last("/page");
    assert_eq!(asked.header("x-forwarded-proto"), None, "either asks");
    wait_until("it is fresh", || get().hit());
}

/// So that a purge of a whole site is no storm on the application.
#[test]
fn no_more_is_fetched_again_in_a_second_than_asked_for() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[purge]\nrefresh = { most = 10, rate = 4 }\n",
    );
    origin.otherwise(|request| {
        Reply::ok()
            .cache("max-age=600")
            .body(request.nth.to_string())
    });
    let paths: Vec<_> = (0..6).map(|number| format!("/{number}")).collect();
    for path in &paths {
        for _ in 0..2 {
            larder.get(path).header("Host", "busy.test").send();
        }
    }
    let begun = Instant::now();
    soft_purge(&larder, "\"everything\": true");
    let again = || {
        let asked = paths.iter().map(|path| origin.requests(path));
        asked.sum::<usize>() - paths.len()
    };
    wait_until("all were fetched again", || again() == paths.len());
    let rests = u32::try_from(paths.len() - 1).expect("few");
    // A machine that is busy makes it later, never earlier.
    assert!(begun.elapsed() >= Duration::from_millis(250) * rests);
    assert_eq!(origin.last("/0").header("host"), Some("busy.test"));
}
