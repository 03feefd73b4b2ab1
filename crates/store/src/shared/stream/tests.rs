//! Several nodes in one process, and a real server.

mod bench;
mod cluster;
mod loss;
mod proxy;
mod server;

use super::*;
use crate::{
    Horizon, PurgeAnswer, Purger, Remember, Stored, Sweeper,
    purge::{self, Journal, Standing, What},
    sample::any_request,
};
use farewell::REPLACE;
use heartbeat::HEARD_WITHIN;
use proxy::Proxy;
use rules::time::Time;
use server::Redis;
use tokio::{sync::mpsc::UnboundedReceiver, time::timeout};

/// Nothing in these tests takes this long unless it is broken.
const BROKEN: Duration = Duration::from_mins(1);

const KEY: &[u8] = b"http://a.example/page";

/// One node: what it keeps, and the events that it got.
struct Node {
    memory: Arc<Memory>,
    stream: Arc<Stream>,
    events: UnboundedReceiver<Event>,
    journal: Recorder,
}

/// Records the log's entries in order.
#[derive(Clone, Debug, Default)]
struct Recorder(Arc<Mutex<Vec<purge::Entry>>>);

impl Journal for Recorder {
    fn append(&self, entry: &purge::Entry) {
        lock(&self.0).push(entry.clone());
    }

    fn retire(&self, sequence: u64) {
        lock(&self.0).retain(|entry| entry.sequence > sequence);
    }
}

impl Recorder {
    /// The entries of the stream: their positions, and what they purge.
    fn shared(&self) -> Vec<(Position, Purge)> {
        let entries = lock(&self.0);
        let shared = entries.iter();
        shared
            .filter_map(|entry| Some((entry.position?, entry.purge.clone())))
            .collect()
    }
}

fn config(url: &str, name: &str, trust: Duration) -> Config {
    Config {
        url: url.to_owned(),
        timeout: Duration::from_millis(50),
        max_ttl: Duration::from_hours(1),
        largest_body: 1 << 20,
        lease: Duration::from_secs(5),
        prefix: "test".to_owned(),
        trust,
        node: name.to_owned(),
    }
}

impl Node {
    /// Starts a node without a journal.
    fn start(url: &str, name: &str, trust: Duration) -> Self {
        Self::restart(url, name, trust, Recorder::default())
    }

    /// Starts a node with what a journal kept.
    fn restart(url: &str, name: &str, trust: Duration, journal: Recorder) -> Self {
        Self::of(&config(url, name, trust), journal)
    }

    fn of(config: &Config, journal: Recorder) -> Self {
        let memory = Arc::new(Memory::new(1 << 20, Arc::default()));
        let entries = lock(&journal.0).clone();
        let floor = entries.first().map_or(0, |first| first.sequence - 1);
        let head = entries.last().map_or(0, |last| last.sequence);
        let remembered = purge::Remembered {
            entries,
            floor,
            head,
            position: None,
        };
        memory.log().owe(remembered.unsent());
        memory.log().restore(remembered);
        memory.log().keep_in(Box::new(journal.clone()));
        let (happened, events) = mpsc::unbounded_channel();
        let hook = move |event: &Event| {
            let _ = happened.send(event.clone());
        };
        let stream = Stream::start(config, Arc::clone(&memory), Box::new(hook)).expect("starts");
        Self {
            memory,
            stream,
            events,
            journal,
        }
    }

    /// Waits for an event. Returns the events before it.
    async fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut before = Vec::new();
        let search = async {
            while let Some(event) = self.events.recv().await {
                if wanted(&event) {
                    return true;
                }
                before.push(event);
            }
            false
        };
        let found = timeout(BROKEN, search).await;
        assert_eq!(found, Ok(true), "never happened; instead: {before:?}");
        before
    }

    async fn following(&mut self) -> Vec<Event> {
        self.until(|event| *event == Event::Following).await
    }

    async fn forgot(&mut self) -> Missed {
        let mut missed = None;
        let found = async {
            while let Some(event) = self.events.recv().await {
                if let Event::Forgot(how) = event {
                    missed = Some(how);
                    return;
                }
            }
        };
        timeout(BROKEN, found).await.expect("it forgets");
        missed.expect("still running")
    }

    /// The second node finds the first one's anchor, and nothing that it knew.
    async fn forgot_as_deleted(&mut self) {
        let missed = self.forgot().await;
        assert!(
            matches!(missed, Missed::Deleted | Missed::Trimmed),
            "{missed:?}"
        );
    }

    /// Stores a response that is fetched now.
    fn keep(&self, key: &[u8]) -> Arc<Stored> {
        let ticket = self.memory.begin();
        let stored = any_request(1_000_000);
        stored.check(0, ticket.log_at);
        let stored = Arc::new(stored);
        let _ = self.memory.insert(key, ticket, Arc::clone(&stored), 8);
        stored
    }

    fn standing(&self, key: &[u8], stored: &Stored) -> Standing {
        self.memory.log().standing(key, stored)
    }

    async fn publish(&self, purges: Vec<Purge>) -> Result<Done, Unreachable> {
        self.stream
            .publish(purges)
            .await
            .map_err(|error| match error {
                PurgeError::Unreachable(error) => error,
                error => panic!("{error}"),
            })
    }
}

/// A purge of one page.
fn of(page: &str) -> Purge {
    Purge::hard(What::Url(vec![format!("//a.example/{page}")]))
}

/// Half of it is the time limit of each answer of the server, however slow the machine is.
const TRUST: Duration = BROKEN;

async fn three(url: &str) -> [Node; 3] {
    let mut nodes = ["a", "b", "c"].map(|name| Node::start(url, name, TRUST));
    for node in &mut nodes {
        node.following().await;
    }
    nodes
}

#[tokio::test]
async fn a_purge_on_one_holds_on_all() {
    let redis = Redis::start().await;
    let [a, b, c] = three(&redis.url()).await;
    let kept = [&a, &b, &c].map(|node| (node.keep(KEY), node.keep(b"http://a.example/other")));
    let (done, position) = a.publish(vec![of("page")]).await.expect("reachable");
    assert_eq!(done.len(), 1);
    assert_eq!(done[0].touched, 1);
    let behind = a.stream.everywhere(position, BROKEN).await;
    assert_eq!(behind, Vec::<String>::new());
    for (node, (page, other)) in [&a, &b, &c].into_iter().zip(&kept) {
        assert!(node.memory.find(KEY).is_none());
        assert_eq!(node.standing(KEY, page), Standing::Gone);
        assert_eq!(
            node.standing(b"http://a.example/other", other),
            Standing::Good
        );
        assert_eq!(node.memory.log().position(), Some(position));
    }
}

/// If each only looked whether there is room, both would find the same, and everything would be purged for the second.
#[tokio::test]
async fn of_two_expressions_under_way_at_once_one_gets_the_last_room_and_one_is_refused() {
    let redis = Redis::start().await;
    let mut node = Node::start(&redis.url(), "a", TRUST);
    node.following().await;
    let expression = |text: String| {
        let pattern = purge::Pattern::default().with(purge::On::Url, &text);
        Purge::hard(What::Pattern(Box::new(pattern.expect("valid"))))
    };
    for number in 1..1024 {
        let log = node.memory.log();
        log.apply(
            expression(format!("known-{number}")),
            Time::from_secs(1),
            None,
        );
    }
    let page = node.keep(KEY);
    let publish = |text: &str| node.stream.publish(vec![expression(text.to_owned())]);
    let (first, second, known) = (publish("one"), publish("two"), publish("known-7"));
    let second = second.await;
    assert!(matches!(second, Err(PurgeError::TooMany(_))), "{second:?}");
    first.await.expect("there was room");
    known.await.expect("it needs none");
    let log = node.memory.log();
    assert_eq!(log.remembered().1, 1024, "nothing is forgotten");
    assert_eq!(node.standing(KEY, &page), Standing::Good);
    log.release_patterns(u64::MAX, u64::MAX, 1023);
    publish("three")
        .await
        .expect("what went through holds no room");
}

/// The limit is not only in entries: each of these is as large as a request to purge may be.
#[tokio::test]
async fn the_stream_takes_no_more_than_its_bytes() {
    let redis = Redis::start().await;
    let mut node = Node::start(&redis.url(), "a", TRUST);
    node.following().await;
    let name = |number: u64| format!("{number:08}").repeat((1 << 20) / 8);
    let page = node.keep(KEY);
    let mut sent = 0;
    for number in 0..70 {
        let tags = Purge::hard(What::Tags(vec![name(number)]));
        // On a busy machine the publisher may give up, before it is sent or before it is read back.
        let published = node.publish(vec![tags]).await;
        assert!(!matches!(published, Err(Unreachable::Refused)));
        sent += u64::from(published.is_ok());
    }
    let within = async {
        loop {
            let size = redis.ask(&["MEMORY", "USAGE", "test:purges", "SAMPLES", "0"]);
            let size: u64 = size.await.trim().parse().expect("a number");
            if size <= trim::MOST_BYTES {
                break;
            }
        }
    };
    timeout(BROKEN, within).await.expect("it is trimmed");
    let length = redis.ask(&["XLEN", "test:purges"]).await;
    let length: u64 = length.trim().parse().expect("a number");
    assert!(
        (sent.min(30)..=64).contains(&length),
        "the newest stay: {length} of {sent}"
    );
    let told = std::iter::from_fn(|| node.events.try_recv().ok());
    let told: Vec<_> = told.collect();
    assert_eq!(told, [], "who follows has read it");
    assert_eq!(node.standing(KEY, &page), Standing::Good);
}

#[tokio::test]
async fn purges_take_effect_in_one_order() {
    let redis = Redis::start().await;
    let nodes = three(&redis.url()).await;
    let mut last = Position::default();
    // A few at once, which even a busy machine applies before the publisher gives up.
    for round in 0..25 {
        let mut publications = Vec::new();
        for (index, node) in [&nodes, &nodes].into_iter().flatten().enumerate() {
            let purges = (0..3).map(|part| of(&format!("{index}/{round}/{part}")));
            publications.push(tokio::spawn(node.stream.publish(purges.collect())));
        }
        for publication in publications {
            let (done, position) = publication.await.expect("no panic").expect("reachable");
            assert_eq!(done.len(), 3);
            assert!(done.is_sorted_by_key(|purged| purged.sequence));
            last = last.max(position);
        }
    }
    assert!(nodes[0].stream.everywhere(last, BROKEN).await.is_empty());
    let [first, second, third] = nodes.each_ref().map(|node| node.journal.shared());
    // Each may have added its own anchor to the empty stream: these are entries like others.
    assert!(first.len() >= 450 && first.is_sorted_by_key(|(position, _)| *position));
    assert!(first == second && second == third);
}

#[tokio::test]
async fn what_is_told_reaches_the_others() {
    let redis = Redis::start().await;
    let [a, b, _c] = three(&redis.url()).await;
    let page = b.keep(KEY);
    a.stream.tell(of("page"), Time::from_secs(1));
    // Entries of one process keep their order only by chance. This one waits for all that is in the stream.
    let told = async {
        while b.standing(KEY, &page) != Standing::Gone {
            let (_, position) = b.publish(vec![of("other")]).await.expect("reachable");
            assert!(b.stream.everywhere(position, BROKEN).await.is_empty());
        }
        // It may have come after what was waited for.
        let (_, position) = b.publish(vec![of("other")]).await.expect("reachable");
        assert!(b.stream.everywhere(position, BROKEN).await.is_empty());
        position
    };
    let last = timeout(BROKEN, told).await.expect("told");
    let log = a.memory.log();
    assert_eq!(log.sequence_at(last), Some(log.head()), "its copy is back");
}

#[tokio::test]
async fn the_purger_waits_for_all_nodes() {
    let redis = Redis::start().await;
    let [a, b, c] = three(&redis.url()).await;
    let sweeper = Sweeper::start(
        Arc::clone(&a.memory),
        Box::new(|| Horizon::NOTHING),
        Remember::fetches(Duration::from_mins(1)),
    )
    .expect("starts");
    let purger = Purger::new(Arc::clone(&a.memory), sweeper);
    purger.share_by(a.stream.clone());
    let pages = [&b, &c].map(|node| node.keep(KEY));
    let now = Time::from_secs(1);
    let answer = purger
        .purge(vec![of("page"), of("two")], now, Some(BROKEN), None)
        .await;
    let PurgeAnswer {
        behind, touched, ..
    } = answer.expect("reachable");
    assert_eq!((behind, touched), (Some(Vec::new()), 0));
    assert_eq!(b.standing(KEY, &pages[0]), Standing::Gone);
    assert_eq!(c.standing(KEY, &pages[1]), Standing::Gone);
}

#[tokio::test]
async fn a_node_that_begins_reads_the_stream_from_the_beginning() {
    let redis = Redis::start().await;
    let mut a = Node::start(&redis.url(), "a", TRUST);
    a.following().await;
    let before = a.memory.log().position().expect("an anchor");
    let (_, purged) = a.publish(vec![of("page")]).await.expect("reachable");
    let mut b = Node::start(&redis.url(), "b", TRUST);
    assert!(b.memory.log().is_unsure());
    b.following().await;
    assert!(!b.memory.log().is_unsure());
    assert_eq!(b.memory.log().position(), Some(purged));
    // The purge covers here what another node fetched before it and shared, and not what was fetched later.
    for (position, standing) in [(before, Standing::Gone), (purged, Standing::Good)] {
        let shared = any_request(1_000_000);
        shared.check(0, b.memory.log().sequence_at(position).expect("known"));
        assert_eq!(b.standing(KEY, &shared), standing, "{position}");
    }
    assert_eq!(b.memory.log().sequence_at(Position(before.0 - 1, 0)), None);
}

#[tokio::test]
async fn a_node_that_restarts_reads_on_from_its_journal() {
    let redis = Redis::start().await;
    let [a, mut b, _c] = three(&redis.url()).await;
    let (_, position) = a.publish(vec![of("page")]).await.expect("reachable");
    assert!(a.stream.everywhere(position, BROKEN).await.is_empty());
    let (checked, journal) = (b.memory.log().head(), b.journal.clone());
    let known = journal.shared().len();
    b.stream = Arc::clone(&a.stream);
    drop(b);
    a.publish(vec![of("two")]).await.expect("reachable");
    let mut b = Node::restart(&redis.url(), "b", TRUST, journal);
    let before = b.following().await;
    assert_eq!(before, [], "nothing was missed");
    assert_eq!(b.journal.shared().len(), known + 1);
    for (key, standing) in [(KEY, Standing::Good), (b"//a.example/two", Standing::Gone)] {
        let kept = any_request(1_000_000);
        kept.check(0, checked);
        assert_eq!(b.standing(key, &kept), standing);
    }
}

#[tokio::test]
async fn soft_purges_keep_their_time() {
    let redis = Redis::start().await;
    let mut a = Node::start(&redis.url(), "a", TRUST);
    a.following().await;
    let page = a.keep(KEY);
    let purge = Purge::soft(What::Host("a.example".to_owned()));
    let (_, position) = a.publish(vec![purge]).await.expect("reachable");
    match a.standing(KEY, &page) {
        // The time comes by way of the server's clock, which is read once a second.
        Standing::Stale { since, .. } => {
            let late = since.since(Time::from_millis(position.0));
            assert!(late < Duration::from_secs(1), "{late:?}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_entry_that_cannot_be_read_purges_everything() {
    let redis = Redis::start().await;
    let [mut a, b, _c] = three(&redis.url()).await;
    let page = a.keep(KEY);
    redis
        .ask(&["XADD", "test:purges", "*", "purge", "{\"newer\":true}"])
        .await;
    a.until(|event| matches!(event, Event::Unreadable { .. }))
        .await;
    let (_, position) = b.publish(vec![of("other")]).await.expect("reachable");
    assert!(b.stream.everywhere(position, BROKEN).await.is_empty());
    assert_eq!(a.standing(KEY, &page), Standing::Gone);
}

/// Anybody who can write there can write a lot.
#[tokio::test]
async fn entries_that_cannot_be_read_are_told_of_together() {
    let redis = Redis::start().await;
    let mut a = Node::start(&redis.url(), "a", TRUST);
    a.following().await;
    let add = "for i = 1, 3 do redis.call('xadd', KEYS[1], '*', 'foo', 'bar') end";
    redis.ask(&["EVAL", add, "1", "test:purges"]).await;
    let (_, _) = a.publish(vec![of("page")]).await.expect("reachable");
    let told: Vec<_> = std::iter::from_fn(|| a.events.try_recv().ok()).collect();
    assert!(
        matches!(told[..], [Event::Unreadable { count: 3, .. }]),
        "{told:?}"
    );
}

/// Others wait for what the hash says: a silent node is taken for one that trusts nothing.
#[tokio::test]
async fn a_node_whose_report_is_refused_says_so_and_trusts_nothing() {
    let redis = Redis::start().await;
    let mut a = Node::start(&redis.url(), "a", Duration::from_millis(500));
    a.following().await;
    redis.ask(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let before = a.until(|event| *event == Event::Distrusted).await;
    assert!(
        matches!(&before[..], [Event::Unreported(why)] if why.contains("OOM")),
        "{before:?}"
    );
    assert_eq!(
        a.publish(vec![of("page")]).await.err(),
        Some(Unreachable::Refused),
        "nothing was added"
    );
    redis.ask(&["CONFIG", "SET", "maxmemory", "0"]).await;
    a.following().await;
    a.publish(vec![of("page")]).await.expect("reachable");
}

/// If none is given, names are random: without this, the list would grow with each start.
#[tokio::test]
async fn a_node_that_is_long_silent_is_struck_off_without_a_purge() {
    let redis = Redis::start().await;
    let (silent, future) = ("5-1 77 1000", "5-1 99999999999999 1000");
    let put = ["HSET", "test:nodes", "silent", silent, "there", future];
    redis.ask(&put).await;
    let mut a = Node::start(&redis.url(), "a", TRUST);
    a.following().await;
    let is_gone =
        async { while redis.ask(&["HEXISTS", "test:nodes", "silent"]).await.trim() != "0" {} };
    timeout(BROKEN, is_gone).await.expect("it is struck off");
    for name in ["a", "there"] {
        let there = redis.ask(&["HEXISTS", "test:nodes", name]).await;
        assert_eq!(there.trim(), "1", "{name}");
    }
    let (_, position) = a.publish(vec![of("page")]).await.expect("reachable");
    let behind = a.stream.everywhere(position, Duration::ZERO).await;
    assert!(!behind.contains(&"silent".to_owned()), "{behind:?}");
}

/// As where the server's clock was set ahead after the node had spoken: what it says was said long ago by that clock.
#[tokio::test]
async fn a_node_that_says_something_new_is_waited_for_whatever_the_server_s_clock_says() {
    const LONG: Duration = Duration::from_secs(1);
    let redis = Redis::start().await;
    let mut a = Node::start(&redis.url(), "a", TRUST);
    a.following().await;
    let (_, position) = a.publish(vec![of("page")]).await.expect("reachable");
    let now = crate::clock::now().as_millis();
    let ago = |ago| format!("5-1 {} 1000", now - ago);
    for (said, behind) in [(60_000, &[][..]), (59_000, &["b"]), (61_000, &["b"])] {
        redis.ask(&["HSET", "test:nodes", "b", &ago(said)]).await;
        assert_eq!(a.stream.everywhere(position, LONG).await, behind, "{said}");
    }
}

/// For less time than others wait for a node that says nothing.
#[tokio::test]
async fn nobody_waits_for_a_node_that_has_said_that_it_ends() {
    let redis = Redis::start().await;
    let mut a = Node::start(&redis.url(), "a", TRUST);
    let mut b = Node::start(&redis.url(), "b", TRUST);
    a.following().await;
    b.following().await;
    let (_, position) = a.publish(vec![of("page")]).await.expect("reachable");
    assert!(a.stream.everywhere(position, BROKEN).await.is_empty());
    b.stream.leave().await;
    drop(b);
    let (_, position) = a.publish(vec![of("page")]).await.expect("reachable");
    let behind = a.stream.everywhere(position, HEARD_WITHIN / 2).await;
    assert_eq!(behind, [""; 0]);
}

#[tokio::test]
async fn the_word_of_another_process_under_the_same_name_stays() {
    let redis = Redis::start().await;
    for (own, left) in [("own", "end"), ("other", "own")] {
        redis.ask(&["HSET", "test:nodes", "a", "own"]).await;
        let replace = ["EVAL", REPLACE, "1", "test:nodes", "a", own, "end"];
        redis.ask(&replace).await;
        let now = redis.ask(&["HGET", "test:nodes", "a"]).await;
        assert_eq!(now.trim(), left, "{own}");
    }
}

#[tokio::test]
async fn something_else_under_the_key_is_not_trusted() {
    let redis = Redis::start().await;
    redis.ask(&["SET", "test:purges", "text"]).await;
    let mut a = Node::start(&redis.url(), "a", TRUST);
    let lost = |event: &Event| matches!(event, Event::Lost(why) if why.contains("WRONGTYPE"));
    a.until(lost).await;
    assert!(a.memory.log().is_unsure());
    assert_eq!(
        a.publish(vec![of("page")]).await.err(),
        Some(Unreachable::Refused)
    );
    redis.ask(&["DEL", "test:purges"]).await;
    a.following().await;
    a.publish(vec![of("page")]).await.expect("reachable");
}

/// A node that has never read the stream, and has purges to send when it reads it.
#[test]
fn what_is_owed_stays_ahead_of_a_stream_that_is_read_from_its_beginning() {
    let memory = Memory::new(1 << 20, Arc::default());
    let journal = Recorder::default();
    memory.log().keep_in(Box::new(journal.clone()));
    let told = outbox::PurgeOutbox::default();
    let at = Time::from_secs(1);
    told.push(&memory, of("page"), at);
    memory.log().forget();
    told.push_again(&memory, at);
    memory.log().begin_at(Position(5, 0));
    let kept = lock(&journal.0)
        .iter()
        .map(|entry| entry.purge.clone())
        .collect::<Vec<_>>();
    assert_eq!(kept, [of("page")], "a restart owes it still");
    let shared = any_request(1_000_000);
    shared.check(0, memory.log().sequence_at(Position(5, 0)).expect("known"));
    assert_eq!(memory.log().standing(KEY, &shared), Standing::Gone);
}
