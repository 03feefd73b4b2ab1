//! Lifetimes that the site gives without a word on cookies.

use super::{Sink, refuses};
use crate::config::{
    Fault,
    meant::policy::lifetime,
    value::{At, Many},
    written::{self, Defaults, Route, TtlMode},
};
use http::{HeaderName, StatusCode, header::COOKIE};
use std::ops::Range;

/// Warns of a `ttl` where neither its route nor one before it says what cookies mean. A user's page is then stored for
/// all, since the cookies of a request make no difference. GraphQL's answers to requests with cookies are not stored.
pub(super) fn find(
    written: &written::Config,
    defaults: &Defaults,
    has_last: bool,
    sink: &mut Sink<'_>,
) {
    let none = Defaults::default();
    for table in written.route.iter().flatten() {
        let At { value: route, span } = table;
        if matches_cookies(route) {
            // Those behind it are for requests without these cookies.
            return;
        }
        let own = route.policy(&none);
        let policy = route.policy(defaults);
        let is_of_files = route.path.is_some() && matches!(mode(&policy), Some(TtlMode::Static));
        if is_of_files || !answers_for_users(&policy, written) {
            continue;
        }
        let stores =
            route.method.is_none() && policy.redirect_https.as_ref().is_none_or(|on| !on.value);
        if given(&policy).is_none() && !(stores && names_users(defaults)) {
            continue;
        }
        let is_lost = own.ttl.is_none() && settles(defaults);
        unsettled(&policy, is_lost.then_some(span), sink);
    }
    if has_last && answers_for_users(defaults, written) {
        unsettled(defaults, None, sink);
    }
}

/// Warns if the policy has a lifetime, or is that of a route at `at` that has lost what the defaults say of cookies, and
/// does not say what cookies mean.
fn unsettled(policy: &Defaults, at: Option<&Range<usize>>, sink: &mut Sink<'_>) {
    if settles(policy) {
        return;
    }
    let given = given(policy);
    let Some(place) = at.or(given) else {
        return;
    };
    let what = match mode(policy) {
        _ if given.is_none() => {
            "a user's page that names a lifetime is stored for everybody: nothing here says what cookies mean"
        }
        _ if policy.graphql.is_some() => {
            "`ttl` has no effect on requests with cookies: nothing here says what cookies mean"
        }
        Some(TtlMode::Override) => {
            "a user's page is stored for everybody, even if it says `private`: nothing here says what cookies mean"
        }
        Some(TtlMode::Default | TtlMode::Static) | None => {
            "a user's page without `Cache-Control` is stored for everybody: nothing here says what cookies mean"
        }
    };
    let names = "name the cookies of users: `bypass.cookies = [\"session\"]`; \
                 or write `key.drop_cookies = true` if no page depends on cookies";
    let instead = if at.is_some() {
        "repeat here what `[defaults]` says of cookies: `bypass` and `key` of a route replace those of the defaults"
            .to_owned()
    } else if policy.graphql.is_none() && !matches!(mode(policy), Some(TtlMode::Override)) {
        format!("{names}; or `bypass.cookies = []` if each user's page says `private` itself")
    } else {
        names.to_owned()
    };
    sink.warn(Fault::at(place, what).instead(instead));
}

fn mode(policy: &Defaults) -> Option<TtlMode> {
    policy.ttl_mode.as_ref().map(|mode| mode.value)
}

/// Returns the place of a lifetime that pages get, or operations of GraphQL.
fn given(policy: &Defaults) -> Option<&Range<usize>> {
    let pages = lifetime(policy).of(StatusCode::OK);
    let ttl = policy.ttl.as_ref().map(|ttl| &ttl.span);
    let operations = policy
        .graphql
        .iter()
        .flat_map(|table| &table.value.operation);
    let mut operations = operations
        .flatten()
        .filter_map(|one| one.value.ttl.as_ref());
    ttl.filter(|_| pages.is_some_and(|time| !time.is_zero()))
        .or_else(|| {
            operations
                .find(|ttl| !ttl.value.is_zero())
                .map(|ttl| &ttl.span)
        })
}

/// Whether an application answers, which knows its users, and what it answers is stored.
fn answers_for_users(policy: &Defaults, written: &written::Config) -> bool {
    let stores = policy.cache.unwrap_or(true) && !refuses(policy);
    let named: Vec<&str> = match (&policy.r#try, &policy.origin) {
        (Some(list), _) => list.value.iter().map(|name| name.value.as_str()).collect(),
        (None, Some(name)) => vec![&name.value],
        (None, None) => Vec::new(),
    };
    let is_asked = |origin: &written::Origin| {
        let name = origin.name.as_ref().map(|name| name.value.as_str());
        named.is_empty() || name.is_none_or(|name| named.contains(&name))
    };
    let is_application =
        |origin: &written::Origin| origin.servers.is_some() || origin.fastcgi.is_some();
    // Without a table, the command line names the application.
    let mut origins = written.origin.iter().flatten().map(|table| &table.value);
    stores
        && (written.origin.is_none()
            || origins.any(|origin| is_application(origin) && is_asked(origin)))
}

/// Whether the route is for requests with certain cookies only.
fn matches_cookies(route: &Route) -> bool {
    let mut headers = route.header.iter().flat_map(|list| &list.list);
    route.cookie.is_some() || headers.any(|header| header.value.name == COOKIE)
}

/// Whether the policy says what cookies mean. That no cookie makes an answer one user's (an empty list) is not enough for
/// GraphQL, where clients choose what is answered.
fn settles(policy: &Defaults) -> bool {
    let is_graphql = policy.graphql.is_some();
    let is_said = |names: Option<usize>| names.is_some_and(|names| !is_graphql || names > 0);
    let bypass = policy.bypass.as_ref().map(|table| &table.value);
    let is_bypassed = bypass.is_some_and(|bypass| {
        is_said(count(bypass.cookies.as_ref()))
            || is_said(count(bypass.misses_with.as_ref()))
            || names(bypass.headers.as_ref(), |header| &header.value.name)
    });
    let is_keyed = policy.key.as_ref().is_some_and(|key| {
        key.drop_cookies == Some(true)
            || is_said(count(key.cookies.as_ref()))
            || !is_graphql && names(key.headers.as_ref(), |header| &header.value.0)
    });
    let edits = policy.request_headers.as_ref();
    let is_removed = edits
        .is_some_and(|edits| !is_graphql && names(edits.remove.as_ref(), |header| &header.value.0));
    is_bypassed || is_keyed || is_removed || policy.user_context.is_some()
}

/// Whether the policy names cookies of users.
fn names_users(policy: &Defaults) -> bool {
    let bypass = policy.bypass.as_ref().map(|table| &table.value);
    let keyed = policy.key.as_ref().and_then(|key| key.cookies.as_ref());
    let bypassed = bypass.and_then(|bypass| bypass.cookies.as_ref());
    [count(keyed), count(bypassed)]
        .into_iter()
        .flatten()
        .any(|names| names > 0)
}

fn count<T>(list: Option<&Many<T>>) -> Option<usize> {
    list.map(|list| list.list.len())
}

/// Whether the list names `Cookie`.
fn names<T>(list: Option<&Many<T>>, name: impl Fn(&T) -> &HeaderName) -> bool {
    list.is_some_and(|list| list.list.iter().any(|one| *name(one) == COOKIE))
}
