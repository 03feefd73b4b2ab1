//! `Cache-Control` and targeted fields, of requests and responses.
#![no_main]

use http::{HeaderMap, HeaderName, HeaderValue, header::CACHE_CONTROL};
use libfuzzer_sys::fuzz_target;
use rules::directives;

/// The lines of `Cache-Control`, each passed through `edit`.
fn edited(fields: &HeaderMap, edit: impl Fn(&[u8]) -> Vec<u8>) -> HeaderMap {
    let mut copy = fields.clone();
    copy.remove(CACHE_CONTROL);
    for line in fields.get_all(CACHE_CONTROL) {
        let edited = HeaderValue::from_bytes(&edit(line.as_bytes())).unwrap();
        copy.append(CACHE_CONTROL, edited);
    }
    copy
}

fuzz_target!(|data: &[u8]| {
    let (_, fields) = larder_fuzz::head(data);
    let targets = [HeaderName::from_static("cdn-cache-control")];
    let response = directives::response(&fields, &targets);
    let request = directives::request(&fields);

    let upper = edited(&fields, |line| line.to_ascii_uppercase());
    assert_eq!(
        directives::response(&upper, &targets),
        response,
        "names have no case"
    );
    assert_eq!(directives::request(&upper), request, "names have no case");

    let mut forbidding = edited(&fields, |line| [b"no-store , ", line].concat());
    forbidding.append(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    assert!(
        directives::response(&forbidding, &[]).0.no_store,
        "no-store is never lost"
    );
    assert!(
        directives::request(&forbidding).no_store,
        "no-store is never lost"
    );
});
