use super::*;
use crate::compress::{Begun, Making};
use http::{HeaderMap, StatusCode};
use rules::{directives, freshness, time::Time};
use store::Fields;

fn stored() -> Stored {
    let fields = HeaderMap::new();
    let (directives, _) = directives::response(&fields, &[]);
    let (site, at) = (freshness::Site::default(), Time::from_secs(1));
    let facts = freshness::facts(StatusCode::OK, &fields, &directives, false, &site, at, at);
    let body = Body::Whole(Bytes::from_static(b"text"));
    let fields = Fields::pack(&fields);
    Stored::new(0, StatusCode::OK, fields, facts, None, None, body)
}

#[tokio::test]
async fn content_that_comes_at_once_does_not_keep_the_worker() {
    let memory = Arc::new(Memory::new(64 << 20, Arc::default()));
    let stored = Arc::new(stored());
    let kept = memory.insert(b"key", memory.begin(), stored.clone(), 8);
    assert!(kept.is_ok());
    let making = Arc::<Making>::default();
    let begun = making.begin(&memory, b"key", stored.id(), Coding::Gzip);
    let Begun::Mine(claim, writer, _reader) = begun else {
        panic!("nobody else makes it");
    };
    let parts = 20;
    let source = Source {
        content: Content::Whole(Bytes::from(vec![b'a'; parts * PART])),
        rest: Bytes::new(),
        key: (*b"key").into(),
        memory,
        counts: Arc::default(),
    };
    let mut work = std::pin::pin!(follow(source, claim, writer));
    let mut turns = 0;
    poll_fn(|context| {
        turns += 1;
        work.as_mut().poll(context)
    })
    .await;
    assert!(turns > parts, "{turns} turns");
}
