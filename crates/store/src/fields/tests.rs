use super::*;
use http::header;
use proptest::prelude::*;

#[test]
fn a_map_comes_back_as_it_was() {
    let mut map = HeaderMap::new();
    map.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
    map.append(header::LINK, HeaderValue::from_static("</a>; rel=preload"));
    map.append(header::LINK, HeaderValue::from_static("</b>; rel=preload"));
    map.insert("x-own", HeaderValue::from_bytes(b"caf\xe9").expect("valid"));
    map.insert("x-empty", HeaderValue::from_static(""));
    let packed = Fields::pack(&map);
    assert_eq!(packed.unpack(0), map);
    assert_eq!(
        packed.get(&header::CONTENT_TYPE).as_ref(),
        map.get(header::CONTENT_TYPE)
    );
    assert_eq!(
        packed.get_bytes(&HeaderName::from_static("x-own")),
        Some(&b"caf\xe9"[..])
    );
    assert_eq!(packed.get(&header::ETAG), None);
}

/// Lengths on both sides of what two bytes can express.
#[test]
fn values_of_any_length_come_back() {
    for length in [0, 65_533, 65_534, 65_535, 65_536, 300_000] {
        let mut map = HeaderMap::new();
        map.insert(header::ETAG, HeaderValue::from_static("\"a\""));
        let long = HeaderValue::try_from("x".repeat(length)).expect("valid");
        map.insert(header::LINK, long.clone());
        map.insert("x-own", long);
        map.insert(header::AGE, HeaderValue::from_static("1"));
        let packed = Fields::pack(&map);
        assert_eq!(packed.unpack(0), map, "{length}");
        let again = Fields::from_packed(Bytes::copy_from_slice(packed.packed()));
        assert_eq!(again, Some(packed), "{length}");
    }
}

#[test]
fn every_known_name_has_its_place_as_its_code() {
    for (place, known) in KNOWN.iter().enumerate() {
        assert_eq!(code(&known.name), Some(place as u8 + 1), "{known:?}");
        assert_eq!(known.name.as_str(), known.text);
    }
    for unknown in ["a", "x-own", "content-typf", "x-xss-protection-"] {
        assert_eq!(code(&HeaderName::from_static(unknown)), None, "{unknown}");
    }
}

#[test]
fn more_fields_than_a_map_can_hold_are_none() {
    let packed = |count: usize| Bytes::from([1, 0, 0].repeat(count));
    let most = Fields::from_packed(packed(MOST)).expect("as many as may be");
    assert_eq!(most.unpack(0).len(), MOST);
    for count in [MOST + 1, 1 << 15, 1 << 18] {
        assert_eq!(Fields::from_packed(packed(count)), None, "{count}");
    }
}

proptest! {
    #[test]
    fn whatever_is_taken_can_be_unpacked(
        field in prop_oneof![Just(vec![1, 0, 0]), Just(vec![0, 0, 1, b'a', 0, 0]), prop::collection::vec(any::<u8>(), 0..9)],
        count in 0_usize..100_000,
    ) {
        if let Some(fields) = Fields::from_packed(Bytes::from(field.repeat(count))) {
            let _ = fields.unpack(8);
        }
    }

    /// The fields are sent without another check: whoever writes to another server's disk or memory must not end a line
    /// in them.
    #[test]
    fn what_was_packed_elsewhere_holds_fields_alone(
        written in prop::collection::vec((prop_oneof!["[a-z-]{1,9}", "[ -~\r\n]{0,9}"], prop_oneof!["[ -~]{0,9}", "[\x00-\x7f]{0,9}"]), 0..9),
    ) {
        let mut bytes = Vec::new();
        for text in written.iter().flat_map(|(name, value)| [(&[SPELLED][..], name), (&[], value)]) {
            bytes.extend_from_slice(text.0);
            bytes.extend_from_slice(&(text.1.len() as u16).to_be_bytes());
            bytes.extend_from_slice(text.1.as_bytes());
        }
        let mut map = HeaderMap::new();
        let mut are_fields = true;
        for (name, value) in &written {
            let known = HeaderName::from_bytes(name.as_bytes());
            match (known.ok().filter(|known| known.as_str() == name), HeaderValue::try_from(value)) {
                (Some(name), Ok(value)) => drop(map.append(name, value)),
                _ => are_fields = false,
            }
        }
        let fields = Fields::from_packed(bytes.into());
        prop_assert_eq!(fields.map(|fields| fields.unpack(0)), are_fields.then_some(map));
    }
}

#[test]
fn a_quotation_mark_is_no_name() {
    let bytes = [SPELLED, 0, 1, b'"', 0, 0];
    assert_eq!(Fields::from_packed(Bytes::copy_from_slice(&bytes)), None);
}

#[test]
fn each_known_name_has_a_code_of_its_own() {
    let mut map = HeaderMap::new();
    for known in &KNOWN {
        map.insert(&known.name, HeaderValue::from_static("v"));
    }
    assert_eq!(map.len(), KNOWN.len());
    assert_eq!(Fields::pack(&map).unpack(0), map);
}
