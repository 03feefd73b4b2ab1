use super::{spot::NO_VARIANT, *};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn spot(key: u64, at: u32, variant: u32) -> Spot {
    Spot::new(
        key,
        RecordPosition::new(1 + at / 100, at),
        variant,
        64,
        false,
    )
}

fn places(index: &Index, key: u64) -> Vec<RecordPosition> {
    index.find(key).iter().map(|spot| spot.place).collect()
}

proptest! {
    /// Whatever the order in which they come, the latest record of each variant is found.
    #[test]
    fn the_latest_of_each_variant_is_found(
        mut records in prop::collection::vec((0u64..6, 1u32..4), 1..60),
        keys in prop::collection::vec(any::<u64>(), 6),
        order in any::<prop::sample::Index>(),
        removed in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let mut all: Vec<_> = (0u32..).zip(records.drain(..)).map(|(at, (key, variant))| spot(keys[key as usize], at, variant)).collect();
        let mut model = BTreeMap::new();
        for spot in &all {
            model.insert((spot.key, spot.variant), spot.place);
        }
        let pivot = order.index(all.len());
        all.rotate_left(pivot);
        let index = Index::new();
        for spot in &all {
            index.insert(*spot);
        }
        for at in removed {
            let spot = all[at.index(all.len())];
            let was = model.get(&(spot.key, spot.variant)) == Some(&spot.place);
            prop_assert_eq!(index.remove(spot.key, spot.place).is_some(), was);
            if was {
                model.remove(&(spot.key, spot.variant));
            }
        }
        for key in keys {
            let mut expected: Vec<_> = model.iter().filter(|((held, _), _)| *held == key).map(|(_, place)| *place).collect();
            expected.sort_unstable();
            expected.dedup();
            expected.reverse();
            prop_assert_eq!(places(&index, key), expected);
        }
        prop_assert_eq!(index.size().0, model.len() as u64);
    }
}

#[test]
fn one_for_any_request_stands_beside_its_variants() {
    let index = Index::new();
    index.insert(spot(7, 1, 5));
    index.insert(spot(7, 2, 6));
    assert_eq!(index.insert(spot(7, 4, NO_VARIANT)), []);
    let gone = index.insert(spot(7, 5, 5));
    assert_eq!(gone, [spot(7, 1, 5)]);
    assert_eq!(places(&index, 7).len(), 3);
    let late = spot(7, 3, NO_VARIANT);
    assert_eq!(index.insert(late), [late], "an older one came too late");
}

#[test]
fn a_copy_takes_the_place_of_its_original_alone() {
    let index = Index::new();
    let (original, other, copy) = (spot(7, 1, 5), spot(7, 2, 6), spot(7, 3, 5));
    index.insert(original);
    index.insert(other);
    assert_eq!(index.replace(original.place, copy), original);
    assert_eq!(places(&index, 7), [copy.place, other.place]);
    let late = spot(7, 4, 5);
    assert_eq!(index.replace(original.place, late), late, "it is forgotten");
    assert_eq!(places(&index, 7), [copy.place, other.place]);
}

#[test]
fn the_oldest_goes_beyond_the_bound() {
    let index = Index::new();
    for at in 1..=MOST as u32 + 5 {
        index.insert(spot(7, at, at));
    }
    let places = places(&index, 7);
    assert_eq!(places.len(), MOST);
    assert_eq!(places.last(), Some(&spot(7, 6, 0).place));
}

#[test]
fn a_table_is_never_mostly_empty() {
    let index = Index::new();
    let key = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut most = 0;
    for number in 1..=200_000u32 {
        index.insert(spot(key(number.into()), number, 1));
        if number > 100_000 && number.is_multiple_of(10_000) {
            let (records, bytes) = index.size();
            assert_eq!(records, u64::from(number));
            most = most.max(bytes.div_ceil(records));
        }
    }
    for number in 1..=150_000u32 {
        let place = spot(0, number, 0).place;
        assert!(index.remove(key(number.into()), place).is_some());
        if number.is_multiple_of(10_000) {
            let (records, bytes) = index.size();
            most = most.max(bytes.div_ceil(records));
        }
    }
    assert!(most <= 64, "{most} bytes a record");
    for number in 150_001..=200_000u32 {
        assert!(index.knows(key(number.into())));
    }
    index.remove_segment(spot(0, 199_950, 0).place.segment());
    assert!(!index.knows(key(199_950)));
}
