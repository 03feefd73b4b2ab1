//! Groups of users as `FOSHttpCache` has them: the application is asked for the hash of a group, and pages are kept by it.

use crate::{
    common::{Said, start_with},
    disk_purge::purge,
};
use serde_json::json;
use testkit::{Gate, Larder, Origin, Reply, Request, Response};

const KIND: &str = "application/vnd.fos.user-context-hash";
pub(crate) const HASH: &str = "/_fos_user_context_hash";
const CONFIG: &str =
    "[[origin]]\nservers = \"{origin}\"\n[defaults]\nuser_context = \"/_fos_user_context_hash\"\n";

/// Who asks, by the cookie or the credentials.
fn user(request: &Request) -> String {
    let field = request.header("cookie").or(request.header("authorization"));
    field.unwrap_or("nobody").to_owned()
}

/// Ann and Bob edit, everybody else reads.
fn group(request: &Request) -> &'static str {
    let user = user(request);
    if user.contains("ann") || user.contains("bob") {
        "editors"
    } else {
        "readers"
    }
}

/// The answer to who it is, as `FOSHttpCacheBundle` gives it.
pub(crate) fn told(request: &Request) -> Reply {
    assert_eq!(request.header("accept"), Some(KIND));
    Reply::ok()
        .cache("public, max-age=600")
        .header("Vary", "Cookie, Authorization")
        .header("Content-Type", KIND)
        .header("X-User-Context-Hash", group(request))
}

/// A page that says for whom it was made, and for which group it is.
pub(crate) fn page(request: &Request) -> Reply {
    let hash = request.header("x-user-context-hash").unwrap_or("none");
    Reply::ok()
        .cache("public, max-age=600")
        .header("Vary", "Accept-Language, X-User-Context-Hash")
        .header("X-User-Context-Hash", hash)
        .body(format!("for {hash}, made for {}", user(request)))
}

pub(crate) fn site() -> (Origin, Larder) {
    let (origin, larder) = start_with(CONFIG);
    origin.otherwise(page);
    origin.on(HASH, told);
    (origin, larder)
}

pub(crate) fn get(larder: &Larder, path: &str, user: &str) -> Response {
    let ask = larder.get(path);
    match user {
        "" => ask.send(),
        user => ask.header("Cookie", format!("session={user}")).send(),
    }
}

#[test]
fn a_page_is_made_once_for_each_group() {
    let (origin, larder) = site();
    for (user, text, hit) in [
        ("ann", "for editors, made for session=ann", false),
        ("bob", "for editors, made for session=ann", true),
        ("eve", "for readers, made for session=eve", false),
        ("dan", "for readers, made for session=eve", true),
        ("", "for none, made for nobody", false),
        ("", "for none, made for nobody", true),
        ("ann", "for editors, made for session=ann", true),
    ] {
        let answer = get(&larder, "/page", user);
        assert_eq!(answer.text(), text, "{user}");
        assert_eq!(answer.hit(), hit, "{user}: {}", answer.said());
        assert!(answer.header("x-user-context-hash").is_none(), "{user}");
        let vary = "Accept-Language, Cookie, Authorization";
        assert_eq!(answer.joined("vary"), vary, "what it means to a client");
    }
    let by_name = larder.get("/page").header("Authorization", "Basic bob");
    let answer = by_name.send();
    assert_eq!(answer.text(), "for editors, made for session=ann");
    assert_eq!(origin.requests("/page"), 3);
    assert_eq!(origin.requests(HASH), 5, "once for each who is somebody");
}

/// Clients neither choose their group nor learn its name.
#[test]
fn nobody_chooses_a_group() {
    let (origin, larder) = site();
    get(&larder, "/page", "ann");
    let asked = origin.all().len();
    for (name, value) in [
        ("X-User-Context-Hash", "editors"),
        ("x-user-context-hash", ""),
        ("X_User-Context_Hash", "editors"),
        ("Accept", KIND),
        (
            "Accept",
            "text/html, Application/Vnd.FOS.user-context-hash;q=0.1",
        ),
    ] {
        for user in ["session=eve", "session=ann"] {
            let ask = larder.get("/page").header("Cookie", user);
            let answer = ask.header(name, value).send();
            assert_eq!(answer.status, 400, "{name}: {value}");
        }
        let answer = larder.get("/page").header(name, value).send();
        assert_eq!(answer.status, 400, "{name}: {value}");
    }
    let ask = larder.get(HASH).header("Cookie", "session=ann");
    assert_eq!(ask.header("Accept", KIND).send().status, 400);
    assert_eq!(origin.all().len(), asked);
    let ask = larder
        .get("/page")
        .header("Connection", "X-User-Context-Hash");
    let answer = ask.header("X-User-Context-Hash", "editors").send();
    assert_eq!(answer.text(), "for none, made for nobody");
}

#[test]
fn whose_group_is_not_known_gets_nothing_stored_and_stores_nothing() {
    let named = |reply: Reply, kind: &str| {
        let reply = reply.cache("max-age=600").header("Vary", "Cookie");
        reply.header("Content-Type", kind)
    };
    let editors = |reply: Reply| reply.header("X-User-Context-Hash", "editors");
    for (what, answer) in [
        ("an error", editors(named(Reply::status(500), KIND))),
        ("a page", editors(named(Reply::ok(), "text/html"))),
        ("no hash", named(Reply::ok(), KIND)),
        (
            "two groups",
            editors(named(Reply::ok(), KIND)).header("X-User-Context-Hash", "readers"),
        ),
        (
            "two groups, one of them twice",
            editors(editors(named(Reply::ok(), KIND))).header("X-User-Context-Hash", "readers"),
        ),
        ("nothing", Reply::close()),
    ] {
        let (origin, larder) = site();
        for user in ["ann", ""] {
            get(&larder, "/page", user);
        }
        origin.reply("/_fos_user_context_hash", answer);
        for round in 0..2 {
            let answer = get(&larder, "/page", "eve");
            assert_eq!(answer.text(), "for none, made for session=eve", "{what}");
            let said = answer.said();
            assert!(said.contains("detail=group-unknown"), "{round}: {said}");
        }
        for (user, text) in [
            ("ann", "for editors, made for session=ann"),
            ("", "for none, made for nobody"),
        ] {
            let answer = get(&larder, "/page", user);
            assert_eq!(
                (answer.hit(), answer.text().as_str()),
                (true, text),
                "{what}"
            );
        }
    }
}

#[test]
fn a_group_that_is_named_twice_is_one() {
    let (origin, larder) = site();
    origin.on(HASH, |request| {
        told(request).header("X-User-Context-Hash", group(request))
    });
    for (user, text, hit) in [
        ("ann", "for editors, made for session=ann", false),
        ("eve", "for readers, made for session=eve", false),
        ("bob", "for editors, made for session=ann", true),
    ] {
        let answer = get(&larder, "/page", user);
        assert_eq!(answer.text(), text);
        assert_eq!(answer.hit(), hit, "{user}: {}", answer.said());
    }
}

/// Everybody would be in the group of who asked first.
#[test]
fn a_hash_that_does_not_vary_is_for_nobody_else() {
    let (origin, larder) = site();
    origin.on(HASH, |request| {
        let told = Reply::ok().cache("public, max-age=600");
        let told = told.header("Vary", "X-Cookie-Policy");
        let told = told.header("Content-Type", KIND);
        told.header("X-User-Context-Hash", group(request))
    });
    for _ in 0..2 {
        let ann = get(&larder, "/page", "ann");
        assert_eq!(ann.text(), "for editors, made for session=ann");
        let eve = get(&larder, "/page", "eve");
        assert_eq!(eve.text(), "for readers, made for session=eve");
    }
    assert_eq!(origin.requests(HASH), 2);
}

/// However many users there are: who they are is no variant of one page.
#[test]
fn everybody_is_asked_for_once() {
    let config = format!("{CONFIG}[limits]\nvariants = 2\n");
    let (origin, larder) = start_with(&config);
    origin.otherwise(page);
    origin.on(HASH, told);
    for _ in 0..2 {
        for user in ["ann", "bob", "eve", "dan", "joe"] {
            get(&larder, "/page", user);
        }
    }
    assert_eq!(origin.requests(HASH), 5);
}

/// Who opens the path in a browser puts nothing in the place of what is told.
#[test]
fn a_client_that_opens_the_path_spoils_no_answer() {
    let (origin, larder) = site();
    origin.on(HASH, |request| match request.header("accept") {
        Some(KIND) => told(request),
        _ => Reply::status(404).cache("public, max-age=600"),
    });
    for user in ["", "ann"] {
        assert_eq!(get(&larder, HASH, user).status, 404);
    }
    for user in ["ann", "bob"] {
        let answer = get(&larder, "/page", user);
        assert_eq!(answer.text(), "for editors, made for session=ann");
    }
    assert_eq!(get(&larder, HASH, "ann").status, 404);
}

/// Its content is of no interest, and it is whole all the same before it is kept.
#[test]
fn an_answer_whose_end_is_late_spares_the_next_question() {
    let (origin, larder) = site();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on(HASH, move |request| told(request).chunked().hold(&held));
    let answer = get(&larder, "/page", "ann");
    assert_eq!(answer.text(), "for editors, made for session=ann");
    gate.open();
    for path in ["/page", "/other"] {
        let answer = get(&larder, path, "ann");
        assert_eq!(answer.text(), "for editors, made for session=ann");
    }
    assert_eq!(origin.requests(HASH), 1);
}

/// What the site takes away from clients is still there for the question.
#[test]
fn what_clients_are_not_to_see_is_heeded() {
    let edit = "response_headers.remove = [\"X-User-Context-Hash\", \"Content-Type\"]\n";
    let (origin, larder) = start_with(&format!("{CONFIG}{edit}"));
    origin.otherwise(page);
    origin.on(HASH, told);
    for user in ["ann", "bob"] {
        let answer = get(&larder, "/page", user);
        assert_eq!(answer.text(), "for editors, made for session=ann");
    }
}

/// The application that cannot tell the group any more cannot make the page either: both are as old as they may be.
#[test]
fn an_application_that_is_down_leaves_everybody_in_the_own_group() {
    let (origin, larder) = site();
    for user in ["ann", "eve", ""] {
        get(&larder, "/page", user);
    }
    purge(&larder, &json!({ "everything": true, "soft": true }));
    origin.stop();
    for (user, text) in [
        ("ann", "for editors, made for session=ann"),
        ("eve", "for readers, made for session=eve"),
        ("", "for none, made for nobody"),
    ] {
        assert_eq!(get(&larder, "/page", user).text(), text, "{user}");
    }
    let joe = get(&larder, "/page", "joe");
    assert_eq!(joe.status, 502, "{}", joe.said());
}

/// Each follows the fetch of the own group alone; those who ask who they are do not follow each other either.
#[test]
fn groups_do_not_mix_while_the_first_page_is_on_its_way() {
    let (origin, larder) = site();
    let (asks, pages) = (Gate::new(), Gate::new());
    let (asked, fetched) = (asks.clone(), pages.clone());
    origin.on(HASH, move |request| told(request).hold_head(&asked));
    origin.on("/page", move |request| page(request).hold_head(&fetched));
    let users = ["ann", "eve", "bob", "dan"];
    let clients: Vec<_> = users
        .iter()
        .map(|user| {
            let ask = larder.get("/page");
            ask.header("Cookie", format!("session={user}")).begin()
        })
        .collect();
    asks.wait_reached();
    asks.open();
    pages.wait_reached();
    pages.open();
    for (user, mut client) in users.iter().zip(clients) {
        let text = client.read().text();
        let wanted = match *user {
            "ann" | "bob" => "for editors, ",
            _ => "for readers, ",
        };
        assert!(text.starts_with(wanted), "{user}: {text}");
    }
}

/// What a `POST` is answered with is kept for a `GET` where it says so; nobody asked for which group it was made.
#[test]
fn an_answer_to_another_method_is_not_kept_for_those_without_a_group() {
    let (origin, larder) = site();
    origin.on("/page", |request| {
        page(request).header("Content-Location", "/page")
    });
    let post = larder.ask("POST", "/page").header("Cookie", "session=ann");
    post.body("x").send();
    for (user, text) in [
        ("", "for none, made for nobody"),
        ("eve", "for readers, made for session=eve"),
    ] {
        assert_eq!(get(&larder, "/page", user).text(), text);
    }
}

/// A page's includes are for the group of who reads it, whichever of the two is stored.
#[test]
fn includes_are_for_the_readers_group() {
    let (origin, larder) = site();
    origin.on("/", |request| {
        let page = page(request)
            .header("Content-Type", "text/html")
            .header("Surrogate-Control", "content=\"ESI/1.0\"");
        page.body(" <esi:include src=\"/menu\"/>")
    });
    for (user, text) in [
        (
            "ann",
            "for editors, made for session=ann for editors, made for session=ann",
        ),
        (
            "eve",
            "for readers, made for session=eve for readers, made for session=eve",
        ),
        (
            "bob",
            "for editors, made for session=ann for editors, made for session=ann",
        ),
        ("", "for none, made for nobody for none, made for nobody"),
    ] {
        assert_eq!(get(&larder, "/", user).text(), text, "{user}");
    }
    assert_eq!(origin.requests("/menu"), 3);
}

/// Somebody changes groups: what was told before is purged like any page.
#[test]
fn what_was_told_of_a_user_can_be_purged() {
    let (origin, larder) = site();
    get(&larder, "/page", "ann");
    get(&larder, "/page", "dan");
    origin.on(HASH, |request| {
        let told = Reply::ok().cache("no-cache").header("Content-Type", KIND);
        let group = if group(request) == "readers" {
            "editors"
        } else {
            "readers"
        };
        told.header("X-User-Context-Hash", group)
    });
    let answer = get(&larder, "/page", "dan");
    assert_eq!(answer.text(), "for readers, made for session=dan");
    assert_eq!(larder.ask("PURGE", HASH).send().status, 200);
    let answer = get(&larder, "/page", "dan");
    assert_eq!(answer.text(), "for editors, made for session=ann");
    assert!(answer.hit(), "{}", answer.said());
}

/// The question goes where its path leads, and what it is answered with there is its asker's all the same, whatever the
/// answer's `Vary` says.
#[test]
fn on_whatever_route_the_question_is_answered_nobody_gets_anothers_group() {
    for routes in [
        "[[route]]\npath = \"/page*\"\nuser_context = \"/_fos_user_context_hash\"\n",
        "[[route]]\npath = \"/_fos_user_context_hash\"\nset_cookie = \"strip\"\n\
         [[route]]\nuser_context = \"/_fos_user_context_hash\"\n",
    ] {
        let config = format!("[[origin]]\nservers = \"{{origin}}\"\n{routes}");
        let (origin, larder) = start_with(&config);
        origin.otherwise(page);
        origin.on(HASH, |request| {
            Reply::ok()
                .cache("public, max-age=600")
                .header("Content-Type", KIND)
                .header("X-User-Context-Hash", group(request))
        });
        for _ in 0..2 {
            for (user, group) in [("ann", "editors"), ("eve", "readers")] {
                let text = get(&larder, "/page", user).text();
                assert!(
                    text.starts_with(&format!("for {group},")),
                    "{user}: {text}: {routes}"
                );
            }
        }
    }
}

/// What a group is told is stored under no other page, and no application of another route takes a client's word for
/// its group.
#[test]
fn nobody_chooses_a_group_on_a_route_without_groups() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[[route]]\npath = \"/page*\"\nuser_context = \"/_fos_user_context_hash\"\n",
    );
    origin.otherwise(|request| match request.header("accept") {
        Some(KIND) => told(request),
        _ => page(request),
    });
    for (name, value) in [("Accept", KIND), ("X_User-Context-Hash", "editors")] {
        for path in ["/", "/other", HASH] {
            let ask = larder.get(path).header(name, value);
            assert_eq!(ask.send().status, 400, "{name}: {value} {path}");
        }
        let post = larder.ask("POST", "/other").header(name, value);
        assert_eq!(post.body("x").send().status, 400, "{name}: {value}");
    }
    assert_eq!(origin.all().len(), 0);
    let answer = get(&larder, "/other", "ann");
    assert_eq!(answer.text(), "for none, made for session=ann");
    let answer = get(&larder, "/page", "ann");
    assert_eq!(answer.text(), "for editors, made for session=ann");
}

/// What an include brings there is everybody's.
#[test]
fn an_include_on_a_route_without_groups_is_for_none() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nesi = true\n\
         [[route]]\npath = [\"/page\", \"/_fos_user_context_hash\"]\nuser_context = \"/_fos_user_context_hash\"\n",
    );
    origin.otherwise(page);
    origin.on(HASH, told);
    let with_include = "<esi:include src=\"/fragment\"/>";
    origin.reply(
        "/page",
        Reply::ok()
            .cache("public, max-age=600")
            .header("Content-Type", "text/html")
            .body(with_include),
    );
    let composed = get(&larder, "/page", "ann").text();
    assert!(composed.contains("for none"), "{composed}");
    let fragment = get(&larder, "/fragment", "");
    assert!(fragment.hit(), "{}", fragment.said());
    assert!(composed.contains(&fragment.text()), "{composed}");
}

/// Also where a page includes it, and whatever its `Vary` says.
#[test]
fn what_the_question_says_of_one_user_is_for_no_other() {
    let (origin, larder) = start_with(&format!("{CONFIG}esi = true\n"));
    let public = || Reply::ok().cache("public, max-age=600");
    origin.otherwise(move |_| {
        let page = public().header("Content-Type", "text/html");
        page.body(format!("you are <esi:include src=\"{HASH}\"/>"))
    });
    origin.on(HASH, move |request| {
        let told = public().header("Content-Type", KIND);
        let told = told.header("X-User-Context-Hash", group(request));
        told.body(user(request))
    });
    for user in ["ann", "bob", "ann"] {
        let answer = get(&larder, "/", user);
        let expected = format!("you are session={user}");
        assert_eq!(answer.text(), expected, "{}", answer.said());
    }
}

/// Else nobody would have to leave a group.
#[test]
fn a_client_that_takes_old_pages_is_asked_about_as_any_other() {
    let readers = || {
        Reply::ok()
            .cache("public, max-age=600")
            .header("Content-Type", KIND)
            .header("X-User-Context-Hash", "readers")
    };
    for (directives, now, expected) in [
        ("max-stale", readers(), "for readers"),
        // As if no group had been told before.
        ("stale-if-error=9999", Reply::status(503), "for none"),
    ] {
        let (origin, larder) = start_with(CONFIG);
        origin.otherwise(page);
        // It is stale from the start.
        origin.on(HASH, |request| told(request).header("Age", "700"));
        let first = get(&larder, "/page", "ann").text();
        assert!(first.starts_with("for editors"), "{first}");
        origin.reply(HASH, now);
        let ask = larder.get("/page").header("Cookie", "session=ann");
        let answer = ask.header("Cache-Control", directives).send();
        assert_eq!(answer.text(), format!("{expected}, made for session=ann"));
    }
}

/// Nor by what the site allows for its pages, or the application for the answer itself, while the application can make
/// pages.
#[test]
fn nothing_old_names_a_group() {
    let everything = "stale = { while_revalidate = \"1h\", if_error = \"1h\" }\n";
    let site = [CONFIG, everything].concat();
    for (config, own) in [
        (CONFIG, ""),
        (&site, ""),
        (CONFIG, ", stale-while-revalidate=3600, stale-if-error=3600"),
    ] {
        for (what, now, expected) in [
            ("another group", Some("readers"), "for readers"),
            ("an error", None, "for none"),
            ("nothing", None, "for none"),
        ] {
            let (origin, larder) = start_with(config);
            origin.otherwise(page);
            let told = move |group: &str| {
                Reply::ok()
                    .cache(&format!("public, max-age=600{own}"))
                    .header("Content-Type", KIND)
                    .header("X-User-Context-Hash", group)
            };
            // It is stale from the start.
            origin.on(HASH, move |_| told("editors").header("Age", "700"));
            let first = get(&larder, "/page", "ann").text();
            assert!(first.starts_with("for editors"), "{first}");
            let now = match (now, what) {
                (Some(group), _) => told(group),
                (None, "an error") => Reply::status(500),
                (None, _) => Reply::close(),
            };
            origin.reply(HASH, now);
            for round in 0..2 {
                let answer = get(&larder, "/page", "ann");
                let expected = format!("{expected}, made for session=ann");
                assert_eq!(answer.text(), expected, "{config}{own}: {what}, {round}");
            }
        }
    }
}

/// A client that must not fill the store fills it no more for its whole group than for everybody.
#[test]
fn a_page_is_refreshed_by_who_may_fill_the_store() {
    let config = [CONFIG, "bypass.misses_with = [\"csrftoken\"]\n"].concat();
    let (origin, larder) = start_with(&config);
    origin.on(HASH, told);
    origin.otherwise(|request| {
        page(request)
            .header("Cache-Control", "stale-while-revalidate=600")
            .header("Age", "700")
    });
    get(&larder, "/page", "ann");
    let stale = larder.get("/page");
    let stale = stale.header("Cookie", "csrftoken=1; session=bob").send();
    assert_eq!(stale.text(), "for editors, made for session=ann");
    get(&larder, "/page", "ann");
    origin.wait_requests("/page", 2);
    let made_for: Vec<_> = origin.recorded("/page").iter().map(user).collect();
    assert_eq!(made_for, ["session=ann", "session=ann"]);
}
