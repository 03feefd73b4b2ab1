//! Several nodes: who waits while one of them fetches for all, and for what.

use crate::{
    common::{Said, sample},
    leaks::whose,
    nodes::{NODES, Site, node, purge, wait_follows},
    nodes_apart::wait_shared,
};
use std::{
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};
use testkit::{
    Address, Ask, Client, Command, Gate, Larder, Origin, Redis, Reply, Request, wait_until,
};

/// How many requests of all nodes have waited for another's fetch.
fn waits(site: &Site) -> u64 {
    let waits = |node| sample(node, "larder_shared_waits_total");
    site.nodes.iter().map(waits).sum()
}

/// How many requests of these nodes have waited for another's fetch in vain.
pub(crate) fn waits_in_vain(nodes: &[Larder]) -> u64 {
    let waits = |node| sample(node, "larder_shared_waits_in_vain_total");
    nodes.iter().map(waits).sum()
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

/// Who follows another request's fetch does so for as long as a test takes.
fn patient_site() -> Site {
    let redis = Redis::start();
    let url = redis.url();
    Site::at(redis, &url, "[defaults]\ncollapse_wait = \"10m\"\n")
}

/// The first request for `/page` waits for one gate, all others for another.
fn held_site(first: &Gate, rest: &Gate) -> Site {
    let site = patient_site();
    let gates = (first.clone(), rest.clone());
    site.origin.on("/page", move |request| {
        let gate = if request.nth == 1 { &gates.0 } else { &gates.1 };
        page(request).hold_head(gate)
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
    let (first, rest) = (Gate::new(), Gate::new());
    let site = held_site(&first, &rest);
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

/// What the first answer tells, the other node finds in Redis: there, too, each goes on for itself.
#[test]
fn who_follows_a_request_that_waits_for_another_node_waits_for_no_other_variant() {
    let (first, rest) = (Gate::new(), Gate::new());
    let site = held_site(&first, &rest);
    let mut asked = vec![(ask_as(&site.nodes[0], "/page", "a").begin(), "a")];
    first.wait_reached();
    for user in ["b", "c", "d"] {
        asked.push((ask_as(&site.nodes[1], "/page", user).begin(), user));
        wait_until("one of them waited", || waits(&site) == 1);
    }
    first.open();
    rest.wait_reached_by(3);
    let leases = sample(&site.nodes[1], "larder_shared_leases_total");
    assert_eq!((leases, waits(&site)), (3, 1), "each fetches for all nodes");
    rest.open();
    for (mut client, user) in asked {
        assert_eq!(client.read().text(), user);
    }
    assert_eq!(site.origin.requests("/page"), 4);
}

/// What the answers to users but the first say besides. The last may be shared by those who are the same user.
const SAID: [(&str, &str); 6] = [
    ("Cache-Control", "private"),
    ("Cache-Control", "no-store"),
    ("Set-Cookie", "s=1"),
    ("Vary", "*"),
    ("Vary", "Cookie"),
    ("Vary", "User"),
];

/// Whatever becomes of the answer for which a flight goes on, and if its page is purged meanwhile.
#[test]
fn who_follows_a_request_that_waits_for_another_node_gets_nobody_elses_page() {
    let (site, version) = (patient_site(), Arc::new(AtomicU64::new(1)));
    let gates = SAID.map(|_| [Gate::new(), Gate::new()]);
    let (closed, is) = (gates.clone(), version.clone());
    site.origin.otherwise(move |request| {
        let number: usize = request.path()[1..].parse().expect("a number");
        let user = request.header("User").unwrap_or_default();
        let (first, rest) = (&closed[number][0], &closed[number][1]);
        let text = format!("{user} {} {}", whose(request), is.load(SeqCst));
        let reply = Reply::ok().header("Vary", "User").body(text);
        match (request.nth, SAID[number]) {
            (1, _) => reply.cache("max-age=3600").hold_head(first),
            (_, (name, value)) => {
                let reply = reply.header(name, value).cache("max-age=3600");
                reply.hold_head(rest)
            }
        }
    });
    for (number, (name, value)) in SAID.into_iter().enumerate() {
        let path = format!("/{number}");
        let ask = |node: usize, (user, id): (&str, &str)| {
            let ask = ask_as(&site.nodes[node], &path, user);
            ask.header("Cookie", id).begin()
        };
        let [first, rest] = &gates[number];
        let (before, waited) = (version.load(SeqCst), waits(&site));
        let mut asked = vec![(ask(0, ("a", "id=0")), ("a", "id=0"))];
        first.wait_reached();
        for who in [("b", "id=1"), ("c", "id=2"), ("b", "id=3"), ("d", "id=4")] {
            asked.push((ask(1, who), who));
            wait_until("one of them waited", || waits(&site) > waited);
        }
        first.open();
        rest.wait_reached_by(3);
        version.store(before + 1, SeqCst);
        let url = format!("http://site.example{path}");
        let purged = purge(&site.nodes[2], &["--wait", &url]);
        assert_eq!(purged.code, Some(0), "{purged:?}");
        let late = [("b", "id=5"), ("e", "id=6")].map(|who| (ask(1, who), who));
        rest.open();
        for (is_late, (mut client, (user, id))) in asked
            .into_iter()
            .map(|it| (false, it))
            .chain(late.into_iter().map(|it| (true, it)))
        {
            let text = client.read().text();
            let told: Vec<_> = text.split(' ').collect();
            let what = format!("{user} {id} got {text:?}, {name}: {value}");
            assert_eq!(told[0], user, "{what}");
            assert!(told[1] == id || (name, value) == ("Vary", "User"), "{what}");
            assert!(!is_late || told[2] == (before + 1).to_string(), "{what}");
        }
    }
}

/// It brings the whole page, whichever part the client wanted.
#[test]
fn a_refresh_under_way_is_not_begun_again_by_who_wants_a_part() {
    let (origin, redis, gate) = (Origin::start(), Redis::start(), Gate::new());
    let node = node(&origin, &redis, 0, "");
    wait_follows(&node);
    let closed = gate.clone();
    origin.on("/page", move |request| {
        let reply = Reply::ok().cache("max-age=60, stale-while-revalidate=600");
        match request.nth {
            1 => reply.header("Age", "70").body("0123456789"),
            _ => reply.hold_head(&closed).body("0123456789"),
        }
    });
    let _ = node.get("/page").send();
    wait_shared(&node, 1);
    for _ in 0..2 {
        let part = node.get("/page").header("Range", "bytes=0-3").send();
        assert_eq!((part.status, part.text().as_str()), (206, "0123"));
        gate.wait_reached();
    }
    assert_eq!(sample(&node, "larder_refreshes_total"), 1);
    gate.open();
}

/// Their patience is for a fetch that has begun.
#[test]
fn who_waits_for_another_node_with_others_does_not_lose_patience() {
    let (first, rest) = (Gate::new(), Gate::new());
    let redis = Redis::start();
    let url = redis.url();
    let site = Site::at(redis, &url, "[defaults]\ncollapse_wait = \"50ms\"\n");
    let gates = (first.clone(), rest.clone());
    site.origin
        .on("/page", move |request| page(request).hold_head(&gates.0));
    site.origin
        .on("/other", move |request| page(request).hold_head(&gates.1));
    let ask = |node: usize, path| ask_as(&site.nodes[node], path, "a").begin();
    let mut clients = vec![ask(0, "/page")];
    first.wait_reached();
    clients.extend((0..8).map(|_| ask(1, "/page")));
    let mut others = vec![ask(1, "/other")];
    rest.wait_reached();
    others.push(ask(1, "/other"));
    // It follows a fetch of its own node, and has lost its patience by now.
    rest.wait_reached_by(2);
    first.open();
    for mut client in clients {
        assert_eq!(client.read().text(), "a");
    }
    assert_eq!(site.origin.requests("/page"), 1);
    rest.open();
    for mut client in others {
        client.read();
    }
}

/// As if it had been in the node's own memory.
#[test]
fn what_is_found_stale_elsewhere_is_refreshed() {
    let site = patient_site();
    site.origin.on("/page", |request| {
        let page = page(request).cache("max-age=60, stale-while-revalidate=600");
        match request.nth {
            1 => page.header("Age", "100"),
            _ => page,
        }
    });
    let ask = |node: usize| ask_as(&site.nodes[node], "/page", "a").send();
    assert!(!ask(0).hit());
    wait_shared(&site.nodes[0], 1);
    let found = ask(1);
    assert!(found.hit(), "{}", found.said());
    wait_until("it is fetched again", || site.origin.requests("/page") == 2);
}

/// What another node fetches is not good enough for it.
#[test]
fn who_wants_the_origins_own_answer_waits_for_nobody() {
    let (first, rest) = (Gate::new(), Gate::new());
    let site = held_site(&first, &rest);
    rest.open();
    let mut held = ask_as(&site.nodes[0], "/page", "a").begin();
    first.wait_reached();
    for (name, value) in [
        ("Cache-Control", "no-cache"),
        ("Cache-Control", "max-age=0"),
        ("Pragma", "no-cache"),
    ] {
        let reload = ask_as(&site.nodes[1], "/page", "a").header(name, value);
        assert_eq!(reload.send().text(), "a");
    }
    assert_eq!(waits(&site), 0);
    first.open();
    held.read();
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

/// The first answer to each path stops at one gate, all others at another. Each says how often its path was asked for.
fn twice_held_site(gates: &[Gate; 2]) -> Site {
    let (site, gates) = (patient_site(), gates.clone());
    site.origin.otherwise(move |request| {
        if request.method == "POST" {
            return Reply::status(204);
        }
        let reply = Reply::ok().cache("max-age=3600").header("ETag", "\"a\"");
        let reply = reply.header("Surrogate-Key", "tagged");
        let reply = reply.body(request.nth.to_string());
        reply.hold_head(&gates[usize::from(request.nth > 1)])
    });
    site
}

/// One fetch for all nodes, as if no other were under way. What the other brings is given to those alone who asked before.
#[test]
fn who_asks_after_a_purge_waits_for_no_fetch_from_before_it() {
    let page = "http://site.example/page";
    for (on, args) in [
        (0, &[page][..]),
        (1, &[page]),
        (1, &["--soft", page]),
        (1, &["--all"]),
        (0, &["POST"]),
        (1, &["POST"]),
    ] {
        let gates = [Gate::new(), Gate::new()];
        let site = twice_held_site(&gates);
        let is_post = args == ["POST"];
        let ask = |node: &Larder| {
            let ask = node.get("/page").header("Host", "site.example");
            ask.begin()
        };
        let mut before = ask(&site.nodes[0]);
        gates[0].wait_reached();
        if is_post {
            let post = site.nodes[on].ask("POST", "/page").body("x");
            assert_eq!(post.header("Host", "site.example").send().status, 204);
            site.purge(on, "http://site.example/later");
        } else {
            let purged = purge(&site.nodes[on], &[&["--wait"], args].concat());
            assert_eq!(purged.code, Some(0), "{args:?}: {purged:?}");
        }
        let mut after: Vec<_> = site.nodes.iter().map(ask).collect();
        gates[1].wait_reached();
        wait_until("the others waited for that", || waits(&site) == 3);
        gates[0].open();
        assert_eq!(before.read().text(), "1", "{args:?}");
        gates[1].open();
        for client in &mut after {
            let text = if is_post { "3" } else { "2" };
            assert_eq!(client.read().text(), text, "{args:?}");
        }
        wait_until("the lease was given back", || {
            let keys = site.redis.keys();
            !keys.iter().any(|key| key.contains("#lease"))
        });
        for node in &site.nodes {
            assert!(ask(node).read().hit(), "{args:?}");
        }
        let fetched = 2 + usize::from(is_post);
        assert_eq!(site.origin.requests("/page"), fetched, "{args:?}");
    }
}

/// What is there, and is confirmed, has the tags that the answer will have.
#[test]
fn who_asks_after_a_purge_by_tag_does_not_wait_until_what_it_covers_is_confirmed() {
    let gates = [Gate::new(), Gate::new()];
    let site = twice_held_site(&gates);
    gates[0].open();
    for node in &site.nodes[..2] {
        let first = node.get("/page").header("Host", "site.example").send();
        assert_eq!(first.text(), "1");
    }
    let purged = purge(
        &site.nodes[0],
        &["--wait", "--soft", "http://site.example/page"],
    );
    assert_eq!(purged.code, Some(0), "{purged:?}");
    let ask = |node: usize| {
        let ask = site.nodes[node].get("/page").header("Host", "site.example");
        ask.begin()
    };
    let mut before = ask(0);
    gates[1].wait_reached();
    let purged = purge(&site.nodes[0], &["--wait", "--tag", "tagged"]);
    assert_eq!(purged.code, Some(0), "{purged:?}");
    let mut after = ask(1);
    gates[1].wait_reached_by(2);
    gates[1].open();
    assert_eq!(after.read().text(), "3");
    assert_eq!(waits_in_vain(&site.nodes), 0);
    before.read();
}

/// No client waits for either, and what comes is refreshed again.
#[test]
fn a_refresh_waits_for_that_of_another_node_though_it_was_softly_purged() {
    let (site, gate) = (patient_site(), Gate::new());
    let closed = gate.clone();
    site.origin.on("/page", move |request| {
        let reply = Reply::ok().cache("max-age=60, stale-while-revalidate=600");
        match request.nth {
            1 => reply.header("Age", "70"),
            _ => reply.hold_head(&closed),
        }
    });
    let ask = |node: usize, path: &str| {
        let ask = site.nodes[node].get(path).header("Host", "site.example");
        ask.send()
    };
    ask(0, "/page");
    wait_shared(&site.nodes[0], 1);
    assert!(ask(0, "/page").hit());
    gate.wait_reached();
    let purged = purge(
        &site.nodes[0],
        &["--wait", "--soft", "http://site.example/page"],
    );
    assert_eq!(purged.code, Some(0), "{purged:?}");
    assert!(ask(1, "/page").hit());
    wait_until("its refresh waited", || waits(&site) == 1);
    // It looks again and again meanwhile.
    for number in 0..20 {
        ask(1, &format!("/{number}"));
    }
    let hits = || sample(&site.nodes[1], "larder_shared_hits_total");
    let before = hits();
    gate.open();
    wait_until("its refresh found the other's", || hits() > before);
    assert_eq!(site.origin.requests("/page"), 2);
}

/// Bodies of more than 1 KiB are not shared, and under this path those of more than half of that are not even kept.
fn node_of_little(origin: &Origin, redis: &Redis, number: usize) -> Larder {
    let (origin, redis) = (origin.url(), redis.url());
    let node = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&format!(
            "[[origin]]\nservers = {origin:?}\n[[route]]\npath = \"/spilled\"\nlargest_body = \"512B\"\n\
             [shared]\nurl = {redis:?}\nnode = \"node-{number}\"\ntimeout = \"20s\"\nlease = \"10m\"\n\
             largest_body = \"1KiB\"\n"
        ))
        .start();
    wait_follows(&node);
    node
}

/// It is of no use to them, and they need not wait until it has come.
#[test]
fn nobody_waits_for_a_body_that_nodes_do_not_share() {
    let (origin, redis, gate) = (Origin::start(), Redis::start(), Gate::new());
    let nodes = [0, 1].map(|number| node_of_little(&origin, &redis, number));
    let closed = gate.clone();
    origin.otherwise(move |request| {
        let reply = Reply::ok().cache("max-age=3600");
        let of = |come: usize, rest: usize, reply: Reply| {
            let reply = reply.body("x".repeat(come)).hold(&closed);
            reply.body("x".repeat(rest))
        };
        match request.path() {
            "/long" => of(10, 1990, reply.length(2000)),
            "/grown" => of(1500, 500, reply.chunked()),
            _ => of(800, 100, reply.chunked()),
        }
    });
    let mut asked = Vec::new();
    for path in ["/long", "/grown", "/spilled"] {
        let ask = |node: &Larder| node.get(path).header("Host", "site.example").begin();
        let mut first = ask(&nodes[0]);
        first.read_head();
        asked.extend([first, ask(&nodes[1])]);
        origin.wait_requests(path, 2);
    }
    assert_eq!(sample(&nodes[0], "larder_fills_failed_total"), 0);
    gate.open();
}

/// Twenty pages that are shared and twenty that are not, under way when the node is told to stop.
#[test]
fn who_stops_shares_what_has_come_and_gives_its_leases_back() {
    let (origin, redis, gate) = (Origin::start(), Redis::start(), Gate::new());
    let mut stopped = node(&origin, &redis, 0, "");
    wait_follows(&stopped);
    let closed = gate.clone();
    origin.otherwise(move |request| {
        let lifetime = if request.path().starts_with("/kept") {
            "max-age=3600"
        } else {
            "no-store"
        };
        let page = Reply::ok().cache(lifetime).body("page");
        page.hold_head(&closed)
    });
    let paths =
        (0..20).flat_map(|number| ["kept", "passed"].map(|kind| format!("/{kind}/{number}")));
    let mut asked: Vec<_> = paths.map(|path| stopped.get(&path).begin()).collect();
    gate.wait_reached_by(asked.len());
    stopped.terminate();
    let Address::Tcp(address) = stopped.address() else {
        panic!("a port");
    };
    wait_until("it took no connections", || {
        TcpStream::connect(address).is_err()
    });
    gate.open();
    for client in &mut asked {
        assert_eq!(client.read().text(), "page");
    }
    assert_eq!(stopped.wait().code, Some(0));
    let mut left = redis.keys();
    left.retain(|key| key.contains("example.test"));
    let is_page = |key: &String| key.contains("/kept/") && !key.contains('#');
    assert!(left.len() == 20 && left.iter().all(is_page), "{left:#?}");
}
