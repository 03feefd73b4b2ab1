//! The reference page, generated from the schema.

use super::schema::{View, schema};
use serde_json::Value;
use std::fmt::Write;

const HEAD: &str = "\
# Configuration

<!-- Made by `larder schema --markdown > docs/configuration.md`; change the doc comments in
     `crates/larder/src/config/written/` instead. -->

The configuration is one TOML file: `larder serve --config FILE`. Every key may be left out, and so may the file:
`larder serve http://127.0.0.1:5001` is enough. The command line takes precedence over the file: a server there answers in place of
the servers, the scripts, the folder or the page store of the file's `[[origin]]`, whose other keys apply to it.

- `larder check FILE` reports everything that is wrong with a file.
- `larder schema` prints the JSON schema for editors.
- On `SIGHUP` Larder reads the file again. If it has a fault, nothing changes.

Durations are written `500ms`, `90s`, `10m`, `1h30m`, `1d`; sizes `8KiB`, `512MiB`, `1GB`. In place of a list of words, a single
word needs no brackets, except in `try`, which is for several. Tables that may occur several times are always written as a list:
`[[origin]]`, or `[{ … }]`.

A relative path of a file, a folder or a Unix socket is looked for in the working directory of the program that reads it, not beside
the configuration. `larder serve` keeps to the one that it was started in, also on reload; under systemd that is `/` unless
`WorkingDirectory` says otherwise. `larder check` looks from where it is run.
";

/// Returns the reference page in Markdown.
pub fn reference() -> String {
    let schema = schema();
    let mut page = Page {
        text: HEAD.to_owned(),
        told: Vec::new(),
        policy: Vec::new(),
    };
    page.table("", View::root(&schema));
    page.text
}

struct Page {
    text: String,
    /// Tables that occur in several places; each is described once.
    told: Vec<String>,
    /// The keys of `[defaults]`, which a route also has.
    policy: Vec<String>,
}

impl Page {
    fn table(&mut self, path: &str, schema: View<'_>) {
        let Some((known, table)) = schema.table() else {
            return;
        };
        let title = match path {
            "" => "Top of the file".to_owned(),
            path => format!("`{path}`"),
        };
        let about = text(table.get("description"));
        // Writing into a string does not fail.
        let _ = write!(self.text, "\n## {title}\n\n{about}\n\n");
        let is_route = path == "[[route]]";
        if is_route {
            self.text
                .push_str("A route may have the keys below, and every key of `[defaults]`.\n\n");
        }
        self.text
            .push_str("| key | default | meaning |\n|---|---|---|\n");
        let mut below = Vec::new();
        for (key, inner) in known {
            if is_route && self.policy.contains(key) {
                continue;
            }
            if path == "[defaults]" {
                self.policy.push(key.clone());
            }
            let inner = table.to(inner);
            self.row(key, inner);
            below.push((key, inner));
        }
        for (key, inner) in below {
            self.below(path, key, inner);
        }
    }

    /// Writes the page of a table under `path`, unless it was described elsewhere.
    fn below(&mut self, path: &str, key: &str, schema: View<'_>) {
        let parent = path.trim_matches(['[', ']']);
        let dot = if parent.is_empty() { "" } else { "." };
        let (path, schema) = match schema.members() {
            Some(members) => (format!("[[{parent}{dot}{key}]]"), members),
            None => (format!("[{parent}{dot}{key}]"), schema),
        };
        if schema.table().is_none() {
            return;
        }
        if let Some(name) = schema.reference() {
            if self.told.iter().any(|told| told == name) {
                return;
            }
            self.told.push(name.to_owned());
        }
        self.table(&path, schema);
    }

    fn row(&mut self, key: &str, schema: View<'_>) {
        let default = schema.get("default").map_or_else(String::new, code);
        let default = default.replace('|', "\\|");
        let mut meaning = text(schema.get("description"));
        let words: Vec<String> = schema.resolved().choices().filter_map(word).collect();
        if !words.is_empty() {
            let _ = write!(meaning, " {}", words.join(" "));
        }
        // A default shows how a value is written, but an empty list does not.
        let shows = |default: &Value| default.as_array().is_none_or(|list| !list.is_empty());
        let needed = !schema.get("default").is_some_and(shows);
        let examples = schema
            .get("examples")
            .filter(|_| needed)
            .and_then(Value::as_array);
        let list: Vec<String> = examples.into_iter().flatten().map(code).collect();
        if !list.is_empty() {
            let _ = write!(meaning, " For example {}.", list.join(", "));
        }
        let _ = writeln!(
            self.text,
            "| `{key}` | {default} | {} |",
            meaning.replace('|', "\\|")
        );
    }
}

/// One of the words that may be used here, with its meaning.
fn word(schema: View<'_>) -> Option<String> {
    let word = schema.get("const")?;
    Some(format!(
        "{}: {}",
        code(word),
        text(schema.get("description"))
    ))
}

/// A doc comment as one line.
fn text(description: Option<&Value>) -> String {
    let lines = description.and_then(Value::as_str).unwrap_or_default();
    lines.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A value as TOML.
fn code(value: &Value) -> String {
    format!("`{}`", toml_text(value))
}

fn toml_text(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let pairs: Vec<String> = table
                .iter()
                .map(|(key, value)| format!("\"{key}\" = {}", toml_text(value)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        other => other.to_string(),
    }
}
