//! `larder warm`: what is asked for later is stored already.

use crate::common::{BINARY, tcp};
use flate2::{Compression, read::GzEncoder};
use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::Stdio,
};
use testkit::{Command, Finished, Gate, Larder, Origin, Reply, scratch_dir, wait_until};

fn cached() -> (Origin, Larder) {
    let origin = Origin::start();
    let config = format!(
        "[[origin]]\nservers = \"{}\"\n[[route]]\npath = \"/account\"\ncache = false\n",
        origin.url()
    );
    let larder = Command::serve(BINARY).config(&config).start();
    (origin, larder)
}

fn warm(larder: &Larder, args: &[&str]) -> Finished {
    let via = format!("http://{}", tcp(&larder.address()));
    Command::new(BINARY)
        .args(["warm", "--rate", "0", "--via", &via])
        .args(args.iter().copied())
        .run()
}

fn fresh(text: &str) -> Reply {
    Reply::ok().cache("max-age=600").body(text)
}

#[test]
fn what_is_warm_is_answered_from_the_store() {
    let (origin, larder) = cached();
    origin.reply("/a", fresh("a"));
    origin.reply("/b", fresh("b"));
    origin.reply("/basket", fresh("x").header("Set-Cookie", "x=1"));
    origin.reply("/account", fresh("x"));
    let urls = [
        "http://www.example.com/a",
        "www.example.com/b#top",
        "http://www.example.com/a",
        "http://www.example.com/basket",
        "http://www.example.com/account",
    ];
    let done = warm(&larder, &urls);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let told: Vec<_> = done.stdout.lines().collect();
    assert_eq!(
        told,
        [
            "4 requests",
            "      2 fetched and stored",
            "      1 fetched, not stored (uri-miss, set-cookie)",
            "      1 bypassed (route)",
        ]
    );
    let asked = origin.last("/a");
    assert_eq!(asked.header("host"), Some("www.example.com"));
    let answer = larder.get("/a").header("Host", "www.example.com").send();
    assert_eq!((answer.text().as_str(), origin.requests("/a")), ("a", 1));
    let done = warm(&larder, &urls[..2]);
    assert_eq!(done.stdout, "2 requests\n      2 stored already\n");
}

#[test]
fn variants_are_warm_too() {
    let (origin, larder) = cached();
    origin.on("/", |request| {
        let told = |name| request.header(name).unwrap_or("none").to_owned();
        fresh(&format!("{} {}", told("accept-language"), told("x-device")))
            .header("Vary", "Accept-Language, X-Device")
    });
    let variants = [
        "--variant",
        "Accept-Language: de",
        "--variant",
        "Accept-Language:",
        "--variant",
        "X-Device: phone",
        "--variant",
        "X-Device:",
    ];
    let done = warm(&larder, &[&variants[..], &["http://a.example/"]].concat());
    assert_eq!(
        done.stdout, "4 requests\n      4 fetched and stored\n",
        "{}",
        done.stderr
    );
    assert_eq!(origin.requests("/"), 4);
    for (language, device) in [
        (Some("de"), Some("phone")),
        (Some("de"), None),
        (None, Some("phone")),
        (None, None),
    ] {
        let mut ask = larder.get("/").header("Host", "a.example");
        for (name, value) in [("Accept-Language", language), ("X-Device", device)] {
            if let Some(value) = value {
                ask = ask.header(name, value);
            }
        }
        ask.send();
    }
    assert_eq!(origin.requests("/"), 4, "all four were stored");
    let many: Vec<String> = (0..65).map(|number| format!("X-A: {number}")).collect();
    let many: Vec<&str> = many.iter().flat_map(|field| ["--variant", field]).collect();
    let done = warm(&larder, &[&many[..], &["http://a.example/"]].concat());
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr.contains("more than 64 variants"),
        "{}",
        done.stderr
    );
}

#[test]
fn urls_come_from_sitemaps_and_files() {
    let (origin, larder) = cached();
    origin.otherwise(|request| fresh(request.path()));
    let listed = "<urlset><url><loc>http://a.example/1</loc></url><url><loc>http://a.example/2</loc></url></urlset>";
    let mut packed = Vec::new();
    GzEncoder::new(listed.as_bytes(), Compression::fast())
        .read_to_end(&mut packed)
        .expect("memory");
    origin.reply("/sitemap.xml.gz", Reply::ok().body(packed));
    let file = scratch_dir().join("urls");
    fs::write(&file, "# often read\n\nhttp://a.example/3\n").expect("a file");
    let done = warm(
        &larder,
        &[
            "--sitemap",
            "http://a.example/sitemap.xml.gz",
            "--file",
            &file.display().to_string(),
        ],
    );
    assert_eq!(
        done.stdout, "3 requests\n      3 fetched and stored\n",
        "{}",
        done.stderr
    );
    assert_eq!(
        ["/1", "/2", "/3"].map(|path| origin.requests(path)),
        [1, 1, 1]
    );
}

#[test]
fn what_goes_wrong_is_told_by_kind() {
    let (origin, larder) = cached();
    origin.reply("/ok", fresh("ok"));
    origin.reply("/down", Reply::status(503));
    origin.reply(
        "/cut",
        Reply::ok().cache("no-store").length(9).body("x").cut(),
    );
    let own = Origin::start();
    let refused = own.url();
    own.stop();
    let url = |path: &str| format!("http://a.example{path}");
    let done = warm(
        &larder,
        &[
            &url("/ok"),
            &url("/down"),
            &url("/missing"),
            &url("/cut"),
            "ftp://x",
        ],
    );
    assert_eq!(done.code, Some(1));
    let expected = "4 requests\n      1 fetched and stored\n      1 status 404\n      1 status 503\n      1 failed (truncated)\n";
    assert_eq!(done.stdout, expected);
    assert!(
        done.stderr.contains("http://a.example/down: status 503"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.contains("\"ftp://x\" is not a URL"),
        "{}",
        done.stderr
    );
    let done = Command::new(BINARY).args(["warm", &refused]).run();
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(1), "1 request\n      1 failed (refused)\n")
    );
    // Straight from an application no cache says anything.
    let done = Command::new(BINARY)
        .args(["warm", "--quiet", &format!("{}/ok", origin.url())])
        .run();
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), ""));
    let done = Command::new(BINARY)
        .args(["warm", &format!("{}/ok", origin.url())])
        .run();
    assert_eq!(done.stdout, "1 request\n      1 answered by no cache\n");
    assert_eq!(Command::new(BINARY).args(["warm"]).run().code, Some(2));
    assert_eq!(
        Command::new(BINARY)
            .args(["warm", "--file", "/none"])
            .run()
            .code,
        Some(1)
    );
}

#[test]
fn requests_under_way_are_bounded() {
    let (origin, larder) = cached();
    let gate = Gate::new();
    let held = gate.clone();
    origin.otherwise(move |request| fresh(request.path()).hold_head(&held));
    let urls: Vec<String> = (0..5)
        .map(|number| format!("http://a.example/{number}"))
        .collect();
    let args: Vec<&str> = ["--concurrency", "2"]
        .into_iter()
        .chain(urls.iter().map(String::as_str))
        .collect();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| warm(&larder, &args));
        gate.wait_reached_by(2);
        // A third would have come by the time the cache has answered something else.
        assert_eq!(larder.admin_get("/healthz").send().status, 200);
        assert_eq!(origin.all().len(), 2);
        gate.open();
        assert_eq!(running.join().expect("its end").code, Some(0));
    });
    assert_eq!(origin.all().len(), 5);
}

#[test]
fn on_a_schedule_it_goes_on_until_told_to_stop() {
    let (origin, larder) = cached();
    origin.reply("/", Reply::ok().cache("no-store").body("x"));
    let url = format!("http://{}/", tcp(&larder.address()));
    let child = std::process::Command::new(BINARY)
        .args(["warm", "--every", "1s", &url])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the binary");
    origin.wait_requests("/", 2);
    let line = format!("kill -TERM {}", child.id());
    let sent = std::process::Command::new("sh")
        .args(["-c", &line])
        .status();
    assert!(sent.is_ok_and(|sent| sent.success()));
    let done = child.wait_with_output().expect("its end");
    assert_eq!(done.status.code(), Some(0));
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(told.matches("1 request\n").count() >= 1, "{told}");
    let done = Command::new(BINARY)
        .args(["warm", "--every", "0s", &url])
        .run();
    assert_eq!(done.code, Some(2));
}

#[test]
fn a_list_that_is_missing_at_one_moment_costs_its_rounds_and_no_others() {
    let (origin, larder) = cached();
    origin.reply("/", Reply::ok().cache("no-store").body("x"));
    let file = scratch_dir().join("urls");
    let list =
        || fs::write(&file, format!("http://{}/\n", tcp(&larder.address()))).expect("a file");
    list();
    let path = file.display().to_string();
    let mut child = std::process::Command::new(BINARY)
        .args(["warm", "--quiet", "--every", "1s", "--file", &path])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary");
    origin.wait_requests("/", 1);
    fs::remove_file(&file).expect("the list");
    let mut told = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let line = told.next().expect("a line").expect("text");
    assert_eq!(
        line,
        format!("larder: {path}: No such file or directory (os error 2)")
    );
    let before = origin.requests("/");
    list();
    origin.wait_requests("/", before + 1);
    let line = format!("kill -TERM {}", child.id());
    let sent = std::process::Command::new("sh")
        .args(["-c", &line])
        .status();
    assert!(sent.is_ok_and(|sent| sent.success()));
    assert_eq!(child.wait().expect("its end").code(), Some(0));
}

#[test]
fn a_round_that_hangs_is_stopped() {
    let (origin, larder) = cached();
    origin.reply("/", Reply::ok().hang());
    let url = format!("http://{}/", tcp(&larder.address()));
    let mut child = std::process::Command::new(BINARY)
        .args(["warm", "--every", "1s", &url])
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the binary");
    origin.wait_requests("/", 1);
    let line = format!("kill -INT {}", child.id());
    assert!(
        std::process::Command::new("sh")
            .args(["-c", &line])
            .status()
            .is_ok_and(|sent| sent.success())
    );
    let mut code = None;
    wait_until("it ended", || {
        code = child.try_wait().expect("a process");
        code.is_some()
    });
    assert_eq!(code.and_then(|status| status.code()), Some(0));
    assert_eq!(origin.requests("/"), 1, "rounds do not overlap");
}
