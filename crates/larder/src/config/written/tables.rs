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

/// What holds before a well-known application.
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

/// How `ttl` stands to what the origin says.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum TtlMode {
    /// Only where the origin gives no lifetime of its own.
    Default,
    /// As `default`, and in place of the origin's for styles, scripts, images, fonts and media: where the path ends so, in one
    /// reading, and the answer's `Content-Type` is of that kind.
    Static,
    /// In place of whatever the origin says, `no-store` and `private` too.
    Override,
}

/// What happens to a response with `Set-Cookie`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum SetCookie {
    /// It is not stored unless it says `public`, `s-maxage` or a targeted field.
    Refuse,
    /// It is not stored, whatever it says.
    Never,
    /// It is stored, and nobody gets the cookie.
    Strip,
    /// It is stored with the cookie, and everybody gets it. Plain RFC 9111.
    Store,
}

/// How long past its lifetime a response may still be sent. What the origin says goes first.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stale {
    /// At once, while it is refreshed in the background. Not unless the origin says so where nothing is said.
    #[schemars(extend("examples" = ["30s"]))]
    pub while_revalidate: Option<Text<Duration>>,
    /// When the origin answers with one of `statuses`. Not unless the origin says so where nothing is said.
    #[schemars(extend("examples" = ["1h"]))]
    pub if_error: Option<Text<Duration>>,
    /// The statuses with which the origin fails, as nginx's `proxy_cache_use_stale` names them: what is stored is sent instead, for
    /// `if_error` or what the origin says, and where a client forces a fetch (RFC 5861 section 4).
    #[schemars(extend("default" = ["500", "502", "503", "504"]))]
    pub statuses: Option<Many<Text<FailingStatus>>>,
    /// When the origin cannot be reached or gives no answer in time (RFC 9111 section 4.2.4); with `"0s"` not at all.
    #[schemars(extend("default" = "1d"))]
    pub unreachable: Option<Text<Duration>>,
}

/// What makes up the cache key, beside the path.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Key {
    /// Whether `http` and `https` are kept apart. With `false` the application is not told which one was used
    /// (`X-Forwarded-Proto`, and their like); `request_headers` can say one for all.
    #[schemars(extend("default" = true))]
    pub scheme: Option<bool>,
    /// Whether hosts are kept apart. With `false` the application is told of no host but `origin_host`, which must be there.
    #[schemars(extend("default" = true))]
    pub host: Option<At<bool>>,
    /// The parameters that count: `"all"`, `"none"`, or only those of a list.
    #[schemars(extend("default" = "all"))]
    pub query: Option<At<Query>>,
    /// All parameters count but these.
    pub query_except: Option<Many<Text<ParamPattern>>>,
    /// Whether the order of parameters is without meaning.
    #[schemars(extend("default" = false))]
    pub sort: Option<bool>,
    /// Drop parameters that only track (`utm_*`, `gclid`, `fbclid` and their kin); the origin does not see them either.
    #[schemars(extend("default" = false))]
    pub drop_tracking: Option<bool>,
    /// Drop these parameters too.
    pub drop: Option<Many<Text<ParamPattern>>>,
    /// Request headers whose values count.
    #[schemars(extend("default" = []))]
    pub headers: Option<Many<Text<KeyedName>>>,
    /// Cookies whose values count.
    #[schemars(extend("default" = []))]
    pub cookies: Option<Many<Text<CookieName>>>,
    /// Keep all other cookies from the origin where its answer may be stored, so that no page depends on them. They choose no
    /// variant either (`Vary: Cookie`).
    #[schemars(extend("default" = false))]
    pub drop_cookies: Option<bool>,
}

/// When the store is neither asked nor filled. One that holds is enough.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bypass {
    /// The request carries one of these cookies, written as in a route's `cookie`: a value is the whole value.
    pub cookies: Option<Many<Text<CookiePattern>>>,
    /// The request carries one of these headers, written as in a route's `header`: a value is the whole value.
    pub headers: Option<Many<Text<FieldPattern>>>,
    /// The path is one of these.
    pub paths: Option<Many<Text<PathPattern>>>,
    /// The query has one of these parameters, written as in a route's `query`: a value is the whole value.
    pub query: Option<Many<Text<QueryPattern>>>,
    /// The method is one of these; `GET` takes in `HEAD`.
    pub methods: Option<Many<Text<Method>>>,
    /// The request carries one of these cookies, and nothing is stored that answers it: it may get what others had stored, and
    /// stores nothing itself.
    pub misses_with: Option<Many<Text<CookiePattern>>>,
    /// The response sets one of these cookies, and is not stored, whatever `set_cookie` says: it was made for who gets the cookie.
    pub sets: Option<Many<Text<CookiePattern>>>,
}

/// A GraphQL service. Mutations, subscriptions, batches and what cannot be read bypass the store.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GraphQl {
    /// Whether answers that tell of errors are stored.
    #[schemars(extend("default" = false))]
    pub store_errors: Option<bool>,
    /// Whether every answer of the URL ends with a mutation's success (RFC 9111 section 4.4), or with a `POST` that was not
    /// understood. With `false` they end with their lifetimes and tags.
    #[schemars(extend("default" = true))]
    pub invalidate: Option<bool>,
    /// What holds for some operations.
    pub operation: Option<Vec<At<Operation>>>,
}

/// What holds for one GraphQL operation.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["name"]))]
pub struct Operation {
    /// Its name in the document.
    #[schemars(extend("examples" = ["Products"]))]
    pub name: Option<Text<Token>>,
    /// Whether its answers are stored.
    #[schemars(extend("default" = true))]
    pub cache: Option<bool>,
    /// Lifetime of its answers of status 200, in place of the route's.
    pub ttl: Option<Text<Duration>>,
    /// Tags of its answers, beside those they carry.
    #[schemars(extend("examples" = [["products"]]))]
    pub tags: Option<Many<Text<HeaderValue>>>,
}

/// Changes of header fields; first `remove`, then `set`, then `add`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Edits {
    /// Put in place of whatever is there.
    pub set: Option<Many<Text<FieldLine>>>,
    /// Put beside what is there.
    pub add: Option<Many<Text<FieldLine>>>,
    /// Taken out.
    pub remove: Option<Many<Text<EditableName>>>,
}
