//! Includes of a page: side by side and in order, how many, how deep, and whose addresses they may name.

use crate::{
    collapse::reading,
    common::{Said, counted, sample, start_with},
    disk_purge::purge,
    esi::{ON, html, page, text},
};
use serde_json::json;
use testkit::{Gate, Origin, Reply, wait_until};

#[test]
fn what_is_at_hand_is_sent_with_its_length() {
    let (origin, larder) = start_with(ON);
    origin.reply(
        "/",
        page("a<esi:include src=\"/f\"/><esi:include src=\"/g\"/>b"),
    );
    origin.reply("/f", Reply::ok().cache("max-age=60").body("F"));
    origin.reply("/g", html("max-age=60", "<esi:include src=\"/f\"/>G"));
    text(&larder, "/");
    text(&larder, "/");
    let answer = larder.get("/").send();
    assert_eq!(
        (answer.text().as_str(), answer.head.header("content-length")),
        ("aFFGb", Some("5"))
    );
}

/// Each piece costs a look at all that the page holds.
#[test]
fn what_stands_between_two_includes_is_sent_in_few_pieces() {
    let (origin, larder) = start_with(ON);
    let values = "$(HTTP_USER_AGENT),".repeat(3000);
    let half = format!("<esi:vars>{values}</esi:vars><esi:include src=\"/f\"/>");
    origin.reply("/", page(half.repeat(2)));
    origin.reply("/f", Reply::ok().cache("max-age=60").body("F"));
    let want = (format!("{}F", "me,".repeat(3000))).repeat(2);
    for visit in ["fetched", "stored"] {
        let mut client = larder.get("/").header("User-Agent", "me").begin();
        let mut answer = client.read_head();
        let mut chunks = 0;
        while answer.body.len() < want.len() {
            client.read_body_exactly(&mut answer, 1);
            chunks += 1;
        }
        client.read_content(&mut answer);
        assert!(answer.complete && answer.text() == want, "{visit}");
        assert!(chunks < 50, "{visit}: {chunks}");
    }
}

/// A page that is not stored, and fragments of it, have been read before what comes earlier in it needs their turns.
#[test]
fn what_is_large_does_not_keep_fragments_from_their_turns() {
    let (origin, larder) = start_with(&ON.replace("[[route]]", "most_concurrent = 1\n[[route]]"));
    let (small, large) = (".".repeat(1000), ",".repeat(1 << 20));
    let include = |path: &str| format!("<esi:include src=\"{path}\"/>");
    let unstored = || Reply::ok().cache("no-store");
    origin.reply("/f", unstored().body("F"));
    origin.reply("/large", unstored().body(large.clone()));
    origin.reply("/nested", html("no-store", include("/f") + &large));
    for (page, want) in [
        (
            format!("{}{small}", include("/f")).repeat(200),
            format!("F{small}").repeat(200),
        ),
        (include("/f") + &large, format!("F{large}")),
        (
            include("/large") + &include("/nested") + &include("/f"),
            format!("{large}F{large}F"),
        ),
        (
            format!(
                "<esi:try><esi:attempt>{}</esi:attempt><esi:except>!</esi:except></esi:try>",
                include("/large") + &include("/large") + &include("/nested")
            ),
            format!("{large}{large}F{large}"),
        ),
    ] {
        origin.reply("/", html("no-store", &page));
        let got = text(&larder, "/");
        assert!(got == want, "{} and not {}", got.len(), want.len());
    }
}

/// Each has begun with what the others wait for.
#[test]
fn pages_do_not_keep_each_other_from_their_turns() {
    // Nobody waits for the other's page, which is not stored.
    let turns = "most_concurrent = 2\n[[route]]\ncollapse_wait = \"10ms\"";
    let (origin, larder) = start_with(&ON.replace("[[route]]", turns));
    let large = ",".repeat(1 << 20);
    let both = Gate::new();
    let page = format!("<esi:include src=\"/f\"/>{large}");
    let reply = html("no-store", &page).hold_head(&both);
    origin.reply("/", reply);
    origin.reply("/f", Reply::ok().cache("no-store").body("F"));
    let mut clients = [larder.get("/").begin(), larder.get("/").begin()];
    both.wait_reached_by(2);
    both.open();
    for client in &mut clients {
        assert!(client.read().text() == format!("F{large}"));
    }
}

#[test]
fn fragments_are_asked_for_side_by_side_and_sent_in_order_while_they_arrive() {
    let (origin, larder) = start_with(ON);
    let both = Gate::new();
    let (slow_rest, page_rest) = (Gate::new(), Gate::new());
    origin.reply(
        "/",
        html("no-store", "head <esi:include src=\"/slow\"/> middle ")
            .chunked()
            .body("<esi:include src=\"/fast\"/> tail ")
            .hold(&page_rest)
            .body("end"),
    );
    origin.reply(
        "/slow",
        Reply::ok()
            .cache("no-store")
            .chunked()
            .hold_head(&both)
            .body("slow,")
            .hold(&slow_rest)
            .body("slower"),
    );
    origin.reply(
        "/fast",
        Reply::ok().cache("no-store").hold_head(&both).body("fast"),
    );
    let mut client = larder.get("/").begin();
    let mut answer = client.read_head();
    client.read_body_exactly(&mut answer, 5);
    assert_eq!(answer.text(), "head ");
    // Both are asked for before either has answered.
    both.wait_reached_by(2);
    both.open();
    client.read_body_exactly(&mut answer, 5);
    assert_eq!(answer.text(), "head slow,");
    slow_rest.open();
    client.read_body_exactly(&mut answer, "slower middle fast tail ".len());
    assert_eq!(answer.text(), "head slow,slower middle fast tail ");
    page_rest.open();
    client.read_content(&mut answer);
    assert!(answer.complete);
    assert_eq!(answer.text(), "head slow,slower middle fast tail end");
}

#[test]
fn many_slow_fragments_hold_few_connections() {
    let (origin, larder) = start_with(ON);
    let gate = Gate::new();
    let includes: Vec<_> = (0..40)
        .map(|number| format!("<esi:include src=\"/f{number}\"/>,"))
        .collect();
    let includes = includes.concat();
    origin.reply("/", page(includes));
    let held = gate.clone();
    origin.otherwise(move |request| {
        Reply::ok()
            .cache("no-store")
            .hold_head(&held)
            .body(request.target.trim_start_matches("/f"))
    });
    let mut client = larder.get("/").begin();
    gate.wait_reached_by(8);
    assert_eq!(gate.reached(), 8, "the others wait for their turn");
    gate.open();
    let answer = client.read();
    let expected: Vec<_> = (0..40).map(|number| format!("{number},")).collect();
    let expected = expected.concat();
    assert_eq!(answer.text(), expected);
}

#[test]
fn fragments_collapse_vary_and_are_purged_like_anything_else() {
    let (origin, larder) = start_with(ON);
    origin.reply("/", page("<esi:include src=\"/f\"/>"));
    origin.on("/f", |request| {
        let language = request.header("accept-language").unwrap_or("-").to_owned();
        Reply::ok()
            .cache("max-age=60")
            .header("Vary", "Accept-Language")
            .body(format!("{language}{}", request.nth))
    });
    let ask = |language: &str| {
        larder
            .get("/")
            .header("Accept-Language", language)
            .send()
            .text()
    };
    assert_eq!(
        [ask("de"), ask("en"), ask("de"), ask("en")],
        ["de1", "en2", "de1", "en2"]
    );
    larder.ask("PURGE", "/f").send();
    assert_eq!([ask("de"), ask("en"), ask("de")], ["de3", "en4", "de3"]);
    assert_eq!(origin.requests("/"), 1);
    // The fragment by itself is the one in the page.
    assert!(
        larder
            .get("/f")
            .header("Accept-Language", "de")
            .header("Accept-Encoding", "identity")
            .send()
            .hit()
    );

    let gate = Gate::new();
    let held = gate.clone();
    origin.reply("/two", page("begun <esi:include src=\"/g\"/>"));
    origin.on("/g", move |request| {
        counted(request).cache("max-age=60").hold_head(&held)
    });
    // What each has been sent of its page was sent after its fragment was asked for.
    let mut clients = [(); 4].map(|()| reading(&larder, "/two", "begun "));
    gate.wait_reached();
    let before = sample(&larder, "larder_collapsed_total");
    gate.open();
    for (client, answer) in &mut clients {
        client.read_content(answer);
        assert_eq!(answer.text(), "begun 1");
    }
    assert_eq!(origin.requests("/g"), 1);
    assert_eq!(sample(&larder, "larder_collapsed_total"), before + 3);
}

/// Each as if it had been asked for by itself: the page stays what it is.
#[test]
fn fragments_have_tags_and_lifetimes_of_their_own() {
    let (origin, larder) = start_with(ON);
    let tagged = |reply: Reply, tag: &str| reply.header("Surrogate-Key", tag);
    let body = "<esi:include src=\"/menu\"/>,<esi:include src=\"/news\"/>";
    origin.reply("/", tagged(page(body), "pages"));
    origin.on("/menu", move |request| {
        tagged(counted(request).cache("max-age=3600"), "menus")
    });
    origin.on("/news", |request| counted(request).cache("max-age=1"));
    let ask = || larder.get("/").send().text();
    let menu = || ask().split_once(',').map(|(menu, _)| menu.to_owned());
    assert_eq!(menu().as_deref(), Some("1"));
    let purge = |tag: &str| purge(&larder, &json!({ "tags": [tag] }));
    purge("others");
    assert_eq!(menu().as_deref(), Some("1"));
    purge("menus");
    assert_eq!(menu().as_deref(), Some("2"));
    assert_eq!((origin.requests("/"), origin.requests("/menu")), (1, 2));
    purge("pages");
    assert_eq!(menu().as_deref(), Some("2"));
    assert_eq!((origin.requests("/"), origin.requests("/menu")), (2, 2));
    // What lives for a second is asked for again within a page that lives for a day.
    let before = origin.requests("/news");
    wait_until("it had run out", || {
        ask();
        origin.requests("/news") > before
    });
    assert_eq!((origin.requests("/"), origin.requests("/menu")), (2, 2));
}

#[test]
fn includes_are_answered_by_this_sites_own_routes_alone() {
    let (origin, other) = (Origin::start(), Origin::start());
    other.otherwise(|request| {
        Reply::ok().body(format!("other {}", request.header("host").unwrap_or("-")))
    });
    let config = format!(
        "[[origin]]\nname = \"one\"\nservers = \"{}\"\n[[origin]]\nname = \"other\"\nservers = \"{}\"\n\
         [[route]]\nhost = [\"other.test\", \"*.cdn.test\"]\norigin = \"other\"\n\
         [[route]]\nesi = true\norigin = \"one\"\n",
        origin.url(),
        other.url()
    );
    let larder = crate::common::command()
        .args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
        .config(&config)
        .start();
    let outside = Origin::start();
    outside.otherwise(|_| Reply::ok().body("outside"));
    let outside_url = format!("{}/x", outside.url());
    origin.otherwise(|request| Reply::ok().body(format!("one {}", request.target)));
    for (number, (src, expected)) in [
        ("/a/../b?x=1&amp;y", "one /b?x=1&y"),
        ("c", "one /deep/c"),
        ("../c#f", "one /c"),
        ("http://shop.test/d", "one /d"),
        ("https://SHOP.test:443/d", "one /d"),
        ("//shop.test/d", "one /d"),
        ("http://other.test/e", "other other.test"),
        ("http://img.cdn.test/e", "other img.cdn.test"),
        // Not ours: never asked for, here or there.
        ("http://elsewhere.test/e", ""),
        (&*outside_url, ""),
        ("http://other.test@elsewhere.test/", ""),
        ("http://user@shop.test/", ""),
        ("ftp://shop.test/e", ""),
        ("file:///etc/passwd", ""),
        ("javascript:alert(1)", ""),
        ("http://", ""),
        ("/sp ace", "one /sp%20ace"),
    ]
    .into_iter()
    .enumerate()
    {
        let target = format!("/deep/{number}");
        origin.reply(&target, page(format!("[<esi:include src=\"{src}\"/>]")));
        let answer = larder.get(&target).header("Host", "shop.test").send();
        assert_eq!(answer.text(), format!("[{expected}]"), "{src}");
    }
    assert!(outside.all().is_empty());
}

#[test]
fn pages_within_pages_are_composed_to_a_depth_and_never_in_a_circle() {
    let (origin, larder) = start_with(ON);
    origin.otherwise(|request| {
        let number: usize = request
            .path()
            .trim_start_matches("/deep")
            .parse()
            .unwrap_or(0);
        page(format!(
            "{number}<esi:include src=\"/deep{}\"/>.",
            number + 1
        ))
    });
    origin.reply("/self", page("s<esi:include src=\"/self\"/>."));
    origin.reply("/a", page("a<esi:include src=\"/b\"/>."));
    origin.reply("/b", page("b<esi:include src=\"/a\"/>."));
    for _ in 0..2 {
        assert_eq!(text(&larder, "/deep0"), "012345......");
        assert_eq!(text(&larder, "/self"), "s.");
        assert_eq!(text(&larder, "/a"), "ab..");
        assert_eq!(text(&larder, "/b"), "ba..");
    }
    assert_eq!(origin.requests("/self") + origin.requests("/a"), 2);
}

#[test]
fn includes_of_one_request_are_counted_whoever_includes_them() {
    let (origin, larder) = start_with(ON);
    let forty = |target: &str| format!("<esi:include src=\"{target}\"/>").repeat(40);
    origin.reply("/", page(forty("/inner")));
    origin.reply("/inner", page(format!("({})", forty("/leaf"))));
    origin.reply("/leaf", Reply::ok().cache("max-age=60").body("x"));
    text(&larder, "/");
    let answer = text(&larder, "/");
    let (leaves, inner) = (answer.matches('x').count(), answer.matches('(').count());
    assert!(
        leaves + inner <= 256 && leaves > 200,
        "{leaves} and {inner}"
    );
}

#[test]
fn includes_are_counted() {
    let (origin, larder) = start_with(ON);
    origin.reply("/", page("<esi:include src=\"/f\"/><esi:include src=\"/g\" alt=\"/f\"/><esi:include src=\"/g\"/>"));
    origin.reply("/f", Reply::ok().cache("max-age=60").body("F"));
    origin.reply("/g", Reply::status(500));
    assert_eq!(text(&larder, "/"), "FF");
    assert_eq!(crate::common::sample(&larder, "larder_fragments_total"), 3);
    assert_eq!(
        crate::common::sample(&larder, "larder_fragments_failed_total"),
        1
    );
}
