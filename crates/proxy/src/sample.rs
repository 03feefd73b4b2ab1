//! Sites and requests for tests.

use crate::{
    ask::{Ask, Key, Receipt, SetAside},
    cache::{Cache, Tiers, Worker},
    collapse::Errand,
    listen::{Connection, InterimSink},
    policy::{
        BypassRules, Esi, KeySpec, Lifetime, Matcher, Policy, PurgePolicy, Report, Route, Site,
        Stale, ToClient, ToOrigin,
    },
    said::FieldPresence,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version};
use origin::{
    Origin, OriginConfig,
    config::{Address, Server},
};
use rules::{directives, freshness, key::QueryChoice, storable::SetCookie, time::Time};
use std::{
    cell::Cell,
    future::poll_fn,
    net::SocketAddr,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::Wake,
    time::Duration,
};
use store::{
    Body, Fields, Horizon, Memory, Purger, Remember, Stored, Sweeper, fill::Reader, purge::Log,
};
use tokio::time::sleep;

/// A worker of a cache with only this memory, for a site with default settings.
pub(crate) fn worker(memory: &Arc<Memory>) -> Rc<Worker> {
    let hour = Remember::fetches(Duration::from_hours(1));
    let sweeper = Sweeper::start(memory.clone(), Box::new(|| Horizon::NOTHING), hour);
    let sweeper = sweeper.expect("a thread");
    let purger = Purger::new(memory.clone(), sweeper);
    let site = site(policy(key_spec()));
    let cache = Cache::new(Tiers::memory(memory.clone()), purger, site);
    Worker::new(cache, Arc::default(), None)
}

/// Memory with room for some pages.
pub(crate) fn memory() -> Arc<Memory> {
    Arc::new(Memory::new(8 << 20, Arc::default()))
}

/// Header fields, a line each.
pub(crate) fn fields(lines: &[(&'static str, &str)]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for (name, value) in lines {
        let value = HeaderValue::from_str(value).expect("valid");
        fields.append(HeaderName::from_static(name), value);
    }
    fields
}

/// A key of scheme, host, path and the whole query.
pub(crate) fn key_spec() -> KeySpec {
    KeySpec {
        scheme: true,
        host: true,
        query: QueryChoice::All,
        drop: QueryChoice::All,
        sort: false,
        headers: Vec::new(),
        cookies: Vec::new(),
        drop_cookies: false,
    }
}

/// A policy with this key that otherwise follows the origin, which is never asked.
pub(crate) fn policy(key: KeySpec) -> Policy {
    let server = Server::new(Address::Unix("/never/asked".into()));
    let config = OriginConfig {
        servers: vec![server],
        ..OriginConfig::default()
    };
    Policy {
        refuses: None,
        redirect_https: false,
        key,
        largest_content: 1 << 16,
        graphql: None,
        user_context: None,
        cache: true,
        bypass: BypassRules::default(),
        client_may_force: true,
        stale: Stale::default(),
        collapse_wait: Duration::from_secs(5),
        origin: Origin::new(config).expect("has a server"),
        to_origin: ToOrigin::default(),
        lifetime: Lifetime::default(),
        set_cookie: SetCookie::default(),
        largest_body: 1 << 20,
        compress: None,
        esi: Esi::default(),
        fragment_wait: Duration::from_secs(10),
        to_client: ToClient::default(),
    }
}

/// A route for what `matcher` matches.
pub(crate) fn route(matcher: Matcher, policy: Policy) -> Route {
    Route {
        name: "route".to_owned(),
        keyed: "0123456789abcdef route".to_owned(),
        matcher,
        policy: Arc::new(policy),
    }
}

/// A site of one route that trusts 10.0.0.0/8.
pub(crate) fn site(policy: Policy) -> Site {
    Site {
        routes: vec![route(Matcher::default(), policy)].into(),
        report: Report {
            cache_status: true,
            key: false,
            x_cache: None,
            node: None,
        },
        name: "larder".to_owned(),
        trusted: vec!["10.0.0.0/8".parse().expect("a network")],
        largest_request_body: None,
        targets: Vec::new(),
        most_variants: 8,
        refetch: None,
        purge: PurgePolicy::default(),
    }
}

/// What a request goes for, as far as this log of purges is concerned.
pub(crate) fn errand(log: &Log) -> Errand<'_> {
    Errand::under(log, Arc::new(site(policy(key_spec()))))
}

/// A GET for `http://shop.example/p` from `peer`, or from a Unix socket.
pub(crate) fn ask(site: Site, peer: Option<SocketAddr>, fields: HeaderMap) -> Ask {
    let spec = key_spec();
    Ask {
        site: Rc::new(Arc::new(site).into()),
        route: 0,
        is_ambiguous: false,
        method: Method::GET,
        version: Version::HTTP_11,
        directives: directives::request(&fields),
        said: FieldPresence::by(&fields),
        fields,
        set_aside: SetAside::default(),
        stand_in: None,
        stores_nothing: false,
        content: crate::content_key::Content::default(),
        key: Key::build(&spec, "http", "shop.example", "/p", None),
        scheme: "http",
        now: Time::from_secs(1_000_000),
        has_waited: false,
        receipt: Receipt::new(
            &Rc::new(Connection::imagined(peer, false)),
            InterimSink::deaf(),
        ),
        target: Uri::from_static("/p").into(),
        within: None,
        composed: Cell::new(false),
    }
}

/// A stored response of only `status` and `fields`.
pub(crate) fn stored(status: StatusCode, fields: &HeaderMap) -> Arc<Stored> {
    let now = Time::from_secs(1_000_000);
    let (said, site) = Default::default();
    let facts = freshness::facts(status, fields, &said, &site, now, now);
    let (fields, body) = (Fields::pack(fields), Body::Whole("".into()));
    Arc::new(Stored::new(0, status, fields, facts, None, None, body))
}

/// Reads a fill to its end or until it is cut off, one piece per `pause`. Returns how many bytes came, and whether all
/// did.
pub(crate) async fn read_slowly(mut reader: Reader, pause: Duration) -> (u64, bool) {
    let mut got = 0;
    loop {
        match poll_fn(|context| reader.poll_next(context)).await {
            Some(Ok(piece)) => got += piece.len() as u64,
            Some(Err(_)) => return (got, false),
            None => return (got, true),
        }
        sleep(pause).await;
    }
}

/// Returns bytes of which codings save a quarter.
pub(crate) fn letters(length: usize) -> Bytes {
    let mut number = 1_u32;
    let letter = || {
        number = number.wrapping_mul(1_103_515_245).wrapping_add(12345);
        b'0' + (number >> 16) as u8 % 64
    };
    std::iter::repeat_with(letter).take(length).collect()
}

/// Whether a waiting task was woken.
#[derive(Debug, Default)]
pub(crate) struct WakeFlag(AtomicBool);

impl WakeFlag {
    pub(crate) fn was_woken(&self) -> bool {
        self.0.load(Relaxed)
    }
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}
