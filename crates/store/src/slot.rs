//! The stored responses of one cache key.

use crate::{Body, Stored};
use http::HeaderMap;
use rules::time::Time;
use std::{cmp::Reverse, sync::Arc};

/// The variants of one cache key, the most recent first. Cheap to clone; never empty.
#[derive(Debug)]
pub enum Variants {
    /// The common case, without a second allocation.
    One(Arc<Stored>),
    /// Several, sorted by `Date`, newest first.
    Many(Arc<[Arc<Stored>]>),
}

impl Clone for Variants {
    fn clone(&self) -> Self {
        match self {
            Self::One(only) => {
                // Counting waits for what was asked of memory before, and whatever is asked next waits for that: so all of it is asked first.
                only.read_ahead();
                Self::One(only.clone())
            }
            Self::Many(many) => Self::Many(many.clone()),
        }
    }
}

impl Variants {
    /// All of them, newest first.
    pub fn as_slice(&self) -> &[Arc<Stored>] {
        match self {
            Self::One(only) => std::slice::from_ref(only),
            Self::Many(many) => many,
        }
    }

    /// The one that answers `request` at `now`: of those that match, the most recent of the highest [`Rank`].
    pub fn select(
        &self,
        request: &HeaderMap,
        scratch: &mut Vec<u8>,
        now: Time,
    ) -> Option<&Arc<Stored>> {
        let all = match self {
            Self::One(only) => return only.matches(request, scratch).then_some(only),
            Self::Many(all) => all,
        };
        let mut best: Option<(Rank, &Arc<Stored>)> = None;
        for stored in all.iter() {
            if !stored.matches(request, scratch) {
                continue;
            }
            let rank = Rank::of(stored, now);
            if rank == Rank::Chosen {
                return Some(stored);
            }
            if best.is_none_or(|(before, _)| before < rank) {
                best = Some((rank, stored));
            }
        }
        best.map(|(_, stored)| stored)
    }

    /// These, the newest first; `None` where there are none.
    pub fn from_vec(mut stored: Vec<Arc<Stored>>) -> Option<Self> {
        match stored.len() {
            0 => None,
            1 => stored.pop().map(Self::One),
            _ => {
                stored.sort_by_key(|stored| Reverse(stored.facts.date));
                Some(Self::Many(stored.into()))
            }
        }
    }

    /// With `new` among them: it takes the place of the one of the same variant, and of the others the oldest go beyond `most`. It stays
    /// itself, however old: whoever asks for it next would ask the origin again.
    pub(crate) fn with(&self, new: Arc<Stored>, most: usize) -> Option<Self> {
        let mut all = self.beside(&new);
        all.truncate(most.saturating_sub(1));
        // Of those of the same date the newest comer is the first.
        all.insert(0, new);
        Self::from_vec(all)
    }

    /// As [`with`](Self::with), of what a lower tier has, of which there may be as many: the oldest go, whichever they are.
    pub(crate) fn with_found(&self, new: Arc<Stored>, most: usize) -> Option<Self> {
        let mut all = self.beside(&new);
        let at = all.partition_point(|old| old.facts.date > new.facts.date);
        all.insert(at, new);
        all.truncate(most.max(1));
        Self::from_vec(all)
    }

    /// The one of the same variant as `new`.
    pub(crate) fn of_variant(&self, new: &Stored) -> Option<&Arc<Stored>> {
        let mut all = self.as_slice().iter();
        all.find(|held| held.variant == new.variant)
    }

    /// Those of other variants than `new`.
    fn beside(&self, new: &Stored) -> Vec<Arc<Stored>> {
        let all = self.as_slice().iter();
        all.filter(|old| new.variant != old.variant)
            .cloned()
            .collect()
    }

    /// Whether what `new` would take the place of was brought by a later fetch.
    pub(crate) fn supersedes(&self, new: &Stored) -> bool {
        self.later_than(new).is_some()
    }

    /// What stands in the place of `old` by a later fetch.
    pub fn later_than(&self, old: &Stored) -> Option<&Arc<Stored>> {
        let mut all = self.as_slice().iter();
        all.find(|held| held.variant == old.variant && held.is_of_later_fetch(old))
    }

    /// Whether what `new` would take the place of is newer, or as new and no farther away, or on its way.
    pub fn has_newer(&self, new: &Stored) -> bool {
        self.as_slice().iter().any(|held| {
            new.variant == held.variant
                && (matches!(held.body, Body::Filling(_))
                    || held.facts.response_time > new.facts.response_time
                    || (held.facts.response_time == new.facts.response_time
                        && !is_nearer(&new.body, &held.body)))
        })
    }

    /// Without the one of identity `id`.
    pub(crate) fn without(&self, id: u64) -> Option<Self> {
        Self::from_vec(
            self.as_slice()
                .iter()
                .filter(|stored| stored.id() != id)
                .cloned()
                .collect(),
        )
    }

    /// With `new` in the place of `old` itself; `None` if that very one is not here.
    pub(crate) fn exchanged(&self, old: &Arc<Stored>, new: &Arc<Stored>) -> Option<Self> {
        let mut all = self.as_slice().to_vec();
        let place = all.iter_mut().find(|held| Arc::ptr_eq(held, old))?;
        *place = new.clone();
        Self::from_vec(all)
    }

    /// `new`, with what was made of its content after it was derived from one of these.
    pub(crate) fn up_to_date(&self, new: &Arc<Stored>) -> Arc<Stored> {
        let mut all = self.as_slice().iter();
        let ahead =
            all.find(|held| held.content() == new.content() && new.lacks_what_was_made(held));
        ahead.map_or_else(
            || new.clone(),
            |held| Arc::new(Stored::clone(new).with_made_of(held)),
        )
    }

    /// With `new` instead of the one of identity `id`; `None` if that one is not here. What was freshened may be the newest now, and of
    /// another's variant: then that of the later fetch stays.
    pub(crate) fn replaced(&self, id: u64, new: &Arc<Stored>) -> Option<Self> {
        let mut all = self.as_slice().to_vec();
        let place = all.iter_mut().find(|stored| stored.id() == id)?;
        *place = new.clone();
        let is_like = |held: &Arc<Stored>| !Arc::ptr_eq(held, new) && held.variant == new.variant;
        let is_late = all
            .iter()
            .any(|held| is_like(held) && held.is_of_later_fetch(new));
        all.retain(|held| {
            if is_late {
                !Arc::ptr_eq(held, new)
            } else {
                !is_like(held)
            }
        });
        Self::from_vec(all)
    }

    pub(crate) fn weight(&self) -> u64 {
        let list = match self {
            Self::One(_) => 0,
            Self::Many(many) => 16 + 8 * many.len() as u64,
        };
        list + self
            .as_slice()
            .iter()
            .map(|stored| stored.weight())
            .sum::<u64>()
    }

    /// Whether any body is still on its way: such entries stay, since their readers and writer know them.
    pub(crate) fn is_filling(&self) -> bool {
        self.as_slice()
            .iter()
            .any(|stored| matches!(stored.body, Body::Filling(_)))
    }
}

/// Whether `new` is in memory and `held` is not, or `held` is not there any more.
fn is_nearer(new: &Body, held: &Body) -> bool {
    held.is_on_disk() && (!new.is_on_disk() || held.is_gone())
}

/// What goes before what, of the stored responses that match a request, whatever their dates.
///
/// What is fresh goes before what is stale: the most recent one is taken of those that are suitable (RFC 9111 section 4). Of what is
/// fresh, what a `Vary` has chosen goes before what omits it: many resources omit it by mistake from the response to a request that says
/// nothing, which would push aside the better ones for everybody (section 4.1). Nobody can tell that from an application that does
/// without `Vary` for good; there, old variants answer until they are stale, as the section has it, and what omits it from then on, being
/// newer.
///
/// An origin's failure is kept to spare it, and hides nothing that may be sent in its place: pages of errors leave out the `Vary` of what they
/// stand for, and one that is fresh would be answered to those who have a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// An origin's failure past its lifetime.
    Failure,
    /// Past its lifetime.
    Stale,
    /// An origin's failure that is fresh.
    FreshFailure,
    /// Past its lifetime, chosen by a `Vary`, and within a window in which it may be sent all the same.
    InWindow,
    /// Fresh, for any request.
    ForAny,
    /// Fresh, and chosen by a `Vary`.
    Chosen,
}

impl Rank {
    pub(crate) fn of(stored: &Stored, now: Time) -> Self {
        let facts = &stored.facts;
        match (facts.remaining(now), &stored.variant) {
            (Some(_), _) if facts.is_failure => Self::FreshFailure,
            (Some(_), None) => Self::ForAny,
            (Some(_), Some(_)) => Self::Chosen,
            (None, _) if facts.is_failure => Self::Failure,
            (None, Some(_)) if facts.staleness(now) < facts.longest_window() => Self::InWindow,
            (None, _) => Self::Stale,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{accepting, any_request, request};

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

    /// RFC 9111 sections 4 and 4.1. A row: what is stored, by date, whether a `Vary` chose it, and its lifetime; and what is taken at 100.
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

    /// RFC 5861 section 4, RFC 9111 section 4.1. A page that a `Vary` chose, its lifetime and window; and an error for all, later, and its
    /// lifetime. Is the page taken at 100?
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
}
