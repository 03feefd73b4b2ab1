//! Why we differ from the oracle. Each reason holds in one direction: we do more than it does, or less.

use crate::exchange::{Case, Pair, Reuse, Storing};
use http::Method;
use rules::{
    reuse::{StaleReason, Verdict},
    storable::NotStorable,
};

/// A class of disagreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// RFC 9111 section 3: any final status with explicit freshness may be stored; theirs is RFC 7234, a list of statuses.
    AnyFinalStatus,
    /// Section 5.2.2.7: `private` with field names leaves the rest to shared caches; theirs refuses all.
    QualifiedPrivate,
    /// Section 5.2.2.3: `must-understand` takes `no-store` back; theirs does not know it.
    MustUnderstand,
    /// Section 5.2: names are case-insensitive; theirs compares them as they are.
    Case,
    /// Content is what a stored response is for; theirs stores responses to `HEAD`.
    Head,
    /// RFC 9110 section 9.3.3: `Content-Location` has to be the target; theirs does not look at it.
    PostLocation,
    /// Without lifetime, window and validator there is nothing to gain (section 3, last paragraph).
    NothingToGain,
    /// We do not store a cookie that the origin does not mean for all; theirs stores it for no time, even with `s-maxage`.
    Cookie,
    /// Section 4.1: `Vary: *` never matches, so we do not store it; theirs stores it for no time.
    VaryStar,
    /// Section 4.2.1 leaves it to us: of repeated values we take the smallest; theirs the first, and adds `must-revalidate`.
    Repeated,
    /// Section 5.2.2.4: `no-cache` asks for validation before each use and says nothing of the lifetime; theirs makes it zero
    /// (with field names, too), and then lets `max-stale` reach it.
    NoCache,
    /// Section 5.2.2.8: `proxy-revalidate` speaks of stale responses; theirs makes the lifetime zero.
    ProxyRevalidate,
    /// Section 5.4: `Pragma` means nothing in responses; theirs reads it as `no-cache`.
    ResponsePragma,
    /// RFC 9110 section 5.6.7: all three formats of a date are to be read; theirs reads one.
    ObsoleteDate,
    /// Section 1.2.2: what is too great is 2^31; theirs makes it zero.
    Overflow,
    /// Section 1.2.2: digits only; theirs takes a plus sign too.
    PlusSign,
    /// Section 4.2.1 encourages to take invalid freshness for stale; theirs ignores a directive whose argument is missing.
    MissingArgument,
    /// RFC 8246 gives no lifetime; theirs gives `immutable` a day. Its section 2.1 lets a reload have the stored response.
    Immutable,
    /// Section 4.2.1: `Expires` lines that differ: the first, or stale. We take the latter.
    RepeatedExpires,
    /// Section 4.2.3: the delay and `Date` count as age; theirs takes `Age` alone.
    DelayAndDate,
    /// Section 5.1: of a list, the first member counts; theirs ignores it.
    AgeList,
    /// Section 5.4: `Pragma` counts where there is no `Cache-Control`; theirs always.
    PragmaBesideCacheControl,
    /// RFC 5861 section 3; theirs does not know the directive.
    StaleWhileRevalidate,
    /// Section 5.2.1.2: "by no more than"; theirs excludes the bound.
    MaxStaleBound,
    /// Section 5.2.2.10: `s-maxage` forbids stale answers (as `proxy-revalidate` does); theirs lets `max-stale` reach them.
    SharedRevalidate,
    /// A request's malformed limit is read so that it wants the younger response; theirs ignores it, and takes a malformed
    /// `max-stale` for no limit at all.
    MalformedLimit,
    /// `min-fresh=0` wants a fresh response; theirs gives a stale one when `max-stale` stands beside it.
    MinFreshZero,
    /// What was never fresh is kept to be validated, and may be one user's page: we do not let another's `max-stale` open it,
    /// though section 5.2.1.2 would; theirs does.
    NeverFresh,
}

impl Why {
    /// All of them, to be sure that each is met.
    pub(crate) const ALL: [Self; 28] = [
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
        Self::DelayAndDate,
        Self::AgeList,
        Self::PragmaBesideCacheControl,
        Self::StaleWhileRevalidate,
        Self::MaxStaleBound,
        Self::SharedRevalidate,
        Self::MalformedLimit,
        Self::MinFreshZero,
        Self::NeverFresh,
    ];
}

/// The statuses their version understands.
const UNDERSTOOD: &[u16] = &[
    200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 405, 410, 414, 501,
];

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

/// Whether a name is written in another case than lower.
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
            (Why::Case, has_case(response)),
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
        (Why::Case, has_case(response)),
        (
            Why::Repeated,
            has_repeated(response) && refused(NotStorable::Authorization),
        ),
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
            (Why::Case, has_case(response)),
        ]);
    }
    first(&[
        (Why::PlusSign, response.contains(&"max-age=+5")),
        (
            Why::MissingArgument,
            response.contains(&"max-age") || response.contains(&"s-maxage"),
        ),
        (Why::Repeated, has_repeated(response)),
        (Why::Immutable, has(response, "immutable") && !has_lifetime),
        (Why::Case, has_case(response)),
        (Why::RepeatedExpires, !has_lifetime && expires.count() > 1),
    ])
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
    let (response, request) = (&case.response, &case.request);
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
            (Why::Case, has_case(request)),
            (Why::Repeated, has_repeated(request)),
            (Why::Repeated, is_accepted && has_repeated(response)),
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
        (Why::Case, has_case(request)),
        (Why::Repeated, has_repeated(request)),
        (Why::Case, may_be_stale && has_case(response)),
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
