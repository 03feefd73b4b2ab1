//! Values as servers write them: addresses, durations, statuses.

use super::{line::Answered, meaning::Unit};
use std::{net::IpAddr, time::Duration};

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes.trim_ascii()).ok()
}

/// Parses an address, with a port or without.
pub(super) fn client(bytes: &[u8]) -> Option<IpAddr> {
    let text = text(bytes)?;
    let with_port = || {
        text.parse::<std::net::SocketAddr>()
            .ok()
            .map(|address| address.ip())
    };
    text.parse().ok().or_else(with_port)
}

pub(super) fn tls(bytes: &[u8]) -> Option<bool> {
    match bytes {
        b"http" | b"ws" | b"off" | b"false" => Some(false),
        // nginx's `$https` is `on`; `$ssl_protocol` and Caddy's `tls` name a version.
        b"https" | b"wss" | b"on" | b"true" => Some(true),
        _ => (bytes.starts_with(b"TLS") || bytes.iter().all(u8::is_ascii_digit)).then_some(true),
    }
}

pub(super) fn status(bytes: &[u8]) -> Option<u16> {
    let status: u16 = text(bytes)?.parse().ok()?;
    (status == 0 || (100..1000).contains(&status)).then_some(status)
}

/// Parses a length. One that is larger than anybody sends is rejected.
pub(super) fn whole(bytes: &[u8]) -> Option<u64> {
    const LARGEST: u64 = 1 << 40;
    let length = text(bytes)?.parse().ok()?;
    (length <= LARGEST).then_some(length)
}

/// Parses a duration, or those of several attempts, which are added up: `0.100, 0.250`.
pub(super) fn duration(bytes: &[u8], unit: Unit) -> Option<Duration> {
    let mut sum = None;
    for part in text(bytes)?.split([',', ':', ' ']) {
        if let Ok(number) = part.parse::<f64>() {
            sum = Some(sum.unwrap_or(0.0) + number);
        }
    }
    let unit = match unit {
        Unit::ByPoint if bytes.contains(&b'.') => Unit::Seconds,
        Unit::ByPoint => Unit::Millis,
        unit => unit,
    };
    let seconds = sum? / unit.in_a_second();
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|time| time.as_secs() < 86_400)
}

impl Unit {
    const fn in_a_second(self) -> f64 {
        match self {
            Self::Seconds => 1.0,
            Self::Millis | Self::ByPoint => 1e3,
            Self::Micros => 1e6,
        }
    }
}

/// Parses nginx's `$upstream_cache_status`, varnishncsa's `%{Varnish:hitmiss}x` and `handling`, `CloudFront`'s result
/// types, and ours.
pub(super) fn answered(bytes: &[u8]) -> Option<Answered> {
    match bytes.to_ascii_lowercase().as_slice() {
        b"hit" | b"stale" | b"updating" | b"refreshhit" | b"originshieldhit" => {
            Some(Answered::FromStore)
        }
        b"miss" | b"expired" | b"bypass" | b"revalidated" | b"pass" | b"pipe" => {
            Some(Answered::FromOrigin)
        }
        b"none" | b"synth" | b"redirect" | b"limitexceeded" | b"capacityexceeded" => {
            Some(Answered::Itself)
        }
        _ => None,
    }
}
