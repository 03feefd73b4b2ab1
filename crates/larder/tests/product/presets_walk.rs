//! The walk through the dangerous pages of an application that tells everybody whatever it knows of whoever asks.

use crate::common::start_with;
use std::{
    fmt::Write,
    sync::atomic::{AtomicUsize, Ordering},
};
use testkit::{Larder, Origin, Reply, Request, Response};

pub(crate) const ALICE: &str = "alice5f8c1e";

const BOB: &str = "bobd47a93";

/// What the application says of its answers: nothing, and what a plugin, a view or a server before it says wrongly.
const SAYS: [&str; 4] = [
    "",
    "max-age=600",
    "public, max-age=600",
    "public, max-age=86400, s-maxage=86400",
];

/// A larder with this preset before an application that talks.
pub(crate) fn with_preset(preset: &str) -> (Origin, Larder) {
    with_defaults(&format!("preset = \"{preset}\""))
}

pub(crate) fn with_defaults(defaults: &str) -> (Origin, Larder) {
    let (origin, larder) = start_with(&format!(
        "[[origin]]\nservers = \"{{origin}}\"\n[defaults]\n{defaults}\n"
    ));
    origin.otherwise(talkative);
    (origin, larder)
}

/// The application: it shows all that came with the request, as a form filled in for its reader does. The host asks for
/// what it says of caching (`s2`), for `Vary: Cookie` (`vary`), and for a session that begins (`first`), shown in the
/// page too.
pub(crate) fn talkative(request: &Request) -> Reply {
    static VISITS: AtomicUsize = AtomicUsize::new(0);
    let host = request.header("host").unwrap_or_default();
    let asked = |label: &str| host.split('.').any(|part| part == label);
    let mut reply = Reply::ok().header("Content-Type", "text/html");
    let said = (0..SAYS.len()).find(|number| asked(&format!("s{number}")));
    if let Some(said) = said
        .map(|number| SAYS[number])
        .filter(|said| !said.is_empty())
    {
        reply = reply.cache(said);
    }
    if asked("vary") {
        reply = reply.header("Vary", "Cookie");
    }
    let mut body = format!("{} {:?}", request.target, request.head);
    if asked("first") {
        let visit = VISITS.fetch_add(1, Ordering::Relaxed);
        reply = reply.header("Set-Cookie", format!("session=visit-{visit}-"));
        let _ = write!(body, " visit-{visit}-");
    }
    reply.body(body)
}

/// One row: how a user is told from another, and on which page.
pub(crate) struct Row<'a> {
    pub kind: &'a str,
    pub name: &'a str,
    pub path: &'a str,
}

impl<'a> Row<'a> {
    pub fn read(line: &'a str) -> Self {
        let (told, rest) = line.split_once(" | ").expect("a path");
        let (path, _what) = rest.split_once(" | ").expect("what it is");
        let (kind, name) = told.trim().split_once(' ').unwrap_or((told.trim(), ""));
        Self {
            kind,
            name,
            path: path.trim(),
        }
    }

    /// Asks as this user would, or as a stranger.
    fn ask(&self, larder: &Larder, host: &str, who: Option<&str>) -> Response {
        let mut path = self.path.to_owned();
        if let (Some(who), "query") = (who, self.kind) {
            let glue = if path.contains('?') { '&' } else { '?' };
            let _ = write!(path, "{glue}{}={who}", self.name);
        }
        let ask = larder.get(&path).header("Host", host);
        let ask = match (who, self.kind) {
            (Some(who), "cookie" | "aside") => ask.header(
                "Cookie",
                format!("_ga=GA1.2.{}; {}={who}", who.len(), self.name),
            ),
            (Some(who), "header") => ask.header(self.name, who),
            _ => ask,
        };
        ask.send()
    }

    /// What is wrong with an answer to `who`, if anything: a byte of somebody else's, or not one's own.
    fn wrong(&self, who: Option<&str>, answer: &Response) -> Option<&'static str> {
        let all = format!("{:?} {}", answer.head, answer.text());
        let others = [ALICE, BOB].into_iter().filter(|name| Some(*name) != who);
        if others.into_iter().any(|name| all.contains(name)) {
            return Some("sees another's page");
        }
        let shows_own = matches!(self.kind, "cookie" | "header" | "query");
        (shows_own && who.is_some_and(|who| !all.contains(who)))
            .then_some("does not see their own page")
    }

    /// Walks the page with two users and strangers, in both orders.
    fn walk(&self, larder: &Larder, host: &str) -> Vec<String> {
        let orders = [
            [Some(ALICE), Some(BOB), None, Some(ALICE), Some(BOB), None],
            [None, Some(BOB), Some(ALICE), None, Some(BOB), Some(ALICE)],
        ];
        let mut wrong = Vec::new();
        for (number, order) in orders.into_iter().enumerate() {
            let host = format!("o{number}.{host}");
            let mut visits = Vec::new();
            for who in order {
                let answer = self.ask(larder, &host, who);
                assert_eq!(answer.status, 200, "{} {}", self.path, answer.text());
                if let Some(what) = self.wrong(who, &answer) {
                    wrong.push(format!(
                        "{} {} {}: {who:?} {what}",
                        self.kind, self.name, self.path
                    ));
                }
                if self.kind == "first" {
                    visits.push(
                        answer
                            .text()
                            .rsplit(' ')
                            .next()
                            .unwrap_or_default()
                            .to_owned(),
                    );
                }
            }
            let all = visits.len();
            visits.sort();
            visits.dedup();
            if visits.len() < all {
                wrong.push(format!("first {}: a session is given to two", self.path));
            }
        }
        wrong
    }
}

/// Walks every page of a table, whatever the application says of caching, and tells what went wrong.
pub(crate) fn walk(larder: &Larder, table: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (number, line) in table
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .enumerate()
    {
        let row = Row::read(line);
        for (said, words) in SAYS.iter().enumerate() {
            let first = if row.kind == "first" { "first." } else { "" };
            for vary in ["", "vary."] {
                let host = format!("{first}{vary}s{said}.r{number}.test");
                for what in row.walk(larder, &host) {
                    wrong.push(format!("{what} ({words:?} {vary})"));
                }
            }
        }
    }
    wrong
}
