//! Signals that come while something else is going on already.

use crate::common::command;
use std::{
    fs,
    io::{self, ErrorKind, Read, Write},
    net::TcpStream,
    os::{fd::AsRawFd, unix::net::UnixStream},
    path::Path,
};
use testkit::{Address, Client, Gate, Larder, Origin, Reply, scratch_dir, wait_until};

fn config(origin: &Origin, drain_time: &str, listen: &str) -> String {
    format!(
        "listen = [{listen}]\nadmin = \"127.0.0.1:0\"\n[limits]\ndrain_time = {drain_time:?}\n[[origin]]\nservers = {:?}\ntimeouts = {{ first_byte = \"1h\" }}\n",
        origin.url()
    )
}

fn start(config: &str) -> Larder {
    command().args(["serve"]).config(config).start()
}

fn unix(path: &Path) -> String {
    format!("\"unix:{}\"", path.display())
}

/// A request under way on a listener that a reload has taken away, with an hour to end.
fn removed() -> (Origin, Larder, Client) {
    let origin = Origin::start();
    origin.reply("/", Reply::ok().hang());
    let folder = scratch_dir();
    let (old, new) = (folder.join("old.sock"), folder.join("new.sock"));
    let larder = start(&config(&origin, "1h", &unix(&old)));
    let mut client = Client::connect(old.as_path());
    client.get("/").begin();
    origin.wait_requests("/", 1);
    larder.rewrite_config(&config(&origin, "1h", &unix(&new)));
    larder.reload();
    wait_until("it is closed", || UnixStream::connect(&old).is_err());
    larder.rewrite_config(&config(&origin, "50ms", &unix(&new)));
    (origin, larder, client)
}

#[test]
fn a_second_signal_ends_what_a_reload_left_to_drain() {
    let (_origin, mut larder, _client) = removed();
    larder.terminate();
    larder.wait_output("stopping");
    larder.terminate();
    assert_eq!(larder.wait().code, Some(0));
}

#[test]
fn a_stop_bounds_what_a_reload_left_to_drain() {
    let (_origin, larder, _client) = removed();
    larder.reload();
    wait_until("it is reloaded twice", || {
        larder.output().matches("configuration reloaded").count() == 2
    });
    assert_eq!(larder.stop().code, Some(0));
}

#[test]
fn a_reload_lets_what_it_left_to_drain_take_its_time() {
    let origin = Origin::start();
    let gate = Gate::new();
    origin.reply("/", Reply::ok().hold_head(&gate).body("slow"));
    let folder = scratch_dir();
    let (old, new) = (folder.join("old.sock"), folder.join("new.sock"));
    let config = |path: &Path| {
        let config = config(&origin, "1ms", &unix(path));
        let limits = "[limits]\nheader_time = \"1s\"";
        format!("workers = 1\n{}", config.replace("[limits]", limits))
    };
    let larder = start(&config(&old));
    let mut slow = Client::connect(old.as_path());
    slow.get("/").begin();
    gate.wait_reached();
    let mut late = Client::connect(old.as_path());
    late.send("GET / HTTP/1.1\r\nHost: ");
    larder.rewrite_config(&config(&new));
    larder.reload();
    // By the same clock, a thousand drain times have passed then.
    assert_eq!(late.read_head().status, 408);
    wait_until("it is closed", || UnixStream::connect(&old).is_err());
    gate.open();
    assert_eq!(slow.read().text(), "slow");
}

#[test]
fn a_reload_that_changes_nothing_keeps_every_listener() {
    let origin = Origin::start();
    origin.reply("/", Reply::ok().body("x"));
    let config = config(&origin, "1s", "\"127.0.0.1:0\", \"127.0.0.1:0\"");
    let larder = start(&config);
    for times in 1..=2 {
        // Two signals in one moment are one.
        larder.reload();
        wait_until("it is reloaded", || {
            larder.output().matches("configuration reloaded").count() == times
        });
    }
    for url in larder.listeners() {
        let address: std::net::SocketAddr = url
            .trim_start_matches("http://")
            .parse()
            .expect("an address");
        assert_eq!(
            Client::connect(address).get("/").send().text(),
            "x",
            "{url}"
        );
    }
}

/// Whoever asks the admin API has a second to be answered.
#[test]
fn a_stop_waits_for_what_the_admin_api_was_asked() {
    let origin = Origin::start();
    let mut larder = start(&config(&origin, "1s", "\"127.0.0.1:0\""));
    let Address::Tcp(address) = larder.admin() else {
        panic!("a TCP address")
    };
    let mut client = Client::connect(larder.admin());
    let purge = r#"{"tags": ["a"]}"#;
    let (begins, ends) = purge.split_at(5);
    client.send(format!(
        "POST /purge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        purge.len()
    ));
    client.read_interim();
    client.send(begins);
    larder.terminate();
    wait_until("nobody else is let in", || {
        TcpStream::connect(address).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    });
    client.send(ends);
    assert_eq!(client.read().status, 200);
    assert_eq!(larder.wait().code, Some(0));
}

/// A client may bring about what libraries warn of as often as it likes, and there is one log for all.
#[test]
fn what_libraries_say_of_clients_is_not_logged() {
    let origin = Origin::start();
    let larder = start(&config(&origin, "1s", "\"127.0.0.1:0\""));
    let Address::Tcp(address) = larder.address() else {
        panic!("it listens on TCP");
    };
    let mut client = TcpStream::connect(address).expect("it listens");
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    // An answer to a PING that nobody sent, a hundred times, and a PING.
    let answers = b"\0\0\x08\x06\x01\0\0\0\0ABCDEFGH".repeat(100);
    let question = b"\0\0\x08\x06\0\0\0\0\0IJKLMNOP";
    let sent = [&preface[..], &answers, question].concat();
    client.write_all(&sent).expect("it reads");
    let mut said = Vec::<u8>::new();
    let mut piece = [0; 256];
    while !said.windows(8).any(|word| word == b"IJKLMNOP") {
        let count = client.read(&mut piece).expect("it answers the PING");
        assert!(count > 0, "it stays");
        said.extend(&piece[..count]);
    }
    assert!(!larder.output().contains("h2"), "{}", larder.output());
}

/// Starts with standard error, or standard output, going to this path.
fn start_into(descriptor: u8, path: &str, origin: &Origin) -> Larder {
    let binary = env!("CARGO_BIN_EXE_larder");
    let script = format!("exec \"$@\" {descriptor}>{path}");
    testkit::Command::new("sh")
        .args(["-c", &script, "sh", binary, "serve"])
        .config(&config(origin, "1s", "\"127.0.0.1:0\""))
        .start()
}

fn serves_and_stops(mut larder: Larder, origin: &Origin) {
    assert_eq!(larder.get("/").send().status, 502, "which is logged");
    larder.rewrite_config("nonsense");
    larder.reload();
    larder.rewrite_config(&config(origin, "2s", "\"127.0.0.1:0\""));
    larder.reload();
    assert_eq!(larder.get("/").send().status, 502);
    let metrics = larder.admin_get("/metrics").send().text();
    assert!(metrics.contains("larder_panics_total 0"), "{metrics}");
    larder.terminate();
    assert_eq!(larder.wait().code, Some(0));
}

/// Whoever read the log has gone, or its disk is full: nothing of that ends the process.
#[test]
fn a_log_that_nobody_takes_ends_nothing() {
    let origin = Origin::start();
    origin.reply("/", Reply::close());
    serves_and_stops(start_into(2, "/dev/full", &origin), &origin);
}

/// Whoever is to read the log does not: no request waits for that.
#[test]
fn a_log_that_nobody_reads_stops_nothing() {
    let origin = Origin::start();
    origin.reply("/", Reply::close());
    let (_reader, mut writer) = io::pipe().expect("a pipe");
    writer
        .write_all(&vec![b'x'; 64 << 10])
        .expect("as much as fits");
    let path = format!("/proc/{}/fd/{}", std::process::id(), writer.as_raw_fd());
    serves_and_stops(start_into(2, &path, &origin), &origin);
}

fn signal(larder: &Larder, name: &str) {
    let id = larder.id().to_string();
    let sent = std::process::Command::new("kill")
        .args([name, &id])
        .status();
    assert!(sent.expect("kill runs").success());
}

/// A log is rotated at its hour, whatever goes on then.
#[test]
fn the_access_log_is_opened_again_during_a_stop() {
    let origin = Origin::start();
    let gate = Gate::new();
    origin.reply("/", Reply::ok().hold_head(&gate).body("whole"));
    let file = scratch_dir().join("access.log");
    let log = format!("[log]\naccess = {:?}\n", file.display().to_string());
    let mut larder = start(&(config(&origin, "1h", "\"127.0.0.1:0\"") + &log));
    let mut client = larder.client();
    client.get("/").begin();
    origin.wait_requests("/", 1);
    larder.terminate();
    larder.wait_output("stopping");
    fs::rename(&file, file.with_extension("1")).expect("the old one");
    signal(&larder, "-USR1");
    wait_until("it is opened again", || file.exists());
    gate.open();
    assert_eq!(client.read().text(), "whole");
    assert_eq!(larder.wait().code, Some(0));
    let lines = fs::read_to_string(&file).expect("the new one");
    assert!(lines.contains("GET / "), "{lines}");
}

/// nginx's signal for a graceful stop, and that of container images made for it.
#[test]
fn a_quit_is_a_graceful_stop() {
    let origin = Origin::start();
    let gate = Gate::new();
    origin.reply("/", Reply::ok().hold_head(&gate).body("whole"));
    let mut larder = start(&config(&origin, "1h", "\"127.0.0.1:0\""));
    let mut client = larder.client();
    client.get("/").begin();
    origin.wait_requests("/", 1);
    signal(&larder, "-QUIT");
    larder.wait_output("stopping");
    gate.open();
    assert_eq!(client.read().text(), "whole");
    assert_eq!(larder.wait().code, Some(0));
}

/// A listener that a reload would take away is in the way of the one that is to come: nobody is to look for another
/// process.
#[test]
fn a_listener_that_our_own_is_in_the_way_of_needs_a_restart() {
    let origin = Origin::start();
    origin.reply("/", Reply::ok());
    let larder = start(&config(&origin, "1s", "\"127.0.0.1:0\""));
    let Address::Tcp(address) = larder.address() else {
        panic!("it listens on TCP");
    };
    let port = address.port();
    larder.rewrite_config(&config(&origin, "1s", &format!("\"0.0.0.0:{port}\"")));
    larder.reload();
    larder.wait_output(&format!(
        "cannot listen on 0.0.0.0:{port} while 127.0.0.1:{port} is open: restart"
    ));
    assert_eq!(larder.get("/").send().status, 200);
}
