use super::*;
use proptest::{collection::vec, prelude::*};

fn fields(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let pairs = pairs.iter().map(|(name, value)| {
        let value = HeaderValue::from_static(value);
        (HeaderName::from_static(name), value)
    });
    pairs.collect()
}

/// The content's length is where its records end.
#[test]
fn a_length_that_is_no_number_is_left_out() {
    for (value, kept) in [
        ("4", Some("4")),
        ("", None),
        ("-1", None),
        ("+4", None),
        ("0x4", None),
        ("4, 4", None),
        ("99999999999999999999", None),
    ] {
        let head = format!("Content-Length: {value}\nX: d");
        let Ok(Head::Response(_, fields)) = parse(head.as_bytes()) else {
            panic!("{value} is answered");
        };
        let length = fields.get(CONTENT_LENGTH);
        assert_eq!(
            length.map(|length| length.to_str().unwrap()),
            kept,
            "{value}"
        );
    }
}

#[test]
fn heads() {
    let respond = |code, pairs| {
        Ok(Head::Response(
            StatusCode::from_u16(code).unwrap(),
            fields(pairs),
        ))
    };
    let local = |target: &str| Ok(Head::Local(target.to_owned()));
    for (head, meant) in [
        // Section 6.3: at least one field; names have no case, lines end with LF or CR LF.
        (
            "Content-Type: text/html",
            respond(200, &[("content-type", "text/html")]),
        ),
        (
            "CONTENT-TYPE:a\r\nX:  b \t",
            respond(200, &[("content-type", "a"), ("x", "b")]),
        ),
        ("X:", respond(200, &[("x", "")])),
        ("", Err(Wrong::Empty)),
        ("no field", Err(Wrong::Line)),
        (": value", Err(Wrong::Line)),
        ("a b: c", Err(Wrong::Line)),
        (" folded: c", Err(Wrong::Line)),
        ("a: \u{1}", Err(Wrong::Line)),
        ("HTTP/1.1 200 OK\nA: b", Err(Wrong::Line)),
        // Section 6.3.3: `Status`.
        ("Status: 404 Not Found", respond(404, &[])),
        ("Status: 404", respond(404, &[])),
        ("Status: 999 Odd", respond(999, &[])),
        ("Status: 4040", Err(Wrong::Status)),
        ("Status: 40", Err(Wrong::Status)),
        ("Status: OK", Err(Wrong::Status)),
        ("Status:", Err(Wrong::Status)),
        ("Status: 100 Continue", Err(Wrong::Status)),
        ("Status: 101 Switching Protocols", Err(Wrong::Status)),
        ("Status: 200 OK\nStatus: 201 Created", Err(Wrong::Status)),
        // Section 6.2.2: a local redirect has nothing but its path.
        ("Location: /a?b", local("/a?b")),
        (
            "Location: /a\nX: b",
            respond(302, &[("location", "/a"), ("x", "b")]),
        ),
        (
            "Status: 303\nLocation: /a",
            respond(303, &[("location", "/a")]),
        ),
        (
            "Location: //evil.example/",
            respond(302, &[("location", "//evil.example/")]),
        ),
        // Section 6.2.3: for a client, with 302 if the script names no status.
        (
            "Location: http://a/",
            respond(302, &[("location", "http://a/")]),
        ),
        // Section 6.3.4: a script does not control the connection.
        (
            "Connection: close\nTransfer-Encoding: chunked\nKeep-Alive: 1\nUpgrade: a\nTE: b\nTrailer: c\nX: d",
            respond(200, &[("x", "d")]),
        ),
    ] {
        assert_eq!(parse(head.as_bytes()), meant, "{head:?}");
    }
    let many = "A: b\n".repeat(MOST_FIELDS + 1);
    assert_eq!(parse(many.as_bytes()), Err(Wrong::TooMany));
}

#[test]
fn where_heads_end() {
    for (text, wanted) in [
        ("A: b\n\nbody", Some((4, 6))),
        ("A: b\r\n\r\nbody", Some((5, 8))),
        ("A: b\r\n\nbody", Some((5, 7))),
        ("A: b\n\r\nbody", Some((4, 7))),
        ("A: b\nC: d\n\n\n", Some((9, 11))),
        ("\nbody", Some((0, 1))),
        ("\r\nbody", Some((0, 2))),
        ("A: b\n", None),
        ("A: b\r\n\r", None),
        ("A: b", None),
        ("", None),
    ] {
        assert_eq!(end(text.as_bytes(), 0), wanted, "{text:?}");
    }
}

proptest! {
    #[test]
    fn an_end_is_found_however_the_head_comes(
        text in "([a\r\n]|\r\n){0,40}",
        pieces in vec(1_usize..6, 0..40),
    ) {
        let all = text.as_bytes();
        let (mut seen, mut found) = (0, None);
        for length in pieces.into_iter().chain([usize::MAX]) {
            let until = seen + length.min(all.len() - seen);
            found = end(&all[..until], seen);
            seen = until;
            if found.is_some() {
                break;
            }
        }
        prop_assert_eq!(found, end(all, 0));
    }

    #[test]
    fn nothing_panics(head in vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b':')], 0..200)) {
        if let Ok(Head::Response(status, fields)) = parse(&head) {
            prop_assert!(!status.is_informational());
            prop_assert!(!fields.contains_key(TRANSFER_ENCODING));
        }
    }
}
