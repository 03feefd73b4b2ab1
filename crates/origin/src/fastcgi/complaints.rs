//! Passes what scripts write to standard error to the program's log.
//!
//! Workers do not write logs. They put what came into a bounded queue, and the task that watches over the origin writes
//! it, up to a limit per second. What does not fit is counted, and the count is logged.

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

/// Most bytes of complaints of one request.
const LONGEST: usize = 4096;
/// Most requests whose complaints wait to be written.
const WAITING: usize = 256;
/// Most requests whose complaints are written in one second.
const MOST: u32 = 50;

/// The complaints of one origin's scripts.
pub(crate) struct Complaints {
    to: Sender<Complaint>,
    /// Locked by the task that writes them.
    from: Mutex<Receiver<Complaint>>,
    /// Requests whose complaints were neither written nor queued.
    lost: AtomicU64,
}

/// The complaints of one request.
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
    /// Queues the complaints of a request for `url`.
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

    /// Writes complaints as they come, until dropped.
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
                        "scripts reported more errors than are logged"
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
    /// Writes one log record per line. It is quoted, so that it stays one line of the log whatever a script writes.
    fn write(&self, origin: &str) {
        let text = String::from_utf8_lossy(&self.text);
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (server, url) = (&*self.server, &*self.url);
            tracing::warn!(origin, server, url, error = line, "a script complained");
        }
    }
}

/// PHP's words for an error that ended a script, behind [`PHP`].
const FATAL: [&[u8]; 3] = [
    b"Fatal error:",
    b"Parse error:",
    b"Recoverable fatal error:",
];
/// The longest of these.
const LONGEST_FATAL: usize = 24;
const PHP: &[u8] = b"PHP ";
/// What php-fpm puts before a message. Between two messages there may be nothing else.
const MESSAGE: &[u8] = b"PHP message: ";

/// The complaints of one request so far. What exceeds `LONGEST` is dropped.
#[derive(Debug)]
pub(crate) struct Heard {
    text: Vec<u8>,
    /// The last bytes that came. The words that are searched for may begin in them.
    tail: Vec<u8>,
}

impl Default for Heard {
    fn default() -> Self {
        Self {
            text: Vec::new(),
            // The first line begins at once.
            tail: b"\n".to_vec(),
        }
    }
}

impl Heard {
    /// Takes a piece. Returns whether PHP says in it that the script broke off. This counts only at the beginning of a
    /// message: in the middle of one, the words are something that the script was made to log.
    pub(crate) fn hear(&mut self, piece: &[u8]) -> bool {
        let room = LONGEST.saturating_sub(self.text.len()).min(piece.len());
        self.text
            .extend_from_slice(piece.get(..room).unwrap_or_default());
        let mut seen = std::mem::take(&mut self.tail);
        seen.extend_from_slice(piece);
        let broke_off = memchr::memmem::find_iter(&seen, PHP).any(|at| {
            let (before, words) = seen.split_at_checked(at).unwrap_or_default();
            let words = words.get(PHP.len()..).unwrap_or_default();
            FATAL.iter().any(|fatal| words.starts_with(fatal))
                && (before.ends_with(b"\n") || before.ends_with(MESSAGE))
        });
        let kept = seen.len().min(MESSAGE.len() + PHP.len() + LONGEST_FATAL);
        self.tail = seen.split_off(seen.len() - kept);
        broke_off
    }

    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        let text = std::mem::take(&mut self.text);
        (!text.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_broke_off_where_php_begins_to_say_so() {
        for (text, wanted) in [
            ("PHP Fatal error:  x", true),
            ("PHP message: PHP Fatal error:  x", true),
            ("a warning\nPHP Fatal error:  x", true),
            ("PHP Parse error:  x", true),
            ("PHP message: PHP Recoverable fatal error:  x", true),
            ("PHP Warning:  Fatal error:", false),
            (
                "PHP message: a warning; PHP message: PHP Fatal error:  x",
                true,
            ),
            (
                "PHP message: a warningPHP message: PHP Fatal error:  x",
                true,
            ),
            ("PHP message: searched for: PHP Fatal error:", false),
            ("searched for \"PHP Fatal error: x\"", false),
            ("xPHP Fatal error:", false),
            ("PHP Fatal errors", false),
            ("", false),
        ] {
            for piece in [1, 2, 5, 13, 16, 100] {
                let mut heard = Heard::default();
                let broke_off = text
                    .as_bytes()
                    .chunks(piece)
                    .filter(|piece| heard.hear(piece))
                    .count()
                    > 0;
                assert_eq!(broke_off, wanted, "{text} by {piece}");
                assert_eq!(heard.take().unwrap_or_default(), text.as_bytes());
            }
        }
        // The words are also found long after the part that is kept for the log.
        let mut heard = Heard::default();
        assert!(!heard.hear(&vec![b'x'; 2 * LONGEST]));
        assert!(!heard.hear(b"\nPHP Fatal "));
        assert!(heard.hear(b"error: x"));
        assert_eq!(heard.take().map(|text| text.len()), Some(LONGEST));
    }
}
