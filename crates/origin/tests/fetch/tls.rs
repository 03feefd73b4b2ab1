//! TLS towards servers.

use crate::{
    peers::{self, Authority, Local},
    support::*,
};
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn, service::service_fn};
use hyper_util::rt::TokioIo;
use origin::{
    Context, Kind, Origin, RequestBody,
    config::{ActiveHealth, PassiveHealth, Protocol, Server, Tls},
};
use rustls::{
    server::Acceptor,
    version::{TLS12, TLS13},
};
use std::{
    cell::Cell, convert::Infallible, future::pending, net::SocketAddr, path::PathBuf, pin::pin,
    rc::Rc, sync::Arc, time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::spawn_local,
};
use tokio_rustls::{LazyConfigAcceptor, StartHandshake, server::TlsStream};

/// A server that offers these protocols in the handshake, and is asked by this one.
async fn offering(authority: &Authority, offered: &[&[u8]], protocol: &Protocol) -> Arc<Origin> {
    let mut config = config([tcp(peers::tls(authority, offered).await)]);
    config.tls = Some(trusting(authority.file()));
    config.protocol = protocol.clone();
    Origin::new(config).unwrap()
}

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

#[test]
fn why_a_certificate_is_not_believed_is_said_in_words() {
    let authority = Authority::alone(&["127.0.0.1"]);
    work(async {
        let address = peers::tls(&authority, &[b"http/1.1"]).await;
        let mut config = config([tcp(address)]);
        config.tls = Some(trusting(authority.file()));
        let origin = Origin::new(config).unwrap();
        let said = get(&origin, "/").await.err().map(|error| error.to_string());
        let said = said.expect("an error");
        assert!(said.contains("(CA:TRUE), which proves no server"), "{said}");
        assert!(!said.contains("OtherError"), "{said}");
    });
}

#[test]
fn authorities_that_are_cut_off_are_said_to_be() {
    let authority = Authority::new(&["127.0.0.1"]);
    let whole = std::fs::read_to_string(authority.file()).unwrap();
    let cut = whole.replace("-----END CERTIFICATE-----", "");
    std::fs::write(authority.file(), cut).unwrap();
    let mut config = config([tcp(SocketAddr::from(([127, 0, 0, 1], 1)))]);
    config.tls = Some(trusting(authority.file()));
    let said = Origin::new(config).err().map(|error| error.to_string());
    let said = said.expect("an error");
    assert!(
        said.ends_with("it is cut off: the line `-----END CERTIFICATE-----` is missing"),
        "{said}"
    );
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
            let origin = offering(&authority, offered, protocol).await;
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

fn upgrade(path: &str) -> Request<RequestBody> {
    upgrade_to("echo", path)
}

fn upgrade_to(protocol: &str, path: &str) -> Request<RequestBody> {
    let request = Request::get(path)
        .header("host", "site.example")
        .header("connection", "upgrade")
        .header("upgrade", protocol);
    request.body(empty()).unwrap()
}

#[test]
fn an_upgrade_gets_a_connection_that_can() {
    let authority = Authority::new(&["127.0.0.1"]);
    for protocol in [Protocol::Auto, Protocol::Http2] {
        work(async {
            let origin = offering(&authority, &[b"h2", b"http/1.1"], &protocol).await;
            assert_eq!(get(&origin, "/version").await.unwrap().text(), "HTTP/2.0");
            let asked = origin.fetch(upgrade("/upgrade"), Context::default());
            let mut response = asked.await.unwrap();
            assert_eq!(response.status(), 101);
            let mut tunnel = TokioIo::new(hyper::upgrade::on(&mut response).await.unwrap());
            tunnel.write_all(b"hello").await.unwrap();
            let mut seen = [0; 5];
            tunnel.read_exact(&mut seen).await.unwrap();
            assert_eq!(&seen, b"hello");
            assert_eq!(get(&origin, "/version").await.unwrap().text(), "HTTP/2.0");
            // The server may decline. What its connection is used for then is no request of another kind.
            let declined = origin.fetch(upgrade("/version"), Context::default());
            let declined = read(declined.await.unwrap()).await.unwrap();
            assert_eq!(declined.text(), "HTTP/1.1");
            if matches!(protocol, Protocol::Http2) {
                assert_eq!(get(&origin, "/version").await.unwrap().text(), "HTTP/2.0");
            }
        });
    }
}

/// What is known before anybody is asked (RFC 9110 section 7.8).
#[test]
fn an_upgrade_is_heeded_where_it_may_be_had_or_must_be_refused() {
    let origin = |protocol, tls| {
        let mut config = config([tcp(SocketAddr::from(([127, 0, 0, 1], 1)))]);
        (config.protocol, config.tls) = (protocol, tls);
        Origin::new(config).unwrap()
    };
    let tls = || Some(trusting(Authority::new(&["127.0.0.1"]).file()));
    let http1 = origin(Protocol::Http1, None);
    let http2 = origin(Protocol::Http2, None);
    let in_turn = Origin::first_of(vec![http2.clone(), http1.clone()]);
    for (origin, heeded) in [
        (http1, [true, true]),
        (origin(Protocol::Auto, None), [true, true]),
        (origin(Protocol::Auto, tls()), [true, true]),
        (origin(Protocol::Http2, tls()), [true, true]),
        (http2, [true, false]),
        (in_turn, [true, true]),
    ] {
        let wishes = ["irc, WebSocket", "irc, h2c"].map(|wish| wish.parse().unwrap());
        let told = wishes.map(|wish| origin.heeds_upgrade(&wish));
        assert_eq!(told, heeded, "{origin:?}");
    }
}

/// A client that asks for an upgrade brings no server into disrepute.
#[test]
fn where_all_is_http2_there_are_no_upgrades() {
    let authority = Authority::new(&["127.0.0.1"]);
    let offered: [&[&[u8]]; 2] = [&[b"h2"], &[]];
    for (protocol, offered) in [
        (Protocol::Auto, offered[0]),
        (Protocol::Http2, offered[0]),
        (Protocol::Http2, offered[1]),
    ] {
        work(async {
            let origin = offering(&authority, offered, &protocol).await;
            for _ in 0..9 {
                let asked = upgrade_to("websocket", "/upgrade");
                let asked = origin.fetch(asked, Context::default());
                let error = asked.await.map(drop).unwrap_err();
                assert_eq!(error.kind(), Kind::NoUpgrade, "{protocol:?}: {error}");
                assert!(!error.was_sent());
            }
            if !offered.is_empty() {
                assert_eq!(get(&origin, "/version").await.unwrap().text(), "HTTP/2.0");
                // RFC 9110 section 7.8: a wish for another protocol may be ignored.
                let ignored = origin.fetch(upgrade("/version"), Context::default());
                let ignored = read(ignored.await.unwrap()).await.unwrap();
                assert_eq!(ignored.text(), "HTTP/2.0");
            }
        });
    }
}

/// Nor where the server does not say why it ends the handshake (RFC 7301 section 3.2 has an alert for that).
#[test]
fn a_handshake_that_fails_without_http2_is_no_failure_of_the_server() {
    let authority = Authority::new(&["127.0.0.1"]);
    for protocol in [Protocol::Auto, Protocol::Http2] {
        work(async {
            let mut config = config([tcp(hangs_up(&authority).await)]);
            config.tls = Some(trusting(authority.file()));
            config.protocol = protocol.clone();
            let origin = Origin::new(config).unwrap();
            let asked = origin.fetch(upgrade_to("websocket", "/"), Context::default());
            assert_eq!(asked.await.map(drop).unwrap_err().kind(), Kind::Tls);
            let ignored = origin.fetch(upgrade("/"), Context::default());
            let ignored = read(ignored.await.unwrap()).await.unwrap();
            assert!(ignored.text().starts_with("HTTP/2.0 "), "{protocol:?}");
            assert_eq!(origin.report().servers[0].failures, 0, "{protocol:?}");
        });
    }
}

/// Nor where it chooses no protocol, and goes on in the one that it speaks.
#[test]
fn a_server_that_speaks_http2_unasked_to_an_upgrade_does_not_fail() {
    let authority = Authority::new(&["127.0.0.1"]);
    work(async {
        let mut config = config([tcp(speaks_http2(&authority).await)]);
        config.tls = Some(trusting(authority.file()));
        config.protocol = Protocol::Auto;
        let origin = Origin::new(config).unwrap();
        for _ in 0..4 {
            let asked = origin.fetch(upgrade_to("websocket", "/"), Context::default());
            assert_eq!(asked.await.map(drop).unwrap_err().kind(), Kind::NoUpgrade);
            // RFC 9110 section 7.8: a wish for another protocol may be ignored, and who has not read a request may be
            // sent it again whatever it asks for.
            for repeatable in [true, false] {
                let context = Context {
                    repeatable,
                    ..Context::default()
                };
                let ignored = origin.fetch(upgrade("/"), context);
                let ignored = read(ignored.await.unwrap()).await.unwrap();
                assert_eq!(ignored.text(), "HTTP/2.0");
            }
        }
        assert_eq!(get(&origin, "/version").await.unwrap().text(), "HTTP/2.0");
        let server = &origin.report().servers[0];
        assert_eq!((server.failures, server.healthy), (0, true));
    });
}

/// Unlike what is not HTTP/1.1 because it is HTTP/2.
#[test]
fn a_malformed_answer_to_an_upgrade_is_a_failure_of_the_server() {
    let authority = Authority::new(&["127.0.0.1"]);
    let http1: &[&[u8]] = &[b"http/1.1"];
    for (protocol, offered) in [
        (Protocol::Http1, http1),
        (Protocol::Auto, http1),
        (Protocol::Auto, &[]),
        (Protocol::Http2, http1),
    ] {
        work(async {
            let mut config = config([tcp(answers_nonsense(&authority, offered).await)]);
            config.tls = Some(trusting(authority.file()));
            config.protocol = protocol.clone();
            config.passive.failures = 3;
            let origin = Origin::new(config).unwrap();
            for _ in 0..3 {
                let asked = origin.fetch(upgrade_to("websocket", "/"), Context::default());
                assert_eq!(asked.await.map(drop).unwrap_err().kind(), Kind::Malformed);
            }
            let server = &origin.report().servers[0];
            assert_eq!(
                (server.failures, server.healthy),
                (3, false),
                "{protocol:?}"
            );
        });
    }
}

/// Unless it may be sent twice (RFC 9110 section 9.2.2): who answers over HTTP/1.1 may have done what it asks for.
#[test]
fn an_upgrade_that_was_read_goes_nowhere_else() {
    let authority = Authority::new(&["127.0.0.1"]);
    for (repeatable, asked) in [(false, 1), (true, 2)] {
        work(async {
            let one = answers_nonsense(&authority, &[b"http/1.1"]).await;
            let other = answers_nonsense(&authority, &[b"http/1.1"]).await;
            let mut config = config([tcp(one), tcp(other)]);
            config.tls = Some(trusting(authority.file()));
            config.protocol = Protocol::Auto;
            let origin = Origin::new(config).unwrap();
            let context = Context {
                repeatable,
                ..Context::default()
            };
            let ended = origin.fetch(upgrade("/"), context).await;
            assert_eq!(ended.map(drop).unwrap_err().kind(), Kind::Malformed);
            let servers = origin.report().servers;
            let failures: u64 = servers.iter().map(|server| server.failures).sum();
            assert_eq!(failures, asked, "repeatable: {repeatable}");
        });
    }
}

/// A server that answers what is not HTTP.
async fn answers_nonsense(authority: &Authority, offered: &[&[u8]]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = peers::acceptor(authority, offered);
    spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = acceptor.accept(stream).await.unwrap();
            let mut asked = [0; 1024];
            let _ = stream.read(&mut asked).await.unwrap();
            stream.write_all(b"nonsense\r\n\r\n").await.unwrap();
        }
    });
    address
}

/// Whether the client that began this handshake offers HTTP/2.
fn offers_http2(begun: &StartHandshake<TcpStream>) -> bool {
    let hello = begun.client_hello();
    let list = hello.alpn();
    list.is_some_and(|mut list| list.any(|name| name == b"h2"))
}

/// A server that speaks HTTP/2 also to who does not offer that.
async fn speaks_http2(authority: &Authority) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let [chooses, silent] = [&[&b"h2"[..]][..], &[]].map(|all| peers::acceptor(authority, all));
    spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let begun = LazyConfigAcceptor::new(Acceptor::default(), stream);
            let begun = begun.await.unwrap();
            let acceptor = if offers_http2(&begun) {
                &chooses
            } else {
                &silent
            };
            let config = Arc::clone(acceptor.config());
            let stream = begun.into_stream(config).await.unwrap();
            let builder = conn::http2::Builder::new(Local);
            spawn_local(builder.serve_connection(TokioIo::new(stream), service_fn(version)));
        }
    });
    address
}

/// How long servers rest after a failure.
const REST: Duration = Duration::from_secs(20);

/// An origin of servers over TLS that [rest](REST) after each failure.
fn resting(authority: &Authority, servers: [Server; 2]) -> Arc<Origin> {
    let mut config = config(servers);
    config.tls = Some(trusting(authority.file()));
    config.protocol = Protocol::Auto;
    config.passive = PassiveHealth {
        failures: 1,
        rest: REST,
    };
    Origin::new(config).unwrap()
}

/// Nor does its handshake keep a server that has rested from the requests that it can answer.
#[test]
fn a_server_is_not_tried_by_an_upgrade_that_it_cannot_have() {
    let authority = Authority::new(&["127.0.0.1"]);
    work(at_once(async {
        let (rested, is_up) = fails_at_first(&authority).await;
        let other = peers::tls(&authority, &[b"http/1.1"]).await;
        let origin = resting(&authority, [tcp(rested), tcp(other)]);
        let texts = async || {
            let mut all = Vec::new();
            for _ in 0..4 {
                all.push(get(&origin, "/version").await.unwrap().text().to_owned());
            }
            all
        };
        assert_eq!(texts().await, ["HTTP/1.1"; 4]);
        assert!(!origin.report().servers[0].healthy, "it has failed");
        is_up.set(true);
        tokio::time::advance(REST).await;
        for _ in 0..4 {
            let asked = upgrade_to("websocket", "/upgrade");
            let asked = origin.fetch(asked, Context::default());
            assert_eq!(asked.await.unwrap().status(), 101, "the other takes it");
        }
        let texts = texts().await;
        assert!(texts.iter().any(|text| text == "HTTP/2.0"), "{texts:?}");
        assert!(origin.report().servers[0].healthy);
    }));
}

/// Where all servers rest, one is asked by others too while a request has its trial.
#[test]
fn an_upgrade_does_not_give_back_the_trial_of_another_request() {
    let authority = Authority::new(&["127.0.0.1"]);
    work(at_once(async {
        let (dead, calls) = hangs_up_on_all().await;
        let (tried, is_up) = fails_at_first(&authority).await;
        // The other comes first wherever they are equal.
        let often = Server {
            weight: 100,
            ..tcp(dead)
        };
        let origin = resting(&authority, [often, tcp(tried)]);
        get(&origin, "/version").await.unwrap_err();
        is_up.set(true);
        tokio::time::advance(REST).await;
        let held = Arc::clone(&origin);
        let held = spawn_local(async move { get(&held, "/held").await.map(drop) });
        until(|| origin.report().servers[1].active == 1).await;
        let before = calls.get();
        let asked = upgrade_to("websocket", "/upgrade");
        let asked = origin.fetch(asked, Context::default());
        asked.await.map(drop).unwrap_err();
        assert_eq!(calls.get(), before + 1);
        assert_eq!(get(&origin, "/version").await.unwrap().text(), "HTTP/2.0");
        assert_eq!(calls.get(), before + 2, "there was no other trial");
        held.abort();
    }));
}

/// A server that hangs up on everybody, and how often it has.
async fn hangs_up_on_all() -> (SocketAddr, Rc<Cell<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let calls = Rc::new(Cell::new(0));
    let counted = Rc::clone(&calls);
    spawn_local(async move {
        while listener.accept().await.is_ok() {
            counted.set(counted.get() + 1);
        }
    });
    (address, calls)
}

/// A server of HTTP/2 that hangs up on everybody until it is up. It never answers at `/held`.
async fn fails_at_first(authority: &Authority) -> (SocketAddr, Rc<Cell<bool>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = peers::acceptor(authority, &[b"h2"]);
    let is_up = Rc::new(Cell::new(false));
    let is_told = Rc::clone(&is_up);
    spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if !is_told.get() {
                continue;
            }
            if let Ok(stream) = acceptor.accept(stream).await {
                let builder = conn::http2::Builder::new(Local);
                let service = service_fn(version_unless_held);
                spawn_local(builder.serve_connection(TokioIo::new(stream), service));
            }
        }
    });
    (address, is_up)
}

async fn version_unless_held(
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.uri().path() == "/held" {
        pending::<()>().await;
    }
    version(request).await
}

async fn version(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(format!("{:?}", request.version()).into()))
}

/// A server of HTTP/2 that hangs up on who does not offer that.
async fn hangs_up(authority: &Authority) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = peers::acceptor(authority, &[b"h2"]);
    spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let begun = LazyConfigAcceptor::new(Acceptor::default(), stream);
            let begun = begun.await.unwrap();
            if !offers_http2(&begun) {
                continue;
            }
            let config = Arc::clone(acceptor.config());
            let io = TokioIo::new(begun.into_stream(config).await.unwrap());
            let builder = conn::http2::Builder::new(Local);
            spawn_local(builder.serve_connection(io, service_fn(seen)));
        }
    });
    address
}

/// A server that speaks HTTP/2 on its first connection, one request at a time, and leaves it when it is asked for
/// `/held`. That is answered when there is a second connection, which speaks HTTP/1.1.
async fn changes_its_mind(authority: &Authority) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let first = peers::acceptor(authority, &[b"h2"]);
    let then = peers::acceptor(authority, &[b"http/1.1"]);
    let (leave, left) = (Rc::new(Notify::new()), Rc::new(Notify::new()));
    let (asked, again) = (Rc::clone(&leave), Rc::clone(&left));
    let held = service_fn(move |request: Request<Incoming>| {
        let (asked, again) = (Rc::clone(&asked), Rc::clone(&again));
        async move {
            if request.uri().path() == "/held" {
                asked.notify_one();
                again.notified().await;
            }
            seen(request).await
        }
    });
    spawn_local(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let io = TokioIo::new(first.accept(stream).await.unwrap());
        spawn_local(async move {
            let mut builder = conn::http2::Builder::new(Local);
            let builder = builder.max_concurrent_streams(1);
            let mut connection = pin!(builder.serve_connection(io, held));
            tokio::select! {
                _ = connection.as_mut() => return,
                () = leave.notified() => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
        });
        while let Ok((stream, _)) = listener.accept().await {
            left.notify_one();
            let io = TokioIo::new(then.accept(stream).await.unwrap());
            let builder = conn::http1::Builder::new();
            spawn_local(builder.serve_connection(io, service_fn(seen)));
        }
    });
    address
}

/// What a server sees of a request.
async fn seen(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let host = request.headers().get("host").cloned();
    let told = format!("{:?} {} {host:?} ", request.version(), request.uri());
    let content = request.into_body().collect().await.unwrap().to_bytes();
    let told = [told.as_bytes(), &content].concat();
    Ok(Response::new(Full::new(told.into())))
}

#[test]
fn what_finds_no_room_on_http2_is_whole_over_http1() {
    let authority = Authority::new(&["127.0.0.1"]);
    work(async {
        let address = changes_its_mind(&authority).await;
        let mut config = config([tcp(address)]);
        config.tls = Some(trusting(authority.file()));
        config.protocol = Protocol::Auto;
        let origin = Origin::new(config).unwrap();
        // From here on the server's limit of one request is known.
        get(&origin, "/first").await.unwrap();
        let (sender, body) = pieces();
        let client = async move { sender.send("content").await.unwrap() };
        let unmeasured = async {
            let request = request(Method::GET, "/content", body);
            let response = origin.fetch(request, Context::default()).await.unwrap();
            read(response).await
        };
        // The first is sent; the second has no room beside it, and finds that the server speaks HTTP/1 now. The others
        // wait for that.
        let (held, next, back, content, ()) = tokio::join!(
            get(&origin, "/held"),
            get(&origin, "/next"),
            get(&origin, "/back"),
            unmeasured,
            client
        );
        let over_http1 =
            |path: &str, content: &str| format!("HTTP/1.1 {path} Some(\"site.example\") {content}");
        let over_http2 = |path: &str, content: &str| {
            format!("HTTP/2.0 https://site.example{path} None {content}")
        };
        assert_eq!(held.unwrap().text(), over_http2("/held", ""));
        assert_eq!(next.unwrap().text(), over_http1("/next", ""));
        for (answer, path, content) in [(back, "/back", ""), (content, "/content", "content")] {
            // The first connection may be free before it says that it is closing.
            let told = answer.unwrap().text().to_owned();
            let either = [over_http1(path, content), over_http2(path, content)];
            assert!(either.contains(&told), "{told}");
        }
    });
}

/// In TLS 1.3 its refusal comes when the request is out (RFC 8446 section 4.4.2.4).
#[test]
fn a_server_that_demands_a_certificate_fails_by_tls() {
    const H1: &[&[u8]] = &[b"http/1.1"];
    const H2: &[&[u8]] = &[b"h2"];
    let authority = Authority::new(&["127.0.0.1"]);
    work(async {
        for version in [&TLS12, &TLS13] {
            for (protocol, offered) in [
                (Protocol::Http1, H1),
                (Protocol::Auto, H1),
                (Protocol::Auto, H2),
                (Protocol::Http2, H2),
            ] {
                let demands = peers::demanding(&authority, offered, version).await;
                for asked in [
                    request(Method::GET, "/", empty()),
                    request(Method::POST, "/", full("content")),
                ] {
                    let row = format!(
                        "{:?} {protocol:?} {offered:?} {}",
                        version.version,
                        asked.method()
                    );
                    let mut config = config([tcp(demands)]);
                    config.tls = Some(trusting(authority.file()));
                    config.protocol = protocol.clone();
                    let origin = Origin::new(config).unwrap();
                    let failed = origin.fetch(asked, Context::default()).await;
                    let error = failed.map(drop).unwrap_err();
                    assert_eq!(error.kind(), Kind::Tls, "{row}: {error}");
                    assert!(error.to_string().contains("alert"), "{row}: {error}");
                }
            }
        }
    });
}

/// As if it had not answered.
#[test]
fn another_is_asked_where_one_server_demands_a_certificate() {
    let authority = Authority::new(&["127.0.0.1"]);
    work(async {
        let offered: &[&[u8]] = &[b"http/1.1"];
        let demands = peers::demanding(&authority, offered, &TLS13).await;
        let fine = peers::tls(&authority, offered).await;
        let mut config = config([tcp(demands), tcp(fine)]);
        config.tls = Some(trusting(authority.file()));
        let origin = Origin::new(config).unwrap();
        for _ in 0..4 {
            let asked = request(Method::GET, "/version", empty());
            let answer = origin.fetch(asked, repeatable()).await.unwrap();
            assert_eq!(read(answer).await.unwrap().text(), "HTTP/1.1");
        }
        let servers = origin.report().servers;
        assert!(servers[0].failures > 0);
        assert_eq!(servers[1].failures, 0);
    });
}

#[test]
fn servers_are_the_same_while_configuration_and_authorities_are() {
    let [one, other] = [1, 2].map(|_| Authority::new(&["site.example"]));
    let made = |port, authorities| {
        let mut config = config([tcp(SocketAddr::from(([127, 0, 0, 1], port)))]);
        config.tls = Some(trusting(authorities));
        Origin::new(config).unwrap()
    };
    let before = made(1, one.file());
    assert!(before.is_same(&made(1, one.file())));
    assert!(!before.is_same(&made(2, one.file())));
    assert!(!before.is_same(&made(1, other.file())));
    std::fs::copy(other.file(), one.file()).unwrap();
    assert!(!before.is_same(&made(1, one.file())), "read again");
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

/// A TLS server of both protocols that wants everything over HTTP/1.1 (RFC 9113
/// section 7), and how often it has said so.
async fn wants_http1(authority: &Authority) -> (SocketAddr, Rc<Cell<usize>>) {
    let acceptor = peers::acceptor(authority, &[b"h2", b"http/1.1"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let said = Rc::new(Cell::new(0));
    let count = Rc::clone(&said);
    spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let stream = acceptor.accept(stream).await.unwrap();
            if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                spawn_local(demand_http1(stream, Rc::clone(&count)));
                continue;
            }
            let service = service_fn(async |request: Request<Incoming>| {
                let said = format!("{:?} {}", request.version(), request.uri());
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(said)))
            });
            let io = TokioIo::new(stream);
            spawn_local(conn::http1::Builder::new().serve_connection(io, service));
        }
    });
    (address, said)
}

async fn demand_http1(stream: TlsStream<TcpStream>, count: Rc<Cell<usize>>) {
    let mut connection = h2::server::handshake(stream).await.unwrap();
    while let Some(Ok((_, mut respond))) = connection.accept().await {
        count.set(count.get() + 1);
        respond.send_reset(h2::Reason::HTTP_1_1_REQUIRED);
    }
}

/// RFC 9113 section 8.7 does not say that the server had not begun: what must not be sent twice is not.
#[test]
fn what_a_server_wants_over_http1_it_gets_so() {
    let authority = Authority::new(&["127.0.0.1"]);
    for repeatable in [true, false] {
        work(async {
            let (address, said) = wants_http1(&authority).await;
            let mut config = config([tcp(address)]);
            config.tls = Some(trusting(authority.file()));
            config.protocol = Protocol::Auto;
            config.retry.attempts = 0;
            let origin = Origin::new(config).unwrap();
            let context = Context {
                repeatable,
                ..Context::default()
            };
            let fetch = origin.fetch(request(Method::GET, "/a", empty()), context);
            let got = async { read(fetch.await?).await }.await;
            let got = got.map(|answer| answer.text().to_owned());
            let got = got.map_err(|error| error.kind());
            let want = repeatable.then(|| "HTTP/1.1 /a".to_owned());
            assert_eq!(got, want.ok_or(Kind::Protocol));
            assert_eq!(said.get(), 1);
            assert_eq!(origin.report().servers[0].failures, u64::from(!repeatable));
        });
    }
}

/// A check of its health too.
#[test]
fn a_server_that_wants_http1_is_healthy_if_it_answers_so() {
    let authority = Authority::new(&["127.0.0.1"]);
    work(async {
        let (address, said) = wants_http1(&authority).await;
        let mut config = config([tcp(address)]);
        config.tls = Some(trusting(authority.file()));
        config.protocol = Protocol::Auto;
        config.active = Some(ActiveHealth {
            path: "/".to_owned(),
            host: None,
            every: Duration::from_millis(5),
            timeout: Duration::from_secs(5),
            healthy_after: 1,
            unhealthy_after: 1,
            status: 200..=299,
        });
        let origin = Origin::new(config).unwrap();
        let watch = spawn_local(Arc::clone(&origin).keep_watch());
        until(|| said.get() >= 3).await;
        assert!(origin.report().servers[0].healthy);
        watch.abort();
    });
}
