//! Heads ready to send: a worker's own copies of the heads that it sends often.
//!
//! Stored heads are packed, since most are rarely requested, and are sent from there. A head that this worker has sent
//! before is kept unpacked, over bytes of its own, and also in the form in which it is sent over HTTP/1. A hit then
//! copies bytes, or at worst a map, without parsing or checking anything. Workers do not contend for the reference
//! count of one allocation. Heads are keyed by the stored response's identity, so that none can be out of date.

mod values;

use crate::{
    listen::{Head, PackedHead, PreparedHead},
    walk::report::CACHE_STATUS,
};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use std::{rc::Rc, sync::Arc};
use store::{Body, Fields, Stored};

pub use values::FieldValueCache;

/// How many heads are kept; about half a megabyte for each worker at the usual size of a head.
const SLOTS: usize = 256;

/// The largest head that is kept, in bytes: all of a worker's take three megabytes at most, of no budget.
const LARGEST: usize = 4 * 1024;

/// Room for the fields that are added to an answer, so that the map does not grow.
const ADDED: usize = 4;

/// The heads of one worker. A stored response has one slot; the last response of a slot that was requested twice holds
/// it.
#[derive(Debug)]
pub struct Heads {
    slots: Box<[HeadSlot]>,
}

#[derive(Debug, Default)]
struct HeadSlot {
    /// The response that was last requested here. It is unpacked and kept when it is requested again.
    last: u64,
    held: u64,
    head: Option<Rc<PreparedHead>>,
}

impl Default for Heads {
    fn default() -> Self {
        Self {
            slots: (0..SLOTS).map(|_| HeadSlot::default()).collect(),
        }
    }
}

impl Heads {
    /// The head of `stored`, for the caller to change.
    pub fn head(&mut self, stored: &Stored) -> HeaderMap {
        let id = stored.id();
        let unpack = || stored.fields.unpack(ADDED);
        let Some(slot) = self.slots.get_mut(id as usize % SLOTS) else {
            return unpack();
        };
        if slot.held != id {
            // The length of a body that is still coming may not be known yet.
            if !slot.is_to_keep(stored) || matches!(stored.body, Body::Filling(_)) {
                slot.last = id;
                return unpack();
            }
            slot.keep(stored);
        }
        let held = slot.head.as_ref();
        held.map_or_else(unpack, |head| head.fields().clone())
    }

    /// The head of `stored`, whose body is complete, as it is sent before `content` bytes of content, with [`ANEW`] to
    /// be added; `None` if it needs a map.
    pub fn as_sent(&mut self, stored: &Arc<Stored>, content: u64) -> Option<Head> {
        let id = stored.id();
        let slot = self.slots.get_mut(id as usize % SLOTS)?;
        if slot.held != id && !slot.is_to_keep(stored) {
            let packed = PackedHead::new(stored, &ANEW, content)?;
            slot.last = id;
            return Some(Head::Packed(packed));
        }
        if slot.held != id {
            slot.keep(stored);
        }
        let head = slot.head.as_ref()?;
        let is_written = head.is_written_for(content);
        is_written.then(|| Head::Kept(head.clone()))
    }
}

impl HeadSlot {
    /// Whether the head of `stored`, which is not held, is to be kept from now on.
    fn is_to_keep(&self, stored: &Stored) -> bool {
        self.last == stored.id() && stored.fields.len() <= LARGEST
    }

    fn keep(&mut self, stored: &Stored) {
        self.head = Some(Rc::new(prepare(stored)));
        self.held = stored.id();
    }
}

/// The fields that are new in every hit.
static ANEW: [HeaderName; 2] = [header::AGE, CACHE_STATUS];

fn prepare(stored: &Stored) -> PreparedHead {
    let fields = own_copy(&stored.fields);
    PreparedHead::new(stored.status, fields, ANEW.clone(), stored.body.length())
}

/// Copies the fields to bytes that no other worker touches, with places for those that every hit sets. To set these
/// then changes a value, and the map does not grow.
fn own_copy(fields: &Fields) -> HeaderMap {
    let mut head = fields.detached().unpack(ADDED);
    for name in &ANEW {
        head.entry(name).or_insert(UNSET);
    }
    head
}

/// Stands for a field that is not set yet. Never sent: [`add`] and [`clear_unset`] replace it.
const UNSET: HeaderValue = HeaderValue::from_static("");

/// Adds a member to the list field `name`.
pub fn add(head: &mut HeaderMap, name: HeaderName, value: HeaderValue) {
    match head.get_mut(&name) {
        Some(place) if place.is_empty() => *place = value,
        _ => {
            head.append(name, value);
        }
    }
}

/// Removes the field `name` if it is still not set.
pub fn clear_unset(head: &mut HeaderMap, name: &HeaderName) {
    if head.get(name).is_some_and(HeaderValue::is_empty) {
        head.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use http::{HeaderValue, StatusCode, header};

    fn stored(tag: &str) -> Arc<Stored> {
        let mut fields = HeaderMap::new();
        fields.insert(header::ETAG, HeaderValue::from_str(tag).expect("valid"));
        fields.insert(header::DATE, HeaderValue::from_static("some day"));
        sample::stored(StatusCode::OK, &fields)
    }

    #[test]
    fn large_heads_are_not_kept() {
        let mut heads = Heads::default();
        for (length, is_kept) in [(LARGEST - 100, true), (LARGEST, false)] {
            let one = stored(&"x".repeat(length));
            for _ in 0..3 {
                heads.head(&one);
            }
            let sent = heads.as_sent(&one, 0);
            assert_eq!(matches!(sent, Some(Head::Kept(_))), is_kept, "{length}");
            assert!(is_kept || matches!(sent, Some(Head::Packed(_))), "{length}");
        }
    }

    #[test]
    fn each_response_gets_its_own_head_however_often_slots_are_shared() {
        let mut heads = Heads::default();
        let all: Vec<_> = (0..3 * SLOTS)
            .map(|number| stored(&format!("\"{number}\"")))
            .collect();
        for turn in 0..3 {
            for one in &all {
                let first = heads.as_sent(one, 0);
                assert!(matches!(first, Some(Head::Packed(_))), "turn {turn}");
                for time in ["once", "twice", "again"] {
                    let mut head = heads.head(one);
                    clear_unset(&mut head, &header::AGE);
                    clear_unset(&mut head, &CACHE_STATUS);
                    assert_eq!(head, one.fields.unpack(0), "turn {turn}, {time}");
                }
                let Some(Head::Kept(kept)) = heads.as_sent(one, 0) else {
                    panic!("it was sent before");
                };
                let tag = kept.fields().get(header::ETAG).cloned();
                assert_eq!(tag, one.fields.get(&header::ETAG), "turn {turn}");
                assert!(heads.as_sent(one, 1).is_none(), "of another length");
            }
        }
    }
}
