//! A device that stands still: whoever writes to it waits.

use crate::{
    common::{Said, sample},
    disk::{LARGE, Site, content, keep, same, wait_written},
    memory::used,
};
use testkit::{Command, FailingDisk, Larder, Reply, wait_until};

/// A page that another version of it has replaced is not answered again, although memory loses the newer one before it is
/// written (RFC 9111 section 4: "a cache MUST use the most recent one").
#[test]
fn nothing_older_is_answered_than_what_waits_to_be_written() {
    older_than_what_waits(|reply| reply);
}

/// Nor is one that answers the same request as another variant.
#[test]
fn nothing_older_is_answered_than_another_variant_that_waits_to_be_written() {
    older_than_what_waits(|reply| reply.header("Vary", "Accept-Language"));
}

/// `later`: what the origin adds to its answers after the first.
fn older_than_what_waits(later: fn(Reply) -> Reply) {
    let disk = FailingDisk::new();
    let site = Site::with(move |request| {
        let reply = Reply::ok().cache("max-age=600");
        match request.path() {
            "/page" if request.nth == 1 => reply.body("version 1"),
            "/page" => later(reply).body(format!("version {}", request.nth)),
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

/// However slow the device is, `memory` is a hard limit, and who asks for something else is answered.
#[test]
fn bodies_that_wait_for_the_disk_leave_room_to_others() {
    const MANY: usize = 32;
    const MEMORY: u64 = 8 << 20;
    /// What a client gets of a body whatever the device does.
    const AT_ONCE: usize = 60_000;
    let disk = FailingDisk::new();
    let body = content("all of them", LARGE);
    let large = body.clone();
    let site = Site::with(move |request| match request.path() {
        "/small" => Reply::ok().cache("no-store").body("small"),
        _ => Reply::ok().cache("max-age=600").body(&large),
    })
    .on(disk.path());
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&site.config().replace("\"4MiB\"", "\"8MiB\""))
        .start();
    larder.wait_output("disk tier loaded");
    let pages: Vec<_> = (0..MANY).map(|number| format!("/{number}")).collect();
    for page in &pages {
        larder.get(page).send();
    }
    let still = disk.stand_still();
    let mut begun: Vec<_> = pages.iter().map(|page| larder.get(page).begin()).collect();
    let mut answers: Vec<_> = begun.iter_mut().map(testkit::Client::read_head).collect();
    for (client, answer) in begun.iter_mut().zip(&mut answers) {
        client.read_body_exactly(answer, AT_ONCE);
    }
    let small = larder.get("/small").send();
    let used = used(&larder);
    drop(still);
    assert_eq!(small.status, 200, "{}", small.said());
    assert!(used <= MEMORY, "{used} bytes");
    for ((client, answer), page) in begun.iter_mut().zip(&mut answers).zip(&pages) {
        client.read_content(answer);
        same(&answer.body, &body, page);
    }
    wait_until("nothing is left", || {
        sample(&larder, "larder_in_flight_bytes") == 0
    });
}
