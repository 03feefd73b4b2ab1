//! What a reload leaves as it is.

use crate::common::reload_as;
use testkit::{Gate, Origin, Reply, wait_until};

/// An origin that is checked each hour, and is down after the first check that fails.
fn checked(name: &str, origin: &Origin) -> String {
    format!(
        "[[origin]]\nname = {name:?}\nservers = {:?}\nhealth = {{ path = \"/health\", every = \"1h\", timeout = \"1h\", unhealthy_after = 1 }}\n",
        origin.url()
    )
}

/// A check that is under way goes on, and what was found out before counts: no server is checked anew.
#[test]
fn a_reload_leaves_the_checks_of_what_it_does_not_change() {
    let [stays, comes] = [Origin::start(), Origin::start()];
    let gate = Gate::new();
    stays.reply("/health", Reply::status(503).hold_head(&gate));
    comes.reply("/health", Reply::ok().hang());
    let routed = "[defaults]\norigin = \"stays\"\n";
    let first = checked("stays", &stays);
    let both = first.clone() + &checked("comes", &comes) + routed;
    let larder = testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&first)
        .start();
    gate.wait_reached();
    reload_as(&larder, &both, "2");
    // By then all that the reload is to start has been started.
    comes.wait_requests("/health", 1);
    reload_as(&larder, &first, "3");
    wait_until("what is gone is not checked any more", || {
        comes.abandoned("/health") == 1
    });
    gate.open();
    wait_until("the check takes the server out", || {
        larder.output().contains("server is down")
    });
    assert_eq!(stays.requests("/health"), 1);
}
