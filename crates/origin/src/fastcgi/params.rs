//! What a script is told about its request (RFC 3875 section 4.1), as FastCGI parameters.

use super::{config::FastCgi, place::Script, record::LARGEST};
use crate::Visitor;
use bytes::{BufMut, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use std::iter;

/// The request as a script sees it.
pub(crate) struct ScriptRequest<'a> {
    pub(crate) cgi: &'a FastCgi,
    pub(crate) script: &'a Script,
    pub(crate) method: &'a Method,
    pub(crate) uri: &'a Uri,
    pub(crate) fields: &'a HeaderMap,
    /// The length of the request's body; `None`: there is no body.
    pub(crate) length: Option<u64>,
    pub(crate) visitor: &'a Visitor,
}

impl ScriptRequest<'_> {
    /// Encodes all parameters, ours first.
    pub(crate) fn encode(&self) -> Pairs {
        let mut pairs = Pairs::new(self.cgi);
        self.server(&mut pairs);
        self.request(&mut pairs);
        self.script(&mut pairs);
        self.visitor(&mut pairs);
        fields(self.fields, &mut pairs);
        for (name, value) in &self.cgi.params {
            pairs.append(name.as_bytes(), value.as_bytes());
        }
        pairs
    }

    fn server(&self, pairs: &mut Pairs) {
        pairs.add("GATEWAY_INTERFACE", b"CGI/1.1");
        pairs.add("SERVER_SOFTWARE", b"larder");
        pairs.add("SERVER_PROTOCOL", b"HTTP/1.1");
        // PHP refuses to run without it where `cgi.force_redirect` applies.
        pairs.add("REDIRECT_STATUS", b"200");
        let host = self.fields.get(header::HOST);
        let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
        let (name, port) = named(host);
        let scheme = if self.visitor.https { "https" } else { "http" };
        let usual = if self.visitor.https { "443" } else { "80" };
        pairs.add("SERVER_NAME", name.as_bytes());
        pairs.add("SERVER_PORT", port.unwrap_or(usual).as_bytes());
        pairs.add("REQUEST_SCHEME", scheme.as_bytes());
        if self.visitor.https {
            pairs.add("HTTPS", b"on");
        }
        if let Some(own) = self.visitor.server {
            pairs.add(
                "SERVER_ADDR",
                own.ip().to_canonical().to_string().as_bytes(),
            );
        }
    }

    fn request(&self, pairs: &mut Pairs) {
        let target = self.uri.path_and_query();
        let target = target.map_or("/", http::uri::PathAndQuery::as_str);
        pairs.add("REQUEST_METHOD", self.method.as_str().as_bytes());
        pairs.add("REQUEST_URI", target.as_bytes());
        pairs.add(
            "QUERY_STRING",
            self.uri.query().unwrap_or_default().as_bytes(),
        );
        let kind = self.fields.get(header::CONTENT_TYPE);
        pairs.add("CONTENT_TYPE", kind.map_or(b"", HeaderValue::as_bytes));
        let length = self.length.map(|length| length.to_string());
        pairs.add("CONTENT_LENGTH", length.unwrap_or_default().as_bytes());
    }

    fn script(&self, pairs: &mut Pairs) {
        let Script {
            root,
            file,
            name,
            info,
        } = self.script;
        let document = [name.as_slice(), info.as_deref().unwrap_or_default()].concat();
        pairs.add("DOCUMENT_ROOT", root.as_os_str().as_encoded_bytes());
        pairs.add("DOCUMENT_URI", &document);
        pairs.add("SCRIPT_FILENAME", file.as_os_str().as_encoded_bytes());
        pairs.add("SCRIPT_NAME", name);
        if let Some(info) = info {
            let translated = [root.as_os_str().as_encoded_bytes(), info].concat();
            pairs.add("PATH_INFO", info);
            pairs.add("PATH_TRANSLATED", &translated);
        }
    }

    fn visitor(&self, pairs: &mut Pairs) {
        let address = self
            .visitor
            .client
            .map(|client| client.to_canonical().to_string());
        pairs.add("REMOTE_ADDR", address.unwrap_or_default().as_bytes());
        if let Some(port) = self.visitor.port {
            pairs.add("REMOTE_PORT", port.to_string().as_bytes());
        }
    }
}

/// Splits an authority into host and port.
fn named(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, Some(port)),
        _ => (host, None),
    }
}

/// Adds the request's fields as `HTTP_…` (RFC 3875 section 4.1.18).
///
/// A name with anything but letters, digits and hyphens is left out: `X_Forwarded_For` would be read as
/// `X-Forwarded-For`. `Proxy` is left out: libraries take `HTTP_PROXY` for the environment's proxy (CVE-2016-5385).
fn fields(fields: &HeaderMap, pairs: &mut Pairs) {
    for name in fields.keys() {
        if is_told_otherwise(name) || !is_plain(name) {
            continue;
        }
        let mut lines = fields.get_all(name).iter();
        let Some(first) = lines.next() else { continue };
        let variable = variable(name);
        let Some(second) = lines.next() else {
            pairs.add(&variable, first.as_bytes());
            continue;
        };
        // RFC 9110 section 5.3, RFC 9113 section 8.2.3.
        let between: &[u8] = if name == header::COOKIE { b"; " } else { b", " };
        let all: Vec<_> = [first, second]
            .into_iter()
            .chain(lines)
            .map(HeaderValue::as_bytes)
            .collect();
        pairs.add(&variable, &all.join(between));
    }
}

fn is_told_otherwise(name: &HeaderName) -> bool {
    *name == header::CONTENT_TYPE
        || *name == header::CONTENT_LENGTH
        || *name == header::TRANSFER_ENCODING
        // Scripts send no trailers, and get none.
        || matches!(*name, header::TE | header::TRAILER)
        || name.as_str() == "proxy"
}

fn is_plain(name: &HeaderName) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    name.as_str().bytes().all(plain)
}

fn variable(name: &HeaderName) -> String {
    let letters = name.as_str().chars().map(|letter| match letter {
        '-' => '_',
        letter => letter.to_ascii_uppercase(),
    });
    "HTTP_".chars().chain(letters).collect()
}

/// Encoded parameters. Ours are left out if the configuration sets them.
pub(crate) struct Pairs {
    set: Vec<String>,
    bytes: BytesMut,
    /// Where records begin, after the first. php-fpm reads each record by itself, and ends the connection over a pair
    /// that goes on in the next.
    cuts: Vec<usize>,
}

impl Pairs {
    fn new(cgi: &FastCgi) -> Self {
        Self {
            set: cgi.params.iter().map(|(name, _)| name.clone()).collect(),
            bytes: BytesMut::with_capacity(1024),
            cuts: Vec::new(),
        }
    }

    fn add(&mut self, name: &str, value: &[u8]) {
        if self.set.iter().all(|set| set != name) {
            self.append(name.as_bytes(), value);
        }
    }

    fn append(&mut self, name: &[u8], value: &[u8]) {
        let (begun, before) = (self.cuts.last().copied().unwrap_or(0), self.bytes.len());
        append(&mut self.bytes, name, value);
        if self.bytes.len() - begun > LARGEST && before > begun {
            self.cuts.push(before);
        }
    }

    /// Returns the content of each record.
    pub(crate) fn records(&self) -> impl Iterator<Item = &[u8]> {
        let begins = iter::once(0).chain(self.cuts.iter().copied());
        let ends = self.cuts.iter().copied().chain([self.bytes.len()]);
        begins
            .zip(ends)
            .map(|(begin, end)| self.bytes.get(begin..end).unwrap_or_default())
    }
}

/// Appends one parameter (FastCGI Specification section 3.4).
fn append(out: &mut BytesMut, name: &[u8], value: &[u8]) {
    for part in [name, value] {
        match u8::try_from(part.len()) {
            Ok(short) if short < 0x80 => out.put_u8(short),
            _ => out.put_u32(u32::try_from(part.len()).unwrap_or(u32::MAX) | 0x8000_0000),
        }
    }
    out.put_slice(name);
    out.put_slice(value);
}

#[cfg(test)]
mod tests;
