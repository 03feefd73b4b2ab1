//! What `larder publish` and `larder warm` have in common: how many requests there are at a time and in a second, and
//! how far they say they have come.

use crate::common::{BINARY, Site, html, tcp};
use std::{
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use testkit::{Gate, Larder, Origin, Reply};

const LINKS: [&str; 5] = ["/1", "/2", "/3", "/4", "/5"];

/// A page that links to five others, and the folder they are published to.
fn site() -> Site {
    Site::new(&[
        ("/", &LINKS),
        ("/1", &[]),
        ("/2", &[]),
        ("/3", &[]),
        ("/4", &[]),
        ("/5", &[]),
    ])
}

/// `larder publish` of `site`, as a shell has it.
fn publish(site: &Site, more: &str) -> String {
    let to = site.folder.display();
    format!(
        "{BINARY} publish --from {} --to {to} {more}",
        site.origin.url()
    )
}

/// `larder warm` with the five pages.
fn warm(larder: &Larder, more: &str) -> String {
    let via = tcp(&larder.address());
    let urls = LINKS
        .map(|path| format!("http://a.example{path}"))
        .join(" ");
    format!("{BINARY} warm --via http://{via} {more} {urls}")
}

fn cached(origin: &Origin) -> Larder {
    testkit::Command::serve(BINARY).args([origin.url()]).start()
}

/// Runs it to its end, which is good, and tells what it wrote.
fn run(line: &str) -> String {
    let done = Command::new("sh")
        .args(["-c", &format!("exec {line}")])
        .stdin(Stdio::null())
        .output();
    told(&done.expect("sh"))
}

/// The same on a terminal.
fn run_on_terminal(line: &str) -> String {
    let inside = format!("stty cols 100 rows 24; exec {line}");
    let done = Command::new("script")
        .args(["-qec", &inside, "/dev/null"])
        .stdin(Stdio::null())
        .output();
    told(&done.expect("script"))
}

fn told(done: &std::process::Output) -> String {
    let text = [&done.stdout[..], &done.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(done.status.success(), "{text}");
    text
}

#[test]
fn pages_under_way_are_bounded() {
    let site = site();
    let gate = Gate::new();
    for path in LINKS {
        site.origin.reply(path, html("x").hold_head(&gate));
    }
    let running = site.start(&["--concurrency", "2"]);
    gate.wait_reached_by(2);
    // A third would have come by the time the application has answered something else.
    assert_eq!(
        testkit::Client::connect(site.origin.address())
            .get("/")
            .send()
            .status,
        200
    );
    assert_eq!(site.origin.all().len(), 4, "the first page twice, and two");
    gate.open();
    assert_eq!(running.end(), Some(0));
    assert_eq!(site.files().len(), 6);
}

/// Notes when each request comes.
fn noting(origin: &Origin) -> Arc<Mutex<Vec<Instant>>> {
    let times = Arc::new(Mutex::new(Vec::new()));
    for path in LINKS {
        let times = Arc::clone(&times);
        origin.on(path, move |_| {
            times.lock().unwrap().push(Instant::now());
            Reply::ok().cache("max-age=600").body("x")
        });
    }
    times
}

/// Whatever the machine's load: the fifth of twenty in a second does not come before 200 ms are over.
#[test]
fn a_rate_is_kept() {
    let site = site();
    let times = noting(&site.origin);
    let began = Instant::now();
    run(&publish(&site, "--rate 20"));
    let last = |times: &Mutex<Vec<Instant>>| {
        let times = times.lock().unwrap();
        assert_eq!(times.len(), 5);
        times.iter().max().copied().expect("five")
    };
    assert!(
        last(&times) - began >= Duration::from_millis(250),
        "the first page, and five"
    );
    let origin = Origin::start();
    let times = noting(&origin);
    let larder = cached(&origin);
    let began = Instant::now();
    run(&warm(&larder, "--rate 20"));
    assert!(last(&times) - began >= Duration::from_millis(200));
}

#[test]
fn on_a_terminal_there_is_a_bar_that_is_cleared() {
    const CLEARED: &str = "\u{1b}[2K";
    let (site, origin) = (site(), Origin::start());
    origin.otherwise(|_| Reply::ok().cache("max-age=600").body("x"));
    let larder = cached(&origin);
    for (line, of, summary) in [
        (
            publish(&site, "--rate 0"),
            "/6 ",
            "6 new, 0 changed, 0 unchanged",
        ),
        (warm(&larder, "--rate 0"), "/5 ", "5 requests"),
    ] {
        let seen = run_on_terminal(&line);
        let bar = seen.rfind(of).unwrap_or_else(|| panic!("no bar: {seen:?}"));
        let cleared = seen
            .rfind(CLEARED)
            .unwrap_or_else(|| panic!("not cleared: {seen:?}"));
        let end = seen
            .find(summary)
            .unwrap_or_else(|| panic!("no summary: {seen:?}"));
        assert!(bar < cleared && cleared < end, "{seen:?}");
        let quiet = run_on_terminal(&format!("{line} --quiet"));
        assert_eq!(quiet, "", "nothing is wanted");
        let piped = run(&line);
        assert!(
            !piped.contains('\u{1b}') && !piped.contains(of),
            "{piped:?}"
        );
    }
}
