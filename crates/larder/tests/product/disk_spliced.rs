//! What was read from disk before goes from the file to the socket as it lies there, and is the same in every byte however
//! it is asked for.

#![allow(clippy::similar_names, reason = "a site and the size of its pages")]

use crate::{
    coding::made,
    common::{Said, sample},
    disk::{LARGE, MIDDLE, Site, content, ending, keep, same},
};
use std::{process, thread};
use testkit::{Client, Larder, Reply};

/// Around the least that is sent so, in a segment, in several chunks of one, and in files of their own.
const SIZES: [(&str, usize); 6] = [
    ("/a", 16_000),
    ("/b", 20_000),
    ("/c", MIDDLE),
    ("/d", 700_000),
    ("/e", LARGE),
    ("/f", 9_000_001),
];

/// All of it on disk, and not in memory.
fn on_disk() -> (Site, Larder) {
    let site = Site::with(|request| {
        let size = SIZES.iter().find(|(path, _)| *path == request.path());
        Reply::ok()
            .cache("max-age=600")
            .header("ETag", "\"a\"")
            .body(content(request.path(), size.expect("a size").1))
    });
    let larder = site.start();
    for (path, _) in SIZES {
        keep(&larder, &[path]);
        site.wait_holds(&ending(path));
    }
    let larder = site.restart(larder);
    (site, larder)
}

#[test]
fn it_is_the_same_each_time() {
    let (site, larder) = on_disk();
    let mut client = larder.client();
    for round in 0..12 {
        for (path, size) in SIZES {
            let answer = client.get(path).send();
            assert!(answer.hit(), "{path} {round}: {}", answer.said());
            same(&answer.body, &content(path, size), path);
        }
    }
    for (path, _) in SIZES {
        assert!(site.origin.requests(path) <= 2, "{path}");
    }
}

#[test]
fn the_head_of_a_busy_page_is_held_in_memory() {
    let (_site, larder) = on_disk();
    let ask = |times: usize| {
        let mut client = larder.client();
        for _ in 0..times {
            same(&client.get("/c").send().body, &content("/c", MIDDLE), "/c");
        }
        sample(&larder, "larder_disk_hits_total")
    };
    let before = ask(40);
    assert_eq!(
        ask(40),
        before,
        "the disk is asked for nothing but the body"
    );
}

#[test]
fn a_text_that_lies_on_disk_is_made_in_a_coding_once() {
    let site = Site::with(|_| {
        let text = "a text that is worth it ".repeat(MIDDLE / 24);
        let reply = Reply::ok().cache("max-age=600");
        reply.header("Content-Type", "text/html").body(text)
    });
    let larder = site.start();
    keep(&larder, &["/c"]);
    site.wait_holds("a text that is worth it a text that is worth it");
    let larder = site.restart(larder);
    // Its head is in memory first, for clients that take it as it is.
    for _ in 0..20 {
        assert!(larder.get("/c").send().hit());
    }
    for _ in 0..10 {
        let answer = larder.get("/c").header("Accept-Encoding", "gzip").send();
        assert!(answer.hit() && answer.complete);
        assert_eq!(answer.header("content-encoding"), Some("gzip"));
    }
    assert_eq!(made(&larder, "gzip", "fast"), 1);
    let passed = "larder_codings_passed_total{coding=\"gzip\"}";
    assert_eq!(sample(&larder, passed), 0, "none is coded for one client");
}

#[test]
fn ranges_conditions_and_requests_in_a_row_get_what_they_ask_for() {
    let (_site, larder) = on_disk();
    for (path, size) in SIZES {
        let whole = content(path, size);
        for _ in 0..2 {
            same(&larder.get(path).send().body, &whole, path);
        }
        let mut client = larder.client();
        let chunk = 64 << 10;
        for (first, last) in [
            (0, 0),
            (size - 1, size - 1),
            (1, size - 2),
            (size / 2, size / 2 + 5000),
            (chunk - 5, chunk + 5),
            (chunk, 2 * chunk - 1),
            (chunk * 3 + 1, size - 1),
        ] {
            let last = last.min(size - 1);
            if first > last {
                continue;
            }
            let range = format!("bytes={first}-{last}");
            let answer = client.get(path).header("Range", &range).send();
            assert_eq!(answer.status, 206, "{path} {range}");
            same(&answer.body, &whole[first..=last], &range);
        }
        let several = client
            .get(path)
            .header("Range", "bytes=0-9, 9000-15000")
            .send();
        assert_eq!(several.status, 206, "{path}");
        for part in [&whole[..10], &whole[9000..=15000]] {
            assert!(
                several.body.windows(part.len()).any(|bytes| bytes == part),
                "{path}"
            );
        }
        let known = client.get(path).header("If-None-Match", "\"a\"").send();
        assert_eq!((known.status, known.body.len()), (304, 0), "{path}");
        assert_eq!(client.ask("HEAD", path).send().body.len(), 0, "{path}");
        same(&client.get(path).send().body, &whole, path);
    }
}

#[test]
fn requests_sent_without_waiting_for_answers_get_them_in_order() {
    let (_site, larder) = on_disk();
    for (path, size) in SIZES {
        let whole = content(path, size);
        for _ in 0..2 {
            same(&larder.get(path).send().body, &whole, path);
        }
    }
    let mut client = larder.client();
    let order = [3, 1, 5, 0, 2, 4, 3];
    for at in order {
        client.get(SIZES[at].0).begin();
    }
    for at in order {
        let (path, size) = SIZES[at];
        let answer = client.read();
        assert!(answer.complete, "{path}");
        same(&answer.body, &content(path, size), path);
    }
}

#[test]
fn many_at_once_and_some_that_leave_do_not_disturb_each_other() {
    let (_site, larder) = on_disk();
    for (path, _) in SIZES {
        for _ in 0..2 {
            assert!(larder.get(path).send().complete);
        }
    }
    thread::scope(|scope| {
        for number in 0..8 {
            let larder = &larder;
            scope.spawn(move || {
                for round in 0..SIZES.len() {
                    let (path, size) = SIZES[(number + round) % SIZES.len()];
                    // Leaves in the middle of its answer.
                    let mut leaves: Client = larder.client();
                    leaves.get(path).begin();
                    drop(leaves);
                    same(&larder.get(path).send().body, &content(path, size), path);
                }
            });
        }
    });
}

#[test]
fn who_speaks_http2_gets_the_same() {
    let (_site, larder) = on_disk();
    for (path, size) in SIZES {
        for _ in 0..3 {
            let output = process::Command::new("curl")
                .args(["-sS", "--max-time", "20", "--http2-prior-knowledge"])
                .arg(format!("{}{path}", larder.listeners()[0]))
                .output()
                .expect("curl runs");
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            same(&output.stdout, &content(path, size), path);
            same(&larder.get(path).send().body, &content(path, size), path);
        }
    }
}
