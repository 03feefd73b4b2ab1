//! Request bodies whose length nobody says.
//!
//! A script is told the length before the body comes (RFC 3875 section 4.1.2), so such a body is gathered first: a little of it
//! in memory, the rest in a file without a name in the system's folder for such files (`TMPDIR`), which is gone with the request.

use crate::{Error, Kind, RequestBody, Room};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Limited};
use std::{
    env,
    fs::File,
    io::{self, Write as _},
    mem,
    os::unix::fs::FileExt as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::task::{JoinHandle, spawn_blocking};

/// What is held in memory of one body, in bytes, where the caller has room for it.
const MOST_HELD: usize = 256 * 1024;
/// Room is taken in steps of so many bytes.
const STEP: usize = 32 * 1024;
/// What is read of a file at a time, in bytes.
const PIECE: u64 = 128 * 1024;
/// The largest body, in bytes, where the site sets no limit to bodies.
const LARGEST: usize = 64 << 20;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// A body whose length is known, and that length where there is content. One that has a length is passed on as it comes.
///
/// # Errors
/// The client's, a body that is too large among them (`LengthLimitError`); or the file cannot be written (`Kind::Spool`).
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
    // A site's own limit shows as the most that may come.
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
    /// After what lies in the file. Its capacity never exceeds the room that was taken.
    held: Vec<u8>,
    /// `None`: nobody counts.
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
        // A client that leaves takes nothing with it: the file closes when this has ended.
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

    /// Whether `more` can be held too; takes room for it where there is some.
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

    fn into_whole(self) -> Whole {
        Whole {
            file: self.file.map(Arc::new),
            at: 0,
            end: self.filed,
            reading: None,
            held: self.held.into(),
            _room: self.room,
        }
    }
}

/// A body that was gathered: what lies in the file, then what is held.
struct Whole {
    file: Option<Arc<File>>,
    at: u64,
    end: u64,
    reading: Option<JoinHandle<io::Result<Bytes>>>,
    held: Bytes,
    /// Held for its drop.
    _room: Option<Room>,
}

impl Whole {
    fn left(&self) -> u64 {
        self.end - self.at + self.held.len() as u64
    }

    /// The next piece of the file, at most until its end.
    fn poll_file(&mut self, file: &Arc<File>, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        let reading = self.reading.get_or_insert_with(|| {
            let (file, at) = (Arc::clone(file), self.at);
            let length = (self.end - at).min(PIECE);
            spawn_blocking(move || {
                let mut piece = vec![0; usize::try_from(length).unwrap_or(0)];
                file.read_exact_at(&mut piece, at)?;
                Ok(piece.into())
            })
        });
        let read = ready!(Pin::new(reading).poll(cx));
        self.reading = None;
        Poll::Ready(done(read).inspect(|piece: &Bytes| self.at += piece.len() as u64))
    }
}

impl Body for Whole {
    type Data = Bytes;
    type Error = Cause;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cause>>> {
        let this = self.get_mut();
        if let Some(file) = this.file.clone() {
            if this.at < this.end {
                let read = ready!(this.poll_file(&file, cx));
                let frame = read.map(Frame::data).map_err(|cause| unkept(&cause).into());
                return Poll::Ready(Some(frame));
            }
            this.file = None;
        }
        let held = mem::take(&mut this.held);
        Poll::Ready((!held.is_empty()).then(|| Ok(Frame::data(held))))
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
    }
}

/// What a task for the file made of it.
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
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    /// These pieces, without a word of their length.
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

    /// Room for so many bytes, and how many were taken.
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
