//! The answer of `/explain`: an explanation of the cache as JSON, which `larder explain` reads.

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
    /// The URL in question.
    pub url: String,
    /// The route that matches, by its name in the configuration.
    pub route: String,
    /// The cache key.
    pub key: String,
    /// A route for some clients that might have been taken, if the question had named a client.
    pub passed_over: Option<String>,
    /// The source of the answer.
    pub from: From,
    /// Why it comes from this source: a token of `Cache-Status` (RFC 9211), or `fresh`. If Larder itself answers:
    /// `target-too-long`, `too-many-fields` or `head-too-large` (a listener's limits), `denied`, `redirect`,
    /// `user-context`, `only-if-cached`, `purge` (the path begins with `purge.get_prefix`) or `list` (the path is
    /// `purge.souin`).
    pub why: String,
    /// More about `why`, if there is more.
    pub detail: Option<String>,
    /// Recent answers for this key were of no use to other requests, so that requests for it do not wait for each
    /// other.
    pub hit_for_miss: bool,
    /// Why the last answer for this key was not stored, if that happened and is remembered: a token of `Cache-Status`,
    /// the token of a failure if no whole answer came, or `failed` for an error of the application.
    pub not_stored: Option<String>,
    /// A shared tier exists, and would be asked before the origin. It was not asked for this explanation.
    pub shared_not_asked: bool,
    /// Health checks hold every server of the origin for down, so that none is asked. A stored response is sent if its
    /// `sent_if_unreachable` says so, otherwise a 503.
    pub origin_down: bool,
    /// The statuses of the origin that count as errors, if the route lists its own (`stale.statuses`).
    pub error_statuses: Option<Vec<String>>,
    /// The `no-cache` of the request is heeded only from clients that may purge, and the client may be one of them.
    pub may_be_forced: bool,
    /// The stored responses under the key: the newest first, memory before disk. Those on disk are listed if memory has
    /// nothing for this request.
    pub stored: Vec<Judged>,
}

/// The source of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum From {
    /// Memory.
    Memory,
    /// The disk tier.
    Disk,
    /// Larder itself; nobody is asked.
    Larder,
    /// The origin; with `shared_not_asked` only if the shared tier has no answer.
    Origin,
}

/// A stored response, judged for the request in question.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own"
)]
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct Judged {
    /// `memory`, or `disk` if it is only there.
    pub tier: String,
    /// Its status.
    pub status: u16,
    /// Whether this request selects it.
    pub selected: bool,
    /// Whether its nominated fields match the request.
    pub matches: bool,
    /// The fields that its `Vary` nominates.
    pub nominated: Vec<String>,
    /// The nominated fields in which the request differs.
    pub differing: Vec<String>,
    /// `fresh`, `stale` (may be sent) or `validate` (may be sent only after the origin was asked).
    pub verdict: String,
    /// Why, if it is not fresh.
    pub reason: Option<String>,
    /// Seconds.
    pub age: f64,
    /// Seconds.
    pub lifetime: f64,
    /// The source of the lifetime.
    pub source: String,
    /// Bytes; `None` while the body is still coming and its length is not known.
    pub length: Option<u64>,
    /// The stored part of its body: `whole`, `disk` (whole, in a file), `parts` or `filling`.
    pub form: String,
    /// Whether it was invalidated and must not be sent.
    pub invalidated: bool,
    /// Seconds past its lifetime during which it is sent while a fresh one is fetched in the background.
    pub stale_while_revalidate: u32,
    /// Seconds past its lifetime during which it is sent if the origin is asked and answers with an error.
    pub stale_if_error: u32,
    /// Seconds past its lifetime during which it is sent if the origin cannot be reached.
    pub stale_if_unreachable: u32,
    /// Whether it would be sent now, if it were selected, when the origin is asked and answers with an error.
    pub sent_on_error: bool,
    /// Whether it would be sent now, if it were selected, when the origin is asked and cannot be reached.
    pub sent_if_unreachable: bool,
}

/// Converts an `explanation` for `url` to the format of the API.
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
        error_statuses: explanation
            .failures
            .map(|statuses| statuses.iter().map(ToString::to_string).collect()),
        may_be_forced: explanation.may_be_forced
            && explanation.bypass.is_none()
            && matches!(from, From::Memory | From::Disk),
        stored: stored
            .map(|(index, stored)| judged(stored, selected == Some(index)))
            .collect(),
    }
}

/// The source of the answer, the reason, and more about the reason.
type Outlook = (From, &'static str, Option<&'static str>);

/// Returns the outlook of a request that the store is not asked for.
fn outlook_beside_store(explanation: &Explanation) -> Option<Outlook> {
    let bypass = explanation.bypass;
    let by_path = match explanation.by_path {
        Some(ByPath::Purge) => Some("purge"),
        Some(ByPath::List) => Some("list"),
        None => None,
    };
    if let Some(why) = explanation.refused {
        Some((From::Larder, why, None))
    } else if let Some(why) = by_path {
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
        _ if explanation.only_stored => (From::Larder, "only-if-cached", None),
        Some(LateBypass::Cookie) => (From::Origin, ForwardReason::Bypass.token(), Some("cookie")),
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
        LifetimeSource::ClockSetBack => "clock-set-back",
    }
}
