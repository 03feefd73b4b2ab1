//! Common and combined logs: Apache, nginx, varnishncsa, and Larder's own, which has four more parts.

use super::{
    line::{Bad, Heed, Line},
    meaning::{Meaning, Unit},
    template::{unescaped, until},
    value,
};
use http::header;
use std::net::IpAddr;

/// How a part is written.
#[derive(Clone, Copy)]
enum Form {
    /// In quotes.
    Quoted,
    /// Up to the next space.
    Bare,
}

/// The parts after the bytes, in order; a line may end before any of them.
const TAIL: [(Meaning, Form); 6] = [
    (Meaning::RequestField(header::REFERER), Form::Quoted),
    (Meaning::RequestField(header::USER_AGENT), Form::Quoted),
    (Meaning::Answered, Form::Quoted),
    (Meaning::Reason, Form::Quoted),
    (Meaning::OriginTime(Unit::Seconds), Form::Bare),
    (Meaning::Took(Unit::Seconds), Form::Bare),
];

/// Parses a line: `client ident user [time] "request" status bytes`, and as much of the tail as there is. The host may
/// come before the client (Apache's `vhost_combined`), and the proxies that passed the request on after it
/// (`X-Forwarded-For`).
///
/// # Errors
/// What is wrong with the line.
pub fn parse<'a>(line: &'a [u8], heed: &Heed) -> Result<Line<'a>, Bad> {
    let form = |parts: Option<(&'a [u8], &'a [u8])>| parts.ok_or(Bad::Form);
    let mut read = Line::default();
    let Asker { host, client, rest } = Asker::of(line).ok_or(Bad::Form)?;
    let (_, rest) = form(until(rest, b" "))?;
    // The name of a user may contain spaces.
    let (user, rest) = form(until(rest, b" ["))?;
    // One word too many: its meaning is not known, and it is not a name.
    if user.starts_with(b"- ") {
        return Err(Bad::Form);
    }
    let (time, rest) = form(until(rest, b"] \""))?;
    let (request, rest) = form(until(rest, b"\" "))?;
    let (status, rest) = form(until(rest, b" "))?;
    let (bytes, mut rest) = until(rest, b" ").unwrap_or((rest, &[]));
    if let Some(host) = host {
        let (name, port) = without_port(host);
        read.put(&Meaning::ServerName, name.into(), heed)?;
        match port {
            b"80" => read.put(&Meaning::Tls, b"http".into(), heed)?,
            b"443" => read.put(&Meaning::Tls, b"https".into(), heed)?,
            _ => {}
        }
    }
    read.put(&Meaning::Client, client.into(), heed)?;
    read.put(&Meaning::User, user.into(), heed)?;
    read.put(&Meaning::Time, time.into(), heed)?;
    read.put(&Meaning::Request, unescaped(request), heed)?;
    read.put(&Meaning::Status, status.into(), heed)?;
    read.put(&Meaning::Bytes, bytes.into(), heed)?;
    for (meaning, form) in &TAIL {
        let Some((text, after)) = piece(rest, *form) else {
            break;
        };
        // Servers append what they like: only text that begins as Larder's does is taken for Larder's.
        if *meaning == Meaning::Answered && !is_ours(text) {
            break;
        }
        rest = after;
        let wanted = match meaning {
            Meaning::RequestField(name) => heed.heeds(name),
            _ => true,
        };
        if wanted {
            read.put(meaning, unescaped(text), heed)?;
        }
    }
    read.finish()
}

/// The head of a line: the client, the host that it asked for, and the rest.
struct Asker<'a> {
    /// The host, if the line begins with it.
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
            // Two addresses without a comma: the first one is the client.
            (true, true) => (None, first, behind),
        };
        let client = without_comma(last);
        while last.ends_with(b",") {
            (last, rest) = until(rest, b" ")?;
        }
        Some(Self { host, client, rest })
    }
}

/// Whether `word` is an address without a port. With a port it would be a host.
fn is_address(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(|word| word.parse::<IpAddr>().is_ok())
}

fn without_comma(word: &[u8]) -> &[u8] {
    word.strip_suffix(b",").unwrap_or(word)
}

/// Splits off the port of a host, if it has one.
fn without_port(host: &[u8]) -> (&[u8], &[u8]) {
    let colon = memchr::memrchr(b':', host).and_then(|at| {
        let (name, port) = (host.get(..at)?, host.get(at + 1..)?);
        (!port.is_empty() && port.iter().all(u8::is_ascii_digit)).then_some((name, port))
    });
    colon.unwrap_or((host, b""))
}

/// Returns the next piece, and the rest.
fn piece(rest: &[u8], form: Form) -> Option<(&[u8], &[u8])> {
    if rest.is_empty() {
        return None;
    }
    match form {
        Form::Bare => until(rest, b" ").or(Some((rest, &[]))),
        Form::Quoted => {
            let (text, after) = until(rest.strip_prefix(b"\"")?, b"\"")?;
            Some((text, after.strip_prefix(b" ").unwrap_or(after)))
        }
    }
}

/// Whether `word` is one of the words in Larder's access log.
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
