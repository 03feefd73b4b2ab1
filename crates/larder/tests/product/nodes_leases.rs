//! Several nodes: who waits while one of them fetches for all, and for what.

use crate::{
    common::{Said, sample},
    nodes::{NODES, Site, purge},
    nodes_apart::wait_shared,
};
use testkit::{Ask, Client, Gate, Larder, Reply, Request, wait_until};

/// How many requests of all nodes have waited for another's fetch.
fn waits(site: &Site) -> u64 {
    let waits = |node| sample(node, "larder_shared_waits_total");
    site.nodes.iter().map(waits).sum()
}

/// `path` as this user asks for it.
fn ask_as(node: &Larder, path: &str, user: &str) -> Ask<Client> {
    let ask = node.get(path).header("Host", "site.example");
    ask.header("User", user)
}

/// A page of its own for each user, whose name it is.
fn page(request: &Request) -> Reply {
    let reply = Reply::ok().cache("max-age=3600").header("Vary", "User");
    let user = request.header("User").unwrap_or_default();
    reply.header("ETag", format!("\"{user}\"")).body(user)
}

/// Each user has a page of its own; that of `held` stops at the gate when its head has come.
fn site_of_users(gate: &Gate) -> Site {
    let site = Site::start();
    let gate = gate.clone();
    site.origin.otherwise(move |request| {
        let reply = page(request);
        match request.header("User") {
            Some("held") => reply.length(8).hold(&gate).body("more"),
            _ => reply,
        }
    });
    site
}

/// On the node that fetches, and on another.
#[test]
fn who_wants_another_variant_waits_for_nobody() {
    let gate = Gate::new();
    let site = site_of_users(&gate);
    for (path, other) in [("/same", 0), ("/other", 1)] {
        assert_eq!(ask_as(&site.nodes[0], path, "first").send().text(), "first");
        wait_until("it was shared", || {
            site.redis.keys().iter().any(|key| key.ends_with(path))
        });
        let mut held = ask_as(&site.nodes[0], path, "held").begin();
        held.read_head();
        let answer = ask_as(&site.nodes[other], path, "another").send();
        assert_eq!(answer.text(), "another", "{path}: {}", answer.said());
    }
    gate.open();
    assert_eq!(waits(&site), 0);
}

/// Each is confirmed by itself.
#[test]
fn who_has_another_variant_confirmed_waits_for_nobody() {
    let gate = Gate::new();
    let site = Site::start();
    let closed = gate.clone();
    site.origin.on("/page", move |request| {
        let reply = page(request);
        match (request.header("If-None-Match"), request.header("User")) {
            (None, _) => reply,
            (Some(_), Some("held")) => Reply::status(304).hold_head(&closed),
            (Some(_), _) => Reply::status(304),
        }
    });
    for (count, user) in [(1, "held"), (2, "another"), (3, "third")] {
        assert_eq!(ask_as(&site.nodes[0], "/page", user).send().text(), user);
        wait_shared(&site.nodes[0], count);
    }
    let purged = purge(
        &site.nodes[0],
        &["--wait", "--soft", "http://site.example/page"],
    );
    assert_eq!(purged.code, Some(0), "{purged:?}");
    let mut held = ask_as(&site.nodes[0], "/page", "held").begin();
    gate.wait_reached();
    for (node, user) in site.nodes.iter().zip(["another", "third"]) {
        let answer = ask_as(node, "/page", user).send();
        assert_eq!(answer.text(), user, "{}", answer.said());
    }
    gate.open();
    assert_eq!(held.read().text(), "held");
    assert_eq!(waits(&site), 0);
}

/// It is not known what selects variants until the first has come.
#[test]
fn a_first_visit_costs_one_fetch_for_each_variant_on_all_nodes() {
    let site = Site::start();
    let (first, rest) = (Gate::new(), Gate::new());
    let gates = (first.clone(), rest.clone());
    site.origin.on("/page", move |request| {
        let gate = if request.nth == 1 { &gates.0 } else { &gates.1 };
        page(request).hold_head(gate)
    });
    let ask = |node: usize, user| {
        let client = ask_as(&site.nodes[node], "/page", user).begin();
        (client, user)
    };
    let mut asked = vec![ask(0, "a")];
    first.wait_reached();
    asked.extend((1..NODES).map(|node| ask(node, "b")));
    wait_until("the other nodes waited", || waits(&site) == 2);
    asked.extend((0..NODES).flat_map(|node| ["a", "b"].map(|user| ask(node, user))));
    first.open();
    rest.open();
    for (mut client, user) in asked {
        assert_eq!(client.read().text(), user);
    }
    let fetched = site.origin.recorded("/page");
    let fetched: Vec<_> = fetched.iter().map(|it| it.header("User")).collect();
    assert_eq!(fetched, [Some("a"), Some("b")]);
}

/// Nodes do not share them.
#[test]
fn who_wants_another_part_waits_for_nobody() {
    let site = Site::start();
    let gate = Gate::new();
    let closed = gate.clone();
    site.origin.otherwise(move |request| {
        let asked = request.header("Range").unwrap_or_default();
        let span = asked.trim_start_matches("bytes=");
        let part = Reply::status(206)
            .cache("max-age=3600")
            .header("ETag", "\"a\"")
            .header("Content-Range", format!("bytes {span}/1000"))
            .body("0123456789");
        match span {
            "100-109" => part.hold_head(&closed),
            _ => part,
        }
    });
    let ask = |node: usize, path, span| {
        let ask = site.nodes[node].get(path).header("Host", "site.example");
        ask.header("Range", format!("bytes={span}"))
    };
    let mut held = Vec::new();
    for (path, other) in [("/same", 0), ("/other", 1)] {
        assert_eq!(ask(0, path, "0-9").send().status, 206);
        held.push(ask(0, path, "100-109").begin());
        gate.wait_reached_by(held.len());
        let answer = ask(other, path, "200-209").send();
        assert_eq!(answer.status, 206, "{path}: {}", answer.said());
    }
    gate.open();
    for mut client in held {
        assert_eq!(client.read().status, 206);
    }
    assert_eq!(waits(&site), 0);
}
