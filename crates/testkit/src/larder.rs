//! Runs the `larder` binary.

mod command;
mod running;

pub use command::{Command, Finished};

use crate::{Address, Ask, Client, process::signal, wait_until};
use running::Running;
use std::{fs, net::SocketAddr, path::PathBuf};

/// A running `larder serve` (or `demo`). Killed when dropped.
#[derive(Debug)]
pub struct Larder {
    process: Running,
    listeners: Vec<String>,
    admin: Option<String>,
    config: Option<PathBuf>,
}

impl Larder {
    /// What it said it listens on, as URLs.
    pub fn listeners(&self) -> &[String] {
        &self.listeners
    }

    /// The address of its first listener.
    pub fn address(&self) -> Address {
        address(self.listeners.first().expect("a listener"))
    }

    /// The address of its admin API.
    pub fn admin(&self) -> Address {
        address(self.admin.as_ref().expect("an admin address"))
    }

    /// A new connection to its first listener.
    pub fn client(&self) -> Client {
        Client::connect(self.address())
    }

    /// A GET request on a new connection.
    pub fn get(&self, target: &str) -> Ask<Client> {
        self.ask("GET", target)
    }

    /// A request on a new connection.
    pub fn ask(&self, method: &str, target: &str) -> Ask<Client> {
        Ask::new(self.client(), method, target).header("Connection", "close")
    }

    /// A GET request to its admin API.
    pub fn admin_get(&self, target: &str) -> Ask<Client> {
        Ask::new(Client::connect(self.admin()), "GET", target)
            .header("Host", "localhost")
            .header("Connection", "close")
    }

    /// What it has printed so far, standard output first.
    pub fn output(&self) -> String {
        self.process.stdout.text() + &self.process.stderr.text()
    }

    /// Waits until it has printed this text.
    pub fn wait_output(&self, text: &str) {
        wait_until(&format!("larder printed {text:?}"), || {
            self.output().contains(text)
        });
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.child.id()
    }

    /// Asks it to read its configuration again (SIGHUP).
    pub fn reload(&self) {
        self.signal("HUP");
    }

    /// Replaces the text of its configuration file, without telling it.
    pub fn rewrite_config(&self, text: &str) {
        fs::write(
            self.config.as_ref().expect("started with a configuration"),
            text,
        )
        .expect("a configuration file");
    }

    /// Asks it to end (SIGTERM), without waiting.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    /// Asks it to end, and waits until it has.
    pub fn stop(mut self) -> Finished {
        self.terminate();
        self.wait()
    }

    /// Ends it as a crash does (SIGKILL): it has no time to do anything.
    pub fn kill(mut self) {
        self.signal("KILL");
        self.wait();
    }

    /// Waits until it has ended.
    pub fn wait(&mut self) -> Finished {
        let status = self.process.wait();
        Finished {
            code: status.code(),
            stdout: self.process.stdout.text(),
            stderr: self.process.stderr.text(),
        }
    }

    /// Whether it has ended.
    pub fn ended(&mut self) -> bool {
        self.process.ended()
    }

    /// Stops it where it is (SIGSTOP): connections are taken by the system, nothing is answered.
    pub fn pause(&self) {
        self.signal("STOP");
    }

    /// Lets it go on (SIGCONT).
    pub fn resume(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        signal(self.id(), name);
    }
}

fn address(url: &str) -> Address {
    if let Some(path) = url.strip_prefix("unix:") {
        return Address::Unix(path.into());
    }
    let authority = url
        .split("://")
        .last()
        .unwrap_or_default()
        .trim_end_matches('/');
    let parsed = authority.parse::<SocketAddr>();
    Address::Tcp(parsed.unwrap_or_else(|error| panic!("larder printed {url:?}: {error}")))
}
