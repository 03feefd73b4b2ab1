//! Requests: how they are framed, and where they go.

use super::*;
use bytes::Bytes;
use http::{
    Uri,
    header::{EXPECT, HOST, TE},
};
use http_body::Body;
use http_body_util::{BodyExt, Full};

fn request(
    method: Method,
    body: Outgoing,
    fields: &[(&'static str, &'static str)],
) -> Request<Outgoing> {
    let mut request = Request::new(body);
    *request.method_mut() = method;
    for (name, value) in fields {
        let value = HeaderValue::from_static(value);
        request.headers_mut().append(*name, value);
    }
    request
}

fn full(text: &'static str) -> Outgoing {
    let body = Full::new(Bytes::from_static(text.as_bytes()));
    Outgoing::new(body.map_err(|never| match never {}).boxed_unsync())
}

fn endless() -> Outgoing {
    struct Never;
    impl Body for Never {
        type Data = Bytes;
        type Error = Box<dyn std::error::Error + Send + Sync>;
        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
            std::task::Poll::Pending
        }
    }
    Outgoing::new(Never.boxed_unsync())
}

#[test]
fn request_framing_says_what_the_body_is() {
    type Row = (Method, Outgoing, Fields, Option<&'static str>, bool);
    let table: Vec<Row> = vec![
        (Method::GET, Outgoing::empty(), &[], None, false),
        (
            Method::GET,
            Outgoing::empty(),
            &[("content-length", "5")],
            None,
            false,
        ),
        (
            Method::GET,
            Outgoing::empty(),
            &[("transfer-encoding", "chunked")],
            None,
            false,
        ),
        (
            Method::POST,
            Outgoing::empty(),
            &[("content-length", "5")],
            Some("0"),
            false,
        ),
        (Method::POST, full("hello"), &[], Some("5"), false),
        (
            Method::POST,
            full("hello"),
            &[("content-length", "7")],
            Some("5"),
            false,
        ),
        (
            Method::POST,
            endless(),
            &[("content-length", "7")],
            Some("7"),
            false,
        ),
        (
            Method::POST,
            endless(),
            &[("content-length", "7, 8")],
            None,
            true,
        ),
        (Method::POST, endless(), &[], None, true),
        (Method::GET, endless(), &[], None, true),
        (
            Method::POST,
            endless(),
            &[("expect", "100-continue")],
            None,
            true,
        ),
    ];
    for (index, (method, body, fields, length, chunked)) in table.into_iter().enumerate() {
        let mut request = request(method, body, fields);
        frame(&mut request);
        let got = request.headers().get(CONTENT_LENGTH);
        assert_eq!(
            got.map(|value| value.to_str().unwrap()),
            length,
            "row {index}"
        );
        assert_eq!(
            request.headers().contains_key(TRANSFER_ENCODING),
            chunked,
            "row {index}"
        );
        let expects = fields.contains(&("expect", "100-continue"));
        assert_eq!(
            request.headers().contains_key(EXPECT),
            expects,
            "row {index}"
        );
    }
}

#[test]
fn targets_keep_their_bytes() {
    for target in [
        "/",
        "//a//b",
        "/a%2Fb?c=%20d&&e",
        "/?",
        "/a?b?c",
        "*",
        "/\u{e9}",
        "/a/../b/./c",
        "/;p|x\"{}",
    ] {
        let Ok(uri) = target.parse::<Uri>() else {
            continue;
        };
        for (speaks, tls, before) in [
            (Speaks::Http1, false, ""),
            (Speaks::Http2, true, "https://a.example:8443"),
        ] {
            let mut request = request(
                Method::GET,
                Outgoing::empty(),
                &[("host", "a.example:8443")],
            );
            *request.uri_mut() = uri.clone();
            address(&mut request, asked(false), speaks, tls).unwrap();
            assert_eq!(request.uri().to_string(), format!("{before}{target}"));
            assert_eq!(
                request.headers().contains_key(HOST),
                speaks == Speaks::Http1
            );
        }
    }
}

/// RFC 9110 section 10.1.4: it is for the next recipient, which `Connection` would have to say over HTTP/1.1.
#[test]
fn only_http2_is_told_that_trailers_are_taken() {
    let fields = [("host", "a"), ("te", "trailers")];
    let mut request = request(Method::POST, endless(), &fields);
    let asked = frame(&mut request);
    for (speaks, told) in [
        (Speaks::Http2, true),
        (Speaks::Http2, true),
        (Speaks::Http1, false),
    ] {
        address(&mut request, asked, speaks, false).unwrap();
        assert_eq!(request.headers().contains_key(TE), told, "{speaks:?}");
        request
            .headers_mut()
            .append(HOST, HeaderValue::from_static("a"));
    }
}

/// A request that HTTP/2 gives back unsent goes out over HTTP/1 as it would have at first: with its host, only its
/// target, and content that ends.
#[test]
fn what_comes_back_from_http2_is_whole_over_http1() {
    let host = ("host", "site.example:8443");
    let table = [
        (Method::GET, Outgoing::empty(), vec![host]),
        (Method::POST, full("content"), vec![host]),
        (Method::POST, endless(), vec![host]),
        (Method::PUT, endless(), vec![host, ("content-length", "7")]),
        (Method::POST, Outgoing::empty(), vec![host]),
    ];
    for (method, body, fields) in table {
        let mut request = request(method, body, &fields);
        *request.uri_mut() = Uri::from_static("/path?a=b");
        let asked = frame(&mut request);
        let told = |request: &Request<Outgoing>| {
            let mut fields: Vec<_> = request
                .headers()
                .iter()
                .map(|(name, value)| format!("{name}: {value:?}"))
                .collect();
            fields.sort();
            (request.uri().to_string(), request.version(), fields)
        };
        let first = told(&request);
        address(&mut request, asked, Speaks::Http2, true).unwrap();
        assert_eq!(request.uri(), "https://site.example:8443/path?a=b");
        assert!(!request.headers().contains_key(HOST));
        assert!(!request.headers().contains_key(TRANSFER_ENCODING));
        address(&mut request, asked, Speaks::Http1, true).unwrap();
        assert_eq!(told(&request), first);
    }
}
