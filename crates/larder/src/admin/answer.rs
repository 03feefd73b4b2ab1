//! What `/explain` answers: an explanation of the cache, as JSON that `larder explain` reads again.

use proxy::{
    explain::{Explanation, StoredExplanation, Tier},
    hit_for_miss::Unshared,
    outcome::Detail,
    purge_clients::ByPath,
    way::LateBypass,
};
use rules::{freshness::LifetimeSource, reuse::Verdict, status::ForwardReason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a GET for a URL would get now, and why.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own"
)]
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "Explanation")]
pub struct Answer {
    /// The URL asked about.
    pub url: String,
    /// The route it takes, by its name in the configuration.
    pub route: String,
    /// The cache key.
    pub key: String,
    /// A route for some clients that might have been taken: no client was named.
    pub passed_over: Option<String>,
    /// Where the answer would come from.
    pub from: From,
    /// Why from there: a token of `Cache-Status` (RFC 9211), `fresh`, or of what Larder answers itself `denied`, `redirect`, `user-context`,
    /// `only-if-cached`, `purge` (its path begins with `purge.get_prefix`) or `list` (its path is `purge.souin`).
    pub why: String,
    /// More on `why`, where there is more.
    pub detail: Option<String>,
    /// Answers for this key were lately of no use to others, so that requests for it do not wait for each other.
    pub hit_for_miss: bool,
    /// Why the last answer for this key was not stored, where it was not and that is remembered: a token of `Cache-Status`, that of a
    /// failure where no whole answer came, or `failed` for an error of the application.
    pub not_stored: Option<String>,
    /// There is a shared tier, which would be asked before the origin. It was not asked for this.
    pub shared_not_asked: bool,
    /// Health checks hold every server of the origin for down. None is asked: what is stored is sent where its `sent_if_unreachable` says so,
    /// and 503 otherwise.
    pub origin_down: bool,
    /// The request's `no-cache` is heeded from those alone who may purge, and whoever asks may be one of them.
    pub may_be_forced: bool,
    /// What is stored under the key: the newest first, memory before disk. What lies on disk is listed where memory has nothing
    /// for this request.
    pub stored: Vec<Judged>,
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum From {
    /// Memory.
    Memory,
    /// The disk tier.
    Disk,
    /// Larder itself: nobody is asked.
    Larder,
    /// The origin; with `shared_not_asked` only if the shared tier has no answer.
    Origin,
}

/// One stored response, judged for the request asked about.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own"
)]
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct Judged {
    /// `memory`, or `disk` where it lies there alone.
    pub tier: String,
    /// Its status.
    pub status: u16,
    /// Whether it is the one this request selects.
    pub selected: bool,
    /// Whether its nominated fields match the request.
    pub matches: bool,
    /// The fields its `Vary` nominates.
    pub nominated: Vec<String>,
    /// Those of them in which the request differs.
    pub differing: Vec<String>,
    /// `fresh`, `stale` (may be sent) or `validate` (may not, without asking the origin).
    pub verdict: String,
    /// Why, where it is not fresh.
    pub reason: Option<String>,
    /// Seconds.
    pub age: f64,
    /// Seconds.
    pub lifetime: f64,
    /// Where the lifetime was taken from.
    pub source: String,
    /// Bytes; `None` while the body is on its way and its length unknown.
    pub length: Option<u64>,
    /// What is held of its body: `whole`, `disk` (whole, in a file), `parts` or `filling`.
    pub form: String,
    /// Whether it was invalidated and must not be sent.
    pub invalidated: bool,
    /// Seconds past its lifetime in which it is sent while a fresh one is fetched behind it.
    pub stale_while_revalidate: u32,
    /// Seconds past its lifetime in which it is sent if the origin, once asked, answers with an error.
    pub stale_if_error: u32,
    /// Seconds past its lifetime in which it is sent if the origin cannot be reached.
    pub stale_if_unreachable: u32,
    /// Whether it would be sent now, were it selected, if the origin was asked and answered with an error.
    pub sent_on_error: bool,
    /// Whether it would be sent now, were it selected, if the origin was asked and could not be reached.
    pub sent_if_unreachable: bool,
}

/// Puts `explanation`, of `url`, into the words of the API.
pub(super) fn answer(url: String, explanation: Explanation) -> Answer {
    let selected = explanation.selected;
    let (from, why, detail) = outlook(&explanation);
    let stored = explanation.stored.into_iter().enumerate();
    Answer {
        url,
        route: explanation.route,
        key: explanation.key,
        passed_over: explanation.passed_over,
        from,
        why: why.to_owned(),
        detail: detail.map(str::to_owned),
        hit_for_miss: explanation.hit_for_miss,
        not_stored: explanation
            .unshared
            .and_then(Unshared::token)
            .map(str::to_owned),
        shared_not_asked: from == From::Origin && explanation.shared,
        origin_down: from == From::Origin && explanation.origin_down,
        may_be_forced: explanation.may_be_forced
            && explanation.bypass.is_none()
            && matches!(from, From::Memory | From::Disk),
        stored: stored
            .map(|(index, stored)| judged(stored, selected == Some(index)))
            .collect(),
    }
}

/// Where the answer would come from, why, and more on why.
type Outlook = (From, &'static str, Option<&'static str>);

/// The outlook of a request that the store is not asked about.
fn outlook_beside_store(explanation: &Explanation) -> Option<Outlook> {
    let bypass = explanation.bypass;
    let by_path = match explanation.by_path {
        Some(ByPath::Purge) => Some("purge"),
        Some(ByPath::List) => Some("list"),
        None => None,
    };
    if let Some(why) = by_path {
        Some((From::Larder, why, None))
    } else if explanation.denied.is_some() {
        Some((From::Larder, "denied", None))
    } else if explanation.redirected {
        Some((From::Larder, "redirect", None))
    } else if explanation.claims_group {
        Some((From::Larder, "user-context", None))
    } else if bypass.is_some() && explanation.only_stored {
        Some((From::Larder, "only-if-cached", Some("bypass")))
    } else {
        let why = ForwardReason::Bypass.token();
        bypass.map(|rule| (From::Origin, why, Some(rule)))
    }
}

fn outlook(explanation: &Explanation) -> Outlook {
    if let Some(outlook) = outlook_beside_store(explanation) {
        return outlook;
    }
    // Where nothing stored answers.
    let origin = |why: ForwardReason, detail| match explanation.late_bypass {
        Some(LateBypass::Cookie) => (From::Origin, ForwardReason::Bypass.token(), Some("cookie")),
        None if explanation.only_stored => (From::Larder, "only-if-cached", None),
        Some(LateBypass::Condition) | None => (From::Origin, why.token(), detail),
    };
    let selected = explanation.selected;
    let Some(selected) = selected.and_then(|index| explanation.stored.get(index)) else {
        let none = explanation.stored.is_empty();
        return origin(
            if none {
                ForwardReason::UriMiss
            } else {
                ForwardReason::VaryMiss
            },
            None,
        );
    };
    if selected.invalidated {
        return origin(ForwardReason::VaryMiss, Some("invalidated"));
    }
    let (why, reason) = match selected.verdict {
        Verdict::Validate(_) if selected.unsure => {
            (Some(ForwardReason::Stale), Detail::Unsure.token())
        }
        Verdict::Validate(reason) => (
            Some(reason.forward_reason(selected.is_fresh)),
            reason.token(),
        ),
        _ if !selected.is_enough => (Some(ForwardReason::Partial), "parts"),
        _ if selected.condition_fails => (Some(ForwardReason::Request), "condition"),
        Verdict::Fresh(_) => (None, "fresh"),
        Verdict::Stale(reason) => (None, reason.token()),
    };
    match why {
        Some(why) => origin(why, Some(reason)),
        None if selected.tier == Tier::Disk => (From::Disk, reason, None),
        None => (From::Memory, reason, None),
    }
}

fn judged(stored: StoredExplanation, selected: bool) -> Judged {
    let (verdict, reason) = match stored.verdict {
        Verdict::Fresh(_) => ("fresh", None),
        Verdict::Stale(reason) => ("stale", Some(reason.token())),
        Verdict::Validate(_) if stored.unsure => ("validate", Some(Detail::Unsure.token())),
        Verdict::Validate(reason) => ("validate", Some(reason.token())),
    };
    Judged {
        tier: match stored.tier {
            Tier::Memory => "memory",
            Tier::Disk => "disk",
        }
        .to_owned(),
        status: stored.status.as_u16(),
        selected,
        matches: stored.matches,
        nominated: stored.nominated,
        differing: stored.differing,
        verdict: verdict.to_owned(),
        reason: reason.map(str::to_owned),
        age: stored.age.as_secs_f64(),
        lifetime: stored.lifetime.as_secs_f64(),
        source: match stored.source {
            LifetimeSource::Default if !stored.site_gives_lifetime => "origin",
            given => source(given),
        }
        .to_owned(),
        length: stored.length,
        form: stored.form.to_owned(),
        invalidated: stored.invalidated,
        stale_while_revalidate: stored.while_revalidate,
        stale_if_error: stored.on_failure.error_window,
        stale_if_unreachable: stored.on_failure.unreachable_window,
        sent_on_error: stored.on_failure.error,
        sent_if_unreachable: stored.on_failure.unreachable,
    }
}

const fn source(source: LifetimeSource) -> &'static str {
    match source {
        LifetimeSource::Override => "override",
        LifetimeSource::Targeted => "targeted",
        LifetimeSource::ReverseProxyTtl => "x-reverse-proxy-ttl",
        LifetimeSource::AccelExpires => "x-accel-expires",
        LifetimeSource::SMaxAge => "s-maxage",
        LifetimeSource::MaxAge => "max-age",
        LifetimeSource::Expires => "expires",
        LifetimeSource::Default => "default",
        LifetimeSource::Heuristic => "heuristic",
        LifetimeSource::None => "none",
        LifetimeSource::SoftPurge => "soft-purge",
    }
}
