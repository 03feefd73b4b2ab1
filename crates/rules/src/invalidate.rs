//! What a successful unsafe request invalidates (RFC 9111 section 4.4). For cache groups see [`crate::surrogate`].

use crate::{
    key::{normalize, normalize_host},
    method::is_safe,
    uri::{self, Reference},
};
use http::{
    HeaderMap, Method, StatusCode,
    header::{CONTENT_LOCATION, LOCATION},
};

/// Whether this exchange invalidates: its method is unsafe and its status is no error (2xx or 3xx).
pub fn invalidates(method: &Method, status: StatusCode) -> bool {
    !is_safe(method) && (status.is_success() || status.is_redirection())
}

/// Returns the URIs to invalidate besides the target: those of `Location` and `Content-Location`, resolved against
/// `target`, if they are of the same origin (RFC 9111 section 4.4).
///
/// `target` and the URIs returned have the form `scheme://authority/path?query`. The latter have the host that
/// [`normalize_host`] gives, and the path and query that [`normalize`] gives.
///
/// `known_as` is the host by which the application knows the target's origin, if it knows it by another name. URIs at
/// that host count as the target's.
pub fn others(response: &HeaderMap, target: &str, known_as: Option<&str>) -> Vec<String> {
    let Some(own) = normal_form(&Reference::parse(target)) else {
        return Vec::new();
    };
    let mut found: Vec<String> = Vec::new();
    let locations = response.get_all(LOCATION).iter();
    for value in locations.chain(response.get_all(CONTENT_LOCATION)) {
        let Some(mut other) = resolved(value.as_bytes(), target) else {
            continue;
        };
        if known_as.is_some_and(|host| other.is_at(host)) {
            other = other.at(&own.origin);
        }
        if other.origin == own.origin && other.uri != own.uri && !found.contains(&other.uri) {
            found.push(other.uri);
        }
    }
    found
}

/// Whether `reference`, resolved against `target` (RFC 3986 section 5.2), is the target. URIs are the same if they are
/// equal once both are normalised (RFC 9110 section 4.2.3).
pub(crate) fn names(reference: &[u8], target: &str) -> bool {
    let own = normal_form(&Reference::parse(target));
    let named = resolved(reference, target);
    own.zip(named)
        .is_some_and(|(own, named)| own.uri == named.uri)
}

/// Resolves `reference` against `target` and normalises it.
fn resolved(reference: &[u8], target: &str) -> Option<NormalForm> {
    normal_form(&Reference::parse(&uri::join(target, reference)))
}

/// A normalised URI, as it is keyed.
struct NormalForm {
    /// `scheme://authority` (RFC 9110 section 4.3.1).
    origin: String,
    uri: String,
}

impl NormalForm {
    /// Whether the URI is at this host, in any scheme.
    fn is_at(&self, host: &str) -> bool {
        let parts = self.origin.split_once("://");
        parts.is_some_and(|(scheme, own)| {
            normalize_host(host, scheme).is_some_and(|host| host == own)
        })
    }

    /// The same path and query at `origin`.
    fn at(self, origin: &str) -> Self {
        let rest = self.uri.get(self.origin.len()..).unwrap_or_default();
        Self {
            uri: [origin, rest].concat(),
            origin: origin.to_owned(),
        }
    }
}

/// Normalises a URI; `None` if it is not an `http` or `https` URI with a valid host.
fn normal_form(uri: &Reference<'_>) -> Option<NormalForm> {
    let scheme = uri.scheme?.to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https") {
        return None;
    }
    let host = normalize_host(uri.authority?, &scheme)?;
    let origin = format!("{scheme}://{host}");
    let path = if uri.path.is_empty() { "/" } else { uri.path };
    let mut whole = format!("{origin}{}", normalize(path));
    if let Some(query) = uri.query {
        whole.push('?');
        whole.push_str(&normalize(query));
    }
    Some(NormalForm { origin, uri: whole })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};
    use proptest::prelude::*;

    const TARGET: &str = "http://a.example/dir/page?q=1";

    fn locations(lines: &[(HeaderName, &str)]) -> HeaderMap {
        let value = |text: &str| HeaderValue::from_bytes(text.as_bytes()).unwrap();
        let lines = lines.iter();
        lines
            .map(|(name, text)| (name.clone(), value(text)))
            .collect()
    }

    /// RFC 9110 section 9.2.1: "Of the request methods defined by this specification, the GET, HEAD, OPTIONS, and TRACE
    /// methods are defined to be safe." RFC 9111 section 4.4: "(including methods whose safety is unknown)".
    #[test]
    fn invalidation_follows_method_and_status() {
        for (method, status, expected) in [
            ("GET", 200, false),
            ("HEAD", 200, false),
            ("OPTIONS", 200, false),
            ("TRACE", 200, false),
            ("POST", 200, true),
            ("PUT", 204, true),
            ("DELETE", 404, false),
            ("PATCH", 500, false),
            ("POST", 303, true),
            ("POST", 199, false),
            // Registered as safe, so their safety is known.
            ("QUERY", 200, false),
            ("PROPFIND", 207, false),
            ("MKCOL", 201, true),
            ("get", 200, true),
        ] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(invalidates(&method, status), expected, "{method} {status}");
        }
    }

    /// RFC 9111 section 4.4: "MUST NOT trigger an invalidation ... if the origin of the URI to be invalidated differs".
    #[test]
    fn others_are_resolved_and_of_the_same_origin() {
        for (location, expected) in [
            ("/x", Some("http://a.example/x")),
            ("x", Some("http://a.example/dir/x")),
            ("?q=2", Some("http://a.example/dir/page?q=2")),
            ("../up#part", Some("http://a.example/up")),
            ("", None),
            ("#part", None),
            (TARGET, None),
            ("//A.Example:80/x", Some("http://a.example/x")),
            ("HTTP://a.example./x", Some("http://a.example/x")),
            ("http://a.example", Some("http://a.example/")),
            ("http://a.example?x", Some("http://a.example/?x")),
            ("/%7euser/%c3%a9", Some("http://a.example/~user/%C3%A9")),
            ("/\u{e9} x", Some("http://a.example/%C3%A9%20x")),
            ("/<x>?`\"", Some("http://a.example/%3Cx%3E?%60%22")),
            ("/%3cx%3e?%60%22", Some("http://a.example/%3Cx%3E?%60%22")),
            ("https://a.example/x", None),
            ("http://a.example:8080/x", None),
            ("http://b.example/x", None),
            ("//b.example/x", None),
            ("http://a.example@b.example/x", None),
            ("http://user@a.example/x", None),
            ("mailto:a@a.example", None),
            ("ftp://a.example/x", None),
            ("http:///x", None),
        ] {
            let found = others(&locations(&[(LOCATION, location)]), TARGET, None);
            let expected: Vec<String> = expected.map(str::to_owned).into_iter().collect();
            assert_eq!(found, expected, "{location}");
        }
    }

    #[test]
    fn default_ports_of_the_target_count_as_absent() {
        let response = locations(&[(LOCATION, "https://a.example/x")]);
        assert_eq!(
            others(&response, "https://A.example:443/", None),
            ["https://a.example/x"]
        );
    }

    /// An origin that is asked for by another name is the same origin.
    #[test]
    fn the_name_by_which_the_application_knows_it_is_the_targets() {
        for (location, expected) in [
            ("http://app.internal:8000/x?y", Some("http://a.example/x?y")),
            ("https://App.internal:8000/x", Some("http://a.example/x")),
            ("//app.internal:8000", Some("http://a.example/")),
            ("/x", Some("http://a.example/x")),
            ("http://app.internal:8000/dir/page?q=1", None),
            ("http://app.internal/x", None),
            ("ftp://app.internal:8000/x", None),
            ("http://app.internal:8000.b.example/x", None),
            ("http://b.example/x", None),
        ] {
            let response = locations(&[(LOCATION, location)]);
            let found = others(&response, TARGET, Some("app.internal:8000"));
            let expected: Vec<String> = expected.map(str::to_owned).into_iter().collect();
            assert_eq!(found, expected, "{location}");
        }
        let response = locations(&[(LOCATION, "https://app.internal/x")]);
        assert_eq!(
            others(&response, TARGET, Some("app.internal")),
            ["http://a.example/x"]
        );
    }

    #[test]
    fn both_fields_are_read_once_each() {
        let response = locations(&[
            (LOCATION, "/one"),
            (CONTENT_LOCATION, "/two"),
            (CONTENT_LOCATION, "/one"),
        ]);
        assert_eq!(
            others(&response, TARGET, None),
            ["http://a.example/one", "http://a.example/two"]
        );
    }

    proptest! {
        #[test]
        fn never_another_origin(location in "[a-z:/?#@.\\[\\]%0-9\\\\ é]{0,30}", known_as in "[a-z:.0-9]{0,6}") {
            let known_as = Some(known_as.as_str());
            for other in others(&locations(&[(LOCATION, &location)]), TARGET, known_as) {
                prop_assert!(other.starts_with("http://a.example/"), "{other}");
            }
        }
    }
}
