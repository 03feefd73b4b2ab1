//! How long the writer of a fill waits for room in it, and for which readers.

use std::{
    future::poll_fn,
    task::{Context, Poll},
    time::Duration,
};
use store::fill::Writer;
use tokio::time::{Instant, timeout};

/// For how long the slowest reader of a spilled fill, or the device, may stand still.
pub const STILL: Duration = Duration::from_secs(30);

/// For how long all readers of a spilled fill may stand still, the slowest and the fastest. Connections cut off clients
/// that take nothing far sooner (`Limits::write_time`): a reader that stands still for longer reads for nobody.
const GIVEN_UP: Duration = Duration::from_mins(10);

/// How often a wait is checked.
const STEP: Duration = Duration::from_secs(1);

/// Waits until more may be pushed. A device that hangs is given up. A reader of a spilled fill is cut off if it does
/// not move, or if others have waited too long for it. If none of the readers moves any more, all are cut off, and the
/// fill has failed. `looked` is called whenever the fill may have been spilled.
pub async fn wait_for_room(writer: &mut Writer, mut looked: impl FnMut(&Writer)) {
    let mut poll = |writer: &mut Writer, context: &mut Context<'_>| {
        let room = writer.poll_room(context);
        looked(writer);
        room
    };
    if poll_fn(|context| Poll::Ready(poll(writer, context).is_ready())).await {
        return;
    }
    let mut stood = (standing(writer), Instant::now());
    let mut moved = ((stood.0, writer.fill().fastest()), stood.1);
    loop {
        writer.begin_wait();
        let began = Instant::now();
        let room = poll_fn(|context| poll(writer, context));
        let is_ready = timeout(STEP, room).await.is_ok();
        writer.waited(began.elapsed());
        if is_ready {
            return;
        }
        let stands = standing(writer);
        if stands != stood.0 {
            stood = (stands, Instant::now());
        } else if stood.1.elapsed() >= STILL {
            writer.cut_off_slow();
            stood.1 = Instant::now();
        }
        let all = (stands, writer.fill().fastest());
        if all != moved.0 {
            moved = (all, Instant::now());
        } else if moved.1.elapsed() >= GIVEN_UP {
            writer.give_up();
            return;
        }
    }
}

/// Returns what changes while waiting is worthwhile: whether the fill is spilled, and its slowest reader's position if
/// so.
fn standing(writer: &Writer) -> Option<u64> {
    writer.is_spilled().then(|| writer.fill().slowest())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::read_slowly;
    use store::{Budget, fill::Fill};
    use tokio::task::{LocalSet, spawn_local};

    /// Two readers of a spilled fill of `pieces` of 100 KB, and what they got.
    async fn both(pieces: u64, pauses: [u64; 2]) -> [(u64, bool); 2] {
        let (fill, mut writer) = Fill::begin(Budget::new(64 << 20).reservation());
        let reading = pauses.map(|pause| {
            let reader = fill.reader().expect("it is kept yet");
            spawn_local(read_slowly(reader, Duration::from_millis(pause)))
        });
        tokio::task::yield_now().await;
        writer.spill();
        for _ in 0..pieces {
            writer.push(&vec![0; 100_000]);
            wait_for_room(&mut writer, |_| {}).await;
        }
        writer.finish();
        let [one, two] = reading;
        [one.await.expect("it reads"), two.await.expect("it reads")]
    }

    /// A reader that is held but never polled again.
    #[tokio::test(start_paused = true)]
    async fn where_nobody_moves_any_more_it_is_given_up() {
        let (fill, mut writer) = Fill::begin(Budget::new(64 << 20).reservation());
        let mut held = fill.reader().expect("it is kept yet");
        writer.spill();
        let began = Instant::now();
        let mut failed = false;
        for _ in 0..20 {
            writer.push(&vec![0; 100_000]);
            wait_for_room(&mut writer, |_| {}).await;
            failed = poll_fn(|cx| Poll::Ready(fill.poll_abandoned(cx).is_ready())).await;
            if failed {
                break;
            }
        }
        assert!(failed && began.elapsed() >= GIVEN_UP);
        assert!(matches!(
            poll_fn(|cx| held.poll_next(cx)).await,
            Some(Err(_))
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn who_keeps_others_waiting_for_long_is_cut_off_although_it_reads() {
        let all = (60_000_000, true);
        let run = LocalSet::new();
        let rows = run.run_until(async {
            [
                // One is far slower, but always moves.
                both(600, [1, 500]).await,
                // Both are equally slow: each waits for the other now and then.
                both(600, [500, 500]).await,
            ]
        });
        let [[quick, slow], alike] = rows.await;
        assert_eq!(quick, all);
        assert!(!slow.1 && slow.0 < 6_000_000, "{slow:?}");
        assert_eq!(alike, [all, all]);
    }
}
