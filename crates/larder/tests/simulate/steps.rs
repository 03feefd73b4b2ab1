//! The steps of the walk, beside a real Larder's: which requests ask the origin, one by one.

use crate::{BEGIN, BINARY, file, report, text};
use std::fmt::Write as _;
use testkit::{Command, Larder, Origin, Reply, wait_until};

/// Requests of a log: what the origin takes for each is a bit of its own, so that the sum says which of them asked it.
const REQUESTS: usize = 32;

/// Logs, each with pages of its own.
const LOGS: usize = 40;

/// What the origin answers: status, fields. Lifetimes and ages are hundreds of times as long as the test takes.
const ANSWERS: [(u16, &[(&str, &str)]); 16] = [
    (200, &[("Cache-Control", "max-age=90000")]),
    (200, &[("Cache-Control", "max-age=90000"), ("Age", "50000")]),
    // Stale as soon as it is there.
    (200, &[("Cache-Control", "max-age=100"), ("Age", "9000")]),
    (
        200,
        &[
            ("Cache-Control", "max-age=100, stale-while-revalidate=90000"),
            ("Age", "9000"),
        ],
    ),
    (
        200,
        &[
            ("Cache-Control", "max-age=100, stale-while-revalidate=1000"),
            ("Age", "9000"),
        ],
    ),
    (
        200,
        &[
            ("Cache-Control", "max-age=100, stale-if-error=90000"),
            ("Age", "9000"),
        ],
    ),
    (
        200,
        &[
            (
                "Cache-Control",
                "max-age=100, must-revalidate, stale-if-error=90000",
            ),
            ("Age", "9000"),
        ],
    ),
    (
        200,
        &[("Cache-Control", "max-age=90000, no-cache, stale-if-error=9")],
    ),
    (200, &[("Cache-Control", "private, max-age=90000")]),
    (200, &[("Cache-Control", "no-store")]),
    (
        200,
        &[("Cache-Control", "max-age=90000"), ("Set-Cookie", "a=1")],
    ),
    (200, &[]),
    (404, &[("Cache-Control", "max-age=90000")]),
    (503, &[]),
    (503, &[("Cache-Control", "max-age=90000")]),
    (500, &[("Cache-Control", "no-store")]),
];

/// What is asked: method, field.
const ASKED: [(&str, Option<(&str, &str)>); 16] = [
    ("GET", None),
    ("GET", None),
    ("GET", None),
    ("GET", None),
    ("GET", None),
    ("GET", None),
    ("GET", None),
    ("HEAD", None),
    ("POST", None),
    ("GET", Some(("Cache-Control", "no-cache"))),
    ("GET", Some(("Cache-Control", "max-age=1000"))),
    ("GET", Some(("Cache-Control", "max-stale=90000"))),
    ("GET", Some(("Cache-Control", "only-if-cached"))),
    ("GET", Some(("Cache-Control", "no-store"))),
    ("GET", Some(("Authorization", "Basic x"))),
    ("DELETE", None),
];

/// One request, and what the origin would answer.
#[derive(Clone, Copy)]
struct Step {
    page: usize,
    asked: usize,
    answer: usize,
    language: &'static str,
}

impl Step {
    fn draw(random: &mut u64) -> Self {
        let mut below = |most: usize| {
            *random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((*random >> 33) as usize) % most
        };
        Self {
            page: below(4),
            asked: below(ASKED.len()),
            answer: below(ANSWERS.len()),
            language: ["de", "en"][below(2)],
        }
    }

    /// Every other page has a variant for each language.
    fn varies(self) -> bool {
        self.page.is_multiple_of(2)
    }

    fn path(self, log: usize) -> String {
        format!("/{log}/{}", self.page)
    }

    fn reply(self) -> Reply {
        let (status, fields) = ANSWERS[self.answer];
        let reply = Reply::status(status).body("x");
        let reply = fields
            .iter()
            .fold(reply, |reply, (name, value)| reply.header(name, value));
        if self.varies() {
            reply.header("Vary", "Accept-Language")
        } else {
            reply
        }
    }

    /// Its line, as nginx would write it, had it asked the origin.
    fn line(self, log: usize, number: usize) -> String {
        let (method, asked) = ASKED[self.asked];
        let (status, answered) = ANSWERS[self.answer];
        let (time, path) = (BEGIN + number as u64, self.path(log));
        let took = (1_u64 << number) as f64 / 1e6;
        let mut line = format!(
            r#"{{"time":{time},"scheme":"http","method":"{method}","host":"h","request_uri":"{path}","status":{status},"bytes":1,"upstream_response_time":"{took:.6}","http_accept_language":"{}""#,
            self.language
        );
        let mut add = |begin: &str, name: &str, value: &str| {
            let name = name.to_lowercase().replace('-', "_");
            write!(line, r#","{begin}_{name}":"{value}""#).expect("a string");
        };
        if let Some((name, value)) = asked {
            add("http", name, value);
        }
        for (name, value) in answered {
            add("sent_http", name, value);
        }
        if self.varies() {
            add("sent_http", "Vary", "Accept-Language");
        }
        line + "}\n"
    }
}

/// A gauge of the metrics, all its series together.
fn metric(larder: &Larder, name: &str) -> f64 {
    let text = larder.admin_get("/metrics").send().text();
    let lines = text.lines().filter(|line| line.starts_with(name));
    let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    values.sum()
}

/// What came of a log.
#[derive(Debug, PartialEq)]
struct Came {
    /// The requests that asked the origin, a bit each.
    fetched: u64,
    /// Requests that were answered from the store, and those of them that were stale.
    hits: u64,
    stale: u64,
}

/// What a real Larder has to say at least once, for the requests to mean something.
const SAID: [&str; 9] = [
    "; hit; ttl=90000",
    "stale-while-revalidate",
    "stale-if-error",
    "max-stale",
    "fwd=uri-miss",
    "fwd=vary-miss",
    "fwd=stale",
    "fwd=request",
    "fwd=method",
];

/// Puts the requests to a real Larder, one after the other; a refresh has ended before the next one comes.
fn real(
    larder: &Larder,
    origin: &Origin,
    log: usize,
    steps: &[Step],
    all_said: &mut String,
) -> Came {
    let mut client = larder.client();
    let (mut hits, mut stale) = (0, 0);
    let has_come = |number: usize, step: Step| {
        let all = origin.recorded(&step.path(log));
        let number = number.to_string();
        all.iter()
            .any(|one| one.header("x-step") == Some(number.as_str()))
    };
    for (number, step) in steps.iter().enumerate() {
        let mut ask = || {
            let (method, field) = ASKED[step.asked];
            let ask = client
                .ask(method, &step.path(log))
                .header("Accept-Language", step.language)
                .header("X-Step", number.to_string());
            match field {
                Some((name, value)) => ask.header(name, value).send(),
                None => ask.send(),
            }
        };
        let answer = ask();
        let said = answer.joined("cache-status");
        writeln!(all_said, "{said}").expect("a string");
        let is_hit = said.contains("; hit");
        // A failure that was hidden says that the origin was asked.
        let (is_stale_hidden, is_fresh_hidden) = (
            said.contains("stale-if-error"),
            said.contains("fresh-if-error"),
        );
        let is_stale = is_stale_hidden || is_hit && said.contains("ttl=-");
        hits += u64::from(is_hit || is_stale_hidden || is_fresh_hidden);
        stale += u64::from(is_stale);
        if said.contains("stale-while-revalidate") {
            // In the log a second has passed. Here the last may have failed just now, and the refresh is left out.
            wait_until("it was refreshed", || {
                let refreshed = has_come(number, *step);
                if !refreshed {
                    ask();
                }
                refreshed && metric(larder, "larder_origin_active") == 0.0
            });
        }
    }
    let numbered = steps.iter().enumerate();
    let fetched = numbered.filter(|(number, step)| has_come(*number, **step));
    Came {
        fetched: fetched.map(|(number, _)| 1_u64 << number).sum(),
        hits,
        stale,
    }
}

fn simulated(config: &str, log: usize, steps: &[Step]) -> Came {
    let lines = steps.iter().enumerate();
    let lines: String = lines.map(|(number, step)| step.line(log, number)).collect();
    let report = report(&[text(&file("access.log", lines)), "--config", config]);
    let base = &report["base"];
    let busy = base["origin"]["busy"].as_f64().expect("seconds");
    Came {
        fetched: (busy * 1e6).round() as u64,
        hits: base["hits"].as_u64().expect("a number"),
        stale: base["stale"].as_u64().expect("a number"),
    }
}

/// Random requests to pages with and without variants: fresh, stale, validated, refreshed behind a stale answer,
/// failures that are hidden, answers that are not stored and that withdraw what is, unsafe methods that invalidate it.
/// The simulation comes to the same as a real Larder for each request.
#[test]
fn agrees_with_a_real_larder_request_by_request() {
    let mut random = 1;
    let logs: Vec<Vec<Step>> = (0..LOGS)
        .map(|_| (0..REQUESTS).map(|_| Step::draw(&mut random)).collect())
        .collect();
    let origin = Origin::start();
    let scripted = logs.clone();
    origin.otherwise(move |request| {
        let log = request.path().split('/').nth(1);
        let log: usize = log.and_then(|log| log.parse().ok()).expect("a log");
        let step = request.header("x-step");
        let step: usize = step.and_then(|step| step.parse().ok()).expect("a step");
        scripted[log][step].reply()
    });
    let config = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\nworkers = 1\n[[origin]]\nservers = \"{}\"\n[defaults]\nheuristic = false\n",
        origin.url()
    );
    let config = file("larder.toml", config);
    let larder = Command::new(BINARY)
        .args(["serve", "--config", text(&config)])
        .start();
    let mut said = String::new();
    for (log, steps) in logs.iter().enumerate() {
        let (real, simulated) = (
            real(&larder, &origin, log, steps, &mut said),
            simulated(text(&config), log, steps),
        );
        // The lines of the page at which they part; where only the kind of an answer differs, all lines.
        let first = (real.fetched ^ simulated.fetched).trailing_zeros() as usize;
        let parted = steps.get(first).map(|step| step.page);
        let lines: String = (0..steps.len())
            .filter(|number| parted.is_none_or(|page| page == steps[*number].page))
            .map(|number| steps[number].line(log, number))
            .collect();
        assert_eq!(simulated, real, "log {log}, line {first}, in:\n{lines}");
    }
    for kind in SAID {
        assert!(said.contains(kind), "no request was answered {kind}");
    }
}
