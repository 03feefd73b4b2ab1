//! How long whoever writes a fill waits for room in it, and for whom.

use std::{
    future::poll_fn,
    task::{Context, Poll},
    time::Duration,
};
use store::fill::Writer;
use tokio::time::{Instant, timeout};

/// For so long nothing may move: the slowest reader of a spilled fill, or the device.
pub const STILL: Duration = Duration::from_secs(30);

/// A wait is looked at so often.
const STEP: Duration = Duration::from_secs(1);

/// Waits until more may be pushed. The device is given up that hangs. Of a spilled fill's readers, one that does not move is cut off,
/// and one for whom others have waited too long. `looked` is told whenever it may have been spilled.
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
    }
}

/// What changes while it is worth waiting for: whether it is kept, and where the slowest reader of what is not kept stands.
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

    #[tokio::test(start_paused = true)]
    async fn who_keeps_others_waiting_for_long_is_cut_off_although_it_reads() {
        let all = (60_000_000, true);
        let run = LocalSet::new();
        let rows = run.run_until(async {
            [
                // One that is slower by far, and always moves.
                both(600, [1, 500]).await,
                // Both are slow alike: each waits for the other now and then.
                both(600, [500, 500]).await,
            ]
        });
        let [[quick, slow], alike] = rows.await;
        assert_eq!(quick, all);
        assert!(!slow.1 && slow.0 < 6_000_000, "{slow:?}");
        assert_eq!(alike, [all, all]);
    }
}
