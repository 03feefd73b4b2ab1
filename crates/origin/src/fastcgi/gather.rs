//! Gathers request bodies of unknown length.
//!
//! A script is told the length before the body comes (RFC 3875 section 4.1.2), so such a body is gathered first: a
//! little of it in memory, the rest in an unnamed file in the system's folder for such files (`TMPDIR`), which
//! disappears with the request. `whole` reads what was gathered.

mod whole;

use crate::{Error, Kind, RequestBody, Room};
use bytes::Bytes;
use http_body::Body;
use http_body_util::{BodyExt, Limited};
use std::{
    env,
    fs::File,
    io::{self, Write as _},
    mem,
};
use tokio::task::spawn_blocking;

/// Most bytes of one body that are held in memory, if the caller has room for them.
const MOST_HELD: usize = 256 * 1024;
/// Room is taken in steps of this many bytes.
const STEP: usize = 32 * 1024;
/// The largest body, in bytes, if the site sets no limit on bodies.
const LARGEST: usize = 64 << 20;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Returns a body of known length, and that length if there is content. A body that has a length is passed on as it
/// comes.
///
/// # Errors
/// The client's own, including a body that is too large (`LengthLimitError`); or the file cannot be written
/// (`Kind::Spool`).
pub(super) async fn measured(
    body: RequestBody,
    room: Option<Room>,
) -> Result<(RequestBody, Option<u64>), Error> {
    if body.is_end_stream() {
        return Ok((body, None));
    }
    let hint = body.size_hint();
    if let Some(length) = hint.exact() {
        return Ok((body, Some(length)));
    }
    // A site's own limit appears as the upper bound.
    let most = hint.upper().map_or(LARGEST, |_| usize::MAX);
    let mut body = Limited::new(body, most);
    let mut gathered = Gathered::new(room);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|cause| Error::new(Kind::RequestBody).because(cause))?;
        if let Ok(piece) = frame.into_data() {
            gathered.put(piece).await?;
        }
    }
    let whole = gathered.into_whole();
    let length = whole.left();
    Ok((RequestBody::new(whole), Some(length)))
}

/// What has come so far.
struct Gathered {
    /// What follows the content of the file. Its capacity never exceeds the room that was taken.
    held: Vec<u8>,
    /// `None`: the memory is not counted.
    room: Option<Room>,
    file: Option<File>,
    /// Bytes in the file.
    filed: u64,
}

impl Gathered {
    fn new(room: Option<Room>) -> Self {
        Self {
            held: Vec::new(),
            room,
            file: None,
            filed: 0,
        }
    }

    async fn put(&mut self, piece: Bytes) -> Result<(), Error> {
        if self.has_room(piece.len()) {
            self.held.extend_from_slice(&piece);
            return Ok(());
        }
        let mut held = mem::take(&mut self.held);
        let file = self.file.take();
        self.filed += (held.len() + piece.len()) as u64;
        // If the client leaves, this still runs to its end, and then the file closes.
        let writing = spawn_blocking(move || {
            let mut file = file.map_or_else(tempfile::tempfile, Ok)?;
            file.write_all(&held)?;
            file.write_all(&piece)?;
            held.clear();
            Ok((file, held))
        });
        let (file, held) = done(writing.await).map_err(|cause| unkept(&cause))?;
        (self.file, self.held) = (Some(file), held);
        Ok(())
    }

    /// Whether `more` bytes can be held as well. Takes room for them if there is some.
    fn has_room(&mut self, more: usize) -> bool {
        let needed = self.held.len().saturating_add(more);
        if needed > MOST_HELD {
            return false;
        }
        let wanted = needed.next_multiple_of(STEP);
        let lacking = wanted.saturating_sub(self.held.capacity());
        if lacking == 0 || needed <= self.held.capacity() {
            return true;
        }
        if let Some(room) = &mut self.room
            && !room(lacking as u64)
        {
            return false;
        }
        self.held.reserve_exact(wanted - self.held.len());
        true
    }
}

/// Flattens the outcome of a task that used the file.
fn done<T>(outcome: Result<io::Result<T>, tokio::task::JoinError>) -> io::Result<T> {
    outcome.unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn unkept(cause: &io::Error) -> Error {
    let folder = env::temp_dir();
    Error::new(Kind::Spool).because(format!("{}: {cause}", folder.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use http_body::Frame;
    use std::{
        pin::Pin,
        sync::{
            Arc,
            atomic::{AtomicU64, Ordering::SeqCst},
        },
        task::{Context, Poll},
    };

    /// A body of these pieces that does not announce its length.
    fn body(pieces: Vec<Vec<u8>>) -> RequestBody {
        RequestBody::new(Pieces(pieces.into_iter()))
    }

    struct Pieces(std::vec::IntoIter<Vec<u8>>);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Cause;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Cause>>> {
            Poll::Ready(self.0.next().map(|piece| Ok(Frame::data(piece.into()))))
        }
    }

    /// Room for `most` bytes, and how many were taken.
    fn room(most: u64) -> (Room, Arc<AtomicU64>) {
        let taken = Arc::new(AtomicU64::new(0));
        let own = Arc::clone(&taken);
        let room = move |bytes| {
            let fits = own.load(SeqCst) + bytes <= most;
            own.fetch_add(if fits { bytes } else { 0 }, SeqCst);
            fits
        };
        (Box::new(room), taken)
    }

    #[tokio::test]
    async fn what_came_comes_out_again_whatever_the_room() {
        let shapes: [&[usize]; 6] = [
            &[],
            &[1],
            &[10; 1000],
            &[200_000, 100_000, 7],
            &[MOST_HELD, 1],
            &[1, MOST_HELD, 300_000, 1, 1],
        ];
        for (number, shape) in shapes.into_iter().enumerate() {
            for most in [0, 40_000, 1 << 20] {
                let pieces: Vec<Vec<u8>> = shape
                    .iter()
                    .enumerate()
                    .map(|(nth, length)| vec![nth as u8; *length])
                    .collect();
                let (room, taken) = room(most);
                let (whole, length) = measured(body(pieces.clone()), Some(room)).await.unwrap();
                let came = pieces.concat();
                assert_eq!(length, Some(came.len() as u64), "{number} {most}");
                assert_eq!(whole.size_hint().exact(), length);
                assert!(taken.load(SeqCst) <= most.min(MOST_HELD as u64));
                let whole = whole.collect().await.unwrap().to_bytes();
                assert!(whole == came, "{number} {most}");
            }
        }
    }

    #[tokio::test]
    async fn nothing_is_larger_than_the_limit() {
        let piece = vec![0; 1 << 20];
        let error = measured(body(vec![piece; 65]), None).await.map(|_| ());
        assert_eq!(error.unwrap_err().kind(), Kind::RequestBody);
    }
}
