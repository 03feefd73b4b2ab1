//! Writes the head of a request.

use super::head::names;
use http::{Request, Uri, header::CONNECTION, uri::PathAndQuery};

/// Writes the head of a request without content, whose framing fields are already right. Returns whether it asks for
/// the connection to be closed.
pub(super) fn write<B>(head: &mut Vec<u8>, request: &Request<B>) -> bool {
    let mut closes = false;
    head.extend_from_slice(request.method().as_str().as_bytes());
    head.push(b' ');
    head.extend_from_slice(target(request.uri()).as_bytes());
    head.extend_from_slice(b" HTTP/1.1\r\n");
    for (name, value) in request.headers() {
        if *name == CONNECTION {
            closes |= names(value.as_bytes(), b"close");
        }
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    closes
}

/// Returns the target in origin form, byte for byte (RFC 9112 section 3.2.1).
fn target(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", PathAndQuery::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    fn written(request: &Request<()>) -> (String, bool) {
        let mut head = Vec::new();
        let closes = write(&mut head, request);
        (String::from_utf8(head).unwrap(), closes)
    }

    #[test]
    fn a_head_is_written_as_it_is() {
        for (target, sent) in [
            ("/", "/"),
            ("//a/../b?", "//a/../b?"),
            ("/%7E?a=%20&&", "/%7E?a=%20&&"),
            ("*", "*"),
        ] {
            let request = Request::builder()
                .method(Method::from_bytes(b"PURGE-ME").unwrap())
                .uri(target)
                .header("Host", "a.example")
                .header("X-A", "1")
                .header("X-A", "2")
                .body(())
                .unwrap();
            let want =
                format!("PURGE-ME {sent} HTTP/1.1\r\nhost: a.example\r\nx-a: 1\r\nx-a: 2\r\n\r\n");
            assert_eq!(written(&request), (want, false));
        }
    }

    #[test]
    fn a_wish_to_close_is_noticed() {
        for (value, closes) in [("close", true), ("x, Close", true), ("closed", false)] {
            let request = Request::builder().header("Connection", value);
            assert_eq!(written(&request.body(()).unwrap()).1, closes, "{value}");
        }
    }
}
