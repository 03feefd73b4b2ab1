use super::{format::Base, *};
use crate::{
    Body,
    purge::{Log, Position, Purge, Standing, What},
    sample,
};
use proptest::prelude::*;
use std::{
    fs,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
};

const NOW: Time = Time::from_secs(1_800_000_000);

/// A directory that is removed with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!(
            "larder-journal-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).expect("made");
        Self(path)
    }

    fn log(&self) -> PathBuf {
        self.0.join("purges")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn wait<T>(future: Boxed<T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("built")
        .block_on(future)
}

fn tag(name: &str) -> Purge {
    Purge::hard(What::Tags(vec![name.to_owned()]))
}

/// A log that is kept in `path`, and the state in which it was found.
fn keep(path: &Path) -> (Log, FileJournal, Remembered, Opened) {
    let (journal, remembered, opened) =
        FileJournal::open(path, Lasting::Synced, NOW).expect("opens");
    let log = Log::default();
    log.restore(remembered.clone());
    log.keep_in(Box::new(journal.clone()));
    (log, journal, remembered, opened)
}

fn purges(remembered: &Remembered) -> Vec<Purge> {
    remembered
        .entries
        .iter()
        .map(|entry| entry.purge.clone())
        .collect()
}

#[test]
fn what_is_durable_is_remembered() {
    let scratch = Scratch::new();
    let (log, journal, first, opened) = keep(&scratch.log());
    assert_eq!(opened, Opened::New);
    assert_eq!(
        first.floor, first.head,
        "nothing that was stored before is known to be good"
    );
    let one = log.apply(tag("a"), NOW, Some(Position(3, 4))).sequence;
    let two = log.apply(Purge::soft(What::Everything), NOW, None).sequence;
    assert_eq!(wait(journal.durable(two)), Ok(()));
    assert_eq!(wait(journal.durable(one)), Ok(()), "at once");
    assert_eq!(
        wait(journal.durable(u64::MAX)),
        Ok(()),
        "what nobody was given"
    );
    drop((log, journal));

    let (log, _journal, again, opened) = keep(&scratch.log());
    assert_eq!(opened, Opened::Whole);
    assert_eq!(purges(&again), [tag("a"), Purge::soft(What::Everything)]);
    assert_eq!(again.entries[0].position, Some(Position(3, 4)));
    assert_eq!((again.floor, again.entries[1].sequence), (first.floor, two));
    assert!(
        log.head() > two,
        "a purge that a crash has lost may have had any number after it"
    );
}

#[test]
fn what_is_retired_is_forgotten_but_for_floor_and_position() {
    let scratch = Scratch::new();
    let (log, journal, ..) = keep(&scratch.log());
    let one = log.apply(tag("a"), NOW, Some(Position(1, 1))).sequence;
    let two = log.apply(tag("b"), NOW, None).sequence;
    journal.retire(one);
    assert_eq!(wait(journal.durable(two)), Ok(()));
    drop((log, journal));
    for _ in 0..2 {
        let (log, _, remembered, _) = keep(&scratch.log());
        assert_eq!(purges(&remembered), [tag("b")]);
        assert_eq!(
            (remembered.floor, remembered.position),
            (one, Some(Position(1, 1)))
        );
        assert_eq!(log.position(), Some(Position(1, 1)));
    }
}

#[test]
fn what_was_missed_for_good_stays_so() {
    let scratch = Scratch::new();
    let (log, journal, ..) = keep(&scratch.log());
    log.apply(tag("a"), NOW, Some(Position(1, 1)));
    log.forget();
    let floor = log.head();
    drop((log, journal));
    // Also with a clock that was set back, no number is given out twice.
    let path = scratch.log();
    let opened = FileJournal::open(&path, Lasting::Synced, Time::from_millis(0));
    let (_, remembered, _) = opened.expect("opens");
    assert_eq!((remembered.floor, remembered.entries.len()), (floor, 0));
    assert!(remembered.head > floor);
}

#[test]
fn a_large_file_of_no_use_is_rewritten() {
    let scratch = Scratch::new();
    let (log, journal, ..) = keep(&scratch.log());
    let rest = "x".repeat(1000);
    for number in 0..3000 {
        let last = log
            .apply(tag(&format!("{}{rest}", number % 3)), NOW, None)
            .sequence;
        if number % 500 == 499 {
            assert_eq!(wait(journal.durable(last)), Ok(()));
        }
    }
    drop((log, journal));
    let size = fs::metadata(scratch.log()).expect("there").len();
    assert!(size < 2 << 20, "{size}");
    let (log, _, remembered, opened) = keep(&scratch.log());
    assert_eq!(opened, Opened::Whole);
    for number in 0..3 {
        let purge = tag(&format!("{number}{rest}"));
        assert!(purges(&remembered).contains(&purge));
    }
    drop(log);
}

/// Anybody can have long addresses purged, and each start reads the file.
#[test]
fn a_file_of_too_much_forgets_the_older_half() {
    let scratch = Scratch::new();
    let (log, journal, ..) = keep(&scratch.log());
    let rest = "x".repeat(16 << 10);
    let numbered = |number: usize| tag(&format!("{number}{rest}"));
    let mut numbers = Vec::new();
    for number in 0..5000 {
        numbers.push(log.apply(numbered(number), NOW, None).sequence);
        if number % 500 == 499 {
            assert_eq!(wait(journal.durable(numbers[number])), Ok(()));
            let bytes = fs::metadata(scratch.log()).expect("there").len();
            assert!(bytes < 50 << 20, "{bytes}");
        }
    }
    drop((log, journal));

    let (_log, _journal, again, opened) = keep(&scratch.log());
    assert_eq!(opened, Opened::Whole);
    let first = numbers.len() - again.entries.len();
    assert!((2500..4500).contains(&first), "{first}");
    let over = &again.entries[0];
    assert_eq!(over.purge, Purge::hard(What::Everything), "for other nodes");
    assert_eq!(over.sequence, numbers[first]);
    assert_eq!(again.floor, numbers[first] - 1, "before it all is purged");
    assert_eq!(again.entries[1].purge, numbered(first + 1));
    let last = again.entries.last().map(|entry| entry.sequence);
    assert_eq!(last, numbers.last().copied());
}

#[test]
fn a_file_of_too_many_short_purges_is_not_rewritten_for_each() {
    let mut bench = Bench::new();
    for batch in 0..36 {
        for number in 0..25_000 {
            bench.purge(&format!("{batch}-{number}"));
        }
        assert_eq!(bench.write(), Ok(()));
    }
    let rewritten = bench.plan().replaced;
    assert!((2..4).contains(&rewritten), "{rewritten}");
    assert!(bench.plan().bytes.len() < 33 << 20);
    for number in 0..20 {
        bench.purge(&format!("{number}"));
        assert_eq!(bench.write(), Ok(()));
    }
    assert_eq!(bench.plan().replaced, rewritten);
}

/// A file of purges, each a second after the one before.
fn file_of(purges: &[Purge]) -> Vec<u8> {
    let mut content = Vec::new();
    Item::Began(Base::default()).write(&mut content);
    for (sequence, purge) in (1..).zip(purges) {
        let text = purge.to_text();
        let one = format::Purged {
            sequence,
            at: Time::from_secs(sequence),
            position: Some(Position(sequence, 0)),
            text: text.as_bytes(),
        };
        Item::Purged(one).write(&mut content);
    }
    [format::first_line().as_bytes(), &frame(&content)].concat()
}

/// The same file, rewritten.
fn rewritten(purges: &[Purge]) -> Vec<u8> {
    let bytes = file_of(purges);
    let contents = Contents::read(&bytes).expect("readable").expect("begun");
    Sum::of(&contents).rewritten()
}

/// With this file, whether a response that carries `tag` and was fetched after `fetched` purges is gone, and since when
/// it is stale.
fn standing(bytes: &[u8], tag: &str, fetched: u64) -> (bool, Option<u64>) {
    let log = Log::default();
    log.restore(started(bytes).expect("read").0);
    let mut stored = sample::with_body(Body::Whole("text".into()));
    stored.check(0, fetched);
    stored.marks = log.tags().marks([tag], fetched);
    match log.standing(b"http://a.example/", &stored) {
        Standing::Stale { since, .. } => (false, Some(since.as_secs())),
        standing => (standing == Standing::Gone, None),
    }
}

/// Otherwise a response that was fetched between two purges of the same would be stale from before its fetch, and what
/// the first made stale would become stale anew at a restart.
#[test]
fn a_rewritten_file_tells_soft_purges_that_say_the_same_apart() {
    let soft = || Purge::soft(What::Tags(vec!["a".to_owned()]));
    let twice = rewritten(&[soft(), tag("b"), soft()]);
    let since = [0, 1, 2, 3].map(|fetched| standing(&twice, "a", fetched));
    assert_eq!(
        since,
        [Some(1), Some(3), Some(3), None].map(|since| (false, since))
    );
    let gone = rewritten(&[soft(), tag("a"), soft()]);
    let since = [1, 2, 3].map(|fetched| standing(&gone, "a", fetched));
    assert_eq!(since, [(true, None), (false, Some(3)), (false, None)]);
    let often: Vec<_> = (0..100).map(|_| soft()).collect();
    let (remembered, _) = started(&rewritten(&often)).expect("read");
    let entries = remembered.entries.iter();
    let left: Vec<_> = entries
        .map(|entry| (entry.sequence, entry.at.as_secs(), entry.position))
        .collect();
    let kept = [1, 96, 97, 98, 99, 100];
    assert_eq!(
        left,
        kept.map(|number| (number, number, Some(Position(number, 0))))
    );
}

/// A hard purge of the same, which other nodes made before they knew of this one, does not replace it: they must still
/// get it.
#[test]
fn a_rewritten_file_has_what_was_not_sent_before_a_hard_purge_of_the_same() {
    let soft = Purge::soft(What::Tags(vec!["a".to_owned()]));
    let bytes = rewritten(&[soft.clone(), soft.clone(), tag("a")]);
    let (remembered, _) = started(&bytes).expect("read");
    assert_eq!(purges(&remembered), [soft, tag("a")]);
}

#[test]
fn what_was_cut_off_is_told() {
    let scratch = Scratch::new();
    let (log, journal, ..) = keep(&scratch.log());
    log.apply(tag("a"), NOW, None);
    drop((log, journal));
    let whole = fs::read(scratch.log()).expect("there");
    let opened = |bytes: &[u8]| {
        fs::write(scratch.log(), bytes).expect("written");
        keep(&scratch.log()).3
    };
    assert_eq!(opened(&whole), Opened::Whole);
    let cut = &whole[..whole.len() - 1];
    let Opened::Torn(bytes) = opened(cut) else {
        panic!("a byte is missing");
    };
    let left = cut.len() - usize::try_from(bytes).expect("small");
    assert_eq!(
        opened(&whole[..left]),
        Opened::Whole,
        "what is left ends well"
    );
    assert_eq!(opened(&[&whole[..], &[0; 9]].concat()), Opened::Torn(9));
}

#[test]
fn one_process_has_a_log_and_it_must_be_one() {
    let scratch = Scratch::new();
    let open = || FileJournal::open(&scratch.log(), Lasting::Written, NOW).map(drop);
    let first = FileJournal::open(&scratch.log(), Lasting::Written, NOW).expect("opens");
    assert!(matches!(open(), Err(OpenError::InUse(_))));
    drop(first);
    assert!(open().is_ok());
    fs::write(scratch.log(), "larder purges 7\nwhatever").expect("written");
    assert!(matches!(open(), Err(OpenError::Newer(_, 7))));
    for other in [
        "a shopping list\n",
        "larder purges x\n",
        "larder purges 0\n",
        &"x".repeat(99),
    ] {
        fs::write(scratch.log(), other).expect("written");
        assert!(matches!(open(), Err(OpenError::Foreign(_))), "{other}");
    }
    for missing in [scratch.0.clone(), scratch.0.join("no/such")] {
        let opened = FileJournal::open(&missing, Lasting::Written, NOW);
        assert!(matches!(opened, Err(OpenError::Io(..))));
    }
}

#[test]
fn many_writers_share_few_writes_and_none_is_lost() {
    let scratch = Scratch::new();
    let (log, journal, ..) = keep(&scratch.log());
    thread::scope(|scope| {
        for writer in 0..8 {
            let (log, journal) = (&log, &journal);
            scope.spawn(move || {
                for number in 0..50 {
                    let last = log
                        .apply(tag(&format!("{writer} {number}")), NOW, None)
                        .sequence;
                    assert_eq!(wait(journal.durable(last)), Ok(()));
                }
            });
        }
    });
    drop((log, journal));
    let (_, _, remembered, _) = keep(&scratch.log());
    assert_eq!(remembered.entries.len(), 400);
    assert!(remembered.entries.is_sorted_by_key(|entry| entry.sequence));
}

/// A file as the log leaves it, with the ends of its frames, and what each frame purges.
fn written(batches: &[Vec<String>]) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = format::first_line().into_bytes();
    let mut content = Vec::new();
    let base = Base {
        head: 10,
        floor: 5,
        position: None,
    };
    Item::Began(base).write(&mut content);
    bytes.extend(frame(&content));
    let mut ends = vec![bytes.len()];
    let mut sequence = 10;
    for batch in batches {
        content.clear();
        for name in batch {
            sequence += 1;
            let text = tag(name).to_text();
            let purged = format::Purged {
                sequence,
                at: NOW,
                position: None,
                text: text.as_bytes(),
            };
            Item::Purged(purged).write(&mut content);
        }
        bytes.extend(frame(&content));
        ends.push(bytes.len());
    }
    (bytes, ends)
}

/// What a start with these bytes remembers; `None` if it refuses them.
fn started(bytes: &[u8]) -> Option<(Remembered, bool)> {
    let contents = Contents::read(bytes).ok()?;
    Some(
        contents
            .map_or_else(|| Sum::unknown(0), |contents| Sum::of(&contents))
            .go_on(NOW),
    )
}

fn any_batches() -> impl Strategy<Value = Vec<Vec<String>>> {
    prop::collection::vec(prop::collection::vec("[a-z]{1,8}", 1..4), 1..5)
}

/// A purge of at most `most` of two tags; most are soft.
fn any_of_two_tags(most: usize) -> impl Strategy<Value = Purge> {
    let tags = prop::sample::subsequence(vec!["a".to_owned(), "b".to_owned()], 1..=most);
    (tags, prop::bool::weighted(0.9)).prop_map(|(tags, soft)| Purge {
        what: What::Tags(tags),
        soft,
    })
}

/// Each of two tags, with each number at which something may have been fetched.
fn two_tags_and_numbers(purges: &[Purge]) -> impl Iterator<Item = (&'static str, u64)> {
    let numbers = 0..=purges.len() as u64;
    numbers.flat_map(|number| [("a", number), ("b", number)])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn of_a_file_that_was_cut_whole_frames_are_remembered(batches in any_batches(), zeros in 0usize..40) {
        let (bytes, ends) = written(&batches);
        for cut in 0..=bytes.len() {
            let mut torn = bytes[..cut].to_vec();
            let (remembered, damaged) = started(&torn).expect("read");
            let frames = ends.iter().filter(|end| **end <= cut).count();
            let names = batches.iter().take(frames.saturating_sub(1)).flatten();
            prop_assert_eq!(purges(&remembered), names.map(|name| tag(name)).collect::<Vec<_>>());
            prop_assert_eq!(damaged, cut < ends[0], "it begins as every file does");
            // A file system may leave zeros after the last whole frame.
            if ends.contains(&cut) {
                torn.resize(cut + zeros, 0);
                prop_assert_eq!(started(&torn).expect("read").0, remembered);
            }
        }
    }

    #[test]
    fn of_a_file_with_a_wrong_byte_all_is_remembered_or_everything_counts_as_purged(batches in any_batches(), flip in 1u8..) {
        let (bytes, _) = written(&batches);
        let (whole, _) = started(&bytes).expect("read");
        for at in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= flip;
            if let Some((remembered, damaged)) = started(&wrong) {
                prop_assert!(damaged && at >= format::first_line().len());
                prop_assert_eq!(remembered.floor, remembered.head);
                prop_assert!(remembered.head >= whole.head && remembered.entries.is_empty());
            }
        }
    }

    #[test]
    fn of_a_rewritten_file_comes_what_came_of_all(purges in prop::collection::vec(any_of_two_tags(1), 1..40)) {
        let (all, anew) = (file_of(&purges), rewritten(&purges));
        for (tag, fetched) in two_tags_and_numbers(&purges) {
            prop_assert_eq!(standing(&anew, tag, fetched), standing(&all, tag, fetched), "{} {}", tag, fetched);
        }
        let contents = Contents::read(&all).expect("readable").expect("begun");
        let alone = file_of(&[]).len() as u64;
        prop_assert_eq!(Live::of(&Sum::of(&contents)).bytes, anew.len() as u64 - alone);
    }

    /// If a purge names several things, some of which another purge names hard, a time may be a later one.
    #[test]
    fn by_a_rewritten_file_nothing_is_stale_earlier(purges in prop::collection::vec(any_of_two_tags(2), 1..40)) {
        let (all, anew) = (file_of(&purges), rewritten(&purges));
        for (tag, fetched) in two_tags_and_numbers(&purges) {
            let [anew, all] = [&anew, &all].map(|bytes| standing(bytes, tag, fetched));
            prop_assert_eq!((anew.0, anew.1.is_some()), (all.0, all.1.is_some()));
            prop_assert!(anew >= all, "{} {}: {:?}, {:?}", tag, fetched, anew, all);
        }
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200), headed: bool) {
        let mut all = if headed { format::first_line().into_bytes() } else { Vec::new() };
        all.extend(bytes);
        let _ = started(&all);
    }
}

/// A file that fails when it is told to.
#[derive(Debug, Default)]
struct Plan {
    bytes: Vec<u8>,
    /// How much of it has reached the device.
    synced: usize,
    /// How many more bytes fit; `None` means any number.
    room: Option<usize>,
    fails_sync: bool,
    syncs: usize,
    /// How often it was rewritten.
    replaced: usize,
}

struct Flaky(Arc<Mutex<Plan>>);

impl Flaky {
    fn plan(&self) -> std::sync::MutexGuard<'_, Plan> {
        self.0.lock().expect("whole")
    }
}

impl Medium for Flaky {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.plan().bytes.clone())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut plan = self.plan();
        let fits = plan.room.map_or(bytes.len(), |room| room.min(bytes.len()));
        plan.bytes.extend_from_slice(&bytes[..fits]);
        if fits < bytes.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut plan = self.plan();
        if plan.fails_sync {
            return Err(io::Error::other("broken"));
        }
        plan.synced = plan.bytes.len();
        plan.syncs += 1;
        Ok(())
    }

    fn cut(&mut self, end: u64) -> io::Result<()> {
        self.plan().bytes.truncate(end as usize);
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut plan = self.plan();
        if plan.fails_sync || plan.room.is_some_and(|room| room < bytes.len()) {
            return Err(io::Error::other("broken"));
        }
        plan.bytes = bytes.to_vec();
        plan.synced = bytes.len();
        plan.replaced += 1;
        Ok(())
    }

    fn settle(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A log on a file that may fail. The test writes on its own thread.
struct Bench {
    plan: Arc<Mutex<Plan>>,
    writing: Writing,
    sequence: u64,
}

impl Bench {
    fn new() -> Self {
        Self::after(b"")
    }

    /// Continues with a file of these bytes.
    fn after(bytes: &[u8]) -> Self {
        let length = bytes.len() as u64;
        let contents = Contents::read(bytes).expect("readable");
        let plan = Plan {
            bytes: bytes.to_owned(),
            ..Plan::default()
        };
        let plan = Arc::new(Mutex::new(plan));
        let file = Box::new(Flaky(plan.clone()));
        let found = (contents.as_ref(), length);
        let Begun {
            writing,
            remembered,
            ..
        } = begin(file, found, Lasting::Synced, NOW).expect("begins");
        Self {
            plan,
            writing,
            sequence: remembered.head,
        }
    }

    fn plan(&self) -> std::sync::MutexGuard<'_, Plan> {
        self.plan.lock().expect("whole")
    }

    fn purge(&mut self, name: &str) {
        self.sequence += 1;
        self.writing.queue.append(&Entry {
            sequence: self.sequence,
            at: NOW,
            position: None,
            purge: tag(name),
        });
    }

    /// Writes everything that waits. Returns what the waiting task is told.
    fn write(&mut self) -> Result<(), NotDurable> {
        let mut answered = self.writing.queue.wait_for(self.sequence).expect("not yet");
        let batch = self.writing.queue.next_batch().expect("waits");
        self.writing.step(batch);
        match std::pin::pin!(&mut answered).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(answer)) => answer,
            other => panic!("no answer: {other:?}"),
        }
    }

    /// What a start would remember after a power loss.
    fn remembered(&self) -> Vec<Purge> {
        let plan = self.plan();
        let (remembered, damaged) = started(&plan.bytes[..plan.synced]).expect("read");
        assert!(!damaged);
        purges(&remembered)
    }
}

#[test]
fn what_did_not_fit_is_written_when_there_is_room() {
    let mut bench = Bench::new();
    bench.purge("a");
    bench.purge("b");
    assert_eq!(bench.write(), Ok(()));
    assert_eq!(bench.plan().syncs, 1, "one for both");
    for room in 0..40 {
        bench.plan().room = Some(room);
        bench.purge("c");
        assert!(bench.write().is_err());
        assert_eq!(bench.remembered(), [tag("a"), tag("b")]);
    }
    bench.plan().room = None;
    bench.purge("d");
    assert_eq!(bench.write(), Ok(()));
    assert_eq!(bench.remembered().len(), 2 + 40 + 1);
    assert_eq!(bench.remembered().last(), Some(&tag("d")));
}

/// Short texts, whose items take more than twice their length.
fn large() -> Vec<u8> {
    let names = (0..40_000).map(|number| number.to_string());
    written(&[names.collect()]).0
}

#[test]
fn a_file_of_which_all_counts_is_not_written_anew_after_a_start() {
    let mut bench = Bench::after(&large());
    assert!(bench.plan().bytes.len() > 1 << 20);
    for number in 0..3 {
        bench.purge(&format!("more-{number}"));
        assert_eq!(bench.write(), Ok(()));
    }
    assert_eq!(bench.plan().replaced, 0);
    assert_eq!(bench.remembered().len(), 40_003);
}

/// Rewriting takes as long as all of the file does, and the next purge waits for it.
#[test]
fn what_was_written_anew_is_so_again_when_it_has_come_to_twice_its_size() {
    let mut bench = Bench::after(&large());
    let once = bench.plan().bytes.len();
    let long = "x".repeat(once / 4);
    let mut sizes = Vec::new();
    for number in 0..9 {
        bench.purge(&format!("{number}{long}"));
        // As if nothing counted any more.
        bench.writing.live = Live::default();
        assert_eq!(bench.write(), Ok(()));
        let plan = bench.plan();
        sizes.push((plan.replaced, plan.bytes.len()));
    }
    let (first, size) = sizes[0];
    let again = sizes.iter().find(|(replaced, _)| *replaced == 2);
    let (_, twice) = again.expect("it grows");
    assert!(first == 1 && *twice > 2 * size, "{sizes:?}");
}

#[test]
fn after_a_sync_that_failed_everything_is_written_anew() {
    let mut bench = Bench::new();
    bench.purge("a");
    assert_eq!(bench.write(), Ok(()));
    bench.plan().fails_sync = true;
    bench.purge("b");
    assert_eq!(bench.write(), Err(NotDurable("broken".to_owned())));
    bench.purge("c");
    assert!(bench.write().is_err());
    bench.plan().fails_sync = false;
    bench.purge("d");
    assert_eq!(bench.write(), Ok(()));
    assert_eq!(bench.remembered(), ["a", "b", "c", "d"].map(tag));
}

#[test]
fn a_file_that_lost_what_it_had_says_that_everything_is_purged() {
    let mut bench = Bench::new();
    bench.purge("a");
    assert_eq!(bench.write(), Ok(()));
    let last = bench.sequence;
    bench.plan().fails_sync = true;
    bench.purge("b");
    assert!(bench.write().is_err());
    bench.plan().fails_sync = false;
    bench.plan().bytes.truncate(30);
    assert!(bench.writing.queue.wait_for(bench.sequence).is_some());
    bench.purge("c");
    assert_eq!(bench.write(), Ok(()));
    let plan = bench.plan();
    let (remembered, _) = started(&plan.bytes).expect("read");
    assert_eq!(remembered.floor, last);
    assert_eq!(purges(&remembered), ["b", "c"].map(tag));
}

#[test]
fn a_file_that_fails_is_told_of_once_and_once_when_that_is_over() {
    let mut bench = Bench::new();
    let told = Arc::new(Mutex::new(Vec::new()));
    let noted = told.clone();
    let note = move |event: &Event| noted.lock().expect("whole").push(event.clone());
    bench.writing.queue.tell(Box::new(note));
    bench.purge("a");
    assert!(bench.write().is_ok());
    let full = bench.plan().bytes.len();
    bench.plan().room = Some(0);
    for name in ["b", "c"] {
        bench.purge(name);
        assert!(bench.write().is_err());
        assert!(bench.writing.queue.is_failing());
    }
    bench.plan().room = None;
    bench.purge("d");
    assert!(bench.write().is_ok());
    assert!(!bench.writing.queue.is_failing());
    assert!(bench.plan().bytes.len() > full);
    let told = told.lock().expect("whole");
    assert!(
        matches!(&told[..], [Event::Failing(_), Event::Mended]),
        "{told:?}"
    );
}
