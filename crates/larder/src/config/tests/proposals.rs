//! What a message proposes is not itself a fault.

use super::{ORIGIN, read};
use crate::config::Fault;

/// The text before the key, the keys, and the text after.
const PLACES: [(&str, &str, &str); 18] = [
    ("", "admin", ORIGIN),
    ("", "listen name trusted targeted_fields", ORIGIN),
    ("[memory]", "size", ORIGIN),
    ("[disk]", "path", ORIGIN),
    ("[disk]\npath = \"d\"", "size write_rate", ORIGIN),
    (
        "[shared]\nurl = \"redis://r\"",
        "largest_body timeout",
        ORIGIN,
    ),
    (
        "[limits]",
        "header_time header_size header_count connections connections_per_address idle_time request_body variants target_length",
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
        "compress_types compress_min_size largest_content refuse key.query_except key.drop",
        ORIGIN,
    ),
    ("[[origin]]", "servers", ""),
    ("[[listen]]\naddress = \":80\"", "redirect_https", ORIGIN),
    ("[purge]", "miss_status", ORIGIN),
    ("[purge.refresh]", "most rate", ORIGIN),
    (ORIGIN, "retry.percent", ""),
    (
        ORIGIN,
        "header_size resolve_every idle_time health.every health.path health.host health.status timeouts.connect most_concurrent",
        "",
    ),
];

/// Values that are wrong everywhere, or in some places.
const VALUES: &str = r#""" " " "on" "off" "/" "*" "~" "unix:" "unix:/run/" "http://" "https://a/b" "a b" "é" "a\u0007" "a;b&c=d"
    ".a" "~ ^/a" "~ /ü" "/{a}|b" "x:1" "9181" "127.0.0.1" "-1s" "10.0.0.1/8" "X-*" "0" "300" "99999" -5 0 1 99999999999 1979-05-27 [] [""] true {}"#;

/// Returns the text in the backticks, as a value for `key`. Proposals for other keys are left out.
fn proposed(fault: &Fault, key: &str) -> Option<String> {
    let instead = fault.instead.as_deref()?;
    let begun = |words| instead.strip_prefix(words);
    let line = begun("write `").or_else(|| begun("for example `"))?;
    // What follows are other forms.
    let (line, _) = line.split_once('`')?;
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
        // What is left out may be missing.
        if meant.is_empty() {
            continue;
        }
        if let Err(again) = read(&text(&meant)) {
            refused.push(format!("where {value} stood:\n{again}"));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(accepted > 500, "{accepted}");
}

/// What is written, in which table, and what is said of it.
const MEANT: &[(&str, &str, &str)] = &[
    // What turns something off is not answered with what turns it on.
    ("[[route]]", "cache = \"off\"", "write `cache = false`"),
    ("[[route]]", "cache = \"No\"", "write `cache = false`"),
    ("[[route]]", "cache = 0", "write `cache = false`"),
    (
        "[[route]]",
        "cache = \"maybe\"",
        "`true` or `false` belongs here",
    ),
    ("[[route]]", "esi = \"off\"", "write `esi = false`"),
    (
        "[[route]]",
        "redirect_https = \"on\"",
        "write `redirect_https = true`",
    ),
    (
        "[[route]]",
        "compress = \"off\"",
        "write `compress = false`",
    ),
    ("[[route]]", "compress = 0", "write `compress = false`"),
    ("[[route]]", "compress = \"lz4\"", ""),
    ("[[route]]", "ttl = \"off\"", ""),
    ("[[route]]", "ttl = false", ""),
    ("[[route]]", "set_cookie = false", ""),
    ("[[route]]", "refuse = false", "write `refuse = \"off\"`"),
    ("", "admin = false", "write `admin = \"off\"`"),
    ("[log]", "access = false", "write `access = \"off\"`"),
    ("[purge]", "durable = \"no\"", "write `durable = false`"),
    // Numbers in quotes.
    (
        "[purge]",
        "miss_status = \"404\"",
        "write `miss_status = 404`",
    ),
    (
        "[purge]",
        "miss_status = \"0\"",
        "write `miss_status = 200`",
    ),
    ("[purge]", "miss_status = 300", "write `miss_status = 200`"),
    (
        "[[listen]]\naddress = \":80\"",
        "redirect_https = \"443\"",
        "write `redirect_https = 443`",
    ),
    (
        "[[listen]]\naddress = \":80\"",
        "redirect_https = \"99999\"",
        "write `redirect_https = 443`",
    ),
    (
        "[[listen]]\naddress = \":80\"",
        "redirect_https = \"0\"",
        "",
    ),
    (
        "[[listen]]\naddress = \":80\"",
        "redirect_https = false",
        "",
    ),
    (
        "[[listen]]\naddress = \":80\"",
        "redirect_https = true",
        "for example `redirect_https = 443`",
    ),
    ("[memory]", "size = 0", ""),
    ("[limits]", "header_time = \"off\"", ""),
    ("[[route]]", "refuse = 0", ""),
    // No limit, elsewhere.
    (
        "[limits]",
        "connections = -1",
        "for example `connections = 50000`",
    ),
    ("", "workers = 99999999999", "for example `workers = 4`"),
    // The default tells more than what is usual for other keys.
    (
        "[shared]\nurl = \"redis://r\"",
        "timeout = \"soon\"",
        "for example `timeout = \"50ms\"`",
    ),
    (
        "[[route]]",
        "largest_body = \"\"",
        "for example `largest_body = \"64MiB\"`",
    ),
    (
        "[[origin]]\nmemcached = \"a:1\"\nkey = \"$uri\"",
        "content_type = 5",
        "for example `content_type = \"application/json\"`",
    ),
    // People would copy it.
    ("[purge.secret]\nheader = \"X-A\"", "value = 5", ""),
    // Tables in place of words.
    (
        "[log]",
        "format = { a = 1 }",
        "for example `format = \"combined\"`",
    ),
    ("[log]", "level = {}", "for example `level = \"info\"`"),
    // Addresses.
    ("[shared]", "url = \"a:1\"", "write `url = \"redis://a:1\"`"),
    (
        "[shared]",
        "url = \"x y\"",
        "for example `url = \"redis://127.0.0.1:6379\"`, `\"redis+unix:///run/redis.sock\"`, \
         `\"memcached://127.0.0.1:11211,127.0.0.1:11212\"`",
    ),
    // Hosts.
    (
        "[[route]]",
        "host = \"{a,b}.example\"",
        "write `host = [\"a.example\", \"b.example\"]`",
    ),
    (
        "[[route]]",
        "host = [\"{a,b}.example\"]",
        "write `\"a.example\", \"b.example\"`",
    ),
    // Networks.
    ("[[route]]", "client = \"!10.0.0.0/8\"", ""),
    (
        "[[route]]",
        "client = \"all\"",
        "write `client = [\"0.0.0.0/0\", \"::/0\"]`",
    ),
    ("", "trusted = [\"*\"]", "write `\"0.0.0.0/0\", \"::/0\"`"),
    (
        "[[route]]",
        "client = \"192.168.1.*\"",
        "write `client = \"192.168.1.0/24\"`",
    ),
    (
        "[[route]]",
        "client = \"10.0.0.0/8, ::1\"",
        "write `client = [\"10.0.0.0/8\", \"::1\"]`",
    ),
    (
        "[[route]]",
        "client = \"office\"",
        "for example `client = \"10.0.0.0/8\"`, `\"192.0.2.7\"`, `\"2001:db8::/32\"`",
    ),
    // Headers.
    (
        "[[route]]",
        "header = \"User-Agent ~ bot\"",
        "for example `header = \"Bypass-Cache\"`, `\"Bypass-Cache: 1\"`, `\"Accept: *json*\"`, `\"User-Agent: ~ .*[Bb]ot.*\"`",
    ),
    (
        "[[route]]",
        "key.headers = \"Accept Language\"",
        "write `headers = \"Accept-Language\"`",
    ),
    // Statuses.
    ("[[route]]", "ttl = { default = \"1s\" }", "write `\"any\"`"),
    ("[[route]]", "ttl = { 200-299 = \"1s\" }", ""),
    // The list is not empty.
    (
        "[[route]]",
        "key.query = [\"$arg_page\"]",
        "write `\"page\"`",
    ),
    ("[[route]]", "origin = \"A\"", "did you mean `a`?"),
    ("[[route]]", "origin = \"c\"", "one of `a`, `b`"),
    // The guides for those who come from nginx and Varnish say the same.
    (
        "[[route]]",
        "expires = \"1d\"",
        "did you mean `browser_ttl`?",
    ),
    ("[[route]]", "location = \"/a\"", "did you mean `path`?"),
    ("", "location = \"/a\"", "did you mean `route`?"),
    ("[[route]]", "allow = \"10.0.0.0/8\"", CLIENTS),
    ("[[route]]", "deny = \"all\"", CLIENTS),
    ("[defaults]", "acl = \"10.0.0.0/8\"", CLIENTS),
    ("[purge]", "acl = \"10.0.0.0/8\"", "did you mean `allow`?"),
    ("[[route]]", "try_files = \"$uri\"", "did you mean `try`?"),
    ("[[route]]", "pass = true", "write `cache = false`"),
    (
        "[[route]]",
        "stale_if_error = \"1d\"",
        "did you mean `stale.if_error`?",
    ),
    (
        "[[route]]",
        "bypass_cookies = \"a\"",
        "did you mean `bypass.cookies`?",
    ),
    ("[[route]]", "querysort = true", "did you mean `key.sort`?"),
    ("[[route]]", "key.querysort = true", "did you mean `sort`?"),
    ("[[route]]", "do_esi = true", "did you mean `esi`?"),
    (
        "[[origin]]",
        "max_connections = 5",
        "did you mean `most_concurrent`?",
    ),
    ("[[origin]]", "probe = \"/\"", "did you mean `health`?"),
    (
        "[[origin]]",
        "connect_timeout = \"1s\"",
        "did you mean `timeouts.connect`?",
    ),
    (
        "[[origin]]",
        "timeouts.connect_timeout = \"1s\"",
        "did you mean `connect`?",
    ),
    (
        "[[origin]]",
        "servers = [{ port = 80 }]",
        "did you mean `url`?",
    ),
    (
        "[[origin]]",
        "servers = \"http://a, http://b:2\"",
        "write `servers = [\"http://a\", \"http://b:2\"]`",
    ),
    (
        "",
        "between_bytes_timeout = \"1s\"",
        "it is called `timeouts.between_bytes` here and belongs in `[[origin]]`",
    ),
    // What is no TOML.
    ("[[route]]", "cache = false;", "write `cache = false`"),
    ("[[route]]", "cache = false,", "write `cache = false`"),
    ("[[route]]", "cache = off;", "write `cache = false`"),
    (
        "[[route]]",
        "ttl = 10m;",
        "text needs quotes: write `ttl = \"10m\"`",
    ),
    ("[[route]]", "ttl = \"10m\";", "write `ttl = \"10m\"`"),
    (
        "[[route]]",
        "ttl = “10m”",
        "text needs quotes: write `ttl = \"10m\"`",
    ),
    (
        "[[route]]",
        "bypass.cookies = a, b",
        "text needs quotes: write `bypass.cookies = [\"a\", \"b\"]`",
    ),
    (
        "[[route]]",
        "bypass.cookies = [a, b]",
        "text needs quotes: write `bypass.cookies = [\"a\", \"b\"]`",
    ),
    (
        "[[route]]",
        "path = \"/a\", \"/b\"",
        "write `path = [\"/a\", \"/b\"]`",
    ),
    (
        "[[route]]",
        r#"path = ["/a", "~ \.php"]"#,
        r"in single quotes, a `\` stands for itself: write `'~ \.php'`",
    ),
    (
        "",
        "[route.\"/a\"]",
        "there may be several: write `[[route]]`, and below it `path = \"/a\"`",
    ),
    (
        "",
        "[route.slow]",
        "there may be several: write `[[route]]`, and below it `name = \"slow\"`",
    ),
    (
        "",
        "[route.stale]",
        "there may be several: write `[[route]]`",
    ),
];

const CLIENTS: &str = "write a route with `client` for those who may, and after it one for the same paths with `refuse = \"403\"`";

const ORIGINS: &str = "[[origin]]\nname = \"a\"\nservers = \"http://127.0.0.1:1\"\n[[origin]]\nname = \"b\"\nservers = \"http://127.0.0.1:2\"\n";

#[test]
fn what_is_proposed_is_what_was_meant() {
    let mut others = Vec::new();
    for (table, line, said) in MEANT {
        let behind = if *table == "[[origin]]" { "" } else { ORIGINS };
        let faults = read(&format!("{table}\n{line}\n{behind}")).expect_err(line);
        let first = faults.list().iter().find(|fault| {
            let place = fault.span.as_ref().map(|span| span.start);
            // Behind the header, which has faults of its own.
            place.is_some_and(|place| place > table.len())
        });
        let instead = first.map(|fault| fault.instead.as_deref().unwrap_or_default());
        if instead != Some(*said) {
            others.push(format!("{line}: {instead:?}, not {said:?}"));
        }
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
}
