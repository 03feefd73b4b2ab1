//! php-fpm stopped, busy, with its children killed, and without its folder: 502, 504 or what is stale.

use crate::{
    common::{Said, reload_as},
    fastcgi::{Site, own_root},
    fastcgi_bad::try_get,
};
use socket2::{Domain, SockAddr, Socket, Type};
use std::{fs, io::ErrorKind, path::Path};
use testkit::{Command, PhpFpm, wait_until};

#[test]
fn php_fpm_stopped_and_back() {
    let mut site = Site::new();
    let larder = site.serve("", "passive.failures = 0");
    // Stale at once, and good for ten minutes where there is nothing better.
    let old = larder.get("/probe/cached.php?age=0").send();
    assert_eq!(old.status, 200);
    site.php.stop();
    assert!(!site.php.socket().exists());
    let answer = larder.get("/wp-login.php").send();
    assert_eq!(answer.status, 502);
    assert_eq!(answer.parameter("detail").as_deref(), Some("refused"));
    let stale = larder.get("/probe/cached.php?age=0").send();
    assert_eq!(
        (stale.status, stale.text()),
        (200, old.text()),
        "{}",
        stale.said()
    );
    // A socket that nobody listens on.
    drop(std::os::unix::net::UnixListener::bind(site.php.socket()).unwrap());
    assert_eq!(larder.get("/wp-login.php").send().status, 502);
    site.php.restart();
    assert_eq!(larder.get("/wp-login.php").send().status, 200);
    let fresh = larder.get("/probe/cached.php?age=0").send();
    assert_ne!(fresh.text(), old.text());
}

#[test]
fn all_children_busy() {
    let site = Site::before(PhpFpm::start(1));
    let config = site.origin("passive.failures = 0\nretry.attempts = 0");
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&config)
        .start();
    let old = larder.get("/probe/cached.php?age=0").send();
    let impatient = format!("{config}timeouts.first_byte = \"50ms\"\n");
    reload_as(&larder, &impatient, "2");
    let patient = site.serve("", "");
    let busy = patient.get("/probe/wait.php?name=busy").begin();
    site.wait_for("busy.begun");
    let answer = larder.get("/wp-login.php").send();
    assert_eq!(answer.status, 504, "{:?}", answer.head);
    let stale = larder.get("/probe/cached.php?age=0").send();
    assert_eq!(
        (stale.status, stale.text()),
        (200, old.text()),
        "{}",
        stale.said()
    );
    // Whoever may wait gets its answer when the child is free.
    let waiting = patient.get("/wp-login.php").begin();
    site.let_go("busy");
    let (mut busy, mut waiting) = (busy, waiting);
    assert_eq!(busy.read().text(), "let go");
    assert_eq!(waiting.read().status, 200);
}

/// Connects to the socket until its queue takes no more; nobody there says anything.
fn fill_queue(socket: &Path) -> Vec<Socket> {
    let address = SockAddr::unix(socket).unwrap();
    let mut waiting = Vec::new();
    loop {
        let one = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        one.set_nonblocking(true).unwrap();
        match one.connect(&address) {
            Ok(()) => waiting.push(one),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                return waiting;
            }
        }
    }
}

#[test]
fn all_children_busy_and_the_queue_full() {
    let site = Site::before(PhpFpm::with_settings(1, "listen.backlog = 1"));
    let config = site.origin("passive.failures = 0\nretry.attempts = 0");
    let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&config)
        .start();
    let old = larder.get("/probe/cached.php?age=0").send();
    let impatient = format!("{config}timeouts.connect = \"200ms\"\n");
    reload_as(&larder, &impatient, "2");
    let patient = site.serve("", "");
    let mut busy = patient.get("/probe/wait.php?name=busy").begin();
    site.wait_for("busy.begun");
    let queue = fill_queue(&site.php.socket());
    let answer = larder.get("/wp-login.php").send();
    assert_eq!(answer.status, 504, "{:?}", answer.head);
    assert_eq!(
        answer.parameter("detail").as_deref(),
        Some("connect-timeout")
    );
    let stale = larder.get("/probe/cached.php?age=0").send();
    assert_eq!((stale.status, stale.text()), (200, old.text()));
    drop(queue);
    site.let_go("busy");
    assert_eq!(busy.read().text(), "let go");
    // The child takes those who left from the queue first.
    wait_until("there was room in the queue", || {
        larder.get("/wp-login.php").send().status == 200
    });
}

#[test]
fn scripts_that_end_badly() {
    let site = Site::new();
    let once = "retry.attempts = 0\npassive.failures = 0";
    let impatient = site.serve("", &format!("{once}\ntimeouts.between_bytes = \"50ms\""));
    let larder = site.serve("", once);
    for (larder, how, after) in [
        (&larder, "fatal", 0),
        (&larder, "fatal", 100),
        (&larder, "fatal", 100_000),
        (&larder, "killed", 0),
        (&larder, "killed", 100),
        (&larder, "killed", 100_000),
        (&impatient, "hangs", 100),
        (&larder, "short", 100),
    ] {
        let target = format!("/probe/broken.php?how={how}&after={after}");
        for _ in 0..2 {
            let Some(answer) = try_get(larder, &target) else {
                continue;
            };
            assert!(!answer.hit(), "{target}");
            let refused = answer.status >= 500;
            assert!(refused || !answer.complete, "{target}: {:?}", answer.head);
        }
    }
    // Its own business, since the page is whole.
    assert!(
        larder
            .get("/probe/broken.php?how=silent&after=5")
            .send()
            .complete
    );
    assert!(
        larder
            .get("/probe/broken.php?how=silent&after=5")
            .send()
            .hit()
    );
    // The child that was killed was replaced, and the others live.
    assert_eq!(larder.get("/wp-login.php").send().status, 200);
}

#[test]
fn a_root_that_went_away() {
    let mut site = Site::new();
    own_root(&mut site);
    let larder = site.start();
    let old = larder.get("/probe/cached.php?age=0").send();
    assert_eq!(old.status, 200);
    fs::rename(&site.root, site.root.with_extension("gone")).unwrap();
    let refused = larder.get("/wp-login.php").send();
    assert_eq!(refused.status, 500);
    let root = site.root.to_string_lossy().into_owned();
    assert!(!refused.text().contains(&root), "{}", refused.text());
    larder.wait_output(&root);
    let stale = larder.get("/probe/cached.php?age=0").send();
    assert_eq!(stale.text(), old.text(), "{}", stale.said());
}
