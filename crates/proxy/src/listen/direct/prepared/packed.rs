//! Heads written as they are in the store: a response that is rarely requested is sent without making a map too.

use super::{
    super::{
        buffer::WriteBuffer,
        framing::{Framing, has_no_content},
        write::{ReplyContext, write_framing, write_status},
    },
    ANEW,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::{rc::Rc, sync::Arc};
use store::Stored;

/// The head of a stored response, packed as it is there. It is a counted reference to the whole response: one to the
/// fields alone would be counted in a place of its own.
#[derive(Debug)]
pub struct PackedHead {
    stored: Arc<Stored>,
    anew: &'static [HeaderName; ANEW],
    /// Bytes of content that it announces.
    content: u64,
}

impl PackedHead {
    /// The head of answers with `stored`, of which `content` bytes are sent, and with the fields `anew` in addition.
    /// `None` if `stored` has one of these fields, or such an answer has no content.
    pub fn new(
        stored: &Arc<Stored>,
        anew: &'static [HeaderName; ANEW],
        content: u64,
    ) -> Option<Self> {
        let is_fit = !has_no_content(stored.status) && !stored.fields.has_any(anew);
        is_fit.then(|| Self {
            stored: stored.clone(),
            anew,
            content,
        })
    }

    pub(super) fn status(&self) -> StatusCode {
        self.stored.status
    }

    /// The whole head as a map, with these values for the fields that are new in each answer.
    pub(super) fn to_map(&self, anew: [Rc<HeaderValue>; ANEW]) -> HeaderMap {
        let mut fields = self.stored.fields.unpack(ANEW);
        for (name, value) in self.anew.iter().zip(anew) {
            fields.insert(name, Rc::unwrap_or_clone(value));
        }
        fields
    }

    /// Writes the head without its end. Returns how many bytes of content it announces; `None` if it cannot be written,
    /// as for [`write_head`](super::super::write::write_head).
    pub(super) fn write(
        &self,
        buffer: &mut WriteBuffer,
        asked: ReplyContext,
        anew: &[Rc<HeaderValue>; ANEW],
    ) -> Option<u64> {
        buffer.put(asked.version_text())?;
        write_status(buffer, self.stored.status)?;
        let framing = Framing::Length(self.content);
        let (mut dated, mut told) = (false, false);
        for (name, value) in self.stored.fields.iter() {
            match name {
                b"connection" | b"transfer-encoding" | b"trailer" | b"upgrade" => return None,
                b"date" => dated = true,
                b"content-length" if told || !framing.agrees_with(value) => return None,
                b"content-length" => told = true,
                _ => {}
            }
            buffer.put_line(name, value)?;
        }
        for (name, value) in self.anew.iter().zip(anew) {
            buffer.put_field(name, value)?;
        }
        write_framing(buffer, framing, told)?;
        dated.then_some(self.content)
    }
}
