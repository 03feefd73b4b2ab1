//! Answers whose head is kept as it is sent, except for the fields that are new in each answer.

mod packed;

use super::{
    buffer::WriteBuffer,
    framing::{Framing, has_no_content},
    verb::Verb,
    write::{ReplyContext, write_end, write_fields, write_framing},
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use std::rc::Rc;

pub use packed::PackedHead;

/// The longest head that is kept as it is sent, in bytes.
const LONGEST: usize = 4 << 10;

/// How many fields are new in each answer.
const ANEW: usize = 2;

/// A head that needs no map.
#[derive(Debug)]
pub enum Head {
    /// A head that was sent before.
    Kept(Rc<PreparedHead>),
    /// A head as it is in the store.
    Packed(PackedHead),
}

/// The head of a stored response: its fields, and if possible, the bytes in which they are sent over HTTP/1.
#[derive(Debug)]
pub struct PreparedHead {
    status: StatusCode,
    fields: HeaderMap,
    anew: [HeaderName; ANEW],
    written: Option<Written>,
}

#[derive(Debug)]
struct Written {
    /// The bytes before each of the new values, with the field's name.
    before: [Box<[u8]>; ANEW],
    /// The bytes after the last of them.
    after: Box<[u8]>,
    /// Bytes of content that it announces.
    content: u64,
}

impl PreparedHead {
    /// The head of answers with `status` and `content` bytes of content (`None` if not known). `fields` has an empty
    /// value in the place of each field that is new in each answer. If it has another value there, the head is not
    /// written.
    pub fn new(
        status: StatusCode,
        fields: HeaderMap,
        anew: [HeaderName; ANEW],
        content: Option<u64>,
    ) -> Self {
        let written = content
            .filter(|_| !has_no_content(status))
            .and_then(|content| Written::new(status, &fields, &anew, content));
        Self {
            status,
            fields,
            anew,
            written,
        }
    }

    /// Its fields, with the places of those that are new in each answer.
    pub fn fields(&self) -> &HeaderMap {
        &self.fields
    }

    /// Whether it is written, and announces `content` bytes.
    pub fn is_written_for(&self, content: u64) -> bool {
        let written = self.written.as_ref();
        written.is_some_and(|written| written.content == content)
    }

    /// The whole head as a map, with these values for the fields that are new in each answer.
    fn to_map(&self, anew: [Rc<HeaderValue>; ANEW]) -> HeaderMap {
        let mut fields = self.fields.clone();
        for (name, value) in self.anew.iter().zip(anew) {
            fields.insert(name, Rc::unwrap_or_clone(value));
        }
        fields
    }

    /// Writes the head without its end. Returns how many bytes of content it announces; `None` if it cannot be written.
    fn write(
        &self,
        buffer: &mut WriteBuffer,
        asked: ReplyContext,
        anew: &[Rc<HeaderValue>; ANEW],
    ) -> Option<u64> {
        let written = self.written.as_ref()?;
        buffer.put(asked.version_text())?;
        for (before, value) in written.before.iter().zip(anew) {
            buffer.put(before)?;
            buffer.put(value.as_bytes())?;
        }
        buffer.put(&written.after)?;
        Some(written.content)
    }
}

impl Written {
    fn new(
        status: StatusCode,
        fields: &HeaderMap,
        anew: &[HeaderName; ANEW],
        content: u64,
    ) -> Option<Self> {
        let is_anew = |name: &HeaderName| anew.contains(name);
        // They are the last fields, in order. So it makes no difference that they are written at another place.
        let places = fields.keys().skip_while(|name| !is_anew(name));
        if !places.eq(anew) || !anew.iter().all(|name| is_a_place(fields, name)) {
            return None;
        }
        let mut buffer = WriteBuffer::on(vec![0; LONGEST].into());
        let framing = Framing::Length(content);
        let kept = fields.iter().filter(|(name, _)| !is_anew(name));
        let told = write_fields(&mut buffer, status, kept, framing)?;
        let before = anew.each_ref().map(|name| {
            buffer.put(name.as_str().as_bytes())?;
            buffer.put(b": ")?;
            let before = buffer.written().into();
            buffer.clear();
            buffer.put(b"\r\n")?;
            Some(before)
        });
        let [Some(first), Some(second)] = before else {
            return None;
        };
        write_framing(&mut buffer, framing, told)?;
        Some(Self {
            before: [first, second],
            after: buffer.written().into(),
            content,
        })
    }
}

/// Whether the field is there once, and empty.
fn is_a_place(fields: &HeaderMap, name: &HeaderName) -> bool {
    let mut values = fields.get_all(name).iter();
    values.next().is_some_and(HeaderValue::is_empty) && values.next().is_none()
}

/// An answer to a `GET` with a prepared head.
#[derive(Debug)]
pub struct Prepared<B> {
    head: Head,
    /// In the order of the head's names.
    anew: [Rc<HeaderValue>; ANEW],
    body: B,
    /// The fields of its request, as they came.
    asked: HeaderMap,
}

impl<B> Prepared<B> {
    /// An answer with these values for the fields that are new in each answer. `asked` are the fields of its request,
    /// as they came: the next request with the same bytes gets them.
    pub fn new(head: Head, anew: [Rc<HeaderValue>; ANEW], body: B, asked: HeaderMap) -> Self {
        Self {
            head,
            anew,
            body,
            asked,
        }
    }

    /// The same answer with its fields in a map.
    pub fn response(self) -> Response<B> {
        let (status, fields) = match &self.head {
            Head::Kept(head) => (head.status, head.to_map(self.anew)),
            Head::Packed(head) => (head.status(), head.to_map(self.anew)),
        };
        let mut response = Response::new(self.body);
        *response.status_mut() = status;
        *response.headers_mut() = fields;
        response
    }

    /// Writes the head, and returns how it frames the content; `None` if it cannot be written.
    pub(super) fn write_head(
        &self,
        buffer: &mut WriteBuffer,
        asked: ReplyContext,
    ) -> Option<Framing> {
        if asked.verb == Verb::Head {
            return None;
        }
        let content = match &self.head {
            Head::Kept(head) => head.write(buffer, asked, &self.anew),
            Head::Packed(head) => head.write(buffer, asked, &self.anew),
        }?;
        write_end(buffer, asked)?;
        Some(Framing::Length(content))
    }

    /// The body, and the fields of the request.
    pub(super) fn into_parts(self) -> (B, HeaderMap) {
        (self.body, self.asked)
    }
}

#[cfg(test)]
mod tests;
