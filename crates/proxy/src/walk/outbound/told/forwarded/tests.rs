use super::*;
use crate::sample::key_spec;

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
