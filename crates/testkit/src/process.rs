//! Processes of real servers, and signals.

use crate::wait_until;
use std::process::{Child, Command, Stdio};

/// A server's process. Killed when dropped.
#[derive(Debug)]
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(mut command: Command, name: &str) -> Self {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.unwrap_or_else(|error| {
            panic!("cannot start {name} (is its package installed?): {error}")
        }))
    }

    /// Waits until it does what it was started for; one that ends before that fails the test at once.
    pub(crate) fn wait_until(&mut self, what: &str, mut condition: impl FnMut() -> bool) {
        wait_until(what, || {
            if let Ok(Some(status)) = self.0.try_wait() {
                panic!("{what}: it has ended, {status}");
            }
            condition()
        });
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.0.id(), name);
    }

    /// Asks it to end (SIGTERM), and waits until it and what it started have.
    pub(crate) fn end(mut self) {
        self.signal("TERM");
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a signal by the shell's own `kill`: the standard library has none.
pub(crate) fn signal(process: u32, name: &str) {
    let line = format!("kill -{name} {process}");
    let sent = Command::new("sh").args(["-c", &line]).status();
    assert!(
        sent.is_ok_and(|status| status.success()),
        "cannot send SIG{name}"
    );
}
