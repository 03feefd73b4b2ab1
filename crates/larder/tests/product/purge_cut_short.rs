//! Contents of purges that do not come whole, in the words of Fastly's and Cloudflare's clients: nothing is purged,
//! however much of it could be read.

use crate::{
    common::sample,
    purge_clients::{SITE, gone, leaked, say, tagged, warm},
    purge_clients_rows::{ALL, NONE},
};
use testkit::{Larder, Origin};

/// The beginnings of requests, and contents that would purge.
const REQUESTS: [(&str, &str); 4] = [
    (
        "POST /service/abc/purge HTTP/1.1\r\nHost: s\r\nFastly-Key: k\r\n",
        r#"{"surrogate_keys":["home","list"]}"#,
    ),
    (
        "POST /service/abc/purge HTTP/1.1\r\nHost: s\r\nFastly-Key: k\r\nFastly-Soft-Purge: 1\r\n",
        r#"{"surrogate_keys":["home","list"]}"#,
    ),
    (
        "POST /client/v4/zones/z/purge_cache HTTP/1.1\r\nHost: s\r\nAuthorization: Bearer t\r\n",
        r#"{"purge_everything":true}"#,
    ),
    (
        "POST /client/v4/zones/z/purge_cache HTTP/1.1\r\nHost: s\r\nX-Auth-Key: t\r\n",
        r#"{"files":["http://site.test/a"],"tags":["home"]}"#,
    ),
];

/// How a content is cut: what comes behind the head, of a content.
type Cut = fn(&str) -> String;

/// The last two have all that says what to purge, and not the end that was announced.
const CUTS: [Cut; 5] = [
    |content| format!("Content-Length: {}\r\n\r\n", content.len()),
    |content| {
        let half = &content[..content.len() / 2];
        format!("Content-Length: {}\r\n\r\n{half}", content.len())
    },
    |content| {
        let half = &content[..content.len() / 2];
        format!(
            "Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{half}",
            content.len()
        )
    },
    |content| format!("Content-Length: {}\r\n\r\n{content}", content.len() + 1),
    |content| {
        let length = content.len();
        format!("Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{content}\r\n")
    },
];

fn stored() -> (Origin, Larder) {
    let (origin, larder) = tagged("");
    warm(&larder);
    (origin, larder)
}

/// Nothing was purged, softly or not; the next one is served.
fn nothing_was_purged(origin: &Origin, larder: &Larder) {
    assert_eq!(gone(larder, SITE), NONE);
    assert_eq!(sample(larder, "larder_client_purges_total"), 0);
    assert_eq!(sample(larder, "larder_purge_sequence"), 0);
    assert_eq!(leaked(origin), NONE);
    let whole = "POST /client/v4/zones/z/purge_cache HTTP/1.1\nHost: s\nAuthorization: Bearer t\n\n{\"purge_everything\":true}";
    assert_eq!(say(larder, whole).status, 200);
    assert_eq!(gone(larder, SITE), ALL);
}

#[test]
fn a_content_that_ends_too_early_purges_nothing() {
    let (origin, larder) = stored();
    for (head, content) in REQUESTS {
        for (number, cut) in CUTS.iter().enumerate() {
            let mut client = larder.client();
            client.send(format!("{head}{}", cut(content)));
            client.end();
            if let Some(mut answer) = client.try_read_head() {
                client.read_content(&mut answer);
                assert_eq!(answer.status, 400, "{head} cut {number}");
                assert!(answer.header("cache-purge-result").is_none(), "{head}");
            }
            client.read_to_end();
        }
    }
    nothing_was_purged(&origin, &larder);
}

#[test]
fn a_client_that_leaves_in_the_middle_purges_nothing() {
    let (origin, larder) = stored();
    let mut began = 0;
    for (head, content) in REQUESTS {
        for cut in CUTS {
            let mut client = larder.client();
            client.send(format!("{head}{}", cut(content)));
            drop(client);
            began += 1;
        }
    }
    testkit::wait_until("all of them are over", || {
        let over = ["larder_clients_left_total", "larder_own_answers_total"];
        over.iter().map(|name| sample(&larder, name)).sum::<u64>() >= began
    });
    nothing_was_purged(&origin, &larder);
}

#[test]
fn a_content_that_is_framed_wrongly_purges_nothing() {
    let (origin, larder) = stored();
    for (head, content) in REQUESTS {
        let length = content.len();
        for framed in [
            format!("Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{content}XX0\r\n\r\n"),
            format!("Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{content}\r\nnone\r\n\r\n"),
        ] {
            let mut client = larder.client();
            client.send(format!("{head}{framed}"));
            let answer = client.read();
            assert_eq!(answer.status, 400, "{head}{framed}");
            assert!(answer.header("cache-purge-result").is_none(), "{head}");
            client.read_to_end();
        }
    }
    nothing_was_purged(&origin, &larder);
}

#[test]
fn a_content_that_stops_coming_purges_nothing() {
    let (origin, larder) = tagged("limits.body_time = \"100ms\"");
    warm(&larder);
    let mut clients = Vec::new();
    for (head, content) in REQUESTS {
        for (number, cut) in CUTS.iter().enumerate() {
            let mut client = larder.client();
            client.send(format!("{head}{}", cut(content)));
            clients.push((head, number, client));
        }
    }
    for (head, number, mut client) in clients {
        let answer = client.read();
        assert_eq!(answer.status, 408, "{head} cut {number}: {}", answer.text());
        assert!(answer.header("cache-purge-result").is_none(), "{head}");
        client.read_to_end();
    }
    nothing_was_purged(&origin, &larder);
}
