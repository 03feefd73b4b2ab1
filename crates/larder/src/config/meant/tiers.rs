//! The tiers below memory.

use super::{Sink, sink::A_MOMENT};
use crate::config::{
    Fault,
    value::{At, SharedUrl, Size, Text, TimeLimit, Token},
    written,
};
use std::{fs, time::Duration};
use store::{disk, shared};

const DEFAULT_DISK: u64 = 10 << 30;
const DEFAULT_TIMEOUT: Duration = Duration::from_millis(50);
const DEFAULT_MAX_TTL: Duration = Duration::from_hours(24);
const DEFAULT_LARGEST_SHARED: u64 = 8 << 20;
const DEFAULT_LEASE: Duration = Duration::from_secs(5);
const DEFAULT_TRUST: Duration = Duration::from_secs(10);

pub(super) fn disk(
    written: Option<&At<written::Disk>>,
    sink: &mut Sink<'_>,
) -> Option<disk::Config> {
    let At { value, span } = written?;
    match &value.path {
        None => sink.missing(
            &["path"],
            Fault::at(span, "the store on disk has no directory")
                .instead("add `path = \"/var/cache/larder\"`"),
        ),
        Some(path) if path.value.as_os_str().is_empty() => sink.push(
            Fault::at(&path.span, "the path is empty")
                .instead("write `path = \"/var/cache/larder\"`"),
        ),
        Some(_) => {}
    }
    let size = value.size.as_ref();
    let rate = value.write_rate.as_ref();
    Some(disk::Config {
        path: value.path.as_ref()?.value.clone(),
        size: size.map_or(DEFAULT_DISK, |size| size.value.0),
        write_rate: rate.map(|rate| rate.value.0),
        log: None,
    })
}

pub(super) fn shared(
    written: Option<&At<written::Shared>>,
    sink: &mut Sink<'_>,
) -> Option<shared::Config> {
    let At { value, span } = written?;
    let mut time = |key, text: &Option<Text<TimeLimit>>, usual| {
        sink.lasts(A_MOMENT, key, text.as_ref(), usual)
    };
    let timeout = time("timeout", &value.timeout, DEFAULT_TIMEOUT);
    let max_ttl = time("max_ttl", &value.max_ttl, DEFAULT_MAX_TTL);
    let lease = time("lease", &value.lease, DEFAULT_LEASE);
    let trust = time("trust", &value.trust, DEFAULT_TRUST);
    let Some(Text {
        value: SharedUrl(url),
        span: place,
    }) = &value.url
    else {
        sink.missing(
            &["url"],
            Fault::at(span, "the shared store has no address")
                .instead("add `url = \"redis://127.0.0.1:6379\"`"),
        );
        return None;
    };
    let largest = value.largest_body.as_ref();
    let name = |text: &Option<Text<Token>>| text.as_ref().map(|text| text.value.0.clone());
    let config = shared::Config {
        url: url.clone(),
        timeout,
        max_ttl,
        largest_body: largest.map_or(
            DEFAULT_LARGEST_SHARED,
            |Text {
                 value: Size(size), ..
             }| *size,
        ),
        lease,
        prefix: name(&value.prefix).unwrap_or_else(|| "larder".to_owned()),
        trust,
        node: name(&value.node).unwrap_or_else(host_name),
    };
    if let Err(error) = shared::check(&config) {
        let usual = if url.starts_with("memcached:") {
            "memcached://127.0.0.1:11211"
        } else {
            "redis://127.0.0.1:6379"
        };
        let fault = Fault::at(place, error.to_string());
        sink.push(fault.instead(format!("for example `url = \"{usual}\"`")));
    }
    Some(config)
}

/// Returns the kernel's name of this host.
fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "larder".to_owned(),
        name => name.to_owned(),
    }
}
