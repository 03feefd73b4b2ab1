use super::{reading::Next, *};
use crate::sample;
use bytes::Bytes;
use rules::{freshness, time::Time};
use std::{future::poll_fn, task::Poll};
use store::Fields;

fn page(fields: &HeaderMap) -> Stored {
    let now = Time::from_secs(1_000_000);
    let (said, site) = Default::default();
    let facts = freshness::facts(StatusCode::OK, fields, &said, &site, now, now);
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
    let memory = sample::memory();
    let worker = sample::worker(&memory);
    let site = sample::site(sample::policy(sample::key_spec()));
    let ask = sample::ask(site, None, HeaderMap::new());
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
    let Known::Read(first) = known(&worker, &ask, &found, &fields) else {
        panic!("there is room to keep it");
    };
    assert!(
        memory.statistics().stored > before,
        "it takes of the budget"
    );
    let Known::Read(again) = known(&worker, &ask, &kept_now(), &fields) else {
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

/// What was read counts as in flight as long as a request may still need it and memory has not kept it.
#[test]
fn a_shared_reading_takes_room_of_the_budget() {
    let memory = sample::memory();
    let (worker, budget) = (sample::worker(&memory), memory.budget());
    let (key, readings) = (&b"key"[..], Readings::default());
    let stored = Arc::new(page(&HeaderMap::new()));
    let tags = |times| Bytes::from("<esi:vars name=\"$(HTTP_COOKIE)\"/>,".repeat(times));
    let insert = || {
        let kept = memory.insert(key, memory.begin(), stored.clone(), 8);
        assert!(kept.is_ok());
    };
    let begin = || {
        let Begun::First(reading) = readings.begin(&worker, key, &stored, false) else {
            panic!("nobody else reads it");
        };
        let another = readings.begin(&worker, key, &stored, false);
        assert!(matches!(another, Begun::UnderWay(other) if Arc::ptr_eq(&other, &reading)));
        assert_eq!(budget.reserved(), 0);
        reading
    };

    insert();
    let is_gone = begin();
    is_gone.bring(0, &tags(1000));
    let held = budget.reserved();
    assert!(held > 50_000, "{held}");
    is_gone.bring(0, &tags(1000));
    assert_eq!(budget.reserved(), held, "another brings the same");
    memory.forget(key);
    is_gone.finish();
    let tokens = budget.reserved();
    assert!(tokens > 50_000 && tokens <= held, "{tokens}: not kept");
    drop(is_gone);
    assert_eq!(budget.reserved(), 0);

    insert();
    let is_too_much = begin();
    is_too_much.bring(0, &tags(50_000));
    assert!(matches!(is_too_much.next(usize::MAX, 0), Next::Stopped(..)));
    let tokens = budget.reserved();
    assert!(tokens > 200_000 && tokens <= 1 << 20, "{tokens}");
    drop(is_too_much);

    let before = memory.statistics().stored;
    let is_kept = begin();
    is_kept.bring(0, &tags(1000));
    is_kept.finish();
    assert_eq!(budget.reserved(), 0, "it is stored now");
    assert!(memory.statistics().stored > before + 50_000);
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

/// A page whose fragments are all at hand is work without an end for other requests of its worker, unless it gives them
/// their turn.
#[test]
fn a_long_page_lets_others_have_their_turn() {
    const INCLUDES: usize = 20_000;
    let memory = sample::memory();
    let worker = sample::worker(&memory);
    let site = sample::site(sample::policy(sample::key_spec()));
    let ask = sample::ask(site, None, HeaderMap::new());
    // Nobody is asked for these.
    let text = "<esi:include src=\"ftp://a/\"/>,".repeat(INCLUDES);
    let source = PageSource::streamed(Content::Whole(text.into()));
    let mut composer = Composer::new(Context::new(&worker, &ask), source);
    let (mut sent, mut turns) = (0, 0);
    let page = poll_fn(|task| {
        loop {
            match composer.poll(task) {
                Poll::Ready(Some(piece)) => sent += piece.expect("nothing breaks off").len(),
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Pending => {
                    turns += 1;
                    return Poll::Pending;
                }
            }
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime starts").block_on(page);
    assert_eq!(sent, INCLUDES);
    assert!(turns > 0, "no other task had a turn");
}
