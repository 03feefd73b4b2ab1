//! The request message: method, target and content around its fields.

use super::{edit, trust::is_named};
use crate::{
    ask::Ask,
    error::{BadRequest, Failure},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt, Empty, Full};
use origin::RequestBody;
use rules::fields::{DIGESTS, remove_where};

/// Whether a field describes content (its digests too: RFC 9530 and those before it), or is `Max-Forwards`, which means
/// nothing to `GET` (RFC 9110 section 7.6.2).
pub fn is_of_content(name: &HeaderName) -> bool {
    match *name {
        header::CONTENT_LENGTH
        | header::CONTENT_TYPE
        | header::CONTENT_ENCODING
        | header::CONTENT_LANGUAGE
        | header::CONTENT_LOCATION
        | header::CONTENT_RANGE
        | header::MAX_FORWARDS => true,
        _ => DIGESTS.contains(name),
    }
}

/// Whether a request without content goes out without this field of its client: it is [of content](is_of_content), and
/// the route does not name it. Then no key contains it, and an origin that rejected it would reject the request for all
/// clients.
pub(super) fn is_withheld(ask: &Ask, name: &HeaderName) -> bool {
    is_of_content(name) && !is_named(ask, name)
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
    remove_where(&mut fields, |name| is_withheld(ask, name));
    // What the site says itself is the same for all clients.
    let edits = ask.policy().to_origin.edits.iter();
    edit(
        &mut fields,
        edits.filter(|edit| is_withheld(ask, edit.name())),
    );
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

/// A request that bypasses the store. Its target goes out as the client wrote it, since nothing is keyed.
pub fn as_it_came(
    ask: &Ask,
    fields: HeaderMap,
    body: RequestBody,
) -> Result<Request<RequestBody>, Failure> {
    let uri = match ask.target.origin_form() {
        None => Ok(Uri::from_static("*")),
        Some(target) => Uri::try_from(&*target),
    };
    let uri = uri.map_err(|_| Failure::BadRequest(BadRequest::Target))?;
    Ok(assemble(ask.method.clone(), uri, fields, body))
}

/// Returns the target of a request whose answer may be stored: a slice of the key.
fn keyed(ask: &Ask) -> Result<Uri, Failure> {
    Uri::try_from(ask.key.path_and_query_bytes())
        .map_err(|_| Failure::BadRequest(BadRequest::Target))
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
