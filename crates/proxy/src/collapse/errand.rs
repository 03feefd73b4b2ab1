//! What a request goes to an origin for, and under which configuration: what a flight is compared with before the
//! request joins it.

use crate::{
    ask::Ask,
    cache::Worker,
    policy::{Policy, Site},
    walk::lookup::Need,
};
use std::{rc::Rc, sync::Arc};
use store::{Stored, purge::Log};

/// A request's errand, as of now.
#[derive(Clone, Debug)]
pub struct Errand<'a> {
    /// The log of purges.
    pub(super) log: &'a Log,
    pub(super) route: ConfiguredRoute,
    /// What the origin is to confirm.
    pub(super) validates: Option<&'a Arc<Stored>>,
    /// Whether its configuration is still the latest.
    is_latest: bool,
}

/// A route of a configuration.
#[derive(Clone, Debug)]
pub(super) struct ConfiguredRoute {
    site: Arc<Site>,
    route: usize,
}

impl<'a> Errand<'a> {
    /// Returns the errand of `ask`, which has this `need`.
    pub fn of(worker: &'a Worker, ask: &Ask, need: &'a Need) -> Self {
        Self {
            log: worker.cache.memory.log(),
            route: ConfiguredRoute {
                site: ask.site.shared(),
                route: ask.route,
            },
            validates: need.selected.as_ref(),
            is_latest: Rc::ptr_eq(&worker.site(), &ask.site),
        }
    }

    /// Returns the errand of a request on the first route of the latest configuration, `site`.
    #[cfg(test)]
    pub(crate) const fn under(log: &'a Log, site: Arc<Site>) -> Self {
        Self {
            log,
            route: ConfiguredRoute { site, route: 0 },
            validates: None,
            is_latest: true,
        }
    }

    /// Returns the same to validate `stored`.
    #[cfg(test)]
    pub(crate) fn validating(mut self, stored: &'a Arc<Stored>) -> Self {
        self.validates = Some(stored);
        self
    }

    /// Returns the same from before a reload.
    #[cfg(test)]
    pub(crate) fn overtaken(mut self) -> Self {
        self.is_latest = false;
        self
    }

    /// Whether a reload has overruled a flight on the route `other`: it asks another application, or asks for something
    /// else, or what it brings is judged otherwise than what this request would bring. A request from before the reload
    /// takes what comes first.
    pub(super) fn overrules(&self, other: &ConfiguredRoute) -> bool {
        // Routes of one configuration that share a key share what is fetched for it.
        self.is_latest
            && !Arc::ptr_eq(&self.route.site, &other.site)
            && match (self.route.policy(), other.policy()) {
                (Some(now), Some(then)) => {
                    !(self.route.site.is_alike(&other.site) && now.is_alike(then))
                }
                _ => true,
            }
    }
}

impl ConfiguredRoute {
    fn policy(&self) -> Option<&Policy> {
        Some(&self.site.routes.get(self.route)?.policy)
    }
}
