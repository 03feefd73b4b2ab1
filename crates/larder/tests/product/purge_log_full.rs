//! A file system that is full under the log of purges: what would come back at a restart is told of, also where nobody
//! waits.

use crate::{
    common::{counted, sample},
    disk_purge::{ask_purge, kept},
    disk_trouble::told,
};
use serde_json::json;
use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};
use testkit::{Command, Larder, Origin, Reply, SmallDisk};

/// A Larder whose log of purges is on this disk.
fn start(small: &SmallDisk, origin: &Origin) -> Larder {
    Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&format!(
            "[[origin]]\nservers = {:?}\n[purge]\nlog = \"{}\"\n",
            origin.url(),
            small.path().join("log").display(),
        ))
        .start()
}

/// Takes all that is left of the disk.
fn fill(filler: &Path) -> File {
    let mut file = File::create(filler).expect("made");
    while file.write_all(&[0; 4096]).is_ok() {}
    file
}

/// It would be sent again for ever, and purge each time what was fetched meanwhile.
#[test]
fn another_node_is_told_that_its_purge_holds_also_where_a_restart_would_forget_it() {
    let (small, origin) = (SmallDisk::new("4m"), Origin::start());
    let larder = start(&small, &origin);
    let _file = fill(&small.path().join("filler"));
    // Longer than what is left of the log's last page.
    let tags = ["x".repeat(5000)];
    for (purge, status) in [
        (json!({ "relay": false, "tags": tags }), 500),
        (
            json!({ "relay": false, "purges": [{ "tags": tags }, { "everything": true }] }),
            200,
        ),
    ] {
        let answer = ask_purge(&larder, &purge);
        assert_eq!(answer.status, status, "{}", answer.text());
        assert_eq!(sample(&larder, "larder_purge_log_failing"), 1);
    }
}

#[test]
fn a_log_that_cannot_be_written_is_told_of_once_and_once_when_it_can() {
    let (small, origin) = (SmallDisk::new("4m"), Origin::start());
    origin.otherwise(|request| match request.method.as_str() {
        "GET" => counted(request).cache("max-age=600"),
        _ => Reply::ok(),
    });
    let larder = start(&small, &origin);
    let failing = || sample(&larder, "larder_purge_log_failing");
    assert_eq!(failing(), 0);
    let filler = small.path().join("filler");
    let file = fill(&filler);
    // Longer together than what is left of the log's last page.
    for number in 0..4 {
        let page = format!("/{number}{}", "x".repeat(4000));
        larder.get(&page).send();
        assert_eq!(larder.ask("POST", &page).send().status, 200);
        assert!(!kept(&larder, &page), "it holds");
    }
    assert_eq!(failing(), 1);
    let lines = told(&larder);
    assert!(
        matches!(&lines[..], [line] if line.contains("the log of purges cannot be written") && line.contains("No space left")),
        "{lines:#?}"
    );
    drop(file);
    fs::remove_file(filler).expect("removed");
    larder.wait_output("the log of purges can be written again");
    assert_eq!((failing(), told(&larder).len()), (0, 1));
}
