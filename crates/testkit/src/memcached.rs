//! The real `memcached`.

use crate::{BOUND, port::free_port, process::Process, scratch_dir};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    path::PathBuf,
    process::Command,
};

/// A `memcached` on a free port of 127.0.0.1, or on a Unix socket. Killed when dropped.
#[derive(Debug)]
pub struct Memcached {
    place: Place,
    options: Vec<String>,
    process: Option<Process>,
}

#[derive(Debug)]
enum Place {
    Port(u16),
    Socket(PathBuf),
}

impl Memcached {
    /// Starts one, and waits until it answers.
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// The same, with more options, e.g. `["-m", "1"]`.
    pub fn with(options: &[&str]) -> Self {
        Self::at(Place::Port(free_port()), options)
    }

    /// Starts one on a Unix socket.
    pub fn on_socket() -> Self {
        Self::at(Place::Socket(scratch_dir().join("socket")), &[])
    }

    fn at(place: Place, options: &[&str]) -> Self {
        let mut memcached = Self {
            place,
            options: options.iter().map(ToString::to_string).collect(),
            process: None,
        };
        memcached.restart();
        memcached
    }

    /// `127.0.0.1:port`, or the path of its socket.
    pub fn address(&self) -> String {
        match &self.place {
            Place::Port(port) => format!("127.0.0.1:{port}"),
            Place::Socket(path) => path.display().to_string(),
        }
    }

    /// `memcached://` and its address.
    pub fn url(&self) -> String {
        format!("memcached://{}", self.address())
    }

    /// Sends a line and waits for the line that answers.
    pub fn ask(&self, line: &str) -> String {
        self.try_ask(line)
            .unwrap_or_else(|| panic!("no answer to {line:?}"))
    }

    fn try_ask(&self, line: &str) -> Option<String> {
        match &self.place {
            Place::Port(_) => {
                let stream = TcpStream::connect(self.address()).ok()?;
                stream.set_read_timeout(Some(BOUND)).ok()?;
                answer_to(line, &stream, &stream)
            }
            Place::Socket(path) => {
                let stream = UnixStream::connect(path).ok()?;
                stream.set_read_timeout(Some(BOUND)).ok()?;
                answer_to(line, &stream, &stream)
            }
        }
    }

    /// One of its own counters (`stats`), which are numbers.
    pub fn stat(&self, name: &str) -> u64 {
        let stream = TcpStream::connect(self.address()).expect("one on a port");
        stream.set_read_timeout(Some(BOUND)).expect("a bound");
        (&stream).write_all(b"stats\r\n").expect("sent");
        let lines = BufReader::new(&stream).lines().map_while(Result::ok);
        let mut counters = lines.take_while(|line| line != "END");
        let line = format!("STAT {name} ");
        let value = counters.find_map(|told| Some(told.strip_prefix(&line)?.to_owned()));
        let value = value.and_then(|value| value.parse().ok());
        value.unwrap_or_else(|| panic!("memcached counts no {name}"))
    }

    /// Stops it where it is (SIGSTOP): connections stay open, nothing is answered.
    pub fn pause(&self) {
        self.process().signal("STOP");
    }

    /// Lets it go on (SIGCONT).
    pub fn resume(&self) {
        self.process().signal("CONT");
    }

    /// Kills it (SIGKILL).
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Starts it again in the same place, empty, and waits until it answers.
    pub fn restart(&mut self) {
        self.process = None;
        let mut command = Command::new("memcached");
        // It does not run as root unless told to; others may not choose.
        command.args(["-u", "root"]).args(&self.options);
        match &self.place {
            Place::Port(port) => {
                let port = port.to_string();
                command.args(["-l", "127.0.0.1", "-U", "0", "-p", &port]);
            }
            Place::Socket(path) => {
                command.arg("-s").arg(path);
            }
        }
        let mut process = Process::start(command, "memcached");
        process.wait_until("memcached answered", || self.try_ask("version").is_some());
        self.process = Some(process);
    }

    fn process(&self) -> &Process {
        self.process.as_ref().expect("a running server")
    }
}

fn answer_to(line: &str, read: impl Read, mut write: impl Write) -> Option<String> {
    write.write_all(format!("{line}\r\n").as_bytes()).ok()?;
    let mut answer = String::new();
    BufReader::new(read).read_line(&mut answer).ok()?;
    Some(answer.trim_end().to_owned())
}
