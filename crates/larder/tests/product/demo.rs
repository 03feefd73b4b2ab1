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
    let output = larder.output();
    let line = output.lines().find(|line| line.contains(" explain "));
    let mut words = line.expect("how to ask why").split_whitespace();
    let mut explain = std::process::Command::new(words.next().expect("a program"));
    let explained = explain.args(words).output().expect("it runs as it stands");
    assert!(explained.status.success(), "{explained:?}");
    assert!(!larder.ended(), "it keeps running");
    assert_eq!(larder.stop().code, Some(0));
}
