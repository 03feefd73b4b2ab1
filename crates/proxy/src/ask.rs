//! What a request asks for, once it has been received: normalised, routed, keyed.

mod cache_key;
mod keyed_uri;

pub use cache_key::Key;
pub use keyed_uri::{chosen, key_of};

use crate::{
    cache::OwnSite,
    content_key::Content,
    hit_for_miss::Asker,
    listen::{Connection, InterimSink},
    marks,
    policy::{KeySpec, Policy, Route},
    routing,
    said::FieldPresence,
    target::Target,
    walk::esi::Within,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Version, header};
use hyper::upgrade::OnUpgrade;
use rules::{directives::RequestDirectives, key, time::Time};
use std::{cell::Cell, mem, rc::Rc, sync::Arc, time::Instant};
use store::{Stored, Variant};

/// A request that may be answered from the store. Everything but its content, as far as that is not part of the key.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent of one another: each is known of a request or not"
)]
pub struct Ask {
    /// What was configured when it came: it stays so until it is answered.
    pub site: OwnSite,
    /// Index of the route taken.
    pub route: usize,
    /// Whether the origin may take the path for one of another route ([`routing::is_ambiguous`]). Then the store is bypassed: what is
    /// kept from everybody there must not be kept for everybody here.
    pub is_ambiguous: bool,
    /// The client's method. A fetch that may be stored is a `GET` even where this is `HEAD`.
    pub method: Method,
    /// The version of HTTP that the client speaks.
    pub version: Version,
    /// The client's fields as they came, but for those of its connection and what was set aside: cookies that are kept from what may be stored
    /// ([`set_cookies_aside`]), and what only a trusted proxy may say.
    pub fields: HeaderMap,
    /// `Cookie` as it came, where it was set aside. The includes of a page get it.
    pub cookies: Vec<HeaderValue>,
    /// What it says that only a trusted proxy may, and its client is none: the origin does not get it, and no variant depends on it.
    pub aside: Vec<(HeaderName, HeaderValue)>,
    /// Whether its answer must not fill the store, whatever it is: the cookies that were set aside go to the origin then.
    pub stores_nothing: bool,
    /// What is stored and answers it no more, where it bypasses the store because of that: if the origin fails, it may have to.
    pub stand_in: Option<Arc<Stored>>,
    /// What it brings that is part of the key.
    pub content: Content,
    /// What its `Cache-Control` and `Pragma` ask for (RFC 9111 section 5.2.1).
    pub directives: RequestDirectives,
    /// What its fields speak of at all, so that a hit looks for nothing that is not there.
    pub said: FieldPresence,
    /// The key of what it asks for, without its variant (RFC 9111 section 2).
    pub key: Key,
    /// `http` or `https`, as the client sees it.
    pub scheme: &'static str,
    /// When it was read: it is judged as of this moment, until it has waited.
    pub now: Time,
    /// When it came, where the access log wants to know how long it took.
    pub began: Option<Instant>,
    /// The connection that it came on.
    pub connection: Rc<Connection>,
    /// Where interim responses for its client go.
    pub interim: InterimSink,
    /// The client's wish to switch protocols.
    pub upgrade: Option<Box<Upgrade>>,
    /// Whether it brings content.
    pub has_content: bool,
    /// Fields meant for the origin that `Connection` names: it does not get them, and the store is bypassed where that may matter.
    pub connection_options: Box<[HeaderName]>,
    /// Whether fields that `Connection` had taken away say that its peer makes it for somebody else.
    pub for_another: bool,
    /// The target as the client wrote it.
    pub target: Target,
    /// The pages whose include it is, where it is one.
    pub within: Option<Rc<Within>>,
    /// Whether its answer is composed of fragments.
    pub composed: Cell<bool>,
}

/// A client's wish to switch protocols.
#[derive(Debug)]
pub struct Upgrade {
    /// Its connection, once we have answered 101.
    pub client: OnUpgrade,
    /// What it wants to speak.
    pub protocol: HeaderValue,
}

impl Ask {
    /// What it shows of who asks.
    pub fn asker(&self) -> Asker {
        let has = |name| rules::fields::has(&self.fields, name);
        if has(&header::AUTHORIZATION) {
            Asker::WithCredentials
        } else if has(&header::COOKIE) {
            Asker::WithCookies
        } else {
            Asker::Anybody
        }
    }

    /// The policy of the route taken.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.route().policy
    }

    /// The route taken.
    #[allow(
        clippy::indexing_slicing,
        reason = "the number comes from routing within this site, which never changes"
    )]
    pub fn route(&self) -> &Route {
        &self.site.routes[self.route]
    }

    /// The authority the request is for.
    pub fn host(&self) -> &str {
        self.key.host()
    }

    /// The host by which the application knows its own origin, where the site says another than the client's.
    pub fn known_as(&self) -> Option<&str> {
        self.policy().host.as_ref()?.to_str().ok()
    }

    /// The names of these cache groups within the request's origin (RFC 9875 section 2.1); where the key does not tell hosts apart,
    /// within the one that the application knows, and where it does not tell schemes apart, within both.
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

    /// The target URI (RFC 9110 section 7.1).
    pub fn uri(&self) -> String {
        [self.scheme, "://", self.host(), self.key.path_and_query()].concat()
    }

    /// Has `fields` say again what was set aside of them.
    pub fn take_cookies_back(&mut self) {
        if self.cookies.is_empty() {
            return;
        }
        self.fields.remove(header::COOKIE);
        for line in mem::take(&mut self.cookies) {
            self.fields.append(header::COOKIE, line);
        }
    }

    /// The request that is made for the store after this one was answered: what its client says of caching was about that answer. But the
    /// fields by which `variant` was chosen stay (RFC 9111 section 4.3.1): it is that which is fetched anew.
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
            cookies: self.cookies.clone(),
            aside: Vec::new(),
            stand_in: None,
            content: Content::default(),
            directives: RequestDirectives::default(),
            key: self.key.clone(),
            began: None,
            connection: self.connection.clone(),
            interim: InterimSink::deaf(),
            upgrade: None,
            connection_options: self.connection_options.clone(),
            target: self.target.clone(),
            within: self.within.clone(),
            composed: Cell::new(false),
            ..*self
        }
    }

    /// Takes the client's fields out: all of them, and with the values they came with.
    pub fn fields_as_they_came(&mut self) -> HeaderMap {
        self.take_cookies_back();
        for (name, line) in mem::take(&mut self.aside) {
            self.fields.append(name, line);
        }
        mem::take(&mut self.fields)
    }

    /// The `Range` field of a `GET`: with no other method it means anything (RFC 9110 section 14.2). Several lines of it are none
    /// (section 5.3: it is no list).
    pub fn range(&self) -> Option<&HeaderValue> {
        if !self.said.conditions || self.method != Method::GET {
            return None;
        }
        let mut lines = self.fields.get_all(header::RANGE).iter();
        let first = lines.next()?;
        lines.next().is_none().then_some(first)
    }
}

/// Takes the cookies out of a request, all but those that are part of the key: nothing that is fetched for the store, and no
/// variant, depends on them. Returns the lines as they came.
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
    if !kept.is_empty()
        && let Ok(line) = HeaderValue::from_bytes(&kept.join(b"; ".as_slice()))
    {
        fields.insert(header::COOKIE, line);
    }
    lines
}

#[cfg(test)]
mod tests;
