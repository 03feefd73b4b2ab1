//! What requests are made of, and which comes next.

use crate::{bench, figures, file};
use testkit::{Command, Gate, Larder, Origin, Reply};

fn origin() -> Origin {
    let origin = Origin::start();
    origin.otherwise(|_| Reply::ok().body("x"));
    origin
}

#[test]
fn method_fields_and_body_are_sent_as_they_are_given() {
    let origin = origin();
    let flags = [
        "-n",
        "1",
        "-c",
        "1",
        "-X",
        "PUT",
        "--body",
        "a=1&b=2",
        "-H",
        "Content-Type: text/x",
        "-H",
        "Host: www.example.com",
    ];
    let url = format!("{}/a?b=c", origin.url());
    figures(&[&[url.as_str()], &flags[..]].concat());
    let request = origin.last("/a");
    assert_eq!(request.method, "PUT");
    assert_eq!(request.target, "/a?b=c");
    assert_eq!(request.header("content-type"), Some("text/x"));
    assert_eq!(request.headers("host"), ["www.example.com"]);
    assert_eq!(request.body, b"a=1&b=2");
}

#[test]
fn a_list_is_asked_for_in_turn() {
    let origin = origin();
    let list = file("list", "/a\n# two of them\nPOST /b body=x\nHEAD /c\n");
    let list = list.to_str().expect("a path");
    let result = figures(&[&origin.url(), "-n", "30", "-c", "3", "--file", list]);
    for path in ["/a", "/b", "/c"] {
        assert_eq!(origin.requests(path), 10, "{path}");
    }
    assert_eq!(origin.last("/b").method, "POST");
    assert_eq!(origin.last("/c").method, "HEAD");
    assert_eq!(result["targets"][0]["urls"], 3);
    assert_eq!(result["targets"][0]["good"], 30);
}

#[test]
fn weights_and_zipf_choose_at_random() {
    let origin = origin();
    let list = file("weights", "/never weight=0\n/often weight=9\n/seldom\n");
    let list = list.to_str().expect("a path");
    figures(&[&origin.url(), "-n", "500", "-c", "4", "--file", list]);
    assert_eq!(origin.requests("/never"), 0);
    assert!(origin.requests("/often") > 5 * origin.requests("/seldom"));
    let origin = self::origin();
    figures(&[
        &origin.url(),
        "-n",
        "500",
        "-c",
        "4",
        "--file",
        list,
        "--zipf=2",
    ]);
    assert!(origin.requests("/never") > origin.requests("/often"));
    assert!(origin.requests("/often") > origin.requests("/seldom"));
}

#[test]
fn urls_of_several_servers() {
    let (one, other) = (origin(), origin());
    let urls = [format!("{}/x", one.url()), format!("{}/y", other.url())];
    let result = figures(&[&urls[0], &urls[1], "-n", "20", "-c", "2"]);
    assert_eq!((one.requests("/x"), other.requests("/y")), (10, 10));
    assert_eq!(result["targets"][0]["urls"], 2);
}

#[test]
fn a_sitemap_is_asked_for_at_the_target() {
    let origin = origin();
    let map = |pages: &str| Reply::ok().body(format!("<urlset>{pages}</urlset>"));
    origin.on("/sitemap.xml", |_| {
        Reply::ok().body("<sitemapindex><sitemap><loc>https://www.example.com/one.xml</loc></sitemap></sitemapindex>")
    });
    origin.on("/one.xml", move |_| {
        map("<url><loc>https://www.example.com/p?a=1&amp;b</loc></url><url><loc>https://www.example.com/q</loc></url>")
    });
    let sitemap = format!("{}/sitemap.xml", origin.url());
    figures(&[&origin.url(), "-n", "6", "-c", "1", "--sitemap", &sitemap]);
    assert_eq!((origin.requests("/p"), origin.requests("/q")), (3, 3));
    assert_eq!(origin.last("/p").target, "/p?a=1&b");
}

/// An origin that gives each user a cookie of its own, and answers nobody before three have asked.
fn giving_cookies(gate: &Gate) -> Origin {
    let origin = Origin::start();
    let held = gate.clone();
    origin.otherwise(move |request| {
        let user = request.header("x-user").unwrap_or_default().to_owned();
        Reply::ok()
            .header("Set-Cookie", format!("session=s{user}; Path=/"))
            .hold_head(&held)
    });
    origin
}

/// Has three users ask at `url`, with these flags too, and looks at what the origin behind it was sent.
fn users_are_told_apart(origin: &Origin, gate: &Gate, url: &str, flags: &[&str]) {
    let all = [
        "--users",
        "3",
        "-n",
        "30",
        "--cookies",
        "-H",
        "X-User: {user}",
        "-H",
        "Cookie: lang=en",
    ];
    std::thread::scope(|scope| {
        // Nobody is answered before all have asked.
        scope.spawn(|| {
            gate.wait_reached_by(3);
            gate.open();
        });
        figures(&[&[url], &all[..], flags].concat());
    });
    let mut users = std::collections::HashSet::new();
    for request in origin.recorded("/") {
        let user = request.header("x-user").expect("a number").to_owned();
        let cookies = request.headers("cookie");
        if users.insert(user.clone()) {
            assert_eq!(cookies, ["lang=en"], "nothing was set yet");
        } else {
            assert_eq!(cookies, [format!("lang=en; session=s{user}")]);
        }
    }
    assert_eq!(users.len(), 3);
}

#[test]
fn users_have_numbers_and_cookies_of_their_own() {
    let gate = Gate::new();
    let origin = giving_cookies(&gate);
    users_are_told_apart(&origin, &gate, &origin.url(), &[]);
}

/// Larder before an origin, forwarding all: a server that speaks HTTP/2.
fn forwarding(origin: &Origin) -> Larder {
    let config = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"off\"\n[[origin]]\nservers = \"{}\"\n[[route]]\ncache = false\n",
        origin.url()
    );
    Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["serve"])
        .config(&config)
        .start()
}

#[test]
fn over_http2_users_are_told_apart_too() {
    let gate = Gate::new();
    let origin = giving_cookies(&gate);
    let larder = forwarding(&origin);
    let url = &larder.listeners()[0];
    users_are_told_apart(&origin, &gate, url, &["--http2"]);
}

#[test]
fn over_http2_requests_are_sent_as_they_are_given() {
    let origin = origin();
    let larder = forwarding(&origin);
    let url = format!("{}/a?b=c", larder.listeners()[0]);
    let flags = ["--http2", "-n", "3", "-c", "1", "-X", "PUT"];
    let body = ["--body", "a=1&b=2", "-H", "Content-Type: text/x"];
    figures(&[&[url.as_str()], &flags[..], &body[..]].concat());
    assert_eq!(origin.requests("/a"), 3);
    for request in origin.recorded("/a") {
        assert_eq!(request.method, "PUT");
        assert_eq!(request.target, "/a?b=c");
        assert_eq!(request.header("content-type"), Some("text/x"));
        assert_eq!(request.body, b"a=1&b=2");
    }
    // A list says it for each of its requests.
    let list = file("list2", "/x\nPOST /y body=z\nHEAD /w\n");
    let list = list.to_str().expect("a path");
    let url = &larder.listeners()[0];
    let result = figures(&[url, "--http2", "-n", "9", "-c", "3", "--file", list]);
    assert_eq!(result["targets"][0]["good"], 9);
    for (path, method, body) in [("/x", "GET", ""), ("/y", "POST", "z"), ("/w", "HEAD", "")] {
        assert_eq!(origin.requests(path), 3, "{path}");
        let request = origin.last(path);
        assert_eq!(
            (request.method.as_str(), request.body),
            (method, body.into())
        );
    }
}

#[test]
fn bad_lines_are_told_with_their_numbers() {
    let list = file("bad", "/a\nftp://x/\n\nGET\n");
    let finished = bench(&[
        "http://127.0.0.1:1",
        "--file",
        list.to_str().expect("a path"),
    ])
    .run();
    assert_eq!(finished.code, Some(1));
    assert!(
        finished
            .stderr
            .contains("bad:2: 'ftp' is neither http nor https"),
        "{}",
        finished.stderr
    );
    assert!(
        finished.stderr.contains("bad:4: a URL is missing"),
        "{}",
        finished.stderr
    );
}

/// Arguments, how it ends, and what is said.
type Row = (&'static [&'static str], i32, &'static str);

const REFUSED: &[Row] = &[
    (&[], 2, "name a URL"),
    (&["ftp://x/"], 2, "neither http nor https"),
    (
        &["http://127.0.0.1/", "--assert", "p98<1ms"],
        2,
        "no figure 'p98'",
    ),
    (&["http://127.0.0.1/", "-H", "nonsense"], 2, "NAME: VALUE"),
    (
        &["http://127.0.0.1/", "-H", "Content-Length: 5"],
        2,
        "the tool itself",
    ),
    (&["--compare", "http://127.0.0.1/"], 2, "two URLs"),
    (&["http://192.0.2.7/"], 1, "--allow-remote 192.0.2.7"),
    (&["http://127.0.0.1/", "-d", "2h"], 1, "--unbounded"),
    (&["http://127.0.0.1/", "-c", "30000"], 1, "--unbounded"),
    (
        &["http://127.0.0.1/", "--rate", "1000000"],
        1,
        "--unbounded",
    ),
    (&["http://127.0.0.1/", "-n", "1000000000"], 1, "--unbounded"),
    (
        &["http://127.0.0.1/", "--file", "/no/such/list"],
        1,
        "/no/such/list",
    ),
    (
        &["http://127.0.0.1/", "--ca", "/no/such/ca"],
        1,
        "/no/such/ca",
    ),
    (
        &["http://127.0.0.1/x", "--file", "/dev/null"],
        1,
        "the list is empty",
    ),
    (
        &[
            "http://192.0.2.7/",
            "--allow-remote",
            "192.0.2.7",
            "--rate",
            "5000",
        ],
        1,
        "--max-rate",
    ),
    (
        &["http://127.0.0.1/", "--rate", "500", "--max-rate", "50"],
        2,
        "--max-rate 50",
    ),
    (
        &[
            "http://192.0.2.7/",
            "--allow-remote",
            "192.0.2.7",
            "--max-rate",
            "100",
            "--rate",
            "0..50000",
        ],
        2,
        "--max-rate 100",
    ),
    (
        &["http://127.0.0.1/", "-n", "5", "--warm-up", "2h"],
        1,
        "--unbounded",
    ),
    (
        &[
            "http://127.0.0.1/a",
            "http://127.0.0.1/b",
            "--compare",
            "-d",
            "20m",
        ],
        1,
        "--unbounded",
    ),
    (
        &["http://127.0.0.1/", "-H", "Authorization : Bearer x"],
        2,
        "'Authorization ' is not the name of a field",
    ),
    (
        &["http://127.0.0.1/", "-H", " Cookie: x"],
        2,
        "' Cookie' is not the name of a field",
    ),
    (
        &["http://127.0.0.1/", "-H", "Host: {user}.example"],
        2,
        "{user}",
    ),
    (
        &["http://127.0.0.1/", "--assert", "memory<1GiB"],
        2,
        "--process",
    ),
];

#[test]
fn what_is_wrong_use_and_what_is_not_allowed() {
    for (arguments, code, told) in REFUSED {
        let finished = bench(arguments).run();
        assert_eq!(
            finished.code,
            Some(*code),
            "{arguments:?}: {}",
            finished.stderr
        );
        assert!(
            finished.stderr.contains(told),
            "{arguments:?}: {}",
            finished.stderr
        );
    }
}

#[test]
fn a_sitemap_in_a_file_leads_to_files_beside_it_only() {
    let origin = origin();
    let index = |location: &str| {
        format!("<sitemapindex><sitemap><loc>{location}</loc></sitemap></sitemapindex>")
    };
    let map = file(
        "sitemap.xml",
        &index("https://www.example.com/maps/one.xml"),
    );
    let one = "<urlset><url><loc>https://www.example.com/p</loc></url></urlset>";
    std::fs::write(map.with_file_name("one.xml"), one).expect("a file");
    let path = map.display().to_string();
    figures(&[&origin.url(), "-n", "4", "--sitemap", &path]);
    assert_eq!(origin.requests("/p"), 4);
    for elsewhere in ["/dev/zero", "../sitemap.xml", "/etc/passwd", ".."] {
        let map = file("index.xml", &index(elsewhere));
        let path = map.display().to_string();
        let finished = bench(&[&origin.url(), "-n", "4", "--sitemap", &path]).run();
        assert_eq!(finished.code, Some(1), "{elsewhere}");
        assert!(finished.stderr.contains("larder: "), "{}", finished.stderr);
    }
    assert_eq!(origin.requests("/p"), 4, "nothing else was sent");
}

/// The bound is that of a list of requests, whatever the sitemap in which it is passed.
#[test]
fn sitemaps_with_too_many_pages_are_refused() {
    let origin = origin();
    let one = "<sitemap><loc>http://a.example/one.xml</loc></sitemap>".repeat(21);
    let map = file(
        "sitemap.xml",
        &format!("<sitemapindex>{one}</sitemapindex>"),
    );
    let pages = "<url><loc>http://a/</loc></url>".repeat(48_000);
    let one = format!("<urlset>{pages}</urlset>");
    std::fs::write(map.with_file_name("one.xml"), one).expect("a file");
    let path = map.display().to_string();
    let finished = bench(&[&origin.url(), "-n", "4", "--sitemap", &path]).run();
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    let told = "one.xml: with this one there are more than 1000000 pages";
    assert!(finished.stderr.contains(told), "{}", finished.stderr);
    assert_eq!(origin.all().len(), 0);
}

#[test]
fn a_terminal_is_told_nothing_that_it_would_obey() {
    let origin = origin();
    origin.on("/sitemap.xml", |_| {
        Reply::ok().body("<urlset><url><loc>http://a&#27;[31m b/</loc></url></urlset>")
    });
    let sitemap = format!("{}/sitemap.xml", origin.url());
    let finished = bench(&[&origin.url(), "-n", "4", "--sitemap", &sitemap]).run();
    assert_eq!(finished.code, Some(1));
    assert!(!finished.stderr.contains('\u{1b}'), "{:?}", finished.stderr);
    assert!(finished.stderr.contains("\\u{1b}"), "{:?}", finished.stderr);
}

#[test]
fn a_body_comes_from_a_file_and_a_list_from_standard_input() {
    let origin = origin();
    let large = "x".repeat(300_000);
    let body = file("body", &large);
    let body = format!("@{}", body.display());
    figures(&[&origin.url(), "-n", "6", "-c", "2", "--body", &body]);
    assert_eq!(origin.requests("/"), 6);
    for request in origin.recorded("/") {
        assert_eq!(request.method, "POST");
        assert_eq!(request.body, large.as_bytes());
    }
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["bench", &origin.url(), "-n", "4", "-q", "--file", "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("a process");
    let mut input = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut input, b"/in\nPUT /put body=1\n").expect("it reads");
    drop(input);
    assert!(child.wait().expect("its end").success());
    assert_eq!((origin.requests("/in"), origin.requests("/put")), (2, 2));
    assert_eq!(origin.last("/put").method, "PUT");
}

#[test]
fn another_machine_is_asked_for_from_no_list_and_no_sitemap_unless_it_is_allowed() {
    let origin = origin();
    let list = file("remote", "/here\nhttp://192.0.2.7/there\n");
    let map = "<urlset><url><loc>http://192.0.2.7/there</loc></url></urlset>";
    let map = file("remote.xml", map);
    let index =
        "<sitemapindex><sitemap><loc>http://192.0.2.7/other.xml</loc></sitemap></sitemapindex>";
    origin.on("/index.xml", move |_| Reply::ok().body(index));
    origin.on("/other.xml", |_| {
        Reply::ok().body("<urlset><url><loc>http://192.0.2.7/page</loc></url></urlset>")
    });
    let (list, map) = (list.display().to_string(), map.display().to_string());
    let url = origin.url();
    for arguments in [
        &[url.as_str(), "--file", &list][..],
        // No server is named, so that pages would be asked for where they say.
        &["--file", &list],
        &["--sitemap", &map],
        &[&url, "--sitemap", "http://192.0.2.7/sitemap.xml"],
        // One that was allowed allows no other.
        &[&url, "--file", &list, "--allow-remote", "192.0.2.8"],
    ] {
        let finished = bench(&[arguments, &["-n", "4"]].concat()).run();
        assert_eq!(finished.code, Some(1), "{arguments:?}: {}", finished.stderr);
        let told = "--allow-remote 192.0.2.7";
        assert!(
            finished.stderr.contains(told),
            "{arguments:?}: {}",
            finished.stderr
        );
    }
    assert_eq!(origin.connections(), 0, "nothing was sent");
    // What an index on this machine names is taken from this machine, and so are its pages.
    let index = format!("{url}/index.xml");
    figures(&[&url, "-n", "4", "--sitemap", &index]);
    assert_eq!(
        (origin.requests("/other.xml"), origin.requests("/page")),
        (1, 4)
    );
}
