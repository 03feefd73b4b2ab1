//! The folder served by Larder gives what the application gave.

use crate::{
    common::{BINARY, Site, html, tcp},
    nginx::PAGES,
};
use std::collections::BTreeMap;
use testkit::{Command, Larder, Reply};

fn typed(kind: &str, text: &str) -> Reply {
    Reply::ok().header("Content-Type", kind).body(text)
}

/// What an answer is.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    status: u16,
    body: String,
    kind: Option<String>,
    location: Option<String>,
}

fn seen(answer: &testkit::Response) -> Seen {
    let field = |name| answer.header(name).map(str::to_owned);
    let redirects = (300..400).contains(&answer.status);
    Seen {
        status: answer.status,
        // What a redirect says beside its target is the server's own.
        body: if redirects {
            String::new()
        } else {
            answer.text()
        },
        kind: field("content-type").filter(|_| !redirects),
        location: field("location"),
    }
}

fn serve(site: &Site) -> Larder {
    let config = format!("[[origin]]\nstatic = \"{}\"\n", site.folder.display());
    Command::serve(BINARY).config(&config).start()
}

#[test]
fn larder_serves_what_the_application_answered() {
    let site = Site::new(&[("/", &PAGES)]);
    site.origin
        .otherwise(|request| html(&format!("page {}", request.target)));
    site.origin.reply("/?page=2", html("page /?page=2"));
    site.origin.reply(
        "/feed/",
        typed("application/rss+xml; charset=utf-8", "<rss/>"),
    );
    site.origin
        .reply("/data.css", typed("application/json", "{}"));
    site.origin
        .reply("/old", Reply::status(301).header("Location", "/news"));
    site.origin.reply(
        "/away",
        Reply::status(302).header("Location", "https://other.example/x"),
    );
    let tagged = html("tagged").header("Surrogate-Key", "p-1 home");
    site.origin.reply("/tagged", tagged);
    let more = [
        "/",
        "/feed/",
        "/data.css",
        "/old",
        "/away",
        "/tagged",
        "/a%2Fb",
    ];
    site.published(&more);
    let targets: Vec<_> = site.manifest().into_keys().collect();
    assert_eq!(targets.len(), PAGES.len() + more.len(), "{targets:?}");
    // The application's own words, and then Larder's from the folder.
    let mut application = testkit::Client::connect(site.origin.address());
    let asked: BTreeMap<_, _> = targets
        .iter()
        .map(|target| (target, seen(&application.get(target).send())))
        .collect();
    let larder = serve(&site);
    for (target, expected) in &asked {
        assert_eq!(seen(&larder.get(target).send()), *expected, "{target}");
    }
    for hidden in ["/.larder-publish.json", "/.larder-publish/lock", "/none"] {
        assert_eq!(larder.get(hidden).send().status, 404, "{hidden}");
    }
    // Its tags are there too.
    let purge = |tag: &str| {
        let admin = tcp(&larder.admin());
        let done = Command::new(BINARY)
            .args(["purge", "--admin", &admin, "--tag", tag])
            .run();
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        done.stdout
    };
    assert!(purge("nobody's").contains("purged: 0 stored responses"));
    assert!(
        purge("p-1").contains("purged: 1 stored response "),
        "the page with that tag"
    );
    assert_eq!(larder.get("/tagged").send().text(), "tagged");
}
