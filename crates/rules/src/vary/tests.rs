use super::*;
use proptest::prelude::*;

mod preferences;

fn request(name: &HeaderName, lines: &[&str]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for line in lines {
        fields.append(name, HeaderValue::from_bytes(line.as_bytes()).unwrap());
    }
    fields
}

fn key(name: &HeaderName, lines: &[&str]) -> String {
    let mut into = Vec::new();
    variant_key(std::slice::from_ref(name), &request(name, lines), &mut into);
    String::from_utf8_lossy(&into).into_owned()
}

/// The normal form of one line; `None` if the field is compared as it stands.
fn normal(name: &HeaderName, line: &str) -> Option<String> {
    let key = key(name, &[line]);
    let value = key.strip_prefix(name.as_str())?.strip_prefix(':')?;
    Some(value.trim_end_matches('\n').to_owned())
}

fn names(written: &[&'static str]) -> Nominated {
    Nominated::Fields(
        written
            .iter()
            .copied()
            .map(HeaderName::from_static)
            .collect(),
    )
}

/// RFC 9110 section 12.5.5.
#[test]
fn nominated_fields() {
    for (lines, expected) in [
        (&[][..], Nominated::Nothing),
        (&[""], Nominated::Nothing),
        (&[" ,, "], Nominated::Nothing),
        (&["Accept-Encoding"], names(&["accept-encoding"])),
        (
            &["a, accept-ENCODING", "Accept-Encoding"],
            names(&["a", "accept-encoding"]),
        ),
        (&["b, A ,b", "C"], names(&["a", "b", "c"])),
        (&["a,,b"], names(&["a", "b"])),
        // RFC 9111 section 4.1: "a member '*' always fails to match".
        (&["*"], Nominated::Everything),
        (&["a, *"], Nominated::Everything),
        (&["a", "b,*"], Nominated::Everything),
        (&["a b"], Nominated::Everything),
        (&["\"a\""], Nominated::Everything),
        (&["a;b"], Nominated::Everything),
    ] {
        assert_eq!(nominated(&request(&VARY, lines)), expected, "{lines:?}");
    }
}

/// The lines of one field in two requests, and whether the requests match.
type Row = (&'static [&'static str], &'static [&'static str], bool);

fn check(name: &HeaderName, rows: &[Row]) {
    for (one, two, expected) in rows {
        let equal = key(name, one) == key(name, two);
        assert_eq!(equal, *expected, "{name} {one:?} {two:?}");
    }
}

/// RFC 9111 section 4.1: "adding or removing whitespace, where allowed", "combining multiple header field lines"; "If
/// ... a header field is absent from a request, it can only match another request if it is also absent there."
#[test]
fn fields_without_a_normal_form() {
    let rows: &[Row] = &[
        (&[], &[], true),
        (&[], &[""], false),
        (&[""], &["a"], false),
        (&["a"], &[" a\t"], true),
        (&["a", "b"], &["a, b"], true),
        (&["a", "b"], &["b", "a"], false),
        (&["a", ""], &["a,"], true),
        (&["a", ""], &["a"], false),
        (&["a"], &["A"], false),
    ];
    for name in ["x-other", "user-agent", "authorization"] {
        check(&HeaderName::from_static(name), rows);
    }
    let rows: &[Row] = &[
        (&["a=1", "b=2"], &["a=1; b=2"], true),
        (&["a=1; b=2"], &["b=2; a=1"], false),
    ];
    check(&COOKIE, rows);
}

#[test]
fn fields_cannot_be_taken_for_one_another() {
    let nominated = ["a", "b"].map(HeaderName::from_static);
    let mut seen = Vec::new();
    for (a, b) in [
        (None, None),
        (Some(""), None),
        (None, Some("")),
        (Some("b"), None),
        (Some("x"), Some("y")),
        (Some("y"), Some("x")),
        (Some("x:b:y"), None),
    ] {
        let mut fields = HeaderMap::new();
        for (name, value) in nominated.iter().zip([a, b]) {
            if let Some(value) = value {
                fields.insert(name, HeaderValue::from_static(value));
            }
        }
        let mut key = Vec::new();
        variant_key(&nominated, &fields, &mut key);
        assert!(!seen.contains(&key), "{a:?} {b:?}");
        seen.push(key);
    }
}

#[test]
fn what_stands_before_is_kept() {
    let mut into = b"before".to_vec();
    let fields = request(&ACCEPT_ENCODING, &["gzip;q=bad"]);
    variant_key(&[ACCEPT_ENCODING], &fields, &mut into);
    assert_eq!(into, b"beforeaccept-encoding=gzip;q=bad\n");
}

proptest! {
    #[test]
    fn any_value_has_a_key_of_one_line(bytes in prop::collection::vec(prop_oneof![Just(b'\t'), 0x20..0x7f_u8, 0x80..=0xff_u8], 0..40)) {
        for name in [ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, ACCEPT_CHARSET, COOKIE] {
            let mut fields = HeaderMap::new();
            fields.insert(&name, HeaderValue::from_bytes(&bytes).unwrap());
            let mut key = Vec::new();
            variant_key(&[name], &fields, &mut key);
            prop_assert_eq!(key.iter().position(|byte| *byte == b'\n'), Some(key.len() - 1));
            let mut again = Vec::new();
            let nominated = [key[..key.iter().position(|byte| b":=\n".contains(byte)).unwrap()].try_into().unwrap()];
            variant_key(&nominated, &request_fields(&key), &mut again);
            prop_assert_eq!(again, key, "a request made from a key has that key");
        }
    }

    #[test]
    fn any_vary_is_read(line in "[a-zA-Z*, \"-]{0,20}") {
        if let Nominated::Fields(names) = nominated(&request(&VARY, &[&line])) {
            prop_assert!(names.is_sorted_by(|one, two| one.as_str() < two.as_str()));
            prop_assert!(line.split(',').all(|member| member.trim() != "*"));
        }
    }
}
