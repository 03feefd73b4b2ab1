//! A file system that turns read-only while the cache runs, and a device that fails altogether: what was acknowledged
//! is not lost, and nothing wrong is sent.

use crate::{
    common::Said,
    disk::{LARGE, Site, content, keep, same},
    disk_purge::{ask_purge, kept},
    disk_trouble::told,
};
use serde_json::json;
use testkit::{Command, FailingDisk, Larder, Reply, Response};

/// A site whose cache has its directory on a disk that can fail.
struct Failing {
    disk: FailingDisk,
    site: Site,
}

impl Failing {
    fn new() -> Self {
        let site = Site::with(|request| {
            let size = if request.path().starts_with("/large") {
                LARGE
            } else {
                1000
            };
            let seed = format!("{} {}", request.path(), request.nth);
            Reply::ok().cache("max-age=600").body(content(&seed, size))
        });
        let disk = FailingDisk::new();
        Self { disk, site }
    }

    fn start_at_once(&self) -> Larder {
        let own = self.disk.path().join("disk");
        let config = self
            .site
            .config()
            .replace(&*self.site.path().to_string_lossy(), &own.to_string_lossy());
        Command::serve(env!("CARGO_BIN_EXE_larder"))
            .config(&config)
            .start()
    }

    fn start(&self) -> Larder {
        let larder = self.start_at_once();
        larder.wait_output("disk tier loaded");
        larder
    }

    /// One that has these pages on disk, and nothing in memory.
    fn start_with(&self, paths: &[&str]) -> Larder {
        let larder = self.start();
        keep(&larder, paths);
        let finished = larder.stop();
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        self.start()
    }
}

/// Which version of the page this is; every byte of it is as it was sent.
#[track_caller]
fn version(path: &str, answer: &Response) -> usize {
    assert!(
        answer.complete && answer.status == 200,
        "{path}: {:?}",
        answer.head
    );
    let text = String::from_utf8_lossy(&answer.body);
    let version = text.split(' ').nth(1).and_then(|word| word.parse().ok());
    let version = version.unwrap_or_else(|| panic!("{path}: {text:.80}"));
    let wanted = content(&format!("{path} {version}"), answer.body.len());
    same(&answer.body, &wanted, path);
    version
}

/// The same of a page that is asked for now.
#[track_caller]
fn current(larder: &Larder, path: &str) -> usize {
    version(path, &larder.get(path).send())
}

/// A purge of this page is not acknowledged, for this reason; it holds here all the same.
#[track_caller]
fn cannot_purge(larder: &Larder, path: &str, why: &str) {
    let answer = ask_purge(
        larder,
        &json!({ "url": format!("http://example.test{path}") }),
    );
    assert_eq!(answer.status, 500, "{}", answer.text());
    assert!(answer.text().contains(why), "{}", answer.text());
    assert!(!kept(larder, path), "{path}");
    let answer = larder.ask("PURGE", path).send();
    assert_eq!(answer.status, 500, "{}", answer.text());
}

fn purge(larder: &Larder, path: &str) {
    let answer = ask_purge(
        larder,
        &json!({ "url": format!("http://example.test{path}") }),
    );
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[track_caller]
fn stops(larder: Larder) {
    let finished = larder.stop();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

#[test]
fn a_file_system_that_turns_read_only_is_told_of_once_and_nothing_acknowledged_is_lost() {
    const WHY: &str = "Read-only file system";
    let failing = Failing::new();
    let larder = failing.start_with(&["/kept", "/purged", "/later", "/large/kept"]);
    purge(&larder, "/purged");
    failing.disk.turn_read_only();

    // What is too large for memory is stored when it comes for the second time.
    let stored = [("/kept", 1), ("/large/kept", 2)];
    for (path, wanted) in stored {
        let answer = larder.get(path).send();
        assert!(answer.hit(), "what can be read is used: {}", answer.said());
        assert_eq!(version(path, &answer), wanted);
    }
    // The second time it would be written while it is sent.
    for path in [
        "/large/new",
        "/large/new",
        "/new",
        "/new",
        "/large/other",
        "/large/other",
    ] {
        current(&larder, path);
    }
    assert!(larder.get("/new").send().hit(), "memory keeps it");
    larder.wait_output("disk tier not used for");
    cannot_purge(&larder, "/later", WHY);
    let lines = told(&larder);
    let both = lines.len() == 2 && lines.iter().all(|line| line.contains(WHY));
    assert!(both, "the tier, and the log of purges: {lines:#?}");
    assert!(lines[1].contains("the log of purges"), "{lines:#?}");
    stops(larder);

    // As it is, it cannot be taken into use either.
    let larder = failing.start_at_once();
    assert_eq!(current(&larder, "/kept"), 2);
    assert!(larder.get("/kept").send().hit());
    cannot_purge(&larder, "/kept", WHY);
    let lines = told(&larder);
    assert!(lines.len() == 1 && lines[0].contains(WHY), "{lines:#?}");
    stops(larder);

    failing.disk.mend();
    let larder = failing.start();
    assert_eq!(current(&larder, "/purged"), 2, "that was acknowledged");
    let answer = larder.get("/kept").send();
    assert!(answer.hit(), "{}", answer.said());
    assert_eq!(version("/kept", &answer), 1, "that was not");
    // Nobody was told that it lasts; what of it did not reach the device is not made up.
    assert!(current(&larder, "/large/kept") >= 2);
    purge(&larder, "/kept");
    larder.kill();
    assert_eq!(current(&failing.start(), "/kept"), 3);
}

#[test]
fn a_device_that_fails_is_told_of_once_and_nothing_acknowledged_is_lost() {
    let failing = Failing::new();
    let mut paths: Vec<_> = (0..20).map(|number| format!("/{number}")).collect();
    paths.extend(["/large/a".to_owned(), "/large/b".to_owned()]);
    let names: Vec<_> = paths.iter().map(String::as_str).collect();
    let larder = failing.start_with(&names);
    assert!(larder.get("/large/a").send().hit());
    purge(&larder, "/0");
    failing.disk.fail();

    for _ in 0..3 {
        for path in &paths {
            let least = usize::from(path == "/0") + 1;
            assert!(current(&larder, path) >= least, "{path}");
        }
        current(&larder, "/large/new");
    }
    assert!(larder.get("/5").send().hit(), "memory keeps it");
    larder.wait_output("disk tier not used for");
    cannot_purge(&larder, "/1", "Input/output error");
    let lines = told(&larder);
    for doing in ["reading", "writing", "the log of purges cannot be written"] {
        let of_it = lines.iter().filter(|line| line.contains(doing));
        assert!(of_it.count() <= 1, "one line: {lines:#?}");
    }
    assert!(lines.len() <= 3, "{lines:#?}");
    stops(larder);

    failing.disk.mend();
    let larder = failing.start();
    for path in &paths {
        let least = usize::from(path == "/0") + 1;
        assert!(current(&larder, path) >= least, "{path}");
    }
    let answer = larder.get("/7").send();
    assert!(answer.hit(), "{}", answer.said());
    assert_eq!(
        version("/7", &answer),
        1,
        "it lay on the device all the time"
    );
}
