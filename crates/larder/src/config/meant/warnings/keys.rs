//! Cache keys that hold less than the application has to know, or more than tells its answers apart.

use super::Sink;
use crate::config::{
    Fault,
    value::Compress,
    written::{Defaults, Key},
};
use http::header::ACCEPT_ENCODING;
use rules::key::{ParamPattern, QueryChoice};
use std::ops::Range;

/// The parameters that say what an operation of GraphQL answers ("GraphQL over HTTP", section on `GET`).
const OPERATION: [&str; 4] = ["query", "operationName", "variables", "extensions"];

/// Warns of such keys.
pub(super) fn find(policy: &Defaults, sink: &mut Sink<'_>) {
    let Some(key) = &policy.key else { return };
    if policy.graphql.is_some() {
        operations(key, sink);
    }
    let codes = policy
        .compress
        .as_ref()
        .is_none_or(|wish| !matches!(wish.value, Compress::Off));
    if codes {
        codings(key, sink);
    }
}

/// Warns if what an operation says that is sent by `GET` is not part of the key: then it is not sent on either.
fn operations(key: &Key, sink: &mut Sink<'_>) {
    let chosen = key.query.as_ref();
    let lacks = |name: &str| match chosen.map(|query| &query.value.0) {
        None | Some(QueryChoice::All) => false,
        Some(QueryChoice::None) => true,
        Some(QueryChoice::Only(some)) => !covers(some.iter(), name),
        Some(QueryChoice::Except(some)) => covers(some.iter(), name),
    };
    let lacking: Option<(&str, &Range<usize>)> = OPERATION.iter().find_map(|name| {
        if let Some(query) = chosen.filter(|_| lacks(name)) {
            return Some((*name, &query.span));
        }
        let excepted = [&key.query_except, &key.drop].into_iter().flatten();
        let mut excepted = excepted.flat_map(|list| &list.list);
        let one = excepted.find(|one| covers([&one.value].into_iter(), name))?;
        Some((*name, &one.span))
    });
    if let Some((name, span)) = lacking {
        let what = format!(
            "GraphQL requests by `GET` reach the application without their `{name}`: it is not part of the key"
        );
        let all = OPERATION.map(|name| format!("`{name}`")).join(", ");
        let instead = format!("leave {all} in the key");
        sink.warn(Fault::at(span, what).instead(instead));
    }
}

fn covers<'a>(mut patterns: impl Iterator<Item = &'a ParamPattern>, name: &str) -> bool {
    let name = ParamPattern::parse(name);
    patterns.any(|one| one.covers(&name))
}

/// Warns of `Accept-Encoding` in the key, where Larder asks for content without a coding and codes it itself.
fn codings(key: &Key, sink: &mut Sink<'_>) {
    let mut names = key.headers.iter().flat_map(|names| &names.list);
    if let Some(name) = names.find(|name| name.value.0 == ACCEPT_ENCODING) {
        let what = "each spelling of `Accept-Encoding` gets a copy of its own, which hold the same: Larder fetches content \
                    without a coding and compresses it for each client";
        let instead = "leave `Accept-Encoding` out; or write `compress = false` if the application is to compress";
        sink.warn(Fault::at(&name.span, what).instead(instead));
    }
}
