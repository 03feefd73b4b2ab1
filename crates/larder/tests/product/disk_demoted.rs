//! Small memory over a disk: what is pushed out of memory is answered from disk, and the origin is not asked again.

use crate::{
    common::{Said, sample},
    disk::{Site, content, same},
};
use testkit::{Client, Larder, Reply, wait_until};

/// Together several times what memory has room for.
const PAGES: usize = 300;
const SIZE: usize = 60_000;

fn page(number: usize) -> String {
    format!("/page/{number}")
}

fn site() -> Site {
    Site::with(|request| {
        Reply::ok()
            .cache("max-age=600")
            .header("ETag", format!("\"{}\"", request.path()))
            .body(content(request.path(), SIZE))
    })
}

/// Asks for a page; whether it came from the store.
fn ask(client: &mut Client, number: usize) -> bool {
    let path = page(number);
    let answer = client.get(&path).send();
    same(&answer.body, &content(&path, SIZE), &path);
    answer.hit()
}

/// Everything that was asked for twice is answered from the store, and the origin has been asked once for each page.
fn is_all_there(site: &Site, larder: &Larder, what: &str) {
    let mut client = larder.client();
    let missed: Vec<usize> = (0..PAGES)
        .filter(|number| !ask(&mut client, *number))
        .collect();
    assert_eq!(missed, [0; 0], "{what}: these were fetched again");
    let asked: usize = (0..PAGES)
        .map(|number| site.origin.requests(&page(number)))
        .sum();
    assert_eq!(asked, PAGES, "{what}");
}

/// Memory has held less than a part of it.
fn is_pushed_out(larder: &Larder) {
    let stored = sample(larder, "larder_stored_bytes");
    assert!(stored <= 4 << 20, "{stored} bytes");
    let keys = sample(larder, "larder_cache_keys");
    assert!(keys < PAGES as u64 / 2, "{keys} of {PAGES} in memory");
}

#[test]
fn what_is_pushed_out_of_memory_is_answered_from_disk_also_after_a_restart() {
    let site = site();
    let mut larder = site.start();
    let mut client = larder.client();
    for number in 0..PAGES {
        assert!(!ask(&mut client, number));
        assert!(ask(&mut client, number), "{number}");
    }
    wait_until("all of them are on disk", || {
        sample(&larder, "larder_disk_records") == PAGES as u64
    });
    assert!(sample(&larder, "larder_evictions_total") > PAGES as u64 / 2);
    is_pushed_out(&larder);
    is_all_there(&site, &larder, "the first time");
    let from_disk = sample(&larder, "larder_disk_hits_total");
    assert!(from_disk > PAGES as u64 / 2, "{from_disk} from disk");
    assert_eq!(
        sample(&larder, "larder_disk_writes_total"),
        PAGES as u64,
        "what lies there is not written again for being pushed out again"
    );
    for crash in [false, true] {
        larder = if crash {
            site.crash(larder)
        } else {
            site.restart(larder)
        };
        assert_eq!(sample(&larder, "larder_cache_keys"), 0);
        for _ in 0..2 {
            is_all_there(&site, &larder, "after a restart");
        }
        let from_disk = sample(&larder, "larder_disk_hits_total");
        assert!(from_disk >= PAGES as u64, "{from_disk} from disk");
        is_pushed_out(&larder);
    }
    assert_eq!(sample(&larder, "larder_disk_damaged_total"), 0);
}
/// A crawler that asks for everything once writes nothing, also where memory has no room for it.
#[test]
fn what_was_asked_for_once_is_gone_when_memory_has_no_room() {
    let site = site();
    let larder = site.start();
    let mut client = larder.client();
    for number in 0..PAGES {
        assert!(!ask(&mut client, number));
    }
    wait_until("what was pushed out is counted", || {
        sample(&larder, "larder_evictions_total") > PAGES as u64 / 2
    });
    assert_eq!(sample(&larder, "larder_disk_writes_total"), 0);
    let larder = site.restart(larder);
    assert!(!ask(&mut larder.client(), 0), "a scan leaves nothing");
}
