//! The routes of a site, found by host.

use super::{HostPattern, Route};
use std::{collections::HashMap, iter::Peekable, ops::Deref, slice};

/// With fewer routes, a look at each is as fast.
const MANY: usize = 32;

/// The routes of a site: the first match wins, and the last one matches everything.
#[derive(Debug, Clone, Default)]
pub struct Routes {
    all: Vec<Route>,
    /// The positions of routes that name all their hosts, by each of these. Empty if there are few routes.
    by_host: HashMap<String, Vec<usize>>,
    /// The positions of all others.
    others: Vec<usize>,
}

/// The routes that may be for a host, in order, each with its position.
#[derive(Debug)]
pub struct Candidates<'a> {
    all: &'a [Route],
    named: Peekable<slice::Iter<'a, usize>>,
    others: Peekable<slice::Iter<'a, usize>>,
}

impl Routes {
    /// Returns the routes that may be for `host`, in order, each with its position. `host` is lower case, without port.
    #[inline]
    pub fn candidates(&self, host: &str) -> Candidates<'_> {
        let named = self.by_host.get(host).map_or(&[][..], Vec::as_slice);
        Candidates {
            all: &self.all,
            named: named.iter().peekable(),
            others: self.others.iter().peekable(),
        }
    }
}

impl Deref for Routes {
    type Target = [Route];

    fn deref(&self) -> &[Route] {
        &self.all
    }
}

impl<'a> IntoIterator for &'a Routes {
    type Item = &'a Route;
    type IntoIter = slice::Iter<'a, Route>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

impl From<Vec<Route>> for Routes {
    fn from(all: Vec<Route>) -> Self {
        let (mut by_host, mut others) = (HashMap::new(), Vec::new());
        for (position, route) in all.iter().enumerate() {
            match names(route).filter(|_| all.len() >= MANY) {
                Some(names) => put(&mut by_host, &names, position),
                None => others.push(position),
            }
        }
        Self {
            all,
            by_host,
            others,
        }
    }
}

/// Puts the position under each of the names, once.
fn put(by_host: &mut HashMap<String, Vec<usize>>, names: &[&str], position: usize) {
    for name in names {
        let positions = by_host.entry((*name).to_owned()).or_default();
        if positions.last() != Some(&position) {
            positions.push(position);
        }
    }
}

impl FromIterator<Route> for Routes {
    fn from_iter<T: IntoIterator<Item = Route>>(routes: T) -> Self {
        Vec::from_iter(routes).into()
    }
}

/// Returns the hosts that the route is for; `None` if it is for hosts without naming them.
fn names(route: &Route) -> Option<Vec<&str>> {
    let hosts = route.matcher.hosts.iter();
    let names = hosts.map(|host| match host {
        HostPattern::Exact(name) => Some(name.as_str()),
        HostPattern::Any | HostPattern::Suffix(_) => None,
    });
    let names: Vec<_> = names.collect::<Option<_>>()?;
    (!names.is_empty()).then_some(names)
}

impl<'a> Iterator for Candidates<'a> {
    type Item = (usize, &'a Route);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let is_named = match (self.named.peek(), self.others.peek()) {
            (Some(named), Some(other)) => named < other,
            (named, _) => named.is_some(),
        };
        let from = if is_named {
            &mut self.named
        } else {
            &mut self.others
        };
        let position = *from.next()?;
        self.all.get(position).map(|route| (position, route))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        policy::Matcher,
        sample::{key_spec, policy, route},
    };
    use proptest::prelude::*;

    fn host() -> impl Strategy<Value = HostPattern> {
        let name = "[abc]|[abc]\\.[abc]";
        prop_oneof![
            6 => name.prop_map(HostPattern::Exact),
            1 => name.prop_map(HostPattern::Suffix),
            1 => Just(HostPattern::Any),
        ]
    }

    proptest! {
        /// The first that matches is the same as if each were looked at.
        #[test]
        fn no_route_is_passed_by(hosts in prop::collection::vec(prop::collection::vec(host(), 0..3), 1..100), asked in "[abc]|[abc]\\.[abc]") {
            let policy = policy(key_spec());
            let routes = hosts.into_iter().map(|hosts| route(Matcher { hosts, ..Matcher::default() }, policy.clone()));
            let routes: Routes = routes.collect();
            let is_for = |index: &usize| {
                let hosts = &routes[*index].matcher.hosts;
                hosts.is_empty() || hosts.iter().any(|host| host.matches(&asked))
            };
            let candidates: Vec<_> = routes.candidates(&asked).map(|(position, _)| position).collect();
            prop_assert!(candidates.is_sorted_by(|one, other| one < other));
            let expected: Vec<_> = (0..routes.len()).filter(is_for).collect();
            let found: Vec<_> = candidates.into_iter().filter(is_for).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
