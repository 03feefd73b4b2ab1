//! Presets: each before an application that tells everybody whatever it knows of whoever asks. Two users walk every page that
//! is dangerous there, and neither ever sees a byte of the other's, whatever the application says of caching.

use crate::common::{Said, command, start_with};
use std::{
    fmt::Write,
    sync::atomic::{AtomicUsize, Ordering},
};
use testkit::{Client, Larder, Origin, Reply, Request, Response};

const ALICE: &str = "alice5f8c1e";
const BOB: &str = "bobd47a93";

/// What the application says of its answers: nothing, and what a plugin, a view or a server before it says wrongly.
const SAYS: [&str; 4] = [
    "",
    "max-age=600",
    "public, max-age=600",
    "public, max-age=86400, s-maxage=86400",
];

/// A larder with this preset before an application that talks.
fn with_preset(preset: &str) -> (Origin, Larder) {
    with_defaults(&format!("preset = \"{preset}\""))
}

fn with_defaults(defaults: &str) -> (Origin, Larder) {
    let (origin, larder) = start_with(&format!(
        "[[origin]]\nservers = \"{{origin}}\"\n[defaults]\n{defaults}\n"
    ));
    origin.otherwise(talkative);
    (origin, larder)
}

/// The application: it shows all that came with the request, as a form filled in for its reader does. The host asks for what
/// it says of caching (`s2`), for `Vary: Cookie` (`vary`), and for a session that begins (`first`), shown in the page too.
fn talkative(request: &Request) -> Reply {
    static VISITS: AtomicUsize = AtomicUsize::new(0);
    let host = request.header("host").unwrap_or_default();
    let asked = |label: &str| host.split('.').any(|part| part == label);
    let mut reply = Reply::ok().header("Content-Type", "text/html");
    let said = (0..SAYS.len()).find(|number| asked(&format!("s{number}")));
    if let Some(said) = said
        .map(|number| SAYS[number])
        .filter(|said| !said.is_empty())
    {
        reply = reply.cache(said);
    }
    if asked("vary") {
        reply = reply.header("Vary", "Cookie");
    }
    let mut body = format!("{} {:?}", request.target, request.head);
    if asked("first") {
        let visit = VISITS.fetch_add(1, Ordering::Relaxed);
        reply = reply.header("Set-Cookie", format!("session=visit-{visit}-"));
        let _ = write!(body, " visit-{visit}-");
    }
    reply.body(body)
}

/// One row: how a user is told from another, and on which page.
struct Row<'a> {
    kind: &'a str,
    name: &'a str,
    path: &'a str,
}

impl<'a> Row<'a> {
    fn read(line: &'a str) -> Self {
        let (told, rest) = line.split_once(" | ").expect("a path");
        let (path, _what) = rest.split_once(" | ").expect("what it is");
        let (kind, name) = told.trim().split_once(' ').unwrap_or((told.trim(), ""));
        Self {
            kind,
            name,
            path: path.trim(),
        }
    }

    /// Asks as this user would, or as a stranger.
    fn ask(&self, larder: &Larder, host: &str, who: Option<&str>) -> Response {
        let mut path = self.path.to_owned();
        if let (Some(who), "query") = (who, self.kind) {
            let glue = if path.contains('?') { '&' } else { '?' };
            let _ = write!(path, "{glue}{}={who}", self.name);
        }
        let ask = larder.get(&path).header("Host", host);
        let ask = match (who, self.kind) {
            (Some(who), "cookie" | "aside") => ask.header(
                "Cookie",
                format!("_ga=GA1.2.{}; {}={who}", who.len(), self.name),
            ),
            (Some(who), "header") => ask.header(self.name, who),
            _ => ask,
        };
        ask.send()
    }

    /// What is wrong with an answer to `who`, if anything: a byte of somebody else's, or not one's own.
    fn wrong(&self, who: Option<&str>, answer: &Response) -> Option<&'static str> {
        let all = format!("{:?} {}", answer.head, answer.text());
        let others = [ALICE, BOB].into_iter().filter(|name| Some(*name) != who);
        if others.into_iter().any(|name| all.contains(name)) {
            return Some("sees another's page");
        }
        let shows_own = matches!(self.kind, "cookie" | "header" | "query");
        (shows_own && who.is_some_and(|who| !all.contains(who)))
            .then_some("does not see their own page")
    }

    /// Walks the page with two users and strangers, in both orders.
    fn walk(&self, larder: &Larder, host: &str) -> Vec<String> {
        let orders = [
            [Some(ALICE), Some(BOB), None, Some(ALICE), Some(BOB), None],
            [None, Some(BOB), Some(ALICE), None, Some(BOB), Some(ALICE)],
        ];
        let mut wrong = Vec::new();
        for (number, order) in orders.into_iter().enumerate() {
            let host = format!("o{number}.{host}");
            let mut visits = Vec::new();
            for who in order {
                let answer = self.ask(larder, &host, who);
                assert_eq!(answer.status, 200, "{} {}", self.path, answer.text());
                if let Some(what) = self.wrong(who, &answer) {
                    wrong.push(format!(
                        "{} {} {}: {who:?} {what}",
                        self.kind, self.name, self.path
                    ));
                }
                if self.kind == "first" {
                    visits.push(
                        answer
                            .text()
                            .rsplit(' ')
                            .next()
                            .unwrap_or_default()
                            .to_owned(),
                    );
                }
            }
            let all = visits.len();
            visits.sort();
            visits.dedup();
            if visits.len() < all {
                wrong.push(format!("first {}: a session is given to two", self.path));
            }
        }
        wrong
    }
}

/// Walks every page of a table, whatever the application says of caching, and tells what went wrong.
fn walk(larder: &Larder, table: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (number, line) in table
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .enumerate()
    {
        let row = Row::read(line);
        for (said, words) in SAYS.iter().enumerate() {
            let first = if row.kind == "first" { "first." } else { "" };
            for vary in ["", "vary."] {
                let host = format!("{first}{vary}s{said}.r{number}.test");
                for what in row.walk(larder, &host) {
                    wrong.push(format!("{what} ({words:?} {vary})"));
                }
            }
        }
    }
    wrong
}

fn nobody_sees_another(preset: &str, table: &str) {
    let (_origin, larder) = with_preset(preset);
    let wrong = walk(&larder, table);
    assert!(
        wrong.is_empty(),
        "{preset}: {} are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    // The walk finds what it looks for: with a lifetime and no preset, every page leaks.
    let (_origin, larder) = with_defaults("ttl = \"10m\"\nset_cookie = \"store\"");
    let found = walk(&larder, table).join("\n");
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let row = Row::read(line);
        let by_rfc = row.kind == "query" || (row.kind == "header" && row.name == "Authorization");
        assert!(
            by_rfc || found.contains(row.path),
            "the walk overlooks: {line}"
        );
    }
}

/// Strangers with other analytics cookies, from other campaigns, share a page.
fn strangers_share(preset: &str, host: &str, paths: &[&str]) {
    let (origin, larder) = with_preset(preset);
    for path in paths {
        let glue = if path.contains('?') { '&' } else { '?' };
        let ask = |number: usize, more: &str| {
            larder
                .get(&format!(
                    "{path}{glue}utm_source=mail{number}&gclid=x{number}&fbclid=y{number}"
                ))
                .header("Host", host)
                .header(
                    "Cookie",
                    format!(
                        "_ga=GA1.2.{number}; _fbp=fb.1.{number}; cookie_notice_accepted=true{more}"
                    ),
                )
                .send()
        };
        let (first, second) = (ask(1, ""), ask(2, "; _gid=GA1.3; __cf_bm=abc"));
        assert!(
            !first.hit() && second.hit(),
            "{preset} {path}: {}",
            second.said()
        );
        assert_eq!(first.text(), second.text(), "{preset} {path}");
        for trace in ["_ga", "GA1.2", "utm_source", "gclid"] {
            assert!(
                !second.text().contains(trace),
                "{preset} {path}: {trace} reached the application"
            );
        }
        assert_eq!(
            origin.requests(path.split('?').next().expect("a path")),
            1,
            "{preset} {path}"
        );
    }
}

#[test]
fn wordpress() {
    nobody_sees_another("wordpress", WORDPRESS);
    strangers_share(
        "wordpress",
        "s0.test",
        &[
            "/",
            "/hello-world/",
            "/page/2/?orderby=date",
            "/feed/",
            "/wp-sitemap.xml",
        ],
    );
}

const WORDPRESS: &str = "
    cookie wordpress_logged_in_5c016e8f0f95f039102cbe8366c5c7f3 | /hello/ | a page with the toolbar of one who is logged in
    cookie wordpress_sec_5c016e8f | /hello/ | the same over TLS
    cookie wp-postpass_5c016e8f | /secret/ | a protected post
    cookie bid_1_password_protected_auth | /hello/ | a protected site
    cookie wp-resetpass-5c016e8f | /hello/ | on the way to a new password
    query show-reset-form | /hello/ | the same
    cookie pll_language | /hello/ | a language that was chosen
    cookie wp-wpml_current_language | /hello/ | the same
    cookie _icl_current_language | /hello/ | the same, long ago
    cookie comment_author_5c016e8f | /hello/ | a comment form that is filled in
    cookie comment_author_email_5c016e8f | /hello/ | the same
    cookie PHPSESSID | /hello/ | a plugin that keeps a session
    query preview_nonce | /hello/?preview=true | a preview
    query preview_id | /hello/ | a preview
    query moderation-hash | /hello/?unapproved=7 | one's own comment, before it is approved
    query _wpnonce | /hello/ | a link with a nonce
    header Authorization | /wp-json/wp/v2/users/me | an application password
    header X-WP-Nonce | /wp-json/wp/v2/users/me | the REST interface
    header X-Api-Token | /wp-json/plugin/v1/profile | a plugin's own token
    header X-Auth-Token | /feed/mine/ | a plugin's own token
    header X-Access-Token | /feed/mine/ | the same
    header X-Api-Key | /feed/mine/ | the same
    header Api-Key | /feed/mine/ | the same
    header X-Token | /feed/mine/ | the same
    header Remote-User | /hello/ | a user whom a server in front knows
    aside some_plugin_visitor | /hello/ | a cookie that nobody has heard of
    aside wordpress_test_cookie | /hello/ | a cookie of everybody who saw the login form
    first | /hello/ | a plugin that begins a session on a page
    first | /wp-login.php | the login form
    first | /blog/wp-admin/ | a WordPress in a folder
    first | /wp-admin/admin-ajax.php?action=cart | what scripts ask for
    first | /wp-cron.php | background work
    first | /xmlrpc.php | the old interface
    first | /wp-content/plugins/a/form.php | a plugin's own script
    first | /?rest_route=/wp/v2/users/me | the REST interface by query
    first | /?s=shoes | a search
";

#[test]
fn woocommerce() {
    nobody_sees_another("woocommerce", WORDPRESS);
    nobody_sees_another("woocommerce", WOOCOMMERCE);
    strangers_share(
        "woocommerce",
        "s0.test",
        &[
            "/",
            "/shop/",
            "/product/shoes/?attribute_pa_size=9",
            "/product-category/shoes/",
        ],
    );
}

const WOOCOMMERCE: &str = "
    cookie woocommerce_items_in_cart | /shop/ | a page with a cart in its corner
    cookie woocommerce_cart_hash | /shop/ | the same
    cookie wp_woocommerce_session_5c016e8f | /product/shoes/ | a shopper's session
    cookie wcml_client_currency | /shop/ | a currency that was chosen
    cookie aelia_cs_selected_currency | /shop/ | the same
    cookie aelia_customer_country | /shop/ | a country's taxes
    cookie yay_currency_widget | /shop/ | a currency that was chosen
    header Cart-Token | /wp-json/wc/store/v1/cart | the cart of the Store API
    header Nonce | /wp-json/wc/store/v1/checkout | the checkout of the Store API
    query key | /checkout/order-received/17/ | a receipt, opened by its key
    query download_file | /?order=wc_order_x | a download that was paid for
    aside woocommerce_recently_viewed | /shop/ | what was looked at last
    first | /cart/ | the cart
    first | /checkout/ | the checkout
    first | /checkout/order-pay/17/ | a payment
    first | /my-account/ | the account
    first | /my-account/orders/ | one's orders
    first | /my-account/view-order/17/style.css | an order, called a style sheet
    first | /de/warenkorb/ | a translated cart
    first | /koszyk/ | a translated cart
    first | /zamowienie/ | a translated checkout
    first | /carrinho/ | a translated cart
    first | /minha-conta/pedidos/ | a translated account
    first | /varukorg/ | a translated cart
    first | /mitt-konto/ | a translated account
    first | /Cart/ | slugs have no case
    first | /index.php/cart/ | the cart by another way
    first | /%63art/ | the cart, spelled otherwise
    first | /shop/?add-to-cart=12 | adding to the cart
    first | /shop/?add%2Dto%2Dcart=12 | the same, spelled otherwise
    first | /?wc-ajax=get_refreshed_fragments | cart fragments
    first | /?wc-api=stripe | a payment's way back
    first | /wp-content/uploads/woocommerce_uploads/a.pdf | a file that was sold
";

#[test]
fn magento() {
    nobody_sees_another("magento", MAGENTO);
    strangers_share(
        "magento",
        "s3.test",
        &[
            "/",
            "/shoes.html?color=49&product_list_order=price",
            "/women/tops.html",
        ],
    );
}

const MAGENTO: &str = "
    cookie X-Magento-Vary | /shoes.html | a customer group's prices
    aside PHPSESSID | /shoes.html | a session's form key
    aside form_key | /shoes.html | a form key
    aside private_content_version | /shoes.html | a cookie of everybody
    aside mage-cache-sessid | /shoes.html | a cookie of everybody
    header Authorization | /rest/V1/customers/me | a customer's token
    header X-Auth-Token | /shoes.html | an extension's token
    header X-Some-Token | /graphql?query={customer{email}} | GraphQL
    query form_key | /catalog/product_compare/add/ | a link with a form key
    first | /customer/section/load/?sections=cart | what is personal, fetched by script
    first | /customer/account/ | the account
    first | /customer/account/login/ | the login form
    first | /checkout/ | the checkout
    first | /checkout/cart/ | the cart
    first | /de/checkout/cart/ | the cart in another view of the store
    first | /index.php/checkout/cart/ | the cart by another way
    first | /wishlist/ | the wish list
    first | /sales/order/view/order_id/17/ | an order
    first | /sales/guest/view/ | a guest's order
    first | /paypal/express/return/ | a payment's way back
    first | /newsletter/manage/ | one's newsletters
    first | /review/customer/ | one's reviews
    first | /admin_1x2y3z/dashboard/ | the administration
";

#[test]
fn drupal() {
    nobody_sees_another("drupal", DRUPAL);
    strangers_share(
        "drupal",
        "vary.s2.test",
        &["/", "/node/1", "/blog?page=2", "/rss.xml"],
    );
}

const DRUPAL: &str = "
    cookie SESS49960de5880e8c687434170f6476605b | /node/1 | one who is logged in
    cookie SSESS49960de5880e8c687434170f6476605b | /node/1 | the same over TLS
    cookie NO_CACHE | /node/1 | one who has just sent a form
    cookie Drupal.visitor.name | /node/1 | a comment form that is filled in
    header Authorization | /jsonapi/node/article | a token
    header X-Auth-Token | /jsonapi/node/article | a token
    header X-Access-Token | /jsonapi/node/article | a token
    header Api-Key | /jsonapi/node/article | a key (key_auth)
    header X-Api-Key | /jsonapi/node/article | a key
    header X-Remote-User | /node/1 | a user whom a server in front knows
    query token | /node/1/unpublished | a link with a token
    aside cookie-agreed | /node/1 | a cookie of everybody
    aside some_module_visitor | /node/1 | a cookie that nobody has heard of
    first | /node/1 | a module that begins a session on a page
    first | /user/login | the login form
    first | /user/7/edit | the account
    first | /user/reset/7/1700000000/hash | a link to log in once
    first | /session/token | the token of forms
    first | /system/files/letter.pdf | a private file
    first | /node/add/article | writing
    first | /node/7/edit | editing
    first | /node/7/preview | a preview
    first | /node/preview/uuid/full | a preview
    first | /admin/content | the administration
    first | /de/user/login | the login form in another language
    first | /cart | the cart
    first | /checkout/17/order_information | the checkout
    first | /comment/reply/node/1/comment | a comment form
    first | /batch?id=7 | a batch at work
    first | /core/update.php | the update
";

#[test]
fn django() {
    nobody_sees_another("django", DJANGO);
    strangers_share(
        "django",
        "vary.s0.test",
        &["/", "/articles/7/", "/articles/?page=2", "/feed.xml"],
    );
}

const DJANGO: &str = "
    cookie sessionid | /articles/ | one who is logged in
    cookie messages | /articles/ | a message that waits
    aside csrftoken | /articles/ | the token in a form
    cookie django_language | /articles/ | a language that was chosen
    aside some_app_visitor | /articles/ | a cookie that nobody has heard of
    header Authorization | /api/me/ | a token
    header X-Api-Key | /api/me/ | a key
    header X-Auth-Token | /api/me/ | a token
    header X-Access-Token | /api/me/ | a token
    header Api-Key | /api/me/ | a key
    header X-Token | /api/me/ | a token
    header Remote-User | /articles/ | a user whom a server in front knows
    header X-Remote-User | /articles/ | the same
    header X-Forwarded-User | /articles/ | the same
    header X-SSL-Client-DN | /articles/ | a user by certificate
    header X-SSL-Client-Cert | /articles/ | the same
    header X-Client-Cert | /articles/ | the same
    query token | /articles/draft/ | a link with a token
    query next | /articles/ | a way back
    first | /contact/ | a page with a form: its token, and the cookie with it
    first | /accounts/login/ | the login form
    first | /accounts/profile/ | the account
    first | /admin/ | the administration
    first | /en/admin/login/ | the same below a language
    first | /accounts/reset/Nw/set-password/ | a new password
    first | /cart/ | a cart
    first | /checkout/ | a checkout
";

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

/// The plain configuration protects as the preset does, and each kind of rule in it is needed: without one, the walk finds what
/// leaks.
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
