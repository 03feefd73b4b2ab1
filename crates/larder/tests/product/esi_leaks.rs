//! One user's fragment is never in another's page.

use crate::{
    common::{Said, start_with},
    esi::{ON, html, page},
    leaks::whose,
};
use testkit::{Gate, Larder, Reply};

/// Everything that may lie between a page and what is one user's.
fn as_user(larder: &Larder, target: &str, user: &str) -> String {
    let answer = larder.get(target).header("Cookie", user).send();
    assert!(answer.complete, "{target}");
    answer.text()
}

#[test]
fn each_user_gets_a_stored_page_with_fragments_of_their_own() {
    for (what, fields) in [
        ("never stored", &[("Cache-Control", "no-store")][..]),
        ("private", &[("Cache-Control", "private, max-age=60")]),
        (
            "varies",
            &[("Cache-Control", "max-age=60"), ("Vary", "Cookie")],
        ),
        (
            "sets a cookie",
            &[("Cache-Control", "max-age=60"), ("Set-Cookie", "s=1")],
        ),
        ("says nothing", &[]),
        (
            "must be validated",
            &[("Cache-Control", "private, no-cache"), ("ETag", "\"1\"")],
        ),
    ] {
        let (origin, larder) = start_with(ON);
        origin.reply("/", page("<esi:include src=\"/outer\"/>"));
        origin.reply("/outer", page("(<esi:include src=\"/mine\"/>)"));
        origin.on("/mine", move |request| {
            crate::common::with(Reply::ok(), fields).body(whose(request))
        });
        for user in ["id=1", "id=2", "id=1", "id=2", "id=3"] {
            assert_eq!(as_user(&larder, "/", user), format!("({user})"), "{what}");
        }
        let nobody = larder.get("/").send();
        assert_eq!(nobody.text(), "(nobody)", "{what}");
        assert!(nobody.hit());
        assert_eq!(
            (origin.requests("/"), origin.requests("/outer")),
            (1, 1),
            "{what}"
        );
        assert_eq!(nobody.joined("cache-control"), "private, no-cache");
        assert_eq!(
            nobody.head.header("set-cookie"),
            None,
            "a fragment sets no cookies"
        );
    }
}

#[test]
fn what_is_bypassed_for_some_users_is_not_stored_by_a_page() {
    let config = ON.replace("esi = true", "esi = true\nbypass.cookies = \"login\"");
    let (origin, larder) = start_with(&config);
    origin.reply("/", page("<esi:include src=\"/menu\"/>"));
    origin.on("/menu", |request| {
        Reply::ok().cache("max-age=60").body(whose(request))
    });
    for user in ["login=1", "login=2", "x=1", "login=1", "x=2"] {
        let expected = if user.starts_with("login") {
            user
        } else {
            "x=1"
        };
        assert_eq!(
            as_user(&larder, "/", user),
            expected,
            "as a request for the menu itself is answered"
        );
    }
}

#[test]
fn authorized_fragments_stay_their_owners() {
    let (origin, larder) = start_with(ON);
    origin.reply(
        "/",
        html("public, max-age=60", "<esi:include src=\"/mine\"/>"),
    );
    origin.on("/mine", |request| {
        Reply::ok().cache("max-age=60").body(whose(request))
    });
    for user in ["Basic YTpi", "Basic Yzpk", "Basic YTpi"] {
        let answer = larder.get("/").header("Authorization", user).send();
        assert_eq!(answer.text(), user);
    }
}

#[test]
fn users_who_wait_for_one_page_get_their_own_fragments() {
    let (origin, larder) = start_with(ON);
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |_| {
        html("max-age=60", "a<esi:include src=\"/mine\"/>")
            .hold_head(&held)
            .chunked()
            .body("b")
    });
    origin.on("/mine", |request| {
        Reply::ok().cache("private").body(whose(request))
    });
    let users: Vec<String> = (0..6).map(|number| format!("id={number}")).collect();
    let mut clients: Vec<_> = users
        .iter()
        .map(|user| larder.get("/").header("Cookie", user).begin())
        .collect();
    gate.wait_reached();
    gate.open();
    for (client, user) in clients.iter_mut().zip(&users) {
        assert_eq!(client.read().text(), format!("a{user}b"));
    }
}

#[test]
fn values_of_one_request_are_not_in_anothers_page() {
    let (origin, larder) = start_with(ON);
    origin.reply(
        "/",
        page(
            "<esi:vars>$(HTTP_COOKIE{id})</esi:vars><esi:include src=\"/f?u=$(HTTP_COOKIE{id})\"/>",
        ),
    );
    origin.otherwise(|request| {
        Reply::ok()
            .cache("max-age=60")
            .body(format!("[{}]", request.target))
    });
    for id in ["1", "2", "1"] {
        assert_eq!(
            as_user(&larder, "/", &format!("id={id}")),
            format!("{id}[/f?u={id}]")
        );
    }
    assert_eq!(larder.get("/").send().text(), "[/f?u=]");
}

#[test]
fn in_a_crowd_each_gets_its_own_fragments() {
    let (origin, larder) = start_with(ON);
    origin.reply(
        "/",
        page("<esi:include src=\"/a\"/>,<esi:include src=\"/b\"/>,<esi:include src=\"/c\"/>"),
    );
    origin.on("/a", |request| {
        Reply::ok()
            .cache("max-age=60")
            .header("Vary", "Cookie")
            .body(whose(request))
    });
    origin.on("/b", |request| {
        Reply::ok().cache("private").body(whose(request))
    });
    origin.on("/c", |request| {
        html("no-store", "<esi:vars>$(HTTP_COOKIE{id})</esi:vars>").header("X-For", whose(request))
    });
    let larder = &larder;
    std::thread::scope(|scope| {
        for user in 0..8 {
            scope.spawn(move || {
                let cookie = format!("id={user}");
                let mut client = larder.client();
                for _ in 0..50 {
                    let answer = client.get("/").header("Cookie", &cookie).send();
                    assert_eq!(answer.text(), format!("{cookie},{cookie},{user}"));
                }
            });
        }
    });
}

#[test]
fn an_include_is_never_a_purge() {
    let (origin, larder) = start_with(ON);
    origin.reply(
        "/",
        page("<esi:include src=\"/purge/kept\"/><esi:include src=\"/kept\"/>"),
    );
    origin.on("/kept", |request| {
        Reply::ok()
            .cache("max-age=60")
            .body(request.nth.to_string())
    });
    origin.reply("/purge/kept", Reply::ok().body("purged? "));
    for _ in 0..3 {
        let answer = larder.get("/").header("X-Refresh", "1").send();
        assert!(
            answer.text().ends_with('1') || answer.text().contains("purged"),
            "{}",
            answer.text()
        );
    }
    assert!(
        larder
            .get("/kept")
            .header("Accept-Encoding", "identity")
            .send()
            .hit()
    );
}
