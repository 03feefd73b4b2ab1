use super::super::{Address, Log, Purge, Standing, What};
use super::*;
use crate::{Body, Stored, sample};
use proptest::prelude::*;
use rules::time::Time;

const PAGES: [&[u8]; 2] = [b"http://a.example/0", b"http://a.example/1"];

fn purge(page: usize) -> Purge {
    Purge::hard(What::Url(vec![Address::of(PAGES[page]).text()]))
}

/// A response that was checked up to this number.
fn checked(number: u64) -> Stored {
    let stored = sample::with_body(Body::Whole("text".into()));
    stored.check(0, number);
    stored
}

fn standing(log: &Log, page: usize, number: u64) -> Standing {
    log.standing(PAGES[page], &checked(number))
}

const NOW: Time = Time::from_secs(1);

#[test]
fn the_copy_of_what_holds_already_says_nothing_new() {
    let log = Log::default();
    log.begin_at(Position(10, 0));
    let one = log.apply_ahead(purge(0), NOW).sequence;
    assert_eq!(log.apply_copy(purge(0), NOW, Position(11, 0), one), None);
    assert_eq!(standing(&log, 0, one), Standing::Good, "fetched since");
    assert_eq!(log.position(), Some(Position(11, 0)));
    assert_eq!(
        log.position_at(one),
        Some(Position(11, 0)),
        "others may have what was fetched since"
    );
    for (position, expected) in [(10, Standing::Gone), (11, Standing::Good)] {
        let number = log.sequence_at(Position(position, 0)).expect("known");
        assert_eq!(standing(&log, 0, number), expected, "{position}");
    }
    let again = log.apply_copy(purge(0), NOW, Position(12, 0), one);
    assert!(again.is_some(), "it was sent twice");
}

#[test]
fn a_copy_behind_an_entry_of_another_node_holds_for_what_that_knew() {
    let log = Log::default();
    log.begin_at(Position(10, 0));
    let one = log.apply_ahead(purge(0), NOW).sequence;
    log.apply(purge(1), NOW, Some(Position(11, 0)));
    assert!(
        log.apply_copy(purge(0), NOW, Position(12, 0), one)
            .is_some()
    );
    for (position, expected) in [(11, Standing::Gone), (12, Standing::Good)] {
        let number = log.sequence_at(Position(position, 0)).expect("known");
        assert_eq!(standing(&log, 0, number), expected, "{position}");
    }
}

#[test]
fn what_stands_for_too_many_is_more_than_a_copy() {
    let log = Log::default();
    log.begin_at(Position(10, 0));
    let one = log.apply_ahead(purge(0), NOW).sequence;
    let everything = Purge::hard(What::Everything);
    assert!(
        log.apply_copy(everything, NOW, Position(11, 0), one)
            .is_some()
    );
    assert_eq!(standing(&log, 1, one), Standing::Gone);
}

#[derive(Clone, Debug)]
enum Step {
    /// The application invalidates a page here.
    Tell(usize),
    /// Another node purges a page.
    Elsewhere(usize),
    /// The next invalidation reaches the stream.
    Send,
    /// The next entry of the stream is read.
    Read,
    /// A page is fetched here.
    Fetch(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..2usize).prop_map(Step::Tell),
        (0..2usize).prop_map(Step::Elsewhere),
        Just(Step::Send),
        Just(Step::Read),
        (0..2usize).prop_map(Step::Fetch),
    ]
}

/// One entry of the stream: the page that it purges, and its number here if it went ahead.
type StreamEntry = (usize, Option<u64>);

/// One node, and the stream that it reads.
#[derive(Default)]
struct Model {
    told: VecDeque<(usize, u64)>,
    stream: Vec<StreamEntry>,
    read: usize,
    /// The page, the number at which it took effect, and the index in the stream if it came from there.
    effects: Vec<(usize, u64, Option<usize>)>,
}

fn place(index: usize) -> Position {
    Position(11 + index as u64, 0)
}

impl Model {
    fn step(&mut self, log: &Log, step: &Step) {
        match *step {
            Step::Tell(page) => {
                let number = log.apply_ahead(purge(page), NOW).sequence;
                self.effects.push((page, number, None));
                self.told.push_back((page, number));
            }
            Step::Elsewhere(page) => self.stream.push((page, None)),
            Step::Send => {
                let told = self.told.pop_front();
                self.stream
                    .extend(told.map(|(page, number)| (page, Some(number))));
            }
            Step::Read => {
                let Some(&(page, ahead)) = self.stream.get(self.read) else {
                    return;
                };
                let index = self.read;
                self.read += 1;
                match ahead {
                    None => {
                        let applied = log.apply(purge(page), NOW, Some(place(index)));
                        self.effects.push((page, applied.sequence, Some(index)));
                    }
                    Some(number) => {
                        log.apply_copy(purge(page), NOW, place(index), number);
                    }
                }
            }
            Step::Fetch(_) => {}
        }
    }

    /// Whether what holds here covers what another node fetched when it had read the stream up to `index`.
    fn covers(&self, page: usize, index: usize) -> bool {
        let waits = self.effects.iter().any(|(covered, number, came)| {
            let is_sent = self.stream[..self.read]
                .iter()
                .any(|(_, ahead)| *ahead == Some(*number));
            *covered == page && came.is_none() && !is_sent
        });
        let later = self.stream[..self.read].iter().skip(index + 1);
        waits || later.into_iter().any(|(covered, _)| *covered == page)
    }
}

proptest! {
    /// Whatever comes in between, nothing that is covered counts as good, here or on other nodes.
    #[test]
    fn nothing_that_was_purged_is_good(steps in prop::collection::vec(any_step(), 1..40)) {
        let log = Log::default();
        log.begin_at(Position(10, 0));
        let mut model = Model::default();
        let mut fetched: Vec<(usize, u64)> = Vec::new();
        for step in &steps {
            if let Step::Fetch(page) = step {
                fetched.push((*page, log.head()));
            }
            model.step(&log, step);
            for &(page, log_at) in &fetched {
                let gone = model.effects.iter().any(|(covered, number, _)| *covered == page && *number > log_at);
                prop_assert!(!gone || standing(&log, page, log_at) == Standing::Gone);
                // The position beside it: everything up to there held before it was fetched.
                let Some(position) = log.position_at(log_at) else { continue };
                for (index, (covered, ahead)) in model.stream[..model.read].iter().enumerate() {
                    let held = model.effects.iter().any(|(_, number, came)| {
                        (*came == Some(index) || *ahead == Some(*number)) && *number <= log_at
                    });
                    prop_assert!(place(index) > position || *covered != page || held);
                }
            }
            for index in 0..model.read {
                for page in 0..2 {
                    let number = log.sequence_at(place(index)).expect("known");
                    let gone = standing(&log, page, number) == Standing::Gone;
                    prop_assert!(gone || !model.covers(page, index));
                }
            }
        }
    }
}
