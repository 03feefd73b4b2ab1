//! Targets, hosts, queries and references. The first line is a target, the second a host, the third a `Location`.
#![no_main]

use http::{HeaderMap, HeaderValue, Uri, header::LOCATION};
use libfuzzer_sys::fuzz_target;
use proxy::target::Target;
use rules::{
    invalidate,
    key::{self, QueryChoice},
};

fuzz_target!(|text: &str| {
    let mut lines = text.split('\n');
    let (written, host) = (
        lines.next().unwrap_or_default(),
        lines.next().unwrap_or_default(),
    );
    let once = key::normalize(written);
    assert_eq!(
        key::normalize(&once),
        once,
        "normalising twice is normalising once"
    );
    if let Some(usual) = Target::usual(written.as_bytes()) {
        let uri = Uri::try_from(written).expect("what is usual is a URI");
        assert_eq!(usual.to_string(), written);
        let uri = Target::from(uri);
        assert_eq!(
            (usual.path(), usual.query(), usual.normal()),
            (uri.path(), uri.query(), uri.normal()),
            "whoever reads it reads the same"
        );
    }
    let (path, query) = match once.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (&*once, None),
    };
    assert_eq!(
        key::normalize(path),
        path,
        "a part of what is normal is normal"
    );
    let sorted = key::choose_query(query, &QueryChoice::All, true);
    let again = key::choose_query(sorted.as_deref(), &QueryChoice::All, true);
    assert_eq!(again, sorted, "sorting twice is sorting once");
    let except = QueryChoice::Except(key::tracking());
    let kept = key::choose_query(query, &except, false);
    let again = key::choose_query(kept.as_deref(), &except, false);
    assert_eq!(again, kept, "choosing twice is choosing once");
    for scheme in ["http", "https"] {
        if let Some(normal) = key::normalize_host(host, scheme) {
            assert_eq!(
                key::normalize_host(&normal, scheme).as_ref(),
                Some(&normal),
                "a normal host is its own"
            );
            assert!(
                !normal.contains(['@', '/', '?', '#', ' ', '\\', '%']),
                "{normal}"
            );
        }
    }
    let Ok(location) = HeaderValue::from_bytes(lines.next().unwrap_or_default().as_bytes()) else {
        return;
    };
    let response = HeaderMap::from_iter([(LOCATION, location)]);
    for other in invalidate::others(
        &response,
        "http://a.example/dir/page?query",
        Some("b.example"),
    ) {
        let path = other
            .strip_prefix("http://a.example")
            .expect("of the same origin");
        assert!(path.starts_with('/'), "{other}");
    }
});
