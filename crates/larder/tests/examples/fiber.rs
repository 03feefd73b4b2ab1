//! Go with Fiber, after the article on APIs and CDNs: `allowCache(5)`, `no-store` for the rest, and a header that
//! passes by.

use crate::common::{Example, admin, get, hit, made, many, said, same, together};
use testkit::Command;

#[test]
fn what_may_be_five_seconds_old_is_made_once_in_that_time() {
    let example = Example::new("fiber");
    let larder = example.larder(&[]);
    let app = example.start(
        "./fiber -listen 127.0.0.1:5001",
        &made("fiber"),
        &larder,
        &[],
    );

    let plain = together(&larder, "/", 10);
    assert!(plain.iter().all(|answer| said(answer).contains("no-store")));
    assert_eq!(app.requests(), 10, "each of ten");

    let mut answers = together(&larder, "/cache", 100);
    answers.extend(many(&larder, "/cache", 400));
    let fetched = answers
        .iter()
        .filter(|answer| !hit(answer) && !said(answer).contains("collapsed"))
        .count();
    assert_eq!(app.requests(), 10 + fetched);
    // One in five seconds, that is: on a machine so slow that 500 requests took minutes it would still be a few.
    assert!(fetched < 50, "{fetched} of 500");
    for answer in &answers {
        assert_eq!(answer.header("cache-id"), Some("edge-1"));
        assert_eq!(answer.header("cache-control"), Some("public, max-age=5"));
    }

    let before = app.requests();
    for _ in 0..2 {
        let ask = larder.get("/cache").header("Host", "localhost");
        let passed = ask.header("Bypass-Cache", "1").send();
        assert!(said(&passed).contains("bypass"), "{}", said(&passed));
    }
    assert_eq!(app.requests(), before + 2);
}

#[test]
fn a_report_is_kept_until_it_is_purged() {
    let example = Example::new("fiber");
    let larder = example.larder(&[]);
    let app = example.start(
        "./fiber -listen 127.0.0.1:5001",
        &made("fiber"),
        &larder,
        &[],
    );
    let old = same(&together(&larder, "/report", 50));
    let purged = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["purge", "--tag", "report", "--admin"])
        .args([admin(&larder).to_string()])
        .run();
    assert_eq!(purged.code, Some(0), "{}", purged.stderr);
    let new = get(&mut larder.client(), "/report");
    assert!(!hit(&new) && new.text() != old, "{}", said(&new));
    assert_eq!(app.requests(), 2, "two of 51");
}
