//! What a message proposes is not itself a fault.

use super::{ORIGIN, read};
use crate::config::Fault;

/// The text before the key, the keys, and the text after.
const PLACES: [(&str, &str, &str); 13] = [
    ("", "admin", ORIGIN),
    ("", "listen name trusted targeted_fields", ORIGIN),
    ("[memory]", "size", ORIGIN),
    ("[disk]", "path", ORIGIN),
    ("[disk]\npath = \"d\"", "size write_rate", ORIGIN),
    (
        "[limits]",
        "header_time header_size header_count connections idle_time request_body",
        ORIGIN,
    ),
    ("[report]", "x_cache", ORIGIN),
    ("[report]\nnode = \"a\"", "node_field", ORIGIN),
    ("[log]", "access format level", ORIGIN),
    (
        "disk = { path = \"d\", size = \"1TiB\" }\n[[route]]",
        "name host path method header cookie query client ttl browser_ttl compress \
         largest_body origin_host pass_fields user_context key.query key.headers key.cookies \
         bypass.cookies bypass.query bypass.paths bypass.headers request_headers.set response_headers.remove stale.if_error",
        ORIGIN,
    ),
    (
        "[[route]]",
        "compress_types compress_min_size key.query_except key.drop",
        ORIGIN,
    ),
    ("[[origin]]", "servers", ""),
    (
        ORIGIN,
        "resolve_every idle_time health.every health.path health.host health.status timeouts.connect most_concurrent",
        "",
    ),
];

/// Values that are wrong everywhere, or in some places.
const VALUES: &str = r#""" " " "on" "/" "*" "~" "unix:" "unix:/run/" "http://" "https://a/b" "a b" "é" "a\u0007" "a;b&c=d"
    ".a" "~ ^/a" "~ /ü" "/{a}|b" "x:1" "9181" "127.0.0.1" "-1s" "10.0.0.1/8" "X-*" -5 99999999999 1979-05-27 [] [""] true {}"#;

/// Returns the text in the backticks, as a value for `key`. Proposals for other keys are left out.
fn proposed(fault: &Fault, key: &str) -> Option<String> {
    let instead = fault.instead.as_deref()?;
    let begun = |words| instead.strip_prefix(words);
    let line = begun("write `").or_else(|| begun("for example `"))?;
    let (line, _) = line.rsplit_once('`')?;
    let last = key.rsplit('.').next()?;
    let own = line
        .strip_prefix(last)
        .and_then(|rest| rest.strip_prefix(" = "));
    // A member of a list is written without its key.
    own.map(str::to_owned)
        .or_else(|| line.starts_with('"').then(|| format!("[{line}]")))
}

fn values() -> impl Iterator<Item = &'static str> {
    let mut inside = false;
    let between = VALUES.split(move |letter: char| {
        inside ^= letter == '"';
        letter.is_whitespace() && !inside
    });
    between.filter(|value| !value.is_empty())
}

#[test]
fn what_is_proposed_is_accepted() {
    let (mut accepted, mut refused) = (0, Vec::new());
    for ((before, keys, behind), value) in PLACES
        .iter()
        .flat_map(|place| values().map(move |value| (place, value)))
    {
        // All keys of a place at once, because all faults are reported at once.
        let text = |lines: &[String]| format!("{before}\n{}\n{behind}", lines.join("\n"));
        let keys: Vec<&str> = keys.split_whitespace().collect();
        let lines: Vec<String> = keys.iter().map(|key| format!("{key} = {value}")).collect();
        let written = text(&lines);
        let Err(faults) = read(&written) else {
            continue;
        };
        let first = before.lines().count().max(1);
        let mut meant = Vec::new();
        for fault in faults.list() {
            let Some(span) = &fault.span else {
                continue;
            };
            let line = written
                .bytes()
                .take(span.start)
                .filter(|byte| *byte == b'\n')
                .count();
            let key = line.checked_sub(first).and_then(|line| keys.get(line));
            meant.extend(key.and_then(|key| Some(format!("{key} = {}", proposed(fault, key)?))));
        }
        meant.sort();
        meant.dedup_by_key(|line| line.split(' ').next().map(str::to_owned));
        accepted += meant.len();
        if let Err(again) = read(&text(&meant)) {
            refused.push(format!("where {value} stood:\n{again}"));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(accepted > 500, "{accepted}");
}
