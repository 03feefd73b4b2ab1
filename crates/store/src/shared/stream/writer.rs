//! Appends to the stream.

use super::{
    Common, Done, Event, MOST_ENTRIES, Pending,
    entry::{BY, By, NODE, PURGE, Part},
    line::Line,
    lock, trim,
};
use crate::{
    Memory,
    purge::{Purge, What},
    purger::Unreachable,
    shared::remote::{Error, Kind},
};
use redis::{Cmd, Pipeline, cmd};
use rules::time::Time;
use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, Mutex, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::{
    sync::{Notify, oneshot},
    time::{sleep, timeout},
};

/// A purge that has not taken effect here within this time is not acknowledged.
const PUBLISH_WITHIN: Duration = Duration::from_secs(2);

/// The most invalidations that wait for the server.
const MOST_TOLD: usize = 1 << 16;

/// The most bytes that these may take: their URLs are as long as clients make them.
const MOST_TOLD_BYTES: usize = 16 << 20;

/// How many invalidations are sent at once.
const TOLD_AT_ONCE: usize = 256;

/// How long to wait after a failure.
const RETRY: Duration = Duration::from_millis(200);

/// Invalidations on their way to other nodes.
#[derive(Debug, Default)]
pub struct PurgeOutbox {
    queue: Mutex<SendQueue>,
    more: Notify,
}

#[derive(Debug, Default)]
struct SendQueue {
    /// In the order in which they took effect here, with their numbers in this node's log. What is being sent is first.
    purges: VecDeque<(u64, Purge)>,
    /// The bytes of what they name.
    bytes: usize,
    overflowed: bool,
}

impl PurgeOutbox {
    /// Applies `purge` to `memory` and queues it. If too many wait, one purge of everything replaces them.
    pub fn push(&self, memory: &Memory, purge: Purge, at: Time) {
        // Both under the lock, so that the copies come back in the order of the entries.
        let mut queue = lock(&self.queue);
        let sequence = memory.apply_ahead(purge.clone(), at).sequence;
        queue.push(sequence, purge);
        drop(queue);
        self.more.notify_one();
    }

    /// Queues what took effect before a restart and may not have reached the others. Called before anything else is
    /// queued.
    pub fn push_unsent(&self, memory: &Memory) {
        let mut queue = lock(&self.queue);
        for (sequence, purge) in memory.log().take_unsent() {
            queue.push(sequence, purge);
        }
    }

    /// Applies what is queued once more, because this node's log has [forgotten](crate::purge::Log::forget) everything,
    /// including that these purges are ahead of the shared log. They are sent under their new numbers. Copies that are
    /// being sent under old numbers do no harm.
    pub fn push_again(&self, memory: &Memory, at: Time) {
        let mut queue = lock(&self.queue);
        for (sequence, purge) in &mut queue.purges {
            *sequence = memory.apply_ahead(purge.clone(), at).sequence;
        }
    }

    /// Returns the first purges to send, and whether there have been too many.
    fn first(&self) -> (Vec<(u64, Purge)>, bool) {
        let mut queue = lock(&self.queue);
        let first = queue.purges.iter().take(TOLD_AT_ONCE);
        let first = first.cloned().collect();
        (first, mem::take(&mut queue.overflowed))
    }

    /// Notes that all up to the one with this number have been delivered.
    fn delivered(&self, last: u64) {
        let mut queue = lock(&self.queue);
        let count = queue
            .purges
            .partition_point(|(sequence, _)| *sequence <= last);
        let delivered = queue.purges.drain(..count);
        let bytes: usize = delivered.map(|(_, purge)| purge.weight()).sum();
        queue.bytes -= bytes;
    }
}

impl SendQueue {
    fn push(&mut self, sequence: u64, mut purge: Purge) {
        if self.purges.len() >= MOST_TOLD || self.bytes + purge.weight() > MOST_TOLD_BYTES {
            self.purges.clear();
            self.bytes = 0;
            purge = Purge::hard(What::Everything);
            self.overflowed = true;
        }
        self.bytes += purge.weight();
        self.purges.push_back((sequence, purge));
    }
}

/// Sends what is queued, until it is delivered.
pub async fn tell(common: Arc<Common>) {
    loop {
        let (purges, overflowed) = common.told.first();
        if overflowed {
            common.event(&Event::Overflow);
        }
        let Some((last, _)) = purges.last() else {
            common.told.more.notified().await;
            continue;
        };
        let copies = || {
            purges.iter().map(|(sequence, purge)| {
                let by = By {
                    author: common.author,
                    part: Part::Copy(*sequence),
                };
                (purge, Some(by))
            })
        };
        // What may have arrived after all is sent again: purging twice does no harm.
        while append(&common, copies()).await.is_err() {
            sleep(RETRY).await;
        }
        common.told.delivered(*last);
        trim::appended(&common).await;
    }
}

/// Appends `purges`, and replies when this node has read them back and applied them.
pub async fn publish(
    common: &Common,
    purges: &[Purge],
    reply: oneshot::Sender<Result<Done, Unreachable>>,
) {
    if purges.is_empty() {
        let position = common.memory.log().position().unwrap_or_default();
        let _ = reply.send(Ok((Vec::new(), position)));
        return;
    }
    let outcome = timeout(PUBLISH_WITHIN, applied(common, purges)).await;
    let outcome = outcome.unwrap_or_else(|_| {
        // If the connection was lost silently (a firewall has forgotten it), the next purge must not fail too.
        common.hang_up();
        Err(Unreachable::Unknown)
    });
    // The caller may have left.
    let _ = reply.send(outcome);
    trim::appended(common).await;
}

/// Appends `purges`, and waits until they are applied. If a kept connection has been closed, tries again over a new
/// one.
async fn applied(common: &Common, purges: &[Purge]) -> Result<Done, Unreachable> {
    let Ok(line) = common.line().await else {
        return Err(Unreachable::Refused);
    };
    let is_kept = line.is_kept;
    match publication(common, line, purges).await {
        // The connection was most likely closed while idle (Redis has `timeout`), so nothing was sent. And purging
        // twice does no harm.
        Err(error) if is_kept && error.kind == Kind::Closed => {
            let again = async { publication(common, common.line().await?, purges).await };
            again.await.map_err(|_| Unreachable::Unknown)
        }
        done => done.map_err(|error| meaning(&error)),
    }
}

/// Publishes `purges` over this connection. Copies from another attempt have another number, and are not counted.
async fn publication(common: &Common, line: Line, purges: &[Purge]) -> Result<Done, Error> {
    let mut awaited = Awaited::new(common, purges.len());
    let by = By {
        author: common.author,
        part: Part::Of(awaited.number),
    };
    send(common, line, purges.iter().map(|purge| (purge, Some(by)))).await?;
    // The reader keeps the other end until it replies.
    let done = (&mut awaited.done).await;
    done.map_err(|error| Error::new(Kind::Unreachable, error))
}

/// A publication that is to be read back. When this is dropped, nobody waits for it any more.
struct Awaited<'a> {
    common: &'a Common,
    number: u64,
    done: oneshot::Receiver<Done>,
}

impl<'a> Awaited<'a> {
    /// Registers a publication of `count` purges.
    fn new(common: &'a Common, count: usize) -> Self {
        let number = common.published.fetch_add(1, Relaxed);
        let (reply, done) = oneshot::channel();
        let pending = Pending {
            count,
            done: Vec::with_capacity(count),
            reply,
        };
        lock(&common.pending).insert(number, pending);
        Self {
            common,
            number,
            done,
        }
    }
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        lock(&self.common.pending).remove(&self.number);
    }
}

/// Purges that nobody waits for.
pub fn anonymous(purges: &[Purge]) -> impl Iterator<Item = (&Purge, Option<By>)> {
    purges.iter().map(|purge| (purge, None))
}

/// Appends all of `purges`. On an error, most likely none was appended.
///
/// # Errors
/// They were not sent, or sent without an answer.
pub async fn append<'a>(
    common: &Common,
    purges: impl Iterator<Item = (&'a Purge, Option<By>)>,
) -> Result<(), Unreachable> {
    let Ok(line) = common.line().await else {
        return Err(Unreachable::Refused);
    };
    let sent = send(common, line, purges).await;
    sent.map_err(|error| meaning(&error))
}

async fn send<'a>(
    common: &Common,
    mut line: Line,
    purges: impl Iterator<Item = (&'a Purge, Option<By>)>,
) -> Result<(), Error> {
    let mut all = Pipeline::new();
    all.atomic();
    for (purge, by) in purges {
        all.add_command(entry(common, purge, by));
    }
    let sent = line.all(&all, common.patience()).await;
    if sent.is_err() {
        common.hang_up();
    }
    sent
}

/// What an error means for purges that were sent.
fn meaning(error: &Error) -> Unreachable {
    match error.kind {
        Kind::Unreachable | Kind::Closed | Kind::Timeout | Kind::Protocol => Unreachable::Unknown,
        // What the server itself refuses has no effect.
        _ => Unreachable::Refused,
    }
}

fn entry(common: &Common, purge: &Purge, by: Option<By>) -> Cmd {
    let text = purge.to_text();
    common.appended.fetch_add(text.len() as u64, Relaxed);
    let mut add = cmd("XADD");
    add.arg(&common.purges)
        .arg("MAXLEN")
        .arg("~")
        .arg(MOST_ENTRIES)
        .arg("*")
        .arg(PURGE)
        .arg(text)
        .arg(NODE)
        .arg(&common.node);
    if let Some(by) = by {
        add.arg(BY).arg(by.to_string());
    }
    add
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Queues `count` invalidations of URLs of this length. Returns the first in the queue, and whether there were too
    /// many.
    fn told(count: usize, length: usize) -> (Purge, bool) {
        let (memory, told) = (Memory::new(1 << 20, Arc::default()), PurgeOutbox::default());
        for number in 0..count {
            let url = format!("//a.example/{number:0length$}");
            told.push(&memory, Purge::hard(What::Url(vec![url])), Time::default());
        }
        let (first, overflowed) = told.first();
        assert!(lock(&told.queue).bytes <= MOST_TOLD_BYTES);
        (first.into_iter().next().expect("some").1, overflowed)
    }

    #[test]
    fn what_waits_is_bounded_by_count_and_by_bytes() {
        let everything = Purge::hard(What::Everything);
        for (count, length, overflows) in [
            (MOST_TOLD, 8, false),
            (MOST_TOLD + 1, 8, true),
            (1000, 8000, false),
            (2200, 8000, true),
        ] {
            let (first, overflowed) = told(count, length);
            assert_eq!(overflowed, overflows, "{count} of {length}");
            assert_eq!(first == everything, overflows, "{count} of {length}");
        }
    }

    #[test]
    fn what_is_delivered_makes_room() {
        let (memory, told) = (Memory::new(1 << 20, Arc::default()), PurgeOutbox::default());
        for _ in 0..10 {
            let tags = Purge::hard(What::Tags(vec!["x".repeat(1 << 20)]));
            told.push(&memory, tags, Time::default());
        }
        let (first, _) = told.first();
        told.delivered(first.last().expect("some").0);
        assert_eq!(lock(&told.queue).bytes, 0);
    }
}
