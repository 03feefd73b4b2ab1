//! Several nodes: three Larders, one Redis, one origin.

use crate::common::{Said, counted, sample};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{AcqRel, Acquire, Release},
        },
    },
    thread,
};
use testkit::{Address, Client, Command, Finished, Gate, Larder, Origin, Redis, Reply, wait_until};

pub(crate) const NODES: usize = 3;

/// Three nodes, what they share, and what they stand before.
pub(crate) struct Site {
    pub nodes: Vec<Larder>,
    pub redis: Redis,
    pub origin: Origin,
}

impl Site {
    pub fn start() -> Self {
        Self::with("")
    }

    /// With more at the top of each node's configuration.
    fn with(more: &str) -> Self {
        let redis = Redis::start();
        let url = redis.url();
        Self::at(redis, &url, more)
    }

    /// With this Redis, whose address is written so.
    pub fn at(redis: Redis, url: &str, more: &str) -> Self {
        let origin = Origin::start();
        let nodes = (0..NODES)
            .map(|number| node_at(&origin, url, number, more, ""))
            .collect();
        let site = Self {
            nodes,
            redis,
            origin,
        };
        site.nodes.iter().for_each(wait_follows);
        site
    }

    /// Purges on one node, and waits for all of them.
    pub fn purge(&self, on: usize, what: &str) -> Finished {
        purge(&self.nodes[on], &["--wait", what])
    }
}

/// One node, by its number.
pub(crate) fn node(origin: &Origin, redis: &Redis, number: usize, more: &str) -> Larder {
    node_at(origin, &redis.url(), number, more, "")
}

/// The same, with the address of Redis; `shared`: what is added to that table.
pub(crate) fn node_at(
    origin: &Origin,
    redis: &str,
    number: usize,
    more: &str,
    shared: &str,
) -> Larder {
    let shared = format!("timeout = \"20s\"\n{shared}");
    start(origin, redis, number, more, &shared)
}

/// The same by a way that is to be cut: no answer is waited for as long.
pub(crate) fn hasty_node_at(
    origin: &Origin,
    redis: &str,
    number: usize,
    more: &str,
    shared: &str,
) -> Larder {
    let shared = format!("timeout = \"2s\"\n{shared}");
    start(origin, redis, number, more, &shared)
}

fn start(origin: &Origin, redis: &str, number: usize, more: &str, shared: &str) -> Larder {
    let origin = origin.url();
    Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&format!(
            "{more}\n[[origin]]\nservers = {origin:?}\n\n\
             [shared]\nurl = {redis:?}\nnode = \"node-{number}\"\nlease = \"1m\"\n{shared}\n"
        ))
        .start()
}

pub(crate) fn purge(node: &Larder, args: &[&str]) -> Finished {
    let Address::Tcp(admin) = node.admin() else {
        panic!("an admin address");
    };
    Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["purge", "--admin", &admin.to_string()])
        .args(args.iter().copied())
        .run()
}

pub(crate) fn is_unsure(node: &Larder) -> bool {
    sample(node, "larder_purges_unsure") == 1
}

/// Waits until this node has read the stream to its end.
pub(crate) fn wait_follows(node: &Larder) {
    wait_until("a node followed the stream of purges", || !is_unsure(node));
}

/// How often this node has lost the stream for good.
pub(crate) fn losses(node: &Larder) -> usize {
    node.output()
        .matches("everything stored counts as purged")
        .count()
}

/// Redis is killed, and started again without what it had. All nodes have seen that.
fn lose(site: &mut Site, meanwhile: impl FnOnce(&Site)) {
    let before: Vec<usize> = site.nodes.iter().map(losses).collect();
    site.redis.kill();
    meanwhile(site);
    site.redis.restart();
    for (node, before) in site.nodes.iter().zip(before) {
        wait_until("a node saw that the stream was gone", || {
            losses(node) > before
        });
        wait_follows(node);
    }
}

/// Waits until this node is answered by Redis again, on the connection of its one worker.
fn wait_asks(node: &Larder) {
    let answered = || sample(node, "larder_shared_misses_total");
    let before = answered();
    wait_until("a node asked Redis again", || {
        get(node, "/other");
        answered() > before
    });
}

/// `http://host/path` as this node's clients ask for it: `Host` is the same for all nodes.
pub(crate) fn get(node: &Larder, target: &str) -> testkit::Response {
    node.get(target).header("Host", "site.example").send()
}

#[test]
fn one_fetch_for_a_burst_on_all_nodes() {
    let site = Site::start();
    let gate = Gate::new();
    let closed = gate.clone();
    site.origin.on("/page", move |request| {
        closed.pass();
        Reply::ok()
            .cache("max-age=3600")
            .body(request.nth.to_string())
    });
    let asked: Vec<_> = (0..NODES * 8)
        .map(|number| {
            let ask = site.nodes[number % NODES]
                .get("/page")
                .header("Host", "site.example");
            thread::spawn(move || ask.send())
        })
        .collect();
    // The other nodes wait for the one that fetches, and their clients for them.
    gate.wait_reached();
    wait_until("the other nodes waited", || {
        let waits = |node| sample(node, "larder_shared_waits_total");
        site.nodes.iter().map(waits).sum::<u64>() >= 2
    });
    gate.open();
    for answer in asked {
        assert_eq!(answer.join().expect("an answer").text(), "1");
    }
    assert_eq!(site.origin.requests("/page"), 1);
}

#[test]
fn a_purge_on_one_holds_on_all() {
    let site = Site::start();
    site.origin.on("/page", |request| {
        let reply = Reply::ok()
            .cache("max-age=3600")
            .header("Surrogate-Key", "p-1");
        reply.body(request.nth.to_string())
    });
    for (round, args) in [
        ["--wait", "http://site.example/page"],
        ["--wait", "--tag=p-1"],
        ["--wait", "--prefix=/pa"],
        ["--wait", "--host=site.example"],
        ["--wait", "--regex=pag."],
        ["--wait", "--all"],
    ]
    .iter()
    .enumerate()
    {
        let version = (round + 1).to_string();
        for node in &site.nodes {
            assert_eq!(get(node, "/page").text(), version, "{args:?}");
            assert!(get(node, "/page").hit(), "{args:?}");
        }
        let purged = purge(&site.nodes[round % NODES], args);
        assert_eq!(purged.code, Some(0), "{args:?}: {purged:?}");
    }
}

#[test]
fn a_node_that_was_killed_comes_back_and_knows_what_was_purged() {
    let mut site = Site::start();
    for path in ["/kept", "/purged"] {
        site.origin.on(path, |request| {
            Reply::ok()
                .cache("max-age=3600")
                .body(request.nth.to_string())
        });
        for node in &site.nodes {
            assert_eq!(get(node, path).text(), "1");
        }
    }
    // Dropped: SIGKILL.
    drop(site.nodes.pop());
    let purged = purge(&site.nodes[0], &["http://site.example/purged"]);
    assert_eq!(purged.code, Some(0), "{purged:?}");

    let back = node(&site.origin, &site.redis, NODES - 1, "");
    assert_eq!(get(&back, "/purged").text(), "2");
    wait_follows(&back);
    let kept = get(&back, "/kept");
    assert_eq!(
        (kept.text().as_str(), site.origin.requests("/kept")),
        ("1", 1),
        "{:?}",
        kept.head
    );
    site.nodes.push(back);
    let purged = site.purge(NODES - 1, "http://site.example/kept");
    assert_eq!(purged.code, Some(0), "{purged:?}");
    for node in &site.nodes {
        assert_eq!(get(node, "/kept").text(), "2");
    }
}

#[test]
fn redis_is_killed_and_comes_back() {
    let mut site = Site::with("workers = 1");
    site.origin.on("/page", |request| {
        Reply::ok()
            .cache("max-age=3600")
            .body(request.nth.to_string())
    });
    for node in &site.nodes {
        assert_eq!(get(node, "/page").text(), "1");
    }
    // Empty when it comes back: what was purged is not known any more, so nothing kept is used.
    lose(&mut site, |site| {
        for (number, node) in site.nodes.iter().enumerate() {
            assert_eq!(get(node, &format!("/other?{number}")).status, 404);
            assert_eq!(get(node, "/page").status, 200);
        }
        let refused = site.purge(0, "http://site.example/page");
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(
            refused.stderr.contains("the log that nodes share"),
            "{refused:?}"
        );
    });
    site.nodes.iter().for_each(wait_asks);
    let before = site.origin.requests("/page");
    let answers: Vec<_> = site
        .nodes
        .iter()
        .map(|node| get(node, "/page").text())
        .collect();
    assert_eq!(
        answers,
        vec![(before + 1).to_string(); NODES],
        "fetched once more, for all"
    );
    // What purges went by may have died with the old server, unseen: then the first one says that nobody knows, and to
    // ask again.
    purge(&site.nodes[1], &["http://site.example/nothing"]);
    let purged = site.purge(1, "http://site.example/page");
    assert_eq!(purged.code, Some(0), "{purged:?}");
    for node in &site.nodes {
        assert_eq!(get(node, "/page").text(), (before + 2).to_string());
    }
}

/// A page that the application changes, and the version that no reader may get less of.
#[derive(Default)]
struct Page {
    /// What the application has.
    current: AtomicU64,
    /// What was current when the last purge was acknowledged.
    purged: AtomicU64,
    done: AtomicBool,
    /// How often a reader has been answered.
    read: AtomicU64,
    /// The same, of answers from the store.
    hits: AtomicU64,
}

impl Page {
    /// Reads again and again, on one connection.
    fn read(&self, address: Address, target: &str) {
        let mut client = Client::connect(address);
        while !self.done.load(Acquire) {
            let least = self.purged.load(Acquire);
            let answer = client.get(target).header("Host", "site.example").send();
            let version: u64 = answer.text().parse().expect("a version");
            assert!(
                version >= least,
                "{target}: version {version} after {least} was purged for: {:?}",
                answer.head
            );
            self.read.fetch_add(1, AcqRel);
            self.hits.fetch_add(u64::from(answer.hit()), AcqRel);
        }
    }

    /// Waits until so many more answers have been read.
    fn wait_read(&self, more: u64) {
        let until = self.read.load(Acquire) + more;
        wait_until("readers read", || {
            self.read.load(Acquire) >= until || self.done.load(Acquire)
        });
    }
}

/// Readers on all nodes, while `disturb` does what it likes with the site and calls back to change the page.
fn nothing_stale(disturb: impl FnOnce(&mut Site, &dyn Fn(&Site, usize))) {
    nothing_stale_on(Site::start(), disturb);
}

/// The same on this site.
pub(crate) fn nothing_stale_on(
    mut site: Site,
    disturb: impl FnOnce(&mut Site, &dyn Fn(&Site, usize)),
) {
    let page = Arc::new(Page::default());
    let current = Arc::clone(&page);
    site.origin.on("/page", move |_| {
        let version = current.current.load(Acquire);
        Reply::ok()
            .cache("max-age=3600")
            .header("Surrogate-Key", "p-1")
            .body(version.to_string())
    });
    let readers: Vec<_> = site
        .nodes
        .iter()
        .flat_map(|node| [node.address(), node.address()])
        .map(|address| {
            let page = Arc::clone(&page);
            thread::spawn(move || page.read(address, "/page"))
        })
        .collect();
    let change = |site: &Site, on: usize| {
        let version = page.current.fetch_add(1, AcqRel) + 1;
        let purged = purge(&site.nodes[on], &["--wait", "--tag", "p-1"]);
        if purged.code == Some(0) {
            page.purged.fetch_max(version, AcqRel);
        }
        page.wait_read(50);
    };
    disturb(&mut site, &change);
    page.done.store(true, Release);
    for reader in readers {
        reader.join().expect("a reader that saw nothing stale");
    }
    assert!(
        page.hits.load(Acquire) > 0,
        "some answers came from the store"
    );
    assert!(
        page.purged.load(Acquire) > 0,
        "some purges were acknowledged"
    );
}

#[test]
fn nothing_stale_after_an_acknowledged_purge() {
    nothing_stale(|site, change| {
        for round in 0..30 {
            change(site, round % NODES);
        }
    });
}

#[test]
fn nothing_stale_while_redis_comes_and_goes() {
    nothing_stale(|site, change| {
        for round in 0..3 {
            change(site, round);
            lose(site, |site| change(site, round));
            change(site, round);
        }
    });
}

#[test]
fn a_purge_waits_for_a_node_that_has_not_seen_that_the_stream_is_gone() {
    let mut site = Site::start();
    let signal = |node: &Larder, name: &str| {
        let line = format!("kill -{name} {}", node.id());
        let sent = std::process::Command::new("sh")
            .args(["-c", &line])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "SIG{name}");
    };
    let purged = site.purge(0, "http://site.example/page");
    assert_eq!(purged.code, Some(0), "{purged:?}");
    signal(&site.nodes[2], "STOP");
    site.redis.kill();
    site.redis.restart();
    wait_until("a node saw that the stream was gone", || {
        losses(&site.nodes[0]) > 0
    });
    wait_follows(&site.nodes[0]);
    purge(&site.nodes[0], &["http://site.example/nothing"]);
    let args = ["--wait=1s", "http://site.example/page"];
    let purged = purge(&site.nodes[0], &args);
    assert_eq!(purged.code, Some(1), "{purged:?}");
    assert!(purged.stderr.contains("node-2"), "{purged:?}");
    signal(&site.nodes[2], "CONT");
    let purged = site.purge(0, "http://site.example/page");
    assert_eq!(purged.code, Some(0), "{purged:?}");
}

#[test]
fn pages_are_shared_over_tls_with_whom_the_authorities_vouch_for() {
    let (certificate, key) = crate::tls::certificate("127.0.0.1");
    let redis = Redis::over_tls(certificate.clone(), key);
    let origin = Origin::start();
    origin.otherwise(|request| counted(request).cache("max-age=600"));
    let start = |number: usize, authorities: &Path| {
        let config = format!(
            "[[origin]]\nservers = {:?}\n[shared]\nurl = {:?}\nnode = \"node-{number}\"\ntimeout = \"20s\"\n",
            origin.url(),
            redis.url()
        );
        Command::serve(env!("CARGO_BIN_EXE_larder"))
            .config(&config)
            .env("SSL_CERT_FILE", authorities.display().to_string())
            .start()
    };
    let nodes = [0, 1].map(|number| start(number, &certificate));
    nodes.iter().for_each(wait_follows);
    assert_eq!(nodes[0].get("/").send().body, b"1");
    wait_until("it was shared", || {
        sample(&nodes[0], "larder_shared_stored_total") == 1
    });
    let answer = nodes[1].get("/").send();
    assert!(answer.hit() && answer.body == b"1", "{}", answer.said());
    let done = purge(&nodes[1], &["--wait", "http://127.0.0.1/"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(origin.requests("/"), 1);

    let (other, _) = crate::tls::certificate("127.0.0.1");
    let stranger = start(2, &other);
    stranger.wait_output("certificate");
    assert_eq!(stranger.get("/").send().body, b"2", "the request goes on");
    assert_eq!(sample(&stranger, "larder_shared_hits_total"), 0);
}
