//! The tokens of `/explain` in plain words.

use proxy::content_key::Unkeyed;

/// Returns a reason in words, or the token itself if there are none for it.
pub(in crate::command::explain) fn token(token: &str) -> &str {
    match token {
        "fresh" => "a stored response matches and is fresh",
        "stale-while-revalidate" => {
            "a stored response matches; it is stale, but within its stale-while-revalidate window, and is refreshed meanwhile"
        }
        "max-stale" => "the request's max-stale accepts a stale response",
        "bypass" => "the configuration lets this request bypass the store",
        "uri-miss" => "nothing is stored under its key",
        "vary-miss" => "no stored response fits this request",
        "stale" => "the stored response must be validated first",
        "request" => "the request does not accept what is stored",
        "partial" => "only parts of the response are stored",
        "expired" => "it is past its lifetime",
        "no-cache" => "its no-cache demands validation each time",
        "purges-unknown" => {
            "it may have been purged: this node has had no news of purges on other nodes for a while (`trust`)"
        }
        "request-no-cache" => "the request says no-cache",
        "request-age" => "the request asks for a younger one",
        "invalidated" => "the one that matches was invalidated",
        "parts" => "the rest has to be fetched",
        "condition" => {
            "its condition does not hold for the stored response, which only the application may judge"
        }
        "target-too-long" => "its path and query are longer than `limits.target_length`: 414",
        "too-many-fields" => "it has more fields than `limits.header_count`: 431",
        "head-too-large" => "its first line and fields are longer than `limits.header_size`: 431",
        "denied" => "its route refuses it",
        "redirect" => "it is redirected to https",
        "purge" => {
            "it purges the path after `purge.get_prefix`, for clients that may purge; others get 405"
        }
        "list" => {
            "it asks for the list of what is stored (`purge.souin`), for clients that may purge; others get 405"
        }
        "user-context" => {
            "it names or asks for a group of users, which only the application may do: 400"
        }
        "only-if-cached" => {
            "the request accepts only a stored response (only-if-cached), and none can answer it: 504"
        }
        "failed" => "it was an error of the application",
        "no-store" => "it says no-store",
        "private" => "it says private",
        "no-freshness" => "it has no lifetime (or says `no-cache`), and no validator",
        "event-stream" => "it is an event stream, and the application gives it no lifetime",
        "set-cookie" => "it sets a cookie",
        "cookies" => "its request has cookies of which the GraphQL route says nothing",
        "authorization" => "its request has Authorization, and it does not allow sharing",
        "vary-star" => "no other request will ever match its Vary",
        "no-store-request" => "its request says no-store",
        "must-understand" => "it says must-understand, and its status is not known here",
        "method" => "answers to its request's method are not stored",
        "status" => "answers with its status are not stored",
        "too-many-tags" => "it has more tags or cache groups than Larder reads",
        "connection" => "its Connection names end-to-end fields, which are removed",
        "too-large" => "it is larger than the limit for stored responses",
        other => other,
    }
}

/// Whether a request bypasses the store because the site says so, and not because HTTP or its own content leaves no
/// choice.
pub(super) fn is_rule_of_site(detail: &str) -> bool {
    match unkeyed(detail) {
        Some(why) => why == Unkeyed::Operation,
        None => !matches!(
            detail,
            "upgrade" | "content" | "connection" | "path-ambiguous"
        ),
    }
}

/// Returns in words why a request bypasses the store, or the token itself if there are none for it.
pub(super) fn bypass(detail: &str) -> &str {
    if let Some(why) = unkeyed(detail) {
        return content(why);
    }
    match detail {
        "route" => "the route does not cache",
        "cookie" => "a cookie of the request is on the route's list",
        "header" => "a header field of the request is on the route's list",
        "path" => "the path is on the route's list",
        "path-ambiguous" => {
            "some applications read the request in a way that leads to another route"
        }
        "method" => "the method is on the route's list",
        "query" => "a query parameter is on the route's list",
        "upgrade" => "the client wants to switch protocols, which no stored response can do",
        "content" => "it has content, and only the application knows what that means in a GET",
        "connection" => {
            "its Connection names end-to-end fields, which are removed: the answer does not fit requests that have them"
        }
        "group-unknown" => {
            "only the application knows the client's group: name it with --header 'X-User-Context-Hash: GROUP'"
        }
        other => other,
    }
}

/// Returns the reason of this name for which content, or a GraphQL request in the query, was not keyed.
fn unkeyed(detail: &str) -> Option<Unkeyed> {
    Unkeyed::ALL.into_iter().find(|why| why.token() == detail)
}

/// Returns in words why a request's content, or the GraphQL request in its query, was not keyed.
const fn content(why: Unkeyed) -> &'static str {
    match why {
        Unkeyed::TooLarge => {
            "its content is longer than `largest_content`, or memory has no room for it"
        }
        Unkeyed::Type => "its content has a type or a coding that is not read",
        Unkeyed::Malformed => {
            "its content or query is not what it claims to be, or can be read in several ways"
        }
        Unkeyed::Batch => "it is several GraphQL requests in one",
        Unkeyed::NoDocument => "it names no GraphQL document, so its effect is unknown",
        Unkeyed::Effect => "it is a mutation or a subscription",
        Unkeyed::Operation => "the route does not store this GraphQL operation",
        Unkeyed::Condition => "only the application can judge its condition",
    }
}

/// Returns in words where a lifetime comes from, or the token itself if there are none for it.
pub(super) fn source(source: &str) -> &str {
    match source {
        "override" => "the configuration's, whatever the origin says",
        "targeted" => "from a field meant for this cache (such as CDN-Cache-Control)",
        "x-reverse-proxy-ttl" => "from X-Reverse-Proxy-TTL",
        "x-accel-expires" => "from X-Accel-Expires",
        "s-maxage" => "from s-maxage in Cache-Control",
        "max-age" => "from max-age in Cache-Control",
        "expires" => "from Expires",
        "default" => "the configuration's, as the origin gives none",
        "origin" => "how long a file or a stored page lasts where the configuration says nothing",
        "heuristic" => "a tenth of the time since Last-Modified, as the origin gives none",
        "soft-purge" => "a soft purge ended it",
        "clock-set-back" => "over, as the clock was set back",
        "none" => "neither the origin nor the configuration gives one",
        other => other,
    }
}
