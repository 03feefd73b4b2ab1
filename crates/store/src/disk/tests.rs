//! Tests of the tier through its public functions, each on a directory of its own.

use super::*;
use crate::{Body, Fields, Part, Parts, Stored, purge::Purge, sample};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rules::{range::Span, time::Time};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    pin::Pin,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    task::{Context, Poll, Wake, Waker},
};

mod broken;
mod bulk;
mod counting;
mod ending;
mod evicted;
mod far;
mod large;
mod limit;
mod loading;
mod place;
mod spans;
mod waiting;

/// A directory that is removed after the test.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "larder-disk-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn config(&self, size: u64) -> Config {
        Config {
            path: self.0.clone(),
            size,
            write_rate: None,
            log: None,
        }
    }

    fn open(&self) -> Arc<Disk> {
        self.open_with(64 << 20)
    }

    fn open_with(&self, size: u64) -> Arc<Disk> {
        let disk = Disk::open(self.config(size), Arc::default()).expect("opens");
        disk.flush();
        disk
    }

    /// The files whose names begin with `kind`, in order.
    fn files(&self, kind: &str) -> Vec<PathBuf> {
        let mut files: Vec<_> = fs::read_dir(&self.0)
            .expect("a directory")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| {
                let name = path.file_name().and_then(|name| name.to_str());
                name.is_some_and(|name| name.starts_with(kind))
            })
            .collect();
        files.sort();
        files
    }

    /// Bytes of all files of the tier.
    fn bytes(&self) -> u64 {
        let files = [self.files("segment-"), self.files("large-")].concat();
        files
            .iter()
            .map(|path| fs::metadata(path).map_or(0, |about| about.len()))
            .sum()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits until `poll` is ready, and returns its result.
fn wait<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match poll(&mut context) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park(),
        }
    }
}

fn find(disk: &Disk, key: &[u8]) -> Vec<Arc<Stored>> {
    match disk.find(key, Bodies::Read) {
        DiskLookup::Nothing => Vec::new(),
        DiskLookup::Here(found) => found,
        DiskLookup::Wait(mut finding) => wait(|context| Pin::new(&mut finding).poll(context)),
    }
}

fn read(bytes: &OnDisk) -> Result<Vec<u8>, Failed> {
    let mut reader = bytes.reader();
    let mut all = Vec::new();
    while let Some(piece) = wait(|context| reader.poll_next(context)) {
        all.extend_from_slice(&piece?);
    }
    Ok(all)
}

/// How many bytes a reader that can send from a file gets in memory, and how many in the file.
fn parts(bytes: &OnDisk) -> (u64, u64) {
    let mut reader = bytes.reader();
    let (mut in_memory, mut in_file) = (0, 0);
    while let Some(part) = wait(|context| reader.poll_part(context)) {
        match part.expect("good") {
            Part::Bytes(bytes) => in_memory += bytes.len() as u64,
            Part::File(span) => in_file += span.len(),
        }
    }
    (in_memory, in_file)
}

/// The bytes of a body, wherever they lie.
fn content(stored: &Stored) -> Result<Vec<u8>, Failed> {
    let mut all = Vec::new();
    for piece in stored.body.pieces().expect("whole") {
        match piece {
            crate::BodyPiece::Memory(bytes) => all.extend_from_slice(&bytes),
            crate::BodyPiece::Mapped(extent) => all.extend_from_slice(&extent.bytes()),
            crate::BodyPiece::Disk(bytes) => all.extend(read(&bytes)?),
        }
    }
    Ok(all)
}

/// Bytes in which no two stretches are alike.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let words = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.flatten().take(length).collect()
}

/// A response with its number in a field.
fn response(number: u64, length: usize) -> Arc<Stored> {
    let mut fields = HeaderMap::new();
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
    fields.insert("x-number", HeaderValue::from(number));
    let mut stored = sample::with_body(Body::Whole(noise(number, length).into()));
    stored.fields = Fields::pack(&fields);
    Arc::new(stored)
}

fn key(number: u64) -> Vec<u8> {
    format!("http://a.example/{number}").into_bytes()
}

fn number(stored: &Stored) -> u64 {
    let map = stored.fields.unpack(0);
    let value = map.get("x-number").expect("it says which it is");
    value.to_str().expect("text").parse().expect("a number")
}

fn put(disk: &Disk, number: u64, length: usize) {
    assert!(disk.offer(&key(number), &response(number, length)));
    disk.flush();
}

/// Checks that either that response or nothing is kept under the key of `number`. Returns whether it is there.
fn holds(disk: &Disk, wanted: u64, length: usize) -> bool {
    let found = find(disk, &key(wanted));
    let put = response(wanted, length);
    for stored in &found {
        assert_eq!(number(stored), wanted);
        assert_eq!(stored.status, put.status);
        assert_eq!(stored.facts, put.facts);
        assert_eq!(stored.variant, put.variant);
        assert_eq!(stored.fields.unpack(0), put.fields.unpack(0));
        if let Ok(content) = content(stored) {
            assert!(content == noise(wanted, length), "a wrong byte");
        } else {
            return false;
        }
    }
    !found.is_empty()
}

#[test]
fn what_is_offered_is_found_also_after_a_restart() {
    let dir = Dir::new();
    let lengths = [0, 1, 15, 4096, 65_536, 65_537, 300_000, 700_000, 3 << 20];
    let all = || (0u64..).zip(lengths);
    let disk = dir.open();
    for (number, length) in all() {
        assert!(!disk.knows(&key(number)));
        put(&disk, number, length);
        assert!(disk.knows(&key(number)));
    }
    for (number, length) in all() {
        assert!(holds(&disk, number, length), "{length}");
    }
    assert!(!holds(&disk, 99, 0));
    let before = disk.statistics();
    drop(disk);
    let disk = dir.open();
    for (number, length) in all() {
        assert!(holds(&disk, number, length), "{length} after a restart");
    }
    let after = disk.statistics();
    assert_eq!(after.records, lengths.len() as u64);
    assert_eq!(
        (before.bytes, before.large_files),
        (after.bytes, after.large_files)
    );
    assert_eq!(after.bytes, dir.bytes());
    assert_eq!((after.hits, after.misses, after.is_whole), (9, 0, true));
    assert!(matches!(
        disk.events()[..],
        [Event::Loaded { records: 9, .. }]
    ));
}

#[test]
fn all_of_a_head_comes_back() {
    let dir = Dir::new();
    let log = Arc::new(Log::default());
    let disk = Disk::open(dir.config(1 << 20), log.clone()).expect("opens");
    let tagged = Stored::new(
        0,
        StatusCode::NOT_FOUND,
        Fields::pack(&HeaderMap::new()),
        sample::accepting("text/html", 7).facts,
        sample::accepting("text/html", 7).variant,
        log.tags().marks(["one", "two"], 0),
        Body::Whole(Bytes::from_static(b"gone fishing")),
    );
    tagged.used();
    assert!(disk.offer(b"key", &Arc::new(tagged.clone())));
    disk.flush();
    let [found] = &find(&disk, b"key")[..] else {
        panic!("one")
    };
    assert_eq!(found.status, tagged.status);
    assert_eq!(found.facts, tagged.facts);
    assert_eq!(found.variant, tagged.variant);
    assert_eq!(found.uses(), 1);
    let marks = found.marks.as_ref().expect("tags");
    assert_eq!(marks.texts().collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(content(found).expect("read"), b"gone fishing");
}

#[test]
fn the_latest_of_each_variant_is_kept() {
    let dir = Dir::new();
    let disk = dir.open();
    let dates = |disk: &Disk| {
        let mut dates: Vec<_> = find(disk, b"k")
            .iter()
            .map(|stored| stored.facts.date.as_secs())
            .collect();
        dates.sort_unstable();
        dates
    };
    for (accept, date) in [("a", 1), ("b", 2), ("a", 3)] {
        assert!(disk.offer(b"k", &Arc::new(sample::accepting(accept, date))));
    }
    disk.flush();
    assert_eq!(dates(&disk), [2, 3]);
    drop(disk);
    let disk = dir.open();
    assert_eq!(dates(&disk), [2, 3], "after a restart");
    assert!(disk.offer(b"k", &Arc::new(sample::any_request(4))));
    disk.flush();
    drop(disk);
    assert_eq!(dates(&dir.open()), [2, 3, 4], "one for any request");
}

#[test]
fn parts_come_back_as_parts() {
    let dir = Dir::new();
    let disk = dir.open();
    let all = noise(1, 1 << 20);
    let part = |first: usize, length: usize| {
        let bytes = Bytes::copy_from_slice(&all[first..first + length]);
        Parts::new(all.len() as u64, first as u64, bytes)
    };
    for (number, length) in [(0, 100), (1, 200_000), (2, 400_000)] {
        let parts = part(10, length).combined(&part(500_000, length), u64::MAX);
        let stored = sample::with_body(Body::Parts(Arc::new(parts)));
        assert!(disk.offer(&key(number), &Arc::new(stored)));
    }
    disk.flush();
    for (number, length) in [(0, 100u64), (1, 200_000), (2, 400_000)] {
        let [found] = &find(&disk, &key(number))[..] else {
            panic!("one")
        };
        let Body::Parts(parts) = &found.body else {
            panic!("parts")
        };
        let expected = [10, 500_000].map(|first| Span {
            first,
            last: first + length - 1,
        });
        assert_eq!(parts.spans().iter().collect::<Vec<_>>(), expected);
        let span = Span {
            first: 500_001,
            last: 500_001 + length / 2,
        };
        let pieces = found.body.slice(span).expect("held");
        let mut bytes = crate::Pieces::from(pieces);
        let mut got = Vec::new();
        while let Some(piece) = wait(|context| bytes.poll_next(context)) {
            got.extend_from_slice(&piece.expect("read"));
        }
        assert!(got == all[span.first as usize..=span.last as usize]);
    }
}

#[test]
fn what_was_purged_is_not_found() {
    let dir = Dir::new();
    let log = Arc::new(Log::default());
    let disk = Disk::open(dir.config(1 << 20), log.clone()).expect("opens");
    assert_eq!(
        disk.find(b"k", Bodies::Read)
            .is_nothing()
            .then(|| disk.flush()),
        Some(())
    );
    assert_eq!(disk.oldest_checked(), None);
    put(&disk, 1, 10);
    put(&disk, 2, 10);
    assert_eq!(disk.oldest_checked(), Some(0));
    let what = crate::purge::What::Url(vec!["//a.example/1".to_owned()]);
    log.apply(Purge::hard(what), Time::from_secs(1), None);
    assert!(!holds(&disk, 1, 10));
    assert!(holds(&disk, 2, 10));
    assert!(!disk.knows(&key(1)), "it is forgotten");
    assert!(disk.offer(&key(1), &response(1, 10)));
    disk.flush();
    assert!(!disk.knows(&key(1)), "what was purged is not written");
}

#[test]
fn a_log_that_was_lost_is_believed_from_where_it_stands() {
    let dir = Dir::new();
    let log = Arc::new(Log::default());
    for second in 0..5 {
        let what = crate::purge::What::Tags(vec!["other".to_owned()]);
        log.apply(Purge::hard(what), Time::from_secs(second), None);
    }
    let disk = Disk::open(dir.config(1 << 20), log.clone()).expect("opens");
    let stored = Stored::new(
        5,
        StatusCode::OK,
        Fields::pack(&HeaderMap::new()),
        sample::any_request(1).facts,
        None,
        log.tags().marks(["one"], 5),
        Body::Whole(Bytes::from_static(b"text")),
    );
    assert!(disk.offer(b"k", &Arc::new(stored)));
    drop(disk);
    let log = Arc::new(Log::default());
    let disk = Disk::open(dir.config(1 << 20), log.clone()).expect("opens");
    disk.flush();
    assert_eq!(find(&disk, b"k").len(), 1);
    assert_eq!(disk.oldest_checked(), Some(0));
    let what = crate::purge::What::Tags(vec!["one".to_owned()]);
    log.apply(Purge::hard(what), Time::from_secs(9), None);
    assert!(find(&disk, b"k").is_empty(), "its first purge is no older");
    drop(disk);
    // A log of which only a number survived, and one that is smaller than what was given out before.
    let log = Arc::new(Log::default());
    log.restore(crate::purge::Remembered {
        entries: Vec::new(),
        floor: 3,
        head: 3,
        position: None,
    });
    let disk = Disk::open(dir.config(1 << 20), log).expect("opens");
    disk.flush();
    assert!(find(&disk, b"k").is_empty(), "purges may have been lost");
}

#[test]
fn what_memory_evicts_is_written_at_a_bounded_rate_of_its_own() {
    let dir = Dir::new();
    let disk = dir.open();
    assert!(disk.demote(&key(0), &response(0, 1000)));
    disk.flush();
    // This is longer than any test takes.
    disk.shared.device.demotions.spend(1 << 50);
    assert!(!disk.demote(&key(1), &response(1, 1000)));
    assert_eq!(disk.statistics().refused_writes, 1);
    put(&disk, 2, 1000);
    assert!(
        disk.demote(&key(0), &response(3, 1000)),
        "the old one would be found in its place"
    );
    disk.flush();
    let found = find(&disk, &key(0));
    assert_eq!(
        found
            .iter()
            .map(|stored| number(stored))
            .collect::<Vec<_>>(),
        [3]
    );
}

/// A response that is refused for its size is not written, and costs nothing of the rate.
#[test]
fn what_is_refused_costs_nothing_of_the_rate() {
    let dir = Dir::new();
    let config = Config {
        write_rate: Some(10_000),
        ..dir.config(1 << 20)
    };
    let disk = Disk::open(config, Arc::default()).expect("opens");
    assert!(disk.offer(&key(0), &response(0, 1000)));
    assert!(!disk.offer(&key(0), &response(1, 8 << 20)), "too large");
    assert!(disk.offer(&key(1), &response(2, 1000)));
}

#[test]
fn the_write_rate_refuses_a_scan() {
    let dir = Dir::new();
    let config = Config {
        write_rate: Some(1),
        ..dir.config(1 << 20)
    };
    let disk = Disk::open(config, Arc::default()).expect("opens");
    assert!(disk.offer(&key(1), &response(1, 1000)));
    assert!(!disk.offer(&key(2), &response(2, 1000)));
    assert!(disk.begin(None).is_none());
    disk.flush();
    assert_eq!(disk.statistics().refused_writes, 2);
}

impl DiskLookup {
    fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }
}
