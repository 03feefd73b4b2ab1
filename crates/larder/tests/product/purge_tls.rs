//! Purges over TLS and HTTP/2, whose clients are as welcome as others, and no more.

use crate::tls::{Curl, certificate, curl, secure_with};
use std::{net::SocketAddr, path::PathBuf};
use testkit::{Client, Larder, Origin};

const HOST: &str = "shop.test";
const SECRET: &str = "X-Purge-Key: correct horse";

/// How the client comes: over TLS in either version of HTTP.
const VERSIONS: [&str; 2] = ["--http1.1", "--http2"];

/// A site behind TLS, and how to ask it.
struct Site {
    origin: Origin,
    larder: Larder,
    certificate: PathBuf,
}

impl Site {
    fn new(tables: &str) -> Self {
        let pair = certificate(HOST);
        let (origin, larder) = secure_with(&[&pair], tables);
        Self {
            origin,
            larder,
            certificate: pair.0,
        }
    }

    fn ask(&self, version: &str, more: &[&str]) -> Curl {
        let authority = self.certificate.to_str().expect("a path");
        let args = [&["--cacert", authority, version], more].concat();
        let answer = curl(&self.larder, "https", HOST, &args).expect("an answer");
        let line = if version == "--http2" {
            "http/2 "
        } else {
            "http/1.1 "
        };
        assert!(answer.head.starts_with(line), "{}", answer.head);
        answer
    }

    /// What a visitor gets, and whether it came from the store.
    fn page(&self, version: &str) -> (String, bool) {
        let answer = self.ask(version, &[]);
        assert_eq!(status(&answer), 200, "{}", answer.head);
        let hit = field(&answer, "cache-status").is_some_and(|value| value.contains("; hit"));
        (answer.body, hit)
    }

    fn purge(&self, version: &str, fields: &[&str]) -> Curl {
        let fields = fields.iter().flat_map(|field| ["--header", *field]);
        let args: Vec<&str> = ["--request", "PURGE"].into_iter().chain(fields).collect();
        self.ask(version, &args)
    }

    /// What the origin was asked that is no page.
    fn leaked(&self) -> Vec<String> {
        let odd =
            self.origin.all().into_iter().filter(|request| {
                request.method != "GET" || request.header("x-purge-key").is_some()
            });
        odd.map(|request| format!("{} {}", request.method, request.target))
            .collect()
    }
}

fn status(answer: &Curl) -> u16 {
    let word = answer.head.split(' ').nth(1).expect("a status");
    word.trim().parse().expect("a status")
}

/// A field of the answer, in lower case.
fn field<'a>(answer: &'a Curl, name: &str) -> Option<&'a str> {
    let mut lines = answer.head.lines().filter_map(|line| line.split_once(": "));
    let found = lines.find(|(found, _)| *found == name);
    found.map(|(_, value)| value.trim())
}

/// This machine may where nothing is said.
#[test]
fn who_may_purges_over_tls_and_http_2() {
    let site = Site::new("");
    for (round, version) in VERSIONS.into_iter().enumerate() {
        let (old, new) = ((round + 1).to_string(), (round + 2).to_string());
        for _ in 0..2 {
            assert_eq!(site.page(version).0, old, "{version}");
        }
        let answer = site.purge(version, &[]);
        assert_eq!(status(&answer), 200, "{version}: {}", answer.head);
        assert_eq!(
            field(&answer, "cache-purge-result"),
            Some("exact; count=1"),
            "{version}: {}",
            answer.head
        );
        for other in VERSIONS {
            let (page, hit) = site.page(other);
            assert_eq!((page, hit), (new.clone(), other == "--http2"), "{version}");
        }
    }
    assert_eq!(site.leaked(), [""; 0]);
}

#[test]
fn who_may_not_is_refused_over_tls_and_http_2_until_the_secret_is_told() {
    let secret =
        "[purge]\nallow = []\nsecret = { header = \"X-Purge-Key\", value = \"correct horse\" }";
    for version in VERSIONS {
        let site = Site::new(secret);
        assert_eq!(site.page(version), ("1".to_owned(), false));
        for fields in [
            &[][..],
            &["X-Purge-Key: correct hors"],
            &["X-Purge-Key;"],
            &["X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1"],
        ] {
            let answer = site.purge(version, fields);
            assert_eq!(status(&answer), 405, "{version} {fields:?}");
            assert!(field(&answer, "allow").is_some(), "{version}");
            assert!(field(&answer, "cache-purge-result").is_none(), "{version}");
            assert_eq!(site.page(version), ("1".to_owned(), true), "{fields:?}");
        }
        assert_eq!(site.origin.all().len(), 1, "the origin sees none of it");

        let answer = site.purge(version, &[SECRET]);
        assert_eq!(status(&answer), 200, "{version}: {}", answer.head);
        let result = field(&answer, "cache-purge-result");
        assert_eq!(result, Some("exact; count=1"), "{version}");
        assert_eq!(site.page(version), ("2".to_owned(), false), "{version}");
        assert_eq!(site.leaked(), [""; 0]);
    }
}

/// A listener without TLS speaks HTTP/2 to who begins with it.
#[test]
fn purges_by_http_2_on_plain_connections_are_done() {
    let (origin, larder) = crate::common::start();
    origin.otherwise(|request| crate::common::counted(request).cache("max-age=60"));
    let ask = |args: &[&str]| {
        let args = [&["--http2-prior-knowledge"], args].concat();
        curl(&larder, "http", HOST, &args).expect("an answer")
    };
    assert_eq!(ask(&[]).body, "1");
    let answer = ask(&["--request", "PURGE"]);
    assert!(answer.head.starts_with("http/2 200"), "{}", answer.head);
    let result = field(&answer, "cache-purge-result");
    assert_eq!(result, Some("exact; count=1"));
    assert_eq!(ask(&[]).body, "2");
    let answer = ask(&["--request", "BAN", "--header", "X-Url: ^/.*"]);
    assert!(answer.head.starts_with("http/2 200"), "{}", answer.head);
    assert_eq!(ask(&[]).body, "3");
    let odd = origin.all().into_iter();
    assert_eq!(odd.filter(|request| request.method != "GET").count(), 0);
}

/// Clients that purge are told of port 80 of the machine itself, and know nothing of redirects.
#[test]
fn a_listener_that_sends_on_to_https_purges_what_is_there() {
    let tables = "[[listen]]\naddress = \"127.0.0.1:0\"\nredirect_https = 443\n";
    let site = Site::new(tables);
    let plain = site.larder.listeners()[1].clone();
    let (_, port) = site.larder.listeners()[0].rsplit_once(':').expect("a port");
    let ask = |method: &str| {
        let mut client = Client::connect(
            plain
                .strip_prefix("http://")
                .expect("plain")
                .parse::<SocketAddr>()
                .expect("an address"),
        );
        client.send(format!(
            "{method} / HTTP/1.1\r\nHost: {HOST}:{port}\r\n\r\n"
        ));
        client.read().status
    };
    let (first, _) = site.page("--http1.1");
    assert_eq!(site.page("--http1.1"), (first.clone(), true));
    assert_eq!(ask("GET"), 308);
    assert_eq!(ask("CONNECT"), 405);
    assert_eq!(ask("PURGE"), 200);
    let (second, is_hit) = site.page("--http1.1");
    assert!(!is_hit && second != first);
    assert_eq!(site.leaked(), [""; 0]);
}
