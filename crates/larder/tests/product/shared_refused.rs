//! A Redis that refuses what it took before, or is gone: requests go on, purges are refused, and both are told.

use crate::{
    common::{Said, sample},
    disk_purge::ask_purge,
    disk_trouble::told,
    nodes::{get, wait_follows},
    shared_trouble::{errors, goes_on, is_found_again, is_open, node},
};
use serde_json::json;
use testkit::{Larder, Link, Origin, Redis, Response};

/// Says which password the user `larder` has from now on. The test itself is somebody else.
fn set_password(redis: &Redis, password: &str) {
    let rule = format!(">{password}");
    let user = ["ACL", "SETUSER", "larder", "on", "resetpass", &rule];
    let all = ["~*", "&*", "+@all"];
    assert_eq!(redis.ask(&[&user[..], &all[..]].concat()), "OK");
}

/// How many entries the log of purges has.
fn entries(redis: &Redis) -> String {
    redis.ask(&["XLEN", "larder:purges"])
}

/// Asks the admin API to purge the page.
fn purge(node: &Larder) -> Response {
    ask_purge(node, &json!({ "url": "http://site.example/page" }))
}

/// The same, which it refuses for now. What it says.
fn refused(node: &Larder) -> Response {
    let answer = purge(node);
    assert_eq!(answer.status, 503, "{}", answer.text());
    let again = answer.header("retry-after").expect("when to try again");
    assert!(again.parse::<u64>().is_ok_and(|seconds| seconds > 0));
    answer
}

const NOTHING: &str =
    "the log that nodes share cannot be reached, or accepts nothing: nothing was purged";

#[test]
fn a_password_that_changes_is_told_of_once_and_forgiven_when_it_is_back() {
    let (origin, redis) = (Origin::start(), Redis::start());
    set_password(&redis, "first");
    let url = redis.url().replace("redis://", "redis://larder:first@");
    let node = node(&origin, &url);
    goes_on(&node, "before");
    get(&node, "/page");
    let before = entries(&redis);

    set_password(&redis, "second");
    let killed = redis.ask(&["CLIENT", "KILL", "USER", "larder"]);
    assert_ne!(killed, "0", "it had connections");
    goes_on(&node, "meanwhile");
    assert!(errors(&node, "refused") > 0);
    assert!(is_open(&node));
    // The first may be what finds out that the connection is gone.
    refused(&node);
    assert!(refused(&node).text().contains(NOTHING));
    let lines = told(&node);
    assert_eq!(lines.len(), 1, "{lines:#?}");
    assert!(
        !lines[0].contains("first") && !lines[0].contains("second"),
        "{lines:#?}"
    );

    set_password(&redis, "first");
    is_found_again(&node);
    wait_follows(&node);
    assert_eq!(told(&node).len(), 1, "{:#?}", told(&node));
    assert_eq!(entries(&redis), before, "nothing was purged, nor is later");
    let page = get(&node, "/page");
    assert!(page.hit() && page.text() == "1", "{}", page.said());
    let purged = purge(&node);
    assert_eq!(purged.status, 200, "{}", purged.text());
    assert_eq!(get(&node, "/page").text(), "2");
}

#[test]
fn a_purge_while_redis_is_gone_is_refused_and_purges_nothing() {
    let (origin, mut redis) = (Origin::start(), Redis::start());
    let node = node(&origin, &redis.url());
    assert_eq!(get(&node, "/page").text(), "1");
    let purges = || {
        let kinds = ["url", "everything"];
        kinds.map(|kind| sample(&node, &format!("larder_purges_total{{kind=\"{kind}\"}}")))
    };
    let before = purges();
    redis.kill();
    refused(&node);
    assert!(refused(&node).text().contains(NOTHING));
    for method in ["PURGE", "BAN"] {
        let answer = node.ask(method, "/page").header("Host", "site.example");
        let answer = answer.send();
        assert_eq!(answer.status, 503, "{method}: {}", answer.text());
        assert!(answer.header("retry-after").is_some(), "{method}");
    }
    let page = get(&node, "/page");
    assert!(page.hit() && page.text() == "1", "{}", page.said());
    assert_eq!(purges(), before, "no purge took effect");
    assert_eq!(origin.requests("/page"), 1);
}

/// A firewall has forgotten it, say, while the one that the stream is read over is well.
#[test]
fn a_connection_that_is_lost_in_silence_refuses_one_purge_alone() {
    let (origin, redis) = (Origin::start(), Redis::start());
    let link = Link::to(&redis.address());
    let node = node(&origin, &format!("redis://{}", link.address()));
    assert_eq!(get(&node, "/page").text(), "1");
    assert_eq!(purge(&node).status, 200);
    assert_eq!(get(&node, "/page").text(), "2");
    assert_eq!(link.lose("XADD"), 1, "what purges go by");
    assert!(!refused(&node).text().contains(NOTHING));
    let purged = purge(&node);
    assert_eq!(purged.status, 200, "{}", purged.text());
    assert_eq!(get(&node, "/page").text(), "3");
}

/// Redis itself closes what has rested for `timeout`.
#[test]
fn a_connection_that_is_closed_while_it_rests_refuses_no_purge() {
    let (origin, redis) = (Origin::start(), Redis::start());
    let node = node(&origin, &redis.url());
    assert_eq!(get(&node, "/page").text(), "1");
    assert_eq!(purge(&node).status, 200);
    for version in ["2", "3", "4"] {
        assert_eq!(get(&node, "/page").text(), version);
        let before: u64 = entries(&redis).parse().expect("a number");
        close_resting(&redis);
        let purged = purge(&node);
        assert_eq!(purged.status, 200, "{}", purged.text());
        assert_eq!(entries(&redis), (before + 1).to_string(), "sent once");
    }
    assert_eq!(get(&node, "/page").text(), "5");
}

/// Closes what purges go by, and nothing else.
fn close_resting(redis: &Redis) {
    let all = redis.ask(&["CLIENT", "LIST"]);
    let mut lines = all.lines().filter(|line| line.contains(" cmd=exec "));
    let line = lines.next().expect("what purges go by");
    let id = line.split(' ').find_map(|part| part.strip_prefix("id="));
    let killed = redis.ask(&["CLIENT", "KILL", "ID", id.expect("a number")]);
    assert_eq!((killed.as_str(), lines.next()), ("1", None));
}
