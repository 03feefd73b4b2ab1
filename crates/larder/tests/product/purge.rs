//! Purging through the admin API and the command: what each purge covers and says, and that nothing else is touched.

use crate::common::{Said, command, counted, reload_as, sample, start, start_with};
use serde_json::{Value, json};
use testkit::{Address, Client, Finished, Larder, Origin, Reply, Response};

/// Asks the admin API to purge.
pub(crate) fn post(larder: &Larder, body: impl AsRef<[u8]>) -> Response {
    Client::connect(larder.admin())
        .ask("POST", "/purge")
        .header("Host", "localhost")
        .header("Content-Type", "application/json")
        .body(body)
        .send()
}

/// Purges, and gives what that came to.
pub(crate) fn purge(larder: &Larder, what: &Value) -> Value {
    let answer = post(larder, what.to_string());
    assert_eq!(answer.status, 200, "{what}: {}", answer.text());
    serde_json::from_slice(&answer.body).expect("JSON")
}

/// `larder purge` with these arguments.
pub(crate) fn run(larder: &Larder, arguments: &[&str]) -> Finished {
    let Address::Tcp(admin) = larder.admin() else {
        panic!("a TCP address")
    };
    command()
        .args(["purge", "--admin", &admin.to_string()])
        .args(arguments.iter().copied())
        .run()
}

/// Whether a GET is answered from the store as fresh.
pub(crate) fn kept(larder: &Larder, host: &str, target: &str) -> bool {
    let answer = larder
        .get(target)
        .header("Host", host)
        .header("Cache-Control", "only-if-cached, max-stale=0")
        .send();
    answer.status == 200 && answer.parameter("detail").is_none()
}

/// The pages of a small site, each with its tags.
pub(crate) const PAGES: [(&str, &str); 5] = [
    ("/", "home"),
    ("/news/1", "news n1"),
    ("/news/2", "news n2"),
    ("/shop?item=1", "shop n1"),
    ("/shop?item=2", "shop"),
];

/// Those of them that are in the cache group `n1`, named as a tag is.
const GROUPED: [&str; 2] = ["/", "/shop?item=2"];
pub(crate) const HOSTS: [&str; 2] = ["a.test", "b.test:8080"];

/// A site of two hosts, whole in the store.
pub(crate) fn site(cache: &'static str) -> (Origin, Larder) {
    let (origin, larder) = start();
    origin.otherwise(move |request| {
        let tags = PAGES.iter().find(|(target, _)| *target == request.target);
        let reply = counted(request).cache(cache);
        tags.map_or(reply.clone(), |(target, tags)| {
            let reply = reply.header("Surrogate-Key", tags);
            if GROUPED.contains(target) {
                reply.header("Cache-Groups", "\"n1\", \"all of it\"")
            } else {
                reply
            }
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
            json!({ "url": "HTTP://a.test:80/news/1" }),
            json!({ "urls": ["//a.test/news/1"] }),
            of(|host, target| host == "a.test" && target == "/news/1"),
        ),
        (
            json!({ "prefix": "Https://a.test:443/news/" }),
            json!({ "prefixes": ["//a.test/news/"] }),
            of(|host, target| host == "a.test" && target.starts_with("/news/")),
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
            json!({ "groups": ["n1"], "host": "A.test" }),
            json!({ "groups": ["//a.test n1"] }),
            of(|host, target| host == "a.test" && GROUPED.contains(&target)),
        ),
        (
            json!({ "groups": ["nobody", "all of it"], "host": "b.test:8080" }),
            json!({ "groups": ["//b.test:8080 all of it", "//b.test:8080 nobody"] }),
            of(|host, target| host == "b.test:8080" && GROUPED.contains(&target)),
        ),
        (
            json!({ "groups": ["N1", "home"], "host": "a.test" }),
            json!({ "groups": ["//a.test N1", "//a.test home"] }),
            Vec::new(),
        ),
        (
            json!({ "groups": ["n1"], "host": "b.test" }),
            json!({ "groups": ["//b.test n1"] }),
            Vec::new(),
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

/// Where a route sorts or drops parameters the key begins otherwise than what was asked for: whatever has the path and
/// a query goes.
#[test]
fn a_beginning_that_ends_within_the_query_covers_what_is_asked_for_so() {
    const SHOP: [&str; 3] = [
        "/shop?b=2&a=1",
        "/shop?b=2&page=1&a=1",
        "/shop?utm_source=m",
    ];
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n\
         [[route]]\npath = \"/shop\"\nquery = \"page\"\nkey.sort = true\n\
         [[route]]\npath = \"/shop\"\nkey = { sort = true, drop_tracking = true }\n",
    );
    origin.otherwise(|request| counted(request).cache("max-age=600"));
    let others = ["/shop", "/shops?b=2&a=1", "/plain?b=2&a=1"];
    for (prefix, covered) in [
        ("http://a.test/shop?b=2", &SHOP[..2]),
        ("/shop?b=2&a=", &SHOP[..2]),
        ("http://a.test/shop?utm_source=", &SHOP),
        ("http://a.test/plain?b=", &others[2..]),
    ] {
        for target in SHOP.iter().chain(&others) {
            larder.get(target).header("Host", "a.test").send();
        }
        let done = run(&larder, &["--prefix", prefix]);
        assert_eq!(done.code, Some(0), "{done:?}");
        for target in covered {
            assert!(!kept(&larder, "a.test", target), "{prefix}: {target}");
        }
        let kept = |target| kept(&larder, "a.test", target);
        assert!(kept("/shops?b=2&a=1"), "{prefix}");
        assert_eq!(
            kept("/plain?b=2&a=1"),
            !covered.contains(&others[2]),
            "{prefix}"
        );
        // What is dropped leaves the page without a query.
        assert_eq!(kept("/shop"), !prefix.contains("utm"), "{prefix}");
    }
}

/// What remains of a URL whose query is dropped is one page on every host, even if others begin with its path.
#[test]
fn a_beginning_whose_query_is_dropped_leaves_what_begins_with_the_path() {
    const PAGES: [&str; 6] = ["/", "/blog/", "/n/x", "/blog/one", "/n/xy", "/n/x/y"];
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[[route]]\nkey = { drop_tracking = true }\n",
    );
    origin.otherwise(|request| counted(request).cache("max-age=600"));
    for bare in &PAGES[..3] {
        for host in ["a.test", "b.test"] {
            for target in PAGES {
                larder.get(target).header("Host", host).send();
            }
        }
        let done = run(&larder, &["--prefix", &format!("{bare}?utm_source=")]);
        assert_eq!(done.code, Some(0), "{done:?}");
        for host in ["a.test", "b.test"] {
            for target in &PAGES {
                let is_kept = kept(&larder, host, target);
                assert_eq!(is_kept, target != bare, "{bare}: {host}{target}");
            }
        }
    }
}

/// Of a query that is dropped as a whole the beginning may be anything, and what comes later may choose the route.
#[test]
fn a_beginning_covers_what_may_be_dropped_behind_it() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n\
         [[route]]\npath = \"/n/*\"\nquery = \"page\"\nkey.drop = [\"page\", \"utm_*\"]\n\
         [[route]]\npath = \"/n/*\"\n\
         [[route]]\nkey.drop_tracking = true\n",
    );
    origin.otherwise(|request| counted(request).cache("max-age=600"));
    for (target, beginning) in [
        ("/n/x?utm_source=m&page=1", "/n/x?utm_source="),
        ("/x?utm_source=m", "/x?"),
        ("/x?utm_source=m", "/x?ut"),
        ("/x?utm_source=m&utm_medium=n", "/x?utm_source=m&"),
        ("/x?utm_source=m&utm_medium=n", "/x?utm_source=m&utm_me"),
    ] {
        for prefix in [beginning.to_owned(), format!("http://a.test{beginning}")] {
            larder.get(target).header("Host", "a.test").send();
            assert!(kept(&larder, "a.test", target), "{target}");
            let done = run(&larder, &["--prefix", &prefix]);
            assert_eq!(done.code, Some(0), "{done:?}");
            assert!(!kept(&larder, "a.test", target), "{prefix}: {target}");
        }
    }
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
            &[
                "--group", "n1", "--group", "x", "--host", "a.test", "--soft",
            ],
            0,
            "group //a.test n1\ngroup //a.test x\nsoftly purged: 2 stored responses in memory here, sequence 1\n",
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
fn all_variants_and_all_keys_of_a_url_go() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n\
         [[route]]\npath = \"/field/*\"\nkey = { headers = \"X-Group\", cookies = \"theme\" }\n\
         [[route]]\npath = \"/mixed/*\"\nheader = \"X-Group\"\n\
         [[route]]\npath = \"/hosts/*\"\norigin_host = \"app.test\"\nkey = { host = false, scheme = false, sort = true, drop_tracking = true }\n",
    );
    origin.otherwise(|request| {
        counted(request)
            .cache("max-age=60")
            .header("Vary", "Accept-Language")
    });
    // Of nine requests so many are for different stored responses.
    for (target, purged, stored) in [
        ("/page", "http://example.test/page", 2),
        ("/field/1", "http://example.test/field/1", 9),
        ("/mixed/1", "https://example.test/mixed/1", 4),
        (
            "/hosts/1?b=1&a=2&utm_source=x",
            "http://other.test/hosts/1?a=2&b=1",
            2,
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
        assert_eq!(all(), 9 - stored, "{target}");
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

#[test]
fn what_is_purged_hides_no_other_that_matches() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let reply = Reply::ok()
            .cache("max-age=60")
            .body(request.nth.to_string());
        match request.nth {
            1 => reply.header("Vary", "Foo").header("Surrogate-Key", "t"),
            _ => reply,
        }
    });
    let ask = || larder.get("/").header("Foo", "1");
    ask().send();
    assert_eq!(larder.get("/").header("Foo", "2").send().text(), "2");
    assert_eq!(ask().send().text(), "1");
    purge(&larder, &json!({ "tag": "t" }));
    let hit = ask().send();
    assert_eq!(
        (hit.hit(), hit.text().as_str()),
        (true, "2"),
        "9111 section 4: {}",
        hit.said()
    );
    let Address::Tcp(admin) = larder.admin() else {
        panic!("a TCP address")
    };
    let explained = command()
        .args(["explain", "http://example.test/", "-H", "Foo: 1"])
        .args(["--admin", &admin.to_string()])
        .run();
    assert!(explained.stdout.contains("fresh"), "{explained:?}");
    purge(&larder, &json!({ "url": "http://example.test/" }));
    assert_eq!(ask().send().parameter("fwd").as_deref(), Some("uri-miss"));
}

/// A reload has the site key it otherwise while it is purged, and another has it keyed as before.
#[test]
fn a_purge_of_a_url_covers_what_is_stored_for_it_as_it_is_written() {
    let asked = "/x?b=1&a=2";
    for key in ["sort = true", "query_except = [\"b\"]"] {
        let (origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
        origin.otherwise(|request| counted(request).cache("max-age=600"));
        let base = format!("[[origin]]\nservers = \"{}\"\n", origin.url());
        larder.get(asked).header("Host", "a.test").send();
        assert!(kept(&larder, "a.test", asked));
        reload_as(&larder, &format!("{base}[defaults.key]\n{key}\n"), "2");
        let url = format!("http://a.test{asked}");
        let answer = purge(&larder, &json!({ "url": url }));
        assert_eq!(answer["touched"], 1, "{key}: {answer}");
        reload_as(&larder, &base, "3");
        assert!(!kept(&larder, "a.test", asked), "{key}");
    }
}
