//! Stored content that several clients get decoded at the same time: it is decoded once, and they follow.

use super::{Counts, Recoded};
use crate::{body::Content, patience::wait_for_room};
use rules::coding::Coding;
use std::{
    collections::HashMap,
    future::poll_fn,
    sync::{Arc, Mutex, PoisonError, Weak},
    task::{Context, Poll},
};
use store::{
    Memory, Stored,
    fill::{Fill, Pushed, Writer},
};

/// What is being decoded, by the identity of the content. An entry lives as long as it has readers.
#[derive(Debug, Default)]
pub struct Decodings(Mutex<HashMap<u64, Weak<Fill>>>);

impl Decodings {
    /// Returns the content of `stored`, which is in `coding`, decoded. It follows a decoding for other clients, or
    /// begins one for all that will want it. `content` is what is stored.
    ///
    /// If there are more than `most` bytes, or the content is not kept, they are held for the present readers only.
    /// `None` if memory has no room for a decoder.
    pub fn follow(
        &self,
        (stored, coding): (&Stored, Coding),
        content: Content,
        counts: &Arc<Counts>,
        memory: &Arc<Memory>,
        most: u64,
    ) -> Option<Content> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fill) = all.get(&stored.content()).and_then(Weak::upgrade) {
            return match fill.reader() {
                Some(reader) => Some(Content::following(reader, None)),
                // It has outgrown memory, or cannot be decoded.
                None => Recoded::decoded(content, coding, counts, memory),
            };
        }
        let content = Recoded::decoded(content, coding, counts, memory)?;
        let (fill, writer) = Fill::begin(memory.budget().reservation());
        let reader = fill.reader()?;
        all.retain(|_, fill| fill.strong_count() > 0);
        all.insert(stored.content(), Arc::downgrade(&fill));
        tokio::task::spawn_local(write(content, writer, memory.clone(), most));
        Some(Content::following(reader, None))
    }
}

/// Writes `content` for all followers. Ends early if there are none any more. What it holds counts as in flight until
/// the last of them has it.
async fn write(mut content: Content, mut writer: Writer, memory: Arc<Memory>, most: u64) {
    let fill = writer.fill().clone();
    let mut length = 0;
    while let Some(piece) = poll_fn(|cx| next(&fill, &mut content, cx)).await {
        // When dropped, the writer tells the others that it broke off.
        let Ok(piece) = piece else { return };
        length += piece.len() as u64;
        if length > most || content.is_spilled() {
            writer.spill();
        }
        if writer.push(&piece) == Pushed::Kept {
            memory.make_room();
        }
        wait_for_room(&mut writer, |_| {}).await;
        // However fast the content comes, a worker has other requests to serve.
        tokio::task::yield_now().await;
    }
    if writer.finish().is_none() {
        return;
    }
    let mut room = memory.budget().reservation();
    // If others have just taken the room, the content is there all the same.
    room.take(length);
    memory.make_room();
    poll_fn(|context| fill.poll_abandoned(context)).await;
}

/// The next piece; `None` at the end, an error if the content broke off or has no readers any more.
fn next(
    fill: &Fill,
    content: &mut Content,
    cx: &mut Context<'_>,
) -> Poll<Option<Result<bytes::Bytes, ()>>> {
    if fill.poll_abandoned(cx).is_ready() {
        return Poll::Ready(Some(Err(())));
    }
    let next = content.poll(cx);
    next.map(|next| next.map(|piece| piece.map_err(|_| ())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, read_slowly};
    use bytes::Bytes;
    use std::time::Duration;
    use store::BodyPiece;
    use tokio::task::{LocalSet, spawn_local};

    /// Others take all the room between its last byte and its end.
    #[tokio::test]
    async fn what_has_been_decoded_counts_until_it_is_read() {
        const LENGTH: u64 = 64 << 10;
        let memory = sample::memory();
        let content = Content::Whole(Bytes::from(vec![b'a'; LENGTH as usize]));
        let (fill, writer) = Fill::begin(memory.budget().reservation());
        let mut reader = fill.reader().expect("it is kept yet");
        let run = LocalSet::new();
        let counted = run.run_until(async {
            let writing = spawn_local(write(content, writer, memory.clone(), LENGTH));
            let piece = poll_fn(|cx| reader.poll_next(cx)).await;
            assert!(piece.is_some_and(|piece| piece.is_ok()));
            let mut others = memory.budget().reservation();
            others.take(memory.budget().limit());
            assert_eq!(poll_fn(|cx| reader.poll_next(cx)).await, None);
            let counted = memory.budget().reserved() - others.bytes();
            drop(reader);
            writing.await.expect("it ends");
            counted
        });
        assert_eq!(counted.await, LENGTH);
        assert_eq!(memory.budget().reserved(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_keeps_others_waiting_for_what_is_decoded_for_all_is_cut_off() {
        const LENGTH: u64 = 8 << 20;
        let memory = sample::memory();
        let piece = BodyPiece::Memory(Bytes::from(vec![b'a'; 64 << 10]));
        let content = Content::pieces(vec![piece; (LENGTH >> 16) as usize]);
        let (fill, writer) = Fill::begin(memory.budget().reservation());
        let readers = [1, 500].map(|pause| {
            let reader = fill.reader().expect("it is kept yet");
            (reader, Duration::from_millis(pause))
        });
        let run = LocalSet::new();
        let rows = run.run_until(async {
            spawn_local(write(content, writer, memory, LENGTH / 4));
            let [quick, slow] =
                readers.map(|(reader, pause)| spawn_local(read_slowly(reader, pause)));
            [
                quick.await.expect("it reads"),
                slow.await.expect("it reads"),
            ]
        });
        let [quick, slow] = rows.await;
        assert_eq!(quick, (LENGTH, true));
        assert!(!slow.1 && slow.0 < LENGTH / 2, "{slow:?}");
    }
}
