//! A directory that cannot be used, a device that fails or is full: one clear message, and serving goes on.

#![allow(
    clippy::similar_names,
    reason = "a site and the size of what it answers"
)]

use crate::{
    common::{Said, counted, sample},
    disk::{LARGE, Site, content, keep, same, wait_written},
    disk_purge::{ask_purge, kept},
};
use serde_json::json;
use std::{
    collections::HashMap,
    ffi::OsString,
    fs,
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};
use testkit::{Command, Larder, Origin, Reply, SmallDisk, scratch_dir, wait_until};

/// Starts a larder whose disk tier has this directory.
fn over(path: &Path, origin: &Origin) -> Larder {
    let config = format!(
        "[memory]\nsize = \"4MiB\"\n[disk]\npath = \"{}\"\nsize = \"64MiB\"\n[[origin]]\nservers = \"{}\"\n",
        path.display(),
        origin.url()
    );
    Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&config)
        .start()
}

/// What it told of errors and warnings.
pub(crate) fn told(larder: &Larder) -> Vec<String> {
    let output = larder.output();
    let lines = output.lines();
    lines
        .filter(|line| line.contains(" ERROR ") || line.contains(" WARN "))
        .map(str::to_owned)
        .collect()
}

/// It answers and keeps in memory as ever, also what is too large for that.
fn serves(larder: &Larder, origin: &Origin) {
    origin.otherwise(|request| {
        let size = if request.path() == "/large" {
            LARGE
        } else {
            100
        };
        Reply::ok()
            .cache("max-age=600")
            .body(content(request.path(), size))
    });
    for round in 0..3 {
        let small = larder.get("/small").send();
        assert_eq!(small.hit(), round > 0, "{}", small.said());
        same(&small.body, &content("/small", 100), "small");
        let large = larder.get("/large").send();
        assert!(large.complete);
        same(&large.body, &content("/large", LARGE), "large");
    }
}

#[test]
fn a_directory_that_cannot_be_used_is_told_of_once_and_serving_goes_on() {
    let scratch = scratch_dir();
    fs::write(scratch.join("file"), "mine").unwrap();
    let newer = scratch.join("newer");
    fs::create_dir(&newer).unwrap();
    fs::write(
        newer.join("about"),
        "larder disk tier\nformat 4000\nseed 0123456789abcdef\n",
    )
    .unwrap();
    let cases = [
        (scratch.join("missing/disk"), "No such file or directory"),
        (scratch.join("file"), ""),
        (
            Path::new("/proc/larder-test").to_owned(),
            "/proc/larder-test",
        ),
        (newer.clone(), "written by a newer version (format 4000)"),
    ];
    for (path, said) in cases {
        let origin = Origin::start();
        let larder = over(&path, &origin);
        serves(&larder, &origin);
        let told = told(&larder);
        assert_eq!(told.len(), 1, "one message: {told:#?}");
        assert!(
            told[0].contains(&*path.to_string_lossy()),
            "where: {told:?}"
        );
        assert!(told[0].contains(said), "what: {told:?}");
        assert_eq!(larder.stop().code, Some(0));
    }
    assert_eq!(fs::read_to_string(scratch.join("file")).unwrap(), "mine");
    let about = fs::read_to_string(newer.join("about")).unwrap();
    assert!(about.contains("format 4000"), "what is newer is left alone");
}

#[test]
fn a_second_process_over_the_same_directory_goes_on_without() {
    let site = Site::with(|request| counted(request).cache("max-age=600"));
    let first = site.start();
    keep(&first, &["/"]);
    let origin = Origin::start();
    let second = over(site.path(), &origin);
    serves(&second, &origin);
    let told = told(&second);
    assert_eq!(told.len(), 1, "one message: {told:#?}");
    assert!(told[0].contains("another process"), "{told:?}");
    second.kill();
    let first = site.restart(first);
    assert!(
        first.get("/").send().hit(),
        "the first one is not disturbed"
    );
}

/// That files cannot be opened says nothing of what is in them: it is all there again once they can.
#[test]
fn where_too_few_files_may_be_opened_the_tier_is_left_as_it_is() {
    const PATHS: [&str; 3] = ["/a", "/b", "/c"];
    let site = Site::with(|request| counted(request).cache("max-age=600"));
    let config = site.config().replace("64MiB", "16GiB");
    let start = |limit: &str| {
        Command::new("prlimit")
            .args([limit, env!("CARGO_BIN_EXE_larder"), "serve"])
            .args(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .config(&config)
            .start()
    };
    // Each run leaves a segment.
    for path in PATHS {
        let larder = start("--nofile=258:258");
        larder.wait_output("disk tier loaded");
        keep(&larder, &[path]);
        assert_eq!(larder.stop().code, Some(0));
    }
    let before = site.files();
    assert_eq!(before.len(), PATHS.len(), "{before:?}");

    let larder = start("--nofile=257:257");
    let mut told = told(&larder);
    // Of its connections too, which are as many as it may have.
    told.retain(|line| !line.contains("connections at most"));
    assert_eq!(told.len(), 1, "one message: {told:#?}");
    let path = site.path().display();
    let said = format!(
        "no disk tier: {path}: with its segments open, this process needs 258 file descriptors, and the system lets it have 257: raise \
         the limit (`ulimit -n`, systemd's `LimitNOFILE`)"
    );
    assert!(told[0].ends_with(&said), "{told:?}");
    for path in PATHS {
        assert!(!larder.get(path).send().hit(), "{path}: it is not used");
        assert!(larder.get(path).send().hit(), "{path}: memory is");
    }
    let answer = ask_purge(&larder, &json!({ "url": "http://example.test/b" }));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(larder.stop().code, Some(0));
    assert_eq!(site.files(), before);

    let larder = start("--nofile=258:258");
    larder.wait_output("disk tier loaded");
    let is_kept = PATHS.map(|path| kept(&larder, path));
    assert_eq!(is_kept, [true, false, true], "the second was purged");
}

/// The directory comes back with what was stored before, and could not be told of the purge.
#[test]
fn a_purge_is_not_acknowledged_while_its_directory_is_missing() {
    let site = Site::with(|request| counted(request).cache("max-age=600"));
    let larder = site.start();
    keep(&larder, &["/"]);
    let larder = site.restart(larder);
    assert!(kept(&larder, "/"));
    larder.stop();
    let (parent, away) = (site.path().parent().unwrap(), scratch_dir().join("away"));
    fs::rename(parent, &away).unwrap();
    let larder = site.start_at_once();
    larder.get("/").send();
    let answer = ask_purge(&larder, &json!({ "url": "http://example.test/" }));
    assert_eq!(answer.status, 500, "{}", answer.text());
    assert!(answer.text().contains("No such file"), "{}", answer.text());
    assert!(!kept(&larder, "/"), "it holds on this node all the same");
    let answer = larder.ask("PURGE", "/").send();
    assert_eq!(answer.status, 500, "{}", answer.text());
    larder.stop();
    fs::rename(&away, parent).unwrap();
    let larder = site.start();
    assert!(kept(&larder, "/"), "nobody could tell the directory");
    let answer = ask_purge(&larder, &json!({ "url": "http://example.test/" }));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let larder = site.crash(larder);
    assert!(!kept(&larder, "/"));
}

#[test]
fn a_directory_that_is_removed_while_it_runs_is_made_again() {
    let site = Site::with(|request| {
        let size = if request.path().starts_with("/large") {
            LARGE
        } else {
            100
        };
        Reply::ok()
            .cache("max-age=600")
            .body(content(request.path(), size))
    });
    let larder = site.start();
    keep(&larder, &["/a", "/large/a"]);
    fs::remove_dir_all(site.path()).unwrap();
    for path in ["/a", "/b", "/large/a", "/large/b"] {
        for _ in 0..3 {
            let answer = larder.get(path).send();
            let size = if path.starts_with("/large") {
                LARGE
            } else {
                100
            };
            assert!(answer.complete, "{path}: {}", answer.said());
            same(&answer.body, &content(path, size), path);
        }
    }
    let finished = larder.stop();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let larder = site.start();
    for path in ["/a", "/b", "/large/a", "/large/b"] {
        for _ in 0..3 {
            larder.get(path).send();
        }
    }
    let larder = site.restart(larder);
    for path in ["/a", "/b", "/large/a", "/large/b"] {
        assert!(larder.get(path).send().hit(), "{path}");
    }
}

#[test]
fn a_directory_that_cannot_be_written_any_more_is_told_of_and_serving_goes_on() {
    let small = SmallDisk::new("4m");
    let size = |path: &str| {
        if path.starts_with("/large") {
            LARGE
        } else {
            100_000
        }
    };
    let site = Site::of_sizes(size).on(small.path());
    let larder = site.start_at_once();
    let judge = |path: &str| {
        let answer = larder.get(path).send();
        assert!(
            answer.complete && answer.status == 200,
            "{path}: {:?}",
            answer.head
        );
        same(&answer.body, &content(path, size(path)), path);
    };
    for number in 0..60 {
        for _ in 0..2 {
            judge(&format!("/{number}"));
        }
        if number % 20 == 0 {
            for _ in 0..3 {
                judge(&format!("/large/{number}"));
            }
        }
    }
    larder.wait_output("disk tier not used for");
    for number in (0..60).step_by(7) {
        judge(&format!("/{number}"));
    }
    // Once when it begins, and not again before it was over.
    let output = larder.output();
    let states: Vec<_> = output
        .lines()
        .filter(|line| line.contains("disk tier") && line.contains("writing"))
        .map(|line| line.contains("not used for"))
        .collect();
    assert!(!states.is_empty() && states.iter().step_by(2).all(|fails| *fails));
    let again = states.windows(2).any(|pair| pair[0] == pair[1]);
    assert!(!again, "not a message for each: {output}");
    larder.stop();
    let larder = site.start_at_once();
    for number in 0..60 {
        let answer = larder.get(&format!("/{number}")).send();
        same(
            &answer.body,
            &content(&format!("/{number}"), 100_000),
            "after a restart",
        );
    }
}

#[test]
fn on_a_file_system_smaller_than_its_size_the_tier_takes_what_fits() {
    let small = SmallDisk::new("24m");
    let site = Site::of_sizes(|_| LARGE).on(small.path());
    let larder = site.start();
    let mut paths = (0..).map(|number| format!("/{number}"));
    let mut ask = || {
        let path = paths.next().unwrap_or_default();
        keep(&larder, &[&path]);
        path
    };
    while !larder.output().contains("disk tier not used for") {
        ask();
    }
    wait_until("the tier is tried again", || {
        ask();
        larder.output().contains("disk tier used again")
    });
    let failed = sample(&larder, "larder_disk_errors_total");
    let mut latest = Vec::new();
    for _ in 0..3 {
        // What comes faster than removed files are let go of is passed on.
        let before = sample(&larder, "larder_disk_writes_total");
        wait_until("another one is written", || {
            latest.push(ask());
            sample(&larder, "larder_disk_writes_total") > before
        });
    }
    assert_eq!(sample(&larder, "larder_disk_errors_total"), failed);
    let larder = site.restart(larder);
    let kept = latest.iter().filter(|path| {
        let answer = larder.get(path).send();
        same(&answer.body, &content(path, LARGE), path);
        answer.hit()
    });
    // The first that was written may have been asked for before.
    assert!(kept.count() >= 2);
}

/// The last segment gets its index then, which needs room too.
#[test]
fn what_cannot_be_written_at_the_stop_is_told_of() {
    let small = SmallDisk::new("4m");
    let site = Site::with(|request| counted(request).cache("max-age=600")).on(small.path());
    let larder = site.start();
    // Their index takes more than the rest of the last page that the segment has.
    for number in 0..200 {
        keep(&larder, &[&format!("/{number}")]);
    }
    wait_written(&larder, 200);
    let other = small.path().join("other");
    fs::write(&other, vec![0; 8 << 20]).expect_err("more than there is room for");
    assert_eq!(told(&larder), [""; 0]);
    let stopped = larder.stop();
    let said = "disk tier not used for 10s: writing";
    assert_eq!(stopped.stderr.matches(said).count(), 1, "{stopped:?}");
    fs::remove_file(&other).expect("removed");
    let larder = site.start();
    assert!(kept(&larder, "/0"), "its index is made again");
}

#[test]
fn a_segment_that_could_not_be_begun_is_not_in_the_way_of_the_next() {
    let small = SmallDisk::new("4m");
    let site = Site::with(|request| counted(request).cache("max-age=600")).on(small.path());
    let larder = site.start();
    let other = small.path().join("other");
    fs::write(&other, vec![0; 8 << 20]).expect_err("more than there is room for");
    let mut paths = (0..).map(|number| format!("/{number}"));
    let mut ask = || keep(&larder, &[&paths.next().unwrap_or_default()]);
    wait_until("the disk is found to be full", || {
        ask();
        larder.output().contains("disk tier not used for")
    });
    fs::remove_file(&other).unwrap();
    wait_until("the disk is found to have room", || {
        ask();
        larder.output().contains("disk tier used again")
    });
}

/// Large files that it has open, and how many of those were removed.
fn open_large(larder: &Larder) -> (usize, usize) {
    let files = fs::read_dir(format!("/proc/{}/fd", larder.id())).expect("its files");
    let files = files
        .flatten()
        .filter_map(|file| fs::read_link(file.path()).ok());
    let large: Vec<_> = files
        .filter(|file| file.to_string_lossy().contains("large-"))
        .collect();
    let removed = large.iter().filter(|file| !file.exists()).count();
    (large.len(), removed)
}

/// Large bodies are in memory with their heads alone: what makes room on disk is let go of all the same, also where its
/// head was written more than once.
#[test]
fn what_made_room_is_kept_open_no_more() {
    let site = Site::with(|request| {
        let body = content(request.path(), LARGE);
        let reply = Reply::ok().header("ETag", "\"a\"");
        match request.header("if-none-match") {
            Some(_) => Reply::status(304)
                .header("ETag", "\"a\"")
                .cache("max-age=600"),
            None if request.path().starts_with("/validated") => {
                reply.cache("max-age=60").header("Age", "100").body(body)
            }
            None => reply.cache("max-age=600").body(body),
        }
    });
    let larder = site.start();
    for number in 0..6 {
        keep(&larder, &[&format!("/validated/{number}")]);
    }
    for number in 0..60 {
        keep(&larder, &[&format!("/{number}")]);
    }
    wait_until("removed files are closed", || open_large(&larder).1 == 0);
    let (open, _) = open_large(&larder);
    assert!(open > 0, "those that were asked for lately stay open");
    assert!(larder.get("/59").send().hit());
}

#[test]
fn a_slow_client_gets_all_of_what_made_room_meanwhile() {
    let site = Site::of_sizes(|path| if path == "/slow" { 8 * LARGE } else { LARGE });
    let larder = site.start();
    let mut slow = larder.get("/slow").begin();
    let mut answer = slow.read_head();
    slow.read_body_exactly(&mut answer, 1000);
    keep(&larder, &["/slow"]);
    for number in 0..60 {
        keep(&larder, &[&format!("/{number}")]);
    }
    wait_until("what nobody reads is closed", || open_large(&larder).1 <= 1);
    slow.read_content(&mut answer);
    assert!(answer.complete, "{} bytes", answer.body.len());
    same(&answer.body, &content("/slow", 8 * LARGE), "/slow");
}

#[test]
fn the_size_is_a_hard_limit() {
    const LIMIT: u64 = 64 << 20;
    let site = Site::with(|request| {
        let number: usize = request.path()[1..].parse().expect("a number");
        let size = if number.is_multiple_of(10) {
            6_000_000
        } else {
            400_000
        };
        Reply::ok()
            .cache("max-age=600")
            .body(content(request.path(), size))
    });
    let larder = site.start();
    let (done, most) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                most.fetch_max(used(site.path()), Ordering::SeqCst);
                thread::yield_now();
            }
        });
        let mut client = larder.client();
        for number in 0..120 {
            for _ in 0..2 {
                let path = format!("/{number}");
                let answer = client.get(&path).send();
                assert!(answer.complete);
            }
        }
        done.store(true, Ordering::SeqCst);
    });
    let most = most.load(Ordering::SeqCst);
    assert!(most > LIMIT / 2, "it was put to the test: {most}");
    assert!(most <= LIMIT, "{most} of {LIMIT}");
    let larder = site.restart(larder);
    wait_until("it is below the limit", || used(site.path()) <= LIMIT);
    let hits = (0..120)
        .filter(|number| {
            let path = format!("/{number}");
            let answer = larder.get(&path).send();
            let size = if number % 10 == 0 { 6_000_000 } else { 400_000 };
            same(&answer.body, &content(&path, size), &path);
            answer.hit()
        })
        .count();
    assert!(hits > 20, "and it is made use of: {hits}");
}

/// Bytes of all files in a directory. Bytes that the files in it took together at one moment, at least. One look at
/// each after the other would count a file that is removed meanwhile together with the one that takes its place: what
/// counts is what was there before and after, as short as it was.
fn used(path: &Path) -> u64 {
    let (before, after) = (sizes(path), sizes(path));
    let both = after
        .iter()
        .map(|(name, size)| before.get(name).map_or(0, |first| *first.min(size)));
    both.sum()
}

fn sizes(path: &Path) -> HashMap<OsString, u64> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some((entry.file_name(), entry.metadata().ok()?.len())))
        .collect()
}

#[test]
fn a_smaller_size_is_kept_to_after_a_restart() {
    let site = Site::with(|request| {
        Reply::ok()
            .cache("max-age=600")
            .body(content(request.path(), 400_000))
    });
    let big = site.config().replace("64MiB", "256MiB");
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&big)
        .start();
    for number in 0..250 {
        keep(&larder, &[&format!("/{number}")]);
    }
    larder.stop();
    assert!(used(site.path()) > 80 << 20);
    let larder = site.start();
    wait_until("it is below the limit", || {
        larder.get("/249").send();
        larder.get("/new").send();
        used(site.path()) <= 64 << 20
    });
}

#[test]
fn a_change_of_the_disk_tier_waits_for_a_restart() {
    let site = Site::with(|request| counted(request).cache("max-age=600"));
    let larder = site.start();
    keep(&larder, &["/"]);
    for (from, to) in [
        ("64MiB", "128MiB"),
        ("[disk]", "[disk]\nwrite_rate = \"1MiB\""),
    ] {
        larder.rewrite_config(&site.config().replace(from, to));
        larder.reload();
        larder.wait_output("disk changes only with a restart");
    }
    assert!(larder.get("/").send().hit());
    let larder = site.restart(larder);
    assert!(larder.get("/").send().hit());
}

#[test]
fn a_write_rate_is_kept_to_and_serving_goes_on() {
    const LENGTH: u64 = 400_000;
    let site = Site::with(|request| {
        Reply::ok()
            .cache("max-age=600")
            .body(content(request.path(), LENGTH as usize))
    });
    // One is taken; the next would be in days.
    let slow = site
        .config()
        .replace("[disk]", "[disk]\nwrite_rate = \"1B\"");
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&slow)
        .start();
    for number in 0..40 {
        let path = format!("/{number}");
        keep(&larder, &[&path]);
        same(
            &larder.get(&path).send().body,
            &content(&path, LENGTH as usize),
            &path,
        );
    }
    wait_until("the first was written", || {
        sample(&larder, "larder_disk_written_bytes_total") >= LENGTH
    });
    assert_eq!(sample(&larder, "larder_disk_writes_total"), 1);
    let refused = sample(&larder, "larder_disk_refused_writes_total");
    assert!(refused >= 39, "each of the others at least once: {refused}");
    larder.stop();
    let used = used(site.path());
    // A twentieth for heads and checksums.
    assert!(used <= LENGTH + LENGTH / 20, "{used} bytes in files");
}
