//! Presets: what an application consists of is the same for everybody, whoever they are logged in as.

use crate::{
    common::{Said, start_with},
    presets_walk::{ALICE, talkative, with_defaults, with_preset},
};
use testkit::Reply;

/// A preset, the cookie of one who is logged in, and a file that all pages have.
const ASSETS: [(&str, &str, &str); 16] = [
    (
        "wordpress",
        "wordpress_logged_in_1",
        "/wp-includes/js/jquery.js?ver=3.7",
    ),
    (
        "wordpress",
        "wordpress_logged_in_1",
        "/wp-admin/css/common.min.css",
    ),
    (
        "wordpress",
        "comment_author_1",
        "/blog/wp-content/themes/a/style.css",
    ),
    (
        "woocommerce",
        "woocommerce_items_in_cart",
        "/wp-content/plugins/woocommerce/a.js",
    ),
    ("drupal", "SESS0123", "/core/misc/drupal.js"),
    ("drupal", "SESS0123", "/sites/default/files/css/css_1.css"),
    (
        "magento",
        "X-Magento-Vary",
        "/static/version1/frontend/a/b/de_DE/a.js",
    ),
    (
        "magento",
        "PHPSESSID",
        "/static/frontend/a/b/de_DE/requirejs.js",
    ),
    ("django", "sessionid", "/static/polls/base.css"),
    ("django", "sessionid", "/static/admin/css/base.css"),
    // Folders that are called as pages are.
    (
        "wordpress",
        "wordpress_logged_in_1",
        "/wp-content/plugins/a/account/a.css",
    ),
    (
        "woocommerce",
        "woocommerce_items_in_cart",
        "/wp-content/themes/a/woocommerce/cart/a.css",
    ),
    (
        "drupal",
        "SESS0123",
        "/core/modules/user/css/user.module.css",
    ),
    ("drupal", "SESS0123", "/modules/contrib/flag/css/flag.css"),
    (
        "magento",
        "X-Magento-Vary",
        "/static/version1/frontend/a/b/de_DE/Magento_Checkout/js/checkout/a.js",
    ),
    (
        "magento",
        "PHPSESSID",
        "/static/version1/frontend/a/b/de_DE/Magento_Customer/js/customer/a.js",
    ),
];

#[test]
fn who_is_logged_in_shares_what_an_application_consists_of() {
    for (preset, cookie, path) in ASSETS {
        let (origin, larder) = with_preset(preset);
        let file = path.split('?').next().expect("a path");
        origin.on(file, |request| {
            Reply::ok()
                .header("Content-Type", "text/javascript")
                .body(format!("{:?}", request.head))
        });
        let user = || {
            let ask = larder.get(path).header("Host", "s0.test");
            ask.header("Cookie", format!("{cookie}={ALICE}")).send()
        };
        let (first, second) = (user(), user());
        assert!(
            !first.hit() && second.hit(),
            "{preset} {cookie}: {}",
            second.said()
        );
        let stranger = larder.get(path).header("Host", "s0.test").send();
        assert!(stranger.hit(), "{preset} {cookie}: {}", stranger.said());
        assert!(
            !stranger.text().contains(ALICE),
            "{preset} {cookie}: fetched with no cookie"
        );
    }
}

/// What is called like a file and is a script's doing is the script's; what is private stays so.
#[test]
fn what_is_only_called_like_an_asset_is_none() {
    for (preset, cookie, path) in [
        (
            "wordpress",
            "wordpress_logged_in_1",
            "/wp-content/plugins/a/own.php/a.css",
        ),
        (
            "wordpress",
            "wordpress_logged_in_1",
            "/wp-admin/js/own.php/a.css",
        ),
        ("drupal", "SESS0123", "/modules/a/own.php/a.css"),
        ("drupal", "SESS0123", "/system/files/themes/a.png"),
        (
            "drupal",
            "SESS0123",
            "/sites/default/files/private/modules/a.png",
        ),
        (
            "wordpress",
            "wordpress_logged_in_1",
            "/wp-content/uploads/members/a.png",
        ),
        (
            "magento",
            "X-Magento-Vary",
            "/de/static/frontend/own.php/a.css",
        ),
        (
            "magento",
            "X-Magento-Vary",
            "/static/frontend/own.php/a.css",
        ),
        ("django", "sessionid", "/static/own.json"),
        ("django", "sessionid", "/admin/static/a.css"),
        ("django", "sessionid", "/accounts/static/a.css"),
        ("django", "sessionid", "/static/../admin/a.css"),
        ("django", "sessionid", "/static/..%2Faccounts/a.css"),
    ] {
        let (_origin, larder) = with_preset(preset);
        for _ in 0..2 {
            let ask = larder.get(path).header("Host", "s0.test");
            let own = ask.header("Cookie", format!("{cookie}={ALICE}")).send();
            assert!(
                !own.hit() && own.text().contains(ALICE),
                "{preset}: {}",
                own.said()
            );
        }
        let stranger = larder.get(path).header("Host", "s0.test").send();
        assert!(
            !stranger.text().contains(ALICE),
            "{preset}: {}",
            stranger.said()
        );
    }
}

/// What a site says tells its users apart does so there too.
#[test]
fn what_a_site_adds_passes_assets_by_as_well() {
    const PATH: &str = "/wp-content/themes/a/style.css";
    for (adds, name, value) in [
        (
            "bypass.cookies = \"tenant\"",
            "Cookie",
            format!("tenant={ALICE}"),
        ),
        (
            "bypass.misses_with = [\"tenant\"]",
            "Cookie",
            format!("tenant={ALICE}"),
        ),
        (
            "bypass.headers = [\"X-Tenant\"]",
            "X-Tenant",
            ALICE.to_owned(),
        ),
        ("bypass.query = \"v\"", "Authorization", ALICE.to_owned()),
        (
            "key.drop_cookies = false",
            "Cookie",
            format!("wordpress_logged_in_1={ALICE}"),
        ),
        (
            "key = { drop_cookies = false, sort = true }",
            "Cookie",
            format!("tenant={ALICE}"),
        ),
        ("bypass = {}", "X-Remote-User", ALICE.to_owned()),
    ] {
        let everywhere = with_defaults(&format!("preset = \"wordpress\"\n{adds}"));
        let on_a_route = start_with(&format!(
            "[[origin]]\nservers = \"{{origin}}\"\n[[route]]\npreset = \"wordpress\"\n{adds}\n"
        ));
        let under_defaults = start_with(&format!(
            "[[origin]]\nservers = \"{{origin}}\"\n[defaults]\n{adds}\n[[route]]\npreset = \"wordpress\"\n"
        ));
        for (origin, larder) in [everywhere, on_a_route, under_defaults] {
            origin.otherwise(talkative);
            for host in ["s0.test", "s2.test", "s3.test", "first.s3.test"] {
                let ask = || larder.get(PATH).header("Host", host);
                ask().header(name, &value).send();
                let stranger = ask().send();
                assert!(
                    !stranger.text().contains(ALICE),
                    "{adds} at {host}: {}",
                    stranger.said()
                );
            }
        }
    }
}
