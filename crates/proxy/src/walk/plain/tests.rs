use super::*;
use crate::{
    policy::{Edit, Esi, Policy, Report},
    sample,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use rules::{freshness, surrogate, time::Time};
use std::{sync::Arc, time::Duration};
use store::{Body, Fields, Stored};

/// A page that also has these fields.
fn page(more: &[(&'static str, &str)]) -> Arc<Stored> {
    let mut fields = sample::fields(&[
        ("content-type", "text/html"),
        ("etag", "\"tag\""),
        ("date", "Fri, 02 Jan 1970 00:00:00 GMT"),
        ("cache-control", "max-age=600"),
    ]);
    fields.extend(sample::fields(more));
    let now = Time::from_secs(999_990);
    let (said, site) = Default::default();
    let facts = freshness::facts(StatusCode::OK, &fields, &said, &site, now, now);
    let body = Body::Whole(Bytes::from_static(b"a page for everybody"));
    let told = fields.remove(surrogate::CONTROL).map(|told| {
        let told = HeaderMap::from_iter([(surrogate::CONTROL, told)]);
        Box::new(Fields::pack(&told))
    });
    let fields = Fields::pack(&fields);
    let page = Stored::new(0, StatusCode::OK, fields, facts, None, None, body);
    Arc::new(page.with_unsent(told))
}

type AnswerParts = (StatusCode, HeaderMap, Option<Bytes>);

fn told(response: Response<ReplyBody>) -> AnswerParts {
    let (head, mut body) = response.into_parts();
    (head.status, head.headers, body.take_whole())
}

/// Returns what a client is told, and whether its head took no map.
fn answer(worker: &Rc<Worker>, mut ask: Ask, stored: &Arc<Stored>) -> (AnswerParts, bool) {
    match hit(worker, &mut ask, a_hit(stored)) {
        Served::Now(response) => (told(response), false),
        Served::Prepared(prepared) => (told(prepared.response()), true),
        Served::Later(_) => panic!("a hit does not wait"),
    }
}

fn a_hit(stored: &Arc<Stored>) -> Hit {
    Hit {
        stored: stored.clone(),
        reader: None,
        outcome: Outcome::hit(590),
        own: None,
    }
}

type Change = fn(&mut Policy, &mut Report);

/// What a site may want changed; the first wants no change.
const SITES: [Change; 8] = [
    |_, _| {},
    |policy, _| policy.to_client.browser_ttl = Some(Duration::from_secs(5)),
    |policy, _| policy.esi = Esi::On,
    |policy, _| {
        let edit = Edit::Remove(header::CONTENT_TYPE);
        policy.to_client.edits = vec![edit];
    },
    |_, report| report.cache_status = false,
    |_, report| report.key = true,
    |_, report| report.x_cache = Some(HeaderName::from_static("x-cache")),
    |_, report| {
        let name = HeaderName::from_static("node");
        report.node = Some((name, HeaderValue::from_static("edge")));
    },
];

/// A method and fields.
type Client = (&'static str, &'static [(&'static str, &'static str)]);

/// What a client may want changed; the first wants no change.
const CLIENTS: [Client; 6] = [
    ("GET", &[("accept-encoding", "gzip")]),
    ("HEAD", &[]),
    ("GET", &[("range", "bytes=2-3")]),
    ("GET", &[("if-none-match", "\"tag\"")]),
    (
        "GET",
        &[("if-modified-since", "Sat, 03 Jan 1970 00:00:00 GMT")],
    ),
    ("GET", &[("if-range", "\"other\""), ("range", "bytes=2-3")]),
];

/// What a page may say: the first says nothing more, the second what caches before us said, the third something for us
/// alone.
const PAGES: [&[(&str, &str)]; 5] = [
    &[],
    &[("cache-status", "before; hit")],
    &[("surrogate-control", "max-age=700")],
    &[("surrogate-control", "content=\"ESI/1.0\"")],
    &[("x-cache-debug", "1")],
];

/// Whether a page goes out with a head that takes no map: from the first time on, or never. The client is told the same
/// every time.
fn is_kept(change: Change, more: &[(&'static str, &str)], client: Client) -> bool {
    let (method, lines) = client;
    let ask = || {
        let mut policy = sample::policy(sample::key_spec());
        let mut report = sample::site(policy.clone()).report;
        change(&mut policy, &mut report);
        let mut site = sample::site(policy);
        site.report = report;
        let mut ask = sample::ask(site, None, sample::fields(lines));
        ask.method = method.parse().expect("a method");
        ask
    };
    let (worker, stored) = (sample::worker(&sample::memory()), page(more));
    // The worker keeps no head of another page that was asked for once.
    let expected = told(deliver::stored(&worker, &ask(), a_hit(&page(more))));
    let times: Vec<_> = (1..=4)
        .map(|time| {
            let (told, kept) = answer(&worker, ask(), &stored);
            assert_eq!(told, expected, "{client:?}, {more:?}, time {time}");
            kept
        })
        .collect();
    assert!(times.iter().all(|kept| *kept == times[0]), "{times:?}");
    times[0]
}

#[test]
fn a_hit_tells_the_same_whether_its_head_is_a_kept_one_or_not() {
    let mut kept = Vec::new();
    for (site, change) in SITES.into_iter().enumerate() {
        for (page, more) in PAGES.into_iter().enumerate() {
            for (client, asked) in CLIENTS.into_iter().enumerate() {
                let case = (site, page, client);
                kept.extend(is_kept(change, more, asked).then_some(case));
            }
        }
    }
    // The field that tells this cache its lifetime is stored but not sent.
    let unchanged = [(0, 0, 0), (0, 2, 0)];
    assert_eq!(kept, unchanged, "what nobody wants changed");
}

#[test]
fn pages_asked_for_in_turn_have_their_own_heads() {
    let worker = sample::worker(&sample::memory());
    let pages: Vec<_> = ["a", "b", "c"]
        .iter()
        .map(|user| (*user, page(&[("x-for", user)])))
        .collect();
    for time in 0..4 {
        for (user, stored) in &pages {
            let site = sample::site(sample::policy(sample::key_spec()));
            let ask = sample::ask(site, None, HeaderMap::new());
            let ((_, fields, _), is_kept) = answer(&worker, ask, stored);
            assert_eq!(fields["x-for"], **user);
            assert!(is_kept, "{user}, time {time}");
        }
    }
}

/// The request came long ago.
#[test]
fn a_hit_that_was_waited_for_has_the_age_of_the_present() {
    let worker = sample::worker(&sample::memory());
    for (waited, is_plain) in [(false, false), (false, true), (true, false), (true, true)] {
        let site = sample::site(sample::policy(sample::key_spec()));
        let mut ask = sample::ask(site, None, HeaderMap::new());
        let mut found = a_hit(&page(&[]));
        found.outcome.waited = waited;
        let then = found.stored.facts.age(ask.now).as_secs();
        let answer = if is_plain {
            hit(&worker, &mut ask, found).at_once().ok()
        } else {
            Some(deliver::stored(&worker, &ask, found))
        };
        let answer = answer.expect("a hit does not wait");
        let age = answer.headers()[header::AGE].to_str().expect("a number");
        assert_eq!(age != then.to_string(), waited, "{age}, {is_plain}");
    }
}
