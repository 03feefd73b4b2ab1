//! The real php-fpm, on a socket of the test's own.

use crate::{port::free_port, process::Process, scratch_dir};
use std::{
    fs,
    net::TcpStream,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::Command,
};

/// A `php-fpm` with so many processes and nothing of the machine's own settings. Killed when dropped.
#[derive(Debug)]
pub struct PhpFpm {
    directory: PathBuf,
    port: Option<u16>,
    children: usize,
    settings: String,
    process: Option<Process>,
}

impl PhpFpm {
    /// One on a Unix socket, and waits until it listens.
    pub fn start(children: usize) -> Self {
        Self::with(children, None, "")
    }

    /// One on a port of 127.0.0.1.
    pub fn on_tcp(children: usize) -> Self {
        Self::with(children, Some(free_port()), "")
    }

    /// One on a Unix socket with more lines in its pool's section.
    pub fn with_settings(children: usize, settings: &str) -> Self {
        Self::with(children, None, settings)
    }

    fn with(children: usize, port: Option<u16>, settings: &str) -> Self {
        let mut server = Self {
            directory: scratch_dir(),
            port,
            children,
            settings: settings.to_owned(),
            process: None,
        };
        server.restart();
        server
    }

    /// As `fastcgi` has it in a configuration.
    pub fn url(&self) -> String {
        match self.port {
            Some(port) => format!("tcp://127.0.0.1:{port}"),
            None => format!("unix:{}", self.socket().display()),
        }
    }

    /// The path of its socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.join("php-fpm.sock")
    }

    /// Kills it and all its processes; the socket goes too.
    pub fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.end();
        }
        let _ = fs::remove_file(self.socket());
    }

    /// Starts it again in the same place.
    pub fn restart(&mut self) {
        self.stop();
        let file = self.directory.join("php-fpm.conf");
        fs::write(&file, self.configuration()).expect("a configuration file");
        let mut command = Command::new(binary());
        command.args(["-F", "-n", "-y"]).arg(&file);
        if is_root() {
            command.arg("-R");
        }
        let mut process = Process::start(command, "php-fpm");
        process.wait_until("php-fpm listened", || self.listens());
        self.process = Some(process);
    }

    fn configuration(&self) -> String {
        let listen = match self.port {
            Some(port) => format!("127.0.0.1:{port}"),
            None => self.socket().display().to_string(),
        };
        let log = self.directory.join("php-fpm.log");
        let root = if is_root() {
            "user = root\ngroup = root\n"
        } else {
            ""
        };
        format!(
            "[global]\nerror_log = {}\n[test]\n{root}listen = {listen}\npm = static\npm.max_children = {}\n\
             php_admin_flag[log_errors] = on\nphp_admin_flag[display_errors] = off\n{}\n",
            log.display(),
            self.children,
            self.settings,
        )
    }

    fn listens(&self) -> bool {
        match self.port {
            Some(port) => TcpStream::connect(("127.0.0.1", port)).is_ok(),
            None => UnixStream::connect(self.socket()).is_ok(),
        }
    }
}

impl Drop for PhpFpm {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            process.end();
        }
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Debian names it by its version.
fn binary() -> PathBuf {
    let folder = Path::new("/usr/sbin");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("php-fpm"))
        })
        .collect();
    found.sort();
    found.pop().expect("php-fpm (is its package installed?)")
}
