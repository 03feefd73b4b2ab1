//! A purge of a page that is kept once for each group of users: it is gone for every one of them.

use crate::{
    common::{Said, sample},
    disk,
    purge::{purge, run},
    purge_clients::say,
    user_context::{HASH, get, page, site, told},
};
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};
use testkit::{Ask, Client, Gate, Larder, Origin, wait_until};

/// Two editors, two readers, and who has no group at all.
const USERS: [&str; 5] = ["ann", "bob", "eve", "dan", ""];
/// Groups, the one of nobody included.
const GROUPS: usize = 3;

/// Pages say which version they are of, and may be used for long where the application fails.
#[derive(Clone, Default)]
struct Version(Arc<AtomicUsize>);

impl Version {
    fn of(origin: &Origin) -> Self {
        let version = Self::default();
        let known = version.clone();
        origin.otherwise(move |request| {
            page(request)
                .cache("stale-while-revalidate=600, stale-if-error=600")
                .header("xkey", "article")
                .header("ETag", format!("\"{}\"", known.text()))
                .body(known.text())
        });
        origin.on(HASH, told);
        version
    }

    fn text(&self) -> String {
        format!(", version {}.", self.0.load(SeqCst))
    }

    /// The application changes the page; what it was like before.
    fn change(&self) -> String {
        let old = self.text();
        self.0.fetch_add(1, SeqCst);
        old
    }
}

/// Everybody has asked for the page, and it is stored once for each group.
fn warm(larder: &Larder, version: &Version) {
    for user in USERS.into_iter().chain(USERS) {
        let answer = get(larder, "/page", user);
        assert!(answer.text().ends_with(&version.text()), "{user}");
    }
    for user in USERS {
        assert!(get(larder, "/page", user).hit(), "{user}");
    }
}

fn ask(larder: &Larder, user: &str) -> Ask<Client> {
    let ask = larder.get("/page");
    match user {
        "" => ask,
        user => ask.header("Cookie", format!("session={user}")),
    }
}

/// Nobody gets what was there before, in whatever way it is asked for.
fn nobody_gets(larder: &Larder, old: &str, what: &str) {
    for (name, value) in [
        ("Cache-Control", "only-if-cached, max-stale"),
        ("If-None-Match", "\"none\""),
        ("Range", "bytes=0-999"),
        ("X-Nothing", ""),
    ] {
        for user in USERS {
            let answer = ask(larder, user).header(name, value).send();
            let tag = answer.header("etag").unwrap_or_default();
            assert!(
                !answer.text().contains(old) && !tag.contains(old),
                "{what}: {user:?} with {name}: {}",
                answer.said()
            );
        }
    }
}

#[test]
fn a_purge_forgets_the_page_for_every_group() {
    let (origin, larder) = site();
    let version = Version::of(&origin);
    let url = "http://example.test/page";
    let client = |message: &str| {
        let answer = say(&larder, message);
        assert_eq!(answer.status, 200, "{message}: {}", answer.text());
        answer.joined("cache-purge-result")
    };
    for message in [
        "PURGE /page HTTP/1.1\nHost: example.test\n",
        "PURGE http://example.test/page HTTP/1.1\nHost: c\n",
        "PURGE /page HTTP/1.1\nHost: example.test\nX-Purge-Method: exact\n",
    ] {
        warm(&larder, &version);
        let old = version.change();
        assert_eq!(client(message), format!("exact; count={GROUPS}"));
        nobody_gets(&larder, &old, message);
    }
    for message in [
        "PURGE /page HTTP/1.1\nHost: example.test\nxkey: article\n",
        "PURGE /pa* HTTP/1.1\nHost: example.test\n",
        "BAN / HTTP/1.1\nHost: c\nX-Host: example\nX-Url: ^/page$\nX-Content-Type: .*\n",
        "BAN / HTTP/1.1\nHost: c\nX-Cache-Tags: article\n",
    ] {
        warm(&larder, &version);
        let old = version.change();
        client(message);
        nobody_gets(&larder, &old, message);
    }
    warm(&larder, &version);
    let old = version.change();
    assert_eq!(purge(&larder, &json!({ "url": url }))["touched"], GROUPS);
    nobody_gets(&larder, &old, "the admin API");

    warm(&larder, &version);
    let old = version.change();
    let finished = run(&larder, &[url]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    nobody_gets(&larder, &old, "the command");
}

/// Its old page does not stand in for an application that fails, for no group.
#[test]
fn a_purged_page_stands_in_for_no_error_of_any_group() {
    let (origin, larder) = site();
    let version = Version::of(&origin);
    warm(&larder, &version);
    let purged = larder.ask("PURGE", "/page").send();
    assert_eq!(purged.status, 200);
    origin.stop();
    for user in USERS {
        let answer = get(&larder, "/page", user);
        assert_eq!(answer.status, 502, "{user:?}: {}", answer.said());
    }
}

/// A group's page that was on its way when it was purged goes to who asked before, and is not kept.
#[test]
fn no_group_keeps_a_page_that_was_on_its_way_when_it_was_purged() {
    let (origin, larder) = site();
    let version = Version::of(&origin);
    let gate = Gate::new();
    let (held, known) = (gate.clone(), version.clone());
    origin.on("/page", move |request| {
        let reply = page(request).body(known.text());
        if known.0.load(SeqCst) == 0 {
            reply.hold_head(&held)
        } else {
            reply
        }
    });
    let first = ["ann", "eve", ""];
    let clients: Vec<_> = first
        .iter()
        .map(|user| ask(&larder, user).begin())
        .collect();
    gate.wait_reached_by(GROUPS);
    let old = version.change();
    assert_eq!(larder.ask("PURGE", "/page").send().status, 200);
    gate.open();
    for (user, mut client) in first.iter().zip(clients) {
        let answer = client.read();
        assert!(answer.text().ends_with(&old), "{user}: it asked before");
    }
    nobody_gets(&larder, &old, "what was on its way");
}

#[test]
fn no_group_gets_a_purged_page_back_from_disk() {
    let site = disk::Site::new("[defaults]\nuser_context = \"/_fos_user_context_hash\"\n");
    let version = Version::of(&site.origin);
    let mut larder = site.start();
    warm(&larder, &version);
    wait_until("the page of each group is on disk", || {
        sample(&larder, "larder_disk_writes_total") >= GROUPS as u64
    });
    larder = site.restart(larder);
    let asked = site.origin.requests("/page");
    warm(&larder, &version);
    assert_eq!(site.origin.requests("/page"), asked, "the disk has them");
    larder = site.restart(larder);
    let old = version.change();
    assert_eq!(larder.ask("PURGE", "/page").send().status, 200);
    larder = site.crash(larder);
    nobody_gets(&larder, &old, "the disk");
    larder = site.crash(larder);
    nobody_gets(&larder, &old, "the disk, once more");
}
