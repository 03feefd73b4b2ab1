//! Never one user's page to another who waits for the same fetch: tests that try to get it.

use super::leaks::{range_of, whose};
use crate::common::{Said, start};
use testkit::{Gate, Reply};

#[test]
fn a_follower_never_gets_another_users_page() {
    for (name, value) in [
        ("Cache-Control", "private"),
        ("Cache-Control", "no-store"),
        ("Set-Cookie", "s=1"),
        ("Vary", "*"),
        ("Vary", "Cookie"),
    ] {
        let (origin, larder) = start();
        let gate = Gate::new();
        let held = gate.clone();
        origin.on("/", move |request| {
            let reply = Reply::ok()
                .header(name, value)
                .header("Cache-Control", "max-age=60")
                .body(whose(request));
            if request.nth == 1 {
                reply.hold_head(&held)
            } else {
                reply
            }
        });
        let mut leader = larder.get("/").header("Cookie", "id=leader").begin();
        gate.wait_reached();
        let users = ["id=1", "id=2", "id=3"];
        let followers = users.map(|user| larder.get("/").header("Cookie", user).begin());
        gate.open();
        assert_eq!(leader.read().text(), "id=leader");
        for (mut follower, user) in followers.into_iter().zip(users) {
            assert_eq!(follower.read().text(), user, "{name}: {value}");
        }
    }
}

#[test]
fn a_follower_of_an_authorized_leader_fetches_on_its_own() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| {
        let reply = Reply::ok().cache("max-age=60").body(whose(request));
        if request.nth == 1 {
            reply.hold_head(&held)
        } else {
            reply
        }
    });
    let mut leader = larder
        .get("/")
        .header("Authorization", "Basic YTpi")
        .begin();
    gate.wait_reached();
    let mut others = ["Basic Yzpk", "Basic ZTpm"]
        .map(|user| (larder.get("/").header("Authorization", user).begin(), user));
    let mut anonymous = larder.get("/").begin();
    gate.open();
    assert_eq!(leader.read().text(), "Basic YTpi");
    assert_eq!(anonymous.read().text(), "nobody");
    for (client, user) in &mut others {
        let text = client.read().text();
        assert!(text == *user || text == "nobody", "{user} got {text}");
    }
}

#[test]
fn what_is_kept_only_to_be_validated_is_not_shared_with_followers() {
    for directives in ["no-cache", "max-age=0", "s-maxage=0", ""] {
        for held_in_body in [false, true] {
            let (origin, larder) = start();
            let gate = Gate::new();
            let held = gate.clone();
            origin.on("/", move |request| {
                let user = whose(request);
                let reply = Reply::ok().header("ETag", format!("\"{user}\""));
                let reply = if directives.is_empty() {
                    reply
                } else {
                    reply.cache(directives)
                };
                match (request.nth, held_in_body) {
                    (1, false) => reply.hold_head(&held).body(user),
                    (1, true) => reply
                        .length(user.len())
                        .body(&user[..3])
                        .hold(&held)
                        .body(&user[3..]),
                    _ => reply.body(user),
                }
            });
            let mut leader = larder.get("/").header("Cookie", "id=leader").begin();
            gate.wait_reached();
            let mut followers =
                ["id=1", "id=2"].map(|user| (larder.get("/").header("Cookie", user).begin(), user));
            gate.open();
            assert_eq!(leader.read().text(), "id=leader");
            for (follower, user) in &mut followers {
                assert_eq!(
                    follower.read().text(),
                    *user,
                    "9111 section 4: {directives:?}, body under way: {held_in_body}"
                );
            }
        }
    }
}

#[test]
fn a_validation_is_shared_only_where_its_answer_may_be() {
    for directives in ["no-cache", "max-age=0"] {
        let (origin, larder) = start();
        let gate = Gate::new();
        let held = gate.clone();
        origin.on("/", move |request| {
            let user = whose(request);
            let reply = Reply::ok()
                .cache(directives)
                .header("ETag", format!("\"{user}\""))
                .body(user);
            if request.nth == 2 {
                reply.hold_head(&held)
            } else {
                reply
            }
        });
        larder.get("/").header("Cookie", "id=0").send();
        let mut leader = larder.get("/").header("Cookie", "id=leader").begin();
        gate.wait_reached();
        let mut followers =
            ["id=1", "id=2"].map(|user| (larder.get("/").header("Cookie", user).begin(), user));
        gate.open();
        assert_eq!(leader.read().text(), "id=leader");
        for (follower, user) in &mut followers {
            assert_eq!(
                follower.read().text(),
                *user,
                "9111 section 4.3: {directives}"
            );
        }
    }
}

#[test]
fn a_follower_whose_variant_differs_fetches_on_its_own() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| {
        let reply = Reply::ok().cache("max-age=60").header("Vary", "Cookie");
        let user = whose(request);
        if request.nth == 1 {
            reply
                .length(9)
                .body(&user[..3])
                .hold(&held)
                .body(&user[3..])
        } else {
            reply.body(user)
        }
    });
    let mut leader = larder.get("/").header("Cookie", "id=leader").begin();
    gate.wait_reached();
    assert_eq!(
        larder.get("/").header("Cookie", "id=1").send().text(),
        "id=1",
        "while the other is still being filled"
    );
    assert_eq!(larder.get("/").send().text(), "nobody");
    gate.open();
    assert_eq!(leader.read().text(), "id=leader");
    assert_eq!(
        larder.get("/").header("Cookie", "id=leader").send().text(),
        "id=leader"
    );
}

#[test]
fn a_background_refresh_speaks_for_nobody_in_particular() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let reply = Reply::ok()
            .cache("max-age=60, stale-while-revalidate=600")
            .body(whose(request));
        if request.nth == 1 {
            reply.header("Age", "70")
        } else {
            reply
        }
    });
    larder.get("/").send();
    larder.get("/").header("Authorization", "Basic YTpi").send();
    origin.wait_requests("/", 2);
    testkit::wait_until("the refresh is done", || {
        !larder
            .get("/")
            .send()
            .parameter("ttl")
            .unwrap_or_default()
            .starts_with('-')
    });
    let anonymous = larder.get("/").send();
    assert_eq!(
        anonymous.text(),
        "nobody",
        "9111 section 3.5: what an authorized refresh brings is not shared"
    );
}

#[test]
fn a_follower_never_takes_a_part_for_the_whole() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| match request.header("range") {
        Some("bytes=0-4") => range_of("\"a\"", "0123456789", 0, 4).hold_head(&held),
        Some(_) => range_of("\"a\"", "0123456789", 5, 9),
        None => Reply::ok()
            .cache("max-age=60")
            .header("ETag", "\"a\"")
            .body("0123456789"),
    });
    let mut part = larder.get("/").header("Range", "bytes=0-4").begin();
    gate.wait_reached();
    let mut whole = larder.get("/").begin();
    let mut other = larder.get("/").header("Range", "bytes=5-9").begin();
    gate.open();
    let (part, whole, other) = (part.read(), whole.read(), other.read());
    assert_eq!((part.status, part.text().as_str()), (206, "01234"));
    assert_eq!(
        (whole.status, whole.text().as_str()),
        (200, "0123456789"),
        "9111 section 3.3"
    );
    assert_eq!((other.status, other.text().as_str()), (206, "56789"));
}
