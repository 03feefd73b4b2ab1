//! Makes the form that a request wants and that is not there yet, or follows the task that makes it.

use crate::{
    ask::Ask,
    body::Content,
    cache::Worker,
    compress::{self, Begun, Encoder, FormSource, Instead, Job, Maker, Recoded, Small},
    walk::pump::Room,
};
use http::Method;
use rules::coding::Coding;
use std::sync::{Arc, atomic::Ordering::Relaxed};
use store::{Level, Stored};

/// Makes the form of a small body here and now, and returns what goes out: the form, or the stored response if the form
/// is of no use or there is no room to make it. `None` if another task makes it, or if it cannot be kept.
pub fn made_at_once(
    worker: &Worker,
    ask: &Ask,
    stored: &Arc<Stored>,
    content: &bytes::Bytes,
    coding: Coding,
) -> Option<Arc<Stored>> {
    let (memory, compressor) = (&worker.cache.memory, &worker.cache.compressor);
    let (key, counts) = (ask.key.as_bytes(), &compressor.counts);
    let room = || Small::take(memory, coding, content.len() as u64);
    let what = (&**stored, coding);
    let form = match compressor.making.begin(memory, key, what, room) {
        Begun::Mine(mine) => {
            let coded = compress::at_once(memory, counts, key, content, mine);
            coded.and_then(|coded| stored.form(coded).stored)
        }
        Begun::Not(Instead::Made(form)) => form.stored,
        Begun::Not(Instead::NoRoom) => {
            counts.refused.fetch_add(1, Relaxed);
            None
        }
        Begun::Not(Instead::Theirs(_) | Instead::Unkept) => return None,
    };
    Some(form.unwrap_or_else(|| stored.clone()))
}

/// Returns `content` in `coding`: as another task makes it, or made from here on. Returns the content itself as an
/// error, to go out as it is, if too many wait or there is no room.
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
    let (key, what) = (ask.key.as_bytes(), (&**stored, coding));
    match compress::pieces(&stored.body) {
        Some(pieces) => by_pool(worker, key, what, pieces, content),
        None => as_it_comes(worker, ask, what, content),
    }
}

fn by_pool(
    worker: &Worker,
    key: &[u8],
    what: (&Stored, Coding),
    pieces: Vec<bytes::Bytes>,
    content: Content,
) -> Result<Content, Content> {
    let (memory, compressor) = (&worker.cache.memory, &worker.cache.compressor);
    let length = pieces.iter().map(|piece| piece.len() as u64).sum();
    let place = || compressor.pool.place(length, what.1);
    let mine = match compressor.making.begin(memory, key, what, place) {
        Begun::Mine(mine) => mine,
        Begun::Not(instead) => return otherwise(worker, what.1, instead, content),
    };
    memory.make_room();
    let job = Job {
        pieces,
        key: key.into(),
        claim: mine.claim,
        writer: mine.writer,
        place: mine.room,
    };
    if compressor.pool.make(job) {
        Ok(Content::following(mine.reader, None))
    } else {
        Err(content)
    }
}

/// Codes the content while it comes from the origin or from disk.
fn as_it_comes(
    worker: &Worker,
    ask: &Ask,
    what: (&Stored, Coding),
    content: Content,
) -> Result<Content, Content> {
    let (memory, compressor) = (&worker.cache.memory, &worker.cache.compressor);
    let (key, length) = (ask.key.as_bytes(), content.length());
    let encoder = || Encoder::shared(memory.budget(), what.1, Level::Fast, length);
    let mine = match compressor.making.begin(memory, key, what, encoder) {
        Begun::Mine(mine) => mine,
        Begun::Not(instead) => return otherwise(worker, what.1, instead, content),
    };
    memory.make_room();
    let source = FormSource {
        content,
        rest: bytes::Bytes::new(),
        key: key.into(),
        memory: memory.clone(),
        counts: compressor.counts.clone(),
    };
    let maker = Maker {
        claim: mine.claim,
        writer: mine.writer,
        encoder: mine.room,
        most: Room::of(worker, ask).in_memory,
    };
    tokio::task::spawn_local(compress::follow(source, maker));
    Ok(Content::following(mine.reader, None))
}

fn otherwise(
    worker: &Worker,
    coding: Coding,
    instead: Instead,
    content: Content,
) -> Result<Content, Content> {
    let (memory, counts) = (&worker.cache.memory, &worker.cache.compressor.counts);
    match instead {
        Instead::Theirs(reader) => Ok(Content::following(reader, None)),
        Instead::NoRoom => {
            counts.refused.fetch_add(1, Relaxed);
            Err(content)
        }
        Instead::Made(form) => match form.stored {
            Some(made) => Ok(Content::all_of(&made.body)),
            None => Err(content),
        },
        Instead::Unkept => Recoded::encoded(content, coding, counts, memory),
    }
}
