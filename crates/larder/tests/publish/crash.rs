//! Ended in the middle, it goes on from there.

use crate::common::{Site, html, page};
use std::fs;
use testkit::Gate;

/// A site whose last page stops at a gate.
fn gated(gate: &Gate) -> Site {
    let site = Site::new(&[
        ("/", &["/a", "/b", "/last"]),
        ("/b", &["/linked"]),
        ("/linked", &[]),
    ]);
    site.origin.reply("/a", html("the first"));
    site.origin.reply("/last", html("the last").hold_head(gate));
    site
}

/// Waits until these files are there.
fn written(site: &Site, files: &[&str]) {
    testkit::wait_until("pages were written", || {
        files.iter().all(|file| site.folder.join(file).exists())
    });
}

#[test]
fn after_a_crash_it_goes_on() {
    let gate = Gate::new();
    let site = gated(&gate);
    let process = site.start(&[]);
    gate.wait_reached();
    written(&site, &["a.html", "b.html", "linked.html"]);
    process.kill();
    gate.open();
    assert!(!site.folder.join(".larder-publish.json").exists());
    let before = ["a.html", "b.html", "linked.html"].map(|file| site.stamp(file));
    let told = site.published(&[]);
    assert_eq!(told, "1 new, 0 changed, 0 unchanged, 4 done before\n");
    assert_eq!(
        ["/a", "/b", "/linked"].map(|path| site.origin.requests(path)),
        [1, 1, 1]
    );
    assert_eq!(
        ["a.html", "b.html", "linked.html"].map(|file| site.stamp(file)),
        before
    );
    assert_eq!(site.manifest().len(), 5);
    // The next run begins anew.
    assert_eq!(site.published(&[]), "0 new, 0 changed, 5 unchanged\n");
}

#[test]
fn another_run_begins_anew_and_knows_whose_files_they_are() {
    let gate = Gate::new();
    let site = gated(&gate);
    let process = site.start(&[]);
    gate.wait_reached();
    written(&site, &["a.html"]);
    process.kill();
    gate.open();
    site.origin.reply("/a", html("changed"));
    let told = site.published(&["/", "--depth", "9", "--no-follow", "/a"]);
    assert!(told.contains("1 changed"), "{told}");
    assert_eq!(site.text("a.html"), "changed");
}

#[test]
fn told_to_stop_it_stops_and_goes_on_later() {
    let gate = Gate::new();
    let site = gated(&gate);
    let process = site.start(&[]);
    gate.wait_reached();
    written(&site, &["a.html", "b.html", "linked.html"]);
    process.signal("TERM");
    assert_eq!(process.end(), Some(1));
    gate.open();
    assert!(site.published(&[]).contains("1 new"));
    assert_eq!(site.origin.requests("/a"), 1);
    assert_eq!(site.text("last.html"), "the last");
}

#[test]
fn a_crash_between_two_steps_is_mended() {
    let site = Site::new(&[("/", &["/a"]), ("/a", &[])]);
    site.published(&[]);
    // Noted as about to be put in its place, and never was; then a line that was cut short.
    let line = "{\"page\":{\"target\":\"/a\",\"page\":{\"status\":200,\"file\":\"a.html\",\"length\":3,\"hash\":\"0\"}}}\n\
                {\"page\":{\"target\":\"/b\",\"page\":{\"status\":200,\"file\":\"b.html\",\"length\":3,\"hash\":\"0\"}}}\n{\"done\"";
    fs::write(site.folder.join(".larder-publish/journal"), line).expect("a file");
    fs::write(site.folder.join(".larder-publish/drafts/7"), "half").expect("a file");
    fs::write(site.folder.join("b.html"), "mine").expect("a file");
    assert_eq!(site.published(&[]), "0 new, 0 changed, 2 unchanged\n");
    assert!(!site.folder.join(".larder-publish/drafts/7").exists());
    assert_eq!(site.text("b.html"), "mine", "it was never ours");
    assert!(!site.manifest().contains_key("/b"));
}

#[test]
fn two_at_once_are_kept_apart() {
    let gate = Gate::new();
    let site = gated(&gate);
    let process = site.start(&[]);
    gate.wait_reached();
    let done = site.publish(&[]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr
            .contains("another larder publish is at work there"),
        "{}",
        done.stderr
    );
    gate.open();
    assert_eq!(process.end(), Some(0));
    site.origin.reply("/last", page(&[]));
    assert!(site.published(&[]).contains("1 changed"));
}
