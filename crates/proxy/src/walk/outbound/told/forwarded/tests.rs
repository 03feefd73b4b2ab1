use super::*;
use crate::sample::key_spec;
use proptest::prelude::*;

fn is_said_by_key(written: &[&str], spec: &KeySpec) -> bool {
    let mut fields = HeaderMap::new();
    for line in written {
        fields.append(FORWARDED, line.parse().expect("a line"));
    }
    let key = Key::build(spec, "https", "shop.test", "/", None);
    agrees(&lines(&fields, spec), &key, "https", spec)
}

#[test]
fn what_says_all_of_the_key_and_nothing_else_agrees() {
    for written in [
        &["host=shop.test;proto=https"][..],
        &["proto=https;for=192.0.2.7;host=shop.test"],
        &["for=\"[2001:db8::1]:80\";by=_b;host=\"shop.test\";proto=\"https\""],
        &["for=unknown;host=shop.test;proto=https, host=shop.test;proto=https"],
        &["host=shop.test;proto=https,host=shop.test;proto=https"],
        &["host=shop.test;proto=https", "host=shop.test;proto=https"],
    ] {
        assert!(is_said_by_key(written, &key_spec()), "{written:?}");
    }
}

#[test]
fn what_an_application_may_read_otherwise_does_not_agree() {
    for element in [
        // Less than the key says.
        "",
        "for=192.0.2.7",
        "host=shop.test",
        "for=192.0.2.7;proto=https",
        // Something else.
        "host=evil.test;proto=https",
        "host=shop.test;proto=http",
        "host=shop.test;proto=https;x=y",
        "host=shop.test;proto=https;for=\"x;host=evil.test\"",
        // In another spelling.
        r#"host="shop.tes\t";proto=https"#,
        r#"host=shop.test;proto="h\ttps""#,
        r#"host=shop.test;proto=https;for="a\b""#,
        "host=SHOP.test;proto=https",
        "Host=shop.test;proto=https",
        "host=shop.test;PROTO=https",
        "host=shop.test; proto=https",
        "host=shop.test ;proto=https",
        "host=shop.test;proto=https ",
        "  host=shop.test;proto=https",
        "host = shop.test;proto=https",
        "host=\" shop.test\";proto=https",
        // Malformed, or nearly so.
        "host=shop.test;proto=https;",
        ";host=shop.test;proto=https",
        "host=shop.test;;proto=https",
        "host=shop.test;host=shop.test;proto=https",
        "host=shop.test;proto=https;for=a;for=b",
        "host=shop.test;proto=https;for",
        "host=shop.test;proto=https;for=",
        "host=shop.test;proto=https;for=2001:db8::1",
        "host=shop.test;proto=https;for=\"2001:db8::1\"",
        "host=shop.test;proto=https;for=x",
        "host=shop.test;proto=https;for=\"\"",
        "host=shop.test;proto=https;for=\"[[\"",
        "host=shop.test;proto=https;for=192.0.2.7:80",
        "host=\"shop.test;proto=https",
        "host=shop.test;proto=https\"",
    ] {
        let whole = "host=shop.test;proto=https";
        let (before, after) = (format!("{element}, {whole}"), format!("{whole}, {element}"));
        for written in [
            &[element][..],
            &[&before],
            &[&after],
            &[element, whole],
            &[whole, element],
        ] {
            assert!(!is_said_by_key(written, &key_spec()), "{written:?}");
        }
    }
}

/// The origin is told neither, so nothing about them is left to be said.
#[test]
fn what_is_not_keyed_need_not_be_said() {
    let mut spec = key_spec();
    spec.host = false;
    for (written, expected) in [
        ("for=192.0.2.7;host=evil.test;proto=https", true),
        ("proto=https, host=evil.test", true),
        ("host=evil.test", true),
        ("\"", true),
        ("for=192.0.2.7;host=evil.test", false),
        ("proto=http", false),
    ] {
        assert_eq!(is_said_by_key(&[written], &spec), expected, "{written}");
    }
    spec.scheme = false;
    assert!(is_said_by_key(&["for=_a;host=evil.test, proto=x"], &spec));
    assert!(!is_said_by_key(&["for=a;x=y"], &spec));
}

#[test]
fn addresses_are_no_part_of_what_is_keyed() {
    for (line, expected) in [
        ("", ""),
        ("for=192.0.2.7;proto=https", "for=unknown;proto=https"),
        (
            "For=\"[2001:db8::1]:80\" ; by=_a",
            "For=unknown; by=unknown",
        ),
        ("for=unknown, ,for=_x;", "for=unknown, ,for=unknown;"),
        // Written as it must not be.
        ("proto=https;for=2001:db8::1", "proto=https;for=::"),
        ("for=192.0.2.7:80,by=[::1]", "for=0.0.0.0:0,by=[::]"),
        ("for=\"2001:db8::1\"", "for=\"::\""),
        ("for=[2001:db8::1]:80", "for=[::]:0"),
        // No address.
        ("for=,by=\"\"", "for=,by=\"\""),
        (
            "for=x, for=1.2.3.4.5, for=\"[[\"",
            "for=x, for=1.2.3.4.5, for=\"[[\"",
        ),
        // Nor is this one, nor that.
        ("for=_, for=:", "for=_, for=:"),
        // Quotes that are not around a value.
        ("host=\"a;for=192.0.2.7;b\"", "host=\"a;for=192.0.2.7;b\""),
        ("x=\"p,for=192.0.2.7,q\"", "x=\"p,for=192.0.2.7,q\""),
        ("for=192.0.2.7;x=\"a\\\"", "for=192.0.2.7;x=\"a\\\""),
        // Whatever may be more than an address, or is none.
        ("for=\"x=y\"", "for=\"x=y\""),
        ("for=\"a", "for=\"a"),
        ("for=\"a\\b\"", "for=\"a\\b\""),
        ("for=\"x;host=evil.test\"", "for=\"x;host=evil.test\""),
        ("for", "for"),
        ("x=192.0.2.7;host=a ;proto=é", "x=192.0.2.7;host=a ;proto=é"),
    ] {
        let found = without_nodes(line.as_bytes());
        assert_eq!(String::from_utf8_lossy(&found), expected, "{line}");
    }
}

proptest! {
    /// What stands for an address says the same as what it stands for.
    #[test]
    fn what_is_keyed_would_be_keyed_alike(line in "((for|By|host|x)?=?(\"|\\\\|;|,| |_a|unknown|1\\.2\\.3\\.4|::1|\\[::1\\]|:80|é)?){0,8}") {
        let keyed = without_nodes(line.as_bytes());
        prop_assert_eq!(without_nodes(&keyed), keyed);
    }

    #[test]
    fn clients_with_addresses_of_a_kind_are_not_told_apart(one: [u8; 4], other: [u8; 4], port: u16) {
        let said = |address: [u8; 4]| {
            let address = std::net::Ipv4Addr::from(address);
            let line = format!("for={address};proto=https, for=\"{address}:{port}\", for={address}:{port}");
            without_nodes(line.as_bytes())
        };
        prop_assert_eq!(said(one), said(other));
    }
}
