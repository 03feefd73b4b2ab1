#![expect(
    clippy::too_many_lines,
    reason = "tables are as long as they have rows"
)]

use super::*;
use proptest::prelude::*;
use sfv::{BareItem, Item, List, ListEntry, Parser};

const PLAIN: Member<'static> = Member {
    name: "larder",
    handled: Handled::Own,
    ttl: None,
    key: None,
    detail: None,
};

fn forwarded(why: ForwardReason) -> Handled {
    Handled::Forwarded {
        why,
        status: None,
        stored: false,
        collapsed: false,
    }
}

#[test]
fn members_as_rfc_9211_spells_them() {
    let rows = [
        (PLAIN, "larder"),
        (
            Member {
                handled: Handled::Hit,
                ..PLAIN
            },
            "larder; hit",
        ),
        (
            Member {
                handled: Handled::Hit,
                ttl: Some(376),
                ..PLAIN
            },
            "larder; hit; ttl=376",
        ),
        (
            Member {
                handled: Handled::Hit,
                ttl: Some(-412),
                ..PLAIN
            },
            "larder; hit; ttl=-412",
        ),
        (
            Member {
                handled: Handled::Hit,
                ttl: Some(0),
                ..PLAIN
            },
            "larder; hit; ttl=0",
        ),
        (
            Member {
                handled: forwarded(ForwardReason::UriMiss),
                ..PLAIN
            },
            "larder; fwd=uri-miss",
        ),
        (
            Member {
                handled: Handled::Forwarded {
                    why: ForwardReason::Stale,
                    status: Some(304),
                    stored: true,
                    collapsed: true,
                },
                ttl: Some(60),
                key: Some(b"http://a/\"b\"\\"),
                detail: Some("no-store"),
                ..PLAIN
            },
            r#"larder; fwd=stale; fwd-status=304; stored; collapsed; ttl=60; key="http://a/\"b\"\\"; detail=no-store"#,
        ),
        (
            Member {
                name: "my cache",
                detail: Some("refused: 5 s"),
                ..PLAIN
            },
            r#""my cache"; detail="refused: 5 s""#,
        ),
        // Parameters of a response belong to `hit` and `fwd` only.
        (
            Member {
                ttl: Some(5),
                key: Some(b"k"),
                detail: Some("timeout"),
                ..PLAIN
            },
            "larder; detail=timeout",
        ),
        (
            Member {
                handled: Handled::Hit,
                key: Some("/ü\n".as_bytes()),
                ..PLAIN
            },
            r#"larder; hit; key="/%C3%BC%0A""#,
        ),
        // What is no UTF-8 stays what it is.
        (
            Member {
                handled: Handled::Hit,
                key: Some(b"\xe9\xff"),
                ..PLAIN
            },
            r#"larder; hit; key="%E9%FF""#,
        ),
    ];
    for (member, expected) in rows {
        assert_eq!(member.to_value(), expected);
    }
}

/// RFC 9211 section 2.4: positive while the response is fresh, negative from the moment when it is not.
#[test]
fn times_to_live_are_whole_seconds_away_from_nought() {
    let ms = Duration::from_millis;
    for (left, seconds) in [(0, 0), (1, 1), (999, 1), (1000, 1), (1001, 2), (60_000, 60)] {
        assert_eq!(ttl(ms(left)), seconds, "{left} ms left");
        assert_eq!(stale_ttl(ms(left)), -seconds, "stale for {left} ms");
    }
    assert_eq!(stale_ttl(Duration::MAX), -999_999_999_999_999);
}

#[test]
fn a_detail_that_is_no_token_is_quoted() {
    for (detail, sent) in [
        ("refused", "larder; detail=refused"),
        ("a/b:c*", "larder; detail=a/b:c*"),
        ("*", "larder; detail=*"),
        ("504", "larder; detail=\"504\""),
        ("no such", "larder; detail=\"no such\""),
        ("\"", "larder; detail=\"\\\"\""),
        ("", "larder; detail=\"\""),
    ] {
        let member = Member {
            detail: Some(detail),
            ..PLAIN
        };
        assert_eq!(member.to_value(), sent, "{detail}");
    }
}

#[test]
fn forward_reasons_are_those_of_section_2_2() {
    use ForwardReason::{Bypass, Method, Miss, Partial, Request, Stale, UriMiss, VaryMiss};
    let all = [
        Bypass, Method, UriMiss, VaryMiss, Miss, Request, Stale, Partial,
    ];
    let tokens = all.map(|why| why.to_string());
    assert_eq!(
        tokens,
        [
            "bypass",
            "method",
            "uri-miss",
            "vary-miss",
            "miss",
            "request",
            "stale",
            "partial"
        ]
    );
}

/// The one member of the value, read by another implementation.
fn read_back(value: &HeaderValue) -> Item {
    let list: List = Parser::new(value.as_bytes()).parse().unwrap();
    match list.as_slice() {
        [ListEntry::Item(item)] => item.clone(),
        other => panic!("not one item: {other:?}"),
    }
}

proptest! {
    #[test]
    fn every_member_is_a_structured_field(
        name in any::<String>(),
        ttl in any::<i64>(),
        key in any::<String>(),
        detail in any::<String>(),
        hit in any::<bool>(),
    ) {
        let handled = if hit { Handled::Hit } else { forwarded(ForwardReason::Miss) };
        let member = Member {
            name: &name,
            handled,
            ttl: Some(ttl),
            key: Some(key.as_bytes()),
            detail: Some(&detail),
        };
        let item = read_back(&member.to_value());
        prop_assert_eq!(item.params.len(), 4);
        prop_assert_eq!(item.params.contains_key("hit"), hit);
        prop_assert_eq!(item.params.contains_key("fwd"), !hit);
        let most = 999_999_999_999_999;
        let expected = i64::from(item.params["ttl"].as_integer().unwrap());
        prop_assert_eq!(expected, ttl.clamp(-most, most));
    }

    #[test]
    fn printable_keys_arrive_as_they_are(key in "[ -~]{0,200}") {
        let member = Member { handled: Handled::Hit, key: Some(key.as_bytes()), ..PLAIN };
        let item = read_back(&member.to_value());
        let BareItem::String(read) = &item.params["key"] else {
            panic!("not a string");
        };
        prop_assert_eq!(read.as_str(), key);
    }
}
