//! Answers that set a cookie.

use crate::common::{Said, counted, start, start_with};
use testkit::Reply;

#[test]
fn an_answer_that_sets_a_cookie_is_not_stored_unless_it_is_said_to_be_shared() {
    for (field, value, stored) in [
        ("Cache-Control", "max-age=60", false),
        ("Expires", "{60}", false),
        ("Last-Modified", "{-1000}", false),
        ("Cache-Control", "max-age=60, public", true),
        ("Cache-Control", "s-maxage=60", true),
        ("CDN-Cache-Control", "max-age=60", true),
        ("Cache-Control", "no-store, public", false),
    ] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            crate::common::with(counted(request), &[(field, value)])
                .header("Set-Cookie", format!("id={}", request.nth))
        });
        let first = larder.get("/").send();
        assert_eq!(
            first.header("set-cookie"),
            Some("id=1"),
            "who caused it gets it"
        );
        let second = larder.get("/").send();
        assert_eq!(second.hit(), stored, "{field}: {value}: {}", second.said());
        assert_eq!(
            second.header("set-cookie"),
            Some(if stored { "id=1" } else { "id=2" })
        );
        if !stored {
            assert_eq!(second.text(), "2");
        }
    }
}

#[test]
fn a_validation_that_sets_a_cookie_gives_it_to_one_only() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        if request.header("if-none-match").is_none() {
            return counted(request)
                .cache("max-age=60")
                .header("Age", "100")
                .header("ETag", "\"a\"");
        }
        let reply = testkit::Reply::status(304)
            .cache("max-age=60")
            .header("ETag", "\"a\"");
        reply.header("Set-Cookie", format!("id={}", request.nth))
    });
    larder.get("/").send();
    let second = larder.get("/").send();
    assert_eq!(
        (second.status, second.header("set-cookie")),
        (200, Some("id=2")),
        "who caused it gets it"
    );
    let third = larder.get("/").send();
    assert!(
        third
            .header("set-cookie")
            .is_none_or(|cookie| cookie != "id=2"),
        "the cookie of one client's validation reached another"
    );
}

/// The content that a 304 confirms is everybody's already, with whatever cookie it comes.
#[test]
fn a_304_with_a_cookie_freshens_the_page_and_gives_the_rest_to_one_client() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let reply = if request.header("if-none-match").is_none() {
            counted(request).cache("max-age=60").header("Age", "100")
        } else {
            let reply = testkit::Reply::status(304).header("X-User", "user 2");
            reply.cache("max-age=300").header("Set-Cookie", "id=2")
        };
        reply.header("ETag", "\"a\"")
    });
    larder.get("/").send();
    let second = larder.get("/").send();
    assert_eq!((second.status, second.text().as_str()), (200, "1"));
    assert_eq!(second.header("set-cookie"), Some("id=2"));
    assert_eq!(second.header("x-user"), Some("user 2"));
    let third = larder.get("/").send();
    assert!(third.hit(), "9111 section 4.3.4: {}", third.said());
    assert_eq!(third.header("cache-control"), Some("max-age=300"));
    assert_eq!(third.header("set-cookie"), None, "it is another's");
    assert_eq!(third.header("x-user"), None, "it may be another's");
    assert_eq!(origin.requests("/"), 2);
}

/// RFC 9111 section 4.3.5. The condition is the application's to judge, so the HEAD reaches it.
#[test]
fn a_head_answered_with_a_cookie_freshens_the_page_and_gives_the_rest_to_one_client() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let reply = match request.method.as_str() {
            "GET" => counted(request).cache("max-age=60"),
            _ => Reply::ok()
                .cache("max-age=300")
                .header("Content-Length", "1")
                .header("Set-Cookie", "id=2")
                .header("X-User", "user 2"),
        };
        reply.header("ETag", "\"a\"")
    });
    larder.get("/").send();
    let head = larder.ask("HEAD", "/").header("If-Match", "\"x\"").send();
    assert_eq!(head.header("set-cookie"), Some("id=2"), "{}", head.said());
    let third = larder.get("/").send();
    assert!(third.hit(), "{}", third.said());
    assert_eq!(third.header("cache-control"), Some("max-age=300"));
    assert_eq!(third.header("set-cookie"), None, "it is another's");
    assert_eq!(third.header("x-user"), None, "it may be another's");
    assert_eq!(origin.requests("/"), 2);
}

/// RFC 9111 sections 4.3.4 and 5.2.2.4. A page with an own word of the application is not kept longer than it says.
#[test]
fn what_a_304_with_a_cookie_forbids_holds_for_all() {
    for (directives, vary, hit) in [
        ("max-age=60", None, true),
        ("no-cache", None, false),
        ("max-age=0, must-revalidate", None, false),
        ("max-age=60", Some("Cookie"), false),
    ] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            let reply = if request.header("if-none-match").is_none() {
                counted(request).cache("max-age=600")
            } else {
                let reply = testkit::Reply::status(304).cache(directives);
                let reply = vary
                    .into_iter()
                    .fold(reply, |reply, vary| reply.header("Vary", vary));
                reply.header("Set-Cookie", format!("id={}", request.nth))
            };
            reply.header("ETag", "\"a\"")
        });
        larder.get("/").send();
        let reload = larder.get("/").header("Cache-Control", "no-cache");
        assert_eq!(reload.send().header("set-cookie"), Some("id=2"));
        let third = larder.get("/").header("Cookie", "id=9").send();
        assert_eq!(third.hit(), hit, "{directives} {vary:?}: {}", third.said());
        assert_eq!(third.text(), "1");
    }
}

/// What the site says of a cookie by name holds for a 304 too.
#[test]
fn a_304_with_a_cookie_of_the_sites_choice_freshens_nothing() {
    let (origin, larder) = start_with(
        "[[origin]]\nservers = \"{origin}\"\n[defaults]\nbypass.sets = [\"currency\"]\n",
    );
    origin.on("/", |request| {
        let reply = if request.header("if-none-match").is_none() {
            counted(request).cache("max-age=60").header("Age", "100")
        } else {
            let reply = testkit::Reply::status(304).cache("max-age=60");
            reply.header("Set-Cookie", "currency=eur")
        };
        reply.header("ETag", "\"a\"")
    });
    for nth in 1..=3 {
        let answer = larder.get("/").send();
        assert_eq!((answer.hit(), answer.text().as_str()), (false, "1"));
        assert_eq!(origin.requests("/"), nth, "{}", answer.said());
    }
}

#[test]
fn fields_that_only_one_client_may_have_reach_him_from_a_validation_too() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let reply = if request.header("if-none-match").is_none() {
            counted(request).cache("max-age=60").header("Age", "100")
        } else {
            testkit::Reply::status(304)
                .cache("max-age=60, private=\"X-User\", no-cache=\"X-Token\"")
        };
        reply
            .header("ETag", "\"a\"")
            .header("X-User", format!("user {}", request.nth))
            .header("X-Token", format!("token {}", request.nth))
    });
    larder.get("/").send();
    let second = larder.get("/").send();
    assert_eq!((second.status, second.text().as_str()), (200, "1"));
    assert_eq!(second.header("x-user"), Some("user 2"), "it is his");
    assert_eq!(second.header("x-token"), Some("token 2"), "it is his");
    assert!(second.header("etag").is_some() && second.header("content-length") == Some("1"));
    let third = larder.get("/").send();
    assert!(third.hit(), "{}", third.said());
    assert_eq!(third.header("x-user"), None, "9111 section 5.2.2.7");
    assert_eq!(third.header("x-token"), None, "9111 section 5.2.2.4");
}

/// A page that was made for who gets the cookie, however freely cookies are taken off or stored.
#[test]
fn an_answer_that_sets_a_cookie_of_the_sites_choice_is_never_stored() {
    for policy in ["refuse", "strip", "store"] {
        let (origin, larder) = start_with(&format!(
            "[[origin]]\nservers = \"{{origin}}\"\n[[route]]\nset_cookie = \"{policy}\"\nbypass.sets = [\"currency\", \"view_*\"]\n"
        ));
        for (path, cookies, stored) in [
            (
                "/currency",
                &["sid=1; Path=/", "currency=eur; Path=/"][..],
                false,
            ),
            ("/view", &["view_b=2"], false),
            ("/other", &["sid=1; currency=no"], true),
            ("/none", &[], true),
        ] {
            origin.on(path, move |request| {
                let reply = counted(request).cache("public, max-age=60");
                cookies
                    .iter()
                    .fold(reply, |reply, cookie| reply.header("Set-Cookie", *cookie))
            });
            assert_eq!(larder.get(path).send().text(), "1");
            let second = larder.get(path).send();
            assert_eq!(second.hit(), stored, "{policy} {path}: {}", second.said());
            assert_eq!(second.text() == "1", stored, "{policy} {path}");
        }
    }
}

/// A part was stored with its cookie, since it was `public`; the part that completes it is not, and neither is what
/// both make.
#[test]
fn a_part_that_is_not_for_all_takes_the_cookie_of_an_earlier_one_away() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let part = |range: &str, content: &str| {
            let reply = Reply::status(206).header("ETag", "\"a\"").body(content);
            reply.header("Content-Range", format!("bytes {range}/10"))
        };
        match request.nth {
            1 => part("0-3", "0123")
                .cache("public, max-age=60")
                .header("Set-Cookie", "id=1"),
            _ => part("4-9", "456789").cache("max-age=60"),
        }
    });
    let ask = |range: &str| larder.get("/").header("Range", range).send();
    assert_eq!(ask("bytes=0-3").header("set-cookie"), Some("id=1"));
    let second = ask("bytes=4-9");
    assert_eq!((second.status, second.text().as_str()), (206, "456789"));
    assert_eq!(
        second.header("set-cookie"),
        None,
        "it is the first client's"
    );
    let whole = larder.get("/").send();
    assert!(whole.hit(), "{}", whole.said());
    assert_eq!(whole.text(), "0123456789");
    assert_eq!(whole.header("set-cookie"), None);
}

/// The same where a 304 says that the page is not for all any more.
#[test]
fn a_page_that_is_not_for_all_any_more_loses_the_cookie_that_it_was_stored_with() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        if request.header("if-none-match").is_some() {
            let reply = Reply::status(304).cache("max-age=60");
            return reply.header("ETag", "\"a\"");
        }
        let reply = counted(request)
            .header("ETag", "\"a\"")
            .header("Age", "100");
        reply
            .cache("public, max-age=60")
            .header("Set-Cookie", "id=1")
    });
    assert_eq!(larder.get("/").send().header("set-cookie"), Some("id=1"));
    for _ in 0..2 {
        let answer = larder.get("/").send();
        assert_eq!((answer.status, answer.text().as_str()), (200, "1"));
        assert_eq!(answer.header("set-cookie"), None, "{}", answer.said());
    }
    assert_eq!(origin.requests("/"), 2, "it is stored again");
}

/// A cookie that is for all is not one client's.
#[test]
fn a_page_that_is_still_for_all_keeps_the_cookie_that_it_was_stored_with() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let reply = if request.header("if-none-match").is_some() {
            Reply::status(304)
        } else {
            let reply = counted(request).header("Age", "100");
            reply.header("Set-Cookie", "id=1")
        };
        reply.cache("public, max-age=60").header("ETag", "\"a\"")
    });
    for _ in 0..3 {
        let answer = larder.get("/").send();
        assert_eq!((answer.status, answer.text().as_str()), (200, "1"));
        assert_eq!(
            answer.header("set-cookie"),
            Some("id=1"),
            "{}",
            answer.said()
        );
    }
    assert_eq!(origin.requests("/"), 2);
}

#[test]
fn a_cookie_that_is_taken_off_takes_no_other_field_along() {
    let (origin, larder) =
        start_with("[[origin]]\nservers = \"{origin}\"\n[defaults]\nset_cookie = \"strip\"\n");
    origin.on("/", |request| {
        let reply = counted(request).cache("max-age=60").header("ETag", "\"a\"");
        reply
            .header("Content-Type", "text/plain")
            .header("Set-Cookie", "id=1")
    });
    for _ in 0..2 {
        let answer = larder.get("/").send();
        assert_eq!(answer.header("set-cookie"), None, "{}", answer.said());
        for (name, value) in [
            ("etag", "\"a\""),
            ("content-type", "text/plain"),
            ("cache-control", "max-age=60"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{}", answer.said());
        }
    }
    assert_eq!(origin.requests("/"), 1);
}
