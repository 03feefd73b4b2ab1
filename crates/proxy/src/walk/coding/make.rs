//! Makes the form that a request wants and that is not there yet, or follows whoever makes it.

use crate::{
    ask::Ask,
    body::Content,
    cache::Worker,
    compress::{self, Begun, Job, Recoded},
};
use http::Method;
use rules::coding::Coding;
use std::sync::Arc;
use store::Stored;

/// What goes out of a small body, its form being made here and now: the form, or the content where it is of no use. `None` where another
/// makes it, or it cannot be kept.
pub fn made_at_once(
    worker: &Worker,
    ask: &Ask,
    stored: &Arc<Stored>,
    content: &bytes::Bytes,
    coding: Coding,
) -> Option<Arc<Stored>> {
    let (memory, compressor) = (&worker.cache.memory, &worker.cache.compressor);
    let key = ask.key.as_bytes();
    let form = match compressor.making.begin(memory, key, stored.id(), coding) {
        Begun::Made(form) => form.stored,
        Begun::Mine(claim, writer, _) => {
            let counts = &compressor.counts;
            let with = compress::at_once(memory, counts, key, content, (claim, writer))?;
            with.forms.get(coding)?.stored.clone()
        }
        Begun::Theirs(_) | Begun::Unkept => return None,
    };
    Some(form.unwrap_or_else(|| stored.clone()))
}

/// `content` in `coding`: as it is being made by another, or made from here on. An error where the pool has no room, and it
/// goes out as it is.
pub fn encode(
    worker: &Worker,
    ask: &Ask,
    stored: &Arc<Stored>,
    coding: Coding,
    content: Content,
) -> Result<Content, Content> {
    if ask.method == Method::HEAD {
        return Ok(content);
    }
    let (memory, compressor) = (&worker.cache.memory, &worker.cache.compressor);
    let begin = || {
        let key = ask.key.as_bytes();
        let begun = compressor.making.begin(memory, key, stored.id(), coding);
        (Box::<[u8]>::from(key), begun)
    };
    let alone = |content| Recoded::encoded(content, coding, &compressor.counts, memory);
    let Some(pieces) = compress::pieces(&stored.body) else {
        // It comes while it is coded: from the origin, or from disk.
        return match begin() {
            (key, Begun::Mine(claim, writer, reader)) => {
                let source = compress::Source {
                    content,
                    rest: bytes::Bytes::new(),
                    key,
                    memory: memory.clone(),
                    counts: compressor.counts.clone(),
                };
                tokio::task::spawn_local(compress::follow(source, claim, writer));
                Ok(Content::following(reader, None))
            }
            (_, Begun::Theirs(reader)) => Ok(Content::following(reader, None)),
            (_, Begun::Made(_) | Begun::Unkept) => alone(content),
        };
    };
    let length = pieces.iter().map(|piece| piece.len() as u64).sum();
    let Some(place) = compressor.pool.place(length) else {
        return Err(content);
    };
    match begin() {
        (key, Begun::Mine(claim, writer, reader)) => {
            let job = Job {
                pieces,
                key,
                claim,
                writer,
                place,
            };
            if compressor.pool.make(job) {
                Ok(Content::following(reader, None))
            } else {
                Err(content)
            }
        }
        (_, Begun::Theirs(reader)) => Ok(Content::following(reader, None)),
        (_, Begun::Made(_) | Begun::Unkept) => alone(content),
    }
}
