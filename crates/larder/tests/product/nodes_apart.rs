//! Several nodes: one that is cut off or dies, and what the others find of what it fetched and purged.

use crate::{
    common::{Said, counted, sample},
    disk::content,
    explain::explained,
    nodes::{
        NODES, Site, get, hasty_node_at, is_unsure, losses, node, node_at, purge, wait_follows,
    },
    nodes_confirmed::{chunks, left},
};
use testkit::{Gate, Link, Redis, Reply, wait_until};

/// Pages whose body is how often the application was asked for them.
fn site() -> Site {
    let site = Site::start();
    site.origin
        .otherwise(|request| counted(request).cache("max-age=3600"));
    site
}

/// Waits until what this node has fetched is there for the others.
pub(crate) fn wait_shared(node: &testkit::Larder, count: u64) {
    wait_until("it was shared", || {
        sample(node, "larder_shared_stored_total") >= count
    });
}

#[test]
fn a_node_that_is_cut_off_asks_the_application_and_catches_up() {
    let mut site = site();
    let link = Link::to(&site.redis.address());
    let url = format!("redis://{}", link.address());
    site.nodes[2] = hasty_node_at(&site.origin, &url, 2, "", "trust = \"5s\"");
    wait_follows(&site.nodes[2]);
    for path in ["/page", "/other"] {
        assert_eq!(get(&site.nodes[2], path).text(), "1");
        assert!(get(&site.nodes[2], path).hit());
    }
    link.cut();
    wait_until("it knew that it was cut off", || is_unsure(&site.nodes[2]));
    let purged = purge(&site.nodes[0], &["--wait=1ms", "http://site.example/page"]);
    assert!(
        purged.code == Some(0) || purged.stderr.contains("node-2"),
        "{purged:?}"
    );
    let told = explained(&site.nodes[2], "http://site.example/page", &[]);
    assert!(
        told.contains("it may have been purged") && !told.contains("its no-cache"),
        "{told}"
    );
    assert!(told.contains("lifetime 1h"), "{told}");
    let answer = get(&site.nodes[2], "/page");
    assert_eq!(answer.text(), "2");
    assert_eq!(
        answer.parameter("detail").as_deref(),
        Some("purges-unknown")
    );
    site.origin.stop();
    for path in ["/page", "/other"] {
        let answer = get(&site.nodes[2], path);
        assert!(answer.status >= 500, "{path}: {:?}", answer.head);
    }
    link.mend();
    wait_follows(&site.nodes[2]);
    let page = get(&site.nodes[2], "/page");
    assert_ne!(page.text(), "1", "{:?}", page.head);
    let other = get(&site.nodes[2], "/other");
    assert!(other.hit() && other.text() == "1", "{:?}", other.head);
}

/// What it keeps may have been purged elsewhere: the application says whether it still holds, and that costs no second
/// copy.
#[test]
fn a_node_that_is_cut_off_uses_what_the_application_confirms() {
    let mut site = Site::start();
    site.origin.on("/page", |request| {
        let reply = match request.header("If-None-Match") {
            Some("\"a\"") => Reply::status(304),
            _ => Reply::ok().body(request.nth.to_string()),
        };
        reply.cache("max-age=3600").header("ETag", "\"a\"")
    });
    let link = Link::to(&site.redis.address());
    let url = format!("redis://{}", link.address());
    site.nodes[2] = hasty_node_at(&site.origin, &url, 2, "", "trust = \"5s\"");
    wait_follows(&site.nodes[2]);
    assert_eq!(get(&site.nodes[2], "/page").text(), "1");
    link.cut();
    wait_until("it knew that it was cut off", || is_unsure(&site.nodes[2]));
    for requests in [2, 3] {
        let answer = get(&site.nodes[2], "/page");
        assert_eq!((answer.status, answer.text().as_str()), (200, "1"));
        assert_eq!(site.origin.requests("/page"), requests, "each time");
        let asked = site.origin.last("/page");
        assert_eq!(asked.header("If-None-Match"), Some("\"a\""));
    }
    link.mend();
    wait_follows(&site.nodes[2]);
    assert!(get(&site.nodes[2], "/page").hit());
}

/// Of what is under way when they come they cannot know that no purge lies between; the next fetch is all of theirs.
#[test]
fn who_comes_while_a_node_that_is_cut_off_asks_the_application_shares_the_next_answer() {
    let mut site = Site::start();
    let gates = [Gate::new(), Gate::new()];
    let held = gates.clone();
    site.origin.on("/page", move |request| {
        let reply = counted(request).cache("max-age=3600");
        match request.nth {
            1 => reply,
            2 => reply.hold_head(&held[0]),
            _ => reply.hold_head(&held[1]),
        }
    });
    let link = Link::to(&site.redis.address());
    let url = format!("redis://{}", link.address());
    site.nodes[2] = hasty_node_at(&site.origin, &url, 2, "workers = 1", "trust = \"5s\"");
    let node = &site.nodes[2];
    wait_follows(node);
    get(node, "/page");
    link.cut();
    wait_until("it knew that it was cut off", || is_unsure(node));
    let begin = || node.get("/page").header("Host", "site.example").begin();
    let mut leader = begin();
    gates[0].wait_reached();
    let followers: Vec<_> = (0..5).map(|_| begin()).collect();
    // The one worker has begun with those when it has answered another.
    get(node, "/other");
    gates[0].open();
    assert_eq!(leader.read().text(), "2");
    gates[1].wait_reached();
    let mut late = begin();
    get(node, "/other");
    gates[1].open();
    for mut follower in followers {
        assert_eq!(
            follower.read().text(),
            "3",
            "what was asked for after they came"
        );
    }
    assert_eq!(
        late.read().text(),
        "4",
        "it came when the third was under way"
    );
    assert_eq!(site.origin.requests("/page"), 4);
}

#[test]
fn a_node_that_dies_when_it_has_acknowledged_has_purged_on_all() {
    let mut site = site();
    for node in &site.nodes {
        assert_eq!(get(node, "/page").text(), "1");
    }
    let purged = purge(&site.nodes[0], &["http://site.example/page"]);
    assert_eq!(purged.code, Some(0), "{purged:?}");
    site.nodes.remove(0).kill();
    for node in &site.nodes {
        wait_until("the purge came", || get(node, "/page").text() == "2");
    }
    let back = node(&site.origin, &site.redis, 0, "");
    assert_ne!(get(&back, "/page").text(), "1");
    wait_follows(&back);
    assert_ne!(get(&back, "/page").text(), "1");
}

#[test]
fn what_was_purged_softly_is_stale_wherever_it_is_found() {
    let site = Site::start();
    site.origin.on("/page", |request| {
        counted(request).cache("max-age=3600, stale-while-revalidate=3600")
    });
    assert_eq!(get(&site.nodes[0], "/page").text(), "1");
    wait_shared(&site.nodes[0], 1);
    let purged = purge(
        &site.nodes[1],
        &["--wait", "--soft", "http://site.example/page"],
    );
    assert_eq!(purged.code, Some(0), "{purged:?}");
    let found = get(&site.nodes[2], "/page");
    assert_eq!(found.text(), "1", "{:?}", found.head);
    assert_eq!(
        found.parameter("detail").as_deref(),
        Some("stale-while-revalidate"),
        "{:?}",
        found.head
    );
    for node in &site.nodes {
        wait_until("the new one is found", || get(node, "/page").text() == "2");
    }
    assert_eq!(site.origin.requests("/page"), 2);
}

#[test]
fn the_memory_of_a_node_stays_in_front() {
    let site = site();
    assert_eq!(get(&site.nodes[0], "/page").text(), "1");
    wait_shared(&site.nodes[0], 1);
    for _ in 0..3 {
        assert_eq!(get(&site.nodes[1], "/page").text(), "1");
    }
    let count = |name| sample(&site.nodes[1], name);
    assert_eq!(count("larder_shared_hits_total"), 1);
    assert_eq!(count("larder_shared_misses_total"), 0);
    assert_eq!(site.origin.requests("/page"), 1);
    assert_eq!(site.nodes.len(), NODES);
}

/// Redis as a cluster carries pages, leases and purges.
#[test]
fn a_cluster_is_as_good_as_one_server() {
    let cluster = Redis::cluster();
    let origin = testkit::Origin::start();
    origin.otherwise(|request: &testkit::Request| {
        Reply::ok()
            .cache("max-age=3600")
            .body(request.nth.to_string())
    });
    let url = format!("redis-cluster://{}", cluster[0].address());
    let nodes = [0, 1, 2].map(|number| node_at(&origin, &url, number, "", ""));
    nodes.iter().for_each(wait_follows);
    for round in 1..=3_usize {
        for path in ["/a", "/b", "/c", "/d"] {
            for (number, node) in nodes.iter().enumerate() {
                assert_eq!(get(node, path).text(), round.to_string(), "{path}");
                if number == 0 {
                    wait_shared(node, 1);
                }
            }
            let page = format!("http://site.example{path}");
            let purged = purge(&nodes[round % 3], &["--wait", &page]);
            assert_eq!(purged.code, Some(0), "{purged:?}");
        }
    }
}

/// Which of three servers that are a cluster has this key.
fn has(cluster: &[Redis], key: &str) -> usize {
    let slot = cluster[0].ask(&["CLUSTER", "KEYSLOT", key]);
    let slot: u16 = slot.parse().expect("a number");
    let ends = [5460, 10922, 16383];
    ends.iter().position(|end| slot <= *end).expect("a shard")
}

/// Purges are on one shard, and how far nodes are on another at most.
#[test]
fn a_shard_that_hangs_stops_no_purge_that_it_has_nothing_of() {
    let cluster = Redis::cluster();
    let shards = ["larder:purges", "larder:nodes"].map(|key| has(&cluster, key));
    let others = cluster.iter().enumerate();
    let mut others = others.filter(|(number, _)| !shards.contains(number));
    let (_, other) = others.next().expect("a shard without either");
    let origin = testkit::Origin::start();
    let url = format!("redis-cluster://{}", cluster[shards[0]].address());
    let nodes = [0, 1].map(|number| node_at(&origin, &url, number, "", "trust = \"1m\""));
    nodes.iter().for_each(wait_follows);
    let purge_on = |node| {
        let purged = purge(node, &["--wait", "http://site.example/page"]);
        assert_eq!(purged.code, Some(0), "{purged:?}");
    };
    // A new connection would wait for all shards.
    nodes.iter().for_each(purge_on);
    other.pause();
    // Each time a node asks which of the others are there.
    for _ in 0..10 {
        nodes.iter().for_each(purge_on);
    }
    other.resume();
}

/// The shard that has the stream loses its primary.
#[test]
fn a_cluster_goes_on_with_a_replica() {
    // Half of it is what any answer of a server may take.
    const TRUST: &str = "trust = \"1m\"";
    let mut cluster = Redis::cluster();
    let of = has(&cluster, "larder:purges");
    let replica = Redis::stand_by(&cluster, of);
    let origin = testkit::Origin::start();
    origin.otherwise(|request: &testkit::Request| counted(request).cache("max-age=3600"));
    let all: Vec<_> = cluster.iter().map(Redis::address).collect();
    let url = format!("redis-cluster://{}", all.join(","));
    let nodes = [0, 1, 2].map(|number| node_at(&origin, &url, number, "", TRUST));
    nodes.iter().for_each(wait_follows);
    let page = "http://site.example/page";
    for (round, node) in nodes.iter().enumerate() {
        assert_eq!(get(node, "/page").status, 200);
        let purged = purge(&nodes[round], &["--wait", page]);
        assert_eq!(purged.code, Some(0), "{purged:?}");
    }
    let length = cluster[of].ask(&["XLEN", "larder:purges"]);
    let old: Vec<_> = nodes.iter().map(|node| get(node, "/page").text()).collect();
    replica.wait_copied(&cluster[of]);
    cluster[of].kill();
    for (server, redis) in cluster.iter().chain([&replica]).enumerate() {
        if server != of {
            redis.ask(&["CONFIG", "SET", "cluster-node-timeout", "1000"]);
        }
    }
    for node in &nodes {
        assert_eq!(get(node, "/page").status, 200, "requests go on");
        assert_eq!(get(node, "/other").status, 200, "requests go on");
    }
    wait_until("the replica took its place", || {
        replica.ask(&["ROLE"]).starts_with("master")
    });
    wait_until("a purge held on all", || {
        purge(&nodes[0], &["--wait", page]).code == Some(0)
    });
    for node in &nodes {
        assert!(!old.contains(&get(node, "/page").text()), "purged");
        wait_follows(node);
    }
    let went_on: usize = replica
        .ask(&["XLEN", "larder:purges"])
        .parse()
        .expect("a number");
    assert!(
        went_on > length.parse().expect("a number"),
        "it has all of them"
    );
}

/// Valkey carries pages, leases and purges too.
#[test]
fn valkey_is_as_good_as_redis() {
    let valkey = Redis::valkey();
    let url = valkey.url();
    let mut site = Site::at(valkey, &url, "");
    site.origin
        .otherwise(|request| counted(request).cache("max-age=3600"));
    for round in 1..=3_u64 {
        for (number, node) in site.nodes.iter().enumerate() {
            assert_eq!(get(node, "/page").text(), round.to_string());
            if number == 0 {
                wait_shared(node, round);
            }
        }
        let purged = site.purge(0, "http://site.example/page");
        assert_eq!(purged.code, Some(0), "{purged:?}");
    }
    site.redis.kill();
    assert_eq!(get(&site.nodes[0], "/page").text(), "4");
    site.redis.restart();
    for node in &site.nodes {
        wait_until("it saw that the stream was gone", || losses(node) > 0);
        wait_follows(node);
        assert_ne!(get(node, "/page").text(), "3");
    }
}

/// Replicas answer reads. One that has stopped copying still has the page from before the purge.
#[test]
fn a_replica_that_is_behind_brings_nothing_back() {
    let primary = Redis::start();
    let replica = Redis::replica(&primary);
    let url = format!("{}?replicas={}", primary.url(), replica.address());
    let site = Site::at(primary, &url, "");
    site.origin
        .otherwise(|request| counted(request).cache("max-age=3600"));
    assert_eq!(get(&site.nodes[0], "/page").text(), "1");
    wait_until("the replica had it", || {
        let name = "larder:http://site.example/page".to_owned();
        replica.keys().contains(&name)
    });
    assert!(get(&site.nodes[1], "/page").hit(), "it comes from there");
    assert_eq!(replica.ask(&["REPLICAOF", "NO", "ONE"]), "OK");
    let purged = site.purge(0, "http://site.example/page");
    assert_eq!(purged.code, Some(0), "{purged:?}");
    for node in &site.nodes {
        // The new one of another node, where the primary was asked; else its own.
        let text = get(node, "/page").text();
        assert!(["2", "3", "4"].contains(&text.as_str()), "purged: {text}");
        assert!(get(node, "/page").hit());
    }
}

/// What lies in Redis goes without us, under a name that people can read.
#[test]
fn what_is_shared_expires_and_is_small_and_can_be_listed() {
    let site = Site::start();
    let text = "All work and no play. ".repeat(10_000);
    let length = text.len();
    site.origin.on("/page", move |_| {
        Reply::ok()
            .cache("max-age=600")
            .header("Content-Type", "text/plain")
            .body(text.as_str())
    });
    get(&site.nodes[0], "/page");
    wait_shared(&site.nodes[0], 1);
    let name = "larder:http://site.example/page";
    let is_page = |key: &String| key.contains("site.example");
    let keys: Vec<_> = site.redis.keys().into_iter().filter(is_page).collect();
    assert_eq!(keys, [name]);
    let number = |command: &[&str]| -> usize { site.redis.ask(command).parse().expect("a number") };
    let left = number(&["PTTL", name]);
    assert!((1..=600_000).contains(&left), "{left} ms");
    let stored = number(&["STRLEN", name]);
    assert!(stored < length / 10, "{stored} bytes of {length}");
    let found = get(&site.nodes[1], "/page");
    assert!(found.hit() && found.body.len() == length);
}

/// Of a large page its head and each of its pieces expire, in Redis itself. What nodes hear purges by does not: without
/// it they would keep nothing.
#[test]
fn every_key_of_a_large_page_expires_and_the_log_of_purges_does_not() {
    let site = Site::start();
    let body = content("page", 1_500_000);
    let sent = body.clone();
    site.origin.on("/page", move |_| {
        Reply::ok().cache("max-age=600").body(&sent)
    });
    assert_eq!(get(&site.nodes[0], "/page").body, body);
    wait_shared(&site.nodes[0], 1);
    let purged = purge(&site.nodes[1], &["--wait", "http://site.example/other"]);
    assert_eq!(purged.code, Some(0), "{purged:?}");

    let left = |key: &String| -> i64 { site.redis.ask(&["PTTL", key]).parse().expect("a number") };
    let (pages, rest): (Vec<_>, Vec<_>) = site
        .redis
        .keys()
        .into_iter()
        .partition(|key| key.contains("site.example"));
    let name = "larder:http://site.example/page";
    let pieces = pages
        .iter()
        .filter(|key| key.starts_with(&format!("{name}#")));
    assert_eq!(pieces.count(), 6, "{pages:?}");
    assert!(pages.contains(&name.to_owned()), "{pages:?}");
    for key in &pages {
        // A lease among them is gone at once, and an expiry of none is -1.
        let left = left(key);
        assert!(
            left == -2 || (1..=620_000).contains(&left),
            "{key}: {left} ms"
        );
    }
    assert_eq!(rest, ["larder:nodes", "larder:purges"]);
    assert!(rest.iter().all(|key| left(key) == -1), "{rest:?}");
    let found = get(&site.nodes[2], "/page");
    assert!(found.hit() && found.body == body, "{}", found.said());
}

/// Redis does not keep a copy for each time that a page was fetched.
#[test]
fn chunks_of_what_was_replaced_are_gone_soon() {
    let site = Site::start();
    let body = content("page", 1_500_000);
    let sent = body.clone();
    site.origin.on("/page", move |_| {
        Reply::ok().cache("max-age=600").body(&sent)
    });
    assert_eq!(get(&site.nodes[0], "/page").body, body);
    wait_shared(&site.nodes[0], 1);
    let before = chunks(&site, "/page");
    assert_eq!(before.len(), 6, "{before:?}");
    let purged = site.purge(0, "http://site.example/page");
    assert_eq!(purged.code, Some(0), "{purged:?}");
    assert_eq!(get(&site.nodes[0], "/page").body, body);
    wait_shared(&site.nodes[0], 2);
    wait_until("the old ones were given up", || {
        before.iter().all(|key| left(&site, key) <= 10_000)
    });
    let mut stay = chunks(&site, "/page");
    stay.retain(|key| !before.contains(key));
    assert_eq!(stay.len(), 6, "{stay:?}");
    assert!(stay.iter().all(|key| left(&site, key) > 10_000));
    let found = get(&site.nodes[1], "/page");
    assert!(found.hit() && found.body == body, "{}", found.said());
}

/// Each in its own language, and of what the others get not even the bytes travel.
#[test]
fn of_large_variants_a_node_reads_the_one_that_is_asked_for() {
    let site = Site::start();
    site.origin.on("/page", |request| {
        let language = request.header("Accept-Language").unwrap_or_default();
        Reply::ok()
            .cache("max-age=600")
            .header("Vary", "Accept-Language")
            .body(language.repeat(300_000))
    });
    let ask = |node: usize, language: &str| {
        let page = site.nodes[node].get("/page");
        let page = page.header("Host", "site.example");
        page.header("Accept-Language", language).send()
    };
    let languages = ["de", "en", "fr", "it"];
    for (language, count) in languages.iter().zip(1..) {
        assert_eq!(ask(0, language).text(), language.repeat(300_000));
        wait_shared(&site.nodes[0], count);
    }
    for (language, count) in languages.iter().zip(1..) {
        site.redis.ask(&["CONFIG", "RESETSTAT"]);
        let answer = ask(1, language);
        assert!(answer.hit(), "{:?}", answer.head);
        assert_eq!(answer.text(), language.repeat(300_000));
        assert_eq!(sample(&site.nodes[1], "larder_shared_hits_total"), count);
        let asked = site.redis.ask(&["INFO", "commandstats"]);
        // The record, and the pieces of one body.
        let all = |line: &str| line.starts_with("cmdstat_getrange:calls=4,");
        assert!(asked.lines().any(all), "{asked}");
    }
    assert_eq!(site.origin.requests("/page"), 4);
    assert_eq!(ask(2, "pl").text(), "pl".repeat(300_000));
    assert_eq!(site.origin.requests("/page"), 5, "nobody else's will do");
}
