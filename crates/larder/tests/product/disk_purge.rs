//! Purges hold for what is on disk, after a stop and after a crash.

#![allow(clippy::similar_names, reason = "a site and the size of its pages")]

use crate::common::{Said, counted, sample};
use crate::disk::{LARGE, Site, content, keep, same};
use crate::disk_trouble::told;
use serde_json::{Value, json};
use std::fs;
use testkit::{Client, Command, Gate, Larder, Reply, Request, Response, scratch_dir, wait_until};

/// Purges what this says, on the admin API, and gives the answer.
pub(crate) fn purge(larder: &Larder, what: &Value) -> Value {
    let answer = ask_purge(larder, what);
    assert_eq!(answer.status, 200, "{what}: {}", answer.text());
    serde_json::from_slice(&answer.body).expect("JSON")
}

/// Asks the admin API for this purge.
pub(crate) fn ask_purge(larder: &Larder, what: &Value) -> Response {
    Client::connect(larder.admin())
        .ask("POST", "/purge")
        .header("Host", "localhost")
        .header("Content-Type", "application/json")
        .body(what.to_string())
        .send()
}

/// Whether a GET is answered from the store as fresh.
pub(crate) fn kept(larder: &Larder, target: &str) -> bool {
    let answer = larder
        .get(target)
        .header("Cache-Control", "only-if-cached, max-stale=0")
        .send();
    answer.status == 200 && answer.parameter("detail").is_none()
}

/// The pages of a site with their tags; what ends in `large` is.
const PAGES: [(&str, &str); 5] = [
    ("/", "home"),
    ("/news/1", "news one"),
    ("/news/large", "news"),
    ("/shop?item=1", "shop one"),
    ("/shop?item=large", "shop"),
];

/// All pages are on disk, and the larder has just been started.
fn site() -> (Site, Larder) {
    let site = Site::with(|request| {
        let page = PAGES.iter().find(|(target, _)| *target == request.target);
        let reply = Reply::ok()
            .cache("max-age=600, stale-while-revalidate=1000")
            .header("ETag", format!("\"{}\"", request.nth));
        let reply = page.map_or(reply.clone(), |(_, tags)| {
            reply.header("Surrogate-Key", tags)
        });
        let size = if request.target.ends_with("large") {
            LARGE
        } else {
            100
        };
        reply.body(content(
            &format!("{} {}", request.target, request.nth),
            size,
        ))
    });
    let larder = site.start();
    for (target, _) in PAGES {
        keep(&larder, &[target]);
    }
    wait_until("all pages are on disk", || {
        sample(&larder, "larder_disk_records") >= PAGES.len() as u64
    });
    let larder = site.restart(larder);
    (site, larder)
}

/// What lies on disk alone is no miss to a client that wants to know; what was purged there is.
#[test]
fn a_client_is_not_told_of_a_miss_where_the_disk_has_it() {
    let site = Site::new("[purge]\nmiss_status = 404\n");
    site.origin
        .otherwise(|request| counted(request).cache("max-age=600"));
    let larder = site.start();
    keep(&larder, &["/page"]);
    let larder = site.restart(larder);
    let purge = || larder.ask("PURGE", "/page").send();
    for (status, result) in [(200, "exact; count=1"), (404, "exact; count=0")] {
        let answer = purge();
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("cache-purge-result"), Some(result));
    }
    assert!(!kept(&larder, "/page"));
}

/// Nor where its key has more than the URL, or the purge names the cache and no site.
#[test]
fn a_client_is_not_told_of_a_miss_where_the_disk_has_it_under_another_key() {
    for (key, host) in [
        (
            "[defaults.key]\nheaders = [\"X-Country\"]\n",
            "example.test",
        ),
        ("", "127.0.0.1"),
    ] {
        let site = Site::new(&format!("[purge]\nmiss_status = 404\n{key}"));
        site.origin
            .otherwise(|request| counted(request).cache("max-age=600"));
        let larder = site.start();
        let get = |larder: &Larder| {
            let ask = larder.get("/page").header("Host", "example.test");
            ask.header("X-Country", "de").send()
        };
        let first = get(&larder);
        assert!(get(&larder).hit(), "{host}");
        let larder = site.restart(larder);
        let answer = larder.ask("PURGE", "/page").header("Host", host).send();
        let result = answer.header("cache-purge-result");
        assert_eq!(result, Some("exact; count=1"), "{host}");
        assert_eq!(answer.status, 200, "{host}");
        assert_ne!(get(&larder).body, first.body, "{host}");
    }
}

/// Each kind of purge, and what it covers.
fn kinds() -> Vec<(Value, Vec<&'static str>)> {
    vec![
        (
            json!({ "url": "http://example.test/news/1" }),
            vec!["/news/1"],
        ),
        (
            json!({ "url": "http://example.test/shop?item=large" }),
            vec!["/shop?item=large"],
        ),
        (
            json!({ "prefix": "http://example.test/news/" }),
            vec!["/news/1", "/news/large"],
        ),
        (json!({ "tag": "one" }), vec!["/news/1", "/shop?item=1"]),
        (
            json!({ "tags": ["home", "shop"] }),
            vec!["/", "/shop?item=1", "/shop?item=large"],
        ),
        (
            json!({ "host": "example.test" }),
            PAGES.map(|page| page.0).to_vec(),
        ),
        (
            json!({ "regex": "/[a-z]+.*large$" }),
            vec!["/news/large", "/shop?item=large"],
        ),
        (
            json!({ "everything": true }),
            PAGES.map(|page| page.0).to_vec(),
        ),
        (json!({ "tag": "nobody" }), vec![]),
    ]
}

#[test]
fn each_kind_of_purge_covers_what_is_on_disk_alone() {
    for (what, covered) in kinds() {
        let (site, mut larder) = site();
        purge(&larder, &what);
        for round in 0..3 {
            for (target, _) in PAGES {
                assert_eq!(
                    kept(&larder, target),
                    !covered.contains(&target),
                    "{what}: {target}, round {round}"
                );
            }
            larder = site.restart(larder);
        }
    }
}

#[test]
fn a_purge_that_was_acknowledged_outlasts_a_crash() {
    for (what, covered) in kinds() {
        let (site, larder) = site();
        purge(&larder, &what);
        let mut larder = site.crash(larder);
        for round in 0..2 {
            for (target, _) in PAGES {
                assert_eq!(
                    kept(&larder, target),
                    !covered.contains(&target),
                    "{what}: {target}, round {round}"
                );
            }
            larder = site.crash(larder);
        }
    }
}

#[test]
fn a_purge_before_the_restart_covers_what_memory_and_disk_hold() {
    for (what, covered) in kinds() {
        let (site, larder) = site();
        for (target, _) in PAGES {
            assert!(kept(&larder, target), "{target}");
        }
        purge(&larder, &what);
        let larder = site.crash(larder);
        for (target, _) in PAGES {
            assert_eq!(
                kept(&larder, target),
                !covered.contains(&target),
                "{what}: {target}"
            );
        }
    }
}

#[test]
fn what_is_fetched_after_a_purge_is_kept_over_a_restart() {
    let (site, larder) = site();
    purge(&larder, &json!({ "host": "example.test" }));
    let mut larder = site.crash(larder);
    for (target, _) in PAGES {
        keep(&larder, &[target, target]);
    }
    for _ in 0..2 {
        larder = site.restart(larder);
        for (target, _) in PAGES {
            let answer = larder.get(target).send();
            assert!(answer.hit(), "{target}: {}", answer.said());
        }
    }
}

#[test]
fn a_soft_purge_outlasts_a_restart_and_the_old_is_used_as_stale() {
    for (what, covered) in kinds() {
        let (site, larder) = site();
        let mut soft = what.clone();
        soft["soft"] = json!(true);
        purge(&larder, &soft);
        let larder = site.crash(larder);
        for (target, _) in PAGES {
            assert_eq!(
                kept(&larder, target),
                !covered.contains(&target),
                "{soft}: {target}"
            );
        }
        site.origin.stop();
        for (target, _) in PAGES {
            let answer = larder.get(target).send();
            assert_eq!(answer.status, 200, "{soft} {target}: {}", answer.said());
            assert!(answer.body.starts_with(target.as_bytes()));
        }
    }
}

#[test]
fn a_hard_purge_leaves_nothing_to_hide_an_error_with() {
    let (site, larder) = site();
    purge(&larder, &json!({ "prefix": "/news/" }));
    let larder = site.crash(larder);
    site.origin.stop();
    for target in ["/news/1", "/news/large"] {
        assert!(larder.get(target).send().status >= 500, "{target}");
    }
    assert_eq!(larder.get("/").send().status, 200);
}

#[test]
fn an_unsafe_method_invalidates_what_is_on_disk() {
    let targets = ["/page", "/page?a", "/other"];
    for crash in [false, true] {
        let site = Site::with(|request| match request.method.as_str() {
            "GET" => counted(request).cache("max-age=600"),
            _ => Reply::ok().header("Location", "/other"),
        });
        let larder = site.start();
        keep(&larder, &targets);
        let mut larder = site.restart(larder);
        let log = site.path().join("purges.log");
        let before = fs::read(&log).unwrap();
        assert_eq!(larder.ask("POST", "/page").body("x").send().status, 200);
        if crash {
            let now = fs::read(&log).unwrap();
            let new = String::from_utf8_lossy(&now[before.len()..]).into_owned();
            assert!(
                new.contains("/page") && new.contains("/other"),
                "it lasts before the client is told"
            );
        }
        for _ in 0..2 {
            larder = if crash {
                site.crash(larder)
            } else {
                site.restart(larder)
            };
            assert_eq!(
                targets.map(|target| kept(&larder, target)),
                [false, true, false],
                "9111 section 4.4, crash: {crash}"
            );
        }
    }
}

#[test]
fn what_is_on_disk_takes_its_cache_groups_with_it() {
    let site = Site::with(|request| match request.method.as_str() {
        "GET" => counted(request)
            .cache("max-age=600")
            .header("Cache-Groups", "\"scripts\""),
        _ => Reply::ok(),
    });
    let targets = ["/one", "/two"];
    let larder = site.start();
    keep(&larder, &targets);
    let larder = site.restart(larder);
    assert_eq!(larder.ask("POST", "/one").body("x").send().status, 200);
    assert_eq!(
        targets.map(|target| kept(&larder, target)),
        [false, false],
        "9875 section 2.2.1"
    );
}

#[test]
fn what_was_on_its_way_when_it_was_purged_never_comes_back() {
    for size in [1000, LARGE] {
        let (site, gate) = (Site::new(""), Gate::new());
        let held = gate.clone();
        site.origin.on("/", move |request| {
            let reply = Reply::ok().cache("max-age=600");
            let (first, rest) = (
                content("old", size),
                content("old", size).split_off(size / 2),
            );
            match request.nth {
                1 if size == LARGE => reply.body(first),
                1 | 2 if request.nth == if size == LARGE { 2 } else { 1 } => {
                    reply.body(&first[..size / 2]).hold(&held).body(rest)
                }
                _ => reply.body(content("new", size)),
            }
        });
        let larder = site.start();
        if size == LARGE {
            larder.get("/").send();
        }
        let mut client = larder.get("/").begin();
        gate.wait_reached();
        purge(&larder, &json!({ "url": "http://example.test/" }));
        gate.open();
        same(
            &client.read().body,
            &content("old", size),
            "its own client gets it",
        );
        let mut larder = site.crash(larder);
        for _ in 0..2 {
            for _ in 0..2 {
                let answer = larder.get("/").send();
                same(&answer.body, &content("new", size), "after the purge");
            }
            larder = site.restart(larder);
        }
    }
}

#[test]
fn what_is_stored_counts_as_purged_where_the_log_of_purges_is_gone() {
    for damage in [None, Some(Vec::new()), Some(vec![0; 4096])] {
        let (site, larder) = site();
        purge(&larder, &json!({ "url": "http://example.test/" }));
        larder.kill();
        let log = site.path().join("purges.log");
        match &damage {
            None => fs::remove_file(&log).unwrap(),
            Some(bytes) => fs::write(&log, bytes).unwrap(),
        }
        let larder = site.start_at_once();
        assert!(
            !kept(&larder, "/"),
            "what was purged is never answered again"
        );
        let answer = larder.get("/").send();
        assert!(!answer.hit() && answer.status == 200);
    }
}

#[test]
fn what_lies_on_disk_alone_is_purged_and_counted() {
    for (what, on_disk) in [
        (json!({"tags": ["news", "home"]}), 3),
        (json!({"url": "http://example.test/shop?item=large"}), 1),
        (json!({"prefix": "/shop"}), 2),
        (json!({"host": "example.test"}), 5),
        (json!({"host": "other.test"}), 0),
        (json!({"regex": "/news/|large"}), 3),
        (json!({"everything": true}), 5),
    ] {
        let (_site, larder) = site();
        wait_until_counted(&larder);
        let answer = purge(&larder, &what);
        let counts = (&answer["touched"], &answer["on_disk"]);
        assert_eq!(counts, (&json!(0), &json!(on_disk)), "{what}");
        let gone = PAGES
            .iter()
            .filter(|(target, _)| !is_there(&larder, target));
        assert_eq!(gone.count(), on_disk, "{what}");
        let again = purge(&larder, &what);
        assert_eq!(again["on_disk"], 0, "{what}: they count once");
    }
}

#[test]
fn what_was_purged_on_disk_is_given_up_without_being_asked_for() {
    let (_site, larder) = site();
    wait_until("the large files are known", || {
        sample(&larder, "larder_disk_large_files") == 2
    });
    purge(&larder, &json!({"host": "example.test"}));
    wait_until("the disk was gone over", || {
        sample(&larder, "larder_disk_records") == 0
            && sample(&larder, "larder_disk_large_files") == 0
    });
}

/// Whether anything is kept, fresh or not.
fn is_there(larder: &Larder, target: &str) -> bool {
    let ask = larder.get(target);
    ask.header("Cache-Control", "only-if-cached, max-stale")
        .send()
        .status
        == 200
}

/// The tags of what was found at the start are counted in the background.
fn wait_until_counted(larder: &Larder) {
    wait_until("the tags are counted", || {
        let news = purge(larder, &json!({"tags": ["news"], "soft": true}));
        let shop = purge(larder, &json!({"tags": ["shop"], "soft": true}));
        news["on_disk"] == 2 && shop["on_disk"] == 2
    });
}

#[test]
fn who_purges_is_told_of_what_lies_on_disk() {
    let (site, larder) = site();
    wait_until_counted(&larder);
    // It is stale by now. What refreshes it would count as well.
    let gate = Gate::new();
    let held = gate.clone();
    let answer = move |_: &Request| Reply::ok().hold_head(&held);
    site.origin.on("/news/1", answer);
    assert_eq!(larder.get("/news/1").send().status, 200);
    let told = crate::nodes::purge(&larder, &["--tag", "news"]);
    let expected = "tag news\npurged: 1 stored response in memory and 2 on disk here, sequence ";
    assert!(told.stdout.starts_with(expected), "{}", told.stdout);
    let answer = Client::connect(larder.address())
        .ask("PURGE", "/")
        .header("Host", "example.test")
        .header("xkey", "shop")
        .send();
    assert_eq!(answer.header("Cache-Purge-Result"), Some("tags; count=2"));
    gate.open();
}

/// Beside each log of purges nobody noted what was purged beside the other.
#[test]
fn what_was_purged_beside_another_log_does_not_come_back() {
    let site = Site::with(|request| counted(request).cache("max-age=6000"));
    let here = site.config().to_owned();
    let elsewhere = format!("{here}\n[purge]\nlog = {:?}\n", scratch_dir());
    let start = |config: &str| {
        let larder = Command::serve(env!("CARGO_BIN_EXE_larder"));
        let larder = larder.config(config).start();
        larder.wait_output("disk tier loaded");
        larder
    };
    let is_told = |larder: &Larder| {
        let lines = told(larder);
        lines
            .iter()
            .any(|line| line.contains("the log of purges is not the one of the last run"))
    };
    let mut larder = start(&here);
    keep(&larder, &["/page"]);
    for config in [&elsewhere, &here] {
        assert_eq!(larder.stop().code, Some(0));
        larder = start(config);
        assert!(is_told(&larder), "{:#?}", told(&larder));
        assert!(!kept(&larder, "/page"));
        keep(&larder, &["/page"]);
        assert_eq!(larder.stop().code, Some(0));
        larder = start(config);
        assert!(!is_told(&larder));
        assert!(kept(&larder, "/page"), "beside the same one");
        purge(&larder, &json!({ "url": "http://example.test/page" }));
    }
}
