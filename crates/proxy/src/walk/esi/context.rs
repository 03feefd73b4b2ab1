//! What the includes and variables of a page need to know about the request for the page.

use super::within::Within;
use crate::{
    ask::Ask,
    body::ReplyBody,
    cache::{Worker, WorkerSite},
    listen::{Connection, Later, RequestBody},
    policy::{HostPattern, Site},
    routing,
    walk::{self, outbound},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri, Version, header, uri,
};
use rules::{fields, key, method::is_retrieval, validate};
use std::{borrow::Cow, rc::Rc, time::Duration};

/// Stands for the host of a page that an HTTP/1.0 client asked for without a host, while addresses are resolved. No
/// host has this name (RFC 2606 section 2).
const NO_HOST: &str = "none.invalid";

/// Fields for the one request with which the client sends them: a name under which it is carried out once, however often
/// it comes, and what signs its method and its target (RFC 9421 section 4, RFC 9449 section 4.2).
static FOR_ITSELF: [HeaderName; 4] = [
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("signature"),
    HeaderName::from_static("signature-input"),
    HeaderName::from_static("dpop"),
];

/// One request for a page, as its includes see it.
pub struct Context {
    worker: Rc<Worker>,
    site: WorkerSite,
    connection: Rc<Connection>,
    within: Rc<Within>,
    scheme: &'static str,
    host: Box<str>,
    /// The target of the page, as it is keyed.
    target: Box<str>,
    /// The query as the client wrote it.
    query: Option<Box<str>>,
    /// The client's fields, as each include's request has them.
    fields: HeaderMap,
    /// How long an include may take until its head is there.
    pub wait: Duration,
    /// The largest fragment, in bytes.
    pub largest: u64,
}

impl Context {
    /// What the includes of `ask`'s answer need. The key of a `GET` or `HEAD` is noted, so that no include leads back
    /// to it.
    pub fn new(worker: &Rc<Worker>, ask: &Ask) -> Rc<Self> {
        Rc::new(Self::of(worker, ask))
    }

    /// Like [`new`](Self::new), for the request that asks which group the client belongs to. It accepts an answer of
    /// this media type.
    pub fn asking_group(worker: &Rc<Worker>, ask: &Ask, media: &'static str) -> Rc<Self> {
        let mut context = Self::of(worker, ask);
        let media = HeaderValue::from_static(media);
        context.fields.insert(header::ACCEPT, media);
        if let Some(within) = Rc::get_mut(&mut context.within) {
            within.asks_group = true;
        }
        Rc::new(context)
    }

    fn of(worker: &Rc<Worker>, ask: &Ask) -> Self {
        let policy = ask.policy();
        // The answer to a form may include the page under the form's own address, to show what the form changed.
        let key = if is_retrieval(&ask.method) {
            ask.key.as_bytes()
        } else {
            &[]
        };
        Self {
            worker: worker.clone(),
            site: ask.site.clone(),
            connection: ask.receipt.connection.clone(),
            within: Within::new(key, ask.within.clone(), ask.receipt.for_another),
            scheme: ask.scheme,
            host: ask.host().into(),
            target: ask.key.path_and_query().into(),
            query: ask.target.query().map(Into::into),
            fields: include_fields(ask),
            wait: policy.fragment_wait,
            largest: policy.largest_body,
        }
    }

    /// Returns the worker that serves the page and asks for its includes.
    pub fn worker(&self) -> &Worker {
        &self.worker
    }

    /// Walks the request for `reference`, an include of this page. Returns the answer, or the wait for it; `None` if
    /// the address is not ours to answer.
    pub fn walk(&self, reference: &str) -> Option<Result<Response<ReplyBody>, Later<ReplyBody>>> {
        if self.within.is_used_up() {
            return None;
        }
        let uri = self.resolve(reference)?;
        if !self.within.admits() {
            return None;
        }
        let mut request = Request::new(RequestBody::none());
        *request.method_mut() = Method::GET;
        *request.headers_mut() = self.fields.clone();
        let host = uri.authority().map(uri::Authority::as_str)?;
        let scheme = uri.scheme_str().unwrap_or(self.scheme);
        if self.host.is_empty() && host == NO_HOST {
            // In the way the page was asked for.
            *request.version_mut() = Version::HTTP_10;
            *request.uri_mut() = Uri::from(uri.path_and_query()?.clone());
        } else {
            if key::normalize_host(host, scheme).as_deref() != Some(&*self.host) {
                outbound::strip_host(request.headers_mut());
            }
            request
                .headers_mut()
                .insert(header::HOST, HeaderValue::from_str(host).ok()?);
            *request.uri_mut() = uri;
        }
        let answer = walk::fragment(
            &self.worker,
            &self.site,
            request,
            &self.connection,
            &self.within,
        );
        Some(answer.at_once())
    }

    /// Returns the address of an include. It never leaves this site: only routes answer it. It may name the page's own
    /// host and any host that a route names. Whatever scheme it names, the include comes the way the client came.
    fn resolve(&self, reference: &str) -> Option<Uri> {
        let own = match &*self.host {
            "" => NO_HOST,
            host => host,
        };
        let base = format!("{}://{own}{}", self.scheme, self.target);
        let uri = Uri::try_from(rules::uri::join(&base, reference.as_bytes())).ok()?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return None;
        }
        let authority = uri.authority()?.as_str();
        let host = key::normalize_host(authority, uri.scheme_str()?)?;
        (host == own || is_named(&self.site, routing::without_port(&host))).then_some(uri)
    }
}

/// Whether a route names this host, or a domain that contains it.
fn is_named(site: &Site, host: &str) -> bool {
    let mut patterns = site.routes.iter().flat_map(|route| &route.matcher.hosts);
    patterns.any(|pattern| !matches!(pattern, HostPattern::Any) && pattern.matches(host))
}

/// Returns the client's fields without those that are about the request for the page alone: conditions, parts, content,
/// signatures, the connection. None of the fragments is coded, since they must be readable side by side. The cookies
/// are those that the client sent: includes may depend on cookies on which the page must not.
fn include_fields(ask: &Ask) -> HeaderMap {
    let mut fields = ask.fields.clone();
    if !ask.set_aside.cookies.is_empty() {
        fields.remove(header::COOKIE);
        for line in &ask.set_aside.cookies {
            fields.append(header::COOKIE, line.clone());
        }
    }
    fields::remove_hop_by_hop(&mut fields);
    // Fields that the page's origin does not get must not reach the include's origin either.
    for name in &ask.receipt.connection_options {
        fields.append(header::CONNECTION, HeaderValue::from(name.clone()));
    }
    validate::remove_conditions(&mut fields);
    outbound::strip_target(&mut fields);
    fields::remove_where(&mut fields, |name| {
        outbound::is_of_content(name) || *name == header::EXPECT || FOR_ITSELF.contains(name)
    });
    fields.insert(
        header::ACCEPT_ENCODING,
        HeaderValue::from_static("identity"),
    );
    fields
}

impl esi::Request for Context {
    fn host(&self) -> &str {
        &self.host
    }

    fn path(&self) -> &str {
        let target = &*self.target;
        target.split_once('?').map_or(target, |(path, _)| path)
    }

    fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    fn field(&self, name: &str) -> Option<Cow<'_, str>> {
        let mut lines = self.fields.get_all(name).iter();
        let first = String::from_utf8_lossy(lines.next()?.as_bytes());
        Some(lines.fold(first, |all, line| {
            let by = if name == "cookie" { "; " } else { ", " };
            Cow::Owned(format!(
                "{all}{by}{}",
                String::from_utf8_lossy(line.as_bytes())
            ))
        }))
    }
}
