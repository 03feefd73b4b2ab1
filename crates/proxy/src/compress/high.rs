//! Forms at the high level, which replace those that were made fast.

use super::{Counts, Encoder, pool::Better, whole};
use bytes::{Bytes, BytesMut};
use std::{sync::Arc, time::Instant};
use store::{Body, Coded, Level, Memory, Stored};

/// Larger bodies stay at the fast level: one of them is not worth a second of a core.
const LARGEST: u64 = 8 << 20;

/// Makes a form, if its content is still there and has none that is as good.
pub fn make(memory: &Memory, counts: &Counts, better: &Better) {
    let Better {
        key,
        content,
        coding,
    } = better;
    let Some(stored) = held(memory, key, *content) else {
        return;
    };
    let old = stored.forms.get(*coding);
    let Some(pieces) = pieces(&stored.body) else {
        return;
    };
    let length = pieces.iter().map(|piece| piece.len() as u64).sum();
    if length > LARGEST || old.is_some_and(|old| old.level == Level::High || old.stored.is_none()) {
        return;
    }
    // No longer than the content, or it is not kept.
    let mut room = memory.budget().reservation();
    let encoder = Encoder::shared(memory.budget(), *coding, Level::High, Some(length));
    let (Some(encoder), true) = (encoder, room.grow(length)) else {
        return;
    };
    memory.make_room();
    let began = Instant::now();
    let mut all = BytesMut::new();
    let give = |out: BytesMut| all.extend_from_slice(&out);
    if whole::encode(&pieces, encoder, give).is_err() {
        return;
    }
    let sizes = (length, all.len() as u64);
    counts.made(*coding, Level::High, sizes, began.elapsed());
    let body = Body::kept(vec![Bytes::copy_from_slice(&all)], all.len());
    let mut coded = whole::coded(*coding, Level::High, length, body);
    keep_the_smaller(&stored, &mut coded);
    memory.add_form(key, *content, &coded);
}

/// Keeps the form of the fast level if it is the smaller one, as happens now and then. It is not made again.
fn keep_the_smaller(stored: &Stored, coded: &mut Coded) {
    let old = stored.forms.get(coded.coding);
    let Some(old) = old.and_then(|form| Some((form, form.stored.as_ref()?))) else {
        return;
    };
    let length = |body: &Body| body.length().unwrap_or(u64::MAX);
    if coded.body.as_ref().map_or(u64::MAX, length) >= length(&old.1.body) {
        coded.body = Some(old.1.body.clone());
        coded.hash = old.0.hash();
    }
}

fn held(memory: &Memory, key: &[u8], content: u64) -> Option<Arc<Stored>> {
    let variants = memory.peek(key)?;
    let mut all = variants.as_slice().iter();
    all.find(|stored| stored.content() == content).cloned()
}

/// Returns the content, if all of it is in memory.
pub fn pieces(body: &Body) -> Option<Vec<Bytes>> {
    match body {
        Body::Whole(bytes) => Some(vec![bytes.clone()]),
        Body::Mapped(extent) => Some(vec![extent.bytes()]),
        Body::Chunks(chunks) => Some(chunks.to_vec()),
        Body::Disk(_) | Body::Parts(_) | Body::Filling(_) => None,
    }
}
