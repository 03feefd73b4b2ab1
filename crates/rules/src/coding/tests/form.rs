//! What the fields of a form say.

use super::*;

const WHOLE: FormProvenance = FormProvenance::Whole {
    length: 300,
    hash: 0xabc,
};

/// RFC 9110 section 8.8.3.3: "entity tags for the content-coded representations ... need to be distinct".
#[test]
fn a_form_has_a_tag_and_fields_of_its_own() {
    let br = described("\"v1\"", Some(Coding::Brotli), WHOLE);
    assert_eq!(br[header::ETAG], "\"v1-larder-br-0000000000000abc\"");
    assert_eq!(br[header::CONTENT_LENGTH], "300");
    assert_eq!(br[header::CONTENT_ENCODING], "br");
    assert_eq!(br[header::VARY], "Accept-Encoding");
    assert_eq!(br[header::ACCEPT_RANGES], "bytes");
    assert!(!br.contains_key("repr-digest"));
    let streamed = described("\"v1\"", Some(Coding::Gzip), FormProvenance::Streamed);
    assert_eq!(streamed[header::ETAG], "W/\"v1-larder-gzip\"");
    assert!(!streamed.contains_key(header::CONTENT_LENGTH));
    assert!(!streamed.contains_key(header::ACCEPT_RANGES));
    let weak = described("W/\"v1\"", Some(Coding::Zstd), WHOLE);
    assert_eq!(weak[header::ETAG], "W/\"v1-larder-zstd\"");
    let odd = described("v1", Some(Coding::Zstd), WHOLE);
    assert_eq!(odd[header::ETAG], "v1", "what is no tag stays");
    let decoded = described("\"v1\"", None, FormProvenance::Streamed);
    assert_eq!(decoded[header::ETAG], "W/\"v1-larder-identity\"");
}

#[test]
fn what_is_decoded_names_no_coding() {
    let mut fields = HeaderMap::new();
    fields.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    describe(&mut fields, None, WHOLE);
    assert!(!fields.contains_key(header::CONTENT_ENCODING));
}

#[test]
fn a_clients_own_fields_get_the_forms_and_keep_the_rest() {
    let form = described("\"v1\"", Some(Coding::Brotli), WHOLE);
    let mut own = HeaderMap::new();
    own.insert(header::SET_COOKIE, HeaderValue::from_static("a=b"));
    own.insert(header::CONTENT_LENGTH, HeaderValue::from_static("1000"));
    own.insert("repr-digest", HeaderValue::from_static("sha-256=:AA==:"));
    describe_as(&mut own, |name| form.get(name).cloned());
    let mut expected = form.clone();
    expected.remove(header::ACCEPT_RANGES);
    expected.insert(header::SET_COOKIE, HeaderValue::from_static("a=b"));
    assert_eq!(own, expected);
}

#[test]
fn vary_is_added_once() {
    for (before, after) in [
        (&[][..], "Accept-Encoding"),
        (&["accept-encoding"], "accept-encoding"),
        (&["*"], "*"),
        (&["Cookie , ACCEPT-ENCODING"], "Cookie , ACCEPT-ENCODING"),
        (
            &["Accept-Encoding-Not"],
            "Accept-Encoding-Not|Accept-Encoding",
        ),
        (&["Cookie", "Foo"], "Cookie|Foo|Accept-Encoding"),
    ] {
        let mut fields = HeaderMap::new();
        for line in before {
            fields.append(header::VARY, HeaderValue::from_static(line));
        }
        vary_by_coding(&mut fields);
        let lines: Vec<_> = fields
            .get_all(header::VARY)
            .iter()
            .map(|line| line.to_str().unwrap())
            .collect();
        assert_eq!(lines.join("|"), after);
    }
}
