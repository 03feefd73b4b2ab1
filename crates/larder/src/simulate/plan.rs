//! The plan of a simulation: memory sizes, lifetimes and rules of eviction.

use super::{log::Heed, urls};
use crate::config::{
    self, Faults, Flags,
    value::{MemorySize, ServerUrl, Ttl, Word},
};
use http::{HeaderName, header};
use proxy::policy::{Policy, Route, Site};
use rules::freshness::{ACCEL_EXPIRES, REVERSE_PROXY_TTL};
use std::{collections::HashSet, path::PathBuf, sync::Arc, time::Duration};

/// A rule of eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Eviction {
    /// Larder's own: what is requested once does not displace what is requested often
    Larder,
    /// The least recently used entry goes first
    Lru,
    /// The oldest entry goes first
    Fifo,
}

/// A lifetime to simulate.
#[derive(Clone, Debug)]
pub struct Lifetime {
    /// Its name in the report: `60s`, or who sets it.
    pub name: String,
    /// The site as the server would get it.
    pub site: Arc<Site>,
}

/// The plan of a simulation.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Sizes of the store in memory, in bytes, the smallest first.
    pub sizes: Vec<u64>,
    /// The size at which lifetimes are compared.
    pub size: u64,
    /// Lifetimes.
    pub lifetimes: Vec<Lifetime>,
    /// The index of the lifetime at which sizes are compared.
    pub lifetime: usize,
    /// Rules of eviction.
    pub evictions: Vec<Eviction>,
    /// What clients may send to the server.
    pub limits: proxy::listen::Limits,
    /// The most URLs that are followed ([`urls::MOST`]).
    pub most_urls: usize,
    /// Whether that lifetime was assumed: neither a configuration nor a flag sets it.
    pub is_assumed: bool,
}

/// The part of the plan that the command line sets.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The configuration to simulate.
    pub config: Option<PathBuf>,
    /// Sizes of the store in memory.
    pub memory: Vec<MemorySize>,
    /// Lifetimes.
    pub ttl: Vec<Duration>,
    /// Rules of eviction.
    pub eviction: Vec<Eviction>,
}

/// The fields of requests and answers that concern caching on any site.
const CACHING: [HeaderName; 19] = [
    header::AUTHORIZATION,
    header::CACHE_CONTROL,
    header::CONTENT_TYPE,
    header::COOKIE,
    header::HOST,
    header::IF_MATCH,
    header::IF_UNMODIFIED_SINCE,
    header::PRAGMA,
    header::EXPIRES,
    header::VARY,
    header::ETAG,
    header::LAST_MODIFIED,
    header::SET_COOKIE,
    header::AGE,
    header::DATE,
    // What an unsafe request invalidates besides its own URL.
    header::LOCATION,
    header::CONTENT_LOCATION,
    ACCEL_EXPIRES,
    REVERSE_PROXY_TTL,
];

const SIZES: [u64; 5] = [16 << 20, 64 << 20, 256 << 20, 1 << 30, 4 << 30];
const LIFETIMES: [u64; 6] = [1, 10, 60, 600, 3600, 86_400];

/// The assumed lifetime, in seconds: a minute is what people begin with.
const ASSUMED: u64 = 60;

impl Plan {
    /// Combines the command line with the configuration.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn new(wanted: &Wanted) -> Result<Self, Faults> {
        let flags = Flags {
            config: wanted.config.clone(),
            // Nobody is asked anything.
            origin: match wanted.config {
                None => ServerUrl::parse("http://127.0.0.1:9").ok(),
                Some(_) => None,
            },
            ..Flags::default()
        };
        let config = config::load(&flags)?;
        let size = wanted.memory.first().map_or(config.memory, |size| size.0);
        let mut sizes: Vec<_> = wanted.memory.iter().map(|size| size.0).collect();
        if sizes.is_empty() {
            sizes = SIZES.to_vec();
            sizes.push(size);
        }
        sizes.sort_unstable();
        sizes.dedup();
        let mut evictions = wanted.eviction.clone();
        if evictions.is_empty() {
            evictions = vec![Eviction::Larder, Eviction::Lru, Eviction::Fifo];
        }
        let (lifetimes, lifetime) = lifetimes(&Arc::new(config.site), wanted);
        Ok(Self {
            sizes,
            size,
            is_assumed: wanted.ttl.is_empty() && wanted.config.is_none(),
            lifetimes,
            lifetime,
            evictions,
            limits: config.limits.listen,
            most_urls: urls::MOST,
        })
    }

    /// The fields of a log that may decide something. Behind a trusted proxy any field may name the client or be part of
    /// the key, and where users have groups any may be one that no client may send.
    pub fn heed(&self) -> Heed {
        let needs_all = |site: &Site| {
            let mut routes = site.routes.iter();
            !site.trusted.is_empty() || routes.any(|route| route.policy.user_context.is_some())
        };
        let mut lifetimes = self.lifetimes.iter();
        if lifetimes.any(|lifetime| needs_all(&lifetime.site)) {
            Heed::All
        } else {
            Heed::These(self.fields())
        }
    }

    /// The fields that concern caching on any site, and those that this one names.
    fn fields(&self) -> HashSet<HeaderName> {
        let mut names = HashSet::from(CACHING);
        for lifetime in &self.lifetimes {
            names.extend(lifetime.site.targets.iter().cloned());
            for Route {
                matcher, policy, ..
            } in &lifetime.site.routes
            {
                names.extend(matcher.headers.iter().map(|field| field.name.clone()));
                names.extend(policy.bypass.headers.iter().map(|field| field.name.clone()));
                names.extend(policy.key.headers.iter().cloned());
            }
        }
        names
    }

    /// Whether any route matches hosts: a log without them is then of little use.
    pub fn looks_at_hosts(&self) -> bool {
        let mut routes = self
            .lifetimes
            .iter()
            .flat_map(|lifetime| &lifetime.site.routes);
        routes.any(|route| !route.matcher.hosts.is_empty())
    }
}

/// Returns the lifetimes to simulate, and the index of the one at which to compare sizes.
fn lifetimes(site: &Arc<Site>, wanted: &Wanted) -> (Vec<Lifetime>, usize) {
    let given = |duration: &Duration| Lifetime {
        name: humantime::format_duration(*duration).to_string(),
        site: Arc::new(with_lifetime(site, *duration)),
    };
    if !wanted.ttl.is_empty() {
        return (wanted.ttl.iter().map(given).collect(), 0);
    }
    let own = Lifetime {
        name: if wanted.config.is_some() {
            "as configured"
        } else {
            "as the origin says"
        }
        .to_owned(),
        site: site.clone(),
    };
    let mut all = vec![own];
    all.extend(LIFETIMES.map(|seconds| given(&Duration::from_secs(seconds))));
    let assumed = LIFETIMES.iter().position(|seconds| *seconds == ASSUMED);
    let base = if wanted.config.is_some() {
        0
    } else {
        assumed.map_or(0, |at| at + 1)
    };
    (all, base)
}

/// Returns the site with `ttl = "…"` on every route.
fn with_lifetime(site: &Site, duration: Duration) -> Site {
    let Ttl(by_status) = Ttl::usual(duration);
    let mut site = site.clone();
    let routes = site.routes.iter().cloned().map(|mut route| {
        let mut policy = Policy::clone(&route.policy);
        policy.lifetime.by_status.clone_from(&by_status);
        route.policy = Arc::new(policy);
        route
    });
    site.routes = routes.collect();
    site
}
