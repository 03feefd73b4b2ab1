use super::*;
use crate::{
    Horizon, Remember,
    purge::{Log, On, Pattern, What},
};
use std::{
    future::poll_fn,
    sync::{Barrier, Mutex},
    task::Poll,
    thread,
};
use tokio::{runtime, sync::oneshot};

/// A device that is done when it is told to be.
#[derive(Debug)]
struct Device(Mutex<Option<oneshot::Receiver<Result<(), NotDurable>>>>);

impl Durable for Device {
    fn durable(&self, _: u64) -> Boxed<Result<(), NotDurable>> {
        let done = self.0.lock().ok().and_then(|mut done| done.take());
        Box::pin(async move { done.expect("asked once").await.expect("told") })
    }

    fn is_failing(&self) -> bool {
        false
    }
}

/// A purger of a memory tier with this `log`.
fn purger(log: &Arc<Log>) -> Purger {
    let memory = Arc::new(Memory::new(1 << 20, log.clone()));
    let minute = Remember::fetches(Duration::from_mins(1));
    let sweeper = Sweeper::start(memory.clone(), Box::new(|| Horizon::NOTHING), minute);
    Purger::new(memory, sweeper.expect("starts"))
}

fn expression(text: &str) -> Purge {
    let pattern = Pattern::default().with(On::Url, text).expect("valid");
    Purge::hard(What::Pattern(Box::new(pattern)))
}

/// Whether `purger` takes `purge`, on all nodes or `here`.
fn takes(purger: &Purger, purge: Purge, here: bool) -> bool {
    let (all, at) = (vec![purge], Time::from_secs(1));
    let done = async {
        if here {
            purger.purge_here(all, at, Asker::Client, None).await
        } else {
            purger.purge(all, at, None, None).await
        }
    };
    let runtime = runtime::Builder::new_current_thread().enable_time().build();
    match runtime.expect("starts").block_on(done) {
        Ok(_) => true,
        Err(PurgeError::TooMany(_)) => false,
        Err(error) => panic!("{error}"),
    }
}

/// If asking for room and taking it were two steps, the second of two purges would make the log forget everything.
#[test]
fn of_two_expressions_at_once_one_gets_the_last_room_and_one_is_refused() {
    let log = Arc::new(Log::default());
    let purger = purger(&log);
    for number in 0..1024 {
        log.apply(
            expression(&format!("known-{number}")),
            Time::from_secs(1),
            None,
        );
    }
    for round in 0..400 {
        log.release_patterns(u64::MAX, u64::MAX, 1023);
        let start = Barrier::new(2);
        let purge = |who| {
            let purge = expression(&format!("{who}-{round}"));
            start.wait();
            takes(&purger, purge, round % 2 == 0)
        };
        let taken = thread::scope(|scope| {
            let other = scope.spawn(|| purge("a"));
            [purge("b"), other.join().expect("answered")]
        });
        assert_eq!(log.remembered().1, 1024, "{round}: nothing is forgotten");
        assert!(taken[0] != taken[1], "{round}: {taken:?}");
    }
}

#[tokio::test]
async fn a_purge_is_acknowledged_when_it_lasts_and_holds_before() {
    let log = Arc::new(Log::default());
    let purger = purger(&log);
    let (tell, done) = oneshot::channel();
    purger.last_by(Arc::new(Device(Mutex::new(Some(done)))));
    let tags = Purge::hard(What::Tags(vec!["news".to_owned()]));
    let mut purge = std::pin::pin!(purger.purge(vec![tags], Time::from_secs(1), None, None));
    let waits = poll_fn(|context| Poll::Ready(purge.as_mut().poll(context).is_pending()));
    assert!(waits.await);
    assert_eq!(log.head(), 1, "it holds at once");
    tell.send(Ok(())).expect("waited for");
    assert_eq!(purge.await.expect("it lasts").sequence, 1);
}

#[tokio::test]
async fn to_another_node_it_is_enough_that_a_purge_holds() {
    for (asker, is_enough) in [(Asker::Client, false), (Asker::Node, true)] {
        let log = Arc::new(Log::default());
        let purger = purger(&log);
        let (tell, done) = oneshot::channel();
        purger.last_by(Arc::new(Device(Mutex::new(Some(done)))));
        tell.send(Err(NotDurable("disk full".to_owned())))
            .expect("waited for");
        let all = vec![Purge::hard(What::Everything)];
        let purge = purger.purge_here(all, Time::from_secs(1), asker, None);
        let answer = purge.await.map(|answer| answer.sequence);
        assert_eq!(log.head(), 1, "{asker:?}: it holds");
        assert_eq!(answer.ok(), is_enough.then_some(1), "{asker:?}");
    }
}
