//! What the requests for fragments take over from the page's, and how they are waited for.

use crate::{
    coding_origin::gzipped,
    common::{Said, command, sample, start_with},
    esi::{ON, html, page, text},
    leaks::whose,
};
use testkit::{Gate, Larder, Origin, Reply};

/// Two origins: the site's own, with ESI, and one behind `other.test`. Whoever asks is trusted.
fn two_hosts() -> (Origin, Origin, Larder) {
    let (origin, other) = (Origin::start(), Origin::start());
    let config = format!(
        "trusted = [\"127.0.0.0/8\"]\n\
         [[origin]]\nname = \"one\"\nservers = \"{}\"\n[[origin]]\nname = \"other\"\nservers = \"{}\"\n\
         [[route]]\nhost = \"other.test\"\norigin = \"other\"\n[[route]]\nesi = true\norigin = \"one\"\n",
        origin.url(),
        other.url()
    );
    let listen = ["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let larder = command().args(listen).config(&config).start();
    (origin, other, larder)
}

#[test]
fn what_is_said_of_the_pages_target_is_not_said_of_its_fragments() {
    let (origin, other, larder) = two_hosts();
    for at in [&origin, &other] {
        at.reply("/f", Reply::ok().cache("max-age=60").body("F"));
    }
    origin.reply(
        "/",
        page("<esi:include src=\"/f\"/><esi:include src=\"http://other.test/f\"/>"),
    );
    let fields = [
        ("X-Original-URL", "/"),
        ("X-Rewrite-URL", "/"),
        ("X-HTTP-Method-Override", "DELETE"),
        ("X-Method-Override", "DELETE"),
        ("X-Forwarded-Host", "shop.test"),
        ("X-Forwarded-Prefix", "/shop"),
        ("Forwarded", "host=shop.test"),
        ("Cookie", "id=1"),
        ("Authorization", "Basic YTpi"),
        ("Accept-Language", "de"),
    ];
    let ask = larder.get("/").header("Host", "a.test");
    let ask = fields
        .iter()
        .fold(ask, |ask, (name, value)| ask.header(name, value));
    assert_eq!(ask.send().text(), "FF");
    let (here, there) = (origin.last("/f"), other.last("/f"));
    for seen in [&here, &there] {
        for field in &fields[..4] {
            assert_eq!(seen.header(field.0), None, "{}", field.0);
        }
        assert_eq!(seen.header("accept-language"), Some("de"));
    }
    for (name, value) in [
        ("x-forwarded-host", "shop.test"),
        ("x-forwarded-prefix", "/shop"),
        ("cookie", "id=1"),
        ("authorization", "Basic YTpi"),
    ] {
        assert_eq!(here.header(name), Some(value), "the same host");
        assert_ne!(there.header(name), Some(value), "{name} is for another");
    }
    assert_eq!(there.header("x-forwarded-host"), Some("other.test"));
    let forwarded = there.header("forwarded").unwrap_or_default();
    assert!(!forwarded.contains("shop.test"), "{forwarded}");
}

/// An attribute as its text has it once references are resolved, and an address as clients write it.
#[test]
fn an_address_with_bytes_that_no_uri_has_is_asked_for_in_their_encoded_form() {
    let (origin, larder) = start_with(ON);
    for (at, src, asked) in [
        ("/1", "'/f?p={&quot;id&quot;:5}'", "/f?p={%22id%22:5}"),
        ("/2", "'/f?p={\"id\":6}'", "/f?p={%22id%22:6}"),
        ("/3", "\"/f/&lt;a>`?&#39;<`\"", "/f/%3Ca%3E%60?'%3C%60"),
        ("/4", "\"/f?q=a&#43;b&#x26;c\"", "/f?q=a+b&c"),
        ("/5", "\"/f/é ü\"", "/f/%C3%A9%20%C3%BC"),
    ] {
        origin.reply(at, page(format!("<esi:include src={src}/>")));
        origin.on(asked, |request| {
            html("max-age=60", format!("[{}]", request.target))
        });
        assert_eq!(text(&larder, at), format!("[{asked}]"));
        let again = larder.get(asked).send();
        assert!(again.hit(), "{asked}: {}", again.said());
    }
}

#[test]
fn cookies_that_are_kept_from_the_page_go_with_its_fragments() {
    for kept in [
        "key = { drop_cookies = true }",
        "bypass.misses_with = \"id\"",
    ] {
        let config = format!(
            "[[origin]]\nservers = \"{{origin}}\"\n[[route]]\npath = \"/cart\"\nesi = true\n\
             [[route]]\nesi = true\n{kept}\n"
        );
        let (origin, larder) = start_with(&config);
        let long = "long ".repeat(1000);
        origin.reply(
            "/",
            page(format!(
                "{long}<esi:include src=\"/cart\"/><esi:vars>$(HTTP_COOKIE{{id}})</esi:vars>"
            )),
        );
        origin.on("/cart", |request| html("no-store", whose(request)));
        let purge = || larder.ask("PURGE", "/").send().status;
        for purged in [false, true, false, false, true] {
            if purged {
                assert_eq!(purge(), 200);
            }
            for user in ["1", "2"] {
                let ask = larder.get("/").header("Cookie", format!("id={user}"));
                let answer = ask.header("Accept-Encoding", "gzip").send();
                assert_eq!(answer.text(), format!("{long}id={user}{user}"), "{kept}");
                assert_eq!(answer.header("content-encoding"), None, "BREACH: {kept}");
            }
            assert_eq!(text(&larder, "/"), format!("{long}nobody"), "{kept}");
        }
        assert!(larder.get("/").send().hit(), "{kept}");
    }
}

/// A page in a page is read when it is its turn; what it includes is asked for before, and by itself.
#[test]
fn a_fragment_is_asked_for_however_slowly_the_page_is_read() {
    let (origin, larder) = start_with(ON);
    let own = |text: &str| {
        let reply = Reply::ok().cache("no-store").header("Connection", "close");
        reply.body(text)
    };
    let includes = "<esi:include src=\"/slow\"/><esi:include src=\"/inner\"/>";
    let close = |reply: Reply| reply.header("Connection", "close");
    origin.reply("/", close(page(includes)));
    origin.reply("/inner", close(page("[<esi:include src=\"/cart\"/>]")));
    origin.reply("/slow", own("slow"));
    origin.reply("/cart", own("cart"));
    // From here on each asks for `/cart` alone, and over a new connection, which is made step by step.
    assert_eq!(text(&larder, "/"), "slow[cart]");
    let (slow, cart) = (Gate::new(), Gate::new());
    let held = slow.clone();
    origin.on("/slow", move |_| own("sl").hold(&held).body("ow"));
    let held = cart.clone();
    origin.on("/cart", move |_| own("cart").hold_head(&held));
    let mut client = larder.get("/").begin();
    slow.wait_reached();
    cart.wait_reached();
    cart.open();
    slow.open();
    assert_eq!(client.read().text(), "slow[cart]");
}

#[test]
fn an_attempt_holds_few_connections_while_it_waits() {
    let (origin, larder) = start_with(ON);
    let gate = Gate::new();
    let each = |text: &dyn Fn(usize) -> String| (0..40).map(text).collect::<Vec<_>>().concat();
    let includes = each(&|number| format!("<esi:include src=\"/f{number}\"/>,"));
    origin.reply(
        "/",
        page(format!(
            "<esi:try><esi:attempt>{includes}</esi:attempt><esi:except>no</esi:except></esi:try>"
        )),
    );
    let held = gate.clone();
    origin.otherwise(move |request| {
        let reply = Reply::ok().cache("no-store").hold_head(&held);
        reply.body(request.target.trim_start_matches("/f"))
    });
    let mut client = larder.get("/").begin();
    gate.wait_reached_by(8);
    let begun = sample(&larder, "larder_fragments_total");
    assert_eq!(begun, 8, "the others wait for their turn");
    gate.open();
    let expected = each(&|number| format!("{number},"));
    assert_eq!(client.read().text(), expected);
}

#[test]
fn an_error_that_may_be_stored_is_asked_for_once() {
    for is_chunked in [false, true] {
        let (origin, larder) = start_with(ON);
        let gate = Gate::new();
        let error = Reply::status(404).cache("max-age=60");
        let error = error.body("not").hold(&gate).body("here");
        let error = if is_chunked { error.chunked() } else { error };
        origin.reply("/gone", error);
        origin.reply("/", page("[<esi:include src=\"/gone\"/>]"));
        assert_eq!(text(&larder, "/"), "[]");
        gate.wait_reached();
        gate.open();
        testkit::wait_until("it is stored", || larder.get("/gone").send().hit());
        for _ in 0..3 {
            assert_eq!(text(&larder, "/"), "[]");
        }
        assert_eq!(origin.requests("/gone"), 1);
    }
}

/// A page or not: decoded for the page that includes it, it is stored all the same.
#[test]
fn an_error_that_came_coded_is_asked_for_once() {
    for kind in ["text/css", "text/html"] {
        let (origin, larder) = start_with(ON);
        let gate = Gate::new();
        let error = Reply::status(404).cache("max-age=60");
        let error = error.header("Content-Type", kind);
        let content = gzipped("not here");
        let (first, rest) = content.split_at(content.len() / 2);
        let error = error.header("Content-Encoding", "gzip").body(first);
        origin.reply("/gone", error.hold(&gate).body(rest));
        origin.reply("/", page("[<esi:include src=\"/gone\"/>]"));
        assert_eq!(text(&larder, "/"), "[]");
        gate.wait_reached();
        gate.open();
        testkit::wait_until("it is stored", || larder.get("/gone").send().hit());
        assert_eq!(text(&larder, "/"), "[]");
        assert_eq!(origin.requests("/gone"), 1, "{kind}");
    }
}

#[test]
fn what_a_form_is_answered_with_may_include_its_own_address() {
    let (origin, larder) = start_with(ON);
    origin.on("/f", |request| match request.method.as_str() {
        "POST" => html("no-store", "<esi:include src=\"/f\"/>!"),
        _ => html("no-store", "F"),
    });
    assert_eq!(larder.ask("POST", "/f").body("x=1").send().text(), "F!");
}

#[test]
fn what_names_the_content_of_a_form_or_signs_the_form_is_not_said_of_fragments() {
    let (origin, larder) = start_with(ON);
    origin.reply("/f", Reply::ok().cache("no-store").body("F"));
    origin.reply("/", html("no-store", "<esi:include src=\"/f\"/>"));
    let fields = [
        ("Content-Type", "text/x"),
        ("Content-Digest", "sha-256=:AAAA:"),
        ("Repr-Digest", "sha-256=:AAAA:"),
        ("Digest", "sha-256=AAAA"),
        ("Content-MD5", "AAAA"),
        ("Idempotency-Key", "\"k\""),
        ("Signature-Input", "s=(\"@method\" \"@target-uri\")"),
        ("Signature", "s=:AAAA:"),
        ("DPoP", "a.b.c"),
    ];
    let ask = larder.ask("POST", "/").body("x=1").header("X-Other", "y");
    let ask = fields
        .iter()
        .fold(ask, |ask, (name, value)| ask.header(name, value));
    assert_eq!(ask.send().text(), "F");
    let (form, fragment) = (origin.last("/"), origin.last("/f"));
    for (name, value) in fields {
        assert_eq!(form.header(name), Some(value), "{name}");
        assert_eq!(fragment.header(name), None, "{name}");
    }
    assert_eq!(fragment.header("x-other"), Some("y"));
}

#[test]
fn the_host_keeps_its_port_in_an_address() {
    let (origin, larder) = start_with(ON);
    origin.reply("/f", Reply::ok().cache("max-age=60").body("F"));
    origin.reply("/", page("<esi:include src=\"http://$(HTTP_HOST)/f\"/>"));
    for host in ["a.test", "a.test:8080", "[::1]:8080"] {
        let answer = larder.get("/").header("Host", host).send();
        assert_eq!(answer.text(), "F", "{host}");
    }
}

/// An HTTP/1.0 client need not say which host it means: its page's fragments are asked for as the page was, in the
/// origin's own name.
#[test]
fn a_page_without_a_host_has_fragments_too() {
    let (origin, larder) = start_with(ON);
    origin.reply(
        "/deep/page",
        page("[<esi:include src=\"/f?a=b\"/><esi:include src=\"../g\"/>] [<esi:include src=\"http://elsewhere.test/f\"/>]"),
    );
    origin.otherwise(|request| {
        let host = request.header("host").unwrap_or_default();
        let cookie = request.header("cookie").unwrap_or("nobody");
        let body = format!("({} {host:?} {cookie})", request.target);
        Reply::ok().cache("no-store").body(body)
    });
    let own = origin.address().to_string();
    for who in ["ann", "bob"] {
        let mut client = larder.client();
        client.send(format!("GET /deep/page HTTP/1.0\r\nCookie: {who}\r\n\r\n"));
        let answer = client.read();
        let expected = format!("[(/f?a=b {own:?} {who})(/g {own:?} {who})] []");
        assert_eq!(answer.text(), expected);
    }
    // One that is asked for with a host is another page, whose fragments have it.
    let named = larder.get("/deep/page").header("Host", "none.invalid");
    assert!(named.send().text().contains("(/g \"none.invalid\" nobody)"));
}
