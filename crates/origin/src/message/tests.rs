#![allow(clippy::too_many_lines, reason = "a table is as long as what it lists")]

use super::*;
use crate::{connect::Speaks, upload::Outgoing};
use http::{
    HeaderValue, Method, Request, Response, StatusCode,
    header::{CONTENT_LENGTH, TRANSFER_ENCODING},
};

mod request;

fn response(status: u16, fields: &[(&'static str, &'static str)]) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    for (name, value) in fields {
        let value = HeaderValue::from_static(value);
        response.headers_mut().append(*name, value);
    }
    response
}

type Fields = &'static [(&'static str, &'static str)];

fn asked(upgrade: bool) -> RequestFraming {
    RequestFraming {
        upgrade: upgrade.then_some(Upgrade::Optional),
        content: false,
        unnamed: false,
        signs_in: false,
    }
}

#[test]
fn judges_framing() {
    const CL: &str = "content-length";
    const TE: &str = "transfer-encoding";
    let reuse = Some(Afterwards::Reuse);
    let close = Some(Afterwards::Close);
    let table: &[(&str, u16, Fields, Option<Afterwards>)] = &[
        ("RFC 9112 6.3: length", 200, &[(CL, "5")], reuse),
        ("RFC 9112 6.3: chunked", 200, &[(TE, "chunked")], reuse),
        (
            "RFC 9112 7: coding names ignore case",
            200,
            &[(TE, "Chunked")],
            reuse,
        ),
        ("RFC 9112 6.3: until close", 200, &[], reuse),
        (
            "RFC 9112 6.3: both",
            200,
            &[(CL, "5"), (TE, "chunked")],
            None,
        ),
        (
            "RFC 9112 6.3: different lengths",
            200,
            &[(CL, "5"), (CL, "6")],
            None,
        ),
        (
            "RFC 9110 8.6: MAY reject repetition",
            200,
            &[(CL, "5"), (CL, "5")],
            None,
        ),
        ("RFC 9110 8.6: list", 200, &[(CL, "5, 5")], None),
        ("RFC 9110 8.6: 1*DIGIT", 200, &[(CL, "+5")], None),
        ("RFC 9110 8.6: 1*DIGIT", 200, &[(CL, "0x5")], None),
        ("RFC 9110 8.6: 1*DIGIT", 200, &[(CL, "")], None),
        (
            "RFC 9110 8.6: overflow",
            200,
            &[(CL, "99999999999999999999")],
            None,
        ),
        (
            "RFC 9112 6.1: chunked once",
            200,
            &[(TE, "chunked, chunked")],
            None,
        ),
        (
            "RFC 9112 6.1: not asked for",
            200,
            &[(TE, "gzip, chunked")],
            None,
        ),
        ("RFC 9112 6.1: not asked for", 200, &[(TE, "gzip")], None),
        (
            "RFC 9112 6.1: two lines",
            200,
            &[(TE, "gzip"), (TE, "chunked")],
            None,
        ),
        ("RFC 9112 6.1: obfuscated", 200, &[(TE, "xchunked")], None),
        (
            "RFC 9112 6.1: judged on 304 too",
            304,
            &[(CL, "5"), (CL, "6")],
            None,
        ),
        (
            "RFC 9110 15.4.5: 304 may name a length",
            304,
            &[(CL, "5")],
            reuse,
        ),
        ("RFC 9110 8.6: not on 204", 204, &[(CL, "5")], close),
        ("RFC 9110 8.6: harmless on 204", 204, &[(CL, "0")], reuse),
        ("RFC 9112 6.1: not on 204", 204, &[(TE, "chunked")], close),
    ];
    for (row, status, fields, want) in table {
        let mut response = response(*status, fields);
        let got = judge(&mut response, asked(false), Speaks::Http1).ok();
        let got = got.map(|judged| judged.afterwards);
        assert_eq!(got, *want, "{row}: {fields:?}");
        if *status == 204 {
            assert!(response.headers().is_empty(), "{row}");
        }
    }
}

#[test]
fn an_upgrade_must_have_been_asked_for() {
    for (upgrade, speaks, fine) in [
        (true, Speaks::Http1, true),
        (false, Speaks::Http1, false),
        (true, Speaks::Http2, false),
    ] {
        let judged = judge(&mut response(101, &[]), asked(upgrade), speaks);
        assert_eq!(judged.is_ok(), fine);
    }
}

/// RFC 9110 section 7.8: a list of protocols, whose names have no case.
#[test]
fn only_the_handshake_of_a_websocket_is_nothing_else() {
    for (lines, upgrade) in [
        (&["websocket"][..], Upgrade::Needed),
        (&["WebSocket"], Upgrade::Needed),
        (&["IRC/6.9, websocket"], Upgrade::Needed),
        (&["IRC/6.9", "websocket"], Upgrade::Needed),
        (&["IRC/6.9, RTA/x11"], Upgrade::Optional),
        (&["websockets"], Upgrade::Optional),
        (&[""], Upgrade::Optional),
    ] {
        let fields: Vec<_> = lines.iter().map(|line| ("upgrade", *line)).collect();
        let sent = response(200, &fields);
        assert_eq!(Upgrade::by(sent.headers()), upgrade, "{lines:?}");
    }
}

proptest::proptest! {
    /// RFC 9112 section 6.3: whatever the fields hold, what is believed has one meaning only.
    #[test]
    fn believed_framing_has_one_meaning(
        lengths in proptest::collection::vec("[0-9 ,+x-]{0,4}", 0..3),
        codings in proptest::collection::vec("(chunked|gzip|Chunked)?[ ,]?(chunked)?", 0..3),
    ) {
        let mut response = Response::new(());
        for length in &lengths {
            response.headers_mut().append(CONTENT_LENGTH, length.parse().unwrap());
        }
        for coding in &codings {
            response.headers_mut().append(TRANSFER_ENCODING, coding.parse().unwrap());
        }
        let believed = judge(&mut response, asked(false), Speaks::Http1).is_ok();
        let one_length = lengths.len() == 1 && lengths[0].parse::<u64>().is_ok() && !lengths[0].starts_with('+');
        let one_coding = codings.len() == 1 && codings[0].eq_ignore_ascii_case("chunked");
        let plain = match (lengths.len(), codings.len()) {
            (0, 0) => true,
            (_, 0) => one_length,
            (0, _) => one_coding,
            _ => false,
        };
        proptest::prop_assert_eq!(believed, plain);
    }
}
