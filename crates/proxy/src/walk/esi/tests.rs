use super::*;
use crate::{
    cache::{Cache, Tiers},
    sample,
};
use bytes::Bytes;
use rules::{freshness, time::Time};
use std::time::Duration;
use store::{Fields, Memory, Purger, Sweeper};

fn page(fields: &HeaderMap) -> Stored {
    let now = Time::from_secs(1_000_000);
    let (directives, site) = Default::default();
    let facts = freshness::facts(StatusCode::OK, fields, &directives, false, &site, now, now);
    let body = Body::Whole(Bytes::from_static(b"a<esi:include src=\"/f\"/>b"));
    Stored::new(
        0,
        StatusCode::OK,
        Fields::pack(fields),
        facts,
        None,
        None,
        body,
    )
}

#[test]
fn a_stored_page_is_read_once_and_its_tokens_are_weighed_with_it() {
    let memory = Arc::new(Memory::new(8 << 20, Arc::default()));
    let hour = Duration::from_hours(1);
    let sweeper = Sweeper::start(memory.clone(), Box::new(|| None), hour).expect("a thread");
    let purger = Purger::new(memory.clone(), sweeper);
    let site = || sample::site(sample::policy(sample::key_spec()));
    let cache = Cache::new(Tiers::memory(memory.clone()), purger, site());
    let worker = Worker::new(cache, Arc::default(), None);
    let ask = sample::ask(site(), None, HeaderMap::new());
    let key = ask.key.as_bytes();
    let stored = Arc::new(page(&HeaderMap::new()));
    let kept_now = || {
        memory
            .find(key)
            .map(|all| all.as_slice()[0].clone())
            .expect("stored")
    };
    memory
        .insert(key, memory.begin(), stored, 8)
        .expect("nothing was purged");
    let before = memory.statistics().stored;

    let found = kept_now();
    let fields = HeaderMap::new();
    let Known::Kept(first) = known(&worker, &ask, &found, &fields) else {
        panic!("there is room to keep it");
    };
    assert!(
        memory.statistics().stored > before,
        "it takes of the budget"
    );
    let Known::Kept(again) = known(&worker, &ask, &kept_now(), &fields) else {
        panic!("it is kept");
    };
    assert!(Arc::ptr_eq(&first.page, &again.page), "a hit reads nothing");
    assert_eq!(
        kept_now().id(),
        found.id(),
        "it is the same stored response"
    );

    memory.forget(key);
    assert_eq!(memory.statistics().stored, 0);
}

#[test]
fn pages_within_pages_and_includes_in_all_are_bounded() {
    let outermost = Within::new(b"0", None, true);
    let mut innermost = outermost.clone();
    for depth in 2..=5u8 {
        assert!(innermost.admits(), "{depth}");
        innermost = Within::new(&[depth], Some(innermost), true);
    }
    assert!(innermost.admits() && innermost.for_another);
    assert!(innermost.has(b"0") && innermost.has(&[3]) && !innermost.has(&[6]));
    assert!(
        !Within::new(&[6], Some(innermost), true).admits(),
        "too deep"
    );
    let more = (0..1000).filter(|_| outermost.admits()).count();
    assert_eq!(more, 256 - 6, "all of them are counted together");
}
