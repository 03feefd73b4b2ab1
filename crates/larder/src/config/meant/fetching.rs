//! How an origin is asked: connections, time limits, retries, health.

use super::{Sink, fastcgi, kinds, server, sink::A_MOMENT};
use crate::config::{
    Fault, Flags,
    value::{At, Text, TimeLimit},
    written,
};
use http::uri::PathAndQuery;
use origin::{
    OriginConfig,
    config::{ActiveHealth, Balance, ConcurrencyLimits, PassiveHealth, Protocol, Retry, Timeouts},
};
use proxy::policy::StatusPattern;
use std::{ops::RangeInclusive, time::Duration};

/// What servers without `fastcgi` are called in messages.
const HTTP: &str = "servers that speak HTTP";

/// Proposed if `whole` is too short to be meant.
const USUAL_WHOLE: Duration = Duration::from_mins(5);

/// The least `header_size`: an ordinary application with cookies needs this much.
const LEAST_HEAD: u64 = 1 << 10;

/// The shortest interval for background requests to other machines.
const LEAST_INTERVAL: Duration = Duration::from_millis(100);

/// Returns the configuration of the origin that `table` describes. `None` if no origin can be built from it.
pub(super) fn config(
    table: &At<written::Origin>,
    name: String,
    flags: &Flags,
    sink: &mut Sink<'_>,
) -> Option<OriginConfig> {
    let written = &table.value;
    let mut config = OriginConfig {
        name,
        ..OriginConfig::default()
    };
    let servers = match &flags.origin {
        Some(url) => {
            kinds::replaced(written, url, sink);
            server::from_flag(url, written, &mut config, sink);
            Some(())
        }
        None if written.fastcgi.is_some() => {
            kinds::only_of_pages(written, "FastCGI servers", sink);
            fastcgi::from_file(table, &mut config, sink)
        }
        None if kinds::half_said(table, sink) => None,
        None => {
            kinds::only_of_pages(written, HTTP, sink);
            fastcgi::has_no_effect(written, HTTP, sink);
            server::from_file(table, &mut config, sink)
        }
    };
    connections(written, &mut config, sink);
    failures(written, &mut config, sink);
    servers.map(|()| config)
}

fn connections(written: &written::Origin, config: &mut OriginConfig, sink: &mut Sink<'_>) {
    config.balance = match written.balance.as_ref().map(|balance| balance.value) {
        Some(written::Balance::RoundRobin) => Balance::RoundRobin,
        Some(written::Balance::LeastConnections) => Balance::LeastConnections,
        Some(written::Balance::ConsistentHash) => Balance::ConsistentHash,
        None => config.balance,
    };
    config.protocol = match written.protocol.as_ref().map(|protocol| protocol.value) {
        Some(written::Protocol::Http1) => Protocol::Http1,
        Some(written::Protocol::Http2) => Protocol::Http2,
        Some(written::Protocol::Auto) => Protocol::Auto,
        None => std::mem::take(&mut config.protocol),
    };
    if let Some(written) = &written.timeouts {
        config.timeouts = timeouts(written, config.timeouts, sink);
    }
    if let Some(count) = &written.idle_connections {
        config.idle_connections = count.value.0 as usize;
    }
    config.concurrency = concurrency(written, sink);
    config.idle_time = time(written.idle_time.as_ref(), config.idle_time);
    config.resolve_every = sink.lasts(
        LEAST_INTERVAL,
        "resolve_every",
        written.resolve_every.as_ref(),
        config.resolve_every,
    );
    if let Some(size) = &written.header_size {
        if size.value.0 < LEAST_HEAD {
            sink.push(
                Fault::at(
                    &size.span,
                    "answers of ordinary applications need at least 1 KiB",
                )
                .instead("write `header_size = \"64KiB\"`"),
            );
        }
        config.largest_head = size.value.0 as usize;
    }
}

/// Returns how many fetches there may be at the same time.
pub(super) fn concurrency(written: &written::Origin, sink: &mut Sink<'_>) -> ConcurrencyLimits {
    let usual = ConcurrencyLimits::default();
    let most = written.most_concurrent.as_ref();
    let queue = written.queue.as_ref();
    let length = queue.and_then(|queue| queue.length.as_ref());
    ConcurrencyLimits {
        most: sink.bounded("most_concurrent", most, usual.most as u32) as usize,
        queue: length.map_or(usual.queue, |count| count.value.0 as usize),
        queue_time: time(
            queue.and_then(|queue| queue.time.as_ref()),
            usual.queue_time,
        ),
    }
}

fn timeouts(written: &written::Timeouts, usual: Timeouts, sink: &mut Sink<'_>) -> Timeouts {
    let mut limit = |key, text: &Option<Text<TimeLimit>>, usual| {
        sink.lasts(A_MOMENT, key, text.as_ref(), usual)
    };
    Timeouts {
        connect: limit("connect", &written.connect, usual.connect),
        first_byte: limit("first_byte", &written.first_byte, usual.first_byte),
        between_bytes: limit("between_bytes", &written.between_bytes, usual.between_bytes),
        whole: match &written.whole {
            Some(_) => Some(limit("whole", &written.whole, USUAL_WHOLE)),
            None => usual.whole,
        },
    }
}

fn failures(written: &written::Origin, config: &mut OriginConfig, sink: &mut Sink<'_>) {
    config.slow_start = time(written.slow_start.as_ref(), config.slow_start);
    comes_back(written, sink);
    if let Some(At { value: retry, .. }) = &written.retry {
        let Retry { attempts, percent } = config.retry;
        config.retry = Retry {
            attempts: retry
                .attempts
                .as_ref()
                .map_or(attempts, |count| count.value.0),
            percent: retry
                .percent
                .as_ref()
                .map_or(percent, |count| count.value.0),
        };
        if let Some(percent) = retry
            .percent
            .as_ref()
            .filter(|percent| percent.value.0 > 100)
        {
            sink.push(
                Fault::at(&percent.span, "more retries than requests")
                    .instead("write `percent = 20`"),
            );
        }
    }
    if let Some(At { value: passive, .. }) = &written.passive {
        let PassiveHealth { failures, rest } = config.passive;
        config.passive = PassiveHealth {
            failures: passive
                .failures
                .as_ref()
                .map_or(failures, |count| count.value.0),
            rest: time(passive.rest.as_ref(), rest),
        };
    }
    config.active = written
        .health
        .as_ref()
        .map(|health| active(&health.value, sink));
}

/// Reports `slow_start` if no server is ever taken out of use, so that none comes back.
fn comes_back(written: &written::Origin, sink: &mut Sink<'_>) {
    let failures = written
        .passive
        .as_ref()
        .and_then(|passive| passive.value.failures.as_ref());
    let (Some(slow), Some(failures), None) = (&written.slow_start, failures, &written.health)
    else {
        return;
    };
    if failures.value.0 == 0 && !slow.value.is_zero() {
        let what =
            "`slow_start` has no effect: no server is ever taken out of use, so none returns";
        sink.missing(
            &["health"],
            Fault::at(&slow.span, what)
                .beside(Some(&failures.span))
                .instead("add `health = {}`, or leave `passive.failures` as it is"),
        );
    }
}

fn active(written: &written::Health, sink: &mut Sink<'_>) -> ActiveHealth {
    let path = written.path.as_ref();
    if let Some(At { value, span }) = path
        && (!value.starts_with('/') || value.parse::<PathAndQuery>().is_err())
    {
        let meant = format!("/{}", value.trim_start_matches('/').replace(' ', "%20"));
        let meant = match meant.parse::<PathAndQuery>() {
            Ok(_) => meant,
            Err(_) => "/health".to_owned(),
        };
        sink.push(
            Fault::at(
                span,
                "the path of a health check begins with `/` and has no spaces",
            )
            .instead(format!("write `path = {meant:?}`")),
        );
    }
    let status = written.status.as_ref();
    let host = written.host.as_ref();
    ActiveHealth {
        path: path.map_or_else(|| "/".to_owned(), |path| path.value.clone()),
        host: host.and_then(|host| host.value.0.to_str().ok().map(str::to_owned)),
        every: sink.lasts(
            LEAST_INTERVAL,
            "every",
            written.every.as_ref(),
            Duration::from_secs(5),
        ),
        timeout: sink.lasts(
            A_MOMENT,
            "timeout",
            written.timeout.as_ref(),
            Duration::from_secs(2),
        ),
        healthy_after: sink.bounded("healthy_after", written.healthy_after.as_ref(), 2),
        unhealthy_after: sink.bounded("unhealthy_after", written.unhealthy_after.as_ref(), 3),
        status: status.map_or(200..=299, |status| range(status.value)),
    }
}

fn range(pattern: StatusPattern) -> RangeInclusive<u16> {
    match pattern {
        StatusPattern::Exact(code) => code..=code,
        StatusPattern::Class(digit) => {
            let first = u16::from(digit) * 100;
            first..=first + 99
        }
        StatusPattern::Any => 200..=599,
    }
}

fn time(written: Option<&Text<Duration>>, usual: Duration) -> Duration {
    written.map_or(usual, |time| time.value)
}
