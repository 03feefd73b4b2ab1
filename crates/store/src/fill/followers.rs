//! The positions of a fill's readers.

use std::{
    collections::{BTreeMap, HashMap},
    task::Waker,
    time::Duration,
};

/// The position of one reader.
#[derive(Debug, Default)]
struct ReaderPosition {
    /// Bytes that it has taken.
    at: u64,
    waker: Option<Waker>,
    /// Whether it was too slow for a spilled fill, or needs what is gone. It gets an error.
    cut_off: bool,
    /// Whether the writer waits for it.
    awaited: bool,
    /// How long others have waited for it, minus how long it has itself waited for others.
    debt: Duration,
}

/// The readers of a fill. Thousands may follow one, so finding a reader or the slowest needs no search. Only waking,
/// awaiting or cutting off several readers goes over all of them.
#[derive(Debug, Default)]
pub(super) struct Followers {
    places: HashMap<u64, ReaderPosition>,
    /// How many readers stand at each byte, without those that are cut off.
    standing: BTreeMap<u64, usize>,
    next: u64,
}

impl Followers {
    /// Adds a reader at the first byte. Returns its number.
    pub fn join(&mut self) -> u64 {
        let reader = self.next;
        self.next += 1;
        self.places.insert(reader, ReaderPosition::default());
        self.enter(0);
        reader
    }

    /// Removes `reader`.
    pub fn leave(&mut self, reader: u64) {
        if let Some(place) = self.places.remove(&reader)
            && !place.cut_off
        {
            self.quit(place.at);
        }
    }

    /// Bytes that `reader` has taken; `None` if it is cut off.
    pub fn at(&self, reader: u64) -> Option<u64> {
        let place = self.places.get(&reader);
        place.filter(|place| !place.cut_off).map(|place| place.at)
    }

    /// Notes that `reader` has taken `bytes` more. False if it is cut off.
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

    /// Notes that `reader` waits for more.
    pub fn wait(&mut self, reader: u64, waker: &Waker) {
        if let Some(place) = self.places.get_mut(&reader) {
            place.waker = Some(waker.clone());
        }
    }

    /// Wakes all readers that [wait](Self::wait). A reader that still has to wait says so again.
    pub fn wake(&mut self) {
        for place in self.places.values_mut() {
            if let Some(waker) = place.waker.take() {
                waker.wake();
            }
        }
    }

    /// Bytes that the slowest reader has taken; `None` if there is none.
    pub fn slowest(&self) -> Option<u64> {
        self.standing.keys().next().copied()
    }

    /// Bytes that the fastest reader has taken; `None` if there is none.
    pub fn fastest(&self) -> Option<u64> {
        self.standing.keys().next_back().copied()
    }

    /// Cuts off the readers that have taken fewer bytes than `first`.
    pub fn cut_off_before(&mut self, first: u64) {
        for place in self.places.values_mut() {
            place.cut_off |= place.at < first;
        }
        self.standing = self.standing.split_off(&first);
    }

    /// Notes that the writer begins to wait for the readers that have taken fewer bytes than `first`.
    pub fn await_before(&mut self, first: u64) {
        for place in self.places.values_mut() {
            place.awaited = place.at < first;
        }
    }

    /// Notes that the writer has waited for `time`. If other readers had taken all `received` bytes, they have waited
    /// too. Then that time is added to the debt of each reader that was [awaited](Self::await_before), and one whose
    /// debt reaches `most` is cut off.
    pub fn waited(&mut self, time: Duration, received: u64, most: Duration) {
        let waits =
            |place: &ReaderPosition| !place.awaited && !place.cut_off && place.at >= received;
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

    const SECOND: Duration = Duration::from_secs(1);
    const MOST: Duration = Duration::from_secs(2);

    /// Waits a second for those before the fifth byte; nine have come.
    fn wait(followers: &mut Followers) {
        followers.await_before(5);
        followers.waited(SECOND, 9, MOST);
    }

    #[test]
    fn who_is_waited_for_too_long_takes_nobody_along() {
        let mut followers = Followers::default();
        let [slow, fast] = [(); 2].map(|()| followers.join());
        followers.pass(fast, 9);
        wait(&mut followers);
        let later = followers.join();
        wait(&mut followers);
        assert_eq!(followers.at(slow), None);
        assert_eq!(
            followers.at(later),
            Some(0),
            "it stands where the other stood"
        );
        followers.leave(slow);
        assert_eq!(followers.slowest(), Some(0), "the bytes are still needed");
        wait(&mut followers);
        assert_eq!(followers.at(later), None);
        assert_eq!(followers.slowest(), Some(9));
    }

    #[test]
    fn nobody_is_late_where_nobody_waits() {
        let mut followers = Followers::default();
        let slow = followers.join();
        for _ in 0..9 {
            let other = followers.join();
            followers.await_before(5);
            // It was waited for itself.
            followers.pass(other, 9);
            followers.waited(SECOND, 9, MOST);
            followers.leave(other);
        }
        assert_eq!(followers.at(slow), Some(0));
    }

    #[test]
    fn who_is_cut_off_stays_so() {
        let mut followers = Followers::default();
        let [slow, fast] = [(); 2].map(|()| followers.join());
        followers.pass(fast, 9);
        followers.cut_off_before(5);
        wait(&mut followers);
        assert_eq!(followers.at(slow), None);
        assert_eq!(followers.slowest(), Some(9));
    }
}
