//! More purges than the log remembers: it stays within its bound, and nothing that was purged comes back.

use crate::{
    common::{Said, counted, sample},
    disk::{Site, keep},
    disk_purge::{kept, purge},
};
use serde_json::json;
use testkit::Larder;

/// Names that the log remembers, give or take those of one purge.
const MOST: usize = 1 << 20;
/// Tags of one purge here: as many as go into a request.
const TAGS: usize = 80_000;

fn is_bounded(larder: &Larder) {
    let names = sample(larder, "larder_purge_names");
    assert!(names <= (MOST + TAGS) as u64, "{names} names");
}

/// What lies on disk was checked against the log long ago, so that the log may not forget by itself what was purged since.
#[test]
fn of_more_purges_than_are_remembered_none_is_undone_and_the_log_stays_bounded() {
    let site = Site::with(|request| {
        let tag = request.path().trim_start_matches('/');
        counted(request)
            .cache("max-age=6000")
            .header("Surrogate-Key", tag)
    });
    let pages = ["/first", "/second", "/third"];
    let larder = site.start();
    keep(&larder, &pages);
    let larder = site.restart(larder);
    purge(&larder, &json!({ "tags": ["first", "second"] }));
    purge(&larder, &json!({ "url": "http://example.test/third" }));
    for batch in 0..MOST / TAGS + 2 {
        let tags: Vec<_> = (0..TAGS).map(|tag| format!("{batch}-{tag}")).collect();
        purge(&larder, &json!({ "tags": tags }));
        is_bounded(&larder);
    }
    let names = sample(&larder, "larder_purge_names");
    assert!(names < MOST as u64, "the older half went: {names} names");
    assert!(!kept(&larder, "/first"), "it was purged");

    let mut larder = site.crash(larder);
    is_bounded(&larder);
    assert!(!kept(&larder, "/second"), "after a crash, too");
    keep(&larder, &["/first"]);
    larder = site.restart(larder);
    assert!(!kept(&larder, "/third"), "nobody has asked for it since");
    let answer = larder.get("/first").send();
    assert!(answer.hit() && answer.text() == "2", "{}", answer.said());
}
