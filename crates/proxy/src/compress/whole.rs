//! Makes forms: at once, while the content streams, or on the pool.

use super::{Claim, Counts, Encoder, Mine};
use crate::{body::Content, patience::wait_for_room};
use bytes::{Bytes, BytesMut};
use rules::coding::Coding;
use std::{
    future::poll_fn,
    io,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};
use store::{
    Body, Coded, Level, Memory, Reservation,
    fill::{Pushed, Writer},
};
use xxhash_rust::xxh3::Xxh3;

/// Saving less than a sixteenth is worth neither the memory nor the client's time.
const LEAST_GAIN: u64 = 16;

/// Bytes that are coded at once.
const PART: usize = 64 << 10;

/// Encodes `pieces` into `give`.
pub fn encode(
    pieces: &[Bytes],
    mut encoder: Encoder,
    mut give: impl FnMut(BytesMut),
) -> io::Result<()> {
    let mut out = BytesMut::new();
    for part in pieces.iter().flat_map(|piece| piece.chunks(PART)) {
        encoder.push(part, &mut out)?;
        if out.len() >= PART {
            give(std::mem::take(&mut out));
        }
    }
    encoder.finish(&mut out)?;
    give(out);
    Ok(())
}

/// What is needed to make a small body's form: its encoder, and room for the output.
pub struct Small(Encoder, Reservation);

impl Small {
    /// Takes what a body of `length` bytes needs; `None` if there is no room for it, since the form would be thrown
    /// away.
    pub fn take(memory: &Memory, coding: Coding, length: u64) -> Option<Self> {
        let budget = memory.budget();
        let encoder = Encoder::shared(budget, coding, Level::Fast, Some(length))?;
        let mut room = budget.reservation();
        room.grow(length).then_some(Self(encoder, room))
    }
}

/// Makes a form of a small body at once; `None` if it cannot be kept, or the encoder failed.
pub fn at_once(
    memory: &Memory,
    counts: &Counts,
    key: &[u8],
    content: &Bytes,
    mine: Mine<Small>,
) -> Option<Coded> {
    let began = Instant::now();
    memory.make_room();
    let (claim, mut writer) = (mine.claim, mine.writer);
    let Small(encoder, mut room) = mine.room;
    let give = |out: BytesMut| {
        // What was reserved becomes the writer's.
        room.release();
        writer.push(&out);
    };
    encode(std::slice::from_ref(content), encoder, give).ok()?;
    let (body, length) = (writer.finish()?, content.len() as u64);
    let coded = keep(memory, counts, key, &claim, length, body, began.elapsed());
    Some(coded)
}

/// Gives a form that was made at the fast level to the responses with its content.
pub fn keep(
    memory: &Memory,
    counts: &Counts,
    key: &[u8],
    claim: &Claim,
    taken: u64,
    body: Body,
    took: Duration,
) -> Coded {
    let sizes = (taken, body.length().unwrap_or_default());
    counts.made(claim.coding(), Level::Fast, sizes, took);
    let coded = coded(claim.coding(), Level::Fast, taken, body);
    if !memory.add_form(key, claim.content(), &coded) {
        give_up(memory, key, claim);
    }
    coded
}

/// Notes that the form is more than memory keeps. From now on requests get the content as it is, and it is not made
/// again.
fn give_up(memory: &Memory, key: &[u8], claim: &Claim) {
    let unkept = Coded {
        coding: claim.coding(),
        level: Level::Fast,
        body: None,
        hash: 0,
    };
    memory.add_form(key, claim.content(), &unkept);
}

/// Returns `body` as a form of content of `taken` bytes.
pub fn coded(coding: Coding, level: Level, taken: u64, body: Body) -> Coded {
    let given = body.length().unwrap_or_default();
    let pays = given + taken / LEAST_GAIN < taken;
    let hash = hash(&body);
    Coded {
        coding,
        level,
        body: pays.then_some(body),
        hash,
    }
}

fn hash(body: &Body) -> u64 {
    let mut hash = Xxh3::new();
    match body {
        Body::Whole(bytes) => hash.update(bytes),
        Body::Mapped(extent) => hash.update(&extent.bytes()),
        Body::Chunks(chunks) => chunks.iter().for_each(|chunk| hash.update(chunk)),
        // Forms are made in memory.
        Body::Disk(_) | Body::Parts(_) | Body::Filling(_) => {}
    }
    hash.digest()
}

/// What makes a form while its content comes.
pub struct Maker {
    /// The right to make it.
    pub claim: Claim,
    /// Where clients follow it.
    pub writer: Writer,
    /// Makes it.
    pub encoder: Encoder,
    /// The most bytes of a form that is kept.
    pub most: u64,
}

/// What a form is made from while it comes.
pub struct FormSource {
    /// Follows the content.
    pub content: Content,
    /// What has come of it and is still to be coded.
    pub rest: Bytes,
    /// The key of its response.
    pub key: Box<[u8]>,
    /// Where the form is kept.
    pub memory: Arc<Memory>,
    /// Where the form is counted.
    pub counts: Arc<Counts>,
}

/// Encodes content as it comes, for all clients that want it so. The form is kept at the end if nothing went wrong.
///
/// A form that is larger than may be kept, or whose content is not kept, is made for its present readers, and never
/// again. Ends early if it has no readers any more.
pub async fn follow(mut source: FormSource, maker: Maker) {
    let Maker {
        claim,
        mut writer,
        mut encoder,
        most,
    } = maker;
    let (mut taken, mut given, mut held, mut worked) = (0, 0, false, Duration::ZERO);
    loop {
        let next = poll_fn(|cx| source.poll_next(&writer, held, cx)).await;
        let began = Instant::now();
        let mut out = BytesMut::new();
        let done = match &next {
            Next::Data(data) => {
                taken += data.len() as u64;
                held = true;
                encoder.push(data, &mut out)
            }
            Next::Pause => {
                held = false;
                encoder.flush(&mut out)
            }
            Next::End => encoder.finish(&mut out),
            Next::Broken => return,
        };
        worked += began.elapsed();
        if done.is_err() {
            return;
        }
        given += out.len() as u64;
        if (given > most || source.content.is_spilled()) && !writer.is_spilled() {
            source.counts.pass(claim.coding());
            give_up(&source.memory, &source.key, &claim);
            writer.spill();
        }
        if !out.is_empty() && writer.push(&out) == Pushed::Kept {
            source.memory.make_room();
        }
        wait_for_room(&mut writer, |_| {}).await;
        match next {
            Next::End => break,
            // However fast the content comes, a worker has other requests to serve.
            Next::Data(_) => tokio::task::yield_now().await,
            Next::Pause | Next::Broken => {}
        }
    }
    source.end(&claim, writer.finish(), (taken, given), worked);
}

/// What comes next of the content.
enum Next {
    Data(Bytes),
    /// Nothing for now, and something is held back.
    Pause,
    End,
    /// It broke off, or has no readers any more.
    Broken,
}

impl FormSource {
    /// Ends when all of it has been encoded: `taken` bytes into `given`.
    fn end(self, claim: &Claim, body: Option<Body>, (taken, given): (u64, u64), worked: Duration) {
        let (memory, counts) = (&self.memory, &self.counts);
        match body {
            Some(body) => {
                keep(memory, counts, &self.key, claim, taken, body, worked);
            }
            None => counts.coded(claim.coding(), (taken, given)),
        }
    }

    fn poll_next(&mut self, writer: &Writer, held: bool, cx: &mut Context<'_>) -> Poll<Next> {
        if writer.fill().poll_abandoned(cx).is_ready() {
            return Poll::Ready(Next::Broken);
        }
        if self.rest.is_empty() {
            match self.content.poll(cx) {
                Poll::Ready(Some(Ok(data))) => self.rest = data,
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Next::Broken),
                Poll::Ready(None) => return Poll::Ready(Next::End),
                Poll::Pending if held => return Poll::Ready(Next::Pause),
                Poll::Pending => return Poll::Pending,
            }
        }
        let part = self.rest.len().min(PART);
        Poll::Ready(Next::Data(self.rest.split_to(part)))
    }
}

#[cfg(test)]
mod tests;
