//! `Vary` and variant keys: a response head, an empty line, a request head.
#![no_main]

use http::{HeaderMap, HeaderName, HeaderValue, header::COOKIE};
use libfuzzer_sys::fuzz_target;
use rules::vary::{self, Nominated};

fn key(nominated: &[HeaderName], request: &HeaderMap) -> Vec<u8> {
    let mut key = Vec::new();
    vary::variant_key(nominated, request, &mut key);
    key
}

/// The request with the lines of each field combined into one, which RFC 9111 section 4.1 lets be equal.
fn combined(request: &HeaderMap) -> HeaderMap {
    let combine = |name: &HeaderName| {
        let lines: Vec<&[u8]> = request
            .get_all(name)
            .iter()
            .map(HeaderValue::as_bytes)
            .collect();
        let separator: &[u8] = if name == COOKIE { b"; " } else { b", " };
        (
            name.clone(),
            HeaderValue::from_bytes(&lines.join(separator)).unwrap(),
        )
    };
    request.keys().map(combine).collect()
}

fuzz_target!(|data: &[u8]| {
    let (response, request) = larder_fuzz::halves(data);
    let (_, response) = larder_fuzz::head(response);
    let (_, request) = larder_fuzz::head(request);
    let Nominated::Fields(names) = vary::nominated(&response) else {
        return;
    };
    assert!(names.is_sorted_by(|one, two| one.as_str() < two.as_str()));
    let own = key(&names, &request);
    let lines = own.split(|&byte| byte == b'\n').count();
    assert_eq!(lines, names.len() + 1, "a line for each field");

    let combined = combined(&request);
    // A quoted string can begin on one line and end on the next only after they are combined.
    if !request
        .values()
        .any(|value| value.as_bytes().contains(&b'"'))
    {
        assert_eq!(key(&names, &combined), own, "lines combined match");
    }
    for name in &names {
        let mut without = request.clone();
        if without.remove(name).is_some() {
            assert_ne!(key(&names, &without), own, "absent does not match present");
        }
    }
});
