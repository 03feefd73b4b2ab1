//! Connections to FastCGI servers: used again, given up, broken off by either side, and what is sent again.

use crate::{
    fastcgi::Site,
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
