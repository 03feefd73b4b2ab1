//! TLS: versions, choice of certificate and protocol, replacement.

use crate::{
    frames::{Script, Step},
    http2::Frames,
    site::{SOON, Site, loopback, quick},
};
use proxy::listen::{Address, CertificateFiles, Limits, ListenConfig, TlsStore};
use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, SignatureAlgorithm};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::ioctl_fionread,
};
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, ProtocolVersion, RootCertStore, SignatureScheme,
    StreamOwned, SupportedProtocolVersion,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName},
    version::{TLS12, TLS13},
};
use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    path::Path,
    slice,
    sync::Arc,
};
use testkit::{BOUND, scratch_dir, wait_until};

type Tls = StreamOwned<ClientConnection, TcpStream>;

/// A self-signed certificate for these names, written to `folder`.
fn certificate(
    folder: &Path,
    file: &str,
    names: &[&str],
) -> (CertificateFiles, CertificateDer<'static>) {
    signing_with(&PKCS_ECDSA_P256_SHA256, folder, file, names)
}

/// As [`certificate`], whose key signs in this way.
fn signing_with(
    algorithm: &'static SignatureAlgorithm,
    folder: &Path,
    file: &str,
    names: &[&str],
) -> (CertificateFiles, CertificateDer<'static>) {
    let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
    let key = KeyPair::generate_for(algorithm).unwrap();
    let params = CertificateParams::new(names).unwrap();
    let made = params.self_signed(&key).unwrap();
    let files = CertificateFiles {
        chain: folder.join(format!("{file}.pem")),
        key: folder.join(format!("{file}.key")),
    };
    fs::write(&files.chain, made.pem()).unwrap();
    fs::write(&files.key, key.serialize_pem()).unwrap();
    (files, made.der().clone())
}

fn serve(store: &Arc<TlsStore>, limits: Limits) -> Site {
    let mut config = loopback();
    config.tls = Some(Arc::clone(store));
    Site::start(config, limits)
}

/// A client that trusts these.
fn trusting(
    certificates: &[&CertificateDer<'static>],
    versions: &[&'static SupportedProtocolVersion],
    protocols: &[&[u8]],
) -> Arc<ClientConfig> {
    understanding(|_| true, certificates, versions, protocols)
}

/// As [`trusting`], which understands signatures of these kinds alone.
fn understanding(
    is_understood: impl Fn(SignatureScheme) -> bool,
    certificates: &[&CertificateDer<'static>],
    versions: &[&'static SupportedProtocolVersion],
    protocols: &[&[u8]],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots.add((*certificate).clone()).unwrap();
    }
    let mut provider = aws_lc_rs::default_provider();
    let all = &mut provider.signature_verification_algorithms;
    let understood = all.mapping.iter().filter(|(kind, _)| is_understood(*kind));
    all.mapping = understood.copied().collect::<Vec<_>>().leak();
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Arc::new(config)
}

/// Shakes hands as `name`.
fn connect(site: &Site, config: &Arc<ClientConfig>, name: &str) -> std::io::Result<Tls> {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let client = ClientConnection::new(Arc::clone(config), name).unwrap();
    let stream = TcpStream::connect(site.address()).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    let mut tls = StreamOwned::new(client, stream);
    tls.conn.complete_io(&mut tls.sock)?;
    Ok(tls)
}

fn who(tls: &mut Tls) -> String {
    tls.write_all(b"GET /who HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut said = String::new();
    tls.read_to_string(&mut said).unwrap();
    said
}

fn shown(tls: &Tls) -> CertificateDer<'static> {
    tls.conn.peer_certificates().unwrap()[0].clone()
}

#[test]
fn both_versions_and_both_protocols() {
    let (files, trusted) = certificate(&scratch_dir(), "a", &["a.test"]);
    let site = serve(&TlsStore::load(&[files]).unwrap(), quick(|_| ()));
    for (version, number) in [
        (&TLS12, ProtocolVersion::TLSv1_2),
        (&TLS13, ProtocolVersion::TLSv1_3),
    ] {
        for protocols in [&[&b"http/1.1"[..]][..], &[]] {
            let config = trusting(&[&trusted], &[version], protocols);
            let mut tls = connect(&site, &config, "a.test").unwrap();
            assert_eq!(tls.conn.protocol_version(), Some(number));
            let said = who(&mut tls);
            assert!(said.ends_with("tls=true"), "{said}");
        }
        let config = trusting(&[&trusted], &[version], &[b"h2", b"http/1.1"]);
        let tls = connect(&site, &config, "a.test").unwrap();
        assert_eq!(tls.conn.alpn_protocol(), Some(&b"h2"[..]));
        let mut frames = Frames::new(tls);
        frames.ask(1, "/", &[(":authority", "a.test")], 1);
        assert_eq!(frames.answer(1).0, 200);
    }
    assert_eq!(site.limiter.snapshot().handshakes, 6);
}

#[test]
fn the_name_chooses_the_certificate() {
    let folder = scratch_dir();
    let (first, a) = certificate(&folder, "first", &["first.test"]);
    let (second, b) = certificate(&folder, "second", &["Exact.Second.test", "*.second.test"]);
    let site = serve(&TlsStore::load(&[first, second]).unwrap(), quick(|_| ()));
    let config = trusting(&[&a, &b], &[&TLS13], &[]);
    for (name, certificate) in [
        ("first.test", &a),
        ("exact.second.test", &b),
        ("any.second.test", &b),
    ] {
        let tls = connect(&site, &config, name).unwrap();
        assert_eq!(shown(&tls), *certificate, "{name}");
    }
    // A wildcard is one label; a name nobody has gets the first. Neither fits what the client wants.
    for name in ["two.labels.second.test", "second.test", "other.test"] {
        assert!(connect(&site, &config, name).is_err(), "{name}");
    }
    site.wait_counted("the failures", |counters| counters.handshakes_failed == 3);
}

#[test]
fn of_certificates_for_one_name_the_first_that_the_client_understands_is_sent() {
    let folder = scratch_dir();
    let names = &["a.test", "*.a.test"];
    let (new, a) = signing_with(&PKCS_ED25519, &folder, "new", names);
    let (old, b) = certificate(&folder, "old", names);
    let site = serve(&TlsStore::load(&[new, old]).unwrap(), quick(|_| ()));
    for version in [&TLS12, &TLS13] {
        for (of_new, certificate) in [(None, &a), (Some(true), &a), (Some(false), &b)] {
            let is_understood =
                |kind| of_new.is_none_or(|it| it == (kind == SignatureScheme::ED25519));
            let config = understanding(is_understood, &[&a, &b], &[version], &[]);
            for name in ["a.test", "www.a.test"] {
                let tls = connect(&site, &config, name).unwrap();
                assert_eq!(shown(&tls), *certificate, "{name} {of_new:?}");
            }
            // Who names nothing is sent what the first name would get; that is not for an address.
            let error = connect(&site, &config, "127.0.0.1").unwrap_err();
            assert!(error.to_string().contains("not valid for name"), "{error}");
        }
    }
}

#[test]
fn a_name_comes_before_a_wildcard_that_stands_in_for_it() {
    let folder = scratch_dir();
    let (wide, a) = certificate(&folder, "wide", &["*.a.test"]);
    let (narrow, b) = signing_with(&PKCS_ED25519, &folder, "narrow", &["x.a.test", "a.test"]);
    let site = serve(&TlsStore::load(&[wide, narrow]).unwrap(), quick(|_| ()));
    for (understands_narrow, certificate) in [(true, &b), (false, &a)] {
        let is_understood = |kind| understands_narrow || kind != SignatureScheme::ED25519;
        let config = understanding(is_understood, &[&a, &b], &[&TLS13], &[]);
        let tls = connect(&site, &config, "x.a.test").unwrap();
        assert_eq!(shown(&tls), *certificate);
        let tls = connect(&site, &config, "y.a.test").unwrap();
        assert_eq!(shown(&tls), a);
        let connected = connect(&site, &config, "a.test");
        assert_eq!(connected.is_ok(), understands_narrow, "not below a.test");
    }
}

/// The host of a connection's last request is nobody else's.
#[test]
fn a_request_without_host_is_refused_whatever_came_before_it() {
    let (files, trusted) = certificate(&scratch_dir(), "a", &["a.test"]);
    let site = serve(&TlsStore::load(&[files]).unwrap(), quick(|_| ()));
    let config = trusting(&[&trusted], &[&TLS13], &[]);
    for head in [
        "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
        "POST /read HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab",
        "POST /read HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ] {
        for before in [
            "",
            "GET /before HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "POST /read HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nab",
        ] {
            let mut tls = connect(&site, &config, "a.test").unwrap();
            tls.write_all([before, head].concat().as_bytes()).unwrap();
            let mut said = String::new();
            tls.read_to_string(&mut said).unwrap();
            let answers: Vec<_> = said.matches("HTTP/1.1 200").collect();
            assert_eq!(answers.len(), usize::from(!before.is_empty()), "{said}");
            assert!(said.contains("HTTP/1.1 400"), "{before}{head}: {said}");
        }
    }
}

#[test]
fn sessions_resume() {
    let (files, trusted) = certificate(&scratch_dir(), "a", &["a.test"]);
    let site = serve(&TlsStore::load(&[files]).unwrap(), quick(|_| ()));
    for version in [&TLS12, &TLS13] {
        let config = trusting(&[&trusted], &[version], &[]);
        for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
            let mut tls = connect(&site, &config, "a.test").unwrap();
            who(&mut tls);
            assert_eq!(tls.conn.handshake_kind(), Some(kind), "{version:?}");
        }
    }
}

#[test]
fn certificates_are_replaced_for_handshakes_from_then_on() {
    let folder = scratch_dir();
    let (files, before) = certificate(&folder, "a", &["a.test"]);
    let store = TlsStore::load(&[files]).unwrap();
    let site = serve(&store, quick(|_| ()));
    let mut kept = connect(&site, &trusting(&[&before], &[&TLS13], &[]), "a.test").unwrap();
    let (files, after) = certificate(&folder, "a", &["a.test"]);
    let config = trusting(&[&before, &after], &[&TLS13], &[]);
    assert_eq!(shown(&connect(&site, &config, "a.test").unwrap()), before);
    store.replace(&TlsStore::load(&[files]).unwrap());
    let config = trusting(&[&before, &after], &[&TLS13], &[]);
    assert_eq!(shown(&connect(&site, &config, "a.test").unwrap()), after);
    assert!(who(&mut kept).starts_with("HTTP/1.1 200"));
}

#[test]
fn unusable_certificates_are_said_so() {
    let folder = scratch_dir();
    let (a, _) = certificate(&folder, "a", &["a.test"]);
    let (b, _) = certificate(&folder, "b", &["b.test"]);
    let crossed = CertificateFiles {
        chain: a.chain.clone(),
        key: b.key,
    };
    let missing = CertificateFiles {
        chain: folder.join("none.pem"),
        key: a.key,
    };
    for (files, said) in [
        (vec![], "at least one certificate"),
        (vec![crossed], "does not belong to the certificate"),
        (vec![missing], "none.pem"),
    ] {
        let error = TlsStore::load(&files).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_slow_handshake_is_cut() {
    let (files, _) = certificate(&scratch_dir(), "a", &["a.test"]);
    let limits = quick(|limits| limits.handshake_time = SOON);
    let site = serve(&TlsStore::load(&[files]).unwrap(), limits);
    let mut client = site.client();
    client.send([0x16, 3, 1]);
    assert_eq!(client.read_to_end(), b"");
    site.wait_counted("the limit", |counters| {
        (counters.timeouts, counters.handshakes_failed) == (1, 1)
    });
}

/// A site where a client must soon take something, and what connects to it. What a Unix socket holds does not grow.
fn over_unix_socket() -> (Site, impl Fn() -> StreamOwned<ClientConnection, UnixStream>) {
    let folder = scratch_dir();
    let (files, trusted) = certificate(&folder, "a", &["a.test"]);
    let path = folder.join("socket");
    let mut config = ListenConfig::plain(Address::Unix(path.clone()));
    config.tls = Some(TlsStore::load(&[files]).unwrap());
    let site = Site::start(config, quick(|limits| limits.write_time = SOON));
    let config = trusting(&[&trusted], &[&TLS13], &[]);
    let connect = move || {
        let name = ServerName::try_from("a.test").unwrap();
        let client = ClientConnection::new(Arc::clone(&config), name).unwrap();
        StreamOwned::new(client, UnixStream::connect(&path).unwrap())
    };
    (site, connect)
}

#[test]
fn a_client_that_takes_nothing_is_cut_however_much_tls_holds_back() {
    let (site, connect) = over_unix_socket();
    // Of some the rest lies in TLS, of some in the answer, of others nothing is left.
    let clients: Vec<_> = (0..16)
        .map(|number| {
            let script = Script::new(number, true, [Step::Bytes(number * 30_000)]);
            let mut tls = connect();
            let target = script.target();
            write!(
                tls,
                "GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            )
            .unwrap();
            tls
        })
        .collect();
    site.wait_counted("the end of all", |counters| {
        counters.accepted == 16 && counters.active == 0
    });
    assert!(site.limiter.snapshot().timeouts > 0);
    drop(clients);
}

/// TLS takes what still comes, and holds it back: that is not the client.
#[test]
fn a_client_that_takes_nothing_is_cut_while_an_answer_trickles() {
    let (site, connect) = over_unix_socket();
    // Of some answers the socket holds all, of others the rest lies in TLS.
    let clients = (0..16).map(|number| {
        let mut tls = connect();
        let first = number * 30_000;
        write!(tls, "GET /drip?{first} HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        (tls.sock, first)
    });
    let clients: Vec<_> = clients.collect();
    for (socket, first) in &clients {
        wait_until("it is all there, or the end", || {
            ioctl_fionread(socket).unwrap() >= *first || is_cut(socket)
        });
    }
    assert!(site.limiter.snapshot().timeouts > 0);
}

fn is_cut(socket: &UnixStream) -> bool {
    let mut polled = [PollFd::new(socket, PollFlags::empty())];
    poll(&mut polled, Some(&Timespec::default())).unwrap() > 0
}

/// RFC 9112 section 9.8: who closes "MUST attempt to initiate an exchange of closure alerts".
#[test]
fn a_silent_client_is_told_that_its_connection_ends() {
    let (files, trusted) = certificate(&scratch_dir(), "a", &["a.test"]);
    let config = trusting(&[&trusted], &[&TLS13], &[]);
    for (is_idle, has_asked) in [(true, false), (false, false), (true, true), (false, true)] {
        let limits = quick(|limits| {
            limits.idle_time = if is_idle { SOON } else { 2 * BOUND };
        });
        let site = serve(&TlsStore::load(slice::from_ref(&files)).unwrap(), limits);
        let mut tls = connect(&site, &config, "a.test").unwrap();
        if has_asked {
            tls.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        }
        site.wait_counted("it", |counters| counters.handshakes == 1);
        if !is_idle {
            site.switch.start(2 * BOUND);
        }
        let end = tls.read_to_end(&mut Vec::new());
        assert!(end.is_ok(), "{end:?} {is_idle} {has_asked}");
    }
}

#[test]
fn plain_http_on_a_tls_port_is_closed() {
    let (files, _) = certificate(&scratch_dir(), "a", &["a.test"]);
    let site = serve(&TlsStore::load(&[files]).unwrap(), quick(|_| ()));
    let mut client = site.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_to_end();
    site.wait_counted("the failure", |counters| counters.handshakes_failed == 1);
}

#[test]
fn who_shakes_hands_while_a_stop_begins_is_answered() {
    let (files, trusted) = certificate(&scratch_dir(), "a", &["a.test"]);
    let mut site = serve(
        &TlsStore::load(slice::from_ref(&files)).unwrap(),
        Limits::default(),
    );
    // Of the last version, a request can come with the end of the handshake: no pause of this thread is silence.
    let config = trusting(&[&trusted], &[&TLS13], &[]);
    let name = ServerName::try_from("a.test").unwrap();
    let client = ClientConnection::new(config, name).unwrap();
    let stream = TcpStream::connect(site.address()).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    let mut tls = StreamOwned::new(client, stream);
    tls.conn.write_tls(&mut tls.sock).unwrap();
    site.wait_counted("the client", |counters| counters.accepted == 1);
    site.switch.start(2 * BOUND);
    let request = b"GET /who HTTP/1.1\r\nHost: a\r\n\r\n";
    tls.conn.writer().write_all(request).unwrap();
    tls.conn.complete_io(&mut tls.sock).unwrap();
    let mut said = [0; 12];
    tls.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"HTTP/1.1 200");
    site.join();
}

/// A browser connects ahead of its first request.
#[test]
fn a_drain_ends_at_once_where_nothing_of_http2_has_come_or_half_a_preface() {
    let (files, trusted) = certificate(&scratch_dir(), "a", &["a.test"]);
    let limits = Limits {
        idle_time: 2 * BOUND,
        ..Limits::default()
    };
    let mut site = serve(&TlsStore::load(&[files]).unwrap(), limits);
    let config = trusting(&[&trusted], &[&TLS13], &[b"h2"]);
    let silent = connect(&site, &config, "a.test").unwrap();
    let mut half = connect(&site, &config, "a.test").unwrap();
    half.write_all(b"PRI * HTTP/2.0\r\n").unwrap();
    site.wait_counted("both", |counters| counters.handshakes == 2);
    site.switch.start(2 * BOUND);
    for mut tls in [silent, half] {
        // Its end, with a word of TLS or without one: not the client's patience.
        let end = tls.read_to_end(&mut Vec::new());
        assert!(
            end.is_ok() || end.is_err_and(|error| error.kind() != std::io::ErrorKind::WouldBlock)
        );
    }
    site.join();
}
