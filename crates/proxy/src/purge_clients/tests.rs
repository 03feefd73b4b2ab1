use super::*;
use crate::policy::PurgePolicy;
use http::HeaderName;
use proptest::prelude::*;
use std::net::Ipv4Addr;

/// A head as on the wire, from this machine.
fn read(policy: &PurgePolicy, head: &str) -> Spoken {
    read_from(policy, head, Ipv4Addr::LOCALHOST.into())
}

fn read_from(policy: &PurgePolicy, head: &str, peer: IpAddr) -> Spoken {
    let mut lines = head.split('\n');
    let mut words = lines.next().unwrap_or_default().split(' ');
    let method = words.next().unwrap_or_default().parse().expect("a method");
    let uri = words.next().unwrap_or_default().parse().expect("a target");
    let fields: HeaderMap = lines
        .map(|line| {
            let (name, value) = line.split_once(": ").expect("a field");
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
            (name, HeaderValue::from_str(value).expect("a value"))
        })
        .collect();
    let head = Head {
        method: &method,
        uri: &uri,
        fields: &fields,
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

fn matching(host: &str, target: &str, content_type: &str, tags: &str) -> Wish {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Wish::Matching(Box::new(Matching {
        host: given(host),
        target: given(target),
        content_type: given(content_type),
        tags: given(tags),
        souin: None,
    }))
}

const FOS: &str = "X-Host: .*\nX-Url: .*\nX-Content-Type: .*";

#[test]
#[allow(clippy::too_many_lines, reason = "a table is as long as it has rows")]
fn each_client_is_understood() {
    use Dialect::{Fastly, Magento, Plain, Souin, Xkey};
    let ban = |rest: &str| format!("BAN / HTTP/1.1\nHost: cache\n{rest}");
    for (head, wish, soft, dialect) in [
        // Proxy Cache Purge, WP Rocket, W3 Total Cache.
        (
            "PURGE http://10.0.0.1/a?b HTTP/1.1\nX-Purge-Method: default",
            url("10.0.0.1", "/a?b"),
            false,
            Plain,
        ),
        (
            "PURGE /a?b HTTP/1.1\nHost: site.example\nX-Purge-Method: default",
            url("site.example", "/a?b"),
            false,
            Plain,
        ),
        (
            "PURGE /.* HTTP/1.1\nHost: site.example\nX-Purge-Method: regex",
            Wish::Host("site.example".into()),
            false,
            Plain,
        ),
        (
            "PURGE /blog/.* HTTP/1.1\nHost: s\nX-Purge-Method: regex",
            prefix("s", "/blog/"),
            false,
            Plain,
        ),
        (
            "PURGE /a* HTTP/1.1\nHost: s\nX-Purge-Method: exact",
            url("s", "/a*"),
            false,
            Plain,
        ),
        (
            "PURGE /a HTTP/1.1\nHost: s\nX-Purge-Method: soft",
            url("s", "/a"),
            true,
            Plain,
        ),
        (
            "PURGE / HTTP/1.1\nHost: s\nX-Purge-Method: tags\nX-Cache-Tags-Pattern: p-12|home",
            tags(&["p-12", "home"]),
            false,
            Plain,
        ),
        (
            "PURGE /.* HTTP/1.1\nHost: s\nUser-Agent: W3 Total Cache",
            Wish::Host("s".into()),
            false,
            Plain,
        ),
        // Nginx Helper, ngx_cache_purge.
        (
            "GET /purge/a/feed/?x HTTP/1.1\nHost: s",
            url("s", "/a/feed/?x"),
            false,
            Plain,
        ),
        (
            "PURGE /purge/a HTTP/1.1\nHost: s",
            url("s", "/a"),
            false,
            Plain,
        ),
        (
            "PURGE /purgeall HTTP/1.1\nHost: 127.0.0.1",
            Wish::Everything,
            false,
            Plain,
        ),
        (
            "PURGE /img/* HTTP/1.1\nHost: s",
            prefix("s", "/img/"),
            false,
            Plain,
        ),
        // FOSHttpCache.
        (&ban(FOS), Wish::Everything, false, Plain),
        (
            &ban(&format!("{FOS}\nX-Cache-Tags: (^|,)(a\\-1|b)(,|$)")),
            tags(&["a-1", "b"]),
            false,
            Plain,
        ),
        (
            &ban(&FOS.replace("X-Url: .*", "X-Url: ^/news/.*")),
            prefix("", "/news/"),
            false,
            Plain,
        ),
        (
            &ban(&FOS.replace("X-Host: .*", "X-Host: ^a\\.example$")),
            Wish::Host("a.example".into()),
            false,
            Plain,
        ),
        (
            &ban(&FOS.replace("X-Content-Type: .*", "X-Content-Type: image/.*")),
            matching("", "", "image/.*", ""),
            false,
            Plain,
        ),
        (
            &ban(
                "X-Host: ^(a|b)$\nX-Url: \\.css$\nX-Content-Type: .*\nX-Cache-Tags: (^|,)(t)(,|$)",
            ),
            matching("^(a|b)$", "\\.css$", "", "(^|,)(t)(,|$)"),
            false,
            Plain,
        ),
        (
            "PURGEKEYS / HTTP/1.1\nHost: c\nxkey-softpurge: a b",
            tags(&["a", "b"]),
            true,
            Xkey,
        ),
        (
            "PURGEKEYS / HTTP/1.1\nHost: c\nxkey-purge: a b",
            tags(&["a", "b"]),
            false,
            Xkey,
        ),
        (
            "PURGETAGS / HTTP/1.1\nHost: c\nX-Cache-Tags: a,b",
            tags(&["a", "b"]),
            false,
            Plain,
        ),
        (
            "PURGE / HTTP/1.1\nHost: c\nClear-Cache: true",
            Wish::Everything,
            false,
            Plain,
        ),
        (
            "PURGE /a HTTP/1.1\nHost: s\nFastly-Soft-Purge: 1\nFastly-Key: k",
            url("s", "/a"),
            true,
            Fastly,
        ),
        (
            "POST /service/id/purge_all HTTP/1.1\nHost: c\nFastly-Key: k",
            Wish::Everything,
            false,
            Fastly,
        ),
        (
            "POST /service/id/purge/a%2Fb HTTP/1.1\nHost: c\nFastly-Key: k",
            tags(&["a/b"]),
            false,
            Fastly,
        ),
        (
            "POST /service/id/purge HTTP/1.1\nHost: c\nFastly-Key: k\nSurrogate-Key: a b\nFastly-Soft-Purge: 1",
            tags(&["a", "b"]),
            true,
            Fastly,
        ),
        // Magento.
        (
            "PURGE / HTTP/1.1\nHost: c\nX-Magento-Tags-Pattern: ((^|,)cat_p_1(,|$))|((^|,)cat_p(,|$))",
            tags(&["cat_p_1", "cat_p"]),
            false,
            Magento,
        ),
        (
            "PURGE / HTTP/1.1\nHost: c\nX-Magento-Tags-Pattern: .*\nX-Magento-Purge-Soft: 1",
            Wish::Everything,
            true,
            Magento,
        ),
        (
            "PURGE / HTTP/1.1\nHost: c\nX-Magento-Tags-Pattern: cat_p_[0-9]+",
            matching("", "", "", "cat_p_[0-9]+"),
            false,
            Magento,
        ),
        (
            "PURGE / HTTP/1.1\nHost: c\nX-Pool: .*",
            Wish::Everything,
            false,
            Magento,
        ),
        (
            "PURGE / HTTP/1.1\nHost: c\nX-Pool: blue|green",
            tags(&["x-pool: blue", "x-pool: green"]),
            false,
            Magento,
        ),
        // Drupal.
        (
            "BAN /tags HTTP/1.1\nHost: 10.0.0.1\nCache-Tags: node:1 node_list",
            tags(&["node:1", "node_list"]),
            false,
            Plain,
        ),
        (
            "BAN /path/* HTTP/1.1\nHost: s",
            prefix("s", "/path/"),
            false,
            Plain,
        ),
        (
            "BAN /site HTTP/1.1\nHost: 10.0.0.1",
            Wish::Everything,
            false,
            Plain,
        ),
        // API Platform.
        (
            "BAN / HTTP/1.1\nHost: c\nApiPlatform-Ban-Regex: (/books/1|/books)($|\\,)",
            tags(&["/books/1", "/books"]),
            false,
            Plain,
        ),
        (
            "PURGE / HTTP/1.1\nHost: c\nxkey: /books/1 /books",
            tags(&["/books/1", "/books"]),
            false,
            Xkey,
        ),
        (
            "PURGE /souin-api/souin HTTP/1.1\nHost: c\nSurrogate-Key: a, b",
            tags(&["a,", "a", "b"]),
            false,
            Souin,
        ),
        (
            "PURGE /souin-api/souin/flush HTTP/1.1\nHost: c",
            Wish::Everything,
            false,
            Souin,
        ),
        (
            "PURGE /souin-api/souin/GET-http-a.example-/x-y?z HTTP/1.1\nHost: c",
            url("a.example", "/x-y?z"),
            false,
            Souin,
        ),
        (
            "PURGE /souin-api/souin/.+ HTTP/1.1\nHost: c",
            Wish::Everything,
            false,
            Souin,
        ),
        // Shopware.
        (
            "PURGE / HTTP/1.1\nHost: c\nxkey: product-1 product-2",
            tags(&["product-1", "product-2"]),
            false,
            Xkey,
        ),
        ("BAN / HTTP/1.1\nHost: c", Wish::Everything, false, Plain),
        // MediaWiki, Wagtail.
        (
            "PURGE http://wiki.example/w?a HTTP/1.1\nHost: wiki.example\nProxy-Connection: Keep-Alive",
            url("wiki.example", "/w?a"),
            false,
            Plain,
        ),
        (
            "PURGE http://wiki.example HTTP/1.1\nHost: other",
            url("wiki.example", "/"),
            false,
            Plain,
        ),
    ] {
        let expected = Command {
            wishes: vec![wish],
            soft,
            dialect,
        };
        assert_eq!(command(head), expected, "{head}");
    }
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
        assert_eq!(read_from(&policy(), head, far), Spoken::Denied, "{head}");
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
        "PURGE / HTTP/1.1\nHost: c\nX-Pool: a.*b",
        "PURGE / HTTP/1.1\nHost: c\nX-Magento-Tags-Pattern: a\nX-Pool: a.*b",
        "PURGE /souin-api/souin HTTP/1.1\nHost: c",
    ] {
        let spoken = read(&policy(), head);
        assert!(
            matches!(spoken, Spoken::Command(Err(_))),
            "{head}: {spoken:?}"
        );
    }
}

#[test]
fn contents_are_understood() {
    let fastly = api::Expected::Fastly { soft: true };
    let cloudflare = api::Expected::Cloudflare("z".to_owned());
    for (expected, content, wishes) in [
        (
            &fastly,
            r#"{"surrogate_keys":["a","b,c"]}"#,
            vec![tags(&["a", "b,c"])],
        ),
        (
            &cloudflare,
            r#"{"purge_everything":true}"#,
            vec![Wish::Everything],
        ),
        (
            &cloudflare,
            r#"{"tags":["a"],"hosts":["h"]}"#,
            vec![tags(&["a"]), Wish::Host("h".into())],
        ),
        (
            &cloudflare,
            r#"{"files":["https://s/a?c",{"url":"http://s","headers":{}}]}"#,
            vec![url("s", "/a?c"), url("s", "")],
        ),
        (
            &cloudflare,
            r#"{"prefixes":["s/img/"]}"#,
            vec![prefix("s", "/img/")],
        ),
    ] {
        let command = api::content(expected, content.as_bytes()).expect(content);
        assert_eq!(command.wishes, wishes, "{content}");
    }
    for (expected, content) in [
        (&fastly, ""),
        (&fastly, "{}"),
        (&fastly, r#"{"surrogate_keys":[]}"#),
        (&fastly, r#"{"surrogate_keys":"a"}"#),
        (&cloudflare, "not JSON"),
        (&cloudflare, "{}"),
        (&cloudflare, r#"{"files":["/a"]}"#),
        (&cloudflare, r#"{"files":[1]}"#),
    ] {
        assert!(
            api::content(expected, content.as_bytes()).is_err(),
            "{content}"
        );
    }
}

proptest! {
    #[test]
    fn any_content_is_read(content in "[ -~]{0,60}") {
        let _ = api::content(&api::Expected::Cloudflare(String::new()), content.as_bytes());
        let _ = api::content(&api::Expected::Fastly { soft: false }, content.as_bytes());
    }

    #[test]
    fn any_head_is_read(
        method in "(GET|POST|PURGE|BAN|PURGEKEYS|PURGETAGS)",
        target in "/[!-~&&[^<>\"`{}|\\\\^#]]{0,20}",
        field in "(x-url|x-host|x-cache-tags|cache-tags|xkey|x-magento-tags-pattern|surrogate-key|fastly-key)",
        value in "[!-~]{0,20}",
    ) {
        if target.parse::<Uri>().is_ok() {
            let _ = read(&policy(), &format!("{method} {target} HTTP/1.1\nhost: s\n{field}: {value}"));
        }
    }
}
