use super::*;
use crate::{
    Purger,
    purge::Position,
    purger::{Boxed, PurgeError, SharedLog},
    sample,
};
use rules::time::Time;
use std::{future::poll_fn, task::Poll};

const MINUTE: Remember = Remember::fetches(Duration::from_mins(1));

fn sweeper_that_never_answers() -> (Sweeper, Receiver<Question>) {
    let (questions, never_answered) = channel();
    (Sweeper { questions }, never_answered)
}

#[tokio::test(start_paused = true)]
async fn who_purges_urls_does_not_wait_long_for_the_count() {
    let (sweeper, _never_answered) = sweeper_that_never_answers();
    let url = Purge::hard(What::Url(vec!["//a.example/".to_owned()]));
    let purged = Purged {
        sequence: 1,
        touched: 2,
        below: 0,
        open: true,
    };
    assert_eq!(sweeper.touched(&[url], &[purged], None).await, 2);
}

/// Other nodes, which never say that they are done.
#[derive(Debug)]
struct Others;

impl SharedLog for Others {
    fn publish(&self, _: Vec<Purge>) -> Boxed<Result<(Vec<Purged>, Position), PurgeError>> {
        let purged = Purged {
            sequence: 1,
            touched: 0,
            below: 0,
            open: true,
        };
        Box::pin(async move { Ok((vec![purged], Position(1, 0))) })
    }

    fn everywhere(&self, _: Position, _: Duration) -> Boxed<Vec<String>> {
        Box::pin(std::future::pending())
    }

    fn tell(&self, _: Purge, _: Time) {}

    fn leave(&self) -> Boxed<()> {
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn what_was_touched_is_counted_while_other_nodes_are_waited_for() {
    let memory = Arc::new(Memory::new(1 << 20, Arc::default()));
    let (sweeper, asked) = sweeper_that_never_answers();
    let purger = Purger::new(memory, sweeper);
    purger.share_by(Arc::new(Others));
    let all = vec![Purge::hard(What::Everything)];
    let wait = Some(Duration::from_secs(10));
    let mut purge = std::pin::pin!(purger.purge(all, Time::from_secs(1), wait, None));
    let waits = poll_fn(|context| Poll::Ready(purge.as_mut().poll(context).is_pending()));
    assert!(waits.await);
    assert!(asked.try_recv().is_ok());
}

#[test]
fn a_count_does_not_wait_until_memory_is_given_back() {
    let memory = Arc::new(Memory::new(1 << 20, Arc::default()));
    for number in 0..500 {
        let (key, page) = (format!("http://a.example/{number}"), sample::any_request(1));
        let inserted = memory.insert(key.as_bytes(), memory.begin(), Arc::new(page), 8);
        inserted.expect("not purged");
    }
    let all = Purge::hard(What::Everything);
    memory.apply(all.clone(), Time::from_secs(1), None);
    let (ask, asked) = channel();
    let (answer, mut told) = oneshot::channel();
    let wanted = Wanted {
        count: true,
        busiest: false,
    };
    let question = Question {
        purges: vec![(all, wanted)],
        busiest: None,
        answer,
    };
    ask.send(question).expect("heard");
    let mut sweep = Sweep::new(memory.clone(), Box::new(|| Horizon::NOTHING), MINUTE);
    sweep.sweep(&asked);
    assert_eq!(told.try_recv(), Ok(500 - 8), "all but the first step's");
    assert_eq!(memory.statistics().keys, 0);
}

#[tokio::test]
async fn nobody_waits_for_what_is_busy() {
    let (sweeper, asked) = sweeper_that_never_answers();
    let (to, _told) = tokio::sync::mpsc::channel(1);
    let tags = Purge::soft(What::Tags(vec!["news".to_owned()]));
    let purged = Purged {
        sequence: 1,
        touched: 1_000_000,
        below: 0,
        open: false,
    };
    let busiest = Some(Busiest { most: 5, to });
    let touched = sweeper.touched(&[tags], &[purged], busiest).await;
    assert_eq!(touched, 1_000_000);
    assert!(asked.try_recv().is_ok(), "the sweep is asked all the same");
}

/// With a tier that nodes share, purges are remembered for weeks, and sweeps come every minute.
#[test]
fn what_is_remembered_of_sweeps_is_bounded() {
    const AGO: Duration = Duration::from_hours(1000);
    let (mut ended, began) = (Ended::lasting(AGO), Instant::now());
    let sweeps = 0..200_000_u64;
    let at = |number: u64| began + Duration::from_secs(number * 60);
    for number in sweeps {
        let now = at(number);
        ended.note(number, now);
        let settled = ended.settled(now);
        // It lags by no more than two steps.
        let wanted = number.checked_sub(60_000);
        assert!(settled <= wanted, "{number}: {settled:?}");
        let late = wanted.and_then(|wanted| wanted.checked_sub(120));
        assert!(settled >= late, "{number}: {settled:?}");
        assert!(ended.heads.len() <= 1002, "{number}: {}", ended.heads.len());
    }
    assert_eq!(ended.settled(at(200_000) + AGO), Some(199_999), "the last");
}

/// Nobody asks for the pages before the clock comes to the time of their receipt once more. A row: how far the clock was
/// set back, in seconds, and whether they are still believed.
#[test]
fn what_was_received_ahead_is_not_young_again_once_the_clock_was_set_back() {
    const RECEIVED: Time = Time::from_secs(1_000_000);
    for (back, is_believed) in [(0, true), (60, true), (61, false), (3600, false)] {
        let memory = Arc::new(Memory::new(1 << 20, Arc::default()));
        let mut sweep = Sweep::new(memory.clone(), Box::new(|| Horizon::NOTHING), MINUTE);
        for key in [&b"http://a.example/1"[..], b"http://a.example/2"] {
            let mut page = sample::any_request(RECEIVED.as_secs());
            page.facts.lifetime_ms = 90_000;
            let inserted = memory.insert(key, memory.begin(), Arc::new(page), 8);
            inserted.expect("not purged");
        }
        let set = Time::from_secs(RECEIVED.as_secs() - back);
        for now in [RECEIVED, set, RECEIVED] {
            sweep.look_at_clock(now, || {});
        }
        let variants = memory.find(b"http://a.example/2").expect("it is there");
        let facts = variants.as_slice()[0].facts;
        assert_eq!(facts.remaining(RECEIVED).is_some(), is_believed, "{back}");
    }
}
