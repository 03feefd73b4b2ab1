//! How long a response stays fresh (RFC 9111 section 4.2, RFC 9213).

use crate::common::{Said, counted, judge_reuse, sample, start, start_with};
use std::time::{Duration, Instant};
use testkit::{Gate, Reply, wait_until};

fn judge(table: &str) {
    let (origin, larder) = start();
    judge_reuse(&origin, &larder, table);
}

#[test]
fn the_lifetime_comes_from_the_first_source_that_there_is() {
    judge(
        r"
        reused  200 Cache-Control: max-age=60                                -- 9111 4.2.1: max-age
        fetched 200 Cache-Control: max-age=0                                 -- 9111 4.2.1: max-age=0 is stale at once
        reused  200 Cache-Control: max-age=0, s-maxage=60                    -- 9111 4.2.1: s-maxage first for a shared cache
        fetched 200 Cache-Control: max-age=60, s-maxage=0                    -- 9111 4.2.1: s-maxage first for a shared cache
        reused  200 Expires: {60}                                            -- 9111 4.2.1: Expires minus Date
        reused  200 Expires: {30} + Date: {-40}                              -- 9111 4.2.1: Expires minus Date
        fetched 200 Expires: {-60}                                           -- 9111 4.2.1: Expires minus Date
        reused  200 Cache-Control: max-age=60 + Expires: {-60}               -- 9111 5.3: a recipient MUST ignore Expires where max-age is
        fetched 200 Cache-Control: max-age=0 + Expires: {60}                 -- 9111 5.3: a recipient MUST ignore Expires where max-age is
        fetched 200 Cache-Control: s-maxage=0 + Expires: {60}                -- 9111 5.3: a shared cache MUST ignore Expires where s-maxage is
        reused  200 CDN-Cache-Control: max-age=60 + Cache-Control: max-age=0 -- 9213 2.2: a targeted field goes before Cache-Control
        fetched 200 CDN-Cache-Control: no-store + Cache-Control: max-age=60  -- 9213 2.2: a targeted field goes before Cache-Control
        reused  200 CDN-Cache-Control: max-age=60 + Cache-Control: no-store  -- 9213 2.2: a targeted field goes before Cache-Control
        fetched 200 CDN-Cache-Control: max-age=0 + Expires: {60}             -- 9213 2.2: Expires is ignored too
        fetched 200 CDN-Cache-Control: max-age=60, & + Cache-Control: max-age=0 -- 9213 2.2: an invalid targeted field is ignored
        reused  200 CDN-Cache-Control:  + Cache-Control: max-age=60          -- 9213 2.2: an empty targeted field is ignored
    ",
    );
}

#[test]
fn what_symfony_tells_the_cache_before_it_is_a_lifetime_and_no_more() {
    judge(
        r"
        reused  200 X-Reverse-Proxy-TTL: 60 + Cache-Control: max-age=0             -- it stands for s-maxage
        fetched 200 X-Reverse-Proxy-TTL: 0 + Cache-Control: max-age=60             -- it stands for s-maxage
        reused  200 X-Reverse-Proxy-TTL: 60 + Cache-Control: s-maxage=0            -- it goes before s-maxage
        reused  403 X-Reverse-Proxy-TTL: 60 + Expires: {-60}                       -- it is explicit
        fetched 200 X-Reverse-Proxy-TTL: 60 + CDN-Cache-Control: max-age=0         -- a targeted field goes before it
        fetched 200 X-Reverse-Proxy-TTL: 60 + Cache-Control: private, max-age=60   -- one user's stays one user's
        fetched 200 X-Reverse-Proxy-TTL: 60 + Cache-Control: no-store              -- what is forbidden stays forbidden
        fetched 200 X-Reverse-Proxy-TTL: 60 + Cache-Control: no-cache              -- what is forbidden stays forbidden
        reused  200 X-Accel-Expires: 60 + Cache-Control: max-age=0                 -- what nginx is told
        fetched 200 X-Accel-Expires: 0 + Cache-Control: max-age=60                 -- it is not for a cache
        fetched 200 X-Accel-Expires: @784111777                                    -- a moment that has passed
        reused  200 X-Accel-Expires: @99999999999                                  -- one to come
        reused  200 X-Accel-Expires: @4102444800 + Age: 2147483647                 -- it is to come, however old the answer is
        fetched 200 X-Accel-Expires: soon + Cache-Control: max-age=60              -- what cannot be read is past
        fetched 200 X-Accel-Expires: 60 + Cache-Control: no-store                  -- what is forbidden stays forbidden
        fetched 200 X-Accel-Expires: 60 + CDN-Cache-Control: max-age=0             -- a targeted field goes before it
        fetched 200 X-Reverse-Proxy-TTL: 60 + Set-Cookie: a=b                      -- it is not meant for cookies
        fetched 200 X-Reverse-Proxy-TTL: 60s + Cache-Control: max-age=60           -- malformed is past its lifetime
        fetched 200 X-Reverse-Proxy-TTL: 60 + X-Reverse-Proxy-TTL: 0               -- of several the least
    ",
    );
}

#[test]
fn a_lifetime_for_the_cache_alone_is_not_passed_on_nor_one_users_page_kept() {
    let (origin, larder) = start();
    origin.otherwise(|request| {
        let reply = counted(request).header("X-Reverse-Proxy-TTL", "60");
        match request.header("authorization") {
            Some(user) => reply.body(user),
            None => reply,
        }
    });
    for target in ["/page", "/page", "/post"] {
        let method = if target == "/post" { "POST" } else { "GET" };
        let answer = larder.ask(method, target).send();
        assert_eq!(answer.header("x-reverse-proxy-ttl"), None, "{target}");
    }
    assert_eq!(origin.requests("/page"), 1);
    for (user, own) in [("anna", "1anna"), ("bert", "2bert")] {
        let answer = larder.get("/own").header("Authorization", user).send();
        assert_eq!(answer.text(), own);
    }
    assert_eq!(larder.get("/own").send().text(), "3", "nobody's");
}

#[test]
fn without_explicit_lifetime_a_tenth_of_the_time_since_last_modified_is_taken() {
    judge(
        r"
        reused  200 Last-Modified: {-1000}                            -- 9111 4.2.2: a tenth of the time since Last-Modified
        fetched 200 Last-Modified: {-1000} + Age: 150                 -- 9111 4.2.2: older than that
        fetched 200                                                   -- 9111 4.2.2: not without Last-Modified
        reused  404 Last-Modified: {-1000}                            -- 9110 15.1: 404 is heuristically cacheable
        reused  410 Last-Modified: {-1000}                            -- 9110 15.1: 410 is heuristically cacheable
        reused  301 Last-Modified: {-1000} + Location: /              -- 9110 15.1: 301 is heuristically cacheable
        reused  204 Last-Modified: {-1000}                            -- 9110 15.1: 204 is heuristically cacheable
        fetched 403 Last-Modified: {-1000}                            -- 9110 15.1: 403 is not
        fetched 302 Last-Modified: {-1000} + Location: /              -- 9110 15.1: 302 is not
        fetched 500 Last-Modified: {-1000}                            -- 9110 15.1: 500 is not
        reused  203 Last-Modified: {-1000}                            -- 9110 15.1: 203 is heuristically cacheable
        reused  300 Last-Modified: {-1000}                            -- 9110 15.1: 300 is heuristically cacheable
        reused  308 Last-Modified: {-1000}                            -- 9110 15.1: 308 is heuristically cacheable
        reused  405 Last-Modified: {-1000}                            -- 9110 15.1: 405 is heuristically cacheable
        reused  414 Last-Modified: {-1000}                            -- 9110 15.1: 414 is heuristically cacheable
        reused  501 Last-Modified: {-1000}                            -- 9110 15.1: 501 is heuristically cacheable
        fetched 201 Last-Modified: {-1000}                            -- 9110 15.1: 201 is not
        fetched 307 Last-Modified: {-1000}                            -- 9110 15.1: 307 is not
        fetched 400 Last-Modified: {-1000}                            -- 9110 15.1: 400 is not
        fetched 503 Last-Modified: {-1000}                            -- 9110 15.1: 503 is not
        fetched 599 Last-Modified: {-1000}                            -- 9110 15.1: an unknown status is not
        reused  403 Last-Modified: {-1000} + Cache-Control: public    -- 9111 4.2.2: public makes any status so
        fetched 200 Last-Modified: {-1000} + Cache-Control: max-age=0 -- 9111 4.2.2: MUST NOT use heuristics with an explicit lifetime
        fetched 200 Last-Modified: {-1000} + Expires: {-1}            -- 9111 4.2.2: MUST NOT use heuristics with an explicit lifetime
    ",
    );
}

#[test]
fn age_comes_from_age_and_date() {
    judge(
        r"
        reused  200 Cache-Control: max-age=60 + Age: 30                   -- 9111 4.2.3: Age counts
        fetched 200 Cache-Control: max-age=60 + Age: 100                  -- 9111 4.2.3: Age counts
        fetched 200 Cache-Control: max-age=60 + Age: 60                   -- 9111 4.2: fresh as long as the lifetime exceeds the age
        fetched 200 Cache-Control: max-age=60 + Date: {-100}              -- 9111 4.2.3: apparent age from Date
        reused  200 Cache-Control: max-age=60 + Date: {100}               -- 9111 4.2.3: apparent age is not negative
        reused  200 Cache-Control: max-age=60 + Age: old                  -- 9111 5.1: an invalid Age is ignored
        fetched 200 Cache-Control: max-age=60 + Age: 100, 10              -- 9111 5.1: the first member of several
        reused  200 Cache-Control: max-age=60 + Age: 10 + Age: 100        -- 9111 5.1: the first member of several
        fetched 200 Cache-Control: max-age=60 + Age: 99999999999999999999 -- 9111 1.2.2: an overflowing Age is the greatest
    ",
    );
}

#[test]
fn malformed_lifetimes_are_read_the_cautious_way() {
    judge(
        r"
        fetched 200 Cache-Control: max-age=-1                            -- 9111 4.2.1: an invalid lifetime is stale
        fetched 200 Cache-Control: max-age=60a                           -- 9111 4.2.1: an invalid lifetime is stale
        fetched 200 Cache-Control: max-age=a60                           -- 9111 4.2.1: an invalid lifetime is stale
        fetched 200 Cache-Control: max-age=+60                           -- 9111 4.2.1: an invalid lifetime is stale
        fetched 200 Cache-Control: max-age='60'                          -- 9111 4.2.1: an invalid lifetime is stale
        fetched 200 Cache-Control: max-age=60;x=1                        -- 9111 4.2.1: an invalid lifetime is stale
        fetched 200 Cache-Control: s-maxage=abc, max-age=60              -- 9111 4.2.1: an invalid lifetime is not mended by max-age
        fetched 200 Expires: Thu, 18 Aug 2050 02:01:18 UTC               -- 9110 5.6.7: GMT alone
        fetched 200 Expires: Thu, 18 Aug 2050 02:01:18 -0600             -- 9110 5.6.7: GMT alone
        fetched 200 Expires: 2050-08-18 02:01:18                         -- 9110 5.6.7: no such format
        fetched 200 Expires: Thu, 18 Aug 2050                            -- 9110 5.6.7: no such format
        fetched 200 Expires: Thu, 18 Aug 2050 25:01:18 GMT               -- 9110 5.6.7: no such hour
        fetched 200 Expires: 2524608000                                  -- 9110 5.6.7: no such format
        fetched 200 Cache-Control: max-age=60.5                          -- 9111 4.2.1: an invalid lifetime is stale
        fetched 200 Cache-Control: max-age=abc                           -- 9111 4.2.1: an invalid lifetime is stale
        fetched 200 Cache-Control: max-age=                              -- 9111 4.2.1: an invalid lifetime is stale
        fetched 200 Cache-Control: max-age                               -- 9111 4.2.1: an invalid lifetime is stale
        fetched 200 Cache-Control: max-age=1 0 0                         -- 9111 4.2.1: an invalid lifetime is stale
        fetched 200 Cache-Control: max-age=abc + Expires: {60}           -- 9111 4.2.1: an invalid lifetime is not mended by Expires
        fetched 200 Cache-Control: max-age=0, max-age=60                 -- 9111 4.2.1: the first of two, or stale
        fetched 200 Cache-Control: max-age=0 + Cache-Control: max-age=60 -- 9111 4.2.1: the first of two, or stale
        fetched 200 Expires: 0 + Last-Modified: {-1000}                  -- 9111 5.3: an invalid Expires is in the past
        fetched 200 Expires: tomorrow + Last-Modified: {-1000}           -- 9111 5.3: an invalid Expires is in the past
        fetched 200 Expires: {-60} + Expires: {60}                       -- 9111 4.2.1: two Expires: the first, or stale
    ",
    );
}

#[test]
fn oddly_written_lifetimes_are_understood() {
    judge(
        r#"
        reused  200 Cache-Control: MAX-age=60                            -- 9111 5.2: directives are case-insensitive
        reused  200 cACHE-cONTROL: max-age=60                            -- 9110 5.5: names are case-insensitive
        reused  200 Cache-Control: max-age="60"                          -- 9111 5.2: a quoted argument is accepted
        reused  200 Cache-Control:  , ,\tmax-age=60 ,                    -- 9110 5.6.1: empty members and white space
        reused  200 Cache-Control: max-age=99999999999999999999          -- 9111 1.2.2: an overflowing lifetime is the greatest
        reused  200 Cache-Control: max-age=0060                          -- 9111 1.2.2: leading zeros
        fetched 200 Cache-Control: max-age=60 + Cache-Control: no-store  -- 9110 5.3: lines are one list
        reused  200 Cache-Control: foo, bar=1, max-age=60                -- 9111 5.2.3: unknown directives are ignored
        reused  200 Cache-Control: foo="no-store, max-age=0", max-age=60 -- 9110 5.6.4: what is within quotes is no directive
        fetched 200 Cache-Control: foo="a\", max-age=60"                 -- 9110 5.6.4: what is within quotes is no directive
        reused  200 Expires: Saturday, 06-Nov-60 08:49:37 GMT            -- 9110 5.6.7: RFC 850 dates
        reused  200 Expires: Sat Nov  6 08:49:37 2060                    -- 9110 5.6.7: asctime dates
        reused  200 Expires: Sat, 06 Nov 2060 08:49:37 GMT               -- 9110 5.6.7: IMF-fixdates
        fetched 200 Expires: Sunday, 06-Nov-94 08:49:37 GMT              -- 9110 5.6.7: RFC 850 dates
    "#,
    );
}

#[test]
fn a_lifetime_ends_and_age_grows_until_then() {
    let (origin, larder) = start();
    origin.on("/short", |request| counted(request).cache("max-age=1"));
    origin.on("/long", |request| counted(request).cache("max-age=60"));
    larder.get("/short").send();
    larder.get("/long").send();
    wait_until("a second has passed", || {
        larder
            .get("/long")
            .send()
            .header("age")
            .is_some_and(|age| age != "0")
    });
    let long = larder.get("/long").send();
    assert!(
        long.parameter("ttl")
            .is_some_and(|ttl| ttl.parse::<i64>().is_ok_and(|ttl| ttl < 60)),
        "{}",
        long.said()
    );
    wait_until("the short one is fetched again", || {
        larder.get("/short").send().text() != "1"
    });
    assert_eq!(origin.requests("/long"), 1);
}

#[test]
fn what_we_tell_the_origin_that_we_understand_we_understand() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let capable = request
            .headers("surrogate-capability")
            .join(",")
            .contains("Surrogate/1.0");
        counted(request).cache("max-age=60").header(
            "Surrogate-Control",
            if capable {
                "no-store"
            } else {
                "content=\"none\""
            },
        )
    });
    larder.get("/").send();
    let capable = origin
        .last("/")
        .headers("surrogate-capability")
        .join(",")
        .contains("Surrogate/1.0");
    assert_eq!(
        larder.get("/").send().hit(),
        !capable,
        "Edge Architecture: Surrogate-Control goes before Cache-Control"
    );
}

/// RFC 9111 section 4.2.3: `request_time` is that of the request that led to the response. What a fetch waits for its
/// turn at an origin that has much to do is no age of what comes then.
#[test]
fn waiting_for_a_turn_makes_no_response_older() {
    let config = "[[origin]]\nservers = \"{origin}\"\nmost_concurrent = 1\nqueue = { length = 1, time = \"60s\" }\n";
    let (origin, larder) = start_with(config);
    let gate = Gate::new();
    origin.reply("/held", Reply::ok().cache("no-store").hold_head(&gate));
    origin.reply("/", Reply::ok().cache("max-age=600").body("waited"));
    let mut first = larder.get("/held").begin();
    gate.wait_reached();
    let mut second = larder.get("/").begin();
    wait_until("it waits for its turn", || {
        sample(&larder, "larder_origin_queued{origin=\"origin\"}") == 1
    });
    // Whole seconds are told.
    std::thread::sleep(Duration::from_millis(1100));
    let opened = Instant::now();
    gate.open();
    assert_eq!(first.read().status, 200);
    assert_eq!(second.read().text(), "waited");
    let hit = larder.get("/").send();
    assert!(hit.hit());
    let age: u64 = hit
        .header("age")
        .expect("9111 section 5.1")
        .parse()
        .expect("a number");
    assert!(age <= opened.elapsed().as_secs(), "{age}");
}

#[test]
fn the_sites_lifetime_is_counted_from_arrival_however_old_the_answer_is() {
    for mode in ["default", "override"] {
        let (origin, larder) = start_with(&format!(
            "[[origin]]\nservers = \"{{origin}}\"\n[defaults]\nttl = \"10m\"\nttl_mode = \"{mode}\"\n"
        ));
        for (path, age, date) in [("/age", "700", 0), ("/clock", "0", -3600)] {
            origin.on(path, move |request| {
                let reply = counted(request).undated().header("Age", age);
                reply.header("Date", testkit::date(date))
            });
            larder.get(path).send();
            let hit = larder.get(path).send();
            assert!(hit.hit(), "{mode} {path}: {}", hit.said());
            let number = |text: &str| text.parse::<u64>().expect("a number");
            let ttl = number(&hit.parameter("ttl").expect("a ttl"));
            assert!((500..=600).contains(&ttl), "{mode} {path}: {ttl}");
            let told = number(hit.header("age").expect("an age"));
            assert!(told >= 700, "9111 section 4.2.3: {mode} {path}: {told}");
        }
    }
}

/// What a site sets for its pages is no lifetime of an outage. What it refuses, it refuses as it says.
#[test]
fn what_a_site_sets_does_not_lengthen_the_life_of_our_own_errors() {
    for edit in ["set", "add"] {
        let (origin, larder) = start_with(&format!(
            "[[origin]]\nservers = \"{{origin}}\"\n[[route]]\npath = \"/gone\"\nrefuse = \"410\"\n[defaults.response_headers]\n\
             {edit} = [\"Cache-Control: public, max-age=3600\", \"X-Frame-Options: DENY\", \
             \"Cloudflare-CDN-Cache-Control: max-age=3600\", \"Akamai-Cache-Control: max-age=3600\", \
             \"X-Accel-Expires: 3600\"]\n",
        ));
        origin.reply("/", Reply::ok());
        origin.reply("/broken", Reply::close());
        for (target, is_kept) in [("/", true), ("/broken", false), ("/gone", true)] {
            let answer = larder.get(target).send();
            let says = answer.joined("cache-control");
            assert_eq!(
                says.contains("max-age=3600"),
                is_kept,
                "{edit} {target}: {says}"
            );
            for name in [
                "cloudflare-cdn-cache-control",
                "akamai-cache-control",
                "x-accel-expires",
            ] {
                assert_eq!(
                    answer.header(name).is_some(),
                    is_kept,
                    "{edit} {target} {name}"
                );
            }
            assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{target}");
        }
    }
}
