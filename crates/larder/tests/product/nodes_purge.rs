//! Several nodes: what was purged or invalidated on one, while another fetches, Redis is gone, or another Redis takes
//! its place.

use crate::{
    common::{Said, counted, sample},
    nodes::{
        NODES, Site, get, hasty_node_at, is_unsure, losses, node_at, nothing_stale_on, purge,
        wait_follows,
    },
};
use testkit::{Gate, Larder, Link, Origin, Redis, Reply, scratch_dir, wait_until};

/// Three nodes that ask a sentinel who their Redis is, and the other one that could be.
fn watched() -> (Site, Redis, Redis) {
    let primary = Redis::start();
    let replica = Redis::replica(&primary);
    let sentinel = Redis::sentinel(&primary, "pages");
    wait_until("the sentinel knew the replica", || {
        sentinel
            .ask(&["SENTINEL", "REPLICAS", "pages"])
            .contains(&replica.port().to_string())
    });
    let url = format!("redis-sentinel://{}?master=pages", sentinel.address());
    let site = Site::at(primary, &url, "");
    (site, replica, sentinel)
}

/// The last entry of the log of purges, as this Redis has it.
fn last_entry(redis: &Redis) -> String {
    let last = redis.ask(&["XREVRANGE", "larder:purges", "+", "-", "COUNT", "1"]);
    last.lines().next().unwrap_or_default().to_owned()
}

/// The primary dies, and the sentinel puts the replica in its place for all nodes.
fn fail_over(
    site: &mut Site,
    (replica, sentinel): (&Redis, &Redis),
    meanwhile: impl FnOnce(&Site),
) {
    site.redis.kill();
    meanwhile(site);
    sentinel.fail_over("pages", replica);
    for node in &site.nodes {
        wait_until("purges are taken again", || {
            purge(node, &["http://site.example/nothing"]).code == Some(0)
        });
    }
}

#[test]
fn purges_hold_over_a_failover() {
    let (site, replica, sentinel) = watched();
    nothing_stale_on(site, |site, change| {
        for round in 0..NODES {
            change(site, round);
        }
        wait_until("the replica had all purges", || {
            last_entry(&replica) == last_entry(&site.redis)
        });
        fail_over(site, (&replica, &sentinel), |site| change(site, 0));
        for round in 0..NODES {
            change(site, round);
        }
        let lost: Vec<_> = site.nodes.iter().map(losses).collect();
        assert_eq!(lost, [0; NODES], "nothing was lost, so all is kept");
    });
}

#[test]
fn a_failover_to_a_replica_that_was_behind_costs_all_that_was_kept() {
    let (mut site, replica, sentinel) = watched();
    site.origin
        .otherwise(|request| counted(request).cache("max-age=3600"));
    for path in ["/page", "/other"] {
        for node in &site.nodes {
            assert_eq!(get(node, path).text(), "1");
        }
    }
    wait_until("the replica had the page", || {
        replica
            .keys()
            .contains(&"larder:http://site.example/page".to_owned())
    });
    replica.pause();
    // What is sent to it from now on is lost with the connection.
    assert_eq!(site.redis.ask(&["CLIENT", "KILL", "TYPE", "replica"]), "1");
    let purged = site.purge(0, "http://site.example/page");
    assert_eq!(purged.code, Some(0), "{purged:?}");
    site.redis.kill();
    replica.resume();
    fail_over(&mut site, (&replica, &sentinel), |_| ());
    for node in &site.nodes {
        node.wait_output("everything stored counts as purged");
        wait_follows(node);
        for path in ["/page", "/other"] {
            assert_ne!(get(node, path).text(), "1", "{path}");
        }
    }
}

/// One that is cut off from its replicas may not be the primary any more: what others purge may never reach it.
#[test]
fn a_primary_that_takes_no_writes_is_not_trusted() {
    let primary = Redis::with(&[
        "--min-replicas-to-write",
        "1",
        "--min-replicas-max-lag",
        "1",
    ]);
    let mut replica = Redis::replica(&primary);
    let origin = Origin::start();
    origin.otherwise(|request| counted(request).cache("max-age=3600"));
    let node = node_at(&origin, &primary.url(), 0, "", "trust = \"5s\"");
    wait_follows(&node);
    assert_eq!(get(&node, "/page").text(), "1");
    assert!(get(&node, "/page").hit());
    replica.kill();
    wait_until("it did not trust what it keeps", || is_unsure(&node));
    assert_eq!(get(&node, "/page").text(), "2");
    let refused = purge(&node, &["http://site.example/page"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    replica.restart();
    wait_follows(&node);
}

/// As after a deployment. For a node that says nothing, they would wait longer than this.
#[test]
fn nobody_waits_for_a_node_that_was_stopped() {
    let mut site = Site::start();
    site.nodes.pop().expect("a node").stop();
    let purged = purge(&site.nodes[0], &["--wait=5s", "--all"]);
    assert_eq!(purged.code, Some(0), "{purged:?}");
}

/// Before the head has come, and before the body is whole.
#[test]
fn a_fetch_under_way_on_another_node_does_not_bring_back_what_was_purged() {
    let page = |version: &str| {
        Reply::ok()
            .cache("max-age=3600")
            .header("Surrogate-Key", "p-1")
            .length(2)
            .body(version)
    };
    for args in [
        ["--wait", "http://site.example/page"],
        ["--wait", "--tag=p-1"],
        ["--wait", "--all"],
    ] {
        for head in [true, false] {
            let site = Site::start();
            let gate = Gate::new();
            let held = gate.clone();
            site.origin.on("/page", move |request| match request.nth {
                1 if head => page("1\n").hold_head(&held),
                1 => page("1").hold(&held).body("\n"),
                nth => page(&format!("{nth}\n")),
            });
            let begin = |node: &Larder| {
                let ask = node.get("/page").header("Host", "site.example");
                ask.begin()
            };
            let mut before = begin(&site.nodes[1]);
            gate.wait_reached();
            let purged = purge(&site.nodes[0], &args);
            assert_eq!(purged.code, Some(0), "{args:?}: {purged:?}");
            // It looks for what the first one fetches, and must not have that.
            let mut after = begin(&site.nodes[0]);
            wait_until("it waited", || {
                sample(&site.nodes[0], "larder_shared_waits_total") == 1
            });
            gate.open();
            assert_eq!(before.read().text(), "1\n", "who asked before may have it");
            assert_eq!(after.read().text(), "2\n", "{args:?}");
            wait_until("the others could find it", || {
                sample(&site.nodes[0], "larder_shared_stored_total") == 1
            });
            for node in &site.nodes {
                assert_eq!(get(node, "/page").text(), "2\n", "{args:?}");
            }
        }
    }
}

/// A page that a `POST` changes.
fn changing(origin: &Origin) {
    origin.otherwise(|request| match request.method.as_str() {
        "GET" => counted(request).cache("max-age=3600"),
        _ => Reply::status(204),
    });
}

fn change(node: &Larder) {
    let ask = node.ask("POST", "/page").header("Host", "site.example");
    assert_eq!(ask.body("new").send().status, 204);
}

/// Whoever sent the `POST` was told that it is done: the other nodes hear of it, whatever happens to this one.
#[test]
fn what_was_invalidated_while_redis_was_out_of_reach_reaches_the_others_after_a_crash() {
    let mut site = Site::start();
    changing(&site.origin);
    let link = Link::to(&site.redis.address());
    let more = format!("purge.log = {:?}", scratch_dir().display().to_string());
    let url = format!("redis://{}", link.address());
    site.nodes[0] = hasty_node_at(&site.origin, &url, 0, &more, "");
    wait_follows(&site.nodes[0]);
    for node in &site.nodes {
        assert_eq!(get(node, "/page").text(), "1");
    }
    wait_until("its lease was given back", || {
        let keys = site.redis.keys();
        keys.iter().filter(|key| key.contains("/page")).count() == 1
    });
    link.cut();
    change(&site.nodes[0]);
    site.nodes.remove(0).kill();

    let back = node_at(&site.origin, &site.redis.url(), 0, &more, "");
    wait_follows(&back);
    site.nodes.insert(0, back);
    for node in &site.nodes {
        wait_until("it heard of the change", || {
            get(node, "/page").text() != "1"
        });
    }
}

/// A node that has never read the stream, for Redis is down when it starts, tells the others too, over a restart.
#[test]
fn what_was_invalidated_on_a_node_that_never_saw_redis_reaches_the_others_after_a_restart() {
    let mut site = Site::start();
    changing(&site.origin);
    for node in &site.nodes {
        assert_eq!(get(node, "/page").text(), "1");
    }
    let more = format!("purge.log = {:?}", scratch_dir().display().to_string());
    let link = Link::to(&site.redis.address());
    link.cut();
    let new = hasty_node_at(
        &site.origin,
        &format!("redis://{}", link.address()),
        9,
        &more,
        "",
    );
    change(&new);
    new.stop();
    let back = node_at(&site.origin, &site.redis.url(), 9, &more, "");
    wait_follows(&back);
    site.nodes.push(back);
    for node in &site.nodes {
        wait_until("it heard of the change", || {
            get(node, "/page").text() != "1"
        });
        assert_eq!(losses(node), 0, "and of nothing else");
    }
}

/// An invalidation holds on its own node before it stands in the log that nodes share; that it comes back from there
/// costs nothing.
#[test]
fn what_was_fetched_after_an_invalidation_stays_when_that_comes_back() {
    let mut site = Site::start();
    changing(&site.origin);
    let link = Link::to(&site.redis.address());
    let url = format!("redis://{}", link.address());
    site.nodes[0] = hasty_node_at(&site.origin, &url, 0, "", "trust = \"1h\"");
    wait_follows(&site.nodes[0]);
    assert_eq!(get(&site.nodes[0], "/page").text(), "1");
    let before = last_entry(&site.redis);
    link.cut();
    change(&site.nodes[0]);
    assert_eq!(get(&site.nodes[0], "/page").text(), "3");
    link.mend();
    wait_until("it was read back", || {
        let last = last_entry(&site.redis);
        let said = site.redis.ask(&["HGET", "larder:nodes", "node-0"]);
        last != before && said.starts_with(&format!("{last} "))
    });
    let answer = get(&site.nodes[0], "/page");
    assert!(answer.hit() && answer.text() == "3", "{}", answer.said());
    for node in &site.nodes[1..] {
        wait_until("the others hear of it", || get(node, "/page").text() != "1");
    }
}
