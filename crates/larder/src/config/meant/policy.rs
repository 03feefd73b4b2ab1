//! The policy of a route.

mod faults;

use super::{
    compress,
    matchers::{cookies, parameters},
    settings::values,
};
use crate::config::{
    value::{
        At, CookieName, EditableName, FieldLine, KeyedName, Many, PassedName, PathStart, Query,
        Text, Token, Ttl,
    },
    written::{self, Defaults},
};
use http::HeaderName;
use origin::Origin;
use proxy::policy::{
    AnyPath, BypassRules, Edit, Esi, GraphQl, KeySpec, Lifetime, LifetimeMode, Operation, Policy,
    Stale, ToClient, ToOrigin,
};
use rules::{
    key::{QueryChoice, tracking},
    storable::SetCookie,
};
use std::{sync::Arc, time::Duration};

pub(super) use faults::{
    codings_together, contradictions, groups_keyed, hosts_together, replaces_scheme, scheme_told,
    stores_nothing, without_effect,
};

const DEFAULT_LARGEST_BODY: u64 = 64 << 20;
const DEFAULT_LARGEST_CONTENT: u64 = 64 << 10;
const DEFAULT_COLLAPSE_WAIT: Duration = Duration::from_secs(5);
const DEFAULT_FRAGMENT_WAIT: Duration = Duration::from_secs(10);
const DEFAULT_UNREACHABLE: Duration = Duration::from_hours(24);

/// Builds the policy of a route from its own keys over those of the defaults.
pub(super) fn build(written: &Defaults, origin: Arc<Origin>, largest_body: u64) -> Policy {
    let largest = written.largest_body.as_ref().map(|size| size.value.0);
    Policy {
        refuses: written.refuse.as_ref().and_then(|refusal| refusal.value.0),
        redirect_https: value(written.redirect_https.as_ref()) == Some(&true),
        key: key(written.key.as_ref()),
        largest_content: written
            .largest_content
            .as_ref()
            .map_or(DEFAULT_LARGEST_CONTENT, |size| size.value.0)
            .min(largest_body),
        graphql: value(written.graphql.as_ref()).map(graphql),
        user_context: written.user_context.as_ref().map(|path| {
            let PathStart(path) = &path.value;
            path.clone()
        }),
        cache: written.cache.unwrap_or(true),
        bypass: bypass(value(written.bypass.as_ref())),
        client_may_force: written.client_may_force.unwrap_or(true),
        stale: stale(value(written.stale.as_ref())),
        collapse_wait: written
            .collapse_wait
            .as_ref()
            .map_or(DEFAULT_COLLAPSE_WAIT, |time| time.value),
        origin,
        to_origin: to_origin(written),
        lifetime: lifetime(written),
        set_cookie: match value(written.set_cookie.as_ref()) {
            Some(written::SetCookie::Refuse) | None => SetCookie::Refuse,
            Some(written::SetCookie::Never) => SetCookie::Never,
            Some(written::SetCookie::Strip) => SetCookie::Strip,
            Some(written::SetCookie::Store) => SetCookie::Store,
        },
        largest_body: largest.unwrap_or(DEFAULT_LARGEST_BODY).min(largest_body),
        compress: compress::build(written),
        esi: match written.esi {
            Some(true) => Esi::On,
            Some(false) => Esi::Off,
            None => Esi::Told,
        },
        fragment_wait: written
            .fragment_wait
            .as_ref()
            .map_or(DEFAULT_FRAGMENT_WAIT, |time| time.value),
        to_client: ToClient {
            browser_ttl: written.browser_ttl.as_ref().map(|time| time.value),
            edits: edits(written.response_headers.as_ref()),
        },
    }
}

fn to_origin(written: &Defaults) -> ToOrigin {
    let host = written.origin_host.as_ref();
    ToOrigin {
        host: host.map(|host| host.value.0.clone()),
        pass_fields: values(written.pass_fields.as_ref())
            .into_iter()
            .map(|PassedName(name)| name)
            .collect(),
        edits: edits(written.request_headers.as_ref()),
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

/// Returns the lifetimes of a route.
pub(super) fn lifetime(written: &Defaults) -> Lifetime {
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

fn bypass(written: Option<&written::Bypass>) -> BypassRules {
    written.map_or_else(BypassRules::default, |written| BypassRules {
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
