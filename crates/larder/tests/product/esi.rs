//! Pages composed of fragments: each include is a request of its own.

use crate::{
    collapse::reading,
    common::{Said, counted, sample, start, start_with},
};
use testkit::{Gate, Larder, Origin, Reply, Request};

/// ESI by route.
pub(crate) const ON: &str = "[[origin]]\nservers = \"{origin}\"\n[[route]]\nesi = true\n";

/// Cached for a day, HTML.
pub(crate) fn page(text: impl AsRef<str>) -> Reply {
    html("max-age=86400", text)
}

pub(crate) fn html(cache: &str, text: impl AsRef<str>) -> Reply {
    Reply::ok()
        .cache(cache)
        .header("Content-Type", "text/html; charset=utf-8")
        .body(text.as_ref())
}

fn counted_fragment(cache: &'static str) -> impl Fn(&Request) -> Reply + Send + Sync {
    move |request| counted(request).cache(cache)
}

pub(crate) fn text(larder: &Larder, target: &str) -> String {
    let answer = larder.get(target).send();
    assert!(answer.complete, "{target}: {:?}", answer.head);
    answer.text()
}

#[test]
fn a_page_cached_for_a_day_carries_a_cart_that_is_never_cached() {
    let (origin, larder) = start_with(ON);
    origin.reply(
        "/",
        page("<p>Shop</p><esi:include src=\"/cart\"/><esi:include src='menu'/><p>End</p>"),
    );
    origin.on("/cart", |request| {
        html("no-store", "").body(format!(
            "[cart {} of {}]",
            request.nth,
            request.header("cookie").unwrap_or("nobody")
        ))
    });
    origin.on("/menu", counted_fragment("max-age=60"));
    for visit in 1..4 {
        let answer = larder.get("/").header("Cookie", "user=ann").send();
        assert_eq!(
            answer.text(),
            format!("<p>Shop</p>[cart {visit} of user=ann]1<p>End</p>")
        );
        assert_eq!(answer.hit(), visit > 1, "{:?}", answer.head);
    }
    let other = larder.get("/").header("Cookie", "user=bob").send();
    assert!(
        other.text().contains("[cart 4 of user=bob]"),
        "{}",
        other.text()
    );
    assert_eq!((origin.requests("/"), origin.requests("/menu")), (1, 1));
}

#[test]
fn an_answer_says_itself_that_it_is_to_be_composed() {
    let (origin, larder) = start();
    for (target, control, composed) in [
        ("/told", Some("content=\"ESI/1.0\""), true),
        ("/told-too", Some("max-age=60, content=\"ESI/1.0\""), true),
        ("/not", None, false),
        ("/other", Some("content=\"Other/1.0\""), false),
    ] {
        let reply = Reply::ok()
            .cache("max-age=60")
            .body("a<esi:include src=\"/f\"/>b");
        let reply = match control {
            Some(control) => reply.header("Surrogate-Control", control),
            None => reply,
        };
        origin.reply(target, reply);
        origin.reply("/f", Reply::ok().cache("max-age=60").body("F"));
        for round in 0..3 {
            let answer = larder.get(target).send();
            let expected = if composed {
                "aFb"
            } else {
                "a<esi:include src=\"/f\"/>b"
            };
            assert_eq!(answer.text(), expected, "{target}, round {round}");
            assert_eq!(answer.hit(), round > 0);
            let passed = answer.head.header("surrogate-control");
            assert_eq!(passed, None, "it was meant for us");
        }
        assert!(
            origin
                .last(target)
                .headers("surrogate-capability")
                .join(", ")
                .contains("ESI/1.0"),
            "the origin is told"
        );
    }
}

#[test]
fn where_it_is_switched_off_pages_pass_untouched() {
    let (origin, larder) = start_with(&ON.replace("true", "false"));
    let raw = "a<esi:include src=\"/f\"/>b";
    let reply = page(raw)
        .header("Surrogate-Control", "content=\"ESI/1.0\"")
        .header("ETag", "\"1\"");
    origin.reply("/", reply);
    for _ in 0..2 {
        let answer = larder.get("/").send();
        assert_eq!(answer.text(), raw);
        assert_eq!(answer.head.header("etag"), Some("\"1\""));
        assert_eq!(answer.head.header("surrogate-control"), None);
    }
    let capability = origin.last("/").headers("surrogate-capability").join(", ");
    assert!(!capability.contains("ESI"), "{capability}");
}

#[test]
fn by_route_only_markup_is_composed() {
    let (origin, larder) = start_with(ON);
    let raw = "<esi:include src=\"/f\"/>";
    for (number, (kind, composed)) in [
        ("text/html", true),
        ("Text/HTML;charset=x", true),
        ("application/xhtml+xml", true),
        ("application/rss+xml", true),
        ("text/xml", true),
        // What a user wrote stands in these as it was written.
        ("application/json", false),
        ("text/plain", false),
        ("text/javascript", false),
        ("image/png", false),
        ("image/svg+xml", false),
        ("", false),
    ]
    .into_iter()
    .enumerate()
    {
        let target = format!("/{number}");
        origin.reply(
            &target,
            Reply::ok()
                .cache("max-age=60")
                .header("Content-Type", kind)
                .body(raw),
        );
        origin.reply("/f", Reply::ok().body("F"));
        for _ in 0..2 {
            assert_eq!(
                text(&larder, &target),
                if composed { "F" } else { raw },
                "{kind}"
            );
        }
    }
}

#[test]
fn a_composed_answer_is_neither_kept_nor_validated_nor_cut_into_parts() {
    let (origin, larder) = start_with(ON);
    let reply = page("a<esi:include src=\"/f\"/>b")
        .header("ETag", "\"1\"")
        .header("Last-Modified", "Sat, 01 Jan 2022 00:00:00 GMT")
        .header("Expires", "Sat, 01 Jan 2050 00:00:00 GMT")
        .header("CDN-Cache-Control", "max-age=86400")
        .header("X-Accel-Expires", "3600")
        .header("Edge-Control", "max-age=3600")
        .header("Accept-Ranges", "bytes");
    origin.reply("/", reply);
    origin.on("/f", counted_fragment("no-store"));
    for round in 1..4 {
        let answer = larder
            .get("/")
            .header("If-None-Match", "\"1\", *")
            .header("If-Modified-Since", "Sat, 01 Jan 2049 00:00:00 GMT")
            .header("Range", "bytes=0-1")
            .header("If-Range", "\"1\"")
            .send();
        assert_eq!((answer.status, answer.text()), (200, format!("a{round}b")));
        for field in [
            "etag",
            "last-modified",
            "expires",
            "accept-ranges",
            "cdn-cache-control",
            "x-accel-expires",
            "edge-control",
            "content-range",
        ] {
            assert_eq!(answer.head.header(field), None, "{field}");
        }
        assert_eq!(
            answer.head.header("cache-control"),
            Some("private, no-cache")
        );
        let seen = origin.last("/f");
        for field in ["if-none-match", "if-modified-since", "range", "if-range"] {
            assert_eq!(seen.header(field), None, "{field} is the page's");
        }
    }
    let head = larder.ask("HEAD", "/").send();
    assert_eq!(
        (head.status, head.head.header("content-length")),
        (200, None)
    );
    assert_eq!(head.head.header("etag"), None);
    assert_eq!(origin.requests("/f"), 3, "a HEAD needs no fragments");
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn what_a_page_forbids_beyond_that_stays_forbidden() {
    let (origin, larder) = start_with(ON);
    for (number, (said, told)) in [
        ("max-age=60", "private, no-cache"),
        ("no-store", "private, no-store"),
        ("private, No-Store", "private, no-store"),
        (
            "max-age=60, no-transform",
            "private, no-cache, no-transform",
        ),
        ("no-store,no-transform", "private, no-store, no-transform"),
    ]
    .into_iter()
    .enumerate()
    {
        for (kind, body) in [("with", "a<esi:include src=\"/f\"/>"), ("without", "ab")] {
            let target = format!("/{number}{kind}");
            origin.reply(&target, html(said, body.repeat(2000)));
            origin.reply("/f", Reply::ok().cache("max-age=60").body("b"));
            for _ in 0..2 {
                let answer = larder.get(&target).header("Accept-Encoding", "gzip").send();
                let cache = answer.joined("cache-control");
                let plain = kind == "without" && answer.hit();
                assert!(cache == told || (plain && cache == said), "{said}: {cache}");
                let coded = answer.header("content-encoding").is_some();
                assert_eq!(coded, !told.contains("no-transform"), "{said}");
            }
        }
    }
}

#[test]
fn a_lifetime_for_browsers_is_not_told_of_a_composed_answer() {
    let (origin, larder) =
        start_with(&ON.replace("esi = true", "esi = true\nbrowser_ttl = \"10m\""));
    origin.reply("/", page("a<esi:include src=\"/f\"/>"));
    origin.reply("/plain", page("plain"));
    for target in ["/", "/", "/plain", "/plain"] {
        let cache = larder.get(target).send().joined("cache-control");
        let first = origin.requests(target) == 1;
        assert!(
            cache == "private, no-cache" || (target == "/plain" && cache == "max-age=600"),
            "{target} {cache} {first}"
        );
    }
    assert_eq!(
        larder.get("/plain").send().joined("cache-control"),
        "max-age=600"
    );
}

#[test]
fn a_stored_page_without_a_tag_is_a_page_like_any_other() {
    let (origin, larder) = start_with(ON);
    origin.reply("/", page("<p>plain</p>").header("ETag", "\"1\""));
    larder.get("/").send();
    let again = larder.get("/").send();
    assert_eq!(
        (again.text().as_str(), again.head.header("etag")),
        ("<p>plain</p>", Some("\"1\""))
    );
    assert_eq!(
        larder
            .get("/")
            .header("If-None-Match", "\"1\"")
            .send()
            .status,
        304
    );
    assert_eq!(
        larder.get("/").header("Range", "bytes=0-2").send().text(),
        "<p>"
    );
    assert_eq!(again.joined("cache-control"), "max-age=86400");
    let head = larder.ask("HEAD", "/").send();
    assert_eq!(head.joined("etag"), "\"1\"");
}

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

#[test]
fn a_page_of_another_method_or_status_is_composed_too() {
    let (origin, larder) = start_with(ON);
    origin.reply("/f", Reply::ok().cache("max-age=60").body("F"));
    let body = "<esi:include src=\"/f\"/>!";
    origin.on("/form", move |request| {
        html("no-store", body).header("X-Method", &request.method)
    });
    let reply = Reply::status(404)
        .cache("max-age=60")
        .header("Content-Type", "text/html");
    origin.reply("/gone", reply.body(body));
    let posted = larder.ask("POST", "/form").body("x=1").send();
    assert_eq!(
        (posted.text().as_str(), posted.head.header("x-method")),
        ("F!", Some("POST"))
    );
    assert_eq!(origin.last("/f").method, "GET");
    assert_eq!(origin.last("/f").header("content-length"), None);
    for _ in 0..2 {
        let answer = larder.get("/gone").send();
        assert_eq!((answer.status, answer.text().as_str()), (404, "F!"));
    }
}

#[test]
fn variables_and_choices_are_each_clients_own() {
    let (origin, larder) = start_with(ON);
    origin.reply(
        "/",
        page(
            "<esi:vars>Hi $(HTTP_COOKIE{user}|you) at $(HTTP_HOST), q=$(QUERY_STRING{q})</esi:vars> \
             <esi:choose><esi:when test=\"$(HTTP_COOKIE{group})=='gold'\"><esi:include src=\"/gold\"/></esi:when>\
             <esi:otherwise><esi:include src=\"/frag?for=$(HTTP_COOKIE{user}|none)\"/></esi:otherwise></esi:choose>",
        ),
    );
    origin.otherwise(|request| {
        Reply::ok()
            .cache("max-age=60")
            .body(format!("({})", request.target))
    });
    let ask = |cookie: &str, target: &str| {
        larder
            .get(target)
            .header("Host", "shop.test")
            .header("Cookie", cookie)
            .send()
            .text()
    };
    assert_eq!(ask("a=b", "/"), "Hi you at shop.test, q= (/frag?for=none)");
    assert_eq!(
        ask("user=<Ann>&x", "/"),
        "Hi &#60;Ann&#62;&#38;x at shop.test, q= (/frag?for=%3CAnn%3E%26x)"
    );
    assert_eq!(ask("group=gold", "/"), "Hi you at shop.test, q= (/gold)");
    assert_eq!(
        ask("group=silver", "/"),
        "Hi you at shop.test, q= (/frag?for=none)"
    );
    assert_eq!(origin.requests("/"), 1, "one stored page for all of them");
    origin.reply(
        "/?q=%3Cscript%3E",
        page("<esi:vars>$(QUERY_STRING{q})</esi:vars>"),
    );
    assert_eq!(ask("a=b", "/?q=%3Cscript%3E"), "&#60;script&#62;");
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
fn a_page_stays_one_when_it_is_freshened_and_when_it_comes_from_disk() {
    let site = crate::disk::Site::new("");
    site.origin.on("/", |request| {
        let reply = if request.header("if-none-match").is_some() {
            // It says nothing of the content any more.
            Reply::status(304)
        } else {
            Reply::ok()
                .header("Surrogate-Control", "content=\"ESI/1.0\"")
                .body("a<esi:include src=\"/f\"/>b")
        };
        reply.cache("max-age=60").header("ETag", "\"1\"")
    });
    site.origin.on("/f", |request| {
        Reply::ok().cache("no-store").body(request.nth.to_string())
    });
    let larder = site.start();
    let ask = |larder: &Larder, cache: &str| {
        let answer = larder.get("/").header("Cache-Control", cache).send();
        assert_eq!(answer.head.header("surrogate-control"), None);
        (answer.text(), answer.hit())
    };
    assert_eq!(ask(&larder, ""), ("a1b".into(), false));
    assert_eq!(ask(&larder, "no-cache"), ("a2b".into(), false));
    assert_eq!(site.origin.last("/").header("if-none-match"), Some("\"1\""));
    assert_eq!(ask(&larder, ""), ("a3b".into(), true));
    let larder = site.restart(larder);
    for number in 4..14 {
        assert_eq!(ask(&larder, ""), (format!("a{number}b"), true));
    }
    assert_eq!(site.origin.requests("/"), 2);
}

/// The answer to a HEAD that went to the origin freshens the page, and says nothing of the language it is written in.
#[test]
fn a_page_stays_one_when_a_head_freshens_it() {
    let (origin, larder) = start_with(&ON.replace("esi = true", "cache = true"));
    origin.on("/", |request| {
        let reply = page("").header("ETag", "\"a\"");
        match request.method.as_str() {
            "HEAD" => reply
                .header("Surrogate-Control", "max-age=60")
                .header("Content-Length", "27"),
            _ => reply
                .header("Surrogate-Control", "content=\"ESI/1.0\"")
                .body("<esi:remove>a</esi:remove>b"),
        }
    });
    assert_eq!(text(&larder, "/"), "b");
    let head = larder.ask("HEAD", "/").header("If-Match", "\"x\"").send();
    assert_eq!(origin.last("/").method, "HEAD", "{:?}", head.head);
    let again = larder.get("/").send();
    assert!(again.hit() && again.text() == "b", "{}", again.text());
}

#[test]
fn a_part_of_a_page_is_asked_for_as_a_whole() {
    let whole = "a<esi:include src=\"/f\"/>b";
    for (route, control) in [
        ("esi = true", ""),
        ("esi = true\ncache = false", ""),
        ("cache = true", "content=\"ESI/1.0\""),
        ("cache = false", "content=\"ESI/1.0\""),
    ] {
        let (origin, larder) = start_with(&ON.replace("esi = true", route));
        origin.on("/", move |request| {
            let reply = if request.header("range").is_some() {
                Reply::status(206)
                    .header("Content-Range", "bytes 0-3/26")
                    .body(&whole[..4])
            } else {
                Reply::ok().body(whole)
            };
            reply
                .cache("max-age=60")
                .header("Content-Type", "text/html")
                .header("Surrogate-Control", control)
        });
        origin.reply("/f", Reply::ok().cache("max-age=60").body("F"));
        for _ in 0..2 {
            let answer = larder.get("/").header("Range", "bytes=0-3").send();
            assert_eq!(
                (answer.status, answer.text().as_str()),
                (200, "aFb"),
                "{route}"
            );
        }
    }
}

/// Several parts have a type of their own, and a part that a client says it continues may have none.
#[test]
fn parts_that_do_not_tell_their_type_are_no_way_to_a_pages_source() {
    for kind in ["multipart/byteranges; boundary=x", ""] {
        for route in ["esi = true\ncache = false", "esi = true"] {
            let (origin, larder) = start_with(&ON.replace("esi = true", route));
            origin.on("/", move |request| {
                if request.header("range").is_none() {
                    return page("a<esi:include src=\"/f\"/>b");
                }
                let reply = Reply::status(206).header("Content-Range", "bytes 0-3/26");
                let reply = match kind {
                    "" => reply,
                    kind => reply.header("Content-Type", kind),
                };
                reply.cache("no-store").body("a<esi:remove>b")
            });
            origin.reply("/f", Reply::ok().cache("max-age=60").body("F"));
            for range in ["bytes=0-3", "bytes=0-0,2-3"] {
                let ask = larder.get("/").header("Range", range);
                let answer = ask.header("If-Range", "\"1\"").send();
                let got = (answer.status, answer.text());
                assert_eq!(got, (200, "aFb".to_owned()), "{route} {kind}");
            }
        }
    }
}

#[test]
fn old_clients_and_new_ones_get_the_same_page() {
    let (origin, larder) = start_with(ON);
    let gate = Gate::new();
    origin.reply("/", page("a<esi:include src=\"/f\"/>b"));
    origin.reply(
        "/f",
        Reply::ok()
            .cache("no-store")
            .chunked()
            .body("F")
            .hold(&gate)
            .body("G"),
    );
    gate.open();
    let mut client = larder.client();
    client.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n");
    let answer = String::from_utf8_lossy(&client.read_to_end()).into_owned();
    assert!(answer.ends_with("\r\n\r\naFGb"), "{answer}");
    assert!(
        !answer.to_ascii_lowercase().contains("transfer-encoding"),
        "{answer}"
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
