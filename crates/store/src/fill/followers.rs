//! Where the readers of a fill stand.

use std::{
    collections::{BTreeMap, HashMap},
    task::Waker,
    time::Duration,
};

/// Where one reader stands.
#[derive(Debug, Default)]
struct ReaderPosition {
    /// Bytes taken.
    at: u64,
    waker: Option<Waker>,
    /// It was too slow for a spilled fill, or needs what is gone: it gets an error.
    cut_off: bool,
    /// Whether the writer waits for it.
    awaited: bool,
    /// How long others have waited for it, less the time in which it has itself waited for others.
    debt: Duration,
}

/// The readers of a fill. Thousands may follow one: none of them is searched for, and neither is the slowest. Only who wakes, awaits or cuts
/// off several goes over all.
#[derive(Debug, Default)]
pub(super) struct Followers {
    places: HashMap<u64, ReaderPosition>,
    /// How many stand at each byte, without those that are cut off.
    standing: BTreeMap<u64, usize>,
    next: u64,
}

impl Followers {
    /// A new one, at the first byte. Its number.
    pub fn join(&mut self) -> u64 {
        let reader = self.next;
        self.next += 1;
        self.places.insert(reader, ReaderPosition::default());
        self.enter(0);
        reader
    }

    /// `reader` is gone.
    pub fn leave(&mut self, reader: u64) {
        if let Some(place) = self.places.remove(&reader)
            && !place.cut_off
        {
            self.quit(place.at);
        }
    }

    /// Bytes that `reader` has taken; `None` where it is cut off.
    pub fn at(&self, reader: u64) -> Option<u64> {
        let place = self.places.get(&reader);
        place.filter(|place| !place.cut_off).map(|place| place.at)
    }

    /// `reader` has taken `bytes` more. False where it is cut off.
    pub fn pass(&mut self, reader: u64, bytes: u64) -> bool {
        let place = self.places.get_mut(&reader);
        let Some(place) = place.filter(|place| !place.cut_off) else {
            return false;
        };
        let from = place.at;
        let to = from.saturating_add(bytes);
        place.at = to;
        self.quit(from);
        self.enter(to);
        true
    }

    /// `reader` waits for more.
    pub fn wait(&mut self, reader: u64, waker: &Waker) {
        if let Some(place) = self.places.get_mut(&reader) {
            place.waker = Some(waker.clone());
        }
    }

    /// Wakes all who [wait](Self::wait). Who still has to wait says so again.
    pub fn wake(&mut self) {
        for place in self.places.values_mut() {
            if let Some(waker) = place.waker.take() {
                waker.wake();
            }
        }
    }

    /// Bytes the slowest has taken; `None` without any.
    pub fn slowest(&self) -> Option<u64> {
        self.standing.keys().next().copied()
    }

    /// Bytes the fastest has taken; `None` without any.
    pub fn fastest(&self) -> Option<u64> {
        self.standing.keys().next_back().copied()
    }

    /// Cuts off those that have taken fewer bytes than `first`.
    pub fn cut_off_before(&mut self, first: u64) {
        for place in self.places.values_mut() {
            place.cut_off |= place.at < first;
        }
        self.standing = self.standing.split_off(&first);
    }

    /// The writer begins to wait for those that have taken fewer bytes than `first`.
    pub fn await_before(&mut self, first: u64) {
        for place in self.places.values_mut() {
            place.awaited = place.at < first;
        }
    }

    /// The writer has waited for so long. Where others had taken all there was, `received` bytes, they have waited too: whoever was
    /// [awaited](Self::await_before) owes it, and is cut off that owes `most`.
    pub fn waited(&mut self, time: Duration, received: u64, most: Duration) {
        let waits =
            |place: &ReaderPosition| !place.awaited && !place.cut_off && place.at == received;
        if !self.places.values().any(waits) {
            return;
        }
        let mut late = Vec::new();
        for place in self.places.values_mut() {
            if waits(place) {
                place.debt = place.debt.saturating_sub(time);
            } else if place.awaited && !place.cut_off {
                place.debt += time;
                place.cut_off = place.debt >= most;
                late.extend(place.cut_off.then_some(place.at));
            }
        }
        for at in late {
            self.quit(at);
        }
    }

    fn enter(&mut self, at: u64) {
        *self.standing.entry(at).or_default() += 1;
    }

    fn quit(&mut self, at: u64) {
        if let Some(count) = self.standing.get_mut(&at) {
            *count -= 1;
            if *count == 0 {
                self.standing.remove(&at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_is_the_slowest_of_those_that_go_on() {
        let mut followers = Followers::default();
        assert_eq!(followers.slowest(), None);
        let [one, two, three] = [(); 3].map(|()| followers.join());
        for (reader, bytes) in [(one, 5), (two, 7), (three, 7), (one, 1)] {
            assert!(followers.pass(reader, bytes));
        }
        assert_eq!(
            (followers.slowest(), followers.fastest()),
            (Some(6), Some(7))
        );
        followers.cut_off_before(7);
        assert_eq!((followers.at(one), followers.at(two)), (None, Some(7)));
        assert!(!followers.pass(one, 9));
        assert_eq!(followers.slowest(), Some(7));
        followers.leave(one);
        followers.leave(two);
        assert_eq!(followers.slowest(), Some(7));
        followers.leave(three);
        assert_eq!(followers.slowest(), None);
    }
}
