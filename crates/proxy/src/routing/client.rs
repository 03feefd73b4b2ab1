//! The client of a request, and its scheme, if proxies that the site trusts act for others.

use crate::{listen::Connection, policy::Site};
use http::{HeaderMap, HeaderName, HeaderValue, header::FORWARDED};
use ipnet::IpNet;
use rules::forwarded::{self, Element};
use std::net::IpAddr;

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The client of a request: the peer, or the client that proxies trusted by the site act for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Client<'a> {
    /// The peer of the connection.
    pub peer: Peer,
    /// The networks of the trusted proxies.
    pub trusted: &'a [IpNet],
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub enum Peer {
    /// A peer with this address; IPv4-mapped addresses are IPv4 addresses.
    At(IpAddr),
    /// A peer on a Unix socket, which is trusted.
    #[default]
    OnSocket,
    /// An unknown peer: a proxy that did not say for whom it acts. It is in no network, and what it says is not
    /// trusted, even if the proxy itself is: anybody could have said it.
    Nameless,
}

/// How far the entries of trusted proxies lead.
struct Reach {
    client: Option<IpAddr>,
    /// The number of entries that were followed.
    words: usize,
    /// Whether what precedes these entries comes from an untrusted client.
    is_stranger: bool,
}

impl Reach {
    /// Returns, from a list whose members were added together with these entries, what the first trusted proxy said of
    /// its client.
    fn first<'a, T>(&self, list: &'a [T]) -> Option<&'a T> {
        let at = if self.is_stranger {
            list.len().saturating_sub(self.words)
        } else {
            0
        };
        list.get(at)
    }
}

impl<'a> Client<'a> {
    /// The client that asks over a connection to this site.
    pub fn over(connection: &Connection, site: &'a Site) -> Self {
        let peer = match connection.peer {
            _ if !connection.peer_asks => Peer::Nameless,
            Some(peer) => Peer::At(peer.ip()),
            None => Peer::OnSocket,
        };
        Self {
            peer,
            trusted: &site.trusted,
        }
    }

    /// Whether what the peer says about its client is trusted.
    pub fn is_believed(&self) -> bool {
        match self.peer {
            Peer::At(address) => self.believes(address),
            Peer::OnSocket => true,
            Peer::Nameless => false,
        }
    }

    fn believes(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|net| net.contains(&address))
    }

    /// Returns the client's address, if known: the last one in the request's `X-Forwarded-For`, or else in `Forwarded`,
    /// that is not a trusted proxy's. What precedes an untrusted address comes from that client itself. `None` if a
    /// trusted proxy hides the address (`unknown`), or its entry cannot be read: that may be anybody, and certainly not
    /// the proxy.
    pub fn address(&self, fields: &HeaderMap) -> Option<IpAddr> {
        if !self.is_believed() {
            return match self.peer {
                Peer::At(address) => Some(address),
                Peer::OnSocket | Peer::Nameless => None,
            };
        }
        if fields.contains_key(&X_FORWARDED_FOR) {
            self.follow(words(fields)).client
        } else {
            self.follow(told(&elements(fields))).client
        }
    }

    /// Returns the scheme that the client used, if a trusted peer tells it: in `X-Forwarded-Proto` or else, if the
    /// request is said to be `forwarded`, in `Forwarded`. Of several, it is the one told by the client's own proxy.
    pub fn scheme(&self, fields: &HeaderMap, forwarded: bool) -> Option<&'static str> {
        if !self.is_believed() {
            return None;
        }
        let mut lines = fields.get_all(&X_FORWARDED_PROTO).iter();
        let lines = (lines.next().map(HeaderValue::as_bytes), lines.next());
        match lines {
            (Some(b"https"), None) => Some("https"),
            (Some(b"http"), None) => Some("http"),
            (Some(_), _) => {
                let all: Vec<_> = members(fields, &X_FORWARDED_PROTO).collect();
                known(self.follow(words(fields)).first(&all)?)
            }
            (None, _) if forwarded => {
                let all = elements(fields);
                let first = self.follow(told(&all)).first(&all)?.as_ref();
                known(first?.get("proto")?.as_bytes())
            }
            (None, _) => None,
        }
    }

    /// Follows the entries as long as trusted proxies made them, beginning with that of the peer, which is trusted.
    fn follow(&self, said: impl Iterator<Item = Option<IpAddr>>) -> Reach {
        let mut client = match self.peer {
            Peer::At(address) => Some(address),
            Peer::OnSocket | Peer::Nameless => None,
        };
        let (mut words, mut is_stranger) = (0, false);
        for word in said {
            words += 1;
            client = word;
            is_stranger = word.is_none_or(|address| !self.believes(address));
            if is_stranger {
                break;
            }
        }
        Reach {
            client,
            words,
            is_stranger,
        }
    }
}

/// Returns the members of a list, in order. They are bytes, so that a member that is not text does not hide the others.
/// An empty member does not count (RFC 9110 section 5.6.1.2).
fn members<'a>(
    fields: &'a HeaderMap,
    name: &'static HeaderName,
) -> impl DoubleEndedIterator<Item = &'a [u8]> {
    let lines = fields.get_all(name).iter();
    let all = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    all.map(<[u8]>::trim_ascii)
        .filter(|member| !member.is_empty())
}

/// Returns the addresses in `X-Forwarded-For`, the last first.
fn words(fields: &HeaderMap) -> impl Iterator<Item = Option<IpAddr>> {
    let nodes = members(fields, &X_FORWARDED_FOR).rev();
    nodes.map(|node| forwarded::address(std::str::from_utf8(node).ok()?))
}

/// Returns the elements of `Forwarded`, in order.
fn elements(fields: &HeaderMap) -> Vec<Option<Element<'_>>> {
    let lines = fields.get_all(FORWARDED).iter();
    let lines = lines.map(HeaderValue::as_bytes);
    lines.flat_map(forwarded::elements).collect()
}

/// Returns the addresses in these elements, the last first.
fn told(elements: &[Option<Element<'_>>]) -> impl Iterator<Item = Option<IpAddr>> {
    elements
        .iter()
        .rev()
        .map(|element| forwarded::address(&element.as_ref()?.get("for")?))
}

/// Returns one of the supported schemes; case does not matter (RFC 3986 section 3.1).
fn known(scheme: &[u8]) -> Option<&'static str> {
    let scheme = scheme.trim_ascii();
    let mut all = ["https", "http"].into_iter();
    all.find(|known| scheme.eq_ignore_ascii_case(known.as_bytes()))
}
