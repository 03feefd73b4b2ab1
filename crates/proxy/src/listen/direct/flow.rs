//! Content on its way to a client: framed, and written as it comes and as the socket takes it.

mod gather;

use super::super::{AtHand, meter::Meter};
use super::{Desk, buffer::WriteBuffer, framing::Framing, sheets::Sheets};
use bytes::{Buf, Bytes};
use gather::Run;
use http_body::Body;
use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::io::AsyncWrite;

/// Pieces up to this many bytes are copied after what was written before, which costs less than another buffer. TLS
/// copies everything once more anyway, so there only less is worth copying.
const COPIED: usize = 12 << 10;
const COPIED_IN_TLS: usize = 2 << 10;

/// Content that is being sent. Dropped before its end, it tells the body what was left unsent.
pub(super) struct Flow<B: AtHand> {
    body: B,
    framing: Framing,
    /// Whether the connection is closed after it.
    closes: bool,
    state: FlowState,
    /// `None` for most content, which is sent in one run.
    left: Option<Box<RunRemainder>>,
}

/// The rest of a run.
#[derive(Default)]
struct RunRemainder {
    /// What the socket did not take, in order.
    unsent: [Bytes; 3],
    /// A piece for which the run had no place.
    held: Bytes,
}

/// How far the content has come.
enum FlowState {
    /// There may be more.
    Going,
    /// No more is at hand. The source wakes us when there is.
    Stalled,
    /// All of it was copied to what is written. The body keeps it until that is sent, so that it counts until then.
    Copied,
    /// Its end was written.
    Whole,
    /// It broke off.
    Broken,
}

impl<B: Body<Data = Bytes> + AtHand + Unpin> Flow<B> {
    pub(super) fn new(body: B, framing: Framing, closes: bool) -> Self {
        Self {
            body,
            framing,
            closes,
            state: FlowState::Going,
            left: None,
        }
    }

    /// Whether the client takes the end of the connection for that of the content.
    pub(super) fn ends_by_closing(&self) -> bool {
        matches!(self.framing, Framing::UntilClose)
    }

    /// Sends the rest. An error means that the connection or the content broke, and the client has at most a part of
    /// it.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        meter: &mut Meter,
        desk: &Desk,
    ) -> Poll<io::Result<()>> {
        if matches!(self.state, FlowState::Stalled) {
            // The source may have woken us because there is more.
            self.state = FlowState::Going;
        }
        loop {
            ready!(self.poll_unsent(cx, meter))?;
            self.is_out();
            match &self.state {
                FlowState::Going => {}
                FlowState::Stalled => {
                    ready!(Pin::new(meter).poll_flush(cx))?;
                    return Poll::Pending;
                }
                FlowState::Copied | FlowState::Whole => return Pin::new(meter).poll_flush(cx),
                FlowState::Broken => {
                    // What came before is sent, as far as it is taken at once.
                    let _ = Pin::new(meter).poll_flush(cx)?;
                    return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                }
            }
            let mut buffer = desk.buffer();
            let run = self.run(cx, meter, &mut buffer);
            desk.give_back(buffer);
            run?;
        }
    }

    /// Writes the head in `buffer`, and as much of the content as [`run`](Self::run) does.
    pub(super) fn begin(
        &mut self,
        cx: &mut Context<'_>,
        meter: &mut Meter,
        buffer: &mut WriteBuffer,
        desk: &Desk,
    ) -> io::Result<()> {
        let mut sheets = desk.sheets.borrow_mut();
        let Some(all) = self.repeated(meter, buffer, &mut sheets) else {
            drop(sheets);
            return self.run(cx, meter, buffer);
        };
        self.state = FlowState::Copied;
        if self.closes {
            meter.end();
        }
        let out = match poll_write(cx, meter, [all, &[], &[]]) {
            Poll::Ready(out) => out?,
            Poll::Pending => 0,
        };
        match all.get(out..) {
            None | Some([]) => self.is_out(),
            Some(rest) => {
                self.left().unsent = [Bytes::copy_from_slice(rest), Bytes::new(), Bytes::new()];
            }
        }
        Ok(())
    }

    /// The head in `buffer` with all of the content after it, if the content was sent before and is so long that to
    /// copy it would cost more than to find it.
    fn repeated<'s>(
        &self,
        meter: &Meter,
        buffer: &WriteBuffer,
        sheets: &'s mut Sheets,
    ) -> Option<&'s [u8]> {
        let content = self.body.kept()?;
        let is_worth_it = (COPIED_IN_TLS..=COPIED).contains(&content.len()) && !meter.is_tls();
        if !is_worth_it || self.framing != Framing::Length(content.len() as u64) {
            return None;
        }
        sheets.behind(buffer, content)
    }

    /// Writes what is in `buffer` and as much of the content as is at hand and fits into one run, as far as the socket
    /// takes it at once.
    pub(super) fn run(
        &mut self,
        cx: &mut Context<'_>,
        meter: &mut Meter,
        buffer: &mut WriteBuffer,
    ) -> io::Result<()> {
        let most_copied = if meter.is_tls() {
            COPIED_IN_TLS
        } else {
            COPIED
        };
        let Run { cut, mut large } = self.gather(cx, buffer, most_copied);
        if self.closes && matches!(self.state, FlowState::Copied | FlowState::Whole) {
            meter.end();
        }
        let (before, after) = buffer.written().split_at_checked(cut).unwrap_or_default();
        let (mut out, written) = match poll_write(cx, meter, [before, &large, after]) {
            Poll::Ready(Ok(out)) => (out, Ok(())),
            Poll::Ready(Err(error)) => (0, Err(error)),
            Poll::Pending => (0, Ok(())),
        };
        if out == before.len() + large.len() + after.len() {
            self.is_out();
            return Ok(());
        }
        let mut sent_of = |length: usize| {
            let of_it = out.min(length);
            out -= of_it;
            of_it
        };
        let before = before.get(sent_of(before.len())..).unwrap_or_default();
        large.advance(sent_of(large.len()));
        let after = after.get(sent_of(after.len())..).unwrap_or_default();
        let copied = Bytes::copy_from_slice;
        self.left().unsent = [copied(before), large, copied(after)];
        written
    }

    /// Writes what the last run left.
    fn poll_unsent(&mut self, cx: &mut Context<'_>, meter: &mut Meter) -> Poll<io::Result<()>> {
        let Some(RunRemainder { unsent, .. }) = self.left.as_deref_mut() else {
            return Poll::Ready(Ok(()));
        };
        while unsent.iter().any(|part| !part.is_empty()) {
            let parts = unsent.each_ref().map(|part| &**part);
            match ready!(poll_write(cx, meter, parts))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                out => advance(unsent, out),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Notes that everything that was written is sent.
    fn is_out(&mut self) {
        if matches!(self.state, FlowState::Copied) {
            self.body.taken();
            self.state = FlowState::Whole;
        }
    }

    fn left(&mut self) -> &mut RunRemainder {
        self.left.get_or_insert_default()
    }
}

impl<B: AtHand> Drop for Flow<B> {
    fn drop(&mut self) {
        let Some(RunRemainder { unsent, held }) = self.left.as_deref() else {
            return;
        };
        let parts = unsent.iter().chain([held]);
        let bytes: usize = parts.map(Bytes::len).sum();
        if bytes == 0 {
            return;
        }
        if matches!(self.state, FlowState::Copied) {
            self.body.taken();
        }
        self.body.left_unsent(bytes as u64);
    }
}

/// Removes `out` bytes from the beginning of `parts`.
fn advance(parts: &mut [Bytes], mut out: usize) {
    for part in parts {
        let of_it = out.min(part.len());
        part.advance(of_it);
        out -= of_it;
        if part.is_empty() {
            // An empty rest would hold the memory as long as there is more to send.
            *part = Bytes::new();
        }
    }
}

/// Writes `parts` one after another, as far as the socket takes them at once. Returns the number of bytes.
fn poll_write(
    cx: &mut Context<'_>,
    meter: &mut Meter,
    parts: [&[u8]; 3],
) -> Poll<io::Result<usize>> {
    let mut slices = [IoSlice::new(&[]); 3];
    let mut count = 0;
    let filled = parts.into_iter().filter(|part| !part.is_empty());
    for (slice, part) in slices.iter_mut().zip(filled) {
        *slice = IoSlice::new(part);
        count += 1;
    }
    let socket = Pin::new(meter);
    match slices.get(..count) {
        None | Some([]) => Poll::Ready(Ok(0)),
        Some([only]) => socket.poll_write(cx, only),
        Some(all) => socket.poll_write_vectored(cx, all),
    }
}
