//! Sites without an end come to one, with a message.

use crate::common::{Site, page};
use testkit::Reply;

#[test]
fn loops_end() {
    let site = Site::new(&[
        ("/", &["/a", "/1"]),
        ("/a", &["/b"]),
        ("/b", &["/a", "/", "b", "./b?"]),
    ]);
    // Redirects that lead round.
    site.origin
        .reply("/1", Reply::status(302).header("Location", "/2"));
    site.origin
        .reply("/2", Reply::status(302).header("Location", "/1"));
    assert_eq!(
        site.published(&[]),
        "3 new, 0 changed, 0 unchanged, 2 redirected\n"
    );
    assert_eq!(site.origin.all().len(), 5);
}

/// Each month links to the next.
fn calendar(site: &Site) {
    site.origin.otherwise(|request| {
        let month = request
            .target
            .rsplit('=')
            .next()
            .and_then(|number| number.parse::<u32>().ok());
        page(&[&format!("/calendar?month={}", month.unwrap_or(0) + 1)])
    });
}

#[test]
fn an_endless_calendar_ends_by_its_depth() {
    let site = Site::new(&[("/", &["/calendar?month=1", "/a"]), ("/a", &[])]);
    calendar(&site);
    let done = site.publish(&["--depth", "5", "--prune"]);
    assert_eq!(done.code, Some(1), "not everything was seen");
    assert_eq!(done.stdout, "7 new, 0 changed, 0 unchanged\n");
    let told = "1 pages, such as /calendar?month=6, are more than 5 links away and were not fetched; raise --depth, or leave out \
                with --exclude what has no end";
    assert!(done.stderr.contains(told), "{}", done.stderr);
    let told = site.published(&["--exclude", "/calendar"]);
    assert_eq!(
        told,
        "0 new, 0 changed, 2 unchanged, 5 kept though not found any more\n"
    );
}

#[test]
fn an_endless_calendar_ends_by_its_number() {
    let site = Site::new(&[("/", &["/calendar?month=1"])]);
    calendar(&site);
    let done = site.publish(&["--pages", "4"]);
    assert_eq!(done.code, Some(1));
    assert_eq!(site.origin.all().len(), 4);
    assert!(
        done.stderr
            .contains("stopped at 4 pages: /calendar?month=4 and others"),
        "{}",
        done.stderr
    );
}

#[test]
fn links_that_grow_end() {
    let site = Site::new(&[]);
    site.origin
        .otherwise(|request| page(&[&format!("{}x{}", request.path(), "y".repeat(1000))]));
    let done = site.publish(&[]);
    assert_eq!(done.code, Some(1));
    assert_eq!(site.origin.all().len(), 5);
    assert!(
        done.stderr.contains("1 links are longer than 4096 bytes"),
        "{}",
        done.stderr
    );
}
