//! Stored responses for tests.

use crate::{Body, Fields, Stored, Variant};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rules::{
    directives,
    freshness::{self, Facts},
    time::Time,
    vary,
};

/// A request whose `Accept` is `accept`.
pub(crate) fn request(accept: &str) -> HeaderMap {
    let value = HeaderValue::from_str(accept).expect("valid");
    HeaderMap::from_iter([(header::ACCEPT, value)])
}

/// A response with this `date` in seconds, to a request with `accept`, which `Vary: Accept` nominates.
pub(crate) fn accepting(accept: &str, date: u64) -> Stored {
    let nominated = [header::ACCEPT];
    let mut key = Vec::new();
    vary::variant_key(&nominated, &request(accept), &mut key);
    let variant = Variant {
        nominated: nominated.into(),
        key: key.into(),
    };
    build(
        Some(variant),
        date,
        Body::Whole(Bytes::from_static(b"text")),
    )
}

/// A response with this `date` in seconds that answers any request.
pub(crate) fn any_request(date: u64) -> Stored {
    build(None, date, Body::Whole(Bytes::from_static(b"text")))
}

/// A response with this body.
pub(crate) fn with_body(body: Body) -> Stored {
    build(None, 1_000_000, body)
}

fn build(variant: Option<Variant>, date: u64, body: Body) -> Stored {
    let fields = HeaderMap::new();
    let variant = variant.map(Box::new);
    Stored::new(
        0,
        StatusCode::OK,
        Fields::pack(&fields),
        facts(&fields, date),
        variant,
        None,
        body,
    )
}

fn facts(fields: &HeaderMap, date: u64) -> Facts {
    let said = directives::response(fields, &[]);
    let (site, at) = (freshness::Site::default(), Time::from_secs(date));
    freshness::facts(StatusCode::OK, fields, &said, &site, at, at)
}
