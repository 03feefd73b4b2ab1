//! How long a request waits for a server that answers slowly.

use super::{
    remote::{Limits, Read, Remote, RemoteFuture},
    *,
};
use crate::{
    Body, Fields, Memory, Variant,
    purge::{Position, Purge, What},
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use rules::{directives, freshness, vary};
use std::{
    collections::HashMap,
    future::pending,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};
use tokio::time::sleep;

pub(super) const KEY: &[u8] = b"http://a.example/";

/// A server that takes this long for each answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Slow {
    each: Arc<Mutex<Duration>>,
    /// Whether it no longer answers who reads a single value.
    is_mute: Arc<AtomicBool>,
    values: Arc<Mutex<HashMap<String, Bytes>>>,
    /// The last expiry set for each of these.
    expiries: Arc<Mutex<HashMap<String, Duration>>>,
    /// How many answers it has given, or is about to.
    answers: Arc<AtomicUsize>,
}

impl Slow {
    fn answer<T: Send + 'static>(&self, answer: T) -> RemoteFuture<'_, T> {
        let each = *self.each.lock().expect("whole");
        self.answers.fetch_add(1, Relaxed);
        Box::pin(async move {
            sleep(each).await;
            Ok(answer)
        })
    }

    fn forget_after(&self, key: &str, expiry: Duration) {
        let mut expiries = self.expiries.lock().expect("whole");
        expiries.insert(key.to_owned(), expiry);
    }

    fn value(&self, key: &str) -> Option<Bytes> {
        self.values.lock().expect("whole").get(key).cloned()
    }
}

impl Remote for Slow {
    fn limits(&self) -> Limits {
        Limits {
            key: 250,
            value: 1 << 20,
        }
    }

    fn get<'a>(&'a self, key: &'a str, _: Read) -> RemoteFuture<'a, Option<Bytes>> {
        if self.is_mute.load(Relaxed) {
            return Box::pin(pending());
        }
        self.answer(self.value(key))
    }

    fn get_many<'a>(&'a self, keys: &'a [String], _: Read) -> RemoteFuture<'a, Vec<Option<Bytes>>> {
        self.answer(keys.iter().map(|key| self.value(key)).collect())
    }

    fn set<'a>(&'a self, key: &'a str, value: &'a [u8], expiry: Duration) -> RemoteFuture<'a, ()> {
        let mut values = self.values.lock().expect("whole");
        values.insert(key.to_owned(), Bytes::copy_from_slice(value));
        self.forget_after(key, expiry);
        self.answer(())
    }

    fn add<'a>(&'a self, key: &'a str, _: &'a [u8], _: Duration) -> RemoteFuture<'a, bool> {
        self.answer(self.value(key).is_none())
    }

    fn replace_if<'a>(
        &'a self,
        key: &'a str,
        old: &'a [u8],
        new: &'a [u8],
        _: Duration,
    ) -> RemoteFuture<'a, bool> {
        let mut values = self.values.lock().expect("whole");
        let is_known = values.get(key).is_some_and(|value| value == old);
        if is_known {
            values.insert(key.to_owned(), Bytes::copy_from_slice(new));
        }
        self.answer(is_known)
    }

    fn expire<'a>(&'a self, keys: &'a [String], expiry: Duration) -> RemoteFuture<'a, bool> {
        for key in keys {
            self.forget_after(key, expiry);
        }
        self.answer(keys.iter().all(|key| self.value(key).is_some()))
    }

    fn delete_if<'a>(&'a self, _: &'a str, _: &'a [u8]) -> RemoteFuture<'a, bool> {
        self.answer(true)
    }

    fn hang_up(&self) {}
}

const LIMIT: Duration = Duration::from_millis(50);

fn over(slow: Slow) -> Arc<SharedTier> {
    with_memory(slow, &memory(64 << 20))
}

/// A memory of this size that has read the shared log.
pub(super) fn memory(size: u64) -> Arc<Memory> {
    let memory = Memory::new(size, Arc::default());
    memory.log().begin_at(Position(1, 0));
    Arc::new(memory)
}

pub(super) fn with_memory(slow: Slow, memory: &Arc<Memory>) -> Arc<SharedTier> {
    let config = Config {
        url: String::new(),
        timeout: LIMIT,
        max_ttl: Duration::from_hours(1),
        largest_body: 8 << 20,
        lease: Duration::from_secs(5),
        prefix: "larder".to_owned(),
        trust: Duration::from_secs(10),
        node: "a".to_owned(),
    };
    SharedTier::over(config, Arc::clone(memory), Box::new(slow))
}

pub(super) fn slow(each: u64) -> Slow {
    Slow {
        each: Arc::new(Mutex::new(Duration::from_millis(each))),
        ..Slow::default()
    }
}

/// Finding nothing and taking the lease are three questions; without looking first, two.
#[tokio::test(start_paused = true)]
async fn all_questions_of_a_request_share_one_limit() {
    let request = HeaderMap::new();
    for (each, leads) in [
        (1, [true, true]),
        (16, [true, true]),
        (20, [false, true]),
        (45, [false, false]),
        (60, [false, false]),
    ] {
        let shared = over(slow(each));
        for (step, leads) in ["find", "renew"].into_iter().zip(leads) {
            let begun = Instant::now();
            let mut question = shared.question(KEY, &request);
            let found = match step {
                "find" => shared.find(&mut question, IfNothing::TakeLease).await,
                _ => shared.renew(&mut question, Time::default()).await,
            };
            let waited = begun.elapsed();
            assert!(waited <= LIMIT, "{step}, {each} ms each: {waited:?}");
            let led = matches!(found, SharedTierLookup::Lead(_));
            assert_eq!(led, leads, "{step}, {each} ms each: {found:?}");
        }
    }
}

/// Whichever lease it waits for, and whether anything is found between.
#[tokio::test(start_paused = true)]
async fn all_waits_of_a_request_together_last_as_long_as_a_lease() {
    let slow = slow(1);
    let shared = over(slow.clone());
    let request = HeaderMap::new();
    let variant = [KEY, b"\nvariant:"].concat();
    let mut question = shared.question(KEY, &request);
    question.collapse(&variant);
    let of_variant = name::lease(&shared.0.name(KEY), question.variant);
    question.collapse(KEY);
    let of_page = name::lease(&shared.0.name(KEY), question.variant);
    assert_ne!(of_page, of_variant);
    {
        let mut values = slow.values.lock().expect("whole");
        values.extend([of_page, of_variant].map(|name| (name, Bytes::new())));
    }
    let begun = Instant::now();
    let found = shared.find(&mut question, IfNothing::TakeLease).await;
    assert!(matches!(found, SharedTierLookup::Nothing), "{found:?}");
    question.collapse(&variant);
    let found = shared.renew(&mut question, Time::default()).await;
    assert!(matches!(found, SharedTierLookup::Nothing), "{found:?}");
    let (waited, lease) = (begun.elapsed(), Duration::from_secs(5));
    assert!(waited >= lease && waited < lease + LIMIT, "{waited:?}");
}

pub(super) fn in_language(language: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(header::ACCEPT_LANGUAGE, HeaderValue::from_static(language))])
}

/// A page in this language, fresh for a minute.
pub(super) fn page(language: &'static str, length: usize) -> Arc<Stored> {
    received(language, length, clock::now())
}

/// The same, received at this time.
fn received(language: &'static str, length: usize, at: Time) -> Arc<Stored> {
    let value = HeaderValue::from_static("max-age=60");
    let fields = HeaderMap::from_iter([(header::CACHE_CONTROL, value)]);
    let said = directives::response(&fields, &[]);
    let site = freshness::Site::default();
    let facts = freshness::facts(StatusCode::OK, &fields, &said, &site, at, at);
    let nominated = [header::ACCEPT_LANGUAGE];
    let mut key = Vec::new();
    vary::variant_key(&nominated, &in_language(language), &mut key);
    let variant = Variant {
        nominated: nominated.into(),
        key: key.into(),
    };
    let body = Body::Whole(language.repeat(length / language.len()).into());
    let (fields, variant) = (Fields::pack(&fields), Some(Box::new(variant)));
    Arc::new(Stored::new(
        1,
        StatusCode::OK,
        fields,
        facts,
        variant,
        None,
        body,
    ))
}

/// Reading the record is one answer, and each 2 MiB of a body is another.
#[tokio::test(start_paused = true)]
async fn bodies_share_the_limit_and_only_the_one_that_answers_is_read() {
    let slow = slow(0);
    let each = Arc::clone(&slow.each);
    let shared = over(slow);
    for (length, at_most) in [(1 << 20, 24), (6 << 20, 12)] {
        *each.lock().expect("whole") = Duration::ZERO;
        for language in ["de", "en", "fr", "it"] {
            let before = shared.statistics().stored;
            shared.keep(KEY, &page(language, length), None);
            while shared.statistics().stored == before {
                tokio::task::yield_now().await;
            }
        }
        let request = in_language("en");
        for (millis, is_found) in [(at_most, true), (at_most + 2, false), (45, false)] {
            *each.lock().expect("whole") = Duration::from_millis(millis);
            let begun = Instant::now();
            let mut question = shared.question(KEY, &request);
            let found = shared.find(&mut question, IfNothing::Leave).await;
            let waited = begun.elapsed();
            assert!(waited <= LIMIT, "{millis} ms each: {waited:?}");
            let SharedTierLookup::Here(found) = found else {
                assert!(!is_found, "{millis} ms each");
                continue;
            };
            assert!(is_found && found.len() == 1, "{millis} ms each");
            let mut scratch = Vec::new();
            assert!(found[0].matches(&request, &mut scratch));
        }
    }
}

/// With what is stored it stays within the limit, and another for which there is no room is not read. Then it is
/// stored, or given up with the request.
#[tokio::test(start_paused = true)]
async fn a_body_takes_room_before_it_is_asked_for_and_until_it_is_found() {
    const LIMIT: u64 = 16 << 20;
    const LENGTH: usize = 3 << 20;
    for is_left in [false, true] {
        let slow = slow(0);
        let (each, answers) = (Arc::clone(&slow.each), Arc::clone(&slow.answers));
        let memory = memory(LIMIT);
        let shared = with_memory(slow, &memory);
        shared.keep(KEY, &page("en", LENGTH), None);
        until(|| shared.statistics().stored == 1).await;
        for number in 0..100 {
            let (key, ticket) = (format!("http://b.example/{number}"), memory.begin());
            let page = page("en", 256 << 10);
            memory
                .insert(key.as_bytes(), ticket, page, 8)
                .expect("stored");
        }
        *each.lock().expect("whole") = Duration::from_millis(5);
        let request = in_language("en");
        let find = async || {
            let mut question = shared.question(KEY, &request);
            shared.find(&mut question, IfNothing::TakeLease).await
        };
        let mut one = Box::pin(find());
        let chunks_come = Duration::from_millis(7);
        let early = tokio::time::timeout(chunks_come, &mut one).await;
        assert!(early.is_err(), "{early:?}");
        let seen = memory.statistics();
        assert_eq!(seen.in_flight, LENGTH as u64);
        assert!(seen.stored + seen.in_flight <= LIMIT, "{seen:?}");

        answers.store(0, Relaxed);
        let other = find().await;
        assert!(matches!(other, SharedTierLookup::Nothing), "{other:?}");
        assert_eq!((shared.statistics().no_room, answers.load(Relaxed)), (1, 1));
        assert_eq!(memory.statistics().in_flight, LENGTH as u64);

        let found = if is_left {
            drop(one);
            assert_eq!(memory.statistics().in_flight, 0);
            find().await
        } else {
            one.await
        };
        assert_eq!(memory.statistics().in_flight, 0);
        let SharedTierLookup::Here(found) = found else {
            panic!("{found:?}");
        };
        memory.adopt(KEY, found, 8).expect("a page");
        let seen = memory.statistics();
        assert!(seen.stored + seen.in_flight <= LIMIT, "{seen:?}");
        assert!(memory.find(KEY).is_some());
    }
}

/// Neither the page nor its chunks stay.
#[tokio::test(start_paused = true)]
async fn what_is_purged_while_it_is_written_leaves_nothing() {
    let slow = slow(1);
    let expiries = Arc::clone(&slow.expiries);
    let memory = memory(1 << 20);
    let shared = with_memory(slow, &memory);
    shared.keep(KEY, &page("en", 1 << 20), None);
    until(|| expiries.lock().expect("whole").len() == 2).await;
    let purge = Purge::hard(What::Host("a.example".to_owned()));
    memory.apply(purge, clock::now(), None);
    until(|| shared.statistics().passed_over == 1).await;
    let soon = Duration::from_secs(10);
    until(|| {
        let expiries = expiries.lock().expect("whole");
        expiries.len() == 4 && expiries.values().all(|expiry| *expiry <= soon)
    })
    .await;
}

/// Nobody has sent the record that would name them.
#[tokio::test(start_paused = true)]
async fn of_a_page_whose_record_cannot_be_read_first_no_chunks_stay() {
    let slow = slow(1);
    let (expiries, is_mute) = (Arc::clone(&slow.expiries), Arc::clone(&slow.is_mute));
    let shared = over(slow);
    is_mute.store(true, Relaxed);
    shared.keep(KEY, &page("en", 1 << 20), None);
    let soon = Duration::from_secs(10);
    until(|| {
        let expiries = expiries.lock().expect("whole");
        expiries.len() == 4 && expiries.values().all(|expiry| *expiry <= soon)
    })
    .await;
    assert_eq!(shared.statistics().stored, 0);
}

/// Those of what is purged are not.
#[tokio::test(start_paused = true)]
async fn the_tags_of_what_is_there_are_found_without_its_body() {
    let slow = slow(1);
    let answers = Arc::clone(&slow.answers);
    let memory = memory(1 << 20);
    let shared = with_memory(slow, &memory);
    for (language, tag) in [("de", "a"), ("en", "b")] {
        let page = page(language, 1 << 20);
        let marks = memory.log().tags().marks([tag], page.checked());
        let page = Stored::new(
            page.checked(),
            page.status,
            page.fields.clone(),
            page.facts,
            page.variant.clone(),
            marks,
            page.body.clone(),
        );
        let before = shared.statistics().stored;
        shared.keep(KEY, &Arc::new(page), None);
        until(|| shared.statistics().stored > before).await;
    }
    let before = answers.load(Relaxed);
    let mut tags = shared.tags(&[b"http://a.example/other", KEY]).await;
    tags.sort_unstable();
    assert_eq!(tags, ["a", "b"].map(Box::<str>::from));
    assert_eq!(answers.load(Relaxed), before + 1);
    let purge = Purge::hard(What::Tags(vec!["a".to_owned()]));
    memory.apply(purge, clock::now(), None);
    assert_eq!(shared.tags(&[KEY]).await, ["b"].map(Box::<str>::from));
}

/// Its record is read twice and written once.
#[tokio::test(start_paused = true)]
async fn the_chunks_of_a_confirmed_page_are_prolonged_by_the_dozen() {
    let slow = slow(1);
    let (answers, expiries) = (Arc::clone(&slow.answers), Arc::clone(&slow.expiries));
    let shared = over(slow);
    let page = page("en", 6 << 20);
    shared.keep(KEY, &page, None);
    until(|| shared.statistics().stored == 1).await;
    expiries.lock().expect("whole").clear();
    answers.store(0, Relaxed);
    // It has chunks already, so the head alone is to be written.
    shared.keep(KEY, &page, None);
    until(|| shared.statistics().stored == 2).await;
    assert_eq!(
        expiries.lock().expect("whole").len(),
        25,
        "24 and the record"
    );
    assert_eq!(answers.load(Relaxed), 4);
}

/// Nor do the chunks of the older page stay, which were prolonged for nothing.
#[tokio::test(start_paused = true)]
async fn what_another_node_shares_while_chunks_are_prolonged_stays() {
    let slow = slow(0);
    let (each, expiries) = (Arc::clone(&slow.each), Arc::clone(&slow.expiries));
    let other = over(Slow {
        each: Arc::default(),
        ..slow.clone()
    });
    let shared = over(slow);
    let now = clock::now().as_millis();
    let [older, newer] =
        [2, 1].map(|ago| received("en", 1 << 20, Time::from_millis(now - ago * 1000)));
    shared.keep(KEY, &older, None);
    until(|| shared.statistics().stored == 1).await;
    expiries.lock().expect("whole").clear();
    *each.lock().expect("whole") = Duration::from_millis(20);
    // It has chunks already, so the head alone is to be written.
    shared.keep(KEY, &older, None);
    until(|| expiries.lock().expect("whole").len() == 4).await;
    other.keep(KEY, &newer, None);
    until(|| other.statistics().stored == 1).await;
    until(|| {
        let statistics = shared.statistics();
        statistics.stored + statistics.passed_over == 2
    })
    .await;
    let request = in_language("en");
    let mut question = other.question(KEY, &request);
    let found = other.find(&mut question, IfNothing::Leave).await;
    let SharedTierLookup::Here(found) = found else {
        panic!("{found:?}");
    };
    let at = found[0].facts.response_time;
    assert_eq!(at, newer.facts.response_time);
    assert_eq!(shared.statistics().passed_over, 1);
    let soon = Duration::from_secs(10);
    until(|| {
        let expiries = expiries.lock().expect("whole");
        // Four chunks each, and the record.
        let given_up = expiries.values().filter(|expiry| **expiry <= soon);
        expiries.len() == 9 && given_up.count() == 4
    })
    .await;
}

/// Lets time pass until `is_so` returns true.
pub(super) async fn until(mut is_so: impl FnMut() -> bool) {
    let passed = async {
        while !is_so() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    let passed = tokio::time::timeout(testkit::BOUND, passed).await;
    passed.expect("it is so");
}
