//! A request prepared for sending, as often as necessary.

use super::{config::FastCgi, params::ScriptRequest, place::Script, record};
use crate::Visitor;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Uri, header, request::Parts};
use std::sync::Arc;

/// What is sent before the request's body, encoded.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) records: Bytes,
    /// Whether the connection stays open afterwards.
    pub(crate) keeps: bool,
    /// The URL, for the log.
    pub(crate) url: Arc<str>,
    pub(crate) is_head: bool,
}

/// A request's head as it came to the origin.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a Method,
    pub(crate) uri: &'a Uri,
    pub(crate) fields: &'a HeaderMap,
    pub(crate) length: Option<u64>,
}

impl<'a> Request<'a> {
    pub(crate) fn of(head: &'a Parts, length: Option<u64>) -> Self {
        Self {
            method: &head.method,
            uri: &head.uri,
            fields: &head.headers,
            length,
        }
    }
}

impl Call {
    pub(crate) fn new(
        cgi: &FastCgi,
        script: &Script,
        request: &Request<'_>,
        visitor: &Visitor,
        keeps: bool,
    ) -> Self {
        let told = ScriptRequest {
            cgi,
            script,
            method: request.method,
            uri: request.uri,
            fields: request.fields,
            length: request.length,
            visitor,
        };
        let pairs = told.encode();
        let mut records = BytesMut::new();
        record::begin(&mut records, keeps);
        record::params(&mut records, pairs.records());
        Self {
            records: records.freeze(),
            keeps,
            url: url(request, visitor).into(),
            is_head: request.method == Method::HEAD,
        }
    }
}

fn url(request: &Request<'_>, visitor: &Visitor) -> String {
    let scheme = if visitor.https { "https" } else { "http" };
    let host = request.fields.get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok()).unwrap_or("-");
    format!("{scheme}://{host}{}", request.uri)
}
