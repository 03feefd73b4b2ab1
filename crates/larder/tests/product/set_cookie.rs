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

/// A part was stored with its cookie, since it was `public`; the part that completes it is not, and neither is what both make.
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
