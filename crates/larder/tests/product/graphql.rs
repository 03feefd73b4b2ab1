//! GraphQL: queries are answered from the store by what they mean, by `GET`, by `POST` and by `QUERY`; what changes
//! something never is, and what is not understood passes.

use crate::common::{Said, start_with};
use testkit::{Larder, Origin, Reply, Response};

const QUERY: &str = r#"{"query":"query Products($n: Int) { products(first: $n) { name } }","operationName":"Products","variables":{"n":1,"q":"é"}}"#;

/// A larder before a service that counts its answers, which it does not say anything of.
fn service(graphql: &str) -> (Origin, Larder) {
    let (origin, larder) = start_with(&format!(
        "admin = \"127.0.0.1:0\"\n[[origin]]\nservers = \"{{origin}}\"\n\
         [[route]]\nname = \"graphql\"\npath = \"/graphql\"\nttl = \"10m\"\n[route.graphql]\n{graphql}\n"
    ));
    origin.on("/graphql", |request| {
        let mut reply = Reply::ok().header("Content-Type", "application/json");
        for (wish, field) in [("x-say", "Cache-Control"), ("x-set", "Set-Cookie")] {
            if let Some(value) = request.header(wish) {
                reply = reply.header(field, value);
            }
        }
        let errors = request
            .header("x-errors")
            .map_or("", |_| ",\"errors\":[{\"message\":\"m\"}]");
        let who = request
            .header("authorization")
            .or(request.header("cookie"))
            .unwrap_or("nobody");
        reply.body(format!(
            "{{\"data\":{{\"n\":{},\"who\":\"{who}\"}}{errors}}}",
            request.nth
        ))
    });
    (origin, larder)
}

/// The methods that ask with content.
const ASKING: [&str; 2] = ["POST", "QUERY"];

fn post(larder: &Larder, body: &str, fields: &[(&str, &str)]) -> Response {
    by("POST", larder, body, fields)
}

fn by(method: &str, larder: &Larder, body: &str, fields: &[(&str, &str)]) -> Response {
    let ask = larder
        .ask(method, "/graphql")
        .header("Host", "a.test")
        .body(body);
    let typed = fields.iter().any(|(name, _)| *name == "Content-Type");
    let ask = if typed {
        ask
    } else {
        ask.header("Content-Type", "application/json; charset=utf-8")
    };
    let ask = fields
        .iter()
        .fold(ask, |ask, (name, value)| ask.header(name, value));
    ask.send()
}

#[test]
fn one_query_in_many_spellings_is_fetched_once_and_sent_on_as_it_came() {
    for method in ASKING {
        let (origin, larder) = service("");
        let first = by(method, &larder, QUERY, &[]);
        assert!(first.says("stored"), "{}", first.said());
        assert_eq!(origin.last("/graphql").body, QUERY.as_bytes());
        assert_eq!(origin.last("/graphql").method, method);
        for same in [
            QUERY,
            r#" { "variables" : { "q" : "\u00e9", "n" : 1 } , "operationName":"Products",
               "query":"query Products($n: Int) { products(first: $n) { name } }"}"#,
        ] {
            let answer = by(method, &larder, same, &[]);
            assert!(
                answer.hit() && answer.text() == first.text(),
                "{same}: {}",
                answer.said()
            );
        }
        assert_eq!(origin.requests("/graphql"), 1);
    }
}

#[test]
fn bodies_that_only_look_the_same_never_share_an_answer() {
    let (origin, larder) = service("");
    let with = |variables: &str| format!(r#"{{"query":"{{ a }}","variables":{variables}}}"#);
    let bodies = [
        with("{\"n\":1}"),
        with("{\"n\":1.0}"),
        with("{\"n\":1e0}"),
        with("{\"n\":\"1\"}"),
        with("{\"n\":[1]}"),
        with("{\"n\":true}"),
        with("{\"n\":null}"),
        with("{}"),
        with("null"),
        with("{\"n\":\"a\"}"),
        with("{\"n\":\"A\"}"),
        with("{\"n\":\" a\"}"),
        with("{\"n\":9007199254740992}"),
        with("{\"n\":9007199254740993}"),
        r#"{"query":"{ a }"}"#.to_owned(),
        r#"{"query":"{  a }"}"#.to_owned(),
        r#"{"query":"{ b }"}"#.to_owned(),
        r#"{"query":"query A { a } query B { b }","operationName":"A"}"#.to_owned(),
        r#"{"query":"query A { a } query B { b }","operationName":"B"}"#.to_owned(),
        r#"{"query":"{ a }","extensions":{"tenant":1}}"#.to_owned(),
        r#"{"query":"{ a }","tenant":1}"#.to_owned(),
    ];
    for method in ASKING {
        for body in &bodies {
            assert!(!by(method, &larder, body, &[]).hit(), "{method} {body}");
        }
        for body in &bodies {
            assert!(by(method, &larder, body, &[]).hit(), "{method} {body}");
        }
    }
    assert_eq!(origin.requests("/graphql"), ASKING.len() * bodies.len());
    let get = larder.get("/graphql").header("Host", "a.test").send();
    assert!(!get.hit(), "no content is another request: {}", get.said());
}

#[test]
fn what_is_no_query_passes_and_is_sent_on_unchanged() {
    let (origin, larder) = service("invalidate = false");
    let long = format!(
        r#"{{"query":"{{ a }}","variables":{{"x":"{}"}}}}"#,
        "x".repeat(70_000)
    );
    let json = "application/json";
    for (body, media, why) in [
        (r#"{"query":"mutation { a }"}"#, json, "mutation"),
        (r#"{"query":"subscription { a }"}"#, json, "mutation"),
        (
            r#"{"query":"query A { a } mutation B { b }","operationName":"A"}"#,
            json,
            "mutation",
        ),
        (r#"{"query":"{ a }","query":"{ b }"}"#, json, "malformed"),
        (
            r#"{"query":"{ a }","variables":{"n":1,"n":2}}"#,
            json,
            "malformed",
        ),
        (r#"{"query":"{ a }"} x"#, json, "malformed"),
        (r#"{"query":"{ a"}"#, json, "malformed"),
        ("{\"query\":\"{ a }\",\"x\":\"\\ud800\"}", json, "malformed"),
        ("", json, "malformed"),
        (r#"[{"query":"{ a }"}]"#, json, "batch"),
        (
            r#"{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"00"}}}"#,
            json,
            "no-document",
        ),
        ("{ a }", "application/graphql", "content-type"),
        // A service that believes it reads other letters than are keyed.
        (
            QUERY,
            "application/json; charset=iso-8859-1",
            "content-type",
        ),
        (
            "query=%7Ba%7D",
            "application/x-www-form-urlencoded",
            "content-type",
        ),
        (long.as_str(), json, "content-too-large"),
    ] {
        for method in [ASKING, ASKING].concat() {
            let before = origin.requests("/graphql");
            let answer = by(method, &larder, body, &[("Content-Type", media)]);
            assert_eq!(
                answer.parameter("detail").as_deref(),
                Some(why),
                "{method} {body:.60}: {}",
                answer.said()
            );
            assert_eq!(origin.requests("/graphql"), before + 1, "{body:.60}");
            assert!(
                origin.last("/graphql").body == body.as_bytes(),
                "{body:.60}"
            );
        }
    }
    // Some services prefer the query of the URL to the content.
    for (method, target) in [
        ("POST", "/graphql?query=mutation%7Ba%7D"),
        ("POST", "/graphql?query=%7Bb%7D"),
        ("QUERY", "/graphql?query=%7Bb%7D"),
    ] {
        let ask = larder.ask(method, target).header("Host", "a.test");
        let answer = ask.header("Content-Type", json).body(QUERY).send();
        let why = answer.parameter("detail");
        assert_eq!(why.as_deref(), Some("malformed"), "{}", answer.said());
    }
    for (name, value, why) in [
        ("Content-Encoding", "gzip", "content-type"),
        ("If-None-Match", "\"a\"", "condition"),
    ] {
        for method in ASKING {
            let answer = by(method, &larder, QUERY, &[(name, value)]);
            assert_eq!(
                answer.parameter("detail").as_deref(),
                Some(why),
                "{method} {name}: {}",
                answer.said()
            );
        }
    }
}

#[test]
fn one_users_answer_goes_to_nobody_else() {
    for method in ASKING {
        let (_origin, larder) = service("");
        let ask = |fields: &[(&str, &str)]| by(method, &larder, QUERY, fields);
        let alice = ask(&[("Authorization", "Bearer alice")]);
        assert!(alice.text().contains("alice"));
        let bob = ask(&[("Authorization", "Bearer bob")]);
        assert!(bob.text().contains("bob"), "9111 section 3.5");
        assert!(ask(&[]).text().contains("nobody"));
        for say in ["private", "no-store"] {
            let (_origin, larder) = service("");
            for who in ["alice", "bob"] {
                let cookie = format!("s={who}");
                let fields = [("Cookie", cookie.as_str()), ("X-Say", say)];
                let answer = by(method, &larder, QUERY, &fields);
                assert!(answer.text().contains(who), "{method} {say}");
            }
        }
        let (_origin, larder) = service("");
        let answer = by(method, &larder, QUERY, &[("X-Set", "s=alice")]);
        assert_eq!(answer.parameter("detail").as_deref(), Some("set-cookie"));
        assert!(!by(method, &larder, QUERY, &[]).hit());
    }
}

/// What is asked for, and what it is called, are the client's words: a user may be lured to them.
#[test]
fn a_lifetime_by_name_is_not_for_the_answer_to_one_user() {
    for (says, is_stored) in [
        ("", false),
        ("bypass.cookies = \"session\"", true),
        ("bypass.misses_with = \"session\"", true),
        ("key.drop_cookies = true", true),
        ("key.cookies = \"s\"", true),
    ] {
        let (origin, larder) = start_with(&format!(
            "[[origin]]\nservers = \"{{origin}}\"\n[[route]]\nttl = \"10m\"\n{says}\n\
             [route.graphql]\n[[route.graphql.operation]]\nname = \"Products\"\nttl = \"10m\"\n"
        ));
        origin.otherwise(|request| {
            let who = request.header("cookie").unwrap_or("nobody");
            Reply::ok()
                .header("Content-Type", "application/json")
                .body(format!("{{\"data\":\"{who}\"}}"))
        });
        let query = "{\"query\":\"query Products{me}\",\"operationName\":\"Products\"}";
        let link = "/graphql?query=query%20Products%7Bme%7D&operationName=Products";
        for method in ["GET", "POST"] {
            let ask = |cookie: &str| match method {
                "GET" => larder.get(link).header("Cookie", cookie).send(),
                _ => post(&larder, query, &[("Cookie", cookie)]),
            };
            ask("s=alice");
            let again = ask("s=alice");
            assert_eq!(again.hit(), is_stored, "{method} {says}: {}", again.said());
            assert!(is_stored || ask("s=bob").text().contains("bob"), "{method}");
        }
    }
}

#[test]
fn cookies_that_bypass_do_so_here_too_and_a_query_invalidates_nothing() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nttl = \"10m\"\nbypass.cookies = \"session\"\n\
         graphql.operation = [{ name = \"Own\", cache = false }]\n",
    );
    origin.otherwise(|request| {
        let who = request.header("cookie").unwrap_or("nobody");
        Reply::ok()
            .header("Content-Type", "application/json")
            .body(format!("{{\"data\":\"{who}\"}}"))
    });
    for method in ASKING {
        by(method, &larder, QUERY, &[]);
        for who in ["alice", "bob"] {
            let session = format!("session={who}");
            let answer = by(method, &larder, QUERY, &[("Cookie", &session)]);
            assert!(answer.text().contains(who), "{}", answer.text());
            assert_eq!(answer.parameter("detail").as_deref(), Some("cookie"));
            let own = r#"{"query":"query Own { me }"}"#;
            let own = by(method, &larder, own, &[("Cookie", &format!("c={who}"))]);
            assert!(own.text().contains(who), "{method}: {}", own.text());
            assert_eq!(own.parameter("detail").as_deref(), Some("operation"));
        }
        assert!(
            by(method, &larder, QUERY, &[]).hit(),
            "what is known to be a query leaves what is stored"
        );
    }
}

/// A condition is the last reason to bypass: the content tells whether anything changes.
#[test]
fn a_query_with_a_condition_invalidates_nothing_and_a_mutation_does() {
    for (name, value) in [
        ("If-None-Match", "\"a\""),
        ("If-Match", "*"),
        ("If-Modified-Since", "Mon, 01 Jan 2024 00:00:00 GMT"),
    ] {
        let (origin, larder) =
            service("[[route.graphql.operation]]\nname = \"Own\"\ncache = false");
        let other = r#"{"query":"{ other }"}"#;
        for (body, why, kept) in [
            (other, "condition", true),
            (QUERY, "condition", true),
            (r#"{"query":"query Own { me }"}"#, "operation", true),
            (r#"{"query":"mutation { a }"}"#, "mutation", false),
            ("{}", "no-document", false),
            (r#"{"query":"{ a"}"#, "malformed", false),
        ] {
            post(&larder, QUERY, &[]);
            assert!(post(&larder, QUERY, &[]).hit());
            let answer = post(&larder, body, &[(name, value)]);
            let said = answer.parameter("detail");
            assert_eq!(said.as_deref(), Some(why), "{name} {body}");
            let seen = origin.last("/graphql").body;
            assert_eq!(seen, body.as_bytes(), "{name} {body}");
            assert_eq!(post(&larder, QUERY, &[]).hit(), kept, "{name} {body}");
        }
    }
}

#[test]
fn a_mutation_makes_all_answers_of_its_url_invalid() {
    for (invalidate, kept) in [("", false), ("invalidate = false", true)] {
        let (_origin, larder) = service(invalidate);
        let other = r#"{"query":"{ other }"}"#;
        let get = || {
            larder
                .get("/graphql?query=%7Ba%7D")
                .header("Host", "a.test")
                .send()
        };
        for body in [QUERY, other] {
            post(&larder, body, &[]);
        }
        get();
        assert!(post(&larder, QUERY, &[]).hit() && post(&larder, other, &[]).hit() && get().hit());
        assert_eq!(
            post(&larder, r#"{"query":"mutation { a }"}"#, &[]).status,
            200
        );
        assert_eq!(
            post(&larder, QUERY, &[]).hit(),
            kept,
            "9111 section 4.4: {invalidate}"
        );
        assert_eq!(post(&larder, other, &[]).hit(), kept, "{invalidate}");
        assert!(get().hit(), "another URL");
    }
}

fn purge(larder: &Larder, what: &str) {
    let answer = testkit::Client::connect(larder.admin())
        .ask("POST", "/purge")
        .header("Host", "localhost")
        .header("Content-Type", "application/json")
        .body(what)
        .send();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn answers_are_purged_by_url_with_all_contents_and_by_their_operations_tags() {
    let (_origin, larder) = service(
        "[[route.graphql.operation]]\nname = \"Products\"\ntags = [\"products\", \"shop\"]\n\
         [[route.graphql.operation]]\nname = \"Orders\"\ntags = \"orders\"\n",
    );
    let orders = r#"{"query":"query Orders { a }"}"#;
    for (what, products_stay, orders_stay) in [
        (r#"{"url": "http://a.test/graphql"}"#, false, false),
        (r#"{"tag": "products"}"#, false, true),
        (r#"{"tag": "orders"}"#, true, false),
        (r#"{"prefix": "http://a.test/gra"}"#, false, false),
        (r#"{"url": "http://b.test/graphql"}"#, true, true),
    ] {
        let hits = |method, body| by(method, &larder, body, &[]).hit();
        for method in ASKING {
            for body in [QUERY, orders] {
                hits(method, body);
                assert!(hits(method, body), "{method} {body}");
            }
        }
        purge(&larder, what);
        for method in ASKING {
            assert_eq!(hits(method, QUERY), products_stay, "{method} {what}");
            assert_eq!(hits(method, orders), orders_stay, "{method} {what}");
        }
    }
}

/// Services answer in the type that a request accepts, and often do not say so: hardly any cache stores answers to `POST`.
#[test]
fn an_answer_goes_to_requests_that_accept_the_same() {
    let (origin, larder) = service("");
    origin.on("/graphql", |request| {
        let own = "application/graphql-response+json";
        let accept = request.header("accept").unwrap_or_default();
        let kind = if accept.contains(own) {
            own
        } else {
            "application/json"
        };
        Reply::ok().header("Content-Type", kind).body("{}")
    });
    let (own, same) = (
        "application/graphql-response+json, application/json;q=0.9",
        "application/graphql-response+json,application/JSON; q=0.90",
    );
    for method in ASKING {
        let ask = |accept| by(method, &larder, QUERY, &[("Accept", accept)]);
        let is_own = |answer: Response| answer.joined("content-type").contains("graphql");
        assert!(is_own(ask(own)));
        assert!(!is_own(ask("application/json")), "{method}");
        assert!(!is_own(ask("*/*")), "{method}");
        assert!(!is_own(by(method, &larder, QUERY, &[])), "{method}");
        for accept in [own, same, "application/json", "*/*"] {
            let answer = ask(accept);
            assert!(answer.hit(), "{method} {accept}: {}", answer.said());
        }
        assert!(is_own(ask(same)));
        purge(&larder, r#"{"url": "http://a.test/graphql"}"#);
        for accept in [own, "application/json", "*/*"] {
            assert!(!ask(accept).hit(), "{method} {accept}");
        }
    }
}

#[test]
fn operations_have_lifetimes_of_their_own() {
    let (_origin, larder) = service(
        "[[route.graphql.operation]]\nname = \"Products\"\nttl = \"1h\"\n\
         [[route.graphql.operation]]\nname = \"Viewer\"\ncache = false\n",
    );
    let left = |answer: Response| {
        answer
            .parameter("ttl")
            .and_then(|ttl| ttl.parse::<u32>().ok())
            .unwrap_or_default()
    };
    for method in ASKING {
        let ask = |body: &str, fields: &[(&str, &str)]| by(method, &larder, body, fields);
        assert!(left(ask(QUERY, &[])) > 3000, "{method}");
        let other = left(ask(r#"{"query":"query Other { a }"}"#, &[]));
        assert!((1..=600).contains(&other), "{method}, the route's: {other}");
        let said = [("X-Say", "max-age=5"), ("Cache-Control", "no-cache")];
        let said = left(ask(QUERY, &said));
        assert!(
            (1..=5).contains(&said),
            "{method}, what the service says goes first: {said}"
        );
        let viewer = ask(r#"{"query":"query Viewer { me }"}"#, &[]);
        assert_eq!(viewer.parameter("detail").as_deref(), Some("operation"));
    }
    let by_get = larder.get("/graphql?query=query%20Viewer%7Bme%7D").send();
    assert_eq!(by_get.parameter("detail").as_deref(), Some("operation"));
}

#[test]
fn answers_with_errors_are_stored_where_that_is_asked_for() {
    for (setting, kept) in [("", false), ("store_errors = true", true)] {
        let (origin, larder) = service(setting);
        let errors = [("X-Errors", "1"), ("Accept-Encoding", "gzip, br")];
        assert!(post(&larder, QUERY, &errors).text().contains("errors"));
        let plain = origin
            .last("/graphql")
            .header("accept-encoding")
            .map(str::to_owned);
        // What is to be looked into must be readable; what is compressed here is asked for plain anyway.
        assert_eq!(plain.as_deref(), Some("identity"), "{plain:?}");
        let again = || {
            let hits = ASKING.map(|method| by(method, &larder, QUERY, &errors).hit());
            hits == [kept; 2]
        };
        let by_get = || {
            larder
                .get("/graphql?query=%7Ba%7D")
                .header("X-Errors", "1")
                .send()
                .hit()
        };
        by_get();
        // The body has come whole; the store hears of it a moment later.
        testkit::wait_until("it is stored or forgotten", || again() && by_get() == kept);
    }
}

/// Many visitors have cookies that mean nothing, and anybody can send some.
#[test]
fn a_request_with_cookies_takes_nothing_from_what_is_stored_for_all() {
    for (tag, reload) in [(None, true), (Some("\"a\""), true), (Some("\"a\""), false)] {
        let (origin, larder) = start_with(
            "[[origin]]\nservers = \"{origin}\"\n[[route]]\nttl = \"10m\"\n[route.graphql]\n",
        );
        origin.otherwise(move |request| {
            let reply = match request.header("if-none-match") {
                Some(_) => Reply::status(304),
                None => Reply::ok().body("{\"data\":1}"),
            };
            let reply = reply.header("Content-Type", "application/json");
            tag.map_or(reply.clone(), |tag| reply.header("ETag", tag))
        });
        let ask = || larder.get("/?query=%7Ba%7D");
        ask().send();
        let fields = if reload { "no-cache" } else { "max-age=0" };
        let own = ask()
            .header("Cookie", "_ga=1")
            .header("Cache-Control", fields);
        assert_eq!(own.send().status, 200);
        let others = ask().send();
        assert!(others.hit(), "{tag:?} {reload}: {}", others.said());
    }
}

/// Neither does the date of a file say that it is everybody's, nor is a part of an answer searched for errors.
#[test]
fn what_is_one_users_or_a_part_of_errors_is_not_stored() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[[route]]\nttl = \"10m\"\nttl_mode = \"override\"\n[route.graphql]\n",
    );
    origin.otherwise(|request| {
        let reply = Reply::ok().header("Content-Type", "application/json");
        let reply = reply.header("Last-Modified", "Thu, 01 Jan 2015 00:00:00 GMT");
        match request.header("range") {
            Some(_) => Reply::status(206)
                .header("Content-Type", "application/json")
                .header("Content-Range", "bytes 0-13/14")
                .body(r#"{"errors":[1]}"#),
            None => reply.body("{\"data\":1}"),
        }
    });
    let ask = || larder.get("/?query=%7Ba%7D");
    for _ in 0..2 {
        let own = ask().header("Cookie", "s=1").send();
        assert_eq!(
            own.parameter("detail").as_deref(),
            Some("cookies"),
            "{}",
            own.said()
        );
    }
    for _ in 0..2 {
        let part = ask().header("Range", "bytes=0-").send();
        assert!(!part.hit(), "{}", part.said());
    }
}

/// Of several parts it cannot be seen whether one tells of errors; and some services do not say that they answer in JSON.
#[test]
fn answers_that_may_tell_of_errors_are_not_stored_whatever_their_type() {
    let errors = r#"{"errors":[]}"#;
    let parts = format!("---\r\nContent-Type: application/json\r\n\r\n{errors}\r\n-----\r\n");
    for (media, content, is_kept) in [
        (
            Some("multipart/mixed; boundary=\"-\""),
            parts.as_str(),
            false,
        ),
        (Some("text/plain"), errors, false),
        (None, errors, false),
        (Some("text/plain"), r#"{"data":1}"#, true),
        (Some("text/plain"), "User-agent: *", true),
        (None, "", true),
        (Some("text/html"), "<p>try it here", true),
    ] {
        for (setting, kept) in [("", is_kept), ("store_errors = true", true)] {
            let (origin, larder) = service(setting);
            let reply = media.map_or(Reply::ok(), |media| {
                Reply::ok().header("Content-Type", media)
            });
            origin.reply("/graphql", reply.body(content));
            post(&larder, QUERY, &[]);
            testkit::wait_until("it is stored or forgotten", || {
                post(&larder, QUERY, &[]).hit() == kept
            });
        }
    }
}

#[test]
fn persisted_queries_by_get_share_an_answer_whatever_the_order_of_their_json() {
    let (origin, larder) =
        service("[[route.graphql.operation]]\nname = \"Products\"\ntags = \"products\"\n");
    let get = |query: &str| {
        larder
            .get(&format!("/graphql?{query}"))
            .header("Host", "a.test")
            .send()
    };
    let first = get(
        "operationName=Products&variables={%22a%22:1,%22b%22:%222%22}&extensions=%7B%22persistedQuery%22:%7B%22version%22:1,%22sha256Hash%22:%22ab%22%7D%7D",
    );
    assert!(first.says("stored"), "{}", first.said());
    let same = "operationName=Products&variables=%7b%20%22b%22%3A%222%22,%22a%22:1%7d&extensions=%7B%22persistedQuery%22:%7B%22sha256Hash%22:%22ab%22,%22version%22:1%7D%7D";
    assert!(get(same).hit());
    for other in [
        "operationName=Products&variables=%7B%22a%22:1.0,%22b%22:%222%22%7D&extensions=%7B%22persistedQuery%22:%7B%22version%22:1,%22sha256Hash%22:%22ab%22%7D%7D",
        "operationName=Products&variables=%7B%22a%22:1,%22b%22:2%7D&extensions=%7B%22persistedQuery%22:%7B%22version%22:1,%22sha256Hash%22:%22ab%22%7D%7D",
        "operationName=Products&variables=%7B%22a%22:1,%22b%22:%222%22%7D&extensions=%7B%22persistedQuery%22:%7B%22version%22:1,%22sha256Hash%22:%22ac%22%7D%7D",
        "variables=%7B%22a%22:1,%22b%22:%222%22%7D&extensions=%7B%22persistedQuery%22:%7B%22version%22:1,%22sha256Hash%22:%22ab%22%7D%7D",
        "operationName=Products&variables=%7B%22a%22:1,%22b%22:%22+2%22%7D",
        "operationName=Products&variables=%7B%22a%22:1,%22b%22:%22%202%22%7D",
        "operationName=Products&variables=%7B%22a%22:1,%22a%22:1%7D",
    ] {
        assert!(!get(other).hit(), "{other}");
        assert!(get(other).hit(), "{other}");
    }
    let asked = origin.requests("/graphql");
    for effect in [
        "query=mutation%7Ba%7D",
        "query=subscription%7Ba%7D",
        "qu%65ry=mutation%7Ba%7D",
    ] {
        get(effect);
        assert_eq!(
            get(effect).parameter("detail").as_deref(),
            Some("mutation"),
            "{effect}"
        );
    }
    assert_eq!(origin.requests("/graphql"), asked + 6);
    purge(
        &larder,
        &format!(r#"{{"url": "http://a.test/graphql?{same}"}}"#),
    );
    assert!(!get(same).hit(), "purged by any of its spellings");
    purge(&larder, r#"{"tag": "products"}"#);
    assert!(!get(same).hit());
}

#[test]
fn one_query_asked_for_many_times_at_once_is_fetched_once() {
    let (origin, larder) = service("");
    let gate = testkit::Gate::new();
    let held = gate.clone();
    origin.on("/graphql", move |_| {
        Reply::ok()
            .header("Content-Type", "application/json")
            .body("{\"data\":1}")
            .hold_head(&held)
    });
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| post(&larder, QUERY, &[])))
            .collect();
        origin.wait_requests("/graphql", 1);
        gate.open();
        for one in all {
            assert_eq!(one.join().expect("an answer").text(), "{\"data\":1}");
        }
    });
    assert_eq!(origin.requests("/graphql"), 1);
}

/// It leaves the store before those who wait for it have looked there.
#[test]
fn an_answer_with_errors_is_for_all_who_have_waited_for_it_and_for_nobody_else() {
    let (origin, larder) = start_with(
        "workers = 1\n[[origin]]\nservers = \"{origin}\"\n\
         [[route]]\npath = \"/graphql\"\nttl = \"10m\"\n[route.graphql]\n",
    );
    let gate = testkit::Gate::new();
    let held = gate.clone();
    origin.on("/graphql", move |request| {
        let answer = format!("{{\"errors\":[{{\"message\":\"{}\"}}]}}", request.nth);
        let reply = Reply::ok().header("Content-Type", "application/json");
        reply.body(answer).hold_head(&held)
    });
    let asking = || {
        let ask = larder.ask("POST", "/graphql").body(QUERY);
        ask.header("Content-Type", "application/json")
    };
    let waiting: Vec<_> = (0..8).map(|_| asking().begin()).collect();
    gate.wait_reached();
    // The one worker answers this after it has begun with the others.
    larder.get("/other").send();
    gate.open();
    for mut one in waiting {
        assert_eq!(one.read().text(), "{\"errors\":[{\"message\":\"1\"}]}");
    }
    assert_eq!(origin.requests("/graphql"), 1);
    assert!(asking().send().text().contains("\"2\""));
}

#[test]
fn without_the_setting_a_post_is_a_post() {
    let (origin, larder) =
        start_with("[[origin]]\nservers = \"{origin}\"\n[defaults]\nttl = \"10m\"\n");
    origin.otherwise(|request| Reply::ok().body(request.nth.to_string()));
    assert_eq!(
        post(&larder, QUERY, &[]).parameter("fwd").as_deref(),
        Some("method")
    );
    assert_eq!(post(&larder, QUERY, &[]).text(), "2");
}

/// There are services, those in Go among them, that read the names of members in any case, and take the last.
#[test]
fn members_that_differ_in_case_alone_are_not_understood() {
    let (origin, larder) = service("");
    for body in [
        r#"{"query":"{a}","Query":"mutation{b}"}"#,
        r#"{"query":"query P{a} query V{b}","operationName":"P","OperationName":"V"}"#,
        r#"{"query":"{a}","VARIABLES":{}}"#,
        r#"{"query":"{a}","Extensions":{}}"#,
    ] {
        for _ in 0..2 {
            let answer = post(&larder, body, &[]);
            assert!(!answer.hit(), "{body}: {}", answer.said());
            assert_eq!(answer.parameter("detail").as_deref(), Some("malformed"));
        }
    }
    assert_eq!(origin.requests("/graphql"), 8);
    assert!(!post(&larder, r#"{"query":"{a}","other":1}"#, &[]).hit());
    assert!(post(&larder, r#"{"query":"{a}","other":1}"#, &[]).hit());
}
