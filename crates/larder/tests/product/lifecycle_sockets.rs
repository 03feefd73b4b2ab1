//! The names of Unix sockets: who makes one removes it, and nobody else's.

use crate::common::command;
use std::{
    net::TcpListener,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
};
use testkit::{Client, Gate, Larder, Origin, Reply, free_port, scratch_dir, wait_until};

/// `larder serve` before `origin` with a Unix socket at `path`, and what more is written.
fn config(origin: &Origin, path: &Path, more: &str) -> String {
    format!(
        "admin = \"off\"\n[[origin]]\nservers = {:?}\n[[listen]]\naddress = \"unix:{}\"\n{more}",
        origin.url(),
        path.display()
    )
}

/// A listener's table for a port that somebody else has.
fn taken() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, format!("[[listen]]\naddress = \"{address}\"\n"))
}

fn start(origin: &Origin, path: &Path, more: &str) -> Larder {
    let config = config(origin, path, more);
    command().args(["serve"]).config(&config).start()
}

fn name() -> PathBuf {
    scratch_dir().join("larder.sock")
}

#[test]
fn a_process_that_drains_leaves_its_successor_the_name() {
    let origin = Origin::start();
    let gate = Gate::new();
    origin.reply("/slow", Reply::ok().hold_head(&gate).body("slow"));
    origin.reply("/", Reply::ok().body("x"));
    let path = name();
    let mut old = start(&origin, &path, "");
    let mut slow = Client::connect(path.as_path());
    slow.get("/slow").begin();
    gate.wait_reached();
    old.terminate();
    wait_until("it has closed", || UnixStream::connect(&path).is_err());
    let _new = start(&origin, &path, "");
    gate.open();
    assert_eq!(slow.read().text(), "slow");
    assert_eq!(old.wait().code, Some(0));
    assert_eq!(Client::connect(path.as_path()).get("/").send().text(), "x");
}

#[test]
fn a_name_that_somebody_else_has_taken_since_stays() {
    let origin = Origin::start();
    let path = name();
    let larder = start(&origin, &path, "");
    std::fs::remove_file(&path).expect("the name");
    let _other = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
    larder.stop();
    UnixStream::connect(&path).expect("the other's");
}

#[test]
fn a_listener_that_a_reload_removed_leaves_no_name() {
    let origin = Origin::start();
    let (old, new) = (name(), name());
    let larder = start(&origin, &old, "");
    larder.rewrite_config(&config(&origin, &new, ""));
    larder.reload();
    wait_until("the name is gone", || !old.exists());
    assert!(new.exists());
}

#[test]
fn what_could_not_start_leaves_no_name() {
    let origin = Origin::start();
    let path = name();
    let (_held, more) = taken();
    let config = config(&origin, &path, &more);
    let finished = command().args(["serve"]).config(&config).run();
    assert!(finished.stderr.contains("in use"), "{}", finished.stderr);
    assert!(!path.exists());
}

/// As of a listener, and with what gives it another.
#[test]
fn an_admin_address_in_use_is_told() {
    let held = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = held.local_addr().expect("an address").to_string();
    let finished = command()
        .args([
            "serve",
            "http://127.0.0.1:1",
            "--listen",
            "127.0.0.1:0",
            "--admin",
            &address,
        ])
        .run();
    let told = format!("cannot listen on {address}: the address is in use by another process");
    assert!(finished.stderr.contains(&told), "{}", finished.stderr);
    assert!(finished.stderr.contains("--admin"), "{}", finished.stderr);
}

/// Nobody is to look for another process.
#[test]
fn own_addresses_that_overlap_are_told() {
    let origin = Origin::start();
    let port = free_port();
    let (wide, narrow) = (format!("0.0.0.0:{port}"), format!("127.0.0.1:{port}"));
    let any = "127.0.0.1:0";
    for (flags, told) in [
        (
            ["--listen", &wide, "--listen", &narrow, "--admin", any],
            format!("{narrow} and {wide}:"),
        ),
        (
            ["--listen", &narrow, "--listen", &wide, "--admin", any],
            format!("{wide} and {narrow}:"),
        ),
        (
            ["--listen", &wide, "--listen", any, "--admin", &narrow],
            format!("{narrow} (the admin API) and {wide}:"),
        ),
    ] {
        let finished = command().args(["serve", &origin.url()]).args(flags).run();
        assert_eq!(finished.code, Some(1), "{}", finished.stderr);
        let told = format!("larder: cannot listen on both {told} one includes the other");
        assert!(finished.stderr.contains(&told), "{}", finished.stderr);
        assert!(!finished.stderr.contains("process"), "{}", finished.stderr);
    }
    let path = name();
    let larder = start(&origin, &path, "");
    let [wide, narrow] = [wide, narrow].map(|at| format!("[[listen]]\naddress = \"{at}\"\n"));
    larder.rewrite_config(&config(&origin, &path, &(wide + &narrow)));
    larder.reload();
    larder.wait_output("configuration not applied: cannot listen on both");
}

#[test]
fn what_a_reload_could_not_open_leaves_no_name() {
    let origin = Origin::start();
    let (old, new) = (name(), name());
    let (_held, more) = taken();
    let larder = start(&origin, &old, "");
    larder.rewrite_config(&config(&origin, &new, &more));
    larder.reload();
    larder.wait_output("configuration not applied");
    assert!(old.exists() && !new.exists());
}
