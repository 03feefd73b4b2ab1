//! Origins other than servers, and several origins in turn.

use super::{Sink, fastcgi, fetching, kinds, sink::A_MOMENT};
use crate::config::{
    Fault,
    value::At,
    written::{self, Format},
};
use origin::{
    Origin, files,
    pages::{self, template::Template},
};
use std::{error::Error as _, ops::Range, path::PathBuf, sync::Arc, time::Duration};

/// How long a request waits for a page store: longer than a healthy one takes.
const TIMEOUT: Duration = Duration::from_millis(200);

/// What a table of an origin describes.
pub(super) enum Source {
    /// Servers, or nothing so far.
    Servers,
    /// This origin.
    Other(Arc<Origin>),
    /// Something impossible, which has been reported.
    Faulty,
}

/// What an origin without servers is.
#[derive(Clone, Copy)]
enum Serverless {
    Folder,
    PageStore,
}

impl Serverless {
    fn what(self) -> &'static str {
        match self {
            Self::Folder => "a folder",
            Self::PageStore => "a page store",
        }
    }
}

/// Returns the origin that `table` describes, if it is something other than servers.
pub(super) fn other_than_servers(
    table: &At<written::Origin>,
    name: &str,
    sink: &mut Sink<'_>,
) -> Source {
    let written = &table.value;
    if kinds::several(table, sink) {
        return Source::Faulty;
    }
    match (&written.r#static, &written.memcached, &written.redis) {
        (Some(root), _, _) => folder(table, root, name, sink),
        (None, Some(At { value, span }), _) => {
            page_store(table, (with_scheme(value), span), name, sink)
        }
        (None, None, Some(text)) => {
            page_store(table, (text.value.0.clone(), &text.span), name, sink)
        }
        (None, None, None) => return Source::Servers,
    }
    .map_or(Source::Faulty, Source::Other)
}

/// Returns the page store at this address that `table` describes.
fn page_store(
    table: &At<written::Origin>,
    (url, span): (String, &Range<usize>),
    name: &str,
    sink: &mut Sink<'_>,
) -> Option<Arc<Origin>> {
    let written = &table.value;
    let usual = match (url.strip_prefix("memcached://unix:"), &written.memcached) {
        (Some(path), _) => {
            let name = path.rsplit('/').next().unwrap_or_default();
            let path = match name {
                "" => "/run/memcached.sock".to_owned(),
                _ if path.starts_with('/') => path.to_owned(),
                name => format!("/run/{name}"),
            };
            format!("for a socket give its path: write `memcached = {path:?}`")
        }
        (None, Some(_)) => "write `memcached = \"127.0.0.1:11211\"`".to_owned(),
        (None, None) => "write `redis = \"redis://127.0.0.1:6379\"`".to_owned(),
    };
    meaningless(written, Serverless::PageStore, sink);
    let wrong_kind = written.memcached.is_none() && url.starts_with("memcached:");
    if wrong_kind {
        sink.push(Fault::at(span, "this is memcached").instead("write `memcached = …`"));
    }
    let concurrency = fetching::concurrency(written, sink);
    let key = template(written.key.as_ref(), &table.span, sink);
    let is_whole = key.is_some();
    if wrong_kind {
        return None;
    }
    let timeout = written
        .timeouts
        .as_ref()
        .and_then(|times| times.whole.as_ref());
    let timeout = sink.lasts(A_MOMENT, "whole", timeout, TIMEOUT);
    let content_type = written.content_type.as_ref().map(|text| text.value.clone());
    let config = pages::Config {
        name: name.to_owned(),
        url,
        // Other faults are reported all the same.
        key: key.or_else(|| Template::parse("$uri").ok())?,
        format: match written.format.as_ref().map(|format| format.value) {
            Some(Format::Plain) | None => pages::Format::Plain,
            Some(Format::Headers) => pages::Format::Headers,
            Some(Format::Flask) => pages::Format::Flask,
        },
        content_type,
        timeout,
        concurrency,
    };
    let made = Origin::pages(config);
    made.map_err(|error| sink.push(Fault::at(span, cause(&error)).instead(usual)))
        .ok()
        .filter(|_| is_whole)
}

/// Returns the cause of an origin's error. That the configuration is at fault is clear from the context.
fn cause(error: &origin::Error) -> String {
    let cause = error.source();
    cause.map_or_else(|| error.to_string(), ToString::to_string)
}

/// Adds the scheme of memcached to an address without one.
fn with_scheme(address: &str) -> String {
    if address.contains("://") {
        address.to_owned()
    } else {
        format!("memcached://{address}")
    }
}

/// Reads the keys of the pages.
pub(super) fn template(
    written: Option<&At<String>>,
    table: &Range<usize>,
    sink: &mut Sink<'_>,
) -> Option<Template> {
    let Some(At { value, span }) = written else {
        sink.missing(
            &["key"],
            Fault::at(table, "`key` is missing: what are the keys of the pages?")
                .instead("add `key = \"$scheme:$host$uri\"`"),
        );
        return None;
    };
    let read = Template::parse(value);
    read.map_err(|error| {
        sink.push(
            Fault::at(span, error.to_string()).instead("write `key = \"$scheme:$host$uri\"`"),
        );
    })
    .ok()
}

/// Returns the origin for the folder `root`.
fn folder(
    table: &At<written::Origin>,
    At { value: root, span }: &At<PathBuf>,
    name: &str,
    sink: &mut Sink<'_>,
) -> Option<Arc<Origin>> {
    kinds::only_of_pages(&table.value, Serverless::Folder.what(), sink);
    meaningless(&table.value, Serverless::Folder, sink);
    let concurrency = fetching::concurrency(&table.value, sink);
    let config = files::Config {
        concurrency,
        ..files::Config::new(name, root)
    };
    let made = Origin::files(config);
    made.map_err(|error| {
        let what = if root.as_os_str().is_empty() {
            "the path is empty".to_owned()
        } else {
            cause(&error)
        };
        sink.push(Fault::at(span, what).instead("name a folder that Larder may read"));
    })
    .ok()
}

/// Reports keys that mean nothing without servers.
fn meaningless(written: &written::Origin, on: Serverless, sink: &mut Sink<'_>) {
    let what = on.what();
    fastcgi::has_no_effect(written, what, sink);
    time_limits(written, on, sink);
    let keys = [
        ("balance", place(written.balance.as_ref())),
        ("protocol", place(written.protocol.as_ref())),
        ("tls", place(written.tls.as_ref())),
        ("idle_connections", place(written.idle_connections.as_ref())),
        (
            "idle_time",
            written.idle_time.as_ref().map(|time| &time.span),
        ),
        ("retry", place(written.retry.as_ref())),
        ("passive", place(written.passive.as_ref())),
        ("health", place(written.health.as_ref())),
        (
            "slow_start",
            written.slow_start.as_ref().map(|time| &time.span),
        ),
        (
            "header_size",
            written.header_size.as_ref().map(|size| &size.span),
        ),
        (
            "resolve_every",
            written.resolve_every.as_ref().map(|time| &time.span),
        ),
    ];
    for (key, span) in keys {
        if let Some(span) = span {
            let what = format!("`{key}` has no effect on {what}");
            sink.push(Fault::at(span, what).instead(format!("leave `{key}` out")));
        }
    }
}

fn place<T>(value: Option<&At<T>>) -> Option<&Range<usize>> {
    value.map(|value| &value.span)
}

/// Reports time limits that have no effect. That of a page store is `whole`.
fn time_limits(written: &written::Origin, on: Serverless, sink: &mut Sink<'_>) {
    let Some(times) = &written.timeouts else {
        return;
    };
    let whole = times.whole.as_ref();
    let (whole, instead) = match on {
        Serverless::Folder => (whole, ""),
        Serverless::PageStore => (None, "; `whole` limits all of it"),
    };
    let limits = [
        ("connect", times.connect.as_ref()),
        ("first_byte", times.first_byte.as_ref()),
        ("between_bytes", times.between_bytes.as_ref()),
        ("whole", whole),
    ];
    for (key, limit) in limits {
        if let Some(limit) = limit {
            let what = format!("`{key}` has no effect on {}", on.what());
            let instead = format!("leave `{key}` out{instead}");
            sink.push(Fault::at(&limit.span, what).instead(instead));
        }
    }
}
