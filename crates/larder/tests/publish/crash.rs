//! Ended in the middle, it goes on from there.

use crate::common::{Site, html, page, tagged};
use std::fs;
use testkit::{Gate, Origin, Reply};

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

/// Without validators they come whole each time.
#[test]
fn what_had_not_changed_is_not_fetched_again_after_a_crash() {
    let gate = Gate::new();
    let site = gated(&gate);
    gate.open();
    site.published(&[]);
    let gate = Gate::new();
    site.origin
        .reply("/last", html("the last").hold_head(&gate));
    let process = site.start(&[]);
    gate.wait_reached();
    let journal = site.folder.join(".larder-publish/journal");
    testkit::wait_until("pages were fetched", || {
        let told = fs::read_to_string(&journal).unwrap_or_default();
        ["/a", "/b", "/linked"]
            .iter()
            .all(|page| told.contains(&format!("{page:?}")))
    });
    process.kill();
    gate.open();
    let told = site.published(&[]);
    assert_eq!(told, "0 new, 0 changed, 1 unchanged, 4 done before\n");
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
fn what_only_another_run_has_fetched_is_fetched_again() {
    let gate = Gate::new();
    let site = gated(&gate);
    let process = site.start(&[]);
    written(&site, &["a.html"]);
    process.kill();
    let second = Gate::new();
    site.origin.reply("/a", html("changed").hold_head(&second));
    let process = site.start(&["/", "/a"]);
    second.wait_reached();
    process.kill();
    second.open();
    gate.open();
    site.published(&["/", "/a"]);
    assert_eq!(site.text("a.html"), "changed");
}

/// The tags of two applications may be the same.
#[test]
fn what_another_application_gave_before_the_crash_is_fetched_as_a_whole() {
    let gate = Gate::new();
    let site = gated(&gate);
    site.origin.on("/a", |request| tagged(request, "the first"));
    let process = site.start(&[]);
    written(&site, &["a.html"]);
    process.kill();
    gate.open();
    let other = Site {
        origin: Origin::start(),
        folder: site.folder.clone(),
    };
    other.origin.reply("/", page(&["/a"]));
    let second = |request: &_| tagged(request, "the second");
    other.origin.on("/a", second);
    other.published(&[]);
    assert_eq!(other.text("a.html"), "the second");
    other.published(&[]);
    assert!(other.origin.last("/a").header("if-none-match").is_some());
    assert_eq!(other.text("a.html"), "the second");
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
                {\"page\":{\"target\":\"/b\",\"page\":{\"status\":200,\"file\":\"b.html\",\"length\":3,\"hash\":\"0\"}}}\n{\"page\"";
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

/// Waits until the journal of an unfinished run says this.
fn noted(site: &Site, what: &str) {
    testkit::wait_until("the journal says it", || {
        fs::read_to_string(site.folder.join(".larder-publish/journal"))
            .is_ok_and(|text| text.contains(what))
    });
}

/// A site that was published, whose last page stops at a gate from then on.
fn published_and_gated(gate: &Gate) -> Site {
    let site = Site::new(&[("/", &["/a", "/last"]), ("/a", &[]), ("/last", &[])]);
    site.published(&[]);
    site.origin.reply("/last", html("the last").hold_head(gate));
    site
}

#[test]
fn a_page_that_has_another_file_leaves_none_behind_when_it_is_told_to_stop() {
    let gate = Gate::new();
    let site = published_and_gated(&gate);
    site.origin
        .reply("/a", Reply::status(302).header("Location", "/last"));
    let process = site.start(&[]);
    gate.wait_reached();
    noted(&site, "\"status\":302");
    process.signal("TERM");
    assert_eq!(process.end(), Some(1));
    assert_eq!(site.files(), ["index.html", "last.html"]);
    assert_eq!(site.said("/a")["status"], 302);
    gate.open();
    site.published(&[]);
    site.origin.reply("/a", html("again"));
    site.published(&[]);
    assert_eq!(site.text("a.html"), "again");
}

#[test]
fn a_page_that_has_another_file_after_each_crash_leaves_none_behind() {
    let gate = Gate::new();
    let site = published_and_gated(&gate);
    let data = || {
        Reply::ok()
            .header("Content-Type", "application/json")
            .body("1")
    };
    site.origin.reply("/a", data());
    let process = site.start(&[]);
    written(&site, &["a.json"]);
    process.kill();
    // Another run, which fetches the page again.
    site.origin
        .reply("/a", Reply::status(302).header("Location", "/last"));
    let process = site.start(&["/", "/a"]);
    noted(&site, "\"status\":302");
    process.kill();
    gate.open();
    site.published(&[]);
    assert_eq!(site.files(), ["index.html", "last.html"]);
    site.origin.reply("/a", data());
    site.published(&[]);
    assert_eq!(site.text("a.json"), "1");
}

/// Until a manifest names the new file, the page is answered with the old one.
#[test]
fn a_file_that_the_manifest_names_stays_until_the_manifest_does_not() {
    let gate = Gate::new();
    let site = published_and_gated(&gate);
    let data = Reply::ok().header("Content-Type", "application/json");
    site.origin.reply("/a", data.body("1"));
    let process = site.start(&[]);
    gate.wait_reached();
    written(&site, &["a.json"]);
    let manifest = site.folder.join(".larder-publish.json");
    let text = fs::read(&manifest).expect("a manifest");
    fs::remove_file(&manifest).expect("a manifest");
    fs::create_dir_all(manifest.join("in the way")).expect("a folder");
    gate.open();
    assert_eq!(process.end(), Some(1));
    assert!(site.folder.join("a.html").exists());
    fs::remove_dir_all(&manifest).expect("a folder");
    fs::write(&manifest, text).expect("a manifest");
    site.published(&[]);
    assert_eq!(site.files(), ["a.json", "index.html", "last.html"]);
}

#[test]
fn a_file_that_was_not_removed_before_the_crash_is_removed_later() {
    let site = Site::new(&[("/", &["/a"]), ("/a", &[])]);
    site.published(&[]);
    let before = site.text(".larder-publish.json");
    let ended = before.replacen("\"pages\"", "\"unused\": [\"old/a.json\"], \"pages\"", 1);
    fs::write(site.folder.join(".larder-publish.json"), ended).expect("a file");
    fs::create_dir(site.folder.join("old")).expect("a folder");
    fs::write(site.folder.join("old/a.json"), "1").expect("a file");
    site.published(&[]);
    assert_eq!(site.files(), ["a.html", "index.html"]);
    assert!(!site.folder.join("old").exists());
    assert_eq!(site.text(".larder-publish.json"), before);
}

#[test]
fn a_file_that_was_to_be_replaced_in_the_crash_is_still_ours() {
    let site = Site::new(&[("/", &["/a"]), ("/a", &[])]);
    site.published(&[]);
    let written = site.said("/a");
    let mut planned = written.clone();
    planned["hash"] = "0".into();
    let line = |page| serde_json::json!({"page": {"target": "/a", "page": page}}).to_string();
    let lines = format!("{}\n{}\n", line(written), line(planned));
    fs::write(site.folder.join(".larder-publish/journal"), lines).expect("a file");
    fs::remove_file(site.folder.join(".larder-publish.json")).expect("a file");
    fs::remove_file(site.folder.join("index.html")).expect("a file");
    assert_eq!(site.published(&[]), "1 new, 0 changed, 1 unchanged\n");
}
