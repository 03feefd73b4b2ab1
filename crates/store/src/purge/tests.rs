use super::*;
use crate::{Body, Stored, sample};
use proptest::prelude::*;
use rules::time::Time;
use std::sync::Arc;

const KEY: &[u8] = b"http://a.example/blog/1?x=1\nc:lang=2:en";

fn at(secs: u64) -> Time {
    Time::from_secs(secs)
}

/// A response that carries `tags`, and was fetched at the present head of `log`.
fn stored(log: &Log, tags: &[&str]) -> Stored {
    let mut stored = sample::with_body(Body::Whole("text".into()));
    stored.check(0, log.head());
    stored.marks = log.tags().marks(tags, log.head());
    stored
}

fn apply(log: &Log, what: What) {
    log.apply(Purge::hard(what), at(5), None);
}

fn pattern(on: On, text: &str) -> What {
    What::Pattern(Box::new(Pattern::default().with(on, text).expect("valid")))
}

fn every_kind() -> Vec<(What, bool)> {
    let prefix = |host: Option<&str>, path: &str| What::Prefix {
        host: host.map(str::to_owned),
        path: path.to_owned(),
    };
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    vec![
        (What::Url(texts(&["//a.example/blog/1?x=1"])), true),
        (
            What::Url(texts(&["//b.example/blog/1?x=1", "//a.example/blog/1"])),
            false,
        ),
        (prefix(None, "/blog/"), true),
        (prefix(None, "/"), true),
        (prefix(Some("a.example"), "/blog"), true),
        (prefix(Some("b.example"), "/blog"), false),
        (prefix(None, "/blog/1?x=1&y"), false),
        (What::Tags(texts(&["other", "news"])), true),
        (What::Tags(texts(&["new", "NEWS"])), false),
        (What::Host("a.example".to_owned()), true),
        (What::Host("example".to_owned()), false),
        (pattern(On::Url, "^http://a[.]example/blog/[0-9]+"), true),
        (pattern(On::Target, "^/blog$"), false),
        (pattern(On::Tags, "(^|,)x-news(,|$)|,news"), true),
        (pattern(On::ContentType, "^$"), true),
        (What::Everything, true),
    ]
}

#[test]
fn each_kind_covers_what_it_names_and_nothing_else() {
    for (what, covers) in every_kind() {
        for soft in [false, true] {
            let log = Log::default();
            let before = stored(&log, &["a", "news"]);
            let purge = Purge {
                what: what.clone(),
                soft,
            };
            assert_eq!(Log::covers(&purge, KEY, &before), covers, "{what:?}");
            log.apply(purge, at(5), None);
            let expected = match (covers, soft) {
                (false, _) => Standing::Good,
                (true, false) => Standing::Gone,
                (true, true) => Standing::Stale {
                    since: at(5),
                    checked: 1,
                },
            };
            assert_eq!(log.standing(KEY, &before), expected, "{what:?}");
            let after = stored(&log, &["a", "news"]);
            assert_eq!(
                log.standing(KEY, &after),
                Standing::Good,
                "{what:?}, fetched later"
            );
        }
    }
}

/// If keys have no host, a purge of one host covers all of them.
#[test]
fn keys_without_a_host_go_with_every_host() {
    let key = b"http:///blog/1";
    for (what, covers) in [
        (What::Host("b.example".to_owned()), true),
        (
            What::Prefix {
                host: Some("b.example".to_owned()),
                path: "/blog".to_owned(),
            },
            true,
        ),
        (
            What::Prefix {
                host: Some("b.example".to_owned()),
                path: "/shop".to_owned(),
            },
            false,
        ),
        (What::Url(vec!["///blog/1".to_owned()]), true),
    ] {
        let log = Log::default();
        let held = stored(&log, &[]);
        apply(&log, what.clone());
        assert_eq!(
            log.standing(key, &held) == Standing::Gone,
            covers,
            "{what:?}"
        );
        assert_eq!(
            Log::covers(&Purge::hard(what.clone()), key, &held),
            covers,
            "{what:?}"
        );
    }
}

#[test]
fn what_was_good_is_not_looked_at_again_and_what_is_gone_stays_gone() {
    let log = Log::default();
    let (gone, good) = (stored(&log, &["a"]), stored(&log, &["b"]));
    apply(&log, What::Tags(vec!["a".to_owned()]));
    for _ in 0..2 {
        assert_eq!(log.standing(KEY, &gone), Standing::Gone);
        assert_eq!(log.standing(KEY, &good), Standing::Good);
        assert_eq!(good.checked(), log.head());
    }
}

#[test]
fn what_a_fetch_brings_is_refused_if_it_was_purged_meanwhile() {
    let log = Log::default();
    let log_at = log.head();
    let marks = log.tags().marks(["a"], log_at);
    apply(&log, What::Tags(vec!["b".to_owned()]));
    assert!(!log.refuses(KEY, marks.as_deref(), log_at));
    apply(&log, What::Tags(vec!["a".to_owned()]));
    assert!(log.refuses(KEY, marks.as_deref(), log_at));
    assert!(!log.refuses(KEY, marks.as_deref(), log.head()));
}

#[test]
fn what_the_log_has_forgotten_counts_as_purged() {
    let log = Log::default();
    let held = stored(&log, &[]);
    apply(&log, What::Host("b.example".to_owned()));
    let swept = stored(&log, &[]);
    apply(&log, What::Host("c.example".to_owned()));
    log.retire(1);
    assert_eq!(
        log.standing(KEY, &swept),
        Standing::Good,
        "checked beyond it"
    );
    assert_eq!(log.standing(KEY, &held), Standing::Gone, "not checked");
    assert_eq!(log.remembered(), (2, 0));
}

/// The sweep looks at what was softly purged and is not requested: it stays usable once the log has forgotten the
/// purge.
#[test]
fn a_soft_purge_does_not_become_a_hard_one() {
    let memory = crate::Memory::new(1 << 20, Arc::default());
    let ticket = memory.begin();
    let page = Arc::new(sample::with_body(Body::Whole("text".into())));
    memory.insert(KEY, ticket, page, 8).expect("not purged");
    let purge = Purge::soft(What::Everything);
    memory.purge(&[purge], at(2_000_000)).expect("room");
    assert_eq!(memory.sweep(|| {}).gone, 0);
    memory.log().retire(memory.log().head());
    let held = memory.peek(KEY).expect("kept");
    let standing = memory.log().standing(KEY, &held.as_slice()[0]);
    assert_eq!(standing, Standing::Good);
}

/// RFC 5861: what is stale already does not become stale again. Otherwise each soft purge would reopen its windows.
#[test]
fn what_is_purged_softly_again_has_been_stale_since_the_first_time() {
    for (what, covers) in every_kind() {
        let log = Log::default();
        let soft = |secs| log.apply(Purge::soft(what.clone()), at(secs), None);
        let page = || stored(&log, &["a", "news"]);
        let since = |page: &Stored| match log.standing(KEY, page) {
            Standing::Stale { since, .. } => Some(since.as_secs()),
            _ => None,
        };
        let first = page();
        soft(10);
        let second = page();
        soft(20);
        soft(30);
        let fourth = page();
        soft(40);
        if !covers {
            assert_eq!(since(&first), None, "{what:?}");
            continue;
        }
        assert_eq!(since(&first), Some(10), "{what:?}");
        assert_eq!(
            since(&second),
            Some(20),
            "{what:?}: not before it was fetched"
        );
        assert_eq!(since(&fourth), Some(40), "{what:?}");
        let fresh = page();
        assert_eq!(since(&fresh), None, "{what:?}");
    }
}

/// A few purges are told apart. What was purged more often has been stale since the first of all.
#[test]
fn however_often_it_is_purged_softly_nothing_becomes_stale_anew() {
    for (what, _) in every_kind().into_iter().filter(|(_, covers)| *covers) {
        let log = Log::default();
        let mut pages = Vec::new();
        for round in 1..=20 {
            pages.push((round, stored(&log, &["a", "news"])));
            log.apply(Purge::soft(what.clone()), at(round), None);
            for (first, page) in &pages {
                let since = if round - first < 4 { *first } else { 1 };
                let stale = Standing::Stale {
                    since: at(since),
                    checked: log.head(),
                };
                assert_eq!(
                    log.standing(KEY, page),
                    stale,
                    "{what:?}: {first} of {round}"
                );
            }
        }
    }
}

#[test]
fn a_purge_that_is_forgotten_makes_nothing_stale_that_was_fetched_later() {
    for (what, _) in every_kind().into_iter().filter(|(_, covers)| *covers) {
        let log = Log::default();
        let soft = |secs| log.apply(Purge::soft(what.clone()), at(secs), None);
        let forgotten = soft(1).sequence;
        let page = stored(&log, &["a", "news"]);
        soft(2);
        log.retire(forgotten);
        for secs in 3..20 {
            soft(secs);
        }
        let stale = Standing::Stale {
            since: at(2),
            checked: log.head(),
        };
        assert_eq!(log.standing(KEY, &page), stale, "{what:?}");
    }
}

#[test]
fn expressions_are_bounded_and_the_same_one_counts_once() {
    let log = Log::default();
    let some = |texts: &[&str]| -> Vec<_> {
        let all = texts.iter();
        all.map(|text| Purge::hard(pattern(On::Url, text)))
            .collect()
    };
    for number in 0..1023 {
        let purge = some(&[&number.to_string()]);
        assert_eq!(log.admits(&purge), Ok(()));
        log.apply(purge[0].clone(), at(1), None);
    }
    assert_eq!(log.admits(&some(&["7", "x", "x"])), Ok(()));
    assert_eq!(log.admits(&some(&["x", "y"])), Err(TooMany), "together");
    assert_eq!(log.purge(some(&["x", "y"]), at(1)), Err(TooMany));
    assert_eq!(
        (log.head(), log.remembered().1),
        (1023, 1023),
        "all or none"
    );
    log.apply(some(&["last"])[0].clone(), at(1), None);
    assert_eq!(log.admits(&some(&["7", "8"])), Ok(()));
    assert_eq!(log.admits(&some(&["x"])), Err(TooMany));
    assert_eq!(log.admits(&[Purge::hard(What::Everything)]), Ok(()));
    // A purge from the shared log cannot be refused: everything before it counts as purged.
    let held = stored(&log, &[]);
    log.apply(Purge::hard(pattern(On::Url, "x")), at(1), None);
    assert_eq!(log.standing(KEY, &held), Standing::Gone);
}

#[test]
fn expressions_that_all_was_held_against_make_room() {
    let log = Log::default();
    let apply = |number: u64, soft: bool| {
        let what = pattern(On::Url, &format!("blog-{number}"));
        log.apply(Purge { what, soft }, at(1), None);
    };
    let [early, on_disk] = [(); 2].map(|()| stored(&log, &[]));
    for number in 1..=1024 {
        apply(number, number % 2 == 0);
    }
    let one_more = [Purge::hard(pattern(On::Url, "more"))];
    assert_eq!(log.admits(&one_more), Err(TooMany));
    assert!(log.is_crowded());
    log.release_patterns(10, 0, 0);
    assert_eq!(log.remembered().1, 1024 - 5, "those of soft purges stay");
    log.release_patterns(10, 10, 0);
    assert_eq!(log.remembered().1, 1024 - 10, "as far as both say");
    assert_eq!(log.admits(&one_more), Ok(()));
    assert_eq!(log.standing_on_disk(KEY, &on_disk), Standing::Good);
    assert_eq!(log.standing(KEY, &early), Standing::Gone, "from elsewhere");
    assert!(log.has_released(9) && !log.has_released(10));
    assert!(log.refuses(KEY, None, 9), "a fetch that began before");
    assert!(!log.refuses(KEY, None, 10));
    log.release_patterns(u64::MAX, u64::MAX, 512);
    assert_eq!(log.remembered().1, 512, "the latest stay");
    assert!(log.has_released(511) && !log.has_released(512));
    assert!(!log.is_crowded());
}

/// A journal that notes how far it may forget.
#[derive(Debug, Default)]
struct Forgetting(Arc<std::sync::atomic::AtomicU64>);

impl Journal for Forgetting {
    fn append(&self, _: &Entry) {}

    fn retire(&self, sequence: u64) {
        self.0
            .fetch_max(sequence, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn a_restart_takes_back_as_many_expressions_as_there_is_room_for() {
    let (log, forgotten) = (Log::default(), Arc::default());
    log.keep_in(Box::new(Forgetting(Arc::clone(&forgotten))));
    for number in 1..=3000u64 {
        apply(&log, pattern(On::Url, &format!("blog-{number}")));
        if number % 500 == 0 {
            log.release_patterns(number, number, 0);
        }
    }
    assert_eq!(log.remembered().1, 0);
    let so_far = || forgotten.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(so_far(), 3000 - 1024);
    // The same expression again and again takes the room of one.
    for number in 3001..=6000 {
        apply(&log, pattern(On::Url, "blog-3000"));
        log.release_patterns(number, number, 0);
    }
    assert_eq!(so_far(), 3000 - 1024);
}

/// A million names, give or take those of one purge. What was not checked since the older ones counts as purged.
#[test]
fn names_are_bounded_and_forgetting_errs_towards_fetching() {
    const BATCH: usize = 1000;
    const MOST: usize = 1 << 20;
    let log = Log::default();
    let early = stored(&log, &["a"]);
    let mut late = early.clone();
    for batch in 0..MOST / BATCH + 3 {
        if batch == MOST / BATCH {
            late = stored(&log, &["a"]);
        }
        let tags = (0..BATCH).map(|number| format!("{batch}-{number}"));
        apply(&log, What::Tags(tags.collect()));
        assert!(log.remembered().0 <= MOST + BATCH);
    }
    assert!(
        log.remembered().0 <= MOST / 2 + 3 * BATCH,
        "the older half went"
    );
    assert_eq!(log.standing(KEY, &early), Standing::Gone);
    assert_eq!(log.standing(KEY, &late), Standing::Good);
}

#[test]
fn without_news_from_elsewhere_nothing_is_trusted() {
    let log = Log::default();
    let held = stored(&log, &[]);
    log.distrust();
    assert_eq!(log.standing(KEY, &held), Standing::Unsure);
    assert_eq!(log.standing(KEY, &held), Standing::Unsure);
    apply(&log, What::Host("b.example".to_owned()));
    log.trust();
    assert_eq!(log.standing(KEY, &held), Standing::Good);
}

#[test]
fn who_was_stopped_or_suspended_trusts_nothing_when_he_wakes() {
    let log = Log::default();
    let page = stored(&log, &[]);
    log.wake(at(1_000_000));
    assert_eq!(
        log.standing(KEY, &page),
        Standing::Good,
        "nodes share no log"
    );
    log.trust_until(at(20));
    log.trust();
    log.wake(at(19));
    assert_eq!(log.standing(KEY, &page), Standing::Good);
    log.wake(at(20));
    assert_eq!(log.standing(KEY, &page), Standing::Unsure);
    log.trust_until(at(30));
    log.trust();
    log.wake(at(29));
    assert_eq!(log.standing(KEY, &page), Standing::Good);
}

#[test]
fn positions_of_the_shared_log_become_numbers_here() {
    let log = Log::default();
    assert_eq!(
        log.sequence_at(Position(1, 0)),
        None,
        "nothing is known yet"
    );
    let before = log.head();
    log.begin_at(Position(10, 0));
    assert_eq!(
        log.sequence_at(Position(9, 9)),
        None,
        "before what is known"
    );
    assert_eq!(log.sequence_at(Position(10, 0)), Some(1));
    assert_eq!(
        log.position_at(before),
        None,
        "fetched before the shared log was read"
    );
    apply(&log, What::Everything);
    assert_eq!(
        log.sequence_at(Position(10, 0)),
        Some(1),
        "others do not know of entries of this node alone"
    );
    log.apply(Purge::hard(What::Everything), at(1), Some(Position(12, 0)));
    log.apply(Purge::hard(What::Everything), at(1), Some(Position(12, 1)));
    assert_eq!(log.sequence_at(Position(11, 0)), Some(1));
    assert_eq!(log.sequence_at(Position(12, 0)), Some(3));
    assert_eq!(log.sequence_at(Position(99, 0)), Some(4));
    assert_eq!(log.position(), Some(Position(12, 1)));
    for (sequence, position) in [
        (1, (10, 0)),
        (2, (10, 0)),
        (3, (12, 0)),
        (4, (12, 1)),
        (9, (12, 1)),
    ] {
        let position = Position(position.0, position.1);
        assert_eq!(log.position_at(sequence), Some(position), "{sequence}");
    }
}

#[test]
fn no_position_is_later_than_what_has_not_come_back() {
    let log = Log::default();
    log.begin_at(Position(10, 0));
    let everything = || Purge::hard(What::Everything);
    let known = |position| log.sequence_at(Position(position, 0));
    let one = log.apply_ahead(everything(), at(1)).sequence;
    let elsewhere = log.apply(everything(), at(1), Some(Position(11, 0)));
    assert_eq!(
        known(11),
        Some(one - 1),
        "who knew of the other node's need not know of ours"
    );
    let two = log.apply_ahead(everything(), at(1)).sequence;
    log.apply_copy(everything(), at(1), Position(12, 0), one);
    assert_eq!(known(12), Some(one), "the second is still on its way");
    assert_eq!(known(10), Some(1));
    log.apply_copy(everything(), at(1), Position(13, 0), two);
    assert_eq!(known(13), Some(log.head()));
    assert_eq!(known(11), Some(elsewhere.sequence));
}

#[test]
fn what_has_not_come_back_is_not_forgotten() {
    let log = Log::default();
    log.begin_at(Position(10, 0));
    let host = || Purge::hard(What::Host("b.example".to_owned()));
    let one = log.apply_ahead(host(), at(1)).sequence;
    log.apply(host(), at(1), Some(Position(11, 0)));
    let last = log.apply(host(), at(1), Some(Position(12, 0))).sequence;
    let standing = || {
        let elsewhere = sample::with_body(Body::Whole("text".into()));
        elsewhere.check(0, one - 1);
        log.standing(KEY, &elsewhere)
    };
    log.retire(last);
    assert_eq!(standing(), Standing::Good);
    log.apply_copy(host(), at(1), Position(13, 0), one);
    log.retire(last);
    assert_eq!(standing(), Standing::Gone, "not known to be good");
}

#[test]
fn a_restored_log_goes_on_where_it_was() {
    let log = Log::default();
    let held = stored(&log, &["a"]);
    let entry = |sequence, tag: &str| Entry {
        sequence,
        at: at(1),
        position: None,
        purge: Purge::hard(What::Tags(vec![tag.to_owned()])),
    };
    log.restore(Remembered {
        entries: vec![entry(7, "a"), entry(9, "b")],
        head: 9,
        ..Remembered::default()
    });
    assert_eq!(log.head(), 9);
    assert_eq!(log.standing(KEY, &held), Standing::Gone);
    assert_eq!(
        log.apply(Purge::hard(What::Everything), at(1), None)
            .sequence,
        10
    );
}

/// What is on disk may have been purged by what the journal keeps no longer.
#[test]
fn a_restored_log_trusts_nothing_from_before_its_floor() {
    let log = Log::default();
    let checked = |number| {
        let held = stored(&log, &[]);
        held.check(0, number);
        held
    };
    let (before, after) = (checked(4), checked(5));
    log.restore(Remembered {
        floor: 5,
        head: 9,
        ..Remembered::default()
    });
    assert_eq!(log.standing(KEY, &before), Standing::Gone);
    assert_eq!(log.standing(KEY, &after), Standing::Good);
}

#[test]
fn what_no_later_entry_of_the_shared_log_purges_is_unsent() {
    let entry = |sequence, name: &str, position: Option<u64>| Entry {
        sequence,
        at: at(1),
        position: position.map(|position| Position(position, 0)),
        purge: Purge::hard(What::Tags(vec![name.to_owned()])),
    };
    let remembered = |entries, position| Remembered {
        entries,
        position,
        ..Remembered::default()
    };
    let entries = vec![
        entry(1, "a", None),
        entry(2, "b", None),
        entry(3, "c", Some(5)),
        entry(4, "c", None),
        entry(5, "a", Some(6)),
        entry(6, "d", None),
        entry(7, "d", None),
    ];
    let numbers = |remembered: &Remembered| -> Vec<u64> {
        let unsent = remembered.unsent().into_iter();
        unsent.map(|(sequence, _)| sequence).collect()
    };
    let shared = remembered(entries, None);
    assert_eq!(numbers(&shared), [2, 4, 7]);
    let alone = vec![entry(1, "a", None)];
    for position in [None, Some(Position(3, 0))] {
        assert_eq!(
            numbers(&remembered(alone.clone(), position)),
            [1],
            "{position:?}"
        );
    }

    let log = Log::default();
    log.owe(shared.unsent());
    log.restore(shared);
    assert_eq!(log.take_unsent().len(), 3);
    assert_eq!(log.take_unsent(), [], "asked once");
    assert_eq!(
        log.sequence_at(Position(6, 0)),
        Some(1),
        "others may not know of the first"
    );
}

#[derive(Clone, Debug)]
enum Step {
    Purge(usize, bool),
    Fetch(usize, usize),
    Look(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..16usize, any::<bool>()).prop_map(|(what, soft)| Step::Purge(what, soft)),
        (0..4usize, 0..4usize).prop_map(|(key, tags)| Step::Fetch(key, tags)),
        (0..32usize).prop_map(Step::Look),
    ]
}

proptest! {
    /// The table finds exactly what comparing every purge with every response finds.
    #[test]
    fn lookups_agree_with_holding_each_purge_against_each_response(steps in prop::collection::vec(any_step(), 1..60)) {
        let keys: [&[u8]; 4] = [KEY, b"https://b.example/blog/1", b"//c/", b"http:///shop"];
        let tags: [&[&str]; 4] = [&[], &["news"], &["a", "other"], &["NEWS"]];
        let kinds = every_kind();
        let log = Log::default();
        let mut purges: Vec<(u64, Purge)> = Vec::new();
        let mut held: Vec<(&[u8], u64, Arc<Stored>)> = Vec::new();
        for step in steps {
            match step {
                Step::Purge(index, soft) => {
                    let purge = Purge { what: kinds[index].0.clone(), soft };
                    let applied = log.apply(purge.clone(), at(log.head() + 1), None);
                    purges.push((applied.sequence, purge));
                }
                Step::Fetch(key, with) => {
                    held.push((keys[key], log.head(), Arc::new(stored(&log, tags[with]))));
                }
                Step::Look(index) if !held.is_empty() => {
                    let (key, log_at, stored) = &held[index % held.len()];
                    let covering = || purges.iter().filter(|(sequence, purge)| sequence > log_at && Log::covers(purge, key, stored));
                    let standing = log.standing(key, stored);
                    if covering().any(|(_, purge)| !purge.soft) {
                        prop_assert_eq!(standing, Standing::Gone);
                    } else if covering().next().is_some() {
                        let is_stale = matches!(standing, Standing::Stale { .. });
                        prop_assert!(is_stale);
                    } else {
                        prop_assert_eq!(standing, Standing::Good);
                    }
                }
                Step::Look(_) => {}
            }
        }
    }
}
