//! Pages that hold a turn at the origin, or keep others waiting, while their fragments are waited for.

use crate::{
    common::{sample, start_with},
    esi::{ON, html, text},
};
use testkit::{Gate, Larder, Origin, Reply, wait_until};

const MB: usize = 1 << 20;

/// One fetch at a time, and bodies of at most a megabyte kept.
fn one_at_a_time() -> (Origin, Larder) {
    let config = ON.replace("esi = true", "esi = true\nlargest_body = \"1MiB\"");
    let config = config.replace("[[route]]", "most_concurrent = 1\n[[route]]");
    let (origin, larder) = start_with(&config);
    origin.reply("/f", Reply::ok().cache("no-store").body("F"));
    (origin, larder)
}

const INCLUDE: &str = "<esi:include src=\"/f\"/>";

fn is_composed(got: &str, begins: &str, length: usize) {
    let is_good = got.starts_with(begins) && got.len() == begins.len() + length;
    assert!(is_good, "{} bytes: {:.20}", got.len(), got);
}

#[test]
fn a_page_that_is_not_kept_lets_its_fragments_have_its_turn() {
    let large = "x".repeat(6 * MB);
    for (what, cache, is_chunked) in [
        ("outgrows what is kept", "max-age=60", true),
        ("says that it is too large", "max-age=60", false),
        ("is not stored", "no-store", false),
        (
            "is not stored, and does not say its length",
            "no-store",
            true,
        ),
    ] {
        let (origin, larder) = one_at_a_time();
        let page = html(cache, format!("{INCLUDE}{large}"));
        origin.reply("/", if is_chunked { page.chunked() } else { page });
        println!("a page that {what}");
        is_composed(&text(&larder, "/"), "F", large.len());
    }
}

/// Its beginning waits for the fragment when it turns out that it is not kept.
#[test]
fn a_page_that_outgrows_what_is_kept_late_lets_its_fragments_have_its_turn() {
    let (origin, larder) = one_at_a_time();
    let (start, rest) = ("x".repeat(MB / 2), "y".repeat(4 * MB));
    let gate = Gate::new();
    let page = html("max-age=60", format!("{INCLUDE}{start}"));
    origin.reply("/", page.chunked().hold(&gate).body(&rest));
    let mut client = larder.get("/").begin();
    gate.wait_reached();
    wait_until("its beginning has come, and the fragment waits", || {
        sample(&larder, "larder_in_flight_bytes") >= MB as u64 / 2
            && larder
                .admin_get("/metrics")
                .send()
                .text()
                .lines()
                .any(|line| line.starts_with("larder_origin_queued{") && line.ends_with(" 1"))
    });
    gate.open();
    let answer = client.read();
    assert!(answer.complete);
    is_composed(&answer.text(), "F", start.len() + rest.len());
}

/// The first fragment has begun, and what it is made of waits for the turn of the second.
#[test]
fn a_fragment_further_on_gives_its_turn_to_what_an_earlier_one_is_made_of() {
    let (origin, larder) = one_at_a_time();
    let large = "x".repeat(MB - 1);
    let includes = "<esi:include src=\"/a\"/><esi:include src=\"/large\"/>";
    origin.reply("/", html("max-age=60", includes));
    origin.reply("/a", html("max-age=60", format!("a{INCLUDE}")));
    let reply = Reply::ok().cache("no-store").body(&large);
    origin.reply("/large", reply);
    for _ in 0..2 {
        is_composed(&text(&larder, "/"), "aF", large.len());
    }
}

/// A client that is sent the first fragment has the turn of that one alone.
#[test]
fn fragments_that_have_come_hold_no_turns_while_what_is_before_them_is_sent() {
    let (origin, larder) = start_with(&ON.replace("[[route]]", "most_concurrent = 4\n[[route]]"));
    let unstored = || Reply::ok().cache("no-store");
    let includes = ["/endless", "/1", "/2", "/3"];
    origin.reply("/", html("max-age=60", includes.map(include).concat()));
    origin.reply("/endless", unstored().endless("x".repeat(60_000)));
    for path in &includes[1..] {
        origin.reply(path, unstored().chunked().body("x".repeat(300_000)));
    }
    origin.reply("/other", unstored().body("other"));
    let mut client = larder.get("/").begin();
    let mut answer = client.read_head();
    wait_until("the others have come", || {
        client.read_body_exactly(&mut answer, 1);
        origin.requests("/3") == 1 && active(&larder) == 1
    });
    assert_eq!(larder.get("/other").send().text(), "other");
}

fn include(path: &str) -> String {
    format!("<esi:include src=\"{path}\"/>")
}

/// Fetches under way.
fn active(larder: &Larder) -> u64 {
    sample(larder, "larder_origin_active{origin=\"origin\"}")
}

/// Both get a page that is not kept, and one of them waits for a fragment of theirs.
#[test]
fn who_waits_for_a_fragment_does_not_keep_others_from_a_page_that_is_not_kept() {
    let config = ON.replace(
        "esi = true",
        "esi = true\nlargest_body = \"1MiB\"\nfragment_wait = \"100s\"",
    );
    let (origin, larder) = start_with(&config);
    let (coming, slow) = (Gate::new(), Gate::new());
    let large = "x".repeat(8 * MB);
    let page = html("max-age=60", INCLUDE).chunked();
    origin.reply("/", page.hold(&coming).body(&large));
    let held = slow.clone();
    origin.on("/f", move |request| {
        let reply = Reply::ok().cache("no-store").body("F");
        match request.header("cookie") {
            Some(_) => reply.hold_head(&held),
            None => reply,
        }
    });
    let mut waits = larder.get("/").header("Cookie", "slow=1").begin();
    let mut other = larder.get("/").begin();
    origin.wait_requests("/f", 2);
    coming.open();
    is_composed(&other.read().text(), "F", large.len());
    assert_eq!(origin.requests("/"), 1);
    slow.open();
    let answer = waits.read();
    assert!(answer.complete);
    is_composed(&answer.text(), "F", large.len());
}
