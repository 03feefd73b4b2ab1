use super::*;
use proptest::prelude::*;

/// The values of a parameter in each element of a line; `-` where it is not there, `!` where the element is malformed.
fn said(line: &str, name: &str) -> Vec<String> {
    let value = |element: Option<Element<'_>>| match element {
        None => "!".to_owned(),
        Some(element) => element.get(name).map_or("-".to_owned(), Cow::into_owned),
    };
    elements(line).into_iter().map(value).collect()
}

/// RFC 7239 section 4, with its examples.
#[test]
fn elements_are_read() {
    for (line, name, expected) in [
        (r#"for="_gazonk""#, "for", &["_gazonk"][..]),
        (
            r#"For="[2001:db8:cafe::17]:4711""#,
            "for",
            &["[2001:db8:cafe::17]:4711"],
        ),
        (
            "for=192.0.2.60;proto=http;by=203.0.113.43",
            "proto",
            &["http"],
        ),
        ("for=192.0.2.60;PROTO=https", "proto", &["https"]),
        (
            "for=192.0.2.43, for=198.51.100.17",
            "for",
            &["192.0.2.43", "198.51.100.17"],
        ),
        ("for=192.0.2.43,for=198.51.100.17;by=a", "by", &["-", "a"]),
        (";for=a;;", "for", &["a"]),
        (" , for=a ,", "for", &["a"]),
        ("for=a ; proto=b", "proto", &["b"]),
        ("", "for", &[]),
        (r#"host="a, b;c=d";for=e"#, "for", &["e"]),
        (r#"for="a\"b\\c""#, "for", &[r#"a"b\c"#]),
        // Neither a token nor a quoted string; twice; no pair.
        ("for=1.2.3.4:80", "for", &["!"]),
        ("for=[::1]", "for", &["!"]),
        ("for=a;For=b", "for", &["!"]),
        ("for", "for", &["!"]),
        ("for=", "for", &["!"]),
        ("=a", "for", &["!"]),
        (r#"for="a"b"#, "for", &["!"]),
        ("for=a b, for=c", "for", &["!", "c"]),
        // What a client leaves open hides no proxy's word.
        (r#"for="evil, for=192.0.2.1"#, "for", &["!", "192.0.2.1"]),
        (
            r#"for="evil, for=192.0.2.1;host="a.test""#,
            "for",
            &["!", "192.0.2.1"],
        ),
        (r#"for="evil"#, "for", &["!", "!"]),
    ] {
        assert_eq!(said(line, name), expected, "{line}");
    }
}

/// RFC 7239 section 6.
#[test]
fn addresses_are_read() {
    for (node, expected) in [
        ("192.0.2.7", Some("192.0.2.7")),
        (" 192.0.2.7 ", Some("192.0.2.7")),
        ("192.0.2.7:4711", Some("192.0.2.7")),
        ("192.0.2.7:_x", Some("192.0.2.7")),
        ("2001:db8::1", Some("2001:db8::1")),
        ("[2001:db8::1]", Some("2001:db8::1")),
        ("[2001:db8::1]:443", Some("2001:db8::1")),
        ("::ffff:192.0.2.7", Some("192.0.2.7")),
        ("[::ffff:192.0.2.7]:1", Some("192.0.2.7")),
        ("unknown", None),
        ("_hidden", None),
        ("", None),
        ("192.0.2.7:", None),
        ("192.0.2.7:123456", None),
        ("192.0.2.7:x", None),
        ("[192.0.2.7]", None),
        ("[2001:db8::1", None),
        ("[2001:db8::1]443", None),
        ("192.0.2.7, 192.0.2.8", None),
    ] {
        let found = address(node).map(|address| address.to_string());
        assert_eq!(found.as_deref(), expected, "{node}");
    }
}

#[test]
fn parameters_are_left_out() {
    let line = r#"for=a;Host="b, c";proto=http, proto=https"#;
    let left: Vec<_> = elements(line)
        .into_iter()
        .map(|element| element.and_then(|element| element.without(&["host", "proto"])))
        .collect();
    assert_eq!(left, [Some("for=a".to_owned()), None]);
}

fn element() -> impl Strategy<Value = String> {
    let value = prop_oneof!["[a-z0-9._]{1,9}", r#""([a-z0-9:,;= \[\]]|\\"|\\\\){0,9}""#];
    let names = proptest::sample::subsequence(vec!["for", "by", "host", "proto"], 1..4);
    (names, proptest::collection::vec(value, 4)).prop_map(|(names, values)| {
        let pairs = names.iter().zip(values);
        let pairs: Vec<_> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join(";")
    })
}

proptest! {
    /// What is well formed is read as it is written.
    #[test]
    fn what_is_well_formed_is_read(list in proptest::collection::vec(element(), 1..4)) {
        let line = list.join(", ");
        let read = elements(&line);
        let read: Vec<_> = read.iter().map(|one| one.as_ref().and_then(|one| one.without(&[]))).collect();
        let list: Vec<_> = list.into_iter().map(Some).collect();
        prop_assert_eq!(read, list);
    }

    /// Whatever a client writes, the proxy behind it is heard, and heard last.
    #[test]
    fn the_last_word_is_the_last_proxys(before in "[ -~]{0,40}", port in 1..65535_u16) {
        for own in [format!("for=192.0.2.1;proto=http;by=_{port}"), format!("for=\"192.0.2.1:{port}\"")] {
            let line = format!("{before}, {own}");
            let last = elements(&line).pop().flatten();
            let heard = last.and_then(|last| last.get("for")).and_then(|node| address(&node));
            prop_assert_eq!(heard, address("192.0.2.1"), "{}", line);
        }
    }

    #[test]
    fn any_line(line in "\\PC*") {
        for element in elements(&line).into_iter().flatten() {
            let _ = element.get("for").and_then(|node| address(&node));
        }
        let _ = address(&line);
    }
}
