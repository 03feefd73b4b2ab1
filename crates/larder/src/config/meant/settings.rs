//! Small settings: admin, workers, memory, logs, names.

use super::Sink;
use crate::config::{
    Fault, Flags,
    value::{At, Count, Many, OwnField, Text, Word, Wrong, names_variable, of_admin},
    written::{self, AccessFormat, Level},
};
use http::{HeaderName, HeaderValue, header::CACHE_CONTROL};
use ipnet::IpNet;
use proxy::policy::Report;
use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    thread,
};

/// What a process can address on current machines (47 bits).
const MOST_MEMORY: u64 = 1 << 47;
const DEFAULT_MEMORY: u64 = 512 << 20;

/// The usual port of the admin API.
pub const PORT: u16 = 9180;

/// The address of metrics, health and `explain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admin {
    /// Nowhere.
    Off,
    /// At this address.
    At(SocketAddr),
}

impl Default for Admin {
    fn default() -> Self {
        Self::At(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)))
    }
}

impl Word for Admin {
    const WHAT: &'static str = "an address with a port, or \"off\"";
    const EXAMPLES: &'static [&'static str] = &["127.0.0.1:9180", "off"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        match text {
            "off" => Ok(Self::Off),
            _ => of_admin(text, PORT).map(Self::At),
        }
    }
}

/// Where the access log goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AccessTarget {
    /// Nowhere.
    #[default]
    Off,
    /// To standard output.
    Stdout,
    /// To this file, at its end.
    File(PathBuf),
}

impl Word for AccessTarget {
    const WHAT: &'static str = "a file, \"stdout\" or \"off\"";
    const EXAMPLES: &'static [&'static str] = &["stdout", "/var/log/larder/access.log", "off"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        match text {
            "off" => Ok(Self::Off),
            "stdout" | "-" => Ok(Self::Stdout),
            "" => Err(Wrong::new("the path of the access log is empty").instead("stdout")),
            "on" | "true" | "yes" => Err(Wrong::new(
                "the access log is named by where it goes",
            )
            .instead("stdout")),
            "stderr" => Err(Wrong::new(
                "standard error is for Larder's own messages: the access log goes to standard output or a file",
            )
            .instead("stdout")),
            path if path.starts_with("syslog:") => Err(Wrong::new(
                "the access log goes to standard output or a file, not to syslog: under systemd, standard output goes to the journal",
            )
            .instead("stdout")),
            path if names_variable(path) => Err(Wrong::new(
                "the access log is one file: there are no variables in its path",
            )),
            path => Ok(Self::File(PathBuf::from(path))),
        }
    }
}

/// Logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Where the access log goes.
    pub access: AccessTarget,
    /// The format of its lines.
    pub format: AccessFormat,
    /// What Larder logs about itself on standard error.
    pub level: Level,
}

pub(super) fn admin(written: &written::Config, flags: &Flags) -> Admin {
    let file = || written.admin.as_ref().map(|text| text.value);
    flags.admin.or_else(file).unwrap_or_default()
}

pub(super) fn workers(written: Option<&At<Count<1>>>, flags: &Flags, sink: &mut Sink<'_>) -> usize {
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let file = sink.bounded("workers", written, cores);
    if let Some(At { value, span }) = written
        && value.0 > 1024
    {
        sink.push(
            Fault::at(span, "more than 1024 workers are of no use").instead(format!(
                "leave `workers` out: this machine has {cores} cores"
            )),
        );
    }
    flags.workers.unwrap_or(file) as usize
}

pub(super) fn memory(written: Option<&written::Memory>, flags: &Flags, sink: &mut Sink<'_>) -> u64 {
    let text = written.and_then(|memory| memory.size.as_ref());
    let file = text.map(|size| size.value);
    let bytes = flags.memory.or(file).map_or(DEFAULT_MEMORY, |size| size.0);
    if bytes <= MOST_MEMORY {
        return bytes;
    }
    let what = "no process can address that much";
    sink.push(match (flags.memory, text) {
        (None, Some(text)) => Fault::at(&text.span, what).instead("write `size = \"512MiB\"`"),
        _ => Fault::anywhere(what).instead("write --memory 512MiB"),
    });
    bytes
}

pub(super) fn report(written: Option<&written::Report>, sink: &mut Sink<'_>) -> Report {
    let none = written::Report::default();
    let written = written.unwrap_or(&none);
    let field = written.node_field.as_ref();
    if let (Some(field), None) = (field, &written.node) {
        sink.missing(
            &["node"],
            Fault::at(&field.span, "`node_field` has no effect without `node`")
                .instead("add `node = \"edge-1\"`"),
        );
    }
    if let (Some(At { value: true, span }), Some(false)) = (&written.key, written.cache_status) {
        let what = "`key` has no effect: answers have no `Cache-Status` (`cache_status = false`)";
        sink.push(Fault::at(span, what).instead("leave out one of them"));
    }
    let value = |text: &Text<OwnField>| text.value.0.clone();
    if let (Some(field), Some(x_cache)) = (field, &written.x_cache)
        && field.value == x_cache.value
    {
        sink.push(
            Fault::at(
                &field.span,
                "`x_cache` has the same name: one would overwrite the other",
            )
            .beside(Some(&x_cache.span))
            .instead("leave `node_field` out: its default is `Cache-ID`"),
        );
    }
    if let Some(node) = &written.node
        && node.value.as_bytes().trim_ascii().is_empty()
    {
        let what = "`node` is empty: the field would have no value";
        sink.push(Fault::at(&node.span, what).instead("write `node = \"edge-1\"`"));
    }
    if let Some(node) = &written.node
        && node.value.to_str().is_ok_and(names_variable)
    {
        let what = "the name of a node is used as written: there are no variables";
        sink.push(Fault::at(&node.span, what).instead("write `node = \"edge-1\"`"));
    }
    let field = field.map_or(HeaderName::from_static("cache-id"), value);
    let named = |name: &Text<HeaderValue>| (field, name.value.clone());
    Report {
        cache_status: written.cache_status.unwrap_or(true),
        key: written.key.as_ref().is_some_and(|key| key.value),
        x_cache: written.x_cache.as_ref().map(value),
        node: written.node.as_ref().map(named),
    }
}

pub(super) fn log(written: Option<&written::Log>, flags: &Flags) -> Log {
    let none = written::Log::default();
    let written = written.unwrap_or(&none);
    let file = || written.access.as_ref().map(|text| text.value.clone());
    Log {
        access: flags.access_log.clone().or_else(file).unwrap_or_default(),
        format: written.format.unwrap_or_default(),
        level: written.level.unwrap_or_default(),
    }
}

pub(super) fn name(written: &written::Config) -> String {
    let name = written.name.as_ref();
    name.map_or_else(|| "larder".to_owned(), |text| text.value.0.clone())
}

pub(super) fn trusted(written: &written::Config) -> Vec<IpNet> {
    values(written.trusted.as_ref())
}

pub(super) fn targets(written: &written::Config, sink: &mut Sink<'_>) -> Vec<HeaderName> {
    let list = written.targeted_fields.iter().flat_map(|list| &list.list);
    for field in list.filter(|field| field.value == CACHE_CONTROL) {
        let wrong = Fault::at(
            &field.span,
            "`Cache-Control` is for all caches, and always read",
        );
        sink.push(wrong.instead("name a field for this cache alone: `CDN-Cache-Control`"));
    }
    match &written.targeted_fields {
        Some(list) => values(Some(list)),
        None => ["surrogate-control", "cdn-cache-control"]
            .map(HeaderName::from_static)
            .to_vec(),
    }
}

/// Returns the values of a list, without their places.
pub(super) fn values<T: Clone>(list: Option<&Many<Text<T>>>) -> Vec<T> {
    let members = list.into_iter().flat_map(|list| &list.list);
    members.map(|text| text.value.clone()).collect()
}
