//! What comes with a request besides its head: content, a wish to switch protocols, fields for its connection alone.

use crate::{
    ask::Upgrade,
    listen::{RequestBody, RequestHead},
    policy::PurgePolicy,
    said::FieldPresence,
};
use http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts};
use http_body::Body as _;
use hyper::upgrade::OnUpgrade;
use rules::fields;

/// What a request brings with its head.
#[derive(Debug, Default)]
pub struct Brought {
    /// What it wants to switch to; `None` if it wants no other protocol.
    pub upgrade: Option<Box<Upgrade>>,
    /// Whether it brings content.
    pub content: bool,
}

impl Brought {
    /// Takes the client's connection out of `parts` if it wants to switch protocols.
    pub fn with(parts: &mut Parts, content: &RequestBody) -> Self {
        Self {
            upgrade: upgrade(parts),
            content: !content.is_end_stream(),
        }
    }
}

/// What is known of a request besides its head.
#[derive(Debug, Default)]
pub struct Beside {
    pub(super) brought: Brought,
    /// Whether its time is measured: there is an access log.
    pub(super) timed: bool,
    /// The fields that its `Connection` named, which were removed.
    pub(super) connection_options: Box<[HeaderName]>,
    /// Whether its fields, before these were removed, said that it is made for another client than its peer.
    pub(super) for_another: bool,
}

impl Beside {
    /// For a request with this head and nothing else. Removes the fields that are for its connection alone.
    pub fn received(head: &mut RequestHead) -> Self {
        let mut beside = Self::default();
        beside.end_connection(head);
        beside
    }

    /// Removes the fields that are for the connection alone: what the origin does not get must not select a variant
    /// either.
    pub(super) fn end_connection(&mut self, head: &mut RequestHead) {
        let fields = &mut head.fields;
        let lines = || fields.get_all(header::CONNECTION).iter();
        if head.said.connection && lines().any(has_options) {
            self.for_another = PurgePolicy::is_for_another(fields);
            self.connection_options = fields::remove_hop_by_hop_but_end_to_end(fields);
            head.said = FieldPresence::by(fields);
        }
    }
}

/// Takes out the client's wish to switch protocols.
fn upgrade(parts: &mut Parts) -> Option<Box<Upgrade>> {
    let client = parts.extensions.remove::<OnUpgrade>()?;
    let protocol = protocol(&parts.headers)?.clone();
    Some(Box::new(Upgrade { client, protocol }))
}

/// Returns the protocol that these fields ask for (RFC 9110 section 7.8). `h2c` is not offered: requests in a tunnel
/// are not read here, so they would bypass every rule of the site.
pub fn protocol(fields: &HeaderMap) -> Option<&HeaderValue> {
    // As bytes: a line that is no text besides the token still goes on as it came.
    let names = |name: HeaderName, token: &[u8]| {
        let mut lines = fields.get_all(name).iter();
        lines.any(|line| {
            let mut words = line.as_bytes().split(|byte| *byte == b',');
            words.any(|word| word.trim_ascii().eq_ignore_ascii_case(token))
        })
    };
    let offered = names(header::CONNECTION, b"upgrade") && !names(header::UPGRADE, b"h2c");
    fields.get(header::UPGRADE).filter(|_| offered)
}

/// Whether `Connection` says more than whether the connection stays open.
fn has_options(connection: &HeaderValue) -> bool {
    let plain = [&b"keep-alive"[..], b"close"];
    !plain
        .iter()
        .any(|word| connection.as_bytes().eq_ignore_ascii_case(word))
}
