//! Never one user's page to another: tests that try to get it.

use crate::common::{Said, command, counted, serve, start, start_with};
use testkit::{Client, Gate, Larder, Origin, Reply, Request};

/// An answer that says for whom it was made.
pub(crate) fn whose(request: &Request) -> String {
    request
        .header("cookie")
        .or(request.header("authorization"))
        .unwrap_or("nobody")
        .to_owned()
}

#[test]
fn hosts_ports_paths_and_queries_do_not_mix() {
    let (origin, larder) = start();
    origin.otherwise(|request| {
        let host = request
            .header("host")
            .or(request.header("x-forwarded-host"))
            .unwrap_or_default();
        Reply::ok()
            .cache("max-age=60")
            .body(format!("{host} {}", request.target))
    });
    let asks = [
        ("a.test", "/"),
        ("b.test", "/"),
        ("a.test:81", "/"),
        ("a.testb", "/"),
        ("a.test", "/?"),
        ("a.test", "/?a"),
        ("a.test", "/?a=1"),
        ("a.test", "/?a=1&b=2"),
        ("a.test", "/?b=2&a=1"),
        ("a.test", "/a"),
        ("a.test", "/A"),
        ("a.test", "/a/"),
        ("a.test", "//a"),
        ("a.test", "/a%2Fb"),
        ("a.test", "/a/b"),
        ("a.test", "/a%3Fb"),
        ("a.test", "/a?b"),
        ("a.test", "/a%00"),
        ("a.test", "/a;b"),
        ("a.test", "/a%3Bb"),
        ("a.test", "/a+b"),
        ("a.test", "/a%20b"),
    ];
    let mut answers = Vec::new();
    for (host, target) in asks {
        let answer = larder.get(target).header("Host", host).send();
        assert!(
            !answer.hit(),
            "{host}{target} was answered with {:?}",
            answer.text()
        );
        answers.push(answer.text());
    }
    for ((host, target), expected) in asks.into_iter().zip(answers) {
        let again = larder.get(target).header("Host", host).send();
        assert!(again.hit() && again.text() == expected, "{host}{target}");
    }
}

#[test]
fn a_private_page_goes_to_nobody_else() {
    for directives in [
        "private",
        "private, max-age=60",
        "no-store",
        "no-cache, max-age=60",
        "private, s-maxage=60",
        "max-age=0",
    ] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            Reply::ok()
                .cache(directives)
                .header("Vary", "Accept")
                .body(whose(request))
        });
        for user in ["id=1", "id=2", "id=1"] {
            let answer = larder.get("/").header("Cookie", user).send();
            assert_eq!(answer.text(), user, "{directives}");
        }
    }
}

#[test]
fn private_pages_that_are_waited_for_together_do_not_change_places() {
    let (origin, larder) = start();
    let gates = [Gate::new(), Gate::new()];
    let held = gates.clone();
    origin.on("/", move |request| {
        let user = whose(request);
        let reply = Reply::ok().cache("private").body(&user);
        // One with a length, one without.
        match user.as_str() {
            "id=1" => reply.hold_head(&held[0]),
            "id=2" => reply.chunked().hold_head(&held[1]),
            _ => reply,
        }
    });
    // From now on nobody waits for another's answer.
    larder
        .get("/")
        .header("Host", "a")
        .header("Cookie", "id=0")
        .send();
    let ask = |user: &str| format!("GET / HTTP/1.1\r\nHost: a\r\nCookie: {user}\r\n\r\n");
    let (one, two) = ("id=1", "id=2");
    // Two connections, each with the requests of both users, in other orders.
    let mut clients = [[one, two, one, two], [two, one, two, one]].map(|users| {
        let mut client = larder.client();
        client.send(users.map(ask).concat());
        (client, users)
    });
    for gate in gates.iter().rev() {
        gate.wait_reached();
        gate.open();
    }
    for (client, users) in &mut clients {
        for user in *users {
            assert_eq!(client.read().text(), user);
        }
    }
}

#[test]
fn an_authorized_page_goes_to_nobody_else() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        Reply::ok().cache("max-age=60").body(whose(request))
    });
    for user in [
        Some("Basic YTpi"),
        Some("Basic Yzpk"),
        None,
        Some("Basic YTpi"),
    ] {
        let ask = larder.get("/");
        let ask = if let Some(user) = user {
            ask.header("Authorization", user)
        } else {
            ask
        };
        let text = ask.send().text();
        let public = user.is_none() || text == "nobody";
        assert!(
            public || Some(text.as_str()) == user,
            "9111 section 3.5: {user:?} got {text}"
        );
    }
}

#[test]
fn pages_that_vary_by_cookie_are_kept_apart() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        Reply::ok()
            .cache("max-age=60")
            .header("Vary", "Cookie")
            .body(whose(request))
    });
    for _ in 0..2 {
        for user in ["id=1", "id=2", "id=1; x", "ID=1"] {
            assert_eq!(larder.get("/").header("Cookie", user).send().text(), user);
        }
        assert_eq!(larder.get("/").send().text(), "nobody");
    }
}

#[test]
fn a_stale_or_failing_page_is_still_nobody_elses() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.header("cookie") {
        Some("id=2") => Reply::status(503).body("down"),
        _ => Reply::ok()
            .cache("private, max-age=60, stale-if-error=600, stale-while-revalidate=600")
            .body(whose(request)),
    });
    larder.get("/").header("Cookie", "id=1").send();
    let other = larder
        .get("/")
        .header("Cookie", "id=2")
        .header("Cache-Control", "max-stale")
        .send();
    assert_eq!((other.status, other.text().as_str()), (503, "down"));
}

#[test]
fn a_range_of_one_users_page_is_not_completed_with_anothers() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let (content, tag) = match request.header("cookie") {
            Some("id=1") => ("1111111111", "\"one\""),
            _ => ("2222222222", "\"two\""),
        };
        let reply = Reply::ok()
            .cache("max-age=60")
            .header("Vary", "Cookie")
            .header("ETag", tag);
        if request.header("if-range").is_some_and(|value| value != tag) {
            return reply.body(content);
        }
        match request.header("range") {
            Some("bytes=0-4") => range_of(tag, content, 0, 4),
            Some("bytes=5-9" | "bytes=5-") => range_of(tag, content, 5, 9),
            _ => reply.body(content),
        }
    });
    for (user, range, expected) in [
        ("id=1", "bytes=0-4", "11111"),
        ("id=2", "bytes=5-9", "22222"),
        ("id=2", "bytes=0-4", "22222"),
        ("id=1", "bytes=5-9", "11111"),
    ] {
        let answer = larder
            .get("/")
            .header("Cookie", user)
            .header("Range", range)
            .send();
        assert_eq!(answer.text(), expected, "{user} {range}");
    }
    for (user, expected) in [("id=1", "1111111111"), ("id=2", "2222222222")] {
        assert_eq!(
            larder.get("/").header("Cookie", user).send().text(),
            expected
        );
    }
}

pub(crate) fn range_of(tag: &str, content: &str, first: usize, last: usize) -> Reply {
    let reply = Reply::status(206)
        .cache("max-age=60")
        .header("Vary", "Cookie")
        .header("ETag", tag);
    reply
        .header("Content-Range", format!("bytes {first}-{last}/10"))
        .body(&content[first..=last])
}

#[test]
fn a_validation_with_one_users_tag_does_not_fetch_anothers_page() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let user = whose(request);
        let tag = format!("\"{user}\"");
        if request
            .header("if-none-match")
            .is_some_and(|tags| tags.contains(&tag))
        {
            return Reply::status(304)
                .cache("private, no-cache")
                .header("ETag", tag);
        }
        Reply::ok()
            .cache("private, no-cache")
            .header("ETag", tag)
            .body(user)
    });
    for user in ["id=1", "id=2", "id=1", "id=2"] {
        assert_eq!(larder.get("/").header("Cookie", user).send().text(), user);
    }
}

/// What was said to be public when the page was stored had no cookie.
#[test]
fn a_cookie_that_comes_with_a_validation_is_for_its_client_alone() {
    let public = "public, max-age=60";
    for (method, says, is_for_all) in [
        ("GET", None, false),
        ("GET", Some("max-age=60"), false),
        ("GET", Some(public), true),
        ("HEAD", None, false),
    ] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            let is_first = request.header("cookie").is_none();
            let reply = match request.header("if-none-match") {
                Some(_) => Reply::status(304),
                None => Reply::ok().body("the same"),
            };
            let cookie = format!("id={}", whose(request));
            let reply = reply.header("ETag", "\"a\"");
            let says = if is_first { Some(public) } else { says };
            let reply = says.map_or(reply.clone(), |says| reply.cache(says));
            if is_first {
                reply
            } else {
                reply.header("Set-Cookie", cookie)
            }
        });
        assert_eq!(larder.get("/").send().text(), "the same");
        let mut own = larder.ask(method, "/").header("Cookie", "bob");
        own = match method {
            "HEAD" => own.header("If-Match", "\"b\""),
            _ => own.header("Cache-Control", "no-cache"),
        };
        assert_eq!(
            own.send().header("set-cookie"),
            Some("id=bob"),
            "{method} {says:?}"
        );
        let other = larder.get("/").header("Cookie", "carol").send();
        assert!(other.hit(), "{method} {says:?}: {}", other.said());
        let told = is_for_all.then_some("id=bob");
        assert_eq!(other.header("set-cookie"), told, "{method} {says:?}");
    }
}

/// Two users may have the same content, with one strong tag. What was said to one beside it is not content.
#[test]
fn a_validation_with_one_users_tag_tells_nothing_that_was_said_to_another() {
    for (field, confirmed) in [
        ("set-cookie", "public, max-age=60"),
        ("set-cookie", "private"),
        ("set-cookie", "public, no-cache=\"X-A\""),
        ("access-control-allow-origin", "public, max-age=60"),
    ] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            let reply = if request.header("if-none-match").is_some() {
                Reply::status(304).cache(confirmed)
            } else {
                let reply = Reply::ok().cache("public, max-age=60").body("the same");
                reply.header(field, whose(request))
            };
            reply.header("Vary", "Cookie").header("ETag", "\"a\"")
        });
        let told = |user: &str| {
            let answer = larder.get("/").header("Cookie", user).send();
            (answer.text(), answer.header(field).map(str::to_owned))
        };
        let alices = ("the same".to_owned(), Some("alice".to_owned()));
        assert_eq!(told("alice"), alices);
        for _ in 0..2 {
            let others = ("the same".to_owned(), None);
            assert_eq!(told("bob"), others, "{field}, {confirmed}");
        }
        assert_eq!(told("alice"), alices, "{field}, {confirmed}");
    }
    // What every site may read is for everybody.
    let (origin, larder) = start();
    origin.on("/", |request| match request.header("if-none-match") {
        Some(_) => Reply::status(304)
            .cache("max-age=60")
            .header("ETag", "\"a\""),
        None => Reply::ok()
            .cache("max-age=60")
            .header("Vary", "Cookie")
            .header("ETag", "\"a\"")
            .header("Access-Control-Allow-Origin", "*"),
    });
    for user in ["alice", "bob"] {
        let answer = larder.get("/").header("Cookie", user).send();
        let readers = answer.header("access-control-allow-origin");
        assert_eq!(readers, Some("*"), "{user}: {}", answer.said());
    }
}

/// RFC 9111 sections 5.2.2.4 and 5.2.2.7: what one directive names, another that covers the whole answer does not take
/// back.
#[test]
fn fields_that_are_named_beside_a_word_for_the_whole_answer_reach_nobody_else() {
    let named = "=\"Set-Cookie, X-User\"";
    let forced = "ttl = \"60s\"\nttl_mode = \"override\"";
    for (site, directive, is_validated) in [
        ("", "no-cache", true),
        (forced, "no-cache", false),
        (forced, "private", false),
    ] {
        let bare = format!("public, max-age=60, {directive}");
        for says in [
            [bare.clone(), format!("{directive}{named}")],
            [format!("{directive}{named}"), bare],
        ] {
            let (origin, larder) = start_with(&format!(
                "[[origin]]\nservers = \"{{origin}}\"\n[defaults]\n{site}\n"
            ));
            let told = says.clone();
            origin.on("/", move |request| {
                let reply = match request.header("if-none-match") {
                    Some(_) => return Reply::status(304).header("ETag", "\"a\""),
                    None => Reply::ok().header("ETag", "\"a\"").body("the same"),
                };
                let reply = told
                    .iter()
                    .fold(reply, |reply, line| reply.header("Cache-Control", line));
                let user = whose(request);
                reply
                    .header("X-User", &user)
                    .header("Set-Cookie", format!("id={user}"))
            });
            let own = larder.get("/").header("Cookie", "alice").send();
            assert_eq!(own.header("x-user"), Some("alice"), "{says:?}");
            assert_eq!(own.header("set-cookie"), Some("id=alice"), "{says:?}");
            let other = larder.get("/").header("Cookie", "bob").send();
            assert_eq!(other.text(), "the same", "{says:?}: {}", other.said());
            assert_eq!(other.header("x-user"), None, "{says:?}: {}", other.said());
            assert_eq!(other.header("set-cookie"), None, "{says:?}");
            let asked = 1 + usize::from(is_validated);
            assert_eq!(origin.requests("/"), asked, "{says:?}: {}", other.said());
        }
    }
}

#[test]
fn connections_to_the_origin_do_not_mix_answers() {
    let (origin, larder) = start();
    origin.otherwise(|request| Reply::ok().cache("no-store").body(request.target.clone()));
    let gate = Gate::new();
    origin.reply(
        "/slow",
        Reply::ok().length(100).body("part").hold(&gate).cut(),
    );
    let slow = larder.get("/slow").begin();
    gate.wait_reached();
    drop(slow);
    gate.open();
    let clients: Vec<_> = (0..50)
        .map(|number| (number, larder.get(&format!("/{number}")).begin()))
        .collect();
    for (number, mut client) in clients {
        assert_eq!(client.read().text(), format!("/{number}"));
    }
}

#[test]
fn an_unread_request_body_does_not_become_a_request() {
    let (origin, larder) = start();
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    larder.get("/cached").send();
    let mut client = larder.client();
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    client.send(format!(
        "GET /cached HTTP/1.1\r\nHost: example.test\r\nContent-Length: {}\r\n\r\n{smuggled}",
        smuggled.len()
    ));
    client.read();
    client.get("/after").send();
    assert_eq!(origin.requests("/smuggled"), 0);
    assert_eq!(origin.requests("/after"), 1);
}

#[test]
fn in_a_crowd_each_gets_its_own_page() {
    let (origin, larder) = start();
    origin.otherwise(|request| {
        let reply = match request.target.as_bytes().last() {
            Some(b'0'..=b'3') => Reply::ok().cache("max-age=60").header("Vary", "Cookie"),
            Some(b'4'..=b'6') => Reply::ok().cache("private"),
            _ => Reply::ok()
                .cache("max-age=60")
                .header("Vary", "Cookie")
                .header("Age", "100")
                .chunked(),
        };
        let host = request.header("host").unwrap_or_default();
        reply
            .body(format!("{host}{} ", request.target))
            .body(whose(request).repeat(200))
    });
    let larder = &larder;
    let crowd = |seed: u32| {
        let (mut client, mut number) = (larder.client(), seed);
        for _ in 0..100 {
            number = number.wrapping_mul(1_103_515_245).wrapping_add(12345);
            let (page, user, host) = ((number >> 8) % 10, (number >> 16) % 4, (number >> 24) % 2);
            let (target, user, host) = (
                format!("/{page}"),
                format!("id={user}"),
                format!("{host}.test"),
            );
            let answer = client
                .get(&target)
                .header("Host", &host)
                .header("Cookie", &user)
                .send();
            assert_eq!(
                answer.text(),
                format!("{host}{target} {}", user.repeat(200))
            );
        }
    };
    std::thread::scope(|scope| {
        for seed in 0..8 {
            scope.spawn(move || crowd(seed));
        }
    });
}

#[test]
fn an_origin_that_is_down_does_not_turn_one_users_page_into_everybodys() {
    // Answers that say nothing of caching, or only what the browser needs to validate: typical pages of a user.
    for fields in [
        &[][..],
        &[("ETag", "\"mine\"")],
        &[("Set-Cookie", "s=1"), ("Cache-Control", "max-age=0")],
    ] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            crate::common::with(Reply::ok(), fields).body(whose(request))
        });
        assert_eq!(
            larder.get("/").header("Cookie", "id=1").send().text(),
            "id=1"
        );
        assert_eq!(
            larder.get("/").header("Cookie", "id=2").send().text(),
            "id=2",
            "{fields:?}"
        );
        origin.stop();
        let third = larder.get("/").header("Cookie", "id=3").send();
        assert!(
            !third.text().contains("id="),
            "{fields:?}: {} got {:?}",
            third.said(),
            third.text()
        );
    }
}

#[test]
fn pages_of_one_route_are_not_those_of_another() {
    for (matcher, name, value) in [
        ("cookie = \"beta\"", "Cookie", "beta=1"),
        ("header = \"X-Tenant: a\"", "X-Tenant", "a"),
        ("header = \"Authorization\"", "Authorization", "Basic YTpi"),
    ] {
        let (one, other) = (Origin::start(), Origin::start());
        one.otherwise(|_| Reply::ok().cache("public, max-age=60").body("one"));
        other.otherwise(|_| Reply::ok().cache("public, max-age=60").body("other"));
        let config = format!(
            "[[origin]]\nname = \"one\"\nservers = {:?}\n[[origin]]\nname = \"other\"\nservers = {:?}\n\
             [[route]]\n{matcher}\norigin = \"other\"\n[[route]]\norigin = \"one\"\n",
            one.url(),
            other.url()
        );
        let larder = crate::common::command()
            .args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .config(&config)
            .start();
        for _ in 0..2 {
            assert_eq!(
                larder.get("/").header(name, value).send().text(),
                "other",
                "{matcher}"
            );
            assert_eq!(larder.get("/").send().text(), "one", "{matcher}");
        }
        larder.ask("DELETE", "/").send();
        assert!(
            !larder.get("/").send().hit() && !larder.get("/").header(name, value).send().hit(),
            "one URI, all of it invalidated"
        );
    }
}

/// Two routes, the first with `matcher`, to origins of their own, under `defaults`.
fn two_routes(defaults: &str, matcher: &str) -> (Origin, Origin, Larder) {
    let (one, other) = (Origin::start(), Origin::start());
    one.otherwise(|_| Reply::ok().cache("public, max-age=60").body("one"));
    other.otherwise(|_| Reply::ok().cache("public, max-age=60").body("other"));
    let config = format!(
        "[defaults]\n{defaults}\n[[origin]]\nname = \"one\"\nservers = {:?}\n[[origin]]\nname = \"other\"\nservers = {:?}\n\
         [[route]]\n{matcher}\norigin = \"other\"\n[[route]]\norigin = \"one\"\n",
        one.url(),
        other.url()
    );
    let larder = crate::common::command()
        .args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
        .config(&config)
        .start();
    (one, other, larder)
}

#[test]
fn routes_that_are_chosen_by_what_is_not_keyed_share_no_pages() {
    for (defaults, matcher, theirs, ours) in [
        (
            "key = { drop = [\"beta\"] }",
            "query = \"beta\"",
            ("a.test", "/?beta=1"),
            ("a.test", "/"),
        ),
        (
            "key = { query = [\"page\"] }",
            "query = \"beta\"",
            ("a.test", "/?beta=1"),
            ("a.test", "/"),
        ),
        (
            "origin_host = \"app.test\"\nkey = { host = false }",
            "host = \"a.test\"",
            ("a.test", "/"),
            ("b.test", "/"),
        ),
    ] {
        let (_one, _other, larder) = two_routes(defaults, matcher);
        for _ in 0..2 {
            for ((host, target), expected) in [(theirs, "other"), (ours, "one")] {
                let page = larder.get(target).header("Host", host).send();
                assert_eq!(page.text(), expected, "{defaults}, {matcher}");
            }
        }
        larder.ask("DELETE", ours.1).header("Host", ours.0).send();
        larder
            .ask("DELETE", theirs.1)
            .header("Host", theirs.0)
            .send();
        for (host, target) in [theirs, ours] {
            assert!(
                !larder.get(target).header("Host", host).send().hit(),
                "{matcher}"
            );
        }
    }
}

#[test]
fn groups_go_with_what_a_route_by_host_keeps_for_itself() {
    let origin = Origin::start();
    origin.otherwise(|_| {
        Reply::ok()
            .cache("public, max-age=60")
            .header("Cache-Groups", "\"front\"")
            .body("x")
    });
    let config = format!(
        "[defaults]\norigin_host = \"app.test\"\nkey = {{ host = false }}\n[[origin]]\nservers = {:?}\n[[route]]\nhost = \"a.test\"\n[[route]]\n",
        origin.url()
    );
    let larder = crate::common::command()
        .args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
        .config(&config)
        .start();
    let get = |target| larder.get(target).header("Host", "a.test").send();
    for target in ["/x", "/y", "/y"] {
        get(target);
    }
    assert!(get("/y").hit());
    larder.ask("POST", "/x").header("Host", "a.test").send();
    assert!(!get("/y").hit(), "9875 section 2.2.1");
}

#[test]
fn a_query_takes_its_route_however_it_is_encoded() {
    let (_one, _other, larder) = two_routes("", "query = \"beta\"");
    for target in ["/?%62eta=1", "/?beta=1", "/?bet%61=1"] {
        assert_eq!(larder.get(target).send().text(), "other", "{target}");
    }
    assert!(larder.get("/?b%65ta=1").send().hit());
}

#[test]
fn keyed_cookies_that_are_no_text_are_told_apart() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nkey = { cookies = \"city\" }\n",
    );
    origin.reply("/", Reply::ok().cache("public, max-age=60").body("a city"));
    let ask = |city: &[u8]| {
        let mut client = Client::connect(larder.address());
        client.send(
            [
                b"GET / HTTP/1.1\r\nHost: a.test\r\nCookie: city=",
                city,
                b"\r\n\r\n",
            ]
            .concat(),
        );
        client.read()
    };
    for (city, hit) in [(b"K\xF6ln", false), (b"K\xE4ln", false), (b"K\xF6ln", true)] {
        assert_eq!(ask(city).hit(), hit, "{city:?}");
    }
}

/// Workers use memory again for what they read and write: nothing of one client's request or answer may be in what
/// comes next.
#[test]
fn what_is_read_and_written_leaves_nothing_behind() {
    let origin = Origin::start();
    let larder = serve(&origin).args(["--workers", "1"]).start();
    let long = "s".repeat(3000);
    let told = Reply::ok()
        .cache("max-age=60")
        .header("X-Secret-Answer", &long);
    origin.reply("/kept", told.body(&long));
    origin.otherwise(|request| {
        let fields = format!("{:?}", request.head);
        Reply::ok().cache("no-store").body(fields)
    });
    let (mut one, mut other) = (larder.client(), larder.client());
    for _ in 0..3 {
        let hit = one.get("/kept").header("X-Secret", &long).send();
        assert_eq!(hit.text(), long);
        let seen = other.get("/seen").send();
        let all = format!("{:?} {}", seen.head, seen.text());
        assert!(!all.to_ascii_lowercase().contains("secret"), "{all}");
        assert!(!all.contains("ssss"), "{all}");
        let short = other.ask("HEAD", "/kept").send();
        assert_eq!((short.status, short.body.len()), (200, 0));
    }
}

/// What a request's fields were read to serves the next that has the same: after misses that wait for the origin at
/// once, too. Each is forwarded as its own client wrote it.
#[test]
fn fields_of_requests_that_wait_together_do_not_change_places() {
    let (origin, larder) = start_with(
        r#"
        workers = 1
        [[origin]]
        servers = "{origin}"
        [[route]]
        path = "/aside/*"
        key = { drop_cookies = true }
        [[route]]
        path = "/keyed/*"
        key = { cookies = ["id"], drop_cookies = true }
        [[route]]
        "#,
    );
    let gate = Gate::new();
    let held = gate.clone();
    origin.otherwise(move |request| {
        let told =
            ["x-user", "cookie"].map(|name| request.header(name).unwrap_or("none").to_owned());
        let reply = Reply::ok().cache("no-store").body(told.join(" "));
        match request.target.as_str() {
            "/held" => reply.hold_head(&held),
            _ => reply,
        }
    });
    let ask = |target: &str, user: &str| {
        format!(
            "GET {target} HTTP/1.1\r\nHost: a\r\nX-User: {user}\r\nCookie: id={user}; more={user}\r\n\r\n"
        )
    };
    // From now on nobody waits for another's answer.
    for target in ["/held", "/aside/", "/keyed/", "/free"] {
        let mut client = larder.client();
        client.send(ask(target, "0"));
        if target == "/held" {
            gate.wait_reached();
            gate.open();
        }
        client.read();
    }
    for round in 0..20 {
        let mut clients: Vec<_> = (0..6).map(|_| larder.client()).collect();
        let target = ["/held", "/aside/", "/keyed/", "/free"][round % 4];
        for (number, client) in clients.iter_mut().enumerate() {
            client.send(ask(target, &(number % 3).to_string()));
        }
        for (number, client) in clients.iter_mut().enumerate() {
            let user = number % 3;
            let cookie = match target {
                "/aside/" => "none".to_owned(),
                "/keyed/" => format!("id={user}"),
                _ => format!("id={user}; more={user}"),
            };
            assert_eq!(client.read().text(), format!("{user} {cookie}"), "{target}");
        }
    }
}

/// Applications resolve dot segments, merge slashes, decode them, or leave parameters out: what is closed must not be
/// kept for everybody under another spelling.
#[test]
fn a_closed_path_in_another_spelling_is_not_kept() {
    let closed_by = [
        "[[route]]\npath = \"/admin/*\"\ncache = false",
        "[[route]]\n[route.bypass]\npaths = [\"/admin/*\"]",
        "[[route]]\npath = \"/admin/*\"\n[route.key]\ncookies = [\"auth\"]",
    ];
    for closed in closed_by {
        let config =
            format!("[[origin]]\nservers = \"{{origin}}\"\n[defaults]\nttl = \"10m\"\n{closed}\n");
        let (origin, larder) = start_with(&config);
        origin.otherwise(|request| match request.header("cookie") {
            Some("auth=1") => Reply::ok().body("for the administrator"),
            _ => Reply::status(403).body("closed"),
        });
        for path in [
            "//admin/y",
            "/x/../admin/y",
            "/./admin/y",
            "/x/%2e%2E/admin/y",
            "/x%2f..%2Fadmin/y",
            "/..;/admin/y",
            "/;a/admin;b/y",
            "/x\\..\\admin/y",
        ] {
            let get = || larder.get(path);
            let admin = get().header("Cookie", "auth=1").send();
            assert_eq!(admin.text(), "for the administrator", "{path}");
            let other = get().send();
            assert_eq!(other.text(), "closed", "{closed}: {path}: {}", other.said());
            assert!(
                other.said().contains("detail=path"),
                "{path}: {}",
                other.said()
            );
        }
        let open = larder.get("/open/./page").header("Cookie", "auth=1").send();
        assert_eq!(open.text(), "for the administrator");
        assert!(
            larder.get("/open/./page").send().hit(),
            "the same route either way"
        );
    }
}

/// A `HEAD` on a condition that what is stored does not meet goes to the origin, with all that its sender brings.
#[test]
fn a_head_for_one_says_nothing_to_others() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nbypass.misses_with = [\"csrf\"]\nkey.drop = [\"utm_*\"]\n",
    );
    origin.otherwise(|request| {
        let reply = Reply::ok().cache("max-age=60").header("ETag", "\"a\"");
        let told = format!("{} {}", request.target, whose(request));
        reply.header("X-For", told).body("page")
    });
    assert_eq!(larder.get("/a").send().header("x-for"), Some("/a nobody"));
    for (target, cookie) in [("/a", "csrf=alice"), ("/a?utm_source=evil", "")] {
        let ask = larder.ask("HEAD", target).header("If-Match", "\"b\"");
        let ask = if cookie.is_empty() {
            ask
        } else {
            ask.header("Cookie", cookie)
        };
        assert_ne!(ask.send().header("x-for"), Some("/a nobody"));
        let answer = larder.get("/a").send();
        assert!(answer.hit(), "{}", answer.said());
        assert_eq!(answer.header("x-for"), Some("/a nobody"), "{target}");
    }
}

/// RFC 9110 section 9.3.3: a POST's answer is the page's where its target is.
#[test]
fn a_post_with_what_is_not_keyed_is_not_stored_as_the_page() {
    let (origin, larder) =
        start_with("[[origin]]\nservers = \"{origin}\"\n[defaults]\nkey.drop = [\"utm_*\"]\n");
    origin.otherwise(|request| {
        let reply = Reply::ok().cache("max-age=60");
        reply.header("Content-Location", "/a").body(&request.target)
    });
    let posted = larder.ask("POST", "/a?utm_source=evil").body("x").send();
    assert!(!posted.says("stored"), "{}", posted.said());
    assert_eq!(larder.get("/a").send().text(), "/a");
    let posted = larder.ask("POST", "/b?c").body("x").send();
    assert!(!posted.says("stored"), "of another target");
    let posted = larder.ask("POST", "/%61").body("x").send();
    assert!(
        posted.says("stored"),
        "of another spelling: {}",
        posted.said()
    );
}

#[test]
fn what_connection_takes_from_the_key_is_stored_for_nobody() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n\
         [defaults]\nkey = { scheme = false, headers = [\"X-Forwarded-Proto\"] }\n",
    );
    origin.otherwise(|request| {
        let told = request.header("x-forwarded-proto").unwrap_or("none");
        Reply::ok().cache("max-age=60").body(told)
    });
    let ask = || larder.get("/").header("X-Forwarded-Proto", "https");
    let attack = ask().header("Connection", "X-Forwarded-Proto").send();
    assert_eq!(attack.text(), "none");
    assert_eq!(ask().send().text(), "https");
}

/// A trusted proxy says for whom it asks, and the application varies its page by that: nobody else gets it by saying
/// the same, and what it made for a stranger is not the proxy's.
#[test]
fn what_a_trusted_proxy_says_chooses_a_variant_for_it_alone() {
    let origin = Origin::start();
    let config = "admin = \"127.0.0.1:0\"\ntrusted = \"127.0.0.2\"\n\
         [[listen]]\naddress = \"127.0.0.1:0\"\nproxy_protocol = \"127.0.0.1\"\n\
         [[origin]]\nservers = \"{origin}\"\n";
    let larder = command()
        .args(["serve"])
        .config(&config.replace("{origin}", &origin.url()))
        .start();
    origin.otherwise(|request| {
        let told = request.header("x-forwarded-host").unwrap_or("nobody");
        let reply = Reply::ok().cache("max-age=60");
        reply.header("Vary", "X-Forwarded-Host").body(told)
    });
    let ask = |from: &str, path: &str, host: &str| {
        let mut client = larder.client();
        client.send(format!(
            "PROXY TCP4 {from} 127.0.0.1 1 2\r\nGET {path} HTTP/1.1\r\nHost: own.test\r\nX-Forwarded-Host: {host}\r\n\r\n"
        ));
        client.read().text()
    };
    let (proxy, stranger) = ("127.0.0.2", "127.0.0.3");
    assert_eq!(ask(proxy, "/a", "tenant.test"), "tenant.test");
    assert_eq!(ask(stranger, "/a", "tenant.test"), "own.test");
    assert_eq!(ask(stranger, "/b", "tenant.test"), "own.test");
    assert_eq!(ask(proxy, "/b", "tenant.test"), "tenant.test");
}
