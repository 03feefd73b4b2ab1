//! The applications behind Larder.

use super::{
    Sink, fetching, kinds, names, server,
    sources::{self, Source},
};
use crate::config::{Fault, Flags, value::At, written};
use origin::{Origin, OriginConfig};
use std::{ops::Range, sync::Arc};

/// The origins by name. An origin that could not be built keeps its name, so that routes to it are not further faults.
#[derive(Debug, Default)]
pub(super) struct Origins {
    pub(super) by_name: Vec<(String, Option<Arc<Origin>>)>,
    /// The place of the last origin's table in the file.
    pub(super) last_table: Option<Range<usize>>,
}

impl Origins {
    /// Returns the origins that could be built.
    pub(super) fn all(&self) -> Vec<Arc<Origin>> {
        self.by_name
            .iter()
            .filter_map(|(_, origin)| origin.clone())
            .collect()
    }
}

/// Builds the origins. Those of `running` that are the same stay, with what is known of their servers (turns, health,
/// retries, addresses) and all of their counts.
pub(super) fn build(
    written: &written::Config,
    flags: &Flags,
    running: &[Arc<Origin>],
    sink: &mut Sink<'_>,
) -> Origins {
    let mut origins = build_new(written, flags, sink);
    for made in origins
        .by_name
        .iter_mut()
        .filter_map(|(_, made)| made.as_mut())
    {
        if let Some(same) = running.iter().find(|origin| origin.is_same(made)) {
            *made = Arc::clone(same);
        }
    }
    origins
}

fn build_new(written: &written::Config, flags: &Flags, sink: &mut Sink<'_>) -> Origins {
    let none = Vec::new();
    let tables = written.origin.as_ref().unwrap_or(&none);
    let mut origins = Origins::default();
    if tables.is_empty() {
        let Some(url) = &flags.origin else {
            sink.missing_under(
                &["origin"],
                &["origin"],
                Fault::anywhere("no origin: where is the application?").instead(if flags.config.is_some() {
                    "larder serve http://127.0.0.1:5001, or in the file:\n[[origin]]\nservers = [\"http://127.0.0.1:5001\"]"
                } else {
                    "larder serve http://127.0.0.1:5001, or with a file: larder serve --config larder.toml"
                }),
            );
            return origins;
        };
        let mut config = OriginConfig::default();
        server::from_flag(url, &written::Origin::default(), &mut config, sink);
        origins
            .by_name
            .push((config.name.clone(), make(config, None, sink)));
        return origins;
    }
    if flags.origin.is_some() && tables.len() > 1 {
        sink.push(
            Fault::anywhere("the command line names an origin, and the file has several")
                .instead("name the origin in only one of them"),
        );
    }
    origins.last_table = tables.last().map(|table| table.span.clone());
    for table in tables {
        let name = name(table, tables, &origins, sink);
        let made = match sources::other_than_servers(table, &name, sink) {
            Source::Other(made) if flags.origin.is_none() => Some(made),
            Source::Faulty => None,
            Source::Servers | Source::Other(_) => {
                let config = fetching::config(table, name.clone(), flags, sink);
                config.and_then(|config| make(config, Some(table), sink))
            }
        };
        origins.by_name.push((name, made));
    }
    origins
}

/// Builds one origin, which reads the authorities that it trusts.
fn make(
    config: OriginConfig,
    table: Option<&At<written::Origin>>,
    sink: &mut Sink<'_>,
) -> Option<Arc<Origin>> {
    match Origin::new(config) {
        Ok(origin) => Some(origin),
        Err(error) => {
            // Only the authorities come from outside. Everything else has been checked.
            let tls = table.and_then(|table| table.value.tls.as_ref());
            let authorities = tls.and_then(|tls| tls.value.authorities.as_ref());
            let span = authorities
                .map(|file| &file.span)
                .or(table.map(|table| &table.span));
            let is_empty = authorities.is_some_and(|file| file.value.as_os_str().is_empty());
            let what = if is_empty {
                "the path is empty".to_owned()
            } else {
                error.to_string()
            };
            let fault = match span {
                Some(span) => Fault::at(span, what),
                None => Fault::anywhere(what),
            };
            sink.push(match authorities {
                Some(_) => fault.instead(
                    "name a PEM file of certificates that Larder may read, or leave `authorities` out to use the system's",
                ),
                // The authorities of the system are missing.
                None => fault.of_machine(),
            });
            None
        }
    }
}

fn name(
    table: &At<written::Origin>,
    all: &[At<written::Origin>],
    earlier: &Origins,
    sink: &mut Sink<'_>,
) -> String {
    let Some(At { value, span }) = &table.value.name else {
        if all.len() == 1 {
            return "origin".to_owned();
        }
        let is_free = |name: &str| {
            let mut earlier = earlier.by_name.iter();
            all.iter().all(|table| !is_called(table, name)) && earlier.all(|(one, _)| one != name)
        };
        let usual = kinds::usual_name(&table.value);
        let name = if is_free(usual) {
            usual.to_owned()
        } else {
            names::free(usual, is_free)
        };
        sink.missing(
            &["name"],
            Fault::at(&table.span, "with several origins, each needs a name")
                .instead(format!("add `name = {name:?}`")),
        );
        return name;
    };
    names::readable(value, span, "shop", sink);
    if !value.is_empty() && earlier.by_name.iter().any(|(name, _)| name == value) {
        let is_free = |name: &str| all.iter().all(|table| !is_called(table, name));
        let free = names::free(value, is_free);
        sink.push(
            Fault::at(span, format!("two origins have the name `{value}`")).instead(format!(
                "write `name = {free:?}`, or put its servers into the first"
            )),
        );
    }
    value.clone()
}

fn is_called(table: &At<written::Origin>, name: &str) -> bool {
    table
        .value
        .name
        .as_ref()
        .is_some_and(|own| own.value == name)
}
