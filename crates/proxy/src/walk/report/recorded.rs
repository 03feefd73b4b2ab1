//! What is recorded of an answer: counters and the access log.

use super::fields;
use crate::{
    ask::Ask,
    body::ReplyBody,
    cache::Worker,
    clock,
    listen::{Connection, OwnAnswer, RequestHead},
    outcome::{Detail, Ending, Excerpt, Outcome, Record, bump},
    purge_clients::REFRESH,
    routing::Client,
    said::FieldPresence,
};
use http::{
    HeaderMap, HeaderValue, Method, StatusCode, Version, header,
    uri::{Authority, PathAndQuery},
};
use rules::status::Handled;
use std::{
    borrow::Cow,
    net::IpAddr,
    time::{Duration, Instant},
};

/// Whether we ask for ourselves: which group a client belongs to, or for what a soft purge has made stale. Includes are
/// for a page's client.
pub fn is_ours(ask: &Ask) -> bool {
    ask.receipt.connection.is_ours || ask.asks_group()
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
            target: target.map_or("", PathAndQuery::as_str).into(),
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
        target: target.unwrap_or_else(|| head.target.to_string().into()),
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
    target: Cow<'a, str>,
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
            text: excerpt(&self.target, &host, self.fields),
            version: self.version,
            status,
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

fn excerpt(target: &str, host: &str, fields: &HeaderMap) -> Excerpt {
    let (referer, user_agent) = (fields.get(header::REFERER), fields.get(header::USER_AGENT));
    Excerpt::new(target, host, referer, user_agent)
}

fn record(ask: &Ask, status: StatusCode, outcome: &Outcome) -> Record {
    let target = ask.target.origin_form().unwrap_or("/".into());
    Record {
        client: ask.client().address(&ask.fields),
        method: method(ask.said, &ask.method),
        text: excerpt(&target, ask.host(), &ask.fields),
        version: ask.version,
        status,
        cache: outcome.nginx_word(),
        detail: outcome.detail.as_ref().map(Detail::token),
        origin_time: outcome.origin_time,
        at_ms: ask.now.as_millis(),
        took: Duration::ZERO,
        bytes: 0,
    }
}
