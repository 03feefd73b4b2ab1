//! Lookup: what the store has for a request, and whether it may be used now.

use crate::{
    ask::{self, Ask},
    cache::Worker,
    outcome::{Bypass, Detail, Outcome},
    policy::Policy,
    walk::{bypass::rule, coding, esi, purge, shape},
    way::{self, Needs, Past},
};
use http::{HeaderMap, Method, header};
use rules::{
    precondition, range,
    reuse::{self, Verdict},
    status::Forward,
    time::Time,
};
use std::sync::Arc;
use store::{
    Body, Stored, Variants,
    disk::{self, Bodies, Disk, Finding},
    fill::Reader,
    purge::Standing,
};

/// What lookup comes to.
pub enum Found {
    /// Answer with this.
    Hit(Hit),
    /// Answer with this, and fetch a fresh one in the background.
    StaleHit(Hit),
    /// Neither ask the store nor fill it.
    Bypass(Bypassed),
    /// The origin must be asked.
    Forward(Need),
}

/// How far lookup came at once.
pub enum Looked {
    /// To its end.
    Found(Found),
    /// The disk has something under the key, and its device must be waited for.
    Wait(Finding),
}

/// A stored response that may be sent.
#[derive(Debug)]
pub struct Hit {
    pub stored: Arc<Stored>,
    /// Follows the body where it is still on its way; taken at once, since a fill may close to readers at any moment.
    pub reader: Option<Reader>,
    pub outcome: Outcome,
    /// The fields for the client whose request fetched it, where they are at hand or more than what is stored.
    pub own: Option<Box<HeaderMap>>,
}

/// Why the store is passed by.
#[derive(Clone, Copy, Debug)]
pub enum Bypassed {
    /// The site says so.
    Site(Bypass),
    /// The method is not answered from the store.
    Method,
    /// The client's `If-Match` or `If-Unmodified-Since` does not hold for what is stored, or nothing is that could answer, for this
    /// reason. A cache must not judge such a condition (RFC 9111 section 4.3.2): the origin does.
    Condition(Forward),
}

/// What the origin must be asked for.
#[derive(Clone, Debug)]
pub struct Need {
    pub why: Forward,
    pub detail: Option<Detail>,
    /// The stored response this request selects, though not usable as it is: to be validated, completed, or sent if the
    /// origin fails.
    pub selected: Option<Arc<Stored>>,
    /// Other stored responses of the key; their entity tags are offered too.
    pub others: Vec<Arc<Stored>>,
}

impl Need {
    fn miss(why: Forward) -> Self {
        Self {
            why,
            detail: None,
            selected: None,
            others: Vec::new(),
        }
    }
}

/// Looks up a request. On the path of a hit.
pub fn lookup(worker: &Worker, ask: &mut Ask) -> Looked {
    if let Some(why) = rule::bypassed(ask) {
        return Looked::Found(Found::Bypass(why));
    }
    keep_cookies_from_store(ask);
    find(worker, ask, ask.now)
}

/// Sets those cookies aside that nothing stored may depend on, where the route says so.
pub fn keep_cookies_from_store(ask: &mut Ask) {
    let Some(route) = ask.site.routes.get(ask.route) else {
        return;
    };
    let policy = &route.policy;
    let stores_nothing = rule::stores_nothing(&policy.bypass, &ask.fields);
    if stores_nothing || policy.key.drop_cookies {
        ask.cookies = ask::set_cookies_aside(&mut ask.fields, &policy.key);
        ask.stores_nothing = stores_nothing;
    }
}

/// What was found, for the one who asked: a request that must not fill the store passes it by where the store does not answer,
/// with all of its cookies, and so does one with a condition that only an origin may judge.
pub fn for_client(ask: &mut Ask, found: Found) -> Found {
    let found = match found {
        Found::Forward(need) => match way::past(needs(ask)) {
            Some(Past::Cookie) => Found::Bypass(Bypassed::Site(Bypass::Cookie)),
            Some(Past::Condition) => Found::Bypass(Bypassed::Condition(need.why)),
            None => Found::Forward(need),
        },
        found => found,
    };
    if ask.stores_nothing && matches!(found, Found::Bypass(_)) {
        ask.take_cookies_back();
    }
    found
}

/// As [`lookup`], for a request that is known not to bypass, at `now`.
pub fn find(worker: &Worker, ask: &Ask, now: Time) -> Looked {
    worker.cache.memory.log().wake(now);
    let found = match worker.cache.memory.find(ask.key.as_bytes()) {
        Some(variants) => among(worker, ask, now, &variants),
        None => Found::Forward(Need::miss(Forward::UriMiss)),
    };
    let Some(disk) = &worker.cache.disk else {
        return Looked::Found(found);
    };
    let found = match found {
        Found::Forward(Need { selected: None, .. }) => {
            let bodies = if ask.connection.splices.is_some() {
                Bodies::Left
            } else {
                Bodies::Read
            };
            match disk.find(ask.key.as_bytes(), bodies) {
                disk::Found::Nothing => found,
                disk::Found::Here(list) => {
                    let is_kept = list.iter().any(|stored| is_worked_on(ask, stored));
                    if is_kept || worker.promotes() {
                        from_disk(worker, ask, now, list)
                    } else {
                        unpromoted(worker, ask, now, list)
                    }
                }
                disk::Found::Wait(finding) => return Looked::Wait(finding),
            }
        }
        found => found,
    };
    let drawn = match &found {
        Found::Hit(hit) if is_left(&hit.stored) => drawn(worker, ask, &hit.stored, disk),
        _ => disk::Found::Nothing,
    };
    match drawn {
        disk::Found::Here(list) => Looked::Found(from_disk(worker, ask, now, list)),
        disk::Found::Wait(finding) => Looked::Wait(finding),
        disk::Found::Nothing => Looked::Found(found),
    }
}

/// Whether the client gets more than the stored bytes: in a coding that is made here, or composed. What is made is kept with what is in
/// memory, so that it is made once.
fn is_worked_on(ask: &Ask, stored: &Stored) -> bool {
    coding::is_wanted(ask, stored) || esi::is_stored_page(ask, stored)
}

/// Whether the body was left in its segment: sent from there as it is, it costs no more than from memory.
fn is_left(stored: &Stored) -> bool {
    matches!(&stored.body, Body::Disk(bytes) if bytes.is_in_segment())
}

/// What memory holds without its body is read whole for a client that gets [more](is_worked_on) than the bytes in the file, and now and
/// then for one that gets them in TLS.
fn drawn(worker: &Worker, ask: &Ask, left: &Stored, disk: &Disk) -> disk::Found {
    let in_tls = || ask.connection.splices.is_none() && worker.promotes();
    if !is_worked_on(ask, left) && !in_tls() {
        return disk::Found::Nothing;
    }
    disk.find(ask.key.as_bytes(), Bodies::Read)
}

/// What a request finds after a lower tier has brought something.
pub fn adopted(worker: &Worker, ask: &Ask, now: Time, found: Vec<Arc<Stored>>) -> Found {
    let (memory, most) = (&worker.cache.memory, ask.site.most_variants);
    match memory.adopt(ask.key.as_bytes(), found, most) {
        Some(variants) => among(worker, ask, now, &variants),
        None => Found::Forward(Need::miss(Forward::UriMiss)),
    }
}

/// What a request finds on disk, and leaves there.
fn unpromoted(worker: &Worker, ask: &Ask, now: Time, found: Vec<Arc<Stored>>) -> Found {
    for stored in &found {
        stored.set_below();
    }
    match Variants::from_vec(found) {
        Some(variants) => among(worker, ask, now, &variants),
        None => Found::Forward(Need::miss(Forward::UriMiss)),
    }
}

/// As [`adopted`], of what the disk brought.
pub fn from_disk(worker: &Worker, ask: &Ask, now: Time, found: Vec<Arc<Stored>>) -> Found {
    for stored in &found {
        stored.set_below();
    }
    adopted(worker, ask, now, found)
}

/// Which of a key's variants answers, and whether it may.
fn among(worker: &Worker, ask: &Ask, now: Time, variants: &Variants) -> Found {
    let mut scratch = worker.scratch.take();
    let selected = variants.select(&ask.fields, &mut scratch);
    worker.scratch.set(scratch);
    let others = || -> Vec<_> {
        let all = variants.as_slice().iter();
        all.filter_map(|stored| kept(worker, ask, stored).stored())
            .collect()
    };
    match selected.map(|stored| kept(worker, ask, stored)) {
        Some(Kept::Good(stored)) => judge(ask, stored, now, others),
        Some(Kept::Unsure(stored)) => Found::Forward(Need {
            why: Forward::Stale,
            detail: Some(Detail::Unsure),
            others: others()
                .into_iter()
                .filter(|other| other.id() != stored.id())
                .collect(),
            selected: Some(stored),
        }),
        Some(Kept::Gone) | None => {
            let others = others();
            let why = if others.is_empty() {
                Forward::UriMiss
            } else {
                Forward::VaryMiss
            };
            Found::Forward(Need {
                others,
                ..Need::miss(why)
            })
        }
    }
}

/// What purges have left of a stored response.
enum Kept {
    Good(Arc<Stored>),
    /// Purges elsewhere may have been missed: the origin must confirm it, and where it cannot, this is not sent.
    Unsure(Arc<Stored>),
    Gone,
}

impl Kept {
    fn stored(self) -> Option<Arc<Stored>> {
        match self {
            Self::Good(stored) | Self::Unsure(stored) => Some(stored),
            Self::Gone => None,
        }
    }
}

/// Holds a stored response against the log of purges. One comparison where nothing was purged since the last look.
fn kept(worker: &Worker, ask: &Ask, stored: &Arc<Stored>) -> Kept {
    let (memory, key) = (&worker.cache.memory, ask.key.as_bytes());
    if stored.body.is_gone() {
        // The disk may have it elsewhere by now.
        return Kept::Gone;
    }
    match memory.log().standing(key, stored) {
        Standing::Good => Kept::Good(stored.clone()),
        Standing::Stale { since, checked } => {
            let stale = Arc::new(stored.stale_since(since, checked));
            memory.exchange(key, stored, &stale);
            Kept::Good(stale)
        }
        Standing::Unsure => Kept::Unsure(Arc::new(stored.to_be_validated())),
        Standing::Gone => Kept::Gone,
    }
}

fn judge(
    ask: &Ask,
    stored: Arc<Stored>,
    now: Time,
    variants: impl FnOnce() -> Vec<Arc<Stored>>,
) -> Found {
    let site = reuse_site_for(ask);
    let need = |why, detail, stored: Arc<Stored>| {
        let others = variants()
            .into_iter()
            .filter(|other: &Arc<Stored>| other.id() != stored.id())
            .collect();
        Found::Forward(Need {
            why,
            detail,
            selected: Some(stored),
            others,
        })
    };
    let outcome = match reuse::judge(&stored.facts, &ask.directives, &site, now) {
        Verdict::Fresh(remaining) => Outcome::hit(remaining.as_secs().cast_signed()),
        Verdict::Stale(reason) => {
            let ttl = stale_ttl(&stored, now);
            Outcome {
                detail: Some(Detail::Stale(reason)),
                ..Outcome::hit(ttl)
            }
        }
        Verdict::Validate(reason) => {
            let why = match reason {
                reuse::ValidateReason::Expired | reuse::ValidateReason::NoCache => Forward::Stale,
                reuse::ValidateReason::RequestNoCache | reuse::ValidateReason::RequestAge => {
                    Forward::Request
                }
            };
            return need(why, Some(Detail::Validated(reason)), stored);
        }
    };
    match body_for(ask, &stored) {
        Held::Enough(reader) => {
            let refresh = matches!(outcome.detail, Some(Detail::Stale(why)) if why.refreshes());
            if condition_is_the_origins(ask, &stored) {
                return Found::Bypass(Bypassed::Condition(Forward::Request));
            }
            let hit = Hit {
                stored,
                reader,
                outcome,
                own: None,
            };
            if refresh {
                Found::StaleHit(hit)
            } else {
                Found::Hit(hit)
            }
        }
        Held::TooLittle => need(Forward::Partial, None, stored),
    }
}

/// The `ttl` of a stale answer: negative from its first moment on (RFC 9211 section 2.4).
pub fn stale_ttl(stored: &Stored, now: Time) -> i64 {
    -(stored.facts.staleness(now).as_millis().div_ceil(1000) as i64)
}

/// On what it depends how a request goes on that nothing stored answers.
pub fn needs(ask: &Ask) -> Needs {
    Needs {
        stores_nothing: ask.stores_nothing,
        // What is fetched would not have the form yet that such a condition names.
        on_condition: has_condition_for_origin(ask) || coding::is_on_form(ask),
        only_if_cached: ask.directives.only_if_cached,
        is_personal: ask.directives.no_store || ask.fields.contains_key(header::AUTHORIZATION),
    }
}

/// Whether the request carries a condition that only an origin may judge.
fn has_condition_for_origin(ask: &Ask) -> bool {
    ask.said.conditions
        && (ask.fields.contains_key(header::IF_MATCH)
            || ask.fields.contains_key(header::IF_UNMODIFIED_SINCE))
}

/// Whether the request carries a condition for the origin that what is stored does not meet.
fn condition_is_the_origins(ask: &Ask, stored: &Stored) -> bool {
    has_condition_for_origin(ask) && stored.status.is_success() && {
        let representation = shape::representation(stored);
        let judged = precondition::judge(&ask.method, &ask.fields, &representation, ask.now);
        judged == precondition::Outcome::Failed
    }
}

/// What is held of a body, against what the request wants of it.
enum Held {
    Enough(Option<Reader>),
    TooLittle,
}

fn body_for(ask: &Ask, stored: &Stored) -> Held {
    let enough = match &stored.body {
        Body::Whole(_) | Body::Chunks(_) => true,
        // What turned out to be damaged is fetched anew.
        Body::Disk(bytes) if !bytes.is_broken() => true,
        // Parts answer requests for what they hold and no other, not even those for the head (RFC 9111 section 3.3).
        Body::Parts(parts) => {
            parts.is_complete()
                || wanted_part(ask, stored, parts.length)
                    .is_some_and(|span| parts.spans().contains(span))
        }
        _ if ask.method == Method::HEAD => true,
        Body::Disk(_) => false,
        Body::Filling(fill) => {
            return fill
                .reader()
                .map_or(Held::TooLittle, |reader| Held::Enough(Some(reader)));
        }
    };
    if enough {
        Held::Enough(None)
    } else {
        Held::TooLittle
    }
}

/// Whether a stored response holds all of the content that the request wants, now and for good.
pub fn answers(ask: &Ask, stored: &Stored) -> bool {
    !matches!(stored.body, Body::Filling(_)) && matches!(body_for(ask, stored), Held::Enough(None))
}

/// The one span a request wants of `stored`, a representation of `length` bytes, if it wants just one and may have it without the
/// rest.
pub fn wanted_part(ask: &Ask, stored: &Stored, length: u64) -> Option<range::Span> {
    let field = ask.range()?;
    if coding::is_of_another(ask, &stored.fields.unpack(0), Some(length))
        || !precondition::if_range_holds(&ask.fields, &shape::representation(stored), ask.now)
    {
        return None;
    }
    match range::resolve(field, length) {
        range::Asked::One(span) => Some(span),
        _ => None,
    }
}

/// The site's say on reuse, as the rules want it.
pub fn reuse_site(policy: &Policy) -> reuse::Site {
    reuse::Site {
        client_may_force: policy.client_may_force,
        unreachable: seconds(policy.stale.unreachable),
    }
}

/// As [`reuse_site`], for this client: who may purge may have anything validated.
pub fn reuse_site_for(ask: &Ask) -> reuse::Site {
    let mut site = reuse_site(ask.policy());
    site.client_may_force |= purge::may_force(ask);
    site
}

/// Whole seconds, at most what the rules count with.
pub fn seconds(duration: std::time::Duration) -> u32 {
    u32::try_from(duration.as_secs()).unwrap_or(u32::MAX)
}
