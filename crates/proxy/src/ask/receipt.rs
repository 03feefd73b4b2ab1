//! How a request came: on which connection, and what came besides its head.

use crate::{
    listen::{Connection, InterimSink, RequestBody, RequestHead},
    policy::PurgePolicy,
    said::FieldPresence,
};
use http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts};
use http_body::Body as _;
use hyper::upgrade::OnUpgrade;
use rules::fields;
use std::{rc::Rc, time::Instant};

/// How a request came: on which connection, and what came besides its head.
#[derive(Debug)]
pub struct Receipt {
    /// The connection on which it came.
    pub connection: Rc<Connection>,
    /// The sink for interim responses to its client.
    pub interim: InterimSink,
    /// When it came, if the access log needs its duration.
    pub began: Option<Instant>,
    /// The client's request to switch protocols. Once the route is known, only one that its origin heeds.
    pub upgrade: Option<Box<Upgrade>>,
    /// Whether it has content.
    pub has_content: bool,
    /// Fields meant for the origin that `Connection` names. The origin does not get them, and the store is bypassed if
    /// they may matter.
    pub connection_options: Box<[HeaderName]>,
    /// Whether fields that were removed because `Connection` named them say that its peer acts for somebody else.
    pub for_another: bool,
}

/// A client's request to switch protocols.
#[derive(Debug)]
pub struct Upgrade {
    /// The client's connection, once it has been answered with 101.
    pub client: OnUpgrade,
    /// The protocol that the client asks for.
    pub protocol: HeaderValue,
}

impl Receipt {
    /// Of a request that is only a head, and whose time is not measured.
    #[inline]
    pub fn new(connection: &Rc<Connection>, interim: InterimSink) -> Self {
        Self {
            connection: connection.clone(),
            interim,
            began: None,
            upgrade: None,
            has_content: false,
            connection_options: Box::default(),
            for_another: false,
        }
    }

    /// Notes the time if it is `measured`.
    #[inline]
    #[must_use]
    pub fn timed(self, measured: bool) -> Self {
        Self {
            began: measured.then(Instant::now),
            ..self
        }
    }

    /// Notes what comes with the head. Takes the client's connection out of `parts` if it wants to switch protocols.
    #[must_use]
    pub fn with(self, parts: &mut Parts, content: &RequestBody) -> Self {
        Self {
            upgrade: upgrade(parts),
            has_content: !content.is_end_stream(),
            ..self
        }
    }

    /// Removes the fields that are for the connection alone: what the origin does not get must not select a variant
    /// either.
    pub fn end_connection(&mut self, head: &mut RequestHead) {
        let fields = &mut head.fields;
        let lines = || fields.get_all(header::CONNECTION).iter();
        if head.said.connection && lines().any(has_options) {
            self.for_another = PurgePolicy::is_for_another(&head.target, fields);
            self.connection_options = fields::remove_hop_by_hop_but_end_to_end(fields);
            head.said = FieldPresence::by(fields);
        }
    }

    /// Returns that of the request which is made for the store after this one was answered.
    pub(super) fn for_store(&self) -> Self {
        Self {
            connection: self.connection.clone(),
            interim: InterimSink::deaf(),
            began: None,
            upgrade: None,
            connection_options: self.connection_options.clone(),
            ..*self
        }
    }
}

/// Takes out the client's wish to switch protocols.
fn upgrade(parts: &mut Parts) -> Option<Box<Upgrade>> {
    let client = parts.extensions.remove::<OnUpgrade>()?;
    let protocol = protocol(&parts.headers)?.clone();
    Some(Box::new(Upgrade { client, protocol }))
}

/// Names for HTTP, by itself or within TLS (RFC 2817), in `Upgrade`. A version may follow (`HTTP/2.0`).
const HTTP: [&[u8]; 4] = [b"h2c", b"h2", b"http", b"tls"];

/// Returns the protocol that these fields ask for (RFC 9110 section 7.8). [`HTTP`] is not offered: requests in a tunnel
/// are not read here, so they would bypass every rule of the site.
pub fn protocol(fields: &HeaderMap) -> Option<&HeaderValue> {
    // As bytes: a line that is no text besides the token still goes on as it came.
    let names = |name: HeaderName, tokens: &[&[u8]]| {
        let mut lines = fields.get_all(name).iter();
        lines.any(|line| {
            let mut words = line.as_bytes().split(|byte| *byte == b',');
            words.any(|word| {
                let name = word.split(|byte| *byte == b'/').next();
                let name = name.unwrap_or_default().trim_ascii();
                tokens.iter().any(|token| name.eq_ignore_ascii_case(token))
            })
        })
    };
    let offered = names(header::CONNECTION, &[b"upgrade"]) && !names(header::UPGRADE, &HTTP);
    fields.get(header::UPGRADE).filter(|_| offered)
}

/// Whether `Connection` says more than whether the connection stays open.
fn has_options(connection: &HeaderValue) -> bool {
    let plain = [&b"keep-alive"[..], b"close"];
    !plain
        .iter()
        .any(|word| connection.as_bytes().eq_ignore_ascii_case(word))
}
