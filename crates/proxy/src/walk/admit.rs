//! Admit: whether an answer is stored, and in which form. How its body gets into the store is told in `pump`.

use crate::{
    ask::Ask,
    cache::Worker,
    marks,
    policy::{Lifetime, LifetimeMode, StatusPattern},
    walk::{
        coding,
        lookup::seconds,
        outbound::{self, Sent},
        receive,
    },
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header, response};
use rules::{
    directives::{self, ResponseDirectives},
    fields, freshness,
    storable::{self, Exchange, NotStorable, Storable},
    surrogate,
    time::Time,
    validate,
    vary::{self, Nominated},
};
use std::{sync::Arc, time::Duration};
use store::{Body, Fields, Stored, Ticket, Variant, purge::Marks};

/// When an exchange with an origin took place.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub request: Time,
    pub response: Time,
    /// How long the answer holds, where the origin knows and no field says so.
    pub lifetime: Option<origin::Lifetime>,
}

/// Judges an answer to a request of `method` for `ask`.
pub fn judge(
    ask: &Ask,
    method: &Method,
    times: Times,
    status: StatusCode,
    fields: &HeaderMap,
) -> Result<Storable, NotStorable> {
    // Nobody else's is compared with anything.
    let uri = if *method == Method::POST {
        ask.uri()
    } else {
        String::new()
    };
    let exchange = Exchange {
        method,
        request: &ask.fields,
        request_directives: &ask.directives,
        target: &uri,
        status,
        response: fields,
        request_time: times.request,
        response_time: times.response,
    };
    let policy = ask.policy();
    let site = storable::Site {
        freshness: freshness_site(ask, status, times.lifetime),
        set_cookie: policy.set_cookie,
        targets: &ask.site.targets,
    };
    let storable = storable::judge(&exchange, &site)?;
    match nominated(ask, fields) {
        Nominated::Everything => Err(NotStorable::VaryStar),
        Nominated::Nothing | Nominated::Fields(_) => Ok(storable),
    }
}

/// The site's say on lifetimes for this route and status.
pub fn freshness_site(
    ask: &Ask,
    status: StatusCode,
    known: Option<origin::Lifetime>,
) -> freshness::Site {
    let policy = ask.policy();
    let own = ask.operation().and_then(|operation| operation.ttl);
    let lifetime = own
        .filter(|_| status == StatusCode::OK)
        .or_else(|| policy.lifetime.of(status));
    let forced = match policy.lifetime.mode {
        LifetimeMode::Default => false,
        LifetimeMode::Override => true,
        LifetimeMode::Static => is_static(ask.key.path_and_query()),
    };
    freshness::Site {
        default_lifetime: match known {
            Some(origin::Lifetime::Remaining(remaining)) => Some(remaining),
            Some(origin::Lifetime::Usual(usual) | origin::Lifetime::AtMost(usual)) => {
                lifetime.or(Some(usual))
            }
            None => lifetime.filter(|_| !forced),
        },
        longest_lifetime: match known {
            Some(origin::Lifetime::AtMost(longest)) => Some(longest),
            Some(origin::Lifetime::Remaining(_) | origin::Lifetime::Usual(_)) | None => None,
        },
        override_lifetime: lifetime.filter(|_| forced),
        stale_while_revalidate: policy.stale.while_revalidate.map(seconds),
        stale_if_error: policy.stale.if_error.map(seconds),
        heuristic: policy.lifetime.heuristic,
    }
}

impl Lifetime {
    /// The lifetime the site gives to answers of `status`; first match wins.
    pub fn of(&self, status: StatusCode) -> Option<Duration> {
        let code = status.as_u16();
        self.by_status
            .iter()
            .find(|(pattern, _)| match pattern {
                StatusPattern::Exact(exact) => *exact == code,
                StatusPattern::Class(class) => u16::from(*class) == code / 100,
                StatusPattern::Any => true,
            })
            .map(|(_, lifetime)| *lifetime)
    }
}

/// Endings of paths whose content seldom depends on who asks.
const STATIC_ENDINGS: [&str; 26] = [
    "css", "js", "mjs", "map", "png", "jpg", "jpeg", "gif", "webp", "avif", "svg", "ico", "bmp",
    "woff", "woff2", "ttf", "otf", "eot", "mp4", "webm", "mp3", "ogg", "wav", "pdf", "wasm", "zip",
];

fn is_static(target: &str) -> bool {
    let path = target.split('?').next().unwrap_or_default();
    let ending = path
        .rsplit('/')
        .next()
        .and_then(|name| name.rsplit_once('.'))
        .map(|(_, ending)| ending);
    ending.is_some_and(|ending| {
        STATIC_ENDINGS
            .iter()
            .any(|known| ending.eq_ignore_ascii_case(known))
    })
}

/// How many fields an answer mostly has more when it goes out: grown once, the map is not built anew with each of them.
const MOST_ADDED: usize = 4;

/// Fields as they are stored: without what must not be, with what a recipient must add.
pub fn stored_fields(
    ask: &Ask,
    (status, version): (StatusCode, Version),
    storable: Storable,
    received: &HeaderMap,
    at: Time,
) -> HeaderMap {
    let (directives, _) = directives::response(received, &ask.site.targets);
    kept_fields(ask, (status, version), storable, received, at, &directives)
}

/// As [`stored_fields`], of a response whose directives are known, those at least that name fields.
fn kept_fields(
    ask: &Ask,
    (status, version): (StatusCode, Version),
    storable: Storable,
    received: &HeaderMap,
    at: Time,
    directives: &ResponseDirectives,
) -> HeaderMap {
    let mut kept = fields::forwarded(received, MOST_ADDED, |name| {
        *name != header::AGE
            && !(storable.strip_set_cookie && *name == header::SET_COOKIE)
            && !fields::is_unstorable(name, directives)
    });
    complete(ask, version, &mut kept, || at);
    if surrogate::wants_esi(received) {
        kept.insert(surrogate::CONTROL, surrogate::CONTENT_ESI);
    }
    coding::vary(ask, status, &mut kept);
    kept
}

/// The fields for the request's own client, where storing takes some away that only later requests must not get: those
/// that `no-cache` or `private` names (RFC 9111 sections 5.2.2.4 and 5.2.2.7).
pub fn own_fields(ask: &Ask, head: &response::Parts, storable: Storable) -> Option<Box<HeaderMap>> {
    let same = (head.status, head.version);
    let all = || all_fields(ask, same, storable, head.headers.clone());
    storable.names_fields.then(all).map(Box::new)
}

/// As [`own_fields`], where `update` (a 304, or another part) made the fields `old` into `new`.
pub fn own_updated(
    ask: &Ask,
    (status, version): (StatusCode, Version),
    storable: Storable,
    (old, new): (&Fields, &HeaderMap),
    update: &HeaderMap,
) -> Option<Box<HeaderMap>> {
    let (directives, _) = directives::response(new, &ask.site.targets);
    directives.names_fields().then(|| {
        let mut all = old.unpack(8);
        validate::freshen_for_one(&mut all, update.clone());
        Box::new(all_fields(ask, (status, version), storable, all))
    })
}

/// All fields that a client may have.
fn all_fields(
    ask: &Ask,
    (status, version): (StatusCode, Version),
    storable: Storable,
    mut own: HeaderMap,
) -> HeaderMap {
    fields::remove_hop_by_hop(&mut own);
    own.remove(header::AGE);
    if storable.strip_set_cookie {
        own.remove(header::SET_COOKIE);
    }
    complete(ask, version, &mut own, receive::now);
    coding::vary(ask, status, &mut own);
    own
}

/// `Via`, and `Date` where the origin gave none (RFC 9110 sections 6.6.1 and 7.6.3); what is said to us alone goes.
pub fn complete(ask: &Ask, version: Version, response: &mut HeaderMap, at: impl FnOnce() -> Time) {
    let passed = &ask.site.purge.pass_tags;
    let is_for_us = |name: &HeaderName| {
        *name == surrogate::CONTROL
            || *name == freshness::REVERSE_PROXY_TTL
            || (surrogate::carries_tags(name) && !passed.contains(name))
    };
    let (mut is_dated, mut says_it_to_us) = (false, false);
    for name in response.keys() {
        is_dated |= *name == header::DATE;
        says_it_to_us |= is_for_us(name);
    }
    if says_it_to_us {
        fields::remove_where(response, is_for_us);
    }
    if !is_dated && let Ok(date) = HeaderValue::try_from(at().to_http()) {
        response.insert(header::DATE, date);
    }
    ask.site.via.append(response, version);
}

/// Freshened `fields` of what is stored as a page of fragments say so still: the body is the same, and so is what it is written in.
pub fn keep_language(stored: &Stored, fields: &mut HeaderMap) {
    if stored.has_surrogate_control() && !surrogate::wants_esi(fields) {
        fields.append(surrogate::CONTROL, surrogate::CONTENT_ESI);
    }
}

/// What selects the response among its key's variants; `None` when any request does.
pub fn variant(ask: &Ask, response: &HeaderMap) -> Option<Box<Variant>> {
    match nominated(ask, response) {
        Nominated::Fields(nominated) => {
            let mut key = Vec::new();
            vary::variant_key(&nominated, &ask.fields, &mut key);
            let (nominated, key) = (nominated.into(), key.into());
            Some(Box::new(Variant { nominated, key }))
        }
        // `*` is refused by `judge`.
        Nominated::Nothing | Nominated::Everything => None,
    }
}

/// The nominated fields in which requests for this key can differ as the *origin* sees them: those that are the same for all
/// of them are left out, `Accept-Encoding` unless the answer is in a coding that not everybody can be given, and one that we write
/// anew for each client selects by what nobody later can know.
fn nominated(ask: &Ask, response: &HeaderMap) -> Nominated {
    let fields = match vary::nominated(response) {
        Nominated::Fields(fields) => fields,
        other => return other,
    };
    let mut kept = Vec::with_capacity(fields.len());
    for name in fields {
        match outbound::sent_as(ask, &name) {
            Sent::Same => {}
            Sent::Settled if coding::is_settled(ask, response) => {}
            Sent::Settled | Sent::AsAsked => kept.push(name),
            Sent::ByClient => return Nominated::Everything,
        }
    }
    if kept.is_empty() {
        Nominated::Nothing
    } else {
        Nominated::Fields(kept)
    }
}

/// The tags by which the response can be purged, besides its URL: those it carries, its cache groups and its pool. Where it freshens
/// another and carries no tags, those of the other stay; they are no longer among its fields, as groups and pool are.
pub fn marks(
    worker: &Worker,
    ask: &Ask,
    response: &HeaderMap,
    began: u64,
    freshens: Option<&Stored>,
) -> Option<Arc<Marks>> {
    let groups = surrogate::groups(response)
        .into_iter()
        .map(|group| marks::of_group(ask.scheme, ask.host(), &group));
    let pool = response.get(marks::X_POOL);
    let pool = pool.and_then(|line| Some(marks::of_pool(line.to_str().ok()?.trim())));
    let mut tags = surrogate::tags(response);
    if tags.is_empty() {
        let kept = freshens.and_then(|old| old.marks.as_ref());
        let kept = kept.into_iter().flat_map(|marks| marks.texts());
        tags.extend(kept.filter(|tag| marks::is_tag(tag)).map(str::to_owned));
    }
    tags.extend(groups.chain(pool));
    tags.extend(
        ask.operation()
            .into_iter()
            .flat_map(|operation| operation.tags.clone()),
    );
    worker.cache.memory.log().tags().marks(tags, began)
}

/// A new stored response for `ask`, and its fields as they were before they were packed. `storable` was judged of `head`.
pub fn new_stored(
    worker: &Worker,
    ask: &Ask,
    ticket: Ticket,
    head: &response::Parts,
    storable: Storable,
    body: Body,
    at: Time,
) -> (Stored, HeaderMap) {
    // Most responses name no fields, as was found when this one was judged.
    let directives = if storable.names_fields {
        directives::response(&head.headers, &ask.site.targets).0
    } else {
        ResponseDirectives::default()
    };
    let first_line = (head.status, head.version);
    let kept = kept_fields(ask, first_line, storable, &head.headers, at, &directives);
    let stored = Stored::new(
        ticket.began,
        head.status,
        Fields::pack(&kept),
        storable.facts,
        variant(ask, &head.headers),
        marks(worker, ask, &head.headers, ticket.began, None),
        body,
    );
    (stored, kept)
}
