//! Several nodes: what another node has shared answers a request that would get an error from this one.

use crate::{
    common::Said,
    nodes::{Site, get},
    nodes_apart::wait_shared,
};
use testkit::Reply;

/// What an application says at first, so that the node that hears it does not ask Redis the next time.
const AT_FIRST: [&str; 4] = ["max-age=0", "no-cache", "private", "no-store"];

fn page_of(first: &str) -> String {
    format!("/{}", first.replace('=', "/"))
}

/// Each page has a lifetime from its second answer on; the third and later ones never come.
fn site() -> Site {
    site_then(Reply::close)
}

/// Like [`site`], but `then` answers from the third request for a page on.
fn site_then(then: fn() -> Reply) -> Site {
    let site = Site::start();
    site.origin.otherwise(move |request| {
        let first = request.target.trim_start_matches('/').replace('/', "=");
        match request.nth {
            1 => Reply::ok().cache(&first).header("ETag", "\"1\"").body("1"),
            2 => Reply::ok().cache("max-age=1000").body("2"),
            _ => then(),
        }
    });
    for (shared, first) in (1..).zip(AT_FIRST) {
        let page = page_of(first);
        assert_eq!(get(&site.nodes[0], &page).text(), "1");
        assert_eq!(get(&site.nodes[1], &page).text(), "2");
        wait_shared(&site.nodes[1], shared);
    }
    site
}

#[test]
fn what_another_node_has_stored_answers_where_the_application_does_not() {
    let site = site();
    for first in AT_FIRST {
        let page = page_of(first);
        let answer = get(&site.nodes[0], &page);
        assert_eq!(answer.status, 200, "{first}: {}", answer.said());
        assert_eq!(answer.text(), "2", "{first}");
        let detail = answer.parameter("detail");
        assert!(
            !answer.hit() && detail.as_deref() == Some("truncated"),
            "{first}: {}",
            answer.said()
        );
        let asked = site.origin.requests(&page);
        assert!(asked > 2, "{first}");
        let again = get(&site.nodes[0], &page);
        assert!(again.hit(), "{first}: {}", again.said());
        assert_eq!(site.origin.requests(&page), asked, "{first}");
    }
}

#[test]
fn what_another_node_has_stored_answers_where_the_application_has_an_error() {
    let site = site_then(|| Reply::status(503).cache("no-store"));
    for first in AT_FIRST {
        let page = page_of(first);
        let answer = get(&site.nodes[0], &page);
        assert_eq!(answer.status, 200, "{first}: {}", answer.said());
        assert_eq!(answer.text(), "2", "{first}");
        assert!(
            answer.said().contains("fwd-status=503"),
            "{first}: {}",
            answer.said()
        );
        assert_eq!(site.origin.requests(&page), 3, "{first}");
    }
}

#[test]
fn what_another_node_has_stored_answers_who_wants_nothing_of_the_application() {
    let site = site();
    for first in AT_FIRST {
        let page = page_of(first);
        let ask = site.nodes[0].get(&page).header("Host", "site.example");
        let answer = ask.header("Cache-Control", "only-if-cached").send();
        assert_eq!(answer.status, 200, "{first}: {}", answer.said());
        assert_eq!(answer.text(), "2", "{first}");
        assert_eq!(site.origin.requests(&page), 2, "{first}");
    }
}
