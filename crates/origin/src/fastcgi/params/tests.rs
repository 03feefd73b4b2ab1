use super::*;
use crate::fastcgi::config::Paths;
use proptest::{collection::vec, prelude::*};
use std::collections::BTreeMap;

fn cgi(params: &[(&str, &str)]) -> FastCgi {
    FastCgi {
        root: "/srv/site".into(),
        index: Vec::new(),
        front: None,
        scripts: Paths::new("", |_| true),
        no_scripts: Paths::new("", |_| false),
        no_files: Paths::new("", |_| false),
        params: params
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    }
}

/// Reads parameters back (FastCGI Specification section 3.4).
fn read(mut bytes: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    fn length(bytes: &mut &[u8]) -> usize {
        let first = bytes[0];
        let size = if first < 0x80 { 1 } else { 4 };
        let (length, rest) = bytes.split_at(size);
        *bytes = rest;
        let number = length
            .iter()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        if size == 1 {
            number
        } else {
            number & 0x7fff_ffff
        }
    }
    let mut pairs = Vec::new();
    while !bytes.is_empty() {
        let (name, value) = (length(&mut bytes), length(&mut bytes));
        pairs.push((bytes[..name].to_vec(), bytes[name..name + value].to_vec()));
        bytes = &bytes[name + value..];
    }
    pairs
}

fn told(
    cgi: &FastCgi,
    lines: &[(&'static str, &str)],
    visitor: &Visitor,
) -> BTreeMap<String, String> {
    let mut fields = HeaderMap::new();
    for (name, value) in lines {
        fields.append(
            HeaderName::from_static(name),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    let script = Script {
        root: "/srv/site".into(),
        file: "/srv/site/a.php".into(),
        name: b"/a.php".to_vec(),
        info: None,
    };
    let told = ScriptRequest {
        cgi,
        script: &script,
        method: &Method::GET,
        uri: &Uri::from_static("/a.php?b=c"),
        fields: &fields,
        length: None,
        visitor,
    };
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let encoded = told.encode();
    let pairs: Vec<_> = encoded.records().flat_map(read).collect();
    let count = pairs.len();
    let map: BTreeMap<_, _> = pairs
        .into_iter()
        .map(|(name, value)| (text(name), text(value)))
        .collect();
    assert_eq!(map.len(), count, "each parameter once");
    map
}

#[test]
fn fields_become_variables_and_none_can_be_forged() {
    let told = told(
        &cgi(&[]),
        &[
            ("x-forwarded-for", "192.0.2.1"),
            ("x_forwarded_for", "forged"),
            ("x.dot", "no"),
            ("proxy", "http://evil.example"),
            ("content-type", "text/plain"),
            ("content-length", "9"),
            ("transfer-encoding", "chunked"),
            ("te", "trailers"),
            ("trailer", "x-sum"),
            ("cookie", "a=1"),
            ("cookie", "b=2"),
            ("accept", "a"),
            ("accept", "b"),
            ("accept", "c"),
            ("authorization", "Basic eA=="),
        ],
        &Visitor::default(),
    );
    let own: Vec<_> = told
        .iter()
        .filter(|(name, _)| name.starts_with("HTTP_"))
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        own,
        [
            ("HTTP_ACCEPT", "a, b, c"),
            ("HTTP_AUTHORIZATION", "Basic eA=="),
            ("HTTP_COOKIE", "a=1; b=2"),
            ("HTTP_X_FORWARDED_FOR", "192.0.2.1"),
        ]
    );
    assert_eq!(
        (
            told["CONTENT_TYPE"].as_str(),
            told["CONTENT_LENGTH"].as_str()
        ),
        ("text/plain", "")
    );
}

#[test]
fn host_and_scheme() {
    for (host, https, name, port) in [
        ("a.example", false, "a.example", "80"),
        ("a.example", true, "a.example", "443"),
        ("a.example:81", true, "a.example", "81"),
        ("[::1]:81", false, "[::1]", "81"),
        ("[::1]", false, "[::1]", "80"),
    ] {
        let visitor = Visitor {
            https,
            ..Visitor::default()
        };
        let told = told(&cgi(&[]), &[("host", host)], &visitor);
        assert_eq!(
            (told["SERVER_NAME"].as_str(), told["SERVER_PORT"].as_str()),
            (name, port),
            "{host}"
        );
        assert_eq!(told.contains_key("HTTPS"), https);
        assert_eq!(told["REMOTE_ADDR"], "", "nobody in particular");
    }
}

#[test]
fn the_configuration_has_the_last_word() {
    let own = cgi(&[("SERVER_NAME", "fixed"), ("APP_ENV", "production")]);
    let told = told(&own, &[("host", "a.example")], &Visitor::default());
    assert_eq!(
        (told["SERVER_NAME"].as_str(), told["APP_ENV"].as_str()),
        ("fixed", "production")
    );
}

/// php-fpm reads each record by itself.
#[test]
fn no_pair_goes_on_in_the_next_record() {
    let mut pairs = Pairs::new(&cgi(&[]));
    let value = vec![b'x'; 20_000];
    for name in ["A", "B", "C", "D", "E", "F", "G"] {
        pairs.append(name.as_bytes(), &value);
    }
    let huge = vec![b'y'; LARGEST + 1];
    pairs.append(b"H", &huge);
    pairs.append(b"I", b"i");
    let records: Vec<Vec<_>> = pairs.records().map(read).collect();
    let counts: Vec<_> = records.iter().map(Vec::len).collect();
    assert_eq!(counts, [3, 3, 1, 1, 1]);
    assert!(
        pairs
            .records()
            .all(|record| record.len() <= LARGEST || record.len() > huge.len())
    );
}

proptest! {
    #[test]
    fn whatever_is_written_is_read_back(
        pairs in vec((vec(any::<u8>(), 0..300), vec(any::<u8>(), 0..300)), 0..10),
    ) {
        let mut out = BytesMut::new();
        for (name, value) in &pairs {
            append(&mut out, name, value);
        }
        prop_assert_eq!(read(&out), pairs);
    }
}
