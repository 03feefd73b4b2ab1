//! Presets: each before an application that tells everybody whatever it knows of whoever asks. Two users walk every
//! page that is dangerous there, and neither ever sees a byte of the other's, whatever the application says of caching.

use crate::{
    common::Said,
    presets_walk::{Row, walk, with_defaults, with_preset},
};

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

pub(crate) const WOOCOMMERCE: &str = "
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
