use super::super::{
    framing::{Framing, framing},
    verb::Verb,
    write::write_head,
};
use super::*;
use crate::sample;
use bytes::Bytes;
use http::{Version, header};
use http_body_util::Full;
use proptest::prelude::*;

const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");
static NAMES: [HeaderName; ANEW] = [header::AGE, CACHE_STATUS];

/// Names and values as an application may send them.
fn field() -> impl Strategy<Value = (HeaderName, HeaderValue)> {
    let name = prop_oneof![
        4 => "[a-z]{1,12}",
        1 => Just("content-type".to_owned()),
        1 => Just("set-cookie".to_owned()),
        1 => Just("content-length".to_owned()),
        1 => Just("connection".to_owned()),
        1 => Just("trailer".to_owned()),
        1 => Just("age".to_owned()),
        1 => Just("cache-status".to_owned()),
    ];
    let value = prop_oneof![3 => "[ -~]{0,40}", 1 => Just("5".to_owned())];
    (name, value).prop_map(|(name, value)| {
        let name = HeaderName::try_from(name).expect("a name");
        (name, HeaderValue::try_from(value).expect("a value"))
    })
}

fn fields() -> impl Strategy<Value = HeaderMap> {
    let fields = proptest::collection::vec(field(), 0..8);
    (fields, 0..5).prop_map(|(fields, dated)| {
        let mut map: HeaderMap = fields.into_iter().collect();
        if dated > 0 {
            map.insert(header::DATE, HeaderValue::from_static("now"));
        }
        map
    })
}

fn asked() -> impl Strategy<Value = ReplyContext> {
    let flags = (any::<bool>(), any::<bool>());
    flags.prop_map(|(is_old, closes)| ReplyContext {
        verb: Verb::Get,
        version: if is_old {
            Version::HTTP_10
        } else {
            Version::HTTP_11
        },
        closes,
    })
}

/// The head as it is written field by field, with its framing; `None` if it is not written.
fn general(response: &Response<Full<Bytes>>, asked: ReplyContext) -> Option<(Vec<u8>, Framing)> {
    let mut buffer = WriteBuffer::on(vec![0; 16 << 10].into());
    let framing = framing(response, asked)?;
    write_head(&mut buffer, response, framing, asked)?;
    Some((buffer.written().to_vec(), framing))
}

proptest! {
    #[test]
    fn a_prepared_head_is_the_head_field_by_field(
        kept in fields(),
        status in prop_oneof![Just(200_u16), Just(404), Just(204), Just(304), Just(299)],
        content in prop_oneof![Just(5_usize), Just(0), Just(70_000)],
        age in "[0-9]{1,6}",
        told in "[ -~]{1,60}",
        asked in asked(),
    ) {
        let status = StatusCode::from_u16(status).expect("a status");
        let body = || Full::new(Bytes::from(vec![b'x'; content]));
        let anew = || [&age, &told].map(|text| HeaderValue::try_from(text).expect("a value"));
        let mut whole = kept.clone();
        let mut places = kept.clone();
        for (name, value) in NAMES.iter().zip(anew()) {
            match kept.get(name) {
                Some(first) if !first.is_empty() => {
                    whole.append(name, value);
                }
                first => {
                    whole.insert(name, value);
                    if first.is_none() {
                        places.insert(name, HeaderValue::from_static(""));
                    }
                }
            }
        }
        let mut response = Response::new(body());
        *response.status_mut() = status;
        *response.headers_mut() = whole;
        let expected = general(&response, asked);

        let length = content as u64;
        let head = PreparedHead::new(status, places, NAMES.clone(), Some(length));
        let is_written = head.is_written_for(length);
        prop_assert!(!head.is_written_for(length + 1));
        let packed = PackedHead::new(&sample::stored(status, &kept), &NAMES, length);
        let has_anew = NAMES.iter().any(|name| kept.contains_key(name));
        prop_assert_eq!(packed.is_none(), has_anew || has_no_content(status));
        for head in [Some(Head::Kept(Rc::new(head))), packed.map(Head::Packed)].into_iter().flatten() {
            let is_kept = matches!(head, Head::Kept(_));
            let prepared = Prepared::new(head, anew().map(Rc::new), body(), HeaderMap::new());
            let mut buffer = WriteBuffer::on(vec![0; 16 << 10].into());
            let written = prepared.write_head(&mut buffer, asked);
            prop_assert!(!is_kept || written.is_some() == is_written);
            if let Some(announced) = written {
                prop_assert_eq!(Some((buffer.written().to_vec(), announced)), expected.clone());
            } else if !has_no_content(status) && !has_anew {
                prop_assert_eq!(expected.clone(), None);
            }
            if written.is_some() || !is_kept {
                prop_assert_eq!(general(&prepared.response(), asked), expected.clone());
            }
        }
    }
}

#[test]
fn what_is_too_long_or_for_no_content_is_not_written() {
    let head = |value: &str| {
        let mut fields = HeaderMap::new();
        fields.insert(header::DATE, HeaderValue::try_from(value).expect("valid"));
        for name in &NAMES {
            fields.insert(name, HeaderValue::from_static(""));
        }
        PreparedHead::new(StatusCode::OK, fields, NAMES.clone(), Some(1))
    };
    assert!(!head(&"x".repeat(LONGEST)).is_written_for(1));
    let head = Rc::new(head("now"));
    assert!(head.is_written_for(1));
    let anew = [1, 2].map(|number| Rc::new(HeaderValue::from(number)));
    let prepared = Prepared::new(
        Head::Kept(head),
        anew,
        Full::new(Bytes::from("x")),
        HeaderMap::new(),
    );
    let mut buffer = WriteBuffer::on(vec![0; LONGEST].into());
    let asked = ReplyContext {
        verb: Verb::Head,
        version: Version::HTTP_11,
        closes: false,
    };
    assert_eq!(prepared.write_head(&mut buffer, asked), None);
}
