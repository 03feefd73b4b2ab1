//! The public suite for HTTP caches (`http-cache-tests`), which asks every cache the same.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::Path,
    process::{Command, Stdio},
};

/// What does not pass, and why it is not to.
const DEVIATIONS: [(&[&str], &str); 11] = [
    (
        &[
            "age-parse-nonnumeric",
            "age-parse-negative",
            "age-parse-float",
            "age-parse-prefix-twoline",
            "age-parse-dup-0",
            "age-parse-dup-0-twoline",
            "age-parse-dup-old",
            "age-parse-parameter",
            "age-parse-numeric-parameter",
        ],
        "RFC 9111 section 5.1: the first member counts, and an `Age` that is none is ignored",
    ),
    (
        &[
            "stale-close-must-revalidate",
            "stale-close-proxy-revalidate",
            "stale-close-no-cache",
            "stale-close-s-maxage=2",
        ],
        "the answer is a 502 of our own, which has no number of the suite's origin: it takes that for a hit",
    ),
    (
        &["vary-normalise-lang-order", "vary-normalise-lang-select"],
        "which language is sent is for the application to choose, and some choose by order",
    ),
    (
        &["vary-normalise-space"],
        "nobody knows where white space counts in a field without a definition (RFC 9111 section 4.1)",
    ),
    (
        &["conditional-lm-fresh-no-lm"],
        "RFC 9111 section 4.3.2: `Date` stands for `Last-Modified`, and is later than the condition",
    ),
    (
        &["headers-store-Set-Cookie", "other-set-cookie"],
        "what sets a cookie is not stored unless it says that it may be shared",
    ),
    (
        &["304-etag-update-response-Set-Cookie"],
        "as above: there is nothing stored to be validated",
    ),
    (
        &["headers-store-Transfer-Encoding"],
        "the suite sends a transfer coding that does not exist",
    ),
    (
        &["304-etag-update-response-Content-MD5"],
        "RFC 9111 section 3.2 exempts no such field",
    ),
    (
        &["304-etag-update-response-ETag"],
        "the suite confirms one tag and sends another: what it sends is validated by that",
    ),
    (
        &[
            "partial-store-partial-reuse-partial",
            "partial-store-partial-reuse-partial-byterange",
            "partial-store-partial-reuse-partial-absent",
            "partial-store-partial-reuse-partial-suffix",
            "partial-store-partial-complete",
        ],
        "the suite's ranges are longer than its content; without a strong validator nothing is combined (RFC 9110 section 15.3.7.3)",
    ),
];

/// What caches may do (`check` in the suite's words) is for each to choose; what they must do, and do at their best, is
/// held against [`DEVIATIONS`].
#[test]
fn what_deviates_from_the_public_suite_is_what_is_explained() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut suite = Command::new("node")
        .arg(root.join("tests/data/cache_suite/run.mjs"))
        .arg(root.join("../../target/suite/node_modules/http-cache-tests"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node starts");
    let mut lines = BufReader::new(suite.stdout.take().expect("piped"));
    let mut port = String::new();
    lines.read_line(&mut port).expect("the port is told");
    let larder = testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
        .args([format!("http://127.0.0.1:{}", port.trim())])
        .start();
    let input = suite.stdin.as_mut().expect("piped");
    writeln!(input, "{}", larder.listeners()[0]).expect("written");
    let mut told = String::new();
    lines.read_to_string(&mut told).expect("read");
    assert!(suite.wait().expect("ended").success());

    let rows: Vec<[&str; 3]> = told
        .lines()
        .filter_map(|line| line.splitn(3, '\t').collect::<Vec<_>>().try_into().ok())
        .collect();
    assert!(rows.len() > 300, "{told}");
    let deviates = |[kind, _, outcome]: &&[&str; 3]| *kind != "check" && *outcome != "passed";
    let found: BTreeMap<_, _> = rows
        .iter()
        .filter(deviates)
        .map(|[_, name, outcome]| (*name, *outcome))
        .collect();
    let explained = DEVIATIONS.iter().flat_map(|(names, _)| *names);
    let mut expected: Vec<&str> = explained.copied().collect();
    expected.sort_unstable();
    let names: Vec<&str> = found.keys().copied().collect();
    assert_eq!(names, expected, "{found:#?}");
}
