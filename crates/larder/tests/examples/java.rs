//! Java on Tomcat, after the article on microcaching: `order by rand()` over 8,000 rows, once a second at most; and
//! posts that are kept for long and purged when they change.

use crate::common::{App, Example, get, hit, made, many, said, same, together};
use testkit::{Larder, Response, wait_until};

fn start(example: &Example, larder: &Larder) -> App {
    let line = "java -jar target/blog.jar 5001";
    let app = example.start(line, &made("java"), larder, &[]);
    // The first requests of a process are slow; that is not what is counted here.
    app.get("/read");
    app.get("/read/1");
    app
}

/// A counter of Larder's metrics.
fn counter(larder: &Larder, name: &str) -> u64 {
    let metrics = larder.admin_get("/metrics").send().text();
    let value = metrics
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value
        .and_then(|value| value.parse().ok())
        .expect("a counter")
}

#[test]
fn a_stale_page_is_sent_at_once_while_one_refresh_runs() {
    let example = Example::new("java");
    let larder = example.larder(&[]);
    let app = start(&example, &larder);

    let page = same(&together(&larder, "/read", 1));
    assert_eq!(page.matches("<h2>").count(), 5, "{page}");
    // The application stands still: whatever is answered from here on, nobody waits for it.
    app.signal("STOP");
    let refreshes = counter(&larder, "larder_refreshes_total");
    wait_until("the page was past its second", || {
        said(&get(&mut larder.client(), "/read")).contains("stale-while-revalidate")
    });
    let stale = together(&larder, "/read", 100);
    assert!(stale.iter().all(hit), "{:?}", stale.iter().map(said).max());
    assert_eq!(same(&stale), page);
    assert_eq!(
        counter(&larder, "larder_refreshes_total") - refreshes,
        1,
        "one refresh for more than a hundred readers"
    );
    app.signal("CONT");
    wait_until("the refresh was stored", || {
        get(&mut larder.client(), "/read").text() != page
    });
}

#[test]
fn a_post_is_read_from_the_table_once_until_it_is_saved() {
    let example = Example::new("java");
    let larder = example.larder(&[]);
    let app = start(&example, &larder);

    let before = app.requests();
    for target in ["/read/7", "/read/8"] {
        let mut answers = together(&larder, target, 50);
        answers.extend(many(&larder, target, 200));
        same(&answers);
    }
    assert_eq!(app.requests() - before, 2, "each post once, of 500");

    let saved = app.post("/read/7", "title=Changed");
    assert_eq!(saved.status, 303, "{}", saved.text());
    let shown: Vec<Response> = ["/read/7", "/read/8"]
        .iter()
        .map(|target| get(&mut larder.client(), target))
        .collect();
    assert!(shown[0].text().contains("<h2>Changed</h2>") && !hit(&shown[0]));
    assert!(hit(&shown[1]), "{}", said(&shown[1]));
}
