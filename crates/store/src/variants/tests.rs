use super::*;
use crate::{
    Ticket,
    sample::{accepting, any_request, request},
};

/// The dates of what is held, in order.
fn dates(variants: &Variants) -> Vec<u64> {
    let all = variants.as_slice().iter();
    all.map(|stored| stored.facts.date.as_secs()).collect()
}

fn with(variants: &Variants, new: Stored, most: usize) -> Variants {
    variants.with(Arc::new(new), most).expect("never empty")
}

/// RFC 9111 section 4: "When more than one suitable response is stored, a cache MUST use the most recent one (as
/// determined by the Date header field)".
#[test]
fn the_newest_match_wins_whatever_came_last() {
    let mut held = Variants::One(Arc::new(accepting("text/html", 20)));
    held = with(&held, accepting("image/webp", 30), 8);
    held = with(&held, accepting("text/plain", 10), 8);
    assert_eq!(dates(&held), [30, 20, 10]);
    let mut scratch = Vec::new();
    for (accept, expected) in [
        ("text/html", Some(20)),
        ("image/webp", Some(30)),
        ("text/plain", Some(10)),
        ("image/png", None),
    ] {
        let found = held.select(&request(accept), &mut scratch, Time::from_secs(100));
        let date = found.map(|stored| stored.facts.date.as_secs());
        assert_eq!(date, expected, "{accept}");
    }
}

#[test]
fn a_response_takes_the_place_of_its_like() {
    let held = Variants::One(Arc::new(accepting("text/html", 20)));
    let held = with(&held, accepting("text/plain", 21), 8);
    let again = with(&held, accepting("text/html", 22), 8);
    assert_eq!(dates(&again), [22, 21], "the same variant");
    let all = with(&held, any_request(23), 8);
    assert_eq!(dates(&all), [23, 21, 20], "one for any request is another");
    let all = with(&all, any_request(24), 8);
    assert_eq!(dates(&all), [24, 21, 20]);
}

/// RFC 9111 sections 4 and 4.1. A row: what is stored (date, whether a `Vary` selected it, lifetime), and what is taken
/// at 100.
#[test]
fn of_several_that_match_the_highest_rank_is_taken() {
    let stored = |(date, is_chosen, lifetime): (u64, bool, u64)| {
        let mut stored = if is_chosen {
            accepting("a", date)
        } else {
            any_request(date)
        };
        stored.facts.lifetime_ms = lifetime * 1000;
        Arc::new(stored)
    };
    for (all, taken) in [
        (vec![(20, true, 0)], 20),
        (vec![(20, true, 90), (30, false, 90)], 20),
        (vec![(20, true, 70), (30, false, 90)], 30),
        (vec![(20, true, 70), (30, false, 60)], 30),
        (vec![(30, true, 60), (20, false, 70)], 30),
        (vec![(30, true, 60), (20, false, 90)], 20),
        (vec![(30, true, 90), (20, false, 90)], 30),
    ] {
        let variants = Variants::from_vec(all.iter().map(|one| stored(*one)).collect());
        let variants = variants.expect("not empty");
        let found = variants.select(&request("a"), &mut Vec::new(), Time::from_secs(100));
        let date = found.map(|stored| stored.facts.date.as_secs());
        assert_eq!(date, Some(taken), "{all:?}");
    }
}

/// RFC 5861 section 4, RFC 9111 section 4.1. A row: the lifetime and window of a page that a `Vary` selected, the
/// lifetime of a later error for any request, and whether the page is taken at 100.
#[test]
fn an_error_for_all_hides_no_variant_that_may_be_sent() {
    for (page, window, error, is_page) in [
        (90, None, 90, true),
        (60, Some(100), 90, true),
        (60, Some(10), 90, false),
        (60, None, 90, false),
        (60, None, 10, true),
        (60, Some(100), 10, true),
    ] {
        let (mut chosen, mut failure) = (accepting("a", 20), any_request(30));
        chosen.facts.lifetime_ms = page * 1000;
        chosen.facts.stale_if_error = window;
        failure.facts.lifetime_ms = error * 1000;
        failure.facts.is_failure = true;
        let variants = Variants::from_vec(vec![Arc::new(chosen), Arc::new(failure)]);
        let variants = variants.expect("not empty");
        let found = variants.select(&request("a"), &mut Vec::new(), Time::from_secs(100));
        let date = found.map(|stored| stored.facts.date.as_secs());
        let expected = if is_page { 20 } else { 30 };
        assert_eq!(date, Some(expected), "{page} {window:?} {error}");
        let other = variants.select(&request("b"), &mut Vec::new(), Time::from_secs(100));
        assert_eq!(other.map(|stored| stored.facts.date.as_secs()), Some(30));
    }
}

#[test]
fn the_oldest_go_beyond_the_bound() {
    let mut held = Variants::One(Arc::new(accepting("0", 100)));
    for number in 1..10 {
        held = with(&held, accepting(&number.to_string(), 100 + number), 3);
    }
    assert_eq!(dates(&held), [109, 108, 107]);
    let one = with(&held, accepting("a", 200), 0);
    assert_eq!(dates(&one), [200], "one is kept however low the bound");
    let late = with(&held, accepting("late", 50), 3);
    assert_eq!(dates(&late), [109, 108, 50], "the newcomer stays");
    let found = held.with_found(Arc::new(accepting("late", 50)), 3);
    assert_eq!(found.as_ref().map(dates), Some(vec![109, 108, 107]));
}

#[test]
fn what_becomes_anothers_variant_takes_its_place() {
    let (first, second) = (Arc::new(any_request(10)), Arc::new(accepting("b", 20)));
    let held = Variants::Many([second.clone(), first.clone()].into());
    let new = Arc::new(accepting("b", 30));
    let replaced = held.replaced(first.id(), &new).expect("held");
    assert_eq!(dates(&replaced), [30]);
}

/// A 304 may make of one variant what a later fetch has brought already.
#[test]
fn what_a_later_fetch_has_brought_of_the_same_variant_stays() {
    let fetched = |accept, date, number| {
        let ticket = Ticket { log_at: 0, number };
        Arc::new(accepting(accept, date).fetched_by(ticket))
    };
    for (accept, of_like, of_other, left) in [
        // Like the new one, by a later and by an earlier fetch.
        ("b", 9, 1, &[40, 20][..]),
        ("b", 1, 9, &[40, 30]),
        // Of another variant, whenever it was fetched.
        ("c", 9, 9, &[40, 30, 20]),
    ] {
        let first = fetched("a", 10, 5);
        let second = fetched(accept, 20, of_like);
        let third = fetched("d", 40, of_other);
        let held = Variants::Many([third, second, first.clone()].into());
        let replaced = held.replaced(first.id(), &fetched("b", 30, 5));
        let mut found = dates(&replaced.expect("held"));
        found.sort_unstable_by(|one, other| other.cmp(one));
        assert_eq!(found, left, "{accept} {of_like} {of_other}");
    }
}

/// An older version from a lower tier must not take the place of a newer one.
#[test]
fn what_is_found_below_replaces_only_what_is_older() {
    let held = Variants::One(Arc::new(accepting("a", 20)));
    for (accept, date, has_newer) in [
        ("a", 19, true),
        // As new, and no nearer.
        ("a", 20, true),
        ("a", 21, false),
        ("b", 19, false),
    ] {
        let new = accepting(accept, date);
        assert_eq!(held.has_newer(&new), has_newer, "{accept} {date}");
    }
}

#[test]
fn only_the_one_named_is_replaced_or_left_out() {
    let (first, second) = (Arc::new(accepting("a", 10)), Arc::new(accepting("b", 20)));
    let held = Variants::Many([second.clone(), first.clone()].into());
    let new = Arc::new(accepting("a", 30));
    let replaced = held.replaced(first.id(), &new).expect("held");
    assert_eq!(dates(&replaced), [30, 20], "the newest is first");
    assert!(replaced.replaced(first.id(), &new).is_none(), "it is gone");
    let left = held.without(second.id()).expect("one is left");
    assert_eq!(dates(&left), [10]);
    assert!(left.without(first.id()).is_none(), "nothing is left");
}
