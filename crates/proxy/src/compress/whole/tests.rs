use super::*;
use crate::{
    compress::{Begun, Instead, Making},
    sample::{letters, read_slowly},
};
use http::{HeaderMap, StatusCode};
use rules::{directives, freshness, time::Time};
use store::{
    Budget, Fields, Stored,
    fill::{Fill, Reader, WINDOW},
};
use tokio::{
    task::{LocalSet, spawn_local},
    time::sleep,
};

/// Larger forms are not kept here.
const MOST: u64 = 100 << 10;

fn stored() -> Stored {
    let fields = HeaderMap::new();
    let said = directives::response(&fields, &[]);
    let (site, at) = (freshness::Site::default(), Time::from_secs(1));
    let facts = freshness::facts(StatusCode::OK, &fields, &said, &site, at, at);
    let body = Body::Whole(Bytes::from_static(b"text"));
    let fields = Fields::pack(&fields);
    Stored::new(0, StatusCode::OK, fields, facts, None, None, body)
}

#[tokio::test]
async fn content_that_comes_at_once_does_not_keep_the_worker() {
    let parts = 20;
    let content = Content::Whole(Bytes::from(vec![b'a'; parts * PART]));
    let (source, maker, _reader) = begin(content, 16 << 20);
    let mut work = std::pin::pin!(follow(source, maker));
    let mut turns = 0;
    poll_fn(|context| {
        turns += 1;
        work.as_mut().poll(context)
    })
    .await;
    assert!(turns > parts, "{turns} turns");
}

/// Returns what makes a form in gzip of `content`, which is kept if it has at most `most` bytes, and its first reader.
fn begin(content: Content, most: u64) -> (FormSource, Maker, Reader) {
    let memory = Arc::new(Memory::new(64 << 20, Arc::default()));
    let stored = kept(&memory);
    let making = Arc::<Making>::default();
    let what = (&*stored, Coding::Gzip);
    let encoder = || Encoder::shared(memory.budget(), Coding::Gzip, Level::Fast, None);
    let Begun::Mine(mine) = making.begin(&memory, b"key", what, encoder) else {
        panic!("nobody else makes it");
    };
    let maker = Maker {
        claim: mine.claim,
        writer: mine.writer,
        encoder: mine.room,
        most,
    };
    let source = FormSource {
        content,
        rest: Bytes::new(),
        key: (*b"key").into(),
        memory,
        counts: Arc::default(),
    };
    (source, maker, mine.reader)
}

#[tokio::test(start_paused = true)]
async fn who_keeps_those_waiting_who_want_the_same_form_is_cut_off() {
    let (source, maker, first) = begin(Content::Whole(letters(8 << 20)), MOST);
    let second = maker.writer.fill().reader().expect("it is kept yet");
    let run = LocalSet::new();
    let rows = run.run_until(async {
        spawn_local(follow(source, maker));
        let quick = spawn_local(read_slowly(first, Duration::from_millis(1)));
        let slow = read_slowly(second, Duration::from_millis(500)).await;
        (quick.await.expect("it reads"), slow)
    });
    let (quick, slow) = rows.await;
    assert!(quick.1 && quick.0 > 5 << 20, "{quick:?}");
    assert!(!slow.1 && slow.0 < 4 << 20, "{slow:?}");
}

/// It is not kept: it is larger than may be kept, or its content is not kept.
#[tokio::test(start_paused = true)]
async fn no_more_is_made_than_one_that_does_not_read_has_room_for() {
    for is_kept in [true, false] {
        let (content, mut origin) = Fill::begin(Budget::new(64 << 20).reservation());
        let following = Content::following(content.reader().expect("it is kept yet"), None);
        let most = if is_kept { MOST } else { 16 << 20 };
        let (source, maker, _reader) = begin(following, most);
        let fill = maker.writer.fill().clone();
        let run = LocalSet::new();
        run.spawn_local(follow(source, maker));
        if !is_kept {
            origin.spill();
        }
        run.spawn_local(bring(origin));
        run.run_until(sleep(Duration::from_mins(30))).await;
        let (made, most) = (fill.received(), WINDOW + PART as u64);
        assert!(
            (WINDOW..most).contains(&made),
            "{made}, its content kept: {is_kept}"
        );
    }
}

/// Brings content as fast as it is taken.
async fn bring(mut origin: Writer) {
    for piece in letters(8 << 20).chunks(PART) {
        origin.push(piece);
        wait_for_room(&mut origin, |_| {}).await;
    }
}

fn kept(memory: &Memory) -> Arc<Stored> {
    let stored = Arc::new(stored());
    let kept = memory.insert(b"key", memory.begin(), stored.clone(), 8);
    assert!(kept.is_ok());
    stored
}

#[test]
fn room_is_asked_for_by_who_makes_it_and_nobody_else() {
    let memory = Memory::new(64 << 20, Arc::default());
    let stored = kept(&memory);
    let what = (&*stored, Coding::Gzip);
    let making = Arc::<Making>::default();
    let refused = making.begin(&memory, b"key", what, || None::<()>);
    assert!(matches!(refused, Begun::Not(Instead::NoRoom)));
    let first = making.begin(&memory, b"key", what, || Some(()));
    assert!(matches!(first, Begun::Mine(_)), "a refusal leaves nothing");
    let not_asked = || -> Option<()> { panic!("another makes it") };
    let second = making.begin(&memory, b"key", what, not_asked);
    assert!(matches!(second, Begun::Not(Instead::Theirs(_))));
    drop(first);
    let gone = making.begin(&memory, b"other", what, not_asked);
    assert!(matches!(gone, Begun::Not(Instead::Unkept)));
}

/// Every request would make it again.
#[test]
fn what_cannot_be_kept_is_not_made() {
    let memory = Memory::new(4 << 20, Arc::default());
    let take = || Small::take(&memory, Coding::Gzip, 20_000);
    assert!(take().is_some());
    let mut others = memory.budget().reservation();
    assert!(others.grow((2 << 20) - 19_999));
    assert!(take().is_none(), "no room for the form");
    others.shrink_to(3 << 19);
    assert!(take().is_none(), "the last quarter is for bodies");
    assert_eq!(memory.budget().reserved(), 3 << 19);
}
