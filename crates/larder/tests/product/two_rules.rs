//! Where two rules meet: each holds, whatever the other says.

use crate::common::{Said, counted, reload_as, start, start_with};
use testkit::{Gate, Larder, Origin, Reply, Response};

/// `/` is stored with these directives and an age of 70, and what comes later is counted on.
fn stale(directives: &'static str) -> (Origin, Larder) {
    let (origin, larder) = start();
    origin.on("/", move |request| {
        let reply = counted(request).cache(directives);
        match request.nth {
            1 => reply.header("Age", "70"),
            _ => reply,
        }
    });
    assert_eq!(larder.get("/").send().text(), "1");
    (origin, larder)
}

fn ask(larder: &Larder, directives: &str) -> Response {
    larder.get("/").header("Cache-Control", directives).send()
}

/// RFC 9111 sections 5.2.1.1 to 5.2.1.3, RFC 5861 section 3: a client that says how old, or how fresh, it takes an
/// answer gets nothing that is stale, unless it says that too.
#[test]
fn a_window_for_stale_answers_and_what_a_client_asks_for() {
    const WINDOW: &str = "max-age=60, stale-while-revalidate=600";
    for (directives, first) in [
        ("max-age=100", false),
        ("min-fresh=0", false),
        ("max-age=100, max-stale", true),
        ("max-age=100, max-stale=20", true),
        ("max-age=100, max-stale=5", false),
        ("max-age=65, max-stale", false),
        ("max-stale", true),
        ("foo", true),
    ] {
        let (_origin, larder) = stale(WINDOW);
        let answer = ask(&larder, directives);
        let told = (answer.hit(), answer.text() == "1");
        assert_eq!(told, (first, first), "{directives}: {}", answer.said());
    }
}

/// RFC 9111 section 5.2.1.7: what is stored and may be sent, or 504; nothing that forbids stale answers gives way.
#[test]
fn only_if_cached_and_stale_answers() {
    for (stored, asked, status) in [
        ("max-age=60", "only-if-cached", 504),
        ("max-age=60", "only-if-cached, max-stale", 200),
        ("max-age=60", "only-if-cached, max-stale=5", 504),
        (
            "max-age=60, stale-while-revalidate=600",
            "only-if-cached",
            200,
        ),
        ("max-age=60, stale-if-error=600", "only-if-cached", 504),
        (
            "max-age=60, must-revalidate",
            "only-if-cached, max-stale",
            504,
        ),
        (
            "max-age=60, proxy-revalidate",
            "only-if-cached, max-stale",
            504,
        ),
        ("s-maxage=60", "only-if-cached, max-stale", 504),
        (
            "max-age=60, no-cache, stale-while-revalidate=600",
            "only-if-cached, max-stale",
            504,
        ),
    ] {
        let (_origin, larder) = stale(stored);
        let answer = ask(&larder, asked);
        assert_eq!(answer.status, status, "{stored}; {asked}");
        assert_eq!(answer.hit(), status == 200, "{}", answer.said());
    }
}

/// RFC 9111 section 5.2.2.3: statuses that are understood set `no-store` aside, and no other does, whatever the site says.
#[test]
fn must_understand_and_other_statuses() {
    for (status, route, hit) in [
        (404, "", true),
        (302, "", true),
        (410, "", true),
        (299, "", false),
        (499, "", false),
        (299, "ttl = { \"299\" = \"1m\" }", false),
        (404, "ttl = { \"404\" = \"1m\" }", true),
    ] {
        let route = format!("[[origin]]\nservers = \"{{origin}}\"\n[defaults]\n{route}\n");
        let (origin, larder) = start_with(&route);
        origin.otherwise(move |request| {
            Reply::status(status)
                .cache("no-store, must-understand, max-age=60")
                .header("Location", "/elsewhere")
                .body(request.nth.to_string())
        });
        for _ in 0..2 {
            assert_eq!(larder.get("/").send().status, status);
        }
        assert_eq!(larder.get("/").send().hit(), hit, "{status} {route}");
    }
}

/// RFC 9111 sections 5.2.2.4 and 5.2.2.7: a field that is named goes to nobody later, also where the site says how long
/// a page is kept.
#[test]
fn a_lifetime_of_the_site_and_named_fields() {
    for directive in ["no-cache=\"x-mine\"", "private=\"x-mine\""] {
        let (origin, larder) = start_with(
            "[[origin]]\nservers = \"{origin}\"\n[defaults]\nttl = \"1m\"\nttl_mode = \"override\"\n",
        );
        origin.otherwise(move |request| {
            counted(request)
                .cache(directive)
                .header("X-Mine", "secret")
                .header("X-Other", "all")
        });
        larder.get("/").send();
        let later = larder.get("/").send();
        let told = (later.hit(), later.header("x-other"), later.header("x-mine"));
        assert_eq!(told, (true, Some("all"), None), "{directive}");
    }
}

/// RFC 9213 section 2.2: an empty targeted field, or one that is no dictionary, says nothing, so that a cookie is one
/// client's.
#[test]
fn a_targeted_field_that_says_nothing_and_a_cookie() {
    for (targeted, hit) in [
        ("max-age=60", true),
        ("", false),
        ("max-age=60, \"", false),
        ("=60", false),
    ] {
        let (origin, larder) = start();
        origin.otherwise(move |request| {
            let reply = counted(request).cache("max-age=60");
            reply
                .header("CDN-Cache-Control", targeted)
                .header("Set-Cookie", "id=1")
        });
        larder.get("/").send();
        let later = larder.get("/").send();
        assert_eq!(later.hit(), hit, "{targeted:?}: {}", later.said());
    }
}

/// RFC 9111 section 5.2.1.5: what is asked for with `no-store` is fetched apart, whoever comes first, and not kept.
#[test]
fn no_store_and_others_who_wait() {
    for first in ["no-store", "foo"] {
        let (origin, larder) = start();
        let gate = Gate::new();
        let held = gate.clone();
        origin.on("/", move |request| {
            let who = request.header("x-who").unwrap_or("nobody").to_owned();
            let reply = Reply::ok().cache("max-age=60");
            reply.hold_head(&held).body(who)
        });
        let begin = |directives: &str| {
            let ask = larder.get("/").header("Cache-Control", directives);
            ask.header("X-Who", directives).begin()
        };
        let second = if first == "foo" { "no-store" } else { "foo" };
        let mut one = begin(first);
        origin.wait_requests("/", 1);
        let mut other = begin(second);
        origin.wait_requests("/", 2);
        gate.open();
        assert_eq!(
            (one.read().text(), other.read().text()),
            (first.into(), second.into())
        );
        let stored = larder.get("/").send();
        assert_eq!((stored.hit(), stored.text().as_str()), (true, "foo"));
    }
}

/// RFC 8297: hints are for who asked; who follows has missed them, and what asks for no page gets them too.
#[test]
fn early_hints_and_others_who_wait() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.otherwise(move |request| {
        let reply = Reply::ok().cache("max-age=60");
        let hinted = reply.interim(103, &[("Link", "</a.css>; rel=preload")]);
        match request.path() {
            "/" => hinted.hold_head(&held).body("page"),
            _ => hinted.body("page"),
        }
    });
    let mut leader = larder.get("/").begin();
    assert!(leader.read_interim().start.starts_with("HTTP/1.1 103"));
    gate.wait_reached();
    let mut follower = larder.get("/").begin();
    // Nothing tells from without that it waits; whether it follows or comes late, it has missed them.
    gate.open();
    assert_eq!(leader.read().text(), "page");
    let answer = follower.read();
    assert_eq!(answer.text(), "page");
    assert!(answer.interim.is_empty(), "{:?}", answer.interim);
    for method in ["HEAD", "POST"] {
        let answer = larder.ask(method, "/other").send();
        assert_eq!((answer.status, answer.interim.len()), (200, 1), "{method}");
    }
}

/// Parts of two variants are completed each with its own tag, and one purge takes both.
#[test]
fn parts_and_variants_and_a_purge() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let kind = request.header("x-kind").unwrap_or("0").to_owned();
        let whole = kind.repeat(10);
        let reply = |status: u16| {
            Reply::status(status)
                .cache("max-age=60")
                .header("Vary", "X-Kind")
                .header("ETag", format!("\"{kind}\""))
        };
        match request.header("range") {
            Some("bytes=0-4") => reply(206)
                .header("Content-Range", "bytes 0-4/10")
                .body(&whole[..5]),
            Some(range) => {
                assert_eq!(range, "bytes=5-9");
                let tag = request.header("if-range").map(str::to_owned);
                assert_eq!(tag, Some(format!("\"{kind}\"")), "RFC 9111 section 3.3");
                reply(206)
                    .header("Content-Range", "bytes 5-9/10")
                    .body(&whole[5..])
            }
            None => reply(200).body(&whole),
        }
    });
    let get = |kind: &str| larder.get("/").header("X-Kind", kind);
    for kind in ["1", "2"] {
        let part = get(kind).header("Range", "bytes=0-4").send();
        assert_eq!((part.status, part.text()), (206, kind.repeat(5)));
    }
    for kind in ["1", "2"] {
        assert_eq!(get(kind).send().text(), kind.repeat(10));
        assert!(get(kind).send().hit());
    }
    assert_eq!(origin.requests("/"), 4);
    assert_eq!(larder.ask("PURGE", "/").send().status, 200);
    for kind in ["1", "2"] {
        assert!(!get(kind).send().hit(), "{kind}");
    }
}

/// What is under way when the configuration changes goes on, and who comes after that shares it.
#[test]
fn a_reload_and_a_fetch_under_way() {
    let base = "[[origin]]\nservers = \"{origin}\"\n";
    let (origin, larder) = start_with(base);
    let (head, content) = (Gate::new(), Gate::new());
    let (held_head, held_content) = (head.clone(), content.clone());
    origin.on("/head", move |request| {
        counted(request).cache("max-age=60").hold_head(&held_head)
    });
    origin.on("/content", move |_| {
        let reply = Reply::ok().cache("max-age=60").length(10);
        reply.body("first").hold(&held_content).body("later")
    });
    origin.reply("/", Reply::ok().cache("no-store"));
    let mut leaders = [larder.get("/head").begin(), larder.get("/content").begin()];
    head.wait_reached();
    content.wait_reached();
    reload_as(&larder, &base.replace("{origin}", &origin.url()), "2");
    let mut followers = [larder.get("/head").begin(), larder.get("/content").begin()];
    let mut begun = followers[1].read_head();
    followers[1].read_body_exactly(&mut begun, 5);
    head.open();
    content.open();
    for (client, text) in leaders.iter_mut().zip(["1", "firstlater"]) {
        assert_eq!(client.read().text(), text);
    }
    assert_eq!(followers[0].read().text(), "1");
    followers[1].read_content(&mut begun);
    assert_eq!(begun.text(), "firstlater");
    assert_eq!(
        (origin.requests("/head"), origin.requests("/content")),
        (1, 1)
    );
}
