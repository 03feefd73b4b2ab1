use super::{run, target, words};
use crate::{
    admin::{Answer, From, Judged},
    cli::Ending,
};
use std::net::TcpListener;

#[test]
fn questions_are_escaped() {
    for (url, headers, expected) in [
        (
            "http://a.test/x",
            &[][..],
            "/explain?url=http%3A%2F%2Fa.test%2Fx",
        ),
        ("a.test:8080/", &[], "/explain?url=http://a.test%3A8080%2F"),
        (
            "http://a.test/?b=c&d=%20#top",
            &[],
            "/explain?url=http%3A%2F%2Fa.test%2F%3Fb%3Dc%26d%3D%2520",
        ),
        (
            "http://a.test/\u{e9} +",
            &[],
            "/explain?url=http%3A%2F%2Fa.test%2F%C3%A9%20%2B",
        ),
        (
            "http://a.test/",
            &["Accept-Encoding: gzip, br", "Cookie: a=b"],
            "/explain?url=http%3A%2F%2Fa.test%2F&header=Accept-Encoding%3A%20gzip%2C%20br&header=Cookie%3A%20a%3Db",
        ),
    ] {
        let headers: Vec<String> = headers.iter().map(ToString::to_string).collect();
        assert_eq!(target(url, &headers), expected);
    }
}

#[test]
fn nobody_there_is_one_clear_line() {
    let nobody = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let ending = run("http://a.test/", nobody, &[], &mut out, &mut err).unwrap();
    assert_eq!((ending, out.as_slice()), (Ending::Refused, &b""[..]));
    let err = String::from_utf8(err).unwrap();
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(
        err.contains(&nobody.to_string()) && err.contains("--admin"),
        "{err}"
    );
}

fn judged() -> Judged {
    Judged {
        tier: "memory".to_owned(),
        status: 200,
        selected: true,
        matches: true,
        nominated: Vec::new(),
        differing: Vec::new(),
        verdict: "fresh".to_owned(),
        reason: None,
        age: 12.34,
        lifetime: 300.0,
        source: "max-age".to_owned(),
        length: Some(10_240),
        form: "whole".to_owned(),
        invalidated: false,
        stale_while_revalidate: 0,
        stale_if_error: 0,
        stale_if_unreachable: 0,
        sent_on_error: false,
        sent_if_unreachable: false,
    }
}

pub(super) fn answer(from: From, why: &str, detail: Option<&str>, stored: Vec<Judged>) -> Answer {
    Answer {
        url: "http://a.test/x".to_owned(),
        route: "pages".to_owned(),
        key: "//a.test/x".to_owned(),
        passed_over: None,
        from,
        why: why.to_owned(),
        detail: detail.map(str::to_owned),
        hit_for_miss: false,
        not_stored: None,
        shared_not_asked: false,
        origin_down: false,
        error_statuses: None,
        may_be_forced: false,
        stored,
    }
}

fn told(answer: &Answer) -> String {
    let mut out = Vec::new();
    words::write(answer, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_hit_and_a_variant_that_does_not_match() {
    let other = Judged {
        selected: false,
        matches: false,
        nominated: vec!["accept-encoding".to_owned(), "accept-language".to_owned()],
        differing: vec!["accept-language".to_owned()],
        verdict: "validate".to_owned(),
        reason: Some("expired".to_owned()),
        age: 400.0,
        ..judged()
    };
    let answer = answer(From::Memory, "fresh", None, vec![judged(), other]);
    insta::assert_snapshot!(told(&answer), @r"
    http://a.test/x
      route  pages
      key    //a.test/x

    A GET now is answered from memory: a stored response matches and is fresh.

    2 responses are stored under this key, the newest first:

      1. status 200, 10.0 KiB
         age 12s, fresh for 4m 47s more
         lifetime 5m: from max-age in Cache-Control
         the same for every request (no Vary except on codings, which Larder chooses)
         selected; may be sent as it is

      2. status 200, 10.0 KiB
         age 6m 40s, stale for 1m 40s
         lifetime 5m: from max-age in Cache-Control
         varies by accept-encoding, accept-language: this request differs in accept-language
         not sent without asking the origin: it is past its lifetime
    ");
}

/// No line takes back what the headline says of the request.
#[test]
fn what_is_fresh_is_not_said_to_be_sent_where_it_is_not() {
    let other = Judged {
        selected: false,
        matches: false,
        nominated: vec!["accept-language".to_owned()],
        differing: vec!["accept-language".to_owned()],
        ..judged()
    };
    let older = Judged {
        selected: false,
        ..judged()
    };
    for (from, why, sent) in [
        (From::Memory, "fresh", true),
        (From::Disk, "fresh", true),
        (From::Origin, "bypass", false),
        (From::Origin, "partial", false),
        (From::Larder, "only-if-cached", false),
    ] {
        let all = vec![judged(), older.clone(), other.clone()];
        let told = told(&answer(from, why, None, all));
        let times = told.matches("may be sent").count();
        assert_eq!(times, usize::from(sent), "{told}");
        assert!(
            told.contains("fresh, for requests that it matches"),
            "{told}"
        );
    }
}

#[test]
fn what_is_sent_stale_and_when() {
    let stale = Judged {
        verdict: "validate".to_owned(),
        reason: Some("expired".to_owned()),
        age: 400.0,
        stale_while_revalidate: 30,
        stale_if_error: 600,
        stale_if_unreachable: 86_400,
        sent_on_error: true,
        sent_if_unreachable: true,
        ..judged()
    };
    let told = |why: &str, stored| self::told(&answer(From::Origin, why, None, vec![stored]));
    let all = told("stale", stale.clone());
    let windows = "past its lifetime it is sent for 30s while it is refreshed, for 10m if the origin answers with an error, \
                   for 1day if the origin cannot be reached";
    assert!(all.contains(windows), "{all}");
    assert!(all.contains("If the origin fails, the stored response is sent instead."));

    let listed = Answer {
        error_statuses: Some(vec!["404".to_owned(), "5xx".to_owned()]),
        ..answer(From::Origin, "stale", None, vec![stale])
    };
    let listed = self::told(&listed);
    assert!(listed.contains("for 10m if the origin answers with 404 or 5xx, for 1day"));
    assert!(
        listed.contains(
            "If the origin cannot be reached, or the origin answers with 404 or 5xx, the"
        )
    );

    let disconnected = |sent| Judged {
        stale_if_unreachable: 60,
        sent_if_unreachable: sent,
        ..judged()
    };
    let only = told("stale", disconnected(true));
    assert!(
        only.contains("it is sent for 1m if the origin cannot be reached\n"),
        "{only}"
    );
    assert!(only.contains("If the origin cannot be reached, the stored response is sent instead."));
    for (why, stored) in [
        ("stale", disconnected(false)),
        ("bypass", disconnected(false)),
        (
            "vary-miss",
            Judged {
                selected: false,
                ..disconnected(true)
            },
        ),
    ] {
        let none = told(why, stored);
        assert!(!none.contains("is sent instead"), "{none}");
    }
}

#[test]
fn reasons_not_to_answer_from_the_store() {
    let stale = Judged {
        verdict: "validate".to_owned(),
        reason: Some("expired".to_owned()),
        age: 400.0,
        ..judged()
    };
    for (answer, said) in [
        (
            answer(From::Origin, "bypass", Some("cookie"), Vec::new()),
            "bypass the store (a cookie of the request",
        ),
        (
            answer(From::Origin, "uri-miss", None, Vec::new()),
            "nothing is stored under its key.",
        ),
        (
            answer(From::Origin, "stale", Some("expired"), vec![stale]),
            "must be validated first (it is past its lifetime).",
        ),
        (
            answer(From::Origin, "unheard-of", None, Vec::new()),
            "from the origin: unheard-of.",
        ),
    ] {
        let told = told(&answer);
        assert!(told.contains(said), "{told}");
    }
    let mut refused = answer(From::Origin, "uri-miss", None, Vec::new());
    refused.not_stored = Some("no-store".to_owned());
    assert!(told(&refused).contains("The last answer for it was not stored: it says no-store."));
    refused.hit_for_miss = true;
    assert!(told(&refused).contains("do not wait for each other"));
    let mut shared = answer(From::Origin, "uri-miss", None, Vec::new());
    shared.shared_not_asked = true;
    assert!(told(&shared).contains("unless the shared tier has it (which was not asked)"));
}

/// Every token of the rules and the walk is put into words.
#[test]
fn no_reason_is_left_as_a_token() {
    use proxy::outcome::{BypassReason, FORWARDS};
    use rules::reuse::{StaleReason, ValidateReason};
    let forwards = FORWARDS
        .iter()
        .filter(|forward| !matches!(forward.token(), "method" | "miss"));
    let tokens = forwards.map(|forward| forward.token()).chain([
        StaleReason::WhileRevalidate.token(),
        StaleReason::MaxStale.token(),
        ValidateReason::Expired.token(),
        ValidateReason::NoCache.token(),
        ValidateReason::RequestNoCache.token(),
        ValidateReason::RequestAge.token(),
        proxy::outcome::Detail::Unsure.token(),
    ]);
    for token in tokens {
        assert!(
            !told(&answer(From::Origin, token, None, Vec::new())).contains(&format!(": {token}.")),
            "{token}"
        );
    }
    for why in proxy::hit_for_miss::Unshared::ALL {
        let mut refused = answer(From::Origin, "uri-miss", None, Vec::new());
        refused.not_stored = why.token().map(str::to_owned);
        let told = told(&refused);
        let is_told = told.contains("The last ");
        assert_eq!(is_told, why.token().is_some());
        assert!(
            why.token()
                .is_none_or(|token| !told.contains(&format!(": {token}."))),
            "{why:?}"
        );
    }
    for bypass in [
        BypassReason::Route,
        BypassReason::Cookie,
        BypassReason::Header,
        BypassReason::Path,
        BypassReason::Ambiguous,
        BypassReason::Method,
        BypassReason::Query,
        BypassReason::Group,
    ] {
        let told = told(&answer(
            From::Origin,
            "bypass",
            Some(bypass.token()),
            Vec::new(),
        ));
        assert!(!told.contains(&format!("({})", bypass.token())), "{told}");
    }
}

/// As long as the clock says so, it is not known how old it is.
#[test]
fn what_came_later_than_the_clock_says_it_is_has_no_lifetime_left() {
    let ahead = Judged {
        verdict: "validate".to_owned(),
        reason: Some("expired".to_owned()),
        age: 61.0,
        source: "clock-set-back".to_owned(),
        ..judged()
    };
    let all = vec![ahead];
    let told = told(&answer(From::Origin, "stale", Some("expired"), all));
    assert!(!told.contains("fresh for"), "{told}");
    assert!(!told.contains("it is past its lifetime"), "{told}");
    let why = "the clock was set back since it was received, so its age is not known";
    assert_eq!(told.matches(why).count(), 2, "{told}");
}
