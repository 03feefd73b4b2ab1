//! What presets mean beside the walk: sessions, tags, choices, static files, and what `--explain` prints of them.

use crate::{
    common::{Said, command, start_with},
    presets::WOOCOMMERCE,
    presets_walk::{ALICE, talkative, walk, with_preset},
};
use testkit::{Client, Reply};

#[test]
fn those_with_a_magento_session_are_answered_from_the_store_and_never_fill_it() {
    let (origin, larder) = with_preset("magento");
    let session = format!("PHPSESSID={ALICE}; form_key=k");
    let alice = || {
        larder
            .get("/shoes.html")
            .header("Host", "s2.test")
            .header("Cookie", &session)
            .send()
    };
    let stranger = || larder.get("/shoes.html").header("Host", "s2.test").send();
    let own = alice();
    assert!(
        !own.hit() && own.text().contains(ALICE),
        "a miss goes with all of its cookies: {}",
        own.said()
    );
    assert_eq!(
        own.parameter("detail").as_deref(),
        Some("cookie"),
        "{}",
        own.said()
    );
    assert!(!stranger().hit(), "what a session fetched is not stored");
    let again = alice();
    assert!(
        again.hit() && !again.text().contains(ALICE),
        "{}",
        again.said()
    );
    // What is fetched behind a stale answer is fetched as a stranger.
    let answer = Client::connect(larder.admin())
        .ask("POST", "/purge")
        .header("Host", "localhost")
        .header("Content-Type", "application/json")
        .body(r#"{"url": "http://s2.test/shoes.html", "soft": true}"#)
        .send();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(alice().hit());
    origin.wait_requests("/shoes.html", 3);
    assert_eq!(origin.last("/shoes.html").header("cookie"), None);
}

/// Where the path or the query alone tells that a page is one's own, it is passed on, whatever the application says of it.
#[test]
fn what_a_path_or_a_query_says_is_ones_own_is_never_stored() {
    const WORDPRESS: [&str; 6] = [
        "/wp-admin/",
        "/wp-login.php",
        "/wp-json/wp/v2/users/me",
        "/account/",
        "/?p=1&preview=true",
        "/post/?unapproved=7",
    ];
    for (preset, targets) in [
        ("wordpress", &WORDPRESS[..]),
        ("woocommerce", &WORDPRESS[..]),
        (
            "woocommerce",
            &[
                "/cart/",
                "/de/checkout/",
                "/my-account/orders/",
                "/?add-to-cart=7",
            ],
        ),
        (
            "magento",
            &[
                "/checkout/cart/",
                "/customer/account/",
                "/rest/V1/carts/mine",
                "/page?preview=1",
                "/media/customer/a/b/portrait.jpg",
                "/media/customer_address/a/b/passport.png",
                "/media/custom_options/quote/a/b/letter.jpg",
                "/media/downloadable/files/links/a/b/song.mp3",
                "/de/pub/Media/import/prices.csv",
                "/media/customer_address/media/catalog/passport.png",
            ],
        ),
        (
            "drupal",
            &[
                "/user/1",
                "/cart",
                "/node/1/preview",
                "/system/files/a.pdf",
                "/page?token=a",
            ],
        ),
        (
            "django",
            &[
                "/admin/",
                "/accounts/profile/",
                "/basket/",
                "/checkout/",
                "/page?preview=1",
            ],
        ),
    ] {
        let (origin, larder) = with_preset(preset);
        origin.otherwise(|_| Reply::ok().cache("public, max-age=600").body("one's own"));
        assert!(larder.get("/page").send().says("stored"), "{preset}");
        for target in targets {
            larder.get(target).send();
            let again = larder.get(target).send();
            let why = again.parameter("fwd");
            assert_eq!(why.as_deref(), Some("bypass"), "{preset}: {target}");
        }
    }
}

/// Of the files in `media`, only those that the shop shows to everybody are stored against the application's word.
#[test]
fn magento_files_that_are_not_for_everybody_are_stored_only_if_it_says_so() {
    let (origin, larder) = with_preset("magento");
    origin.otherwise(|request| {
        let said = match request.header("host") {
            Some("public.test") => "public, max-age=600",
            _ => "private, max-age=600",
        };
        Reply::ok()
            .header("Content-Type", "image/jpeg")
            .cache(said)
            .body("an image")
    });
    for (path, is_for_everybody) in [
        ("/media/catalog/product/a/b/shoe.jpg", true),
        ("/media/wysiwyg/banner.jpg", true),
        ("/media/tmp/catalog/product/a/b/unsaved.jpg", false),
        ("/media/rma_item/a/b/broken.jpg", false),
    ] {
        for (host, is_stored) in [("private.test", is_for_everybody), ("public.test", true)] {
            let answer = larder.get(path).header("Host", host).send();
            assert_eq!(
                answer.says("stored"),
                is_stored,
                "{host}{path}: {}",
                answer.said()
            );
        }
    }
}

/// Each application tags its pages and purges by tag in its own words; the preset stands in the way of neither.
#[test]
fn what_an_application_tags_it_purges_in_its_own_words() {
    const BY_API: &str = "larder purge --tag";
    for (preset, field, tags, purge) in [
        (
            "magento",
            "X-Magento-Tags",
            ["cat_p,cat_p_12,store", "cat_p,cat_p_123,store"],
            "PURGE / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nX-Magento-Tags-Pattern: ((^|,)cat_p_12(,|$))\r\n\r\n",
        ),
        (
            "drupal",
            "Cache-Tags",
            [
                "config:system.site node:12 node_view",
                "config:system.site node:123 node_view",
            ],
            "BAN / HTTP/1.1\r\nHost: s.test\r\nCache-Tags: node:12|node:7\r\n\r\n",
        ),
        (
            "drupal",
            "Cache-Tags",
            [
                "config:a.b node:12 node_view",
                "config:a.b node:123 node_view",
            ],
            "BAN / HTTP/1.1\r\nHost: s.test\r\nCache-Tags: \\bnode:12\\b\r\n\r\n",
        ),
        (
            "drupal",
            "Cache-Tags",
            ["list[1] a+b", "list[12] a+c"],
            "BAN / HTTP/1.1\r\nHost: s.test\r\nCache-Tags: a+b\r\n\r\n",
        ),
        (
            "wordpress",
            "X-Cache-Tags",
            ["p-12,home", "p-123,home"],
            "PURGE / HTTP/1.1\r\nHost: s.test\r\nX-Purge-Method: tags\r\nX-Cache-Tags-Pattern: p-12\r\n\r\n",
        ),
        (
            "woocommerce",
            "Surrogate-Key",
            ["post-12 single", "post-123 single"],
            "PURGE / HTTP/1.1\r\nHost: s.test\r\nSurrogate-Key: post-12\r\n\r\n",
        ),
        (
            "django",
            "Cache-Tag",
            ["article-12,articles", "article-123,articles"],
            BY_API,
        ),
    ] {
        let (origin, larder) = with_preset(preset);
        let targets = ["/one.html", "/two.html"];
        for (target, tags) in targets.into_iter().zip(tags) {
            origin.on(target, move |_| {
                let reply = Reply::ok().cache("public, max-age=86400, s-maxage=86400");
                reply.header(field, tags).body("page")
            });
        }
        let get = |target: &str| larder.get(target).header("Host", "s.test").send();
        for target in targets {
            get(target);
            let stored = get(target);
            assert!(stored.hit(), "{preset} {target}: {}", stored.said());
            assert_eq!(stored.header(field), None, "{preset}: tags are for caches");
        }
        let answer = if purge == BY_API {
            let mut admin = Client::connect(larder.admin());
            let ask = admin.ask("POST", "/purge").header("Host", "localhost");
            let json = ask.header("Content-Type", "application/json");
            json.body(r#"{"tag": "article-12"}"#).send()
        } else {
            let mut client = larder.client();
            client.send(purge);
            client.read()
        };
        assert_eq!(answer.status, 200, "{preset}: {}", answer.text());
        let hits = targets.map(|target| get(target).hit());
        assert_eq!(hits, [false, true], "{preset}");
    }
}

#[test]
fn those_who_chose_alike_share_pages() {
    for (preset, cookie) in [
        ("wordpress", "pll_language"),
        ("woocommerce", "pll_language"),
        ("woocommerce", "wcml_client_currency"),
        ("django", "django_language"),
    ] {
        let (_origin, larder) = with_preset(preset);
        let ask = |value: &str, visitor: usize| {
            larder
                .get("/a/")
                .header("Host", "s2.test")
                .header("Cookie", format!("{cookie}={value}; _ga={visitor}"))
                .send()
        };
        for value in ["one", "two"] {
            let (first, second) = (ask(value, 1), ask(value, 2));
            assert!(
                !first.hit() && second.hit(),
                "{preset} {cookie}: {}",
                second.said()
            );
            assert!(
                second.text().contains(&format!("{cookie}={value}")),
                "{preset} {cookie}"
            );
        }
    }
}

#[test]
fn static_files_are_kept_and_scripts_are_not() {
    let (origin, larder) = with_preset("wordpress");
    for (path, kind, kept) in [
        ("/wp-content/themes/a/style.css?ver=6.1", "text/css", true),
        (
            "/blog/wp-includes/js/jquery.min.js",
            "text/javascript",
            true,
        ),
        ("/wp-content/uploads/2024/01/a.webp", "image/webp", true),
        ("/wp-content/plugins/a/style.php", "text/css", false),
        ("/my/style.css", "text/css", false),
    ] {
        origin.on(path, move |request| {
            Reply::ok()
                .cache("no-store, private")
                .header("Content-Type", kind)
                .header("Set-Cookie", "a=b")
                .body(request.nth.to_string())
        });
        let (first, second) = (larder.get(path).send(), larder.get(path).send());
        assert_eq!(
            second.hit(),
            kept,
            "{path}: {} {}",
            first.said(),
            second.said()
        );
        assert!(!kept || second.header("set-cookie").is_none(), "{path}");
    }
    let guarded = "/wp-content/uploads/members/a.pdf";
    let member = larder
        .get(guarded)
        .header("Cookie", format!("wordpress_logged_in_1={ALICE}"))
        .send();
    assert!(member.text().contains(ALICE));
    assert!(
        !larder.get(guarded).send().text().contains(ALICE),
        "a file that a plugin guards"
    );
}

/// The name of an upload may be used again for other content.
#[test]
fn an_upload_is_checked_again_within_minutes() {
    let (origin, larder) = with_preset("wordpress");
    for (path, seconds) in [
        ("/wp-content/uploads/2024/01/a.webp", 10 * 60),
        ("/wp-content/themes/a/a.webp", 7 * 24 * 60 * 60),
    ] {
        origin.on(path, |_| {
            Reply::ok()
                .cache("max-age=31536000")
                .header("Content-Type", "image/webp")
        });
        let stored = larder.get(path).send().said();
        assert!(
            stored.contains(&format!("ttl={seconds}")),
            "{path}: {stored}"
        );
    }
}

/// What a preset says in plain configuration, as `larder check --explain` prints it.
fn explained(preset: &str) -> String {
    let folder = testkit::scratch_dir();
    let file = folder.join("larder.toml");
    let text = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n[[origin]]\nservers = \"http://127.0.0.1:9\"\n\
         [defaults]\npreset = \"{preset}\"\n"
    );
    std::fs::write(&file, text).expect("a file");
    let file = file.display().to_string();
    let done = command().args(["check", &file, "--explain"]).run();
    let (_, plain) = done
        .stdout
        .split_once("# Without presets")
        .expect("it prints them");
    plain.split_once('\n').expect("a line").1.to_owned()
}

/// The plain configuration protects as the preset does, and each kind of rule in it is needed: without one, the walk
/// finds what leaks.
#[test]
fn what_explain_prints_protects_and_every_rule_counts() {
    let plain = explained("woocommerce");
    let with = |rules: &str| {
        let (origin, larder) =
            start_with(&format!("[[origin]]\nservers = \"{{origin}}\"\n{rules}"));
        origin.otherwise(talkative);
        (origin, larder)
    };
    let (_origin, larder) = with(&plain);
    assert_eq!(walk(&larder, WOOCOMMERCE), Vec::<String>::new());
    for (rule, instead, row) in [
        // The cookie alone tells this page apart: kept from the application, its owner gets a stranger's page.
        (
            "\"wp-postpass_*\"",
            "\"none\"",
            "cookie wp-postpass_5c | /secret/ | a protected post",
        ),
        (
            "\"X-WP-Nonce\"",
            "\"X-None\"",
            "header X-WP-Nonce | /me/ | a nonce",
        ),
        (
            "drop_cookies = true",
            "drop_cookies = false",
            "aside visitor | /hello/ | a cookie that nobody has heard of",
        ),
        (
            "set_cookie = \"never\"",
            "set_cookie = \"store\"",
            "first | /hello/ | a session that begins",
        ),
    ] {
        assert!(plain.contains(rule), "{rule}");
        let (_origin, larder) = with(&plain);
        assert_eq!(walk(&larder, row), Vec::<String>::new(), "{row}");
        let (_origin, larder) = with(&plain.replace(rule, instead));
        assert!(!walk(&larder, row).is_empty(), "nothing needs {rule}");
    }
}

/// It comes by what the application knows of the visitor, a place say, and no cookie of the request tells.
#[test]
fn a_magento_page_that_was_made_for_another_currency_is_not_stored() {
    let (origin, larder) = with_preset("magento");
    origin.on("/hats.html", |request| {
        let reply = Reply::ok().cache("public, s-maxage=600");
        let is_abroad = request.header("X-Country") == Some("no");
        let reply = reply.body(if is_abroad { "kroner" } else { "euro" });
        if is_abroad {
            reply.header("Set-Cookie", "X-Magento-Vary=a1; Path=/; HttpOnly")
        } else {
            reply.header("Set-Cookie", "PHPSESSID=b2; Path=/; HttpOnly")
        }
    });
    let ask = || larder.get("/hats.html").header("Host", "s2.test");
    let abroad = ask().header("X-Country", "no").send();
    assert_eq!(abroad.text(), "kroner");
    assert!(abroad.header("set-cookie").is_some(), "it gets its cookie");
    for is_hit in [false, true] {
        let here = ask().send();
        assert_eq!((here.text().as_str(), here.hit()), ("euro", is_hit));
    }
}

/// A preset means the same wherever it stands, and below a folder the same of what is there.
#[test]
fn on_a_route_a_preset_means_what_it_means_for_all() {
    const COOKIES: [&str; 7] = [
        "cart=1",
        "sessionid=a",
        "csrftoken=a",
        "wordpress_logged_in_a=1",
        "SESS0123456789abcdef0123456789abcdef=a",
        "PHPSESSID=a; X-Magento-Vary=b",
        "woocommerce_items_in_cart=1",
    ];
    const PATHS: [&str; 9] = [
        "/",
        "/page/",
        "/admin/",
        "/accounts/profile/",
        "/static/admin/a.css",
        "/app/static/a.css",
        "/wp-admin/",
        "/user/1",
        "/core/misc/a.js",
    ];
    for preset in ["wordpress", "woocommerce", "magento", "drupal", "django"] {
        let said = |table: &str, folder: &str| -> Vec<String> {
            let (origin, larder) =
                start_with(&format!("[[origin]]\nservers = \"{{origin}}\"\n{table}\n"));
            origin.otherwise(|_| Reply::ok().header("Content-Type", "text/html"));
            let mut said = Vec::new();
            for (number, cookie) in COOKIES.iter().enumerate() {
                for path in PATHS {
                    let mut client = larder.client();
                    let ask = client.get(&format!("{folder}{path}"));
                    let host = format!("h{number}.example");
                    let answer = ask.header("Host", host).header("Cookie", cookie).send();
                    said.push(format!("{path} {cookie}: {}", answer.said()));
                }
            }
            said
        };
        let all = said(&format!("[defaults]\npreset = {preset:?}"), "");
        let route = said(&format!("[[route]]\npreset = {preset:?}"), "");
        assert_eq!(route, all, "{preset}");
        let below = said(
            &format!("[[route]]\npath = \"/shop/*\"\npreset = {preset:?}\n[[route]]\n"),
            "/shop",
        );
        assert_eq!(below, all, "{preset}, below a folder");
    }
}
