//! Writes an answer of `/explain` in plain words.

use super::last;
use crate::admin::{Answer, From, Judged};
use bytesize::ByteSize;
use std::{
    io::{self, Write},
    time::Duration,
};

/// Why a response that [is ahead](is_ahead) of the clock is not sent.
const AHEAD: &str = "the clock was set back since it was received, so its age is not known";

/// Writes `answer` for a person.
pub(super) fn write(answer: &Answer, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", answer.url)?;
    writeln!(out, "  route  {}", answer.route)?;
    writeln!(
        out,
        "  key    {}",
        answer.key.trim_end().replace('\n', "\n         ")
    )?;
    writeln!(out)?;
    writeln!(out, "A GET now is answered {}.", from(answer))?;
    if let Some(sentence) = on_failure(answer) {
        writeln!(out, "{sentence}")?;
    }
    if answer.may_be_forced {
        writeln!(
            out,
            "Its no-cache forces a fetch only for clients that may purge (`purge.allow`; by default this machine)."
        )?;
    }
    if let Some(route) = &answer.passed_over {
        writeln!(
            out,
            "Route `{route}` is only for some clients: name one with --header 'X-Forwarded-For: ADDRESS'."
        )?;
    }
    if let Some(why) = &answer.not_stored {
        writeln!(out, "{}", last::sentence(why))?;
    }
    if answer.hit_for_miss {
        writeln!(
            out,
            "Requests for it do not wait for each other: recently, the answer to one could not be used for the next."
        )?;
    }
    if answer.stored.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let count = answer.stored.len();
    let noun = if count == 1 {
        "response is"
    } else {
        "responses are"
    };
    writeln!(
        out,
        "{count} {noun} stored under this key, the newest first:"
    )?;
    for (index, stored) in answer.stored.iter().enumerate() {
        one(index + 1, stored, answer, out)?;
    }
    Ok(())
}

fn one(number: usize, stored: &Judged, answer: &Answer, out: &mut impl Write) -> io::Result<()> {
    let length = match stored.length {
        Some(length) => ByteSize(length).display().iec().to_string(),
        None => "length not known yet".to_owned(),
    };
    let form = match stored.form.as_str() {
        "parts" => ", only parts of it",
        _ if stored.tier == "disk" => ", on disk",
        "disk" => ", its body on disk",
        "filling" => ", still being fetched",
        _ => "",
    };
    writeln!(out)?;
    writeln!(out, "  {number}. status {}, {length}{form}", stored.status)?;
    let lifetime = time(stored.lifetime);
    writeln!(out, "     {}", age(stored))?;
    writeln!(out, "     lifetime {lifetime}: {}", source(&stored.source))?;
    if let Some(windows) = windows(stored) {
        writeln!(out, "     past its lifetime it is sent {windows}")?;
    }
    writeln!(out, "     {}", variant(stored))?;
    let answers = stored.selected && matches!(answer.from, From::Memory | From::Disk);
    writeln!(out, "     {}", standing(stored, answers))
}

fn age(stored: &Judged) -> String {
    let (age, left) = (time(stored.age), stored.lifetime - stored.age);
    if is_ahead(stored) {
        format!("age {age} at least")
    } else if left > 0.0 {
        format!("age {age}, fresh for {} more", time(left))
    } else {
        format!("age {age}, stale for {}", time(-left))
    }
}

/// Whether its lifetime is over only because the clock was set back since: there is time left, but its age is unknown.
fn is_ahead(stored: &Judged) -> bool {
    matches!(stored.reason.as_deref(), Some("expired" | "max-stale"))
        && stored.source != "soft-purge"
        && stored.lifetime > stored.age
}

/// Says from where the request is answered, and why from there.
fn from(answer: &Answer) -> String {
    let from = match answer.from {
        From::Larder => "by Larder itself",
        From::Memory => "from memory",
        From::Disk => "from disk",
        From::Origin if answer.origin_down => return without_origin(answer),
        From::Origin if answer.shared_not_asked => {
            "from the origin, unless the shared tier has it (which was not asked)"
        }
        From::Origin => "from the origin",
    };
    format!("{from}: {}", why(answer))
}

/// Says the same if the origin is known to be down, so that it is not even asked.
fn without_origin(answer: &Answer) -> String {
    let why = why(answer);
    let selected = answer.stored.iter().find(|stored| stored.selected);
    let sent = selected.filter(|stored| stored.sent_if_unreachable && answer.why != "bypass");
    let unless = if answer.shared_not_asked {
        ", unless the shared tier has it (which was not asked)"
    } else {
        ""
    };
    let how = match sent {
        Some(stored) if stored.tier == "disk" => "from disk",
        Some(_) => "from memory",
        None => "with 503",
    };
    let and = if sent.is_some() {
        "the stored response is sent instead"
    } else {
        "no stored response may be sent"
    };
    format!("{how}{unless}: {why}, but health checks found every server of the origin down; {and}")
}

/// Says what a client gets if the origin is asked and fails.
fn on_failure(answer: &Answer) -> Option<&'static str> {
    if answer.from != From::Origin || answer.origin_down {
        return None;
    }
    let selected = answer.stored.iter().find(|stored| stored.selected)?;
    match (selected.sent_on_error, selected.sent_if_unreachable) {
        (true, true) => Some("If the origin fails, the stored response is sent instead."),
        (true, false) => {
            Some("If the origin answers with an error, the stored response is sent instead.")
        }
        (false, true) => {
            Some("If the origin cannot be reached, the stored response is sent instead.")
        }
        (false, false) => None,
    }
}

/// Says for how long a stored response is sent past its lifetime, and when. `None` means never.
fn windows(stored: &Judged) -> Option<String> {
    let (error, unreachable) = (stored.stale_if_error, stored.stale_if_unreachable);
    let windows = if error == unreachable {
        vec![
            (stored.stale_while_revalidate, "while it is refreshed"),
            (error, "if the origin fails"),
        ]
    } else {
        vec![
            (stored.stale_while_revalidate, "while it is refreshed"),
            (error, "if the origin answers with an error"),
            (unreachable, "if the origin cannot be reached"),
        ]
    };
    let open = windows.into_iter().filter(|(window, _)| *window > 0);
    let told: Vec<_> = open
        .map(|(window, when)| format!("for {} {when}", time(f64::from(window))))
        .collect();
    (!told.is_empty() && !stored.invalidated).then(|| told.join(", "))
}

fn variant(stored: &Judged) -> String {
    let nominated = stored.nominated.join(", ");
    if stored.nominated.is_empty() {
        "the same for every request (no Vary except on codings, which Larder chooses)".to_owned()
    } else if stored.matches {
        format!("varies by {nominated}: this request matches")
    } else {
        format!(
            "varies by {nominated}: this request differs in {}",
            stored.differing.join(", ")
        )
    }
}

/// Says how the stored response stands. `answers` means that the request is answered with it.
fn standing(stored: &Judged, answers: bool) -> String {
    let reason = stored.reason.as_deref().unwrap_or_default();
    if stored.invalidated {
        return "invalidated: it is never sent again".to_owned();
    }
    let standing = match stored.verdict.as_str() {
        "fresh" if answers => "may be sent as it is".to_owned(),
        "fresh" if stored.selected => "fresh, but this request is not answered with it".to_owned(),
        "fresh" if stored.matches => "fresh".to_owned(),
        "fresh" => "fresh, for requests that it matches".to_owned(),
        "stale" if reason == "stale-while-revalidate" => {
            "may be sent although stale, while it is refreshed".to_owned()
        }
        "stale" => format!("may be sent although stale: {}", token(reason)),
        _ if is_ahead(stored) => format!("not sent without asking the origin: {AHEAD}"),
        _ => format!("not sent without asking the origin: {}", token(reason)),
    };
    match (stored.selected, stored.matches) {
        (true, _) => format!("selected; {standing}"),
        (false, true) => format!("not selected, a newer one matches too; {standing}"),
        (false, false) => standing,
    }
}

fn why(answer: &Answer) -> String {
    let reason = token(&answer.why);
    match &answer.detail {
        // Not a rule of the site: HTTP itself treats such a request so.
        Some(detail) if is_rule_of_http(answer, detail) => bypass(detail).to_owned(),
        Some(detail) if detail == "expired" && selects_ahead(answer) => {
            format!("{reason} ({AHEAD})")
        }
        Some(detail) if answer.why == "bypass" => format!("{reason} ({})", bypass(detail)),
        Some(detail) => format!("{reason} ({})", token(detail)),
        None => reason.to_owned(),
    }
}

fn selects_ahead(answer: &Answer) -> bool {
    let mut stored = answer.stored.iter();
    stored.any(|stored| stored.selected && is_ahead(stored))
}

fn is_rule_of_http(answer: &Answer, detail: &str) -> bool {
    answer.why == "bypass" && matches!(detail, "upgrade" | "connection" | "path-ambiguous")
}

fn bypass(detail: &str) -> &str {
    match detail {
        "route" => "the route does not cache",
        "cookie" => "a cookie of the request is on the route's list",
        "header" => "a header field of the request is on the route's list",
        "path" => "the path is on the route's list",
        "path-ambiguous" => "some applications read the path in a way that leads to another route",
        "method" => "the method is on the route's list",
        "query" => "a query parameter is on the route's list",
        "upgrade" => "the client wants to switch protocols, which no stored response can do",
        "connection" => {
            "its Connection names end-to-end fields, which are removed: the answer does not fit requests that have them"
        }
        "group-unknown" => {
            "only the application knows the client's group: name it with --header 'X-User-Context-Hash: GROUP'"
        }
        other => other,
    }
}

/// Returns a reason in words, or the token itself if there are none for it.
pub(super) fn token(token: &str) -> &str {
    match token {
        "fresh" => "a stored response matches and is fresh",
        "stale-while-revalidate" => {
            "a stored response matches; it is stale, but within its stale-while-revalidate window, and is refreshed meanwhile"
        }
        "max-stale" => "the request's max-stale accepts a stale response",
        "bypass" => "the configuration lets this request bypass the store",
        "uri-miss" => "nothing is stored under its key",
        "vary-miss" => "no stored response fits this request",
        "stale" => "the stored response must be validated first",
        "request" => "the request does not accept what is stored",
        "partial" => "only parts of the response are stored",
        "expired" => "it is past its lifetime",
        "no-cache" => "its no-cache demands validation each time",
        "purges-unknown" => {
            "it may have been purged: this node has had no news of purges on other nodes for a while (`trust`)"
        }
        "request-no-cache" => "the request says no-cache",
        "request-age" => "the request asks for a younger one",
        "invalidated" => "the one that matches was invalidated",
        "parts" => "the rest has to be fetched",
        "condition" => {
            "its condition does not hold for the stored response, which only the application may judge"
        }
        "denied" => "its route refuses it",
        "redirect" => "it is redirected to https",
        "purge" => {
            "it purges the path after `purge.get_prefix`, for clients that may purge; others get 405"
        }
        "list" => {
            "it asks for the list of what is stored (`purge.souin`), for clients that may purge; others get 405"
        }
        "user-context" => {
            "it names or asks for a group of users, which only the application may do: 400"
        }
        "only-if-cached" => {
            "the request accepts only a stored response (only-if-cached), and none can answer it: 504"
        }
        "failed" => "it was an error of the application",
        "no-store" => "it says no-store",
        "private" => "it says private",
        "no-freshness" => "it has no lifetime (or says `no-cache`), and no validator",
        "set-cookie" => "it sets a cookie",
        "authorization" => "its request has Authorization, and it does not allow sharing",
        "vary-star" => "no other request will ever match its Vary",
        "no-store-request" => "its request says no-store",
        "must-understand" => "it says must-understand, and its status is not known here",
        "method" => "answers to its request's method are not stored",
        "status" => "answers with its status are not stored",
        "too-many-tags" => "it has more tags or cache groups than Larder reads",
        "connection" => "its Connection names end-to-end fields, which are removed",
        "too-large" => "it is larger than the limit for stored responses",
        other => other,
    }
}

fn source(source: &str) -> &str {
    match source {
        "override" => "the configuration's, whatever the origin says",
        "targeted" => "from a field meant for this cache (such as CDN-Cache-Control)",
        "x-reverse-proxy-ttl" => "from X-Reverse-Proxy-TTL",
        "x-accel-expires" => "from X-Accel-Expires",
        "s-maxage" => "from s-maxage in Cache-Control",
        "max-age" => "from max-age in Cache-Control",
        "expires" => "from Expires",
        "default" => "the configuration's, as the origin gives none",
        "origin" => "how long a file or a stored page lasts where the configuration says nothing",
        "heuristic" => "a tenth of the time since Last-Modified, as the origin gives none",
        "soft-purge" => "a soft purge ended it",
        "none" => "neither the origin nor the configuration gives one",
        other => other,
    }
}

/// Writes seconds for a person: `3.2s`, `2m 5s`.
fn time(seconds: f64) -> String {
    if seconds < 10.0 {
        return format!("{seconds:.1}s");
    }
    let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    humantime::format_duration(Duration::from_secs(time.as_secs())).to_string()
}
