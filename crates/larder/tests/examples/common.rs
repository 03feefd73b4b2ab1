//! An application of `examples/`, and a larder with the configuration that lies beside it.

use std::{
    fs::{self, File},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};
use testkit::{Address, Client, Command, Larder, Response, free_port, scratch_dir};

/// How long an application may take to start. Longer than anything else here: Java and Python on a busy machine.
const STARTED: Duration = Duration::from_mins(2);

/// A folder of `examples/`, and the port that its application will be given in place of 5001.
pub(crate) struct Example {
    name: &'static str,
    port: u16,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What `.ci/tools` has made for this example.
pub(crate) fn made(name: &str) -> PathBuf {
    root().join("target/examples").join(name)
}

impl Example {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            port: free_port(),
        }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        root().join("examples").join(self.name)
    }

    /// `larder serve` with the example's own configuration, in which these texts are replaced, and the addresses.
    pub(crate) fn larder(&self, replaced: &[(&str, &str)]) -> Larder {
        self.larder_with("larder.toml", replaced)
    }

    /// The same with another configuration of the example.
    pub(crate) fn larder_with(&self, file: &str, replaced: &[(&str, &str)]) -> Larder {
        self.is_on_the_page(&format!("larder serve --config {file}"));
        let path = self.folder().join(file);
        let mut text = fs::read_to_string(&path).expect("a configuration");
        let app = format!("127.0.0.1:{}", self.port);
        let addresses = [
            ("127.0.0.1:8080", "127.0.0.1:0"),
            ("127.0.0.1:5001", app.as_str()),
        ];
        for (old, new) in replaced.iter().chain(&addresses) {
            assert!(
                text.contains(old) || *old == "127.0.0.1:5001",
                "{file} has no {old}"
            );
            text = text.replace(old, new);
        }
        Command::new(env!("CARGO_BIN_EXE_larder"))
            .args(["serve", "--admin", "127.0.0.1:0"])
            .config(&text)
            .start()
    }

    /// Asserts that the example's page says this: what is tested is what readers do.
    fn is_on_the_page(&self, line: &str) {
        let page = fs::read_to_string(self.folder().join("README.md")).expect("a page");
        assert!(page.contains(line), "the page does not say {line:?}");
    }

    /// A command of the example's page, with the port in use in place of 5001, in this folder, after it was told where
    /// Larder is.
    fn command(
        &self,
        line: &str,
        folder: &Path,
        larder: &Larder,
        variables: &[(&str, &str)],
    ) -> std::process::Command {
        self.is_on_the_page(line);
        let python = root().join("target/python/bin");
        let path = format!(
            "{}:{}",
            python.display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let mut command = std::process::Command::new("sh");
        command
            .arg("-c")
            .arg(format!(
                "exec {}",
                line.replace("5001", &self.port.to_string())
            ))
            .current_dir(folder)
            .env("PATH", path)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("LARDER_ADMIN", format!("http://{}", admin(larder)))
            .envs(variables.iter().copied())
            .stdin(Stdio::null());
        command
    }

    /// Runs a command of the page to its end.
    pub(crate) fn run(&self, line: &str, larder: &Larder, variables: &[(&str, &str)]) {
        let mut command = self.command(line, &self.folder(), larder, variables);
        let done = command.output().expect("a shell");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{line}: {said}; run .ci/tools");
    }

    /// Starts the application with a command of its page, and waits until it listens.
    pub(crate) fn start(
        &self,
        line: &str,
        folder: &Path,
        larder: &Larder,
        variables: &[(&str, &str)],
    ) -> App {
        let log = scratch_dir().join("log");
        let file = File::create(&log).expect("a file");
        let mut command = self.command(line, folder, larder, variables);
        command
            .stdout(file.try_clone().expect("a file"))
            .stderr(file);
        let child = command.spawn().expect("a shell; run .ci/tools");
        let mut app = App {
            child,
            address: SocketAddr::from(([127, 0, 0, 1], self.port)),
            log,
        };
        let begun = Instant::now();
        while TcpStream::connect(app.address).is_err() {
            let ended = app.child.try_wait().expect("a process").is_some();
            assert!(!ended, "{line} ended; run .ci/tools");
            assert!(begun.elapsed() < STARTED, "{line} does not listen");
            thread::sleep(Duration::from_millis(20));
        }
        app
    }
}

/// The address of the admin API.
pub(crate) fn admin(larder: &Larder) -> SocketAddr {
    match larder.admin() {
        Address::Tcp(address) => address,
        Address::Unix(path) => panic!("{} is no port", path.display()),
    }
}

/// A running application. Killed when dropped; what it said is shown where the test fails.
pub(crate) struct App {
    child: Child,
    address: SocketAddr,
    log: PathBuf,
}

impl App {
    /// An answer of the application itself, past Larder.
    pub(crate) fn get(&self, target: &str) -> String {
        let answer = get(&mut Client::connect(self.address), target);
        assert_eq!(answer.status, 200, "{target}: {}", answer.text());
        answer.text()
    }

    /// How many requests have reached it.
    pub(crate) fn requests(&self) -> usize {
        self.get("/requests").trim().parse().expect("a number")
    }

    /// Sends it a form, past Larder.
    pub(crate) fn post(&self, target: &str, form: &str) -> Response {
        Client::connect(self.address)
            .ask("POST", target)
            .header("Host", "localhost")
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(form)
            .send()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        let line = format!("kill -{name} {}", self.child.id());
        let sent = std::process::Command::new("sh")
            .args(["-c", &line])
            .status();
        assert!(sent.is_ok_and(|sent| sent.success()), "SIG{name}");
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            let said = fs::read_to_string(&self.log).unwrap_or_default();
            eprintln!("--- the application ---\n{said}---");
        }
    }
}

/// A GET request for this target.
pub(crate) fn get(client: &mut Client, target: &str) -> Response {
    client.get(target).header("Host", "localhost").send()
}

/// So many requests, one after the other on one connection.
pub(crate) fn many(larder: &Larder, target: &str, count: usize) -> Vec<Response> {
    let mut client = larder.client();
    (0..count).map(|_| get(&mut client, target)).collect()
}

/// So many requests at once, each on its own connection.
pub(crate) fn together(larder: &Larder, target: &str, count: usize) -> Vec<Response> {
    let barrier = Barrier::new(count);
    thread::scope(|scope| {
        let ask = || {
            let mut client = larder.client();
            barrier.wait();
            get(&mut client, target)
        };
        let all: Vec<_> = (0..count).map(|_| scope.spawn(ask)).collect();
        let joined = all.into_iter().map(|one| one.join().expect("an answer"));
        joined.collect()
    })
}

/// What Larder says of how it made an answer.
pub(crate) fn said(answer: &Response) -> String {
    answer.joined("cache-status")
}

/// Whether an answer came from the store.
pub(crate) fn hit(answer: &Response) -> bool {
    said(answer).contains("; hit")
}

/// Asserts that all of them are 200 with one and the same content, and returns it.
pub(crate) fn same(answers: &[Response]) -> String {
    let first = answers.first().expect("an answer");
    for answer in answers {
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.text(), first.text(), "{}", said(answer));
    }
    first.text()
}
