//! What purges touch is counted, and given up without a lookup.

use super::*;
use crate::purge::{On, Pattern, What};
use std::os::unix::fs::FileExt;

/// A response with these tags, fetched when the log stood where it stands now.
pub(super) fn tagged(log: &Log, number: u64, tags: &[&str]) -> Arc<Stored> {
    let mut stored = Arc::unwrap_or_clone(response(number, 100));
    stored.check(0, log.head());
    stored.marks = log.tags().marks(tags, log.head());
    Arc::new(stored)
}

struct Tier {
    log: Arc<Log>,
    disk: Arc<Disk>,
}

impl Tier {
    fn open(dir: &Dir) -> Self {
        let log = Arc::new(Log::default());
        let disk = Disk::open(dir.config(64 << 20), log.clone()).expect("opens");
        disk.flush();
        Self { log, disk }
    }

    fn put(&self, number: u64, tags: &[&str]) {
        assert!(
            self.disk
                .offer(&key(number), &tagged(&self.log, number, tags))
        );
        self.disk.flush();
    }

    /// How many responses carry `tag`. Nothing is purged.
    fn carry(&self, tag: &str) -> u64 {
        let what = What::Tags(vec![tag.to_owned()]);
        self.log
            .apply(Purge::soft(what), Time::from_secs(1), None)
            .below
    }

    fn purge(&self, what: What) -> u64 {
        self.log
            .apply(Purge::hard(what), Time::from_secs(1), None)
            .below
    }

    fn purge_tag(&self, tag: &str) -> u64 {
        self.purge(What::Tags(vec![tag.to_owned()]))
    }

    /// Keeps the keeper busy until `is` holds.
    fn until(&self, is: impl Fn(&Self) -> bool) {
        for _ in 0..100_000 {
            if is(self) {
                return;
            }
            self.disk.flush();
        }
        panic!("never: {:?}", self.disk.statistics());
    }

    fn records(&self) -> u64 {
        self.disk.statistics().records
    }
}

#[test]
fn tags_are_counted_as_they_come_and_go() {
    let dir = Dir::new();
    let tier = Tier::open(&dir);
    for number in 0..10 {
        let own = format!("p-{number}");
        tier.put(number, &["all", &own]);
    }
    assert_eq!((tier.carry("all"), tier.carry("p-3")), (10, 1));
    tier.put(3, &["all"]);
    let now = (tier.carry("all"), tier.carry("p-3"));
    assert_eq!(now, (10, 0), "what is superseded does not count");
    tier.disk.forget(&key(4));
    tier.disk.flush();
    assert_eq!((tier.carry("all"), tier.carry("p-4")), (9, 0));
    assert_eq!(tier.purge_tag("p-5"), 1);
    tier.until(|tier| tier.carry("all") == 8);
    assert_eq!(
        tier.records(),
        8,
        "it was given up, and nobody asked for it"
    );
    assert_eq!(tier.purge_tag("all"), 8);
    assert_eq!(tier.purge_tag("all"), 0, "they count once");
    tier.until(|tier| tier.records() == 0);
    assert_eq!(tier.carry("p-6"), 0);
    tier.put(6, &["all", "p-6"]);
    assert_eq!((tier.carry("all"), tier.carry("p-6")), (1, 1));
}

#[test]
fn tags_are_counted_again_after_a_restart() {
    let dir = Dir::new();
    let tier = Tier::open(&dir);
    for number in 0..10 {
        tier.put(number, &["all"]);
    }
    tier.put(7, &["other"]);
    drop(tier);
    let tier = Tier::open(&dir);
    tier.until(|tier| tier.carry("all") == 9 && tier.carry("other") == 1);
    // What this run writes replaces what an earlier one wrote.
    for number in 0..5 {
        tier.put(number, &["new"]);
    }
    assert_eq!((tier.carry("all"), tier.carry("new")), (4, 5));
}

#[test]
fn what_makes_room_does_not_count() {
    let dir = Dir::new();
    let log = Arc::new(Log::default());
    let disk = Disk::open(dir.config(1 << 20), log.clone()).expect("opens");
    let tier = Tier { log, disk };
    for number in 0..4000 {
        tier.put(number, &["all"]);
    }
    assert!(tier.records() < 3500, "some made room");
    assert_eq!(tier.carry("all"), tier.records());
}

#[test]
fn a_large_file_goes_with_what_was_purged() {
    let dir = Dir::new();
    let tier = Tier::open(&dir);
    let mut large = Arc::unwrap_or_clone(response(1, 8 << 20));
    large.marks = tier.log.tags().marks(["all"], 0);
    assert!(tier.disk.offer(&key(1), &Arc::new(large)));
    tier.disk.flush();
    assert_eq!(dir.files("large-").len(), 1);
    assert_eq!(tier.purge_tag("all"), 1);
    tier.until(|_| dir.files("large-").is_empty());
}

#[tokio::test]
async fn what_is_not_known_by_tags_is_looked_for() {
    let pattern =
        |on, text: &str| What::Pattern(Box::new(Pattern::default().with(on, text).expect("valid")));
    let prefix = |path: &str| What::Prefix {
        host: None,
        path: path.to_owned(),
    };
    let cases = [
        (What::Everything, 20),
        (prefix("/1"), 11),
        (What::Host("a.example".to_owned()), 20),
        (What::Host("b.example".to_owned()), 0),
        (pattern(On::Target, "^/[0-4]$"), 5),
        (pattern(On::Tags, "(^|,)even(,|$)"), 10),
        (pattern(On::ContentType, "^text/html"), 20),
        (pattern(On::ContentType, "^image/"), 0),
        (What::Url(vec!["//a.example/3".to_owned()]), 1),
        (What::Url(vec!["//b.example/3".to_owned()]), 0),
    ];
    for (what, expected) in cases {
        let dir = Dir::new();
        let tier = Tier::open(&dir);
        for number in 0..20 {
            let tag = ["even", "odd"][number as usize % 2];
            tier.put(number, &[tag]);
        }
        let soft = Purge::soft(what.clone());
        assert_eq!(tier.disk.touched(&[soft]).await, expected, "{what:?}");
        let hard = Purge::hard(what.clone());
        tier.purge(what);
        assert_eq!(
            tier.disk.touched(std::slice::from_ref(&hard)).await,
            expected,
            "{hard:?}"
        );
        tier.until(|tier| tier.records() == 20 - expected);
        assert_eq!(tier.disk.touched(&[hard]).await, 0);
    }
}

#[tokio::test]
async fn a_page_that_is_kept_by_a_header_is_looked_for() {
    let dir = Dir::new();
    let tier = Tier::open(&dir);
    for language in ["de", "en"] {
        let key = format!("http://a.example/1\nh:lang=2:{language}");
        assert!(tier.disk.offer(key.as_bytes(), &response(1, 10)));
    }
    tier.put(1, &[]);
    let url = What::Url(vec!["//a.example/1".to_owned()]);
    // This asks before the purge: after it, the keeper gives up one by one what it finds.
    assert_eq!(tier.disk.touched(&[Purge::soft(url.clone())]).await, 3);
    tier.purge(url);
    tier.until(|tier| tier.records() == 0);
}

/// The path, bytes, segment and trailer of the last segment.
fn sealed(dir: &Dir) -> (PathBuf, Vec<u8>, segment::Segment, format::Trailer) {
    let path = dir.files("segment-").pop().expect("one");
    let bytes = fs::read(&path).expect("read");
    let seed = directory::read_seed(&dir.0).expect("read").expect("there");
    let name = path.file_name().and_then(|name| name.to_str());
    let id = name.and_then(|name| name.rsplit('-').next());
    let id = u32::from_str_radix(id.expect("a number"), 16).expect("a number");
    let file = segment::Segment::file(&path, true).expect("opens");
    let opened = segment::Segment::of(file, id, seed).expect("read");
    let segment::Opened::Segment(segment) = opened else {
        panic!("ours")
    };
    let (trailer, _) = segment.index().expect("read").expect("sealed");
    (path, bytes, segment, trailer)
}

/// A purge by an expression over the URL.
fn by_expression(text: &str) -> What {
    What::Pattern(Box::new(
        Pattern::default().with(On::Url, text).expect("valid"),
    ))
}

#[test]
fn the_log_is_told_what_all_was_held_against() {
    let dir = Dir::new();
    let tier = Tier::open(&dir);
    tier.purge(by_expression("nowhere"));
    tier.until(|tier| tier.disk.horizon().swept == tier.log.head());
    tier.put(1, &[]);
    tier.put(2, &[]);
    tier.purge(by_expression("example/1$"));
    tier.until(|tier| tier.disk.horizon().swept == tier.log.head());
    assert_eq!(tier.records(), 1);
    let horizon = tier.disk.horizon();
    assert_eq!((horizon.after, horizon.swept_softly), (Some(1), 0));
    let soft = Purge::soft(by_expression("example/2$"));
    tier.log.apply(soft, Time::from_secs(1), None);
    tier.until(|tier| tier.disk.horizon().swept == tier.log.head());
    assert_eq!((tier.records(), tier.disk.horizon().swept_softly), (1, 0));
    // If there is little room for more expressions, what they purge softly is given up too.
    for number in 0..600 {
        tier.purge(by_expression(&format!("nowhere-{number}")));
    }
    tier.until(|tier| tier.disk.horizon().swept_softly >= 600);
    assert_eq!(tier.records(), 0);
    let head = tier.log.head();
    tier.until(|tier| tier.disk.horizon().swept_softly == head);
    tier.log.release_patterns(head, head, 0);
    assert_eq!(tier.log.remembered().1, 0);
}

/// The device may take longer to read a response than the sweep takes to give it up, and the log to forget why.
#[test]
fn what_is_read_while_it_is_given_up_is_not_found() {
    for soft in [false, true] {
        let dir = Dir::new();
        let tier = Tier::open(&dir);
        tier.put(1, &[]);
        let spots = tier.disk.shared.index.find(tier.disk.shared.hash(&key(1)));
        let what = by_expression("example/1$");
        tier.log
            .apply(Purge { what, soft }, Time::from_secs(1), None);
        for number in 0..600 {
            tier.purge(by_expression(&format!("nowhere-{number}")));
        }
        tier.until(|tier| tier.records() == 0);
        tier.log.release_patterns(u64::MAX, u64::MAX, 0);
        let read = |spot| {
            let shared = &tier.disk.shared;
            shared.standing(&key(1), spot, device::ReadMode::Blocking, Bodies::Read)
        };
        assert!(matches!(read(spots[0]), Ok(None)), "softly: {soft}");
    }
}

#[test]
fn what_was_purged_softly_is_found_stale() {
    let dir = Dir::new();
    let tier = Tier::open(&dir);
    tier.put(1, &["all"]);
    let at = Time::from_secs(1_000_000);
    let what = What::Tags(vec!["all".to_owned()]);
    tier.log.apply(Purge::soft(what), at, None);
    let [found] = &find(&tier.disk, &key(1))[..] else {
        panic!("one")
    };
    let lived = found.facts.age(at).as_millis() as u64;
    assert!(found.facts.lifetime_ms <= lived);
    assert_eq!(found.checked(), tier.log.head());
}

#[test]
fn what_an_expression_that_is_forgotten_may_have_purged_is_not_written() {
    let dir = Dir::new();
    let tier = Tier::open(&dir);
    let early = tagged(&tier.log, 1, &[]);
    tier.purge(by_expression("nowhere"));
    tier.log.release_patterns(u64::MAX, u64::MAX, 0);
    assert!(tier.disk.offer(&key(1), &early));
    tier.disk.flush();
    assert_eq!(tier.records(), 0);
}

#[test]
fn a_segment_without_labels_gets_them_again() {
    let dir = Dir::new();
    let tier = Tier::open(&dir);
    for number in 0..5 {
        tier.put(number, &["all"]);
    }
    drop(tier);
    let (_, _, segment, trailer) = sealed(&dir);
    let (_, entries) = segment.index().expect("read").expect("sealed");
    segment
        .seal(&entries, &[], trailer.index)
        .expect("written as it was before there were any");
    let tier = Tier::open(&dir);
    assert_eq!(tier.records(), 5);
    tier.purge(by_expression("nowhere"));
    tier.until(|tier| tier.disk.horizon().swept == tier.log.head());
    assert_eq!(tier.purge_tag("all"), 5);
    assert!((0..5).all(|number| find(&tier.disk, &key(number)).is_empty()));
}

/// What was given up is found again at the next start, and what purged it may be forgotten by then.
#[test]
fn labels_are_made_again_of_what_was_given_up_too() {
    let dir = Dir::new();
    let tier = Tier::open(&dir);
    for number in 0..3 {
        tier.put(number, &["all"]);
    }
    drop(tier);
    let tier = Tier::open(&dir);
    tier.purge(by_expression("example/1$"));
    tier.until(|tier| tier.records() == 2);
    let (path, bytes, _, trailer) = sealed(&dir);
    let at = trailer.labels_at();
    let file = File::options().write(true).open(&path).expect("opens");
    file.write_all_at(&[bytes[at as usize] ^ 1], at)
        .expect("written");
    tier.purge(by_expression("nowhere"));
    tier.until(|tier| tier.disk.horizon().swept == tier.log.head());
    assert_eq!(fs::read(&path).expect("read"), bytes);
}

#[test]
fn damaged_labels_are_told_of_and_made_again() {
    let dir = Dir::new();
    let tier = Tier::open(&dir);
    for number in 0..5 {
        tier.put(number, &["all"]);
    }
    drop(tier);
    let (path, bytes, _, trailer) = sealed(&dir);
    for at in trailer.labels_at()..trailer.labels_at() + trailer.labels {
        let file = File::options().write(true).open(&path).expect("opens");
        let other = [bytes[at as usize] ^ 1];
        file.write_all_at(&other, at).expect("written");
        let mut faults = Vec::new();
        let verified = verify(&dir.0, &mut |fault| faults.push(fault.what)).expect("read");
        assert_eq!((verified.records, faults), (5, vec![check::What::Labels]));
        let tier = Tier::open(&dir);
        assert_eq!(tier.records(), 5);
        tier.until(|tier| tier.carry("all") == 5);
        drop(tier);
        assert_eq!(fs::read(&path).expect("read"), bytes);
    }
}
