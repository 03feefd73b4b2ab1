//! TLS and HTTP/2 on listeners.

use crate::common::{Said, counted, start};
use std::{fmt::Write as _, path::PathBuf};
use testkit::{Larder, Origin, Reply, wait_until};

/// What curl printed: the head and the content.
pub(crate) struct Curl {
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Runs curl against the first listener of the scheme, with these arguments before the URL.
pub(crate) fn curl(
    larder: &Larder,
    scheme: &str,
    host: &str,
    args: &[&str],
) -> Result<Curl, String> {
    let beginning = format!("{scheme}://");
    let url = larder
        .listeners()
        .iter()
        .find(|url| url.starts_with(&beginning))
        .expect("a listener");
    let address = url.split("://").last().expect("an address");
    let port = address.rsplit(':').next().expect("a port");
    let output = std::process::Command::new("curl")
        .args([
            "--silent",
            "--show-error",
            "--include",
            "--max-time",
            "10",
            "--noproxy",
            "*",
        ])
        .args(["--resolve", &format!("{host}:{port}:127.0.0.1")])
        .args(args)
        .arg(format!("{scheme}://{host}:{port}/"))
        .output()
        .expect("curl");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    Ok(Curl {
        head: head.to_lowercase(),
        body: body.to_owned(),
    })
}

/// Writes a certificate of its own authority for this name; gives its file and its key's.
pub(crate) fn certificate(name: &str) -> (PathBuf, PathBuf) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
    let directory = testkit::scratch_dir();
    let (certificate, key) = (directory.join("site.pem"), directory.join("site.key"));
    std::fs::write(&certificate, made.cert.pem()).expect("a file");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("a file");
    (certificate, key)
}

/// The same with no name in it.
pub(crate) fn nameless_certificate() -> (PathBuf, PathBuf) {
    let made = rcgen::generate_simple_self_signed(Vec::<String>::new()).expect("a certificate");
    let directory = testkit::scratch_dir();
    let (certificate, key) = (directory.join("site.pem"), directory.join("site.key"));
    std::fs::write(&certificate, made.cert.pem()).expect("a file");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("a file");
    (certificate, key)
}

/// A TLS listener with these certificates, before an origin whose pages are stored.
fn secure(certificates: &[&(PathBuf, PathBuf)]) -> (Origin, Larder) {
    secure_with(certificates, "")
}

/// The same with further tables in the configuration.
pub(crate) fn secure_with(certificates: &[&(PathBuf, PathBuf)], tables: &str) -> (Origin, Larder) {
    let mut config =
        String::from("admin = \"127.0.0.1:0\"\n[[listen]]\naddress = \"127.0.0.1:0\"\n");
    for (certificate, key) in certificates {
        let _ = writeln!(
            config,
            "[[listen.tls]]\ncertificate = \"{}\"\nkey = \"{}\"",
            certificate.display(),
            key.display()
        );
    }
    let origin = Origin::start();
    let _ = writeln!(config, "[[origin]]\nservers = {:?}\n{tables}", origin.url());
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    let larder = crate::common::command()
        .args(["serve"])
        .config(&config)
        .start();
    (origin, larder)
}

#[test]
fn tls_serves_http_1_1_and_http_2() {
    let pair = certificate("shop.test");
    let (origin, larder) = secure(&[&pair]);
    assert!(
        larder.listeners()[0].starts_with("https://"),
        "{:?}",
        larder.listeners()
    );
    let authority = pair.0.to_str().expect("a path");
    for (version, line) in [("--http1.1", "http/1.1 200"), ("--http2", "http/2 200")] {
        for tls in ["--tls-max=1.2", "--tls-max=1.3"] {
            let (flag, value) = tls.split_once('=').expect("a value");
            let answer = curl(
                &larder,
                "https",
                "shop.test",
                &["--cacert", authority, version, flag, value],
            )
            .expect("an answer");
            assert!(
                answer.head.starts_with(line),
                "{version} {tls}: {}",
                answer.head
            );
            assert_eq!(answer.body, "1");
        }
    }
    assert_eq!(origin.last("/").header("x-forwarded-proto"), Some("https"));
    assert_eq!(
        origin.requests("/"),
        1,
        "one stored response answers all versions"
    );
}

#[test]
fn the_certificate_is_chosen_by_name() {
    let (one, two) = (certificate("one.test"), certificate("two.test"));
    let (_origin, larder) = secure(&[&one, &two]);
    for (name, pair, works) in [
        ("one.test", &one, true),
        ("two.test", &two, true),
        ("two.test", &one, false),
        ("three.test", &one, false),
    ] {
        let answer = curl(
            &larder,
            "https",
            name,
            &["--cacert", pair.0.to_str().expect("a path")],
        );
        assert_eq!(answer.is_ok(), works, "{name}: {:?}", answer.err());
    }
}

#[test]
fn a_certificate_is_replaced_without_a_restart() {
    let pair = certificate("shop.test");
    let (_origin, larder) = secure(&[&pair]);
    let old = std::fs::read(&pair.0).expect("a file");
    let renewed = certificate("shop.test");
    std::fs::copy(&renewed.0, &pair.0).expect("a copy");
    std::fs::copy(&renewed.1, &pair.1).expect("a copy");
    let kept = testkit::scratch_dir().join("old.pem");
    std::fs::write(&kept, old).expect("a file");
    let trusts = |authority: &PathBuf| {
        curl(
            &larder,
            "https",
            "shop.test",
            &["--cacert", authority.to_str().expect("a path")],
        )
        .is_ok()
    };
    assert!(trusts(&kept));
    larder.reload();
    wait_until("the new certificate is shown", || trusts(&renewed.0));
    assert!(!trusts(&kept));
}

#[test]
fn plain_bytes_on_a_tls_listener_are_told_what_it_speaks() {
    let pair = certificate("shop.test");
    let (origin, larder) = secure(&[&pair]);
    let mut client = larder.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let answer = client.read();
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("https://"), "{}", answer.text());
    client.read_to_end();
    let mut client = larder.client();
    client.send(b"\0\x01 neither");
    client.read_to_end();
    assert!(origin.all().is_empty());
    assert!(
        curl(
            &larder,
            "https",
            "shop.test",
            &["--cacert", pair.0.to_str().expect("a path")]
        )
        .is_ok()
    );
}

/// RFC 9110 section 9.3.2. Content is an error of its stream (RFC 9113 section 8.1.1).
#[test]
fn a_refusal_of_head_has_no_content() {
    let (_origin, larder) = start();
    let head = ["--http2-prior-knowledge", "--head"];
    let args = [&head[..], &["--header", "Host: a:99999"]].concat();
    let answer = curl(&larder, "http", "shop.test", &args).expect("an answer");
    assert!(answer.head.starts_with("http/2 400"), "{}", answer.head);
}

#[test]
fn http_2_is_spoken_on_plain_connections_by_prior_knowledge() {
    let (origin, larder) = start();
    origin.otherwise(|request| {
        counted(request)
            .cache("max-age=60")
            .header("Connection", "X-Hop")
            .header("X-Hop", "1")
    });
    for expected in ["fwd=", "hit"] {
        let answer =
            curl(&larder, "http", "shop.test", &["--http2-prior-knowledge"]).expect("an answer");
        assert!(answer.head.starts_with("http/2 200"), "{}", answer.head);
        assert!(answer.head.contains(expected), "{}", answer.head);
        for name in ["connection:", "keep-alive:", "transfer-encoding:", "x-hop:"] {
            assert!(
                !answer.head.contains(&format!("\n{name}")),
                "9113 section 8.2.2: MUST NOT: {}",
                answer.head
            );
        }
        assert_eq!(answer.body, "1");
    }
    assert!(
        larder
            .get("/")
            .header("Host", larder_host(&larder))
            .send()
            .hit(),
        "one store for both versions"
    );
}

fn larder_host(larder: &Larder) -> String {
    let port = larder.listeners()[0]
        .rsplit(':')
        .next()
        .expect("a port")
        .to_owned();
    format!("shop.test:{port}")
}

#[test]
fn http_2_posts_and_conditions_work() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.method.as_str() {
        "POST" => testkit::Reply::ok().body(&request.body),
        _ => counted(request).cache("max-age=60").header("ETag", "\"a\""),
    });
    let post = curl(
        &larder,
        "http",
        "shop.test",
        &["--http2-prior-knowledge", "--data", "content"],
    )
    .expect("an answer");
    assert_eq!(post.body, "content");
    let conditional = [
        "--http2-prior-knowledge",
        "--header",
        "If-None-Match: \"a\"",
    ];
    let answer = curl(&larder, "http", "shop.test", &conditional).expect("an answer");
    assert!(answer.head.starts_with("http/2 304"), "{}", answer.head);
    let range = curl(
        &larder,
        "http",
        "shop.test",
        &["--http2-prior-knowledge", "--range", "0-0"],
    )
    .expect("an answer");
    assert!(range.head.starts_with("http/2 206"), "{}", range.head);
}

#[test]
fn http_2_streams_of_one_connection_share_a_fetch() {
    let (origin, larder) = start();
    let gate = testkit::Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| {
        counted(request).cache("max-age=60").hold_head(&held)
    });
    let url = larder.listeners()[0].clone();
    let urls: Vec<String> = (0..5).map(|_| format!("{url}/")).collect();
    let child = std::process::Command::new("nghttp")
        .args(["-n", "--stat"])
        .args(&urls)
        .stdout(std::process::Stdio::piped())
        .spawn();
    let child = child.expect("nghttp");
    gate.wait_reached();
    gate.open();
    let output = child.wait_with_output().expect("its end");
    assert!(output.status.success());
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn the_crumbs_of_a_cookie_are_joined() {
    let (origin, larder) = start();
    origin.otherwise(|request| counted(request).cache("no-store"));
    let url = format!("{}/", larder.listeners()[0]);
    let status = std::process::Command::new("nghttp")
        .args(["-n", "-H", "cookie: a=1", "-H", "cookie: b=2", &url])
        .status();
    assert!(status.expect("nghttp").success());
    assert_eq!(
        origin.last("/").headers("cookie"),
        ["a=1; b=2"],
        "9113 section 8.2.3: MUST be one field"
    );
}

/// A plain and a TLS listener before one origin.
fn both(pair: &(PathBuf, PathBuf), origin: &Origin) -> Larder {
    let config = format!(
        "admin = \"127.0.0.1:0\"\n[[listen]]\naddress = \"127.0.0.1:0\"\n[[listen]]\naddress = \"127.0.0.1:0\"\n\
         tls = [{{ certificate = {:?}, key = {:?} }}]\n[[origin]]\nservers = {:?}\n",
        pair.0.display().to_string(),
        pair.1.display().to_string(),
        origin.url()
    );
    crate::common::command()
        .args(["serve"])
        .config(&config)
        .start()
}

#[test]
fn http_and_https_do_not_mix() {
    let pair = certificate("shop.test");
    let origin = Origin::start();
    origin.otherwise(|request| match request.header("x-forwarded-proto") {
        Some("https") => testkit::Reply::ok().cache("max-age=60").body("page"),
        _ => testkit::Reply::status(301)
            .cache("max-age=60")
            .header("Location", "https://shop.test/"),
    });
    let larder = both(&pair, &origin);
    // The same authority on both, as with the default ports.
    let host = "Host: shop.test";
    let plain = curl(&larder, "http", "shop.test", &["--header", host]).expect("an answer");
    assert!(plain.head.contains(" 301 "), "{}", plain.head);
    let secure = [
        "--header",
        host,
        "--cacert",
        pair.0.to_str().expect("a path"),
    ];
    let secure = curl(&larder, "https", "shop.test", &secure).expect("an answer");
    assert_eq!(
        secure.body, "page",
        "9111 section 4: the target URI has a scheme; a redirect to it must not loop: {}",
        secure.head
    );
}

#[test]
fn what_varies_by_the_clients_address_or_scheme_is_kept_apart() {
    let (origin, larder) = start();
    origin.otherwise(|request| {
        let client = request
            .header("x-forwarded-for")
            .unwrap_or_default()
            .to_owned();
        testkit::Reply::ok()
            .cache("max-age=60")
            .header("Vary", "X-Forwarded-For")
            .body(client)
    });
    for client in ["127.0.0.1", "127.0.0.2", "127.0.0.1"] {
        let answer =
            curl(&larder, "http", "shop.test", &["--interface", client]).expect("an answer");
        assert_eq!(
            answer.body, client,
            "9111 section 4.1: the origin saw this field with another value"
        );
    }
}

#[test]
fn fields_of_a_connection_have_no_place_in_http_2() {
    let (origin, larder) = start();
    origin.otherwise(|request| counted(request).cache("no-store"));
    let url = format!("{}/", larder.listeners()[0]);
    for field in [
        "transfer-encoding: chunked",
        "connection: x-hop",
        "keep-alive: 5",
        "upgrade: x",
        "proxy-connection: x",
    ] {
        let _ = std::process::Command::new("nghttp")
            .args(["-n", "-H", field, &url])
            .output();
    }
    for request in origin.all() {
        for name in [
            "transfer-encoding",
            "keep-alive",
            "upgrade",
            "proxy-connection",
        ] {
            assert_eq!(
                request.header(name),
                None,
                "9113 section 8.2.2: {:?}",
                request.head
            );
        }
    }
    let answer =
        curl(&larder, "http", "shop.test", &["--http2-prior-knowledge"]).expect("an answer");
    assert!(answer.head.starts_with("http/2 200"));
}

/// A server behind TLS, by each protocol, under a name of its own, and with what it shows trusted or not: another Larder.
#[test]
fn servers_are_asked_over_tls_as_the_site_says() {
    let pair = certificate("shop.test");
    let (origin, server) = secure(&[&pair]);
    origin.otherwise(|request| Reply::ok().cache("no-store").body(request.target.clone()));
    let address = server.listeners()[0].clone();
    let trusts = format!("authorities = \"{}\"", pair.0.display());
    for (number, (protocol, tls, version, detail)) in [
        (
            "http1",
            format!("server_name = \"shop.test\", {trusts}"),
            "1.1",
            "",
        ),
        (
            "http2",
            format!("server_name = \"shop.test\", {trusts}"),
            "2.0",
            "",
        ),
        (
            "auto",
            format!("server_name = \"shop.test\", {trusts}"),
            "2.0",
            "",
        ),
        ("auto", "insecure = true".to_owned(), "2.0", ""),
        (
            "auto",
            format!("server_name = \"other.test\", {trusts}"),
            "",
            "tls",
        ),
        ("auto", "server_name = \"shop.test\"".to_owned(), "", "tls"),
    ]
    .into_iter()
    .enumerate()
    {
        let larder = testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
            .config(&format!(
                "[[origin]]\nservers = \"{address}\"\nprotocol = \"{protocol}\"\ntls = {{ {tls} }}\nretry.attempts = 0\n"
            ))
            .start();
        let path = format!("/{number}");
        let answer = larder.get(&path).header("Host", "shop.test").send();
        if detail.is_empty() {
            assert_eq!(
                (answer.status, answer.text()),
                (200, path.clone()),
                "{protocol} {tls}: {}",
                answer.said()
            );
            let asked = origin.last(&path);
            // What the server behind TLS received the request in.
            let received = asked.headers("via").join(", ");
            let last = received.rsplit(", ").next().unwrap_or_default();
            assert!(
                last.starts_with(&format!("{version} larder")),
                "{protocol} {tls}: {received}"
            );
        } else {
            assert_eq!(answer.status, 502, "{protocol} {tls}: {}", answer.said());
            assert_eq!(answer.parameter("detail").as_deref(), Some(detail));
            assert_eq!(origin.requests(&path), 0);
        }
    }
}

/// `WebSocket` needs HTTP/1.1, whatever else a server behind TLS is asked in.
#[test]
fn a_websocket_reaches_a_server_that_is_asked_over_http2() {
    let pair = certificate("shop.test");
    let (origin, server) = secure(&[&pair]);
    origin.reply("/chat", Reply::upgrade("websocket"));
    let larder = testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&format!(
            "[[origin]]\nservers = \"{}\"\nprotocol = \"http2\"\ntls.insecure = true\n",
            server.listeners()[0]
        ))
        .start();
    assert_eq!(larder.get("/page").send().status, 200);
    let mut client = larder.client();
    let asked = client.get("/chat");
    let asked = asked.header("Connection", "Upgrade");
    asked.header("Upgrade", "websocket").begin();
    assert_eq!(client.read_head().status, 101);
    let received = origin.last("/chat").headers("via").join(", ");
    assert!(received.contains("1.1 larder"), "{received}");
    client.send(b"\x81\x05hello");
    assert_eq!(client.read_bytes(7), *b"\x81\x05hello");
}
