use super::{Answer, From, State, Written, serve};
use crate::{
    client::Client,
    config::{self, Flags},
};
use arc_swap::ArcSwap;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use proxy::{Cache, outcome::Counters};
use rules::{directives, freshness, time::Time, vary};
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use store::{
    Body, Fields, Horizon, Memory, Purger, Remember, Stored, Sweeper, Variant,
    purge::{Purge, What},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

/// An admin API, and the means to stop it.
struct Admin {
    address: SocketAddr,
    state: Arc<State>,
    stop: oneshot::Sender<()>,
    served: tokio::task::JoinHandle<std::io::Result<()>>,
}

async fn start() -> Admin {
    let text = r#"
        [[origin]]
        servers = "http://127.0.0.1:1"
        [[route]]
        name = "private"
        path = "/private/*"
        cache = false
        [[route]]
        name = "pages"
        bypass = { cookies = ["session"] }
    "#;
    let config =
        config::parse(text, "test", &Flags::default()).unwrap_or_else(|faults| panic!("{faults}"));
    let state = Arc::new(State {
        cache: cache(config.site),
        counters: vec![Arc::<Counters>::default()],
        connections: Vec::new(),
        origins: ArcSwap::from_pointee(config.origins),
        plain: ArcSwap::default(),
        ready: AtomicBool::new(false),
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async { drop(stopped.await) };
    let served = tokio::spawn(serve(listener, state.clone(), stopped));
    Admin {
        address,
        state,
        stop,
        served,
    }
}

impl Admin {
    async fn get(&self, target: &str) -> Response<Bytes> {
        let mut client = Client::connect(self.address).await.unwrap();
        client.get(target).await.unwrap()
    }

    async fn explain(&self, query: &str) -> Answer {
        let response = self.get(&format!("/explain?{query}")).await;
        assert_eq!(response.status(), StatusCode::OK, "{:?}", response.body());
        serde_json::from_slice(response.body()).unwrap()
    }

    /// Returns the status and the text of a refusal.
    async fn refusal(&self, target: &str) -> (u16, String) {
        let response = self.get(target).await;
        let written: Written = serde_json::from_slice(response.body()).unwrap();
        (response.status().as_u16(), written.error)
    }

    /// Stores a response under `key`, received `age` seconds ago, for a request with these fields.
    fn store(
        &self,
        key: &str,
        age: u64,
        fields: &[(&'static str, &'static str)],
        request: &[(&'static str, &'static str)],
    ) {
        let (fields, request) = (map(fields), map(request));
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_millis() as u64;
        let then = Time::from_millis(now - age * 1000);
        let said = directives::response(&fields, &[]);
        let facts = freshness::facts(
            StatusCode::OK,
            &fields,
            &said,
            &freshness::Site::default(),
            then,
            then,
        );
        let variant = match vary::nominated(&fields) {
            vary::Nominated::Fields(nominated) => {
                let mut key = Vec::new();
                vary::variant_key(&nominated, &request, &mut key);
                Some(Box::new(Variant {
                    nominated: nominated.into(),
                    key: key.into(),
                }))
            }
            _ => None,
        };
        let body = Body::Whole(Bytes::from_static(b"0123456789"));
        let stored = Stored::new(
            0,
            StatusCode::OK,
            Fields::pack(&fields),
            facts,
            variant,
            None,
            body,
        );
        let memory = &self.state.cache.memory;
        let ticket = memory.begin();
        memory
            .insert(key.as_bytes(), ticket, Arc::new(stored), 8)
            .unwrap();
    }
}

fn cache(site: proxy::policy::Site) -> Arc<Cache> {
    let memory = Arc::new(Memory::new(8 << 20, Arc::default()));
    let minute = Remember::fetches(Duration::from_mins(1));
    let sweeper = Sweeper::start(memory.clone(), Box::new(|| Horizon::NOTHING), minute).unwrap();
    let purger = Purger::new(memory.clone(), sweeper);
    Cache::new(proxy::Tiers::memory(memory), purger, site)
}

fn map(fields: &[(&'static str, &'static str)]) -> HeaderMap {
    let pair = |(name, value): &(&'static str, &'static str)| {
        (
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_static(value),
        )
    };
    fields.iter().map(pair).collect()
}

/// Whole seconds.
fn seconds(time: f64) -> u64 {
    Duration::from_secs_f64(time).as_secs()
}

#[tokio::test]
async fn ready_follows_the_state_and_alive_does_not() {
    let admin = start().await;
    for (ready, status) in [(false, 503), (true, 200), (false, 503)] {
        admin.state.ready.store(ready, Relaxed);
        assert_eq!(admin.get("/readyz").await.status(), status);
        assert_eq!(admin.get("/healthz").await.status(), 200);
    }
}

#[tokio::test]
async fn metrics_and_index() {
    let admin = start().await;
    let metrics = admin.get("/metrics").await;
    assert_eq!(
        metrics.headers()[header::CONTENT_TYPE],
        crate::telemetry::metrics::MEDIA_TYPE
    );
    assert!(metrics.body().ends_with(b"# EOF\n"));
    let index = admin.get("/").await;
    let index = String::from_utf8_lossy(index.body());
    for path in ["/metrics", "/healthz", "/readyz", "/explain"] {
        assert!(index.contains(path), "{path}");
    }
}

#[tokio::test]
async fn refusals_are_json_and_say_what_to_do() {
    let admin = start().await;
    for (target, status, word) in [
        ("/nothing", 404, "nothing here"),
        ("/explain", 400, "which URL"),
        ("/explain?url=/path", 400, "http://host/path"),
        ("/explain?url=http://a/&url=http://b/", 400, "%26"),
        ("/explain?url=http://a/?x=1&y=2", 400, "%26"),
        ("/explain?url=http://a/&header=nonsense", 400, "Name: value"),
        (
            "/explain?url=http://a/&header=a%0Ab:%20c",
            400,
            "Name: value",
        ),
    ] {
        let (given, what) = admin.refusal(target).await;
        assert_eq!(given, status, "{target}: {what}");
        assert!(what.contains(word), "{target}: {what}");
    }
}

#[tokio::test]
async fn nothing_stored_and_bypassed() {
    let admin = start().await;
    let none = admin.explain("url=http://a.test/x").await;
    assert_eq!(
        (none.route.as_str(), none.from, none.why.as_str()),
        ("pages", From::Origin, "uri-miss")
    );
    let route = admin.explain("url=http://a.test/private/x").await;
    assert_eq!(
        (
            route.route.as_str(),
            route.why.as_str(),
            route.detail.as_deref()
        ),
        ("private", "bypass", Some("route"))
    );
    let cookie = admin
        .explain("url=http://a.test/x&header=Cookie:%20session=1")
        .await;
    assert_eq!(
        (cookie.why.as_str(), cookie.detail.as_deref()),
        ("bypass", Some("cookie"))
    );
}

#[tokio::test]
async fn what_is_stored_is_judged() {
    let admin = start().await;
    for (path, age, cache_control, request, from, why) in [
        ("/fresh", 10, "max-age=60", "", From::Memory, "fresh"),
        ("/stale", 70, "max-age=60", "", From::Origin, "stale"),
        (
            "/swr",
            70,
            "max-age=60, stale-while-revalidate=60",
            "",
            From::Memory,
            "stale-while-revalidate",
        ),
        (
            "/no-cache",
            0,
            "max-age=60, no-cache",
            "",
            From::Origin,
            "stale",
        ),
        (
            "/forced",
            10,
            "max-age=60",
            "no-cache",
            From::Origin,
            "request",
        ),
        (
            "/max-stale",
            70,
            "max-age=60",
            "max-stale",
            From::Memory,
            "max-stale",
        ),
    ] {
        let url = format!("url=http://a.test{path}&header=Cache-Control:{request}");
        let key = admin.explain(&url).await.key;
        admin.store(&key, age, &[("cache-control", cache_control)], &[]);
        let answer = admin.explain(&url).await;
        assert_eq!((answer.from, answer.why.as_str()), (from, why), "{path}");
        let [stored] = answer.stored.as_slice() else {
            panic!("{path}: {:?}", answer.stored)
        };
        assert!(
            stored.selected && stored.matches && seconds(stored.lifetime) == 60,
            "{path}: {stored:?}"
        );
        assert!(seconds(stored.age) >= age, "{path}: {stored:?}");
        assert_eq!(
            (stored.source.as_str(), stored.length, stored.form.as_str()),
            ("max-age", Some(10), "whole")
        );
    }
}

#[tokio::test]
async fn what_was_purged_softly_is_stale() {
    let admin = start().await;
    let url = "url=http://a.test/";
    let key = admin.explain(url).await.key;
    admin.store(&key, 10, &[("cache-control", "max-age=60")], &[]);
    let purge = Purge {
        what: What::Everything,
        soft: true,
    };
    // Before the sweep reaches it.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = Time::from_millis(u64::try_from(now.as_millis()).unwrap());
    admin.state.cache.memory.log().apply(purge, now, None);
    let answer = admin.explain(url).await;
    assert_eq!((answer.from, answer.why.as_str()), (From::Origin, "stale"));
    assert_eq!(answer.stored[0].verdict, "validate");
    assert!(!answer.stored[0].invalidated, "it may be sent on an error");
}

#[tokio::test]
async fn variants_tell_which_fields_differ() {
    let admin = start().await;
    let key = admin.explain("url=http://a.test/").await.key;
    let fields = [
        ("cache-control", "max-age=60"),
        ("vary", "accept-encoding, accept-language"),
    ];
    admin.store(
        &key,
        1,
        &fields,
        &[("accept-encoding", "gzip"), ("accept-language", "de")],
    );
    for (headers, matches, differing) in [
        (
            "&header=Accept-Encoding:gzip&header=Accept-Language:de",
            true,
            &[][..],
        ),
        (
            "&header=Accept-Encoding:gzip&header=Accept-Language:en",
            false,
            &["accept-language"],
        ),
        ("&header=Accept-Language:de", false, &["accept-encoding"]),
        ("", false, &["accept-encoding", "accept-language"]),
    ] {
        let answer = admin.explain(&format!("url=http://a.test/{headers}")).await;
        let stored = &answer.stored[0];
        assert_eq!(
            (stored.matches, stored.selected),
            (matches, matches),
            "{headers}"
        );
        assert_eq!(stored.differing, differing, "{headers}");
        assert_eq!(answer.why, if matches { "fresh" } else { "vary-miss" });
    }
}

#[tokio::test]
async fn it_stops_when_told_though_a_connection_is_idle() {
    let admin = start().await;
    let mut idle = Client::connect(admin.address).await.unwrap();
    idle.get("/healthz").await.unwrap();
    admin.stop.send(()).unwrap();
    admin.served.await.unwrap().unwrap();
    assert!(Client::connect(admin.address).await.is_err());
}

/// Sends these lines and returns the whole answer.
async fn exchange(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn strangers_names_and_other_methods_are_refused() {
    let admin = start().await;
    for (head, status) in [
        ("GET /healthz HTTP/1.1\r\nHost: localhost:9180\r\n", 200),
        ("GET /healthz HTTP/1.0\r\n", 200),
        ("GET /healthz HTTP/1.1\r\nHost: larder.internal\r\n", 200),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n", 403),
        (
            "GET /purges HTTP/1.1\r\nHost: 127.0.0.1.evil.example:9180\r\n",
            403,
        ),
        (
            "GET http://evil.example/purges HTTP/1.1\r\nHost: 127.0.0.1\r\n",
            403,
        ),
        (
            "GET /purges HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n",
            403,
        ),
        ("GET /nothing HTTP/1.1\r\nHost: evil.example\r\n", 403),
        (
            "POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n",
            405,
        ),
    ] {
        let answer = exchange(admin.address, &format!("{head}Connection: close\r\n\r\n")).await;
        let line = answer.lines().next().unwrap_or_default();
        assert!(line.contains(&format!(" {status} ")), "{head}: {line}");
        assert_eq!(status == 200, !answer.contains("{\"error\":\""), "{answer}");
    }
}
