//! Purges sent on from node to node, and what is told of a node that does not take them.

use crate::{
    common::{Said, counted},
    disk_purge::purge,
    disk_trouble::told,
};
use serde_json::json;
use testkit::{Address, Command, Larder, Origin, Reply};

/// A node that sends its purges on to the one at `peer`.
fn node(origin: &Origin, peer: &str) -> Larder {
    Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&format!(
            "[[origin]]\nservers = {:?}\n[purge]\npeers = {:?}\n",
            origin.url(),
            [peer],
        ))
        .start()
}

/// It is asked again and again: what it says goes to the log when it changes.
#[test]
fn a_node_that_does_not_take_purges_is_told_of_once_with_its_reason() {
    let (origin, peer) = (Origin::start(), Origin::start());
    peer.on("/purge", |request| match request.nth {
        1..=2 => Reply::status(503).body("{\"error\":\"its own words\"}"),
        3..=4 => Reply::status(403).body("not JSON"),
        _ => Reply::ok(),
    });
    let larder = node(&origin, &peer.url());
    purge(&larder, &json!({ "tag": "a" }));
    larder.wait_output("purges reach the peer again");
    assert_eq!(peer.requests("/purge"), 5);
    let lines = told(&larder);
    let [failed, refused] = &lines[..] else {
        panic!("{lines:#?}")
    };
    assert!(
        failed.contains("503") && failed.contains("its own words"),
        "{failed}"
    );
    assert!(
        refused.contains("403") && !refused.contains("JSON"),
        "{refused}"
    );
}

#[test]
fn a_node_that_has_closed_the_connection_gets_the_purge_over_a_new_one() {
    let (origin, peer) = (Origin::start(), Origin::start());
    peer.on("/purge", |request| match request.nth {
        2 => Reply::close(),
        _ => Reply::ok(),
    });
    let larder = node(&origin, &peer.url());
    for tag in ["a", "b"] {
        let answer = purge(&larder, &json!({ "tag": tag, "wait": true }));
        assert_eq!(answer["behind"], json!([]), "{tag}");
    }
    assert_eq!(peer.requests("/purge"), 3);
    assert_eq!(told(&larder), [""; 0]);
}

/// Each group is two names, one for either scheme: more than one request to a node may carry.
#[test]
fn a_purge_of_many_groups_leaves_other_nodes_the_rest() {
    let origin = Origin::start();
    origin.otherwise(|request| {
        let group = format!("{:?}", request.path().trim_start_matches('/'));
        counted(request)
            .cache("max-age=6000")
            .header("Cache-Groups", group)
    });
    let other = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&format!("[[origin]]\nservers = {:?}\n", origin.url()))
        .start();
    let Address::Tcp(admin) = other.admin() else {
        panic!("not TCP")
    };
    let larder = node(&origin, &format!("http://{admin}"));
    let ask = |path| other.get(path).header("Host", "example.test").send();
    for path in ["/group-19999", "/rest"] {
        assert_eq!(ask(path).text(), "1");
    }
    let groups: Vec<_> = (0..20_000).map(|group| format!("group-{group}")).collect();
    let all = json!({ "groups": groups, "host": "example.test", "wait": true });
    assert_eq!(purge(&larder, &all)["behind"], json!([]));
    assert_eq!(ask("/group-19999").text(), "2");
    assert!(ask("/rest").hit());
    assert_eq!(told(&larder), [""; 0]);
}
