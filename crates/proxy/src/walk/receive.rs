//! Receive: bounds and syntax, route, key. Scheme and host are read in `authority`.

mod authority;

use crate::{
    ask::{Ask, Key, Said, Upgrade, chosen},
    cache::{OwnSite, Worker},
    content_key::Content,
    error::Failure,
    listen::{Connection, InterimSink, RequestBody},
    policy::{PurgePolicy, Site},
    routing::{self, Peer, Subject},
};
use authority::{host, scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Version, header, request::Parts};
use http_body::Body as _;
use hyper::upgrade::OnUpgrade;
use rules::{
    directives::{self, RequestDirectives},
    fields, key,
    time::Time,
};
use std::{
    borrow::Cow,
    cell::Cell,
    mem,
    rc::Rc,
    time::{Instant, SystemTime},
};

/// The present moment.
pub fn now() -> Time {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    Time::from_millis(since.as_millis() as u64)
}

/// Reads a request, whose fields speak of what is `said`: what it asks for, under which key, on which route. That may
/// [want HTTPS](is_redirected).
///
/// # Errors
/// It is not understood or not offered, and has no route.
pub fn receive(
    worker: &Rc<Worker>,
    mut parts: Parts,
    said: Said,
    content: &RequestBody,
    connection: &Rc<Connection>,
    interim: InterimSink,
) -> Result<Ask, Failure> {
    if parts.version == Version::HTTP_2 {
        join_cookies(&mut parts.headers);
    }
    let mut beside = Beside {
        upgrade: upgrade(&mut parts),
        timed: worker.log.is_some(),
        has_content: !content.is_end_stream(),
        ..Beside::saying(said)
    };
    beside.end_connection(&mut parts.headers);
    let site = worker.site();
    read(&site, parts, connection, interim, &mut beside, now())
}

/// Whether its route sends the request to HTTPS.
pub fn is_redirected(ask: &Ask) -> bool {
    ask.policy().redirect_https && ask.scheme == "http"
}

/// What is known of a request beside its head.
pub struct Beside {
    /// What its fields speak of.
    said: Said,
    upgrade: Option<Box<Upgrade>>,
    timed: bool,
    has_content: bool,
    nominated: Box<[HeaderName]>,
    for_another: bool,
}

impl Beside {
    /// Of a request with these fields and nothing more.
    pub fn of(fields: &HeaderMap) -> Self {
        Self::saying(Said::by(fields))
    }

    fn saying(said: Said) -> Self {
        Self {
            said,
            upgrade: None,
            timed: false,
            has_content: false,
            nominated: Box::default(),
            for_another: false,
        }
    }

    /// Of a request with these fields, of which those go that are for its connection alone.
    pub fn received(fields: &mut HeaderMap) -> Self {
        let mut beside = Self::of(fields);
        beside.end_connection(fields);
        beside
    }

    /// Takes away the fields that are for the connection alone: what the origin does not get must not choose a variant either.
    fn end_connection(&mut self, fields: &mut HeaderMap) {
        let lines = || fields.get_all(header::CONNECTION).iter();
        if self.said.connection && lines().any(nominates) {
            self.for_another = PurgePolicy::is_for_another(fields);
            self.nominated = fields::remove_hop_by_hop_but_end_to_end(fields);
            self.said = Said::by(fields);
        }
    }
}

/// What a request asks for at `now`, under which key, on which route.
pub fn read(
    site: &OwnSite,
    parts: Parts,
    connection: &Rc<Connection>,
    interim: InterimSink,
    beside: &mut Beside,
    now: Time,
) -> Result<Ask, Failure> {
    if parts.method == Method::CONNECT {
        return Err(Failure::MethodNotAllowed);
    }
    let client = client(connection, site);
    let scheme = scheme(client, &parts.headers, beside.said.forwarded, connection);
    let host = host(&parts, scheme, connection)?;
    let path = match parts.uri.path() {
        "" => Cow::Borrowed("/"),
        path => key::normalize(path),
    };
    let query = parts.uri.query().map(key::normalize);
    let subject = Subject {
        host: routing::without_port(&host),
        path: &path,
        query: query.as_deref(),
        method: &parts.method,
        fields: &parts.headers,
        client,
    };
    let route = routing::choose(&site.routes, &subject);
    let Some(chosen_route) = site.routes.get(route) else {
        return Err(Failure::BadRequest("no-route"));
    };
    let is_ambiguous = routing::is_ambiguous(&site.routes, &subject, route);
    let policy = &chosen_route.policy;
    let query = chosen(policy, query);
    let mut key = Key::build(&policy.key, scheme, &host, &path, query.as_deref());
    key.extend(chosen_route, &parts.headers);
    let directives = if beside.said.directives {
        directives::request(&parts.headers)
    } else {
        RequestDirectives::default()
    };
    drop((path, query, host));
    Ok(Ask {
        site: site.clone(),
        route,
        is_ambiguous,
        method: parts.method,
        version: parts.version,
        fields: parts.headers,
        cookies: Vec::new(),
        stores_nothing: false,
        content: Content::default(),
        directives,
        said: beside.said,
        key,
        scheme,
        now,
        began: beside.timed.then(Instant::now),
        connection: connection.clone(),
        interim,
        upgrade: beside.upgrade.take(),
        has_content: beside.has_content,
        nominated: mem::take(&mut beside.nominated),
        for_another: beside.for_another,
        uri: parts.uri,
        within: None,
        composed: Cell::new(false),
    })
}

/// HTTP/2 lets a client send its cookies in several lines; anybody else expects one (RFC 9113 section 8.2.3).
fn join_cookies(fields: &mut HeaderMap) {
    if fields.get_all(header::COOKIE).iter().nth(1).is_none() {
        return;
    }
    let lines: Vec<_> = fields
        .get_all(header::COOKIE)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    if let Ok(joined) = HeaderValue::from_bytes(&lines.join(&b"; "[..])) {
        fields.insert(header::COOKIE, joined);
    }
}

/// The client's wish to switch protocols.
fn upgrade(parts: &mut Parts) -> Option<Box<Upgrade>> {
    let client = parts.extensions.remove::<OnUpgrade>()?;
    let protocol = protocol(&parts.headers)?.clone();
    Some(Box::new(Upgrade { client, protocol }))
}

/// The protocol that these fields ask for (RFC 9110 section 7.8). `h2c` is not offered: a tunnel of requests that nobody here
/// reads would go past every rule of the site.
pub fn protocol(fields: &HeaderMap) -> Option<&HeaderValue> {
    let names = |name: HeaderName, token: &str| {
        let mut lines = fields
            .get_all(name)
            .iter()
            .filter_map(|line| line.to_str().ok());
        lines.any(|line| {
            line.split(',')
                .any(|word| word.trim().eq_ignore_ascii_case(token))
        })
    };
    let offered = names(header::CONNECTION, "upgrade") && !names(header::UPGRADE, "h2c");
    fields.get(header::UPGRADE).filter(|_| offered)
}

/// Whether `Connection` says more than that the connection stays or goes.
fn nominates(connection: &HeaderValue) -> bool {
    let plain = [&b"keep-alive"[..], b"close"];
    !plain
        .iter()
        .any(|word| connection.as_bytes().eq_ignore_ascii_case(word))
}

/// Who asks over a connection to this site.
pub fn client<'a>(connection: &Connection, site: &'a Site) -> routing::Client<'a> {
    let peer = match connection.peer {
        _ if !connection.peer_asks => Peer::Nameless,
        Some(peer) => Peer::At(peer.ip()),
        None => Peer::OnSocket,
    };
    routing::Client {
        peer,
        trusted: &site.trusted,
    }
}
