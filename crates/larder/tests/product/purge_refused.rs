//! What is no purge, or comes from who must not purge: a clear answer, and nothing is purged in half.

use crate::{
    common::command,
    purge::{HOSTS, PAGES, kept, post, run, site},
};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
};
use testkit::{Client, Reply, free_port};

#[test]
fn a_command_that_cannot_be_obeyed_says_why() {
    let (_origin, larder) = site("max-age=600");
    for (arguments, code, told) in [
        (&["--regex", "("][..], 2, "not a regular expression"),
        (&["--regex", ""], 2, "matches everything: write --all"),
        (&["--prefix", ""], 2, "write --all for everything"),
        (&["--prefix", "*"], 2, "write --all for everything"),
        (&["*"], 2, "write --all"),
        (&["--host", ""], 2, "is not a host"),
        (&["--regex", "^/c"], 2, "'^https?://[^/]*/c'"),
        (&["ftp://a.test/"], 2, "write it whole"),
        (&["http://a b/"], 2, "write it whole"),
        (&["--host", "http://a.test"], 2, "is not a host"),
        (&["--tag", ""], 2, "is not a tag"),
        (&["--all", "--wait=1h"], 2, "five minutes"),
        (&[], 2, "Usage"),
        (&["a.test", "--all"], 2, "cannot be used with"),
        (&["--tag", "a", "--host", "b"], 2, "cannot be used with"),
        (&["--group", "a"], 2, "--host"),
        (&["--group", "a", "--tag", "b"], 2, "cannot be used with"),
        (&["--group", "é", "--host", "b"], 2, "is not a cache group"),
        (&["--all", "--wait=3"], 2, "no unit"),
        (&["http://a.test/c*"], 2, "--prefix http://a.test/c"),
        (&["http://a.test/c.*"], 2, "--prefix http://a.test/c"),
        (&["/c"], 2, "--prefix /c"),
        (&["--prefix", "/c*"], 2, "write /c"),
        (&["--prefix", "c"], 2, "--host c"),
        (&["--host", "*"], 2, "--all"),
    ] {
        let finished = run(&larder, arguments);
        assert_eq!(
            finished.code,
            Some(code),
            "{arguments:?}: {}",
            finished.stdout
        );
        assert!(
            finished.stderr.contains(told),
            "{arguments:?}: {}",
            finished.stderr
        );
    }
    assert!(kept(&larder, "a.test", "/"), "nothing was purged");
    let address = format!("127.0.0.1:{}", free_port());
    let finished = command()
        .args(["purge", "--all", "--admin", &address])
        .run();
    assert_eq!(finished.code, Some(1));
    assert!(
        finished.stderr.contains("no running Larder"),
        "{}",
        finished.stderr
    );
}

/// It may have purged before it stopped: nobody is told that none runs.
#[test]
fn a_command_whose_connection_ends_says_that_it_may_have_purged() {
    for told in ["", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let admin = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut sent = Vec::new();
            while !sent.ends_with(b"}") {
                let mut piece = [0; 1000];
                let count = stream.read(&mut piece).expect("a request");
                sent.extend(&piece[..count]);
            }
            stream.write_all(told.as_bytes()).expect("it reads");
        });
        let purge = ["purge", "--all", "--wait", "--admin", &address];
        let finished = command().args(purge).run();
        admin.join().expect("it was asked");
        assert_eq!(finished.code, Some(1));
        let says = &finished.stderr;
        assert!(says.contains("may have, or not"), "{told:?}: {says}");
        assert!(!says.contains("no running Larder"), "{told:?}: {says}");
    }
}

#[test]
fn what_is_no_purge_is_refused_and_purges_nothing() {
    let (_origin, larder) = site("max-age=600");
    let long = format!("{{\"tag\":\"{}\"}}", "x".repeat(2 << 20));
    let pattern = json!({ "regex": "(a{1000}){1000}" }).to_string();
    for (body, status, told) in [
        ("", 400, "not a purge in JSON"),
        ("everything", 400, "not a purge in JSON"),
        ("{\"everything\":true", 400, "not a purge in JSON"),
        ("[true]", 400, "not a purge in JSON"),
        ("\u{feff}{\"everything\":true}", 400, "not a purge in JSON"),
        ("{}", 400, "nothing is named"),
        (r#"{"all":true}"#, 400, "unknown field `all`"),
        (
            r#"{"everything":true,"host":"a.test"}"#,
            400,
            "host and everything",
        ),
        (r#"{"groups":["n1"]}"#, 400, "of one host"),
        (r#"{"groups":[],"host":"a.test"}"#, 400, "nothing is named"),
        (
            r#"{"groups":["n1","é"],"host":"a.test"}"#,
            400,
            "is not a cache group",
        ),
        (r#"{"url":"a.test/"}"#, 400, "write it whole"),
        (r#"{"url":"http://a.test:x/"}"#, 400, "write it whole"),
        (r#"{"regex":"["}"#, 400, "not a regular expression"),
        (r#"{"regex":""}"#, 400, "say everything instead"),
        (pattern.as_str(), 400, "not a regular expression"),
        (r#"{"tags":["news",""]}"#, 400, "is not a tag"),
        (
            r#"{"purges":[{"everything":true},{"tags":[]}]}"#,
            400,
            "a purge names one thing",
        ),
        (long.as_str(), 413, "several requests"),
    ] {
        let answer = post(&larder, body);
        let shown: String = body.chars().take(60).collect();
        assert_eq!(answer.status, status, "{shown}: {}", answer.text());
        let error: Value = serde_json::from_slice(&answer.body).expect("JSON");
        let error = error["error"].as_str().expect("an error").to_owned();
        assert!(error.contains(told), "{shown}: {error}");
    }
    for host in HOSTS {
        for (target, _) in PAGES {
            assert!(kept(&larder, host, target), "{host}{target}");
        }
    }
}

#[test]
fn a_page_in_a_browser_cannot_purge() {
    let (_origin, larder) = site("max-age=600");
    let all = r#"{"everything":true}"#;
    for (method, fields, status) in [
        ("POST", &[("Content-Type", "text/plain")][..], 415),
        (
            "POST",
            &[("Content-Type", "application/x-www-form-urlencoded")],
            415,
        ),
        ("POST", &[], 415),
        (
            "POST",
            &[("Content-Type", "application/json"), ("Host", "evil.test")],
            403,
        ),
        (
            "OPTIONS",
            &[
                ("Origin", "http://evil.test"),
                ("Access-Control-Request-Method", "POST"),
            ],
            405,
        ),
        ("GET", &[("Content-Type", "application/json")], 405),
        ("PUT", &[("Content-Type", "application/json")], 405),
    ] {
        let mut admin = Client::connect(larder.admin());
        let named = fields.iter().any(|(name, _)| *name == "Host");
        let mut ask = admin.ask(method, "/purge");
        if !named {
            ask = ask.header("Host", "localhost");
        }
        for (name, value) in fields {
            ask = ask.header(name, value);
        }
        let answer = ask.body(all).send();
        assert_eq!(answer.status, status, "{method} {fields:?}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
        if status == 405 {
            assert_eq!(answer.header("allow"), Some("POST"), "{method}");
        }
    }
    assert!(kept(&larder, "a.test", "/"));
}

#[test]
fn a_body_that_does_not_come_purges_nothing() {
    let (_origin, larder) = site("max-age=600");
    let head = "POST /purge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 19\r\n\r\n";
    let mut admin = Client::connect(larder.admin());
    admin.send(format!("{head}{{\"everything\":tr"));
    admin.end();
    // Nobody may answer what never came whole.
    admin.read_to_end();
    assert!(kept(&larder, "a.test", "/"), "nothing is purged in half");
    let mut admin = Client::connect(larder.admin());
    admin.send(format!("{head}{{\"everything\":true}}"));
    assert_eq!(admin.read().status, 200, "another one is served");
}

#[test]
fn purges_are_not_taken_where_the_admin_api_is_off() {
    let (origin, larder) = site("max-age=600");
    origin.on("/purge", |_| Reply::status(404));
    let answer = larder
        .ask("POST", "/purge")
        .header("Content-Type", "application/json")
        .body(r#"{"everything":true}"#)
        .send();
    assert_eq!(answer.status, 404, "on a listener it is the application's");
    assert!(kept(&larder, "a.test", "/"));
}
