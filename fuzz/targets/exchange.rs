//! A whole exchange: a request head (`METHOD TARGET`), an empty line, a response head (`STATUS DELAY LATER`): the delay
//! of the answer in milliseconds, and how many milliseconds later a second, equal request comes. A third head is that
//! of a 304.
#![no_main]

use http::{HeaderMap, HeaderName, Method, StatusCode, header};
use libfuzzer_sys::fuzz_target;
use rules::{
    directives, fields,
    freshness::{self, Facts},
    precondition::{self, Representation},
    range,
    reuse::{self, Failure, Verdict},
    storable::{self, Exchange, SetCookie},
    time::Time,
    validate::{self, Validators},
    vary::{self, Nominated},
};
use std::time::Duration;

const START: Time = Time::from_secs(800_000_000);
const OBEDIENT: reuse::Site = reuse::Site {
    client_may_force: true,
    unreachable: 60,
};

struct Story {
    method: Method,
    request: HeaderMap,
    status: StatusCode,
    response: HeaderMap,
    not_modified: HeaderMap,
    received: Time,
    now: Time,
}

fn read(data: &[u8]) -> Option<Story> {
    let (request, rest) = larder_fuzz::halves(data);
    let (response, not_modified) = larder_fuzz::halves(rest);
    let (first, request) = larder_fuzz::head(request);
    let method = first.split(|&byte| byte == b' ').next()?;
    let (line, response) = larder_fuzz::head(response);
    let mut numbers = std::str::from_utf8(line).ok()?.split(' ');
    let mut number = || numbers.next().and_then(|text| text.parse::<u64>().ok());
    let status = StatusCode::from_u16(number()?.try_into().ok()?).ok()?;
    let received = START.plus(Duration::from_millis(number().unwrap_or(0)));
    Some(Story {
        method: Method::from_bytes(method).ok()?,
        request,
        status,
        response,
        not_modified: larder_fuzz::head(not_modified).1,
        received,
        now: received.plus(Duration::from_millis(number().unwrap_or(0))),
    })
}

fuzz_target!(|data: &[u8]| {
    let Some(story) = read(data) else { return };
    let asks = directives::request(&story.request);
    let exchange = Exchange {
        method: &story.method,
        request: &story.request,
        request_directives: &asks,
        target: "http://a.example/",
        status: story.status,
        response: &story.response,
        request_time: START,
        response_time: story.received,
    };
    let targets = [HeaderName::from_static("cdn-cache-control")];
    let site = storable::Site {
        freshness: freshness::Site {
            heuristic: true,
            ..freshness::Site::default()
        },
        set_cookie: SetCookie::Refuse,
        targets: &targets,
    };
    let Ok(storable) = storable::judge(&exchange, &site) else {
        return;
    };
    let (says, _) = directives::response(&story.response, &targets);
    assert!(
        !says.no_store && !asks.no_store,
        "never stored against no-store"
    );
    assert!(
        !says.private.is_whole(),
        "never stored against private"
    );

    let mut stored = story.response.clone();
    fields::remove_where(&mut stored, |name| fields::is_unstorable(name, &says));
    fields::remove_hop_by_hop(&mut stored);
    check_variants(&stored, &story.request);
    check_reuse(&storable.facts, &asks, &says, &story);
    check_answer(&stored, &storable.facts, &story);
    check_validation(stored, &story);
});

fn check_variants(stored: &HeaderMap, request: &HeaderMap) {
    let Nominated::Fields(names) = vary::nominated(stored) else {
        return;
    };
    let (mut one, mut two) = (Vec::new(), Vec::new());
    vary::variant_key(&names, request, &mut one);
    vary::variant_key(&names, &request.clone(), &mut two);
    assert_eq!(one, two, "a request matches itself");
}

fn check_reuse(
    facts: &Facts,
    asks: &directives::RequestDirectives,
    says: &directives::ResponseDirectives,
    story: &Story,
) {
    assert!(
        facts.age(story.now) >= facts.age(story.received),
        "age never falls"
    );
    assert!(
        facts.age(story.now) >= story.now.since(story.received),
        "age counts from the receipt"
    );
    let fresh = facts.remaining(story.now).is_some();
    assert!(
        !fresh || facts.staleness(story.now).is_zero(),
        "fresh or stale"
    );
    let verdict = reuse::judge(facts, asks, &OBEDIENT, story.now);
    match verdict {
        Verdict::Fresh(left) => {
            assert!(fresh && !left.is_zero(), "never fresh past its lifetime");
            assert!(
                !facts.no_cache && !asks.no_cache,
                "never fresh against no-cache"
            );
        }
        Verdict::Stale(_) => {
            assert!(!fresh && !facts.no_cache && !asks.no_cache);
            assert!(!facts.must_revalidate || says.stale_while_revalidate.is_some());
        }
        Verdict::Validate(_) => {}
    }
    for failure in [Failure::Status, Failure::Unreachable] {
        let sent = reuse::on_failure(facts, asks, &OBEDIENT, failure, story.now);
        assert!(
            !(sent && facts.no_cache),
            "never unvalidated against no-cache"
        );
    }
}

fn check_answer(stored: &HeaderMap, facts: &Facts, story: &Story) {
    let value = |name| stored.get(name).map(http::HeaderValue::as_bytes);
    let representation = Representation {
        etag: value(header::ETAG),
        last_modified: value(header::LAST_MODIFIED),
        date: Some(facts.date),
    };
    let conditional = precondition::any(&story.request);
    let verdict = precondition::judge(&story.method, &story.request, &representation, story.now);
    assert!(
        conditional || verdict == precondition::Verdict::Proceed,
        "unconditional requests proceed"
    );
    if precondition::if_range_holds(&story.request, &representation, story.now)
        && let Some(asked) = story.request.get(header::RANGE)
    {
        let _ = range::resolve(asked, 1_000);
    }
    let mut fields = stored.clone();
    precondition::trim_not_modified(&mut fields);
    assert!(!fields.contains_key(header::CONTENT_LENGTH));
}

fn check_validation(mut stored: HeaderMap, story: &Story) {
    let validators = Validators::of(&stored, story.received);
    let mut own = story.request.clone();
    validate::remove_conditions(&mut own);
    assert!(
        !precondition::any(&own),
        "the client's conditions are not the origin's"
    );
    validate::condition(&mut own, &[validators]);
    let names = [header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE];
    let conditional = names.iter().any(|name| own.contains_key(name));
    assert_eq!(precondition::any(&own), conditional);
    // What we would send to ask for news, an origin with the same representation answers with 304.
    let same = Representation {
        etag: validators.etag.map(http::HeaderValue::as_bytes),
        last_modified: validators.last_modified.map(http::HeaderValue::as_bytes),
        date: Some(story.received),
    };
    let verdict = precondition::judge(&Method::GET, &own, &same, story.now);
    assert_eq!(
        verdict == precondition::Verdict::NotModified,
        conditional,
        "our own validators match"
    );

    let selected = validate::selected(&story.not_modified, &[validators]);
    assert!(selected.len() <= 1);
    let length = stored.get(header::CONTENT_LENGTH).cloned();
    validate::freshen(&mut stored, &story.not_modified, &[]);
    assert_eq!(
        stored.get(header::CONTENT_LENGTH),
        length.as_ref(),
        "the length stays"
    );
    let mut again = stored.clone();
    validate::freshen(&mut again, &story.not_modified, &[]);
    assert_eq!(again, stored, "freshening twice is freshening once");
    assert!(
        !stored.contains_key(header::CONNECTION),
        "hop-by-hop fields are not stored"
    );
}
