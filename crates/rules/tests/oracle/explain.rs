//! Why we differ from the oracle. Each reason holds in one direction: either we do more than it does, or less.

use crate::exchange::{Case, Pair, RECEIVED, Reuse, Storing};
use http::Method;
use rules::{
    reuse::{StaleReason, Verdict},
    storable::NotStorable,
    time::Time,
};

/// A class of disagreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// RFC 9111 section 3: any final status with explicit freshness may be stored; theirs follows RFC 7234, with a list
    /// of statuses.
    AnyFinalStatus,
    /// Section 5.2.2.7: `private` with field names leaves the rest to shared caches; theirs refuses the whole response.
    QualifiedPrivate,
    /// Section 5.2.2.3: `must-understand` overrides `no-store`; theirs does not know it.
    MustUnderstand,
    /// Section 5.2: names are case-insensitive; theirs compares them as they are.
    Case,
    /// A response is stored for its content; theirs stores responses to `HEAD`.
    Head,
    /// RFC 9110 section 9.3.3: `Content-Location` must be the target; theirs does not look at it.
    PostLocation,
    /// Without lifetime, window and validator there is nothing to gain (section 3, last paragraph).
    NothingToGain,
    /// We do not store a cookie unless the origin means it for all; theirs stores it for no time, even with `s-maxage`.
    Cookie,
    /// Section 4.1: `Vary: *` never matches, so we do not store it; theirs stores it for no time.
    VaryStar,
    /// Section 4.2.1 leaves it to us: we take the smallest of repeated values; theirs takes the first, and adds
    /// `must-revalidate`.
    Repeated,
    /// Section 5.2.2.4: `no-cache` demands validation before each use and says nothing about the lifetime; theirs makes
    /// it zero (with field names, too), and then lets `max-stale` reach it.
    NoCache,
    /// Section 5.2.2.8: `proxy-revalidate` is about stale responses; theirs makes the lifetime zero.
    ProxyRevalidate,
    /// Section 5.4: `Pragma` means nothing in responses; theirs reads it as `no-cache`.
    ResponsePragma,
    /// RFC 9110 section 5.6.7: all three date formats must be read; theirs reads one.
    ObsoleteDate,
    /// Section 1.2.2: a value that is too great is 2^31; theirs makes it zero.
    Overflow,
    /// Section 1.2.2: digits only; theirs accepts a plus sign too.
    PlusSign,
    /// Section 4.2.1 encourages caches to treat invalid freshness as stale; theirs ignores a directive whose argument
    /// is missing.
    MissingArgument,
    /// RFC 8246 gives no lifetime; theirs gives `immutable` a day. Section 2.1 of that RFC lets a reload be answered
    /// with the stored response.
    Immutable,
    /// Section 4.2.1: if `Expires` lines differ, the first one counts, or the response is stale. We choose the latter.
    RepeatedExpires,
    /// Section 4.2.2: the interval since `Last-Modified` has not reached a `Date` in the future; theirs counts to it.
    DateAhead,
    /// Section 4.2.3: the delay and `Date` count as age; theirs counts `Age` alone.
    DelayAndDate,
    /// Section 5.1: of a list, the first member counts; theirs ignores it.
    AgeList,
    /// Section 5.4: `Pragma` counts only without `Cache-Control`; theirs counts it always.
    PragmaBesideCacheControl,
    /// RFC 5861 section 3; theirs does not know the directive.
    StaleWhileRevalidate,
    /// Section 5.2.1.2: "by no more than"; theirs excludes the bound.
    MaxStaleBound,
    /// Section 5.2.2.10: `s-maxage` forbids stale answers (as `proxy-revalidate` does); theirs lets `max-stale` reach
    /// them.
    SharedRevalidate,
    /// We read a request's malformed limit so that it asks for the younger response; theirs ignores it, and takes a
    /// malformed `max-stale` for no limit at all.
    MalformedLimit,
    /// `min-fresh=0` asks for a fresh response; theirs sends a stale one if `max-stale` is present too.
    MinFreshZero,
    /// RFC 9111 section 4.1: values with the same meaning match, however they are written; theirs compares bytes.
    NormalForm,
    /// RFC 9110 section 5.3: all lines of a field make its value; theirs compares the first.
    FurtherLines,
    /// A member of `Vary` that cannot be read may mean anything; theirs ignores it.
    UnreadableVary,
    /// Section 4.3.4: a 304 without validators can only mean the response that was asked about; theirs takes it for
    /// another's.
    BareNotModified,
    /// RFC 9110 section 5.6.7: two spellings of a date are the same date; theirs compares bytes.
    DateForm,
    /// Section 4.3.4: "one of those same strong validators", and a date is one; theirs looks for the new tag.
    NewTag,
    /// RFC 9110 section 8.8.3: a value that is no entity tag names nothing; theirs compares bytes.
    GarbledTag,
    /// Section 4.3.4: a strong tag selects responses with that strong tag; theirs takes a weak one for it.
    WeakTagForStrong,
    /// Section 3.2: "adding each header field in the provided response"; theirs replaces the stored fields, and adds
    /// none.
    NewField,
    /// RFC 9110 section 5.3: a field may have several lines; theirs keeps one.
    OneLine,
    /// RFC 9110 section 7.6.1: the fields that `Connection` nominates belong to this message alone; theirs stores them.
    Nominated,
    /// Section 5.2.2.4: `no-cache` with names forbids storing those fields as they came; theirs stores them.
    NamedByNoCache,
    /// A response that was never fresh is kept to be validated, and may be one user's page. We do not let another's
    /// `max-stale` open it, though section 5.2.1.2 would; theirs does.
    NeverFresh,
}

impl Why {
    /// All reasons, to check that each is met.
    pub(crate) const ALL: [Self; 41] = [
        Self::AnyFinalStatus,
        Self::QualifiedPrivate,
        Self::MustUnderstand,
        Self::Case,
        Self::Head,
        Self::PostLocation,
        Self::NothingToGain,
        Self::Cookie,
        Self::VaryStar,
        Self::Repeated,
        Self::NoCache,
        Self::ProxyRevalidate,
        Self::ResponsePragma,
        Self::ObsoleteDate,
        Self::Overflow,
        Self::PlusSign,
        Self::MissingArgument,
        Self::Immutable,
        Self::RepeatedExpires,
        Self::DateAhead,
        Self::DelayAndDate,
        Self::AgeList,
        Self::PragmaBesideCacheControl,
        Self::StaleWhileRevalidate,
        Self::MaxStaleBound,
        Self::SharedRevalidate,
        Self::MalformedLimit,
        Self::MinFreshZero,
        Self::NeverFresh,
        Self::NormalForm,
        Self::FurtherLines,
        Self::UnreadableVary,
        Self::BareNotModified,
        Self::DateForm,
        Self::NewTag,
        Self::GarbledTag,
        Self::WeakTagForStrong,
        Self::NewField,
        Self::OneLine,
        Self::Nominated,
        Self::NamedByNoCache,
    ];
}

/// The statuses that their version understands.
const UNDERSTOOD: &[u16] = &[
    200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 405, 410, 414, 501,
];

/// The lifetime that theirs gives `immutable`, in milliseconds.
const DAY: u64 = 86_400_000;

/// The same case without the spelling or repetition that a reason is about, if the case has it. Theirs reads both cases
/// as they stand, and we read them alike. So the difference must disappear, or have another reason.
pub(crate) fn plainer(case: &Case) -> Option<(Why, Case)> {
    let change = |change: &dyn Fn(&[&'static str]) -> Vec<&'static str>| Case {
        response: change(&case.response),
        request: change(&case.request),
        ..case.clone()
    };
    if has_case(&case.response) || has_case(&case.request) {
        return Some((Why::Case, change(&lower)));
    }
    let repeats = has_repeated(&case.response) || has_repeated(&case.request);
    repeats.then(|| (Why::Repeated, change(&single)))
}

/// The members with their names in lower case, as other members of [`RESPONSE`] and [`REQUEST`] have them.
fn lower(members: &[&'static str]) -> Vec<&'static str> {
    let lower = |member: &&'static str| match *member {
        "Max-Age=10" => "max-age=10",
        "NO-STORE" => "no-store",
        "Private" => "private",
        "Must-Revalidate" => "must-revalidate",
        "NO-CACHE" => "no-cache",
        "Max-Stale" => "max-stale",
        other => other,
    };
    members.iter().map(lower).collect()
}

/// For each name, the member that we heed: the smallest, where one that cannot be read is less than all; for the
/// freshness that a client asks for, the greatest.
fn single(members: &[&'static str]) -> Vec<&'static str> {
    let mut single: Vec<&'static str> = Vec::new();
    for member in members {
        match single.iter_mut().find(|held| name(held) == name(member)) {
            None => single.push(member),
            Some(held) if is_stricter(member, held) => *held = member,
            Some(_) => {}
        }
    }
    single
}

fn is_stricter(one: &str, other: &str) -> bool {
    let number = |member: &str| {
        let (_, value) = member.split_once('=')?;
        let value = value.trim_matches('"');
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| value.parse().unwrap_or(1_u64 << 31))
    };
    if name(one) == "min-fresh" {
        return number(one).unwrap_or(u64::MAX) > number(other).unwrap_or(u64::MAX);
    }
    // `None` is the least.
    number(one) < number(other)
}

/// The first reason whose condition holds.
fn first(reasons: &[(Why, bool)]) -> Option<Why> {
    let found = reasons.iter().find(|(_, holds)| *holds);
    found.map(|(why, _)| *why)
}

fn name(member: &str) -> String {
    let name = member.split('=').next().unwrap_or_default();
    name.to_ascii_lowercase()
}

fn has(members: &[&str], wanted: &str) -> bool {
    members.iter().any(|member| name(member) == wanted)
}

/// Whether a name is not written in lower case.
fn has_case(members: &[&str]) -> bool {
    let is_odd = |member: &&str| !member.starts_with(name(member).as_str());
    members.iter().any(is_odd)
}

fn has_repeated(members: &[&str]) -> bool {
    let mut names: Vec<_> = members.iter().map(|member| name(member)).collect();
    names.sort();
    names.windows(2).any(|pair| pair.first() == pair.last())
}

pub(crate) fn storing(case: &Case, storing: Storing) -> Option<Why> {
    let response = &case.response;
    if storing.ours {
        return first(&[
            (Why::AnyFinalStatus, !UNDERSTOOD.contains(&case.status)),
            (Why::QualifiedPrivate, response.contains(&"private=\"x-a\"")),
            (
                Why::MustUnderstand,
                has(response, "must-understand") && has(response, "no-store"),
            ),
        ]);
    }
    let refused = |reason| storing.refused == Some(reason);
    let has_validator = case.field("etag").or(case.field("last-modified")).is_some();
    first(&[
        (
            Why::Head,
            case.method == Method::HEAD && refused(NotStorable::Method),
        ),
        (
            Why::PostLocation,
            case.method == Method::POST && refused(NotStorable::Method),
        ),
        (
            Why::NothingToGain,
            !has_validator && refused(NotStorable::NoFreshness),
        ),
        (Why::Cookie, refused(NotStorable::SetCookie)),
        (Why::VaryStar, refused(NotStorable::VaryStar)),
    ])
}

pub(crate) fn lifetime(case: &Case, lifetime: Pair<u64>) -> Option<Why> {
    let response = &case.response;
    let has_lifetime = has(response, "max-age") || has(response, "s-maxage");
    let is_obsolete = case
        .field("expires")
        .is_some_and(|date| date.starts_with("Sun Nov"));
    let expires = case.fields.iter().filter(|(name, _)| *name == "expires");
    if lifetime.ours > lifetime.theirs {
        let is_zero = lifetime.theirs == 0;
        return first(&[
            (Why::NoCache, is_zero && has(response, "no-cache")),
            (Why::Cookie, is_zero && case.field("set-cookie").is_some()),
            (
                Why::ProxyRevalidate,
                is_zero && has(response, "proxy-revalidate"),
            ),
            (
                Why::ResponsePragma,
                is_zero && response.is_empty() && case.field("pragma").is_some(),
            ),
            (Why::ObsoleteDate, is_zero && !has_lifetime && is_obsolete),
            (
                Why::Overflow,
                is_zero && response.contains(&"max-age=99999999999999999999"),
            ),
        ]);
    }
    let is_zero = lifetime.ours == 0;
    first(&[
        (
            Why::PlusSign,
            is_zero && lifetime.theirs == 5000 && response.contains(&"max-age=+5"),
        ),
        (
            Why::MissingArgument,
            is_zero && (response.contains(&"max-age") || response.contains(&"s-maxage")),
        ),
        (
            Why::Immutable,
            lifetime.theirs == DAY && has(response, "immutable") && !has_lifetime,
        ),
        (
            Why::RepeatedExpires,
            is_zero && !has_lifetime && expires.count() > 1,
        ),
        (
            Why::DateAhead,
            !has_lifetime && case.field("expires").is_none() && is_ahead(case),
        ),
    ])
}

/// Whether `Date` lies after receipt, and the heuristic has something to count from.
fn is_ahead(case: &Case) -> bool {
    let date = case.field("date");
    let date = date.and_then(|date| Time::parse(date.as_bytes(), RECEIVED));
    date > Some(RECEIVED) && case.field("last-modified").is_some()
}

pub(crate) fn age(case: &Case, age: Pair<u64>) -> Option<Why> {
    if age.ours < age.theirs {
        return first(&[(Why::PlusSign, case.field("age") == Some("+7"))]);
    }
    first(&[
        (Why::AgeList, case.field("age") == Some("7, 5")),
        (
            Why::DelayAndDate,
            case.delay_ms > 0 || case.field("date").is_some(),
        ),
    ])
}

pub(crate) fn reuse(case: &Case, reuse: &Reuse) -> Option<Why> {
    let request = &case.request;
    let is_window = reuse.verdict == Verdict::Stale(StaleReason::WhileRevalidate);
    let is_accepted = reuse.verdict == Verdict::Stale(StaleReason::MaxStale);
    if reuse.ours {
        return first(&[
            (
                Why::PragmaBesideCacheControl,
                case.pragma && !request.is_empty(),
            ),
            (Why::StaleWhileRevalidate, is_window),
            (
                Why::Immutable,
                reuse.facts.immutable && has(request, "max-age"),
            ),
            (Why::MaxStaleBound, is_accepted && has(request, "max-stale")),
        ]);
    }
    let is_malformed = ["max-age", "max-age=x", "min-fresh", "max-stale=x"]
        .iter()
        .any(|limit| request.contains(limit));
    let may_be_stale = has(request, "max-stale");
    first(&[
        (Why::NoCache, reuse.facts.no_cache && may_be_stale),
        (Why::MalformedLimit, is_malformed),
        (
            Why::SharedRevalidate,
            may_be_stale && reuse.facts.must_revalidate,
        ),
        (
            Why::MinFreshZero,
            may_be_stale && request.contains(&"min-fresh=0"),
        ),
        (
            Why::NeverFresh,
            may_be_stale && reuse.facts.lifetime_ms == 0,
        ),
    ])
}
