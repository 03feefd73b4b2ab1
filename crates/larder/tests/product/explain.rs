//! `larder explain` says what happens to the request that it is asked about.

use crate::{
    admin::explain,
    common::{Said, command, sample, start_with},
    purge::purge,
    static_root::{folder, serve_with},
};
use serde_json::json;
use testkit::{Address, Finished, Gate, Larder, Reply, date, wait_until};

fn ask(larder: &Larder, url: &str, lines: &[(&str, &str)]) -> Finished {
    let Address::Tcp(admin) = larder.admin() else {
        panic!("a TCP address")
    };
    let lines = lines.iter().map(|(name, value)| format!("{name}: {value}"));
    let flags = lines.flat_map(|line| ["--header".to_owned(), line]);
    let known = ["explain", url, "--admin", &admin.to_string()].map(str::to_owned);
    command().args(known).args(flags).run()
}

pub(crate) fn explained(larder: &Larder, url: &str, lines: &[(&str, &str)]) -> String {
    let finished = ask(larder, url, lines);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    finished.stdout
}

/// No route sees them: a listener answers, with the same reason.
#[test]
fn what_a_listener_refuses_is_not_answered_from_anywhere() {
    let (origin, larder) = start_with(
        "[limits]\ntarget_length = \"100B\"\nheader_count = 16\nheader_size = \"8KiB\"\n\
         [[origin]]\nservers = \"{origin}\"\n",
    );
    origin.otherwise(|_| Reply::ok().cache("max-age=60"));
    let path = |length: usize| format!("/{}", "a".repeat(length - 1));
    let names: Vec<String> = (0..16).map(|number| format!("X-{number}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
    let long = "c".repeat(8 << 10);
    let long = [("Cookie", long.as_str())];
    for (path, lines, status, said) in [
        (path(100), &many[..13], 200, "from the origin"),
        (path(101), &[], 414, "Larder itself: its path and query"),
        (
            "/b".to_owned(),
            &many,
            431,
            "Larder itself: it has more fields",
        ),
        (
            "/c".to_owned(),
            &long,
            431,
            "Larder itself: its first line and fields",
        ),
    ] {
        let told = explained(&larder, &format!("http://a.test{path}"), lines);
        assert!(told.contains(said), "{path}: {told}");
        let asked = lines
            .iter()
            .fold(larder.get(&path), |asked, (name, value)| {
                asked.header(name, value)
            });
        assert_eq!(asked.send().status, status, "{path}");
    }
}

/// Nobody has configured the second for which a file holds.
#[test]
fn the_second_of_a_folder_is_not_the_configurations() {
    let root = folder(&[("a.css", b"a")]);
    for (more, source) in [
        ("", "lifetime 1.0s: how long a file"),
        ("defaults.ttl = \"1h\"", "lifetime 1h: the configuration's"),
    ] {
        let larder = serve_with(&root, more);
        larder.get("/a.css").send();
        let said = explained(&larder, "http://example.test/a.css", &[]);
        assert!(said.contains(source), "{more}: {said}");
    }
}

#[test]
fn a_request_is_answered_from_where_it_is_said_to_be() {
    let (origin, larder) =
        start_with("[purge]\nallow = \"127.0.0.1\"\n[[origin]]\nservers = \"{origin}\"\n");
    let (old, older, new) = (date(-1000), date(-2000), date(-500));
    origin.otherwise(move |request| {
        let reply = match request.header("range") {
            Some("bytes=0-4") => Reply::status(206)
                .header("Content-Range", "bytes 0-4/10")
                .body("01234"),
            _ => Reply::ok().body("0123456789"),
        };
        let reply = reply.cache("max-age=60").header("ETag", "\"a\"");
        reply.header("Last-Modified", &old)
    });
    let mut number = 0;
    let mut part_of = || {
        number += 1;
        let path = format!("/parts/{number}");
        larder.get(&path).header("Range", "bytes=0-4").send();
        path
    };
    larder.get("/page").send();
    for (path, lines, from_memory) in [
        ("/page", &[][..], true),
        ("/page", &[("If-Match", "\"a\"")], true),
        ("/page", &[("If-Match", "\"z\"")], false),
        ("/page", &[("If-Unmodified-Since", &*new)], true),
        ("/page", &[("If-Unmodified-Since", &*older)], false),
        ("/page", &[("If-None-Match", "\"a\"")], true),
        (
            "/page",
            &[("Connection", "upgrade"), ("Upgrade", "websocket")],
            false,
        ),
        (
            "/page",
            &[("Connection", "upgrade, x"), ("Upgrade", "h2c")],
            true,
        ),
        ("/page", &[("X-Refresh", "1")], false),
        (
            "/page",
            &[("X-Refresh", "1"), ("X-Forwarded-For", "192.0.2.1")],
            true,
        ),
        ("/parts", &[("Range", "bytes=0-4")], true),
        ("/parts", &[], false),
        ("/parts", &[("Range", "bytes=0-1")], true),
        ("/parts", &[("Range", "bytes=3-6")], false),
        (
            "/parts",
            &[("Range", "bytes=0-1"), ("If-Range", "\"z\"")],
            false,
        ),
    ] {
        let path = if path == "/parts" {
            part_of()
        } else {
            path.to_owned()
        };
        let told = explained(&larder, &format!("http://example.test{path}"), lines);
        let said_so = told.contains("A GET now is answered from memory");
        assert_eq!(said_so, from_memory, "{path} {lines:?}: {told}");
        let ask = lines.iter().fold(larder.get(&path), |ask, (name, value)| {
            ask.header(name, value)
        });
        let answer = ask.send();
        assert_eq!(
            answer.hit(),
            from_memory,
            "{path} {lines:?}: {}",
            answer.said()
        );
    }
}

/// On a route with groups the field stands for what the application is asked, and would say.
#[test]
fn who_names_a_group_is_said_to_be_refused_where_a_client_is() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[[route]]\npath = \"/page\"\nuser_context = \"/group\"\n",
    );
    origin.otherwise(|_| Reply::ok().cache("max-age=60").body("x"));
    for path in ["/page", "/other"] {
        larder.get(path).send();
    }
    let hash = "X-User-Context-Hash";
    let kind = "application/vnd.fos.user-context-hash";
    for (path, name, value, refused) in [
        ("/other", "X-Other", "editors", false),
        ("/other", hash, "editors", true),
        ("/other", "X_User-Context-Hash", "editors", true),
        ("/other", "Accept", kind, true),
        ("/page", hash, "editors", false),
        ("/page", "X_User-Context-Hash", "editors", true),
        ("/page", "Accept", kind, true),
    ] {
        let told = explained(
            &larder,
            &format!("http://example.test{path}"),
            &[(name, value)],
        );
        let from = if refused {
            "by Larder itself: it names or asks for a group"
        } else {
            "from memory"
        };
        assert!(told.contains(from), "{path} {name}: {told}");
        if refused || path == "/other" {
            let answer = larder.get(path).header(name, value).send();
            let status = if refused { 400 } else { 200 };
            assert_eq!(answer.status, status, "{path} {name}");
        }
    }
}

/// What only the application may judge is not answered in its place, and a path that it may read otherwise is no rule
/// of the site's.
#[test]
fn what_only_the_application_can_say_is_told_so() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[[route]]\npath = \"/admin/*\"\ncache = false\n[[route]]\n",
    );
    let page = Reply::ok().cache("max-age=60").header("ETag", "\"a\"");
    origin.reply("/page", page.header("Vary", "Accept-Encoding").body("x"));
    larder.get("/page").send();
    let url = "http://example.test/page";
    let stands_in = "the stored response is sent instead";
    let plain = explained(&larder, url, &[("Cache-Control", "no-cache")]);
    assert!(
        plain.contains(stands_in) && plain.contains("no Vary except on codings"),
        "{plain}"
    );
    let told = explained(&larder, url, &[("If-Match", "\"q\"")]);
    assert!(!told.contains(stands_in), "{told}");
    let other = larder.get("//admin/x").send();
    assert_eq!(other.parameter("detail").as_deref(), Some("path-ambiguous"));
    origin.stop();
    assert_eq!(
        larder
            .get("/page")
            .header("If-Match", "\"q\"")
            .send()
            .status,
        502
    );
    for path in ["//admin/x", "/%u0061dmin/x"] {
        let told = explained(&larder, &format!("http://example.test{path}"), &[]);
        assert!(told.contains("leads to another route"), "{told}");
    }
}

/// Where `Cache-Status` says `stored` since nobody could know better yet, too.
#[test]
fn an_answer_that_did_not_come_is_told_of() {
    let (origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
    let half = Reply::ok().cache("max-age=60").length(9).body("half").cut();
    origin.reply("/half", half);
    origin.reply("/none", Reply::close());
    origin.reply("/odd", Reply::raw("no HTTP at all\r\n\r\n"));
    for (path, words) in [
        ("/half", "the answer was cut short"),
        ("/none", "the answer was cut short"),
        ("/odd", "the answer cannot be read as HTTP"),
    ] {
        larder.get(path).send();
        let url = format!("http://example.test{path}");
        wait_until("it is told of", || {
            let told = explained(&larder, &url, &[]);
            told.contains(&format!("The last fetch for it failed: {words}"))
        });
    }
    origin.reply("/half", Reply::ok().cache("max-age=60").body("whole"));
    larder.get("/half").send();
    let told = explained(&larder, "http://example.test/half", &[]);
    assert!(told.contains("is answered from memory"), "{told}");
}

#[test]
fn what_larder_answers_by_itself_is_no_origins() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n\
         [[route]]\npath = \"/secure\"\nredirect_https = true\n[[route]]\n",
    );
    origin.otherwise(|_| Reply::ok().cache("max-age=60").body("x"));
    let told = explained(&larder, "http://example.test/secure", &[]);
    assert!(
        told.contains("answered by Larder itself: it is redirected to https"),
        "{told}"
    );
    assert_eq!(larder.get("/secure").send().status, 301);
    let told = explained(&larder, "https://example.test/secure", &[]);
    assert!(told.contains("answered from the origin"), "{told}");
    let only = [("Cache-Control", "only-if-cached")];
    let told = explained(&larder, "http://example.test/a", &only);
    assert!(
        told.contains("answered by Larder itself: the request accepts only"),
        "{told}"
    );
    let (name, value) = only[0];
    assert_eq!(larder.get("/a").header(name, value).send().status, 504);
}

#[test]
fn who_wants_only_what_is_stored_is_told_of_no_origin() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nbypass.misses_with = \"form\"\n",
    );
    let page = Reply::ok().cache("max-age=60").header("ETag", "\"e\"");
    origin.otherwise(move |_| page.clone().body("x"));
    larder.get("/stored").send();
    let only = ("Cache-Control", "only-if-cached");
    for (path, line) in [
        ("/stored", ("If-Match", "\"q\"")),
        ("/new", ("If-Match", "\"q\"")),
        (
            "/new",
            ("If-Unmodified-Since", "Wed, 21 Oct 2015 07:28:00 GMT"),
        ),
        ("/new", ("Cookie", "form=1")),
    ] {
        let told = explained(
            &larder,
            &format!("http://example.test{path}"),
            &[only, line],
        );
        let what = "answered by Larder itself: the request accepts only";
        assert!(told.contains(what), "{path} {line:?}: {told}");
        let asked = larder.get(path).header(only.0, only.1);
        let answer = asked.header(line.0, line.1).send();
        assert_eq!(answer.status, 504, "{path} {line:?}");
    }
    assert_eq!(origin.requests("/new"), 0);
}

/// No stored response answers that.
#[test]
fn a_request_with_content_is_explained_as_one() {
    let (origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
    origin.reply("/", Reply::ok().cache("max-age=60").body("x"));
    larder.get("/").send();
    for (name, value, bypasses) in [
        ("Content-Length", "5", true),
        ("Transfer-Encoding", "chunked", true),
        ("Content-Length", "0", false),
    ] {
        let told = explained(&larder, "http://example.test/", &[(name, value)]);
        let says = told.contains("it has content, and only the application knows");
        assert_eq!(says, bypasses, "{name}: {value}: {told}");
        assert_ne!(told.contains("is answered from memory"), bypasses, "{told}");
    }
    let answer = larder.get("/").body("12345").send();
    assert!(answer.said().ends_with("fwd=bypass; detail=content"));
}

#[test]
fn routes_for_some_clients_are_told_of_where_no_client_is_named() {
    let (_origin, larder) = start_with(
        "trusted = \"127.0.0.1\"\n[[origin]]\nservers = \"{origin}\"\n\
         [[route]]\nname = \"staff\"\nclient = \"192.0.2.0/24\"\n[[route]]\nname = \"all\"\n",
    );
    let url = "http://example.test/";
    let told = explained(&larder, url, &[]);
    let hint = "Route `staff` is only for some clients: name one with --header 'X-Forwarded-For: ADDRESS'.";
    assert!(told.contains("route  all") && told.contains(hint), "{told}");
    for (client, route) in [("192.0.2.9", "staff"), ("198.51.100.1", "all")] {
        let told = explained(&larder, url, &[("X-Forwarded-For", client)]);
        assert!(
            told.contains(&format!("route  {route}")) && !told.contains(hint),
            "{told}"
        );
    }
}

#[test]
fn what_no_client_can_ask_for_is_not_explained() {
    let (_origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
    for url in [
        "ftp://example.test/",
        "http://example.test/a b",
        "http://exa mple.test/",
        "http:///a",
        "http://example.test/\u{7f}",
    ] {
        let finished = ask(&larder, url, &[]);
        assert_ne!(finished.code, Some(0), "{url}: {}", finished.stdout);
        assert!(
            finished
                .stderr
                .contains("is not a URL that a client could ask for"),
            "{}",
            finished.stderr
        );
    }
    // As a client's library would send it.
    for url in [
        "HTTP://Example.test/%7ea",
        "http://example.test/caf\u{e9}?q=\"a\"",
        "example.test",
    ] {
        explain(&larder, url);
    }
}

/// The documented way to HTTPS: a listener of its own that sends everybody on.
#[test]
fn a_listener_that_sends_clients_on_is_told_of() {
    let listener = |redirects: &str| format!("[[listen]]\naddress = \"127.0.0.1:0\"\n{redirects}");
    let redirects = listener("redirect_https = 443\n");
    let serve = |listeners: &str| {
        command()
            .args(["serve"])
            .config(&format!(
                "admin = \"127.0.0.1:0\"\n{listeners}[[origin]]\nservers = \"http://127.0.0.1:9\"\n"
            ))
            .start()
    };
    let sent = "answered by Larder itself: it is redirected to https";
    let larder = serve(&redirects);
    let told = explained(&larder, "http://example.test/a", &[]);
    assert!(told.contains(sent), "{told}");
    let told = explained(&larder, "https://example.test/a", &[]);
    assert!(told.contains("answered from the origin"), "{told}");
    // Where another listener answers, the port of the URL says which one is meant.
    let larder = serve(&format!("{redirects}{}", listener("")));
    let [first, second] = larder.listeners() else {
        panic!("two listeners");
    };
    let told = explained(&larder, &format!("{first}/a"), &[]);
    assert!(told.contains(sent), "{told}");
    for url in [format!("{second}/a"), "http://example.test/a".to_owned()] {
        let told = explained(&larder, &url, &[]);
        assert!(told.contains("answered from the origin"), "{url}: {told}");
    }
}

#[test]
fn what_passes_by_without_a_rule_of_the_site_is_not_laid_to_it() {
    let (_origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[[route]]\npath = \"/off\"\ncache = false\n\
         [[route]]\npath = \"/graphql\"\n[route.graphql]\noperation = [{ name = \"Own\", cache = false }]\n",
    );
    for (query, said, is_rule) in [
        ("query=mutation%7Bx%7D", "it is a mutation", false),
        ("query=%7B", "is not what it claims to be", false),
        ("query=query%20Own%7Bx%7D", "this GraphQL operation", true),
    ] {
        let url = format!("http://example.test/graphql?{query}");
        let told = explained(&larder, &url, &[]);
        let is_laid_to_site = told.contains("the configuration lets");
        assert!(told.contains(said) && is_laid_to_site == is_rule, "{told}");
    }
    let url = "http://example.test/a";
    for (lines, said) in [
        (
            &[("Connection", "Cookie"), ("Cookie", "a=1")][..],
            "its Connection names end-to-end fields",
        ),
        (
            &[("Connection", "upgrade"), ("Upgrade", "websocket")],
            "wants to switch protocols",
        ),
    ] {
        let told = explained(&larder, url, lines);
        assert!(
            told.contains(said) && !told.contains("the configuration lets"),
            "{told}"
        );
    }
    let only = [("Cache-Control", "only-if-cached")];
    let told = explained(&larder, "http://example.test/off", &only);
    assert!(
        told.contains("answered by Larder itself") && told.contains("504"),
        "{told}"
    );
    let (name, value) = only[0];
    assert_eq!(larder.get("/off").header(name, value).send().status, 504);
}

/// Before and after somebody asked for it.
#[test]
fn a_soft_purge_is_told_of() {
    let (origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
    origin.otherwise(|request| match request.nth {
        1 => Reply::ok()
            .cache("max-age=3600, stale-while-revalidate=3600, stale-if-error=3600")
            .body("x"),
        _ => Reply::status(503).body("down"),
    });
    let Address::Tcp(admin) = larder.admin() else {
        panic!("a TCP address")
    };
    larder.get("/a").send();
    let url = "http://example.test/a";
    let purge = [
        "purge",
        url,
        "--soft",
        "--admin",
        &format!("localhost:{}", admin.port()),
    ];
    let purged = command().args(purge.map(str::to_owned)).run();
    assert_eq!(purged.code, Some(0), "{}", purged.stderr);
    for _ in 0..2 {
        let told = explained(&larder, url, &[]);
        assert!(told.contains(": a soft purge ended it"), "{told}");
        assert_eq!(larder.get("/a").send().text(), "x");
    }
}

#[test]
fn an_origin_that_is_known_to_be_down_is_told_of() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n\
         health = { path = \"/health\", every = \"100ms\", timeout = \"1m\", healthy_after = 1, unhealthy_after = 1 }\n",
    );
    origin.otherwise(|_| {
        Reply::ok()
            .cache("max-age=60")
            .header("Age", "100")
            .body("x")
    });
    // A check that came before the origin knew its answers took the server out until the next.
    let checked = origin.requests("/health");
    wait_until("a check was answered, and another has begun", || {
        origin.requests("/health") >= checked + 2
    });
    assert_eq!(larder.get("/page").send().text(), "x");
    let url = |path: &str| format!("http://example.test{path}");
    let told = explained(&larder, &url("/page"), &[]);
    assert!(
        told.contains("A GET now is answered from the origin"),
        "{told}"
    );
    origin.reply("/health", Reply::status(503));
    let named = format!(
        "larder_server_healthy{{origin=\"origin\",server=\"{}\"}}",
        origin.url().trim_start_matches("http://")
    );
    wait_until("it is known to be down", || sample(&larder, &named) == 0);
    for (path, status, words) in [
        ("/page", 200, "A GET now is answered from memory: "),
        ("/other", 503, "A GET now is answered with 503: "),
    ] {
        let told = explained(&larder, &url(path), &[]);
        let reason = "health checks found every server of the origin down";
        assert!(told.contains(words) && told.contains(reason), "{told}");
        let answer = larder.get(path).send();
        let detail = answer.parameter("detail");
        let said = (answer.status, detail.as_deref());
        assert_eq!(said, (status, Some("no-healthy-server")));
    }
}

/// What nobody lists as an error does not bring the stored response back.
#[test]
fn the_statuses_that_a_site_lists_as_errors_are_told() {
    let stale = "defaults.stale = { if_error = \"1d\", statuses = [\"404\", \"429\"] }";
    let (origin, larder) = start_with(&format!("{stale}\n[[origin]]\nservers = \"{{origin}}\"\n"));
    origin.on("/a", |_| Reply::ok().cache("max-age=600"));
    larder.get("/a").send();
    let said = explained(&larder, "http://example.test/a", &[]);
    let told = "for 1day if the origin cannot be reached, or the origin answers with 404 or 429\n";
    assert!(said.contains(told), "{said}");
}

#[test]
fn what_was_purged_while_it_was_fetched_is_told_of() {
    let (origin, larder) = start_with("[[origin]]\nservers = \"{origin}\"\n");
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/page", move |_| {
        Reply::ok().cache("max-age=60").hold_head(&held).body("x")
    });
    let mut client = larder.get("/page").begin();
    gate.wait_reached();
    let url = "http://example.test/page";
    purge(&larder, &json!({ "url": url }));
    gate.open();
    let answer = client.read();
    assert_eq!(answer.parameter("detail").as_deref(), Some("invalidated"));
    let told = explained(&larder, url, &[]);
    let words = "was not stored: a purge, an unsafe request or a cache group covered it";
    assert!(told.contains(words), "{told}");
}

#[test]
fn who_may_have_it_fetched_is_told() {
    let (origin, larder) =
        start_with("[defaults]\nclient_may_force = false\n[[origin]]\nservers = \"{origin}\"\n");
    origin.otherwise(|_| Reply::ok().cache("max-age=60").body("x"));
    larder.get("/page").send();
    let no_cache = ("Cache-Control", "no-cache");
    let another = ("X-Forwarded-For", "192.0.2.1");
    for (lines, is_told) in [
        (&[no_cache][..], true),
        (&[no_cache, another], false),
        (&[], false),
    ] {
        let told = explained(&larder, "http://example.test/page", lines);
        assert!(told.contains("A GET now is answered from memory"), "{told}");
        let words = "Its no-cache forces a fetch only for clients that may purge";
        assert_eq!(told.contains(words), is_told, "{lines:?}: {told}");
    }
    let ask = |(name, value)| larder.get("/page").header(name, value);
    assert!(ask(no_cache).header(another.0, another.1).send().hit());
    assert!(!ask(no_cache).send().hit(), "from this machine");
}

/// They never reach a route, and no origin.
#[test]
fn what_is_for_the_cache_itself_is_told() {
    let (origin, larder) = start_with(
        "admin = \"127.0.0.1:0\"\n[purge]\nget_prefix = \"/purge\"\nsouin = \"/souin-api/souin\"\n\
         [[origin]]\nservers = \"{origin}\"\n[[route]]\npath = \"/purge/*\"\nrefuse = \"403\"\n",
    );
    for (path, told) in [
        ("/purge/a?b", "by Larder itself: it purges the path"),
        ("/%70urge/a", "by Larder itself: it purges the path"),
        ("/souin-api/souin", "by Larder itself: it asks for the list"),
        ("/purge", "from the origin"),
        ("/souin-api/souin/a", "from the origin"),
    ] {
        let said = explained(&larder, &format!("http://a.test{path}"), &[]);
        assert!(said.contains(told), "{path}: {said}");
    }
    assert_eq!(origin.all().len(), 0);
}
