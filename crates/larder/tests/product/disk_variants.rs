//! Variants on disk beside others that memory alone has.

use crate::{
    common::Said,
    disk::{Site, wait_written},
};
use testkit::{Larder, Reply};

/// One variant is on disk, and another, which was asked for once, in memory alone: the origin may confirm either (RFC
/// 9111 section 4.3.1).
#[test]
fn what_memory_alone_has_may_be_confirmed_beside_what_is_on_disk() {
    let site = Site::with(|request| {
        let tag = match request.header("x-version") {
            Some("on disk") => "\"disk\"",
            _ => "\"memory\"",
        };
        let tags = request.header("if-none-match").unwrap_or_default();
        let reply = if tags.contains(tag) {
            Reply::status(304)
        } else {
            Reply::ok().body(tag)
        };
        let reply = reply.cache("max-age=600").header("ETag", tag);
        reply.header("Vary", "X-Version")
    });
    let larder = site.start();
    // One reading of the disk in eight is taken into memory.
    let pages: Vec<_> = (0..16).map(|number| format!("/{number}")).collect();
    let ask = |larder: &Larder, page: &str, version: &str| {
        larder.get(page).header("X-Version", version).send()
    };
    for page in &pages {
        for version in ["in memory", "on disk", "on disk"] {
            ask(&larder, page, version);
        }
    }
    wait_written(&larder, pages.len() as u64);
    for page in &pages {
        let answer = ask(&larder, page, "of the same content");
        assert_eq!(answer.text(), "\"memory\"");
        assert!(answer.says("fwd-status=304"), "{page}: {}", answer.said());
        assert_eq!(answer.parameter("fwd").as_deref(), Some("vary-miss"));
    }
}
