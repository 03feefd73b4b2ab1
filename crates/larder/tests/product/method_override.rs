//! Requests that are meant with another method than they have: what the application learns of that, and that nobody
//! poisons the store with it.

use crate::common::{Said, counted, start, start_with};
use testkit::{Larder, Origin, Reply, Request, Response, wait_until};

const FIELDS: [&str; 3] = [
    "X-HTTP-Method-Override",
    "X-HTTP-Method",
    "X-Method-Override",
];

/// What the application takes for the method, as WordPress does.
fn meant(request: &Request) -> String {
    let said = FIELDS.iter().find_map(|name| request.header(name));
    said.map_or_else(|| request.method.clone(), str::to_ascii_uppercase)
}

/// A larder before an application that does what is meant and says so. What it says may be kept.
fn obedient(config: &str) -> (Origin, Larder) {
    let (origin, larder) = start_with(&format!("{config}\n[[origin]]\nservers = \"{{origin}}\"\n"));
    origin.otherwise(|request| {
        let reply = Reply::ok().cache("max-age=60");
        reply
            .header("Content-Location", &request.target)
            .body(meant(request))
    });
    (origin, larder)
}

fn ask(larder: &Larder, method: &str, target: &str, fields: &[(&str, &str)]) -> Response {
    let ask = larder.ask(method, target);
    let fields = fields.iter();
    let ask = fields.fold(ask, |ask, (name, value)| ask.header(name, value));
    ask.send()
}

#[test]
fn what_is_meant_by_an_unsafe_method_is_told() {
    let (origin, larder) = start();
    origin.otherwise(counted);
    for (method, told) in [
        ("POST", true),
        ("PUT", true),
        ("PATCH", true),
        ("DELETE", true),
        ("FOO", true),
        ("GET", false),
        ("HEAD", false),
        ("OPTIONS", false),
        ("PROPFIND", false),
        ("QUERY", false),
    ] {
        for name in FIELDS {
            for meant in ["DELETE", "GET", "patch", "FOO"] {
                let target = format!("/{method}/{name}/{meant}");
                ask(&larder, method, &target, &[(name, meant)]);
                let asked = origin.last(&target);
                let expected: &[&str] = if told { &[meant] } else { &[] };
                assert_eq!(asked.headers(name), expected, "{method} {name}");
            }
        }
    }
    for other in [
        "X-Original-URL",
        "X-HTTP-Path-Override",
        "X-HTTP-Host-Override",
        "X-Original-Method",
        "X-Forwarded-Method",
        "X_HTTP_Method_Override",
    ] {
        ask(&larder, "POST", "/other", &[(other, "DELETE")]);
        let asked = origin.last("/other");
        assert!(asked.header(other).is_none(), "{other}");
    }
}

/// `wp.apiFetch`, with which the block editor deletes, writes every method but `GET` and `POST` so.
#[test]
fn the_block_editor_deletes() {
    let (origin, larder) =
        start_with("[[origin]]\nservers = \"{origin}\"\n[defaults]\npreset = \"wordpress\"\n");
    origin.otherwise(|request| Reply::ok().body(meant(request)));
    let post = "/wp-json/wp/v2/posts/5?_locale=user";
    let logged_in = "wordpress_logged_in_a=b";
    let answer = ask(
        &larder,
        "POST",
        post,
        &[
            ("Accept", "application/json, */*;q=0.1"),
            ("X-WP-Nonce", "0123456789"),
            ("X-HTTP-Method-Override", "DELETE"),
            ("Origin", "http://example.test"),
            ("Cookie", logged_in),
        ],
    );
    assert_eq!(answer.text(), "DELETE");
}

/// What was stored is out of date, whatever the method is taken for.
#[test]
fn it_invalidates_as_any_unsafe_request_does() {
    for meant in ["DELETE", "PUT", "GET", "HEAD"] {
        let (origin, larder) = start();
        origin.on("/", |request| counted(request).cache("max-age=60"));
        assert_eq!(larder.get("/").send().text(), "1");
        assert!(larder.get("/").send().hit());
        ask(&larder, "POST", "/", &[(FIELDS[0], meant)]);
        assert_eq!(larder.get("/").send().text(), "3", "{meant}");
    }
}

/// RFC 9110 section 9.3.3: the answer to a POST may be stored for later GETs. But whether this one is the answer to a
/// POST, only the application knows.
#[test]
fn its_answer_is_not_the_stored_page() {
    for config in [
        "",
        "trusted = \"127.0.0.0/8\"",
        "defaults.pass_fields = \"X-HTTP-Method-Override\"",
        "defaults.key.headers = [\"X-HTTP-Method-Override\"]",
    ] {
        let (origin, larder) = obedient(config);
        for meant in ["GET", "HEAD", "DELETE", "FOO", "POST"] {
            let target = format!("/{meant}");
            let poison = ask(&larder, "POST", &target, &[(FIELDS[0], meant)]);
            assert_eq!(poison.status, 200);
            assert_eq!(poison.text(), meant, "{config}");
            assert!(!poison.says("stored"), "{config}: {}", poison.said());
            let page = larder.get(&target).send();
            assert!(!page.hit(), "{config} {meant}: {}", page.said());
            assert_eq!(page.text(), "GET", "{config} {meant}");
            assert_eq!(origin.requests(&target), 2, "{config} {meant}");
        }
    }
}

/// One that means nothing else is stored as before.
#[test]
fn the_answer_to_a_plain_post_still_is() {
    let (_origin, larder) = obedient("");
    let answer = ask(&larder, "POST", "/", &[]);
    assert!(answer.says("stored"), "{}", answer.said());
    wait_until("it is the stored page", || {
        larder.get("/").send().text() == "POST"
    });
}

/// Its content is keyed and not its fields, and all who ask the same are sent one answer.
#[test]
fn graphql_is_not_told() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[[route]]\npath = \"/graphql\"\nttl = \"10m\"\ngraphql = {}\n",
    );
    origin.on("/graphql", |request| Reply::ok().body(meant(request)));
    for name in FIELDS {
        for content in [r#"{"query":"{ a }"}"#, r#"{"query":"mutation { a }"}"#] {
            let post = larder.ask("POST", "/graphql").header(name, "DELETE");
            let post = post.header("Content-Type", "application/json");
            assert_eq!(post.body(content).send().text(), "POST", "{content}");
        }
    }
}

/// What a route withholds is not had by the method of another.
#[test]
fn it_leads_round_no_route() {
    let (origin, larder) = obedient(
        "[[route]]\npath = \"/office/*\"\nmethod = \"DELETE\"\nrefuse = \"403\"\n\
         [[route]]\npath = \"/reading\"\nmethod = \"GET\"\n",
    );
    for (target, meant, told) in [
        ("/office/1", "DELETE", false),
        ("/office/1", "delete", false),
        ("/office/1", " DELETE\t", false),
        // As some applications read it.
        ("//office/1", "DELETE", false),
        ("/a/../office/1", "DELETE", false),
        ("/office/1", "PUT", true),
        ("/elsewhere", "DELETE", true),
        ("/reading", "GET", false),
        ("/reading", "HEAD", false),
        ("/reading", "DELETE", true),
        // Nobody knows which of several counts.
        ("/elsewhere", "PUT, DELETE", false),
        ("/elsewhere", "", false),
        ("/elsewhere", "DE LETE", false),
        // These methods never reach an application.
        ("/elsewhere", "PURGE", false),
        ("/elsewhere", "purge", false),
        ("/elsewhere", "BAN", false),
        ("/elsewhere", "REFRESH", false),
        ("/elsewhere", "CONNECT", false),
    ] {
        for name in FIELDS {
            let answer = ask(&larder, "POST", target, &[(name, meant)]);
            assert_eq!(answer.status, 200, "{target} {meant}");
            let all = origin.all();
            let asked = all.last().expect("it was asked");
            assert_eq!(asked.header(name).is_some(), told, "{target} {meant}");
        }
    }
    for fields in [
        [(FIELDS[0], "PUT"), (FIELDS[0], "DELETE")],
        [(FIELDS[0], "PUT"), (FIELDS[1], "PURGE")],
    ] {
        assert_eq!(ask(&larder, "POST", "/elsewhere", &fields).text(), "POST");
    }
    let both = [(FIELDS[0], "PUT"), (FIELDS[1], "DELETE")];
    assert_eq!(ask(&larder, "POST", "/elsewhere", &both).text(), "PUT");
    assert_eq!(ask(&larder, "POST", "/office/1", &both).text(), "POST");
}

/// RFC 9110 section 9.2.2: what is not idempotent must not be repeated, and the application may take it for anything.
#[test]
fn it_is_not_sent_twice() {
    for (fields, sent) in [(&[][..], 2), (&[(FIELDS[0], "POST")], 1)] {
        let (origin, larder) = start();
        origin.reply("/", Reply::close());
        assert_eq!(ask(&larder, "DELETE", "/", fields).status, 502);
        assert_eq!(origin.requests("/"), sent, "{fields:?}");
    }
}
