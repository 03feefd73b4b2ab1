//! Bodies too large for memory: written while they are read, whole or not at all, and in parts.

#![allow(
    clippy::similar_names,
    reason = "a site and the size of what it answers"
)]

use crate::{
    admin::explain,
    common::{Said, sample},
    disk::{LARGE, MIDDLE, Site, content, ending, keep, same, wait_written},
    memory::stalled,
};
use std::{fs, path::Path, thread};
use testkit::{Client, Command, Gate, Larder, Reply, Request, Response, wait_until};

const HALF: usize = LARGE / 2;

/// `/` is large. The first answer comes at once, the second stops at the gate in the middle; `end` goes on from there.
fn gated(end: impl Fn(Reply, &[u8]) -> Reply + Send + Sync + 'static) -> (Site, Gate) {
    let (site, gate) = (Site::new(""), Gate::new());
    let held = gate.clone();
    site.origin.on("/", move |request| {
        let body = content(&format!("page {}", request.nth), LARGE);
        let reply = Reply::ok().cache("max-age=600").header("ETag", "\"a\"");
        if request.nth == 2 {
            let reply = reply.length(LARGE).body(&body[..HALF]).hold(&held);
            end(reply, &body[HALF..])
        } else {
            reply.body(body)
        }
    });
    (site, gate)
}

fn whole(reply: Reply, rest: &[u8]) -> Reply {
    reply.body(rest)
}

#[test]
fn readers_follow_a_body_while_it_is_written() {
    let (site, gate) = gated(whole);
    let larder = site.start();
    larder.get("/").send();
    let wanted = content("page 2", LARGE);
    let mut first = larder.get("/").begin();
    let mut answer = first.read_head();
    // What the origin has sent so far comes to its client, although it is not a multiple of anything.
    first.read_body_exactly(&mut answer, HALF);
    let mut followers: Vec<_> = (0..3).map(|_| larder.get("/").begin()).collect();
    let mut heads: Vec<_> = followers
        .iter_mut()
        .map(testkit::Client::read_head)
        .collect();
    for (follower, head) in followers.iter_mut().zip(&mut heads) {
        // What lies in whole chunks can be read; the rest may wait for its chunk.
        follower.read_body_exactly(head, HALF - 200_000);
    }
    gate.open();
    first.read_content(&mut answer);
    assert!(answer.complete);
    same(&answer.body, &wanted, "who fetched it");
    for (mut follower, mut head) in followers.into_iter().zip(heads) {
        follower.read_content(&mut head);
        assert!(head.complete);
        same(&head.body, &wanted, "who followed");
    }
    assert_eq!(site.origin.requests("/"), 2, "one fetch for all");
    let larder = site.restart(larder);
    let answer = larder.get("/").send();
    assert!(answer.hit(), "{}", answer.said());
    same(&answer.body, &wanted, "from disk");
}

#[test]
fn a_range_of_a_body_that_is_being_written_comes_as_soon_as_it_is_there() {
    let (site, gate) = gated(whole);
    let larder = site.start();
    larder.get("/").send();
    let mut first = larder.get("/").begin();
    let mut answer = first.read_head();
    gate.wait_reached();
    let wanted = content("page 2", LARGE);
    for (first, last) in [(100, 199), (500_000, 999_999), (0, 0)] {
        let part = range(&larder, first, last);
        assert_eq!(part.status, 206, "{}", part.said());
        let place = format!("bytes {first}-{last}/{LARGE}");
        assert_eq!(part.header("content-range"), Some(&*place));
        same(&part.body, &wanted[first..=last], &place);
    }
    // The rest has not come: one that lies there waits for it.
    let mut rest = larder.get("/").header("Range", "bytes=-100").begin();
    gate.open();
    same(&rest.read().body, &wanted[LARGE - 100..], "the end");
    first.read_content(&mut answer);
    same(&answer.body, &wanted, "who fetched it");
    assert_eq!(site.origin.requests("/"), 2, "one fetch for all");
}

#[test]
fn a_client_that_leaves_in_the_middle_takes_nothing_from_the_others() {
    let (site, gate) = gated(whole);
    let larder = site.start();
    larder.get("/").send();
    let mut first = larder.get("/").begin();
    let mut answer = first.read_head();
    first.read_body_exactly(&mut answer, 1000);
    gate.wait_reached();
    let mut follower = larder.get("/").begin();
    let mut head = follower.read_head();
    follower.read_body_exactly(&mut head, 1000);
    drop(first);
    gate.open();
    follower.read_content(&mut head);
    assert!(head.complete);
    same(&head.body, &content("page 2", LARGE), "who stayed");
    let larder = site.restart(larder);
    let answer = larder.get("/").send();
    assert!(answer.hit(), "{}", answer.said());
    same(&answer.body, &content("page 2", LARGE), "from disk");
}

#[test]
fn nothing_half_is_kept_of_a_body_that_everybody_left() {
    let (site, gate) = gated(whole);
    let larder = site.start();
    larder.get("/").send();
    let mut first = larder.get("/").begin();
    let mut answer = first.read_head();
    first.read_body_exactly(&mut answer, 1000);
    gate.wait_reached();
    drop(first);
    gate.open();
    let answer = larder.get("/").send();
    assert!(answer.complete);
    let nth = site.origin.requests("/");
    same(
        &answer.body,
        &content(&format!("page {nth}"), LARGE),
        "a whole one",
    );
    let larder = site.restart(larder);
    let answer = larder.get("/").send();
    assert!(answer.complete && answer.body.len() == LARGE);
    wait_until("what was half is removed", || site.large_files().len() <= 1);
}

#[test]
fn nothing_half_is_kept_where_the_origin_breaks_off() {
    let (site, gate) = gated(|reply, _| reply.cut());
    let larder = site.start();
    larder.get("/").send();
    let mut first = larder.get("/").begin();
    let mut answer = first.read_head();
    gate.wait_reached();
    let mut follower = larder.get("/").begin();
    let mut head = follower.read_head();
    gate.open();
    first.read_content(&mut answer);
    assert!(!answer.complete, "9112 section 8: the client can tell");
    follower.read_content(&mut head);
    assert!(!head.complete, "who followed can tell too");
    wait_until("what was half is removed", || site.large_files().is_empty());
    let larder = site.restart(larder);
    let answer = larder.get("/").send();
    assert!(!answer.hit() && answer.complete, "{}", answer.said());
    same(&answer.body, &content("page 3", LARGE), "the origin's");
}

#[test]
fn nothing_half_is_kept_of_a_crash_in_the_middle() {
    let (site, gate) = gated(whole);
    let larder = site.start();
    larder.get("/").send();
    let mut first = larder.get("/").begin();
    let mut answer = first.read_head();
    first.read_body_exactly(&mut answer, HALF - 200_000);
    wait_until("some of it is written", || !site.large_files().is_empty());
    let larder = site.crash(larder);
    gate.open();
    wait_until("what was half is removed", || site.large_files().is_empty());
    let answer = larder.get("/").send();
    assert!(!answer.hit() && answer.complete, "{}", answer.said());
    assert_eq!(answer.body.len(), LARGE);
}

#[test]
fn bodies_whose_length_nobody_tells_are_written_too() {
    for chunked in [true, false] {
        let site = Site::with(move |request| {
            let body = content(request.path(), LARGE);
            let reply = Reply::ok().cache("max-age=600");
            let reply = body.chunks(400_000).fold(reply, Reply::body);
            if chunked {
                reply.chunked()
            } else {
                reply.until_close()
            }
        });
        let mut larder = site.start();
        for _ in 0..3 {
            let answer = larder.get("/page").send();
            same(&answer.body, &content("/page", LARGE), "from the origin");
        }
        for _ in 0..2 {
            larder = site.restart(larder);
            let answer = larder.get("/page").send();
            assert!(answer.complete);
            same(&answer.body, &content("/page", LARGE), "from disk");
            assert!(answer.hit(), "chunked: {chunked}: {}", answer.said());
            assert_eq!(answer.header("content-length"), Some(&*LARGE.to_string()));
        }
    }
}

#[test]
fn slow_and_fast_clients_read_the_same() {
    let site = Site::with(|request| {
        Reply::ok()
            .cache("max-age=600")
            .body(content(request.path(), 4 * LARGE))
    });
    let larder = site.start();
    let wanted = content("/page", 4 * LARGE);
    larder.get("/page").send();
    // Begins, and takes the rest last of all.
    let mut slow = larder.get("/page").begin();
    let mut answer = slow.read_head();
    let fast = larder.get("/page").send();
    same(&fast.body, &wanted, "the fast one");
    let larder = &larder;
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| same(&larder.get("/page").send().body, &wanted, "from disk"));
        }
    });
    slow.read_content(&mut answer);
    assert!(answer.complete);
    same(&answer.body, &wanted, "the slow one");
}

/// Of a body on disk memory has a part for those who followed it.
#[test]
fn what_a_slow_client_has_still_to_read_of_a_written_body_counts() {
    let site = Site::with(|request| {
        Reply::ok()
            .cache("max-age=600")
            .body(content(request.path(), 8 * LARGE))
    });
    let larder = site.start();
    let in_flight = || sample(&larder, "larder_in_flight_bytes");
    larder.get("/page").send();
    let slow = stalled(&larder, "/page", 1);
    wait_written(&larder, 1);
    wait_until("all of it is there", || larder.get("/page").send().hit());
    wait_until("others have all of it", || in_flight() <= 1 << 20);
    // How much of it the kernel has by then is the kernel's.
    let counted = in_flight();
    assert!(counted >= 128 << 10, "{counted} bytes");
    drop(slow);
    wait_until("nothing is left", || in_flight() == 0);
}

#[test]
fn a_body_that_goes_for_others_is_read_to_its_end() {
    let site = Site::with(|request| {
        Reply::ok()
            .cache("max-age=600")
            .body(content(request.path(), 4 * LARGE))
    });
    let larder = site.start();
    keep(&larder, &["/page"]);
    let larder = site.restart(larder);
    let mut slow = larder.get("/page").begin();
    let mut answer = slow.read_head();
    assert!(answer.hit(), "{}", answer.said());
    slow.read_body_exactly(&mut answer, 1000);
    for number in 0..8 {
        keep(&larder, &[&format!("/other/{number}")]);
    }
    // It may have had another chance, as it was asked for.
    for file in site.large_files() {
        fs::remove_file(file).unwrap_or_default();
    }
    slow.read_content(&mut answer);
    assert!(answer.complete);
    same(&answer.body, &content("/page", 4 * LARGE), "what was there");
}

/// Bytes of the tier's files that have no name any more and are still open.
fn held_open(larder: &Larder, directory: &Path) -> u64 {
    let open = fs::read_dir(format!("/proc/{}/fd", larder.id())).expect("its open files");
    let files = open.filter_map(|entry| {
        let entry = entry.ok()?.path();
        let name = fs::read_link(&entry).ok()?;
        let removed = name.starts_with(directory) && name.to_string_lossy().ends_with("(deleted)");
        removed.then(|| fs::metadata(&entry).map_or(0, |file| file.len()))
    });
    files.sum()
}

/// What was removed to make room takes its room as long as clients read it.
#[test]
fn bodies_that_slow_clients_read_count_after_they_were_removed() {
    let site = Site::with(|request| {
        let reply = Reply::ok().cache("max-age=600");
        reply.body(content(request.path(), 6 * LARGE))
    });
    let larder = site.start();
    let mut slow = Vec::new();
    for number in 0..8 {
        let path = format!("/{number}");
        keep(&larder, &[&path]);
        if number < 3 {
            wait_until("it is on disk", || larder.get(&path).send().hit());
        }
        slow.extend(stalled(&larder, &path, 1));
        let taken = || sample(&larder, "larder_disk_bytes");
        assert!(taken() <= 64 << 20, "{} bytes", taken());
        wait_until("what is removed and read counts", || {
            held_open(&larder, site.path()) <= taken()
        });
    }
    assert!(held_open(&larder, site.path()) > 0, "one made room");
    drop(slow);
    wait_until("there is room for others", || {
        keep(&larder, &["/other"]);
        larder.get("/other").send().hit()
    });
}

#[test]
fn a_body_beyond_the_routes_limit_is_never_written() {
    let site = Site::new("[defaults]\nlargest_body = \"2MiB\"\n");
    site.origin.otherwise(|request| {
        let reply = Reply::ok().cache("max-age=600");
        let reply = reply.body(content(request.path(), LARGE));
        if request.path() == "/chunked" {
            reply.chunked()
        } else {
            reply
        }
    });
    let larder = site.start();
    for path in ["/told", "/chunked"] {
        for _ in 0..4 {
            let answer = larder.get(path).send();
            assert!(!answer.hit());
            same(&answer.body, &content(path, LARGE), path);
        }
        assert_eq!(site.origin.requests(path), 4);
    }
    let _larder = site.restart(larder);
    assert!(!site.holds(&ending("/told")) && !site.holds(&ending("/chunked")));
    assert!(site.large_files().is_empty());
}

#[test]
fn a_slow_client_gets_all_of_a_body_that_outgrew_the_disk() {
    let (site, size) = (
        Site::new("[defaults]\nlargest_body = \"16MiB\"\n"),
        8 * LARGE,
    );
    site.origin.otherwise(move |_| {
        let reply = Reply::ok().cache("max-age=600");
        reply.body(content("page", size)).chunked()
    });
    let larder = site.start();
    larder.get("/").send();
    let mut slow = larder.get("/").begin();
    let mut answer = slow.read_head();
    // Until then it takes what sockets hold, and nothing more.
    wait_until("nobody finds it any more", || {
        larder.ask("HEAD", "/").send();
        site.origin.requests("/") > 2
    });
    slow.read_content(&mut answer);
    assert!(answer.complete);
    same(&answer.body, &content("page", size), "who was slow");
}

/// Answers single ranges of a body of this length.
fn ranged(request: &Request, size: usize) -> Reply {
    let body = content("page", size);
    let reply = Reply::ok().cache("max-age=600").header("ETag", "\"a\"");
    let range = request
        .header("range")
        .and_then(|range| range.strip_prefix("bytes="));
    let Some((first, last)) = range.and_then(|range| range.split_once('-')) else {
        return reply.body(body);
    };
    let first: usize = first.parse().expect("a number");
    let last = last.parse().unwrap_or(size - 1).min(size - 1);
    Reply::status(206)
        .cache("max-age=600")
        .header("ETag", "\"a\"")
        .header("Content-Range", format!("bytes {first}-{last}/{size}"))
        .body(&body[first..=last])
}

fn range(larder: &Larder, first: usize, last: usize) -> Response {
    let range = format!("bytes={first}-{last}");
    larder.get("/").header("Range", range).send()
}

#[test]
fn only_the_parts_that_were_fetched_are_stored_and_they_combine_over_a_restart() {
    let size = 8 * LARGE;
    let site = Site::with(move |request| ranged(request, size));
    let wanted = content("page", size);
    let mut larder = site.start();
    // Small parts, one that touches the next, and one far away.
    let parts = [(0, 999), (1000, 4999), (9_000_000, 9_099_999)];
    for (first, last) in parts {
        for round in 0..2 {
            let answer = range(&larder, first, last);
            assert_eq!(answer.status, 206, "{first}-{last}");
            assert_eq!(
                answer.hit(),
                round == 1,
                "{first}-{last}: {}",
                answer.said()
            );
            same(&answer.body, &wanted[first..=last], "a part");
        }
        larder = site.restart(larder);
    }
    let asked = site.origin.requests("/");
    assert_eq!(asked, 3);
    let fetched: Vec<_> = site
        .origin
        .recorded("/")
        .iter()
        .map(|request| request.header("range").unwrap_or_default().to_owned())
        .collect();
    assert_eq!(
        fetched,
        ["bytes=0-999", "bytes=1000-4999", "bytes=9000000-9099999"]
    );
    for (first, last) in [(0, 4999), (500, 1500), (9_050_000, 9_099_999), (4999, 4999)] {
        let answer = range(&larder, first, last);
        assert!(answer.hit(), "{first}-{last}: {}", answer.said());
        same(&answer.body, &wanted[first..=last], "a part from disk");
        larder = site.restart(larder);
    }
    assert_eq!(site.origin.requests("/"), asked);
    let over = range(&larder, 4000, 5999);
    same(&over.body, &wanted[4000..=5999], "half of it was there");
    assert_eq!(
        site.origin.last("/").header("range"),
        Some("bytes=5000-5999")
    );
    larder = site.restart(larder);
    assert!(range(&larder, 0, 5999).hit(), "and now all of it is");
    let used: u64 = site
        .files()
        .iter()
        .map(|file| file.metadata().unwrap().len())
        .sum();
    assert!(used < 2_000_000, "just what was fetched: {used}");
}

#[test]
fn parts_too_large_for_memory_are_stored_too() {
    let size = 8 * LARGE;
    let site = Site::with(move |request| ranged(request, size));
    let wanted = content("page", size);
    let mut larder = site.start();
    let parts = [
        (0, LARGE - 1),
        (2 * LARGE, 3 * LARGE - 1),
        (LARGE, 2 * LARGE - 1),
    ];
    for (first, last) in parts {
        for _ in 0..3 {
            let answer = range(&larder, first, last);
            assert_eq!(answer.status, 206, "{}", answer.said());
            same(&answer.body, &wanted[first..=last], "a part");
        }
        larder = site.restart(larder);
    }
    let asked = site.origin.requests("/");
    for (first, last) in parts {
        let answer = range(&larder, first, last);
        same(&answer.body, &wanted[first..=last], "a part");
        assert!(answer.hit(), "{first}-{last}: {}", answer.said());
    }
    assert_eq!(site.origin.requests("/"), asked);
    let over = range(&larder, LARGE - 10, LARGE + 9);
    assert!(over.hit(), "they are one: {}", over.said());
    same(&over.body, &wanted[LARGE - 10..LARGE + 10], "over the seam");
}

#[test]
fn parts_become_the_whole_over_restarts() {
    for size in [1000, MIDDLE, LARGE] {
        let site = Site::with(move |request| ranged(request, size));
        let wanted = content("page", size);
        let mut larder = site.start();
        let third = size / 3;
        for (first, last) in [
            (0, third),
            (third + 1, 2 * third),
            (2 * third + 1, size - 1),
        ] {
            for _ in 0..2 {
                let answer = range(&larder, first, last);
                same(&answer.body, &wanted[first..=last], "a part");
            }
            larder = site.restart(larder);
        }
        let asked = site.origin.requests("/");
        let answer = larder.get("/").send();
        assert_eq!(answer.status, 200);
        same(&answer.body, &wanted, "the whole");
        assert!(answer.hit(), "{size}: {}", answer.said());
        assert_eq!(site.origin.requests("/"), asked, "{size}");
    }
}

#[test]
fn parts_on_disk_are_never_combined_with_those_of_another_representation() {
    let size = 8 * LARGE;
    let site = Site::with(move |request| {
        let tag = if request.nth == 1 { "\"a\"" } else { "\"b\"" };
        let seed = if request.nth == 1 { "old" } else { "new" };
        let body = content(seed, size);
        let reply = Reply::ok().cache("max-age=600").header("ETag", tag);
        let Some(asked) = request.header("range") else {
            return reply.body(body);
        };
        let (first, last) = asked[6..].split_once('-').expect("a range");
        let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
        // Whatever `If-Range` says, as a bad origin does.
        Reply::status(206)
            .cache("max-age=600")
            .header("ETag", tag)
            .header("Content-Range", format!("bytes {first}-{last}/{size}"))
            .body(&body[first..=last])
    });
    let larder = site.start();
    for _ in 0..2 {
        same(
            &range(&larder, 0, 9999).body,
            &content("old", size)[..10_000],
            "old",
        );
    }
    let mut larder = site.restart(larder);
    for _ in 0..2 {
        let (answer, new) = (range(&larder, 5000, 19_999), content("new", size));
        match answer.status {
            206 => same(&answer.body, &new[5000..20_000], "9111 section 3.4"),
            _ => same(&answer.body, &new, "9111 section 3.4"),
        }
        larder = site.restart(larder);
    }
}

/// Of a film, say: only what was asked for, and at its place.
#[test]
fn ranges_beyond_four_gigabytes_are_kept_at_their_place() {
    const WHOLE: u64 = 5_000_000_000;
    let site = Site::new("[defaults]\nlargest_body = \"8GiB\"\n");
    let bytes =
        |first: u64, last: u64| -> Vec<u8> { (first..=last).map(|at| (at % 251) as u8).collect() };
    site.origin.on("/film", move |request| {
        let range = request.header("range").expect("a range");
        let (first, last) = range["bytes=".len()..].split_once('-').expect("two ends");
        let (first, last) = (first.parse().expect("first"), last.parse().expect("last"));
        Reply::status(206)
            .cache("max-age=600")
            .header("ETag", "\"a\"")
            .header("Content-Range", format!("bytes {first}-{last}/{WHOLE}"))
            .body(bytes(first, last))
    });
    let spans = [
        (4_500_000_000, 4_500_099_999),
        // Over the end of what 32 bits can say.
        (4_294_967_290, 4_294_967_305),
        (WHOLE - 70_000, WHOLE - 1),
    ];
    let ask = |larder: &Larder, (first, last): (u64, u64)| {
        let range = format!("bytes={first}-{last}");
        let answer = larder.get("/film").header("Range", range).send();
        assert_eq!(answer.status, 206, "{:?}", answer.head);
        let place = format!("bytes {first}-{last}/{WHOLE}");
        assert_eq!(answer.header("content-range"), Some(place.as_str()));
        same(&answer.body, &bytes(first, last), &place);
        answer
    };
    let config = site.config().replace("64MiB", "20GiB");
    let start = || {
        let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
            .config(&config)
            .start();
        larder.wait_output("disk tier loaded");
        larder
    };
    let larder = start();
    for span in spans {
        for _ in 0..2 {
            ask(&larder, span);
        }
    }
    assert_eq!(larder.stop().code, Some(0));
    let sizes = site.files().into_iter();
    let used: u64 = sizes.map(|file| file.metadata().unwrap().len()).sum();
    assert!(used < 500_000, "just what was fetched: {used}");
    let larder = start();
    let asked = site.origin.requests("/film");
    assert_eq!(asked, spans.len(), "each once");
    for span in spans {
        let answer = ask(&larder, span);
        assert!(answer.hit(), "{span:?}: {}", answer.said());
    }
    assert_eq!(site.origin.requests("/film"), asked);
}

/// RFC 9111 section 4.3.3: what has become too large for the store has replaced what is there all the same, whether
/// that shows beforehand or on its way.
#[test]
fn what_outgrows_the_store_is_not_answered_by_what_came_before_it() {
    for chunked in [false, true] {
        let site = Site::new("[defaults]\nlargest_body = \"1MiB\"\n");
        let large = "new ".repeat(750_000);
        site.origin.otherwise(move |request| {
            let reply = Reply::ok().cache("max-age=3600");
            match (request.nth, chunked) {
                (1, _) => reply.body("old"),
                (_, true) => reply.chunked().body(&large),
                (_, false) => reply.body(&large),
            }
        });
        let larder = site.start();
        keep(&larder, &["/"]);
        wait_written(&larder, 1);
        let forced = larder.get("/").header("Cache-Control", "no-cache").send();
        assert_eq!(forced.body.len(), 3_000_000);
        for _ in 0..2 {
            let later = larder.get("/").send();
            assert_eq!(later.body.len(), 3_000_000, "{}", later.said());
        }
        let larder = site.restart(larder);
        assert_eq!(larder.get("/").send().body.len(), 3_000_000);
    }
}

/// It is not too large, and the next one may well be stored: nothing is remembered that would keep requests apart.
#[test]
fn what_memory_has_no_room_for_at_the_moment_is_not_said_to_be_too_large() {
    const OTHERS: usize = 16;
    let (site, gate) = (Site::new(""), Gate::new());
    let held = gate.clone();
    site.origin.otherwise(move |request| {
        let reply = Reply::ok().cache("max-age=600");
        let body = content(request.path(), LARGE);
        if request.nth == 2 && request.path() != "/page" {
            reply.length(LARGE).hold(&held).body(body)
        } else {
            reply.body(body)
        }
    });
    let larder = site.start();
    keep(&larder, &["/page"]);
    wait_written(&larder, 1);
    let others: Vec<_> = (0..OTHERS).map(|number| format!("/{number}")).collect();
    for other in &others {
        larder.get(other).send();
    }
    // All that the memory lets wait for the disk is taken by those that are on their way to it.
    let mut begun: Vec<_> = others
        .iter()
        .map(|other| larder.get(other).begin())
        .collect();
    let mut answers: Vec<_> = begun.iter_mut().map(Client::read_head).collect();
    let reload = larder.get("/page").header("Cache-Control", "no-cache");
    let reload = reload.send();
    let why = reload.parameter("detail");
    assert_eq!(why.as_deref(), Some("no-room"), "{}", reload.said());
    same(&reload.body, &content("/page", LARGE), "it passes");
    let told = explain(&larder, "http://example.test/page");
    assert!(told.contains("memory had no room"), "{told}");
    assert!(!told.contains("do not wait for each other"), "{told}");
    gate.open();
    for ((client, answer), other) in begun.iter_mut().zip(&mut answers).zip(&others) {
        client.read_content(answer);
        same(&answer.body, &content(other, LARGE), other);
    }
    wait_until("there is room again", || {
        sample(&larder, "larder_in_flight_bytes") == 0
    });
    assert!(
        !larder.get("/page").send().hit(),
        "the earlier one is out of date"
    );
    let again = larder.get("/page").send();
    assert!(again.hit(), "{}", again.said());
}
