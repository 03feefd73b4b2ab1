use super::*;
use std::sync::{
    atomic::{AtomicUsize, Ordering::Relaxed},
    mpsc,
};
use tokio::{task::yield_now, time::advance};

/// A name whose resolver waits to be told its answer, and how often it was asked.
fn slow() -> (Arc<Name>, mpsc::Sender<bool>, Arc<AtomicUsize>) {
    let (tell, told) = mpsc::channel();
    let (told, asked) = (Mutex::new(told), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&asked);
    let mut name = Name::new("name.invalid", 80);
    name.resolver = Resolver::new(move |_, port| {
        count.fetch_add(1, Relaxed);
        match told.lock().unwrap().recv() {
            Ok(true) => Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]),
            _ => Err(io::ErrorKind::TimedOut.into()),
        }
    });
    (Arc::new(name), tell, asked)
}

#[tokio::test(start_paused = true)]
async fn a_name_that_failed_is_left_alone_for_a_while() {
    let (name, tell, asked) = slow();
    let late = async {
        advance(3 * PAUSE).await;
        // More answers than are asked for, so that a superfluous question does not wait for ever.
        (0..9).for_each(|_| tell.send(false).unwrap());
    };
    assert!(name.just_failed().is_none(), "nobody has asked");
    let (failed, ()) = tokio::join!(name.ask(drop), late);
    assert_eq!(failed.unwrap_err().kind(), Kind::Unresolvable);
    let last = Duration::from_millis(1);
    advance(PAUSE.saturating_sub(last)).await;
    let failed = name.just_failed().map(|error| error.kind());
    assert_eq!(failed, Some(Kind::Unresolvable), "from when it is known");
    advance(last).await;
    assert!(name.just_failed().is_none());
    name.ask(drop).await.unwrap_err();
    assert_eq!(asked.load(Relaxed), 2);
}

#[tokio::test]
async fn a_question_outlives_who_asked_and_there_is_one_at_a_time() {
    let (name, tell, asked) = slow();
    let learnt = Arc::new(AtomicUsize::new(0));
    let learn = || {
        let learnt = Arc::clone(&learnt);
        move |found: Vec<SocketAddr>| {
            learnt.fetch_add(found.len(), Relaxed);
        }
    };
    for _ in 0..3 {
        tokio::select! {
            biased;
            _ = name.ask(learn()) => panic!("nothing was said"),
            () = yield_now() => {}
        }
    }
    // Both have asked before anything is said.
    let answer = async { (0..9).for_each(|_| tell.send(true).unwrap()) };
    let (one, other, ()) = tokio::join!(biased; name.ask(learn()), name.ask(learn()), answer);
    one.and(other).unwrap();
    assert_eq!((asked.load(Relaxed), learnt.load(Relaxed)), (1, 1));
}
