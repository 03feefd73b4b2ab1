//! Servers by name: each address is one, and names are followed when they change. Names are asked of a file that takes
//! the place of `/etc/hosts` for the one process.

use crate::common::{raw_head, sample};
use std::{
    fs,
    io::{self, Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    thread,
};
use testkit::{Command, Larder, Origin, Reply, scratch_dir, wait_until};

/// What `app.test` stands for.
struct Names(PathBuf);

impl Names {
    fn new(addresses: &[&str]) -> Self {
        let names = Self(scratch_dir().join("hosts"));
        names.point(addresses);
        names
    }

    /// Always of the same length, and so replaced in one piece.
    fn point(&self, addresses: &[&str]) {
        let lines = addresses
            .iter()
            .map(|address| format!("{address} app.test\n"));
        let text = format!("{:\n<512}", lines.collect::<String>());
        let file = fs::OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .open(&self.0);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .expect("a file of names");
    }

    /// A larder before `app.test` with this port, with these lines in the origin's table.
    fn larder(&self, port: u16, lines: &str) -> Larder {
        let config = format!(
            "workers = 1\n[[origin]]\nservers = \"http://app.test:{port}\"\nresolve_every = \"100ms\"\n{lines}\n"
        );
        let binary = env!("CARGO_BIN_EXE_larder");
        let script = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
        let hosts = self.0.display().to_string();
        Command::new("unshare")
            .args(["--mount", "sh", "-c", script, &hosts, binary])
            .args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .config(&config)
            .start()
    }
}

/// Two servers on one port of two addresses, 127.0.0.1 and 127.0.0.2, that say their number.
fn two_addresses() -> [Origin; 2] {
    let first = Origin::start();
    let second = start_beside(&first, 2);
    let servers = [first, second];
    for (number, server) in servers.iter().enumerate() {
        server.otherwise(move |_| Reply::ok().cache("no-store").body(number.to_string()));
    }
    servers
}

/// A server on the same port of another of this machine's addresses.
fn start_beside(server: &Origin, last: u8) -> Origin {
    let ip = Ipv4Addr::new(127, 0, 0, last).into();
    Origin::start_at(SocketAddr::new(ip, server.address().port()))
}

const BOTH: [&str; 2] = ["127.0.0.1", "127.0.0.2"];

/// What so many requests are answered with.
fn asked(larder: &Larder, times: usize) -> String {
    (0..times).map(|_| larder.get("/").send().text()).collect()
}

#[test]
fn the_addresses_of_a_name_take_turns() {
    let servers = two_addresses();
    let names = Names::new(&["127.0.0.2", "127.0.0.1"]);
    let larder = names.larder(servers[0].address().port(), "");
    let mut seen: Vec<_> = asked(&larder, 10).into_bytes();
    seen.sort_unstable();
    assert_eq!(seen, b"0000011111");
}

#[test]
fn an_address_that_hangs_is_left_behind() {
    let servers = two_addresses();
    servers[0].otherwise(|_| Reply::ok().hang());
    let larder = Names::new(&BOTH).larder(
        servers[0].address().port(),
        "timeouts = { first_byte = \"3s\" }\npassive = { failures = 2, rest = \"1h\" }",
    );
    assert_eq!(asked(&larder, 10), "1".repeat(10));
    assert_eq!(servers[0].requests("/"), 2, "it rests, and nobody else");
    let log = larder.stop().stderr;
    assert!(log.contains("at 127.0.0.1"), "which one it is: {log}");
}

#[test]
fn each_address_is_checked() {
    let servers = two_addresses();
    let port = servers[0].address().port();
    servers[0].reply("/health", Reply::status(503));
    let larder = Names::new(&BOTH).larder(
        port,
        "health = { path = \"/health\", every = \"100ms\", timeout = \"1m\", healthy_after = 1, unhealthy_after = 1 }",
    );
    wait_until("one is left out", || asked(&larder, 3) == "111");
    let named = format!("larder_server_healthy{{origin=\"origin\",server=\"app.test:{port}\"}}");
    assert_eq!(sample(&larder, &named), 1, "the server has another address");
    servers[1].reply("/health", Reply::status(503));
    wait_until("so is the other", || larder.get("/").send().status == 503);
    assert_eq!(sample(&larder, &named), 0);
    servers[0].reply("/health", Reply::ok());
    wait_until("the first is back", || asked(&larder, 3) == "000");
}

#[test]
fn addresses_come_and_go_and_those_that_stay_keep_their_connections() {
    let stays = Origin::start();
    stays.otherwise(|_| Reply::ok().cache("no-store").body("0"));
    let port = stays.address().port();
    let goes = TcpListener::bind((Ipv4Addr::new(127, 0, 0, 2), port)).expect("a free port");
    let served = thread::spawn(move || -> io::Result<usize> {
        let (mut stream, _) = goes.accept()?;
        answer_one(&mut stream)?;
        stream.read(&mut [0; 1])
    });
    let names = Names::new(&BOTH);
    let larder = names.larder(port, "idle_time = \"1h\"");
    let mut seen: Vec<_> = asked(&larder, 2).into_bytes();
    seen.sort_unstable();
    assert_eq!(seen, b"01");
    names.point(&["127.0.0.1"]);
    let read = served.join().expect("a server that does not panic");
    assert_eq!(
        read.expect("a clean end"),
        0,
        "its idle connection is closed"
    );
    assert_eq!(asked(&larder, 6), "0".repeat(6));
    assert_eq!(stays.connections(), 1, "the other's is used on");
    let joins = start_beside(&stays, 3);
    joins.otherwise(|_| Reply::ok().cache("no-store").body("2"));
    names.point(&["127.0.0.3", "127.0.0.1"]);
    wait_until("who joins is asked", || asked(&larder, 2).contains('2'));
}

fn answer_one(stream: &mut TcpStream) -> io::Result<()> {
    raw_head(stream)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 1\r\n\r\n1")
}

#[test]
fn a_machine_that_listens_on_one_family_alone_is_well() {
    for here in [
        IpAddr::from([127, 0, 0, 1]),
        "::1".parse().expect("an address"),
    ] {
        let any_port = SocketAddr::new(here, 0);
        if TcpListener::bind(any_port).is_err() {
            // There are systems without IPv6.
            continue;
        }
        let server = Origin::start_at(any_port);
        server.otherwise(|_| Reply::ok().cache("no-store").body("0"));
        let check = "health = { path = \"/\", every = \"100ms\", timeout = \"1m\", healthy_after = 1, unhealthy_after = 1 }";
        let lines = format!("passive = {{ failures = 1 }}\nretry = {{ attempts = 0 }}\n{check}");
        let larder = Names::new(&["::1", "127.0.0.1"]).larder(server.address().port(), &lines);
        wait_until("it is checked", || server.requests("/") > 3);
        assert_eq!(asked(&larder, 6), "0".repeat(6), "{here}");
        let log = larder.stop().stderr;
        assert!(!log.contains(" WARN "), "{here}: {log}");
    }
}

#[test]
fn a_name_is_followed_to_its_new_address() {
    let origin = Origin::start();
    origin.otherwise(|_| Reply::ok().cache("no-store").body("here"));
    let names = Names::new(&["127.0.0.1"]);
    let larder = names.larder(origin.address().port(), "passive = { failures = 0 }");
    assert_eq!(larder.get("/").send().text(), "here");
    // Nobody listens there; the idle connection to the old address is not used any more.
    names.point(&["127.0.0.2"]);
    wait_until("it follows", || larder.get("/").send().status == 502);
    let before = origin.all().len();
    assert_eq!(larder.get("/").send().status, 502);
    assert_eq!(origin.all().len(), before, "the old address is left alone");
    names.point(&["127.0.0.1"]);
    wait_until("it is back", || larder.get("/").send().text() == "here");
}

#[test]
fn a_name_that_is_not_resolved_is_told_of_once() {
    let server = Origin::start();
    server.otherwise(|_| Reply::ok().cache("no-store").body("well"));
    let names = Names::new(&[]);
    let larder = names.larder(server.address().port(), "");
    larder.wait_output("no address is known");
    assert_eq!(larder.get("/").send().status, 502);
    names.point(&["127.0.0.1"]);
    larder.wait_output("name resolved again");
    wait_until("it answers", || larder.get("/").send().text() == "well");
    names.point(&[]);
    larder.wait_output("last addresses kept");
    assert_eq!(larder.get("/").send().text(), "well");
    let log = larder.stop().stderr;
    for told in ["no address is known", "resolved again", "addresses kept"] {
        assert_eq!(log.matches(told).count(), 1, "{told}: {log}");
    }
}
