use super::*;
use http::{HeaderMap, HeaderValue, Method, header};
use proptest::prelude::*;

mod accept;
mod form;
mod tag;
mod untouched;

fn request(lines: &[&str]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for line in lines {
        let value = HeaderValue::from_bytes(line.as_bytes()).unwrap();
        fields.append(header::ACCEPT_ENCODING, value);
    }
    fields
}

fn described(etag: &str, coding: Option<Coding>, made: FormProvenance) -> HeaderMap {
    let mut fields = HeaderMap::new();
    fields.insert(header::ETAG, HeaderValue::from_str(etag).unwrap());
    fields.insert(header::CONTENT_LENGTH, HeaderValue::from_static("1000"));
    fields.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    fields.insert("repr-digest", HeaderValue::from_static("sha-256=:AA==:"));
    describe(&mut fields, coding, made);
    fields
}
