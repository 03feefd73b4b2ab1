//! What is answered directly and what `hyper` answers, in turn on one connection: every client gets the answers to what
//! it asked, in order, wherever its bytes are cut.

use crate::{frames::Script, site::Site, waiting::script};
use proptest::prelude::*;

/// A request, and what its answer begins with.
#[derive(Clone, Debug)]
enum Kind {
    /// Answered directly.
    Get,
    Head,
    /// The service takes its time over it.
    Hint,
    /// So it does over this, and then `hyper` writes the answer.
    Undated,
    /// Waited for, and framed in any way.
    Frames(Script),
    /// The same, its head alone.
    FramesHead(Script),
    /// What it brings looks like a request.
    Length,
    Chunked,
    /// Answered at once, but not of a method that is answered directly.
    Delete,
    /// A field that only `hyper` reads.
    Nominates,
}

const INNER: &str = "GET /stolen HTTP/1.1\r\nHost: a\r\n\r\n";

impl Kind {
    fn request(&self, number: usize) -> String {
        let head = |method: &str, path: &str| format!("{method} {path} HTTP/1.1\r\nHost: a\r\n");
        let plain = format!("/{number}");
        match self {
            Self::Get => head("GET", &plain) + "\r\n",
            Self::Head => head("HEAD", &plain) + "\r\n",
            Self::Hint => head("GET", "/hint") + "\r\n",
            Self::Undated => head("GET", &format!("/undated?{number}")) + "\r\n",
            Self::Frames(script) => head("GET", &tagged(script, number).target()) + "\r\n",
            Self::FramesHead(script) => head("HEAD", &tagged(script, number).target()) + "\r\n",
            Self::Length => {
                let length = INNER.len();
                head("POST", "/read") + &format!("Content-Length: {length}\r\n\r\n{INNER}")
            }
            Self::Chunked => {
                let (head, length) = (head("GET", "/read"), INNER.len());
                head + &format!(
                    "Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{INNER}\r\n0\r\n\r\n"
                )
            }
            Self::Delete => head("DELETE", &plain) + "\r\n",
            Self::Nominates => head("GET", &plain) + "Connection: x-a\r\nX-A: 1\r\n\r\n",
        }
    }

    fn is_head(&self) -> bool {
        matches!(self, Self::Head | Self::FramesHead(_))
    }

    fn answer(&self, number: usize) -> String {
        match self {
            Self::Get | Self::Nominates => format!("GET /{number}"),
            Self::Head | Self::FramesHead(_) => String::new(),
            Self::Undated => format!("GET /undated?{number}"),
            Self::Frames(script) => String::from_utf8(tagged(script, number).content()).unwrap(),
            Self::Hint => "hinted".to_owned(),
            Self::Length | Self::Chunked => INNER.to_owned(),
            Self::Delete => format!("DELETE /{number}"),
        }
    }
}

/// The script whose content names the request.
fn tagged(script: &Script, number: usize) -> Script {
    Script {
        tag: number,
        ..script.clone()
    }
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        3 => Just(Kind::Get),
        1 => Just(Kind::Head),
        1 => Just(Kind::Hint),
        1 => Just(Kind::Undated),
        4 => script(0).prop_map(Kind::Frames),
        1 => script(0).prop_map(Kind::FramesHead),
        1 => Just(Kind::Length),
        1 => Just(Kind::Chunked),
        1 => Just(Kind::Delete),
        1 => Just(Kind::Nominates),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_request_has_its_answer(
        kinds in proptest::collection::vec(kind(), 1..8),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
    ) {
        let site = Site::plain();
        let mut client = site.client();
        let numbered = || kinds.iter().enumerate();
        let bytes: String = numbered().map(|(number, kind)| kind.request(number)).collect();
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        ends.push(bytes.len());
        ends.sort_unstable();
        let mut sent = 0;
        for end in ends {
            client.send(&bytes.as_bytes()[sent..end]);
            sent = end;
        }
        for (number, kind) in numbered() {
            let response = client.read_one(kind.is_head());
            prop_assert_eq!(response.status, 200);
            let hints = usize::from(matches!(kind, Kind::Hint));
            prop_assert_eq!((response.text(), response.interim.len()), (kind.answer(number), hints));
        }
        client.end();
        prop_assert_eq!(client.read_to_end(), b"");
    }
}

#[test]
fn http_1_0_is_kept_where_it_asks_for_that() {
    let site = Site::plain();
    let mut client = site.client();
    for path in ["/1", "/2"] {
        client.send(format!(
            "GET {path} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
        ));
        let response = client.read();
        assert!(
            response.start.starts_with("HTTP/1.0 200 "),
            "{}",
            response.start
        );
        assert_eq!(response.header("connection"), Some("keep-alive"));
        assert_eq!(response.text(), format!("GET {path}"));
    }
    client.send("GET /3 HTTP/1.0\r\n\r\n");
    let last = client.read();
    assert_eq!(
        (last.text().as_str(), last.header("connection")),
        ("GET /3", None)
    );
    assert_eq!(client.read_to_end(), b"");
}

#[test]
fn a_client_that_wants_the_connection_closed_is_told_so() {
    let site = Site::plain();
    let mut client = site.client();
    client.send(
        "GET /1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    let response = client.read();
    assert_eq!(
        (response.text().as_str(), response.header("connection")),
        ("GET /1", Some("close"))
    );
    assert_eq!(client.read_to_end(), b"");
}

#[test]
fn a_head_tells_of_the_content_and_has_none() {
    let site = Site::plain();
    let mut client = site.client();
    client.send("HEAD /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.read_one(true).header("content-length"), Some("7"));
    assert_eq!(client.read_one(false).text(), "GET /2");
}

#[test]
fn an_earlier_head_says_nothing_of_what_comes_together_later() {
    let site = Site::plain();
    let mut client = site.client();
    client.send("POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(client.read().status, 200);
    client.send(Kind::Hint.request(0) + &Kind::Chunked.request(1));
    for expected in ["hinted", INNER] {
        let response = client.read();
        assert_eq!((response.status, response.text().as_str()), (200, expected));
    }
}

#[test]
fn requests_that_come_together_are_framed_each_by_itself() {
    let site = Site::plain();
    let mut client = site.client();
    client.send(Kind::Length.request(0) + &Kind::Chunked.request(1));
    for number in 0..2 {
        let response = client.read();
        assert_eq!(
            (response.status, response.text().as_str()),
            (200, INNER),
            "{number}"
        );
    }
}
