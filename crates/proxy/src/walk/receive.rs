//! Receive: checks bounds and syntax, finds route and key. `authority` reads scheme and host, `method` judges the method.

mod authority;
mod method;

use crate::{
    ask::{Ask, Key, Receipt, SetAside, chosen},
    cache::WorkerSite,
    clock,
    content_key::Content,
    error::{BadRequest, Failure},
    listen::{Connection, RequestHead},
    policy::Site,
    routing::{self, Client, Subject},
    walk::outbound,
};
use authority::{host, scheme};
use http::{HeaderMap, HeaderValue, Version, header};
use rules::{
    directives::{self, RequestDirectives},
    method::is_retrieval,
    time::Time,
};
use std::{cell::Cell, mem};

/// Reads a request: what it asks for, under which key, on which route. The request may [want HTTPS](is_redirected).
/// Takes out of the head what is needed of it. The result is boxed because it is large and passed on through the whole
/// walk.
///
/// # Errors
/// If the request is not understood or not offered, and has no route.
pub fn receive(
    site: WorkerSite,
    head: &mut RequestHead,
    mut receipt: Receipt,
) -> Result<Box<Ask>, Failure> {
    receipt.end_connection(head);
    read(site, head, receipt, clock::now())
}

/// Returns an error if the request is not for its connection because its target has the other scheme of `http` and
/// `https`. Over HTTP/2 each request names a scheme, and a proxy that ends TLS before us may leave it as it was.
pub fn misdirected(ask: &Ask) -> Option<Failure> {
    let told = ask
        .target
        .scheme()
        .filter(|_| ask.version < Version::HTTP_2)?;
    (told != ask.scheme).then_some(Failure::Misdirected)
}

/// What a route answers in place of the origin.
pub enum TurnedAway {
    /// It refuses the request.
    Refused(Failure),
    /// It sends the client to HTTPS.
    ToHttps,
}

/// Returns what its route answers the request in place of the origin, if it does.
#[inline]
pub fn turned_away(ask: &Ask) -> Option<TurnedAway> {
    match ask.policy().refuses {
        Some(status) => Some(TurnedAway::Refused(Failure::Denied(status))),
        None => is_redirected(ask).then_some(TurnedAway::ToHttps),
    }
}

/// Whether its route sends the request to HTTPS.
pub fn is_redirected(ask: &Ask) -> bool {
    ask.policy().redirect_https && ask.scheme == "http"
}

/// Like [`receive`], at `now`, for a head that is read as it is: from HTTP/1, without fields for its connection alone.
///
/// # Errors
/// See [`receive`].
pub fn read(
    site: WorkerSite,
    head: &mut RequestHead,
    mut receipt: Receipt,
    now: Time,
) -> Result<Box<Ask>, Failure> {
    if !is_retrieval(&head.method) {
        method::check(&site.routes, &head.method)?;
    }
    if head.fields.len() > head.fields.keys_len() {
        join_cookies(&mut head.fields);
    }
    let Routed {
        route,
        is_ambiguous,
        overrides,
        scheme,
        key,
    } = routed(&site, head, &receipt.connection)?;
    let client = Client::over(&receipt.connection, &site);
    let of_proxies = match site.routes.get(route) {
        Some(route) if head.said.of_proxies && !client.is_believed() => {
            outbound::set_aside(&mut head.fields, &route.policy, overrides)
        }
        _ => Vec::new(),
    };
    if let Some(upgrade) = &receipt.upgrade
        && let Some(route) = site.routes.get(route)
        && !route.policy.origin.heeds_upgrade(&upgrade.protocol)
    {
        // From here on it is a request like any other.
        receipt.upgrade = None;
    }
    let directives = if head.said.directives {
        directives::request(&head.fields)
    } else {
        RequestDirectives::default()
    };
    Ok(Box::new(Ask {
        site,
        route,
        is_ambiguous,
        method: mem::take(&mut head.method),
        version: head.version,
        fields: mem::take(&mut head.fields),
        set_aside: SetAside {
            cookies: Vec::new(),
            of_proxies,
        },
        stores_nothing: false,
        stand_in: None,
        content: Content::default(),
        directives,
        said: head.said,
        key,
        scheme,
        now,
        has_waited: false,
        receipt,
        target: head.target.clone(),
        within: None,
        composed: Cell::new(false),
    }))
}

/// Where a request goes, and under which key.
struct Routed {
    route: usize,
    is_ambiguous: bool,
    /// Whether any client may have its method taken for the one that it names.
    overrides: bool,
    scheme: &'static str,
    key: Key,
}

#[inline]
fn routed(site: &Site, head: &RequestHead, connection: &Connection) -> Result<Routed, Failure> {
    let client = Client::over(connection, site);
    let scheme = scheme(client, &head.fields, head.said.forwarded, connection);
    let host = host(head, scheme, connection)?;
    let (path, query) = head.target.normal();
    let subject = Subject {
        host: routing::without_port(&host),
        path: &path,
        query: query.as_deref(),
        method: &head.method,
        fields: &head.fields,
        client,
    };
    let taken = routing::take(&site.routes, &subject);
    let (route, is_ambiguous) = taken;
    let Some(chosen_route) = site.routes.get(route) else {
        return Err(Failure::BadRequest(BadRequest::NoRoute));
    };
    let policy = &chosen_route.policy;
    // What routes make of a method holds for a request that is meant with it.
    let overrides = head.said.of_proxies
        && outbound::may_be_overridden(&head.method, policy)
        && outbound::all_name(&head.fields, |method| {
            routing::take(&site.routes, &Subject { method, ..subject }) == taken
        });
    let query = chosen(policy, query);
    let mut key = Key::build(&policy.key, scheme, &host, &path, query.as_deref());
    key.extend(chosen_route, &head.fields);
    if head.said.told && client.is_believed() {
        outbound::key_what_is_told(&mut key, scheme, &head.fields, policy);
    }
    Ok(Routed {
        route,
        is_ambiguous,
        overrides,
        scheme,
        key,
    })
}

/// Joins cookie lines. Only over HTTP/2 may a client send its cookies in several lines (RFC 6265 section 5.4, RFC 9113
/// section 8.2.3). All other recipients expect one. Of several, some applications read the first alone, and others put
/// commas between them. Lines with nothing in them are left out.
fn join_cookies(fields: &mut HeaderMap) {
    if fields.get_all(header::COOKIE).iter().nth(1).is_none() {
        return;
    }
    let lines = fields.get_all(header::COOKIE).iter();
    let lines: Vec<_> = lines
        .map(HeaderValue::as_bytes)
        .filter(|line| !line.is_empty())
        .collect();
    match routing::joined(&lines) {
        Some(joined) => fields.insert(header::COOKIE, joined),
        None => fields.remove(header::COOKIE),
    };
}
