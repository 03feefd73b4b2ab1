//! Deserted: for how long a body comes for later requests alone if nobody knows whether it will ever end.

use std::{
    task::{Context, Poll},
    time::Duration,
};
use store::fill::{Fill, Interested, Writer};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// For how long such a body may come without [growing much](GROWTH). A page that takes long to make has ended by then.
const LONGEST: Duration = Duration::from_mins(10);

/// A body that brings so many bytes within that time is a long download: it ends, or becomes larger than what is kept.
const GROWTH: u64 = 1 << 20;

/// How often it is looked after.
const STEP: Duration = Duration::from_secs(1);

/// Looks after a fill while it goes on [for later requests](Interested::Later) alone. Most never do.
#[derive(Debug, Default)]
pub struct Deserted(Option<Box<Watch>>);

#[derive(Debug)]
struct Watch {
    looks: Interval,
    since: Instant,
    /// Bytes that had come by then.
    received: u64,
}

impl Deserted {
    /// Like [`Fill::poll_abandoned`]. Also ready if the fill goes on for later requests alone, and no request will find
    /// what comes, which `is_found` tells, or it may come for ever.
    pub fn poll_abandoned(
        &mut self,
        writer: &Writer,
        is_found: impl Fn() -> bool,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let fill = writer.fill();
        match fill.poll_interested(context) {
            Interested::Nobody => return Poll::Ready(()),
            Interested::Somebody => {
                self.0 = None;
                return Poll::Pending;
            }
            Interested::Later => {}
        }
        let watch = self.0.get_or_insert_with(|| Box::new(Watch::begin(fill)));
        while watch.looks.poll_tick(context).is_ready() {
            if watch.is_over(fill) || !is_found() {
                self.0 = None;
                writer.let_go();
                // Somebody may have begun to read it just now.
                return fill.poll_abandoned(context);
            }
        }
        Poll::Pending
    }
}

impl Watch {
    fn begin(fill: &Fill) -> Self {
        let since = Instant::now();
        let mut looks = interval_at(since + STEP, STEP);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            looks,
            since,
            received: fill.received(),
        }
    }

    /// Whether it has come for long and has not grown much. One that has grown gets as long again.
    fn is_over(&mut self, fill: &Fill) -> bool {
        if self.since.elapsed() < LONGEST {
            return false;
        }
        let received = fill.received();
        let grown = received.saturating_sub(self.received);
        (self.since, self.received) = (Instant::now(), received);
        grown < GROWTH
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{future::poll_fn, sync::Arc};
    use store::{Budget, fill::Reader};
    use tokio::time::timeout;

    /// What comes: how long it is, if that is known, and what it brings each second.
    struct Coming {
        length: Option<u64>,
        each: usize,
    }

    const ENDLESS: Coming = Coming {
        length: None,
        each: 1,
    };

    /// For how many seconds it comes after everybody but `reads` has gone; `None` if it still does after an hour. A
    /// request finds it while this holds of the seconds.
    async fn lasts(
        coming: Coming,
        reads: impl FnOnce(&Arc<Fill>) -> Option<Reader>,
        is_found: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        let (fill, mut writer) = Fill::begin(Budget::new(1 << 30).reservation());
        writer.announce(coming.length);
        fill.interest().keep();
        let _reader = reads(&fill);
        let mut deserted = Deserted::default();
        let began = Instant::now();
        let seconds = || began.elapsed().as_secs();
        while seconds() < 3600 {
            let over = poll_fn(|cx| deserted.poll_abandoned(&writer, || is_found(seconds()), cx));
            if timeout(STEP, over).await.is_ok() {
                assert!(fill.reader().is_none(), "nobody gets half of it");
                return Some(seconds());
            }
            writer.push(&vec![0; coming.each]);
        }
        None
    }

    #[tokio::test(start_paused = true)]
    async fn what_need_not_end_comes_for_nobody_for_ten_minutes() {
        assert_eq!(lasts(ENDLESS, |_| None, |_| true).await, Some(600));
        let known = Coming {
            length: Some(1 << 40),
            ..ENDLESS
        };
        assert_eq!(lasts(known, |_| None, |_| false).await, None, "it ends");
        let reader = lasts(ENDLESS, Fill::reader, |_| false).await;
        assert_eq!(reader, None, "somebody reads it");
        let download = Coming {
            length: None,
            each: 2000,
        };
        assert_eq!(lasts(download, |_| None, |_| true).await, None, "it grows");
    }

    #[tokio::test(start_paused = true)]
    async fn what_no_request_finds_any_more_comes_for_nobody_no_longer() {
        let replaced = lasts(ENDLESS, |_| None, |seconds| seconds < 5).await;
        assert_eq!(replaced, Some(5));
    }

    /// It is not the fault of who has read it last.
    #[tokio::test(start_paused = true)]
    async fn the_time_begins_when_the_last_reader_leaves() {
        let (fill, writer) = Fill::begin(Budget::new(1 << 20).reservation());
        let reader = fill.reader().expect("it is kept yet");
        reader.keep();
        let mut deserted = Deserted::default();
        let began = Instant::now();
        let leaving = async {
            tokio::time::sleep(Duration::from_secs(100)).await;
            drop(reader);
        };
        let over = poll_fn(|cx| deserted.poll_abandoned(&writer, || true, cx));
        tokio::join!(leaving, over);
        assert_eq!(began.elapsed().as_secs(), 700);
    }
}
