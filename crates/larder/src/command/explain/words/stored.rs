//! What is stored under a key, and how it stands, in plain words.

use super::tokens::{source, token};
use crate::admin::{Answer, From, Judged};
use bytesize::ByteSize;
use std::{
    io::{self, Write},
    time::Duration,
};

/// Why a response that [is ahead](is_ahead) of the clock is not sent.
pub(super) const AHEAD: &str =
    "the clock was set back since it was received, so its age is not known";

/// When the origin fails without an answer.
pub(super) const UNREACHABLE: &str = "the origin cannot be reached";

/// Says when the origin answers with an error: by the statuses, if the site lists its own.
pub(super) fn on_error(answer: &Answer) -> String {
    match &answer.error_statuses {
        None => "the origin answers with an error".to_owned(),
        Some(list) if list.is_empty() => {
            "the origin answers with an error (but `stale.statuses` lists none)".to_owned()
        }
        Some(list) => format!("the origin answers with {}", list.join(" or ")),
    }
}

/// Says when the origin fails in either way.
pub(super) fn on_failure(answer: &Answer) -> String {
    match answer.error_statuses {
        None => "the origin fails".to_owned(),
        Some(_) => format!("{UNREACHABLE}, or {}", on_error(answer)),
    }
}

/// Writes what is known of a stored response.
pub(super) fn write(
    number: usize,
    stored: &Judged,
    answer: &Answer,
    out: &mut impl Write,
) -> io::Result<()> {
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
    if let Some(windows) = windows(stored, answer) {
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

/// Whether its lifetime is over because the clock was set back since, so that its age is unknown.
pub(super) fn is_ahead(stored: &Judged) -> bool {
    stored.source == "clock-set-back"
}

/// Says for how long a stored response is sent past its lifetime, and when. `None` means never.
fn windows(stored: &Judged, answer: &Answer) -> Option<String> {
    let (error, unreachable) = (stored.stale_if_error, stored.stale_if_unreachable);
    let mut windows = vec![(
        stored.stale_while_revalidate,
        "while it is refreshed".to_owned(),
    )];
    if error == unreachable {
        windows.push((error, format!("if {}", on_failure(answer))));
    } else {
        windows.push((error, format!("if {}", on_error(answer))));
        windows.push((unreachable, format!("if {UNREACHABLE}")));
    }
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

/// Writes seconds for a person: `3.2s`, `2m 5s`.
fn time(seconds: f64) -> String {
    if seconds < 10.0 {
        return format!("{seconds:.1}s");
    }
    let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    humantime::format_duration(Duration::from_secs(time.as_secs())).to_string()
}
