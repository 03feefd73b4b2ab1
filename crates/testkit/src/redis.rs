//! Real servers from Debian's packages, on ports and sockets of the test's own.

use crate::{BOUND, larder::scratch_memory, port::free_port, wait_until};
use std::{
    fmt::Write as _,
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

/// Valkey, as `.ci/tools` installs it.
const VALKEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/valkey-server");

/// A `redis-server`, or Valkey, on a free port of 127.0.0.1 and on a Unix socket, keeping everything in memory. Killed when dropped.
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

    /// One that watches over `primary` as `name`, as a sentinel, over TLS with the same certificate where that one speaks it. It finds
    /// nobody down by itself, lest a server that is merely slow lose its place in the middle of a test: see
    /// [`fail_over`](Self::fail_over).
    pub fn sentinel(primary: &Self, name: &str) -> Self {
        let mut redis = Self::at_free_port(Vec::new());
        let file = redis.directory.join("sentinel.conf");
        let text = format!(
            "sentinel monitor {name} 127.0.0.1 {} 1\nsentinel down-after-milliseconds {name} 600000\nsentinel failover-timeout {name} 600000\n",
            primary.port,
        );
        std::fs::write(&file, text).expect("a configuration file");
        redis.options = vec![file.display().to_string(), "--sentinel".to_owned()];
        redis.tls.clone_from(&primary.tls);
        redis.restart();
        redis
    }

    /// Has this sentinel put `replica` in the place of the primary that it knows as `name`; ready when it names that one.
    pub fn fail_over(&self, name: &str, replica: &Self) {
        let begun = ["OK", "-INPROG"];
        wait_until("the sentinel began a failover", || {
            let said = self.ask(&["SENTINEL", "FAILOVER", name]);
            begun.iter().any(|word| said.starts_with(word))
        });
        let port = replica.port.to_string();
        wait_until("the sentinel named the replica", || {
            let named = self.ask(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name]);
            named.lines().last() == Some(&port)
        });
    }

    /// Waits until this replica has all that was written to `primary` until now: it copies in its own time, and what it has not got
    /// when that one dies is lost.
    pub fn wait_copied(&self, primary: &Self) {
        let written = primary.written();
        wait_until("the replica had all of it", || self.written() >= written);
    }

    /// How much was written to it; of a replica, how much of that it has. In bytes.
    fn written(&self) -> u64 {
        let told = self.ask(&["INFO", "replication"]);
        let mut lines = told.lines();
        let offset = lines.find_map(|line| line.strip_prefix("master_repl_offset:"));
        let offset = offset.and_then(|offset| offset.trim().parse().ok());
        offset.expect("a number")
    }

    /// One that copies `primary`; ready when it has.
    pub fn replica(primary: &Self) -> Self {
        let port = primary.port.to_string();
        let redis = Self::with(&[
            "--replicaof",
            "127.0.0.1",
            &port,
            "--repl-diskless-sync-delay",
            "0",
        ]);
        wait_until("the replica had copied its primary", || {
            redis
                .ask(&["INFO", "replication"])
                .contains("master_link_status:up")
        });
        redis
    }

    /// Three that are a cluster; ready when each knows the others.
    pub fn cluster() -> Vec<Self> {
        Self::cluster_of(None)
    }

    /// The same over TLS alone, all with the certificate and the key in these files.
    pub fn cluster_over_tls(certificate: PathBuf, key: PathBuf) -> Vec<Self> {
        Self::cluster_of(Some(&(certificate, key)))
    }

    fn cluster_of(tls: Option<&(PathBuf, PathBuf)>) -> Vec<Self> {
        const SLOTS: [(&str, &str); 3] = [("0", "5460"), ("5461", "10922"), ("10923", "16383")];
        let mut nodes: Vec<Self> = Vec::new();
        let mut first: Option<[String; 2]> = None;
        for (from, to) in SLOTS {
            let bus = free_port().to_string();
            let options = ["--cluster-enabled", "yes", "--cluster-port", &bus];
            let mut node = Self::at_free_port(options.map(str::to_owned).into());
            node.tls = tls.cloned();
            node.restart();
            assert_eq!(node.ask(&["CLUSTER", "ADDSLOTSRANGE", from, to]), "OK");
            let [port, bus] = first.get_or_insert([node.port.to_string(), bus]);
            node.ask(&["CLUSTER", "MEET", "127.0.0.1", port, bus]);
            nodes.push(node);
        }
        wait_until("the cluster was one", || {
            nodes.iter().all(|node| {
                let info = node.ask(&["CLUSTER", "INFO"]);
                info.contains("cluster_state:ok") && info.contains("known_nodes:3")
            })
        });
        nodes
    }

    /// One that copies the one at `of` in `cluster`, to take its place; ready when the whole cluster knows that.
    pub fn stand_by(cluster: &[Self], of: usize) -> Self {
        let bus = free_port().to_string();
        let node = Self::with(&["--cluster-enabled", "yes", "--cluster-port", &bus]);
        let primary = cluster[of].ask(&["CLUSTER", "MYID"]);
        let meet = ["CLUSTER", "MEET", "127.0.0.1", &node.port.to_string(), &bus];
        cluster[of].ask(&meet);
        wait_until("it copied its primary", || {
            node.ask(&["CLUSTER", "REPLICATE", &primary]) == "OK"
        });
        let own = node.ask(&["CLUSTER", "MYID"]);
        wait_until("the cluster knew the replica", || {
            let is_known = |member: &Self| {
                let all = member.ask(&["CLUSTER", "NODES"]);
                let mut lines = all.lines();
                lines.any(|line| line.starts_with(&own) && line.contains(&primary))
            };
            let copies = node.ask(&["INFO", "replication"]);
            copies.contains("master_link_status:up") && cluster.iter().all(is_known)
        });
        node
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

    /// Sends a command and waits for the answer: strings and numbers as they are, arrays line by line, nothing as `(nil)`, errors
    /// with their hyphen.
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
        let line = format!("kill -{name} {}", self.0.id());
        let sent = Command::new("sh").args(["-c", &line]).status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "cannot send SIG{name}"
        );
    }
}

impl Process {
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
