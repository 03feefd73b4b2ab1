use super::{fields::name, *};
use crate::listen::check::{check, check_target};
use http::{HeaderName, Method, Version, header};
use proptest::prelude::*;

/// What `bytes` begin with, and the head if it is one.
fn read_as(bytes: &[u8], limits: &Limits) -> (Parsed, Option<Head>) {
    let mut head = None;
    (anew(bytes, limits, &mut head), head)
}

fn read(text: &str) -> Parsed {
    read_as(text.as_bytes(), &Limits::default()).0
}

fn head(text: &str) -> Head {
    let (parsed, head) = read_as(text.as_bytes(), &Limits::default());
    head.unwrap_or_else(|| panic!("{parsed:?}: {text}"))
}

fn told(head: &Head) -> FieldSummary {
    head.open
        .section
        .as_ref()
        .map(|section| section.told)
        .expect("it is read")
}

#[test]
fn a_head_is_read_as_it_came() {
    let text = "GET /a?b=c HTTP/1.1\r\nHost: a.example\r\nAccept: x\r\naccept:  y \r\n\r\n";
    let read = head(&format!("{text}GET /next"));
    assert_eq!(read.open.bytes(), text.as_bytes());
    assert_eq!(read.request.method, Method::GET);
    assert_eq!(read.request.version, Version::HTTP_11);
    assert_eq!(read.request.target.to_string(), "/a?b=c");
    let fields: Vec<_> = read
        .request
        .fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
        .collect();
    assert_eq!(
        fields,
        [("host", "a.example"), ("accept", "x"), ("accept", "y")]
    );
}

/// RFC 3986 section 2.1; what a URI may contain is left alone.
#[test]
fn a_target_is_read_in_its_encoded_form() {
    for (target, expected) in [
        ("/?q=\"a\"", "/?q=%22a%22"),
        ("/a\"b", "/a%22b"),
        ("/caf\u{e9}?\u{20ac}", "/caf%C3%A9?%E2%82%AC"),
        ("/<a>`%3C|^", "/%3Ca%3E%60%3C|^"),
        ("http://a.example/\u{e9}", "http://a.example/%C3%A9"),
    ] {
        let text = format!("GET {target} HTTP/1.1\r\nHost: a.example\r\nAccept: x\r\n\r\n");
        let read = head(&format!("{text}GET /next"));
        assert_eq!(read.request.target.to_string(), expected);
        assert_eq!(read.length, text.len());
        assert_eq!(read.open.bytes(), text.replace(target, expected).as_bytes());
        assert_eq!(read.request.fields.len(), 2);
    }
    for target in ["/a\u{7f}", "/a\tb", "/a b", "\u{e9}", "<"] {
        let text = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(matches!(read(&text), Parsed::Others), "{target:?}");
    }
}

/// Whatever the head goes on with, or does not yet.
#[test]
fn a_head_that_is_left_has_its_target_encoded() {
    for (came, expected) in [
        ("GET /<a>", "GET /%3Ca%3E"),
        (
            "\r\nPURGE /\u{e9}?\" HTTP/1.1\r\nA: <",
            "\r\nPURGE /%C3%A9?%22 HTTP/1.1\r\nA: <",
        ),
        (
            "HEAD http://a/`#< HTTP/1.0\n\n",
            "HEAD http://a/%60#%3C HTTP/1.0\n\n",
        ),
    ] {
        let encoded = encoded(came.as_bytes());
        assert_eq!(encoded.as_deref(), Some(expected.as_bytes()), "{came:?}");
    }
    for came in [
        "GET / HTTP/1.1\r\nA: <\r\n\r\n",
        "POST /< HTTP/1.1\r\n",
        "GET  /< HTTP/1.1\r\n",
        "GET /<\x01 HTTP/1.1\r\n",
        "GET /<\r\n",
        "GET",
        "",
    ] {
        assert_eq!(encoded(came.as_bytes()), None, "{came:?}");
    }
}

/// Names known at sight, and others, in any case.
#[test]
fn a_name_known_at_sight_is_the_name_read_byte_for_byte() {
    for written in [
        "Host",
        "User-Agent",
        "Accept",
        "Accept-Encoding",
        "Accept-Language",
        "Cookie",
        "Connection",
        "Referer",
        "Range",
        "X-Forwarded-For",
    ] {
        let cases = [
            written.to_owned(),
            written.to_lowercase(),
            written.to_uppercase(),
        ];
        for case in cases {
            let read = HeaderName::from_bytes(case.as_bytes()).ok();
            assert!(read.is_some(), "{case}");
            assert_eq!(name(&case), read, "{case}");
        }
    }
    assert_eq!(name("Hos t"), None);
}

#[test]
fn the_connection_stays_as_the_client_wishes() {
    for (version, lines, closes) in [
        ("1.1", "", false),
        ("1.1", "Connection: keep-alive\r\n", false),
        ("1.1", "Connection: Close\r\n", true),
        ("1.0", "", true),
        ("1.0", "Connection: Keep-Alive\r\n", false),
        ("1.0", "Connection: close\r\n", true),
    ] {
        let text = format!("GET / HTTP/{version}\r\nHost: a\r\n{lines}\r\n");
        assert_eq!(head(&text).open.asked.closes, closes, "{text}");
    }
}

#[test]
fn a_host_is_named_by_one_valid_line() {
    for (lines, names) in [
        ("Host: a.example\r\n", true),
        ("host: [::1]:80\r\nAccept: x\r\n", true),
        ("Accept: x\r\n", false),
        ("Host:\r\n", false),
        ("Host: a b\r\n", false),
        ("Host: a\r\nHost: a\r\n", false),
        ("Host: a\r\nHost: a\r\nHost: a\r\n", false),
        ("Host: a b\r\nHost: a\r\n", false),
    ] {
        let text = format!("GET / HTTP/1.1\r\n{lines}\r\n");
        assert_eq!(told(&head(&text)).names_host, names, "{text}");
    }
}

#[test]
fn what_is_more_than_a_head_is_left() {
    for line in [
        "Content-Length: 0",
        "Content-Length: 5",
        "Transfer-Encoding: chunked",
        "Expect: 100-continue",
        "Upgrade: websocket",
        "Trailer: a",
        "Connection: upgrade",
        "Connection: keep-alive, X-A",
        "Connection: close\r\nConnection: keep-alive",
        " folded",
        "Na me: a",
        "Name : a",
    ] {
        let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n");
        assert!(matches!(read(&text), Parsed::Others), "{text}");
    }
    for line in [
        "POST / HTTP/1.1",
        "get / HTTP/1.1",
        "QUERY / HTTP/1.1",
        "GET / HTTP/2.0",
        "GET  HTTP/1.1",
        "PRI * HTTP/2.0",
    ] {
        let text = format!("{line}\r\nHost: a\r\n\r\n");
        assert!(matches!(read(&text), Parsed::Others), "{text}");
    }
}

#[test]
fn what_is_beyond_a_limit_is_left() {
    let limits = Limits {
        headers: 2,
        target: 10,
        header_size: 100,
        ..Limits::default()
    };
    let kept = |text: &str| matches!(read_as(text.as_bytes(), &limits).0, Parsed::Whole);
    assert!(kept("GET /123456789 HTTP/1.1\r\na: 1\r\nb: 2\r\n\r\n"));
    assert!(!kept("GET /1234567890 HTTP/1.1\r\n\r\n"));
    assert!(!kept("GET / HTTP/1.1\r\na: 1\r\nb: 2\r\nc: 3\r\n\r\n"));
    assert!(!kept(&format!(
        "GET / HTTP/1.1\r\na: {}\r\n\r\n",
        "x".repeat(100)
    )));
}

/// Lines of heads, well formed and malformed.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Za-z-]{1,12}: ?[ -~]{0,20}",
        "(Connection|Content-Length|Host|Expect|Upgrade): ?(close|keep-alive|0|7|a|)",
        "[ -~]{0,20}",
    ]
}

fn lines() -> impl Strategy<Value = String> {
    proptest::collection::vec(line().prop_map(|line| line + "\r\n"), 0..6)
        .prop_map(|lines| lines.concat())
}

proptest! {
    /// What is accepted is one whole head without what follows, however much that is. No part of a head is taken for
    /// the whole.
    #[test]
    fn a_head_ends_where_it_ends(
        start in prop_oneof![Just("GET / HTTP/1.1".to_owned()), "[A-Z]{1,4} [!-~]{1,9} HTTP/1.[01]", "GET /[!-~é€]{1,9} HTTP/1.1"],
        lines in lines(),
        after in "[ -~\r\n]{0,40}",
    ) {
        let text = format!("{start}\r\n{lines}\r\n");
        let bytes = format!("{text}{after}").into_bytes();
        if let Some(read) = read_as(&bytes, &Limits::default()).1 {
            prop_assert_eq!(text.find("\r\n\r\n").map(|at| at + 4), Some(read.length));
            let again = head(std::str::from_utf8(&read.open.bytes()).unwrap());
            prop_assert_eq!(&again.request.target, &read.request.target);
            prop_assert_eq!(&again.request.fields, &read.request.fields);
            // A fragment is dropped (RFC 9110 section 7.1).
            if start.is_ascii() && !start.contains(['"', '<', '>', '`', '#']) {
                let came = read.open.bytes();
                prop_assert_eq!(came.as_ref(), text.get(..read.length).unwrap().as_bytes());
            }
            for name in [header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::UPGRADE, header::EXPECT] {
                prop_assert!(!read.request.fields.contains_key(name));
            }
            for cut in 0..read.length {
                prop_assert!(!matches!(read_as(&text.as_bytes()[..cut], &Limits::default()).0, Parsed::Whole));
            }
        }
    }

    /// If a request names its host and is within the limits, only its target is left to judge.
    #[test]
    fn what_was_judged_need_not_be_judged_again(
        target in "((http|ftp)://[a-z]{0,2}(:[0-9]{0,2})?)?[/*a][a-z?]{0,3}",
        version in 0..2,
        lines in proptest::collection::vec("Host: ?([a-z.]{0,2}(:[0-9]{0,2})?|a b|)|Accept: x", 0..3),
    ) {
        let lines = lines.into_iter().map(|line| line + "\r\n").collect::<String>();
        let text = format!("GET {target} HTTP/1.{version}\r\n{lines}\r\n");
        if let Some(head) = read_as(text.as_bytes(), &Limits::default()).1
            && told(&head).names_host
        {
            let target = &head.request.target;
            let target = check_target(&head.request.method, target.scheme(), target.path());
            let judged = check(&head.request.into_request(), &Limits::default());
            prop_assert_eq!(target.is_ok(), judged.is_ok());
        }
    }

    /// Any bytes are accepted or left, without a panic.
    #[test]
    fn any_bytes(bytes: Vec<u8>) {
        let _ = read_as(&bytes, &Limits::default());
    }

    /// A map that was used before leaves nothing behind.
    #[test]
    fn maps_are_empty_when_they_are_used_again(lines in lines()) {
        let text = format!("GET / HTTP/1.1\r\n{lines}\r\n");
        if let Some(first) = read_as(text.as_bytes(), &Limits::default()).1 {
            spares::keep(first.request.fields);
        }
        let second = head("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
        prop_assert_eq!(second.request.fields.len(), 1);
    }
}
