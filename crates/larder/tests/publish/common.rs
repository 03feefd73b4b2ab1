//! An application, a folder, and the command between them.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Child, Stdio},
};
use testkit::{Address, Command, Finished, Origin, Reply, Request, scratch_dir, wait_until};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_larder");

/// An application whose pages are published to a folder.
pub(crate) struct Site {
    pub(crate) origin: Origin,
    pub(crate) folder: PathBuf,
}

/// An address as commands take it.
pub(crate) fn tcp(address: &Address) -> String {
    match address {
        Address::Tcp(address) => address.to_string(),
        Address::Unix(path) => panic!("{} is no port", path.display()),
    }
}

/// An HTML page with these links.
pub(crate) fn page(links: &[&str]) -> Reply {
    let links: Vec<_> = links
        .iter()
        .map(|link| format!("<a href=\"{link}\">x</a>"))
        .collect();
    html(&links.concat())
}

/// Answers with this page and this tag, or confirms it to those who have the tag.
pub(crate) fn tagged(request: &Request, body: &str) -> Reply {
    if request.header("if-none-match") == Some("\"1\"") {
        Reply::status(304).header("ETag", "\"1\"")
    } else {
        html(body).header("ETag", "\"1\"")
    }
}

/// An HTML page.
pub(crate) fn html(body: &str) -> Reply {
    Reply::ok().header("Content-Type", "text/html").body(body)
}

impl Site {
    /// An application with these pages, each with its links.
    pub(crate) fn new(pages: &[(&str, &[&str])]) -> Self {
        let origin = Origin::start();
        for (path, links) in pages {
            origin.reply(path, page(links));
        }
        let folder = scratch_dir().join("site");
        Self { origin, folder }
    }

    /// `larder publish`, with more arguments.
    pub(crate) fn command(&self, more: &[&str]) -> Command {
        let to = self.folder.display().to_string();
        Command::new(BINARY)
            .args([
                "publish",
                "--from",
                &self.origin.url(),
                "--to",
                &to,
                "--rate",
                "0",
            ])
            .args(more.iter().copied())
    }

    /// Runs it to its end.
    pub(crate) fn publish(&self, more: &[&str]) -> Finished {
        self.command(more).run()
    }

    /// Runs it, and expects that all went well.
    pub(crate) fn published(&self, more: &[&str]) -> String {
        let done = self.publish(more);
        assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
        done.stdout
    }

    /// Starts it, for tests that stop it.
    pub(crate) fn start(&self, more: &[&str]) -> Process {
        let to = self.folder.display().to_string();
        let child = std::process::Command::new(BINARY)
            .args([
                "publish",
                "--from",
                &self.origin.url(),
                "--to",
                &to,
                "--rate",
                "0",
            ])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Process(child.expect("the binary"))
    }

    /// The text of a file.
    pub(crate) fn text(&self, file: &str) -> String {
        fs::read_to_string(self.folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// The files that are not the command's own.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        walk(&self.folder, &self.folder, &mut files);
        files.retain(|file| !file.starts_with(".larder-publish"));
        files.sort();
        files
    }

    /// What is written of a page.
    pub(crate) fn said(&self, target: &str) -> serde_json::Value {
        self.manifest()
            .remove(target)
            .unwrap_or_else(|| panic!("{target} is not published"))
    }

    /// The pages of the manifest.
    pub(crate) fn manifest(&self) -> BTreeMap<String, serde_json::Value> {
        let mut manifest: serde_json::Value =
            serde_json::from_str(&self.text(".larder-publish.json")).expect("JSON");
        assert_eq!(manifest["format"], 1);
        serde_json::from_value(manifest["pages"].take()).expect("pages")
    }

    /// What changes when a file is written or replaced.
    pub(crate) fn stamp(&self, file: &str) -> (u64, i64, i64) {
        let found =
            fs::metadata(self.folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        (found.ino(), found.mtime(), found.mtime_nsec())
    }
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(root, &path, files);
        } else {
            let name = path.strip_prefix(root).expect("below the root");
            files.push(name.display().to_string());
        }
    }
}

/// A process that a test ends; killed when dropped.
pub(crate) struct Process(Child);

impl Process {
    /// Ends it as a crash does.
    pub(crate) fn kill(mut self) {
        self.0.kill().expect("a process");
        self.0.wait().expect("its end");
    }

    /// Sends this signal.
    pub(crate) fn signal(&self, name: &str) {
        let line = format!("kill -{name} {}", self.0.id());
        let sent = std::process::Command::new("sh")
            .args(["-c", &line])
            .status();
        assert!(sent.is_ok_and(|sent| sent.success()));
    }

    /// Waits for its end, and tells its code.
    pub(crate) fn end(mut self) -> Option<i32> {
        let mut ended = None;
        wait_until("it ended", || {
            ended = self.0.try_wait().expect("a process");
            ended.is_some()
        });
        ended.and_then(|status| status.code())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
