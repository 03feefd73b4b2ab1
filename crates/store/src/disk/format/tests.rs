use super::*;
use proptest::prelude::*;

fn head() -> impl Strategy<Value = RecordHead> {
    let numbers = any::<(u64, u32, u64, u64)>();
    (numbers, any::<bool>(), 0u32..300, 0u64..200_000).prop_map(
        |((key, variant, nonce, checked), is_large, head, body)| RecordHead {
            head,
            body,
            key,
            variant,
            large: if is_large { nonce | 1 } else { 0 },
            nonce: if is_large { nonce } else { 0 },
            checked,
        },
    )
}

proptest! {
    #[test]
    fn a_record_is_sound_in_its_place_and_nowhere_else(
        head in head(),
        nonce in any::<u64>(),
        place in 1u64..1 << 30,
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let own = vec![7; head.head as usize];
        let body = vec![9; head.inline()];
        let offset = place * ALIGN;
        let mut bytes = head.record(&own, &body, nonce, offset);
        prop_assert_eq!(bytes.len() as u64, head.size());
        prop_assert_eq!(RecordHead::read(&bytes), Some(head));
        prop_assert!(head.is_sound(&bytes, nonce, offset));
        prop_assert!(!head.is_sound(&bytes, nonce, offset + ALIGN));
        prop_assert!(!head.is_sound(&bytes, nonce ^ 1, offset));
        let sound = |bytes: &[u8]| {
            let sums = &bytes[head.sums()..head.meta()];
            let body = &bytes[head.meta()..head.meta() + head.inline()];
            let mut chunks = body.chunks(CHUNK).enumerate();
            head.is_sound(bytes, nonce, offset)
                && chunks.all(|(number, chunk)| is_chunk_sound(chunk, sums, number, seed(nonce, offset)))
        };
        prop_assert!(sound(&bytes));
        let at = at.index(head.meta() + head.inline());
        bytes[at] ^= 1 << bit;
        prop_assert!(!sound(&bytes), "byte {}", at);
    }

    #[test]
    fn any_bytes_may_come(bytes in prop::collection::vec(any::<u8>(), 64)) {
        let mut all: [u8; 64] = bytes.try_into().expect("64 bytes");
        prop_assert_eq!(FileHead::read(&all), None);
        prop_assert_eq!(Trailer::read(&all, 1, 640), None);
        all[8..12].copy_from_slice(b"LREC");
        if let Some(head) = RecordHead::read(&all) {
            // However long it says it is, what is not there is not read.
            prop_assert!(!head.is_sound(&all, 1, 64));
            prop_assert!(head.size() < 4 << 20);
        }
    }

    #[test]
    fn an_index_comes_back_unless_a_byte_changed(
        entries in prop::collection::vec(any::<(u64, u64, u32, u32, u32)>(), 0..20),
        labels in prop::collection::vec(any::<u8>(), 0..40),
        nonce in any::<u64>(),
        at in any::<prop::sample::Index>(),
    ) {
        let entries: Vec<_> = entries
            .into_iter()
            .map(|(key, large, unit, size, variant)| Entry { key, large, unit, size, variant })
            .collect();
        let mut bytes = Trailer::write(&entries, &labels, 640, 5, nonce);
        let read = |bytes: &[u8]| {
            let (rest, trailer) = bytes.split_at(bytes.len() - TRAILER);
            let trailer = Trailer::read(trailer.try_into().ok()?, nonce, 640 + rest.len() as u64)?;
            let (index, labels) = rest.split_at((trailer.labels_at() - 640) as usize);
            let entries = trailer.entries(index, nonce)?;
            trailer.are_labels(labels, nonce).then(|| (entries, labels.to_vec()))
        };
        prop_assert_eq!(read(&bytes), Some((entries, labels)));
        *at.get_mut(&mut bytes) ^= 1;
        prop_assert_eq!(read(&bytes), None);
    }
}
