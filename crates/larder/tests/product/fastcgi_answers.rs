//! What a script says of its answer: its status, its redirects, its complaints.

use crate::{
    common::Said,
    fastcgi_bad::{all, page, root, serve, try_get},
};
use testkit::{
    Command, FastCgi, Gate,
    fastcgi::{Next, end, kind, output, record},
    wait_until,
};

#[test]
fn an_answer_without_content_has_none_whatever_a_script_writes() {
    let server = FastCgi::start(|call, line| {
        let status = call.params["REQUEST_URI"].trim_start_matches('/');
        let head = "Cache-Control: no-store\r\nContent-Length: 7";
        line.send(output(format!(
            "Status: {status} X\r\n{head}\r\n\r\ncontent"
        )));
        Next::Keep
    });
    let larder = serve(&server, "idle_connections = 2\n[defaults]\ncache = false");
    let mut client = larder.client();
    for (method, target, status) in [
        ("HEAD", "/200", 200),
        ("GET", "/204", 204),
        ("GET", "/304", 304),
        ("GET", "/200", 200),
    ] {
        let answer = client.ask(method, target).send();
        assert_eq!(answer.status, status);
        let content = if (method, status) == ("GET", 200) {
            "content"
        } else {
            ""
        };
        assert!(
            answer.complete && answer.text() == content,
            "{target}: {answer:?}"
        );
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn redirects_within_the_site_are_followed_here_and_others_by_the_client() {
    let server = FastCgi::start(|call, line| {
        let text = match call.params["REQUEST_URI"].as_str() {
            "/local" => "Location: /target?b=1\r\n\r\n".to_owned(),
            "/target?b=1" => format!(
                "Cache-Control: max-age=60\r\n\r\n{} {} {}",
                call.params["REQUEST_METHOD"],
                call.params["CONTENT_LENGTH"],
                call.params["QUERY_STRING"]
            ),
            "/loop" => "Location: /loop\r\n\r\n".to_owned(),
            "/absolute" => "Location: http://else.example/x\r\n\r\n".to_owned(),
            "/with-cookie" => "Location: /x\r\nSet-Cookie: a=b\r\n\r\n".to_owned(),
            "/with-status" => "Status: 303 See Other\r\nLocation: /x\r\n\r\n".to_owned(),
            "/slashes" => "Location: //else.example/x\r\n\r\n".to_owned(),
            other => panic!("{other}"),
        };
        line.send(output(text));
        Next::Keep
    });
    let larder = serve(&server, "retry.attempts = 0");
    assert_eq!(larder.get("/local").send().text(), "GET  b=1");
    assert!(larder.get("/local").send().hit());
    let posted = larder.ask("POST", "/local").body("abc").send();
    assert_eq!(posted.text(), "GET  b=1");
    for (target, status, location) in [
        ("/loop", 502, None),
        ("/absolute", 302, Some("http://else.example/x")),
        ("/with-cookie", 302, Some("/x")),
        ("/with-status", 303, Some("/x")),
        ("/slashes", 302, Some("//else.example/x")),
    ] {
        let answer = larder.get(target).send();
        assert_eq!(
            (answer.status, answer.header("location")),
            (status, location),
            "{target}"
        );
    }
}

#[test]
fn what_a_visitor_has_logged_breaks_nothing() {
    let server = FastCgi::start(|_, line| {
        line.send(all(&[
            page("well"),
            record(kind::ERR, "PHP message: searched for: PHP Fatal error:  x"),
            end(),
        ]));
        Next::Keep
    });
    let larder = serve(&server, "");
    let answer = larder.get("/").send();
    assert!(answer.complete && answer.text() == "well", "{answer:?}");
    assert!(larder.get("/").send().hit());
}

/// All that are asked complain at the same moment. Where the machine is too busy to bring more of that in a second than
/// are logged, they are asked once more.
#[test]
fn of_many_complaints_some_are_logged_and_the_rest_counted() {
    const AT_ONCE: usize = 100;
    let server = FastCgi::with_output("");
    let larder = serve(&server, "");
    let mut asked = 0;
    wait_until("more came than are logged", || {
        let gate = Gate::new();
        let held = gate.clone();
        server.answer(move |_, line| {
            held.pass();
            line.send(record(kind::ERR, "it rains"));
            line.send(output("Cache-Control: no-store\r\n\r\nwell"));
            Next::Close
        });
        let ask = |number| larder.get(&format!("/{number}")).begin();
        let clients: Vec<_> = (asked..asked + AT_ONCE).map(ask).collect();
        gate.wait_reached_by(AT_ONCE);
        gate.open();
        for mut client in clients {
            assert_eq!(client.read().text(), "well");
        }
        asked += AT_ONCE;
        counted(&larder.output()) > 0
    });
    wait_until("each was logged or counted", || {
        let log = larder.output();
        let written = log.matches("a script complained").count();
        written > 0 && written + counted(&log) == asked
    });
}

/// How many more than are logged there were, by this log.
fn counted(log: &str) -> usize {
    let lines = log.lines();
    let lines = lines.filter(|line| line.contains("scripts reported more errors than are logged"));
    let fields = lines.flat_map(str::split_whitespace);
    let counts = fields.filter_map(|field| field.strip_prefix("requests=")?.parse::<usize>().ok());
    counts.sum()
}

#[test]
fn a_script_that_breaks_off_sends_no_server_to_rest() {
    let well = FastCgi::with_output("Cache-Control: no-store\r\n\r\nwell");
    for early in [false, true] {
        let server = FastCgi::start(move |call, line| {
            let broken = record(kind::ERR, "PHP message: PHP Fatal error:  x");
            match (call.params["REQUEST_URI"].as_str(), early) {
                ("/well", _) => line.send(output("Cache-Control: no-store\r\n\r\nwell")),
                (_, false) => line.send(all(&[page("half"), broken, end()])),
                (_, true) => line.send(all(&[broken, page("half"), end()])),
            }
            Next::Close
        });
        let config = format!(
            "[[origin]]\nfastcgi = [{:?}, {:?}]\nroot = {:?}\nretry.attempts = 0\npassive = {{ failures = 1, rest = \"10m\" }}\n",
            server.url(),
            well.url(),
            root().display().to_string()
        );
        let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
            .config(&config)
            .start();
        for number in 0..4 {
            try_get(&larder, &format!("/{number}"));
        }
        let before = server.requests();
        assert!(before > 0, "it broke off");
        for _ in 0..4 {
            assert_eq!(larder.get("/well").send().text(), "well");
        }
        assert!(server.requests() > before, "it is asked again");
    }
}
