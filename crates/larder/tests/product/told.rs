//! What a trusted proxy tells the application, which may be what any client told the proxy, is only for requests that
//! tell the same.

use crate::{
    common::{Said, command, start_with},
    explain::explained,
    purge::purge,
};
use serde_json::json;
use testkit::{Larder, Origin, Reply, Request, Response, scratch_dir};

/// What a load balancer sets, and nothing else: all other fields are the client's.
const SET: [(&str, &str); 3] = [
    ("Host", "shop.test"),
    ("X-Forwarded-For", "192.0.2.7"),
    ("X-Forwarded-Proto", "https"),
];

const TRUSTING: &str =
    "admin = \"127.0.0.1:0\"\ntrusted = \"127.0.0.0/8\"\n[[origin]]\nservers = \"{origin}\"\n";

/// An application that writes into its page whatever names no client.
fn gullible(request: &Request) -> Reply {
    let fields = request.head.fields.iter();
    let told = fields.filter(|(name, _)| {
        let plain = ["via", "x-forwarded-for", "x-real-ip", "cf-connecting-ip"];
        !plain.iter().any(|plain| name.eq_ignore_ascii_case(plain))
    });
    let told: Vec<_> = told
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    Reply::ok().cache("max-age=60").body(told.join("\n"))
}

fn behind_a_balancer(config: &str) -> (Origin, Larder) {
    let (origin, larder) = start_with(config);
    origin.otherwise(gullible);
    (origin, larder)
}

fn ask(larder: &Larder, path: &str, lines: &[(&str, &str)]) -> Response {
    let lines = SET.iter().chain(lines);
    lines
        .fold(larder.get(path), |ask, (name, value)| {
            ask.header(name, value)
        })
        .send()
}

/// The fields of which applications believe more than they should, each with a lie.
const LIES: [(&str, &str); 110] = [
    ("Forwarded", "for=x;host=shop.test;proto=https"),
    ("Forwarded", "for=\"\";host=shop.test;proto=https"),
    ("Forwarded", "for=\"[[\";host=shop.test;proto=https"),
    ("X-Forwarded-Host", "evil.test"),
    ("X-Forwarded-Host", "shop.test, evil.test"),
    ("X-Forwarded-Host", "SHOP.test"),
    ("X-Forwarded-Host", ""),
    ("X-Forwarded-Scheme", "evil"),
    ("X-Forwarded-Scheme", "on"),
    ("X-Forwarded-Prefix", "/evil"),
    ("X-Forwarded-Port", "80"),
    ("X-Forwarded-Port", "443, 1"),
    ("X-Forwarded-Path", "/evil"),
    ("X-Host", "evil.test"),
    ("X-Original-Host", "evil.test"),
    ("X-Original-URL", "/evil"),
    ("X-Rewrite-URL", "/evil"),
    ("X-HTTP-Method-Override", "DELETE"),
    ("X-HTTP-Method", "DELETE"),
    ("X-Method-Override", "DELETE"),
    ("X-HTTP-Host-Override", "evil.test"),
    ("X-Forwarded-Ssl", "off"),
    ("X-Forwarded-Protocol", "http"),
    ("X-Url-Scheme", "http"),
    ("Front-End-Https", "off"),
    ("X-Scheme", "http"),
    ("X-Script-Name", "/evil"),
    ("X-Forwarded-Uri", "/evil"),
    ("X-Original-Uri", "/evil"),
    ("X-Forwarded-Https", "off"),
    ("CloudFront-Forwarded-Proto", "http"),
    ("X-ARR-SSL", "evil"),
    ("X-Request-Uri", "/evil"),
    ("X-Forwarded-Url", "/evil"),
    ("X-Forwarded-Url", "https"),
    ("X-Forwarded-Request-Uri", "/evil"),
    ("X-HTTP-Path-Override", "/evil"),
    ("X-Invoke-Path", "/evil"),
    ("X-Invoke-Query", "evil"),
    ("X-Invoke-Output", "/evil"),
    ("X-Invoke-Status", "500"),
    ("X-Invoke-Error", "evil"),
    ("X-Matched-Path", "/evil"),
    ("X-Now-Route-Matches", "evil"),
    ("X-Middleware-Prefetch", "1"),
    ("X-Middleware-Subrequest", "middleware"),
    ("X-React-Router-SPA-Mode", "yes"),
    ("X-React-Router-Prerender-Data", "evil"),
    ("X-Sendfile-Type", "X-Accel-Redirect"),
    ("X-Accel-Mapping", "/=/evil/"),
    ("X-Base-Url", "evil.test"),
    ("X-Base-Url", "shop.test"),
    ("X-Backend-Host", "evil.test"),
    ("Host-Override", "evil.test"),
    ("X-Original-Method", "DELETE"),
    ("X-Forwarded-Method", "DELETE"),
    ("CF-Visitor", "{\"scheme\":\"http\"}"),
    ("X-Proto", "http"),
    ("X-Forwarded-Context", "/evil"),
    ("X-ProxyHost", "evil.test"),
    ("X-ProxyScheme", "http"),
    ("X-ProxyPort", "1"),
    ("X-ProxyContextPath", "/evil"),
    ("X-Proxied-Https", "off"),
    ("WL-Proxy-SSL", "false"),
    ("X-Vhm-Host", "evil.test"),
    ("X-Vhm-Root", "/evil"),
    ("X-Request-Base", "/evil"),
    ("X-Nuxt-No-SSR", "1"),
    ("X-Astro-Path", "/evil"),
    ("X-Original-Proto", "http"),
    ("X-Original-Prefix", "/evil"),
    ("X-Original-Forwarded-Host", "evil.test"),
    ("X-Envoy-Original-Path", "/evil"),
    ("X-Envoy-Original-Host", "evil.test"),
    ("X-Rewrite-Uri", "/evil"),
    ("X-Nextjs-Data", "1"),
    ("Disguised-Host", "evil.test"),
    ("Surrogate-Capability", "evil=\"ESI/1.0\""),
    ("Forwarded", "host=evil.test"),
    ("Forwarded", "for=192.0.2.7;Host=\"evil.test\";proto=https"),
    ("Forwarded", "host=shop.test, host=evil.test"),
    ("Forwarded", "for=192.0.2.7;proto=http"),
    ("Forwarded", "proto=evil"),
    ("Forwarded", "for=\"x;host=evil.test\""),
    ("Forwarded", "by=\"x,host=evil.test\""),
    ("Forwarded", "for=192.0.2.7;x=\"host=evil.test\""),
    ("Forwarded", "host=evil.test;host=evil.test"),
    ("Forwarded", "host = evil.test"),
    ("Forwarded", "for=192.0.2.7, \"host=evil.test"),
    ("Forwarded", "host=\"ev\\il.test\""),
    ("Forwarded", "secret=evil"),
    ("Forwarded", "host=\u{e9}"),
    ("Forwarded", "host="),
    // What some read as it is written, and some as it is meant.
    ("Forwarded", "host=\"shop.tes\\t\""),
    ("Forwarded", "proto=\"h\\ttps\""),
    ("Forwarded", "host=\"shop.tes\\t\";proto=https"),
    ("Forwarded", "host=shop.test;proto=\"h\\ttps\""),
    ("Forwarded", "Host=shop.test;Proto=https"),
    ("Forwarded", "host=shop.test ;proto=https"),
    ("Forwarded", "host=shop.test;host=shop.test;proto=https"),
    ("Forwarded", "for=192.0.2.7:80;host=shop.test;proto=https"),
    // What hides the rest from those who read one element, or one field.
    ("Forwarded", ""),
    ("Forwarded", ", host=shop.test;proto=https"),
    ("Forwarded", "for=192.0.2.7"),
    ("Forwarded", "for=192.0.2.7;host=shop.test"),
    ("Forwarded", "for=192.0.2.7;proto=https"),
    (
        "Forwarded",
        "for=x, for=192.0.2.7;host=shop.test;proto=https",
    ),
    (
        "Forwarded",
        "for=192.0.2.7;host=shop.test;proto=https, for=x",
    ),
    ("Forwarded", "by=x;host=shop.test, for=x;proto=https"),
];

#[test]
fn what_one_client_had_a_balancer_pass_on_reaches_no_other() {
    let (_origin, larder) = behind_a_balancer(TRUSTING);
    let clean = ask(&larder, "/", &[]).text();
    for (number, lie) in LIES.iter().enumerate() {
        let path = format!("/{number}");
        let poisoned = ask(&larder, &path, &[*lie]);
        assert!(poisoned.text() != clean, "{lie:?} does not get through");
        let visitor = ask(&larder, &path, &[]);
        assert!(!visitor.hit(), "{lie:?}: {}", visitor.said());
        assert_eq!(visitor.text(), clean, "{lie:?}");
        // Whoever says the same gets the same.
        let same = ask(&larder, &path, &[*lie]);
        assert!(same.hit(), "{lie:?}: {}", same.said());
        assert_eq!(same.text(), poisoned.text(), "{lie:?}");
    }
}

#[test]
fn one_lie_does_not_pass_for_another() {
    let (_origin, larder) = behind_a_balancer(TRUSTING);
    let ask = |lines: &[(&str, &str)]| ask(&larder, "/", lines);
    for lines in [
        &[("X-Host", "evil.test")][..],
        &[("X-Original-Host", "evil.test")],
        &[("X-Host", "evil.test"), ("X-Original-Host", "evil.test")],
        &[("X-Host", "evil.test"), ("X-Host", "evil.test")],
        &[("X-Host", "evil.test, evil.test")],
        &[("X-Host", "9:evil.test=9:evil.test")],
        &[("X-Host", "shop.test"), ("X-Host", "shop.test")],
        &[("Forwarded", "host=evil.test")],
        &[("Forwarded", "host=evil.test, host=evil.test")],
        &[("Forwarded", "host=evil.test"), ("X-Host", "evil.test")],
    ] {
        assert!(!ask(lines).hit(), "{lines:?}");
        let turned: Vec<_> = lines.iter().rev().copied().collect();
        assert!(ask(&turned).hit(), "their order is nothing: {lines:?}");
    }
}

/// Applications go by the first or by the last word, and a client says the first one where proxies append theirs.
#[test]
fn the_place_of_a_word_counts() {
    let (_origin, larder) = behind_a_balancer(TRUSTING);
    for (name, one, other) in [
        ("X-Forwarded-Host", "shop.test", "evil.test"),
        ("X-Forwarded-Port", "443", "80"),
        ("Forwarded", "host=shop.test", "host=evil.test"),
        (
            "Forwarded",
            "host=shop.test;proto=https",
            "host=evil.test;proto=https",
        ),
        ("Forwarded", "host=shop.test;proto=https", "for=192.0.2.7"),
    ] {
        for (first, last) in [(one, other), (other, one)] {
            for lines in [
                vec![(name, format!("{first}, {last}"))],
                vec![(name, first.to_owned()), (name, last.to_owned())],
            ] {
                let lines: Vec<_> = lines.iter().map(|(name, line)| (*name, &**line)).collect();
                let answer = ask(&larder, "/", &lines);
                assert!(!answer.hit(), "{lines:?}: {}", answer.text());
                assert!(ask(&larder, "/", &lines).hit(), "{lines:?}");
            }
        }
    }
    assert!(!ask(&larder, "/", &[]).hit(), "a visitor gets none of them");
}

/// Some applications do not look at one field if there is the other.
#[test]
fn what_says_the_keys_own_is_keyed_beside_what_says_something_else() {
    let (_origin, larder) = behind_a_balancer(TRUSTING);
    let set = ("X-Forwarded-Host", "www.test");
    for (number, lie) in [
        ("Forwarded", "host=shop.test;proto=https"),
        ("X-Host", "shop.test"),
        ("X-Original-Host", "shop.test"),
        ("X-Forwarded-Port", "443"),
    ]
    .iter()
    .enumerate()
    {
        let path = format!("/{number}");
        assert!(!ask(&larder, &path, &[set, *lie]).hit());
        let visitor = ask(&larder, &path, &[set]);
        assert!(!visitor.hit(), "{lie:?}: {}", visitor.text());
        assert!(ask(&larder, &path, &[*lie, set]).hit(), "{lie:?}");
    }
}

/// As they are known to write it, each for a client of its own.
#[test]
fn a_balancer_that_writes_forwarded_alike_for_all_divides_nothing() {
    let (_origin, larder) = behind_a_balancer(TRUSTING);
    for (number, (one, other)) in [
        // HAProxy's `option forwarded`, and with all that it can say.
        ("proto=https;for=192.0.2.7", "proto=https;for=192.0.2.8"),
        (
            "proto=https;host=\"shop.test\";by=10.0.0.1;for=192.0.2.7",
            "proto=https;host=\"shop.test\";by=10.0.0.2;for=\"[2001:db8::1]:80\"",
        ),
        // OpenShift's router.
        (
            "for=192.0.2.7;host=shop.test;proto=https",
            "for=192.0.2.8;host=shop.test;proto=https",
        ),
        // Amazon's API Gateway.
        (
            "by=203.0.113.1;for=192.0.2.7;host=a1.test;proto=https",
            "by=203.0.113.2;for=192.0.2.8;host=a1.test;proto=https",
        ),
        // Google's Cloud Run: those of IPv6 without brackets are one for all of their kind.
        (
            "for=\"192.0.2.7\";proto=https",
            "for=\"192.0.2.8\";proto=https",
        ),
        (
            "for=\"2001:db8::1\";proto=https",
            "for=\"2001:db8:0:1::2\";proto=https",
        ),
        // By hand, without quotes.
        (
            "for=192.0.2.7; proto=https; host=shop.test",
            "for=192.0.2.8; proto=https; host=shop.test",
        ),
        (
            "for=2001:db8::1;proto=https",
            "for=2001:db8:0:1::2;proto=https",
        ),
        ("for=192.0.2.7", "for=192.0.2.8"),
        ("for=192.0.2.7, for=10.0.0.1", "for=192.0.2.8, for=10.0.0.2"),
    ]
    .into_iter()
    .enumerate()
    {
        let path = format!("/{number}");
        let mut ask = |line| ask(&larder, &path, &[("Forwarded", line)]).hit();
        assert_eq!([one, other].map(&mut ask), [false, true], "{one}");
    }
}

/// Whoever asks over a Unix socket is trusted.
#[test]
fn over_a_unix_socket_it_is_the_same() {
    let origin = Origin::start();
    origin.otherwise(gullible);
    let socket = scratch_dir().join("larder.sock");
    let config = format!(
        "admin = \"off\"\n[[origin]]\nservers = {:?}\n[[listen]]\naddress = \"unix:{}\"\n",
        origin.url(),
        socket.display()
    );
    let larder = command().args(["serve"]).config(&config).start();
    let lie = [("X-Forwarded-Host", "evil.test")];
    assert!(ask(&larder, "/", &lie).text().contains("evil"));
    let visitor = ask(&larder, "/", &[]);
    assert!(!visitor.hit() && !visitor.text().contains("evil"));
    assert!(ask(&larder, "/", &lie).hit());
}

/// A balancer that sets the fields for some requests and not for others divides nothing.
#[test]
fn what_the_key_says_already_adds_nothing_to_it() {
    let (_origin, larder) = behind_a_balancer(TRUSTING);
    ask(&larder, "/", &[]);
    for line in [
        ("X-Forwarded-Host", "shop.test"),
        // The balancer itself, which no origin is told of.
        ("X-Forwarded-Server", "balancer-7"),
        ("X-Forwarded-Port", "443"),
        ("X-Forwarded-Scheme", "https"),
        ("X-Scheme", "https"),
        ("X-Forwarded-Ssl", "on"),
        ("Front-End-Https", "on"),
        ("CF-Visitor", "{\"scheme\":\"https\"}"),
        ("Surrogate-Capability", "larder=\"Surrogate/1.0 tags/1\""),
        ("Surrogate-Capability", "larder-esi=\"ESI/1.0\""),
        ("Forwarded", "for=192.0.2.7;host=shop.test;proto=https"),
        (
            "Forwarded",
            "proto=https;host=shop.test;for=192.0.2.8, for=10.0.0.1;host=shop.test;proto=https",
        ),
        (
            "Forwarded",
            "for=\"[2001:db8::1]:4711\";by=_b;host=\"shop.test\";proto=https",
        ),
        // Each client has its own.
        ("X-Real-IP", "192.0.2.7"),
        ("CF-Connecting-IP", "192.0.2.8"),
    ] {
        let answer = ask(&larder, "/", &[line]);
        assert!(answer.hit(), "{line:?}: {}", answer.said());
    }
    let on_a_port = |port| {
        let ask = larder.get("/").header("Host", "shop.test:8443");
        ask.header("X-Forwarded-Port", port).send().hit()
    };
    assert!(!on_a_port("8443") && on_a_port("8443") && !on_a_port("443"));
    assert!(
        larder
            .get("/")
            .header("Host", "shop.test:8443")
            .send()
            .hit()
    );
}

#[test]
fn a_balancer_that_rewrites_the_host_has_its_pages_kept() {
    let (origin, larder) = behind_a_balancer(TRUSTING);
    for (own, other) in [("a.test", "b.test"), ("b.test", "c.test")] {
        let get = |host: &str, client: &str| {
            let forwarded = format!("for={client};host={host};proto=https");
            let ask = larder.get("/").header("Host", "app.internal");
            let ask = ask.header("X-Forwarded-Host", host);
            ask.header("Forwarded", forwarded).send()
        };
        assert_eq!(get(own, "192.0.2.1").hit(), own == "b.test");
        assert!(get(own, "192.0.2.2").hit(), "for another client");
        assert!(get(own, "192.0.2.3").text().contains(own));
        assert!(!get(other, "192.0.2.1").hit());
        assert_eq!(origin.last("/").header("x-forwarded-host"), Some(other));
    }
}

#[test]
fn a_purge_covers_both_and_so_does_a_change() {
    let (origin, larder) = behind_a_balancer(TRUSTING);
    let lie = [("X-Forwarded-Prefix", "/evil")];
    let both = || [&[][..], &lie].map(|lines| ask(&larder, "/a", lines).hit());
    for what in [
        json!({ "url": "https://shop.test/a" }),
        json!({ "prefix": "https://shop.test/" }),
        json!({ "host": "shop.test" }),
    ] {
        both();
        assert_eq!(both(), [true; 2]);
        assert_eq!(purge(&larder, &what)["touched"], 2, "{what}");
        assert_eq!(both(), [false; 2], "{what}");
    }
    origin.otherwise(|request| gullible(request).header("Cache-Tag", "t"));
    purge(&larder, &json!({ "everything": true }));
    both();
    purge(&larder, &json!({ "tags": ["t"] }));
    assert_eq!(both(), [false; 2]);
    assert_eq!(both(), [true; 2]);
    let mut client = larder.client();
    let post = client.ask("POST", "/a").body("");
    SET.iter()
        .fold(post, |ask, (name, value)| ask.header(name, value))
        .send();
    assert_eq!(both(), [false; 2]);
}

/// What the application does not get divides nothing, nor what the site passes on as it is.
#[test]
fn what_the_site_decides_about_is_not_keyed() {
    for (more, name) in [
        (
            "request_headers.remove = \"X-Original-URI\"",
            "X-Original-URI",
        ),
        (
            "request_headers.set = \"X-Forwarded-Host: www.test\"",
            "X-Forwarded-Host",
        ),
        ("pass_fields = \"X-Host\"", "X-Host"),
    ] {
        let (_origin, larder) = behind_a_balancer(&format!("{TRUSTING}[defaults]\n{more}\n"));
        ask(&larder, "/", &[(name, "one.test")]);
        assert!(ask(&larder, "/", &[(name, "two.test")]).hit(), "{more}");
        assert!(!ask(&larder, "/", &[("X-Script-Name", "/a")]).hit());
    }
}

/// Where nothing is composed, whoever says that it composes pages would get them uncomposed for all.
#[test]
fn where_there_are_no_includes_nobody_is_believed_to_compose_them_for_others() {
    let (_origin, larder) = behind_a_balancer(&format!("{TRUSTING}[defaults]\nesi = false\n"));
    let lie = [("Surrogate-Capability", "larder-esi=\"ESI/1.0\"")];
    assert!(ask(&larder, "/", &lie).text().contains("ESI/1.0"));
    let visitor = ask(&larder, "/", &[]);
    assert!(!visitor.hit() && !visitor.text().contains("ESI/1.0"));
}

#[test]
fn what_is_keyed_can_be_explained() {
    let (_origin, larder) = behind_a_balancer(TRUSTING);
    let lie = ("X-Forwarded-Host", "evil.test");
    ask(&larder, "/", &[lie]);
    let told = |lines: &[_]| explained(&larder, "https://shop.test/", lines);
    assert!(told(&[lie]).contains("t:x-forwarded-host=9:evil.test"));
    assert!(
        told(&[lie]).contains("answered from memory"),
        "{}",
        told(&[lie])
    );
    assert!(!told(&[]).contains("answered from memory"), "{}", told(&[]));
}
