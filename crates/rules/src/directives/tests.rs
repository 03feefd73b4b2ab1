use super::*;
use http::HeaderValue;

mod lists;
mod surrogate_control;
mod targets;

const CDN: HeaderName = HeaderName::from_static("cdn-cache-control");
fn fields(lines: &[(HeaderName, &str)]) -> HeaderMap {
    lines
        .iter()
        .map(|(name, line)| (name.clone(), HeaderValue::from_str(line).unwrap()))
        .collect()
}

fn of(line: &str) -> ResponseDirectives {
    of_lines(&[line])
}

fn of_lines(lines: &[&str]) -> ResponseDirectives {
    let lines: Vec<_> = lines.iter().map(|line| (CACHE_CONTROL, *line)).collect();
    let (directives, source) = response(&fields(&lines), &[CDN]);
    assert_eq!(source, DirectiveSource::CacheControl);
    directives
}

fn asked(line: &str) -> RequestDirectives {
    request(&fields(&[(CACHE_CONTROL, line)]))
}

fn max_age(seconds: u32) -> ResponseDirectives {
    ResponseDirectives {
        max_age: Some(seconds),
        ..Default::default()
    }
}

fn names(list: &[&'static str]) -> Qualified {
    Qualified::Fields(header_names(list))
}

/// All of the response, and these fields by name.
fn whole_and(list: &[&'static str]) -> Qualified {
    Qualified::Whole(header_names(list))
}

fn header_names(list: &[&'static str]) -> Vec<HeaderName> {
    let names = list.iter().copied();
    names.map(HeaderName::from_static).collect()
}

#[test]
fn every_response_directive() {
    let all = of(
        "no-store, no-cache, private, public, must-revalidate, proxy-revalidate, must-understand, immutable, \
                  no-transform, max-age=1, s-maxage=2, stale-while-revalidate=3, stale-if-error=4",
    );
    let expected = ResponseDirectives {
        no_store: true,
        no_cache: Qualified::Whole(Vec::new()),
        private: Qualified::Whole(Vec::new()),
        public: true,
        must_revalidate: true,
        proxy_revalidate: true,
        must_understand: true,
        immutable: true,
        no_transform: true,
        max_age: Some(1),
        s_maxage: Some(2),
        stale_while_revalidate: Some(3),
        stale_if_error: Some(4),
    };
    assert_eq!(all, expected);
}

#[test]
fn request_directives() {
    let all = asked(
        "no-cache, no-store, no-transform, only-if-cached, max-age=1, min-fresh=2, max-stale=3, stale-if-error=4",
    );
    let expected = RequestDirectives {
        no_cache: true,
        no_store: true,
        no_transform: true,
        only_if_cached: true,
        max_age: Some(1),
        min_fresh: Some(2),
        max_stale: Some(3),
        stale_if_error: Some(4),
    };
    assert_eq!(all, expected);
    assert_eq!(asked("max-stale").max_stale, Some(u32::MAX));
    assert_eq!(asked("max-stale, max-stale=5").max_stale, Some(5));
    assert_eq!(asked("max-stale=x").max_stale, None);
    assert_eq!(asked("max-stale=").max_stale, None);
    assert_eq!(asked("max-age=x").max_age, Some(0));
    assert_eq!(asked("max-age=9, max-age=3").max_age, Some(3));
    assert_eq!(asked("min-fresh").min_fresh, Some(MOST_SECONDS));
    assert_eq!(asked("min-fresh=9, min-fresh=3").min_fresh, Some(9));
    assert_eq!(asked("stale-if-error=-1").stale_if_error, None);
}

#[test]
fn pragma_counts_only_without_cache_control() {
    let no_cache = |lines: &[(HeaderName, &str)]| request(&fields(lines)).no_cache;
    assert!(no_cache(&[(PRAGMA, "no-cache")]));
    assert!(no_cache(&[(PRAGMA, "foo, No-Cache")]));
    assert!(no_cache(&[(PRAGMA, "foo"), (PRAGMA, "no-cache")]));
    assert!(!no_cache(&[(PRAGMA, "no-cached")]));
    assert!(!no_cache(&[(PRAGMA, "foo=\"no-cache\"")]));
    assert!(!no_cache(&[
        (PRAGMA, "no-cache"),
        (CACHE_CONTROL, "max-age=5")
    ]));
    assert!(!no_cache(&[(PRAGMA, "no-cache"), (CACHE_CONTROL, "")]));
    assert!(!no_cache(&[]));
    // Section 5.4: in responses its meaning was never specified.
    let (directives, _) = response(&fields(&[(PRAGMA, "no-cache")]), &[]);
    assert_eq!(directives, ResponseDirectives::default());
}
