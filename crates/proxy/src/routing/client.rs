//! Who asks, and how, where proxies that the site trusts speak for others.

use http::{HeaderMap, HeaderName, HeaderValue, header::FORWARDED};
use ipnet::IpNet;
use rules::forwarded::{self, Element};
use std::net::IpAddr;

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Who asks: the peer, or whom proxies that the site trusts speak for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Client<'a> {
    /// Who is at the other end of the connection.
    pub peer: Peer,
    /// The networks of those proxies.
    pub trusted: &'a [IpNet],
}

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub enum Peer {
    /// Whoever has this address, an IPv4 address as one.
    At(IpAddr),
    /// Somebody on a Unix socket, who is trusted.
    #[default]
    OnSocket,
    /// Nobody who is known: a proxy that did not say for whom it asks. It is in no network, and what it says is not believed, however
    /// trusted the proxy itself may be: anybody could have said it.
    Nameless,
}

/// How far the words of trusted proxies lead.
struct Reach {
    client: Option<IpAddr>,
    /// How many of them speak.
    words: usize,
    /// Whether what stands before their words is a stranger's own.
    is_stranger: bool,
}

impl Reach {
    /// Of a list whose members were said together with those words, what the first of these proxies said of its client.
    fn first<'a, T>(&self, list: &'a [T]) -> Option<&'a T> {
        let at = if self.is_stranger {
            list.len().saturating_sub(self.words)
        } else {
            0
        };
        list.get(at)
    }
}

impl Client<'_> {
    /// Whether what the peer says of somebody else is believed.
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

    /// Its address, as far as it is known: the last one in the request's `X-Forwarded-For`, or else in `Forwarded`, that no trusted
    /// proxy has. What stands before a stranger's is the stranger's own. `None` where a trusted proxy hides it (`unknown`), or says
    /// what cannot be read: that is anybody, and least of all the proxy.
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

    /// The scheme that it used, where a trusted peer tells: in `X-Forwarded-Proto` or else, if the request is said to be
    /// `forwarded`, in `Forwarded`. Of several the one that the client's own proxy says.
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

    /// Follows what is said from the peer on, who is believed, its own word first.
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

/// The members of a list, in their order, and as bytes: one that is no text hides none of the others. An empty one is none (RFC 9110
/// section 5.6.1.2).
fn members<'a>(
    fields: &'a HeaderMap,
    name: &'static HeaderName,
) -> impl DoubleEndedIterator<Item = &'a [u8]> {
    let lines = fields.get_all(name).iter();
    let all = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    all.map(<[u8]>::trim_ascii)
        .filter(|member| !member.is_empty())
}

/// The addresses that `X-Forwarded-For` tells, the last word first.
fn words(fields: &HeaderMap) -> impl Iterator<Item = Option<IpAddr>> {
    let nodes = members(fields, &X_FORWARDED_FOR).rev();
    nodes.map(|node| forwarded::address(std::str::from_utf8(node).ok()?))
}

/// What `Forwarded` says, in its order.
fn elements(fields: &HeaderMap) -> Vec<Option<Element<'_>>> {
    let lines = fields.get_all(FORWARDED).iter();
    let lines = lines.map(HeaderValue::as_bytes);
    lines.flat_map(forwarded::elements).collect()
}

/// The addresses in it, the last word first.
fn told(elements: &[Option<Element<'_>>]) -> impl Iterator<Item = Option<IpAddr>> {
    elements
        .iter()
        .rev()
        .map(|element| forwarded::address(&element.as_ref()?.get("for")?))
}

/// One of the schemes that there are here; it has no case (RFC 3986 section 3.1).
fn known(scheme: &[u8]) -> Option<&'static str> {
    let scheme = scheme.trim_ascii();
    let mut all = ["https", "http"].into_iter();
    all.find(|known| scheme.eq_ignore_ascii_case(known.as_bytes()))
}
