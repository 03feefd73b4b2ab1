//! Which route a request takes: first match wins.

use crate::policy::{
    FieldPattern, HostPattern, KeySpec, Matcher, NamePattern, PathPattern, Route, TextPattern,
};
use http::{HeaderMap, Method, header};
use ipnet::IpNet;
use rules::key::{self, QueryChoice};
use std::net::IpAddr;

/// What routes are matched against, after normalisation.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Lower case, without port.
    pub host: &'a str,
    /// Normalised, without query.
    pub path: &'a str,
    /// Normalised, without `?`; whole, whatever part of it is keyed.
    pub query: Option<&'a str>,
    /// The request's method.
    pub method: &'a Method,
    /// The client's header fields.
    pub fields: &'a HeaderMap,
    /// Who asks.
    pub client: Client<'a>,
}

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

    /// Its address, as far as it is known: the last one in the request's `X-Forwarded-For` that no trusted proxy has. What stands
    /// before a stranger's is the stranger's own.
    pub fn address(&self, fields: &HeaderMap) -> Option<IpAddr> {
        let mut client = match self.peer {
            Peer::At(address) => Some(address),
            Peer::OnSocket | Peer::Nameless => None,
        };
        if !self.is_believed() {
            return client;
        }
        let lines = fields.get_all("x-forwarded-for").iter();
        let lines = lines.map(|line| line.to_str().unwrap_or_default());
        let mut chain: Vec<_> = lines.flat_map(|line| line.split(',')).collect();
        while client.is_none_or(|address| self.believes(address)) {
            match chain.pop().map(|word| word.trim().parse::<IpAddr>()) {
                // A network of IPv4 has no address of IPv6, however it is meant.
                Some(Ok(address)) => client = Some(address.to_canonical()),
                Some(Err(_)) | None => break,
            }
        }
        client
    }
}

/// The index of the first route that matches; the last route where none does (it matches everything by construction).
pub fn choose(routes: &[Route], subject: &Subject<'_>) -> usize {
    routes
        .iter()
        .position(|route| route.matcher.matches(subject))
        .unwrap_or(routes.len().saturating_sub(1))
}

/// Whether an origin that reads the path more leniently than `route` was chosen by would have it on another route, or among the
/// paths that pass the store by.
pub fn is_ambiguous(routes: &[Route], subject: &Subject<'_>, route: usize) -> bool {
    if let [only] = routes
        && only.policy.bypass.paths.is_empty()
    {
        // However it is read.
        return false;
    }
    let Some(path) = key::lenient(subject.path) else {
        return false;
    };
    let read = Subject {
        path: &path,
        ..*subject
    };
    let passes_by = |route: &Route| route.policy.bypass.paths.matches(&path);
    choose(routes, &read) != route || routes.get(route).is_some_and(passes_by)
}

impl Matcher {
    /// Whether two requests with one key, as `spec` has it, may fare differently here.
    pub fn looks_beyond(&self, spec: &KeySpec) -> bool {
        let keeps_query = spec.query == QueryChoice::All && spec.drop == QueryChoice::All;
        !(self.methods.is_empty()
            && self.headers.is_empty()
            && self.cookies.is_empty()
            && self.clients.is_empty()
            && (self.hosts.is_empty() || spec.host)
            && (self.query.is_empty() || keeps_query))
    }

    /// Whether all conditions hold; an empty list holds always.
    pub fn matches(&self, subject: &Subject<'_>) -> bool {
        any(&self.hosts, |host| host.matches(subject.host))
            && any(&self.paths, |path| path.matches(subject.path))
            && any(&self.methods, |method| method == subject.method)
            && any(&self.headers, |field| field.matches(subject.fields))
            && any(&self.cookies, |cookie| {
                cookie_matches(cookie, subject.fields)
            })
            && any(&self.query, |parameter| {
                query_matches(parameter, subject.query)
            })
            && self.allows(subject)
    }

    /// Whether it is for this client. Who that is matters to few routes only.
    fn allows(&self, subject: &Subject<'_>) -> bool {
        self.clients.is_empty() || {
            let client = subject.client.address(subject.fields);
            client.is_some_and(|client| self.clients.iter().any(|net| net.contains(&client)))
        }
    }
}

/// Whether some request for the subject's host, path and query could match, whatever its method, fields and client.
pub fn could_match(matcher: &Matcher, subject: &Subject<'_>) -> bool {
    any(&matcher.hosts, |host| host.matches(subject.host))
        && any(&matcher.paths, |path| path.matches(subject.path))
        && any(&matcher.query, |parameter| {
            query_matches(parameter, subject.query)
        })
}

fn any<T>(list: &[T], holds: impl FnMut(&T) -> bool) -> bool {
    list.is_empty() || list.iter().any(holds)
}

impl HostPattern {
    /// `host` without port, lower case.
    pub fn matches(&self, host: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(exact) => host == exact,
            Self::Suffix(suffix) => host
                .strip_suffix(suffix.as_str())
                .is_some_and(|rest| rest.ends_with('.') && rest.len() > 1),
        }
    }
}

impl PathPattern {
    /// The path as normalised, compared as bytes.
    pub fn matches(&self, path: &str) -> bool {
        match self {
            Self::Exact(exact) => path == exact,
            Self::Prefix(prefix) => path.starts_with(prefix.as_str()),
            Self::Wildcard(regex) | Self::Regex(regex) => regex.is_match(path),
        }
    }
}

impl FieldPattern {
    /// Whether any line of the field matches; without a value, whether the field is there.
    pub fn matches(&self, fields: &HeaderMap) -> bool {
        fields.get_all(&self.name).iter().any(|value| {
            let text = String::from_utf8_lossy(value.as_bytes());
            self.value
                .as_ref()
                .is_none_or(|regex| regex.is_match(&text))
        })
    }
}

impl NamePattern {
    /// Whether a name and its value match.
    pub fn matches(&self, name: &str, value: &str) -> bool {
        self.name.matches(name)
            && self
                .value
                .as_ref()
                .is_none_or(|regex| regex.is_match(value))
    }
}

impl TextPattern {
    /// Whether a name matches.
    pub fn matches(&self, text: &str) -> bool {
        match self {
            Self::Exact(exact) => text == exact,
            Self::Prefix(prefix) => text.starts_with(prefix.as_str()),
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}

/// A host without its port.
pub fn without_port(host: &str) -> &str {
    // It is short: found soonest by a look at each byte.
    let colon = host.bytes().rposition(|byte| byte == b':');
    match colon.and_then(|colon| host.split_at_checked(colon)) {
        Some((name, port)) if port.bytes().all(|byte| byte != b']') => name,
        _ => host,
    }
}

/// Whether any cookie of the request matches.
pub fn cookie_matches(pattern: &NamePattern, fields: &HeaderMap) -> bool {
    fields
        .get_all(header::COOKIE)
        .iter()
        .any(|line| cookies(line.as_bytes()).any(|cookie| is_like(pattern, cookie)))
}

/// Whether a cookie matches, as far as it is text.
fn is_like(pattern: &NamePattern, (name, value): (&[u8], &[u8])) -> bool {
    pattern.matches(
        &String::from_utf8_lossy(name),
        &String::from_utf8_lossy(value),
    )
}

/// Whether any cookie of the request matches any of these; the request is read once.
pub fn any_cookie_matches(patterns: &[NamePattern], fields: &HeaderMap) -> bool {
    !patterns.is_empty()
        && fields.get_all(header::COOKIE).iter().any(|line| {
            cookies(line.as_bytes())
                .any(|cookie| patterns.iter().any(|pattern| is_like(pattern, cookie)))
        })
}

/// Whether a response sets a cookie that matches any of these.
pub fn sets_any_cookie(patterns: &[NamePattern], fields: &HeaderMap) -> bool {
    !patterns.is_empty()
        && fields.get_all(header::SET_COOKIE).iter().any(|line| {
            // Attributes follow the first (RFC 6265 section 4.1.1).
            cookies(line.as_bytes())
                .take(1)
                .any(|cookie| patterns.iter().any(|pattern| is_like(pattern, cookie)))
        })
}

/// Whether any query parameter matches.
pub fn query_matches(pattern: &NamePattern, query: Option<&str>) -> bool {
    query
        .into_iter()
        .flat_map(|query| query.split('&'))
        .any(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            pattern.matches(name, value)
        })
}

/// The cookies of one `Cookie` line (RFC 6265 section 4.2.1). Bytes: values that are no text differ all the same.
pub fn cookies(line: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    line.split(|byte| *byte == b';').filter_map(|pair| {
        let at = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = pair.split_at_checked(at)?;
        Some((name.trim_ascii(), value.get(1..)?.trim_ascii()))
    })
}

#[cfg(test)]
mod tests;
