//! The request as the origin gets it.

use crate::{
    ask::Ask,
    error::Failure,
    policy::{Edit, Esi},
    walk::{coding, receive},
};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Uri,
    header::{self, Entry, FORWARDED},
    uri::PathAndQuery,
};
use http_body_util::{BodyExt, Empty, Full};
use origin::{Context, RequestBody, Visitor};
use rules::fields;

/// Fields with which a client could make an origin answer for another URI, host or method than the one that is keyed.
/// Passed on only where the route says so or keys on them.
static POISONOUS: [HeaderName; 23] = [
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-forwarded-server"),
    HeaderName::from_static("x-forwarded-scheme"),
    HeaderName::from_static("x-forwarded-prefix"),
    HeaderName::from_static("x-forwarded-port"),
    HeaderName::from_static("x-forwarded-path"),
    HeaderName::from_static("x-host"),
    HeaderName::from_static("x-original-host"),
    HeaderName::from_static("x-original-url"),
    HeaderName::from_static("x-rewrite-url"),
    HeaderName::from_static("x-http-method-override"),
    HeaderName::from_static("x-http-method"),
    HeaderName::from_static("x-method-override"),
    HeaderName::from_static("x-http-host-override"),
    HeaderName::from_static("x-forwarded-ssl"),
    HeaderName::from_static("x-forwarded-protocol"),
    HeaderName::from_static("x-url-scheme"),
    HeaderName::from_static("front-end-https"),
    HeaderName::from_static("x-scheme"),
    HeaderName::from_static("x-script-name"),
    HeaderName::from_static("x-forwarded-uri"),
    HeaderName::from_static("x-original-uri"),
    HeaderName::from_static("forwarded"),
];

/// Those of [`POISONOUS`] that name a path or a method: said of a page, they are wrong of what it includes.
const OF_ONE_TARGET: [&str; 8] = [
    "x-forwarded-path",
    "x-forwarded-uri",
    "x-original-uri",
    "x-original-url",
    "x-rewrite-url",
    "x-http-method-override",
    "x-http-method",
    "x-method-override",
];

/// Takes away what says something of a page's target, and not of that of its includes.
pub fn strip_target(fields: &mut HeaderMap) {
    for name in OF_ONE_TARGET {
        fields.remove(name);
    }
}

/// Takes away what says something of a page's host, and what its visitor showed there alone, for an include from another.
pub fn strip_host(fields: &mut HeaderMap) {
    for name in POISONOUS
        .iter()
        .chain([&header::COOKIE, &header::AUTHORIZATION])
    {
        fields.remove(name);
    }
}

/// What trusted proxies say of the client's address.
static OF_ADDRESS: [HeaderName; 2] = [
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-real-ip"),
];

/// Whether a field may be one of [`POISONOUS`]. Most are not, as their beginnings tell.
fn may_be_poisonous(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("x-") || name.starts_with('f')
}

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
static X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
static SURROGATE_CAPABILITY: HeaderName = HeaderName::from_static("surrogate-capability");

/// How often a request may have passed a cache of our name before it is taken for a loop.
const MOST_PASSES: usize = 8;

/// How many fields a request mostly has more when it goes out: grown once, the map is not built anew with each of them.
const MOST_ADDED: usize = 8;

/// What we tell origins that we understand (Edge Architecture): targeted control of our own lifetime, and purging by tag.
const CAPABILITY: HeaderValue = HeaderValue::from_static("larder=\"Surrogate/1.0 tags/1\"");

/// And that pages may be composed here. A member of its own: there are applications that compare the other one whole.
const ESI_CAPABILITY: HeaderValue = HeaderValue::from_static("larder-esi=\"ESI/1.0\"");

/// The client's fields made fit for the origin, conditions and ranges still among them.
pub fn fields(ask: &Ask) -> Result<HeaderMap, Failure> {
    let passes = ask
        .fields
        .get_all(header::VIA)
        .iter()
        .filter(|line| names_us(line, &ask.site.name))
        .count();
    if passes >= MOST_PASSES {
        return Err(Failure::Loop);
    }
    let trusted = trusts_client(ask);
    let secret = ask.site.purge.secret.as_ref().map(|(name, _)| name);
    let mut fields = fields::forwarded(&ask.fields, MOST_ADDED, |name| {
        let is_said_by_another = OF_ADDRESS.contains(name)
            // An application believes it, and writes what only that client's surrogate could read into what is stored for all.
            || *name == SURROGATE_CAPABILITY;
        let is_poisonous = may_be_poisonous(name) && POISONOUS.contains(name);
        let is_ambiguous = is_ambiguous(name) && !is_named(ask, name);
        *name != header::EXPECT
            && secret != Some(name)
            && (trusted || !is_said_by_another)
            && (!is_poisonous || is_passed(ask, name))
            && !is_ambiguous
    });
    let host = Host::of(ask);
    forwarding(&mut fields, ask, &host);
    ask.site.via.append(&mut fields, ask.version);
    tell_capabilities(&mut fields, ask.policy().esi);
    if ask.policy().esi == Esi::On {
        // Pages are read here; what is sent compressed would have to be taken apart first.
        fields.insert(
            header::ACCEPT_ENCODING,
            HeaderValue::from_static("identity"),
        );
    }
    if let Some(host) = ask.policy().host.clone().or(host.written_anew()) {
        fields.insert(header::HOST, host);
    }
    edit(&mut fields, &ask.policy().request_edits);
    Ok(fields)
}

/// Adds what we can do to what trusted surrogates before us said that they can.
fn tell_capabilities(fields: &mut HeaderMap, esi: Esi) {
    let mut lines = match fields.entry(&SURROGATE_CAPABILITY) {
        Entry::Occupied(mut lines) => {
            lines.append(CAPABILITY);
            lines
        }
        Entry::Vacant(place) => place.insert_entry(CAPABILITY),
    };
    if esi != Esi::Off {
        lines.append(ESI_CAPABILITY);
    }
}

/// The host that the request is for.
struct Host<'a> {
    text: &'a str,
    /// As the value of a field. Mostly the client wrote it just so.
    value: Option<HeaderValue>,
    is_as_asked: bool,
}

impl<'a> Host<'a> {
    fn of(ask: &'a Ask) -> Self {
        let text = ask.host();
        let line = ask.fields.get(header::HOST).filter(|line| *line == text);
        Self {
            text,
            value: line.cloned().or_else(|| HeaderValue::from_str(text).ok()),
            is_as_asked: line.is_some(),
        }
    }

    /// The value of `Host`, where the field is not there already.
    fn written_anew(self) -> Option<HeaderValue> {
        self.value.filter(|_| !self.is_as_asked)
    }
}

fn names_us(line: &HeaderValue, name: &str) -> bool {
    line.to_str()
        .is_ok_and(|line| line.split([' ', ',']).any(|word| word == name))
}

/// `X-Forwarded-*` and `Forwarded` (RFC 7239): what a trusted peer says stays and is added to, anything else is replaced.
/// What anybody else said is gone already. Where that peer names the client in one of the two ways alone, the other is not begun: it
/// would name the peer in the client's place (RFC 7239 section 7.4).
fn forwarding(fields: &mut HeaderMap, ask: &Ask, host: &Host<'_>) {
    if let Some(address) = ask.connection.address() {
        let named = [&X_FORWARDED_FOR, &FORWARDED].map(|name| fields.contains_key(name));
        if named != [false, true] {
            add(fields, &X_FORWARDED_FOR, address.clone());
        }
        if named != [true, false]
            && let Some(element) = element(ask.scheme, host.text, address)
        {
            add(fields, &FORWARDED, element);
        }
    }
    let scheme = HeaderValue::from_static(ask.scheme);
    fields.insert(&X_FORWARDED_PROTO, scheme);
    if let Some(host) = &host.value {
        fields
            .entry(&X_FORWARDED_HOST)
            .or_insert_with(|| host.clone());
    }
}

/// What `Forwarded` says of this hop (RFC 7239 section 4); `address` is the peer's.
fn element(scheme: &str, host: &str, address: &HeaderValue) -> Option<HeaderValue> {
    let (open, close) = if address.as_bytes().contains(&b':') {
        ("\"[", "]\"")
    } else {
        ("", "")
    };
    let pieces: [&[u8]; 8] = [
        b"for=",
        open.as_bytes(),
        address.as_bytes(),
        close.as_bytes(),
        b";host=\"",
        host.as_bytes(),
        b"\";proto=",
        scheme.as_bytes(),
    ];
    let mut element = Vec::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
    for piece in pieces {
        element.extend_from_slice(piece);
    }
    HeaderValue::try_from(element).ok()
}

/// What the origin is told beside the message, as far as it looks at it. `is_personal`: the application itself is to answer.
pub fn context(ask: &Ask, is_personal: impl FnOnce() -> bool) -> Context {
    let heeds = ask.policy().origin.heeds();
    let interim = ask.interim.clone();
    let mut context = Context {
        interim: Some(Box::new(move |status, fields| interim.send(status, fields))),
        ..Context::default()
    };
    if heeds.key {
        context.hash = hash(ask.key.as_bytes());
    }
    if heeds.asker {
        context.visitor = visitor(ask);
        ask.host().clone_into(&mut context.host);
        context.personal = is_personal();
    }
    context
}

/// Feeds consistent hashing: the same key, the same number, on every node.
fn hash(key: &[u8]) -> u64 {
    // FNV-1a: stable over processes and nodes, and not a defence against anything.
    key.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Who asks, for origins that want it beside the message: the client itself, or whom trusted proxies speak for.
fn visitor(ask: &Ask) -> Visitor {
    let peer = ask.connection.peer;
    let client = receive::client(&ask.connection, &ask.site).address(&ask.fields);
    let itself = peer.filter(|peer| Some(peer.ip()) == client);
    Visitor {
        client,
        port: itself.map(|peer| peer.port()),
        server: ask.connection.local,
        https: ask.scheme == "https",
    }
}

/// How a field of the client's request stands in the one the origin gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// As the client wrote it.
    AsAsked,
    /// The same for every request of one key: part of the key, set by the site, or taken away.
    Same,
    /// The same for every request of one key, in so far as codings are settled here.
    Settled,
    /// Written anew, with what differs from client to client.
    ByClient,
}

/// How the origin gets the field `name`, if the request of `ask` has it or not.
pub fn sent_as(ask: &Ask, name: &HeaderName) -> Sent {
    let policy = ask.policy();
    let edited = policy.request_edits.iter().any(|edit| match edit {
        Edit::Set(edited, _) | Edit::Remove(edited) => edited == name,
        Edit::Add(..) => false,
    });
    let keyed = |keyed| if keyed { Sent::Same } else { Sent::ByClient };
    match name.as_str() {
        _ if edited => Sent::Same,
        _ if coding::settles(ask, name) => Sent::Settled,
        "host" => keyed(policy.key.host || policy.host.is_some()),
        "x-forwarded-host" if !is_passed(ask, name) => keyed(policy.key.host),
        "x-forwarded-proto" => keyed(policy.key.scheme),
        "x-forwarded-for" | "forwarded" => Sent::ByClient,
        "expect" => Sent::Same,
        "accept-encoding" if policy.esi == Esi::On => Sent::Same,
        "surrogate-capability" if !trusts_client(ask) => Sent::Same,
        _ if POISONOUS.contains(name) && !is_passed(ask, name) => Sent::Same,
        _ if is_ambiguous(name) && !is_named(ask, name) => Sent::Same,
        "x-real-ip" if !trusts_client(ask) => Sent::Same,
        _ => Sent::AsAsked,
    }
}

/// Whether the client's forwarding fields are believed.
fn trusts_client(ask: &Ask) -> bool {
    let peer = ask.connection.peer;
    peer.is_none_or(|peer| receive::is_trusted(&ask.site, peer.ip()))
}

/// Whether a dangerous field of this client goes to the origin.
fn is_passed(ask: &Ask, name: &HeaderName) -> bool {
    trusts_client(ask) || is_named(ask, name)
}

/// Whether the route passes this field on, or keys on it.
fn is_named(ask: &Ask, name: &HeaderName) -> bool {
    let policy = ask.policy();
    policy.pass_fields.contains(name) || policy.key.headers.contains(name)
}

/// Whether applications may take a field for another: CGI, and what comes after it, has an underscore for each hyphen (RFC 3875 section
/// 4.1.18), and calls the path `SCRIPT_NAME`. Dropped from a trusted proxy too, which may have passed on what anybody wrote.
fn is_ambiguous(name: &HeaderName) -> bool {
    name.as_str().bytes().any(|byte| byte == b'_')
}

/// Makes the lines of a list field one, with one more member: `last`.
fn add(fields: &mut HeaderMap, name: &'static HeaderName, last: HeaderValue) {
    let mut lines = match fields.entry(name) {
        Entry::Occupied(lines) => lines,
        Entry::Vacant(place) => {
            place.insert(last);
            return;
        }
    };
    let before = lines.iter().filter_map(|line| line.to_str().ok());
    let before = before.flat_map(|line| [line.as_bytes(), b", "]);
    let all: Vec<&[u8]> = before.chain([last.as_bytes()]).collect();
    if let Ok(all) = HeaderValue::try_from(all.concat()) {
        lines.insert(all);
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
    fields::remove_where(&mut fields, |name| {
        matches!(*name, header::CONTENT_LENGTH | header::CONTENT_TYPE)
    });
    Ok(assemble(method, keyed(ask)?, fields, empty))
}

/// A request whose content is part of the key.
pub fn with_content(
    ask: &Ask,
    mut fields: HeaderMap,
    content: Bytes,
) -> Result<Request<RequestBody>, Failure> {
    fields.insert(header::CONTENT_LENGTH, HeaderValue::from(content.len()));
    let content = Full::new(content)
        .map_err(|never| match never {})
        .boxed_unsync();
    Ok(assemble(ask.method.clone(), keyed(ask)?, fields, content))
}

/// A request whose answer may be stored: what is sent as target is a slice of what is keyed.
fn keyed(ask: &Ask) -> Result<Uri, Failure> {
    let keyed = ask.key.path_and_query();
    // Mostly that is what the client wrote, which is read already.
    match ask.uri.path_and_query() {
        Some(asked) if asked.as_str() == keyed => Ok(asked.clone().into()),
        _ => Uri::try_from(keyed).map_err(|_| Failure::BadRequest("bad-target")),
    }
}

/// A request that passes the store by: its target goes as the client wrote it, since nothing is keyed.
pub fn as_it_came(
    ask: &Ask,
    fields: HeaderMap,
    body: RequestBody,
) -> Result<Request<RequestBody>, Failure> {
    let uri = match ask.uri.path_and_query().map(PathAndQuery::as_str) {
        None => Ok(Uri::from_static("*")),
        // An absolute target whose path is empty (RFC 9112 section 3.2.1).
        Some(query) if query.starts_with('?') => Uri::try_from(["/", query].concat()),
        Some(target) => Uri::try_from(target),
    };
    let uri = uri.map_err(|_| Failure::BadRequest("bad-target"))?;
    Ok(assemble(ask.method.clone(), uri, fields, body))
}

fn assemble(
    method: Method,
    uri: Uri,
    fields: HeaderMap,
    body: RequestBody,
) -> Request<RequestBody> {
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = fields;
    request
}

#[cfg(test)]
mod tests;
