//! The log that nodes share, as a stream in Redis or Valkey.
//!
//! - `<prefix>:purges` is the stream. Its ids are the [`Position`]s. Every node appends to it and reads it, its own entries
//!   included, so that purges take effect in one order everywhere.
//! - `<prefix>:nodes` is a hash: name of a node → how far it has applied the stream, when it last said so, and for how long it
//!   trusts what it keeps without hearing anything.
//!
//! Whether a node has missed anything is seen from the stream itself: each read begins *at* the last entry that was applied,
//! which must still be there; then nothing before it matters and nothing after it can be missing ([`reader`]). Where it is
//! not (trimmed, flushed, lost with a server), everything kept counts as purged ([`Log::forget`](crate::purge::Log::forget)).
//! While the server cannot be asked, nothing kept is trusted.

mod entry;
mod line;
mod nodes;
mod reader;
#[cfg(test)]
mod tests;
mod trim;
mod writer;

use crate::{
    Memory, Purged,
    purge::{Position, Purge},
    purger::{Boxed, PurgeError, SharedLog, Unreachable},
    shared::{BadUrl, Config},
};
use entry::Author;
use kv::{Redis, redis::Servers};
use line::Line;
use rules::time::Time;
use std::{
    collections::HashMap,
    fmt, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
    thread,
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use writer::PurgeOutbox;

/// Entries the stream is trimmed to, roughly. A node that was away for longer than these last forgets what it kept.
const MOST_ENTRIES: u64 = 100_000;

/// A change of the stream's state as this node sees it; for the log of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// All purges elsewhere are known: what is kept is used.
    Following,
    /// The server cannot be asked, for this reason; trying again.
    Lost(String),
    /// The server does not take note of how far this node has read, for this reason; trying again. Nobody could wait for a node that
    /// says nothing, so that counts as hearing nothing.
    Unreported(String),
    /// Nothing was heard for so long that what is kept is validated before it is used.
    Distrusted,
    /// Purges may have been missed for good: everything kept counts as purged.
    Forgot(Missed),
    /// Entries cannot be read (a newer version wrote them, or they are not ours): everything is purged.
    Unreadable {
        /// Where the first of them stands.
        first: Position,
        /// How many were read together.
        count: usize,
    },
    /// Too many invalidations wait for the server: in their place everything is purged on all nodes.
    Overflow,
}

/// How entries were missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// Trimmed away before this node read them, or deleted, and others follow already.
    Trimmed,
    /// The stream was deleted: by hand, with everything, or by a server that restarted without it.
    Deleted,
    /// The server has an older stream than before: a failover, or a restart from an old copy. Everything is purged on all
    /// nodes, since others may not have seen what was lost.
    WentBack,
}

/// Takes note of events; called on the stream's own thread, so it must not wait.
pub type Hook = Box<dyn Fn(&Event) + Send + Sync>;

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Following => f.write_str("following the shared purge log"),
            Self::Lost(why) => write!(f, "the shared purge log cannot be read, trying again: {why}"),
            Self::Unreported(why) => write!(
                f,
                "the shared purge log can be read, but not how far this node has read it be noted, trying again; without that, what is kept will be validated before it is used: {why}"
            ),
            Self::Distrusted => f.write_str(
                "nothing heard of the shared purge log: what is kept is validated before it is used",
            ),
            Self::Forgot(missed) => write!(f, "{missed}: everything kept counts as purged"),
            Self::Unreadable { first, count: 1 } => write!(
                f,
                "entry {first} of the shared purge log cannot be read: everything is purged"
            ),
            Self::Unreadable { first, count } => write!(
                f,
                "{count} entries of the shared purge log, from {first} on, cannot be read: everything is purged"
            ),
            Self::Overflow => f.write_str(
                "too many invalidations wait for the shared purge log: everything will be purged on all nodes",
            ),
        }
    }
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trimmed => {
                "parts of the shared purge log were trimmed or deleted before they were read here"
            }
            Self::Deleted => "the shared purge log was deleted",
            Self::WentBack => "the shared purge log is older than it was",
        })
    }
}

/// Why the stream cannot be read at all; for the operator to mend.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is none.
    #[error(transparent)]
    Url(#[from] BadUrl),
    /// The operating system says no.
    #[error("no thread for the shared purge log: {0}")]
    Thread(#[from] io::Error),
}

/// The stream. Its connections belong to a thread of its own, which ends when this is dropped.
#[derive(Debug)]
pub struct Stream {
    jobs: mpsc::UnboundedSender<Job>,
    memory: Arc<Memory>,
    told: Arc<PurgeOutbox>,
}

/// What is asked of the stream's thread.
#[derive(Debug)]
enum Job {
    Publish(Vec<Purge>, oneshot::Sender<Result<Done, Unreachable>>),
    Everywhere(Position, Duration, oneshot::Sender<Vec<String>>),
}

/// What published purges came to here, and the position of the last.
type Done = (Vec<Purged>, Position);

/// What the tasks of the stream's thread share.
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
    /// Tells this process's entries from others'.
    author: Author,
    published: AtomicU64,
    /// Bytes of purges that were sent since the size of the stream was last looked at.
    appended: AtomicU64,
    /// Own purges that were sent and are still to be read back.
    pending: Mutex<HashMap<u64, Pending>>,
    /// The connection that is not the reader's, made when it is first used.
    line: tokio::sync::Mutex<Option<Line>>,
    /// When the stream was last known to have been read to its end.
    heard: Mutex<Instant>,
    /// The names of the other nodes, and when they were last looked up.
    others: Mutex<HashMap<String, nodes::Other>>,
}

/// Purges that were published together.
struct Pending {
    count: usize,
    done: Vec<Purged>,
    reply: oneshot::Sender<Done>,
}

impl Stream {
    /// Reads the stream on a thread of its own, from where `memory`'s log stands. Until it has been read to its end, what is
    /// kept is not trusted.
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
            others: Mutex::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (jobs, asked) = mpsc::unbounded_channel();
        thread::Builder::new()
            .name("larder-stream".to_owned())
            .spawn(move || runtime.block_on(run(Arc::new(common), asked)))?;
        Ok(Arc::new(Self { jobs, memory, told }))
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
        let admitted = self.memory.log().admits(&purges);
        let answer = admitted.map(|()| {
            let job = |reply| Job::Publish(purges, reply);
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
}

/// The stream's thread, until nobody asks any more.
async fn run(common: Arc<Common>, mut asked: mpsc::UnboundedReceiver<Job>) {
    tokio::spawn(reader::read(Arc::clone(&common)));
    tokio::spawn(reader::watch(Arc::clone(&common)));
    tokio::spawn(writer::tell(Arc::clone(&common)));
    while let Some(job) = asked.recv().await {
        let common = Arc::clone(&common);
        tokio::spawn(async move {
            // Whoever asked may have left.
            match job {
                Job::Publish(purges, reply) => writer::publish(&common, &purges, reply).await,
                Job::Everywhere(position, within, reply) => {
                    let _ = reply.send(nodes::behind(&common, position, within).await);
                }
            }
        });
    }
}

impl Common {
    fn event(&self, event: &Event) {
        (self.hook)(event);
    }

    /// No question to the server takes longer: so a server that hangs is given up before what is kept is distrusted.
    fn patience(&self) -> Duration {
        self.trust / 2
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
