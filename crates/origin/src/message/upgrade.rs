//! A request's wish for another protocol on its connection (RFC 9110 section 7.8).

use http::{
    HeaderMap, HeaderValue,
    header::{CONNECTION, UPGRADE},
};

/// What a request is without the other protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upgrade {
    /// One that can be answered all the same: a server may ignore the wish.
    Optional,
    /// The handshake of a WebSocket and nothing else (RFC 6455 section 4.1): no page is of use to its client.
    Needed,
}

impl Upgrade {
    /// Returns what the request with these fields is without the protocol that they name.
    pub(super) fn by(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(UPGRADE).iter();
        let needed = lines.map(Self::of).find(|one| *one == Self::Needed);
        needed.unwrap_or(Self::Optional)
    }

    /// Returns what a request is without the protocols that this line names.
    pub(crate) fn of(line: &HeaderValue) -> Self {
        let mut protocols = line.as_bytes().split(|byte| *byte == b',');
        if protocols.any(|one| one.trim_ascii().eq_ignore_ascii_case(b"websocket")) {
            Self::Needed
        } else {
            Self::Optional
        }
    }
}

/// Takes the wish off a request that goes on without it.
pub(crate) fn ignore_upgrade(headers: &mut HeaderMap) {
    headers.remove(UPGRADE);
    headers.remove(CONNECTION);
}
