use super::{
    view::{SOURCES, number},
    *,
};
use crate::{Parts, purge::Log, sample};
use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;
use rules::{reuse, time::Time};
use std::sync::Arc;

/// Everything of a stored response that is written.
fn written(stored: &Stored) -> impl PartialEq + std::fmt::Debug + use<> {
    let texts = stored.marks.iter().flat_map(|marks| marks.texts());
    let tags: Vec<String> = texts.map(str::to_owned).collect();
    (
        (stored.status, stored.facts, stored.fields.clone()),
        (stored.variant.clone(), tags),
        (stored.unsent.clone(), stored.is_esi()),
        (stored.checked(), stored.uses()),
    )
}

fn facts() -> impl Strategy<Value = Facts> {
    let source = prop::sample::select(&SOURCES[..]);
    let numbers = any::<(u64, u64, u64, u64)>();
    let windows = any::<(Option<u32>, Option<u32>)>();
    (numbers, windows, any::<[bool; 5]>(), source).prop_map(
        |((response, date, age, lifetime), (revalidate, error), flags, source)| Facts {
            response_time: Time::from_millis(response),
            date: Time::from_millis(date),
            initial_age_ms: age,
            lifetime_ms: lifetime,
            source,
            stale_while_revalidate: revalidate,
            stale_if_error: error,
            no_cache: flags[0],
            must_revalidate: flags[1],
            immutable: flags[2],
            limits_stale: flags[3],
            is_failure: false,
            is_weakly_known: flags[4],
        },
    )
}

#[test]
fn each_source_has_the_number_by_which_it_is_found_again() {
    for (index, source) in SOURCES.iter().enumerate() {
        assert_eq!(usize::from(number(*source)), index, "{source:?}");
    }
}

fn fields() -> impl Strategy<Value = HeaderMap> {
    let field = ("[a-z][a-z0-9-]{0,12}", "[ -~]{0,20}");
    prop::collection::vec(field, 0..8).prop_map(|all| {
        all.into_iter()
            .filter_map(|(name, value)| {
                let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
                Some((name, HeaderValue::from_str(&value).ok()?))
            })
            .collect()
    })
}

fn unsent() -> impl Strategy<Value = Option<Box<Fields>>> {
    let control = prop::option::of(prop::sample::select(vec![
        "max-age=1",
        "content=\"ESI/1.0\"",
    ]));
    (fields(), control, any::<bool>()).prop_map(|(mut fields, control, is_there)| {
        if let Some(control) = control {
            let name = HeaderName::from_static("surrogate-control");
            fields.append(name, HeaderValue::from_static(control));
        }
        is_there.then(|| Box::new(Fields::pack(&fields)))
    })
}

fn variant() -> impl Strategy<Value = Option<Variant>> {
    let names = prop::collection::btree_set("[a-z][a-z0-9-]{0,12}", 1..4);
    prop::option::of((names, prop::collection::vec(any::<u8>(), 0..40))).prop_map(|some| {
        some.map(|(names, key)| Variant {
            nominated: names
                .iter()
                .map(|name| HeaderName::from_bytes(name.as_bytes()).expect("a name"))
                .collect(),
            key: key.into(),
        })
    })
}

fn body() -> impl Strategy<Value = Body> {
    let bytes = || prop::collection::vec(any::<u8>(), 1..40).prop_map(Bytes::from);
    prop_oneof![
        bytes().prop_map(Body::Whole),
        prop::collection::vec(bytes(), 0..4).prop_map(|chunks| Body::Chunks(chunks.into())),
        (bytes(), bytes(), 0u64..9).prop_map(|(one, two, gap)| {
            let second = one.len() as u64 + gap;
            let length = second + two.len() as u64 + 7;
            let one = Parts::new(length, 0, one);
            Body::Parts(Arc::new(
                one.combined(&Parts::new(length, second, two), u64::MAX),
            ))
        }),
    ]
}

fn stored() -> impl Strategy<Value = Stored> {
    let tags = prop::collection::vec(".{0,12}", 0..4);
    let numbers = any::<(u64, u64)>();
    let parts = (fields(), unsent(), facts(), variant(), tags, body());
    (100u16..1000, numbers, parts).prop_map(
        |(status, (checked, uses), (fields, unsent, facts, variant, tags, body))| {
            let status = StatusCode::from_u16(status).expect("a status");
            let facts = Facts {
                is_failure: reuse::is_failure(status),
                ..facts
            };
            Stored::new(
                checked,
                status,
                Fields::pack(&fields),
                facts,
                variant.map(Box::new),
                Log::default().tags().marks(tags, checked),
                body,
            )
            .with_unsent(unsent)
            .with_uses(uses)
        },
    )
}

proptest! {
    #[test]
    fn what_was_written_is_read(key in prop::collection::vec(any::<u8>(), 0..60), stored in stored()) {
        let bytes = encode(&key, &stored).expect("its body is here");
        let head = Head::decode(&bytes).expect("what was written");
        prop_assert_eq!(&*head.key, &key[..]);
        prop_assert_eq!(head.checked(), stored.checked());
        prop_assert_eq!(Some(head.layout.clone()), Layout::of(&stored.body));
        let log = Log::default();
        let read = head.stored(stored.body.clone(), None, log.tags());
        prop_assert_eq!(written(&read), written(&stored));
        let again = encode(&key, &read);
        prop_assert_eq!(again, Some(bytes));
    }

    #[test]
    fn whatever_is_cut_off_is_missed(stored in stored()) {
        let mut bytes = encode(b"key", &stored).expect("its body is here");
        for end in 0..bytes.len() {
            prop_assert!(Head::decode(&bytes[..end]).is_err(), "cut at {}", end);
        }
        bytes.push(0);
        prop_assert!(Head::decode(&bytes).is_err(), "one too many");
    }

    #[test]
    fn a_changed_byte_harms_nobody(stored in stored(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = encode(b"key", &stored).expect("its body is here");
        *at.get_mut(&mut bytes) = byte;
        if let Ok(head) = Head::decode(&bytes) {
            let _ = head.layout.stored();
            let read = head.stored(stored.body.clone(), Some(7), Log::default().tags());
            prop_assert_eq!(read.checked(), 7);
            let _ = read.fields.unpack(0);
        }
    }

    #[test]
    fn any_bytes_may_come(mut bytes in prop::collection::vec(any::<u8>(), 1..200)) {
        bytes[0] = VERSION;
        if let Ok(head) = Head::decode(&bytes) {
            let _ = head.layout.stored();
        }
    }
}

#[test]
fn another_version_is_not_read() {
    let mut bytes = encode(b"key", &sample::any_request(1)).expect("its body is here");
    bytes[0] = VERSION + 1;
    assert_eq!(Head::decode(&bytes).err(), Some(Malformed));
}

#[test]
fn flags_that_are_not_known_are_not_read() {
    let whole = encode(b"key", &sample::any_request(1)).expect("its body is here");
    // Behind the version, the key with its length, and the status.
    let flags = 1 + 4 + 3 + 2;
    for bit in 9..16 {
        let mut bytes = whole.clone();
        bytes[flags + bit / 8] |= 1 << (bit % 8);
        assert_eq!(Head::decode(&bytes).err(), Some(Malformed), "{bit}");
    }
}

/// Of another version they would lead the fuzz target nowhere.
#[test]
fn the_seeds_of_the_fuzz_target_are_heads() {
    let whole = include_bytes!("../../../../fuzz/seeds/head/whole");
    let parts = include_bytes!("../../../../fuzz/seeds/head/parts");
    for seed in [&whole[..], parts] {
        assert!(Head::decode(seed).is_ok());
    }
}

#[test]
fn a_count_beyond_the_bytes_allocates_nothing() {
    let mut bytes = encode(b"key", &sample::any_request(1)).expect("its body is here");
    // The number of tags stands before the layout: one byte and a length.
    let count = bytes.len() - 9 - 4;
    bytes[count..count + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(Head::decode(&bytes).err(), Some(Malformed));
}

#[test]
fn fields_cut_short_are_none() {
    let fields = HeaderMap::from_iter([(
        HeaderName::from_static("x-own"),
        HeaderValue::from_static("value"),
    )]);
    let packed = Fields::pack(&fields);
    for end in 1..packed.len() {
        let cut = Bytes::copy_from_slice(&packed.packed()[..end]);
        assert_eq!(Fields::from_packed(cut), None, "cut at {end}");
    }
}
