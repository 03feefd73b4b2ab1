//! The tables of a route, as written.

use crate::config::value::{
    At, CookieName, CookiePattern, EditableName, FailingStatus, FieldLine, KeyedName, Many, Query,
    QueryPattern, Text, Token,
};
use http::{HeaderValue, Method};
use proxy::policy::{FieldPattern, PathPattern};
use rules::key::ParamPattern;
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

/// The applications for which there are settings.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Preset {
    /// WordPress.
    Wordpress,
    /// WordPress with WooCommerce.
    Woocommerce,
    /// Magento 2 and Adobe Commerce.
    Magento,
    /// Drupal.
    Drupal,
    /// Django.
    Django,
}

/// When `ttl` applies instead of what the origin says.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum TtlMode {
    /// Only if the origin gives no lifetime.
    Default,
    /// As `default`, and also instead of the origin's lifetime, including `no-store` and `private`, for styles, scripts
    /// (and WebAssembly), images, fonts and media, but not for documents (PDF, ZIP): if the path has such an ending, can
    /// be read in one way only and does not go on behind a script (`/qr.php/x.png`), and the `Content-Type` of the
    /// answer is of that kind.
    Static,
    /// Instead of whatever the origin says, including `no-store` and `private`. Not for event streams.
    Override,
}

/// What happens to a response with `Set-Cookie`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum SetCookie {
    /// Not stored unless the response has `public`, `s-maxage` or a targeted field.
    Refuse,
    /// Never stored.
    Never,
    /// Stored without the cookie; no client gets it.
    Strip,
    /// Stored with the cookie; every client gets it. Plain RFC 9111.
    Store,
}

/// How long past its lifetime a response may still be sent. What the origin says takes precedence.
/// If `ttl_mode = "override"` gives the lifetime, `while_revalidate` and `if_error` do, where they are set.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stale {
    /// Sent at once, while it is refreshed in the background. If not set, only if the origin allows it.
    #[schemars(extend("examples" = ["30s"]))]
    pub while_revalidate: Option<Text<Duration>>,
    /// Sent when the origin answers with one of `statuses`. If not set, only if the origin allows it.
    #[schemars(extend("examples" = ["1h"]))]
    pub if_error: Option<Text<Duration>>,
    /// Statuses that count as a failure of the origin, as in nginx's `proxy_cache_use_stale`. The stored response is
    /// sent instead, for `if_error` or the time that the origin allows, also if a client forces a fetch (RFC 5861
    /// section 4).
    #[schemars(extend("default" = ["500", "502", "503", "504"]))]
    pub statuses: Option<Many<Text<FailingStatus>>>,
    /// Sent when the origin cannot be reached or does not answer in time (RFC 9111 section 4.2.4), unless the
    /// origin named a limit with `stale-if-error`. With `"0s"`, only for `if_error`.
    #[schemars(extend("default" = "1d"))]
    pub unreachable: Option<Text<Duration>>,
}

/// What the cache key consists of, in addition to the path.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Key {
    /// Whether `http` and `https` are stored separately. With `false`, the application is not told which one the client
    /// used (`X-Forwarded-Proto` and similar); `request_headers` can set one for all.
    #[schemars(extend("default" = true))]
    pub scheme: Option<bool>,
    /// Whether hosts are stored separately. With `false`, the only host that the application is told is `origin_host`,
    /// which must be set.
    #[schemars(extend("default" = true))]
    pub host: Option<At<bool>>,
    /// The parameters that are part of the key: `"all"`, `"none"`, or a list of them.
    #[schemars(extend("default" = "all"))]
    pub query: Option<At<Query>>,
    /// All parameters except these are part of the key.
    pub query_except: Option<Many<Text<ParamPattern>>>,
    /// Whether the order of the parameters is ignored.
    #[schemars(extend("default" = false))]
    pub sort: Option<bool>,
    /// Drop parameters that only track (`utm_*`, `gclid`, `fbclid` and similar). The origin does not see them either.
    #[schemars(extend("default" = false))]
    pub drop_tracking: Option<bool>,
    /// Drop these parameters as well.
    pub drop: Option<Many<Text<ParamPattern>>>,
    /// Request headers whose values are part of the key.
    #[schemars(extend("default" = []))]
    pub headers: Option<Many<Text<KeyedName>>>,
    /// Cookies whose values are part of the key.
    #[schemars(extend("default" = []))]
    pub cookies: Option<Many<Text<CookieName>>>,
    /// Withhold all other cookies from the origin if its answer may be stored, so that no page depends on them. They do
    /// not select a variant either (`Vary: Cookie`).
    #[schemars(extend("default" = false))]
    pub drop_cookies: Option<bool>,
}

/// When the store is neither read nor filled. One condition is enough.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bypass {
    /// The request has one of these cookies, written as in a route's `cookie`: a value is the whole value.
    pub cookies: Option<Many<Text<CookiePattern>>>,
    /// The request has one of these headers, written as in a route's `header`: a value is the whole value.
    pub headers: Option<Many<Text<FieldPattern>>>,
    /// The path is one of these.
    pub paths: Option<Many<Text<PathPattern>>>,
    /// The query has one of these parameters, written as in a route's `query`: a value is the whole value.
    pub query: Option<Many<Text<QueryPattern>>>,
    /// The method is one of these; `GET` includes `HEAD`.
    pub methods: Option<Many<Text<Method>>>,
    /// The request has one of these cookies, and no stored response answers it. Such a request may get what others had
    /// stored, and stores nothing itself.
    pub misses_with: Option<Many<Text<CookiePattern>>>,
    /// The response sets one of these cookies. It is not stored, whatever `set_cookie` says, because it was made for
    /// the client that gets the cookie.
    pub sets: Option<Many<Text<CookiePattern>>>,
}

/// A GraphQL service. Mutations, subscriptions, batches and requests that cannot be read bypass the store.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GraphQl {
    /// Whether answers that report errors are stored.
    #[schemars(extend("default" = false))]
    pub store_errors: Option<bool>,
    /// Whether a successful mutation invalidates every answer of the URL (RFC 9111 section 4.4), as does a `POST` that
    /// was not understood. With `false`, answers end with their lifetimes and tags.
    #[schemars(extend("default" = true))]
    pub invalidate: Option<bool>,
    /// Settings for single operations.
    pub operation: Option<Vec<At<Operation>>>,
}

/// Settings for one GraphQL operation.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["name"]))]
pub struct Operation {
    /// The operation's name in the document.
    #[schemars(extend("examples" = ["Products"]))]
    pub name: Option<Text<Token>>,
    /// Whether answers to the operation are stored.
    #[schemars(extend("default" = true))]
    pub cache: Option<bool>,
    /// Lifetime of its answers with status 200, instead of the route's.
    pub ttl: Option<Text<Duration>>,
    /// Tags of its answers, in addition to those that the answers carry.
    #[schemars(extend("examples" = [["products"]]))]
    pub tags: Option<Many<Text<HeaderValue>>>,
}

/// Changes to header fields: first `remove`, then `set`, then `add`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Edits {
    /// Fields that replace those of the same name.
    pub set: Option<Many<Text<FieldLine>>>,
    /// Fields added to those that are there.
    pub add: Option<Many<Text<FieldLine>>>,
    /// Fields that are removed.
    pub remove: Option<Many<Text<EditableName>>>,
}
