//! Purges in the words of clients that may not purge, or that are none: told so, and nothing reaches the origin or is
//! purged in half.

use crate::{
    common::{Said, faults, sample},
    purge_clients::{SITE, gone, leaked, say, tagged, warm},
    purge_clients_rows::NONE,
};
use testkit::{Reply, scratch_dir, wait_until};

#[test]
fn who_may_not_is_refused_and_the_origin_never_asked() {
    let (origin, larder) = tagged(
        "[purge]\nallow = \"192.0.2.1\"\nget_prefix = \"/purge\"\nsouin = \"/souin\"\nsecret = { header = \"X-Purge-Key\", value = \"correct horse\" }",
    );
    warm(&larder);
    let asked = origin.all().len();
    for message in [
        "PURGE /a HTTP/1.1\nHost: site.test\n",
        "PURGE /a HTTP/1.1\nHost: site.test\nX-Forwarded-For: 192.0.2.1\nForwarded: for=192.0.2.1\n",
        "PURGE /a HTTP/1.1\nHost: site.test\nX-Purge-Key: correct hors\n",
        "PURGE http://site.test/a HTTP/1.1\nHost: site.test\n",
        "BAN / HTTP/1.1\nHost: c\n",
        "PURGEKEYS / HTTP/1.1\nHost: c\nxkey-purge: home\n",
        "PURGETAGS / HTTP/1.1\nHost: c\nX-Cache-Tags: home\n",
        "REFRESH /a HTTP/1.1\nHost: site.test\n",
        "GET /a HTTP/1.1\nHost: site.test\nX-Refresh: 1\n",
        "GET /nowhere HTTP/1.1\nHost: site.test\nX-Refresh: 1\n",
        "GET /purge/a HTTP/1.1\nHost: site.test\n",
        "PURGE /souin/flush HTTP/1.1\nHost: c\n",
        "GET /souin HTTP/1.1\nHost: c\n",
        "POST /service/abc/purge HTTP/1.1\nHost: s\nFastly-Key: k\n\n{\"surrogate_keys\":[\"home\"]}",
        "POST /service/abc/purge/home HTTP/1.1\nHost: s\nFastly-Key: k\n",
        "POST /service/abc/purge_all HTTP/1.1\nHost: s\nFastly-Key: k\n",
        "POST /client/v4/zones/z/purge_cache HTTP/1.1\nHost: s\nAuthorization: Bearer t\n\n{\"purge_everything\":true}",
        "POST /client/v4/zones/z/purge_cache HTTP/1.1\nHost: s\nX-Auth-Key: t\n\n{\"purge_everything\":true}",
    ] {
        let answer = say(&larder, message);
        assert_eq!(answer.status, 405, "{message}");
        assert!(answer.header("allow").is_some(), "{message}");
        assert!(answer.header("cache-purge-result").is_none(), "{message}");
        let page = "GET /a HTTP/1.1\nHost: site.test\nX-Refresh: 1\nSec-Fetch-Site: same-origin\n";
        assert_eq!(say(&larder, page).status, 200, "a browser's");
    }
    assert_eq!(gone(&larder, SITE), NONE);
    assert_eq!(origin.all().len(), asked);
    assert_eq!(sample(&larder, "larder_client_purges_denied_total"), 18);

    for (message, status) in [
        (
            "PURGE /a HTTP/1.1\nHost: site.test\nX-Purge-Key: correct horse\n",
            200,
        ),
        (
            "PURGE /souin/flush HTTP/1.1\nHost: c\nX-Purge-Key: correct horse\n",
            204,
        ),
    ] {
        warm(&larder);
        assert_eq!(say(&larder, message).status, status, "{message}");
        assert!(!gone(&larder, SITE).is_empty(), "{message}");
    }
    larder
        .get("/secret")
        .header("X-Purge-Key", "correct horse")
        .send();
    assert!(
        origin.last("/secret").header("x-purge-key").is_none(),
        "the secret stays here"
    );
}

/// Who may purge is told by one value; the same field of everybody else is the application's.
#[test]
fn only_the_secret_itself_is_kept_from_the_application() {
    let secret = "purge.secret = { header = \"Authorization\", value = \"Bearer correct horse\" }";
    let (origin, larder) = tagged(secret);
    let ask = |value| {
        let ask = larder.get("/own").header("Authorization", "Basic ann");
        ask.header("Authorization", value).send()
    };
    ask("Bearer correct horse");
    let asked = origin.last("/own");
    assert_eq!(asked.headers("authorization"), ["Basic ann"]);
    ask("Bearer correct hors");
    let both = ["Basic ann", "Bearer correct hors"];
    assert_eq!(origin.last("/own").headers("authorization"), both);
}

/// What is made for who knows the secret is stored for nobody: no variant tells it, nor is what others have in the
/// field left out.
#[test]
fn what_depends_on_the_field_of_the_secret_is_kept_by_what_others_have_in_it() {
    let secret = "purge.secret = { header = \"X-Key\", value = \"correct horse\" }";
    let (origin, larder) = tagged(secret);
    origin.on("/own", |request| {
        let key = request.header("x-key").unwrap_or("none");
        let page = Reply::ok().cache("max-age=60").header("Vary", "X-Key");
        page.body(format!("for {key}"))
    });
    for (value, text, hits) in [
        ("correct horse", "for none", [false, false]),
        ("a", "for a", [false, true]),
        ("b", "for b", [false, true]),
    ] {
        for hit in hits {
            let answer = larder.get("/own").header("X-Key", value).send();
            assert_eq!(answer.text(), text);
            assert_eq!(answer.hit(), hit, "{value}: {}", answer.said());
        }
    }
}

#[test]
fn a_secret_has_a_field_that_clients_may_send() {
    for (name, why) in [
        ("Host", "belongs to the connection"),
        ("Content-Length", "belongs to the connection"),
        ("transfer-encoding", "belongs to the connection"),
        ("Connection", "belongs to the connection"),
        ("Cookie", "holds all cookies of a browser"),
        ("cookie", "holds all cookies of a browser"),
    ] {
        let config = format!(
            "[[origin]]\nservers = \":5001\"\n[purge]\nsecret = {{ header = \"{name}\", value = \"correct horse\" }}\n"
        );
        let said = faults(&config);
        assert!(said.contains(why), "{name}: {said}");
        assert!(said.contains("\"X-Purge-Key\""), "{name}: {said}");
    }
}

#[test]
fn a_proxy_on_this_machine_asks_for_somebody_else() {
    let (origin, larder) = tagged("defaults.client_may_force = false");
    warm(&larder);
    for field in [
        "X-Forwarded-For: 192.0.2.9",
        "Forwarded: for=192.0.2.9",
        "Via: 1.1 edge",
        "X-Real-IP: 192.0.2.9",
        "X-Forwarded-Proto: https",
        "Origin: http://evil.example",
        "Sec-Fetch-Site: same-origin",
        "X-Forwarded-For: 192.0.2.9\nConnection: X-Forwarded-For",
    ] {
        let answer = say(
            &larder,
            &format!("PURGE /a HTTP/1.1\nHost: site.test\n{field}\n"),
        );
        assert_eq!(answer.status, 405, "{field}");
    }
    assert_eq!(gone(&larder, SITE), NONE);
    let asked = origin.requests("/a");
    say(
        &larder,
        "GET /a HTTP/1.1\nHost: site.test\nCache-Control: no-cache\nX-Forwarded-For: 192.0.2.9\nConnection: X-Forwarded-For\n",
    );
    assert_eq!(origin.requests("/a"), asked, "nor does it force a fetch");
    assert_eq!(leaked(&origin), NONE);
}

/// WordPress refers to what it asks for, and browsers to a page. The answer, and the line in the log, say by which
/// field a request was taken for somebody else's.
#[test]
fn who_is_taken_for_a_browser_is_told_by_which_field() {
    let path = scratch_dir().join("access.log");
    let (_origin, larder) = tagged(&format!(
        "log.access = {:?}\npurge.get_prefix = \"/purge\"\npurge.souin = \"/souin\"",
        path.display().to_string()
    ));
    warm(&larder);
    let own = "Referer: http://site.test";
    let rows = [
        (
            "PURGE /a",
            "Referer: http://evil.example/".to_owned(),
            "referer",
        ),
        ("PURGE /a", format!("{own}/b"), "referer"),
        ("PURGE /a", format!("{own}/a?q=1"), "referer"),
        ("PURGE /a", format!("{own}/a\n{own}/"), "referer"),
        ("GET /purge/a", format!("{own}/a"), "referer"),
        ("GET /purge/a", format!("{own}/purge/"), "referer"),
        ("GET /souin", format!("{own}/"), "referer"),
        // A browser that loads the address again from there.
        (
            "GET /purge/a",
            format!("{own}/purge/a\nAccept-Language: de"),
            "accept-language",
        ),
        (
            "GET /purge/a",
            format!("{own}/purge/a\nSec-Fetch-Site: same-origin"),
            "sec-fetch-site",
        ),
        (
            "PURGE /a",
            format!("{own}/a\nOrigin: http://site.test"),
            "origin",
        ),
        (
            "PURGE /a",
            format!("{own}/a\nX-Forwarded-For: 192.0.2.9"),
            "x-forwarded-for",
        ),
        (
            "POST /service/abc/purge_all",
            "Fastly-Key: k\nVia: 1.1 edge".to_owned(),
            "via",
        ),
    ];
    for (asks, fields, name) in &rows {
        let answer = say(
            &larder,
            &format!("{asks} HTTP/1.1\nHost: site.test\n{fields}\n"),
        );
        assert_eq!(answer.status, 405, "{asks} {fields}");
        assert!(answer.header("allow").is_some(), "{asks} {fields}");
        let detail = format!("purge-with-{name}");
        assert_eq!(answer.parameter("detail"), Some(detail), "{fields}");
        let text = answer.text();
        assert!(text.contains(&format!("`{name}`")), "{fields}: {text}");
    }
    assert_eq!(gone(&larder, SITE), NONE);
    wait_until("all are logged", || {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let mut names = rows.iter().map(|(_, _, name)| name);
        names.all(|name| text.contains(&format!("purge-with-{name}")))
    });
}

/// A page sets `Accept-Language` itself, keeps its address to itself, and has its reader's browser ask without CORS.
#[test]
fn a_page_purges_nothing_whatever_language_it_sets() {
    let config = "purge = { get_prefix = \"/purge\", souin = \"/souin\" }\n\
                  defaults.client_may_force = false";
    let (origin, larder) = tagged(config);
    warm(&larder);
    let asked = origin.all().len();
    let page = "Accept: */*\nAccept-Language: *\n";
    for asks in [
        "GET /purge/a HTTP/1.1\nHost: site.test\n",
        "GET /purge/* HTTP/1.1\nHost: site.test\n",
        "GET /souin HTTP/1.1\nHost: site.test\n",
    ] {
        let answer = say(&larder, &format!("{asks}{page}"));
        assert_eq!(answer.status, 405, "{asks}");
    }
    let forced = "GET /a HTTP/1.1\nHost: site.test\nX-Refresh: 1\n";
    assert_eq!(say(&larder, &format!("{forced}{page}")).status, 200);
    assert_eq!(gone(&larder, SITE), NONE);
    assert_eq!(origin.all().len(), asked, "nor is anything fetched anew");

    let node = "Accept: */*\nAccept-Language: *\nSec-Fetch-Mode: cors\n";
    let purge = "GET /purge/a HTTP/1.1\nHost: site.test\n";
    assert_eq!(say(&larder, &format!("{purge}{node}")).status, 200);
    assert!(!gone(&larder, SITE).is_empty(), "Node.js may");
}

#[test]
fn what_carries_no_mark_is_the_applications() {
    let (origin, larder) = tagged("purge.allow = []");
    origin.otherwise(|request| Reply::status(201).body(request.body.clone()));
    for message in [
        "POST /service/abc/purge HTTP/1.1\nHost: s\n\n{\"surrogate_keys\":[\"a\"]}",
        "POST /service/abc/order HTTP/1.1\nHost: s\nFastly-Key: k\n\n{}",
        "POST /client/v4/zones/z/purge_cache HTTP/1.1\nHost: s\n\n{}",
        "POST /client/v4/zones/z/settings HTTP/1.1\nHost: s\nAuthorization: Bearer t\n\n{}",
        "GET /purge/a HTTP/1.1\nHost: s\n",
        "GET /purgeall HTTP/1.1\nHost: s\n",
    ] {
        let answer = say(&larder, message);
        let content = message
            .split_once("\n\n")
            .map_or("", |(_, content)| content);
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (201, content),
            "{message}"
        );
    }
    assert_eq!(say(&larder, "PURGE /a HTTP/1.1\nHost: s\n").status, 405);
}

/// URLs have what expressions have: what is none is the place that it names, unless the client says that it is one.
#[test]
fn a_target_that_is_no_expression_is_a_place() {
    let (_origin, larder) = tagged("");
    for (target, stored) in [
        ("/file[1", "/file[1].pdf"),
        (r"/a\", r"/a\b"),
        ("/Foo_(bar))?x=1", "/Foo_(bar))?x=12"),
    ] {
        let is_hit = || larder.get(stored).header("Host", SITE).send().hit();
        let ban = |target: &str, field: &str| {
            say(
                &larder,
                &format!("BAN {target} HTTP/1.1\nHost: {SITE}\n{field}\n"),
            )
        };
        assert!(!is_hit() && is_hit(), "{stored}");
        for (target, field) in [
            (target, "X-Purge-Method: regex"),
            ("/", &*format!("X-Url: {target}")),
        ] {
            let answer = ban(target, field);
            assert_eq!(answer.status, 400, "{target} {field}");
            let text = answer.text();
            assert!(text.contains("regular expression"), "{field}: {text}");
            assert!(is_hit(), "{stored} {field}");
        }
        assert_eq!(ban(target, "X-Own: 1").status, 200, "{target}");
        assert!(!is_hit(), "{stored}");
    }
    for is_one in [r"/(\w{1000}){1000}", "/shop/(?!cart).*$", r"/(a)?\1.*$"] {
        let answer = say(&larder, &format!("BAN {is_one} HTTP/1.1\nHost: {SITE}\n"));
        assert_eq!(answer.status, 400, "{is_one} is one all the same");
    }
}

#[test]
fn bad_purges_are_told_so_and_nothing_is_purged_in_half() {
    let (origin, larder) = tagged("purge.souin = \"/souin\"");
    warm(&larder);
    let large = format!(
        "POST /client/v4/zones/z/purge_cache HTTP/1.1\nHost: s\nAuthorization: Bearer t\n\n{{\"tags\":[\"home\",\"{}\"]}}",
        "x".repeat(300 << 10)
    );
    let files: Vec<_> = (0..1001)
        .map(|number| format!("\"http://site.test/{number}\""))
        .chain(["\"http://site.test/a\"".to_owned()])
        .collect();
    let many = format!(
        "POST /client/v4/zones/z/purge_cache HTTP/1.1\nHost: s\nAuthorization: Bearer t\n\n{{\"files\":[{}]}}",
        files.join(",")
    );
    let zone = |content: &str| {
        format!(
            "POST /client/v4/zones/z/purge_cache HTTP/1.1\nHost: s\nAuthorization: Bearer t\n\n{content}"
        )
    };
    let (hostless, no_prefix) = (zone(r#"{"hosts":[""]}"#), zone(r#"{"prefixes":[""]}"#));
    for (message, status, reason) in [
        (&*hostless, 400, "`` is not a host"),
        (&no_prefix, 400, "`` is not a URL"),
        ("BAN / HTTP/1.1\nHost: c\nX-Url: \n", 400, "is empty"),
        (
            "PURGE / HTTP/1.1\nHost: c\nX-Magento-Tags-Pattern: p-1(\n",
            400,
            "regular expression",
        ),
        (
            "PURGE / HTTP/1.1\nHost: c\nX-Magento-Tags-Pattern: (?!p-1).*\n",
            400,
            "look-around",
        ),
        (
            "PURGE / HTTP/1.1\nHost: c\nX-Magento-Tags-Pattern: (p{1000}){1000}\n",
            400,
            "regular expression",
        ),
        (
            "PURGE / HTTP/1.1\nHost: c\nX-Magento-Tags-Pattern: \n",
            400,
            "empty",
        ),
        (
            "BAN / HTTP/1.1\nHost: c\nCache-Tags: \n",
            400,
            "list of tags is empty",
        ),
        (
            "BAN / HTTP/1.1\nHost: c\nX-Cache-Tags: \n",
            400,
            "list of tags is empty",
        ),
        (
            "BAN / HTTP/1.1\nHost: c\nX-Ban-Url: ^/pu\n",
            400,
            "`x-ban-url` is not known",
        ),
        (
            "BAN / HTTP/1.1\nHost: c\nX-Host: .*\nX-Url: .*\nX-Content-Type: .*\nMy-Cache-Tags: (^|,)(nothing\\-has\\-this)(,|$)\n",
            400,
            "`my-cache-tags` is not known",
        ),
        (
            "BAN / HTTP/1.1\nHost: c\nX-Host: .*\nX-Url: .*\nX-Content-Type: .*\nX-Tags: home\n",
            400,
            "`x-tags` is not known",
        ),
        (
            "PURGE /a HTTP/1.1\nHost: site.test\nX-Host: site.test\n",
            400,
            "has the target `/`",
        ),
        (
            "PURGE /a HTTP/1.1\nHost: site.test\nxkey: \n",
            400,
            "list of tags is empty",
        ),
        (
            "PURGE / HTTP/1.1\nHost: c\nX-Pool: (a\n",
            400,
            "regular expression",
        ),
        ("PURGEKEYS / HTTP/1.1\nHost: c\n", 400, "xkey-purge"),
        ("PURGETAGS / HTTP/1.1\nHost: c\n", 400, "X-Cache-Tags"),
        ("PURGE /souin HTTP/1.1\nHost: c\n", 400, "Surrogate-Key"),
        (
            "PURGE /souin/GET-http-site.test-/(a HTTP/1.1\nHost: c\n",
            400,
            "regular expression",
        ),
        (
            "POST /service/abc/purge HTTP/1.1\nHost: s\nFastly-Key: k\n\nnot JSON",
            400,
            "not what this API takes",
        ),
        (
            "POST /service/abc/purge HTTP/1.1\nHost: s\nFastly-Key: k\n",
            400,
            "not what this API takes",
        ),
        (
            "POST /client/v4/zones/z/purge_cache HTTP/1.1\nHost: s\nAuthorization: Bearer t\n\n{\"tags\":[\"home\"],\"files\":[\"/a\"]}",
            400,
            "\"success\":false",
        ),
        (
            "POST /client/v4/zones/z/purge_cache HTTP/1.1\nHost: s\nAuthorization: Bearer t\n\n{\"tags\":[\"home\"],\"files\":[\"http://a b/\"]}",
            400,
            "\"success\":false",
        ),
        (&large, 413, "\"success\":false"),
        (&many, 400, "more than 1000 URLs"),
    ] {
        let answer = say(&larder, message);
        let start = message.get(..90).unwrap_or(message);
        assert_eq!(answer.status, status, "{start}: {}", answer.text());
        assert!(answer.text().contains(reason), "{start}: {}", answer.text());
        assert!(answer.header("cache-purge-result").is_none(), "{start}");
    }
    assert_eq!(gone(&larder, SITE), NONE);
    assert_eq!(leaked(&origin), NONE);
}
