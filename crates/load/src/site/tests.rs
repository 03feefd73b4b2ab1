//! URLs, lists, sitemaps, choices, and requests as they are written.

use super::{
    Form, Origin, Parts, Request, Style,
    choice::Choice,
    list::{self, Line, Wanted},
    sitemap,
};
use crate::{plan::Version, url::Url};
use fastrand::Rng;
use http::{Method, header};
use proptest::prelude::*;

#[test]
fn urls() {
    for (text, read) in [
        ("http://a.example", "http://a.example/"),
        ("https://a.example:443/x?y#z", "https://a.example/x?y"),
        ("localhost:8080", "http://localhost:8080/"),
        ("HTTP://A.Example:80?q", "http://a.example/?q"),
        ("http://[::1]:8080/a", "http://[::1]:8080/a"),
        ("http://a/%20/ö", "http://a/%20/ö"),
    ] {
        assert_eq!(Url::parse(text).unwrap().to_string(), read, "{text}");
    }
    for text in [
        "",
        "http://",
        "ftp://a",
        "http://u@a/",
        "http://a:0/",
        "http://a:x/",
        "http://a/b c",
        "http://[::1",
        "http://a:+1/",
        "http://a b/",
    ] {
        assert!(Url::parse(text).is_err(), "{text}");
    }
}

#[test]
fn which_addresses_are_this_machine_s() {
    let at = |address: &str| Origin {
        url: Url::parse("http://a/").unwrap().base,
        addresses: vec![address.parse().unwrap()],
        server_name: None,
    };
    for (address, here) in [
        ("127.0.0.1:80", true),
        ("127.9.9.9:80", true),
        ("0.0.0.0:80", true),
        ("[::1]:80", true),
        ("[::ffff:127.0.0.1]:80", true),
        // Reserved for documentation (RFC 5737, RFC 3849): nobody has these.
        ("192.0.2.7:80", false),
        ("[2001:db8::7]:80", false),
        ("[::ffff:192.0.2.7]:80", false),
        ("255.255.255.255:80", false),
    ] {
        assert_eq!(at(address).is_here(), here, "{address}");
    }
    // The address that this machine uses towards others, if there is a route to them.
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    if socket.connect("192.0.2.7:9").is_ok() {
        assert!(at(&socket.local_addr().unwrap().to_string()).is_here());
    }
}

#[test]
fn lines_of_a_list() {
    let text = "# pages\n\n/a\nPOST http://h:1/b weight=2.5 body=x=1 y\n  /c weight=0\r\n";
    let lines = list::parse(text).unwrap();
    let wanted = [
        Line {
            method: None,
            wanted: Wanted::Target("/a".into()),
            weight: None,
            body: None,
        },
        Line {
            method: Some(Method::POST),
            wanted: Wanted::Url(Url::parse("http://h:1/b").unwrap()),
            weight: Some(2.5),
            body: Some("x=1 y".into()),
        },
        Line {
            method: None,
            wanted: Wanted::Target("/c".into()),
            weight: Some(0.0),
            body: None,
        },
    ];
    assert_eq!(lines, wanted);
}

#[test]
fn bad_lines_are_told_by_their_number() {
    let text = "/a\nnonsense\n\nPOST\n/b weight=-1\n/c often\nhttp://\nCONNECT /x\n/d";
    let bad = list::parse(text).unwrap_err();
    let numbers: Vec<_> = bad.iter().map(|line| line.number).collect();
    assert_eq!(numbers, [2, 4, 5, 6, 7, 8], "{bad:?}");
}

#[test]
fn a_sitemap_and_an_index() {
    let text = "<?xml version=\"1.0\"?><urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\
        <!-- x --><url><loc> http://a/?x=1&amp;y=2 </loc><lastmod>2026</lastmod></url>\
        <url><loc><![CDATA[http://a/b]]></loc><image:image><image:loc>http://a/i.png</image:loc></image:image></url></urlset>";
    let found = sitemap::parse(text).unwrap();
    assert_eq!(found.pages, ["http://a/?x=1&y=2", "http://a/b"]);
    let index = "<sitemapindex><sitemap><loc>http://a/1.xml</loc></sitemap></sitemapindex>";
    assert_eq!(sitemap::parse(index).unwrap().sitemaps, ["http://a/1.xml"]);
    for bad in [
        "",
        "<html></html>",
        "<urlset><url>",
        "<a></b>",
        "{}",
        "<urlset><url><loc>&bomb;</loc></url></urlset>",
        &"<a>".repeat(100),
    ] {
        assert!(sitemap::parse(bad).is_err(), "{bad:.40}");
    }
}

#[test]
fn choices_keep_their_shares() {
    let mut random = Rng::with_seed(7);
    let in_turn: Vec<_> = (0..5)
        .map(|turn| Choice::InTurn.pick(turn, 3, &mut random))
        .collect();
    assert_eq!(in_turn, [0, 1, 2, 0, 1]);
    let mut shares = |choice: &Choice, count: usize| {
        let mut seen = vec![0_u32; count];
        for turn in 0..100_000 {
            seen[choice.pick(turn, count, &mut random)] += 1;
        }
        seen
    };
    let seen = shares(&Choice::weights([1.0, 0.0, 3.0]).unwrap(), 3);
    assert_eq!(seen[1], 0);
    assert!((24_000..26_000).contains(&seen[0]), "{seen:?}");
    let seen = shares(&Choice::zipf(100, 1.0).unwrap(), 100);
    assert!(
        seen[0] > seen[1] && seen[1] > seen[9] && seen[9] > seen[90],
        "{seen:?}"
    );
    // 1 / (1 + 1/2 + … + 1/100) of 100,000.
    assert!((18_700..19_900).contains(&seen[0]), "{seen:?}");
    for bad in [
        vec![],
        vec![0.0],
        vec![f64::NAN],
        vec![-1.0, 2.0],
        vec![f64::INFINITY],
    ] {
        assert_eq!(Choice::weights(bad), None);
    }
}

fn request(fields: &[(header::HeaderName, &str)], keep_alive: bool, cookies: bool) -> Request {
    let parts = Parts {
        origin: 0,
        method: Method::POST,
        target: "/a?b".to_owned(),
        fields: fields
            .iter()
            .map(|(name, value)| (name.clone(), (*value).to_owned()))
            .collect(),
        body: "xyz".into(),
    };
    let base = Url::parse("http://h:8080/").unwrap().base;
    Request::new(
        parts,
        &base,
        Style {
            keep_alive,
            cookies,
            version: Version::One,
        },
    )
    .unwrap()
}

#[test]
fn a_request_is_written_once() {
    let fields = [
        (header::ACCEPT, "text/html"),
        (header::HOST, "www.example.com"),
        (header::COOKIE, "s={user}"),
    ];
    let written = request(&fields, false, false);
    let Form::One(one) = &written.form else {
        panic!("HTTP/1.1");
    };
    let text = std::str::from_utf8(&one.head).unwrap();
    let agent = concat!("larder-bench/", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        text,
        format!(
            "POST /a?b HTTP/1.1\r\nHost: www.example.com\r\naccept: text/html\r\nuser-agent: {agent}\r\n\
             content-length: 3\r\nConnection: close\r\n\r\nxyz"
        )
    );
    assert!(text.split_at(one.common).1.starts_with("\r\nxyz"));
    assert_eq!(written.own, [(header::COOKIE, "s={user}".to_owned())]);
    let plain = request(&[(header::COOKIE, "s=1")], true, false);
    assert!(plain.own.is_empty());
    let jar = request(&[(header::COOKIE, "s=1")], true, true);
    assert_eq!(jar.own.len(), 1, "joined with the cookies that are set");
}

proptest! {
    #[test]
    fn any_list_is_read(text in "(GET|POST|/[a-z?= ]{0,9}|weight=[0-9.]{0,3}|body=|http://[a-z:0-9]{0,5}|#|\n| |\\PC){0,40}") {
        match list::parse(&text) {
            Ok(lines) => prop_assert!(lines.len() <= text.lines().count()),
            Err(bad) => for line in bad {
                prop_assert!(line.number <= text.lines().count());
            },
        }
    }

    #[test]
    fn a_url_is_read_as_it_is_written(text in "(http://|https://)?[a-z0-9.]{1,8}(:[0-9]{1,5})?(/[!-~]{0,12})?") {
        if let Ok(url) = Url::parse(&text) {
            prop_assert_eq!(Url::parse(&url.to_string()).unwrap(), url);
        }
    }

    #[test]
    fn any_sitemap_is_read(text in "(<url>|<loc>|</loc>|</url>|&amp;|&#x?[0-9]{1,3};|<!\\[CDATA\\[|\\]\\]>|[a-z/]){0,30}") {
        let _ = sitemap::parse(&text);
    }
}
