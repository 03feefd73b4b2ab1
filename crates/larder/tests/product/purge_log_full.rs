//! A file system that is full under the log of purges: what would come back at a restart is told of, also where nobody waits.

use crate::{
    common::{counted, sample},
    disk_purge::kept,
    disk_trouble::told,
};
use std::{fs, io::Write};
use testkit::{Command, Origin, Reply, SmallDisk};

#[test]
fn a_log_that_cannot_be_written_is_told_of_once_and_once_when_it_can() {
    let (small, origin) = (SmallDisk::new("4m"), Origin::start());
    origin.otherwise(|request| match request.method.as_str() {
        "GET" => counted(request).cache("max-age=600"),
        _ => Reply::ok(),
    });
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&format!(
            "[[origin]]\nservers = {:?}\n[purge]\nlog = {:?}\n",
            origin.url(),
            small.path().join("log"),
        ))
        .start();
    let failing = || sample(&larder, "larder_purge_log_failing");
    assert_eq!(failing(), 0);
    let filler = small.path().join("filler");
    let mut file = fs::File::create(&filler).expect("made");
    while file.write_all(&[0; 4096]).is_ok() {}
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
