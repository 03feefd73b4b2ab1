//! What belongs to one connection stays there; what every hop adds (RFC 9110 sections 6.6, 7.6 and 15.2; RFC 9111
//! section 3.1).

use crate::common::{Said, counted, start, start_with};
use std::{
    io::{BufRead, Read, Write},
    net::TcpListener,
    thread,
};
use testkit::{Gate, Reply, date};

#[test]
fn fields_of_the_clients_connection_are_not_forwarded() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().cache("no-store").body("x"));
    let mut client = larder.client();
    client
        .get("/")
        .header("Connection", "keep-alive, X-Private, x-other")
        .header("X-Private", "1")
        .header("X-Other", "1")
        .header("Keep-Alive", "timeout=5")
        .header("Proxy-Connection", "keep-alive")
        .header("Proxy-Authorization", "Basic YTpi")
        .header("TE", "trailers")
        .header("Upgrade", "h2c")
        .header("HTTP2-Settings", "AAMAAABkAAQAoAAAAAIAAAAA")
        .header("X-End-To-End", "1")
        .send();
    let asked = origin.last("/");
    for name in [
        "x-private",
        "x-other",
        "keep-alive",
        "proxy-connection",
        "upgrade",
    ] {
        assert_eq!(
            asked.header(name),
            None,
            "9110 section 7.6.1: MUST be removed: {name}"
        );
    }
    assert_eq!(asked.header("x-end-to-end"), Some("1"));
    assert!(
        !asked
            .headers("connection")
            .iter()
            .any(|value| value.to_ascii_lowercase().contains("x-private"))
    );
}

#[test]
fn fields_of_the_origins_connection_are_neither_forwarded_nor_stored() {
    let (origin, larder) = start();
    let reply = Reply::ok()
        .cache("max-age=60")
        .header("Connection", "X-Private, keep-alive")
        .header("X-Private", "1");
    let reply = reply
        .header("Keep-Alive", "timeout=5")
        .header("Proxy-Connection", "keep-alive");
    let reply = reply
        .header("Proxy-Authentication-Info", "a=b")
        .header("X-End-To-End", "1");
    origin.reply("/", reply.body("x"));
    for hit in [false, true] {
        let answer = larder.client().get("/").send();
        assert_eq!(answer.hit(), hit);
        for name in ["x-private", "keep-alive", "proxy-connection"] {
            assert_eq!(
                answer.header(name),
                None,
                "9110 section 7.6.1, 9111 section 3.1: {name}, hit: {hit}"
            );
        }
        assert_eq!(answer.header("x-end-to-end"), Some("1"));
        if hit {
            assert_eq!(
                answer.header("proxy-authentication-info"),
                None,
                "9111 section 3.1: MUST NOT be stored"
            );
        }
    }
}

/// A sender MUST NOT nominate a field that is meant for all recipients. What does so all the same was said to us alone.
#[test]
fn an_answer_that_nominates_what_all_should_get_is_for_its_own_client() {
    for (name, value) in [
        ("Cache-Control", "max-age=60"),
        ("CDN-Cache-Control", "max-age=60"),
        ("Surrogate-Control", "max-age=60"),
        ("Vary", "Foo"),
        ("ETag", "\"a\""),
        ("Last-Modified", "Tue, 15 Nov 1994 12:45:26 GMT"),
        ("Content-Type", "text/css"),
        ("Set-Cookie", "a=b"),
        ("Location", "/x"),
    ] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            let reply = counted(request).header("Connection", format!("{name}, X-Private"));
            let reply = if name == "Cache-Control" {
                reply
            } else {
                reply.cache("public, max-age=60")
            };
            reply.header(name, value).header("X-Private", "1")
        });
        for round in ["1", "2"] {
            let answer = larder.get("/").send();
            assert_eq!(answer.text(), round, "{name}: not for others");
            for gone in [name, "X-Private"] {
                let gone = gone.to_ascii_lowercase();
                assert_eq!(
                    answer.header(&gone),
                    None,
                    "9110 section 7.6.1: MUST: {gone}"
                );
            }
            assert_eq!(answer.parameter("detail").as_deref(), Some("connection"));
        }
    }
}

#[test]
fn framing_and_date_stay_right_where_an_answer_nominates_them() {
    let (origin, larder) = start();
    let reply = Reply::ok().cache("max-age=60").body("content");
    let reply = reply.header("Connection", "Content-Length, Date, Age");
    origin.reply("/", reply.header("Age", "10"));
    let mut client = larder.client();
    for _ in 0..2 {
        let answer = client.get("/").send();
        assert_eq!((answer.text().as_str(), answer.complete), ("content", true));
        assert_eq!(answer.headers("date").len(), 1);
        assert_eq!(answer.header("age"), None);
        assert!(!answer.hit());
    }
}

#[test]
fn a_304_that_nominates_what_all_should_get_confirms_for_its_own_client() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.header("if-none-match") {
        Some(_) => Reply::status(304)
            .cache("no-store")
            .header("Connection", "Cache-Control")
            .header("ETag", "\"a\""),
        None => counted(request).cache("max-age=60").header("ETag", "\"a\""),
    });
    larder.get("/").send();
    let confirmed = larder.get("/").header("Cache-Control", "no-cache").send();
    assert_eq!(confirmed.text(), "1");
    let after = larder.get("/").send();
    assert_eq!(
        (after.hit(), after.text().as_str()),
        (false, "3"),
        "what it said was not for others: {}",
        after.said()
    );
}

#[test]
fn a_request_that_nominates_what_is_for_the_origin_passes_the_store_by() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let cookie = request.header("cookie").unwrap_or("nobody");
        let vary = Reply::ok().cache("max-age=60").header("Vary", "Cookie");
        vary.body(format!("{cookie} {}", request.nth))
    });
    let nominated = |nominated: &str| {
        let ask = larder.get("/").header("Connection", nominated);
        ask.header("Cookie", "anna").send()
    };
    assert_eq!(nominated("close, Cookie").text(), "nobody 1");
    let own = larder.get("/").header("Cookie", "anna").send();
    assert_eq!(
        own.text(),
        "anna 2",
        "what is fetched without it is not stored"
    );
    let again = nominated("Cookie");
    assert_eq!(
        again.text(),
        "nobody 3",
        "what is stored does not answer it"
    );
    assert_eq!(again.parameter("fwd").as_deref(), Some("bypass"));
    assert_eq!(again.parameter("detail").as_deref(), Some("connection"));
    let own = larder.get("/").header("Cookie", "anna").send();
    assert_eq!((own.hit(), own.text().as_str()), (true, "anna 2"));
    let nobody = larder.get("/").send();
    assert_eq!(nobody.text(), "nobody 4");
}

#[test]
fn what_is_written_anew_may_be_nominated_and_the_store_answers() {
    let (origin, larder) = start();
    origin.on("/", |request| counted(request).cache("max-age=60"));
    larder.get("/").send();
    let ask = larder.get("/").header("X-Forwarded-For", "192.0.2.9");
    let ask = ask.header("Via", "1.1 before").header(
        "Connection",
        "close, Host, X-Forwarded-For, X-Forwarded-Proto, Forwarded, Via",
    );
    let answer = ask.send();
    assert!(answer.hit(), "{}", answer.said());
}

#[test]
fn a_request_may_not_take_away_its_framing_nor_its_host() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().cache("max-age=60").body("x"));
    let mut client = larder.client();
    for name in [
        "Authorization",
        "Cache-Control",
        "Range",
        "Content-Type",
        "Host",
    ] {
        let ask = client
            .ask("POST", "/")
            .header("Connection", format!("{name}, Content-Length"));
        let ask = ask.header("Authorization", "Basic eA==");
        let ask = ask.header("Cache-Control", "no-transform");
        let ask = ask.header("Range", "bytes=0-1");
        let answer = ask.header("Content-Type", "text/plain").body("sent").send();
        assert_eq!(answer.status, 200, "{name}");
        let asked = origin.last("/");
        assert_eq!(
            (asked.body.as_slice(), asked.header("host")),
            (&b"sent"[..], Some("example.test"))
        );
        if name != "Host" {
            let gone = asked.header(&name.to_ascii_lowercase());
            assert_eq!(gone, None, "9110 section 7.6.1: MUST: {name}");
        }
    }
}

#[test]
fn the_origin_connection_is_kept_whatever_clients_do_with_theirs() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().cache("no-store").body("x"));
    for _ in 0..5 {
        let answer = larder.get("/").send();
        assert_eq!(
            answer.header("connection"),
            Some("close"),
            "the client asked for it"
        );
    }
    assert!(
        origin.connections() < 5,
        "{} connections for 5 requests",
        origin.connections()
    );
}

/// Where they end is not certain: a bare LF is the end of a line for some, and for others not (RFC 9112 section 2.2).
/// What follows is nobody's request.
#[test]
fn trailers_of_a_request_end_its_connection() {
    let (origin, larder) = start();
    origin.otherwise(|request| {
        let content = String::from_utf8_lossy(&request.body);
        let text = format!("{} {content}", request.target);
        Reply::ok().cache("no-store").body(text)
    });
    for trailers in ["X-Sum: 1\r\n", "X-Sum: 1\n\n"] {
        let mut client = larder.client();
        client.send(format!(
            "POST /one HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n{trailers}\r\n\
             GET /two HTTP/1.1\r\nHost: a\r\n\r\n",
        ));
        let answer = client.read();
        assert_eq!(answer.text(), "/one body");
        assert_eq!(answer.header("connection"), Some("close"), "{trailers:?}");
        assert_eq!(client.read_to_end(), b"", "{trailers:?}");
    }
    assert_eq!(origin.requests("/two"), 0);
}

/// RFC 9112 section 9.6: who may not read the rest says so, whether the origin does or not.
#[test]
fn an_answer_that_comes_before_the_content_says_that_it_is_the_last() {
    let early = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = early.local_addr().expect("an address");
    thread::spawn(move || {
        let (mut stream, _) = early.accept().expect("a connection");
        stream.read_exact(&mut [0; 100]).expect("the head");
        let answer = "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig";
        stream.write_all(answer.as_bytes()).expect("sent");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let (origin, larder) = start_with(&format!(
        "[[origin]]\nname = \"late\"\nservers = \"{{origin}}\"\n[[origin]]\nname = \"early\"\nservers = \"http://{address}\"\n\
         [[route]]\npath = \"/early\"\norigin = \"early\"\n[[route]]\norigin = \"late\"\n",
    ));
    origin.reply("/late", Reply::ok().cache("no-store").body("x"));
    let mut client = larder.client();
    client.send("POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\nbegins");
    let answer = client.read();
    assert_eq!(
        (answer.status, answer.header("connection")),
        (413, Some("close"))
    );
    let mut client = larder.client();
    for coding in [
        "Content-Length: 4\r\n\r\nbody",
        "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
    ] {
        client.send(format!("POST /late HTTP/1.1\r\nHost: a\r\n{coding}"));
        let answer = client.read();
        assert_eq!(
            (answer.status, answer.header("connection")),
            (200, None),
            "{coding}"
        );
    }
}

#[test]
fn trailers_do_no_harm() {
    let (origin, larder) = start();
    let reply = Reply::ok()
        .cache("max-age=60")
        .header("Trailer", "X-Sum, Cache-Control")
        .body("con")
        .body("tent");
    origin.reply(
        "/",
        reply
            .trailer("X-Sum", "1")
            .trailer("Cache-Control", "no-store")
            .trailer("Content-Length", "1"),
    );
    for hit in [false, true] {
        let mut client = larder.client();
        let answer = client.get("/").send();
        assert_eq!(
            (answer.text().as_str(), answer.complete, answer.hit()),
            ("content", true, hit)
        );
        assert_eq!(
            answer.header("x-sum"),
            None,
            "9110 section 6.5.1: MUST NOT be merged into the header section"
        );
        assert_eq!(
            client.get("/").send().text(),
            "content",
            "the connection is in step"
        );
    }
    let mut client = larder.client();
    client.send("POST /post HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nHost: b\r\nX-T: 1\r\n\r\n");
    client.read();
    let asked = origin.last("/post");
    assert_eq!(
        (
            asked.body.as_slice(),
            asked.header("host"),
            asked.header("x-t")
        ),
        (&b"abc"[..], Some("a"), None)
    );
}

#[test]
fn interim_responses_are_passed_on_as_they_come_and_never_stored() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let reply = Reply::ok()
        .cache("max-age=60")
        .interim(103, &[("Link", "</a.css>; rel=preload")]);
    origin.reply(
        "/",
        reply.interim(102, &[]).hold_head(&gate).body("content"),
    );
    let mut client = larder.client();
    client.get("/").begin();
    let hints = client.read_interim();
    assert!(hints.start.starts_with("HTTP/1.1 103"), "{}", hints.start);
    assert_eq!(
        hints.header("link"),
        Some("</a.css>; rel=preload"),
        "8297 section 2"
    );
    gate.wait_reached();
    gate.open();
    let answer = client.read();
    assert_eq!((answer.status, answer.text().as_str()), (200, "content"));
    assert_eq!(
        answer.header("link"),
        None,
        "the hint's fields are not the answer's"
    );
    let hit = client.get("/").send();
    assert!(
        hit.hit() && hit.interim.is_empty() && hit.text() == "content",
        "9111 section 3: only final responses"
    );
}

/// What is taken off the final answer is not said before it either.
#[test]
fn interim_responses_do_not_tell_what_the_answer_withholds() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[purge]\npass_tags = \"X-Cache-Tags\"\n\
         [defaults]\nset_cookie = \"strip\"\nuser_context = \"/_group\"\n\
         response_headers.remove = \"X-Backend\"\n\
         response_headers.set = [\"Server: site\", \"X-Site: 1\"]\n\
         response_headers.add = \"X-Added: 1\"\n",
    );
    let said = [
        ("Link", "</a.css>; rel=preload"),
        ("Connection", "X-Hop"),
        ("X-Hop", "1"),
        ("X-Backend", "10.0.0.7"),
        ("Server", "Apache"),
        ("Surrogate-Control", "max-age=60"),
        ("X-Reverse-Proxy-TTL", "60"),
        ("Surrogate-Key", "a b"),
        ("X-Cache-Tags", "c"),
        ("Set-Cookie", "s=1"),
        ("X-User-Context-Hash", "editors"),
    ];
    let reply = Reply::ok().cache("max-age=60").interim(103, &said);
    let reply = said
        .iter()
        .fold(reply, |reply, (name, value)| reply.header(name, value));
    origin.otherwise(move |_| reply.clone().body("content"));
    for method in ["GET", "POST"] {
        let mut client = larder.client();
        client.ask(method, "/").begin();
        let mut hints = client.read_interim().fields;
        hints.sort();
        let told = [
            ("link", "</a.css>; rel=preload"),
            ("server", "site"),
            ("x-cache-tags", "c"),
        ];
        let told = told.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(hints, told, "{method}");
        let answer = client.read();
        for (name, value) in told {
            assert_eq!(answer.header(&name), Some(value.as_str()), "{method}");
        }
    }
}

#[test]
fn interim_responses_reach_clients_over_http2() {
    let (origin, larder) = start();
    let gate = Gate::new();
    let reply = Reply::ok()
        .cache("max-age=60")
        .interim(103, &[("Link", "</a.css>; rel=preload")]);
    origin.reply("/", reply.hold_head(&gate).body("content"));
    let url = format!("{}/", larder.listeners()[0]);
    let mut curl = std::process::Command::new("curl");
    curl.args(["-sSv", "--max-time", "20", "--http2-prior-knowledge", &url])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut asking = curl.spawn().expect("curl runs");
    // It says of each field when it comes.
    let says = std::io::BufReader::new(asking.stderr.take().expect("piped"));
    let mut lines = says.lines().map(|line| line.expect("text"));
    let mut hears = |line: &str| lines.any(|said| said.trim_end() == line);
    assert!(hears("< HTTP/2 103"));
    assert!(hears("< link: </a.css>; rel=preload"), "8297 section 2");
    gate.wait_reached();
    gate.open();
    assert!(hears("< HTTP/2 200"));
    assert!(!hears("< link: </a.css>; rel=preload"));
    let answer = asking.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&answer.stdout), "content");
    let hit = curl.output().expect("curl runs");
    let said = String::from_utf8_lossy(&hit.stderr);
    assert!(
        said.contains("hit") && !said.contains("HTTP/2 103"),
        "9111 section 3: only final responses: {said}"
    );
}

#[test]
fn an_http_1_0_client_gets_no_interim_response() {
    let (origin, larder) = start();
    origin.reply(
        "/",
        Reply::ok()
            .interim(103, &[("Link", "</a.css>")])
            .body("content"),
    );
    let mut client = larder.client();
    client.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n");
    let answer = client.read();
    assert!(answer.interim.is_empty(), "9110 section 15.2: MUST NOT");
    assert_eq!(answer.text(), "content");
}

/// Applications refuse a name that is empty. Nobody else gets the answer, not even who names the origin so.
#[test]
fn who_names_no_host_is_forwarded_in_the_origins_own_name() {
    let (origin, larder) = start();
    origin.otherwise(|request| {
        let host = request.header("host").unwrap_or("none").to_owned();
        Reply::ok().cache("max-age=60").body(host)
    });
    let own = origin.address().to_string();
    for hit in [false, true] {
        let mut client = larder.client();
        client.send("GET / HTTP/1.0\r\n\r\n");
        let answer = client.read();
        assert_eq!((answer.text(), answer.hit()), (own.clone(), hit));
    }
    let asked = origin.last("/");
    assert_eq!(asked.header("x-forwarded-host"), None);
    let forwarded = asked.header("forwarded").expect("the client");
    assert!(!forwarded.contains("host"), "{forwarded}");
    for named in ["a.test", &own] {
        let mut client = larder.client();
        client.send(format!("GET / HTTP/1.1\r\nHost: {named}\r\n\r\n"));
        let answer = client.read();
        assert_eq!((answer.text().as_str(), answer.hit()), (named, false));
    }
}

#[test]
fn an_http_1_0_client_gets_no_chunks() {
    let (origin, larder) = start();
    origin.reply(
        "/",
        Reply::ok()
            .cache("max-age=60")
            .chunked()
            .body("con")
            .body("tent"),
    );
    for _ in 0..2 {
        let mut client = larder.client();
        client.send("GET / HTTP/1.0\r\n\r\n");
        let answer = client.read();
        assert_eq!(
            answer.header("transfer-encoding"),
            None,
            "9112 section 6.1: MUST NOT"
        );
        assert_eq!(answer.text(), "content");
    }
}

#[test]
fn via_names_each_hop() {
    let (origin, larder) = start();
    origin.reply(
        "/",
        Reply::ok()
            .cache("max-age=60")
            .header("Via", "1.0 inner")
            .body("x"),
    );
    for hit in [false, true] {
        let answer = larder.get("/").header("Via", "1.1 outer").send();
        assert_eq!(answer.hit(), hit);
        let via = answer.joined("via");
        assert!(
            via.starts_with("1.0 inner, 1.1 "),
            "9110 section 7.6.3: {via}"
        );
        assert_eq!(via.matches(',').count(), 1, "once: {via}");
    }
    let via = origin.last("/").headers("via").join(", ");
    assert!(
        via.starts_with("1.1 outer, 1.1 "),
        "9110 section 7.6.3: MUST send Via: {via}"
    );
}

/// Proxies that join the lines of a list do not hide how often a request has come round.
#[test]
fn a_request_that_comes_round_is_refused_however_via_is_written() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().cache("no-store"));
    for (rounds, status) in [(7, 200), (8, 508)] {
        let joined = vec!["1.1 larder, 1.1 node"; rounds].join(", ");
        let answer = larder.get("/").header("Via", &joined).send();
        assert_eq!(answer.status, status, "{joined}");
        let ask = larder.get("/");
        let lines = (0..rounds).fold(ask, |ask, _| ask.header("Via", "1.1 larder"));
        assert_eq!(lines.send().status, status, "{rounds} lines");
    }
}

/// It would wait for itself, at each round, for as long as followers wait (`collapse_wait`).
#[test]
fn a_request_that_comes_round_does_not_follow_itself() {
    let (origin, larder) =
        start_with("[[origin]]\nservers = \"{origin}\"\n[defaults]\ncollapse_wait = \"10m\"\n");
    let address = larder.address();
    origin.on("/", move |asked| {
        let via = asked.headers("via").join(", ");
        let mut client = testkit::Client::connect(address.clone());
        let answer = client.get("/").header("Via", &via).send();
        Reply::status(answer.status).body(answer.text())
    });
    assert_eq!(larder.get("/").send().status, 508);
    assert_eq!(origin.requests("/"), 8);
}

#[test]
fn date_is_the_origins_or_else_ours() {
    let (origin, larder) = start();
    let theirs = date(-20);
    let dated = theirs.clone();
    origin.on("/dated", move |_| {
        Reply::ok()
            .cache("max-age=60")
            .undated()
            .header("Date", &dated)
            .body("x")
    });
    origin.reply(
        "/undated",
        Reply::ok().cache("max-age=60").undated().body("x"),
    );
    let twice = Reply::ok().undated().body("x");
    let twice = twice.header("Date", &theirs).header("Date", date(-9));
    origin.reply("/twice", twice.cache("max-age=60"));
    for path in ["/dated", "/undated", "/twice"] {
        let (first, second) = (larder.get(path).send(), larder.get(path).send());
        assert_eq!(
            first.headers("date").len(),
            1,
            "9110 section 6.6.1: a recipient with a clock MUST add it: {path}"
        );
        assert_eq!(
            first.header("date"),
            second.header("date"),
            "9111 section 4: the stored Date: {path}"
        );
    }
    for path in ["/dated", "/twice"] {
        let answer = larder.get(path).send();
        assert_eq!(answer.header("date"), Some(theirs.as_str()), "{path}");
    }
}

#[test]
fn age_is_on_every_answer_from_the_store_and_counts_what_came_before() {
    let (origin, larder) = start();
    origin.reply("/young", Reply::ok().cache("max-age=60").body("x"));
    origin.reply(
        "/old",
        Reply::ok()
            .cache("max-age=60")
            .header("Age", "30")
            .body("x"),
    );
    origin.reply(
        "/late",
        Reply::ok()
            .cache("max-age=60")
            .undated()
            .header("Date", date(-20))
            .body("x"),
    );
    let age = |path: &str| {
        larder
            .get(path)
            .send()
            .header("age")
            .map(|age| age.parse::<u64>().expect("a number"))
    };
    // What its origin has just made is of no age, however slow it is or late its clock, unless it says so itself.
    for (path, aged) in [("/young", false), ("/old", true), ("/late", false)] {
        let first = larder.get(path).send();
        assert_eq!(
            first.headers("age").len(),
            usize::from(aged),
            "9111 section 5.1: {path}"
        );
    }
    assert!(
        age("/young").is_some_and(|age| age < 20),
        "9111 section 4: MUST generate Age"
    );
    assert!(
        age("/old").is_some_and(|age| (30..50).contains(&age)),
        "9111 section 4.2.3"
    );
    assert!(
        age("/late").is_some_and(|age| (20..40).contains(&age)),
        "9111 section 4.2.3"
    );
    let again = larder.get("/old").send();
    assert_eq!(again.headers("age").len(), 1, "replaces what is there");
}

#[test]
fn framing_is_our_own() {
    let (origin, larder) = start();
    origin.reply(
        "/chunked",
        Reply::ok().cache("max-age=60").chunked().body("content"),
    );
    larder.get("/chunked").send();
    let hit = larder.get("/chunked").send();
    assert!(hit.hit());
    assert_eq!(
        hit.headers("content-length").len() + hit.headers("transfer-encoding").len(),
        1,
        "9112 section 6.2"
    );
}

#[test]
fn interim_responses_are_relieved_of_what_concerns_the_connection() {
    let (origin, larder) = start();
    origin.reply(
        "/",
        Reply::ok()
            .interim(
                103,
                &[
                    ("Connection", "X-Hop, close"),
                    ("X-Hop", "1"),
                    ("Keep-Alive", "timeout=5"),
                    ("Link", "</a.css>"),
                ],
            )
            .body("content"),
    );
    let mut client = larder.client();
    client.get("/").begin();
    let hints = client.read_interim();
    let names: Vec<_> = hints.fields.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["link"], "9110 section 7.6.1");
    assert_eq!(client.read().text(), "content");
}
