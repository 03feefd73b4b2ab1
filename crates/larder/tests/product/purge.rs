//! Purging through the admin API and the command: what is purged is not answered any more, and nothing else is touched.

use crate::common::{Said, command, counted, sample, start, start_with};
use serde_json::{Value, json};
use testkit::{Address, Client, Command, Finished, Gate, Larder, Origin, Reply, Response};

/// Asks the admin API to purge.
fn post(larder: &Larder, body: impl AsRef<[u8]>) -> Response {
    Client::connect(larder.admin())
        .ask("POST", "/purge")
        .header("Host", "localhost")
        .header("Content-Type", "application/json")
        .body(body)
        .send()
}

/// Purges, and gives what that came to.
fn purge(larder: &Larder, what: &Value) -> Value {
    let answer = post(larder, what.to_string());
    assert_eq!(answer.status, 200, "{what}: {}", answer.text());
    serde_json::from_slice(&answer.body).expect("JSON")
}

/// `larder purge` with these arguments.
fn run(larder: &Larder, arguments: &[&str]) -> Finished {
    let Address::Tcp(admin) = larder.admin() else {
        panic!("a TCP address")
    };
    command()
        .args(["purge", "--admin", &admin.to_string()])
        .args(arguments.iter().copied())
        .run()
}

/// Whether a GET is answered from the store as fresh.
fn kept(larder: &Larder, host: &str, target: &str) -> bool {
    let answer = larder
        .get(target)
        .header("Host", host)
        .header("Cache-Control", "only-if-cached, max-stale=0")
        .send();
    answer.status == 200 && answer.parameter("detail").is_none()
}

/// The pages of a small site, each with its tags.
const PAGES: [(&str, &str); 5] = [
    ("/", "home"),
    ("/news/1", "news n1"),
    ("/news/2", "news n2"),
    ("/shop?item=1", "shop n1"),
    ("/shop?item=2", "shop"),
];
const HOSTS: [&str; 2] = ["a.test", "b.test:8080"];

/// A site of two hosts, whole in the store.
fn site(cache: &'static str) -> (Origin, Larder) {
    let (origin, larder) = start();
    origin.otherwise(move |request| {
        let tags = PAGES.iter().find(|(target, _)| *target == request.target);
        let reply = counted(request).cache(cache);
        tags.map_or(reply.clone(), |(_, tags)| {
            reply.header("Surrogate-Key", tags)
        })
    });
    for host in HOSTS {
        for (target, _) in PAGES {
            larder.get(target).header("Host", host).send();
        }
    }
    (origin, larder)
}

/// Host and target of a page.
type Page = (&'static str, &'static str);

/// Each kind of purge, what is told of it, and what it covers.
fn kinds() -> Vec<(Value, Value, Vec<Page>)> {
    let all = || {
        let pairs = |host| PAGES.map(|(target, _)| (host, target));
        HOSTS.into_iter().flat_map(pairs)
    };
    let of = |holds: fn(&str, &str) -> bool| -> Vec<_> {
        all().filter(|(host, target)| holds(host, target)).collect()
    };
    vec![
        (
            json!({ "url": "http://A.test/news/1#top" }),
            json!({ "urls": ["//a.test/news/1"] }),
            of(|host, target| host == "a.test" && target == "/news/1"),
        ),
        (
            json!({ "url": "http://b.test:8080/shop?item=1" }),
            json!({ "urls": ["//b.test:8080/shop?item=1"] }),
            of(|host, target| host == "b.test:8080" && target == "/shop?item=1"),
        ),
        (
            json!({ "url": "http://a.test" }),
            json!({ "urls": ["//a.test/"] }),
            of(|host, target| host == "a.test" && target == "/"),
        ),
        (
            json!({ "prefix": "http://a.test/news/" }),
            json!({ "prefixes": ["//a.test/news/"] }),
            of(|host, target| host == "a.test" && target.starts_with("/news/")),
        ),
        (
            json!({ "prefix": "/shop?item=" }),
            json!({ "prefixes": ["/shop?item="] }),
            of(|_, target| target.starts_with("/shop?item=")),
        ),
        (
            json!({ "tag": "n1" }),
            json!({ "tags": ["n1"] }),
            of(|_, target| target == "/news/1" || target == "/shop?item=1"),
        ),
        (
            json!({ "tags": ["n2", "home", "nobody"] }),
            json!({ "tags": ["home", "n2", "nobody"] }),
            of(|_, target| target == "/news/2" || target == "/"),
        ),
        (
            json!({ "host": "A.test" }),
            json!({ "hosts": ["a.test"] }),
            of(|host, _| host == "a.test"),
        ),
        (
            json!({ "regex": "^http://b.*/[12]$" }),
            json!({ "patterns": ["url ~ ^http://b.*/[12]$"] }),
            of(|host, target| host == "b.test:8080" && target.starts_with("/news/")),
        ),
        (
            json!({ "everything": true }),
            json!({ "everything": true }),
            all().collect(),
        ),
        (
            json!({ "url": "http://a.test/news" }),
            json!({ "urls": ["//a.test/news"] }),
            Vec::new(),
        ),
        (
            json!({ "host": "b.test" }),
            json!({ "hosts": ["b.test"] }),
            Vec::new(),
        ),
        (
            json!({ "tag": "N1" }),
            json!({ "tags": ["N1"] }),
            Vec::new(),
        ),
    ]
}

#[test]
fn each_kind_covers_what_it_names_and_nothing_else() {
    for (what, understood, covered) in kinds() {
        for soft in [false, true] {
            let (origin, larder) = site("max-age=600");
            let mut request = what.clone();
            request["soft"] = soft.into();
            let before = origin.all().len();
            let answer = purge(&larder, &request);
            assert_eq!(answer["purged"], understood, "{request}");
            assert_eq!(answer["soft"], soft, "{request}");
            assert_eq!(answer["touched"], covered.len(), "{request}");
            assert_eq!(answer["sequence"], 1, "{request}");
            assert_eq!(answer.get("behind"), None, "{request}");
            for host in HOSTS {
                for (target, _) in PAGES {
                    let is_covered = covered.contains(&(host, target));
                    let left = kept(&larder, host, target);
                    assert_eq!(left, !is_covered, "{request}: {host}{target}");
                }
            }
            assert_eq!(origin.all().len(), before, "to purge is not to fetch");
            for (host, target) in covered.iter().copied() {
                let get = || larder.get(target).header("Host", host).send();
                assert_ne!(
                    get().text(),
                    "1",
                    "{request}: {host}{target} is fetched again"
                );
                assert!(get().hit(), "{request}: {host}{target} is stored again");
            }
        }
    }
}

#[test]
fn a_purge_by_command_says_what_was_understood() {
    for (arguments, code, told) in [
        (
            &["a.test/news/1"][..],
            0,
            "URL //a.test/news/1\npurged: 1 stored response in memory here, sequence 1\n",
        ),
        (
            &["--prefix", "/shop", "--soft"],
            0,
            "everything under /shop\nsoftly purged: 4 stored responses in memory here, sequence 1\n",
        ),
        (
            &["--tag", "n1", "--tag", "n2"],
            0,
            "tag n1\ntag n2\npurged: 6 stored responses in memory here, sequence 1\n",
        ),
        (
            &["--host", "a.test", "--wait"],
            0,
            "host a.test\npurged: 5 stored responses in memory here, sequence 1\napplied by all nodes\n",
        ),
        (
            &["--regex", "/news/", "--wait=2s"],
            0,
            "everything that matches url ~ /news/\npurged: 4 stored responses in memory here, sequence 1\napplied by all nodes\n",
        ),
        (
            &["--all"],
            0,
            "everything\npurged: 10 stored responses in memory here, sequence 1\n",
        ),
        (
            &["--all", "--json"],
            0,
            "{\"purged\":{\"everything\":true},\"soft\":false,\"touched\":10,\"sequence\":1}\n",
        ),
    ] {
        let (_origin, larder) = site("max-age=600");
        let finished = run(&larder, arguments);
        assert_eq!(
            finished.code,
            Some(code),
            "{arguments:?}: {}",
            finished.stderr
        );
        assert_eq!(finished.stdout, told, "{arguments:?}");
    }
}

#[test]
fn a_command_that_cannot_be_obeyed_says_why() {
    let (_origin, larder) = site("max-age=600");
    for (arguments, code, told) in [
        (&["--regex", "("][..], 1, "not a regular expression"),
        (&["ftp://a.test/"], 1, "write it whole"),
        (&["http://a b/"], 1, "write it whole"),
        (&["--host", "http://a.test"], 1, "is not a host"),
        (&["--tag", ""], 1, "is not a tag"),
        (&["--all", "--wait=1h"], 1, "five minutes"),
        (&[], 2, "Usage"),
        (&["a.test", "--all"], 2, "cannot be used with"),
        (&["--tag", "a", "--host", "b"], 2, "cannot be used with"),
        (&["--all", "--wait=3"], 2, "no unit"),
    ] {
        let finished = run(&larder, arguments);
        assert_eq!(
            finished.code,
            Some(code),
            "{arguments:?}: {}",
            finished.stdout
        );
        assert!(
            finished.stderr.contains(told),
            "{arguments:?}: {}",
            finished.stderr
        );
    }
    assert!(kept(&larder, "a.test", "/"), "nothing was purged");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = nobody.local_addr().expect("an address").to_string();
    drop(nobody);
    let finished = command()
        .args(["purge", "--all", "--admin", &address])
        .run();
    assert_eq!(finished.code, Some(1));
    assert!(
        finished.stderr.contains("no running Larder"),
        "{}",
        finished.stderr
    );
}

#[test]
fn all_variants_and_all_keys_of_a_url_go() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n\
         [[route]]\npath = \"/field/*\"\nkey = { headers = \"X-Group\", cookies = \"theme\" }\n\
         [[route]]\npath = \"/mixed/*\"\nheader = \"X-Group\"\n\
         [[route]]\npath = \"/hosts/*\"\nkey = { host = false, scheme = false, sort = true, drop_tracking = true }\n",
    );
    origin.otherwise(|request| {
        counted(request)
            .cache("max-age=60")
            .header("Vary", "Accept-Language")
    });
    for (target, purged) in [
        ("/page", "http://example.test/page"),
        ("/field/1", "http://example.test/field/1"),
        ("/mixed/1", "https://example.test/mixed/1"),
        (
            "/hosts/1?b=1&a=2&utm_source=x",
            "http://other.test/hosts/1?a=2&b=1",
        ),
    ] {
        let get = |group: &str, theme: &str, language: &str| {
            let ask = larder.get(target).header("Accept-Language", language);
            let ask = match group {
                "" => ask,
                group => ask.header("X-Group", group),
            };
            ask.header("Cookie", format!("theme={theme}")).send()
        };
        let all = || {
            let mut hits = 0;
            for group in ["", "1", "2"] {
                for (theme, language) in [("dark", "de"), ("dark", "en"), ("light", "de")] {
                    hits += usize::from(get(group, theme, language).hit());
                }
            }
            hits
        };
        all();
        assert_eq!(all(), 9, "{target}");
        purge(&larder, &json!({ "url": purged }));
        assert!(all() < 9, "{target}");
        assert_eq!(all(), 9, "{target}");
        purge(&larder, &json!({ "url": purged }));
        for (group, theme, language) in [("1", "dark", "de"), ("2", "light", "en"), ("", "", "fr")]
        {
            assert!(!get(group, theme, language).hit(), "{target} {group}");
        }
    }
}

#[test]
fn both_schemes_go() {
    let (origin, larder) =
        start_with("trusted = \"127.0.0.1\"\n[[origin]]\nservers = \"{origin}\"\n");
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    let get = |scheme| {
        larder
            .get("/page")
            .header("X-Forwarded-Proto", scheme)
            .send()
    };
    for url in [
        "http://example.test/page",
        "https://example.test/page",
        "https://example.test:443/page",
    ] {
        for scheme in ["http", "https"] {
            get(scheme);
            assert!(get(scheme).hit());
        }
        assert_eq!(
            purge(&larder, &json!({ "url": url }))["touched"],
            2,
            "{url}"
        );
        for scheme in ["http", "https"] {
            assert!(!get(scheme).hit(), "{url} over {scheme}");
        }
    }
}

#[test]
fn no_method_and_no_part_is_answered_from_what_was_purged() {
    let (origin, larder) = start();
    let page = |request: &testkit::Request| {
        Reply::ok()
            .cache("max-age=60")
            .header("ETag", format!("\"{}\"", request.nth))
            .body(format!("page {}", request.nth))
    };
    origin.on("/page", page);
    larder.get("/page").send();
    for (method, field, value) in [
        ("HEAD", "X-Nothing", ""),
        ("GET", "Range", "bytes=0-3"),
        ("GET", "If-None-Match", "\"1\""),
        ("GET", "If-Range", "\"1\""),
    ] {
        let ask = || larder.ask(method, "/page").header(field, value).send();
        assert!(ask().hit(), "{method} {field}");
        purge(&larder, &json!({ "url": "http://example.test/page" }));
        let answer = ask();
        assert!(!answer.hit(), "{method} {field}: {}", answer.said());
        assert_ne!(answer.header("etag"), Some("\"1\""), "{method} {field}");
    }
}

#[test]
fn parts_go_too() {
    let (origin, larder) = start();
    origin.on("/page", |request| {
        let (from, to) = match request.header("range") {
            Some("bytes=0-3") => (0, 4),
            Some("bytes=4-7") => (4, 8),
            other => panic!("{other:?}"),
        };
        let whole = if request.nth < 3 {
            "beforeXX"
        } else {
            "afterXXX"
        };
        Reply::status(206)
            .cache("max-age=60")
            .header("ETag", if request.nth < 3 { "\"b\"" } else { "\"a\"" })
            .header("Content-Range", format!("bytes {from}-{}/8", to - 1))
            .body(&whole[from..to])
    });
    let part = |range: &str| larder.get("/page").header("Range", range).send();
    part("bytes=0-3");
    assert!(part("bytes=0-3").hit());
    part("bytes=4-7");
    purge(&larder, &json!({ "prefix": "/page" }));
    assert_eq!(part("bytes=0-3").text(), "afte");
    assert_eq!(part("bytes=4-7").text(), "rXXX");
    assert!(
        part("bytes=0-7").hit(),
        "what came after the purge is put together"
    );
}

/// What covers `/page` of `example.test` with the tag `t`.
fn covering() -> Vec<Value> {
    vec![
        json!({ "url": "http://example.test/page" }),
        json!({ "tag": "t" }),
        json!({ "prefix": "/pa" }),
        json!({ "host": "example.test" }),
        json!({ "regex": "page$" }),
        json!({ "everything": true }),
    ]
}

#[test]
fn a_fill_in_flight_is_not_used_after_the_purge() {
    for what in covering() {
        for soft in [false, true] {
            let (head, body) = (Gate::new(), Gate::new());
            let old = || Reply::ok().cache("max-age=60").header("xkey", "t");
            for (gate, reply) in [
                (&head, old().hold_head(&head).body("before")),
                (&body, old().length(6).body("bef").hold(&body).body("ore")),
            ] {
                let (origin, larder) = start_with(
                    "[defaults]\ncollapse_wait = \"50ms\"\n[[origin]]\nservers = \"{origin}\"\n",
                );
                origin.on("/page", move |request| match request.header("x-second") {
                    None => reply.clone(),
                    Some(_) => Reply::ok()
                        .cache("max-age=60")
                        .header("xkey", "t")
                        .body("after"),
                });
                let mut slow = larder.get("/page").begin();
                gate.wait_reached();
                let mut what = what.clone();
                what["soft"] = soft.into();
                purge(&larder, &what);
                let second = || larder.get("/page").header("X-Second", "1").send();
                let answer = second();
                assert_eq!(answer.text(), "after", "{what}: {}", answer.said());
                gate.open();
                assert_eq!(
                    slow.read().text(),
                    "before",
                    "{what}: who asked before may get it"
                );
                for _ in 0..3 {
                    assert_eq!(second().text(), "after", "{what}");
                }
            }
        }
    }
}

#[test]
fn who_waits_for_a_fetch_that_is_then_purged_gets_a_whole_answer() {
    for what in covering() {
        let (origin, larder) = start();
        let gate = Gate::new();
        let held = gate.clone();
        origin.on("/page", move |request| {
            let reply = Reply::ok().cache("max-age=60").header("xkey", "t");
            match request.nth {
                1 => reply.hold_head(&held).body("before"),
                _ => reply.body("after"),
            }
        });
        let mut leader = larder.get("/page").begin();
        gate.wait_reached();
        let mut followers: Vec<_> = (0..3).map(|_| larder.get("/page").begin()).collect();
        purge(&larder, &what);
        gate.open();
        assert_eq!(leader.read().text(), "before", "{what}");
        for follower in &mut followers {
            let answer = follower.read();
            assert!(
                matches!(answer.text().as_str(), "before" | "after"),
                "{what}"
            );
        }
        assert_eq!(larder.get("/page").send().text(), "after", "{what}");
    }
}

#[test]
fn a_validation_under_way_does_not_bring_back_what_was_purged() {
    for what in covering() {
        let (origin, larder) = start();
        let gate = Gate::new();
        let held = gate.clone();
        origin.on("/page", move |request| {
            let reply = |status| {
                Reply::status(status)
                    .cache("max-age=60")
                    .header("xkey", "t")
            };
            match (request.nth, request.header("if-none-match")) {
                (1, _) => reply(200)
                    .header("Age", "100")
                    .header("ETag", "\"a\"")
                    .body("before"),
                (2, Some(_)) => reply(304).header("ETag", "\"a\"").hold_head(&held),
                _ => reply(200).header("ETag", "\"b\"").body("after"),
            }
        });
        larder.get("/page").send();
        let mut validating = larder.get("/page").begin();
        gate.wait_reached();
        purge(&larder, &what);
        gate.open();
        assert_eq!(validating.read().status, 200, "{what}");
        for _ in 0..2 {
            assert_eq!(larder.get("/page").send().text(), "after", "{what}");
        }
    }
}

/// `/page` with these directives: once `before`, then what `then` says.
fn page_then(cache: &'static str, then: fn() -> Reply) -> (Origin, Larder) {
    let (origin, larder) = start();
    origin.on("/page", move |request| match request.nth {
        1 => Reply::ok().cache(cache).header("xkey", "t").body("before"),
        _ => then(),
    });
    larder.get("/page").send();
    (origin, larder)
}

#[test]
fn what_was_purged_softly_is_stale_and_what_was_purged_hard_is_gone() {
    let after = || Reply::ok().cache("max-age=60").body("after");
    let error = || Reply::status(503).body("error");
    for what in covering() {
        for (cache, then, soft, first, second) in [
            (
                "max-age=60, stale-while-revalidate=600",
                after as fn() -> Reply,
                true,
                "before",
                "after",
            ),
            (
                "max-age=60, stale-while-revalidate=600",
                after,
                false,
                "after",
                "after",
            ),
            ("max-age=60", after, true, "after", "after"),
            (
                "max-age=60, stale-if-error=600",
                error,
                true,
                "before",
                "before",
            ),
            (
                "max-age=60, stale-if-error=600",
                error,
                false,
                "error",
                "error",
            ),
            ("max-age=60", error, true, "error", "error"),
            (
                "max-age=60, must-revalidate, stale-while-revalidate=600",
                after,
                true,
                "after",
                "after",
            ),
        ] {
            let (origin, larder) = page_then(cache, then);
            let mut what = what.clone();
            what["soft"] = soft.into();
            purge(&larder, &what);
            let get = || larder.get("/page").send();
            assert_eq!(get().text(), first, "{what} {cache}");
            origin.wait_requests("/page", 2);
            if first == second {
                assert_eq!(get().text(), second, "{what} {cache}");
            } else {
                testkit::wait_until("it is refreshed", || get().text() == second);
            }
        }
    }
}

#[test]
fn an_origin_that_is_down_brings_nothing_back() {
    for (soft, status) in [(false, 502), (true, 200)] {
        let (origin, larder) = page_then("max-age=60", Reply::close);
        origin.stop();
        purge(&larder, &json!({ "tag": "t", "soft": soft }));
        let answer = larder.get("/page").send();
        assert_eq!(answer.status, status, "soft: {soft}: {}", answer.said());
    }
}

#[test]
fn a_soft_purge_keeps_validators() {
    let (origin, larder) = start();
    origin.on("/page", |request| match request.header("if-none-match") {
        Some("\"a\"") => Reply::status(304)
            .cache("max-age=60")
            .header("ETag", "\"a\""),
        _ => Reply::ok()
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .body("page"),
    });
    larder.get("/page").send();
    purge(&larder, &json!({ "everything": true, "soft": true }));
    let answer = larder.get("/page").send();
    assert_eq!((answer.text().as_str(), answer.hit()), ("page", false));
    assert_eq!(origin.last("/page").header("if-none-match"), Some("\"a\""));
    assert!(
        larder.get("/page").send().hit(),
        "it was confirmed after the purge"
    );
    purge(&larder, &json!({ "everything": true }));
    larder.get("/page").send();
    assert_eq!(
        origin.last("/page").header("if-none-match"),
        None,
        "what is gone is not asked about"
    );
}

#[test]
fn many_tags_go_at_once_and_numbers_ascend() {
    let (origin, larder) = start();
    origin.otherwise(|request| {
        let tag = request.target.trim_start_matches('/').to_owned();
        counted(request)
            .cache("max-age=60")
            .header("Cache-Tag", tag)
    });
    for target in ["/tag-0", "/tag-9999", "/tag-10000"] {
        larder.get(target).send();
    }
    let tags: Vec<String> = (0..10_000).map(|number| format!("tag-{number}")).collect();
    let answer = purge(&larder, &json!({ "tags": tags }));
    assert_eq!(answer["touched"], 2);
    assert_eq!(
        answer["purged"]["tags"].as_array().map(Vec::len),
        Some(10_000)
    );
    for (target, is_kept) in [
        ("/tag-0", false),
        ("/tag-9999", false),
        ("/tag-10000", true),
    ] {
        assert_eq!(kept(&larder, "example.test", target), is_kept, "{target}");
    }
    let mut last = answer["sequence"].as_u64().expect("a number");
    for _ in 0..5 {
        let answer = purge(&larder, &json!({ "tag": "x" }));
        let next = answer["sequence"].as_u64().expect("a number");
        assert!(next > last, "{next} after {last}");
        last = next;
    }
}

#[test]
fn what_is_no_purge_is_refused_and_purges_nothing() {
    let (_origin, larder) = site("max-age=600");
    let long = format!("{{\"tag\":\"{}\"}}", "x".repeat(2 << 20));
    let pattern = json!({ "regex": "(a{1000}){1000}" }).to_string();
    for (body, status, told) in [
        ("", 400, "not a purge in JSON"),
        ("everything", 400, "not a purge in JSON"),
        ("{\"everything\":true", 400, "not a purge in JSON"),
        ("[true]", 400, "not a purge in JSON"),
        ("\u{feff}{\"everything\":true}", 400, "not a purge in JSON"),
        ("{}", 400, "nothing is named"),
        (r#"{"all":true}"#, 400, "unknown field `all`"),
        (
            r#"{"everything":true,"host":"a.test"}"#,
            400,
            "host and everything",
        ),
        (r#"{"url":"a.test/"}"#, 400, "write it whole"),
        (r#"{"url":"http://a.test:x/"}"#, 400, "write it whole"),
        (r#"{"regex":"["}"#, 400, "not a regular expression"),
        (pattern.as_str(), 400, "not a regular expression"),
        (r#"{"tags":["news",""]}"#, 400, "is not a tag"),
        (
            r#"{"purges":[{"everything":true},{"tags":[]}]}"#,
            400,
            "a purge names one thing",
        ),
        (long.as_str(), 413, "several requests"),
    ] {
        let answer = post(&larder, body);
        let shown: String = body.chars().take(60).collect();
        assert_eq!(answer.status, status, "{shown}: {}", answer.text());
        let error: Value = serde_json::from_slice(&answer.body).expect("JSON");
        let error = error["error"].as_str().expect("an error").to_owned();
        assert!(error.contains(told), "{shown}: {error}");
    }
    for host in HOSTS {
        for (target, _) in PAGES {
            assert!(kept(&larder, host, target), "{host}{target}");
        }
    }
}

#[test]
fn a_page_in_a_browser_cannot_purge() {
    let (_origin, larder) = site("max-age=600");
    let all = r#"{"everything":true}"#;
    for (method, fields, status) in [
        ("POST", &[("Content-Type", "text/plain")][..], 415),
        (
            "POST",
            &[("Content-Type", "application/x-www-form-urlencoded")],
            415,
        ),
        ("POST", &[], 415),
        (
            "POST",
            &[("Content-Type", "application/json"), ("Host", "evil.test")],
            403,
        ),
        (
            "OPTIONS",
            &[
                ("Origin", "http://evil.test"),
                ("Access-Control-Request-Method", "POST"),
            ],
            405,
        ),
        ("GET", &[("Content-Type", "application/json")], 405),
        ("PUT", &[("Content-Type", "application/json")], 405),
    ] {
        let mut admin = Client::connect(larder.admin());
        let named = fields.iter().any(|(name, _)| *name == "Host");
        let mut ask = admin.ask(method, "/purge");
        if !named {
            ask = ask.header("Host", "localhost");
        }
        for (name, value) in fields {
            ask = ask.header(name, value);
        }
        let answer = ask.body(all).send();
        assert_eq!(answer.status, status, "{method} {fields:?}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
        if status == 405 {
            assert_eq!(answer.header("allow"), Some("POST"), "{method}");
        }
    }
    assert!(kept(&larder, "a.test", "/"));
}

#[test]
fn a_body_that_does_not_come_purges_nothing() {
    let (_origin, larder) = site("max-age=600");
    let head = "POST /purge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 19\r\n\r\n";
    let mut admin = Client::connect(larder.admin());
    admin.send(format!("{head}{{\"everything\":tr"));
    admin.end();
    drop(admin);
    let mut admin = Client::connect(larder.admin());
    admin.send(format!("{head}{{\"everything\":true}}"));
    assert_eq!(admin.read().status, 200, "another one is served");
}

#[test]
fn purges_are_not_taken_where_the_admin_api_is_off() {
    let (origin, larder) = site("max-age=600");
    origin.on("/purge", |_| Reply::status(404));
    let answer = larder
        .ask("POST", "/purge")
        .header("Content-Type", "application/json")
        .body(r#"{"everything":true}"#)
        .send();
    assert_eq!(answer.status, 404, "on a listener it is the application's");
    assert!(kept(&larder, "a.test", "/"));
}

#[test]
fn purges_are_counted() {
    let (_origin, larder) = site("max-age=600");
    for what in [
        json!({ "tag": "n1" }),
        json!({ "tag": "n2", "soft": true }),
        json!({ "host": "a.test" }),
        json!({ "regex": "/news/" }),
    ] {
        purge(&larder, &what);
    }
    for (name, expected) in [
        ("larder_purges_total{kind=\"tag\"}", 2),
        ("larder_purges_total{kind=\"host\"}", 1),
        ("larder_purges_total{kind=\"pattern\"}", 1),
        ("larder_purges_total{kind=\"url\"}", 0),
        ("larder_purges_soft_total", 1),
        ("larder_purge_sequence", 4),
        ("larder_purge_patterns", 1),
        ("larder_purges_unsure", 0),
    ] {
        assert_eq!(sample(&larder, name), expected, "{name}");
    }
    // Of the tags 4 and 2; of the host 3 and of the expression 1 more, and what of the former is not swept yet.
    let touched = sample(&larder, "larder_purge_touched_total");
    assert!((10..=15).contains(&touched), "{touched}");
    testkit::wait_until("what was purged is swept", || {
        sample(&larder, "larder_purge_swept_total") > 0
    });
}

#[test]
fn what_was_purged_does_not_come_back_from_disk() {
    for (what, first) in [
        (json!({ "url": "http://example.test/page" }), "2"),
        (json!({ "tag": "t" }), "2"),
        (json!({ "regex": "page" }), "2"),
        (json!({ "everything": true }), "2"),
        (json!({ "url": "http://example.test/other" }), "1"),
    ] {
        let directory = testkit::scratch_dir().join("cache");
        let origin = Origin::start();
        origin.otherwise(|request| counted(request).cache("max-age=600").header("xkey", "t"));
        let config = format!(
            "disk = {{ path = {:?}, size = \"64MiB\" }}\n[[origin]]\nservers = {:?}\n",
            directory.display().to_string(),
            origin.url()
        );
        let serve = || {
            Command::serve(env!("CARGO_BIN_EXE_larder"))
                .config(&config)
                .start()
        };
        let larder = serve();
        for _ in 0..3 {
            assert_eq!(larder.get("/page").send().text(), "1");
        }
        testkit::wait_until("it is on disk", || {
            sample(&larder, "larder_disk_writes_total") > 0
        });
        purge(&larder, &what);
        drop(larder);
        let larder = serve();
        testkit::wait_until("what is on disk is known", || {
            sample(&larder, "larder_disk_index_whole") == 1
        });
        assert_eq!(larder.get("/page").send().text(), first, "{what}");
        let path = directory.display().to_string();
        let stat = command().args(["disk", "stat", &path]).run();
        assert_eq!(stat.code, Some(0), "{}", stat.stderr);
        assert!(stat.stdout.contains(": in use"), "{}", stat.stdout);
        larder.stop();
        let verified = command().args(["disk", "verify", &path]).run();
        assert_eq!(
            verified.code,
            Some(0),
            "{}{}",
            verified.stdout,
            verified.stderr
        );
        assert!(
            verified.stdout.contains("nothing is damaged"),
            "{}",
            verified.stdout
        );
    }
}

/// Whatever field an application names its pages in.
#[test]
fn each_field_with_tags_is_obeyed_and_passed_on_only_when_asked_for() {
    for (field, tags) in [
        ("Surrogate-Key", "one two"),
        ("Cache-Tag", "one,two"),
        ("Edge-Cache-Tag", "one,two"),
        ("Cache-Tags", "one,two"),
        ("Cache-Tags", "one two"),
        ("X-Cache-Tags", "one,two"),
        ("X-Cache-Tags", "one, two"),
        ("xkey", "one two"),
        ("X-Magento-Tags", "one,two"),
    ] {
        for passed in [false, true] {
            let pass = if passed {
                format!("[purge]\npass_tags = [{field:?}]\n")
            } else {
                String::new()
            };
            let (origin, larder) =
                start_with(&format!("[[origin]]\nservers = \"{{origin}}\"\n{pass}"));
            origin.otherwise(move |request| {
                counted(request).cache("max-age=600").header(field, tags)
            });
            let answer = larder.get("/").header("Host", HOSTS[0]).send();
            assert_eq!(answer.header(field).is_some(), passed, "{field}");
            assert!(kept(&larder, HOSTS[0], "/"), "{field}");
            let told = purge(&larder, &json!({ "tag": "two" }));
            assert_eq!(told["touched"], 1, "{field}");
            assert!(!kept(&larder, HOSTS[0], "/"), "{field}");
        }
    }
}
