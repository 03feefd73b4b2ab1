//! Bytes of a file that go to a socket without passing through memory of ours.

use super::{
    at_hand::AT_HAND_SECONDS,
    chunk,
    health::Doing,
    open::{OpenSource, PendingChunk},
};
use rustix::{fs::sendfile, io::Errno};
use std::{
    io,
    os::fd::AsFd,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// At most so many bytes at a time: what a socket takes at once, and what others on the worker wait for.
pub const MOST_SPAN: u64 = 2 << 20;

/// Bytes of a body in a file, verified before. Keeps the file open.
#[derive(Debug)]
pub struct FileSpan {
    open: OpenSource,
    /// Counted from the first byte of the body.
    at: u64,
    end: u64,
    /// Bytes of the whole body.
    whole: u64,
    /// When it was last seen to lie in the page cache, in seconds of its device.
    pub(super) seen: u32,
    /// The number of the chunk that a thread of the tier reads.
    pending: Option<(u64, PendingChunk)>,
}

impl FileSpan {
    /// What lies in the page cache at this moment.
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

    /// Ready when the bytes still to be sent lie in the page cache, as far as is known, so that sending them does not wait for the
    /// device. A client may have taken minutes for those before: what has left the page cache meanwhile is read by a thread of the tier,
    /// and verified.
    ///
    /// # Errors
    /// They cannot be read, or are not what was written.
    pub fn poll_at_hand(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let now = self.open.source.device().seconds();
        let mut from = match &mut self.pending {
            None if now.abs_diff(self.seen) < AT_HAND_SECONDS => return Poll::Ready(Ok(())),
            None => self.at,
            Some(_) => ready!(self.poll_read(context))?,
        };
        while let Some(missing) = self.open.first_missing(from, self.end, self.whole) {
            let read = self.open.read_aside(missing, self.whole);
            // Not taken where the tier is closed.
            let read = read.ok_or(io::ErrorKind::NotFound)?;
            self.pending = Some((missing, read));
            from = ready!(self.poll_read(context))?;
        }
        self.seen = now;
        Poll::Ready(Ok(()))
    }

    /// Where the chunk ends that was read.
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

    /// Sends to `socket`, which must not block, as much as it takes; how much that was. What is left begins after it.
    ///
    /// # Errors
    /// Those of the socket, `WouldBlock` among them; those of the device, counted; `UnexpectedEof` where the file ends early.
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
                // The next call says it again.
                Err(_) if all > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Sends what lies together in the file; how much of how much.
    fn send_run(&mut self, socket: impl AsFd) -> io::Result<(usize, usize)> {
        let source = &self.open.source;
        let (mut offset, length) = source.run(self.at, self.end);
        let wanted = usize::try_from(length).unwrap_or(usize::MAX);
        let file = self.open.file().ok_or(io::ErrorKind::NotFound)?;
        match sendfile(socket, file, Some(&mut offset), wanted) {
            Ok(0) => {
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
