//! The result of presets, and how they combine with what is written beside them.

use super::{Preset, plain};
use crate::config::{Faults, Flags, meant::Config, parse};
use proxy::policy::Route;

const ORIGIN: &str = "[[origin]]\nservers = \"http://127.0.0.1:5001\"\n";
const NAMES: [&str; 5] = ["wordpress", "woocommerce", "magento", "drupal", "django"];

fn read(text: &str) -> Result<Config, Faults> {
    parse(
        &format!("{text}\n{ORIGIN}"),
        "larder.toml",
        &Flags::default(),
    )
}

fn good(text: &str) -> Config {
    read(text).unwrap_or_else(|faults| panic!("{faults}"))
}

/// The meaning of the routes, for comparison. Without the origin, which differs in each configuration.
fn meaning(config: &Config) -> String {
    let lines = config.site.routes.iter().map(|route| {
        let policy = &route.policy;
        format!(
            "{} {:?} {} {:?} {:?} {:?} {:?} {:?} {} {} {:?} {:?} {:?} {:?} {:?}\n",
            route.name,
            route.matcher,
            policy.cache,
            policy.lifetime,
            policy.stale,
            policy.key,
            policy.bypass,
            policy.set_cookie,
            policy.client_may_force,
            policy.largest_body,
            policy.to_client.browser_ttl,
            policy.to_origin.edits,
            policy.to_client.edits,
            policy.to_origin.pass_fields,
            policy.origin.name(),
        )
    });
    lines.collect()
}

fn names(config: &Config) -> Vec<&str> {
    config
        .site
        .routes
        .iter()
        .map(|route| route.name.as_str())
        .collect()
}

fn route<'a>(config: &'a Config, name: &str) -> &'a Route {
    let mut routes = config.site.routes.iter();
    routes
        .find(|route| route.name == name)
        .expect("a route of this name")
}

fn cookies(route: &Route) -> String {
    format!("{:?}", route.policy.bypass.cookies)
}

#[test]
fn each_preset_is_a_configuration_and_means_the_same_in_plain_words() {
    for name in NAMES {
        assert!(Preset::named(name).is_some());
        for written in [
            format!("[defaults]\npreset = \"{name}\"\n"),
            format!(
                "[defaults]\npreset = \"{name}\"\nttl = \"3s\"\nbypass.cookies = \"own\"\nkey.sort = true\n\
                 [[route]]\npath = \"/own/*\"\nstale.if_error = \"1s\"\nbypass.paths = [\"/x\"]\n\
                 [[route]]\nname = \"rest\"\nttl = \"4s\"\n"
            ),
            format!("[[route]]\nhost = \"a.example\"\npreset = \"{name}\"\n"),
            format!(
                "[defaults]\nbrowser_ttl = \"0s\"\nbypass.cookies = [\"own\"]\n\
                 [[route]]\nname = \"blog\"\npath = [\"/blog/*\", \"/b.log/*\"]\npreset = \"{name}\"\nttl = \"1s\"\n\
                 [[route]]\nname = \"rest\"\nttl = \"4s\"\n"
            ),
        ] {
            let with = good(&written);
            let plain = plain(&written).expect("a preset");
            assert!(!plain.contains("preset ="), "{plain}");
            let without = good(&plain);
            assert_eq!(meaning(&with), meaning(&without), "{name}:\n{plain}");
        }
    }
    assert_eq!(plain("[defaults]\nttl = \"1s\"\n"), None);
}

#[test]
fn what_is_written_goes_over_the_preset_and_bypass_is_added_to() {
    let config = good(
        "[defaults]\npreset = \"wordpress\"\nttl = \"3s\"\nkey.sort = true\nbypass.cookies = \"own\"\n\
         [[route]]\nname = \"news\"\npath = \"/news/*\"\nbypass = { cookies = [\"other\"] }\norigin_host = \"app.test\"\nkey = { host = false }\n",
    );
    assert_eq!(
        names(&config),
        [
            "news",
            "own-assets",
            "assets",
            "uploads",
            "static",
            "default"
        ]
    );
    let pages = &route(&config, "default");
    assert_eq!(pages.policy.lifetime.by_status.len(), 3, "200, 301 and 302");
    assert!(
        pages.policy.key.sort && pages.policy.key.drop_cookies,
        "both"
    );
    for cookie in ["\"own\"", "wordpress_logged_in_", "wp-postpass_"] {
        assert!(cookies(pages).contains(cookie), "{cookie}");
        assert!(
            cookies(route(&config, "static")).contains(cookie),
            "{cookie}"
        );
    }
    let assets = route(&config, "assets");
    assert!(cookies(assets).contains("\"own\"") && !cookies(assets).contains("wordpress"));
    assert!(!assets.policy.bypass.headers.is_empty() && assets.policy.key.sort);
    let news = route(&config, "news");
    assert!(cookies(news).contains("wp-postpass_") && cookies(news).contains("\"other\""));
    assert!(
        !cookies(news).contains("\"own\""),
        "a route's table takes the place of the defaults'"
    );
    assert!(!news.policy.key.host && news.policy.key.drop_cookies && !news.policy.key.sort);
}

#[test]
fn its_routes_stand_before_one_that_matches_everything() {
    let config = good(
        "[defaults]\npreset = \"magento\"\n[[route]]\npath = \"/a\"\n[[route]]\nttl = \"1s\"\n",
    );
    assert_eq!(
        names(&config),
        ["route-1", "own-static", "static", "media", "route-2"]
    );
}

#[test]
fn a_preset_of_a_route_holds_there_alone() {
    let config = good(
        "[[route]]\nname = \"shop\"\nhost = \"shop.example\"\npreset = \"woocommerce\"\n\
         [[route]]\nname = \"blog\"\npath = \"/blog/*\"\npreset = \"drupal\"\n",
    );
    assert_eq!(
        names(&config),
        [
            "shop-own-assets",
            "shop-assets",
            "shop-uploads",
            "shop-static",
            "shop",
            "blog-own-assets",
            "blog-assets",
            "blog-static",
            "blog",
            "default"
        ]
    );
    assert!(
        route(&config, "shop-assets")
            .policy
            .bypass
            .cookies
            .is_empty(),
        "no cookie of the shop's, and none of the blog's below it"
    );
    assert!(cookies(route(&config, "shop-static")).contains("woocommerce_items_in_cart"));
    assert!(route(&config, "default").policy.bypass.cookies.is_empty());
    let paths = &route(&config, "blog-assets").matcher.paths;
    let covers = |path: &str| paths.iter().any(|pattern| pattern.matches(path));
    assert!(covers("/blog/core/misc/a.css") && covers("/blog/de/core/a.css"));
    assert!(!covers("/core/a.css") && !covers("/BLOG/core/a.css") && !covers("/blogs/core/a.css"));
    let own = &route(&config, "blog-own-assets").matcher.paths;
    let covers = |path: &str| own.iter().any(|pattern| pattern.matches(path));
    assert!(covers("/blog/core/a.css") && !covers("/blog/de/core/a.css") && !covers("/core/a.css"));
}

#[test]
fn presets_that_cannot_be_meant_are_faults() {
    for (text, what) in [
        (
            "[defaults]\npreset = \"joomla\"\n",
            "`joomla` is not known here",
        ),
        ("[defaults]\npreset = 1\n", "expected"),
        (
            "[defaults]\npreset = \"drupal\"\n[[route]]\nhost = \"a.example\"\npreset = \"magento\"\n",
            "already applies to every route",
        ),
        (
            "[[route]]\npath = \"/a\"\npreset = \"drupal\"\n",
            "everything of an application",
        ),
        (
            "[[route]]\npath = \"~ /a/.*\"\npreset = \"drupal\"\n",
            "everything of an application",
        ),
    ] {
        let faults = read(text).expect_err(text).to_string();
        assert!(faults.contains(what), "{text}: {faults}");
    }
}
