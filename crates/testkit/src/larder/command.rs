//! A command line of the binary, and how it is started.

use super::{Larder, running::Running};
use crate::{scratch_dir, wait_until};
use std::{
    ffi::OsString,
    fs,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

/// A command line of `larder` being put together.
#[derive(Debug)]
pub struct Command {
    binary: PathBuf,
    args: Vec<OsString>,
    envs: Vec<(String, OsString)>,
    folder: Option<PathBuf>,
    config: Option<PathBuf>,
    inherited: Option<OwnedFd>,
}

/// What a command that has ended left behind.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Command {
    /// No arguments yet. In the program's own tests the binary is `env!("CARGO_BIN_EXE_larder")`.
    pub fn new(binary: impl AsRef<Path>) -> Self {
        let binary = binary.as_ref().to_owned();
        Self {
            binary,
            args: Vec::new(),
            envs: Vec::new(),
            folder: None,
            config: None,
            inherited: None,
        }
    }

    /// `serve` with both addresses on port 0.
    pub fn serve(binary: impl AsRef<Path>) -> Self {
        Self::new(binary).args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: Into<OsString>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.envs.push((name.to_owned(), value.into()));
        self
    }

    /// Sets its working directory.
    #[must_use]
    pub fn within(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Writes this to a file and passes it with `--config`.
    #[must_use]
    pub fn config(mut self, text: &str) -> Self {
        let path = scratch_dir().join("larder.toml");
        fs::write(&path, text).expect("a configuration file");
        self = self.args([OsString::from("--config"), path.clone().into()]);
        self.config = Some(path);
        self
    }

    /// Hands it this listener as systemd does (`LISTEN_FDS`).
    #[must_use]
    pub fn inherit(mut self, listener: impl Into<OwnedFd>) -> Self {
        self.inherited = Some(listener.into());
        self
    }

    fn spawn(self) -> Child {
        let mut command = match self.inherited {
            None => {
                let mut command = std::process::Command::new(&self.binary);
                command.stdin(Stdio::null());
                command
            }
            Some(listener) => {
                // The shell moves the listener to descriptor 3, and becomes the process that LISTEN_PID names.
                let script = r#"exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" "$@""#;
                let mut command = std::process::Command::new("sh");
                command
                    .args(["-c", script])
                    .arg(&self.binary)
                    .stdin(listener);
                command
            }
        };
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
            .args(self.args)
            .envs(self.envs)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", self.binary.display()))
    }

    /// Runs it to its end.
    pub fn run(self) -> Finished {
        let mut child = Running::new(self.spawn());
        let status = child.wait();
        Finished {
            code: status.code(),
            stdout: child.stdout.text(),
            stderr: child.stderr.text(),
        }
    }

    /// Starts it and waits until it says that it is ready.
    pub fn start(self) -> Larder {
        let config = self.config.clone();
        let mut process = Running::new(self.spawn());
        wait_until("larder was ready", || {
            process.stdout.text().lines().any(|line| line == "ready") || process.ended()
        });
        let stdout = process.stdout.text();
        assert!(
            !process.ended(),
            "larder ended, {}: {stdout}{}",
            process.state(),
            process.stderr.text()
        );
        let after = |line: &str, prefix: &str| line.strip_prefix(prefix).map(str::to_owned);
        let listeners = stdout
            .lines()
            .filter_map(|line| after(line, "listening on "))
            .collect();
        let admin = stdout.lines().find_map(|line| after(line, "admin on "));
        Larder {
            process,
            listeners,
            admin,
            config,
        }
    }
}
