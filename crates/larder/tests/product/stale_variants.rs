//! Stale answers where a page has variants: each request gets its own, whatever another one has got.

use crate::common::{Said, start_with};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use testkit::{Larder, Origin, Reply, Response, wait_until};

/// Pages that differ in `X-V`, stale from the beginning, with this window; once they fail, errors of this lifetime
/// without `Vary`.
fn varying(
    config: &str,
    page: &'static str,
    error: &'static [(&str, &str)],
) -> (Origin, Larder, Arc<AtomicBool>) {
    let (origin, larder) = start_with(&format!("[[origin]]\nservers = \"{{origin}}\"\n{config}"));
    let fails = Arc::new(AtomicBool::new(false));
    let failing = Arc::clone(&fails);
    origin.otherwise(move |request| {
        if failing.load(Relaxed) {
            let fields = error.iter();
            return fields.fold(Reply::status(503).body("error"), |reply, (name, value)| {
                reply.header(name, value)
            });
        }
        let version = request.header("x-v").unwrap_or("none");
        Reply::ok()
            .cache(page)
            .header("Age", "70")
            .header("Vary", "X-V")
            .header("ETag", format!("\"{version}\""))
            .body(version)
    });
    (origin, larder, fails)
}

fn ask(larder: &Larder, version: &str) -> Response {
    larder.get("/").header("X-V", version).send()
}

/// RFC 9111 section 4.1, RFC 5861: a page of errors leaves out the `Vary` of what it stands for, and is for nobody who
/// has a page.
#[test]
fn an_error_without_vary_hides_no_variant_that_may_be_sent() {
    const IF_ERROR: &str = "max-age=60, stale-if-error=600";
    const WHILE: &str = "max-age=60, stale-while-revalidate=600, stale-if-error=600";
    for (config, page, error) in [
        ("", IF_ERROR, &[("Cache-Control", "max-age=60")][..]),
        ("", WHILE, &[("Cache-Control", "max-age=60")]),
        // One that has expired meanwhile.
        (
            "",
            IF_ERROR,
            &[("Cache-Control", "max-age=60"), ("Age", "70")],
        ),
        (
            "[defaults]\nttl = { \"5xx\" = \"1m\" }\nstale.if_error = \"10m\"\n",
            "max-age=60",
            &[],
        ),
        (
            "[defaults]\nttl = { any = \"1m\" }\nstale.if_error = \"10m\"\n",
            "max-age=60",
            &[],
        ),
    ] {
        let (_origin, larder, fails) = varying(config, page, error);
        for version in ["1", "2"] {
            assert_eq!(ask(&larder, version).text(), version);
        }
        fails.store(true, Relaxed);
        let first = ask(&larder, "3");
        assert_eq!(first.status, 503, "{config}{page}");
        for _ in 0..2 {
            for version in ["1", "2"] {
                let answer = ask(&larder, version);
                let told = (answer.status, answer.text());
                assert_eq!(told, (200, version.to_owned()), "{}", answer.said());
            }
        }
        if error.len() < 2 {
            let again = ask(&larder, "3");
            assert!(again.hit(), "{config}{page}: {}", again.said());
        }
    }
}

/// The refresh of one variant brings an error: that is its own.
#[test]
fn an_error_that_a_refresh_brings_is_its_variants() {
    let page = "max-age=60, stale-while-revalidate=600";
    let (origin, larder, fails) = varying("", page, &[("Cache-Control", "max-age=60")]);
    for version in ["1", "2"] {
        ask(&larder, version);
    }
    fails.store(true, Relaxed);
    assert_eq!(ask(&larder, "1").text(), "1");
    wait_until("the refresh has failed", || {
        origin.all().len() >= 3 && ask(&larder, "1").status == 503
    });
    assert_eq!(ask(&larder, "2").text(), "2");
}

/// RFC 9110 section 9.3.2: `HEAD` is told what `GET` would be, and the refresh that it begins is of its own variant.
#[test]
fn a_head_gets_its_own_variant_and_refreshes_it() {
    let page = "max-age=60, stale-while-revalidate=600";
    let (origin, larder, _fails) = varying("", page, &[]);
    for version in ["1", "2"] {
        ask(&larder, version);
    }
    let head = |tag: &str| {
        let ask = larder.ask("HEAD", "/").header("X-V", "1");
        ask.header("If-None-Match", tag).send()
    };
    let other = head("\"2\"");
    assert_eq!((other.status, other.hit()), (200, true), "{}", other.said());
    assert_eq!(other.header("etag"), Some("\"1\""));
    let same = head("\"1\"");
    assert_eq!((same.status, same.hit()), (304, true), "{}", same.said());
    wait_until("it is refreshed", || origin.all().len() > 2);
    let refresh = origin.all().pop().expect("a request");
    assert_eq!(refresh.method, "GET");
    assert_eq!(refresh.header("x-v"), Some("1"));
}
