//! The real `redis-server`, and Valkey, on ports and sockets of the test's own.

mod many;

use crate::{BOUND, port::free_port, process::Process, scratch::scratch_memory};
use std::{
    fmt::Write as _,
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::PathBuf,
    process::Command,
};

/// Valkey, as `.ci/tools` installs it.
const VALKEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/valkey-server");

/// A `redis-server`, or Valkey, on a free port of 127.0.0.1 and on a Unix socket, keeping everything in memory. Killed
/// when dropped.
#[derive(Debug)]
pub struct Redis {
    program: &'static str,
    directory: PathBuf,
    port: u16,
    options: Vec<String>,
    /// Files with its certificate and the key of that, where it speaks TLS.
    tls: Option<(PathBuf, PathBuf)>,
    process: Option<Process>,
}

impl Redis {
    /// Starts one, and waits until it answers.
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// The same, with more options, e.g. `["--requirepass", "secret"]`.
    pub fn with(options: &[&str]) -> Self {
        let mut redis = Self::at_free_port(options.iter().map(ToString::to_string).collect());
        redis.restart();
        redis
    }

    /// One that speaks TLS alone on its port, with the certificate and the key in these files.
    pub fn over_tls(certificate: PathBuf, key: PathBuf) -> Self {
        let mut redis = Self::at_free_port(Vec::new());
        redis.tls = Some((certificate, key));
        redis.restart();
        redis
    }

    /// Valkey instead.
    pub fn valkey() -> Self {
        let mut valkey = Self::at_free_port(Vec::new());
        valkey.program = VALKEY;
        valkey.restart();
        valkey
    }

    /// Not yet started.
    fn at_free_port(options: Vec<String>) -> Self {
        Self {
            program: "redis-server",
            // A sentinel flushes its file each time it decides something.
            directory: scratch_memory(),
            port: free_port(),
            options,
            tls: None,
            process: None,
        }
    }

    /// `127.0.0.1:port`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `redis://127.0.0.1:port`; with TLS `rediss://`.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() {
            "rediss"
        } else {
            "redis"
        };
        format!("{scheme}://{}", self.address())
    }

    /// The path of its Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.join("socket")
    }

    /// Sends a command and waits for the answer: strings and numbers as they are, arrays line by line, nothing as
    /// `(nil)`, errors with their hyphen.
    pub fn ask(&self, command: &[&str]) -> String {
        self.try_ask(command)
            .unwrap_or_else(|| panic!("no answer to {command:?}"))
    }

    /// The same; `None` where it does not answer.
    pub fn try_ask(&self, command: &[&str]) -> Option<String> {
        let stream = UnixStream::connect(self.socket()).ok()?;
        stream.set_read_timeout(Some(BOUND)).ok()?;
        let mut text = format!("*{}\r\n", command.len());
        for part in command {
            let _ = write!(text, "${}\r\n{part}\r\n", part.len());
        }
        (&stream).write_all(text.as_bytes()).ok()?;
        answer(&mut BufReader::new(&stream))
    }

    /// Its keys, sorted.
    pub fn keys(&self) -> Vec<String> {
        let all = self.ask(&["KEYS", "*"]);
        let mut keys: Vec<_> = all.lines().map(str::to_owned).collect();
        keys.sort();
        keys
    }

    /// Stops it where it is (SIGSTOP): connections stay open, nothing is answered.
    pub fn pause(&self) {
        self.process().signal("STOP");
    }

    /// Lets it go on (SIGCONT).
    pub fn resume(&self) {
        self.process().signal("CONT");
    }

    /// Kills it (SIGKILL); what it kept is gone.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Starts it again on the same port, empty, and waits until it answers.
    pub fn restart(&mut self) {
        self.process = None;
        let port = self.port.to_string();
        let socket = self.socket();
        let mut command = Command::new(self.program);
        command
            .args(&self.options)
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .arg("--unixsocket")
            .arg(&socket)
            .arg("--dir")
            .arg(&self.directory);
        match &self.tls {
            None => command.args(["--port", &port]),
            Some((certificate, key)) => command
                .args(["--port", "0", "--tls-port", &port])
                .args(["--tls-replication", "yes", "--tls-cluster", "yes"])
                .args(["--tls-auth-clients", "no", "--tls-cert-file"])
                .arg(certificate)
                .arg("--tls-ca-cert-file")
                .arg(certificate)
                .arg("--tls-key-file")
                .arg(key),
        };
        let mut process = Process::start(command, self.program);
        process.wait_until("redis-server answered", || {
            self.try_ask(&["PING"]).is_some()
        });
        self.process = Some(process);
    }

    fn process(&self) -> &Process {
        self.process.as_ref().expect("a running server")
    }
}

/// Reads one answer of the Redis protocol as text.
fn answer(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let line = line.trim_end();
    let (kind, rest) = line.split_at_checked(1)?;
    match kind {
        "+" | ":" => Some(rest.to_owned()),
        "-" => Some(line.to_owned()),
        "$" => {
            let Ok(length) = rest.parse::<usize>() else {
                return Some("(nil)".to_owned());
            };
            let mut bytes = vec![0; length + 2];
            reader.read_exact(&mut bytes).ok()?;
            bytes.truncate(length);
            Some(String::from_utf8_lossy(&bytes).into_owned())
        }
        "*" => {
            let count = rest.parse().unwrap_or(0);
            let all: Option<Vec<_>> = (0..count).map(|_| answer(reader)).collect();
            Some(all?.join("\n"))
        }
        _ => None,
    }
}
