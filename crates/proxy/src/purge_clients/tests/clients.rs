//! Each client as it speaks.

use super::*;

const FOS: &str = "X-Host: .*\nX-Url: .*\nX-Content-Type: .*";

fn matching(host: &str, target: &str, content_type: &str, tags: &str) -> Wish {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Wish::Matching(Box::new(Matching {
        host: given(host),
        target: given(target),
        content_type: given(content_type),
        tags: given(tags),
        ..Matching::default()
    }))
}

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
            &ban(&format!("{FOS}\nCache-Tags: (^|,)(a\\-1|b)(,|$)")),
            tags(&["a-1", "b"]),
            false,
            Plain,
        ),
        (
            &ban(&format!("{FOS}\nSurrogate-Key: a-1 b\nSurrogate-Key: c")),
            tags(&["a-1", "b", "c"]),
            false,
            Plain,
        ),
        (
            &ban(&format!("{FOS}\nxkey: t-a")),
            tags(&["t-a"]),
            false,
            Xkey,
        ),
        (
            &ban(&format!(
                "{}\nCache-Tag: (^|,)(t)(,|$)",
                FOS.replace("X-Host: .*", "X-Host: ^a$")
            )),
            matching("^a$", "", "", "(^|,)(t)(,|$)"),
            false,
            Plain,
        ),
        // Its base URL has a path.
        (
            &format!("BAN /app/ HTTP/1.1\nHost: cache\n{FOS}"),
            Wish::Everything,
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
        (
            "PURGE / HTTP/1.1\nHost: c\nX-Pool: ^blue-[0-9]+$",
            Wish::Matching(Box::new(Matching {
                pool: Some("^blue-[0-9]+$".to_owned()),
                ..Matching::default()
            })),
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
