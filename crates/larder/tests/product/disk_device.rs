//! A device that is full when something is purged, or that cannot be read.

use crate::{
    common::{counted, sample},
    disk::{LARGE, Site, content, keep, same},
    disk_purge::{ask_purge, kept},
    disk_trouble::told,
};
use serde_json::json;
use std::{fs, io::Write as _};
use testkit::{Larder, Reply, SmallDisk};

#[test]
fn a_purge_that_cannot_be_remembered_is_not_acknowledged() {
    let small = SmallDisk::new("4m");
    let site = Site::with(|request| {
        counted(request)
            .cache("max-age=600")
            .header("Surrogate-Key", "home")
    })
    .on(small.path());
    let larder = site.start();
    keep(&larder, &["/"]);
    larder.stop();
    let larder = site.start();
    assert!(kept(&larder, "/"), "it lies on disk");
    let filler = small.path().join("filler");
    let mut file = fs::File::create(&filler).expect("a file");
    while file.write_all(&[1; 4096]).is_ok() {}
    // More than there is room for behind the end of the log.
    let mut tags: Vec<_> = (0..200)
        .map(|number| format!("tag-{number:0100}"))
        .collect();
    tags.push("home".to_owned());
    let purge = json!({ "tags": tags });
    let answer = ask_purge(&larder, &purge);
    assert_eq!(answer.status, 500, "{}", answer.text());
    assert!(!kept(&larder, "/"), "it holds here all the same");
    let answer = larder.ask("PURGE", "/").send();
    assert_eq!(answer.status, 500, "{}", answer.text());
    drop(file);
    fs::remove_file(&filler).expect("removed");
    let answer = ask_purge(&larder, &purge);
    assert_eq!(answer.status, 200, "{}", answer.text());
    larder.kill();
    assert!(!kept(&site.start(), "/"));
}

#[test]
fn what_cannot_be_read_is_fetched() {
    let site = Site::with(|request| {
        Reply::ok()
            .cache("max-age=600")
            .body(content(request.path(), LARGE))
    });
    let paths: Vec<_> = (0..12).map(|number| format!("/large/{number}")).collect();
    let judge = |larder: &Larder, path: &str| {
        let answer = larder.get(path).send();
        assert!(answer.complete && answer.status == 200, "{path}");
        same(&answer.body, &content(path, LARGE), path);
    };
    let larder = site.start();
    for path in &paths {
        for _ in 0..2 {
            judge(&larder, path);
        }
    }
    larder.stop();
    let files = site.large_files();
    assert!(files.len() >= 10, "{files:?}");
    for file in files {
        // It opens, and every read of it is an error.
        fs::remove_file(&file).expect("removed");
        fs::create_dir(&file).expect("a directory");
    }
    let larder = site.start();
    for path in &paths {
        judge(&larder, path);
    }
    assert!(sample(&larder, "larder_disk_errors_total") > 0);
    // The heads can be read: not all of the device is out of order.
    larder.wait_output("could not be read: Is a directory");
    assert_eq!(told(&larder).len(), 1, "{:#?}", told(&larder));
}
