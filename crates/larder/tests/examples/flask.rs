//! Flask with Flask-Caching: what Larder keeps does not reach Python, and a change goes through Redis and Larder.

use crate::common::{App, Example, get, hit, many, said, same, together};
use testkit::{Redis, Response};

const START: &str = "flask --app app run --port 5001";

/// Requests that reached Flask, and answers that it computed.
fn counts(app: &App) -> (u64, u64) {
    let counts: serde_json::Value = serde_json::from_str(&app.get("/counts")).expect("JSON");
    let of = |name: &str| counts[name].as_u64().expect("a number");
    (of("requests"), of("answers"))
}

#[test]
fn flask_is_asked_once_and_a_change_shows_at_once() {
    let redis = Redis::start();
    let example = Example::new("flask");
    let larder = example.larder(&[]);
    let app = example.start(
        START,
        &example.folder(),
        &larder,
        &[("REDIS_URL", &redis.url())],
    );

    // Without Larder each request is Python's, though Redis has the answer.
    for _ in 0..20 {
        app.get("/articles/3");
    }
    assert_eq!(counts(&app), (20, 1));

    let mut answers = together(&larder, "/articles", 20);
    answers.extend(many(&larder, "/articles", 200));
    assert!(same(&answers).contains("Bread"));
    assert!(answers.iter().skip(20).all(hit));
    assert_eq!(counts(&app), (21, 2), "one of 220");
    // Another instance of Larder would ask Flask, and Flask finds it in Redis.
    assert!(
        redis
            .keys()
            .contains(&"flask_cache_view//articles".to_owned()),
        "{:?}",
        redis.keys()
    );

    for target in ["/articles/1", "/articles/2"] {
        many(&larder, target, 2);
    }
    let saved = larder
        .ask("PUT", "/articles/1")
        .header("Host", "localhost")
        .header("Content-Type", "application/json")
        .body("{\"title\": \"Rye\"}")
        .send();
    assert_eq!(saved.status, 204, "{}", saved.text());
    let shown: Vec<Response> = ["/articles", "/articles/1", "/articles/2"]
        .iter()
        .map(|target| get(&mut larder.client(), target))
        .collect();
    assert!(shown[0].text().contains("Rye") && shown[1].text().contains("Rye"));
    let hits: Vec<bool> = shown.iter().map(hit).collect();
    assert_eq!(hits, [false, false, true], "{:?}", shown.iter().map(said));
}

#[test]
fn pages_in_redis_are_answered_without_flask() {
    let redis = Redis::start();
    let example = Example::new("flask");
    let larder = example.larder_with("page-store.toml", &[("127.0.0.1:6379", &redis.address())]);
    let app = example.start(
        START,
        &example.folder(),
        &larder,
        &[("REDIS_URL", &redis.url())],
    );
    let page = app.get("/");
    assert_eq!(counts(&app), (1, 1));
    let articles = get(&mut larder.client(), "/articles");
    assert_eq!(articles.status, 200, "what is no text is Flask's");
    assert_eq!(counts(&app), (2, 2));
    drop(app);
    let answer = get(&mut larder.client(), "/");
    assert_eq!(
        (answer.status, answer.text()),
        (200, page),
        "{}",
        said(&answer)
    );
}
