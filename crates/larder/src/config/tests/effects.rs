//! Every key has an effect.

use super::{ORIGIN, read, schema::schema, shown};
use serde_json::Value;

/// A table, as the schema calls it; how it begins; and the keys that a complete text needs beside it.
const TABLES: &[(&str, &str)] = &[
    ("Memory", "[memory]\n"),
    ("Disk", "[disk]\npath = \"/tmp\"\n"),
    ("Shared", "[shared]\nurl = \"redis://r\"\n"),
    ("Purge", "[purge]\nlog = \"/tmp/purges\"\n"),
    ("Refresh", "[purge.refresh]\n"),
    ("Limits", "[limits]\n"),
    ("Report", "[report]\nnode = \"n\"\n"),
    ("Log", "[log]\n"),
    ("Origin", ORIGIN),
    (
        "Server",
        "[[origin]]\n[[origin.servers]]\nurl = \"http://b.example\"\n[[origin.servers]]\nurl = \"http://a.example\"\n",
    ),
    (
        "ServerTls",
        "[[origin]]\nservers = \"https://a.example\"\n[origin.tls]\n",
    ),
    ("Timeouts", "[origin.timeouts]\n"),
    ("Queue", "[origin.queue]\n"),
    ("Retry", "[origin.retry]\n"),
    ("Passive", "[origin.passive]\n"),
    ("Health", "[origin.health]\n"),
    ("Defaults", "[defaults]\n"),
    ("Stale", "[defaults.stale]\n"),
    (
        "Key",
        "[defaults]\norigin_host = \"a.example\"\n[defaults.key]\n",
    ),
    ("Bypass", "[defaults.bypass]\n"),
    ("GraphQl", "[defaults.graphql]\n"),
    ("Route", TWO),
];

/// Two origins, one of which a route uses.
const TWO: &str = "[[origin]]\nname = \"seven\"\nservers = \":5001\"\n[[origin]]\nname = \"folder\"\nstatic = \"/tmp\"\n\
    [defaults]\norigin = \"folder\"\n[[route]]\n";

/// Keys without an effect of their own, or whose value cannot be guessed. Other tests cover them.
const BY_THEMSELVES: &[&str] = &[
    // Names one of several origins. The key is covered on a route.
    "Defaults.origin",
    // Only beside `ttl`.
    "Defaults.ttl_mode",
    "Route.ttl_mode",
    // Needs a file that exists.
    "ServerTls.authorities",
    "Defaults.try",
    // Keys of other kinds of origins, one for each kind.
    "Origin.static",
    "Origin.memcached",
    "Origin.redis",
    "Origin.key",
    "Origin.format",
    "Origin.content_type",
    "Origin.fastcgi",
    "Origin.root",
    "Origin.index",
    "Origin.front",
    "Origin.script",
    "Origin.no_script",
    "Origin.no_file",
    "Origin.params",
    "Origin.servers",
    "Origin.tls",
    // Tables, whose own keys are covered.
    "Origin.timeouts",
    "Origin.queue",
    "Origin.retry",
    "Origin.passive",
    "Origin.health",
];

/// Values that some keys accept.
const VALUES: &[&str] = &[
    "7",
    "\"7s\"",
    "150",
    "\"4xx\"",
    "[\"folder\", \"seven\"]",
    "\"a.example\"",
    "\"7MiB\"",
    "\"7%\"",
    "true",
    "false",
    "\"/seven\"",
    "\"seven\"",
    "[\"seven\"]",
    "[\"/seven\"]",
    "\"7.example\"",
    "{ }",
    "\"X-Seven\"",
    "\"10.7.0.0/16\"",
    "\"7/s\"",
    "\"unix:/tmp/seven\"",
    "[\"X-Seven: 7\"]",
    "\"POST\"",
    "[\"app\", \"app\"]",
    "{ set = [\"X-Seven: 7\"] }",
    "{ header = \"X-Seven\", value = \"7777777777777777\" }",
    "\"http://7.example:7\"",
    "{ 200 = \"7s\" }",
    "[{ name = \"Seven\" }]",
    "{ query = \"none\" }",
    "{ paths = [\"/seven\"] }",
    "{ while_revalidate = \"7s\" }",
    "\"{path}\"",
    "{ every = \"7s\" }",
    "[200]",
];

/// Returns what a text means. `None` if it has a fault.
fn meaning(text: &str) -> Option<Vec<String>> {
    read(text).ok().map(|config| shown(&config))
}

/// Returns values for a key, based on the schema.
fn candidates(key: &Value) -> Vec<String> {
    let mut all = Vec::new();
    let examples = key["examples"].as_array();
    all.extend(
        examples
            .into_iter()
            .flatten()
            .filter(|value| !value.is_object())
            .map(Value::to_string),
    );
    for one in key["oneOf"].as_array().into_iter().flatten() {
        all.push(one["const"].to_string());
    }
    all.extend(
        key["enum"]
            .as_array()
            .into_iter()
            .flatten()
            .map(Value::to_string),
    );
    all.extend(VALUES.iter().map(|value| (*value).to_owned()));
    all
}

/// A key that is read and then ignored would be a setting without effect.
#[test]
fn no_key_is_read_in_vain() {
    let schema = schema();
    let mut in_vain = Vec::new();
    for (name, begins) in TABLES {
        let origin = if begins.contains("[[origin]]") {
            ""
        } else {
            ORIGIN
        };
        let silent = format!("{origin}{begins}");
        let before = meaning(&silent).unwrap_or_else(|| panic!("{silent}"));
        let keys = schema["$defs"][name]["properties"].as_object().unwrap();
        for (key, says) in keys {
            let place = format!("{name}.{key}");
            let is_there = begins
                .lines()
                .any(|line| line.starts_with(&format!("{key} =")));
            if BY_THEMSELVES.contains(&place.as_str()) || is_there {
                continue;
            }
            let mut values = candidates(says).into_iter();
            let has_effect = values.any(|value| {
                let said = format!("{silent}{key} = {value}\n");
                meaning(&said).is_some_and(|after| after != before)
            });
            if !has_effect {
                in_vain.push(place);
            }
        }
    }
    assert_eq!(in_vain, Vec::<String>::new());
}
