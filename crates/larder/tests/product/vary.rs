//! Variants (RFC 9111 section 4.1).

use crate::{
    common::{Said, counted, start, start_with},
    disk::Site,
};
use testkit::{Larder, Origin, Reply, Request, date};

fn varying(vary: &'static str) -> (Origin, Larder) {
    let (origin, larder) = start();
    origin.on("/", move |request| {
        counted(request).cache("max-age=60").header("Vary", vary)
    });
    (origin, larder)
}

/// Asks with each set of fields in turn, and tells which of them came from the store.
fn hits(larder: &Larder, asks: &[&[(&str, &str)]]) -> Vec<bool> {
    let ask = |fields: &&[(&str, &str)]| {
        fields
            .iter()
            .fold(larder.get("/"), |ask, (name, value)| {
                ask.header(name, value)
            })
            .send()
            .hit()
    };
    asks.iter().map(ask).collect()
}

#[test]
fn variants_are_kept_side_by_side() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let language = request
            .header("accept-language")
            .unwrap_or("none")
            .to_owned();
        Reply::ok()
            .cache("max-age=60")
            .header("Vary", "Accept-Language")
            .body(language)
    });
    for round in 0..2 {
        for language in ["en", "de", "fr"] {
            let answer = larder.get("/").header("Accept-Language", language).send();
            assert_eq!(answer.text(), language);
            assert_eq!(answer.hit(), round == 1);
        }
    }
    assert_eq!(larder.get("/").send().text(), "none");
    assert_eq!(origin.requests("/"), 4);
}

#[test]
fn a_forwarded_request_for_a_known_url_is_a_vary_miss() {
    let (_origin, larder) = varying("Foo");
    assert_eq!(
        larder
            .get("/")
            .header("Foo", "1")
            .send()
            .parameter("fwd")
            .as_deref(),
        Some("uri-miss")
    );
    assert_eq!(
        larder
            .get("/")
            .header("Foo", "2")
            .send()
            .parameter("fwd")
            .as_deref(),
        Some("vary-miss")
    );
}

#[test]
fn values_that_mean_the_same_match() {
    for (field, values) in [
        (
            "Accept-Encoding",
            &[
                "gzip, br",
                "br,gzip",
                "gzip ,\tbr",
                "GZIP, br",
                "gzip;q=1, br;q=1.0",
            ][..],
        ),
        (
            "Accept-Language",
            &[
                "en, de;q=0.5",
                "EN,de;q=0.5",
                "de;q=0.5, en",
                "en , de ; q=0.5",
            ],
        ),
        ("Foo", &["a, b", " a, b", "a, b  "]),
    ] {
        let (_origin, larder) = varying(field);
        larder.get("/").header(field, values[0]).send();
        for value in values {
            let answer = larder.get("/").header(field, value).send();
            assert!(
                answer.hit(),
                "9111 section 4.1: {field}: {:?} and {value:?}",
                values[0]
            );
        }
    }
}

#[test]
fn several_lines_match_their_combination() {
    let (_origin, larder) = varying("Foo");
    assert_eq!(
        hits(
            &larder,
            &[&[("Foo", "a"), ("Foo", "b")], &[("Foo", "a, b")]]
        ),
        [false, true]
    );
}

#[test]
fn values_that_mean_something_else_do_not_match() {
    for (field, one, other) in [
        ("Foo", "a, b", "b, a"),
        ("Foo", "a", "A"),
        ("Foo", "a", ""),
        ("Accept-Language", "en, de;q=0.5", "de, en;q=0.5"),
        ("Accept-Language", "en", "en-GB"),
        ("Cookie", "a=1", "a=2"),
        ("User-Agent", "x", "y"),
        ("Origin", "https://a.test", "https://b.test"),
    ] {
        let (_origin, larder) = varying(field);
        let asks: [&[(&str, &str)]; 2] = [&[(field, one)], &[(field, other)]];
        assert_eq!(
            hits(&larder, &asks),
            [false, false],
            "9111 section 4.1: {field}: {one:?} and {other:?}"
        );
    }
}

/// Where nothing is compressed here, the origin codes, and its variants are its own affair.
#[test]
fn codings_that_mean_something_else_do_not_match() {
    for (one, other) in [
        ("gzip", "gzip;q=0"),
        ("gzip, br;q=0.5", "gzip;q=0.5, br"),
        ("gzip", "gzip, br"),
    ] {
        let (origin, larder) =
            start_with("[[origin]]\nservers = \"{origin}\"\n[defaults]\ncompress = false\n");
        origin.on("/", |request| {
            let reply = counted(request).cache("max-age=60");
            reply.header("Vary", "Accept-Encoding")
        });
        let field = "Accept-Encoding";
        let asks: [&[(&str, &str)]; 3] = [&[(field, one)], &[(field, other)], &[(field, one)]];
        let hits = hits(&larder, &asks);
        assert_eq!(
            hits,
            [false, false, true],
            "9111 section 4.1: {one:?} and {other:?}"
        );
        assert_eq!(origin.last("/").header("accept-encoding"), Some(other));
    }
}

#[test]
fn an_absent_field_matches_only_its_absence() {
    let (_origin, larder) = varying("Foo");
    assert_eq!(
        hits(
            &larder,
            &[&[("Foo", "a")], &[], &[], &[("Foo", "a")], &[("Foo", "")]]
        ),
        [false, false, true, true, false]
    );
}

#[test]
fn all_nominated_fields_must_match() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        counted(request)
            .cache("max-age=60")
            .header("Vary", "foo")
            .header("Vary", "BAR, Foo")
    });
    let asks: [&[(&str, &str)]; 5] = [
        &[("Foo", "1"), ("Bar", "1")],
        &[("Foo", "1"), ("Bar", "2")],
        &[("Foo", "2"), ("Bar", "1")],
        &[("Bar", "1"), ("Foo", "1"), ("Other", "1")],
        &[("Foo", "1")],
    ];
    assert_eq!(hits(&larder, &asks), [false, false, false, true, false]);
}

/// RFC 9111 section 4.1: what the origin does not get cannot have chosen what it answered.
#[test]
fn what_the_origin_is_not_told_chooses_no_variant() {
    for name in [
        "Content-Type",
        "Content-Language",
        "Content-Encoding",
        "Max-Forwards",
        "TE",
        "Keep-Alive",
        "Expect",
    ] {
        let (origin, larder) = start();
        origin.on("/", move |request| {
            assert!(request.header(name).is_none(), "{name}");
            counted(request).cache("max-age=60").header("Vary", name)
        });
        let asks: [&[_]; 3] = [&[(name, "1")], &[(name, "2")], &[]];
        assert_eq!(hits(&larder, &asks), [false, true, true], "{name}");
    }
    // Of a `POST` it is told.
    let (origin, larder) = start();
    origin.on("/", |request| {
        let reply = Reply::ok()
            .cache("max-age=60")
            .header("Vary", "Content-Type");
        reply.header("Content-Location", "/").body(&request.method)
    });
    let post = larder.ask("POST", "/").header("Content-Type", "text/plain");
    assert_eq!(post.body("x").send().text(), "POST");
    assert_eq!(larder.get("/").send().text(), "GET");
}

#[test]
fn a_star_never_matches() {
    for vary in ["*", "Foo, *", "*, Foo", ", *", "*, *", "Foo,*"] {
        let (_origin, larder) = varying(vary);
        assert_eq!(
            hits(&larder, &[&[], &[], &[("Foo", "1")], &[("Foo", "1")]]),
            [false; 4],
            "9111 section 4.1: {vary}"
        );
    }
}

#[test]
fn of_several_that_match_the_newest_answers() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.header("foo") {
        Some("1") => Reply::ok()
            .cache("max-age=60")
            .undated()
            .header("Date", date(-20))
            .header("Vary", "Foo")
            .body("older"),
        _ => Reply::ok()
            .cache("max-age=60")
            .header("Vary", "Bar")
            .body("newer"),
    });
    assert_eq!(larder.get("/").header("Foo", "1").send().text(), "older");
    assert_eq!(larder.get("/").header("Foo", "2").send().text(), "newer");
    let both = larder.get("/").header("Foo", "1").send();
    assert_eq!(
        both.text(),
        "newer",
        "9111 section 4: MUST use the most recent one (by Date)"
    );
    assert!(both.hit());
}

#[test]
fn the_newest_is_the_one_with_the_latest_date_and_not_the_last_that_came() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.header("foo") {
        Some("1") => Reply::ok()
            .cache("max-age=60")
            .header("Vary", "Foo")
            .body("newer"),
        _ => Reply::ok()
            .cache("max-age=60")
            .undated()
            .header("Date", date(-20))
            .header("Vary", "Bar")
            .body("older"),
    });
    assert_eq!(larder.get("/").header("Foo", "1").send().text(), "newer");
    assert_eq!(larder.get("/").header("Foo", "2").send().text(), "older");
    let both = larder.get("/").header("Foo", "1").send();
    assert_eq!(
        (both.hit(), both.text().as_str()),
        (true, "newer"),
        "9111 section 4: MUST use the most recent one (by Date)"
    );
}

#[test]
fn what_was_just_confirmed_is_the_newest() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let reply = Reply::ok().undated();
        match request.nth {
            1 => reply
                .cache("max-age=60")
                .header("Date", date(-100))
                .header("ETag", "\"a\"")
                .header("Vary", "Foo")
                .body("confirmed"),
            2 => reply
                .cache("max-age=600")
                .header("Date", date(-50))
                .header("Vary", "Bar")
                .body("other"),
            _ => Reply::status(304)
                .cache("max-age=600")
                .header("ETag", "\"a\""),
        }
    });
    larder.get("/").header("Foo", "1").send();
    larder.get("/").header("Foo", "2").header("Bar", "1").send();
    let confirmed = larder.get("/").header("Foo", "1").send();
    assert_eq!(confirmed.text(), "confirmed");
    let both = larder.get("/").header("Foo", "1").header("Bar", "1").send();
    assert_eq!(
        (both.hit(), both.text().as_str()),
        (true, "confirmed"),
        "9111 section 4: MUST use the most recent one (by Date)"
    );
    let other = larder.get("/").header("Foo", "2").header("Bar", "1").send();
    assert_eq!((other.hit(), other.text().as_str()), (true, "other"));
}

/// Answers `one` with `Vary: Foo`, of twenty seconds ago, to `Foo: 1`, and to all others `any`, which omits it.
fn omits_vary(request: &Request, one: Reply) -> Reply {
    match request.header("foo") {
        Some("1") => {
            let one = one.undated().header("Date", date(-20));
            one.header("Vary", "Foo").body("one")
        }
        _ => Reply::ok().cache("max-age=600").body("any"),
    }
}

fn text(larder: &Larder, kind: &str) -> (bool, String) {
    let answer = larder.get("/").header("Foo", kind).send();
    (answer.hit(), answer.text())
}

#[test]
fn what_omits_vary_stands_beside_the_variants_and_behind_them() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        omits_vary(request, Reply::ok().cache("max-age=600"))
    });
    assert_eq!(text(&larder, "1"), (false, "one".to_owned()));
    assert_eq!(text(&larder, "2"), (false, "any".to_owned()));
    assert_eq!(
        text(&larder, "1"),
        (true, "one".to_owned()),
        "9111 section 4.1: SHOULD choose the one with a valid Vary field value"
    );
    assert_eq!(text(&larder, "3"), (true, "any".to_owned()));
}

#[test]
fn on_disk_it_stands_beside_them_too() {
    let site = Site::with(|request| omits_vary(request, Reply::ok().cache("max-age=600")));
    let larder = site.start();
    for kind in ["1", "1", "2", "2"] {
        text(&larder, kind);
    }
    let larder = site.restart(larder);
    assert_eq!(text(&larder, "1"), (true, "one".to_owned()));
    assert_eq!(text(&larder, "3"), (true, "any".to_owned()));
}

#[test]
fn a_variant_past_its_lifetime_stands_behind_what_omits_vary() {
    let (origin, larder) = start();
    origin.on("/", |request| {
        let one = Reply::ok().cache("max-age=60, stale-while-revalidate=600");
        omits_vary(request, one.header("Age", "100"))
    });
    text(&larder, "1");
    text(&larder, "2");
    assert_eq!(text(&larder, "1"), (true, "any".to_owned()));
}

#[test]
fn where_the_newest_match_is_stale_the_newest_fresh_one_answers() {
    let (origin, larder) = start();
    origin.on("/", |request| match request.header("foo") {
        Some("1") => Reply::ok()
            .cache("max-age=600")
            .undated()
            .header("Date", date(-20))
            .header("Vary", "Foo")
            .body("older"),
        _ => Reply::ok()
            .cache("max-age=60")
            .header("Age", "100")
            .header("Vary", "Bar")
            .body("newer"),
    });
    assert_eq!(text(&larder, "1"), (false, "older".to_owned()));
    assert_eq!(text(&larder, "2"), (false, "newer".to_owned()));
    assert_eq!(
        text(&larder, "1"),
        (true, "older".to_owned()),
        "9111 section 4: the most recent of those that are suitable"
    );
}

#[test]
fn as_many_variants_are_kept_as_the_site_says() {
    let (origin, larder) =
        start_with("[limits]\nvariants = 3\n[[origin]]\nservers = \"{origin}\"\n");
    origin.on("/", |request| {
        counted(request).cache("max-age=60").header("Vary", "Foo")
    });
    for number in 0..10 {
        larder.get("/").header("Foo", number.to_string()).send();
    }
    let only = |number: &u32| {
        let ask = larder.get("/").header("Foo", number.to_string());
        ask.header("Cache-Control", "only-if-cached").send().hit()
    };
    let kept: Vec<u32> = (0..10).filter(only).collect();
    assert_eq!(kept, [7, 8, 9], "the last three");
}

#[test]
fn variants_do_not_grow_without_bound() {
    let (origin, larder) = varying("Foo");
    let mut client = larder.client();
    for number in 0..600 {
        client.get("/").header("Foo", number.to_string()).send();
    }
    assert!(
        client.get("/").header("Foo", "599").send().hit(),
        "the last one is kept"
    );
    let kept = (0..600)
        .filter(|number| {
            client
                .get("/")
                .header("Foo", number.to_string())
                .send()
                .hit()
        })
        .count();
    assert!(
        kept < 600,
        "all of {} variants were kept",
        origin.requests("/")
    );
}
