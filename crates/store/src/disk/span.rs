//! Bytes of a file that go to a socket without passing through memory of ours.

use super::{health::Doing, ondisk::Open};
use rustix::{fs::sendfile, io::Errno};
use std::{io, os::fd::AsFd};

/// At most so many bytes at a time.
pub const MOST_SPAN: u64 = 1 << 20;

/// Bytes of a body in a file, verified before, and in the page cache a moment ago. Keeps the file open.
#[derive(Debug)]
pub struct FileSpan {
    open: Open,
    /// Counted from the first byte of the body.
    at: u64,
    end: u64,
}

impl FileSpan {
    pub(super) fn new(open: Open, at: u64, end: u64) -> Self {
        Self { open, at, end }
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
