//! What is under way while a reload changes the rules.

use crate::common::{Said, counted, reload_as, sample};
use testkit::{Gate, Larder, Origin, Reply, Request, wait_until};

/// One worker before this origin, with these defaults: once it has answered a request, it has begun with all before that.
fn before(origin: &Origin, defaults: &str) -> String {
    let url = origin.url();
    format!("workers = 1\n[[origin]]\nservers = {url:?}\n[defaults]\n{defaults}\n")
}

fn start(config: &str) -> Larder {
    testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(config)
        .start()
}

/// RFC 9111 section 4.4: its success makes invalid what was stored meanwhile, under whatever key, and what will be found
/// again if the change is taken back.
#[test]
fn a_post_invalidates_what_both_configurations_key() {
    let changes = ["query = \"none\"", "sort = true", "host = false"];
    let rows = changes.map(|change| {
        let change = match change {
            "host = false" => "key.host = false\norigin_host = \"a.example\"".to_owned(),
            change => format!("key.{change}"),
        };
        [(String::new(), change.clone()), (change, String::new())]
    });
    for (then, now) in rows.into_iter().flatten() {
        let (origin, gate) = (Origin::start(), Gate::new());
        let held = gate.clone();
        for path in ["/page", "/other"] {
            let held = held.clone();
            origin.on(path, move |request| match request.method.as_str() {
                "POST" => Reply::ok()
                    .header("Location", "/other?b=1&a=2")
                    .hold_head(&held),
                _ => counted(request).cache("max-age=600"),
            });
        }
        let (then, now) = (before(&origin, &then), before(&origin, &now));
        let larder = start(&then);
        let pages = ["/page?b=1&a=2", "/other?b=1&a=2"];
        let keep = || {
            for page in pages {
                larder.get(page).send();
                assert!(larder.get(page).send().hit(), "{page}: {now}");
            }
        };
        let is_gone = || pages.map(|page| !larder.get(page).send().hit());
        keep();
        let mut post = larder.ask("POST", pages[0]).begin();
        gate.wait_reached();
        reload_as(&larder, &now, "2");
        keep();
        gate.open();
        assert_eq!(post.read().status, 200);
        assert_eq!(is_gone(), [true; 2], "{now}");
        reload_as(&larder, &then, "3");
        assert_eq!(is_gone(), [true; 2], "{then}");
    }
}

fn who(request: &Request) -> String {
    request.header("x-who").unwrap_or("nobody").to_owned()
}

/// A site that stores cookies, in which who waits for another's fetch waits for ever.
const THEN: &str = "collapse_wait = \"1h\"\nset_cookie = \"store\"\n";

/// Who comes after the reload neither waits for such a fetch nor gets what it brings. Who waits for it already does.
#[test]
fn a_fetch_that_a_reload_overrules_is_for_those_who_asked_before() {
    for change in [
        "bypass.sets = [\"sid\"]",
        "bypass.cookies = [\"s\"]",
        "key.drop_cookies = true",
        "request_headers.remove = [\"Cookie\"]",
        "ttl = \"0s\"\nttl_mode = \"override\"",
        "set_cookie = \"never\"",
    ] {
        let (origin, gate) = (Origin::start(), Gate::new());
        let held = gate.clone();
        origin.on("/page", move |request| {
            let reply = Reply::ok().cache("public, max-age=600");
            let reply = reply.header("Set-Cookie", "sid=1").body(who(request));
            match request.nth {
                1 => reply.hold_head(&held),
                _ => reply,
            }
        });
        let larder = start(&before(&origin, THEN));
        let ask = |who: &str| larder.get("/page").header("X-Who", who);
        let mut leader = ask("leader").header("Cookie", "s=1").begin();
        gate.wait_reached();
        let mut follower = ask("follower").begin();
        // The one worker has begun with that.
        larder.get("/").send();
        let now = match change.strip_prefix("set_cookie") {
            Some(_) => THEN.replace("store", "never"),
            None => format!("{THEN}{change}"),
        };
        reload_as(&larder, &before(&origin, &now), "2");
        assert_eq!(ask("later").send().text(), "later", "{change}");
        gate.open();
        let led = leader.read();
        let told = (led.text(), led.said().contains("detail=overruled"));
        assert_eq!(told, ("leader".into(), true), "{change}: {}", led.said());
        // It gets that, or what is stored by then.
        assert_ne!(follower.read().text(), "follower", "{change}");
        assert_eq!(origin.requests("/page"), 2, "{change}");
        assert_ne!(ask("last").send().text(), "leader", "{change}");
    }
}

/// Nor is stored what confirms a page, or is a part of one.
#[test]
fn what_comes_for_a_fetch_that_a_reload_has_overruled_is_not_stored() {
    for (status, range) in [(200, ""), (304, ""), (206, "bytes=0-4")] {
        let (origin, gate) = (Origin::start(), Gate::new());
        let held = gate.clone();
        let nth = if status == 304 { 2 } else { 1 };
        origin.on("/page", move |request| {
            let lifetime = if request.nth < nth { 0 } else { 600 };
            let reply = |status| {
                let reply = Reply::status(status).header("ETag", "\"1\"");
                reply.cache(&format!("max-age={lifetime}"))
            };
            let reply = match (status, request.header("range")) {
                (206, Some(_)) => reply(206)
                    .header("Content-Range", "bytes 0-4/10")
                    .body("01234"),
                (304, _) if request.nth == 2 => reply(304),
                _ => reply(200).body("0123456789"),
            };
            match request.nth {
                number if number == nth => reply.hold_head(&held),
                _ => reply,
            }
        });
        let larder = start(&before(&origin, ""));
        let ask = || match range {
            "" => larder.get("/page"),
            range => larder.get("/page").header("Range", range),
        };
        if status == 304 {
            ask().send();
        }
        let mut late = ask().begin();
        gate.wait_reached();
        reload_as(&larder, &before(&origin, "ttl = \"1s\""), "2");
        gate.open();
        let late = late.read();
        assert!(late.said().contains("detail=overruled"), "{}", late.said());
        let next = ask().send();
        assert!(!next.hit() && next.complete, "{status}: {}", next.said());
        assert!(ask().send().hit(), "{status}: by the rules of now");
    }
}

/// Nor what a `POST` brings, and what a `HEAD` brings freshens nothing.
#[test]
fn a_post_or_a_head_that_a_reload_has_overruled_leaves_nothing_behind() {
    for (method, is_overruled) in [
        ("POST", false),
        ("POST", true),
        ("HEAD", false),
        ("HEAD", true),
    ] {
        let (origin, gate) = (Origin::start(), Gate::new());
        let held = gate.clone();
        origin.on("/page", move |request| {
            let reply = Reply::ok().header("ETag", "\"1\"").body("page");
            if request.method == "GET" {
                return reply.cache("max-age=0");
            }
            let reply = reply.header("Content-Location", "/page");
            reply.cache("max-age=600").hold_head(&held)
        });
        let larder = start(&before(&origin, ""));
        larder.get("/page").send();
        // The condition is the origin's to judge.
        let late = larder.ask(method, "/page").header("If-Match", "\"1\"");
        let mut late = late.begin();
        gate.wait_reached();
        if is_overruled {
            reload_as(&larder, &before(&origin, "ttl = \"1s\""), "2");
        }
        gate.open();
        assert_eq!(late.read().status, 200, "{method}");
        let fresh = larder
            .get("/page")
            .header("Cache-Control", "only-if-cached");
        let is_there = fresh.send().status == 200;
        assert_eq!(is_there, !is_overruled, "{method}");
    }
}

/// By the rules of now the next answer may be for all.
#[test]
fn an_answer_that_a_reload_has_overruled_does_not_keep_later_requests_apart() {
    let then = "collapse_wait = \"1h\"\n";
    for (ttl, cache_control) in [("", "no-store"), ("ttl = \"0s\"\n", "max-age=0, no-cache")] {
        let (origin, gates) = (Origin::start(), [Gate::new(), Gate::new()]);
        let held = gates.clone();
        origin.on("/page", move |request| {
            let reply = Reply::ok().cache(cache_control).body("page");
            match held.get(request.nth - 1) {
                Some(gate) => reply.hold_head(gate),
                None => reply,
            }
        });
        let [late, next] = gates;
        let larder = start(&before(&origin, &format!("{then}{ttl}")));
        let mut overruled = larder.get("/page").begin();
        late.wait_reached();
        let now = format!("{then}ttl = \"1h\"\nttl_mode = \"override\"\n");
        reload_as(&larder, &before(&origin, &now), "2");
        late.open();
        assert_eq!(overruled.read().text(), "page");
        let mut leader = larder.get("/page").begin();
        next.wait_reached();
        let mut follower = larder.get("/page").begin();
        // The one worker has begun with that.
        larder.get("/").send();
        next.open();
        for client in [&mut leader, &mut follower] {
            assert_eq!(client.read().text(), "page");
        }
        assert_eq!(origin.requests("/page"), 2, "{cache_control}");
    }
}

/// It says nothing of the application that is asked now.
#[test]
fn a_refresh_that_fails_after_a_reload_has_overruled_it_does_not_put_off_the_next() {
    let [old, new] = [Origin::start(), Origin::start()];
    let gate = Gate::new();
    let held = gate.clone();
    old.on("/page", move |request| match request.nth {
        1 => Reply::ok().cache("max-age=0, stale-while-revalidate=600"),
        _ => Reply::raw("?\r\n\r\n").hold_head(&held),
    });
    new.reply("/page", Reply::ok().cache("max-age=600"));
    let larder = start(&before(&old, ""));
    for _ in 0..2 {
        larder.get("/page").send();
    }
    gate.wait_reached();
    reload_as(&larder, &before(&new, ""), "2");
    gate.open();
    wait_until("the refresh has failed", || {
        sample(&larder, "larder_origin_errors_total") == 1
    });
    larder.get("/page").send();
    new.wait_requests("/page", 1);
}

/// What a reload leaves as it is on this route is still shared and stored, whatever it changes on others.
#[test]
fn a_fetch_of_a_route_that_a_reload_leaves_as_it_is_is_shared() {
    let routed = |defaults: &str, lifetime: &str| {
        format!("{defaults}[[route]]\npath = \"/other\"\nttl = \"{lifetime}\"\n")
    };
    let (origin, gate) = (Origin::start(), Gate::new());
    origin.reply(
        "/page",
        Reply::ok()
            .cache("max-age=600")
            .hold_head(&gate)
            .body("all"),
    );
    let larder = start(&routed(&before(&origin, THEN), "1m"));
    let mut leader = larder.get("/page").begin();
    gate.wait_reached();
    reload_as(&larder, &routed(&before(&origin, THEN), "1h"), "2");
    let mut follower = larder.get("/page").begin();
    larder.get("/").send();
    gate.open();
    for client in [&mut leader, &mut follower] {
        assert_eq!(client.read().text(), "all");
    }
    assert!(larder.get("/page").send().hit());
    assert_eq!(origin.requests("/page"), 1);
}

/// A page of two configurations would be none.
#[test]
fn the_fragments_of_a_page_are_those_of_its_configuration() {
    for now in ["replaced", "refused"] {
        let [old, new] = [Origin::start(), Origin::start()];
        let gate = Gate::new();
        let page = Reply::ok()
            .cache("no-store")
            .header("Content-Type", "text/html")
            .header("Surrogate-Control", "content=\"ESI/1.0\"")
            .chunked();
        let include = "<esi:include src=\"/fragment\"/>";
        old.reply("/page", page.body("[old page]").hold(&gate).body(include));
        for (origin, name) in [(&old, "old"), (&new, "new")] {
            let fragment = format!("[{name} fragment]");
            origin.reply("/fragment", Reply::ok().cache("no-store").body(fragment));
        }
        let larder = start(&before(&old, ""));
        let mut client = larder.get("/page").begin();
        gate.wait_reached();
        let config = match now {
            "replaced" => before(&new, ""),
            _ => before(&old, "") + "[[route]]\npath = \"/fragment\"\nrefuse = \"403\"\n",
        };
        reload_as(&larder, &config, "2");
        gate.open();
        let answer = client.read();
        assert_eq!(answer.text(), "[old page][old fragment]", "{now}");
        assert!(answer.complete);
    }
}
