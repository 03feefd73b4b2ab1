//! Runs the `larder` binary.

use crate::{Address, Ask, Client, wait_until};
use std::{
    ffi::OsString,
    fs,
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::{Child, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, Once, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// A new empty directory of this test's own, among the system's temporary files. What test processes that have ended left
/// behind is removed by the next one.
pub fn scratch_dir() -> PathBuf {
    static SWEEP: Once = Once::new();
    scratch_below(&std::env::temp_dir(), &SWEEP)
}

/// The same in memory, where the system has a place for that: who writes there waits for no device, however busy that is.
pub fn scratch_memory() -> PathBuf {
    static SWEEP: Once = Once::new();
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        scratch_below(memory, &SWEEP)
    } else {
        scratch_dir()
    }
}

fn scratch_below(base: &Path, swept: &Once) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let all = base.join("larder-tests");
    swept.call_once(|| sweep(&all));
    let own = all.join(std::process::id().to_string());
    let path = own.join(COUNT.fetch_add(1, Ordering::Relaxed).to_string());
    fs::create_dir_all(&path).expect("a directory for temporary files");
    path
}

/// Removes the directories of processes that have ended, and of an earlier one with our own number.
fn sweep(all: &Path) {
    let own = std::process::id().to_string();
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let process = entry.file_name();
        if process == *own || !Path::new("/proc").join(&process).exists() {
            // Another test process may be at it as well.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A command line of `larder` being put together.
#[derive(Debug)]
pub struct Command {
    binary: PathBuf,
    args: Vec<OsString>,
    envs: Vec<(String, OsString)>,
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

    /// Sends a signal by the shell's own `kill`: the standard library has none.
    fn signal(&self, name: &str) {
        let line = format!("kill -{name} {}", self.id());
        let sent = std::process::Command::new("sh")
            .args(["-c", &line])
            .status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "cannot send SIG{name}"
        );
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

/// A child process whose output is gathered. Killed when dropped.
#[derive(Debug)]
struct Running {
    child: Child,
    stdout: Gathered,
    stderr: Gathered,
}

impl Running {
    fn new(mut child: Child) -> Self {
        let stdout = Gathered::from(child.stdout.take());
        let stderr = Gathered::from(child.stderr.take());
        Self {
            child,
            stdout,
            stderr,
        }
    }

    fn ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// How it ended, or that it runs, for messages.
    fn state(&mut self) -> String {
        match self.child.try_wait() {
            Ok(Some(status)) => status.to_string(),
            Ok(None) => "running".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    /// Waits for its end and for the last of its output.
    fn wait(&mut self) -> ExitStatus {
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
struct Gathered(Arc<Mutex<(String, bool)>>);

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

    fn text(&self) -> String {
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
