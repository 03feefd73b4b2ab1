//! Nodes that find their Redis by sentinels or through a cluster: what a failover tells, what replicas are read for,
//! and TLS.

use crate::{
    common::{Said, counted, sample},
    disk_trouble::told,
    nodes::{get, node_at, purge, wait_follows},
    shared_trouble::{errors, is_found_again, is_open},
};
use testkit::{Command, Larder, Origin, Redis, Response, wait_until};

const PAGE: &str = "http://site.example/page";
/// Where that lies.
const NAME: &str = "larder:http://site.example/page";

/// A sentinel that watches over this one as `pages`, and knows its replica.
fn sentinel(primary: &Redis, replica: &Redis) -> (Redis, String) {
    let sentinel = Redis::sentinel(primary, "pages");
    wait_until("the sentinel knew the replica", || {
        let known = sentinel.ask(&["SENTINEL", "REPLICAS", "pages"]);
        known.contains(&replica.port().to_string())
    });
    let url = format!("redis-sentinel://{}?master=pages", sentinel.address());
    (sentinel, url)
}

fn application() -> Origin {
    let origin = Origin::start();
    origin.otherwise(|request| counted(request).cache("max-age=3600"));
    origin
}

/// Lines that say that Redis is there for the tier, or for the log of purges.
fn good_news(node: &Larder) -> usize {
    let output = node.output();
    [
        "following the shared purge log",
        "the shared tier answers again",
    ]
    .iter()
    .map(|line| output.matches(line).count())
    .sum()
}

#[test]
fn a_failover_is_told_of_once_and_seen_in_the_metrics() {
    let (mut primary, origin) = (Redis::start(), application());
    let replica = Redis::replica(&primary);
    let (sentinel, url) = sentinel(&primary, &replica);
    // One worker, so that its connections have seen what the test has asked.
    let nodes =
        [0, 1].map(|number| node_at(&origin, &url, number, "workers = 1", "trust = \"1m\""));
    nodes.iter().for_each(wait_follows);
    for node in &nodes {
        assert_eq!(get(node, "/page").text(), "1");
        assert_eq!((is_open(node), good_news(node)), (false, 1));
    }
    replica.wait_copied(&primary);
    primary.kill();
    for (number, node) in nodes.iter().enumerate() {
        let mut asked = 0;
        wait_until("Redis was left alone", || {
            asked += 1;
            let answer = get(node, &format!("/meanwhile/{number}/{asked}"));
            assert_eq!((answer.status, answer.text().as_str()), (200, "1"));
            is_open(node)
        });
        assert!(errors(node, "closed") + errors(node, "unreachable") > 0);
        assert!(get(node, "/page").hit(), "what is kept is used");
    }
    sentinel.fail_over("pages", &replica);
    for node in &nodes {
        is_found_again(node);
        wait_until("it was told", || good_news(node) == 2);
        wait_follows(node);
    }
    let purged = purge(&nodes[0], &["--wait", PAGE]);
    assert_eq!(purged.code, Some(0), "{purged:?}");
    for node in &nodes {
        assert_eq!(get(node, "/page").text(), "2");
        assert_eq!(sample(node, "larder_shared_breaker_openings_total"), 1);
        assert_eq!(told(node).len(), 1, "{:#?}", told(node));
        assert_eq!(good_news(node), 2, "{}", node.output());
    }
}

/// How often this server was asked to read a value.
fn reads(server: &Redis) -> u64 {
    let told = server.ask(&["INFO", "commandstats"]);
    let calls = told.lines().filter_map(|line| {
        let calls = line.strip_prefix("cmdstat_getrange:calls=")?;
        calls.split(',').next()?.parse::<u64>().ok()
    });
    calls.sum()
}

/// From now on the replica gets nothing new, and does not know whether it has all.
fn stop_copying(primary: &Redis) {
    assert_eq!(
        primary.ask(&["ACL", "SETUSER", "default", "-psync", "-sync"]),
        "OK"
    );
    assert_eq!(primary.ask(&["CLIENT", "KILL", "TYPE", "replica"]), "1");
}

/// One node stores a page, and another reads it from the replica. A purge holds at once on both, although the replica
/// has not heard of it and still has the page.
fn reads_go_to_the_replica_and_purges_hold(url: &str, primary: &Redis, replica: &Redis) {
    let origin = application();
    let nodes = [0, 1, 2].map(|number| node_at(&origin, url, number, "workers = 1", ""));
    nodes.iter().for_each(wait_follows);
    assert_eq!(get(&nodes[0], "/page").text(), "1");
    let is_there = || replica.keys().iter().any(|key| key == NAME);
    wait_until("the replica had it", is_there);
    wait_until("the lease was given back", || {
        let of_page = |key: &String| key.contains("/page");
        primary.keys().iter().filter(|key| of_page(key)).count() == 1
    });
    let before = (reads(primary), reads(replica));
    let found = get(&nodes[1], "/page");
    assert!(found.hit() && found.text() == "1", "{}", found.said());
    assert!(reads(replica) > before.1, "the replica was asked");
    assert_eq!(reads(primary), before.0, "and the primary was not");
    assert_eq!(sample(&nodes[1], "larder_shared_hits_total"), 1);

    stop_copying(primary);
    let purged = purge(&nodes[2], &["--wait", PAGE]);
    assert_eq!(purged.code, Some(0), "{purged:?}");
    let asked = reads(replica);
    let newer = |answer: Response| {
        let version: usize = answer.text().parse().expect("a version");
        assert!(version > 1, "it was purged: {}", answer.said());
    };
    for node in nodes.iter().chain(&nodes) {
        newer(get(node, "/page"));
    }
    assert!(reads(replica) > asked, "it was asked what it has");
    assert!(is_there(), "which is the page from before the purge");
}

#[test]
fn behind_sentinels_replicas_are_read_and_bring_nothing_back() {
    let primary = Redis::start();
    let replica = Redis::replica(&primary);
    let (_sentinel, url) = sentinel(&primary, &replica);
    let url = format!("{url}&replicas=read");
    reads_go_to_the_replica_and_purges_hold(&url, &primary, &replica);
}

/// It is a miss.
#[test]
fn something_else_under_our_key_is_no_reason_to_leave_a_replica_alone() {
    let primary = Redis::start();
    let replica = Redis::replica(&primary);
    let (_sentinel, url) = sentinel(&primary, &replica);
    let (url, origin) = (format!("{url}&replicas=read"), application());
    let nodes = [0, 1].map(|number| node_at(&origin, &url, number, "workers = 1", ""));
    nodes.iter().for_each(wait_follows);
    let wait_copied = |page: &str| {
        let name = format!("larder:http://site.example/{page}");
        wait_until("the replica had it", || replica.keys().contains(&name));
    };
    primary.ask(&["LPUSH", "larder:http://site.example/else", "x"]);
    wait_copied("else");
    assert_eq!(get(&nodes[1], "/else").status, 200);
    get(&nodes[0], "/page");
    wait_copied("page");
    let before = (reads(&primary), reads(&replica));
    let found = get(&nodes[1], "/page");
    assert!(found.hit(), "{}", found.said());
    assert_eq!(reads(&primary), before.0, "the replica is asked");
    assert!(reads(&replica) > before.1);
}

#[test]
fn in_a_cluster_replicas_are_read_and_bring_nothing_back() {
    let cluster = Redis::cluster();
    let slot = cluster[0].ask(&["CLUSTER", "KEYSLOT", NAME]);
    let slot: u16 = slot.parse().expect("a number");
    let ends = [5460, 10922, 16383];
    let of = ends.iter().position(|end| slot <= *end).expect("a shard");
    let replica = Redis::stand_by(&cluster, of);
    let port = replica.port().to_string();
    wait_until("the cluster named the replica to who asks", || {
        let names = |server: &Redis| server.ask(&["CLUSTER", "SLOTS"]).contains(&port);
        cluster.iter().all(names)
    });
    let url = format!("redis-cluster://{}?replicas=read", cluster[0].address());
    reads_go_to_the_replica_and_purges_hold(&url, &cluster[of], &replica);
}

/// Two nodes that trust nobody but whoever has this certificate share pages and purges; one that trusts others does not.
fn shares_with_whom_it_trusts(url: &str, certificate: &std::path::Path) {
    let origin = application();
    let start = |number: usize, authorities: &std::path::Path| {
        let config = format!(
            "[[origin]]\nservers = {:?}\n[shared]\nurl = {url:?}\nnode = \"node-{number}\"\ntimeout = \"20s\"\n",
            origin.url()
        );
        let larder = Command::serve(env!("CARGO_BIN_EXE_larder")).config(&config);
        let authorities = authorities.display().to_string();
        larder.env("SSL_CERT_FILE", authorities).start()
    };
    let nodes = [0, 1].map(|number| start(number, certificate));
    nodes.iter().for_each(wait_follows);
    for version in ["1", "2"] {
        assert_eq!(get(&nodes[0], "/page").text(), version);
        wait_until("it was shared", || {
            sample(&nodes[0], "larder_shared_stored_total").to_string() == version
        });
        let found = get(&nodes[1], "/page");
        assert!(found.hit() && found.text() == version, "{}", found.said());
        let purged = purge(&nodes[1], &["--wait", PAGE]);
        assert_eq!(purged.code, Some(0), "{purged:?}");
    }
    let (other, _) = crate::tls::certificate("127.0.0.1");
    let stranger = start(2, &other);
    stranger.wait_output("certificate");
    assert_eq!(get(&stranger, "/page").text(), "3", "the request goes on");
    assert_eq!(sample(&stranger, "larder_shared_hits_total"), 0);
}

#[test]
fn sentinels_and_their_redis_are_asked_over_tls() {
    let (certificate, key) = crate::tls::certificate("127.0.0.1");
    let primary = Redis::over_tls(certificate.clone(), key);
    let sentinel = Redis::sentinel(&primary, "pages");
    let url = format!("rediss-sentinel://{}?master=pages", sentinel.address());
    shares_with_whom_it_trusts(&url, &certificate);
}

#[test]
fn a_cluster_is_asked_over_tls() {
    let (certificate, key) = crate::tls::certificate("127.0.0.1");
    let cluster = Redis::cluster_over_tls(certificate.clone(), key);
    let url = format!("rediss-cluster://{}", cluster[0].address());
    shares_with_whom_it_trusts(&url, &certificate);
}
