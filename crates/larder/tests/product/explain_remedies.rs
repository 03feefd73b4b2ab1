//! `larder explain` says what to set so that a request is answered from the store.

use crate::{
    common::{Said, start_with},
    explain::explained,
};
use testkit::{Gate, Reply};

const REMEDY: &str = "To change this: ";

/// What is said can be changed, a line for each remedy.
fn remedies(told: &str) -> Vec<&str> {
    told.lines()
        .filter_map(|line| line.strip_prefix(REMEDY))
        .collect()
}

/// Who knows nginx or Varnish meets these first.
#[test]
fn why_an_answer_was_not_stored_comes_with_what_changes_it() {
    let (origin, larder) =
        start_with("[[origin]]\nservers = \"{origin}\"\n[defaults]\nlargest_body = \"1KiB\"\n");
    let fresh = || Reply::ok().cache("max-age=60").body("x");
    origin.reply("/cookie", fresh().header("Set-Cookie", "id=1"));
    origin.reply("/silent", Reply::ok().body("x"));
    origin.reply("/zero", Reply::ok().cache("no-cache").body("x"));
    origin.reply("/private", Reply::ok().cache("private").body("x"));
    origin.reply("/no-store", Reply::ok().cache("no-store").body("x"));
    origin.reply("/token", fresh());
    origin.reply("/star", fresh().header("Vary", "*"));
    origin.reply(
        "/large",
        Reply::ok().cache("max-age=60").body("x".repeat(2000)),
    );
    origin.reply("/400", Reply::status(400).body("x"));
    origin.reply("/403", Reply::status(403).body("x"));
    origin.reply("/500", Reply::status(500).body("x"));
    let lifetime = "`ttl = \"1m\"`, or by status `ttl = { \"404\" = \"10s\" }`, with";
    let forced = "`ttl = \"1m\"` with `ttl_mode = \"override\"`, only if everybody";
    for (path, remedy, page) in [
        ("/cookie", "`set_cookie = \"strip\"`", "cookies-and"),
        ("/silent", lifetime, "storing.md#lifetime"),
        ("/zero", lifetime, "storing.md#lifetime"),
        ("/private", forced, "storing.md#lifetime"),
        ("/no-store", forced, "storing.md#lifetime"),
        (
            "/token",
            "no setting does; the application can say",
            "cookies-and",
        ),
        (
            "/star",
            "no setting does; the application can name",
            "variants",
        ),
        ("/large", "`largest_body = ", "docs/disk.md"),
        ("/400", "the status by its number", "stale-answers"),
        ("/403", lifetime, "storing.md#lifetime"),
        ("/500", "`ttl = { \"5xx\" = \"1s\" }`", "stale-answers"),
    ] {
        let ask = larder.get(path);
        let ask = match path {
            "/token" => ask.header("Authorization", "Bearer a"),
            _ => ask,
        };
        assert!(!ask.send().says("stored"), "{path}");
        let told = explained(&larder, &format!("http://example.test{path}"), &[]);
        let [said] = remedies(&told)[..] else {
            panic!("{path}: one remedy: {told}");
        };
        assert!(said.starts_with(remedy) && said.contains(page), "{told}");
    }
}

#[test]
fn what_passes_the_store_by_comes_with_what_changes_it() {
    let (_origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n\
         [defaults.bypass]\ncookies = \"*\"\nheaders = \"X-Preview\"\npaths = \"/api/*\"\nquery = \"preview\"\n\
         [[route]]\npath = \"/off/*\"\ncache = false\n\
         [[route]]\npath = \"/methods/*\"\nbypass.methods = \"GET\"\n\
         [[route]]\npath = \"/misses/*\"\nbypass.misses_with = \"session\"\n",
    );
    for (path, line, remedy) in [
        ("/a", Some(("Cookie", "seen=1")), "bypass.cookies"),
        (
            "/misses/a",
            Some(("Cookie", "session=1")),
            "bypass.misses_with",
        ),
        ("/a", Some(("X-Preview", "1")), "bypass.headers"),
        ("/api/a", None, "bypass.paths"),
        ("/a?preview=1", None, "bypass.query"),
        ("/methods/a", None, "bypass.methods"),
        ("/off/a", None, "cache = true"),
    ] {
        let url = format!("http://example.test{path}");
        let told = explained(&larder, &url, line.as_slice());
        let [said] = remedies(&told)[..] else {
            panic!("{path}: one remedy: {told}");
        };
        assert!(said.contains(&format!("`{remedy}`")), "{told}");
    }
    let upgrade = [("Connection", "upgrade"), ("Upgrade", "websocket")];
    let told = explained(&larder, "http://example.test/a", &upgrade);
    assert!(!told.contains(REMEDY), "HTTP itself asks for that: {told}");
}

/// A browser's reload says `no-cache`.
#[test]
fn what_is_stored_and_not_sent_comes_with_what_changes_it() {
    let (origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
    let tagged = || Reply::ok().header("ETag", "\"a\"").body("x");
    origin.reply("/fresh", tagged().cache("max-age=60"));
    origin.reply("/silent", tagged());
    origin.reply("/zero", tagged().cache("max-age=0"));
    origin.reply("/asks", tagged().cache("no-cache, max-age=60"));
    origin.reply("/old", tagged().cache("max-age=60").header("Age", "100"));
    let reload = [("Cache-Control", "no-cache")];
    for (path, lines, remedy) in [
        ("/fresh", &[][..], None),
        ("/fresh", &reload, Some("`client_may_force = false`")),
        ("/old", &[], None),
        ("/old", &reload, Some("`client_may_force = false`")),
        ("/silent", &[], Some("`ttl = \"1m\"`, or by status")),
        ("/zero", &[], Some("`ttl = \"1m\"` with `ttl_mode = ")),
        ("/asks", &[], Some("`ttl = \"1m\"` with `ttl_mode = ")),
    ] {
        assert!(larder.get(path).send().says("stored") || path == "/fresh");
        let told = explained(&larder, &format!("http://example.test{path}"), lines);
        let said = remedies(&told);
        assert_eq!(said.len(), usize::from(remedy.is_some()), "{path}: {told}");
        let is_told = said
            .iter()
            .zip(remedy)
            .all(|(said, remedy)| said.starts_with(remedy));
        assert!(is_told, "{path}: {told}");
    }
}

/// An answer that takes longer to make than it lasts.
#[test]
fn requests_that_do_not_wait_for_each_other_come_with_what_changes_it() {
    let (origin, larder) = start_with("workers = 1\n[[origin]]\nservers = \"{origin}\"\n");
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |_| {
        let reply = Reply::ok().cache("max-age=60").header("Age", "100");
        reply.body("x").hold_head(&held)
    });
    let mut leader = larder.get("/").begin();
    gate.wait_reached();
    let mut follower = larder.get("/").begin();
    // The one worker has begun with what came before.
    larder.get("/other").send();
    gate.open();
    for client in [&mut leader, &mut follower] {
        assert_eq!(client.read().text(), "x");
    }
    let told = explained(&larder, "http://example.test/", &[]);
    let remedy = "`stale.while_revalidate = \"10s\"`, if it takes longer to make than it lasts";
    let [said] = remedies(&told)[..] else {
        panic!("one remedy: {told}");
    };
    assert!(said.starts_with(remedy), "{told}");
}
