//! What may hold on a route, as written: the same keys in `[defaults]` and in each `[[route]]`.

use super::tables::{Bypass, Edits, GraphQl, Key, Preset, SetCookie, Stale, TtlMode};
use crate::config::value::{
    At, Compress, CookiePattern, EditableName, HostValue, Many, PathStart, QueryPattern, Refusal,
    Size, Text, Ttl,
};
use http::Method;
use ipnet::IpNet;
use proxy::policy::{FieldPattern, HostPattern, PathPattern};
use rules::coding::TypePattern;
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

/// Defines a table with the keys of a policy after its own. A macro, because `serde(flatten)` would lose the places.
macro_rules! with_policy {
    ($(#[$about:meta])* $table:ident { $($(#[$own_about:meta])* $own:ident: $own_type:ty,)* }) => {
        with_policy! { @keys $(#[$about])* $table { $($(#[$own_about])* $own: $own_type,)* }
            /// What holds before a well-known application: which requests bypass the store, what is dropped, how long answers
            /// last. What is written beside it goes over it, key by key; the lists in `bypass` are added to. Its routes stand
            /// behind those written here. `larder check --explain` prints it as plain configuration.
            preset: At<Preset>,
            /// The origin that answers. May be left out where there is only one.
            #[schemars(with = "Option<String>", extend("examples" = ["shop"]))]
            origin: At<String>,
            /// Several origins in place of one, asked in turn: the first that has it answers. Folders and page stores first; the
            /// last one answers whatever the others do not have.
            #[schemars(with = "Option<Vec<String>>", extend("examples" = [["static", "app"]]))]
            r#try: At<Vec<At<String>>>,
            /// Whether anything here is stored. With `false` everything is passed on.
            #[schemars(extend("default" = true))]
            cache: bool,
            /// Lifetimes by status: `{ "200" = "10m", "404" = "10s", "5xx" = "0s", any = "1m" }`. The more exact status wins.
            /// A single duration covers 200, 301 and 302: `ttl = "1s"` is microcaching in one line. A part (206) has the lifetime of the whole,
            /// unless `"206"` is named. Classes and `any` are not for
            /// what one client's fields or content brought about (400, 401, 403, 406, 408, 411, 412, 413, 415, 416, 417, 421, 425, 451, 505), and
            /// 426, 428, 429, 431 and 511 are never stored.
            ttl: At<Ttl>,
            /// How `ttl` stands to what the origin says.
            #[schemars(extend("default" = "default"))]
            ttl_mode: At<TtlMode>,
            /// Whether a response without any lifetime gets a tenth of the time since its `Last-Modified` (RFC 9111 section 4.2.2).
            #[schemars(extend("default" = true))]
            heuristic: bool,
            /// How long past its lifetime a response may still be sent.
            stale: At<Stale>,
            /// What makes up the cache key.
            key: Key,
            /// When the store is neither asked nor filled.
            bypass: At<Bypass>,
            /// What happens to a response with `Set-Cookie`.
            #[schemars(extend("default" = "refuse"))]
            set_cookie: At<SetCookie>,
            /// Whether clients may force a fetch with `Cache-Control: no-cache`, `max-age` and their kin. Who may purge, as this machine may by
            /// default, always may.
            #[schemars(extend("default" = true))]
            client_may_force: bool,
            /// What is compressed for clients that accept it: `true`, `false`, or a list of codings, the one you like best first.
            #[schemars(extend("default" = true))]
            compress: At<Compress>,
            /// Media types that are compressed. Text, scripts, JSON, XML, SVG and uncompressed fonts where nothing is said;
            /// never `text/event-stream`.
            #[schemars(extend("examples" = [["text/*", "application/json"]]))]
            compress_types: Many<Text<TypePattern>>,
            /// Size below which a body is left as it is.
            #[schemars(extend("default" = "512B"))]
            compress_min_size: Text<Size>,
            /// Whether answers are compressed too that are not stored and were made for one user: those to requests with a cookie
            /// or credentials, and those that set a cookie. See [compression](compression.md) before you turn it on.
            #[schemars(extend("default" = false))]
            compress_personal: bool,
            /// Size of the largest body that is stored; larger ones pass through. With `"0B"` only what has none is stored.
            #[schemars(extend("default" = "64MiB"))]
            largest_body: Text<Size>,
            /// Lifetime that clients are told in place of the origin's `Cache-Control`; of an error (from 400 on) never more than is left
            /// of its own. What bypasses the store, and what may not be stored, keeps the origin's own.
            #[schemars(extend("examples" = ["0s"]))]
            browser_ttl: Text<Duration>,
            /// How long a request waits for another one that already fetches the same. Then it fetches for itself; with `"0s"` at
            /// once. Where that is purged before it comes, the next is waited for as long, up to three in all.
            #[schemars(extend("default" = "5s"))]
            collapse_wait: Text<Duration>,
            /// Changes of the request's header on its way to the origin.
            request_headers: Edits,
            /// Changes of the response's header on its way to the client.
            response_headers: Edits,
            /// Request headers that are passed on although an answer could depend on them unseen, such as
            /// `X-Forwarded-Host`, and all with anything but letters, digits and hyphens in the name, which applications take for a
            /// hyphen. Safer: put them into `key.headers`. [Which are kept back](storing.md#what-a-client-may-not-say).
            #[schemars(extend("default" = [], "examples" = ["X-Forwarded-Host"]))]
            pass_fields: Many<Text<EditableName>>,
            /// `Host` towards the origin: a host, and a port where it needs one. The client's where nothing is said. With
            /// `key.host = false` all that the origin is told of a host.
            #[schemars(extend("examples" = ["app.example"]))]
            origin_host: Text<HostValue>,
            /// Size of the content that is read to be part of the key: of `QUERY`, and of `POST` to GraphQL. Larger content bypasses
            /// the store; with `"0B"` all of it.
            #[schemars(extend("default" = "64KiB"))]
            largest_content: Text<Size>,
            /// A GraphQL service answers here: its queries are stored, by `GET` and `POST`. An empty table is enough.
            graphql: At<GraphQl>,
            /// The status, `"403"` or another beginning with 4, with which every request here is refused: nothing is asked, nor
            /// stored. A route that says who may (`client`) stands before it, or with which `method`; 405 says these in `Allow`. In `[defaults]` it is for all routes but those
            /// that say `"off"`.
            #[schemars(extend("examples" = ["403"]))]
            refuse: Text<Refusal>,
            /// Redirect plain requests to `https`.
            #[schemars(extend("default" = false))]
            redirect_https: bool,
            /// Whether `<esi:include>` and its kin are carried out. `true`: in all HTML and XML; `false`: nowhere, and origins are
            /// not told that we could. Where nothing is said: in what comes with `Surrogate-Control: content="ESI/1.0"`.
            #[schemars(extend("examples" = [true]))]
            esi: bool,
            /// How long an include may take until its answer begins. A page can ask for less with `maxwait`.
            #[schemars(extend("default" = "10s"))]
            fragment_wait: Text<Duration>,
            /// The path at which the application tells which group a user belongs to, as `FOSHttpCacheBundle` does. Pages may then
            /// vary by `X-User-Context-Hash`. See [groups of users](user-context.md). Off where nothing is said.
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
            /// The policy alone, with `defaults` where this table says nothing.
            #[must_use]
            pub fn policy(&self, defaults: &Defaults) -> Defaults {
                let mut all = Defaults {
                    $($key: self.$key.as_ref().or(defaults.$key.as_ref()).cloned(),)*
                };
                if self.origin.is_some() || self.r#try.is_some() {
                    // Two ways to say one thing: whoever says it says it whole.
                    all.origin.clone_from(&self.origin);
                    all.r#try.clone_from(&self.r#try);
                }
                all
            }
        }
    };
}

with_policy! {
    /// What holds on every route that does not say otherwise.
    Defaults {}
}

with_policy! {
    /// What holds for the requests that match. All matchers must hold; of several values of one, any.
    Route {
        /// Its name in logs and in `larder explain`. No two routes have the same. Made from its number (`route-2`) where nothing is
        /// said; the one that is always there is `default`. A route that looks at more than the URL stores apart under it.
        #[schemars(with = "Option<String>", extend("examples" = ["pages"]))]
        name: At<String>,
        /// Hosts: `example.com`, or `*.example.com` for every name below it.
        host: Many<Text<HostPattern>>,
        /// Paths: `/exact`; `/prefix/*` for everything that begins so; elsewhere `*` stands for anything within a segment
        /// and `**` (or `*` at the beginning) for anything at all; `~` begins a regular expression over the whole path. So
        /// `/a/*/b/*` covers `/a/1/b/2` and not `/a/1/b/2/3`: that is `/a/*/b/**`. Upper and lower case differ, and so do `/me`,
        /// `/me/` and `/me.json`. Letters beyond ASCII and spaces are written as they are, in an expression as clients send them:
        /// `~ /%C3%BC.*`.
        path: Many<Text<PathPattern>>,
        /// Methods. `GET` takes in `HEAD`, which is answered from what `GET` has stored; a route for `HEAD` alone stands before it.
        method: Many<Text<Method>>,
        /// Request headers: `Name`, `Name: value`, `Name: *part*` or `Name: ~ regex`, which cover the whole value.
        header: Many<Text<FieldPattern>>,
        /// Cookies: `name`, `prefix*`, `name=value`, `name=~ regex` or `~ regex`, over the whole value and the whole name.
        cookie: Many<Text<CookiePattern>>,
        /// Parameters of the query, written like cookies.
        query: Many<Text<QueryPattern>>,
        /// Addresses and networks of clients; behind a proxy in `trusted`, of those it speaks for.
        client: Many<Text<IpNet>>,
    }
}
