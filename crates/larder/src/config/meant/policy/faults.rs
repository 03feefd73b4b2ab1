//! Settings of a route that contradict each other or have no effect.

use super::value;
use crate::config::{
    Fault,
    meant::{Sink, compress, settings::values},
    value::{At, Query, Size, Text, Token, Ttl},
    written::{self, Defaults},
};
use http::{HeaderName, StatusCode, header};
use proxy::policy::StatusPattern;
use rules::{
    key::{QueryChoice, tracking},
    storable,
};
use std::{ops::Range, time::Duration};

/// Reports keys of one table that contradict each other.
pub(in crate::config::meant) fn contradictions(
    written: &Defaults,
    largest_body: u64,
    sink: &mut Sink<'_>,
) {
    compress::contradictions(written, sink);
    if let Some(edits) = &written.request_headers
        && written.cache != Some(false)
    {
        own_questions(edits, sink);
    }
    if let Some(edits) = &written.response_headers {
        own_validators(edits, sink);
    }
    if let Some(ttl) = &written.ttl {
        no_lifetimes(ttl, sink);
        never_stored(ttl, sink);
    }
    if let Some(graphql) = value(written.graphql.as_ref()) {
        unclear_operations(graphql, sink);
    }
    if let Some(key) = &written.key {
        counted_and_dropped(key, sink);
    }
    if let Some(key) = &written.key
        && let (Some(_), Some(except)) = (&key.query, &key.query_except)
    {
        sink.push(
            Fault::at(
                &except.span,
                "`query` and `query_except` contradict each other",
            )
            .instead("leave out one of them"),
        );
    }
    if let Some(Text {
        value: Size(bytes),
        span,
    }) = &written.largest_body
        && *bytes > largest_body
    {
        sink.push(
            Fault::at(span, "a body of this size does not fit into the store").instead(format!(
                "write at most `{}`, or give the store more memory",
                Size(largest_body)
            )),
        );
    }
}

/// Fields that Larder itself uses to ask the origin about stored responses. If a site sets them, they are removed
/// again, except from requests that bypass the store.
const OWN_QUESTIONS: [HeaderName; 6] = [
    header::IF_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::IF_RANGE,
    header::IF_UNMODIFIED_SINCE,
    header::RANGE,
];

/// Reports conditions and ranges that the site sets on requests to the origin.
fn own_questions(edits: &written::Edits, sink: &mut Sink<'_>) {
    let lines = edits.set.iter().chain(&edits.add);
    for line in lines.flat_map(|lines| &lines.list) {
        let name = &line.value.name;
        if OWN_QUESTIONS.contains(name) {
            let what = format!("`{name}` is set by Larder, for what it has stored");
            sink.push(Fault::at(&line.span, what).instead("leave it out"));
        }
    }
}

/// Reports validators that are written over those of the content: conditions and ranges of clients are judged by the
/// content's own, so that none with what the client got would ever hold (RFC 9110 section 13.1).
fn own_validators(edits: &written::Edits, sink: &mut Sink<'_>) {
    let lines = edits.set.iter().chain(&edits.add);
    for line in lines.flat_map(|lines| &lines.list) {
        let shown = match line.value.name {
            header::ETAG => "ETag",
            header::LAST_MODIFIED => "Last-Modified",
            _ => continue,
        };
        let what = format!(
            "`{shown}` says which version of the content a message has, so it comes with the content"
        );
        sink.push(Fault::at(&line.span, what).instead("leave it out: the application sets it"));
    }
}

/// Reports parameters that are both part of the key and dropped.
fn counted_and_dropped(written: &written::Key, sink: &mut Sink<'_>) {
    let Some(At {
        value: Query(QueryChoice::Only(counted)),
        span,
    }) = &written.query
    else {
        return;
    };
    let own = values(written.drop.as_ref());
    let tracking = if written.drop_tracking.unwrap_or(false) {
        tracking()
    } else {
        Vec::new()
    };
    for (dropped, key) in [(own, "drop"), (tracking, "drop_tracking")] {
        let both = counted
            .iter()
            .find(|one| dropped.iter().any(|drop| drop.covers(one)));
        if let Some(both) = both {
            let what = format!("`{both}` is never in the key: `{key}` drops it");
            sink.push(Fault::at(span, what).instead("leave it out of one of them"));
        }
    }
}

/// Reports keys of `written` that are about stored responses, on a route that stores none. `beside` is the place of the
/// table, which is also the place of what a preset says. Keys with that place are not reported.
pub(in crate::config::meant) fn stores_nothing(
    written: &Defaults,
    beside: Option<&Range<usize>>,
    sink: &mut Sink<'_>,
) {
    let text = |time: &Text<Duration>| time.span.clone();
    let keys = [
        ("ttl", written.ttl.as_ref().map(|ttl| ttl.span.clone())),
        (
            "ttl_mode",
            written.ttl_mode.as_ref().map(|mode| mode.span.clone()),
        ),
        (
            "stale",
            written.stale.as_ref().map(|stale| stale.span.clone()),
        ),
        (
            "bypass",
            written.bypass.as_ref().map(|bypass| bypass.span.clone()),
        ),
        (
            "set_cookie",
            written
                .set_cookie
                .as_ref()
                .map(|cookie| cookie.span.clone()),
        ),
        (
            "largest_body",
            written.largest_body.as_ref().map(|size| size.span.clone()),
        ),
        ("browser_ttl", written.browser_ttl.as_ref().map(text)),
        ("collapse_wait", written.collapse_wait.as_ref().map(text)),
        (
            "graphql",
            written.graphql.as_ref().map(|graphql| graphql.span.clone()),
        ),
    ];
    let preset = written.preset.as_ref().map(|preset| &preset.span);
    for (key, span) in keys {
        let Some(span) = span.filter(|span| Some(span) != preset && Some(span) != beside) else {
            continue;
        };
        let what = format!("nothing is stored here (`cache = false`): `{key}` has no effect");
        // A route that turns `cache` on may be among those that could not be read.
        let fault =
            Fault::at(&span, what).instead(format!("leave out `{key}`, or write `cache = true`"));
        sink.missing_under(beside.map_or(&["route"], |_| &[]), &["cache"], fault);
    }
}

/// Reports a route on which all hosts share a page that was made for the host of the first client.
pub(in crate::config::meant) fn hosts_together(written: &Defaults, sink: &mut Sink<'_>) {
    let host = written.key.as_ref().and_then(|key| key.host.as_ref());
    if let Some(At { value: false, span }) = host
        && written.origin_host.is_none()
    {
        let what = "all hosts share what is stored here, so the application must not get the client's host";
        let fault = Fault::at(span, what).instead(
            "add `origin_host = \"app.example\"` beside `key`: the host that it gets instead, and uses in its links",
        );
        sink.missing(&["origin_host"], fault);
    }
}

/// Whether a route puts the scheme back into the key only because its `own` table `key` replaces that of the `defaults`,
/// which take it out.
pub(in crate::config::meant) fn replaces_scheme(own: &Defaults, defaults: &Defaults) -> bool {
    let scheme = |written: &Defaults| written.key.as_ref().map(|key| key.scheme);
    (scheme(own), scheme(defaults)) == (Some(None), Some(Some(false)))
}

/// Reports `X-Forwarded-Proto` among the fields that are passed on or keyed as clients send them, where the scheme is
/// part of the key: the application is told that scheme, so the client's word would reach nobody. `replaced`: the route
/// that [`replaces_scheme`].
pub(in crate::config::meant) fn scheme_told(
    written: &Defaults,
    replaced: Option<&Range<usize>>,
    sink: &mut Sink<'_>,
) {
    let key = written.key.as_ref();
    if key.and_then(|key| key.scheme) == Some(false) {
        return;
    }
    let passed = written.pass_fields.iter().flat_map(|names| &names.list);
    let passed = passed.map(|name| (&name.value.0, &name.span));
    let keyed = key.and_then(|key| key.headers.as_ref());
    let keyed = keyed.iter().flat_map(|names| &names.list);
    let keyed = keyed.map(|name| (&name.value.0, &name.span));
    for (name, span) in passed.chain(keyed) {
        if name == "x-forwarded-proto" {
            let what = "`X-Forwarded-Proto` is rewritten for the application: it says the scheme that is in the key";
            let instead = match replaced {
                Some(_) => {
                    "write `scheme = false` into the route's `key` too, which replaces that of `[defaults]` as a whole"
                }
                None => {
                    "leave it out: the proxies that may say which scheme the client used are named in `trusted`"
                }
            };
            let fault = Fault::at(span, what).beside(replaced).instead(instead);
            sink.missing(&["key"], fault);
        }
    }
}

/// Reports the field that names a group of users in the key: the key is made before the application is asked for it, so
/// all groups would share the pages that do not vary by it.
pub(in crate::config::meant) fn groups_keyed(written: &Defaults, sink: &mut Sink<'_>) {
    if written.user_context.is_none() {
        return;
    }
    let keyed = written.key.as_ref().and_then(|key| key.headers.as_ref());
    for name in keyed.iter().flat_map(|names| &names.list) {
        if name.value.0 == "x-user-context-hash" {
            let what = "the group of a user is not known when the key is made";
            let fault = Fault::at(&name.span, what).instead(
                "leave it out: pages that differ between groups say `Vary: X-User-Context-Hash`",
            );
            sink.once(fault);
        }
    }
}

/// Reports changes to `Content-Encoding` where Larder compresses: bodies would not be in the coding that it names.
pub(in crate::config::meant) fn codings_together(written: &Defaults, sink: &mut Sink<'_>) {
    let Some(edits) = &written.response_headers else {
        return;
    };
    if compress::build(written).is_none() {
        return;
    }
    let lines = edits
        .set
        .iter()
        .chain(&edits.add)
        .flat_map(|lines| &lines.list);
    let lines = lines.map(|line| (&line.value.name, &line.span));
    let removed = edits.remove.iter().flat_map(|names| &names.list);
    let removed = removed.map(|name| (&name.value.0, &name.span));
    for (name, span) in lines.chain(removed) {
        if *name == header::CONTENT_ENCODING {
            let what = "`Content-Encoding` is set by Larder, which compresses here";
            sink.once(Fault::at(span, what).instead(
                "leave it out, or add `compress = false` if the application's content is in that coding",
            ));
        }
    }
}

/// Reports keys of a table without effect because another is missing. `has_lifetime`: a `ttl` applies to them, here or
/// elsewhere.
pub(in crate::config::meant) fn without_effect(
    written: &Defaults,
    has_lifetime: bool,
    sink: &mut Sink<'_>,
) {
    if let Some(mode) = &written.ttl_mode
        && !has_lifetime
        && !matches!(mode.value, written::TtlMode::Default)
    {
        sink.missing(
            &["ttl"],
            Fault::at(&mode.span, "`ttl_mode` has no effect without `ttl`")
                .instead("add `ttl = \"60s\"`"),
        );
    }
}

/// Reports an empty table of lifetimes.
fn no_lifetimes(ttl: &At<Ttl>, sink: &mut Sink<'_>) {
    if ttl.value.0.is_empty() {
        let fault = Fault::at(
            &ttl.span,
            "`ttl` is empty: which status has which lifetime?",
        );
        // A faulty member may have been removed from it.
        let instead = "write `ttl = \"60s\"`, or leave it out";
        sink.missing(&["ttl"], fault.instead(instead));
    }
}

/// Reports lifetimes of statuses that must not be stored.
fn never_stored(ttl: &At<Ttl>, sink: &mut Sink<'_>) {
    let codes = ttl.value.0.iter().filter_map(|(pattern, _)| match pattern {
        StatusPattern::Exact(code) => Some(*code),
        StatusPattern::Class(_) | StatusPattern::Any => None,
    });
    let may_be_stored = |code| StatusCode::from_u16(code).is_ok_and(storable::may_be_stored);
    for code in codes.filter(|code| !may_be_stored(*code)) {
        let what = format!(
            "a {code} is never stored (RFC 6585, RFC 9110 section 15.5.22, RFC 9111 section 3)"
        );
        sink.push(Fault::at(&ttl.span, what).instead(format!("leave `{code}` out")));
    }
}

/// Reports operations that cannot be distinguished.
fn unclear_operations(written: &written::GraphQl, sink: &mut Sink<'_>) {
    let mut known: Vec<&str> = Vec::new();
    for table in written.operation.iter().flatten() {
        let Some(Text {
            value: Token(name),
            span,
        }) = &table.value.name
        else {
            let fault = Fault::at(&table.span, "which operation is meant?");
            sink.missing(&["name"], fault.instead("add `name = \"Products\"`"));
            continue;
        };
        if known.contains(&name.as_str()) {
            let fault = Fault::at(span, format!("two operations have the name `{name}`"));
            sink.once(fault.instead("leave out one of them"));
        }
        known.push(name);
    }
}
