//! Purges sent on from node to node, and what is told of a node that does not take them.

use crate::{disk_purge::purge, disk_trouble::told};
use serde_json::json;
use testkit::{Command, Larder, Origin, Reply};

/// A node that sends its purges on to `peer`.
fn node(origin: &Origin, peer: &Origin) -> Larder {
    Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&format!(
            "[[origin]]\nservers = {:?}\n[purge]\npeers = {:?}\n",
            origin.url(),
            [peer.url()],
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
    let larder = node(&origin, &peer);
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
    let larder = node(&origin, &peer);
    for tag in ["a", "b"] {
        let answer = purge(&larder, &json!({ "tag": tag, "wait": true }));
        assert_eq!(answer["behind"], json!([]), "{tag}");
    }
    assert_eq!(peer.requests("/purge"), 3);
    assert_eq!(told(&larder), [""; 0]);
}
