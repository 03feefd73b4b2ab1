//! The time of a simulation, as lines tell it.

use super::counts::Totals;
use rules::time::Time;
use std::time::Duration;

/// How far back the time of a line may be before it counts as out of order. Servers write a line when the answer has
/// ended.
const OUT_OF_ORDER: Duration = Duration::from_mins(1);

/// How far ahead of the last one the time of a line may be without another line that confirms it.
const JUMP: Duration = Duration::from_hours(24);

/// A clock that goes forward with the lines, and not back, unless the first one was wrong. A late line counts as now.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    pub now: Time,
    /// The time of the last line, if it was far ahead.
    ahead: Option<Time>,
    /// Whether another line has confirmed the time of the first one.
    is_sure: bool,
    /// The time of the last line, if the first one was far ahead of it.
    back: Option<Time>,
}

impl Clock {
    /// Returns when a line with the time `told` counts. A single line that is far ahead does not move the clock.
    pub(super) fn at(&mut self, told: Time, totals: &mut Totals) -> Time {
        if totals.first.is_some() && !self.is_sure {
            self.settle(told, totals);
        }
        let jumps = totals.first.is_some() && told.since(self.now) > JUMP;
        let before = self.ahead.take();
        let is_confirmed = before.is_some_and(|before| before.since(told) <= OUT_OF_ORDER);
        let was_alone = before.is_some() && !is_confirmed;
        let is_late = self.now.since(told) > OUT_OF_ORDER;
        totals.out_of_order += u64::from(was_alone) + u64::from(is_late);
        if jumps {
            self.ahead = Some(told);
        }
        if !jumps || is_confirmed {
            self.now = self.now.max(told);
        }
        totals.first.get_or_insert(told);
        totals.last = Some(self.now);
        totals.notes.with_fractions |= !told.as_millis().is_multiple_of(1000);
        self.now
    }

    /// Decides whether the first line was right: two lines that agree outweigh it.
    fn settle(&mut self, told: Time, totals: &mut Totals) {
        let before = self.back.take();
        self.is_sure = self.now.since(told) <= JUMP;
        if self.is_sure {
            return;
        }
        match before {
            Some(back) if back.since(told).max(told.since(back)) <= JUMP => {
                totals.first = Some(back);
                self.now = back;
                self.is_sure = true;
            }
            _ => self.back = Some(told),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_alone_does_not_move_it() {
        let day = 86_400;
        for (told, wanted, out_of_order) in [
            (&[5, 6, 4, 7][..], &[5, 6, 6, 7][..], 0),
            (&[100, 10, 101], &[100, 100, 101], 1),
            (&[0, 9 * day, 1], &[0, 0, 1], 1),
            // The log goes on after a pause.
            (
                &[0, 9 * day, 9 * day - 1, 9 * day + 1],
                &[0, 0, 9 * day - 1, 9 * day + 1],
                0,
            ),
            (
                &[0, 2 * day, 4 * day, 6 * day],
                &[0, 0, 4 * day, 6 * day],
                0,
            ),
            (&[0, 9 * day, 5 * day, 1], &[0, 0, 0, 1], 2),
            // The first line was wrong.
            (&[9 * day, 1, 2, 3], &[9 * day, 9 * day, 2, 3], 1),
            (
                &[9 * day, 5 * day, 1, 2],
                &[9 * day, 9 * day, 9 * day, 2],
                2,
            ),
            // Or the second one.
            (
                &[9 * day, 1, 9 * day + 1],
                &[9 * day, 9 * day, 9 * day + 1],
                1,
            ),
            (&[9 * day, 9 * day, 1], &[9 * day, 9 * day, 9 * day], 1),
        ] {
            let (mut clock, mut totals) = (Clock::default(), Totals::default());
            let at = told
                .iter()
                .map(|told| clock.at(Time::from_secs(*told), &mut totals).as_secs());
            assert_eq!(at.collect::<Vec<_>>(), wanted, "{told:?}");
            assert_eq!(totals.out_of_order, out_of_order, "{told:?}");
        }
    }
}
