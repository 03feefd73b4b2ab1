use super::*;
use proptest::prelude::*;

/// The values of a parameter in each element of a line: `-` if it is absent, `!` if the element is malformed.
fn said(line: &str, name: &str) -> Vec<String> {
    let value = |element: Option<Element<'_>>| match element {
        None => "!".to_owned(),
        Some(element) => element.get(name).map_or("-".to_owned(), Cow::into_owned),
    };
    let read = elements(line.as_bytes());
    read.into_iter().map(value).collect()
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
        // Neither a token nor a quoted string; twice; not a pair.
        ("for=1.2.3.4:80", "for", &["!"]),
        ("for=[::1]", "for", &["!"]),
        ("for=a;For=b", "for", &["!"]),
        ("for", "for", &["!"]),
        ("for=", "for", &["!"]),
        ("=a", "for", &["!"]),
        (r#"for="a"b"#, "for", &["!"]),
        (r#"for="a""b""#, "for", &["!"]),
        (r#"for="a\""#, "for", &["!"]),
        ("for=a,for=b", "for", &["a", "b"]),
        ("for=a b, for=c", "for", &["!", "c"]),
        // What a client leaves open hides no proxy's word.
        (r#"for="evil, for=192.0.2.1"#, "for", &["!", "192.0.2.1"]),
        (
            r#"for="evil, for=192.0.2.1;host="a.test""#,
            "for",
            &["!", "192.0.2.1"],
        ),
        (
            r#"for="evil, for=192.0.2.1;by="[::1]", for="192.0.2.2:80""#,
            "for",
            &["!", "192.0.2.1", "192.0.2.2:80"],
        ),
        (
            r#"for="evil, for=192.0.2.1;host="\"a\\\", b\\""#,
            "for",
            &["!", "192.0.2.1"],
        ),
        (r#"for=evil", for=192.0.2.1"#, "for", &["!", "192.0.2.1"]),
        (r#"for="evil"#, "for", &["!"]),
        (r#"for="é", for=192.0.2.1"#, "for", &["é", "192.0.2.1"]),
        ("for=é, for=192.0.2.1", "for", &["!", "192.0.2.1"]),
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
        ("192.0.2.7:65535", Some("192.0.2.7")),
        ("192.0.2.7:65536", None),
        ("192.0.2.7:1", Some("192.0.2.7")),
        ("192.0.2.7:_a.B-3_", Some("192.0.2.7")),
        ("[2001:db8::1]:_x", Some("2001:db8::1")),
        ("192.0.2.7:_", None),
        ("192.0.2.7:_a b", None),
        ("192.0.2.7:1x", None),
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
    let left: Vec<_> = elements(line.as_bytes())
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

/// Bytes that a client may write, with the significant ones more often than by chance.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![proptest::sample::select(b"\",;=\\".to_vec()), any::<u8>()];
    proptest::collection::vec(byte, 0..40)
}

proptest! {
    /// A well-formed element is read as it is written.
    #[test]
    fn what_is_well_formed_is_read(list in proptest::collection::vec(element(), 1..4)) {
        let line = list.join(", ");
        let read = elements(line.as_bytes());
        let read: Vec<_> = read.iter().map(|one| one.as_ref().and_then(|one| one.without(&[]))).collect();
        let list: Vec<_> = list.into_iter().map(Some).collect();
        prop_assert_eq!(read, list);
    }

    /// Whatever a client writes, the proxies after it are heard, and heard last.
    #[test]
    fn the_last_words_are_the_proxies(before in any_bytes(), proxies in proptest::collection::vec(element(), 1..4)) {
        let line = [before.as_slice(), proxies.join(", ").as_bytes()].join(&b", "[..]);
        let mut read = elements(&line);
        let words = read.split_off(read.len() - proxies.len());
        let words: Vec<_> = words.iter().map(|one| one.as_ref().and_then(|one| one.without(&[]))).collect();
        let proxies: Vec<_> = proxies.into_iter().map(Some).collect();
        prop_assert_eq!(words, proxies, "{}", line.escape_ascii());
    }

    #[test]
    fn any_line(line: Vec<u8>, node: String) {
        for element in elements(&line).into_iter().flatten() {
            let _ = element.get("for").and_then(|node| address(&node));
        }
        let _ = address(&node);
    }
}

/// RFC 7239 section 6.
#[test]
fn nodes_are_known() {
    for node in [
        "192.0.2.7",
        "192.0.2.7:80",
        "192.0.2.7:_x",
        "[2001:db8::1]",
        "[2001:db8::1]:4711",
        "unknown",
        "unknown:1",
        "_hidden",
        "_a.b-c_d",
    ] {
        assert!(is_node(node), "{node}");
    }
    for other in [
        "",
        "_",
        "x",
        "Unknown",
        "1.2.3",
        "1.2.3.4.5",
        "192.0.2.7:",
        "192.0.2.7:99999",
        "192.0.2.7:123456",
        "192.0.2.7 ",
        "2001:db8::1",
        "[2001:db8::1",
        "[2001:db8::1]80",
        "[192.0.2.7]",
        "[[",
        "_é",
    ] {
        assert!(!is_node(other), "{other}");
    }
}

proptest! {
    /// Each node is an address, or hides one.
    #[test]
    fn nodes_are_addresses_or_hide_them(node in "(\\[?[0-9a-f:.]{0,12}\\]?|_?[a-z]{0,7})(:[0-9_a]{0,6})?") {
        let hides = node.starts_with('_') || node.starts_with("unknown");
        prop_assert!(!is_node(&node) || hides || address(&node).is_some(), "{}", node);
    }
}
