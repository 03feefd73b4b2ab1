use super::{check_framing, is_authority, names_length, request_length};
use crate::listen::fault::Fault;
use http::{HeaderMap, HeaderValue, header};
use proptest::prelude::*;

#[test]
fn authorities() {
    for good in [
        "a",
        "a:80",
        "a:",
        "A.b-c_d~",
        "127.0.0.1:8080",
        "[::1]",
        "[::1]:80",
        "%41",
        "a!$&'()*+,;=b",
    ] {
        assert!(is_authority(good.as_bytes()), "{good}");
    }
    for bad in [
        "", ":80", "a b", "a/b", "a?b", "a#b", "u@a", "a:b", "a:80:80", "[::1", "::1", "[]",
        "[::1]x", "a\\b", "\u{e4}", "\"a\"",
    ] {
        assert!(!is_authority(bad.as_bytes()), "{bad}");
    }
}

#[test]
fn lengths_in_raw_heads() {
    for (raw, named) in [
        ("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n", true),
        ("POST / HTTP/1.1\ncontent-length:1\n\n", true),
        ("\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n", true),
        ("POST / HTTP/1.1\r\nX: content-length\r\n\r\n", false),
        (
            "POST / HTTP/1.1\r\nX: y\r\n\r\nContent-Length: 1\r\n\r\n",
            false,
        ),
        ("POST / HTTP/1.1\nX: y\n\nContent-Length: 1\n\n", false),
        ("POST /content-length: HTTP/1.1\r\nX: y\r\n\r\n", false),
        ("", false),
    ] {
        assert_eq!(names_length(raw.as_bytes()), named, "{raw:?}");
    }
}

#[test]
fn requests_end_where_their_heads_say() {
    let head = |fields: &str| format!("\r\nPOST / HTTP/1.1\r\n{fields}\r\n");
    for (fields, content) in [
        ("", Some(0)),
        ("Content-Length: 3\r\n", Some(3)),
        ("content-length:3 \r\nX: y\r\n", Some(3)),
        ("Content-Length: 3\r\nContent-Length: 3\r\n", None),
        ("Content-Length: 3, 3\r\n", None),
        ("Content-Length: 99999999999999999999\r\n", None),
        ("Content-Length: 18446744073709551615\r\n", None),
        ("Content-Length:\r\n", None),
        ("Transfer-Encoding: chunked\r\n", None),
        ("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", None),
        ("Connection: upgrade\r\nUpgrade: websocket\r\n", None),
    ] {
        let head = head(fields);
        let length = content.map(|content| head.len() + content);
        for behind in ["", "abcGET / HTTP/1.1\r\nContent-Length: 9\r\n\r\n"] {
            let raw = [&*head, behind].concat();
            assert_eq!(request_length(raw.as_bytes()), length, "{raw:?}");
        }
    }
    for raw in [
        "",
        "GET",
        "GET / HTTP/1.1\r\n",
        "CONNECT a:80 HTTP/1.1\r\n\r\n",
    ] {
        assert_eq!(request_length(raw.as_bytes()), None, "{raw:?}");
    }
}

proptest! {
    #[test]
    fn never_panics(raw: Vec<u8>, coding in "\\PC*") {
        let mut fields = HeaderMap::new();
        if let Ok(coding) = HeaderValue::from_str(&coding) {
            fields.insert(header::TRANSFER_ENCODING, coding);
        }
        let _ = check_framing(&fields, &raw);
        is_authority(&raw);
        let _ = request_length(&raw);
    }

    #[test]
    fn a_length_is_found_wherever_it_stands(before in 0..5_usize, after in 0..5_usize, chunked_first: bool) {
        let other = "X: y\r\n";
        let (one, two) = ("Content-Length: 1\r\n", "Transfer-Encoding: chunked\r\n");
        let (one, two) = if chunked_first { (two, one) } else { (one, two) };
        let raw = format!("POST / HTTP/1.1\r\n{}{one}{other}{two}{}\r\n", other.repeat(before), other.repeat(after));
        let mut fields = HeaderMap::new();
        fields.insert(header::TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        prop_assert_eq!(check_framing(&fields, raw.as_bytes()), Err(Fault::TwoLengths));
    }
}
