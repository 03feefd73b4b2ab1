//! Heads written as they lie in the store: what is asked for seldom is sent without a map as well.

use super::{
    super::page::{Asked, Framing, Page, agrees, has_no_content, write_framing, write_status},
    ANEW,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::rc::Rc;
use store::Fields;

/// The head of a stored response, packed as it is there.
#[derive(Debug)]
pub struct PackedHead {
    status: StatusCode,
    fields: Fields,
    anew: &'static [HeaderName; ANEW],
    /// Bytes of content that it announces.
    content: u64,
}

impl PackedHead {
    /// The head of answers with `status` and `content` bytes of content, which say `anew` beside `fields`. `None` where `fields` have
    /// one of those, or such an answer has no content.
    pub fn new(
        status: StatusCode,
        fields: &Fields,
        anew: &'static [HeaderName; ANEW],
        content: u64,
    ) -> Option<Self> {
        let is_anew = |name: &[u8]| anew.iter().any(|anew| anew.as_str().as_bytes() == name);
        let is_fit = !has_no_content(status) && !fields.iter().any(|(name, _)| is_anew(name));
        is_fit.then(|| Self {
            status,
            fields: fields.clone(),
            anew,
            content,
        })
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// All of it, with these values for the fields that are said anew.
    pub(super) fn to_map(&self, anew: [Rc<HeaderValue>; ANEW]) -> HeaderMap {
        let mut fields = self.fields.unpack(ANEW);
        for (name, value) in self.anew.iter().zip(anew) {
            fields.insert(name, Rc::unwrap_or_clone(value));
        }
        fields
    }

    /// Writes it, but for its end. How many bytes of content it announces; `None` where it cannot be written, as for
    /// [`write_head`](super::super::page::write_head).
    pub(super) fn write(
        &self,
        page: &mut Page,
        asked: Asked,
        anew: &[Rc<HeaderValue>; ANEW],
    ) -> Option<u64> {
        page.put(asked.version_text())?;
        write_status(page, self.status)?;
        let framing = Framing::Length(self.content);
        let (mut dated, mut told) = (false, false);
        for (name, value) in self.fields.iter() {
            match name {
                b"connection" | b"transfer-encoding" | b"trailer" | b"upgrade" => return None,
                b"date" => dated = true,
                b"content-length" if told || !agrees(framing, value) => return None,
                b"content-length" => told = true,
                _ => {}
            }
            page.put_line(name, value)?;
        }
        for (name, value) in self.anew.iter().zip(anew) {
            page.put_field(name, value)?;
        }
        write_framing(page, framing, told)?;
        dated.then_some(self.content)
    }
}
