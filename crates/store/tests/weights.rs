//! What the tier says it takes of memory, and what its process takes.

#![expect(clippy::expect_used, reason = "a panic is how a test fails")]

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rules::{
    directives,
    freshness::{self, Facts},
    time::Time,
};
use std::{env, fs, process::Command, sync::Arc};
use store::{Body, Fields, Memory, Stored, arena};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const BUDGET: u64 = 192 << 20;

/// What comes in pages of 2 MiB, and tables that are as large as they will be.
const SLACK: u64 = 8 << 20;

/// What is given back goes back to the system at once, where it would be kept at hand for some seconds.
const AT_ONCE: (&str, &str) = ("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0");

/// Tells the process that fills a tier how long its bodies are.
const BODY: &str = "LARDER_TEST_BODY";

/// Each size fills a tier in a process of its own: what was given back to the allocator would be memory that another
/// takes for nothing.
#[test]
fn a_full_tier_takes_what_it_says() {
    if let Ok(body) = env::var(BODY) {
        return fill(body.parse().expect("a number"));
    }
    let own = env::current_exe().expect("a test");
    for body in [
        0, 200, 1024, 1036, 1500, 3700, 3900, 8000, 15_000, 20_000, 30_000, 33_000, 100_000,
        900_000,
    ] {
        let run = Command::new(&own)
            .args(["--exact", "a_full_tier_takes_what_it_says", "--nocapture"])
            .env(BODY, body.to_string())
            .env(AT_ONCE.0, AT_ONCE.1)
            .output()
            .expect("runs");
        assert!(
            run.status.success(),
            "bodies of {body}: {}",
            String::from_utf8_lossy(&run.stderr)
        );
    }
}

/// Fills a tier, and goes on for as long again.
fn fill(body: usize) {
    arena::open(BUDGET).expect("a file in memory");
    let memory = Memory::new(BUDGET, Arc::default());
    let (fields, facts) = head();
    let before = resident();
    let mut number = 0_u64;
    let mut put = || {
        let content = Bytes::from(vec![b'x'; body]);
        let body = Body::kept(vec![content], body);
        let stored = Stored::new(0, StatusCode::OK, fields.clone(), facts, None, None, body);
        // As once it has been sent.
        drop((stored.fields.clone(), stored.body.clone()));
        let key = format!("http://www.example.com/k/{number:07}");
        let kept = memory.insert(key.as_bytes(), memory.begin(), Arc::new(stored), 8);
        kept.expect("nothing was purged");
        number += 1;
    };
    while memory.statistics().evictions == 0 {
        put();
    }
    for _ in 0..memory.statistics().keys {
        put();
    }
    let (taken, told) = (resident() - before, memory.statistics().stored);
    let both = format!("{taken} bytes are taken, {told} were told");
    assert!(taken <= told + told / 50 + SLACK, "{both}");
    assert!(told <= taken + taken / 10 + SLACK, "{both}");
}

/// A head as servers send it.
fn head() -> (Fields, Facts) {
    let mut fields = HeaderMap::new();
    for (name, value) in [
        (header::DATE, "Thu, 01 Jan 2026 00:00:00 GMT"),
        (header::SERVER, "nginx/1.22.1"),
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "public, max-age=86400"),
        (header::LAST_MODIFIED, "Thu, 01 Jan 2026 00:00:00 GMT"),
        (header::ETAG, "\"5f3a-61d2f0c8a7b40\""),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'self'; img-src *; frame-ancestors 'none'; base-uri 'self'; form-action 'self'",
        ),
    ] {
        fields.insert(name, HeaderValue::from_static(value));
    }
    let said = directives::response(&fields, &[]);
    let (site, at) = (freshness::Site::default(), Time::from_secs(1_767_225_600));
    let facts = freshness::facts(StatusCode::OK, &fields, &said, &site, at, at);
    (Fields::pack(&fields), facts)
}

/// Bytes of memory the process has.
fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    let pages: u64 = pages.expect("the second figure");
    pages * 4096
}
