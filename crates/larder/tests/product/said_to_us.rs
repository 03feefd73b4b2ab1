//! What an origin says to the cache before it alone holds for as long as what it was said of is kept, though nobody
//! else hears it.

use super::ranges::CONTENT;
use crate::{
    common::{Said, start},
    disk::Site,
};
use testkit::{Larder, Origin, Reply, Request, Response};

fn is_conditional(request: &Request) -> bool {
    request.header("if-none-match").is_some()
}

/// Says this to the cache alone with the first answer, and something more lasting to everybody; confirms that with a
/// bare 304.
fn told(request: &Request, said: (&str, &str)) -> Reply {
    let reply = if is_conditional(request) {
        Reply::status(304)
    } else {
        let reply = Reply::ok().cache("max-age=10000");
        reply.header(said.0, said.1).body("content")
    };
    reply.header("ETag", "\"a\"")
}

const SAID: [(&str, &str); 3] = [
    ("Surrogate-Control", "max-age=100"),
    ("Surrogate-Control", "max-age=100, content=\"Other/1.0\""),
    ("X-Reverse-Proxy-TTL", "100"),
];

/// Has the origin asked, whatever is stored.
fn validated(larder: &Larder) -> Response {
    larder.get("/").header("Cache-Control", "no-cache").send()
}

/// The answer is a hit with what is left of a hundred seconds, and says nothing that was said to the cache.
fn is_held_to(hit: &Response, what: &str) {
    assert!(hit.hit(), "{what}: {}", hit.said());
    let ttl = hit.parameter("ttl").expect("a ttl");
    let ttl: u64 = ttl.parse().expect("fresh");
    assert!(
        ttl <= 100,
        "9111 section 3.2: what was said stands: {what}: {ttl}"
    );
    for name in ["surrogate-control", "x-reverse-proxy-ttl"] {
        assert_eq!(hit.header(name), None, "{what}");
    }
}

#[test]
fn a_304_that_does_not_repeat_it_leaves_it_standing() {
    for said in SAID {
        let (origin, larder) = start();
        origin.on("/", move |request| told(request, said));
        larder.get("/").send();
        for _ in 0..2 {
            assert_eq!(validated(&larder).text(), "content");
            is_held_to(&larder.get("/").send(), said.1);
        }
        assert_eq!(origin.requests("/"), 3);
    }
}

#[test]
fn it_stands_over_a_restart() {
    for said in SAID {
        let site = Site::with(move |request| told(request, said));
        let larder = site.start();
        for _ in 0..2 {
            larder.get("/").send();
        }
        let larder = site.restart(larder);
        is_held_to(&larder.get("/").send(), "from disk");
        validated(&larder);
        let larder = site.restart(larder);
        is_held_to(&larder.get("/").send(), "confirmed, from disk");
        assert_eq!(site.origin.requests("/"), 2);
    }
}

#[test]
fn a_304_that_says_something_else_is_believed() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let reply = told(request, SAID[0]);
        if is_conditional(request) {
            return reply.header("Surrogate-Control", "max-age=1000");
        }
        reply
    });
    larder.get("/").send();
    validated(&larder);
    let hit = larder.get("/").send();
    let ttl: u64 = hit.parameter("ttl").expect("a ttl").parse().expect("fresh");
    assert!((101..=1000).contains(&ttl), "{ttl}");
}

#[test]
fn a_head_leaves_it_standing() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.method.as_str() {
        "HEAD" => Reply::ok().header("ETag", "\"a\"").length(7),
        _ => told(request, SAID[0]),
    });
    larder.get("/").send();
    // A condition that only the origin may judge.
    larder.ask("HEAD", "/").header("If-Match", "\"b\"").send();
    assert_eq!(origin.last("/").method, "HEAD");
    is_held_to(&larder.get("/").send(), "9111 section 4.3.5");
}

#[test]
fn a_further_part_leaves_it_standing() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let (first, last) = if request.nth == 1 { (0, 9) } else { (10, 19) };
        let reply = Reply::status(206)
            .cache("max-age=10000")
            .header("ETag", "\"a\"");
        let reply = reply.header("Content-Range", format!("bytes {first}-{last}/20"));
        let reply = reply.body(&CONTENT[first..=last]);
        if request.nth == 1 {
            return reply.header("Surrogate-Control", "max-age=100");
        }
        reply
    });
    for range in ["bytes=0-9", "bytes=10-19"] {
        let part = larder.get("/").header("Range", range).send();
        assert_eq!(part.status, 206);
    }
    let whole = larder.get("/").send();
    assert_eq!(whole.text(), CONTENT);
    is_held_to(&whole, "9111 section 3.4");
}

/// The first answer says `said` to the cache and everything to everybody; a 304 confirms it. Both are past their lifetime.
fn stale(said: &'static str) -> (Origin, Larder) {
    let (origin, larder) = start();
    origin.on("/", move |request| {
        let reply = told(request, ("Surrogate-Control", said));
        reply.header("Age", "100")
    });
    larder.get("/").send();
    (origin, larder)
}

#[test]
fn what_must_be_validated_stays_so() {
    for said in ["max-age=60, must-revalidate", "max-age=60, no-cache"] {
        let (origin, larder) = stale(said);
        assert_eq!(larder.get("/").send().text(), "content");
        origin.stop();
        let answer = larder.get("/").send();
        assert!(
            matches!(answer.status, 502 | 504),
            "9111 section 4.2.4: MUST NOT send it stale: {said}: {}",
            answer.said()
        );
    }
}

#[test]
fn what_others_must_not_store_stays_stored() {
    for everybody in ["no-store", "no-cache", "private"] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            if is_conditional(request) {
                return Reply::status(304).header("ETag", "\"a\"");
            }
            let reply = Reply::ok().cache(everybody).body("content");
            let reply = reply.header("Surrogate-Control", "max-age=100");
            reply.header("ETag", "\"a\"")
        });
        larder.get("/").send();
        assert_eq!(validated(&larder).header("cache-control"), Some(everybody));
        is_held_to(&larder.get("/").send(), everybody);
    }
}

#[test]
fn a_vary_that_is_not_stored_chooses_nevertheless() {
    for directives in [
        "max-age=600, no-cache=\"Vary\"",
        "max-age=600, private=\"Vary\"",
    ] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            if is_conditional(request) {
                return Reply::status(304).header("ETag", "\"a\"");
            }
            let reply = Reply::ok().cache(directives).header("Vary", "Foo");
            let tag = if request.header("foo") == Some("1") {
                "\"a\""
            } else {
                "\"b\""
            };
            reply.header("ETag", tag).body(tag)
        });
        let ask = |kind: &str| larder.get("/").header("Foo", kind);
        ask("1").send();
        let confirmed = ask("1").header("Cache-Control", "no-cache").send();
        assert_eq!(confirmed.text(), "\"a\"");
        let hit = ask("1").send();
        assert_eq!(
            (hit.hit(), hit.header("vary")),
            (true, None),
            "{directives}"
        );
        let other = ask("2").header("Cache-Control", "only-if-cached").send();
        assert_eq!(other.status, 504, "9111 section 4.1: {directives}");
    }
}
