use super::*;
use crate::directives;
use http::{Version, header::VIA};
use proptest::{prelude::*, sample::select};

fn fields(lines: &[(&'static str, &'static str)]) -> HeaderMap {
    lines
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        })
        .collect()
}

fn left(mut fields: HeaderMap) -> Vec<String> {
    remove_hop_by_hop(&mut fields);
    names(&fields)
}

fn names(fields: &HeaderMap) -> Vec<String> {
    let mut names: Vec<_> = fields.keys().map(|name| name.as_str().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn hop_by_hop_fields_go_whether_nominated_or_not() {
    let message = fields(&[
        ("connection", "close"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("te", "trailers"),
        ("trailer", "x-sum"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("etag", "\"a\""),
    ]);
    let mut over_http2 = message.clone();
    remove_connection_specific(&mut over_http2);
    assert_eq!(names(&over_http2), ["etag", "trailer"]);
    assert_eq!(left(message), ["etag"]);
}

#[test]
fn nominated_fields_go_rfc_9110_section_7_6_1() {
    let message = fields(&[
        ("connection", "X-Hop , close,, not a name"),
        ("connection", "x-other"),
        ("x-hop", "1"),
        ("x-hop", "2"),
        ("x-other", "3"),
        ("x-kept", "4"),
    ]);
    assert_eq!(left(message), ["x-kept"]);
}

#[test]
fn what_is_meant_for_all_recipients_goes_too_but_not_before_the_way_is_found() {
    let message = fields(&[
        (
            "connection",
            "cache-control, host, Content-Length, vary, cookie, authorization, cdn-cache-control, x-forwarded-for, x-hop",
        ),
        ("x-hop", "1"),
        ("cache-control", "no-store"),
        ("host", "a"),
        ("content-length", "1"),
        ("vary", "*"),
        ("cookie", "a=b"),
        ("authorization", "x"),
        ("cdn-cache-control", "no-store"),
        ("x-forwarded-for", "::1"),
    ]);
    assert!(left(message.clone()).is_empty(), "9110 section 7.6.1: MUST");
    assert!(names_end_to_end(&message));
    let mut request = message.clone();
    let nominated = remove_hop_by_hop_but_end_to_end(&mut request);
    assert_eq!(nominated.len(), 8);
    assert_eq!(request.keys_len(), message.keys_len() - 2);
    let mut plain = fields(&[("connection", "x-hop, close"), ("x-hop", "1")]);
    assert!(!names_end_to_end(&plain));
    assert!(remove_hop_by_hop_but_end_to_end(&mut plain).is_empty());
    assert!(plain.is_empty());
}

#[test]
fn unstorable_fields_rfc_9111_section_3_1() {
    let mut message = fields(&[
        (
            "cache-control",
            "private=\"x-user\", no-cache=\"Set-Cookie, x-absent\"",
        ),
        // Sections 5.2.2.4 and 5.2.2.7: what covers the whole response takes no field's name back.
        ("cache-control", "no-cache, private, no-cache=\"x-token\""),
        ("x-token", "mine"),
        ("x-user", "me"),
        ("set-cookie", "a=b"),
        ("set-cookie", "c=d"),
        ("proxy-authenticate", "Basic"),
        ("proxy-authentication-info", "x"),
        ("proxy-authorization", "x"),
        // RFC 9209: this one is for all recipients.
        ("proxy-status", "kept"),
        ("x-other", "kept"),
    ]);
    let (directives, _) = directives::response(&message, &[]);
    remove_where(&mut message, |name| is_unstorable(name, &directives));
    assert_eq!(left(message), ["cache-control", "proxy-status", "x-other"]);
}

#[test]
fn a_field_is_found_among_few_and_among_many() {
    for count in [1, FEW, FEW + 1, 40] {
        let names = (0..count).map(|index| HeaderName::try_from(format!("x-{index}")).unwrap());
        let message: HeaderMap = names
            .map(|name| (name, HeaderValue::from_static("1")))
            .collect();
        assert!(has(&message, &HeaderName::from_static("x-0")), "{count}");
        assert!(
            !has(&message, &HeaderName::from_static("x-none")),
            "{count}"
        );
    }
}

/// RFC 9110 sections 7.8 and 15.5.22.
#[test]
fn protocols_are_named_where_they_are_switched_or_wanted() {
    for (status, names) in [(101, true), (426, true), (200, false), (403, false)] {
        let mut answer = fields(&[
            ("connection", "Upgrade, x-hop"),
            ("upgrade", "websocket"),
            ("x-hop", "1"),
            ("etag", "\"a\""),
        ]);
        let status = StatusCode::from_u16(status).unwrap();
        remove_hop_by_hop_of_answer(status, &mut answer);
        let expected = if names {
            fields(&[
                ("etag", "\"a\""),
                ("connection", "upgrade"),
                ("upgrade", "websocket"),
            ])
        } else {
            fields(&[("etag", "\"a\"")])
        };
        assert_eq!(answer, expected, "{status}");
    }
    let mut bare = fields(&[("connection", "close")]);
    remove_hop_by_hop_of_answer(StatusCode::UPGRADE_REQUIRED, &mut bare);
    assert!(bare.is_empty(), "it names none");
}

/// RFC 9113 section 8.2.1.
#[test]
fn a_value_is_padded_at_either_end() {
    for (value, padded) in [
        ("a", false),
        ("", false),
        ("a b", false),
        (" a", true),
        ("a ", true),
        ("\ta", true),
        ("a\t", true),
    ] {
        let message = fields(&[("x-own", "a"), ("x-other", value)]);
        assert_eq!(has_padded_value(&message), padded, "{value:?}");
    }
}

#[test]
fn the_lines_of_the_whole_say_nothing_of_a_part() {
    let part = fields(&[("content-range", "bytes 0-4/10"), ("etag", "\"a\"")]);
    let lines: Vec<_> = lines_of_whole(&part).collect();
    assert_eq!(lines, [(&b"etag"[..], &b"\"a\""[..])]);
}

#[test]
fn what_gives_a_lifetime_and_what_decides() {
    for name in [
        "expires",
        "cdn-cache-control",
        "akamai-cache-control",
        "surrogate-control",
        "x-reverse-proxy-ttl",
        "x-accel-expires",
        "edge-control",
    ] {
        let name = HeaderName::from_static(name);
        assert!(gives_lifetime(&name) && decides(&name), "{name}");
    }
    for name in ["cache-control", "vary"] {
        let name = HeaderName::from_static(name);
        assert!(!gives_lifetime(&name) && decides(&name), "{name}");
    }
    for name in ["etag", "x-cache-controls", "set-cookie"] {
        let name = HeaderName::from_static(name);
        assert!(!gives_lifetime(&name) && !decides(&name), "{name}");
    }
}

#[test]
fn via_is_appended_behind_what_is_there() {
    let mut message = fields(&[("via", "1.0 fred")]);
    Via::new("larder").append(&mut message, Version::HTTP_11);
    Via::new("larder").append(&mut message, Version::HTTP_2);
    Via::new("not\na token").append(&mut message, Version::HTTP_11);
    let lines: Vec<_> = message.get_all(VIA).iter().collect();
    assert_eq!(lines, ["1.0 fred", "1.1 larder", "2.0 larder"]);
}

#[test]
fn what_is_forwarded_is_what_is_left_of_what_stays() {
    let message = fields(&[
        ("connection", "close, x-hop, keep-alive"),
        ("keep-alive", "timeout=5"),
        ("x-hop", "1"),
        ("te", "trailers"),
        ("x-gone", "2"),
        ("x-gone", "3"),
        ("cookie", "a=b"),
        ("via", "1.0 fred"),
        ("via", "1.1 ethel"),
    ]);
    let mut forwarded = HeaderMap::new();
    forward_to(&mut forwarded, &message, |name| name != "x-gone");
    assert_eq!(left(forwarded.clone()), ["cookie", "via"]);
    let lines: Vec<_> = forwarded.get_all(VIA).iter().collect();
    assert_eq!(lines, ["1.0 fred", "1.1 ethel"]);
    let mut in_place = message.clone();
    forward(&mut in_place, |name| name != "x-gone");
    assert_eq!(in_place, forwarded);
    let nothing = HeaderMap::new();
    let mut forwarded = HeaderMap::new();
    forward_to(&mut forwarded, &nothing, |_| true);
    assert_eq!(forwarded, nothing);
}

/// RFC 9110 section 6.5.1: what is needed before the content, or decides what becomes of a message, is for its head.
#[test]
fn what_may_trail() {
    for name in [
        "content-length",
        "transfer-encoding",
        "trailer",
        "connection",
        "te",
        "host",
        "content-type",
        "content-encoding",
        "content-range",
        "authorization",
        "proxy-authorization",
        "www-authenticate",
        "cookie",
        "set-cookie",
        "expect",
        "range",
        "if-none-match",
        "max-forwards",
        "age",
        "cache-control",
        "cdn-cache-control",
        "surrogate-control",
        "vary",
        "location",
        "retry-after",
        "via",
        "forwarded",
        "x-forwarded-for",
    ] {
        assert!(!may_trail(&HeaderName::from_static(name)), "{name}");
    }
    for name in [
        "grpc-status",
        "grpc-message",
        "x-token-bin",
        "content-digest",
        "server-timing",
    ] {
        assert!(may_trail(&HeaderName::from_static(name)), "{name}");
    }
}

proptest! {
    /// RFC 9110 sections 7.6.1 and 5.6.1: a list in any spelling, with empty members, over any number of lines.
    #[test]
    fn connection_nominates_what_its_members_name(
        lines in prop::collection::vec(
            prop::collection::vec((select(vec!["x-a", "X-B", "x-absent", "", "close", "a b"]), select(vec!["", " ", "\t "])), 0..5),
            0..3,
        )
    ) {
        let mut message = fields(&[("x-a", "1"), ("x-b", "2"), ("x-c", "3")]);
        for line in &lines {
            let members = line.iter().map(|(member, space)| format!("{space}{member}{space}"));
            let line = members.collect::<Vec<_>>().join(",");
            message.append(CONNECTION, HeaderValue::try_from(line).unwrap());
        }
        let said = |name: &str| {
            let mut members = lines.iter().flatten();
            members.any(|(member, _)| member.eq_ignore_ascii_case(name))
        };
        let expected: Vec<_> = ["x-a", "x-b", "x-c"].into_iter().filter(|name| said(name)).collect();
        let mut found = connection_options(&message);
        found.sort_by(|one, two| one.as_str().cmp(two.as_str()));
        found.dedup();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn any_bytes_may_stand_in_connection(line in prop::collection::vec(any::<u8>(), 0..60)) {
        let mut message = fields(&[("x-a", "1")]);
        if let Ok(line) = HeaderValue::from_bytes(&line) {
            message.append(CONNECTION, line);
        }
        let present = |name: &HeaderName| message.contains_key(name);
        prop_assert!(connection_options(&message).iter().all(present));
    }
}
