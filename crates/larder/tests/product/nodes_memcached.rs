//! Several nodes over memcached, which keeps no log: purges go from node to node, over links that can be cut.

use crate::{
    common::{Said, counted, sample},
    disk::content,
    nodes::{get, purge},
    nodes_leases::waits_in_vain,
};
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    thread,
};
use testkit::{
    Address, Command, Gate, Larder, Link, Memcached, Origin, Reply, free_port, scratch_dir,
    wait_until,
};

const NODES: usize = 3;

/// Nodes whose application answers with the number of its version.
struct Site {
    nodes: Vec<Larder>,
    /// The ways to the admin addresses of the nodes.
    links: Vec<Link>,
    /// Where each remembers purges.
    logs: Vec<PathBuf>,
    memcached: Memcached,
    origin: Origin,
    version: Arc<AtomicU64>,
    lease: &'static str,
}

impl Site {
    fn start() -> Self {
        Self::leasing("1m")
    }

    /// A node may fetch for so long while the others wait, also where it has died.
    fn leasing(lease: &'static str) -> Self {
        let mut site = Self {
            nodes: Vec::new(),
            links: (0..NODES).map(|_| Link::start()).collect(),
            logs: (0..NODES).map(|_| scratch_dir()).collect(),
            memcached: Memcached::start(),
            origin: Origin::start(),
            version: Arc::new(AtomicU64::new(1)),
            lease,
        };
        let version = site.version.clone();
        site.origin.otherwise(move |_| {
            let version = version.load(SeqCst).to_string();
            Reply::ok().cache("max-age=3600").body(version)
        });
        for number in 0..NODES {
            let node = site.node(number);
            site.nodes.push(node);
        }
        site.wait_shares();
        site
    }

    /// What was fetched within a second of a start is not shared: clocks may differ by as much.
    fn wait_shares(&self) {
        let mut number = 0;
        wait_until("what one fetched was found by the others", || {
            number += 1;
            let page = format!("/shares/{number}");
            for node in &self.nodes {
                get(node, &page);
            }
            self.origin.requests(&page) == 1
        });
    }

    /// The application has something new. Its version.
    fn change(&self) -> String {
        (self.version.fetch_add(1, SeqCst) + 1).to_string()
    }

    fn node(&self, number: usize) -> Larder {
        let others = (0..NODES).filter(|other| *other != number);
        let peers: Vec<_> = others
            .map(|other| format!("http://{}", self.links[other].address()))
            .collect();
        let config = format!(
            "[[origin]]\nservers = {:?}\n[shared]\nurl = {:?}\nnode = \"node-{number}\"\ntimeout = \"20s\"\nlease = {:?}\n[purge]\npeers = {peers:?}\nlog = \"{}\"\n",
            self.origin.url(),
            self.memcached.url(),
            self.lease,
            self.logs[number].display(),
        );
        let node = Command::serve(env!("CARGO_BIN_EXE_larder"))
            .config(&config)
            .start();
        let Address::Tcp(admin) = node.admin() else {
            panic!("an admin address");
        };
        self.links[number].lead_to(&admin.to_string());
        node
    }
}

#[test]
fn one_fetch_for_a_burst_on_all_nodes() {
    let site = Site::start();
    let gate = Gate::new();
    let closed = gate.clone();
    site.origin.on("/page", move |request| {
        closed.pass();
        counted(request).cache("max-age=3600")
    });
    let asked: Vec<_> = (0..NODES * 8)
        .map(|number| {
            let ask = site.nodes[number % NODES]
                .get("/page")
                .header("Host", "site.example");
            thread::spawn(move || ask.send())
        })
        .collect();
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

/// Whose lease would be theirs for a minute.
#[test]
fn who_asks_after_a_purge_waits_for_no_fetch_from_before_it() {
    let (site, gate) = (Site::start(), Gate::new());
    let closed = gate.clone();
    site.origin.on("/page", move |request| {
        let reply = counted(request).cache("max-age=3600");
        match request.nth {
            1 => reply.hold_head(&closed),
            _ => reply,
        }
    });
    let ask = |node: &Larder| {
        let ask = node.get("/page").header("Host", "site.example");
        ask.begin()
    };
    let mut before = ask(&site.nodes[0]);
    gate.wait_reached();
    let purged = purge(&site.nodes[0], &["--wait", "http://site.example/page"]);
    assert_eq!(purged.code, Some(0), "{purged:?}");
    let in_vain = waits_in_vain(&site.nodes);
    assert_eq!(ask(&site.nodes[1]).read().text(), "2");
    assert_eq!(waits_in_vain(&site.nodes), in_vain);
    gate.open();
    assert_eq!(before.read().text(), "1");
}

#[test]
fn a_purge_on_one_holds_on_all_when_all_have_it() {
    let site = Site::start();
    let mut version = "1".to_owned();
    for round in 0..4 {
        for node in &site.nodes {
            let answer = get(node, "/page");
            assert_eq!(answer.text(), version, "{:?}", answer.head);
            assert!(get(node, "/page").hit());
        }
        version = site.change();
        let page = "http://site.example/page";
        let purged = purge(&site.nodes[round % NODES], &["--wait", page]);
        assert_eq!(purged.code, Some(0), "{purged:?}");
    }
}

#[test]
fn a_node_that_cannot_be_reached_is_named_and_gets_the_purge_later() {
    let mut site = Site::leasing("1s");
    for node in &site.nodes {
        assert_eq!(get(node, "/page").text(), "1");
    }
    let version = site.change();
    site.links[2].cut();
    let args = ["--wait=200ms", "http://site.example/page"];
    let purged = purge(&site.nodes[0], &args);
    assert_eq!(purged.code, Some(1), "{purged:?}");
    assert!(
        purged.stderr.contains(&site.links[2].address()),
        "{purged:?}"
    );
    for node in &site.nodes[..2] {
        wait_until("who can be reached has it", || {
            get(node, "/page").text() == version
        });
    }
    assert_eq!(get(&site.nodes[2], "/page").text(), "1", "nobody told it");
    site.links[2].mend();
    wait_until("the retry came", || {
        get(&site.nodes[2], "/page").text() == version
    });
    // One that is down gets it when it is back, for what lies in memcached, too.
    let version = site.change();
    site.nodes.pop().expect("a node").kill();
    let purged = purge(&site.nodes[0], &args);
    assert_eq!(purged.code, Some(1), "{purged:?}");
    let back = site.node(2);
    wait_until("the retry came", || get(&back, "/page").text() == version);
}

/// What it acknowledged outlasts it, also for what lies in memcached.
#[test]
fn a_node_that_dies_when_it_has_acknowledged_remembers() {
    let mut site = Site::leasing("1s");
    assert_eq!(get(&site.nodes[0], "/page").text(), "1");
    wait_until("it was shared", || get(&site.nodes[1], "/page").hit());
    let version = site.change();
    let purged = purge(&site.nodes[0], &["http://site.example/page"]);
    assert_eq!(purged.code, Some(0), "{purged:?}");
    site.nodes.remove(0).kill();
    let back = site.node(0);
    assert_eq!(get(&back, "/page").text(), version);
}

/// What it had not passed on dies with it, as is written: `--wait` has named the node that was not told, and purging
/// again tells it.
#[test]
fn what_was_not_passed_on_when_a_node_died_is_passed_on_when_it_is_purged_again() {
    let mut site = Site::leasing("1s");
    assert_eq!(get(&site.nodes[2], "/page").text(), "1");
    let version = site.change();
    // Nobody is there.
    site.links[2].lead_to(&format!("127.0.0.1:{}", free_port()));
    let args = ["--wait=200ms", "http://site.example/page"];
    let purged = purge(&site.nodes[0], &args);
    assert_eq!(purged.code, Some(1), "{purged:?}");
    assert!(
        purged.stderr.contains(&site.links[2].address()),
        "{purged:?}"
    );
    site.nodes.remove(0).kill();
    let back = site.node(0);
    let [_, told_last] = &site.nodes[..] else {
        panic!("two are left");
    };
    let Address::Tcp(admin) = told_last.admin() else {
        panic!("an admin address");
    };
    site.links[2].lead_to(&admin.to_string());
    // What is purged is told in order: anything from before would have come with this.
    let purged = purge(&back, &["--wait", "http://site.example/other"]);
    assert_eq!(purged.code, Some(0), "{purged:?}");
    let kept = get(told_last, "/page");
    assert_eq!(kept.text(), "1", "nobody told it: {}", kept.said());
    assert_eq!(get(&back, "/page").text(), version, "it remembers its own");
    let purged = purge(&back, &["--wait", "http://site.example/page"]);
    assert_eq!(purged.code, Some(0), "{purged:?}");
    for node in site.nodes.iter().chain([&back]) {
        assert_eq!(get(node, "/page").text(), version);
    }
}

/// Records, their pieces and leases lie on whichever server the ring says.
#[test]
fn several_servers_are_as_good_as_one_and_of_one_that_dies_only_its_own_share_is_missed() {
    let mut servers: Vec<_> = (0..3).map(|_| Memcached::start()).collect();
    let addresses: Vec<_> = servers.iter().map(Memcached::address).collect();
    let url = format!("memcached://{}", addresses.join(","));
    let origin = Origin::start();
    origin.otherwise(|request| {
        let body = body_of(request.path());
        Reply::ok().cache("max-age=3600").body(body)
    });
    let start = |number: usize| {
        let config = format!(
            "[[origin]]\nservers = {:?}\n[shared]\nurl = {url:?}\nnode = \"node-{number}\"\ntimeout = \"20s\"\n",
            origin.url()
        );
        let larder = Command::serve(env!("CARGO_BIN_EXE_larder"));
        larder.config(&config).start()
    };
    let nodes = [start(0), start(1), start(2)];
    let mut number = 0;
    wait_until("what one fetched was found by the others", || {
        number += 1;
        let page = format!("/first/{number}");
        for node in &nodes {
            get(node, &page);
        }
        origin.requests(&page) == 1
    });
    let small = (0..24).map(|number| format!("/small/{number}"));
    let large = (0..4).map(|number| format!("/large/{number}"));
    let pages: Vec<_> = small.chain(large).collect();
    let before = sample(&nodes[0], "larder_shared_stored_total");
    for page in &pages {
        assert_eq!(get(&nodes[0], page).body, body_of(page), "{page}");
    }
    wait_until("all were shared", || {
        sample(&nodes[0], "larder_shared_stored_total") >= before + pages.len() as u64
    });
    for page in &pages {
        assert_eq!(get(&nodes[1], page).body, body_of(page), "{page}");
        assert_eq!(origin.requests(page), 1, "{page}");
    }
    servers.remove(1).kill();
    for page in &pages {
        assert_eq!(get(&nodes[2], page).body, body_of(page), "{page}");
    }
    let is_small = |page: &&String| page.starts_with("/small");
    let again = pages.iter().filter(is_small);
    let again = again.filter(|page| origin.requests(page) > 1).count();
    assert!(again > 0, "one of three had none of two dozen");
    assert!(again < 24, "what the others have is found");
}

/// Large pages take several pieces.
fn body_of(page: &str) -> Vec<u8> {
    let is_large = page.starts_with("/large");
    content(page, if is_large { 1_500_000 } else { 2000 })
}
