//! Purges in the words of the clients people use, byte for byte as these write them, against the running program: what is
//! gone and what stays, what the client reads, and that the origin sees none of it.

use crate::{
    common::{counted, sample, start_with},
    purge_clients_rows::{ALL, NONE, ROWS, Row},
};
use testkit::{Gate, Larder, Origin, Reply, Response, wait_until};

pub(crate) const SITE: &str = "site.test";
const OTHER: &str = "other.test";

/// The pages that each row finds stored, on both hosts: target, media type, and the tags it carries in every dialect's
/// field.
const PAGES: [(&str, &str, &[&str]); 4] = [
    ("/", "text/html", &["home", "list"]),
    ("/a", "text/html", &["p-1", "list"]),
    ("/a?q=1", "text/html", &["p-12", "list"]),
    ("/img/x.png", "image/png", &["/books/1", "p-1-2", "blue"]),
];

/// The pool of servers that each page says it comes from.
const fn pool(target: &str) -> &'static str {
    match target.len() {
        ..3 => "blue",
        _ => "green",
    }
}

/// A larder before an origin whose pages stay fresh and carry tags.
pub(crate) fn tagged(config: &str) -> (Origin, Larder) {
    let config = format!("{config}\n[[origin]]\nservers = \"{{origin}}\"\n");
    let (origin, larder) = start_with(&config);
    origin.otherwise(|request| {
        let page = PAGES.iter().find(|(target, ..)| *target == request.target);
        let Some((_, media, tags)) = page else {
            return counted(request).cache("max-age=60");
        };
        counted(request)
            .cache("max-age=60, stale-while-revalidate=600")
            .header("Content-Type", media)
            .header("Surrogate-Key", tags.join(" "))
            .header("X-Cache-Tags", tags.join(","))
            .header("X-Pool", pool(&request.target))
    });
    (origin, larder)
}

pub(crate) fn warm(larder: &Larder) {
    for host in [SITE, OTHER] {
        for (target, ..) in PAGES {
            let answer = larder.get(target).header("Host", host).send();
            assert_eq!(answer.status, 200, "{host}{target}");
        }
    }
}

/// The pages of a host that are not answered from the store any more.
pub(crate) fn gone(larder: &Larder, host: &str) -> Vec<&'static str> {
    let held = |target| {
        let ask = larder.get(target).header("Host", host);
        ask.header("Cache-Control", "only-if-cached, max-stale=0")
            .send()
    };
    let targets = PAGES.iter().map(|(target, ..)| *target);
    targets
        .filter(|target| held(target).status != 200)
        .collect()
}

/// Sends a head as it is written in a table, with bare line feeds, and reads the answer.
pub(crate) fn say(larder: &Larder, message: &str) -> Response {
    let (head, content) = message.split_once("\n\n").unwrap_or((message, ""));
    let mut client = larder.client();
    let length = match content {
        "" => String::new(),
        content => format!("Content-Length: {}\r\n", content.len()),
    };
    let head = head.replace('\n', "\r\n");
    client.send(format!("{head}\r\n{length}\r\n{content}"));
    client.read()
}

/// What the origin was asked besides pages.
pub(crate) fn leaked(origin: &Origin) -> Vec<String> {
    let all = origin.all().into_iter();
    let odd = all.filter(|request| request.method != "GET" || request.target.contains("purge"));
    odd.map(|request| format!("{} {}", request.method, request.target))
        .collect()
}

#[test]
fn each_client_works_unmodified() {
    let (origin, larder) = tagged("purge.get_prefix = \"/purge\"");
    let mut wrong = Vec::new();
    for row in ROWS {
        warm(&larder);
        let answer = say(&larder, row.message);
        let found = [gone(&larder, SITE), gone(&larder, OTHER)];
        let result = answer.joined("cache-purge-result");
        let fits = answer.status == 200
            && found == row.gone
            && result == row.result
            && answer.text().contains(row.content);
        if !fits {
            let Row { client, gone, .. } = row;
            wrong.push(format!(
                "{client}: {} {result}, gone {found:?} of {gone:?}, {}",
                answer.status,
                answer.text()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(leaked(&origin), NONE);
    assert_eq!(
        sample(&larder, "larder_client_purges_total"),
        ROWS.len() as u64
    );
}

/// The paths of other caches' APIs on the listener: Souin answers 204 and nothing else.
#[test]
fn the_apis_of_souin_and_fastly_work_unmodified() {
    let (origin, larder) = tagged("purge.souin = \"/souin-api/souin\"");
    for (message, status, covered) in [
        (
            "PURGE /souin-api/souin/GET-http-site.test-/a HTTP/1.1\nHost: c\n",
            204,
            vec!["/a"],
        ),
        (
            "PURGE /souin-api/souin/GET-http-site.test-/a.* HTTP/1.1\nHost: c\n",
            204,
            vec!["/a", "/a?q=1"],
        ),
        (
            "PURGE /souin-api/souin/%5EGET-https-site%5C.test-/(img%7Cnone)/.%2B%5C.png$ HTTP/1.1\nHost: c\n",
            204,
            vec!["/img/x.png"],
        ),
        (
            "PURGE /souin-api/souin/.%2Bother.test.%2B HTTP/1.1\nHost: c\n",
            204,
            vec![],
        ),
        (
            "PURGE /souin-api/souin HTTP/1.1\nHost: c\nSurrogate-Key: home\n",
            204,
            vec!["/"],
        ),
        (
            "PURGE /souin-api/souin HTTP/1.1\nHost: c\nSurrogate-Key: /books/1, home\n",
            204,
            vec!["/", "/img/x.png"],
        ),
        (
            "PURGE /souin-api/souin/flush HTTP/1.1\nHost: c\n",
            204,
            ALL.to_vec(),
        ),
        (
            "POST /service/abc/purge/home HTTP/1.1\nHost: s\nFastly-Key: k\n",
            200,
            vec!["/"],
        ),
        (
            "POST /service/abc/purge HTTP/1.1\nHost: s\nFastly-Key: k\nSurrogate-Key: home\n",
            200,
            vec!["/"],
        ),
        (
            "POST /service/abc/purge_all HTTP/1.1\nHost: s\nFastly-Key: k\n",
            200,
            ALL.to_vec(),
        ),
    ] {
        warm(&larder);
        let answer = say(&larder, message);
        assert_eq!(answer.status, status, "{message}: {}", answer.text());
        assert_eq!(gone(&larder, SITE), covered, "{message}");
    }
    assert_eq!(leaked(&origin), NONE);
}

#[test]
fn souins_list_names_what_is_stored() {
    let (origin, larder) = tagged("purge.souin = \"/souin-api/souin\"");
    let list = |larder: &Larder| {
        let answer = say(larder, "GET /souin-api/souin HTTP/1.1\nHost: c\n");
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let names: Vec<String> = serde_json::from_slice(&answer.body).expect("JSON");
        names
    };
    assert_eq!(list(&larder), NONE);
    warm(&larder);
    let all: Vec<_> = [OTHER, SITE]
        .into_iter()
        .flat_map(|host| {
            ALL.iter()
                .map(move |target| format!("GET-http-{host}-{target}"))
        })
        .collect();
    assert_eq!(list(&larder), all);
    for name in all.iter().skip(1) {
        let message = format!("PURGE /souin-api/souin/{name} HTTP/1.1\nHost: c\n");
        assert_eq!(say(&larder, &message).status, 204, "{name}");
    }
    assert_eq!(list(&larder), all[..1], "each can be purged by its name");
    assert_eq!(leaked(&origin), NONE);
}

#[test]
fn souins_list_is_bounded_whatever_clients_ask_for() {
    const MOST: usize = 16 << 20;
    let (origin, larder) = tagged("purge.souin = \"/souin-api/souin\"\nmemory.size = \"256MiB\"");
    let long = "x".repeat(15 << 10);
    let mut client = larder.client();
    for number in 0..MOST / long.len() + 20 {
        let message = format!("GET /{number}-{long} HTTP/1.1\r\nHost: {SITE}\r\n\r\n");
        client.send(message.as_bytes());
        assert_eq!(client.read().status, 200);
    }
    let answer = say(&larder, "GET /souin-api/souin HTTP/1.1\nHost: c\n");
    let names: Vec<String> = serde_json::from_slice(&answer.body).expect("JSON");
    let length = answer.body.len();
    assert!(length <= MOST, "{length} bytes");
    assert!(
        length > MOST - (64 << 10),
        "{length} bytes: as many as there is room for"
    );
    assert!(names.iter().all(|name| name.ends_with(&long)));
    assert_eq!(leaked(&origin), NONE);
}

#[test]
fn soft_purges_leave_what_is_stale_to_be_sent() {
    let (origin, larder) = tagged("");
    for (client, message, content) in [
        (
            "xkey",
            "PURGEKEYS / HTTP/1.1\nHost: c\nxkey-softpurge: p-1\n",
            "Purged 0 objects, expired 2 objects",
        ),
        (
            "Fastly",
            "PURGE /a HTTP/1.1\nHost: site.test\nFastly-Soft-Purge: 1\nFastly-Key: k\n",
            "ok",
        ),
        (
            "Magento",
            "PURGE / HTTP/1.1\nHost: c\nX-Magento-Tags-Pattern: (^|,)p-1(,|$)\nX-Magento-Purge-Soft: 1\n",
            "{\"invalidated\":2}",
        ),
    ] {
        warm(&larder);
        let before = origin.requests("/a");
        let answer = say(&larder, message);
        assert_eq!(answer.status, 200, "{client}");
        assert!(
            answer.text().contains(content),
            "{client}: {}",
            answer.text()
        );
        let stale = larder.get("/a").header("Host", SITE).send();
        assert!(
            stale
                .joined("cache-status")
                .contains("stale-while-revalidate"),
            "{client}: {:?}",
            stale.head
        );
        origin.wait_requests("/a", before + 1);
        wait_until("the refresh is stored", || gone(&larder, SITE).is_empty());
    }
}

#[test]
fn a_refresh_fetches_anew_what_is_stored() {
    // Who may purge may force, whoever else may not.
    let (origin, larder) = tagged("defaults.client_may_force = false");
    for message in [
        "GET /a HTTP/1.1\nHost: site.test\nX-Refresh: 1\nConnection: Close\n",
        "GET /a HTTP/1.1\nHost: site.test\nCache-Control: no-cache\nConnection: Close\n",
        "REFRESH /a HTTP/1.1\nHost: site.test\n",
    ] {
        warm(&larder);
        let before = origin.requests("/a");
        let answer = say(&larder, message);
        assert_eq!(answer.status, 200, "{message}");
        assert_eq!(origin.requests("/a"), before + 1, "{message}");
        assert_eq!(origin.last("/a").method, "GET", "{message}");
        let next = larder.get("/a").header("Host", SITE).send();
        assert_eq!(
            next.body, answer.body,
            "what was fetched is stored: {message}"
        );
    }
}

/// What `FOSHttpCache`'s own tests look at.
#[test]
fn who_debugs_is_told_whether_the_cache_hit() {
    let (origin, larder) = tagged("");
    for (target, debug, cache, words) in [
        ("/kept", "1", "max-age=60", [Some("MISS"), Some("HIT")]),
        ("/passed", "1", "no-store", [Some("MISS"), Some("MISS")]),
        ("/plain", "", "max-age=60", [None, None]),
    ] {
        let reply = Reply::ok().cache(cache).header("X-Cache", "theirs");
        origin.reply(
            target,
            match debug {
                "" => Reply::ok().cache(cache),
                debug => reply.header("X-Cache-Debug", debug),
            },
        );
        for word in words {
            let answer = larder.get(target).send();
            assert_eq!(answer.header("x-cache"), word, "{target}");
            assert_eq!(answer.headers("x-cache").len(), word.iter().count());
        }
    }
}

#[test]
fn a_miss_can_be_told_as_nginx_does() {
    for (status, text) in [(404, "404"), (412, "412"), (200, "200")] {
        let (_origin, larder) = tagged(&format!("purge.miss_status = {text}"));
        let answer = say(&larder, "PURGE /a HTTP/1.1\nHost: site.test\n");
        assert_eq!(answer.status, status);
        warm(&larder);
        let answer = say(&larder, "PURGE /a HTTP/1.1\nHost: site.test\n");
        assert_eq!(answer.status, 200);
    }
}

#[test]
fn purges_may_be_pipelined_and_tags_may_be_many() {
    let (origin, larder) = tagged("");
    warm(&larder);
    let mut client = larder.client();
    let targets = ["/a", "/", "/img/x.png"];
    let requests = targets.map(|target| {
        format!("PURGE http://site.test{target} HTTP/1.1\r\nHost: site.test\r\nProxy-Connection: Keep-Alive\r\n\r\n")
    });
    client.send(requests.concat());
    for target in targets {
        assert_eq!(
            client.read().joined("cache-purge-result"),
            "exact; count=1",
            "{target}"
        );
    }
    assert_eq!(gone(&larder, SITE), ["/", "/a", "/img/x.png"]);

    let tags: Vec<_> = (0..1500)
        .map(|number| format!("product-{number}"))
        .collect();
    let line = format!("{},home", tags.join(","));
    assert!(line.len() > 16 << 10);
    let answer = larder
        .ask("PURGETAGS", "/")
        .header("X-Cache-Tags", &line)
        .send();
    assert_eq!(
        answer.joined("cache-purge-result"),
        "tags; count=1",
        "{}",
        answer.text()
    );
    assert_eq!(leaked(&origin), NONE);
}

#[test]
fn tags_speak_to_the_cache_alone_unless_they_are_passed_on() {
    for (config, seen) in [("", false), ("purge.pass_tags = \"X-Cache-Tags\"", true)] {
        let (origin, larder) = tagged(config);
        for _ in 0..2 {
            let answer = larder.get("/a").header("Host", SITE).send();
            assert_eq!(answer.header("x-cache-tags").is_some(), seen, "{config}");
            assert!(answer.header("surrogate-key").is_none(), "{config}");
        }
        let capability = origin.last("/a").headers("surrogate-capability").join(", ");
        assert!(
            capability.contains("=\"Surrogate/1.0 tags/1\""),
            "{capability}"
        );
    }
}

#[test]
fn a_page_that_was_on_its_way_when_it_was_purged_is_not_kept() {
    for message in [
        "PURGE /slow HTTP/1.1\nHost: site.test\n",
        "PURGE / HTTP/1.1\nHost: site.test\nxkey: slow\n",
        "BAN / HTTP/1.1\nHost: site.test\n",
    ] {
        let (origin, larder) = tagged("");
        let gate = Gate::new();
        let reply = Reply::ok().cache("max-age=60").header("xkey", "slow");
        origin.reply("/slow", reply.clone().body("old").hold_head(&gate));
        let mut client = larder.get("/slow").header("Host", SITE).begin();
        gate.wait_reached();
        assert_eq!(say(&larder, message).status, 200);
        origin.reply("/slow", reply.body("new"));
        gate.open();
        assert_eq!(client.read().body, b"old", "it asked before: {message}");
        let next = larder.get("/slow").header("Host", SITE).send();
        assert_eq!(next.body, b"new", "{message}");
    }
}

#[test]
fn keys_of_the_site_are_found_however_they_are_made() {
    let config = "[defaults]\norigin_host = \"app.test\"\n[defaults.key]\nhost = false\nquery = \"q\"\nsort = true";
    let (_origin, larder) = tagged(config);
    for message in [
        "PURGE /a?utm=1&q=1 HTTP/1.1\nHost: site.test\n",
        "PURGE /%61?q=1 HTTP/1.1\nHost: other.test\n",
        "PURGE /a* HTTP/1.1\nHost: site.test\n",
        "BAN / HTTP/1.1\nHost: c\nX-Host: ^site\\.test$\nX-Url: .*\nX-Content-Type: .*\n",
        "BAN / HTTP/1.1\nHost: c\nX-Host: site\nX-Url: q=1\nX-Content-Type: .*\n",
    ] {
        larder.get("/a?q=1").header("Host", SITE).send();
        say(&larder, message);
        assert!(gone(&larder, SITE).contains(&"/a?q=1"), "{message}");
    }
}

/// Wagtail's own backend, from `PyPI` (`.ci/tools` installs it).
#[test]
fn wagtail_purges_pages() {
    let python = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../target/python/bin/python"
    );
    let (origin, larder) = tagged("");
    warm(&larder);
    let testkit::Address::Tcp(address) = larder.address() else {
        panic!("a TCP address")
    };
    let script = format!(
        "import logging; logging.basicConfig()\n\
         from wagtail.contrib.frontend_cache.backends.http import HTTPBackend\n\
         backend = HTTPBackend({{'LOCATION': 'http://{address}/'}})\n\
         backend.purge_batch(['http://site.test/a', 'https://site.test/a?q=1', 'http://other.test/nowhere'])\n"
    );
    let done = std::process::Command::new(python)
        .args(["-c", &script])
        .output();
    let done = done.unwrap_or_else(|error| panic!("{python}: {error}; run .ci/tools"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.is_empty(), "{said}");
    assert_eq!(gone(&larder, SITE), ["/a", "/a?q=1"]);
    assert_eq!(gone(&larder, OTHER), NONE);
    assert_eq!(leaked(&origin), NONE);
}
