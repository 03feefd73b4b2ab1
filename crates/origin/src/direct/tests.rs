//! Gives the same bytes, cut anywhere, to our engine and to hyper: both make the same of them, and what we believe
//! hyper believes too.

mod exchanged;

use exchanged::{Reader, Script, read, runtime, taken_up};
use http::Method;
use proptest::prelude::*;

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Answers that are well formed, or broken in a way that both notice, and whether the server closes the connection.
fn answers() -> Vec<(String, bool)> {
    let open = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: 1\r\nx-a: 2\r\n\r\nhello",
        "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
        "\r\nHTTP/1.1 200 OK\nContent-Length: 2\n\nok",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA : b\r\nContent-Length : 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nA b: c\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
    ];
    let chunks = [
        "5\r\nhello\r\n0\r\n\r\n",
        "1;a=b\r\nh\r\n4\r\nello\r\n0\r\nX-T: 1\r\n\r\n",
        "5\r\nhello\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "3\r\nhello\r\n0\r\n\r\n",
        "x\r\nhello\r\n0\r\n\r\n",
        "2\r\nok\r\nfffffffffffffffff\r\n",
    ];
    let closed = [
        "",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\n\r\nuntil it closes",
        "HTTP/1.0 200 OK\r\n\r\nuntil it closes",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    ];
    let open = open.map(str::to_owned).into_iter();
    let chunks = chunks.map(|chunks| CHUNKED.to_owned() + chunks);
    let open = open.chain(chunks).map(|text| (text, false));
    let closed = closed.map(|text| (text.to_owned(), true));
    open.chain(closed).collect()
}

#[test]
fn both_read_the_same_wherever_it_is_cut() {
    let runtime = runtime();
    for (text, closes) in answers() {
        for method in [Method::GET, Method::HEAD] {
            // Nobody waits for this content: whether it is seen before the connection is put back depends on when it
            // comes.
            if method == Method::HEAD && !text.ends_with("\r\n\r\n") && !closes {
                continue;
            }
            let mut whole = None;
            for cut in (0..=text.len()).rev() {
                let script = Script {
                    method: method.clone(),
                    bytes: text.as_bytes(),
                    cut,
                    closes,
                };
                let [ours, mut hypers] =
                    [Reader::Ours, Reader::Hyper].map(|reader| read(&runtime, reader, &script));
                if method == Method::HEAD || text.contains(" 304 ") {
                    // hyper's sockets cannot be asked what follows such an answer: most are not used again.
                    hypers.kept |= ours.kept;
                }
                assert_eq!(ours, hypers, "{method}, cut at {cut}: {text:?}");
                let whole = whole.get_or_insert_with(|| ours.clone());
                assert_eq!(ours, *whole, "{method}, cut at {cut}: {text:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn of_what_is_damaged_we_believe_no_more_than_hyper(
        which in any::<proptest::sample::Index>(),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), prop_oneof![any::<u8>(), proptest::sample::select(&b"\r\n\t :;,0159af"[..])]), 1..4),
        cut in any::<proptest::sample::Index>(),
        is_head in proptest::bool::weighted(0.1),
    ) {
        let answers = answers();
        let mut bytes = which.get(&answers).0.clone().into_bytes();
        for (at, byte) in damage {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        let script = Script {
            method: if is_head { Method::HEAD } else { Method::GET },
            bytes: &bytes,
            cut: cut.index(bytes.len() + 1),
            closes: true,
        };
        let runtime = runtime();
        let ours = read(&runtime, Reader::Ours, &script);
        let hypers = read(&runtime, Reader::Hyper, &script);
        match (&ours.head, ours.broke) {
            (Ok(_), None) => prop_assert_eq!(&ours, &hypers),
            (Ok(_), Some(_)) => prop_assert_eq!(&ours.head, &hypers.head),
            (Err(_), _) => {}
        }
    }
}

/// RFC 9112 section 6.3: what follows an answer is no answer to the next request, however late it is noticed.
#[test]
fn a_connection_on_which_something_lies_is_not_used_again() {
    let runtime = runtime();
    for reader in [Reader::Ours, Reader::Hyper] {
        assert_eq!(taken_up(&runtime, reader), [true, false], "{reader:?}");
    }
}
