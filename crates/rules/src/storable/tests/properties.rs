//! Properties that hold for any exchange.

use super::*;
use proptest::{prelude::*, sample::select};

/// The names and values that the judgement looks at, and others.
fn any_fields() -> impl Strategy<Value = HeaderMap> {
    let names = select(vec![
        "age",
        "authorization",
        "cache-control",
        "cdn-cache-control",
        "content-location",
        "content-range",
        "content-type",
        "date",
        "etag",
        "expires",
        "last-modified",
        "pragma",
        "set-cookie",
        "vary",
    ]);
    let values = prop_oneof![
        proptest::collection::vec(32u8..=255, 0..30),
        "(no-store|private|public|max-age|s-maxage)[=, \"0-9a-z-]{0,20}"
            .prop_map(String::into_bytes),
        "(bytes )?[0-9]{0,4}[-/*][0-9]{0,4}/?[0-9]{0,4}".prop_map(String::into_bytes),
        "[A-Z][a-z]{2}, [0-3][0-9] Nov 19[0-9]{2} 08:49:37 GMT".prop_map(String::into_bytes),
    ];
    proptest::collection::vec((names, values), 0..8).prop_map(|lines| {
        let mut fields = HeaderMap::new();
        for (name, value) in lines {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                fields.append(HeaderName::from_static(name), value);
            }
        }
        fields
    })
}

proptest! {
    #[test]
    fn no_exchange_panics_or_stores_what_is_forbidden(
        request in any_fields(),
        response in any_fields(),
        status in 100u16..1000,
        post in any::<bool>(),
        times in any::<(u64, u64)>(),
    ) {
        let asked = directives::request(&request);
        let judged = judge(
            &Exchange {
                method: if post { &Method::POST } else { &Method::GET },
                request: &request,
                request_directives: &asked,
                target: TARGET,
                status: StatusCode::from_u16(status).unwrap(),
                response: &response,
                request_time: Time::from_millis(times.0),
                response_time: Time::from_millis(times.1),
            },
            &SITE,
        );
        let (said, _) = directives::response(&response, &CDN);
        if judged.is_ok() {
            prop_assert!(status >= 200 && status != 304);
            prop_assert!(!asked.no_store && (!said.no_store || said.must_understand));
            prop_assert!(!said.private.is_whole());
            let is_shared = said.public || said.must_revalidate || said.s_maxage.is_some();
            prop_assert!(is_shared || !request.contains_key("authorization"));
        }
    }
}
