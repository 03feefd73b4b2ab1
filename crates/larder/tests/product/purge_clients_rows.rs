//! What each client sends, and what is to come of it.

/// One request of one client, and what it leaves.
pub(crate) struct Row {
    pub(crate) client: &'static str,
    /// As on the wire, but for bare line feeds.
    pub(crate) message: &'static str,
    /// What is gone of the site, and of the other host.
    pub(crate) gone: [&'static [&'static str]; 2],
    pub(crate) result: &'static str,
    /// What the content holds.
    pub(crate) content: &'static str,
}

/// Every page of a host.
const ALL: &[&str] = &["/", "/a", "/a?q=1", "/img/x.png"];
/// Nothing.
pub(crate) const NONE: &[&str] = &[];

/// A row: who, what it sends, what is gone on the site and elsewhere, `Cache-Purge-Result`, and what the content holds.
const fn row(
    client: &'static str,
    message: &'static str,
    gone: [&'static [&'static str]; 2],
    result: &'static str,
    content: &'static str,
) -> Row {
    Row {
        client,
        message,
        gone,
        result,
        content,
    }
}

pub(crate) const ROWS: &[Row] = &[
    row(
        "Proxy Cache Purge, WP Rocket: one URL",
        "PURGE /a HTTP/1.1\nhost: site.test\nX-Purge-Method: default\nConnection: close\n",
        [&["/a"], NONE],
        "exact; count=1",
        "",
    ),
    row(
        "Proxy Cache Purge: everything",
        "PURGE /.* HTTP/1.1\nhost: site.test\nX-Purge-Method: regex\n",
        [ALL, NONE],
        "wildcard; count=4",
        "",
    ),
    row(
        "Proxy Cache Purge: tags",
        "PURGE / HTTP/1.1\nhost: site.test\nX-Purge-Method: tags\nX-Cache-Tags-Pattern: p-1|home\n",
        [&["/", "/a"], &["/", "/a"]],
        "tags; count=4",
        "",
    ),
    row(
        "Proxy Cache Purge: a tag between word edges",
        "PURGE / HTTP/1.1\nhost: site.test\nX-Purge-Method: tags\nX-Cache-Tags-Pattern: \\bp-1\\b\n",
        [&["/a"], &["/a"]],
        "tags; count=2",
        "",
    ),
    row(
        "WP Rocket: a directory",
        "PURGE /img/.* HTTP/1.1\nhost: site.test\nX-Purge-Method: regex\n",
        [&["/img/x.png"], NONE],
        "wildcard; count=1",
        "",
    ),
    row(
        "W3 Total Cache: one URL",
        "PURGE /a?q=1 HTTP/1.1\nHost: site.test\nUser-Agent: W3 Total Cache/2.8; WordPress/6.8\nConnection: close\n",
        [&["/a?q=1"], NONE],
        "exact; count=1",
        "",
    ),
    row(
        "W3 Total Cache: everything",
        "PURGE /.* HTTP/1.1\nHost: site.test\nUser-Agent: W3 Total Cache\nConnection: close\n",
        [ALL, NONE],
        "wildcard; count=4",
        "",
    ),
    row(
        "Nginx Helper: one URL",
        "GET /purge/a HTTP/1.1\nHost: site.test\n",
        [&["/a"], NONE],
        "exact; count=1",
        "",
    ),
    row(
        "Nginx Helper: everything",
        "PURGE /purgeall HTTP/1.1\nHost: 127.0.0.1\n",
        [ALL, ALL],
        "all; count=8",
        "",
    ),
    row(
        "ngx_cache_purge: a beginning",
        "PURGE /a* HTTP/1.1\nHost: site.test\n",
        [&["/a", "/a?q=1"], NONE],
        "wildcard; count=2",
        "",
    ),
    row(
        "FOSHttpCache, Varnish: ban by URL",
        "BAN / HTTP/1.1\nHost: site.test\nX-Host: .*\nX-Url: ^/img/.*\nX-Content-Type: .*\nConnection: Close\n",
        [&["/img/x.png"], &["/img/x.png"]],
        "wildcard; count=2",
        "",
    ),
    row(
        "FOSHttpCache, Varnish: ban by host and URL",
        "BAN / HTTP/1.1\nHost: c\nX-Host: ^(site\\.test|www\\.site\\.test)$\nX-Url: \\?q\\=\nX-Content-Type: .*\n",
        [&["/a?q=1"], NONE],
        "wildcard; count=1",
        "",
    ),
    row(
        "FOSHttpCache, Varnish: ban by media type",
        "BAN / HTTP/1.1\nHost: c\nX-Host: .*\nX-Url: .*\nX-Content-Type: image/png\n",
        [&["/img/x.png"], &["/img/x.png"]],
        "wildcard; count=2",
        "",
    ),
    row(
        "FOSHttpCache, Varnish: ban by tags",
        "BAN / HTTP/1.1\nHost: c\nX-Host: .*\nX-Url: .*\nX-Content-Type: .*\nX-Cache-Tags: (^|,)(p\\-1|home)(,|$)\n",
        [&["/", "/a"], &["/", "/a"]],
        "tags; count=4",
        "",
    ),
    row(
        "FOSHttpCache, Varnish: ban everything",
        "BAN / HTTP/1.1\nHost: c\nX-Host: .*\nX-Url: .*\nX-Content-Type: .*\n",
        [ALL, ALL],
        "all; count=8",
        "",
    ),
    row(
        "FOSHttpCache, xkey",
        "PURGEKEYS / HTTP/1.1\nHost: c\nxkey-purge: p-1 home\nConnection: Close\n",
        [&["/", "/a"], &["/", "/a"]],
        "tags; count=4",
        "Purged 4 objects, expired 0 objects",
    ),
    row(
        "FOSHttpCache, nginx",
        "PURGE /purge/a HTTP/1.1\nHost: site.test\nConnection: Close\n",
        [&["/a"], NONE],
        "exact; count=1",
        "",
    ),
    row(
        "FOSHttpCache, Symfony: tags",
        "PURGETAGS / HTTP/1.1\nHost: c\nX-Cache-Tags: p-1,home\nConnection: Close\n",
        [&["/", "/a"], &["/", "/a"]],
        "tags; count=4",
        "Purged",
    ),
    row(
        "FOSHttpCache, Symfony: clear",
        "PURGE / HTTP/1.1\nHost: site.test\nClear-Cache: true\n",
        [ALL, ALL],
        "all; count=8",
        "Purged",
    ),
    row(
        "FOSHttpCache, Fastly: tags",
        "POST /service/abc/purge HTTP/1.1\nHost: api\nFastly-Key: k\nContent-Type: application/json\n\n{\"surrogate_keys\":[\"p-1\",\"home\"]}",
        [&["/", "/a"], &["/", "/a"]],
        "tags; count=4",
        r#"{"status":"ok"}"#,
    ),
    row(
        "FOSHttpCache, Fastly: everything",
        "POST /service/abc/purge_all HTTP/1.1\nHost: api\nFastly-Key: k\n",
        [ALL, ALL],
        "all; count=8",
        r#"{"status":"ok"}"#,
    ),
    row(
        "FOSHttpCache, Cloudflare: URLs",
        "POST /client/v4/zones/z1/purge_cache HTTP/1.1\nHost: api\nAuthorization: Bearer t\nContent-Type: application/json\n\n{\"files\":[\"https://site.test/a\",{\"url\":\"http://other.test/\"}]}",
        [&["/a"], &["/"]],
        "exact; count=2",
        r#""success":true"#,
    ),
    row(
        "FOSHttpCache, Cloudflare: tags",
        "POST /client/v4/zones/z1/purge_cache HTTP/1.1\nHost: api\nAuthorization: Bearer t\n\n{\"tags\":[\"list\"]}",
        [&["/", "/a", "/a?q=1"], &["/", "/a", "/a?q=1"]],
        "tags; count=6",
        r#""id":"z1""#,
    ),
    row(
        "FOSHttpCache, Cloudflare: everything",
        "POST /client/v4/zones/z1/purge_cache HTTP/1.1\nHost: api\nAuthorization: Bearer t\n\n{\"purge_everything\":true}",
        [ALL, ALL],
        "all; count=8",
        r#""success":true"#,
    ),
    row(
        "Magento: tags",
        "PURGE / HTTP/1.1\nHost: cache:6081\nX-Magento-Tags-Pattern: ((^|,)p-1(,|$))|((^|,)home(,|$))\n",
        [&["/", "/a"], &["/", "/a"]],
        "tags; count=4",
        r#"{"invalidated":4}"#,
    ),
    row(
        "Magento: everything",
        "PURGE / HTTP/1.1\nHost: cache:6081\nX-Magento-Tags-Pattern: .*\n",
        [ALL, ALL],
        "all; count=8",
        r#"{"invalidated":8}"#,
    ),
    row(
        "Magento: an expression that is none of a set",
        "PURGE / HTTP/1.1\nHost: cache:6081\nX-Magento-Tags-Pattern: p-1[0-9]\n",
        [&["/a?q=1"], &["/a?q=1"]],
        "wildcard; count=2",
        r#"{"invalidated":2}"#,
    ),
    row(
        "Drupal: tags",
        "BAN /tags HTTP/1.1\nHost: 127.0.0.1\nCache-Tags: p-1 home\nAccept-Encoding: gzip\n",
        [&["/", "/a"], &["/", "/a"]],
        "tags; count=4",
        "",
    ),
    row(
        "Drupal: a beginning",
        "BAN /img/* HTTP/1.1\nHost: site.test\n",
        [&["/img/x.png"], NONE],
        "wildcard; count=1",
        "",
    ),
    row(
        "Drupal: everything",
        "BAN /site HTTP/1.1\nHost: 127.0.0.1\n",
        [ALL, ALL],
        "all; count=8",
        "",
    ),
    row(
        "Drupal: configured, fields in lower case",
        "BAN / HTTP/1.1\nhost: 127.0.0.1\ncache-tags: p-1 home\n",
        [&["/", "/a"], &["/", "/a"]],
        "tags; count=4",
        "",
    ),
    row(
        "API Platform, Varnish",
        "BAN / HTTP/1.1\nHost: c\nApiPlatform-Ban-Regex: (/books/1|p-1)($|\\,)\n",
        [&["/a", "/img/x.png"], &["/a", "/img/x.png"]],
        "tags; count=4",
        "",
    ),
    row(
        "API Platform, xkey; Shopware: tags",
        "PURGE / HTTP/1.1\nHost: c\nxkey: /books/1 home\n",
        [&["/", "/img/x.png"], &["/", "/img/x.png"]],
        "tags; count=4",
        "Purged 4 objects",
    ),
    row(
        "Shopware: everything",
        "BAN / HTTP/1.1\nHost: c\n",
        [ALL, ALL],
        "all; count=8",
        "",
    ),
    row(
        "MediaWiki: through a proxy's request",
        "PURGE http://site.test/a HTTP/1.1\nHost: site.test\nConnection: Keep-Alive\nProxy-Connection: Keep-Alive\n",
        [&["/a"], NONE],
        "exact; count=1",
        "",
    ),
    row(
        "the target's host goes before the field's",
        "PURGE http://site.test HTTP/1.1\nHost: 127.0.0.1\n",
        [&["/"], NONE],
        "exact; count=1",
        "",
    ),
    row(
        "HTTP/1.0",
        "PURGE /a HTTP/1.0\nHost: site.test\n",
        [&["/a"], NONE],
        "exact; count=1",
        "",
    ),
    row(
        "HTTP/1.0 by tag, without a host",
        "PURGE / HTTP/1.0\nxkey: home\n",
        [&["/"], &["/"]],
        "tags; count=2",
        "",
    ),
    row(
        "Wagtail, with the port of the other scheme",
        "PURGE /a HTTP/1.1\nHost: site.test:443\nUser-Agent: Wagtail-frontendcache/8.0\n",
        [&["/a"], NONE],
        "exact; count=1",
        "",
    ),
    row(
        "nothing of it is stored",
        "PURGE /nowhere HTTP/1.1\nHost: site.test\n",
        [NONE, NONE],
        "exact; count=0",
        "",
    ),
];
