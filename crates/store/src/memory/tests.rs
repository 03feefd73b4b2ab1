use super::*;
use crate::purge::{Purge, What};
use crate::{
    Body, BodyPiece, Coded, Fields, Level, Parts,
    fill::{Fill, Pushed, Writer},
    sample::{accepting, any_request, with_body},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use proptest::prelude::*;
use rules::{coding::Coding, range::Span, time::Time};
use std::{
    sync::{
        Weak,
        mpsc::{Sender, channel},
    },
    thread,
    time::Duration,
};

const LIMIT: u64 = 1 << 20;

fn held(memory: &Memory, key: &[u8]) -> usize {
    memory
        .peek(key)
        .map_or(0, |variants| variants.as_slice().len())
}

fn put(memory: &Memory, key: &[u8], stored: Stored) -> Arc<Stored> {
    let stored = Arc::new(stored);
    let inserted = memory.insert(key, memory.begin(), stored.clone(), 8);
    assert!(inserted.is_ok());
    stored
}

fn whole(length: usize) -> Stored {
    with_body(Body::Whole(vec![0; length].into()))
}

/// A stored response whose body is on its way.
fn filling(memory: &Memory) -> (Stored, Writer) {
    let (fill, writer) = Fill::begin(memory.budget().reservation());
    (with_body(Body::Filling(fill)), writer)
}

#[test]
fn what_is_inserted_is_found_until_it_is_removed() {
    let memory = Memory::new(LIMIT, Arc::default());
    assert!(memory.find(b"k").is_none());
    let first = put(&memory, b"k", accepting("a", 10));
    let second = put(&memory, b"k", accepting("b", 20));
    put(&memory, b"other", any_request(1));
    assert_eq!(held(&memory, b"k"), 2);
    memory.remove(b"k", first.id());
    memory.remove(b"k", first.id());
    let left = memory.find(b"k").expect("one is left");
    assert_eq!(
        left.as_slice().first().map(|stored| stored.id()),
        Some(second.id())
    );
    memory.remove(b"k", second.id());
    assert!(memory.find(b"k").is_none());
    assert_eq!(memory.statistics().keys, 1);
}

#[test]
fn a_response_is_replaced_only_while_it_is_there() {
    let memory = Memory::new(LIMIT, Arc::default());
    let old = put(&memory, b"k", any_request(10));
    let new = Arc::new(any_request(20));
    assert!(memory.freshen(b"k", &old, &new));
    assert!(!memory.freshen(b"k", &old, &new), "it was replaced");
    assert!(!memory.freshen(b"other", &new, &new), "another key");
    memory.forget(b"k");
    let newer = Arc::new(any_request(30));
    assert!(!memory.freshen(b"k", &new, &newer), "it was invalidated");
    assert_eq!(held(&memory, b"k"), 0);
}

/// Each reading of a lower tier has an identity of its own.
#[test]
fn one_reading_of_a_lower_tier_stands_for_another() {
    let memory = Memory::new(LIMIT, Arc::default());
    let read = || Arc::new(accepting("a", 10));
    let adopt = |stored: &Arc<Stored>| drop(memory.adopt(b"k", vec![stored.clone()], 8));
    let named = read();
    adopt(&read());
    let fetched = Arc::new(accepting("b", 20).fetched_by(memory.begin()));
    assert!(memory.freshen(b"k", &named, &fetched), "of another variant");
    assert_eq!(held(&memory, b"k"), 1);
    adopt(&read());
    memory.give_up(b"k", &named);
    assert_eq!(held(&memory, b"k"), 1, "what was fetched is left");
    // Another node has fetched the page since.
    adopt(&Arc::new(accepting("a", 11)));
    memory.give_up(b"k", &named);
    assert!(!memory.freshen(b"k", &named, &read()));
    let again = accepting("a", 9).fetched_by(memory.begin());
    put(&memory, b"k", again);
    memory.give_up(b"k", &named);
    assert_eq!(held(&memory, b"k"), 2, "nor what was fetched here");
}

/// The clocks of nodes differ: what another node has fetched later may seem to be older. A row: the validators of a
/// reading, and whether a 304 for the first of them confirms it.
#[test]
fn a_304_confirms_no_reading_with_other_validators() {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    let later = "Sun, 06 Nov 1994 08:49:38 GMT";
    let rows = [
        ((Some("\"1\""), Some(date)), true),
        ((Some("\"2\""), Some(date)), false),
        ((Some("\"1\""), Some(later)), false),
        ((None, Some(date)), false),
        ((Some("\"1\""), None), false),
        ((None, None), false),
    ];
    let read = |(tag, modified): (Option<&'static str>, Option<&'static str>), at| {
        let mut fields = HeaderMap::new();
        let all = [(header::ETAG, tag), (header::LAST_MODIFIED, modified)];
        for (name, value) in all {
            fields.extend(value.map(|value| (name, HeaderValue::from_static(value))));
        }
        let mut stored = accepting("a", at);
        stored.fields = Fields::pack(&fields);
        Arc::new(stored)
    };
    let (first, _) = rows[0];
    for (validators, confirms) in rows {
        let memory = Memory::new(LIMIT, Arc::default());
        let named = read(first, 10);
        memory.adopt(b"k", vec![read(validators, 9)], 8);
        let fresh = Arc::new(accepting("a", 20));
        assert_eq!(
            memory.freshen(b"k", &named, &fresh),
            confirms,
            "{validators:?}"
        );
        memory.give_up(b"k", if confirms { &fresh } else { &named });
        assert_eq!(held(&memory, b"k"), 0, "an earlier one is out of date too");
    }
}

/// Another variant is not withdrawn with it, and what a still later fetch brings is stored.
#[test]
fn what_a_later_fetch_has_withdrawn_an_earlier_one_does_not_bring_back() {
    let memory = Memory::new(LIMIT, Arc::default());
    let insert = |ticket, stored: Stored| memory.insert(b"k", ticket, Arc::new(stored), 8);
    let combine = |ticket, stored: Stored| {
        let stored = Arc::new(stored);
        memory.combine(b"k", ticket, None, 8, |_| stored.clone())
    };
    let old = put(&memory, b"k", accepting("a", 10));
    let (early, late) = (memory.begin(), memory.begin());
    memory.withdraw(b"k", &old, late.number);
    assert_eq!(held(&memory, b"k"), 0);
    let refused = insert(early, accepting("a", 10)).err();
    assert_eq!(refused, Some(Refused::Superseded));
    let refused = combine(early, accepting("a", 10)).err();
    assert_eq!(refused, Some(Refused::Superseded));
    assert!(insert(early, accepting("b", 10)).is_ok(), "another variant");
    assert!(insert(late, accepting("a", 10)).is_ok());
    memory.withdraw(b"k", &old, early.number);
    let refused = combine(early, accepting("a", 10)).err();
    assert_eq!(refused, Some(Refused::Superseded), "the later one counts");
    assert!(combine(memory.begin(), accepting("a", 10)).is_ok());
}

/// A whole body has the identity of the one that was on its way: a caller that still holds the latter must not put it
/// back.
#[test]
fn an_exchange_is_for_that_very_response() {
    let memory = Memory::new(LIMIT, Arc::default());
    let old = put(&memory, b"k", any_request(10));
    let whole = Arc::new(Stored::clone(&old).with_body(Body::Whole("whole".into())));
    assert!(memory.freshen(b"k", &old, &whole));
    let stale = Arc::new(old.stale_since(Time::from_secs(11), 0));
    assert!(!memory.exchange(b"k", &old, &stale), "it is another now");
    assert!(Arc::ptr_eq(
        &memory.peek(b"k").expect("held").as_slice()[0],
        &whole
    ));
    assert!(memory.exchange(b"k", &whole, &stale));
}

/// RFC 9111 section 4.4: a fetch that began before the invalidation may bring what was invalidated.
#[test]
fn a_fetch_that_began_before_an_invalidation_stores_nothing() {
    let memory = Memory::new(LIMIT, Arc::default());
    let before = memory.begin();
    let url = What::Url(vec!["//h/k".to_owned()]);
    let purged = memory.purge(&[Purge::hard(url)], Time::from_secs(5));
    assert_eq!(purged.expect("room")[0].touched, 0, "nothing was stored");
    let stored = Arc::new(any_request(10));
    assert_eq!(
        memory
            .insert(b"http://h/k", before, stored.clone(), 8)
            .map(drop),
        Err(Refused::Purged)
    );
    let combined = memory.combine(b"http://h/k", before, None, 8, |_| {
        unreachable!("refused before it is asked")
    });
    assert_eq!(combined.map(drop), Err(Refused::Purged));
    assert_eq!(held(&memory, b"http://h/k"), 0);
    let after = memory.begin();
    assert!(memory.insert(b"http://h/k", after, stored, 8).is_ok());
    assert_eq!(memory.forget(b"http://h/k"), 1);
    assert_eq!(held(&memory, b"http://h/k"), 0);
}

/// RFC 9111 section 4: "MUST use the most recent one". A row: the dates of what the first and the second fetch bring.
#[test]
fn what_a_later_fetch_has_brought_stays() {
    for (first, second) in [(10, 20), (20, 10), (10, 10)] {
        let memory = Memory::new(LIMIT, Arc::default());
        let (early, late) = (memory.begin(), memory.begin());
        let put = |stored: Stored, ticket| {
            let stored = Arc::new(stored.fetched_by(ticket));
            let replaced = memory.insert(b"k", ticket, stored, 8);
            replaced.map(|old| old.map(|old| old.facts.date.as_secs()))
        };
        assert_eq!(put(any_request(second), late), Ok(None));
        assert_eq!(
            put(any_request(first), early),
            Err(Refused::Superseded),
            "{first} {second}"
        );
        assert_eq!(
            put(accepting("a", first), early),
            Ok(None),
            "another variant"
        );
        let last = put(any_request(first), memory.begin());
        assert_eq!(last, Ok(Some(second)), "what it takes the place of");
        assert_eq!(held(&memory, b"k"), 2);
    }
}

#[test]
fn what_is_combined_takes_the_place_of_what_was_held() {
    let memory = Memory::new(LIMIT, Arc::default());
    let first = put(&memory, b"k", any_request(10));
    let mut seen = None;
    let combined = memory.combine(b"k", memory.begin(), None, 8, |held| {
        seen = held.and_then(|held| held.as_slice().first().map(|stored| stored.id()));
        Arc::new(any_request(20))
    });
    assert_eq!(seen, Some(first.id()));
    let found = memory.find(b"k").expect("stored");
    let ids: Vec<_> = found.as_slice().iter().map(|stored| stored.id()).collect();
    let (combined, is_put) = combined.expect("not invalidated");
    assert!(is_put);
    assert_eq!(ids, [combined.id()]);
}

/// Nobody could follow a fill that can no longer be found.
#[test]
fn an_entry_whose_body_is_on_its_way_is_not_evicted() {
    let memory = Memory::new(LIMIT, Arc::default());
    let (stored, mut writer) = filling(&memory);
    let stored = put(&memory, b"filling", stored);
    for number in 0..100_u32 {
        put(&memory, &number.to_be_bytes(), whole(32 << 10));
    }
    assert!(
        memory.statistics().evictions > 0,
        "there was no room for all"
    );
    assert_eq!(held(&memory, b"filling"), 1);
    assert_eq!(writer.push(b"all of it"), Pushed::Kept);
    let body = writer.finish().expect("kept");
    assert!(memory.freshen(
        b"filling",
        &stored,
        &Arc::new(Stored::clone(&stored).with_body(body))
    ));
    for number in 0..100_u32 {
        put(&memory, &number.to_be_bytes(), whole(32 << 10));
    }
    assert_eq!(
        held(&memory, b"filling"),
        0,
        "once whole it is like any other"
    );
}

#[test]
fn bodies_in_flight_take_room_from_what_is_stored_and_give_it_back() {
    let memory = Memory::new(LIMIT, Arc::default());
    let fill_up = || {
        for number in 0..100_u32 {
            put(&memory, &number.to_be_bytes(), whole(32 << 10));
        }
        memory.statistics().stored
    };
    let full = fill_up();
    assert!(full > LIMIT / 2);
    let (_fill, mut writer) = Fill::begin(memory.budget().reservation());
    assert_eq!(writer.push(&vec![0; LIMIT as usize / 2]), Pushed::Kept);
    memory.make_room();
    let now = memory.statistics();
    assert_eq!(now.in_flight, LIMIT / 2);
    assert!(now.stored + now.in_flight <= LIMIT, "{now:?}");
    assert_eq!(
        writer.push(b"more"),
        Pushed::Spilled,
        "half the limit is all there is for them"
    );
    assert_eq!(memory.statistics().in_flight, 0);
    assert_eq!(fill_up(), full);
}

/// What is in flight comes and goes with each answer.
#[test]
fn what_is_asked_for_often_is_taken_in_however_often_the_room_has_changed() {
    let memory = Memory::new(LIMIT, Arc::default());
    let ask = |key: u32| {
        let is_here = memory.find(&key.to_be_bytes()).is_some();
        if !is_here {
            put(&memory, &key.to_be_bytes(), whole(8 << 10));
        }
        is_here
    };
    let hits = |keys: std::ops::Range<u32>| keys.filter(|key| ask(*key)).count();
    let mut in_flight = memory.budget().reservation();
    for swing in 0..2000 {
        in_flight.hold(LIMIT / 64 * (1 + swing % 7));
        memory.make_room();
        in_flight.release();
        memory.make_room();
    }
    for _ in 0..4 {
        hits(0..150);
    }
    let evictions = memory.statistics().evictions;
    assert!(evictions > 0, "all of the room is theirs");
    for _ in 0..8 {
        hits(1000..1060);
    }
    assert_eq!(hits(1000..1060), 60, "nobody asks for the others any more");
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Insert { key: u8, length: usize },
    Grow { bytes: usize },
    EndFill,
    Invalidate { key: u8 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (any::<u8>(), 0..200_000_usize).prop_map(|(key, length)| Step::Insert { key, length }),
        3 => (0..100_000_usize).prop_map(|bytes| Step::Grow { bytes }),
        1 => Just(Step::EndFill),
        1 => any::<u8>().prop_map(|key| Step::Invalidate { key }),
    ];
    prop::collection::vec(step, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn stored_and_in_flight_together_stay_within_the_limit(steps in steps()) {
        let memory = Memory::new(LIMIT, Arc::default());
        let mut in_flight = memory.budget().reservation();
        for step in steps {
            match step {
                Step::Insert { key, length } => {
                    put(&memory, &[key], with_body(Body::Whole(Bytes::from(vec![0; length]))));
                }
                Step::Grow { bytes } => {
                    let _ = in_flight.grow(bytes as u64);
                    memory.make_room();
                }
                Step::EndFill => in_flight.release(),
                Step::Invalidate { key } => {
                    memory.forget(&[key]);
                    prop_assert!(memory.find(&[key]).is_none());
                }
            }
            let now = memory.statistics();
            prop_assert!(now.stored + now.in_flight <= LIMIT, "{now:?} after {step:?}");
        }
    }
}

#[test]
fn a_sweep_drops_few_at_a_time() {
    let memory = Memory::new(LIMIT, Arc::default());
    for number in 0..500 {
        put(
            &memory,
            format!("http://a.example/{number}").as_bytes(),
            any_request(1),
        );
    }
    let keys = || memory.statistics().keys;
    let mut before = keys();
    assert_eq!(before, 500);
    let all = Purge::hard(What::Everything);
    memory.purge(&[all], Time::from_secs(1)).expect("room");
    let mut most = 0;
    let swept = memory.sweep(|| {
        most = most.max(before - keys());
        before = keys();
    });
    assert_eq!((swept.seen, swept.gone, keys()), (500, 500, 0));
    assert_eq!(most, 8);
}

#[test]
fn what_is_read_and_not_stored_any_more_stays_in_the_budget() {
    let memory = Memory::new(LIMIT, Arc::default());
    let body = |stored: &Stored| match &stored.body {
        Body::Whole(bytes) => bytes.clone(),
        other => panic!("{other:?}"),
    };
    let large = LIMIT as usize / 8;
    let read = |key: &[u8]| body(&put(&memory, key, whole(large)));
    // It is replaced, purged and evicted; each time a reader still holds it.
    let replaced = read(b"other");
    put(&memory, b"other", whole(10));
    assert!(memory.statistics().in_flight >= large as u64);
    let purged = read(b"purged");
    memory.forget(b"purged");
    let taken = memory.statistics();
    assert!(taken.in_flight >= 2 * large as u64, "{taken:?}");
    drop((replaced, purged));
    assert_eq!(memory.statistics().in_flight, 0);
    let many: Vec<_> = (0..8_u8).map(|number| read(&[number])).collect();
    let taken = memory.statistics();
    assert!(taken.in_flight >= large as u64, "{taken:?}");
    drop(many);
    assert_eq!(memory.statistics().in_flight, 0);
    memory.make_room();
    let taken = memory.statistics();
    assert!(taken.stored <= LIMIT, "{taken:?}");
}

#[test]
fn what_nobody_reads_leaves_at_once() {
    let memory = Memory::new(LIMIT, Arc::default());
    let stored = put(&memory, b"k", whole(LIMIT as usize / 8));
    // The same content with other fields: it has been stored all along.
    let again = Arc::new(Stored::clone(&stored));
    assert!(memory.exchange(b"k", &stored, &again));
    drop((stored, again));
    put(&memory, b"k", whole(10));
    assert_eq!(memory.statistics().in_flight, 0);
}

/// It may be a form of a long page. A worker keeps it for the next answers.
#[test]
fn what_is_short_and_kept_to_be_sent_again_is_not_in_flight() {
    let memory = Memory::new(LIMIT, Arc::default());
    let stored = put(&memory, b"k", whole(LIMIT as usize / 8));
    let short = Bytes::from(vec![1; 12 << 10]);
    let coded = Coded {
        coding: Coding::Gzip,
        level: Level::Fast,
        body: Some(Body::Whole(short.clone())),
        hash: 1,
    };
    assert!(memory.add_form(b"k", stored.content(), &coded));
    drop((coded, stored));
    let stored = memory.peek(b"k").expect("held").as_slice()[0].clone();
    memory.forget(b"k");
    let taken = memory.statistics().in_flight;
    assert!(
        (LIMIT / 8..LIMIT / 8 + (12 << 10)).contains(&taken),
        "{taken}"
    );
    let room = memory.room_for_left(&stored).expect("room");
    assert!((12 << 10..14 << 10).contains(&room.bytes()), "{room:?}");
    drop((stored, room));
    assert_eq!(memory.statistics().in_flight, 0);
    drop(short);
}

/// Content that makes another thread look something up when it is freed, and tells whether the lookup was answered.
struct Asking(Weak<Memory>, Sender<bool>);

impl AsRef<[u8]> for Asking {
    fn as_ref(&self) -> &[u8] {
        static CONTENT: [u8; 48 << 10] = [0; 48 << 10];
        &CONTENT
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let Some(memory) = self.0.upgrade() else {
            return;
        };
        let (answer, answered) = channel();
        thread::spawn(move || {
            let _ = (memory.find(b"other"), memory.statistics());
            answer.send(())
        });
        let is_answered = answered.recv_timeout(Duration::from_secs(20)).is_ok();
        let _ = self.1.send(is_answered);
    }
}

/// Freeing memory takes system calls.
#[test]
fn nobody_waits_for_what_is_freed() {
    let memory = Arc::new(Memory::new(LIMIT, Arc::default()));
    let (told, answers) = channel();
    let put = |key: &[u8]| {
        let content = Bytes::from_owner(Asking(Arc::downgrade(&memory), told.clone()));
        put(&memory, key, with_body(Body::Whole(content)));
    };
    let all_answered = |how| {
        let answers: Vec<bool> = answers.try_iter().collect();
        assert!(
            !answers.is_empty() && answers.iter().all(|is| *is),
            "{how}: {answers:?}"
        );
    };
    put(b"k");
    put(b"k");
    all_answered("replaced");
    (0..32_u8).for_each(|number| put(&[number]));
    all_answered("pushed out by others");
    let mut in_flight = memory.budget().reservation();
    in_flight.hold(LIMIT / 2);
    memory.make_room();
    all_answered("no room for it");
}

/// Two variants over one content, as made by a 304 that answers the request of another variant, with a form that both
/// have.
fn put_shared(memory: &Memory, key: &[u8], body: &Body) -> Bytes {
    let first = put(memory, key, accepting("a", 10).with_body(body.clone()));
    let other = accepting("b", 20).with_body(body.clone());
    put(memory, key, other.with_made_of(&first));
    let coded = Coded {
        coding: Coding::Gzip,
        level: Level::Fast,
        body: Some(Body::Whole(vec![1; LIMIT as usize / 16].into())),
        hash: 1,
    };
    assert!(memory.add_form(key, first.content(), &coded));
    assert_eq!(held(memory, key), 2);
    let slice = body.slice(Span { first: 0, last: 9 });
    match slice.expect("held").pop() {
        Some(BodyPiece::Memory(bytes)) => bytes,
        other => panic!("{other:?}"),
    }
}

/// Bodies of an eighth of the limit, in each form that is in memory.
fn bodies() -> [Body; 6] {
    let large = LIMIT as usize / 8;
    crate::arena::open(64 << 20).expect("a file in memory");
    let half = Bytes::from(vec![0; large / 2]);
    let chunks = vec![half.clone(), vec![0; large / 2].into()];
    let mapped = Body::kept(chunks.clone(), large);
    assert!(matches!(mapped, Body::Mapped(_)));
    let parts = Parts::new(1 << 30, 0, Bytes::from(vec![0; large / 2]));
    let second = Parts::new(1 << 30, large as u64, Bytes::from(vec![0; large / 2]));
    let parts = parts.combined(&second, u64::MAX);
    drop(half);
    let another = Body::kept(chunks.clone(), large).into_piece();
    let ranged = Parts::new(1 << 30, 0, another.expect("a piece"));
    let record = Bytes::from(vec![0; large]);
    let slices = [0, large / 2].map(|at| (at as u64 * 2, record.slice(at..at + large / 2).into()));
    let read = Parts::from_pieces(1 << 30, slices.into()).expect("sorted");
    [
        Body::Parts(Arc::new(ranged)),
        Body::Parts(Arc::new(read)),
        Body::Whole(vec![0; large].into()),
        mapped,
        Body::Chunks(chunks.into()),
        Body::Parts(Arc::new(parts)),
    ]
}

#[test]
fn what_two_variants_share_is_weighed_once() {
    for body in bodies() {
        let memory = Memory::new(LIMIT, Arc::default());
        let what = format!("{body:?}").chars().take(20).collect::<String>();
        put_shared(&memory, b"k", &body);
        let stored = memory.statistics().stored;
        let once = LIMIT / 8 + LIMIT / 16;
        assert!(
            (once..once + LIMIT / 32).contains(&stored),
            "{what} {stored}"
        );
        let first = memory.peek(b"k").expect("held").as_slice()[0].id();
        memory.remove(b"k", first);
        let stored = memory.statistics().stored;
        assert!(
            (once..once + LIMIT / 32).contains(&stored),
            "{what} {stored}"
        );
        memory.forget(b"k");
        assert_eq!(memory.statistics().stored, 0, "{what}");
    }
}

#[test]
fn what_two_variants_share_leaves_once_and_is_let_go() {
    type Leave = fn(&Memory);
    let ways: [(&str, Leave); 4] = [
        ("forgotten", |memory| assert_eq!(memory.forget(b"k"), 2)),
        ("replaced", |memory| {
            let new = memory.combine(b"k", memory.begin(), None, 1, |_| Arc::new(whole(10)));
            assert!(new.expect("not purged").1);
        }),
        ("swept", |memory| {
            let all = Purge::hard(What::Everything);
            memory.purge(&[all], Time::from_secs(1)).expect("room");
            assert_eq!(memory.sweep(|| ()).gone, 2);
        }),
        ("evicted", |memory| {
            let mut in_flight = memory.budget().reservation();
            in_flight.hold(LIMIT);
            memory.make_room();
            assert_eq!(held(memory, b"k"), 0);
        }),
    ];
    for (how, leave) in ways {
        for body in bodies() {
            let is_read = how == "replaced";
            let memory = Memory::new(LIMIT, Arc::default());
            let what = format!("{how} {body:?}")
                .chars()
                .take(20)
                .collect::<String>();
            let read = put_shared(&memory, b"k", &body);
            drop(body);
            if !is_read {
                drop(read);
                leave(&memory);
                assert_eq!(memory.statistics().in_flight, 0, "{what}");
                continue;
            }
            leave(&memory);
            let taken = memory.statistics().in_flight;
            assert!((LIMIT / 16..LIMIT / 5).contains(&taken), "{what} {taken}");
            drop(read);
            assert_eq!(memory.statistics().in_flight, 0, "{what}");
        }
    }
}

/// It was evicted while the origin was asked whether it still held.
#[test]
fn what_is_stored_again_while_it_is_read_leaves_once() {
    let memory = Memory::new(LIMIT, Arc::default());
    let stored = put(&memory, b"k", whole(LIMIT as usize / 8));
    memory.forget(b"k");
    put(&memory, b"k", Stored::clone(&stored));
    memory.forget(b"k");
    let taken = memory.statistics().in_flight;
    assert!((LIMIT / 8..LIMIT / 7).contains(&taken), "{taken}");
    drop(stored);
    assert_eq!(memory.statistics().in_flight, 0);
}

/// A range that is fetched anew cuts what is stored in two.
#[test]
fn parts_that_were_combined_are_let_go() {
    let memory = Memory::new(LIMIT, Arc::default());
    let large = LIMIT as usize / 4;
    let parts = |first: u64, length: usize| {
        with_body(Body::Parts(Arc::new(Parts::new(
            1 << 30,
            first,
            Bytes::from(vec![0; length]),
        ))))
    };
    put(&memory, b"k", parts(0, large));
    for first in [1000, large as u64] {
        let all = memory.combine(b"k", memory.begin(), None, 8, |old| {
            let old = &old.expect("held").as_slice()[0];
            let (Body::Parts(older), Body::Parts(newer)) = (&old.body, &parts(first, 100).body)
            else {
                panic!("{old:?}");
            };
            Arc::new(with_body(Body::Parts(Arc::new(
                older.combined(newer, u64::MAX),
            ))))
        });
        assert!(all.expect("not purged").1);
        assert_eq!(memory.statistics().in_flight, 0, "nobody reads it");
    }
    memory.forget(b"k");
    assert_eq!(memory.statistics().in_flight, 0);
}

fn variant(accept: &str, date: u64, length: usize) -> Stored {
    accepting(accept, date).with_body(Body::Whole(vec![0; length].into()))
}

/// The dates of what is held, in order.
fn dates(memory: &Memory, key: &[u8]) -> Vec<u64> {
    let held = memory.peek(key);
    let all = held.iter().flat_map(Variants::as_slice);
    all.map(|stored| stored.facts.date.as_secs()).collect()
}

#[test]
fn of_variants_the_oldest_go_where_there_is_no_room_for_all() {
    let memory = Memory::new(LIMIT, Arc::default());
    let large = LIMIT as usize / 4;
    for date in 10..20 {
        put(&memory, b"k", variant(&date.to_string(), date, large));
    }
    assert_eq!(dates(&memory, b"k"), [19, 18, 17]);
    put(&memory, b"k", variant("late", 5, large));
    assert_eq!(dates(&memory, b"k"), [19, 18, 5], "the newcomer stays");
    let found = vec![Arc::new(variant("found", 6, large))];
    let all = memory.adopt(b"k", found, 8);
    assert_eq!(all.map(|all| all.as_slice().len()), Some(4));
    assert_eq!(dates(&memory, b"k"), [19, 18, 6], "what a lower tier has");
    // One whose body is on its way is not dropped for it.
    let (coming, mut writer) = filling(&memory);
    let coming = put(&memory, b"k", coming);
    let put_whole = |length| {
        memory.amend(b"k", coming.id(), |held| {
            let body = Body::Whole(vec![0; length].into());
            Some(held.clone().with_body(body))
        })
    };
    writer.push(b"some");
    assert!(put_whole(large * 2).is_some());
    assert_eq!(dates(&memory, b"k"), [1_000_000, 19]);
    assert_eq!(memory.statistics().evictions, 0);
}

#[test]
fn one_for_which_there_is_no_room_leaves_the_others_alone() {
    let memory = Memory::new(LIMIT, Arc::default());
    let large = LIMIT as usize / 4;
    for date in [10, 11, 12] {
        put(&memory, b"k", variant(&date.to_string(), date, large));
    }
    let insert = |stored: Stored| {
        let inserted = memory.insert(b"k", memory.begin(), Arc::new(stored), 8);
        inserted.map(drop)
    };
    let too_large = LIMIT as usize;
    assert_eq!(
        insert(variant("other", 20, too_large)),
        Err(Refused::TooLarge)
    );
    assert_eq!(dates(&memory, b"k"), [12, 11, 10]);
    let content = memory.peek(b"k").expect("held").as_slice()[0].content();
    let coded = Coded {
        coding: Coding::Gzip,
        level: Level::Fast,
        body: Some(Body::Whole(vec![1; large / 2].into())),
        hash: 1,
    };
    assert!(memory.add_form(b"k", content, &coded));
    assert_eq!(dates(&memory, b"k"), [12, 11], "as for another variant");
    // What it would have replaced is out of date all the same.
    assert_eq!(insert(variant("11", 20, too_large)), Err(Refused::TooLarge));
    assert_eq!(dates(&memory, b"k"), [12]);
    let combined = memory.combine(b"k", memory.begin(), None, 8, |_| {
        Arc::new(whole(too_large))
    });
    let (combined, is_put) = combined.expect("not purged");
    assert!(!is_put);
    assert!(memory.statistics().in_flight >= LIMIT, "who asked has it");
    drop(combined);
    assert_eq!(memory.statistics().in_flight, 0);
    assert_eq!(dates(&memory, b"k"), [12]);
}

#[test]
fn the_largest_body_fits_into_a_shard() {
    for limit in [1 << 20, 64 << 20, 200 << 20, 512 << 20, 1 << 30, 3 << 30] {
        let memory = Memory::new(limit, Arc::default());
        let (most, shard) = (memory.largest_body(), memory.entries.shard_capacity());
        assert!(most <= limit / 4 && most < shard, "{limit}: {most} {shard}");
    }
}

#[test]
fn what_is_stored_leaves_room_for_what_passes() {
    let memory = Memory::new(1 << 20, Arc::default());
    let mut passing = memory.budget().reservation();
    passing.hold(900_000);
    memory.make_room();
    let capacity = memory.entries.capacity();
    assert!(capacity + 900_000 <= (1 << 20) - (1 << 15), "{capacity}");
    assert!(!memory.is_exhausted());
    passing.hold(1 << 20);
    assert!(memory.is_exhausted());
}

/// The renewed page is made while the old one is still there, and carries the same tags.
#[test]
fn tags_are_within_the_limit_whoever_brought_them() {
    let memory = Memory::new(LIMIT, Arc::default());
    for page in 0..200 {
        let texts: Vec<_> = (0..100)
            .map(|tag| format!("{page}-{tag}-{}", "x".repeat(500)))
            .collect();
        let carrying = || {
            let mut stored = any_request(10);
            stored.marks = memory.log().tags().marks(&texts, memory.begin().log_at);
            stored
        };
        let key = format!("http://h/{page}");
        let old = Arc::new(carrying());
        // If texts take all of the room, there is none for the page.
        let inserted = memory.insert(key.as_bytes(), memory.begin(), old.clone(), 8);
        assert!(!matches!(
            inserted,
            Err(Refused::Purged | Refused::Superseded)
        ));
        memory.freshen(key.as_bytes(), &old, &Arc::new(carrying()));
    }
    memory.make_room();
    let Statistics { keys, stored, .. } = memory.statistics();
    assert!(keys > 5 && keys * 100 * 500 <= LIMIT, "{keys} keys");
    assert!(
        keys * 100 * 500 <= stored && stored <= LIMIT,
        "{keys} keys, {stored} bytes"
    );
}
