//! Origins other than servers, and several origins in turn.

use super::{Sink, fastcgi, fetching, sink::A_MOMENT};
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
    let kinds = [
        written.r#static.as_ref().map(|folder| &folder.span),
        written.memcached.as_ref().map(|store| &store.span),
        written.redis.as_ref().map(|store| &store.span),
    ];
    let mut kinds = kinds.into_iter().flatten();
    if let (Some(_), Some(second)) = (kinds.next(), kinds.next()) {
        sink.push(
            Fault::at(
                second,
                "an origin is one of `static`, `memcached` and `redis`",
            )
            .instead(
                "make two origins of them, and write `try = [\"static\", \"pages\", \"app\"]`",
            ),
        );
    }
    if written.memcached.is_none() && written.redis.is_none() {
        only_of_pages(written, &table.span, sink);
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

/// Reports keys that mean nothing without a page store.
fn only_of_pages(written: &written::Origin, table: &Range<usize>, sink: &mut Sink<'_>) {
    let keys = [
        ("key", written.key.is_some()),
        ("format", written.format.is_some()),
        ("content_type", written.content_type.is_some()),
    ];
    for (key, _) in keys.iter().filter(|(_, written)| *written) {
        let what = format!("`{key}` is only for page stores");
        let fault = Fault::at(table, what).instead("add `memcached = \"127.0.0.1:11211\"`");
        sink.missing(&["memcached", "redis"], fault);
    }
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
    meaningless(table, Serverless::PageStore, sink);
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
        format: match written.format {
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

fn template(
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
    meaningless(table, Serverless::Folder, sink);
    let concurrency = fetching::concurrency(&table.value, sink);
    let config = files::Config {
        concurrency,
        ..files::Config::new(name, root)
    };
    let made = Origin::files(config);
    made.map_err(|error| {
        sink.push(Fault::at(span, cause(&error)).instead("name a folder that Larder may read"));
    })
    .ok()
}

/// Reports keys that mean nothing without servers.
fn meaningless(table: &At<written::Origin>, on: Serverless, sink: &mut Sink<'_>) {
    let written = &table.value;
    let what = on.what();
    let servers = written.servers.as_ref().map(|servers| &servers.span);
    let scripts = written.fastcgi.as_ref().map(|servers| &servers.span);
    for span in servers.into_iter().chain(scripts) {
        sink.push(
            Fault::at(
                span,
                format!("an origin is {what} or has servers, not both"),
            )
            .instead("make two origins of them, and write `try = [\"static\", \"app\"]`"),
        );
    }
    if scripts.is_none() {
        fastcgi::has_no_effect(written, what, sink);
    }
    time_limits(written, on, sink);
    let keys = [
        ("balance", written.balance.is_some()),
        ("protocol", written.protocol.is_some()),
        ("tls", written.tls.is_some()),
        ("idle_connections", written.idle_connections.is_some()),
        ("idle_time", written.idle_time.is_some()),
        ("retry", written.retry.is_some()),
        ("passive", written.passive.is_some()),
        ("health", written.health.is_some()),
        ("slow_start", written.slow_start.is_some()),
        ("header_size", written.header_size.is_some()),
        ("resolve_every", written.resolve_every.is_some()),
    ];
    for (key, _) in keys.iter().filter(|(_, written)| *written) {
        let what = format!("`{key}` has no effect on {what}");
        sink.push(Fault::at(&table.span, what).instead(format!("leave `{key}` out")));
    }
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
