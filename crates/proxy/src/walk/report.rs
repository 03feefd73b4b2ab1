//! Report: what an answer says about how it was made, and what is recorded of that: `Cache-Status`, counters, the
//! access log.

use crate::{
    ask::Ask,
    body::ReplyBody,
    cache::Worker,
    clock, heads,
    listen::{Connection, OwnAnswer, RequestHead},
    outcome::{Detail, Ending, Outcome, Record, bump},
    policy::{Report, Site},
    purge_clients::REFRESH,
    routing::Client,
    said::FieldPresence,
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header,
    uri::{Authority, PathAndQuery},
};
use rules::status::{Handled, Member};
use std::{
    borrow::Cow,
    net::IpAddr,
    rc::Rc,
    time::{Duration, Instant},
};

/// The field of RFC 9211.
pub const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// Adds `Cache-Status` and the site's other fields that say how the answer was made.
pub fn fields(
    worker: &Worker,
    fields: &mut HeaderMap,
    site: &Site,
    status: StatusCode,
    outcome: &Outcome,
    ask: Option<&Ask>,
) {
    let Report {
        cache_status,
        key,
        x_cache,
        node,
    } = &site.report;
    if *cache_status {
        let key = ask.filter(|_| *key).map(|ask| ask.key.text());
        let value = self::cache_status(worker, site, status, outcome, key.as_deref());
        // Caches append: the last member is the one nearest to the client (RFC 9211 section 2).
        heads::add(fields, CACHE_STATUS, Rc::unwrap_or_clone(value));
    } else {
        heads::clear_unset(fields, &CACHE_STATUS);
    }
    if let Some(name) = x_cache {
        fields.insert(name, HeaderValue::from_static(outcome.nginx_word()));
    }
    if let Some((name, value)) = node {
        fields.insert(name, value.clone());
    }
}

/// Returns our member of `Cache-Status`, with the key if that is given.
#[inline]
pub fn cache_status(
    worker: &Worker,
    site: &Site,
    status: StatusCode,
    outcome: &Outcome,
    key: Option<&str>,
) -> Rc<HeaderValue> {
    let detail = outcome.detail.as_ref().map(Detail::token);
    let member = Member {
        name: &site.name,
        handled: told(outcome.handled, status),
        ttl: outcome.ttl,
        key,
        detail,
    };
    match member {
        Member {
            handled: Handled::Hit,
            ttl: Some(ttl @ 0..),
            key: None,
            detail: None,
            name,
        } => {
            let mut told = worker.told.borrow_mut();
            told.hit(name, ttl.cast_unsigned(), || member.to_value())
        }
        Member {
            handled: handled @ Handled::Forwarded { .. },
            ttl,
            key: None,
            name,
            ..
        } => {
            let mut told = worker.told.borrow_mut();
            told.forwarded(name, (handled, ttl, detail), || member.to_value())
        }
        _ => member.to_value().into(),
    }
}

/// Leaves out `fwd-status` if it is the status that is sent (RFC 9211 section 2.3).
fn told(handled: Handled, sent: StatusCode) -> Handled {
    match handled {
        Handled::Forwarded {
            why,
            status: Some(status),
            stored,
            collapsed,
        } if status == sent.as_u16() => Handled::Forwarded {
            why,
            status: None,
            stored,
            collapsed,
        },
        other => other,
    }
}

/// Whether we ask for ourselves: which group a client belongs to, or for what a soft purge has made stale. Includes are
/// for a page's client.
pub fn is_ours(ask: &Ask) -> bool {
    ask.receipt.connection.is_ours || ask.within.as_ref().is_some_and(|within| within.asks_group)
}

/// Counts the answer to a client or an include. Its record goes to the access log when `body` has ended. Of what we ask
/// for ourselves, a fetch after a soft purge is a refresh.
pub fn note(
    worker: &Worker,
    ask: &Ask,
    status: StatusCode,
    outcome: &Outcome,
    body: &mut ReplyBody,
) {
    if is_ours(ask) {
        let is_fetched = matches!(
            outcome.handled,
            Handled::Forwarded {
                collapsed: false,
                ..
            }
        );
        if is_fetched && ask.within.is_none() {
            bump(&worker.counters.refreshes);
        }
        return;
    }
    worker.counters.count(outcome, status);
    if let (Some(log), Some(began)) = (&worker.log, ask.receipt.began) {
        let record = record(ask, status, outcome);
        let ending = Ending::new(record, began, log.clone(), worker.counters.clone());
        body.watched(ending);
    }
}

/// Logs that a request ended with this status and this many bytes of content, without an answer from the walk.
pub fn unanswered(
    worker: &Worker,
    ask: &Ask,
    status: StatusCode,
    (outcome, bytes): (&Outcome, u64),
) {
    if let (Some(log), Some(began)) = (&worker.log, ask.receipt.began) {
        let record = Record {
            bytes,
            ..record(ask, status, outcome)
        };
        drop(Ending::new(
            record,
            began,
            log.clone(),
            worker.counters.clone(),
        ));
    }
}

/// Counts an answer that a listener gave by itself, logs it if the listener knows the request, and returns the
/// [`fields`] that say how it was made.
pub fn of_listener(worker: &Worker, own: &OwnAnswer<'_>) -> HeaderMap {
    let site = worker.site();
    let outcome = Outcome {
        detail: own.detail.map(Detail::Refused),
        ..Outcome::OWN
    };
    worker.counters.count(&outcome, own.status);
    if let (Some(log), Some((head, connection))) = (&worker.log, own.request) {
        let target = head.uri.path_and_query();
        let unrouted = Unrouted {
            client: Client::over(connection, &site).address(&head.headers),
            method: head.method.clone(),
            version: head.version,
            target: target.map_or("", PathAndQuery::as_str).to_owned(),
            authority: head.uri.authority().map(Authority::as_str),
            fields: &head.headers,
        };
        let record = Record {
            bytes: own.bytes,
            ..unrouted.record(own.status, &outcome)
        };
        let (log, counters) = (log.clone(), worker.counters.clone());
        drop(Ending::new(record, Instant::now(), log, counters));
    }
    let mut told = HeaderMap::new();
    fields(worker, &mut told, &site, own.status, &outcome, None);
    told
}

/// Logs, when `body` has ended, that a request was refused before it had a route.
pub fn refused(
    worker: &Worker,
    (head, connection): (&RequestHead, &Connection),
    (status, outcome): (StatusCode, &Outcome),
    body: &mut ReplyBody,
) {
    let Some(log) = &worker.log else {
        return;
    };
    let target = head.target.origin_form();
    let unrouted = Unrouted {
        client: Client::over(connection, &worker.site()).address(&head.fields),
        method: method(head.said, &head.method),
        version: head.version,
        // The target of `CONNECT` is only an authority.
        target: target.map_or_else(|| head.target.to_string(), Cow::into_owned),
        authority: head.target.authority(),
        fields: &head.fields,
    };
    let record = unrouted.record(status, outcome);
    let (log, counters) = (log.clone(), worker.counters.clone());
    body.watched(Ending::new(record, Instant::now(), log, counters));
}

/// A request that has no route.
struct Unrouted<'a> {
    client: Option<IpAddr>,
    method: Method,
    version: Version,
    target: String,
    /// The authority in the target, if it has one.
    authority: Option<&'a str>,
    fields: &'a HeaderMap,
}

impl Unrouted<'_> {
    /// Returns the record for the log. Its host is as the client wrote it.
    fn record(self, status: StatusCode, outcome: &Outcome) -> Record {
        let field = self.fields.get(header::HOST).map(HeaderValue::as_bytes);
        let host = match self.authority {
            Some(authority) => authority.into(),
            None => String::from_utf8_lossy(field.unwrap_or_default()),
        };
        Record {
            client: self.client,
            method: self.method,
            target: self.target,
            host: host.into_owned(),
            version: self.version,
            status,
            referer: self.fields.get(header::REFERER).cloned(),
            user_agent: self.fields.get(header::USER_AGENT).cloned(),
            cache: outcome.nginx_word(),
            detail: outcome.detail.as_ref().map(Detail::token),
            origin_time: None,
            at_ms: clock::now().as_millis(),
            took: Duration::ZERO,
            bytes: 0,
        }
    }
}

/// Returns the method as the client sent it.
fn method(said: FieldPresence, method: &Method) -> Method {
    if said.as_refresh {
        Method::from_bytes(REFRESH.as_bytes()).unwrap_or_default()
    } else {
        method.clone()
    }
}

fn record(ask: &Ask, status: StatusCode, outcome: &Outcome) -> Record {
    let target = ask.target.origin_form().unwrap_or("/".into());
    Record {
        client: ask.client().address(&ask.fields),
        method: method(ask.said, &ask.method),
        target: target.into_owned(),
        host: ask.host().to_owned(),
        version: ask.version,
        status,
        referer: ask.fields.get(header::REFERER).cloned(),
        user_agent: ask.fields.get(header::USER_AGENT).cloned(),
        cache: outcome.nginx_word(),
        detail: outcome.detail.as_ref().map(Detail::token),
        origin_time: outcome.origin_time,
        at_ms: ask.now.as_millis(),
        took: Duration::ZERO,
        bytes: 0,
    }
}
