//! The disk tier: what was asked for twice is there again after a stop, after a crash, and is the same in every byte.

#![allow(clippy::similar_names, reason = "a site and the size of its pages")]

use crate::{
    admin::explain,
    common::{Said, counted, sample},
    disk_purge::purge,
};
use std::{
    fs,
    path::{Path, PathBuf},
};
use testkit::{Command, Gate, Larder, Origin, Reply, Response, scratch_dir, wait_until};

/// A body that memory takes, and one that it does not take with [`Site::new`]'s configuration.
pub(crate) const MIDDLE: usize = 100_000;
pub(crate) const LARGE: usize = 3_000_000;

/// A site whose cache may be stopped, killed and started again over one directory.
pub(crate) struct Site {
    pub origin: Origin,
    config: String,
    path: PathBuf,
}

impl Site {
    /// 4 MiB of memory and a disk tier of 64 MiB before a fresh origin, for clients that may take their time. `config`:
    /// what is added, tables alone; `{origin}` stands for the origin's URL.
    pub fn new(config: &str) -> Self {
        let (origin, path) = (Origin::start(), scratch_dir().join("disk"));
        let config = format!(
            "[limits]\nwrite_time = \"1h\"\n[memory]\nsize = \"4MiB\"\n[disk]\npath = \"{}\"\nsize = \"64MiB\"\n[[origin]]\nservers = \"{{origin}}\"\n{config}",
            path.display()
        );
        let config = config.replace("{origin}", &origin.url());
        Self {
            origin,
            config,
            path,
        }
    }

    /// As [`Site::new`], with every answer to a path as `reply` says.
    pub fn with(reply: impl Fn(&testkit::Request) -> Reply + Send + Sync + 'static) -> Self {
        let site = Self::new("");
        site.origin.otherwise(reply);
        site
    }

    /// As [`Site::with`], of pages that last ten minutes: so many bytes each as `size` says for its path.
    pub fn of_sizes(size: impl Fn(&str) -> usize + Send + Sync + 'static) -> Self {
        Self::with(move |request| {
            let path = request.path();
            Reply::ok()
                .cache("max-age=600")
                .body(content(path, size(path)))
        })
    }

    /// Its disk tier is on the file system that is mounted there.
    pub fn on(mut self, mounted: &Path) -> Self {
        let path = mounted.join("disk");
        let (before, after) = (self.path.display(), path.display());
        self.config = self.config.replace(&before.to_string(), &after.to_string());
        self.path = path;
        self
    }

    /// Its configuration, as it was written.
    pub fn config(&self) -> &str {
        &self.config
    }

    /// The directory of the disk tier.
    pub fn path(&self) -> &PathBuf {
        &self.path
    }

    /// Starts a larder over the directory, and waits until it has found all that is there.
    pub fn start(&self) -> Larder {
        let larder = self.start_at_once();
        larder.wait_output("disk tier loaded");
        larder
    }

    /// Starts a larder over the directory.
    pub fn start_at_once(&self) -> Larder {
        Command::serve(env!("CARGO_BIN_EXE_larder"))
            .config(&self.config)
            .start()
    }

    /// Stops it as an operator does, and starts another.
    pub fn restart(&self, larder: Larder) -> Larder {
        let finished = larder.stop();
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        self.start()
    }

    /// Kills it, and starts another.
    pub fn crash(&self, larder: Larder) -> Larder {
        larder.kill();
        self.start()
    }

    /// The files that hold stored responses, in the order of their names.
    pub fn files(&self) -> Vec<PathBuf> {
        let names = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut files: Vec<_> = names
            .map(|entry| entry.path())
            .filter(|path| kind(path, "segment") || kind(path, "large"))
            .collect();
        files.sort();
        files
    }

    /// The files with a large body each.
    pub fn large_files(&self) -> Vec<PathBuf> {
        let mut files = self.files();
        files.retain(|path| kind(path, "large"));
        files
    }

    /// Whether this text is in any file of the directory.
    pub fn holds(&self, text: &str) -> bool {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| fs::read(entry.path()).ok())
            .any(|bytes| contains(&bytes, text.as_bytes()))
    }

    /// Waits until this text, of the end of a body or of a head, has been written.
    pub fn wait_holds(&self, text: &str) {
        wait_until(&format!("{text:?} was written to disk"), || {
            self.holds(text)
        });
    }
}

/// Asks for each of them until it is on its way to disk: the second time.
pub(crate) fn keep(larder: &Larder, targets: &[&str]) {
    for target in targets {
        for _ in 0..2 {
            let answer = larder.get(target).send();
            assert!(answer.complete, "{target}: {:?}", answer.head);
        }
    }
}

/// Waits until so many stored responses were written to disk. Before that, they have come as a whole.
pub(crate) fn wait_written(larder: &Larder, count: u64) {
    wait_until("they were written to disk", || {
        sample(larder, "larder_disk_writes_total") >= count
    });
}

fn kind(path: &std::path::Path, kind: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| {
        name.starts_with(kind) && name.as_bytes().get(kind.len()) == Some(&b'-')
    })
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    let Some((first, rest)) = wanted.split_first() else {
        return true;
    };
    let mut left = bytes;
    while let Some(at) = left.iter().position(|byte| byte == first) {
        left = &left[at + 1..];
        if left.starts_with(rest) {
            return true;
        }
    }
    false
}

/// A body in which every place can be told from every other; it ends with `END` and its seed.
pub(crate) fn content(seed: &str, length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length + 32);
    let mut line = 0;
    while bytes.len() < length {
        bytes.extend_from_slice(format!("{seed} {line}\n").as_bytes());
        line += 1;
    }
    let end = ending(seed);
    bytes.truncate(length - end.len());
    bytes.extend_from_slice(end.as_bytes());
    bytes
}

/// What `content` of this seed ends with.
pub(crate) fn ending(seed: &str) -> String {
    format!("END {seed}.")
}

/// Compares bodies without printing them whole.
#[track_caller]
pub(crate) fn same(got: &[u8], wanted: &[u8], what: &str) {
    if got == wanted {
        return;
    }
    let pairs = got.iter().zip(wanted);
    let at = pairs.take_while(|(got, wanted)| got == wanted).count();
    let piece = |bytes: &[u8]| {
        let end = bytes.len().min(at + 40);
        String::from_utf8_lossy(&bytes[at.min(bytes.len())..end]).into_owned()
    };
    panic!(
        "{what}: {} bytes instead of {}, different from {at} on: {:?} instead of {:?}",
        got.len(),
        wanted.len(),
        piece(got),
        piece(wanted)
    );
}

/// The fields of an answer that do not depend on when and how it was made.
fn lasting(answer: &Response) -> Vec<(String, String)> {
    let changing = ["age", "cache-status", "connection"];
    let fields = answer.head.fields.iter();
    let mut fields: Vec<_> = fields
        .filter(|(name, _)| !changing.contains(&name.to_ascii_lowercase().as_str()))
        .cloned()
        .collect();
    fields.sort();
    fields
}

#[test]
fn what_was_asked_for_twice_is_there_after_a_stop_and_after_a_crash() {
    let sizes = [("/small", 40), ("/middle", MIDDLE), ("/large", LARGE)];
    for crash in [false, true] {
        let site = Site::with(move |request| {
            let size = sizes.iter().find(|(path, _)| *path == request.path());
            Reply::ok()
                .cache("max-age=600")
                .header("Age", "100")
                .header("X-Several", "one")
                .header("x-several", "two, three")
                .header("ETag", "\"a\"")
                .body(content(request.path(), size.expect("a size").1))
        });
        let mut larder = site.start();
        for (path, _) in sizes {
            keep(&larder, &[path]);
        }
        let before = sizes.map(|(path, _)| larder.get(path).send());
        assert!(before.iter().all(Said::hit));

        for (path, _) in sizes {
            site.wait_holds(&ending(path));
        }
        let asked = sizes.map(|(path, _)| site.origin.requests(path));
        for round in 0..3 {
            larder = if crash {
                site.crash(larder)
            } else {
                site.restart(larder)
            };
            for ((path, size), before) in sizes.iter().zip(&before) {
                let answer = larder.get(path).send();
                assert!(
                    answer.hit(),
                    "{path}, crash: {crash}, round {round}: {}",
                    answer.said()
                );
                assert_eq!(lasting(&answer), lasting(before), "{path}");
                same(&answer.body, &content(path, *size), path);
                let age: u64 = answer.header("age").unwrap().parse().unwrap();
                assert!(age >= 100, "9111 section 4.2.3: {path}: {age}");
            }
        }
        assert_eq!(sizes.map(|(path, _)| site.origin.requests(path)), asked);
    }
}

#[test]
fn what_was_asked_for_once_is_not_written() {
    let site = Site::with(|request| {
        let size = if request.path() == "/large" {
            LARGE
        } else {
            40
        };
        Reply::ok()
            .cache("max-age=600")
            .body(content(request.path(), size))
    });
    let larder = site.start();
    assert!(!larder.get("/small").send().hit());
    let first = larder.get("/large").send();
    assert_eq!(
        first.parameter("detail").as_deref(),
        Some("too-large"),
        "{}",
        first.said()
    );
    same(&first.body, &content("/large", LARGE), "it passes");
    let larder = site.restart(larder);
    assert!(!site.holds("END"), "a scan does not wear the device out");
    assert!(!larder.get("/small").send().hit());
}

#[test]
fn a_graceful_stop_writes_what_is_queued() {
    let site = Site::with(|request| counted(request).cache("max-age=600"));
    let larder = site.start();
    let paths: Vec<_> = (0..300).map(|number| format!("/{number}")).collect();
    let mut client = larder.client();
    for path in &paths {
        client.get(path).send();
        assert!(client.get(path).send().hit());
    }
    drop(client);
    let larder = site.restart(larder);
    let mut client = larder.client();
    for path in &paths {
        let answer = client.get(path).send();
        assert!(answer.hit(), "{path}: {}", answer.said());
    }
}

#[test]
fn what_is_asked_for_again_while_it_is_on_its_way_is_written_for_whom_it_is() {
    for size in [1000, MIDDLE] {
        let (site, gate) = (Site::new(""), Gate::new());
        let held = gate.clone();
        site.origin.otherwise(move |request| {
            let body = content(request.header("x-who").expect("a name"), size);
            let (first, rest) = body.split_at(size / 2);
            let reply = Reply::ok().cache("max-age=600").header("Vary", "X-Who");
            reply.length(size).body(first).hold(&held).body(rest)
        });
        let larder = site.start();
        let asks = ["ann", "bob", "ann", "bob"].map(|who| {
            let mut client = larder.get("/").header("X-Who", who).begin();
            let head = client.read_head();
            (who, client, head)
        });
        gate.open();
        for (who, mut client, mut answer) in asks {
            client.read_content(&mut answer);
            same(&answer.body, &content(who, size), who);
        }
        let larder = site.restart(larder);
        for who in ["bob", "ann", "cid"] {
            let answer = larder.get("/").header("X-Who", who).send();
            same(&answer.body, &content(who, size), who);
            let is_there = who != "cid";
            assert_eq!(answer.hit(), is_there, "{size} {who}: {}", answer.said());
        }
    }
}

#[test]
fn every_status_and_an_empty_body_come_back() {
    let site = Site::with(|request| {
        let status = request.path()[1..].parse().expect("a status");
        let reply = Reply::status(status)
            .cache("max-age=600")
            .header("Location", "/elsewhere");
        match status {
            204 => reply,
            201 => reply.body(""),
            _ => reply.body("content"),
        }
    });
    let paths = [
        "/200", "/201", "/203", "/204", "/301", "/302", "/308", "/404", "/410", "/451",
    ];
    let larder = site.start();
    let before = paths.map(|path| {
        keep(&larder, &[path]);
        larder.get(path).send()
    });
    let larder = site.restart(larder);
    for (path, before) in paths.iter().zip(&before) {
        let answer = larder.get(path).send();
        assert_eq!(answer.hit(), before.hit(), "{path}: {}", answer.said());
        assert_eq!(answer.status, before.status);
        assert_eq!(lasting(&answer), lasting(before), "{path}");
        assert_eq!(answer.body, before.body, "{path}");
    }
}

#[test]
fn bytes_of_any_value_come_back_in_fields_and_bodies() {
    let every: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let site = Site::new("");
    let body = every.clone();
    site.origin.otherwise(move |_| {
        Reply::ok()
            .cache("max-age=600")
            .header("X-Odd", "caf\u{e9} \"quoted, \\ text\" =?;,")
            .header("X-Empty", "")
            .body(&body)
    });
    let larder = site.start();
    keep(&larder, &["/a%20b?x=%ff&y=a+b"]);
    let before = larder.get("/a%20b?x=%ff&y=a+b").send();
    let larder = site.restart(larder);
    let answer = larder.get("/a%20b?x=%ff&y=a+b").send();
    assert!(answer.hit(), "{}", answer.said());
    assert_eq!(lasting(&answer), lasting(&before));
    same(&answer.body, &every, "every byte");
}

#[test]
fn what_is_asked_for_often_is_taken_from_disk_into_memory() {
    let site = Site::with(|request| counted(request).cache("max-age=600"));
    let larder = site.start();
    keep(&larder, &["/"]);
    let larder = site.restart(larder);
    let mut client = larder.client();
    for _ in 0..1000 {
        assert!(client.get("/").send().hit());
    }
    for file in site.files() {
        fs::write(file, "").unwrap();
    }
    let again = client.get("/").send();
    assert!(again.hit(), "memory has it now: {}", again.said());
}

#[test]
fn what_memory_has_no_room_for_is_answered_from_disk() {
    let site = Site::with(|request| {
        Reply::ok()
            .cache("max-age=600")
            .body(content(request.path(), 300_000))
    });
    let larder = site.start();
    let paths: Vec<_> = (0..40).map(|number| format!("/{number}")).collect();
    for path in &paths {
        keep(&larder, &[path]);
    }
    for path in &paths {
        site.wait_holds(&ending(path));
        let answer = larder.get(path).send();
        assert!(answer.hit(), "{path}: {}", answer.said());
        same(&answer.body, &content(path, 300_000), path);
        assert_eq!(site.origin.requests(path), 1);
    }
}

/// What does not last is not written each time that it is fetched. Where memory gives it up, it is.
#[test]
fn no_older_version_comes_back_from_disk() {
    let site = Site::with(|request| {
        if request.path() == "/page" {
            return counted(request).cache("max-age=25");
        }
        Reply::ok()
            .cache("max-age=600")
            .body(content(request.path(), 12_000))
    });
    let larder = site.start();
    let mut client = larder.client();
    for _ in 0..4 {
        assert_eq!(client.get("/page").send().text(), "1");
    }
    for round in 0..2 {
        // Memory has room for fewer.
        for number in 0..800 {
            let path = format!("/{round}/{number}");
            for _ in 0..2 {
                client.get(&path).send();
            }
        }
        if round == 0 {
            for version in ["2", "3"] {
                let page = client.get("/page").header("Cache-Control", "no-cache");
                assert_eq!(page.send().text(), version);
            }
        }
    }
    let version: usize = client.get("/page").send().text().parse().unwrap();
    assert!(version >= 3, "{version} after 3");
}

/// Another variant of the page is no version of it.
#[test]
fn a_variant_that_was_asked_for_once_is_not_written() {
    let site = Site::with(|request| {
        let size = if request.path() == "/page" {
            1000
        } else {
            12_000
        };
        Reply::ok()
            .cache("max-age=600")
            .header("Vary", "X-V")
            .body(content(request.path(), size))
    });
    let larder = site.start();
    let ask = |variant: &str| larder.get("/page").header("X-V", variant).send();
    ask("once");
    for _ in 0..2 {
        ask("twice");
    }
    // Memory has room for fewer.
    for number in 0..800 {
        keep(&larder, &[&format!("/{number}")]);
    }
    assert!(ask("twice").hit());
    assert!(!ask("once").hit());
}

/// What memory answers does not come to the disk, whose oldest go: it hears of it all the same.
#[test]
fn what_memory_answers_stays_on_disk() {
    let site = Site::of_sizes(|path| if path == "/hot" { 10_000 } else { 400_000 });
    let larder = site.start();
    keep(&larder, &["/hot"]);
    let mut client = larder.client();
    // More than the disk has room for, twice.
    for number in 0..350 {
        keep(&larder, &[&format!("/{number}")]);
        for _ in 0..8 {
            assert!(client.get("/hot").send().hit());
        }
    }
    let larder = site.restart(larder);
    let answer = larder.get("/hot").send();
    assert!(answer.hit(), "{}", answer.said());
    assert_eq!(site.origin.requests("/hot"), 1);
    assert!(!larder.get("/0").send().hit());
}

#[test]
fn what_the_disk_has_is_found_while_it_loads_or_the_origin_answers() {
    let site = Site::with(|request| counted(request).cache("max-age=600"));
    let larder = site.start();
    let paths: Vec<_> = (0..200).map(|number| format!("/{number}")).collect();
    let mut client = larder.client();
    for path in &paths {
        client.get(path).send();
        client.get(path).send();
    }
    larder.stop();
    // At once after each start, whatever has been loaded by then.
    for _ in 0..5 {
        let larder = site.start_at_once();
        for path in paths.iter().step_by(40) {
            let answer = larder.get(path).send();
            let nth: usize = answer.text().parse().expect("a count");
            assert!((1..=site.origin.requests(path)).contains(&nth), "{path}");
        }
        larder.kill();
    }
}

#[test]
fn explain_looks_on_disk_too() {
    let sizes = [("/small", 40), ("/middle", MIDDLE), ("/large", LARGE)];
    let site = Site::with(move |request| {
        let size = sizes.iter().find(|(path, _)| *path == request.path());
        let length = size.map_or(40, |(_, length)| *length);
        Reply::ok()
            .cache("max-age=600")
            .header("Vary", "Accept-Language")
            .body(content(request.path(), length))
    });
    let larder = site.start();
    keep(&larder, &sizes.map(|(path, _)| path));
    let larder = site.restart(larder);
    let asked = site.origin.all().len();
    for (path, _) in sizes {
        let url = format!("http://example.test{path}");
        let told = explain(&larder, &url);
        assert!(
            told.contains("A GET now is answered from disk") && told.contains(", on disk\n"),
            "{path}: {told}"
        );
        let other = format!("{url}?other");
        let told = explain(&larder, &other);
        assert!(told.contains("from the origin"), "{other}: {told}");
    }
    for outcome in ["hits", "misses"] {
        let name = format!("larder_disk_{outcome}_total");
        assert_eq!(sample(&larder, &name), 0, "explaining is no use: {name}");
    }
    assert_eq!(site.origin.all().len(), asked, "nor a fetch");
    assert!(larder.get("/small").send().hit());
    purge(&larder, &serde_json::json!({"everything": true}));
    let told = explain(&larder, "http://example.test/small");
    assert!(told.contains("from the origin"), "{told}");
}
