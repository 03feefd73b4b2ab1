//! What lies under a name on the server of a shared tier: a record, an empty line, and what each of its chunks holds and
//! the lease of who fetches it.
#![no_main]

use bytes::Bytes;
use http::HeaderMap;
use libfuzzer_sys::fuzz_target;
use std::{
    future::ready,
    sync::{Arc, LazyLock},
    time::Duration,
};
use store::{
    Body, Memory,
    purge::{Log, Position},
    shared::{
        Config, IfNothing, SharedTier, SharedTierLookup,
        remote::{Limits, Read, Remote, RemoteFuture},
    },
};
use tokio::runtime::{Builder, Runtime};

/// A server that has this record, and this under the name of each chunk, with checksums as if somebody meant it, and as
/// the lease that another node holds.
#[derive(Debug)]
struct Server {
    record: Bytes,
    chunk: Vec<u8>,
}

impl Server {
    fn of(data: &[u8]) -> Self {
        let (record, chunk) = larder_fuzz::halves(data);
        let record = sealed(record, 0);
        let chunk = chunk.to_vec();
        Self { record, chunk }
    }

    /// What is under this name: the lease, a chunk or the record.
    fn at(&self, name: &str) -> Option<Bytes> {
        match name.rsplit_once('#') {
            Some((_, "lease")) => Some(Bytes::copy_from_slice(&self.chunk)),
            Some(_) => self.chunk(name),
            None => Some(self.record.clone()),
        }
    }

    /// A chunk's checksum depends on the set and the place in it, which its name ends with: `#0000000000000007.1`.
    fn chunk(&self, name: &str) -> Option<Bytes> {
        let (_, place) = name.rsplit_once('#')?;
        let (set, index) = place.split_once('.')?;
        let set = u64::from_str_radix(set, 16).ok()?;
        let index: u64 = index.parse().ok()?;
        Some(sealed(&self.chunk, set ^ index.rotate_left(32)))
    }
}

fn sealed(bytes: &[u8], seed: u64) -> Bytes {
    let sum = xxhash_rust::xxh3::xxh3_64_with_seed(bytes, seed);
    Bytes::from([&sum.to_le_bytes()[..], bytes].concat())
}

impl Remote for Server {
    fn limits(&self) -> Limits {
        let (key, value) = (250, 1 << 20);
        Limits { key, value }
    }

    fn get<'a>(&'a self, _: &'a str, _: Read) -> RemoteFuture<'a, Option<Bytes>> {
        Box::pin(ready(Ok(Some(self.record.clone()))))
    }

    fn get_many<'a>(&'a self, keys: &'a [String], _: Read) -> RemoteFuture<'a, Vec<Option<Bytes>>> {
        let values = keys.iter().map(|key| self.at(key)).collect();
        Box::pin(ready(Ok(values)))
    }

    fn set<'a>(&'a self, _: &'a str, _: &'a [u8], _: Duration) -> RemoteFuture<'a, ()> {
        Box::pin(ready(Ok(())))
    }

    fn add<'a>(&'a self, _: &'a str, _: &'a [u8], _: Duration) -> RemoteFuture<'a, bool> {
        Box::pin(ready(Ok(false)))
    }

    fn replace_if<'a>(
        &'a self,
        _: &'a str,
        _: &'a [u8],
        _: &'a [u8],
        _: Duration,
    ) -> RemoteFuture<'a, bool> {
        Box::pin(ready(Ok(true)))
    }

    fn expire<'a>(&'a self, _: &'a [String], _: Duration) -> RemoteFuture<'a, bool> {
        Box::pin(ready(Ok(true)))
    }

    fn delete_if<'a>(&'a self, _: &'a str, _: &'a [u8]) -> RemoteFuture<'a, bool> {
        Box::pin(ready(Ok(true)))
    }

    fn hang_up(&self) {}
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = Builder::new_current_thread();
    // Whoever waits for a lease waits in a time of its own.
    builder
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime")
});

fuzz_target!(|data: &[u8]| {
    let log = Arc::new(Log::default());
    log.begin_at(Position(0, 0));
    let config = Config {
        url: String::new(),
        timeout: Duration::from_secs(5),
        max_ttl: Duration::from_secs(5),
        largest_body: 1 << 20,
        lease: Duration::from_millis(50),
        prefix: "larder".to_owned(),
        trust: Duration::from_secs(5),
        node: "a".to_owned(),
    };
    let memory = Arc::new(Memory::new(64 << 20, log));
    let shared = SharedTier::over(config, memory, Box::new(Server::of(data)));
    let request = HeaderMap::new();
    let mut question = shared.question(b"https://a.example/", &request);
    let found = RUNTIME.block_on(shared.find(&mut question, IfNothing::TakeLease));
    if let SharedTierLookup::Here(found) = found {
        assert!(!found.is_empty());
        for stored in found {
            assert!(!matches!(stored.body, Body::Filling(_) | Body::Disk(_)));
            let _ = stored.fields.unpack(0);
        }
    }
});
