//! What lies under a name on the server of a shared tier, and the chunks it names.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use std::{
    future::ready,
    sync::{Arc, LazyLock},
    time::Duration,
};
use store::{
    Body,
    purge::{Log, Position},
    shared::{
        Config, Found, Shared,
        remote::{Asked, Limits, Read, Remote},
    },
};
use tokio::runtime::{Builder, Runtime};

/// A server that has the input under each name, with a checksum as if somebody meant it.
#[derive(Debug)]
struct Server(Bytes);

impl Remote for Server {
    fn limits(&self) -> Limits {
        let (key, value) = (250, 1 << 20);
        Limits { key, value }
    }

    fn get<'a>(&'a self, _: &'a str, _: Read) -> Asked<'a, Option<Bytes>> {
        Box::pin(ready(Ok(Some(self.0.clone()))))
    }

    fn get_many<'a>(&'a self, keys: &'a [String], _: Read) -> Asked<'a, Vec<Option<Bytes>>> {
        Box::pin(ready(Ok(vec![Some(self.0.clone()); keys.len()])))
    }

    fn set<'a>(&'a self, _: &'a str, _: &'a [u8], _: Duration) -> Asked<'a, ()> {
        Box::pin(ready(Ok(())))
    }

    fn add<'a>(&'a self, _: &'a str, _: &'a [u8], _: Duration) -> Asked<'a, bool> {
        Box::pin(ready(Ok(true)))
    }

    fn delete_if<'a>(&'a self, _: &'a str, _: &'a [u8]) -> Asked<'a, bool> {
        Box::pin(ready(Ok(true)))
    }

    fn hang_up(&self) {}
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = Builder::new_current_thread();
    builder.enable_time().build().expect("a runtime")
});

fuzz_target!(|data: &[u8]| {
    let sum = xxhash_rust::xxh3::xxh3_64(data).to_le_bytes();
    let value = Bytes::from([&sum[..], data].concat());
    let log = Arc::new(Log::default());
    log.begin_at(Position(0, 0));
    let config = Config {
        url: String::new(),
        timeout: Duration::from_secs(5),
        max_ttl: Duration::from_secs(5),
        largest_body: 1 << 20,
        lease: Duration::from_secs(5),
        prefix: "larder".to_owned(),
        trust: Duration::from_secs(5),
        node: "a".to_owned(),
    };
    let shared = Shared::over(config, log, Box::new(Server(value)));
    let found = RUNTIME.block_on(shared.find(b"http://a.example/", false));
    if let Found::Here(found) = found {
        assert!(!found.is_empty());
        for stored in found {
            assert!(!matches!(stored.body, Body::Filling(_) | Body::Disk(_)));
            let _ = stored.fields.unpack(0);
        }
    }
});
