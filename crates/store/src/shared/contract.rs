//! The contract of every [`Remote`], whichever server is behind it; run against real servers.

use super::remote::{Read, Remote};
use bytes::Bytes;
use std::{future::Future, pin::pin, task::Context, time::Duration};

const LONG: Duration = Duration::from_mins(1);

/// Fails the test if `remote`, whose server is empty, breaks the contract.
pub(super) async fn holds(remote: &dyn Remote) {
    values_come_back(remote).await;
    many_come_in_order(remote).await;
    only_one_adds(remote).await;
    only_its_holder_deletes(remote).await;
    only_what_is_known_is_replaced(remote).await;
    the_server_forgets(remote).await;
    answers_nobody_waits_for_disturb_nobody(remote).await;
    remote.hang_up();
    assert_eq!(
        get(remote, "short").await.as_deref(),
        Some(&b"1"[..]),
        "over a new connection"
    );
}

async fn get(remote: &dyn Remote, key: &str) -> Option<Bytes> {
    remote.get(key, Read::Latest).await.expect("an answer")
}

async fn set(remote: &dyn Remote, key: &str, value: &[u8]) {
    remote.set(key, value, LONG).await.expect("set");
}

async fn values_come_back(remote: &dyn Remote) {
    let every_byte: Vec<u8> = (0..=255).collect();
    let long = every_byte.repeat(2400);
    let longest_name = "n".repeat(remote.limits().key);
    assert!(remote.limits().value > long.len());
    for (key, value) in [
        ("short", &b"1"[..]),
        (
            "larder:https://a.example/x?y=%20\\\"'{}~#lease",
            b"text\r\nEND\r\n",
        ),
        ("bytes", &every_byte),
        ("long", &long),
        (&longest_name, b"1"),
    ] {
        assert_eq!(get(remote, key).await, None, "{key}");
        set(remote, key, value).await;
        let found = get(remote, key).await;
        assert!(found.as_deref() == Some(value), "{key}");
    }
    set(remote, "bytes", b"others").await;
    assert_eq!(get(remote, "bytes").await.as_deref(), Some(&b"others"[..]));
}

async fn many_come_in_order(remote: &dyn Remote) {
    let names: Vec<_> = (0..40).map(|number| format!("many-{number}")).collect();
    for (number, name) in names
        .iter()
        .enumerate()
        .filter(|(number, _)| number % 3 != 0)
    {
        set(remote, name, number.to_string().as_bytes()).await;
    }
    let found = remote
        .get_many(&names, Read::Latest)
        .await
        .expect("an answer");
    assert_eq!(found.len(), names.len());
    for (number, value) in found.iter().enumerate() {
        let expected = (number % 3 != 0).then(|| number.to_string().into_bytes());
        assert_eq!(value.as_deref(), expected.as_deref(), "{number}");
    }
    assert_eq!(remote.get_many(&[], Read::Latest).await, Ok(Vec::new()));
}

async fn only_one_adds(remote: &dyn Remote) {
    assert_eq!(remote.add("added", b"a", LONG).await, Ok(true));
    assert_eq!(remote.add("added", b"b", LONG).await, Ok(false));
    assert_eq!(get(remote, "added").await.as_deref(), Some(&b"a"[..]));
}

async fn only_what_is_known_is_replaced(remote: &dyn Remote) {
    assert_eq!(
        remote.replace_if("replaced", b"a", b"b", LONG).await,
        Ok(false)
    );
    assert_eq!(get(remote, "replaced").await, None);
    set(remote, "replaced", b"a").await;
    for (old, new, is_replaced) in [(b"b", b"c", false), (b"a", b"b", true), (b"a", b"c", false)] {
        let replaced = remote.replace_if("replaced", old, new, LONG).await;
        assert_eq!(replaced, Ok(is_replaced), "{old:?} by {new:?}");
    }
    assert_eq!(get(remote, "replaced").await.as_deref(), Some(&b"b"[..]));
}

async fn only_its_holder_deletes(remote: &dyn Remote) {
    assert_eq!(remote.delete_if("added", b"b").await, Ok(false));
    assert_eq!(remote.delete_if("added", b"a").await, Ok(true));
    assert_eq!(remote.delete_if("added", b"a").await, Ok(false));
    assert_eq!(get(remote, "added").await, None);
    assert_eq!(
        remote.add("added", b"c", LONG).await,
        Ok(true),
        "it is free again"
    );
}

async fn the_server_forgets(remote: &dyn Remote) {
    let soon = Duration::from_millis(20);
    remote.set("soon", b"1", soon).await.expect("set");
    assert_eq!(remote.add("sooner", b"1", soon).await, Ok(true));
    set(remote, "late", b"1").await;
    set(remote, "anew", b"1").await;
    assert_eq!(remote.replace_if("anew", b"1", b"2", soon).await, Ok(true));
    set(remote, "soonest", b"1").await;
    set(remote, "soonest-too", b"1").await;
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|&name| name.to_owned())
            .collect::<Vec<_>>()
    };
    for (keys, are_there) in [
        (&["soonest"][..], true),
        (&[], true),
        (&["never", "soonest-too"], false),
        (&["soonest", "soonest-too"], true),
    ] {
        let found = remote.expire(&names(keys), soon).await;
        assert_eq!(found, Ok(are_there), "{keys:?}");
    }
    let gone = async {
        for key in ["soon", "sooner", "anew", "soonest", "soonest-too"] {
            while get(remote, key).await.is_some() {
                tokio::task::yield_now().await;
            }
        }
    };
    let gone = tokio::time::timeout(testkit::BOUND, gone).await;
    gone.expect("what has expired is gone");
    assert!(get(remote, "late").await.is_some());
}

/// A caller may give up at any moment. The next answer must still belong to the next question.
async fn answers_nobody_waits_for_disturb_nobody(remote: &dyn Remote) {
    let names: Vec<_> = (0..50).map(|number| format!("own-{number}")).collect();
    for name in &names {
        set(remote, name, name.as_bytes()).await;
    }
    for (number, name) in names.iter().enumerate() {
        let other = &names[(number * 7 + 1) % names.len()];
        for polls in 0..3 {
            let mut dropped = pin!(remote.get(other, Read::Latest));
            for _ in 0..polls {
                let _ = dropped
                    .as_mut()
                    .poll(&mut Context::from_waker(std::task::Waker::noop()));
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(get(remote, name).await.as_deref(), Some(name.as_bytes()));
    }
}
