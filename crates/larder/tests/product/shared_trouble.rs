//! Whatever befalls Redis or memcached: requests go on, one line says so, the metrics show it, and it is found again.

use crate::{
    common::{Said, counted, sample},
    disk_trouble::told,
};
use std::{
    sync::mpsc::{self, TryRecvError},
    thread,
};
use testkit::{Command, Larder, Link, Memcached, Origin, Redis, wait_until};

/// For how long a node waits for a server that answers as fast as its machine lets it.
const PATIENT: &str = "20s";

/// The same for one that is to hang: several answers are waited for until it is left alone.
const HASTY: &str = "3s";

/// As [`start`], and it knows what was purged elsewhere.
pub(crate) fn node(origin: &Origin, url: &str) -> Larder {
    knowing(start(origin, url))
}

/// The same before a server that is to hang.
fn hasty(origin: &Origin, url: &str) -> Larder {
    knowing(start_with(1, HASTY, origin, url))
}

fn knowing(node: Larder) -> Larder {
    wait_until("it knew what was purged elsewhere", || {
        sample(&node, "larder_purges_unsure") == 0
    });
    node
}

/// A node with one worker, so that its breaker has seen what a test has asked. It trusts what it keeps for as long as
/// the test takes.
pub(crate) fn start(origin: &Origin, url: &str) -> Larder {
    start_with(1, PATIENT, origin, url)
}

/// The same with so many workers, each as patient as this.
fn start_with(workers: usize, timeout: &str, origin: &Origin, url: &str) -> Larder {
    origin.otherwise(|request| counted(request).cache("max-age=600"));
    Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&format!(
            "workers = {workers}\n[[origin]]\nservers = {:?}\n[shared]\nurl = {url:?}\ntimeout = {timeout:?}\ntrust = \"1h\"\n",
            origin.url()
        ))
        .start()
}

pub(crate) fn errors(node: &Larder, kind: &str) -> u64 {
    sample(
        node,
        &format!("larder_shared_errors_total{{kind=\"{kind}\"}}"),
    )
}

pub(crate) fn is_open(node: &Larder) -> bool {
    sample(node, "larder_shared_breaker_open") == 1
}

/// Pages nobody has asked for come from the origin, and are kept here.
pub(crate) fn goes_on(node: &Larder, round: &str) {
    for number in 0..20 {
        let path = format!("/{round}/{number}");
        let answer = node.get(&path).send();
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (200, "1"),
            "{path}"
        );
        assert!(node.get(&path).send().hit(), "{path}");
    }
}

/// The server is asked again, and pages are shared again.
pub(crate) fn is_found_again(node: &Larder) {
    let before = sample(node, "larder_shared_stored_total");
    let mut number = 0;
    wait_until("a page was shared again", || {
        number += 1;
        node.get(&format!("/{before}/{number}")).send();
        !is_open(node) && sample(node, "larder_shared_stored_total") > before
    });
}

#[test]
fn a_redis_that_hangs_is_left_alone_and_told_of_once() {
    let (origin, redis) = (Origin::start(), Redis::start());
    let node = hasty(&origin, &redis.url());
    goes_on(&node, "before");
    redis.pause();
    goes_on(&node, "meanwhile");
    assert!(errors(&node, "timeout") >= 3);
    assert!(is_open(&node));
    assert!(sample(&node, "larder_shared_not_asked_total") > 0);
    redis.resume();
    is_found_again(&node);
    assert_eq!(told(&node).len(), 1, "{:#?}", told(&node));
    assert!(told(&node)[0].contains("does not answer in time"));
}

/// And when it is gone again, that is worth another line.
#[test]
fn a_redis_that_is_back_is_found_again_though_no_request_needs_it() {
    let (origin, redis) = (Origin::start(), Redis::start());
    let node = hasty(&origin, &redis.url());
    for outage in 1..=2 {
        redis.pause();
        goes_on(&node, &outage.to_string());
        assert!(is_open(&node));
        assert_eq!(told(&node).len(), outage, "{:#?}", told(&node));
        redis.resume();
        wait_until("it was found again", || !is_open(&node));
    }
}

#[test]
fn a_redis_that_dies_is_left_alone_and_told_of_once() {
    let (origin, mut redis) = (Origin::start(), Redis::start());
    let node = node(&origin, &redis.url());
    goes_on(&node, "before");
    redis.kill();
    goes_on(&node, "meanwhile");
    assert!(errors(&node, "closed") + errors(&node, "unreachable") >= 3);
    assert!(is_open(&node));
    let warnings = told(&node);
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    redis.restart();
    is_found_again(&node);
    // It has come back empty: that is worth another one.
    node.wait_output("everything stored counts as purged");
    assert_eq!(told(&node).len(), 2, "{:#?}", told(&node));
}

/// Each has a connection of its own, and none of these is any good.
#[test]
fn a_redis_that_is_back_is_found_again_by_all_workers_at_once() {
    let (origin, mut redis) = (Origin::start(), Redis::start());
    let node = start_with(8, PATIENT, &origin, &redis.url());
    let failed = || errors(&node, "closed") + errors(&node, "unreachable");
    // Each of these comes over a connection of its own, to whichever worker the kernel says.
    let ask_all = |round: &str| {
        for number in 0..100 {
            let path = format!("/{round}/{number}");
            assert_eq!(node.get(&path).send().status, 200, "{path}");
        }
    };
    ask_all("before");
    redis.kill();
    let mut number = 0;
    wait_until("Redis was left alone", || {
        number += 1;
        node.get(&format!("/meanwhile/{number}")).send();
        is_open(&node)
    });
    redis.restart();
    let before = failed();
    is_found_again(&node);
    ask_all("after");
    assert_eq!(failed(), before);
}

/// The breaker learns nothing of it, because another worker gets its answers.
#[test]
fn a_connection_of_one_worker_that_is_lost_is_replaced() {
    let (origin, redis) = (Origin::start(), Redis::start());
    let link = Link::to(&redis.address());
    let url = format!("redis://{}", link.address());
    let node = knowing(start_with(2, HASTY, &origin, &url));
    let mut client = node.client();
    client.get("/mine/").send();
    let (mut other, mut number) = (node.client(), 0);
    wait_until("another client had another worker", || {
        number += 1;
        let path = format!("/other/{number}/");
        other = node.client();
        other.get(&path).send();
        !link.is_one_connection(["/mine/", &path])
    });
    assert_eq!(link.lose("/mine/"), 1);
    thread::scope(|scope| {
        let (goes_on, stopped) = mpsc::channel::<()>();
        scope.spawn(move || {
            let mut number = 0;
            while stopped.try_recv() == Err(TryRecvError::Empty) {
                number += 1;
                other.get(&format!("/meanwhile/{number}")).send();
            }
        });
        let mut number = 0;
        wait_until("this worker shared a page again", || {
            number += 1;
            client.get(&format!("/again/{number}")).send();
            redis.ask(&["KEYS", "*/again/*"]).contains("/again/")
        });
        drop(goes_on);
    });
    assert_eq!(sample(&node, "larder_shared_breaker_openings_total"), 0);
}

#[test]
fn a_redis_that_refuses_the_password_is_told_of_once() {
    let origin = Origin::start();
    let redis = Redis::with(&["--requirepass", "secret"]);
    let url = redis.url().replace("redis://", "redis://:wrong@");
    let node = start(&origin, &url);
    goes_on_unsure(&node);
    assert!(errors(&node, "refused") >= 3);
    assert!(is_open(&node));
    assert_eq!(told(&node).len(), 1, "{:#?}", told(&node));
}

/// Nothing was ever read of other nodes' purges: what is kept is not used without the origin.
fn goes_on_unsure(node: &Larder) {
    for number in 0..20 {
        let answer = node.get(&format!("/unsure/{number}")).send();
        assert_eq!((answer.status, answer.text().as_str()), (200, "1"));
        let answer = node.get(&format!("/unsure/{number}")).send();
        assert_eq!((answer.status, answer.text().as_str()), (200, "2"));
        assert_eq!(
            answer.parameter("detail").as_deref(),
            Some("purges-unknown")
        );
    }
}

#[test]
fn a_redis_that_is_full_is_read_and_told_of_once() {
    let (origin, redis) = (Origin::start(), Redis::start());
    let node = node(&origin, &redis.url());
    node.get("/there").send();
    wait_until("it was shared", || {
        sample(&node, "larder_shared_stored_total") == 1
    });
    redis.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    goes_on(&node, "meanwhile");
    wait_until("writes were refused", || errors(&node, "full") > 0);
    assert!(!is_open(&node), "it answers, after all");
    let full = |line: &&String| line.contains("the shared tier accepts no writes");
    let lines = told(&node);
    assert_eq!(lines.iter().filter(full).count(), 1, "{lines:#?}");
    redis.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    is_found_again(&node);
}

#[test]
fn something_else_under_our_key_is_a_miss() {
    let (origin, redis) = (Origin::start(), Redis::start());
    let node = node(&origin, &redis.url());
    node.get("/page").header("Host", "site.example").send();
    let name = |page: &str| format!("larder:http://site.example/{page}");
    wait_until("it was shared", || redis.keys().contains(&name("page")));
    for (expected, page) in (1..).zip(["one", "two", "three"]) {
        redis.ask(&["LPUSH", &name(page), "x"]);
        let ask = node.get(&format!("/{page}"));
        assert_eq!(ask.header("Host", "site.example").send().status, 200);
        let errors = errors(&node, "wrong-type");
        assert!(errors >= expected, "{errors}");
    }
    assert!(!is_open(&node));
    goes_on(&node, "meanwhile");
    let [line] = &told(&node)[..] else {
        panic!("once: {:#?}", told(&node))
    };
    assert!(
        line.contains("holds something else under our key"),
        "{line}"
    );
}

#[test]
fn a_redis_that_is_flushed_costs_what_was_kept() {
    let (origin, redis) = (Origin::start(), Redis::start());
    let node = node(&origin, &redis.url());
    goes_on(&node, "before");
    redis.ask(&["FLUSHALL"]);
    node.wait_output("everything stored counts as purged");
    wait_until("it followed again", || {
        sample(&node, "larder_purges_unsure") == 0
    });
    assert_eq!(node.get("/before/0").send().text(), "2");
    goes_on(&node, "after");
    assert_eq!(told(&node).len(), 1, "{:#?}", told(&node));
    assert_eq!(sample(&node, "larder_shared_breaker_openings_total"), 0);
}

#[test]
fn a_memcached_that_hangs_dies_or_is_flushed_is_found_again() {
    let (origin, mut memcached) = (Origin::start(), Memcached::start());
    let node = hasty(&origin, &memcached.url());
    goes_on(&node, "before");
    memcached.pause();
    goes_on(&node, "hangs");
    assert!(errors(&node, "timeout") >= 3);
    assert!(is_open(&node));
    assert_eq!(told(&node).len(), 1, "{:#?}", told(&node));
    memcached.resume();
    is_found_again(&node);
    memcached.kill();
    goes_on(&node, "dead");
    assert!(errors(&node, "unreachable") > 0);
    assert!(is_open(&node));
    assert_eq!(told(&node).len(), 2, "{:#?}", told(&node));
    memcached.restart();
    is_found_again(&node);
    memcached.ask("flush_all");
    goes_on(&node, "flushed");
    assert_eq!(told(&node).len(), 2, "{:#?}", told(&node));
}
