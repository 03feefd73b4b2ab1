//! TLS towards servers.

use crate::{
    peers::{self, Authority},
    support::*,
};
use http::{Method, Request};
use hyper_util::rt::TokioIo;
use origin::{
    Context, Kind, Origin,
    config::{Protocol, Tls},
};
use std::path::PathBuf;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn trusting(authorities: PathBuf) -> Tls {
    Tls {
        authorities: Some(authorities),
        ..Tls::default()
    }
}

#[test]
fn a_server_proves_its_name() {
    let authority = Authority::new(&["site.example"]);
    let stranger = Authority::new(&["site.example"]);
    let named = |name: &str, by: &Authority| Tls {
        server_name: Some(name.to_owned()),
        ..trusting(by.file())
    };
    let insecure = Tls {
        insecure: true,
        ..Tls::default()
    };
    let table: [(&str, Tls, Option<Kind>); 5] = [
        (
            "known authority, right name",
            named("site.example", &authority),
            None,
        ),
        (
            "wrong name",
            named("other.example", &authority),
            Some(Kind::Tls),
        ),
        (
            "its address is not its name",
            trusting(authority.file()),
            Some(Kind::Tls),
        ),
        (
            "unknown authority",
            named("site.example", &stranger),
            Some(Kind::Tls),
        ),
        ("whatever it shows", insecure, None),
    ];
    for (row, tls, want) in table {
        work(async {
            let address = peers::tls(&authority, &[b"http/1.1"]).await;
            let mut config = config([tcp(address)]);
            config.tls = Some(tls);
            let origin = Origin::new(config).unwrap();
            let got = get(&origin, "/").await;
            assert_eq!(got.map_err(|error| error.kind()).err(), want, "{row}");
        });
    }
}

/// What is wanted, what the server offers, what is spoken.
type Row = (
    Protocol,
    &'static [&'static [u8]],
    Result<&'static str, Kind>,
);

#[test]
fn the_protocol_is_agreed_on() {
    const H1: &[&[u8]] = &[b"http/1.1"];
    const H2: &[&[u8]] = &[b"h2"];
    const BOTH: &[&[u8]] = &[b"http/1.1", b"h2"];
    let authority = Authority::new(&["127.0.0.1"]);
    let table: &[Row] = &[
        (Protocol::Http1, BOTH, Ok("HTTP/1.1")),
        (Protocol::Http1, &[], Ok("HTTP/1.1")),
        (Protocol::Http2, BOTH, Ok("HTTP/2.0")),
        (Protocol::Http2, H1, Err(Kind::Tls)),
        (Protocol::Http2, &[], Err(Kind::Protocol)),
        (Protocol::Auto, H2, Ok("HTTP/2.0")),
        (Protocol::Auto, H1, Ok("HTTP/1.1")),
        (Protocol::Auto, &[], Ok("HTTP/1.1")),
    ];
    for (protocol, offered, want) in table {
        work(async {
            let address = peers::tls(&authority, offered).await;
            let mut config = config([tcp(address)]);
            config.tls = Some(trusting(authority.file()));
            config.protocol = protocol.clone();
            let origin = Origin::new(config).unwrap();
            for _ in 0..2 {
                let got = get(&origin, "/version").await;
                let got = got.map(|answer| answer.text().to_owned());
                let want = want.map(str::to_owned);
                assert_eq!(
                    got.map_err(|error| error.kind()),
                    want,
                    "{protocol:?} {offered:?}"
                );
            }
        });
    }
}

#[test]
fn an_upgrade_gets_a_connection_that_can() {
    let authority = Authority::new(&["127.0.0.1"]);
    work(async {
        let address = peers::tls(&authority, &[b"h2", b"http/1.1"]).await;
        let mut config = config([tcp(address)]);
        config.tls = Some(trusting(authority.file()));
        config.protocol = Protocol::Auto;
        let origin = Origin::new(config).unwrap();
        assert_eq!(get(&origin, "/version").await.unwrap().text(), "HTTP/2.0");
        let request = Request::get("/upgrade")
            .header("host", "site.example")
            .header("connection", "upgrade")
            .header("upgrade", "echo")
            .body(empty())
            .unwrap();
        let mut response = origin.fetch(request, Context::default()).await.unwrap();
        assert_eq!(response.status(), 101);
        let mut tunnel = TokioIo::new(hyper::upgrade::on(&mut response).await.unwrap());
        tunnel.write_all(b"hello").await.unwrap();
        let mut seen = [0; 5];
        tunnel.read_exact(&mut seen).await.unwrap();
        assert_eq!(&seen, b"hello");
        assert_eq!(get(&origin, "/version").await.unwrap().text(), "HTTP/2.0");
    });
}

#[test]
fn what_configuration_cannot_work() {
    let server = || tcp("127.0.0.1:1".parse().unwrap());
    let directory = testkit::scratch_dir();
    let no_certificate = directory.join("empty.pem");
    std::fs::write(&no_certificate, "nothing").unwrap();
    let with = |tls| {
        let mut config = config([server()]);
        config.tls = Some(tls);
        Origin::new(config)
    };
    let bad_name = Tls {
        server_name: Some("no name".to_owned()),
        insecure: true,
        ..Tls::default()
    };
    assert_eq!(kind(Origin::new(config([]))), Kind::Configuration);
    assert_eq!(
        kind(with(trusting(directory.join("missing.pem")))),
        Kind::Configuration
    );
    assert_eq!(kind(with(trusting(no_certificate))), Kind::Configuration);
    assert_eq!(kind(with(bad_name)), Kind::Configuration);
}

#[test]
fn a_plain_server_is_a_tls_failure() {
    work(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let answer = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
            stream.write_all(answer).await.unwrap();
            stream
        };
        let mut config = config([tcp(address)]);
        config.tls = Some(Tls {
            insecure: true,
            ..Tls::default()
        });
        let origin = Origin::new(config).unwrap();
        let (got, _stream) = tokio::join!(once(&origin, Method::GET, "/"), server);
        assert_eq!(kind(got), Kind::Tls);
    });
}
