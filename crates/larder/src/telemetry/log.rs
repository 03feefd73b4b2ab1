//! The program's own log, on standard error, written by a thread of its own: whoever reads it may be slow, or stop
//! reading, and no worker waits for that.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};
use tracing_subscriber::fmt::MakeWriter;

/// The most lines that wait to be written. Further ones are lost, and counted.
const QUEUE: usize = 1024;

/// How long the process waits at its end until what waits is written.
const LAST: Duration = Duration::from_secs(1);

/// What the thread gets.
enum Message {
    Line(Box<[u8]>),
    /// To be answered once all before it is written.
    Written(SyncSender<()>),
}

/// The way to the log.
#[derive(Clone)]
pub struct Log {
    /// `None` where the system had no thread to give: then lines are written by those who have them.
    queue: Option<SyncSender<Message>>,
    lost: Arc<AtomicU64>,
}

impl Log {
    /// Starts the thread.
    pub fn begin() -> Self {
        let (queue, messages) = sync_channel(QUEUE);
        let lost = Arc::<AtomicU64>::default();
        let writer = Writer {
            messages,
            lost: Arc::clone(&lost),
        };
        let started = thread::Builder::new()
            .name("larder-messages".to_owned())
            .spawn(move || writer.run());
        Self {
            queue: started.is_ok().then_some(queue),
            lost,
        }
    }

    /// Waits until everything so far is written, for a second at most.
    pub fn finish(&self) {
        let Some(queue) = &self.queue else {
            return;
        };
        let (done, written) = sync_channel(1);
        if queue.try_send(Message::Written(done)).is_ok() {
            let _ = written.recv_timeout(LAST);
        }
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = &'a Self;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

impl Write for &Log {
    /// Takes one whole line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let Some(queue) = &self.queue else {
            return io::stderr().write(line);
        };
        if queue.try_send(Message::Line(line.into())).is_err() {
            self.lost.fetch_add(1, Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the lines.
struct Writer {
    messages: Receiver<Message>,
    lost: Arc<AtomicU64>,
}

impl Writer {
    /// Writes until the last [`Log`] is gone. What cannot be written is lost: there is no other place to tell of it.
    fn run(self) {
        for message in &self.messages {
            match message {
                Message::Line(line) => {
                    let _ = io::stderr().write_all(&line);
                }
                Message::Written(done) => {
                    let _ = done.try_send(());
                }
            }
            let lost = self.lost.swap(0, Relaxed);
            if lost > 0 {
                let _ = writeln!(
                    io::stderr(),
                    "{lost} lines of this log are lost: they were not read in time"
                );
            }
        }
    }
}
