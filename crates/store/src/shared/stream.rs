//! The log that nodes share, as a stream in Redis or Valkey.
//!
//! - `<prefix>:purges` is the stream. Its ids are the [`Position`]s. Every node appends to it and reads it, including
//!   its own entries, so that purges take effect in one order everywhere.
//! - `<prefix>:nodes` is a hash. It maps the name of a node to how far the node has applied the stream, when it last
//!   said so, and how long it trusts what it keeps without hearing anything.
//!
//! The stream itself shows whether a node has missed anything. Each read begins *at* the last entry that was applied,
//! which must still be there; then nothing before it matters, and nothing after it can be missing ([`reader`]). If it
//! is not there (trimmed, flushed, or lost with a server), everything kept counts as purged
//! ([`Log::forget`](crate::purge::Log::forget)). While the server cannot be asked, nothing kept is trusted.

mod batch;
mod clock;
mod entry;
mod event;
mod farewell;
mod heartbeat;
mod line;
mod nodes;
mod outbox;
mod publication;
mod reader;
#[cfg(test)]
mod tests;
mod trim;
mod under_way;
mod writer;

pub use event::{Event, Hook, Missed};

use crate::{
    Memory, Purged,
    purge::{Position, Purge},
    purger::{Boxed, PurgeError, SharedLog, Unreachable},
    shared::{BadUrl, Config},
};
use entry::Author;
use farewell::Said;
use kv::{Redis, redis::Servers};
use line::Line;
use outbox::PurgeOutbox;
use publication::Pending;
use rules::time::Time;
use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
    thread,
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use under_way::{ReservedRoom, UnderWay};

/// About how many entries the stream is trimmed to. A node that is away for longer than these last forgets what it
/// kept.
const MOST_ENTRIES: u64 = 100_000;

/// Why the stream cannot be read at all; the operator must fix it.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is malformed.
    #[error(transparent)]
    Url(#[from] BadUrl),
    /// The operating system refused the thread or its runtime.
    #[error("no thread for the shared purge log: {0}")]
    Thread(#[from] io::Error),
}

/// The stream. Its connections belong to a thread of its own, which ends when this is dropped.
#[derive(Debug)]
pub struct Stream {
    jobs: mpsc::UnboundedSender<Job>,
    memory: Arc<Memory>,
    told: Arc<PurgeOutbox>,
    under_way: UnderWay,
}

/// A request to the stream's thread.
#[derive(Debug)]
enum Job {
    Publish(
        Vec<Purge>,
        ReservedRoom,
        oneshot::Sender<Result<Done, Unreachable>>,
    ),
    Everywhere(Position, Duration, oneshot::Sender<Vec<String>>),
    Leave(oneshot::Sender<()>),
}

/// The results of published purges on this node, and the position of the last.
type Done = (Vec<Purged>, Position);

/// What the tasks on the stream's thread share.
struct Common {
    servers: Servers,
    /// The stream's key.
    purges: String,
    /// The key of the hash of nodes.
    nodes: String,
    /// This node's name.
    node: String,
    trust: Duration,
    memory: Arc<Memory>,
    hook: Hook,
    told: Arc<PurgeOutbox>,
    /// Tells this process's entries from those of others.
    author: Author,
    published: AtomicU64,
    /// The bytes of purges that were sent since the size of the stream was last checked.
    appended: AtomicU64,
    /// This process's purges that were sent and have yet to be read back.
    pending: Mutex<HashMap<u64, Pending>>,
    /// The connection for everything but reading, made when it is first used.
    line: tokio::sync::Mutex<Option<Line>>,
    /// When the stream was last known to have been read to its end.
    heard: Mutex<Instant>,
    /// What this node said last. Locked while something is said.
    said: tokio::sync::Mutex<Said>,
    /// The other nodes, by name.
    others: Mutex<HashMap<String, nodes::Other>>,
}

impl Stream {
    /// Reads the stream on a thread of its own, from the position of `memory`'s log. Until the stream has been read to
    /// its end, what is kept is not trusted.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start(
        config: &Config,
        memory: Arc<Memory>,
        hook: Hook,
    ) -> Result<Arc<Self>, StartError> {
        memory.log().distrust();
        let servers = Redis::primary(&config.url, config.timeout)?;
        let told = Arc::new(PurgeOutbox::default());
        told.push_unsent(&memory);
        let common = Common {
            servers,
            purges: format!("{}:purges", config.prefix),
            nodes: format!("{}:nodes", config.prefix),
            node: config.node.clone(),
            trust: config.trust,
            memory: Arc::clone(&memory),
            hook,
            told: Arc::clone(&told),
            author: Author::random(),
            published: AtomicU64::new(0),
            appended: AtomicU64::new(0),
            pending: Mutex::default(),
            line: tokio::sync::Mutex::default(),
            heard: Mutex::new(Instant::now()),
            said: tokio::sync::Mutex::default(),
            others: Mutex::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (jobs, asked) = mpsc::unbounded_channel();
        thread::Builder::new()
            .name("larder-stream".to_owned())
            .spawn(move || runtime.block_on(run(Arc::new(common), asked)))?;
        Ok(Arc::new(Self {
            jobs,
            memory,
            told,
            under_way: UnderWay::default(),
        }))
    }

    /// Asks the stream's thread, which ends only with the process.
    fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(oneshot::Sender<T>) -> Job,
        otherwise: T,
    ) -> Boxed<T> {
        let (reply, answer) = oneshot::channel();
        let _ = self.jobs.send(job(reply));
        Box::pin(async move { answer.await.unwrap_or(otherwise) })
    }
}

impl SharedLog for Stream {
    fn publish(&self, purges: Vec<Purge>) -> Boxed<Result<Done, PurgeError>> {
        let admitted = self.under_way.admit(self.memory.log(), &purges);
        let answer = admitted.map(|room| {
            let job = |reply| Job::Publish(purges, room, reply);
            self.ask(job, Err(Unreachable::Refused))
        });
        Box::pin(async move { Ok(answer?.await?) })
    }

    fn everywhere(&self, position: Position, within: Duration) -> Boxed<Vec<String>> {
        self.ask(|reply| Job::Everywhere(position, within, reply), Vec::new())
    }

    fn tell(&self, purge: Purge, at: Time) {
        self.told.push(&self.memory, purge, at);
    }

    fn leave(&self) -> Boxed<()> {
        self.ask(Job::Leave, ())
    }
}

/// Runs the stream's thread until no handle is left.
async fn run(common: Arc<Common>, mut asked: mpsc::UnboundedReceiver<Job>) {
    tokio::spawn(reader::read(Arc::clone(&common)));
    tokio::spawn(reader::watch(Arc::clone(&common)));
    tokio::spawn(writer::tell(Arc::clone(&common)));
    while let Some(job) = asked.recv().await {
        let common = Arc::clone(&common);
        tokio::spawn(async move {
            // The caller may have left.
            match job {
                Job::Publish(purges, _room, reply) => {
                    writer::publish(&common, &purges, reply).await;
                }
                Job::Everywhere(position, within, reply) => {
                    let _ = reply.send(nodes::behind(&common, position, within).await);
                }
                Job::Leave(reply) => {
                    farewell::bid(&common).await;
                    let _ = reply.send(());
                }
            }
        });
    }
}

impl Common {
    fn event(&self, event: &Event) {
        (self.hook)(event);
    }

    /// The time limit of every question to the server, so that a server that hangs is given up before what is kept is
    /// distrusted.
    fn patience(&self) -> Duration {
        self.trust / 2
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
