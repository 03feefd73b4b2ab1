//! Answers as they come: complete, in pieces, and not at all.

use super::{Answer, Broken, Reader, Step};
use crate::cached::Cached;
use proptest::prelude::*;
use std::fmt::Write as _;

/// Reads `bytes` in pieces that end at these places. Returns the answer and how many bytes belong to it, once it is
/// complete.
fn read(bytes: &[u8], to_head: bool, cuts: &[usize]) -> Result<Option<(Answer, usize)>, Broken> {
    let mut reader = Reader::new(true);
    reader.begin(to_head);
    let mut from = 0;
    let ends = cuts.iter().copied().chain([bytes.len()]);
    for end in ends.filter(|end| *end <= bytes.len()) {
        if end <= from {
            continue;
        }
        if let Step::Done { used } = reader.feed(&bytes[from..end])? {
            return Ok(Some((reader.take(), from + used)));
        }
        from = end;
    }
    Ok(reader.end().then(|| (reader.take(), bytes.len())))
}

fn whole(text: &str) -> Answer {
    let (answer, used) = read(text.as_bytes(), false, &[]).unwrap().unwrap();
    assert_eq!(used, text.len(), "{text}");
    answer
}

#[test]
fn where_an_answer_ends() {
    for (text, body, closes) in [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            5,
            false,
        ),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 0, false),
        ("HTTP/1.1 204 No Content\r\n\r\n", 0, false),
        (
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
            0,
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            5,
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nContent-Length: 3\r\n\r\n1;a=b\r\nx\r\n0\r\nA: b\r\n\r\n",
            1,
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
            1,
            true,
        ),
        ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 1, true),
        (
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
            1,
            false,
        ),
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end", 13, true),
        (
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
            1,
            false,
        ),
    ] {
        let answer = whole(text);
        assert_eq!((answer.body, answer.closes), (body, closes), "{text}");
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let read = read(head.as_bytes(), true, &[]).unwrap().unwrap();
    assert_eq!((read.0.body, read.1), (0, head.len()), "an answer to HEAD");
}

#[test]
fn what_is_not_http() {
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(200));
    let long = format!("HTTP/1.1 200 OK\r\nA: {}", "b".repeat(70_000));
    let hints = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100);
    for text in [
        "hello",
        "SSH-2.0-OpenSSH\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxx\r\n",
        &many,
        &long,
        &hints,
    ] {
        assert_eq!(read(text.as_bytes(), false, &[]), Err(Broken), "{text:.60}");
    }
}

#[test]
fn what_is_not_over_is_not_whole() {
    for text in [
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\n",
    ] {
        assert_eq!(read(text.as_bytes(), false, &[]), Ok(None), "{text}");
    }
}

#[test]
fn what_a_cache_says() {
    use Cached::{Hit, Miss, Stale, Unsaid};
    for (field, said) in [
        ("A: b", Unsaid),
        ("Cache-Status: Larder; hit; ttl=12", Hit),
        ("Cache-Status: Larder; hit; ttl=-12", Stale),
        ("Cache-Status: Larder; fwd=stale; ttl=-1", Miss),
        ("Cache-Status: inner; hit, outer; fwd=uri-miss", Miss),
        ("Cache-Status: inner; fwd=uri-miss, outer; hit", Hit),
        ("X-Cache: HIT", Hit),
        ("X-Cache: Hit from cloudfront", Hit),
        ("X-Cache: MISS, HIT", Hit),
        ("X-Cache-Status: UPDATING", Stale),
        ("X-Cache-Status: EXPIRED", Miss),
        ("X-Cache-Hits: 3", Unsaid),
        ("X-Cache: MISS\r\nX-Cache-Status: HIT", Hit),
        ("X-Cache: MISS\r\nCache-Status: a; hit", Hit),
        ("Cache-Status: a; fwd=uri-miss\r\nX-Cache: HIT", Miss),
        ("Cache-Status: x; hit; key=\"/a,b\"", Hit),
        ("Cache-Status: x; fwd=miss; detail=\"x; hit\"", Miss),
        ("Cache-Status: x; detail=\"a\\\"; fwd=miss\"; hit", Hit),
        ("Cache-Status: x; hit=?0", Miss),
        (
            "Cache-Status: outer; hit\r\nCache-Status: inner; fwd=miss",
            Miss,
        ),
        // Only fields that say how the answer was made count, and only their words.
        ("X-Cache-Key: http://a/white-paper", Unsaid),
        ("X-Cache-Tags: architecture", Unsaid),
        ("X-Cache-Key: /passwords", Unsaid),
        ("X-Cache: white", Unsaid),
        ("X-Cache: MISS from white.example", Miss),
        ("X-Cache: MISS from hit.example, MISS from b", Miss),
        (
            "X-Cache-Lookup: HIT from a:3128\r\nX-Cache: MISS from a",
            Miss,
        ),
        ("X-Cache: TCP_MEM_HIT", Hit),
        ("X-Cache: TCP_MISS from a.example (x)", Miss),
        ("X-Cache: RefreshHit from cloudfront", Hit),
        ("x-proxy-cache: hit", Hit),
        ("CF-Cache-Status: DYNAMIC", Miss),
        ("X-Cached: HIT", Hit),
        ("X-Cache-Info: miss", Miss),
        ("X-Drupal-Cache: HIT", Hit),
        // A delivery network that says it instead of its name.
        ("Cache-Status: hit", Hit),
        ("Cache-Status: uncacheable", Miss),
        ("Cache-Status: larder", Unsaid),
        ("Cache-Status: hit-proxy; detail=refused", Unsaid),
    ] {
        let text = format!("HTTP/1.1 200 OK\r\n{field}\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(whole(&text).cached, said, "{field}");
    }
}

/// Answers of various forms, with the length of their content.
fn answers() -> impl Strategy<Value = (String, u64)> {
    let body = "[a-z]{0,40}";
    (body, 0..3_u8, 1..9_usize).prop_map(|(body, form, step)| {
        let length = body.len() as u64;
        let text = match form {
            0 => format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}"),
            1 => {
                let mut chunks = String::new();
                for chunk in body.as_bytes().chunks(step) {
                    let text = std::str::from_utf8(chunk).unwrap();
                    write!(chunks, "{:x};e=\"1\"\r\n{text}\r\n", chunk.len()).unwrap();
                }
                format!(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\nT: 1\r\n\r\n"
                )
            }
            _ => format!(
                "HTTP/1.1 103 x\r\n\r\nHTTP/1.1 404 No\r\ncontent-length: {length}\r\n\r\n{body}"
            ),
        };
        (text, length)
    })
}

proptest! {
    #[test]
    fn what_a_cache_names_is_no_word_of_it(name in "[ -!#-+.-\\[\\]-~]{0,20}") {
        let said = |field: String| whole(&format!("HTTP/1.1 200 OK\r\n{field}\r\nContent-Length: 0\r\n\r\n")).cached;
        prop_assert_eq!(said(format!("X-Cache: MISS from {name}")), Cached::Miss);
        prop_assert_eq!(said(format!("X-Cache-Key: {name}")), Cached::Unsaid);
        prop_assert_eq!(said(format!("Cache-Status: a; hit; detail=\"{name},;\\\"\"")), Cached::Hit);
        prop_assert_eq!(said(format!("Cache-Status: a; key=\"{name}, b; hit\"; fwd=miss")), Cached::Miss);
    }

    #[test]
    fn any_word_of_a_cache_is_read(name in "(cache-status|x-cache|cf-cache-status)", value in "[ -~]{0,40}") {
        let text = format!("HTTP/1.1 200 OK\r\n{name}: {value}\r\nContent-Length: 0\r\n\r\n");
        prop_assert_eq!(whole(&text).body, 0);
    }

    #[test]
    fn pieces_change_nothing((text, length) in answers(), mut cuts in proptest::collection::vec(0..200_usize, 0..8)) {
        cuts.sort_unstable();
        let (answer, used) = read(text.as_bytes(), false, &cuts).unwrap().unwrap();
        prop_assert_eq!(answer.body, length);
        prop_assert_eq!(used, text.len());
        // What follows does not belong to it.
        let more = format!("{text}HTTP/1.1 200 OK\r\n");
        let (again, used) = read(more.as_bytes(), false, &cuts).unwrap().unwrap();
        prop_assert_eq!(again, answer);
        prop_assert_eq!(used, text.len());
    }

    #[test]
    fn anything_is_read_alike_in_pieces(bytes in proptest::collection::vec(any::<u8>(), 0..300), cut in 0..300_usize) {
        let begin = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".as_slice();
        let bytes = [begin, &bytes].concat();
        prop_assert_eq!(read(&bytes, false, &[cut]), read(&bytes, false, &[]));
    }
}
