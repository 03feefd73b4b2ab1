//! What composed pages hold counts against the budget.

use crate::{
    common::{Said, sample, start_with},
    esi::{ON, html, page},
    frames::{PREFACE, frame, last, literal, read_frame},
    memory::{patient, resident, stalled},
};
use testkit::{Client, Gate, Larder, Reply, wait_until};

fn in_flight(larder: &Larder) -> u64 {
    sample(larder, "larder_in_flight_bytes")
}

/// Of each of many, a little is read where memory is short, as of what is not composed.
#[test]
fn pages_that_pass_are_read_little_by_little_where_memory_is_short() {
    let (origin, larder) = patient("8MiB");
    let text = format!("<p>{}", "x".repeat(65_000));
    origin.otherwise(move |request| {
        let reply = html("no-store", "").header("Surrogate-Control", "content=\"ESI/1.0\"");
        match &*request.target {
            "/chunks" => reply.endless(&text),
            _ => reply.length(1 << 30).endless(&text),
        }
    });
    let before = resident(&larder);
    let mut clients = stalled(&larder, "/length", 60);
    clients.extend(stalled(&larder, "/chunks", 60));
    wait_until("memory is short", || in_flight(&larder) > 2 << 20);
    let (in_flight_now, grown) = (in_flight(&larder), resident(&larder).saturating_sub(before));
    assert!(in_flight_now < 7 << 20, "{in_flight_now} of 120 answers");
    assert!(grown < 24 << 20, "{grown} bytes more");
    drop(clients);
    wait_until("nothing is left", || in_flight(&larder) == 0);
}

/// Asks for `path` on so many streams, of whose answers nothing but their heads can be sent.
fn deaf(larder: &Larder, path: &str, streams: u8, agent: &str) -> Client {
    with_window(larder, path, streams, agent, 0)
}

/// As [`deaf`], but for the first `window` bytes of each answer.
fn with_window(larder: &Larder, path: &str, streams: u8, agent: &str, window: u8) -> Client {
    let mut client = larder.client();
    client.send(PREFACE);
    // The window for each stream's content (RFC 9113 section 6.5.2).
    client.send(frame(4, 0, &[0, 4, 0, 0, 0, window]));
    for number in 0..streams {
        let block = [
            (":method", "GET"),
            (":scheme", "http"),
            // As the requests over HTTP/1 have it: what these have stored is what is asked for.
            (":authority", "example.test"),
            (":path", path),
            ("user-agent", agent),
        ];
        let block = block.map(literal).concat();
        client.send(last(frame(1, 2 * number + 1, &block)));
    }
    client
}

#[test]
fn values_that_are_not_read_count() {
    let (origin, larder) = start_with(ON);
    let agent = "a".repeat(100);
    for (target, times) in [("/one", 200), ("/pieces", 900)] {
        let values = "$(HTTP_USER_AGENT)".repeat(times);
        origin.reply(target, page(format!("<esi:vars>{values}</esi:vars>")));
        let ask = larder.get(target).header("User-Agent", &agent);
        assert_eq!(ask.send().body.len(), 100 * times);
        wait_until("nothing is on its way", || in_flight(&larder) == 0);
        let client = deaf(&larder, target, 20, &agent);
        let all = 20 * 100 * times as u64;
        wait_until("what was made counts", || in_flight(&larder) >= all);
        drop(client);
        wait_until("nothing is left", || in_flight(&larder) == 0);
    }
}

/// Addresses have values in them, too, and wait until earlier includes have come.
fn addresses() -> String {
    let values = "$(HTTP_USER_AGENT)".repeat(10);
    let include = |number| format!("<esi:include src=\"/hang?{number}{values}\"/>");
    (0..100).map(include).collect()
}

#[test]
fn addresses_that_wait_count() {
    includes_count(&addresses(), 100_000);
}

#[test]
fn fragments_that_are_waited_for_count() {
    includes_count(&includes(8, "hang"), 40_000);
}

#[test]
fn short_fragments_that_wait_to_be_sent_count_as_what_they_take() {
    includes_count(&includes(200, "short"), 50_000);
}

fn includes(number: u8, path: &str) -> String {
    let include = |number| format!("<esi:include src=\"/{path}?{number}\"/>");
    (0..number).map(include).collect()
}

/// For each page of `text` that nobody reads, at least `each` bytes count.
fn includes_count(text: &str, each: u64) {
    const STREAMS: u8 = 20;
    let (origin, larder) = start_with(ON);
    let (agent, gate) = ("a".repeat(100), Gate::new());
    origin.reply("/", page(text));
    let held = gate.clone();
    origin.otherwise(move |request| {
        let reply = Reply::ok().cache("private").body("hello");
        if request.target.starts_with("/hang") {
            reply.hold_head(&held)
        } else {
            reply
        }
    });
    let client = deaf(&larder, "/", STREAMS, &agent);
    let all = u64::from(STREAMS) * each;
    wait_until("it counts", || in_flight(&larder) >= all);
    drop(client);
    wait_until("nothing is left", || in_flight(&larder) == 0);
    gate.open();
}

#[test]
fn who_finds_no_room_for_values_is_told() {
    let values = "$(HTTP_USER_AGENT)".repeat(900);
    some_are_turned_away(&format!("<esi:vars>{values}</esi:vars>"));
}

#[test]
fn who_finds_no_room_for_addresses_is_told() {
    let grown = some_are_turned_away(&addresses());
    assert!(grown < 12 << 20, "{grown} bytes more");
}

/// Returns by how much memory grows until then.
fn some_are_turned_away(text: &str) -> u64 {
    let (origin, larder) = start_with(&format!("{ON}[memory]\nsize = \"2MiB\"\n"));
    let (agent, gate) = ("a".repeat(100), Gate::new());
    let agent_length = agent.len();
    origin.reply("/", page(text));
    let held = gate.clone();
    origin.otherwise(move |request| {
        let reply = Reply::ok().cache("private");
        if request.target.len() > agent_length {
            reply.hold_head(&held)
        } else {
            reply
        }
    });
    larder.get("/").send();
    let before = resident(&larder);
    let clients = [100, 100].map(|streams| deaf(&larder, "/", streams, &agent));
    wait_until("some are turned away", || {
        sample(&larder, "larder_responses_total{class=\"5xx\"}") > 0
    });
    let grown = resident(&larder).saturating_sub(before);
    let bytes = in_flight(&larder);
    assert!(bytes < 5 << 19, "{bytes}");
    drop(clients);
    wait_until("nothing is left", || in_flight(&larder) == 0);
    gate.open();
    assert_eq!(larder.get("/").send().status, 200);
    grown
}

/// Slices of what is stored count with it, not once for each page that they are sent in.
#[test]
fn a_stored_fragment_counts_once_for_all_pages() {
    const STREAMS: u8 = 20;
    let (origin, larder) = start_with(ON);
    let large = "x".repeat(100_000);
    origin.reply(
        "/",
        page("<esi:include src=\"/cart\"/><esi:include src=\"/large\"/>"),
    );
    origin.reply("/cart", Reply::ok().cache("private").body("cart"));
    origin.reply("/large", Reply::ok().cache("max-age=60").body(&large));
    assert_eq!(larder.get("/").send().body.len(), 4 + large.len());
    for path in ["/", "/large"] {
        wait_until("it is stored", || larder.get(path).send().hit());
    }
    // All of a cart, and one byte of what is stored.
    let mut client = with_window(&larder, "/", STREAMS, "me", 5);
    let mut taken = 0;
    while taken < 5 * usize::from(STREAMS) {
        if let (0, 1.., content) = read_frame(&mut client) {
            taken += content.len();
        }
    }
    let bytes = in_flight(&larder);
    assert!(bytes < 1_000_000, "{bytes}");
    assert_eq!((origin.requests("/"), origin.requests("/large")), (1, 1));
    drop(client);
    wait_until("nothing is left", || in_flight(&larder) == 0);
}
