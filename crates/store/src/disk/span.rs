//! Bytes of a file that go to a socket without passing through our memory.

use super::{
    at_hand::AT_HAND_SECONDS,
    chunk,
    event::Doing,
    open::{OpenSource, PendingChunk},
};
use rustix::{fs::sendfile, io::Errno};
use std::{
    io,
    os::fd::AsFd,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// At most this many bytes at a time: as many as a socket takes at once, and as others on the worker have to wait for.
pub const MOST_SPAN: u64 = 2 << 20;

/// Verified bytes of a body in a file. Keeps the file open.
#[derive(Debug)]
pub struct FileSpan {
    open: OpenSource,
    /// Offset in the body.
    at: u64,
    end: u64,
    /// Bytes of the whole body.
    whole: u64,
    /// When they were last seen in the page cache, in seconds of the device.
    pub(super) seen: u32,
    /// The chunk that a thread of the tier is reading, with its number.
    pending: Option<(u64, PendingChunk)>,
}

impl FileSpan {
    /// Creates a span of bytes that are in the page cache at this moment.
    pub(super) fn new(open: OpenSource, at: u64, end: u64, whole: u64) -> Self {
        let seen = open.source.device().seconds();
        Self {
            open,
            at,
            end,
            whole,
            seen,
            pending: None,
        }
    }

    /// Ready when the bytes still to be sent are in the page cache, as far as is known, so that sending them does not
    /// wait for the device. The client may have taken minutes for the bytes before them. A thread of the tier reads and
    /// verifies what has left the page cache meanwhile.
    ///
    /// # Errors
    /// The bytes cannot be read, or are not those that were written.
    pub fn poll_at_hand(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let now = self.open.source.device().seconds();
        let mut from = match &mut self.pending {
            None if now.abs_diff(self.seen) < AT_HAND_SECONDS => return Poll::Ready(Ok(())),
            None => self.at,
            Some(_) => ready!(self.poll_read(context))?,
        };
        while let Some(missing) = self.open.first_missing(from, self.end, self.whole) {
            let read = self.open.read_aside(missing, self.whole);
            // `None` means that the tier is closed.
            let read = read.ok_or(io::ErrorKind::NotFound)?;
            self.pending = Some((missing, read));
            from = ready!(self.poll_read(context))?;
        }
        self.seen = now;
        Poll::Ready(Ok(()))
    }

    /// Returns where the chunk that was read ends.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let Some((number, read)) = &mut self.pending else {
            return Poll::Ready(Ok(self.at));
        };
        let is_good = matches!(ready!(Pin::new(read).poll(context)), Ok(Ok(_)));
        let end = chunk::end(*number, self.whole);
        self.pending = None;
        Poll::Ready(if is_good {
            Ok(end)
        } else {
            Err(io::ErrorKind::InvalidData.into())
        })
    }

    /// Bytes still to be sent.
    pub fn len(&self) -> u64 {
        self.end.saturating_sub(self.at)
    }

    /// Whether all is sent.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sends as much as `socket`, which must not block, takes. Returns how much that was. The rest begins after it.
    ///
    /// # Errors
    /// Those of the socket, `WouldBlock` among them; those of the device, which are counted; `UnexpectedEof` if the
    /// file ends early.
    pub fn send_to(&mut self, socket: impl AsFd) -> io::Result<usize> {
        let mut all = 0;
        while !self.is_empty() {
            match self.send_run(&socket) {
                Ok((sent, wanted)) => {
                    all += sent;
                    if sent < wanted {
                        break;
                    }
                }
                // The next call returns the error again.
                Err(_) if all > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Sends what lies together in the file. Returns how much was sent, and of how much.
    fn send_run(&mut self, socket: impl AsFd) -> io::Result<(usize, usize)> {
        let source = &self.open.source;
        let (mut offset, length) = source.run(self.at, self.end);
        let wanted = usize::try_from(length).unwrap_or(usize::MAX);
        let file = self.open.file().ok_or(io::ErrorKind::NotFound)?;
        match sendfile(socket, file, Some(&mut offset), wanted) {
            Ok(0) => {
                source.device().damaged(source.path(), offset);
                source.fail();
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Ok(sent) => {
                self.at += sent as u64;
                Ok((sent, wanted))
            }
            Err(Errno::IO) => {
                let error = Errno::IO.into();
                let device = source.device();
                device.failed(Doing::Reading, &source.path(), &error);
                source.fail();
                Err(error)
            }
            Err(error) => Err(error.into()),
        }
    }
}
