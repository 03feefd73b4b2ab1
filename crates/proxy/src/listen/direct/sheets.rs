//! Short content of stored responses that is sent often. It is kept after room for a head, so that it is not copied
//! each time.

use super::buffer::WriteBuffer;
use bytes::Bytes;
use std::ptr;

/// The most sheets of one worker.
const MOST: usize = 16;

/// Bytes of room for a head.
const FRONT: usize = 4 << 10;

/// A worker's sheets. Each content has one place, which it shares with others.
#[derive(Default)]
pub(super) struct Sheets {
    places: [SheetSlot; MOST],
}

#[derive(Default)]
struct SheetSlot {
    sheet: Option<Sheet>,
    /// The address of the content that was wanted here last and has no sheet; by now other content may be there. It
    /// gets the sheet when it is wanted twice in a row, since content that is requested once only passes by.
    wanted: Option<*const [u8]>,
}

/// Room for a head, and content after it.
struct Sheet {
    bytes: Vec<u8>,
    /// The content that was copied. As long as it is held here, no other content can have its address.
    content: Bytes,
}

impl Sheets {
    /// `head` with `content` after it; `None` if `content` has no sheet. It gets one if it was wanted before.
    pub(super) fn behind(&mut self, head: &WriteBuffer, content: &Bytes) -> Option<&[u8]> {
        let place = self.places.get_mut(index(content))?;
        if !place
            .sheet
            .as_ref()
            .is_some_and(|sheet| sheet.is_of(content))
        {
            let last = place.wanted.replace(&raw const **content);
            if !last.is_some_and(|last| ptr::eq(last, &raw const **content)) {
                return None;
            }
            place.sheet = Some(Sheet::of(content.clone(), place.sheet.take()));
        }
        place.wanted = None;
        place.sheet.as_mut()?.with(head.written())
    }
}

impl Sheet {
    /// Makes a sheet of `content`, in the memory of an old one.
    fn of(content: Bytes, old: Option<Self>) -> Self {
        let mut bytes = old.map(|old| old.bytes).unwrap_or_default();
        bytes.resize(FRONT, 0);
        bytes.extend_from_slice(&content);
        Self { bytes, content }
    }

    fn is_of(&self, at: &[u8]) -> bool {
        ptr::eq(&raw const *self.content, at)
    }

    /// The content with `head` before it; `None` if the head is too long.
    fn with(&mut self, head: &[u8]) -> Option<&[u8]> {
        let begin = FRONT.checked_sub(head.len())?;
        self.bytes.get_mut(begin..FRONT)?.copy_from_slice(head);
        self.bytes.get(begin..)
    }
}

/// The place of the content at `at`. Memory is allocated in steps of 16 bytes and more; larger steps are told apart
/// too.
fn index(at: &[u8]) -> usize {
    let address = at.as_ptr().addr();
    let mixed = (address >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed >> (usize::BITS - MOST.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(sheets: &mut Sheets, head: &[u8], content: &Bytes) -> Option<Vec<u8>> {
        let mut buffer = WriteBuffer::on(vec![0; 8 << 10].into());
        buffer.put(head).expect("room");
        sheets.behind(&buffer, content).map(<[u8]>::to_vec)
    }

    #[test]
    fn what_repeats_is_sent_from_its_sheet_with_each_answers_own_head() {
        let mut sheets = Sheets::default();
        let content = Bytes::from(vec![b'a'; 9000]);
        assert_eq!(
            sent(&mut sheets, b"first", &content),
            None,
            "only once so far"
        );
        for head in [
            &b"the head"[..],
            b"",
            b"a longer head than before",
            b"short",
        ] {
            let expected = [head, &content].concat();
            assert_eq!(sent(&mut sheets, head, &content), Some(expected));
        }
        let long = [b'h'; FRONT + 1];
        assert_eq!(sent(&mut sheets, &long, &content), None, "no room");
    }

    /// The allocator gives freed memory to the next content.
    #[test]
    fn nothing_is_sent_for_what_lies_where_it_lay() {
        let mut sheets = Sheets::default();
        for round in 0..200_u32 {
            let content = Bytes::from(vec![u8::try_from(round % 251).unwrap(); 4096]);
            for _ in 0..3 {
                if let Some(all) = sent(&mut sheets, b"", &content) {
                    assert!(all == content, "round {round}");
                }
            }
        }
    }

    #[test]
    fn what_is_wanted_in_turn_does_not_push_out_what_is_there() {
        let mut sheets = Sheets::default();
        let hot = Bytes::from(vec![b'h'; 5000]);
        sent(&mut sheets, b"", &hot);
        assert!(sent(&mut sheets, b"", &hot).is_some());
        let passing: Vec<_> = (0..1000).map(|_| Bytes::from(vec![b'p'; 5000])).collect();
        for passing in &passing {
            assert!(sent(&mut sheets, b"", passing).is_none(), "once only");
            assert!(sent(&mut sheets, b"", &hot).is_some());
        }
    }
}
