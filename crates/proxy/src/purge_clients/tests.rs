use super::*;
use crate::policy::{PurgePolicy, Unadmitted};
use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr};

mod clients;
mod content;

/// Reads a head as on the wire, from this machine.
fn read(policy: &PurgePolicy, head: &str) -> Spoken {
    read_from(policy, head, Ipv4Addr::LOCALHOST.into())
}

fn read_from(policy: &PurgePolicy, head: &str, peer: IpAddr) -> Spoken {
    let mut lines = head.split('\n');
    let mut words = lines.next().unwrap_or_default().split(' ');
    let method = words.next().unwrap_or_default().parse().expect("a method");
    let uri: http::Uri = words.next().unwrap_or_default().parse().expect("a target");
    let fields: HeaderMap = lines
        .map(|line| {
            let (name, value) = line.split_once(": ").expect("a field");
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
            (name, HeaderValue::from_str(value).expect("a value"))
        })
        .collect();
    let target = uri.into();
    let head = Head {
        method: &method,
        target: &target,
        fields: &fields,
        refreshes: fields.contains_key(&X_REFRESH),
        peer: Some(peer),
    };
    recognise(policy, head)
}

fn policy() -> PurgePolicy {
    PurgePolicy {
        get_prefix: Some("/purge".to_owned()),
        souin: Some("/souin-api/souin".to_owned()),
        ..PurgePolicy::default()
    }
}

fn command(head: &str) -> Command {
    match read(&policy(), head) {
        Spoken::Command(Ok(command)) => command,
        other => panic!("{head}: {other:?}"),
    }
}

fn url(host: &str, target: &str) -> Wish {
    Wish::Url {
        host: host.to_owned(),
        target: target.to_owned(),
    }
}

fn prefix(host: &str, path: &str) -> Wish {
    Wish::Prefix {
        host: host.to_owned(),
        path: path.to_owned(),
    }
}

fn tags(tags: &[&str]) -> Wish {
    Wish::Tags(tags.iter().map(|&tag| tag.to_owned()).collect())
}

#[test]
fn what_is_the_applications_is_left_to_it() {
    let far: IpAddr = Ipv4Addr::new(192, 0, 2, 1).into();
    for head in [
        "GET /a HTTP/1.1\nHost: s",
        "GET /purgea HTTP/1.1\nHost: s",
        "HEAD /purge/a HTTP/1.1\nHost: s",
        "DELETE /a HTTP/1.1\nHost: s",
        "PROPFIND /a HTTP/1.1\nHost: s",
        "purge /a HTTP/1.1\nHost: s",
        "POST /service/id/purge HTTP/1.1\nHost: s",
        "POST /service/id/other HTTP/1.1\nHost: s\nFastly-Key: k",
        "POST /client/v4/zones/z/purge_cache HTTP/1.1\nHost: s",
        "POST /client/v4/zones/z HTTP/1.1\nHost: s\nAuthorization: Bearer t",
    ] {
        assert_eq!(read(&policy(), head), Spoken::Nothing, "{head}");
    }
    let refresh = "GET /a HTTP/1.1\nHost: s\nX-Refresh: 1";
    let nobody = PurgePolicy {
        allow: Vec::new(),
        ..PurgePolicy::default()
    };
    assert_eq!(read_from(&nobody, refresh, far), Spoken::Nothing);
    for field in ["X-Forwarded-For: 192.0.2.9", "Sec-Fetch-Site: same-origin"] {
        let another = format!("{refresh}\n{field}");
        assert_eq!(read_from(&policy(), &another, far), Spoken::Nothing);
    }
    let off = PurgePolicy::default();
    assert_eq!(
        read(&off, "GET /purge/a HTTP/1.1\nHost: s"),
        Spoken::Nothing
    );
}

#[test]
fn who_may_not_is_denied() {
    let far: IpAddr = Ipv4Addr::new(192, 0, 2, 1).into();
    for head in [
        "PURGE /a HTTP/1.1\nHost: s",
        "BAN / HTTP/1.1\nHost: s",
        "PURGEKEYS / HTTP/1.1\nHost: s",
        "PURGETAGS / HTTP/1.1\nHost: s",
        "REFRESH /a HTTP/1.1\nHost: s",
        "GET /a HTTP/1.1\nHost: s\nX-Refresh: 1",
        "GET /purge/a HTTP/1.1\nHost: s",
        "PURGE /souin-api/souin/flush HTTP/1.1\nHost: s",
        "POST /service/id/purge_all HTTP/1.1\nHost: s\nFastly-Key: k",
        "POST /client/v4/zones/z/purge_cache HTTP/1.1\nHost: s\nAuthorization: Bearer t",
    ] {
        let denied = Spoken::Denied(Unadmitted::Stranger);
        assert_eq!(read_from(&policy(), head, far), denied, "{head}");
    }
    for head in [
        "REFRESH /a HTTP/1.1\nHost: s",
        "GET /a HTTP/1.1\nHost: s\nX-Refresh: 1",
    ] {
        assert_eq!(read(&policy(), head), Spoken::Refresh, "{head}");
    }
}

#[test]
fn what_names_nothing_is_malformed() {
    for head in [
        "PURGE / HTTP/1.1\nHost: c\nX-Magento-Tags-Pattern: ",
        "PURGEKEYS / HTTP/1.1\nHost: c",
        "PURGETAGS / HTTP/1.1\nHost: c",
        "BAN /tags HTTP/1.1\nHost: c",
        "BAN / HTTP/1.1\nHost: c\nCache-Tags: ,|",
        "PURGE /souin-api/souin HTTP/1.1\nHost: c",
        "BAN / HTTP/1.1\nHost: c\nX-Url: ",
        "BAN / HTTP/1.1\nHost: c\nX-Host: .*\nX-Url:  \nX-Content-Type: .*",
        "BAN / HTTP/1.1\nHost: c\nX-Host: \nX-Cache-Tags: a",
        "BAN / HTTP/1.1\nHost: c\nX-Content-Type: ",
        "BAN / HTTP/1.1\nHost: c\nX-Pool: ",
    ] {
        let spoken = read(&policy(), head);
        assert!(
            matches!(spoken, Spoken::Command(Err(_))),
            "{head}: {spoken:?}"
        );
    }
}

#[test]
fn an_expression_in_a_target_is_read_beside_it() {
    let expression = |target: &str, is_said| Wish::Expression {
        host: "s".to_owned(),
        target: target.to_owned(),
        is_said,
    };
    let regex = "X-Purge-Method: regex";
    for (request, field, place, target) in [
        (
            r"BAN /a/.*\.png",
            "",
            prefix("s", r"/a/.*\.png"),
            Some(r"/a/.*\.png"),
        ),
        ("BAN /a/.*x.*", "", prefix("s", "/a/.*x"), Some("/a/.*x.*")),
        ("BAN /a/.+", "", prefix("s", "/a/.+"), Some("/a/.+")),
        ("BAN /a$", "", prefix("s", "/a$"), Some("/a$")),
        ("BAN /a|/b", "", prefix("s", "/a|/b"), Some("/a|/b")),
        ("BAN /[ab]", "", prefix("s", "/[ab]"), Some("/[ab]")),
        (
            "BAN /(en/)?b",
            "",
            prefix("s", "/(en/)?b"),
            Some("/(en/)?b"),
        ),
        (
            r"BAN /a\?b=1",
            "",
            prefix("s", r"/a\?b=1"),
            Some(r"/a\?b=1"),
        ),
        (r"PURGE /a\.b", regex, url("s", r"/a\.b"), Some(r"/a\.b")),
        (r"BAN /a\.b", regex, prefix("s", r"/a\.b"), Some(r"/a\.b")),
        // URLs have these too.
        ("BAN /a.*", "", prefix("s", "/a"), None),
        ("BAN /a*", "", prefix("s", "/a"), None),
        ("BAN /Foo_(bar)", "", prefix("s", "/Foo_(bar)"), None),
        ("BAN /Foo_(bar)*", "", prefix("s", "/Foo_(bar)"), None),
        ("BAN /a?b[]=c|d", "", prefix("s", "/a?b[]=c|d"), None),
        ("BAN /a?b=c$d", "", prefix("s", "/a?b=c$d"), None),
        (
            r"BAN /a\.b",
            "X-Purge-Method: exact",
            url("s", r"/a\.b"),
            None,
        ),
        ("BAN /", "X-Purge-Method: exact", url("s", "/"), None),
        ("BAN /a*", "X-Purge-Method: exact", url("s", "/a*"), None),
        (
            r"PURGE /a\.b",
            "X-Purge-Method: default",
            url("s", r"/a\.b"),
            None,
        ),
    ] {
        let field = if field.is_empty() { "X-A: b" } else { field };
        let wishes = command(&format!("{request} HTTP/1.1\nHost: s\n{field}")).wishes;
        let beside = target.map(|target| expression(target, field == regex));
        let wanted: Vec<_> = [place].into_iter().chain(beside).collect();
        assert_eq!(wishes, wanted, "{request}");
    }
}

#[test]
fn a_ban_by_expressions_forgets_no_more_than_it_says() {
    const FOS: &str = "X-Host: .*\nX-Url: .*\nX-Content-Type: .*";
    let set = "(^|,)(nothing\\-has\\-this)(,|$)";
    for (request, fields) in [
        ("BAN /", format!("{FOS}\nMy-Cache-Tags: {set}")),
        ("BAN /", format!("X-Url: ^/a\nMy-Cache-Tags: {set}")),
        ("BAN /", format!("{FOS}\nX-Pool: {set}")),
        ("BAN /", format!("My-Cache-Tags: {set}")),
        ("PURGE /", format!("My-Cache-Tags: {set}")),
        ("BAN /", format!("{FOS}\nX-Ban-Url: ^/a$")),
        ("BAN /", format!("{FOS}\nX-Tags: t")),
        ("BAN /", "X-Host: ^a$\nX-Tags: t".to_owned()),
        ("BAN /", format!("{FOS}\nX-Cache-Tags: ")),
        ("BAN /", format!("{FOS}\nxkey: ")),
        ("BAN /", format!("{FOS}\nCache-Tags: ,")),
        ("BAN /", format!("{FOS}\nxkey: a\nCache-Tags: {set}")),
        ("BAN /", format!("{FOS}\nxkey: {set}\nxkey: {set}")),
        ("PURGE /a", "X-Host: s".to_owned()),
        ("PURGE /a", "X-Url: .*".to_owned()),
        ("PURGE /a", FOS.to_owned()),
        ("BAN /a", "X-Content-Type: .*".to_owned()),
    ] {
        let head = format!("{request} HTTP/1.1\nHost: s\n{fields}");
        let spoken = read(&policy(), &head);
        assert!(
            matches!(spoken, Spoken::Command(Err(_))),
            "{head}: {spoken:?}"
        );
    }
    let policy = with_secret("(^|,)(,|$)");
    let head = format!("BAN / HTTP/1.1\nHost: s\nX-Ban-Key: (^|,)(,|$)\n{FOS}");
    let spoken = read(&policy, &head);
    assert!(matches!(spoken, Spoken::Command(Ok(_))), "{spoken:?}");
}

/// A policy whose clients have this secret in `X-Ban-Key`.
fn with_secret(value: &'static str) -> PurgePolicy {
    let name = HeaderName::from_static("x-ban-key");
    PurgePolicy {
        secret: Some((name, HeaderValue::from_static(value))),
        ..PurgePolicy::default()
    }
}

#[test]
fn a_ban_that_is_limited_in_unknown_words_is_malformed() {
    for field in ["X-Ban-Url", "Ban-Host", "X-Ban", "X-Tags", "X-Ban-Regex"] {
        let head = format!("BAN / HTTP/1.1\nHost: c\n{field}: ^/pu");
        let spoken = read(&policy(), &head);
        let Spoken::Command(Err(Malformed::Limit(name))) = spoken else {
            panic!("{head}: {spoken:?}");
        };
        assert_eq!(name, field.to_ascii_lowercase());
    }
    // The ban's limit is in another field, or in the target alone; the secret says who asks.
    for head in [
        "BAN / HTTP/1.1\nHost: c\nX-Url: ^/pu\nX-Ban-Id: 7",
        "BAN / HTTP/1.1\nHost: c\nX-Banana: 1\nIf-None-Match: \"a\"",
        "BAN /page HTTP/1.1\nHost: c\nX-Datadog-Tags: _dd.p.dm=-0",
        "PURGE /a HTTP/1.1\nHost: c\nX-Ban-Url: /a",
    ] {
        command(head);
    }
    let policy = with_secret("a");
    let spoken = read(&policy, "BAN / HTTP/1.1\nHost: c\nX-Ban-Key: a");
    assert!(matches!(spoken, Spoken::Command(Ok(_))), "{spoken:?}");
}

proptest! {
    #[test]
    fn any_head_is_read(
        method in "(GET|POST|PURGE|BAN|PURGEKEYS|PURGETAGS)",
        target in "/[!-~&&[^<>\"`{}|\\\\^#]]{0,20}",
        field in "(x-url|x-host|x-cache-tags|cache-tags|xkey|x-magento-tags-pattern|surrogate-key|fastly-key)",
        value in "[!-~]{0,20}",
    ) {
        if target.parse::<http::Uri>().is_ok() {
            let _ = read(&policy(), &format!("{method} {target} HTTP/1.1\nhost: s\n{field}: {value}"));
        }
    }
}
