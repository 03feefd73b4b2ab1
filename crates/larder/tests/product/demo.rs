//! `larder demo`: what a stranger sees first.

use crate::common::command;

#[test]
fn the_demo_shows_each_kind_of_answer_and_keeps_running() {
    let mut larder = command().args(["demo"]).start();
    larder.wait_output("curl");
    let said = larder.output().to_lowercase();
    for word in ["miss", "hit", "stale", "stopped", "curl"] {
        assert!(said.contains(word), "{word} is missing in: {said}");
    }
    assert!(!larder.ended(), "it keeps running");
    assert_eq!(larder.stop().code, Some(0));
}
