//! What encoders and decoders take of memory, and what clients get where there is none left.

use super::coding::{coding, decoded, get, made, page, text};
use super::coding_origin::gzipped;
use crate::common::{Said, next, sample, serve, start};
use std::io::Write;
use testkit::{Client, Gate, Larder, Origin, Reply, Response, wait_until};

const IN_FLIGHT: &str = "larder_in_flight_bytes";

/// All but little of what may be in flight in a larder with 4 MiB is taken, by responses on their way, until it ends.
pub(crate) struct Full {
    gate: Gate,
    clients: Vec<Client>,
}

impl Full {
    pub(crate) fn begin(origin: &Origin, larder: &Larder) -> Self {
        // Whole pages of memory.
        const EACH: usize = 508 << 10;
        let gate = Gate::new();
        let clients = (0..4).map(|number| {
            let path = format!("/full/{number}");
            let reply = Reply::ok().cache("max-age=60").length(EACH + 1);
            let reply = reply.body("x".repeat(EACH)).hold(&gate).body("x");
            origin.reply(&path, reply);
            larder.get(&path).begin()
        });
        let clients = clients.collect();
        wait_until("nothing is left", || {
            sample(larder, IN_FLIGHT) > 4 * EACH as u64
        });
        Self { gate, clients }
    }

    pub(crate) fn end(self, larder: &Larder) {
        self.gate.open();
        for mut client in self.clients {
            assert!(client.read().complete);
        }
        wait_until("nothing is in flight", || sample(larder, IN_FLIGHT) == 0);
    }
}

fn small(memory: &str) -> (Origin, Larder) {
    let origin = Origin::start();
    let larder = serve(&origin).args(["--memory", memory]).start();
    (origin, larder)
}

/// Brotli with a window of 4 MiB.
fn brotli(text: &str) -> Vec<u8> {
    let mut writer = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
    writer.write_all(text.as_bytes()).expect("memory");
    writer.into_inner()
}

fn coded(reply: Reply, coding: &str, code: &[u8]) -> Reply {
    reply.header("Content-Encoding", coding).body(code)
}

/// The page, whose origin pauses at the gate. What is at work on it counts as more than so many bytes meanwhile, and as
/// none when it is out.
fn counted_meanwhile(larder: &Larder, accepts: &str, gate: &Gate, least: u64) -> Response {
    let mut client = larder.get("/").header("Accept-Encoding", accepts).begin();
    let mut answer = client.read_head();
    client.read_body_exactly(&mut answer, 1);
    let held = sample(larder, IN_FLIGHT);
    assert!(held > least, "{held} of {least}");
    gate.open();
    client.read_content(&mut answer);
    wait_until("it is given back", || sample(larder, IN_FLIGHT) == 0);
    answer
}

#[test]
fn an_encoder_that_all_follow_counts_while_it_lives() {
    for (coding, least) in [("gzip", 300 << 10), ("zstd", 700 << 10), ("br", 900 << 10)] {
        let (origin, larder) = start();
        let body = text("follow", 20_000);
        let gate = Gate::new();
        let reply = page(&body[..5000]).chunked().hold(&gate);
        origin.reply("/", reply.body(&body[5000..]));
        let answer = counted_meanwhile(&larder, coding, &gate, least);
        assert_eq!(decoded(&answer), body);
        assert_eq!(made(&larder, coding, "fast"), 1);
    }
}

#[test]
fn a_decoder_counts_while_it_lives() {
    let body = text("decoder", 20_000);
    let gzip = (gzipped(&body), 60 << 10);
    for (coding, (code, least)) in [("gzip", gzip), ("br", (brotli(&body), 6 << 20))] {
        let (origin, larder) = start();
        let gate = Gate::new();
        let (one, two) = code.split_at(code.len() / 2);
        let reply = coded(page("").chunked(), coding, one);
        origin.reply("/", reply.hold(&gate).body(two));
        let answer = counted_meanwhile(&larder, "identity", &gate, least);
        assert_eq!(answer.text(), body, "{coding}");
    }
}

/// An encoder of the best window would take more than all that may be in flight.
#[test]
fn forms_are_shared_in_a_small_memory() {
    let (origin, larder) = small("2MiB");
    let body = text("small", 100_000);
    for coding in ["br", "zstd", "gzip"] {
        let (path, gate) = (format!("/{coding}"), Gate::new());
        let reply = page(&body[..1000]).chunked().hold(&gate);
        origin.reply(&path, reply.body(&body[1000..]));
        let ask = || larder.get(&path).header("Accept-Encoding", coding).begin();
        let mut clients: Vec<_> = (0..6).map(|_| ask()).collect();
        let heads: Vec<_> = clients.iter_mut().map(Client::read_head).collect();
        gate.open();
        for (mut client, mut answer) in clients.into_iter().zip(heads) {
            client.read_content(&mut answer);
            assert_eq!(decoded(&answer), body, "{coding}");
            assert_eq!(answer.header("content-encoding"), Some(coding));
        }
        wait_until("it is kept", || {
            let answer = get(&larder, &path, coding);
            assert_eq!(decoded(&answer), body, "{coding}");
            answer.header("content-length").is_some()
        });
        assert_eq!(made(&larder, coding, "fast"), 1, "{coding}");
        let passed = format!("larder_codings_passed_total{{coding=\"{coding}\"}}");
        assert_eq!(sample(&larder, &passed), 0);
    }
}

#[test]
fn what_there_is_no_room_to_code_goes_as_it_is() {
    let (origin, larder) = small("4MiB");
    let pages = [("/small", 20_000), ("/large", 60_000)];
    let pages = pages.map(|(path, length)| (path, text(path, length)));
    for (path, body) in &pages {
        origin.reply(path, page(body));
        larder.get(path).send();
    }
    origin.reply("/new", page(&pages[0].1));
    let full = Full::begin(&origin, &larder);
    let refused = || sample(&larder, "larder_codings_refused_total");
    for (path, body) in &pages {
        for coding in ["br", "zstd", "gzip"] {
            let before = refused();
            let answer = get(&larder, path, coding);
            assert!(answer.hit(), "{}", answer.said());
            assert_eq!(answer.header("content-encoding"), None, "{path}");
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"));
            assert_eq!(answer.header("etag"), Some("\"v1\""));
            assert!(answer.text() == *body, "{path} {coding}");
            assert_eq!(refused() - before, 1, "{path} {coding}");
        }
    }
    let answer = get(&larder, "/new", "gzip");
    assert_eq!(
        (coding(&answer), answer.text()),
        ("identity", pages[0].1.clone())
    );
    assert_eq!(
        sample(&larder, "larder_codings_in_bytes_total{coding=\"gzip\"}"),
        0
    );
    full.end(&larder);
    for (path, body) in &pages {
        for coding in ["br", "zstd", "gzip"] {
            let answer = get(&larder, path, coding);
            assert_eq!(answer.header("content-encoding"), Some(coding), "{path}");
            assert!(decoded(&answer) == *body, "{path} {coding}");
        }
    }
}

#[test]
fn what_there_is_no_room_to_decode_is_an_error_and_never_half_a_page() {
    let (origin, larder) = small("4MiB");
    let body = text("decode", 20_000);
    let (gzip, brotli) = (gzipped(&body), brotli(&body));
    origin.reply("/gzip", coded(page(""), "gzip", &gzip));
    origin.reply("/br", coded(page(""), "br", &brotli));
    for path in ["/gzip", "/br"] {
        larder
            .get(path)
            .header("Accept-Encoding", "br, gzip")
            .send();
    }
    let refused = |path: &str| {
        let answer = larder
            .get(path)
            .header("Accept-Encoding", "identity")
            .send();
        assert_eq!(answer.status, 503, "{path}");
        assert!(answer.said().contains("no-room"), "{}", answer.said());
        assert_eq!(answer.header("content-encoding"), None);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    };
    // Its window alone is more than may ever be in flight here.
    refused("/br");
    assert_eq!(larder.get("/gzip").send().text(), body);
    let full = Full::begin(&origin, &larder);
    refused("/gzip");
    for (path, code) in [("/gzip", &gzip), ("/br", &brotli)] {
        let answer = get(&larder, path, "br, gzip");
        assert!(answer.hit() && answer.body == *code, "{path}: as it came");
    }
    full.end(&larder);
    assert_eq!(larder.get("/gzip").send().text(), body);
    // Which window it has is not known before the head is sent.
    origin.reply("/new", coded(page("").chunked(), "br", &brotli));
    let answer = larder
        .get("/new")
        .header("Accept-Encoding", "identity")
        .send();
    assert!(
        !answer.complete || answer.status == 503,
        "{}",
        answer.said()
    );
    assert!(get(&larder, "/new", "br").body == brotli);
}

/// It would be made again for each request.
#[test]
fn a_form_that_is_too_much_beside_others_is_made_once() {
    let (origin, larder) = small("4MiB");
    // Random letters, of which each coding saves a quarter.
    let mut number = 1_u32;
    let body: String = (0..1_000_000)
        .map(|_| {
            let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
            char::from(letters[next(&mut number) as usize % 64])
        })
        .collect();
    origin.reply("/", page(&body));
    larder.get("/").send();
    for coding in ["gzip", "zstd"] {
        assert!(decoded(&get(&larder, "/", coding)) == body, "{coding}");
        wait_until("it was made", || made(&larder, coding, "fast") == 1);
    }
    wait_until("it is given up", || {
        let answer = get(&larder, "/", "zstd");
        assert!(decoded(&answer) == body);
        answer.header("content-encoding").is_none()
    });
    for (accepts, expected) in [("zstd", "identity"), ("gzip", "gzip"), ("zstd", "identity")] {
        let answer = get(&larder, "/", accepts);
        assert_eq!(coding(&answer), expected);
        assert!(answer.hit() && decoded(&answer) == body);
    }
    assert_eq!(made(&larder, "zstd", "fast"), 1);
}
