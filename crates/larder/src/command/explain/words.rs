//! Writes an answer of `/explain` in plain words.

mod stored;
mod tokens;

pub(super) use tokens::token;

use super::{last, remedy::Remedy};
use crate::admin::{Answer, From};
use std::io::{self, Write};
use stored::{AHEAD, is_ahead};
use tokens::{bypass, is_rule_of_site};

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
    reasons(answer, out)?;
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
        stored::write(index + 1, stored, answer, out)?;
    }
    Ok(())
}

/// Says where the answer comes from and why, what else decides, and what can be changed about it.
fn reasons(answer: &Answer, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "A GET now is answered {}.", from(answer))?;
    let now = Remedy::now(answer);
    remedy(now, out)?;
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
        remedy(Remedy::last(why).filter(|last| Some(*last) != now), out)?;
    }
    if answer.hit_for_miss {
        writeln!(
            out,
            "Requests for it do not wait for each other: recently, the answer to one could not be used for the next."
        )?;
        remedy(Remedy::apart(answer), out)?;
    }
    Ok(())
}

fn remedy(remedy: Option<Remedy>, out: &mut impl Write) -> io::Result<()> {
    match remedy {
        Some(remedy) => writeln!(out, "{}", remedy.sentence()),
        None => Ok(()),
    }
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
fn on_failure(answer: &Answer) -> Option<String> {
    if answer.from != From::Origin || answer.origin_down {
        return None;
    }
    let selected = answer.stored.iter().find(|stored| stored.selected)?;
    let when = match (selected.sent_on_error, selected.sent_if_unreachable) {
        (true, true) => stored::on_failure(answer),
        (true, false) => stored::on_error(answer),
        (false, true) => stored::UNREACHABLE.to_owned(),
        (false, false) => return None,
    };
    Some(format!("If {when}, the stored response is sent instead."))
}

fn why(answer: &Answer) -> String {
    let reason = token(&answer.why);
    match &answer.detail {
        Some(detail) if answer.why == "bypass" && !is_rule_of_site(detail) => {
            bypass(detail).to_owned()
        }
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
