//! The process of the binary, and what it prints.

use crate::wait_until;
use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, ExitStatus},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

/// A child process whose output is gathered. Killed when dropped.
#[derive(Debug)]
pub(super) struct Running {
    pub child: Child,
    pub stdout: Gathered,
    pub stderr: Gathered,
}

impl Running {
    pub(super) fn new(mut child: Child) -> Self {
        let stdout = Gathered::from(child.stdout.take());
        let stderr = Gathered::from(child.stderr.take());
        Self {
            child,
            stdout,
            stderr,
        }
    }

    pub(super) fn ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// How it ended, or that it runs, for messages.
    pub(super) fn state(&mut self) -> String {
        match self.child.try_wait() {
            Ok(Some(status)) => status.to_string(),
            Ok(None) => "running".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    /// Waits for its end and for the last of its output.
    pub(super) fn wait(&mut self) -> ExitStatus {
        wait_until("the process ended", || self.ended());
        wait_until("its output was read", || {
            self.stdout.done() && self.stderr.done()
        });
        self.child.wait().expect("a status")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let state = self.state();
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            let (stdout, stderr) = (self.stdout.text(), self.stderr.text());
            eprintln!("--- larder ({state}) ---\n{stdout}{stderr}---");
        }
    }
}

/// Lines read from a pipe by a thread of their own.
#[derive(Debug)]
pub(super) struct Gathered(Arc<Mutex<(String, bool)>>);

impl Gathered {
    fn from(pipe: Option<impl Read + Send + 'static>) -> Self {
        let text = Arc::new(Mutex::new((String::new(), pipe.is_none())));
        let shared = Arc::clone(&text);
        if let Some(pipe) = pipe {
            thread::spawn(move || {
                let mut reader = BufReader::new(pipe);
                let mut line = Vec::new();
                while reader
                    .read_until(b'\n', &mut line)
                    .is_ok_and(|count| count > 0)
                {
                    shared.lock().unwrap_or_else(PoisonError::into_inner).0 +=
                        &String::from_utf8_lossy(&line);
                    line.clear();
                }
                shared.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
            });
        }
        Self(text)
    }

    pub(super) fn text(&self) -> String {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .clone()
    }

    fn done(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}
