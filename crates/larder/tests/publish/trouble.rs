//! What cannot be done is said, and nothing that was there is harmed.

use crate::common::{BINARY, Site, html, page};
use std::{fs, os::unix::fs::symlink, process};
use testkit::{Command, Origin, Reply, SmallDisk, scratch_dir};

#[test]
fn a_page_that_breaks_off_is_not_published() {
    let site = Site::new(&[
        ("/", &["/cut", "/short", "/gone"]),
        ("/cut", &[]),
        ("/short", &[]),
    ]);
    site.origin.reply("/gone", Reply::close());
    site.publish(&[]);
    let before = site.stamp("cut.html");
    site.origin.reply("/cut", html("half").length(100).cut());
    site.origin.reply(
        "/short",
        Reply::ok()
            .header("Content-Type", "text/html")
            .chunked()
            .body("half")
            .cut(),
    );
    let done = site.publish(&[]);
    assert_eq!(done.code, Some(1));
    assert_eq!(done.stdout, "0 new, 0 changed, 1 unchanged, 3 failed\n");
    assert!(
        done.stderr
            .contains("/cut (linked on /) failed: the response was cut short"),
        "{}",
        done.stderr
    );
    assert_eq!(site.stamp("cut.html"), before);
    assert_eq!(site.text("short.html"), "");
    assert_eq!(
        site.files(),
        ["cut.html", "index.html", "short.html"],
        "no drafts are left"
    );
}

#[test]
fn an_application_that_is_down_harms_nothing() {
    let site = Site::new(&[("/", &["/a"]), ("/a", &[])]);
    site.published(&[]);
    site.origin.stop();
    let done = site.publish(&["--prune"]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr
            .contains("/ failed: the server cannot be connected to"),
        "{}",
        done.stderr
    );
    assert_eq!(site.files(), ["a.html", "index.html"]);
}

/// Files of more than so many kilobytes cannot be written, as on a disk that becomes full at that very place.
fn limited(site: &Site, kilobytes: u32) -> process::Output {
    let script = format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" \"$@\"");
    process::Command::new("bash")
        .args([
            "-c",
            &script,
            BINARY,
            "publish",
            "--from",
            &site.origin.url(),
            "--to",
        ])
        .arg(&site.folder)
        .output()
        .expect("bash")
}

#[test]
fn a_full_disk_is_said_and_loses_nothing() {
    let disk = SmallDisk::new("1m");
    let mut site = Site::new(&[("/", &["/a", "/big"]), ("/a", &[])]);
    site.folder = disk.path().join("site");
    site.origin.reply("/big", html("small"));
    site.published(&[]);
    let before = site.text(".larder-publish.json");
    site.origin.reply("/big", html(&"x".repeat(3_000_000)));
    let done = site.publish(&[]);
    let told = done.stderr;
    assert_eq!(done.code, Some(1), "{told}");
    assert!(
        told.contains("larder: cannot write") && told.contains("No space left on device"),
        "{told}"
    );
    assert!(told.contains("what was published stays"), "{told}");
    assert_eq!(site.text("big.html"), "small");
    assert_eq!(site.text(".larder-publish.json"), before);
    assert_eq!(
        fs::read_dir(site.folder.join(".larder-publish/drafts"))
            .expect("a folder")
            .count(),
        0
    );
    // With room it goes on.
    site.origin.reply("/big", html(&"x".repeat(100_000)));
    assert!(site.published(&[]).contains("1 changed"));
    assert_eq!(site.text("big.html").len(), 100_000);
}

#[test]
fn a_full_disk_while_the_manifest_is_saved_loses_nothing() {
    let site = Site::new(&[("/", &[])]);
    let links: Vec<_> = (0..200).map(|number| format!("/p{number}")).collect();
    site.origin.reply(
        "/",
        page(&links.iter().map(String::as_str).collect::<Vec<_>>()),
    );
    site.origin.otherwise(|request| html(request.path()));
    // First the journal is what has no room.
    let cannot = |kilobytes, what: &str| {
        let done = limited(&site, kilobytes);
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(1), "{told}");
        assert!(
            told.contains("cannot write") && told.contains(what),
            "{told}"
        );
    };
    cannot(16, "journal");
    // The files that were written are known to be ours.
    assert_eq!(site.publish(&[]).code, Some(0));
    let before = site.manifest();
    assert_eq!(before.len(), 201);
    // Then the manifest itself.
    site.origin.reply("/p7", html("changed"));
    cannot(16, "drafts");
    assert_eq!(
        (site.manifest(), site.text("p7.html").as_str()),
        (before, "changed")
    );
    assert!(site.published(&[]).contains("1 done before"));
    assert_eq!(site.said("/p7")["length"], 7);
}

#[test]
fn a_manifest_that_is_not_understood_is_not_overwritten() {
    let site = Site::new(&[("/", &[])]);
    site.published(&[]);
    for (text, why) in [
        ("{\"format\": 2}", "newer version"),
        ("{", "it is no manifest"),
        (
            "{\"format\":1,\"site\":\"\",\"pages\":{\"/\":{\"status\":200,\"file\":\"../../x\"}}}",
            "no file of a page",
        ),
    ] {
        fs::write(site.folder.join(".larder-publish.json"), text).expect("a file");
        let done = site.publish(&[]);
        assert_eq!(done.code, Some(1));
        assert!(
            done.stderr.contains(why) && done.stderr.contains("remove it"),
            "{}",
            done.stderr
        );
        assert_eq!(site.text(".larder-publish.json"), text);
    }
}

#[test]
fn its_own_files_are_not_written_through_links() {
    let site = Site::new(&[("/", &[])]);
    site.published(&[]);
    let other = scratch_dir().join("other");
    for own in ["journal", "lock"] {
        let own = site.folder.join(".larder-publish").join(own);
        fs::remove_file(&own).expect("a file");
        symlink(&other, &own).expect("a link");
        let refused = || {
            let done = site.publish(&[]);
            assert_eq!(done.code, Some(1));
            let told = format!(
                "{} is a link, or no file: nothing is written there",
                own.display()
            );
            assert!(done.stderr.contains(&told), "{}", done.stderr);
        };
        refused();
        assert!(!other.exists(), "nothing is created");
        fs::write(&other, "mine").expect("a file");
        refused();
        assert_eq!(fs::read_to_string(&other).expect("a file"), "mine");
        fs::remove_file(&other).expect("a file");
        fs::remove_file(&own).expect("a link");
    }
    site.published(&[]);
}

#[test]
fn wrong_use_is_said() {
    let origin = Origin::start();
    let to = scratch_dir().join("missing/site");
    let run = |more: &[&str]| {
        let to = to.display().to_string();
        let args = ["publish", "--from", &origin.url(), "--to", &to];
        Command::new(BINARY)
            .args(args)
            .args(more.iter().copied())
            .run()
    };
    let done = run(&[]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr
            .contains("missing/site: No such file or directory"),
        "{}",
        done.stderr
    );
    for more in [
        &["--host", "a b"][..],
        &["--from", "ftp://x"],
        &["--exclude", "x"],
        &["-H", "x"],
        &["-H", "Cookie: session=alice"],
        &["--header", "cookie:session=alice"],
        &["--concurrency", "0"],
    ] {
        let done = run(more);
        assert!(
            matches!(done.code, Some(1 | 2)),
            "{more:?}: {}",
            done.stderr
        );
        assert!(
            done.stderr.contains("error:") || done.stderr.contains("is not a host"),
            "{}",
            done.stderr
        );
    }
}
