//! Limits on what clients may cost.

use super::{Sink, sink::A_MOMENT};
use crate::config::{
    Fault,
    value::{Text, TimeLimit},
    written,
};
use std::time::Duration;

/// The least `header_size`: an ordinary browser needs this much.
const LEAST_HEADER: u64 = 8 << 10;

const DEFAULT_DRAIN: Duration = Duration::from_secs(30);

/// Limits on what clients may cost.
#[derive(Clone, Debug)]
pub struct Limits {
    /// For the listeners.
    pub listen: proxy::listen::Limits,
    /// Largest request body in bytes; `None`: no limit.
    pub request_body: Option<u64>,
    /// Variants kept for one cache key.
    pub variants: usize,
    /// How long requests under way may take when the program stops.
    pub drain_time: Duration,
}

pub(super) fn build(written: Option<&written::Limits>, sink: &mut Sink<'_>) -> Limits {
    let none = written::Limits::default();
    let written = written.unwrap_or(&none);
    let usual = timed(written, sink);
    too_small(written, sink);
    let header_size = written.header_size.as_ref();
    let target = written.target_length.as_ref();
    let headers = written.header_count.as_ref();
    let headers = sink.bounded("header_count", headers, usual.headers as u32);
    let mut least = |key, count, usual| sink.bounded(key, count, usual);
    let per_address = written.connections_per_address.as_ref();
    let listen = proxy::listen::Limits {
        connections: least(
            "connections",
            written.connections.as_ref(),
            usual.connections as u32,
        ) as usize,
        connections_per_address: per_address
            .map(|_| least("connections_per_address", per_address, 1) as usize)
            .or(usual.connections_per_address),
        header_size: header_size.map_or(usual.header_size, |size| size.value.0 as usize),
        headers: headers as usize,
        target: target.map_or(usual.target, |size| size.value.0 as usize),
        http2_streams: least(
            "http2_streams",
            written.http2_streams.as_ref(),
            usual.http2_streams,
        ),
        http2_resets: written
            .http2_resets
            .as_ref()
            .map_or(usual.http2_resets, |count| count.value.0),
        ..usual
    };
    Limits {
        listen,
        request_body: written.request_body.as_ref().map(|size| size.value.0),
        variants: least("variants", written.variants.as_ref(), 64) as usize,
        drain_time: written
            .drain_time
            .as_ref()
            .map_or(DEFAULT_DRAIN, |time| time.value),
    }
}

/// Reports a size that is too small for a browser's request.
fn too_small(written: &written::Limits, sink: &mut Sink<'_>) {
    if let Some(size) = &written.header_size
        && size.value.0 < LEAST_HEADER
    {
        sink.push(
            Fault::at(
                &size.span,
                "requests of ordinary browsers need at least 8 KiB",
            )
            .instead("write `header_size = \"8KiB\"`"),
        );
    }
}

/// Returns the usual limits, with the times that are written.
fn timed(written: &written::Limits, sink: &mut Sink<'_>) -> proxy::listen::Limits {
    let usual = proxy::listen::Limits::default();
    let mut limit = |key, text: &Option<Text<TimeLimit>>, usual| {
        sink.lasts(A_MOMENT, key, text.as_ref(), usual)
    };
    let idle_time = written.idle_time.as_ref();
    proxy::listen::Limits {
        head_time: limit("header_time", &written.header_time, usual.head_time),
        body_time: limit("body_time", &written.body_time, usual.body_time),
        write_time: limit("write_time", &written.write_time, usual.write_time),
        handshake_time: limit(
            "handshake_time",
            &written.handshake_time,
            usual.handshake_time,
        ),
        idle_time: idle_time.map_or(usual.idle_time, |time| time.value),
        ..usual
    }
    .kept_in_time()
}
