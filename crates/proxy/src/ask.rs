//! A request after receipt: normalised, routed, keyed.

mod cache_key;
mod keyed_uri;
mod receipt;

pub use cache_key::Key;
pub use keyed_uri::{chosen, key_of};
pub use receipt::{Receipt, Upgrade, protocol};

use crate::{
    cache::{Worker, WorkerSite},
    content_key::Content,
    hit_for_miss::{Credentials, Unshared},
    marks,
    policy::{KeySpec, Policy, Route},
    routing::{self, Client},
    said::FieldPresence,
    target::Target,
    walk::esi::Within,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Version, header};
use rules::{directives::RequestDirectives, key, time::Time};
use std::{cell::Cell, mem, rc::Rc, sync::Arc};
use store::{Stored, Variant};

/// A request that may be answered from the store. Its content is included only as far as that is part of the key.
#[derive(Debug)]
pub struct Ask {
    /// The configuration when it came, which stays in force for it until it is answered.
    pub site: WorkerSite,
    /// The index of the route taken.
    pub route: usize,
    /// Whether the origin may take the path for one of another route ([`routing::take`]). The store is then
    /// bypassed: what is withheld from everybody on that route must not be stored for everybody on this one.
    pub is_ambiguous: bool,
    /// The client's method. A fetch that may be stored is a `GET` even if this is `HEAD`.
    pub method: Method,
    /// The version of HTTP that the client speaks.
    pub version: Version,
    /// The client's fields as they came, without those of its connection and those that were [set aside](SetAside).
    pub fields: HeaderMap,
    /// What was taken out of its fields.
    pub set_aside: SetAside,
    /// Whether its answer must not fill the store, whatever it is. The cookies that were set aside then go to the
    /// origin.
    pub stores_nothing: bool,
    /// The stored response that no longer answers it, if it bypasses the store for that reason. It may have to stand in
    /// if the origin fails.
    pub stand_in: Option<Arc<Stored>>,
    /// Its content that is part of the key.
    pub content: Content,
    /// The directives of its `Cache-Control` and `Pragma` (RFC 9111 section 5.2.1).
    pub directives: RequestDirectives,
    /// Which kinds of fields it has at all, so that a hit does not look for those that are absent.
    pub said: FieldPresence,
    /// The cache key, without the variant (RFC 9111 section 2).
    pub key: Key,
    /// `http` or `https`, as the client sees it.
    pub scheme: &'static str,
    /// When it was read. It is judged as of this time, until it has waited.
    pub now: Time,
    /// Whether it has waited before lookup, for its content or for its group.
    pub has_waited: bool,
    /// How it came, and what came besides its head.
    pub receipt: Receipt,
    /// The target as the client wrote it.
    pub target: Target,
    /// The pages that include it, if it is a fragment.
    pub within: Option<Rc<Within>>,
    /// Whether its answer is composed of fragments.
    pub composed: Cell<bool>,
}

/// What was taken out of a request's fields, so that nothing stored depends on it.
#[derive(Debug, Default)]
pub struct SetAside {
    /// The `Cookie` lines as they came, if cookies are kept out of what may be stored ([`set_cookies_aside`]). The
    /// includes of a page get them.
    pub cookies: Vec<HeaderValue>,
    /// The fields that only a trusted proxy may send, if the client is not one: the origin does not get them, and no
    /// variant depends on them.
    pub of_proxies: Vec<(HeaderName, HeaderValue)>,
}

impl Ask {
    /// Whether it is our own question for the group that a client belongs to.
    pub fn asks_group(&self) -> bool {
        self.within.as_ref().is_some_and(|within| within.asks_group)
    }

    /// Returns the credentials that its fields show.
    pub fn credentials(&self) -> Credentials {
        let has = |name| rules::fields::has(&self.fields, name);
        if has(&header::AUTHORIZATION) {
            Credentials::Authorization
        } else if has(&header::COOKIE) {
            Credentials::Cookies
        } else {
            Credentials::None
        }
    }

    /// Returns the policy of the route taken.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.route().policy
    }

    /// Returns the route taken.
    #[allow(
        clippy::indexing_slicing,
        reason = "the number comes from routing within this site, which never changes"
    )]
    pub fn route(&self) -> &Route {
        &self.site.routes[self.route]
    }

    /// Whether a reload has overruled it: the configuration in force now would ask for something else, or would judge
    /// the answer otherwise. Then only those who asked before get what it brings.
    pub fn is_overruled(&self, worker: &Worker) -> bool {
        let current = worker.site();
        !Rc::ptr_eq(&current, &self.site) && !current.judges_as(&self.site, self.route)
    }

    /// Remembers for `key` that its answer was of no use to others. An [overruled](Self::is_overruled) request leaves
    /// nothing behind: the next answer is judged by other rules, or comes from elsewhere.
    pub fn remember_unshared(&self, worker: &Worker, key: &[u8], why: Unshared, now: Time) {
        if !self.is_overruled(worker) {
            let table = &worker.cache.hit_for_miss;
            table.remember(key, self.credentials(), why, now);
        }
    }

    /// Remembers for `key` that its fetch has just failed, unless a reload has [overruled](Self::is_overruled) it.
    pub fn remember_failed(&self, worker: &Worker, key: &[u8], now: Time) {
        if !self.is_overruled(worker) {
            worker.cache.failed.remember(key, 0, now);
        }
    }

    /// Returns who asks.
    pub fn client(&self) -> Client<'_> {
        Client::over(&self.receipt.connection, &self.site)
    }

    /// Returns the authority that the request is for.
    pub fn host(&self) -> &str {
        self.key.host()
    }

    /// Returns the host by which the application knows its own origin, if the site gives another than the client's.
    pub fn known_as(&self) -> Option<&str> {
        self.policy().to_origin.host.as_ref()?.to_str().ok()
    }

    /// Returns the names of these cache groups within the request's origin (RFC 9875 section 2.1). If the key does not
    /// tell hosts apart, they are within the origin that the application knows; if it does not tell schemes apart,
    /// within both.
    pub fn groups(&self, groups: &[String]) -> Vec<String> {
        let spec = &self.policy().key;
        let schemes = if spec.scheme {
            &[self.scheme][..]
        } else {
            &["http", "https"]
        };
        let mut all = Vec::with_capacity(groups.len());
        for scheme in schemes.iter().filter(|_| !groups.is_empty()) {
            let known_as = self.known_as().filter(|_| !spec.host);
            let known_as = known_as.and_then(|host| key::normalize_host(host, scheme));
            let host = known_as.as_deref().unwrap_or_else(|| self.host());
            all.extend(
                groups
                    .iter()
                    .map(|group| marks::of_group(scheme, host, group)),
            );
        }
        all
    }

    /// Returns the target URI (RFC 9110 section 7.1).
    pub fn uri(&self) -> String {
        [self.scheme, "://", self.host(), self.key.path_and_query()].concat()
    }

    /// Puts the cookies that were set aside back into `fields`.
    pub fn take_cookies_back(&mut self) {
        if self.set_aside.cookies.is_empty() {
            return;
        }
        self.fields.remove(header::COOKIE);
        for line in mem::take(&mut self.set_aside.cookies) {
            self.fields.append(header::COOKIE, line);
        }
    }

    /// Returns the request that is made for the store after this one was answered. Its client's caching directives were
    /// about that answer, and are removed. But the fields that selected `variant` stay (RFC 9111 section 4.3.1), since
    /// that variant is fetched again.
    pub fn for_store(&self, variant: Option<&Variant>) -> Self {
        let mut fields = self.fields.clone();
        for name in [header::CACHE_CONTROL, header::PRAGMA] {
            if !variant.is_some_and(|variant| variant.nominated.contains(&name)) {
                fields.remove(name);
            }
        }
        Self {
            site: self.site.clone(),
            method: self.method.clone(),
            fields,
            set_aside: SetAside {
                cookies: self.set_aside.cookies.clone(),
                of_proxies: Vec::new(),
            },
            stand_in: None,
            content: Content {
                operation: self.content.operation.clone(),
                ..Content::default()
            },
            directives: RequestDirectives::default(),
            key: self.key.clone(),
            receipt: self.receipt.for_store(),
            target: self.target.clone(),
            within: self.within.clone(),
            composed: Cell::new(false),
            ..*self
        }
    }

    /// Takes out all the client's fields, with the values that they came with.
    pub fn fields_as_they_came(&mut self) -> HeaderMap {
        self.take_cookies_back();
        for (name, line) in mem::take(&mut self.set_aside.of_proxies) {
            self.fields.append(name, line);
        }
        mem::take(&mut self.fields)
    }

    /// Returns the `Range` field of a `GET`. It has no meaning with other methods (RFC 9110 section 14.2). Several
    /// lines count as none (section 5.3: the field is not a list).
    pub fn range(&self) -> Option<&HeaderValue> {
        if !self.said.conditions || self.method != Method::GET {
            return None;
        }
        let mut lines = self.fields.get_all(header::RANGE).iter();
        let first = lines.next()?;
        lines.next().is_none().then_some(first)
    }
}

/// Takes the cookies out of a request, except those that are part of the key. No fetch for the store and no variant
/// then depends on them. Returns the lines as they came.
pub fn set_cookies_aside(fields: &mut HeaderMap, spec: &KeySpec) -> Vec<HeaderValue> {
    let header::Entry::Occupied(entry) = fields.entry(header::COOKIE) else {
        return Vec::new();
    };
    let (_, lines) = entry.remove_entry_mult();
    let lines: Vec<HeaderValue> = lines.collect();
    if spec.cookies.is_empty() {
        return lines;
    }
    let kept: Vec<Vec<u8>> = lines
        .iter()
        .flat_map(|line| routing::cookies(line.as_bytes()))
        .filter(|cookie| {
            let mut keyed = spec.cookies.iter();
            keyed.any(|keyed| keyed.as_bytes() == cookie.name())
        })
        .map(|cookie| [cookie.name(), b"=", cookie.value].concat())
        .collect();
    if let Some(line) = routing::joined(&kept) {
        fields.insert(header::COOKIE, line);
    }
    lines
}

#[cfg(test)]
mod tests;
