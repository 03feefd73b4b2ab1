//! What scripts write to standard error, on its way to the program's log.
//!
//! Workers do not write logs: they put what came into a bounded queue, and the task that watches over the origin writes
//! it, so many a second at most. What does not fit is counted, and the count is logged.

use crate::Servers;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    sync::{
        Mutex,
        mpsc::{self, Receiver, Sender},
    },
    time::{Instant, timeout},
};

/// Of one request, in bytes.
const LONGEST: usize = 4096;
/// Requests whose complaints wait to be written.
const WAITING: usize = 256;
/// Requests whose complaints are written in one second.
const MOST: u32 = 50;

/// What the scripts of one origin complained about.
pub(crate) struct Complaints {
    to: Sender<Complaint>,
    /// Taken by whoever writes them.
    from: Mutex<Receiver<Complaint>>,
    /// Neither written nor waiting.
    lost: AtomicU64,
}

/// What one request brought.
#[derive(Debug)]
struct Complaint {
    server: Arc<str>,
    url: Arc<str>,
    text: Vec<u8>,
}

impl Default for Complaints {
    fn default() -> Self {
        let (to, from) = mpsc::channel(WAITING);
        Self {
            to,
            from: Mutex::new(from),
            lost: AtomicU64::new(0),
        }
    }
}

impl fmt::Debug for Complaints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Complaints").finish_non_exhaustive()
    }
}

impl Complaints {
    /// Queues what a request for `url` brought.
    pub(crate) fn put(&self, server: &Arc<str>, url: &Arc<str>, text: Vec<u8>) {
        let complaint = Complaint {
            server: Arc::clone(server),
            url: Arc::clone(url),
            text,
        };
        if self.to.try_send(complaint).is_err() {
            self.lost.fetch_add(1, Relaxed);
        }
    }

    /// Writes what comes, until dropped.
    pub(crate) async fn write(origin: &Servers) {
        const SECOND: Duration = Duration::from_secs(1);
        let own = &origin.complaints;
        let mut from = own.from.lock().await;
        let (mut began, mut written) = (Instant::now(), 0);
        loop {
            let next = timeout(SECOND, from.recv()).await;
            if began.elapsed() >= SECOND {
                (began, written) = (Instant::now(), 0);
                let lost = own.lost.swap(0, Relaxed);
                if lost > 0 {
                    let origin = origin.name();
                    tracing::warn!(
                        origin,
                        requests = lost,
                        "more errors of scripts than are logged"
                    );
                }
            }
            match next {
                Ok(Some(_)) if written >= MOST => {
                    own.lost.fetch_add(1, Relaxed);
                }
                Ok(Some(complaint)) => {
                    written += 1;
                    complaint.write(origin.name());
                }
                Ok(None) => return,
                Err(_) => {}
            }
        }
    }
}

impl Complaint {
    /// One record for a line. Quoted: whatever a script writes, it stays one line of the log.
    fn write(&self, origin: &str) {
        let text = String::from_utf8_lossy(&self.text);
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (server, url) = (&*self.server, &*self.url);
            tracing::warn!(origin, server, url, error = line, "a script complained");
        }
    }
}

/// What one request has complained of so far; the rest beyond `LONGEST` is dropped.
#[derive(Debug, Default)]
pub(crate) struct Heard(Vec<u8>);

impl Heard {
    /// Takes a piece; returns whether PHP says in it that the script broke off.
    pub(crate) fn hear(&mut self, piece: &[u8]) -> bool {
        let before = self.0.len();
        let room = LONGEST.saturating_sub(before).min(piece.len());
        self.0
            .extend_from_slice(piece.get(..room).unwrap_or_default());
        let fatal = memchr::memmem::Finder::new(b"PHP Fatal error:");
        // A piece may end within the words.
        let from = before.saturating_sub(fatal.needle().len());
        let seen = self.0.get(from..).unwrap_or_default();
        fatal.find(seen).is_some() || fatal.find(piece).is_some()
    }

    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        let text = std::mem::take(&mut self.0);
        (!text.is_empty()).then_some(text)
    }
}
