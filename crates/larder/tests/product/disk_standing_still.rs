//! A device that stands still: whoever writes to it waits.

use crate::{
    common::sample,
    disk::{Site, content, keep, wait_written},
};
use testkit::{FailingDisk, Larder, Reply};

/// A page that another version of it has replaced is not answered again, although memory loses the newer one before it is
/// written (RFC 9111 section 4: "a cache MUST use the most recent one").
#[test]
fn nothing_older_is_answered_than_what_waits_to_be_written() {
    let disk = FailingDisk::new();
    let site = Site::with(|request| {
        let reply = Reply::ok().cache("max-age=600");
        match request.path() {
            "/page" => reply.body(format!("version {}", request.nth)),
            other => reply.body(content(other, 60_000)),
        }
    })
    .on(disk.path());
    let version = |larder: &Larder| larder.get("/page").send().text();
    let larder = site.start();
    keep(&larder, &["/page"]);
    wait_written(&larder, 1);
    {
        let _still = disk.stand_still();
        let reload = larder.get("/page").header("Cache-Control", "no-cache");
        assert_eq!(reload.send().text(), "version 2");
        let evicted = sample(&larder, "larder_evictions_total");
        let mut others = (0..).map(|number| format!("/other/{number}"));
        while sample(&larder, "larder_evictions_total") < evicted + 200 {
            let other = others.next().expect("there is no end of them");
            for _ in 0..3 {
                larder.get(&other).send();
            }
        }
        assert_eq!(version(&larder), "version 3", "memory has lost the second");
    }
    wait_written(&larder, 3);
    assert_eq!(version(&larder), "version 3");
    assert_eq!(version(&site.restart(larder)), "version 3");
}
