//! How long a request waits for a server that answers slowly.

use super::{
    remote::{Asked, Limits, Read, Remote},
    *,
};
use crate::purge::Position;
use bytes::Bytes;
use tokio::time::{Instant, sleep};

/// An empty server that takes so long for each answer.
#[derive(Debug)]
struct Slow(Duration);

impl Slow {
    fn answer<T: Send + 'static>(&self, answer: T) -> Asked<'_, T> {
        Box::pin(async move {
            sleep(self.0).await;
            Ok(answer)
        })
    }
}

impl Remote for Slow {
    fn limits(&self) -> Limits {
        Limits {
            key: 250,
            value: 1 << 20,
        }
    }

    fn get<'a>(&'a self, _: &'a str, _: Read) -> Asked<'a, Option<Bytes>> {
        self.answer(None)
    }

    fn get_many<'a>(&'a self, keys: &'a [String], _: Read) -> Asked<'a, Vec<Option<Bytes>>> {
        self.answer(vec![None; keys.len()])
    }

    fn set<'a>(&'a self, _: &'a str, _: &'a [u8], _: Duration) -> Asked<'a, ()> {
        self.answer(())
    }

    fn add<'a>(&'a self, _: &'a str, _: &'a [u8], _: Duration) -> Asked<'a, bool> {
        self.answer(true)
    }

    fn delete_if<'a>(&'a self, _: &'a str, _: &'a [u8]) -> Asked<'a, bool> {
        self.answer(true)
    }

    fn hang_up(&self) {}
}

#[tokio::test(start_paused = true)]
async fn all_questions_of_a_request_share_one_limit() {
    let limit = Duration::from_millis(50);
    for (each, leads) in [(1, true), (16, true), (20, false), (45, false), (60, false)] {
        let config = Config {
            url: String::new(),
            timeout: limit,
            max_ttl: Duration::from_hours(1),
            largest_body: 1 << 20,
            lease: Duration::from_secs(5),
            prefix: "larder".to_owned(),
            trust: Duration::from_secs(10),
            node: "a".to_owned(),
        };
        let log = Arc::new(Log::default());
        log.begin_at(Position(1, 0));
        let slow = Slow(Duration::from_millis(each));
        let shared = Shared::over(config, log, Box::new(slow));
        for step in ["find", "renew"] {
            let begun = Instant::now();
            let found = match step {
                "find" => shared.find(b"http://a.example/", true).await,
                _ => shared.renew(b"http://a.example/", Time::default()).await,
            };
            let waited = begun.elapsed();
            assert!(waited <= limit, "{step}, {each} ms each: {waited:?}");
            let led = matches!(found, Found::Lead(_));
            assert!(led || !leads, "{step}, {each} ms each: {found:?}");
        }
    }
}
