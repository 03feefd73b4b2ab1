//! Purges that clients ask for on the listener outlast a kill in the moment in which they are acknowledged.

use crate::{
    common::sample,
    disk::{Site, keep},
    purge_clients::say,
};
use testkit::{Client, Larder, Reply, wait_until};

/// Pages with tags on disk, of which each is `old` until it is fetched again.
fn pages(targets: &[String]) -> (Site, Larder) {
    let site = Site::with(|request| {
        let text = if request.nth == 1 { "old" } else { "new" };
        Reply::ok()
            .cache("max-age=600, stale-while-revalidate=600, stale-if-error=600")
            .header("ETag", format!("\"{text}\""))
            .header("xkey", "news")
            .header("X-Cache-Tags", "news")
            .body(text)
    });
    let larder = site.start();
    for target in targets {
        keep(&larder, &[target.as_str()]);
    }
    wait_until("all pages are on disk", || {
        sample(&larder, "larder_disk_records") >= targets.len() as u64
    });
    (site, larder)
}

/// Nobody gets the old page, by whatever it is asked for.
fn is_gone(larder: &Larder, target: &str, what: &str) {
    let ways = [
        ("GET", "Cache-Control", "only-if-cached, max-stale"),
        ("GET", "Range", "bytes=0-0"),
        ("HEAD", "X-Nothing", ""),
        ("GET", "X-Nothing", ""),
    ];
    for (method, name, value) in ways {
        let answer = larder.ask(method, target).header(name, value).send();
        assert_ne!(answer.text(), "old", "{what}: {target}, {method} {name}");
        assert_ne!(answer.text(), "o", "{what}: {target}, {method} {name}");
        let tag = answer.header("etag");
        assert_ne!(tag, Some("\"old\""), "{what}: {target}, {method} {name}");
    }
}

#[test]
fn a_kill_right_after_the_acknowledgement_brings_nothing_back() {
    let page = "/news/1".to_owned();
    for message in [
        "PURGE /news/1 HTTP/1.1\nHost: example.test\n",
        "PURGE /news/* HTTP/1.1\nHost: example.test\n",
        "PURGE / HTTP/1.1\nHost: c\nxkey: other news\n",
        "PURGEKEYS / HTTP/1.1\nHost: c\nxkey-purge: news\n",
        "BAN / HTTP/1.1\nHost: c\nX-Cache-Tags: (^|,)(news)(,|$)\n",
        "BAN / HTTP/1.1\nHost: c\nX-Cache-Tags: n.ws\n",
        "BAN / HTTP/1.1\nHost: c\nX-Url: /[0-9]$\n",
        "BAN / HTTP/1.1\nHost: c\nX-Host: ^example\\.test$\n",
        "BAN / HTTP/1.1\nHost: c\n",
        "POST /service/s/purge HTTP/1.1\nHost: s\nFastly-Key: k\n\n{\"surrogate_keys\":[\"news\"]}",
    ] {
        // Where it lies in memory too and is asked for at once, and where it lies on disk alone and has been found there.
        for in_memory in [true, false] {
            let (site, mut larder) = pages(std::slice::from_ref(&page));
            if !in_memory {
                larder = site.crash(larder);
            }
            let what = format!("{message}, in memory: {in_memory}");
            let answer = say(&larder, message);
            larder.kill();
            assert_eq!(answer.status, 200, "{what}: {}", answer.text());
            for _ in 0..2 {
                let larder = if in_memory {
                    site.start_at_once()
                } else {
                    site.start()
                };
                is_gone(&larder, &page, &what);
                larder.kill();
            }
        }
    }
}

/// Many are on their way when it dies: whatever was acknowledged holds, and of the others nothing is known.
#[test]
fn of_many_purges_under_way_at_a_kill_all_that_were_acknowledged_hold() {
    const MANY: usize = 120;
    let targets: Vec<String> = (0..MANY).map(|number| format!("/{number}")).collect();
    for after in [1, 20, 60] {
        let (site, larder) = pages(&targets);
        let larder = site.restart(larder);
        let mut client = larder.client();
        let messages = targets
            .iter()
            .map(|target| format!("PURGE {target} HTTP/1.1\r\nHost: example.test\r\n\r\n"));
        client.send(messages.collect::<String>());
        assert_eq!(acknowledged(&mut client, after), after);
        larder.kill();
        // What it said before it died counts too.
        let count = after + acknowledged(&mut client, MANY);
        let larder = site.start();
        for target in &targets[..count] {
            is_gone(&larder, target, &format!("killed after {after}"));
        }
    }
}

/// Reads acknowledgements until there are so many, or no more come; their number.
fn acknowledged(client: &mut Client, most: usize) -> usize {
    for count in 0..most {
        let Some(mut answer) = client.try_read_head() else {
            return count;
        };
        assert_eq!(answer.status, 200, "{:?}", answer.head);
        client.read_content(&mut answer);
    }
    most
}
