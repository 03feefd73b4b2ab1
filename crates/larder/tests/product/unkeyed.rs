//! What is no part of the key is told to no origin: nobody can write it into what is kept for all.

use crate::common::{Said, command, start_with};
use std::{ffi::OsStr, fs};
use testkit::{Reply, Request, scratch_dir};

/// What the origin gets that names the host or the scheme of whoever asks.
fn betrayed(request: &Request, words: &[&str]) -> Vec<String> {
    let fields = request.head.fields.iter();
    let told = fields.filter(|(_, value)| words.iter().any(|word| value.contains(word)));
    told.map(|(name, value)| format!("{name}: {value}"))
        .collect()
}

#[test]
fn where_hosts_share_a_page_none_of_them_is_written_into_it() {
    for trusted in ["10.0.0.0/8", "127.0.0.0/8"] {
        let (origin, larder) = start_with(&format!(
            "trusted = {trusted:?}\n[[origin]]\nservers = \"{{origin}}\"\n\
             [defaults]\norigin_host = \"shop.test\"\nkey = {{ host = false }}\n"
        ));
        origin.otherwise(|request| {
            let told = betrayed(request, &["evil"]);
            Reply::ok().cache("max-age=60").body(told.join("\n"))
        });
        let fields = [
            ("Host", "evil.test"),
            ("X-Forwarded-Host", "evil.test"),
            ("X-Forwarded-Server", "evil.test"),
            ("X-Original-Host", "evil.test"),
            (
                "Forwarded",
                "for=192.0.2.1;host=\"evil.test\";proto=http, for=10.0.0.1;Host=evil.test;proto=http",
            ),
        ];
        let ask = fields.iter().fold(larder.get("/p"), |ask, (name, value)| {
            ask.header(name, value)
        });
        assert_eq!(ask.send().text(), "", "trusted: {trusted}");
        let other = larder.get("/p").header("Host", "good.test").send();
        assert!(other.hit() && other.text().is_empty(), "{}", other.text());
        let asked = origin.last("/p");
        assert_eq!(asked.headers("host"), ["shop.test"]);
        assert_eq!(asked.headers("x-forwarded-host"), ["shop.test"]);
        let own = "for=127.0.0.1;host=\"shop.test\";proto=http";
        let expected = match trusted {
            "10.0.0.0/8" => own.to_owned(),
            _ => format!("for=192.0.2.1;proto=http, for=10.0.0.1;proto=http, {own}"),
        };
        assert_eq!(asked.headers("forwarded"), [expected]);
    }
}

/// Two requests of one connection, on routes that key different things: what was made for one is not sent with the other.
#[test]
fn what_is_told_of_a_connection_is_told_as_its_route_has_it() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n\
         [[route]]\npath = \"/apart\"\n\
         [[route]]\npath = \"/hosts\"\norigin_host = \"shop.test\"\nkey = { host = false }\n\
         [[route]]\npath = \"/schemes\"\nkey = { scheme = false }\n",
    );
    origin.otherwise(|_| Reply::ok().cache("no-store"));
    let mut client = larder.client();
    for _ in 0..2 {
        for (path, element) in [
            ("/apart", "for=127.0.0.1;host=\"own.test\";proto=http"),
            ("/hosts", "for=127.0.0.1;host=\"shop.test\";proto=http"),
            ("/schemes", "for=127.0.0.1;host=\"own.test\""),
        ] {
            client.get(path).header("Host", "own.test").send();
            assert_eq!(origin.last(path).headers("forwarded"), [element], "{path}");
        }
    }
}

#[test]
fn where_schemes_share_a_page_neither_is_written_into_it() {
    for (more, expected) in [
        ("", None),
        (
            "request_headers.set = \"X-Forwarded-Proto: https\"",
            Some("https"),
        ),
    ] {
        let (origin, larder) = start_with(&format!(
            "trusted = \"127.0.0.0/8\"\n[[origin]]\nservers = \"{{origin}}\"\n\
             [defaults]\nkey = {{ scheme = false }}\n{more}\n"
        ));
        origin.otherwise(|request| {
            let told = betrayed(request, &["https", "on", "443"]);
            let told = told
                .into_iter()
                .filter(|line| !line.starts_with("x-forwarded-proto"));
            Reply::ok()
                .cache("max-age=60")
                .body(told.collect::<Vec<_>>().join("\n"))
        });
        let page = larder
            .get("/p")
            .header("X-Forwarded-Proto", "https")
            .header("X-Forwarded-Ssl", "on")
            .header("X-Forwarded-Port", "443")
            .header("Front-End-Https", "on")
            .header("Forwarded", "for=192.0.2.1;host=example.test;proto=https")
            .send();
        assert_eq!(page.text(), "", "{more}");
        assert!(
            larder
                .get("/p")
                .header("X-Forwarded-Proto", "http")
                .send()
                .hit()
        );
        let asked = origin.last("/p");
        assert_eq!(asked.header("x-forwarded-proto"), expected);
        let forwarded = "for=192.0.2.1;host=example.test, for=127.0.0.1;host=\"example.test\"";
        assert_eq!(asked.headers("forwarded"), [forwarded]);
    }
}

/// The application would have to be asked for whatever host comes first.
#[test]
fn hosts_that_are_kept_together_want_one_that_the_application_is_asked_for() {
    let origin = "[[origin]]\nservers = \"http://127.0.0.1:1\"\n";
    for (written, good) in [
        ("[defaults]\nkey = { host = false }\n", false),
        ("[[route]]\npath = \"/a\"\nkey = { host = false }\n", false),
        (
            "[defaults]\norigin_host = \"a.test\"\n[[route]]\npath = \"/a\"\nkey = { host = false }\n",
            true,
        ),
        (
            "[defaults]\norigin_host = \"a.test\"\nkey = { host = false }\n",
            true,
        ),
        (
            "[defaults]\nkey = { host = false }\n[[route]]\norigin_host = \"a.test\"\n",
            true,
        ),
    ] {
        let config = format!("listen = \"127.0.0.1:0\"\nadmin = \"off\"\n{origin}{written}");
        let file = scratch_dir().join("larder.toml");
        fs::write(&file, &config).expect("a file");
        let checked = command()
            .args([OsStr::new("check"), file.as_os_str()])
            .run();
        assert_eq!(
            checked.code == Some(0),
            good,
            "{written}: {}",
            checked.stderr
        );
        let told = |text: &str| text.contains("origin_host = \"app.example\"");
        assert_eq!(told(&checked.stderr), !good, "{}", checked.stderr);
        if !good {
            let served = command().args(["serve"]).config(&config).run();
            assert!(
                served.code != Some(0) && told(&served.stderr),
                "{}",
                served.stderr
            );
        }
    }
}
