//! Targets that `hyper` does not report exactly as they came.

use http::{Method, Request, Uri, uri::PathAndQuery};

/// Makes the target of an `OPTIONS` `*` if it came as an absolute one with neither path nor query, as the last proxy
/// must send it (RFC 9112 section 3.2.4). Over HTTP/2 it already comes so (RFC 9113 section 8.3.1).
pub(super) fn name_server<B>(request: &mut Request<B>) {
    if *request.method() != Method::OPTIONS || !has_no_path(request.uri()) {
        return;
    }
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::from_static("*"));
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
}

/// Whether an absolute target came without a path.
///
/// It has `/` then, like one that came with it. But [`Uri`] took that `/` from elsewhere, while a path that came
/// follows the authority in memory.
fn has_no_path(uri: &Uri) -> bool {
    let (Some(authority), Some(path)) = (uri.authority(), uri.path_and_query()) else {
        return false;
    };
    path == "/" && path.as_str().as_ptr() != authority.as_str().as_bytes().as_ptr_range().end
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_path_that_came_is_told_from_none(
            scheme in "https?|ftp",
            authority in "(u@)?[a-z]{1,9}(:80)?",
            rest in "|/|[/?][/?*a]{1,3}",
        ) {
            // As it comes: within a request line.
            let line = format!("OPTIONS {scheme}://{authority}{rest} HTTP/1.1\r\n");
            let target = "OPTIONS ".len()..line.len() - " HTTP/1.1\r\n".len();
            let uri = Uri::from_maybe_shared(Bytes::from(line).slice(target)).unwrap();
            prop_assert_eq!(has_no_path(&uri), rest.is_empty());
        }
    }

    #[test]
    fn what_names_no_host_has_its_path() {
        for target in ["/", "*", "/a", "a.test", "a.test:80"] {
            assert!(!has_no_path(&Uri::from_static(target)), "{target}");
        }
    }
}
