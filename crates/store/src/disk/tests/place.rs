//! The directory itself: which process has it, which version wrote it, and what it holds.

use super::*;
use rustix::fs::{CWD, FileType, FlockOperation, Mode, flock, mknodat};
use std::sync::atomic::AtomicBool;

#[test]
fn one_process_has_the_directory() {
    let dir = Dir::new();
    let disk = dir.open();
    let second = Disk::open(dir.config(1 << 20), Arc::default());
    assert!(matches!(second, Err(OpenError::InUse(path)) if path == dir.0));
    assert!(stat(&dir.0).expect("a directory").is_in_use);
    drop(disk);
    assert!(!stat(&dir.0).expect("a directory").is_in_use);
    // As another process would.
    let other = File::open(dir.0.join("lock")).expect("a lock");
    flock(&other, FlockOperation::LockExclusive).expect("locks");
    let second = Disk::open(dir.config(1 << 20), Arc::default());
    assert!(matches!(second, Err(OpenError::InUse(_))));
    // A process that is being started at this moment has the file open too, so closing it is not enough.
    flock(&other, FlockOperation::Unlock).expect("unlocks");
    drop(dir.open());
}

/// Between its start and its own program, a process has all files open that this one has.
#[test]
fn a_process_that_is_being_started_keeps_no_directory() {
    let dir = Dir::new();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Relaxed) {
                // This starts a program in the slow way, because it has a directory to start in.
                let mut program = std::process::Command::new("true");
                let done = program.current_dir("/").status();
                assert!(done.expect("true runs").success());
            }
        });
        let opened =
            (0..300).try_for_each(|_| Disk::open(dir.config(1 << 20), Arc::default()).map(drop));
        is_done.store(true, Relaxed);
        opened.expect("opens each time");
    });
}

#[test]
fn a_newer_format_is_left_alone() {
    let dir = Dir::new();
    let disk = dir.open();
    put(&disk, 1, 10);
    drop(disk);
    let about = dir.0.join("about");
    let text = fs::read_to_string(&about).expect("text");
    let newer = text.replace("format 2\n", "format 7\n");
    assert_ne!(newer, text);
    fs::write(&about, &newer).expect("written");
    let before = dir.bytes();
    let opened = Disk::open(dir.config(1 << 20), Arc::default());
    assert!(matches!(opened, Err(OpenError::Newer(_, 7))));
    let mut none = |_: &Fault| {};
    assert!(matches!(
        verify(&dir.0, &mut none),
        Err(OpenError::Newer(_, 7))
    ));
    assert_eq!(dir.bytes(), before);
    fs::write(&about, &text).expect("written");
    assert!(holds(&dir.open(), 1, 10));
}

#[test]
fn without_what_the_keys_were_hashed_with_the_directory_begins_anew() {
    let dir = Dir::new();
    let disk = dir.open();
    put(&disk, 1, 10);
    drop(disk);
    fs::write(dir.0.join("about"), "something else").expect("written");
    let disk = dir.open();
    assert!(!holds(&disk, 1, 10));
    assert_eq!(dir.bytes(), 0, "what cannot be found takes no room");
    put(&disk, 1, 10);
    assert!(holds(&disk, 1, 10));
}

/// What was purged beside one log was not noted beside the other.
#[test]
fn beside_another_log_of_purges_the_directory_begins_anew() {
    let dir = Dir::new();
    let open = |log: Option<&str>| {
        let config = Config {
            log: log.map(Into::into),
            ..dir.config(64 << 20)
        };
        let disk = Disk::open(config, Arc::default()).expect("opens");
        disk.flush();
        disk
    };
    let mut kept = false;
    for (log, stays) in [
        (None, false),
        (None, true),
        (Some("/elsewhere"), false),
        (Some("/elsewhere"), true),
        (Some("/elsewhere\nformat 7"), false),
        (Some("/elsewhere\nformat 7"), true),
        (None, false),
        (None, true),
    ] {
        let disk = open(log);
        assert_eq!(holds(&disk, 1, 10), stays, "{log:?}");
        let outdated = disk.events().contains(&Event::Outdated);
        assert_eq!(outdated, kept && !stays, "{log:?}");
        put(&disk, 1, 10);
        kept = true;
    }
    // As an earlier version left it.
    let about = dir.0.join("about");
    let text = fs::read_to_string(&about).expect("text");
    let earlier = text.replace("purges here\n", "");
    assert_ne!(earlier, text);
    fs::write(&about, earlier).expect("written");
    assert!(holds(&open(None), 1, 10));
    assert_eq!(
        fs::read_to_string(&about).expect("text"),
        text,
        "from now on"
    );
}

#[test]
fn a_parent_that_is_missing_is_an_error() {
    let dir = Dir::new();
    let config = Config {
        path: dir.0.join("below"),
        ..dir.config(1 << 20)
    };
    let opened = Disk::open(config, Arc::default());
    let Err(OpenError::Io(path, _)) = opened else {
        panic!("an error")
    };
    assert_eq!(path, dir.0.join("below"));
}

#[test]
fn files_of_others_are_left_alone() {
    let dir = Dir::new();
    fs::create_dir(&dir.0).expect("made");
    for name in ["notes", "segment-1", "large-x", "segment-zzzzzzzz"] {
        fs::write(dir.0.join(name), name).expect("written");
    }
    let disk = dir.open();
    put(&disk, 1, 10);
    drop(disk);
    drop(dir.open());
    for name in ["notes", "segment-1", "large-x", "segment-zzzzzzzz"] {
        let kept = fs::read_to_string(dir.0.join(name));
        assert_eq!(kept.expect("kept"), name);
    }
}

#[test]
fn stat_and_verify_tell_what_is_there() {
    let dir = Dir::new();
    let disk = dir.open();
    for number in 0..20 {
        put(&disk, number, 1000);
    }
    put(&disk, 20, 3 << 20);
    let stat_of = || stat(&dir.0).expect("a directory");
    let open = stat_of();
    assert_eq!((open.segments, open.unsealed, open.large_files), (1, 1, 1));
    assert!(open.is_in_use);
    drop(disk);
    let closed = stat_of();
    assert_eq!((closed.unsealed, closed.records), (0, 21));
    assert_eq!(closed.segment_bytes + closed.large_bytes, dir.bytes());
    let mut faults = Vec::new();
    let verified = verify(&dir.0, &mut |fault| faults.push(fault.clone())).expect("read");
    assert_eq!(faults, []);
    assert_eq!((verified.records, verified.large_files), (21, 1));
    assert_eq!(verified.bytes, dir.bytes());
    // One byte in each of two places.
    let flip = |path: &Path, at: u64| {
        let mut bytes = fs::read(path).expect("read");
        bytes[at as usize] ^= 1;
        fs::write(path, bytes).expect("written");
    };
    flip(&dir.files("segment-")[0], 300);
    flip(&dir.files("large-")[0], 80_000);
    let verified = verify(&dir.0, &mut |fault| faults.push(fault.clone())).expect("read");
    assert_eq!(verified.faults, 2);
    let told: Vec<_> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "segment-00000001 at 64: the body of a record is damaged",
            "large-0000000000000001 at 73728: a chunk is damaged"
        ]
    );
}

/// The index tells where the next record begins, whatever the one before it says.
#[test]
fn behind_a_damaged_head_the_other_records_are_checked() {
    let dir = Dir::new();
    let disk = dir.open();
    for number in 0..6 {
        put(&disk, number, 1000);
    }
    drop(disk);
    let path = dir.files("segment-").remove(0);
    let mut bytes = fs::read(&path).expect("read");
    let is_begun = |at: &usize| &bytes[at + 8..at + 12] == b"LREC";
    let all = (format::FILE_HEAD..bytes.len() - format::TRAILER).step_by(format::ALIGN as usize);
    let places: Vec<usize> = all.filter(is_begun).collect();
    assert_eq!(places.len(), 6);
    // A head, what says that a record begins, and the last byte of a body.
    let body = places[5] - format::ALIGN as usize;
    for at in [places[1] + 100, places[2] + 9, body] {
        bytes[at] ^= 1;
    }
    fs::write(&path, bytes).expect("written");
    let mut faults = Vec::new();
    let mut see = |fault: &check::Fault| faults.push((fault.offset as usize, fault.what));
    let verified = verify(&dir.0, &mut see).expect("read");
    let record = check::What::Record;
    let wanted = [
        (places[1], record),
        (places[2], record),
        (places[4], check::What::Body),
    ];
    assert_eq!(faults, wanted);
    assert_eq!((verified.records, verified.faults), (3, 3));
}

#[test]
fn large_bodies_that_were_given_up_are_no_damage() {
    let dir = Dir::new();
    let disk = dir.open();
    for number in 0..3 {
        put(&disk, number, 3 << 20);
    }
    // A second body takes the place of the first.
    put(&disk, 0, 4 << 20);
    drop(disk);
    let check = || {
        let mut faults = Vec::new();
        let verified = verify(&dir.0, &mut |fault| faults.push(fault.what)).expect("read");
        assert_eq!(verified.faults, faults.len() as u64);
        (verified.large_files, verified.given_up, faults)
    };
    assert_eq!(check(), (3, 1, vec![]));
    let files = dir.files("large-");
    fs::remove_file(&files[0]).expect("removed");
    assert_eq!(check(), (2, 2, vec![]));
    fs::copy(&files[1], &files[0]).expect("copied");
    assert_eq!(check(), (2, 1, vec![check::What::FileHead]));
    let shorter = File::options().write(true).open(&files[1]).expect("opens");
    shorter.set_len(1 << 20).expect("shorter");
    assert_eq!(
        check(),
        (1, 1, vec![check::What::FileHead, check::What::Chunk])
    );
}

#[test]
fn nothing_waits_for_a_pipe() {
    let pipe = |dir: &Dir, name: &str| {
        let path = dir.0.join(name);
        let _ = fs::remove_file(&path);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    };
    let dir = Dir::new();
    let disk = dir.open();
    put(&disk, 1, 3 << 20);
    put(&disk, 2, 10);
    drop(disk);
    let large = dir.files("large-").remove(0);
    pipe(&dir, &large.file_name().expect("a name").to_string_lossy());
    let disk = dir.open();
    assert!(!holds(&disk, 1, 3 << 20));
    assert!(holds(&disk, 2, 10));
    drop(disk);
    pipe(&dir, "about");
    assert!(!holds(&dir.open(), 2, 10), "it begins anew");
    pipe(&dir, "segment-00000009");
    drop(dir.open());
    pipe(&dir, "lock");
    assert!(!stat(&dir.0).expect("a directory").is_in_use);
    let opened = Disk::open(dir.config(1 << 20), Arc::default());
    assert!(matches!(opened, Err(OpenError::Io(..))));
}
