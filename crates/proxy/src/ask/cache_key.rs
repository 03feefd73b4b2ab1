//! The cache key.

use crate::{
    policy::{KeySpec, Route},
    routing::{self, Cookie},
};
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// A cache key: `scheme://host/path?query`, then what the site adds. The origin is sent a slice of it, so that what is
/// keyed and what is sent cannot differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Key {
    bytes: Vec<u8>,
    /// Where the host begins, where the path begins, and where path and query end.
    host: usize,
    path: usize,
    end: usize,
    /// The host, if it is not part of the key.
    host_apart: Option<Box<str>>,
}

impl Key {
    /// Builds a key. `path` and `query` are normalised; the parameters of `query` are already chosen.
    pub fn build(
        spec: &KeySpec,
        scheme: &str,
        host: &str,
        path: &str,
        query: Option<&str>,
    ) -> Self {
        let mut bytes = Vec::with_capacity(
            scheme.len() + host.len() + path.len() + query.map_or(0, str::len) + 8,
        );
        if spec.scheme {
            bytes.extend_from_slice(scheme.as_bytes());
            bytes.push(b':');
        }
        bytes.extend_from_slice(b"//");
        let host_at = bytes.len();
        if spec.host {
            bytes.extend_from_slice(host.as_bytes());
        }
        let start = bytes.len();
        bytes.extend_from_slice(path.as_bytes());
        if let Some(query) = query {
            bytes.push(b'?');
            bytes.extend_from_slice(query.as_bytes());
        }
        let end = bytes.len();
        Self {
            bytes,
            host: host_at,
            path: start,
            end,
            host_apart: (!spec.host).then(|| host.into()),
        }
    }

    /// Adds the route, if requests for the same URI may take others, the fields and cookies that the site keys on, and
    /// whether an application may not find these cookies. Absent, empty and present values differ. Lengths are part of
    /// the bytes, so that one value cannot pass for two.
    pub fn extend(&mut self, route: &Route, fields: &HeaderMap) {
        self.on(route);
        let spec = &route.policy.key;
        for name in &spec.headers {
            self.part(
                b'h',
                name.as_str(),
                fields.get_all(name).iter().map(HeaderValue::as_bytes),
            );
        }
        for name in &spec.cookies {
            self.cookie(name, spec.drop_cookies, fields);
        }
        if !spec.drop_cookies && routing::may_hide_chosen(route, fields) {
            // Some applications would read none of the cookies, and answer for a request that has none.
            self.part(b'd', "", std::iter::empty());
        }
    }

    /// Adds a cookie that the site keys on. `alone` means that no other cookie reaches the origin. If others do, those
    /// that the application may take for this one are keyed as they are written and in their order, since only the
    /// application decides which of them counts.
    fn cookie(&mut self, name: &str, alone: bool, fields: &HeaderMap) {
        let all = || {
            let lines = fields.get_all(header::COOKIE).iter();
            lines.flat_map(|line| routing::cookies(line.as_bytes()))
        };
        let is_it = |cookie: &Cookie<'_>| cookie.name() == name.as_bytes();
        self.part(b'c', name, all().filter(is_it).map(|cookie| cookie.value));
        if !alone && all().any(|cookie| cookie.may_pass_for(name)) {
            let alike = all().filter(|cookie| is_it(cookie) || cookie.may_pass_for(name));
            let pairs = alike.flat_map(|cookie| [cookie.spelled, cookie.value]);
            self.part(b'a', name, pairs);
        }
    }

    /// Adds the route alone.
    pub fn on(&mut self, route: &Route) {
        if route.matcher.looks_beyond(&route.policy.key) {
            // Requests that would have the same key may take other routes, with origins of their own.
            self.part(b'r', &route.keyed, std::iter::empty());
        }
    }

    /// Adds the meaning of a request's content, given in `values`.
    pub fn content(&mut self, method: &str, values: &[&[u8]]) {
        self.part(b'q', method, values.iter().copied());
    }

    /// Adds the client, as a digest: answers for this key are for nobody else.
    pub fn asker(&mut self, digest: &str) {
        self.part(b'u', "", std::iter::once(digest.as_bytes()));
    }

    /// Adds what a trusted peer tells the origin in the field `name`.
    pub fn told<'a>(&mut self, name: &HeaderName, values: impl Iterator<Item = &'a [u8]>) {
        self.part(b't', name.as_str(), values);
    }

    fn part<'a>(&mut self, kind: u8, name: &str, values: impl Iterator<Item = &'a [u8]>) {
        self.bytes.extend_from_slice(&[b'\n', kind, b':']);
        self.bytes.extend_from_slice(name.as_bytes());
        for value in values {
            self.bytes
                .extend_from_slice(format!("={}:", value.len()).as_bytes());
            self.bytes.extend_from_slice(value);
        }
    }

    /// Returns the whole key.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the key as readable text. Bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Returns the normalised authority of the request, with the port if it is not the scheme's default. It is always
    /// UTF-8, since it was a string before it was keyed.
    pub fn host(&self) -> &str {
        std::str::from_utf8(self.host_bytes()).unwrap_or_default()
    }

    /// As [`host`](Self::host).
    pub fn host_bytes(&self) -> &[u8] {
        let keyed = || self.bytes.get(self.host..self.path).unwrap_or_default();
        let apart = self.host_apart.as_deref().map(str::as_bytes);
        apart.unwrap_or_else(keyed)
    }

    /// Returns the path without the query.
    pub fn path(&self) -> &str {
        let target = self.path_and_query();
        target.split_once('?').map_or(target, |(path, _)| path)
    }

    /// Returns path and query as sent to the origin. They are always UTF-8, since they were strings before they were
    /// keyed.
    pub fn path_and_query(&self) -> &str {
        std::str::from_utf8(self.path_and_query_bytes()).unwrap_or("/")
    }

    /// As [`path_and_query`](Self::path_and_query).
    pub fn path_and_query_bytes(&self) -> &[u8] {
        self.bytes.get(self.path..self.end).unwrap_or_default()
    }
}
