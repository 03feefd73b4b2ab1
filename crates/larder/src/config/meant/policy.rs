//! What holds on a route.

use super::{
    Sink, compress,
    matchers::{cookies, parameters},
    settings::values,
};
use crate::config::{
    Fault,
    value::{
        At, CookieName, EditableName, FieldLine, KeyedName, Many, PathStart, Query, Size, Text,
        Token, Ttl,
    },
    written::{self, Defaults},
};
use http::{HeaderName, StatusCode};
use origin::Origin;
use proxy::policy::{
    AnyPath, Bypass, Edit, Esi, GraphQl, KeySpec, Lifetime, LifetimeMode, Operation, Policy, Stale,
    StatusPattern,
};
use rules::{
    key::{QueryChoice, tracking},
    storable::{self, SetCookie},
};
use std::{ops::Range, sync::Arc, time::Duration};

const DEFAULT_LARGEST_BODY: u64 = 64 << 20;
const DEFAULT_LARGEST_CONTENT: u64 = 64 << 10;
const DEFAULT_COLLAPSE_WAIT: Duration = Duration::from_secs(5);
const DEFAULT_FRAGMENT_WAIT: Duration = Duration::from_secs(10);
const DEFAULT_UNREACHABLE: Duration = Duration::from_hours(24);

/// The policy of a route from its own keys over the defaults'.
pub(super) fn build(written: &Defaults, origin: Arc<Origin>, room: u64) -> Policy {
    let largest = written.largest_body.as_ref().map(|size| size.value.0);
    Policy {
        origin,
        host: written
            .origin_host
            .as_ref()
            .map(|host| host.value.0.clone()),
        cache: written.cache.unwrap_or(true),
        lifetime: lifetime(written),
        stale: stale(value(written.stale.as_ref())),
        key: key(written.key.as_ref()),
        bypass: bypass(value(written.bypass.as_ref())),
        set_cookie: match value(written.set_cookie.as_ref()) {
            Some(written::SetCookie::Refuse) | None => SetCookie::Refuse,
            Some(written::SetCookie::Never) => SetCookie::Never,
            Some(written::SetCookie::Strip) => SetCookie::Strip,
            Some(written::SetCookie::Store) => SetCookie::Store,
        },
        client_may_force: written.client_may_force.unwrap_or(true),
        compress: compress::build(written),
        largest_body: largest.unwrap_or(DEFAULT_LARGEST_BODY).min(room),
        browser_ttl: written.browser_ttl.as_ref().map(|time| time.value),
        collapse_wait: written
            .collapse_wait
            .as_ref()
            .map_or(DEFAULT_COLLAPSE_WAIT, |time| time.value),
        request_edits: edits(written.request_headers.as_ref()),
        response_edits: edits(written.response_headers.as_ref()),
        pass_fields: names(written.pass_fields.as_ref()),
        refuses: written.refuse.as_ref().and_then(|refusal| refusal.value.0),
        redirect_https: written.redirect_https.unwrap_or(false),
        esi: match written.esi {
            Some(true) => Esi::On,
            Some(false) => Esi::Off,
            None => Esi::Told,
        },
        fragment_wait: written
            .fragment_wait
            .as_ref()
            .map_or(DEFAULT_FRAGMENT_WAIT, |time| time.value),
        largest_content: written
            .largest_content
            .as_ref()
            .map_or(DEFAULT_LARGEST_CONTENT, |size| size.value.0)
            .min(room),
        graphql: value(written.graphql.as_ref()).map(graphql),
        user_context: written.user_context.as_ref().map(|path| {
            let PathStart(path) = &path.value;
            path.clone()
        }),
    }
}

fn value<T>(written: Option<&At<T>>) -> Option<&T> {
    written.map(|written| &written.value)
}

fn graphql(written: &written::GraphQl) -> GraphQl {
    let operations = written.operation.iter().flatten().filter_map(|table| {
        let written::Operation {
            name,
            cache,
            ttl,
            tags,
        } = &table.value;
        let Token(name) = &name.as_ref()?.value;
        let tags = values(tags.as_ref()).into_iter();
        let operation = Operation {
            cache: cache.unwrap_or(true),
            ttl: ttl.as_ref().map(|ttl| ttl.value),
            tags: tags
                .filter_map(|tag| tag.to_str().ok().map(str::to_owned))
                .collect(),
        };
        Some((name.clone(), operation))
    });
    GraphQl {
        operations: operations.collect(),
        store_errors: written.store_errors.unwrap_or(false),
        invalidate: written.invalidate.unwrap_or(true),
    }
}

/// Operations that are not told from each other.
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
            let fault = Fault::at(span, format!("a second operation is called `{name}`"));
            sink.once(fault.instead("leave out one of them"));
        }
        known.push(name);
    }
}

fn lifetime(written: &Defaults) -> Lifetime {
    let ttl = written.ttl.as_ref();
    Lifetime {
        mode: match written.ttl_mode.as_ref().map(|mode| mode.value) {
            Some(written::TtlMode::Default) | None => LifetimeMode::Default,
            Some(written::TtlMode::Static) => LifetimeMode::Static,
            Some(written::TtlMode::Override) => LifetimeMode::Override,
        },
        by_status: ttl.map_or_else(Vec::new, |ttl| {
            let Ttl(list) = &ttl.value;
            list.clone()
        }),
        heuristic: written.heuristic.unwrap_or(true),
    }
}

fn stale(written: Option<&written::Stale>) -> Stale {
    let time = |text: Option<&Text<Duration>>| text.map(|time| time.value);
    Stale {
        while_revalidate: written.and_then(|stale| time(stale.while_revalidate.as_ref())),
        if_error: written.and_then(|stale| time(stale.if_error.as_ref())),
        statuses: written
            .and_then(|stale| stale.statuses.as_ref())
            .map_or_else(
                || Stale::USUAL_STATUSES.to_vec(),
                |statuses| statuses.list.iter().map(|status| status.value.0).collect(),
            ),
        unreachable: written
            .and_then(|stale| time(stale.unreachable.as_ref()))
            .unwrap_or(DEFAULT_UNREACHABLE),
    }
}

fn key(written: Option<&written::Key>) -> KeySpec {
    let none = written::Key::default();
    let written = written.unwrap_or(&none);
    let query = match (&written.query, &written.query_except) {
        (Some(query), _) => {
            let Query(choice) = &query.value;
            choice.clone()
        }
        (None, Some(list)) => QueryChoice::Except(values(Some(list))),
        (None, None) => QueryChoice::All,
    };
    let mut drop = values(written.drop.as_ref());
    if written.drop_tracking.unwrap_or(false) {
        drop.extend(tracking());
    }
    let cookies = values(written.cookies.as_ref());
    let headers = values(written.headers.as_ref()).into_iter();
    KeySpec {
        scheme: written.scheme.unwrap_or(true),
        host: written.host.as_ref().is_none_or(|keyed| keyed.value),
        query,
        drop: if drop.is_empty() {
            QueryChoice::All
        } else {
            QueryChoice::Except(drop)
        },
        sort: written.sort.unwrap_or(false),
        headers: headers.map(|KeyedName(name)| name).collect(),
        cookies: cookies.into_iter().map(|CookieName(name)| name).collect(),
        drop_cookies: written.drop_cookies.unwrap_or(false),
    }
}

fn bypass(written: Option<&written::Bypass>) -> Bypass {
    written.map_or_else(Bypass::default, |written| Bypass {
        cookies: cookies(written.cookies.as_ref()),
        headers: values(written.headers.as_ref()),
        paths: AnyPath::of(values(written.paths.as_ref())),
        methods: values(written.methods.as_ref()),
        query: parameters(written.query.as_ref()),
        misses_with: cookies(written.misses_with.as_ref()),
        sets: cookies(written.sets.as_ref()),
    })
}

fn names(written: Option<&Many<Text<EditableName>>>) -> Vec<HeaderName> {
    let names = values(written).into_iter();
    names.map(|EditableName(name)| name).collect()
}

fn edits(written: Option<&written::Edits>) -> Vec<Edit> {
    let Some(written) = written else {
        return Vec::new();
    };
    let lines = |list: Option<&Many<Text<FieldLine>>>| values(list).into_iter();
    let removed = names(written.remove.as_ref()).into_iter();
    removed
        .map(Edit::Remove)
        .chain(lines(written.set.as_ref()).map(|line| Edit::Set(line.name, line.value)))
        .chain(lines(written.add.as_ref()).map(|line| Edit::Add(line.name, line.value)))
        .collect()
}

/// Reports lifetimes of statuses that must not be stored.
fn never_stored(ttl: &At<Ttl>, sink: &mut Sink<'_>) {
    let codes = ttl.value.0.iter().filter_map(|(pattern, _)| match pattern {
        StatusPattern::Exact(code) => Some(*code),
        StatusPattern::Class(_) | StatusPattern::Any => None,
    });
    let may_be_stored = |code| StatusCode::from_u16(code).is_ok_and(storable::may_be_stored);
    for code in codes.filter(|code| !may_be_stored(*code)) {
        let what = format!("a {code} is never stored (RFC 6585, RFC 9111 section 3)");
        sink.push(Fault::at(&ttl.span, what).instead(format!("leave `{code}` out")));
    }
}

/// Keys of one table that cannot both be meant.
pub(super) fn contradictions(written: &Defaults, room: u64, sink: &mut Sink<'_>) {
    compress::contradictions(written, sink);
    if let Some(ttl) = &written.ttl {
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
        && *bytes > room
    {
        sink.push(
            Fault::at(span, "a body of this size does not fit into the store").instead(format!(
                "write at most `{}`, or give the store more memory",
                Size(room)
            )),
        );
    }
}

/// Parameters that are said to count, and to be dropped.
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
            let what = format!("`{both}` never counts: `{key}` drops it");
            sink.push(Fault::at(span, what).instead("leave it out of one of them"));
        }
    }
}

/// Keys of `written` that are about what is stored, where nothing is. `beside` is the table's own place, where what a preset says
/// stands too: that is left as it is.
pub(super) fn stores_nothing(
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

/// One page for all hosts, made for the one that asks first.
pub(super) fn hosts_together(written: &Defaults, sink: &mut Sink<'_>) {
    let host = written.key.as_ref().and_then(|key| key.host.as_ref());
    if let Some(At { value: false, span }) = host
        && written.origin_host.is_none()
    {
        let what = "all hosts share what is stored here, so that none of theirs may be told to the application";
        let fault = Fault::at(span, what).instead(
            "add `origin_host = \"app.example\"`, the host that it is asked for, and makes its links with",
        );
        sink.missing(&["origin_host"], fault);
    }
}

/// Keys of a table that do nothing for want of another. `has_lifetime`: there is a `ttl` for them, here or where else it counts.
pub(super) fn without_effect(written: &Defaults, has_lifetime: bool, sink: &mut Sink<'_>) {
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
