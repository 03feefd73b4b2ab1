//! WebSocket and other upgrades, and CONNECT.

use crate::{
    bad_origin_http2,
    common::{Said, raw_head, start, start_with},
    explain::explained,
    static_root,
};
use rustix::io::ioctl_fionread;
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};
use testkit::{Client, Reply, scratch_dir, wait_until};

/// Reads the head of a request, and switches the protocol as it asks.
fn switched(stream: &mut TcpStream) {
    raw_head(stream).expect("a head");
    let answer =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
    stream.write_all(answer.as_bytes()).expect("open");
}

/// Asks for a WebSocket.
fn begin_chat(client: &mut Client) {
    client
        .get("/chat")
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .begin();
}

#[test]
fn a_websocket_passes_untouched() {
    let (origin, larder) = start();
    origin.reply(
        "/chat",
        Reply::upgrade("websocket").header("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
    );
    let mut client = larder.client();
    client
        .get("/chat")
        .header("Connection", "keep-alive, Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("Sec-WebSocket-Version", "13")
        .begin();
    let head = client.read_head();
    assert_eq!(head.status, 101);
    assert_eq!(
        head.header("sec-websocket-accept"),
        Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    );
    assert!(
        head.joined("connection")
            .to_ascii_lowercase()
            .contains("upgrade"),
        "9110 section 7.8: MUST"
    );
    assert_eq!(head.header("upgrade"), Some("websocket"));
    let asked = origin.last("/chat");
    assert!(
        asked
            .headers("connection")
            .join(",")
            .to_ascii_lowercase()
            .contains("upgrade")
    );
    assert_eq!(asked.header("upgrade"), Some("websocket"));
    assert_eq!(
        asked.header("sec-websocket-key"),
        Some("dGhlIHNhbXBsZSBub25jZQ==")
    );
    for message in [
        &b"\x81\x05hello"[..],
        b"\0\xff\r\n\r\nGET / HTTP/1.1\r\n",
        &vec![7; 100_000],
    ] {
        client.send(message);
        assert_eq!(client.read_bytes(message.len()), message);
    }
    client.end();
    assert_eq!(client.read_to_end(), b"");
}

#[test]
fn a_switch_tells_clients_no_more_than_other_answers_do() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[purge]\npass_tags = \"X-Cache-Tags\"\n\
         [defaults]\nresponse_headers.remove = \"X-Backend\"\n",
    );
    let said = [
        ("Surrogate-Control", "max-age=60"),
        ("X-Reverse-Proxy-TTL", "60"),
        ("Surrogate-Key", "a b"),
        ("X-Magento-Tags", "a"),
        ("X-Cache-Tags", "c"),
        ("X-Backend", "10.0.0.7"),
        // As with everything that is not stored.
        ("Set-Cookie", "s=1"),
    ];
    let reply = said
        .iter()
        .fold(Reply::upgrade("websocket"), |reply, (name, value)| {
            reply.header(name, value)
        });
    origin.reply("/chat", reply);
    let mut client = larder.client();
    begin_chat(&mut client);
    let head = client.read_head();
    assert_eq!(head.status, 101);
    let told = said.map(|(name, _)| head.header(name).is_some());
    assert_eq!(
        told,
        [false, false, false, false, true, false, true],
        "{said:?}"
    );
    client.send("hello");
    assert_eq!(client.read_bytes(5), b"hello");
}

#[test]
fn a_tunnel_of_which_one_side_has_ended_is_closed() {
    let application = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = application.local_addr().expect("an address");
    let (done, waits) = mpsc::channel::<()>();
    let silent = thread::spawn(move || {
        let (mut stream, _) = application.accept().expect("a connection");
        switched(&mut stream);
        let mut said = String::new();
        stream.read_to_string(&mut said).expect("text");
        // It knows that the client has ended, and does not end.
        let _ = waits.recv();
        said
    });
    let (_origin, larder) = start_with(&format!(
        "[limits]\nidle_time = \"3s\"\n[[origin]]\nservers = \"http://{address}\"\n"
    ));
    let mut client = larder.client();
    begin_chat(&mut client);
    assert_eq!(client.read_head().status, 101);
    client.send("bye");
    client.end();
    assert_eq!(client.read_to_end(), b"", "closed though nobody else ended");
    drop(done);
    assert_eq!(silent.join().expect("it ended"), "bye");
}

/// A client over TLS that reads nothing after it has asked for a tunnel.
fn asks_over_tls(socket: &Path, config: &Arc<ClientConfig>) -> UnixStream {
    let name = ServerName::try_from("a.test").expect("a name");
    let client = ClientConnection::new(Arc::clone(config), name).expect("a client");
    let socket = UnixStream::connect(socket).expect("a listener");
    let mut tls = StreamOwned::new(client, socket);
    let head =
        "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    tls.write_all(head.as_bytes()).expect("open");
    tls.sock
}

/// Sends `first` bytes, and then one now and then until the tunnel has `ended` or nobody waits for that.
fn trickle(mut stream: TcpStream, first: usize, ended: &AtomicBool, over: &mpsc::Receiver<()>) {
    let mut next = stream.write_all(&vec![b'x'; first]);
    let pause = Duration::from_millis(100);
    while next.is_ok() && over.recv_timeout(pause) == Err(mpsc::RecvTimeoutError::Timeout) {
        next = stream.write_all(b"x");
    }
    ended.store(next.is_err(), SeqCst);
}

/// TLS takes what still comes, and holds it back: that is not the client.
#[test]
fn a_client_that_takes_nothing_ends_its_tunnel_though_messages_trickle() {
    let application = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (certificate, key) = crate::tls::certificate("a.test");
    let socket = scratch_dir().join("larder.sock");
    let address = application.local_addr().expect("an address");
    let larder = crate::common::command().args(["serve"]).config(&format!(
        "admin = \"off\"\n[limits]\nwrite_time = \"400ms\"\n[[origin]]\nservers = \"http://{address}\"\n\
         [[listen]]\naddress = \"unix:{}\"\ntls = [{{ certificate = {certificate:?}, key = {key:?} }}]\n",
        socket.display()
    ));
    let _larder = larder.start();
    let mut roots = RootCertStore::empty();
    let trusted = CertificateDer::from_pem_file(&certificate).expect("a certificate");
    roots.add(trusted).expect("a root");
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let config = Arc::new(config);
    // What a Unix socket holds does not grow: for some clients it holds all, for others the rest lies in TLS.
    let tunnels: Vec<_> = (0..16)
        .map(|number| {
            let client = asks_over_tls(&socket, &config);
            let (mut stream, _) = application.accept().expect("a connection");
            switched(&mut stream);
            let (first, ended) = (number * 30_000, Arc::new(AtomicBool::new(false)));
            let (over, waits) = mpsc::channel();
            let told = ended.clone();
            thread::spawn(move || trickle(stream, first, &told, &waits));
            (client, first, ended, over)
        })
        .collect();
    for (client, first, ended, _) in &tunnels {
        wait_until("it is all there, or the end", || {
            ioctl_fionread(client).is_ok_and(|held| held >= *first as u64) || ended.load(SeqCst)
        });
    }
    assert!(tunnels.iter().any(|(.., ended, _)| ended.load(SeqCst)));
}

#[test]
fn a_switch_to_what_nobody_asked_for_is_none() {
    let (origin, larder) = start();
    for (asked, switched, status) in [
        (None, "websocket", 502),
        (Some("websocket"), "ssh", 502),
        (Some("websocket"), "websocket, ssh", 502),
        (Some("IRC, WebSocket"), "websocket", 101),
    ] {
        origin.reply("/chat", Reply::upgrade(switched));
        let mut client = larder.client();
        let mut request = client.get("/chat");
        if let Some(asked) = asked {
            request = request
                .header("Connection", "upgrade")
                .header("Upgrade", asked);
        }
        request.begin();
        let head = client.read_head();
        assert_eq!(head.status, status, "{asked:?} {switched}");
        let said = head.header("cache-status").unwrap_or_default();
        let is_told = said.contains("detail=unasked-switch");
        assert_eq!(is_told, status == 502, "{said}");
    }
}

/// Whatever stands beside it: requests in its tunnel would go past every rule of the site.
#[test]
fn http2_is_no_tunnel_however_it_is_asked_for() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.header("upgrade") {
        Some(_) => Reply::upgrade("h2c"),
        None => Reply::ok().cache("no-store"),
    });
    for (asked, status) in [
        ("h2c", 200),
        ("H2C", 200),
        ("websocket, h2c", 200),
        ("h2", 200),
        ("TLS/1.0", 200),
        ("tls", 200),
        ("IRC/6.9, HTTP/2.0", 200),
        ("h2c, é", 200),
        ("é,\th2c", 200),
        // Blanks to those alone who read them as text.
        ("h2c\u{a0}", 502),
        ("h2c\u{85}", 502),
        ("websocket, \u{3000}h2c", 502),
    ] {
        let ask = larder.get("/").header("Connection", "Upgrade");
        let mut client = ask.header("Upgrade", asked).begin();
        assert_eq!(client.read_head().status, status, "{asked:?}");
    }
}

#[test]
fn a_refused_upgrade_is_an_ordinary_answer() {
    let (origin, larder) = start();
    origin.reply("/chat", Reply::status(403).cache("no-store").body("no"));
    let mut client = larder.client();
    for _ in 0..2 {
        let answer = client
            .get("/chat")
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .send();
        assert_eq!((answer.status, answer.text().as_str()), (403, "no"));
    }
}

#[test]
fn a_stored_answer_does_not_stand_in_for_an_upgrade() {
    let (origin, larder) = start();
    origin.on("/chat", |request| match request.header("upgrade") {
        Some(_) => Reply::upgrade("websocket"),
        None => Reply::ok().cache("max-age=60").body("page"),
    });
    larder.get("/chat").send();
    let mut client = larder.client();
    begin_chat(&mut client);
    assert_eq!(client.read_head().status, 101);
    assert!(larder.get("/chat").send().hit());
}

#[test]
fn connect_is_refused() {
    let (origin, larder) = start();
    origin.otherwise(|_| Reply::ok());
    for request in [
        "CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n",
        "CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        let mut client = larder.client();
        client.send(request);
        client.send("GET /tunnelled HTTP/1.1\r\nHost: a\r\n\r\n");
        let mut answer = client.read_head();
        assert!((400..600).contains(&answer.status));
        client.read_content(&mut answer);
        // Whatever comes next may be meant for the tunnel.
        assert_eq!(client.read_to_end(), b"");
    }
    assert!(origin.all().is_empty(), "{:?}", origin.all());
}

/// RFC 9110 section 15.5.22: "The server MUST send an Upgrade header field in a 426 response".
#[test]
fn an_answer_that_wants_another_protocol_names_it() {
    let (origin, larder) = start();
    origin.otherwise(|_| {
        let reply = Reply::status(426).header("Connection", "upgrade");
        reply.header("Upgrade", "websocket").body("switch")
    });
    let mut client = larder.client();
    for method in ["GET", "OPTIONS", "GET"] {
        let answer = client.ask(method, "/").send();
        assert_eq!((answer.status, answer.text().as_str()), (426, "switch"));
        assert_eq!(answer.header("upgrade"), Some("websocket"), "{method}");
        assert_eq!(answer.header("connection"), Some("upgrade"), "{method}");
    }
}

/// A line when it ends, as nginx has it, with what went to the client; also where it is still open at a stop.
#[test]
fn a_tunnel_is_logged_when_it_ends() {
    let path = scratch_dir().join("access.log");
    let (origin, mut larder) = start_with(&format!(
        "[log]\naccess = {:?}\n[limits]\ndrain_time = \"100ms\"\n[[origin]]\nservers = \"{{origin}}\"\n",
        path.display().to_string()
    ));
    origin.reply("/chat", Reply::upgrade("x"));
    let mut opened = ["/chat", "/chat?stays"].map(|target| {
        let mut client = larder.client();
        let asked = client.get(target);
        let asked = asked.header("Connection", "upgrade").header("Upgrade", "x");
        asked.begin();
        assert_eq!(client.read_head().status, 101);
        client.send(b"hello");
        assert_eq!(client.read_bytes(5), b"hello");
        client
    });
    let lines = || std::fs::read_to_string(&path).expect("a log");
    // What comes later is written before what is still open.
    larder.get("/after").send();
    wait_until("a line", || !lines().is_empty());
    assert!(!lines().contains("/chat"), "{}", lines());
    opened[0].send(b"more");
    assert_eq!(opened[0].read_bytes(4), b"more");
    opened[0].end();
    assert_eq!(opened[0].read_to_end(), b"");
    wait_until("another line", || lines().lines().count() == 2);
    assert!(
        lines().contains("\"GET /chat HTTP/1.1\" 101 9 "),
        "{}",
        lines()
    );
    larder.terminate();
    larder.wait();
    assert!(
        lines().contains("\"GET /chat?stays HTTP/1.1\" 101 5 "),
        "{}",
        lines()
    );
}

/// Without TLS a server that speaks HTTP/2 is not known to speak anything else. It is not asked at all, so that nobody
/// takes its page for the answer to a handshake.
#[test]
fn an_upgrade_is_no_plain_request_over_http2() {
    let (origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\nprotocol = \"http2\"\n");
    let asked = larder.get("/chat").header("Connection", "Upgrade");
    let answer = asked.header("Upgrade", "websocket").send();
    assert_eq!(answer.status, 501, "{}", answer.said());
    let detail = answer.parameter("detail");
    assert_eq!(detail.as_deref(), Some("no-upgrade"));
    assert!(origin.all().is_empty());
}

/// RFC 9110 section 7.8: "A server MAY ignore a received Upgrade header field".
#[test]
fn a_wish_for_another_protocol_is_ignored_over_http2() {
    let (address, honest) = bad_origin_http2::server(|_| (Vec::new(), true));
    honest.store(true, SeqCst);
    let larder = bad_origin_http2::before(address, "1m");
    let asked = larder.get("/").header("Connection", "Upgrade");
    let answer = asked.header("Upgrade", "IRC/6.9, RTA/x11").send();
    let told = (answer.status, answer.text());
    assert_eq!(told, (200, "honest".to_owned()), "{}", answer.said());
}

/// Where it is known from the configuration that no answer depends on the wish. A folder has no WebSocket either.
#[test]
fn a_wish_that_is_ignored_does_not_keep_from_the_store() {
    let (address, honest) = bad_origin_http2::server(|_| (Vec::new(), true));
    honest.store(true, SeqCst);
    let folder = static_root::folder(&[("a", b"file")]);
    for (larder, wish) in [
        (bad_origin_http2::before(address, "1m"), "IRC/6.9, RTA/x11"),
        (
            static_root::serve_with(&folder, "defaults.ttl = \"1h\""),
            "websocket",
        ),
    ] {
        let wishing = || {
            let asked = larder.get("/a").header("Connection", "Upgrade");
            asked.header("Upgrade", wish).send()
        };
        let first = wishing();
        assert_eq!(first.status, 200, "{}", first.said());
        assert!(
            !first.hit() && first.parameter("detail").is_none(),
            "{}",
            first.said()
        );
        for again in [wishing(), larder.get("/a").send()] {
            assert!(
                again.hit() && again.text() == first.text(),
                "{}",
                again.said()
            );
        }
        let told = explained(
            &larder,
            "http://example.test/a",
            &[("Connection", "upgrade"), ("Upgrade", wish)],
        );
        assert!(!told.contains("switch protocols"), "{told}");
    }
}

/// What may be granted is passed on, each time, and says nothing of what is stored.
#[test]
fn a_wish_that_may_be_granted_never_concerns_the_store() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().cache("max-age=60").body("page"));
    for wish in ["IRC/6.9", "websocket"] {
        for _ in 0..2 {
            let asked = larder.get("/").header("Connection", "Upgrade");
            let answer = asked.header("Upgrade", wish).send();
            assert!(!answer.hit(), "{}", answer.said());
            assert_eq!(answer.parameter("detail").as_deref(), Some("upgrade"));
            assert_eq!(origin.last("/").header("upgrade"), Some(wish));
        }
    }
    assert!(!larder.get("/").send().hit(), "nothing was stored");
    assert_eq!(origin.requests("/"), 5);
}

/// Nor does it wait for a turn, or take one from others.
#[test]
fn an_upgrade_that_no_server_has_is_refused_at_once() {
    let application = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = application.local_addr().expect("an address");
    let (_origin, larder) = start_with(&format!(
        "[[origin]]\nservers = \"http://{address}\"\nprotocol = \"http2\"\nmost_concurrent = 1\n\
         queue.length = 0\ntimeouts.connect = \"1m\"\n"
    ));
    let mut first = larder.client();
    first.get("/first").begin();
    let _held = application.accept().expect("a connection");
    let asked = larder.get("/chat").header("Connection", "Upgrade");
    let answer = asked.header("Upgrade", "websocket").send();
    let detail = answer.parameter("detail");
    let told = (answer.status, detail.as_deref());
    assert_eq!(told, (501, Some("no-upgrade")), "{}", answer.said());
    let other = larder.get("/other").send();
    let detail = other.parameter("detail");
    assert_eq!(detail.as_deref(), Some("queue-full"), "no turn is left");
}
