//! Nobody can make the store serve what they like.

use crate::common::{Said, start};
use testkit::{Reply, Request};

/// An origin that believes everything it is told, and builds its page from it.
fn gullible(request: &Request) -> Reply {
    let believed: Vec<String> = request
        .head
        .fields
        .iter()
        .filter(|(name, value)| value.contains("evil") && !name.eq_ignore_ascii_case("host"))
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    let body = String::from_utf8_lossy(&request.body).into_owned();
    Reply::ok()
        .cache("max-age=60")
        .body(format!("{}{}{body}", request.target, believed.join(",")))
}

#[test]
fn fields_that_change_pages_without_being_keyed_are_not_passed_on() {
    let (origin, larder) = start();
    origin.otherwise(gullible);
    let mut reached = Vec::new();
    for (number, name) in [
        "X-Forwarded-Host",
        "X-Forwarded-Server",
        "X-Forwarded-Scheme",
        "X-Forwarded-Port",
        "X-Forwarded-Prefix",
        "X-Forwarded-Path",
        "X-Host",
        "X-HTTP-Host-Override",
        "X-Original-URL",
        "X-Original-Host",
        "X-Rewrite-URL",
        "X-HTTP-Method-Override",
        "X-HTTP-Method",
        "X-Method-Override",
        "Forwarded",
        "X-Forwarded-Proto",
        "X-Forwarded-SSL",
        "X-Forwarded-Protocol",
        "X-Url-Scheme",
        "Front-End-Https",
        "X-Scheme",
        "X-Script-Name",
        "X-Forwarded-URI",
        "X-Original-URI",
        "X-Forwarded-Https",
        "CloudFront-Forwarded-Proto",
        "X-ARR-SSL",
        "CF-Visitor",
        "X-Proto",
        "X-Request-Uri",
        "X-Forwarded-Url",
        "X-Forwarded-Request-Uri",
        "X-HTTP-Path-Override",
        "X-Invoke-Path",
        "X-Now-Route-Matches",
        "X-Middleware-Prefetch",
        "X-Invoke-Query",
        "X-Invoke-Output",
        "X-Invoke-Status",
        "X-Invoke-Error",
        "X-Matched-Path",
        "X-Middleware-Subrequest",
        "X-React-Router-SPA-Mode",
        "X-React-Router-Prerender-Data",
        "X-Sendfile-Type",
        "X-Accel-Mapping",
        "X-Base-Url",
        "X-Backend-Host",
        "Host-Override",
        "X-Original-Method",
        "X-Forwarded-Method",
        "Proxy",
        // Who asks, as whoever asks says.
        "X-Real-IP",
        "Client-IP",
        "True-Client-IP",
        "X-Client-IP",
        "CF-Connecting-IP",
        "X-Cluster-Client-IP",
        // Applications behind WSGI and CGI take an underscore for a hyphen.
        "X_Forwarded_Host",
        "X_Original_URL",
        "SCRIPT_NAME",
        "Path_Info",
    ]
    .into_iter()
    .enumerate()
    {
        let path = format!("/{number}");
        larder.get(&path).header(name, "evil").send();
        let victim = larder.get(&path).send();
        if victim.text() != path {
            reached.push(name);
        }
    }
    assert!(reached.is_empty(), "these reached the origin: {reached:?}");
}

#[test]
fn the_origin_is_told_truly_who_asked() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().cache("no-store"));
    larder
        .get("/")
        .header("X-Forwarded-For", "6.6.6.6")
        .header("X-Forwarded-Proto", "https")
        .header("Host", "shop.test")
        .send();
    let asked = origin.last("/");
    assert_eq!(
        asked.headers("x-forwarded-for"),
        ["127.0.0.1"],
        "an untrusted client does not choose its address"
    );
    assert_eq!(asked.headers("x-forwarded-proto"), ["http"]);
    assert_eq!(asked.headers("host"), ["shop.test"]);
}

#[test]
fn the_content_of_a_get_request_poisons_nothing() {
    let (origin, larder) = start();
    origin.otherwise(gullible);
    larder.get("/fat").body("evil").send();
    assert_eq!(larder.get("/fat").send().text(), "/fat");
}

#[test]
fn what_is_equivalent_is_one_page_and_the_origin_is_asked_for_what_was_keyed() {
    for (one, other, keyed) in [
        ("/%7Euser", "/~user", "/~user"),
        ("/%61%2d%2E%5F", "/a-._", "/a-._"),
        ("/a%2fb", "/a%2Fb", "/a%2Fb"),
        ("/?q=%7e%c3%a9", "/?q=~%C3%A9", "/?q=~%C3%A9"),
    ] {
        let (origin, larder) = start();
        origin.otherwise(gullible);
        larder.get(one).send();
        assert_eq!(origin.all()[0].target, keyed, "3986 section 6.2.2: {one}");
        assert!(
            larder.get(other).send().hit(),
            "3986 section 6.2.2: {one} and {other}"
        );
    }
}

#[test]
fn what_is_not_equivalent_reaches_the_origin_byte_for_byte() {
    let (origin, larder) = start();
    origin.otherwise(gullible);
    for target in [
        "/a/../b",
        "/a/./b",
        "//a",
        "/a//b",
        "/a%2F..%2Fb",
        "/%2e%2e%2f",
        "/a%00b",
        "/a%0d%0ab",
        "/a%zz",
        "/a%",
        "/a;x=1",
        "/?a=1&&b",
        "/?a=%20+",
        "/?",
        "/??",
        "/a:b@c",
        "/'\"<>",
        "/?url=http://evil/",
        "/a\\b",
        "/?[]|^`{}",
    ] {
        let answer = larder.get(target).send();
        let text = answer.text();
        if answer.status == 400 {
            continue;
        }
        let expected = target
            .replace("%2e", ".")
            .replace("%2f", "%2F")
            .replace("%0d", "%0D")
            .replace("%0a", "%0A")
            .replace('"', "%22")
            .replace('`', "%60")
            .replace('<', "%3C")
            .replace('>', "%3E");
        assert_eq!(text, expected, "what goes to the origin is what was keyed");
        assert!(!answer.hit(), "{target}");
    }
}

#[test]
fn one_host_is_one_host_however_it_is_written() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().cache("max-age=60").body("x"));
    larder.get("/").header("Host", "shop.test").send();
    for same in ["SHOP.test", "shop.test:80"] {
        assert!(
            larder.get("/").header("Host", same).send().hit(),
            "9110 section 4.2.3: {same}"
        );
    }
    for other in ["shop.test:8080", "ashop.test", "shop.test.evil.test"] {
        assert!(
            !larder.get("/").header("Host", other).send().hit(),
            "{other}"
        );
    }
}

#[test]
fn an_error_caused_by_one_client_is_not_kept_for_all() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        if request.header("x-huge").is_some() {
            Reply::status(400).body("bad request")
        } else {
            Reply::ok().cache("max-age=60").body("page")
        }
    });
    larder.get("/").header("X-Huge", "x".repeat(5000)).send();
    assert_eq!(larder.get("/").send().text(), "page");
}

/// Servers that send their lifetimes on errors too (`Header always set`, `add_header … always`).
#[test]
fn nor_is_one_with_a_lifetime_that_may_be_about_the_size_of_a_request() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let status = if request.header("x-0").is_some() {
            400
        } else {
            200
        };
        let reply = Reply::status(status).cache("max-age=60");
        reply.body(status.to_string())
    });
    let mut many = larder.get("/");
    for number in 0..60 {
        many = many.header(&format!("X-{number}"), "x");
    }
    assert_eq!(many.send().status, 400);
    for _ in 0..2 {
        assert_eq!(larder.get("/").send().text(), "200");
    }
    let large = larder.get("/").header("X-0", "x".repeat(5000));
    assert_eq!(large.header("Cache-Control", "no-cache").send().status, 400);
    let after = larder.get("/").send();
    assert!(after.hit() && after.text() == "200", "{}", after.said());
}

#[test]
fn the_stores_own_key_cannot_be_forged() {
    let (origin, larder) = start();
    origin.otherwise(|request| {
        let host = request.header("host").unwrap_or_default();
        Reply::ok()
            .cache("max-age=60")
            .header("Vary", "Foo")
            .body(format!(
                "{host}{}{}",
                request.target,
                request.header("foo").unwrap_or("-")
            ))
    });
    for (host, target, foo) in [
        ("a.test", "/b", "c"),
        ("a.test", "/", "bc"),
        ("a.test", "/bc", ""),
        ("a.test", "/b%0A", "c"),
        ("a.test", "/b", "\tc d"),
    ] {
        let answer = larder
            .get(target)
            .header("Host", host)
            .header("Foo", foo)
            .send();
        assert_eq!(answer.text(), format!("{host}{target}{}", foo.trim()));
    }
}

#[test]
fn a_field_that_the_client_takes_away_from_the_origin_does_not_choose_the_variant() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let language = request
            .header("accept-language")
            .unwrap_or("default")
            .to_owned();
        Reply::ok()
            .cache("max-age=60")
            .header("Vary", "Accept-Language")
            .body(language)
    });
    for (language, lines) in [
        ("de", &["Accept-Language"][..]),
        ("fr", &["keep-alive", "Accept-Language"]),
        ("it", &["close", "Accept-Language, close"]),
    ] {
        let mut client = larder.client();
        let ask = client.get("/").header("Accept-Language", language);
        let with = |ask: testkit::Ask<_>, line: &&str| ask.header("Connection", line);
        lines.iter().fold(ask, with).send();
        let victim = larder.get("/").header("Accept-Language", language).send();
        assert_eq!(
            victim.text(),
            language,
            "9110 section 7.6.1: the origin never saw the field that was keyed"
        );
    }
}

/// Many applications take the first language, whatever its weight.
#[test]
fn preferences_reach_the_origin_in_the_order_in_which_they_are_compared() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let languages = request.header("accept-language").unwrap_or_default();
        let first = languages.split([',', ';']).next().unwrap_or_default();
        Reply::ok()
            .cache("max-age=60")
            .header("Vary", "Accept-Language")
            .body(first)
    });
    let ask = |languages| {
        let ask = larder.get("/").header("Accept-Language", languages);
        ask.send()
    };
    assert_eq!(ask("en;q=0.5, de").text(), "de");
    let victim = ask("de, en;q=0.5");
    assert_eq!(victim.text(), "de");
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn a_client_cannot_take_away_what_we_tell_the_origin() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().cache("no-store"));
    let mut client = larder.client();
    client
        .get("/")
        .header(
            "Connection",
            "Host, X-Forwarded-For, X-Forwarded-Proto, Forwarded, Via, Cache-Control",
        )
        .send();
    let asked = origin.last("/");
    assert_eq!(asked.headers("host"), ["example.test"]);
    assert_eq!(asked.headers("x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(asked.headers("x-forwarded-proto"), ["http"]);
    assert!(asked.header("via").is_some());
}

#[test]
fn a_get_with_content_reaches_the_origin_and_leads_nobody() {
    let (origin, larder) = start();
    let gate = testkit::Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| {
        if request.nth == 1 {
            gullible(request).hold_head(&held)
        } else {
            gullible(request)
        }
    });
    let mut fat = larder.get("/").body("evil").begin();
    gate.wait_reached();
    let victim = larder.get("/").begin().read();
    gate.open();
    assert_eq!(victim.text(), "/");
    assert_eq!(
        fat.read().text(),
        "/evil",
        "9110 section 9.3.1: some applications read it"
    );
    assert_eq!(larder.get("/").send().text(), "/");
}

/// PHP has an underscore for each of these, and would take the field for the one that is not passed on.
#[test]
fn names_that_applications_take_for_others_are_not_passed_on() {
    let (origin, larder) = crate::common::start();
    for (at, name) in ["X.Original.Url", "X~Original~Url", "X!Forwarded!Host"]
        .iter()
        .enumerate()
    {
        let path = format!("/{at}");
        origin.reply(&path, Reply::ok().cache("max-age=60").body("page"));
        larder.get(&path).header(name, "/evil").send();
        assert_eq!(origin.last(&path).header(name), None, "{name}");
    }
}

/// An application that leaves the content of a `GET` unread would take it for the next request of the connection, which
/// is somebody else's.
#[test]
fn a_connection_that_brought_content_no_method_defines_is_not_used_again() {
    let origin = testkit::Origin::start();
    let larder = crate::common::serve(&origin)
        .args(["--workers", "1"])
        .start();
    origin.otherwise(|_| Reply::ok().cache("no-store").body("page"));
    for method in ["GET", "DELETE", "OPTIONS"] {
        let before = origin.connections();
        let mut client = larder.client();
        client.send(format!(
            "{method} /x HTTP/1.1\r\nHost: a\r\nContent-Length: 31\r\n\r\nGET /evil HTTP/1.1\r\nHost: a\r\n\r\n"
        ));
        assert_eq!(client.read().status, 200);
        assert_eq!(larder.get("/next").send().text(), "page");
        assert!(origin.connections() > before, "{method}");
    }
    assert_eq!(origin.requests("/evil"), 0);
    let before = origin.connections();
    let mut client = larder.client();
    client.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nform");
    assert_eq!(client.read().status, 200);
    assert_eq!(origin.connections(), before, "a POST has content");
}
