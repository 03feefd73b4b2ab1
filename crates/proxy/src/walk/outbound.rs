//! The request as the origin gets it.

use crate::{ask::Ask, error::Failure, policy::Edit, walk::receive};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt, Empty};
use origin::RequestBody;
use rules::fields;
use std::fmt::Write;

/// Fields with which a client could make an origin answer for another URI, host or method than the one that is keyed.
/// Passed on only where the route says so or keys on them.
const POISONOUS: [&str; 19] = [
    "x-forwarded-host",
    "x-forwarded-server",
    "x-forwarded-scheme",
    "x-forwarded-prefix",
    "x-forwarded-port",
    "x-forwarded-path",
    "x-host",
    "x-original-host",
    "x-original-url",
    "x-rewrite-url",
    "x-http-method-override",
    "x-http-method",
    "x-method-override",
    "x-http-host-override",
    "x-forwarded-ssl",
    "x-forwarded-protocol",
    "x-url-scheme",
    "front-end-https",
    "forwarded",
];

/// How often a request may have passed a cache of our name before it is taken for a loop.
const MOST_PASSES: usize = 8;

/// What we tell origins that we understand (Edge Architecture): targeted control of our own lifetime.
const CAPABILITY: HeaderValue = HeaderValue::from_static("larder=\"Surrogate/1.0\"");

/// The client's fields made fit for the origin, conditions and ranges still among them.
pub fn fields(ask: &Ask) -> Result<HeaderMap, Failure> {
    let mut fields = ask.fields.clone();
    let passes = fields
        .get_all(header::VIA)
        .iter()
        .filter(|line| names_us(line, &ask.site.name))
        .count();
    if passes >= MOST_PASSES {
        return Err(Failure::Loop);
    }
    fields::remove_hop_by_hop(&mut fields);
    fields.remove(header::EXPECT);
    let trusted = ask
        .connection
        .peer
        .is_none_or(|peer| receive::is_trusted(&ask.site, peer.ip()));
    forwarding(&mut fields, ask, trusted);
    fields::append_via(&mut fields, ask.version, &ask.site.name);
    fields.append(HeaderName::from_static("surrogate-capability"), CAPABILITY);
    let host = ask
        .policy()
        .host
        .clone()
        .or_else(|| HeaderValue::from_str(ask.host()).ok());
    if let Some(host) = host {
        fields.insert(header::HOST, host);
    }
    edit(&mut fields, &ask.policy().request_edits);
    Ok(fields)
}

fn names_us(line: &HeaderValue, name: &str) -> bool {
    line.to_str()
        .is_ok_and(|line| line.split([' ', ',']).any(|word| word == name))
}

/// `X-Forwarded-*` and `Forwarded` (RFC 7239): what a trusted peer says stays and is added to, anything else is replaced.
fn forwarding(fields: &mut HeaderMap, ask: &Ask, trusted: bool) {
    let policy = ask.policy();
    for name in POISONOUS {
        let wanted = |list: &[HeaderName]| list.iter().any(|field| field == name);
        if !trusted && !wanted(&policy.pass_fields) && !wanted(&policy.key.headers) {
            fields.remove(name);
        }
    }
    if !trusted {
        fields.remove("x-forwarded-for");
        fields.remove("x-real-ip");
    }
    if let Some(peer) = ask.connection.peer {
        let address = peer.ip().to_canonical();
        let mut chain = joined(fields, "x-forwarded-for");
        let _ = write!(chain, "{address}");
        set(fields, "x-forwarded-for", &chain);
        let mut element = joined(fields, "forwarded");
        let node = if address.is_ipv6() {
            format!("\"[{address}]\"")
        } else {
            address.to_string()
        };
        let _ = write!(
            element,
            "for={node};host=\"{}\";proto={}",
            ask.host(),
            ask.scheme
        );
        set(fields, "forwarded", &element);
    }
    set(fields, "x-forwarded-proto", ask.scheme);
    if !fields.contains_key("x-forwarded-host") {
        set(fields, "x-forwarded-host", ask.host());
    }
}

/// The lines of a list field as one, ready to be added to.
fn joined(fields: &HeaderMap, name: &'static str) -> String {
    let mut all = String::new();
    for line in fields.get_all(name) {
        if let Ok(line) = line.to_str() {
            all.push_str(line);
            all.push_str(", ");
        }
    }
    all
}

fn set(fields: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        fields.insert(HeaderName::from_static(name), value);
    }
}

/// Makes the site's changes.
pub fn edit(fields: &mut HeaderMap, edits: &[Edit]) {
    for edit in edits {
        match edit {
            Edit::Set(name, value) => {
                fields.insert(name, value.clone());
            }
            Edit::Add(name, value) => {
                fields.append(name, value.clone());
            }
            Edit::Remove(name) => {
                fields.remove(name);
            }
        }
    }
}

/// A request without content.
pub fn bodyless(
    ask: &Ask,
    method: Method,
    fields: HeaderMap,
) -> Result<Request<RequestBody>, Failure> {
    let empty = Empty::<Bytes>::new()
        .map_err(|never| match never {})
        .boxed_unsync();
    let mut fields = fields;
    fields.remove(header::CONTENT_LENGTH);
    fields.remove(header::CONTENT_TYPE);
    with_body(ask, method, fields, empty)
}

/// A request with content. What is sent as target is a slice of what is keyed.
pub fn with_body(
    ask: &Ask,
    method: Method,
    fields: HeaderMap,
    body: RequestBody,
) -> Result<Request<RequestBody>, Failure> {
    let target = ask.key.path_and_query();
    let uri = if target == "*" {
        Uri::from_static("*")
    } else {
        Uri::try_from(target).map_err(|_| Failure::BadRequest("bad-target"))?
    };
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = fields;
    Ok(request)
}
