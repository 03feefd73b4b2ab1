//! Which requests bypass the store, and which may not fill it.

use super::Bypassed;
use crate::{ask::Ask, outcome::BypassReason, policy, routing, user_group, walk::outbound};
use http::{HeaderMap, Method, header};
use rules::method::is_retrieval;

/// Returns why a request bypasses the store, if it does.
pub fn bypassed(ask: &Ask) -> Option<Bypassed> {
    let policy = ask.policy();
    if !policy.cache {
        return Some(Bypassed::Reason(BypassReason::Route));
    }
    if let Some(why) = ask.content.unkeyed {
        return Some(Bypassed::Reason(BypassReason::Unkeyed(why)));
    }
    let keyed = ask.content.keyed.is_some();
    if !keyed && !is_retrieval(&ask.method) {
        return Some(Bypassed::Method);
    }
    if ask.receipt.upgrade.is_some() {
        return Some(Bypassed::Reason(BypassReason::Upgrade));
    }
    if withholds(ask) {
        return Some(Bypassed::Reason(BypassReason::Connection));
    }
    if !keyed && ask.receipt.has_content {
        // Only the origin knows what such content means (RFC 9110 section 9.3.1).
        return Some(Bypassed::Reason(BypassReason::Content));
    }
    by_rule(ask).map(Bypassed::Reason)
}

/// Whether the request keeps fields from the origin that others of its key pass on. Fields that are written anew for
/// each request make no difference, unless the key or the route uses what the client wrote.
fn withholds(ask: &Ask) -> bool {
    let mut options = ask.receipt.connection_options.iter();
    options.any(|name| !outbound::is_written_anew(name) || outbound::is_named(ask, name))
}

/// Returns which of the site's rules bypasses the store for this request, if any.
fn by_rule(ask: &Ask) -> Option<BypassReason> {
    if ask.is_ambiguous {
        return Some(BypassReason::Ambiguous);
    }
    let bypass = &ask.policy().bypass;
    if !bypass.has_rules() {
        return None;
    }
    // The names have one spelling, as in the key, and none is left out: parameters that are dropped count here.
    let query = ask.target.normal_query();
    let (path, query) = (ask.key.path(), query.as_deref());
    site_bypass(bypass, &ask.method, path, query, &ask.fields)
}

/// Whether the answer to a request that went out as it came, with all of its cookies and its query, may be stored or
/// say something about what is stored, as far as the site's own rules go.
pub fn may_fill(ask: &Ask) -> bool {
    let policy = ask.policy();
    let by_cookie = policy.key.drop_cookies && ask.fields.contains_key(header::COOKIE)
        || routing::may_hide_chosen(ask.route(), &ask.fields);
    // The client's group was not asked for.
    let by_group = policy.user_context.is_some() && user_group::is_somebody(&ask.fields);
    policy.cache
        && !withholds(ask)
        && !by_cookie
        && !by_group
        && !stores_nothing(&policy.bypass, &ask.fields)
        && is_sent_as_keyed(ask)
        && by_rule(ask).is_none()
}

/// Whether the origin got the target that is keyed, but for its spelling. What it says about a parameter that is no
/// part of the key is for no other request.
fn is_sent_as_keyed(ask: &Ask) -> bool {
    let (path, query) = ask.target.normal();
    let rest = ask.key.path_and_query().strip_prefix(&*path);
    rest.is_some_and(|rest| match query {
        Some(query) => rest.strip_prefix('?') == Some(&*query),
        None => rest.is_empty(),
    })
}

/// Returns which of the site's rules bypasses the store, if any. `path` and `query` are normalised.
pub fn site_bypass(
    bypass: &policy::BypassRules,
    method: &Method,
    path: &str,
    query: Option<&str>,
    fields: &HeaderMap,
) -> Option<BypassReason> {
    if routing::any_cookie_matches(&bypass.cookies, fields) {
        Some(BypassReason::Cookie)
    } else if bypass.headers.iter().any(|pattern| pattern.matches(fields)) {
        Some(BypassReason::Header)
    } else if bypass.paths.matches(path) {
        Some(BypassReason::Path)
    } else if bypass
        .methods
        .iter()
        .any(|one| routing::takes_in(one, method))
    {
        Some(BypassReason::Method)
    } else if routing::any_parameter_matches(&bypass.query, query) {
        Some(BypassReason::Query)
    } else {
        None
    }
}

/// Whether the request may be answered from the store and must not fill it.
pub fn stores_nothing(bypass: &policy::BypassRules, fields: &HeaderMap) -> bool {
    routing::any_cookie_matches(&bypass.misses_with, fields)
}
