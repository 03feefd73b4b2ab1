//! `larder simulate` as a person uses it: small logs whose hit ratios are reckoned by hand, and one that a real Larder
//! wrote.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a panic is how a test fails, in its helpers too"
)]
#![allow(clippy::too_many_lines, reason = "a table is as long as it has rows")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "small numbers, none of them negative"
)]

mod flights;
mod picture;
mod steps;

use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use std::{
    fmt::Write as _,
    fs,
    io::{ErrorKind, Write as _},
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
};
use testkit::{Command, Finished, Origin, Reply, scratch_dir};

const BINARY: &str = env!("CARGO_BIN_EXE_larder");

/// The first second of all logs here: 2025-11-21T02:36:00Z.
const BEGIN: u64 = 1_763_692_560;

fn simulate(arguments: &[&str]) -> Finished {
    Command::new(BINARY)
        .args(["simulate"])
        .args(arguments.iter().copied())
        .run()
}

/// The report as JSON; `larder` has said nothing else.
fn report(arguments: &[&str]) -> Value {
    let finished = simulate(&[arguments, &["--json"]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(finished.stderr, "");
    serde_json::from_str(&finished.stdout).expect("JSON")
}

/// Why requests bypassed the store, and how many did.
fn bypassed(report: &Value) -> Vec<(Option<&str>, Option<u64>)> {
    let reasons = report["bypassed"].as_array().expect("a list").iter();
    let counted = |reason: &'_ Value| reason["requests"].as_u64();
    reasons
        .map(|reason| (reason["reason"].as_str(), counted(reason)))
        .collect()
}

fn file(name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = scratch_dir().join(name);
    fs::write(&path, content).expect("a log");
    path
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// A request: second, method, path, status, bytes.
type Asked = (u64, &'static str, &'static str, u16, u64);

/// A minute's lifetime makes two hits of these: the second and the fifth.
const REQUESTS: [Asked; 7] = [
    (0, "GET", "/a", 200, 100),
    (1, "GET", "/a", 200, 100),
    (2, "GET", "/b?x=1", 200, 1000),
    (61, "GET", "/a", 200, 100),
    (62, "GET", "/a", 200, 100),
    (63, "GET", "/b?x=1", 200, 1000),
    (64, "POST", "/c", 404, 7),
];

/// Lifetimes for them, and what is found then: two hits, two, four and none.
const LIFETIMES: [&str; 2] = ["--ttl", "2s,60s,10m,1s"];

/// Four of these bodies fit into a mebibyte: then least recently used makes two hits, and first in, first out one.
const LARGE: [Asked; 7] = [
    (0, "GET", "/a", 200, 230_000),
    (1, "GET", "/b", 200, 230_000),
    (2, "GET", "/c", 200, 230_000),
    (3, "GET", "/d", 200, 230_000),
    (4, "GET", "/a", 200, 230_000),
    (5, "GET", "/e", 200, 230_000),
    (6, "GET", "/a", 200, 230_000),
];

/// Sizes and rules for them.
const SIZES_AND_RULES: [&str; 6] = [
    "--ttl",
    "1h",
    "--memory",
    "1MiB,64MiB",
    "--eviction",
    "lru,fifo",
];

fn combined(requests: &[Asked]) -> String {
    log(requests, |(second, method, path, status, bytes)| {
        let clock = clock(second);
        format!(
            "192.0.2.7 - - [21/Nov/2025:{clock} +0000] \"{method} {path} HTTP/1.1\" {status} {bytes} \"-\" \"curl\""
        )
    })
}

fn log(requests: &[Asked], line: impl Fn(Asked) -> String) -> String {
    requests.iter().map(|asked| line(*asked) + "\n").collect()
}

fn clock(second: u64) -> String {
    format!("02:{:02}:{:02}", 36 + second / 60, second % 60)
}

/// The same requests as each server writes them.
fn formats() -> Vec<(&'static str, Vec<&'static str>, String)> {
    let caddy = log(&REQUESTS, |(second, method, path, status, bytes)| {
        let time = BEGIN + second;
        format!(
            r#"{{"level":"info","ts":{time}.0,"request":{{"remote_ip":"192.0.2.7","method":"{method}","host":"localhost","uri":"{path}","headers":{{"Accept":["*/*"]}}}},"duration":0.01,"size":{bytes},"status":{status},"resp_headers":{{"Server":["Caddy"]}}}}"#
        )
    });
    let larder = log(&REQUESTS, |(second, method, path, status, bytes)| {
        let clock = clock(second);
        format!(
            r#"{{"time":"2025-11-21T{clock}.000Z","client":"192.0.2.7","method":"{method}","host":"h","target":"{path}","version":"HTTP/1.1","status":{status},"bytes":{bytes},"referer":null,"user_agent":null,"cache":"MISS","reason":null,"origin_ms":10.0,"took_ms":11.0}}"#
        )
    });
    let nginx = log(&REQUESTS, |(second, method, path, status, bytes)| {
        let time = BEGIN + second;
        format!(
            r#"{{"time":"{time}.000","request":"{method} {path} HTTP/1.1","status":"{status}","body_bytes_sent":"{bytes}","host":"h","upstream_response_time":"0.010"}}"#
        )
    });
    let own = log(&REQUESTS, |(second, method, path, status, bytes)| {
        let time = BEGIN + second;
        format!("h|{time}.000|{method} {path} HTTP/1.1|{status}|{bytes}")
    });
    let varnish = log(&REQUESTS, |(second, method, path, status, bytes)| {
        let clock = clock(second);
        format!(
            "192.0.2.7 - - [21/Nov/2025:{clock} +0000] \"{method} http://h{path} HTTP/1.1\" {status} {bytes} \"-\" \"-\" miss 0.01"
        )
    });
    let mut cloudfront = "#Version: 1.0\n#Fields: date time sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs-uri-query x-host-header cs-protocol sc-content-len\n".to_owned();
    cloudfront += &log(&REQUESTS, |(second, method, path, status, bytes)| {
        let (clock, head) = (clock(second), bytes + 350);
        let (stem, query) = path.split_once('?').unwrap_or((path, "-"));
        format!(
            "2025-11-21\t{clock}\t{head}\t192.0.2.7\t{method}\td1.cloudfront.net\t{stem}\t{status}\t{query}\th\thttps\t{bytes}"
        )
    });
    let plus = combined(&REQUESTS).replace("\"curl\"", "\"curl\" \"MISS\" \"-\" 0.010 0.011");
    vec![
        ("combined", vec![], combined(&REQUESTS)),
        ("combined of Larder", vec![], plus),
        ("JSON of Larder", vec![], larder),
        ("JSON of Caddy", vec![], caddy),
        ("JSON of nginx", vec![], nginx),
        (
            "nginx's log_format",
            vec!["--format", "$host|$msec|$request|$status|$body_bytes_sent"],
            own,
        ),
        ("varnishncsa", vec![], varnish.clone()),
        (
            "varnishncsa -F",
            vec![
                "--format",
                r#"%h %l %u %t "%r" %s %b "%{Referer}i" "%{User-agent}i" %{Varnish:hitmiss}x %{Varnish:time_firstbyte}x"#,
            ],
            varnish,
        ),
        ("CloudFront", vec![], cloudfront),
    ]
}

#[test]
fn each_format_comes_to_what_is_reckoned_by_hand() {
    for (name, arguments, text_of_log) in formats() {
        let path = file("access.log", text_of_log);
        let report = report(&[&[text(&path), "--ttl", "60s"], &arguments[..]].concat());
        let base = &report["base"];
        assert_eq!(report["log"]["bad"], 0, "{name}: {}", report["log"]);
        assert_eq!(report["requests"], 7, "{name}");
        assert_eq!(report["bytes"], 2407, "{name}");
        assert_eq!(base["hits"], 2, "{name}");
        assert_eq!(base["origin"]["requests"], 5, "{name}");
        assert_eq!(base["origin"]["bytes"], 2207, "{name}");
        assert_eq!(base["hit_ratio"].as_f64(), Some(2.0 / 7.0), "{name}");
        assert_eq!(report["without"]["requests"], 7, "{name}");
        assert_eq!(report["bypassed"][0]["reason"], "method", "{name}");
        assert_eq!(report["seconds"], 64.0, "{name}");
    }
}

#[test]
fn lifetimes_are_compared() {
    let path = file("access.log", combined(&REQUESTS));
    let report = report(&[&[text(&path)], &LIFETIMES[..]].concat());
    let hits: Vec<_> = report["lifetimes"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|outcome| outcome["hits"].as_u64())
        .collect();
    // A second is over when the next request comes a second later.
    assert_eq!(hits, [Some(2), Some(2), Some(4), Some(0)]);
    assert_eq!(report["base"]["lifetime"], "2s");
    // What is left to the origin of seven requests with 2407 bytes, in 64 seconds.
    let left = [(5, 2207), (5, 2207), (3, 1107), (7, 2407)];
    assert_eq!(loads(&report["lifetimes"]), left);
    let rate = report["lifetimes"][2]["origin"]["rate"].as_f64();
    assert_eq!(rate, Some(3.0 / 64.0));
}

/// What is left to the origin: requests and bytes, row by row.
fn loads(outcomes: &Value) -> Vec<(u64, u64)> {
    let rows = outcomes.as_array().expect("a list").iter();
    let number = |value: &Value| value.as_u64().expect("a number");
    rows.map(|row| &row["origin"])
        .map(|origin| (number(&origin["requests"]), number(&origin["bytes"])))
        .collect()
}

#[test]
fn rules_of_eviction_are_compared() {
    let path = file("access.log", combined(&LARGE));
    let report = report(&[&[text(&path)], &SIZES_AND_RULES[..]].concat());
    let rows: Vec<_> = report["memory"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| {
            (
                row["eviction"].as_str(),
                row["memory"].as_u64(),
                row["hits"].as_u64(),
                row["evictions"].as_u64(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (Some("lru"), Some(1 << 20), Some(2), Some(1)),
            (Some("lru"), Some(64 << 20), Some(2), Some(0)),
            (Some("fifo"), Some(1 << 20), Some(1), Some(2)),
            (Some("fifo"), Some(64 << 20), Some(2), Some(0)),
        ]
    );
    assert_eq!(report["unlimited"]["hits"], 2);
    let left = [5, 5, 6, 5].map(|fetches| (fetches, fetches * 230_000));
    assert_eq!(loads(&report["memory"]), left);
}

#[test]
fn a_body_too_large_for_the_store_is_said() {
    let path = file(
        "access.log",
        combined(&[
            (0, "GET", "/big", 200, 400_000),
            (1, "GET", "/big", 200, 400_000),
        ]),
    );
    let report = report(&[text(&path), "--ttl", "1h", "--memory", "1MiB,64MiB"]);
    assert_eq!(
        (&report["base"]["hits"], &report["base"]["too_large"]),
        (&0.into(), &2.into())
    );
    assert_eq!(report["unlimited"]["hits"], 1);
}

/// What the log cannot tell is said, for the requests that it matters for.
#[test]
fn groups_of_users_are_not_told_by_logs() {
    let route = "[[origin]]\nservers = \"http://127.0.0.1:9\"\n[[route]]\npath = \"/b*\"\nuser_context = \"/group\"\n[[route]]\n";
    let config = file("groups.toml", route);
    let log = file("groups.log", combined(&REQUESTS));
    let assumed = |arguments: &[&str]| {
        let all = report(&[&[text(&log)], arguments].concat())["assumed"].to_string();
        all.contains("2 requests are on routes with groups of users")
    };
    assert!(assumed(&["--config", text(&config)]));
    assert!(!assumed(&[]));
}

/// What answers say goes before what is assumed, by the server's own rules; and what keeps them from being stored is
/// told in its own words.
#[test]
fn what_answers_say_is_heard() {
    let line = |second: u64, path: &str, request: &str, response: &str| {
        format!(
            r#"{{"ts":{}.5,"request":{{"method":"GET","host":"h","uri":"{path}","headers":{{{request}}}}},"duration":0.1,"size":10,"status":200,"resp_headers":{{{response}}}}}"#,
            BEGIN + second
        )
    };
    let mut log = String::new();
    for second in 0..3 {
        for (path, request, response) in [
            ("/long", "", r#""Cache-Control":["max-age=60"]"#),
            ("/short", "", r#""Cache-Control":["max-age=2"]"#),
            ("/silent", "", ""),
            ("/private", "", r#""Cache-Control":["private"]"#),
            ("/cookie", "", r#""Set-Cookie":["a=1"]"#),
            (
                "/star",
                "",
                r#""Vary":["*"],"Cache-Control":["max-age=60"]"#,
            ),
            (
                "/user",
                r#""Authorization":["Basic x"]"#,
                r#""Cache-Control":["max-age=60"]"#,
            ),
            (
                "/again",
                r#""Cache-Control":["no-cache"]"#,
                r#""Cache-Control":["max-age=60"]"#,
            ),
            (
                "/swr",
                "",
                r#""Cache-Control":["max-age=2, stale-while-revalidate=60"]"#,
            ),
        ] {
            writeln!(log, "{}", line(second, path, request, response)).expect("a string");
        }
        // Two variants.
        for language in ["de", "en"] {
            let request = format!(r#""Accept-Language":["{language}"]"#);
            writeln!(
                log,
                "{}",
                line(
                    second,
                    "/vary",
                    &request,
                    r#""Vary":["Accept-Language"],"Cache-Control":["max-age=60"]"#
                )
            )
            .expect("a string");
        }
    }
    let path = file("access.log", log);
    let report = report(&[text(&path), "--ttl", "30s"]);
    let fetches = |path: &str| {
        let urls = report["urls"].as_array().expect("a list");
        let found = urls
            .iter()
            .find(|url| url["url"] == format!("https://h{path}"));
        found
            .and_then(|url| url["fetches"].as_u64())
            .unwrap_or_default()
    };
    for (path, wanted) in [
        ("/long", 1),
        ("/short", 2),
        ("/silent", 1),
        ("/private", 3),
        ("/cookie", 3),
        ("/star", 3),
        ("/user", 3),
        ("/again", 3),
        ("/swr", 2),
        ("/vary", 2),
    ] {
        assert_eq!(fetches(path), wanted, "{path}: {}", report["urls"]);
    }
    assert_eq!(report["base"]["stale"], 1);
    let mut reasons: Vec<_> = report["unstored"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|reason| (reason["reason"].as_str(), reason["requests"].as_u64()))
        .collect();
    reasons.sort_unstable();
    let wanted = ["authorization", "private", "set-cookie", "vary-star"];
    assert_eq!(reasons, wanted.map(|reason| (Some(reason), Some(3))));
    let all = report["base"]["origin"]["busy"].as_f64().expect("seconds");
    assert!((all - 2.3).abs() < 1e-6, "23 fetches of 100 ms: {all}");
}

/// An unsafe request's success makes invalid what is kept; what is on its way is waited for; an error hides behind what
/// is kept.
#[test]
fn what_else_the_walk_does() {
    let line = |millis: u64, method: &str, status: u16, cache: &str| {
        format!(
            r#"{{"ts":{},"request":{{"method":"{method}","host":"h","uri":"/p"}},"duration":0.2,"size":10,"status":{status},"resp_headers":{{"Cache-Control":["{cache}"]}}}}"#,
            (BEGIN * 1000 + millis) as f64 / 1e3
        )
    };
    let keep = "max-age=10, stale-if-error=60";
    let log = [
        line(1, "GET", 200, keep),
        line(100, "GET", 200, keep),
        line(1000, "GET", 200, keep),
        line(2000, "HEAD", 200, keep),
        line(3000, "POST", 200, ""),
        line(4000, "GET", 200, keep),
        line(20_000, "GET", 503, ""),
        line(21_000, "GET", 304, keep),
        line(22_000, "GET", 206, keep),
    ];
    let report = report(&[text(&file("access.log", log.join("\n"))), "--ttl", "1s"]);
    let base = &report["base"];
    assert_eq!(base["collapsed"], 1, "the second waits");
    assert_eq!(base["stale"], 1, "the error is hidden");
    // The third, HEAD, the hidden error, and the part of what the 304 stands for.
    assert_eq!(base["hits"], 4);
    assert_eq!(base["origin"]["requests"], 5);
}

/// While refreshes fail, one is made each second: there is none until the last has failed, nor in the second in which
/// it did.
#[test]
fn a_refresh_that_failed_is_not_made_again_at_once() {
    let line = |millis: u64, status: u16, cache: &str| {
        format!(
            r#"{{"ts":{},"request":{{"method":"GET","host":"h","uri":"/p"}},"duration":0.2,"size":10,"status":{status},"resp_headers":{{"Cache-Control":["{cache}"]}}}}"#,
            (BEGIN * 1000 + millis) as f64 / 1e3
        )
    };
    for keep in [
        "max-age=1, stale-while-revalidate=60",
        "max-age=1, stale-while-revalidate=60, stale-if-error=60",
    ] {
        let tried = [10_000, 11_000, 12_900];
        let spared = [10_100, 10_500, 10_999, 11_100, 11_999, 13_000, 13_999];
        let mut failing = [&tried[..], &spared].concat();
        failing.sort_unstable();
        let mut log = vec![line(1, 200, keep)];
        log.extend(failing.iter().map(|millis| line(*millis, 503, "")));
        log.push(line(14_000, 200, keep));
        let report = report(&[text(&file("access.log", log.join("\n"))), "--ttl", "1s"]);
        let base = &report["base"];
        assert_eq!(base["stale"], failing.len() + 1, "{keep}");
        let with_the_first_and_the_last = tried.len() + 2;
        assert_eq!(
            base["origin"]["requests"], with_the_first_and_the_last,
            "{keep}"
        );
    }
}

#[test]
fn the_configuration_is_what_the_server_would_do() {
    let config = file(
        "larder.toml",
        r#"
        [[origin]]
        servers = "http://127.0.0.1:9"

        [memory]
        size = "32MiB"

        [defaults]
        ttl = "60s"
        key = { drop = ["utm_*"], sort = true }

        [[route]]
        name = "never"
        path = "/never/*"
        cache = false

        [[route]]
        name = "long"
        host = "shop.example"
        ttl = "1h"
        bypass = { cookies = "session" }
    "#,
    );
    let line = |second: u64, host: &str, target: &str, cookie: &str| {
        format!(
            r#"{{"time":{},"method":"GET","host":"{host}","uri":"{target}","status":200,"bytes":10,"http_cookie":"{cookie}"}}"#,
            BEGIN + second
        )
    };
    let log = [
        line(0, "a.example", "/p?b=1&a=2", ""),
        line(1, "a.example", "/p?a=2&utm_source=x&b=1", ""),
        line(2, "a.example", "/never/x", ""),
        line(3, "a.example", "/never/x", ""),
        line(4, "shop.example", "/p", ""),
        line(5, "shop.example", "/p", "session=1"),
        line(3000, "shop.example", "/p", "other=1"),
        line(3001, "a.example", "/p?a=2&b=1", ""),
    ];
    let report = report(&[
        text(&file("access.log", log.join("\n"))),
        "--config",
        text(&config),
    ]);
    assert_eq!(report["base"]["memory"], 32 << 20);
    assert_eq!(report["base"]["lifetime"], "as configured");
    assert_eq!(report["base"]["hits"], 2, "{report}");
    assert_eq!(
        bypassed(&report),
        [(Some("route"), Some(2)), (Some("cookie"), Some(1))]
    );
}

/// What it says of the client counts, in whatever form the log has it.
#[test]
fn a_trusted_proxy_names_the_client_in_every_format() {
    let config = file(
        "larder.toml",
        r#"
        trusted = ["10.0.0.0/8"]

        [[origin]]
        servers = "http://127.0.0.1:9"

        [defaults]
        ttl = "60s"

        [[route]]
        name = "office"
        client = "192.0.2.0/24"
        cache = false
    "#,
    );
    let times = || (0..4).map(|second| BEGIN + second);
    let json = |time| {
        format!(
            r#"{{"ts":{time},"remote_addr":"10.0.0.1","http_x_forwarded_for":"192.0.2.7","method":"GET","uri":"/p","status":200,"bytes":10}}"#
        )
    };
    let nginx = |time| format!(r#"10.0.0.1 {time}.000 "GET /p HTTP/1.1" 200 10 192.0.2.7"#);
    let format = r#"$remote_addr $msec "$request" $status $body_bytes_sent $http_x_forwarded_for"#;
    let w3c = |time: u64| {
        let second = time - BEGIN;
        format!("2025-11-21 02:36:0{second} 10.0.0.1 GET /p 200 10 192.0.2.7")
    };
    let columns =
        "#Fields: date time c-ip cs-method cs-uri-stem sc-status sc-bytes cs(X-Forwarded-For)";
    for (format, log) in [
        ("json", times().map(json).collect::<Vec<_>>()),
        (format, times().map(nginx).collect()),
        (
            "w3c",
            std::iter::once(columns.to_owned())
                .chain(times().map(w3c))
                .collect(),
        ),
    ] {
        let log = file("access.log", log.join("\n"));
        let report = report(&[text(&log), "--format", format, "--config", text(&config)]);
        assert_eq!(report["requests"], 4, "{format}");
        assert_eq!(bypassed(&report), [(Some("route"), Some(4))], "{format}");
    }
}

/// Persisted queries come so, and others may.
#[test]
fn what_a_get_asks_of_a_graphql_service_is_seen() {
    let config = file(
        "larder.toml",
        r#"
        [[origin]]
        servers = "http://127.0.0.1:9"

        [[route]]
        ttl = "60s"
        [route.graphql]
        [[route.graphql.operation]]
        name = "Viewer"
        cache = false
    "#,
    );
    let line = |query: &str| {
        format!(
            r#"{{"time":{BEGIN},"method":"GET","host":"h","uri":"/graphql?{query}","status":200,"bytes":10}}"#
        )
    };
    let log = [
        line("query=%7Ba%7D"),
        line("query=%7Ba%7D"),
        line("query=mutation%7Ba%7D"),
        line("query=mutation%7Ba%7D"),
        line("operationName=Viewer&extensions=%7B%7D"),
    ];
    let report = report(&[
        text(&file("access.log", log.join("\n"))),
        "--config",
        text(&config),
    ]);
    assert_eq!(report["base"]["hits"], 1, "{report}");
    let bypassed = report["bypassed"].as_array().expect("a list").iter();
    let bypassed: Vec<_> = bypassed
        .map(|reason| (reason["reason"].as_str(), reason["requests"].as_u64()))
        .collect();
    assert_eq!(
        bypassed,
        [(Some("mutation"), Some(2)), (Some("operation"), Some(1))]
    );
}

/// Cookies that no stored response may depend on choose no variant, and whoever has one that keeps answers from being
/// stored is answered from the store, or by the origin.
#[test]
fn cookies_are_kept_from_the_store_as_the_server_does() {
    let line = |second: u64, cookie: &str| {
        format!(
            r#"{{"time":{},"method":"GET","host":"h","uri":"/p","status":200,"bytes":10,"http_cookie":"{cookie}","sent_http_vary":"Cookie"}}"#,
            BEGIN + second
        )
    };
    let log: Vec<_> = (0..10)
        .map(|second| line(second, &format!("sid={second}")))
        .collect();
    let log = file("access.log", log.join("\n"));
    let mixed: Vec<_> = ["s=1", "s=2", "a=1", "s=3", "a=2"]
        .iter()
        .zip(0..)
        .map(|(cookie, second)| line(second, cookie))
        .collect();
    let mixed = file("mixed.log", mixed.join("\n"));
    for (name, log, defaults, hits, origin, by_cookie) in [
        ("variants", &log, "", 0, 10, None),
        ("dropped", &log, "key = { drop_cookies = true }", 9, 1, None),
        (
            "never stored",
            &log,
            r#"bypass = { misses_with = "sid" }"#,
            0,
            10,
            Some(10),
        ),
        // The first two find nothing, the third brings it, and all others find that.
        (
            "stored by others",
            &mixed,
            "bypass = { misses_with = \"s\" }\nkey = { drop_cookies = true }",
            2,
            3,
            Some(2),
        ),
    ] {
        let config =
            format!("[[origin]]\nservers = \":9\"\n[defaults]\nttl = \"1h\"\n{defaults}\n");
        let config = file("larder.toml", config);
        let report = report(&[text(log), "--config", text(&config)]);
        assert_eq!(report["base"]["hits"], hits, "{name}");
        assert_eq!(report["base"]["origin"]["requests"], origin, "{name}");
        let bypassed = &report["bypassed"][0];
        assert_eq!(
            bypassed["requests"].as_u64(),
            by_cookie,
            "{name}: {bypassed}"
        );
        if by_cookie.is_some() {
            assert_eq!(
                (&bypassed["reason"], &bypassed["example"]),
                (&"cookie".into(), &"https://h/p".into()),
                "{name}"
            );
            assert_eq!(report["urls"][0]["reason"], "cookie", "{name}");
        }
    }
}

/// The same requests with the same cookies, before a real Larder and in a log: as many hits, and of the same requests
/// to the origin.
#[test]
fn agrees_with_a_real_larder_about_cookies() {
    let origin = Origin::start();
    origin.otherwise(|_| Reply::ok().header("Vary", "Cookie").body("x"));
    let config = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\nworkers = 1\n[[origin]]\nservers = \"{}\"\n[defaults]\nttl = \"1h\"\n\
         key = {{ drop_cookies = true, cookies = \"language\" }}\nbypass = {{ cookies = \"admin\", misses_with = \"session\" }}\n",
        origin.url()
    );
    let config = file("larder.toml", config);
    let larder = Command::new(BINARY)
        .args(["serve", "--config", text(&config)])
        .start();
    let cookies = [
        "session=1",
        "a=1",
        "session=2",
        "a=2",
        "language=de",
        "language=en",
        "language=de; a=3",
        "admin=1",
        "",
        "session=3; language=fr",
        "language=fr",
        "session=3; language=fr",
    ];
    let (mut client, mut hits, mut log) = (larder.client(), 0_u64, String::new());
    for (cookie, second) in cookies.iter().zip(0..) {
        let answer = client.get("/p").header("Cookie", cookie).send();
        hits += u64::from(answer.joined("cache-status").contains("; hit"));
        let time = BEGIN + second;
        writeln!(
            log,
            r#"{{"time":{time},"scheme":"http","method":"GET","host":"example.test","request_uri":"/p","status":200,"bytes":1,"http_cookie":"{cookie}","sent_http_vary":"Cookie"}}"#
        )
        .expect("a string");
    }
    drop(client);
    larder.stop();
    let report = report(&[text(&file("access.log", log)), "--config", text(&config)]);
    assert_eq!(report["base"]["hits"], hits, "{report}");
    assert_eq!(report["base"]["origin"]["requests"], origin.requests("/p"));
    assert_eq!(hits, 5);
}

/// Its own log has neither cookies nor types, but says for whom it passed the store by.
#[test]
fn agrees_with_a_real_larder_about_its_own_log() {
    let origin = Origin::start();
    origin.otherwise(|request| {
        let kind = match request.path() {
            "/style.css" => "text/css",
            _ => "text/html",
        };
        Reply::ok().header("Content-Type", kind).body("x")
    });
    let log = scratch_dir().join("access.log");
    let config = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n[[origin]]\nservers = \"{}\"\n[log]\naccess = {:?}\n\
         [defaults]\nttl = \"1h\"\nbypass = {{ cookies = \"admin\", headers = \"X-Nonce\" }}\n\
         [[route]]\npath = \"*.css\"\nttl_mode = \"static\"\n",
        origin.url(),
        text(&log)
    );
    let config = file("larder.toml", config);
    let larder = Command::new(BINARY)
        .args(["serve", "--config", text(&config)])
        .start();
    let (mut client, mut hits) = (larder.client(), 0_u64);
    for (path, field, value) in [
        ("/p", "Cookie", "admin=1"),
        ("/p", "X-Nonce", "1"),
        ("/p", "X", ""),
        ("/p", "Cookie", "admin=2"),
        ("/p", "X", ""),
        ("/style.css", "X", ""),
        ("/style.css", "Cookie", "admin=1"),
        ("/style.css", "X", ""),
        ("/page.css", "X", ""),
    ] {
        let answer = client.get(path).header(field, value).send();
        hits += u64::from(answer.joined("cache-status").contains("; hit"));
    }
    drop(client);
    larder.stop();
    let report = report(&[text(&log), "--config", text(&config)]);
    assert_eq!(report["base"]["hits"], hits, "{report}");
    assert_eq!(hits, 2);
    assert_eq!(
        bypassed(&report),
        [(Some("cookie"), Some(3)), (Some("header"), Some(1))]
    );
}

/// Logs of other servers have targets as clients wrote them.
#[test]
fn agrees_with_a_real_larder_about_targets_that_are_no_uris() {
    let origin = Origin::start();
    origin.otherwise(|_| Reply::ok().cache("max-age=60").body("x"));
    let config = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n[[origin]]\nservers = \"{}\"\n[defaults]\nttl = \"60s\"\n",
        origin.url()
    );
    let config = file("larder.toml", config);
    let larder = Command::new(BINARY)
        .args(["serve", "--config", text(&config)])
        .start();
    for (method, target, refused) in [
        ("GET", "/graphql?variables={\"a\":1}", None),
        ("GET", "/q?a=<b>", None),
        ("HEAD", "/<script>", None),
        ("GET", "/a`b\u{e9}", None),
        ("POST", "/q?a=<b>", Some("bad-request")),
        ("GET", "*", Some("target-form")),
        ("GET", "ftp://a/", Some("target-form")),
    ] {
        let log = format!(
            "192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] \"{method} {} HTTP/1.1\" 200 1 \"-\" \"-\"\n",
            target.replace('"', "\\x22")
        );
        let log = file("access.log", log.repeat(2));
        let report = report(&[text(&log), "--config", text(&config)]);
        let reasons = report["refused"].as_array().expect("a list");
        let why = reasons.first().and_then(|one| one["reason"].as_str());
        assert_eq!(why, refused, "{method} {target}: {report}");
        let answers = [(); 2].map(|()| larder.ask(method, target).send());
        let is_refused = answers.iter().any(|answer| answer.status == 400);
        assert_eq!(is_refused, refused.is_some(), "{method} {target}");
        let hits = answers.iter().filter(|answer| {
            let said = answer.joined("cache-status");
            said.contains("; hit")
        });
        assert_eq!(report["base"]["hits"], hits.count(), "{method} {target}");
    }
}

/// Requests that the server itself sends to HTTPS ask nobody.
#[test]
fn redirects_to_https_are_left_out() {
    let config = file(
        "larder.toml",
        "[[origin]]\nservers = \":9\"\n[defaults]\nredirect_https = true\nttl = \"1h\"\n",
    );
    let log = "a.example:80 192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] \"GET / HTTP/1.1\" 301 5\n\
               a.example:443 192.0.2.7 - - [21/Nov/2025:02:36:01 +0000] \"GET / HTTP/1.1\" 200 5\n";
    let report = report(&[text(&file("access.log", log)), "--config", text(&config)]);
    assert_eq!(
        (&report["requests"], &report["log"]["own"]),
        (&1.into(), &1.into())
    );
}

/// Of a hit the log tells how long the cache took, under whatever name.
#[test]
fn how_long_a_hit_took_is_not_the_origins_time() {
    let line = |second: u64, hitmiss: &str, took: &str| {
        let clock = clock(second);
        format!(
            "192.0.2.7 - - [21/Nov/2025:{clock} +0000] \"GET http://h/p HTTP/1.1\" 200 10 {hitmiss} {took}\n"
        )
    };
    let log = line(0, "miss", "0.200000") + &line(1, "hit", "0.000020");
    let report = report(&[
        text(&file("access.log", log)),
        "--format",
        r#"%h %l %u %t "%r" %s %b %{Varnish:hitmiss}x %{Varnish:time_firstbyte}x"#,
    ]);
    assert_eq!(report["without"]["busy"], 0.4);
}

/// It asks nobody and writes nothing, whatever the configuration names.
#[test]
fn nothing_is_touched() {
    let folder = scratch_dir();
    let listeners: Vec<_> = (0..3)
        .map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"))
        .collect();
    let address = |number: usize| listeners[number].local_addr().expect("an address");
    let config = format!(
        "listen = \"{}\"\n[log]\naccess = \"{}\"\n[disk]\npath = \"{}\"\nsize = \"64MiB\"\n[shared]\nurl = \"redis://{}\"\n\
         [[origin]]\nservers = \"{}\"\n",
        address(0),
        folder.join("access-of-the-server.log").display(),
        folder.join("pages").display(),
        address(1),
        address(2),
    );
    fs::write(folder.join("larder.toml"), config).expect("a configuration");
    fs::write(folder.join("access.log"), combined(&REQUESTS)).expect("a log");
    let (log, config) = (folder.join("access.log"), folder.join("larder.toml"));
    let report = report(&[text(&log), "--config", text(&config), "--ttl", "60s"]);
    assert_eq!(report["base"]["hits"], 2);
    let mut left: Vec<_> = fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("a file").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["access.log", "larder.toml"]);
    for listener in listeners {
        listener.set_nonblocking(true).expect("set");
        let nobody = listener.accept().map_err(|error| error.kind());
        assert!(matches!(nobody, Err(ErrorKind::WouldBlock)), "{nobody:?}");
    }
}

#[test]
fn urls_are_told_by_what_they_cost() {
    let line = |path: &str, bytes: u64, took: &str| {
        let request = format!(r#""request":{{"method":"GET","host":"h","uri":"{path}"}}"#);
        format!(r#"{{"ts":{BEGIN},{request},"size":{bytes},"status":200{took}}}"#)
    };
    let slow = [
        line("/cheap", 900, r#","duration":0.1"#),
        line("/slow", 10, r#","duration":0.5"#),
        line("/twice", 10, r#","duration":0.3"#),
        line("/twice", 10, r#","duration":0.3"#),
    ];
    let large = [
        line("/small", 10, ""),
        line("/large", 900, ""),
        line("/middle", 300, ""),
    ];
    for (log, wanted) in [
        (slow.join("\n"), ["/twice", "/slow", "/cheap"]),
        (large.join("\n"), ["/large", "/middle", "/small"]),
    ] {
        let config = file(
            "larder.toml",
            "[[origin]]\nservers = \":9\"\n[defaults]\ncache = false\n",
        );
        let report = report(&[text(&file("access.log", log)), "--config", text(&config)]);
        let urls = report["urls"].as_array().expect("a list").iter();
        let urls: Vec<_> = urls
            .map(|url| url["url"].as_str().expect("a URL"))
            .collect();
        assert_eq!(urls, wanted.map(|path| format!("https://h{path}")));
    }
}

fn zipped(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn logs_that_were_rotated_and_compressed_are_put_in_order() {
    let (older, newer) = REQUESTS.split_at(3);
    let old = file("access.log.1.gz", zipped(&combined(older)));
    let new = file("access.log", combined(newer));
    let report = report(&[text(&new), text(&old), "--ttl", "60s"]);
    assert_eq!(report["base"]["hits"], 2);
    assert_eq!(report["log"]["out_of_order"], 0);
    let first = report["log"]["files"][0]["name"].as_str().expect("a name");
    assert!(first.ends_with("access.log.1.gz"), "{first}");
}

/// Just after rotation.
#[test]
fn an_empty_log_leaves_the_others_in_order() {
    let (older, newer) = REQUESTS.split_at(3);
    let old = file("access.log.2", combined(older));
    let new = file("access.log.1", combined(newer));
    let empty = file("access.log", "");
    let report = report(&[text(&empty), text(&new), text(&old), "--ttl", "60s"]);
    assert_eq!(report["base"]["hits"], 2);
    assert_eq!(report["log"]["out_of_order"], 0);
}

#[test]
fn a_log_comes_from_standard_input() {
    let mut child = std::process::Command::new(BINARY)
        .args(["simulate", "-", "--ttl", "60s", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("larder");
    let mut input = child.stdin.take().expect("a pipe");
    input
        .write_all(&zipped(&combined(&REQUESTS)))
        .expect("read");
    drop(input);
    let output = child.wait_with_output().expect("ends");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["base"]["hits"], 2);
}

#[test]
fn bad_lines_are_counted_and_the_first_are_shown() {
    let mut log = combined(&REQUESTS[..1]);
    for number in 0..8 {
        writeln!(log, "nonsense {number} \u{1b}[31m").expect("a string");
    }
    log += "\n";
    log += &combined(&REQUESTS[1..]);
    let path = file("access.log", log);
    let report = report(&[text(&path), "--ttl", "60s"]);
    assert_eq!(
        (&report["log"]["bad"], &report["base"]["hits"]),
        (&8.into(), &2.into())
    );
    let shown = report["log"]["shown"].as_array().expect("a list");
    assert_eq!(
        (shown.len(), &shown[0]["line"], &shown[0]["why"]),
        (5, &2.into(), &"binary data".into())
    );
    let finished = simulate(&[text(&path)]);
    assert_eq!(finished.code, Some(0));
    assert!(
        finished.stdout.contains("8 lines were not understood:"),
        "{}",
        finished.stdout
    );
    assert!(
        finished
            .stdout
            .contains("access.log:2: binary data: nonsense 0"),
        "{}",
        finished.stdout
    );
    assert!(
        !finished.stdout.contains('\u{1b}'),
        "a log does not speak to the terminal"
    );
}

#[test]
fn what_is_no_log_is_no_crash() {
    let binary: Vec<u8> = (0..100_000_u32)
        .map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let long = [
        combined(&REQUESTS[..2]).into_bytes(),
        vec![b'x'; 100 << 20],
        b"\n".to_vec(),
        combined(&REQUESTS[2..]).into_bytes(),
    ]
    .concat();
    let half = zipped(&combined(&REQUESTS).repeat(1000));
    for (name, content, code, told) in [
        (
            "empty",
            vec![],
            0,
            "access.log\n\nNo request to simulate: there are no lines.",
        ),
        (
            "blank lines",
            b"\n\n\r\n".to_vec(),
            0,
            "No request to simulate: there are no lines.",
        ),
        ("binary", binary, 1, "binary data"),
        (
            "a line of 100 MB",
            long,
            0,
            "access.log:3: too long for a line of a log",
        ),
        (
            "another line",
            format!("{}x\n", combined(&REQUESTS[..1])).into(),
            0,
            "\n1 line was not understood:\n",
        ),
        (
            "without its last line's end",
            combined(&REQUESTS).trim_end().into(),
            0,
            "7 requests",
        ),
        (
            "half a gzip",
            half[..half.len() / 2].to_vec(),
            0,
            "not read to its end: ",
        ),
    ] {
        let path = file("access.log", content);
        let finished = simulate(&[text(&path)]);
        assert_eq!(
            finished.code,
            Some(code),
            "{name}: {}{}",
            finished.stdout,
            finished.stderr
        );
        assert!(
            finished.stdout.contains(told),
            "{name}: {}",
            finished.stdout
        );
    }
}

/// Connections on which nothing was asked, and requests that no server takes.
#[test]
fn a_log_without_any_request_to_simulate_says_why() {
    let line = |request: &str, status: u16| {
        format!("192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] {request:?} {status} 0\n")
    };
    let own = "{\"time\":\"2025-11-21T02:36:00Z\",\"method\":\"GET\",\"target\":\"/\",\"status\":408,\"cache\":\"NONE\"}\n";
    for (log, code, told, why) in [
        (
            line("", 400) + &line("-", 408),
            1,
            "access.log:2: no request that could be read",
            "no line was understood",
        ),
        (
            "{\"a\":1}\n".to_owned(),
            1,
            "access.log:1: no time that could be read",
            "no line was understood",
        ),
        (
            line("GET a b HTTP/1.1", 400) + &line("GET * HTTP/1.1", 400),
            0,
            "target-form",
            "the server would refuse them",
        ),
        (
            own.to_owned(),
            0,
            "1 answer that a cache gives itself is left out",
            "a cache gave the answers itself",
        ),
    ] {
        let (path, page) = (file("access.log", &log), scratch_dir().join("page.html"));
        let finished = simulate(&[text(&path), "--html", text(&page)]);
        let said = &finished.stdout;
        let why = format!("No request to simulate: {why}.");
        assert!(said.contains(told) && said.contains(&why), "{log}{said}");
        assert_eq!(finished.code, Some(code), "{said}");
        let page = fs::read_to_string(page).expect("a page");
        assert!(page.contains(&why), "{page}");
    }
}

/// What a listener does not let in is no request to the application, also where another server let it in.
#[test]
fn what_is_too_long_for_a_listener_is_refused() {
    let line = |target: &str| {
        format!("192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] \"GET {target} HTTP/1.1\" 200 5\n")
    };
    let at = |length: usize| line(&format!("/{}", "a".repeat(length - 1)));
    let log = [100, 101, 70_000].map(at).concat() + &line("http://a.test/a");
    let path = file("access.log", log);
    let config = "[[origin]]\nservers = \":5001\"\n[limits]\ntarget_length = \"100B\"\n";
    let config = file("larder.toml", config);
    let report = report(&[text(&path), "--config", text(&config)]);
    assert_eq!(report["requests"], 2);
    let refused = &report["refused"];
    assert_eq!(
        (&refused[0]["reason"], &refused[0]["requests"]),
        (&"target-too-long".into(), &2.into()),
        "{refused}"
    );
}

/// The lines behind it are whole, though they were read together with its end.
#[test]
fn lines_behind_one_that_is_too_long_are_read() {
    for long in [300 << 10, 1000 << 10, 1500 << 10] {
        let behind = combined(&REQUESTS).repeat(500);
        for end in ["", &behind] {
            let log = format!("{}{}\n{behind}{end}", combined(&REQUESTS), "x".repeat(long));
            let report = report(&[text(&file("access.log", &log)), "--ttl", "60s"]);
            let lines = log.lines().count() as u64 - 1;
            assert_eq!(report["log"]["lines"], lines, "{long}");
            assert_eq!(report["log"]["bad"], 1, "{long}");
        }
    }
}

/// The last moment that can be written, and times behind it.
#[test]
fn the_end_of_time_is_no_crash() {
    let log = "192.0.2.7 - - [31/Dec/9999:23:59:60 +0000] \"GET /a HTTP/1.1\" 200 1\n\
               192.0.2.7 - - [31/Dec/9999:23:59:59 -0001] \"GET /a HTTP/1.1\" 200 1\n";
    let finished = simulate(&[text(&file("access.log", log))]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(
        finished.stdout.contains("9999-12-31T23:59:59Z"),
        "{}",
        finished.stdout
    );
}

#[test]
fn times_out_of_order_are_counted() {
    let requests = [
        (600, "GET", "/a", 200, 1),
        (590, "GET", "/a", 200, 1),
        (10, "GET", "/a", 200, 1),
    ];
    let path = file("access.log", combined(&requests));
    let finished = simulate(&[text(&path)]);
    assert!(
        finished
            .stdout
            .contains("1 line is more than a minute late"),
        "{}",
        finished.stdout
    );
}

#[test]
fn what_cannot_be_done_is_said_before_the_logs_are_read() {
    let log = file("access.log", combined(&REQUESTS));
    let log = text(&log);
    let faulty = file(
        "larder.toml",
        "listne = 1\n[[origin]]\nservers = \":5001\"\n",
    );
    for (arguments, code, told) in [
        (&[log, "--html", log][..], 1, "is one of the logs"),
        (
            &[log, "--html", "/no/such/folder/page.html"][..],
            1,
            "cannot write /no/such/folder/page.html",
        ),
        (
            &["/no/such/access.log"],
            1,
            "cannot read /no/such/access.log",
        ),
        (&["/tmp"], 1, "cannot read /tmp"),
        (&[log, "--config", text(&faulty)], 1, "listne"),
        (
            &[log, "--config", "/no/such/larder.toml"],
            1,
            "cannot read /no/such/larder.toml",
        ),
        (&[log, "--memory", "12"], 2, "no unit"),
        (&[log, "--memory", "1KiB"], 2, "at least 1MiB"),
        (&[log, "--ttl", "soon"], 2, "not a duration"),
        (&[log, "--eviction", "best"], 2, "larder, lru, fifo"),
        (
            &[log, "--format", "$status"],
            2,
            "has no field for the time",
        ),
        (&[], 2, "LOG"),
    ] {
        let finished = simulate(arguments);
        assert_eq!(finished.code, Some(code), "{arguments:?}");
        assert_eq!(finished.stdout, "", "{arguments:?}");
        assert!(
            finished.stderr.contains(told),
            "{arguments:?}: {}",
            finished.stderr
        );
    }
    assert_eq!(
        fs::read_to_string(log).expect("untouched"),
        combined(&REQUESTS)
    );
}

#[test]
fn the_page_needs_nothing_else_and_nothing_in_a_log_is_believed() {
    let mut log = combined(&REQUESTS);
    log += &combined(&[(70, "GET", "/%3Cscript%3Ealert(1)'&amp;", 200, 9)]);
    log += "<script>alert(2)</script>\n";
    let page = scratch_dir().join("page.html");
    let finished = simulate(&[text(&file("access.log", log)), "--html", text(&page)]);
    assert_eq!((finished.code, &*finished.stderr), (Some(0), ""));
    let page = fs::read_to_string(&page).expect("a page");
    assert_eq!(page.matches("<svg").count(), 2);
    assert!(page.contains("&lt;script&gt;alert(2)"), "{page}");
    for none in ["<script", "src=", "href=", "@import", "url("] {
        assert!(!page.contains(none), "{none}");
    }
}

/// What the figures say is said in words too: what bypasses the store, and the URLs that cost most, dearest first.
#[test]
fn a_person_reads_what_costs_most_and_why() {
    let line = |asked: &str| {
        format!(
            "127.0.0.1 - - [24/Nov/2026:02:00:00 +0000] \"{asked} HTTP/1.1\" 200 100 \"-\" \"x\"\n"
        )
    };
    let log = [
        line("GET /once").repeat(2),
        line("POST /form").repeat(3),
        line("PUT /put"),
    ]
    .concat();
    let finished = simulate(&[text(&file("access.log", log))]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    // A table's lines, without the space between its columns.
    let rows = |head: &str| -> Vec<String> {
        let lines = finished.stdout.lines();
        lines
            .skip_while(|line| !line.contains(head))
            .skip(1)
            .take_while(|line| !line.is_empty())
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    };
    assert_eq!(
        rows("The store is bypassed"),
        ["method 4 https://localhost/form"]
    );
    assert_eq!(
        rows("URLs that cost most"),
        [
            "3 3 300 B https://localhost/form (method)",
            "1 2 100 B https://localhost/once",
            "1 1 100 B https://localhost/put (method)",
        ]
    );
}

/// A terminal of 40 columns.
#[test]
fn a_narrow_terminal_gets_narrow_tables() {
    let log = file("access.log", combined(&REQUESTS));
    let line = format!(
        "stty cols 40 rows 20; '{BINARY}' simulate '{}'",
        log.display()
    );
    let output = std::process::Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "dumb")
        .stdin(Stdio::null())
        .output()
        .expect("script of bsdutils");
    let text = String::from_utf8_lossy(&output.stdout);
    let table = text
        .lines()
        .skip_while(|line| !line.contains("Memory"))
        .take(7);
    let widest = table.map(|line| line.trim_end().chars().count()).max();
    assert!(widest.is_some_and(|widest| widest <= 40), "{text}");
}

/// A configuration with a fault, told on a terminal: in colours where they are wanted and shown, and no wider than it is.
#[test]
fn a_fault_is_told_as_the_terminal_can_show_it() {
    let config = file(
        "larder.toml",
        "[[origin]]\nserver = \":9\"\n[defaults]\nttl = \"soon\"\n",
    );
    let log = file("access.log", combined(&REQUESTS));
    let told = |columns: &str, no_color: &str, terminal: &str| {
        let line = format!(
            "stty cols {columns} rows 24; exec '{BINARY}' simulate '{}' --config '{}'",
            log.display(),
            config.display()
        );
        let output = std::process::Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .env("TERM", terminal)
            .env("NO_COLOR", no_color)
            .stdin(Stdio::null())
            .output()
            .expect("script of bsdutils");
        assert_eq!(output.status.code(), Some(1));
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(told.contains("2 faults in"), "{told}");
        told
    };
    assert!(told("100", "", "xterm").contains("\u{1b}["));
    for plain in [told("100", "1", "xterm"), told("100", "", "dumb")] {
        assert!(!plain.contains('\u{1b}'), "{plain:?}");
    }
    // The name of the file is one word, however long.
    let widest = |told: &str| {
        let words = told.lines().filter(|line| !line.contains("larder.toml"));
        words.map(|line| line.trim_end().chars().count()).max()
    };
    let (narrow, wide) = (told("40", "1", "xterm"), told("100", "1", "xterm"));
    assert!(widest(&narrow) <= Some(40), "{narrow}");
    assert!(widest(&wide) > Some(40), "{wide}");
    // A terminal that is no wider than a letter is told all the same.
    told("1", "1", "xterm");
}

/// A terminal shows how far it is, and nothing of that stays.
#[test]
fn a_terminal_has_a_bar_that_is_cleared() {
    let log = file("access.log", combined(&REQUESTS));
    let seen = |flags: &str| {
        let line = format!(
            "stty cols 100 rows 24; exec '{BINARY}' simulate '{}' {flags}",
            log.display()
        );
        let output = std::process::Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .env("TERM", "xterm")
            .stdin(Stdio::null())
            .output()
            .expect("script of bsdutils");
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let drawn = seen("");
    let size = fs::metadata(&log).expect("a log").len();
    let (bar, rest) = drawn.split_once(" left").expect("a bar");
    assert!(bar.contains(&format!("0 B of {size} B")), "{drawn:?}");
    let (_, report) = rest.rsplit_once("\u{1b}[2K").expect("cleared");
    assert!(
        report.contains("7 requests in") && !report.contains(" left"),
        "{drawn:?}"
    );
    let quiet = seen("--quiet");
    assert!(
        quiet.contains("7 requests in") && !quiet.contains(" left"),
        "{quiet:?}"
    );
}

/// Requests to the real one.
const ROUNDS: u64 = 3000;

/// A real Larder answers a skewed load from too little memory and writes its log; the simulation of that log, under the
/// same configuration, comes to the same hits. They may differ by 3 % of the requests: what a fill takes for a moment,
/// and the random part of the hash that decides on ties of eviction, are not simulated.
#[test]
fn agrees_with_a_real_larder() {
    let origin = Origin::start();
    origin.otherwise(|request| {
        let number: usize = request
            .target
            .trim_matches(|letter: char| !letter.is_ascii_digit())
            .parse()
            .unwrap_or_default();
        let reply = Reply::ok().body("x".repeat(2000 + number * 701 % 30_000));
        match number % 10 {
            0 => reply.cache("private"),
            1 => reply.cache("no-store"),
            2 => reply.header("Set-Cookie", "a=1"),
            _ => reply,
        }
    });
    let folder = scratch_dir();
    let log = folder.join("access.log");
    let config = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\nworkers = 1\n[memory]\nsize = \"2MiB\"\n[log]\naccess = \"{}\"\n\
         format = \"json\"\n[[origin]]\nservers = \"{}\"\n[defaults]\nttl = \"1h\"\nheuristic = false\n",
        log.display(),
        origin.url()
    );
    let config = file("larder.toml", config);
    let larder = Command::new(BINARY)
        .args(["serve", "--config", text(&config)])
        .start();
    let (mut hits, mut state) = (0_u64, 1_u32);
    let mut client = larder.client();
    for _ in 0..ROUNDS {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
        let share = f64::from(state >> 8) / f64::from(1_u32 << 24);
        // Four in five requests go to a fifth of 400 pages, or so.
        let number = (share.powi(3) * 400.0) as usize;
        let answer = client.get(&format!("/page-{number}")).send();
        hits += u64::from(answer.joined("cache-status").contains("; hit"));
    }
    drop(client);
    larder.stop();
    let report = report(&[text(&log), "--config", text(&config)]);
    assert_eq!(report["requests"], ROUNDS);
    let simulated = report["base"]["hits"].as_u64().expect("a number");
    assert!(
        hits > ROUNDS / 4 && hits < ROUNDS * 3 / 4,
        "the load says something: {hits} hits"
    );
    assert!(
        report["base"]["evictions"].as_u64() > Some(100),
        "memory is too little: {}",
        report["base"]
    );
    assert!(
        hits.abs_diff(simulated) <= ROUNDS * 3 / 100,
        "{hits} real, {simulated} simulated"
    );
}
