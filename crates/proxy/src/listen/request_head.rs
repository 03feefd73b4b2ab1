//! The head of a request.

use super::RequestBody;
use crate::{said::FieldPresence, target::Target};
use http::{HeaderMap, Method, Request, Version, request::Parts};

/// The head of a request, and which features its fields use.
#[derive(Debug, Default)]
pub struct RequestHead {
    /// The method.
    pub method: Method,
    /// The client's version.
    pub version: Version,
    /// The target.
    pub target: Target,
    /// The fields.
    pub fields: HeaderMap,
    /// Which features the fields use.
    pub(crate) said: FieldPresence,
}

impl RequestHead {
    /// Turns the head into a request without content.
    pub fn into_request(self) -> Request<RequestBody> {
        let mut request = Request::new(RequestBody::none());
        *request.method_mut() = self.method;
        *request.version_mut() = self.version;
        *request.uri_mut() = self.target.into_uri();
        *request.headers_mut() = self.fields;
        request
    }
}

impl From<Parts> for RequestHead {
    fn from(parts: Parts) -> Self {
        Self {
            method: parts.method,
            version: parts.version,
            target: parts.uri.into(),
            said: FieldPresence::by(&parts.headers),
            fields: parts.headers,
        }
    }
}
