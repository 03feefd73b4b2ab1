//! Connections to FastCGI servers: used again, given up, broken off by either side, and what is sent again.

use crate::{
    fastcgi::{Site, own_root},
    fastcgi_bad::{all, page, root, serve},
};
use testkit::{
    Command, FastCgi, Gate, PhpFpm,
    fastcgi::{Next, end, output},
};

#[test]
fn a_connection_is_used_again_only_where_all_is_well() {
    let server = FastCgi::with_output("Cache-Control: no-store\r\n\r\nwell");
    let larder = serve(&server, "idle_connections = 2");
    let mut client = larder.client();
    for _ in 0..5 {
        assert_eq!(client.get("/").send().text(), "well");
    }
    assert_eq!(server.connections(), 1);
    // More after the end is nobody's answer.
    server.answer(|_, line| {
        line.send(all(&[
            output("Cache-Control: no-store\r\n\r\nwell"),
            page("of nobody"),
            end(),
        ]));
        Next::Keep
    });
    for _ in 0..3 {
        assert_eq!(client.get("/").send().text(), "well");
    }
    assert_eq!(server.connections(), 3, "the first one served once more");
}

/// Which process answers, and the sockets it holds: the one it listens on, and this connection.
const WHO: &str = "<?php
header('Cache-Control: no-store');
echo getmypid();
foreach (glob('/proc/self/fd/*') as $file) {
    $socket = @readlink($file);
    if (str_starts_with((string) $socket, 'socket:')) { echo ' ', $socket; }
}
";

/// The real php-fpm sees one connection, where it may be kept, and a new one for each request, where not.
#[test]
fn php_fpm_is_asked_on_the_same_connection_again() {
    for php in [PhpFpm::start(3), PhpFpm::on_tcp(3)] {
        let mut site = Site::before(php);
        own_root(&mut site);
        std::fs::write(site.root.join("who.php"), WHO).unwrap();
        for (settings, kept) in [("idle_connections = 1", true), ("", false)] {
            let larder = site.serve("", settings);
            let mut client = larder.client();
            let mut who = |method| {
                let answer = client.ask(method, "/who.php").send();
                assert_eq!(answer.status, 200, "{:?}", answer.head);
                answer.text()
            };
            let first = who("GET");
            assert!(first.matches("socket:").count() > 1, "{first}");
            for turn in 0..20 {
                let again = who(["GET", "POST"][turn % 2]);
                assert_eq!(again == first, kept, "{settings} {turn}: {again}");
            }
        }
    }
}

/// A process that ends after so many requests takes its connection along; nobody notices.
#[test]
fn a_process_of_php_fpm_that_ends_costs_nothing() {
    let mut site = Site::before(PhpFpm::with_settings(1, "pm.max_requests = 3"));
    own_root(&mut site);
    std::fs::write(site.root.join("who.php"), WHO).unwrap();
    let larder = site.serve("", "idle_connections = 1\nretry.attempts = 0");
    let mut client = larder.client();
    let mut seen = Vec::new();
    for turn in 0..12 {
        let answer = client.get("/who.php").send();
        assert_eq!(answer.status, 200, "{turn}: {:?}", answer.head);
        seen.push(answer.text());
    }
    assert!(seen.windows(2).any(|two| two[0] == two[1]), "{seen:?}");
    seen.dedup();
    assert!(seen.len() > 2, "{seen:?}");
}

#[test]
fn a_connection_that_was_closing_costs_nothing() {
    let server = FastCgi::start(|_, line| {
        line.send(output("Cache-Control: no-store\r\n\r\nwell"));
        Next::Close
    });
    let larder = serve(&server, "idle_connections = 2\nretry.attempts = 0");
    let mut client = larder.client();
    for _ in 0..20 {
        assert_eq!(client.get("/").send().text(), "well");
        let posted = client.ask("POST", "/").body("x").send();
        assert_eq!(posted.text(), "well");
    }
}

#[test]
fn who_answers_before_it_has_read_is_heard() {
    let site = Site::before(PhpFpm::with_settings(
        2,
        "php_admin_value[post_max_size] = 1K",
    ));
    let larder = site.start();
    let answer = larder
        .ask("POST", "/probe/env.php")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(vec![b'a'; 2_000_000])
        .send();
    assert_eq!(answer.status, 200, "{:?}", answer.head);
}

#[test]
fn what_was_sent_is_sent_again_only_where_that_is_safe() {
    let well = FastCgi::with_output("Cache-Control: no-store\r\n\r\nwell");
    let bad = FastCgi::start(|_, _| Next::Close);
    let larder = |first: &str| {
        let config = format!(
            "[[origin]]\nfastcgi = [{first:?}, {:?}]\nroot = {:?}\npassive.failures = 0\nretry.percent = 100\n",
            well.url(),
            root().display().to_string()
        );
        Command::serve(env!("CARGO_BIN_EXE_larder"))
            .config(&config)
            .start()
    };
    // One that hangs up: what changes nothing goes to the other.
    let hanging = larder(&bad.url());
    for _ in 0..4 {
        assert_eq!(hanging.get("/").send().text(), "well");
    }
    let (before, mut refused) = (bad.requests() + well.requests(), 0);
    for _ in 0..4 {
        let posted = hanging.ask("POST", "/").body("x").send();
        refused += usize::from(posted.status == 502);
    }
    assert_eq!(bad.requests() + well.requests(), before + 4, "each once");
    assert!(refused > 0, "one of the two was the bad one");
    // One that is not there: nothing was sent, and all may go to the other.
    let gone = larder("unix:/nonexistent/php-fpm.sock");
    for _ in 0..4 {
        assert_eq!(gone.ask("POST", "/").body("x").send().text(), "well");
    }
}

#[test]
fn a_request_that_nobody_waits_for_is_aborted() {
    let (begun, aborted) = (Gate::new(), Gate::new());
    let (reached, seen) = (begun.clone(), aborted.clone());
    let server = FastCgi::start(move |_, line| {
        const ABORT: u8 = 2;
        reached.pass();
        assert_eq!(line.read().map(|(kind, _)| kind), Some(ABORT));
        assert!(line.read().is_none(), "and the connection is closed");
        seen.pass();
        Next::Close
    });
    let larder = serve(&server, "");
    let client = larder.ask("POST", "/").body("x").begin();
    begun.wait_reached();
    begun.open();
    drop(client);
    aborted.wait_reached();
    aborted.open();
}
