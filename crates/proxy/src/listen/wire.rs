//! A socket below TLS: rereads bytes that were looked at already, and sends files without passing them through memory.

use super::{direct::Desk, mapped, socket::Socket, splice::Splices};
use bytes::{Buf, Bytes};
use rustix::net::SendFlags;
use std::{
    future::poll_fn,
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use store::disk::MOST_SPAN;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A span of a file that is longer than this, in bytes, is sent in full packets, since it is sent in several runs.
const LONG: usize = 128 << 10;

/// After this many bytes of files for one client, or one span more, the other tasks of the worker have their turn.
const MOST_IN_TURN: usize = MOST_SPAN as usize;

/// A socket whose first bytes may have been looked at already. Those are read again first.
#[derive(Debug)]
pub(super) struct Wire {
    socket: Socket,
    ahead: Bytes,
    /// The spans for which some of the written bytes stand.
    splices: Option<Arc<Splices>>,
    /// Whether the socket sends only full packets.
    corked: bool,
    /// Bytes of files that were sent since other tasks had their turn.
    spliced: usize,
    /// Whether what is written now is the last before the connection is closed.
    ends: bool,
}

impl Wire {
    pub(super) fn new(socket: Socket) -> Self {
        Self {
            socket,
            ahead: Bytes::new(),
            splices: None,
            corked: false,
            spliced: 0,
            ends: false,
        }
    }

    /// Writes the last bytes. They go in one packet with the end of the connection, which follows at once.
    fn poll_write_last(
        &self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.socket.poll_send_all(cx, bufs, SendFlags::MORE)
    }

    /// Writes `bufs`, of which the one at `mapped` is in memory from which the kernel can send.
    fn poll_write_mapped(
        &self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
        mapped: usize,
    ) -> Poll<io::Result<usize>> {
        self.socket
            .poll_send(cx, |socket| mapped::write(socket, bufs, mapped))
    }

    /// Says that what is written from now on is the last before the connection is closed.
    pub(super) fn end(&mut self) {
        self.ends = true;
    }

    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Makes a TCP connection be reset when it is closed.
    pub(super) fn reset_at_close(&self) {
        self.socket.reset_at_close();
    }

    /// Makes the spans in `splices` be written in place of the bytes that stand for them.
    pub(super) fn splice(&mut self, splices: Arc<Splices>) {
        self.splices = Some(splices);
    }

    /// Writes bytes, some of which stand for spans of files.
    fn poll_write_spliced(
        &mut self,
        cx: &mut Context<'_>,
        splices: &Splices,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bufs.iter().position(|buf| Splices::is_stand_in(buf));
        match first {
            None => self.socket.poll_send_all(cx, bufs, SendFlags::empty()),
            Some(0) => self.poll_spans(cx, splices, bufs),
            Some(first) => {
                let before = bufs.get(..first).unwrap_or_default();
                // In one packet with what follows.
                self.socket.poll_send_all(cx, before, SendFlags::MORE)
            }
        }
    }

    /// Makes the socket send only full packets, until it is uncorked.
    fn cork(&mut self, corked: bool) {
        if corked != self.corked {
            self.socket.cork(corked);
            self.corked = corked;
        }
    }

    /// Writes the spans at the beginning of `bufs`.
    fn poll_spans(
        &mut self,
        cx: &mut Context<'_>,
        splices: &Splices,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.spliced >= MOST_IN_TURN {
            // A client that takes everything at once is not served before all others.
            self.spliced = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if bufs.first().is_some_and(|buf| buf.len() > LONG) {
            self.cork(true);
        }
        let mut sent = 0;
        for buf in bufs.iter().take_while(|buf| Splices::is_stand_in(buf)) {
            let now = match splices.poll_at_hand(cx) {
                Poll::Ready(Ok(())) => self
                    .socket
                    .poll_send(cx, |socket| splices.send(buf, socket)),
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                Poll::Pending => Poll::Pending,
            };
            match now {
                Poll::Ready(Ok(now)) => {
                    self.spliced += now;
                    sent += now;
                    if now < buf.len() {
                        break;
                    }
                }
                // The next call returns the error again.
                _ if sent > 0 => break,
                other => {
                    self.spliced = 0;
                    return other;
                }
            }
        }
        Poll::Ready(Ok(sent))
    }

    /// Makes `seen` be read again first, when there is no more to [peel](Self::peel).
    pub(super) fn put_back(&mut self, seen: Vec<u8>) {
        self.ahead = Bytes::from(seen);
    }

    /// Reads until `decide` knows what it sees, and keeps the rest for the next reader.
    ///
    /// `decide` gets all bytes read so far and returns how many it uses up. The end of the stream, or `most` bytes
    /// without a decision, is an error. With the `desk`, a connection holds no more memory than it has brought bytes.
    /// If the future is dropped, the bytes read so far are in `seen`.
    pub(super) async fn peel<T>(
        &mut self,
        desk: &Desk,
        most: usize,
        seen: &mut Vec<u8>,
        mut decide: impl FnMut(&[u8]) -> io::Result<Option<(T, usize)>>,
    ) -> io::Result<T> {
        *seen = Vec::from(std::mem::take(&mut self.ahead));
        loop {
            if !seen.is_empty()
                && let Some((found, used)) = decide(seen)?
            {
                self.ahead = Bytes::from(std::mem::take(seen));
                self.ahead.advance(used.min(self.ahead.len()));
                return Ok(found);
            }
            if seen.len() >= most {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if poll_fn(|cx| desk.poll_read(cx, self, seen)).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        if wire.ahead.is_empty() {
            return Pin::new(&mut wire.socket).poll_read(cx, buf);
        }
        let n = wire.ahead.len().min(buf.remaining());
        buf.put_slice(&wire.ahead.split_to(n));
        if wire.ahead.is_empty() {
            // An empty rest would hold the memory as long as the connection is open.
            wire.ahead = Bytes::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        match &wire.splices {
            Some(splices) if !splices.is_empty() => {
                let splices = splices.clone();
                wire.poll_write_spliced(cx, &splices, &[IoSlice::new(buf)])
            }
            _ if let Some(mapped) = mapped::first(&[IoSlice::new(buf)]) => {
                wire.poll_write_mapped(cx, &[IoSlice::new(buf)], mapped)
            }
            _ if wire.ends => wire.poll_write_last(cx, &[IoSlice::new(buf)]),
            _ => Pin::new(&mut wire.socket).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        match &wire.splices {
            Some(splices) if !splices.is_empty() => {
                let splices = splices.clone();
                wire.poll_write_spliced(cx, &splices, bufs)
            }
            _ if let Some(mapped) = mapped::first(bufs) => wire.poll_write_mapped(cx, bufs, mapped),
            _ if wire.ends => wire.poll_write_last(cx, bufs),
            _ => Pin::new(&mut wire.socket).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        let splices = wire.splices.as_ref();
        if splices.is_some_and(|splices| !splices.is_empty()) {
            // `hyper` flushes when it holds nothing back. So the bytes that stood for these spans were sent as they
            // are.
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        wire.cork(false);
        wire.spliced = 0;
        Pin::new(&mut wire.socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}
