//! The settings of a route, as written: the same keys in `[defaults]` and in each `[[route]]`.

use super::tables::{Bypass, Edits, GraphQl, Key, Preset, SetCookie, Stale, TtlMode};
use crate::config::value::{
    At, Compress, CookiePattern, HostValue, Many, PassedName, PathStart, QueryPattern, Refusal,
    Size, Text, Ttl,
};
use http::Method;
use ipnet::IpNet;
use proxy::policy::{FieldPattern, HostPattern, PathPattern};
use rules::coding::TypePattern;
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

/// Defines a table with its own keys, followed by those of a policy. A macro, because `serde(flatten)` would lose the
/// places.
macro_rules! with_policy {
    ($(#[$about:meta])* $table:ident { $($(#[$own_about:meta])* $own:ident: $own_type:ty,)* }) => {
        with_policy! { @keys $(#[$about])* $table { $($(#[$own_about])* $own: $own_type,)* }
            /// Settings for a well-known application: which requests bypass the store, what is dropped, how long
            /// answers last. Keys that you set beside it take precedence one by one; lists in `bypass` are added to its
            /// own. Its routes come after your routes. `larder check --explain` prints the preset as plain
            /// configuration.
            preset: At<Preset>,
            /// The origin that answers. May be left out if there is only one.
            #[schemars(with = "Option<String>", extend("examples" = ["shop"]))]
            origin: At<String>,
            /// Several origins instead of one, asked in turn. The first that has the answer gives it. Put folders and
            /// page stores first; the last origin answers whatever the others do not have.
            #[schemars(with = "Option<Vec<String>>", extend("examples" = [["static", "app"]]))]
            r#try: At<Vec<At<String>>>,
            /// Whether answers are stored. With `false`, every request is passed on.
            #[schemars(extend("default" = true))]
            cache: bool,
            /// Lifetimes by status: `{ "200" = "10m", "404" = "10s", "5xx" = "0s", any = "1m" }`. The more specific
            /// status applies. A single duration covers 200, 301 and 302: `ttl = "1s"` is microcaching in one line. A
            /// part (206) has the lifetime of the whole, unless `"206"` is named. Classes and `any` do not cover
            /// statuses that one client's fields or content cause (400, 401, 403, 406, 408, 411, 412, 413, 415, 417,
            /// 421, 425, 451, 505). 416, 426, 428, 429, 431 and 511 are never stored. Event streams
            /// (`text/event-stream`) are stored only if the application itself gives them a lifetime, whatever
            /// `ttl_mode` says.
            ttl: At<Ttl>,
            /// When `ttl` applies instead of what the origin says.
            #[schemars(extend("default" = "default"))]
            ttl_mode: At<TtlMode>,
            /// Whether a response without any lifetime gets a tenth of the time since its `Last-Modified` (RFC 9111
            /// section 4.2.2).
            #[schemars(extend("default" = true))]
            heuristic: bool,
            /// How long past its lifetime a response may still be sent.
            stale: At<Stale>,
            /// What the cache key consists of.
            key: Key,
            /// When the store is neither read nor filled.
            bypass: At<Bypass>,
            /// What happens to a response with `Set-Cookie`.
            #[schemars(extend("default" = "refuse"))]
            set_cookie: At<SetCookie>,
            /// Whether clients may force a fetch, with `Cache-Control: no-cache`, `max-age` and similar. Clients that
            /// may purge always may; by default these are the clients on this machine.
            #[schemars(extend("default" = true))]
            client_may_force: bool,
            /// What is compressed for clients that accept it: `true`, `false`, or a list of codings, the preferred one
            /// first.
            #[schemars(extend("default" = true))]
            compress: At<Compress>,
            /// Media types that are compressed. If not set: text, scripts, JSON, XML, SVG and uncompressed fonts. Never
            /// `text/event-stream`, nor gRPC (`application/grpc` and what begins with it).
            #[schemars(extend("examples" = [["text/*", "application/json"]]))]
            compress_types: Many<Text<TypePattern>>,
            /// Bodies smaller than this are not compressed.
            #[schemars(extend("default" = "512B"))]
            compress_min_size: Text<Size>,
            /// Whether answers that are made for one user and not stored are compressed too: answers to requests with a
            /// cookie or credentials, and answers that set a cookie. Read [compression](compression.md) before you turn
            /// it on.
            #[schemars(extend("default" = false))]
            compress_personal: bool,
            /// Size of the largest body that is stored. Larger ones are passed on without being stored. With `"0B"`,
            /// only responses without a body are stored.
            #[schemars(extend("default" = "64MiB"))]
            largest_body: Text<Size>,
            /// Lifetime that clients are told, instead of the origin's `Cache-Control`. For an error (status 400 and
            /// above) never more than is left of its own lifetime. Answers that bypass the store or may not be stored
            /// keep the origin's `Cache-Control`. An answer that has no lifetime here, or says `no-cache`, is told as
            /// `private` too, unless it says `public` or `s-maxage`: browsers keep it, and caches further on do not.
            #[schemars(extend("examples" = ["0s"]))]
            browser_ttl: Text<Duration>,
            /// How long a request waits for another request that already fetches the same. Then it makes its own fetch;
            /// with `"0s"`, at once. If the other's response is purged before it arrives, the request waits for the
            /// next one for the same time, up to three in all.
            #[schemars(extend("default" = "5s"))]
            collapse_wait: Text<Duration>,
            /// Changes to the request's header before it goes to the origin.
            request_headers: Edits,
            /// Changes to the response's header before it goes to the client. `ETag` and `Last-Modified` can only be
            /// removed: the application sets them.
            response_headers: Edits,
            /// Request headers that are passed on although an answer could depend on them unnoticed, such as
            /// `X-Forwarded-Host`, and headers whose name has characters other than letters, digits and hyphens, which
            /// applications take for a hyphen, and those of content (`Content-Type`) where there is none. `key.headers`
            /// is safer. Never `X-Forwarded-For` or `Surrogate-Capability`, and `X-Forwarded-Proto` only with
            /// `key.scheme = false`: Larder writes them itself, and `trusted` names the proxies that it believes.
            /// [Which headers are withheld](storing.md#what-a-client-may-not-say).
            #[schemars(extend("default" = [], "examples" = ["X-Forwarded-Host"]))]
            pass_fields: Many<Text<PassedName>>,
            /// `Host` sent to the origin: a host, with a port if needed. If not set, the client's. With `key.host =
            /// false`, the only host that the origin is told.
            #[schemars(extend("examples" = ["app.example"]))]
            origin_host: Text<HostValue>,
            /// Size of the largest content that is read as part of the key: of `QUERY`, and of `POST` to GraphQL.
            /// Requests with larger content bypass the store; with `"0B"`, all of them.
            #[schemars(extend("default" = "64KiB"))]
            largest_content: Text<Size>,
            /// Marks a GraphQL service: its queries by `GET` and `POST` are stored. An empty table is enough.
            graphql: At<GraphQl>,
            /// The status with which every request here is refused: `"403"` or another that begins with 4. Larder then
            /// asks no origin and stores nothing. To let some clients or methods through, put a route with `client` or
            /// `method` before this one; a 405 lists these methods in `Allow`. In `[defaults]` it applies to every
            /// route that does not say `"off"`.
            #[schemars(extend("examples" = ["403"]))]
            refuse: Text<Refusal>,
            /// Redirect requests without TLS to `https`.
            #[schemars(extend("default" = false))]
            redirect_https: At<bool>,
            /// Whether `<esi:include>` and the other ESI elements are processed. `true`: in all HTML and XML. `false`:
            /// nowhere, and origins are not told that Larder could. If not set: in answers with `Surrogate-Control:
            /// content="ESI/1.0"`.
            #[schemars(extend("examples" = [true]))]
            esi: bool,
            /// How long an include may take until its answer begins. A page can set a shorter time with `maxwait`.
            #[schemars(extend("default" = "10s"))]
            fragment_wait: Text<Duration>,
            /// The path where the application tells which group a user belongs to, as `FOSHttpCacheBundle` does. Pages
            /// may then vary by `X-User-Context-Hash`. See [groups of users](user-context.md). Off if not set.
            #[schemars(extend("examples" = ["/_fos_user_context_hash"]))]
            user_context: Text<PathStart>,
        }
    };
    (@keys $(#[$about:meta])* $table:ident { $($(#[$own_about:meta])* $own:ident: $own_type:ty,)* }
        $($(#[$key_about:meta])* $key:ident: $key_type:ty,)*
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $table {
            $($(#[$own_about])* pub $own: Option<$own_type>,)*
            $($(#[$key_about])* pub $key: Option<$key_type>,)*
        }

        impl $table {
            /// Returns the policy alone. Keys that this table does not set come from `defaults`.
            #[must_use]
            pub fn policy(&self, defaults: &Defaults) -> Defaults {
                let mut all = Defaults {
                    $($key: self.$key.as_ref().or(defaults.$key.as_ref()).cloned(),)*
                };
                if self.origin.is_some() || self.r#try.is_some() {
                    // These two keys say one thing: a table that sets either replaces both.
                    all.origin.clone_from(&self.origin);
                    all.r#try.clone_from(&self.r#try);
                }
                all
            }
        }
    };
}

with_policy! {
    /// Settings of every route that does not set them itself.
    Defaults {}
}

with_policy! {
    /// Settings for the requests that match. All matchers must match; if a matcher has several values, one of them is
    /// enough.
    Route {
        /// The name in logs and in `larder explain`. Every name must be different. If not set, it is made from the
        /// route's number (`route-2`); the route that always exists is `default`. A route that matches by more than the
        /// URL stores its responses separately, under its name.
        #[schemars(with = "Option<String>", extend("examples" = ["pages"]))]
        name: At<String>,
        /// Hosts: `example.com`, or `*.example.com` for every name below it.
        host: Many<Text<HostPattern>>,
        /// Paths: `/exact`, or `/prefix/*` (its only `*` at the end) for everything that begins with `/prefix/`. In
        /// other patterns, `*` stands for anything within a segment, and `**` (or `*` at the beginning) for anything at
        /// all: `/a/*/b/*` covers `/a/1/b/2` but not `/a/1/b/2/3`, which `/a/*/b/**` covers. `~` begins a regular
        /// expression over the whole path. Upper and lower case differ, and so do `/me`, `/me/` and `/me.json`. Write
        /// letters beyond ASCII and spaces as they are, but in an expression as clients send them: `~ /%C3%BC.*`. Of
        /// characters that clients may encode (`@`), [both forms count](storing.md#the-key).
        path: Many<Text<PathPattern>>,
        /// Methods. `GET` includes `HEAD`, which is answered from what `GET` has stored. A route for `HEAD` alone must
        /// come before it.
        method: Many<Text<Method>>,
        /// Request headers: `Name`, `Name: value`, `Name: *part*` or `Name: ~ regex`. A pattern must match the whole
        /// value. Case counts, but not in values of `Accept`, `Accept-*` and `Content-Type` that are no expression.
        header: Many<Text<FieldPattern>>,
        /// Cookies: `name`, `prefix*`, `name=value`, `name=~ regex` or `~ regex`. A pattern must match the whole value
        /// and the whole name. [Case](storing.md#cookies-and-authorization) counts in values, and not in names.
        cookie: Many<Text<CookiePattern>>,
        /// Parameters of the query, written like `cookie`. Case counts.
        query: Many<Text<QueryPattern>>,
        /// Addresses and networks of clients. Behind a proxy in `trusted`, those of the proxy's clients.
        client: Many<Text<IpNet>>,
    }
}
