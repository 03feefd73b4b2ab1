//! Random exchanges, and what both readings of the RFCs say about them.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response};
use http_cache_semantics::{BeforeRequest, CacheOptions, CachePolicy};
use proptest::{prelude::*, sample::select};
use rules::{
    directives,
    freshness::{self, Facts},
    reuse::{self, Verdict},
    storable::{self, NotStorable, SetCookie},
    time::Time,
};
use std::time::{Duration, SystemTime};

/// The number of exchanges that a run compares.
pub(crate) const CASES: u32 = 20_000;
/// When the response is received: 6 November 1994, 08:49:37.
pub(crate) const RECEIVED: Time = Time::from_secs(784_111_777);
const TARGET: &str = "http://example.org/a";

/// One exchange with the origin, and one later request for the same.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) method: &'static str,
    pub(crate) authorized: bool,
    pub(crate) status: u16,
    /// The members of `Cache-Control`, each on a line of its own.
    pub(crate) response: Vec<&'static str>,
    /// The other fields of the response.
    pub(crate) fields: Vec<(&'static str, String)>,
    pub(crate) delay_ms: u64,
    /// The members of `Cache-Control` of the later request.
    pub(crate) request: Vec<&'static str>,
    /// Whether the later request has `Pragma: no-cache`.
    pub(crate) pragma: bool,
    pub(crate) elapsed_ms: u64,
}

impl Case {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(found, _)| *found == name);
        found.map(|(_, value)| value.as_str())
    }
}

const RESPONSE: &[&str] = &[
    "no-store",
    "no-cache",
    "private",
    "public",
    "must-revalidate",
    "proxy-revalidate",
    "must-understand",
    "immutable",
    "max-age=0",
    "max-age=60",
    "max-age=\"60\"",
    "max-age=100000",
    "s-maxage=30",
    "s-maxage=0",
    "max-age",
    "max-age=abc",
    "max-age=-5",
    "max-age=+5",
    "max-age=99999999999999999999",
    "s-maxage",
    "Max-Age=10",
    "NO-STORE",
    "Private",
    "Must-Revalidate",
    "private=\"x-a\"",
    "no-cache=\"x-a, x-b\"",
    "stale-while-revalidate=20",
    "stale-if-error=20",
    "foo",
    "foo=\"bar\"",
];

const REQUEST: &[&str] = &[
    "no-cache",
    "no-store",
    "no-transform",
    "max-age=0",
    "max-age=30",
    "max-age=1000",
    "max-age",
    "max-age=x",
    "min-fresh=0",
    "min-fresh=20",
    "min-fresh",
    "max-stale",
    "max-stale=10",
    "max-stale=100",
    "max-stale=x",
    "NO-CACHE",
    "Max-Stale",
    "foo=bar",
];

/// An IMF-fixdate this many seconds from receipt.
fn date(offset: i64) -> String {
    Time::from_secs(RECEIVED.as_secs().saturating_add_signed(offset)).to_http()
}

/// The name of each row, with its values. Each row occurs in a part of the cases.
fn fields() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let offsets = || select(vec![-100_000i64, -60, -3, 0, 60, 1000]);
    let text = |values: &'static [&'static str]| select(values).prop_map(str::to_owned);
    let rows: Vec<(&'static str, f64, BoxedStrategy<String>)> = vec![
        ("expires", 0.3, offsets().prop_map(date).boxed()),
        (
            "expires",
            0.05,
            text(&["0", "-1", "", "Sun Nov  6 08:59:37 1994"]).boxed(),
        ),
        ("expires", 0.02, offsets().prop_map(date).boxed()),
        (
            "date",
            0.3,
            select(vec![-30i64, -2, 0, 30]).prop_map(date).boxed(),
        ),
        ("date", 0.02, text(&["today"]).boxed()),
        (
            "age",
            0.3,
            text(&["0", "10", "7, 5", "x", "+7", "-7"]).boxed(),
        ),
        (
            "last-modified",
            0.4,
            select(vec![-10_000_000i64, -1000, -5, 60])
                .prop_map(date)
                .boxed(),
        ),
        ("etag", 0.3, text(&["\"a\""]).boxed()),
        ("set-cookie", 0.1, text(&["a=b"]).boxed()),
        ("vary", 0.1, text(&["*", "accept"]).boxed()),
        ("pragma", 0.1, text(&["no-cache"]).boxed()),
        ("content-location", 0.3, text(&["/a", "/b"]).boxed()),
    ];
    rows.into_iter()
        .map(|(name, part, value)| {
            proptest::option::weighted(part, value.prop_map(move |value| (name, value)))
        })
        .collect::<Vec<_>>()
        .prop_map(|rows| rows.into_iter().flatten().collect())
}

pub(crate) fn cases() -> impl Strategy<Value = Case> {
    let methods =
        prop_oneof![8 => Just("GET"), 1 => Just("HEAD"), 1 => Just("POST"), 1 => Just("PUT")];
    let statuses = prop_oneof![
        3 => Just(200u16),
        2 => select(vec![203u16, 204, 206, 301, 302, 307, 404, 410, 414, 500, 503, 299, 304]),
    ];
    let original = (
        methods,
        any::<bool>(),
        statuses,
        proptest::collection::vec(select(RESPONSE), 0..5),
        fields(),
        select(vec![0u64, 0, 0, 500, 2500]),
    );
    let later = (
        proptest::collection::vec(select(REQUEST), 0..3),
        proptest::bool::weighted(0.05),
        prop_oneof![
            (0..240u64).prop_map(|halves| halves * 500),
            // The last moment of `max-stale=10` after some lifetimes.
            select(vec![10_000u64, 70_000]),
        ],
    );
    (original, later).prop_map(|(original, (request, pragma, elapsed_ms))| {
        let (method, authorized, status, response, mut fields, delay_ms) = original;
        if status == 206 {
            fields.push(("content-range", "bytes 0-4/10".to_owned()));
        }
        Case {
            method,
            authorized,
            status,
            response,
            fields,
            delay_ms,
            request,
            pragma,
            elapsed_ms,
        }
    })
}

/// The answers of both to the same question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair<T> {
    pub(crate) ours: T,
    pub(crate) theirs: T,
}

/// Both readings of one case.
#[derive(Debug)]
pub(crate) struct Compared<'a> {
    case: &'a Case,
    ours: Result<Facts, NotStorable>,
    theirs: CachePolicy,
    /// Theirs without `Age`: its remaining lifetime on receipt is the whole lifetime.
    ageless: CachePolicy,
}

/// The judgements whether to store. Ours has a reason if it refuses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storing {
    pub(crate) ours: bool,
    pub(crate) theirs: bool,
    pub(crate) refused: Option<NotStorable>,
}

/// The judgements whether to reuse without asking the origin first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reuse {
    pub(crate) ours: bool,
    pub(crate) theirs: bool,
    pub(crate) verdict: Verdict,
    pub(crate) facts: Facts,
}

impl<'a> Compared<'a> {
    pub(crate) fn of(case: &'a Case) -> Self {
        let response = response(case);
        let request = original(case);
        let judged = storable::judge(
            &storable::Exchange {
                method: request.method(),
                request: request.headers(),
                request_directives: &directives::request(request.headers()),
                target: TARGET,
                status: response.status(),
                response: response.headers(),
                request_time: Time::from_millis(RECEIVED.as_millis() - case.delay_ms),
                response_time: RECEIVED,
            },
            &storable::Site {
                freshness: freshness::Site {
                    heuristic: true,
                    ..freshness::Site::default()
                },
                set_cookie: SetCookie::Refuse,
                targets: &[],
            },
        );
        let mut ageless = Response::new(());
        *ageless.status_mut() = response.status();
        *ageless.headers_mut() = response.headers().clone();
        ageless.headers_mut().remove("age");
        let options = CacheOptions::default();
        Self {
            case,
            ours: judged.map(|storable| storable.facts),
            theirs: CachePolicy::new_options(&request, &response, system(RECEIVED), options),
            ageless: CachePolicy::new_options(&request, &ageless, system(RECEIVED), options),
        }
    }

    pub(crate) fn storing(&self) -> Storing {
        Storing {
            ours: self.ours.is_ok(),
            theirs: self.theirs.is_storable(),
            refused: self.ours.err(),
        }
    }

    /// Our facts, if both store.
    fn facts(&self) -> Option<Facts> {
        self.ours.ok().filter(|_| self.theirs.is_storable())
    }

    /// The lifetimes, in milliseconds.
    pub(crate) fn lifetime(&self) -> Option<Pair<u64>> {
        let ours = self.facts()?.lifetime_ms;
        let theirs = millis(self.ageless.time_to_live(system(RECEIVED)));
        Some(Pair { ours, theirs })
    }

    /// The ages, in milliseconds.
    pub(crate) fn age(&self) -> Option<Pair<u64>> {
        let now = self.now();
        let ours = millis(self.facts()?.age(now));
        let theirs = millis(self.theirs.age(system(now)));
        Some(Pair { ours, theirs })
    }

    /// Judges with their age and lifetime in our facts, so that only the judgement is compared.
    pub(crate) fn reuse(&self) -> Option<Reuse> {
        let facts = Facts {
            lifetime_ms: self.lifetime()?.theirs,
            initial_age_ms: millis(self.theirs.age(system(RECEIVED))),
            ..self.facts()?
        };
        let mut request = request(self.case.method);
        append(request.headers_mut(), &self.case.request);
        if self.case.pragma {
            let no_cache = HeaderValue::from_static("no-cache");
            request.headers_mut().insert("pragma", no_cache);
        }
        let now = self.now();
        let site = reuse::Site {
            client_may_force: true,
            unreachable: 0,
        };
        let asked = directives::request(request.headers());
        let verdict = reuse::judge(&facts, &asked, &site, now);
        let theirs = self.theirs.before_request(&request, system(now));
        // The later request is the same as the first, `Vary: *` aside, which we never store.
        Some(Reuse {
            ours: !matches!(verdict, Verdict::Validate(_)),
            theirs: matches!(theirs, BeforeRequest::Fresh(_)),
            verdict,
            facts,
        })
    }

    fn now(&self) -> Time {
        RECEIVED.plus(Duration::from_millis(self.case.elapsed_ms))
    }
}

pub(crate) fn system(time: Time) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(time.as_millis())
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap()
}

pub(crate) fn request(method: &str) -> Request<()> {
    let mut request = Request::new(());
    *request.method_mut() = Method::from_bytes(method.as_bytes()).unwrap();
    *request.uri_mut() = TARGET.parse().unwrap();
    request
}

/// The request of the exchange itself.
fn original(case: &Case) -> Request<()> {
    let mut request = request(case.method);
    if case.authorized {
        let credentials = HeaderValue::from_static("Basic x");
        request.headers_mut().insert("authorization", credentials);
    }
    request
}

fn response(case: &Case) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = case.status.try_into().unwrap();
    append(response.headers_mut(), &case.response);
    for (name, value) in &case.fields {
        let value = HeaderValue::from_str(value).unwrap();
        response
            .headers_mut()
            .append(HeaderName::from_static(name), value);
    }
    response
}

pub(crate) fn append(fields: &mut HeaderMap, members: &[&'static str]) {
    for member in members {
        fields.append("cache-control", HeaderValue::from_static(member));
    }
}

/// The last moment of a client's `max-stale`: too rare to occur by chance.
pub(crate) fn at_the_end_of_max_stale() -> Case {
    Case {
        method: "GET",
        authorized: false,
        status: 200,
        response: vec!["max-age=60"],
        fields: Vec::new(),
        delay_ms: 0,
        request: vec!["max-stale=10"],
        pragma: false,
        elapsed_ms: 70_000,
    }
}
