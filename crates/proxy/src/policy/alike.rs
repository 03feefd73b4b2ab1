//! Whether two configurations judge alike: then a reload from one to the other changes nothing for a fetch under way.
//!
//! Every setting is named here: one that says what an origin is asked, or what is stored of its answer, is compared.

use super::{Policy, Site};
use std::sync::Arc;

impl Site {
    /// Whether a request that took `route` of the configuration `before` takes one here that asks the same, and what it
    /// brings is stored as it was there.
    pub fn judges_as(&self, before: &Self, route: usize) -> bool {
        let both = || self.routes.iter().zip(&before.routes).take(route + 1);
        // The first match wins, so later routes do not count.
        both().all(|(now, then)| now.keyed == then.keyed)
            && both()
                .nth(route)
                .is_some_and(|(now, then)| now.policy.is_alike(&then.policy))
            && self.is_alike(before)
    }

    /// Whether what holds on all routes is alike.
    pub fn is_alike(&self, other: &Self) -> bool {
        let Self {
            routes: _,
            report: _,
            name,
            trusted,
            largest_request_body: _,
            targets,
            most_variants: _,
            refetch: _,
            purge,
        } = self;
        *name == other.name
            && *trusted == other.trusted
            && *targets == other.targets
            && *purge == other.purge
    }
}

impl Policy {
    /// Whether the same is asked of the same application, and what it brings is judged alike.
    pub fn is_alike(&self, other: &Self) -> bool {
        let Self {
            refuses: _,
            redirect_https: _,
            key,
            largest_content,
            graphql,
            user_context,
            cache,
            bypass,
            client_may_force: _,
            stale,
            collapse_wait: _,
            origin,
            to_origin,
            lifetime,
            set_cookie,
            largest_body,
            compress,
            esi,
            fragment_wait: _,
            // It changes nothing of what is stored.
            to_client: _,
        } = self;
        *cache == other.cache
            && *key == other.key
            && *largest_content == other.largest_content
            && *graphql == other.graphql
            && *user_context == other.user_context
            && *bypass == other.bypass
            && *stale == other.stale
            && (Arc::ptr_eq(origin, &other.origin) || origin.is_same(&other.origin))
            && *to_origin == other.to_origin
            && *lifetime == other.lifetime
            && *set_cookie == other.set_cookie
            && *largest_body == other.largest_body
            && *compress == other.compress
            && *esi == other.esi
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        policy::{Edit, Matcher, PathPattern, Route},
        sample,
    };
    use http::{HeaderValue, StatusCode, header};
    use rules::storable::SetCookie;
    use std::time::Duration;

    type Change = fn(&mut Policy);

    fn policy() -> Policy {
        sample::policy(sample::key_spec())
    }

    #[test]
    fn what_changes_nothing_that_is_asked_or_stored_is_alike() {
        let removed = || vec![Edit::Remove(header::COOKIE)];
        let rows: [(Change, bool); 8] = [
            (|_| {}, true),
            (|policy| policy.refuses = Some(StatusCode::FORBIDDEN), true),
            (|policy| policy.collapse_wait = Duration::ZERO, true),
            (|policy| policy.key.sort = !policy.key.sort, false),
            (|policy| policy.set_cookie = SetCookie::Never, false),
            (|policy| policy.largest_body += 1, false),
            (
                |policy| policy.to_origin.host = Some(HeaderValue::from_static("h")),
                false,
            ),
            (
                |policy| policy.bypass.methods.push(http::Method::GET),
                false,
            ),
        ];
        for (number, (change, is_alike)) in rows.into_iter().enumerate() {
            let mut changed = policy();
            change(&mut changed);
            assert_eq!(changed.is_alike(&policy()), is_alike, "{number}");
        }
        let mut changed = policy();
        changed.to_client.edits = removed();
        assert!(changed.is_alike(&policy()));
        changed.to_origin.edits = removed();
        assert!(!changed.is_alike(&policy()));
    }

    /// The first match wins.
    #[test]
    fn only_the_routes_up_to_that_of_a_request_count() {
        let route = |path: &str, sorts: bool| {
            let mut policy = policy();
            policy.key.sort = sorts;
            let matcher = Matcher {
                paths: vec![PathPattern::Exact(path.to_owned())],
                ..Matcher::default()
            };
            Route {
                keyed: path.to_owned(),
                ..sample::route(matcher, policy)
            }
        };
        let site = |routes: &[(&str, bool)]| {
            let routes = routes.iter().map(|(path, sorts)| route(path, *sorts));
            Site {
                routes: routes.collect(),
                ..sample::site(policy())
            }
        };
        let before = site(&[("/a", false), ("/b", false), ("/c", false)]);
        for (now, alike) in [
            (&[("/a", false), ("/b", false), ("/c", false)][..], true),
            (&[("/a", true), ("/b", false), ("/d", true)], true),
            (&[("/a", false), ("/b", true), ("/c", false)], false),
            (&[("/d", false), ("/b", false), ("/c", false)], false),
            (&[("/b", false), ("/a", false), ("/c", false)], false),
            (&[("/a", false)], false),
        ] {
            assert_eq!(site(now).judges_as(&before, 1), alike, "{now:?}");
        }
        let mut other = before.clone();
        other.targets.push(header::CACHE_CONTROL);
        assert!(!other.judges_as(&before, 1));
    }
}
