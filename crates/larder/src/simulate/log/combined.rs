//! Common and combined logs: Apache, nginx, varnishncsa, and Larder's own, which has four parts more.

use super::{
    line::{Bad, Heed, Line},
    slot::{Slot, Unit},
    template::{unescaped, until},
    value,
};
use http::header;
use std::net::IpAddr;

/// What stands behind the bytes, in order; a line may end before any of them.
const TAIL: [(Slot, bool); 6] = [
    (Slot::RequestField(header::REFERER), true),
    (Slot::RequestField(header::USER_AGENT), true),
    (Slot::Answered, true),
    (Slot::Reason, true),
    (Slot::OriginTime(Unit::Seconds), false),
    (Slot::Took(Unit::Seconds), false),
];

/// Reads a line: `client ident user [time] "request" status bytes`, and as much of the tail as is there. Before the client may
/// stand the host (Apache's `vhost_combined`), behind it the proxies that passed the request on (`X-Forwarded-For`).
///
/// # Errors
/// What is wrong with it.
pub fn parse<'a>(line: &'a [u8], heed: &Heed) -> Result<Line<'a>, Bad> {
    let form = |parts: Option<(&'a [u8], &'a [u8])>| parts.ok_or(Bad::Form);
    let mut read = Line::default();
    let Asker { host, client, rest } = Asker::of(line).ok_or(Bad::Form)?;
    let (_, rest) = form(until(rest, b" "))?;
    // A user's name may hold blanks.
    let (user, rest) = form(until(rest, b" ["))?;
    // A word more than there should be: what it is nobody knows, and a name it is not.
    if user.starts_with(b"- ") {
        return Err(Bad::Form);
    }
    let (time, rest) = form(until(rest, b"] \""))?;
    let (request, rest) = form(until(rest, b"\" "))?;
    let (status, rest) = form(until(rest, b" "))?;
    let (bytes, mut rest) = until(rest, b" ").unwrap_or((rest, &[]));
    if let Some(host) = host {
        let (name, port) = without_port(host);
        read.put(&Slot::ServerName, name.into(), heed)?;
        match port {
            b"80" => read.put(&Slot::Tls, b"http".into(), heed)?,
            b"443" => read.put(&Slot::Tls, b"https".into(), heed)?,
            _ => {}
        }
    }
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

/// The head of a line: who asked for what host, and what follows.
struct Asker<'a> {
    /// Where it stands first.
    host: Option<&'a [u8]>,
    client: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Asker<'a> {
    fn of(line: &'a [u8]) -> Option<Self> {
        let (first, rest) = until(line, b" ")?;
        let (second, behind) = until(rest, b" ")?;
        let has_second = value::client(without_comma(second)).is_some() && !first.ends_with(b",");
        let (host, mut last, mut rest) = match (has_second, is_address(first)) {
            (false, _) => (None, first, rest),
            (true, false) => (Some(first), second, behind),
            // Two addresses without a comma: the first one asked.
            (true, true) => (None, first, behind),
        };
        let client = without_comma(last);
        while last.ends_with(b",") {
            (last, rest) = until(rest, b" ")?;
        }
        Some(Self { host, client, rest })
    }
}

/// An address without a port. With one it is a host.
fn is_address(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(|word| word.parse::<IpAddr>().is_ok())
}

fn without_comma(word: &[u8]) -> &[u8] {
    word.strip_suffix(b",").unwrap_or(word)
}

/// A host, and its port where it has one.
fn without_port(host: &[u8]) -> (&[u8], &[u8]) {
    let colon = memchr::memrchr(b':', host).and_then(|at| {
        let (name, port) = (host.get(..at)?, host.get(at + 1..)?);
        (!port.is_empty() && port.iter().all(u8::is_ascii_digit)).then_some((name, port))
    });
    colon.unwrap_or((host, b""))
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
