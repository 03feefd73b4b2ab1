//! Common and combined logs: Apache, nginx, varnishncsa, and Larder's own, which has four parts more.

use super::{
    slot::{Bad, Heed, Line, Slot, Unit},
    template::{unescaped, until},
};
use http::header;

/// What stands behind the bytes, in order; a line may end before any of them.
const TAIL: [(Slot, bool); 6] = [
    (Slot::RequestField(header::REFERER), true),
    (Slot::RequestField(header::USER_AGENT), true),
    (Slot::Answered, true),
    (Slot::Reason, true),
    (Slot::OriginTime(Unit::Seconds), false),
    (Slot::Took(Unit::Seconds), false),
];

/// Reads a line: `client ident user [time] "request" status bytes`, and as much of the tail as is there.
///
/// # Errors
/// What is wrong with it.
pub fn parse<'a>(line: &'a [u8], heed: &Heed) -> Result<Line<'a>, Bad> {
    let form = |parts: Option<(&'a [u8], &'a [u8])>| parts.ok_or(Bad::Form);
    let mut read = Line::default();
    let (client, rest) = form(until(line, b" "))?;
    let (_, rest) = form(until(rest, b" "))?;
    // A user's name may hold blanks.
    let (user, rest) = form(until(rest, b" ["))?;
    let (time, rest) = form(until(rest, b"] \""))?;
    let (request, rest) = form(until(rest, b"\" "))?;
    let (status, rest) = form(until(rest, b" "))?;
    let (bytes, mut rest) = until(rest, b" ").unwrap_or((rest, &[]));
    read.put(&Slot::Client, client.into(), heed)?;
    read.put(&Slot::User, user.into(), heed)?;
    read.put(&Slot::Time, time.into(), heed)?;
    read.put(&Slot::Request, unescaped(request), heed)?;
    read.put(&Slot::Status, status.into(), heed)?;
    read.put(&Slot::Bytes, bytes.into(), heed)?;
    for (slot, quoted) in &TAIL {
        let Some((text, after)) = piece(rest, *quoted) else {
            break;
        };
        // Others append what they like: only what begins as ours is ours.
        if *slot == Slot::Answered && !is_ours(text) {
            break;
        }
        rest = after;
        let wanted = match slot {
            Slot::RequestField(name) => heed.heeds(name),
            _ => true,
        };
        if wanted {
            read.put(slot, unescaped(text), heed)?;
        }
    }
    read.finish()
}

/// The next piece, in quotes or up to the next blank.
fn piece(rest: &[u8], quoted: bool) -> Option<(&[u8], &[u8])> {
    if rest.is_empty() {
        return None;
    }
    if !quoted {
        return until(rest, b" ").or(Some((rest, &[])));
    }
    let (text, after) = until(rest.strip_prefix(b"\"")?, b"\"")?;
    Some((text, after.strip_prefix(b" ").unwrap_or(after)))
}

/// The words of Larder's access log.
fn is_ours(word: &[u8]) -> bool {
    const WORDS: [&[u8]; 8] = [
        b"HIT",
        b"STALE",
        b"UPDATING",
        b"REVALIDATED",
        b"EXPIRED",
        b"MISS",
        b"BYPASS",
        b"NONE",
    ];
    WORDS.contains(&word)
}
