//! Memory that a worker's connections use in turn.

use super::{
    buffer::WriteBuffer,
    section::{Section, Sections},
    sheets::Sheets,
};
use crate::listen::wire::Wire;
use http::HeaderMap;
use origin::spares;
use std::{
    cell::{Cell, RefCell},
    io,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, ReadBuf};

/// Size of the memory for a head and what follows it already, in bytes. Longer heads are for `hyper`.
const LONGEST: usize = 16 << 10;

/// Memory that the connections of one worker use in turn, so that none holds any while it waits.
pub(in crate::listen) struct Desk {
    pub(super) read: RefCell<Box<[u8]>>,
    written: Cell<Box<[u8]>>,
    /// The header sections of requests that were answered.
    pub(super) sections: RefCell<Sections>,
    /// Content that is sent often.
    pub(super) sheets: RefCell<Sheets>,
}

impl Default for Desk {
    fn default() -> Self {
        Self {
            read: RefCell::new(vec![0; LONGEST].into()),
            written: Cell::new(vec![0; LONGEST].into()),
            sections: RefCell::default(),
            sheets: RefCell::default(),
        }
    }
}

impl Desk {
    /// Returns an empty buffer, to be [given back](Self::give_back).
    ///
    /// It is made anew if a panic kept the last one from coming back: a caller without room to write would try for
    /// ever.
    pub(super) fn buffer(&self) -> WriteBuffer {
        let mut bytes = self.written.take();
        if bytes.is_empty() {
            bytes = vec![0; LONGEST].into();
        }
        WriteBuffer::on(bytes)
    }

    pub(super) fn give_back(&self, buffer: WriteBuffer) {
        self.written.set(buffer.bytes);
    }

    /// Keeps the fields of a request that is answered, as they came, for the next request with the same `section`.
    pub(super) fn reuse(&self, section: Option<Rc<Section>>, fields: HeaderMap) {
        let spare = match section {
            Some(section) => self.sections.borrow_mut().keep(section, fields),
            None => Some(fields),
        };
        if let Some(spare) = spare {
            spares::keep(spare);
        }
    }

    /// Reads once from `wire`, and appends to `seen`. Returns how many bytes it appended.
    pub(in crate::listen) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        wire: &mut Wire,
        seen: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        let mut desk = self.read.borrow_mut();
        let mut buffer = ReadBuf::new(&mut desk);
        ready!(Pin::new(wire).poll_read(cx, &mut buffer))?;
        seen.extend_from_slice(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
    }
}
