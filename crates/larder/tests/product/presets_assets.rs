//! Presets: what an application consists of is the same for everybody, whoever they are logged in as.

use crate::{
    common::Said,
    presets_walk::{ALICE, with_preset},
};
use testkit::Reply;

/// A preset, the cookie of one who is logged in, and a file that all pages have.
const ASSETS: [(&str, &str, &str); 7] = [
    (
        "wordpress",
        "wordpress_logged_in_1",
        "/wp-includes/js/jquery.js?ver=3.7",
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
    ("django", "sessionid", "/static/admin/css/base.css"),
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
        ("drupal", "SESS0123", "/modules/a/own.php/a.css"),
        ("drupal", "SESS0123", "/system/files/themes/a.png"),
        (
            "drupal",
            "SESS0123",
            "/sites/default/files/private/modules/a.png",
        ),
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
