//! A disk that is full in the middle of a body: every client that is at it gets all of it.

use crate::{
    common::Said,
    disk::{LARGE, Site, content, same},
};
use std::thread;
use testkit::{Client, Gate, Reply, Response, SmallDisk};

/// More than the disk has room for, and than sockets hold beside that.
const SIZE: usize = 8 * LARGE;

/// What is still to come of an answer whose head was read.
fn rest(mut client: Client, mut answer: Response, who: &str) {
    client.read_content(&mut answer);
    assert!(answer.complete, "{who}: {} bytes", answer.body.len());
    same(&answer.body, &content("page 2", SIZE), who);
}

#[test]
fn who_reads_a_body_when_the_disk_is_full_gets_all_of_it() {
    let (small, gate) = (SmallDisk::new("16m"), Gate::new());
    let site = Site::new("").on(small.path());
    let held = gate.clone();
    site.origin.on("/", move |request| {
        let body = content(&format!("page {}", request.nth), SIZE);
        let reply = Reply::ok().cache("max-age=600").length(SIZE);
        if request.nth == 2 {
            let (first, rest) = body.split_at(LARGE);
            reply.body(first).hold(&held).body(rest)
        } else {
            reply.body(body)
        }
    });
    let larder = site.start();
    larder.get("/").send();
    // It goes to disk now, while it is sent: to who asked, and to who follows.
    let mut first = larder.get("/").begin();
    let answer = first.read_head();
    gate.wait_reached();
    let [mut behind, mut near] = [(); 2].map(|()| larder.get("/").begin());
    let followed = [&mut behind, &mut near].map(Client::read_head);
    assert_eq!(site.origin.requests("/"), 2, "one fetch for all");
    let [head_behind, head_near] = followed;
    thread::scope(|scope| {
        scope.spawn(|| rest(near, head_near, "who reads along"));
        gate.open();
        larder.wait_output("No space left on device");
        // Till then those two took what sockets hold. The rest of what was written lies on disk alone, for them alone.
        scope.spawn(|| {
            let late = larder.get("/").send();
            assert!(!late.hit(), "{}", late.said());
            same(&late.body, &content("page 3", SIZE), "who came too late");
        });
        scope.spawn(|| rest(behind, head_behind, "who followed, and is behind"));
        rest(first, answer, "who asked first");
    });
}
