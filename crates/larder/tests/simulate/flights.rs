//! Requests that come while another's fetch is under way, beside a real Larder's: who waits for it, who goes alone, who
//! is answered from what there was before.

use crate::{BEGIN, BINARY, file, report, text};
use std::fmt::Write as _;
use testkit::{Command, Gate, Larder, Origin, Reply};

/// How long each fetch takes by the log, in microseconds; beyond it, a bit for each request says which of them asked
/// the origin.
const TOOK: u64 = 10_000_000;

/// A field's name and value.
type Field = (&'static str, &'static str);

/// A request, and what the origin would answer.
struct Step {
    asks: Option<Field>,
    answer: &'static [Field],
    /// It comes before all before it are answered.
    meanwhile: bool,
}

const fn first(answer: &'static [Field]) -> Step {
    Step {
        asks: None,
        answer,
        meanwhile: false,
    }
}

const fn then(asks: Option<Field>, answer: &'static [Field]) -> Step {
    Step {
        asks,
        answer,
        meanwhile: true,
    }
}

/// Requests for one page.
struct Case {
    name: &'static str,
    steps: &'static [Step],
    /// Which of them ask the origin.
    fetched: &'static [usize],
    /// How many of those that come meanwhile ask it before the first of them is answered, with the first.
    at_once: usize,
}

const LONG: &[Field] = &[("Cache-Control", "public, max-age=90000")];
/// Stale as soon as it is there, and good enough while another is fetched.
const OLD: &[Field] = &[
    ("Cache-Control", "max-age=100, stale-while-revalidate=90000"),
    ("Age", "9000"),
];
const VALIDATED: &[Field] = &[("Cache-Control", "no-cache")];
const PRIVATE: &[Field] = &[("Cache-Control", "private")];
const RELOAD: Field = ("Cache-Control", "no-cache");

const CASES: [Case; 13] = [
    Case {
        name: "who wants the same waits",
        steps: &[then(None, LONG), then(None, LONG), then(None, LONG)],
        fetched: &[0],
        at_once: 1,
    },
    Case {
        name: "whose answer may be personal goes alone",
        steps: &[
            then(None, LONG),
            then(Some(("Authorization", "Basic x")), LONG),
            then(None, LONG),
        ],
        fetched: &[0, 1],
        at_once: 2,
    },
    Case {
        name: "whose answer must not be stored goes alone",
        steps: &[
            then(None, LONG),
            then(Some(("Cache-Control", "no-store")), LONG),
        ],
        fetched: &[0, 1],
        at_once: 2,
    },
    Case {
        name: "an answer that is always validated helps nobody",
        steps: &[then(None, VALIDATED), then(None, VALIDATED)],
        fetched: &[0, 1],
        at_once: 1,
    },
    Case {
        name: "what is private helps nobody",
        steps: &[then(None, PRIVATE), then(None, PRIVATE)],
        fetched: &[0, 1],
        at_once: 1,
    },
    Case {
        name: "who reloads waits in vain",
        steps: &[then(None, LONG), then(Some(RELOAD), LONG)],
        fetched: &[0, 1],
        at_once: 1,
    },
    Case {
        name: "who wants what is stored or nothing gets nothing",
        steps: &[
            then(None, LONG),
            then(Some(("Cache-Control", "only-if-cached")), LONG),
        ],
        fetched: &[0],
        at_once: 1,
    },
    Case {
        name: "after a private answer nobody waits",
        steps: &[first(PRIVATE), then(None, LONG), then(None, LONG)],
        fetched: &[0, 1, 2],
        at_once: 2,
    },
    Case {
        name: "and once it was of use to others they do again",
        steps: &[
            first(PRIVATE),
            first(OLD),
            then(Some(("Cache-Control", "max-age=1000")), LONG),
            then(Some(("Cache-Control", "max-age=1000")), LONG),
        ],
        fetched: &[0, 1, 2],
        at_once: 1,
    },
    Case {
        name: "a stale answer is sent until the fresh one is there, not to who reloads",
        steps: &[
            first(OLD),
            then(None, LONG),
            then(None, LONG),
            then(Some(RELOAD), LONG),
        ],
        fetched: &[0, 1, 3],
        at_once: 1,
    },
    Case {
        name: "others go on being answered while one reloads",
        steps: &[first(LONG), then(Some(RELOAD), LONG), then(None, LONG)],
        fetched: &[0, 1],
        at_once: 1,
    },
    Case {
        name: "whose answer must not fill the store does not wait for it",
        steps: &[
            then(None, LONG),
            then(Some(("Cookie", "session=1")), LONG),
            then(None, LONG),
        ],
        fetched: &[0, 1],
        at_once: 2,
    },
    Case {
        name: "a condition that only the origin may judge goes to it",
        steps: &[
            then(None, LONG),
            then(Some(("If-Match", "\"a\"")), LONG),
            then(None, LONG),
        ],
        fetched: &[0, 1],
        at_once: 2,
    },
];

impl Case {
    /// Its lines, as nginx would write them, had all of them asked the origin.
    fn log(&self) -> String {
        let mut log = String::new();
        for (number, step) in self.steps.iter().enumerate() {
            // A second apart where it comes meanwhile, and after all before it are answered otherwise; soon enough for
            // hit-for-miss.
            let second = if step.meanwhile {
                50 + number
            } else {
                20 * number
            };
            let time = BEGIN + second as u64;
            let took = (TOOK + (1 << number)) as f64 / 1e6;
            write!(
                log,
                r#"{{"time":"{time}.500","scheme":"http","method":"GET","host":"h","request_uri":"/p","status":200,"bytes":1,"upstream_response_time":"{took:.6}""#
            )
            .expect("a string");
            let answered = step.answer.iter().map(|field| ("sent_http", *field));
            for (begin, (name, value)) in step
                .asks
                .map(|field| ("http", field))
                .into_iter()
                .chain(answered)
            {
                let name = name.to_lowercase().replace('-', "_");
                let value = value.replace('"', "\\\"");
                write!(log, r#","{begin}_{name}":"{value}""#).expect("a string");
            }
            log += "}\n";
        }
        log
    }

    /// Which requests ask the origin in a simulation.
    fn simulated(&self, config: &str) -> Vec<usize> {
        let report = report(&[text(&file("access.log", self.log())), "--config", config]);
        let busy = report["base"]["origin"]["busy"].as_f64().expect("seconds");
        let bits = (busy * 1e6).round() as u64 % TOOK;
        (0..self.steps.len())
            .filter(|number| bits >> number & 1 == 1)
            .collect()
    }

    /// Which requests ask the origin of a real Larder.
    fn real(&self, larder: &Larder, origin: &Origin, place: usize) -> Vec<usize> {
        let (path, gate) = (format!("/{place}"), Gate::new());
        let held = gate.clone();
        let scripted: Vec<_> = self
            .steps
            .iter()
            .map(|step| (step.answer, step.meanwhile))
            .collect();
        origin.on(&path, move |request| {
            let step: usize = request
                .header("x-step")
                .and_then(|step| step.parse().ok())
                .expect("a step");
            let (answer, meanwhile) = scripted[step];
            let reply = answer.iter().fold(Reply::ok(), |reply, (name, value)| {
                reply.header(name, value)
            });
            let reply = if meanwhile {
                reply.hold_head(&held)
            } else {
                reply
            };
            reply.body("x")
        });
        let mut waiting = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            let mut ask = larder.get(&path).header("X-Step", number.to_string());
            if let Some((name, value)) = step.asks {
                ask = ask.header(name, value);
            }
            let mut client = ask.begin();
            if !step.meanwhile {
                client.read();
                continue;
            }
            if waiting.is_empty() {
                // The first is on its way before the others come.
                gate.wait_reached();
            }
            waiting.push(client);
        }
        gate.wait_reached_by(self.at_once);
        gate.open();
        for mut client in waiting {
            client.read();
        }
        let mut fetched: Vec<usize> = origin
            .recorded(&path)
            .iter()
            .filter_map(|one| one.header("x-step")?.parse().ok())
            .collect();
        fetched.sort_unstable();
        fetched
    }
}

#[test]
fn agrees_with_a_real_larder_about_who_waits_for_whom() {
    let origin = Origin::start();
    let config = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\nworkers = 1\n[[origin]]\nservers = \"{}\"\n[defaults]\nheuristic = false\n\
         bypass = {{ misses_with = \"session\" }}\n",
        origin.url()
    );
    let config = file("larder.toml", config);
    let larder = Command::new(BINARY)
        .args(["serve", "--config", text(&config)])
        .start();
    for (place, case) in CASES.iter().enumerate() {
        assert_eq!(
            case.real(&larder, &origin, place),
            case.fetched,
            "the real one: {}",
            case.name
        );
        assert_eq!(
            case.simulated(text(&config)),
            case.fetched,
            "simulated: {}\n{}",
            case.name,
            case.log()
        );
    }
}
