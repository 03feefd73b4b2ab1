//! What is asked for: servers, requests, and their order.

pub mod choice;
pub mod list;
pub mod sitemap;

#[cfg(test)]
mod tests;

use crate::{plan::Version, url::Base};
use bytes::Bytes;
use choice::Choice;
use http::{HeaderName, HeaderValue, Method, header};
use rustls::pki_types::ServerName;
use std::{
    io::Write,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket},
};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Site {
    /// The servers.
    pub origins: Vec<Origin>,
    /// The requests.
    pub requests: Vec<Request>,
    /// How the next request is chosen.
    pub choice: Choice,
}

/// A server and its addresses.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Scheme, host and port.
    pub url: Base,
    /// Its addresses; empty if the name is not known.
    pub addresses: Vec<SocketAddr>,
    /// The name that it must prove if it speaks TLS.
    pub(crate) server_name: Option<ServerName<'static>>,
}

impl Origin {
    /// Resolves the name.
    pub fn resolve(url: Base) -> Self {
        let found = (url.host.as_str(), url.port).to_socket_addrs();
        let addresses = found.map(Iterator::collect).unwrap_or_default();
        let server_name = ServerName::try_from(url.host.clone()).ok();
        Self {
            url,
            addresses,
            server_name,
        }
    }

    /// Whether each of its addresses is one of this machine's.
    pub fn is_here(&self) -> bool {
        self.addresses.iter().all(is_here)
    }
}

/// Whether packets to this address go out from the same address. The kernel answers that without sending anything.
/// Binding a socket to it would say less (`net.ipv4.ip_nonlocal_bind`).
fn is_here(address: &SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    if ip.is_loopback() || ip.is_unspecified() {
        return true;
    }
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let from = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect(address)?;
        socket.local_addr()
    });
    from.is_ok_and(|from| from.ip() == address.ip())
}

/// The placeholder for the user's number in a header field's value.
pub const USER: &str = "{user}";

/// The parts of a request.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The index of the site's server that it goes to.
    pub origin: usize,
    /// Its method.
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// Header fields besides those that every request has. [`USER`] in a value stands for the user's number.
    pub fields: Vec<(HeaderName, String)>,
    /// Its content.
    pub body: Bytes,
}

/// A request, prepared once and sent often.
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) origin: usize,
    pub(crate) method: Method,
    pub(crate) form: Form,
    /// Fields that differ by user, before [`USER`] is filled in.
    pub(crate) own: Vec<(HeaderName, String)>,
}

/// A request as it is written, without the fields that differ by user.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// In HTTP/1.1.
    One(One),
    /// In HTTP/2.
    Two(Box<Two>),
}

#[derive(Clone, Debug)]
pub(crate) struct One {
    /// The head, and the content if it is small.
    pub(crate) head: Bytes,
    /// How much of `head` comes before the user's own fields.
    pub(crate) common: usize,
    /// Content that is not in `head`.
    pub(crate) rest: Bytes,
}

#[derive(Clone, Debug)]
pub(crate) struct Two {
    pub(crate) fields: http::HeaderMap,
    pub(crate) uri: http::Uri,
    pub(crate) body: Bytes,
}

/// Most bytes of content that are copied behind each head, so that both are sent at once.
const SMALL: usize = 4096;

/// What all requests of a run have in common.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Whether connections are used again. If not, HTTP/1.1 requests say `Connection: close`.
    pub keep_alive: bool,
    /// Whether users keep the cookies that they get, so that `Cookie` differs by user.
    pub cookies: bool,
    /// The version of HTTP.
    pub version: Version,
}

impl Request {
    /// Prepares the request for `base`.
    ///
    /// # Errors
    /// It cannot be written in HTTP. The message is for a person.
    pub fn new(parts: Parts, base: &Base, style: Style) -> Result<Self, String> {
        let mut fields = http::HeaderMap::new();
        let mut own = Vec::new();
        for (name, value) in &parts.fields {
            let wrong = |_| format!("a value that HTTP does not allow: {name}: {value:?}");
            let checked = HeaderValue::from_str(value).map_err(wrong)?;
            if value.contains(USER) || (style.cookies && name == header::COOKIE) {
                own.push((name.clone(), value.clone()));
            } else {
                fields.append(name.clone(), checked);
            }
        }
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", parts.target);
        let authority = match fields.remove(header::HOST) {
            Some(host) => host.to_str().map_err(|error| wrong(&error))?.to_owned(),
            None => base.authority(),
        };
        let uri = http::Uri::builder()
            .scheme(if base.tls { "https" } else { "http" })
            .authority(authority.as_str())
            .path_and_query(parts.target.as_str())
            .build()
            .map_err(|error| wrong(&error))?;
        complete(&mut fields, &parts);
        let form = match style.version {
            Version::One => Form::One(One::new(&parts, &authority, &fields, style.keep_alive)),
            Version::Two => Form::Two(Box::new(Two {
                fields,
                uri,
                body: parts.body,
            })),
        };
        Ok(Self {
            origin: parts.origin,
            method: parts.method,
            form,
            own,
        })
    }
}

impl One {
    fn new(parts: &Parts, authority: &str, fields: &http::HeaderMap, keep_alive: bool) -> Self {
        let (mut head, common) = head(parts, authority, fields, keep_alive);
        let mut rest = parts.body.clone();
        if rest.len() <= SMALL {
            head.extend_from_slice(&rest);
            rest = Bytes::new();
        }
        Self {
            head: head.into(),
            common,
            rest,
        }
    }
}

/// Adds the fields that every request has, unless they were given.
fn complete(fields: &mut http::HeaderMap, parts: &Parts) {
    let given = |name: &HeaderName| parts.fields.iter().any(|(one, _)| one == name);
    let agent = concat!("larder-bench/", env!("CARGO_PKG_VERSION"));
    for (name, value) in [(header::USER_AGENT, agent), (header::ACCEPT, "*/*")] {
        if !given(&name) {
            fields.insert(name, HeaderValue::from_static(value));
        }
    }
    let takes_content = !matches!(parts.method, Method::GET | Method::HEAD);
    if takes_content || !parts.body.is_empty() {
        fields.insert(header::CONTENT_LENGTH, parts.body.len().into());
    }
}

/// Writes the head in HTTP/1.1, with the empty line. Returns it, and its length without the empty line.
fn head(
    parts: &Parts,
    authority: &str,
    fields: &http::HeaderMap,
    keep_alive: bool,
) -> (Vec<u8>, usize) {
    let mut head = Vec::with_capacity(256);
    // Writing to memory does not fail.
    let _ = write!(head, "{} {} HTTP/1.1\r\n", parts.method, parts.target);
    let _ = write!(head, "Host: {authority}\r\n");
    for (name, value) in fields {
        let _ = write!(head, "{name}: ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    if !keep_alive {
        head.extend_from_slice(b"Connection: close\r\n");
    }
    let common = head.len();
    head.extend_from_slice(b"\r\n");
    (head, common)
}
