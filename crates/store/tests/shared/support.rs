//! Nodes of a cluster, and responses for them to share.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use rules::{
    directives,
    freshness::{self, Site},
    time::Time,
    vary,
};
use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use store::{
    Body, Fields, Memory, Stored, Variant,
    purge::{Log, Position, Purge, What},
    shared::{Config, Event, IfNothing, SharedTier, SharedTierLookup, Statistics},
};

use testkit::Gate;

pub const KEY: &[u8] = b"https://shop.example/shoes?page=2";

/// One node: its own log, its own view of the server.
pub struct Node {
    pub shared: Arc<SharedTier>,
    pub log: Arc<Log>,
    events: Arc<Mutex<Vec<Event>>>,
}

/// As patient as a test on a busy machine has to be.
pub fn config(url: &str) -> Config {
    Config {
        url: url.to_owned(),
        timeout: Duration::from_secs(5),
        max_ttl: Duration::from_mins(10),
        largest_body: 8 << 20,
        lease: Duration::from_secs(5),
        prefix: "larder".to_owned(),
        trust: Duration::from_secs(10),
        node: "a".to_owned(),
    }
}

impl Node {
    pub fn new(url: &str) -> Self {
        Self::with(config(url))
    }

    /// One that gives up soon.
    pub fn hasty(url: &str) -> Self {
        Self::with(Config {
            timeout: Duration::from_millis(300),
            ..config(url)
        })
    }

    pub fn with(config: Config) -> Self {
        let log = Arc::new(Log::default());
        log.begin_at(Position(1, 0));
        let memory = Arc::new(Memory::new(64 << 20, Arc::clone(&log)));
        let shared = SharedTier::new(config, memory).expect("an address");
        let events = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&events);
        shared.tell(Box::new(move |event| told.lock().unwrap().push(event)));
        Self {
            shared,
            log,
            events,
        }
    }

    /// A purge of everything that stands at this position in the shared log has come to this node.
    pub fn purged(&self, position: u64) {
        let everything = Purge::hard(What::Everything);
        self.log
            .apply(everything, now(), Some(Position(position, 0)));
    }

    /// Keeps a response, and waits until it is kept.
    pub async fn keep(&self, key: &[u8], stored: Stored) {
        let before = self.count();
        self.shared.keep(key, &Arc::new(stored), None);
        self.until("it was kept", |now| now.stored > before.stored)
            .await;
    }

    /// Offers a response that is not to be kept, and waits until that is clear.
    pub async fn passes_over(&self, key: &[u8], stored: Stored) {
        let before = self.count();
        self.shared.keep(key, &Arc::new(stored), None);
        self.until("it was passed over", |now| {
            now.passed_over > before.passed_over
        })
        .await;
        assert_eq!(self.count().stored, before.stored);
    }

    pub async fn until(&self, what: &str, done: impl Fn(&Statistics) -> bool) {
        let waited = async {
            while !done(&self.count()) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let waited = tokio::time::timeout(testkit::BOUND, waited).await;
        assert!(waited.is_ok(), "never happened: {what}; {:?}", self.count());
    }

    /// The bodies that are found.
    pub async fn bodies(&self, key: &[u8]) -> Vec<Vec<u8>> {
        let found = self.find(key).await;
        found.iter().map(|stored| bytes(&stored.body)).collect()
    }

    pub async fn find(&self, key: &[u8]) -> Vec<Arc<Stored>> {
        self.find_for(key, &HeaderMap::new()).await
    }

    /// What is found for a request with these fields.
    pub async fn find_for(&self, key: &[u8], request: &HeaderMap) -> Vec<Arc<Stored>> {
        let mut question = self.shared.question(key, request);
        match self.shared.find(&mut question, IfNothing::Leave).await {
            SharedTierLookup::Here(found) => found,
            SharedTierLookup::Nothing => Vec::new(),
            SharedTierLookup::Lead(_) => panic!("nobody asked for a lease"),
        }
    }

    /// Asks for [`KEY`], or for the lease.
    pub async fn lead(&self) -> SharedTierLookup {
        let request = HeaderMap::new();
        let mut question = self.shared.question(KEY, &request);
        self.shared.find(&mut question, IfNothing::TakeLease).await
    }

    /// Asks for something newer under [`KEY`], or for the lease.
    pub async fn renew(&self, than: Time) -> SharedTierLookup {
        let request = HeaderMap::new();
        let mut question = self.shared.question(KEY, &request);
        self.shared.renew(&mut question, than).await
    }

    pub fn count(&self) -> Statistics {
        self.shared.statistics()
    }

    pub fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }
}

/// The bytes of a body that is whole.
pub fn bytes(body: &Body) -> Vec<u8> {
    match body {
        Body::Whole(bytes) => bytes.to_vec(),
        Body::Chunks(chunks) => chunks.concat(),
        other => panic!("{other:?}"),
    }
}

pub fn now() -> Time {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock");
    Time::from_millis(since.as_millis() as u64)
}

/// Something between us and a server that stops in the middle of one answer.
pub struct Stall {
    pub url: String,
    armed: Arc<AtomicBool>,
    pub gate: Gate,
}

impl Stall {
    /// Passes everything on to the server at `address`, until it is armed.
    pub fn before(address: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("redis://{}", listener.local_addr().expect("an address"));
        let (armed, gate) = (Arc::new(AtomicBool::new(false)), Gate::new());
        let (arm, stop) = (Arc::clone(&armed), gate.clone());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(&address).expect("a server");
                let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || std::io::copy(&mut from, &mut to));
                let (arm, stop) = (Arc::clone(&arm), stop.clone());
                thread::spawn(move || answers(server, client, &arm, &stop));
            }
        });
        Self { url, armed, gate }
    }

    /// Half of the next answer is passed on, the rest when the gate is open.
    pub fn arm(&self) {
        self.armed.store(true, Ordering::SeqCst);
    }
}

fn answers(mut server: TcpStream, mut client: TcpStream, armed: &AtomicBool, gate: &Gate) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count) = server.read(&mut buffer) {
        let bytes = &buffer[..count];
        let half = if armed.swap(false, Ordering::SeqCst) {
            count / 2
        } else {
            count
        };
        if count == 0 || client.write_all(&bytes[..half]).is_err() {
            break;
        }
        if half < count {
            gate.pass();
            if client.write_all(&bytes[half..]).is_err() {
                break;
            }
        }
    }
    let _ = client.shutdown(std::net::Shutdown::Both);
}

/// A request in this language.
pub fn in_language(language: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(header::ACCEPT_LANGUAGE, HeaderValue::from_static(language))])
}

/// A response being put together.
pub struct Page {
    pub fields: HeaderMap,
    pub body: Body,
    pub began: u64,
    pub variant: Option<Box<Variant>>,
    /// When it was received.
    pub received: Time,
    pub status: StatusCode,
}

/// A page that is fresh for a minute, fetched at the end of `node`'s log.
pub fn page(node: &Node, body: impl Into<Bytes>) -> Page {
    let page = Page {
        fields: HeaderMap::new(),
        body: Body::Whole(body.into()),
        began: node.log.head(),
        variant: None,
        received: now(),
        status: StatusCode::OK,
    };
    page.with(header::CONTENT_TYPE, "text/html")
        .with(header::CACHE_CONTROL, "max-age=60")
}

impl Page {
    pub fn with(mut self, name: HeaderName, value: &str) -> Self {
        let value = HeaderValue::from_str(value).expect("a value");
        self.fields.insert(name, value);
        self
    }

    pub fn for_language(mut self, language: &'static str) -> Self {
        let request = in_language(language);
        let nominated = [header::ACCEPT_LANGUAGE];
        let mut key = Vec::new();
        vary::variant_key(&nominated, &request, &mut key);
        self.variant = Some(Box::new(Variant {
            nominated: nominated.into(),
            key: key.into(),
        }));
        self
    }

    /// An origin's failure.
    pub fn failing(mut self) -> Self {
        self.status = StatusCode::SERVICE_UNAVAILABLE;
        self
    }

    /// Received so long ago: its body took until now.
    pub fn ago(mut self, ago: Duration) -> Self {
        self.received = Time::from_millis(now().as_millis() - ago.as_millis() as u64);
        self
    }

    /// Received by a clock that is ahead by so much.
    pub fn ahead(mut self, by: Duration) -> Self {
        self.received = now().plus(by);
        self
    }

    pub fn done(self) -> Stored {
        let said = directives::response(&self.fields, &[]);
        let site = Site::default();
        let facts = freshness::facts(
            self.status,
            &self.fields,
            &said,
            &site,
            self.received,
            self.received,
        );
        let fields = Fields::pack(&self.fields);
        Stored::new(
            self.began,
            self.status,
            fields,
            facts,
            self.variant,
            None,
            self.body,
        )
    }
}
