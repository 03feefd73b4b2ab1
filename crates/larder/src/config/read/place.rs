//! Where a value could not be read, and what to write there.

use crate::config::{
    Fault, keys,
    schema::View,
    value::{Wrong, quoted, switch},
};
use serde_json::Value;
use std::{borrow::Cow, ops::Range};
use toml::de::{DeTable, DeValue};

/// The place of a value that was removed: its key, and how that key is written.
pub(super) struct Place {
    pub(super) key: String,
    /// Whether the fault is in a member of a list or in the key itself, so that the correction is not `key = value`.
    bare: bool,
    /// The first shows what is usual, the others which forms there are.
    examples: Vec<Value>,
    /// The keys of the table that is allowed there, as a list for people.
    keys: Option<String>,
    /// Whether it is a list of tables, each of which may begin with `[[key]]`.
    tables: bool,
    /// The keys of the tables that are allowed in it, if it is a list of tables.
    member_keys: Option<String>,
    /// Whether only `true` and `false` are allowed, or also they.
    switch: Switch,
    /// The line for what was written as `[key.name]`, if it is a list of tables.
    pub(super) name: Option<String>,
}

/// Whether a key takes `true` and `false`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Switch {
    No,
    Also,
    Only,
}

impl Place {
    /// Returns the fault at `span` of `text`, with what to write there.
    pub(super) fn fault(&self, span: &Range<usize>, message: &str, text: &str) -> Fault {
        let found = text.get(span.clone()).unwrap_or_default();
        let (what, instead) = if let Some(wrong) = Wrong::from_message(message) {
            (
                wrong.what,
                match (wrong.instead, wrong.is_example) {
                    (Some(value), false) => Some(self.write(&value)),
                    // The key's own example is nearer to what it means than one of its type, unless it turns it off.
                    (Some(example), true) => {
                        let own = self.examples.first().filter(|own| **own != "0s");
                        self.example(&own.map_or(example, Value::to_string), found)
                    }
                    (None, _) => None,
                },
            )
        } else {
            let what = describe(message);
            let instead = match nearest_variant(message) {
                Some(word) => Some(self.write(&word)),
                None => self.of_another_kind(&what, found),
            };
            (what, instead)
        };
        Fault {
            instead,
            ..Fault::at(span, what)
        }
    }

    /// Says that `value` is what was meant.
    fn write(&self, value: &str) -> String {
        if self.bare {
            format!("write `{value}`")
        } else {
            format!("write `{} = {value}`", self.as_toml())
        }
    }

    /// Shows an example of the value, unless what was `found` turns something off: the example would be the opposite.
    fn example(&self, example: &str, found: &str) -> Option<String> {
        let is_off = switch(found.trim_matches(QUOTES)) == Some(false);
        let forms: Vec<String> = self.examples.iter().map(Value::to_string).collect();
        let more = match forms.split_first() {
            Some((first, more)) if first == example => more,
            _ => &[],
        };
        let also = more.iter().map(|form| format!(", `{form}`"));
        let begun = format!("for example `{} = {example}`", self.as_toml());
        (!is_off).then(|| also.fold(begun, |all, form| all + &form))
    }

    /// Returns what to write if what was `found` is of another kind. `what` says so.
    fn of_another_kind(&self, what: &str, found: &str) -> Option<String> {
        let key = &self.key;
        let wants_list = what.starts_with(A_LIST_EXPECTED);
        let one_of_several = wants_list && what.ends_with(A_TABLE_FOUND);
        if self.tables && one_of_several {
            let named = self
                .name
                .as_ref()
                .map(|line| format!(", and below it `{line}`"));
            let named = named.unwrap_or_default();
            return Some(format!("there may be several: write `[[{key}]]`{named}"));
        }
        // If a table with content is there, show it as a list.
        let is_shown = one_of_several && found.contains('=') && !found.contains('\n');
        if is_shown && self.member_keys.is_some() {
            return Some(format!("write `{key} = [{found}]`"));
        }
        match (self.switch, switch(found.trim_matches(QUOTES))) {
            (Switch::Also | Switch::Only, Some(on)) => return Some(self.write(&on.to_string())),
            (Switch::Only, None) => return Some("`true` or `false` belongs here".to_owned()),
            _ => {}
        }
        // JSON and TOML write strings, numbers, booleans and lists alike.
        if let Some(example) = self.examples.first() {
            return self.example(&example.to_string(), found);
        }
        // Its keys say more than an example.
        match (&self.keys, &self.member_keys) {
            (Some(keys), _) if what.starts_with(A_TABLE_EXPECTED) => {
                Some(format!("keys of `{key}`: {keys}"))
            }
            (_, Some(keys)) if wants_list => {
                let instead = if self.tables {
                    format!("`[[{key}]]` in a line of its own")
                } else {
                    format!("`{} = [{{ … }}]`", self.as_toml())
                };
                Some(format!("write {instead}, with its keys: {keys}"))
            }
            _ => None,
        }
    }

    /// Returns the key as it is written before `=`.
    fn as_toml(&self) -> Cow<'_, str> {
        let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if !self.key.is_empty() && self.key.bytes().all(is_bare) {
            Cow::Borrowed(&self.key)
        } else {
            Cow::Owned(quoted(&self.key))
        }
    }
}

/// What a string begins and ends with.
const QUOTES: [char; 2] = ['"', '\''];

/// How a fault begins if only a table is allowed.
const A_TABLE_EXPECTED: &str = "expected a table,";

/// How the fault of anything else in place of a list begins, and how it ends if that is a single table.
const A_LIST_EXPECTED: &str = "expected a list";
const A_TABLE_FOUND: &str = ", found a table";

/// How the fault of anything else in place of one of several words begins.
const A_WORD_EXPECTED: &str = "expected a word in quotes";

/// Returns the known variant, in quotation marks, that is nearest to the unknown one in serde's message.
fn nearest_variant(message: &str) -> Option<String> {
    let rest = message.strip_prefix("unknown variant ")?;
    let (found, known) = rest.split_once(", expected ")?;
    // Each name is between two backticks.
    let words = |text| str::split(text, '`').skip(1).step_by(2);
    let word = words(found).next()?.to_ascii_lowercase();
    let begins = |known: &&str| {
        let (known, word) = (known.replace('-', ""), word.replace(['-', '_'], ""));
        word.len() > 2 && (known.starts_with(&word) || word.starts_with(&known))
    };
    let near = keys::nearest(&word, words(known)).or_else(|| words(known).find(begins));
    near.map(|near| format!("\"{near}\""))
}

/// Rewrites serde's message for a wrong type with the words of TOML, in the order that the other messages have.
fn describe(message: &str) -> String {
    for kind in ["invalid type: ", "invalid value: "] {
        let parts = message
            .strip_prefix(kind)
            .and_then(|rest| rest.rsplit_once(", expected "));
        if let Some((found, expected)) = parts {
            // The type in which a number fits that is too large for any setting.
            let found = found.trim_end_matches(" as i128");
            let found = match found.trim_end_matches(" as u128") {
                "map" => "a table",
                "sequence" => "a list",
                found => found,
            };
            let a_table = expected.starts_with("struct ");
            let expected = match expected {
                _ if a_table => "a table",
                "a sequence" => "a list",
                "path string" => "a path in quotes",
                expected => expected,
            };
            return format!("expected {expected}, found {found}");
        }
    }
    match message {
        "wanted string or table" => return A_WORD_EXPECTED.to_owned(),
        "integer number overflowed" => return "the number has too many digits".to_owned(),
        _ => {}
    }
    if message.starts_with("wanted exactly 1 element") {
        return A_WORD_EXPECTED.to_owned();
    }
    if let Some(rest) = message.strip_prefix("unknown variant ")
        && let Some((found, known)) = rest.split_once(", expected ")
    {
        let known = known.trim_start_matches("one of ");
        return format!("{found} is not known here, only {known}");
    }
    message.to_owned()
}

/// Returns the place of a value with this schema under `key`. `whole` is the schema of the key's whole value.
pub(super) fn place(key: &str, bare: bool, schema: View<'_>, whole: View<'_>) -> Place {
    // Examples of the key take precedence over those of its type. A size or a time that is usual elsewhere says little
    // here, unlike the default.
    let examples = |schema: View<'_>| schema.get("examples")?.as_array().cloned();
    let usual = whole.get("pattern").and_then(|_| whole.get("default"));
    let usual = usual.filter(|usual| *usual != "0s");
    let first_word = || {
        let mut words = schema.resolved().choices();
        words.find_map(|word| word.get("const")).cloned()
    };
    let examples = usual
        .map(|usual| vec![usual.clone()])
        .or_else(|| examples(whole))
        .or_else(|| examples(schema))
        .or_else(|| Some(vec![schema.get("default").cloned()?]))
        .or_else(|| Some(vec![first_word()?]))
        .unwrap_or_default();
    let keys_of = |schema: View<'_>| schema.table().map(|(known, _)| keys::join(known.keys()));
    Place {
        key: key.to_owned(),
        bare,
        examples: examples
            .into_iter()
            .filter(|example| !example.is_object())
            .collect(),
        keys: keys_of(schema),
        tables: schema.is_list_at_top(key),
        switch: match schema.is_boolean() {
            true if schema.get("type").is_some() => Switch::Only,
            true => Switch::Also,
            false => Switch::No,
        },
        name: None,
        member_keys: schema.members().and_then(keys_of),
    }
}

/// Returns the line for the name of one of several tables with this `schema`, if it was written as a key before it, as in
/// `[origin.app]`.
pub(super) fn named(table: &DeTable<'_>, schema: View<'_>) -> Option<String> {
    let (name, value) = table.iter().next()?;
    let name = name.get_ref().as_ref();
    let (known, _) = schema.members()?.table()?;
    let key = if name.starts_with('/') {
        "path"
    } else {
        "name"
    };
    let is_name = matches!(value.get_ref(), DeValue::Table(_))
        && known.contains_key(key)
        && !known.contains_key(name);
    is_name.then(|| format!("{key} = {}", quoted(name)))
}
