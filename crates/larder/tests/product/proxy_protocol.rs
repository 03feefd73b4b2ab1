//! The PROXY protocol: who asks, where a balancer tells it and where it does not.

use crate::common::{Said, counted, start_with};
use testkit::{Address, Client, Origin, scratch_dir};

#[test]
fn the_proxy_protocol_is_believed_from_where_it_is_expected() {
    let config = "admin = \"127.0.0.1:0\"\n[[listen]]\naddress = \"127.0.0.1:0\"\nproxy_protocol = \"127.0.0.0/8\"\n\
                  [[origin]]\nservers = \"{origin}\"\n";
    let origin = Origin::start();
    origin.otherwise(|request| counted(request).cache("no-store"));
    let larder = crate::common::command()
        .args(["serve"])
        .config(&config.replace("{origin}", &origin.url()))
        .start();
    let version_2 = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x09\x7f\0\0\x01\x12\x34\0\x50";
    for (header, client) in [
        (
            &b"PROXY TCP4 192.0.2.7 127.0.0.1 4660 80\r\n"[..],
            "192.0.2.7",
        ),
        (version_2, "192.0.2.9"),
    ] {
        let mut connection = larder.client();
        connection.send(header);
        assert_eq!(connection.get("/").send().status, 200);
        assert_eq!(origin.last("/").headers("x-forwarded-for"), [client]);
    }
    let before = origin.all().len();
    for header in ["PROXY nonsense\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"] {
        let mut connection = larder.client();
        connection.send(header);
        connection.end();
        connection.read_to_end();
    }
    assert_eq!(
        origin.all().len(),
        before,
        "without its header a connection is not served"
    );
}

/// Behind a balancer that does not say for whom it asks, nobody counts as the balancer, which may purge.
#[test]
fn a_balancer_that_names_no_client_lends_nobody_its_right_to_purge() {
    let config = "admin = \"127.0.0.1:0\"\n[[listen]]\naddress = \"127.0.0.1:0\"\nproxy_protocol = \"127.0.0.0/8\"\n\
                  [[origin]]\nservers = \"{origin}\"\n";
    let origin = Origin::start();
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    let larder = crate::common::command()
        .args(["serve"])
        .config(&config.replace("{origin}", &origin.url()))
        .start();
    let local = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";
    for (header, status) in [
        (&b"PROXY UNKNOWN\r\n"[..], 405),
        (local, 405),
        (b"PROXY TCP4 192.0.2.7 127.0.0.1 4660 80\r\n", 405),
        (b"PROXY TCP4 127.0.0.1 127.0.0.1 4660 80\r\n", 200),
    ] {
        let mut connection = larder.client();
        connection.send(header);
        let answer = connection.ask("PURGE", "/").send();
        assert_eq!(answer.status, status, "{}", header.escape_ascii());
    }
}

/// An address may come as `::ffff:203.0.113.9`, from balancers that listen for both families.
#[test]
fn a_mapped_address_is_an_ipv4_client() {
    let origin = Origin::start();
    origin.otherwise(counted);
    let config = "admin = \"127.0.0.1:0\"\ntrusted = \"192.0.2.0/24\"\n\
                  [[listen]]\naddress = \"127.0.0.1:0\"\nproxy_protocol = \"127.0.0.0/8\"\n\
                  [[origin]]\nservers = \"{origin}\"\n\
                  [[route]]\nclient = \"203.0.113.0/24\"\nttl = \"60s\"\n";
    let larder = crate::common::command()
        .args(["serve"])
        .config(&config.replace("{origin}", &origin.url()))
        .start();
    let direct = "PROXY TCP6 ::ffff:203.0.113.9 ::ffff:127.0.0.1 4660 80\r\n";
    let through = "PROXY TCP6 ::ffff:192.0.2.7 ::ffff:127.0.0.1 4660 80\r\n";
    for (path, header, told) in [
        ("/direct", direct, ""),
        ("/told", through, "X-Forwarded-For: ::ffff:203.0.113.9\r\n"),
    ] {
        let answers = [(); 2].map(|()| {
            let mut connection = larder.client();
            connection.send(header);
            connection.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n{told}\r\n"));
            connection.read()
        });
        assert!(answers[1].says("hit"), "{path}: {}", answers[1].said());
    }
}

/// Behind a balancer that does not say for whom it asks is nobody known: no client of any network, and nobody to be
/// believed.
#[test]
fn a_balancer_that_names_no_client_lends_nobody_its_name() {
    let socket = scratch_dir().join("socket");
    let origin = Origin::start();
    origin.otherwise(counted);
    let config = format!(
        "admin = \"127.0.0.1:0\"\ntrusted = \"127.0.0.0/8\"\n\
         [[listen]]\naddress = \"127.0.0.1:0\"\nproxy_protocol = \"127.0.0.0/8\"\n\
         [[listen]]\naddress = \"unix:{}\"\nproxy_protocol = \"127.0.0.0/8\"\n\
         [[origin]]\nservers = \"{}\"\n\
         [[route]]\nclient = [\"127.0.0.0/8\", \"203.0.113.0/24\"]\nttl = \"60s\"\n",
        socket.display(),
        origin.url()
    );
    let larder = crate::common::command()
        .args(["serve"])
        .config(&config)
        .start();
    let told = "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\n";
    let local = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";
    for (number, header) in [&b"PROXY UNKNOWN\r\n"[..], local].iter().enumerate() {
        for address in [larder.address(), Address::Unix(socket.clone())] {
            for told in ["", told] {
                let path = format!("/{number}");
                let mut connection = Client::connect(address.clone());
                connection.send(header);
                connection.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n{told}\r\n"));
                let answer = connection.read();
                assert!(!answer.says("hit"), "{path} {told}: {}", answer.said());
                let asked = origin.last(&path);
                assert_eq!(asked.headers("x-forwarded-host"), ["a"], "{path}");
                assert_eq!(asked.headers("x-forwarded-proto"), ["http"], "{path}");
                assert_eq!(asked.headers("x-forwarded-for"), ["unknown"], "{path}");
                let forwarded = asked.header("forwarded").unwrap_or_default();
                assert!(forwarded.starts_with("for=unknown;"), "{path}: {forwarded}");
            }
        }
    }
}

#[test]
fn the_proxy_protocol_is_not_understood_where_it_is_not_expected() {
    let (origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
    let mut connection = larder.client();
    connection.send("PROXY TCP4 192.0.2.7 127.0.0.1 4660 80\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    if let Some(answer) = connection.try_read_head() {
        assert_eq!(answer.status, 400, "{}", answer.said());
    }
    assert!(origin.all().is_empty());
}

/// What a route stores for some clients is not for others, and what one of them changes is invalid for all.
#[test]
fn routes_by_client_behind_a_balancer() {
    let origin = Origin::start();
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    let config = "admin = \"127.0.0.1:0\"\n\
                  [[listen]]\naddress = \"127.0.0.1:0\"\nproxy_protocol = \"127.0.0.0/8\"\n\
                  [[origin]]\nservers = \"{origin}\"\n\
                  [[route]]\nclient = \"192.0.2.0/24\"\n";
    let larder = crate::common::command()
        .args(["serve"])
        .config(&config.replace("{origin}", &origin.url()))
        .start();
    let ask = |client: &str, method: &str| {
        let mut connection = larder.client();
        connection.send(format!("PROXY TCP4 {client} 127.0.0.1 4660 80\r\n"));
        connection.ask(method, "/").send()
    };
    let (staff, other) = ("192.0.2.7", "203.0.113.9");
    for (client, text, hit) in [
        (staff, "1", false),
        (other, "2", false),
        (staff, "1", true),
        ("192.0.2.8", "1", true),
        (other, "2", true),
    ] {
        let answer = ask(client, "GET");
        let told = (answer.text(), answer.hit());
        assert_eq!(told, (text.to_owned(), hit), "{client}");
    }
    ask(other, "PUT");
    for client in [staff, other] {
        assert!(!ask(client, "GET").hit(), "{client}");
    }
}
