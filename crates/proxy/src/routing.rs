//! The route that a request takes: the first match wins. The client of a request is determined in `client`.

mod client;
mod cookies;
mod digest;
mod readings;
mod scripts;

pub use client::{Client, Peer};
pub use cookies::{
    Cookie, Cookies, any_cookie_is, any_cookie_matches, any_parameter_matches, cookies,
    has_special_name, joined, may_hide_chosen, put_chosen_first, sets_any_cookie,
};
pub use digest::digest;
pub use readings::{take, unrefused};

use crate::policy::{
    FieldPattern, HostPattern, KeySpec, Matcher, NamePattern, PathPattern, Routes, TextPattern,
};
use http::{HeaderMap, Method};
use rules::key::QueryChoice;

/// The parts of a request that routes are matched against, after normalisation.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Lower case, without port.
    pub host: &'a str,
    /// Normalised, without query.
    pub path: &'a str,
    /// Normalised, without `?`; the whole query, whatever part of it is keyed.
    pub query: Option<&'a str>,
    /// The request's method.
    pub method: &'a Method,
    /// The client's header fields.
    pub fields: &'a HeaderMap,
    /// The client.
    pub client: Client<'a>,
}

/// Returns the index of the first route that matches; the last route if none does (it matches everything by
/// construction).
pub fn choose(routes: &Routes, subject: &Subject<'_>) -> usize {
    let cookies = Cookies::of(subject.fields);
    let mut candidates = routes.candidates(subject.host);
    candidates
        .find(|(_, route)| route.matcher.matches(subject, &cookies))
        .map_or(routes.len().saturating_sub(1), |(position, _)| position)
}

impl Matcher {
    /// Whether two requests that have one key under `spec` may differ in whether they match.
    pub fn looks_beyond(&self, spec: &KeySpec) -> bool {
        let keeps_query = spec.query == QueryChoice::All && spec.drop == QueryChoice::All;
        !(self.methods.is_empty()
            && self.headers.is_empty()
            && self.cookies.is_empty()
            && self.clients.is_empty()
            && (self.hosts.is_empty() || spec.host)
            && (self.query.is_empty() || keeps_query))
    }

    /// Whether all conditions hold; an empty list always holds. `cookies` are those of the subject.
    pub fn matches(&self, subject: &Subject<'_>, cookies: &Cookies<'_>) -> bool {
        self.matches_target(subject) && self.matches_but_target(subject, cookies)
    }

    /// Whether all conditions hold except those on the client.
    pub fn matches_but_client(&self, subject: &Subject<'_>) -> bool {
        self.matches_target(subject)
            && self.matches_fields(subject, &Cookies::of(subject.fields))
            && self.matches_query(subject)
    }

    /// Whether the conditions on host, path and method hold.
    fn matches_target(&self, subject: &Subject<'_>) -> bool {
        any(&self.hosts, |host| host.matches(subject.host))
            && any(&self.paths, |path| path.matches(subject.path))
            && any(&self.methods, |method| takes_in(method, subject.method))
    }

    /// Whether all others hold.
    fn matches_but_target(&self, subject: &Subject<'_>, cookies: &Cookies<'_>) -> bool {
        self.matches_fields(subject, cookies)
            && self.matches_query(subject)
            && self.matches_client(subject)
    }

    /// As [`Self::matches_but_target`], where the application gives parameters the other names that it may.
    fn may_match_but_target(&self, subject: &Subject<'_>, cookies: &Cookies<'_>) -> bool {
        self.matches_fields(subject, cookies)
            && (self.query.is_empty() || any_parameter_matches(&self.query, subject.query))
            && self.matches_client(subject)
    }

    /// Whether the conditions on fields hold.
    fn matches_fields(&self, subject: &Subject<'_>, cookies: &Cookies<'_>) -> bool {
        any(&self.headers, |field| field.matches(subject.fields))
            && (self.cookies.is_empty() || cookies.any_matches(&self.cookies))
    }

    /// Whether the condition on the query holds.
    fn matches_query(&self, subject: &Subject<'_>) -> bool {
        any(&self.query, |parameter| {
            query_matches(parameter, subject.query)
        })
    }

    /// Whether it is for this client. The client is determined only here, since it matters to few routes.
    fn matches_client(&self, subject: &Subject<'_>) -> bool {
        self.clients.is_empty() || {
            let client = subject.client.address(subject.fields);
            client.is_some_and(|client| self.clients.iter().any(|net| net.contains(&client)))
        }
    }
}

/// Whether a matcher for one method is also for requests of the other: `HEAD` is answered from what `GET` has stored
/// (RFC 9110 section 9.3.2).
pub fn takes_in(method: &Method, other: &Method) -> bool {
    method == other || *method == Method::GET && *other == Method::HEAD
}

/// Whether some request for the subject's path and query could match on one of the matcher's hosts, whatever its
/// method, fields and client.
pub fn may_match_on_its_hosts(matcher: &Matcher, subject: &Subject<'_>) -> bool {
    is_for_path(matcher, subject) && matcher.matches_query(subject)
}

/// Whether some request for the subject's host could match.
pub fn is_for_host(matcher: &Matcher, subject: &Subject<'_>) -> bool {
    any(&matcher.hosts, |host| host.matches(subject.host))
}

/// Whether some request for the subject's path could match.
pub fn is_for_path(matcher: &Matcher, subject: &Subject<'_>) -> bool {
    any(&matcher.paths, |path| path.matches(subject.path))
}

fn any<T>(list: &[T], holds: impl FnMut(&T) -> bool) -> bool {
    list.is_empty() || list.iter().any(holds)
}

impl HostPattern {
    /// Whether `host` matches. It is lower case, without port.
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
    /// Whether the normalised path matches, compared as bytes. `OPTIONS *` is about the server as a whole, and so
    /// matches what every path does.
    pub fn matches(&self, path: &str) -> bool {
        match self {
            Self::Exact(exact) => path == exact,
            Self::Prefix(prefix) => {
                path.starts_with(prefix.as_str()) || (path == "*" && prefix == "/")
            }
            Self::Wildcard(regex) | Self::Regex(regex) => regex.is_match(path),
        }
    }
}

impl FieldPattern {
    /// Whether any line of the field matches or, without a value, whether the field is present.
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
            Self::Regex(regex) | Self::CookieRegex { written: regex, .. } => regex.is_match(text),
        }
    }

    /// Whether a name matches, whatever its case. An expression may say that case counts.
    pub fn matches_in_any_case(&self, text: &str) -> bool {
        match self {
            Self::Exact(exact) => text.eq_ignore_ascii_case(exact),
            Self::Prefix(prefix) => {
                let begun = text.as_bytes().get(..prefix.len());
                begun.is_some_and(|begun| begun.eq_ignore_ascii_case(prefix.as_bytes()))
            }
            Self::Regex(regex)
            | Self::CookieRegex {
                in_any_case: regex, ..
            } => regex.is_match(text),
        }
    }
}

/// Returns a host without its port.
pub fn without_port(host: &str) -> &str {
    // The text is short: a look at each byte is fastest.
    let colon = host.bytes().rposition(|byte| byte == b':');
    match colon.and_then(|colon| host.split_at_checked(colon)) {
        Some((name, port)) if port.bytes().all(|byte| byte != b']') => name,
        _ => host,
    }
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

#[cfg(test)]
mod tests;
