//! Replay: what the walk would decide about past requests that were made elsewhere. No sockets, no store, no clock.
//!
//! The decisions are the walk's own functions: `receive` reads a request, `content_key` what a `GET` asks of a GraphQL
//! service, `lookup` decides whether it bypasses the store, and `admit` judges its answer. The caller does what takes
//! time: keeping answers. For those it calls the functions that the walk calls for its store: [`rules::reuse`] with
//! [`ReplayedRequest::reuse`], and [`way`](crate::way) with [`ReplayedRequest::terms`].

use crate::{
    ask::{Ask, Receipt},
    cache::WorkerSite,
    content_key,
    listen::{Connection, InterimSink, RequestHead},
    outcome::BypassReason,
    policy::{LifetimeMode, Site},
    purging,
    walk::{
        admit::{self, Times},
        invalidate,
        lookup::{self, Bypassed},
        receive::{self, TurnedAway},
    },
    way::Terms,
};
use http::{HeaderMap, Method, Request, StatusCode};
use rules::{
    directives::RequestDirectives,
    reuse,
    storable::{NotStorable, Storable},
    time::Time,
};
use std::{mem, rc::Rc, sync::Arc, time::Duration};
use store::Variant;

/// A site to which requests are replayed. It stays on one thread, like a worker.
#[derive(Debug)]
pub struct Replay {
    site: WorkerSite,
    interim: InterimSink,
}

/// A request as the walk has received it and looked it up.
#[derive(Debug)]
pub struct ReplayedRequest {
    ask: Box<Ask>,
    bypass: Option<BypassReason>,
}

/// The result of receiving a request, before any decision about the store.
#[derive(Debug)]
pub enum Received {
    /// It goes on to the store.
    Asked(ReplayedRequest),
    /// It came by HTTP and is redirected to HTTPS: the origin is not asked.
    Redirected,
    /// It is refused, with the reason as written in `Cache-Status`.
    Refused(&'static str),
}

impl Replay {
    /// Creates a replay of requests to `site`.
    pub fn new(site: Arc<Site>) -> Self {
        Self {
            site: Rc::new(site.into()),
            interim: InterimSink::deaf(),
        }
    }

    /// Receives a request without content that came at `at`, and sets aside cookies that the store must not see.
    pub fn receive(&self, request: Request<()>, connection: &Rc<Connection>, at: Time) -> Received {
        let mut head = RequestHead::from(request.into_parts().0);
        let receipt = Receipt::new(connection, self.interim.clone());
        let mut ask = match receive::read(self.site.clone(), &mut head, receipt, at) {
            Ok(ask) => ask,
            Err(failure) => return Received::Refused(failure.token()),
        };
        match receive::turned_away(&ask) {
            Some(TurnedAway::Refused(failure)) => return Received::Refused(failure.token()),
            Some(TurnedAway::ToHttps) => return Received::Redirected,
            None => {}
        }
        content_key::read_get(&mut ask);
        let bypass = lookup::begin(&mut ask).map(Bypassed::reason);
        Received::Asked(ReplayedRequest { ask, bypass })
    }

    /// Judges whether the answer to `asked` would be stored. This site may differ from the one that received `asked`
    /// only in lifetimes: its routes are assumed to be the same.
    ///
    /// # Errors
    /// Why it would not be.
    pub fn judge(
        &self,
        asked: &mut ReplayedRequest,
        status: StatusCode,
        fields: &HeaderMap,
        took: Duration,
    ) -> Result<Storable, NotStorable> {
        if !Rc::ptr_eq(&asked.ask.site, &self.site) {
            asked.ask.site = self.site.clone();
        }
        let now = asked.ask.now;
        let times = Times {
            request: now,
            response: now.plus(took),
            lifetime: None,
        };
        // A HEAD is forwarded as a GET.
        admit::judge(&asked.ask, &Method::GET, times, status, fields)
    }

    /// As [`judge`](Self::judge), for the answer to a refresh after a stale hit: the client's caching directives were
    /// for the hit.
    ///
    /// # Errors
    /// Why it would not be stored.
    pub fn judge_refresh(
        &self,
        asked: &mut ReplayedRequest,
        status: StatusCode,
        fields: &HeaderMap,
        took: Duration,
    ) -> Result<Storable, NotStorable> {
        let directives = mem::take(&mut asked.ask.directives);
        let judged = self.judge(asked, status, fields, took);
        asked.ask.directives = directives;
        judged
    }
}

impl ReplayedRequest {
    /// Returns the cache key.
    pub fn key(&self) -> &[u8] {
        self.ask.key.as_bytes()
    }

    /// Returns the target URI (RFC 9110 section 7.1).
    pub fn uri(&self) -> String {
        self.ask.uri()
    }

    /// Returns the request's caching directives.
    pub fn directives(&self) -> &RequestDirectives {
        &self.ask.directives
    }

    /// Returns why the store would have been bypassed, if it would.
    pub fn bypass(&self) -> Option<BypassReason> {
        self.bypass
    }

    /// Notes that a server bypassed the store for a cookie or a header field that is not known here, if `detail` says so
    /// and the route has rules of that kind. Returns whether that made the difference.
    pub fn bypass_as_told(&mut self, detail: &[u8]) -> bool {
        let rules = &self.ask.policy().bypass;
        let told = [
            (BypassReason::Cookie, !rules.cookies.is_empty()),
            (BypassReason::Header, !rules.headers.is_empty()),
        ]
        .into_iter()
        .find(|(why, has_rules)| *has_rules && why.token().as_bytes() == detail);
        let is_new = self.bypass.is_none() && told.is_some();
        self.bypass = self.bypass.or(told.map(|(why, _)| why));
        is_new
    }

    /// Returns a type that the answer may have, for one whose own is not known, where its lifetime depends on the type.
    pub fn usual_type(&self) -> Option<&'static str> {
        let is_static = self.ask.policy().lifetime.mode == LifetimeMode::Static;
        let path = is_static.then(|| self.ask.key.path())?;
        admit::usual_type(path)
    }

    /// Whether its answer may depend on the client's group of users, which only the application knows.
    pub fn is_by_group(&self) -> bool {
        self.ask.policy().user_context.is_some()
    }

    /// Returns the terms of the request.
    pub fn terms(&self) -> Terms {
        lookup::terms(&self.ask)
    }

    /// Returns the site's settings for reuse for this request.
    pub fn reuse(&self) -> reuse::Site {
        lookup::reuse_site_for(&self.ask)
    }

    /// Whether an answer of `status` counts as a failure of the origin on this site.
    pub fn is_failure(&self, status: StatusCode) -> bool {
        self.ask.policy().stale.is_failure(status)
    }

    /// Returns what would select an answer with these fields among its key's variants; `None` if any request does.
    pub fn variant(&self, fields: &HeaderMap) -> Option<Box<Variant>> {
        admit::variant(&self.ask, fields)
    }

    /// Returns the largest body that the route stores, in bytes.
    pub fn largest_body(&self) -> u64 {
        self.ask.policy().largest_body
    }

    /// Returns the keys that an answer of `status` would invalidate, without the parts that depend on request fields
    /// (RFC 9111 section 4.4). Empty if it would invalidate nothing.
    pub fn invalidated(&self, status: StatusCode, fields: &HeaderMap) -> Vec<Vec<u8>> {
        let ask = &self.ask;
        if !invalidate::invalidates(ask, status) {
            return Vec::new();
        }
        let uris = invalidate::targets(ask, fields);
        let keys = uris.iter().flat_map(|uri| purging::keys(&ask.site, uri));
        keys.map(|key| key.as_bytes().to_vec()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::sample::{fields, key_spec, policy, site};
    use http::Uri;

    fn ask(
        replay: &Replay,
        method: &Method,
        uri: &'static str,
        lines: &[(&'static str, &str)],
    ) -> ReplayedRequest {
        match receive(replay, method, uri, lines) {
            Received::Asked(asked) => asked,
            other => panic!("{other:?}"),
        }
    }

    fn receive(
        replay: &Replay,
        method: &Method,
        uri: &'static str,
        lines: &[(&'static str, &str)],
    ) -> Received {
        let mut request = Request::new(());
        *request.method_mut() = method.clone();
        *request.uri_mut() = Uri::from_static(uri);
        *request.headers_mut() = fields(lines);
        let connection = Rc::new(Connection::imagined(
            Some(([192, 0, 2, 7], 0).into()),
            false,
        ));
        let at = Time::from_secs(1_000_000);
        replay.receive(request, &connection, at)
    }

    #[test]
    fn the_walks_own_decisions() {
        let replay = Replay::new(Arc::new(site(policy(key_spec()))));
        let host = [("host", "Shop.example:80")];
        let mut asked = ask(&replay, &Method::GET, "/p%7e?a=1", &host);
        assert_eq!(asked.key(), b"http://shop.example/p~?a=1");
        assert_eq!(asked.bypass(), None);
        let mut judge = |lines: &[(&'static str, &str)]| {
            let stored = replay.judge(&mut asked, StatusCode::OK, &fields(lines), Duration::ZERO);
            stored.map(|stored| stored.facts.lifetime_ms)
        };
        assert_eq!(judge(&[("cache-control", "max-age=60")]), Ok(60_000));
        assert_eq!(
            judge(&[("cache-control", "private")]),
            Err(NotStorable::Private)
        );
        assert_eq!(judge(&[]), Err(NotStorable::NoFreshness));
        let post = ask(&replay, &Method::POST, "/p", &host);
        assert_eq!(post.bypass(), Some(BypassReason::Method));
        let keys = post.invalidated(StatusCode::FOUND, &fields(&[("location", "/q")]));
        assert_eq!(
            keys,
            [&b"http://shop.example/p"[..], b"http://shop.example/q"]
        );
        assert!(
            post.invalidated(StatusCode::NOT_FOUND, &HeaderMap::new())
                .is_empty()
        );
    }

    #[test]
    fn cookies_are_kept_from_the_store() {
        let host = ("host", "shop.example");
        let variant = |drop_cookies, cookie| {
            let mut spec = key_spec();
            spec.drop_cookies = drop_cookies;
            let replay = Replay::new(Arc::new(site(policy(spec))));
            let asked = ask(&replay, &Method::GET, "/p", &[host, ("cookie", cookie)]);
            assert!(!asked.terms().stores_nothing);
            let variant = asked.variant(&fields(&[("vary", "cookie")]));
            variant.expect("a variant").key
        };
        assert_ne!(variant(false, "sid=1"), variant(false, "sid=2"));
        assert_eq!(variant(true, "sid=1"), variant(true, "sid=2"));
    }

    #[test]
    fn a_route_for_https_alone_sends_others_there() {
        let mut policy = policy(key_spec());
        policy.redirect_https = true;
        let replay = Replay::new(Arc::new(site(policy)));
        let received = receive(&replay, &Method::GET, "/p", &[("host", "shop.example")]);
        assert!(matches!(received, Received::Redirected), "{received:?}");
    }
}
